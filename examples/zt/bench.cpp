// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "input.hpp"
#include "terminal.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace zt {
namespace {

constexpr int bench_rounds = 5;

/// Seconds that `work` takes: the median of some rounds.
template <class Work>
double median_seconds(const Work& work) {
    std::vector<double> seconds;
    for (int round = 0; round < bench_rounds; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
}

std::string time_text(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text,
                  seconds < 1e-3 ? "%.1f us"
                  : seconds < 1  ? "%.2f ms"
                                 : "%.2f s",
                  seconds * (seconds < 1e-3 ? 1e6
                             : seconds < 1  ? 1e3
                                            : 1));
    return text;
}

std::string rate_text(std::uint64_t bytes, double seconds) {
    return seconds > 0 ? human(static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds)) + "/s" : "-";
}

/// Stored bytes of all that has a digest that can be checked, each blob once.
std::uint64_t digested_bytes_of(const ztensor::reader& file) {
    std::uint64_t sum = 0;
    std::set<std::pair<std::uint64_t, std::uint64_t>> counted;
    for (const ztensor::object_view object : file) {
        for (const ztensor::component_view part : object) {
            const ztensor::digest_state state = part.verify().value();
            const bool is_checked = state == ztensor::digest_state::match || state == ztensor::digest_state::mismatch;
            if (is_checked && counted.insert({part.offset(), part.stored_bytes()}).second) {
                sum += part.stored_bytes();
            }
        }
    }
    return sum;
}

exit_code bench_file(const std::string& path) {
    const std::vector<ztensor::reader> files = open_inputs(path);
    std::uint64_t decoded = 0;
    for (const ztensor::reader& file : files) {
        for (const ztensor::object_view object : file) {
            if (object.format() == ztensor::format::dense) {
                decoded += object.data().value().decoded_bytes().value_or(0);
            }
        }
    }
    std::vector<std::vector<std::string>> rows;
    std::optional<waiting_line> waiting("measuring " + name_of_input(path));
    const auto add = [&](const char* what, std::uint64_t bytes, double seconds) {
        rows.push_back(
            {what, time_text(seconds), bytes == 0 ? "-" : human(bytes), bytes == 0 ? "-" : rate_text(bytes, seconds)});
    };
    const auto time_of_all = [&](const auto& work) {
        return median_seconds([&] {
            for (const ztensor::reader& file : files) {
                work(file);
            }
        });
    };
    add("open", 0, median_seconds([&] { static_cast<void>(open_inputs(path)); }));
    add("load every dense tensor", decoded,
        time_of_all([](const ztensor::reader& file) { static_cast<void>(ztensor::read_all(file).value()); }));
    add("load on one thread", decoded, time_of_all([](const ztensor::reader& file) {
            static_cast<void>(ztensor::read_all(file, ztensor::load_options().threads(1)).value());
        }));
    std::uint64_t digested = 0;
    for (const ztensor::reader& file : files) {
        digested += digested_bytes_of(file);
    }
    if (digested != 0) {
        add("verify digests", digested,
            time_of_all([](const ztensor::reader& file) { static_cast<void>(file.verify().value()); }));
    } else {
        rows.push_back({"verify digests (there are none)", "-", "-", "-"});
    }
    waiting.reset();
    print_table({{"WHAT"}, {"TIME", true}, {"BYTES", true}, {"RATE", true}}, rows);
    std::cout << "medians of " << bench_rounds << " rounds, the file in the system's cache\n";
    return good;
}

} // namespace

void add_bench(tool& to) {
    const auto path = std::make_shared<std::string>();
    CLI::App* const command = add_command(to, "bench", "Measure how fast a file opens, loads and verifies here",
                                          "bench model.zt", [path] { return bench_file(*path); });
    command->add_option("FILE", *path, "The file, of any format, or the folder or index of shards")->required();
}

} // namespace zt
