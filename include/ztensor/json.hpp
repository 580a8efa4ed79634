// SPDX-License-Identifier: MIT
//
// Attributes <-> nlohmann::json, through its CBOR mode. The only header that knows nlohmann: a program that includes
// neither it nor the umbrella does not need that package. SPEC.md section 3.6.
#ifndef ZTENSOR_JSON_HPP
#define ZTENSOR_JSON_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/cbor/json_builder.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {

namespace detail {

/// Not for nlohmann::ordered_json, which compares a key with all others: a hostile file may have many of them.
template <class Json>
using json_builder_of = std::enable_if_t<std::is_same_v<Json, nlohmann::json>, json_builder<Json>>;

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

/// The value of one attribute. Byte strings become nlohmann's binary values. Never recurses.
/// Errors: attribute_type (tags, keys that are no text, undefined, integers below -2^63: what JSON can't hold),
/// duplicate_key (within the value), limit_exceeded (more than 16 MiB, or 257 MiB in memory), out_of_memory.
template <class Json = nlohmann::json>
result<Json> to_json(bytes_view cbor_value) {
    return detail::guard_memory([&]() -> result<Json> {
        detail::json_budget budget;
        detail::unfinished_json<Json> made(nullptr);
        result<void> built = detail::json_builder_of<Json>(cbor_value, budget).build(&made.value());
        return built ? result<Json>(std::move(made.value())) : std::move(built).error();
    });
}

/// All attributes as one object. Errors: as of one value, the limits being those of all together; the sentence names
/// the attribute.
template <class Json = nlohmann::json>
result<Json> to_json(const attributes_view& source) {
    return detail::guard_memory([&]() -> result<Json> {
        detail::json_budget budget;
        detail::unfinished_json<Json> made(Json::object());
        for (const attribute& each : source) {
            Json& value = made.value()[std::string(each.key)];
            if (result<void> built = detail::json_builder_of<Json>(each.cbor, budget).build(&value); !built) {
                return detail::in_attribute(each.key, built.error());
            }
        }
        return result<Json>(std::move(made.value()));
    });
}

namespace detail {

template <class Json>
result<attributes> made_of_json(const Json& object) {
    constexpr std::size_t max_value_depth = max_cbor_depth - 4; // root, objects, object, attributes
    if (!object.is_object()) {
        return fail(errc::attribute_type, "attributes are made from a JSON object, not from {}", {object.type_name()});
    }
    attributes out;
    json_budget budget;
    for (const auto& [key, value] : object.items()) {
        if (!is_shallow(value, max_value_depth)) {
            return fail(errc::cbor_depth, "attribute {} is nested too deep", {in_quotes(key)});
        }
        const std::vector<std::uint8_t> encoded = Json::to_cbor(value);
        const bytes_view item = as_bytes(span<const std::uint8_t>(encoded));
        if (result<void> valid = json_builder_of<Json>(item, budget).build(nullptr); !valid) {
            return in_attribute(key, valid.error());
        }
        ZTENSOR_TRY(out.set_cbor(key, with_shortest_floats(item)));
    }
    return out;
}

} // namespace detail

/// Attributes to write, one for each key of `object`. Errors: attribute_type if it is no object, or a value holds
/// binary data with a subtype; cbor_depth; cbor_utf8; limit_exceeded (more than 16 MiB of CBOR in all); out_of_memory;
/// the sentence names the attribute.
template <class Json = nlohmann::json> // which is not deduced: braces make one
result<attributes> to_attributes(const std::enable_if_t<true, Json>& object) {
    return detail::guard_memory([&] { return detail::made_of_json(object); });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
