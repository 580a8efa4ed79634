// SPDX-License-Identifier: MIT
//
// The frames of a blob found by their heads alone, and the table of seekable zstd: wherever they are cut off or say
// what can't be, nothing leads out of the blob.
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/zstd_frames.hpp"

#include <ztensor/detail/codec/zstd.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace frame_heads {

using support::bytes;
using support::refusal;
using ztensor::errc;
using ztensor::result;
using ztensor::detail::frame_walker;
using ztensor::detail::seek_footer;
using ztensor::detail::seek_table;
namespace zstd = support::zstd;

/// How many frames there are, found with no more of the blob than is asked for.
result<std::size_t> count_frames(const bytes& blob) {
    frame_walker walker(blob.size());
    std::size_t count = 0;
    while (!walker.is_at_end()) {
        const support::byte_vector head =
            support::to_vector(blob.substr(static_cast<std::size_t>(walker.next()), walker.head_bytes()));
        const result<bool> is_frame = walker.take(head.data());
        if (!is_frame) {
            return is_frame.error();
        }
        count += *is_frame ? 1 : 0;
    }
    return count;
}

/// A seek table without checksums: of each frame its stored bytes and what it decodes to.
bytes table_of(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& frames) {
    bytes entries;
    for (const auto& [stored, decoded] : frames) {
        entries += support::little_endian(stored, 4) + support::little_endian(decoded, 4);
    }
    const bytes footer =
        support::little_endian(frames.size(), 4) + bytes(1, '\0') + support::little_endian(0x8F92EAB1, 4);
    return support::little_endian(0x184D2A5E, 4) + support::little_endian(entries.size() + footer.size(), 4) + entries +
           footer;
}

result<void> read_table(seek_table& found, const bytes& table, std::uint64_t frames_bytes,
                        std::uint64_t decoded_bytes) {
    const support::byte_vector content = support::to_vector(table);
    const ztensor::bytes_view all(content);
    const result<seek_footer> footer = ztensor::detail::read_seek_footer(all.last(ztensor::detail::seek_footer_bytes));
    if (!footer) {
        return footer.error();
    }
    return found.read(all, *footer, frames_bytes + table.size(), decoded_bytes);
}
std::string outcome_of(const bytes& table, std::uint64_t frames_bytes, std::uint64_t decoded_bytes) {
    seek_table found;
    return support::outcome(read_table(found, table, frames_bytes, decoded_bytes));
}

} // namespace frame_heads

} // namespace

TEST_CASE("frames are found by their heads, and none is where the blob is cut off") {
    using namespace frame_heads;
    const bytes frame =
        zstd::frame(zstd::raw_block("abc", false) + zstd::run_block(100, 'x', false) + zstd::raw_block("de"));
    const bytes blob = frame + zstd::skippable_frame("anything") + zstd::sized_frame("abc", 3);
    CHECK(count_frames(blob).value() == 3);
    const bytes with_checksum = zstd::magic + "\x24\x01" + zstd::raw_block("x") + "sum!";
    CHECK(count_frames(with_checksum + frame).value() == 2);
    const std::size_t first_end = frame.size(), second_end = first_end + zstd::skippable_frame("anything").size();
    std::size_t broken = 0;
    for (std::size_t size = 1; size < blob.size(); ++size) {
        CAPTURE(size);
        const result<std::size_t> count = count_frames(blob.substr(0, size));
        const std::size_t whole = (size >= first_end ? 1U : 0U) + (size >= second_end ? 1U : 0U);
        CHECK((count ? *count == whole : count.error().code() == errc::decode_failed));
        broken += count ? 0 : 1;
    }
    CHECK(broken == blob.size() - 1 - 2 - 4); // at the end of two frames, and of four blocks and heads inside of frames
    for (std::size_t less = 1; less < with_checksum.size(); ++less) {
        CHECK(refusal(count_frames(with_checksum.substr(less))) == errc::decode_failed);
    }
}

TEST_CASE("a seek table says where frames lie, if it counts them as they are") {
    using namespace frame_heads;
    seek_table table;
    CHECK(table.frames() == 0);
    REQUIRE(read_table(table, table_of({{10, 100}, {20, 100}, {5, 7}}), 35, 207));
    REQUIRE(table.frames() == 3);
    CHECK(table.begin(2) == 30);
    CHECK(table.end(2) == 35);
    CHECK(table.content_bytes(2) == 7);
    CHECK(table.frame_at(0) == 0);
    CHECK(table.frame_at(99) == 0);
    CHECK(table.frame_at(206) == 2);
    seek_table of_nothing;
    REQUIRE(read_table(of_nothing, table_of({{9, 0}}), 9, 0));
    CHECK(of_nothing.frame_at(0) == 0);
    CHECK(of_nothing.content_bytes(0) == 0);
    CHECK(outcome_of(table_of({}), 0, 0) == "ok");

    CHECK(outcome_of(table_of({{9, 0}, {9, 0}}), 18, 0) == "decode_failed"); // only the last may be empty
    CHECK(outcome_of(table_of({{9, 5}, {9, 4}, {9, 5}}), 27, 14) == "decode_failed");
    CHECK(outcome_of(table_of({{9, (16 << 20) + 1}}), 9, (16 << 20) + 1) == "decode_failed");
    CHECK(outcome_of(table_of({{9, 5}}), 10, 5) == "decode_failed");
    CHECK(outcome_of(table_of({{9, 5}}), 9, 6) == "decode_size");
    const bytes good = table_of({{9, 5}});
    const auto with = [&](std::size_t position, char value) {
        bytes changed = good;
        changed[position] = value;
        return outcome_of(changed, 9, 5);
    };
    CHECK(with(0, '\x5d') == "decode_failed");               // another kind of skippable frame
    CHECK(with(4, '\x12') == "decode_failed");               // of another size
    CHECK(with(good.size() - 5, '\x04') == "decode_failed"); // a bit that is reserved
    CHECK(with(good.size() - 1, '\x00') == "decode_failed"); // the magic
}

TEST_CASE("a frame of seekable zstd is one frame of its size, with a checksum") {
    using namespace frame_heads;
    const auto check = [](const bytes& stored) {
        const support::byte_vector content = support::to_vector(stored);
        return support::outcome(ztensor::detail::check_seekable_frame(content));
    };
    const bytes frame = zstd::magic + "\x24\x01" + zstd::raw_block("x") + "sum!";
    CHECK(check(frame) == "ok");
    for (const bytes& other : {bytes(), zstd::magic, frame.substr(1), frame.substr(0, frame.size() - 1), frame + frame,
                               zstd::skippable_frame("abc"), zstd::sized_frame("x", 1)}) {
        CAPTURE(other.size());
        CHECK(check(other) == "decode_failed");
    }
}

TEST_CASE("frames decode piece by piece, however small the pieces are") {
    using namespace frame_heads;
    const bytes content(1000, 'x');
    const support::byte_vector stored = support::to_vector(
        zstd::frame(zstd::raw_block("abc", false) + zstd::run_block(1000, 'x')) + zstd::frame_of("z"));
    for (const std::uint64_t decoded_bytes : {std::uint64_t{1004}, std::uint64_t{1} << 40}) {
        ztensor::detail::zstd_stream stream;
        REQUIRE(stream.start(decoded_bytes));
        bytes decoded;
        std::size_t given = 0; // of what is stored, a byte at a time
        ztensor::bytes_view rest;
        while (decoded.size() < 1004) {
            std::byte piece[7];
            const std::size_t made =
                stream.decode(rest, ztensor::span<std::byte>(piece, std::min<std::size_t>(7, 1004 - decoded.size())))
                    .value();
            decoded += support::as_string(ztensor::bytes_view(piece, made));
            if (made == 0) {
                REQUIRE(given < stored.size());
                ++given;
                rest = ztensor::bytes_view(stored).subspan(given - 1 - rest.size(), rest.size() + 1);
            }
        }
        CHECK(decoded == "abc" + content + "z");
    }
}

TEST_CASE("a frame is refused piece by piece as it is as a whole") {
    using namespace frame_heads;
    const auto decode = [](const bytes& blob) {
        const support::byte_vector stored = support::to_vector(blob);
        ztensor::detail::zstd_stream stream;
        REQUIRE(stream.start(100));
        ztensor::bytes_view rest(stored);
        std::byte piece[100];
        return support::outcome(stream.decode(rest, ztensor::span<std::byte>(piece)));
    };
    CHECK(decode(zstd::frame_of("abc")) == "ok");
    CHECK(decode(zstd::frame(zstd::block(3, 1, "x", true))) == "decode_failed"); // a kind of block that there is not
    CHECK(decode(zstd::frame(zstd::raw_block("abc"), 30)) == "limit_exceeded");
    CHECK(decode("abcdefgh") == "decode_failed");
}
