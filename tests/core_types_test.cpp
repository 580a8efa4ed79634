// SPDX-License-Identifier: MIT
//
// What everything else stands on: span, result, error, shape, checked arithmetic, the tables of types and words, and
// the table of names.
#include "support/catch.hpp"

#include <ztensor/detail/checked.hpp>
#include <ztensor/detail/name_table.hpp>
#include <ztensor/detail/text.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/error.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using ztensor::dtype;
using ztensor::errc;
using ztensor::error;
using ztensor::result;
using ztensor::shape;
using ztensor::span;

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

error some_error() {
    return error(errc::bad_magic, "it is broken");
}

/// The name of the code, or "ok".
template <class T>
std::string outcome(const result<T>& answer) {
    return answer ? "ok" : std::string(name(answer.error().code()));
}

/// The upper 64 bits of a × b, by schoolbook multiplication of 32-bit halves.
std::uint64_t upper_half_of_product(std::uint64_t a, std::uint64_t b) {
    const std::uint64_t low = 0xffffffff;
    const std::uint64_t carry = ((a & low) * (b & low)) >> 32;
    const std::uint64_t middle = (a >> 32) * (b & low) + carry;
    const std::uint64_t other_middle = (a & low) * (b >> 32) + (middle & low);
    return (a >> 32) * (b >> 32) + (middle >> 32) + (other_middle >> 32);
}

} // namespace

// -- span

TEST_CASE("a span borrows arrays, vectors and strings where they lie") {
    int plain[] = {1, 2, 3};
    std::array<int, 2> array = {4, 5};
    std::vector<int> vector = {6, 7, 8, 9};
    const std::vector<int> constant = {10};
    const std::string text = "text";

    CHECK(span<int>(plain).data() == plain);
    CHECK(span<int>(plain).size() == 3);
    CHECK(span<int>(array).data() == array.data());
    CHECK(span<int>(array).size() == 2);
    CHECK(span<const int>(vector).data() == vector.data());
    CHECK(span<const int>(vector).size_bytes() == 4 * sizeof(int));
    CHECK(span<const int>(constant).front() == 10);
    CHECK(span<const char>(text).size() == 4);
    CHECK(span<const int>(span<int>(vector)).data() == vector.data());

    span<int> writable(vector);
    writable[0] = 60;
    CHECK(vector[0] == 60);
}

TEST_CASE("a span deduces its element type") {
    int plain[] = {1};
    std::vector<int> vector;
    const std::vector<int> constant;
    const std::array<double, 2> array{};
    static_assert(std::is_same_v<decltype(span(plain)), span<int>>);
    static_assert(std::is_same_v<decltype(span(vector)), span<int>>);
    static_assert(std::is_same_v<decltype(span(constant)), span<const int>>);
    static_assert(std::is_same_v<decltype(span(array)), span<const double>>);
    CHECK(span(plain).size() == 1);
    CHECK(span(array).size() == 2);
}

TEST_CASE("a span converts only where no promise is broken") {
    static_assert(std::is_convertible_v<span<int>, span<const int>>);
    static_assert(!std::is_convertible_v<span<const int>, span<int>>);
    static_assert(!std::is_convertible_v<span<int>, span<long long>>);
    static_assert(!std::is_constructible_v<span<int>, const std::vector<int>&>);
    static_assert(!std::is_constructible_v<span<int>, std::vector<int>>, "a temporary may only be read");
    static_assert(std::is_constructible_v<span<const int>, std::vector<int>>);
    static_assert(!std::is_constructible_v<span<const int>, std::vector<long long>>);
    SUCCEED("it compiles");
}

#if defined(__cpp_lib_span)
TEST_CASE("a span and a std::span become each other") {
    std::vector<int> vector = {1, 2, 3};
    const std::span<int> standard = span<int>(vector);
    CHECK(standard.data() == vector.data());
    CHECK(standard.size() == 3);
    const span<const int> ours = standard;
    CHECK(ours.data() == vector.data());
    CHECK(ours.size() == 3);
}
#endif

TEST_CASE("parts of a span are where they should be") {
    const std::array<int, 5> array = {0, 1, 2, 3, 4};
    const span<const int> whole(array);
    CHECK(whole.first(2).data() == array.data());
    CHECK(whole.first(2).size() == 2);
    CHECK(whole.last(2).front() == 3);
    CHECK(whole.last(2).back() == 4);
    CHECK(whole.subspan(1).size() == 4);
    CHECK(whole.subspan(1).front() == 1);
    CHECK(whole.subspan(2, 2).front() == 2);
    CHECK(whole.subspan(2, 2).size() == 2);
    CHECK(whole.subspan(5).empty());
    CHECK(whole.last(0).begin() == whole.end());
    int sum = 0;
    for (const int each : whole) {
        sum += each;
    }
    CHECK(sum == 10);
}

TEST_CASE("a span of nothing is empty") {
    const span<const int> nothing;
    CHECK(nothing.empty());
    CHECK(nothing.data() == nullptr);
    CHECK(nothing.begin() == nothing.end());
    CHECK(span<const int>(std::vector<int>()).empty());
}

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
    }
    CHECK_THROWS_AS(result<int>(some_error()).value(), std::exception);
    CHECK_THROWS_AS(result<void>(some_error()).value(), ztensor::exception);
    CHECK_NOTHROW(result<void>().value());
}

TEST_CASE("memory that runs out becomes an error, whatever ran out") {
    CHECK(outcome(ztensor::detail::guard_memory([]() -> result<int> { throw std::bad_alloc(); })) == "out_of_memory");
    CHECK(outcome(ztensor::detail::guard_memory([]() -> result<void> { throw std::length_error("long"); })) ==
          "out_of_memory");
    CHECK(ztensor::detail::guard_memory([]() -> result<int> { return 3; }).value() == 3);
    CHECK(outcome(ztensor::detail::guard_memory([]() -> result<int> { return some_error(); })) == "bad_magic");
}
#endif

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

// -- checked arithmetic

TEST_CASE("checked sums and products are exact or nothing") {
    std::vector<std::uint64_t> values = {0, 1, 2, 3, 63, 64, 0xfffffffe, 0xffffffff, 0x100000000, 0x100000001};
    for (const std::uint64_t value :
         {largest, largest - 1, largest / 2, largest / 2 + 1, largest / 3, largest / 3 + 1}) {
        values.push_back(value);
    }
    std::mt19937_64 random(7);
    for (int i = 0; i < 200; ++i) {
        values.push_back(random() >> (random() % 64));
    }
    for (const std::uint64_t a : values) {
        for (const std::uint64_t b : values) {
            const std::optional<std::uint64_t> product = ztensor::detail::checked_multiply(a, b);
            const std::optional<std::uint64_t> sum = ztensor::detail::checked_add(a, b);
            const bool product_fits = upper_half_of_product(a, b) == 0;
            const bool sum_fits = a + b >= a;
            if (product.has_value() != product_fits || (product && *product != a * b) || sum.has_value() != sum_fits ||
                (sum && *sum != a + b)) {
                FAIL(a << " and " << b);
            }
        }
    }
    CHECK(ztensor::detail::checked_multiply(0xffffffff, 0x100000001) == largest);
    CHECK_FALSE(ztensor::detail::checked_multiply(0x100000000, 0x100000000).has_value());
    CHECK(ztensor::detail::checked_add(largest - 1, 1) == largest);
    CHECK_FALSE(ztensor::detail::checked_add(largest, 1).has_value());
}

TEST_CASE("checked alignment goes up to the next multiple or says that there is none") {
    using ztensor::detail::checked_align;
    CHECK(checked_align(0, 64) == std::uint64_t{0});
    CHECK(checked_align(1, 64) == std::uint64_t{64});
    CHECK(checked_align(64, 64) == std::uint64_t{64});
    CHECK(checked_align(65, 4096) == std::uint64_t{4096});
    CHECK(checked_align(7, 1) == std::uint64_t{7});
    CHECK(checked_align(largest - 63, 64) == largest - 63);
    CHECK_FALSE(checked_align(largest - 62, 64).has_value());
    CHECK_FALSE(checked_align(largest, 2).has_value());
}

TEST_CASE("a range fits or does not, at the edges of 64 bits too") {
    using ztensor::detail::fits;
    CHECK(fits(0, 0, 0));
    CHECK(fits(10, 0, 10));
    CHECK(fits(3, 7, 10));
    CHECK(fits(0, largest, largest));
    CHECK_FALSE(fits(11, 0, 10));
    CHECK_FALSE(fits(4, 7, 10));
    CHECK_FALSE(fits(largest, 2, 10));
    CHECK_FALSE(fits(2, largest, largest));
    CHECK_FALSE(fits(1, 0, 0));
}

TEST_CASE("sizes a host can address, and powers of two") {
    const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max());
    CHECK(ztensor::detail::fits_address_space(most));
    CHECK_FALSE(ztensor::detail::fits_address_space(most + 1));
    for (unsigned bit = 0; bit < 64; ++bit) {
        CHECK(ztensor::detail::is_power_of_two(std::uint64_t{1} << bit));
    }
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{96}, largest}) {
        CHECK_FALSE(ztensor::detail::is_power_of_two(value));
    }
}

// -- shape

TEST_CASE("a shape is its dimensions") {
    const shape dimensions = {2, 3, 4};
    CHECK(dimensions.rank() == 3);
    CHECK(dimensions.size() == 3);
    CHECK(dimensions[1] == 3);
    CHECK(dimensions.element_count() == std::uint64_t{24});
    CHECK(std::vector<std::uint64_t>(dimensions.begin(), dimensions.end()) == std::vector<std::uint64_t>{2, 3, 4});
    CHECK(to_string(dimensions) == "[2, 3, 4]");
    CHECK(to_string(shape()) == "[]");
    CHECK(to_string(shape{7}) == "[7]");
    std::ostringstream out;
    out << dimensions;
    CHECK(out.str() == "[2, 3, 4]");
    const std::vector<std::uint64_t> vector = {2, 3, 4};
    CHECK(shape(span<const std::uint64_t>(vector)) == dimensions);
    CHECK(shape{2, 3} != dimensions);
    CHECK(shape{2, 3, 5} != dimensions);
    CHECK(shape{2, 3, 4, 1} != dimensions);
}

TEST_CASE("a scalar has no dimensions and one element") {
    CHECK(shape().empty());
    CHECK(shape().rank() == 0);
    CHECK(shape().element_count() == std::uint64_t{1});
    CHECK(shape() != shape{1});
}

TEST_CASE("a shape of 65 dimensions knows that it is too long") {
    shape dimensions(span<const std::uint64_t>(std::vector<std::uint64_t>(64, 1)));
    CHECK(dimensions.rank() == 64);
    CHECK_FALSE(dimensions.too_long());
    dimensions.push_back(1);
    CHECK(dimensions.too_long());
    CHECK(dimensions.rank() == 64);
}

TEST_CASE("a zero dimension hides no overflow of the others, wherever it stands") {
    const std::uint64_t big = std::uint64_t{1} << 40;
    CHECK_FALSE((shape{big, big, 0}).element_count().has_value());
    CHECK_FALSE((shape{big, 0, big}).element_count().has_value());
    CHECK_FALSE((shape{0, big, big}).element_count().has_value());
    CHECK((shape{big, 0}).element_count() == std::uint64_t{0});
    CHECK((shape{0, 0, 0}).element_count() == std::uint64_t{0});
    CHECK((shape{largest, 0}).element_count() == std::uint64_t{0});
    CHECK((shape{largest, 1}).element_count() == largest);
    CHECK((shape{0xffffffff, 0x100000001}).element_count() == largest);
    CHECK_FALSE((shape{0x100000000, 0x100000000}).element_count().has_value());
    CHECK_FALSE((shape{largest, 2}).element_count().has_value());
}

// -- types and words

TEST_CASE("the storage types are those of the specification") {
    struct row {
        dtype id;
        std::string_view name;
        std::string_view long_name;
        std::size_t width;
    };
    const row rows[] = {
        {dtype::f64, "f64", "float64", 8},    {dtype::f32, "f32", "float32", 4}, {dtype::f16, "f16", "float16", 2},
        {dtype::bf16, "bf16", "bfloat16", 2}, {dtype::i64, "i64", "int64", 8},   {dtype::i32, "i32", "int32", 4},
        {dtype::i16, "i16", "int16", 2},      {dtype::i8, "i8", "int8", 1},      {dtype::u64, "u64", "uint64", 8},
        {dtype::u32, "u32", "uint32", 4},     {dtype::u16, "u16", "uint16", 2},  {dtype::u8, "u8", "uint8", 1},
        {dtype::boolean, "bool", "bool", 1},
    };
    CHECK(ztensor::dtypes.size() == std::size(rows));
    for (const row& each : rows) {
        CAPTURE(each.name);
        CHECK(name(each.id) == each.name);
        CHECK(facts(each.id).id == each.id);
        CHECK(facts(each.id).long_name == each.long_name);
        CHECK(width_bytes(each.id) == each.width);
        CHECK(ztensor::find_dtype(each.name) == each.id);
        CHECK(ztensor::find_dtype_by_long_name(each.long_name) == each.id);
        if (each.id != dtype::boolean) { // spelled alike in every generation
            CHECK_FALSE(ztensor::find_dtype(each.long_name).has_value());
            CHECK_FALSE(ztensor::find_dtype_by_long_name(each.name).has_value());
        }
    }
    for (const std::string_view unknown : {"", "F32", "f32 ", "f8_e4m3", "complex64", "f128", "boolean"}) {
        CAPTURE(unknown);
        CHECK_FALSE(ztensor::find_dtype(unknown).has_value());
        CHECK_FALSE(ztensor::find_dtype_by_long_name(unknown).has_value());
    }
    std::ostringstream out;
    out << dtype::bf16;
    CHECK(out.str() == "bf16");
}

TEST_CASE("the logical types are those of the specification") {
    struct row {
        std::string_view name;
        dtype storage;
        std::uint64_t storage_elements;
        std::string_view word_of_1_1;
    };
    const row rows[] = {
        {"f8_e4m3fn", dtype::u8, 1, "f8_e4m3"},    {"f8_e5m2", dtype::u8, 1, "f8_e5m2"},
        {"f8_e4m3fnuz", dtype::u8, 1, ""},         {"f8_e5m2fnuz", dtype::u8, 1, ""},
        {"complex64", dtype::f32, 2, "complex64"}, {"complex128", dtype::f64, 2, "complex128"},
    };
    CHECK(ztensor::logical_types.size() == std::size(rows));
    for (const row& each : rows) {
        CAPTURE(each.name);
        const ztensor::logical_type_facts* const found = ztensor::find_logical_type(each.name);
        REQUIRE(found != nullptr);
        CHECK(found->name == each.name);
        CHECK(found->storage == each.storage);
        CHECK(found->storage_elements == each.storage_elements);
        CHECK(found->name_as_dtype == each.word_of_1_1);
    }
    for (const std::string_view unknown : {"", "f32", "f8_e4m3", "Complex64", "complex32"}) {
        CAPTURE(unknown);
        CHECK(ztensor::find_logical_type(unknown) == nullptr);
    }
}

TEST_CASE("the formats and their roles are those of the specification") {
    using ztensor::format;
    using roles = std::array<std::string_view, 3>;
    CHECK(ztensor::formats.size() == 4);
    CHECK(facts(format::dense).required_roles == roles{"data", "", ""});
    CHECK(facts(format::sparse_csr).required_roles == roles{"values", "indices", "indptr"});
    CHECK(facts(format::sparse_coo).required_roles == roles{"values", "coords", ""});
    CHECK(facts(format::quantized_group).required_roles == roles{"packed_weight", "scales", "zeros"});
    for (const std::string_view word : {"dense", "sparse_csr", "sparse_coo", "quantized_group"}) {
        REQUIRE(ztensor::find_format(word).has_value());
        CHECK(name(*ztensor::find_format(word)) == word);
    }
    for (const std::string_view unknown : {"", "Dense", "sparsecsr", "sparse"}) {
        CAPTURE(unknown);
        CHECK_FALSE(ztensor::find_format(unknown).has_value());
    }
}

TEST_CASE("the encodings and digests are those of the specification") {
    using ztensor::encoding;
    CHECK(name(encoding::raw) == "raw");
    CHECK(name(encoding::zstd) == "zstd");
    CHECK(ztensor::find_encoding("raw") == encoding::raw);
    CHECK(ztensor::find_encoding("zstd") == encoding::zstd);
    CHECK_FALSE(ztensor::find_encoding("").has_value());
    CHECK_FALSE(ztensor::find_encoding("gzip").has_value());
    CHECK(name(ztensor::digest::crc32c) == "crc32c");
    CHECK(name(ztensor::digest::sha256) == "sha256");
    CHECK(ztensor::blob_alignment == 64);
    CHECK(ztensor::max_zstd_ratio == 32768);
    CHECK(ztensor::max_name_bytes == 4096);
    CHECK(ztensor::max_rank == 64);
}

TEST_CASE("integers of C++ are stored by width and sign, whatever their name") {
    using ztensor::element_traits;
    static_assert(element_traits<std::int8_t>::storage == dtype::i8);
    static_assert(element_traits<std::uint8_t>::storage == dtype::u8);
    static_assert(element_traits<std::int16_t>::storage == dtype::i16);
    static_assert(element_traits<std::uint16_t>::storage == dtype::u16);
    static_assert(element_traits<std::int32_t>::storage == dtype::i32);
    static_assert(element_traits<std::uint32_t>::storage == dtype::u32);
    static_assert(element_traits<std::int64_t>::storage == dtype::i64);
    static_assert(element_traits<std::uint64_t>::storage == dtype::u64);
    static_assert(element_traits<long>::storage == (sizeof(long) == 8 ? dtype::i64 : dtype::i32));
    static_assert(element_traits<unsigned long>::storage == (sizeof(long) == 8 ? dtype::u64 : dtype::u32));
    static_assert(element_traits<long long>::storage == dtype::i64);
    static_assert(element_traits<unsigned long long>::storage == dtype::u64);
    static_assert(element_traits<signed char>::storage == dtype::i8);
    SUCCEED("it compiles");
}

TEST_CASE("the other element types of C++ are stored as the specification has them") {
    using ztensor::element_traits;
    static_assert(element_traits<float>::storage == dtype::f32 && element_traits<float>::type.empty());
    static_assert(element_traits<double>::storage == dtype::f64 && element_traits<double>::type.empty());
    static_assert(element_traits<bool>::storage == dtype::boolean && element_traits<bool>::type.empty());
    static_assert(element_traits<ztensor::float16>::storage == dtype::f16);
    static_assert(element_traits<ztensor::bfloat16>::storage == dtype::bf16);
    static_assert(element_traits<std::complex<float>>::storage == dtype::f32);
    static_assert(element_traits<std::complex<double>>::storage == dtype::f64);
    CHECK(element_traits<std::complex<float>>::type == "complex64");
    CHECK(element_traits<std::complex<double>>::type == "complex128");
    CHECK(element_traits<ztensor::float8_e4m3fn>::type == "f8_e4m3fn");
    CHECK(element_traits<ztensor::float8_e5m2>::type == "f8_e5m2");
    CHECK(element_traits<ztensor::float8_e4m3fnuz>::type == "f8_e4m3fnuz");
    CHECK(element_traits<ztensor::float8_e5m2fnuz>::type == "f8_e5m2fnuz");
    CHECK(element_traits<ztensor::float8_e5m2fnuz>::storage == dtype::u8);
}

TEST_CASE("what is not a number is no element") {
    struct unknown {};
    static_assert(ztensor::is_element_v<const float>);
    static_assert(!ztensor::is_element_v<char>, "text");
    static_assert(!ztensor::is_element_v<wchar_t>);
    static_assert(!ztensor::is_element_v<char16_t>);
    static_assert(!ztensor::is_element_v<char32_t>);
    static_assert(!ztensor::is_element_v<long double>);
    static_assert(!ztensor::is_element_v<std::byte>);
    static_assert(!ztensor::is_element_v<int*>);
    static_assert(!ztensor::is_element_v<unknown>);
    SUCCEED("it compiles");
}

// -- the table of names

TEST_CASE("a table of names finds what is in it and nothing else") {
    const std::size_t count = GENERATE(0u, 1u, 2u, 3u, 4u, 7u, 8u, 100u, 5000u);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
        // Common starts and ends, lengths around the eight bytes that are hashed at once, and a NUL.
        names.push_back("layers." + std::to_string(i / 3) + std::string(i % 3 * 7, '.') +
                        (i % 2 == 0 ? ".weight" : ""));
        if (i % 5 == 0) {
            names.back() += '\0';
        }
        names.back() += std::to_string(i);
    }
    const auto name_of = [&](std::size_t position) { return std::string_view(names[position]); };
    ztensor::detail::name_table table(count);
    std::map<std::string, std::uint32_t> expected;
    for (std::uint32_t i = 0; i < count; ++i) {
        CHECK(table.insert(i, name_of) == expected.emplace(names[i], i).second);
    }
    REQUIRE(expected.size() == count);
    for (const auto& [name, position] : expected) {
        if (table.find(name, name_of) != position || table.find(name + "x", name_of).has_value() ||
            table.find(name.substr(1), name_of).has_value()) {
            FAIL(name);
        }
    }
    CHECK_FALSE(table.find("", name_of).has_value());
    CHECK_FALSE(table.find("layers.", name_of).has_value());
}

TEST_CASE("a table of names takes no name twice") {
    const std::vector<std::string> names = {"a", "", "a", std::string("a\0", 2), "", "aaaaaaaa", "aaaaaaaaa"};
    const auto name_of = [&](std::size_t position) { return std::string_view(names[position]); };
    ztensor::detail::name_table table(names.size());
    CHECK(table.insert(0, name_of));
    CHECK(table.insert(1, name_of));
    CHECK_FALSE(table.insert(2, name_of));
    CHECK(table.insert(3, name_of));
    CHECK_FALSE(table.insert(4, name_of));
    CHECK(table.insert(5, name_of));
    CHECK(table.insert(6, name_of));
    CHECK(table.find("a", name_of) == std::uint32_t{0});
    CHECK(table.find("", name_of) == std::uint32_t{1});
    CHECK(table.find(std::string_view("a\0", 2), name_of) == std::uint32_t{3});
    CHECK(table.find("aaaaaaaaa", name_of) == std::uint32_t{6});
}
