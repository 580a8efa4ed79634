// SPDX-License-Identifier: MIT
//
// Results and errors.
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/error.hpp>
#include <ztensor/result.hpp>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace {

using support::outcome;
using ztensor::errc;
using ztensor::error;
using ztensor::result;

error some_error() {
    return error(errc::bad_magic, "it is broken");
}

} // namespace

// -- result

TEST_CASE("a result holds a value or an error") {
    const result<int> value = 5;
    CHECK(value.has_value());
    CHECK(static_cast<bool>(value));
    CHECK(*value == 5);
    CHECK(value.value() == 5);
    CHECK(value.value_or(7) == 5);

    const result<int> failure = some_error();
    CHECK_FALSE(failure.has_value());
    CHECK_FALSE(static_cast<bool>(failure));
    CHECK(failure.error().code() == errc::bad_magic);
    CHECK(failure.value_or(7) == 7);

    const result<std::string> text = "converted";
    CHECK(text->size() == 9);
    static_assert(!std::is_convertible_v<result<int>, bool>, "only asked for explicitly");
}

#if ZTENSOR_HAS_EXCEPTIONS
TEST_CASE("the value of an error is thrown, with all that the error knows") {
    const result<int> failure = some_error().in_object("w");
    try {
        failure.value();
        FAIL("it must throw");
    } catch (const ztensor::exception& thrown) {
        CHECK(thrown.code() == errc::bad_magic);
        CHECK(thrown.error().object() == "w");
        CHECK(std::string(thrown.what()) == "object \"w\": it is broken");
        CHECK(ztensor::exception(thrown).error().code() == errc::bad_magic);
    }
    CHECK_THROWS_AS(result<int>(some_error()).value(), std::exception);
    CHECK_THROWS_AS(result<void>(some_error()).value(), ztensor::exception);
    CHECK_NOTHROW(result<void>().value());
}

namespace {

/// Moves, unless it is told to fail.
struct unwilling {
    unwilling() = default;
    unwilling(unwilling&& other) noexcept(false) : is_unwilling(other.is_unwilling) {
        if (is_unwilling) {
            throw std::runtime_error("won't move");
        }
    }
    unwilling& operator=(unwilling&&) = default;
    bool is_unwilling = false;
};

} // namespace

TEST_CASE("an error stays where its place is to be taken by a value that can't be moved") {
    result<unwilling> mine = some_error();
    result<unwilling> other(std::in_place);
    other->is_unwilling = true;
    CHECK_THROWS_AS(mine = std::move(other), std::runtime_error);
    CHECK(outcome(mine) == "bad_magic");
    other->is_unwilling = false;
    mine = std::move(other);
    CHECK(outcome(mine) == "ok");
}

TEST_CASE("memory that runs out becomes an error, whatever ran out") {
    CHECK(outcome(ztensor::detail::guard_memory([]() -> result<int> { throw std::bad_alloc(); })) == "out_of_memory");
    CHECK(outcome(ztensor::detail::guard_memory([]() -> result<void> { throw std::length_error("long"); })) ==
          "out_of_memory");
    CHECK(ztensor::detail::guard_memory([]() -> result<int> { return 3; }).value() == 3);
    CHECK(outcome(ztensor::detail::guard_memory([]() -> result<int> { return some_error(); })) == "bad_magic");
}
#endif

TEST_CASE("a result that is given to itself stays what it is") {
    result<std::string> text = std::string("long enough to lie somewhere else");
    result<std::string>& same = text;
    text = same;
    CHECK(*text == "long enough to lie somewhere else");
    text = std::move(same);
    CHECK(*text == "long enough to lie somewhere else");
}

TEST_CASE("a result that dies gives its value away") {
    result<std::unique_ptr<int>> owner = std::make_unique<int>(5);
    static_assert(std::is_same_v<decltype(std::move(owner).value()), std::unique_ptr<int>>, "no dangling reference");
    static_assert(std::is_same_v<decltype(*std::move(owner)), std::unique_ptr<int>>, "no dangling reference");
    CHECK(**owner == 5);
    const std::unique_ptr<int> taken = std::move(owner).value();
    CHECK(*taken == 5);
    result<std::unique_ptr<int>> failure = some_error();
    CHECK(*std::move(failure).value_or(std::make_unique<int>(6)) == 6);
}

#if !defined(NDEBUG) && !defined(_WIN32)
TEST_CASE("taking what a result lacks ends the program and says what it holds") {
    const support::temp_dir folder;
    const auto last_words = [&](auto&& take) {
        const std::string path = (folder / "words").string();
        const int ended = support::exit_code_of([&] {
            std::signal(SIGABRT, SIG_DFL);
            if (std::freopen(path.c_str(), "w", stderr) == nullptr) {
                return 1;
            }
            std::setvbuf(stderr, nullptr, _IONBF, 0); // abort() writes nothing that is kept
            take();
            return 0;
        });
        CHECK(ended == -1);
        std::ifstream words(path);
        return std::string(std::istreambuf_iterator<char>(words), {});
    };
    const result<int> failure = some_error();
    const result<void> nothing = some_error();
    const result<int> value = 5;
    int taken = 0;
    CHECK(last_words([&] { taken = *failure; }).find("it is broken") != std::string::npos);
    CHECK(last_words([&] { *nothing; }).find("it is broken") != std::string::npos);
    CHECK(last_words([&] { static_cast<void>(value.error()); }).find("holds none") != std::string::npos);
}
#elif defined(_WIN32)
TEST_CASE("taking what a result lacks is tried where there is a fork") {
    WARN("skipped: Windows has no fork");
}
#endif

TEST_CASE("steps after a value run, and after an error don't") {
    const auto half = [](int value) -> result<int> {
        return value % 2 == 0 ? result<int>(value / 2) : result<int>(error(errc::size_mismatch, "odd"));
    };
    const result<int> twelve = 12;
    CHECK(twelve.and_then(half).and_then(half).value() == 3);
    CHECK(outcome(twelve.and_then(half).and_then(half).and_then(half)) == "size_mismatch");
    CHECK(twelve.transform([](int value) { return std::to_string(value); }).value() == "12");
    CHECK(result<int>(4).and_then(half).transform([](int value) { return value + 0.5; }).value() == 2.5);

    bool ran = false;
    const result<int> failure = some_error();
    CHECK(outcome(failure.and_then([&](int) -> result<int> {
              ran = true;
              return 0;
          })) == "bad_magic");
    CHECK(outcome(failure.transform([&](int) {
              ran = true;
              return 0;
          })) == "bad_magic");
    CHECK_FALSE(ran);
}

TEST_CASE("steps after an error may mend or rename it") {
    CHECK(result<int>(some_error()).or_else([](const error&) { return result<int>(1); }).value() == 1);
    CHECK(result<int>(2).or_else([](const error&) { return result<int>(1); }).value() == 2);
    const auto rename = [](const error&) { return error(errc::io_error, "renamed"); };
    CHECK(outcome(result<int>(some_error()).transform_error(rename)) == "io_error");
    CHECK(outcome(result<int>(2).transform_error(rename)) == "ok");
    CHECK(outcome(result<void>(some_error()).transform_error(rename)) == "io_error");
    CHECK(outcome(result<void>().transform_error(rename)) == "ok");
}

TEST_CASE("a result of nothing is success unless it says otherwise") {
    CHECK(outcome(result<void>()) == "ok");
    CHECK(outcome(result<void>(some_error())) == "bad_magic");
    CHECK(result<void>().and_then([] { return result<int>(4); }).value() == 4);
    CHECK(outcome(result<void>(some_error()).and_then([] { return result<int>(4); })) == "bad_magic");
    const result<void> failed = some_error();
    CHECK(outcome(failed.transform([] { return 4; })) == "bad_magic");
    CHECK(outcome(failed.transform([] {})) == "bad_magic");
    CHECK(result<void>().transform([] { return 4; }).value() == 4);
    CHECK(outcome(result<void>(some_error()).or_else([](const error&) { return result<void>(); })) == "ok");
}

// -- error

TEST_CASE("every code has a name of its own") {
    std::set<std::string_view> names;
    const auto count = static_cast<std::size_t>(errc::writer_closed) + 1;
    for (std::size_t code = 0; code < count; ++code) {
        CHECK(names.insert(name(static_cast<errc>(code))).second);
    }
    CHECK(name(errc::file_not_found) == "file_not_found");
    CHECK(name(errc::decode_limit) == "decode_limit");
    CHECK(name(errc::writer_closed) == "writer_closed");
    std::ostringstream out;
    out << errc::cbor_depth;
    CHECK(out.str() == "cbor_depth");
}

TEST_CASE("the kind of an error says what to do about it") {
    using ztensor::error_kind;
    CHECK(kind(errc::io_error) == error_kind::io);
    CHECK(kind(errc::truncated) == error_kind::invalid_file);
    CHECK(kind(errc::foreign_file) == error_kind::unsupported);
    CHECK(kind(errc::unknown_dtype) == error_kind::unsupported);
    CHECK(kind(errc::limit_exceeded) == error_kind::limit);
    CHECK(kind(errc::out_of_memory) == error_kind::limit);
    CHECK(kind(errc::object_not_found) == error_kind::not_found);
    CHECK(kind(errc::file_not_found) == error_kind::not_found);
    CHECK(kind(errc::writer_closed) == error_kind::usage);
    CHECK(some_error().kind() == error_kind::invalid_file);
    CHECK(some_error().by_caller().kind() == error_kind::usage);
    CHECK(some_error().by_file().kind() == error_kind::invalid_file);
    CHECK(error(errc::name_invalid, "a file's fault").by_file().kind() == error_kind::invalid_file);
    CHECK(error(errc::io_error, "nobody's fault").by_file().kind() == error_kind::io);
    CHECK(error(errc::io_error, "nobody's fault").by_caller().kind() == error_kind::io);
    CHECK(name(error_kind::io) == "io");
    CHECK(name(error_kind::not_found) == "not_found");
    std::ostringstream out;
    out << error_kind::usage;
    CHECK(out.str() == "usage");
}

TEST_CASE("an error says where, what and why in one line") {
    CHECK(some_error().what() == "it is broken");
    CHECK(some_error().in_file("a.zt").what() == "a.zt: it is broken");
    CHECK(some_error().in_object("w").in_file("a.zt").what() == "a.zt: object \"w\": it is broken");
    CHECK(some_error().in_component("data").in_object("w").at(64).in_file("a.zt").what() ==
          "a.zt: object \"w\", component \"data\": it is broken (at byte 64)");
    const std::error_code denied = std::make_error_code(std::errc::permission_denied);
    const error refused = error(errc::io_error, "can't open").because(denied);
    CHECK(refused.what() == "can't open: " + denied.message());
    CHECK(refused.os_error() == denied);
    CHECK(refused.sentence() == "can't open");
    CHECK_FALSE(some_error().os_error());
    CHECK_FALSE(some_error().offset().has_value());
    std::ostringstream out;
    out << some_error().in_object("w");
    CHECK(out.str() == "object \"w\": it is broken");
}

TEST_CASE("an error keeps the place it was given first") {
    const error located = some_error()
                              .in_file("first.zt")
                              .in_file("second.zt")
                              .in_object("inner")
                              .in_object("outer")
                              .in_component("values")
                              .in_component("indices")
                              .at(1)
                              .at(2);
    CHECK(located.path() == "first.zt");
    CHECK(located.object() == "inner");
    CHECK(located.component() == "values");
    CHECK(located.offset() == std::uint64_t{1});
    CHECK(some_error().in_file("").in_file("later.zt").path() == "later.zt");
}

TEST_CASE("a copy of an error does not change with the original") {
    const error original = some_error();
    error copy = original;
    copy = std::move(copy).in_object("w").at(5).because(std::make_error_code(std::errc::io_error));
    CHECK(original.object().empty());
    CHECK_FALSE(original.offset().has_value());
    CHECK_FALSE(original.os_error());
    CHECK(original.what() == "it is broken");
    CHECK(copy.object() == "w");
}

TEST_CASE("hostile text is escaped and cut before it enters a message") {
    const std::string name = std::string("a\n\x1b[31m\"\\\0z\xff", 12) + std::string(100, 'x');
    const error located = some_error().in_object(name);
    CHECK(located.object() == name);
    // Of the 64 bytes that are shown, 12 are these and 52 are x.
    CHECK(located.what() == R"(object "a\x0a\x1b[31m\"\\\x00z\xff)" + std::string(52, 'x') + "…\": it is broken");
    CHECK(ztensor::detail::quote("") == "\"\"");
    CHECK(ztensor::detail::quote(std::string(64, 'y')) == "\"" + std::string(64, 'y') + "\"");
    CHECK(ztensor::detail::quote("\x7f\x80") == R"("\x7f\x80")");
}
