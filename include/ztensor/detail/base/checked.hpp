// SPDX-License-Identifier: MIT
//
// Arithmetic on integers that came from a file: unsigned, 64 bits wide, and never allowed to wrap. And what happens
// where memory runs out and no result can say so.
#ifndef ZTENSOR_DETAIL_BASE_CHECKED_HPP
#define ZTENSOR_DETAIL_BASE_CHECKED_HPP

#include <ztensor/version.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#if !ZTENSOR_HAS_EXCEPTIONS
#include <cstdio>
#include <cstdlib>
#endif

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// a + b, or nothing where 64 bits can't hold it.
[[nodiscard]] constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) noexcept {
    if (b > (std::numeric_limits<std::uint64_t>::max)() - a) {
        return std::nullopt;
    }
    return a + b;
}

/// a x b, or nothing where 64 bits can't hold it.
[[nodiscard]] constexpr std::optional<std::uint64_t> checked_multiply(std::uint64_t a, std::uint64_t b) noexcept {
#if defined(__GNUC__) && defined(__LP64__)
    std::uint64_t product = 0; // processors say by themselves whether it fits
    return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional(product);
#else
    if (((a | b) >> 32) != 0 && a != 0 && b > (std::numeric_limits<std::uint64_t>::max)() / a) {
        return std::nullopt; // the division is only reached by operands of which one needs more than 32 bits
    }
    return a * b;
#endif
}

/// The smallest multiple of `alignment` (a power of two) that is not below `value`.
[[nodiscard]] constexpr std::optional<std::uint64_t> checked_align(std::uint64_t value,
                                                                   std::uint64_t alignment) noexcept {
    const std::optional<std::uint64_t> raised = checked_add(value, alignment - 1);
    if (!raised) {
        return std::nullopt;
    }
    return *raised & ~(alignment - 1);
}

/// True if [offset, offset + length) lies in [0, size). Written as a subtraction so that nothing can wrap.
[[nodiscard]] constexpr bool fits(std::uint64_t offset, std::uint64_t length, std::uint64_t size) noexcept {
    return length <= size && offset <= size - length;
}

/// True if this host can address `size_bytes` in one array: pointer differences are signed.
[[nodiscard]] constexpr bool fits_address_space(std::uint64_t size_bytes) noexcept {
    return size_bytes <= static_cast<std::uint64_t>((std::numeric_limits<std::ptrdiff_t>::max)());
}

[[nodiscard]] constexpr bool is_power_of_two(std::uint64_t value) noexcept {
    return value != 0 && (value & (value - 1)) == 0;
}

/// Throws std::bad_alloc, or says so and ends the program where exceptions are off. Asking operator new for more than
/// there is would not do: a compiler may remove an allocation that nothing uses, and GCC does.
[[noreturn]] ZTENSOR_COLD inline void raise_out_of_memory() {
#if ZTENSOR_HAS_EXCEPTIONS
    throw std::bad_alloc();
#else
    std::fputs("ztensor: memory ran out\n", stderr);
    std::abort();
#endif
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
