// SPDX-License-Identifier: MIT
//
// SHA-256 (FIPS 180-4), portable.
#ifndef ZTENSOR_DETAIL_CODEC_SHA256_HPP
#define ZTENSOR_DETAIL_CODEC_SHA256_HPP

#include <ztensor/detail/core/digest_memory.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
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

[[nodiscard]] constexpr std::uint32_t rotate_right(std::uint32_t x, int bits) noexcept {
    return x >> bits | x << (32 - bits);
}

/// Takes one block into the eight words of the state.
inline void sha256_compress(std::uint32_t* state, const std::byte* block) noexcept {
    std::uint32_t w[64];
    for (std::size_t i = 0; i < 16; ++i) {
        w[i] = static_cast<std::uint32_t>(load_big(block + 4 * i, 4));
    }
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t s0 = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ w[i - 15] >> 3;
        const std::uint32_t s1 = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    std::array<std::uint32_t, 8> v;
    std::copy_n(state, 8, v.begin());
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t s1 = rotate_right(v[4], 6) ^ rotate_right(v[4], 11) ^ rotate_right(v[4], 25);
        const std::uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        const std::uint32_t t1 = v[7] + s1 + choice + sha256_round_constants[i] + w[i];
        const std::uint32_t s0 = rotate_right(v[0], 2) ^ rotate_right(v[0], 13) ^ rotate_right(v[0], 22);
        const std::uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        v = {t1 + s0 + majority, v[0], v[1], v[2], v[3] + t1, v[4], v[5], v[6]};
    }
    for (std::size_t i = 0; i < 8; ++i) {
        state[i] += v[i];
    }
}

inline void sha256_update(digest_memory& memory, bytes_view bytes) noexcept {
    const auto pending = static_cast<std::size_t>(memory.length_bytes % sha256_block_bytes);
    memory.length_bytes += bytes.size();
    if (pending != 0) {
        const std::size_t taken = std::min<std::size_t>(sha256_block_bytes - pending, bytes.size());
        std::copy_n(bytes.data(), taken, memory.pending + pending);
        bytes = bytes.subspan(taken);
        if (pending + taken < sha256_block_bytes) {
            return;
        }
        sha256_compress(memory.words, memory.pending);
    }
    for (; bytes.size() >= sha256_block_bytes; bytes = bytes.subspan(sha256_block_bytes)) {
        sha256_compress(memory.words, bytes.data());
    }
    std::copy(bytes.begin(), bytes.end(), memory.pending);
}

/// The digest of all bytes so far.
[[nodiscard]] inline std::array<std::byte, 32> sha256_value(digest_memory memory) noexcept {
    // 0x80, zeros, then the length in bits: as many zeros as end it on a whole block.
    std::array<std::byte, 2 * sha256_block_bytes> padding{};
    padding[0] = std::byte{0x80};
    const auto pending = static_cast<std::size_t>(memory.length_bytes % sha256_block_bytes);
    const std::size_t padding_bytes = (pending < sha256_block_bytes - 8 ? 1 : 2) * sha256_block_bytes - pending;
    store_big(memory.length_bytes * 8, padding.data() + padding_bytes - 8, 8);
    sha256_update(memory, {padding.data(), padding_bytes});
    std::array<std::byte, 32> value;
    for (std::size_t i = 0; i < 8; ++i) {
        store_big(memory.words[i], value.data() + 4 * i, 4);
    }
    return value;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
