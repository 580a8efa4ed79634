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

struct npy_type {
    std::string_view name; ///< without the byte order
    std::string_view dtype;
    std::string_view type; ///< logical; "" for none
    std::uint64_t element_bytes;
};

inline constexpr npy_type npy_types[] = {
    {"f8", "f64", "", 8},          {"f4", "f32", "", 4},
    {"f2", "f16", "", 2},          {"i8", "i64", "", 8},
    {"i4", "i32", "", 4},          {"i2", "i16", "", 2},
    {"i1", "i8", "", 1},           {"u8", "u64", "", 8},
    {"u4", "u32", "", 4},          {"u2", "u16", "", 2},
    {"u1", "u8", "", 1},           {"b1", "bool", "", 1},
    {"c8", "f32", "complex64", 8}, {"c16", "f64", "complex128", 16},
};

/// What a header says.
struct npy_header {
    const npy_type* type = nullptr;
    shape dimensions;
    bool is_big_endian = false;
    bool is_fortran = false;      ///< elements lie first dimension fastest
    std::uint64_t data_begin = 0; ///< where the header ends
    std::uint64_t data_bytes = 0;

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

inline constexpr std::size_t npy_preamble_bytes = 12;         ///< of versions 2 and 3; version 1 takes two less
inline constexpr std::uint64_t most_npy_header_bytes = 65536; ///< ours need a few hundred

/// `start` is the first npy_preamble_bytes of the file, or all of it. Errors: file_too_small, bad_magic,
/// unsupported_version, limit_exceeded.
[[nodiscard]] ZTENSOR_COLD inline result<npy_preamble> read_npy_preamble(bytes_view start) {
    constexpr std::string_view magic = "\x93NUMPY";
    constexpr std::size_t version_at = magic.size(), length_at = version_at + 2;
    if (as_text(start).substr(0, magic.size()) != magic) {
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
    explicit npy_header_parser(std::string_view text) noexcept : rest_(text) {}

    /// Errors: header_malformed, duplicate_key, schema_missing, unknown_dtype, shape_overflow, limit_exceeded.
    [[nodiscard]] ZTENSOR_COLD result<npy_header> parse() {
        if (!take('{')) {
            return malformed("a brace");
        }
        while (!take('}')) {
            if (result<void> read = parse_pair(); !read) {
                return std::move(read).error();
            }
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
    void skip_spaces() noexcept { rest_.remove_prefix((std::min)(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
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

    /// Text in either quotes, without escapes.
    [[nodiscard]] bool take_text(std::string_view& text) noexcept {
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
        if (is_next('[')) {
            return fail(errc::unknown_dtype, "the elements are of a structured type, which is no tensor's");
        }
        std::string_view text;
        if (!take_text(text)) {
            return malformed("the name of a type");
        }
        const std::string_view order = text.substr(0, 1);
        for (const npy_type& row : npy_types) {
            if (text.size() > 1 && text.substr(1) == row.name) {
                found_.type = &row;
            }
        }
        if (found_.type == nullptr || (order != "<" && order != ">" && order != "|")) {
            return fail(errc::unknown_dtype, "the elements are of NumPy's type {}, {}",
                        {in_quotes(text), what_is(text)});
        }
        if (order == "|" && found_.type->element_bytes != 1) {
            return fail(errc::header_malformed, "the type {} does not say in which order its bytes stand",
                        {in_quotes(text)});
        }
        found_.is_big_endian = order == ">" && found_.type->element_bytes != 1;
        return {};
    }

    [[nodiscard]] static const char* what_is(std::string_view type) noexcept {
        switch (type.size() > 1 ? type[1] : '\0') {
        case 'O':
            return "Python objects, which are never loaded";
        case 'U':
        case 'S':
        case 'a':
            return "which is text";
        case 'V':
            return "bytes of a meaning that NumPy does not know (it saves bfloat16 and others of ml_dtypes so)";
        case 'M':
        case 'm':
            return "which is a time";
        case 'f':
        case 'c':
            return "a float whose layout differs from machine to machine";
        default:
            return "which is no type of tensors";
        }
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
            if (result<void> read = parse_number(dimension); !read) {
                return read;
            }
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
        element_counter counter;
        for (const std::uint64_t dimension : found_.dimensions) {
            if (!counter.multiply(dimension)) {
                return fail(errc::shape_overflow, "the product of the dimensions needs more than 64 bits");
            }
        }
        const std::optional<std::uint64_t> bytes = checked_multiply(counter.count(), found_.type->element_bytes);
        if (!bytes) {
            return fail(errc::shape_overflow, "the elements need more than 2^64 bytes");
        }
        found_.data_bytes = *bytes;
        return found_;
    }

    std::string_view rest_;
    npy_header found_;
    unsigned seen_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
