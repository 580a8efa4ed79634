// SPDX-License-Identifier: MIT
//
// Reading attributes out of CBOR. Defines what attributes_view.hpp declares. SPEC.md section 3.6.
#ifndef ZTENSOR_DETAIL_CBOR_ATTRIBUTES_VIEW_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_CBOR_ATTRIBUTES_VIEW_DEFINITIONS_HPP

#include <ztensor/attributes_view.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/cbor/cursor.hpp>

#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
ZTENSOR_INLINE attributes_view::iterator::iterator(bytes_view map, span<const std::string_view> hidden,
                                                   const detail::attributes_place& place) noexcept
    : hidden_(hidden) {
    current_.place = place;
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
        current_.key = key.text;
        current_.cbor = cursor.passed_since(value_start);
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

ZTENSOR_COLD ZTENSOR_INLINE result<attribute_value> attributes_view::value(std::string_view key) const {
    if (const iterator at = find(key); at != end()) {
        return at->value();
    }
    error missing = detail::fail(errc::attribute_not_found, "there is no attribute {}", {detail::in_quotes(key)});
    return place_.name_place != nullptr ? place_.name_place(place_, std::move(missing)) : missing;
}

ZTENSOR_COLD ZTENSOR_INLINE result<attribute_kind> attributes_view::kind(std::string_view key) const {
    const result<attribute_value> found = value(key);
    return found ? result<attribute_kind>(found->kind()) : found.error();
}

ZTENSOR_COLD ZTENSOR_INLINE result<bytes_view> attributes_view::cbor(std::string_view key) const {
    const result<attribute_value> found = value(key);
    return found ? result<bytes_view>(found->cbor()) : found.error();
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::int64_t> attributes_view::integer(std::string_view key) const {
    const result<attribute_value> found = value(key);
    return found ? found->integer() : found.error();
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::uint64_t> attributes_view::unsigned_integer(std::string_view key) const {
    const result<attribute_value> found = value(key);
    return found ? found->unsigned_integer() : found.error();
}

ZTENSOR_COLD ZTENSOR_INLINE result<double> attributes_view::number(std::string_view key) const {
    const result<attribute_value> found = value(key);
    return found ? found->number() : found.error();
}

ZTENSOR_COLD ZTENSOR_INLINE result<bool> attributes_view::boolean(std::string_view key) const {
    const result<attribute_value> found = value(key);
    return found ? found->boolean() : found.error();
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::string> attributes_view::text(std::string_view key) const {
    const result<attribute_value> found = value(key);
    return found ? found->text() : found.error();
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::vector<std::byte>> attributes_view::byte_string(std::string_view key) const {
    const result<attribute_value> found = value(key);
    return found ? found->byte_string() : found.error();
}

ZTENSOR_COLD ZTENSOR_INLINE result<attributes_view> attributes_view::map(std::string_view key) const {
    const result<attribute_value> found = value(key);
    return found ? found->map() : found.error();
}

// Declared in attribute_value.hpp, where what it gives is not complete.
ZTENSOR_COLD ZTENSOR_INLINE result<attributes_view> attribute_value::map() const {
    detail::cbor_cursor map(cbor_);
    detail::cbor_sequence pairs;
    if (kind() != attribute_kind::map || !map.enter_map(pairs)) {
        return refused("a map");
    }
    while (map.next(pairs)) {
        detail::cbor_text key;
        if (!map.read_key(key) || key.is_chunked) {
            return refused("a map whose keys are all text");
        }
        map.skip();
    }
    return detail::attributes_access::make(cbor_, {}, place_);
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
