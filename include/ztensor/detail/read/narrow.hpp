// SPDX-License-Identifier: MIT
//
// Numbers of fewer than eight bits, whose elements share bytes: their values, and how many bytes so many take. Knows no
// files. SPEC.md section 13.5.
#ifndef ZTENSOR_DETAIL_READ_NARROW_HPP
#define ZTENSOR_DETAIL_READ_NARROW_HPP

#include <ztensor/dtype.hpp>
#include <ztensor/span.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The values of all bit patterns of a type.
using narrow_values = std::array<float, 64>;

/// A float of `mantissa_bits` below an exponent below a sign, whose top exponent is one as all others.
[[nodiscard]] constexpr float narrow_float(unsigned pattern, unsigned bits, unsigned mantissa_bits) noexcept {
    const unsigned magnitude = pattern & ((1U << (bits - 1)) - 1);
    const unsigned exponent = magnitude >> mantissa_bits;
    const unsigned mantissa = magnitude & ((1U << mantissa_bits) - 1);
    const unsigned bias = (1U << (bits - 2 - mantissa_bits)) - 1;
    const unsigned significand = exponent != 0 ? mantissa + (1U << mantissa_bits) : mantissa;
    const unsigned shift = exponent != 0 ? exponent - 1 : 0;
    const auto unit = static_cast<float>(1U << (bias + mantissa_bits - 1)); // 1 / the smallest value
    const float value = static_cast<float>(significand << shift) / unit;
    return pattern != magnitude ? -value : value;
}

[[nodiscard]] constexpr float narrow_value(const narrow_type_facts& type, unsigned pattern) noexcept {
    if (type.category == dtype_class::floating) {
        return narrow_float(pattern, type.bits, type.mantissa_bits);
    }
    const bool is_negative = type.category == dtype_class::signed_integer && pattern >> (type.bits - 1) != 0;
    return static_cast<float>(pattern) - (is_negative ? static_cast<float>(1U << type.bits) : 0.0F);
}

[[nodiscard]] constexpr narrow_values values_of(const narrow_type_facts& type) noexcept {
    narrow_values values{};
    for (unsigned pattern = 0; pattern < 1U << type.bits; ++pattern) {
        values[pattern] = narrow_value(type, pattern);
    }
    return values;
}

[[nodiscard]] constexpr std::array<narrow_values, narrow_types.size()> values_of_narrow_types() noexcept {
    std::array<narrow_values, narrow_types.size()> all{};
    for (std::size_t row = 0; row < all.size(); ++row) {
        all[row] = values_of(narrow_types[row]);
    }
    return all;
}

/// By the rows of `narrow_types`.
inline constexpr std::array<narrow_values, narrow_types.size()> all_narrow_values = values_of_narrow_types();

/// Of a row of `narrow_types`.
[[nodiscard]] inline const narrow_values& find_narrow_values(const narrow_type_facts& type) noexcept {
    return all_narrow_values[static_cast<std::size_t>(&type - narrow_types.data())];
}

/// Bytes that hold so many elements, the last of them as far as needed.
[[nodiscard]] constexpr std::uint64_t bytes_of_narrow(const narrow_type_facts& type, std::uint64_t count) noexcept {
    return count / 8 * type.bits + (count % 8 * type.bits + 7) / 8; // does not overflow
}

/// Elements that so many bytes have room for, which are of memory.
[[nodiscard]] constexpr std::uint64_t narrow_in_bytes(const narrow_type_facts& type, std::uint64_t bytes) noexcept {
    return bytes / type.bits * 8 + bytes % type.bits * 8 / type.bits;
}

/// The bits of one element; there are bytes for it.
[[nodiscard]] inline unsigned pattern_at(const narrow_type_facts& type, bytes_view packed, std::uint64_t at) noexcept {
    const auto first = static_cast<std::size_t>(at / 8 * type.bits + at % 8 * type.bits / 8);
    const auto shift = static_cast<unsigned>(at % 8 * type.bits % 8);
    unsigned bits = std::to_integer<unsigned>(packed[first]);
    if (shift + type.bits > 8) {
        bits |= std::to_integer<unsigned>(packed[first + 1]) << 8;
    }
    return bits >> shift & ((1U << type.bits) - 1);
}

/// As many as `numbers` has room for, from the first on.
template <class To>
void expand_narrow(const narrow_type_facts& type, bytes_view packed, span<To> numbers) noexcept {
    const narrow_values& values = find_narrow_values(type);
    std::size_t position = 0;
    for (To& each : numbers) {
        each = static_cast<To>(values[pattern_at(type, packed, position++)]);
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
