// SPDX-License-Identifier: MIT
//
// Values and maps of CBOR, as they are read and to be written. Defines what attributes.hpp declares. SPEC.md
// section 3.6.
#ifndef ZTENSOR_DETAIL_CBOR_ATTRIBUTES_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_CBOR_ATTRIBUTES_DEFINITIONS_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/cbor/encoder.hpp>

#include <limits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

// -- attribute value definitions

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

// -- attributes view definitions

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
    return value(key).transform(&attribute_value::kind);
}

ZTENSOR_COLD ZTENSOR_INLINE result<bytes_view> attributes_view::cbor(std::string_view key) const {
    return value(key).transform(&attribute_value::cbor);
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::int64_t> attributes_view::integer(std::string_view key) const {
    return value(key).and_then(&attribute_value::integer);
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::uint64_t> attributes_view::unsigned_integer(std::string_view key) const {
    return value(key).and_then(&attribute_value::unsigned_integer);
}

ZTENSOR_COLD ZTENSOR_INLINE result<double> attributes_view::number(std::string_view key) const {
    return value(key).and_then(&attribute_value::number);
}

ZTENSOR_COLD ZTENSOR_INLINE result<bool> attributes_view::boolean(std::string_view key) const {
    return value(key).and_then(&attribute_value::boolean);
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::string> attributes_view::text(std::string_view key) const {
    return value(key).and_then(&attribute_value::text);
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::vector<std::byte>> attributes_view::byte_string(std::string_view key) const {
    return value(key).and_then(&attribute_value::byte_string);
}

ZTENSOR_COLD ZTENSOR_INLINE result<attributes_view> attributes_view::map(std::string_view key) const {
    return value(key).and_then(&attribute_value::map);
}

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

namespace detail {

// -- attributes definitions

/// Of the root, objects, object and attributes maps: a value may only nest as deep as every reader allows.
inline constexpr size_t depth_around_attributes = 4;

} // namespace detail

ZTENSOR_INLINE attributes::attributes(attributes_view source) {
    bool is_sorted = true;
    for (const attribute& each : source) {
        is_sorted = is_sorted && (values_.empty() || values_.back().key < each.key);
        values_.push_back({std::string(each.key), std::vector<std::byte>(each.cbor.begin(), each.cbor.end()), true});
    }
    if (!is_sorted) {
        detail::sort_records(values_, [](const entry& a, const entry& b) { return a.key < b.key; });
    }
}

ZTENSOR_INLINE std::size_t attributes::place_of(std::string_view key) const noexcept {
    std::size_t first = 0;
    for (std::size_t last = values_.size(); first < last;) {
        const std::size_t middle = first + (last - first) / 2;
        if (values_[middle].key < key) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    return first;
}

ZTENSOR_INLINE attributes& attributes::put(std::string_view key, std::vector<std::byte> cbor, bool is_utf8) {
    const std::size_t place = place_of(key);
    if (place == values_.size() || values_[place].key != key) {
        values_.push_back({std::string(key), {}, true});
        for (std::size_t i = values_.size() - 1; i > place; --i) {
            std::swap(values_[i], values_[i - 1]);
        }
    }
    values_[place].cbor = std::move(cbor);
    values_[place].is_utf8 = is_utf8;
    return *this;
}

ZTENSOR_INLINE attributes& attributes::set_integer(std::string_view key, std::int64_t value) {
    detail::cbor_encoder out;
    out.integer(value);
    return put(key, std::move(out).take());
}

ZTENSOR_INLINE attributes& attributes::set_unsigned_integer(std::string_view key, std::uint64_t value) {
    detail::cbor_encoder out;
    out.unsigned_integer(value);
    return put(key, std::move(out).take());
}

ZTENSOR_INLINE attributes& attributes::set(std::string_view key, double value) {
    detail::cbor_encoder out;
    out.number(value);
    return put(key, std::move(out).take());
}

ZTENSOR_INLINE attributes& attributes::set(std::string_view key, bool value) {
    detail::cbor_encoder out;
    out.boolean(value);
    return put(key, std::move(out).take());
}

ZTENSOR_INLINE attributes& attributes::set(std::string_view key, std::string_view value) {
    detail::cbor_encoder out;
    out.text(value);
    return put(key, std::move(out).take(), detail::is_utf8(value));
}

ZTENSOR_INLINE attributes& attributes::set(std::string_view key, bytes_argument value) {
    detail::cbor_encoder out;
    out.byte_string(value);
    return put(key, std::move(out).take());
}

namespace detail {

/// An array of what `append(encoder, value)` encodes.
template <class Value, class Append>
[[nodiscard]] vector<byte> encoded_array(span<const Value> values, const Append& append) {
    cbor_encoder out;
    out.begin_array(values.size());
    for (const Value& each : values) {
        append(out, each);
    }
    return std::move(out).take();
}

} // namespace detail

ZTENSOR_COLD ZTENSOR_INLINE attributes& attributes::set_array(std::string_view key, span<const std::int64_t> values) {
    return put(
        key, detail::encoded_array(values, [](detail::cbor_encoder& out, std::int64_t value) { out.integer(value); }));
}

ZTENSOR_COLD ZTENSOR_INLINE attributes& attributes::set_array(std::string_view key, span<const std::uint64_t> values) {
    return put(key, detail::encoded_array(
                        values, [](detail::cbor_encoder& out, std::uint64_t value) { out.unsigned_integer(value); }));
}

ZTENSOR_COLD ZTENSOR_INLINE attributes& attributes::set_array(std::string_view key, span<const double> values) {
    return put(key, detail::encoded_array(values, [](detail::cbor_encoder& out, double value) { out.number(value); }));
}

ZTENSOR_COLD ZTENSOR_INLINE attributes& attributes::set_array(std::string_view key,
                                                              span<const detail::boolean_item> values) {
    return put(key, detail::encoded_array(values, [](detail::cbor_encoder& out, detail::boolean_item value) {
                   out.boolean(static_cast<bool>(value));
               }));
}

ZTENSOR_COLD ZTENSOR_INLINE attributes& attributes::set_array(std::string_view key,
                                                              span<const std::string_view> values) {
    bool are_utf8 = true;
    std::vector<std::byte> items =
        detail::encoded_array(values, [&](detail::cbor_encoder& out, std::string_view value) {
            out.text(value);
            are_utf8 = are_utf8 && detail::is_utf8(value);
        });
    return put(key, std::move(items), are_utf8);
}

ZTENSOR_INLINE attributes& attributes::set_null(std::string_view key) {
    detail::cbor_encoder out;
    out.null();
    return put(key, std::move(out).take());
}

ZTENSOR_INLINE result<void> attributes::set_cbor(std::string_view key, bytes_argument item) {
    return detail::guard_memory([&]() -> result<void> {
        detail::cbor_cursor cursor(item, detail::depth_around_attributes);
        if (!cursor.skip()) {
            return detail::fail(cursor.fault().code, "the value of attribute {}: {}",
                                {detail::in_quotes(key), cursor.fault().sentence})
                .by_caller();
        }
        if (cursor.remaining() != 0) {
            return detail::fail(errc::cbor_trailing, "the value of attribute {} ends {} bytes before its bytes do",
                                {detail::in_quotes(key), cursor.remaining()})
                .by_caller();
        }
        put(key, std::vector<std::byte>(item.begin(), item.end()));
        return {};
    });
}

ZTENSOR_INLINE attributes& attributes::remove(std::string_view key) {
    const std::size_t place = place_of(key);
    if (place != values_.size() && values_[place].key == key) {
        for (std::size_t i = place + 1; i < values_.size(); ++i) {
            std::swap(values_[i - 1], values_[i]);
        }
        values_.pop_back();
    }
    return *this;
}

ZTENSOR_INLINE attributes& attributes::merge(attributes others) {
    std::vector<entry> merged;
    merged.reserve(values_.size() + others.values_.size());
    auto mine = values_.begin();
    for (entry& each : others.values_) {
        for (; mine != values_.end() && mine->key < each.key; ++mine) {
            merged.push_back(std::move(*mine));
        }
        if (mine != values_.end() && mine->key == each.key) {
            ++mine;
        }
        merged.push_back(std::move(each));
    }
    for (; mine != values_.end(); ++mine) {
        merged.push_back(std::move(*mine));
    }
    values_ = std::move(merged);
    return *this;
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
