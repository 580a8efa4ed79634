// SPDX-License-Identifier: MIT
//
// The floating-point types that C++ lacks: float16, bfloat16 and the four 8-bit floats. Values only: bit patterns and
// their conversion from and to float and double. SPEC.md section 4.5.
#ifndef ZTENSOR_FLOAT_TYPES_HPP
#define ZTENSOR_FLOAT_TYPES_HPP

#include <ztensor/dtype.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <limits>
#include <string_view>
#include <type_traits>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// What a format does at the edges of its range, named by the suffix such formats carry.
enum class float_specials : std::uint8_t {
    ieee, ///< the top exponent holds infinity and NaN
    fn,   ///< finite: no infinity; the pattern of all ones, under either sign, is NaN
    fnuz, ///< finite, unsigned zero: no infinity, no negative zero; the pattern that would be -0 is the only NaN
};

namespace detail {

static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559,
              "the conversions work on the bit patterns of IEEE 754");

/// The same bits as another type of that size.
template <class To, class From>
[[nodiscard]] To bits_as(const From& from) noexcept {
    static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To> && std::is_trivially_copyable_v<From>);
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

/// All ones for true, for selecting without a branch.
[[nodiscard]] constexpr std::uint32_t mask_of(bool condition) noexcept {
    return std::uint32_t{0} - static_cast<std::uint32_t>(condition);
}

template <class Float>
struct ieee_layout;

template <>
struct ieee_layout<float> {
    using bits_type = std::uint32_t;
    static constexpr unsigned mantissa_bits = 23;
    static constexpr unsigned bias = 127;
    static constexpr bits_type sign_mask = 0x8000'0000;
    static constexpr bits_type infinity = 0x7f80'0000;
    static constexpr bits_type quiet_nan = 0x7fc0'0000;
};

template <>
struct ieee_layout<double> {
    using bits_type = std::uint64_t;
    static constexpr unsigned mantissa_bits = 52;
    static constexpr unsigned bias = 1023;
    static constexpr bits_type sign_mask = 0x8000'0000'0000'0000;
    static constexpr bits_type infinity = 0x7ff0'0000'0000'0000;
};

/// value / 2^shift to the nearest integer, ties to even; 1 <= shift, and the sum with half a unit must not wrap.
template <class Unsigned>
[[nodiscard]] constexpr Unsigned shift_right_to_even(Unsigned value, unsigned shift) noexcept {
    const Unsigned below_half = (Unsigned{1} << (shift - 1)) - 1;
    const Unsigned is_odd = (value >> shift) & 1;
    return (value + below_half + is_odd) >> shift;
}

} // namespace detail

/// A floating-point value of 8 or 16 bits: a sign, an exponent and a mantissa, from the top bit down. Trivially
/// copyable, exactly as large as its bits, all zero bits by default. It stores and converts; to calculate, convert to
/// float, which is exact.
///
/// From float and double: rounded once, to the nearest value, ties to the even pattern, whatever the rounding mode of
/// the thread. What lies beyond the largest finite value after rounding becomes infinity, or NaN in the formats that
/// have no infinity, as infinity itself does there. From float these are the values of ml_dtypes and PyTorch; from
/// double those round twice, by way of float, and so may be off by one pattern. Of integers there is no constructor:
/// say which of the two you mean.
///
/// NaN stays NaN in both directions. It keeps its sign and the leading bits of its payload as far as the target can
/// hold them, and a signalling NaN becomes quiet. The one NaN of fnuz formats has neither sign nor payload; its float
/// is positive.
template <unsigned ExponentBits, unsigned MantissaBits, unsigned Bias, float_specials Specials>
class small_float {
public:
    using bits_type = std::conditional_t<(ExponentBits + MantissaBits < 8), std::uint8_t, std::uint16_t>;

    constexpr small_float() noexcept = default;
    explicit small_float(float value) noexcept : bits_(nearest(value, overflow_pattern)) {}
    explicit small_float(double value) noexcept : bits_(nearest(value, overflow_pattern)) {}

    /// The value of that bit pattern; every pattern is one.
    [[nodiscard]] static constexpr small_float from_bits(bits_type bits) noexcept {
        small_float value;
        value.bits_ = bits;
        return value;
    }
    [[nodiscard]] constexpr bits_type bits() const noexcept { return bits_; }

    /// As the constructors, but what lies beyond the largest finite value becomes that value, with its sign; so does
    /// infinity in formats that have none. In those that have it, infinity stays infinity (where OCP's saturating mode
    /// would also clamp it), and NaN stays NaN everywhere.
    [[nodiscard]] static small_float saturated(float value) noexcept {
        return from_bits(nearest(value, largest_finite));
    }
    [[nodiscard]] static small_float saturated(double value) noexcept {
        return from_bits(nearest(value, largest_finite));
    }

    /// Exact; NaN comes out quiet.
    [[nodiscard]] explicit operator float() const noexcept {
        const std::uint32_t unsigned_nan = Specials == float_specials::fnuz ? detail::mask_of(is_nan()) : 0;
        const std::uint32_t sign = bits_ & sign_mask & ~unsigned_nan;
        return detail::bits_as<float>(sign << (31 - ExponentBits - MantissaBits) | widened_magnitude());
    }
    [[nodiscard]] explicit operator double() const noexcept { return static_cast<double>(static_cast<float>(*this)); }

    [[nodiscard]] constexpr bool is_nan() const noexcept {
        return Specials == float_specials::fnuz ? bits_ == sign_mask : magnitude() >= first_nan;
    }

    /// By value, as float compares: NaN equals nothing, and -0 equals 0.
    friend constexpr bool operator==(small_float a, small_float b) noexcept {
        return !a.is_nan() && !b.is_nan() && (a.bits_ == b.bits_ || (a.magnitude() | b.magnitude()) == 0);
    }
    friend constexpr bool operator!=(small_float a, small_float b) noexcept { return !(a == b); }

    template <class Traits>
    friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, small_float value) {
        return out << static_cast<float>(value);
    }

private:
    using float_layout = detail::ieee_layout<float>;

    static_assert(ExponentBits + MantissaBits == 7 || ExponentBits + MantissaBits == 15, "8 or 16 bits with the sign");
    static_assert(MantissaBits + 2 <= float_layout::mantissa_bits && Bias <= float_layout::bias,
                  "every value must be a float");

    // Patterns, 32 bits wide because arithmetic on narrower unsigned types is signed.
    static constexpr std::uint32_t sign_mask = std::uint32_t{1} << (ExponentBits + MantissaBits);
    static constexpr std::uint32_t smallest_normal = std::uint32_t{1} << MantissaBits;
    static constexpr std::uint32_t top_exponent = sign_mask - smallest_normal;
    static constexpr std::uint32_t first_nan =
        Specials == float_specials::ieee ? top_exponent + 1 : sign_mask - (Specials == float_specials::fn ? 1 : 0);
    static constexpr std::uint32_t quiet_bit = smallest_normal >> 1;
    static constexpr std::uint32_t largest_finite = Specials == float_specials::ieee ? top_exponent - 1 : first_nan - 1;
    static constexpr std::uint32_t overflow_pattern = largest_finite + 1; // infinity, or NaN where there is none

    [[nodiscard]] constexpr std::uint32_t magnitude() const noexcept { return bits_ & (sign_mask - 1); }

    /// The bits of the absolute value as a float. No branch, so that loops over many values can be vectorised, and no
    /// subnormal float, which some threads flush to zero.
    [[nodiscard]] std::uint32_t widened_magnitude() const noexcept {
        std::uint32_t wide = magnitude() << (float_layout::mantissa_bits - MantissaBits);
        if constexpr (Bias != float_layout::bias) {
            constexpr std::uint32_t smallest_exponent = float_layout::bias + 1 - Bias - MantissaBits;
            const auto smallest = detail::bits_as<float>(smallest_exponent << float_layout::mantissa_bits);
            const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude())) * smallest;
            const std::uint32_t normal = wide + ((float_layout::bias - Bias) << float_layout::mantissa_bits);
            const std::uint32_t is_subnormal = detail::mask_of(magnitude() < smallest_normal);
            wide = (normal & ~is_subnormal) | (detail::bits_as<std::uint32_t>(subnormal) & is_subnormal);
            if constexpr (Specials == float_specials::ieee) {
                wide |= float_layout::infinity & detail::mask_of(magnitude() >= top_exponent);
            }
        }
        return wide | (float_layout::quiet_nan & detail::mask_of(is_nan()));
    }

    /// The pattern nearest to `value`; `overflowed` is the magnitude of results beyond the largest finite one.
    template <class Float>
    [[nodiscard]] static bits_type nearest(Float value, std::uint32_t overflowed) noexcept {
        using layout = detail::ieee_layout<Float>;
        using source_bits = typename layout::bits_type;
        const auto source = detail::bits_as<source_bits>(value);
        const std::uint32_t sign = (source & layout::sign_mask) != 0 ? sign_mask : 0;
        const source_bits source_magnitude = source & ~layout::sign_mask;
        if (source_magnitude > layout::infinity) {
            const source_bits payload = source_magnitude >> (layout::mantissa_bits - MantissaBits);
            return nan_pattern(sign, static_cast<std::uint32_t>(payload));
        }
        if (Specials == float_specials::ieee && source_magnitude == layout::infinity) {
            return signed_pattern(sign, top_exponent);
        }
        const source_bits rounded = rounded_magnitude<layout>(source_magnitude);
        return signed_pattern(sign, rounded <= largest_finite ? static_cast<std::uint32_t>(rounded) : overflowed);
    }

    /// The magnitude of a float or double, infinity included, in this format's places. Rounding up may carry into the
    /// exponent, which is right, and the exponent may exceed this format's.
    template <class Layout, class Bits = typename Layout::bits_type>
    [[nodiscard]] static constexpr Bits rounded_magnitude(Bits source) noexcept {
        constexpr unsigned excess_bits = Layout::mantissa_bits - MantissaBits;
        constexpr Bits excess_bias = Layout::bias - Bias;
        constexpr Bits implicit_bit = Bits{1} << Layout::mantissa_bits;
        const Bits exponent = source >> Layout::mantissa_bits;
        if (exponent > excess_bias) {
            return detail::shift_right_to_even<Bits>(source - (excess_bias << Layout::mantissa_bits), excess_bits);
        }
        // Subnormal here. Two places beyond the last one nothing is left that could round up, so shift no further.
        const Bits significand = exponent == 0 ? source : (source & (implicit_bit - 1)) | implicit_bit;
        const Bits missing = excess_bias + 1 - (std::max<Bits>)(exponent, 1);
        const auto shift = excess_bits + static_cast<unsigned>((std::min<Bits>)(missing, MantissaBits + 2));
        return detail::shift_right_to_even<Bits>(significand, shift);
    }

    /// Magnitude 0 has no sign in fnuz formats, and neither has sign_mask, their NaN.
    [[nodiscard]] static constexpr bits_type signed_pattern(std::uint32_t sign, std::uint32_t magnitude) noexcept {
        const bool is_unsigned = Specials == float_specials::fnuz && magnitude == 0;
        return static_cast<bits_type>(is_unsigned ? 0 : sign | magnitude);
    }

    /// `payload` may have bits above the mantissa. The quiet bit keeps a NaN with an empty payload from being infinity.
    [[nodiscard]] static constexpr bits_type nan_pattern(std::uint32_t sign, std::uint32_t payload) noexcept {
        const std::uint32_t ieee_nan = top_exponent | quiet_bit | (payload & (smallest_normal - 1));
        return signed_pattern(sign, Specials == float_specials::ieee ? ieee_nan : first_nan);
    }

    bits_type bits_ = 0;
};

/// IEEE 754 binary16.
using float16 = small_float<5, 10, 15, float_specials::ieee>;
/// The upper half of a float.
using bfloat16 = small_float<8, 7, 127, float_specials::ieee>;
/// OCP FP8 with 3 mantissa bits; largest value 448.
using float8_e4m3fn = small_float<4, 3, 7, float_specials::fn>;
/// OCP FP8 with 2 mantissa bits; largest finite value 57344.
using float8_e5m2 = small_float<5, 2, 15, float_specials::ieee>;
/// AMD FP8 with 3 mantissa bits; largest value 240.
using float8_e4m3fnuz = small_float<4, 3, 8, float_specials::fnuz>;
/// AMD FP8 with 2 mantissa bits; largest value 57344.
using float8_e5m2fnuz = small_float<5, 2, 16, float_specials::fnuz>;

template <>
struct element_traits<float16> : stored_as<dtype::f16> {};
template <>
struct element_traits<bfloat16> : stored_as<dtype::bf16> {};
template <>
struct element_traits<float8_e4m3fn> : stored_as<dtype::u8> {
    static constexpr std::string_view type = "f8_e4m3fn";
};
template <>
struct element_traits<float8_e5m2> : stored_as<dtype::u8> {
    static constexpr std::string_view type = "f8_e5m2";
};
template <>
struct element_traits<float8_e4m3fnuz> : stored_as<dtype::u8> {
    static constexpr std::string_view type = "f8_e4m3fnuz";
};
template <>
struct element_traits<float8_e5m2fnuz> : stored_as<dtype::u8> {
    static constexpr std::string_view type = "f8_e5m2fnuz";
};

namespace detail {

template <class... T>
struct element_types {};

template <class... T, class... U>
constexpr element_types<T..., U...> operator+(element_types<T...>, element_types<U...>) noexcept {
    return {};
}

/// Every float of 8 bits that is an element type: visit() and conversions know those of this list.
using float8_types = element_types<float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz>;

} // namespace detail

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
