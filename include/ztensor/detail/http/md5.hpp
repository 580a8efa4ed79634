// SPDX-License-Identifier: MIT
//
// MD5 (RFC 1321), which S3 makes the ETags of objects of. It tells whether an object is the one that was written. It
// is no protection against forgery, and nothing else uses it.
#ifndef ZTENSOR_DETAIL_HTTP_MD5_HPP
#define ZTENSOR_DETAIL_HTTP_MD5_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

using md5_value = std::array<byte, 16>;

struct md5_state {
    uint32_t words[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};

    /// Takes in 64 bytes.
    void take_block(const byte* block) noexcept {
        static constexpr uint32_t sines[64] = { // the integer part of 2^32 * |sin(i + 1)|
            0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
            0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
            0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
            0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
            0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
            0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
            0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
            0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
        static constexpr unsigned shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
        uint32_t content[16];
        for (unsigned i = 0; i < 16; ++i) {
            content[i] = static_cast<uint32_t>(load_little(block + 4 * i, 4));
        }
        uint32_t a = words[0], b = words[1], c = words[2], d = words[3];
        for (unsigned i = 0; i < 64; ++i) {
            const unsigned round = i / 16;
            const uint32_t mixed = round == 0   ? (b & c) | (~b & d)
                                   : round == 1 ? (d & b) | (~d & c)
                                   : round == 2 ? b ^ c ^ d
                                                : c ^ (b | ~d);
            const unsigned step[4] = {1, 5, 3, 7}, first[4] = {0, 1, 5, 0};
            const unsigned at = (step[round] * i + first[round]) % 16;
            const uint32_t sum = a + mixed + sines[i] + content[at];
            const unsigned shift = shifts[round][i % 4];
            a = d;
            d = c;
            c = b;
            b += sum << shift | sum >> (32 - shift);
        }
        words[0] += a;
        words[1] += b;
        words[2] += c;
        words[3] += d;
    }
};

[[nodiscard]] inline md5_value md5_of(bytes_view bytes) noexcept {
    md5_state state;
    size_t done = 0;
    for (; bytes.size() - done >= 64; done += 64) {
        state.take_block(bytes.data() + done);
    }
    byte last[128] = {};
    const size_t rest = bytes.size() - done;
    std::copy_n(bytes.data() + done, rest, last);
    last[rest] = byte{0x80};
    const size_t end = rest < 56 ? 64 : 128;
    const uint64_t bits = uint64_t{bytes.size()} * 8;
    store_little(bits, last + end - 8, 8);
    for (size_t at = 0; at < end; at += 64) {
        state.take_block(last + at);
    }
    md5_value value{};
    for (size_t i = 0; i < 4; ++i) {
        store_little(state.words[i], value.data() + 4 * i, 4);
    }
    return value;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
