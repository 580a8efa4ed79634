// SPDX-License-Identifier: MIT
//
// Blobs among each other: two are the same bytes or share none; an empty one shares none. SPEC.md §2.3.
#ifndef ZTENSOR_DETAIL_MANIFEST_OVERLAP_HPP
#define ZTENSOR_DETAIL_MANIFEST_OVERLAP_HPP

#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/sort.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct blob_range {
    std::uint64_t offset;
    std::uint64_t length;
};

/// By offset, digit by digit from the last one on: files whose names are sorted and whose blobs are not are the rule,
/// and std::sort took as long as all else that opening does. `most` bounds the offsets, whose lowest `first_bit` bits
/// are 0. `scratch` has room for as many; what is given lies there or in place of the blobs.
[[nodiscard]] ZTENSOR_COLD inline span<const blob_range>
sorted_by_offset(span<blob_range> blobs, span<blob_range> scratch, std::uint64_t most, unsigned first_bit) noexcept {
    constexpr unsigned digit_bits = 11;
    constexpr std::size_t digits = std::size_t{1} << digit_bits;
    for (unsigned shift = first_bit; shift < 64 && most >> shift != 0; shift += digit_bits) {
        std::uint32_t begins[digits] = {};
        for (const blob_range& each : blobs) {
            ++begins[each.offset >> shift & (digits - 1)];
        }
        std::uint32_t before = 0;
        for (std::uint32_t& begin : begins) {
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

/// True, and which, if two blobs overlap. Their bounds have been checked; they lie before `blobs_end`.
/// Throws std::bad_alloc.
[[nodiscard]] ZTENSOR_COLD inline bool find_overlap(const manifest& index, std::uint64_t blobs_end, blob_range& first,
                                                    blob_range& second) {
    const std::size_t manifests = index.manifest_offset != 0 ? 1 : 0; // of version 2, a blob among the others
    const auto blob_at = [&](std::size_t i) {
        return i == index.components.size() ? blob_range{index.manifest_offset, index.index.size()}
                                            : blob_range{index.components[i].offset, index.components[i].length};
    };
    overlap_search search;
    const auto overlaps = [&](const blob_range& blob) {
        first = search.before();
        second = blob;
        return search.next(blob);
    };
    const std::size_t count = index.components.size() + manifests;
    const bool has_memory_to_spare = count <= index.index.size() / (2 * sizeof(blob_range));
    if (has_memory_to_spare) {
        record_array<blob_range> memory;
        const span<blob_range> room(memory.extend(2 * count), 2 * count);
        advise_huge_pages(room.data(), room.size_bytes());
        std::size_t blobs = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (blob_at(i).length != 0) {
                room[blobs++] = blob_at(i);
            }
        }
        for (const blob_range& blob : sorted_by_offset(room.first(blobs), room.subspan(count, blobs), blobs_end,
                                                       index.alignment_bytes == 1 ? 0 : 6)) {
            if (overlaps(blob)) {
                return true;
            }
        }
        return false;
    }
    record_array<std::uint32_t> positions; // an index that is nothing but components: see manifest_reader
    positions.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        if (blob_at(i).length != 0) {
            positions.push_back(i);
        }
    }
    sort_positions(span<std::uint32_t>(positions),
                   [&](std::uint32_t a, std::uint32_t b) { return blob_at(a).offset < blob_at(b).offset; });
    for (const std::uint32_t i : positions) {
        if (overlaps(blob_at(i))) {
            return true;
        }
    }
    return false;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
