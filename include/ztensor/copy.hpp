// SPDX-License-Identifier: MIT
//
// From one file to another, of any generation to any that can hold it. Blobs are copied as they are stored wherever
// nothing about them changes. SPEC.md §8 and §10.
#ifndef ZTENSOR_COPY_HPP
#define ZTENSOR_COPY_HPP

#include <ztensor/detail/redraft.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace v0 {

/// How far a copy has come; `object` is the one that was just finished.
struct copy_progress {
    std::string_view object;
    std::uint64_t done_bytes = 0;  ///< stored, of the objects so far
    std::uint64_t total_bytes = 0; ///< stored, of all that are copied
};

/// What of a file is copied, and how.
struct copy_options {
    std::function<bool(const object_view&)> select_;
    std::function<std::string(std::string_view)> rename_;
    std::function<bool(const copy_progress&)> progress_;
    bool reencode_ = false;
    bool file_attributes_ = true;

    /// Only the objects for which this is true; all of them unless given.
    copy_options& select(std::function<bool(const object_view&)> value) { return select_ = std::move(value), *this; }
    /// The new name for a name.
    copy_options& rename(std::function<std::string(std::string_view)> value) {
        return rename_ = std::move(value), *this;
    }
    /// Called after every object; false stops the copy with errc::cancelled.
    copy_options& progress(std::function<bool(const copy_progress&)> value) {
        return progress_ = std::move(value), *this;
    }
    /// Decodes every component and encodes it again, with the same encoding (at zstd's default level) and a digest of
    /// the same algorithm, even where it could be copied as it is. Then what is written must be what a writer of new
    /// data writes: an object with unknown words, or whose parts don't fit each other, may be refused.
    copy_options& reencode(bool value = true) { return reencode_ = value, *this; }
    /// Whether the attributes of the file itself are copied too. On unless told otherwise.
    copy_options& file_attributes(bool value) { return file_attributes_ = value, *this; }
};

namespace detail {

/// Objects in the order of their blobs. Of two that start together, the one that ends first comes first: it is empty.
[[nodiscard]] inline std::vector<object_view> in_blob_order(const reader& from, const copy_options& options) {
    using place = std::tuple<std::uint64_t, std::uint64_t, std::size_t>;
    std::vector<object_view> selected;
    std::vector<place> places;
    for (const object_view object : from) {
        if (options.select_ && !options.select_(object)) {
            continue;
        }
        std::uint64_t begin = ~std::uint64_t{0};
        std::uint64_t end = 0;
        for (const component_view component : object) {
            begin = std::min(begin, component.offset());
            end = std::max(end, component.offset() + component.stored_bytes());
        }
        places.emplace_back(begin, end, selected.size());
        selected.push_back(object);
    }
    std::sort(places.begin(), places.end());
    std::vector<object_view> ordered;
    ordered.reserve(places.size());
    for (const place& each : places) {
        ordered.push_back(selected[std::get<2>(each)]);
    }
    return ordered;
}

/// While it lives, the writer knows again the blobs that it has copied.
class blob_memory {
public:
    explicit blob_memory(writer& to)
        : file_(writer_access::core_of(to).file()), of_outer_copy_(file_.begin_copying()) {}
    blob_memory(const blob_memory&) = delete;
    blob_memory& operator=(const blob_memory&) = delete;
    ~blob_memory() { file_.end_copying(std::move(of_outer_copy_)); }

private:
    blob_area& file_;
    std::optional<blob_area::copied_blobs> of_outer_copy_; ///< which may call this one, from its progress for one
};

[[nodiscard]] inline std::uint64_t stored_bytes_of(const object_view& object) noexcept {
    std::uint64_t sum = 0;
    for (const component_view component : object) {
        sum += component.stored_bytes();
    }
    return sum;
}

} // namespace detail

/// Copies objects, their attributes and the file's attributes (added to those that `to` has) into `to`, in the order of
/// their blobs. `to` may be of any version that can hold them; finishing it is the caller's.
///
/// A blob is copied as it is stored, with its compression and digest, unless the target's version needs it otherwise:
/// big-endian data and bools of 0.1, sparse tensors between 0.1 (one blob) and later versions (parts), narrow indices
/// of 1.1 in 1.2. Those are decoded, verified and stored anew with the same encoding and digest algorithm; a digest of
/// an unknown algorithm is left out then. A blob that several components share stays one, where it is copied as it is.
/// Bytes that are copied as they are stored are not looked at: bools among them may hold other bytes than 0 and 1.
///
/// Errors: not_expressible, before anything of the object is written; cancelled; those of reading and of
/// writer::add_object. After an error the objects before it are in `to`.
[[nodiscard]] inline result<void> copy(const reader& from, writer& to, const copy_options& options = {}) {
    return detail::guard_memory([&]() -> result<void> {
        if (from.has_attributes() && options.file_attributes_ &&
            !(from.attributes().empty() && to.version() == format_version::v0_1)) {
            if (result<void> added = to.add_attributes(from.attributes()); !added) {
                return added;
            }
        }
        const detail::blob_memory memory(to);
        const std::vector<object_view> objects = detail::in_blob_order(from, options);
        copy_progress progress;
        for (const object_view& object : objects) {
            progress.total_bytes += detail::stored_bytes_of(object);
        }
        for (const object_view& object : objects) {
            const std::string name = options.rename_ ? options.rename_(object.name()) : std::string(object.name());
            const result<detail::redrafted> draft = detail::redraft(object, to.version(), options.reencode_);
            if (!draft) {
                return draft.error();
            }
            if (result<void> added = to.add_object(name, draft->draft); !added) {
                return added;
            }
            progress.object = object.name();
            progress.done_bytes += detail::stored_bytes_of(object);
            if (options.progress_ && !options.progress_(progress)) {
                return error(errc::cancelled, "the copy was stopped after " + std::to_string(progress.done_bytes) +
                                                  " of " + std::to_string(progress.total_bytes) + " bytes");
            }
        }
        return {};
    });
}

} // namespace v0
} // namespace ztensor

#endif
