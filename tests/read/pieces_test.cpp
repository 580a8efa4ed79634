// SPDX-License-Identifier: MIT
//
// Components in pieces: together they are what read() gives, converted or not, and they end with its errors.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/openings.hpp"
#include "support/watched_source.hpp"
#include "support/writing.hpp"
#include "support/zstd_frames.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/digest.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/pieces.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace zstd = support::zstd;
using support::sample;
using ztensor::component_pieces;
using ztensor::component_view;
using ztensor::dtype;
using ztensor::errc;
using ztensor::reader;
using ztensor::result;

/// Everything that the pieces give, and the error that they end with, if they do.
struct joined_pieces {
    support::bytes content;
    std::optional<errc> code;
    std::size_t count = 0;
};

joined_pieces join(result<component_pieces> pieces) {
    joined_pieces joined;
    if (!pieces) {
        joined.code = pieces.error().code();
        return joined;
    }
    for (;;) {
        const result<ztensor::bytes_view> piece = pieces->next();
        if (!piece) {
            CHECK(pieces->next().error() == piece.error());
            joined.code = piece.error().code();
            return joined;
        }
        if (piece->empty()) {
            CHECK(pieces->next().value().empty());
            return joined;
        }
        joined.content += support::as_string(*piece);
        ++joined.count;
    }
}

std::vector<float> ramp(std::size_t count) {
    std::vector<float> made;
    for (std::size_t i = 0; i < count; ++i) {
        made.push_back(static_cast<float>(i % 4099) * 0.37F - 700);
    }
    return made;
}

template <class To>
support::bytes little_endian_numbers(const std::vector<To>& values) {
    return support::between_file_and_host(support::memory_of(values), sizeof(To));
}

} // namespace

TEST_CASE("pieces together are the decoded bytes of every component of every generation") {
    std::size_t compared = 0;
    for (const auto& path : support::golden_paths()) {
        const auto file = reader::open(path).value();
        for (const auto object : file) {
            for (const component_view component : object) {
                const auto expected = component.read_little_endian();
                const joined_pieces joined = join(component_pieces::open(component));
                INFO(path.string() << ' ' << object.name() << ' ' << component.role());
                const bool has_loose_bools = component.dtype() == dtype::boolean;
                CHECK(joined.code == (expected ? std::nullopt : std::optional(expected.error().code())));
                if (expected && !has_loose_bools) {
                    CHECK(joined.content == support::as_string(*expected));
                    ++compared;
                }
            }
        }
    }
    CHECK(compared > 100);
}

TEST_CASE("large components come in several pieces, raw or in frames, verified at the end") {
    const std::vector<float> values = ramp(900'000);
    for (const bool is_zstd : {false, true}) {
        for (const auto digest : {ztensor::digest::none, ztensor::digest::sha256}) {
            const auto file = support::reopened({}, [&](ztensor::writer& to) {
                to.add("w", {values.size()}, values, support::stored(is_zstd).digest(digest)).value();
            });
            const joined_pieces joined = join(component_pieces::open(support::data_of(file)));
            CHECK_FALSE(joined.code);
            CHECK(joined.count == 4);
            CHECK(joined.content == little_endian_numbers(values));
        }
    }
}

TEST_CASE("pieces of version 2 are verified as they are decoded, frame by frame") {
    if (!ztensor::can_compute(ztensor::digest::xxh3)) {
        return; // a build without xxHash writes no file of this version
    }
    const std::vector<float> values = ramp(900'000);
    for (const bool is_zstd : {false, true}) {
        const auto options = ztensor::write_options().version(ztensor::format_version::v2);
        support::byte_vector content = support::written(options, [&](ztensor::writer& to) {
            to.add("bool", {3}, std::vector<bool>{true, false, true}).value();
            to.add("w", {values.size()}, values, support::stored(is_zstd)).value();
        });
        const auto file = reader::from_bytes(ztensor::bytes_view(content)).value();
        const component_view data = *file.find("w")->begin();
        CHECK(join(component_pieces::open(data)).content == little_endian_numbers(values));
        CHECK(join(component_pieces::open_as(data, dtype::f64)).content ==
              little_endian_numbers(data.read_as<double>().value()));
        const component_view bools = *file.find("bool")->begin();
        CHECK(join(component_pieces::open(bools)).content == support::bytes("\1\0\1", 3));
        CHECK(join(component_pieces::open_as(bools, dtype::f16)).content ==
              support::little_endian({0x3c00, 0, 0x3c00}, 2));
        const std::uint64_t middle = data.offset() + data.stored_bytes() / 2;
        content[static_cast<std::size_t>(middle)] ^= std::byte{1}; // the reader before looks at it no more
        const auto damaged = reader::from_bytes(ztensor::bytes_view(content)).value();
        const std::optional<errc> code = join(component_pieces::open(*damaged.find("w")->begin())).code;
        CHECK(code == (is_zstd ? errc::decode_failed : errc::digest_mismatch));
    }
}

TEST_CASE("integers of 64 bits are rounded once, not first to a double") {
    // Just beyond the middle between two floats, or two bfloat16s, by less than a double can tell.
    const std::uint64_t singles = 0x64a681400000003f, halves = (std::uint64_t{1} << 62) + (std::uint64_t{1} << 54) + 1;
    const std::vector<std::uint64_t> bits = {
        singles, singles - 63, singles - 64,     0 - singles, halves,           0 - halves, halves - 1,
        ~0ULL,   1ULL << 63,   (1ULL << 63) - 1, 1ULL << 53,  (1ULL << 53) + 1, 0,          7};
    for (const bool is_signed : {false, true}) {
        std::vector<float> expected;
        for (const std::uint64_t each : bits) { // the compiler's conversion rounds once
            expected.push_back(is_signed ? static_cast<float>(static_cast<std::int64_t>(each))
                                         : static_cast<float>(each));
        }
        const support::bytes content =
            sample().dtype(is_signed ? "i64" : "u64").shape({bits.size()}).blob(support::little_endian(bits, 8)).file();
        const reader file = reader::from_bytes(support::to_vector(content)).value();
        const component_view data = file.find("w").value().data().value();
        std::vector<std::uint64_t> patterns;
        for (const float each : expected) {
            std::uint32_t pattern = 0;
            std::memcpy(&pattern, &each, sizeof(pattern));
            patterns.push_back(pattern);
        }
        CHECK(join(component_pieces::open_as(data, dtype::f32)).content == support::little_endian(patterns, 4));
        const support::bytes short_ones = join(component_pieces::open_as(data, dtype::bf16)).content;
        CHECK(short_ones.substr(8, 2) == support::little_endian(0x5e81, 2));
        CHECK(short_ones.substr(12, 2) == support::little_endian(0x5e80, 2)); // the middle itself: to even
        CHECK(short_ones.substr(10, 2) == support::little_endian(is_signed ? 0xde81 : 0x5f40, 2));
    }
}

TEST_CASE("pieces are converted to floats of every width, rounded once") {
    const std::vector<float> values = ramp(300'000);
    const std::vector<double> wide = {1.0, 0.1, 1e300, -65519.999999999, 65520, 5.960464477539063e-8, -0.0};
    const std::vector<std::int64_t> integers = {0, -1, 1LL << 53, (1LL << 53) + 1, 2049};
    const auto file = support::reopened({}, [&](ztensor::writer& to) {
        to.add("f32", {values.size()}, values, ztensor::store().zstd()).value();
        to.add("f64", {wide.size()}, wide).value();
        to.add("i64", {integers.size()}, integers).value();
        to.add("bool", {2}, std::vector<bool>{true, false}).value();
        to.add("f8", {2}, std::vector<ztensor::float8_e4m3fn>{ztensor::float8_e4m3fn(448.0F), {}}).value();
    });
    const auto check = [&](const char* name, auto type) {
        using to = decltype(type);
        const component_view data = *file.find(name)->begin();
        const joined_pieces joined = join(component_pieces::open_as(data, ztensor::element_traits<to>::storage));
        CHECK_FALSE(joined.code);
        CHECK(joined.content == little_endian_numbers(data.read_as<to>().value()));
    };
    for (const char* name : {"f32", "f64", "i64", "bool", "f8"}) {
        INFO(name);
        check(name, double());
        check(name, float());
        check(name, ztensor::float16());
        check(name, ztensor::bfloat16());
    }
    const component_view data = *file.find("f32")->begin();
    CHECK(join(component_pieces::open_as(data, dtype::i32)).code == errc::invalid_argument);
}

TEST_CASE("big-endian data comes little-endian, and converted") {
    const support::bytes stored = support::big_endian(0x3f800000, 4) + support::big_endian(0xc0000000, 4);
    sample big(ztensor::version::v0_1);
    big.root("data_endianness", support::cbor::text("big")).blob(stored);
    const auto file = support::opened(big.file());
    const component_view data = support::data_of(file);
    CHECK(join(component_pieces::open(data)).content == support::little_endian({0x3f800000, 0xc0000000}, 4));
    CHECK(join(component_pieces::open_as(data, dtype::f16)).content == support::little_endian({0x3c00, 0xc000}, 2));
}

TEST_CASE("damaged components end with the error of the rule that they break") {
    const auto code_of = [](const support::bytes& content) {
        const auto file = support::opened(content);
        return join(component_pieces::open(support::data_of(file))).code;
    };
    const support::bytes eight = support::counting(8);
    const support::bytes wrong_digest = "sha256:" + support::repeated(64, "0");
    const auto zstd_of = [](const support::bytes& frames) { return sample().zstd_blob(frames, 8); };

    CHECK(code_of(zstd_of(zstd::frame_of(eight)).file()) == std::nullopt);
    CHECK(code_of(zstd_of(zstd::frame_of(eight) + zstd::skippable_frame("x")).file()) == std::nullopt);
    CHECK(code_of(zstd_of(zstd::frame_of(eight.substr(0, 3)) + zstd::frame_of(eight.substr(3))).file()) ==
          std::nullopt);
    CHECK(code_of(zstd_of(zstd::frame_of(eight + "x")).file()) == errc::decode_size);
    CHECK(code_of(zstd_of(zstd::frame_of(eight.substr(1))).file()) == errc::decode_size);
    CHECK(code_of(zstd_of(zstd::frame_of(eight).substr(0, 12)).file()) == errc::decode_failed);
    CHECK(code_of(zstd_of(zstd::frame_of(eight) + "x").file()) == errc::decode_failed);
    CHECK(code_of(zstd_of(zstd::frame_of(eight) + "xxxxx").file()) == errc::decode_failed);
    CHECK(code_of(zstd_of("no frame").file()) == errc::decode_failed);
    // A window that the blob can't fill costs no memory.
    CHECK(code_of(zstd_of(zstd::frame(zstd::raw_block(eight), 30)).file()) == std::nullopt);
    CHECK(code_of(zstd_of(zstd::frame_of("1234") + zstd::frame(zstd::raw_block("5678"), 30)).file()) == std::nullopt);
    CHECK(code_of(zstd_of(zstd::frame(zstd::raw_block(eight + "x"), 30)).file()) == errc::decode_size);
    CHECK(code_of(zstd_of("no frame").component("digest", support::cbor::text(wrong_digest)).file()) ==
          errc::digest_mismatch);
    CHECK(code_of(sample().component("digest", support::cbor::text(wrong_digest)).file()) == errc::digest_mismatch);
    CHECK(code_of(sample().component("encoding", support::cbor::text("lz4")).file()) == errc::unsupported_encoding);
    CHECK(code_of(sample().dtype("bool").shape({8}).blob(eight).file()) == errc::bad_bool);
}

TEST_CASE("frames may end just before the stored bytes that are held do") {
    constexpr std::size_t kept_bytes = std::size_t{256} << 10;
    const support::bytes content = support::counting(kept_bytes + 1000);
    for (const std::size_t left : {1U, 2U, 3U, 4U}) { // of the second frame, in what is read first
        support::bytes blocks;
        const std::size_t first_bytes = kept_bytes - left - 6 - 3 * 3;
        blocks +=
            zstd::raw_block(content.substr(0, 100000), false) + zstd::raw_block(content.substr(100000, 100000), false);
        blocks += zstd::raw_block(content.substr(200000, first_bytes - 200000));
        const support::bytes first = zstd::frame(blocks);
        REQUIRE(first.size() == kept_bytes - left);
        const support::bytes all = content.substr(0, first_bytes) + "behind";
        sample file;
        file.dtype("u8").shape({all.size()}).zstd_blob(first + zstd::frame_of("behind"), all.size());
        CAPTURE(left);
        const joined_pieces joined = join(component_pieces::open(support::data_of(support::opened(file.file()))));
        CHECK(joined.content == all);
    }
}

TEST_CASE("0.1: pieces of a blob that holds indices besides bools are what is stored") {
    sample file(ztensor::version::v0_1);
    const support::bytes blob = support::little_endian({0, 1, 1}, 8) + support::little_endian(0, 8) + "\x07";
    file.dtype("bool").shape({2, 3}).object("format", support::cbor::text("sparse")).blob(blob);
    file.object("sparse_format", support::cbor::text("csr"));
    const auto from = support::open_bytes(file.file());
    REQUIRE(from);
    CHECK(support::to_hex(support::to_vector(join(component_pieces::open(*(*from->begin()).begin())).content)) ==
          support::to_hex(support::to_vector(blob)));
}

TEST_CASE("0.1: a blob that holds indices comes in pieces as it is stored, and is not converted") {
    for (const bool is_compressed : {false, true}) {
        INFO(is_compressed);
        const support::bytes both = support::little_endian({0, 1, 1}, 8) + support::little_endian(0, 8) +
                                    (is_compressed ? "four" : "of eight"); // raw, its size is looked at
        sample file(ztensor::version::v0_1);
        file.dtype("f64").shape({2, 3}).object("format", support::cbor::text("sparse"));
        file.object("sparse_format", support::cbor::text("csr"));
        is_compressed ? file.zstd_blob(zstd::frame_of(both), both.size()) : file.blob(both);
        const auto from = support::open_bytes(file.file());
        REQUIRE(from);
        const component_view blob = *(*from->begin()).begin();
        const joined_pieces stored = join(component_pieces::open(blob));
        CHECK_FALSE(stored.code);
        CHECK(stored.content == both);
        CHECK(blob.read_little_endian().value() == support::to_vector(both));
        CHECK(join(component_pieces::open_as(blob, dtype::f64)).code == errc::type_mismatch);
        CHECK(blob.read_as<double>().error().code() == errc::type_mismatch);
    }
}

TEST_CASE(
    "pieces of a broken blob tell of what breaks it, unless the digest tells of damage or the rest can't be read") {
    sample file;
    const support::bytes broken =
        zstd::frame(zstd::block(3, 1, "x", true)) + zstd::frame_of(support::bytes(100000, 'y')) +
        zstd::frame_of(support::bytes(100000, 'y')) + zstd::frame_of(support::bytes(100000, 'y'));
    file.dtype("u8").shape({300001}).zstd_blob(broken, 300001);
    const auto code_of = [&](const char* digest, std::size_t failing) {
        const auto seen = support::watch(file.component("digest", support::cbor::text(digest)).file());
        seen.source->first_failing_read = failing;
        return join(component_pieces::open(support::data_of(seen.file))).code;
    };
    const std::size_t never = support::watched_source::never;
    CHECK(code_of("blake3:00", never) == errc::decode_failed);
    CHECK(code_of("crc32c:00000000", never) == errc::digest_mismatch);
    CHECK(code_of("crc32c:00000000", 1) == errc::decode_failed);
    CHECK(code_of("crc32c:00000000", 0) == errc::io_error);
}
