// SPDX-License-Identifier: MIT
//
// Sparse objects that break a rule of SPEC.md §5.2, §5.3 or §8.3, and the nearest ones that keep it, in every
// generation and spelling. H1 to H12 are the rows of the threat model.
#include "index/sparse_content.hpp"
#include "support/catch.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace {

using sparse::broken;
using sparse::check_numbers;
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
using sparse::raw_parts_of_1_2;
using sparse::rows_of;
using sparse::u64s;
using support::bytes;
using support::host_is_little_endian;
using support::largest;
using support::opening;
using support::refusal;
using support::sample;
using support::temp_dir;
using ztensor::coo_view;
using ztensor::csr_view;
using ztensor::errc;
using ztensor::object_view;
using ztensor::reader;
using ztensor::version;
namespace cbor = support::cbor;

/// Row pointers that end elsewhere than the values do say so; in one blob, too, where the size gives the number of
/// values.
const std::vector<broken<csr_content>> wrong_ends = {
    {"H4: pointers that end before the last value",
     [](csr_content& m) {
         m.indptr = {0, 1, 1};
     },
     errc::sparse_indptr},
    {"H4: pointers that end behind the last value",
     [](csr_content& m) {
         m.indptr = {0, 1, 3};
     },
     errc::sparse_indptr},
    {"H4: pointers that end far behind it",
     [](csr_content& m) {
         m.indptr = {0, 1, largest};
     },
     errc::sparse_indptr},
    {"H4: pointers that end at 2^63",
     [](csr_content& m) {
         m.indptr = {0, 1, std::uint64_t{1} << 63};
     },
     errc::sparse_indptr},
};

} // namespace

TEST_CASE("what is right is read from every generation and in every spelling") {
    const std::vector<broken<csr_content>> right = {
        {"two values", [](csr_content&) {}, {}},
        {"no rows",
         [](csr_content& m) {
             m = {{0, 3}, {0}, {}, {}};
         },
         {}},
        {"no columns",
         [](csr_content& m) {
             m = {{2, 0}, {0, 0, 0}, {}, {}};
         },
         {}},
        {"no values",
         [](csr_content& m) {
             m = {{2, 3}, {0, 0, 0}, {}, {}};
         },
         {}},
        {"H6: columns in any order and more than once",
         [](csr_content& m) {
             m = {{2, 3}, {0, 3, 4}, {2, 0, 2, 1}, {1, 2, 3, 4}};
         },
         {}},
        {"the last column",
         [](csr_content& m) {
             m.indices = {2, 2};
         },
         {}},
        {"as many columns as there can be",
         [](csr_content& m) {
             m = {{1, largest}, {0, 1}, {largest - 1}, {1}};
         },
         {}},
    };
    check_numbers(right, {csr_of<float>(), csr_of<std::byte>()});
    const std::vector<broken<coo_content>> right_coo = {
        {"two values", [](coo_content&) {}, {}},
        {"no values",
         [](coo_content& t) {
             t = {{2, 3}, {}, {}};
         },
         {}},
        {"no places",
         [](coo_content& t) {
             t = {{0, 3}, {}, {}};
         },
         {}},
        {"one dimension",
         [](coo_content& t) {
             t = {{4}, {3, 3, 0}, {1, 2, 3}};
         },
         {}},
        {"three dimensions",
         [](coo_content& t) {
             t = {{2, 1, 2}, {1, 0, 1}, {1}};
         },
         {}},
        {"H11: the same place twice",
         [](coo_content& t) {
             t.coords = {1, 1, 2, 2};
         },
         {}},
        {"the last place there can be",
         [](coo_content& t) {
             t = {{1, largest}, {0, largest - 1}, {1}};
         },
         {}},
    };
    check_numbers(right_coo, {coo_of<float>(), coo_of<std::byte>()});
}

TEST_CASE("the same matrix is read from every generation and in every spelling") {
    const temp_dir directory;
    const csr_content content;
    const coo_content coo_of_same;
    for (const holding& how : holdings) {
        for (const opening& opened : open_every_way(file_of(how, content), directory)) {
            CAPTURE(how.what, opened.way);
            const reader& from = opened.file.value();
            CHECK(from.version() == how.from);
            const object_view object = from.find("w").value();
            CHECK(object.format().text() == "sparse_csr");
            const auto view = csr_view<float>::from(object).value();
            CHECK(view.to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7});
            // The indices of a file are read: somebody may write to it.
            const bool is_in_place =
                !opened.is_path && opened.is_mapped && !how.is_zstd && how.how != layout::inline_arrays;
            CHECK(view.is_borrowed() == (is_in_place && host_is_little_endian()));
            CHECK(csr_view<float>::from_rows(object, 1, 2).value().to_dense().value() == std::vector<float>{0, 0, 7});
        }
        for (const opening& opened : open_every_way(file_of(how, coo_of_same), directory)) {
            CAPTURE(how.what, opened.way);
            const object_view object = opened.file.value().find("w").value();
            CHECK(object.format().text() == "sparse_coo");
            const auto view = coo_view<float>::from(object).value();
            CHECK(view.to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7});
            const bool is_in_place = !opened.is_path && opened.is_mapped && !how.is_zstd && how.how == layout::parts;
            CHECK(view.is_borrowed() == (is_in_place && host_is_little_endian()));
        }
    }
}

TEST_CASE("H4: row pointers that do not start at 0, or fall, are refused") {
    check_numbers(
        {
            {"they start at 1",
             [](csr_content& m) {
                 m.indptr = {1, 1, 2};
             },
             errc::sparse_indptr},
            {"they start at the end",
             [](csr_content& m) {
                 m.indptr = {2, 2, 2};
             },
             errc::sparse_indptr},
            {"they fall",
             [](csr_content& m) {
                 m = {{3, 3}, {0, 2, 1, 2}, {0, 2}, {5, 7}};
             },
             errc::sparse_indptr},
            {"they rise beyond the end",
             [](csr_content& m) {
                 m.indptr = {0, 3, 2};
             },
             errc::sparse_indptr},
            {"they rise to the largest number",
             [](csr_content& m) {
                 m.indptr = {0, largest, 2};
             },
             errc::sparse_indptr},
            {"they start at the largest number",
             [](csr_content& m) {
                 m.indptr = {largest, 0, 2};
             },
             errc::sparse_indptr},
        },
        {csr_of<float>(), csr_of<std::byte>()});
}

TEST_CASE("H4: row pointers that do not end at the number of values are refused") {
    const temp_dir directory;
    for (const broken<csr_content>& each : wrong_ends) {
        const csr_content content = each.content();
        for (const holding& how : holdings) {
            if (how.how == layout::inline_arrays || (how.how == layout::parts && how.states_sizes())) {
                CAPTURE(each.rule, how.what);
                check_outcome(file_of(how, content), csr_of<float>(), {true, each.refusal, {}}, directory);
            }
        }
    }
}

TEST_CASE("H4: row pointers that do not end at the number of values are refused in the one blob of 0.1") {
    const temp_dir directory;
    for (const broken<csr_content>& each : wrong_ends) {
        const csr_content content = each.content();
        for (const holding& how : holdings) {
            if (how.is_one_blob()) {
                CAPTURE(each.rule, how.what);
                check_outcome(file_of(how, content), csr_of<float>(), {true, each.refusal, {}}, directory);
            }
        }
    }
}

TEST_CASE("H3, H4, H7: parts whose sizes stand nowhere are decoded to what the row pointers say, and to nothing else") {
    const std::vector<broken<csr_content>> rows = {
        {"H3: one pointer less than rows + 1",
         [](csr_content& m) {
             m.dimensions = {3, 3};
         },
         errc::decode_size},
        {"H3: one pointer more",
         [](csr_content& m) {
             m.dimensions = {1, 3};
         },
         errc::decode_size},
        {"H4: pointers that end before the last value",
         [](csr_content& m) {
             m.indptr = {0, 1, 1};
         },
         errc::decode_size},
        {"H4: pointers that end behind the last value",
         [](csr_content& m) {
             m.indptr = {0, 1, 3};
         },
         errc::decode_size},
        {"H4: pointers that end where no blob of this size can",
         [](csr_content& m) {
             m.indptr = {0, 1, 10'000'000};
         },
         errc::sparse_indptr},
        {"H4: pointers that end at 2^63",
         [](csr_content& m) {
             m.indptr = {0, 1, std::uint64_t{1} << 63};
         },
         errc::sparse_indptr},
        {"H4: pointers that end at the largest number",
         [](csr_content& m) {
             m.indptr = {0, 1, largest};
         },
         errc::sparse_indptr},
        {"H7: more values than indices",
         [](csr_content& m) {
             m.values = {5, 6, 7};
         },
         errc::decode_size},
        {"H7: fewer values than indices", [](csr_content& m) { m.values = {5}; }, errc::decode_size},
        {"H7: fewer indices than values", [](csr_content& m) { m.indices = {0}; }, errc::decode_size},
    };
    const temp_dir directory;
    for (const broken<csr_content>& each : rows) {
        const csr_content content = each.content();
        for (const holding& how : holdings) {
            if (how.how == layout::parts && !how.states_sizes()) {
                CAPTURE(each.rule, how.what);
                check_outcome(file_of(how, content), csr_of<float>(), {true, each.refusal, {}}, directory);
            }
        }
    }
}

TEST_CASE("H3: a zstd blob that can't decode to so many row pointers is refused when the file is opened") {
    const temp_dir directory;
    for (const holding& how : holdings) {
        if (how.how == layout::parts && !how.states_sizes()) {
            CAPTURE(how.what);
            csr_content content;
            content.dimensions = {std::uint64_t{1} << 40, 3};
            check_outcome(file_of(how, content), csr_of<float>(), {false, errc::decode_limit, {}}, directory);
        }
    }
}

TEST_CASE("H5: a column that is not below the number of columns is refused") {
    check_numbers(
        {
            {"the number of columns",
             [](csr_content& m) {
                 m.indices = {0, 3};
             },
             errc::sparse_index},
            {"in the first row",
             [](csr_content& m) {
                 m.indices = {3, 0};
             },
             errc::sparse_index},
            {"the largest number",
             [](csr_content& m) {
                 m.indices = {largest, 0};
             },
             errc::sparse_index},
            {"any, where there are no columns",
             [](csr_content& m) {
                 m.dimensions = {2, 0};
             },
             errc::sparse_index},
            {"the largest number, of as many columns as there can be",
             [](csr_content& m) {
                 m = {{1, largest}, {0, 1}, {largest}, {1}};
             },
             errc::sparse_index},
        },
        {csr_of<float>(), csr_of<std::byte>()});
}

TEST_CASE("H11: a coordinate that is not below its dimension is refused") {
    check_numbers(
        {
            {"of dimension 0",
             [](coo_content& t) {
                 t.coords = {0, 2, 0, 2};
             },
             errc::sparse_index},
            {"of dimension 1",
             [](coo_content& t) {
                 t.coords = {0, 1, 3, 2};
             },
             errc::sparse_index},
            {"of the last entry",
             [](coo_content& t) {
                 t.coords = {0, 1, 0, 3};
             },
             errc::sparse_index},
            {"the largest number",
             [](coo_content& t) {
                 t.coords = {0, largest, 0, 0};
             },
             errc::sparse_index},
            {"the largest number, of as large a dimension as there can be",
             [](coo_content& t) {
                 t = {{1, largest}, {0, largest}, {1}};
             },
             errc::sparse_index},
            {"any, where there is no place",
             [](coo_content& t) {
                 t.dimensions = {2, 0};
             },
             errc::sparse_index},
        },
        {coo_of<float>(), coo_of<std::byte>(), coo_of<float, std::int64_t>()});
}

TEST_CASE("rows can't be cut out where their pointers or columns are wrong") {
    check_numbers(
        {
            {"pointers that fall",
             [](csr_content& m) {
                 m = {{3, 3}, {0, 2, 1, 2}, {0, 2}, {5, 7}};
             },
             errc::sparse_indptr},
        },
        {rows_of(0, 2), rows_of(1, 2), rows_of(0, 3)});
    check_numbers(
        {
            {"a column outside",
             [](csr_content& m) {
                 m.indices = {0, 3};
             },
             errc::sparse_index},
        },
        {rows_of(0, 2), rows_of(1, 2)});
    check_numbers(
        {
            {"a column outside, in another row",
             [](csr_content& m) {
                 m.indices = {0, 2};
             },
             {}},
        },
        {rows_of(0, 1), rows_of(0, 0), rows_of(2, 2)});
    const temp_dir directory;
    csr_content far_away;
    far_away.indptr = {0, largest, 2};
    for (const holding& how : holdings) {
        CAPTURE(how.what);
        check_outcome(file_of(how, far_away), rows_of(0, 1), {true, errc::sparse_indptr, {}}, directory);
        check_outcome(file_of(how, far_away), rows_of(1, 2), {true, errc::sparse_indptr, {}}, directory);
    }
}

TEST_CASE("H4: all rows together are refused for the same pointers as the whole matrix") {
    const temp_dir directory;
    std::vector<broken<csr_content>> rows = {
        {"they start at 1",
         [](csr_content& m) {
             m.indptr = {1, 1, 2};
         },
         errc::sparse_indptr},
        {"they start at the end",
         [](csr_content& m) {
             m.indptr = {2, 2, 2};
         },
         errc::sparse_indptr},
    };
    rows.insert(rows.end(), wrong_ends.begin(), wrong_ends.end());
    for (const broken<csr_content>& each : rows) {
        const csr_content content = each.content();
        const holding& how = raw_parts_of_1_2;
        CAPTURE(each.rule);
        check_outcome(file_of(how, content), rows_of(0, 2), {true, each.refusal, {}}, directory);
    }
}

TEST_CASE("H1, H3, H7: parts that can't belong together are refused when the file is opened, where sizes are known") {
    const std::vector<broken<csr_content>> rows = {
        {"H1: one dimension", [](csr_content& m) { m.dimensions = {2}; }, errc::sparse_shape},
        {"H1: three dimensions",
         [](csr_content& m) {
             m.dimensions = {2, 3, 1};
         },
         errc::sparse_shape},
        {"H1: no dimension", [](csr_content& m) { m.dimensions = {}; }, errc::sparse_shape},
        {"H2: 2^64 - 1 rows",
         [](csr_content& m) {
             m.dimensions = {largest, 1};
         },
         errc::shape_overflow},
        {"H3: one pointer less than rows + 1",
         [](csr_content& m) {
             m.dimensions = {3, 3};
         },
         errc::sparse_size},
        {"H3: one pointer more",
         [](csr_content& m) {
             m.dimensions = {1, 3};
         },
         errc::sparse_size},
        {"H3: no pointer", [](csr_content& m) { m.indptr = {}; }, errc::sparse_size},
        {"H7: more values than indices",
         [](csr_content& m) {
             m.values = {5, 6, 7};
         },
         errc::sparse_size},
        {"H7: fewer values than indices", [](csr_content& m) { m.values = {}; }, errc::sparse_size},
    };
    const temp_dir directory;
    for (const broken<csr_content>& each : rows) {
        const csr_content content = each.content();
        for (const holding& how : holdings) {
            const bool is_about_sizes = each.refusal == errc::sparse_size;
            if (how.how == layout::parts && (how.states_sizes() || !is_about_sizes)) {
                CAPTURE(each.rule, how.what);
                check_outcome(file_of(how, content), csr_of<float>(), {false, each.refusal, {}}, directory);
            }
        }
    }
}

TEST_CASE("H10, H12: coordinates that can't belong to the values are refused, when the file is opened or decoded") {
    const std::vector<broken<coo_content>> rows = {
        {"H12: no dimension", [](coo_content& t) { t.dimensions = {}; }, errc::sparse_shape},
        {"one coordinate less", [](coo_content& t) { t.coords.pop_back(); }, errc::sparse_size},
        {"one coordinate more", [](coo_content& t) { t.coords.push_back(0); }, errc::sparse_size},
        {"one dimension more",
         [](coo_content& t) {
             t.dimensions = {2, 3, 1};
         },
         errc::sparse_size},
        {"no values", [](coo_content& t) { t.values = {}; }, errc::sparse_size},
    };
    const temp_dir directory;
    for (const broken<coo_content>& each : rows) {
        const coo_content content = each.content();
        for (const holding& how : holdings) {
            if (how.how == layout::parts) {
                CAPTURE(each.rule, how.what);
                const bool is_known = how.states_sizes() || each.refusal == errc::sparse_shape;
                check_outcome(file_of(how, content), coo_of<float>(), {!is_known, each.refusal, {}}, directory);
            }
        }
    }
}

TEST_CASE("H2: row pointers of more than 2^64 bytes are refused when the file is opened") {
    for (const ztensor::version from : {version::v0_1, version::v1_0, version::v1_1, version::v1_2}) {
        for (const bool is_zstd : {false, true}) {
            const holding how = {"", from, from == version::v0_1 ? layout::one_blob : layout::parts, is_zstd};
            csr_content content;
            content.dimensions = {std::uint64_t{1} << 61, 1};
            CAPTURE(name(from), is_zstd);
            CHECK(refusal(support::open_bytes(file_of(how, content))) == errc::shape_overflow);
        }
    }
}

TEST_CASE("E10: sparse values that are no whole elements are refused when the file is opened") {
    const holding& how = raw_parts_of_1_2;
    sample complex;
    complex.blobs({bytes(12, 'v'), u64s({0})});
    complex.parts("sparse_coo", {3},
                  {{"values", "f32", 64, 12, {{"type", cbor::text("complex64")}}}, {"coords", "u64", 128, 8}});
    CHECK(refusal(support::open_bytes(complex.file())) == errc::size_mismatch);
    csr_content content;
    const holding& arrays = inline_arrays_of_0_1;
    const bytes odd = file_of_blob(arrays, "csr", content.dimensions, floats(content.values) + "x",
                                   {{"indptr", content.indptr}, {"indices", content.indices}});
    CHECK(refusal(support::open_bytes(odd)) == errc::size_mismatch);
    CHECK(refusal(support::open_bytes(file_of(how, content))).code == std::nullopt);
}
