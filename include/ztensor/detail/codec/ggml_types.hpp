// SPDX-License-Identifier: MIT
//
// GGML's types, and what a block of each consists of.
#ifndef ZTENSOR_DETAIL_CODEC_GGML_TYPES_HPP
#define ZTENSOR_DETAIL_CODEC_GGML_TYPES_HPP

#include <ztensor/float_types.hpp>
#include <ztensor/version.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- ggml types
//
// The block types of ggml, which GGUF stores: how many weights a block holds in how many bytes, and the word for an
// object that is made of such blocks. Knows no file.

/// The numbers of `enum ggml_type` that are blocks.
enum class ggml_type : std::uint32_t {
    q4_0 = 2,
    q4_1 = 3,
    q5_0 = 6,
    q5_1 = 7,
    q8_0 = 8,
    q8_1 = 9,
    q2_k = 10,
    q3_k = 11,
    q4_k = 12,
    q5_k = 13,
    q6_k = 14,
    q8_k = 15,
    iq2_xxs = 16,
    iq2_xs = 17,
    iq3_xxs = 18,
    iq1_s = 19,
    iq4_nl = 20,
    iq3_s = 21,
    iq2_s = 22,
    iq4_xs = 23,
    iq1_m = 29,
    tq1_0 = 34,
    tq2_0 = 35,
    mxfp4 = 39,
    nvfp4 = 40,
    q1_0 = 41,
    q2_0 = 42,
};

struct ggml_block_type {
    ggml_type id;
    std::string_view name;
    std::uint32_t elements; ///< of one block
    std::uint32_t bytes;    ///< of one block
};

/// The largest of all blocks, in elements.
inline constexpr std::size_t max_ggml_block_elements = 256;
inline constexpr std::size_t max_ggml_block_bytes = 292;

inline constexpr ggml_block_type ggml_block_types[] = {
    {ggml_type::q4_0, "q4_0", 32, 18},        {ggml_type::q4_1, "q4_1", 32, 20},
    {ggml_type::q5_0, "q5_0", 32, 22},        {ggml_type::q5_1, "q5_1", 32, 24},
    {ggml_type::q8_0, "q8_0", 32, 34},        {ggml_type::q8_1, "q8_1", 32, 36},
    {ggml_type::q2_k, "q2_k", 256, 84},       {ggml_type::q3_k, "q3_k", 256, 110},
    {ggml_type::q4_k, "q4_k", 256, 144},      {ggml_type::q5_k, "q5_k", 256, 176},
    {ggml_type::q6_k, "q6_k", 256, 210},      {ggml_type::q8_k, "q8_k", 256, 292},
    {ggml_type::iq2_xxs, "iq2_xxs", 256, 66}, {ggml_type::iq2_xs, "iq2_xs", 256, 74},
    {ggml_type::iq3_xxs, "iq3_xxs", 256, 98}, {ggml_type::iq1_s, "iq1_s", 256, 50},
    {ggml_type::iq4_nl, "iq4_nl", 32, 18},    {ggml_type::iq3_s, "iq3_s", 256, 110},
    {ggml_type::iq2_s, "iq2_s", 256, 82},     {ggml_type::iq4_xs, "iq4_xs", 256, 136},
    {ggml_type::iq1_m, "iq1_m", 256, 56},     {ggml_type::tq1_0, "tq1_0", 256, 54},
    {ggml_type::tq2_0, "tq2_0", 256, 66},     {ggml_type::mxfp4, "mxfp4", 32, 17},
    {ggml_type::nvfp4, "nvfp4", 64, 36},      {ggml_type::q1_0, "q1_0", 128, 18},
    {ggml_type::q2_0, "q2_0", 64, 18},
};

/// Null for a number that is no block type, or is unknown.
[[nodiscard]] constexpr const ggml_block_type* find_ggml_type(std::uint64_t number) noexcept {
    for (const ggml_block_type& each : ggml_block_types) {
        if (static_cast<std::uint64_t>(each.id) == number) {
            return &each;
        }
    }
    return nullptr;
}

inline constexpr std::string_view ggml_format_prefix = "gguf.";
inline constexpr std::string_view ggml_format_suffix = "/1";
/// Behind the type's name, of blocks from a big-endian file: see gguf.hpp.
inline constexpr std::string_view ggml_big_endian_mark = "_big_endian";

/// The block type of objects of the format `word`, such as "gguf.q4_0/1"; null for any other word.
[[nodiscard]] constexpr const ggml_block_type* find_ggml_format(std::string_view word) noexcept {
    const std::size_t frame = ggml_format_prefix.size() + ggml_format_suffix.size();
    if (word.size() <= frame || word.substr(0, ggml_format_prefix.size()) != ggml_format_prefix ||
        word.substr(word.size() - ggml_format_suffix.size()) != ggml_format_suffix) {
        return nullptr;
    }
    const std::string_view type = word.substr(ggml_format_prefix.size(), word.size() - frame);
    for (const ggml_block_type& each : ggml_block_types) {
        if (each.name == type) {
            return &each;
        }
    }
    return nullptr;
}

// -- ggml block layout
//
// What the headers of ggml's block types have in common: a block taken apart, and how packed integers are taken out of
// it.
//
// Every type comes to the same: a weight is scale * integer, for some types less or plus a minimum, where a group of
// neighbours shares scale and minimum. So a type only says how its block is unpacked, and one loop computes
// (ggml_blocks.hpp).

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
