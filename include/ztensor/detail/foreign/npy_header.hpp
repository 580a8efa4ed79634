// SPDX-License-Identifier: MIT
//
// The header of an .npy file, versions 1 to 3: a Python dictionary of three known keys, and nothing else of Python.
#ifndef ZTENSOR_DETAIL_FOREIGN_NPY_HEADER_HPP
#define ZTENSOR_DETAIL_FOREIGN_NPY_HEADER_HPP

#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/foreign/npy_types.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What a header says.
struct npy_header {
    std::string descr;   ///< how it spells the type, or the start of that
    npy_element element; ///< if that is not readable, nothing below says anything
    shape dimensions;
    bool is_fortran = false;      ///< elements lie first dimension fastest
    std::uint64_t data_begin = 0; ///< where the header ends
    std::uint64_t data_bytes = 0;

    [[nodiscard]] std::uint64_t element_bytes() const noexcept {
        return element.type != nullptr ? element.type->element_bytes : element.raw_bytes;
    }
    /// Why the array is none of numbers.
    [[nodiscard]] ZTENSOR_COLD error why_not() const {
        return fail(errc::unknown_dtype, "the elements are of NumPy's type {}, {}", {in_quotes(descr), element.why});
    }
    /// Both orders are the same.
    [[nodiscard]] bool is_in_both_orders() const noexcept {
        const auto is_long = [](std::uint64_t dimension) { return dimension > 1; };
        return data_bytes == 0 || std::count_if(dimensions.begin(), dimensions.end(), is_long) < 2;
    }
    [[nodiscard]] bool is_transposed() const noexcept { return is_fortran && !is_in_both_orders(); }
};

/// What stands before the dictionary: how long both are.
struct npy_preamble {
    std::uint64_t header_begin = 0;
    std::uint64_t header_bytes = 0;
};

inline constexpr std::string_view npy_magic = "\x93NUMPY";
inline constexpr std::size_t npy_preamble_bytes = 12;         ///< of versions 2 and 3; version 1 takes two less
inline constexpr std::uint64_t most_npy_header_bytes = 65536; ///< ours need a few hundred

/// `start` is the first npy_preamble_bytes of the file, or all of it. Errors: file_too_small, bad_magic,
/// unsupported_version, limit_exceeded.
[[nodiscard]] ZTENSOR_COLD inline result<npy_preamble> read_npy_preamble(bytes_view start) {
    constexpr std::size_t version_at = npy_magic.size(), length_at = version_at + 2;
    if (as_text(start).substr(0, npy_magic.size()) != npy_magic) {
        return fail(errc::bad_magic, "an .npy file starts with \"\\x93NUMPY\", and this one does not");
    }
    if (start.size() < length_at + 2) {
        return fail(errc::file_too_small, "the file is cut off within the magic of an .npy file");
    }
    const auto major = std::to_integer<unsigned>(start[version_at]);
    const auto minor = std::to_integer<unsigned>(start[version_at + 1]);
    if (major < 1 || major > 3 || minor != 0) {
        return fail(errc::unsupported_version, "the .npy file is of version {}.{}; 1.0, 2.0 and 3.0 are known",
                    {major, minor});
    }
    const std::size_t size_bytes = major == 1 ? 2 : 4;
    if (start.size() < length_at + size_bytes) {
        return fail(errc::file_too_small, "the file is cut off within the magic of an .npy file");
    }
    const std::uint64_t header_bytes = load_little(start.data() + length_at, size_bytes);
    if (header_bytes > most_npy_header_bytes) {
        return fail(errc::limit_exceeded,
                    "the header of the .npy file takes {} bytes; what can be read takes a few hundred", {header_bytes});
    }
    return npy_preamble{length_at + size_bytes, header_bytes};
}

/// Reads {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), } with its keys in any order, and spaces anywhere.
class npy_header_parser {
public:
    /// `array` is what the array is called.
    npy_header_parser(std::string_view text, std::string_view array) noexcept : rest_(text), array_(array) {}

    /// Errors: header_malformed, duplicate_key, schema_missing, shape_overflow, limit_exceeded.
    [[nodiscard]] ZTENSOR_COLD result<npy_header> parse() {
        if (!take('{')) {
            return malformed("a brace");
        }
        while (!take('}')) {
            ZTENSOR_TRY(parse_pair());
            if (!take(',') && !is_next('}')) {
                return malformed("a comma or a brace");
            }
        }
        skip_spaces();
        if (!rest_.empty()) {
            return malformed("the end");
        }
        constexpr unsigned all_keys = 7;
        if (seen_ != all_keys) {
            return fail(errc::schema_missing, "the header lacks one of descr, fortran_order and shape");
        }
        return finish();
    }

private:
    void skip_spaces() noexcept { rest_.remove_prefix((std::min)(rest_.find_first_not_of(" \t\r\n\f"), rest_.size())); }
    [[nodiscard]] bool is_next(char wanted) noexcept {
        skip_spaces();
        return !rest_.empty() && rest_[0] == wanted;
    }
    [[nodiscard]] bool take(char wanted) noexcept {
        const bool is_there = is_next(wanted);
        rest_.remove_prefix(is_there ? 1 : 0);
        return is_there;
    }
    [[nodiscard]] bool take_word(std::string_view word) noexcept {
        skip_spaces();
        const bool is_there = rest_.substr(0, word.size()) == word;
        rest_.remove_prefix(is_there ? word.size() : 0);
        return is_there;
    }
    [[nodiscard]] error malformed(const char* expected) const {
        return fail(errc::header_malformed, "in the header of the .npy file stands {}, where {} was expected",
                    {in_quotes(rest_.substr(0, 16)), expected});
    }

    /// Text in either quotes, without escapes; perhaps with the mark that it is of Unicode.
    [[nodiscard]] bool take_text(std::string_view& text) noexcept {
        const bool has_mark = (is_next('u') || is_next('U')) && rest_.find_first_of("'\"") == 1;
        rest_.remove_prefix(has_mark ? 1 : 0);
        if (!is_next('\'') && !is_next('"')) {
            return false;
        }
        const std::size_t end = rest_.find(rest_[0], 1);
        if (end == std::string_view::npos || rest_.substr(0, end).find('\\') != std::string_view::npos) {
            return false;
        }
        text = rest_.substr(1, end - 1);
        rest_.remove_prefix(end + 1);
        return true;
    }

    [[nodiscard]] result<void> parse_pair() {
        static constexpr std::string_view keys[] = {"descr", "fortran_order", "shape"};
        std::string_view key;
        if (!take_text(key)) {
            return malformed("a key");
        }
        const std::size_t place = place_of(key, keys);
        if (place == std::size(keys)) {
            return fail(errc::header_malformed, "the header of the .npy file has the key {}", {in_quotes(key)});
        }
        if ((seen_ >> place & 1) != 0) {
            return fail(errc::duplicate_key, "the header of the .npy file has the key {} twice", {in_quotes(key)});
        }
        seen_ |= 1u << place;
        if (!take(':')) {
            return malformed("a colon");
        }
        return place == 0 ? parse_type() : place == 1 ? parse_order() : parse_shape();
    }

    [[nodiscard]] result<void> parse_type() {
        if (is_next('[') || is_next('(')) {
            return parse_record();
        }
        std::string_view text;
        if (!take_text(text)) {
            return malformed("the name of a type");
        }
        found_.descr = text;
        found_.element = find_npy_element(text, array_);
        return {};
    }

    /// The type of records: [('name', '<f4'), ('other', '<i4', (3,))], or what that may hold.
    [[nodiscard]] result<void> parse_record() {
        const std::string_view all = rest_;
        std::string_view field, text;
        found_.element.why = "which is a record";
        if (take('[') && take('(') && take_text(field) && take(',') && take_text(text) && take(')') && take(']')) {
            found_.element = find_npy_field(field, text);
        } else {
            rest_ = all;
            ZTENSOR_TRY(skip_literal());
        }
        constexpr std::size_t most_told = 64;
        found_.descr = all.substr(0, (std::min)(all.size() - rest_.size(), most_told));
        return {};
    }

    /// A literal of Python: brackets of any kind around text, numbers and commas.
    [[nodiscard]] result<void> skip_literal() {
        std::string open;
        do {
            skip_spaces();
            const char next = rest_.empty() ? '\0' : rest_[0];
            if (next == '[' || next == '(') {
                open += next == '[' ? ']' : ')';
            } else if (!open.empty() && next == open.back()) {
                open.pop_back();
            } else if (next == '\'' || next == '"') {
                if (!skip_text()) {
                    return malformed("text that ends");
                }
                continue;
            } else if (next != ',' && next != 'L' && !(next >= '0' && next <= '9')) {
                return malformed("the type of a record");
            }
            rest_.remove_prefix(1);
        } while (!open.empty());
        return {};
    }
    [[nodiscard]] bool skip_text() noexcept {
        const char quote = rest_[0];
        for (std::size_t at = 1; at < rest_.size(); ++at) {
            if (rest_[at] == '\\') {
                ++at;
            } else if (rest_[at] == quote) {
                rest_.remove_prefix(at + 1);
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] result<void> parse_order() {
        found_.is_fortran = take_word("True");
        return found_.is_fortran || take_word("False") ? result<void>() : malformed("True or False");
    }

    [[nodiscard]] result<void> parse_shape() {
        if (!take('(')) {
            return malformed("a tuple");
        }
        while (!take(')')) {
            std::uint64_t dimension = 0;
            ZTENSOR_TRY(parse_number(dimension));
            if (found_.dimensions.rank() == max_rank) {
                return fail(errc::limit_exceeded, "the shape has more than 64 dimensions");
            }
            found_.dimensions.push_back(dimension);
            if (!take(',') && !(is_next(')') && found_.dimensions.rank() > 1)) { // (3) is a number in brackets
                return malformed("a comma");
            }
        }
        return {};
    }

    [[nodiscard]] result<void> parse_number(std::uint64_t& value) {
        skip_spaces();
        const std::size_t digits = (std::min)(rest_.find_first_not_of("0123456789"), rest_.size());
        if (digits == 0 || (digits > 1 && rest_[0] == '0')) {
            return malformed("a dimension");
        }
        for (const char digit : rest_.substr(0, digits)) {
            const std::optional<std::uint64_t> ten = checked_multiply(value, 10);
            const std::optional<std::uint64_t> next =
                ten ? checked_add(*ten, static_cast<std::uint64_t>(digit - '0')) : std::nullopt;
            if (!next) {
                return fail(errc::shape_overflow, "a dimension needs more than 64 bits");
            }
            value = *next;
        }
        rest_.remove_prefix(digits);
        static_cast<void>(take_word("L")); // as Python 2 wrote it
        return {};
    }

    [[nodiscard]] result<npy_header> finish() {
        if (!found_.element.is_readable()) {
            return found_;
        }
        element_counter counter;
        for (const std::uint64_t dimension : found_.dimensions) {
            if (!counter.multiply(dimension)) {
                return fail(errc::shape_overflow, "the product of the dimensions needs more than 64 bits");
            }
        }
        const std::optional<std::uint64_t> bytes = checked_multiply(counter.count(), found_.element_bytes());
        if (!bytes) {
            return fail(errc::shape_overflow, "the elements need more than 2^64 bytes");
        }
        found_.data_bytes = *bytes;
        return found_;
    }

    std::string_view rest_;
    std::string_view array_;
    npy_header found_;
    unsigned seen_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
