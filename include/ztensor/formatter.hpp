// SPDX-License-Identifier: MIT
//
// For programs that print by std::format: the words of errors, codes, types, formats and shapes. Nothing where the
// standard library has no <format>. Not among what ztensor.hpp includes, as <format> takes long to compile.
#ifndef ZTENSOR_FORMATTER_HPP
#define ZTENSOR_FORMATTER_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/error.hpp>
#include <ztensor/format.hpp>
#include <ztensor/shape.hpp>

#if __cplusplus >= 202002L || (defined(_MSVC_LANG) && _MSVC_LANG >= 202002L)
#include <version>
#endif
#if defined(__cpp_lib_format)
#include <format>
#include <string>
#include <string_view>
#include <type_traits>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Takes what text takes: width, fill, alignment and precision.
template <class T>
struct text_formatter : std::formatter<std::string_view> {
    template <class Context>
    auto format(const T& value, Context& context) const {
        if constexpr (std::is_same_v<T, error>) {
            return std::formatter<std::string_view>::format(value.what(), context);
        } else if constexpr (std::is_same_v<T, shape>) {
            return std::formatter<std::string_view>::format(to_string(value), context);
        } else {
            return std::formatter<std::string_view>::format(name(value), context);
        }
    }
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

template <>
struct std::formatter<ztensor::error> : ztensor::detail::text_formatter<ztensor::error> {};
template <>
struct std::formatter<ztensor::errc> : ztensor::detail::text_formatter<ztensor::errc> {};
template <>
struct std::formatter<ztensor::error_kind> : ztensor::detail::text_formatter<ztensor::error_kind> {};
template <>
struct std::formatter<ztensor::shape> : ztensor::detail::text_formatter<ztensor::shape> {};
template <>
struct std::formatter<ztensor::dtype> : ztensor::detail::text_formatter<ztensor::dtype> {};
template <>
struct std::formatter<ztensor::format> : ztensor::detail::text_formatter<ztensor::format> {};
template <>
struct std::formatter<ztensor::encoding> : ztensor::detail::text_formatter<ztensor::encoding> {};
template <>
struct std::formatter<ztensor::version> : ztensor::detail::text_formatter<ztensor::version> {};
template <>
struct std::formatter<ztensor::digest_state> : ztensor::detail::text_formatter<ztensor::digest_state> {};
template <>
struct std::formatter<ztensor::attribute_kind> : ztensor::detail::text_formatter<ztensor::attribute_kind> {};
#endif

#endif
