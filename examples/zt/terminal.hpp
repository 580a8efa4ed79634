// SPDX-License-Identifier: MIT
//
// What people see: tables cut to the terminal, numbers they can read, and how far something is.
#ifndef ZTENSOR_EXAMPLES_ZT_TERMINAL_HPP
#define ZTENSOR_EXAMPLES_ZT_TERMINAL_HPP

#include "../human.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace zt {

/// The words of the command line in UTF-8, which Windows hands to main() in the code page of the system.
std::vector<std::string> utf8_arguments(int argc, char** argv);
/// "1,234,567"
std::string grouped(std::uint64_t number);
/// "2GB", "512MiB", "1000": throws usage_error for anything else.
std::uint64_t parse_size(const std::string& text);

/// Names come from files: quotes, backslashes and all that is not printable are shown as JSON escapes them, and bytes
/// that are not UTF-8 as \xNN. What is not ASCII stays as it is only where the terminal shows Unicode.
std::string printable(std::string_view text);
/// A sentence, or JSON: only what a line must not hold is escaped, such as control characters and those that can't be
/// seen or change the direction of text.
std::string in_one_line(std::string_view text);
/// How many columns of a terminal the text takes.
std::size_t columns_of(std::string_view text);
/// At most so many columns, with "..." where something was cut: the end, or of names the middle. 0: all of it.
std::string cut(const std::string& text, std::size_t columns);
std::string cut_in_the_middle(const std::string& text, std::size_t columns);

/// Columns of the terminal that the standard output is, 0 if it is none: then nothing is cut.
std::size_t output_columns();
/// Emphasised where the standard output is a terminal and NO_COLOR does not forbid it.
std::string emphasised(const std::string& text);
/// Whether the standard output is a terminal that shows the characters of Unicode.
bool shows_unicode();

struct column {
    std::string title;
    bool is_number = false; ///< put at the right
    bool is_cut = false;    ///< the widest of these gives way first where the terminal is narrow
    bool is_name = false;   ///< gives way after all others, in the middle
};

/// Whether such rows are wider than the terminal.
bool is_too_wide(const std::vector<column>& columns, const std::vector<std::vector<std::string>>& rows);

/// Rows of as many texts as there are columns. A column in which all are "" or "-" is left out.
void print_table(const std::vector<column>& columns, const std::vector<std::vector<std::string>>& rows);

/// How far something is, on the standard error: only on a terminal, and only once it takes more than a second.
class progress_line {
public:
    progress_line();
    progress_line(const progress_line&) = delete;
    progress_line& operator=(const progress_line&) = delete;
    ~progress_line();

    /// How many of so many bytes are done, and how many a second.
    void show(std::uint64_t done_bytes, std::uint64_t total_bytes, std::string_view what = {});
    /// How many of so many other things.
    void show_count(std::uint64_t done, std::uint64_t total, std::string_view what);

private:
    using clock = std::chrono::steady_clock;

    [[nodiscard]] bool is_time() const noexcept { return is_terminal_ && clock::now() >= next_; }
    void print(std::uint64_t done, std::uint64_t total, const std::string& rate, std::string_view what);

    bool is_terminal_;
    bool is_shown_ = false;
    clock::time_point start_ = clock::now();
    clock::time_point next_ = start_ + std::chrono::seconds(1);
};

/// For what does not tell how far it is: that it is going on, and for how long, on the same terms.
class waiting_line {
public:
    explicit waiting_line(std::string what); // which is shown printable
    waiting_line(const waiting_line&) = delete;
    waiting_line& operator=(const waiting_line&) = delete;
    ~waiting_line();

private:
    void show_seconds();

    std::string what_;
    std::mutex mutex_;
    std::condition_variable done_;
    bool is_done_ = false;
    std::thread clock_; ///< none where nobody would see it
};

/// Does work that does not tell how far it is.
template <class Work>
auto wait_for(std::string what, const Work& work) {
    const waiting_line waiting(std::move(what));
    return work();
}

} // namespace zt

#endif
