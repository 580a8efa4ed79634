// SPDX-License-Identifier: MIT
//
// From one file to another. Defines what copy.hpp declares. SPEC.md section 8 and section 10.
#ifndef ZTENSOR_DETAIL_TRANSFER_COPY_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_TRANSFER_COPY_DEFINITIONS_HPP

#include <ztensor/copy.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/transfer/copy_meter.hpp>
#include <ztensor/detail/transfer/transcode.hpp>
#include <ztensor/detail/write/sharded_core.hpp>
#include <ztensor/detail/write/writer_core.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sharded_writer.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// An object that is to be copied.
struct copied_object {
    object_view object;
    string name = {};                       ///< in the target
    uint64_t begin = ~uint64_t{0}, end = 0; ///< of its blobs
    uint64_t stored_bytes = 0;
    size_t file_number = 0; ///< among those of the reader
};

/// In the order of their blobs, of which an empty one comes before one that starts with it; in version 2 in that of
/// their new names, as its canonical form has it.
[[nodiscard]] inline vector<copied_object> objects_to_copy(const reader& from, format_version to,
                                                           const copy_options& options) {
    vector<copied_object> all;
    const opened_file* file = nullptr;
    size_t file_number = 0;
    for (const object_view object : from) {
        const opened_file* const mine = &object_access::file_of(object);
        file_number += mine != std::exchange(file, mine) ? 1u : 0u;
        if (options.select() && !options.select()(object)) {
            continue;
        }
        copied_object& added = all.emplace_back(copied_object{object});
        added.file_number = file_number;
        for (const component_view component : object) {
            added.begin = (std::min)(added.begin, component.offset());
            added.end = (std::max)(added.end, component.offset() + component.stored_bytes());
            added.stored_bytes += component.stored_bytes();
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const copied_object& a, const copied_object& b) {
        return a.file_number != b.file_number ? a.file_number < b.file_number
               : a.begin != b.begin           ? a.begin < b.begin
                                              : a.end < b.end;
    });
    for (copied_object& each : all) {
        each.name = options.rename() ? options.rename()(each.object.name()) : string(each.object.name());
    }
    if (to == format_version::v2) {
        std::stable_sort(all.begin(), all.end(),
                         [](const copied_object& a, const copied_object& b) { return a.name < b.name; });
    }
    return all;
}

/// While it lives, the writer knows again the blobs that it has copied.
class blob_memory {
public:
    /// Of the copied blobs of its file.
    blob_memory(writer& to, copied_blobs& copied)
        : file_(writer_access::core_of(to)->file()), of_outer_copy_(file_.begin_copying(copied)) {}
    blob_memory(const blob_memory&) = delete;
    blob_memory& operator=(const blob_memory&) = delete;
    ~blob_memory() { file_.end_copying(of_outer_copy_); }

private:
    section_writer& file_;
    copied_blobs* of_outer_copy_; ///< which may call this one, from its progress for one
};

/// Whether `to` is written in place of the file that is read.
[[nodiscard]] inline bool destroys(const reader& from, writer& to) {
    if (from.empty()) {
        return false;
    }
    return std::any_of(from.files().begin(), from.files().end(), [&](const reader& each) {
        return writer_access::core_of(to)->file().would_destroy(*reader_access::file_of(each).source);
    });
}

template <class Writer>
result<void> copy_file_attributes(const reader& from, Writer& to) {
    if (!from.has_attributes() || (from.attributes().empty() && to.version() == format_version::v0_1)) {
        return {};
    }
    return to.add_attributes(from.attributes());
}

/// `put(object) -> result<void>` copies one.
template <class Put>
result<void> copy_objects(const vector<copied_object>& objects, const copy_options& options, const Put& put) {
    copy_meter meter(options.progress());
    read_ahead stored(0);
    for (const copied_object& each : objects) {
        meter.expect(each.stored_bytes);
        announce_object(stored, object_access::file_of(each.object), object_access::record_of(each.object));
    }
    stored.begin();
    for (const copied_object& each : objects) {
        ZTENSOR_TRY(meter.add(put(each), each.object.name(), each.stored_bytes));
    }
    return {};
}

inline result<void> copy_object(const object_view& from, writer& to, string_view name, bool reencodes) {
    ZTENSOR_TRY_ASSIGN(const redrafted draft, redraft(from, to.version(), reencodes));
    return to.add_object(name, draft.draft);
}

} // namespace detail

ZTENSOR_INLINE result<void> copy(const reader& from, writer& to, const copy_options& options) {
    return detail::guard_memory([&]() -> result<void> {
        if (detail::writer_access::core_of(to) == nullptr) {
            return detail::writer_core::closed();
        }
        if (detail::destroys(from, to)) {
            return detail::fail(errc::invalid_argument, "a file can't be written in place while it is copied from");
        }
        if (options.file_attributes()) {
            ZTENSOR_TRY(detail::copy_file_attributes(from, to));
        }
        detail::copied_blobs copied;
        const detail::blob_memory memory(to, copied);
        return detail::copy_objects(detail::objects_to_copy(from, to.version(), options), options,
                                    [&](const detail::copied_object& each) {
                                        return detail::copy_object(each.object, to, each.name, options.reencodes());
                                    });
    });
}

ZTENSOR_INLINE result<void> copy(const reader& from, sharded_writer& to, const copy_options& options) {
    return detail::guard_memory([&]() -> result<void> {
        const detail::sharded_core* const core = detail::sharded_access::core_of(to);
        if (core == nullptr) {
            return detail::writer_core::closed();
        }
        if (options.file_attributes()) {
            ZTENSOR_TRY(detail::copy_file_attributes(from, to));
        }
        detail::copied_blobs copied;
        std::size_t file_number = 0;
        const auto put = [&](const detail::copied_object& each, writer& file) {
            if (std::exchange(file_number, core->file_number()) != core->file_number()) {
                copied = {};
            }
            const detail::blob_memory memory(file, copied);
            return detail::copy_object(each.object, file, each.name, options.reencodes());
        };
        return detail::copy_objects(
            detail::objects_to_copy(from, to.version(), options), options, [&](const detail::copied_object& each) {
                return detail::sharded_access::place(to, each.name, each.stored_bytes,
                                                     [&](writer& file) { return put(each, file); });
            });
    });
}

ZTENSOR_INLINE result<void> copy(const object_view& from, writer& to, std::string_view name) {
    return detail::guard_memory([&]() -> result<void> {
        if (detail::writer_access::core_of(to) == nullptr) {
            return detail::writer_core::closed();
        }
        if (!from.is_present()) {
            return from.component({}).error();
        }
        if (detail::writer_access::core_of(to)->file().would_destroy(*detail::object_access::file_of(from).source)) {
            return detail::fail(errc::invalid_argument, "a file can't be written in place while it is copied from");
        }
        detail::copied_blobs copied;
        const detail::blob_memory memory(to, copied);
        return detail::copy_object(from, to, name, false);
    });
}

ZTENSOR_INLINE result<void> copy(const object_view& from, writer& to) {
    return copy(from, to, from.name());
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
