// SPDX-License-Identifier: MIT
//
// CRC-32 as ZIP archives have it: the polynomial of Ethernet, where our own digests are of CRC-32C. Eight bytes at a
// time by tables, which keeps up with inflating and with disks.
#ifndef ZTENSOR_DETAIL_CODEC_CRC32_HPP
#define ZTENSOR_DETAIL_CODEC_CRC32_HPP

#include <ztensor/detail/core/endian.hpp>
#include <ztensor/span.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

using crc32_tables = std::array<std::array<std::uint32_t, 256>, 8>;

[[nodiscard]] inline crc32_tables make_crc32_tables() noexcept {
    constexpr std::uint32_t polynomial = 0xEDB88320; // bits reversed
    crc32_tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) {
            value = (value >> 1) ^ ((value & 1) != 0 ? polynomial : 0);
        }
        tables[0][byte] = value;
    }
    for (std::size_t byte = 0; byte < 256; ++byte) {
        for (std::size_t i = 1; i < 8; ++i) {
            tables[i][byte] = (tables[i - 1][byte] >> 8) ^ tables[0][tables[i - 1][byte] & 255];
        }
    }
    return tables;
}

/// Made when they are first wanted: as constants they took g++ 0.2 s of every file that includes a reader.
[[nodiscard]] inline const crc32_tables& crc32_tables_of_process() noexcept {
    static const crc32_tables tables = make_crc32_tables();
    return tables;
}

inline constexpr std::uint32_t crc32_start = 0xffffffff;

/// Goes on from `crc` with `bytes`. What ZIP writes is the complement of the last value.
[[nodiscard]] inline std::uint32_t crc32_update(std::uint32_t crc, bytes_view bytes) noexcept {
    const crc32_tables& tables = crc32_tables_of_process();
    const std::byte* at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 8; left -= 8, at += 8) {
        const std::uint64_t word = load_little_64(at) ^ crc;
        crc = tables[7][word & 255] ^ tables[6][word >> 8 & 255] ^ tables[5][word >> 16 & 255] ^
              tables[4][word >> 24 & 255] ^ tables[3][word >> 32 & 255] ^ tables[2][word >> 40 & 255] ^
              tables[1][word >> 48 & 255] ^ tables[0][static_cast<std::size_t>(word >> 56)];
    }
    for (; left != 0; --left, ++at) {
        crc = (crc >> 8) ^ tables[0][(crc ^ std::to_integer<std::uint32_t>(*at)) & 255];
    }
    return crc;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
