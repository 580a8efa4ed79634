// SPDX-License-Identifier: MIT
//
// Rules about fields, shapes, blobs, encodings and digests that a file can break and that are seen when it is opened.
// Beside each rule stands the nearest file that keeps it.
#include "index/rules.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <ztensor/reader.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using rules::accepted;
using rules::attribute_key;
using rules::both;
using rules::change;
using rules::check_rows;
using rules::component;
using rules::generations_in;
using rules::in_0_1;
using rules::in_1_0;
using rules::in_1_1;
using rules::in_1_2;
using rules::in_all;
using rules::named;
using rules::object;
using rules::placed;
using rules::root;
using rules::shaped;
using rules::since_1_0;
using rules::since_1_1;
using rules::two_to_32;
using rules::two_to_61;
using rules::without;
using support::bytes;
using support::largest;
using support::opened;
using support::opening;
using support::part;
using support::sample;
using support::temp_dir;
using support::two_to_63;
using ztensor::errc;
using ztensor::read_options;
using ztensor::reader;
using ztensor::version;
namespace cbor = support::cbor;

using namespace std::string_literals;

} // namespace

// ---- C. the root and names

TEST_CASE("a required field that is missing is refused") {
    check_rows({
        {"C1: version", without("version"), errc::schema_missing, "", since_1_1},
        {"C1: version of 1.0", without("version"), errc::truncated, "", in_1_0},
        {"C2: objects", without("objects"), errc::schema_missing, "", since_1_1},
        {"C2: tensors of 1.0", without("objects"), errc::truncated, "", in_1_0},
        {"D-1: shape", without("shape"), errc::schema_missing, "w"},
        {"format", without("format"), errc::schema_missing, "w", since_1_0},
        {"layout, which may be missing", without("format"), accepted, "", in_0_1},
        {"D-9: components", without("components"), errc::schema_missing, "w", since_1_0},
        {"D-9: any component", [](sample& file) { file.components(cbor::map()); }, errc::schema_missing, "w",
         since_1_0},
        {"E1: dtype", without("dtype"), errc::schema_missing, "w/data", since_1_1},
        {"E1: dtype of 1.0", without("dtype"), errc::schema_missing, "w", in_1_0},
        {"dtype of 0.1", without("dtype"), errc::schema_missing, "w", in_0_1},
        {"offset", without("offset"), errc::schema_missing, "w/data"},
        {"length", without("length"), errc::schema_missing, "w/data"},
        {"encoding of 0.1", without("encoding"), errc::schema_missing, "w", in_0_1},
        {"encoding, which may be missing", without("encoding"), accepted, "", since_1_0},
        {"name", without("name"), errc::schema_missing, "", in_0_1},
        {"attributes, which may be missing", without("attributes"), accepted},
        {"sparse_format", object("format", cbor::text("sparse")), errc::schema_missing, "w", in_0_1},
        {"sparse_format that is no text",
         [](sample& file) { file.object("format", cbor::text("sparse")).object("sparse_format", cbor::number(1)); },
         errc::schema_type, "w", in_0_1},
        {"no object at all",
         [](sample& file) { file.objects(file.is_0_1() ? cbor::array({}) : cbor::map().encoded()); }, accepted},
    });
}

TEST_CASE("C1: only versions 1.x are read") {
    for (const std::string_view version : {"2.0", "2.0.0", "0.1", "0.1.0", "", "1", "1.", "1..0", "1.x", "1,2", "01.2",
                                           "10.2", " 1.2", "v1.2.0", "1.2x", "1.2 ", "1.02", "1.-2", "one"}) {
        check_rows({
            {"version " + std::string(version), root("version", cbor::text(version)), errc::unsupported_version, "",
             since_1_1},
        });
    }
    check_rows({
        {"a version of a megabyte", root("version", cbor::text("1.2." + bytes(1 << 20, '0'))),
         errc::unsupported_version, "", since_1_1},
    });
    for (const std::string_view version : {"1.0", "1.1", "1.2", "1.2.", "1.3.0", "1.10.7", "1.2.0-rc.1+x", "1.999"}) {
        check_rows({
            {"version " + std::string(version), root("version", cbor::text(version)), accepted, "", since_1_1},
        });
    }
    for (const std::string_view version : {"1.0.0", "1.0.2", "1.0."}) {
        check_rows({
            {"1.0 as " + std::string(version), root("version", cbor::text(version)), accepted, "", in_1_0},
        });
    }
    for (const std::string_view version : {"1.1", "1.1.0", "1.2.0", "2.0", "1.00", "1.0x", "1"}) {
        check_rows({
            {"a later version in the container of 1.0, " + std::string(version), root("version", cbor::text(version)),
             errc::truncated, "", in_1_0},
        });
    }
}

TEST_CASE("C3, D-9: more objects or components than the limits allow are refused") {
    const change two_objects = named({cbor::text("v"), cbor::text("w")});
    const change two_components = [](sample& file) {
        file.components(cbor::map{{"data", file.component_map()}, {"more", file.component_map()}});
    };
    check_rows({
        {"two objects of two", two_objects, accepted, "", in_all, read_options().max_objects(2)},
        {"two objects of one", two_objects, errc::limit_exceeded, "w", in_all, read_options().max_objects(1)},
        {"two components of two", two_components, accepted, "", since_1_0, read_options().max_components_per_object(2)},
        {"two components of one", two_components, errc::limit_exceeded, "w/more", since_1_0,
         read_options().max_components_per_object(1)},
    });
}

TEST_CASE("C6, C7: a name that is empty, of more than 4,096 bytes, or holds U+0000 is refused") {
    const bytes longest(4096, 'n');
    const auto half = std::string_view(longest).substr(0, 2048);
    const std::pair<bytes, std::optional<errc>> names[] = {
        {cbor::text(""), errc::name_invalid},
        {cbor::chunked({}), errc::name_invalid},
        {cbor::chunked({"", ""}), errc::name_invalid},
        {cbor::text("\0"s), errc::name_invalid},
        {cbor::text("a\0b"s), errc::name_invalid},
        {cbor::chunked({"a", std::string_view("\0", 1), "b"}), errc::name_invalid},
        {cbor::text(longest + "n"), errc::name_invalid},
        {cbor::chunked({longest, "n"}), errc::name_invalid},
        {cbor::text(bytes(100'000, 'n')), errc::name_invalid},
        {cbor::text(longest), accepted},
        {cbor::chunked({half, half}), accepted},
        {cbor::text("n"), accepted},
        {cbor::text("../../x"), accepted}, // C8: never a path
        {cbor::text("C:\\x\n\x1b[31m"), accepted},
    };
    for (const auto& [name, refusal] : names) {
        check_rows({
            {"of an object", named({name}), refusal},
            {"of a component",
             [name_ = name](sample& file) {
                 file.object("format", cbor::text("own")).components(cbor::map().add(name_, file.component_map()));
             },
             refusal, "w", since_1_0},
            {"of an attribute", attribute_key(name), refusal},
            {"of an object's attribute", object("attributes", cbor::map().add(name, cbor::null)), refusal, "w",
             since_1_1},
        });
    }
}

// ---- D. shapes and roles

TEST_CASE("D-2: 64 dimensions are read, 65 are refused") {
    std::vector<std::uint64_t> dimensions(64, 1);
    dimensions[20] = 2;
    std::vector<std::uint64_t> too_many = dimensions;
    too_many.push_back(1);
    check_rows({
        {"64", shaped(dimensions), accepted},
        {"65", shaped(too_many), errc::limit_exceeded, "w"},
        {"100,000", shaped(std::vector<std::uint64_t>(100'000, 1)), errc::limit_exceeded, "w"},
    });
}

TEST_CASE("a shape that does not say how many dimensions it has is refused at the 65th") {
    for (const version from : {version::v0_1, version::v1_0, version::v1_1, version::v1_2}) {
        CAPTURE(static_cast<int>(from));
        const auto outcome_of = [&](std::size_t rank) {
            std::vector<bytes> dimensions(rank, cbor::number(1));
            dimensions[20] = cbor::number(2);
            sample file(from);
            return support::outcome(
                support::open_bytes(file.object("shape", cbor::indefinite_array(dimensions)).file()));
        };
        CHECK(outcome_of(64) == "ok");
        CHECK(outcome_of(65) == "limit_exceeded");
        CHECK(outcome_of(100'000) == "limit_exceeded");
    }
}

TEST_CASE("D-3 to D-5: a shape whose size needs more than 64 bits is refused, and no zero hides it") {
    const auto of = [](std::string_view dtype, std::vector<std::uint64_t> dimensions) -> change {
        return [=](sample& file) { file.dtype(dtype).shape(dimensions).place(64, 0); };
    };
    const change as_complex = component("type", cbor::text("complex128"));
    check_rows({
        {"2^32 squared", of("u8", {two_to_32, two_to_32}), errc::shape_overflow, "w"},
        {"2^63 twice", of("u8", {two_to_63, 2}), errc::shape_overflow, "w"},
        {"the largest, squared", of("u8", {largest, largest}), errc::shape_overflow, "w"},
        {"a zero behind", of("u8", {two_to_63, 4, 0}), errc::shape_overflow, "w"},
        {"a zero before", of("u8", {0, two_to_63, 4}), errc::shape_overflow, "w"},
        {"a zero between", of("u8", {two_to_63, 0, 4}), errc::shape_overflow, "w"},
        {"of an unknown dtype", of("f128", {two_to_63, 2}), errc::shape_overflow, "w"},
        {"D-7: a zero beside as much as 64 bits hold", of("u8", {largest, 0}), accepted},
        {"D-7: a zero beside 2^63", of("u8", {0, two_to_63, 1}), accepted},
        {"D-7: a zero beside 2^61 - 1 of 8 bytes", of("f64", {two_to_61 - 1, 0}), accepted},
        {"D-7: a zero beside 2^61 of 8 bytes", of("f64", {0, two_to_61}), errc::shape_overflow, "w/data"},
        {"D-7: a zero beside 2^63 of 4 bytes", of("f32", {two_to_63, 0}), errc::shape_overflow, "w/data"},
        {"D-7: a zero beside 2^63 of complex numbers",
         both(of("f32", {two_to_61, 0}), component("type", cbor::text("complex64"))), errc::shape_overflow, "w/data",
         in_1_2},
        {"D-7: a zero beside 2^63 of an unknown dtype", of("f128", {two_to_63, 0}), accepted},
        {"D-7: zeros alone", of("f64", {0, 0}), accepted},
        {"2^64 bytes", of("f64", {two_to_61}), errc::shape_overflow, "w/data"},
        {"8 bytes less", of("f64", {two_to_61 - 1}), errc::size_mismatch, "w/data"},
        {"2^64 bytes of f32", of("f32", {two_to_61, 2}), errc::shape_overflow, "w/data"},
        {"2^64 bytes of complex numbers", both(of("f64", {two_to_61 / 2}), as_complex), errc::shape_overflow, "w/data",
         in_1_2},
        {"16 bytes less", both(of("f64", {two_to_61 / 2 - 1}), as_complex), errc::size_mismatch, "w/data", in_1_2},
    });
}

TEST_CASE("D-7: of an object without elements nothing is read, and nothing divides by its dimensions") {
    const std::vector<std::vector<std::uint64_t>> shapes = {{0}, {0, 2}, {2, 0}, {0, 0}, {two_to_61 - 1, 0}};
    for (const ztensor::version from : generations_in(in_all)) {
        for (const std::vector<std::uint64_t>& dimensions : shapes) {
            sample file(from);
            file.shape(dimensions).place(64, 0);
            const temp_dir directory;
            for (const opening& opened : open_every_way(file.file(), directory)) {
                CAPTURE(name(from), dimensions, opened.way);
                CHECK(opened.file.value().read<float>("w").value().empty());
                CHECK(opened.file->read_as<double>("w").value().empty());
                CHECK((*opened.file)["w"].rows(0, dimensions[0]).read<float>().value().empty());
                CHECK((*opened.file)["w"].rows(dimensions[0], dimensions[0]).read<float>().value().empty());
                if (opened.file->is_mapped() && support::host_is_little_endian()) {
                    CHECK(opened.file->view<float>("w").value().empty());
                }
            }
        }
    }
}

TEST_CASE("E9: a dense blob of another size than its shape is refused") {
    const change roomy = [](sample& file) { file.blob(bytes(16, 'x')); };
    check_rows({
        {"a scalar takes one element", both(shaped({}), component("length", cbor::number(4))), accepted},
        {"a scalar that takes two", shaped({}), errc::size_mismatch, "w/data"},
        {"one byte less", component("length", cbor::number(7)), errc::size_mismatch, "w/data"},
        {"one byte more", both(roomy, component("length", cbor::number(9))), errc::size_mismatch, "w/data"},
        {"one element less", component("length", cbor::number(4)), errc::size_mismatch, "w/data"},
        {"no element where there are two", component("length", cbor::number(0)), errc::size_mismatch, "w/data"},
        {"elements where there are none", shaped({0, 2}), errc::size_mismatch, "w/data"},
        {"twice the width", [](sample& file) { file.dtype("f64"); }, errc::size_mismatch, "w/data"},
        {"half the width", [](sample& file) { file.dtype("f16"); }, errc::size_mismatch, "w/data"},
        {"an unknown width", [](sample& file) { file.dtype("f24"); }, accepted},
        {"complex numbers take two elements", both(shaped({1}), component("type", cbor::text("complex64"))), accepted,
         "", in_1_2},
        {"complex numbers of one", component("type", cbor::text("complex64")), errc::size_mismatch, "w/data", in_1_2},
        {"complex64 as the dtype of 1.1", both(shaped({1}), component("dtype", cbor::text("complex64"))), accepted, "",
         in_1_1},
        {"complex64 of another size", component("dtype", cbor::text("complex64")), errc::size_mismatch, "w/data",
         in_1_1},
        {"f8_e4m3 as the dtype of 1.1", both(shaped({8}), component("dtype", cbor::text("f8_e4m3"))), accepted, "",
         in_1_1},
        {"f8_e4m3 of another size", both(shaped({9}), component("dtype", cbor::text("f8_e4m3"))), errc::size_mismatch,
         "w/data", in_1_1},
        {"an unknown type says nothing of sizes", both(shaped({31}), component("type", cbor::text("f4x2"))), accepted,
         "", in_1_2},
        {"an unknown format says nothing of sizes", both(shaped({31}), object("format", cbor::text("own"))), accepted},
    });
}

namespace {

/// A matrix of 2 × 3 with two values, in the roles of CSR: change a part and see.
change csr(std::function<void(std::vector<part>&)> alter, std::vector<std::uint64_t> shape = {2, 3}) {
    return [=](sample& file) {
        std::vector<part> parts = {{"indices", "u64", 64, 16}, {"indptr", "u64", 128, 24}, {"values", "f32", 192, 8}};
        alter(parts);
        file.blobs({bytes(16, '\0'), bytes(24, '\0'), bytes(16, '\0')}).parts("sparse_csr", shape, parts);
    };
}

/// The same in the roles of COO.
change coo(std::function<void(std::vector<part>&)> alter, std::vector<std::uint64_t> shape = {2, 3}) {
    return [=](sample& file) {
        std::vector<part> parts = {{"coords", "u64", 64, 32}, {"values", "f32", 128, 8}};
        alter(parts);
        file.blobs({bytes(32, '\0'), bytes(16, '\0')}).parts("sparse_coo", shape, parts);
    };
}

void as_it_is(std::vector<part>&) {
}

std::function<void(std::vector<part>&)> with_dtype(std::size_t at, std::string dtype, std::uint64_t length) {
    return [=](std::vector<part>& parts) {
        parts[at].dtype = dtype;
        parts[at].length = length;
    };
}

std::function<void(std::vector<part>&)> with_length(std::size_t at, std::uint64_t length) {
    return [=](std::vector<part>& parts) { parts[at].length = length; };
}

std::function<void(std::vector<part>&)> lacking(std::size_t at) {
    return [=](std::vector<part>& parts) { parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at)); };
}

} // namespace

TEST_CASE("D-10: a format's roles must be there, others may be") {
    const auto with_roles = [](std::string format, std::vector<std::string> roles) -> change {
        return [=](sample& file) {
            std::vector<part> parts;
            for (const std::string& role : roles) {
                parts.push_back({role, "f32", 64, 8});
            }
            file.parts(format, {2}, parts);
        };
    };
    check_rows({
        {"dense", with_roles("dense", {"values"}), errc::layout_components, "w", since_1_0},
        {"dense of another case", with_roles("dense", {"Data"}), errc::layout_components, "w", since_1_0},
        {"dense with more", with_roles("dense", {"data", "more"}), accepted, "", since_1_0},
        {"csr without indices", csr(lacking(0)), errc::layout_components, "w", since_1_0},
        {"csr without indptr", csr(lacking(1)), errc::layout_components, "w", since_1_0},
        {"csr without values", csr(lacking(2)), errc::layout_components, "w", since_1_0},
        {"coo without coords", coo(lacking(0)), errc::layout_components, "w", since_1_0},
        {"coo without values", coo(lacking(1)), errc::layout_components, "w", since_1_0},
        {"quantized without packed_weight", with_roles("quantized_group", {"scales", "zeros"}), errc::layout_components,
         "w", since_1_0},
        {"quantized without scales", with_roles("quantized_group", {"packed_weight", "zeros"}), errc::layout_components,
         "w", since_1_0},
        {"quantized without zeros", with_roles("quantized_group", {"packed_weight", "scales"}), errc::layout_components,
         "w", since_1_0},
        {"quantized", with_roles("quantized_group", {"packed_weight", "scales", "zeros"}), accepted, "", since_1_0},
        {"D-8: an unknown format needs none", with_roles("own", {"anything"}), accepted, "", since_1_0},
        {"D-8: an unknown layout of 0.1", object("format", cbor::text("own")), accepted, "", in_0_1},
    });
}

TEST_CASE("E10: sparse parts that can't belong together are refused") {
    check_rows({
        {"csr", csr(as_it_is), accepted, "", since_1_0},
        {"csr of rank 1", csr(as_it_is, {2}), errc::sparse_shape, "w", since_1_0},
        {"csr of rank 3", csr(as_it_is, {2, 3, 1}), errc::sparse_shape, "w", since_1_0},
        {"csr of rank 0", csr(as_it_is, {}), errc::sparse_shape, "w", since_1_0},
        {"csr of one row less", csr(as_it_is, {1, 3}), errc::sparse_size, "w/indptr", since_1_0},
        {"csr of one row more", csr(as_it_is, {3, 3}), errc::sparse_size, "w/indptr", since_1_0},
        {"csr of 2^64 - 1 rows", csr(as_it_is, {largest, 1}), errc::shape_overflow, "w", since_1_0},
        {"csr without any row pointer", csr(with_length(1, 0)), errc::sparse_size, "w/indptr", since_1_0},
        {"csr with another number of values", csr(with_length(2, 12)), errc::sparse_size, "w/indices", since_1_0},
        {"csr with another number of indices", csr(with_length(0, 8)), errc::sparse_size, "w/indices", since_1_0},
        {"csr with part of a value", csr(with_length(2, 7)), errc::size_mismatch, "w/values", since_1_0},
        {"csr with part of an index", csr(with_length(0, 15)), errc::size_mismatch, "w/indices", since_1_0},
        {"u32 indices", csr(with_dtype(0, "u32", 8)), errc::sparse_dtype, "w/indices", in_1_2},
        {"i64 row pointers", csr(with_dtype(1, "i64", 24)), errc::sparse_dtype, "w/indptr", in_1_2},
        {"any integers in 1.1", csr(with_dtype(0, "i16", 4)), accepted, "", in_1_1},
        {"floats as indices", csr(with_dtype(0, "f64", 16)), errc::sparse_dtype, "w/indices", since_1_1},
        {"bools as row pointers", csr(with_dtype(1, "bool", 3)), errc::sparse_dtype, "w/indptr", since_1_1},
        {"8-bit floats of 1.1 as indices", csr(with_dtype(0, "f8_e5m2", 2)), errc::sparse_dtype, "w/indices", in_1_1},
        {"an unknown dtype of indices", csr(with_dtype(0, "u128", 15)), accepted, "", since_1_1},
        {"an unknown dtype of values", csr(with_dtype(2, "f24", 6)), accepted, "", since_1_1},
        {"coo", coo(as_it_is), accepted, "", since_1_0},
        {"coo of rank 0", coo(as_it_is, {}), errc::sparse_shape, "w", since_1_0},
        {"coo of another rank", coo(as_it_is, {2, 3, 1}), errc::sparse_size, "w/coords", since_1_0},
        {"coo with another number of coordinates", coo(with_length(0, 24)), errc::sparse_size, "w/coords", since_1_0},
        {"coo with another number of values", coo(with_length(1, 12)), errc::sparse_size, "w/coords", since_1_0},
        {"coo with part of a coordinate", coo(with_length(0, 31)), errc::size_mismatch, "w/coords", since_1_0},
        {"coo with i32 coordinates", coo(with_dtype(0, "i32", 16)), errc::sparse_dtype, "w/coords", in_1_2},
        {"coo of 1.1 with i32 coordinates", coo(with_dtype(0, "i32", 16)), accepted, "", in_1_1},
        {"coo without values", [](sample& file) { coo(with_length(0, 0))(file); }, errc::sparse_size, "w/coords",
         since_1_0},
    });
}

// ---- E. where blobs lie

TEST_CASE("E4 to E8, E11: a blob lies at a multiple of 64, between the magic and the manifest") {
    const auto room = [](std::size_t size, change then) -> change { // the manifest starts at 64 + size
        return [=](sample& file) {
            file.blobs({bytes(size, 'x')});
            then(file);
        };
    };
    check_rows({
        {"at 64", room(64, placed(64, 64, {64})), accepted},
        {"E4: at 65", room(64, placed(65, 8, {8})), errc::misaligned_offset, "w/data"},
        {"E4: at 96", room(64, placed(96, 8, {8})), errc::misaligned_offset, "w/data"},
        {"E4: at 8", room(64, placed(8, 8, {8})), errc::misaligned_offset, "w/data"},
        {"E4: at 2^64 - 1", room(64, placed(largest, 8, {8})), errc::misaligned_offset, "w/data"},
        {"E5: at 0", room(64, placed(0, 8, {8})), errc::out_of_bounds, "w/data"},
        {"E5: nothing at 0", room(64, placed(0, 0, {0})), errc::out_of_bounds, "w/data"},
        {"E6: 64 bytes before 2^64", room(64, placed(largest - 63, 64, {64})), errc::out_of_bounds, "w/data"},
        {"E6: 2^64 - 64 bytes", room(64, placed(64, largest - 63, {largest - 63})), errc::out_of_bounds, "w/data"},
        {"E6: 2^64 - 1 bytes", room(64, placed(64, largest, {largest})), errc::out_of_bounds, "w/data"},
        {"E6: an offset of 2^32 + 64", room(64, placed(two_to_32 + 64, 8, {8})), errc::out_of_bounds, "w/data"},
        {"E6: an offset of 2^63", room(64, placed(two_to_63, 8, {8})), errc::out_of_bounds, "w/data"},
        {"E7: up to the manifest", room(100, placed(128, 36, {36})), accepted},
        {"E7: into the manifest", room(100, placed(128, 37, {37})), errc::out_of_bounds, "w/data"},
        {"E7: the manifest itself", room(64, placed(128, 64, {64})), errc::out_of_bounds, "w/data"},
        {"E8: behind the file", room(64, placed(64 * 100, 8, {8})), errc::out_of_bounds, "w/data"},
        {"E8: past the end of the file", room(64, placed(64, 100'000, {100'000})), errc::out_of_bounds, "w/data"},
        {"E11: nothing, where the manifest starts", room(64, placed(128, 0, {0})), accepted},
        {"E11: nothing, behind the start of the manifest", room(64, placed(192, 0, {0})), errc::out_of_bounds,
         "w/data"},
        {"E11: nothing, at an odd place", room(64, placed(65, 0, {0})), errc::misaligned_offset, "w/data"},
        {"E11: nothing, far behind", room(64, placed(largest - 63, 0, {0})), errc::out_of_bounds, "w/data"},
    });
}

TEST_CASE("E12, E13: blobs are the same or share nothing") {
    struct blob {
        std::uint64_t offset, length;
    };
    const auto blobs = [](std::vector<blob> all) -> change {
        return [=](sample& file) {
            file.blobs({bytes(256, 'x')});
            cbor::map map;
            std::vector<bytes> tensors;
            for (std::size_t i = 0; i < all.size(); ++i) {
                sample each = file;
                each.dtype("u8").shape({all[i].length}).place(all[i].offset, all[i].length);
                const std::string name(1, static_cast<char>('a' + i));
                map.set(name, each.encoded_object());
                tensors.push_back(each.root("name", cbor::text(name)).encoded_object());
            }
            file.objects(file.is_0_1() ? cbor::array(tensors) : map.encoded());
        };
    };
    check_rows({
        {"one after the other", blobs({{64, 64}, {128, 64}}), accepted},
        {"the same twice", blobs({{64, 100}, {64, 100}}), accepted},
        {"the same three times, among others", blobs({{64, 64}, {192, 10}, {64, 64}, {128, 64}, {64, 64}}), accepted},
        {"one byte shared", blobs({{64, 65}, {128, 64}}), errc::blob_overlap, "b/data"},
        {"the same start", blobs({{64, 63}, {64, 64}}), errc::blob_overlap, "b/data"},
        {"the same end", blobs({{64, 128}, {128, 64}}), errc::blob_overlap, "b/data"},
        {"one inside the other", blobs({{64, 256}, {192, 1}}), errc::blob_overlap, "b/data"},
        {"in the other order", blobs({{192, 1}, {64, 256}}), errc::blob_overlap, "a/data"},
        {"one that overlaps a pair of twins", blobs({{128, 64}, {128, 64}, {64, 65}}), errc::blob_overlap, "a/data"},
        {"not neighbours in the index", blobs({{64, 200}, {64 + 256, 0}, {256, 1}}), errc::blob_overlap, "c/data"},
        {"nothing, inside another", blobs({{64, 256}, {128, 0}}), accepted},
        {"nothing, at the start of another", blobs({{64, 0}, {64, 256}, {64, 0}}), accepted},
    });
}

TEST_CASE("E3: a logical type over another storage type is refused") {
    const auto typed = [](std::string type, std::string dtype, std::vector<std::uint64_t> dimensions) -> change {
        return [=](sample& file) { file.dtype(dtype).shape(dimensions).component("type", cbor::text(type)); };
    };
    check_rows({
        {"complex64 over u8", typed("complex64", "u8", {4}), errc::type_mismatch, "w/data", in_1_2},
        {"complex64 over f64", typed("complex64", "f64", {1}), errc::type_mismatch, "w/data", in_1_2},
        {"complex128 over f32", typed("complex128", "f32", {1}), errc::type_mismatch, "w/data", in_1_2},
        {"f8_e4m3fn over i8", typed("f8_e4m3fn", "i8", {8}), errc::type_mismatch, "w/data", in_1_2},
        {"f8_e5m2 over u8", typed("f8_e5m2", "u8", {8}), accepted, "", in_1_2},
        {"complex64 over an unknown dtype", typed("complex64", "f24", {8}), accepted, "", in_1_2},
        {"the storage type itself", typed("f32", "f32", {2}), accepted, "", in_1_2},
        {"E2: an unknown type", typed("q8.8_fixed", "i16", {4}), accepted, "", in_1_2},
        {"E2: the empty type", typed("", "f32", {2}), accepted, "", in_1_2},
    });
}

// ---- F. encodings, G. digests

TEST_CASE("F1 to F5: lengths that an encoding can't have are refused") {
    const auto zstd_bytes = [](std::uint64_t decoded) -> change { // a blob of four bytes, of which nothing is read
        return [=](sample& file) { file.dtype("u8").shape({decoded}).zstd_blob("zzzz", decoded); };
    };
    const auto raw_with = [](std::uint64_t length) { return component("uncompressed_length", cbor::number(length)); };
    const auto zstd_with = [=](std::uint64_t length) -> change {
        return both(zstd_bytes(8), component("uncompressed_length", cbor::number(length)));
    };
    const change not_dense = object("format", cbor::text("own"));
    check_rows({
        {"F1: an unknown encoding", component("encoding", cbor::text("lz4")), accepted},
        {"F1: of another case", component("encoding", cbor::text("RAW")), accepted},
        {"F1: with any uncompressed length", both(component("encoding", cbor::text("lz4")), raw_with(largest)),
         accepted, "", in_1_2},
        {"F2: zstd", zstd_bytes(8), accepted},
        {"F2: zstd without uncompressed length", both(zstd_bytes(8), without("uncompressed_length")),
         errc::schema_missing, "w/data", in_1_2},
        {"F2: with null for one", both(zstd_bytes(8), component("uncompressed_length", cbor::null)),
         errc::schema_missing, "w/data", in_1_2},
        {"F3: raw and the same length", raw_with(8), accepted, "", in_1_2},
        {"F3: raw and another length", raw_with(9), errc::size_mismatch, "w/data", in_1_2},
        {"F3: raw and a length of 0", raw_with(0), errc::size_mismatch, "w/data", in_1_2},
        {"F3: raw, named so, and another length", both(component("encoding", cbor::text("raw")), raw_with(16)),
         errc::size_mismatch, "w/data", in_1_2},
        {"F3: raw of another format", both(not_dense, raw_with(12)), errc::size_mismatch, "w/data", in_1_2},
        {"F4: zstd that decodes to more than the shape", zstd_with(9), errc::size_mismatch, "w/data", in_1_2},
        {"F4: zstd that decodes to less", zstd_with(7), errc::size_mismatch, "w/data", in_1_2},
        {"F5: 32,768 times its length", zstd_bytes(4 * 32768), accepted},
        {"F5: one byte more", zstd_bytes(4 * 32768 + 1), errc::decode_limit, "w/data"},
        {"F5: 2^64 - 1 bytes", zstd_bytes(largest), errc::decode_limit, "w/data"},
        {"F5: of another format",
         both(both(zstd_bytes(8), not_dense), component("uncompressed_length", cbor::number(4 * 32768 + 1))),
         errc::decode_limit, "w/data", in_1_2},
        {"F5: of an unknown dtype", both(zstd_with(4 * 32768 + 1), [](sample& file) { file.dtype("f24"); }),
         errc::decode_limit, "w/data", in_1_2},
        {"F5: nothing decodes to nothing", [](sample& file) { file.dtype("u8").shape({0}).zstd_blob("", 0); },
         accepted},
        {"F5: nothing decodes to one byte", [](sample& file) { file.dtype("u8").shape({1}).zstd_blob("", 1); },
         errc::decode_limit, "w/data"},
    });
}

TEST_CASE("G1, G2: a digest of a known algorithm has its grammar, others may say anything") {
    const bytes hex64 = support::repeated(8, "0123abCD");
    const bytes malformed[] = {
        "crc32c:",
        "crc32c:0x",
        "crc32c:0x1234567",
        "crc32c:0x123456789",
        "crc32c:1234567",
        "crc32c:12345678 ",
        "crc32c:0x1234567g",
        "crc32c:x12345678",
        "crc32c:0x 1234567",
        "crc32c:0x0x12345678",
        "sha256:",
        "sha256:" + hex64.substr(1),
        "sha256:" + hex64 + "0",
        "sha256:0x" + hex64,
        "sha256:" + hex64.substr(1) + "g",
    };
    const bytes fine[] = {
        "crc32c:0x12345678", "crc32c:0xabcdef01", "crc32c:0xABCDEF01", "crc32c:0XAbCdEf01",
        "crc32c:abcdef01",   "sha256:" + hex64,   "blake3:no hex",     "md5:",
        "SHA256:1",          "CRC32C:0x1",        "sha512:" + hex64,
    };
    for (const bytes& text : malformed) {
        check_rows({
            {"G2: " + text, component("digest", cbor::text(text)), errc::digest_format, "w/data"},
        });
    }
    for (const bytes& text : fine) {
        check_rows({
            {"G1: " + text, component("digest", cbor::text(text)), accepted},
        });
    }
}
