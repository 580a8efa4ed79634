// SPDX-License-Identifier: MIT
//
// Sparse objects loaded, checked, cut and turned into one another. Defines what detail/base/sparse_memory.hpp declares
// for csr_view.hpp and coo_view.hpp. SPEC.md section 5.2 and section 5.3.
#ifndef ZTENSOR_DETAIL_READ_SPARSE_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_SPARSE_DEFINITIONS_HPP

#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/index/layouts.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/sparse_rules.hpp>
#include <ztensor/detail/read/check_format.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/read/element_access.hpp>
#include <ztensor/detail/read/object_access.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/sparse_0_1.hpp>
#include <ztensor/detail/read/sparse_parts.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
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
    sparse_loader(const object_view& object, loading how, const element_request& value, dtype index,
                  call_budget& budget) noexcept
        : file_(object_access::file_of(object)), object_(object_access::record_of(object)),
          how_(value.is_bool ? of_checked(file_, how) : how), value_(value), index_(index), budget_(budget) {}

    [[nodiscard]] result<sparse_parts> load(format layout) const {
        ZTENSOR_TRY(check_format(file_, object_, layout));
        ZTENSOR_TRY(check_values_apart());
        return checked(load_parts(layout), layout);
    }

    [[nodiscard]] result<sparse_parts> load_rows(std::uint64_t first, std::uint64_t last) const {
        ZTENSOR_TRY(check_format(file_, object_, format::sparse_csr));
        const std::uint64_t rows = file_.index.shape_of(object_)[0];
        if (first > last || last > rows) {
            return fail(errc::out_of_bounds, "rows {} to {} were asked for, of {}", {first, last, rows}).by_caller();
        }
        ZTENSOR_TRY(check_values_apart());
        const component_record* const values = find_component(file_.index, object_, "values");
        if (values != nullptr && known_value_bytes(*values, value_) && values->decoded_length()) {
            return checked(load_range_of_rows(*values, first, last), format::sparse_csr);
        }
        sparse_loader whole = *this;
        whole.index_ = dtype::u64; // what the rows don't need may be more than the index type asked for can hold
        ZTENSOR_TRY_ASSIGN(const sparse_parts all, whole.load(format::sparse_csr));
        return cut(all, static_cast<std::size_t>(first), static_cast<std::size_t>(last));
    }

private:
    /// Values that share bytes have no place of their own. Errors: unsupported_type.
    [[nodiscard]] result<void> check_values_apart() const {
        const component_record* const values = find_component(file_.index, object_, "values");
        if (values == nullptr || packed_elements(*values) == 1) {
            return {};
        }
        return fail(errc::unsupported_type, "values of the logical type {} share bytes: read_as() them",
                    {in_quotes(type_name(file_.index, *values))})
            .in_component("values");
    }

    [[nodiscard]] result<sparse_parts> load_parts(format layout) const {
        const component_record* const values = find_component(file_.index, object_, "values");
        if (values == nullptr) { // which only 0.1 does without
            return sparse_loader_0_1(file_, object_, layout, how_, value_, index_, budget_).load();
        }
        return layout == format::sparse_csr ? load_csr(*values) : load_coo(*values);
    }

    /// Bools of C++ must stay 0 or 1 once they were looked at, so they are never borrowed. Errors: bad_bool,
    /// limit_exceeded.
    [[nodiscard]] result<void> take_bools(shared_bytes& values) const {
        ZTENSOR_TRY(budget_.take(values.bytes.size(), 1));
        const shared_memory bools(values.bytes.size(), 1);
        std::copy(values.bytes.begin(), values.bytes.end(), bools.bytes().begin());
        const component_record* const named = find_component(file_.index, object_, "values");
        const component_record& component =
            named != nullptr ? *named : file_.index.components_of(object_).data()[0]; // 0.1
        if (result<void> valid = normalise_bools(component, bools.bytes()); !valid) {
            return std::move(valid).error().in_component(role_name(file_.index, component));
        }
        values = bools.share();
        return {};
    }

    [[nodiscard]] result<sparse_parts> checked(result<sparse_parts> parts, format layout) const {
        if (!parts) {
            return parts;
        }
        ZTENSOR_TRY(value_.is_bool ? take_bools(parts->values) : result<void>());
        const std::size_t value_bytes = parts->value_bytes;
        result<void> valid = check_whole_elements(parts->values.bytes.size(), value_bytes);
        if (!valid) {
            return std::move(valid).error().in_component("values");
        }
        valid = check_sparse(*parts, layout, parts->values.bytes.size() / value_bytes, index_);
        if (valid && file_.index.generation == generation::v2) {
            valid = layout == format::sparse_csr
                        ? check_rising_columns(parts->indices.bytes, parts->indptr.bytes, index_, errc::sparse_order)
                        : check_distinct_coords(parts->shape, parts->indices.bytes, index_);
        }
        if (valid && file_.options.strict_) {
            valid = layout == format::sparse_csr
                        ? check_rising_columns(parts->indices.bytes, parts->indptr.bytes, index_)
                        : check_rising_coords(parts->shape, parts->indices.bytes, index_);
        }
        if (!valid) {
            return std::move(valid).error();
        }
        return parts;
    }

    [[nodiscard]] result<sparse_parts> load_csr(const component_record& values) const {
        result<shared_bytes> indptr =
            load_indices(file_, *find_component(file_.index, object_, "indptr"), index_, how_, budget_);
        if (!indptr) {
            return of_row_pointers(std::move(indptr).error());
        }
        const integers_view pointers(indptr->bytes, index_);
        const std::uint64_t entries = pointers.size() == 0 ? 0 : pointers[pointers.size() - 1];
        ZTENSOR_TRY_ASSIGN(const component_record columns, find_entries(file_, object_, "indices", entries));
        ZTENSOR_TRY_ASSIGN(shared_bytes indices, load_indices(file_, columns, index_, how_, budget_));
        ZTENSOR_TRY_ASSIGN(const component_record elements, find_entries(file_, object_, "values", entries));
        ZTENSOR_TRY_ASSIGN(shared_bytes loaded, load_elements(file_, elements, value_, how_, budget_));
        return assembled(values, std::move(loaded), std::move(indices), *std::move(indptr), 1);
    }

    [[nodiscard]] result<sparse_parts> load_coo(const component_record& values) const {
        ZTENSOR_TRY_ASSIGN(shared_bytes loaded, load_elements(file_, values, value_, how_, budget_));
        ZTENSOR_TRY_ASSIGN(shared_bytes coords,
                           load_indices(file_, *find_component(file_.index, object_, "coords"), index_, how_, budget_));
        return assembled(values, std::move(loaded), std::move(coords), {}, file_.index.shape_of(object_).rank());
    }

    [[nodiscard]] result<sparse_parts> assembled(const component_record& component, shared_bytes values,
                                                 shared_bytes indices, shared_bytes indptr,
                                                 std::size_t indices_per_entry) const {
        const std::size_t entries = indices.bytes.size() / width_bytes(index_) / indices_per_entry;
        ZTENSOR_TRY_ASSIGN(const std::size_t value_bytes,
                           value_bytes_of(file_, component, value_, values.bytes.size(), entries));
        return sparse_parts{file_.index.shape_of(object_), std::move(values), std::move(indices), std::move(indptr),
                            value_bytes};
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
                                                             dtype::u64, first, last + 1, whole[0] + 1, budget_);
        if (!stored) {
            return of_row_pointers(stored.error());
        }
        const integers_view pointers(stored->bytes, dtype::u64);
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
        ZTENSOR_TRY_ASSIGN(shared_bytes counted, counted_from_first(pointers));
        parts.indptr = std::move(counted);
        ZTENSOR_TRY_ASSIGN(shared_bytes columns,
                           load_index_range(file_, *find_component(file_.index, object_, "indices"), index_, from, to,
                                            entries, budget_));
        parts.indices = std::move(columns);
        ZTENSOR_TRY_ASSIGN(shared_bytes elements, load_range(file_, values, value_, from, to, entries, budget_));
        parts.values = std::move(elements);
        return parts;
    }

    /// Rows [first, last) of a matrix that was checked, with indices as u64. Values are shared with it, and columns if
    /// they are asked for as such.
    [[nodiscard]] result<sparse_parts> cut(const sparse_parts& all, std::size_t first, std::size_t last) const {
        constexpr std::size_t width = sizeof(std::uint64_t);
        const integers_view pointers(all.indptr.bytes, dtype::u64);
        const auto begin = static_cast<std::size_t>(pointers[first]);
        const std::size_t count = static_cast<std::size_t>(pointers[last]) - begin;
        ZTENSOR_TRY_ASSIGN(shared_bytes counted, counted_from_first(pointers.subview(first, last - first + 1)));
        shared_bytes columns{all.indices.bytes.subspan(begin * width, count * width), all.indices.owner};
        if (index_ != dtype::u64) {
            result<shared_bytes> converted = convert_indices(columns.bytes, dtype::u64, index_, budget_);
            if (!converted) {
                return std::move(converted).error().in_component("indices");
            }
            columns = *std::move(converted);
        }
        return sparse_parts{
            {last - first, all.shape[1]},
            {all.values.bytes.subspan(begin * all.value_bytes, count * all.value_bytes), all.values.owner},
            std::move(columns),
            std::move(counted),
            all.value_bytes};
    }

    /// Row pointers in u64, of which the first becomes 0, as they are asked for. Errors: sparse_indptr, limit_exceeded.
    [[nodiscard]] result<shared_bytes> counted_from_first(const integers_view& pointers) const {
        const std::size_t width = width_bytes(index_);
        const std::uint64_t largest = integers_view({}, index_).largest();
        const std::uint64_t first = pointers[0];
        ZTENSOR_TRY(budget_.take(pointers.size(), width));
        const shared_memory counted(pointers.size(), width);
        integer_block block;
        for (std::size_t done = 0; done < pointers.size(); done += block.count) {
            pointers.widen(done, block);
            for (std::uint64_t& each : block) {
                if (each < first || each - first > largest) {
                    return fail(errc::sparse_indptr,
                                each < first
                                    ? "a pointer falls from {} to {} behind row {}"
                                    : "counted from {} on, the pointer {} behind row {} is more than the index "
                                      "type asked for can hold",
                                {first, each, done + static_cast<std::size_t>(&each - block.begin())});
                }
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
    call_budget& budget_;
};

ZTENSOR_INLINE result<sparse_parts> load_sparse(const object_view& object, format layout, loading how,
                                                const element_request& value, dtype index) {
    call_budget budget(object_access::file_of(object).options);
    result<sparse_parts> parts =
        guard_memory([&] { return sparse_loader(object, how, value, index, budget).load(layout); });
    if (!parts) {
        return object_access::located(object, std::move(parts).error());
    }
    return parts;
}

ZTENSOR_INLINE result<sparse_parts> load_csr_rows(const object_view& object, std::uint64_t first, std::uint64_t last,
                                                  const element_request& value, dtype index) {
    call_budget budget(object_access::file_of(object).options);
    result<sparse_parts> parts = guard_memory(
        [&] { return sparse_loader(object, loading::borrows, value, index, budget).load_rows(first, last); });
    if (!parts) {
        return object_access::located(object, std::move(parts).error());
    }
    return parts;
}

ZTENSOR_INLINE result<void> check_sparse(const sparse_parts& parts, format layout, std::uint64_t value_count,
                                         dtype index) {
    if (!parts.shape.is_valid()) {
        return fail(errc::sparse_shape, words_of(shape_access::flaw_of(parts.shape)));
    }
    return layout == format::sparse_csr
               ? check_csr(parts.shape, value_count, parts.indices.bytes, parts.indptr.bytes, index)
               : check_coo(parts.shape, value_count, parts.indices.bytes, index);
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
