// SPDX-License-Identifier: MIT
//
// What the generations before 1.2 spell otherwise or leave out, and how each is told from the others. SPEC.md §2.4 to
// §2.7 and §8.
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/golden.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using support::as_string;
using support::bytes;
using support::counting;
using support::data_of;
using support::host_is_little_endian;
using support::little_endian;
using support::open_bytes;
using support::opened;
using support::refusal;
using support::sample;
using ztensor::component_view;
using ztensor::digest_state;
using ztensor::errc;
using ztensor::format;
using ztensor::object_view;
using ztensor::reader;
using ztensor::result;
using ztensor::version;
namespace cbor = support::cbor;

constexpr ztensor::version generations[] = {version::v0_1, version::v1_0, version::v1_1, version::v1_2};

} // namespace

// -- fields that a generation does not have

TEST_CASE("1.0: the fields that came later are unknown, whatever they say") {
    const bytes anything[] = {cbor::number(1), cbor::text("complex64"), cbor::array({}), cbor::null};
    for (const bytes& value : anything) {
        for (const char* const field : {"dtype", "type", "uncompressed_length"}) {
            sample file(version::v1_0);
            file.component(field, value);
            const result<reader> each = open_bytes(file.file());
            CAPTURE(field, ztensor::detail::quote(value));
            CHECK(each.has_value());
            if (each) {
                CHECK(data_of(*each).dtype().text() == "f32");
                CHECK_FALSE(data_of(*each).type().is_present());
                CHECK_FALSE(data_of(*each).uncompressed_length().has_value());
                CHECK(each->read<float>("w").value_or(std::vector<float>()) == std::vector<float>{1, 2});
            }
        }
        sample file(version::v1_0);
        file.object("attributes", value);
        const result<reader> each = open_bytes(file.file());
        CAPTURE(ztensor::detail::quote(value));
        CHECK(each.has_value());
        if (each) {
            CHECK_FALSE(each->find("w").value().has_attributes());
        }
    }
    sample with_objects(version::v1_0);
    with_objects.root("objects", cbor::number(1)).root("generator", cbor::text("someone"));
    const reader from = opened(with_objects.file());
    CHECK(from.size() == 1);
    CHECK_FALSE(from.attributes().contains("generator"));
}

TEST_CASE("0.1: the fields of later generations are custom keys") {
    sample file(version::v0_1);
    file.object_map()
        .set("type", cbor::text("complex64"))
        .set("length", cbor::number(1))
        .set("digest", cbor::text("crc32c:?"));
    file.object_map().set("attributes", cbor::map{{"k", cbor::number(1)}}).set("uncompressed_length", cbor::number(9));
    file.object_map().set("format", cbor::text("sparse_csr")).set("components", cbor::map());
    const reader from = opened(file.file());
    const object_view object = from.find("w").value();
    CHECK(object.attributes().size() == 7);
    CHECK(object.attributes().text("type").value() == "complex64");
    CHECK(object.attributes().integer("length").value() == 1);
    CHECK(object.format().text() == "dense");
    CHECK_FALSE(data_of(from).type().is_present());
    CHECK(data_of(from).digest().text().empty());
    CHECK(object.read<float>().value() == std::vector<float>{1, 2});
}

// -- what 1.0 says by role

TEST_CASE("1.0: the dtype of a component follows from its role") {
    sample file(version::v1_0);
    file.dtype("bf16").blobs({counting(16), counting(24), counting(4), counting(5)});
    file.parts("sparse_csr", {2, 3},
               {{"indices", "", 64, 16}, {"indptr", "", 128, 24}, {"values", "", 192, 4}, {"more", "", 256, 5}});
    const reader from = opened(file.file());
    const object_view object = from.find("w").value();
    CHECK(object.component("values")->dtype() == ztensor::dtype::bf16);
    CHECK(object.component("values")->dtype().original() == "bfloat16");
    for (const char* const role : {"indices", "indptr"}) {
        CHECK(object.component(role)->dtype() == ztensor::dtype::u64);
        CHECK(object.component(role)->dtype().text() == "u64");
        CHECK(object.component(role)->dtype().original() == "uint64");
    }
    const component_view more = object.component("more").value();
    CHECK_FALSE(more.dtype().is_known());
    CHECK(as_string(more.read<std::byte>().value()) == counting(5));
    CHECK(refusal(more.read<ztensor::bfloat16>()) == errc::unknown_dtype);
    CHECK(refusal(more.read<std::uint8_t>()) == errc::unknown_dtype);
}

TEST_CASE("1.0: all roles of a format of its own but the known ones have an unknown dtype") {
    sample file(version::v1_0);
    file.blobs({counting(8), counting(8), counting(8)});
    file.parts("own", {2}, {{"coords", "", 64, 8}, {"data", "", 128, 8}, {"scales", "", 192, 8}});
    const reader from = opened(file.file());
    const object_view object = from.find("w").value();
    CHECK(object.component("coords")->dtype() == ztensor::dtype::u64);
    CHECK(object.component("data")->dtype() == ztensor::dtype::f32);
    CHECK_FALSE(object.component("scales")->dtype().is_known());
}

// -- names that the file uses

TEST_CASE("the file's own words for the format are kept beside those of 1.2") {
    const std::pair<const char*, const char*> layouts[] = {{"dense", "dense"},           {"sparsecsr", "sparse_csr"},
                                                           {"sparsecoo", "sparse_coo"},  {"blocked", "blocked"},
                                                           {"sparse_csr", "sparse_csr"}, {"Dense", "Dense"}};
    for (const auto& [layout, format] : layouts) {
        sample file(version::v0_1);
        file.object("layout", cbor::text(layout))
            .shape({2, 1})
            .dtype("u8")
            .blob(bytes(std::string(layout) == "dense" ? 2 : 0, '\0'));
        if (std::string(layout) == "sparsecsr") {
            file.blob(bytes(24, '\0'));
        }
        const reader from = opened(file.file());
        const object_view object = from.find("w").value();
        CAPTURE(layout);
        CHECK(object.format().original() == layout);
        CHECK(object.format().text() == format);
        const bool is_known =
            std::string(layout) == "dense" || std::string(layout) == "sparsecsr" || std::string(layout) == "sparsecoo";
        CHECK(object.format().known().has_value() == is_known);
    }
    sample without(version::v0_1);
    without.object_map().remove("layout");
    const reader from = opened(without.file());
    CHECK(from.find("w").value().format().text() == "dense");
    CHECK(from.find("w").value().format().original().empty());
    for (const ztensor::version later : {version::v1_0, version::v1_1, version::v1_2}) {
        const reader each = opened(sample(later).file());
        CHECK(each.find("w").value().format().original() == "dense");
    }
}

TEST_CASE("0.1: sparse_format and index arrays of a dense tensor are custom keys") {
    sample file(version::v0_1);
    file.object("sparse_format", cbor::text("csr")).object("indptr", cbor::numbers({1})).object("coords", cbor::null);
    const reader from = opened(file.file());
    const object_view object = from.find("w").value();
    CHECK(object.format().text() == "dense");
    CHECK(object.attributes().size() == 3);
    CHECK(object.attributes().text("sparse_format").value() == "csr");
    CHECK(object.read<float>().value() == std::vector<float>{1, 2});
}

TEST_CASE("0.1: a sparse_format that is unknown is listed as an attribute, and survives a copy") {
    sample file(version::v0_1);
    file.object("format", cbor::text("sparse")).object("sparse_format", cbor::text("ell")).object("indptr", cbor::null);
    const reader from = opened(file.file());
    const object_view object = from.find("w").value();
    CHECK(object.format().text() == "sparse");
    CHECK_FALSE(object.format().known().has_value());
    CHECK(object.attributes().size() == 2);
    CHECK(object.attributes().text("sparse_format").value() == "ell");
    ztensor::writer to =
        ztensor::writer::to_memory(ztensor::write_options().version(ztensor::format_version::v0_1)).value();
    ztensor::copy(from, to).value();
    to.finish().value();
    const reader copied = reader::from_bytes(to.take_bytes()).value();
    CHECK(copied.find("w").value().format().text() == "sparse");
    CHECK(copied.find("w").value().attributes().text("sparse_format").value() == "ell");
}

TEST_CASE("0.1: custom keys that are fields elsewhere keep every byte of their values") {
    const std::pair<const char*, bytes> keys[] = {
        {"sparse_format", cbor::chunked({"cs", "r"})},
        {"coords", cbor::chunked({"a", "\xff", "b"})},
        {"indptr", cbor::chunked({})},
        {"indices", cbor::indefinite_array({cbor::number(1)})},
    };
    sample file(version::v0_1);
    for (const auto& [key, value] : keys) {
        file.object(key, value);
    }
    const reader from = opened(file.file());
    for (const auto& [key, value] : keys) {
        CAPTURE(key);
        const ztensor::bytes_view found = from.find("w").value().attributes().cbor(key).value();
        CHECK(std::vector<std::byte>(found.begin(), found.end()) == support::to_vector(value));
    }
}

TEST_CASE("0.1: big-endian is only defined for dense data") {
    for (const char* const layout : {"blocky", "sparsecsr", "sparsecoo"}) {
        sample file(version::v0_1);
        file.object("layout", cbor::text(layout))
            .object("data_endianness", cbor::text("big"))
            .shape({1, 1})
            .blob(bytes(28, '\0'));
        if (layout == std::string_view("sparsecoo")) {
            file.blob(bytes(20, '\0'));
        }
        CAPTURE(layout);
        const reader from = opened(file.file());
        const component_view data = from.find("w")->component("data").value();
        CHECK(data.read_little_endian().error().code() == errc::needs_byteswap);
        CHECK(data.read_as<float>().has_value() == false);
        CHECK(data.read<float>().has_value() == false);
        CHECK(data.read<std::byte>().has_value());
    }
    sample one_byte_values(version::v0_1); // beside indices of eight
    one_byte_values.dtype("u8")
        .shape({4})
        .object("layout", cbor::text("sparsecoo"))
        .object("data_endianness", cbor::text("big"));
    one_byte_values.blob(support::big_endian(1, 8) + "v");
    const reader from = opened(one_byte_values.file());
    CHECK(ztensor::coo_view<std::uint8_t>::from(*from.find("w")).error().code() == errc::needs_byteswap);
    sample bytes_alone(version::v0_1);
    bytes_alone.dtype("u8").shape({8}).object("data_endianness", cbor::text("middle")); // means nothing there
    CHECK(opened(bytes_alone.file()).read<std::uint8_t>("w").has_value());
}

TEST_CASE("0.1: the fields are no attributes, the custom keys are, in the order of the file") {
    sample file(version::v0_1);
    file.object("data_endianness", cbor::text("little")).object("checksum", cbor::text("md5:1"));
    const reader plain = opened(file.file());
    CHECK_FALSE(plain.find("w").value().has_attributes());
    CHECK(plain.find("w").value().attributes().empty());
    CHECK_FALSE(plain.has_attributes());
    file.object("z", cbor::number(1)).object("a", cbor::text("x")).object("names", cbor::null);
    const reader from = opened(file.file());
    std::vector<std::string> keys;
    for (const ztensor::attribute& each : from.find("w").value().attributes()) {
        keys.emplace_back(each.key);
    }
    CHECK(keys == std::vector<std::string>{"z", "a", "names"});
    CHECK(from.find("w").value().has_attributes());
}

// -- what each generation requires

TEST_CASE("a field that the generation requires is missed by name") {
    struct row {
        ztensor::version from;
        std::vector<std::string> required;
        std::vector<std::string> optional;
    };
    const row rows[] = {
        {version::v0_1,
         {"name", "offset", "length", "dtype", "shape", "encoding"},
         {"format", "digest", "data_endianness"}},
        {version::v1_0,
         {"dtype", "shape", "format", "components", "offset", "length"},
         {"encoding", "digest", "attributes", "generator"}},
        {version::v1_1,
         {"version", "objects", "shape", "format", "components", "dtype", "offset", "length"},
         {"encoding", "digest", "attributes", "type"}},
        {version::v1_2,
         {"version", "objects", "shape", "format", "components", "dtype", "offset", "length"},
         {"encoding", "digest", "attributes", "type", "uncompressed_length"}},
    };
    for (const row& each : rows) {
        for (const std::string& field : each.required) {
            CAPTURE(name(each.from), field);
            const result<reader> opened_without = open_bytes(sample(each.from).without(field).file());
            REQUIRE(refusal(opened_without) == errc::schema_missing);
            const std::string own = each.from == version::v0_1 && field == "length" ? "size" : field;
            CHECK(opened_without.error().what().find(own) != std::string::npos);
        }
        for (const std::string& field : each.optional) {
            CAPTURE(name(each.from), field);
            CHECK(open_bytes(sample(each.from).without(field).file()).has_value());
        }
    }
}

TEST_CASE("0.1: a field of another type is refused") {
    const std::pair<const char*, std::vector<bytes>> rows[] = {
        {"name", {cbor::number(1), cbor::null, cbor::byte_string("w")}},
        {"offset", {cbor::text("64"), cbor::null, cbor::double_one, cbor::tag(2, cbor::byte_string("@"))}},
        {"size", {cbor::text("8"), cbor::yes, cbor::single_one}},
        {"dtype", {cbor::number(32), cbor::null}},
        {"layout", {cbor::number(0), cbor::null, cbor::array({})}},
        {"shape", {cbor::number(2), cbor::null, cbor::map(), cbor::array({cbor::text("2")})}},
        {"encoding", {cbor::number(0), cbor::null}},
        {"data_endianness", {cbor::number(0), cbor::yes}},
        {"checksum", {cbor::number(0), cbor::byte_string("crc32c:00000000")}},
    };
    for (const auto& [field, items] : rows) {
        for (const bytes& item : items) {
            sample file(version::v0_1);
            file.object_map().set(field, item);
            CAPTURE(field, ztensor::detail::quote(item));
            CHECK(refusal(open_bytes(file.file())) == errc::schema_type);
        }
    }
    for (const char* const field : {"offset", "size"}) {
        sample file(version::v0_1);
        file.object_map().set(field, cbor::minus_one_minus(63));
        CHECK(refusal(open_bytes(file.file())) == errc::schema_range);
    }
}

TEST_CASE("0.1: two tensors of one name, and keys that stand twice or are no text, are refused") {
    const bytes tensor = sample(version::v0_1).encoded_object();
    CHECK(refusal(open_bytes(sample(version::v0_1).objects(cbor::array({tensor, tensor})).file())) ==
          errc::duplicate_key);
    sample other(version::v0_1);
    other.object("name", cbor::text("v"));
    const reader both = opened(sample(version::v0_1).objects(cbor::array({tensor, other.encoded_object()})).file());
    CHECK(both.size() == 2);
    CHECK(both.begin().operator*().name() == "w"); // in the order of the array
    sample twice(version::v0_1);
    twice.object_map().add(cbor::text("dtype"), cbor::text("float32"));
    CHECK(refusal(open_bytes(twice.file())) == errc::duplicate_key);
    sample custom_twice(version::v0_1);
    custom_twice.object_map().add(cbor::text("x"), cbor::null).add(cbor::chunked({"x"}), cbor::null);
    CHECK(refusal(open_bytes(custom_twice.file())) == errc::duplicate_key);
    sample number_key(version::v0_1);
    number_key.object_map().add(cbor::number(1), cbor::null);
    CHECK(refusal(open_bytes(number_key.file())) == errc::schema_key);
}

// -- one generation and another

TEST_CASE("a generation is known by its ends and its version") {
    for (const ztensor::version from : generations) {
        const reader each = opened(sample(from).file());
        CHECK(each.version() == from);
        CHECK(each.size() == 1);
    }
    CHECK(opened(sample(version::v0_1).file()).version() == version::v0_1);
    const std::pair<const char*, ztensor::version> versions[] = {
        {"1.0", version::v1_1},   {"1.0.0", version::v1_1}, {"1.0.99", version::v1_1},     {"1.1", version::v1_1},
        {"1.1.0", version::v1_1}, {"1.1.9", version::v1_1}, {"1.2", version::v1_2},        {"1.2.0", version::v1_2},
        {"1.3", version::v1_2},   {"1.9.1", version::v1_2}, {"1.10.0", version::v1_2},     {"1.11", version::v1_2},
        {"1.20", version::v1_2},  {"1.100", version::v1_2}, {"1.2.0-rc.1", version::v1_2}, {"1.1.x", version::v1_1},
    };
    for (const auto& [text, expected] : versions) { // with both magics
        const reader each = opened(sample().root("version", cbor::text(text)).file());
        CAPTURE(text);
        CHECK(each.version() == expected);
        CHECK(each.version().original() == text);
        CHECK(each.read<float>("w").value() == std::vector<float>{1, 2});
    }
    for (const char* const text : {"0.1", "0.9.0", "2",   "2.0",  "2.0.0", "10.0", "11.2.0", "1",    "1.",   "1.x",
                                   "x",   "",      "1,2", " 1.2", "1.2x",  "1.02", "01.2",   "1.-1", "+1.2", "1 .2"}) {
        const result<reader> each = open_bytes(sample().root("version", cbor::text(text)).file());
        CAPTURE(text);
        CHECK(refusal(each) == errc::unsupported_version);
    }
    const result<reader> second = open_bytes(sample().root("version", cbor::text("2.0.0")).file());
    REQUIRE_FALSE(second.has_value());
    CHECK(second.error().what().find("2.0.0") != std::string::npos);
}

TEST_CASE("what a version says decides how its words are read") {
    sample file; // with a field of 1.2, and a dtype of 1.1
    file.component("type", cbor::text("q16.16"));
    for (const char* const version : {"1.2.0", "1.3.0", "1.10"}) {
        const reader each = opened(file.root("version", cbor::text(version)).file());
        CHECK(data_of(each).type().text() == "q16.16");
    }
    sample complex_file;
    complex_file.dtype("complex64").shape({1});
    for (const char* const version : {"1.0", "1.1", "1.1.0"}) {
        const reader each = opened(complex_file.root("version", cbor::text(version)).file());
        CHECK(data_of(each).type().text() == "complex64");
    }
    for (const char* const version : {"1.2", "1.11", "1.3"}) {
        const reader each = opened(complex_file.root("version", cbor::text(version)).file());
        CHECK_FALSE(data_of(each).dtype().is_known());
    }
}

TEST_CASE("1.0 is told from a later file that was cut off or appended to") {
    const bytes good = sample(version::v1_0).file();
    CHECK(opened(good).version() == version::v1_0);
    for (const char* const text : {"1.0", "1.0.0", "1.0.2", "1.0."}) {
        const reader each = opened(sample(version::v1_0).root("version", cbor::text(text)).file());
        CHECK(each.version() == version::v1_0);
        CHECK(each.version().original() == text);
    }
    for (const char* const text : {"1", "1.", "1.00", "1.0x", "1.01", "1.1", "1.2.0", "0.1", "2.0", ""}) {
        CAPTURE(text);
        CHECK(refusal(open_bytes(sample(version::v1_0).root("version", cbor::text(text)).file())) == errc::truncated);
    }
    for (const bytes& item : {cbor::number(1), cbor::null, cbor::byte_string("1.0"), cbor::double_one}) {
        CHECK(refusal(open_bytes(sample(version::v1_0).root("version", item).file())) == errc::truncated);
    }
    const bytes later = sample().file();
    CHECK(refusal(open_bytes(later.substr(0, later.size() - 8))) ==
          errc::truncated); // ends with a size of an index, of 1.2
    CHECK(refusal(open_bytes(later + bytes(8, '\0'))) == errc::truncated);
    CHECK(refusal(open_bytes(later + little_endian(1, 8))) == errc::truncated);
    CHECK(refusal(open_bytes(later + later.substr(later.size() - 16, 8))) == errc::truncated);
    const bytes of_1_2_in_1_0 = support::file_1_0(sample().index()); // `objects` of 1.2 in the container of 1.0
    CHECK(refusal(open_bytes(of_1_2_in_1_0)) == errc::truncated);
    const bytes in_later = support::file_1(sample(version::v1_0).index()); // `tensors` of 1.0 in that of 1.2
    CHECK(refusal(open_bytes(in_later)) == errc::schema_missing);
}

TEST_CASE("once a file is known to be of 1.0, its faults are named as what they are") {
    CHECK(refusal(open_bytes(sample(version::v1_0).objects(cbor::number(1)).file())) == errc::schema_type);
    CHECK(refusal(open_bytes(sample(version::v1_0).root("attributes", cbor::number(1)).file())) == errc::schema_type);
    CHECK(refusal(open_bytes(sample(version::v1_0).shape({4}).file())) == errc::size_mismatch);
    CHECK(refusal(open_bytes(sample(version::v1_0).place(65, 8).file())) == errc::misaligned_offset);
    sample twice(version::v1_0);
    twice.root_map().add(cbor::text("version"), cbor::text("1.0"));
    CHECK(refusal(open_bytes(twice.file())) == errc::duplicate_key);
}

TEST_CASE("a file that was cut off is refused at any length, in every generation") {
    for (const ztensor::version from : generations) {
        const bytes whole = sample(from).object("x", cbor::text("more")).file();
        for (std::size_t size = 0; size < whole.size(); ++size) {
            const result<reader> each = open_bytes(whole.substr(0, size));
            CAPTURE(name(from), size);
            if (from == version::v0_1 && size == 16) { // within zeros: the same as a file without tensors
                CHECK(each.has_value());
                continue;
            }
            REQUIRE_FALSE(each.has_value());
            if (from != version::v0_1) {
                CHECK((each.error().code() == errc::truncated || each.error().code() == errc::file_too_small));
            }
        }
    }
}

TEST_CASE("0.1: a file without tensors has 17 bytes, or 16 and no index") {
    const bytes magic(support::magic_0_1);
    const reader with_index = opened(support::file_0_1("\x80"));
    CHECK(with_index.file_bytes() == 17);
    CHECK(with_index.empty());
    CHECK(with_index.version().original().empty());
    CHECK(with_index.version() == version::v0_1);
    const reader without = opened(magic + bytes(8, '\0'));
    CHECK(without.empty());
    CHECK(without.manifest_bytes() == 0);
    CHECK(without.verify().value().complete());
    CHECK(opened(support::file_0_1(cbor::indefinite_array({}))).empty());
    for (const std::size_t zeros : {9U, 16U, 56U, 64U, 1000U}) { // cut off within zeros
        CAPTURE(zeros);
        CHECK(refusal(open_bytes(magic + bytes(zeros, '\0'))) == errc::manifest_empty);
    }
    CHECK(refusal(open_bytes(magic)) == errc::truncated);
    CHECK(refusal(open_bytes(magic + bytes(7, '\0'))) == errc::truncated);
    CHECK(refusal(open_bytes(magic + little_endian(1, 8))) == errc::manifest_out_of_bounds);
}

TEST_CASE("0.1: the index is an array of maps") {
    for (const bytes& index :
         {cbor::map().encoded(), cbor::number(0), cbor::text(""), cbor::null, cbor::tag(1, cbor::array({})),
          cbor::array({cbor::null}), cbor::array({cbor::array({})}), cbor::numbers({1})}) {
        CAPTURE(ztensor::detail::quote(index));
        CHECK(refusal(open_bytes(support::file_0_1(index))) == errc::schema_type);
    }
    CHECK(refusal(open_bytes(support::file_0_1(cbor::array({cbor::map()})))) == errc::schema_missing);
    CHECK(refusal(open_bytes(support::file_0_1("\x80\x80"))) == errc::cbor_trailing);
    const reader indefinite =
        opened(sample(version::v0_1).objects(cbor::array({sample(version::v0_1).object_map().indefinite()})).file());
    CHECK(indefinite.read<float>("w").value() == std::vector<float>{1, 2}); // as the reference writes its maps
}

// -- digests under their other name

TEST_CASE("0.1: a checksum is a digest of the stored bytes") {
    const bytes content = sample().file().substr(64, 8);
    const bytes crc = ztensor::digest_text(ztensor::digest::crc32c, support::to_vector(content));
    const bytes sha = ztensor::digest_text(ztensor::digest::sha256, support::to_vector(content));
    const std::pair<bytes, digest_state> rows[] = {{crc, digest_state::match},
                                                   {"crc32c:" + crc.substr(9), digest_state::match},
                                                   {sha, digest_state::match},
                                                   {"crc32c:0x00000000", digest_state::mismatch},
                                                   {"adler32:00000000", digest_state::unsupported}};
    for (const auto& [text, state] : rows) {
        sample file(version::v0_1);
        file.object("checksum", cbor::text(text));
        const reader each = opened(file.file());
        CAPTURE(text);
        CHECK(data_of(each).digest().text() == text);
        CHECK(data_of(each).verify().value() == state);
        CHECK(each.read<float>("w").has_value() == (state != digest_state::mismatch));
    }
    CHECK(data_of(opened(sample(version::v0_1).file())).verify().value() == digest_state::absent);
    sample malformed(version::v0_1);
    malformed.object("checksum", cbor::text("crc32c:0x123"));
    CHECK(refusal(open_bytes(malformed.file())) == errc::digest_format);
}

// -- real files

TEST_CASE("golden files of earlier generations say which words they use") {
    const std::filesystem::path folder = "tests/corpus/golden";
    const reader v0_1 = reader::open(folder / "v0.1-dense.zt").value();
    CHECK(v0_1.version().original().empty());
    CHECK(v0_1.find("t.bf16").value().component("data")->dtype().original() == "bfloat16");
    CHECK(v0_1.find("t.bf16").value().format().original() == "dense");
    const reader v1_0 = reader::open(folder / "v1.0-sparse-csr.zt").value();
    CHECK(v1_0.version().original() == "1.0");
    CHECK(v1_0.version() == version::v1_0);
    CHECK(v1_0.find("csr.raw").value().component("indptr")->dtype().original() == "uint64");
    const reader v1_1 = reader::open(folder / "s1.1-types.zt").value();
    CHECK(v1_1.version().original() == "1.1.0");
    CHECK(v1_1.find("c64").value().component("data")->dtype().original() == "complex64");
    CHECK(v1_1.find("c64").value().component("data")->dtype().text() == "f32");
    const reader big = reader::open(folder / "v0.1-big-endian.zt").value();
    CHECK(big.find("be.f64").value().component("data")->is_big_endian());
    CHECK_FALSE(big.find("be.u8").value().component("data")->is_big_endian());
    CHECK(big.view<double>("be.f64").has_value() == !host_is_little_endian());
}

TEST_CASE("0.1: null stands for a checksum or byte order that is absent, as the reference reads it") {
    for (const char* const field : {"checksum", "data_endianness"}) {
        sample file(version::v0_1);
        file.object_map().set(field, cbor::null);
        CAPTURE(field);
        const reader opened = support::opened(file.file());
        CHECK_FALSE(support::data_of(opened).digest().is_present());
        CHECK_FALSE(support::data_of(opened).is_big_endian());
        CHECK(opened.read<float>("w").value() == std::vector<float>{1, 2});
    }
}
