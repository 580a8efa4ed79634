// SPDX-License-Identifier: MIT
//
// What the numbers in a sparse object must be to each other: each check once, linear, on plain memory. For reading
// and for writing. SPEC.md section 5.2 and section 5.3.
#ifndef ZTENSOR_DETAIL_LAYOUT_SPARSE_RULES_HPP
#define ZTENSOR_DETAIL_LAYOUT_SPARSE_RULES_HPP

#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/layout/integers.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[nodiscard]] ZTENSOR_COLD inline error wrong_count(std::uint64_t found, std::uint64_t expected, const char* what) {
    return fail(errc::sparse_size, "there are {} {}, but {} belong to the object", {found, what, expected});
}

/// Errors: sparse_shape.
[[nodiscard]] inline result<void> check_csr_shape(const shape& dimensions) {
    if (dimensions.rank() == 2) {
        return {};
    }
    return fail(errc::sparse_shape, "a sparse_csr object has 2 dimensions, not {}", {dimensions.rank()});
}

/// Errors: sparse_shape.
[[nodiscard]] inline result<void> check_coo_shape(const shape& dimensions) {
    if (!dimensions.empty()) {
        return {};
    }
    return fail(errc::sparse_shape, "a sparse_coo object has at least one dimension");
}

/// Entries in the one blob in which 0.1 keeps a sparse tensor: csr has rows + 1 row pointers before them; each is one
/// u64 for every index and a value. Errors: sparse_size. SPEC.md section 8.3.
[[nodiscard]] ZTENSOR_COLD inline result<std::uint64_t>
count_entries_0_1(format layout, const shape& dimensions, std::uint64_t value_bytes, std::uint64_t blob_bytes) {
    constexpr std::uint64_t index_bytes = sizeof(std::uint64_t);
    const bool is_csr = layout == format::sparse_csr;
    if (is_csr && dimensions[0] >= blob_bytes / index_bytes) {
        return fail(errc::sparse_size, "the blob decodes to {} bytes, but the pointers of {} rows take more",
                    {blob_bytes, dimensions[0]});
    }
    const std::uint64_t pointer_bytes = is_csr ? (dimensions[0] + 1) * index_bytes : 0;
    const std::uint64_t entry_bytes = (is_csr ? 1 : dimensions.rank()) * index_bytes + value_bytes;
    if ((blob_bytes - pointer_bytes) % entry_bytes != 0) {
        return fail(errc::sparse_size,
                    "the blob decodes to {} bytes, which is no whole number of entries of {} bytes{}",
                    {blob_bytes, entry_bytes, is_csr ? " behind the row pointers" : ""});
    }
    return (blob_bytes - pointer_bytes) / entry_bytes;
}

/// The row pointers of `rows` rows and `entries` entries. Errors: sparse_size, sparse_indptr.
[[nodiscard]] inline result<void> check_indptr(const integers_view& indptr, std::uint64_t rows, std::uint64_t entries) {
    if (indptr.size() == 0 || indptr.size() - 1 != rows) {
        return wrong_count(indptr.size(), checked_add(rows, 1).value_or(rows), "row pointers");
    }
    if (const std::uint64_t first = indptr[0]; first != 0) {
        return fail(errc::sparse_indptr, "the first row pointer is {}, not 0", {indptr.text_of(first)});
    }
    const std::uint64_t sign =
        indptr.is_signed() ? std::uint64_t{1} << 63 : 0; // turned over, numbers compare as signed
    std::uint64_t last = 0;
    integer_block block;
    for (std::size_t done = 0; done < indptr.size(); done += block.count) {
        indptr.widen(done, block);
        for (std::size_t i = 0; i < block.count; ++i) {
            if ((last ^ sign) > (block.numbers[i] ^ sign)) { // so that none is negative: the first is 0
                return fail(errc::sparse_indptr, "the pointers of row {} fall from {} to {}",
                            {done + i - 1, indptr.text_of(last), indptr.text_of(block.numbers[i])});
            }
            last = block.numbers[i];
        }
    }
    if (last != entries) {
        return fail(errc::sparse_indptr, "the last row pointer is {}, but there are {} entries",
                    {indptr.text_of(last), entries});
    }
    return {};
}

/// Every index is below `limit`. Errors: sparse_index.
[[nodiscard]] inline result<void> check_indices(const integers_view& indices, std::uint64_t limit, const char* what) {
    const std::size_t outside = indices.find_outside(limit);
    if (outside == indices.size()) {
        return {};
    }
    return fail(errc::sparse_index, "{} {} of entry {} is not below {}",
                {what, indices.text_of(indices[outside]), outside, limit});
}

/// All of a CSR object, its indices and row pointers being of the integer type `index`, in host byte order.
/// Errors: sparse_shape, sparse_size, sparse_indptr, sparse_index.
[[nodiscard]] inline result<void> check_csr(const shape& dimensions, std::uint64_t values, bytes_view indices,
                                            bytes_view indptr, dtype index) {
    ZTENSOR_TRY(check_csr_shape(dimensions));
    const integers_view columns(indices, index);
    if (columns.size() != values) {
        return wrong_count(columns.size(), values, "column indices");
    }
    ZTENSOR_TRY(check_indptr({indptr, index}, dimensions[0], values));
    return check_indices(columns, dimensions[1], "column");
}

/// For strict reading and version 2: the columns of every row rise, in parts that were checked. Errors: `code`.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_rising_columns(bytes_view indices, bytes_view indptr, dtype index,
                                                                    errc code = errc::strict_order) {
    const integers_view columns(indices, index);
    const integers_view pointers(indptr, index);
    for (std::size_t row = 0; row + 1 < pointers.size(); ++row) {
        for (std::uint64_t entry = pointers[row] + 1; entry < pointers[row + 1]; ++entry) {
            const auto at = static_cast<std::size_t>(entry);
            if (columns[at - 1] >= columns[at]) {
                return fail(code, "the columns of row {} do not rise at entry {}", {row, entry});
            }
        }
    }
    return {};
}

/// The same of coordinates: entries stand in row-major order, none twice. Errors: strict_order.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_rising_coords(const shape& dimensions, bytes_view coords,
                                                                   dtype index) {
    const integers_view coordinates(coords, index);
    const std::size_t entries = coordinates.size() / dimensions.rank();
    for (std::size_t entry = 1; entry < entries; ++entry) {
        bool rises = false;
        bool falls = false;
        for (std::size_t axis = 0; axis < dimensions.rank() && !rises && !falls; ++axis) {
            const std::uint64_t before = coordinates[axis * entries + entry - 1];
            const std::uint64_t here = coordinates[axis * entries + entry];
            rises = before < here;
            falls = before > here;
        }
        if (!rises) {
            return fail(errc::strict_order, "entry {} does not stand behind the one before it", {entry});
        }
    }
    return {};
}

/// Of version 2: no cell is named twice, in coordinates that were checked, so that cells can be counted in 64 bits.
/// Errors: sparse_order. Throws std::bad_alloc.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_distinct_coords(const shape& dimensions, bytes_view coords,
                                                                     dtype index) {
    if (check_rising_coords(dimensions, coords, index)) {
        return {};
    }
    const integers_view coordinates(coords, index);
    const std::size_t entries = coordinates.size() / dimensions.rank();
    std::vector<std::uint64_t> cells(entries);
    for (std::size_t axis = 0; axis < dimensions.rank(); ++axis) {
        for (std::size_t entry = 0; entry < entries; ++entry) {
            cells[entry] = cells[entry] * dimensions[axis] + coordinates[axis * entries + entry];
        }
    }
    std::sort(cells.begin(), cells.end());
    if (std::adjacent_find(cells.begin(), cells.end()) == cells.end()) {
        return {};
    }
    return fail(errc::sparse_order, "two entries name the same cell");
}

/// All of a COO object; `coords` holds all coordinates of dimension 0, then of dimension 1, and so on, of the integer
/// type `index`, in host byte order. Errors: sparse_shape, sparse_size, sparse_index, shape_overflow.
[[nodiscard]] inline result<void> check_coo(const shape& dimensions, std::uint64_t values, bytes_view coords,
                                            dtype index) {
    ZTENSOR_TRY(check_coo_shape(dimensions));
    const std::optional<std::uint64_t> expected = checked_multiply(values, dimensions.rank());
    if (!expected) {
        return fail(errc::shape_overflow, "values times dimensions need more than 64 bits");
    }
    const integers_view coordinates(coords, index);
    if (coordinates.size() != *expected) {
        return wrong_count(coordinates.size(), *expected, "coordinates");
    }
    const auto entries = static_cast<std::size_t>(values);
    for (std::size_t axis = 0; axis < dimensions.rank(); ++axis) {
        const integers_view of_axis = coordinates.subview(axis * entries, entries);
        ZTENSOR_TRY(check_indices(of_axis, dimensions[axis], "coordinate"));
    }
    return {};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
