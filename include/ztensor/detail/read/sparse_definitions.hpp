// SPDX-License-Identifier: MIT
//
// Sparse objects loaded, checked, cut and turned into one another. Defines what detail/core/sparse_parts.hpp declares
// for csr_view.hpp and coo_view.hpp. SPEC.md §5.2 and §5.3.
#ifndef ZTENSOR_DETAIL_READ_SPARSE_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_SPARSE_DEFINITIONS_HPP

#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/elements.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/guard_memory.hpp>
#include <ztensor/detail/core/sparse_parts.hpp>
#include <ztensor/detail/layout/integers.hpp>
#include <ztensor/detail/layout/sparse_rules.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/read/check_format.hpp>
#include <ztensor/detail/read/elements.hpp>
#include <ztensor/detail/read/object_definitions.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/sparse_0_1.hpp>
#include <ztensor/detail/read/sparse_parts.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Loads the parts of one sparse object.
class sparse_loader {
public:
    sparse_loader(const object_view& object, loading how, const element_request& value, dtype index) noexcept
        : file_(object_access::file_of(object)), object_(object_access::record_of(object)), how_(how), value_(value),
          index_(index) {}

    [[nodiscard]] result<sparse_parts> load(format layout) const {
        if (result<void> valid = check_format(file_, object_, layout); !valid) {
            return std::move(valid).error();
        }
        return checked(load_parts(layout), layout);
    }

    [[nodiscard]] result<sparse_parts> load_rows(std::uint64_t first, std::uint64_t last) const {
        if (result<void> valid = check_format(file_, object_, format::sparse_csr); !valid) {
            return std::move(valid).error();
        }
        const std::uint64_t rows = file_.index.shape_of(object_)[0];
        if (first > last || last > rows) {
            return fail(errc::out_of_bounds, "rows {} to {} were asked for, of {}", {first, last, rows});
        }
        const component_record* const values = find_component(file_.index, object_, "values");
        if (values != nullptr && known_value_bytes(*values, value_) && values->decoded_length()) {
            return checked(load_range_of_rows(*values, first, last), format::sparse_csr);
        }
        result<sparse_parts> all = load(format::sparse_csr);
        if (!all) {
            return all;
        }
        return cut(*all, static_cast<std::size_t>(first), static_cast<std::size_t>(last));
    }

private:
    [[nodiscard]] result<sparse_parts> load_parts(format layout) const {
        const component_record* const values = find_component(file_.index, object_, "values");
        if (values == nullptr) { // which only 0.1 does without
            return sparse_loader_0_1(file_, object_, layout, how_, value_, index_).load();
        }
        return layout == format::sparse_csr ? load_csr(*values) : load_coo(*values);
    }

    [[nodiscard]] result<sparse_parts> checked(result<sparse_parts> parts, format layout) const {
        if (!parts) {
            return parts;
        }
        result<void> valid = check_sparse(*parts, layout, parts->values.bytes.size() / parts->value_bytes, index_);
        if (!valid) {
            return std::move(valid).error();
        }
        return parts;
    }

    [[nodiscard]] result<sparse_parts> load_csr(const component_record& values) const {
        result<shared_bytes> indptr =
            load_indices(file_, *find_component(file_.index, object_, "indptr"), index_, how_);
        if (!indptr) {
            return of_row_pointers(std::move(indptr).error());
        }
        const integers_view pointers(indptr->bytes, index_);
        const std::uint64_t entries = pointers.size() == 0 ? 0 : pointers[pointers.size() - 1];
        const result<component_record> columns = find_entries(file_, object_, "indices", entries);
        if (!columns) {
            return columns.error();
        }
        result<shared_bytes> indices = load_indices(file_, *columns, index_, how_);
        if (!indices) {
            return std::move(indices).error();
        }
        const result<component_record> elements = find_entries(file_, object_, "values", entries);
        if (!elements) {
            return elements.error();
        }
        result<shared_bytes> loaded = load_elements(file_, *elements, value_, how_);
        if (!loaded) {
            return std::move(loaded).error();
        }
        return assembled(values, *std::move(loaded), *std::move(indices), *std::move(indptr), 1);
    }

    [[nodiscard]] result<sparse_parts> load_coo(const component_record& values) const {
        result<shared_bytes> loaded = load_elements(file_, values, value_, how_);
        if (!loaded) {
            return std::move(loaded).error();
        }
        result<shared_bytes> coords =
            load_indices(file_, *find_component(file_.index, object_, "coords"), index_, how_);
        if (!coords) {
            return std::move(coords).error();
        }
        return assembled(values, *std::move(loaded), *std::move(coords), {}, file_.index.shape_of(object_).rank());
    }

    [[nodiscard]] result<sparse_parts> assembled(const component_record& component, shared_bytes values,
                                                 shared_bytes indices, shared_bytes indptr,
                                                 std::size_t indices_per_entry) const {
        const std::size_t entries = indices.bytes.size() / width_bytes(index_) / indices_per_entry;
        const result<std::size_t> value_bytes = value_bytes_of(file_, component, value_, values.bytes.size(), entries);
        if (!value_bytes) {
            return value_bytes.error();
        }
        return sparse_parts{file_.index.shape_of(object_), std::move(values), std::move(indices), std::move(indptr),
                            *value_bytes};
    }

    /// The component of the values is one of which the type and the size are known.
    [[nodiscard]] result<sparse_parts> load_range_of_rows(const component_record& values, std::uint64_t first,
                                                          std::uint64_t last) const {
        if (result<void> valid = check_element_type(file_, values, value_); !valid) { // else their number is a guess
            return std::move(valid).error().in_component("values");
        }
        sparse_parts parts;
        const shape whole = file_.index.shape_of(object_);
        parts.shape = {last - first, whole[1]};
        parts.value_bytes = *known_value_bytes(values, value_);
        const std::uint64_t entries = *values.decoded_length() / parts.value_bytes;
        const result<shared_bytes> stored = load_index_range(file_, *find_component(file_.index, object_, "indptr"),
                                                             index_, first, last + 1, whole[0] + 1);
        if (!stored) {
            return of_row_pointers(stored.error());
        }
        const integers_view pointers(stored->bytes, index_);
        const std::uint64_t count = last - first + 1;
        if (pointers.size() != count) {
            return wrong_count(pointers.size(), count, "row pointers");
        }
        const std::uint64_t from = pointers[0];
        const std::uint64_t to = pointers[pointers.size() - 1];
        const bool misses_an_end = (first == 0 && from != 0) || (last == whole[0] && to != entries);
        if (from > to || to > entries || misses_an_end) {
            return fail(errc::sparse_indptr, "the rows claim entries {} to {} of {}", {from, to, entries});
        }
        parts.indptr = counted_from_first(pointers);
        result<shared_bytes> columns =
            load_index_range(file_, *find_component(file_.index, object_, "indices"), index_, from, to, entries);
        if (!columns) {
            return std::move(columns).error();
        }
        parts.indices = *std::move(columns);
        result<shared_bytes> elements = load_range(file_, values, value_, from, to, entries);
        if (!elements) {
            return std::move(elements).error();
        }
        parts.values = *std::move(elements);
        return parts;
    }

    /// Rows [first, last) of a matrix that was checked. Columns and values are shared with it.
    [[nodiscard]] sparse_parts cut(const sparse_parts& all, std::size_t first, std::size_t last) const {
        const integers_view pointers(all.indptr.bytes, index_);
        const auto begin = static_cast<std::size_t>(pointers[first]);
        const std::size_t count = static_cast<std::size_t>(pointers[last]) - begin;
        const std::size_t width = width_bytes(index_);
        return {{last - first, all.shape[1]},
                {all.values.bytes.subspan(begin * all.value_bytes, count * all.value_bytes), all.values.owner},
                {all.indices.bytes.subspan(begin * width, count * width), all.indices.owner},
                counted_from_first(pointers.subview(first, last - first + 1)),
                all.value_bytes};
    }

    /// Row pointers, of which the first becomes 0.
    [[nodiscard]] shared_bytes counted_from_first(const integers_view& pointers) const {
        const std::size_t width = width_bytes(index_);
        const shared_memory counted(pointers.size(), width);
        const std::uint64_t first = pointers[0];
        integer_block block;
        for (std::size_t done = 0; done < pointers.size(); done += block.count) {
            pointers.widen(done, block);
            for (std::uint64_t& each : block) {
                each -= first;
            }
            narrow_integers(block, width, counted.bytes().data() + done * width);
        }
        return counted.share();
    }

    const opened_file& file_;
    const object_record& object_;
    loading how_;
    element_request value_;
    dtype index_;
};

ZTENSOR_INLINE result<sparse_parts> load_sparse(const object_view& object, format layout, loading how,
                                                const element_request& value, dtype index) {
    result<sparse_parts> parts = guard_memory([&] { return sparse_loader(object, how, value, index).load(layout); });
    if (!parts) {
        return object_access::located(object, std::move(parts).error());
    }
    return parts;
}

ZTENSOR_INLINE result<sparse_parts> load_csr_rows(const object_view& object, std::uint64_t first, std::uint64_t last,
                                                  const element_request& value, dtype index) {
    result<sparse_parts> parts =
        guard_memory([&] { return sparse_loader(object, loading::borrows, value, index).load_rows(first, last); });
    if (!parts) {
        return object_access::located(object, std::move(parts).error());
    }
    return parts;
}

ZTENSOR_INLINE result<void> check_sparse(const sparse_parts& parts, format layout, std::uint64_t value_count,
                                         dtype index) {
    return layout == format::sparse_csr
               ? check_csr(parts.shape, value_count, parts.indices.bytes, parts.indptr.bytes, index)
               : check_coo(parts.shape, value_count, parts.indices.bytes, index);
}

/// Indices as u64.
inline void widen_to(const integers_view& indices, std::byte* destination) noexcept {
    integer_block block;
    for (std::size_t done = 0; done < indices.size(); done += block.count) {
        indices.widen(done, block);
        narrow_integers(block, sizeof(std::uint64_t), destination + done * sizeof(std::uint64_t));
    }
}

[[nodiscard]] inline sparse_parts as_coo(const sparse_parts& csr, dtype index) {
    constexpr std::size_t width = sizeof(std::uint64_t);
    const integers_view pointers(csr.indptr.bytes, index);
    const integers_view columns(csr.indices.bytes, index);
    const shared_memory coords(2 * columns.size(), width);
    std::byte* at = coords.bytes().data();
    std::uint64_t entry = 0;
    integer_block block;
    for (std::size_t done = 0; done < pointers.size(); done += block.count) {
        pointers.widen(done, block);
        for (std::size_t i = 0; i < block.count; ++i) {
            const std::uint64_t row = done + i - 1; // which ends at this pointer; the first one is 0 and ends none
            for (; entry < block.numbers[i]; ++entry, at += width) {
                std::memcpy(at, &row, width);
            }
        }
    }
    widen_to(columns, at);
    return {csr.shape, csr.values, coords.share(), {}, csr.value_bytes};
}

ZTENSOR_INLINE result<sparse_parts> csr_to_coo(const sparse_parts& csr, dtype index) {
    return guard_memory([&]() -> result<sparse_parts> { return as_coo(csr, index); });
}

/// How many entries each row has, in the place behind the row's own.
[[nodiscard]] inline std::vector<std::uint64_t> count_by_row(const integers_view& rows, std::uint64_t row_count) {
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(row_count) + 1);
    integer_block block;
    for (std::size_t done = 0; done < rows.size(); done += block.count) {
        rows.widen(done, block);
        for (const std::uint64_t row : block) {
            ++counts[static_cast<std::size_t>(row) + 1];
        }
    }
    return counts;
}

/// Of one length that a compiler knows, where values have it.
inline void copy_value(std::byte* to, const std::byte* from, std::size_t size) noexcept {
    switch (size) {
    case 1:
        *to = *from;
        return;
    case 2:
        std::memcpy(to, from, 2);
        return;
    case 4:
        std::memcpy(to, from, 4);
        return;
    case 8:
        std::memcpy(to, from, 8);
        return;
    default:
        std::memcpy(to, from, size);
    }
}

[[nodiscard]] inline result<sparse_parts> as_csr(const sparse_parts& coo, dtype index, std::uint64_t max_bytes) {
    constexpr std::size_t width = sizeof(std::uint64_t);
    if (result<void> valid = check_csr_shape(coo.shape); !valid) {
        return std::move(valid).error();
    }
    if (coo.shape[0] >= max_bytes / width || !fits_address_space((coo.shape[0] + 1) * width)) {
        return fail(errc::limit_exceeded, "the pointers of {} rows take more than {} bytes", {coo.shape[0], max_bytes});
    }
    const integers_view coords(coo.indices.bytes, index);
    const std::size_t entries = coords.size() / 2;
    const integers_view rows = coords.subview(0, entries);
    const integers_view columns = coords.subview(entries, entries);
    std::vector<std::uint64_t> next = count_by_row(rows, coo.shape[0]); // where the next entry of each row goes
    for (std::size_t row = 1; row < next.size(); ++row) {
        next[row] += next[row - 1];
    }
    const shared_memory indptr(next.size(), width);
    std::memcpy(indptr.bytes().data(), next.data(), next.size() * width);
    const shared_memory sorted_columns(entries, width);
    const shared_memory sorted_values(entries, coo.value_bytes);
    integer_block row_block;
    integer_block column_block;
    for (std::size_t done = 0; done < entries; done += row_block.count) {
        rows.widen(done, row_block);
        columns.widen(done, column_block);
        for (std::size_t i = 0; i < row_block.count; ++i) {
            const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(row_block.numbers[i])]++);
            std::memcpy(sorted_columns.bytes().data() + place * width, &column_block.numbers[i], width);
            copy_value(sorted_values.bytes().data() + place * coo.value_bytes,
                       coo.values.bytes.data() + (done + i) * coo.value_bytes, coo.value_bytes);
        }
    }
    return sparse_parts{coo.shape, sorted_values.share(), sorted_columns.share(), indptr.share(), coo.value_bytes};
}

ZTENSOR_INLINE result<sparse_parts> coo_to_csr(const sparse_parts& coo, dtype index, std::uint64_t max_bytes) {
    return guard_memory([&] { return as_csr(coo, index, max_bytes); });
}

ZTENSOR_INLINE result<void> make_dense(const shape& dimensions, std::size_t element_bytes, std::uint64_t max_bytes,
                                       element_memory dense) {
    return guard_memory([&]() -> result<void> {
        const std::optional<std::uint64_t> count = dimensions.element_count();
        const std::optional<std::uint64_t> bytes = count ? checked_multiply(*count, element_bytes) : std::nullopt;
        if (!bytes || *bytes > max_bytes || !fits_address_space(*bytes)) {
            return fail(errc::limit_exceeded, "shape {} as a dense tensor takes more than {} bytes",
                        {to_string(dimensions), max_bytes});
        }
        dense.resize(dense.owner, static_cast<std::size_t>(*count));
        return {};
    });
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
