// SPDX-License-Identifier: MIT
//
// What the headers of ggml's block types have in common: a block taken apart, and how packed integers are taken out of
// it.
//
// Every type comes to the same: a weight is scale * integer, for some types less or plus a minimum, where a group of
// neighbours shares scale and minimum. So a type only says how its block is unpacked, and one loop computes
// (ggml_blocks.hpp).
#ifndef ZTENSOR_DETAIL_CODEC_GGML_BLOCK_LAYOUT_HPP
#define ZTENSOR_DETAIL_CODEC_GGML_BLOCK_LAYOUT_HPP

#include <ztensor/detail/codec/ggml_types.hpp>
#include <ztensor/float_types.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A block taken apart. Groups follow one another; of each its scale and, if the type has them, its minimum.
struct unpacked_block {
    std::int8_t integers[max_ggml_block_elements];
    float scales[16];
    float minimums[16];
};

enum class minimum_use : std::uint8_t { none, subtracted, added };

/// What each type derives from, and adds unpack(const std::uint8_t* block, unpacked_block&) to.
template <ggml_type Type, std::size_t Group, minimum_use Minimum = minimum_use::none>
struct ggml_block_layout {
    static constexpr std::size_t elements = find_ggml_type(static_cast<std::uint32_t>(Type))->elements;
    static constexpr std::size_t bytes = find_ggml_type(static_cast<std::uint32_t>(Type))->bytes;
    static constexpr std::size_t group = Group; ///< weights that share a scale
    static constexpr minimum_use minimum = Minimum;
};

[[nodiscard]] inline std::uint32_t load_16(const std::uint8_t* bytes) noexcept {
    return static_cast<std::uint32_t>(bytes[0] | bytes[1] << 8);
}
[[nodiscard]] inline std::uint32_t load_32(const std::uint8_t* bytes) noexcept {
    return load_16(bytes) | load_16(bytes + 2) << 16;
}
[[nodiscard]] inline float float_of_bits(std::uint32_t bits) noexcept {
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
[[nodiscard]] inline float float_of_half(std::uint32_t bits) noexcept {
    return static_cast<float>(float16::from_bits(static_cast<std::uint16_t>(bits)));
}
[[nodiscard]] inline float load_half(const std::uint8_t* bytes) noexcept {
    return float_of_half(load_16(bytes));
}

// Loops have a length that the compiler knows and touch nothing else in memory, so that they are vectorised.

/// Bits `shift` and `shift` + 1 (or however many `mask` has) of each byte.
template <std::size_t Count>
void unpack_bits(const std::uint8_t* packed, int shift, int mask, std::int8_t* integers) noexcept {
    for (std::size_t i = 0; i < Count; ++i) {
        integers[i] = static_cast<std::int8_t>(packed[i] >> shift & mask);
    }
}

/// Bit `bit` of each byte, added to the integers as bit `place`.
template <std::size_t Count>
void add_bits(const std::uint8_t* bits, int bit, int mask, int place, std::int8_t* integers) noexcept {
    for (std::size_t i = 0; i < Count; ++i) {
        integers[i] = static_cast<std::int8_t>(integers[i] | (bits[i] >> bit & mask) << place);
    }
}

template <std::size_t Count>
void subtract_from_each(int offset, std::int8_t* integers) noexcept {
    for (std::size_t i = 0; i < Count; ++i) {
        integers[i] = static_cast<std::int8_t>(integers[i] - offset);
    }
}

/// The low halves of 16 bytes, then their high halves.
inline void unpack_nibbles_of_32(const std::uint8_t* packed, std::int8_t* integers) noexcept {
    unpack_bits<16>(packed, 0, 15, integers);
    unpack_bits<16>(packed, 4, 15, integers + 16);
}

/// Bit i of 32, little-endian, becomes bit 4 of integer i.
inline void add_fifth_bits_of_32(const std::uint8_t* bits, std::int8_t* integers) noexcept {
    for (std::size_t i = 0; i < 32; ++i) {
        integers[i] = static_cast<std::int8_t>(integers[i] | (bits[i / 8] >> i % 8 & 1) << 4);
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
