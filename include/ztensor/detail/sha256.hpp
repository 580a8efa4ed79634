// SPDX-License-Identifier: MIT
//
// SHA-256 (FIPS 180-4), portable.
#ifndef ZTENSOR_DETAIL_SHA256_HPP
#define ZTENSOR_DETAIL_SHA256_HPP

#include <ztensor/detail/endian.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace v0 {
namespace detail {

class sha256 {
public:
    static constexpr std::size_t digest_bytes = 32;

    void update(bytes_view bytes) noexcept {
        total_bytes_ += bytes.size();
        if (pending_ != 0) {
            const std::size_t taken = std::min(block_bytes - pending_, bytes.size());
            std::copy_n(bytes.data(), taken, block_.data() + pending_);
            pending_ += taken;
            bytes = bytes.subspan(taken);
            if (pending_ < block_bytes) {
                return;
            }
            compress(block_.data());
        }
        for (; bytes.size() >= block_bytes; bytes = bytes.subspan(block_bytes)) {
            compress(bytes.data());
        }
        std::copy(bytes.begin(), bytes.end(), block_.begin());
        pending_ = bytes.size();
    }

    /// The digest of all bytes so far; the hash may go on.
    [[nodiscard]] std::array<std::byte, digest_bytes> value() const noexcept {
        sha256 last = *this;
        std::array<std::byte, 2 * block_bytes> padding{};
        padding[0] = std::byte{0x80};
        // 0x80, zeros, then the length in bits: as many zeros as end it on a whole block.
        const std::size_t padding_bytes = (pending_ < block_bytes - 8 ? 1 : 2) * block_bytes - pending_;
        store_big(total_bytes_ * 8, padding.data() + padding_bytes - 8, 8);
        last.update({padding.data(), padding_bytes});
        std::array<std::byte, digest_bytes> digest;
        for (std::size_t i = 0; i < 8; ++i) {
            store_big(last.state_[i], digest.data() + 4 * i, 4);
        }
        return digest;
    }

private:
    static constexpr std::size_t block_bytes = 64;

    [[nodiscard]] static constexpr std::uint32_t rotate_right(std::uint32_t x, int bits) noexcept {
        return x >> bits | x << (32 - bits);
    }

    void compress(const std::byte* block) noexcept {
        std::array<std::uint32_t, 64> w;
        for (std::size_t i = 0; i < 16; ++i) {
            w[i] = static_cast<std::uint32_t>(load_big(block + 4 * i, 4));
        }
        for (std::size_t i = 16; i < 64; ++i) {
            const std::uint32_t s0 = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ w[i - 15] >> 3;
            const std::uint32_t s1 = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        std::array<std::uint32_t, 8> v = state_;
        for (std::size_t i = 0; i < 64; ++i) {
            const std::uint32_t s1 = rotate_right(v[4], 6) ^ rotate_right(v[4], 11) ^ rotate_right(v[4], 25);
            const std::uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
            const std::uint32_t t1 = v[7] + s1 + choice + round_constants[i] + w[i];
            const std::uint32_t s0 = rotate_right(v[0], 2) ^ rotate_right(v[0], 13) ^ rotate_right(v[0], 22);
            const std::uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            v = {t1 + s0 + majority, v[0], v[1], v[2], v[3] + t1, v[4], v[5], v[6]};
        }
        for (std::size_t i = 0; i < 8; ++i) {
            state_[i] += v[i];
        }
    }

    static constexpr std::array<std::uint32_t, 64> round_constants = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

    std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                           0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<std::byte, block_bytes> block_{};
    std::size_t pending_ = 0;
    std::uint64_t total_bytes_ = 0;
};

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
