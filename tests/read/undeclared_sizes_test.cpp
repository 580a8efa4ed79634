// SPDX-License-Identifier: MIT
//
// Components of a type that is unknown, compressed and without a word about their size: what a plan, a slice, pieces
// and the views of one component make of what only decoding tells.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/zstd_frames.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/float_types.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/pieces.hpp>
#include <ztensor/reader.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace {

namespace undeclared_sizes {

using support::bytes;
using support::opened;
using support::refusal;
using support::sample;
using ztensor::errc;
using ztensor::load_plan;
using ztensor::reader;
using ztensor::version;
namespace cbor = support::cbor;
namespace zstd = support::zstd;

/// Rows of two bytes of a type that nobody knows.
sample six_bytes(const bytes& frames) {
    sample file(version::v1_1);
    file.zstd_blob(frames, 0).dtype("f16_of_somebody").shape({3});
    return file;
}
const bytes two_frames = zstd::frame_of("abcd") + zstd::frame_of("ef");
/// The checksum is not that of the content.
const bytes damaged = zstd::magic + bytes("\x04\x58", 2) + zstd::raw_block("abcdef") + "sum!";

bytes all_pieces(const reader& file) {
    auto pieces = ztensor::component_pieces::open(support::data_of(file)).value();
    bytes all;
    for (;;) {
        const auto piece = pieces.next();
        if (!piece) {
            return bytes(name(piece.error().code()));
        }
        if (piece->empty()) {
            return all;
        }
        all += support::as_string(*piece);
    }
}

} // namespace undeclared_sizes

} // namespace

TEST_CASE("a plan loads what only decoding tells the size of, whole and in rows") {
    using namespace undeclared_sizes;
    const reader file = opened(six_bytes(two_frames).file());
    REQUIRE_FALSE(support::data_of(file).decoded_bytes());
    support::byte_vector whole(6), last_rows(4), none;
    load_plan plan(file);
    plan.add("w", whole).add("w", ztensor::rows(1, 3), last_rows).add(file["w"].slice({{2, 2}}), none);
    CHECK(plan.check());
    CHECK(plan.run());
    CHECK(support::as_string(whole) == "abcdef");
    CHECK(support::as_string(last_rows) == "cdef");
    const auto all = ztensor::read_all(file).value();
    REQUIRE(all.size() == 1);
    CHECK(support::memory_of(all[0].bytes) == "abcdef");

    support::byte_vector too_few(5), too_many(7);
    CHECK(refusal(load_plan(file).add("w", too_few).run()) == errc::decode_size);
    CHECK(refusal(load_plan(file).add("w", too_many).run()) == errc::decode_size);
    CHECK(refusal(load_plan(file).add("w", ztensor::rows(0, 2), too_few).run()) == errc::size_mismatch);
    CHECK(refusal(load_plan(file).add("w", ztensor::rows(2, 4), too_many).run()) == errc::out_of_bounds);
    std::vector<float> numbers(3);
    CHECK(refusal(load_plan(file).add("w", numbers).check()) == errc::unknown_dtype);
    CHECK(refusal(load_plan(file).add_as("w", numbers).check()) == errc::unknown_dtype);
    const reader with_damage = opened(six_bytes(damaged).file());
    CHECK(refusal(ztensor::read_all(with_damage)) == errc::decode_failed);
    CHECK(plan.run(ztensor::load_options().max_staging_bytes(4))); // so that any blob counts as large
    const reader limited = opened(sample().file(), ztensor::read_options().max_decoded_bytes(7));
    CHECK(refusal(ztensor::read_all(limited)) == errc::limit_exceeded);
}

TEST_CASE("rows are asked of what has rows") {
    using namespace undeclared_sizes;
    const reader file = opened(sample().shape({}).blob(bytes(4, 'x')).file());
    std::vector<float> row(1);
    CHECK(refusal(load_plan(file).add("w", ztensor::rows(0, 1), row).check()) == errc::out_of_bounds);
    CHECK(load_plan(file).add("w", row).run());
}

TEST_CASE("pieces of what only decoding tells the size of end with it, or at the limit") {
    using namespace undeclared_sizes;
    CHECK(all_pieces(opened(six_bytes(two_frames).file())) == "abcdef");
    CHECK(all_pieces(opened(six_bytes(two_frames).file(), ztensor::read_options().max_decoded_bytes(6))) == "abcdef");
    CHECK(all_pieces(opened(six_bytes(two_frames).file(), ztensor::read_options().max_decoded_bytes(5))) ==
          "limit_exceeded");
    CHECK(all_pieces(opened(six_bytes(damaged).file())) == "decode_failed");
    CHECK(all_pieces(opened(six_bytes(two_frames + zstd::magic.substr(0, 3)).file())) == "decode_failed");
    // A window larger than all that the blob can hold: decoded at once, within the same limit.
    const bytes wide = zstd::frame(zstd::raw_block("abcdef"), 30);
    CHECK(all_pieces(opened(six_bytes(wide).file())) == "abcdef");
    CHECK(all_pieces(opened(six_bytes(wide).file(), ztensor::read_options().max_decoded_bytes(5))) == "limit_exceeded");
}

TEST_CASE("numbers are made of what only decoding tells the number of") {
    using namespace undeclared_sizes;
    sample file(version::v1_1);
    file.object("format", cbor::text("own")).dtype("f32");
    const bytes numbers = support::little_endian({0x3f800000, 0x40000000, 0x40400000, 0x40800000}, 4);
    const reader from = opened(file.zstd_blob(zstd::frame_of(numbers), 0).file());
    const ztensor::component_view data = from["w"]["data"];
    CHECK(data.read_as<double>().value() == std::vector<double>{1, 2, 3, 4});
    CHECK(data.part(1, 2, 2).read_as<double>().value() == std::vector<double>{3, 4});
}

TEST_CASE("bytes of an unknown type are divided among the elements, if they can be") {
    using namespace undeclared_sizes;
    const auto file_of = [](std::uint64_t elements, const bytes& content) {
        return opened(sample().dtype("f16_of_somebody").shape({elements}).blob(content).file());
    };
    const reader three = file_of(3, "abcdef"), four = file_of(4, "abcdef");
    CHECK(support::as_string(three["w"].rows(1, 2).read<std::byte>().value()) == "cd");
    CHECK(support::as_string(three["w"].slice({{1, 2}}).read<std::byte>().value()) == "cd");
    CHECK(refusal(four["w"].rows(1, 2).read<std::byte>()) == errc::out_of_bounds);
    CHECK(refusal(four["w"].slice({{1, 2}}).read<std::byte>()) == errc::size_mismatch);
    for (const char* const content : {"", "abcdef"}) {
        const reader none = file_of(0, content);
        CHECK(none["w"].rows(0, 0).read<std::byte>().value().empty());
        CHECK(none["w"].slice({{0, 0}}).read<std::byte>().value().empty());
    }
}

TEST_CASE("what is of an unknown type has no numbers, whatever they are to become") {
    using namespace undeclared_sizes;
    const reader file = opened(sample().dtype("f16_of_somebody").file());
    CHECK(refusal(file.read_as<float>("w")) == errc::unknown_dtype);
    CHECK(refusal(file.read_as<long double>("w")) == errc::unknown_dtype);
    CHECK(refusal(file.read_as<ztensor::bfloat16>("w")) == errc::unknown_dtype);
    CHECK(refusal(ztensor::component_pieces::open_as(support::data_of(file), ztensor::dtype::f32)) ==
          errc::unknown_dtype);
    const reader of_unknown_type = opened(sample().component("type", cbor::text("fixed")).file());
    CHECK(refusal(of_unknown_type.read_as<long double>("w")) == errc::unsupported_type);
    CHECK(refusal(ztensor::component_pieces::open_as(support::data_of(of_unknown_type), ztensor::dtype::f32)) ==
          errc::unsupported_type);
    sample big(version::v0_1);
    big.dtype("fixed32").component("data_endianness", cbor::text("big"));
    const reader big_endian = opened(big.file());
    CHECK(refusal(support::data_of(big_endian).read_little_endian()) == errc::unknown_dtype);
    CHECK(refusal(ztensor::component_pieces::open(support::data_of(big_endian))) == errc::unknown_dtype);
    CHECK(support::data_of(big_endian).dtype().original() == "fixed32");
    sample of_1_0(version::v1_0); // which says of other roles than its own not even that
    of_1_0.parts("own", {2}, {{"extra", {}, 64, 8}});
    const reader extra = opened(of_1_0.file());
    CHECK(extra.find("w")->component("extra")->dtype().original().empty());
    CHECK(refusal(extra.find("w")->component("extra")->read<float>()) == errc::unknown_dtype);
}
