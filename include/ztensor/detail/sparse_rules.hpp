// SPDX-License-Identifier: MIT
//
// What the numbers in a sparse object must be to each other: each check once, linear, on plain spans. For reading and
// for writing. SPEC.md §5.2 and §5.3.
#ifndef ZTENSOR_DETAIL_SPARSE_RULES_HPP
#define ZTENSOR_DETAIL_SPARSE_RULES_HPP

#include <ztensor/detail/checked.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace ztensor {
inline namespace v0 {
namespace detail {

/// An index that is not negative, as it is compared.
template <class Index>
[[nodiscard]] constexpr std::uint64_t index_value(Index index) noexcept {
    return static_cast<std::uint64_t>(index);
}

template <class Index>
[[nodiscard]] constexpr bool is_negative(Index index) noexcept {
    if constexpr (std::is_signed_v<Index>) {
        return index < 0;
    }
    return false;
}

template <class Index>
[[nodiscard]] error index_outside(std::size_t position, Index index, const char* what, std::uint64_t limit) {
    return error(errc::sparse_index, std::string(what) + " " + std::to_string(index) + " of entry " +
                                         std::to_string(position) + " is not below " + std::to_string(limit));
}

[[nodiscard]] inline error wrong_count(std::uint64_t found, std::uint64_t expected, const char* what) {
    return error(errc::sparse_size, "there are " + std::to_string(found) + " " + what + ", but " +
                                        std::to_string(expected) + " belong to the object");
}

/// Errors: sparse_shape.
[[nodiscard]] inline result<void> check_csr_shape(const shape& dimensions) {
    if (dimensions.rank() == 2) {
        return {};
    }
    return error(errc::sparse_shape, "a sparse_csr object has 2 dimensions, not " + std::to_string(dimensions.rank()));
}

/// Errors: sparse_shape.
[[nodiscard]] inline result<void> check_coo_shape(const shape& dimensions) {
    if (!dimensions.empty()) {
        return {};
    }
    return error(errc::sparse_shape, "a sparse_coo object has at least one dimension");
}

/// Entries in the one blob in which 0.1 keeps a sparse tensor: csr has rows + 1 row pointers before them; each is one
/// u64 for every index and a value. Errors: sparse_size. SPEC.md §8.3.
[[nodiscard]] inline result<std::uint64_t> count_entries_0_1(format layout, const shape& dimensions,
                                                             std::uint64_t value_bytes, std::uint64_t blob_bytes) {
    constexpr std::uint64_t index_bytes = sizeof(std::uint64_t);
    const bool is_csr = layout == format::sparse_csr;
    if (is_csr && dimensions[0] >= blob_bytes / index_bytes) {
        return error(errc::sparse_size, "the blob decodes to " + std::to_string(blob_bytes) +
                                            " bytes, but the pointers of " + std::to_string(dimensions[0]) +
                                            " rows take more");
    }
    const std::uint64_t pointer_bytes = is_csr ? (dimensions[0] + 1) * index_bytes : 0;
    const std::uint64_t entry_bytes = (is_csr ? 1 : dimensions.rank()) * index_bytes + value_bytes;
    if ((blob_bytes - pointer_bytes) % entry_bytes != 0) {
        return error(errc::sparse_size, "the blob decodes to " + std::to_string(blob_bytes) +
                                            " bytes, which is no whole number of entries of " +
                                            std::to_string(entry_bytes) + " bytes" +
                                            (is_csr ? " behind the row pointers" : ""));
    }
    return (blob_bytes - pointer_bytes) / entry_bytes;
}

/// The row pointers of `rows` rows and `entries` entries. Errors: sparse_size, sparse_indptr.
template <class Index>
[[nodiscard]] result<void> check_indptr(span<const Index> indptr, std::uint64_t rows, std::uint64_t entries) {
    if (indptr.empty() || indptr.size() - 1 != rows) {
        return wrong_count(indptr.size(), checked_add(rows, 1).value_or(rows), "row pointers");
    }
    if (indptr[0] != 0) {
        return error(errc::sparse_indptr, "the first row pointer is " + std::to_string(indptr[0]) + ", not 0");
    }
    for (std::size_t row = 0; row + 1 < indptr.size(); ++row) {
        if (indptr[row] > indptr[row + 1]) { // so that none is negative: the first is 0
            return error(errc::sparse_indptr, "the pointers of row " + std::to_string(row) + " fall from " +
                                                  std::to_string(indptr[row]) + " to " +
                                                  std::to_string(indptr[row + 1]));
        }
    }
    if (index_value(indptr.back()) != entries) {
        return error(errc::sparse_indptr, "the last row pointer is " + std::to_string(indptr.back()) +
                                              ", but there are " + std::to_string(entries) + " entries");
    }
    return {};
}

/// Every index is below `limit`. Errors: sparse_index.
template <class Index>
[[nodiscard]] result<void> check_indices(span<const Index> indices, std::uint64_t limit, const char* what) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
        if (is_negative(indices[i]) || index_value(indices[i]) >= limit) {
            return index_outside(i, indices[i], what, limit);
        }
    }
    return {};
}

/// All of a CSR object. Errors: sparse_shape, sparse_size, sparse_indptr, sparse_index.
template <class Index>
[[nodiscard]] result<void> check_csr(const shape& dimensions, std::uint64_t values, span<const Index> indices,
                                     span<const Index> indptr) {
    result<void> valid = check_csr_shape(dimensions);
    if (valid && indices.size() != values) {
        valid = wrong_count(indices.size(), values, "column indices");
    }
    if (valid) {
        valid = check_indptr(indptr, dimensions[0], values);
    }
    return valid ? check_indices(indices, dimensions[1], "column") : valid;
}

/// All of a COO object; `coords` holds all coordinates of dimension 0, then of dimension 1, and so on.
/// Errors: sparse_shape, sparse_size, sparse_index, shape_overflow.
template <class Index>
[[nodiscard]] result<void> check_coo(const shape& dimensions, std::uint64_t values, span<const Index> coords) {
    if (result<void> valid = check_coo_shape(dimensions); !valid) {
        return valid;
    }
    const std::optional<std::uint64_t> expected = checked_multiply(values, dimensions.rank());
    if (!expected) {
        return error(errc::shape_overflow, "values × dimensions needs more than 64 bits");
    }
    if (coords.size() != *expected) {
        return wrong_count(coords.size(), *expected, "coordinates");
    }
    const auto entries = static_cast<std::size_t>(values);
    for (std::size_t axis = 0; axis < dimensions.rank(); ++axis) {
        const result<void> valid =
            check_indices(coords.subspan(axis * entries, entries), dimensions[axis], "coordinate");
        if (!valid) {
            return valid;
        }
    }
    return {};
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
