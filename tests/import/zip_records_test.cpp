// SPDX-License-Identifier: MIT
//
// Numbers of 64 bits in the extra fields of a ZIP archive's entries, where those of 32 don't suffice.
#include "support/bytes.hpp"
#include "support/catch.hpp"

#include <ztensor/detail/import/zip.hpp>

#include <cstdint>
#include <string>

namespace {

using support::little_endian;
using ztensor::detail::take_zip64;
using ztensor::detail::zip_unknown_32;

support::bytes extra_field(std::uint64_t kind, const support::bytes& content) {
    return little_endian(kind, 2) + little_endian(content.size(), 2) + content;
}

/// What becomes of two sizes and an offset; "none" if a number is lacking.
std::string taken(const support::bytes& extra, std::uint64_t size, std::uint64_t stored, std::uint64_t offset) {
    if (!take_zip64(support::bytes_of(extra), {&size, &stored, &offset})) {
        return "none";
    }
    return std::to_string(size) + " " + std::to_string(stored) + " " + std::to_string(offset);
}

} // namespace

TEST_CASE("a ZIP64 field gives the numbers that are wanted, one after the other") {
    constexpr std::uint64_t no = zip_unknown_32;
    const std::uint64_t large = std::uint64_t{5} << 56; // all eight bytes count
    const support::bytes one = extra_field(1, little_endian(large, 8));
    const support::bytes two = extra_field(1, little_endian(large, 8) + little_endian(large + 1, 8));
    const support::bytes three =
        extra_field(1, little_endian(large, 8) + little_endian(large + 1, 8) + little_endian(large + 2, 8));
    CHECK(taken({}, 1, 2, 3) == "1 2 3");
    CHECK(taken(three, 1, 2, 3) == "1 2 3"); // nothing is wanted
    CHECK(taken(three, no, no, no) == "360287970189639680 360287970189639681 360287970189639682");
    CHECK(taken(one, no, 2, 3) == "360287970189639680 2 3");
    CHECK(taken(one, 1, no, 3) == "1 360287970189639680 3");
    CHECK(taken(one, 1, 2, no) == "1 2 360287970189639680");
    CHECK(taken(two, no, 2, no) == "360287970189639680 2 360287970189639681");
    CHECK(taken(extra_field(0x5455, "12345") + two, no, no, 3) == "360287970189639680 360287970189639681 3");
    CHECK(taken(extra_field(0x5455, "") + one, no, 2, 3) == "360287970189639680 2 3");

    CHECK(taken({}, no, 2, 3) == "none");
    CHECK(taken(one, no, no, 3) == "none");
    CHECK(taken(two, no, no, no) == "none");
    CHECK(taken(extra_field(1, "1234567"), no, 2, 3) == "none");
    CHECK(taken(extra_field(1, {}), no, 2, 3) == "none");
    CHECK(taken(extra_field(0x5455, "12345"), no, 2, 3) == "none");
    CHECK(taken(one.substr(0, 3), no, 2, 3) == "none");
    CHECK(taken(one.substr(0, 11), no, 2, 3) == "none"); // it says more than there is
    CHECK(taken(little_endian(0x5455, 2) + little_endian(9, 2) + "12345678" + one, no, 2, 3) == "none");
}
