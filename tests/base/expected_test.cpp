// SPDX-License-Identifier: MIT
//
// One list of uses for ztensor::result and, where it exists, for std::expected: what both have they have alike.
#include "support/catch.hpp"

#include <ztensor/error.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#if defined(__has_include)
#if __has_include(<expected>)
#include <expected>
#endif
#endif

namespace {

using ztensor::errc;
using ztensor::error;

struct ours {
    template <class T>
    using of = ztensor::result<T>;
    static constexpr ztensor::unexpect_t unexpect{};
    static constexpr bool lends_of_temporaries = false; // the one difference, see result.hpp
};

#if defined(__cpp_lib_expected) && __cpp_lib_expected >= 202211L // with steps
#define EXPECTED_KINDS ours, standard
struct standard {
    template <class T>
    using of = std::expected<T, error>;
    static constexpr std::unexpect_t unexpect{};
    static constexpr bool lends_of_temporaries = true;
};
#else
#define EXPECTED_KINDS ours
#endif

/// Made from a number only when asked for by name.
struct metres {
    explicit metres(int given) : count(given) {}
    int count;
};

struct pair_of_words {
    std::string first;
    std::string second;
    friend bool operator==(const pair_of_words& a, const pair_of_words& b) {
        return a.first == b.first && a.second == b.second;
    }
};

/// A default-constructible, copyable type whose moves may fail.
struct moody {
    explicit moody(int given = 0) : number(given) {}
    moody(const moody& other) : number(other.number) {
#if ZTENSOR_HAS_EXCEPTIONS
        if (other.number < 0) {
            throw std::runtime_error("no copy");
        }
#endif
    }
    moody& operator=(const moody& other) {
        number = moody(other).number;
        return *this;
    }
    int number;
};

error broken(const char* sentence = "it is broken") {
    return error(errc::bad_magic, sentence);
}

} // namespace

TEMPLATE_TEST_CASE("results are made like std::expected", "", EXPECTED_KINDS) {
    using number = typename TestType::template of<int>;
    using text = typename TestType::template of<std::string>;
    using numbers = typename TestType::template of<std::vector<int>>;
    using nothing = typename TestType::template of<void>;

    static_assert(std::is_same_v<typename number::value_type, int> &&
                  std::is_same_v<typename number::error_type, error>);
    static_assert(std::is_same_v<typename number::template rebind<std::string>, text>);
    static_assert(std::is_convertible_v<int, number> && std::is_convertible_v<const char*, text>);
    static_assert(!std::is_convertible_v<int, typename TestType::template of<metres>>);
    static_assert(std::is_constructible_v<typename TestType::template of<metres>, int>);
    static_assert(!std::is_convertible_v<number, typename TestType::template of<metres>>);
    static_assert(!std::is_constructible_v<number, std::string>);
    static_assert(std::is_convertible_v<typename number::unexpected_type, number>);
    static_assert(std::is_convertible_v<typename number::unexpected_type, nothing>);
    static_assert(!std::is_default_constructible_v<typename TestType::template of<metres>>);
    static_assert(std::is_nothrow_move_constructible_v<number> && std::is_nothrow_move_assignable_v<number>);
    static_assert(std::is_nothrow_swappable_v<number> && std::is_nothrow_swappable_v<nothing>);
    static_assert(!std::is_copy_constructible_v<typename TestType::template of<std::unique_ptr<int>>> ||
                  std::is_same_v<TestType, ours>); // ours fails where it is copied

    CHECK(number().value() == 0);
    CHECK(nothing().has_value());
    CHECK(nothing(std::in_place).has_value());
    CHECK(text(std::in_place, 3U, 'x').value() == "xxx");
    CHECK(numbers(std::in_place, {1, 2, 3}).value().size() == 3);
    CHECK(numbers(2U).value().size() == 2); // explicit, as the vector's own
    CHECK(typename TestType::template of<metres>(7).value().count == 7);
    CHECK(typename TestType::template of<metres>(number(7)).value().count == 7);
    CHECK(typename TestType::template of<pair_of_words>({"a", "b"}).value() == pair_of_words{"a", "b"});
    const typename TestType::template of<double> wider = number(3);
    CHECK(*wider == 3.0);
    const typename TestType::template of<double> failed = number(typename number::unexpected_type(broken()));
    CHECK(failed.error() == broken());

    CHECK(number(TestType::unexpect, errc::bad_magic, "it is broken").error() == broken());
    CHECK(nothing(TestType::unexpect, broken()).error() == broken());
    CHECK(text(typename text::unexpected_type(broken())).error().code() == errc::bad_magic);
    CHECK(nothing(typename nothing::unexpected_type(broken())).error().code() == errc::bad_magic);
}

TEMPLATE_TEST_CASE("results are assigned and swapped like std::expected", "", EXPECTED_KINDS) {
    using text = typename TestType::template of<std::string>;
    using nothing = typename TestType::template of<void>;
    const typename text::unexpected_type failure(broken());

    text one = "one";
    text other = failure;
    one = "uno";
    CHECK(*one == "uno");
    one = other;
    CHECK(one.error() == broken());
    one = std::string("eins");
    CHECK(one.value() == "eins");
    one = failure;
    CHECK_FALSE(one);
    one.emplace(std::string("yy"));
    CHECK(*one == "yy");

    one.swap(other);
    CHECK(other == text("yy"));
    CHECK(one == failure);
    using std::swap;
    swap(one, other);
    CHECK(*one == "yy");
    CHECK(other.error() == broken());
    text third = "three";
    one.swap(third);
    CHECK(*one == "three");

    nothing done;
    nothing not_done = failure;
    done.swap(not_done);
    CHECK_FALSE(done);
    CHECK(not_done);
    done.emplace();
    CHECK(done);
    done = failure;
    CHECK(done.error() == broken());
    swap(done, not_done);
    CHECK(done);
}

#if ZTENSOR_HAS_EXCEPTIONS
TEMPLATE_TEST_CASE("an assignment that fails leaves what was there", "", EXPECTED_KINDS) {
    using result = typename TestType::template of<moody>;
    const result refuses(std::in_place, -1);
    result value(std::in_place, 5);
    CHECK_THROWS_AS(value = refuses, std::runtime_error);
    CHECK(value->number == 5);
    result failure = typename result::unexpected_type(broken());
    CHECK_THROWS_AS(failure = refuses, std::runtime_error);
    CHECK(failure.error() == broken());
    failure = value;
    CHECK(failure->number == 5);
    value = typename result::unexpected_type(broken());
    CHECK(value.error() == broken());

    typename TestType::template of<std::deque<int>> queue; // its moves may allocate
    queue = std::deque<int>{1, 2};
    CHECK(queue->size() == 2);
}
#endif

TEMPLATE_TEST_CASE("results are asked like std::expected", "", EXPECTED_KINDS) {
    using text = typename TestType::template of<std::string>;
    using numbers = typename TestType::template of<std::vector<int>>;
    text value = "value";
    const text failure = typename text::unexpected_type(broken());

    static_assert(std::is_same_v<decltype(*value), std::string&> &&
                  std::is_same_v<decltype(*failure), const std::string&>);
    static_assert(std::is_same_v<decltype(value.value()), std::string&>);
    static_assert(std::is_same_v<decltype(failure.error()), const error&>);
    static_assert(std::is_same_v<decltype(value.error()), error&>);
    static_assert(std::is_same_v<decltype(*std::move(value)), std::string&&> == TestType::lends_of_temporaries);

    CHECK(value->size() == 5);
    value->push_back('s');
    (*value).push_back('!');
    CHECK(value.value() == "values!");
    CHECK(failure.value_or("else") == "else");
    CHECK(value.value_or("else") == "values!");
    if constexpr (std::is_same_v<TestType, ours>) { // a later C++ than 23
        CHECK(numbers(typename numbers::unexpected_type(broken())).value_or({1, 2}).size() == 2);
    }
    CHECK(failure.error_or(error(errc::cancelled, "")) == broken());
    CHECK(value.error_or(error(errc::cancelled, "")).code() == errc::cancelled);
    CHECK(typename TestType::template of<void>().error_or(broken()) == broken());
}

TEMPLATE_TEST_CASE("results are compared like std::expected", "", EXPECTED_KINDS) {
    using number = typename TestType::template of<int>;
    using nothing = typename TestType::template of<void>;
    const typename number::unexpected_type failure(broken());
    const typename number::unexpected_type another(broken("in another way"));

    CHECK(number(1) == number(1));
    CHECK(number(1) != number(2));
    CHECK(number(1) == typename TestType::template of<std::int64_t>(1));
    CHECK(number(1) != number(failure));
    CHECK(number(failure) == number(failure));
    CHECK(number(failure) != number(another));
    CHECK(number(1) == 1);
    CHECK(number(1) != 2);
    CHECK(number(failure) != 1);
    CHECK(number(failure) == failure);
    CHECK(number(failure) != another);
    CHECK(number(1) != failure);
    CHECK(nothing() == nothing());
    CHECK(nothing() != nothing(failure));
    CHECK(nothing(failure) == failure);
    CHECK(nothing(failure) != another);
    CHECK(nothing() != failure);
    CHECK(failure == failure);
    CHECK(failure != another);
}

TEMPLATE_TEST_CASE("results are followed by steps like std::expected", "", EXPECTED_KINDS) {
    using number = typename TestType::template of<int>;
    using text = typename TestType::template of<std::string>;
    using owner = typename TestType::template of<std::unique_ptr<int>>;
    using nothing = typename TestType::template of<void>;
    const auto half = [](int whole) -> number {
        return whole % 2 == 0 ? number(whole / 2) : number(typename number::unexpected_type(broken("odd")));
    };
    const auto rename = [](const error&) { return error(errc::cancelled, "renamed"); };

    number value = 12;
    const number constant = 12;
    number failure = typename number::unexpected_type(broken());
    CHECK(value.and_then(half) == 6);
    CHECK(constant.and_then(half).and_then(half).and_then(half).error() == broken("odd"));
    CHECK(failure.and_then(half).error() == broken());
    CHECK(value.and_then([](int& whole) { return text(std::to_string(whole++)); }) == text("12"));
    CHECK(value == 13);
    CHECK(owner(std::make_unique<int>(3)).and_then([](std::unique_ptr<int> taken) { return number(*taken); }) == 3);

    CHECK(constant.transform([](int whole) { return whole + 0.5; }) == 12.5);
    CHECK(value.transform([](int& whole) { whole = 1; }).has_value());
    CHECK(value == 1);
    CHECK(text("four").transform(&std::string::size) == std::size_t{4});
    CHECK(text("moved").transform([](std::string&& taken) { return std::move(taken); }) == text("moved"));
    CHECK(failure.transform([](int) { return 1; }).error() == broken());

    CHECK(failure.or_else([](const error&) { return number(5); }) == 5);
    CHECK(failure.or_else([](error& why) { return number(why == broken() ? 6 : 7); }) == 6);
    CHECK(constant.or_else([](const error&) { return number(5); }) == 12);
    CHECK(owner(std::make_unique<int>(3)).or_else([](error&&) { return owner(nullptr); }).value() != nullptr);
    CHECK(failure.transform_error(rename).error().code() == errc::cancelled);
    CHECK(failure.transform_error([](error& why) { return std::move(why).in_object("w"); }).error().object() == "w");
    CHECK(constant.transform_error(rename) == 12);

    const nothing done;
    nothing not_done = typename nothing::unexpected_type(broken());
    CHECK(done.and_then([] { return number(4); }) == 4);
    CHECK(not_done.and_then([] { return number(4); }).error() == broken());
    CHECK(done.transform([] { return 5; }) == 5);
    CHECK(done.transform([] {}).has_value());
    CHECK(not_done.or_else([](error&) { return nothing(); }).has_value());
    CHECK(not_done.transform_error(rename).error().code() == errc::cancelled);
    CHECK(nothing().transform_error(rename).has_value());
}

#if defined(__cpp_lib_expected)
TEST_CASE("std::unexpected becomes a result") {
    const auto fails = []() -> ztensor::result<int> { return std::unexpected(broken()); };
    const auto fails_too = []() -> ztensor::result<void> { return std::unexpected(broken()); };
    CHECK(fails().error() == broken());
    CHECK(fails_too().error() == broken());
}
#endif
