// SPDX-License-Identifier: MIT
//
// Elements of a type that only the file knows: a function of yours, called with the C++ type of a component. No other
// header includes this one, as each function given to it is compiled for every type. SPEC.md section 4.
#ifndef ZTENSOR_VISIT_HPP
#define ZTENSOR_VISIT_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// A bool as it is stored: a byte, of which any value but 0 counts as true (written are only 0 and 1). Unlike bools of
/// C++ they may be viewed before anybody has looked at their values, and a std::vector holds them one by one.
struct stored_bool {
    std::uint8_t byte; ///< as it is stored

    /// False for 0 alone.
    constexpr operator bool() const noexcept { return byte != 0; }
};

template <>
struct element_traits<stored_bool> : stored_as<dtype::boolean> {};

/// What visit_type() calls its function with.
template <class T>
struct element_type {
    /// The element type.
    using type = T;
};

namespace detail {

/// Every storage type, then every logical type that the specification defines.
using every_element_type =
    decltype(element_types<double, float, float16, bfloat16, std::int64_t, std::int32_t, std::int16_t, std::int8_t,
                           std::uint64_t, std::uint32_t, std::uint16_t, std::uint8_t, stored_bool>() +
             float8_types() + element_types<std::complex<float>, std::complex<double>>());

template <class T>
struct as_result_of {
    using type = result<T>;
};
template <class T>
struct as_result_of<result<T>> {
    using type = result<T>;
};

/// result<R> of a function that returns R, or a result<R> itself.
template <class Function, class... Arguments>
using visited_t = typename as_result_of<std::decay_t<std::invoke_result_t<Function, Arguments...>>>::type;

template <class Result, class Function, class... Arguments>
[[nodiscard]] Result call_as_result(Function& function, Arguments... arguments) {
    if constexpr (std::is_void_v<std::invoke_result_t<Function&, Arguments...>>) {
        function(arguments...);
        return {};
    } else {
        return function(arguments...);
    }
}

template <class T>
[[nodiscard]] bool is_of_type(const component_view& component) noexcept {
    if (std::is_same_v<T, stored_bool> && component.dtype() == dtype::u8 &&
        component.type().text() == name(dtype::boolean)) {
        return true; // as version 2 has them
    }
    return component.dtype() == element_traits<T>::storage && component.type().text() == element_traits<T>::type;
}

/// Why no type of the list is the component's. Errors: unknown_dtype, unsupported_type.
[[nodiscard]] ZTENSOR_COLD inline error no_element_type(const component_view& component) noexcept {
    if (!component.dtype().is_known()) {
        return component.check<std::uint8_t>().error();
    }
    return located(component, fail(errc::unsupported_type,
                                   "no C++ type stands for its logical type {}: read it by way of its storage type {}",
                                   {in_quotes(component.type().text()), component.dtype().text()}));
}

template <class Result, class Function>
[[nodiscard]] Result visit_among(const component_view& component, Function&, element_types<>) {
    return no_element_type(component);
}
template <class Result, class Function, class First, class... Others>
[[nodiscard]] Result visit_among(const component_view& component, Function& function, element_types<First, Others...>) {
    if (is_of_type<First>(component)) {
        return call_as_result<Result>(function, element_type<First>());
    }
    return visit_among<Result>(component, function, element_types<Others...>());
}

} // namespace detail

/// Calls `function` with an element_type of the component's own type, and returns what it returns, as a result (of a
/// function that returns nothing, result<void>; one that returns a result<R> may fail by itself). For each of the
/// types that visit() lists, function must compile and return the same.
///
///     ztensor::visit_type(component, [&](auto of) {
///         using element = typename decltype(of)::type;
///         return component.read<element>().transform([](const auto& elements) { return elements.size(); });
///     });
///
/// Errors: unknown_dtype; unsupported_type for a logical type that the specification does not define.
template <class Function>
[[nodiscard]] auto visit_type(const component_view& component, Function&& function)
    -> detail::visited_t<Function&, element_type<float>> {
    using answer = detail::visited_t<Function&, element_type<float>>;
    return detail::visit_among<answer>(component, function, detail::every_element_type());
}

/// The same of the elements of a dense object. Errors: unsupported_format; as above.
template <class Function>
[[nodiscard]] auto visit_type(const object_view& object, Function&& function)
    -> detail::visited_t<Function&, element_type<float>> {
    ZTENSOR_TRY_ASSIGN(const component_view elements, object.data());
    return visit_type(elements, function);
}

/// Calls `function` with a span of the component's elements where they lie: of const double, float, float16, bfloat16,
/// the eight integer types of fixed width, stored_bool, the four 8-bit floats, or std::complex of float or double. All
/// but the complex ones become numbers by `static_cast<float>(element)`. Borrows as component_view::view() does.
///
///     const double sum = ztensor::visit(object, [](auto elements) {
///         return std::accumulate(elements.begin(), elements.end(), 0.0, [](double sum, auto element) { ... });
///     }).value();
///
/// Errors: as visit_type() and component_view::view(); what function itself returns.
template <class Function>
[[nodiscard]] auto visit(const component_view& component, Function&& function)
    -> detail::visited_t<Function&, span<const float>> {
    using answer = detail::visited_t<Function&, span<const float>>;
    return visit_type(component, [&](auto of) -> answer {
        ZTENSOR_TRY_ASSIGN(auto elements, component.view<typename decltype(of)::type>());
        return detail::call_as_result<answer>(function, elements);
    });
}

/// The same of the elements of a dense object. Errors: unsupported_format; as above.
template <class Function>
[[nodiscard]] auto visit(const object_view& object, Function&& function)
    -> detail::visited_t<Function&, span<const float>> {
    ZTENSOR_TRY_ASSIGN(const component_view elements, object.data());
    return visit(elements, function);
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
