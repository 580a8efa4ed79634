// SPDX-License-Identifier: MIT
//
// CRC-32C (Castagnoli): slicing by eight, portable.
#ifndef ZTENSOR_DETAIL_CODEC_CRC32C_HPP
#define ZTENSOR_DETAIL_CODEC_CRC32C_HPP

#include <ztensor/detail/core/endian.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

inline constexpr std::uint32_t crc32c_start = 0xffffffff;

/// tables[k][b]: what byte b does to the sum when k more bytes follow it in the same step. Made when first used: as
/// constants they would take 8 KiB of every object file, and the compiler's time.
struct crc32c_tables {
    std::uint32_t of[8][256];

    ZTENSOR_COLD crc32c_tables() noexcept {
        constexpr std::uint32_t reflected_polynomial = 0x82f63b78;
        for (std::uint32_t byte = 0; byte < 256; ++byte) {
            std::uint32_t crc = byte;
            for (int bit = 0; bit < 8; ++bit) {
                crc = (crc & 1) != 0 ? crc >> 1 ^ reflected_polynomial : crc >> 1;
            }
            of[0][byte] = crc;
        }
        for (std::size_t k = 1; k < 8; ++k) {
            for (std::size_t byte = 0; byte < 256; ++byte) {
                const std::uint32_t previous = of[k - 1][byte];
                of[k][byte] = previous >> 8 ^ of[0][previous & 0xff];
            }
        }
    }
};

/// The sum after `bytes`; it starts as crc32c_start, and its complement is the checksum.
[[nodiscard]] inline std::uint32_t crc32c_update(std::uint32_t crc, bytes_view bytes) noexcept {
    static const crc32c_tables tables;
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
        const std::uint64_t word = load_little(bytes.data(), 8) ^ crc;
        crc = 0;
        for (std::size_t i = 0; i < 8; ++i) {
            crc ^= tables.of[7 - i][word >> (8 * i) & 0xff];
        }
    }
    for (const std::byte byte : bytes) {
        crc = crc >> 8 ^ tables.of[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
    }
    return crc;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
