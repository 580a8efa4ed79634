// SPDX-License-Identifier: MIT
//
// Sparse objects: a view of rows (sparse_csr), one of coordinates (sparse_coo), and the way from one to the other.
// SPEC.md section 5.2 and section 5.3.
#ifndef ZTENSOR_SPARSE_HPP
#define ZTENSOR_SPARSE_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/format.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// The limit that to_dense() has unless told otherwise: 32 GiB.
inline constexpr std::uint64_t default_max_dense_bytes = std::uint64_t{1} << 35;

/// One stored value and where it belongs.
template <class T>
struct csr_entry {
    std::uint64_t row;
    std::uint64_t column;
    T value;
};

template <class T, class Index>
class coo_view;

/// A sparse matrix by rows. Borrows from the reader what lies in memory as it is needed, and shares ownership of the
/// rest; valid as long as the reader. T is the element type of the values (std::byte: their bytes as stored; bool: read
/// and checked, never borrowed); indices stored as another integer type than Index are converted.
template <class T, class Index = std::uint64_t>
class csr_view {
public:
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__, "values that are read lie in memory from new");
    static_assert(detail::is_integer_element_v<Index>, "an index type is an integer");

    /// Borrows values that lie in memory as they are needed, without verifying them, and reads the rest. Indices are
    /// borrowed only from memory that the caller lent (reader::from_bytes, a source that is mapped): those of a file
    /// are read, as they must stay what was checked, even if the file changes.
    /// Errors: unsupported_format (not sparse_csr), sparse_shape, sparse_size, sparse_dtype, sparse_indptr,
    /// sparse_index, needs_byteswap (0.1, big-endian); as component_view::read<T>().
    static result<csr_view> from(const object_view& object) {
        return of(detail::load_sparse(object, format::sparse_csr, detail::loading::borrows,
                                      detail::element_request_of<T>(), index_type));
    }

    /// Reads everything: always owned, decoded and verified, as component_view::read() does. Errors: as from().
    static result<csr_view> read(const object_view& object) {
        return of(detail::load_sparse(object, format::sparse_csr, detail::loading::reads,
                                      detail::element_request_of<T>(), index_type));
    }

    /// Rows [first, last) alone: of raw components only the bytes of those rows and of their pointers are read; what
    /// is compressed or kept in one blob (0.1) is decoded whole. Row `first` becomes row 0.
    /// Errors: out_of_bounds; as from().
    static result<csr_view> from_rows(const object_view& object, std::uint64_t first, std::uint64_t last) {
        return of(detail::load_csr_rows(object, first, last, detail::element_request_of<T>(), index_type));
    }

    // No moves: a view that was moved from would lend what it no longer owns.
    csr_view(const csr_view&) noexcept = default;
    csr_view& operator=(const csr_view&) noexcept = default;
    ~csr_view() = default;

    /// From parts in memory, which are borrowed. Errors: sparse_shape (not is_valid(), too), sparse_size,
    /// sparse_indptr, sparse_index.
    static result<csr_view> from_parts(const shape& dimensions, span<const T> values, span<const Index> indices,
                                       span<const Index> indptr) {
        csr_view borrowed({dimensions,
                           {detail::as_bytes(values), nullptr},
                           {detail::as_bytes(indices), nullptr},
                           {detail::as_bytes(indptr), nullptr},
                           sizeof(T)});
        result<void> valid = detail::check_sparse(borrowed.parts_, format::sparse_csr, values.size(), index_type);
        if (!valid) {
            return std::move(valid).error().by_caller();
        }
        return borrowed;
    }

    /// Parts that are about to die can't be borrowed: keep each in a variable.
    template <class Values, class Indices, class Indptr,
              std::enable_if_t<detail::is_dying_owner_v<Values&&> || detail::is_dying_owner_v<Indices&&> ||
                                   detail::is_dying_owner_v<Indptr&&>,
                               int> = 0>
    static result<csr_view> from_parts(const ztensor::shape& dimensions, Values&& values, Indices&& indices,
                                       Indptr&& indptr) = delete;

    [[nodiscard]] const ztensor::shape& shape() const& noexcept { return parts_.shape; }
    [[nodiscard]] ztensor::shape shape() const&& noexcept { return parts_.shape; }
    [[nodiscard]] std::uint64_t rows() const noexcept { return shape()[0]; }
    [[nodiscard]] std::uint64_t columns() const noexcept { return shape()[1]; }
    /// Stored values.
    [[nodiscard]] std::size_t entry_count() const noexcept { return indices().size(); }
    [[nodiscard]] span<const T> values() const& noexcept { return detail::as_checked_elements<T>(parts_.values.bytes); }
    /// The column of each value.
    [[nodiscard]] span<const Index> indices() const& noexcept {
        return detail::as_elements<Index>(parts_.indices.bytes);
    }
    /// rows() + 1 positions: the values of row r are those from indptr[r] up to indptr[r + 1].
    [[nodiscard]] span<const Index> indptr() const& noexcept { return detail::as_elements<Index>(parts_.indptr.bytes); }
    // Borrowing from a view that is about to die, and may own what it lends: keep it in a variable.
    span<const T> values() const&& = delete;
    span<const Index> indices() const&& = delete;
    span<const Index> indptr() const&& = delete;

    /// True if nothing had to be copied.
    [[nodiscard]] bool is_borrowed() const noexcept { return parts_.is_borrowed(); }
    /// True if the columns of every row rise, so that none stands twice. The format does not require it.
    [[nodiscard]] bool is_sorted() const noexcept {
        for (std::uint64_t row = 0; row < rows(); ++row) {
            const span<const Index> columns = this->row(row).columns;
            for (std::size_t i = 1; i < columns.size(); ++i) {
                if (columns[i - 1] >= columns[i]) {
                    return false;
                }
            }
        }
        return true;
    }

    struct row_view {
        span<const Index> columns;
        span<const T> values;
    };
    /// Row `row` < rows().
    [[nodiscard]] row_view row(std::uint64_t row) const& noexcept {
        const span<const Index> pointers = indptr();
        const auto begin = static_cast<std::size_t>(pointers[static_cast<std::size_t>(row)]);
        const auto count = static_cast<std::size_t>(pointers[static_cast<std::size_t>(row) + 1]) - begin;
        const std::size_t per_value = std::is_same_v<T, std::byte> ? parts_.value_bytes : 1;
        return {indices().subspan(begin, count), values().subspan(begin * per_value, count * per_value)};
    }

    row_view row(std::uint64_t row) const&& = delete;

    /// Calls `visit(csr_entry<T>)` for each value, row by row.
    template <class Visit>
    void for_each(Visit&& visit) const {
        static_assert(!std::is_same_v<T, std::byte>, "the bytes of values are no values");
        for (std::uint64_t row = 0; row < rows(); ++row) {
            const row_view entries = this->row(row);
            for (std::size_t i = 0; i < entries.columns.size(); ++i) {
                visit(csr_entry<T>{row, static_cast<std::uint64_t>(entries.columns[i]), entries.values[i]});
            }
        }
    }

    /// rows() x columns() elements, row-major, zero where there is no value; values at one place are summed (sums of
    /// integers wrap around).
    /// Errors: limit_exceeded beyond `max_bytes`, out_of_memory.
    result<std::vector<T>> to_dense(std::uint64_t max_bytes = default_max_dense_bytes) const {
        std::vector<detail::in_vector_t<T>> dense;
        ZTENSOR_TRY(detail::make_dense(shape(), sizeof(T), max_bytes, detail::memory_of(dense)));
        for_each([&](const csr_entry<T>& entry) {
            detail::accumulate<T>(dense[static_cast<std::size_t>(entry.row * columns() + entry.column)], entry.value);
        });
        return detail::as_result<T>(std::move(dense));
    }

    /// The same entries with a coordinate each; shares the values. Defined in sparse.hpp. Errors: out_of_memory.
    result<coo_view<T, std::uint64_t>> to_coo() const;

private:
    template <class, class>
    friend class coo_view;

    static constexpr dtype index_type = element_traits<Index>::storage;

    explicit csr_view(detail::sparse_parts parts) noexcept : parts_(std::move(parts)) {}

    static result<csr_view> of(result<detail::sparse_parts> parts) {
        ZTENSOR_TRY_ASSIGN(detail::sparse_parts whole, std::move(parts));
        return csr_view(std::move(whole));
    }

    detail::sparse_parts parts_;
};

/// A sparse tensor of any rank by coordinates. Borrows and shares as csr_view does.
template <class T, class Index = std::uint64_t>
class coo_view {
public:
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__, "values that are read lie in memory from new");
    static_assert(detail::is_integer_element_v<Index>, "an index type is an integer");

    /// Borrows values that lie in memory as they are needed, without verifying them, and reads the rest. Indices are
    /// borrowed only from memory that the caller lent (reader::from_bytes, a source that is mapped): those of a file
    /// are read, as they must stay what was checked, even if the file changes.
    /// Errors: unsupported_format (not sparse_coo), sparse_shape, sparse_size, sparse_dtype, sparse_index,
    /// needs_byteswap (0.1, big-endian); as component_view::read<T>().
    static result<coo_view> from(const object_view& object) {
        return of(detail::load_sparse(object, format::sparse_coo, detail::loading::borrows,
                                      detail::element_request_of<T>(), index_type));
    }

    /// Reads everything: always owned, decoded and verified, as component_view::read() does. Errors: as from().
    static result<coo_view> read(const object_view& object) {
        return of(detail::load_sparse(object, format::sparse_coo, detail::loading::reads,
                                      detail::element_request_of<T>(), index_type));
    }

    // No moves, as of csr_view.
    coo_view(const coo_view&) noexcept = default;
    coo_view& operator=(const coo_view&) noexcept = default;
    ~coo_view() = default;

    /// From parts in memory, which are borrowed: `coords` holds all coordinates of dimension 0, then of dimension 1,
    /// ... Errors: sparse_shape (not is_valid(), too), sparse_size, sparse_index.
    static result<coo_view> from_parts(const shape& dimensions, span<const T> values, span<const Index> coords) {
        coo_view borrowed(
            {dimensions, {detail::as_bytes(values), nullptr}, {detail::as_bytes(coords), nullptr}, {}, sizeof(T)});
        result<void> valid = detail::check_sparse(borrowed.parts_, format::sparse_coo, values.size(), index_type);
        if (!valid) {
            return std::move(valid).error().by_caller();
        }
        return borrowed;
    }

    /// Parts that are about to die can't be borrowed: keep each in a variable.
    template <class Values, class Coords,
              std::enable_if_t<detail::is_dying_owner_v<Values&&> || detail::is_dying_owner_v<Coords&&>, int> = 0>
    static result<coo_view> from_parts(const ztensor::shape& dimensions, Values&& values, Coords&& coords) = delete;

    [[nodiscard]] const ztensor::shape& shape() const& noexcept { return parts_.shape; }
    [[nodiscard]] ztensor::shape shape() const&& noexcept { return parts_.shape; }
    [[nodiscard]] std::size_t entry_count() const noexcept { return coords().size() / shape().rank(); }
    [[nodiscard]] span<const T> values() const& noexcept { return detail::as_checked_elements<T>(parts_.values.bytes); }
    /// All coordinates of dimension 0, then of dimension 1, ...
    [[nodiscard]] span<const Index> coords() const& noexcept {
        return detail::as_elements<Index>(parts_.indices.bytes);
    }
    /// The coordinates of every entry in dimension `axis` < rank.
    [[nodiscard]] span<const Index> coords(std::size_t axis) const& noexcept {
        return coords().subspan(axis * entry_count(), entry_count());
    }
    // Borrowing from a view that is about to die, and may own what it lends: keep it in a variable.
    span<const T> values() const&& = delete;
    span<const Index> coords() const&& = delete;
    span<const Index> coords(std::size_t axis) const&& = delete;

    /// True if nothing had to be copied.
    [[nodiscard]] bool is_borrowed() const noexcept { return parts_.is_borrowed(); }

    /// Where entry `entry` < entry_count() stands in the dense tensor, row-major.
    [[nodiscard]] std::uint64_t position(std::size_t entry) const noexcept {
        const std::size_t entries = entry_count();
        std::uint64_t position = 0;
        for (std::size_t axis = 0; axis < shape().rank(); ++axis) {
            position = position * shape()[axis] + static_cast<std::uint64_t>(coords()[axis * entries + entry]);
        }
        return position;
    }

    /// Calls `visit(entry, value)` for each value in the order of the file; coords(axis)[entry] says where it is.
    template <class Visit>
    void for_each(Visit&& visit) const {
        static_assert(!std::is_same_v<T, std::byte>, "the bytes of values are no values");
        const std::size_t entries = entry_count();
        for (std::size_t entry = 0; entry < entries; ++entry) {
            visit(entry, values()[entry]);
        }
    }

    /// All elements, row-major, zero where there is no value; values at one place are summed (sums of
    /// integers wrap around).
    /// Errors: limit_exceeded beyond `max_bytes`, out_of_memory.
    result<std::vector<T>> to_dense(std::uint64_t max_bytes = default_max_dense_bytes) const {
        std::vector<detail::in_vector_t<T>> dense;
        ZTENSOR_TRY(detail::make_dense(shape(), sizeof(T), max_bytes, detail::memory_of(dense)));
        for_each([&](std::size_t entry, const T& value) {
            detail::accumulate<T>(dense[static_cast<std::size_t>(position(entry))], value);
        });
        return detail::as_result<T>(std::move(dense));
    }

    /// A matrix by rows, entries of one row in the order they have here. Errors: sparse_shape (not of rank 2),
    /// limit_exceeded (more rows than memory for their pointers allows), out_of_memory.
    result<csr_view<T>> to_csr(std::uint64_t max_bytes = default_max_dense_bytes) const {
        return csr_view<T>::of(detail::coo_to_csr(parts_, index_type, max_bytes));
    }

private:
    template <class, class>
    friend class csr_view;

    static constexpr dtype index_type = element_traits<Index>::storage;

    explicit coo_view(detail::sparse_parts parts) noexcept : parts_(std::move(parts)) {}

    static result<coo_view> of(result<detail::sparse_parts> parts) {
        ZTENSOR_TRY_ASSIGN(detail::sparse_parts whole, std::move(parts));
        return coo_view(std::move(whole));
    }

    detail::sparse_parts parts_;
};

template <class T, class Index>
result<coo_view<T, std::uint64_t>> csr_view<T, Index>::to_coo() const {
    return coo_view<T, std::uint64_t>::of(detail::csr_to_coo(parts_, index_type));
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/read/sparse_definitions.hpp>
#endif

#endif
