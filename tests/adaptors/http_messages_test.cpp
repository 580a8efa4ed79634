// SPDX-License-Identifier: MIT
//
// What a server's response says, without a server: values of header fields, and which response is taken for a range.
#include "support/catch.hpp"

#include <ztensor/detail/http/messages.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace detail = ztensor::detail;
using detail::http_problem;
using detail::http_range_request;
using detail::http_response_head;
using detail::parse_content_range;

namespace {

http_response_head head_of(std::initializer_list<std::string_view> lines) {
    http_response_head head;
    head.clear();
    for (const std::string_view line : lines) {
        head.add_line(std::string(line) + "\r\n");
    }
    head.add_line("\r\n");
    return head;
}

http_range_request range_of(std::uint64_t begin, std::uint64_t end, std::optional<std::uint64_t> total = std::nullopt) {
    http_range_request asked;
    asked.begin = begin;
    asked.end = end;
    asked.total = total;
    return asked;
}

} // namespace

TEST_CASE("Content-Range is read exactly, or not at all") {
    const auto range = parse_content_range("bytes 3-9/20");
    REQUIRE(range);
    CHECK(range->begin == 3);
    CHECK(range->end == 10);
    CHECK(range->total == 20);
    CHECK(parse_content_range("Bytes 0-0/1"));
    CHECK(parse_content_range("bytes */20")->total == 20);
    CHECK(parse_content_range("bytes 0-18446744073709551613/18446744073709551615"));
    for (const char* const text : {"",
                                   "bytes",
                                   "bytes ",
                                   "bytes 3-9",
                                   "bytes 3-9/*",
                                   "bytes */*",
                                   "bytes 9-3/20",
                                   "bytes 3-20/20",
                                   "bytes 3 -9/20",
                                   "bytes  3-9/20",
                                   "bytes=3-9/20",
                                   "bytes 3-9/20 ",
                                   "bytes -9/20",
                                   "bytes 3-/20",
                                   "bytes +3-9/20",
                                   "items 3-9/20",
                                   "bytes 3-9/18446744073709551616",
                                   "bytes 0x3-9/20",
                                   "bytes 3-9/2/0",
                                   "bytes 0-0/0"}) {
        CAPTURE(text);
        CHECK(!parse_content_range(text));
    }
}

TEST_CASE("Entity tags, status lines and times to wait") {
    for (const char* const tag : {"\"\"", "\"abc\"", "W/\"abc\"", "\"\xe4\""}) {
        CHECK(detail::is_entity_tag(tag));
    }
    for (const char* const tag : {"", "abc", "\"", "\"a", "w/\"a\"", "W/a", "\"a\"b\"", "\"a b\"", "\"a\r\nb\""}) {
        CHECK(!detail::is_entity_tag(tag));
    }
    CHECK(detail::is_strong_tag("\"a\""));
    CHECK(!detail::is_strong_tag("W/\"a\""));
    CHECK(!detail::is_strong_tag(""));
    CHECK(detail::opaque_tag("W/\"a\"") == "\"a\"");

    CHECK(detail::parse_status_line("HTTP/1.1 206 Partial Content") == 206);
    CHECK(detail::parse_status_line("HTTP/2 206 ") == 206);
    CHECK(detail::parse_status_line("HTTP/2 206") == 206);
    for (const char* const line : {"", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 20", "HTTP/1.1 2066", "HTTP/1.1 20x",
                                   "ICY 200 OK", "HTTP/ 206", "HTTP/1.1  206", "HTTP/1.1 006", "HTTP/a 206"}) {
        CAPTURE(line);
        CHECK(detail::parse_status_line(line) == 0);
    }

    CHECK(detail::parse_http_date("Thu, 01 Jan 1970 00:00:00 GMT") == std::uint64_t{0});
    CHECK(detail::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT") == std::uint64_t{784111777});
    CHECK(detail::parse_http_date("Tue, 29 Feb 2028 23:59:59 GMT") == std::uint64_t{1835481599});
    CHECK(detail::parse_http_date("Fri, 31 Dec 9999 23:59:59 GMT") == std::uint64_t{253402300799});
    for (const char* const date :
         {"", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1969 08:49:37 GMT", "Sun, 06 Now 1994 08:49:37 GMT",
          "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT"}) {
        CAPTURE(date);
        CHECK(!detail::parse_http_date(date));
    }
    CHECK(detail::parse_retry_after("120", 7) == std::uint64_t{120});
    CHECK(detail::parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 784111770) == std::uint64_t{7});
    CHECK(detail::parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 784111780) == std::uint64_t{0});
    CHECK(!detail::parse_retry_after("-1", 0));
    CHECK(!detail::parse_retry_after("1.5", 0));
    CHECK(!detail::parse_retry_after("99999999999999999999", 0));
}

TEST_CASE("A response is taken for exactly the range that was asked for") {
    const http_response_head head =
        head_of({"HTTP/1.1 206 Partial Content", "ETag: \"a\"", "Content-Range: bytes 10-19/100"});
    CHECK(range_of(10, 20).check(head) == http_problem::none);
    CHECK(range_of(10, 20, 100).check(head) == http_problem::none);
    CHECK(range_of(10, 21, 100).check(head) == http_problem::other_range);
    CHECK(range_of(9, 20, 100).check(head) == http_problem::other_range);
    CHECK(range_of(10, 20, 101).check(head) == http_problem::other_total);
    http_range_request tagged = range_of(10, 20);
    tagged.tag = "W/\"a\"";
    CHECK(tagged.check(head) == http_problem::none);
    tagged.tag = "\"b\"";
    CHECK(tagged.check(head) == http_problem::other_tag);

    const http_response_head end = head_of({"HTTP/1.1 206 Partial Content", "content-range:bytes 90-99/100"});
    http_range_request suffix;
    suffix.is_suffix = true;
    suffix.end = 10;
    CHECK(suffix.check(end) == http_problem::none);
    suffix.end = 11;
    CHECK(suffix.check(end) == http_problem::other_range);
    http_range_request open_end = range_of(90, 200);
    CHECK(open_end.check(end) == http_problem::other_range);
    open_end.may_be_short = true;
    CHECK(open_end.check(end) == http_problem::none);
}

TEST_CASE("What is no such response says why") {
    const auto problem = [](std::initializer_list<std::string_view> lines) {
        return range_of(0, 1).check(head_of(lines));
    };
    const std::string_view status = "HTTP/1.1 206 x", range = "Content-Range: bytes 0-0/1";
    CHECK(problem({status, range}) == http_problem::none);
    CHECK(problem({status, range, "Content-Encoding: identity"}) == http_problem::none);
    CHECK(problem({"HTTP/1.1 103 x", "ETag: \"b\"", range, "", status, range}) == http_problem::none);
    CHECK(problem({status}) == http_problem::no_range);
    CHECK(problem({status, "Content-Range: bytes */1"}) == http_problem::no_range);
    CHECK(problem({status, range, range}) == http_problem::head_malformed);
    CHECK(problem({status, range, "ETag: \"a\"", "ETag: \"b\""}) == http_problem::head_malformed);
    CHECK(problem({status, range, " continued"}) == http_problem::head_malformed);
    CHECK(problem({status, range, "no colon"}) == http_problem::head_malformed);
    CHECK(problem({status, range, "Content-Encoding : gzip"}) == http_problem::head_malformed);
    CHECK(problem({status, range, "Content-Encoding: gzip"}) == http_problem::encoded);
    CHECK(problem({status, range, "Content-Encoding: identity", "Content-Encoding: br"}) == http_problem::encoded);
    CHECK(problem({"HTTP/1.1 200 x", range}) == http_problem::whole_content);
    CHECK(problem({"HTTP/1.1 503 x", range}) == http_problem::other_status);
    CHECK(problem({"nonsense"}) == http_problem::no_response);
    http_response_head unfinished;
    unfinished.clear();
    unfinished.add_line("HTTP/1.1 206 x\r\n");
    CHECK(range_of(0, 1).check(unfinished) == http_problem::no_response);
}

TEST_CASE("The head of a response takes bounded memory") {
    http_response_head head = head_of({"HTTP/1.1 302 x", "Location: " + std::string(9000, 'x')});
    CHECK(head.is_malformed());
    head = head_of({"HTTP/1.1 206 x", "ETag: \"" + std::string(300, 'x') + "\""});
    CHECK(head.tag().empty());
    head.clear();
    CHECK(head.add_line("HTTP/1.1 206 x\r\n"));
    int lines = 0;
    while (head.add_line("X-Padding: " + std::string(1000, 'x') + "\r\n")) {
        REQUIRE(++lines < 1000);
    }
    CHECK(head.is_too_large());
    CHECK(lines > 50);
    CHECK(range_of(0, 1).check(head) == http_problem::head_too_large);
    head.clear();
    CHECK(!head.add_line(std::string(100'000, 'x')));
}

TEST_CASE("Options of requests are checked") {
    detail::http_settings settings;
    CHECK(detail::check_settings(settings));
    CHECK(settings.user_agent.rfind("ztensor/", 0) == 0);
    CHECK(settings.back_off_ms(0) == 100);
    CHECK(settings.back_off_ms(3) == 800);
    CHECK(settings.back_off_ms(7) == 10'000);
    CHECK(settings.back_off_ms(1000) == 10'000);
    settings.headers = {{"X-A", "b"}};
    CHECK(detail::check_settings(settings));
    settings.headers = {{"Accept-Encoding", "gzip"}};
    CHECK(!detail::check_settings(settings));
    settings.headers = {{"X-A", "SECRET\n"}};
    CHECK(detail::check_settings(settings).error().what().find("SECRET") == std::string::npos);
}
