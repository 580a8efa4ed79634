// SPDX-License-Identifier: MIT
//
// Sparse views: how much memory they ask for, what they borrow and how long it lives, and views of parts in memory.
#include "index/sparse_content.hpp"
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace {

using sparse::csr_content;
using sparse::file_of;
using sparse::holding;
using sparse::layout;
using sparse::raw_parts_of_1_2;
using sparse::u64s;
using support::as;
using support::bytes;
using support::finished;
using support::integers;
using support::largest;
using support::opening;
using support::refusal;
using support::sample;
using support::temp_dir;
using ztensor::coo_view;
using ztensor::csr_view;
using ztensor::errc;
using ztensor::reader;
using ztensor::shape;
using ztensor::version;
using ztensor::writer;
namespace cbor = support::cbor;

constexpr std::uint64_t two_to_31 = std::uint64_t{1} << 31;

} // namespace

TEST_CASE("H9: a matrix too large to be written out is refused before any memory is taken") {
    const integers none;
    const std::vector<float> no_floats;
    const std::vector<std::uint8_t> no_bytes;
    CHECK(refusal(coo_view<float>::from_parts({two_to_31, two_to_31}, no_floats, none).value().to_dense()) ==
          errc::limit_exceeded);
    CHECK(refusal(coo_view<std::uint8_t>::from_parts({two_to_31, two_to_31}, no_bytes, none).value().to_dense()) ==
          errc::limit_exceeded);
    CHECK(refusal(coo_view<float>::from_parts({largest}, no_floats, none).value().to_dense(largest)) ==
          errc::limit_exceeded);
    CHECK(refusal(coo_view<std::uint8_t>::from_parts({largest}, no_bytes, none).value().to_dense(largest)) ==
          errc::limit_exceeded); // no address space has so much
    CHECK(refusal(
              coo_view<std::uint8_t>::from_parts({(std::uint64_t{1} << 35) + 1}, no_bytes, none).value().to_dense()) ==
          errc::limit_exceeded);
    const integers two_zeros = {0, 0};
    CHECK(refusal(
              csr_view<float>::from_parts({1, two_to_31 * two_to_31}, no_floats, none, two_zeros).value().to_dense()) ==
          errc::limit_exceeded);

    const auto small = coo_view<float>::from_parts({4, 4}, no_floats, none).value();
    CHECK(small.to_dense(64).value() == std::vector<float>(16));
    CHECK(refusal(small.to_dense(63)) == errc::limit_exceeded);
    CHECK(coo_view<float>::from_parts({two_to_31, 0}, no_floats, none).value().to_dense(0).value().empty());
}

TEST_CASE("H9: row pointers too many for memory are refused before any are made") {
    const integers none;
    const std::vector<float> no_floats;
    CHECK(refusal(coo_view<float>::from_parts({two_to_31 * two_to_31, 1}, no_floats, none).value().to_csr()) ==
          errc::limit_exceeded);
    CHECK(refusal(coo_view<float>::from_parts({largest, 1}, no_floats, none).value().to_csr(largest)) ==
          errc::limit_exceeded);
    const auto small = coo_view<float>::from_parts({4, 4}, no_floats, none).value();
    const auto by_rows = small.to_csr(40).value();
    CHECK(by_rows.indptr().size() == 5);
    CHECK(refusal(small.to_csr(39)) == errc::limit_exceeded);
}

TEST_CASE("H9: a file of a huge sparse object without entries opens and can be looked at") {
    const temp_dir directory;
    writer to = support::to_memory();
    to.add_coo("m", {two_to_31, two_to_31}, std::vector<double>(), integers()).value();
    for (const opening& opened : open_every_way(finished(to), directory)) {
        const auto view = coo_view<double>::from(opened.file.value().find("m").value()).value();
        CHECK(view.entry_count() == 0);
        CHECK(refusal(view.to_dense()) == errc::limit_exceeded);
        CHECK(refusal(view.to_csr(two_to_31)) == errc::limit_exceeded); // they take 16 GiB
    }
}

TEST_CASE("H10: values times dimensions that need more than 64 bits are refused") {
    if constexpr (sizeof(std::size_t) == 8) {
        constexpr std::size_t half = std::numeric_limits<std::size_t>::max() / 2 + 1;
        const ztensor::span<const std::uint8_t> many(nullptr, half); // nothing looks at them
        const integers none;
        CHECK(refusal(coo_view<std::uint8_t>::from_parts({2, 2}, many, none)) == errc::shape_overflow);
        writer to = support::to_memory();
        CHECK(refusal(to.add_coo("m", {2, 2}, many, none)) == errc::shape_overflow);
    }
}

TEST_CASE("more rows than memory can hold pointers for are an error, on hosts of 32 bits too") {
    const std::vector<float> one = {1};
    const integers place = {0, 0};
    const auto coo = coo_view<float>::from_parts({0xffffffff, 1}, one, place).value();
    CHECK(refusal(coo.to_csr(1 << 20)) == errc::limit_exceeded);
    if (sizeof(std::size_t) == 4) {
        CHECK(refusal(coo.to_csr()) == errc::limit_exceeded);
    }
}

TEST_CASE("what is read, not viewed, is verified and owned") {
    const cbor::map wrong = {{"digest", cbor::text("crc32c:0x00000000")}};
    sample damaged;
    damaged.blobs({bytes(4, 'v'), u64s({1})});
    damaged.parts("sparse_coo", {3}, {{"values", "f32", 64, 4, wrong}, {"coords", "u64", 128, 8}});
    const reader from = support::opened(damaged.file());
    CHECK(refusal(coo_view<float>::read(*from.find("w"))) == errc::digest_mismatch);
    const holding& how = raw_parts_of_1_2;
    const reader right = support::opened(file_of(how, csr_content()));
    const auto view = csr_view<float>::read(*right.find("w")).value();
    CHECK_FALSE(view.is_borrowed());
    CHECK(view.to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7});
}

TEST_CASE("parts at odd addresses of memory are copied, not borrowed") {
    const bytes content = "x" + file_of(raw_parts_of_1_2, csr_content());
    const std::vector<std::byte> memory = support::to_vector(content);
    const reader odd = reader::from_bytes(ztensor::bytes_view(memory).subspan(1)).value();
    const auto view = csr_view<float>::from(*odd.find("w")).value();
    CHECK_FALSE(view.is_borrowed());
    CHECK(view.to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7});
}

TEST_CASE("a view outlives the object it was made from, and the reader's other copies") {
    std::optional<csr_view<float>> view;
    std::optional<coo_view<float>> coo;
    const reader kept = [&] {
        const reader from = support::opened(file_of({"", version::v1_1, layout::parts, true}, csr_content()));
        view = csr_view<float>::from(*from.find("w")).value();
        coo = view->to_coo().value();
        return from;
    }();
    view.reset();
    CHECK(coo->to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7}); // shares the values
}

TEST_CASE("parts in memory are checked as those of a file are") {
    const std::vector<float> two = {5, 7};
    const auto code = [](const auto& made) {
        return made ? std::optional<errc>() : std::optional(made.error().code());
    };
    const auto csr = [&](const shape& dimensions, const integers& indices, const integers& indptr) {
        return code(csr_view<float>::from_parts(dimensions, two, indices, indptr));
    };
    CHECK(csr({2, 3}, {0, 2}, {0, 1, 2}) == std::nullopt);
    CHECK(csr({2}, {0, 2}, {0, 1, 2}) == errc::sparse_shape);
    CHECK(csr({2, 3}, {0, 2, 1}, {0, 1, 2}) == errc::sparse_size);
    CHECK(csr({3, 3}, {0, 2}, {0, 1, 2}) == errc::sparse_size);
    CHECK(csr({2, 3}, {0, 2}, {}) == errc::sparse_size);
    CHECK(csr({2, 3}, {0, 2}, {0, 3, 2}) == errc::sparse_indptr);
    CHECK(csr({2, 3}, {0, 3}, {0, 1, 2}) == errc::sparse_index);
    const std::vector<int> negative = {0, -1};
    const std::vector<int> pointers = {0, 1, 2};
    const std::vector<int> falling = {0, -2, 2};
    CHECK(code(csr_view<float, int>::from_parts({2, 3}, two, negative, pointers)) == errc::sparse_index);
    CHECK(code(csr_view<float, int>::from_parts({2, 3}, two, pointers, falling)) == errc::sparse_size);
    CHECK(code(csr_view<float, int>::from_parts({2, largest}, two, negative, pointers)) == errc::sparse_index);
    CHECK(code(coo_view<float, int>::from_parts({2}, two, negative)) == errc::sparse_index);
    CHECK(code(coo_view<float, int>::from_parts({largest}, two, negative)) == errc::sparse_index);
    const integers none;
    CHECK(code(coo_view<float>::from_parts({}, two, none)) == errc::sparse_shape);
}

// Last: a sum that overflows ends a program with a sanitizer, where it is not defined.
TEST_CASE("integers at one place wrap around when their sum overflows") {
    const integers twice = {0, 0};
    const integers pointers = {0, 2};
    const std::vector<std::int8_t> bytes_ = {127, 1};
    CHECK(as<int>(csr_view<std::int8_t>::from_parts({1, 1}, bytes_, twice, pointers).value().to_dense().value()) ==
          std::vector<int>{-128});
    const std::vector<std::uint32_t> unsigned_ = {0xffffffff, 2};
    CHECK(csr_view<std::uint32_t>::from_parts({1, 1}, unsigned_, twice, pointers).value().to_dense().value() ==
          std::vector<std::uint32_t>{1});
    const std::vector<std::int32_t> ints = {std::numeric_limits<std::int32_t>::max(), 1};
    CHECK(coo_view<std::int32_t>::from_parts({1}, ints, twice).value().to_dense().value() ==
          std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min()});
    const std::vector<std::int64_t> longs = {std::numeric_limits<std::int64_t>::min(), -1};
    CHECK(csr_view<std::int64_t>::from_parts({1, 1}, longs, twice, pointers).value().to_dense().value() ==
          std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max()});
}

TEST_CASE("a view that another is assigned to shares its memory") {
    const std::vector<float> two = {5, 7};
    const ztensor::reader file = support::reopened({}, [&](ztensor::writer& to) {
        to.add_csr("a", {2, 3}, two, std::vector<std::uint64_t>{0, 2}, std::vector<std::uint64_t>{0, 1, 2}).value();
        to.add_coo("b", {2, 3}, two, std::vector<std::uint64_t>{0, 1, 0, 2}).value();
    });
    auto rows = ztensor::csr_view<float>::read(file.find("a").value()).value();
    const auto first_row = ztensor::csr_view<float>::from_rows(file.find("a").value(), 0, 1).value();
    rows = first_row;
    CHECK(rows.entry_count() == 1);
    CHECK(rows.values().data() == first_row.values().data());
    auto entries = ztensor::coo_view<float>::read(file.find("b").value()).value();
    const auto others = entries;
    entries = others;
    CHECK(entries.values().data() == others.values().data());
}
