// SPDX-License-Identifier: MIT
//
// A sparse tensor of any rank by coordinates (sparse_coo). Checked once, as csr_view is. SPEC.md §5.3.
#ifndef ZTENSOR_COO_VIEW_HPP
#define ZTENSOR_COO_VIEW_HPP

#include <ztensor/csr_view.hpp>
#include <ztensor/detail/dense.hpp>
#include <ztensor/detail/sparse_parts.hpp>
#include <ztensor/detail/sparse_rules.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace v0 {

/// A sparse tensor of any rank by coordinates. Borrows and shares as csr_view does.
template <class T, class Index = std::uint64_t>
class coo_view {
public:
    static_assert(!std::is_same_v<T, bool>, "stored bools are bytes: use std::uint8_t");

    /// Borrows what lies in memory as it is needed, without verifying it; reads the rest.
    /// Errors: unsupported_format (not sparse_coo), sparse_shape, sparse_size, sparse_dtype, sparse_index,
    /// needs_byteswap (0.1, big-endian); as component_view::read<T>().
    [[nodiscard]] static result<coo_view> from(const object_view& object) {
        return load(object, detail::loading::borrows);
    }

    /// Reads everything: always owned, decoded and verified, as component_view::read() does. Errors: as from().
    [[nodiscard]] static result<coo_view> read(const object_view& object) {
        return load(object, detail::loading::reads);
    }

    /// From parts in memory, which are borrowed: `coords` holds all coordinates of dimension 0, then of dimension 1, …
    /// Errors: sparse_shape, sparse_size, sparse_index.
    [[nodiscard]] static result<coo_view> from_parts(const shape& dimensions, span<const T> values,
                                                     span<const Index> coords) {
        return checked(coo_view(dimensions, {values, nullptr}, {coords, nullptr}, 1));
    }

    [[nodiscard]] const ztensor::shape& shape() const noexcept { return shape_; }
    [[nodiscard]] std::size_t entry_count() const noexcept { return coords_.elements.size() / shape_.rank(); }
    [[nodiscard]] span<const T> values() const noexcept { return values_.elements; }
    /// All coordinates of dimension 0, then of dimension 1, …
    [[nodiscard]] span<const Index> coords() const noexcept { return coords_.elements; }
    /// The coordinates of every entry in dimension `axis` < rank.
    [[nodiscard]] span<const Index> coords(std::size_t axis) const noexcept {
        return coords().subspan(axis * entry_count(), entry_count());
    }
    /// True if nothing had to be copied.
    [[nodiscard]] bool is_borrowed() const noexcept { return !values_.owner && !coords_.owner; }

    /// Where entry `entry` < entry_count() stands in the dense tensor, row-major.
    [[nodiscard]] std::uint64_t position(std::size_t entry) const noexcept {
        std::uint64_t position = 0;
        for (std::size_t axis = 0; axis < shape_.rank(); ++axis) {
            position = position * shape_[axis] + static_cast<std::uint64_t>(coords(axis)[entry]);
        }
        return position;
    }

    /// Calls `visit(entry, value)` for each value in the order of the file; coords(axis)[entry] says where it is.
    template <class Visit>
    void for_each(Visit&& visit) const {
        static_assert(!std::is_same_v<T, std::byte>, "the bytes of values are no values");
        for (std::size_t entry = 0; entry < entry_count(); ++entry) {
            visit(entry, values()[entry]);
        }
    }

    /// All elements, row-major, zero where there is no value; values at one place are summed (sums of
    /// integers wrap around).
    /// Errors: limit_exceeded beyond `max_bytes`, out_of_memory.
    [[nodiscard]] result<std::vector<T>> to_dense(std::uint64_t max_bytes = default_max_dense_bytes) const {
        return detail::guard_memory([&] {
            return detail::make_dense<T>(shape_, max_bytes).transform([this](std::vector<T> dense) {
                for_each([&](std::size_t entry, const T& value) {
                    detail::accumulate(dense[static_cast<std::size_t>(position(entry))], value);
                });
                return dense;
            });
        });
    }

    /// A matrix by rows, entries of one row in the order they have here. Errors: sparse_shape (not of rank 2),
    /// limit_exceeded (more rows than memory for their pointers allows), out_of_memory.
    [[nodiscard]] result<csr_view<T>> to_csr(std::uint64_t max_bytes = default_max_dense_bytes) const {
        return detail::guard_memory([&] { return sorted_by_row(max_bytes); });
    }

private:
    template <class, class>
    friend class csr_view;
    using array = detail::shared_array<T>;
    using index_array = detail::shared_array<Index>;

    coo_view(const ztensor::shape& dimensions, array values, index_array coords, std::size_t value_elements)
        : shape_(dimensions), values_(std::move(values)), coords_(std::move(coords)), value_elements_(value_elements) {}

    [[nodiscard]] static result<coo_view> checked(coo_view view) {
        if (result<void> valid = detail::check_coo(view.shape_, view.values_.elements.size() / view.value_elements_,
                                                   view.coords());
            !valid) {
            return std::move(valid).error();
        }
        return view;
    }

    [[nodiscard]] static result<coo_view> load(const object_view& object, detail::loading how) {
        return detail::object_access::located(object,
                                              detail::guard_memory([&] { return load_unguarded(object, how); }));
    }

    [[nodiscard]] static result<coo_view> load_unguarded(const object_view& object, detail::loading how) {
        if (result<void> valid = detail::check_format(object, format::sparse_coo); !valid) {
            return std::move(valid).error();
        }
        const result<component_view> values = object.component("values");
        if (!values) {
            return load_0_1(object, how);
        }
        const result<array> elements = detail::load_elements<T>(*values, how);
        const result<index_array> coords = object.component("coords").and_then(
            [how](const component_view& part) { return detail::load_indices<Index>(part, how); });
        if (!elements || !coords) {
            return !elements ? elements.error() : coords.error();
        }
        return assembled(object, *values, *elements, *coords);
    }

    [[nodiscard]] static result<coo_view> assembled(const object_view& object, const component_view& component,
                                                    const array& values, const index_array& coords) {
        const std::size_t entries = coords.elements.size() / object.shape().rank();
        return detail::elements_per_value<T>(component, values.elements.size(), entries)
            .and_then(
                [&](std::size_t per_value) { return checked(coo_view(object.shape(), values, coords, per_value)); });
    }

    [[nodiscard]] static result<coo_view> load_0_1(const object_view& object, detail::loading how) {
        const result<component_view> blob = detail::blob_0_1<T>(object);
        if (!blob) {
            return blob.error();
        }
        if (detail::blob_record_0_1(object).holds_indices) {
            return load_one_blob(*blob, object.shape(), how);
        }
        const result<array> values = detail::load_elements<T>(*blob, how);
        const result<std::vector<Index>> coords =
            detail::narrow_indices<Index>(detail::load_index_array_0_1(object, "coords"));
        if (!values || !coords) {
            return !values ? values.error() : coords.error();
        }
        return assembled(object, *blob, *values, detail::own(*coords));
    }

    /// 0.1: entries of (one u64 for each dimension, one value).
    [[nodiscard]] static result<coo_view> load_one_blob(const component_view& component,
                                                        const ztensor::shape& dimensions, detail::loading how) {
        const result<detail::shared_array<std::byte>> blob = detail::load_elements<std::byte>(component, how);
        if (!blob) {
            return blob.error();
        }
        const std::size_t width = sizeof(std::uint64_t);
        const std::size_t value_bytes =
            sizeof(T) * *detail::elements_per_value<T>(component); // known: blob_0_1() looked
        const std::size_t entry_bytes = dimensions.rank() * width + value_bytes;
        const result<std::uint64_t> entries =
            detail::count_entries_0_1(format::sparse_coo, dimensions, value_bytes, blob->elements.size());
        if (!entries) {
            return entries.error();
        }
        const auto count = static_cast<std::size_t>(*entries);
        std::vector<std::uint64_t> coords(count * dimensions.rank());
        std::vector<T> values(count * (value_bytes / sizeof(T)));
        const span<std::byte> value_memory = detail::as_writable_bytes(span<T>(values));
        for (std::size_t entry = 0; entry < count; ++entry) {
            const bytes_view from = blob->elements.subspan(entry * entry_bytes, entry_bytes);
            for (std::size_t axis = 0; axis < dimensions.rank(); ++axis) {
                coords[axis * count + entry] = detail::load_little(from.data() + axis * width, width);
            }
            const bytes_view value = from.last(value_bytes);
            std::copy(value.begin(), value.end(), value_memory.begin() + entry * value_bytes);
        }
        if (!detail::host_is_little_endian) {
            detail::swap_elements(value_memory, detail::swap_width<T>());
        }
        return detail::narrow_indices<Index>(std::move(coords)).and_then([&](std::vector<Index> converted) {
            return checked(coo_view(dimensions, detail::own(std::move(values)), detail::own(std::move(converted)),
                                    value_bytes / sizeof(T)));
        });
    }

    [[nodiscard]] result<csr_view<T>> sorted_by_row(std::uint64_t max_bytes) const {
        if (result<void> valid = detail::check_csr_shape(shape_); !valid) {
            return std::move(valid).error();
        }
        if (shape_[0] >= max_bytes / sizeof(std::uint64_t) ||
            !detail::fits_address_space((shape_[0] + 1) * sizeof(std::uint64_t))) {
            return error(errc::limit_exceeded, "the pointers of " + std::to_string(shape_[0]) +
                                                   " rows take more than " + std::to_string(max_bytes) + " bytes");
        }
        std::vector<std::uint64_t> indptr(static_cast<std::size_t>(shape_[0]) + 1);
        for (const Index row : coords(0)) {
            ++indptr[static_cast<std::size_t>(row) + 1];
        }
        for (std::size_t row = 1; row < indptr.size(); ++row) {
            indptr[row] += indptr[row - 1];
        }
        std::vector<std::uint64_t> next(indptr.begin(), indptr.end() - 1);
        std::vector<std::uint64_t> columns(entry_count());
        std::vector<T> sorted(entry_count());
        for_each([&](std::size_t entry, const T& value) {
            const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(coords(0)[entry])]++);
            columns[place] = static_cast<std::uint64_t>(coords(1)[entry]);
            sorted[place] = value;
        });
        return csr_view<T>(shape_, detail::own(std::move(sorted)), detail::own(std::move(columns)),
                           detail::own(std::move(indptr)), 1);
    }

    ztensor::shape shape_;
    array values_;
    index_array coords_;
    std::size_t value_elements_; ///< of values_ per value: 1, or for std::byte the bytes of one
};


} // namespace v0
} // namespace ztensor

#endif
