// SPDX-License-Identifier: MIT
//
// The only place where bytes become something else in place. Every function states what must have been checked.
#ifndef ZTENSOR_DETAIL_CORE_CAST_HPP
#define ZTENSOR_DETAIL_CORE_CAST_HPP

#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The same bytes as characters; always allowed.
[[nodiscard]] inline std::string_view as_text(bytes_view bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The same characters as bytes; always allowed.
[[nodiscard]] inline bytes_view as_bytes(std::string_view text) noexcept {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// The object representation of elements; always allowed.
template <class T>
[[nodiscard]] bytes_view as_bytes(span<const T> elements) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    return {reinterpret_cast<const std::byte*>(elements.data()), elements.size_bytes()};
}

template <class T>
[[nodiscard]] span<std::byte> as_writable_bytes(span<T> elements) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    return {reinterpret_cast<std::byte*>(elements.data()), elements.size_bytes()};
}

/// True if the bytes start at a multiple of `alignment`.
[[nodiscard]] inline bool is_aligned(bytes_view bytes, std::size_t alignment) noexcept {
    return reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0;
}

/// Where something lies, as a number.
[[nodiscard]] inline std::uint64_t address_of(const void* place) noexcept {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(place));
}

/// How many bytes stand between a place and the next multiple of `alignment`, which is a power of two.
[[nodiscard]] inline std::size_t bytes_to_multiple(const void* place, std::size_t alignment) noexcept {
    return static_cast<std::size_t>(0 - address_of(place)) & (alignment - 1);
}

/// The bytes as elements. Checked before: size divides, is_aligned(bytes, alignof(T)), the host's byte order, and that
/// every bit pattern is a T (so never bool).
template <class T>
[[nodiscard]] span<const T> as_elements(bytes_view bytes) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<std::remove_cv_t<T>, bool>);
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

/// The same where bytes of bools were checked, too, to be 0 or 1, in memory that nobody writes to any more.
template <class T>
[[nodiscard]] span<const T> as_checked_elements(bytes_view bytes) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

/// The same for writing.
template <class T>
[[nodiscard]] span<T> as_writable_elements(span<std::byte> bytes) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

/// Where code lies; for the system's functions that ask for the module of an address.
[[nodiscard]] inline const void* address_of_code(void (*code)(void* context)) noexcept {
    return reinterpret_cast<const void*>(code);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
