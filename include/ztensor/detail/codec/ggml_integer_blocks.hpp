// SPDX-License-Identifier: MIT
//
// The block types of ggml whose integers stand in the block itself: q1_0 to q8_1, q2_k to q8_k, tq1_0 and tq2_0.
#ifndef ZTENSOR_DETAIL_CODEC_GGML_INTEGER_BLOCKS_HPP
#define ZTENSOR_DETAIL_CODEC_GGML_INTEGER_BLOCKS_HPP

#include <ztensor/detail/codec/ggml_block_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct q4_0_block : ggml_block_layout<ggml_type::q4_0, 32> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        unpack_nibbles_of_32(block + 2, out.integers);
        subtract_from_each<32>(8, out.integers);
    }
};

struct q4_1_block : ggml_block_layout<ggml_type::q4_1, 32, minimum_use::added> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        out.minimums[0] = load_half(block + 2);
        unpack_nibbles_of_32(block + 4, out.integers);
    }
};

struct q5_0_block : ggml_block_layout<ggml_type::q5_0, 32> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        unpack_nibbles_of_32(block + 6, out.integers);
        add_fifth_bits_of_32(block + 2, out.integers);
        subtract_from_each<32>(16, out.integers);
    }
};

struct q5_1_block : ggml_block_layout<ggml_type::q5_1, 32, minimum_use::added> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        out.minimums[0] = load_half(block + 2);
        unpack_nibbles_of_32(block + 8, out.integers);
        add_fifth_bits_of_32(block + 4, out.integers);
    }
};

struct q8_0_block : ggml_block_layout<ggml_type::q8_0, 32> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        std::memcpy(out.integers, block + 2, 32);
    }
};

/// The half behind the scale is the scale times the sum of the integers, which products of matrices use.
struct q8_1_block : ggml_block_layout<ggml_type::q8_1, 32> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        std::memcpy(out.integers, block + 4, 32);
    }
};

/// A bit of each weight: its sign.
struct q1_0_block : ggml_block_layout<ggml_type::q1_0, 128> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        for (std::size_t i = 0; i < elements; ++i) {
            out.integers[i] = static_cast<std::int8_t>((block[2 + i / 8] >> i % 8 & 1) * 2 - 1);
        }
    }
};

struct q2_0_block : ggml_block_layout<ggml_type::q2_0, 64> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        for (std::size_t i = 0; i < elements; ++i) {
            out.integers[i] = static_cast<std::int8_t>((block[2 + i / 4] >> i % 4 * 2 & 3) - 1);
        }
    }
};

/// Four integers of two bits in each of 64 bytes: of 32 bytes the lowest bits come first, then the next.
inline void unpack_pairs_of_256(const std::uint8_t* packed, std::int8_t* integers) noexcept {
    for (std::size_t row = 0; row < 8; ++row) {
        unpack_bits<32>(packed + row / 4 * 32, static_cast<int>(row % 4 * 2), 3, integers + row * 32);
    }
}

struct q2_k_block : ggml_block_layout<ggml_type::q2_k, 16, minimum_use::subtracted> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        const float scale = load_half(block + 80);
        const float minimum = load_half(block + 82);
        for (std::size_t i = 0; i < 16; ++i) {
            out.scales[i] = scale * static_cast<float>(block[i] & 15);
            out.minimums[i] = minimum * static_cast<float>(block[i] >> 4);
        }
        unpack_pairs_of_256(block + 16, out.integers);
    }
};

struct q3_k_block : ggml_block_layout<ggml_type::q3_k, 16> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        const float scale = load_half(block + 108);
        const std::uint8_t* const low = block + 96; // sixteen scales of six bits: four here, two there
        const std::uint8_t* const high = block + 104;
        for (std::size_t i = 0; i < 16; ++i) {
            const int six = (low[i % 8] >> i / 8 * 4 & 15) | (high[i % 4] >> i / 4 * 2 & 3) << 4;
            out.scales[i] = scale * static_cast<float>(six - 32);
        }
        unpack_pairs_of_256(block + 32, out.integers);
        for (std::size_t row = 0; row < 8; ++row) {
            add_bits<32>(block, static_cast<int>(row), 1, 2, out.integers + row * 32);
        }
        subtract_from_each<256>(4, out.integers);
    }
};

/// Eight scales and eight minimums of six bits each, in twelve bytes.
inline void unpack_six_bits(const std::uint8_t* packed, float scale, float minimum, unpacked_block& out) noexcept {
    for (std::size_t i = 0; i < 4; ++i) {
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
inline void unpack_nibbles_of_256(const std::uint8_t* packed, std::int8_t* integers) noexcept {
    for (std::size_t row = 0; row < 8; ++row) {
        unpack_bits<32>(packed + row / 2 * 32, static_cast<int>(row % 2 * 4), 15, integers + row * 32);
    }
}

struct q4_k_block : ggml_block_layout<ggml_type::q4_k, 32, minimum_use::subtracted> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        unpack_six_bits(block + 4, load_half(block), load_half(block + 2), out);
        unpack_nibbles_of_256(block + 16, out.integers);
    }
};

struct q5_k_block : ggml_block_layout<ggml_type::q5_k, 32, minimum_use::subtracted> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        unpack_six_bits(block + 4, load_half(block), load_half(block + 2), out);
        unpack_nibbles_of_256(block + 48, out.integers);
        for (std::size_t row = 0; row < 8; ++row) {
            add_bits<32>(block + 16, static_cast<int>(row), 1, 4, out.integers + row * 32);
        }
    }
};

struct q6_k_block : ggml_block_layout<ggml_type::q6_k, 16> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        const float scale = load_half(block + 208);
        for (std::size_t i = 0; i < 16; ++i) {
            out.scales[i] = scale * static_cast<float>(static_cast<std::int8_t>(block[192 + i]));
        }
        for (std::size_t row = 0; row < 4; ++row) {
            unpack_bits<64>(block + row / 2 * 64, static_cast<int>(row % 2 * 4), 15, out.integers + row * 64);
        }
        for (std::size_t row = 0; row < 8; ++row) {
            const std::uint8_t* const bits = block + 128 + row / 4 * 32;
            add_bits<32>(bits, static_cast<int>(row % 4 * 2), 3, 4, out.integers + row * 32);
        }
        subtract_from_each<256>(32, out.integers);
    }
};

/// The scale is a float. The numbers at the end are sums of integers, which products of matrices use.
struct q8_k_block : ggml_block_layout<ggml_type::q8_k, 256> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = float_of_bits(load_32(block));
        std::memcpy(out.integers, block + 4, 256);
    }
};

/// Digits of base 3 of `Count` bytes: first the highest of each, then the next, `Digits` of them. A byte is the number
/// as a fraction of 256: what is above a third or two of that tells a digit. (At -O3 -fPIC for 32-bit x86 g++ 12 made
/// other numbers of a product with 3 and a shift, four at once.)
template <std::size_t Count, std::size_t Digits>
void unpack_ternary(const std::uint8_t* packed, std::int8_t* integers) noexcept {
    constexpr int powers[] = {1, 3, 9, 27, 81};
    for (std::size_t digit = 0; digit < Digits; ++digit) {
        for (std::size_t i = 0; i < Count; ++i) {
            const int rest = packed[i] * powers[digit] & 255;
            integers[digit * Count + i] = static_cast<std::int8_t>((rest > 85 ? 1 : 0) + (rest > 170 ? 1 : 0) - 1);
        }
    }
}

struct tq1_0_block : ggml_block_layout<ggml_type::tq1_0, 256> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block + 52);
        unpack_ternary<32, 5>(block, out.integers);
        unpack_ternary<16, 5>(block + 32, out.integers + 160);
        unpack_ternary<4, 4>(block + 48, out.integers + 240);
    }
};

struct tq2_0_block : ggml_block_layout<ggml_type::tq2_0, 256> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block + 64);
        unpack_pairs_of_256(block, out.integers);
        subtract_from_each<256>(1, out.integers);
    }
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
