// SPDX-License-Identifier: MIT
//
// The weights in blocks of ggml: what stands behind read_as<float> of an object of format gguf.<type>/1, bit for bit as
// ggml's own and its Python package's dequantizers give them.
//
// Scales and products are exact in a float (at most 24 significant bits; those of q8_k are rounded once), so neither
// the order of factors nor a fused multiply-add changes a bit.
#ifndef ZTENSOR_DETAIL_CODEC_GGML_BLOCKS_HPP
#define ZTENSOR_DETAIL_CODEC_GGML_BLOCKS_HPP

#include <ztensor/detail/codec/ggml_codebook_blocks.hpp>
#include <ztensor/detail/codec/ggml_integer_blocks.hpp>
#include <ztensor/detail/codec/ggml_types.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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
