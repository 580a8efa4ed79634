// SPDX-License-Identifier: MIT
//
// Elements of any type as bytes of a file, and back, by the width of their storage type alone.
#ifndef ZTENSOR_TESTS_SUPPORT_ELEMENTS_HPP
#define ZTENSOR_TESTS_SUPPORT_ELEMENTS_HPP

#include "support/bytes.hpp"

#include <ztensor/dtype.hpp>

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

namespace support {

template <class T>
constexpr std::size_t storage_bytes = ztensor::width_bytes(ztensor::element_traits<T>::storage);

/// Elements as a file holds them: each number of their storage type with its least significant byte first.
template <class Elements>
[[nodiscard]] bytes as_in_file(const Elements& elements) {
    using type = std::decay_t<decltype(*elements.data())>;
    return between_file_and_host(memory_of(elements), storage_bytes<type>);
}
template <class T>
[[nodiscard]] bytes little_endian(const std::vector<T>& elements) {
    return as_in_file(elements);
}

/// Elements from the bytes of a file.
template <class T>
[[nodiscard]] std::vector<T> elements_from(const bytes& content) {
    const bytes in_host_order = between_file_and_host(content, storage_bytes<T>);
    std::vector<T> out(content.size() / sizeof(T));
    if (!out.empty()) {
        std::memcpy(static_cast<void*>(out.data()), in_host_order.data(), out.size() * sizeof(T));
    }
    return out;
}

/// Elements of any bit pattern, the same every time.
template <class T>
[[nodiscard]] std::vector<T> some_elements(std::size_t count) {
    const byte_vector content = noise(count * sizeof(T));
    std::vector<T> out(count);
    std::memcpy(static_cast<void*>(out.data()), content.data(), content.size());
    return out;
}

/// Each converted to another type.
template <class To, class From>
[[nodiscard]] std::vector<To> as(const From& values) {
    std::vector<To> out;
    for (const auto& value : values) {
        out.push_back(static_cast<To>(value));
    }
    return out;
}

} // namespace support

#endif
