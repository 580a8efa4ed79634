// SPDX-License-Identifier: MIT
//
// Parts of tensors: what they hold, and which bytes of the file are read for them.
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/watched_source.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/detail/codec/zstd.hpp>
#include <ztensor/reader.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <zstd.h>

namespace {

using support::bytes;
using support::merged;
using support::outcome;
using support::read_range;
using support::read_ranges;
using support::sample;
using support::watch;
using support::watched;
using ztensor::errc;
using ztensor::index_range;
using ztensor::span;
namespace cbor = support::cbor;
namespace zstd = support::zstd;

bytes one_frame(std::string_view content) {
    bytes out(ZSTD_compressBound(content.size()), '\0');
    out.resize(ZSTD_compress(out.data(), out.size(), content.data(), content.size(), 1));
    return out;
}

struct framed {
    bytes blob;
    std::vector<read_range> frames; ///< in the file, whose one blob starts at 64
};

/// Frames of `frame_bytes` of the content each.
framed in_frames(std::string_view content, std::size_t frame_bytes) {
    framed out;
    for (std::size_t at = 0; at < content.size(); at += frame_bytes) {
        const bytes frame = one_frame(content.substr(at, frame_bytes));
        out.frames.push_back({64 + out.blob.size(), frame.size()});
        out.blob += frame;
    }
    return out;
}

/// "w" of these dimensions, u16, with the numbers 0, 1, 2, …
std::vector<std::uint16_t> numbers(std::size_t count) {
    std::vector<std::uint16_t> out(count);
    for (std::size_t i = 0; i < count; ++i) {
        out[i] = static_cast<std::uint16_t>(i);
    }
    return out;
}

sample raw_numbers(const std::vector<std::uint64_t>& dimensions, std::size_t count) {
    return sample().dtype("u16").shape(dimensions).blob(support::little_endian(numbers(count)));
}

std::vector<std::uint16_t> expected_slice(const std::vector<std::uint64_t>& dimensions,
                                          const std::vector<index_range>& ranges) {
    std::vector<std::uint64_t> places = {0};
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
        std::vector<std::uint64_t> finer;
        for (const std::uint64_t place : places) {
            for (std::uint64_t k = ranges[i].begin; k < ranges[i].end; ++k) {
                finer.push_back(place * dimensions[i] + k);
            }
        }
        places = finer;
    }
    return support::as<std::uint16_t>(places);
}

} // namespace

TEST_CASE("slices of any rank hold what indexing gives, raw and compressed, from every kind of source") {
    std::mt19937 random(7);
    const support::temp_dir directory;
    for (int round = 0; round < 60; ++round) {
        std::vector<std::uint64_t> dimensions;
        std::vector<index_range> ranges;
        std::size_t count = 1;
        for (auto rank = random() % 5; rank != 0; --rank) {
            const std::uint64_t size = 1 + random() % 6;
            const std::uint64_t begin = random() % (size + 1);
            const std::uint64_t end = begin + random() % (size - begin + 1);
            const bool is_whole = random() % 3 == 0;
            dimensions.push_back(size);
            ranges.push_back(is_whole ? index_range{0, size} : index_range{begin, end});
            count *= static_cast<std::size_t>(size);
        }
        const bytes content = support::little_endian(numbers(count));
        const std::vector<std::uint16_t> expected = expected_slice(dimensions, ranges);
        const bytes unsized = zstd::frame(zstd::raw_block(content));
        const std::vector<bytes> blobs = {in_frames(content, 10).blob,
                                          in_frames(content, 7).blob,
                                          one_frame(content),
                                          unsized,
                                          zstd::skippable_frame("x") + in_frames(content, 64).blob,
                                          one_frame(content.substr(0, 2)) + zstd::frame_of(content.substr(2))};
        std::vector<bytes> files = {raw_numbers(dimensions, count).file()};
        for (const bytes& blob : blobs) {
            files.push_back(sample().dtype("u16").shape(dimensions).zstd_blob(blob, content.size()).file());
        }
        for (std::size_t i = 0; i < files.size(); ++i) {
            for (const support::opening& each : support::open_every_way(files[i], directory)) {
                CAPTURE(round, i, each.way, count);
                const ztensor::reader& file = each.file.value();
                const ztensor::slice wanted{span<const index_range>(ranges)};
                CHECK(file["w"].slice(wanted).read<std::uint16_t>().value() == expected);
                std::vector<std::uint16_t> into(expected.size());
                REQUIRE(outcome(file["w"].slice(wanted).read_into(into)) == "ok");
                CHECK(into == expected);
                CHECK(file["w"].slice(wanted).read<std::byte>().value().size() == 2 * expected.size());
            }
        }
    }
}

TEST_CASE("slices of raw data read their bytes and no others, neighbours at once") {
    const watched seen = watch(raw_numbers({6, 4, 10}, 240).file());
    const auto reads_of = [&](std::vector<index_range> ranges) {
        seen.source->reads.clear();
        CHECK(outcome(seen.file["w"].slice(span<const index_range>(ranges)).read<std::uint16_t>()) == "ok");
        return seen.source->reads;
    };
    CHECK(reads_of({{1, 2}, {0, 4}, {0, 10}}) == read_ranges{{64 + 80, 80}});
    CHECK(reads_of({{1, 3}, {0, 4}, {0, 10}}) == read_ranges{{64 + 80, 160}});
    CHECK(reads_of({{1, 3}, {1, 3}, {0, 10}}) == read_ranges{{64 + 100, 40}, {64 + 180, 40}});
    CHECK(reads_of({{2, 3}, {1, 3}, {4, 6}}) == read_ranges{{64 + 188, 4}, {64 + 208, 4}});
    CHECK(reads_of({{2, 2}, {1, 3}, {4, 6}}).empty());
}

TEST_CASE("of several frames only those are read in which something is wanted, and the heads of those before") {
    const bytes content = support::as_string(support::noise(64 * 1024)); // incompressible: frames are as large as it
    const framed stored = in_frames(content, 8 * 1024);
    const bytes file = sample().dtype("u8").shape({64, 1024}).zstd_blob(stored.blob, content.size()).file();
    const watched seen = watch(file);
    const auto rows = [&](std::uint64_t first, std::uint64_t last) {
        seen.source->reads.clear();
        const std::vector<std::uint8_t> read = seen.file["w"].rows(first, last).read<std::uint8_t>().value();
        CHECK(support::memory_of(read) ==
              content.substr(static_cast<std::size_t>(first) * 1024, static_cast<std::size_t>(last - first) * 1024));
        std::uint64_t read_bytes = 0;
        for (const read_range& each : seen.source->reads) {
            read_bytes += each.length;
        }
        return read_bytes;
    };
    const std::uint64_t frame = stored.frames[0].length; // all are alike
    const std::uint64_t head = 18 + 3;
    CHECK(rows(0, 1) == head + frame);
    CHECK(rows(9, 10) == 2 * head + frame);
    CHECK(rows(7, 9) == 2 * head + 2 * frame);
    CHECK(rows(63, 64) == 8 * head + frame);
    CHECK(rows(5, 5) == 0);
    std::vector<std::uint8_t> into(2 * 1024);
    CHECK(outcome(seen.file["w"].rows(20, 22).read_into(into)) == "ok");
    CHECK(support::memory_of(into) == content.substr(20 * 1024, 2 * 1024));
}

TEST_CASE("a frame that lies about itself is found out when it is read") {
    const bytes content = support::counting(4096);
    const bytes good = in_frames(content, 1024).blob;
    const auto reads = [&](const bytes& blob) {
        const bytes file = sample().dtype("u8").shape({4096}).zstd_blob(blob, 4096).file();
        const ztensor::reader opened = support::opened(file);
        return outcome(opened["w"].rows(1024, 1025).read<std::uint8_t>());
    };
    CHECK(reads(good) == "ok");
    CHECK(reads(good.substr(0, good.size() / 8)) == "decode_failed");
    CHECK(reads(zstd::sized_frame("0123", 5) + good) == "ok"); // not touched
    CHECK(reads(in_frames(content.substr(0, 1024), 1024).blob + zstd::sized_frame("0123", 5)) != "ok");
    CHECK(reads(in_frames(content.substr(0, 512), 512).blob + in_frames(content.substr(0, 512), 512).blob) ==
          "decode_size");
}

TEST_CASE("slices that are not there, or of another size, are refused") {
    const ztensor::reader file = support::opened(raw_numbers({3, 4}, 12).file());
    const auto read = [&](const ztensor::slice& ranges) {
        return outcome(file["w"].slice(ranges).read<std::uint16_t>());
    };
    CHECK(read({{0, 3}, {0, 4}}) == "ok");
    CHECK(read({{0, 3}}) == "invalid_argument");
    CHECK(read({{0, 3}, {0, 4}, {0, 1}}) == "invalid_argument");
    CHECK(read({{0, 3}, {0, 5}}) == "out_of_bounds");
    CHECK(read({{2, 1}, {0, 4}}) == "out_of_bounds");
    CHECK(outcome(file["w"].slice({{0, 3}, {0, 4}}).read<float>()) == "type_mismatch");
    std::vector<std::uint16_t> five(5);
    CHECK(outcome(file["w"].slice({{0, 3}, {0, 2}}).read_into(five)) == "size_mismatch");
    CHECK(outcome(file["w"].rows(0, 1).read_into(five)) == "size_mismatch");
    CHECK(outcome(file["w"].rows(0, 4).read_into(five)) == "out_of_bounds");
    CHECK(file["w"].slice({{0, 9}, {0, 4}}).read<std::uint16_t>().error().object() == "w");
}

TEST_CASE("bools that can't be read into the caller's memory leave none but 0 and 1 there") {
    const ztensor::reader file = support::opened(sample().dtype("bool").shape({4}).blob(bytes("\1\0\2\1", 4)).file());
    bool into[2] = {true, true};
    CHECK(outcome(file["w"].slice({{1, 3}}).read_into(into)) == "bad_bool");
    CHECK(!into[0]);
    CHECK(!into[1]);
}
