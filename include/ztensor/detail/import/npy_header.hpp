// SPDX-License-Identifier: MIT
//
// NumPy: headers of arrays, and what their types are.
#ifndef ZTENSOR_DETAIL_IMPORT_NPY_HEADER_HPP
#define ZTENSOR_DETAIL_IMPORT_NPY_HEADER_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/version.hpp>

#include <algorithm>
#include <iterator>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- npy types
//
// The types of NumPy's elements as .npy files spell them: which are numbers, and why the others are none.

struct npy_type {
    string_view name; ///< as NumPy writes it behind the byte order, or as ml_dtypes calls it
    string_view dtype;
    string_view type; ///< logical; "" for none
    uint64_t element_bytes;
};

inline constexpr npy_type npy_types[] = {
    {"f8", "f64", "", 8},
    {"f4", "f32", "", 4},
    {"f2", "f16", "", 2},
    {"i8", "i64", "", 8},
    {"i4", "i32", "", 4},
    {"i2", "i16", "", 2},
    {"i1", "i8", "", 1},
    {"u8", "u64", "", 8},
    {"u4", "u32", "", 4},
    {"u2", "u16", "", 2},
    {"u1", "u8", "", 1},
    {"b1", "bool", "", 1},
    {"c8", "f32", "complex64", 8},
    {"c16", "f64", "complex128", 16},
    {"bfloat16", "bf16", "", 2},
    {"float8_e4m3fn", "u8", "f8_e4m3fn", 1},
    {"float8_e4m3fnuz", "u8", "f8_e4m3fnuz", 1},
    {"float8_e5m2", "u8", "f8_e5m2", 1},
    {"float8_e5m2fnuz", "u8", "f8_e5m2fnuz", 1},
    {"float8_e8m0fnu", "u8", "f8_e8m0", 1},
};

[[nodiscard]] inline const npy_type* find_npy_type(string_view name) noexcept {
    return find_row(npy_types, &npy_type::name, name);
}

struct npy_spellings {
    string_view texts; ///< with spaces between
    string_view name;  ///< what each stands for
};

/// Every other spelling of a number that numpy.dtype() knows, for a machine where long and pointers have 64 bits. "f1"
/// is what ml_dtypes writes for that type alone.
inline constexpr npy_spellings npy_letters[] = {
    {"?", "b1"},  {"b", "i1"},       {"B", "u1"},       {"h", "i2"},  {"H", "u2"}, {"i", "i4"},
    {"I", "u4"},  {"l q n p", "i8"}, {"L Q N P", "u8"}, {"e", "f2"},  {"f", "f4"}, {"d", "f8"},
    {"g", "f16"}, {"F", "c8"},       {"D", "c16"},      {"G", "c32"}, {"c", "S1"}, {"f1", "float8_e5m2"},
};

/// Those that stand without a byte order, some of them in old versions of NumPy alone.
inline constexpr npy_spellings npy_words[] = {
    {"bool bool_ bool8", "b1"},
    {"int8 byte", "i1"},
    {"uint8 ubyte", "u1"},
    {"int16 short", "i2"},
    {"uint16 ushort", "u2"},
    {"int32 intc", "i4"},
    {"uint32 uintc", "u4"},
    {"int64 int int_ int0 intp long longlong", "i8"},
    {"uint64 uint uint0 uintp ulong ulonglong", "u8"},
    {"float16 half", "f2"},
    {"float32 single", "f4"},
    {"float64 float float_ double", "f8"},
    {"longdouble longfloat float128", "f16"},
    {"float96", "f12"},
    {"complex64 csingle singlecomplex", "c8"},
    {"complex128 complex complex_ cdouble cfloat", "c16"},
    {"clongdouble clongfloat complex256", "c32"},
    {"complex192", "c24"},
    {"object object_", "O"},
    {"str str_ unicode unicode_", "U"},
    {"bytes bytes_ string_", "S"},
    {"datetime64", "M8"},
    {"timedelta64", "m8"},
};

/// Records of one field that the onnx package makes of the types that NumPy lacks: the name of the field.
inline constexpr npy_spellings npy_fields[] = {
    {"bfloat16", "bfloat16"}, {"e4m3fn", "float8_e4m3fn"},     {"e4m3fnuz", "float8_e4m3fnuz"},
    {"e5m2", "float8_e5m2"},  {"e5m2fnuz", "float8_e5m2fnuz"},
};

/// What `text` stands for in a table; "" if it is not there.
template <size_t Count>
[[nodiscard]] string_view meaning_in(const npy_spellings (&table)[Count], string_view text) noexcept {
    for (const npy_spellings& row : table) {
        for (string_view rest = row.texts; !rest.empty();) {
            if (take_until(rest, ' ') == text) {
                return row.name;
            }
        }
    }
    return {};
}

/// What the elements of an array are.
struct npy_element {
    const npy_type* type = nullptr; ///< null if they are no numbers
    uint64_t raw_bytes = 0;         ///< of each one if they are bytes of an unknown meaning; else 0
    const char* why = "";           ///< they are neither, as "which is ..."
    bool is_big_endian = false;

    [[nodiscard]] bool is_readable() const noexcept { return type != nullptr || raw_bytes != 0; }
};

/// What is no number, by the name of its type without the byte order.
[[nodiscard]] inline const char* why_no_number(string_view name) noexcept {
    if (name.find(',') != std::string_view::npos || name.find('(') != std::string_view::npos) {
        return "which is a record of several";
    }
    const bool has_size = name.find_first_not_of("0123456789", 1) == std::string_view::npos;
    const char kind = name.empty() ? '\0' : name[0];
    if ((kind == 'M' || kind == 'm') && (has_size || name.find('[') != std::string_view::npos)) {
        return "which is a time";
    }
    switch (has_size ? kind : '\0') {
    case 'O':
        return "Python objects, which are never loaded";
    case 'U':
    case 'S':
    case 'a':
        return "which is text";
    case 'V':
        return "of no bytes each";
    case 'f':
    case 'c':
        return "a float whose layout differs from machine to machine";
    default:
        return "which is no type of numbers";
    }
}

/// Of the digits behind "V": how many bytes an element has; 0 if that is no size that NumPy takes.
[[nodiscard]] inline uint64_t void_bytes_of(string_view digits) noexcept {
    constexpr size_t most_digits = 9;
    return digits.size() > most_digits ? 0 : parse_decimal(digits).value_or(0);
}

/// Whether what an array is called says that its elements of two bytes each are of that type.
[[nodiscard]] inline bool says_bfloat16(string_view array) noexcept {
    for (; !array.empty(); array.remove_prefix(1)) {
        if (starts_with_ignoring_case(array, "bf16") || starts_with_ignoring_case(array, "bfloat16")) {
            return true;
        }
    }
    return false;
}

/// The type that `text` spells. An `array` of bfloat16 is one of bytes ("V2") to NumPy, but not to those who write it:
/// mlx and ml_dtypes give these bytes an order, which NumPy's own never have, and others tell it by a name.
[[nodiscard]] inline npy_element find_npy_element(string_view text, string_view array) noexcept {
    const bool has_order = text.find_first_of("<>=|") == 0;
    const char order = has_order ? text[0] : '=';
    string_view name = text.substr(has_order ? 1 : 0);
    const string_view letter = meaning_in(npy_letters, name);
    const string_view word = has_order ? string_view() : meaning_in(npy_words, name);
    const bool is_void_of_2 = name == "V2";
    name = !letter.empty() ? letter : !word.empty() ? word : name;
    constexpr size_t longest_with_order = 3; // "c16"
    npy_element found;
    if (is_void_of_2 && (order == '<' || order == '>' || says_bfloat16(array))) {
        found.type = find_npy_type("bfloat16");
    } else if (!has_order || !letter.empty() || name.size() <= longest_with_order) {
        found.type = find_npy_type(name);
    }
    if (found.type != nullptr) {
        found.is_big_endian = order == '>' && found.type->element_bytes != 1;
        return found;
    }
    found.raw_bytes = !name.empty() && name[0] == 'V' ? void_bytes_of(name.substr(1)) : 0;
    found.why = why_no_number(name);
    return found;
}

/// That of records of one field.
[[nodiscard]] inline npy_element find_npy_field(string_view field, string_view text) noexcept {
    npy_element found = find_npy_element(text, field);
    const npy_type* const type = find_npy_type(meaning_in(npy_fields, field));
    const uint64_t bytes = found.type != nullptr ? found.type->element_bytes : found.raw_bytes;
    const bool is_known = type != nullptr && type->element_bytes == bytes;
    npy_element record;
    record.why = "which is a record";
    record.type = is_known ? type : nullptr;
    record.is_big_endian = is_known && found.is_big_endian;
    return record;
}

// -- npy header
//
// The header of an .npy file, versions 1 to 3: a Python dictionary of three known keys, and nothing else of Python.

/// What a header says.
struct npy_header {
    string descr;        ///< how it spells the type, or the start of that
    npy_element element; ///< if that is not readable, nothing below says anything
    shape dimensions;
    bool is_fortran = false; ///< elements lie first dimension fastest
    uint64_t data_begin = 0; ///< where the header ends
    uint64_t data_bytes = 0;

    [[nodiscard]] uint64_t element_bytes() const noexcept {
        return element.type != nullptr ? element.type->element_bytes : element.raw_bytes;
    }
    /// Why the array is none of numbers.
    [[nodiscard]] ZTENSOR_COLD error why_not() const {
        return fail(errc::unknown_dtype, "the elements are of NumPy's type {}, {}", {in_quotes(descr), element.why});
    }
    /// Both orders are the same.
    [[nodiscard]] bool is_in_both_orders() const noexcept {
        const auto is_long = [](uint64_t dimension) { return dimension > 1; };
        return data_bytes == 0 || std::count_if(dimensions.begin(), dimensions.end(), is_long) < 2;
    }
    [[nodiscard]] bool is_transposed() const noexcept { return is_fortran && !is_in_both_orders(); }
};

/// What stands before the dictionary: how long both are.
struct npy_preamble {
    uint64_t header_begin = 0;
    uint64_t header_bytes = 0;
};

inline constexpr string_view npy_magic = "\x93NUMPY";
inline constexpr size_t npy_preamble_bytes = 12;         ///< of versions 2 and 3; version 1 takes two less
inline constexpr uint64_t most_npy_header_bytes = 65536; ///< ours need a few hundred

/// `start` is the first npy_preamble_bytes of the file, or all of it. Errors: file_too_small, bad_magic,
/// unsupported_version, limit_exceeded.
ZTENSOR_COLD inline result<npy_preamble> read_npy_preamble(bytes_view start) {
    constexpr size_t version_at = npy_magic.size(), length_at = version_at + 2;
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
    const size_t size_bytes = major == 1 ? 2 : 4;
    if (start.size() < length_at + size_bytes) {
        return fail(errc::file_too_small, "the file is cut off within the magic of an .npy file");
    }
    const uint64_t header_bytes = load_little(start.data() + length_at, size_bytes);
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
    npy_header_parser(string_view text, string_view array) noexcept : rest_(text), array_(array) {}

    /// Errors: header_malformed, duplicate_key, schema_missing, shape_overflow, limit_exceeded.
    ZTENSOR_COLD result<npy_header> parse() {
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
    [[nodiscard]] bool take_word(string_view word) noexcept {
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
    [[nodiscard]] bool take_text(string_view& text) noexcept {
        const bool has_mark = (is_next('u') || is_next('U')) && rest_.find_first_of("'\"") == 1;
        rest_.remove_prefix(has_mark ? 1 : 0);
        if (!is_next('\'') && !is_next('"')) {
            return false;
        }
        const size_t end = rest_.find(rest_[0], 1);
        if (end == std::string_view::npos || rest_.substr(0, end).find('\\') != std::string_view::npos) {
            return false;
        }
        text = rest_.substr(1, end - 1);
        rest_.remove_prefix(end + 1);
        return true;
    }

    result<void> parse_pair() {
        static constexpr string_view keys[] = {"descr", "fortran_order", "shape"};
        string_view key;
        if (!take_text(key)) {
            return malformed("a key");
        }
        const size_t place = place_of(key, keys);
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

    result<void> parse_type() {
        if (is_next('[') || is_next('(')) {
            return parse_record();
        }
        string_view text;
        if (!take_text(text)) {
            return malformed("the name of a type");
        }
        found_.descr = text;
        found_.element = find_npy_element(text, array_);
        return {};
    }

    /// The type of records: [('name', '<f4'), ('other', '<i4', (3,))], or what that may hold.
    result<void> parse_record() {
        const string_view all = rest_;
        string_view field, text;
        found_.element.why = "which is a record";
        if (take('[') && take('(') && take_text(field) && take(',') && take_text(text) && take(')') && take(']')) {
            found_.element = find_npy_field(field, text);
        } else {
            rest_ = all;
            ZTENSOR_TRY(skip_literal());
        }
        constexpr size_t most_told = 64;
        found_.descr = all.substr(0, (std::min)(all.size() - rest_.size(), most_told));
        return {};
    }

    /// A literal of Python: brackets of any kind around text, numbers and commas.
    result<void> skip_literal() {
        string open;
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
        for (size_t at = 1; at < rest_.size(); ++at) {
            if (rest_[at] == '\\') {
                ++at;
            } else if (rest_[at] == quote) {
                rest_.remove_prefix(at + 1);
                return true;
            }
        }
        return false;
    }

    result<void> parse_order() {
        found_.is_fortran = take_word("True");
        return found_.is_fortran || take_word("False") ? result<void>() : malformed("True or False");
    }

    result<void> parse_shape() {
        if (!take('(')) {
            return malformed("a tuple");
        }
        while (!take(')')) {
            uint64_t dimension = 0;
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

    result<void> parse_number(uint64_t& value) {
        skip_spaces();
        const size_t digits = (std::min)(rest_.find_first_not_of("0123456789"), rest_.size());
        if (digits == 0 || (digits > 1 && rest_[0] == '0')) {
            return malformed("a dimension");
        }
        const optional<uint64_t> number = parse_decimal(rest_.substr(0, digits));
        if (!number) {
            return fail(errc::shape_overflow, "a dimension needs more than 64 bits");
        }
        value = *number;
        rest_.remove_prefix(digits);
        static_cast<void>(take_word("L")); // as Python 2 wrote it
        return {};
    }

    result<npy_header> finish() {
        if (!found_.element.is_readable()) {
            return found_;
        }
        const optional<uint64_t> bytes = count_elements(found_.dimensions, found_.element_bytes());
        if (!bytes) {
            return fail(errc::shape_overflow, "the elements or their bytes need more than 64 bits");
        }
        found_.data_bytes = *bytes;
        return found_;
    }

    string_view rest_;
    string_view array_;
    npy_header found_;
    unsigned seen_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
