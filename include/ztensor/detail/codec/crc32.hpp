// SPDX-License-Identifier: MIT
//
// CRC-32 as ZIP has it, whose polynomial is not that of CRC-32C: slicing by sixteen, on any processor.
#ifndef ZTENSOR_DETAIL_CODEC_CRC32_HPP
#define ZTENSOR_DETAIL_CODEC_CRC32_HPP

#include <ztensor/detail/core/endian.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// tables[k][b]: what byte b does to the sum when k more bytes follow it in the same step. Made when first used.
struct crc32_tables {
    std::uint32_t of[16][256];

    ZTENSOR_COLD crc32_tables() noexcept {
        constexpr std::uint32_t polynomial = 0xEDB88320; // bits reversed
        for (std::uint32_t byte = 0; byte < 256; ++byte) {
            std::uint32_t crc = byte;
            for (int bit = 0; bit < 8; ++bit) {
                crc = crc >> 1 ^ ((crc & 1) != 0 ? polynomial : 0);
            }
            of[0][byte] = crc;
        }
        for (std::size_t k = 1; k < 16; ++k) {
            for (std::size_t byte = 0; byte < 256; ++byte) {
                const std::uint32_t previous = of[k - 1][byte];
                of[k][byte] = previous >> 8 ^ of[0][previous & 0xff];
            }
        }
    }
};

/// Takes in bytes piece by piece.
class crc32 {
public:
    void update(bytes_view bytes) noexcept {
        static const crc32_tables tables;
        const auto* const table = tables.of;
        std::uint32_t crc = state_;
        for (; bytes.size() >= 16; bytes = bytes.subspan(16)) {
            const std::uint64_t a = load_little_64(bytes.data()) ^ crc;
            const std::uint64_t b = load_little_64(bytes.data() + 8);
            crc = table[15][a & 0xff] ^ table[14][a >> 8 & 0xff] ^ table[13][a >> 16 & 0xff] ^
                  table[12][a >> 24 & 0xff] ^ table[11][a >> 32 & 0xff] ^ table[10][a >> 40 & 0xff] ^
                  table[9][a >> 48 & 0xff] ^ table[8][a >> 56] ^ table[7][b & 0xff] ^ table[6][b >> 8 & 0xff] ^
                  table[5][b >> 16 & 0xff] ^ table[4][b >> 24 & 0xff] ^ table[3][b >> 32 & 0xff] ^
                  table[2][b >> 40 & 0xff] ^ table[1][b >> 48 & 0xff] ^ table[0][b >> 56];
        }
        for (const std::byte byte : bytes) {
            crc = crc >> 8 ^ table[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
        }
        state_ = crc;
    }

    /// Of all bytes so far; 0 of none.
    [[nodiscard]] std::uint32_t value() const noexcept { return ~state_; }

private:
    std::uint32_t state_ = ~std::uint32_t{0};
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
