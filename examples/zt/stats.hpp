// SPDX-License-Identifier: MIT
//
// What the numbers of an object are like: their extremes, mean, deviation and a histogram.
#ifndef ZTENSOR_EXAMPLES_ZT_STATS_HPP
#define ZTENSOR_EXAMPLES_ZT_STATS_HPP

#include <ztensor/ztensor.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace zt {

constexpr std::size_t histogram_bars = 16;

struct number_stats {
    std::uint64_t count = 0;
    std::uint64_t not_numbers = 0;
    std::uint64_t infinite = 0;
    std::uint64_t zeros = 0;
    double least = std::numeric_limits<double>::infinity(); ///< of the finite ones, as all that follows
    double most = -std::numeric_limits<double>::infinity();
    double mean = 0;
    double deviation = 0;
    std::array<std::uint64_t, histogram_bars> bars{}; ///< from the least to the most

    [[nodiscard]] std::uint64_t finite() const { return count - not_numbers - infinite; }
};

/// Reads all of the object, twice, in pieces. Errors: those of reading, and of what has no single numbers.
ztensor::result<number_stats> stats_of(const ztensor::object_view& object);

} // namespace zt

#endif
