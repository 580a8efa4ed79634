// SPDX-License-Identifier: MIT
//
// SHA-256 (FIPS 180-4): its constants, and its rounds on any processor.
#ifndef ZTENSOR_DETAIL_CODEC_SHA256_ROUNDS_HPP
#define ZTENSOR_DETAIL_CODEC_SHA256_ROUNDS_HPP

#include <ztensor/version.hpp>

#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

inline constexpr std::size_t sha256_block_bytes = 64;

inline constexpr std::uint32_t sha256_start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

inline constexpr std::uint32_t sha256_round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/// One message of several that are hashed at once.
struct sha256_lane {
    std::uint32_t* state;  ///< eight words
    const std::byte* next; ///< the block after those that the state has
};

[[nodiscard]] constexpr std::uint32_t rotate_right(std::uint32_t x, int bits) noexcept {
    return x >> bits | x << (32 - bits);
}

/// A big-endian word, spelled out so that GCC makes one load of it at -O2, too.
[[nodiscard]] constexpr std::uint32_t load_big_word(const std::byte* bytes) noexcept {
    return std::to_integer<std::uint32_t>(bytes[0]) << 24 | std::to_integer<std::uint32_t>(bytes[1]) << 16 |
           std::to_integer<std::uint32_t>(bytes[2]) << 8 | std::to_integer<std::uint32_t>(bytes[3]);
}

inline void sha256_round(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t& d, std::uint32_t e,
                         std::uint32_t f, std::uint32_t g, std::uint32_t& h, std::uint32_t word) noexcept {
    // In this order, as what comes last is what the next round waits for.
    h += word;
    h += g ^ (e & (f ^ g));
    h += rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
    d += h;
    h += b ^ ((a ^ b) & (b ^ c));
    h += rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
}

/// Takes one block into the state. words[i * stride]: word i of its schedule, the round's constant added.
#if defined(__GNUC__) || defined(__clang__)
__attribute__((always_inline)) // into functions for processors that have better instructions for this
#endif
inline void
sha256_rounds(std::uint32_t* state, const std::uint32_t* words, std::size_t stride) noexcept {
    std::uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    std::uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int round = 0; round < 64; round += 8, words += 8 * stride) {
        sha256_round(a, b, c, d, e, f, g, h, words[0]);
        sha256_round(h, a, b, c, d, e, f, g, words[stride]);
        sha256_round(g, h, a, b, c, d, e, f, words[2 * stride]);
        sha256_round(f, g, h, a, b, c, d, e, words[3 * stride]);
        sha256_round(e, f, g, h, a, b, c, d, words[4 * stride]);
        sha256_round(d, e, f, g, h, a, b, c, words[5 * stride]);
        sha256_round(c, d, e, f, g, h, a, b, words[6 * stride]);
        sha256_round(b, c, d, e, f, g, h, a, words[7 * stride]);
    }
    const std::uint32_t after[8] = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) {
        state[i] += after[i];
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
