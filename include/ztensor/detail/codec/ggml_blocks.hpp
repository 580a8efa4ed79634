// SPDX-License-Identifier: MIT
//
// Numbers of GGML's blocks of integers, and of any block.
#ifndef ZTENSOR_DETAIL_CODEC_GGML_BLOCKS_HPP
#define ZTENSOR_DETAIL_CODEC_GGML_BLOCKS_HPP

#include <ztensor/detail/codec/ggml_codebooks.hpp>
#include <ztensor/detail/codec/ggml_types.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- ggml integer blocks
//
// The block types of ggml whose integers stand in the block itself: q1_0 to q8_1, q2_k to q8_k, tq1_0 and tq2_0.

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

// -- ggml blocks
//
// The weights in blocks of ggml: what stands behind read_as<float> of an object of format gguf.<type>/1, bit for bit as
// ggml's own and its Python package's dequantizers give them.
//
// Scales and products are exact in a float (at most 24 significant bits; those of q8_k are rounded once), so neither
// the order of factors nor a fused multiply-add changes a bit.

/// One weight of a group. The sum has a case of its own: less a negated minimum would be the same but for the sign of
/// NaN.
template <minimum_use Minimum>
[[nodiscard]] float weight_of(float scale, std::int8_t integer, float minimum) noexcept {
    const float product = scale * static_cast<float>(integer);
    if constexpr (Minimum == minimum_use::none) {
        return product;
    }
    return Minimum == minimum_use::added ? product + minimum : product - minimum;
}

/// Each block is copied before its weights are written: blocks may be the end of the memory that the weights fill.
template <class Block, class To>
void dequantize_blocks(bytes_view blocks, span<To> weights) noexcept {
    static_assert(Block::bytes <= max_ggml_block_bytes && Block::elements <= max_ggml_block_elements);
    std::uint8_t block[Block::bytes];
    unpacked_block parts;
    float computed[Block::elements];
    const std::size_t count = weights.size() / Block::elements;
    for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(block, blocks.data() + i * Block::bytes, sizeof(block));
        Block::unpack(block, parts);
        for (std::size_t group = 0; group < Block::elements / Block::group; ++group) {
            const float scale = parts.scales[group];
            const float minimum = Block::minimum == minimum_use::none ? 0 : parts.minimums[group];
            for (std::size_t k = group * Block::group; k < (group + 1) * Block::group; ++k) {
                computed[k] = weight_of<Block::minimum>(scale, parts.integers[k], minimum);
            }
        }
        To* const place = weights.data() + i * Block::elements;
        for (std::size_t k = 0; k < Block::elements; ++k) {
            place[k] = static_cast<To>(computed[k]);
        }
    }
}

/// Weights of whole blocks as floats or doubles. Checked before: `blocks` holds as many as `weights` needs, which is a
/// multiple of the type's elements. The blocks may be the end of that memory.
template <class To>
void dequantize(ggml_type type, bytes_view blocks, span<To> weights) noexcept {
    switch (type) {
    case ggml_type::q4_0:
        return dequantize_blocks<q4_0_block>(blocks, weights);
    case ggml_type::q4_1:
        return dequantize_blocks<q4_1_block>(blocks, weights);
    case ggml_type::q5_0:
        return dequantize_blocks<q5_0_block>(blocks, weights);
    case ggml_type::q5_1:
        return dequantize_blocks<q5_1_block>(blocks, weights);
    case ggml_type::q8_0:
        return dequantize_blocks<q8_0_block>(blocks, weights);
    case ggml_type::q8_1:
        return dequantize_blocks<q8_1_block>(blocks, weights);
    case ggml_type::q2_k:
        return dequantize_blocks<q2_k_block>(blocks, weights);
    case ggml_type::q3_k:
        return dequantize_blocks<q3_k_block>(blocks, weights);
    case ggml_type::q4_k:
        return dequantize_blocks<q4_k_block>(blocks, weights);
    case ggml_type::q5_k:
        return dequantize_blocks<q5_k_block>(blocks, weights);
    case ggml_type::q6_k:
        return dequantize_blocks<q6_k_block>(blocks, weights);
    case ggml_type::q8_k:
        return dequantize_blocks<q8_k_block>(blocks, weights);
    case ggml_type::iq2_xxs:
        return dequantize_blocks<iq2_xxs_block>(blocks, weights);
    case ggml_type::iq2_xs:
        return dequantize_blocks<iq2_xs_block>(blocks, weights);
    case ggml_type::iq3_xxs:
        return dequantize_blocks<iq3_xxs_block>(blocks, weights);
    case ggml_type::iq1_s:
        return dequantize_blocks<iq1_s_block>(blocks, weights);
    case ggml_type::iq4_nl:
        return dequantize_blocks<iq4_nl_block>(blocks, weights);
    case ggml_type::iq3_s:
        return dequantize_blocks<iq3_s_block>(blocks, weights);
    case ggml_type::iq2_s:
        return dequantize_blocks<iq2_s_block>(blocks, weights);
    case ggml_type::iq4_xs:
        return dequantize_blocks<iq4_xs_block>(blocks, weights);
    case ggml_type::iq1_m:
        return dequantize_blocks<iq1_m_block>(blocks, weights);
    case ggml_type::tq1_0:
        return dequantize_blocks<tq1_0_block>(blocks, weights);
    case ggml_type::tq2_0:
        return dequantize_blocks<tq2_0_block>(blocks, weights);
    case ggml_type::mxfp4:
        return dequantize_blocks<mxfp4_block>(blocks, weights);
    case ggml_type::nvfp4:
        return dequantize_blocks<nvfp4_block>(blocks, weights);
    case ggml_type::q1_0:
        return dequantize_blocks<q1_0_block>(blocks, weights);
    case ggml_type::q2_0:
        return dequantize_blocks<q2_0_block>(blocks, weights);
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
