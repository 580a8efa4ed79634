// SPDX-License-Identifier: MIT
//
// Rules that do not keep a file from opening, and the calls that they stop. Beside each rule stands the nearest file
// that keeps it.
#include "index/rules.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/attributes.hpp>
#include <ztensor/reader.hpp>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace {

using rules::accepted;
using rules::attribute_value;
using rules::before_1_2;
using rules::both;
using rules::change;
using rules::check_uses;
using rules::component;
using rules::in_0_1;
using rules::in_1_0;
using rules::in_1_1;
using rules::in_1_2;
using rules::in_all;
using rules::object;
using rules::shaped;
using rules::since_1_0;
using rules::since_1_1;
using rules::use;
using support::bytes;
using support::largest;
using support::opened;
using support::opening;
using support::sample;
using support::temp_dir;
using support::two_to_63;
using ztensor::errc;
using ztensor::read_options;
using ztensor::reader;
using ztensor::result;
using ztensor::version;
namespace cbor = support::cbor;
namespace zstd = support::zstd;

using namespace std::string_literals;

template <class T>
result<void> reads(const reader& file) {
    return support::done(file.read<T>("w"));
}

template <class T>
result<void> reads_two_into(const reader& file) {
    std::array<T, 2> destination{};
    return file.read_into("w", destination);
}

template <class T>
result<void> reads_first_row(const reader& file) {
    return support::done(file["w"].rows(0, 1).read<T>());
}

template <class T>
result<void> views(const reader& file) {
    return support::done(file.view<T>("w"));
}

template <class To>
result<void> converts(const reader& file) {
    return support::done(file.read_as<To>("w"));
}

template <class T>
result<void> reads_component(const reader& file) {
    return file.find("w")
        .and_then([](const ztensor::object_view& object) { return object.component("data"); })
        .and_then([](const ztensor::component_view& component) { return support::done(component.read<T>()); });
}

void as_good_as_ever(sample&) {
}

} // namespace

TEST_CASE("E1, E2: unknown words are refused by the calls that need them") {
    const change unknown_dtype = [](sample& file) { file.dtype("f128"); };
    const change other_case = [](sample& file) { file.dtype("F32"); };
    const change type = component("type", cbor::text("q8.8_fixed"));
    const change complex_numbers = both(shaped({1}), component("type", cbor::text("complex64")));
    check_uses({
        {"E1: an unknown dtype",
         unknown_dtype,
         {reads<float>, reads_two_into<float>, reads_first_row<float>, views<float>, converts<float>,
          reads<std::uint8_t>},
         errc::unknown_dtype},
        {"E1: a dtype of another case", other_case, {reads<float>, views<float>}, errc::unknown_dtype},
        {"E1: the bytes of an unknown dtype", unknown_dtype, {reads<std::byte>}, accepted},
        {"E1: a name of 1.2 in an earlier file",
         component("dtype", cbor::text("f32")),
         {reads<float>},
         errc::unknown_dtype,
         in_0_1},
        {"E1: a name of 1.0 in a later file",
         component("dtype", cbor::text("float32")),
         {reads<float>},
         errc::unknown_dtype,
         since_1_1},
        {"E1: a word of 1.1 in a later file",
         both(shaped({1}), component("dtype", cbor::text("complex64"))),
         {reads<std::complex<float>>},
         errc::unknown_dtype,
         in_1_2},
        {"the type that it is",
         as_good_as_ever,
         {reads<float>, reads_two_into<float>, reads_first_row<float>, converts<double>},
         accepted},
        {"another type",
         as_good_as_ever,
         {reads<double>, reads<std::int32_t>, reads<std::uint8_t>, views<std::uint32_t>,
          reads_two_into<ztensor::float16>, reads<std::complex<float>>, reads<bool>},
         errc::type_mismatch},
        {"E2: an unknown type, as numbers", type, {converts<float>}, errc::unsupported_type, in_1_2},
        {"E2: an unknown type, as a known one", type, {reads<std::complex<float>>}, errc::type_mismatch, in_1_2},
        {"E2: an unknown type, as it is stored", type, {reads<float>, reads<std::byte>}, accepted, in_1_2},
        {"complex numbers, as numbers", complex_numbers, {converts<float>}, errc::unsupported_type, in_1_2},
        {"complex numbers", complex_numbers, {reads<std::complex<float>>, reads<float>}, accepted, in_1_2},
    });
    check_uses({
        {"D-8: an unknown format",
         object("format", cbor::text("own")),
         {reads<float>, views<float>, converts<float>, reads_first_row<float>, reads_two_into<float>, reads<std::byte>},
         errc::unsupported_format,
         in_all,
         {},
         "w/"},
        {"D-8: its components", object("format", cbor::text("own")), {reads_component<float>}, accepted},
    });
}

TEST_CASE("F1: an unknown encoding is refused by the calls that decode") {
    const change lz4 = component("encoding", cbor::text("lz4"));
    check_uses({{"lz4",
                 lz4,
                 {reads<float>, reads<std::byte>, reads_two_into<float>, reads_first_row<float>, views<float>,
                  converts<float>},
                 errc::unsupported_encoding}});
    const temp_dir directory;
    sample file;
    lz4(file);
    for (const opening& opened : open_every_way(file.file(), directory)) {
        std::array<std::byte, 8> stored{};
        const auto data = opened.file.value().find("w")->data().value();
        CHECK(data.read_stored_into(stored).has_value());
        CHECK(stored[3] == std::byte{0x3f});
        CHECK(data.encoding().text() == "lz4");
    }
}

TEST_CASE("a view is refused where there is nothing to borrow") {
    const change compressed = [](sample& file) { file.zstd_blob(zstd::frame(zstd::raw_block(bytes(8, '\0'))), 8); };
    check_uses({
        {"compressed data", compressed, {views<float>, views<std::byte>}, errc::not_viewable},
        {"compressed data, read", compressed, {reads<float>}, accepted},
    });
    const temp_dir directory;
    for (const opening& opened : open_every_way(sample().file(), directory)) {
        CAPTURE(opened.way);
        const result<ztensor::span<const float>> view = opened.file.value().view<float>("w");
        if (opened.file->is_mapped() && support::host_is_little_endian()) {
            CHECK(view.has_value());
        } else {
            REQUIRE(!view);
            CHECK(view.error().code() == (opened.file->is_mapped() ? errc::needs_byteswap : errc::not_viewable));
            CHECK(view.error().component() == "data");
        }
    }
}

TEST_CASE("E15: memory at an odd address is read, not viewed") {
    const std::vector<std::byte> content = support::to_vector("x" + sample().file());
    const reader file = reader::from_bytes(ztensor::bytes_view(content).subspan(1)).value();
    const result<ztensor::span<const float>> view = file.view<float>("w");
    REQUIRE(!view);
    CHECK(view.error().code() == (support::host_is_little_endian() ? errc::misaligned_memory : errc::needs_byteswap));
    CHECK(view.error().object() == "w");
    CHECK(view.error().component() == "data");
    CHECK(file.view<std::byte>("w").value().size() == 8);
    CHECK(file.read<float>("w").value() == std::vector<float>{1, 2});
}

TEST_CASE("E17: elements in the other byte order are read, not viewed") {
    sample foreign(support::host_is_little_endian() ? version::v0_1 : version::v1_2);
    if (foreign.is_0_1()) {
        foreign.blob(support::big_endian(0x3f800000, 4) + support::big_endian(0x40000000, 4))
            .object("data_endianness", cbor::text("big"));
    }
    const reader file = support::opened(foreign.file());
    const result<ztensor::span<const float>> view = file.view<float>("w");
    REQUIRE(!view);
    CHECK(view.error().code() == errc::needs_byteswap);
    CHECK(view.error().object() == "w");
    CHECK(file.view<std::byte>("w").value().size() == 8);
    CHECK(file.read<float>("w").value() == std::vector<float>{1, 2});
    CHECK(file.read_as<double>("w").value() == std::vector<double>{1, 2});
    CHECK(file["w"].rows(1, 2).read<float>().value() == std::vector<float>{2});
}

TEST_CASE("E16: a bool that is neither 0 nor 1 is refused, but stands for true in 0.1") {
    const auto bools = [](bytes content) -> change {
        return [=](sample& file) { file.dtype("bool").shape({content.size()}).blob(content); };
    };
    const change good = bools("\0\1"s);
    check_uses({
        {"0 and 1",
         good,
         {reads<bool>, reads_two_into<bool>, reads_first_row<bool>, converts<float>, reads<std::uint8_t>},
         accepted},
    });
    for (const char wrong : {'\2', '\x7f', '\x80', '\xff'}) {
        const change bad = bools(bytes(1, wrong) + '\1');
        check_uses({
            {"another byte",
             bad,
             {reads<bool>, reads_two_into<bool>, converts<float>, reads_first_row<bool>},
             errc::bad_bool,
             since_1_0},
            {"its bytes", bad, {reads<std::uint8_t>, reads<std::byte>}, accepted, since_1_0},
            {"true in 0.1",
             bad,
             {reads<bool>, reads_two_into<bool>, reads_first_row<bool>, converts<float>},
             accepted,
             in_0_1},
        });
    }

    sample odd(version::v0_1);
    bools("\0\x80\1\xff"s)(odd);
    const reader file = support::opened(odd.file());
    CHECK(file.read<bool>("w").value() == std::vector<bool>{false, true, true, true});
    CHECK(file.read_as<float>("w").value() == std::vector<float>{0, 1, 1, 1});
}

TEST_CASE("E14, F6: more decoded bytes than the limit are refused before they are made") {
    const change run = [](sample& file) { // 1 KiB from a handful of bytes
        file.dtype("u8").shape({1024}).zstd_blob(zstd::frame(zstd::run_block(1024, 'x')), 1024);
    };
    const change incompressible = [](sample& file) { // 17 bytes for 8
        file.zstd_blob(zstd::frame(zstd::raw_block(bytes(8, 'x'))), 8);
    };
    const change unsized = both(run, object("format", cbor::text("own"))); // before 1.2, only decoding tells
    const auto at_most = [](std::uint64_t bytes) { return read_options().max_decoded_bytes(bytes); };
    check_uses({
        {"raw",
         as_good_as_ever,
         {reads<float>, reads<std::byte>, reads_two_into<float>, converts<float>},
         errc::limit_exceeded,
         in_all,
         at_most(7)},
        {"raw, exactly",
         as_good_as_ever,
         {reads<float>, reads<std::byte>, reads_two_into<float>, converts<float>},
         accepted,
         in_all,
         at_most(8)},
        {"zstd",
         run,
         {reads<std::uint8_t>, reads<std::byte>, converts<float>},
         errc::limit_exceeded,
         in_all,
         at_most(1023)},
        {"zstd, exactly", run, {reads<std::uint8_t>, reads<std::byte>}, accepted, in_all, at_most(1024)},
        {"numbers wider than what is stored", run, {converts<float>}, errc::limit_exceeded, in_all, at_most(4095)},
        {"wider numbers, exactly", run, {converts<float>}, accepted, in_all, at_most(4096)},
        {"zstd that takes more than it decodes to",
         incompressible,
         {reads<float>, converts<float>},
         accepted,
         in_all,
         at_most(8)},
        {"zstd of unknown size", unsized, {reads_component<std::byte>}, errc::limit_exceeded, in_all, at_most(1023)},
        {"zstd of unknown size, exactly", unsized, {reads_component<std::byte>}, accepted, in_all, at_most(1024)},
    });
}

TEST_CASE("A11, E14, D-6: a file of holes opens, and what no memory holds is refused when it is read") {
    const auto with_blob = [](std::uint64_t length) { // u8, from 64 on
        sample file;
        file.dtype("u8").shape({length}).place(64, length);
        const bytes index = file.index();
        const bytes tail = index + support::little_endian(index.size(), 8) + bytes(support::magic_1);
        return std::make_shared<support::source_with_holes>(64 + length + tail.size(), bytes(support::magic_1), tail);
    };
    const auto source = with_blob(std::uint64_t{1} << 62);
    const reader file = reader::from_source(source).value();
    CHECK(file.find("w")->element_count() == std::uint64_t{1} << 62);
    CHECK(file.read<std::uint8_t>("w").error().code() == errc::limit_exceeded);
    CHECK(file.read_as<float>("w").error().code() == errc::limit_exceeded);
    CHECK(file["w"].rows(0, std::uint64_t{1} << 40).read<std::uint8_t>().error().code() == errc::limit_exceeded);
    CHECK(source->largest_read() <= 1024); // the manifest
    CHECK(file["w"].rows(3, 5).read<std::uint8_t>().value() == std::vector<std::uint8_t>(2));

    const reader unlimited =
        reader::from_source(with_blob(two_to_63), read_options().max_decoded_bytes(largest)).value();
    CHECK(unlimited.read<std::uint8_t>("w").error().code() == errc::too_large_for_host);
    CHECK(unlimited.read_as<float>("w").error().code() == errc::too_large_for_host);
}

TEST_CASE("E10: a length of no whole elements is refused where the format gives the component a meaning, else when it "
          "is read") {
    const auto opens = [](sample file) { return support::open_bytes(file.file()); };
    const auto with_part = [](const char* format, const char* role, const char* dtype) {
        sample file;
        file.blobs({bytes(8, 'x'), bytes(7, 'y')});
        file.parts(format, {2}, {{"data", "f32", 64, 8}, {role, dtype, 128, 7}});
        return file;
    };
    for (const auto& file : {with_part("dense", "more", "f32"), with_part("own", "role", "f64")}) {
        const result<reader> from = opens(file);
        REQUIRE(from.has_value());
        const ztensor::object_view object = from->find("w").value();
        for (const auto component : object) {
            if (component.stored_bytes() == 7) {
                CHECK(component.read<std::byte>().has_value());
                CHECK(component.read_as<float>().has_value() == false);
                CHECK(component.read<double>().has_value() == false);
            }
        }
    }
    sample typed;
    typed.shape({std::uint64_t{1} << 62}).dtype("f64").component("type", cbor::text("of our own"));
    CHECK(opens(typed).has_value()); // what such an element takes is not ours to know
    sample quantized;
    quantized.blobs({bytes(8, 'x'), bytes(7, 'y')});
    quantized.parts("quantized_group", {2},
                    {{"packed_weight", "u8", 64, 8}, {"scales", "f32", 128, 7}, {"zeros", "u8", 64, 8}});
    CHECK(opens(quantized).error().code() == errc::size_mismatch);
}

TEST_CASE("numbers of a logical type that is unknown are refused, also of one without letters") {
    for (const char* const type : {"x", ""}) {
        sample file;
        file.component("type", cbor::text(type));
        const reader from = support::opened(file.file());
        CHECK(from.read_as<float>("w").error().code() == errc::unsupported_type);
        CHECK(from.read<float>("w").has_value()); // asked for as the storage type
    }
}

TEST_CASE("E10: values times dimensions that need more than 64 bits are refused") {
    sample file;
    file.parts("sparse_coo", {2, 2, 2}, {{"coords", "u64", 64, 0}, {"values", "u8", 64, two_to_63}});
    const bytes index = file.index();
    const bytes tail = index + support::little_endian(index.size(), 8) + bytes(support::magic_1);
    const auto source =
        std::make_shared<support::source_with_holes>(64 + two_to_63 + tail.size(), bytes(support::magic_1), tail);
    const result<reader> opened = reader::from_source(source);
    REQUIRE(!opened);
    CHECK(opened.error().code() == errc::shape_overflow);
    CHECK(opened.error().object() == "w");
}

TEST_CASE("F7 to F16: a zstd blob that is not what was declared is refused when it is read") {
    const bytes abc = "abc";
    const bytes with_checksum = zstd::magic + "\x04\x38" + zstd::raw_block(abc);
    const bytes checksum = "\x99\x09\x77\xad"; // the low half of XXH64("abc"), 44bc2cf5ad770999
    const bytes one = zstd::frame(zstd::raw_block(abc));
    const bytes skippable = zstd::skippable_frame("anything");
    const auto blob = [](bytes frames, std::uint64_t decoded) -> change {
        return [=](sample& file) { file.dtype("u8").shape({decoded}).zstd_blob(frames, decoded); };
    };
    const std::vector<use> all = {reads<std::uint8_t>, reads<std::byte>, converts<float>,
                                  reads_first_row<std::uint8_t>};
    const auto legacy = [](char first) { return bytes(1, first) + "\xb5\x2f\xfd" + bytes(20, '\0'); };
    check_uses({
        {"one frame", blob(one, 3), all, accepted},
        {"F7: more bytes than declared", blob(one, 2), all, errc::decode_size},
        {"F7: fewer bytes than declared", blob(one, 4), all, errc::decode_size},
        {"F7: a frame that states its size", blob(zstd::sized_frame(abc, 3), 3), all, accepted},
        {"F7: a frame that states more", blob(zstd::sized_frame(abc, 4), 4), all, errc::decode_failed},
        {"F7: a frame that states less", blob(zstd::sized_frame(abc, 2), 3), all, errc::decode_failed},
        {"F8: a window of 2^30 bytes", blob(zstd::frame(zstd::raw_block(abc), 30), 3), all, accepted},
        {"F8: a window of 2^41 bytes", blob(zstd::frame(zstd::raw_block(abc), 41), 3), all, errc::decode_failed},
        {"F9: two frames", blob(one + one, 6), all, accepted},
        {"F9: two frames, of which one is declared", blob(one + one, 3), all, errc::decode_size},
        {"F9: two frames, where three are declared", blob(one + one, 9), all, errc::decode_size},
        {"F10: frames to be skipped", blob(skippable + one + skippable, 3), all, accepted},
        {"F10: nothing but a frame to be skipped", blob(skippable, 8), all, errc::decode_size},
        {"F10: a byte behind", blob(one + "x", 3), all, errc::decode_failed},
        {"F10: four bytes behind", blob(one + "junk", 3), all, errc::decode_failed},
        {"F10: zeros behind", blob(one + bytes(64, '\0'), 3), all, errc::decode_failed},
        {"F10: a frame to be skipped that is cut off", blob(one + skippable.substr(0, 12), 3), all,
         errc::decode_failed},
        {"F10: a frame to be skipped of 2^32 - 1 bytes", blob(one + "\x50\x2a\x4d\x18\xff\xff\xff\xff", 3), all,
         errc::decode_failed},
        {"F11: a frame of zstd 0.5", blob(legacy('\x25'), 3), all, errc::decode_failed},
        {"F11: a frame of zstd 0.6", blob(legacy('\x26'), 3), all, errc::decode_failed},
        {"F11: a frame of zstd 0.7", blob(legacy('\x27'), 3), all, errc::decode_failed},
        {"F11: a legacy frame behind a current one", blob(one + legacy('\x27'), 3), all, errc::decode_failed},
        {"F12: a frame that wants a dictionary", blob(zstd::magic + "\x01\x38\x2a" + zstd::raw_block(abc), 3), all,
         errc::decode_failed},
        {"F13: a checksum", blob(with_checksum + checksum, 3), all, accepted},
        {"F13: another checksum", blob(with_checksum + "\x98\x09\x77\xad", 3), all, errc::decode_failed},
        {"F13: a checksum that is cut off", blob(with_checksum + checksum.substr(0, 3), 3), all, errc::decode_failed},
        {"F14: cut off", blob(one.substr(0, one.size() - 1), 3), all, errc::decode_failed},
        {"F14: no last block", blob(zstd::frame(zstd::raw_block(abc, false)), 3), all, errc::decode_failed},
        {"F14: a reserved kind of block", blob(zstd::frame(zstd::block(3, 3, abc, true)), 3), all, errc::decode_failed},
        {"F14: no frame at all", blob("no frame", 3), all, errc::decode_failed},
        {"F14: a blob of no bytes", blob("", 0), {reads<std::uint8_t>, reads<std::byte>, converts<float>}, accepted},
        {"of complex numbers",
         both(blob(zstd::frame(zstd::run_block(8, '\0')), 8),
              [](sample& file) {
                  file.shape({1}).dtype(file.version() == version::v1_1 ? "complex64" : "f32");
                  if (file.version() == version::v1_2) {
                      file.component("type", cbor::text("complex64"));
                  }
              }),
         {reads<std::complex<float>>, reads<float>},
         accepted,
         since_1_1},
        {"F16: empty blocks",
         blob(zstd::frame(support::repeated(10'000, zstd::raw_block("", false)) + zstd::raw_block(abc)), 3), all,
         accepted},
        {"F6: as much as a block can hold", blob(zstd::frame(zstd::run_block(1 << 17, 'x')), 1 << 17), all, accepted},
    });
    // Where no size is declared, the number of whole elements is what is left to check.
    const change part_of_element = [=](sample& file) { file.object("format", cbor::text("own")).zstd_blob(one, 4); };
    check_uses({
        {"F7: part of an element", part_of_element, {reads_component<float>}, errc::size_mismatch, in_1_0 | in_1_1},
        {"F7: its bytes", part_of_element, {reads_component<std::byte>}, accepted, before_1_2},
    });
}

TEST_CASE("G1 to G3: a digest that does not match is refused when all of the blob is read") {
    // Computed outside of this project: CRC-32C and SHA-256 of the eight bytes 00 00 80 3f 00 00 00 40.
    const bytes crc = "crc32c:0x28C0C9B1";
    const bytes sha = "sha256:b9c80b5adeca450753a16950c3cc655d271f7bef7a485bc83f112b72fef21d37";
    const auto with_digest = [](bytes text) { return component("digest", cbor::text(text)); };
    const std::vector<use> whole = {reads<float>, reads<std::byte>, reads_two_into<float>, converts<float>};
    const read_options trusting = read_options().verify_digests(false);
    const bytes frame = zstd::frame(zstd::raw_block(bytes(8, 'x')));
    const change compressed = [=](sample& file) { file.zstd_blob(frame, 8); };
    check_uses({
        {"crc32c", with_digest(crc), whole, accepted},
        {"crc32c of other bytes", with_digest("crc32c:0x00000000"), whole, errc::digest_mismatch},
        {"crc32c of other bytes, unchecked", with_digest("crc32c:0x00000000"), whole, accepted, in_all, trusting},
        {"crc32c of other bytes, and rows alone", with_digest("crc32c:0x00000000"), {reads_first_row<float>}, accepted},
        {"sha256", with_digest(sha), whole, accepted},
        {"sha256 of other bytes", with_digest("sha256:" + bytes(64, '0')), whole, errc::digest_mismatch},
        {"G1: an unknown algorithm", with_digest("blake3:00"), whole, accepted},
        {"over the stored bytes of zstd", both(compressed, with_digest("crc32c:0x00000000")), whole,
         errc::digest_mismatch},
        {"compressed rows",
         both(compressed, with_digest("crc32c:0x00000000")),
         {reads_first_row<float>},
         errc::digest_mismatch},
    });

    const std::pair<bytes, std::array<std::uint64_t, 4>> counts[] = {
        // match, mismatch, absent, unsupported
        {crc, {1, 0, 0, 0}},         {sha, {1, 0, 0, 0}}, {"crc32c:00000000", {0, 1, 0, 0}},
        {"blake3:00", {0, 0, 0, 1}}, {"", {0, 0, 1, 0}},
    };
    const temp_dir directory;
    for (const auto& [text, expected] : counts) {
        sample file;
        if (!text.empty()) {
            with_digest(text)(file);
        }
        for (const opening& opened : open_every_way(file.file(), directory)) {
            CAPTURE(text, opened.way);
            const ztensor::verification found = opened.file.value().verify().value();
            CHECK(found.verified == expected[0]);
            CHECK(found.mismatches.size() == expected[1]);
            CHECK(found.absent == expected[2]);
            CHECK(found.unsupported == expected[3]);
            CHECK(found.ok() == (expected[1] == 0));
            CHECK(found.complete() == (expected[0] == 1));
        }
    }
}

TEST_CASE("rows of data whose size only decoding tells are decoded") {
    sample file(version::v1_1);
    const bytes content = support::little_endian(0x3f800000, 4) + support::little_endian(0x40000000, 4);
    file.zstd_blob(zstd::frame(zstd::raw_block(content)), 8).component("type", cbor::text("q8.24_fixed"));
    const reader opened = support::opened(file.file());
    CHECK(opened.read<float>("w").value() == std::vector<float>{1, 2});
    CHECK(opened["w"].rows(1, 2).read<float>().value() == std::vector<float>{2});
}

TEST_CASE("what is asked for must be there, and fit") {
    const auto without_row = [](const reader& file) { return support::done(file["w"].rows(1, 3).read<float>()); };
    const auto backwards = [](const reader& file) { return support::done(file["w"].rows(2, 1).read<float>()); };
    const auto three = [](const reader& file) {
        std::array<float, 3> destination{};
        return file.read_into("w", destination);
    };
    const auto another_object = [](const reader& file) { return support::done(file.read<float>("v")); };
    const auto another_role = [](const reader& file) { return support::done(file.find("w")->component("values")); };
    check_uses({
        {"rows behind the last", as_good_as_ever, {without_row, backwards}, errc::out_of_bounds, in_all, {}, "w/"},
        {"rows of a scalar",
         [](sample& file) { file.dtype("f64").shape({}); },
         {reads_first_row<double>},
         errc::out_of_bounds,
         in_all,
         {},
         "w/"},
        {"another number of elements", as_good_as_ever, {three}, errc::size_mismatch},
        {"an object that is not there", as_good_as_ever, {another_object}, errc::object_not_found, in_all, {}, "v/"},
        {"a component that is not there", as_good_as_ever, {another_role}, errc::component_not_found, in_all, {}, "w/"},
    });

    sample file;
    attribute_value(cbor::text("v"))(file);
    const reader opened = support::opened(file.file());
    CHECK(opened.attributes().integer("nothing").error().code() == errc::attribute_not_found);
    CHECK(opened.attributes().integer("k").error().code() == errc::attribute_type);
    CHECK(opened.attributes().text("k").value() == "v");
}

TEST_CASE("numbers that 64 bits can't count in bytes are refused, whatever the limit") {
    const std::uint64_t length = std::uint64_t{1} << 62;
    sample file;
    file.dtype("u8").shape({length}).place(64, length);
    const bytes index = file.index();
    const bytes tail = index + support::little_endian(index.size(), 8) + bytes(support::magic_1);
    const auto source =
        std::make_shared<support::source_with_holes>(64 + length + tail.size(), bytes(support::magic_1), tail);
    const reader unlimited = reader::from_source(source, read_options().max_decoded_bytes(largest)).value();
    constexpr bool fits_host = sizeof(std::size_t) == sizeof(std::uint64_t); // else that is said first
    CHECK(unlimited.read_as<double>("w").error().code() ==
          (fits_host ? errc::limit_exceeded : errc::too_large_for_host));
}
