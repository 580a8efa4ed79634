// SPDX-License-Identifier: MIT
//
// Bytes of a pickle: what stands behind each opcode, values that stand in lines of text, and pickles one behind the
// other in a file.
#ifndef ZTENSOR_DETAIL_IMPORT_PICKLE_STREAM_HPP
#define ZTENSOR_DETAIL_IMPORT_PICKLE_STREAM_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/io.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/version.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iomanip>
#include <limits>
#include <locale>
#include <sstream>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- pickle opcodes

/// What stands behind an opcode: a number of `width` bytes, perhaps as many bytes as it counts, or lines of text.
struct pickle_layout {
    uint8_t width = 0;
    bool is_count = false;
    uint8_t lines = 0;
};

/// By the opcode. Behind one that is not known stands nothing.
inline constexpr std::array<pickle_layout, 256> pickle_layouts = [] {
    struct row {
        string_view opcodes;
        pickle_layout layout;
    };
    constexpr row rows[] = {{"\x80Kqh\x82", {1, false, 0}}, {"M\x83", {2, false, 0}},     {"Jrj\x84", {4, false, 0}},
                            {"G\x95", {8, false, 0}},       {"UC\x8a\x8c", {1, true, 0}}, {"XBT\x8b", {4, true, 0}},
                            {"\x8d\x8e\x96", {8, true, 0}}, {"ILFSVpgP", {0, false, 1}},  {"ci", {0, false, 2}}};
    std::array<pickle_layout, 256> table{};
    for (const row& each : rows) {
        for (const char opcode : each.opcodes) {
            table[static_cast<unsigned char>(opcode)] = each.layout;
        }
    }
    return table;
}();

/// An opcode and what stands behind it.
struct pickle_opcode {
    char code = '\0';
    size_t width = 0;     ///< of the number behind it
    size_t place = 0;     ///< where that number stands
    uint64_t value = 0;   ///< the number, lowest byte first
    string_view lines[2]; ///< without their line feeds
};

/// A pickle's bytes, from front to back.
class pickle_bytes {
public:
    explicit pickle_bytes(bytes_view all) noexcept : all_(all) {}

    [[nodiscard]] size_t position() const noexcept { return position_; }
    [[nodiscard]] bool is_at_end() const noexcept { return position_ == all_.size(); }

    /// False where the pickle ends before it, or within what stands behind it.
    [[nodiscard]] bool take(pickle_opcode& next) noexcept {
        if (is_at_end()) {
            return false;
        }
        next.code = static_cast<char>(all_[position_++]);
        const pickle_layout& layout = pickle_layouts[static_cast<unsigned char>(next.code)];
        next.place = position_;
        next.width = layout.width;
        if (layout.width != 0) {
            if (!skip(layout.width)) {
                return false;
            }
            next.value = load_little(all_.data() + next.place, layout.width);
        }
        for (size_t i = 0; i < layout.lines; ++i) {
            if (!take_line(next.lines[i])) {
                return false;
            }
        }
        return !layout.is_count || skip(next.value);
    }

private:
    [[nodiscard]] bool skip(uint64_t size) noexcept {
        const bool is_there = size <= all_.size() - position_;
        position_ += is_there ? static_cast<size_t>(size) : 0;
        return is_there;
    }
    [[nodiscard]] bool take_line(string_view& line) noexcept {
        const string_view rest = as_text(all_.subspan(position_));
        line = rest.substr(0, rest.find('\n'));
        return line.size() != rest.size() && skip(line.size() + 1);
    }

    bytes_view all_;
    size_t position_ = 0;
};

// -- pickle lines
//
// Values of pickles that stand in lines of text, as protocol 0 writes them: numbers and texts with escapes.

/// A sign and digits. False for anything else, and for what 64 bits can't hold.
[[nodiscard]] inline bool parse_integer_line(string_view line, int64_t& value) noexcept {
    constexpr uint64_t most = (std::numeric_limits<int64_t>::max)();
    const bool is_negative = !line.empty() && line[0] == '-';
    const optional<uint64_t> magnitude = parse_decimal(line.substr(is_negative ? 1 : 0));
    if (!magnitude || *magnitude > most) {
        return false;
    }
    value = is_negative ? -static_cast<int64_t>(*magnitude) : static_cast<int64_t>(*magnitude);
    return true;
}

/// As Python prints a float.
[[nodiscard]] inline bool parse_number_line(string_view line, double& value) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (line == "inf" || line == "-inf" || line == "nan") {
        value = line == "nan" ? std::numeric_limits<double>::quiet_NaN() : line == "inf" ? infinity : -infinity;
        return true;
    }
    std::istringstream text{string(line)};
    text.imbue(std::locale::classic());
    text >> value;
    return !text.fail() && text.peek() == std::istringstream::traits_type::eof();
}

/// As Python prints a float: the fewest digits that mean it, with an exponent where it is far from 1.
[[nodiscard]] inline string print_number(double value) {
    constexpr int most_digits = 17;
    constexpr int least_exponent = -4, most_exponent = 15;
    if (std::isnan(value) || std::isinf(value)) {
        return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    }
    string text;
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
    const size_t mark = text.find('e');
    int64_t exponent = 0;
    static_cast<void>(parse_integer_line(string_view(text).substr(mark + (text[mark + 1] == '+' ? 2 : 1)), exponent));
    if (exponent < least_exponent || exponent > most_exponent) {
        return text; // whose exponent has two digits at least, as in Python
    }
    const string sign = text[0] == '-' ? "-" : "";
    string digits;
    for (const char each : text.substr(0, mark)) {
        digits += each >= '0' && each <= '9' ? string(1, each) : "";
    }
    if (exponent < 0) {
        return sign + "0." + string(static_cast<size_t>(-exponent - 1), '0') + digits;
    }
    const size_t whole = static_cast<size_t>(exponent) + 1;
    if (digits.size() <= whole) {
        return sign + digits + string(whole - digits.size(), '0') + ".0";
    }
    return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

[[nodiscard]] inline bool parse_hex(string_view digits, uint32_t& value) noexcept {
    value = 0;
    for (const char each : digits) {
        const bool is_digit = each >= '0' && each <= '9';
        const bool is_lower = each >= 'a' && each <= 'f';
        const bool is_upper = each >= 'A' && each <= 'F';
        if (!is_digit && !is_lower && !is_upper) {
            return false;
        }
        const int digit = is_digit ? each - '0' : is_lower ? each - 'a' + 10 : each - 'A' + 10;
        value = value << 4 | static_cast<uint32_t>(digit);
    }
    return true;
}

inline void append_utf8(string& text, uint32_t character) {
    const auto add = [&](uint32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
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
[[nodiscard]] inline bool decode_unicode_line(string_view line, string& text) {
    for (size_t i = 0; i < line.size(); ++i) {
        const char next = line[i] == '\\' && i + 1 < line.size() ? line[i + 1] : '\0';
        if (next != 'u' && next != 'U') {
            append_utf8(text, static_cast<unsigned char>(line[i]));
            continue;
        }
        const size_t digits = next == 'u' ? 4 : 8;
        uint32_t character = 0;
        if (line.size() - i - 2 < digits || !parse_hex(line.substr(i + 2, digits), character)) {
            return false;
        }
        append_utf8(text, character);
        i += 1 + digits;
    }
    return true;
}

/// Takes an escape of three octal digits at most, which starts there; gives how many there are.
[[nodiscard]] inline size_t take_octal(string_view from, string& text) {
    unsigned byte = 0;
    size_t digits = 0;
    for (; digits < 3 && digits < from.size() && from[digits] >= '0' && from[digits] <= '7'; ++digits) {
        byte = byte * 8 + static_cast<unsigned>(from[digits] - '0');
    }
    text += static_cast<char>(static_cast<unsigned char>(byte & 0xff));
    return digits;
}

/// A text between quotes, with the escapes of Python. False if the quotes or an escape are not whole.
[[nodiscard]] inline bool decode_quoted_line(string_view line, string& text) {
    if (line.size() < 2 || (line[0] != '\'' && line[0] != '"') || line.back() != line[0]) {
        return false;
    }
    line = line.substr(1, line.size() - 2);
    constexpr string_view escapes = "\\'\"abfnrtv", meanings = "\\'\"\a\b\f\n\r\t\v";
    for (size_t i = 0; i < line.size(); ++i) {
        if (line[i] != '\\') {
            text += line[i];
            continue;
        }
        if (++i == line.size()) {
            return false;
        }
        uint32_t byte = 0;
        if (const size_t known = escapes.find(line[i]); known != std::string_view::npos) {
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

// -- pickle stream
//
// Pickles that stand in a file one behind the other, with other bytes between them: where each ends, found without
// carrying it out.

/// The bytes of the pickle that they start with; 0 if it does not end in them.
[[nodiscard]] inline size_t pickle_length(bytes_view bytes) noexcept {
    pickle_bytes from(bytes);
    pickle_opcode next;
    while (from.take(next)) {
        if (next.code == '.') {
            return from.position();
        }
    }
    return 0;
}

class pickle_stream {
public:
    /// The part of `source` up to `end`.
    pickle_stream(const byte_source& source, uint64_t position, uint64_t end, uint64_t most_bytes)
        : source_(source), position_(position), end_(end), most_bytes_(most_bytes) {}

    [[nodiscard]] uint64_t position() const noexcept { return position_; }

    /// The next pickle. It is looked for in ever more bytes, twice as many each time, so that reading it takes time in
    /// proportion to it. Errors: truncated; limit_exceeded; what the source says.
    result<byte_buffer> next_pickle(uint64_t first_bytes = 512) {
        const uint64_t there = end_ - position_;
        for (uint64_t size = first_bytes;; size *= 2) {
            const uint64_t window = (std::min)({size, there, most_bytes_});
            result<byte_buffer> bytes = read_header(source_, position_, window);
            if (!bytes) {
                return bytes;
            }
            if (const size_t length = pickle_length(bytes->bytes()); length != 0) {
                const uint64_t begin = position_;
                position_ += length;
                return length == window ? std::move(bytes) : read_header(source_, begin, length);
            }
            if (window == there) {
                return fail(errc::truncated, "the pickle at byte {} is cut off", {position_});
            }
            if (window == most_bytes_) {
                return fail(errc::limit_exceeded, "the pickle at byte {} takes more than the {} bytes allowed",
                            {position_, most_bytes_});
            }
        }
    }

    /// A number between pickles. Errors: truncated; what the source says.
    result<uint64_t> next_number(size_t size) {
        byte bytes[8];
        if (end_ - position_ < size) {
            return fail(errc::truncated, "the file ends at byte {}, where a number should be", {end_});
        }
        ZTENSOR_TRY(source_.read_at(position_, {bytes, size}));
        position_ += size;
        return load_little(bytes, size);
    }

    /// Goes over so many bytes. Errors: truncated.
    result<void> skip(uint64_t size) {
        if (size > end_ - position_) {
            return fail(errc::truncated, "{} bytes from byte {} on are not all there", {size, position_});
        }
        position_ += size;
        return {};
    }

private:
    const byte_source& source_;
    uint64_t position_;
    uint64_t end_;
    uint64_t most_bytes_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
