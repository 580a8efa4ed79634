// SPDX-License-Identifier: MIT
//
// Shapes: made of whatever integers a caller has, small, and never of more than they can be.
#include "support/catch.hpp"

#include <ztensor/error.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/writer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using ztensor::errc;
using ztensor::error_kind;
using ztensor::shape;

shape rising(std::size_t rank) {
    shape made;
    for (std::size_t i = 0; i < rank; ++i) {
        made.push_back(i + 1);
    }
    return made;
}

ztensor::error refusal_of(const shape& dimensions) {
    auto out = ztensor::writer::to_memory().value();
    return out.add("w", dimensions, std::vector<float>(3)).error();
}

} // namespace

static_assert(sizeof(shape) <= 72, "it is handed out by value");
static_assert(!std::is_convertible_v<int, shape> && !std::is_convertible_v<double, shape>);
static_assert(!std::is_convertible_v<const char*, shape> && !std::is_convertible_v<std::vector<double>, shape>);

TEST_CASE("a shape is made of integers of any type, listed or in a range") {
    const int rows = 2;
    const std::size_t columns = 3;
    const std::uint64_t expected[] = {2, 3};
    const std::vector<std::int64_t> vector = {2, 3};
    const std::list<short> list = {2, 3};
    const int array[] = {2, 3};
    for (const shape& made :
         {shape{2, 3}, shape{rows, rows + 1}, shape{rows, columns}, shape{2, columns}, shape(vector), shape(list),
          shape(array), shape(std::array<unsigned char, 2>{2, 3}), shape(vector.begin(), vector.end()),
          shape(ztensor::span<const std::uint64_t>(expected))}) {
        CHECK(made == shape{2, 3});
        CHECK(made.front() == 2);
        CHECK(made.back() == 3);
        CHECK(made.is_valid());
    }
    CHECK(shape{rows} == shape{2});
    CHECK(shape{rows, columns, 1} == shape{2, 3, 1});
    CHECK(shape{} == shape());
}

TEST_CASE("a shape compares with whatever a shape is made of") {
    const shape dimensions = {2, 3};
    CHECK(dimensions == std::vector<int>{2, 3});
    CHECK(std::array<std::size_t, 2>{2, 3} == dimensions);
    CHECK(dimensions != std::vector<int>{2, 3, 1});
}

TEST_CASE("shapes of all ranks are copied, moved and assigned") {
    for (const std::size_t rank : std::initializer_list<std::size_t>{0, 1, 7, 8, 9, 10, 63, 64}) {
        const shape original = rising(rank);
        CHECK(original.rank() == rank);
        CHECK(original.is_valid());
        shape copy = original;
        CHECK(copy == original);
        shape moved = std::move(copy);
        CHECK(moved == original);
        for (const std::size_t other_rank : std::initializer_list<std::size_t>{0, 3, 9, 64}) {
            shape assigned = rising(other_rank);
            assigned = original;
            CHECK(assigned == original);
            assigned = rising(other_rank);
            CHECK(assigned == rising(other_rank));
            assigned = std::move(moved);
            CHECK(assigned == original);
            moved = original;
        }
        const shape& itself = moved;
        moved = itself;
        CHECK(moved == original);
        if (rank != 0) {
            CHECK(moved.back() == rank);
            CHECK(moved.end() - moved.begin() == static_cast<std::ptrdiff_t>(rank));
        }
    }
}

TEST_CASE("a negative dimension is refused as the caller's mistake, wherever it stands") {
    const int unknown = -1;
    for (const shape& dimensions : {shape{unknown}, shape{3, unknown}, shape(std::vector<long>{-1, 1}),
                                    shape{std::size_t{3}, std::int64_t{-1}}}) {
        CHECK_FALSE(dimensions.is_valid());
        const ztensor::error why = refusal_of(dimensions);
        CHECK(why.code() == errc::invalid_argument);
        CHECK(why.kind() == error_kind::usage);
        CHECK(why.sentence().find("negative") != std::string::npos);
    }
    CHECK(refusal_of(shape(std::vector<int>(65, 1))).code() == errc::limit_exceeded);
}

TEST_CASE("a file keeps shapes of all ranks") {
    auto out = ztensor::writer::to_memory().value();
    for (std::size_t rank = 0; rank <= 64; ++rank) {
        out.add(std::to_string(rank), shape(std::vector<int>(rank, 1)), {1.0F}).value();
    }
    out.finish().value();
    const auto model = ztensor::reader::from_bytes(out.take_bytes()).value();
    for (std::size_t rank = 0; rank <= 64; ++rank) {
        CHECK(model[std::to_string(rank)].shape() == std::vector<int>(rank, 1));
    }
}
