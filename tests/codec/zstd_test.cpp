// SPDX-License-Identifier: MIT
//
// zstd blobs: frames of every kind, right and wrong, against sizes of every kind. Frames come from libzstd itself or
// from bytes put together by hand.
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/detail/codec/zstd.hpp>
#include <ztensor/detail/base/bytes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <zstd.h>

namespace {

using support::as_string;
using support::bytes;
using support::outcome;
using support::repeated;
using support::to_vector;
using ztensor::bytes_view;
using ztensor::errc;
using ztensor::result;
using ztensor::detail::decode_zstd;
using ztensor::detail::decode_zstd_within;
using ztensor::detail::zstd_encoder;
namespace zstd = support::zstd;

/// Text that compresses, but not to nothing.
bytes sample_text(std::size_t size) {
    bytes text;
    for (std::uint32_t state = 1; text.size() < size;) {
        state = state * 1664525u + 1013904223u;
        text += "word" + std::to_string(state >> 26) + ' ';
    }
    text.resize(size);
    return text;
}

struct frame_options {
    int level = 3;
    bool states_size = true;
    bool has_checksum = false;
    std::string_view dictionary = {};
};

/// One frame, made by libzstd.
bytes frame_of(const bytes& content, const frame_options& options = {}) {
    ZSTD_CCtx* const context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, options.level);
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, options.states_size ? 1 : 0);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, options.has_checksum ? 1 : 0);
    ZSTD_CCtx_loadDictionary(context, options.dictionary.data(), options.dictionary.size());
    bytes out(ZSTD_compressBound(content.size()), '\0');
    const std::size_t size = ZSTD_compress2(context, out.data(), out.size(), content.data(), content.size());
    REQUIRE_FALSE(ZSTD_isError(size));
    ZSTD_freeCCtx(context);
    out.resize(size);
    return out;
}

struct decoding {
    std::string outcome;
    bytes content;
};

/// Decodes into memory of exactly `size` bytes, so that a sanitizer sees a byte too many.
decoding decode(const bytes& stored, std::size_t size) {
    const std::vector<std::byte> input = to_vector(stored);
    std::vector<std::byte> output(size);
    const result<void> decoded = decode_zstd(input, output);
    return {outcome(decoded), bytes(ztensor::detail::as_text(output))};
}

/// The same where the size is not known.
decoding decode_within(const bytes& stored, std::uint64_t limit) {
    const std::vector<std::byte> input = to_vector(stored);
    ztensor::detail::byte_buffer output;
    const result<std::size_t> decoded = decode_zstd_within(input, limit, output);
    return {outcome(decoded), decoded ? as_string(output.bytes().first(*decoded)) : bytes()};
}

/// Both ways must answer alike where the size is right.
void check_decodes(const bytes& stored, const bytes& content) {
    const decoding sized = decode(stored, content.size());
    CHECK(sized.outcome == "ok");
    CHECK(sized.content == content);
    const decoding unsized = decode_within(stored, 1 << 24);
    CHECK(unsized.outcome == "ok");
    CHECK(unsized.content == content);
}

void check_fails(const bytes& stored, std::size_t size) {
    CHECK(decode(stored, size).outcome == "decode_failed");
    CHECK(decode_within(stored, 1 << 24).outcome == "decode_failed");
}

const bytes text = sample_text(20000);

} // namespace

// -- decoding

TEST_CASE("a frame decodes whether or not it states its size") {
    for (const std::size_t size : {0u, 1u, 100u, 4096u, 8192u, 20000u}) {
        CAPTURE(size);
        const bytes content = text.substr(0, size);
        check_decodes(frame_of(content), content);
        check_decodes(frame_of(content, {3, false, false, {}}), content);
        check_decodes(frame_of(content, {19, false, true, {}}), content);
        check_decodes(frame_of(content, {-5, true, true, {}}), content);
    }
    CHECK(ZSTD_getFrameContentSize(frame_of(text, {3, false, false, {}}).data(), 18) == ZSTD_CONTENTSIZE_UNKNOWN);
}

TEST_CASE("a frame put together by hand decodes") {
    check_decodes(zstd::frame(zstd::raw_block("abc")), "abc");
    check_decodes(zstd::frame(zstd::raw_block("abc", false) + zstd::run_block(1000, 'x')), "abc" + bytes(1000, 'x'));
    check_decodes(zstd::frame(zstd::raw_block("")), "");
    check_decodes(zstd::sized_frame("abc", 3), "abc");
}

TEST_CASE("several frames decode to all their contents, one after the other") {
    const bytes sized = frame_of(text.substr(0, 5000));
    const bytes unsized = frame_of(text.substr(5000, 100), {1, false, false, {}});
    const bytes checked = frame_of(text.substr(5100, 7000), {3, true, true, {}});
    check_decodes(sized + unsized + checked, text.substr(0, 12100));
    check_decodes(frame_of("") + sized + frame_of(""), text.substr(0, 5000));
    bytes many;
    for (std::size_t at = 0; at < 1000; ++at) {
        many += frame_of(text.substr(at, 1));
    }
    check_decodes(many, text.substr(0, 1000));
}

TEST_CASE("skippable frames decode to nothing") {
    const bytes frame = frame_of(text);
    const bytes skipped = zstd::skippable_frame("anything");
    check_decodes(skipped + frame, text);
    check_decodes(frame + skipped, text);
    check_decodes(skipped + frame_of(text.substr(0, 10)) + skipped + skipped + frame_of(text.substr(10)) + skipped,
                  text);
    check_decodes(skipped, "");
    check_decodes(zstd::skippable_frame(""), "");
    for (char low = '\x50'; low <= '\x5f'; ++low) {
        bytes other = skipped;
        other[0] = low;
        check_decodes(other + frame, text);
    }
    CHECK(decode(skipped, 1).outcome == "decode_size");
}

TEST_CASE("an empty blob decodes to nothing") {
    check_decodes("", "");
    CHECK(decode("", 1).outcome == "decode_size");
    CHECK(decode_within("", 0).outcome == "ok");
}

TEST_CASE("bytes after the last frame are refused") {
    const bytes frame = frame_of(text);
    for (const bytes& tail : {bytes(1, '\0'), bytes(3, '\0'), bytes(4, '\0'), bytes(100, '\0'), bytes("x"),
                              bytes("\x28"), bytes("\x28\xb5\x2f"), bytes("\x53\x2a\x4d"), zstd::magic,
                              zstd::skippable_frame("abc").substr(0, 10), frame.substr(0, frame.size() - 1)}) {
        CAPTURE(tail.size());
        check_fails(frame + tail, text.size());
        check_fails(frame + zstd::skippable_frame("") + tail, text.size());
    }
}

TEST_CASE("bytes that are no frame are refused") {
    check_fails("abc", 3);
    check_fails("x" + frame_of("abc"), 3);
    check_fails(bytes(4096, '\0'), 4096);
    check_fails("\x1f\x8b\x08", 3);
}

TEST_CASE("frames of legacy zstd versions are refused, whatever follows") {
    for (char version = '\x1e'; version <= '\x27'; ++version) {
        const bytes legacy_magic = bytes(1, version) + "\xb5\x2f\xfd";
        check_fails(legacy_magic + zstd::frame(zstd::raw_block("abc")).substr(4), 3);
        check_fails(frame_of("abc") + legacy_magic + bytes(20, '\0'), 3);
    }
    check_fails("\xfd\x2f\xb5\x1e" + bytes(20, '\0'), 3); // 0.1, the other way round
    check_fails("\xfd\x2f\xb5\x28" + bytes(20, '\0'), 3); // today's magic the other way round
}

TEST_CASE("a blob that is cut off anywhere is refused") {
    const bytes stored = zstd::skippable_frame("ab") + frame_of(text.substr(0, 3000), {3, true, true, {}});
    for (std::size_t length = 1; length < stored.size(); ++length) {
        if (length == zstd::skippable_frame("ab").size()) {
            continue; // whole frames, but too few
        }
        CAPTURE(length);
        check_fails(stored.substr(0, length), 3000);
    }
    CHECK(decode(stored.substr(0, 10), 3000).outcome == "decode_size");
}

TEST_CASE("a blob of another size than declared is refused") {
    for (const bytes& stored : {frame_of(text), frame_of(text, {3, false, false, {}}),
                                frame_of(text.substr(0, 9000)) + frame_of(text.substr(9000), {3, false, false, {}}),
                                frame_of(text) + zstd::skippable_frame("abc")}) {
        for (const std::size_t size :
             {std::size_t{0}, std::size_t{1}, text.size() - 1, text.size() + 1, 2 * text.size()}) {
            CAPTURE(size);
            CHECK(decode(stored, size).outcome == "decode_size");
        }
    }
    CHECK(decode(frame_of(""), 1).outcome == "decode_size");
}

TEST_CASE("a frame that states a wrong size of its content is refused") {
    CHECK(decode(zstd::sized_frame("abc", 2), 3).outcome != "ok");
    CHECK(decode(zstd::sized_frame("abc", 4), 3).outcome != "ok");
    CHECK(decode(zstd::sized_frame("abc", 4), 4).outcome != "ok");
    CHECK(decode(zstd::sized_frame("abc", 2), 2).outcome != "ok");
    CHECK(decode_within(zstd::sized_frame("abc", 255), 1000).outcome != "ok");
}

TEST_CASE("sizes that frames state are added up only as far as 64 bits can count") {
    const auto stating = [](std::uint64_t size) {
        return zstd::magic + "\xe0" + support::little_endian(size, 8) + zstd::raw_block("abc");
    };
    CHECK(decode_within(stating(3) + stating(3), 1000).content == "abcabc");
    CHECK(decode_within(stating(support::two_to_63) + stating(support::two_to_63), 1000).outcome == "decode_failed");
    CHECK(decode_within(stating(support::two_to_63), 1000).outcome == "decode_failed");
}

TEST_CASE("a frame that needs a dictionary is refused") {
    // A dictionary proper has an identity, which the frame names. What zstd calls a raw one leaves no trace but is
    // missed as soon as the frame refers to it.
    const bytes dictionary = sample_text(4000);
    const bytes raw_dictionary_frame = frame_of(dictionary, {19, true, false, dictionary});
    CHECK(raw_dictionary_frame.size() < 100);
    check_fails(raw_dictionary_frame, dictionary.size());
    bytes names_dictionary = zstd::magic + "\x21" + "\x07" + "\x03" + zstd::raw_block("abc");
    CHECK(ZSTD_getDictID_fromFrame(names_dictionary.data(), names_dictionary.size()) == 7);
    check_fails(names_dictionary, 3);
}

TEST_CASE("a damaged checksum is found") {
    const bytes frame = frame_of(text, {3, true, true, {}});
    for (std::size_t from_end = 1; from_end <= 4; ++from_end) {
        bytes damaged = frame;
        damaged[damaged.size() - from_end] ^= '\x01';
        check_fails(damaged, text.size());
    }
}

TEST_CASE("no damage to a frame with a checksum changes what it decodes to") {
    const bytes content = text.substr(0, 300);
    const bytes frame = frame_of(content, {3, true, true, {}});
    for (std::size_t position = 0; position < frame.size(); ++position) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            bytes damaged = frame;
            damaged[position] = static_cast<char>(static_cast<unsigned char>(damaged[position]) ^ (1u << bit));
            const decoding decoded = decode(damaged, content.size());
            const decoding unsized = decode_within(damaged, 1 << 20);
            if ((decoded.outcome == "ok" && decoded.content != content) ||
                (unsized.outcome == "ok" && unsized.content != content)) {
                FAIL("bit " << bit << " of byte " << position);
            }
        }
    }
}

TEST_CASE("a blob of unknown size decodes as far as its limit") {
    const bytes zeros(1 << 20, '\0');
    const bytes frame = frame_of(zeros, {3, false, false, {}});
    REQUIRE(frame.size() < 200);
    CHECK(decode_within(frame, zeros.size()).content == zeros);
    CHECK(decode_within(frame, std::numeric_limits<std::uint64_t>::max()).content == zeros);
    CHECK(decode_within(frame, zeros.size() - 1).outcome == "limit_exceeded");
    CHECK(decode_within(frame, 0).outcome == "limit_exceeded");
    CHECK(decode_within(frame_of(text), 19999).outcome == "limit_exceeded");
    CHECK(decode_within(frame_of(text), 20000).content == text);
    CHECK(decode_within(frame_of(text) + frame_of(text), 39999).outcome == "limit_exceeded");
}

TEST_CASE("a blob that decodes to as much as zstd can is decoded") {
    const bytes blocks = repeated(31, zstd::run_block(128 * 1024, '\0', false)) + zstd::run_block(128 * 1024, '\0');
    const bytes frame = zstd::frame(blocks);
    check_decodes(frame, bytes(32 * 128 * 1024, '\0'));
    // Behind the header's 6 bytes every byte does as much as the bound allows.
    CHECK(frame.size() == 6 + 32 * 4);
}

TEST_CASE("no frame chooses how much memory decoding takes") {
    check_decodes(zstd::frame(zstd::raw_block("abc"), 30), "abc");
    check_decodes(zstd::frame(zstd::raw_block("abc"), 10), "abc");
}

// -- encoding

TEST_CASE("levels that zstd has are taken, and no others") {
    using ztensor::detail::check_zstd_level;
    for (const int level : {0, 1, 3, 19, 22}) {
        CAPTURE(level);
        CHECK(outcome(check_zstd_level(level)) == "ok");
    }
    for (const int level : {23, 100, std::numeric_limits<int>::max(), std::numeric_limits<int>::min(), -1000000}) {
        CAPTURE(level);
        CHECK(outcome(check_zstd_level(level)) == "invalid_argument");
    }
}

TEST_CASE("a context encodes frame after frame, each with the size of its content") {
    zstd_encoder encoder;
    REQUIRE(encoder.start());
    for (const int level : {1, 3, 19, 1}) {
        for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{500000}}) {
            CAPTURE(level, size);
            REQUIRE(encoder.start());
            const bytes content = sample_text(size);
            std::vector<std::byte> out(ztensor::detail::most_zstd_bytes(size));
            const std::size_t encoded = encoder.encode(level, ztensor::detail::as_bytes(content), out);
            REQUIRE(zstd_encoder::failure(encoded));
            out.resize(encoded);
            CHECK(ZSTD_getFrameContentSize(out.data(), out.size()) == size);
            check_decodes(bytes(ztensor::detail::as_text(out)), content);
        }
    }
}

namespace {

/// Encodes when its thread has ended all but this.
struct last_of_its_thread {
    zstd_encoder before;
    std::string* outcome = nullptr;

    ~last_of_its_thread() {
        zstd_encoder encoder;
        std::byte out[100];
        const bool is_started = encoder.start();
        *outcome = is_started ? support::outcome(zstd_encoder::failure(
                                    encoder.encode(1, ztensor::detail::as_bytes(std::string_view("abc")), out)))
                              : "not started";
    }
};

} // namespace

TEST_CASE("an encoder works to the very end of its thread, though none is kept for another then") {
    std::string outcome;
    std::thread([&] {
        static thread_local last_of_its_thread last; // made before what the thread keeps, and so destroyed after it
        last.outcome = &outcome;
        static_cast<void>(last.before.start());
    }).join();
    CHECK(outcome == "ok");
}

TEST_CASE("an encoder that took much memory is not kept") {
    const bytes content = sample_text(500000);
    std::vector<std::byte> out(ztensor::detail::most_zstd_bytes(content.size()));
    for (int i = 0; i < 2; ++i) {
        zstd_encoder encoder;
        REQUIRE(encoder.start());
        CHECK(zstd_encoder::failure(encoder.encode(19, ztensor::detail::as_bytes(content).first(1000), out)));
        const std::size_t encoded = encoder.encode(19, ztensor::detail::as_bytes(content), out);
        REQUIRE(zstd_encoder::failure(encoded));
    }
}

TEST_CASE("what does not fit its room is an error") {
    zstd_encoder encoder;
    REQUIRE(encoder.start());
    std::vector<std::byte> out(8);
    const std::size_t encoded = encoder.encode(1, ztensor::detail::as_bytes(text), out);
    CHECK(outcome(zstd_encoder::failure(encoded)) == "encode_failed");
}
