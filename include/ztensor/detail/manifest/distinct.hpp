// SPDX-License-Identifier: MIT
//
// That no key stands twice in a map. SPEC.md section 3.5.
#ifndef ZTENSOR_DETAIL_MANIFEST_DISTINCT_HPP
#define ZTENSOR_DETAIL_MANIFEST_DISTINCT_HPP

#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/manifest/name_table.hpp>
#include <ztensor/detail/manifest/pattern.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A first look at keys of a map, which stand at positions of an index: most come sorted, and then none stands twice.
/// pattern::reach_bytes follow the index.
[[nodiscard]] ZTENSOR_NOINLINE inline bool are_keys_sorted(bytes_view index, span<const std::uint32_t> keys) noexcept {
    std::string_view last;
    for (const std::uint32_t position : keys) {
        const std::string_view next = text_at(index, {position});
        if (position != keys[0] && !is_name_before(last, next)) {
            return false;
        }
        last = next;
    }
    return true;
}

/// The first position at which a key stands that stood before, or 0. Takes time linear in the bytes of the keys, in
/// whatever order they are: they are hashed with a seed that the file's author can't know. Throws std::bad_alloc:
/// takes 6 bytes for each of many keys, 12 where they stand for more than 16 of the index.
[[nodiscard]] ZTENSOR_COLD inline std::uint32_t find_twin(bytes_view index, span<const std::uint32_t> keys) {
    constexpr std::uint32_t position_bits = 30;
    constexpr std::uint32_t position_mask = (std::uint32_t{1} << position_bits) - 1;
    std::uint32_t room_for_few[64] = {};
    record_array<std::uint32_t> room_for_many;
    span<std::uint32_t> slots(room_for_few);
    if (keys.size() > slots.size() / 2) {
        const bool are_few = (keys.back() - keys.front()) / 16 > keys.size(); // for the bytes that they stand in
        room_for_many.assign_zeros(are_few ? 3 * keys.size() : keys.size() + keys.size() / 2);
        slots = room_for_many;
    }
    const std::uint64_t seed = process_hash_key();
    for (const std::uint32_t position : keys) {
        const std::string_view key = text_at(index, {position});
        const std::uint64_t hash = hash_name(key, seed);
        // A slot holds a position and two bits of the hash, which tell most different keys apart.
        const std::uint32_t mark = static_cast<std::uint32_t>(hash) << position_bits;
        auto at = static_cast<std::size_t>((hash >> 32) * slots.size() >> 32);
        for (; slots[at] != 0; at = at + 1 < slots.size() ? at + 1 : 0) {
            if ((slots[at] & ~position_mask) == mark && text_at(index, {slots[at] & position_mask}) == key) {
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
