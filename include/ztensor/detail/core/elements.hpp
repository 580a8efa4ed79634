// SPDX-License-Identifier: MIT
//
// A C++ element type and memory of such elements, as the functions see them that are compiled once for all types.
#ifndef ZTENSOR_DETAIL_CORE_ELEMENTS_HPP
#define ZTENSOR_DETAIL_CORE_ELEMENTS_HPP

#include <ztensor/detail/core/cast.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A C++ element type, as far as the checks need it.
struct element_request {
    std::optional<dtype> storage; ///< nothing: the bytes of any type
    std::string_view type;        ///< logical type; "": the stored elements themselves
    std::size_t size_bytes = 1;
    std::size_t alignment_bytes = 1;
    bool is_bool = false; ///< of C++, of which no byte but 0 and 1 may be made
};

template <class T>
[[nodiscard]] constexpr element_request element_request_of() noexcept {
    if constexpr (std::is_same_v<T, std::byte>) {
        return {};
    } else {
        static_assert(is_element_v<T>, "specialise ztensor::element_traits for this type");
        static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % width_bytes(element_traits<T>::storage) == 0,
                      "an element type is a trivially copyable run of its storage elements");
        return {element_traits<T>::storage, element_traits<T>::type, sizeof(T), alignof(T), std::is_same_v<T, bool>};
    }
}

template <class Elements>
struct element_of {
    using type = std::remove_cv_t<std::remove_pointer_t<data_pointer_t<const Elements>>>;
};
template <class T, std::size_t Count>
struct element_of<T[Count]> {
    using type = std::remove_cv_t<T>;
};

/// The element type of a container or array.
template <class Elements>
using element_of_t = typename element_of<Elements>::type;

/// Elements in memory, in the host's byte order, as what they are in a file.
struct typed_bytes {
    dtype storage = dtype::u8;
    std::string_view type; ///< logical type; "" for none
    bytes_view bytes;
};

/// Of a span, vector or array of any type that element_traits describes; borrowed.
template <class Elements>
[[nodiscard]] typed_bytes typed_bytes_of(const Elements& elements) noexcept {
    using T = element_of_t<Elements>;
    static_assert(is_element_v<T>, "specialise ztensor::element_traits for this type");
    return {element_traits<T>::storage, element_traits<T>::type, as_bytes(span<const T>(elements))};
}
template <class T, std::size_t Count>
[[nodiscard]] typed_bytes typed_bytes_of(const T (&elements)[Count]) noexcept {
    return typed_bytes_of(span<const T>(elements, Count));
}

/// Memory for elements of which only reading tells how many there are.
struct element_memory {
    void* owner;
    span<std::byte> (*resize)(void* owner, std::size_t elements); ///< all of it, afterwards; throws like its container
    /// Where elements are made one by one and stay when there are more: room for that many, and where it is. They are
    /// then best made and read in pieces that the cache holds, since making them writes them. Else null.
    void* (*reserve)(void* owner, std::size_t elements) = nullptr;
};

template <class T>
[[nodiscard]] element_memory memory_of(std::vector<T>& elements) noexcept {
    return {&elements,
            [](void* owner, std::size_t count) {
                auto& mine = *static_cast<std::vector<T>*>(owner);
                mine.resize(count);
                return as_writable_bytes(span<T>(mine));
            },
            [](void* owner, std::size_t count) -> void* {
                auto& mine = *static_cast<std::vector<T>*>(owner);
                mine.reserve(count);
                return mine.data();
            }};
}

/// What stands for T in a std::vector while it is read: a std::vector<bool> has no bools in memory.
template <class T>
using in_vector_t = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;

template <class T>
[[nodiscard]] std::vector<T> from_vector(std::vector<in_vector_t<T>> elements) {
    if constexpr (std::is_same_v<T, bool>) {
        return std::vector<bool>(elements.begin(), elements.end());
    } else {
        return elements;
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
