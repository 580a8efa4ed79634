// SPDX-License-Identifier: MIT
//
// The CBOR cursor of version 2: what may be encoded in one way alone, and what each other way is refused for.
#include "support/bytes.hpp"
#include "support/catch.hpp"

#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/cbor/encoder.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace {

using support::from_hex;
using support::repeated;
using ztensor::bytes_view;
using ztensor::errc;
using ztensor::detail::cbor_sequence;
using ztensor::detail::cbor_text;
using ztensor::detail::deterministic_cursor;

/// "ok" if one item fills all bytes, "ok, and N more", or the code of the fault and its position.
std::string passed(const support::byte_vector& content) {
    deterministic_cursor cursor{bytes_view(content)};
    if (cursor.skip()) {
        CHECK_FALSE(cursor.failed());
        return cursor.remaining() == 0 ? "ok" : "ok, and " + std::to_string(cursor.remaining()) + " more";
    }
    CHECK(cursor.failed());
    CHECK(cursor.remaining() == 0);
    const std::size_t position = cursor.fault().position;
    CHECK_FALSE(cursor.skip());
    CHECK(cursor.fault().position == position); // the first fault stays
    return std::string(name(cursor.fault().code)) + " at " + std::to_string(position);
}

std::string big_endian_hex(std::uint64_t bits, int digits) {
    std::string hex;
    for (int i = digits; i-- > 0;) {
        hex += "0123456789abcdef"[bits >> (4 * i) & 15];
    }
    return hex;
}

/// The float in 32 or 64 bits, behind its head.
std::string single_hex(float number) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &number, sizeof(bits));
    return "fa" + big_endian_hex(bits, 8);
}
std::string double_hex(double number) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof(bits));
    return "fb" + big_endian_hex(bits, 16);
}

} // namespace

TEST_CASE("version 2 takes every item in its shortest form, and no other") {
    const std::pair<const char*, const char*> cases[] = {
        {"00", "ok"},
        {"17", "ok"},
        {"1817", "cbor_not_deterministic at 0"},
        {"1818", "ok"},
        {"18ff", "ok"},
        {"1900ff", "cbor_not_deterministic at 0"},
        {"190100", "ok"},
        {"19ffff", "ok"},
        {"1a0000ffff", "cbor_not_deterministic at 0"},
        {"1a00010000", "ok"},
        {"1b00000000ffffffff", "cbor_not_deterministic at 0"},
        {"1b0000000100000000", "ok"},
        {"37", "ok"},
        {"3817", "cbor_not_deterministic at 0"},
        {"3818", "ok"},
        {"5800", "cbor_not_deterministic at 0"},
        {"7800", "cbor_not_deterministic at 0"},
        {"9800", "cbor_not_deterministic at 0"},
        {"b800", "cbor_not_deterministic at 0"},
        {"1c", "cbor_malformed at 0"},
        {"1f", "cbor_malformed at 0"},
        {"5f40ff", "cbor_not_deterministic at 0"},
        {"7f60ff", "cbor_not_deterministic at 0"},
        {"9fff", "cbor_not_deterministic at 0"},
        {"bfff", "cbor_not_deterministic at 0"},
        {"df", "cbor_malformed at 0"},
        {"ff", "cbor_malformed at 0"},
        {"5c", "cbor_malformed at 0"},
        {"c100", "cbor_malformed at 0"},
        {"d81800", "cbor_malformed at 0"},
        {"f3", "cbor_malformed at 0"},
        {"f4", "ok"},
        {"f5", "ok"},
        {"f6", "ok"},
        {"f7", "cbor_malformed at 0"},
        {"e0", "cbor_malformed at 0"},
        {"f81f", "cbor_malformed at 0"},
        {"f820", "cbor_malformed at 0"},
        {"f8ff", "cbor_malformed at 0"},
        {"0000", "ok, and 1 more"},
    };
    for (const auto& [hex, expected] : cases) {
        CAPTURE(hex);
        CHECK(passed(from_hex(hex)) == expected);
    }
}

TEST_CASE("version 2 takes every float in as few bytes as hold it") {
    const float tiny = std::ldexp(1.0F, -24), largest_half = 65504;
    const std::pair<std::string, bool> cases[] = {
        {"f90000", true},
        {"f98000", true},
        {"f97c00", true},
        {"f9fc00", true},
        {"f97e00", true},
        {"f97e01", false},
        {"f97c01", false},
        {"f9fe00", false},
        {"f97bff", true},
        {"f90001", true},
        {"fa7fc00000", false},
        {"fa7f800001", false},
        {"fb7ff8000000000000", false},
        {"fb7ff0000000000001", false},
        {single_hex(0.0F), false},
        {single_hex(-0.0F), false},
        {single_hex(1.0F), false},
        {single_hex(std::numeric_limits<float>::infinity()), false},
        {single_hex(largest_half), false},
        {single_hex(65505), true},
        {single_hex(65536), true},
        {single_hex(std::ldexp(1.0F, -14)), false},
        {single_hex(std::ldexp(1.5F, -15)), false},
        {single_hex(std::ldexp(1023.0F, -24)), false},
        {single_hex(std::ldexp(1023.5F, -24)), true},
        {single_hex(tiny), false},
        {single_hex(-tiny), false},
        {single_hex(tiny * 1.5F), true},
        {single_hex(tiny / 2), true},
        {single_hex(std::ldexp(1.0F, -126)), true},
        {single_hex(std::ldexp(1.0F, -149)), true},
        {single_hex(1.0F + std::ldexp(1.0F, -10)), false},
        {single_hex(1.0F + std::ldexp(1.0F, -11)), true},
        {single_hex(0.1F), true},
        {double_hex(0.0), false},
        {double_hex(-0.0), false},
        {double_hex(1.0), false},
        {double_hex(std::numeric_limits<double>::infinity()), false},
        {double_hex(static_cast<double>(0.1F)), false},
        {double_hex(0.1), true},
        {double_hex(static_cast<double>(std::numeric_limits<float>::max())), false},
        {double_hex(std::ldexp(1.0, 128)), true},
        {double_hex(std::ldexp(1.0, 127)), false},
        {double_hex(std::ldexp(1.0, -126)), false},
        {double_hex(std::ldexp(1.0, -149)), false},
        {double_hex(std::ldexp(1.0, -150)), true},
        {double_hex(std::ldexp(1.5, -149)), true},
        {double_hex(std::ldexp(3.0, -149)), false},
        {double_hex(1.0 + std::ldexp(1.0, -23)), false},
        {double_hex(1.0 + std::ldexp(1.0, -24)), true},
        {double_hex(std::numeric_limits<double>::denorm_min()), true},
        {double_hex(std::numeric_limits<double>::min()), true},
    };
    for (const auto& [hex, is_shortest] : cases) {
        CAPTURE(hex);
        CHECK(passed(from_hex(hex)) == (is_shortest ? "ok" : "cbor_not_deterministic at 0"));
    }
}

TEST_CASE("the keys of a map in version 2 rise in the order of their encoded bytes, at every depth") {
    const std::pair<const char*, const char*> cases[] = {
        {"a0", "ok"},
        {"a100f6", "ok"},
        {"a200f601f6", "ok"},
        {"a201f600f6", "cbor_not_deterministic at 3"},
        {"a200f600f6", "duplicate_key at 3"},
        {"a2 1818f6 20f6", "ok"},     // by bytes: 18 before 20, though longer
        {"a2 6162f6 626161f6", "ok"}, // "b" before "aa": the head comes first
        {"a2 626161f6 6162f6", "cbor_not_deterministic at 5"},
        {"a2 20f6 1818f6", "cbor_not_deterministic at 3"},
        {"a2 8100f6 8101f6", "ok"}, // arrays may be keys
        {"a2 8101f6 8100f6", "cbor_not_deterministic at 4"},
        {"a2 8100f6 8100f6", "duplicate_key at 4"},
        {"a2 a100f6f6 a101f6f6", "ok"}, // and maps
        {"a2 a101f6f6 a100f6f6", "cbor_not_deterministic at 5"},
        {"a2 8101f6 00f6", "cbor_not_deterministic at 4"},
        {"a1 00 a201f600f6", "cbor_not_deterministic at 5"},
        {"81 a201f600f6", "cbor_not_deterministic at 4"},
        {"a2 00 a10000 01 a10000", "ok"}, // the keys of one map are nothing to another
        {"a3 00f6 01f6 01f6", "duplicate_key at 5"},
        {"a2 0001 0000", "duplicate_key at 3"}, // values have no order
        {"82 01 00", "ok"},
        {"a1 f90000 f6", "ok"},
        {"a1 a201f600f6 f6", "cbor_not_deterministic at 4"}, // within a key
    };
    for (const auto& [hex, expected] : cases) {
        CAPTURE(hex);
        std::string compact(hex);
        compact.erase(std::remove(compact.begin(), compact.end(), ' '), compact.end());
        CHECK(passed(from_hex(compact)) == expected);
    }
}

TEST_CASE("what ends too soon in version 2 is told where it starts") {
    const std::pair<const char*, const char*> cases[] = {
        {"", "cbor_truncated at 0"},
        {"18", "cbor_truncated at 0"},
        {"1901", "cbor_truncated at 0"},
        {"1a000100", "cbor_truncated at 0"},
        {"fb3ff00000000000", "cbor_truncated at 0"},
        {"41", "cbor_truncated at 0"},
        {"4100", "ok"},
        {"61", "cbor_truncated at 0"},
        {"5b7fffffffffffffff", "cbor_truncated at 0"},
        {"81", "cbor_truncated at 0"},
        {"8200", "cbor_truncated at 0"},
        {"820000", "ok"},
        {"a100", "cbor_truncated at 0"},
        {"a10000", "ok"},
        {"a2000000", "cbor_truncated at 0"},
        {"9bffffffffffffffff", "cbor_truncated at 0"},
        {"bb8000000000000000", "cbor_truncated at 0"},
        {"8118", "cbor_truncated at 1"},
        {"a1000018", "ok, and 1 more"},
        {"828100", "cbor_truncated at 3"},
        {"61ff", "cbor_utf8 at 0"},
        {"41ff", "ok"},
        {"8162c080", "cbor_utf8 at 1"},
    };
    for (const auto& [hex, expected] : cases) {
        CAPTURE(hex);
        CHECK(passed(from_hex(hex)) == expected);
    }
}

TEST_CASE("arrays and maps of version 2 may enclose one another 32 deep") {
    CHECK(passed(from_hex(repeated(32, "81") + "00")) == "ok");
    CHECK(passed(from_hex(repeated(33, "81") + "00")) == "cbor_depth at 32");
    CHECK(passed(from_hex(repeated(32, "a100") + "00")) == "ok");
    CHECK(passed(from_hex(repeated(33, "a100") + "00")) == "cbor_depth at 64");
    // Containers that were entered count, and those that were left do not.
    const auto content = from_hex("8180" + repeated(31, "81") + "00");
    deterministic_cursor cursor{bytes_view(content)};
    cbor_sequence outer, inner;
    REQUIRE(cursor.enter_array(outer));
    CHECK(outer.remaining == 1);
    REQUIRE(cursor.next(outer));
    REQUIRE(cursor.enter_array(inner));
    CHECK_FALSE(cursor.next(inner));
    CHECK(cursor.skip());
    CHECK(cursor.remaining() == 0);

    const auto deep = from_hex(repeated(33, "a100") + "00");
    deterministic_cursor map_cursor{bytes_view(deep)};
    for (int i = 0; i < 32; ++i) {
        cbor_sequence map;
        REQUIRE(map_cursor.enter_map(map));
        REQUIRE(map_cursor.next_key(map));
    }
    cbor_sequence map;
    CHECK_FALSE(map_cursor.enter_map(map));
    CHECK(map_cursor.fault().code == errc::cbor_depth);
    CHECK(map_cursor.fault().position == 64);
}

TEST_CASE("a typed item of version 2 is that or a fault of its own") {
    const auto code_of = [](const char* hex, auto read) {
        const auto content = from_hex(hex);
        deterministic_cursor cursor{bytes_view(content)};
        return read(cursor) ? std::string("ok") : std::string(name(cursor.fault().code));
    };
    const auto number = [](deterministic_cursor& cursor) {
        std::uint64_t value = 0;
        return cursor.read_unsigned(value);
    };
    const auto text = [](deterministic_cursor& cursor) {
        ztensor::detail::cbor_text value;
        return cursor.read_text(value);
    };
    const auto array = [](deterministic_cursor& cursor) {
        cbor_sequence items;
        return cursor.enter_array(items);
    };
    const auto map = [](deterministic_cursor& cursor) {
        cbor_sequence pairs;
        return cursor.enter_map(pairs);
    };
    CHECK(code_of("1864", number) == "ok");
    CHECK(code_of("20", number) == "schema_range");
    CHECK(code_of("60", number) == "schema_type");
    CHECK(code_of("", number) == "cbor_truncated");
    CHECK(code_of("6161", text) == "ok");
    CHECK(code_of("4161", text) == "schema_type");
    CHECK(code_of("61ff", text) == "cbor_utf8");
    CHECK(code_of("62", text) == "cbor_truncated");
    CHECK(code_of("", text) == "cbor_truncated");
    CHECK(code_of("", array) == "cbor_truncated");
    CHECK(code_of("", map) == "cbor_truncated");
    CHECK(code_of("80", array) == "ok");
    CHECK(code_of("a0", array) == "schema_type");
    CHECK(code_of("81", array) == "cbor_truncated");
    CHECK(code_of("8100", array) == "ok");
    CHECK(code_of("a0", map) == "ok");
    CHECK(code_of("80", map) == "schema_type");
    CHECK(code_of("a100", map) == "cbor_truncated");
    CHECK(code_of("a10000", map) == "ok");
}

TEST_CASE("the keys of a map that is entered rise, too, and text keys are text") {
    const auto content = from_hex("a26161016162026163");
    deterministic_cursor cursor{bytes_view(content)};
    cbor_sequence map;
    cbor_text key;
    std::uint64_t value = 0;
    REQUIRE(cursor.enter_map(map));
    REQUIRE(cursor.next_text_key(map, key));
    CHECK(key.text == "a");
    REQUIRE(cursor.read_unsigned(value));
    REQUIRE(cursor.next_key(map));
    CHECK(ztensor::detail::as_text(map.last_key) == "\x61"
                                                    "b");
    REQUIRE(cursor.read_unsigned(value));
    CHECK(value == 2);
    CHECK_FALSE(cursor.next_key(map));
    CHECK_FALSE(cursor.failed());
    CHECK(cursor.position() == 7);

    const std::tuple<const char*, bool, errc> cases[] = {
        {"a26162016161 02", false, errc::cbor_not_deterministic},
        {"a26162016161 02", true, errc::cbor_not_deterministic},
        {"a26161016161 02", false, errc::duplicate_key},
        {"a26161016161 02", true, errc::duplicate_key},
        {"a20001616102", true, errc::schema_key},
        {"a2616101f702", false, errc::cbor_malformed},
    };
    for (const auto& [hex, is_text, code] : cases) {
        CAPTURE(hex, is_text);
        std::string compact(hex);
        compact.erase(std::remove(compact.begin(), compact.end(), ' '), compact.end());
        const auto wrong = from_hex(compact);
        deterministic_cursor other{bytes_view(wrong)};
        cbor_sequence pairs;
        other.enter_map(pairs);
        while (is_text ? other.next_text_key(pairs, key) : other.next_key(pairs)) {
            REQUIRE(other.read_unsigned(value));
        }
        REQUIRE(other.failed());
        CHECK(other.fault().code == code);
        CHECK_FALSE((is_text ? other.next_text_key(pairs, key) : other.next_key(pairs))); // nothing follows a fault
    }
}

TEST_CASE("any item gets the encoding that version 2 takes, or is refused for what it is") {
    const std::pair<const char*, const char*> rows[] = {
        {"1b0000000000000001", "01"},
        {"3b0000000000000001", "21"},
        {"5f4161416262", "cbor_malformed"}, // a chunk that is text
        {"5f41614162ff", "426162"},
        {"580161", "4161"},
        {"7f61616162ff", "626162"},
        {"61ff", "cbor_utf8"},
        {"7f61c361a9ff", "cbor_utf8"},
        {"f4", "f4"},
        {"f5", "f5"},
        {"f6", "f6"},
        {"f7", "not_expressible"},
        {"f8ff", "not_expressible"},
        {"fb3ff0000000000000", "f93c00"},
        {"c000", "not_expressible"},
        {"", "cbor_truncated"},
        {"81", "cbor_truncated"},
        {"a1", "cbor_truncated"},
        {"9f", "cbor_truncated"},
        {"bf6161", "cbor_truncated"},
        {"9f01", "cbor_truncated"},
        {"bf616101ff", "a1616101"},
        {"9f01ff", "8101"},
        {"a26162016161f4", "a26161f4616201"},
        {"a2616101616102", "duplicate_key"},
        {"81ff", "cbor_malformed"},
        {"1c", "cbor_malformed"},
        {"6261", "cbor_truncated"},
        {"9bffffffffffffffff", "cbor_truncated"},
        {"bbffffffffffffffff", "cbor_truncated"},
    };
    for (const auto& [item, expected] : rows) {
        CAPTURE(item);
        ztensor::detail::cbor_encoder out;
        const support::byte_vector content = from_hex(item);
        const auto made = ztensor::detail::deterministic_encoder::encode(bytes_view(content), 1, out);
        CHECK((made ? support::to_hex(out.bytes()) : std::string(name(made.error().code()))) == expected);
    }
}
