// SPDX-License-Identifier: MIT
//
// Memory while compressed data is verified, read and loaded: it grows with the threads and the frames, not with the
// blobs, and plans keep to what they are allowed. Measured, not counted by hand.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/zstd_frames.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace {

using support::outcome;
using ztensor::io_mode;
using ztensor::load_options;
using ztensor::load_plan;
using ztensor::read_options;
using ztensor::reader;

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t large_frame = 1024 * kibibyte;

/// Bytes that no encoder makes smaller.
std::vector<std::uint8_t> random_bytes(std::size_t count) {
    std::vector<std::uint8_t> all(count);
    std::uint32_t state = 1;
    for (std::uint8_t& each : all) {
        state = state * 1664525 + 1013904223;
        each = static_cast<std::uint8_t>(state >> 24);
    }
    return all;
}

/// What a thread does that has kept no memory of earlier reads. The pool's threads may have: so this is the most for
/// one thread, and no less than what is new with several.
template <class Work>
std::size_t most_on_a_new_thread(Work&& work) {
    std::size_t most = 0;
    std::thread([&] { most = support::measure_memory(work).most; }).join();
    return most;
}

/// 24 frames of 1 MiB.
void write_large(const std::string& path, const std::vector<std::uint8_t>& content) {
    ztensor::writer out = ztensor::writer::create(path, ztensor::write_options().sync(false)).value();
    out.add("w", {content.size()}, content, ztensor::store().zstd().digest(ztensor::digest::crc32c)).value();
    out.finish().value();
}

} // namespace

TEST_CASE("to verify, read or load a large compressed tensor takes memory by threads and frames, not by its size") {
    if (!support::counts_memory) {
        return;
    }
    const support::temp_dir directory;
    const std::vector<std::uint8_t> content = random_bytes(24 * large_frame);
    const std::string path = (directory / "large").string();
    write_large(path, content);
    std::vector<std::uint8_t> into(content.size());
    for (const io_mode mode : {io_mode::automatic, io_mode::positional}) {
        for (const unsigned threads : {1U, 2U}) {
            CAPTURE(static_cast<int>(mode), threads);
            const reader file = reader::open(path, read_options().mode(mode).threads(threads)).value();
            // Of each thread a frame and what was read beside it, and what one turn carries over to the next.
            const std::size_t bound = (2 * threads + 1) * (large_frame + 512 * kibibyte);
            REQUIRE(bound < content.size() / 2);
            CHECK(most_on_a_new_thread([&] { return outcome(file.verify(threads)); }) < bound);
            CHECK(most_on_a_new_thread([&] { return outcome(file.read_into("w", into)); }) < bound);
            CHECK((into == content));
            CHECK(most_on_a_new_thread([&] {
                      load_plan plan(file);
                      plan.add("w", into);
                      return outcome(plan.run(load_options().threads(threads)));
                  }) < bound);
        }
    }
}

TEST_CASE("compressed blobs below half a MiB count as staging memory, too") {
    const std::vector<std::uint8_t> content = random_bytes(400 * kibibyte);
    ztensor::writer out = ztensor::writer::to_memory().value();
    out.add("w", {content.size()}, content, ztensor::store().zstd()).value(); // one frame
    out.finish().value();
    const support::temp_dir directory;
    support::write_file(directory / "f.zt", support::as_string(out.take_bytes()));
    const reader file = reader::open(directory / "f.zt").value();
    std::vector<std::uint8_t> into(content.size());
    load_plan plan(file);
    plan.add("w", into);
    CHECK(outcome(plan.run(load_options().threads(1).max_staging_bytes(256 * kibibyte))) == "limit_exceeded");
    CHECK(outcome(plan.run(load_options().threads(1).max_staging_bytes(large_frame))) == "ok");
    CHECK((into == content));
}

TEST_CASE("a small blob of many frames is loaded in the staging memory that there is") {
    support::bytes frames, content;
    for (int i = 0; i < 1700; ++i) {
        const support::bytes piece(240, static_cast<char>('a' + i % 26));
        frames += support::zstd::sized_frame(piece, 240);
        content += piece;
    }
    support::sample sample;
    sample.dtype("u8").shape({content.size()}).zstd_blob(frames, content.size());
    const support::temp_dir directory;
    support::write_file(directory / "f", sample.file());
    constexpr std::size_t staging = 128 * kibibyte;
    REQUIRE(frames.size() > 3 * staging);
    for (const io_mode mode : {io_mode::automatic, io_mode::positional}) {
        CAPTURE(static_cast<int>(mode));
        const reader file = reader::open(directory / "f", read_options().mode(mode)).value();
        std::vector<std::uint8_t> into(content.size());
        const std::size_t most = most_on_a_new_thread([&] {
            load_plan plan(file);
            plan.add("w", into);
            return outcome(plan.run(load_options().threads(1).max_staging_bytes(staging)));
        });
        CHECK(support::bytes(into.begin(), into.end()) == content);
        CHECK((!support::counts_memory || most < staging + 16 * kibibyte)); // which the plan itself takes
    }
}

TEST_CASE("a large frame behind small ones is loaded if it fits alone") {
    const std::vector<std::uint8_t> large = random_bytes(100 * kibibyte);
    support::bytes frames, content;
    for (int i = 0; i < 300; ++i) {
        const support::bytes piece(240, static_cast<char>('a' + i % 26));
        frames += support::zstd::sized_frame(piece, 240);
        content += piece;
    }
    ztensor::writer out = ztensor::writer::to_memory().value();
    out.add("w", {large.size()}, large, ztensor::store().zstd()).value();
    out.finish().value();
    const reader one = reader::from_bytes(out.take_bytes()).value();
    const ztensor::bytes_view stored = one.find("w")->data()->bytes().value();
    for (const std::byte each : stored) {
        frames.push_back(static_cast<char>(each));
    }
    content.append(large.begin(), large.end());
    support::sample sample;
    sample.dtype("u8").shape({content.size()}).zstd_blob(frames, content.size());
    const support::temp_dir directory;
    support::write_file(directory / "f", sample.file());
    for (const io_mode mode : {io_mode::automatic, io_mode::positional}) {
        CAPTURE(static_cast<int>(mode));
        const reader file = reader::open(directory / "f", read_options().mode(mode)).value();
        std::vector<std::uint8_t> into(content.size());
        load_plan plan(file);
        plan.add("w", into);
        CHECK(outcome(plan.run(load_options().threads(1).max_staging_bytes(220 * kibibyte))) == "ok");
        CHECK(support::bytes(into.begin(), into.end()) == content);
    }
}
