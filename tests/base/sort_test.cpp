// SPDX-License-Identifier: MIT
//
// Positions are put in the order of what stands there.
#include "support/catch.hpp"

#include <ztensor/detail/base/array.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace {

using positions = std::vector<std::uint32_t>;

positions counted(std::size_t count) {
    positions made(count);
    std::iota(made.begin(), made.end(), std::uint32_t{0});
    return made;
}

} // namespace

TEST_CASE("positions are sorted by what stands there") {
    std::mt19937 random(7);
    for (std::size_t count = 0; count < 140; ++count) {
        INFO(count);
        std::vector<int> values(count);
        for (int& each : values) {
            each = std::uniform_int_distribution<int>(0, 40)(random); // some of them equal
        }
        const auto less = [&](std::uint32_t a, std::uint32_t b) { return values[a] < values[b]; };
        positions in_place = counted(count);
        ztensor::detail::sort_positions(in_place, less);
        CHECK(std::is_sorted(in_place.begin(), in_place.end(), less));
        CHECK(std::is_permutation(in_place.begin(), in_place.end(), counted(count).begin()));
    }
}
