// SPDX-License-Identifier: MIT
//
// Sparse objects loaded, checked, cut and turned into one another. Defines what detail/base/elements.hpp declares
// for sparse.hpp. SPEC.md section 5.2 and section 5.3.
#ifndef ZTENSOR_DETAIL_READ_SPARSE_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_SPARSE_DEFINITIONS_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/sparse_parts.hpp>
#include <ztensor/object_view.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Loads the parts of one sparse object, from components of their own or, in 0.1, from where they are kept together.
class sparse_loader {
public:
    sparse_loader(const object_view& object, format layout, loading how, const element_request& value, dtype index,
                  call_budget& budget) noexcept
        : file_(object_access::file_of(object)), object_(object_access::record_of(object)), layout_(layout),
          how_(value.is_bool ? of_checked(file_, how) : how), value_(value), index_(index), budget_(budget) {}

    result<sparse_parts> load() const {
        ZTENSOR_TRY(check_format(file_, object_, layout_));
        ZTENSOR_TRY(check_values_apart());
        const component_record* const values = find_component(file_.index, object_, "values");
        return checked(values == nullptr ? load_joined() // which only 0.1 has
                       : is_csr()        ? load_csr(*values)
                                         : load_coo(*values));
    }

    result<sparse_parts> load_rows(uint64_t first, uint64_t last) const {
        ZTENSOR_TRY(check_format(file_, object_, layout_));
        const uint64_t rows = file_.index.shape_of(object_)[0];
        if (first > last || last > rows) {
            return fail(errc::out_of_bounds, "rows {} to {} were asked for, of {}", {first, last, rows}).by_caller();
        }
        ZTENSOR_TRY(check_values_apart());
        const component_record* const values = find_component(file_.index, object_, "values");
        if (values != nullptr && known_value_bytes(*values, value_) && values->decoded_length()) {
            return checked(load_range_of_rows(*values, first, last));
        }
        sparse_loader whole = *this;
        whole.index_ = dtype::u64; // what the rows don't need may be more than the index type asked for can hold
        ZTENSOR_TRY_ASSIGN(const sparse_parts all, whole.load());
        return cut(all, static_cast<size_t>(first), static_cast<size_t>(last));
    }

private:
    static constexpr size_t index_bytes = sizeof(uint64_t); ///< of every index that 0.1 stores

    [[nodiscard]] bool is_csr() const noexcept { return layout_ == format::sparse_csr; }
    [[nodiscard]] const component_record& part(string_view role) const noexcept { // present: checked at open
        return *find_component(file_.index, object_, role);
    }

    /// Values that share bytes have no place of their own. Errors: unsupported_type.
    result<void> check_values_apart() const {
        const component_record* const values = find_component(file_.index, object_, "values");
        if (values == nullptr || packed_elements(*values) == 1) {
            return {};
        }
        return fail(errc::unsupported_type, "values of the logical type {} share bytes: read_as() them",
                    {in_quotes(type_name(file_.index, *values))})
            .in_component("values");
    }

    /// Bools of C++ must stay 0 or 1 once they were looked at, so they are never borrowed. Errors: bad_bool,
    /// limit_exceeded.
    result<void> take_bools(shared_bytes& values) const {
        ZTENSOR_TRY(budget_.take(values.bytes.size(), 1));
        const shared_memory bools(values.bytes.size(), 1);
        std::copy(values.bytes.begin(), values.bytes.end(), bools.bytes().begin());
        const component_record* const named = find_component(file_.index, object_, "values");
        const component_record& component =
            named != nullptr ? *named : file_.index.components_of(object_).data()[0]; // 0.1
        ZTENSOR_TRY(in_component(normalise_bools(component, bools.bytes()), role_name(file_.index, component)));
        values = bools.share();
        return {};
    }

    result<sparse_parts> checked(result<sparse_parts> parts) const {
        if (!parts) {
            return parts;
        }
        ZTENSOR_TRY(value_.is_bool ? take_bools(parts->values) : result<void>());
        const size_t value_bytes = parts->value_bytes;
        ZTENSOR_TRY(in_component(check_whole_elements(parts->values.bytes.size(), value_bytes), "values"));
        ZTENSOR_TRY(check_indices_of(file_, *parts, layout_, parts->values.bytes.size() / value_bytes, index_,
                                     file_.options.is_strict()));
        return parts;
    }

    // -- parts in components of their own

    result<sparse_parts> load_csr(const component_record& values) const {
        ZTENSOR_TRY_ASSIGN(shared_bytes indptr,
                           of_row_pointers(load_indices(file_, part("indptr"), index_, how_, budget_)));
        const integers_view pointers(indptr.bytes, index_);
        const uint64_t entries = pointers.size() == 0 ? 0 : pointers[pointers.size() - 1];
        ZTENSOR_TRY_ASSIGN(const component_record columns, find_entries(file_, object_, "indices", entries));
        ZTENSOR_TRY_ASSIGN(shared_bytes indices, load_indices(file_, columns, index_, how_, budget_));
        ZTENSOR_TRY_ASSIGN(const component_record elements, find_entries(file_, object_, "values", entries));
        ZTENSOR_TRY_ASSIGN(shared_bytes loaded, load_elements(file_, elements, value_, how_, budget_));
        return assembled(values, std::move(loaded), std::move(indices), std::move(indptr), 1);
    }

    result<sparse_parts> load_coo(const component_record& values) const {
        ZTENSOR_TRY_ASSIGN(shared_bytes loaded, load_elements(file_, values, value_, how_, budget_));
        ZTENSOR_TRY_ASSIGN(shared_bytes coords, load_indices(file_, part("coords"), index_, how_, budget_));
        return assembled(values, std::move(loaded), std::move(coords), {}, file_.index.shape_of(object_).rank());
    }

    result<sparse_parts> assembled(const component_record& component, shared_bytes values, shared_bytes indices,
                                   shared_bytes indptr, size_t indices_per_entry) const {
        const size_t entries = indices.bytes.size() / width_bytes(index_) / indices_per_entry;
        ZTENSOR_TRY_ASSIGN(const size_t value_bytes,
                           value_bytes_of(file_, component, value_, values.bytes.size(), entries));
        return sparse_parts{file_.index.shape_of(object_), std::move(values), std::move(indices), std::move(indptr),
                            value_bytes};
    }

    /// The component of the values is one of which the type and the size are known.
    result<sparse_parts> load_range_of_rows(const component_record& values, uint64_t first, uint64_t last) const {
        // Else their number is a guess.
        ZTENSOR_TRY(in_component(check_element_type(file_, values, value_), "values"));
        sparse_parts parts;
        const shape whole = file_.index.shape_of(object_);
        parts.shape = {last - first, whole[1]};
        parts.value_bytes = *known_value_bytes(values, value_);
        const uint64_t entries = *values.decoded_length() / parts.value_bytes;
        const part_finder of_rows(first, last + 1, whole[0] + 1);
        ZTENSOR_TRY_ASSIGN(const shared_bytes stored, of_row_pointers(load_indices(file_, part("indptr"), dtype::u64,
                                                                                   loading::reads, budget_, &of_rows)));
        const integers_view pointers(stored.bytes, dtype::u64);
        const uint64_t count = last - first + 1;
        if (pointers.size() != count) {
            return wrong_count(pointers.size(), count, "row pointers");
        }
        const uint64_t from = pointers[0];
        const uint64_t to = pointers[pointers.size() - 1];
        const bool misses_an_end = (first == 0 && from != 0) || (last == whole[0] && to != entries);
        if (from > to || to > entries || misses_an_end) {
            return fail(errc::sparse_indptr, "the rows claim entries {} to {} of {}", {from, to, entries});
        }
        const part_finder of_entries(from, to, entries);
        ZTENSOR_TRY_ASSIGN(parts.indptr, counted_from_first(pointers));
        ZTENSOR_TRY_ASSIGN(parts.indices,
                           load_indices(file_, part("indices"), index_, loading::reads, budget_, &of_entries));
        ZTENSOR_TRY_ASSIGN(parts.values, load_elements(file_, values, value_, loading::reads, budget_, &of_entries));
        return parts;
    }

    /// Rows [first, last) of a matrix that was checked, with indices as u64. Values are shared with it, and columns if
    /// they are asked for as such.
    result<sparse_parts> cut(const sparse_parts& all, size_t first, size_t last) const {
        constexpr size_t width = sizeof(uint64_t);
        const integers_view pointers(all.indptr.bytes, dtype::u64);
        const auto begin = static_cast<size_t>(pointers[first]);
        const size_t count = static_cast<size_t>(pointers[last]) - begin;
        ZTENSOR_TRY_ASSIGN(shared_bytes counted, counted_from_first(pointers.subview(first, last - first + 1)));
        shared_bytes columns{all.indices.bytes.subspan(begin * width, count * width), all.indices.owner};
        if (index_ != dtype::u64) {
            ZTENSOR_TRY_ASSIGN(columns,
                               in_component(convert_indices(columns.bytes, dtype::u64, index_, budget_), "indices"));
        }
        return sparse_parts{
            {last - first, all.shape[1]},
            {all.values.bytes.subspan(begin * all.value_bytes, count * all.value_bytes), all.values.owner},
            std::move(columns),
            std::move(counted),
            all.value_bytes};
    }

    /// Row pointers in u64, of which the first becomes 0, as they are asked for. Errors: sparse_indptr, limit_exceeded.
    result<shared_bytes> counted_from_first(const integers_view& pointers) const {
        const size_t width = width_bytes(index_);
        const uint64_t largest = integers_view({}, index_).largest();
        const uint64_t first = pointers[0];
        ZTENSOR_TRY(budget_.take(pointers.size(), width));
        const shared_memory counted(pointers.size(), width);
        integer_block block;
        for (size_t done = 0; done < pointers.size(); done += block.count) {
            pointers.widen(done, block);
            for (uint64_t& each : block) {
                if (each < first || each - first > largest) {
                    return fail(errc::sparse_indptr,
                                each < first
                                    ? "a pointer falls from {} to {} behind row {}"
                                    : "counted from {} on, the pointer {} behind row {} is more than the index "
                                      "type asked for can hold",
                                {first, each, done + static_cast<size_t>(&each - block.begin())});
                }
                each -= first;
            }
            narrow_integers(block, width, counted.bytes().data() + done * width);
        }
        return counted.share();
    }

    // -- parts that 0.1 keeps in one blob, or the values there and the indices in the manifest: SPEC.md section 8.3

    /// Errors: needs_byteswap, unknown_dtype (also for std::byte, if only the width of a value tells where the parts
    /// are), type_mismatch, sparse_size, sparse_index, sparse_indptr; as reading does.
    result<sparse_parts> load_joined() const {
        const component_record& blob = file_.index.components_of(object_).data()[0];
        if (blob.is_big_endian) { // of std::byte, too
            return fail(errc::needs_byteswap, "what big-endian means is only defined for dense data")
                .in_component("data");
        }
        if (blob.holds_indices && !blob.dtype) {
            return unknown_dtype(file_, blob).in_component("data");
        }
        ZTENSOR_TRY(in_component(check_stored_type(file_, blob, value_), "data"));
        return blob.holds_indices ? load_one_blob(blob) : load_values_and_arrays(blob);
    }

    result<sparse_parts> load_values_and_arrays(const component_record& blob) const {
        sparse_parts parts;
        parts.shape = file_.index.shape_of(object_);
        ZTENSOR_TRY_ASSIGN(parts.values, load_elements(file_, blob, value_, how_, budget_));
        ZTENSOR_TRY_ASSIGN(const shared_bytes indices_of_all, load_array(is_csr() ? "indices" : "coords"));
        ZTENSOR_TRY_ASSIGN(const shared_bytes indptr, is_csr() ? load_array("indptr") : shared_bytes());
        ZTENSOR_TRY(set_indices(parts, indices_of_all, indptr));
        const size_t indices = parts.indices.bytes.size() / width_bytes(index_);
        const size_t entries = is_csr() ? indices : indices / parts.shape.rank();
        ZTENSOR_TRY_ASSIGN(parts.value_bytes, value_bytes_of(file_, blob, value_, parts.values.bytes.size(), entries));
        return parts;
    }

    /// The numbers of an index array in the manifest, as u64 in host byte order. Errors: limit_exceeded.
    result<shared_bytes> load_array(string_view field) const {
        cbor_cursor array = index_array_0_1(file_.index, object_, field);
        const uint64_t count = count_numbers(array).value_or(0); // which is an array: checked at open
        ZTENSOR_TRY(budget_.take(count, index_bytes));
        const shared_memory numbers(static_cast<size_t>(count), index_bytes);
        byte* at = numbers.bytes().data();
        cbor_sequence items;
        uint64_t number = 0;
        for (array.enter_array(items); array.next(items) && array.read_unsigned(number); at += index_bytes) {
            std::memcpy(at, &number, index_bytes);
        }
        return numbers.share();
    }

    result<sparse_parts> load_one_blob(const component_record& blob_record) const {
        ZTENSOR_TRY_ASSIGN(const shared_bytes blob,
                           load_elements(file_, blob_record, element_request(), of_checked(file_, how_), budget_));
        sparse_parts parts;
        parts.shape = file_.index.shape_of(object_);
        parts.value_bytes = *known_value_bytes(blob_record, value_); // known: load_joined() looked
        ZTENSOR_TRY_ASSIGN(const uint64_t entries,
                           count_entries_0_1(layout_, parts.shape, parts.value_bytes, blob.bytes.size()));
        const auto count = static_cast<size_t>(entries);
        ZTENSOR_TRY(is_csr() ? cut_csr(blob, count, parts) : sort_coo(blob, count, parts));
        return parts;
    }

    /// The blob is indptr u64[rows + 1], indices u64[entries], then the values.
    result<void> cut_csr(const shared_bytes& blob, size_t entries, sparse_parts& parts) const {
        const size_t indices_at = (static_cast<size_t>(parts.shape[0]) + 1) * index_bytes;
        const size_t values_at = indices_at + entries * index_bytes;
        const element_request u64s = request_of(dtype::u64, index_bytes);
        parts.values = elements_within(blob, values_at, entries * parts.value_bytes, value_);
        return set_indices(parts, elements_within(blob, indices_at, entries * index_bytes, u64s),
                           elements_within(blob, 0, indices_at, u64s));
    }

    /// The blob is entries of (one u64 for each dimension, one value).
    result<void> sort_coo(const shared_bytes& blob, size_t entries, sparse_parts& parts) const {
        const size_t rank = parts.shape.rank();
        ZTENSOR_TRY(budget_.take(entries, rank * index_bytes + parts.value_bytes));
        const shared_memory coords(entries * rank, index_bytes);
        const shared_memory values(entries, parts.value_bytes);
        const byte* from = blob.bytes.data();
        for (size_t entry = 0; entry < entries; ++entry) {
            for (size_t axis = 0; axis < rank; ++axis, from += index_bytes) {
                const uint64_t coordinate = load_little(from, index_bytes);
                std::memcpy(coords.bytes().data() + (axis * entries + entry) * index_bytes, &coordinate, index_bytes);
            }
            std::memcpy(values.bytes().data() + entry * parts.value_bytes, from, parts.value_bytes);
            from += parts.value_bytes;
        }
        from_file_order(value_, values.bytes());
        parts.values = values.share();
        return set_indices(parts, coords.share(), {});
    }

    /// Little-endian elements within a larger blob: borrowed where this host can read them in place.
    [[nodiscard]] static shared_bytes elements_within(const shared_bytes& blob, size_t offset, size_t size,
                                                      const element_request& request) {
        const bytes_view part = blob.bytes.subspan(offset, size);
        const bool is_in_order = host_is_little_endian || !request.storage || width_bytes(*request.storage) < 2;
        if (part.empty() || (is_in_order && is_aligned(part, request.alignment_bytes))) {
            return {part, blob.owner};
        }
        const shared_memory copied(size, 1);
        std::memcpy(copied.bytes().data(), part.data(), size);
        from_file_order(request, copied.bytes());
        return copied.share();
    }

    static void from_file_order(const element_request& request, span<byte> little_endian) noexcept {
        if (!host_is_little_endian && request.storage) {
            swap_elements(little_endian, width_bytes(*request.storage));
        }
    }

    /// Both from u64 in host byte order. Errors: sparse_index, sparse_indptr.
    result<void> set_indices(sparse_parts& parts, const shared_bytes& indices, const shared_bytes& indptr) const {
        ZTENSOR_TRY_ASSIGN(parts.indices, as_index(indices));
        if (is_csr()) {
            ZTENSOR_TRY_ASSIGN(parts.indptr, of_row_pointers(as_index(indptr)));
        }
        return {};
    }

    result<shared_bytes> as_index(const shared_bytes& u64s) const {
        return index_ == dtype::u64 ? u64s : convert_indices(u64s.bytes, dtype::u64, index_, budget_);
    }

    const opened_file& file_;
    const object_record& object_;
    format layout_;
    loading how_;
    element_request value_;
    dtype index_;
    call_budget& budget_;
};

ZTENSOR_INLINE result<sparse_parts> load_sparse(const object_view& object, format layout, loading how,
                                                const element_request& value, dtype index) {
    call_budget budget(object_access::file_of(object).options);
    return object_access::located(
        object, guard_memory([&] { return sparse_loader(object, layout, how, value, index, budget).load(); }));
}

ZTENSOR_INLINE result<sparse_parts> load_csr_rows(const object_view& object, uint64_t first, uint64_t last,
                                                  const element_request& value, dtype index) {
    call_budget budget(object_access::file_of(object).options);
    return object_access::located(object, guard_memory([&] {
                                      return sparse_loader(object, format::sparse_csr, loading::borrows, value, index,
                                                           budget)
                                          .load_rows(first, last);
                                  }));
}

ZTENSOR_INLINE result<sparse_parts> csr_to_coo(const sparse_parts& csr, dtype index) {
    return guard_memory([&]() -> result<sparse_parts> { return as_coo(csr, index); });
}

ZTENSOR_INLINE result<sparse_parts> coo_to_csr(const sparse_parts& coo, dtype index, uint64_t max_bytes) {
    return guard_memory([&] { return as_csr(coo, index, max_bytes); });
}

ZTENSOR_INLINE result<void> check_sparse(const sparse_parts& parts, format layout, uint64_t value_count, dtype index) {
    return check_parts(parts, layout, value_count, index);
}

ZTENSOR_INLINE result<void> make_dense(const shape& dimensions, size_t element_bytes, uint64_t max_bytes,
                                       element_memory dense) {
    return guard_memory([&]() -> result<void> {
        const optional<uint64_t> count = dimensions.element_count();
        const optional<uint64_t> bytes = count ? checked_multiply(*count, element_bytes) : std::nullopt;
        if (!bytes || *bytes > max_bytes || !fits_address_space(*bytes)) {
            return fail(errc::limit_exceeded, "shape {} as a dense tensor takes more than {} bytes",
                        {to_string(dimensions), max_bytes});
        }
        dense.resize(dense.owner, static_cast<size_t>(*count));
        return {};
    });
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
