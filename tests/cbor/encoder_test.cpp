// SPDX-License-Identifier: MIT
//
// The CBOR encoder: the shortest form of everything that is written.
#include "support/bytes.hpp"
#include "support/catch.hpp"

#include <ztensor/detail/cbor/encoder.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace {

using support::from_hex;
using support::to_hex;
using ztensor::detail::cbor_encoder;

/// What the encoder makes of one value.
std::string encoded_number(double value) {
    cbor_encoder encoder;
    encoder.number(value);
    return to_hex(encoder.bytes());
}

std::string encoded_unsigned(std::uint64_t value) {
    cbor_encoder encoder;
    encoder.unsigned_integer(value);
    return to_hex(encoder.bytes());
}

std::string encoded_integer(std::int64_t value) {
    cbor_encoder encoder;
    encoder.integer(value);
    return to_hex(encoder.bytes());
}

/// The value of a binary16 pattern, from the definition.
double half_value(unsigned bits) {
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const double mantissa = bits & 1023;
    const double magnitude = exponent == 31  ? (mantissa == 0 ? std::numeric_limits<double>::infinity()
                                                              : std::numeric_limits<double>::quiet_NaN())
                             : exponent == 0 ? std::ldexp(mantissa, -24)
                                             : std::ldexp(mantissa + 1024, exponent - 25);
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

} // namespace

TEST_CASE("integers are written with the shortest head") {
    CHECK(encoded_unsigned(0) == "00");
    CHECK(encoded_unsigned(23) == "17");
    CHECK(encoded_unsigned(24) == "1818");
    CHECK(encoded_unsigned(255) == "18ff");
    CHECK(encoded_unsigned(256) == "190100");
    CHECK(encoded_unsigned(65535) == "19ffff");
    CHECK(encoded_unsigned(65536) == "1a00010000");
    CHECK(encoded_unsigned(4294967295) == "1affffffff");
    CHECK(encoded_unsigned(4294967296) == "1b0000000100000000");
    CHECK(encoded_unsigned(std::numeric_limits<std::uint64_t>::max()) == "1bffffffffffffffff");
    CHECK(encoded_integer(0) == "00");
    CHECK(encoded_integer(24) == "1818");
    CHECK(encoded_integer(std::numeric_limits<std::int64_t>::max()) == "1b7fffffffffffffff");
    CHECK(encoded_integer(-1) == "20");
    CHECK(encoded_integer(-24) == "37");
    CHECK(encoded_integer(-25) == "3818");
    CHECK(encoded_integer(-256) == "38ff");
    CHECK(encoded_integer(-257) == "390100");
    CHECK(encoded_integer(-65536) == "39ffff");
    CHECK(encoded_integer(-65537) == "3a00010000");
    CHECK(encoded_integer(-4294967296) == "3affffffff");
    CHECK(encoded_integer(-4294967297) == "3b0000000100000000");
    CHECK(encoded_integer(std::numeric_limits<std::int64_t>::min()) == "3b7fffffffffffffff");
}

TEST_CASE("strings and containers are written with the shortest head") {
    const auto head_of_text = [](std::size_t length) {
        cbor_encoder encoder;
        encoder.text(std::string(length, 'a'));
        return to_hex(encoder.bytes().first(encoder.bytes().size() - length));
    };
    CHECK(head_of_text(0) == "60");
    CHECK(head_of_text(23) == "77");
    CHECK(head_of_text(24) == "7818");
    CHECK(head_of_text(255) == "78ff");
    CHECK(head_of_text(256) == "790100");
    CHECK(head_of_text(65535) == "79ffff");
    CHECK(head_of_text(65536) == "7a00010000");

    cbor_encoder encoder;
    encoder.byte_string(ztensor::bytes_argument(from_hex("0102")));
    encoder.text("\xc3\xbc");
    encoder.begin_array(24);
    encoder.begin_map(2);
    encoder.begin_indefinite_map();
    encoder.end_indefinite();
    encoder.boolean(false);
    encoder.boolean(true);
    encoder.null();
    encoder.encoded(ztensor::bytes_argument(from_hex("c100")));
    CHECK(to_hex(encoder.bytes()) == "42010262c3bc9818a2bffff4f5f6c100");
    CHECK(to_hex(std::move(encoder).take()) == "42010262c3bc9818a2bffff4f5f6c100");
}

TEST_CASE("floats are written in the fewest bits that keep them") {
    const double infinity = std::numeric_limits<double>::infinity();
    CHECK(encoded_number(0.0) == "f90000");
    CHECK(encoded_number(-0.0) == "f98000");
    CHECK(encoded_number(1.0) == "f93c00");
    CHECK(encoded_number(1.5) == "f93e00");
    CHECK(encoded_number(65504.0) == "f97bff");
    CHECK(encoded_number(65505.0) == "fa477fe100");
    CHECK(encoded_number(65520.0) == "fa477ff000");
    CHECK(encoded_number(65536.0) == "fa47800000");
    CHECK(encoded_number(100000.0) == "fa47c35000");
    CHECK(encoded_number(std::ldexp(1, -24)) == "f90001");
    CHECK(encoded_number(std::ldexp(1, -25)) == "fa33000000");
    CHECK(encoded_number(std::ldexp(3, -25)) == "fa33c00000");
    CHECK(encoded_number(std::ldexp(1, -14)) == "f90400");
    CHECK(encoded_number(std::ldexp(1, -149)) == "fa00000001");
    CHECK(encoded_number(-std::ldexp(1, -149)) == "fa80000001");
    CHECK(encoded_number(std::ldexp(1, -150)) == "fb3690000000000000"); // half of the smallest float
    CHECK(encoded_number(3.4028234663852886e38) == "fa7f7fffff");
    CHECK(encoded_number(3.4028234663852889e38) == "fb47efffffe0000001");
    CHECK(encoded_number(-4.1) == "fbc010666666666666");
    CHECK(encoded_number(1.1) == "fb3ff199999999999a");
    CHECK(encoded_number(1e300) == "fb7e37e43c8800759c");
    CHECK(encoded_number(5e-324) == "fb0000000000000001");
    CHECK(encoded_number(infinity) == "f97c00");
    CHECK(encoded_number(-infinity) == "f9fc00");
}

TEST_CASE("every NaN is written alike") {
    for (const char* payload : {"", "1", "0x7ffff"}) {
        CHECK(encoded_number(std::nan(payload)) == "f97e00");
        CHECK(encoded_number(-std::nan(payload)) == "f97e00");
    }
}

TEST_CASE("every half is written as itself, and its neighbours in more bits") {
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        const double value = half_value(bits);
        if (std::isnan(value)) {
            continue;
        }
        const std::string expected = {'f',
                                      '9',
                                      "0123456789abcdef"[bits >> 12],
                                      "0123456789abcdef"[bits >> 8 & 15],
                                      "0123456789abcdef"[bits >> 4 & 15],
                                      "0123456789abcdef"[bits & 15]};
        if (encoded_number(value) != expected) {
            FAIL(bits << " became " << encoded_number(value));
        }
        if (std::isinf(value)) {
            continue;
        }
        const float as_float = static_cast<float>(value);
        const float next_float = std::nextafter(as_float, std::numeric_limits<float>::infinity());
        const double next_double = std::nextafter(value, std::numeric_limits<double>::infinity());
        if (encoded_number(static_cast<double>(next_float)).size() != 2 * 5 ||
            encoded_number(next_double).size() != 2 * 9) {
            FAIL("beside " << bits);
        }
    }
}
