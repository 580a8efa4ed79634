// SPDX-License-Identifier: MIT
//
// The CBOR cursor on any bytes: it agrees with a parser of the tests' own about what is one well-formed item, joins
// strings as that does, and the attributes made of the item hold together.
#include "fuzz/cbor_tree.hpp"
#include "fuzz/fuzzing.hpp"

#include <ztensor/attributes_view.hpp>
#include <ztensor/detail/cbor/cursor.hpp>

namespace detail = ztensor::detail;

const std::size_t fuzzing::working_bytes = std::size_t{1} << 20;

namespace {

/// How deep arrays, maps and tags enclose one another.
std::size_t depth_of(const fuzzing::item& root) {
    std::size_t deepest = 0;
    for (const fuzzing::item& child : root.children) {
        deepest = std::max(deepest, depth_of(child));
    }
    const bool encloses =
        root.kind == fuzzing::kind::array || root.kind == fuzzing::kind::map || root.kind == fuzzing::kind::tag;
    return deepest + (encloses ? 1 : 0);
}

/// What the tests' parser lets pass and the library does not.
bool is_taken_by_the_library(const fuzzing::item& root) {
    if (root.kind == fuzzing::kind::simple && root.argument_bytes == 1 && root.argument < 32) {
        return false;
    }
    for (const fuzzing::item& child : root.children) {
        if (!is_taken_by_the_library(child)) {
            return false;
        }
    }
    return root.kind != fuzzing::kind::map || root.children.size() % 2 == 0;
}

void read_as_attributes(ztensor::bytes_view map) {
    const ztensor::attributes_view attributes(map);
    std::size_t count = 0;
    for (const ztensor::attribute& each : attributes) {
        fuzzing::require(!each.cbor.empty(), "an attribute has a value");
        ++count;
        static_cast<void>(attributes.integer(each.key));
        static_cast<void>(attributes.number(each.key));
        static_cast<void>(attributes.text(each.key));
        static_cast<void>(attributes.byte_string(each.key));
        if (count == 64) {
            break; // finding one takes as long as passing all
        }
    }
}

/// True if `map` is a map with distinct keys of well-formed text: only of such a view may be made.
bool is_valid_map(const fuzzing::item& map) {
    if (map.kind != fuzzing::kind::map || map.children.size() % 2 != 0) {
        return false;
    }
    for (std::size_t i = 0; i < map.children.size(); i += 2) {
        const fuzzing::item& key = map.children[i];
        if (key.kind != fuzzing::kind::text || key.is_indefinite || !detail::is_utf8(key.content)) {
            return false;
        }
        for (std::size_t other = 0; other < i; other += 2) {
            if (map.children[other].content == key.content) {
                return false;
            }
        }
    }
    return true;
}

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    detail::cbor_cursor cursor(input);
    const bool is_item = cursor.skip() && cursor.remaining() == 0;
    require(is_item || cursor.remaining() != 0 || cursor.failed(), "a fault is kept");
    const std::optional<item> tree = parse_item(as_text(input));
    if (is_item) {
        require(tree.has_value(), "what the cursor passes over is well-formed");
        require(encode(*tree) == as_text(input), "the tests' own parser keeps every byte");
    } else if (tree && is_taken_by_the_library(*tree)) {
        require(depth_of(*tree) > detail::max_cbor_depth, "only depth divides the cursor and the tests' own parser");
    }

    detail::cbor_cursor words(input);
    detail::cbor_head head;
    detail::cbor_text text;
    std::string joined;
    constexpr int most_items = 64; // joining looks at all that follows
    for (int i = 0; i < most_items && words.remaining() != 0 && !words.failed(); ++i) {
        detail::cbor_cursor again = words;
        static_cast<void>(again.read_joined(detail::cbor_major::text, joined));
        again = words;
        static_cast<void>(again.read_joined(detail::cbor_major::bytes, joined));
        again = words;
        static_cast<void>(again.read_key(text));
        static_cast<void>(words.read_head(head));
    }
    if (is_item && tree && tree->children.size() < 256 && is_valid_map(*tree)) {
        read_as_attributes(input);
    }
}
