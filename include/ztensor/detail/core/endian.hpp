// SPDX-License-Identifier: MIT
//
// Byte order. A .zt file is little-endian, CBOR heads are big-endian, and the host is what it is. SPEC.md section 2.7.
#ifndef ZTENSOR_DETAIL_CORE_ENDIAN_HPP
#define ZTENSOR_DETAIL_CORE_ENDIAN_HPP

#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

#if defined(__BYTE_ORDER__) && defined(__ORDER_BIG_ENDIAN__)
inline constexpr bool host_is_little_endian = __BYTE_ORDER__ != __ORDER_BIG_ENDIAN__;
#else
inline constexpr bool host_is_little_endian = true; // MSVC, whose targets all are
#endif

/// The number whose bytes are those of `value` from the other end; compilers know it as one instruction.
[[nodiscard]] constexpr std::uint64_t reverse_bytes(std::uint64_t value) noexcept {
    value = (value & 0x00ff00ff00ff00ffu) << 8 | (value >> 8 & 0x00ff00ff00ff00ffu);
    value = (value & 0x0000ffff0000ffffu) << 16 | (value >> 16 & 0x0000ffff0000ffffu);
    return value << 32 | value >> 32;
}

/// The 8 bytes at `bytes` as a number, least significant first: one load, where g++ -O2 makes a loop of load_little().
[[nodiscard]] inline std::uint64_t load_little_64(const std::byte* bytes) noexcept {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return host_is_little_endian ? value : reverse_bytes(value);
}

/// Its opposite.
inline void store_little_64(std::uint64_t value, std::byte* bytes) noexcept {
    value = host_is_little_endian ? value : reverse_bytes(value);
    std::memcpy(bytes, &value, sizeof value);
}

/// The same number, most significant first.
[[nodiscard]] inline std::uint64_t load_big_64(const std::byte* bytes) noexcept {
    return reverse_bytes(load_little_64(bytes));
}

/// The unsigned integer in `count` (at most 8) bytes, least significant first.
[[nodiscard]] constexpr std::uint64_t load_little(const std::byte* bytes, std::size_t count) noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
        value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
    }
    return value;
}

/// The unsigned integer in `count` (at most 8) bytes, most significant first.
[[nodiscard]] constexpr std::uint64_t load_big(const std::byte* bytes, std::size_t count) noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
        value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    }
    return value;
}

/// A two's complement number of `count` bytes, from 1 to 8, as one of eight.
[[nodiscard]] constexpr std::uint64_t extend_sign(std::uint64_t bits, std::size_t count) noexcept {
    const std::uint64_t sign = std::uint64_t{1} << (8 * count - 1);
    return (bits ^ sign) - sign;
}

constexpr void store_little(std::uint64_t value, std::byte* bytes, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        bytes[i] = static_cast<std::byte>(value >> (8 * i));
    }
}

constexpr void store_big(std::uint64_t value, std::byte* bytes, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        bytes[count - 1 - i] = static_cast<std::byte>(value >> (8 * i));
    }
}

/// Reverses the bytes of every element of `width` bytes; a rest shorter than that stays as it is.
inline void swap_elements(span<std::byte> bytes, std::size_t width) noexcept {
    if (width < 2) {
        return;
    }
    for (std::size_t at = 0; bytes.size() - at >= width; at += width) {
        std::reverse(bytes.data() + at, bytes.data() + at + width);
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
