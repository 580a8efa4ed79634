// SPDX-License-Identifier: MIT
//
// Attributes in the making: what stays where others are removed or merged in, and how numbers keep their value.
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <ztensor/attributes.hpp>

#include <cstdint>
#include <limits>
#include <string>

TEST_CASE("removing a key that is not there changes nothing, wherever it would stand") {
    ztensor::attributes kept;
    kept.remove("nothing");
    CHECK(kept.empty());
    kept.set("b", 1).set("d", 2);
    for (const char* const key : {"a", "c", "e", "", "bb"}) {
        kept.remove(key);
        CHECK(kept.size() == 2);
    }
    kept.remove("b");
    REQUIRE(kept.size() == 1);
    CHECK(kept.values()[0].key == "d");
}

TEST_CASE("merged attributes are in order, and of two of one name the other's stays") {
    ztensor::attributes mine;
    mine.set("a", 1).set("c", 1).set("d", 1).set("g", 1).set("h", 1);
    ztensor::attributes others;
    others.set("b", 2).set("c", 2).set("e", 2).set("f", 2);
    ztensor::attributes merged = mine;
    merged.merge(others);
    std::string keys;
    for (const ztensor::attributes::entry& each : merged.values()) {
        keys += each.key;
        const bool is_mine = each.key == "a" || each.key == "d" || each.key == "g" || each.key == "h";
        REQUIRE(each.cbor.size() == 1);
        CHECK(std::to_integer<int>(each.cbor[0]) == (is_mine ? 1 : 2));
    }
    CHECK(keys == "abcdefgh");

    merged.merge(ztensor::attributes());
    CHECK(merged.size() == 8);
    ztensor::attributes none;
    none.merge(mine);
    CHECK(none.size() == 5);
}

TEST_CASE("a double that no float holds keeps its 64 bits, and others take fewer") {
    constexpr double largest_float = std::numeric_limits<float>::max();
    const double kept_as_double[] = {1e300, -1e300, largest_float * 2, -largest_float * 2, 0.1, -0.1};
    const double kept_as_float[] = {largest_float,
                                    -largest_float,
                                    0.5,
                                    -0.5,
                                    0,
                                    std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity()};
    const auto size_of = [](double value) {
        ztensor::attributes one;
        one.set("k", value);
        return one.values()[0].cbor.size();
    };
    for (const double value : kept_as_double) {
        CHECK(size_of(value) == 9);
    }
    for (const double value : kept_as_float) {
        CHECK(size_of(value) <= 5); // or as a half
    }
}
