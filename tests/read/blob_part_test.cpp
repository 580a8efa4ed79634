// SPDX-License-Identifier: MIT
//
// Blobs that are decoded in parts, as several processes do it: wherever they are cut, and whatever
// frames they are of, the parts together give what one reader gives.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/openings.hpp"
#include "support/writing.hpp"
#include "support/zstd_frames.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/digest.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

namespace blob_parts {

using support::bytes;
using support::sample;
using ztensor::errc;
using ztensor::load_plan;
using ztensor::reader;
using ztensor::result;
using ztensor::detail::blob_part;
namespace cbor = support::cbor;
namespace zstd = support::zstd;

constexpr std::size_t kib_bytes = 1024;
const bytes whole_content = support::counting(600 * kib_bytes);

bytes blocks_of(const bytes& of) {
    bytes blocks;
    for (std::size_t at = 0; at < of.size(); at += 100 * kib_bytes) {
        blocks += zstd::raw_block(of.substr(at, 100 * kib_bytes), at + 100 * kib_bytes >= of.size());
    }
    return blocks;
}
bytes one_frame_of(const bytes& of) {
    return zstd::magic + "\xe0" + support::little_endian(of.size(), 8) + blocks_of(of);
}
/// Of so many bytes each.
bytes cut_into_frames(std::size_t size) {
    bytes all;
    for (std::size_t at = 0; at < whole_content.size(); at += size) {
        all += one_frame_of(whole_content.substr(at, size));
    }
    return all;
}

sample file_with(const bytes& blob, const char* type = "u8", std::size_t width = 1) {
    sample file;
    file.zstd_blob(blob, whole_content.size()).dtype(type).shape({whole_content.size() / width});
    return file;
}

/// By as many parts as there are ends, one after the other. Gives the sum of the blob through `sum`.
result<void> load_in_parts(const reader& from, const load_plan& plan, std::vector<std::uint64_t> ends,
                           std::uint32_t& sum) {
    const ztensor::detail::load_request& wanted = ztensor::detail::load_plan_access::requests_of(plan)[0];
    std::vector<std::byte> carried;
    std::uint64_t begin = 0;
    std::uint64_t decoded = 0;
    sum = 0;
    ends.push_back(blob_part::find_layout(from, wanted).value().value().stored_bytes);
    for (const std::uint64_t end : ends) {
        blob_part part = blob_part::make(from, wanted, begin, end).value();
        part.read({}).value();
        sum ^= part.crc32c();
        if (const result<void> joined = part.join(carried, decoded); !joined) {
            return joined;
        }
        if (const result<void> done = part.decode({}); !done) {
            return done;
        }
        carried.assign(part.left_over().begin(), part.left_over().end());
        decoded = part.decoded_end();
        begin = end;
    }
    CHECK(carried.empty());
    return {};
}

template <class T>
std::vector<T> loaded_in_parts(const reader& from, const std::vector<std::uint64_t>& ends, std::size_t count) {
    std::vector<T> elements(count);
    load_plan plan(from);
    plan.add_as("w", elements);
    std::uint32_t sum = 0;
    load_in_parts(from, plan, ends, sum).value();
    return elements;
}

/// What comes of all, cut at these places.
errc outcome_in_parts(const bytes& blob, const std::vector<std::uint64_t>& ends) {
    const reader from = support::opened(file_with(blob).file());
    std::vector<std::uint8_t> elements(whole_content.size());
    load_plan plan(from);
    plan.add("w", elements);
    std::uint32_t sum = 0;
    const result<void> done = load_in_parts(from, plan, ends, sum);
    CHECK((!done || std::equal(whole_content.begin(), whole_content.end(), elements.begin(),
                               [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; })));
    return done ? errc{} : done.error().code();
}

bool can_be_cut(const sample& file) {
    const reader from = support::opened(file.file());
    std::vector<std::uint8_t> elements(whole_content.size());
    load_plan plan(from);
    plan.add("w", elements);
    const auto layout = blob_part::find_layout(from, ztensor::detail::load_plan_access::requests_of(plan)[0]);
    return layout && layout->has_value();
}

} // namespace blob_parts

} // namespace

TEST_CASE("a blob that is decoded in parts gives the same wherever it is cut") {
    using namespace blob_parts;
    const bytes unsized = one_frame_of(whole_content.substr(0, 100 * kib_bytes)) +
                          zstd::frame(blocks_of(whole_content.substr(100 * kib_bytes)));
    const bytes skipped =
        zstd::skippable_frame("abc") + cut_into_frames(100 * kib_bytes) + zstd::skippable_frame("defg");
    for (const bytes& blob : {cut_into_frames(10 * kib_bytes), cut_into_frames(200 * kib_bytes + 1),
                              one_frame_of(whole_content), unsized, skipped}) {
        CHECK(outcome_in_parts(blob, {}) == errc{});
        for (const std::uint64_t at : {std::uint64_t{1}, std::uint64_t{5}, std::uint64_t{17}, std::uint64_t{102415},
                                       std::uint64_t{300000}, std::uint64_t{blob.size() - 1}}) {
            CAPTURE(blob.size(), at);
            CHECK(outcome_in_parts(blob, {at}) == errc{});
            CHECK(outcome_in_parts(blob, {at, at, (at + blob.size()) / 2}) == errc{});
        }
    }
}

TEST_CASE("parts of a blob cut no elements, whatever frames do, and convert their own") {
    using namespace blob_parts;
    for (const std::size_t size : {100 * kib_bytes, 100 * kib_bytes + 1, 100 * kib_bytes + 2}) {
        const bytes blob = cut_into_frames(size);
        const reader from = support::opened(file_with(blob, "i16", 2).file());
        const std::vector<float> expected = from["w"].read_as<float>().value();
        CAPTURE(size);
        CHECK(loaded_in_parts<float>(from, {150000, 400000}, whole_content.size() / 2) == expected);
    }
}

TEST_CASE("raw bytes with a digest are read in parts, too") {
    using namespace blob_parts;
    sample file;
    file.blob(whole_content).dtype("i16").shape({whole_content.size() / 2});
    file.component("digest",
                   cbor::text(ztensor::digest_text(ztensor::digest::crc32c, support::bytes_of(whole_content))));
    const reader from = support::opened(file.file());
    CHECK(loaded_in_parts<float>(from, {1, 150001, 400000}, whole_content.size() / 2) ==
          from["w"].read_as<float>().value());
}

TEST_CASE("the sums of the parts of a blob are combined to that of its digest") {
    using namespace blob_parts;
    const bytes blob = cut_into_frames(100 * kib_bytes);
    const std::string digest = ztensor::digest_text(ztensor::digest::crc32c, support::bytes_of(blob));
    for (const bool is_right : {true, false}) {
        sample file = file_with(blob);
        file.component("digest", cbor::text(is_right ? digest : "crc32c:0x00000001"));
        const reader from = support::opened(file.file());
        std::vector<std::uint8_t> elements(whole_content.size());
        load_plan plan(from);
        plan.add("w", elements);
        std::uint32_t sum = 0;
        CHECK(load_in_parts(from, plan, {1000, 300000}, sum));
        const result<void> checked =
            blob_part::check_crc32c(from, ztensor::detail::load_plan_access::requests_of(plan)[0], sum);
        CHECK((is_right ? checked.has_value() : checked.error().code() == errc::digest_mismatch));
    }
}

TEST_CASE("frames that are broken or lie are found by the part that has them") {
    using namespace blob_parts;
    const bytes first = one_frame_of(whole_content.substr(0, 300 * kib_bytes)),
                second = whole_content.substr(300 * kib_bytes);
    for (const std::uint64_t at : {std::uint64_t{100000}, std::uint64_t{400000}}) {
        CHECK(outcome_in_parts("x" + first + one_frame_of(second), {at}) == errc::decode_failed);
        CHECK(outcome_in_parts(first + first + first, {at}) == errc::decode_size);                  // too much
        CHECK(outcome_in_parts(first + one_frame_of(second.substr(1)), {at}) == errc::decode_size); // too little
        CHECK(outcome_in_parts(first + one_frame_of(second) + "abc", {at}) == errc::decode_failed);
        CHECK(outcome_in_parts(first + one_frame_of(second).substr(0, 250 * kib_bytes), {at}) ==
              errc::decode_failed); // cut off
    }
}

TEST_CASE("what has rows of its own, or a digest that can't be combined, is not decoded in parts") {
    using namespace blob_parts;
    const bytes blob = cut_into_frames(100 * kib_bytes);
    CHECK(can_be_cut(file_with(blob)));
    sample hashed = file_with(blob);
    hashed.component("digest", cbor::text("sha256:" + std::string(64, '0')));
    CHECK_FALSE(can_be_cut(hashed));
    sample raw;
    raw.blob(whole_content).dtype("u8").shape({whole_content.size()});
    CHECK_FALSE(can_be_cut(raw)); // its rows can be read by themselves
    const reader in_planes = support::reopened({}, [&](ztensor::writer& out) {
        std::vector<float> noise(300 * kib_bytes);
        std::uint32_t state = 1;
        for (float& each : noise) {
            state = state * 1664525 + 1013904223;
            each = 1 + static_cast<float>((state ^ state >> 15) & 0x7fffff) / 0x800000;
        }
        out.add("w", {noise.size()}, noise, ztensor::store().planes()).value();
    });
    REQUIRE(in_planes["w"].is_in_planes());
    std::vector<float> elements(300 * kib_bytes);
    load_plan plan(in_planes);
    plan.add("w", elements);
    CHECK_FALSE(blob_part::find_layout(in_planes, ztensor::detail::load_plan_access::requests_of(plan)[0]).value());
    raw.component("digest", cbor::text("crc32c:0x00000001"));
    CHECK(can_be_cut(raw));
}
