// SPDX-License-Identifier: MIT
#include "index/sparse_model.hpp"

#include "support/catch.hpp"

#include <functional>
#include <numeric>

namespace sparse {
namespace {

std::uint64_t product(const integers& dimensions) {
    return std::accumulate(dimensions.begin(), dimensions.end(), std::uint64_t{1}, std::multiplies<>());
}

number number_of(int value, const element_type& type) {
    return {static_cast<double>(value), type.is_complex ? -2.0 * value : 0.0};
}

int random_value(const element_type& type, random_source& random) {
    const int magnitude = 1 + static_cast<int>(below(random, 5));
    return !type.is_unsigned && below(random, 3) == 0 ? -magnitude : magnitude;
}

} // namespace

std::uint64_t below(random_source& random, std::uint64_t limit) {
    return random() % limit;
}

ztensor::shape shape_of(const integers& dimensions) {
    return ztensor::shape(ztensor::span<const std::uint64_t>(dimensions));
}

ztensor::shape matrix::dimensions() const {
    return {rows, columns};
}

numbers matrix::dense() const {
    numbers out(static_cast<std::size_t>(rows * columns));
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::uint64_t at = indptr[row]; at < indptr[row + 1]; ++at) {
            const auto entry = static_cast<std::size_t>(at);
            out[static_cast<std::size_t>(row * columns + indices[entry])] += number_of(values[entry], *type);
        }
    }
    return out;
}

bool matrix::is_sorted() const {
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::uint64_t at = indptr[row] + 1; at < indptr[row + 1]; ++at) {
            if (indices[static_cast<std::size_t>(at - 1)] >= indices[static_cast<std::size_t>(at)]) {
                return false;
            }
        }
    }
    return true;
}

matrix matrix::part(std::size_t first, std::size_t last) const {
    matrix out;
    out.type = type;
    out.rows = last - first;
    out.columns = columns;
    for (std::size_t row = first; row < last; ++row) {
        for (auto entry = static_cast<std::size_t>(indptr[row]); entry < indptr[row + 1]; ++entry) {
            out.values.push_back(values[entry]);
            out.indices.push_back(indices[entry]);
        }
        out.indptr.push_back(out.values.size());
    }
    return out;
}

matrix random_matrix(const element_type& type, random_source& random, std::uint64_t rows, std::uint64_t columns) {
    matrix out;
    out.type = &type;
    out.rows = rows;
    out.columns = columns;
    for (std::uint64_t row = 0; row < rows; ++row) {
        const std::uint64_t count = columns == 0 || below(random, 3) == 0 ? 0 : below(random, 7);
        for (std::uint64_t i = 0; i < count; ++i) {
            out.values.push_back(random_value(type, random));
            out.indices.push_back(below(random, columns));
        }
        out.indptr.push_back(out.values.size());
    }
    return out;
}

std::uint64_t tensor::coordinate(std::size_t axis, std::size_t entry) const {
    return coords[axis * values.size() + entry];
}

std::size_t tensor::position(std::size_t entry) const {
    std::uint64_t stride = 1;
    std::uint64_t sum = 0;
    for (std::size_t axis = dimensions.size(); axis-- > 0; stride *= dimensions[axis]) {
        sum += stride * coordinate(axis, entry);
    }
    return static_cast<std::size_t>(sum);
}

numbers tensor::dense() const {
    numbers out(static_cast<std::size_t>(product(dimensions)));
    for (std::size_t entry = 0; entry < values.size(); ++entry) {
        out[position(entry)] += number_of(values[entry], *type);
    }
    return out;
}

matrix tensor::by_rows() const {
    matrix out;
    out.type = type;
    out.rows = dimensions[0];
    out.columns = dimensions[1];
    for (std::uint64_t row = 0; row < out.rows; ++row) {
        for (std::size_t entry = 0; entry < values.size(); ++entry) {
            if (coordinate(0, entry) == row) {
                out.values.push_back(values[entry]);
                out.indices.push_back(coordinate(1, entry));
            }
        }
        out.indptr.push_back(out.values.size());
    }
    return out;
}

tensor random_tensor(const element_type& type, random_source& random, const integers& dimensions) {
    tensor out;
    out.type = &type;
    out.dimensions = dimensions;
    const std::uint64_t entries = product(dimensions) == 0 ? 0 : below(random, 20);
    for (std::uint64_t entry = 0; entry < entries; ++entry) {
        out.values.push_back(random_value(type, random));
    }
    for (const std::uint64_t dimension : dimensions) {
        for (std::uint64_t entry = 0; entry < entries; ++entry) {
            out.coords.push_back(below(random, dimension));
        }
    }
    return out;
}

tensor by_coordinates(const matrix& from) {
    tensor out;
    out.type = from.type;
    out.dimensions = {from.rows, from.columns};
    out.values = from.values;
    for (std::size_t row = 0; row < from.rows; ++row) {
        out.coords.insert(out.coords.end(), static_cast<std::size_t>(from.indptr[row + 1] - from.indptr[row]), row);
    }
    out.coords.insert(out.coords.end(), from.indices.begin(), from.indices.end());
    return out;
}

void check_parts(const csr_parts& found, const matrix& expected) {
    CHECK(found.shape == expected.dimensions());
    CHECK(found.rows == expected.rows);
    CHECK(found.columns == expected.columns);
    CHECK(found.entry_count == expected.values.size());
    CHECK(found.indptr == expected.indptr);
    CHECK(found.indices == expected.indices);
    CHECK(found.values == expected.type->stored(expected.values));
}

void check_facts(const csr_facts& found, const matrix& expected) {
    check_parts(found.parts, expected);
    CHECK(found.is_sorted == expected.is_sorted());
    REQUIRE(found.rows.size() == expected.rows);
    for (std::size_t row = 0; row < found.rows.size(); ++row) {
        const matrix alone = expected.part(row, row + 1);
        CHECK(found.rows[row].columns == alone.indices);
        CHECK(found.rows[row].values == alone.type->stored(alone.values));
    }
    REQUIRE(found.entries.size() == expected.values.size());
    for (std::size_t entry = 0; entry < found.entries.size(); ++entry) {
        const csr_entry& each = found.entries[entry];
        CHECK(expected.indptr[static_cast<std::size_t>(each.row)] <= entry);
        CHECK(expected.indptr[static_cast<std::size_t>(each.row) + 1] > entry);
        CHECK(each.column == expected.indices[entry]);
        CHECK(each.value == number_of(expected.values[entry], *expected.type));
    }
    CHECK(found.dense == expected.dense());
}

void check_facts(const coo_facts& found, const tensor& expected) {
    CHECK(found.shape == shape_of(expected.dimensions));
    CHECK(found.entry_count == expected.values.size());
    CHECK(found.coords == expected.coords);
    CHECK(found.values == expected.type->stored(expected.values));
    REQUIRE(found.coords_of_axes.size() == expected.dimensions.size());
    for (std::size_t axis = 0; axis < expected.dimensions.size(); ++axis) {
        REQUIRE(found.coords_of_axes[axis].size() == expected.values.size());
        for (std::size_t entry = 0; entry < expected.values.size(); ++entry) {
            CHECK(found.coords_of_axes[axis][entry] == expected.coordinate(axis, entry));
        }
    }
    REQUIRE(found.entries.size() == expected.values.size());
    for (std::size_t entry = 0; entry < found.entries.size(); ++entry) {
        CHECK(found.entries[entry].entry == entry);
        CHECK(found.entries[entry].position == expected.position(entry));
        CHECK(found.entries[entry].value == number_of(expected.values[entry], *expected.type));
    }
    CHECK(found.dense == expected.dense());
}

void check_no_matrix(const support::refusal& of) {
    CHECK(of == ztensor::errc::sparse_shape);
}

} // namespace sparse
