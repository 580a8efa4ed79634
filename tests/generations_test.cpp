// SPDX-License-Identifier: MIT
//
// What the generations before 1.2 spell otherwise or leave out, and how each is told from the others. SPEC.md §2.4 to
// §2.7 and §8.
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using support::bytes;
using support::little_endian;
using support::opening;
using support::part;
using support::refusal;
using support::sample;
using support::temp_dir;
using ztensor::component_view;
using ztensor::digest_state;
using ztensor::errc;
using ztensor::generation;
using ztensor::object_view;
using ztensor::reader;
using ztensor::result;
namespace cbor = support::cbor;

using namespace std::string_literals;
using integers = std::vector<std::uint64_t>;

constexpr generation generations[] = {generation::v0_1, generation::v1_0, generation::v1_1, generation::v1_2};
constexpr generation generations_without_sizes[] = {generation::v0_1, generation::v1_0, generation::v1_1};

bool host_is_little_endian() {
    const std::uint16_t one = 1;
    unsigned char first = 0;
    std::memcpy(&first, &one, 1);
    return first == 1;
}

bytes as_string(ztensor::bytes_view content) {
    bytes out;
    for (const std::byte byte : content) {
        out += static_cast<char>(byte);
    }
    return out;
}

result<reader> open(const bytes& file) { return reader::from_bytes(support::to_vector(file)); }

reader opened(const bytes& file) {
    result<reader> file_or_error = open(file);
    INFO((file_or_error ? "" : file_or_error.error().what()));
    REQUIRE(file_or_error.has_value());
    return *std::move(file_or_error);
}

/// The one component of the object "w".
component_view data_of(const reader& from) { return from.find("w").value().begin().operator*(); }

bytes frame_of(const bytes& content) { return support::zstd::frame(support::zstd::raw_block(content)); }

bytes reversed(const bytes& content, std::size_t width) {
    bytes out = content;
    for (std::size_t at = 0; at + width <= out.size(); at += width) {
        std::reverse(out.begin() + static_cast<std::ptrdiff_t>(at), out.begin() + static_cast<std::ptrdiff_t>(at + width));
    }
    return out;
}

/// Elements of T from little-endian bytes, on any host.
template <class T>
std::vector<T> elements(const bytes& content) {
    constexpr std::size_t width = ztensor::width_bytes(ztensor::element_traits<T>::storage);
    const bytes in_host_order = host_is_little_endian() ? content : reversed(content, width);
    std::vector<T> out(content.size() / sizeof(T));
    std::memcpy(static_cast<void*>(out.data()), in_host_order.data(), content.size());
    return out;
}

/// The bytes of elements in memory, which compare as elements with NaN do not.
template <class T>
bytes memory_of(const std::vector<T>& values) {
    bytes out(values.size() * sizeof(T), '\0');
    if (!values.empty()) {
        std::memcpy(&out[0], values.data(), out.size());
    }
    return out;
}

bytes counting(std::size_t size) {
    bytes out;
    for (std::size_t i = 0; i < size; ++i) {
        out += static_cast<char>(i * 11 + 3);
    }
    return out;
}

} // namespace

// -- dtypes

namespace {

template <class T>
void check_dtype(generation from, std::string_view short_name, std::string_view long_name, const bytes& content) {
    const temp_dir directory;
    const bool has_long_names = from == generation::v0_1 || from == generation::v1_0;
    for (const bool is_zstd : {false, true}) {
        sample file(from);
        file.shape({content.size() / sizeof(T)}).dtype(has_long_names ? long_name : short_name).blob(content);
        if (is_zstd) {
            file.zstd_blob(frame_of(content), content.size());
        }
        for (const opening& each : open_every_way(file.file(), directory)) {
            CAPTURE(name(from), short_name, is_zstd, each.way);
            const reader& opened = each.file.value();
            const component_view data = data_of(opened);
            CHECK(data.dtype() == ztensor::element_traits<T>::storage);
            CHECK(data.dtype_name() == short_name);
            CHECK(data.original_dtype() == (has_long_names ? long_name : short_name));
            CHECK(data.type().empty());
            CHECK_FALSE(data.has_type());
            CHECK(data.decoded_bytes() == content.size());
            CHECK(data.uncompressed_length().has_value() == (is_zstd && from == generation::v1_2));
            CHECK(memory_of(opened.read<T>("w").value()) == memory_of(elements<T>(content)));
        }
    }
}

} // namespace

TEST_CASE("all storage types are read under the names of their generation") {
    for (const generation from : generations) {
        const bytes content = counting(48);
        check_dtype<double>(from, "f64", "float64", content);
        check_dtype<float>(from, "f32", "float32", content);
        check_dtype<ztensor::float16>(from, "f16", "float16", content);
        check_dtype<ztensor::bfloat16>(from, "bf16", "bfloat16", content);
        check_dtype<std::int64_t>(from, "i64", "int64", content);
        check_dtype<std::int32_t>(from, "i32", "int32", content);
        check_dtype<std::int16_t>(from, "i16", "int16", content);
        check_dtype<std::int8_t>(from, "i8", "int8", content);
        check_dtype<std::uint64_t>(from, "u64", "uint64", content);
        check_dtype<std::uint32_t>(from, "u32", "uint32", content);
        check_dtype<std::uint16_t>(from, "u16", "uint16", content);
        check_dtype<std::uint8_t>(from, "u8", "uint8", content);
    }
}

TEST_CASE("the names of another generation are unknown words: listed, and refused when they are used") {
    for (const generation from : generations) {
        const bool has_long_names = from == generation::v0_1 || from == generation::v1_0;
        for (const char* const word : {"f32", "float32", "i8", "int8", "Float32", "complex64", "f8_e4m3"}) {
            const std::string dtype = word;
            const bool is_long = dtype == "float32" || dtype == "int8";
            const bool is_short = dtype == "f32" || dtype == "i8";
            const bool is_of_1_1 = dtype == "complex64" || dtype == "f8_e4m3";
            if (has_long_names ? is_long : is_short || (is_of_1_1 && from == generation::v1_1)) {
                continue;
            }
            sample file(from);
            (from == generation::v1_0 ? file.object_map() : file.component_map()).set("dtype", cbor::text(dtype));
            const reader each = opened(file.file());
            CAPTURE(name(from), word);
            const component_view data = data_of(each);
            CHECK(data.dtype() == std::nullopt);
            CHECK(data.dtype_name() == dtype);
            CHECK(data.original_dtype() == dtype);
            CHECK(refusal(data.read<float>()) == errc::unknown_dtype);
            CHECK(data.read<std::byte>().value().size() == 8);
        }
    }
}

TEST_CASE("1.1: four logical types stand as dtypes, raw and compressed, and have their size from the shape") {
    struct row {
        const char* word;
        const char* dtype;
        const char* type;
        std::size_t bytes_each;
    };
    const row rows[] = {{"f8_e4m3", "u8", "f8_e4m3fn", 1},
                        {"f8_e5m2", "u8", "f8_e5m2", 1},
                        {"complex64", "f32", "complex64", 8},
                        {"complex128", "f64", "complex128", 16}};
    const temp_dir directory;
    for (const row& each : rows) {
        for (const bool is_zstd : {false, true}) {
            const bytes content = counting(6 * each.bytes_each);
            sample file(generation::v1_1);
            file.dtype(each.word).shape({2, 3}).blob(content);
            if (is_zstd) {
                file.zstd_blob(frame_of(content), 0);
            }
            for (const opening& way : open_every_way(file.file(), directory)) {
                CAPTURE(each.word, is_zstd, way.way);
                const reader& from = way.file.value();
                const component_view data = data_of(from);
                CHECK(data.dtype_name() == each.dtype);
                CHECK(data.type() == each.type);
                CHECK(data.has_type());
                CHECK(data.original_dtype() == each.word);
                CHECK(data.decoded_bytes() == content.size());
                CHECK_FALSE(data.uncompressed_length().has_value());
                CHECK(as_string(data.read<std::byte>().value()) == content);
            }
            sample wrong = file;
            wrong.shape({2, 4});
            const result<reader> other = open(wrong.file());
            if (!is_zstd) {
                CHECK(refusal(other) == errc::size_mismatch);
            } else {
                REQUIRE(other.has_value());
                CHECK(refusal(data_of(*other).read<std::byte>()) == errc::decode_size);
            }
        }
    }
}

TEST_CASE("1.1: numbers of the four logical types are read as such, and as what they are stored as") {
    sample file(generation::v1_1);
    file.dtype("complex64").shape({1}); // of the floats 1 and 2
    const reader complex_file = opened(file.file());
    CHECK(complex_file.read<std::complex<float>>("w").value() == std::vector<std::complex<float>>{{1, 2}});
    CHECK(complex_file.read<float>("w").value() == std::vector<float>{1, 2});
    CHECK(refusal(complex_file.read_as<float>("w")) == errc::unsupported_type);
    CHECK(refusal(complex_file.read<std::complex<double>>("w")) == errc::type_mismatch);

    sample fp8(generation::v1_1);
    fp8.dtype("f8_e4m3").shape({3}).blob("\x38\x7e\xb8"); // 1, 448, -1
    const reader fp8_file = opened(fp8.file());
    CHECK(fp8_file.read_as<float>("w").value() == std::vector<float>{1, 448, -1});
    CHECK(fp8_file.read<std::uint8_t>("w").value() == std::vector<std::uint8_t>{0x38, 0x7e, 0xb8});
    CHECK(fp8_file.read<ztensor::float8_e4m3fn>("w").value().front().bits() == 0x38);
    CHECK(refusal(fp8_file.read<ztensor::float8_e5m2>("w")) == errc::type_mismatch);
    fp8.dtype("f8_e5m2").blob("\x3c\x7b\xbc"); // 1, 57,344, -1
    CHECK(opened(fp8.file()).read_as<double>("w").value() == std::vector<double>{1, 57344, -1});
}

// -- fields that a generation does not have

TEST_CASE("1.0: the fields that came later are unknown, whatever they say") {
    const bytes anything[] = {cbor::number(1), cbor::text("complex64"), cbor::array({}), cbor::null};
    for (const bytes& value : anything) {
        for (const char* const field : {"dtype", "type", "uncompressed_length"}) {
            sample file(generation::v1_0);
            file.component(field, value);
            const result<reader> each = open(file.file());
            CAPTURE(field, ztensor::detail::quote(value));
            CHECK(each.has_value());
            if (each) {
                CHECK(data_of(*each).dtype_name() == "f32");
                CHECK_FALSE(data_of(*each).has_type());
                CHECK_FALSE(data_of(*each).uncompressed_length().has_value());
                CHECK(each->read<float>("w").value_or(std::vector<float>()) == std::vector<float>{1, 2});
            }
        }
        sample file(generation::v1_0);
        file.object("attributes", value);
        const result<reader> each = open(file.file());
        CAPTURE(ztensor::detail::quote(value));
        CHECK(each.has_value());
        if (each) {
            CHECK_FALSE(each->find("w").value().has_attributes());
        }
    }
    sample with_objects(generation::v1_0);
    with_objects.root("objects", cbor::number(1)).root("generator", cbor::text("someone"));
    const reader from = opened(with_objects.file());
    CHECK(from.size() == 1);
    CHECK_FALSE(from.attributes().contains("generator"));
}

TEST_CASE("0.1: the fields of later generations are custom keys") {
    sample file(generation::v0_1);
    file.object_map().set("type", cbor::text("complex64")).set("length", cbor::number(1)).set("digest", cbor::text("crc32c:?"));
    file.object_map().set("attributes", cbor::map{{"k", cbor::number(1)}}).set("uncompressed_length", cbor::number(9));
    file.object_map().set("format", cbor::text("sparse_csr")).set("components", cbor::map());
    const reader from = opened(file.file());
    const object_view object = from.find("w").value();
    CHECK(object.attributes().size() == 7);
    CHECK(object.attributes().text("type").value() == "complex64");
    CHECK(object.attributes().integer("length").value() == 1);
    CHECK(object.format() == "dense");
    CHECK_FALSE(data_of(from).has_type());
    CHECK(data_of(from).digest().empty());
    CHECK(object.read<float>().value() == std::vector<float>{1, 2});
}

// -- what 1.0 says by role

TEST_CASE("1.0: the dtype of a component follows from its role") {
    sample file(generation::v1_0);
    file.dtype("bf16").blobs({counting(16), counting(24), counting(4), counting(5)});
    file.parts("sparse_csr", {2, 3}, {{"indices", "", 64, 16}, {"indptr", "", 128, 24}, {"values", "", 192, 4}, {"more", "", 256, 5}});
    const reader from = opened(file.file());
    const object_view object = from.find("w").value();
    CHECK(object.component("values")->dtype() == ztensor::dtype::bf16);
    CHECK(object.component("values")->original_dtype() == "bfloat16");
    for (const char* const role : {"indices", "indptr"}) {
        CHECK(object.component(role)->dtype() == ztensor::dtype::u64);
        CHECK(object.component(role)->dtype_name() == "u64");
        CHECK(object.component(role)->original_dtype() == "uint64");
    }
    const component_view more = object.component("more").value();
    CHECK_FALSE(more.dtype().has_value());
    CHECK(as_string(more.read<std::byte>().value()) == counting(5));
    CHECK(refusal(more.read<ztensor::bfloat16>()) == errc::unknown_dtype);
    CHECK(refusal(more.read<std::uint8_t>()) == errc::unknown_dtype);
}

TEST_CASE("1.0: all roles of a format of its own but the known ones have an unknown dtype") {
    sample file(generation::v1_0);
    file.blobs({counting(8), counting(8), counting(8)});
    file.parts("own", {2}, {{"coords", "", 64, 8}, {"data", "", 128, 8}, {"scales", "", 192, 8}});
    const reader from = opened(file.file());
    const object_view object = from.find("w").value();
    CHECK(object.component("coords")->dtype() == ztensor::dtype::u64);
    CHECK(object.component("data")->dtype() == ztensor::dtype::f32);
    CHECK_FALSE(object.component("scales")->dtype().has_value());
}

// -- names that the file uses

TEST_CASE("the file's own words for the format are kept beside those of 1.2") {
    const std::pair<const char*, const char*> layouts[] = {{"dense", "dense"}, {"sparsecsr", "sparse_csr"}, {"sparsecoo", "sparse_coo"},
                                                           {"blocked", "blocked"}, {"sparse_csr", "sparse_csr"}, {"Dense", "Dense"}};
    for (const auto& [layout, format] : layouts) {
        sample file(generation::v0_1);
        file.object("layout", cbor::text(layout)).shape({2, 1}).dtype("u8").blob(bytes(std::string(layout) == "dense" ? 2 : 0, '\0'));
        if (std::string(layout) == "sparsecsr") {
            file.blob(bytes(24, '\0'));
        }
        const reader from = opened(file.file());
        const object_view object = from.find("w").value();
        CAPTURE(layout);
        CHECK(object.original_format() == layout);
        CHECK(object.format() == format);
        const bool is_known = std::string(layout) == "dense" || std::string(layout) == "sparsecsr" || std::string(layout) == "sparsecoo";
        CHECK(object.known_format().has_value() == is_known);
    }
    sample without(generation::v0_1);
    without.object_map().remove("layout");
    const reader from = opened(without.file());
    CHECK(from.find("w").value().format() == "dense");
    CHECK(from.find("w").value().original_format().empty());
    for (const generation later : {generation::v1_0, generation::v1_1, generation::v1_2}) {
        const reader each = opened(sample(later).file());
        CHECK(each.find("w").value().original_format() == "dense");
    }
}

TEST_CASE("0.1: sparse_format and index arrays of a dense tensor are custom keys") {
    sample file(generation::v0_1);
    file.object("sparse_format", cbor::text("csr")).object("indptr", cbor::numbers({1})).object("coords", cbor::null);
    const reader from = opened(file.file());
    const object_view object = from.find("w").value();
    CHECK(object.format() == "dense");
    CHECK(object.attributes().size() == 3);
    CHECK(object.attributes().text("sparse_format").value() == "csr");
    CHECK(object.read<float>().value() == std::vector<float>{1, 2});
}

TEST_CASE("0.1: a sparse_format that is unknown is listed as an attribute, and survives a copy") {
    sample file(generation::v0_1);
    file.object("format", cbor::text("sparse")).object("sparse_format", cbor::text("ell")).object("indptr", cbor::null);
    const reader from = opened(file.file());
    const object_view object = from.find("w").value();
    CHECK(object.format() == "sparse");
    CHECK_FALSE(object.known_format().has_value());
    CHECK(object.attributes().size() == 2);
    CHECK(object.attributes().text("sparse_format").value() == "ell");
    ztensor::writer to = ztensor::writer::to_memory(ztensor::write_options().version(ztensor::format_version::v0_1)).value();
    ztensor::copy(from, to).value();
    to.finish().value();
    const reader copied = reader::from_bytes(to.take_bytes()).value();
    CHECK(copied.find("w").value().format() == "sparse");
    CHECK(copied.find("w").value().attributes().text("sparse_format").value() == "ell");
}

TEST_CASE("0.1: custom keys that are fields elsewhere keep every byte of their values") {
    const std::pair<const char*, bytes> keys[] = {
        {"sparse_format", cbor::chunked({"cs", "r"})},
        {"coords", cbor::chunked({"a", "\xff", "b"})},
        {"indptr", cbor::chunked({})},
        {"indices", cbor::indefinite_array({cbor::number(1)})},
    };
    sample file(generation::v0_1);
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
        sample file(generation::v0_1);
        file.object("layout", cbor::text(layout)).object("data_endianness", cbor::text("big")).shape({1, 1}).blob(bytes(28, '\0'));
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
    sample one_byte_values(generation::v0_1); // beside indices of eight
    one_byte_values.dtype("u8").shape({4}).object("layout", cbor::text("sparsecoo")).object("data_endianness", cbor::text("big"));
    one_byte_values.blob(support::big_endian(1, 8) + "v");
    const reader from = opened(one_byte_values.file());
    CHECK(ztensor::coo_view<std::uint8_t>::from(*from.find("w")).error().code() == errc::needs_byteswap);
    sample bytes_alone(generation::v0_1);
    bytes_alone.dtype("u8").shape({8}).object("data_endianness", cbor::text("middle")); // means nothing there
    CHECK(opened(bytes_alone.file()).read<std::uint8_t>("w").has_value());
}

TEST_CASE("0.1: the fields are no attributes, the custom keys are, in the order of the file") {
    sample file(generation::v0_1);
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
        generation from;
        std::vector<std::string> required;
        std::vector<std::string> optional;
    };
    const row rows[] = {
        {generation::v0_1, {"name", "offset", "length", "dtype", "shape", "encoding"}, {"format", "digest", "data_endianness"}},
        {generation::v1_0, {"dtype", "shape", "format", "components", "offset", "length"}, {"encoding", "digest", "attributes", "generator"}},
        {generation::v1_1, {"version", "objects", "shape", "format", "components", "dtype", "offset", "length"}, {"encoding", "digest", "attributes", "type"}},
        {generation::v1_2, {"version", "objects", "shape", "format", "components", "dtype", "offset", "length"}, {"encoding", "digest", "attributes", "type", "uncompressed_length"}},
    };
    for (const row& each : rows) {
        for (const std::string& field : each.required) {
            CAPTURE(name(each.from), field);
            const result<reader> opened_without = open(sample(each.from).without(field).file());
            REQUIRE(refusal(opened_without) == errc::schema_missing);
            const std::string own = each.from == generation::v0_1 && field == "length" ? "size" : field;
            CHECK(opened_without.error().what().find(own) != std::string::npos);
        }
        for (const std::string& field : each.optional) {
            CAPTURE(name(each.from), field);
            CHECK(open(sample(each.from).without(field).file()).has_value());
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
        {"data_endianness", {cbor::number(0), cbor::null, cbor::yes}},
        {"checksum", {cbor::number(0), cbor::null, cbor::byte_string("crc32c:00000000")}},
    };
    for (const auto& [field, items] : rows) {
        for (const bytes& item : items) {
            sample file(generation::v0_1);
            file.object_map().set(field, item);
            CAPTURE(field, ztensor::detail::quote(item));
            CHECK(refusal(open(file.file())) == errc::schema_type);
        }
    }
    for (const char* const field : {"offset", "size"}) {
        sample file(generation::v0_1);
        file.object_map().set(field, cbor::minus_one_minus(63));
        CHECK(refusal(open(file.file())) == errc::schema_range);
    }
}

TEST_CASE("0.1: two tensors of one name, and keys that stand twice or are no text, are refused") {
    const bytes tensor = sample(generation::v0_1).encoded_object();
    CHECK(refusal(open(sample(generation::v0_1).objects(cbor::array({tensor, tensor})).file())) == errc::duplicate_key);
    sample other(generation::v0_1);
    other.object("name", cbor::text("v"));
    const reader both = opened(sample(generation::v0_1).objects(cbor::array({tensor, other.encoded_object()})).file());
    CHECK(both.size() == 2);
    CHECK(both.begin().operator*().name() == "w"); // in the order of the array
    sample twice(generation::v0_1);
    twice.object_map().add(cbor::text("dtype"), cbor::text("float32"));
    CHECK(refusal(open(twice.file())) == errc::duplicate_key);
    sample custom_twice(generation::v0_1);
    custom_twice.object_map().add(cbor::text("x"), cbor::null).add(cbor::chunked({"x"}), cbor::null);
    CHECK(refusal(open(custom_twice.file())) == errc::duplicate_key);
    sample number_key(generation::v0_1);
    number_key.object_map().add(cbor::number(1), cbor::null);
    CHECK(refusal(open(number_key.file())) == errc::schema_key);
}

// -- byte order

namespace {

const char* const order_words[] = {"little", "big"};

/// Elements of T whose bytes in the file are `content`, least or most significant first.
template <class T>
void check_order(std::string_view dtype) {
    const temp_dir directory;
    const std::size_t width = sizeof(T);
    const bytes numbers = counting(6 * width); // little-endian
    for (const bool is_big : {false, true}) {
        sample file(generation::v0_1);
        file.dtype(dtype).shape({3, 2}).blob(is_big ? reversed(numbers, width) : numbers);
        file.object("data_endianness", cbor::text(order_words[is_big ? 1 : 0]));
        const bytes crc = ztensor::digest_text(ztensor::digest::crc32c, support::to_vector(is_big ? reversed(numbers, width) : numbers));
        file.component("digest", cbor::text(crc));
        for (const opening& way : open_every_way(file.file(), directory)) {
            CAPTURE(dtype, is_big, way.way);
            const reader& from = way.file.value();
            const component_view data = data_of(from);
            CHECK(data.is_big_endian() == (is_big && width > 1));
            CHECK(data.verify().value() == digest_state::match);
            CHECK(as_string(data.read<std::byte>().value()) == (is_big ? reversed(numbers, width) : numbers));
            CHECK(as_string(data.read_little_endian().value()) == numbers);
            const bytes expected = memory_of(elements<T>(numbers));
            CHECK(memory_of(from.read<T>("w").value()) == expected);
            std::vector<T> into(6);
            from.read_into("w", into).value();
            CHECK(memory_of(into) == expected);
            CHECK(memory_of(from.read_rows<T>("w", 1, 2).value()) == expected.substr(2 * width, 2 * width));
            const bool is_foreign = width > 1 && is_big == host_is_little_endian();
            const auto view = from.view<T>("w");
            if (!from.is_mapped()) {
                CHECK(refusal(view) == errc::not_viewable);
            } else if (is_foreign) {
                CHECK(refusal(view) == errc::needs_byteswap);
            } else {
                REQUIRE(view.has_value());
                CHECK(memory_of(std::vector<T>(view->begin(), view->end())) == expected);
            }
        }
    }
}

} // namespace

TEST_CASE("0.1: data in either byte order are read alike, and viewed where the host's order is theirs") {
    check_order<double>("f64");
    check_order<float>("f32");
    check_order<ztensor::float16>("f16");
    check_order<ztensor::bfloat16>("bf16");
    check_order<std::int64_t>("i64");
    check_order<std::int32_t>("i32");
    check_order<std::int16_t>("i16");
    check_order<std::uint64_t>("u64");
    check_order<std::uint32_t>("u32");
    check_order<std::uint16_t>("u16");
    check_order<std::uint8_t>("u8");
    check_order<std::int8_t>("i8");
}

TEST_CASE("0.1: big-endian numbers are what they are, whatever they are read as") {
    sample file(generation::v0_1);
    file.object("data_endianness", cbor::text("big")).blob("\x3f\x80\0\0\xc0\0\0\0"s);
    const reader from = opened(file.file());
    CHECK(from.read<float>("w").value() == std::vector<float>{1, -2});
    CHECK(from.read_as<double>("w").value() == std::vector<double>{1, -2});
    CHECK(from.read_rows<float>("w", 1, 2).value() == std::vector<float>{-2});
    CHECK(from.view<std::byte>("w").value().size() == 8); // bytes have no order
    file.dtype("bool").shape({2}).blob("\0\1"s);
    CHECK(opened(file.file()).read<bool>("w").value() == std::vector<bool>{false, true});
}

TEST_CASE("0.1: without a word the order is little-endian, and so it is in every later generation") {
    for (const generation from : generations) {
        sample file(from);
        file.blob(little_endian(0x3f800000, 4) + little_endian(0xc0000000, 4));
        if (from != generation::v0_1) {
            file.component("data_endianness", cbor::text("big")); // of no meaning there
        }
        const reader each = opened(file.file());
        CHECK_FALSE(data_of(each).is_big_endian());
        CHECK(each.read<float>("w").value() == std::vector<float>{1, -2});
    }
}

TEST_CASE("0.1: another byte order than little and big is refused") {
    for (const char* const word : {"", "Big", "LITTLE", "middle", "native", "big "}) {
        sample file(generation::v0_1);
        file.object("data_endianness", cbor::text(word));
        const result<reader> each = open(file.file());
        CAPTURE(word);
        REQUIRE(refusal(each) == errc::schema_type);
        CHECK(each.error().object() == "w");
    }
}

// -- bools

TEST_CASE("a bool of 0.1 is true if its byte is not 0, one of a later generation if it is 1") {
    const temp_dir directory;
    const bytes odd = "\0\1\2\x80\xff\0"s;
    for (const generation from : generations) {
        for (const bool is_zstd : {false, true}) {
            sample file(from);
            file.dtype("bool").shape({3, 2}).blob(odd);
            if (is_zstd) {
                file.zstd_blob(frame_of(odd), odd.size());
            }
            for (const opening& way : open_every_way(file.file(), directory)) {
                CAPTURE(name(from), is_zstd, way.way);
                const reader& each = way.file.value();
                std::array<bool, 6> into{};
                if (from == generation::v0_1) {
                    CHECK(each.read<bool>("w").value() == std::vector<bool>{false, true, true, true, true, false});
                    CHECK(each.read_rows<bool>("w", 1, 2).value() == std::vector<bool>{true, true});
                    CHECK(each.read_as<float>("w").value() == std::vector<float>{0, 1, 1, 1, 1, 0});
                    each.read_into("w", into).value();
                    CHECK(into == std::array<bool, 6>{false, true, true, true, true, false});
                } else {
                    CHECK(refusal(each.read<bool>("w")) == errc::bad_bool);
                    CHECK(refusal(each.read_rows<bool>("w", 1, 2)) == errc::bad_bool);
                    CHECK(refusal(each.read_as<float>("w")) == errc::bad_bool);
                    into.fill(true);
                    CHECK(refusal(each.read_into("w", into)) == errc::bad_bool);
                    CHECK(into == std::array<bool, 6>{}); // none that is neither true nor false
                }
                CHECK(as_string(data_of(each).read<std::byte>().value()) == odd); // never what is stored
                CHECK(each.read<std::uint8_t>("w").value() == elements<std::uint8_t>(odd));
            }
        }
    }
}

TEST_CASE("bools of 0 and 1 are read alike in every generation") {
    for (const generation from : generations) {
        sample file(from);
        file.dtype("bool").shape({3}).blob("\1\0\1"s);
        const reader each = opened(file.file());
        CHECK(each.read<bool>("w").value() == std::vector<bool>{true, false, true});
        CHECK(each.read_as<double>("w").value() == std::vector<double>{1, 0, 1});
        CHECK(each.read_rows<bool>("w", 0, 1).value() == std::vector<bool>{true});
        CHECK(data_of(each).dtype_name() == "bool");
    }
}

// -- sizes that earlier generations do not state

TEST_CASE("compressed data have their size from shape and type, where the file does not state it") {
    const temp_dir directory;
    for (const generation from : generations_without_sizes) {
        for (const std::size_t decoded : {7U, 8U, 9U, 0U}) {
            sample file(from);
            file.zstd_blob(frame_of(counting(decoded)), 0); // for two floats
            for (const opening& way : open_every_way(file.file(), directory)) {
                CAPTURE(name(from), decoded, way.way);
                const reader& each = way.file.value();
                CHECK(data_of(each).decoded_bytes() == 8);
                CHECK_FALSE(data_of(each).uncompressed_length().has_value());
                if (decoded == 8) {
                    CHECK(memory_of(each.read<float>("w").value()) == memory_of(elements<float>(counting(8))));
                } else {
                    CHECK(refusal(each.read<float>("w")) == errc::decode_size);
                    CHECK(refusal(data_of(each).read<std::byte>()) == errc::decode_size);
                }
            }
        }
    }
}

TEST_CASE("a size from the shape that the blob can't decode to is refused when the file is opened") {
    for (const generation from : generations_without_sizes) {
        sample file(from);
        file.dtype("u8").zstd_blob("zzzz", 0).shape({4 * 32768});
        CHECK(open(file.file()).has_value());
        file.shape({4 * 32768 + 1});
        CHECK(refusal(open(file.file())) == errc::decode_limit);
        file.shape({std::uint64_t{1} << 62});
        CHECK(refusal(open(file.file())) == errc::decode_limit);
        file.dtype("f64").shape({std::uint64_t{1} << 61});
        CHECK(refusal(open(file.file())) == errc::shape_overflow);
    }
}

TEST_CASE("compressed data of an unknown type or format end with their blob") {
    for (const generation from : generations_without_sizes) {
        for (const bool is_about_format : {false, true}) {
            sample file(from);
            file.zstd_blob(frame_of("abc") + support::zstd::skippable_frame("x") + frame_of("defgh"), 0);
            if (is_about_format) {
                file.object("format", cbor::text("own"));
            } else {
                file.dtype("f24");
            }
            const reader each = opened(file.file());
            CAPTURE(name(from), is_about_format);
            CHECK_FALSE(data_of(each).decoded_bytes().has_value());
            CHECK(as_string(data_of(each).read<std::byte>().value()) == "abcdefgh");
            if (is_about_format) {
                CHECK(memory_of(data_of(each).read<float>().value()) == memory_of(elements<float>("abcdefgh")));
                CHECK(refusal(data_of(each).read<double>()) == errc::type_mismatch);
            }
        }
    }
}

TEST_CASE("compressed data whose size only decoding tells must be whole elements") {
    sample file(generation::v1_1);
    file.zstd_blob(frame_of("abcdefg"), 0).object("format", cbor::text("own"));
    const reader each = opened(file.file());
    CHECK(refusal(data_of(each).read<float>()) == errc::size_mismatch);
    CHECK(data_of(each).read<std::byte>().value().size() == 7);
}

// -- one generation and another

TEST_CASE("a generation is known by its ends and its version") {
    for (const generation from : generations) {
        const reader each = opened(sample(from).file());
        CHECK(each.generation() == from);
        CHECK(each.size() == 1);
    }
    CHECK(opened(sample(generation::v0_1).file()).generation() == generation::v0_1);
    const std::pair<const char*, generation> versions[] = {
        {"1.0", generation::v1_1},   {"1.0.0", generation::v1_1}, {"1.0.99", generation::v1_1},  {"1.1", generation::v1_1},
        {"1.1.0", generation::v1_1}, {"1.1.9", generation::v1_1}, {"1.2", generation::v1_2},     {"1.2.0", generation::v1_2},
        {"1.3", generation::v1_2},   {"1.9.1", generation::v1_2}, {"1.10.0", generation::v1_2},  {"1.11", generation::v1_2},
        {"1.20", generation::v1_2},  {"1.100", generation::v1_2}, {"1.2.0-rc.1", generation::v1_2}, {"1.1.x", generation::v1_1},
    };
    for (const auto& [text, expected] : versions) { // with both magics
        const reader each = opened(sample().root("version", cbor::text(text)).file());
        CAPTURE(text);
        CHECK(each.generation() == expected);
        CHECK(each.version() == text);
        CHECK(each.read<float>("w").value() == std::vector<float>{1, 2});
    }
    for (const char* const text : {"0.1", "0.9.0", "2", "2.0", "2.0.0", "10.0", "11.2.0", "1", "1.", "1.x", "x", "", "1,2", " 1.2", "1.2x",
                                   "1.02", "01.2", "1.-1", "+1.2", "1 .2"}) {
        const result<reader> each = open(sample().root("version", cbor::text(text)).file());
        CAPTURE(text);
        CHECK(refusal(each) == errc::unsupported_version);
    }
    const result<reader> second = open(sample().root("version", cbor::text("2.0.0")).file());
    REQUIRE_FALSE(second.has_value());
    CHECK(second.error().what().find("2.0.0") != std::string::npos);
}

TEST_CASE("what a version says decides how its words are read") {
    sample file; // with a field of 1.2, and a dtype of 1.1
    file.component("type", cbor::text("q16.16"));
    for (const char* const version : {"1.2.0", "1.3.0", "1.10"}) {
        const reader each = opened(file.root("version", cbor::text(version)).file());
        CHECK(data_of(each).type() == "q16.16");
    }
    sample complex_file;
    complex_file.dtype("complex64").shape({1});
    for (const char* const version : {"1.0", "1.1", "1.1.0"}) {
        const reader each = opened(complex_file.root("version", cbor::text(version)).file());
        CHECK(data_of(each).type() == "complex64");
    }
    for (const char* const version : {"1.2", "1.11", "1.3"}) {
        const reader each = opened(complex_file.root("version", cbor::text(version)).file());
        CHECK_FALSE(data_of(each).dtype().has_value());
    }
}

TEST_CASE("1.0 is told from a later file that was cut off or appended to") {
    const bytes good = sample(generation::v1_0).file();
    CHECK(opened(good).generation() == generation::v1_0);
    for (const char* const text : {"1.0", "1.0.0", "1.0.2", "1.0."}) {
        const reader each = opened(sample(generation::v1_0).root("version", cbor::text(text)).file());
        CHECK(each.generation() == generation::v1_0);
        CHECK(each.version() == text);
    }
    for (const char* const text : {"1", "1.", "1.00", "1.0x", "1.01", "1.1", "1.2.0", "0.1", "2.0", ""}) {
        CAPTURE(text);
        CHECK(refusal(open(sample(generation::v1_0).root("version", cbor::text(text)).file())) == errc::truncated);
    }
    for (const bytes& item : {cbor::number(1), cbor::null, cbor::byte_string("1.0"), cbor::double_one}) {
        CHECK(refusal(open(sample(generation::v1_0).root("version", item).file())) == errc::truncated);
    }
    const bytes later = sample().file();
    CHECK(refusal(open(later.substr(0, later.size() - 8))) == errc::truncated); // ends with a size of an index, of 1.2
    CHECK(refusal(open(later + bytes(8, '\0'))) == errc::truncated);
    CHECK(refusal(open(later + little_endian(1, 8))) == errc::truncated);
    CHECK(refusal(open(later + later.substr(later.size() - 16, 8))) == errc::truncated);
    const bytes of_1_2_in_1_0 = support::file_1_0(sample().index()); // `objects` of 1.2 in the container of 1.0
    CHECK(refusal(open(of_1_2_in_1_0)) == errc::truncated);
    const bytes in_later = support::file_1(sample(generation::v1_0).index()); // `tensors` of 1.0 in that of 1.2
    CHECK(refusal(open(in_later)) == errc::schema_missing);
}

TEST_CASE("once a file is known to be of 1.0, its faults are named as what they are") {
    CHECK(refusal(open(sample(generation::v1_0).objects(cbor::number(1)).file())) == errc::schema_type);
    CHECK(refusal(open(sample(generation::v1_0).root("attributes", cbor::number(1)).file())) == errc::schema_type);
    CHECK(refusal(open(sample(generation::v1_0).shape({4}).file())) == errc::size_mismatch);
    CHECK(refusal(open(sample(generation::v1_0).place(65, 8).file())) == errc::misaligned_offset);
    sample twice(generation::v1_0);
    twice.root_map().add(cbor::text("version"), cbor::text("1.0"));
    CHECK(refusal(open(twice.file())) == errc::duplicate_key);
}

TEST_CASE("a file that was cut off is refused at any length, in every generation") {
    for (const generation from : generations) {
        const bytes whole = sample(from).object("x", cbor::text("more")).file();
        for (std::size_t size = 0; size < whole.size(); ++size) {
            const result<reader> each = open(whole.substr(0, size));
            CAPTURE(name(from), size);
            if (from == generation::v0_1 && size == 16) { // within zeros: the same as a file without tensors
                CHECK(each.has_value());
                continue;
            }
            REQUIRE_FALSE(each.has_value());
            if (from != generation::v0_1) {
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
    CHECK(with_index.version().empty());
    CHECK(with_index.generation() == generation::v0_1);
    const reader without = opened(magic + bytes(8, '\0'));
    CHECK(without.empty());
    CHECK(without.manifest_bytes() == 0);
    CHECK(without.verify().value().complete());
    CHECK(opened(support::file_0_1(cbor::indefinite_array({}))).empty());
    for (const std::size_t zeros : {9U, 16U, 56U, 64U, 1000U}) { // cut off within zeros
        CAPTURE(zeros);
        CHECK(refusal(open(magic + bytes(zeros, '\0'))) == errc::manifest_empty);
    }
    CHECK(refusal(open(magic)) == errc::truncated);
    CHECK(refusal(open(magic + bytes(7, '\0'))) == errc::truncated);
    CHECK(refusal(open(magic + little_endian(1, 8))) == errc::manifest_out_of_bounds);
}

TEST_CASE("0.1: the index is an array of maps") {
    for (const bytes& index : {cbor::map().encoded(), cbor::number(0), cbor::text(""), cbor::null, cbor::tag(1, cbor::array({})),
                               cbor::array({cbor::null}), cbor::array({cbor::array({})}), cbor::numbers({1})}) {
        CAPTURE(ztensor::detail::quote(index));
        CHECK(refusal(open(support::file_0_1(index))) == errc::schema_type);
    }
    CHECK(refusal(open(support::file_0_1(cbor::array({cbor::map()})))) == errc::schema_missing);
    CHECK(refusal(open(support::file_0_1("\x80\x80"))) == errc::cbor_trailing);
    const reader indefinite = opened(sample(generation::v0_1).objects(cbor::array({sample(generation::v0_1).object_map().indefinite()})).file());
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
        sample file(generation::v0_1);
        file.object("checksum", cbor::text(text));
        const reader each = opened(file.file());
        CAPTURE(text);
        CHECK(data_of(each).digest() == text);
        CHECK(data_of(each).verify().value() == state);
        CHECK(each.read<float>("w").has_value() == (state != digest_state::mismatch));
    }
    CHECK(data_of(opened(sample(generation::v0_1).file())).verify().value() == digest_state::absent);
    sample malformed(generation::v0_1);
    malformed.object("checksum", cbor::text("crc32c:0x123"));
    CHECK(refusal(open(malformed.file())) == errc::digest_format);
}

// -- real files

TEST_CASE("golden files of earlier generations say which words they use") {
    const std::filesystem::path folder = "tests/corpus/golden";
    const reader v0_1 = reader::open(folder / "v0.1-dense.zt").value();
    CHECK(v0_1.version().empty());
    CHECK(v0_1.find("t.bf16").value().component("data")->original_dtype() == "bfloat16");
    CHECK(v0_1.find("t.bf16").value().original_format() == "dense");
    const reader v1_0 = reader::open(folder / "v1.0-sparse-csr.zt").value();
    CHECK(v1_0.version() == "1.0");
    CHECK(v1_0.generation() == generation::v1_0);
    CHECK(v1_0.find("csr.raw").value().component("indptr")->original_dtype() == "uint64");
    const reader v1_1 = reader::open(folder / "s1.1-types.zt").value();
    CHECK(v1_1.version() == "1.1.0");
    CHECK(v1_1.find("c64").value().component("data")->original_dtype() == "complex64");
    CHECK(v1_1.find("c64").value().component("data")->dtype_name() == "f32");
    const reader big = reader::open(folder / "v0.1-big-endian.zt").value();
    CHECK(big.find("be.f64").value().component("data")->is_big_endian());
    CHECK_FALSE(big.find("be.u8").value().component("data")->is_big_endian());
    CHECK(big.view<double>("be.f64").has_value() == !host_is_little_endian());
}
