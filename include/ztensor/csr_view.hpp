// SPDX-License-Identifier: MIT
//
// A sparse matrix by rows (sparse_csr). Every rule is checked once, when a view is made; after that its numbers can be
// trusted. SPEC.md §5.2.
#ifndef ZTENSOR_CSR_VIEW_HPP
#define ZTENSOR_CSR_VIEW_HPP

#include <ztensor/detail/checked.hpp>
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
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace v0 {

/// One stored value and where it belongs.
template <class T>
struct csr_entry {
    std::uint64_t row;
    std::uint64_t column;
    T value;
};

template <class T, class Index>
class coo_view; // in coo_view.hpp

/// A sparse matrix by rows. Borrows from the reader what lies in memory as it is needed, and shares ownership of the
/// rest; valid as long as the reader. T is the element type of the values (std::byte: their bytes as stored); indices
/// stored as another integer type than Index are converted.
template <class T, class Index = std::uint64_t>
class csr_view {
public:
    static_assert(!std::is_same_v<T, bool>, "stored bools are bytes: use std::uint8_t");

    /// Borrows what lies in memory as it is needed, without verifying it; reads the rest.
    /// Errors: unsupported_format (not sparse_csr), sparse_shape, sparse_size, sparse_dtype, sparse_indptr,
    /// sparse_index, needs_byteswap (0.1, big-endian); as component_view::read<T>().
    [[nodiscard]] static result<csr_view> from(const object_view& object) {
        return load(object, detail::loading::borrows);
    }

    /// Reads everything: always owned, decoded and verified, as component_view::read() does. Errors: as from().
    [[nodiscard]] static result<csr_view> read(const object_view& object) {
        return load(object, detail::loading::reads);
    }

    /// Rows [first, last) alone: of raw components only the bytes of those rows and of their pointers are read; what
    /// is compressed or kept in one blob (0.1) is decoded whole. Row `first` becomes row 0.
    /// Errors: out_of_bounds; as from().
    [[nodiscard]] static result<csr_view> from_rows(const object_view& object, std::uint64_t first,
                                                    std::uint64_t last) {
        return detail::object_access::located(object,
                                              detail::guard_memory([&] { return load_rows(object, first, last); }));
    }

    /// From parts in memory, which are borrowed. Errors: sparse_shape, sparse_size, sparse_indptr, sparse_index.
    [[nodiscard]] static result<csr_view> from_parts(const shape& dimensions, span<const T> values,
                                                     span<const Index> indices, span<const Index> indptr) {
        return checked(csr_view(dimensions, {values, nullptr}, {indices, nullptr}, {indptr, nullptr}, 1));
    }

    [[nodiscard]] const ztensor::shape& shape() const noexcept { return shape_; }
    [[nodiscard]] std::uint64_t rows() const noexcept { return shape_[0]; }
    [[nodiscard]] std::uint64_t columns() const noexcept { return shape_[1]; }
    /// Stored values.
    [[nodiscard]] std::size_t entry_count() const noexcept { return indices_.elements.size(); }
    [[nodiscard]] span<const T> values() const noexcept { return values_.elements; }
    /// The column of each value.
    [[nodiscard]] span<const Index> indices() const noexcept { return indices_.elements; }
    /// rows() + 1 positions: the values of row r are those from indptr[r] up to indptr[r + 1].
    [[nodiscard]] span<const Index> indptr() const noexcept { return indptr_.elements; }
    /// True if nothing had to be copied.
    [[nodiscard]] bool is_borrowed() const noexcept { return !values_.owner && !indices_.owner && !indptr_.owner; }
    /// True if the columns of every row rise, so that none stands twice. The format does not require it.
    [[nodiscard]] bool is_sorted() const noexcept {
        for (std::uint64_t row = 0; row < rows(); ++row) {
            const span<const Index> columns = this->row(row).columns;
            if (std::adjacent_find(columns.begin(), columns.end(), [](Index a, Index b) { return a >= b; }) !=
                columns.end()) {
                return false;
            }
        }
        return true;
    }

    struct row_view {
        span<const Index> columns;
        span<const T> values;
    };
    /// Row `row` < rows().
    [[nodiscard]] row_view row(std::uint64_t row) const noexcept {
        const auto begin = static_cast<std::size_t>(indptr()[static_cast<std::size_t>(row)]);
        const auto count = static_cast<std::size_t>(indptr()[static_cast<std::size_t>(row) + 1]) - begin;
        return {indices().subspan(begin, count), values().subspan(begin * value_elements_, count * value_elements_)};
    }

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

    /// rows() × columns() elements, row-major, zero where there is no value; values at one place are summed (sums of
    /// integers wrap around).
    /// Errors: limit_exceeded beyond `max_bytes`, out_of_memory.
    [[nodiscard]] result<std::vector<T>> to_dense(std::uint64_t max_bytes = default_max_dense_bytes) const {
        return detail::guard_memory([&] {
            return detail::make_dense<T>(shape_, max_bytes).transform([this](std::vector<T> dense) {
                for_each([&](const csr_entry<T>& entry) {
                    detail::accumulate(dense[static_cast<std::size_t>(entry.row * columns() + entry.column)],
                                       entry.value);
                });
                return dense;
            });
        });
    }

    /// The same entries with a coordinate each; shares the values. Defined in sparse.hpp. Errors: out_of_memory.
    [[nodiscard]] result<coo_view<T, std::uint64_t>> to_coo() const;

private:
    template <class, class>
    friend class coo_view;
    using array = detail::shared_array<T>;
    using index_array = detail::shared_array<Index>;

    csr_view(const ztensor::shape& dimensions, array values, index_array indices, index_array indptr,
             std::size_t value_elements)
        : shape_(dimensions), values_(std::move(values)), indices_(std::move(indices)), indptr_(std::move(indptr)),
          value_elements_(value_elements) {}

    [[nodiscard]] static result<csr_view> checked(csr_view view) {
        if (result<void> valid = detail::check_csr(view.shape_, view.values_.elements.size() / view.value_elements_,
                                                   view.indices(), view.indptr());
            !valid) {
            return std::move(valid).error();
        }
        return view;
    }

    [[nodiscard]] static result<csr_view> load(const object_view& object, detail::loading how) {
        return detail::object_access::located(object,
                                              detail::guard_memory([&] { return load_unguarded(object, how); }));
    }

    [[nodiscard]] static result<csr_view> load_unguarded(const object_view& object, detail::loading how) {
        const ztensor::shape dimensions = object.shape();
        if (result<void> valid = detail::check_format(object, format::sparse_csr); !valid) {
            return std::move(valid).error();
        }
        const result<component_view> values = object.component("values");
        return values ? load_components(object, dimensions, *values, how) : load_0_1(object, dimensions, how);
    }

    [[nodiscard]] static result<csr_view> load_components(const object_view& object, const ztensor::shape& dimensions,
                                                          const component_view& values, detail::loading how) {
        const auto load_index = [how](const component_view& part) { return detail::load_indices<Index>(part, how); };
        const auto load_values = [how](const component_view& part) { return detail::load_elements<T>(part, how); };
        const result<index_array> indptr =
            object.component("indptr").and_then(load_index).transform_error(detail::of_row_pointers);
        if (!indptr) {
            return indptr.error();
        }
        const std::uint64_t entries = indptr->elements.empty() ? 0 : detail::index_value(indptr->elements.back());
        const result<index_array> indices = detail::load_entries(object, "indices", entries, load_index);
        if (!indices) {
            return indices.error();
        }
        const result<array> elements = detail::load_entries(object, "values", entries, load_values);
        if (!elements) {
            return elements.error();
        }
        return detail::elements_per_value<T>(values, elements->elements.size(), indices->elements.size())
            .and_then([&](std::size_t per_value) {
                return checked(csr_view(dimensions, *elements, *indices, *indptr, per_value));
            });
    }

    [[nodiscard]] static result<csr_view> load_0_1(const object_view& object, const ztensor::shape& dimensions,
                                                   detail::loading how) {
        const result<component_view> blob = detail::blob_0_1<T>(object);
        if (!blob) {
            return blob.error();
        }
        if (detail::blob_record_0_1(object).holds_indices) {
            return load_one_blob(*blob, dimensions, how);
        }
        const result<array> values = detail::load_elements<T>(*blob, how);
        if (!values) {
            return values.error();
        }
        const result<std::vector<Index>> columns =
            detail::narrow_indices<Index>(detail::load_index_array_0_1(object, "indices"));
        const result<std::vector<Index>> pointers =
            detail::narrow_indices<Index>(detail::load_index_array_0_1(object, "indptr"))
                .transform_error(detail::of_row_pointers);
        if (!columns || !pointers) {
            return !columns ? columns.error() : pointers.error();
        }
        return detail::elements_per_value<T>(*blob, values->elements.size(), columns->size())
            .and_then([&](std::size_t per_value) {
                return checked(csr_view(dimensions, *values, detail::own(*columns), detail::own(*pointers), per_value));
            });
    }

    /// 0.1: indptr u64[rows + 1], indices u64[entries], then the values.
    [[nodiscard]] static result<csr_view> load_one_blob(const component_view& component,
                                                        const ztensor::shape& dimensions, detail::loading how) {
        const result<detail::shared_array<std::byte>> blob = detail::load_elements<std::byte>(component, how);
        if (!blob) {
            return blob.error();
        }
        const std::size_t width = sizeof(std::uint64_t);
        const std::size_t per_value = *detail::elements_per_value<T>(component); // known: blob_0_1() looked
        const result<std::uint64_t> entries =
            detail::count_entries_0_1(format::sparse_csr, dimensions, per_value * sizeof(T), blob->elements.size());
        if (!entries) {
            return entries.error();
        }
        const auto pointers = static_cast<std::size_t>(dimensions[0]) + 1;
        const auto count = static_cast<std::size_t>(*entries);
        const auto indptr = detail::elements_within<std::uint64_t>(*blob, 0, pointers, width);
        const auto indices = detail::elements_within<std::uint64_t>(*blob, pointers * width, count, width);
        const auto values = detail::elements_within<T>(*blob, (pointers + count) * width, count * per_value,
                                                       detail::swap_width<T>());
        const result<index_array> own_indptr = as_index(indptr);
        const result<index_array> own_indices = as_index(indices);
        if (!own_indptr || !own_indices) {
            return !own_indptr ? own_indptr.error() : own_indices.error();
        }
        return checked(csr_view(dimensions, values, *own_indices, *own_indptr, per_value));
    }

    [[nodiscard]] static result<index_array> as_index(const detail::shared_array<std::uint64_t>& stored) {
        if constexpr (std::is_same_v<Index, std::uint64_t>) {
            return stored;
        } else {
            return detail::narrow_indices<Index>({stored.elements.begin(), stored.elements.end()})
                .transform([](std::vector<Index> converted) { return detail::own(std::move(converted)); });
        }
    }

    [[nodiscard]] static result<csr_view> load_rows(const object_view& object, std::uint64_t first,
                                                    std::uint64_t last) {
        const ztensor::shape dimensions = object.shape();
        result<void> valid = detail::check_format(object, format::sparse_csr);
        if (valid && (first > last || last > dimensions[0])) {
            valid = error(errc::out_of_bounds, "rows " + std::to_string(first) + " to " + std::to_string(last) +
                                                   " were asked for, of " + std::to_string(dimensions[0]));
        }
        if (!valid) {
            return std::move(valid).error();
        }
        const result<component_view> values = object.component("values");
        const std::optional<std::size_t> per_value = values ? detail::elements_per_value<T>(*values) : std::nullopt;
        if (!per_value || !values->decoded_bytes()) {
            return from(object).transform([&](const csr_view& all) { return all.cut(first, last); });
        }
        const result<component_view> indices = object.component("indices");
        const result<component_view> indptr = object.component("indptr");
        const ztensor::shape cut = {last - first, dimensions[1]};
        const std::uint64_t entries = *values->decoded_bytes() / (*per_value * sizeof(T));
        const auto in = [](const result<component_view>& part) {
            return [&part](error why) { return std::move(why).in_component(part->role()); };
        };
        result<std::vector<Index>> pointers =
            detail::load_index_range<Index>(*indptr, first, last + 1, dimensions[0] + 1)
                .transform_error(in(indptr))
                .transform_error(detail::of_row_pointers);
        if (!pointers) {
            return std::move(pointers).error();
        }
        if (pointers->size() != last - first + 1) {
            return detail::wrong_count(pointers->size(), last - first + 1, "row pointers");
        }
        const std::uint64_t from = detail::index_value(pointers->front());
        const std::uint64_t to = detail::index_value(pointers->back());
        const bool misses_an_end = (first == 0 && from != 0) || (last == dimensions[0] && to != entries);
        if (from > to || to > entries || misses_an_end) {
            return error(errc::sparse_indptr, "the rows claim entries " + std::to_string(from) + " to " +
                                                  std::to_string(to) + " of " + std::to_string(entries));
        }
        for (Index& pointer : *pointers) {
            pointer = static_cast<Index>(pointer - static_cast<Index>(from));
        }
        const result<std::vector<Index>> columns =
            detail::load_index_range<Index>(*indices, from, to, entries).transform_error(in(indices));
        const result<std::vector<T>> elements = values->template read_part<T>(from, to, entries);
        if (!columns || !elements) {
            return !columns ? columns.error() : elements.error();
        }
        return checked(csr_view(cut, detail::own(*elements), detail::own(*columns), detail::own(*std::move(pointers)),
                                *per_value));
    }

    [[nodiscard]] csr_view cut(std::uint64_t first, std::uint64_t last) const {
        const auto begin = static_cast<std::size_t>(indptr()[static_cast<std::size_t>(first)]);
        const auto count = static_cast<std::size_t>(indptr()[static_cast<std::size_t>(last)]) - begin;
        std::vector<Index> pointers;
        for (std::uint64_t row = first; row <= last; ++row) {
            pointers.push_back(static_cast<Index>(indptr()[static_cast<std::size_t>(row)] - static_cast<Index>(begin)));
        }
        return csr_view({last - first, columns()},
                        {values().subspan(begin * value_elements_, count * value_elements_), values_.owner},
                        {indices().subspan(begin, count), indices_.owner}, detail::own(std::move(pointers)),
                        value_elements_);
    }

    ztensor::shape shape_;
    array values_;
    index_array indices_;
    index_array indptr_;
    std::size_t value_elements_; ///< of values_ per value: 1, or for std::byte the bytes of one
};


} // namespace v0
} // namespace ztensor

#endif
