// SPDX-License-Identifier: MIT
//
// Blobs of which each of several processes decodes a part. Defines what load_plan.hpp declares of them. SPEC.md section
// 6.2.
#ifndef ZTENSOR_DETAIL_READ_BLOB_PART_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_BLOB_PART_DEFINITIONS_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/crc32.hpp>
#include <ztensor/detail/read/load_targets.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/reader.hpp>

#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Frames that are decoded together, or raw bytes: from and to where elements are whole.
struct frame_group {
    size_t begin; ///< in the part's memory
    size_t end;
    uint64_t decoded_begin; ///< in the tensor
    uint64_t decoded_end;
};

struct blob_part_state {
    load_target target;
    uint64_t begin = 0; ///< of the blob's stored bytes
    uint64_t end = 0;
    byte_buffer stored; ///< what was carried here, then the part's own bytes
    size_t left_at = 0; ///< where in them what is left over begins
    uint32_t sum = 0;
    uint64_t decoded_end = 0;
    vector<frame_group> groups;

    [[nodiscard]] const component_record& component() const noexcept { return *target.component; }
    [[nodiscard]] uint64_t decoded_bytes() const noexcept { return target.decoded_bytes; }
    [[nodiscard]] bool is_last() const noexcept { return end == component().length; }
    template <class T>
    [[nodiscard]] result<T> located(result<T> done) const {
        if (done) {
            return done;
        }
        return std::move(done)
            .error()
            .in_component(role_name(target.file->index, component()))
            .in_object(target.wanted->name)
            .in_file(target.file->path);
    }

    [[nodiscard]] bool is_raw() const noexcept { return component().encoding == encoding::raw; }

    /// Whole frames of the bytes that are held, as far as each says how much it holds.
    ZTENSOR_COLD result<void> find_groups(uint64_t decoded_before) {
        const bytes_view held = stored.bytes();
        frame_walker walker(component().length - (end - held.size()));
        frame_group next = {0, 0, decoded_before, decoded_before};
        if (is_raw()) {
            next.end = held.size() - held.size() % target.stored_element_bytes;
            next.decoded_end += next.end;
            add(next);
        }
        while (!is_raw() && !walker.is_at_end() && walker.next() + walker.head_bytes() <= held.size()) {
            ZTENSOR_TRY_ASSIGN(const bool is_frame, walker.take(held.data() + static_cast<size_t>(walker.next())));
            const zstd_frame& frame = walker.frame();
            if (frame.content_bytes == zstd_frame::unknown || (is_frame && frame.end > held.size())) {
                break;
            }
            if (!is_frame) {
                continue;
            }
            if (frame.content_bytes > decoded_bytes() - next.decoded_end) {
                return fail(errc::decode_size, "the zstd blob decodes to more than the {} bytes declared",
                            {decoded_bytes()});
            }
            next.end = static_cast<size_t>(frame.end);
            next.decoded_end += frame.content_bytes;
            if (frame.content_bytes != 0 && next.decoded_end % target.stored_element_bytes == 0) {
                add(next);
            }
        }
        if (is_last() && !is_raw()) { // the rest, whatever it is
            next.end = held.size();
            next.decoded_end = decoded_bytes();
            add(next);
        }
        left_at = next.begin;
        decoded_end = next.decoded_begin;
        return {};
    }
    void add(frame_group& next) {
        groups.push_back(next);
        next.begin = next.end;
        next.decoded_begin = next.decoded_end;
    }

    result<void> decode(const frame_group& group) const {
        const size_t width = target.stored_element_bytes;
        const size_t made = target.numbers ? target.numbers->converted_bytes() : width;
        const auto first = static_cast<size_t>(group.decoded_begin / width) * made;
        const auto last = static_cast<size_t>(group.decoded_end / width) * made;
        const span<byte> place = target.destination.subspan(first, last - first);
        const span<byte> elements = place.last(static_cast<size_t>(group.decoded_end - group.decoded_begin));
        const bytes_view from = stored.bytes().subspan(group.begin, group.end - group.begin);
        if (!is_raw()) {
            ZTENSOR_TRY(decode_zstd(from, elements));
        } else if (!from.empty()) {
            std::memcpy(elements.data(), from.data(), from.size());
        }
        return target.numbers ? target.numbers->convert_stored(elements, place)
                              : to_host(component(), target.to().request, elements);
    }
};

ZTENSOR_INLINE result<std::optional<blob_layout>> blob_part::find_layout(const reader& from,
                                                                         const load_request& wanted) {
    ZTENSOR_TRY_ASSIGN(const load_target target, find_target(from, wanted));
    const component_record& component = *target.component;
    const opened_file& file = *target.file;
    const digest algorithm = known_digest(file, component).algorithm;
    const bool has_other_digest = component.digest_text.is_present() && algorithm != digest::crc32c;
    const optional<uint64_t> decoded_bytes = component.decoded_length();
    const bool has_parts = component.encoding == encoding::zstd ||
                           (component.encoding == encoding::raw && algorithm == digest::crc32c); // else rows are cut
    const bool can_be_cut = has_parts && !component.is_in_planes && decoded_bytes && target.is_whole() &&
                            !target.is_joint && wanted.destination.rows == nullptr && !has_other_digest &&
                            component.length >= frame_stream::smallest_blob_bytes && file.digest_covers.empty();
    const size_t width = target.stored_element_bytes;
    const size_t made = target.numbers ? target.numbers->converted_bytes() : width;
    const bool has_room = can_be_cut && made >= width && *decoded_bytes % width == 0 &&
                          wanted.destination.bytes.size() == *decoded_bytes / width * made;
    if (!has_room) {
        return std::optional<blob_layout>();
    }
    return std::optional(blob_layout{component.length, *decoded_bytes, width, made});
}

ZTENSOR_INLINE result<blob_part> blob_part::make(const reader& from, const load_request& wanted, std::uint64_t begin,
                                                 std::uint64_t end) {
    auto state = std::make_unique<blob_part_state>();
    ZTENSOR_TRY_ASSIGN(state->target, find_target(from, wanted));
    state->begin = begin;
    state->end = end;
    ZTENSOR_TRY(state->located(allocate(state->stored, end - begin, "a part of a blob")));
    return blob_part(std::move(state));
}

ZTENSOR_INLINE blob_part::blob_part(std::unique_ptr<blob_part_state> state) noexcept : state_(std::move(state)) {
}
ZTENSOR_INLINE blob_part::blob_part(blob_part&&) noexcept = default;
ZTENSOR_INLINE blob_part::~blob_part() = default;

ZTENSOR_INLINE result<void> blob_part::read(const load_options& options) {
    const component_record& component = state_->component();
    const byte_source& source = *state_->target.file->source;
    const span<byte> own = state_->stored.writable_bytes();
    read_ahead ahead(options.threads());
    ahead.add(source, component.offset + state_->begin, own);
    ahead.begin();
    blob_check no_check(*state_->target.file, component, digest_use::never);
    ZTENSOR_TRY(state_->located(read_checked(*state_->target.file, component, state_->begin, own, no_check)));
    const uint32_t of_own = crc32c_update(state_->begin == 0 ? crc32c_start : 0, own);
    state_->sum = crc32c_multiply(crc32c_power(8 * (component.length - state_->end)), of_own);
    return {};
}

ZTENSOR_INLINE std::uint32_t blob_part::crc32c() const noexcept {
    return state_->sum;
}

ZTENSOR_INLINE result<void> blob_part::join(span<const std::byte> carried, std::uint64_t decoded_before) {
    if (!carried.empty()) {
        const bytes_view own = state_->stored.bytes();
        byte_buffer all;
        ZTENSOR_TRY_ASSIGN(const span<byte> memory,
                           state_->located(allocate(all, carried.size() + own.size(), "a part of a blob")));
        std::memcpy(memory.data(), carried.data(), carried.size());
        std::memcpy(memory.data() + carried.size(), own.data(), own.size());
        state_->stored = std::move(all);
    }
    return state_->located(state_->find_groups(decoded_before));
}

ZTENSOR_INLINE span<const std::byte> blob_part::left_over() const noexcept {
    return state_->stored.bytes().subspan(state_->left_at);
}
ZTENSOR_INLINE std::uint64_t blob_part::decoded_end() const noexcept {
    return state_->decoded_end;
}

ZTENSOR_INLINE result<void> blob_part::decode(const load_options& options) const {
    os_mutex mutex;
    result<void> failure;
    std::atomic<bool> is_stopped{false};
    for_each_in_parallel(state_->groups.size(), options.threads(), [&](size_t i) {
        result<void> done = is_stopped ? result<void>() : state_->decode(state_->groups[i]);
        if (!done) {
            is_stopped = true;
            const os_lock lock(mutex);
            failure = failure ? std::move(done) : std::move(failure);
        }
    });
    return state_->located(at_offset(std::move(failure), state_->component().offset));
}

ZTENSOR_INLINE result<void> blob_part::check_crc32c(const reader& from, const load_request& wanted, std::uint32_t sum) {
    blob_part_state of;
    ZTENSOR_TRY_ASSIGN(of.target, find_target(from, wanted));
    blob_check check(*of.target.file, of.component());
    check.set_crc32c(sum);
    return of.located(check.finish());
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
