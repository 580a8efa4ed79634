// SPDX-License-Identifier: MIT
//
// Sparse objects whose parts state no size or are of types that are unknown: what only decoding tells must fit all the
// same, whole and in rows. SPEC.md §8.
#include "index/sparse_content.hpp"
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

namespace sparse_sizes_unknown {

using support::bytes;
using support::refusal;
using support::sample;
using ztensor::csr_view;
using ztensor::errc;
using ztensor::object_view;
using ztensor::reader;
using ztensor::version;
namespace cbor = support::cbor;

bytes bytes_of_u64s(const std::vector<std::uint64_t>& values) {
    return support::little_endian(values, 8);
}

/// A matrix of 2 × 3 with 5 and 7 in it, its parts compressed as 1.1 does, unless another part is given.
struct csr_parts {
    bytes indptr = bytes_of_u64s({0, 1, 2});
    bytes indices = bytes_of_u64s({0, 2});
    bytes values = support::little_endian(std::vector<float>{5, 7});
    std::string indptr_type = "u64";
    std::string indices_type = "u64";
    std::string value_type = "f32";
    ztensor::version from = version::v1_1;
    bool is_zstd = true;

    [[nodiscard]] reader open() const {
        sample file(from);
        file.stored_parts(
            "sparse_csr", {2, 3},
            {{"indptr", indptr_type, indptr}, {"indices", indices_type, indices}, {"values", value_type, values}},
            is_zstd);
        return support::opened(file.file());
    }
};

template <class T = float>
refusal whole(const csr_parts& parts) {
    const reader file = parts.open();
    return refusal(csr_view<T>::read(file.find("w").value()));
}
template <class T = float>
refusal first_row(const csr_parts& parts) {
    const reader file = parts.open();
    return refusal(csr_view<T>::from_rows(file.find("w").value(), 0, 1));
}

} // namespace sparse_sizes_unknown

} // namespace

TEST_CASE("row pointers of an unknown size are as many as there are rows, and one more") {
    using namespace sparse_sizes_unknown;
    for (const bytes& pointers : {bytes(), bytes_of_u64s({0}), bytes_of_u64s({0, 1, 2, 2, 2, 2})}) {
        csr_parts parts;
        parts.indptr = pointers;
        CAPTURE(pointers.size());
        CHECK(whole(parts) == errc::decode_size);
        CHECK(first_row(parts) == errc::decode_size);
    }
}

TEST_CASE("parts of unknown types are refused for those, whole and in rows") {
    using namespace sparse_sizes_unknown;
    for (const bool is_zstd : {false, true}) {
        CAPTURE(is_zstd);
        csr_parts pointers, indices, values;
        pointers.indptr_type = indices.indices_type = values.value_type = "u40";
        pointers.is_zstd = indices.is_zstd = values.is_zstd = is_zstd;
        CHECK(whole(pointers) == errc::unknown_dtype);
        CHECK(first_row(pointers) == errc::unknown_dtype);
        CHECK(whole(indices) == errc::unknown_dtype);
        CHECK(first_row(indices) == errc::unknown_dtype);
        CHECK(whole(values) == errc::unknown_dtype);
        CHECK(first_row(values) == errc::unknown_dtype);
        CHECK(whole<std::byte>(values).code == std::nullopt); // two values of four bytes
    }
}

TEST_CASE("of no values of an unknown type nobody needs the width") {
    using namespace sparse_sizes_unknown;
    csr_parts parts;
    parts.indptr = bytes_of_u64s({0, 0, 0});
    parts.indices = parts.values = bytes();
    parts.value_type = "u40";
    const reader file = parts.open();
    CHECK(csr_view<std::byte>::read(file.find("w").value()).value().entry_count() == 0);
    parts.values = "x";
    CHECK(whole<std::byte>(parts) == errc::unknown_dtype);
}

TEST_CASE("0.1: a row pointer that the index type asked for can't hold is refused as one") {
    using namespace sparse_sizes_unknown;
    sparse::csr_content content;
    content.indptr = {0, std::uint64_t{1} << 40, 2};
    const reader opened = support::opened(sparse::file_of(sparse::inline_arrays_of_0_1, content));
    const object_view object = *opened.begin();
    CHECK(refusal(csr_view<float, std::uint32_t>::read(object)) == errc::sparse_indptr);
    CHECK(refusal(csr_view<float>::read(object)) == errc::sparse_indptr);
}

TEST_CASE("values of an unknown logical type are as many bytes as their blob decodes to, shared among the entries") {
    using namespace sparse_sizes_unknown;
    const csr_parts content;
    std::vector<bytes> blobs;
    for (const bytes& each : {content.indptr, content.indices, content.values}) {
        blobs.push_back(support::zstd::frame_of(each));
    }
    const cbor::map zstd = {{"encoding", cbor::text("zstd")}};
    const auto open = [&](const char* typed) {
        std::vector<support::part> parts = {{"indptr", "u64", 64, blobs[0].size(), zstd},
                                            {"indices", "u64", 128, blobs[1].size(), zstd},
                                            {"values", "f32", 192, blobs[2].size(), zstd}};
        for (support::part& each : parts) {
            if (each.role == typed) {
                each.more.set("type", cbor::text("fixed"));
            }
        }
        sample file(version::v1_1);
        return support::opened(file.blobs(blobs).parts("sparse_csr", {2, 3}, parts).file());
    };
    const reader values = open("values"), indices = open("indices");
    CHECK(csr_view<std::byte>::read(values.find("w").value()).value().entry_count() == 2);
    CHECK(refusal(csr_view<float>::read(indices.find("w").value())) == errc::unsupported_type);
}
