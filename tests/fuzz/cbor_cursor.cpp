// SPDX-License-Identifier: MIT
//
// The two CBOR cursors on any bytes: each passes over exactly what RFC 8949 and its depth allow, as a parser of the
// tests' own knows it; strings are joined as that joins them, and the attributes made of a map hold together. Takes no
// memory for an input unless it is a map, so that very many can be tried.
#include "fuzz/fuzzing.hpp"
#include "fuzz/well_formed.hpp"

#include <ztensor/attributes.hpp>
#include <ztensor/detail/cbor/cursor.hpp>

#include <array>
#include <string>

namespace detail = ztensor::detail;

const std::size_t fuzzing::working_bytes = std::size_t{1} << 20;

namespace {

/// Kept, so that only the longest string ever met is waited for.
std::string joined, expected;

void join(ztensor::bytes_view encoded, std::size_t position, detail::cbor_major major) {
    detail::cbor_cursor cursor(encoded, 0, position);
    const bool is_joined = cursor.read_joined(major, joined);
    const std::string_view rest = fuzzing::as_text(encoded).substr(position);
    fuzzing::require(is_joined == fuzzing::join_string(rest, static_cast<unsigned>(major), expected),
                     "a string is joined exactly if it is one");
    fuzzing::require(!is_joined || joined == expected, "the chunks of a string are joined");
}

bool is_string(detail::cbor_major major) noexcept {
    return major == detail::cbor_major::text || major == detail::cbor_major::bytes;
}

/// Every head from the front on, as if each were the first of an item.
void read_words(ztensor::bytes_view input) {
    detail::cbor_cursor words(input);
    detail::cbor_head head;
    detail::cbor_text text;
    constexpr int most_items = 16; // what lies farther back is the front of other inputs
    for (int i = 0; i < most_items && words.remaining() != 0 && !words.failed(); ++i) {
        const std::size_t start = words.position();
        detail::cbor_cursor again = words;
        static_cast<void>(again.read_key(text));
        if (!words.read_head(head) || i == 0 || is_string(head.major)) { // one of another kind is refused at its head
            join(input, start, detail::cbor_major::text);
            join(input, start, detail::cbor_major::bytes);
        }
    }
}

/// Asks for `key` as one of the kinds that it may be; which one, its place says.
void ask(const ztensor::attributes_view& attributes, const ztensor::attribute& each, std::size_t turn) {
    const ztensor::attribute_kind kind = each.kind();
    switch (turn % 6) {
    case 0:
        fuzzing::require(attributes.text(each.key).has_value() <= (kind == ztensor::attribute_kind::text),
                         "only text is text");
        break;
    case 1:
        fuzzing::require(attributes.boolean(each.key).has_value() == (kind == ztensor::attribute_kind::boolean),
                         "a boolean is one");
        break;
    case 2:
        fuzzing::require(attributes.byte_string(each.key).has_value() == (kind == ztensor::attribute_kind::bytes),
                         "a byte string is one");
        break;
    case 3:
        fuzzing::require(attributes.integer(each.key).has_value() <= (kind == ztensor::attribute_kind::integer),
                         "only an integer is an integer");
        break;
    case 4:
        static_cast<void>(attributes.number(each.key));
        break;
    default:
        static_cast<void>(attributes.map(each.key));
    }
}

/// As attributes, if the map has distinct keys of text in one piece: only of such a view may be made.
void read_as_attributes(ztensor::bytes_view map, std::size_t salt) {
    constexpr std::size_t most_keys = 64;
    std::array<std::string_view, most_keys> keys;
    std::size_t count = 0;
    detail::cbor_cursor cursor(map);
    detail::cbor_sequence pairs;
    detail::cbor_text key;
    if (!cursor.enter_map(pairs)) {
        return;
    }
    while (cursor.next(pairs)) {
        if (count == most_keys || !cursor.read_key(key) || key.is_chunked || !cursor.skip()) {
            return;
        }
        for (std::size_t i = 0; i < count; ++i) {
            if (keys[i] == key.text) {
                return;
            }
        }
        keys[count++] = key.text;
    }
    const ztensor::attributes_view attributes(map);
    std::size_t met = 0;
    for (const ztensor::attribute& each : attributes) {
        fuzzing::require(!each.cbor.empty(), "an attribute has a value");
        fuzzing::require(met < count && keys[met] == each.key, "the attributes are the pairs of the map");
        ask(attributes, each, salt + met);
        ++met;
    }
    fuzzing::require(met == count, "every pair of the map is an attribute");
}

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    const std::string_view text = as_text(input);
    detail::cbor_cursor cursor(input);
    const bool is_passed = cursor.skip();
    require(is_passed != cursor.failed(), "a fault is kept");
    require((is_passed ? cursor.position() : 0) == well_formed_bytes(text, detail::max_cbor_depth),
            "the cursor passes over exactly what is well-formed and not too deep");
    detail::deterministic_cursor strict(input);
    const bool is_strictly_passed = strict.skip();
    require(is_strictly_passed != strict.failed(), "a fault is kept");
    require((is_strictly_passed ? strict.position() : 0) == deterministic_bytes(text, detail::max_deterministic_depth),
            "the strict cursor passes over exactly what is encoded deterministically and not too deep");
    read_words(input);
    if (is_passed && cursor.remaining() == 0) {
        read_as_attributes(input, input.size());
    }
}
