// SPDX-License-Identifier: MIT
//
// The lines of text that pickles of protocol 0 hold numbers and texts in, and pickles one behind the other.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <ztensor/detail/import/pickle_stream.hpp>
#include <ztensor/detail/read/sources.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace {

namespace lines_of_pickles {

std::optional<std::string> quoted_line(const std::string& line) {
    std::string text;
    return ztensor::detail::decode_quoted_line(line, text) ? std::optional(text) : std::nullopt;
}
std::optional<std::string> unicode_line(const std::string& line) {
    std::string text;
    return ztensor::detail::decode_unicode_line(line, text) ? std::optional(text) : std::nullopt;
}
std::optional<std::int64_t> integer_line(const std::string& line) {
    std::int64_t value = 0;
    return ztensor::detail::parse_integer_line(line, value) ? std::optional(value) : std::nullopt;
}
std::optional<double> number_line(const std::string& line) {
    double value = 0;
    return ztensor::detail::parse_number_line(line, value) ? std::optional(value) : std::nullopt;
}

} // namespace lines_of_pickles

} // namespace

TEST_CASE("a text between quotes has the escapes of Python") {
    using namespace lines_of_pickles;
    const std::pair<const char*, std::optional<std::string>> rows[] = {
        {"''", ""},
        {"\"it's\"", "it's"},
        {R"('\\\'\"\a\b\f\n\r\t\v')", "\\'\"\a\b\f\n\r\t\v"},
        {R"('\x41\xfF\xAb')", "A\xff\xab"},
        {R"('\0\7\101\1018\377\400')", std::string("\0\7A", 3) + "A8\xff" + std::string(1, '\0')},
        {R"('\7')", "\7"},
        {R"('\7!\12 ')", "\7!\12 "},
        {R"('a\8')", std::nullopt},
        {R"('a\!')", std::nullopt},
        {R"('a\x!1')", std::nullopt},
        {R"('a\q')", std::nullopt},
        {R"('a\x4')", std::nullopt},
        {R"('a\x4g')", std::nullopt},
        {R"('a\x:1')", std::nullopt},
        {R"('a\')", std::nullopt},
        {"'a", std::nullopt},
        {"'", std::nullopt},
        {"a'", std::nullopt},
        {"'a\"", std::nullopt},
    };
    for (const auto& [line, expected] : rows) {
        CAPTURE(line);
        CHECK(quoted_line(line) == expected);
    }
}

TEST_CASE("a text of a line holds characters of any length as UTF-8") {
    using namespace lines_of_pickles;
    const std::pair<const char*, std::optional<std::string>> rows[] = {
        {"", ""},
        {"a\xe9", "a\xc3\xa9"}, // a byte is a character
        {R"(\u0041\u00e9\u20AC\U0001f600)", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {R"(\u007f\u0080\u07ff\u0800\uffff\U00010000)", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80"},
        {R"(a\)", "a\\"},
        {R"(\n)", "\\n"},
        {R"(\u12)", std::nullopt},
        {R"(\u12g4)", std::nullopt},
        {R"(\U0001f60)", std::nullopt},
    };
    for (const auto& [line, expected] : rows) {
        CAPTURE(line);
        CHECK(unicode_line(line) == expected);
    }
}

TEST_CASE("numbers of a line are integers of 64 bits, and floats as Python prints them") {
    using namespace lines_of_pickles;
    CHECK(integer_line("-12") == -12);
    CHECK(integer_line("9223372036854775807") == (std::numeric_limits<std::int64_t>::max)());
    for (const char* const none : {"", "-", "+1", "1a", "9223372036854775808", "99999999999999999999"}) {
        CAPTURE(none);
        CHECK_FALSE(integer_line(none));
    }
    CHECK(number_line("1.5e300") == 1.5e300);
    CHECK(number_line("inf") == std::numeric_limits<double>::infinity());
    CHECK(number_line("-inf") == -std::numeric_limits<double>::infinity());
    CHECK(std::isnan(number_line("nan").value_or(0)));
    for (const char* const none : {"", "a", "1.5 ", "1.5x"}) {
        CAPTURE(none);
        CHECK_FALSE(number_line(none));
    }
}

TEST_CASE("a float is printed as Python prints it") {
    using ztensor::detail::print_number;
    const std::pair<double, const char*> rows[] = {
        {0.0, "0.0"},
        {1.0, "1.0"},
        {-2.5, "-2.5"},
        {0.1, "0.1"},
        {100.0, "100.0"},
        {123456.75, "123456.75"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {0.0001, "0.0001"},
        {-0.00012, "-0.00012"},
        {1e-5, "1e-05"},
        {1.0 / 3.0, "0.3333333333333333"},
        {std::numeric_limits<double>::infinity(), "inf"},
        {-std::numeric_limits<double>::infinity(), "-inf"},
        {std::numeric_limits<double>::quiet_NaN(), "nan"},
        {(std::numeric_limits<double>::max)(), "1.7976931348623157e+308"},
    };
    for (const auto& [value, expected] : rows) {
        CHECK(print_number(value) == expected);
    }
}

TEST_CASE("pickles one behind the other end where they end, and say so when they are cut off") {
    using support::bytes;
    const bytes first = "\x80\x02X" + support::little_endian(600, 4) + bytes(600, 'a') + ".", second = "\x80\x02N.";
    const bytes all = first + support::little_endian(7, 8) + "gap" + second;
    const ztensor::detail::memory_source source(support::bytes_of(all));
    ztensor::detail::pickle_stream stream(source, 0, all.size(), 1 << 20);
    const auto long_one = stream.next_pickle();
    REQUIRE(long_one);
    CHECK(long_one->bytes().size() == first.size());
    CHECK(stream.next_number(8) == 7U);
    REQUIRE(stream.skip(3));
    CHECK(stream.position() == all.size() - second.size());
    const auto short_one = stream.next_pickle();
    REQUIRE(short_one);
    CHECK(short_one->bytes().size() == second.size());
    CHECK(support::outcome(stream.next_pickle()) == "truncated");
    CHECK(support::outcome(stream.next_number(1)) == "truncated");
    CHECK(support::outcome(stream.skip(1)) == "truncated");

    const bytes cut = first.substr(0, 100);
    const ztensor::detail::memory_source of_cut(support::bytes_of(cut));
    CHECK(support::outcome(ztensor::detail::pickle_stream(of_cut, 0, cut.size(), 1 << 20).next_pickle()) ==
          "truncated");
    CHECK(support::outcome(ztensor::detail::pickle_stream(source, 0, all.size(), 300).next_pickle()) ==
          "limit_exceeded");
}
