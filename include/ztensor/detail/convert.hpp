// SPDX-License-Identifier: MIT
//
// Stored elements of any type as floating-point numbers: what stands behind read_as<float>. Knows neither files nor
// byte orders other than the host's. SPEC.md §4.1, §4.2 and §4.5.
#ifndef ZTENSOR_DETAIL_CONVERT_HPP
#define ZTENSOR_DETAIL_CONVERT_HPP

#include <ztensor/detail/text.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/error.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace v0 {
namespace detail {

/// A stored bool, which is no C++ bool: its byte may hold anything.
struct bool_byte {
    std::uint8_t byte = 0;
    explicit operator float() const noexcept { return byte != 0 ? 1.0F : 0.0F; }
};

/// The types of which every value is a float.
template <class Stored>
inline constexpr bool fits_float_v = !std::is_arithmetic_v<Stored> || std::is_same_v<Stored, float> ||
                                     (std::is_integral_v<Stored> && sizeof(Stored) <= 2);

/// True for types made from a double without narrowing it, so not for those that only have a constructor from float.
template <class To, class = void>
inline constexpr bool takes_double_v = false;
template <class To>
inline constexpr bool takes_double_v<To, std::void_t<decltype(To{std::declval<double>()})>> = true;

/// One stored element as a To, by way of a type that the To can be made from.
template <class To, class Stored>
[[nodiscard]] To to_number(Stored stored) {
    if constexpr (std::is_floating_point_v<To> && std::is_arithmetic_v<Stored>) {
        return static_cast<To>(stored);
    } else if constexpr (fits_float_v<Stored> || !takes_double_v<To>) {
        return static_cast<To>(static_cast<float>(stored));
    } else {
        return static_cast<To>(static_cast<double>(stored));
    }
}

/// Checked before: source.size() is destination.size() × the size of a Stored.
/// A block of known length that nothing else can point to is what GCC vectorises at -O2; larger ones gain nothing.
template <class Stored, class To>
void convert_each(bytes_view source, span<To> destination) {
    constexpr std::size_t block_elements = 256;
    Stored block[block_elements];
    std::size_t done = 0;
    for (; destination.size() - done >= block_elements; done += block_elements) {
        std::memcpy(block, source.data() + done * sizeof(Stored), sizeof(block));
        for (std::size_t i = 0; i < block_elements; ++i) {
            destination[done + i] = to_number<To>(block[i]);
        }
    }
    for (; done < destination.size(); ++done) {
        std::memcpy(block, source.data() + done * sizeof(Stored), sizeof(Stored));
        destination[done] = to_number<To>(block[0]);
    }
}

template <class To>
void convert_stored(bytes_view source, dtype storage, span<To> destination) {
    switch (storage) {
    case dtype::f64:
        return convert_each<double>(source, destination);
    case dtype::f32:
        return convert_each<float>(source, destination);
    case dtype::f16:
        return convert_each<float16>(source, destination);
    case dtype::bf16:
        return convert_each<bfloat16>(source, destination);
    case dtype::i64:
        return convert_each<std::int64_t>(source, destination);
    case dtype::i32:
        return convert_each<std::int32_t>(source, destination);
    case dtype::i16:
        return convert_each<std::int16_t>(source, destination);
    case dtype::i8:
        return convert_each<std::int8_t>(source, destination);
    case dtype::u64:
        return convert_each<std::uint64_t>(source, destination);
    case dtype::u32:
        return convert_each<std::uint32_t>(source, destination);
    case dtype::u16:
        return convert_each<std::uint16_t>(source, destination);
    case dtype::u8:
        return convert_each<std::uint8_t>(source, destination);
    case dtype::boolean:
        return convert_each<bool_byte>(source, destination);
    }
}

/// The 8-bit floats by their names; false for any other name, and then nothing was written.
template <class To>
[[nodiscard]] bool convert_logical(bytes_view source, std::string_view logical_type, span<To> destination) {
    if (logical_type == element_traits<float8_e4m3fn>::type) {
        convert_each<float8_e4m3fn>(source, destination);
    } else if (logical_type == element_traits<float8_e5m2>::type) {
        convert_each<float8_e5m2>(source, destination);
    } else if (logical_type == element_traits<float8_e4m3fnuz>::type) {
        convert_each<float8_e4m3fnuz>(source, destination);
    } else if (logical_type == element_traits<float8_e5m2fnuz>::type) {
        convert_each<float8_e5m2fnuz>(source, destination);
    } else {
        return false;
    }
    return true;
}

/// Whether elements of this type are single numbers that this header can convert.
[[nodiscard]] inline result<void> check_convertible(dtype storage, std::string_view logical_type) {
    if (logical_type.empty() || logical_type == name(storage)) {
        return {};
    }
    const logical_type_facts* known = find_logical_type(logical_type);
    if (known == nullptr) {
        return error(errc::unsupported_type,
                     "the logical type " + quote(logical_type) + " is unknown and can't be converted to numbers");
    }
    if (known->storage_elements != 1) {
        return error(errc::unsupported_type, "elements of the logical type " + quote(logical_type) +
                                                 " are not single numbers and can't be converted to such");
    }
    if (known->storage != storage) {
        return error(errc::type_mismatch, "the logical type " + quote(logical_type) + " stands over " +
                                              std::string(name(storage)) + ", expected " +
                                              std::string(name(known->storage)));
    }
    return {};
}

/// Converts every element of `source_host_order` to a To and writes it to the same place of `destination`.
///
/// The source may start at any address, must be in the host's byte order and must not overlap the destination. An
/// empty logical type, or one that repeats the name of the storage type, means the stored elements themselves.
///
/// To is a floating-point type of C++, or any type with an explicit or implicit constructor from float; one from
/// double is used as well if it is there. Values that a To holds are kept exactly; others are rounded by its own
/// conversion, for float and double to nearest (in the default rounding mode), so i64 and u64 beyond 2^53, and i32,
/// u32 and f64 for float, may lose their last bits, and f64 beyond float's range becomes infinite. For a To that is no
/// C++ floating-point type, i64 and u64 pass through double first. NaN stays NaN. A bool byte gives 0 or 1; that
/// bytes other than 0 and 1 are refused in some versions (SPEC.md §4.4) is not known here.
///
/// Errors, with nothing written: errc::unsupported_type for complex and unknown logical types, which it names;
/// errc::type_mismatch for a logical type over the wrong storage; errc::size_mismatch where the source does not hold
/// exactly destination.size() elements.
template <class To>
[[nodiscard]] result<void> convert_elements(bytes_view source_host_order, dtype storage, std::string_view logical_type,
                                            span<To> destination) {
    static_assert(!std::is_const_v<To> && !std::is_integral_v<To> && std::is_constructible_v<To, float>,
                  "elements are converted to a floating-point type or to a type made from float");
    const result<void> convertible = check_convertible(storage, logical_type);
    if (!convertible) {
        return convertible;
    }
    const std::size_t width = width_bytes(storage);
    if (source_host_order.size() % width != 0 || source_host_order.size() / width != destination.size()) {
        return error(errc::size_mismatch, std::to_string(source_host_order.size()) + " bytes of " +
                                              std::string(name(storage)) + " do not make the " +
                                              std::to_string(destination.size()) + " elements asked for");
    }
    if (!convert_logical(source_host_order, logical_type, destination)) {
        convert_stored(source_host_order, storage, destination);
    }
    return {};
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
