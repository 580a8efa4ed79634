// SPDX-License-Identifier: MIT
//
// Bytes as other types, numbers in either byte order, and the bytes that a digest keeps.
#ifndef ZTENSOR_DETAIL_BASE_BYTES_HPP
#define ZTENSOR_DETAIL_BASE_BYTES_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/span.hpp>
#include <ztensor/version.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

#if !ZTENSOR_HAS_EXCEPTIONS
#include <cstdio>
#include <cstdlib>
#endif

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- checked
//
// Arithmetic on integers that came from a file: unsigned, 64 bits wide, and never allowed to wrap. And what happens
// where memory runs out and no result can say so.

/// a + b, or nothing where 64 bits can't hold it.
[[nodiscard]] constexpr optional<uint64_t> checked_add(uint64_t a, uint64_t b) noexcept {
    if (b > (std::numeric_limits<uint64_t>::max)() - a) {
        return std::nullopt;
    }
    return a + b;
}

/// a x b, or nothing where 64 bits can't hold it.
[[nodiscard]] constexpr optional<uint64_t> checked_multiply(uint64_t a, uint64_t b) noexcept {
#if defined(__GNUC__) && defined(__LP64__)
    uint64_t product = 0; // processors say by themselves whether it fits
    return __builtin_mul_overflow(a, b, &product) ? std::nullopt : optional(product);
#else
    if (((a | b) >> 32) != 0 && a != 0 && b > (std::numeric_limits<uint64_t>::max)() / a) {
        return std::nullopt; // the division is only reached by operands of which one needs more than 32 bits
    }
    return a * b;
#endif
}

/// The smallest multiple of `alignment` (a power of two) that is not below `value`.
[[nodiscard]] constexpr optional<uint64_t> checked_align(uint64_t value, uint64_t alignment) noexcept {
    const optional<uint64_t> raised = checked_add(value, alignment - 1);
    if (!raised) {
        return std::nullopt;
    }
    return *raised & ~(alignment - 1);
}

/// True if [offset, offset + length) lies in [0, size). Written as a subtraction so that nothing can wrap.
[[nodiscard]] constexpr bool fits(uint64_t offset, uint64_t length, uint64_t size) noexcept {
    return length <= size && offset <= size - length;
}

/// True if this host can address `size_bytes` in one array: pointer differences are signed.
[[nodiscard]] constexpr bool fits_address_space(uint64_t size_bytes) noexcept {
    return size_bytes <= static_cast<uint64_t>((std::numeric_limits<std::ptrdiff_t>::max)());
}

[[nodiscard]] constexpr bool is_power_of_two(uint64_t value) noexcept {
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

// -- cast
//
// The only place where bytes become something else in place. Every function states what must have been checked.

/// The same bytes as characters; always allowed.
[[nodiscard]] inline string_view as_text(bytes_view bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The same characters as bytes; always allowed.
[[nodiscard]] inline bytes_view as_bytes(string_view text) noexcept {
    return {reinterpret_cast<const byte*>(text.data()), text.size()};
}

/// The object representation of elements; always allowed.
template <class T>
[[nodiscard]] bytes_view as_bytes(span<const T> elements) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    return {reinterpret_cast<const byte*>(elements.data()), elements.size_bytes()};
}

template <class T>
[[nodiscard]] span<byte> as_writable_bytes(span<T> elements) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    return {reinterpret_cast<byte*>(elements.data()), elements.size_bytes()};
}

/// True if the bytes start at a multiple of `alignment`.
[[nodiscard]] inline bool is_aligned(bytes_view bytes, size_t alignment) noexcept {
    return reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0;
}

/// Where something lies, as a number.
[[nodiscard]] inline uint64_t address_of(const void* place) noexcept {
    return static_cast<uint64_t>(reinterpret_cast<std::uintptr_t>(place));
}

/// How many bytes stand between a place and the next multiple of `alignment`, which is a power of two.
[[nodiscard]] inline size_t bytes_to_multiple(const void* place, size_t alignment) noexcept {
    return static_cast<size_t>(0 - address_of(place)) & (alignment - 1);
}

/// The bytes as elements. Checked before: size divides, is_aligned(bytes, alignof(T)), the host's byte order, and that
/// every bit pattern is a T (so never bool).
template <class T>
[[nodiscard]] span<const T> as_elements(bytes_view bytes) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<std::remove_cv_t<T>, bool>);
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

/// The same where bytes of bools were checked, too, to be 0 or 1, in memory that is not written to any more.
template <class T>
[[nodiscard]] span<const T> as_checked_elements(bytes_view bytes) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

/// The same for writing.
template <class T>
[[nodiscard]] span<T> as_writable_elements(span<byte> bytes) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

/// Where code lies; for the system's functions that ask for the module of an address.
[[nodiscard]] inline const void* address_of_code(void (*code)(void* context)) noexcept {
    return reinterpret_cast<const void*>(code);
}

// -- endian
//
// Byte order. A .zt file is little-endian, CBOR heads are big-endian, and the host is what it is. SPEC.md section 2.7.

#if defined(__BYTE_ORDER__) && defined(__ORDER_BIG_ENDIAN__)
inline constexpr bool host_is_little_endian = __BYTE_ORDER__ != __ORDER_BIG_ENDIAN__;
#else
inline constexpr bool host_is_little_endian = true; // MSVC, whose targets all are
#endif

/// The number whose bytes are those of `value` from the other end; compilers know it as one instruction.
[[nodiscard]] constexpr uint64_t reverse_bytes(uint64_t value) noexcept {
    value = (value & 0x00ff00ff00ff00ffu) << 8 | (value >> 8 & 0x00ff00ff00ff00ffu);
    value = (value & 0x0000ffff0000ffffu) << 16 | (value >> 16 & 0x0000ffff0000ffffu);
    return value << 32 | value >> 32;
}

/// The 8 bytes at `bytes` as a number, least significant first: one load, where g++ -O2 makes a loop of load_little().
[[nodiscard]] inline uint64_t load_little_64(const byte* bytes) noexcept {
    uint64_t value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return host_is_little_endian ? value : reverse_bytes(value);
}

/// The same number, most significant first.
[[nodiscard]] inline uint64_t load_big_64(const byte* bytes) noexcept {
    return reverse_bytes(load_little_64(bytes));
}

/// The unsigned integer in `count` (at most 8) bytes, least significant first.
[[nodiscard]] constexpr uint64_t load_little(const byte* bytes, size_t count) noexcept {
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i) {
        value |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
    }
    return value;
}

/// The unsigned integer in `count` (at most 8) bytes, most significant first.
[[nodiscard]] constexpr uint64_t load_big(const byte* bytes, size_t count) noexcept {
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i) {
        value = value << 8 | std::to_integer<uint64_t>(bytes[i]);
    }
    return value;
}

/// A two's complement number of `count` bytes, from 1 to 8, as one of eight.
[[nodiscard]] constexpr uint64_t extend_sign(uint64_t bits, size_t count) noexcept {
    const uint64_t sign = uint64_t{1} << (8 * count - 1);
    return (bits ^ sign) - sign;
}

constexpr void store_little(uint64_t value, byte* bytes, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) {
        bytes[i] = static_cast<byte>(value >> (8 * i));
    }
}

constexpr void store_big(uint64_t value, byte* bytes, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) {
        bytes[count - 1 - i] = static_cast<byte>(value >> (8 * i));
    }
}

/// Reverses the bytes of every element of `width` bytes; a rest shorter than that stays as it is.
inline void swap_elements(span<byte> bytes, size_t width) noexcept {
    if (width < 2) {
        return;
    }
    for (size_t at = 0; bytes.size() - at >= width; at += width) {
        std::reverse(bytes.data() + at, bytes.data() + at + width);
    }
}

// -- digest memory

/// What an algorithm keeps between two pieces; detail/codec knows what it means.
struct digest_memory {
    alignas(64) byte xxh3[600]; ///< of XXH3: its whole state, made when it starts, and what would be padding
    uint32_t words[8] = {};     ///< SHA-256's state; of CRC-32C the first
    byte pending[64] = {};      ///< of SHA-256: the start of a block that is not full yet
    uint64_t length_bytes = 0;  ///< of all pieces so far
};
static_assert(sizeof(digest_memory) == 704, "Microsoft's compiler warns of padding that an alignas makes (C4324)");

/// Every byte but 0 becomes 1, where any such byte is true.
inline void make_bools(span<byte> bools) noexcept {
    for (byte& each : bools) {
        each = byte{each != byte{0}};
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
