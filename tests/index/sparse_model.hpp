// SPDX-License-Identifier: MIT
//
// Sparse matrices and tensors as tests think of them, files of them, and all that a view of the library tells about
// one, to be compared with them. Templates here only take a view apart; what compares is compiled once.
#ifndef ZTENSOR_TESTS_LAYOUT_SPARSE_MODEL_HPP
#define ZTENSOR_TESTS_LAYOUT_SPARSE_MODEL_HPP

#include "support/bytes.hpp"
#include "support/elements.hpp"
#include "support/refusal.hpp"
#include "support/writing.hpp"

#include <ztensor/dtype.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

namespace sparse {

using support::as;
using support::as_in_file;
using support::bytes;
using support::integers;

// -- elements

/// The number that an element stands for.
using number = std::complex<double>;
using numbers = std::vector<number>;

/// Of each element type: one that stands for a small number, and the number that an element stands for.
template <class T>
struct element {
    static T of(int value) { return static_cast<T>(value); }
    static number number_of(T stored) { return static_cast<double>(stored); }
};
template <>
struct element<ztensor::bfloat16> {
    static ztensor::bfloat16 of(int value) { return ztensor::bfloat16(static_cast<float>(value)); }
    static number number_of(ztensor::bfloat16 stored) { return static_cast<double>(static_cast<float>(stored)); }
};
template <class Float>
struct element<std::complex<Float>> {
    static std::complex<Float> of(int value) { return {static_cast<Float>(value), static_cast<Float>(-2 * value)}; }
    static number number_of(std::complex<Float> stored) { return number(stored); }
};

template <class T>
std::vector<T> elements_of(const std::vector<int>& values) {
    std::vector<T> out;
    for (const int value : values) {
        out.push_back(element<T>::of(value));
    }
    return out;
}

template <class Elements>
numbers numbers_of(const Elements& elements) {
    numbers out;
    for (const auto& each : elements) {
        out.push_back(element<std::decay_t<decltype(each)>>::number_of(each));
    }
    return out;
}

/// What a matrix of small numbers is with elements of one type.
struct element_type {
    bytes (*stored)(const std::vector<int>&);
    bool is_unsigned;
    bool is_complex;
};

template <class T>
constexpr bool is_complex = false;
template <class Float>
constexpr bool is_complex<std::complex<Float>> = true;

template <class T>
constexpr element_type type_of = {[](const std::vector<int>& values) { return as_in_file(elements_of<T>(values)); },
                                  std::is_unsigned_v<T>, is_complex<T>};

// -- what is written, and what it amounts to

using random_source = std::mt19937_64;

std::uint64_t below(random_source& random, std::uint64_t limit);
ztensor::shape shape_of(const integers& dimensions);

struct matrix {
    const element_type* type = nullptr;
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
    std::vector<int> values;
    integers indices;
    integers indptr = {0};

    [[nodiscard]] ztensor::shape dimensions() const;
    [[nodiscard]] numbers dense() const;
    [[nodiscard]] bool is_sorted() const;
    /// Rows [first, last) as a matrix of their own.
    [[nodiscard]] matrix part(std::size_t first, std::size_t last) const;
};

/// Some rows are empty, columns stand in any order and more than once.
matrix random_matrix(const element_type& type, random_source& random, std::uint64_t rows, std::uint64_t columns);

struct tensor {
    const element_type* type = nullptr;
    integers dimensions;
    std::vector<int> values;
    integers coords; ///< all of dimension 0, then of dimension 1, …

    [[nodiscard]] std::uint64_t coordinate(std::size_t axis, std::size_t entry) const;
    [[nodiscard]] std::size_t position(std::size_t entry) const;
    [[nodiscard]] numbers dense() const;
    /// Of rank 2: the entries row after row, those of one row in the order that they have here.
    [[nodiscard]] matrix by_rows() const;
};

tensor random_tensor(const element_type& type, random_source& random, const integers& dimensions);
/// The same matrix by coordinates.
tensor by_coordinates(const matrix& from);

// -- files from the writer: the object "m" behind another one

template <class T, class Index>
bytes written(const matrix& from, ztensor::format_version version, const ztensor::store& how) {
    ztensor::writer to = support::to_memory(version);
    to.add("before", {3}, std::vector<std::uint8_t>{1, 2, 3}).value();
    to.add_csr("m", from.dimensions(), elements_of<T>(from.values), as<Index>(from.indices), as<Index>(from.indptr),
               how)
        .value();
    return support::finished(to);
}

template <class T, class Index>
bytes written(const tensor& from, ztensor::format_version version, const ztensor::store& how) {
    ztensor::writer to = support::to_memory(version);
    to.add("before", {3}, std::vector<std::uint8_t>{1, 2, 3}).value();
    to.add_coo("m", shape_of(from.dimensions), elements_of<T>(from.values), as<Index>(from.coords), how).value();
    return support::finished(to);
}

// -- what a view tells

struct csr_row {
    integers columns;
    bytes values;
};

struct csr_parts {
    ztensor::shape shape;
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
    std::size_t entry_count = 0;
    integers indptr;
    integers indices;
    bytes values;
};

struct csr_entry {
    std::uint64_t row = 0;
    std::uint64_t column = 0;
    number value;
};

struct csr_facts {
    csr_parts parts;
    bool is_sorted = false;
    std::vector<csr_row> rows;
    std::vector<csr_entry> entries; ///< as for_each gives them
    numbers dense;
};

struct coo_entry {
    std::size_t entry = 0;
    std::uint64_t position = 0;
    number value;
};

struct coo_facts {
    ztensor::shape shape;
    std::size_t entry_count = 0;
    integers coords;
    std::vector<integers> coords_of_axes;
    bytes values;
    std::vector<coo_entry> entries; ///< as for_each gives them
    numbers dense;
};

template <class T, class Index>
csr_parts parts_of(const ztensor::csr_view<T, Index>& view) {
    return {view.shape(),
            view.rows(),
            view.columns(),
            view.entry_count(),
            as<std::uint64_t>(view.indptr()),
            as<std::uint64_t>(view.indices()),
            as_in_file(view.values())};
}

template <class T, class Index>
csr_facts facts_of(const ztensor::csr_view<T, Index>& view) {
    csr_facts facts{parts_of(view), view.is_sorted(), {}, {}, numbers_of(view.to_dense().value())};
    for (std::uint64_t row = 0; row < view.rows(); ++row) {
        const auto of_row = view.row(row);
        facts.rows.push_back({as<std::uint64_t>(of_row.columns), as_in_file(of_row.values)});
    }
    view.for_each([&](const ztensor::csr_entry<T>& each) {
        facts.entries.push_back({each.row, each.column, element<T>::number_of(each.value)});
    });
    return facts;
}

template <class T, class Index>
coo_facts facts_of(const ztensor::coo_view<T, Index>& view) {
    coo_facts facts{view.shape(),
                    view.entry_count(),
                    as<std::uint64_t>(view.coords()),
                    {},
                    as_in_file(view.values()),
                    {},
                    numbers_of(view.to_dense().value())};
    for (std::size_t axis = 0; axis < view.shape().rank(); ++axis) {
        facts.coords_of_axes.push_back(as<std::uint64_t>(view.coords(axis)));
    }
    view.for_each([&](std::size_t entry, const T& value) {
        facts.entries.push_back({entry, view.position(entry), element<T>::number_of(value)});
    });
    return facts;
}

// -- comparing

void check_parts(const csr_parts& found, const matrix& expected);
void check_facts(const csr_facts& found, const matrix& expected);
void check_facts(const coo_facts& found, const tensor& expected);
void check_no_matrix(const support::refusal& of);

/// Everything that a view tells, whatever it was made from.
template <class T, class Index>
void check_csr(const ztensor::csr_view<T, Index>& view, const matrix& expected) {
    check_facts(facts_of(view), expected);
}

template <class T, class Index>
void check_coo(const ztensor::coo_view<T, Index>& view, const tensor& expected) {
    check_facts(facts_of(view), expected);
    if (expected.dimensions.size() == 2) {
        check_csr(view.to_csr().value(), expected.by_rows());
    } else {
        check_no_matrix(support::refusal(view.to_csr()));
    }
}

} // namespace sparse

#endif
