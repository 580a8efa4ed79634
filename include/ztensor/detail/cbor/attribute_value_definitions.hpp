// SPDX-License-Identifier: MIT
//
// Reading values out of CBOR. Defines what attribute_value.hpp declares. SPEC.md section 3.6.
#ifndef ZTENSOR_DETAIL_CBOR_ATTRIBUTE_VALUE_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_CBOR_ATTRIBUTE_VALUE_DEFINITIONS_HPP

#include <ztensor/attribute_value.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/cbor/cursor.hpp>

#include <limits>

namespace ztensor {
inline namespace ZTENSOR_MODE {

ZTENSOR_COLD ZTENSOR_INLINE attribute_kind attribute_value::kind() const noexcept {
    detail::cbor_cursor value(cbor_);
    detail::cbor_head head;
    if (!value.read_head(head)) {
        return attribute_kind::other;
    }
    switch (head.major) {
    case detail::cbor_major::unsigned_integer:
    case detail::cbor_major::negative_integer:
        return attribute_kind::integer;
    case detail::cbor_major::bytes:
        return attribute_kind::bytes;
    case detail::cbor_major::text:
        return attribute_kind::text;
    case detail::cbor_major::array:
        return attribute_kind::array;
    case detail::cbor_major::map:
        return attribute_kind::map;
    case detail::cbor_major::tag:
        return attribute_kind::other;
    case detail::cbor_major::simple:
        break;
    }
    double number;
    return head.info == detail::cbor_null                                      ? attribute_kind::null
           : head.info == detail::cbor_true || head.info == detail::cbor_false ? attribute_kind::boolean
           : detail::to_number(head, number)                                   ? attribute_kind::number
                                                                               : attribute_kind::other;
}

ZTENSOR_COLD ZTENSOR_INLINE error attribute_value::located(error why) const noexcept {
    return place_.name_place != nullptr ? place_.name_place(place_, std::move(why)) : why;
}

ZTENSOR_COLD ZTENSOR_INLINE error attribute_value::refused(const char* expected) const {
    constexpr const char* found[] = {"null",     "true or false", "an integer",
                                     "a number", "text",          "a byte string",
                                     "an array", "a map",         "no value that this library knows"};
    return located(detail::fail(errc::attribute_type, "attribute {} is {}, not {}",
                                {detail::in_quotes(key_), found[static_cast<std::size_t>(kind())], expected}));
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::int64_t> attribute_value::integer() const {
    detail::cbor_cursor value(cbor_);
    detail::cbor_head head;
    if (!value.read_head(head) || head.major > detail::cbor_major::negative_integer ||
        head.argument > static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)())) {
        return refused("an integer of 64 bits with sign");
    }
    const auto magnitude = static_cast<std::int64_t>(head.argument);
    return head.major == detail::cbor_major::negative_integer ? -1 - magnitude : magnitude;
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::uint64_t> attribute_value::unsigned_integer() const {
    detail::cbor_cursor value(cbor_);
    std::uint64_t number = 0;
    if (!value.read_unsigned(number)) {
        return refused("an unsigned integer");
    }
    return number;
}

ZTENSOR_COLD ZTENSOR_INLINE result<double> attribute_value::number() const {
    detail::cbor_cursor value(cbor_);
    detail::cbor_head head;
    double number = 0;
    if (!value.read_head(head) || !detail::to_number(head, number)) {
        return refused("a number");
    }
    return number;
}

ZTENSOR_COLD ZTENSOR_INLINE result<bool> attribute_value::boolean() const {
    detail::cbor_cursor value(cbor_);
    detail::cbor_head head;
    if (!value.read_head(head) || head.major != detail::cbor_major::simple ||
        (head.info != detail::cbor_true && head.info != detail::cbor_false)) {
        return refused("true or false");
    }
    return head.info == detail::cbor_true;
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::string> attribute_value::text() const {
    return detail::guard_memory([&]() -> result<std::string> {
        detail::cbor_cursor value(cbor_);
        std::string text;
        if (value.read_joined(detail::cbor_major::text, text)) {
            return text;
        }
        if (value.failed() && value.fault().code == errc::cbor_utf8) {
            return located(
                detail::fail(errc::cbor_utf8, "attribute {} is text that is not UTF-8", {detail::in_quotes(key_)}));
        }
        return refused("text");
    });
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::vector<std::byte>> attribute_value::byte_string() const {
    return detail::guard_memory([&]() -> result<std::vector<std::byte>> {
        detail::cbor_cursor value(cbor_);
        std::string joined;
        if (!value.read_joined(detail::cbor_major::bytes, joined)) {
            return refused("a byte string");
        }
        const bytes_view content = detail::as_bytes(joined);
        return std::vector<std::byte>(content.begin(), content.end());
    });
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::vector<attribute_value>> attribute_value::items() const {
    return detail::guard_memory([&]() -> result<std::vector<attribute_value>> {
        std::vector<attribute_value> values;
        detail::cbor_cursor array(cbor_);
        detail::cbor_sequence items;
        if (kind() != attribute_kind::array || !array.enter_array(items)) {
            return refused("an array");
        }
        while (array.next(items)) {
            const std::size_t start = array.position();
            array.skip();
            values.push_back(attribute_value(array.passed_since(start), key_, place_));
        }
        return values;
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
