// SPDX-License-Identifier: MIT
//
// What sparse and quantized objects take at most, and the last checks of parts that belong together.
#include "index/sparse_content.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/quantized.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

ztensor::reader opened_within(const support::bytes& file, std::uint64_t most) {
    return support::opened(file, ztensor::read_options().max_decoded_bytes(most));
}

support::bytes bit_weights() {
    return support::sample()
        .stored_parts("quantized_group", {1, 8000},
                      {{"packed_weight", "u8", support::bytes(1000, '\x55')},
                       {"scales", "f32", sparse::floats({2})},
                       {"zeros", "f32", sparse::floats({0})}},
                      false)
        .object("attributes", support::cbor::map{{"bits", support::cbor::number(1)},
                                                 {"group_size", support::cbor::number(8000)},
                                                 {"packing", support::cbor::text("8_per_u8")}})
        .file();
}

} // namespace

TEST_CASE("weights of few bits unpack to no more than the limit, words and all") {
    const auto with_view = [](std::uint64_t most, auto&& call) {
        const ztensor::reader file = opened_within(bit_weights(), most);
        return support::outcome(call(ztensor::quantized_view::from(*file.find("w")).value()));
    };
    const auto bytes = [](const ztensor::quantized_view& view) { return view.unpack(); };
    const auto longs = [](const ztensor::quantized_view& view) { return view.unpack<std::uint64_t>(); };
    const auto floats = [](const ztensor::quantized_view& view) { return view.dequantize(); };
    CHECK(with_view(9000, bytes) == "ok");
    CHECK(with_view(8999, bytes) == "limit_exceeded");
    CHECK(with_view(65000, longs) == "ok");
    CHECK(with_view(64999, longs) == "limit_exceeded");
    CHECK(with_view(33008, floats) == "ok"); // words, weights, a scale and a zero
    CHECK(with_view(33007, floats) == "limit_exceeded");
}

TEST_CASE("indices that are widened, or kept in the manifest, count towards the limit of the call") {
    const sparse::csr_content csr;
    const support::bytes parts = sparse::file_of(sparse::raw_parts_of_1_1, csr);
    // 8 bytes of values, 2 columns and 3 row pointers of u64; narrow ones are made of them.
    const auto wide = [](const ztensor::reader& file) {
        return support::outcome(ztensor::csr_view<float>::read(*file.find("w")));
    };
    const auto narrow = [](const ztensor::reader& file) {
        return support::outcome(ztensor::csr_view<float, std::uint16_t>::read(*file.find("w")));
    };
    CHECK(wide(opened_within(parts, 48)) == "ok");
    CHECK(wide(opened_within(parts, 47)) == "limit_exceeded");
    CHECK(narrow(opened_within(parts, 58)) == "ok");
    CHECK(narrow(opened_within(parts, 57)) == "limit_exceeded");
    const support::bytes arrays = sparse::file_of(sparse::inline_arrays_of_0_1, csr);
    CHECK(wide(opened_within(arrays, 48)) == "ok");
    CHECK(wide(opened_within(arrays, 47)) == "limit_exceeded");
}

TEST_CASE("values as bytes are a whole number of values") {
    // The values decode to a byte more than 2 floats are, which nobody knows before they are decoded.
    const auto coo =
        support::sample(ztensor::version::v1_1)
            .stored_parts("sparse_coo", {3},
                          {{"coords", "u64", sparse::u64s({0, 2})}, {"values", "f32", support::bytes(9, 'x')}}, true)
            .file();
    const auto csr = support::sample(ztensor::version::v1_1)
                         .stored_parts("sparse_csr", {2, 3},
                                       {{"indices", "u64", sparse::u64s({0, 2})},
                                        {"indptr", "u64", sparse::u64s({0, 1, 2})},
                                        {"values", "f32", support::bytes(9, 'x')}},
                                       true)
                         .file();
    const ztensor::reader from_coo = support::opened(coo);
    const ztensor::reader from_csr = support::opened(csr);
    CHECK(support::outcome(ztensor::coo_view<std::byte>::from(*from_coo.find("w"))) == "size_mismatch");
    CHECK(support::outcome(ztensor::csr_view<std::byte>::from(*from_csr.find("w"))) != "ok");
}

TEST_CASE("parts of a shape that is too long are refused") {
    ztensor::shape too_long;
    for (std::size_t i = 0; i <= ztensor::max_rank; ++i) {
        too_long.push_back(1);
    }
    REQUIRE(too_long.too_long());
    const std::vector<float> values = {1};
    const std::vector<std::uint64_t> coords(ztensor::max_rank, 0);
    const std::vector<std::uint64_t> pointers = {0, 1};
    CHECK(support::outcome(ztensor::coo_view<float>::from_parts(too_long, values, coords)) == "sparse_shape");
    CHECK(support::outcome(ztensor::csr_view<float>::from_parts(too_long, values, coords, pointers)) == "sparse_shape");
}

TEST_CASE("rows are counted from their first before they are narrowed to the index type asked for") {
    // 400 rows of one value each, of which the last two are wanted with indices of one byte.
    support::integers pointers, columns;
    std::vector<float> values;
    for (std::uint64_t i = 0; i < 400; ++i) {
        pointers.push_back(i);
        columns.push_back(i % 3);
        values.push_back(static_cast<float>(i));
    }
    pointers.push_back(400);
    for (const bool is_zstd : {false, true}) {
        for (const ztensor::version from : {ztensor::version::v1_1, ztensor::version::v1_2}) {
            const auto file = support::sample(from)
                                  .stored_parts("sparse_csr", {400, 3},
                                                {{"indices", "u64", sparse::u64s(columns)},
                                                 {"indptr", "u64", sparse::u64s(pointers)},
                                                 {"values", "f32", sparse::floats(values)}},
                                                is_zstd)
                                  .file();
            const ztensor::reader opened = support::opened(file);
            const ztensor::object_view object = opened.find("w").value();
            using narrow = ztensor::csr_view<float, std::uint8_t>;
            const auto rows = narrow::from_rows(object, 398, 400);
            REQUIRE(support::outcome(rows) == "ok");
            CHECK(rows->to_dense().value() == std::vector<float>{0, 0, 398, 399, 0, 0});
            CHECK(support::outcome(narrow::from_rows(object, 0, 400)) == "sparse_indptr");
            CHECK(support::outcome(narrow::from(object)) == "sparse_indptr");
        }
    }
}

TEST_CASE("a row pointer that falls below the first of its rows is no small number") {
    const auto file = support::sample()
                          .stored_parts("sparse_csr", {3, 3},
                                        {{"indices", "u64", sparse::u64s({0, 1, 2})},
                                         {"indptr", "u64", sparse::u64s({0, 2, 1, 3})},
                                         {"values", "f32", sparse::floats({1, 2, 3})}},
                                        false)
                          .file();
    const ztensor::reader opened = support::opened(file);
    using narrow = ztensor::csr_view<float, std::uint8_t>;
    CHECK(support::outcome(narrow::from_rows(*opened.find("w"), 1, 3)) == "sparse_indptr");
    CHECK(support::outcome(ztensor::csr_view<float>::from_rows(*opened.find("w"), 1, 3)) == "sparse_indptr");
}

TEST_CASE(
    "of a mapped file values are borrowed and indices are not, so that nobody changes them once they are checked") {
    const support::temp_dir directory;
    support::write_file(directory / "m.zt", sparse::file_of(sparse::raw_parts_of_1_2, sparse::csr_content()));
    const ztensor::reader file = ztensor::reader::open(directory / "m.zt").value();
    REQUIRE(file.is_mapped());
    const ztensor::object_view object = *file.find("w");
    const auto lies_in_file = [&](const char* role, const void* at) {
        return static_cast<const void*>(object.component(role).value().bytes().value().data()) == at;
    };
    const auto view = ztensor::csr_view<float>::from(object).value();
    CHECK_FALSE(lies_in_file("indices", view.indices().data()));
    CHECK_FALSE(lies_in_file("indptr", view.indptr().data()));
    if (support::host_is_little_endian()) {
        CHECK(lies_in_file("values", view.values().data()));
    }
}

TEST_CASE("a part that 0.1 does not have is told with what to ask for instead") {
    const ztensor::reader file = support::opened(sparse::file_of(sparse::inline_arrays_of_0_1, sparse::csr_content()));
    const auto missing = file.find("w")->component("indptr");
    REQUIRE(support::outcome(missing) == "component_not_found");
    CHECK(missing.error().what().find("csr_view") != std::string::npos);
}

TEST_CASE("indices of a logical type are refused by its name") {
    const auto file = support::sample(ztensor::version::v1_1)
                          .stored_parts("sparse_csr", {2, 3},
                                        {{"indices", "f8_e5m2", support::bytes(2, '\0')},
                                         {"indptr", "u64", sparse::u64s({0, 1, 2})},
                                         {"values", "f32", sparse::floats({5, 7})}},
                                        false)
                          .file();
    const auto refused = support::open_bytes(file);
    REQUIRE(support::outcome(refused) == "sparse_dtype");
    CHECK(refused.error().what().find("\"f8_e5m2\", which is no integer type") != std::string::npos);
}
