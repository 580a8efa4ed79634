// SPDX-License-Identifier: MIT
//
// The values that differ from one object of an index to the next, read where they stand. SPEC.md section 3.
#ifndef ZTENSOR_DETAIL_INDEX_SCAN_HPP
#define ZTENSOR_DETAIL_INDEX_SCAN_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// Each of these gives where the value ends, or nullptr if the general way must look. No end of the index is asked for:
// scan_reach_bytes of anything follow it.

/// No value that is passed here takes more, nor what is looked at beyond it.
inline constexpr size_t scan_reach_bytes = 2048;

[[nodiscard]] inline const byte* pass_unsigned(const byte* at, uint64_t& value) noexcept {
    const auto first = std::to_integer<uint8_t>(*at);
    if (first < 24) {
        value = first;
        return at + 1;
    }
    const uint64_t behind = load_big_64(at + 1);
    switch (first) { // branches, not a shift by a size: a processor goes on before it has seen the head (1.4 times)
    case 0x18:
        value = behind >> 56;
        return at + 2;
    case 0x19:
        value = behind >> 48;
        return at + 3;
    case 0x1a:
        value = behind >> 32;
        return at + 5;
    case 0x1b:
        value = behind;
        return at + 9;
    default:
        return nullptr;
    }
}

/// The same of a head that could not be shorter.
[[nodiscard]] inline const byte* pass_shortest_unsigned(const byte* at, uint64_t& value) noexcept {
    const byte* const end = pass_unsigned(at, value);
    const std::ptrdiff_t size = end == nullptr ? 0 : end - at - 1;
    const bool fits_in_less = size == 1 ? value < 24 : size > 1 && value >> (4 * size) == 0;
    return fits_in_less ? nullptr : end;
}

template <bool IsDeterministic>
[[nodiscard]] inline const byte* pass_shape(const byte* at, uint64_t& element_count) noexcept {
    size_t rank = std::to_integer<size_t>(*at++) - 0x80;
    if (rank == 0x18) {
        rank = std::to_integer<size_t>(*at++);
        if ((IsDeterministic && rank < 24) || rank > max_rank) {
            return nullptr;
        }
    } else if (rank >= 24) { // a wider head, or that of something else
        return nullptr;
    }
    element_counter counter;
    constexpr uint64_t eight_ones = 0x0101010101010101u;
    for (uint64_t dimension = 0; rank != 0; --rank) {
        for (; rank > 8 && load_little_64(at) == eight_ones; rank -= 8) { // what most of very many dimensions are
            at += 8;
        }
        at = IsDeterministic ? pass_shortest_unsigned(at, dimension) : pass_unsigned(at, dimension);
        if (at == nullptr || !counter.multiply(dimension)) {
            return nullptr;
        }
    }
    element_count = counter.count();
    return at;
}

/// Hexadecimal, in either case, or in lower case alone.
[[nodiscard]] inline const byte* pass_digits(const byte* at, size_t count, bool is_lower) noexcept {
    constexpr uint64_t ones = 0x0101010101010101u;
    constexpr uint64_t high = 0x80 * ones;
    uint64_t wrong = 0;
    for (size_t i = 0; i < count; i += 8) { // eight digits at once, each in its byte
        const uint64_t digits = load_little_64(at + i);
        const uint64_t lower = digits | 0x20 * ones;
        const uint64_t is_digit = (lower + (0x80 - '0') * ones) & ~(lower + (0x80 - '9' - 1) * ones);
        const uint64_t is_letter = (lower + (0x80 - 'a') * ones) & ~(lower + (0x80 - 'f' - 1) * ones);
        // The bit 0x20 turns letters into small ones; of the digits it must have been there.
        wrong |= digits | ~((is_digit & digits << 2) | is_letter) | (is_lower ? ~digits << 2 : 0);
    }
    return (wrong & high) == 0 ? at + count : nullptr;
}

/// A name of at most 255 bytes that is ASCII without U+0000.
[[nodiscard]] inline const byte* pass_name(const byte* at, string_view& name) noexcept {
    constexpr uint64_t ones = 0x0101010101010101u;
    size_t size = std::to_integer<size_t>(*at++) - 0x60;
    if (size == 0x18) {
        size = std::to_integer<size_t>(*at++);
    } else if (size >= 24) {
        return nullptr;
    }
    name = as_text({at, size});
    const byte* const end = at + size;
    uint64_t wrong = 0; // a byte above 0x7f, or 0, leaves a high bit
    for (; end - at > 16; at += 16) {
        const uint64_t word = load_little_64(at), next = load_little_64(at + 8);
        wrong |= word | (word - ones) | next | (next - ones);
    }
    if (size >= 16) { // the last, some of which may have been seen
        const uint64_t word = load_little_64(end - 16), next = load_little_64(end - 8);
        wrong |= word | (word - ones) | next | (next - ones);
        return (wrong & 0x80 * ones) == 0 ? end : nullptr;
    }
    if (size >= 8) {
        const uint64_t word = load_little_64(at);
        wrong |= word | (word - ones);
        at += 8;
    }
    const uint64_t beyond = ~uint64_t{0} << 8 * (end - at);
    const uint64_t last = (load_little_64(at) & ~beyond) | (ones & beyond);
    wrong |= last | (last - ones);
    return (wrong & 0x80 * ones) == 0 && size != 0 ? end : nullptr;
}

/// The same with a head that could not be shorter.
[[nodiscard]] inline const byte* pass_shortest_name(const byte* at, string_view& name) noexcept {
    constexpr byte one_byte_more{0x78};
    const byte* const end = pass_name(at, name);
    return *at == one_byte_more && name.size() < 24 ? nullptr : end;
}

/// a < b; both can be read 8 bytes beyond their ends.
[[nodiscard]] inline bool is_name_before(string_view a, string_view b) noexcept {
    const size_t common = a.size() < b.size() ? a.size() : b.size();
    const byte* const left = as_bytes(a).data();
    const byte* const right = as_bytes(b).data();
    size_t i = 0;
    while (i < common && load_little_64(left + i) == load_little_64(right + i)) {
        i += 8;
    }
    if (i >= common) {
        return a.size() < b.size();
    }
    const size_t beyond = common - i < 8 ? 64 - 8 * (common - i) : 0;
    const uint64_t x = load_big_64(left + i) >> beyond;
    const uint64_t y = load_big_64(right + i) >> beyond;
    return x != y ? x < y : a.size() < b.size();
}

/// The same in the order of deterministic CBOR, whose heads come first.
[[nodiscard]] inline bool is_name_before_2(string_view a, string_view b) noexcept {
    return a.size() != b.size() ? a.size() < b.size() : is_name_before(a, b);
}

/// The text behind a head of more than two bytes.
[[nodiscard]] ZTENSOR_COLD inline string_view long_text_at(const byte* head) noexcept {
    const size_t size_bytes = size_t{1} << ((std::to_integer<size_t>(*head) & 31) - 24);
    return as_text({head + 1 + size_bytes, static_cast<size_t>(load_big(head + 1, size_bytes))});
}

/// The text whose head is at `head`, which was validated and is definite.
[[nodiscard]] inline string_view text_at(const byte* head) noexcept {
    const size_t info = std::to_integer<size_t>(*head) & 31;
    if (info < 24) {
        return as_text({head + 1, info});
    }
    return info == 24 ? as_text({head + 2, std::to_integer<size_t>(head[1])}) : long_text_at(head);
}

// -- distinct keys
//
// That no key stands twice in a map of an index. SPEC.md section 3.5.

// scan_reach_bytes of anything follow the index.

/// The key at a position, which has been read; one in chunks is joined in `scratch`.
[[nodiscard]] inline string_view key_at(bytes_view index, size_t position, string& scratch) {
    constexpr byte chunked_text{0x7f};
    if (index[position] != chunked_text) {
        return text_at(index.data() + position);
    }
    cbor_cursor(index, 0, position).read_joined(cbor_major::text, scratch);
    return scratch;
}

/// A first look: most keys come sorted, and then none stands twice.
[[nodiscard]] inline bool are_keys_sorted(bytes_view index, span<const uint32_t> keys) noexcept {
    constexpr byte chunked_text{0x7f};
    string_view last;
    for (size_t i = 0; i < keys.size(); ++i) {
        const byte* const at = index.data() + keys[i];
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
[[nodiscard]] ZTENSOR_COLD inline uint32_t find_twin(bytes_view index, span<const uint32_t> keys) {
    constexpr uint32_t position_bits = 30;
    constexpr uint32_t position_mask = (uint32_t{1} << position_bits) - 1;
    constexpr size_t few = 8;
    uint32_t room_for_few[2 * few] = {};
    record_array<uint32_t> room_for_many;
    span<uint32_t> slots(room_for_few);
    if (keys.size() > few) {
        const bool are_few = (keys.back() - keys.front()) / 16 > keys.size(); // for the bytes that they stand in
        room_for_many.assign_zeros(are_few ? 3 * keys.size() : keys.size() + keys.size() / 2);
        slots = room_for_many;
    }
    const uint64_t seed = process_hash_key();
    string own, other; // for keys in chunks
    for (const uint32_t position : keys) {
        const string_view key = key_at(index, position, own);
        const uint64_t hash = hash_name(key, seed);
        // A slot holds a position and two bits of the hash, which tell most different keys apart.
        const uint32_t mark = static_cast<uint32_t>(hash) << position_bits;
        auto at = static_cast<size_t>((hash >> 32) * slots.size() >> 32);
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
