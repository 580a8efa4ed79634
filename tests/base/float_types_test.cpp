// SPDX-License-Identifier: MIT
//
// The small floats against a description of each format that shares nothing with the header: values are built in double
// from the three fields, and rounding is a search among the neighbours.
#include "support/catch.hpp"

#include <ztensor/float_types.hpp>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

using ztensor::bfloat16;
using ztensor::float16;
using ztensor::float8_e4m3fn;
using ztensor::float8_e4m3fnuz;
using ztensor::float8_e5m2;
using ztensor::float8_e5m2fnuz;

#define EVERY_SMALL_FLOAT float16, bfloat16, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz

namespace {

// ---- the formats, as their papers state them --------------------------------------------------------------------

enum class edge { infinity_and_nan, nan_at_all_ones, nan_at_negative_zero };

struct format {
    int exponent_bits;
    int mantissa_bits;
    int bias;
    edge special;

    unsigned sign_bit() const { return 1U << (exponent_bits + mantissa_bits); }
    unsigned pattern_count() const { return 2 * sign_bit(); }
    bool is_negative(unsigned pattern) const { return pattern >= sign_bit(); }
    unsigned exponent(unsigned pattern) const { return (pattern % sign_bit()) >> mantissa_bits; }
    unsigned mantissa(unsigned pattern) const { return pattern % (1U << mantissa_bits); }
    unsigned top_exponent() const { return (1U << exponent_bits) - 1; }
    unsigned top_mantissa() const { return (1U << mantissa_bits) - 1; }
    unsigned join(unsigned exponent_field, unsigned mantissa_field) const {
        return (exponent_field << mantissa_bits) + mantissa_field;
    }

    bool is_infinity(unsigned pattern) const {
        return special == edge::infinity_and_nan && exponent(pattern) == top_exponent() && mantissa(pattern) == 0;
    }
    bool is_nan(unsigned pattern) const {
        switch (special) {
        case edge::infinity_and_nan:
            return exponent(pattern) == top_exponent() && mantissa(pattern) != 0;
        case edge::nan_at_all_ones:
            return exponent(pattern) == top_exponent() && mantissa(pattern) == top_mantissa();
        default:
            return pattern == sign_bit();
        }
    }

    /// Exact; the pattern must be neither infinity nor NaN.
    double finite_value(unsigned pattern) const {
        const double size = exponent(pattern) == 0
                                ? std::ldexp(mantissa(pattern), 1 - bias - mantissa_bits)
                                : std::ldexp((1U << mantissa_bits) + mantissa(pattern),
                                             static_cast<int>(exponent(pattern)) - bias - mantissa_bits);
        return is_negative(pattern) ? -size : size;
    }
    double value(unsigned pattern) const {
        if (is_nan(pattern)) {
            return std::numeric_limits<double>::quiet_NaN();
        }
        if (is_infinity(pattern)) {
            const double infinity = std::numeric_limits<double>::infinity();
            return is_negative(pattern) ? -infinity : infinity;
        }
        return finite_value(pattern);
    }
};

template <class T>
format format_of();
template <>
format format_of<float16>() {
    return {5, 10, 15, edge::infinity_and_nan};
}
template <>
format format_of<bfloat16>() {
    return {8, 7, 127, edge::infinity_and_nan};
}
template <>
format format_of<float8_e4m3fn>() {
    return {4, 3, 7, edge::nan_at_all_ones};
}
template <>
format format_of<float8_e5m2>() {
    return {5, 2, 15, edge::infinity_and_nan};
}
template <>
format format_of<float8_e4m3fnuz>() {
    return {4, 3, 8, edge::nan_at_negative_zero};
}
template <>
format format_of<float8_e5m2fnuz>() {
    return {5, 2, 16, edge::nan_at_negative_zero};
}

// ---- rounding by search -----------------------------------------------------------------------------------------

/// Every finite value from 0 upwards; the index of each is its pattern.
std::vector<double> ladder_of(const format& f) {
    std::vector<double> ladder;
    for (unsigned pattern = 0; pattern < f.sign_bit() && !f.is_infinity(pattern) && !f.is_nan(pattern); ++pattern) {
        ladder.push_back(f.finite_value(pattern));
    }
    return ladder;
}

/// Where the value after the largest would be if the format went on.
double beyond(const std::vector<double>& ladder) {
    return ladder.back() + (ladder.back() - ladder[ladder.size() - 2]);
}

unsigned special_or_largest(const format& f, const std::vector<double>& ladder, unsigned sign, bool saturate) {
    if (saturate) {
        return sign + static_cast<unsigned>(ladder.size()) - 1;
    }
    return f.special == edge::nan_at_negative_zero ? f.sign_bit() : sign + static_cast<unsigned>(ladder.size());
}

/// The pattern that the nearest value has, the even one of two equally near; x is not NaN.
unsigned nearest_pattern(const format& f, const std::vector<double>& ladder, double x, bool saturate) {
    const unsigned sign = std::signbit(x) ? f.sign_bit() : 0;
    const double size = std::fabs(x);
    if (std::isinf(size)) {
        return special_or_largest(f, ladder, sign, saturate && f.special != edge::infinity_and_nan);
    }
    const auto above = static_cast<unsigned>(std::upper_bound(ladder.begin(), ladder.end(), size) - ladder.begin());
    const unsigned below = above - 1;
    const double upper = above == ladder.size() ? beyond(ladder) : ladder[above];
    const double midpoint = ladder[below] + (upper - ladder[below]) / 2;
    const unsigned even = below % 2 == 0 ? below : above;
    const unsigned chosen = size < midpoint ? below : size > midpoint ? above : even;
    if (chosen == ladder.size()) {
        return special_or_largest(f, ladder, sign, saturate);
    }
    return chosen == 0 && f.special == edge::nan_at_negative_zero ? 0 : sign + chosen;
}

// ---- comparing many, reporting the first ------------------------------------------------------------------------

template <class To, class From>
To same_bits(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &from, sizeof(to));
    return to;
}

template <class Float>
std::string describe(Float input, unsigned got, unsigned expected) {
    std::ostringstream out;
    out << std::hexfloat << input << std::hex << " gave 0x" << got << ", expected 0x" << expected;
    return out.str();
}

template <class T>
T from_pattern(unsigned pattern) {
    return T::from_bits(static_cast<typename T::bits_type>(pattern));
}

/// Checks the constructor and saturated() on each sample and its negative; returns what went wrong first.
template <class T, class Float>
std::string first_wrong_rounding(const std::vector<Float>& samples) {
    const format f = format_of<T>();
    const std::vector<double> ladder = ladder_of(f);
    for (const Float sample : samples) {
        for (const Float x : {sample, -sample}) {
            const unsigned expected = nearest_pattern(f, ladder, static_cast<double>(x), false);
            if (T(x).bits() != expected) {
                return describe(x, T(x).bits(), expected);
            }
            const unsigned clamped = nearest_pattern(f, ladder, static_cast<double>(x), true);
            if (T::saturated(x).bits() != clamped) {
                return "saturated: " + describe(x, T::saturated(x).bits(), clamped);
            }
        }
    }
    return {};
}

/// Quiet and signalling NaNs of either sign, among them those whose payload the target must cut to nothing.
template <class T, class Float>
std::string first_wrong_nan() {
    using bits = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
    const format f = format_of<T>();
    const int source_mantissa = sizeof(Float) == 4 ? 23 : 52;
    const bits one = 1;
    const bits quiet_bit = one << (source_mantissa - 1);
    const bits all_ones = quiet_bit + (quiet_bit - 1);
    const bits infinity = same_bits<bits>(std::numeric_limits<Float>::infinity());
    const bits sign_bit = one << (8 * sizeof(Float) - 1);
    for (const bits payload : {one, quiet_bit, quiet_bit + 1, quiet_bit - 1, quiet_bit >> 1, all_ones, all_ones / 3}) {
        const auto kept = static_cast<unsigned>(payload >> (source_mantissa - f.mantissa_bits));
        const unsigned quiet = f.join(f.top_exponent(), kept | 1U << (f.mantissa_bits - 1));
        for (const unsigned sign : {0U, 1U}) {
            const unsigned expected = f.special == edge::infinity_and_nan  ? sign * f.sign_bit() + quiet
                                      : f.special == edge::nan_at_all_ones ? (sign + 1) * f.sign_bit() - 1
                                                                           : f.sign_bit();
            const auto nan = same_bits<Float>(infinity | payload | (sign == 0 ? bits{0} : sign_bit));
            if (T(nan).bits() != expected || !T(nan).is_nan()) {
                return describe(nan, T(nan).bits(), expected);
            }
            if (T::saturated(nan).bits() != expected) {
                return "saturated: " + describe(nan, T::saturated(nan).bits(), expected);
            }
        }
    }
    return {};
}

/// x itself and its two neighbours among the values of Float.
template <class Float>
void add_with_neighbours(std::vector<Float>& samples, double x) {
    const auto centre = static_cast<Float>(x);
    REQUIRE(static_cast<double>(centre) == x);
    samples.push_back(centre);
    samples.push_back(std::nextafter(centre, std::numeric_limits<Float>::infinity()));
    samples.push_back(std::nextafter(centre, -std::numeric_limits<Float>::infinity()));
}

template <class T, class Float>
std::vector<Float> values_and_midpoints() {
    const std::vector<double> ladder = ladder_of(format_of<T>());
    std::vector<Float> samples;
    for (std::size_t i = 0; i < ladder.size(); ++i) {
        const double next = i + 1 < ladder.size() ? ladder[i + 1] : beyond(ladder);
        add_with_neighbours(samples, ladder[i]);
        add_with_neighbours(samples, ladder[i] + (next - ladder[i]) / 2);
    }
    return samples;
}

template <class Float>
std::vector<Float> extremes() {
    using limits = std::numeric_limits<Float>;
    return {Float{0}, limits::denorm_min(), limits::min(), limits::max(), limits::infinity(), Float{1e30F}};
}

/// Half of them any bits at all, half from the format's own range and a little beyond.
template <class T, class Float>
std::vector<Float> random_samples() {
    using bits = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
    const format f = format_of<T>();
    std::mt19937_64 random(20240229);
    std::uniform_int_distribution<int> exponent(-f.bias - f.mantissa_bits - 3, f.bias + 3);
    std::uniform_real_distribution<double> significand(1, 2);
    std::vector<Float> samples;
    while (samples.size() < 100'000) {
        const auto any = same_bits<Float>(static_cast<bits>(random()));
        if (!std::isnan(any)) {
            samples.push_back(any);
        }
        samples.push_back(static_cast<Float>(std::ldexp(significand(random), exponent(random))));
    }
    return samples;
}

// ---- what holds for all of them at compile time -----------------------------------------------------------------

template <class T>
constexpr bool is_a_good_value_type() {
    static_assert(sizeof(T) == sizeof(typename T::bits_type) && alignof(T) == alignof(typename T::bits_type));
    static_assert(sizeof(T) == ztensor::width_bytes(ztensor::element_traits<T>::storage));
    static_assert(std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T>);
    static_assert(ztensor::is_element_v<T> && ztensor::is_element_v<const T>);
    static_assert(std::is_nothrow_default_constructible_v<T> && T().bits() == 0);
    static_assert(std::is_nothrow_constructible_v<T, float> && std::is_nothrow_constructible_v<T, double>);
    static_assert(std::is_nothrow_constructible_v<float, T> && std::is_nothrow_constructible_v<double, T>);
    static_assert(!std::is_convertible_v<float, T> && !std::is_convertible_v<double, T>);
    static_assert(!std::is_convertible_v<T, float> && !std::is_convertible_v<T, double>);
    static_assert(!std::is_convertible_v<int, T> && !std::is_convertible_v<T, bool>);
    static_assert(T::from_bits(1).bits() == 1 && T::from_bits(1) == T::from_bits(1) && T::from_bits(1) != T());
    static_assert(!T::from_bits(1).is_nan());
    return true;
}

template <class... T>
constexpr bool are_good_value_types() {
    return (is_a_good_value_type<T>() && ...);
}
static_assert(are_good_value_types<EVERY_SMALL_FLOAT>());

template <class T>
constexpr bool is_stored_as(ztensor::dtype storage, std::string_view logical_type) {
    return ztensor::element_traits<T>::storage == storage && ztensor::element_traits<T>::type == logical_type;
}
static_assert(sizeof(float16) == 2 && is_stored_as<float16>(ztensor::dtype::f16, ""));
static_assert(sizeof(bfloat16) == 2 && is_stored_as<bfloat16>(ztensor::dtype::bf16, ""));
static_assert(sizeof(float8_e4m3fn) == 1 && is_stored_as<float8_e4m3fn>(ztensor::dtype::u8, "f8_e4m3fn"));
static_assert(sizeof(float8_e5m2) == 1 && is_stored_as<float8_e5m2>(ztensor::dtype::u8, "f8_e5m2"));
static_assert(sizeof(float8_e4m3fnuz) == 1 && is_stored_as<float8_e4m3fnuz>(ztensor::dtype::u8, "f8_e4m3fnuz"));
static_assert(sizeof(float8_e5m2fnuz) == 1 && is_stored_as<float8_e5m2fnuz>(ztensor::dtype::u8, "f8_e5m2fnuz"));

} // namespace

TEMPLATE_TEST_CASE("the logical type of an 8-bit float is one the format defines, over its storage", "", float8_e4m3fn,
                   float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz) {
    const ztensor::logical_type_facts* known = ztensor::find_logical_type(ztensor::element_traits<TestType>::type);
    REQUIRE(known != nullptr);
    CHECK(known->storage == ztensor::element_traits<TestType>::storage);
    CHECK(known->storage_elements == 1);
}

TEMPLATE_TEST_CASE("every bit pattern has the value that its fields say", "", EVERY_SMALL_FLOAT) {
    const format f = format_of<TestType>();
    std::string first_wrong;
    for (unsigned pattern = 0; pattern < f.pattern_count() && first_wrong.empty(); ++pattern) {
        const auto value = from_pattern<TestType>(pattern);
        const auto as_float = static_cast<float>(value);
        const auto as_double = static_cast<double>(value);
        const double expected = f.value(pattern);
        const bool is_right = f.is_nan(pattern)
                                  ? value.is_nan() && std::isnan(as_float) && std::isnan(as_double)
                                  : !value.is_nan() && static_cast<double>(as_float) == expected &&
                                        as_double == expected && std::signbit(as_float) == std::signbit(expected) &&
                                        std::signbit(as_double) == std::signbit(expected);
        if (!is_right) {
            std::ostringstream out;
            out << std::hexfloat << "0x" << std::hex << pattern << " gave " << as_float << ", expected " << expected;
            first_wrong = out.str();
        }
    }
    CHECK(first_wrong == "");
    CHECK(f.pattern_count() == 1U << (8 * sizeof(TestType)));
}

TEMPLATE_TEST_CASE("a NaN becomes a quiet float NaN with its sign and payload", "", EVERY_SMALL_FLOAT) {
    const format f = format_of<TestType>();
    unsigned nan_count = 0;
    for (unsigned pattern = 0; pattern < f.pattern_count(); ++pattern) {
        if (!f.is_nan(pattern)) {
            continue;
        }
        ++nan_count;
        const bool is_signed = f.special != edge::nan_at_negative_zero && f.is_negative(pattern);
        const std::uint32_t payload = f.mantissa(pattern) << (23 - f.mantissa_bits);
        const auto bits = same_bits<std::uint32_t>(static_cast<float>(from_pattern<TestType>(pattern)));
        if (bits != ((is_signed ? 0xffc0'0000U : 0x7fc0'0000U) | payload)) {
            CAPTURE(pattern, bits);
            FAIL("another NaN was expected");
        }
    }
    const unsigned expected_count = f.special == edge::infinity_and_nan  ? 2 * f.top_mantissa()
                                    : f.special == edge::nan_at_all_ones ? 2
                                                                         : 1;
    CHECK(nan_count == expected_count);
}

TEMPLATE_TEST_CASE("every pattern survives the way through float and through double", "", EVERY_SMALL_FLOAT) {
    const format f = format_of<TestType>();
    const unsigned quiet_bit = f.special == edge::infinity_and_nan ? 1U << (f.mantissa_bits - 1) : 0;
    std::string first_wrong;
    for (unsigned pattern = 0; pattern < f.pattern_count() && first_wrong.empty(); ++pattern) {
        const unsigned expected = f.is_nan(pattern) ? pattern | quiet_bit : pattern;
        const auto value = from_pattern<TestType>(pattern);
        const TestType by_float(static_cast<float>(value));
        const TestType by_double(static_cast<double>(value));
        if (value.bits() != pattern || by_float.bits() != expected || by_double.bits() != expected) {
            first_wrong = describe(static_cast<float>(value), by_float.bits(), expected);
        }
    }
    CHECK(first_wrong == "");
}

TEMPLATE_TEST_CASE("floats round to the nearest value, ties to even", "", EVERY_SMALL_FLOAT) {
    CHECK(first_wrong_rounding<TestType>(values_and_midpoints<TestType, float>()) == "");
    CHECK(first_wrong_rounding<TestType>(extremes<float>()) == "");
    CHECK(first_wrong_rounding<TestType>(random_samples<TestType, float>()) == "");
}

TEMPLATE_TEST_CASE("doubles round once, not by way of float", "", EVERY_SMALL_FLOAT) {
    CHECK(first_wrong_rounding<TestType>(values_and_midpoints<TestType, double>()) == "");
    CHECK(first_wrong_rounding<TestType>(extremes<double>()) == "");
    CHECK(first_wrong_rounding<TestType>(random_samples<TestType, double>()) == "");

    // Just above the tie between 1 and the next value: as a float it is the tie, which would go down to the even 1.
    const format f = format_of<TestType>();
    const double tie = 1 + std::ldexp(1, -f.mantissa_bits - 1);
    const double above_tie = std::nextafter(tie, 2.0);
    REQUIRE(static_cast<float>(above_tie) == static_cast<float>(tie));
    CHECK(static_cast<double>(TestType(tie)) == 1);
    CHECK(static_cast<double>(TestType(above_tie)) == 1 + std::ldexp(1, -f.mantissa_bits));
}

TEMPLATE_TEST_CASE("zero and what rounds to zero keep the sign where the format has signed zeros", "",
                   EVERY_SMALL_FLOAT) {
    const format f = format_of<TestType>();
    const unsigned negative_zero = f.special == edge::nan_at_negative_zero ? 0 : f.sign_bit();
    const double half_of_smallest = f.finite_value(1) / 2;
    CHECK(TestType(0.0F).bits() == 0);
    CHECK(TestType(-0.0F).bits() == negative_zero);
    CHECK(TestType(half_of_smallest).bits() == 0);
    CHECK(TestType(-half_of_smallest).bits() == negative_zero);
    CHECK(TestType::saturated(-half_of_smallest).bits() == negative_zero);
    CHECK(TestType(std::nextafter(half_of_smallest, 1.0)).bits() == 1);
    CHECK(TestType(-std::nextafter(half_of_smallest, 1.0)).bits() == f.sign_bit() + 1);
    CHECK(TestType(std::numeric_limits<double>::denorm_min()).bits() == 0);
}

TEMPLATE_TEST_CASE("NaN stays NaN: quiet, with sign and leading payload bits, never infinity", "", EVERY_SMALL_FLOAT) {
    CHECK(first_wrong_nan<TestType, float>() == "");
    CHECK(first_wrong_nan<TestType, double>() == "");
}

TEMPLATE_TEST_CASE("values compare as floats do", "", EVERY_SMALL_FLOAT) {
    const format f = format_of<TestType>();
    const unsigned step = f.pattern_count() == 256 ? 1 : 251;
    std::vector<unsigned> some = {0,
                                  f.sign_bit(),
                                  f.sign_bit() - 1,
                                  f.pattern_count() - 1,
                                  f.join(f.top_exponent(), 0),
                                  f.sign_bit() + f.join(f.top_exponent(), 0)};
    for (unsigned pattern = 1; pattern < f.pattern_count(); pattern += step) {
        some.push_back(pattern);
    }
    std::string first_wrong;
    for (const unsigned a : some) {
        for (const unsigned b : some) {
            const bool expected = f.value(a) == f.value(b);
            const auto left = from_pattern<TestType>(a);
            const auto right = from_pattern<TestType>(b);
            if (((left == right) != expected || (left != right) == expected) && first_wrong.empty()) {
                std::ostringstream out;
                out << std::hex << "0x" << a << " and 0x" << b << " compare wrongly";
                first_wrong = out.str();
            }
        }
    }
    CHECK(first_wrong == "");
}

TEMPLATE_TEST_CASE("the thread's rounding mode changes nothing", "", EVERY_SMALL_FLOAT) {
    const int mode = GENERATE(FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO);
    const format f = format_of<TestType>();
    const std::vector<double> ladder = ladder_of(f);
    const std::vector<float> samples = values_and_midpoints<TestType, float>();
    std::vector<unsigned> expected;
    for (const float x : samples) {
        expected.push_back(nearest_pattern(f, ladder, static_cast<double>(x), false));
    }
    std::size_t wrong = 0;
    REQUIRE(std::fesetround(mode) == 0);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const TestType value(samples[i]);
        wrong += value.bits() == expected[i] ? 0 : 1;
        wrong += value.is_nan() || same_bits<std::uint32_t>(static_cast<float>(value)) ==
                                       same_bits<std::uint32_t>(static_cast<float>(f.value(expected[i])))
                     ? 0
                     : 1;
    }
    REQUIRE(std::fesetround(FE_TONEAREST) == 0);
    CHECK(wrong == 0);
}

TEST_CASE("well-known values have their well-known patterns") {
    const float infinity = std::numeric_limits<float>::infinity();
    SECTION("float16") {
        CHECK(float16(1.0F).bits() == 0x3c00);
        CHECK(float16(-2.0F).bits() == 0xc000);
        CHECK(float16(0.1F).bits() == 0x2e66);
        CHECK(float16(65504.0F).bits() == 0x7bff);
        CHECK(float16(65519.996F).bits() == 0x7bff);
        CHECK(float16(65520.0F).bits() == 0x7c00);
        CHECK(float16(-infinity).bits() == 0xfc00);
        CHECK(float16::saturated(1e10F).bits() == 0x7bff);
        CHECK(float16::saturated(-1e10F).bits() == 0xfbff);
        CHECK(float16::saturated(infinity).bits() == 0x7c00);
        CHECK(static_cast<float>(float16::from_bits(0x3555)) == 0.333251953125F);
        CHECK(static_cast<float>(float16::from_bits(0x0001)) == 5.9604644775390625e-8F);
    }
    SECTION("bfloat16") {
        CHECK(bfloat16(1.0F).bits() == 0x3f80);
        CHECK(bfloat16(3.14159274F).bits() == 0x4049);
        CHECK(bfloat16(std::numeric_limits<float>::max()).bits() == 0x7f80);
        CHECK(bfloat16::saturated(std::numeric_limits<float>::max()).bits() == 0x7f7f);
        CHECK(bfloat16::saturated(-std::numeric_limits<double>::max()).bits() == 0xff7f);
    }
    SECTION("float8_e4m3fn") {
        CHECK(float8_e4m3fn(1.0F).bits() == 0x38);
        CHECK(float8_e4m3fn(448.0F).bits() == 0x7e);
        CHECK(float8_e4m3fn(464.0F).bits() == 0x7e);
        CHECK(float8_e4m3fn(465.0F).bits() == 0x7f);
        CHECK(float8_e4m3fn(-infinity).bits() == 0xff);
        CHECK(float8_e4m3fn::saturated(465.0F).bits() == 0x7e);
        CHECK(float8_e4m3fn::saturated(-infinity).bits() == 0xfe);
    }
    SECTION("float8_e5m2") {
        CHECK(float8_e5m2(1.0F).bits() == 0x3c);
        CHECK(float8_e5m2(57344.0F).bits() == 0x7b);
        CHECK(float8_e5m2(61439.0F).bits() == 0x7b);
        CHECK(float8_e5m2(61440.0F).bits() == 0x7c);
        CHECK(float8_e5m2::saturated(-61440.0F).bits() == 0xfb);
        CHECK(float8_e5m2::saturated(-infinity).bits() == 0xfc);
    }
    SECTION("float8_e4m3fnuz") {
        CHECK(float8_e4m3fnuz(1.0F).bits() == 0x40);
        CHECK(float8_e4m3fnuz(240.0F).bits() == 0x7f);
        CHECK(float8_e4m3fnuz(247.0F).bits() == 0x7f);
        CHECK(float8_e4m3fnuz(248.0F).bits() == 0x80);
        CHECK(float8_e4m3fnuz(-infinity).bits() == 0x80);
        CHECK(float8_e4m3fnuz::saturated(-infinity).bits() == 0xff);
    }
    SECTION("float8_e5m2fnuz") {
        CHECK(float8_e5m2fnuz(1.0F).bits() == 0x40);
        CHECK(float8_e5m2fnuz(57344.0F).bits() == 0x7f);
        CHECK(float8_e5m2fnuz(61440.0F).bits() == 0x80);
        CHECK(float8_e5m2fnuz::saturated(61440.0F).bits() == 0x7f);
        CHECK(float8_e5m2fnuz(-0.0F).bits() == 0x00);
    }
}

TEST_CASE("a small float prints as its value") {
    std::ostringstream out;
    out << float16(1.5F) << ' ' << bfloat16(-2.0F) << ' ' << float8_e4m3fn(448.0F);
    CHECK(out.str() == "1.5 -2 448");
}
