// SPDX-License-Identifier: MIT
//
// The weights in blocks of ggml: what stands behind read_as<float> of an object of format gguf.<type>/1.
//
// Every documented type comes to the same: a weight is scale * integer -/+ minimum, where a group of 16 or 32
// neighbours shares scale and minimum. So a type only says how its block is unpacked, and one loop computes. Products
// are exact (at most 24 significant bits), so neither the order of factors nor a fused multiply-subtract changes a bit
// of what ggml's own and its Python package's dequantizers give.
#ifndef ZTENSOR_DETAIL_CODEC_GGML_BLOCKS_HPP
#define ZTENSOR_DETAIL_CODEC_GGML_BLOCKS_HPP

#include <ztensor/detail/codec/ggml_types.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A block taken apart. Groups follow one another; of each its scale and its minimum.
struct unpacked_block {
    std::int8_t integers[max_ggml_block_elements];
    float scales[16];
    float minimums[16];
};

[[nodiscard]] inline float load_half(const std::uint8_t* bytes) noexcept {
    return static_cast<float>(float16::from_bits(static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8)));
}

// Each type: how many weights and bytes a block has, how many weights share a scale, and unpack(). Loops have a length
// that the compiler knows and touch nothing else in memory, so that they are vectorised.

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

struct q4_0_block {
    static constexpr std::size_t elements = 32, bytes = 18, group = 32;
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        out.minimums[0] = 0;
        unpack_nibbles_of_32(block + 2, out.integers);
        subtract_from_each<32>(8, out.integers);
    }
};

struct q4_1_block {
    static constexpr std::size_t elements = 32, bytes = 20, group = 32;
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        out.minimums[0] = load_half(block + 2);
        unpack_nibbles_of_32(block + 4, out.integers);
    }
};

struct q5_0_block {
    static constexpr std::size_t elements = 32, bytes = 22, group = 32;
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        out.minimums[0] = 0;
        unpack_nibbles_of_32(block + 6, out.integers);
        add_fifth_bits_of_32(block + 2, out.integers);
        subtract_from_each<32>(16, out.integers);
    }
};

struct q5_1_block {
    static constexpr std::size_t elements = 32, bytes = 24, group = 32;
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        out.minimums[0] = load_half(block + 2);
        unpack_nibbles_of_32(block + 8, out.integers);
        add_fifth_bits_of_32(block + 4, out.integers);
    }
};

struct q8_0_block {
    static constexpr std::size_t elements = 32, bytes = 34, group = 32;
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        out.minimums[0] = 0;
        std::memcpy(out.integers, block + 2, 32);
    }
};

/// Four integers of two bits in each of 64 bytes: of 32 bytes the lowest bits come first, then the next.
inline void unpack_pairs_of_256(const std::uint8_t* packed, std::int8_t* integers) noexcept {
    for (std::size_t row = 0; row < 8; ++row) {
        unpack_bits<32>(packed + row / 4 * 32, static_cast<int>(row % 4 * 2), 3, integers + row * 32);
    }
}

struct q2_k_block {
    static constexpr std::size_t elements = 256, bytes = 84, group = 16;
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

struct q3_k_block {
    static constexpr std::size_t elements = 256, bytes = 110, group = 16;
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        const float scale = load_half(block + 108);
        const std::uint8_t* const low = block + 96; // sixteen scales of six bits: four here, two there
        const std::uint8_t* const high = block + 104;
        for (std::size_t i = 0; i < 16; ++i) {
            const int six = (low[i % 8] >> i / 8 * 4 & 15) | (high[i % 4] >> i / 4 * 2 & 3) << 4;
            out.scales[i] = scale * static_cast<float>(six - 32);
            out.minimums[i] = 0;
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

struct q4_k_block {
    static constexpr std::size_t elements = 256, bytes = 144, group = 32;
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        unpack_six_bits(block + 4, load_half(block), load_half(block + 2), out);
        unpack_nibbles_of_256(block + 16, out.integers);
    }
};

struct q5_k_block {
    static constexpr std::size_t elements = 256, bytes = 176, group = 32;
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        unpack_six_bits(block + 4, load_half(block), load_half(block + 2), out);
        unpack_nibbles_of_256(block + 48, out.integers);
        for (std::size_t row = 0; row < 8; ++row) {
            add_bits<32>(block + 16, static_cast<int>(row), 1, 4, out.integers + row * 32);
        }
    }
};

struct q6_k_block {
    static constexpr std::size_t elements = 256, bytes = 210, group = 16;
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        const float scale = load_half(block + 208);
        for (std::size_t i = 0; i < 16; ++i) {
            out.scales[i] = scale * static_cast<float>(static_cast<std::int8_t>(block[192 + i]));
            out.minimums[i] = 0;
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

/// Of the types whose weight is the sum: less a negated minimum would be the same but for the sign of NaN.
template <class Block>
inline constexpr bool adds_minimum = false;
template <>
inline constexpr bool adds_minimum<q4_1_block> = true;
template <>
inline constexpr bool adds_minimum<q5_1_block> = true;

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
            const float minimum = parts.minimums[group];
            for (std::size_t k = group * Block::group; k < (group + 1) * Block::group; ++k) {
                const float product = scale * static_cast<float>(parts.integers[k]);
                computed[k] = adds_minimum<Block> ? product + minimum : product - minimum;
            }
        }
        To* const place = weights.data() + i * Block::elements;
        for (std::size_t k = 0; k < Block::elements; ++k) {
            place[k] = static_cast<To>(computed[k]);
        }
    }
}

/// Weights of whole blocks as floats or doubles. Checked before: the type is documented, and `blocks` holds as many as
/// `weights` needs, which is a multiple of the type's elements. The blocks may be the end of that memory.
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
    default:
        return;
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
