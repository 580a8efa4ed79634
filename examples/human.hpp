// SPDX-License-Identifier: MIT
//
// Sizes for people: what inspect and zt print alike.
#ifndef ZTENSOR_EXAMPLES_HUMAN_HPP
#define ZTENSOR_EXAMPLES_HUMAN_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>

/// "3.1 MiB"
inline std::string human(std::uint64_t bytes) {
    constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    auto size = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; size >= 1024 && unit + 1 < std::size(units); ++unit) {
        size /= 1024;
    }
    char text[32];
    std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", size, units[unit]);
    return text;
}

#endif
