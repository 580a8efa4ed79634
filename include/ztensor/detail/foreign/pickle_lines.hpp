// SPDX-License-Identifier: MIT
//
// Values of pickles that stand in lines of text, as protocol 0 writes them: numbers and texts with escapes.
#ifndef ZTENSOR_DETAIL_FOREIGN_PICKLE_LINES_HPP
#define ZTENSOR_DETAIL_FOREIGN_PICKLE_LINES_HPP

#include <ztensor/version.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iomanip>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A sign and digits. False for anything else, and for what 64 bits can't hold.
[[nodiscard]] inline bool parse_integer_line(std::string_view line, std::int64_t& value) noexcept {
    constexpr std::uint64_t most = (std::numeric_limits<std::int64_t>::max)();
    const bool is_negative = !line.empty() && line[0] == '-';
    line.remove_prefix(is_negative ? 1 : 0);
    std::uint64_t magnitude = 0;
    for (const char each : line) {
        const auto digit = static_cast<std::uint64_t>(each - '0');
        if (each < '0' || each > '9' || magnitude > (most - digit) / 10) {
            return false;
        }
        magnitude = magnitude * 10 + digit;
    }
    value = is_negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
    return !line.empty();
}

/// As Python prints a float.
[[nodiscard]] inline bool parse_number_line(std::string_view line, double& value) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (line == "inf" || line == "-inf" || line == "nan") {
        value = line == "nan" ? std::numeric_limits<double>::quiet_NaN() : line == "inf" ? infinity : -infinity;
        return true;
    }
    std::istringstream text{std::string(line)};
    text.imbue(std::locale::classic());
    text >> value;
    return !text.fail() && text.peek() == std::istringstream::traits_type::eof();
}

/// As Python prints a float: the fewest digits that mean it, with an exponent where it is far from 1.
[[nodiscard]] inline std::string print_number(double value) {
    constexpr int most_digits = 17;
    constexpr int least_exponent = -4, most_exponent = 15;
    if (std::isnan(value) || std::isinf(value)) {
        return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    }
    std::string text;
    double read = 0;
    for (int digits = 1; digits <= most_digits; ++digits) {
        std::ostringstream out;
        out.imbue(std::locale::classic());
        out << std::scientific << std::setprecision(digits - 1) << value;
        text = out.str();
        if (parse_number_line(text, read) && std::equal_to<double>()(read, value)) {
            break;
        }
    }
    const std::size_t mark = text.find('e');
    std::int64_t exponent = 0;
    static_cast<void>(
        parse_integer_line(std::string_view(text).substr(mark + (text[mark + 1] == '+' ? 2 : 1)), exponent));
    if (exponent < least_exponent || exponent > most_exponent) {
        return text; // whose exponent has two digits at least, as in Python
    }
    const std::string sign = text[0] == '-' ? "-" : "";
    std::string digits;
    for (const char each : text.substr(0, mark)) {
        digits += each >= '0' && each <= '9' ? std::string(1, each) : "";
    }
    if (exponent < 0) {
        return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
    }
    const std::size_t whole = static_cast<std::size_t>(exponent) + 1;
    if (digits.size() <= whole) {
        return sign + digits + std::string(whole - digits.size(), '0') + ".0";
    }
    return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

[[nodiscard]] inline bool parse_hex(std::string_view digits, std::uint32_t& value) noexcept {
    value = 0;
    for (const char each : digits) {
        const bool is_digit = each >= '0' && each <= '9';
        const bool is_lower = each >= 'a' && each <= 'f';
        const bool is_upper = each >= 'A' && each <= 'F';
        if (!is_digit && !is_lower && !is_upper) {
            return false;
        }
        const int digit = is_digit ? each - '0' : is_lower ? each - 'a' + 10 : each - 'A' + 10;
        value = value << 4 | static_cast<std::uint32_t>(digit);
    }
    return true;
}

inline void append_utf8(std::string& text, std::uint32_t character) {
    const auto add = [&](std::uint32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (character < 0x80) {
        add(character);
        return;
    }
    if (character < 0x800) {
        add(0xc0 | character >> 6);
    } else if (character < 0x10000) {
        add(0xe0 | character >> 12);
        add(0x80 | (character >> 6 & 0x3f));
    } else {
        add(0xf0 | (character >> 18 & 7));
        add(0x80 | (character >> 12 & 0x3f));
        add(0x80 | (character >> 6 & 0x3f));
    }
    add(0x80 | (character & 0x3f));
}

/// A text of which each byte is a character, and a backslash with u and four digits, or with U and eight, is another.
/// False if one is cut off.
[[nodiscard]] inline bool decode_unicode_line(std::string_view line, std::string& text) {
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char next = line[i] == '\\' && i + 1 < line.size() ? line[i + 1] : '\0';
        if (next != 'u' && next != 'U') {
            append_utf8(text, static_cast<unsigned char>(line[i]));
            continue;
        }
        const std::size_t digits = next == 'u' ? 4 : 8;
        std::uint32_t character = 0;
        if (line.size() - i - 2 < digits || !parse_hex(line.substr(i + 2, digits), character)) {
            return false;
        }
        append_utf8(text, character);
        i += 1 + digits;
    }
    return true;
}

/// Takes an escape of three octal digits at most, which starts there; gives how many there are.
[[nodiscard]] inline std::size_t take_octal(std::string_view from, std::string& text) {
    unsigned byte = 0;
    std::size_t digits = 0;
    for (; digits < 3 && digits < from.size() && from[digits] >= '0' && from[digits] <= '7'; ++digits) {
        byte = byte * 8 + static_cast<unsigned>(from[digits] - '0');
    }
    text += static_cast<char>(static_cast<unsigned char>(byte & 0xff));
    return digits;
}

/// A text between quotes, with the escapes of Python. False if the quotes or an escape are not whole.
[[nodiscard]] inline bool decode_quoted_line(std::string_view line, std::string& text) {
    if (line.size() < 2 || (line[0] != '\'' && line[0] != '"') || line.back() != line[0]) {
        return false;
    }
    line = line.substr(1, line.size() - 2);
    constexpr std::string_view escapes = "\\'\"abfnrtv", meanings = "\\'\"\a\b\f\n\r\t\v";
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] != '\\') {
            text += line[i];
            continue;
        }
        if (++i == line.size()) {
            return false;
        }
        std::uint32_t byte = 0;
        if (const std::size_t known = escapes.find(line[i]); known != std::string_view::npos) {
            text += meanings[known];
        } else if (line[i] == 'x' && line.size() - i > 2 && parse_hex(line.substr(i + 1, 2), byte)) {
            text += static_cast<char>(static_cast<unsigned char>(byte));
            i += 2;
        } else if (line[i] >= '0' && line[i] <= '7') {
            i += take_octal(line.substr(i), text) - 1;
        } else {
            return false;
        }
    }
    return true;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
