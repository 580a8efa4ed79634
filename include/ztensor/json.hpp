// SPDX-License-Identifier: MIT
//
// Attributes <-> nlohmann::json, through its CBOR mode. The only header that knows nlohmann: a program that includes
// neither it nor the umbrella does not need that package. What makes JSON is a template, so that a file that makes
// none compiles none of it: that was a fifth of what g++ took for a file that includes ztensor.hpp. SPEC.md section
// 3.6.
#ifndef ZTENSOR_JSON_HPP
#define ZTENSOR_JSON_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {

namespace detail {

/// As nlohmann::json, CBOR takes up to 80 times its size. One call turns at most so much of the one into so much of the
/// other: an array of 16 MiB of small integers is the most that is of use.
inline constexpr size_t max_json_cbor_bytes = size_t{16} << 20;
inline constexpr size_t max_json_memory_bytes = 16 * max_json_cbor_bytes + (size_t{1} << 20);

/// What one call may still take in and hold.
class json_budget {
public:
    /// Errors: limit_exceeded.
    result<void> take_cbor(size_t bytes) noexcept {
        if (bytes > cbor_bytes_) {
            return fail(errc::limit_exceeded, "more than {} bytes of CBOR are too much to become JSON at once",
                        {max_json_cbor_bytes});
        }
        cbor_bytes_ -= bytes;
        return {};
    }
    /// False where it is too much.
    [[nodiscard]] bool take_memory(size_t bytes) noexcept {
        const bool fits = bytes <= memory_bytes_;
        memory_bytes_ -= fits ? bytes : 0;
        return fits;
    }
    void give_back(size_t bytes) noexcept { memory_bytes_ += bytes; }

private:
    size_t cbor_bytes_ = max_json_cbor_bytes;
    size_t memory_bytes_ = max_json_memory_bytes;
};

/// JSON that is being made. What is left of it where that fails is taken apart from the leaves on: nlohmann's
/// destructor takes memory for what is nested, and ends the program where there is none.
template <class Json>
class unfinished_json {
public:
    explicit unfinished_json(Json start) noexcept : value_(std::move(start)) {}
    unfinished_json(const unfinished_json&) = delete;
    unfinished_json& operator=(const unfinished_json&) = delete;
    ~unfinished_json() {
        std::array<Json*, max_cbor_depth + 2> path; // the object of all attributes, and a leaf
        size_t depth = 1;
        for (path[0] = &value_; depth != 0;) {
            Json& at = *path[depth - 1];
            if (at.is_structured() && !at.empty()) {
                path[depth++] = at.is_array() ? &at.back() : &*at.begin();
            } else if (--depth != 0) {
                Json& around = *path[depth - 1];
                around.is_array() ? static_cast<void>(around.erase(around.size() - 1))
                                  : static_cast<void>(around.erase(around.begin()));
            }
        }
    }

    [[nodiscard]] Json& value() noexcept { return value_; }

private:
    Json value_;
};

/// One item of CBOR -> JSON, looked at and made in one pass that never recurses: nlohmann's own parser does, and takes
/// -2^64 + 64 for 64, and keeps the last of duplicate keys. Without a `target` all is looked at, and nothing made.
template <class Json>
class json_builder {
public:
    json_builder(bytes_view item, json_budget& budget) noexcept : item_(item), cursor_(item), budget_(budget) {}

    /// Errors: attribute_type (tags, keys that are no text, undefined, integers below -2^63), duplicate_key (where
    /// there is a target), limit_exceeded, and the cbor_... codes.
    result<void> build(Json* target) {
        result<void> valid = budget_.take_cbor(item_.size());
        if (valid) {
            valid = take_value(target);
        }
        while (valid && !open_.empty() && !cursor_.failed()) {
            Json* place = nullptr;
            valid = to_next_value(place);
            if (valid && !open_.empty()) {
                valid = take_value(place);
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
    static constexpr size_t heap_bytes = 16; ///< that an allocation takes besides

    struct container {
        cbor_sequence items;
        bool is_map = false;
        Json* value = nullptr;
    };

    [[nodiscard]] static error not_json(const char* what) {
        return fail(errc::attribute_type, "the value holds {}, which JSON has no place for", {what});
    }
    [[nodiscard]] static error too_large() {
        return fail(errc::limit_exceeded, "as JSON the values would take more than {} bytes of memory",
                    {max_json_memory_bytes});
    }

    /// The next value, to `place`; a container is entered.
    result<void> take_value(Json* place) {
        const cbor_cursor before = cursor_;
        cbor_head head;
        if (!cursor_.read_head(head)) {
            return {};
        }
        switch (head.major) {
        case cbor_major::unsigned_integer:
            return put(place, head.argument);
        case cbor_major::negative_integer:
            return head.argument > static_cast<uint64_t>((std::numeric_limits<int64_t>::max)())
                       ? result<void>(not_json("an integer below -2^63"))
                       : put(place, -1 - static_cast<int64_t>(head.argument));
        case cbor_major::array:
        case cbor_major::map:
            cursor_ = before;
            return enter(place, head.major == cbor_major::map);
        case cbor_major::tag:
            return not_json("a tag");
        case cbor_major::bytes:
        case cbor_major::text:
            cursor_ = before;
            return take_string(place, head.major);
        default:
            return take_simple(place, head);
        }
    }

    template <class Value>
    static result<void> put(Json* place, Value&& value) {
        if (place != nullptr) {
            *place = std::forward<Value>(value);
        }
        return {};
    }

    static result<void> take_simple(Json* place, const cbor_head& head) {
        if (head.info == cbor_false || head.info == cbor_true) {
            return put(place, head.info == cbor_true);
        }
        if (double number = 0; to_number(head, number)) {
            return put(place, number);
        }
        return head.info == cbor_null ? put(place, nullptr)
                                      : result<void>(not_json("undefined or another simple value"));
    }

    result<void> take_string(Json* place, cbor_major major) {
        const size_t start = cursor_.position();
        cbor_cursor passing = cursor_;
        if (passing.skip() && place != nullptr) {
            const size_t encoded = passing.position() - start; // no less than the string itself
            if (!budget_.take_memory(sizeof(string) + encoded + heap_bytes)) {
                return too_large();
            }
        }
        string joined;
        if (!cursor_.read_joined(major, joined) || place == nullptr) {
            return {};
        }
        if (major == cbor_major::text) {
            return put(place, std::move(joined));
        }
        // Not json::binary(), which leaves a broken value behind where memory runs out in it.
        typename Json::binary_t bytes(typename Json::binary_t::container_type(joined.begin(), joined.end()));
        return put(place, Json(std::move(bytes)));
    }

    result<void> enter(Json* place, bool is_map) {
        container entered;
        entered.is_map = is_map;
        entered.value = place;
        if (!(is_map ? cursor_.enter_map(entered.items) : cursor_.enter_array(entered.items))) {
            return {};
        }
        if (place != nullptr) {
            if (!budget_.take_memory((std::max)(sizeof(typename Json::object_t), sizeof(typename Json::array_t)) +
                                     heap_bytes)) {
                return too_large();
            }
            *place = is_map ? Json::object() : Json::array();
        }
        open_.push_back(entered);
        return {};
    }

    /// Leaves the containers that end here, and finds where the next value goes; of a map, by its key.
    result<void> to_next_value(Json*& place) {
        while (!cursor_.failed() && !open_.empty()) {
            container& innermost = open_.back();
            if (cursor_.next(innermost.items)) {
                return innermost.is_map ? add_member(innermost, place) : add_item(innermost, place);
            }
            open_.pop_back();
        }
        return {};
    }

    result<void> add_member(container& map, Json*& place) {
        const size_t start = cursor_.position();
        string key;
        if (!cursor_.read_joined(cbor_major::text, key)) {
            return cursor_.failed() ? result<void>() : result<void>(not_json("a key that is not text"));
        }
        if (map.value == nullptr) {
            return {};
        }
        constexpr size_t node_bytes = sizeof(typename Json::object_t::value_type) + 4 * sizeof(void*);
        if (!budget_.take_memory(node_bytes + heap_bytes + (cursor_.position() - start))) {
            return too_large();
        }
        const auto [member, is_new] = map.value->emplace(std::move(key), nullptr);
        place = &*member;
        return is_new ? result<void>() : fail(errc::duplicate_key, "a map holds a key twice");
    }

    /// Grows the array by itself, so that what growing takes is known.
    result<void> add_item(container& array, Json*& place) {
        if (array.value == nullptr) {
            return {};
        }
        auto& items = array.value->template get_ref<typename Json::array_t&>();
        const size_t before = items.capacity();
        if (items.size() == before) {
            const bool is_claimed = !array.items.is_indefinite && before == 0; // at most as many as bytes were left
            const size_t wanted = is_claimed ? static_cast<size_t>(array.items.remaining) + 1 : 2 * before + 4;
            if (!budget_.take_memory(wanted * sizeof(Json))) {
                return too_large();
            }
            items.reserve(wanted);
            budget_.give_back(before * sizeof(Json));
        }
        array.value->emplace_back(nullptr);
        place = &items.back();
        return {};
    }

    bytes_view item_;
    cbor_cursor cursor_;
    json_budget& budget_;
    vector<container> open_;
};

/// Arrays and objects enclose one another no deeper than every reader allows. Never recurses, as all of nlohmann does.
template <class Json>
[[nodiscard]] bool is_shallow(const Json& value, size_t max_depth) {
    vector<std::pair<const Json*, size_t>> open = {{&value, 1}};
    while (!open.empty()) {
        const auto [at, depth] = open.back();
        open.pop_back();
        if (!at->is_structured()) {
            continue;
        }
        if (depth > max_depth) {
            return false;
        }
        for (const Json& each : *at) {
            open.emplace_back(&each, depth + 1);
        }
    }
    return true;
}

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
result<Json> to_json(bytes_argument cbor_value) {
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
