// SPDX-License-Identifier: MIT
//
// Compressed blobs as they are written: independent frames of 1 MiB, the same whatever the number of threads and
// however the bytes came, or raw where compressing does not pay.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/refusal.hpp"
#include "support/scripted_sink.hpp"
#include "support/writing.hpp"

#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <zstd.h>

namespace {

using support::byte_vector;
using support::noise;
using support::outcome;
using ztensor::bytes_view;
using ztensor::digest;
using ztensor::dtype;
using ztensor::encoding;
using ztensor::errc;
using ztensor::reader;
using ztensor::result;
using ztensor::store;
using ztensor::write_options;
using ztensor::writer;
using ztensor::detail::zstd_frames;

constexpr std::size_t frame_bytes = zstd_frames::frame_bytes;

/// Bytes of which about half can be saved: no two frames are alike, and each takes a while.
byte_vector halves(std::size_t size) {
    byte_vector content = noise(size);
    for (std::size_t i = 0; i < size; i += 2) {
        content[i] = static_cast<std::byte>(i >> 16);
    }
    return content;
}

struct frame_sizes {
    std::vector<std::size_t> stored;
    std::vector<std::uint64_t> decoded;
};

frame_sizes frames_of(bytes_view stored) {
    frame_sizes sizes;
    while (!stored.empty()) {
        const std::size_t size = ZSTD_findFrameCompressedSize(stored.data(), stored.size());
        REQUIRE_FALSE(ZSTD_isError(size));
        sizes.stored.push_back(size);
        sizes.decoded.push_back(ZSTD_getFrameContentSize(stored.data(), stored.size()));
        stored = stored.subspan(size);
    }
    return sizes;
}

/// As an ordinary decoder sees it, which knows nothing of us.
byte_vector decoded_by_libzstd(bytes_view stored, std::size_t size) {
    byte_vector decoded(size + 1);
    CHECK(ZSTD_decompress(decoded.data(), decoded.size(), stored.data(), stored.size()) == size);
    decoded.resize(size);
    return decoded;
}

byte_vector stored_bytes_of(const reader& file) {
    const ztensor::component_view data = file.find("w").value().data().value();
    byte_vector stored(static_cast<std::size_t>(data.stored_bytes()));
    data.read_stored_into(stored).value();
    return stored;
}

/// The whole file, of one tensor written in pieces of `piece` bytes; 0: by add_bytes().
byte_vector file_of(const byte_vector& content, const store& how, unsigned threads, std::size_t piece = 0) {
    writer out = writer::to_memory(write_options().threads(threads)).value();
    if (piece == 0) {
        out.add_bytes("w", {content.size()}, dtype::u8, content, how).value();
    } else {
        ztensor::tensor_stream stream = out.stream("w", {content.size()}, dtype::u8, how).value();
        for (std::size_t at = 0; at < content.size(); at += piece) {
            stream.append_bytes(bytes_view(content).subspan(at, std::min(piece, content.size() - at))).value();
        }
        stream.finish().value();
    }
    out.finish().value();
    return out.take_bytes();
}

} // namespace

TEST_CASE("a blob is frames of 1 MiB that state their sizes, which any decoder of zstd decodes") {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, frame_bytes - 1, frame_bytes,
                                   frame_bytes + 1, 5 * frame_bytes, 5 * frame_bytes + 123}) {
        CAPTURE(size);
        const byte_vector content = halves(size);
        const reader file = reader::from_bytes(file_of(content, store().zstd(), 2)).value();
        const byte_vector stored = stored_bytes_of(file);
        std::vector<std::uint64_t> expected(size / frame_bytes, frame_bytes);
        if (size % frame_bytes != 0 || size == 0) {
            expected.push_back(size % frame_bytes);
        }
        CHECK(frames_of(stored).decoded == expected);
        CHECK((decoded_by_libzstd(stored, size) == content));
        CHECK((file.read<std::byte>("w").value() == content));
    }
}

TEST_CASE("what repeats itself becomes as small as libzstd makes it, be it weights, rows, blocks or noise") {
    const auto repeated = [](const byte_vector& block, std::size_t times) {
        byte_vector content;
        for (; times != 0; --times) {
            content.insert(content.end(), block.begin(), block.end());
        }
        return content;
    };
    byte_vector rows;
    for (std::size_t row = 0; row < 64; ++row) { // each four times, one after the other
        byte_vector one = noise(4096);
        std::for_each(one.begin(), one.end(), [&](std::byte& each) { each ^= static_cast<std::byte>(row); });
        const byte_vector four = repeated(one, 4);
        rows.insert(rows.end(), four.begin(), four.end());
    }
    const byte_vector contents[] = {
        rows,          repeated(noise(frame_bytes / 2), 2), halves(frame_bytes), byte_vector(frame_bytes),
        noise(100000), repeated(noise(1000), 100),
    };
    for (const byte_vector& content : contents) {
        byte_vector room(ZSTD_compressBound(content.size()));
        const std::size_t by_libzstd = ZSTD_compress(room.data(), room.size(), content.data(), content.size(), 1);
        REQUIRE_FALSE(ZSTD_isError(by_libzstd));
        const reader file = reader::from_bytes(file_of(content, store().zstd(1), 2)).value();
        CAPTURE(content.size(), by_libzstd);
        CHECK(stored_bytes_of(file).size() <= by_libzstd + by_libzstd / 50 + 16);
    }
}

TEST_CASE("the file is the same whatever the number of threads and however the bytes came") {
    const byte_vector content = halves(7 * frame_bytes + 4321);
    for (const int level : {1, 3}) {
        const store how = store().zstd(level).digest(digest::sha256);
        const byte_vector expected = file_of(content, how, 1);
        const reader file = reader::from_bytes(bytes_view(expected)).value();
        CHECK(file.verify().value().complete());
        for (const unsigned threads : {0u, 1u, 2u, 3u, 8u}) {
            for (const std::size_t piece : {std::size_t{0}, std::size_t{100000}, frame_bytes, 3 * frame_bytes + 7}) {
                CAPTURE(level, threads, piece);
                CHECK((file_of(content, how, threads, piece) == expected));
            }
        }
    }
}

TEST_CASE("encoders are kept from blob to blob, and a blob that failed spoils none after it") {
    zstd_frames frames(2);
    const byte_vector content = halves(3 * frame_bytes);
    byte_vector taken;
    int takes_left = 1;
    const auto take = [&](bytes_view bytes) -> result<void> {
        if (takes_left-- == 0) {
            return ztensor::error(errc::io_error, "the disk is full");
        }
        taken.insert(taken.end(), bytes.begin(), bytes.end());
        return {};
    };
    const ztensor::detail::byte_consumer out = {
        const_cast<void*>(static_cast<const void*>(&take)),
        [](void* owner, bytes_view bytes) { return (*static_cast<decltype(take)*>(owner))(bytes); }};
    frames.begin({1}, 0);
    CHECK(outcome(frames.encode(content, true, out)) == "io_error");
    CHECK(takes_left == -1); // and none after it
    taken.clear();
    takes_left = 100;
    frames.begin({1}, 0);
    REQUIRE(frames.encode(content, true, out));
    CHECK((decoded_by_libzstd(taken, content.size()) == content));
}

TEST_CASE("a thread keeps an encoder from writer to writer, unless it takes much memory") {
    const auto kept = [] {
        return ztensor::detail::this_thread()
            .kept[static_cast<std::size_t>(ztensor::detail::kept_kind::zstd_encoder)]
            .object;
    };
    const byte_vector content = halves(3000);
    const auto write = [&](writer& out, int level) {
        out.add_bytes(std::to_string(level), {content.size()}, dtype::u8, content, store().zstd(level)).value();
    };
    const void* first = nullptr;
    {
        writer out = writer::to_memory().value();
        write(out, 1);
        CHECK(kept() == nullptr); // it has what there was
    }
    first = kept();
    REQUIRE(first != nullptr);
    {
        writer out = writer::to_memory().value();
        writer other = writer::to_memory().value();
        CHECK(kept() == first);
        write(out, 1);
        write(other, 1);
        CHECK(kept() == nullptr);
    }
    CHECK(kept() != nullptr);
    const byte_vector large = halves(2 * frame_bytes);
    {
        writer out = writer::to_memory(write_options().threads(1)).value();
        out.add_bytes("w", {large.size()}, dtype::u8, large, store().zstd(19)).value();
    }
    CHECK(kept() == nullptr);
}

TEST_CASE("whichever frame can't be stored, the writer is closed and nothing is published") {
    const byte_vector content = halves(6 * frame_bytes);
    support::sink_log whole;
    {
        writer out = writer::to_sink(std::make_unique<support::scripted_sink>(whole)).value();
        out.add_bytes("w", {content.size()}, dtype::u8, content, store().zstd()).value();
        out.finish().value();
    }
    for (std::size_t failing = 1; failing < whole.writes; ++failing) {
        CAPTURE(failing);
        support::sink_log log;
        writer out =
            writer::to_sink(std::make_unique<support::scripted_sink>(log, failing), write_options().threads(3)).value();
        const result<void> added = out.add_bytes("w", {content.size()}, dtype::u8, content, store().zstd());
        const result<void> finished = out.finish();
        CHECK(outcome(added ? finished : added) == "io_error");
        CHECK_FALSE(log.is_published);
        CHECK(log.calls_after_failure == 0);
    }
}

#if ZTENSOR_HAS_EXCEPTIONS
TEST_CASE("what a sink throws between two frames reaches the caller, when all threads are done") {
    class throwing_sink final : public ztensor::byte_sink {
    public:
        result<void> write(bytes_view bytes) override {
            if (bytes.size() > 100) {
                throw std::runtime_error("no network");
            }
            return {};
        }
        result<void> finish() override { return {}; }
    };
    const byte_vector content = halves(4 * frame_bytes);
    writer out = writer::to_sink(std::make_unique<throwing_sink>(), write_options().threads(2)).value();
    CHECK_THROWS_AS(static_cast<void>(out.add_bytes("w", {content.size()}, dtype::u8, content, store().zstd())),
                    std::runtime_error);
    CHECK(outcome(out.finish()) == "writer_closed");
}
#endif

TEST_CASE("compressed where that pays, and raw where the first MiB says that it does not") {
    const byte_vector dense = noise(2 * frame_bytes + 99);
    const byte_vector half = halves(2 * frame_bytes + 99);
    byte_vector changes = half; // judged by its beginning, as the documentation has it
    std::copy(dense.begin() + frame_bytes, dense.end(), changes.begin() + frame_bytes);
    struct expectation {
        const byte_vector& content;
        store how;
        encoding stored_as;
    };
    const std::vector<expectation> all = {{dense, store().zstd_if_smaller(), encoding::raw},
                                          {half, store().zstd_if_smaller(), encoding::zstd},
                                          {changes, store().zstd_if_smaller(), encoding::zstd},
                                          {half, store().zstd_if_smaller(1, 0.25), encoding::raw},
                                          {dense, store().zstd_if_smaller(1, 1.5), encoding::zstd},
                                          {dense, store().zstd(), encoding::zstd},
                                          {dense, store().zstd_if_smaller().zstd(), encoding::zstd}};
    for (const expectation& each : all) {
        for (const std::size_t size : {std::size_t{1000}, frame_bytes, each.content.size()}) {
            const byte_vector content(each.content.begin(), each.content.begin() + static_cast<std::ptrdiff_t>(size));
            store how = each.how;
            how.digest(digest::crc32c);
            const byte_vector expected = file_of(content, how, 1);
            for (const std::size_t piece : {std::size_t{0}, std::size_t{70000}}) {
                CAPTURE(size, piece, each.how.most_of_raw());
                const byte_vector found = file_of(content, how, 2, piece);
                CHECK((found == expected));
                const reader file = reader::from_bytes(bytes_view(found)).value();
                CHECK(file.find("w").value().data().value().encoding() == each.stored_as);
                CHECK((file.read<std::byte>("w").value() == content)); // verifies the digest, too
            }
        }
    }
    const byte_vector nothing;
    const byte_vector empty = file_of(nothing, store().zstd_if_smaller(), 1);
    const reader file = reader::from_bytes(bytes_view(empty)).value();
    CHECK(file.find("w").value().data().value().encoding() == encoding::raw);
}

TEST_CASE("memory while compressing grows with the threads, not with the tensor") {
    if (!support::counts_memory) {
        return;
    }
    class dropping_sink final : public ztensor::byte_sink {
    public:
        result<void> write(bytes_view) override { return {}; }
        result<void> finish() override { return {}; }
    };
    const byte_vector content = halves(24 * frame_bytes);
    for (const unsigned threads : {1u, 2u}) {
        for (const bool is_stream : {false, true}) {
            CAPTURE(threads, is_stream);
            const support::memory_use use = support::measure_memory([&] {
                writer out =
                    writer::to_sink(std::make_unique<dropping_sink>(), write_options().threads(threads)).value();
                if (is_stream) {
                    ztensor::tensor_stream stream =
                        out.stream("w", {content.size()}, dtype::u8, store().zstd()).value();
                    stream.append_bytes(bytes_view(content).first(1000)).value();
                    stream.append_bytes(bytes_view(content).subspan(1000)).value();
                    stream.finish().value();
                } else {
                    out.add_bytes("w", {content.size()}, dtype::u8, content, store().zstd()).value();
                }
                return out.finish();
            });
            CHECK(use.most < (3 * threads + 3) * (frame_bytes + 8192)); // libzstd's own memory is not counted
        }
    }
}
