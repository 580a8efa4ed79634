// SPDX-License-Identifier: MIT
//
// The block types of ggml whose integers are places in a table: iq1_s to iq4_xs, and those of 4-bit floats, mxfp4 and
// nvfp4.
#ifndef ZTENSOR_DETAIL_CODEC_GGML_CODEBOOK_BLOCKS_HPP
#define ZTENSOR_DETAIL_CODEC_GGML_CODEBOOK_BLOCKS_HPP

#include <ztensor/detail/codec/ggml_block_layout.hpp>
#include <ztensor/detail/codec/ggml_codebooks.hpp>

#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

inline constexpr std::int8_t iq2_magnitudes[] = {8, 25, 43, 0};
inline constexpr std::int8_t iq3_xxs_magnitudes[] = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr std::int8_t iq3_s_magnitudes[] = {1, 3, 5, 7, 9, 11, 13, 15};
inline constexpr std::int8_t iq4_integers[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};
/// Twice the 4-bit floats of two bits of exponent and one of mantissa.
inline constexpr std::int8_t fp4_integers[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// Seven signs as the types _xxs and _xs store them; the eighth makes the number of negative ones even.
[[nodiscard]] inline std::uint32_t eight_signs(std::uint32_t seven) noexcept {
    std::uint32_t parity = seven ^ seven >> 4;
    parity ^= parity >> 2;
    parity ^= parity >> 1;
    return seven | (parity & 1) << 7;
}

/// `Count` magnitudes of an entry, at `Bits` bits for each, negative where a bit of `signs` is set.
template <std::size_t Count, std::size_t Bits>
void unpack_signed(std::uint32_t entry, const std::int8_t* magnitudes, std::uint32_t signs,
                   std::int8_t* integers) noexcept {
    constexpr std::uint32_t mask = Bits == 2 ? 3 : 7;
    for (std::size_t i = 0; i < Count; ++i) {
        const int magnitude = magnitudes[entry >> Bits * i & mask];
        integers[i] = static_cast<std::int8_t>((signs >> i & 1) != 0 ? -magnitude : magnitude);
    }
}
inline void unpack_iq2(std::uint32_t entry, std::uint32_t signs, std::int8_t* integers) noexcept {
    unpack_signed<8, 2>(entry, iq2_magnitudes, signs, integers);
}
[[nodiscard]] inline float iq2_scale(float scale, std::uint32_t factor) noexcept {
    return scale * (0.5F + static_cast<float>(factor)) * 0.25F;
}
/// The i-th number of four bits.
[[nodiscard]] inline std::uint32_t nibble_at(const std::uint8_t* packed, std::size_t i) noexcept {
    return static_cast<std::uint32_t>(packed[i / 2] >> i % 2 * 4 & 15);
}

struct iq2_xxs_block : ggml_block_layout<ggml_type::iq2_xxs, 32> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        const float scale = load_half(block);
        for (std::size_t group = 0; group < 8; ++group) {
            const std::uint8_t* const places = block + 2 + group * 8;
            const std::uint32_t signs_and_scale = load_32(places + 4);
            out.scales[group] = iq2_scale(scale, signs_and_scale >> 28);
            for (std::size_t i = 0; i < 4; ++i) {
                const std::uint32_t signs = eight_signs(signs_and_scale >> 7 * i & 127);
                unpack_iq2(iq2_xxs_codebook[places[i]], signs, out.integers + group * 32 + i * 8);
            }
        }
    }
};

struct iq2_xs_block : ggml_block_layout<ggml_type::iq2_xs, 16> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        const float scale = load_half(block);
        for (std::size_t group = 0; group < 16; ++group) {
            out.scales[group] = iq2_scale(scale, nibble_at(block + 66, group));
        }
        for (std::size_t i = 0; i < 32; ++i) {
            const std::uint32_t place_and_signs = load_16(block + 2 + i * 2);
            unpack_iq2(iq2_xs_codebook[place_and_signs & 511], eight_signs(place_and_signs >> 9), out.integers + i * 8);
        }
    }
};

struct iq2_s_block : ggml_block_layout<ggml_type::iq2_s, 16> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        const float scale = load_half(block);
        const std::uint8_t* const signs = block + 34;
        const std::uint8_t* const high = block + 66; // two bits of each place
        for (std::size_t group = 0; group < 16; ++group) {
            out.scales[group] = iq2_scale(scale, nibble_at(block + 74, group));
        }
        for (std::size_t i = 0; i < 32; ++i) {
            const int place = block[2 + i] | (high[i / 4] >> i % 4 * 2 & 3) << 8;
            unpack_iq2(iq2_s_codebook[place], signs[i], out.integers + i * 8);
        }
    }
};

struct iq3_xxs_block : ggml_block_layout<ggml_type::iq3_xxs, 32> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        const float scale = load_half(block);
        for (std::size_t group = 0; group < 8; ++group) {
            const std::uint8_t* const places = block + 2 + group * 8;
            const std::uint32_t signs_and_scale = load_32(block + 66 + group * 4);
            out.scales[group] = scale * (0.5F + static_cast<float>(signs_and_scale >> 28)) * 0.5F;
            for (std::size_t i = 0; i < 8; ++i) {
                const std::uint32_t signs = eight_signs(signs_and_scale >> i / 2 * 7 & 127) >> i % 2 * 4;
                unpack_signed<4, 4>(iq3_xxs_codebook[places[i]], iq3_xxs_magnitudes, signs,
                                    out.integers + group * 32 + i * 4);
            }
        }
    }
};

struct iq3_s_block : ggml_block_layout<ggml_type::iq3_s, 32> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        const float scale = load_half(block);
        const std::uint8_t* const high = block + 66; // a bit of each place
        const std::uint8_t* const signs = block + 74;
        for (std::size_t group = 0; group < 8; ++group) {
            out.scales[group] = scale * static_cast<float>(nibble_at(block + 106, group) * 2 + 1);
        }
        for (std::size_t i = 0; i < 64; ++i) {
            const int place = block[2 + i] | (high[i / 8] >> i % 8 & 1) << 8;
            unpack_signed<4, 4>(iq3_s_codebook[place], iq3_s_magnitudes, nibble_at(signs, i), out.integers + i * 4);
        }
    }
};

/// Eight numbers of -1, 0 or 1 and an eighth, which is added or subtracted, in eighths.
inline void unpack_iq1(std::uint32_t place, bool subtracts, std::int8_t* integers) noexcept {
    const std::uint32_t entry = iq1_codebook[place];
    const int rest = subtracts ? -9 : -7;
    for (std::size_t i = 0; i < 8; ++i) {
        integers[i] = static_cast<std::int8_t>(static_cast<int>(entry >> 2 * i & 3) * 8 + rest);
    }
}
/// For integers in eighths.
[[nodiscard]] inline float iq1_scale(float scale, std::uint32_t factor) noexcept {
    return scale * static_cast<float>(factor * 2 + 1) * 0.125F;
}

struct iq1_s_block : ggml_block_layout<ggml_type::iq1_s, 32> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        const float scale = load_half(block);
        for (std::size_t group = 0; group < 8; ++group) {
            const std::uint8_t* const low = block + 2 + group * 4;
            const std::uint32_t high = load_16(block + 34 + group * 2); // four times 3 bits, the scale, the sign
            out.scales[group] = iq1_scale(scale, high >> 12 & 7);
            for (std::size_t i = 0; i < 4; ++i) {
                unpack_iq1(low[i] | (high >> 3 * i & 7) << 8, high >> 15 != 0, out.integers + group * 32 + i * 8);
            }
        }
    }
};

struct iq1_m_block : ggml_block_layout<ggml_type::iq1_m, 16> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        const std::uint8_t* const scales = block + 48; // four times four scales of 3 bits and 4 bits of a half
        std::uint32_t half = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            half |= load_16(scales + i * 2) >> 12 << 4 * i;
        }
        const float scale = float_of_half(half);
        for (std::size_t group = 0; group < 16; ++group) {
            out.scales[group] = iq1_scale(scale, load_16(scales + group / 4 * 2) >> group % 4 * 3 & 7);
        }
        for (std::size_t i = 0; i < 32; ++i) {
            const std::uint32_t high = nibble_at(block + 32, i); // three bits of the place, the sign
            unpack_iq1(block[i] | (high & 7) << 8, high >> 3 != 0, out.integers + i * 8);
        }
    }
};

/// Integers of the low halves of `Count` bytes, then of their high halves.
template <std::size_t Count>
void look_up_nibbles(const std::uint8_t* packed, const std::int8_t* table, std::int8_t* integers) noexcept {
    for (std::size_t i = 0; i < Count; ++i) {
        integers[i] = table[packed[i] & 15];
        integers[Count + i] = table[packed[i] >> 4];
    }
}

struct iq4_nl_block : ggml_block_layout<ggml_type::iq4_nl, 32> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        out.scales[0] = load_half(block);
        look_up_nibbles<16>(block + 2, iq4_integers, out.integers);
    }
};

struct iq4_xs_block : ggml_block_layout<ggml_type::iq4_xs, 32> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        const float scale = load_half(block);
        const std::uint32_t high = load_16(block + 2); // two bits of each scale of six
        for (std::size_t group = 0; group < 8; ++group) {
            const std::uint32_t six = nibble_at(block + 4, group) | (high >> 2 * group & 3) << 4;
            out.scales[group] = scale * static_cast<float>(static_cast<int>(six) - 32);
            look_up_nibbles<16>(block + 8 + group * 16, iq4_integers, out.integers + group * 32);
        }
    }
};

/// The scale is a power of two, here halved; the two smallest are no normal floats.
struct mxfp4_block : ggml_block_layout<ggml_type::mxfp4, 32> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        const std::uint32_t exponent = block[0];
        out.scales[0] = float_of_bits(exponent < 2 ? std::uint32_t{1} << (21 + exponent) : (exponent - 1) << 23);
        look_up_nibbles<16>(block + 1, fp4_integers, out.integers);
    }
};

/// Half of a float of four bits of exponent and three of mantissa without a sign, whose NaN counts as 0.
[[nodiscard]] inline float half_of_ue4m3(std::uint32_t bits) noexcept {
    const std::uint32_t exponent = bits >> 3 & 15;
    const std::uint32_t mantissa = bits & 7;
    if (bits == 0x7f) {
        return 0;
    }
    return exponent == 0 ? static_cast<float>(mantissa) / 1024 : float_of_bits((exponent + 119) << 23 | mantissa << 20);
}

struct nvfp4_block : ggml_block_layout<ggml_type::nvfp4, 16> {
    static void unpack(const std::uint8_t* block, unpacked_block& out) noexcept {
        for (std::size_t group = 0; group < 4; ++group) {
            out.scales[group] = half_of_ue4m3(block[group]);
            look_up_nibbles<8>(block + 4 + group * 8, fp4_integers, out.integers + group * 16);
        }
    }
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
