// SPDX-License-Identifier: MIT
//
// A sparse tensor of any rank by coordinates (sparse_coo). Checked once, as csr_view is. SPEC.md section 5.3.
#ifndef ZTENSOR_COO_VIEW_HPP
#define ZTENSOR_COO_VIEW_HPP

#include <ztensor/csr_view.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

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
        result<void> made = detail::make_dense(shape(), sizeof(T), max_bytes, detail::memory_of(dense));
        if (!made) {
            return std::move(made).error();
        }
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
        if (!parts) {
            return std::move(parts).error();
        }
        return coo_view(*std::move(parts));
    }

    detail::sparse_parts parts_;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
