// SPDX-License-Identifier: MIT
#include "support/plane_content.hpp"

#include "support/elements.hpp"

#include <ztensor/float_types.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace support::planes {

namespace {

using ztensor::dtype;

std::uint64_t element_at(std::string_view elements, std::size_t at, std::size_t width) {
    std::uint64_t value = 0;
    for (std::size_t i = width; i-- > 0;) {
        value = value << 8 | static_cast<unsigned char>(elements[at + i]);
    }
    return value;
}

/// Numbers from -1 to 1 that follow no rule.
std::vector<float> uniform(std::size_t count, std::uint32_t seed) {
    const byte_vector source = noise(count * 4, seed);
    std::vector<float> made;
    for (std::size_t i = 0; i < count; ++i) {
        std::int32_t drawn = 0;
        for (std::size_t k = 0; k < 4; ++k) {
            drawn = static_cast<std::int32_t>(static_cast<std::uint32_t>(drawn) << 8 |
                                              std::to_integer<std::uint32_t>(source[4 * i + k]));
        }
        made.push_back(static_cast<float>(std::ldexp(static_cast<double>(drawn), -31)));
    }
    return made;
}

template <class T>
bytes rounded_as(const std::vector<float>& numbers) {
    std::vector<T> elements;
    for (const float each : numbers) {
        elements.push_back(static_cast<T>(each));
    }
    return as_in_file(elements);
}

/// Each pattern of 16 bits again and again; of f32 as its upper half, so that signs and exponents are all there.
bytes all_patterns(dtype type, std::size_t count) {
    const bytes noisy = as_string(noise(2 * count, 11));
    bytes made;
    for (std::size_t i = 0; i < count; ++i) {
        made += (type == dtype::f32 ? noisy.substr(2 * i, 2) : bytes()) + little_endian(i % 65536, 2);
    }
    return made;
}

bytes special_numbers(dtype type, std::size_t count) {
    using limits = std::numeric_limits<float>;
    const std::vector<float> few = {0.0f,
                                    -0.0f,
                                    limits::infinity(),
                                    -limits::infinity(),
                                    limits::quiet_NaN(),
                                    limits::min(),
                                    limits::denorm_min(),
                                    -limits::denorm_min(),
                                    limits::max(),
                                    1.0f,
                                    6.0e-8f,
                                    65504.0f};
    std::vector<float> numbers;
    for (std::size_t i = 0; i < count; ++i) {
        numbers.push_back(few[i * 7 % few.size()]);
    }
    return rounded(type, numbers);
}

/// NaN of every payload, whose sign alternates.
bytes nan_payloads(dtype type, std::size_t count) {
    const std::uint64_t least = type == dtype::bf16 ? 0x7f80 : type == dtype::f16 ? 0x7c00 : 0x7f800000;
    const std::uint64_t sign = type == dtype::f32 ? 0x80000000 : 0x8000;
    const std::uint64_t most = sign - least - 1;
    bytes made;
    for (std::size_t i = 0; i < count; ++i) {
        made += little_endian((least + 1 + i * 97 % most) | (i % 2 == 0 ? 0 : sign), type == dtype::f32 ? 4 : 2);
    }
    return made;
}

/// Numbers that bf16 holds.
bytes widened(dtype type, std::size_t count) {
    std::vector<float> numbers;
    for (const ztensor::bfloat16 each : elements_from<ztensor::bfloat16>(weights(dtype::bf16, count, 3))) {
        numbers.push_back(static_cast<float>(each));
    }
    return rounded(type, numbers);
}

template <class Number>
std::vector<float> numbers_of(std::size_t count, const Number& number) {
    std::vector<float> made;
    for (std::size_t i = 0; i < count; ++i) {
        made.push_back(number(i));
    }
    return made;
}

} // namespace

split split_of(std::string_view elements, std::size_t width) {
    split made;
    for (std::size_t at = 0; at < elements.size(); at += width) {
        const std::uint64_t element = element_at(elements, at, width);
        const std::uint64_t turned = element << 1 | element >> (8 * width - 1);
        const bytes all = little_endian(turned, width);
        made.fractions += all.substr(0, width - 1);
        made.exponents += all.substr(width - 1, 1);
    }
    return made;
}

ztensor::attributes attributes_of(std::string_view dtype, std::uint64_t exponent_bits) {
    ztensor::attributes made;
    made.set("planes.dtype", dtype);
    made.set("planes.exponent_bits", exponent_bits);
    return made;
}

bytes rounded(dtype type, const std::vector<float>& numbers) {
    return type == dtype::bf16  ? rounded_as<ztensor::bfloat16>(numbers)
           : type == dtype::f16 ? rounded_as<ztensor::float16>(numbers)
                                : rounded_as<float>(numbers);
}

bytes weights(dtype type, std::size_t count, std::uint32_t seed) {
    std::vector<float> sums(count);
    for (std::uint32_t i = 0; i < 6; ++i) { // about as a Gaussian curve is
        const std::vector<float> more = uniform(count, 10 * seed + i);
        std::transform(sums.begin(), sums.end(), more.begin(), sums.begin(),
                       [](float sum, float each) { return sum + each * 0.015f; });
    }
    return rounded(type, sums);
}

std::vector<content> contents(dtype type, std::size_t count) {
    const std::size_t width = ztensor::width_bytes(type);
    const bytes noisy = as_string(noise(count * width));
    const bytes some_weights = weights(type, count);
    bytes rows; // that are alike, each of 20,000 weights
    while (rows.size() < count * width) {
        rows += some_weights.substr(0, std::min(std::size_t{20000} * width, count * width - rows.size()));
    }
    return {
        {"weights", some_weights},
        {"noise", noisy},
        {"zeros", bytes(count * width, '\0')},
        {"one number", rounded(type, std::vector<float>(count, 0.1f))},
        {"constant rows",
         rounded(type, numbers_of(count, [](std::size_t i) { return 0.3f * static_cast<float>(i / 500); }))},
        {"integers",
         rounded(type, numbers_of(count, [](std::size_t i) { return static_cast<float>(i * 7919 % 251); }))},
        {"rising", rounded(type, numbers_of(count, [](std::size_t i) { return static_cast<float>(i); }))},
        {"every pattern", all_patterns(type, count)},
        {"special numbers", special_numbers(type, count)},
        {"payloads of NaN", nan_payloads(type, count)},
        {"half noise, half zeros", noisy.substr(0, count / 2 * width) + bytes(count / 2 * width, '\0')},
        {"half zeros, half weights", bytes(count / 2 * width, '\0') + some_weights.substr(0, count / 2 * width)},
        {"rows that are alike", rows},
        {"widened from bf16", widened(type, count)},
    };
}

} // namespace support::planes
