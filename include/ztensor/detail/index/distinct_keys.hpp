// SPDX-License-Identifier: MIT
//
// That no key stands twice in a map of an index. SPEC.md section 3.5.
#ifndef ZTENSOR_DETAIL_INDEX_DISTINCT_KEYS_HPP
#define ZTENSOR_DETAIL_INDEX_DISTINCT_KEYS_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/index/scan.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// scan_reach_bytes of anything follow the index.

/// The key at a position, which has been read; one in chunks is joined in `scratch`.
[[nodiscard]] inline std::string_view key_at(bytes_view index, std::size_t position, std::string& scratch) {
    constexpr std::byte chunked_text{0x7f};
    if (index[position] != chunked_text) {
        return text_at(index.data() + position);
    }
    cbor_cursor(index, 0, position).read_joined(cbor_major::text, scratch);
    return scratch;
}

/// A first look: most keys come sorted, and then none stands twice.
[[nodiscard]] inline bool are_keys_sorted(bytes_view index, span<const std::uint32_t> keys) noexcept {
    constexpr std::byte chunked_text{0x7f};
    std::string_view last;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const std::byte* const at = index.data() + keys[i];
        if (*at == chunked_text || (i != 0 && !is_name_before(last, text_at(at)))) {
            return false;
        }
        last = text_at(at);
    }
    return true;
}

/// The first position at which a key stands that stood before, or 0. Takes time linear in the bytes of the keys, in
/// whatever order they are: they are hashed with a seed that the file's author can't know. Throws std::bad_alloc:
/// takes 6 bytes for each of many keys, 12 where they stand for more than 16 of the index.
[[nodiscard]] ZTENSOR_COLD inline std::uint32_t find_twin(bytes_view index, span<const std::uint32_t> keys) {
    constexpr std::uint32_t position_bits = 30;
    constexpr std::uint32_t position_mask = (std::uint32_t{1} << position_bits) - 1;
    constexpr std::size_t few = 8;
    std::uint32_t room_for_few[2 * few] = {};
    record_array<std::uint32_t> room_for_many;
    span<std::uint32_t> slots(room_for_few);
    if (keys.size() > few) {
        const bool are_few = (keys.back() - keys.front()) / 16 > keys.size(); // for the bytes that they stand in
        room_for_many.assign_zeros(are_few ? 3 * keys.size() : keys.size() + keys.size() / 2);
        slots = room_for_many;
    }
    const std::uint64_t seed = process_hash_key();
    std::string own, other; // for keys in chunks
    for (const std::uint32_t position : keys) {
        const std::string_view key = key_at(index, position, own);
        const std::uint64_t hash = hash_name(key, seed);
        // A slot holds a position and two bits of the hash, which tell most different keys apart.
        const std::uint32_t mark = static_cast<std::uint32_t>(hash) << position_bits;
        auto at = static_cast<std::size_t>((hash >> 32) * slots.size() >> 32);
        for (; slots[at] != 0; at = at + 1 < slots.size() ? at + 1 : 0) {
            if ((slots[at] & ~position_mask) == mark && key_at(index, slots[at] & position_mask, other) == key) {
                return position;
            }
        }
        slots[at] = mark | position;
    }
    return 0;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
