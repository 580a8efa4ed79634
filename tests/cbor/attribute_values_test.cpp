// SPDX-License-Identifier: MIT
//
// Values of attributes: their kinds, arrays and maps of them, and visits.
#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/refusal.hpp"
#include "support/writing.hpp"

#include <ztensor/attributes.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

using support::refusal;
using ztensor::attribute_kind;
using ztensor::attributes;
using ztensor::attributes_view;
using ztensor::errc;

struct name_of_visited {
    std::string operator()(std::nullptr_t) const { return "null"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return "i" + std::to_string(value); }
    std::string operator()(std::uint64_t value) const { return "u" + std::to_string(value); }
    std::string operator()(double value) const { return value == 0.5 ? "half" : "number"; }
    std::string operator()(const std::string& value) const { return "'" + value + "'"; }
    std::string operator()(const std::vector<std::byte>& value) const {
        return std::to_string(value.size()) + " bytes";
    }
    std::string operator()(const ztensor::attribute_value& value) const { return std::string(name(value.kind())); }
};

std::vector<std::byte> cbor_of(std::initializer_list<int> bytes) {
    std::vector<std::byte> made;
    for (const int each : bytes) {
        made.push_back(static_cast<std::byte>(each));
    }
    return made;
}

ztensor::reader file_with(const attributes& about) {
    return support::reopened({}, [&](ztensor::writer& out) {
        out.attributes(about).value();
        out.add("w", {1}, {1}, {}, about).value();
    });
}

attributes with_cbor(std::initializer_list<int> bytes) {
    attributes made;
    made.set_cbor("k", cbor_of(bytes)).value();
    return made;
}

} // namespace

TEST_CASE("an attribute of each kind says what it is and is visited as such") {
    struct kept {
        attributes about;
        attribute_kind kind;
        const char* visited;
    };
    const kept all[] = {
        {attributes().set_null("k"), attribute_kind::null, "null"},
        {attributes().set("k", true), attribute_kind::boolean, "true"},
        {attributes().set("k", -7), attribute_kind::integer, "i-7"},
        {attributes().set("k", ~std::uint64_t{0}), attribute_kind::integer, "u18446744073709551615"},
        {with_cbor({0x3b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}), attribute_kind::integer, "integer"},
        {attributes().set("k", 0.5), attribute_kind::number, "half"},
        {attributes().set("k", "MIT"), attribute_kind::text, "'MIT'"},
        {attributes().set("k", std::vector<std::byte>(3)), attribute_kind::bytes, "3 bytes"},
        {attributes().set("k", {1, 2}), attribute_kind::array, "array"},
        {with_cbor({0xa1, 0x61, 'a', 0x01}), attribute_kind::map, "map"},
        {with_cbor({0xc1, 0x01}), attribute_kind::other, "other"},
        {with_cbor({0xf7}), attribute_kind::other, "other"},
    };
    for (const kept& each : all) {
        INFO(each.visited);
        const auto file = file_with(each.about);
        CHECK(file.attributes().kind("k").value() == each.kind);
        CHECK(file["w"].attributes().value("k").value().visit(name_of_visited()) == each.visited);
        CHECK((*file.attributes().begin()).kind() == each.kind);
        CHECK(file.attributes().begin()->value().visit(name_of_visited()) == each.visited);
    }
}

TEST_CASE("arrays of numbers, bools and texts are set from any range and read again") {
    const auto file = file_with(attributes()
                                    .set("ints", {1, -2, 3})
                                    .set("list", std::list<unsigned>{1, 2})
                                    .set("mean", std::array<float, 2>{0.5F, 0.25F})
                                    .set("flags", std::vector<bool>{true, false})
                                    .set("names", {"a", "b"})
                                    .set("strings", std::vector<std::string>{"x"})
                                    .set("empty", std::vector<int>()));
    const attributes_view about = file.attributes();
    CHECK(about.array<int>("ints").value() == std::vector<int>{1, -2, 3});
    CHECK(about.array<double>("ints").value() == std::vector<double>{1, -2, 3});
    CHECK(about.array<std::uint8_t>("list").value() == std::vector<std::uint8_t>{1, 2});
    CHECK(about.array<float>("mean").value() == std::vector<float>{0.5F, 0.25F});
    CHECK(about.array<bool>("flags").value() == std::vector<bool>{true, false});
    CHECK(about.array<std::string>("names").value() == std::vector<std::string>{"a", "b"});
    CHECK(about.array<std::string>("strings").value() == std::vector<std::string>{"x"});
    CHECK(about.array<int>("empty").value().empty());
    CHECK(about.value("names").value().items().value().size() == 2);
    CHECK(refusal(about.array<unsigned>("ints")) == errc::attribute_type);
    CHECK(refusal(about.array<std::string>("ints")) == errc::attribute_type);
    CHECK(refusal(about.array<int>("nothing")) == errc::attribute_not_found);
    const auto large = file_with(attributes().set("k", {1, 300}));
    CHECK(refusal(large.attributes().array<std::uint8_t>("k")) == errc::attribute_type);
    CHECK(refusal(large.attributes().array<std::int8_t>("k")) == errc::attribute_type);
}

TEST_CASE("a map within attributes is read as attributes are, if its keys are text") {
    const auto nested = file_with(with_cbor({0xa2, 0x61, 'a', 0x01, 0x61, 'b', 0xa1, 0x61, 'c', 0x02}));
    const attributes_view inner = nested.attributes().map("k").value();
    CHECK(inner.integer("a").value() == 1);
    CHECK(inner.map("b").value().integer("c").value() == 2);
    const auto numbered = file_with(with_cbor({0xa1, 0x01, 0x01}));
    CHECK(refusal(numbered.attributes().map("k")) == errc::attribute_type);
    const auto plain = file_with(attributes().set("k", 1));
    CHECK(refusal(plain.attributes().map("k")) == errc::attribute_type);
}

TEST_CASE("an error of an attribute names the object, the key and what was found") {
    const auto file = file_with(attributes().set("unit", "mV"));
    const auto wrong = file["w"].attributes().integer("unit");
    REQUIRE(refusal(wrong) == errc::attribute_type);
    CHECK(wrong.error().object() == "w");
    CHECK(wrong.error().what() == "object \"w\": attribute \"unit\" is text, not an integer of 64 bits with sign");
    CHECK(file["w"].attributes().text("nothing").error().object() == "w");
    CHECK(file.attributes().text("nothing").error().object().empty());
}

#if !defined(ZTENSOR_TESTS_ARE_SANITIZED) && ZTENSOR_HAS_EXCEPTIONS

TEST_CASE("a text or bytes that there is no memory for are visited as the value that they are") {
    const std::string long_text(1000, 't');
    const ztensor::reader file = file_with(attributes().set("t", long_text).set("b", std::vector<std::byte>(1000)));
    struct is_value {
        bool operator()(const ztensor::attribute_value&) const { return true; }
        bool operator()(const std::string&) const { return false; }
        bool operator()(const std::vector<std::byte>&) const { return false; }
        bool operator()(std::nullptr_t) const { return false; }
        bool operator()(bool) const { return false; }
        bool operator()(std::int64_t) const { return false; }
        bool operator()(std::uint64_t) const { return false; }
        bool operator()(double) const { return false; }
    };
    for (const char* const key : {"t", "b"}) {
        const auto value = file.attributes().value(key).value();
        CHECK_FALSE(value.visit(is_value()));
        support::allocations_before_failure = 1;
        const bool was_value = value.visit(is_value());
        support::allocations_before_failure = 0;
        support::failed_allocations = 0;
        CHECK(was_value);
    }
}

#endif
