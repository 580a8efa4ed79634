// SPDX-License-Identifier: MIT
//
// Reading elements: views, copies, rows and conversions, each with everything that can keep it from working.
#include "read/read_samples.hpp"
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/watched_source.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/float_types.hpp>
#include <ztensor/import.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

/// A half of someone else's making.
struct foreign_half {
    std::uint16_t bits = 0;
};

/// A number with eight bits behind the point: a logical type that this library has never heard of.
struct fixed_8_8 {
    std::int16_t raw = 0;
};

} // namespace

template <>
struct ztensor::element_traits<foreign_half> : ztensor::stored_as<ztensor::dtype::f16> {};

template <>
struct ztensor::element_traits<fixed_8_8> : ztensor::stored_as<ztensor::dtype::i16> {
    static constexpr std::string_view type = "q8.8_fixed";
};

namespace {

using read_samples::elements_in;
using read_samples::first_numbers;
using read_samples::floats;
using read_samples::read;
using read_samples::shorts;
using read_samples::twelve_compressed;
using read_samples::twelve_floats;
using read_samples::values_of_unknown_size;
using read_samples::viewable;
using support::bytes;
using support::host_is_little_endian;
using support::little_endian;
using support::opened;
using support::outcome;
using support::sample;
using support::temp_dir;
using support::to_memory;
using support::to_vector;
using support::watch;
using support::watched;
using ztensor::bytes_view;
using ztensor::component_view;
using ztensor::errc;
using ztensor::error;
using ztensor::object_view;
using ztensor::read_options;
using ztensor::reader;
using ztensor::result;
using ztensor::span;
using ztensor::version;
namespace cbor = support::cbor;
namespace zstd = support::zstd;

/// Answers for one object or component, as they depend on the type that is asked for.
template <class T>
std::string viewed(const reader& file) {
    return outcome(file.view<T>("w"));
}

/// What a view of such elements shows; a host of the other byte order must refuse it, and gets them by reading.
template <class T>
std::vector<T> seen_in_view(const reader& file, std::string_view name = "w") {
    const result<span<const T>> view = file.view<T>(name);
    if (host_is_little_endian()) {
        return elements_in(view.value());
    }
    CHECK(outcome(view) == "needs_byteswap");
    return file.read<T>(name).value();
}

} // namespace

// -- every way to the elements

TEST_CASE("view, read, read_into and read_rows give the same elements, however the file is reached") {
    const temp_dir directory;
    const std::vector<float> expected = first_numbers(12);
    for (const support::opening& each : support::open_every_way(twelve_floats().file(), directory)) {
        CAPTURE(each.way);
        const reader& file = each.file.value();
        CHECK(file.read<float>("w").value() == expected);
        CHECK(file["w"].rows(0, 6).read<float>().value() == expected);
        CHECK(file.read_as<float>("w").value() == expected);
        std::vector<float> vector(12);
        CHECK(outcome(file.read_into("w", vector)) == "ok");
        CHECK(vector == expected);
        std::array<float, 12> array{};
        CHECK(outcome(file.read_into("w", array)) == "ok");
        CHECK(std::equal(array.begin(), array.end(), expected.begin()));
        std::vector<float> larger(14, -1.0F);
        CHECK(outcome(file.read_into("w", span<float>(larger).subspan(1, 12))) == "ok");
        CHECK(larger.front() == -1.0F);
        CHECK(larger.back() == -1.0F);
        CHECK(std::equal(expected.begin(), expected.end(), larger.begin() + 1));
        if (file.is_mapped()) {
            CHECK(seen_in_view<float>(file) == expected);
        } else {
            CHECK(viewed<float>(file) == "not_viewable");
        }
        CHECK(file.is_mapped() == each.is_mapped);
    }
}

TEST_CASE("compressed elements are read like others, and never viewed") {
    const temp_dir directory;
    const std::vector<float> expected = first_numbers(12);
    for (const ztensor::version version : {version::v0_1, version::v1_0, version::v1_1, version::v1_2}) {
        for (const support::opening& each : support::open_every_way(twelve_compressed(version).file(), directory)) {
            CAPTURE(each.way, name(version));
            const reader& file = each.file.value();
            CHECK(viewed<float>(file) == "not_viewable");
            CHECK(viewed<std::byte>(file) == "not_viewable");
            CHECK(file.read<float>("w").value() == expected);
            CHECK(file["w"].rows(2, 4).read<float>().value() == std::vector<float>{4, 5, 6, 7});
            CHECK(file.read_as<double>("w").value() == std::vector<double>(expected.begin(), expected.end()));
            std::vector<float> into(12);
            CHECK(outcome(file.read_into("w", into)) == "ok");
            CHECK(into == expected);
            std::vector<float> fewer(11);
            CHECK(outcome(file.read_into("w", fewer)) == "size_mismatch");
        }
    }
}

TEST_CASE("an object, a component and a reader answer alike") {
    const reader file = opened(twelve_floats().file());
    const object_view object = file.find("w").value();
    const component_view data = object.component("data").value();
    CHECK(object.read<float>().value() == first_numbers(12));
    CHECK(data.read<float>().value() == first_numbers(12));
    CHECK(object.view<std::byte>().value().data() == file.view<std::byte>("w").value().data());
    CHECK(data.view<std::byte>().value().data() == file.view<std::byte>("w").value().data());
    CHECK(outcome(object.view<float>()) == viewable);
    CHECK(outcome(data.view<float>()) == viewable);
    CHECK(data.part(1, 2, 6).read<float>().value() == object.rows(1, 2).read<float>().value());
    CHECK(data.role() == "data");
    CHECK(object.name() == "w");
    CHECK(object.element_count() == 12);
    CHECK(object.shape() == ztensor::shape{6, 2});
}

TEST_CASE("what is not there is not found") {
    const reader file = opened(twelve_floats().file());
    for (const std::string_view absent : {"", "W", "w ", "ww"}) {
        CAPTURE(std::string(absent));
        CHECK_FALSE(file.contains(absent));
        CHECK(outcome(file.find(absent)) == "object_not_found");
        CHECK(outcome(file.view<float>(absent)) == "object_not_found");
        CHECK(outcome(file.read<float>(absent)) == "object_not_found");
        CHECK(outcome(file.read_as<float>(absent)) == "object_not_found");
        CHECK(outcome(file[absent].rows(0, 1).read<float>()) == "object_not_found");
        std::vector<float> into(12);
        CHECK(outcome(file.read_into(absent, into)) == "object_not_found");
    }
    CHECK(file.contains("w"));
    CHECK(outcome(file.find("w").value().component("values")) == "component_not_found");
    const error missing = file.find("w").value().component("values").error();
    CHECK(missing.object() == "w");
}

TEST_CASE("only dense objects are read by name") {
    const reader file = opened(values_of_unknown_size().file());
    CHECK(viewed<float>(file) == "unsupported_format");
    CHECK(read<float>(file) == "unsupported_format");
    CHECK(outcome(file.read_as<float>("w")) == "unsupported_format");
    CHECK(outcome(file["w"].rows(0, 1).read<float>()) == "unsupported_format");
    std::vector<float> into(3);
    CHECK(outcome(file.read_into("w", into)) == "unsupported_format");
    CHECK(file.read<float>("w").error().object() == "w");

    const reader unknown = opened(sample().object("format", cbor::text("my_layout")).file());
    CHECK(read<float>(unknown) == "unsupported_format");
    CHECK(unknown.find("w").value().component("data").value().read<float>().value() == std::vector<float>{1, 2});
}

TEST_CASE("an error says in which file, object and component it happened") {
    const temp_dir directory;
    for (const support::opening& each : support::open_every_way(twelve_floats().file(), directory)) {
        CAPTURE(each.way);
        const error wrong_type = each.file.value().read<double>("w").error();
        CHECK(wrong_type.code() == errc::type_mismatch);
        CHECK(wrong_type.object() == "w");
        CHECK(wrong_type.component() == "data");
        CHECK(wrong_type.path().empty() != each.is_path);
        CHECK((wrong_type.path().find("file.zt") != std::string::npos) == each.is_path);
    }
}

// -- types

TEST_CASE("elements are given out as their own type and no other") {
    const reader file = opened(twelve_floats().file());
    CHECK(read<float>(file) == "ok");
    CHECK(viewed<float>(file) == viewable);
    CHECK(read<double>(file) == "type_mismatch");
    CHECK(viewed<double>(file) == "type_mismatch");
    CHECK(read<std::int32_t>(file) == "type_mismatch");
    CHECK(read<std::uint32_t>(file) == "type_mismatch");
    CHECK(read<bool>(file) == "type_mismatch");
    CHECK(read<std::uint8_t>(file) == "type_mismatch");
    CHECK(read<std::complex<float>>(file) == "type_mismatch");
    CHECK(viewed<std::complex<float>>(file) == "type_mismatch");
    std::vector<std::int32_t> into(12);
    CHECK(outcome(file.read_into("w", into)) == "type_mismatch");
    CHECK(outcome(file["w"].rows(0, 1).read<std::int32_t>()) == "type_mismatch");

    const reader signed_ones = opened(sample().dtype("i32").file());
    CHECK(read<std::int32_t>(signed_ones) == "ok");
    CHECK(read<std::uint32_t>(signed_ones) == "type_mismatch");
    const reader bytes_of_it = opened(sample().dtype("u8").shape({8}).file());
    CHECK(read<std::uint8_t>(bytes_of_it) == "ok");
    CHECK(read<bool>(bytes_of_it) == "type_mismatch");
    CHECK(read<std::int8_t>(bytes_of_it) == "type_mismatch");
    CHECK(read<ztensor::float8_e5m2>(bytes_of_it) == "type_mismatch");
    const reader halves = opened(sample().dtype("f16").shape({4}).file());
    CHECK(read<ztensor::float16>(halves) == "ok");
    CHECK(read<ztensor::bfloat16>(halves) == "type_mismatch");
    CHECK(read<std::uint16_t>(halves) == "type_mismatch");
}

TEST_CASE("the decoded bytes of any component can be had") {
    const bytes content = floats({1, 2});
    const reader raw = opened(sample().file());
    CHECK(raw.read<std::byte>("w").value() == to_vector(content));
    CHECK(elements_in(raw.find("w").value().data().value().bytes().value()) == to_vector(content));
    const reader compressed = opened(sample().zstd_blob(zstd::frame(zstd::raw_block(content)), 8).file());
    CHECK(compressed.read<std::byte>("w").value() == to_vector(content));
    const reader unknown = opened(sample().dtype("f128").file());
    CHECK(unknown.read<std::byte>("w").value() == to_vector(content));
    CHECK(elements_in(unknown.view<std::byte>("w").value()) == to_vector(content));
    const reader big = opened(sample(version::v0_1).component("data_endianness", cbor::text("big")).file());
    CHECK(big.read<std::byte>("w").value() == to_vector(content)); // in the file's order
}

TEST_CASE("an unknown storage type is refused by name when it is used") {
    const reader file = opened(sample().dtype("f128").file());
    CHECK(read<float>(file) == "unknown_dtype");
    CHECK(viewed<float>(file) == "unknown_dtype");
    CHECK(outcome(file.read_as<float>("w")) == "unknown_dtype");
    CHECK(outcome(file["w"].rows(0, 1).read<float>()) == "unknown_dtype");
    CHECK(file.read<float>("w").error().what().find("\"f128\"") != std::string::npos);
    const component_view data = file.find("w").value().data().value();
    CHECK_FALSE(data.dtype().is_known());
    CHECK(data.dtype().text() == "f128");
}

TEST_CASE("an unknown encoding is refused by name when it is used, and the stored bytes are there") {
    const reader file = opened(sample().component("encoding", cbor::text("lz77")).file());
    CHECK(read<float>(file) == "unsupported_encoding");
    CHECK(viewed<float>(file) == "unsupported_encoding");
    CHECK(read<std::byte>(file) == "unsupported_encoding");
    CHECK(outcome(file.read_as<float>("w")) == "unsupported_encoding");
    CHECK(outcome(file["w"].rows(0, 1).read<float>()) == "unsupported_encoding");
    CHECK(file.read<float>("w").error().what().find("\"lz77\"") != std::string::npos);
    const component_view data = file.find("w").value().data().value();
    CHECK_FALSE(data.encoding().is_known());
    CHECK_FALSE(data.decoded_bytes().has_value());
    CHECK(data.bytes().value().size() == 8);
    std::vector<std::byte> stored(8);
    CHECK(outcome(data.read_stored_into(stored)) == "ok");
    CHECK(stored == to_vector(floats({1, 2})));
}

TEST_CASE("a logical type is read as itself or as what is stored") {
    const reader complex =
        opened(sample().shape({2}).blob(floats({1, 2, 3, 4})).component("type", cbor::text("complex64")).file());
    CHECK(complex.read<std::complex<float>>("w").value() == std::vector<std::complex<float>>{{1, 2}, {3, 4}});
    CHECK(seen_in_view<std::complex<float>>(complex) == std::vector<std::complex<float>>{{1, 2}, {3, 4}});
    CHECK(complex.read<float>("w").value() == std::vector<float>{1, 2, 3, 4});
    CHECK(complex["w"].rows(1, 2).read<std::complex<float>>().value() == std::vector<std::complex<float>>{{3, 4}});
    CHECK(complex["w"].rows(1, 2).read<float>().value() == std::vector<float>{3, 4});
    CHECK(read<std::complex<double>>(complex) == "type_mismatch");
    CHECK(outcome(complex.read_as<float>("w")) == "unsupported_type");

    const reader eighths =
        opened(sample().dtype("u8").blob("\x38\xc0").component("type", cbor::text("f8_e4m3fn")).file());
    CHECK(eighths.read<ztensor::float8_e4m3fn>("w").value()[1].bits() == 0xc0);
    CHECK(eighths.read<std::uint8_t>("w").value() == std::vector<std::uint8_t>{0x38, 0xc0});
    CHECK(read<ztensor::float8_e5m2>(eighths) == "type_mismatch");
    CHECK(read<ztensor::float8_e4m3fnuz>(eighths) == "type_mismatch");
    CHECK(eighths.read_as<float>("w").value() == std::vector<float>{1, -2});

    const reader same = opened(sample().component("type", cbor::text("f32")).file());
    CHECK(same.read<float>("w").value() == std::vector<float>{1, 2});
    CHECK(same.read_as<double>("w").value() == std::vector<double>{1, 2});
}

TEST_CASE("an unknown logical type is read as what is stored, and as nothing else") {
    const reader file = opened(
        sample().dtype("i16").shape({4}).blob(shorts({1, -2})).component("type", cbor::text("two_in_one")).file());
    CHECK(file.read<std::int16_t>("w").value() == std::vector<std::int16_t>{1, -2});
    CHECK(seen_in_view<std::int16_t>(file) == std::vector<std::int16_t>{1, -2});
    CHECK(read<std::uint16_t>(file) == "type_mismatch");
    CHECK(read<fixed_8_8>(file) == "type_mismatch");
    CHECK(read<ztensor::float16>(file) == "type_mismatch");
    CHECK(outcome(file.read_as<float>("w")) == "unsupported_type");
    CHECK(file.read_as<float>("w").error().what().find("two_in_one") != std::string::npos);
    CHECK(file.find("w").value().data().value().type().text() == "two_in_one");
    // Two stored elements make no four rows.
    CHECK(outcome(file["w"].rows(0, 1).read<std::int16_t>()) == "out_of_bounds");
}

TEST_CASE("types of the user's own are written, read and viewed like the library's") {
    const std::vector<foreign_half> halves = {{0x3c00}, {0xc000}};
    const std::vector<fixed_8_8> fixed = {{256}, {-128}};
    ztensor::writer out = to_memory();
    out.add("halves", {2}, halves).value();
    out.add("fixed", {2}, fixed, ztensor::store().zstd()).value();
    out.add("raw fixed", {2}, fixed).value();
    out.add("plain", {2}, std::vector<std::int16_t>{1, 2}).value();
    out.finish().value();
    const reader file = reader::from_bytes(out.take_bytes()).value();

    CHECK(file.find("halves").value().data().value().dtype() == ztensor::dtype::f16);
    CHECK(file.read<ztensor::float16>("halves").value()[0].bits() == 0x3c00);
    CHECK(file.read<foreign_half>("halves").value()[1].bits == 0xc000);
    CHECK(seen_in_view<foreign_half>(file, "halves")[1].bits == 0xc000);
    CHECK(file.read_as<float>("halves").value() == std::vector<float>{1, -2});

    CHECK(file.find("fixed").value().data().value().type().text() == "q8.8_fixed");
    CHECK(file.read<fixed_8_8>("fixed").value()[1].raw == -128);
    CHECK(seen_in_view<fixed_8_8>(file, "raw fixed")[0].raw == 256);
    CHECK(file["raw fixed"].rows(1, 2).read<fixed_8_8>().value()[0].raw == -128);
    CHECK(file.read<std::int16_t>("fixed").value() == std::vector<std::int16_t>{256, -128});
    CHECK(outcome(file.read<fixed_8_8>("plain")) == "type_mismatch");
    CHECK(outcome(file.read_as<float>("fixed")) == "unsupported_type");
}

TEST_CASE("elements that no whole number of the type asked for makes up are refused") {
    const reader file = opened(sample()
                                   .parts("own", {}, {{"c", "f32", 64, 12, {{"type", cbor::text("complex64")}}}})
                                   .blobs({floats({1, 2, 3})})
                                   .file());
    const component_view three = file.find("w").value().component("c").value();
    CHECK(outcome(three.read<std::complex<float>>()) == "size_mismatch");
    CHECK(outcome(three.view<std::complex<float>>()) == (host_is_little_endian() ? "size_mismatch" : "needs_byteswap"));
    CHECK(three.read<float>().value() == std::vector<float>{1, 2, 3});
}

// -- bools

TEST_CASE("a bool byte other than 0 and 1 is refused in 1.x") {
    for (const ztensor::version version : {version::v1_0, version::v1_1, version::v1_2}) {
        CAPTURE(name(version));
        const reader good = opened(sample(version).dtype("bool").shape({3}).blob(bytes("\x01\x00\x01", 3)).file());
        CHECK(good.read<bool>("w").value() == std::vector<bool>{true, false, true});
        for (const char wrong : {'\x02', '\x80', '\xff'}) {
            const bytes content = bytes("\x00\x01", 2) + wrong;
            const reader file = opened(sample(version).dtype("bool").shape({3}).blob(content).file());
            CHECK(read<bool>(file) == "bad_bool");
            CHECK(outcome(file.read_as<float>("w")) == "bad_bool");
            std::array<bool, 3> into = {true, true, true};
            CHECK(outcome(file.read_into("w", into)) == "bad_bool");
            CHECK(file.read<std::uint8_t>("w").value() ==
                  std::vector<std::uint8_t>{0, 1, static_cast<std::uint8_t>(wrong)});
            CHECK(file.view<std::uint8_t>("w").value()[2] == static_cast<std::uint8_t>(wrong));
            const reader compressed = opened(
                sample(version).dtype("bool").shape({3}).zstd_blob(zstd::frame(zstd::raw_block(content)), 3).file());
            CHECK(read<bool>(compressed) == "bad_bool");
        }
    }
}

TEST_CASE("any bool byte but 0 is true in 0.1") {
    const bytes content("\x00\x01\x02\xff", 4);
    for (const bool is_compressed : {false, true}) {
        sample described = sample(version::v0_1).dtype("bool").shape({4}).blob(content);
        if (is_compressed) {
            described.zstd_blob(zstd::frame(zstd::raw_block(content)), 4);
        }
        const reader file = opened(described.file());
        CHECK(file.read<bool>("w").value() == std::vector<bool>{false, true, true, true});
        CHECK(file.read_as<float>("w").value() == std::vector<float>{0, 1, 1, 1});
        std::array<bool, 4> into{};
        CHECK(outcome(file.read_into("w", into)) == "ok");
        std::array<unsigned char, 4> raw{};
        std::memcpy(raw.data(), into.data(), 4);
        CHECK(raw == std::array<unsigned char, 4>{0, 1, 1, 1});
        CHECK(file.read<std::uint8_t>("w").value() == std::vector<std::uint8_t>{0, 1, 2, 255});
        CHECK(file["w"].rows(1, 3).read<bool>().value() == std::vector<bool>{true, true});
    }
}

TEST_CASE("rows of bools are judged by their own bytes") {
    const reader file = opened(sample().dtype("bool").shape({4, 1}).blob(bytes("\x01\x00\x01\x02", 4)).file());
    CHECK(file["w"].rows(0, 3).read<bool>().value() == std::vector<bool>{true, false, true});
    CHECK(outcome(file["w"].rows(3, 4).read<bool>()) == "bad_bool");
}

// -- sizes

TEST_CASE("a destination of another size is refused") {
    const reader file = opened(twelve_floats().file());
    for (const std::size_t size : {0u, 1u, 11u, 13u, 24u}) {
        CAPTURE(size);
        std::vector<float> into(size);
        CHECK(outcome(file.read_into("w", into)) == "size_mismatch");
    }
    const error refused = [&] {
        std::vector<float> into(11);
        return file.read_into("w", into).error();
    }();
    CHECK(refused.what().find("11") != std::string::npos);
    CHECK(refused.what().find("12") != std::string::npos);
}

TEST_CASE("tensors without elements are read, viewed and cut") {
    for (const std::vector<std::uint64_t>& dimensions :
         {std::vector<std::uint64_t>{0}, std::vector<std::uint64_t>{0, 3}, std::vector<std::uint64_t>{3, 0}}) {
        const bool has_rows = dimensions[0] == 3;
        const reader file = opened(sample().shape(dimensions).blob("").file());
        CHECK(seen_in_view<float>(file).empty());
        CHECK(file.read<float>("w").value().empty());
        CHECK(file.read_as<float>("w").value().empty());
        std::vector<float> into;
        CHECK(outcome(file.read_into("w", into)) == "ok");
        CHECK(file["w"].rows(0, 0).read<float>().value().empty());
        CHECK(outcome(file["w"].rows(0, 3).read<float>()) == (has_rows ? "ok" : "out_of_bounds"));
        CHECK(file.find("w").value().element_count() == 0);
        const reader compressed =
            opened(sample().shape(dimensions).zstd_blob(zstd::frame(zstd::raw_block("")), 0).file());
        CHECK(compressed.read<float>("w").value().empty());
        CHECK(compressed["w"].rows(0, 0).read<float>().value().empty());
        const reader nothing_at_all = opened(sample().shape(dimensions).zstd_blob("", 0).file());
        CHECK(nothing_at_all.read<float>("w").value().empty());
    }
}

TEST_CASE("a scalar has one element and no rows") {
    const reader file = opened(sample().shape({}).blob(floats({7})).file());
    CHECK(seen_in_view<float>(file) == std::vector<float>{7});
    CHECK(file.read<float>("w").value() == std::vector<float>{7});
    CHECK(outcome(file["w"].rows(0, 1).read<float>()) == "out_of_bounds");
    CHECK(outcome(file["w"].rows(0, 0).read<float>()) == "out_of_bounds");
}

TEST_CASE("a size that only decoding tells is found by decoding") {
    const temp_dir directory;
    for (const support::opening& each : support::open_every_way(values_of_unknown_size().file(), directory)) {
        CAPTURE(each.way);
        const component_view values = each.file.value().find("w").value().component("values").value();
        CHECK_FALSE(values.decoded_bytes().has_value());
        CHECK(values.read<float>().value() == std::vector<float>{1, 2, 3});
        CHECK(values.read_as<double>().value() == std::vector<double>{1, 2, 3});
        CHECK(values.read<std::byte>().value().size() == 12);
        std::vector<float> into(3);
        CHECK(outcome(values.read_into(into)) == "ok");
        CHECK(into == std::vector<float>{1, 2, 3});
        std::vector<float> fewer(2);
        std::vector<float> more(4);
        CHECK(outcome(values.read_into(fewer)) != "ok");
        CHECK(outcome(values.read_into(more)) != "ok");
        CHECK(outcome(values.read<std::int32_t>()) == "type_mismatch");
        CHECK(values.part(1, 3, 3).read<float>().value() == std::vector<float>{2, 3});
    }
    const reader limited = opened(values_of_unknown_size().file(), read_options().max_decoded_bytes(11));
    CHECK(outcome(limited.find("w").value().component("values").value().read<float>()) == "limit_exceeded");
    const reader enough = opened(values_of_unknown_size().file(), read_options().max_decoded_bytes(24));
    CHECK(outcome(enough.find("w").value().component("values").value().read<float>()) == "ok");
}

TEST_CASE("rows of a tensor whose decoded size only decoding tells are its rows") {
    const reader file = opened(twelve_compressed(version::v1_1).dtype("f128").file());
    const bytes all = floats(first_numbers(12));
    CHECK(file["w"].rows(1, 2).read<std::byte>().value() == to_vector(all.substr(8, 8)));
    CHECK(file["w"].rows(0, 6).read<std::byte>().value() == to_vector(all));
}

TEST_CASE("more bytes than the caller's limit are refused before they are read") {
    const auto at_most = [](std::uint64_t limit) { return read_options().max_decoded_bytes(limit); };
    CHECK(read<float>(opened(twelve_floats().file(), at_most(48))) == "ok");
    CHECK(read<float>(opened(twelve_compressed().file(), at_most(48))) == "ok");
    for (const bytes& content : {twelve_floats().file(), twelve_compressed().file()}) {
        const watched over = watch(content, false, at_most(47));
        CHECK(read<float>(over.file) == "limit_exceeded");
        CHECK(outcome(over.file.read_as<float>("w")) == "limit_exceeded");
        std::vector<float> into(12);
        CHECK(outcome(over.file.read_into("w", into)) == "limit_exceeded");
        CHECK(over.source->reads.empty());
    }
    CHECK(viewed<float>(opened(twelve_floats().file(), at_most(0))) == viewable); // takes no memory
}

TEST_CASE("what this host can't address is refused when it is used, not when it is opened") {
    const std::uint64_t size = std::uint64_t{1} << 63;
    const bytes index = sample().dtype("u8").shape({size}).place(64, size).index();
    const bytes tail = index + little_endian(index.size(), 8) + bytes(support::magic_1);
    const auto source =
        std::make_shared<support::source_with_holes>(64 + size + tail.size(), bytes(support::magic_1), tail);
    const reader by_default = reader::from_source(source).value();
    CHECK(read<std::uint8_t>(by_default) == "limit_exceeded");
    const reader unlimited =
        reader::from_source(source, read_options().max_decoded_bytes(std::numeric_limits<std::uint64_t>::max()))
            .value();
    CHECK(read<std::uint8_t>(unlimited) == "too_large_for_host");
    CHECK(outcome(unlimited.read_as<float>("w")) == "too_large_for_host");
    CHECK(viewed<std::uint8_t>(unlimited) == "not_viewable");
    std::vector<std::uint8_t> into(8);
    CHECK(outcome(unlimited.read_into("w", into)) != "ok");
    CHECK(unlimited.find("w").value().element_count() == size);
    CHECK(source->largest_read() < 4096);
}

// -- rows

TEST_CASE("every range of rows is what it is in the whole") {
    for (const bytes& content : {twelve_floats().file(), twelve_compressed().file()}) {
        const reader file = opened(content);
        const std::vector<float> all = first_numbers(12);
        for (std::size_t first = 0; first <= 6; ++first) {
            for (std::size_t last = first; last <= 6; ++last) {
                CAPTURE(first, last);
                CHECK(file["w"].rows(first, last).read<float>().value() ==
                      std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(2 * first),
                                         all.begin() + static_cast<std::ptrdiff_t>(2 * last)));
            }
        }
    }
}

TEST_CASE("rows that are not there are out of bounds") {
    const std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
    for (const bytes& content : {twelve_floats().file(), twelve_compressed().file()}) {
        const reader file = opened(content);
        const std::pair<std::uint64_t, std::uint64_t> ranges[] = {
            {0, 7}, {7, 7}, {3, 2}, {6, 5}, {0, largest}, {largest, largest}, {largest, 0}, {largest - 1, largest}};
        for (const auto& [first, last] : ranges) {
            CAPTURE(first, last);
            CHECK(outcome(file["w"].rows(first, last).read<float>()) == "out_of_bounds");
        }
        const component_view data = file.find("w").value().data().value();
        CHECK(outcome(data.part(0, 1, 5).read<float>()) == "out_of_bounds"); // five parts can't be equal
        CHECK(outcome(data.part(0, 13, 12).read<float>()) == "out_of_bounds");
        CHECK(data.part(11, 12, 12).read<float>().value() == std::vector<float>{11});
        CHECK(data.part(0, 1, 1).read<float>().value() == first_numbers(12));
    }
}

// -- byte order and addresses

TEST_CASE("big-endian data of 0.1 is swapped when it is read, and not viewed") {
    const bytes big = bytes("\x3f\x80\x00\x00\x40\x00\x00\x00", 8);
    const reader file = opened(sample(version::v0_1).blob(big).component("data_endianness", cbor::text("big")).file());
    const component_view data = file.find("w").value().data().value();
    CHECK(data.is_big_endian());
    CHECK(file.read<float>("w").value() == std::vector<float>{1, 2});
    CHECK(file.read_as<double>("w").value() == std::vector<double>{1, 2});
    CHECK(file["w"].rows(1, 2).read<float>().value() == std::vector<float>{2});
    std::array<float, 2> into{};
    CHECK(outcome(file.read_into("w", into)) == "ok");
    CHECK(into == std::array<float, 2>{1, 2});
    CHECK(viewed<float>(file) == (host_is_little_endian() ? "needs_byteswap" : "ok"));
    CHECK(file.view<std::byte>("w").value().size() == 8);

    const reader single_bytes = opened(
        sample(version::v0_1).dtype("u8").shape({8}).blob(big).component("data_endianness", cbor::text("big")).file());
    CHECK_FALSE(single_bytes.find("w").value().data().value().is_big_endian());
    CHECK(viewed<std::uint8_t>(single_bytes) == "ok");
    CHECK(single_bytes.read<std::uint8_t>("w").value()[1] == 0x80);
}

TEST_CASE("elements at an odd address are read, but not viewed") {
    const bytes content = twelve_floats().file();
    std::vector<std::byte> memory(content.size() + 16);
    for (std::size_t shift = 0; shift < 8; ++shift) {
        CAPTURE(shift);
        const std::vector<std::byte> aligned = to_vector(content);
        std::copy(aligned.begin(), aligned.end(), memory.begin() + static_cast<std::ptrdiff_t>(shift));
        const reader file = reader::from_bytes(bytes_view(memory).subspan(shift, content.size())).value();
        const bool is_aligned = shift % alignof(float) == 0 || !host_is_little_endian();
        CHECK(viewed<float>(file) == (is_aligned ? viewable : "misaligned_memory"));
        CHECK(viewed<std::byte>(file) == "ok");
        CHECK(file.read<float>("w").value() == first_numbers(12));
        CHECK(file["w"].rows(5, 6).read<float>().value() == std::vector<float>{10, 11});
    }
}

TEST_CASE("an empty view needs no alignment") {
    const bytes content = sample().shape({0}).blob("").file();
    const std::vector<std::byte> shifted = to_vector("x" + content);
    const reader file = reader::from_bytes(bytes_view(shifted).subspan(1)).value();
    CHECK(seen_in_view<float>(file).empty());
}

TEST_CASE("what is a bool in one way is none in another") {
    sample named, bools, floats_of_somebody;
    named.dtype("u8").shape({8}).component("type", cbor::text("bool")); // which 1.2 has only as a storage type
    CHECK(outcome(opened(named.file()).read<bool>("w")) == "type_mismatch");
    bools.dtype("bool").shape({2}).blob("\1\1");
    const reader from = opened(bools.file());
    CHECK(outcome(from.read<std::uint8_t>("w")) == "ok");
    CHECK(outcome(from.read<ztensor::float8_e4m3fn>("w")) == "type_mismatch");
    bool none[1] = {true};
    CHECK(outcome(from.read_into("w", ztensor::span<bool>(none, 0))) == "size_mismatch");
    CHECK(outcome(from.find("w")->data()->part(2, 1, 2).read<bool>()) == "out_of_bounds");
    CHECK(outcome(from.find("w")->data()->part(0, 1, 3).read<bool>()) == "out_of_bounds");
}

TEST_CASE("what is made when it is read has no bytes to borrow") {
    const auto file = ztensor::open_any("tests/corpus/foreign/npy/f64_fortran.npy").value();
    const auto bytes_of_it = file.find("f64_fortran")->data()->bytes();
    REQUIRE(outcome(bytes_of_it) == "not_viewable");
    CHECK(bytes_of_it.error().sentence().find("do not lie in the file") != std::string::npos);
    const auto unmapped =
        ztensor::open_any("tests/corpus/foreign/npy/f32.npy", read_options().mode(ztensor::io_mode::positional))
            .value();
    CHECK(unmapped.find("f32")->data()->bytes().error().sentence().find("not mapped") != std::string::npos);
}

TEST_CASE("blocks whose size only decoding tells give weights, if they are as many as the shape says") {
    const auto weights = [](std::uint64_t count, std::size_t blob_bytes, const char* format = "gguf.q8_0/1") {
        sample file(version::v1_1);
        file.zstd_blob(support::zstd::frame_of(bytes(blob_bytes, '\0')), 0).dtype("u8").shape({count});
        file.object("format", cbor::text(format));
        file.object("attributes", cbor::map{{"block_bytes", cbor::number(34)}, {"elems_per_block", cbor::number(32)}});
        const reader from = opened(file.file());
        std::vector<float> into(static_cast<std::size_t>(count));
        CHECK(outcome(from.find("w")->read_as_into(into)) == outcome(from.read_as<float>("w")));
        return outcome(from.read_as<float>("w"));
    };
    CHECK(weights(32, 34) == "ok");
    CHECK(weights(64, 34) == "size_mismatch");
    CHECK(weights(32, 68) == "size_mismatch");
    CHECK(weights(32, 35) == "size_mismatch");
    CHECK(weights(32, 34, "other.q8_0/1") == "unsupported_format");
    CHECK(weights(32, 34, "gguf.q8_0/2") == "unsupported_format");
    sample two_parts, typed;
    two_parts.parts("gguf.q8_0/1", {32}, {{"data", "u8", 64, 8}, {"more", "u8", 64, 8}});
    CHECK(outcome(opened(two_parts.file()).read_as<float>("w")) == "layout_components");
    typed.parts("gguf.q8_0/1", {32}, {{"data", "u8", 64, 8, {{"type", cbor::text("blocks")}}}});
    CHECK(outcome(opened(typed.file()).read_as<float>("w")) == "type_mismatch");
}

TEST_CASE("0.1: bytes are converted whatever order the file speaks of") {
    sample file(version::v0_1);
    file.dtype("i8").shape({8}).component("data_endianness", cbor::text("big"));
    CHECK(opened(file.file()).read_as<float>("w").value() == std::vector<float>{0, 0, -128, 63, 0, 0, 0, 64});
}
