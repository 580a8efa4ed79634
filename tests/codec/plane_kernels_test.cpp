// SPDX-License-Identifier: MIT
//
// Elements split into planes and joined again, by whatever instructions the host has, against the definition: of every
// small count, at every alignment, in place.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/plane_content.hpp"

#include <ztensor/detail/codec/plane_kernels.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace {

namespace plane_kernels {

using support::as_string;
using support::byte_vector;
using support::bytes;
using support::planes::split;
using ztensor::bytes_view;
using ztensor::span;
using ztensor::detail::join_planes;
using ztensor::detail::plane;
using ztensor::detail::plane_bytes;
using ztensor::detail::split_plane;

/// The bytes in memory that ends with them, `shift` bytes behind an aligned place.
class placed {
public:
    placed(const bytes& content, std::size_t shift) : memory_(shift), shift_(shift) {
        const byte_vector given = support::to_vector(content);
        memory_.insert(memory_.end(), given.begin(), given.end());
        memory_.shrink_to_fit();
    }
    [[nodiscard]] const std::byte* data() const { return memory_.data() + shift_; }
    [[nodiscard]] bytes_view view() const { return bytes_view(memory_).subspan(shift_); }
    [[nodiscard]] span<std::byte> writable() { return span<std::byte>(memory_).subspan(shift_); }

private:
    byte_vector memory_;
    std::size_t shift_;
};

bytes plane_of(plane which, const placed& elements, std::size_t width, std::size_t shift) {
    const std::size_t count = elements.view().size() / width;
    placed made(bytes(count * plane_bytes(which, width), 'x'), shift);
    split_plane(which, elements.view(), width, made.writable().data());
    return as_string(made.view());
}

bytes joined(const split& parts, std::size_t width, std::size_t shift) {
    const placed exponents(parts.exponents, shift), fractions(parts.fractions, shift + 1);
    placed made(bytes(parts.exponents.size() * width, 'x'), shift);
    join_planes(exponents.data(), fractions.data(), width, made.writable());
    return as_string(made.view());
}

/// One of the planes is the end of the memory that the elements are made in.
bytes joined_in_place(const split& parts, std::size_t width, plane at_end) {
    const bool are_exponents = at_end == plane::exponent;
    const bytes& kept = are_exponents ? parts.fractions : parts.exponents;
    const bytes& tail = are_exponents ? parts.exponents : parts.fractions;
    const placed other(kept, 0);
    placed made(bytes(kept.size(), 'x') + tail, 0);
    const std::byte* const end = made.data() + kept.size();
    join_planes(are_exponents ? end : other.data(), are_exponents ? other.data() : end, width, made.writable());
    return as_string(made.view());
}

} // namespace plane_kernels

} // namespace

TEST_CASE("planes are what the definition says, of every small count and at every alignment") {
    using namespace plane_kernels;
    for (const std::size_t width : {std::size_t{2}, std::size_t{4}}) {
        const bytes all = as_string(support::noise(300 * width, 5));
        for (std::size_t count = 0; count <= 200; ++count) {
            const bytes content = all.substr(count, count * width);
            const split expected = support::planes::split_of(content, width);
            for (const std::size_t shift : {0U, 1U, 3U, 8U, 13U}) {
                const placed elements(content, shift);
                CAPTURE(width, count, shift);
                CHECK(plane_of(plane::exponent, elements, width, shift) == expected.exponents);
                CHECK(plane_of(plane::fraction, elements, width, shift) == expected.fractions);
                CHECK(joined(expected, width, shift) == content);
            }
        }
    }
}

TEST_CASE("every element of two bytes, and elements of four of every exponent and sign, come back from their planes") {
    using namespace plane_kernels;
    for (const std::size_t width : {std::size_t{2}, std::size_t{4}}) {
        bytes all;
        for (std::uint64_t i = 0; i < 65536; ++i) {
            all += width == 2 ? support::little_endian(i, 2) : support::little_endian(i * 40503 % 65536 | i << 16, 4);
        }
        const split expected = support::planes::split_of(all, width);
        const placed elements(all, 0);
        CHECK((plane_of(plane::exponent, elements, width, 0) == expected.exponents));
        CHECK((plane_of(plane::fraction, elements, width, 0) == expected.fractions));
        CHECK((joined(expected, width, 0) == all));
    }
}

TEST_CASE("elements are joined over exponents or fractions that lie where they end") {
    using namespace plane_kernels;
    for (const std::size_t width : {std::size_t{2}, std::size_t{4}}) {
        const bytes all = as_string(support::noise(300 * width, 6));
        for (std::size_t count = 0; count <= 200; ++count) {
            const bytes content = all.substr(count, count * width);
            CAPTURE(width, count);
            const split parts = support::planes::split_of(content, width);
            CHECK(joined_in_place(parts, width, plane::exponent) == content);
            CHECK(joined_in_place(parts, width, plane::fraction) == content);
        }
    }
}

TEST_CASE("wide instructions leave to the plain loops what they don't do") {
    using namespace plane_kernels;
    using ztensor::detail::join_wide;
    using ztensor::detail::split_wide;
    for (const std::size_t width : {std::size_t{2}, std::size_t{4}}) {
        for (std::size_t count = 0; count <= 100; ++count) {
            const bytes content = as_string(support::noise(count * width, 7));
            const split parts = support::planes::split_of(content, width);
            const placed elements(content, 0), exponents(parts.exponents, 0), fractions(parts.fractions, 0);
            placed made(bytes(count * width, 'x'), 0);
            const std::size_t done =
                join_wide(exponents.data(), fractions.data(), made.writable().data(), width, count);
            CAPTURE(width, count, done);
            CHECK(done <= count);
            CHECK(as_string(made.view()).substr(0, done * width) == content.substr(0, done * width));
            CHECK(as_string(made.view()).substr(done * width) == bytes((count - done) * width, 'x'));
            for (const plane which : {plane::exponent, plane::fraction}) {
                const std::size_t each = plane_bytes(which, width);
                placed half(bytes(count * each, 'x'), 0);
                const std::size_t split_off = split_wide(which, elements.data(), width, half.writable().data(), count);
                const bytes& all = which == plane::exponent ? parts.exponents : parts.fractions;
                CHECK(split_off <= count);
                CHECK(as_string(half.view()).substr(0, split_off * each) == all.substr(0, split_off * each));
            }
        }
    }
}
