// SPDX-License-Identifier: MIT
//
// Rows of a table: an operation of ours beside a rival, in one process, in an order that is shuffled in every round.
#ifndef ZTENSOR_TESTS_BENCH_TABLE_HPP
#define ZTENSOR_TESTS_BENCH_TABLE_HPP

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace bench {

/// What must not be thrown away by a compiler that sees that nobody looks at it.
inline volatile std::size_t kept = 0;
inline void keep(std::size_t value) {
    kept = kept + value;
}

using work = std::function<void()>;

inline double seconds(const work& each) {
    const auto start = std::chrono::steady_clock::now();
    each();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Medians of `rounds` rounds, each of which does all of them in an order of its own; one round more goes before.
inline std::vector<double> medians(int rounds, const std::vector<work>& all) {
    static std::mt19937 dice(7);
    std::vector<std::vector<double>> times(all.size());
    std::vector<std::size_t> order(all.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    for (int round = 0; round <= rounds; ++round) {
        std::shuffle(order.begin(), order.end(), dice);
        for (const std::size_t i : order) {
            const double taken = seconds(all[i]);
            if (round != 0) {
                times[i].push_back(taken);
            }
        }
    }
    std::vector<double> middle;
    for (const std::vector<double>& each : times) {
        middle.push_back(median(each));
    }
    return middle;
}

inline void print_head() {
    std::printf("| operation | ours | rival | | ratio | goal | |\n| --- | --- | --- | --- | --- | --- | --- |\n");
}

inline std::string readable(double time) {
    char text[32];
    if (time < 1e-6) {
        std::snprintf(text, sizeof text, "%.0f ns", time * 1e9);
    } else if (time < 1e-3) {
        std::snprintf(text, sizeof text, "%.1f us", time * 1e6);
    } else {
        std::snprintf(text, sizeof text, "%.1f ms", time * 1e3);
    }
    return text;
}

/// `ours` and `theirs` are times; the ratio is that of speeds.
inline void print_row(const char* operation, const char* rival, double ours, double theirs, double goal) {
    const double ratio = theirs / ours;
    std::printf("| %s | %s | %s | %s | %.2f | %.2f | %s |\n", operation, readable(ours).c_str(), rival,
                readable(theirs).c_str(), ratio, goal, ratio >= goal ? "met" : "missed");
    std::fflush(stdout);
}

} // namespace bench

#endif
