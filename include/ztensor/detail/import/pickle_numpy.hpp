// SPDX-License-Identifier: MIT
//
// Arrays and scalars of NumPy in a pickle: which bytes of it they are, and what these mean.
#ifndef ZTENSOR_DETAIL_IMPORT_PICKLE_NUMPY_HPP
#define ZTENSOR_DETAIL_IMPORT_PICKLE_NUMPY_HPP

#include <ztensor/detail/import/npy_header.hpp>
#include <ztensor/detail/import/pickle_values.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// An object that a function of NumPy would make of what it holds.
[[nodiscard]] inline bool is_of_role(const pickled& content, const pickle_value& value, pickle_role role) noexcept {
    if (value.kind != pickle_kind::object) {
        return false;
    }
    const pickle_value type = content.objects[value.place].type;
    return type.kind == pickle_kind::global && pickle_globals[type.place].role == role;
}

/// An array or a scalar.
struct pickled_array {
    npy_element element;
    std::string_view type; ///< of the element, as NumPy spells it; "" if it is other than a text
    pickle_value shape;    ///< a tuple; None of a scalar
    pickle_value data;     ///< bytes
    bool is_fortran = false;
    const char* why = nullptr; ///< it can't be read

    [[nodiscard]] bool is_readable() const noexcept { return why == nullptr; }
};

/// The arguments of the object's function, and the state that was set, each a tuple; None if it is not there.
struct numpy_parts {
    pickle_value arguments;
    pickle_value state;
};
[[nodiscard]] inline numpy_parts parts_of_numpy(const pickled& content, const pickle_value& object) noexcept {
    numpy_parts parts;
    pickle_items items(content, object);
    for (pickle_value* const part : {&parts.arguments, &parts.state}) {
        static_cast<void>(items.next(content)); // the key, which names nothing
        const pickle_value* const value = items.next(content);
        if (value != nullptr && value->kind == pickle_kind::tuple) {
            *part = *value;
        }
    }
    return parts;
}

/// None where there are not so many.
[[nodiscard]] inline pickle_value item_of_tuple(const pickled& content, const pickle_value& tuple,
                                                std::size_t i) noexcept {
    const bool is_there = tuple.kind == pickle_kind::tuple && i < content.count_of(tuple);
    return is_there ? content.item_of(tuple, i) : pickle_value();
}
[[nodiscard]] inline std::string_view text_or_none(const pickled& content, const pickle_value& value) noexcept {
    return value.kind == pickle_kind::text ? content.text_of(value) : std::string_view();
}

/// Of a numpy.dtype: made of a text such as "f8", or of a class of ml_dtypes; its state says the order of bytes, and
/// what records and arrays in an element are made of.
[[nodiscard]] inline npy_element numpy_element_of(const pickled& content, const pickle_value& dtype) {
    npy_element none;
    none.why = "whose type is not known";
    if (!is_of_role(content, dtype, pickle_role::numpy_dtype)) {
        return none;
    }
    const numpy_parts parts = parts_of_numpy(content, dtype);
    const pickle_value type = item_of_tuple(content, parts.arguments, 0);
    for (std::size_t i = 2; i < 5; ++i) {
        if (item_of_tuple(content, parts.state, i).kind != pickle_kind::none) {
            none.why = "which is a record of several";
            return none;
        }
    }
    const std::string_view order = text_or_none(content, item_of_tuple(content, parts.state, 1));
    if (type.kind == pickle_kind::unknown_global && content.names[type.place].module == "ml_dtypes") {
        npy_element found = none;
        found.type = find_npy_type(content.names[type.place].name);
        found.is_big_endian = order == ">" && found.type != nullptr && found.type->element_bytes != 1;
        return found;
    }
    if (type.kind != pickle_kind::text) {
        return none;
    }
    npy_element found = find_npy_element(std::string(order) += content.text_of(type), "");
    found.why = found.raw_bytes != 0 ? "which is bytes of an unknown meaning" : found.why;
    return found;
}

/// Of an object whose role is numpy_array.
[[nodiscard]] inline pickled_array read_numpy_array(const pickled& content, const pickle_value& object) {
    const numpy_parts parts = parts_of_numpy(content, object);
    const std::string_view function = pickle_globals[content.objects[object.place].type.place].name;
    pickled_array array;
    pickle_value dtype;
    if (function == "scalar") { // a dtype and bytes
        dtype = item_of_tuple(content, parts.arguments, 0);
        array.data = item_of_tuple(content, parts.arguments, 1);
    } else if (function == "_frombuffer") { // bytes, a dtype, the shape and "C" or "F"
        array.data = item_of_tuple(content, parts.arguments, 0);
        dtype = item_of_tuple(content, parts.arguments, 1);
        array.shape = item_of_tuple(content, parts.arguments, 2);
        array.is_fortran = text_or_none(content, item_of_tuple(content, parts.arguments, 3)) == "F";
    } else { // the state: a version, which the oldest lack, the shape, a dtype, whether it is Fortran's order, and
             // bytes
        const std::size_t count = parts.state.kind == pickle_kind::tuple ? content.count_of(parts.state) : 0;
        const std::size_t first = count == 4 ? 0 : 1;
        array.shape = item_of_tuple(content, parts.state, first);
        dtype = item_of_tuple(content, parts.state, first + 1);
        const pickle_value order = item_of_tuple(content, parts.state, first + 2);
        array.is_fortran = order.kind == pickle_kind::boolean && order.place != 0;
        array.data = item_of_tuple(content, parts.state, first + 3);
    }
    array.element = numpy_element_of(content, dtype);
    if (is_of_role(content, dtype, pickle_role::numpy_dtype)) {
        array.type = text_or_none(content, item_of_tuple(content, parts_of_numpy(content, dtype).arguments, 0));
    }
    const bool has_bytes = array.data.kind == pickle_kind::byte_string || array.data.kind == pickle_kind::text;
    const bool has_shape = function == "scalar" || is_tuple_of_sizes(content, array.shape);
    array.why = array.element.type == nullptr ? array.element.why
                : !has_bytes || !has_shape    ? "which has no bytes or no shape"
                                              : nullptr;
    return array;
}

/// Whether it is one whose numbers can be read.
[[nodiscard]] inline bool is_numpy_array(const pickled& content, const pickle_value& value) {
    return is_of_role(content, value, pickle_role::numpy_array) && read_numpy_array(content, value).is_readable();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
