// SPDX-License-Identifier: MIT
//
// First bytes -> the importer that knows them. Defines what foreign.hpp declares.
#ifndef ZTENSOR_DETAIL_IMPORT_IMPORT_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_IMPORT_IMPORT_DEFINITIONS_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/gguf.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/npy.hpp>
#include <ztensor/detail/import/onnx.hpp>
#include <ztensor/detail/import/sniff.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/foreign.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[nodiscard]] ZTENSOR_COLD inline result<reader> open_as(const foreign_file& file, result<imported> made) {
    if (!made) {
        return std::move(made).error().in_file(path_text(file.path));
    }
    return reader_maker::open(file, *std::move(made));
}

[[nodiscard]] ZTENSOR_COLD inline result<reader> open_sniffed(const foreign_file& file, foreign_kind_id kind) {
    switch (kind) {
    case foreign_kind_id::gguf:
        return open_as(file, import_gguf(file));
    case foreign_kind_id::safetensors:
        return open_as(file, import_safetensors(file));
    case foreign_kind_id::npy:
        return open_as(file, import_npy(file));
    case foreign_kind_id::zip:
        return open_as(file, import_zip(file));
    case foreign_kind_id::pt_legacy:
        return open_as(file, import_pt_legacy(file));
    case foreign_kind_id::pt_tar:
        return open_as(file, import_pt_tar(file));
    case foreign_kind_id::onnx:
        return open_as(file, import_onnx(file));
    case foreign_kind_id::hdf5:
        return open_as(file, file.options.hdf5_ != nullptr ? file.options.hdf5_(file) : refuse_hdf5(false));
    default:
        return reader_maker::open(file); // which names what can't be imported
    }
}

[[nodiscard]] ZTENSOR_COLD inline result<foreign_kind_id> sniff(const foreign_file& file) {
    std::byte head[head_bytes];
    const std::uint64_t size = file.source->size();
    const span<std::byte> start(head, static_cast<std::size_t>((std::min<std::uint64_t>)(size, head_bytes)));
    ZTENSOR_TRY(file.source->read_at(0, start));
    const foreign_kind_id kind = sniff(start, size, path_text(file.path));
    if (kind != foreign_kind_id::none || is_zt(start)) {
        return kind;
    }
    ZTENSOR_TRY_ASSIGN(const bool is_hdf5, has_hdf5_signature(*file.source));
    return is_hdf5 ? foreign_kind_id::hdf5 : kind;
}

[[nodiscard]] ZTENSOR_COLD inline result<reader> open_any(const foreign_file& file) {
    const result<foreign_kind_id> kind = sniff(file);
    return kind ? open_sniffed(file, *kind) : kind.error();
}

} // namespace detail

ZTENSOR_COLD ZTENSOR_INLINE result<reader> open_any(const file_path& path, const read_options& options) {
    return detail::guard_memory([&]() -> result<reader> {
        ZTENSOR_TRY_ASSIGN(std::shared_ptr<const byte_source> source, detail::open_source(path, options));
        return detail::open_any({std::move(source), path.native(), options});
    });
}

ZTENSOR_COLD ZTENSOR_INLINE result<reader> open_any(std::shared_ptr<const byte_source> source, const file_path& name,
                                                    const read_options& options) {
    if (source == nullptr) {
        return detail::fail(errc::invalid_argument, "there is no source: the pointer is null");
    }
    return detail::guard_memory([&] { return detail::open_any({std::move(source), name.native(), options}); });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
