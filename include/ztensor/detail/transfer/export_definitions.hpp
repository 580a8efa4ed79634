// SPDX-License-Identifier: MIT
//
// Files of other formats, written through the library's own sinks. Defines what import.hpp declares of it.
#ifndef ZTENSOR_DETAIL_TRANSFER_EXPORT_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_TRANSFER_EXPORT_DEFINITIONS_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/crc32.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/transfer/export_formats.hpp>
#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/format.hpp>
#include <ztensor/import.hpp>
#include <ztensor/io.hpp>
#include <ztensor/object_view.hpp>

#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A new file at `path` that `write(byte_sink&) -> result<void>` fills.
template <class Write>
result<void> publish_file(const file_path& path, const export_options& options, const Write& write) {
    ZTENSOR_TRY_ASSIGN(std::unique_ptr<byte_sink> sink, create_sink(path, write_options().sync(options.sync())));
    result<void> written = write(*sink);
    return written ? sink->finish() : written;
}

/// The name of an entry of an archive that leads nowhere else when the archive is unpacked. Errors: not_expressible.
inline result<void> check_entry_name(string_view name) {
    if (name.size() > max_name_bytes - string_view(".npy").size()) {
        return fail(errc::not_expressible, "an entry of a ZIP archive would have a name of more than {} bytes",
                    {max_name_bytes})
            .in_object(name);
    }
    const string with_ends = "/" + string(name) + "/";
    const bool climbs = with_ends.find("/../") != std::string::npos || with_ends.find("/./") != std::string::npos;
    if (!climbs && name.front() != '/' && name.find('\\') == std::string_view::npos) {
        return {};
    }
    return fail(errc::not_expressible,
                "a ZIP archive has no entry of this name, which leads elsewhere when it is unpacked")
        .in_object(name);
}

/// One entry. Errors: file_changed, where the tensor is not what it was when its checksum was computed.
inline result<void> write_npy_entry(zip_writer& zip, const exported_tensor& tensor) {
    ZTENSOR_TRY_ASSIGN(const string header, make_npy_header(tensor));
    const uint32_t of_header = crc32_update(crc32_start, as_bytes(header));
    uint32_t expected = of_header;
    ZTENSOR_TRY(for_each_piece(tensor, [&](bytes_view piece) {
        expected = crc32_update(expected, piece);
        return result<void>();
    }));
    ZTENSOR_TRY(zip.begin_entry(tensor.name + ".npy", header.size() + tensor.bytes, ~expected));
    ZTENSOR_TRY(zip.write(as_bytes(header)));
    uint32_t sum = of_header;
    ZTENSOR_TRY(for_each_piece(tensor, [&](bytes_view piece) {
        sum = crc32_update(sum, piece);
        return zip.write(piece);
    }));
    if (sum != expected) {
        return fail(errc::file_changed, "the tensor was another when it was read again").in_object(tensor.name);
    }
    return {};
}

/// What of `tensors` can't be an entry is found before anything is written.
inline result<void> check_npz(const reader& from, const vector<exported_tensor>& tensors,
                              const export_options& options) {
    if (options.attributes() && from.has_attributes() && !from.attributes().empty()) {
        return not_in_format("npz", "place for attributes of the file");
    }
    for (const exported_tensor& each : tensors) {
        ZTENSOR_TRY(check_entry_name(each.name));
        ZTENSOR_TRY(make_npy_header(each));
        if (!checked_add(each.bytes, longest_npy_header_bytes)) {
            return fail(errc::shape_overflow, "the tensor needs more bytes than 64 bits count").in_object(each.name);
        }
    }
    return {};
}

inline result<void> write_npz(const vector<exported_tensor>& tensors, const export_options& options, byte_sink& sink) {
    zip_writer zip(sink);
    ZTENSOR_TRY(write_each(tensors, options, [&](const exported_tensor& each) { return write_npy_entry(zip, each); }));
    return zip.finish();
}

/// Tensors and all that stands before their data.
struct export_content {
    vector<exported_tensor> tensors;
    string header = {};
};

inline result<void> write_tensors(const export_content& content, const export_options& options, byte_sink& sink) {
    ZTENSOR_TRY(sink.write(as_bytes(content.header)));
    return write_each(content.tensors, options, [&](const exported_tensor& each) {
        return for_each_piece(each, [&](bytes_view piece) { return sink.write(piece); });
    });
}

inline result<export_content> prepare_safetensors(const reader& from, const export_options& options) {
    ZTENSOR_TRY_ASSIGN(vector<exported_tensor> tensors, list_exports(from, "safetensors", options));
    ZTENSOR_TRY(order_for_safetensors(tensors));
    const bool has_metadata = options.attributes() && from.has_attributes();
    const attributes_view attributes = from.attributes();
    ZTENSOR_TRY_ASSIGN(string header, make_safetensors_header(tensors, has_metadata ? &attributes : nullptr));
    return export_content{std::move(tensors), std::move(header)};
}

inline result<export_content> prepare_npz(const reader& from, const export_options& options) {
    ZTENSOR_TRY_ASSIGN(vector<exported_tensor> tensors, list_exports(from, "npz", options));
    ZTENSOR_TRY(check_npz(from, tensors, options));
    return export_content{std::move(tensors)};
}

inline result<export_content> prepare_npy(const object_view& from, const export_options& options) {
    ZTENSOR_TRY_ASSIGN(exported_tensor tensor, describe_export(from, "npy", export_options(options).attributes(false)));
    ZTENSOR_TRY_ASSIGN(string header, make_npy_header(tensor));
    return export_content{{std::move(tensor)}, std::move(header)};
}

} // namespace detail

ZTENSOR_INLINE result<void> export_safetensors(const reader& from, const file_path& path,
                                               const export_options& options) {
    return detail::guard_memory([&]() -> result<void> {
        ZTENSOR_TRY_ASSIGN(const detail::export_content content,
                           detail::in_file(detail::prepare_safetensors(from, options), from.path()));
        return detail::publish_file(path, options,
                                    [&](byte_sink& sink) { return detail::write_tensors(content, options, sink); });
    });
}

ZTENSOR_INLINE result<void> export_npz(const reader& from, const file_path& path, const export_options& options) {
    return detail::guard_memory([&]() -> result<void> {
        ZTENSOR_TRY_ASSIGN(const detail::export_content content,
                           detail::in_file(detail::prepare_npz(from, options), from.path()));
        return detail::publish_file(path, options,
                                    [&](byte_sink& sink) { return detail::write_npz(content.tensors, options, sink); });
    });
}

ZTENSOR_INLINE result<void> export_npy(const object_view& from, const file_path& path, const export_options& options) {
    return detail::guard_memory([&]() -> result<void> {
        const result<detail::export_content> content = detail::prepare_npy(from, options);
        if (!content) {
            return detail::object_access::located(from, content.error());
        }
        return detail::publish_file(path, options,
                                    [&](byte_sink& sink) { return detail::write_tensors(*content, options, sink); });
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
