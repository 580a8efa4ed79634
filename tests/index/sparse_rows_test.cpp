// SPDX-License-Identifier: MIT
//
// Of a sparse object only what is asked for is read.
#include "index/sparse_model.hpp"
#include "support/catch.hpp"
#include "support/watched_source.hpp"
#include "support/writing.hpp"

#include <ztensor/object_view.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace {

using sparse::matrix;
using sparse::parts_of;
using sparse::random_matrix;
using sparse::random_source;
using sparse::type_of;
using sparse::written;
using support::read_range;
using support::sorted;
using support::watched_source;
using ztensor::csr_view;
using ztensor::format_version;
using ztensor::object_view;
using ztensor::reader;
using ztensor::store;

/// Elements [first, last) of a component, `width` bytes each, as a range of the file.
read_range range_of(const object_view& object, std::string_view role, std::uint64_t width, std::uint64_t first,
                    std::uint64_t last) {
    return {object.component(role).value().offset() + first * width, (last - first) * width};
}

template <class Index>
void check_what_rows_read(format_version version) {
    random_source random(4);
    const matrix expected = random_matrix(type_of<double>, random, 20, 9);
    const auto source = std::make_shared<watched_source>(written<double, Index>(expected, version, store()));
    const reader from = reader::from_source(source).value();
    const object_view object = from.find("m").value();
    for (const auto& [first, last] : {std::pair(10, 13), std::pair(0, 1), std::pair(19, 20), std::pair(0, 20)}) {
        CAPTURE(first, last);
        const auto begin = static_cast<std::size_t>(first);
        const auto end = static_cast<std::size_t>(last);
        source->reads.clear();
        check_parts(parts_of(csr_view<double, Index>::from_rows(object, begin, end).value()),
                    expected.part(begin, end));
        CHECK(sorted(source->reads) ==
              sorted({range_of(object, "indptr", sizeof(Index), begin, end + 1),
                      range_of(object, "indices", sizeof(Index), expected.indptr[begin], expected.indptr[end]),
                      range_of(object, "values", sizeof(double), expected.indptr[begin], expected.indptr[end])}));
    }
}

} // namespace

TEST_CASE("rows of raw components are read without a byte of any other row") {
    check_what_rows_read<std::uint64_t>(format_version::v1_2);
    check_what_rows_read<std::int32_t>(format_version::v1_1);
    check_what_rows_read<std::uint8_t>(format_version::v1_1);
}

TEST_CASE("opening a sparse object reads none of its data") {
    random_source random(5);
    const auto source = std::make_shared<watched_source>(
        written<float, std::uint64_t>(random_matrix(type_of<float>, random, 30, 30), format_version::v1_2, store()));
    const reader from = reader::from_source(source).value();
    const std::uint64_t end_of_blobs = from.file_bytes() - 16 - from.manifest_bytes();
    for (const read_range& each : source->reads) {
        CHECK((each.offset + each.length <= 64 || each.offset + 64 >= end_of_blobs));
    }
}
