// SPDX-License-Identifier: MIT
//
// The types of NumPy's elements as .npy files spell them: which are numbers, and why the others are none.
#ifndef ZTENSOR_DETAIL_FOREIGN_NPY_TYPES_HPP
#define ZTENSOR_DETAIL_FOREIGN_NPY_TYPES_HPP

#include <ztensor/detail/foreign/sniff.hpp>
#include <ztensor/version.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct npy_type {
    std::string_view name; ///< as NumPy writes it behind the byte order, or as ml_dtypes calls it
    std::string_view dtype;
    std::string_view type; ///< logical; "" for none
    std::uint64_t element_bytes;
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

[[nodiscard]] inline const npy_type* find_npy_type(std::string_view name) noexcept {
    for (const npy_type& row : npy_types) {
        if (row.name == name) {
            return &row;
        }
    }
    return nullptr;
}

struct npy_spelling {
    std::string_view text;
    std::string_view name; ///< what it stands for
};

/// Every other spelling of a number that numpy.dtype() knows, for a machine where long and pointers have 64 bits.
inline constexpr npy_spelling npy_letters[] = {
    {"?", "b1"},  {"b", "i1"}, {"B", "u1"},           {"h", "i2"}, {"H", "u2"},  {"i", "i4"}, {"I", "u4"},
    {"l", "i8"},  {"L", "u8"}, {"q", "i8"},           {"Q", "u8"}, {"n", "i8"},  {"N", "u8"}, {"p", "i8"},
    {"P", "u8"},  {"e", "f2"}, {"f", "f4"},           {"d", "f8"}, {"g", "f16"}, {"F", "c8"}, {"D", "c16"},
    {"G", "c32"}, {"c", "S1"}, {"f1", "float8_e5m2"}, // which is what ml_dtypes writes for that type alone
};

/// Those that stand without a byte order, some of them in old versions of NumPy alone.
inline constexpr npy_spelling npy_words[] = {
    {"bool", "b1"},
    {"bool_", "b1"},
    {"bool8", "b1"},
    {"int8", "i1"},
    {"byte", "i1"},
    {"uint8", "u1"},
    {"ubyte", "u1"},
    {"int16", "i2"},
    {"short", "i2"},
    {"uint16", "u2"},
    {"ushort", "u2"},
    {"int32", "i4"},
    {"intc", "i4"},
    {"uint32", "u4"},
    {"uintc", "u4"},
    {"int64", "i8"},
    {"int", "i8"},
    {"int_", "i8"},
    {"int0", "i8"},
    {"intp", "i8"},
    {"long", "i8"},
    {"longlong", "i8"},
    {"uint64", "u8"},
    {"uint", "u8"},
    {"uint0", "u8"},
    {"uintp", "u8"},
    {"ulong", "u8"},
    {"ulonglong", "u8"},
    {"float16", "f2"},
    {"half", "f2"},
    {"float32", "f4"},
    {"single", "f4"},
    {"float64", "f8"},
    {"float", "f8"},
    {"float_", "f8"},
    {"double", "f8"},
    {"longdouble", "f16"},
    {"longfloat", "f16"},
    {"float96", "f12"},
    {"float128", "f16"},
    {"complex64", "c8"},
    {"csingle", "c8"},
    {"singlecomplex", "c8"},
    {"complex128", "c16"},
    {"complex", "c16"},
    {"complex_", "c16"},
    {"cdouble", "c16"},
    {"cfloat", "c16"},
    {"clongdouble", "c32"},
    {"clongfloat", "c32"},
    {"complex192", "c24"},
    {"complex256", "c32"},
    {"object", "O"},
    {"object_", "O"},
    {"str", "U"},
    {"str_", "U"},
    {"unicode", "U"},
    {"unicode_", "U"},
    {"bytes", "S"},
    {"bytes_", "S"},
    {"string_", "S"},
    {"datetime64", "M8"},
    {"timedelta64", "m8"},
};

/// Records of one field that the onnx package makes of the types that NumPy lacks: the name of the field.
inline constexpr npy_spelling npy_fields[] = {
    {"bfloat16", "bfloat16"}, {"e4m3fn", "float8_e4m3fn"},     {"e4m3fnuz", "float8_e4m3fnuz"},
    {"e5m2", "float8_e5m2"},  {"e5m2fnuz", "float8_e5m2fnuz"},
};

/// What `text` stands for in a table; "" if it is not there.
template <std::size_t Count>
[[nodiscard]] std::string_view meaning_in(const npy_spelling (&table)[Count], std::string_view text) noexcept {
    for (const npy_spelling& row : table) {
        if (row.text == text) {
            return row.name;
        }
    }
    return {};
}

/// What the elements of an array are.
struct npy_element {
    const npy_type* type = nullptr; ///< null if they are no numbers
    std::uint64_t raw_bytes = 0;    ///< of each one if they are bytes of an unknown meaning; else 0
    const char* why = "";           ///< they are neither, as "which is ..."
    bool is_big_endian = false;

    [[nodiscard]] bool is_readable() const noexcept { return type != nullptr || raw_bytes != 0; }
};

/// What is no number, by the name of its type without the byte order.
[[nodiscard]] inline const char* why_no_number(std::string_view name) noexcept {
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
[[nodiscard]] inline std::uint64_t void_bytes_of(std::string_view digits) noexcept {
    constexpr std::size_t most_digits = 9;
    std::uint64_t bytes = 0;
    if (digits.size() > most_digits || digits.find_first_not_of("0123456789") != std::string_view::npos) {
        return 0;
    }
    for (const char digit : digits) {
        bytes = bytes * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    return bytes;
}

/// Whether what an array is called says that its elements of two bytes each are of that type.
[[nodiscard]] inline bool says_bfloat16(std::string_view array) noexcept {
    for (; !array.empty(); array.remove_prefix(1)) {
        if (starts_with_ignoring_case(array, "bf16") || starts_with_ignoring_case(array, "bfloat16")) {
            return true;
        }
    }
    return false;
}

/// The type that `text` spells. An `array` of bfloat16 is one of bytes ("V2") to NumPy, but not to those who write it:
/// mlx and ml_dtypes give these bytes an order, which NumPy's own never have, and others tell it by a name.
[[nodiscard]] inline npy_element find_npy_element(std::string_view text, std::string_view array) noexcept {
    const bool has_order = text.find_first_of("<>=|") == 0;
    const char order = has_order ? text[0] : '=';
    std::string_view name = text.substr(has_order ? 1 : 0);
    const std::string_view letter = meaning_in(npy_letters, name);
    const std::string_view word = has_order ? std::string_view() : meaning_in(npy_words, name);
    const bool is_void_of_2 = name == "V2";
    name = !letter.empty() ? letter : !word.empty() ? word : name;
    constexpr std::size_t longest_with_order = 3; // "c16"
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
[[nodiscard]] inline npy_element find_npy_field(std::string_view field, std::string_view text) noexcept {
    npy_element found = find_npy_element(text, field);
    const npy_type* const type = find_npy_type(meaning_in(npy_fields, field));
    const std::uint64_t bytes = found.type != nullptr ? found.type->element_bytes : found.raw_bytes;
    const bool is_known = type != nullptr && type->element_bytes == bytes;
    npy_element record;
    record.why = "which is a record";
    record.type = is_known ? type : nullptr;
    record.is_big_endian = is_known && found.is_big_endian;
    return record;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
