// SPDX-License-Identifier: MIT
//
// Attributes: every kind of value against every typed getter, what a map may hold, and building one to write.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/attributes.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using support::as_string;
using support::bytes;
using support::largest;
using support::outcome;
using support::to_vector;
using support::two_to_63;
using ztensor::attributes;
using ztensor::attributes_view;
using ztensor::bytes_view;
using ztensor::errc;
using ztensor::result;
namespace cbor = support::cbor;

/// An encoded map and a view of it.
class encoded_map {
public:
    explicit encoded_map(const bytes& content) : bytes_(to_vector(content)) {}
    [[nodiscard]] attributes_view view() const { return attributes_view(bytes_); }

private:
    std::vector<std::byte> bytes_;
};

/// A map with the one key "k".
encoded_map with_value(const bytes& value) {
    return encoded_map(cbor::map{{"k", value}});
}

/// Which typed getters take the value of "k", in the order integer, unsigned, number, boolean, text, bytes: one letter
/// each. Those that don't must say attribute_type.
std::string takers(const bytes& value) {
    const encoded_map map = with_value(value);
    std::string found;
    const auto note = [&](char letter, const auto& answer) {
        if (answer) {
            found += letter;
        } else {
            CHECK(answer.error().code() == errc::attribute_type);
        }
    };
    note('i', map.view().integer("k"));
    note('u', map.view().unsigned_integer("k"));
    note('n', map.view().number("k"));
    note('b', map.view().boolean("k"));
    note('t', map.view().text("k"));
    note('x', map.view().byte_string("k"));
    return found;
}

std::int64_t integer_of(const bytes& value) {
    return with_value(value).view().integer("k").value();
}
double number_of(const bytes& value) {
    return with_value(value).view().number("k").value();
}
std::string text_of(const bytes& value) {
    return with_value(value).view().text("k").value();
}

/// The encoded values, without their keys.
bytes encoded(const attributes& source) {
    bytes out;
    for (const attributes::entry& each : source.values()) {
        out += as_string(each.cbor);
    }
    return out;
}

} // namespace

// -- reading

TEST_CASE("a typed getter takes values of its kind and no others") {
    CHECK(takers(cbor::number(0)) == "iun");
    CHECK(takers(cbor::number(two_to_63 - 1)) == "iun");
    CHECK(takers(cbor::number(two_to_63)) == "un");
    CHECK(takers(cbor::number(largest)) == "un");
    CHECK(takers(cbor::minus_one_minus(0)) == "in");
    CHECK(takers(cbor::minus_one_minus(two_to_63 - 1)) == "in");
    CHECK(takers(cbor::minus_one_minus(two_to_63)) == "n");
    CHECK(takers(cbor::minus_one_minus(largest)) == "n");
    CHECK(takers(cbor::half_one) == "n");
    CHECK(takers(cbor::single_one) == "n");
    CHECK(takers(cbor::double_one) == "n");
    CHECK(takers(cbor::yes) == "b");
    CHECK(takers(cbor::no) == "b");
    CHECK(takers(cbor::text("")) == "t");
    CHECK(takers(cbor::text("1")) == "t");
    CHECK(takers(cbor::chunked({"a", "b"})) == "t");
    CHECK(takers(cbor::byte_string("1")) == "x");
    CHECK(takers("\x5f\x41\x61\x40\xff") == "x");
}

TEST_CASE("what is neither number nor text nor truth value is taken by no getter") {
    for (const bytes& value :
         {cbor::null, cbor::undefined, bytes("\xe0"), bytes("\xf8\xff"), cbor::array({}), cbor::numbers({1}),
          cbor::map{}.encoded(), cbor::map{{"k", cbor::number(1)}}.encoded(), cbor::tag(1, cbor::number(5)),
          cbor::tag(2, cbor::byte_string("\x01")), cbor::tag(55799, cbor::text("a"))}) {
        CAPTURE(value);
        CHECK(takers(value).empty());
    }
}

TEST_CASE("an attribute that is not there is not found, by any getter") {
    const encoded_map map = with_value(cbor::number(1));
    for (const std::string_view absent : {"", "K", "k ", "kk", "other"}) {
        CAPTURE(absent);
        CHECK_FALSE(map.view().contains(absent));
        CHECK(map.view().find(absent) == map.view().end());
        CHECK(outcome(map.view().cbor(absent)) == "attribute_not_found");
        CHECK(outcome(map.view().integer(absent)) == "attribute_not_found");
        CHECK(outcome(map.view().unsigned_integer(absent)) == "attribute_not_found");
        CHECK(outcome(map.view().number(absent)) == "attribute_not_found");
        CHECK(outcome(map.view().boolean(absent)) == "attribute_not_found");
        CHECK(outcome(map.view().text(absent)) == "attribute_not_found");
        CHECK(outcome(map.view().byte_string(absent)) == "attribute_not_found");
    }
    CHECK(map.view().integer("absent").error().what().find("\"absent\"") != std::string::npos);
    CHECK(map.view().text("k").error().what().find("\"k\"") != std::string::npos);
}

TEST_CASE("integers keep their value to the last bit") {
    CHECK(integer_of(cbor::number(0)) == 0);
    CHECK(integer_of(cbor::number(two_to_63 - 1)) == std::numeric_limits<std::int64_t>::max());
    CHECK(integer_of(cbor::minus_one_minus(0)) == -1);
    CHECK(integer_of(cbor::minus_one_minus(999)) == -1000);
    CHECK(integer_of(cbor::minus_one_minus(two_to_63 - 1)) == std::numeric_limits<std::int64_t>::min());
    CHECK(integer_of(cbor::head_of_size(cbor::major::unsigned_integer, 5, 8)) == 5);
    CHECK(integer_of(cbor::head_of_size(cbor::major::negative_integer, 5, 2)) == -6);
    CHECK(with_value(cbor::number(largest)).view().unsigned_integer("k").value() == largest);
    CHECK(with_value(cbor::number(7)).view().unsigned_integer("k").value() == 7);
}

TEST_CASE("numbers are read from floats of every width and from integers") {
    CHECK(number_of(cbor::half_one) == 1.0);
    CHECK(number_of(cbor::single_one) == 1.0);
    CHECK(number_of(cbor::double_one) == 1.0);
    CHECK(number_of(bytes("\xf9\x00\x01", 3)) == std::ldexp(1.0, -24));
    CHECK(number_of(bytes("\xf9\xc4\x00", 3)) == -4.0);
    CHECK(number_of("\xf9\x7b\xff") == 65504.0);
    CHECK(number_of(bytes("\xfa\x47\xc3\x50\x00", 5)) == 100000.0);
    CHECK(number_of(bytes("\xfa\x00\x00\x00\x01", 5)) == std::ldexp(1.0, -149));
    CHECK(number_of("\xfb\x3f\xf1\x99\x99\x99\x99\x99\x9a") == 1.1);
    CHECK(std::signbit(number_of(bytes("\xf9\x80\x00", 3))));
    CHECK(number_of(bytes("\xf9\xfc\x00", 3)) == -std::numeric_limits<double>::infinity());
    CHECK(number_of(bytes("\xfa\x7f\x80\x00\x00", 5)) == std::numeric_limits<double>::infinity());
    CHECK(std::isnan(number_of(bytes("\xf9\x7e\x00", 3))));
    CHECK(std::isnan(number_of(bytes("\xfa\x7f\xc0\x00\x00", 5))));
    CHECK(std::isnan(number_of(bytes("\xfb\x7f\xf8\x00\x00\x00\x00\x00\x00", 9))));

    CHECK(number_of(cbor::number(42)) == 42.0);
    CHECK(number_of(cbor::minus_one_minus(41)) == -42.0);
    CHECK(number_of(cbor::number(largest)) == std::ldexp(1.0, 64));
    CHECK(number_of(cbor::minus_one_minus(largest)) == -std::ldexp(1.0, 64));
    CHECK(number_of(cbor::number((std::uint64_t{1} << 53) + 1)) == std::ldexp(1.0, 53));
}

TEST_CASE("truth values are true and false and nothing else") {
    CHECK(with_value(cbor::yes).view().boolean("k").value());
    CHECK_FALSE(with_value(cbor::no).view().boolean("k").value());
}

TEST_CASE("strings are joined from their chunks") {
    CHECK(text_of(cbor::text("text \xc3\xbc")) == "text \xc3\xbc");
    CHECK(text_of(cbor::text("")).empty());
    CHECK(text_of(cbor::chunked({"te", "", "xt"})) == "text");
    CHECK(text_of(cbor::chunked({})).empty());
    CHECK(text_of(cbor::text(std::string(100000, 'a'))) == std::string(100000, 'a'));
    CHECK(text_of(cbor::text(std::string_view("a\0b", 3))) == std::string("a\0b", 3));

    CHECK(with_value(cbor::byte_string("ab\xff")).view().byte_string("k").value() == to_vector("ab\xff"));
    CHECK(with_value(bytes("\x5f\x42\x01\x02\x41\x00\xff", 7)).view().byte_string("k").value() ==
          to_vector(bytes("\x01\x02\x00", 3)));
}

TEST_CASE("attributes are walked in the order of the file, values as they are encoded") {
    const bytes deep = cbor::array({cbor::tag(1, cbor::chunked({"a"})), cbor::indefinite_array({cbor::null})});
    const encoded_map map(cbor::map{{"z", cbor::number(1)}, {"a", deep}, {"m\xc3\xbc", cbor::text("")}});
    std::vector<std::pair<std::string, bytes>> found;
    for (const ztensor::attribute& each : map.view()) {
        found.emplace_back(std::string(each.key), bytes(as_string(each.cbor)));
    }
    const std::vector<std::pair<std::string, bytes>> expected = {
        {"z", cbor::number(1)}, {"a", deep}, {"m\xc3\xbc", cbor::text("")}};
    CHECK(found == expected);
    CHECK(map.view().size() == 3);
    CHECK_FALSE(map.view().empty());
    CHECK(map.view().contains("a"));
    CHECK(map.view().find("m\xc3\xbc")->key == "m\xc3\xbc");
    CHECK(as_string(map.view().cbor("a").value()) == deep);
}

TEST_CASE("a map of indefinite length is walked like any other") {
    const encoded_map map(cbor::map{{"a", cbor::number(1)}, {"b", cbor::number(2)}}.indefinite());
    CHECK(map.view().size() == 2);
    CHECK(map.view().integer("b").value() == 2);
}

TEST_CASE("no attributes are empty, and so is an empty map") {
    const attributes_view none;
    CHECK(none.empty());
    CHECK(none.size() == 0);
    CHECK(none.begin() == none.end());
    CHECK_FALSE(none.contains("k"));
    CHECK(outcome(none.text("k")) == "attribute_not_found");
    CHECK(encoded_map(cbor::map{}).view().empty());
    CHECK(encoded_map(cbor::map{}.indefinite()).view().empty());
}

TEST_CASE("hidden keys are no attributes") {
    const std::vector<std::byte> map = to_vector(
        cbor::map{{"name", cbor::text("w")}, {"a", cbor::number(1)}, {"size", cbor::number(8)}, {"b", cbor::number(2)}}
            .encoded());
    const std::vector<std::string_view> hidden = {"size", "name"};
    const attributes_view view(map, hidden);
    CHECK(view.size() == 2);
    CHECK(view.begin()->key == "a");
    CHECK_FALSE(view.contains("name"));
    CHECK(outcome(view.text("name")) == "attribute_not_found");
    CHECK(view.integer("b").value() == 2);
}

TEST_CASE("values of any kind keep no file from opening") {
    const bytes values[] = {
        cbor::undefined,
        bytes("\xf8\x20"),
        cbor::tag(0, cbor::tag(1, cbor::null)),
        cbor::map{}.add(cbor::number(1), cbor::number(2)).add(cbor::array({}), cbor::null),
        cbor::map{{"twice", cbor::number(1)}, {"twice", cbor::number(2)}},
        cbor::chunked({"a", "b"}),
        bytes("\x5f\x41\x61\xff"),
        cbor::head_of_size(cbor::major::unsigned_integer, 1, 8),
        bytes("\xfb\x7f\xf8\x00\x00\x00\x00\x00\x01", 9),
        cbor::minus_one_minus(largest),
    };
    for (const bytes& value : values) {
        CAPTURE(value);
        const bytes map = cbor::map{{"k", value}};
        const result<ztensor::reader> file = ztensor::reader::from_bytes(
            to_vector(support::sample().root("attributes", map).object("attributes", map).file()));
        REQUIRE(outcome(file) == "ok");
        CHECK(as_string(file->attributes().cbor("k").value()) == value);
        CHECK(as_string(file->find("w").value().attributes().cbor("k").value()) == value);
    }
}

TEST_CASE("a text value that is not UTF-8 is never handed out as text") {
    for (const bytes& value : {cbor::text("\xff"), cbor::text("\xc3"), cbor::chunked({"\xc3", "\xbc"})}) {
        CAPTURE(value);
        const bytes map = cbor::map{{"bad", value}, {"good", cbor::text("fine")}};
        const result<ztensor::reader> file =
            ztensor::reader::from_bytes(to_vector(support::sample().root("attributes", map).file()));
        CHECK(outcome(file.and_then([](const ztensor::reader& opened) { return opened.attributes().text("bad"); })) ==
              "cbor_utf8");
        attributes copy;
    }
}

TEST_CASE("keys in chunks are keys like others") {
    cbor::map map{{"ab", cbor::number(1)}, {"cd", cbor::number(2)}, {"ef", cbor::number(3)}};
    map.respell("cd", cbor::chunked({"c", "", "d"}));
    const result<ztensor::reader> file = ztensor::reader::from_bytes(
        to_vector(support::sample().root("attributes", map.indefinite()).object("attributes", map).file()));
    REQUIRE(outcome(file) == "ok");
    const ztensor::object_view w = file->find("w").value();
    for (const attributes_view& view : {file->attributes(), w.attributes()}) {
        CHECK(view.size() == 3);
        CHECK(view.integer("ab").value() == 1);
        CHECK(view.integer("cd").value() == 2);
        CHECK(view.integer("ef").value() == 3);
    }
    CHECK(w.read<float>().value() == std::vector<float>{1, 2});
}

// -- building

TEST_CASE("each kind of value is set in its shortest form") {
    attributes a;
    CHECK(encoded(a.set("k", 5)) == "\x05");
    CHECK(encoded(a.set("k", -1)) == "\x20");
    CHECK(encoded(a.set("k", std::numeric_limits<std::int64_t>::min())) == cbor::minus_one_minus(two_to_63 - 1));
    CHECK(encoded(a.set("k", largest)) == cbor::number(largest));
    CHECK(encoded(a.set("k", std::uint8_t{200})) == cbor::number(200));
    CHECK(encoded(a.set("k", std::int8_t{-128})) == cbor::minus_one_minus(127));
    CHECK(encoded(a.set("k", std::size_t{70000})) == cbor::number(70000));
    CHECK(encoded(a.set("k", -1LL)) == "\x20");
    CHECK(encoded(a.set("k", 1.5)) == bytes("\xf9\x3e\x00", 3));
    CHECK(encoded(a.set("k", 100000.0F)) == bytes("\xfa\x47\xc3\x50\x00", 5));
    CHECK(encoded(a.set("k", 1.1)) == "\xfb\x3f\xf1\x99\x99\x99\x99\x99\x9a");
    CHECK(encoded(a.set("k", std::numeric_limits<double>::quiet_NaN())) == bytes("\xf9\x7e\x00", 3));
    CHECK(encoded(a.set("k", true)) == cbor::yes);
    CHECK(encoded(a.set("k", false)) == cbor::no);
    CHECK(encoded(a.set("k", "literal")) == cbor::text("literal"));
    CHECK(encoded(a.set("k", std::string("string"))) == cbor::text("string"));
    CHECK(encoded(a.set("k", std::string_view("v\0w", 3))) == cbor::text(std::string_view("v\0w", 3)));
    const std::vector<std::byte> raw = to_vector("\x01\xff");
    CHECK(encoded(a.set("k", bytes_view(raw))) == cbor::byte_string("\x01\xff"));
    CHECK(encoded(a.set_null("k")) == cbor::null);
    CHECK(a.size() == 1);
}

TEST_CASE("keys are kept sorted by their bytes, each once") {
    attributes a;
    CHECK(a.empty());
    a.set("b", 1).set("a", 2).set("\xc3\xbc", 3).set("aa", 4).set("B", 5).set("b", 6);
    std::vector<std::string> keys;
    for (const attributes::entry& each : a.values()) {
        keys.push_back(each.key);
    }
    CHECK(keys == std::vector<std::string>{"B", "a", "aa", "b", "\xc3\xbc"});
    CHECK(encoded(a) == "\x05\x02\x04\x06\x03");
    CHECK(a.size() == 5);
    a.remove("aa").remove("absent");
    CHECK(a.size() == 4);
    CHECK_FALSE(a.empty());
}

TEST_CASE("any one item can be set as it is encoded") {
    attributes a;
    const bytes item = cbor::tag(1, cbor::indefinite_array({cbor::chunked({"a"}), cbor::undefined}));
    REQUIRE(a.set_cbor("k", to_vector(item)));
    CHECK(encoded(a) == item);

    const std::pair<bytes, std::string_view> refused[] = {
        {"", "cbor_truncated"},           {"\x18", "cbor_truncated"},
        {"\x81", "cbor_truncated"},       {"\x1c", "cbor_malformed"},
        {"\xff", "cbor_malformed"},       {"\xbf\x01\xff", "cbor_malformed"},
        {"\x01\x02", "cbor_trailing"},    {"\x80\x80", "cbor_trailing"},
        {cbor::nested(61), "cbor_depth"}, {cbor::nested(1000), "cbor_depth"},
    };
    for (const auto& [value, code] : refused) {
        CAPTURE(value);
        const result<void> set = a.set_cbor("k", to_vector(value));
        CHECK(outcome(set) == code);
        CHECK(encoded(a) == item);
    }
}

TEST_CASE("a value nests as deep as a reader allows") {
    const bytes deepest = cbor::nested(60); // within root, objects, object and attributes: 64
    attributes a;
    REQUIRE(a.set_cbor("k", to_vector(deepest)));
    ztensor::writer out = ztensor::writer::to_memory().value();
    out.attributes(a).value();
    out.add_object(
           "w",
           ztensor::object_draft(ztensor::format::dense, {1}).component("data", std::vector<float>{1}).attributes(a))
        .value();
    out.finish().value();
    const result<ztensor::reader> file = ztensor::reader::from_bytes(out.take_bytes());
    REQUIRE(outcome(file) == "ok");
    CHECK(as_string(file->find("w").value().attributes().cbor("k").value()) == deepest);
}

TEST_CASE("attributes are copied from a file byte by byte") {
    const bytes map = cbor::map{{"long", cbor::head_of_size(cbor::major::unsigned_integer, 1, 8)},
                                {"chunks", cbor::chunked({"a", "b"})},
                                {"tag", cbor::tag(1, cbor::number(2))},
                                {"nan", bytes("\xfb\x7f\xf8\x00\x00\x00\x00\x00\x01", 9)}};
    const encoded_map source(map);
    const attributes copy(source.view());
    CHECK(copy.size() == 4);
    for (const ztensor::attribute& each : source.view()) {
        CAPTURE(each.key);
        const auto found = std::find_if(copy.values().begin(), copy.values().end(),
                                        [&](const attributes::entry& entry) { return entry.key == each.key; });
        REQUIRE(found != copy.values().end());
        CHECK(as_string(found->cbor) == as_string(each.cbor));
    }
}
