// SPDX-License-Identifier: MIT
//
// A sparse tensor written out: room for every element, and how values meet at one place. SPEC.md §5.2.
#ifndef ZTENSOR_DETAIL_DENSE_HPP
#define ZTENSOR_DETAIL_DENSE_HPP

#include <ztensor/detail/checked.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace ztensor {
inline namespace v0 {

/// The limit that to_dense() has unless told otherwise: 32 GiB.
inline constexpr std::uint64_t default_max_dense_bytes = std::uint64_t{1} << 35;

namespace detail {

/// Room for every element of a shape, all zero, within `max_bytes`. Errors: limit_exceeded.
template <class T>
[[nodiscard]] result<std::vector<T>> make_dense(const shape& dimensions, std::uint64_t max_bytes) {
    const std::optional<std::uint64_t> count = dimensions.element_count();
    const std::optional<std::uint64_t> bytes = count ? checked_multiply(*count, sizeof(T)) : std::nullopt;
    if (!bytes || *bytes > max_bytes || !fits_address_space(*bytes)) {
        return error(errc::limit_exceeded, "shape " + to_string(dimensions) + " as a dense tensor takes more than " +
                                               std::to_string(max_bytes) + " bytes");
    }
    return std::vector<T>(static_cast<std::size_t>(*count));
}

/// Several values at one place are summed, as SciPy and PyTorch do; sums of integers wrap around.
template <class T>
void accumulate(T& place, const T& value) {
    if constexpr (std::is_integral_v<T>) { // as 64-bit unsigned numbers: signed ones must not overflow
        place = static_cast<T>(static_cast<std::uint64_t>(place) + static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_arithmetic_v<T> || std::is_constructible_v<std::complex<float>, T>) {
        place = place == T{} ? value : static_cast<T>(place + value);
    } else {
        const auto sum = static_cast<float>(place) + static_cast<float>(value);
        place = static_cast<float>(place) == 0.0F ? value : static_cast<T>(sum);
    }
}

} // namespace detail

} // namespace v0
} // namespace ztensor

#endif
