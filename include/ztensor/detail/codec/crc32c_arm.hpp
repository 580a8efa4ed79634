// SPDX-License-Identifier: MIT
//
// CRC-32C with the instructions of 64-bit ARM, in assembler: then no flag of the compiler's is needed for them.
#ifndef ZTENSOR_DETAIL_CODEC_CRC32C_ARM_HPP
#define ZTENSOR_DETAIL_CODEC_CRC32C_ARM_HPP

#include <ztensor/detail/codec/crc32c_polynomial.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/os/cpu.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>

#if defined(__AARCH64EL__) && (defined(__GNUC__) || defined(__clang__))

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[nodiscard]] inline std::uint32_t crc32c_of_word(std::uint32_t crc, const std::byte* bytes) noexcept {
    __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(load_little(bytes, 8)));
    return crc;
}

[[nodiscard]] inline std::uint32_t crc32c_of_byte(std::uint32_t crc, std::byte byte) noexcept {
    __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(std::to_integer<std::uint32_t>(byte)));
    return crc;
}

/// Takes `bytes` into the sum if `cpu` has instructions for that: of 48 KiB or more by three chains at once, as one
/// waits for the instruction's latency.
[[nodiscard]] inline bool crc32c_by_instructions(std::uint32_t& crc, bytes_view bytes,
                                                 const cpu_features& cpu) noexcept {
    if (!cpu.arm_crc32) {
        return false;
    }
    constexpr std::size_t third = std::size_t{16} << 10; // so many that putting the sums together costs nothing
    constexpr std::uint32_t by_third = crc32c_power(8 * third);
    for (; bytes.size() >= 3 * third; bytes = bytes.subspan(3 * third)) {
        std::uint32_t sums[3] = {crc, 0, 0};
        for (const std::byte* at = bytes.data(); at != bytes.data() + third; at += 8) {
            sums[0] = crc32c_of_word(sums[0], at);
            sums[1] = crc32c_of_word(sums[1], at + third);
            sums[2] = crc32c_of_word(sums[2], at + 2 * third);
        }
        crc = crc32c_multiply(by_third, crc32c_multiply(by_third, sums[0]) ^ sums[1]) ^ sums[2];
    }
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
        crc = crc32c_of_word(crc, bytes.data());
    }
    for (const std::byte byte : bytes) {
        crc = crc32c_of_byte(crc, byte);
    }
    return true;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

#endif
