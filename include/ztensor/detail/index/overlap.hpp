// SPDX-License-Identifier: MIT
//
// Blobs among each other: two are the same bytes or share none; an empty one shares none. SPEC.md section 2.3.
#ifndef ZTENSOR_DETAIL_INDEX_OVERLAP_HPP
#define ZTENSOR_DETAIL_INDEX_OVERLAP_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/error.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct blob_range {
    uint64_t offset;
    uint64_t length;
};

/// By offset, digit by digit from the last one on, in a time that no order and no lengths make worse: std::sort took as
/// long as all else that opening does. `most` bounds the offsets. `scratch` has room for as many; what is given lies
/// there or in place of the blobs.
[[nodiscard]] ZTENSOR_COLD inline span<blob_range> sorted_by_offset(span<blob_range> blobs, span<blob_range> scratch,
                                                                    uint64_t most) noexcept {
    constexpr unsigned digit_bits = 11;
    constexpr size_t digits = size_t{1} << digit_bits;
    for (unsigned shift = 0; shift < 64 && most >> shift != 0; shift += digit_bits) {
        uint32_t begins[digits] = {};
        for (const blob_range& each : blobs) {
            ++begins[each.offset >> shift & (digits - 1)];
        }
        uint32_t before = 0;
        for (uint32_t& begin : begins) {
            before += std::exchange(begin, before);
        }
        for (const blob_range& each : blobs) {
            scratch[begins[each.offset >> shift & (digits - 1)]++] = each;
        }
        std::swap(blobs, scratch);
    }
    return blobs;
}

/// Looks at blobs in the order of their offsets.
class overlap_search {
public:
    /// True if the blob overlaps one before it. An equal one does not.
    [[nodiscard]] bool next(const blob_range& blob) noexcept {
        const bool overlaps = blob.offset - before_.offset < before_.length &&
                              (blob.offset != before_.offset || blob.length != before_.length);
        if (!overlaps) {
            before_ = blob;
        }
        return overlaps;
    }
    /// The one that the last blob overlaps.
    [[nodiscard]] const blob_range& before() const noexcept { return before_; }

private:
    blob_range before_ = {0, 0};
};

/// Calls `take(range, number)` for each blob that is not empty: the number of one of a component is its address + 1. In
/// version 2 the manifest is a blob, too, of the number 0.
template <class Take>
void for_each_blob(const manifest& index, const Take& take) {
    if (index.manifest_offset != 0) {
        take(blob_range{index.manifest_offset, index.index.size()}, uint32_t{0});
    }
    for (const object_record& object : index.objects) {
        uint32_t number = object.first_component;
        for (const component_record& each : index.components_of(object)) {
            ++number;
            if (each.length != 0) {
                take(blob_range{each.offset, each.length}, number);
            }
        }
    }
}

/// True, and which, if two blobs overlap. Their bounds have been checked. Throws std::bad_alloc.
[[nodiscard]] ZTENSOR_COLD inline bool find_overlap(const manifest& index, blob_range& first, blob_range& second) {
    overlap_search search;
    const auto overlaps = [&](const blob_range& blob) {
        first = search.before();
        second = blob;
        return search.next(blob);
    };
    const size_t most = index.components.size() + 1;
    const bool has_memory_to_spare = most <= index.index.size() / (2 * sizeof(blob_range));
    if (has_memory_to_spare) {
        record_array<blob_range> memory;
        const span<blob_range> room(memory.extend(2 * most), 2 * most);
        advise_huge_pages(room.data(), room.size_bytes());
        size_t filled = 0;
        for_each_blob(index, [&](const blob_range& blob, uint32_t) { room[filled++] = blob; });
        const span<blob_range> blobs =
            sorted_by_offset(room.first(filled), room.subspan(most, filled), index.blobs_end);
        return std::any_of(blobs.begin(), blobs.end(), overlaps);
    }
    record_array<uint32_t> numbers; // of an index that is nothing but components
    numbers.reserve(most);
    for_each_blob(index, [&](const blob_range&, uint32_t number) { numbers.push_back(number); });
    const auto blob_at = [&](uint32_t number) {
        return number == 0 ? blob_range{index.manifest_offset, index.index.size()}
                           : blob_range{index.components[number - 1].offset, index.components[number - 1].length};
    };
    sort_positions(span<uint32_t>(numbers), [&](uint32_t a, uint32_t b) {
        const uint64_t one = blob_at(a).offset, other = blob_at(b).offset;
        return one != other ? one < other : a < b;
    });
    return std::any_of(numbers.begin(), numbers.end(), [&](uint32_t number) { return overlaps(blob_at(number)); });
}

/// The error for two blobs that overlap, with the object and component that the second one belongs to.
[[nodiscard]] ZTENSOR_COLD inline error describe_overlap(const manifest& index, const blob_range& first,
                                                         const blob_range& second) {
    error overlap =
        fail(errc::blob_overlap,
             "two blobs share bytes without being the same: {} bytes at offset {} and {} bytes at offset {}",
             {first.length, first.offset, second.length, second.offset});
    for (const object_record& object : index.objects) {
        for (const component_record& component : index.components_of(object)) {
            if (component.offset == second.offset && component.length == second.length) {
                return std::move(overlap).in_object(index.text(object.name)).in_component(role_name(index, component));
            }
        }
    }
    return overlap;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
