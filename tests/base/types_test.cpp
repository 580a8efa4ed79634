// SPDX-License-Identifier: MIT
//
// What everything else stands on: span, shape, checked arithmetic, and the tables of types and words.
#include "support/bytes.hpp"
#include "support/catch.hpp"

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/format.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

using support::largest;
using ztensor::dtype;
using ztensor::shape;
using ztensor::span;

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
    static_assert(!std::is_constructible_v<span<int>, std::vector<int>>, "a temporary dies first");
    static_assert(!std::is_constructible_v<span<const int>, std::vector<int>>, "so it does where it is only read");
    static_assert(std::is_convertible_v<std::vector<int>, ztensor::span_argument<const int>>, "a call may read it");
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
    const std::vector<int> none;
    CHECK(span<const int>(none).empty());
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
    const std::vector<std::uint64_t> ones(64, 1);
    shape dimensions{span<const std::uint64_t>(ones)};
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
    CHECK(ztensor::detail::logical_types_of_1_2 == std::size(rows));
    for (const row& each : rows) {
        CAPTURE(each.name);
        const ztensor::logical_type_facts* const found = ztensor::find_logical_type(each.name);
        REQUIRE(found != nullptr);
        CHECK(found->name == each.name);
        CHECK(found->storage == each.storage);
        CHECK(found->storage_elements == each.storage_elements);
        CHECK(found->name_as_dtype == each.word_of_1_1);
    }
    for (const std::string_view unknown :
         {"", "f32", "f8_e4m3", "Complex64", "complex32", "bool", "f8_e8m0", "f4_e2m1"}) {
        CAPTURE(unknown);
        CHECK(ztensor::find_logical_type(unknown) == nullptr);
    }
}

TEST_CASE("version 2 defines three logical types besides those of 1.2") {
    CHECK(ztensor::logical_types.size() == ztensor::detail::logical_types_of_1_2 + 3);
    for (const ztensor::logical_type_facts& each : ztensor::logical_types) {
        CAPTURE(each.name);
        CHECK(ztensor::find_any_logical_type(each.name) == &each);
        CHECK(each.packed_elements == (each.name == "f4_e2m1" ? 2 : 1));
    }
    for (const std::string_view name : {"bool", "f8_e8m0", "f4_e2m1"}) {
        CAPTURE(name);
        REQUIRE(ztensor::find_any_logical_type(name) != nullptr);
        CHECK(ztensor::find_any_logical_type(name)->storage == dtype::u8);
        CHECK(ztensor::find_any_logical_type(name)->name_as_dtype.empty());
    }
    CHECK(ztensor::find_any_logical_type("f8_e4m3") == nullptr);
}

TEST_CASE("the formats and their roles are those of the specification") {
    using ztensor::format;
    using roles = std::array<std::string_view, 3>;
    CHECK(ztensor::formats.size() == 5);
    CHECK(facts(format::dense).required_roles == roles{"data", "", ""});
    CHECK(facts(format::sparse_csr).required_roles == roles{"values", "indices", "indptr"});
    CHECK(facts(format::sparse_coo).required_roles == roles{"values", "coords", ""});
    CHECK(facts(format::quantized_group).required_roles == roles{"packed_weight", "scales", "zeros"});
    for (const std::string_view word : {"dense", "sparse_csr", "sparse_coo", "quantized_group"}) {
        REQUIRE(ztensor::find_format(word).has_value());
        CHECK(name(*ztensor::find_format(word)) == word);
    }
    for (const std::string_view unknown : {"", "Dense", "sparsecsr", "sparse", "zt.mx/1", "zt.sparse_csr/1"}) {
        CAPTURE(unknown);
        CHECK_FALSE(ztensor::find_format(unknown).has_value());
    }
    for (const ztensor::format_facts& each : ztensor::formats) {
        CHECK(ztensor::find_layout(each.layout) == each.id);
    }
    CHECK(name(format::mx) == "zt.mx/1");
    for (const std::string_view unknown : {"", "sparse_csr", "zt.sparse_csr/2", "quantized_group"}) {
        CAPTURE(unknown);
        CHECK_FALSE(ztensor::find_layout(unknown).has_value());
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
    CHECK(name(ztensor::digest::xxh3) == "xxh3");
    CHECK(name(encoding::zstd_seekable) == "zt.zstd-seekable/1");
    CHECK(ztensor::find_registered_encoding("zt.zstd-seekable/1") == encoding::zstd_seekable);
    for (const std::string_view unknown : {"", "raw", "zstd", "zt.zstd-seekable/2"}) {
        CHECK_FALSE(ztensor::find_registered_encoding(unknown).has_value());
    }
    CHECK(ztensor::detail::blob_alignment_2 == 4096);
    CHECK(ztensor::detail::canonical_alignment_2 == 65536);
    CHECK(ztensor::detail::max_name_bytes_2 == 1024);
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
