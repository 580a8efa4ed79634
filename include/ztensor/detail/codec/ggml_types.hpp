// SPDX-License-Identifier: MIT
//
// GGML's types, what a block of each consists of, and the blocks that need no codebook.
#ifndef ZTENSOR_DETAIL_CODEC_GGML_TYPES_HPP
#define ZTENSOR_DETAIL_CODEC_GGML_TYPES_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/version.hpp>

#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- ggml types
//
// The block types of ggml, which GGUF stores: how many weights a block holds in how many bytes, and the word for an
// object that is made of such blocks. Knows no file.

/// The numbers of `enum ggml_type` that are blocks.
enum class ggml_type : uint32_t {
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
    string_view name;
    uint32_t elements; ///< of one block
    uint32_t bytes;    ///< of one block
};

/// The largest of all blocks, in elements.
inline constexpr size_t max_ggml_block_elements = 256;
inline constexpr size_t max_ggml_block_bytes = 292;

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
[[nodiscard]] constexpr const ggml_block_type* find_ggml_type(uint64_t number) noexcept {
    for (const ggml_block_type& each : ggml_block_types) {
        if (static_cast<uint64_t>(each.id) == number) {
            return &each;
        }
    }
    return nullptr;
}

inline constexpr string_view ggml_format_prefix = "gguf.";
inline constexpr string_view ggml_format_suffix = "/1";
/// Behind the type's name, of blocks from a big-endian file: see gguf.hpp.
inline constexpr string_view ggml_big_endian_mark = "_big_endian";

/// The block type of objects of the format `word`, such as "gguf.q4_0/1"; null for any other word.
[[nodiscard]] constexpr const ggml_block_type* find_ggml_format(string_view word) noexcept {
    const size_t frame = ggml_format_prefix.size() + ggml_format_suffix.size();
    if (word.size() <= frame || word.substr(0, ggml_format_prefix.size()) != ggml_format_prefix ||
        word.substr(word.size() - ggml_format_suffix.size()) != ggml_format_suffix) {
        return nullptr;
    }
    const string_view type = word.substr(ggml_format_prefix.size(), word.size() - frame);
    return find_row(ggml_block_types, &ggml_block_type::name, type);
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
    int8_t integers[max_ggml_block_elements];
    float scales[16];
    float minimums[16];
};

enum class minimum_use : uint8_t { none, subtracted, added };

/// What each type derives from, and adds unpack(const std::uint8_t* block, unpacked_block&) to.
template <ggml_type Type, size_t Group, minimum_use Minimum = minimum_use::none>
struct ggml_block_layout {
    static constexpr ggml_type type = Type;
    static constexpr size_t elements = find_ggml_type(static_cast<uint32_t>(Type))->elements;
    static constexpr size_t bytes = find_ggml_type(static_cast<uint32_t>(Type))->bytes;
    static constexpr size_t group = Group; ///< weights that share a scale
    static constexpr minimum_use minimum = Minimum;
};

[[nodiscard]] inline uint32_t load_16(const uint8_t* bytes) noexcept {
    return static_cast<uint32_t>(bytes[0] | bytes[1] << 8);
}
[[nodiscard]] inline uint32_t load_32(const uint8_t* bytes) noexcept {
    return load_16(bytes) | load_16(bytes + 2) << 16;
}
[[nodiscard]] inline float float_of_half(uint32_t bits) noexcept {
    return static_cast<float>(float16::from_bits(static_cast<uint16_t>(bits)));
}
[[nodiscard]] inline float load_half(const uint8_t* bytes) noexcept {
    return float_of_half(load_16(bytes));
}

// Loops have a length that the compiler knows and touch nothing else in memory, so that they are vectorised.

/// Bits `shift` and `shift` + 1 (or however many `mask` has) of each byte.
template <size_t Count>
void unpack_bits(const uint8_t* packed, int shift, int mask, int8_t* integers) noexcept {
    for (size_t i = 0; i < Count; ++i) {
        integers[i] = static_cast<int8_t>(packed[i] >> shift & mask);
    }
}

/// Bit `bit` of each byte, added to the integers as bit `place`.
template <size_t Count>
void add_bits(const uint8_t* bits, int bit, int mask, int place, int8_t* integers) noexcept {
    for (size_t i = 0; i < Count; ++i) {
        integers[i] = static_cast<int8_t>(integers[i] | (bits[i] >> bit & mask) << place);
    }
}

template <size_t Count>
void subtract_from_each(int offset, int8_t* integers) noexcept {
    for (size_t i = 0; i < Count; ++i) {
        integers[i] = static_cast<int8_t>(integers[i] - offset);
    }
}

/// The low halves of 16 bytes, then their high halves.
inline void unpack_nibbles_of_32(const uint8_t* packed, int8_t* integers) noexcept {
    unpack_bits<16>(packed, 0, 15, integers);
    unpack_bits<16>(packed, 4, 15, integers + 16);
}

/// Bit i of 32, little-endian, becomes bit 4 of integer i.
inline void add_fifth_bits_of_32(const uint8_t* bits, int8_t* integers) noexcept {
    for (size_t i = 0; i < 32; ++i) {
        integers[i] = static_cast<int8_t>(integers[i] | (bits[i / 8] >> i % 8 & 1) << 4);
    }
}

// -- ggml integer blocks
//
// The block types of ggml whose integers stand in the block itself, q1_0 to q8_1, q2_k to q8_k, tq1_0 and tq2_0, or in
// a table of sixteen: iq4_nl, iq4_xs, and the 4-bit floats mxfp4 and nvfp4.

struct q4_0_block : ggml_block_layout<ggml_type::q4_0, 32> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        unpack_nibbles_of_32(block + 2, out.integers);
        subtract_from_each<32>(8, out.integers);
    }
};

struct q4_1_block : ggml_block_layout<ggml_type::q4_1, 32, minimum_use::added> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        out.minimums[0] = load_half(block + 2);
        unpack_nibbles_of_32(block + 4, out.integers);
    }
};

struct q5_0_block : ggml_block_layout<ggml_type::q5_0, 32> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        unpack_nibbles_of_32(block + 6, out.integers);
        add_fifth_bits_of_32(block + 2, out.integers);
        subtract_from_each<32>(16, out.integers);
    }
};

struct q5_1_block : ggml_block_layout<ggml_type::q5_1, 32, minimum_use::added> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        out.minimums[0] = load_half(block + 2);
        unpack_nibbles_of_32(block + 8, out.integers);
        add_fifth_bits_of_32(block + 4, out.integers);
    }
};

struct q8_0_block : ggml_block_layout<ggml_type::q8_0, 32> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        std::memcpy(out.integers, block + 2, 32);
    }
};

/// The half behind the scale is the scale times the sum of the integers, which products of matrices use.
struct q8_1_block : ggml_block_layout<ggml_type::q8_1, 32> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        std::memcpy(out.integers, block + 4, 32);
    }
};

/// A bit of each weight: its sign.
struct q1_0_block : ggml_block_layout<ggml_type::q1_0, 128> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        for (size_t i = 0; i < elements; ++i) {
            out.integers[i] = static_cast<int8_t>((block[2 + i / 8] >> i % 8 & 1) * 2 - 1);
        }
    }
};

struct q2_0_block : ggml_block_layout<ggml_type::q2_0, 64> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        for (size_t i = 0; i < elements; ++i) {
            out.integers[i] = static_cast<int8_t>((block[2 + i / 4] >> i % 4 * 2 & 3) - 1);
        }
    }
};

/// Four integers of two bits in each of 64 bytes: of 32 bytes the lowest bits come first, then the next.
inline void unpack_pairs_of_256(const uint8_t* packed, int8_t* integers) noexcept {
    for (size_t row = 0; row < 8; ++row) {
        unpack_bits<32>(packed + row / 4 * 32, static_cast<int>(row % 4 * 2), 3, integers + row * 32);
    }
}

struct q2_k_block : ggml_block_layout<ggml_type::q2_k, 16, minimum_use::subtracted> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        const float scale = load_half(block + 80);
        const float minimum = load_half(block + 82);
        for (size_t i = 0; i < 16; ++i) {
            out.scales[i] = scale * static_cast<float>(block[i] & 15);
            out.minimums[i] = minimum * static_cast<float>(block[i] >> 4);
        }
        unpack_pairs_of_256(block + 16, out.integers);
    }
};

struct q3_k_block : ggml_block_layout<ggml_type::q3_k, 16> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        const float scale = load_half(block + 108);
        const uint8_t* const low = block + 96; // sixteen scales of six bits: four here, two there
        const uint8_t* const high = block + 104;
        for (size_t i = 0; i < 16; ++i) {
            const int six = (low[i % 8] >> i / 8 * 4 & 15) | (high[i % 4] >> i / 4 * 2 & 3) << 4;
            out.scales[i] = scale * static_cast<float>(six - 32);
        }
        unpack_pairs_of_256(block + 32, out.integers);
        for (size_t row = 0; row < 8; ++row) {
            add_bits<32>(block, static_cast<int>(row), 1, 2, out.integers + row * 32);
        }
        subtract_from_each<256>(4, out.integers);
    }
};

/// Eight scales and eight minimums of six bits each, in twelve bytes.
inline void unpack_six_bits(const uint8_t* packed, float scale, float minimum, unpacked_block& out) noexcept {
    for (size_t i = 0; i < 4; ++i) {
        const int first = packed[i];
        const int second = packed[4 + i];
        const int rest = packed[8 + i];
        out.scales[i] = scale * static_cast<float>(first & 63);
        out.minimums[i] = minimum * static_cast<float>(second & 63);
        out.scales[4 + i] = scale * static_cast<float>((rest & 15) | (first >> 2 & 48));
        out.minimums[4 + i] = minimum * static_cast<float>(rest >> 4 | (second >> 2 & 48));
    }
}

/// Of each 32 bytes the low halves, then the high ones.
inline void unpack_nibbles_of_256(const uint8_t* packed, int8_t* integers) noexcept {
    for (size_t row = 0; row < 8; ++row) {
        unpack_bits<32>(packed + row / 2 * 32, static_cast<int>(row % 2 * 4), 15, integers + row * 32);
    }
}

struct q4_k_block : ggml_block_layout<ggml_type::q4_k, 32, minimum_use::subtracted> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        unpack_six_bits(block + 4, load_half(block), load_half(block + 2), out);
        unpack_nibbles_of_256(block + 16, out.integers);
    }
};

struct q5_k_block : ggml_block_layout<ggml_type::q5_k, 32, minimum_use::subtracted> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        unpack_six_bits(block + 4, load_half(block), load_half(block + 2), out);
        unpack_nibbles_of_256(block + 48, out.integers);
        for (size_t row = 0; row < 8; ++row) {
            add_bits<32>(block + 16, static_cast<int>(row), 1, 4, out.integers + row * 32);
        }
    }
};

struct q6_k_block : ggml_block_layout<ggml_type::q6_k, 16> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        const float scale = load_half(block + 208);
        for (size_t i = 0; i < 16; ++i) {
            out.scales[i] = scale * static_cast<float>(static_cast<int8_t>(block[192 + i]));
        }
        for (size_t row = 0; row < 4; ++row) {
            unpack_bits<64>(block + row / 2 * 64, static_cast<int>(row % 2 * 4), 15, out.integers + row * 64);
        }
        for (size_t row = 0; row < 8; ++row) {
            const uint8_t* const bits = block + 128 + row / 4 * 32;
            add_bits<32>(bits, static_cast<int>(row % 4 * 2), 3, 4, out.integers + row * 32);
        }
        subtract_from_each<256>(32, out.integers);
    }
};

/// The scale is a float. The numbers at the end are sums of integers, which products of matrices use.
struct q8_k_block : ggml_block_layout<ggml_type::q8_k, 256> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = bits_as<float>(load_32(block));
        std::memcpy(out.integers, block + 4, 256);
    }
};

/// Digits of base 3 of `Count` bytes: first the highest of each, then the next, `Digits` of them. A byte is the number
/// as a fraction of 256: what is above a third or two of that tells a digit. (At -O3 -fPIC for 32-bit x86 g++ 12 made
/// other numbers of a product with 3 and a shift, four at once.)
template <size_t Count, size_t Digits>
void unpack_ternary(const uint8_t* packed, int8_t* integers) noexcept {
    constexpr int powers[] = {1, 3, 9, 27, 81};
    for (size_t digit = 0; digit < Digits; ++digit) {
        for (size_t i = 0; i < Count; ++i) {
            const int rest = packed[i] * powers[digit] & 255;
            integers[digit * Count + i] = static_cast<int8_t>((rest > 85 ? 1 : 0) + (rest > 170 ? 1 : 0) - 1);
        }
    }
}

struct tq1_0_block : ggml_block_layout<ggml_type::tq1_0, 256> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block + 52);
        unpack_ternary<32, 5>(block, out.integers);
        unpack_ternary<16, 5>(block + 32, out.integers + 160);
        unpack_ternary<4, 4>(block + 48, out.integers + 240);
    }
};

struct tq2_0_block : ggml_block_layout<ggml_type::tq2_0, 256> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block + 64);
        unpack_pairs_of_256(block, out.integers);
        subtract_from_each<256>(1, out.integers);
    }
};

/// The i-th number of four bits.
[[nodiscard]] inline uint32_t nibble_at(const uint8_t* packed, size_t i) noexcept {
    return static_cast<uint32_t>(packed[i / 2] >> i % 2 * 4 & 15);
}

inline constexpr int8_t iq4_integers[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
/// Twice the 4-bit floats of two bits of exponent and one of mantissa.
inline constexpr int8_t fp4_integers[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// Integers of the low halves of `Count` bytes, then of their high halves.
template <size_t Count>
void look_up_nibbles(const uint8_t* packed, const int8_t* table, int8_t* integers) noexcept {
    for (size_t i = 0; i < Count; ++i) {
        integers[i] = table[packed[i] & 15];
        integers[Count + i] = table[packed[i] >> 4];
    }
}

struct iq4_nl_block : ggml_block_layout<ggml_type::iq4_nl, 32> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        look_up_nibbles<16>(block + 2, iq4_integers, out.integers);
    }
};

struct iq4_xs_block : ggml_block_layout<ggml_type::iq4_xs, 32> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        const float scale = load_half(block);
        const uint32_t high = load_16(block + 2); // two bits of each scale of six
        for (size_t group = 0; group < 8; ++group) {
            const uint32_t six = nibble_at(block + 4, group) | (high >> 2 * group & 3) << 4;
            out.scales[group] = scale * static_cast<float>(static_cast<int>(six) - 32);
            look_up_nibbles<16>(block + 8 + group * 16, iq4_integers, out.integers + group * 32);
        }
    }
};

/// The scale is a power of two, here halved; the two smallest are no normal floats.
struct mxfp4_block : ggml_block_layout<ggml_type::mxfp4, 32> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        const uint32_t exponent = block[0];
        out.scales[0] = bits_as<float>(exponent < 2 ? uint32_t{1} << (21 + exponent) : (exponent - 1) << 23);
        look_up_nibbles<16>(block + 1, fp4_integers, out.integers);
    }
};

/// Half of a float of four bits of exponent and three of mantissa without a sign, whose NaN counts as 0.
[[nodiscard]] inline float half_of_ue4m3(uint32_t bits) noexcept {
    const uint32_t exponent = bits >> 3 & 15;
    const uint32_t mantissa = bits & 7;
    if (bits == 0x7f) {
        return 0;
    }
    return exponent == 0 ? static_cast<float>(mantissa) / 1024
                         : bits_as<float>((exponent + 119) << 23 | mantissa << 20);
}

struct nvfp4_block : ggml_block_layout<ggml_type::nvfp4, 16> {
    static void unpack(const uint8_t* block, unpacked_block& out) noexcept {
        for (size_t group = 0; group < 4; ++group) {
            out.scales[group] = half_of_ue4m3(block[group]);
            look_up_nibbles<8>(block + 4 + group * 8, fp4_integers, out.integers + group * 16);
        }
    }
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
