// SPDX-License-Identifier: MIT
//
// Blobs of zstd frames put together by hand, large ones that several threads decode and small ones of which a slice is
// read: frames that lie about themselves, that end too early or fail in the middle, in memory and from a source.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/watched_source.hpp"
#include "support/zstd_frames.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/digest.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace large_frames {

using support::bytes;
using support::outcome;
using support::refusal;
using support::sample;
using ztensor::errc;
using ztensor::load_options;
using ztensor::read_options;
using ztensor::reader;
namespace cbor = support::cbor;
namespace zstd = support::zstd;

constexpr std::size_t kib = 1024;

bytes raw_blocks(const bytes& content, bool has_last = true) {
    bytes blocks;
    for (std::size_t at = 0; at < content.size(); at += 100 * kib) {
        blocks += zstd::raw_block(content.substr(at, 100 * kib), has_last && at + 100 * kib >= content.size());
    }
    return blocks;
}

/// One frame that states this size of its content.
bytes stating(std::uint64_t size, const bytes& blocks) {
    return zstd::magic + "\xe0" + support::little_endian(size, 8) + blocks;
}
bytes frame_of(const bytes& content) {
    return stating(content.size(), raw_blocks(content));
}
/// The same with a block of a kind that there is not behind it.
bytes broken_frame_of(const bytes& content) {
    return stating(content.size() + 1, raw_blocks(content, false) + zstd::block(3, 1, "x", true));
}

const bytes large_content = support::counting(600 * kib);

sample file_of_frames(const bytes& blob, std::uint64_t decoded_bytes = large_content.size()) {
    sample file;
    file.zstd_blob(blob, decoded_bytes).dtype("u8").shape({decoded_bytes});
    return file;
}

using u8s = std::vector<std::uint8_t>;

/// What comes of reading all, from memory and from a source that is read, by one thread and by two.
void check_reads(const bytes& blob, errc code, std::uint64_t decoded_bytes = large_content.size()) {
    const bytes whole = file_of_frames(blob, decoded_bytes).file();
    for (const unsigned threads : {1U, 2U}) {
        const read_options options = read_options().threads(threads);
        CHECK(refusal(support::opened(whole, options).read<std::uint8_t>("w")) == code);
        const support::watched seen = support::watch(whole, false, options);
        CHECK(refusal(seen.file.read<std::uint8_t>("w")) == code);
    }
}

} // namespace large_frames

} // namespace

TEST_CASE("a frame of a large blob that can't be decoded ends the reading, whoever decodes it") {
    using namespace large_frames;
    const bytes first = frame_of(large_content.substr(0, 300 * kib)), second = large_content.substr(300 * kib);
    CHECK(support::opened(file_of_frames(first + frame_of(second)).file()).read<std::uint8_t>("w").value() ==
          u8s(large_content.begin(), large_content.end()));
    check_reads(first + broken_frame_of(second.substr(1)), errc::decode_failed);
    check_reads(broken_frame_of(large_content.substr(1, 300 * kib - 1)) + frame_of(second), errc::decode_failed);
    check_reads(stating(large_content.size(), raw_blocks(large_content, false)),
                errc::decode_failed); // no block is the last
    check_reads(first + stating(second.size(), raw_blocks(second, false)), errc::decode_failed);
    const bytes unsized = zstd::frame(raw_blocks(second)); // behind one that states its size
    CHECK(support::opened(file_of_frames(first + unsized).file()).read<std::uint8_t>("w").value() ==
          u8s(large_content.begin(), large_content.end()));
    const bytes small = frame_of(large_content.substr(0, 100 * kib)),
                rest = zstd::frame(raw_blocks(large_content.substr(100 * kib)));
    CHECK(support::opened(file_of_frames(small + rest).file()).read<std::uint8_t>("w").value() ==
          u8s(large_content.begin(), large_content.end()));
    check_reads(first + frame_of(second) + stating(~std::uint64_t{0} - 5, zstd::raw_block("abc")), errc::decode_size);
}

TEST_CASE("a source that fails while the rest of a broken blob is hashed ends the reading with what broke it") {
    using namespace large_frames;
    const bytes blob = "x" + frame_of(large_content) + frame_of(large_content);
    sample file = file_of_frames(blob, 2 * large_content.size());
    file.component("digest", cbor::text("crc32c:00000000"));
    std::size_t failed = 0;
    for (bool is_failing = true; is_failing; failed += is_failing ? 1 : 0) {
        const support::watched seen = support::watch(file.file(), false, read_options().threads(1));
        seen.source->first_failing_read = failed;
        const refusal found(seen.file.read<std::uint8_t>("w"));
        is_failing = seen.source->reads.size() > failed;
        CAPTURE(failed);
        CHECK(found == (!is_failing ? errc::digest_mismatch : failed == 0 ? errc::io_error : errc::decode_failed));
    }
    CHECK(failed > 3);
}

TEST_CASE("frames are taken in turns of what may be staged, small ones together as far as there is room") {
    using namespace large_frames;
    bytes blob;
    for (std::size_t at = 0; at < large_content.size(); at += 200 * kib) {
        blob += frame_of(large_content.substr(at, 200 * kib));
    }
    const bytes whole = file_of_frames(blob).file();
    for (const std::uint64_t most : {500 * kib, 700 * kib, 3000 * kib}) {
        const auto options = load_options().threads(1).max_staging_bytes(most);
        CAPTURE(most);
        const reader in_memory = support::opened(whole);
        const support::watched seen = support::watch(whole);
        for (const reader* const from : {&in_memory, static_cast<const reader*>(&seen.file)}) {
            u8s bytes_of_it(large_content.size());
            CHECK(outcome(ztensor::load_plan(*from).add("w", bytes_of_it).run(options)) == "ok");
            CHECK(std::equal(large_content.begin(), large_content.end(), bytes_of_it.begin(),
                             [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; }));
        }
    }
}

TEST_CASE("of frames that lie about themselves a slice is refused, or is not there") {
    using namespace large_frames;
    const bytes good = frame_of("0123456789");
    const auto rows = [](const bytes& blob, std::uint64_t first, std::uint64_t last) {
        const reader file = support::opened(file_of_frames(blob, 30).file());
        const auto found = file["w"].rows(first, last).read<std::uint8_t>();
        return found ? bytes(found->begin(), found->end()) : outcome(found);
    };
    CHECK(rows(good + good + good, 5, 25) == "56789012345678901234");
    CHECK(rows(good + stating(std::uint64_t{1} << 40, zstd::raw_block("abc")) + good, 15, 16) == "decode_failed");
    CHECK(rows(good + stating(~std::uint64_t{0} - 5, zstd::raw_block("abc")) + good, 15, 16) == "decode_size");
    CHECK(rows(good + stating(10, zstd::block(3, 1, "x", true)) + good, 5, 25) == "decode_failed");
    CHECK(rows(good + stating(10, zstd::block(3, 1, "x", true)) + good, 5, 10) == "56789");
    CHECK(rows(good + good, 5, 25) == "decode_size");
}

TEST_CASE("long runs and runs near each other are read from a file as they are from memory") {
    using namespace large_frames;
    const support::temp_dir directory;
    const auto check = [&](std::uint64_t row_count, std::uint64_t row_bytes, std::uint64_t from, std::uint64_t to) {
        sample file;
        const bytes all = large_content.substr(0, static_cast<std::size_t>(row_count * row_bytes));
        file.dtype("u8").shape({row_count, row_bytes}).blob(all);
        bytes expected;
        for (std::uint64_t i = 0; i < row_count; ++i) {
            expected += all.substr(static_cast<std::size_t>(i * row_bytes + from), static_cast<std::size_t>(to - from));
        }
        for (const support::opening& each : support::open_every_way(file.file(), directory)) {
            CAPTURE(each.way, row_bytes);
            const u8s found = each.file.value()["w"].slice({{0, row_count}, {from, to}}).read<std::uint8_t>().value();
            CHECK(bytes(found.begin(), found.end()) == expected);
        }
    };
    check(400, 1500, 100, 1100); // more of them than are read at once
    check(6, 10000, 1000, 9000);
    check(3, 100, 0, 1);
}
