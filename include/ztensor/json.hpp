// SPDX-License-Identifier: MIT
//
// Attributes ↔ nlohmann::json, through its CBOR mode. The only header that knows nlohmann; whoever does not include it
// (or the umbrella) does not need that package. SPEC.md §3.6.
#ifndef ZTENSOR_JSON_HPP
#define ZTENSOR_JSON_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/attributes_view.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/cbor/number.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {

namespace detail {

/// As nlohmann::json, CBOR takes up to 176 times its size.
inline constexpr std::size_t max_json_cbor_bytes = std::size_t{16} << 20;

/// Decides whether one well-formed item is something that JSON can hold, and that nlohmann reads as what it is: it
/// recurses, takes −2^64 + 64 for 64, and keeps the last of duplicate keys.
class json_gate {
public:
    explicit json_gate(bytes_view item) noexcept : item_(item), cursor_(item) {}

    /// Errors: attribute_type (tags, keys that are no text, undefined, integers below −2^63), duplicate_key,
    /// limit_exceeded (16 MiB), and the cbor_… codes.
    [[nodiscard]] result<void> check() {
        if (item_.size() > max_json_cbor_bytes) {
            return fail(errc::limit_exceeded, "a value of {} bytes is too large to become JSON", {item_.size()});
        }
        result<void> valid = check_value();
        while (valid && !open_.empty() && !cursor_.failed()) {
            valid = to_next_value();
            if (valid && !open_.empty()) {
                valid = check_value();
            }
        }
        if (cursor_.failed()) {
            return error(cursor_.fault().code, cursor_.fault().sentence);
        }
        if (valid && cursor_.remaining() != 0) {
            return fail(errc::cbor_trailing, "bytes follow the value");
        }
        return valid;
    }

private:
    struct container {
        cbor_sequence items;
        bool is_map = false;
        std::vector<std::string> keys;
    };

    [[nodiscard]] static error not_json(const char* what) {
        return fail(errc::attribute_type, "the value holds {}, which JSON has no place for", {what});
    }

    /// Looks at the next value; a container is entered.
    [[nodiscard]] result<void> check_value() {
        const cbor_cursor before = cursor_;
        cbor_head head;
        if (!cursor_.read_head(head)) {
            return {};
        }
        switch (head.major) {
        case cbor_major::negative_integer:
            return head.argument > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
                       ? result<void>(not_json("an integer below -2^63"))
                       : result<void>();
        case cbor_major::array:
        case cbor_major::map:
            cursor_ = before;
            open_.emplace_back();
            open_.back().is_map = head.major == cbor_major::map;
            open_.back().is_map ? cursor_.enter_map(open_.back().items) : cursor_.enter_array(open_.back().items);
            return {};
        case cbor_major::tag:
            return not_json("a tag");
        case cbor_major::simple:
            return (head.info >= cbor_false && head.info <= cbor_null) || head.info >= 25
                       ? result<void>()
                       : result<void>(not_json("undefined or another simple value"));
        case cbor_major::bytes:
            cursor_ = before;
            cursor_.skip();
            return {};
        case cbor_major::text:
            cursor_ = before;
            pass_text();
            return {};
        default:
            return {};
        }
    }

    /// nlohmann takes any bytes for text, and throws when it is to print them.
    bool pass_text() noexcept {
        cbor_text text;
        return cursor_.read_text(text);
    }

    /// Leaves the containers that end here; of a map, reads the next key.
    [[nodiscard]] result<void> to_next_value() {
        while (!cursor_.failed() && !open_.empty()) {
            container& innermost = open_.back();
            if (cursor_.next(innermost.items)) {
                innermost.keys.emplace_back();
                return !innermost.is_map || cursor_.read_joined(cbor_major::text, innermost.keys.back())
                           ? result<void>()
                           : result<void>(not_json("a key that is not text"));
            }
            if (innermost.is_map && !are_distinct(innermost.keys)) {
                return fail(errc::duplicate_key, "a map holds a key twice");
            }
            open_.pop_back();
        }
        return {};
    }

    [[nodiscard]] static bool are_distinct(std::vector<std::string>& keys) {
        std::sort(keys.begin(), keys.end());
        return std::adjacent_find(keys.begin(), keys.end()) == keys.end();
    }

    bytes_view item_;
    cbor_cursor cursor_;
    std::vector<container> open_;
};

/// Arrays and objects enclose one another no deeper than every reader allows. Never recurses, as all of nlohmann does.
[[nodiscard]] inline bool is_shallow(const nlohmann::json& value, std::size_t max_depth) {
    std::vector<std::pair<const nlohmann::json*, std::size_t>> open = {{&value, 1}};
    while (!open.empty()) {
        const auto [at, depth] = open.back();
        open.pop_back();
        if (!at->is_structured()) {
            continue;
        }
        if (depth > max_depth) {
            return false;
        }
        for (const nlohmann::json& each : *at) {
            open.emplace_back(&each, depth + 1);
        }
    }
    return true;
}

/// The same well-formed items of definite length, every float in the fewest bits that keep it.
[[nodiscard]] inline std::vector<std::byte> with_shortest_floats(bytes_view items) {
    cbor_encoder out;
    cbor_cursor cursor(items);
    while (cursor.remaining() != 0) {
        const std::size_t start = cursor.position();
        cbor_head head;
        cursor.read_head(head);
        if (double value = 0; head.major == cbor_major::simple && to_number(head, value)) {
            out.number(value);
            continue;
        }
        if (head.major == cbor_major::bytes || head.major == cbor_major::text) {
            cursor = cbor_cursor(items, 0, start);
            cursor.skip();
        }
        out.encoded(cursor.passed_since(start));
    }
    return std::move(out).take();
}

/// The same error, with the name of the attribute.
[[nodiscard]] ZTENSOR_COLD inline error in_attribute(std::string_view key, const error& why) noexcept {
    return fail(why.code(), "attribute {}: {}", {in_quotes(key), why.sentence()});
}

} // namespace detail

/// The value of one attribute. Byte strings become nlohmann's binary values.
/// Errors: attribute_type (tags, keys that are no text, undefined, integers below −2^63: what JSON can't hold),
/// duplicate_key (within the value), limit_exceeded (more than 16 MiB).
[[nodiscard]] inline result<nlohmann::json> to_json(bytes_view cbor_value) {
    if (result<void> valid = detail::json_gate(cbor_value).check(); !valid) {
        return std::move(valid).error();
    }
    nlohmann::json value = nlohmann::json::from_cbor(detail::as_text(cbor_value), true, false);
    if (value.is_discarded()) {
        return detail::fail(errc::attribute_type, "nlohmann::json can't hold the value");
    }
    return value;
}

/// All attributes as one object. Errors: as of one value; the sentence names the attribute.
[[nodiscard]] inline result<nlohmann::json> to_json(const attributes_view& source) {
    nlohmann::json object = nlohmann::json::object();
    for (const attribute& each : source) {
        result<nlohmann::json> value = to_json(each.cbor);
        if (!value) {
            return detail::in_attribute(each.key, value.error());
        }
        object[std::string(each.key)] = *std::move(value);
    }
    return object;
}

/// Attributes to write, one for each key of `object`. Errors: attribute_type if it is no object, or a value holds
/// binary data with a subtype; cbor_depth; cbor_utf8; limit_exceeded; the sentence names the attribute.
[[nodiscard]] inline result<attributes> to_attributes(const nlohmann::json& object) {
    constexpr std::size_t max_value_depth = detail::max_cbor_depth - 4; // root, objects, object, attributes
    if (!object.is_object()) {
        return detail::fail(errc::attribute_type, "attributes are made from a JSON object, not from {}",
                            {object.type_name()});
    }
    attributes out;
    for (const auto& [key, value] : object.items()) {
        if (!detail::is_shallow(value, max_value_depth)) {
            return detail::fail(errc::cbor_depth, "attribute {} is nested too deep", {detail::in_quotes(key)});
        }
        const std::vector<std::uint8_t> encoded = nlohmann::json::to_cbor(value);
        const bytes_view item = detail::as_bytes(span<const std::uint8_t>(encoded));
        if (result<void> valid = detail::json_gate(item).check(); !valid) {
            return detail::in_attribute(key, valid.error());
        }
        if (result<void> set = out.set_cbor(key, detail::with_shortest_floats(item)); !set) {
            return std::move(set).error();
        }
    }
    return out;
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
