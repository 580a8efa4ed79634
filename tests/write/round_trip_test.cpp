// SPDX-License-Identifier: MIT
//
// What goes in comes out, of every type and from every container.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/refusal.hpp"
#include "support/scripted_sink.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"
#include "write/dense_check.hpp"
#include "write/write_samples.hpp"

#include <ztensor/digest.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using support::byte_vector;
using support::bytes;
using support::fill_function;
using support::from_hex;
using support::largest;
using support::noise;
using support::outcome;
using support::reopened;
using support::scripted_sink;
using support::sink_log;
using support::some_elements;
using support::temp_dir;
using support::to_vector;
using support::written;
using write_samples::four_floats;
using write_samples::indptr_of_two_rows;
using write_samples::three_indices;
using ztensor::attributes;
using ztensor::bytes_view;
using ztensor::digest;
using ztensor::dtype;
using ztensor::format;
using ztensor::io_mode;
using ztensor::object_draft;
using ztensor::read_options;
using ztensor::reader;
using ztensor::span;
using ztensor::store;
using ztensor::write_options;
using ztensor::writer;

/// What was filled in, from memory and from a file in every mode.
void check_every_way(const fill_function& fill, const std::function<void(const reader&)>& check) {
    const temp_dir directory;
    check(reopened({}, fill));

    writer out = writer::create(directory / "f.zt").value();
    fill(out);
    out.finish().value();
    CHECK(directory.names() == std::vector<std::string>{"f.zt"});
    for (const io_mode mode : {io_mode::mapped, io_mode::positional}) {
        check(reader::open(directory / "f.zt", read_options().mode(mode)).value());
    }
    CHECK(to_vector(support::read_file(directory / "f.zt")) == written({}, fill));
}

} // namespace

TEMPLATE_TEST_CASE("elements of every type come back as they were", "", float, double, std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, long,
                   unsigned long, long long, unsigned long long, ztensor::float16, ztensor::bfloat16,
                   ztensor::float8_e4m3fn, ztensor::float8_e5m2, ztensor::float8_e4m3fnuz, ztensor::float8_e5m2fnuz,
                   std::complex<float>, std::complex<double>) {
    const std::vector<TestType> elements = some_elements<TestType>(24);
    const std::array<TestType, 3> array = {elements[0], elements[1], elements[2]};
    const auto fill = [&](writer& out) {
        out.add("vector", {4, 3, 2}, elements).value();
        out.add("span", {5}, span<const TestType>(elements).subspan(3, 5)).value();
        out.add("array", {1, 3}, array).value();
        out.add("scalar", {}, std::vector<TestType>{elements[7]}).value();
        out.add("empty", {2, 0}, std::vector<TestType>()).value();
        out.add("compressed", {24}, elements, store().zstd()).value();
    };
    const auto check = [&](const reader& file) {
        CHECK(file.size() == 6);
        check_tensor(file, "vector", {4, 3, 2}, elements);
        check_tensor(file, "span", {5}, std::vector<TestType>(elements.begin() + 3, elements.begin() + 8));
        check_tensor(file, "array", {1, 3}, std::vector<TestType>(elements.begin(), elements.begin() + 3));
        check_tensor(file, "scalar", {}, std::vector<TestType>{elements[7]});
        check_tensor(file, "empty", {2, 0}, std::vector<TestType>());
        check_tensor(file, "compressed", {24}, elements);
    };
    check_every_way(fill, check);
}

TEST_CASE("bools come back from every kind of container") {
    const bool plain[] = {true, false, true};
    const std::array<bool, 3> array = {true, false, true};
    const std::vector<bool> vector = {true, false, true};
    const reader file = reopened({}, [&](writer& out) {
        out.add("span", {3}, span<const bool>(plain)).value();
        out.add("array", {3}, array).value();
        out.add("vector", {3}, vector).value();
        out.add("compressed", {3}, vector, store().zstd()).value();
        out.add("none", {0}, std::vector<bool>()).value();
    });
    for (const std::string_view name : {"span", "array", "vector", "compressed"}) {
        CAPTURE(std::string(name));
        CHECK(file.read<bool>(name).value() == vector);
        CHECK(file.read<std::uint8_t>(name).value() == std::vector<std::uint8_t>{1, 0, 1});
        CHECK(file.find(name).value().data().value().dtype().text() == "bool");
    }
    CHECK(file.read<bool>("none").value().empty());
}

TEST_CASE("bytes are taken as the file will hold them") {
    const byte_vector bytes = from_hex("0102 0304 0506");
    const reader file = reopened({}, [&](writer& out) {
        out.add_bytes("w", {3}, dtype::u16, bytes).value();
        out.add_bytes("typed", {1}, dtype::f32, from_hex("0000803f 00000040"), store().type("complex64")).value();
    });
    CHECK(file.read<std::uint16_t>("w").value() == std::vector<std::uint16_t>{0x0201, 0x0403, 0x0605});
    CHECK(file.read<std::complex<float>>("typed").value() == std::vector<std::complex<float>>{{1, 2}});
}

TEST_CASE("a logical type of the caller's choice is stored beside the elements") {
    const std::vector<std::int16_t> elements = {256, -128};
    const reader file = reopened({}, [&](writer& out) {
        out.add("named", {2}, elements, store().type("q8.8_fixed")).value();
        out.add("packed", {4}, elements, store().type("two_in_one")).value();
        out.add("same", {2}, elements, store().type("i16")).value();
    });
    CHECK(file.find("named").value().data().value().type().text() == "q8.8_fixed");
    CHECK(file.read<std::int16_t>("named").value() == elements);
    CHECK(file.read<std::int16_t>("packed").value() == elements);
    CHECK(file.read<std::int16_t>("same").value() == elements);
}

TEST_CASE("objects of any format keep their components") {
    const std::vector<float> values = {1, 2, 3};
    const std::vector<std::uint8_t> extra = {9};
    const reader file = reopened({}, [&](writer& out) {
        out.add_object("csr", object_draft(format::sparse_csr, {2, 3})
                                  .component("values", values)
                                  .component("indices", three_indices, store().zstd())
                                  .component("indptr", indptr_of_two_rows)
                                  .component("more", extra))
            .value();
        out.add_object("own", object_draft("my.layout/1", {7, 7}).component("b", values).component("a", extra)).value();
    });
    const ztensor::object_view csr = file.find("csr").value();
    CHECK(csr.format() == format::sparse_csr);
    CHECK(csr.size() == 4);
    CHECK(csr.component("values").value().read<float>().value() == values);
    CHECK(csr.component("indices").value().read<std::uint64_t>().value() == three_indices);
    CHECK(csr.component("indptr").value().read<std::uint64_t>().value() == indptr_of_two_rows);
    CHECK(csr.component("more").value().read<std::uint8_t>().value() == extra);
    const ztensor::object_view own = file.find("own").value();
    CHECK(own.format().text() == "my.layout/1");
    CHECK_FALSE(own.format().known().has_value());
    CHECK((*own.begin()).role() == "a");
    CHECK(own.component("a").value().offset() > own.component("b").value().offset());
    CHECK(own.component("b").value().read<float>().value() == values);
}

TEST_CASE("each tensor has the compression and the digest that was asked for") {
    const std::vector<std::uint8_t> digits = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
    const std::vector<std::int32_t> runs(20000, 7);
    const reader file = reopened({}, [&](writer& out) {
        out.add("plain", {9}, digits).value();
        out.add("crc", {9}, digits, store().digest(digest::crc32c)).value();
        out.add("sha", {9}, digits, store().digest(digest::sha256)).value();
        out.add("none", {0}, std::vector<float>(), store().digest(digest::crc32c)).value();
        for (const int level : {0, 1, 3, 19, 22}) {
            out.add("zstd" + std::to_string(level), {20000}, runs, store().zstd(level).digest(digest::crc32c)).value();
        }
    });
    const auto digest_of = [&](std::string_view name) {
        return file.find(name).value().data().value().digest().text();
    };
    CHECK(digest_of("plain").empty());
    CHECK(digest_of("crc") == "crc32c:0xE3069283");
    CHECK(digest_of("sha") == "sha256:15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225");
    CHECK(digest_of("none") == "crc32c:0x00000000");
    for (const int level : {0, 1, 3, 19, 22}) {
        CAPTURE(level);
        const ztensor::component_view data = file.find("zstd" + std::to_string(level)).value().data().value();
        CHECK(data.encoding().text() == "zstd");
        CHECK(data.uncompressed_length() == std::uint64_t{80000});
        CHECK(data.stored_bytes() < 1000);
        CHECK(data.read<std::int32_t>().value() == runs);
        CHECK(data.digest().text() == ztensor::digest_text(digest::crc32c, data.bytes().value()));
    }
    const ztensor::verification verified = file.verify().value();
    CHECK(verified.verified == 8);
    CHECK(verified.absent == 1);
    CHECK(verified.ok());
}

TEST_CASE("blobs start at multiples of the alignment that was asked for") {
    const std::uint64_t alignment = GENERATE(64u, 128u, 4096u, 65536u);
    const std::size_t sizes[] = {1, 63, 64, 65, 0, 0, 4095, 4096, 4097, 0};
    const byte_vector bytes = noise(5000);
    const byte_vector content = written(write_options().alignment_bytes(alignment), [&](writer& out) {
        for (std::size_t i = 0; i < std::size(sizes); ++i) {
            out.add_bytes(std::string(1, static_cast<char>('a' + i)), {sizes[i]}, dtype::u8,
                          bytes_view(bytes).first(sizes[i]))
                .value();
        }
    });
    const reader file = reader::from_bytes(bytes_view(content)).value();
    std::uint64_t end = 8;
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
        const std::string name(1, static_cast<char>('a' + i));
        CAPTURE(alignment, name);
        const std::uint64_t expected = (end + alignment - 1) / alignment * alignment;
        const ztensor::component_view data = file.find(name).value().data().value();
        REQUIRE(data.offset() == expected);
        CHECK(data.read<std::byte>().value() ==
              byte_vector(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(sizes[i])));
        for (std::uint64_t gap = end; gap < expected; ++gap) {
            if (content[static_cast<std::size_t>(gap)] != std::byte{0}) {
                FAIL("padding at " << gap);
            }
        }
        end = expected + sizes[i];
    }
    CHECK(content.size() == end + file.manifest_bytes() + 16);
}

TEST_CASE("an alignment that is no power of two from 64 to 1 GiB is refused, and no file made") {
    const temp_dir directory;
    for (const std::uint64_t alignment :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{32}, std::uint64_t{63}, std::uint64_t{65},
          std::uint64_t{96}, std::uint64_t{192}, std::uint64_t{1} << 31, std::uint64_t{1} << 63, largest}) {
        CAPTURE(alignment);
        const write_options options = write_options().alignment_bytes(alignment);
        CHECK(outcome(writer::to_memory(options)) == "invalid_argument");
        CHECK(outcome(writer::create(directory / "f", options)) == "invalid_argument");
        CHECK(directory.names().empty());
        sink_log log;
        CHECK(outcome(writer::to_sink(std::make_unique<scripted_sink>(log), options)) == "invalid_argument");
        CHECK(log.content.empty());
        CHECK(log.is_gone);
    }
}

TEST_CASE("attributes of file and object come back, and none are not an empty set") {
    attributes values;
    values.set("text", "t").set("number", 1.5).set("negative", -7).set("flag", true).set_null("null");
    values.set_cbor("list", from_hex("8201f6")).value();
    const reader file = reopened({}, [&](writer& out) {
        out.attributes(attributes().set("lost", 1)).value();
        out.attributes(values).value();
        out.add("none", {4}, four_floats).value();
        out.add_object("empty", object_draft(format::dense, {4}).component("data", four_floats).attributes({})).value();
        out.add_object("some", object_draft(format::dense, {4}).component("data", four_floats).attributes(values))
            .value();
    });
    CHECK(file.has_attributes());
    CHECK(file.attributes().size() == 6);
    CHECK(file.attributes().text("text").value() == "t");
    CHECK_FALSE(file.find("none").value().has_attributes());
    CHECK(file.find("empty").value().has_attributes());
    CHECK(file.find("empty").value().attributes().empty());
    const ztensor::object_view some = file.find("some").value();
    CHECK(some.attributes().integer("negative").value() == -7);
    CHECK(some.attributes().number("number").value() == 1.5);
    CHECK(some.attributes().boolean("flag").value());
    CHECK(byte_vector(some.attributes().cbor("list").value().begin(), some.attributes().cbor("list").value().end()) ==
          from_hex("8201f6"));
    CHECK_FALSE(reopened({}, [](writer&) {}).has_attributes());
    CHECK(reopened({}, [](writer& out) { out.attributes({}).value(); }).has_attributes());
}
