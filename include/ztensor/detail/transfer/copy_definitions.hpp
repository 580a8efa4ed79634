// SPDX-License-Identifier: MIT
//
// From one file to another. Defines what copy.hpp declares. SPEC.md section 8 and section 10.
#ifndef ZTENSOR_DETAIL_TRANSFER_COPY_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_TRANSFER_COPY_DEFINITIONS_HPP

#include <ztensor/copy.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/transfer/transcode.hpp>
#include <ztensor/detail/write/writer_core.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Where the blobs of an object lie.
struct object_place {
    std::uint64_t begin = ~std::uint64_t{0};
    std::uint64_t end = 0;
    std::size_t position = 0; ///< of the object in what is copied

    [[nodiscard]] friend bool operator<(const object_place& a, const object_place& b) noexcept {
        return a.begin != b.begin ? a.begin < b.begin : a.end != b.end ? a.end < b.end : a.position < b.position;
    }
};

/// Objects in the order of their blobs. Of two that start together, the one that ends first comes first: it is empty.
[[nodiscard]] inline std::vector<object_view> in_blob_order(const reader& from, const copy_options& options) {
    std::vector<object_view> selected;
    record_array<object_place> places;
    for (const object_view object : from) {
        if (options.select_ && !options.select_(object)) {
            continue;
        }
        object_place place;
        place.position = selected.size();
        for (const component_view component : object) {
            place.begin = (std::min)(place.begin, component.offset());
            place.end = (std::max)(place.end, component.offset() + component.stored_bytes());
        }
        places.push_back(place);
        selected.push_back(object);
    }
    std::sort(places.begin(), places.end());
    std::vector<object_view> ordered;
    ordered.reserve(places.size());
    for (const object_place& each : places) {
        ordered.push_back(selected[each.position]);
    }
    return ordered;
}

/// While it lives, the writer knows again the blobs that it has copied.
class blob_memory {
public:
    explicit blob_memory(writer& to)
        : file_(writer_access::core_of(to)->file()), of_outer_copy_(file_.begin_copying(copied_)) {}
    blob_memory(const blob_memory&) = delete;
    blob_memory& operator=(const blob_memory&) = delete;
    ~blob_memory() { file_.end_copying(of_outer_copy_); }

private:
    copied_blobs copied_;
    section_writer& file_;
    copied_blobs* of_outer_copy_; ///< which may call this one, from its progress for one
};

/// Whether `to` is written in place of the file that is read.
[[nodiscard]] inline bool destroys(const reader& from, writer& to) {
    if (from.empty()) {
        return false;
    }
    const object_view any = *from.begin(); // all of them are of one source
    return writer_access::core_of(to)->file().would_destroy(*object_access::file_of(any).source);
}

[[nodiscard]] inline std::uint64_t stored_bytes_of(const object_view& object) noexcept {
    std::uint64_t sum = 0;
    for (const component_view component : object) {
        sum += component.stored_bytes();
    }
    return sum;
}

[[nodiscard]] inline result<void> copy_file_attributes(const reader& from, writer& to) {
    if (!from.has_attributes() || (from.attributes().empty() && to.version() == format_version::v0_1)) {
        return {};
    }
    return to.add_attributes(from.attributes());
}

/// In the order of their blobs; in version 2 in that of their new names, as its canonical form has it.
[[nodiscard]] inline std::vector<std::uint32_t> copy_order(const std::vector<std::string>& names,
                                                           format_version version) {
    std::vector<std::uint32_t> order(names.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    if (version == format_version::v2) {
        std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return names[a] < names[b]; });
    }
    return order;
}

[[nodiscard]] inline result<void> copy_objects(const std::vector<object_view>& objects, writer& to,
                                               const copy_options& options) {
    copy_progress progress;
    for (const object_view& object : objects) {
        progress.total_bytes += stored_bytes_of(object);
    }
    std::vector<std::string> names;
    for (const object_view& object : objects) {
        names.push_back(options.rename_ ? options.rename_(object.name()) : std::string(object.name()));
    }
    for (const std::uint32_t at : copy_order(names, to.version())) {
        const object_view& object = objects[at];
        const std::string& name = names[at];
        ZTENSOR_TRY_ASSIGN(const redrafted draft, redraft(object, to.version(), options.reencode_));
        ZTENSOR_TRY(to.add_object(name, draft.draft));
        progress.object = object.name();
        progress.done_bytes += stored_bytes_of(object);
        if (options.progress_ && !options.progress_(progress)) {
            return fail(errc::cancelled, "the copy was stopped after {} of {} bytes",
                        {progress.done_bytes, progress.total_bytes});
        }
    }
    return {};
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
        if (options.file_attributes_) {
            ZTENSOR_TRY(detail::copy_file_attributes(from, to));
        }
        const detail::blob_memory memory(to);
        return detail::copy_objects(detail::in_blob_order(from, options), to, options);
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
