// SPDX-License-Identifier: MIT
//
// Floats to be stored in planes, and what their planes are by the definition. Shares no code with the library's
// kernels.
#ifndef ZTENSOR_TESTS_SUPPORT_PLANE_CONTENT_HPP
#define ZTENSOR_TESTS_SUPPORT_PLANE_CONTENT_HPP

#include "support/bytes.hpp"

#include <ztensor/attributes.hpp>
#include <ztensor/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace support::planes {

inline constexpr ztensor::dtype types[] = {ztensor::dtype::bf16, ztensor::dtype::f16, ztensor::dtype::f32};

struct split {
    bytes exponents;
    bytes fractions;
};

/// The planes of little-endian elements of `width` bytes: each is turned left by one bit, its last byte goes to the
/// exponents, the others to the fractions.
[[nodiscard]] split split_of(std::string_view elements, std::size_t width);

/// The attributes that say what the planes are of.
[[nodiscard]] ztensor::attributes attributes_of(std::string_view dtype, std::uint64_t exponent_bits = 8);

/// Little-endian elements that look like the weights of a model: small numbers around zero, of noise in their
/// fractions.
[[nodiscard]] bytes weights(ztensor::dtype type, std::size_t count, std::uint32_t seed = 1);
/// The elements of the type that are nearest to the numbers.
[[nodiscard]] bytes rounded(ztensor::dtype type, const std::vector<float>& numbers);

struct content {
    const char* name;
    bytes elements; ///< little-endian
};
/// Elements of every kind, `count` of each (a multiple of 4): weights, bit patterns that are no numbers, and what
/// hardly looks like floats.
[[nodiscard]] std::vector<content> contents(ztensor::dtype type, std::size_t count);

} // namespace support::planes

#endif
