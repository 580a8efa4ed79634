// SPDX-License-Identifier: MIT
#include "terminal.hpp"

#include "characters.hpp"
#include "command.hpp"
#include "names.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>
#include <numeric>
#include <utility>

#ifdef _WIN32
#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <io.h>
#include <shellapi.h>
#else
#include <sys/ioctl.h>
#include <unistd.h>
#endif

namespace zt {
namespace {

bool is_terminal(std::FILE* stream) {
#ifdef _WIN32
    return _isatty(_fileno(stream)) != 0;
#else
    return isatty(fileno(stream)) != 0;
#endif
}

std::string environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// Columns that the texts of each column take.
std::vector<std::size_t> full_widths(const std::vector<column>& columns,
                                     const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        std::size_t width = columns[i].title.size();
        for (const auto& row : rows) {
            width = std::max(width, columns_of(row[i]));
        }
        widths.push_back(width);
    }
    return widths;
}

/// With what stands between them.
std::size_t total_width(const std::vector<std::size_t>& widths) {
    constexpr std::size_t gap = 2;
    return std::accumulate(widths.begin(), widths.end(), widths.empty() ? 0 : gap * (widths.size() - 1));
}

/// Columns for each, taken from the widest that may be cut until all fit.
std::vector<std::size_t> fitted_widths(const std::vector<column>& columns,
                                       const std::vector<std::vector<std::string>>& rows) {
    constexpr std::size_t least = 8;
    std::vector<std::size_t> widths = full_widths(columns, rows);
    std::size_t total = total_width(widths);
    const std::size_t room = output_columns();
    const auto widest_of = [&](bool names) {
        std::size_t widest = columns.size();
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const bool gives_way = names ? columns[i].is_name : columns[i].is_cut;
            if (gives_way && widths[i] > least && (widest == columns.size() || widths[i] > widths[widest])) {
                widest = i;
            }
        }
        return widest;
    };
    while (room != 0 && total > room) {
        const std::size_t other = widest_of(false);
        const std::size_t widest = other != columns.size() ? other : widest_of(true);
        if (widest == columns.size()) {
            break;
        }
        --widths[widest];
        --total;
    }
    return widths;
}

/// Columns that say something in some row, and what the rows say in them.
void leave_out_empty(std::vector<column>& columns, std::vector<std::vector<std::string>>& rows) {
    for (std::size_t i = columns.size(); i-- != 0;) {
        const bool is_empty =
            std::all_of(rows.begin(), rows.end(), [&](const auto& row) { return row[i].empty() || row[i] == "-"; });
        if (is_empty && !rows.empty()) {
            columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(i));
            for (auto& row : rows) {
                row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
    }
}

/// Names, as they fit into their columns, are told apart by what is left of them.
void shorten_names(const std::vector<column>& columns, const std::vector<std::size_t>& widths,
                   std::vector<std::vector<std::string>>& rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (!columns[i].is_name || output_columns() == 0) {
            continue;
        }
        std::vector<std::string> names;
        for (const auto& row : rows) {
            names.push_back(row[i]);
        }
        names = shortened(names, widths[i]);
        for (std::size_t row = 0; row < rows.size(); ++row) {
            rows[row][i] = std::move(names[row]);
        }
    }
}

std::string padded(const std::string& text, std::size_t width, bool is_number) {
    const std::string spaces(width - std::min(width, columns_of(text)), ' ');
    return is_number ? spaces + text : text + spaces;
}

} // namespace

std::vector<std::string> utf8_arguments([[maybe_unused]] int argc, [[maybe_unused]] char** argv) {
#ifdef _WIN32
    int count = 0;
    wchar_t** const wide = CommandLineToArgvW(GetCommandLineW(), &count);
    if (wide == nullptr) {
        throw std::bad_alloc();
    }
    std::vector<std::string> arguments;
    for (int i = 0; i < count; ++i) {
        const int needed = WideCharToMultiByte(CP_UTF8, 0, wide[i], -1, nullptr, 0, nullptr, nullptr); // with its zero
        std::string argument(static_cast<std::size_t>(needed), '\0');
        WideCharToMultiByte(CP_UTF8, 0, wide[i], -1, argument.data(), needed, nullptr, nullptr);
        argument.resize(argument.size() - 1);
        arguments.push_back(argument);
    }
    LocalFree(wide);
    return arguments;
#else
    return {argv, argv + argc};
#endif
}

std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3; at -= 3) {
        text.insert(at - 3, ",");
    }
    return text;
}

std::uint64_t parse_size(const std::string& text) {
    static const std::vector<std::pair<std::string, std::uint64_t>> units = {
        {"", 1},          {"B", 1},         {"KB", 1000},   {"MB", 1000000}, {"GB", 1000000000}, {"KiB", 1 << 10},
        {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"K", 1 << 10}, {"M", 1 << 20},  {"G", 1 << 30}};
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto unit =
        std::find_if(units.begin(), units.end(), [&](const auto& each) { return each.first == text.substr(digits); });
    if (digits == 0 || digits > 12 || unit == units.end()) {
        throw usage_error("a size is a number and a unit, such as 2GB or 512MiB, not \"" + printable(text) + '"');
    }
    return std::stoull(text.substr(0, digits)) * unit->second;
}

std::string printable(std::string_view text) {
    const bool keeps_unicode = shows_unicode();
    std::string out;
    for (character each; !text.empty(); text.remove_prefix(each.bytes)) {
        each = first_character(text);
        const bool is_plain = each.is_shown && (each.bytes == 1 || keeps_unicode);
        if (text.front() == '"' || text.front() == '\\') {
            out += {'\\', text.front()};
        } else if (is_plain) {
            out += text.substr(0, each.bytes);
        } else {
            out += escaped(text, each);
        }
    }
    return out;
}

std::string in_one_line(std::string_view text) {
    std::string out;
    for (character each; !text.empty(); text.remove_prefix(each.bytes)) {
        each = first_character(text);
        out += each.is_shown ? std::string(text.substr(0, each.bytes)) : escaped(text, each);
    }
    return out;
}

std::size_t columns_of(std::string_view text) {
    std::size_t columns = 0;
    for (character each; !text.empty(); text.remove_prefix(each.bytes)) {
        each = first_character(text);
        columns += each.columns;
    }
    return columns;
}

namespace {

/// The longest start that takes at most so many columns.
std::string_view start_of(std::string_view text, std::size_t columns) {
    std::size_t taken = 0;
    while (taken < text.size()) {
        const character next = first_character(text.substr(taken));
        if (next.columns > columns) {
            break;
        }
        columns -= next.columns;
        taken += next.bytes;
    }
    return text.substr(0, taken);
}

/// The longest end that takes at most so many columns.
std::string_view end_of(std::string_view text, std::size_t columns) {
    const std::size_t all = columns_of(text);
    for (std::size_t left = all; left > columns;) {
        const character first = first_character(text);
        left -= first.columns;
        text.remove_prefix(first.bytes);
    }
    return text;
}

} // namespace

std::string cut(const std::string& text, std::size_t columns) {
    constexpr std::size_t dots = 3;
    if (columns == 0 || columns_of(text) <= columns) {
        return text;
    }
    return columns <= dots ? std::string(start_of(text, columns))
                           : std::string(start_of(text, columns - dots)) + "...";
}

std::string cut_in_the_middle(const std::string& text, std::size_t columns) {
    constexpr std::size_t dots = 3;
    if (columns == 0 || columns_of(text) <= columns || columns < 3 * dots) {
        return cut(text, columns);
    }
    const std::size_t behind = (columns - dots) / 2; // the end of a name says more than its middle
    return std::string(start_of(text, columns - dots - behind)) + "..." + std::string(end_of(text, behind));
}

namespace {

std::size_t find_output_columns() {
    if (!is_terminal(stdout)) {
        return 0;
    }
#ifndef _WIN32
    winsize size = {};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) {
        return size.ws_col;
    }
#endif
    const int columns = std::atoi(environment("COLUMNS").c_str());
    return columns > 0 ? static_cast<std::size_t>(columns) : 80;
}

bool find_unicode() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        std::string value = environment(name);
        if (!value.empty()) {
            std::transform(value.begin(), value.end(), value.begin(),
                           [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
            const bool is_utf8 = value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
            return is_utf8 && is_terminal(stdout);
        }
    }
    return false;
}

} // namespace

std::size_t output_columns() {
    static const std::size_t columns = find_output_columns();
    return columns;
}

bool shows_unicode() {
    static const bool shows = find_unicode();
    return shows;
}

std::string emphasised(const std::string& text) {
    const bool is_plain = !is_terminal(stdout) || !environment("NO_COLOR").empty() || environment("TERM") == "dumb";
    return is_plain ? text : "\x1b[1m" + text + "\x1b[0m";
}

bool is_too_wide(const std::vector<column>& columns, const std::vector<std::vector<std::string>>& rows) {
    return output_columns() != 0 && total_width(full_widths(columns, rows)) > output_columns();
}

void print_table(const std::vector<column>& all_columns, const std::vector<std::vector<std::string>>& all_rows) {
    std::vector<column> columns = all_columns;
    std::vector<std::vector<std::string>> rows = all_rows;
    leave_out_empty(columns, rows);
    const std::vector<std::size_t> widths = fitted_widths(columns, rows);
    shorten_names(columns, widths, rows);
    const auto line_of = [&](const auto& text_of) {
        std::string line;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            line += (i == 0 ? "" : "  ") + padded(cut(text_of(i), widths[i]), widths[i], columns[i].is_number);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        return cut(line, output_columns());
    };
    std::cout << emphasised(line_of([&](std::size_t i) { return columns[i].title; })) << '\n';
    for (const auto& row : rows) {
        std::cout << line_of([&](std::size_t i) { return row[i]; }) << '\n';
    }
}

progress_line::progress_line() : is_terminal_(is_terminal(stderr)) {
}

progress_line::~progress_line() {
    if (is_shown_) {
        std::fputs("\r\x1b[K", stderr);
    }
}

void progress_line::show(std::uint64_t done_bytes, std::uint64_t total_bytes, std::string_view what) {
    if (is_time()) {
        const std::chrono::duration<double> seconds = clock::now() - start_;
        const double bytes_per_second = static_cast<double>(done_bytes) / seconds.count();
        print(done_bytes, total_bytes, human(static_cast<std::uint64_t>(bytes_per_second)) + "/s ", what);
    }
}

void progress_line::show_count(std::uint64_t done, std::uint64_t total, std::string_view what) {
    if (is_time()) {
        print(done, total, {}, what);
    }
}

void progress_line::print(std::uint64_t done, std::uint64_t total, const std::string& rate, std::string_view what) {
    constexpr int bar_columns = 20;
    constexpr std::size_t most_of_name = 36;
    const double share = total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
    const int filled = static_cast<int>(share * bar_columns);
    std::fprintf(stderr, "\r\x1b[K%3.0f %% [%s%s] %s%s", 100 * share,
                 std::string(static_cast<std::size_t>(filled), '#').c_str(),
                 std::string(static_cast<std::size_t>(bar_columns - filled), '.').c_str(), rate.c_str(),
                 cut(printable(what), most_of_name).c_str());
    std::fflush(stderr);
    is_shown_ = true;
    next_ = clock::now() + std::chrono::milliseconds(100);
}

waiting_line::waiting_line(std::string what) : what_(std::move(what)) {
    if (is_terminal(stderr)) {
        clock_ = std::thread([this] { show_seconds(); });
    }
}

waiting_line::~waiting_line() {
    if (!clock_.joinable()) {
        return;
    }
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        is_done_ = true;
    }
    done_.notify_one();
    clock_.join();
}

void waiting_line::show_seconds() {
    std::unique_lock<std::mutex> lock(mutex_);
    bool is_shown = false;
    for (int seconds = 1; !done_.wait_for(lock, std::chrono::seconds(1), [this] { return is_done_; }); ++seconds) {
        std::fprintf(stderr, "\r\x1b[K%s: %d s", cut(printable(what_), 60).c_str(), seconds);
        std::fflush(stderr);
        is_shown = true;
    }
    if (is_shown) {
        std::fputs("\r\x1b[K", stderr);
    }
}

} // namespace zt
