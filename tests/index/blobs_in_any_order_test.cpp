// SPDX-License-Identifier: MIT
//
// Blobs that share bytes are found wherever they lie and however many there are.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/detail/index/part_rules.hpp>
#include <ztensor/error.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

/// An index of one object of a format of its own, whose components lie where `at` says.
support::bytes index_of_blobs(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& at) {
    namespace cbor = support::cbor;
    cbor::map components;
    for (std::size_t i = 0; i < at.size(); ++i) {
        const cbor::map component = {
            {"dtype", cbor::text("u8")}, {"offset", cbor::number(at[i].first)}, {"length", cbor::number(at[i].second)}};
        components.add(cbor::text(std::to_string(i)), component);
    }
    const cbor::map object = {
        {"shape", cbor::array({})}, {"format", cbor::text("p")}, {"components", components.encoded()}};
    return cbor::map{{"version", cbor::text("1.2.0")}, {"objects", cbor::map{{"w", object}}}};
}

/// Files whose blobs end at a multiple of 64; the sizes are those of their place, not of what is stored.
ztensor::result<ztensor::reader> open_with_holes(std::uint64_t blobs_end, const support::bytes& index) {
    const support::bytes tail = index + support::little_endian(index.size(), 8) + support::bytes(support::magic_1);
    return ztensor::reader::from_source(
        std::make_shared<support::source_with_holes>(blobs_end + tail.size(), support::bytes(support::magic_1), tail));
}

using ztensor::detail::blob_range;

/// What an index of so many bytes, whose blobs start at multiples of the alignment, says of them.
bool shares_a_byte(const std::vector<blob_range>& blobs, std::uint64_t blobs_end, std::uint64_t alignment_bytes,
                   std::size_t index_bytes) {
    ztensor::detail::manifest index;
    REQUIRE(index.index.allocate(index_bytes, 0));
    index.alignment_bytes = alignment_bytes;
    index.blobs_end = blobs_end;
    ztensor::detail::object_record object;
    object.component_count = static_cast<std::uint32_t>(blobs.size());
    object.first_component = static_cast<std::uint32_t>(index.components.extend(blobs.size()));
    for (std::size_t i = 0; i < blobs.size(); ++i) {
        ztensor::detail::component_record& component = index.components[object.first_component + i];
        component = {};
        component.offset = blobs[i].offset;
        component.length = blobs[i].length;
    }
    index.objects.push_back(object);
    blob_range first = {};
    blob_range second = {};
    return ztensor::detail::find_overlap(index, first, second);
}

} // namespace

TEST_CASE("blobs at the far end of a file of 2^62 bytes are told from those that share bytes") {
    constexpr std::uint64_t far = std::uint64_t{1} << 61;
    constexpr std::uint64_t blobs_end = 2 * far;
    for (const std::uint64_t distance : {std::uint64_t{64}, far / 2, far - 64}) {
        CAPTURE(distance);
        CHECK(open_with_holes(blobs_end, index_of_blobs({{far + distance, 64}, {64, distance}, {far, distance}})));
        const auto shared =
            open_with_holes(blobs_end, index_of_blobs({{far + distance, 64}, {64, distance}, {far, distance + 1}}));
        CHECK(support::refusal(shared) == ztensor::errc::blob_overlap);
        const auto at_the_end = open_with_holes(blobs_end, index_of_blobs({{blobs_end - 64, 65}, {64, 1}}));
        CHECK(support::refusal(at_the_end) == ztensor::errc::out_of_bounds);
    }
}

TEST_CASE("blobs that share bytes are found where there is no memory to spare for a copy of their places") {
    // Components of 31 bytes each, all of one blob, and empty ones anywhere inside it.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> at(1000, {128, 9});
    at.resize(2000, {64, 0});
    at.resize(3000, {64, 3});
    at.resize(4000, {128, 0});
    const std::uint64_t blobs_end = 256;
    CHECK(open_with_holes(blobs_end, index_of_blobs(at)));
    at.push_back({64, 4}); // as long as none before it
    const auto longer = open_with_holes(blobs_end, index_of_blobs(at));
    REQUIRE(support::refusal(longer) == ztensor::errc::blob_overlap);
    at.back() = {64, 65}; // into the next one
    const auto into_next = open_with_holes(blobs_end, index_of_blobs(at));
    REQUIRE(support::refusal(into_next) == ztensor::errc::blob_overlap);
    CHECK(into_next.error().object() == "w");
}

TEST_CASE("one byte that two of many blobs share is found, whatever their order, distance and the hole behind them") {
    constexpr std::size_t count = 40;
    for (const unsigned shift : {6u, 12u, 17u, 23u, 28u, 34u, 39u, 45u, 50u}) {
        const std::uint64_t distance = std::uint64_t{1} << shift;
        const std::uint64_t blobs_end = (count + 2) * distance;
        const std::uint64_t with_a_hole = std::uint64_t{1} << 57; // before which the blobs are one crowd
        for (std::size_t step : {std::size_t{1}, count - 1, std::size_t{7}, std::size_t{19}}) { // all are prime to it
            std::vector<std::pair<std::uint64_t, std::uint64_t>> at;
            for (std::size_t i = 0; i < count; ++i) {
                at.push_back({(i * step % count + 1) * distance, distance});
            }
            CAPTURE(shift, step);
            for (const std::uint64_t end : {blobs_end, with_a_hole}) {
                CHECK(open_with_holes(end, index_of_blobs(at)));
                for (auto& [offset, length] : at) {
                    if (offset != count * distance) {
                        length = distance + 1;
                        const auto opened = open_with_holes(end, index_of_blobs(at));
                        REQUIRE(support::refusal(opened) == ztensor::errc::blob_overlap);
                        length = distance;
                    }
                }
            }
        }
    }
}

TEST_CASE("one byte that two of many blobs share is found where most are small and a few are large") {
    constexpr std::size_t count = 41;
    constexpr std::uint64_t large = std::uint64_t{1} << 20;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> in_order;
    std::uint64_t blobs_end = 64;
    for (std::size_t i = 0; i < count; ++i) {
        in_order.push_back({blobs_end, i % 8 == 3 ? large : 64});
        blobs_end += in_order.back().second;
    }
    for (const std::size_t step : {std::size_t{1}, count - 1, std::size_t{7}, std::size_t{19}}) {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> at;
        for (std::size_t i = 0; i < count; ++i) {
            at.push_back(in_order[i * step % count]);
        }
        CAPTURE(step);
        CHECK(open_with_holes(blobs_end, index_of_blobs(at)));
        for (auto& [offset, length] : at) {
            if (offset + length != blobs_end) {
                ++length;
                const auto opened = open_with_holes(blobs_end, index_of_blobs(at));
                REQUIRE(support::refusal(opened) == ztensor::errc::blob_overlap);
                --length;
            }
        }
    }
}

TEST_CASE("the last byte of any of many blobs is told from the first of the next, in any order, crowd and alignment") {
    constexpr std::size_t count = 100;
    std::mt19937_64 random(5);
    for (const std::uint64_t alignment : std::vector<std::uint64_t>{1, 2, 32, 64, 128, 4096}) {
        // At the file's start, so that the first two are close together, and where their highest bit decides.
        for (const std::uint64_t start : {alignment, 2 * alignment, (std::uint64_t{1} << 33) - count * alignment}) {
            std::vector<blob_range> blobs;
            std::uint64_t end = start;
            for (std::size_t i = 0; i < count; ++i) {
                const std::uint64_t length = alignment * (1 + random() % 3);
                blobs.push_back({end, length});
                end += length;
            }
            const std::uint64_t last = blobs.back().offset;
            // With a hole around them they are one crowd; without memory to spare only their positions are sorted.
            for (const std::uint64_t blobs_end : {end, end << 20, std::uint64_t{1} << 62}) {
                for (const std::size_t index_bytes : {count * 100, count * 20}) {
                    for (std::size_t i = 0; i < count; ++i) {
                        CAPTURE(alignment, start, blobs_end, index_bytes, i);
                        std::shuffle(blobs.begin(), blobs.end(), random);
                        REQUIRE_FALSE(shares_a_byte(blobs, blobs_end, alignment, index_bytes));
                        ++blobs[i].length;
                        REQUIRE(shares_a_byte(blobs, blobs_end, alignment, index_bytes) == (blobs[i].offset != last));
                        --blobs[i].length;
                    }
                }
            }
        }
    }
}
