// SPDX-License-Identifier: MIT
//
// What the writer refuses of sparse objects: it writes nothing of them. H1 to H12 are the rows of the threat model.
#include "index/sparse_content.hpp"
#include "support/catch.hpp"
#include "support/writing.hpp"

#include <ztensor/object_draft.hpp>
#include <ztensor/writer.hpp>

#include <complex>
#include <cstdint>
#include <vector>

namespace {

using sparse::floats;
using support::check_refused;
using support::integers;
using support::largest;
using ztensor::errc;
using ztensor::format_version;
using ztensor::object_draft;
using ztensor::shape;
using ztensor::store;
using ztensor::writer;

} // namespace

TEST_CASE("H1 to H8: the writer refuses a matrix that breaks a rule, and writes nothing of it") {
    const std::vector<float> two = {5, 7};
    const auto add = [&](shape dimensions, std::vector<float> values, integers indices, integers indptr) {
        return [=](writer& to) { return to.add_csr("m", dimensions, values, indices, indptr); };
    };
    for (const format_version version : {format_version::v1_1, format_version::v1_2}) {
        check_refused("m", version, errc::sparse_shape, "H1: one dimension", add({2}, two, {0, 2}, {0, 1, 2}));
        check_refused("m", version, errc::sparse_shape, "H1: three", add({2, 3, 1}, two, {0, 2}, {0, 1, 2}));
        check_refused("m", version, errc::sparse_size, "H3: one pointer less", add({3, 3}, two, {0, 2}, {0, 1, 2}));
        check_refused("m", version, errc::sparse_size, "H3: no pointer", add({2, 3}, two, {0, 2}, {}));
        check_refused("m", version, errc::sparse_size, "H7: fewer indices", add({2, 3}, two, {0}, {0, 1, 2}));
        check_refused("m", version, errc::sparse_size, "H7: fewer values", add({2, 3}, {5}, {0, 2}, {0, 1, 2}));
        check_refused("m", version, errc::sparse_indptr, "H4: from 1", add({2, 3}, two, {0, 2}, {1, 1, 2}));
        check_refused("m", version, errc::sparse_indptr, "H4: falling", add({2, 3}, two, {0, 2}, {0, 3, 2}));
        check_refused("m", version, errc::sparse_indptr, "H4: too short", add({2, 3}, two, {0, 2}, {0, 1, 1}));
        check_refused("m", version, errc::sparse_indptr, "H4: too long", add({2, 3}, two, {0, 2}, {0, 1, 3}));
        check_refused("m", version, errc::sparse_index, "H5", add({2, 3}, two, {0, 3}, {0, 1, 2}));
        check_refused("m", version, errc::shape_overflow, "a shape of 2^64",
                      add({2, std::uint64_t{1} << 63}, two, {0, 2}, {0, 1, 2}));
    }
    check_refused("m", format_version::v1_2, errc::sparse_dtype, "H8: u32 in 1.2", [&](writer& to) {
        return to.add_csr("m", {2, 3}, two, std::vector<std::uint32_t>{0, 2}, std::vector<std::uint32_t>{0, 1, 2});
    });
    check_refused("m", format_version::v1_2, errc::sparse_dtype, "H8: i64 in 1.2", [&](writer& to) {
        return to.add_coo("m", {3}, two, std::vector<std::int64_t>{0, 2});
    });
    check_refused("m", format_version::v1_1, errc::sparse_index, "a negative column", [&](writer& to) {
        return to.add_csr("m", {2, 3}, two, std::vector<int>{0, -1}, std::vector<int>{0, 1, 2});
    });
    check_refused("m", format_version::v1_1, errc::sparse_indptr, "a negative pointer", [&](writer& to) {
        return to.add_csr("m", {2, 3}, two, std::vector<int>{0, 2}, std::vector<int>{0, -1, 2});
    });
}

TEST_CASE("H10 to H12: the writer refuses coordinates that break a rule, and writes nothing of them") {
    const std::vector<float> two = {5, 7};
    const auto add = [&](shape dimensions, integers coords) {
        return [=](writer& to) { return to.add_coo("m", dimensions, two, coords); };
    };
    for (const format_version version : {format_version::v1_1, format_version::v1_2}) {
        check_refused("m", version, errc::sparse_shape, "H12: no dimension", add({}, {}));
        check_refused("m", version, errc::sparse_size, "one coordinate less", add({2, 3}, {0, 1, 0}));
        check_refused("m", version, errc::sparse_size, "one more", add({2, 3}, {0, 1, 0, 2, 0}));
        check_refused("m", version, errc::sparse_index, "H11: dimension 0", add({2, 3}, {0, 2, 0, 2}));
        check_refused("m", version, errc::sparse_index, "H11: dimension 1", add({2, 3}, {0, 1, 3, 2}));
    }
}

TEST_CASE("H1 to H12: drafts of sparse objects are refused for what can be known of their parts") {
    using ztensor::object_draft;
    const std::vector<float> two = {5, 7};
    const integers indices = {0, 2};
    const integers indptr = {0, 1, 2};
    const std::vector<float> floats = {0, 1};
    const auto csr = [&](shape dimensions) {
        return object_draft("sparse_csr", dimensions)
            .component("values", two)
            .component("indices", indices)
            .component("indptr", indptr);
    };
    const auto add = [](const object_draft& draft) { return [=](writer& to) { return to.add_object("m", draft); }; };
    for (const format_version version : {format_version::v1_1, format_version::v1_2}) {
        check_refused("m", version, errc::sparse_shape, "H1", add(csr({6})));
        check_refused("m", version, errc::shape_overflow, "H2", add(csr({largest, 1})));
        check_refused("m", version, errc::sparse_size, "H3", add(csr({3, 3})));
        check_refused("m", version, errc::sparse_size, "H7",
                      add(object_draft("sparse_csr", {2, 3})
                              .component("values", two)
                              .component("indices", indptr)
                              .component("indptr", indptr)));
        check_refused("m", version, errc::sparse_dtype, "H8",
                      add(object_draft("sparse_csr", {2, 3})
                              .component("values", two)
                              .component("indices", floats)
                              .component("indptr", indptr)));
        check_refused("m", version, errc::layout_components, "no indptr",
                      add(object_draft("sparse_csr", {2, 3}).component("values", two).component("indices", indices)));
        check_refused("m", version, errc::sparse_shape, "H12",
                      add(object_draft("sparse_coo", {}).component("values", two).component("coords", integers())));
        check_refused("m", version, errc::sparse_size, "coordinates",
                      add(object_draft("sparse_coo", {2, 3}).component("values", two).component("coords", indices)));
    }
}

TEST_CASE("0.1: the writer refuses sparse parts that break a rule, and writes nothing of them") {
    const std::vector<float> two = {5, 7};
    const auto version = format_version::v0_1;
    check_refused("m", version, errc::sparse_indptr, "H4", [&](writer& to) {
        return to.add_csr("m", {2, 3}, two, integers{0, 2}, integers{0, 1, 1});
    });
    check_refused("m", version, errc::sparse_index, "H5", [&](writer& to) {
        return to.add_csr("m", {2, 3}, two, integers{0, 3}, integers{0, 1, 2});
    });
    check_refused("m", version, errc::sparse_index, "H11", [&](writer& to) {
        return to.add_coo("m", {2}, two, integers{0, 2});
    });
    check_refused("m", version, errc::not_expressible, "a logical type", [](writer& to) {
        return to.add_coo("m", {2}, std::vector<std::complex<float>>{1, 2}, integers{0, 1});
    });
    check_refused("m", version, errc::not_expressible, "big-endian data", [&](writer& to) {
        return to.add_coo("m", {2}, two, integers{0, 1}, store().big_endian());
    });
    check_refused("m", version, errc::sparse_dtype, "H8: u32", [&](writer& to) {
        return to.add_csr("m", {2, 3}, two, std::vector<std::uint32_t>{0, 2}, std::vector<std::uint32_t>{0, 1, 2});
    });
    check_refused("m", version, errc::sparse_dtype, "H8: i64", [&](writer& to) {
        return to.add_coo("m", {3}, two, std::vector<std::int64_t>{0, 2});
    });
    check_refused("m", version, errc::sparse_size, "a blob that can't hold the parts", [&](writer& to) {
        return to.add_object("m", ztensor::object_draft("sparse_csr", {2, 3}).component("data", two));
    });
}
