// SPDX-License-Identifier: MIT
//
// Sparse objects of 0.1: one blob for all parts, or index arrays in the index. SPEC.md §8.3.
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
#include <string_view>
#include <utility>
#include <vector>

namespace {

using sparse::broken;
using sparse::check_outcome;
using sparse::coo_content;
using sparse::coo_of;
using sparse::csr_content;
using sparse::csr_of;
using sparse::file_of;
using sparse::file_of_blob;
using sparse::floats;
using sparse::holding;
using sparse::holdings;
using sparse::inline_arrays_of_0_1;
using sparse::layout;
using sparse::rows_of;
using sparse::u64s;
using sparse::use;
using support::as;
using support::bytes;
using support::finished;
using support::largest;
using support::opening;
using support::refusal;
using support::sample;
using support::temp_dir;
using ztensor::coo_view;
using ztensor::csr_view;
using ztensor::errc;
using ztensor::format_version;
using ztensor::object_view;
using ztensor::reader;
using ztensor::version;
using ztensor::write_options;
using ztensor::writer;
namespace cbor = support::cbor;

} // namespace

TEST_CASE("0.1: indices of any 64-bit unsigned type are written into the one blob") {
    const std::vector<float> two = {5, 7};
    const auto file = [&](auto zero) {
        using index = decltype(zero);
        writer to = writer::to_memory(write_options().version(format_version::v0_1)).value();
        to.add_csr("m", {2, 3}, two, std::vector<index>{0, 2}, std::vector<index>{0, 1, 2}).value();
        to.add_coo("t", {2, 3}, two, std::vector<index>{0, 1, 0, 2}).value();
        return finished(to);
    };
    static_assert(sizeof(unsigned long long) == 8);
    CHECK(file(0ULL) == file(std::uint64_t{0}));
}

TEST_CASE("0.1: a blob that can't hold the parts is refused when the file is opened, or when it is decoded") {
    const temp_dir directory;
    for (const holding& how : holdings) {
        if (!how.is_one_blob()) {
            continue;
        }
        CAPTURE(how.what);
        const sparse::outcome refused = {how.is_zstd, errc::sparse_size, {}};
        for (const std::size_t size : {0U, 1U, 8U, 16U, 23U, 25U, 35U, 37U, 47U}) {
            CAPTURE(size);
            check_outcome(file_of_blob(how, "csr", {2, 3}, bytes(size, '\0'), {}), csr_of<float>(), refused, directory);
        }
        for (const std::size_t size : {1U, 4U, 19U, 21U, 39U}) {
            CAPTURE(size);
            check_outcome(file_of_blob(how, "coo", {2, 3}, bytes(size, '\0'), {}), coo_of<float>(), refused, directory);
        }
        csr_content content;
        content.dimensions = {std::uint64_t{1} << 60, 1};
        check_outcome(file_of(how, content), csr_of<float>(), refused, directory);
        content.dimensions = {largest, 1};
        check_outcome(file_of(how, content), csr_of<float>(), {false, errc::shape_overflow, {}}, directory);
    }
}

TEST_CASE(
    "0.1: index arrays that can't belong to the values are refused when the file is opened, or when it is decoded") {
    const temp_dir directory;
    const auto check = [&](const auto& content, const use& call, errc refusal) {
        for (const holding& how : holdings) {
            if (how.how == layout::inline_arrays) {
                CAPTURE(how.what);
                const bool only_decoding_tells = how.is_zstd && refusal == errc::decode_size;
                const errc expected = !how.is_zstd && refusal == errc::decode_size ? errc::sparse_size : refusal;
                check_outcome(file_of(how, content), call, {only_decoding_tells, expected, {}}, directory);
            }
        }
    };
    const std::vector<broken<csr_content>> rows = {
        {"H1: one dimension", [](csr_content& m) { m.dimensions = {2}; }, errc::sparse_shape},
        {"H2: 2^64 - 1 rows",
         [](csr_content& m) {
             m.dimensions = {largest, 1};
         },
         errc::shape_overflow},
        {"H3: one pointer less",
         [](csr_content& m) {
             m.dimensions = {3, 3};
         },
         errc::sparse_size},
        {"H3: no pointer", [](csr_content& m) { m.indptr = {}; }, errc::sparse_size},
        {"H7: one value more",
         [](csr_content& m) {
             m.values = {1, 2, 3};
         },
         errc::decode_size},
        {"H7: one index more",
         [](csr_content& m) {
             m.indices = {0, 1, 2};
         },
         errc::decode_size},
    };
    for (const broken<csr_content>& each : rows) {
        const csr_content content = each.content();
        CAPTURE(each.rule);
        check(content, csr_of<float>(), *each.refusal);
    }
    const std::vector<broken<coo_content>> rows_of_coo = {
        {"H12: no dimension", [](coo_content& t) { t.dimensions = {}; }, errc::sparse_shape},
        {"a coordinate more", [](coo_content& t) { t.coords.push_back(0); }, errc::sparse_size},
        {"an entry more", [](coo_content& t) { t.coords = {0, 1, 0, 1, 2, 0}; }, errc::decode_size},
    };
    for (const broken<coo_content>& each : rows_of_coo) {
        const coo_content content = each.content();
        CAPTURE(each.rule);
        check(content, coo_of<float>(), *each.refusal);
    }
}

namespace {

/// A one-blob matrix of 0.1, spelled "sparse", with other keys beside.
sample one_blob(std::string_view sparse_format = "csr") {
    const bytes csr = u64s({0, 1, 2}) + u64s({0, 2}) + floats({5, 7});
    const bytes coo = u64s({0, 0}) + floats({5}) + u64s({1, 2}) + floats({7});
    sample file(version::v0_1);
    file.shape({2, 3}).blob(sparse_format == "csr" ? csr : coo).object("layout", cbor::text("sparse"));
    file.object("sparse_format", cbor::text(sparse_format));
    return file;
}

} // namespace

TEST_CASE("0.1: index arrays that are complete are no attributes") {
    const holding& how = inline_arrays_of_0_1;
    for (const bytes& file : {file_of(how, csr_content()), file_of(how, coo_content())}) {
        const reader from = support::opened(file);
        CHECK(from.find("w").value().attributes().empty());
        CHECK_FALSE(from.find("w").value().has_attributes());
    }
}

TEST_CASE("0.1: the one blob is no array of its dtype") {
    const temp_dir directory;
    for (const holding& how : holdings) {
        if (!how.is_one_blob()) {
            continue;
        }
        CAPTURE(how.what);
        for (const bytes& file : {file_of(how, csr_content()), file_of(how, coo_content())}) {
            for (const opening& opened : open_every_way(file, directory)) {
                CAPTURE(opened.way);
                const auto blob = opened.file.value().find("w").value().component("data").value();
                CHECK(blob.dtype() == ztensor::dtype::f32);
                CHECK(refusal(blob.check<float>()) == errc::type_mismatch);
                CHECK(refusal(blob.view<float>()) == errc::type_mismatch);
                CHECK(refusal(blob.read<float>()) == errc::type_mismatch);
                CHECK(refusal(blob.read_as<float>()) == errc::type_mismatch);
                CHECK(refusal(blob.part(0, 1, 1).read<float>()) == errc::type_mismatch);
                CHECK(blob.read<std::byte>().has_value());
            }
        }
    }
    const holding& how = inline_arrays_of_0_1;
    const reader from = support::opened(file_of(how, csr_content()));
    CHECK(from.find("w")->component("data")->read<float>().value() == std::vector<float>{5, 7}); // the values alone
}

TEST_CASE("0.1: a blob of an unknown type can't be taken apart") {
    sample file = one_blob();
    file.dtype("float24");
    const reader from = support::opened(file.file());
    CHECK(refusal(csr_view<std::byte>::from(*from.find("w"))) == errc::unknown_dtype);
    CHECK(refusal(csr_view<float>::from(*from.find("w"))) == errc::unknown_dtype);
}

TEST_CASE("0.1: keys that are no complete set of index arrays are custom keys, and the blob holds the indices") {
    const struct {
        const char* what;
        const char* layout;
        std::vector<std::pair<const char*, bytes>> keys;
    } rows[] = {
        {"row pointers alone", "csr", {{"indptr", cbor::numbers({0, 1, 2})}}},
        {"columns alone", "csr", {{"indices", cbor::numbers({0, 2})}}},
        {"a negative column",
         "csr",
         {{"indptr", cbor::numbers({0, 1, 2})}, {"indices", cbor::array({cbor::minus_one_minus(0)})}}},
        {"columns as text", "csr", {{"indptr", cbor::numbers({0, 1, 2})}, {"indices", cbor::text("0 2")}}},
        {"columns in an array of arrays",
         "csr",
         {{"indptr", cbor::numbers({0, 1, 2})}, {"indices", cbor::array({cbor::numbers({0, 2})})}}},
        {"the arrays of the other layout", "csr", {{"coords", cbor::numbers({0, 1, 0, 2})}}},
        {"the arrays of the other layout",
         "coo",
         {{"indptr", cbor::numbers({0, 1, 2})}, {"indices", cbor::numbers({0, 2})}}},
        {"coordinates as a float", "coo", {{"coords", cbor::array({cbor::half_one})}}},
    };
    for (const auto& each : rows) {
        CAPTURE(each.what, each.layout);
        sample file = one_blob(each.layout);
        for (const auto& [key, value] : each.keys) {
            file.object(key, value);
        }
        const reader from = support::opened(file.file());
        const object_view object = from.find("w").value();
        const auto dense = std::string_view(each.layout) == "csr" ? csr_view<float>::from(object).value().to_dense()
                                                                  : coo_view<float>::from(object).value().to_dense();
        CHECK(dense.value() == std::vector<float>{5, 0, 0, 0, 0, 7});
        CHECK(object.attributes().size() == each.keys.size());
        for (const auto& [key, value] : each.keys) {
            CHECK(object.attributes().contains(key));
        }
    }
}

TEST_CASE("0.1: beside the reference's own spelling, index arrays are custom keys") {
    sample file = one_blob();
    file.object("layout", cbor::text("sparsecsr"))
        .object("indptr", cbor::numbers({9}))
        .object("indices", cbor::numbers({9, 9}));
    const reader from = support::opened(file.file());
    const object_view object = from.find("w").value();
    CHECK(csr_view<float>::from(object).value().to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7});
    CHECK(object.attributes().size() == 3);
    CHECK(object.attributes().text("sparse_format").value() == "csr");
    CHECK(object.attributes().contains("indptr"));
}

TEST_CASE("0.1: index arrays may have indefinite length and long heads") {
    const auto number = [](std::uint64_t value) { return cbor::head_of_size(cbor::major::unsigned_integer, value, 8); };
    sample file(version::v0_1);
    file.shape({2, 3}).blob(floats({5, 7})).object("layout", cbor::text("sparse"));
    file.object("sparse_format", cbor::chunked({"c", "sr"}));
    file.object("indptr", cbor::indefinite_array({number(0), number(1), number(2)}));
    file.object("indices", cbor::indefinite_array({number(0), number(2)}));
    const reader from = support::opened(file.file());
    CHECK(csr_view<float>::from(*from.find("w")).value().to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7});
}

TEST_CASE("0.1: sparse data stored big-endian is listed, and refused when it is used") {
    const temp_dir directory;
    for (const holding& how : holdings) {
        if (how.from != version::v0_1 || how.is_zstd) {
            continue;
        }
        const auto big = [&](const bytes& file) { // as a custom key at the end of the map, whatever the layout
            const bytes entry = cbor::text("data_endianness") + cbor::text("big");
            const std::size_t index_size =
                static_cast<unsigned char>(file[file.size() - 8]) +
                256 * static_cast<std::size_t>(static_cast<unsigned char>(file[file.size() - 7]));
            bytes index = file.substr(file.size() - 8 - index_size, index_size);
            index[1] = static_cast<char>(index[1] + 1); // one pair more: the map has fewer than 23
            index += entry;
            return file.substr(0, file.size() - 8 - index_size) + index + support::little_endian(index.size(), 8);
        };
        CAPTURE(how.what);
        check_outcome(big(file_of(how, csr_content())), csr_of<float>(), {true, errc::needs_byteswap, {}}, directory);
        check_outcome(big(file_of(how, csr_content())), rows_of(0, 1), {true, errc::needs_byteswap, {}}, directory);
        check_outcome(big(file_of(how, coo_content())), coo_of<float>(), {true, errc::needs_byteswap, {}}, directory);
        check_outcome(big(file_of(how, csr_content())), csr_of<std::byte>(), {true, errc::needs_byteswap, {}},
                      directory);
    }
}

TEST_CASE("0.1: values of a blob that lie at odd addresses are read all the same") {
    // Three u64, then u64 columns, then doubles at a multiple of 8; and three entries of (u64, u8) at no multiple of
    // it.
    sample file(version::v0_1);
    file.dtype("u8").shape({300}).object("layout", cbor::text("sparsecoo"));
    file.blob(support::little_endian(299, 8) + "\1" + support::little_endian(0, 8) + "\2" +
              support::little_endian(256, 8) + "\3");
    const temp_dir directory;
    for (const opening& opened : open_every_way(file.file(), directory)) {
        const auto view = coo_view<std::uint8_t>::from(*opened.file.value().find("w")).value();
        CHECK(as<int>(view.coords()) == std::vector<int>{299, 0, 256});
        CHECK(as<int>(view.values()) == std::vector<int>{1, 2, 3});
    }
    const bytes content = "x" + file_of({"", version::v0_1, layout::one_blob, false}, csr_content());
    const std::vector<std::byte> memory = support::to_vector(content);
    const reader odd = reader::from_bytes(ztensor::bytes_view(memory).subspan(1)).value();
    const auto view = csr_view<float>::from(*odd.find("w")).value();
    CHECK_FALSE(view.is_borrowed());
    CHECK(view.to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7});
}
