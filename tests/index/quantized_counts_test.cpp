// SPDX-License-Identifier: MIT
//
// What the parameters of quantized weights demand of the sizes of the parts, without a file.
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <ztensor/detail/index/layouts.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace {

ztensor::result<ztensor::detail::quantized_counts> counted_parts(const ztensor::shape& dimensions,
                                                                 const std::string& packing, unsigned bits,
                                                                 std::uint64_t group_size, ztensor::dtype word) {
    return ztensor::detail::count_quantized_parts(ztensor::quantization{bits, group_size, packing}, dimensions, word);
}

} // namespace

TEST_CASE("parts of quantized weights are counted by packing and group, up to full words") {
    using ztensor::dtype;
    using ztensor::errc;
    const auto full = counted_parts({6, 64}, "8_per_u32", 4, 32, dtype::u32);
    REQUIRE(full);
    CHECK(full->words == 48);
    CHECK(full->groups == 12);
    CHECK(full->are_known);
    const auto not_full = counted_parts({6, 64}, "8_per_u32", 3, 64, dtype::u32);
    REQUIRE(not_full);
    CHECK(not_full->groups == 6);
    CHECK(counted_parts({6, 64}, "64_per_u64", 1, 1, dtype::u64));
    CHECK(support::refusal(counted_parts({6, 64}, "8_per_u32", 5, 32, dtype::u32)) == errc::quant_packing);
    CHECK(support::refusal(counted_parts({6, 65}, "8_per_u32", 4, 5, dtype::u32)) == errc::quant_packing);
    CHECK(support::refusal(counted_parts({6, 64}, "8_per_u32", 4, 48, dtype::u32)) == errc::quant_group);
    CHECK(support::refusal(counted_parts({6, 64}, "8_per_u32", 4, 32, dtype::i32)) == errc::quant_packing);
    CHECK(support::refusal(counted_parts({}, "8_per_u32", 4, 32, dtype::u32)) == errc::quant_group);
}

TEST_CASE("quantized weights of more than 2^64 elements are refused, whatever their packing") {
    constexpr std::uint64_t half = std::uint64_t{1} << 63;
    const auto counted = counted_parts({half, 2}, "8_per_u32", 4, 1, ztensor::dtype::u32);
    CHECK(support::refusal(counted) == ztensor::errc::shape_overflow);
    const auto unknown = counted_parts({half, 2}, "packed_somehow", 4, 1, ztensor::dtype::u32);
    REQUIRE(unknown);
    CHECK(!unknown->are_known);
}

TEST_CASE("a packing is a number without leading zeros and an integer type") {
    using ztensor::detail::parse_packing;
    for (const char* const text : {"1_per_u8", "8_per_i32", "64_per_u64", "10_per_i16", "99_per_u8"}) {
        CAPTURE(text);
        CHECK(parse_packing(text));
    }
    CHECK(parse_packing("64_per_u64")->per_word == 64);
    CHECK(parse_packing("64_per_u64")->word == ztensor::dtype::u64);
    for (const char* const text :
         {"", "_per_u8", "0_per_u8", "08_per_u8", "100_per_u8", "x_per_u8", "1x_per_u8", ":_per_u8", "/_per_u8",
          "8_per_f32", "8_per_bool", "8_per_", "8_per_u9", "8_per", "8 per u8"}) {
        CAPTURE(text);
        CHECK(!parse_packing(text));
    }
}
