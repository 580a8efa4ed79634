// SPDX-License-Identifier: MIT
//
// What elements are: the 13 storage types, the logical types laid over them, and how C++ types map to both.
// SPEC.md section 4.1 and section 4.2.
#ifndef ZTENSOR_DTYPE_HPP
#define ZTENSOR_DTYPE_HPP

#include <ztensor/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// How an element is stored. The set is closed; `boolean` is written "bool".
enum class dtype : std::uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

/// What kind of number an element is.
enum class dtype_class : std::uint8_t { floating, signed_integer, unsigned_integer, boolean };

struct dtype_facts {
    dtype id;
    std::string_view name;      ///< in 1.1 and later
    std::string_view long_name; ///< in 0.1 and 1.0
    std::size_t width_bytes;
    dtype_class category;
};

/// One row per storage type, in the order of the enumeration.
inline constexpr std::array<dtype_facts, 13> dtypes = {{
    {dtype::f64, "f64", "float64", 8, dtype_class::floating},
    {dtype::f32, "f32", "float32", 4, dtype_class::floating},
    {dtype::f16, "f16", "float16", 2, dtype_class::floating},
    {dtype::bf16, "bf16", "bfloat16", 2, dtype_class::floating},
    {dtype::i64, "i64", "int64", 8, dtype_class::signed_integer},
    {dtype::i32, "i32", "int32", 4, dtype_class::signed_integer},
    {dtype::i16, "i16", "int16", 2, dtype_class::signed_integer},
    {dtype::i8, "i8", "int8", 1, dtype_class::signed_integer},
    {dtype::u64, "u64", "uint64", 8, dtype_class::unsigned_integer},
    {dtype::u32, "u32", "uint32", 4, dtype_class::unsigned_integer},
    {dtype::u16, "u16", "uint16", 2, dtype_class::unsigned_integer},
    {dtype::u8, "u8", "uint8", 1, dtype_class::unsigned_integer},
    {dtype::boolean, "bool", "bool", 1, dtype_class::boolean},
}};

namespace detail {

/// The row of a table that has that value in a column; null if there is none.
template <class Table, class Row, class Column, class Value>
[[nodiscard]] constexpr const Row* find_row(const Table& table, Column Row::*column, const Value& value) noexcept {
    for (const Row& each : table) {
        if (each.*column == value) {
            return &each;
        }
    }
    return nullptr;
}

/// What it is the row of.
template <class Table, class Row, class Column>
[[nodiscard]] constexpr auto find_id(const Table& table, Column Row::*column, std::string_view name) noexcept {
    const Row* const row = find_row(table, column, name);
    return row != nullptr ? std::optional<decltype(row->id)>(row->id) : std::nullopt;
}

} // namespace detail

/// The row of a storage type.
[[nodiscard]] constexpr const dtype_facts& facts(dtype type) noexcept {
    return dtypes[static_cast<std::size_t>(type)];
}
/// The name that 1.1 and later write, such as "bf16".
[[nodiscard]] constexpr std::string_view name(dtype type) noexcept {
    return facts(type).name;
}
/// How many bytes an element takes.
[[nodiscard]] constexpr std::size_t width_bytes(dtype type) noexcept {
    return facts(type).width_bytes;
}

/// The storage type of that (short) name; nothing for an unknown word. Case counts.
[[nodiscard]] constexpr std::optional<dtype> find_dtype(std::string_view name) noexcept {
    return detail::find_id(dtypes, &dtype_facts::name, name);
}

/// The same for the long names of 0.1 and 1.0, such as "bfloat16".
[[nodiscard]] constexpr std::optional<dtype> find_dtype_by_long_name(std::string_view name) noexcept {
    return detail::find_id(dtypes, &dtype_facts::long_name, name);
}

template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, dtype type) {
    return out << name(type);
}

/// The logical types that the texts define; `boolean` is written "bool", and is of version 2 like those behind it.
enum class logical_type : std::uint8_t {
    f8_e4m3fn,
    f8_e5m2,
    f8_e4m3fnuz,
    f8_e5m2fnuz,
    complex64,
    complex128,
    boolean,
    f8_e8m0,
    f4_e2m1,
};

/// What the stored elements mean by a logical type.
struct logical_type_facts {
    logical_type id;
    std::string_view name;
    dtype storage;                     ///< the only storage type it may stand over
    std::uint64_t storage_elements;    ///< per logical element: 2 for complex numbers, stored [real, imag]
    std::string_view name_as_dtype;    ///< the word 1.1 puts where the storage type stands; empty if it has none
    std::uint64_t packed_elements = 1; ///< logical elements that share a storage element: 2 of f4_e2m1, low bits first
};

/// One row per logical type, in the order of the enumeration: those of 1.2, then those that only version 2 defines.
inline constexpr std::array<logical_type_facts, 9> logical_types = {{
    {logical_type::f8_e4m3fn, "f8_e4m3fn", dtype::u8, 1, "f8_e4m3"},
    {logical_type::f8_e5m2, "f8_e5m2", dtype::u8, 1, "f8_e5m2"},
    {logical_type::f8_e4m3fnuz, "f8_e4m3fnuz", dtype::u8, 1, ""},
    {logical_type::f8_e5m2fnuz, "f8_e5m2fnuz", dtype::u8, 1, ""},
    {logical_type::complex64, "complex64", dtype::f32, 2, "complex64"},
    {logical_type::complex128, "complex128", dtype::f64, 2, "complex128"},
    {logical_type::boolean, "bool", dtype::u8, 1, ""},
    {logical_type::f8_e8m0, "f8_e8m0", dtype::u8, 1, ""},
    {logical_type::f4_e2m1, "f4_e2m1", dtype::u8, 1, "", 2},
}};

namespace detail {

/// How many of these 1.2 knows; they come first.
inline constexpr std::size_t logical_types_of_1_2 = 6;

} // namespace detail

/// The name that files have for it, such as "complex64".
[[nodiscard]] constexpr std::string_view name(logical_type type) noexcept {
    return logical_types[static_cast<std::size_t>(type)].name;
}

namespace detail {

[[nodiscard]] ZTENSOR_NOINLINE constexpr const logical_type_facts*
find_logical_type_among(std::size_t first_rows, std::string_view name) noexcept {
    for (std::size_t row = 0; row < first_rows; ++row) {
        if (logical_types[row].name == name) {
            return &logical_types[row];
        }
    }
    return nullptr;
}

} // namespace detail

/// The row of that logical type, or nullptr for a word that the text of 1.2 does not define.
[[nodiscard]] constexpr const logical_type_facts* find_logical_type(std::string_view name) noexcept {
    return detail::find_logical_type_among(detail::logical_types_of_1_2, name);
}
/// The same for a word that the text of version 2 does not define.
[[nodiscard]] constexpr const logical_type_facts* find_any_logical_type(std::string_view name) noexcept {
    return detail::find_logical_type_among(logical_types.size(), name);
}

/// A number of fewer than eight bits. Such are stored as u8 of that logical type, one after the other without gaps, the
/// first in the lowest bits. f4_e2m1 is a word of version 2; the others are what the importers of other formats call
/// theirs, and keep their meaning in .zt files.
struct narrow_type_facts {
    std::string_view name;
    unsigned bits;
    unsigned mantissa_bits; ///< of a float, which has a sign and no infinity or NaN
    dtype_class category;
};

/// All of them.
inline constexpr std::array<narrow_type_facts, 8> narrow_types = {{
    {"f4_e2m1", 4, 1, dtype_class::floating},
    {"f4", 4, 1, dtype_class::floating}, // the same
    {"f6_e2m3", 6, 3, dtype_class::floating},
    {"f6_e3m2", 6, 2, dtype_class::floating},
    {"i2", 2, 0, dtype_class::signed_integer},
    {"i4", 4, 0, dtype_class::signed_integer},
    {"u2", 2, 0, dtype_class::unsigned_integer},
    {"u4", 4, 0, dtype_class::unsigned_integer},
}};

/// The row of that logical type; nullptr for one that is not among them.
[[nodiscard]] constexpr const narrow_type_facts* find_narrow_type(std::string_view name) noexcept {
    return detail::find_row(narrow_types, &narrow_type_facts::name, name);
}

/// Maps a C++ type to what it is in a file. Specialise it for your own types; for another half type:
///
///     template <>
///     struct ztensor::element_traits<Eigen::half> : ztensor::stored_as<ztensor::dtype::f16> {};
///
/// and for a logical type of your own, stored as i16:
///
///     template <>
///     struct ztensor::element_traits<fixed_8_8> : ztensor::stored_as<ztensor::dtype::i16> {
///         static constexpr std::string_view type = "q8.8_fixed";
///     };
///
/// The C++ type must be trivially copyable and as large as the stored elements that make up one of it, which are in
/// the host's byte order once read.
template <class T, class Enable = void>
struct element_traits {};

/// What a specialisation of element_traits says: the storage type, and the logical type or "" for none.
template <dtype Storage>
struct stored_as {
    static constexpr dtype storage = Storage;
    static constexpr std::string_view type = {};
};

template <>
struct element_traits<float> : stored_as<dtype::f32> {};
template <>
struct element_traits<double> : stored_as<dtype::f64> {};
template <>
struct element_traits<bool> : stored_as<dtype::boolean> {};
namespace detail {

/// True for std::complex<Part>, which <complex> need not be included for, and for what is built like it: two parts in
/// a row.
template <class Complex, class Part, class = void>
inline constexpr bool is_complex_of_v = false;
template <class Complex, class Part>
inline constexpr bool
    is_complex_of_v<Complex, Part,
                    std::enable_if_t<std::is_same_v<typename Complex::value_type, Part> &&
                                     std::is_same_v<decltype(std::declval<const Complex&>().real()), Part> &&
                                     std::is_same_v<decltype(std::declval<const Complex&>().imag()), Part>>> =
        sizeof(Complex) == 2 * sizeof(Part);

} // namespace detail

template <class T>
struct element_traits<T, std::enable_if_t<detail::is_complex_of_v<T, float>>> : stored_as<dtype::f32> {
    static constexpr std::string_view type = "complex64";
};
template <class T>
struct element_traits<T, std::enable_if_t<detail::is_complex_of_v<T, double>>> : stored_as<dtype::f64> {
    static constexpr std::string_view type = "complex128";
};

namespace detail {

/// The integer types proper: `char` is text, `bool` and the wide characters are not numbers.
template <class T>
inline constexpr bool is_integer_element_v =
    std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char> && !std::is_same_v<T, wchar_t> &&
    !std::is_same_v<T, char16_t> && !std::is_same_v<T, char32_t> && sizeof(T) <= 8;

template <class T>
constexpr dtype integer_dtype() noexcept {
    constexpr bool is_signed = std::is_signed_v<T>;
    switch (sizeof(T)) {
    case 1:
        return is_signed ? dtype::i8 : dtype::u8;
    case 2:
        return is_signed ? dtype::i16 : dtype::u16;
    case 4:
        return is_signed ? dtype::i32 : dtype::u32;
    default:
        return is_signed ? dtype::i64 : dtype::u64;
    }
}

} // namespace detail

/// By width and sign, so that `long` and `long long` both work wherever either is 64 bits wide.
template <class T>
struct element_traits<T, std::enable_if_t<detail::is_integer_element_v<T>>> : stored_as<detail::integer_dtype<T>()> {};

namespace detail {

template <class T, class = void>
inline constexpr bool has_storage_v = false;
template <class T>
inline constexpr bool has_storage_v<T, std::void_t<decltype(element_traits<T>::storage)>> = true;

} // namespace detail

/// True for every type that element_traits describes.
template <class T>
inline constexpr bool is_element_v = detail::has_storage_v<std::remove_cv_t<T>>;

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
