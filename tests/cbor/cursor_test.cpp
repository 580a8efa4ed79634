// SPDX-License-Identifier: MIT
//
// The CBOR cursor: the examples of RFC 8949, every short input against a second parser, and limits.
#include "support/bytes.hpp"
#include "support/catch.hpp"

#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/base/text.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using support::byte_vector;
using support::from_hex;
using support::repeated;
using ztensor::bytes_view;
using ztensor::errc;
using ztensor::detail::cbor_cursor;
using ztensor::detail::cbor_head;
using ztensor::detail::cbor_major;
using ztensor::detail::cbor_sequence;
using ztensor::detail::cbor_text;

/// What stands between the spaces.
std::vector<std::string> words(const std::string& text) {
    std::istringstream in(text);
    return {std::istream_iterator<std::string>(in), std::istream_iterator<std::string>()};
}

/// "ok" if one item fills all bytes, "ok, and N more", or the code of the fault.
std::string skipped(ztensor::bytes_argument content, std::size_t depth = 0) {
    cbor_cursor cursor(content, depth);
    if (!cursor.skip()) {
        CHECK(cursor.failed());
        CHECK(cursor.fault().sentence != nullptr);
        CHECK(cursor.fault().position <= content.size());
        return std::string(name(cursor.fault().code));
    }
    CHECK_FALSE(cursor.failed());
    return cursor.remaining() == 0 ? "ok" : "ok, and " + std::to_string(cursor.remaining()) + " more";
}

// -- a second parser, recursive and by the letter of RFC 8949, appendix C

struct parsed {
    bool is_well_formed = false;
    bool is_break = false;
    bool is_valid_text = true; ///< all text in it is UTF-8
    std::size_t end = 0;
};

/// UTF-8 by decoding every character and looking at its code point.
bool is_valid_utf8(const std::uint8_t* content, std::size_t size) {
    for (std::size_t at = 0; at < size;) {
        const unsigned lead = content[at++];
        if (lead < 0x80) {
            continue;
        }
        const std::size_t more = (lead & 0xe0) == 0xc0 ? 1 : (lead & 0xf0) == 0xe0 ? 2 : (lead & 0xf8) == 0xf0 ? 3 : 0;
        if (more == 0 || size - at < more) {
            return false;
        }
        std::uint32_t code_point = lead & (0x3fu >> more);
        for (std::size_t i = 0; i < more; ++i) {
            const unsigned next = content[at++];
            if ((next & 0xc0) != 0x80) {
                return false;
            }
            code_point = code_point << 6 | (next & 0x3f);
        }
        const std::uint32_t smallest = more == 1 ? 0x80 : more == 2 ? 0x800 : 0x10000;
        if (code_point < smallest || code_point > 0x10ffff || (code_point >= 0xd800 && code_point < 0xe000)) {
            return false;
        }
    }
    return true;
}

parsed parse(const std::uint8_t* content, std::size_t size, std::size_t at, bool break_is_allowed);

/// The parts of an item of indefinite length, up to the break.
parsed parse_indefinite(const std::uint8_t* content, std::size_t size, std::size_t at, unsigned major) {
    bool is_valid_text = true;
    for (std::size_t count = 0;; ++count) {
        const std::size_t start = at;
        const parsed part = parse(content, size, at, true);
        if (!part.is_well_formed) {
            return {};
        }
        at = part.end;
        is_valid_text = is_valid_text && part.is_valid_text;
        if (part.is_break) {
            const bool is_half_a_pair = major == 5 && count % 2 != 0;
            return {!is_half_a_pair, false, is_valid_text, at};
        }
        const bool is_string = major == 2 || major == 3;
        if (is_string && (content[start] >> 5 != major || (content[start] & 31) == 31)) {
            return {};
        }
    }
}

parsed parse(const std::uint8_t* content, std::size_t size, std::size_t at, bool break_is_allowed) {
    if (at == size) {
        return {};
    }
    const unsigned major = content[at] >> 5;
    const unsigned info = content[at] & 31;
    ++at;
    std::uint64_t argument = info;
    if (info >= 24 && info <= 27) {
        argument = 0;
        for (unsigned i = 0; i < 1u << (info - 24); ++i) {
            if (at == size) {
                return {};
            }
            argument = argument << 8 | content[at++];
        }
    } else if (info >= 28 && info <= 30) {
        return {};
    } else if (info == 31) {
        if (major == 7) {
            return {break_is_allowed, true, true, at};
        }
        return major >= 2 && major <= 5 ? parse_indefinite(content, size, at, major) : parsed{};
    }
    if (major == 2 || major == 3) {
        if (argument > size - at) {
            return {};
        }
        const auto length = static_cast<std::size_t>(argument);
        return {true, false, major == 2 || is_valid_utf8(content + at, length), at + length};
    }
    if (major == 7) {
        return {info != 24 || argument >= 32, false, true, at};
    }
    if (major < 2) {
        return {true, false, true, at};
    }
    parsed whole{true, false, true, at};
    for (std::uint64_t i = 0; major == 5 && i < argument; ++i) { // the keys, one more for each value below
        const parsed key = parse(content, size, whole.end, false);
        const parsed value = key.is_well_formed ? parse(content, size, key.end, false) : parsed{};
        if (!value.is_well_formed) {
            return {};
        }
        whole = {true, false, whole.is_valid_text && key.is_valid_text && value.is_valid_text, value.end};
    }
    for (std::uint64_t i = 0; major != 5 && i < (major == 6 ? 1 : argument); ++i) {
        const parsed item = parse(content, size, whole.end, false);
        if (!item.is_well_formed) {
            return {};
        }
        whole = {true, false, whole.is_valid_text && item.is_valid_text, item.end};
    }
    return whole;
}

/// Whether cursor and parser agree. Of text that is not UTF-8 they need not.
bool agree(const std::uint8_t* raw, const std::byte* content, std::size_t size) {
    const parsed expected = parse(raw, size, 0, false);
    cbor_cursor cursor(bytes_view(content, size));
    const bool accepted = cursor.skip();
    if (expected.is_well_formed && !expected.is_valid_text) {
        return true;
    }
    return accepted == expected.is_well_formed && accepted != cursor.failed() &&
           (!accepted || cursor.position() == expected.end);
}

template <std::size_t Size>
bool agree(const std::array<std::uint8_t, Size>& raw) {
    std::array<std::byte, Size> content;
    for (std::size_t i = 0; i < Size; ++i) {
        content[i] = static_cast<std::byte>(raw[i]);
    }
    return agree(raw.data(), content.data(), Size);
}

} // namespace

TEST_CASE("the cursor passes over every example of RFC 8949, appendix A") {
    const std::vector<std::string> examples =
        words("00 01 0a 17 1818 1819 1864 1903e8 1a000f4240 1b000000e8d4a51000 1bffffffffffffffff "
              "c249010000000000000000 3bffffffffffffffff c349010000000000000000 20 29 3863 3903e7 f90000 f98000 "
              "f93c00 fb3ff199999999999a f93e00 f97bff fa47c35000 fa7f7fffff fb7e37e43c8800759c f90001 f90400 "
              "f9c400 fbc010666666666666 f97c00 f97e00 f9fc00 fa7f800000 fa7fc00000 faff800000 fb7ff0000000000000 "
              "fb7ff8000000000000 fbfff0000000000000 f4 f5 f6 f7 f0 f8ff "
              "c074323031332d30332d32315432303a30343a30305a c11a514b67b0 c1fb41d452d9ec200000 d74401020304 "
              "d818456449455446 d82076687474703a2f2f7777772e6578616d706c652e636f6d 40 4401020304 60 6161 6449455446 "
              "62225c 62c3bc 63e6b0b4 64f0908591 80 83010203 8301820203820405 "
              "98190102030405060708090a0b0c0d0e0f101112131415161718181819 a0 a201020304 a26161016162820203 "
              "826161a161626163 a56161614161626142616361436164614461656145 5f42010243030405ff "
              "7f657374726561646d696e67ff 9fff 9f018202039f0405ffff 9f01820203820405ff 83018202039f0405ff "
              "83019f0203ff820405 9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff bf61610161629f0203ffff "
              "826161bf61626163ff bf6346756ef563416d7421ff");
    for (const std::string& example : examples) {
        CAPTURE(example);
        CHECK(skipped(from_hex(example)) == "ok");
        CHECK(skipped(from_hex(example + "00")) == "ok, and 1 more");
    }
}

TEST_CASE("every example of RFC 8949, appendix A, is refused when it is cut off") {
    for (const std::string_view example :
         {"1bffffffffffffffff", "c249010000000000000000", "fb7e37e43c8800759c", "d818456449455446", "62c3bc",
          "8301820203820405", "a26161016162820203", "5f42010243030405ff", "7f657374726561646d696e67ff",
          "9f018202039f0405ffff", "bf6346756ef563416d7421ff"}) {
        const byte_vector whole = from_hex(example);
        for (std::size_t length = 0; length < whole.size(); ++length) {
            CAPTURE(example, length);
            CHECK(skipped(bytes_view(whole).first(length)) == "cbor_truncated");
        }
    }
}

TEST_CASE("the examples of RFC 8949, appendix F, that end too early are truncated") {
    const std::vector<std::string> examples =
        words("18 19 1a 1b 1901 1a0102 1b01020304050607 38 58 78 98 9a01ff00 b8 d8 f8 f900 fa0000 fb000000 "
              // strings and containers of definite length, a tag without content
              "41 61 5affffffff00 5bffffffffffffffff010203 7affffffff00 7b7fffffffffffffff010203 81 "
              "818181818181818181 8200 a1 a20102 a100 a2000000 c0 "
              // indefinite lengths without their break
              "5f4100 7f6100 9f 9f0102 bf bf01020102 819f 9f8000 9f9f9f9f9fffffffff 9f819f819f9fffffff");
    for (const std::string& example : examples) {
        CAPTURE(example);
        CHECK(skipped(from_hex(example)) == "cbor_truncated");
    }
}

TEST_CASE("the examples of RFC 8949, appendix F, that are wrong in themselves are malformed") {
    const std::vector<std::string> examples =
        words("1c 1d 1e 3c 3d 3e 5c 5d 5e 7c 7d 7e 9c 9d 9e bc bd be dc dd de fc fd fe f800 f801 f818 f81f "
              // chunks that are no definite string of their kind
              "5f00ff 5f21ff 5f6100ff 5f80ff 5fa0ff 5fc000ff 5fe0ff 7f4100ff 5f5f4100ffff 7f7f6100ffff "
              // a break where none belongs
              "ff 81ff 8200ff a1ff00 a100ff 9f81ff 9f829f819f9fffffffff bf00ff bf000000ff c0ff "
              // no such indefinite length
              "1f 3f df");
    for (const std::string& example : examples) {
        CAPTURE(example);
        CHECK(skipped(from_hex(example)) == "cbor_malformed");
    }
    // These also claim more than is there, which may be seen first.
    CHECK(skipped(from_hex("a1ff")) != "ok");
    CHECK(skipped(from_hex("a20000ff")) != "ok");
}

TEST_CASE("the cursor agrees with a second parser on every input of one and two bytes") {
    CHECK(agree(std::array<std::uint8_t, 0>{}));
    for (unsigned first = 0; first < 256; ++first) {
        if (!agree(std::array<std::uint8_t, 1>{static_cast<std::uint8_t>(first)})) {
            FAIL(first);
        }
        for (unsigned second = 0; second < 256; ++second) {
            if (!agree(
                    std::array<std::uint8_t, 2>{static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(second)})) {
                FAIL(first << ' ' << second);
            }
        }
    }
}

TEST_CASE("the cursor agrees with a second parser on every input of three bytes") {
    std::array<std::uint8_t, 3> raw{};
    for (std::uint32_t input = 0; input < 1u << 24; ++input) {
        raw = {static_cast<std::uint8_t>(input >> 16), static_cast<std::uint8_t>(input >> 8),
               static_cast<std::uint8_t>(input)};
        if (!agree(raw)) {
            FAIL(unsigned{raw[0]} << ' ' << unsigned{raw[1]} << ' ' << unsigned{raw[2]});
        }
    }
}

TEST_CASE("the cursor agrees with a second parser on long inputs made of heads") {
    // Few different bytes, so that many inputs are well-formed or nearly so.
    const std::uint8_t alphabet[] = {0x00, 0x01, 0x20, 0x40, 0x41, 0x5f, 0x60, 0x61, 0x7f, 0x80,
                                     0x81, 0x82, 0x9f, 0xa0, 0xa1, 0xbf, 0xc0, 0xf4, 0xf8, 0xff};
    std::uint32_t state = 1;
    std::size_t well_formed = 0;
    for (int repetition = 0; repetition < 200000; ++repetition) {
        std::array<std::uint8_t, 10> raw;
        for (std::uint8_t& each : raw) {
            state = state * 1664525u + 1013904223u;
            each = alphabet[(state >> 16) % std::size(alphabet)];
        }
        if (!agree(raw)) {
            FAIL("repetition " << repetition);
        }
        well_formed += parse(raw.data(), raw.size(), 0, false).is_well_formed ? 1 : 0;
    }
    CHECK(well_formed > 10000);
    CHECK(well_formed < 190000);
}

TEST_CASE("64 levels are read and 65 are not") {
    const std::string arrays_63 = repeated(63, "81");
    CHECK(skipped(from_hex(arrays_63 + "80")) == "ok");
    CHECK(skipped(from_hex(arrays_63 + "8100")) == "ok");
    CHECK(skipped(from_hex(arrays_63 + "8180")) == "cbor_depth");
    CHECK(skipped(from_hex(arrays_63 + "81a0")) == "cbor_depth");
    CHECK(skipped(from_hex(arrays_63 + "81c000")) == "cbor_depth");
    CHECK(skipped(from_hex(arrays_63 + "819fff")) == "cbor_depth");
    CHECK(skipped(from_hex(arrays_63 + "8160")) == "ok");
    CHECK(skipped(from_hex(arrays_63 + "817f6100ff")) == "ok");

    CHECK(skipped(from_hex(repeated(63, "a100") + "a0")) == "ok");
    CHECK(skipped(from_hex(repeated(64, "a100") + "00")) == "ok");
    CHECK(skipped(from_hex(repeated(64, "a100") + "a0")) == "cbor_depth");
    CHECK(skipped(from_hex(repeated(64, "a1") + repeated(65, "00"))) == "ok");
    CHECK(skipped(from_hex(repeated(65, "a1") + repeated(66, "00"))) == "cbor_depth");
    CHECK(skipped(from_hex(repeated(64, "c1") + "00")) == "ok");
    CHECK(skipped(from_hex(repeated(65, "c1") + "00")) == "cbor_depth");
    CHECK(skipped(from_hex(repeated(64, "9f") + repeated(64, "ff"))) == "ok");
    CHECK(skipped(from_hex(repeated(65, "9f") + repeated(65, "ff"))) == "cbor_depth");
    CHECK(skipped(from_hex(repeated(16, "9f81bf00c1") + "00" + repeated(16, "ffff"))) == "ok");
    CHECK(skipped(from_hex(repeated(16, "9f81bf00c1") + "80" + repeated(16, "ffff"))) == "cbor_depth");

    // Side by side they do not add up.
    CHECK(skipped(from_hex("82" + repeated(62, "81") + "80" + repeated(62, "81") + "80")) == "ok");
}

TEST_CASE("containers around the cursor count as levels") {
    CHECK(skipped(from_hex(repeated(59, "81") + "80"), 4) == "ok");
    CHECK(skipped(from_hex(repeated(60, "81") + "80"), 4) == "cbor_depth");
    CHECK(skipped(from_hex("00"), 64) == "ok");
    CHECK(skipped(from_hex("80"), 64) == "cbor_depth");

    const byte_vector nested = from_hex(repeated(65, "81") + "00");
    cbor_cursor cursor(nested);
    cbor_sequence items;
    for (int level = 1; level <= 64; ++level) {
        CAPTURE(level);
        REQUIRE(cursor.enter_array(items));
        REQUIRE(cursor.next(items));
    }
    CHECK_FALSE(cursor.enter_array(items));
    CHECK(cursor.fault().code == errc::cbor_depth);
}

TEST_CASE("a claim of more items than bytes is refused, however large") {
    for (const std::string_view claim : {"9bffffffffffffffff", "9b8000000000000000", "bb8000000000000000",
                                         "bb8000000000000001", "bbffffffffffffffff", "9affffffff", "b9ffff"}) {
        CAPTURE(claim);
        CHECK(skipped(from_hex(std::string(claim) + "0000")) == "cbor_truncated");
        const byte_vector content = from_hex(std::string(claim) + "0000");
        cbor_cursor cursor(content);
        cbor_sequence items;
        CHECK_FALSE((claim[0] == '9' ? cursor.enter_array(items) : cursor.enter_map(items)));
        CHECK(cursor.fault().code == errc::cbor_truncated);
    }
}

TEST_CASE("an unsigned integer is read from heads of every length") {
    const std::pair<std::string_view, std::uint64_t> examples[] = {
        {"00", 0},
        {"17", 23},
        {"1805", 5},
        {"18ff", 255},
        {"190005", 5},
        {"19ffff", 65535},
        {"1a00000005", 5},
        {"1affffffff", 4294967295},
        {"1b0000000000000005", 5},
        {"1b0102030405060708", 0x0102030405060708},
        {"1bffffffffffffffff", std::numeric_limits<std::uint64_t>::max()},
    };
    for (const auto& [hex, expected] : examples) {
        CAPTURE(hex);
        const byte_vector content = from_hex(hex);
        cbor_cursor cursor(content);
        std::uint64_t value = 0;
        CHECK(cursor.read_unsigned(value));
        CHECK(value == expected);
        CHECK(cursor.remaining() == 0);
    }
}

TEST_CASE("nothing else is taken for an unsigned integer") {
    const std::pair<std::string_view, errc> examples[] = {
        {"20", errc::schema_range},     {"3bffffffffffffffff", errc::schema_range},
        {"4101", errc::schema_type},    {"6131", errc::schema_type},
        {"80", errc::schema_type},      {"a0", errc::schema_type},
        {"c101", errc::schema_type},    {"c24101", errc::schema_type},
        {"f4", errc::schema_type},      {"f6", errc::schema_type},
        {"f93c00", errc::schema_type},  {"", errc::cbor_truncated},
        {"1b00", errc::cbor_truncated}, {"1f", errc::cbor_malformed},
        {"ff", errc::cbor_malformed},
    };
    for (const auto& [hex, expected] : examples) {
        CAPTURE(hex);
        const byte_vector content = from_hex(hex);
        cbor_cursor cursor(content);
        std::uint64_t value = 0;
        CHECK_FALSE(cursor.read_unsigned(value));
        CHECK(cursor.fault().code == expected);
        CHECK(cursor.fault().position == 0);
    }
}

TEST_CASE("text is read as it stands, and chunks are told of") {
    const byte_vector whole = from_hex("6449455446");
    cbor_cursor definite(whole);
    cbor_text text;
    REQUIRE(definite.read_text(text));
    CHECK(text.text == "IETF");
    CHECK(text.position == 0);
    CHECK_FALSE(text.is_chunked);

    const byte_vector chunks = from_hex("00 7f 6161 60 62c3bc ff 01");
    cbor_cursor chunked(chunks, 0, 1);
    REQUIRE(chunked.read_text(text));
    CHECK(text.is_chunked);
    CHECK(text.position == 1);
    CHECK(text.text == "\x61\x61\x60\x62\xc3\xbc");
    CHECK(chunked.remaining() == 1);

    cbor_cursor joining(chunks, 0, 1);
    std::string joined;
    REQUIRE(joining.read_joined(cbor_major::text, joined));
    CHECK(joined == "a\xc3\xbc");
    CHECK(joining.remaining() == 1);
}

TEST_CASE("text is refused for what is wrong with it") {
    const std::pair<std::string_view, errc> examples[] = {
        {"00", errc::schema_type},
        {"4161", errc::schema_type},
        {"f6", errc::schema_type},
        {"61ff", errc::cbor_utf8},
        {"62c3", errc::cbor_truncated},
        {"62c328", errc::cbor_utf8},
        {"7f61c361bcff", errc::cbor_utf8},
        {"7f4161ff", errc::cbor_malformed},
        {"7f7f6161ffff", errc::cbor_malformed},
        {"7f6161", errc::cbor_truncated},
        {"7bffffffffffffffff61", errc::cbor_truncated},
    };
    for (const auto& [hex, expected] : examples) {
        CAPTURE(hex);
        const byte_vector content = from_hex(hex);
        cbor_cursor as_value(content);
        cbor_text text;
        CHECK_FALSE(as_value.read_text(text));
        CHECK(as_value.fault().code == expected);
        cbor_cursor as_key(content);
        CHECK_FALSE(as_key.read_key(text));
        CHECK(as_key.fault().code == (expected == errc::schema_type ? errc::schema_key : expected));
    }
}

TEST_CASE("strings are joined from chunks of their own kind only") {
    const auto joined = [](std::string_view hex, cbor_major major) {
        const byte_vector content = from_hex(hex);
        cbor_cursor cursor(content);
        std::string out;
        return cursor.read_joined(major, out) && cursor.remaining() == 0 ? "joined: " + out : "refused";
    };
    CHECK(joined("43616263", cbor_major::bytes) == "joined: abc");
    CHECK(joined("5f 41 61 40 42 62 63 ff", cbor_major::bytes) == "joined: abc");
    CHECK(joined("7f ff", cbor_major::text) == "joined: ");
    CHECK(joined("60", cbor_major::text) == "joined: ");
    CHECK(joined("43616263", cbor_major::text) == "refused");
    CHECK(joined("63616263", cbor_major::bytes) == "refused");
    CHECK(joined("00", cbor_major::text) == "refused");
    CHECK(joined("7f 41 61 ff", cbor_major::text) == "refused");
    CHECK(joined("5f 61 61 ff", cbor_major::bytes) == "refused");
    CHECK(joined("7f 61 61", cbor_major::text) == "refused");
    CHECK(joined("", cbor_major::text) == "refused");
    // A chunk of indefinite length, with as many bytes behind it as its head would be if it were a length.
    CHECK(joined("7f 7f" + repeated(31, "61") + "ff", cbor_major::text) == "refused");
    CHECK(joined("5f 5f" + repeated(31, "00") + "ff", cbor_major::bytes) == "refused");
    CHECK(joined("7f 7f 6161 ff" + repeated(20, "6161") + "ff", cbor_major::text) == "refused");
}

TEST_CASE("a word is taken in its shortest form only") {
    const byte_vector content = from_hex("6564747970 65 00");
    cbor_cursor cursor(content);
    CHECK_FALSE(cursor.take_word("type"));
    CHECK_FALSE(cursor.take_word("dtyp"));
    CHECK_FALSE(cursor.take_word("dtypes"));
    CHECK(cursor.position() == 0);
    CHECK(cursor.take_word("dtype"));
    CHECK(cursor.position() == 6);
    CHECK_FALSE(cursor.take_word(""));
    CHECK_FALSE(cursor.failed());
    const byte_vector longer = from_hex("78056474797065");
    CHECK_FALSE(cbor_cursor(longer).take_word("dtype"));
    const byte_vector cut = from_hex("6564747970");
    CHECK_FALSE(cbor_cursor(cut).take_word("dtype"));
    CHECK_FALSE(cbor_cursor(bytes_view()).take_word("a"));
    const byte_vector not_text = from_hex("456474797065");
    CHECK_FALSE(cbor_cursor(not_text).take_word("dtype"));
}

TEST_CASE("containers are walked item by item") {
    for (const std::string_view hex : {"83 01 02 03 04", "9f 01 02 03 ff 04", "9803 01 02 03 04"}) {
        CAPTURE(hex);
        const byte_vector content = from_hex(hex);
        cbor_cursor cursor(content);
        cbor_sequence items;
        REQUIRE(cursor.enter_array(items));
        std::vector<std::uint64_t> found;
        for (std::uint64_t value = 0; cursor.next(items) && cursor.read_unsigned(value);) {
            found.push_back(value);
        }
        CHECK(found == std::vector<std::uint64_t>{1, 2, 3});
        CHECK_FALSE(cursor.failed());
        CHECK(cursor.remaining() == 1);
    }
    for (const std::string_view hex : {"a2 6161 01 6162 02 04", "bf 6161 01 6162 02 ff 04"}) {
        CAPTURE(hex);
        const byte_vector content = from_hex(hex);
        cbor_cursor cursor(content);
        cbor_sequence pairs;
        REQUIRE(cursor.enter_map(pairs));
        std::string found;
        for (cbor_text key; cursor.next(pairs) && cursor.read_key(key);) {
            std::uint64_t value = 0;
            REQUIRE(cursor.read_unsigned(value));
            found += std::string(key.text) + std::to_string(value);
        }
        CHECK(found == "a1b2");
        CHECK_FALSE(cursor.failed());
        CHECK(cursor.remaining() == 1);
    }
}

TEST_CASE("an empty container has no items") {
    for (const std::string_view hex : {"80", "9fff", "9800", "9b0000000000000000"}) {
        CAPTURE(hex);
        const byte_vector content = from_hex(hex);
        cbor_cursor cursor(content);
        cbor_sequence items;
        REQUIRE(cursor.enter_array(items));
        CHECK_FALSE(cursor.next(items));
        CHECK_FALSE(cursor.failed());
        CHECK(cursor.remaining() == 0);
    }
}

TEST_CASE("a container of the other kind is not entered") {
    for (const std::string_view hex : {"a0", "bfff", "00", "60", "c080", "f6"}) {
        const byte_vector content = from_hex(hex);
        cbor_cursor cursor(content);
        cbor_sequence items;
        CHECK_FALSE(cursor.enter_array(items));
        CHECK(cursor.fault().code == errc::schema_type);
    }
    const byte_vector array = from_hex("80");
    cbor_cursor cursor(array);
    cbor_sequence pairs;
    CHECK_FALSE(cursor.enter_map(pairs));
    CHECK(cursor.fault().code == errc::schema_type);
}

TEST_CASE("the first fault stays, and nothing is read after it") {
    const byte_vector content = from_hex("01 1c 02 03");
    cbor_cursor cursor(content);
    std::uint64_t value = 0;
    REQUIRE(cursor.read_unsigned(value));
    CHECK_FALSE(cursor.skip());
    CHECK(cursor.fault().code == errc::cbor_malformed);
    CHECK(cursor.fault().position == 1);
    cbor_sequence items{5, false};
    cbor_head head;
    cbor_text text;
    CHECK_FALSE(cursor.next(items));
    CHECK_FALSE(cursor.read_unsigned(value));
    CHECK_FALSE(cursor.read_head(head));
    CHECK_FALSE(cursor.read_text(text));
    CHECK_FALSE(cursor.skip());
    CHECK_FALSE(cursor.fail(errc::duplicate_key, 3, "a later fault"));
    CHECK(cursor.fault().code == errc::cbor_malformed);
    CHECK(cursor.fault().position == 1);
}

TEST_CASE("UTF-8 is what RFC 3629 says, for every character of up to three bytes") {
    using ztensor::detail::is_utf8;
    const auto compare = [](std::initializer_list<unsigned> units) {
        std::string text;
        std::vector<std::uint8_t> raw;
        for (const unsigned unit : units) {
            text += static_cast<char>(unit);
            raw.push_back(static_cast<std::uint8_t>(unit));
        }
        return is_utf8(text) == is_valid_utf8(raw.data(), raw.size());
    };
    for (unsigned a = 0; a < 256; ++a) {
        if (!compare({a})) {
            FAIL(a);
        }
        for (unsigned b = 0; b < 256; ++b) {
            if (!compare({a, b})) {
                FAIL(a << ' ' << b);
            }
            for (const unsigned c : {0x00u, 0x41u, 0x7fu, 0x80u, 0x9fu, 0xa0u, 0xbfu, 0xc0u, 0xffu}) {
                if (!compare({a, b, c})) {
                    FAIL(a << ' ' << b << ' ' << c);
                }
                for (const unsigned d : {0x41u, 0x80u, 0xbfu, 0xc0u}) {
                    if (!compare({a, b, c, d})) {
                        FAIL(a << ' ' << b << ' ' << c << ' ' << d);
                    }
                }
            }
        }
    }
}

TEST_CASE("a byte that is not ASCII is found wherever it stands") {
    using ztensor::detail::is_utf8;
    for (std::size_t size = 1; size <= 40; ++size) {
        CHECK(is_utf8(std::string(size, 'a')));
        for (std::size_t position = 0; position < size; ++position) {
            std::string text(size, 'a');
            text[position] = '\x80';
            CAPTURE(size, position);
            CHECK_FALSE(is_utf8(text));
            if (position + 1 < size) {
                text[position] = '\xc3';
                text[position + 1] = '\xbc';
                CHECK(is_utf8(text));
            }
        }
    }
    CHECK(is_utf8(""));
}
