// SPDX-License-Identifier: MIT
//
// What the layouts of version 2 need of an object's attributes, and what stands there instead.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/refusal.hpp"

#include <ztensor/attributes.hpp>
#include <ztensor/detail/index/layouts.hpp>

TEST_CASE("a map that a layout needs has keys of text alone") {
    namespace cbor = support::cbor;
    using support::outcome;
    cbor::map numbered;
    numbered.add(cbor::number(1), cbor::number(2));
    cbor::map mixed = {{"a", cbor::number(2)}};
    mixed.add(cbor::number(1), cbor::number(2));
    const support::bytes encoded = cbor::map{
        {"right", cbor::map{{"a", cbor::number(7)}}},
        {"empty", cbor::map()},
        {"numbered", numbered},
        {"mixed", mixed},
        {"array", cbor::numbers({1})},
        {"text", cbor::text("x")},
    };
    const ztensor::attributes_view attributes(support::bytes_of(encoded));
    const auto asked = [&](const char* key) { return outcome(ztensor::detail::required_map(attributes, key)); };
    CHECK(asked("right") == "ok");
    CHECK(ztensor::detail::required_map(attributes, "right").value().unsigned_integer("a").value() == 7);
    CHECK(asked("empty") == "ok");
    CHECK(asked("numbered") == "layout_attributes");
    CHECK(asked("mixed") == "layout_attributes");
    CHECK(asked("array") == "layout_attributes");
    CHECK(asked("text") == "layout_attributes");
    CHECK(asked("absent") == "layout_attributes");
    CHECK(outcome(ztensor::detail::required_number(attributes, "text")) == "layout_attributes");
    CHECK(outcome(ztensor::detail::required_word(attributes, "array")) == "layout_attributes");
}
