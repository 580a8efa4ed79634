// SPDX-License-Identifier: MIT
//
// Rows of a table: an operation of ours beside a rival, in one process, in an order that is shuffled in every round.
#ifndef ZTENSOR_TESTS_BENCH_TABLE_HPP
#define ZTENSOR_TESTS_BENCH_TABLE_HPP

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
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

/// Of all threads of this process, its own and the system's for it.
inline double processor_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// What an operation takes: the median and the least of its rounds, and the median of what processors worked for it,
/// which a busy machine disturbs less.
struct duration {
    double median;
    double least;
    double processors;

    friend duration operator/(const duration& all, double parts) {
        return {all.median / parts, all.least / parts, all.processors / parts};
    }
};

inline duration faster(const duration& a, const duration& b) {
    return a.median < b.median ? a : b;
}

/// Of `rounds` rounds, each of which does all of them in an order of its own; one round more goes before. What is done
/// `between` them is not counted.
inline std::vector<duration> medians(int rounds, const std::vector<work>& all, const work& between = {}) {
    static std::mt19937 dice(7);
    std::vector<std::vector<double>> times(all.size()), of_processors(all.size());
    std::vector<std::size_t> order(all.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    for (int round = 0; round <= rounds; ++round) {
        std::shuffle(order.begin(), order.end(), dice);
        for (const std::size_t i : order) {
            if (between) {
                between();
            }
            const double before = processor_seconds();
            const double taken = seconds(all[i]);
            if (round != 0) {
                times[i].push_back(taken);
                of_processors[i].push_back(processor_seconds() - before);
            }
        }
    }
    std::vector<duration> taken;
    for (std::size_t i = 0; i < times.size(); ++i) {
        taken.push_back(
            {median(times[i]), *std::min_element(times[i].begin(), times[i].end()), median(of_processors[i])});
    }
    return taken;
}

/// For a script, compare.py: medians and least times in seconds, tabs between them.
inline bool prints_rows() {
    return std::getenv("ZTENSOR_BENCH_ROWS") != nullptr;
}

inline void print_head() {
    if (prints_rows()) {
        return;
    }
    std::printf("| operation | ours | rival | | ratio | of the fastest | of processor time | goal | |\n"
                "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
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

/// The ratio is that of speeds: of the medians, which decide, of the fastest rounds, and of what processors worked.
inline void print_row(const char* operation, const char* rival, const duration& ours, const duration& theirs,
                      double goal) {
    if (prints_rows()) {
        std::printf("%s\t%.9f\t%.9f\t%.9f\t%.9f\n", operation, ours.median, ours.least, theirs.median, theirs.least);
        std::fflush(stdout);
        return;
    }
    const double ratio = theirs.median / ours.median;
    std::printf("| %s | %s | %s | %s | %.2f | %.2f | %.2f | %.2f | %s |\n", operation, readable(ours.median).c_str(),
                rival, readable(theirs.median).c_str(), ratio, theirs.least / ours.least,
                theirs.processors / ours.processors, goal, ratio >= goal ? "met" : "missed");
    std::fflush(stdout);
}

} // namespace bench

#endif
