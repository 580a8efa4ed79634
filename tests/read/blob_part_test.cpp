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

constexpr std::size_t kib = 1024;
const bytes content = support::counting(600 * kib);

bytes raw_blocks(const bytes& of) {
    bytes blocks;
    for (std::size_t at = 0; at < of.size(); at += 100 * kib) {
        blocks += zstd::raw_block(of.substr(at, 100 * kib), at + 100 * kib >= of.size());
    }
    return blocks;
}
bytes frame_of(const bytes& of) {
    return zstd::magic + "\xe0" + support::little_endian(of.size(), 8) + raw_blocks(of);
}
/// Of so many bytes each.
bytes frames_of(std::size_t size) {
    bytes all;
    for (std::size_t at = 0; at < content.size(); at += size) {
        all += frame_of(content.substr(at, size));
    }
    return all;
}

sample file_of(const bytes& blob, const char* type = "u8", std::size_t width = 1) {
    sample file;
    file.zstd_blob(blob, content.size()).dtype(type).shape({content.size() / width});
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
    const reader from = support::opened(file_of(blob).file());
    std::vector<std::uint8_t> elements(content.size());
    load_plan plan(from);
    plan.add("w", elements);
    std::uint32_t sum = 0;
    const result<void> done = load_in_parts(from, plan, ends, sum);
    CHECK((!done || std::equal(content.begin(), content.end(), elements.begin(),
                               [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; })));
    return done ? errc{} : done.error().code();
}

bool can_be_cut(const sample& file) {
    const reader from = support::opened(file.file());
    std::vector<std::uint8_t> elements(content.size());
    load_plan plan(from);
    plan.add("w", elements);
    const auto layout = blob_part::find_layout(from, ztensor::detail::load_plan_access::requests_of(plan)[0]);
    return layout && layout->has_value();
}

} // namespace blob_parts

} // namespace

TEST_CASE("a blob that is decoded in parts gives the same wherever it is cut") {
    using namespace blob_parts;
    const bytes unsized = frame_of(content.substr(0, 100 * kib)) + zstd::frame(raw_blocks(content.substr(100 * kib)));
    const bytes skipped = zstd::skippable_frame("abc") + frames_of(100 * kib) + zstd::skippable_frame("defg");
    for (const bytes& blob : {frames_of(10 * kib), frames_of(200 * kib + 1), frame_of(content), unsized, skipped}) {
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
    for (const std::size_t size : {100 * kib, 100 * kib + 1, 100 * kib + 2}) {
        const bytes blob = frames_of(size);
        const reader from = support::opened(file_of(blob, "i16", 2).file());
        const std::vector<float> expected = from["w"].read_as<float>().value();
        CAPTURE(size);
        CHECK(loaded_in_parts<float>(from, {150000, 400000}, content.size() / 2) == expected);
    }
}

TEST_CASE("raw bytes with a digest are read in parts, too") {
    using namespace blob_parts;
    sample file;
    file.blob(content).dtype("i16").shape({content.size() / 2});
    file.component("digest", cbor::text(ztensor::digest_text(ztensor::digest::crc32c, support::bytes_of(content))));
    const reader from = support::opened(file.file());
    CHECK(loaded_in_parts<float>(from, {1, 150001, 400000}, content.size() / 2) == from["w"].read_as<float>().value());
}

TEST_CASE("the sums of the parts of a blob are combined to that of its digest") {
    using namespace blob_parts;
    const bytes blob = frames_of(100 * kib);
    const std::string digest = ztensor::digest_text(ztensor::digest::crc32c, support::bytes_of(blob));
    for (const bool is_right : {true, false}) {
        sample file = file_of(blob);
        file.component("digest", cbor::text(is_right ? digest : "crc32c:0x00000001"));
        const reader from = support::opened(file.file());
        std::vector<std::uint8_t> elements(content.size());
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
    const bytes first = frame_of(content.substr(0, 300 * kib)), second = content.substr(300 * kib);
    for (const std::uint64_t at : {std::uint64_t{100000}, std::uint64_t{400000}}) {
        CHECK(outcome_in_parts("x" + first + frame_of(second), {at}) == errc::decode_failed);
        CHECK(outcome_in_parts(first + first + first, {at}) == errc::decode_size);              // too much
        CHECK(outcome_in_parts(first + frame_of(second.substr(1)), {at}) == errc::decode_size); // too little
        CHECK(outcome_in_parts(first + frame_of(second) + "abc", {at}) == errc::decode_failed);
        CHECK(outcome_in_parts(first + frame_of(second).substr(0, 250 * kib), {at}) == errc::decode_failed); // cut off
    }
}

TEST_CASE("what has rows of its own, or a digest that can't be combined, is not decoded in parts") {
    using namespace blob_parts;
    const bytes blob = frames_of(100 * kib);
    CHECK(can_be_cut(file_of(blob)));
    sample hashed = file_of(blob);
    hashed.component("digest", cbor::text("sha256:" + std::string(64, '0')));
    CHECK_FALSE(can_be_cut(hashed));
    sample raw;
    raw.blob(content).dtype("u8").shape({content.size()});
    CHECK_FALSE(can_be_cut(raw)); // its rows can be read by themselves
    const reader in_planes = support::reopened({}, [&](ztensor::writer& out) {
        std::vector<float> noise(300 * kib);
        std::uint32_t state = 1;
        for (float& each : noise) {
            state = state * 1664525 + 1013904223;
            each = 1 + static_cast<float>((state ^ state >> 15) & 0x7fffff) / 0x800000;
        }
        out.add("w", {noise.size()}, noise, ztensor::store().planes()).value();
    });
    REQUIRE(in_planes["w"].is_in_planes());
    std::vector<float> elements(300 * kib);
    load_plan plan(in_planes);
    plan.add("w", elements);
    CHECK_FALSE(blob_part::find_layout(in_planes, ztensor::detail::load_plan_access::requests_of(plan)[0]).value());
    raw.component("digest", cbor::text("crc32c:0x00000001"));
    CHECK(can_be_cut(raw));
}
