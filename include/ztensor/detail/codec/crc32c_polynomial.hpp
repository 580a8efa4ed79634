// SPDX-License-Identifier: MIT
//
// CRC-32C as arithmetic: sums are polynomials over GF(2) modulo that of the checksum. Bit 31 is the coefficient of x^0,
// bit 0 that of x^31.
#ifndef ZTENSOR_DETAIL_CODEC_CRC32C_POLYNOMIAL_HPP
#define ZTENSOR_DETAIL_CODEC_CRC32C_POLYNOMIAL_HPP

#include <ztensor/version.hpp>

#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

inline constexpr std::uint32_t crc32c_start = 0xffffffff;
inline constexpr std::uint32_t crc32c_modulus = 0x82f63b78; ///< without its x^32

[[nodiscard]] constexpr std::uint32_t crc32c_times_x(std::uint32_t a) noexcept {
    return (a & 1) != 0 ? a >> 1 ^ crc32c_modulus : a >> 1;
}

[[nodiscard]] constexpr std::uint32_t crc32c_multiply(std::uint32_t a, std::uint32_t b) noexcept {
    std::uint32_t product = 0;
    for (; a != 0; a <<= 1) {
        product ^= (a >> 31 != 0) ? b : 0;
        b = crc32c_times_x(b);
    }
    return product;
}

/// x to the power of `exponent`.
[[nodiscard]] constexpr std::uint32_t crc32c_power(std::uint64_t exponent) noexcept {
    std::uint32_t result = std::uint32_t{1} << 31;
    for (std::uint32_t square = std::uint32_t{1} << 30; exponent != 0; exponent >>= 1) {
        if ((exponent & 1) != 0) {
            result = crc32c_multiply(result, square);
        }
        square = crc32c_multiply(square, square);
    }
    return result;
}

/// The sum after A and B: of `first`, the sum after A from any start, and `second`, the sum of B from 0. B has
/// `second_bytes` bytes.
[[nodiscard]] constexpr std::uint32_t crc32c_combine(std::uint32_t first, std::uint32_t second,
                                                     std::uint64_t second_bytes) noexcept {
    return crc32c_multiply(crc32c_power(8 * second_bytes), first) ^ second;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
