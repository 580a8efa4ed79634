// SPDX-License-Identifier: MIT
#include "stats.hpp"
#include "command.hpp"
#include "input.hpp"
#include "names.hpp"
#include "numbers.hpp"
#include "scales.hpp"
#include "selection.hpp"
#include "terminal.hpp"
#include "wording.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zt {
namespace {

/// The values of a sparse object of 0.1, which lie among its indices.
std::optional<number_stream> in_one_blob(const ztensor::object_view& object) {
    return is_sparse(object) && !elements_of(object) ? number_stream::open_stored_values(object) : std::nullopt;
}

template <class Take>
ztensor::result<void> for_each_number(number_stream& from, const Take& take) {
    for (;;) {
        const std::vector<number>& piece = from.next();
        if (piece.empty()) {
            return {};
        }
        for (const number& each : piece) {
            take(each.value);
        }
    }
}

/// Gives every element to `take`, as a double. Weights whose scales are components of their own are read at once.
template <class Take>
ztensor::result<void> for_each_number(const ztensor::object_view& object, const Take& take) {
    if (auto values = in_one_blob(object)) {
        return for_each_number(*values, take);
    }
    const auto elements = elements_of(object);
    auto pieces = elements ? ztensor::component_pieces::open_as(*elements, ztensor::dtype::f64)
                           : ztensor::component_pieces::open_as(object, ztensor::dtype::f64);
    if (!elements && !pieces) {
        const auto weights = dequantized(object);
        if (!weights) {
            return weights.error();
        }
        for (const float each : *weights) {
            take(static_cast<double>(each));
        }
        return {};
    }
    if (!pieces) {
        return pieces.error();
    }
    for (;;) {
        const auto piece = pieces->next();
        if (!piece || piece->empty()) {
            return piece ? ztensor::result<void>() : piece.error();
        }
        for (std::size_t at = 0; at < piece->size(); at += sizeof(double)) {
            std::uint64_t bits = 0;
            for (std::size_t i = sizeof bits; i-- > 0;) { // little-endian, whatever the host
                bits = bits << 8 | std::to_integer<std::uint64_t>((*piece)[at + i]);
            }
            double number = 0;
            std::memcpy(&number, &bits, sizeof number);
            take(number);
        }
    }
}

void add_number(number_stats& to, double number) {
    ++to.count;
    if (std::isnan(number)) {
        ++to.not_numbers;
    } else if (std::isinf(number)) {
        ++to.infinite;
    } else {
        to.zeros += number == 0 ? 1 : 0;
        to.least = std::min(to.least, number);
        to.most = std::max(to.most, number);
    }
}

/// Mean and variance of numbers one by one, without sums that grow (Welford). They are scaled by a power of two, which
/// is exact, so that squares of very large or small ones are numbers, too.
class running_moments {
public:
    explicit running_moments(double largest) : scale_(largest > 1e100 ? 0x1p-600 : largest < 1e-100 ? 0x1p600 : 1) {}

    void add(double number) {
        const double scaled = number * scale_;
        const double from_old_mean = scaled - mean_;
        ++count_;
        mean_ += from_old_mean / static_cast<double>(count_);
        squares_ += from_old_mean * (scaled - mean_);
    }
    [[nodiscard]] double mean() const { return mean_ / scale_; }
    [[nodiscard]] double deviation() const {
        return count_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(count_)) / scale_;
    }

private:
    double scale_;
    std::uint64_t count_ = 0;
    double mean_ = 0;
    double squares_ = 0;
};

} // namespace

ztensor::result<number_stats> stats_of(const ztensor::object_view& object) {
    constexpr std::size_t most_kept = std::size_t{1} << 15; // what is small is read once
    std::vector<double> kept;
    number_stats stats;
    ztensor::result<void> done = for_each_number(object, [&](double number) {
        add_number(stats, number);
        if (kept.size() < most_kept) {
            kept.push_back(number);
        }
    });
    if (!done) {
        return done.error();
    }
    if (stats.finite() == 0) {
        return stats;
    }
    const double half_range = stats.most / 2 - stats.least / 2; // the whole one may be more than a double holds
    running_moments moments(std::max(std::fabs(stats.least), std::fabs(stats.most)));
    const auto add = [&](double number) {
        if (std::isfinite(number)) {
            moments.add(number);
            const double place = half_range == 0 ? 0 : (number / 2 - stats.least / 2) / half_range * histogram_bars;
            ++stats.bars[std::min(static_cast<std::size_t>(place), histogram_bars - 1)];
        }
    };
    if (stats.count == kept.size()) {
        std::for_each(kept.begin(), kept.end(), add);
    } else {
        done = for_each_number(object, add);
    }
    stats.mean = moments.mean();
    stats.deviation = moments.deviation();
    return done ? ztensor::result<number_stats>(stats) : done.error();
}

namespace {

std::string number_text(double number, bool is_short) {
    char text[32];
    std::snprintf(text, sizeof text, is_short ? "%.3g" : "%.5g", number);
    return text;
}

/// "16,777,216", or "16.8M".
std::string count_of(std::uint64_t count, bool is_short) {
    constexpr std::uint64_t least_short = 1000000;
    if (!is_short || count < least_short) {
        return grouped(count);
    }
    char text[32];
    std::snprintf(text, sizeof text, "%.3gM", static_cast<double>(count) / 1e6);
    return text;
}

std::string histogram_text(const number_stats& stats) {
    static const std::vector<std::string> blocks = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                                    "\u2585", "\u2586", "\u2587", "\u2588"};
    static const std::vector<std::string> letters = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
    const std::vector<std::string>& signs = shows_unicode() ? blocks : letters;
    const std::uint64_t highest = *std::max_element(stats.bars.begin(), stats.bars.end());
    std::string out;
    for (const std::uint64_t bar : stats.bars) {
        const double height = highest == 0 ? 0 : static_cast<double>(bar) / static_cast<double>(highest);
        out += signs[bar == 0 ? 0 : 1 + static_cast<std::size_t>(height * 7)];
    }
    return "|" + out + "|";
}

/// What a row of the table says.
struct stats_row {
    std::string name;
    std::string type;
    number_stats stats;

    /// Short where the terminal is narrow, which leaves more of it to the name: with three digits, and no zeros of what
    /// there should be none of.
    [[nodiscard]] std::vector<std::string> texts(bool is_short) const {
        const auto number = [&](double value) { return stats.finite() == 0 ? "-" : number_text(value, is_short); };
        const auto oddities = [&](std::uint64_t count) { return is_short && count == 0 ? "-" : grouped(count); };
        return {name,
                type,
                count_of(stats.count, is_short),
                number(stats.least),
                number(stats.most),
                number(stats.mean),
                number(stats.deviation),
                oddities(stats.not_numbers),
                oddities(stats.infinite)};
    }
};

class stats_table {
public:
    void add(const ztensor::object_view& object) {
        const auto stats = stats_of(object);
        if (stats) {
            rows_.push_back({printable(object.name()), printable(type_of(object)), *stats});
            histograms_.push_back(histogram_text(*stats));
        } else if (stats.error().kind() == ztensor::error_kind::unsupported ||
                   stats.error().kind() == ztensor::error_kind::usage) {
            std::cerr << "zt: " << in_words_of_zt(stats.error().what()) << '\n'; // has no single numbers
        } else {
            stats.value();
        }
    }
    void print() const;

private:
    [[nodiscard]] std::vector<std::vector<std::string>> texts(bool are_short) const {
        std::vector<std::vector<std::string>> all;
        for (const stats_row& each : rows_) {
            all.push_back(each.texts(are_short));
        }
        return all;
    }

    std::vector<stats_row> rows_;
    std::vector<std::string> histograms_;
};

void stats_table::print() const {
    const std::vector<column> columns = {{"NAME", false, false, true},
                                         {"TYPE"},
                                         {"ELEMENTS", true},
                                         {"MIN", true},
                                         {"MAX", true},
                                         {"MEAN", true},
                                         {"STD", true},
                                         {"NAN", true},
                                         {"INF", true}};
    const std::vector<std::vector<std::string>> rows = texts(false);
    print_table(columns, is_too_wide(columns, rows) ? texts(true) : rows);
    std::cout << '\n' << emphasised("from MIN to MAX") << '\n';
    const std::size_t bar_columns = histogram_bars + 3; // with both ends and a blank
    const std::size_t room = output_columns();
    const std::size_t name_columns = room == 0 ? 0 : std::max(room, bar_columns + 8) - bar_columns;
    std::vector<std::string> names;
    for (const stats_row& each : rows_) {
        names.push_back(each.name);
    }
    names = room == 0 ? names : shortened(names, name_columns);
    for (std::size_t i = 0; i < names.size(); ++i) {
        std::cout << histograms_[i] << ' ' << names[i] << '\n';
    }
}

exit_code show_stats(const std::string& path, selection& selected, bool takes_raw_values) {
    const std::vector<ztensor::reader> files = open_inputs(path);
    selected.check(files);
    if (!takes_raw_values) {
        refuse_codes(files, "statistics", [&](const ztensor::object_view& object) { return selected.takes(object); });
    }
    std::vector<ztensor::object_view> objects;
    std::uint64_t total = 0, done = 0;
    for (const ztensor::reader& file : files) {
        for (const ztensor::object_view object : file) {
            if (selected.takes(object)) {
                objects.push_back(object);
                total += stored_bytes_of(object);
            }
        }
    }
    stats_table table;
    {
        progress_line progress;
        for (const ztensor::object_view& object : objects) {
            progress.show(done, total, object.name());
            table.add(object);
            done += stored_bytes_of(object);
        }
    }
    table.print();
    return good;
}

} // namespace

void add_stats(tool& to) {
    struct stats_options {
        std::string path;
        selection selected;
        bool takes_raw_values = false;
    };
    const auto options = std::make_shared<stats_options>();
    CLI::App* const command = add_command(
        to, "stats", "Show minimum, maximum, mean and a histogram of each tensor", "stats --only '*.weight' model.zt",
        [options] { return show_stats(options->path, options->selected, options->takes_raw_values); });
    command->add_option("FILE", options->path, "The file, of any format, or the folder or index of shards")->required();
    options->selected.add_options(*command);
    add_raw_values_option(*command, options->takes_raw_values);
}

} // namespace zt
