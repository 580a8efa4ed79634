// SPDX-License-Identifier: MIT
//
// CRC-32C (Castagnoli): by the processor's instructions where it has some, else slicing by sixteen.
#ifndef ZTENSOR_DETAIL_CODEC_CRC32C_HPP
#define ZTENSOR_DETAIL_CODEC_CRC32C_HPP

#include <ztensor/detail/codec/crc32c_arm.hpp>
#include <ztensor/detail/codec/crc32c_polynomial.hpp>
#include <ztensor/detail/codec/crc32c_x86.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/os/cpu.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// tables[k][b]: what byte b does to the sum when k more bytes follow it in the same step. Made when first used: as
/// constants they would take 16 KiB of every object file, and the compiler's time.
struct crc32c_tables {
    std::uint32_t of[16][256];

    ZTENSOR_COLD crc32c_tables() noexcept {
        for (std::uint32_t byte = 0; byte < 256; ++byte) {
            std::uint32_t crc = byte;
            for (int bit = 0; bit < 8; ++bit) {
                crc = crc32c_times_x(crc);
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

[[nodiscard]] inline std::uint64_t load_little_word(const std::byte* bytes) noexcept {
    if constexpr (host_is_little_endian) {
        std::uint64_t word;
        std::memcpy(&word, bytes, sizeof word);
        return word;
    }
    return load_little(bytes, sizeof(std::uint64_t));
}

/// On any processor.
[[nodiscard]] ZTENSOR_NOINLINE inline std::uint32_t crc32c_portable(std::uint32_t crc, bytes_view bytes) noexcept {
    static const crc32c_tables tables;
    const auto* const table = tables.of;
    // It has no inner one. What GCC's -O2 does not unroll takes three times as long.
    for (; bytes.size() >= 16; bytes = bytes.subspan(16)) {
        const std::uint64_t a = load_little_word(bytes.data()) ^ crc;
        const std::uint64_t b = load_little_word(bytes.data() + 8);
        crc = table[15][a & 0xff] ^ table[14][a >> 8 & 0xff] ^ table[13][a >> 16 & 0xff] ^ table[12][a >> 24 & 0xff] ^
              table[11][a >> 32 & 0xff] ^ table[10][a >> 40 & 0xff] ^ table[9][a >> 48 & 0xff] ^ table[8][a >> 56] ^
              table[7][b & 0xff] ^ table[6][b >> 8 & 0xff] ^ table[5][b >> 16 & 0xff] ^ table[4][b >> 24 & 0xff] ^
              table[3][b >> 32 & 0xff] ^ table[2][b >> 40 & 0xff] ^ table[1][b >> 48 & 0xff] ^ table[0][b >> 56];
    }
    for (const std::byte byte : bytes) {
        crc = crc >> 8 ^ table[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
    }
    return crc;
}

/// Chosen where no header above has the function for the processor that this is compiled for.
template <class Features>
[[nodiscard]] bool crc32c_by_instructions(std::uint32_t&, bytes_view, const Features&) noexcept {
    return false;
}

/// The sum after `bytes`; it starts as crc32c_start, and its complement is the checksum. As `cpu` does it, which is the
/// host's, or has less than that.
[[nodiscard]] inline std::uint32_t crc32c_update(std::uint32_t crc, bytes_view bytes,
                                                 const cpu_features& cpu = host_cpu()) noexcept {
    return crc32c_by_instructions(crc, bytes, cpu) ? crc : crc32c_portable(crc, bytes);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
