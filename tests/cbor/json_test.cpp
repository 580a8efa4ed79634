// SPDX-License-Identifier: MIT
//
// Attributes as JSON and back: what becomes what, what JSON has no place for, and that nothing hostile gets through to
// a parser that recurses.
#include "index/walking.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/counted_memory.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/json.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using nlohmann::json;
using support::bytes;
using support::largest;
using support::outcome;
using support::repeated;
using support::to_vector;
using support::two_to_63;
using ztensor::attributes;
using ztensor::result;
using ztensor::to_attributes;
using ztensor::to_json;
namespace cbor = support::cbor;

json json_of(const bytes& item) {
    const std::vector<std::byte> content = to_vector(item);
    return to_json(ztensor::bytes_view(content)).value();
}

/// "ok", or the code of the error.
std::string answer_to(const bytes& item) {
    const std::vector<std::byte> content = to_vector(item);
    return outcome(to_json(ztensor::bytes_view(content)));
}

/// The encoded_value value that {"k": value} becomes.
bytes encoded_value(const json& value) {
    const attributes made = to_attributes(json{{"k", value}}).value();
    REQUIRE(made.size() == 1);
    CHECK(made.values().front().key == "k");
    return support::as_string(made.values().front().cbor);
}

} // namespace

// -- to JSON

TEST_CASE("values become what they are in JSON") {
    CHECK(json_of(cbor::number(0)) == json(0));
    CHECK(json_of(cbor::number(largest)) == json(largest));
    CHECK(json_of(cbor::minus_one_minus(0)) == json(-1));
    CHECK(json_of(cbor::minus_one_minus(two_to_63 - 1)) == json(std::numeric_limits<std::int64_t>::min()));
    CHECK(json_of(cbor::head_of_size(cbor::major::unsigned_integer, 5, 8)) == json(5));
    CHECK(json_of(cbor::yes) == json(true));
    CHECK(json_of(cbor::no) == json(false));
    CHECK(json_of(cbor::null) == json(nullptr));
    CHECK(json_of(cbor::half_one) == json(1.0));
    CHECK(json_of(bytes("\xf9\x00\x01", 3)) == json(std::ldexp(1.0, -24)));
    CHECK(json_of(cbor::single_one) == json(1.0));
    CHECK(json_of("\xfb\x3f\xf1\x99\x99\x99\x99\x99\x9a") == json(1.1));
    CHECK(json_of(bytes("\xf9\xfc\x00", 3)) == json(-std::numeric_limits<double>::infinity()));
    CHECK(std::isnan(json_of(bytes("\xf9\x7e\x00", 3)).get<double>()));
    CHECK(json_of(cbor::text("text \xc3\xbc")) == json("text \xc3\xbc"));
    CHECK(json_of(cbor::chunked({"te", "", "xt"})) == json("text"));
    CHECK(json_of(cbor::byte_string("\x01\xff")) == json::binary({1, 255}));
    CHECK(json_of(cbor::numbers({1, 2})) == json({1, 2}));
    CHECK(json_of(cbor::array({})) == json::array());
    CHECK(json_of(cbor::indefinite_array({cbor::number(1), cbor::array({})})) == json({1, json::array()}));
    CHECK(json_of(cbor::map{}) == json::object());
    const cbor::map map{{"b", cbor::number(1)}, {"a", cbor::map{{"", cbor::null}}}};
    CHECK(json_of(map) == json({{"a", {{"", nullptr}}}, {"b", 1}}));
    CHECK(json_of(map.indefinite()) == json_of(map));
}

TEST_CASE("numbers keep their kind") {
    CHECK(json_of(cbor::number(1)).is_number_unsigned());
    CHECK(json_of(cbor::minus_one_minus(0)).is_number_integer());
    CHECK(json_of(cbor::half_one).is_number_float());
}

TEST_CASE("what JSON has no place for is refused") {
    const bytes refused[] = {
        cbor::tag(1, cbor::number(5)),
        cbor::tag(55799, cbor::map{}.encoded()),
        cbor::undefined,
        bytes("\xe0"),
        bytes("\xf8\x20"),
        bytes("\xf8\xff"),
        cbor::minus_one_minus(two_to_63),
        cbor::minus_one_minus(two_to_63 + 5),
        cbor::minus_one_minus(largest - 64), // −2^64 + 64, which wraps to 64
        cbor::minus_one_minus(largest),
        cbor::map{}.add(cbor::number(1), cbor::number(2)).encoded(),
        cbor::map{}.add(cbor::null, cbor::number(2)).encoded(),
        cbor::map{}.add(cbor::byte_string("k"), cbor::number(2)).encoded(),
        cbor::map{}.add(cbor::array({}), cbor::number(2)).indefinite(),
        cbor::map{}.add(cbor::tag(1, cbor::text("k")), cbor::number(2)).encoded(),
    };
    for (const bytes& each : refused) {
        CAPTURE(each);
        CHECK(answer_to(each) == "attribute_type");
        CHECK(answer_to(cbor::array({cbor::number(1), each})) == "attribute_type");
        CHECK(answer_to(cbor::map{{"a", cbor::number(1)}, {"b", each}}) == "attribute_type");
        CHECK(answer_to(cbor::indefinite_array({cbor::map{{"b", each}}.indefinite()})) == "attribute_type");
    }
}

TEST_CASE("a key that stands twice in a map is refused, wherever the map is") {
    const cbor::map twice{{"k", cbor::number(1)}, {"other", cbor::null}, {"k", cbor::number(2)}};
    cbor::map twice_in_chunks{{"key", cbor::number(1)}, {"x", cbor::number(2)}};
    twice_in_chunks.respell("x", cbor::chunked({"k", "ey"}));
    for (const bytes& each : {twice.encoded(), twice.indefinite(), twice_in_chunks.encoded()}) {
        CAPTURE(each);
        CHECK(answer_to(each) == "duplicate_key");
        CHECK(answer_to(cbor::array({each})) == "duplicate_key");
        CHECK(answer_to(cbor::map{{"k", each}}) == "duplicate_key");
        CHECK(answer_to(cbor::map{{"a", each}, {"b", cbor::number(1)}}.indefinite()) == "duplicate_key");
    }
    // The same key in different maps is no twin.
    const bytes inner = cbor::map{{"k", cbor::number(1)}};
    CHECK(answer_to(cbor::map{{"k", inner}, {"l", inner}, {"m", cbor::array({inner, inner})}}) == "ok");
}

TEST_CASE("what is not one well-formed item becomes no JSON") {
    CHECK(answer_to("") == "cbor_truncated");
    CHECK(answer_to("\x18") == "cbor_truncated");
    CHECK(answer_to("\x82\x01") == "cbor_truncated");
    CHECK(answer_to("\x9f\x01") == "cbor_truncated");
    CHECK(answer_to("\x62\x61") == "cbor_truncated");
    CHECK(answer_to("\xa1\x61\x61") == "cbor_truncated");
    CHECK(answer_to("\x9b\xff\xff\xff\xff\xff\xff\xff\xff") == "cbor_truncated");
    CHECK(answer_to("\x1c") == "cbor_malformed");
    CHECK(answer_to("\xff") == "cbor_malformed");
    CHECK(answer_to("\xbf\x61\x61\xff") == "cbor_malformed");
    CHECK(answer_to("\x81\xff") == "cbor_malformed");
    CHECK(answer_to("\x7f\x41\x61\xff") == "cbor_malformed");
    CHECK(answer_to(cbor::text("\xff")) == "cbor_utf8");
    CHECK(answer_to(cbor::map{{"\xff", cbor::null}}) == "cbor_utf8");
    CHECK(answer_to("\x01\x02") != "ok");
    CHECK(answer_to(cbor::numbers({1}) + cbor::number(2)) != "ok");
}

TEST_CASE("nothing nested deeper than the limit reaches the recursive parser") {
    CHECK(answer_to(cbor::nested(64)) == "ok");
    CHECK(answer_to(cbor::nested(65)) == "cbor_depth");
    CHECK(answer_to(cbor::nested(1000000)) == "cbor_depth");
    CHECK(answer_to(repeated(1000000, "\x9f")) == "cbor_depth");
    CHECK(answer_to(repeated(1000000, "\xa1\x60")) == "cbor_depth");
    CHECK(answer_to(repeated(1000000, "\x7f")) == "cbor_malformed");
    CHECK(answer_to(repeated(1000000, "\x5f")) == "cbor_malformed");
    CHECK(answer_to(repeated(1000000, "\xc1")) == "attribute_type");
    // Chunks inside of chunks, as a key.
    CHECK(answer_to("\xa1\x7f" + repeated(32 * 31250, "\x7f") + "\xff\x01") != "ok");
    CHECK(answer_to("\xa1\x7f\x7f" + cbor::text("a") + "\xff\xff" + cbor::byte_string(std::string(40, 'x'))) != "ok");
}

TEST_CASE("JSON nested as deep as may be takes no stack for each level") {
    std::string of_arrays, of_maps;
    walking::on_little_stack([&] {
        of_arrays = answer_to(cbor::nested(64));
        of_maps = answer_to(repeated(63, bytes("\xa1\x60", 2)) + "\xa0");
    });
    CHECK(of_arrays == "ok");
    CHECK(of_maps == "ok");
}

TEST_CASE("a value too large for JSON is refused before it is parsed") {
    const std::size_t limit = std::size_t{16} << 20;
    CHECK(answer_to(cbor::byte_string(std::string(limit - 5, 'x'))) == "ok");
    CHECK(answer_to(cbor::byte_string(std::string(limit - 4, 'x'))) == "limit_exceeded");
}

TEST_CASE("all attributes become one object") {
    const std::vector<std::byte> map = to_vector(cbor::map{
        {"b", cbor::number(1)},
        {"a", cbor::map{{"x", cbor::null}}},
        {"\xc3\xbc", cbor::text("t")}}.encoded());
    CHECK(to_json(ztensor::attributes_view(map)).value() ==
          json({{"a", {{"x", nullptr}}}, {"b", 1}, {"\xc3\xbc", "t"}}));
    CHECK(to_json(ztensor::attributes_view()).value() == json::object());
}

TEST_CASE("the attribute that JSON has no place for is named") {
    const std::vector<std::byte> map =
        to_vector(cbor::map{{"fine", cbor::number(1)}, {"when", cbor::tag(1, cbor::number(5))}}.encoded());
    const result<json> converted = to_json(ztensor::attributes_view(map));
    REQUIRE(outcome(converted) == "attribute_type");
    CHECK(converted.error().what().find("\"when\"") != std::string::npos);
    CHECK(converted.error().what().find("\"fine\"") == std::string::npos);
}

// -- from JSON

TEST_CASE("JSON becomes the shortest CBOR") {
    CHECK(encoded_value(0) == cbor::number(0));
    CHECK(encoded_value(255) == cbor::number(255));
    CHECK(encoded_value(largest) == cbor::number(largest));
    CHECK(encoded_value(-1) == cbor::minus_one_minus(0));
    CHECK(encoded_value(std::numeric_limits<std::int64_t>::min()) == cbor::minus_one_minus(two_to_63 - 1));
    CHECK(encoded_value(true) == cbor::yes);
    CHECK(encoded_value(false) == cbor::no);
    CHECK(encoded_value(nullptr) == cbor::null);
    CHECK(encoded_value("text \xc3\xbc") == cbor::text("text \xc3\xbc"));
    CHECK(encoded_value(std::string(300, 'a')) == cbor::text(std::string(300, 'a')));
    CHECK(encoded_value(json::binary({1, 255})) == cbor::byte_string("\x01\xff"));
    CHECK(encoded_value(json::array()) == cbor::array({}));
    CHECK(encoded_value({1, "a", nullptr}) == cbor::array({cbor::number(1), cbor::text("a"), cbor::null}));
    CHECK(encoded_value(json::object()) == cbor::map{}.encoded());
    CHECK(encoded_value(json{{"x", {{"y", 1}}}}) == cbor::map{{"x", cbor::map{{"y", cbor::number(1)}}}}.encoded());
}

TEST_CASE("floats of JSON take the fewest bits that keep them, wherever they stand") {
    const std::pair<double, bytes> floats[] = {
        {1.5, bytes("\xf9\x3e\x00", 3)},
        {0.0, bytes("\xf9\x00\x00", 3)},
        {-0.0, bytes("\xf9\x80\x00", 3)},
        {65504.0, bytes("\xf9\x7b\xff", 3)},
        {100000.0, bytes("\xfa\x47\xc3\x50\x00", 5)},
        {std::ldexp(1.0, -24), bytes("\xf9\x00\x01", 3)},
        {std::ldexp(1.0, -25), bytes("\xfa\x33\x00\x00\x00", 5)},
        {1.1, "\xfb\x3f\xf1\x99\x99\x99\x99\x99\x9a"},
        {1e300, bytes("\xfb\x7e\x37\xe4\x3c\x88\x00\x75\x9c", 9)},
        {std::numeric_limits<double>::infinity(), bytes("\xf9\x7c\x00", 3)},
        {-std::numeric_limits<double>::infinity(), bytes("\xf9\xfc\x00", 3)},
        {std::numeric_limits<double>::quiet_NaN(), bytes("\xf9\x7e\x00", 3)},
    };
    for (const auto& [value, expected] : floats) {
        CAPTURE(value);
        CHECK(encoded_value(value) == expected);
        CHECK(encoded_value({1, value, "x"}) == cbor::array({cbor::number(1), expected, cbor::text("x")}));
        CHECK(encoded_value(json{{"a", {{"b", {value}}}}, {"z", value}}) ==
              cbor::map{{"a", cbor::map{{"b", cbor::array({expected})}}}, {"z", expected}}.encoded());
    }
}

TEST_CASE("strings that look like floats stay strings") {
    const std::vector<std::uint8_t> looks_like_one = {0xfb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0};
    CHECK(encoded_value({json::binary(looks_like_one), 1.5}) ==
          cbor::array(
              {cbor::byte_string(bytes(looks_like_one.begin(), looks_like_one.end())), bytes("\xf9\x3e\x00", 3)}));
    CHECK(encoded_value(std::string(500, '\x3f')) == cbor::text(std::string(500, '\x3f')));
}

TEST_CASE("only an object becomes attributes") {
    for (const json& other : {json(nullptr), json(1), json("text"), json::array(), json({1, 2}), json(true)}) {
        CAPTURE(other);
        CHECK(outcome(to_attributes(other)) == "attribute_type");
    }
    CHECK(to_attributes(json::object()).value().empty());
    const attributes two = to_attributes(json{{"b", 1}, {"a", 2}}).value();
    CHECK(two.size() == 2);
    CHECK(two.values().front().key == "a");
}

TEST_CASE("text that is not UTF-8 is refused, and the attribute named") {
    for (const json& bad : {json("\xff"), json({1, "\xc3"}), json{{"inner", "\xff"}}, json{{"\xff", 1}}}) {
        const result<attributes> made = to_attributes(json{{"fine", 1}, {"wrong", bad}});
        REQUIRE(outcome(made) == "cbor_utf8");
        CHECK(made.error().what().find("\"wrong\"") != std::string::npos);
    }
}

TEST_CASE("JSON nests as deep as a reader allows attribute values to, and no deeper") {
    const auto nested = [](std::size_t levels, bool as_objects) {
        json value = 1;
        for (std::size_t i = 0; i < levels; ++i) {
            value = as_objects ? json{{"n", std::move(value)}} : json::array({std::move(value)});
        }
        return value;
    };
    for (const bool as_objects : {false, true}) {
        CHECK(outcome(to_attributes(json{{"k", nested(60, as_objects)}})) == "ok");
        const result<attributes> too_deep = to_attributes(json{{"k", nested(61, as_objects)}});
        REQUIRE(outcome(too_deep) == "cbor_depth");
        CHECK(too_deep.error().what().find("\"k\"") != std::string::npos);
        CHECK(outcome(to_attributes(json{{"k", nested(500, as_objects)}})) == "cbor_depth");
    }
}

// -- there and back

TEST_CASE("JSON goes through a file and comes back the same") {
    const json original = {
        {"empty", json::object()},
        {"list", {1, -2, 3.5, "four", nullptr, true, {{"five", {6, 7}}}}},
        {"text", "line\nbreak \xc3\xbc \"quoted\""},
        {"large", largest},
        {"small", std::numeric_limits<std::int64_t>::min()},
        {"tiny", 5e-324},
        {"binary", json::binary({0, 1, 254, 255})},
        {"a/b..c", false},
    };
    const attributes made = to_attributes(original).value();
    ztensor::writer out = ztensor::writer::to_memory().value();
    out.attributes(made).value();
    out.add_object(
           "w",
           ztensor::object_draft(ztensor::format::dense, {1}).component("data", std::vector<float>{1}).attributes(made))
        .value();
    out.finish().value();
    const ztensor::reader file = ztensor::reader::from_bytes(out.take_bytes()).value();
    CHECK(to_json(file.attributes()).value() == original);
    CHECK(to_json(file.find("w").value().attributes()).value() == original);
    CHECK(to_json(file.attributes().cbor("list").value()).value() == original["list"]);
}

TEST_CASE("attributes of every generation become JSON") {
    using ztensor::version;
    for (const ztensor::version each : {version::v1_0, version::v1_1, version::v1_2}) {
        CAPTURE(name(each));
        const ztensor::reader file =
            ztensor::reader::from_bytes(
                to_vector(support::sample(each).root("attributes", cbor::map{{"k", cbor::numbers({1, 2})}}).file()))
                .value();
        CHECK(to_json(file.attributes()).value() == json({{"k", {1, 2}}}));
    }
    const ztensor::reader oldest =
        ztensor::reader::from_bytes(
            to_vector(support::sample(version::v0_1).object("custom", cbor::chunked({"a", "b"})).file()))
            .value();
    CHECK(to_json(oldest.find("w").value().attributes()).value() == json({{"custom", "ab"}}));
}

// -- in a file

TEST_CASE("B15, B23, C4: attributes that JSON can't hold are refused when they become JSON") {
    const std::pair<bytes, std::optional<ztensor::errc>> values[] = {
        {cbor::map{{"a", cbor::no}, {"b", cbor::map{{"a", cbor::yes}}}}, std::nullopt},
        {cbor::map{{"a", cbor::no}, {"a", cbor::yes}}, ztensor::errc::duplicate_key},
        {cbor::array({cbor::map().add(cbor::text("a"), cbor::no).add(cbor::chunked({"a"}), cbor::no)}),
         ztensor::errc::duplicate_key},
        {cbor::tag(1, cbor::number(1)), ztensor::errc::attribute_type},
        {cbor::map().add(cbor::number(1), cbor::no), ztensor::errc::attribute_type},
        {cbor::undefined, ztensor::errc::attribute_type},
        {"\xe0", ztensor::errc::attribute_type},
        {cbor::minus_one_minus(two_to_63 - 1), std::nullopt},
        {cbor::minus_one_minus(two_to_63), ztensor::errc::attribute_type},
        {cbor::minus_one_minus(largest - 64), ztensor::errc::attribute_type},
        {cbor::byte_string(bytes((16 << 20) - 5, 'x')), std::nullopt},
        {cbor::byte_string(bytes((16 << 20) - 4, 'x')), ztensor::errc::limit_exceeded},
    };
    for (const auto& [value, refusal] : values) {
        const ztensor::reader opened =
            support::opened(support::sample().root("attributes", cbor::map{{"k", value}}).file());
        CHECK(opened.attributes().cbor("k").value().size() == value.size());
        const auto json = to_json(opened.attributes());
        CAPTURE(value.size(), ztensor::detail::quote(value));
        CHECK(json.has_value() == !refusal);
        if (refusal && !json) {
            CHECK(json.error().code() == *refusal);
        }
    }
}

// -- what a call may take

namespace {

json object_of_attributes(std::size_t count, const bytes& value) {
    cbor::map map;
    for (std::size_t i = 0; i < count; ++i) {
        map.set("k" + std::to_string(i), value);
    }
    const std::vector<std::byte> encoded = to_vector(map.encoded());
    const result<json> made = to_json(ztensor::attributes_view(ztensor::bytes_view(encoded)));
    return made ? json("ok") : json(std::string(name(made.error().code())));
}

} // namespace

TEST_CASE("the limit is that of all attributes together") {
    const bytes seven_mib = cbor::byte_string(std::string(std::size_t{7} << 20, 'x'));
    CHECK(object_of_attributes(2, seven_mib) == "ok");
    CHECK(object_of_attributes(3, seven_mib) == "limit_exceeded");
}

TEST_CASE("what JSON would take in memory is bounded, and items of an array take no more than themselves") {
    const auto array_of = [](std::size_t count, std::string_view item, bool is_definite) {
        return is_definite ? cbor::head(cbor::major::array, count) + repeated(count, item)
                           : cbor::indefinite_head(cbor::major::array) + repeated(count, item) + cbor::stop;
    };
    const std::size_t mebi = std::size_t{1} << 20;
    const std::vector<std::byte> numbers = to_vector(array_of(8 * mebi, "\x01", true));
    const support::memory_use use = support::measure_memory([&] { return to_json(ztensor::bytes_view(numbers)); });
    if (support::counts_memory) {
        CHECK(use.most <= 8 * mebi * sizeof(json) + mebi);
    }
    CHECK(answer_to(array_of(16 * mebi - 16, "\x01", true)) == "ok");
    CHECK(answer_to(array_of(8 * mebi, "\x01", false)) == "limit_exceeded"); // growing takes the old place and the new
    CHECK(answer_to(array_of(8 * mebi, "\xa0", true)) == "limit_exceeded");
    CHECK(answer_to(array_of(8 * mebi, "\x60", true)) == "limit_exceeded");
}

TEST_CASE("many claims of many items cost no memory") {
    bytes claims;
    for (std::size_t i = 0; i < 60; ++i) {
        claims += cbor::head_of_size(cbor::major::array, (std::size_t{1} << 22) - 10 * i, 8);
    }
    claims += bytes(std::size_t{1} << 22, '\x01');
    const std::vector<std::byte> content = to_vector(claims);
    std::string answer;
    const support::memory_use use = support::measure_memory([&] {
        answer = outcome(to_json(ztensor::bytes_view(content)));
        return 0;
    });
    CHECK(answer != "ok");
    if (support::counts_memory) {
        CHECK(use.most <= (std::size_t{258} << 20));
    }
}
