// SPDX-License-Identifier: MIT
//
// Sparse matrices and tensors that the writer wrote: what is read, in every version and by every path, is what a naive
// computation finds in them. SPEC.md §5.2, §5.3, §8.3.
#include "index/sparse_model.hpp"
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace {

using sparse::check_coo;
using sparse::check_csr;
using sparse::check_parts;
using sparse::matrix;
using sparse::parts_of;
using sparse::random_matrix;
using sparse::random_source;
using sparse::random_tensor;
using sparse::tensor;
using sparse::type_of;
using sparse::written;
using support::as;
using support::bytes;
using support::finished;
using support::host_is_little_endian;
using support::integers;
using support::little_endian;
using support::opening;
using support::refusal;
using support::sample;
using support::stored;
using support::temp_dir;
using support::to_memory;
using ztensor::bfloat16;
using ztensor::coo_view;
using ztensor::csr_view;
using ztensor::errc;
using ztensor::format_version;
using ztensor::object_view;
using ztensor::reader;
using ztensor::result;
using ztensor::store;
using ztensor::version;
using ztensor::writer;

// -- files from the writer

bytes copied(const bytes& file, format_version version) {
    writer to = to_memory(version);
    ztensor::copy(support::opened(file), to).value();
    return finished(to);
}

/// The same content as each version holds it. 0.1 has no logical types.
template <class Content>
using write_function = bytes (*)(const Content&, format_version, const store&);

template <class Content>
std::vector<bytes> in_every_version(const Content& from, write_function<Content> write, bool is_in_0_1, bool is_zstd) {
    const bytes in_1_1 = write(from, format_version::v1_1, stored(is_zstd));
    std::vector<bytes> files = {write(from, format_version::v1_2, stored(is_zstd)), in_1_1};
    if (is_in_0_1) {
        files.push_back(write(from, format_version::v0_1, stored(is_zstd)));
        CHECK((is_zstd || files.back() == copied(in_1_1, format_version::v0_1)));
        files.push_back(copied(in_1_1, format_version::v0_1));
    }
    return files;
}

// -- what is read of them

/// From one view to the other and back.
template <class T>
void check_conversions(const csr_view<T>& view, const matrix& expected) {
    const coo_view<T> coo = view.to_coo().value();
    check_coo(coo, by_coordinates(expected));
    check_csr(coo.to_csr().value(), expected);
}

using rows_function = result<sparse::csr_parts> (*)(const object_view&, std::uint64_t, std::uint64_t);

template <class T, class Index>
result<sparse::csr_parts> parts_of_rows(const object_view& object, std::uint64_t first, std::uint64_t last) {
    const auto view = csr_view<T, Index>::from_rows(object, first, last);
    return view ? result<sparse::csr_parts>(parts_of(*view)) : result<sparse::csr_parts>(view.error());
}

void check_rows_of(const object_view& object, const matrix& expected, rows_function read, rows_function read_narrow) {
    const auto rows = static_cast<std::size_t>(expected.rows);
    for (std::size_t first = 0; first <= rows; first += 1 + rows / 5) {
        for (std::size_t last = first; last <= expected.rows; ++last) {
            CAPTURE(first, last);
            check_parts(read(object, first, last).value(), expected.part(first, last));
            check_parts(read_narrow(object, first, last).value(), expected.part(first, last));
        }
    }
    CHECK(refusal(read(object, 0, expected.rows + 1)) == errc::out_of_bounds);
    CHECK(refusal(read(object, expected.rows + 1, expected.rows + 1)) == errc::out_of_bounds);
    CHECK(refusal(read(object, 1, 0)) == errc::out_of_bounds);
}

void check_borrowed(bool is_borrowed, bool is_in_place) {
    CHECK(is_borrowed == (is_in_place && host_is_little_endian()));
}

void check_raw(const csr_view<std::byte>& raw, const matrix& expected) {
    CHECK(as<std::uint64_t>(raw.indices()) == expected.indices);
    CHECK(support::as_string(raw.values()) == expected.type->stored(expected.values));
}

void check_raw(const coo_view<std::byte>& raw, const tensor& expected) {
    CHECK(as<std::uint64_t>(raw.coords()) == expected.coords);
    CHECK(support::as_string(raw.values()) == expected.type->stored(expected.values));
}

template <class T>
void check_csr_object(const object_view& object, const matrix& expected, bool is_in_place) {
    const csr_view<T> view = csr_view<T>::from(object).value();
    check_csr(view, expected);
    check_conversions(view, expected);
    check_borrowed(view.is_borrowed(), is_in_place);
    check_csr(csr_view<T, std::int32_t>::from(object).value(), expected);
    check_parts(parts_of(csr_view<T, std::uint8_t>::from(object).value()), expected);
    check_raw(csr_view<std::byte>::from(object).value(), expected);
    check_rows_of(object, expected, parts_of_rows<T, std::uint64_t>, parts_of_rows<T, std::int16_t>);
}

template <class T>
void check_coo_object(const object_view& object, const tensor& expected, bool is_in_place) {
    const coo_view<T> view = coo_view<T>::from(object).value();
    check_coo(view, expected);
    check_borrowed(view.is_borrowed(), is_in_place);
    check_coo(coo_view<T, std::int64_t>::from(object).value(), expected);
    check_coo(coo_view<T, std::uint8_t>::from(object).value(), expected);
    check_raw(coo_view<std::byte>::from(object).value(), expected);
}

template <class T>
constexpr bool is_in_0_1 = ztensor::element_traits<T>::type.empty();

const std::pair<std::uint64_t, std::uint64_t> matrix_sizes[] = {{0, 0}, {0, 5}, {5, 0},  {1, 1},  {1, 9},
                                                                {9, 1}, {7, 3}, {4, 11}, {16, 16}};
const integers tensor_sizes[] = {{1}, {9}, {0}, {3, 4}, {5, 0}, {16, 16}, {2, 3, 4}, {4, 1, 3, 2}, {1, 0, 2, 2}};

/// What the tests below do with objects whose elements are of one type.
struct csr_calls {
    write_function<matrix> write;
    void (*check)(const object_view&, const matrix&, bool is_in_place);
    bool (*is_narrowed_borrowed)(const object_view&); ///< a view with indices of another type than is stored
    bool is_in_0_1;
};

void check_matrices(const sparse::element_type& type, const csr_calls& calls) {
    random_source random(1);
    const temp_dir directory;
    for (const auto& [rows, columns] : matrix_sizes) {
        const matrix expected = random_matrix(type, random, rows, columns);
        for (const bool is_zstd : {false, true}) {
            for (const bytes& file : in_every_version(expected, calls.write, calls.is_in_0_1, is_zstd)) {
                for (const opening& opened : open_every_way(file, directory)) {
                    CAPTURE(rows, columns, is_zstd, opened.way);
                    const reader& from = opened.file.value();
                    CAPTURE(from.version().text());
                    calls.check(from.find("m").value(), expected, (!opened.is_path && opened.is_mapped) && !is_zstd);
                    CHECK_FALSE(calls.is_narrowed_borrowed(from.find("m").value()));
                }
            }
        }
    }
}

struct coo_calls {
    write_function<tensor> write;
    void (*check)(const object_view&, const tensor&, bool is_in_place);
    bool is_in_0_1;
};

void check_tensors(const sparse::element_type& type, const coo_calls& calls) {
    random_source random(2);
    const temp_dir directory;
    for (const integers& dimensions : tensor_sizes) {
        const tensor expected = random_tensor(type, random, dimensions);
        for (const bool is_zstd : {false, true}) {
            for (const bytes& file : in_every_version(expected, calls.write, calls.is_in_0_1, is_zstd)) {
                for (const opening& opened : open_every_way(file, directory)) {
                    CAPTURE(dimensions, is_zstd, opened.way);
                    const reader& from = opened.file.value();
                    CAPTURE(from.version().text());
                    const bool is_in_parts = from.version() != version::v0_1;
                    calls.check(from.find("m").value(), expected,
                                (!opened.is_path && opened.is_mapped) && !is_zstd && is_in_parts);
                }
            }
        }
    }
}

/// The same with indices of a type that only 1.1 has.
struct narrow_calls {
    write_function<matrix> write_csr;
    write_function<tensor> write_coo;
    bool (*check_csr)(const object_view&, const matrix&); ///< with indices as stored; whether they were borrowed
    void (*check_coo)(const object_view&, const tensor&);
};

void check_indices(const narrow_calls& calls) {
    random_source random(3);
    const matrix of_matrix = random_matrix(type_of<float>, random, 12, 17);
    const tensor of_tensor = random_tensor(type_of<float>, random, {4, 1, 5});
    const temp_dir directory;
    for (const bool is_zstd : {false, true}) {
        const bytes csr_file = calls.write_csr(of_matrix, format_version::v1_1, stored(is_zstd));
        for (const opening& opened : open_every_way(csr_file, directory)) {
            CAPTURE(is_zstd, opened.way);
            const reader& from = opened.file.value();
            const object_view object = from.find("m").value();
            check_csr_object<float>(object, of_matrix, false);
            // A type of one byte needs no order; the values need the host's.
            check_borrowed(calls.check_csr(object, of_matrix), (!opened.is_path && opened.is_mapped) && !is_zstd);
        }
        const bytes coo_file = calls.write_coo(of_tensor, format_version::v1_1, stored(is_zstd));
        for (const opening& opened : open_every_way(coo_file, directory)) {
            CAPTURE(is_zstd, opened.way);
            check_coo_object<float>(opened.file.value().find("m").value(), of_tensor, false);
            calls.check_coo(opened.file->find("m").value(), of_tensor);
        }
    }
}

} // namespace

TEMPLATE_TEST_CASE("a matrix by rows is read as it was written, in every version and by every path", "", std::uint8_t,
                   std::int16_t, float, double, bfloat16, std::complex<float>) {
    const auto is_narrowed_borrowed = [](const object_view& object) {
        return csr_view<TestType, std::int32_t>::from(object).value().is_borrowed();
    };
    check_matrices(type_of<TestType>, {written<TestType, std::uint64_t>, check_csr_object<TestType>,
                                       is_narrowed_borrowed, is_in_0_1<TestType>});
}

TEMPLATE_TEST_CASE("a tensor by coordinates is read as it was written, in every version and by every path", "",
                   std::uint8_t, std::int64_t, float, bfloat16, std::complex<double>) {
    check_tensors(type_of<TestType>,
                  {written<TestType, std::uint64_t>, check_coo_object<TestType>, is_in_0_1<TestType>});
}

TEMPLATE_TEST_CASE("indices of 1.1 may be of any integer type and are read as any other", "", std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t) {
    const auto check_own_csr = [](const object_view& object, const matrix& expected) {
        const auto own = csr_view<float, TestType>::from(object).value();
        check_csr(own, expected);
        return own.is_borrowed();
    };
    const auto check_own_coo = [](const object_view& object, const tensor& expected) {
        check_coo(coo_view<float, TestType>::from(object).value(), expected);
    };
    check_indices({written<float, TestType>, written<float, TestType>, check_own_csr, check_own_coo});
}

TEST_CASE("indices and row pointers of 1.1 may be of different types") {
    sample file(version::v1_1);
    file.stored_parts("sparse_csr", {2, 3},
                      {{"indices", "u16", little_endian<std::uint16_t>({2, 0})},
                       {"indptr", "i64", little_endian<std::int64_t>({0, 1, 2})},
                       {"values", "f32", little_endian<float>({5, 7})}},
                      false);
    const reader from = support::opened(file.file());
    CHECK(csr_view<float, std::uint32_t>::from(*from.find("w")).value().to_dense().value() ==
          std::vector<float>{0, 0, 5, 7, 0, 0});
}

TEST_CASE("values at one place are summed, and a value alone keeps its sign of zero") {
    const std::vector<float> values = {1, 2, -0.0F, 4};
    const integers indices = {1, 1, 0, 1};
    const integers indptr = {0, 4};
    const std::vector<float> dense =
        csr_view<float>::from_parts({1, 3}, values, indices, indptr).value().to_dense().value();
    CHECK(dense == std::vector<float>{0, 7, 0});
    CHECK(std::signbit(dense[0]));
    CHECK_FALSE(std::signbit(dense[2]));
}

TEST_CASE("rows are cut out of parts that are stored each in its own way") {
    random_source random(6);
    const matrix expected = random_matrix(type_of<float>, random, 6, 5);
    const std::vector<float> values = sparse::elements_of<float>(expected.values);
    for (const format_version version : {format_version::v1_1, format_version::v1_2}) {
        for (unsigned zstd_roles = 0; zstd_roles < 8; ++zstd_roles) {
            ztensor::object_draft draft(ztensor::format::sparse_csr, expected.dimensions());
            draft.component("values", values, stored((zstd_roles & 1) != 0));
            draft.component("indices", expected.indices, stored((zstd_roles & 2) != 0));
            draft.component("indptr", expected.indptr, stored((zstd_roles & 4) != 0));
            writer to = to_memory(version);
            to.add_object("m", draft).value();
            const reader from = support::opened(finished(to));
            CAPTURE(from.version().text(), zstd_roles);
            check_csr_object<float>(from.find("m").value(), expected, zstd_roles == 0);
        }
    }
}
