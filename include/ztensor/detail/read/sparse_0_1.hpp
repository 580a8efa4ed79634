// SPDX-License-Identifier: MIT
//
// Sparse tensors of 0.1, and conversions between sparse layouts. SPEC.md section 5, section 8.3.
#ifndef ZTENSOR_DETAIL_READ_SPARSE_0_1_HPP
#define ZTENSOR_DETAIL_READ_SPARSE_0_1_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/index/fields.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/sparse_rules.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/read/element_access.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/sparse_parts.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- sparse 0 1
//
// Sparse tensors of 0.1, which keep their parts in one blob, or the values there and the indices in the manifest.
// SPEC.md section 8.3.

/// Loads the parts of a sparse tensor of 0.1. What they are to each other is not checked here.
class sparse_loader_0_1 {
public:
    sparse_loader_0_1(const opened_file& file, const object_record& object, format layout, loading how,
                      const element_request& value, dtype index, call_budget& budget) noexcept
        : file_(file), object_(object), blob_(file.index.components_of(object).data()[0]), layout_(layout), how_(how),
          value_(value), index_(index), budget_(budget) {}

    /// Errors: needs_byteswap, unknown_dtype (also for std::byte, if only the width of a value tells where the parts
    /// are), type_mismatch, sparse_size, sparse_index, sparse_indptr; as reading does.
    [[nodiscard]] result<sparse_parts> load() const {
        if (blob_.is_big_endian) { // of std::byte, too
            return fail(errc::needs_byteswap, "what big-endian means is only defined for dense data")
                .in_component("data");
        }
        if (blob_.holds_indices && !blob_.dtype) {
            return unknown_dtype(file_, blob_).in_component("data");
        }
        if (result<void> valid = check_stored_type(file_, blob_, value_); !valid) {
            return std::move(valid).error().in_component("data");
        }
        return blob_.holds_indices ? load_one_blob() : load_values_and_arrays();
    }

private:
    static constexpr std::size_t index_bytes = sizeof(std::uint64_t); ///< of every index that is stored

    [[nodiscard]] bool is_csr() const noexcept { return layout_ == format::sparse_csr; }

    [[nodiscard]] result<sparse_parts> load_values_and_arrays() const {
        sparse_parts parts;
        parts.shape = file_.index.shape_of(object_);
        ZTENSOR_TRY_ASSIGN(shared_bytes values, load_elements(file_, blob_, value_, how_, budget_));
        parts.values = std::move(values);
        ZTENSOR_TRY_ASSIGN(const shared_bytes indices_of_all, load_array(is_csr() ? "indices" : "coords"));
        ZTENSOR_TRY_ASSIGN(const shared_bytes indptr, is_csr() ? load_array("indptr") : shared_bytes());
        const result<void> converted = set_indices(parts, indices_of_all, indptr);
        if (!converted) {
            return converted.error();
        }
        const std::size_t indices = parts.indices.bytes.size() / width_bytes(index_);
        const std::size_t entries = is_csr() ? indices : indices / parts.shape.rank();
        ZTENSOR_TRY_ASSIGN(const std::size_t value_bytes,
                           value_bytes_of(file_, blob_, value_, parts.values.bytes.size(), entries));
        parts.value_bytes = value_bytes;
        return parts;
    }

    /// The numbers of an index array in the manifest, as u64 in host byte order. Errors: limit_exceeded.
    [[nodiscard]] result<shared_bytes> load_array(std::string_view field) const {
        cbor_cursor array = index_array_0_1(file_.index, object_, field);
        const std::uint64_t count = count_numbers(array).value_or(0); // which is an array: checked at open
        ZTENSOR_TRY(budget_.take(count, index_bytes));
        const shared_memory numbers(static_cast<std::size_t>(count), index_bytes);
        std::byte* at = numbers.bytes().data();
        cbor_sequence items;
        std::uint64_t number = 0;
        for (array.enter_array(items); array.next(items) && array.read_unsigned(number); at += index_bytes) {
            std::memcpy(at, &number, index_bytes);
        }
        return numbers.share();
    }

    [[nodiscard]] result<sparse_parts> load_one_blob() const {
        ZTENSOR_TRY_ASSIGN(const shared_bytes blob,
                           load_elements(file_, blob_, element_request(), of_checked(file_, how_), budget_));
        sparse_parts parts;
        parts.shape = file_.index.shape_of(object_);
        parts.value_bytes = *known_value_bytes(blob_, value_); // known: load() looked
        ZTENSOR_TRY_ASSIGN(const std::uint64_t entries,
                           count_entries_0_1(layout_, parts.shape, parts.value_bytes, blob.bytes.size()));
        const auto count = static_cast<std::size_t>(entries);
        const result<void> taken = is_csr() ? cut_csr(blob, count, parts) : sort_coo(blob, count, parts);
        if (!taken) {
            return taken.error();
        }
        return parts;
    }

    /// The blob is indptr u64[rows + 1], indices u64[entries], then the values.
    [[nodiscard]] result<void> cut_csr(const shared_bytes& blob, std::size_t entries, sparse_parts& parts) const {
        const std::size_t indices_at = (static_cast<std::size_t>(parts.shape[0]) + 1) * index_bytes;
        const std::size_t values_at = indices_at + entries * index_bytes;
        const element_request u64s = request_of(dtype::u64, index_bytes);
        parts.values = elements_within(blob, values_at, entries * parts.value_bytes, value_);
        return set_indices(parts, elements_within(blob, indices_at, entries * index_bytes, u64s),
                           elements_within(blob, 0, indices_at, u64s));
    }

    /// The blob is entries of (one u64 for each dimension, one value).
    [[nodiscard]] result<void> sort_coo(const shared_bytes& blob, std::size_t entries, sparse_parts& parts) const {
        const std::size_t rank = parts.shape.rank();
        ZTENSOR_TRY(budget_.take(entries, rank * index_bytes + parts.value_bytes));
        const shared_memory coords(entries * rank, index_bytes);
        const shared_memory values(entries, parts.value_bytes);
        const std::byte* from = blob.bytes.data();
        for (std::size_t entry = 0; entry < entries; ++entry) {
            for (std::size_t axis = 0; axis < rank; ++axis, from += index_bytes) {
                const std::uint64_t coordinate = load_little(from, index_bytes);
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
    [[nodiscard]] static shared_bytes elements_within(const shared_bytes& blob, std::size_t offset, std::size_t size,
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

    static void from_file_order(const element_request& request, span<std::byte> little_endian) noexcept {
        if (!host_is_little_endian && request.storage) {
            swap_elements(little_endian, width_bytes(*request.storage));
        }
    }

    /// Both from u64 in host byte order. Errors: sparse_index, sparse_indptr.
    [[nodiscard]] result<void> set_indices(sparse_parts& parts, const shared_bytes& indices,
                                           const shared_bytes& indptr) const {
        ZTENSOR_TRY_ASSIGN(shared_bytes as_asked, as_index(indices));
        parts.indices = std::move(as_asked);
        if (!is_csr()) {
            return {};
        }
        result<shared_bytes> pointers = as_index(indptr);
        if (!pointers) {
            return of_row_pointers(std::move(pointers).error());
        }
        parts.indptr = *std::move(pointers);
        return {};
    }

    [[nodiscard]] result<shared_bytes> as_index(const shared_bytes& u64s) const {
        return index_ == dtype::u64 ? u64s : convert_indices(u64s.bytes, dtype::u64, index_, budget_);
    }

    const opened_file& file_;
    const object_record& object_;
    const component_record& blob_;
    format layout_;
    loading how_;
    element_request value_;
    dtype index_;
    call_budget& budget_;
};

// -- sparse conversions
//
// Sparse matrices by rows turned into those by coordinates, and back. SPEC.md section 5.2 and section 5.3.

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
    ZTENSOR_TRY(check_csr_shape(coo.shape));
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

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
