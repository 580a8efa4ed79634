// SPDX-License-Identifier: MIT
//
// A dense object against the elements that it was written from.
#ifndef ZTENSOR_TESTS_WRITE_DENSE_CHECK_HPP
#define ZTENSOR_TESTS_WRITE_DENSE_CHECK_HPP

#include "support/bytes.hpp"

#include <ztensor/float_types.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/shape.hpp>

#include <complex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// dtype and logical type of an element type, by the words of the specification.
template <class T>
std::pair<std::string, std::string> words_of() {
    if constexpr (std::is_same_v<T, float>) {
        return {"f32", ""};
    } else if constexpr (std::is_same_v<T, double>) {
        return {"f64", ""};
    } else if constexpr (std::is_same_v<T, ztensor::float16>) {
        return {"f16", ""};
    } else if constexpr (std::is_same_v<T, ztensor::bfloat16>) {
        return {"bf16", ""};
    } else if constexpr (std::is_same_v<T, ztensor::float8_e4m3fn>) {
        return {"u8", "f8_e4m3fn"};
    } else if constexpr (std::is_same_v<T, ztensor::float8_e5m2>) {
        return {"u8", "f8_e5m2"};
    } else if constexpr (std::is_same_v<T, ztensor::float8_e4m3fnuz>) {
        return {"u8", "f8_e4m3fnuz"};
    } else if constexpr (std::is_same_v<T, ztensor::float8_e5m2fnuz>) {
        return {"u8", "f8_e5m2fnuz"};
    } else if constexpr (std::is_same_v<T, std::complex<float>>) {
        return {"f32", "complex64"};
    } else if constexpr (std::is_same_v<T, std::complex<double>>) {
        return {"f64", "complex128"};
    } else {
        return {(std::is_signed_v<T> ? "i" : "u") + std::to_string(8 * sizeof(T)), ""};
    }
}

/// Words, shape and stored bytes; `elements` and `found` are the elements as written and as read, in memory.
void check_dense(const ztensor::object_view& object, const ztensor::shape& dimensions,
                 const std::pair<std::string, std::string>& words, const support::bytes& elements,
                 const support::bytes& found);

template <class T>
void check_tensor(const ztensor::reader& file, std::string_view name, const ztensor::shape& dimensions,
                  const std::vector<T>& elements) {
    const ztensor::object_view object = file.find(name).value();
    const std::vector<T> found = object.data().value().template read<T>().value();
    check_dense(object, dimensions, words_of<T>(), support::memory_of(elements), support::memory_of(found));
}

#endif
