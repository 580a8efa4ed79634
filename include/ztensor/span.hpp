// SPDX-License-Identifier: MIT
//
// A borrowed, contiguous run of elements. One type in every language mode; where the standard library has
// std::span the two convert into each other without ceremony.
#ifndef ZTENSOR_SPAN_HPP
#define ZTENSOR_SPAN_HPP

#include <ztensor/version.hpp>

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#if __cplusplus >= 202002L || (defined(_MSVC_LANG) && _MSVC_LANG >= 202002L)
#include <version>
#endif
#if defined(__cpp_lib_span)
#include <span>
#endif

namespace ztensor {
inline namespace ZTENSOR_MODE {

template <class T>
class span;

namespace detail {

template <class From, class To>
inline constexpr bool points_to_same_v = std::is_convertible_v<From (*)[], To (*)[]>;

template <class C>
using data_pointer_t = decltype(std::declval<C&>().data());

/// True for containers (vector, array, std::span, ...) whose data() points to T and that have a size().
template <class C, class T, class = void>
inline constexpr bool is_contiguous_of_v = false;
template <class C, class T>
inline constexpr bool is_contiguous_of_v<C, T, std::void_t<data_pointer_t<C>, decltype(std::declval<C&>().size())>> =
    points_to_same_v<std::remove_pointer_t<data_pointer_t<C>>, T>;

template <class C>
inline constexpr bool is_span_v = false;
template <class T>
inline constexpr bool is_span_v<span<T>> = true;

template <class C>
using bare_t = std::remove_cv_t<std::remove_reference_t<C>>;

} // namespace detail

/// True for types that refer to elements and own none: their elements stay when an object of the type dies. Every other
/// type with data() and size() counts as an owner, of which a temporary lends nothing. True for every borrowed range of
/// C++20; specialise it for other views:
///
///     template <>
///     inline constexpr bool ztensor::is_view_v<my::tensor_ref> = true;
template <class C>
#if defined(__cpp_lib_span) && defined(__cpp_lib_ranges)
inline constexpr bool is_view_v = std::ranges::enable_borrowed_range<C>;
#else
inline constexpr bool is_view_v = false;
#endif
/// A span refers to elements.
template <class T>
inline constexpr bool is_view_v<span<T>> = true;
/// A view of text refers to characters.
template <class Char, class Traits>
inline constexpr bool is_view_v<std::basic_string_view<Char, Traits>> = true;

namespace detail {

/// True for a container or an array, given as C&&, that is about to die with its elements.
template <class C, class = void>
inline constexpr bool is_dying_owner_v = !std::is_lvalue_reference_v<C> && std::is_array_v<bare_t<C>>;
template <class C>
inline constexpr bool is_dying_owner_v<
    C, std::void_t<data_pointer_t<bare_t<C>>, decltype(std::declval<bare_t<C>&>().size())>> =
    !std::is_lvalue_reference_v<C> && !is_view_v<bare_t<C>>;

} // namespace detail

/// A pointer and a count. Owns nothing: it is valid for as long as what it was taken from.
/// Element access is unchecked, as with std::span; first(), last() and subspan() expect ranges inside the span.
template <class T>
class span {
public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using pointer = T*;
    using reference = T&;
    using iterator = T*;

    constexpr span() noexcept = default;
    constexpr span(T* data, std::size_t size) noexcept : data_(data), size_(size) {}

    template <std::size_t N>
    constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
    template <std::size_t N>
    constexpr span(T (&&temporary)[N]) = delete;

    /// Any contiguous container that stays, or a view. The elements of a temporary would be gone with it: keep it in a
    /// variable. A call that reads elements and keeps none takes it as a span_argument.
    template <class C,
              std::enable_if_t<!detail::is_span_v<detail::bare_t<C>> && detail::is_contiguous_of_v<C, T> &&
                                   !detail::is_dying_owner_v<C&&>,
                               int> = 0>
    constexpr span(C&& container) noexcept : data_(container.data()), size_(container.size()) {}

    /// span<float> -> span<const float>.
    template <class U, std::enable_if_t<!std::is_same_v<U, T> && detail::points_to_same_v<U, T>, int> = 0>
    constexpr span(span<U> other) noexcept : data_(other.data()), size_(other.size()) {}

#if defined(__cpp_lib_span) && !defined(__cpp_lib_ranges) // with which std::span takes any borrowed range by itself
    constexpr operator std::span<T>() const noexcept {
        return {data_, size_};
    }
#endif

    [[nodiscard]] constexpr T* data() const noexcept {
        return data_;
    }
    [[nodiscard]] constexpr std::size_t size() const noexcept {
        return size_;
    }
    [[nodiscard]] constexpr std::size_t size_bytes() const noexcept {
        return size_ * sizeof(T);
    }
    [[nodiscard]] constexpr bool empty() const noexcept {
        return size_ == 0;
    }
    [[nodiscard]] constexpr T* begin() const noexcept {
        return data_;
    }
    [[nodiscard]] constexpr T* end() const noexcept {
        return data_ + size_;
    }
    [[nodiscard]] constexpr T& operator[](std::size_t i) const noexcept {
        return data_[i];
    }
    [[nodiscard]] constexpr T& front() const noexcept {
        return data_[0];
    }
    [[nodiscard]] constexpr T& back() const noexcept {
        return data_[size_ - 1];
    }
    [[nodiscard]] constexpr span first(std::size_t count) const noexcept {
        return {data_, count};
    }
    [[nodiscard]] constexpr span last(std::size_t count) const noexcept {
        return {data_ + (size_ - count), count};
    }
    [[nodiscard]] constexpr span subspan(std::size_t from) const noexcept {
        return {data_ + from, size_ - from};
    }
    [[nodiscard]] constexpr span subspan(std::size_t from, std::size_t count) const noexcept {
        return {data_ + from, count};
    }

private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

template <class C>
span(C&) -> span<std::remove_pointer_t<detail::data_pointer_t<C>>>;
template <class C>
span(const C&) -> span<std::remove_pointer_t<detail::data_pointer_t<const C>>>;
template <class T, std::size_t N>
span(T (&)[N]) -> span<T>;

/// Bytes as they lie in a file or in memory.
using bytes_view = span<const std::byte>;

/// A parameter of a call that reads elements and keeps none of them: whatever a span is made of, and a temporary, which
/// lives as long as the call.
template <class T>
class span_argument : public span<T> {
public:
    constexpr span_argument() noexcept = default;
    constexpr span_argument(T* data, std::size_t size) noexcept : span<T>(data, size) {}
    constexpr span_argument(span<T> elements) noexcept : span<T>(elements) {}
    template <std::size_t N>
    constexpr span_argument(T (&array)[N]) noexcept : span<T>(array, N) {}
    template <class C, std::enable_if_t<!std::is_base_of_v<span<T>, detail::bare_t<C>> &&
                                            detail::is_contiguous_of_v<C, T>,
                                        int> = 0>
    constexpr span_argument(C&& container) noexcept : span<T>(container.data(), container.size()) {}
};
/// The same of bytes.
using bytes_argument = span_argument<const std::byte>;

} // namespace ZTENSOR_MODE
} // namespace ztensor

// What std::span is to C++20's ranges. <span> declares both of these.
#if defined(__cpp_lib_span) && defined(__cpp_lib_ranges)
template <class T>
inline constexpr bool std::ranges::enable_view<ztensor::span<T>> = true;
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<ztensor::span<T>> = true;
#endif

#endif
