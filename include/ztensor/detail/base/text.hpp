// SPDX-License-Identifier: MIT
//
// Text: UTF-8, and messages.
#ifndef ZTENSOR_DETAIL_BASE_TEXT_HPP
#define ZTENSOR_DETAIL_BASE_TEXT_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/span.hpp>
#include <ztensor/version.hpp>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- case
//
// Letters of ASCII, whatever the locale.

[[nodiscard]] constexpr char ascii_lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] inline string ascii_lower(string_view text) {
    string lower(text);
    for (char& each : lower) {
        each = ascii_lower(each);
    }
    return lower;
}

[[nodiscard]] inline bool equals_ignoring_case(string_view a, string_view b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}
[[nodiscard]] inline bool starts_with_ignoring_case(string_view text, string_view start) noexcept {
    return equals_ignoring_case(text.substr(0, start.size()), start);
}
[[nodiscard]] inline bool ends_with_ignoring_case(string_view text, string_view end) noexcept {
    return text.size() >= end.size() && equals_ignoring_case(text.substr(text.size() - end.size()), end);
}

// -- parts of text

[[nodiscard]] inline bool starts_with(string_view text, string_view start) noexcept {
    return text.substr(0, start.size()) == start;
}
[[nodiscard]] inline bool ends_with(string_view text, string_view end) noexcept {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}
/// What stands between a start and an end; nothing where the text has other ones.
[[nodiscard]] inline optional<string_view> between(string_view text, string_view start, string_view end) noexcept {
    const bool has_both = text.size() >= start.size() + end.size() && starts_with(text, start) && ends_with(text, end);
    return has_both ? optional(text.substr(start.size(), text.size() - start.size() - end.size())) : std::nullopt;
}

/// What stands before the separator, or all where there is none: takes both away.
[[nodiscard]] constexpr string_view take_until(string_view& rest, char separator) noexcept {
    const string_view taken = rest.substr(0, rest.find(separator));
    rest.remove_prefix((std::min)(taken.size() + 1, rest.size()));
    return taken;
}
/// Digits as a number. Nothing for anything else, and for what 64 bits can't hold.
[[nodiscard]] constexpr optional<uint64_t> parse_decimal(string_view digits) noexcept {
    constexpr uint64_t most = ~uint64_t{0};
    uint64_t number = 0;
    for (const char each : digits) {
        const auto digit = static_cast<uint64_t>(each - '0');
        if (each < '0' || each > '9' || number > (most - digit) / 10) {
            return std::nullopt;
        }
        number = number * 10 + digit;
    }
    return digits.empty() ? std::nullopt : optional<uint64_t>(number);
}
/// A number with zeros in front, of so many digits at least.
[[nodiscard]] inline string padded(uint64_t number, size_t digits) {
    const string text = std::to_string(number);
    return string(digits - (std::min)(digits, text.size()), '0') + text;
}
/// The two hexadecimal digits of a byte.
inline void append_hex(string& out, unsigned byte, const char* digits = "0123456789abcdef") {
    out += digits[byte >> 4];
    out += digits[byte & 15];
}

// -- utf8
//
// UTF-8, as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF.

/// Bytes that the multi-byte character at the start of `text` takes, or 0 if it is malformed.
[[nodiscard]] ZTENSOR_NOINLINE inline size_t utf8_sequence_bytes(string_view text) noexcept {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < size) {
        return 0;
    }
    // Only the second byte's range depends on the lead: it keeps out overlong forms, surrogates and > U+10FFFF.
    const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (byte(1) < low || byte(1) > high) {
        return 0;
    }
    for (size_t i = 2; i < size; ++i) {
        if ((byte(i) & 0xc0) != 0x80) {
            return 0;
        }
    }
    return size;
}

/// UTF-8 -> UTF-16, in a string of whatever holds its units; each byte that is not UTF-8 becomes U+FFFD.
template <class Wide>
[[nodiscard]] Wide utf16_of(string_view utf8) {
    Wide wide;
    while (!utf8.empty()) {
        const auto lead = static_cast<unsigned char>(utf8.front());
        const size_t size = lead < 0x80 ? 1 : utf8_sequence_bytes(utf8);
        uint32_t point = size == 0 ? 0xfffd : size == 1 ? lead : lead & (0x7fu >> size);
        for (size_t i = 1; i < size; ++i) {
            point = point << 6 | (static_cast<unsigned char>(utf8[i]) & 0x3fu);
        }
        if (point > 0xffff) {
            wide += static_cast<typename Wide::value_type>(0xd7c0 + (point >> 10)); // 0xd800 + the upper bits - 0x10000
            point = 0xdc00 | (point & 0x3ff);
        }
        wide += static_cast<typename Wide::value_type>(point);
        utf8.remove_prefix(size == 0 ? 1 : size);
    }
    return wide;
}

/// True if every byte is below 0x80. Names and words are short: whole words, the last one overlapping, beat a loop
/// over bytes by 3x on the names of a model.
[[nodiscard]] inline bool is_ascii(string_view text) noexcept {
    constexpr uint64_t high_bits = 0x8080808080808080u;
    const auto load = [&](size_t position, size_t size) {
        uint64_t word = 0;
        std::memcpy(&word, text.data() + position, size);
        return word;
    };
    const size_t size = text.size();
    uint64_t all = 0;
    if (size >= 8) {
        for (size_t at = 0; at + 8 < size; at += 8) {
            all |= load(at, 8);
        }
        all |= load(size - 8, 8);
    } else if (size >= 4) {
        all = load(0, 4) | load(size - 4, 4);
    } else if (size != 0) {
        all = load(0, 1) | load(size / 2, 1) | load(size - 1, 1);
    }
    return (all & high_bits) == 0;
}

[[nodiscard]] ZTENSOR_NOINLINE inline bool is_utf8(string_view text) noexcept {
    if (is_ascii(text)) {
        return true;
    }
    while (!text.empty()) {
        const size_t size = static_cast<unsigned char>(text.front()) < 0x80 ? 1 : utf8_sequence_bytes(text);
        if (size == 0) {
            return false;
        }
        text.remove_prefix(size);
    }
    return true;
}

// -- one line
//
// What an error says goes to terminals and logs, whatever the names in it are made of.

/// Bytes of the character at the start of `text` that a line may hold as it is. 0 for control characters, for
/// characters that can't be seen or change the direction of text, such as U+202E, and for what is not UTF-8.
[[nodiscard]] inline size_t printable_bytes(string_view text) noexcept {
    const auto lead = static_cast<unsigned char>(text.front());
    if (lead < 0x80) {
        return lead >= 0x20 && lead != 0x7f ? 1 : 0;
    }
    const size_t size = utf8_sequence_bytes(text);
    uint32_t point = size == 0 ? 0x80 : lead & (0x7fu >> size);
    for (size_t i = 1; i < size; ++i) {
        point = point << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
    }
    constexpr struct {
        uint32_t first, last;
    } hidden[] = {{0x80, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},   {0x200b, 0x200f}, {0x2028, 0x202e},
                  {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
    const bool is_hidden = std::any_of(std::begin(hidden), std::end(hidden), [&](const auto& each) {
        return point >= each.first && point <= each.last;
    });
    return is_hidden ? 0 : size;
}

/// The text with each byte as \xNN that a line must not hold. Takes no memory where there is none of these.
[[nodiscard]] ZTENSOR_COLD inline string in_one_line(string text) {
    const auto good_start = [](string_view all) {
        size_t good = 0;
        for (size_t next = 1; good < all.size() && next != 0; good += next) {
            next = printable_bytes(all.substr(good));
        }
        return good;
    };
    string_view rest = text;
    string out;
    for (size_t good = good_start(rest); good != rest.size(); good = good_start(rest)) {
        append_hex(out.append(rest.substr(0, good)) += "\\x", static_cast<unsigned char>(rest[good]));
        rest.remove_prefix(good + 1);
    }
    return rest.size() == text.size() ? std::move(text) : std::move(out.append(rest));
}

// -- text
//
// Sentences from a pattern and what it leaves open. Text from a file is hostile: it is escaped and cut before it enters
// a message.

inline constexpr size_t max_quoted_bytes = 64;

/// Where `word` stands among `words`; their number if it doesn't.
[[nodiscard]] inline size_t place_of(string_view word, span<const string_view> words) noexcept {
    size_t place = 0;
    while (place < words.size() && words[place] != word) {
        ++place;
    }
    return place;
}

/// What stands for a {} in a sentence: text of our own, a number, or text to be quoted. Borrows the text.
class piece {
public:
    piece(string_view text) noexcept : text_(text.data()), size_(text.size()) {}
    piece(const string& text) noexcept : piece(string_view(text)) {}
    piece(const char* text) noexcept : piece(string_view(text)) {}
    template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
    piece(Integer number) noexcept : number_(static_cast<uint64_t>(number)), size_(is_number) {
        if constexpr (std::is_signed_v<Integer>) {
            size_ = number < 0 ? is_negative_number : is_number;
        }
    }

    void append_to(string& out) const;

private:
    friend piece in_quotes(string_view text) noexcept;

    // In the place of a size, which no text has. A sentence of an error is built in many places, most of which never
    // run: a small piece keeps them small.
    static constexpr size_t is_number = ~size_t{0};
    static constexpr size_t is_negative_number = is_number - 1;
    static constexpr size_t is_quoted = is_number / 2 + 1; ///< added to the size of the text

    union {
        const char* text_;
        uint64_t number_; ///< of a negative one its two's complement
    };
    size_t size_;
};

/// `text` in double quotes, with everything outside printable ASCII as \xNN, cut after 64 bytes.
[[nodiscard]] inline piece in_quotes(string_view text) noexcept {
    piece out(text);
    out.size_ += piece::is_quoted;
    return out;
}

ZTENSOR_COLD inline void append_quoted(string& out, string_view text) {
    out += '"';
    for (const char c : text.substr(0, max_quoted_bytes)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte >= 0x7f) {
            append_hex(out += "\\x", byte);
            continue;
        }
        if (c == '"' || c == '\\') {
            out += '\\';
        }
        out += c;
    }
    out += text.size() > max_quoted_bytes ? "\xe2\x80\xa6\"" : "\"";
}

ZTENSOR_COLD inline void piece::append_to(string& out) const {
    if (size_ == is_number) {
        out += std::to_string(number_);
        return;
    }
    if (size_ == is_negative_number) {
        out.append(1, '-').append(std::to_string(uint64_t{0} - number_));
        return;
    }
    if (size_ >= is_quoted) {
        return append_quoted(out, {text_, size_ - is_quoted});
    }
    out.append(text_, size_);
}

/// `pattern` with a piece in the place of each {}.
[[nodiscard]] ZTENSOR_COLD inline string sentence(string_view pattern, std::initializer_list<piece> pieces) {
    string out;
    for (const piece& each : pieces) {
        const size_t place = pattern.find("{}");
        out.append(pattern.data(), place);
        each.append_to(out);
        pattern.remove_prefix(place + 2);
    }
    return out.append(pattern.data(), pattern.size());
}

[[nodiscard]] inline string quote(string_view text) {
    return sentence("{}", {in_quotes(text)});
}

// -- JSON

/// `text`, which is UTF-8, as a JSON string: nothing is escaped that need not be.
ZTENSOR_COLD inline void append_json_text(string& out, string_view text) {
    constexpr string_view named = "\b\t\n\f\r\"\\";
    constexpr string_view names = "btnfr\"\\";
    out += '"';
    for (const char c : text) {
        const size_t name = named.find(c);
        if (name != std::string_view::npos) {
            out += {'\\', names[name]};
        } else if (static_cast<unsigned char>(c) < 0x20) {
            append_hex(out += "\\u00", static_cast<unsigned char>(c));
        } else {
            out += c;
        }
    }
    out += '"';
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
