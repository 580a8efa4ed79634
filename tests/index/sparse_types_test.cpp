// SPDX-License-Identifier: MIT
//
// Types of sparse values and indices: what each version allows, what each view can hold, and what is unknown.
// SPEC.md §5.2, §5.3.
#include "index/sparse_content.hpp"
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using sparse::check_outcome;
using sparse::coo_content;
using sparse::coo_of;
using sparse::csr_content;
using sparse::csr_of;
using sparse::file_of;
using sparse::file_of_parts;
using sparse::floats;
using sparse::holding;
using sparse::holdings;
using sparse::layout;
using sparse::raw_parts_of_1_1;
using sparse::raw_parts_of_1_2;
using sparse::rows_of;
using sparse::u64s;
using sparse::use;
using support::as;
using support::as_string;
using support::bytes;
using support::integers;
using support::largest;
using support::little_endian;
using support::refusal;
using support::sample;
using support::temp_dir;
using ztensor::coo_view;
using ztensor::csr_view;
using ztensor::errc;
using ztensor::object_view;
using ztensor::reader;
using ztensor::result;
using ztensor::version;
namespace cbor = support::cbor;

} // namespace

TEST_CASE("H8: indices of another type than the version allows are refused when the file is opened") {
    const temp_dir directory;
    const std::pair<const char*, std::uint64_t> types[] = {
        {"i8", 1},  {"i16", 2}, {"i32", 4},  {"i64", 8},  {"u8", 1},      {"u16", 2},      {"u32", 4},
        {"f32", 4}, {"f64", 8}, {"bf16", 2}, {"bool", 1}, {"f8_e4m3", 1}, {"complex64", 8}};
    for (const auto& [word, width] : types) {
        const std::string dtype = word;
        const bool is_integer = dtype[0] == 'i' || dtype[0] == 'u';
        const bool is_known_in_1_2 = dtype != "f8_e4m3" && dtype != "complex64";
        const auto zeros = [count = width](std::uint64_t elements) {
            return bytes(static_cast<std::size_t>(count * elements), '\0');
        };
        for (const ztensor::version from : {version::v1_1, version::v1_2}) {
            const holding how = {"", from, layout::parts, false};
            const bool is_allowed = is_integer && from == version::v1_1;
            if (from == version::v1_2 && !is_known_in_1_2) {
                continue;
            }
            const sparse::outcome expected =
                is_allowed ? sparse::outcome{true, {}, {}} : sparse::outcome{false, errc::sparse_dtype, {}};
            CAPTURE(dtype, name(from));
            check_outcome(
                file_of_parts(
                    how, "sparse_csr", {1, 1},
                    {{"indices", dtype, zeros(0)}, {"indptr", "u64", bytes(16, '\0')}, {"values", "f32", ""}}),
                csr_of<float>(), expected, directory);
            check_outcome(file_of_parts(how, "sparse_csr", {1, 1},
                                        {{"indices", "u64", ""}, {"indptr", dtype, zeros(2)}, {"values", "f32", ""}}),
                          csr_of<float>(), expected, directory);
            check_outcome(
                file_of_parts(how, "sparse_coo", {1}, {{"coords", dtype, zeros(1)}, {"values", "f32", bytes(4, '\0')}}),
                coo_of<float>(), expected, directory);
        }
    }
}

TEST_CASE("H8: indices of an unknown type are refused when they are used, and the type is named") {
    const holding& how = raw_parts_of_1_2;
    const bytes files[] = {
        file_of_parts(
            how, "sparse_csr", {1, 1},
            {{"indices", "u128", bytes(16, '\0')}, {"indptr", "u64", u64s({0, 1})}, {"values", "f32", bytes(4, '\0')}}),
        file_of_parts(how, "sparse_csr", {1, 1},
                      {{"indices", "u64", bytes(8, '\0')},
                       {"indptr", "u128", bytes(32, '\0')},
                       {"values", "f32", bytes(4, '\0')}}),
        file_of_parts(how, "sparse_coo", {1}, {{"coords", "u128", bytes(16, '\0')}, {"values", "f32", bytes(4, '\0')}}),
    };
    for (const bytes& file : files) {
        const reader from = support::opened(file);
        const object_view object = from.find("w").value();
        const result<void> done =
            object.format().text() == "sparse_csr" ? csr_of<float>()(object) : coo_of<float>()(object);
        REQUIRE_FALSE(done.has_value());
        CHECK(done.error().code() == errc::unknown_dtype);
        CHECK(done.error().what().find("u128") != std::string::npos);
    }
}

namespace {

/// A matrix of 1.1 with indices and pointers of a signed type.
template <class Index>
bytes signed_matrix(std::string_view dtype, std::vector<Index> indices, std::vector<Index> indptr, bool is_zstd) {
    const holding how = {"", version::v1_1, layout::parts, is_zstd};
    return file_of_parts(how, "sparse_csr", {2, 3},
                         {{"indices", std::string(dtype), little_endian(indices)},
                          {"indptr", std::string(dtype), little_endian(indptr)},
                          {"values", "f32", floats({5, 7})}});
}

template <class Index>
void check_negative(std::string_view dtype) {
    const temp_dir directory;
    constexpr Index smallest = std::numeric_limits<Index>::min();
    for (const bool is_zstd : {false, true}) {
        CAPTURE(dtype, is_zstd);
        for (const Index negative : {Index{-1}, smallest}) {
            const bytes csr = signed_matrix<Index>(dtype, {0, negative}, {0, 1, 2}, is_zstd);
            check_outcome(csr, csr_of<float>(), {true, errc::sparse_index, {}}, directory);
            check_outcome(csr, csr_of<float, Index>(), {true, errc::sparse_index, {}}, directory);
            check_outcome(csr, rows_of<Index>(1, 2), {true, errc::sparse_index, {}}, directory);
            const holding how = {"", version::v1_1, layout::parts, is_zstd};
            const bytes coo = file_of_parts(how, "sparse_coo", {2, 3},
                                            {{"coords", std::string(dtype), little_endian<Index>({0, 1, negative, 2})},
                                             {"values", "f32", floats({5, 7})}});
            check_outcome(coo, coo_of<float>(), {true, errc::sparse_index, {}}, directory);
            check_outcome(coo, coo_of<float, Index>(), {true, errc::sparse_index, {}}, directory);
        }
    }
}

template <class Index>
void check_negative_pointers(std::string_view dtype) {
    const temp_dir directory;
    for (const bool is_zstd : {false, true}) {
        for (const std::vector<Index>& indptr : {std::vector<Index>{-1, 1, 2}, std::vector<Index>{0, -1, 2}}) {
            CAPTURE(dtype, is_zstd, as<int>(indptr));
            const bytes file = signed_matrix<Index>(dtype, {0, 2}, indptr, is_zstd);
            check_outcome(file, csr_of<float, Index>(), {true, errc::sparse_indptr, {}}, directory);
            check_outcome(file, csr_of<float>(), {true, errc::sparse_indptr, {}}, directory);
        }
    }
}

} // namespace

TEST_CASE("a negative index is refused, whatever type it is read as") {
    check_negative<std::int8_t>("i8");
    check_negative<std::int16_t>("i16");
    check_negative<std::int32_t>("i32");
    check_negative<std::int64_t>("i64");
}

TEST_CASE("H4: a negative row pointer is refused as one, whatever type it is read as") {
    check_negative_pointers<std::int8_t>("i8");
    check_negative_pointers<std::int32_t>("i32");
    check_negative_pointers<std::int64_t>("i64");
}

TEST_CASE("an index that the type asked for can't hold is refused") {
    const temp_dir directory;
    csr_content content;
    content.dimensions = {2, 300};
    content.indices = {0, 256};
    for (const holding& how : holdings) {
        CAPTURE(how.what);
        const bytes file = file_of(how, content);
        check_outcome(file, csr_of<float, std::uint8_t>(), {true, errc::sparse_index, {}}, directory);
        check_outcome(file, csr_of<float, std::int8_t>(), {true, errc::sparse_index, {}}, directory);
        check_outcome(file, csr_of<float, std::uint16_t>(), {true, {}, {}}, directory);
        coo_content coo = {{300}, {127, 128}, {5, 7}};
        check_outcome(file_of(how, coo), coo_of<float, std::int8_t>(), {true, errc::sparse_index, {}}, directory);
        check_outcome(file_of(how, coo), coo_of<float, std::uint8_t>(), {true, {}, {}}, directory);
    }
}

TEST_CASE("a view of another format or element type is refused") {
    const temp_dir directory;
    for (const holding& how : holdings) {
        CAPTURE(how.what);
        const bytes csr = file_of(how, csr_content());
        const bytes coo = file_of(how, coo_content());
        check_outcome(csr, coo_of<float>(), {true, errc::unsupported_format, {}}, directory);
        check_outcome(coo, csr_of<float>(), {true, errc::unsupported_format, {}}, directory);
        check_outcome(coo, rows_of(0, 1), {true, errc::unsupported_format, {}}, directory);
        check_outcome(csr, csr_of<double>(), {true, errc::type_mismatch, {}}, directory);
        check_outcome(csr, csr_of<std::int32_t>(), {true, errc::type_mismatch, {}}, directory);
        check_outcome(coo, coo_of<std::complex<float>>(), {true, errc::type_mismatch, {}}, directory);
        const use dense = [](const object_view& object) { return support::done(object.read<float>()); };
        check_outcome(csr, dense, {true, errc::unsupported_format, {}}, directory);
    }
    check_outcome(sample().file(), csr_of<float>(), {true, errc::unsupported_format, {}}, directory);
    check_outcome(sample().file(), coo_of<float>(), {true, errc::unsupported_format, {}}, directory);
}

TEST_CASE("values of an unknown type are had as bytes alone") {
    const holding& how = raw_parts_of_1_2;
    const bytes values = "abcdef";
    const bytes file = file_of_parts(
        how, "sparse_csr", {2, 3},
        {{"indices", "u64", u64s({0, 2})}, {"indptr", "u64", u64s({0, 1, 2})}, {"values", "f24", values}});
    const reader from = support::opened(file);
    const object_view object = from.find("w").value();
    REQUIRE(refusal(csr_view<float>::from(object)) == errc::unknown_dtype);
    CHECK(csr_view<float>::from(object).error().component() == "values");
    const auto view = csr_view<std::byte>::from(object).value();
    CHECK(view.entry_count() == 2);
    CHECK(as_string(view.values()) == values);
    CHECK(as_string(view.row(1).values) == "def");

    const bytes coo =
        file_of_parts(how, "sparse_coo", {3}, {{"coords", "u64", u64s({0, 2})}, {"values", "f24", values}});
    const reader from_coo = support::opened(coo);
    CHECK(refusal(coo_view<float>::from(*from_coo.find("w"))) == errc::unknown_dtype);
    const auto coo_bytes = coo_view<std::byte>::from(*from_coo.find("w")).value();
    CHECK(as_string(coo_bytes.values()) == values);
}

TEST_CASE("values of an unknown type that entries don't divide are refused by their type, and nothing else is") {
    const struct {
        const char* what;
        const char* dtype;
        cbor::map more;
        bytes values;
        integers columns;
        errc refusal;
    } rows[] = {
        {"no bytes for an entry, of a dtype", "i4", {}, "", {1}, errc::unknown_dtype},
        {"no bytes for an entry, of a type", "u8", {{"type", cbor::text("x")}}, "", {1}, errc::unsupported_type},
        {"several to a byte, of a dtype", "i4", {}, "ab", {0, 1, 3}, errc::unknown_dtype},
        {"several to a byte, of a type",
         "u8",
         {{"type", cbor::text("int4x2")}},
         "ab",
         {0, 1, 3},
         errc::unsupported_type},
        {"bytes for no entry", "i4", {}, "ab", {}, errc::unknown_dtype},
    };
    for (const auto& each : rows) {
        CAPTURE(each.what);
        sample csr;
        csr.blobs({each.values, u64s(each.columns), u64s({0, each.columns.size()})});
        csr.parts("sparse_csr", {1, 4},
                  {{"values", each.dtype, 64, each.values.size(), each.more},
                   {"indices", "u64", each.values.empty() ? 64u : 128u, 8 * each.columns.size()},
                   {"indptr", "u64", 64 + (each.values.empty() ? 0u : 64u) + (each.columns.empty() ? 0u : 64u), 16}});
        const reader from = support::opened(csr.file());
        const object_view object = from.find("w").value();
        CHECK(refusal(csr_view<std::byte>::from(object)) == each.refusal);
        CHECK(refusal(csr_view<std::byte>::from_rows(object, 0, 1)) == each.refusal);
        sample coo;
        coo.blobs({each.values, u64s(each.columns)});
        coo.parts("sparse_coo", {4},
                  {{"values", each.dtype, 64, each.values.size(), each.more},
                   {"coords", "u64", each.values.empty() ? 64u : 128u, 8 * each.columns.size()}});
        const reader from_coo = support::opened(coo.file());
        CHECK(refusal(coo_view<std::byte>::from(*from_coo.find("w"))) == each.refusal);
    }
}

TEST_CASE("rows of values of an unknown type are cut out, too") {
    const holding& how = raw_parts_of_1_2;
    const bytes file = file_of_parts(how, "sparse_csr", {2, 3},
                                     {{"indices", "u64", u64s({0, 2})},
                                      {"indptr", "u64", u64s({0, 1, 2})},
                                      {"values", "f128", bytes(16, 'a') + bytes(16, 'b')}});
    const reader from = support::opened(file);
    const auto second = csr_view<std::byte>::from_rows(*from.find("w"), 1, 2).value();
    CHECK(second.entry_count() == 1);
    CHECK(as_string(second.values()) == bytes(16, 'b'));
}

TEST_CASE("rows of another type than the values have are a mismatch, as the whole matrix is") {
    const bytes file = file_of_parts(
        raw_parts_of_1_2, "sparse_csr", {2, 3},
        {{"indices", "u64", u64s({0, 2})}, {"indptr", "u64", u64s({0, 1, 2})}, {"values", "f32", bytes(8, 'a')}});
    const reader from = support::opened(file);
    CHECK(refusal(csr_view<double>::from_rows(*from.find("w"), 1, 2)) == errc::type_mismatch);
    CHECK(refusal(csr_view<double>::from(*from.find("w"))) == errc::type_mismatch);
    CHECK(csr_view<float>::from_rows(*from.find("w"), 1, 2).value().entry_count() == 1);
}

TEST_CASE("indices of an unknown logical type are listed, and refused when they are used") {
    for (const ztensor::version from : {version::v1_1, version::v1_2}) {
        for (const char* const dtype : {"u64", "i32"}) {
            for (const std::uint64_t length : {0u, 16u}) {
                if (from == version::v1_2 && bytes(dtype) == "i32") {
                    continue;
                }
                CAPTURE(name(from), dtype, length);
                sample file(from);
                file.blobs({bytes(16, '\0')});
                const cbor::map type = {{"type", cbor::text("foo")}};
                file.parts(
                    "sparse_csr", {1, 4},
                    {{"values", "u8", 64, 0}, {"indices", dtype, 64, 0, type}, {"indptr", dtype, 64, length, type}});
                const reader opened = support::opened(file.file());
                CHECK(refusal(csr_view<std::uint8_t>::from(*opened.find("w"))) == errc::unsupported_type);
                CHECK(refusal(csr_view<std::uint8_t>::from_rows(*opened.find("w"), 0, 1)) == errc::unsupported_type);
            }
        }
    }
}

TEST_CASE("indices that are no whole numbers are refused, however they are read") {
    const temp_dir directory;
    for (const bool is_zstd : {false, true}) {
        const holding how = {"", version::v1_1, layout::parts, is_zstd};
        const bytes ragged(11, '\0');
        const bytes coo =
            file_of_parts(how, "sparse_coo", {3}, {{"coords", "i32", ragged}, {"values", "f32", bytes(8, 'v')}});
        check_outcome(coo, coo_of<float>(), {is_zstd, errc::size_mismatch, {}}, directory);
        check_outcome(coo, coo_of<float, std::int32_t>(), {is_zstd, errc::size_mismatch, {}}, directory);
        check_outcome(coo, coo_of<float, std::int64_t>(), {is_zstd, errc::size_mismatch, {}}, directory);
    }
}

TEST_CASE("a negative index is refused however large the dimension is") {
    const holding& how = raw_parts_of_1_1;
    const temp_dir directory;
    const std::vector<std::int64_t> columns = {-5};
    const bytes csr = file_of_parts(how, "sparse_csr", {1, largest},
                                    {{"indices", "i64", little_endian(columns)},
                                     {"indptr", "i64", u64s({0, 1})},
                                     {"values", "f32", bytes(4, 'v')}});
    check_outcome(csr, csr_of<float, std::int64_t>(), {true, errc::sparse_index, {}}, directory);
    check_outcome(csr, csr_of<float>(), {true, errc::sparse_index, {}}, directory);
    const bytes coo = file_of_parts(how, "sparse_coo", {largest},
                                    {{"coords", "i64", little_endian(columns)}, {"values", "f32", bytes(4, 'v')}});
    check_outcome(coo, coo_of<float, std::int64_t>(), {true, errc::sparse_index, {}}, directory);
}
