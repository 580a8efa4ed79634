// SPDX-License-Identifier: MIT
//
// The library's errors as std::error_code, and formatted where the standard library can.
#include "support/catch.hpp"

#include <ztensor/error.hpp>
#include <ztensor/formatter.hpp>
#include <ztensor/result.hpp>

#include <string>
#include <system_error>
#include <utility>

namespace {

using ztensor::errc;
using ztensor::error;
using ztensor::result;

} // namespace

TEST_CASE("a code is an error code of its own category") {
    const std::error_code code = errc::digest_mismatch;
    CHECK(code == make_error_code(errc::digest_mismatch));
    CHECK(code.category() == ztensor::category());
    CHECK(code.message() == "digest_mismatch");
    CHECK(std::string(code.category().name()) == "ztensor");
    CHECK(make_error_code(error(errc::truncated, "cut off")) == errc::truncated);
    CHECK(ztensor::category().message(-1) == "an unknown code");
    CHECK(ztensor::category().message(100000) == "an unknown code");
}

TEST_CASE("what an error says is one line that a terminal may be given, whatever names are in it") {
    const std::string hostile = "a\x1b[31m\n\x7f\xc2\x9b\xe2\x80\xae\xe2\x81\xa6\xef\xbb\xbf\xff\xc3";
    const std::string shown = "a\\x1b[31m\\x0a\\x7f\\xc2\\x9b\\xe2\\x80\\xae\\xe2\\x81\\xa6\\xef\\xbb\\xbf\\xff\\xc3";
    const error why = error(errc::io_error, "can't read " + hostile).in_file(hostile).in_object(hostile);
    CHECK(why.path() == hostile);
    CHECK(why.object() == hostile);
    CHECK(why.sentence() == "can't read " + shown);
    CHECK(why.what() == shown + ": object \"" + shown + "\": can't read " + shown);
    const std::string good = "mod\xc3\xa8le \xe6\x96\x87\xe5\xad\x97 \\ \"w\"";
    CHECK(error(errc::io_error, good).in_file(good).what() == good + ": " + good);
}

TEST_CASE("codes that the standard library knows compare equal to its own") {
    CHECK(make_error_code(errc::file_not_found) == std::errc::no_such_file_or_directory);
    CHECK(make_error_code(errc::out_of_memory) == std::errc::not_enough_memory);
    CHECK(make_error_code(errc::cancelled) == std::errc::operation_canceled);
    CHECK(make_error_code(errc::busy) == std::errc::device_or_resource_busy);
    CHECK(make_error_code(errc::recovery_needed) != std::errc::device_or_resource_busy);
    CHECK(make_error_code(errc::invalid_argument) == std::errc::invalid_argument);
    CHECK(make_error_code(errc::digest_mismatch) != std::errc::io_error);
    CHECK(ztensor::category().default_error_condition(100000) == std::error_condition(100000, ztensor::category()));
}

TEST_CASE("a result is made anew in place, and swapped") {
    result<std::string> text = error(errc::truncated, "cut off");
    CHECK(text.emplace(std::string("abc")) == "abc");
    CHECK(text.value() == "abc");
    result<std::string> other(std::in_place, "xyz");
    swap(text, other);
    CHECK(*text == "xyz");
    CHECK(*other == "abc");
    other = error(errc::truncated, "cut off");
    swap(text, other);
    CHECK(text.error().code() == errc::truncated);
    CHECK(*other == "xyz");

    result<void> done = error(errc::truncated, "cut off");
    result<void> good;
    swap(done, good);
    CHECK(done.has_value());
    CHECK(good.error().code() == errc::truncated);
    good.emplace();
    CHECK(good.has_value());
}

TEST_CASE("results are chained whatever they are held by") {
    result<int> lvalue = 3;
    const result<int> constant = error(errc::truncated, "cut off");
    CHECK(lvalue.and_then([](int& value) { return result<int>(++value); }).value() == 4);
    CHECK(lvalue.transform([](int value) { return value + 1; }) == 5);
    CHECK(lvalue.transform([](int) {}).has_value());
    CHECK(constant.or_else([](const error&) { return result<int>(7); }) == 7);
    CHECK(constant.transform_error([](const error& why) { return error(errc::busy, why.sentence()); }).error().code() ==
          errc::busy);
    CHECK(result<void>().transform([] { return 5; }) == 5);
    CHECK(result<void>().transform([] {}).has_value());
    CHECK(constant.error_or(error(errc::busy, "no")).code() == errc::truncated);
    CHECK(lvalue.error_or(error(errc::busy, "no")).code() == errc::busy);
    CHECK(result<long>(result<int>(3)) == 3L);
    CHECK(result<int>() == 0);
    *result<void>();
}

#if defined(__cpp_lib_format)
TEST_CASE("errors, words and shapes are formatted as text is") {
    CHECK(std::format("{}", error(errc::truncated, "cut off")) == "cut off");
    CHECK(std::format("{:>10}", errc::truncated) == " truncated");
    CHECK(std::format("{} {} {}", ztensor::shape{2, 3}, ztensor::dtype::bf16, ztensor::format::dense) ==
          "[2, 3] bf16 dense");
}
#endif
