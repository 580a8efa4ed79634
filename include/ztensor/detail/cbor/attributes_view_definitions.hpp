// SPDX-License-Identifier: MIT
//
// Reading attributes out of CBOR. Defines what attributes_view.hpp declares. SPEC.md §3.6.
#ifndef ZTENSOR_DETAIL_CBOR_ATTRIBUTES_VIEW_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_CBOR_ATTRIBUTES_VIEW_DEFINITIONS_HPP

#include <ztensor/attributes_view.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/cbor/number.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/guard_memory.hpp>

#include <limits>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What a value that `value` has failed to read as `expected` is refused with.
[[nodiscard]] ZTENSOR_COLD inline error wrong_attribute(const cbor_cursor& value, std::string_view key,
                                                        const char* expected) {
    const bool is_damaged = value.failed() && value.fault().code == errc::cbor_utf8;
    return fail(is_damaged ? errc::cbor_utf8 : errc::attribute_type, "attribute {} is not {}",
                {in_quotes(key), expected});
}

} // namespace detail

ZTENSOR_INLINE attributes_view::iterator::iterator(bytes_view map, span<const std::string_view> hidden) noexcept
    : hidden_(hidden) {
    detail::cbor_cursor cursor(map);
    detail::cbor_sequence pairs;
    if (map.empty() || !cursor.enter_map(pairs)) {
        return;
    }
    rest_ = map;
    next_ = cursor.position();
    pairs_left_ = pairs.remaining;
    is_indefinite_ = pairs.is_indefinite;
    advance();
}

ZTENSOR_INLINE void attributes_view::iterator::advance() noexcept {
    do {
        rest_ = rest_.subspan(next_);
        detail::cbor_cursor cursor(rest_, 1);
        detail::cbor_sequence pairs{pairs_left_, is_indefinite_};
        detail::cbor_text key;
        if (!cursor.next(pairs) || !cursor.read_key(key)) {
            rest_ = {};
            return;
        }
        const std::size_t value_start = cursor.position();
        cursor.skip();
        current_ = {key.text, cursor.passed_since(value_start)};
        next_ = cursor.position();
        pairs_left_ = pairs.remaining;
    } while (detail::place_of(current_.key, hidden_) != hidden_.size());
}

ZTENSOR_INLINE std::size_t attributes_view::size() const noexcept {
    std::size_t count = 0;
    for (iterator at = begin(); at != end(); ++at) {
        ++count;
    }
    return count;
}

ZTENSOR_INLINE attributes_view::iterator attributes_view::find(std::string_view key) const noexcept {
    iterator at = begin();
    while (at != end() && at->key != key) {
        ++at;
    }
    return at;
}

ZTENSOR_COLD ZTENSOR_INLINE result<bytes_view> attributes_view::cbor(std::string_view key) const {
    const iterator at = find(key);
    if (at == end()) {
        return detail::fail(errc::attribute_not_found, "there is no attribute {}", {detail::in_quotes(key)});
    }
    return at->cbor;
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::int64_t> attributes_view::integer(std::string_view key) const {
    const result<bytes_view> encoded = cbor(key);
    if (!encoded) {
        return encoded.error();
    }
    detail::cbor_cursor value(*encoded);
    detail::cbor_head head;
    if (!value.read_head(head) || head.major > detail::cbor_major::negative_integer ||
        head.argument > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return detail::wrong_attribute(value, key, "an integer of 64 bits with sign");
    }
    const auto magnitude = static_cast<std::int64_t>(head.argument);
    return head.major == detail::cbor_major::negative_integer ? -1 - magnitude : magnitude;
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::uint64_t> attributes_view::unsigned_integer(std::string_view key) const {
    const result<bytes_view> encoded = cbor(key);
    if (!encoded) {
        return encoded.error();
    }
    detail::cbor_cursor value(*encoded);
    std::uint64_t number = 0;
    if (!value.read_unsigned(number)) {
        return detail::wrong_attribute(value, key, "an unsigned integer");
    }
    return number;
}

ZTENSOR_COLD ZTENSOR_INLINE result<double> attributes_view::number(std::string_view key) const {
    const result<bytes_view> encoded = cbor(key);
    if (!encoded) {
        return encoded.error();
    }
    detail::cbor_cursor value(*encoded);
    detail::cbor_head head;
    double number = 0;
    if (!value.read_head(head) || !detail::to_number(head, number)) {
        return detail::wrong_attribute(value, key, "a number");
    }
    return number;
}

ZTENSOR_COLD ZTENSOR_INLINE result<bool> attributes_view::boolean(std::string_view key) const {
    const result<bytes_view> encoded = cbor(key);
    if (!encoded) {
        return encoded.error();
    }
    detail::cbor_cursor value(*encoded);
    detail::cbor_head head;
    if (!value.read_head(head) || head.major != detail::cbor_major::simple ||
        (head.info != detail::cbor_true && head.info != detail::cbor_false)) {
        return detail::wrong_attribute(value, key, "true or false");
    }
    return head.info == detail::cbor_true;
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::string> attributes_view::text(std::string_view key) const {
    return detail::guard_memory([&]() -> result<std::string> {
        const result<bytes_view> encoded = cbor(key);
        if (!encoded) {
            return encoded.error();
        }
        detail::cbor_cursor value(*encoded);
        std::string text;
        if (!value.read_joined(detail::cbor_major::text, text)) {
            return detail::wrong_attribute(value, key, "text");
        }
        return text;
    });
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::vector<std::byte>> attributes_view::byte_string(std::string_view key) const {
    return detail::guard_memory([&]() -> result<std::vector<std::byte>> {
        const result<bytes_view> encoded = cbor(key);
        if (!encoded) {
            return encoded.error();
        }
        detail::cbor_cursor value(*encoded);
        std::string joined;
        if (!value.read_joined(detail::cbor_major::bytes, joined)) {
            return detail::wrong_attribute(value, key, "a byte string");
        }
        const bytes_view content = detail::as_bytes(joined);
        return std::vector<std::byte>(content.begin(), content.end());
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
