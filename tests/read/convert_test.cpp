// SPDX-License-Identifier: MIT
//
// Bulk conversion of stored elements. What is expected stands here as literals, or is computed from the index alone.
#include "read/conversions.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/openings.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/read/convert.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

using support::convert_elements;
using ztensor::bfloat16;
using ztensor::bytes_view;
using ztensor::dtype;
using ztensor::errc;
using ztensor::float16;
using ztensor::result;
using ztensor::span;

namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();
constexpr float no_number = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::vector<std::byte> memory_bytes(const std::vector<T>& elements) {
    std::vector<std::byte> content(elements.size() * sizeof(T));
    if (!content.empty()) {
        std::memcpy(content.data(), elements.data(), content.size());
    }
    return content;
}

struct conversion {
    dtype storage;
    std::string_view logical_type;
    std::vector<std::byte> stored;
    std::vector<double> exact; ///< as double
    std::vector<float> rounded;
};

/// Each with its smallest and largest values, the specials if it has some, and values that must be rounded.
std::vector<conversion> every_conversion() {
    using u8s = std::vector<std::uint8_t>;
    using u16s = std::vector<std::uint16_t>;
    return {
        {dtype::f64,
         "",
         memory_bytes<double>(
             {0.1, -0.0, 1e300, -1e300, 1e-300, 0x1.000001p0, 0x1.000003p0, 0x1.0000010000001p0, no_number}),
         {0.1, -0.0, 1e300, -1e300, 1e-300, 0x1.000001p0, 0x1.000003p0, 0x1.0000010000001p0, no_number},
         {0.1F, -0.0F, infinite, -infinite, 0.0F, 1.0F, 0x1.000004p0F, 0x1.000002p0F, no_number}},
        {dtype::f32,
         "",
         memory_bytes<float>({1.5F, -0.0F, 0x1p-149F, 0x1.fffffep127F, -infinite, no_number}),
         {1.5, -0.0, 0x1p-149, 0x1.fffffep127, -infinite, no_number},
         {1.5F, -0.0F, 0x1p-149F, 0x1.fffffep127F, -infinite, no_number}},
        {dtype::f16,
         "",
         memory_bytes(u16s{0x3c00, 0xc000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x7c01}),
         {1, -2, -0.0, 0x1p-24, -1023 * 0x1p-24, 0x1p-14, 65504, infinite, -infinite, no_number, no_number},
         {1, -2, -0.0F, 0x1p-24F, -1023 * 0x1p-24F, 0x1p-14F, 65504, infinite, -infinite, no_number, no_number}},
        {dtype::bf16,
         "",
         memory_bytes(u16s{0x3f80, 0xc000, 0x8000, 0x0001, 0x0080, 0x7f7f, 0x7f80, 0xff80, 0x7fc0, 0x7f81}),
         {1, -2, -0.0, 0x1p-133, 0x1p-126, 0x1.fep127, infinite, -infinite, no_number, no_number},
         {1, -2, -0.0F, 0x1p-133F, 0x1p-126F, 0x1.fep127F, infinite, -infinite, no_number, no_number}},
        {dtype::i64,
         "",
         memory_bytes<std::int64_t>(
             {0, -1, INT64_MIN, INT64_MAX, 9007199254740993, -9007199254740995, 0x4000004000000001}),
         {0, -1, -0x1p63, 0x1p63, 9007199254740992.0, -9007199254740996.0, 0x1.000001p62},
         {0, -1, -0x1p63F, 0x1p63F, 0x1p53F, -0x1p53F, 0x1.000002p62F}},
        {dtype::i32,
         "",
         memory_bytes<std::int32_t>({0, -1, INT32_MIN, INT32_MAX, 16777217, -16777219}),
         {0, -1, -2147483648.0, 2147483647.0, 16777217, -16777219},
         {0, -1, -0x1p31F, 0x1p31F, 16777216, -16777220}},
        {dtype::i16,
         "",
         memory_bytes<std::int16_t>({0, -1, -32768, 32767}),
         {0, -1, -32768, 32767},
         {0, -1, -32768, 32767}},
        {dtype::i8, "", memory_bytes<std::int8_t>({0, -1, -128, 127}), {0, -1, -128, 127}, {0, -1, -128, 127}},
        {dtype::u64,
         "",
         memory_bytes<std::uint64_t>({0, 1, UINT64_MAX, 0x8000000000000000, 9007199254740993, 0x8000008000000001}),
         {0, 1, 0x1p64, 0x1p63, 9007199254740992.0, 0x1.000001p63},
         {0, 1, 0x1p64F, 0x1p63F, 0x1p53F, 0x1.000002p63F}},
        {dtype::u32,
         "",
         memory_bytes<std::uint32_t>({0, 1, UINT32_MAX, 0x80000000, 16777219}),
         {0, 1, 4294967295.0, 2147483648.0, 16777219},
         {0, 1, 0x1p32F, 0x1p31F, 16777220}},
        {dtype::u16, "", memory_bytes(u16s{0, 1, 65535, 32768}), {0, 1, 65535, 32768}, {0, 1, 65535, 32768}},
        {dtype::u8, "", memory_bytes(u8s{0, 1, 255, 128}), {0, 1, 255, 128}, {0, 1, 255, 128}},
        {dtype::boolean, "", memory_bytes(u8s{0, 1, 255}), {0, 1, 1}, {0, 1, 1}},
        {dtype::u8,
         "f8_e4m3fn",
         memory_bytes(u8s{0x38, 0xc0, 0x80, 0x01, 0x08, 0x7e, 0xfe, 0x7f, 0xff}),
         {1, -2, -0.0, 0x1p-9, 0x1p-6, 448, -448, no_number, no_number},
         {1, -2, -0.0F, 0x1p-9F, 0x1p-6F, 448, -448, no_number, no_number}},
        {dtype::u8,
         "f8_e5m2",
         memory_bytes(u8s{0x3c, 0xc0, 0x80, 0x01, 0x04, 0x7b, 0x7c, 0xfc, 0x7d, 0xff}),
         {1, -2, -0.0, 0x1p-16, 0x1p-14, 57344, infinite, -infinite, no_number, no_number},
         {1, -2, -0.0F, 0x1p-16F, 0x1p-14F, 57344, infinite, -infinite, no_number, no_number}},
        {dtype::u8,
         "f8_e4m3fnuz",
         memory_bytes(u8s{0x40, 0xc8, 0x80, 0x01, 0x08, 0x7f, 0xff, 0x00}),
         {1, -2, no_number, 0x1p-10, 0x1p-7, 240, -240, 0},
         {1, -2, no_number, 0x1p-10F, 0x1p-7F, 240, -240, 0}},
        {dtype::u8,
         "f8_e5m2fnuz",
         memory_bytes(u8s{0x40, 0xc4, 0x80, 0x01, 0x04, 0x7f, 0xff, 0x00}),
         {1, -2, no_number, 0x1p-17, 0x1p-15, 57344, -57344, 0},
         {1, -2, no_number, 0x1p-17F, 0x1p-15F, 57344, -57344, 0}},
        {dtype::u8,
         "f8_e8m0",
         memory_bytes(u8s{0x7f, 0x80, 0x00, 0xfe, 0xff}),
         {1, 2, 0x1p-127, 0x1p127, no_number},
         {1, 2, 0x1p-127F, 0x1p127F, no_number}},
        {dtype::u8, "bool", memory_bytes(u8s{0, 1}), {0, 1}, {0, 1}},
    };
}

/// Equal as values, signs of zeros included, or both NaN.
template <class Float>
bool is_same_number(Float a, Float b) {
    return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

/// Converts from `bytes` moved to an address `misalignment` bytes past an aligned one.
template <class To>
result<void> convert_misaligned(const std::vector<std::byte>& content, std::size_t misalignment, dtype storage,
                                std::string_view logical_type, std::vector<To>& destination) {
    std::vector<std::byte> moved(misalignment);
    moved.insert(moved.end(), content.begin(), content.end());
    return convert_elements(bytes_view(moved).subspan(misalignment), storage, logical_type, span<To>(destination));
}

template <class To>
void check_conversion(const conversion& row, const std::vector<To>& expected, std::size_t misalignment) {
    REQUIRE(expected.size() * ztensor::width_bytes(row.storage) == row.stored.size());
    std::vector<To> destination(expected.size(), To{-77});
    REQUIRE(convert_misaligned(row.stored, misalignment, row.storage, row.logical_type, destination).has_value());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CAPTURE(i, destination[i], expected[i]);
        CHECK(is_same_number(destination[i], expected[i]));
    }
}

/// What element i of a long run is: all values that every numeric type holds exactly, in an order of their own.
int long_run_value(std::size_t i) {
    return static_cast<int>(i * 37 % 120);
}

template <class Stored>
std::vector<std::byte> long_run(std::size_t count) {
    std::vector<Stored> elements;
    for (std::size_t i = 0; i < count; ++i) {
        elements.push_back(static_cast<Stored>(long_run_value(i)));
    }
    return memory_bytes(elements);
}

template <class Stored>
void check_long_runs(dtype storage) {
    for (const std::size_t count : {0U, 1U, 255U, 256U, 257U, 511U, 512U, 1037U}) {
        const std::vector<std::byte> stored = long_run<Stored>(count);
        std::vector<float> destination(count, -1.0F);
        REQUIRE(convert_misaligned(stored, 1, storage, "", destination).has_value());
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < count; ++i) {
            wrong += destination[i] == static_cast<float>(long_run_value(i)) ? 0 : 1;
        }
        CAPTURE(storage, count);
        CHECK(wrong == 0);
    }
}

struct only_from_float {
    float value = -1;
    only_from_float() = default;
    explicit only_from_float(float from) : value(from) {}
    explicit only_from_float(double from) = delete;
};

struct from_float_or_double {
    double value = -1;
    from_float_or_double() = default;
    explicit from_float_or_double(float from) : value(static_cast<double>(from)) {}
    explicit from_float_or_double(double from) : value(from) {}
};

struct refused_conversion {
    dtype storage;
    std::string_view logical_type;
    errc expected;
};

} // namespace

TEST_CASE("every storage and 8-bit float type converts to float and double, from any address") {
    for (const conversion& row : every_conversion()) {
        for (std::size_t misalignment = 0; misalignment < 9; ++misalignment) {
            CAPTURE(row.storage, row.logical_type, misalignment);
            check_conversion<double>(row, row.exact, misalignment);
            check_conversion<float>(row, row.rounded, misalignment);
        }
    }
}

TEST_CASE("the table of conversions leaves no type out") {
    const std::vector<conversion> rows = every_conversion();
    for (const ztensor::dtype_facts& type : ztensor::dtypes) {
        CAPTURE(type.name);
        CHECK(std::any_of(rows.begin(), rows.end(),
                          [&](const conversion& row) { return row.storage == type.id && row.logical_type.empty(); }));
    }
    for (const ztensor::logical_type_facts& type : ztensor::logical_types) {
        CAPTURE(type.name);
        CHECK((type.storage_elements > 1 || type.packed_elements > 1 ||
               std::any_of(rows.begin(), rows.end(),
                           [&](const conversion& row) { return row.logical_type == type.name; })));
    }
}

TEST_CASE("runs of any length are converted to their last element") {
    check_long_runs<double>(dtype::f64);
    check_long_runs<float>(dtype::f32);
    check_long_runs<std::int64_t>(dtype::i64);
    check_long_runs<std::int32_t>(dtype::i32);
    check_long_runs<std::int16_t>(dtype::i16);
    check_long_runs<std::int8_t>(dtype::i8);
    check_long_runs<std::uint64_t>(dtype::u64);
    check_long_runs<std::uint32_t>(dtype::u32);
    check_long_runs<std::uint16_t>(dtype::u16);
    check_long_runs<std::uint8_t>(dtype::u8);
}

TEST_CASE("all half and bfloat patterns convert in one call as they do by their fields") {
    const bool is_half = GENERATE(true, false);
    const int mantissa_bits = is_half ? 10 : 7;
    const int bias = is_half ? 15 : 127;
    std::vector<std::uint16_t> patterns(0x10000);
    for (std::size_t i = 0; i < patterns.size(); ++i) {
        patterns[i] = static_cast<std::uint16_t>(i);
    }
    std::vector<float> destination(patterns.size());
    REQUIRE(
        convert_misaligned(memory_bytes(patterns), 3, is_half ? dtype::f16 : dtype::bf16, "", destination).has_value());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
        const int exponent = (patterns[i] & 0x7fff) >> mantissa_bits;
        const int mantissa = patterns[i] & ((1 << mantissa_bits) - 1);
        double size = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                                    : std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
        if (exponent == 0x7fff >> mantissa_bits) {
            size = static_cast<double>(mantissa == 0 ? infinite : no_number);
        }
        const auto expected = static_cast<float>(i < 0x8000 ? size : -size);
        wrong += is_same_number(destination[i], expected) ? 0 : 1;
    }
    CHECK(wrong == 0);
}

namespace {

/// Whether every pattern of a small float converts to the bits that its own conversion gives: NaN quiet, with sign and
/// payload. By the instructions of this processor where they are used, and by the loop that does without.
template <class Small>
void check_every_pattern() {
    using pattern = typename Small::bits_type;
    std::vector<pattern> patterns(std::size_t{1} << (8 * sizeof(pattern)));
    for (std::size_t i = 0; i < patterns.size(); ++i) {
        patterns[i] = static_cast<pattern>(i);
    }
    const std::vector<std::byte> stored = memory_bytes(patterns);
    using traits = ztensor::element_traits<Small>;
    std::vector<float> floats(patterns.size());
    std::vector<float> portable(patterns.size());
    std::vector<double> doubles(patterns.size());
    const std::string_view type = sizeof(pattern) == 1 ? ztensor::detail::element_request_of<Small>().type : "";
    REQUIRE(convert_misaligned(stored, 1, traits::storage, type, floats));
    REQUIRE(convert_misaligned(stored, 1, traits::storage, type, doubles));
    ztensor::detail::convert_each<Small>(bytes_view(stored), span<float>(portable));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
        const auto expected = static_cast<float>(Small::from_bits(patterns[i]));
        wrong += std::memcmp(&floats[i], &expected, sizeof(float)) == 0 ? 0 : 1;
        wrong += std::memcmp(&portable[i], &expected, sizeof(float)) == 0 ? 0 : 1;
        const auto wide = static_cast<double>(expected);
        wrong += std::memcmp(&doubles[i], &wide, sizeof(double)) == 0 ? 0 : 1;
    }
    CHECK(wrong == 0);
}

} // namespace

TEST_CASE("every pattern of every small float converts to the bits of its own conversion") {
    check_every_pattern<float16>();
    check_every_pattern<bfloat16>();
    check_every_pattern<ztensor::float8_e4m3fn>();
    check_every_pattern<ztensor::float8_e5m2>();
    check_every_pattern<ztensor::float8_e4m3fnuz>();
    check_every_pattern<ztensor::float8_e5m2fnuz>();
}

namespace {

/// Of every length, to every place between two aligned ones.
template <class Small>
void check_past_cache() {
    constexpr float untouched = 7.25F;
    std::vector<Small> elements;
    for (std::uint32_t i = 0; i < 80; ++i) {
        elements.push_back(Small::from_bits(static_cast<std::uint16_t>(0x7f70 + i * 0x0333))); // NaN among them
    }
    const std::vector<std::byte> stored = memory_bytes(elements);
    for (std::size_t before = 0; before < 9; ++before) {
        for (std::size_t count = 0; count <= elements.size(); ++count) {
            std::vector<float> memory(before + elements.size() + 8, untouched);
            std::vector<float> expected = memory;
            for (std::size_t i = 0; i < count; ++i) {
                expected[before + i] = static_cast<float>(elements[i]);
            }
            const bytes_view source = bytes_view(stored).first(count * sizeof(Small));
            const span<float> place = span<float>(memory).subspan(before, count);
            REQUIRE(convert_elements(source, ztensor::element_traits<Small>::storage, "", place,
                                     ztensor::detail::number_store::past_cache));
            REQUIRE(memory_bytes(memory) == memory_bytes(expected));
        }
    }
}

} // namespace

TEST_CASE("numbers that go past the cache are those that stay in it, and no others are touched") {
    check_past_cache<float16>();
    check_past_cache<bfloat16>();
}

TEST_CASE("large tensors are converted into memory that starts anywhere as they are into a vector") {
    const std::size_t count = (std::size_t{1} << 20) + 4321; // some 4 MiB of floats
    std::string stored;
    for (std::size_t i = 0; i < count; ++i) {
        stored += support::little_endian(i * 0x9e37 & 0xffff, 2);
    }
    for (const char* const dtype : {"f16", "bf16"}) {
        CAPTURE(dtype);
        const ztensor::reader file = support::opened(support::sample().dtype(dtype).shape({count}).blob(stored).file());
        const std::vector<float> expected = file.read_as<float>("w").value();
        std::vector<float> memory(count + 3);
        const span<float> place = span<float>(memory).subspan(3);
        REQUIRE(file.read_as_into("w", place));
        CHECK(std::memcmp(place.data(), expected.data(), count * sizeof(float)) == 0);
        std::fill(memory.begin(), memory.end(), 0.0F);
        REQUIRE(ztensor::load_plan(file).add_as("w", place).run(ztensor::load_options().threads(2)));
        CHECK(std::memcmp(place.data(), expected.data(), count * sizeof(float)) == 0);
    }
}

TEST_CASE("narrow elements at the end of the memory for their numbers are converted in place") {
    for (const std::size_t count : {1U, 7U, 8U, 255U, 256U, 257U, 1037U}) {
        std::vector<float> numbers(count);
        const std::vector<std::byte> stored = long_run<std::uint8_t>(count);
        const span<std::byte> place = ztensor::detail::as_writable_bytes(span<float>(numbers)).last(count);
        std::memcpy(place.data(), stored.data(), count);
        REQUIRE(convert_elements(bytes_view(place), dtype::u8, "", span<float>(numbers)));
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < count; ++i) {
            wrong += numbers[i] == static_cast<float>(long_run_value(i)) ? 0 : 1;
        }
        CAPTURE(count);
        CHECK(wrong == 0);
    }
}

TEST_CASE("a logical type that repeats the storage type's name adds nothing") {
    std::vector<float> destination(2);
    REQUIRE(convert_elements(ztensor::bytes_argument(memory_bytes<std::int32_t>({-5, 9})), dtype::i32, "i32",
                             span<float>(destination)));
    CHECK(destination == std::vector<float>{-5, 9});
    REQUIRE(convert_elements(ztensor::bytes_argument(memory_bytes<std::uint8_t>({1, 0})), dtype::boolean, "bool",
                             span<float>(destination)));
    CHECK(destination == std::vector<float>{1, 0});
}

namespace {

/// The elements of a file that holds `stored` under these words, read as To.
template <class To, class Stored>
std::vector<To> read_as(const char* dtype, const char* type, const std::vector<Stored>& stored) {
    support::sample file;
    file.dtype(dtype).shape({stored.size()}).blob(support::little_endian(stored));
    if (type != nullptr) {
        file.component("type", support::cbor::text(type));
    }
    return support::opened(file.file()).read_as<To>("w").value();
}

} // namespace

TEST_CASE("a user's type is made from double where that keeps more, and from float otherwise") {
    const std::vector<double> stored = {0.1, -2.5};
    const auto narrow = read_as<only_from_float>("f64", nullptr, stored);
    CHECK(narrow.at(0).value == 0.1F);
    CHECK(narrow.at(1).value == -2.5F);

    CHECK(read_as<from_float_or_double>("f64", nullptr, stored).at(0).value == 0.1);
    const auto large =
        read_as<from_float_or_double>("u32", nullptr, std::vector<std::uint32_t>{4294967295U, 16777217U});
    CHECK(large.at(0).value == 4294967295.0);
    CHECK(large.at(1).value == 16777217.0);
    const auto small = read_as<from_float_or_double>("u8", "f8_e4m3fn", std::vector<std::uint8_t>{0x38, 0x7e});
    CHECK(small.at(0).value == 1.0);
    CHECK(small.at(1).value == 448.0);
}

TEST_CASE("small floats as a target are rounded once") {
    // As a float this integer is 2^30 + 2^22, a tie of bfloat16 that would go down to the even 2^30.
    const auto brain = read_as<bfloat16>("i32", nullptr, std::vector<std::int32_t>{(1 << 30) + (1 << 22) + 1});
    CHECK(static_cast<double>(brain.at(0)) == 0x1.02p30);

    const auto half = read_as<float16>("f64", nullptr, std::vector<double>{0x1.0020000000001p0});
    CHECK(half.at(0).bits() == 0x3c01);
}

TEST_CASE("a long double holds every 64-bit integer where it is wide enough") {
    const bool is_wider = std::numeric_limits<long double>::digits >= 64;
    const auto from_signed = read_as<long double>("i64", nullptr, std::vector<std::int64_t>{9007199254740993});
    CHECK(from_signed.at(0) == (is_wider ? 9007199254740993.0L : 9007199254740992.0L));
    const auto from_unsigned = read_as<long double>("u64", nullptr, std::vector<std::uint64_t>{9007199254740993});
    CHECK(from_unsigned.at(0) == (is_wider ? 9007199254740993.0L : 9007199254740992.0L));
}

TEST_CASE("an empty run converts to nothing") {
    CHECK(convert_elements(bytes_view(), dtype::f16, "", span<float>()).has_value());
    CHECK(convert_elements(bytes_view(), dtype::u8, "f8_e5m2", span<double>()).has_value());
}

TEST_CASE("what is not a number is refused with nothing written") {
    const std::vector<refused_conversion> refusals = {
        {dtype::f32, "complex64", errc::unsupported_type},  {dtype::f64, "complex128", errc::unsupported_type},
        {dtype::i16, "q8.8_fixed", errc::unsupported_type}, {dtype::f32, "F32", errc::unsupported_type},
        {dtype::f32, "f16", errc::unsupported_type},        {dtype::u8, "f8_e4m3", errc::unsupported_type},
        {dtype::u8, "f4_e2m1", errc::unsupported_type}, // two to a byte
        {dtype::u8, "f8_e4m3fnu", errc::unsupported_type},  {dtype::i8, "f8_e4m3fn", errc::type_mismatch},
        {dtype::f32, "f8_e5m2fnuz", errc::type_mismatch},
    };
    const std::vector<std::byte> stored(64, std::byte{1});
    for (const refused_conversion& row : refusals) {
        CAPTURE(row.storage, row.logical_type);
        std::vector<float> destination(2, -77.0F);
        const result<void> refused =
            convert_elements(bytes_view(stored), row.storage, row.logical_type, span<float>(destination));
        REQUIRE(!refused.has_value());
        CHECK(refused.error().code() == row.expected);
        CHECK(destination == std::vector<float>{-77, -77});
    }
}

TEST_CASE("a refusal names the type, escaped if it came from a hostile file") {
    const auto sentence = [](dtype storage, std::string_view logical_type) {
        return convert_elements(bytes_view(), storage, logical_type, span<float>()).error().sentence();
    };
    CHECK(sentence(dtype::f32, "complex64").find("\"complex64\"") != std::string::npos);
    CHECK(sentence(dtype::i16, "q8.8_fixed").find("\"q8.8_fixed\"") != std::string::npos);
    CHECK(sentence(dtype::u8, "a\x1b[31m\"").find("\"a\\x1b[31m\\\"\"") != std::string::npos);
    CHECK(sentence(dtype::i8, "f8_e5m2").find("i8, expected u8") != std::string::npos);
}
