// SPDX-License-Identifier: MIT
//
// The parts of a sparse object as they are asked for, whatever the file keeps them in: each part borrowed where it lies
// in memory as it is needed, else owned. SPEC.md section 5.2, section 5.3.
#ifndef ZTENSOR_DETAIL_READ_SPARSE_PARTS_HPP
#define ZTENSOR_DETAIL_READ_SPARSE_PARTS_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/parts.hpp>

#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Memory for elements that views will share; of any content until it is written. Aligned for every element type.
class shared_memory {
public:
    explicit shared_memory(size_t element_bytes) noexcept : element_bytes_(element_bytes) {}
    shared_memory(size_t elements, size_t element_bytes) : shared_memory(element_bytes) { resize(elements); }

    /// New memory, of which the old content is no part. Throws std::bad_alloc.
    span<byte> resize(size_t elements) {
        const uint64_t wanted = checked_multiply(elements, element_bytes_).value_or(~uint64_t{0});
        if (!fits_address_space(wanted)) {
            raise_out_of_memory();
        }
        const auto size = static_cast<size_t>(wanted);
        owner_.reset(::operator new(size), [](void* memory) { ::operator delete(memory); });
        bytes_ = {static_cast<byte*>(owner_.get()), size};
        return bytes_;
    }
    [[nodiscard]] element_memory as_element_memory() noexcept {
        return {this, [](void* self, size_t elements) { return static_cast<shared_memory*>(self)->resize(elements); }};
    }
    [[nodiscard]] span<byte> bytes() const noexcept { return bytes_; }
    [[nodiscard]] shared_bytes share() const noexcept { return {bytes_, owner_}; }

private:
    size_t element_bytes_;
    std::shared_ptr<void> owner_;
    span<byte> bytes_;
};

/// The elements that a storage type stands for.
[[nodiscard]] inline element_request request_of(dtype storage, size_t alignment_bytes) noexcept {
    return {storage, {}, width_bytes(storage), alignment_bytes, false};
}

/// The elements of a component: all, or those of `part` alone.
inline result<shared_bytes> load_elements(const opened_file& file, const component_record& component,
                                          const element_request& request, loading how, call_budget& budget,
                                          const part_finder* part = nullptr) {
    if (how == loading::borrows && part == nullptr) {
        if (const result<bytes_view> borrowed = view_elements(file, component, request)) {
            return shared_bytes{*borrowed, nullptr};
        }
    }
    const string_view role = role_name(file.index, component);
    const optional<uint64_t> known = part == nullptr ? component.decoded_length() : std::nullopt;
    ZTENSOR_TRY(in_component(budget.take(known.value_or(0), 1), role));
    shared_memory memory(request.size_bytes);
    const element_memory room = memory.as_element_memory();
    ZTENSOR_TRY(in_component(part == nullptr ? read_elements(file, component, request, room)
                                             : read_part(file, component, request, *part, room),
                             role));
    ZTENSOR_TRY(in_component(budget.take(known ? 0 : memory.bytes().size(), 1), role));
    return memory.share();
}

/// Integers in host byte order as those of another integer type. Errors: sparse_dtype for a `storage` that is none;
/// sparse_index for what is negative or more than the other type can hold; limit_exceeded.
inline result<shared_bytes> convert_indices(bytes_view stored, dtype storage, dtype index, call_budget& budget) {
    const dtype_class category = facts(storage).category;
    if (category != dtype_class::unsigned_integer && category != dtype_class::signed_integer) {
        return fail(errc::sparse_dtype, "indices are stored as {}, which is no integer type", {name(storage)});
    }
    const integers_view from(stored, storage);
    const uint64_t largest = integers_view({}, index).largest();
    ZTENSOR_TRY(budget.take(from.size(), width_bytes(index)));
    const shared_memory converted(from.size(), width_bytes(index));
    integer_block block;
    for (size_t done = 0; done < from.size(); done += block.count) {
        from.widen(done, block);
        for (size_t i = 0; i < block.count; ++i) {
            if (from.is_negative(block.numbers[i])) {
                return fail(errc::sparse_index, "index {} of entry {} is negative",
                            {from.text_of(block.numbers[i]), done + i});
            }
            if (block.numbers[i] > largest) {
                return fail(errc::sparse_index, "index {} of entry {} is more than the index type asked for can hold",
                            {block.numbers[i], done + i});
            }
        }
        narrow_integers(block, width_bytes(index), converted.bytes().data() + done * width_bytes(index));
    }
    return converted.share();
}

/// The same; what is wrong with an index is said of a row pointer.
ZTENSOR_COLD inline result<shared_bytes> of_row_pointers(result<shared_bytes> indices) {
    if (indices || indices.error().code() != errc::sparse_index) {
        return indices;
    }
    return error(errc::sparse_indptr, indices.error().sentence()).in_component(indices.error().component());
}

/// What is checked is borrowed only where nobody can change it afterwards, or take it away meanwhile: never from a
/// file, whatever views may be had.
[[nodiscard]] inline loading of_checked(const opened_file& file, loading how) noexcept {
    return source_access::is_file(*file.source) ? loading::reads : how;
}

/// The indices of a component as `index`, all or those of `part`: borrowed if they are stored so. Errors:
/// unknown_dtype, unsupported_type, sparse_dtype, sparse_index, limit_exceeded.
inline result<shared_bytes> load_indices(const opened_file& file, const component_record& component, dtype index,
                                         loading how, call_budget& budget, const part_finder* part = nullptr) {
    const string_view role = role_name(file.index, component);
    if (component.logical_type == unknown_type) {
        return fail(errc::unsupported_type, "indices of the logical type {} are no integers that this library knows",
                    {in_quotes(type_name(file.index, component))})
            .in_component(role);
    }
    const bool is_as_asked = !component.dtype || component.dtype == index;
    const element_request stored =
        is_as_asked ? request_of(index, width_bytes(index)) : request_of(*component.dtype, 1);
    ZTENSOR_TRY_ASSIGN(shared_bytes indices,
                       load_elements(file, component, stored, of_checked(file, how), budget, part));
    return is_as_asked ? result<shared_bytes>(std::move(indices))
                       : in_component(convert_indices(indices.bytes, *component.dtype, index, budget), role);
}

/// The component of that role, of which the row pointers say that it has `entries` elements: where the file does not
/// state its size (1.0, 1.1), it is decoded to exactly that. Errors: sparse_indptr for more than its blob can decode
/// to.
inline result<component_record> find_entries(const opened_file& file, const object_record& object, string_view role,
                                             uint64_t entries) {
    component_record component = *find_component(file.index, object, role); // present: checked at open
    if (component.encoding != encoding::zstd || component.knows_uncompressed_length || !component.dtype ||
        component.logical_type == unknown_type) {
        return component;
    }
    const uint64_t element_bytes = width_bytes(*component.dtype) * storage_elements(component);
    const optional<uint64_t> bytes = checked_multiply(entries, element_bytes);
    if (!bytes || !can_decode_to(*bytes, component.length)) {
        return fail(errc::sparse_indptr,
                    "the last row pointer is {}, but a zstd blob of {} bytes can't decode to so many elements",
                    {entries, component.length})
            .in_component(role);
    }
    component.knows_uncompressed_length = true;
    component.uncompressed_length = *bytes;
    return component;
}

/// What stands behind check_sparse(), also where that is not defined.
inline result<void> check_parts(const sparse_parts& parts, format layout, uint64_t value_count, dtype index) {
    if (!parts.shape.is_valid()) {
        return fail(errc::sparse_shape, words_of(shape_access::flaw_of(parts.shape)));
    }
    return layout == format::sparse_csr
               ? check_csr(parts.shape, value_count, parts.indices.bytes, parts.indptr.bytes, index)
               : check_coo(parts.shape, value_count, parts.indices.bytes, index);
}

/// What the indices of `values` entries have to be, in every version and in version 2; and how they are sorted, if that
/// is asked for. Errors: those of check_parts(); sparse_order; strict_order.
inline result<void> check_indices_of(const opened_file& file, const sparse_parts& parts, format layout, uint64_t values,
                                     dtype index, bool is_strict) {
    const bool is_csr = layout == format::sparse_csr;
    const bytes_view indices = parts.indices.bytes;
    ZTENSOR_TRY(check_parts(parts, layout, values, index));
    if (file.index.version == version::v2) {
        ZTENSOR_TRY(is_csr ? check_rising_columns(indices, parts.indptr.bytes, index, errc::sparse_order)
                           : check_distinct_coords(parts.shape, indices, index));
    }
    if (is_strict) {
        ZTENSOR_TRY(is_csr ? check_rising_columns(indices, parts.indptr.bytes, index)
                           : check_rising_coords(parts.shape, indices, index));
    }
    return {};
}

/// Bytes of one value as it is asked for: of a T its size, of std::byte that of the component's own element; nothing if
/// its type is unknown.
[[nodiscard]] inline optional<size_t> known_value_bytes(const component_record& values,
                                                        const element_request& request) noexcept {
    if (request.storage) {
        return request.size_bytes;
    }
    if (!values.dtype || values.logical_type == unknown_type) {
        return std::nullopt;
    }
    return width_bytes(*values.dtype) * static_cast<size_t>(storage_elements(values));
}

/// The same of `bytes` that belong to `entries`, which tell the width of a value of an unknown type if they divide
/// them. Errors: unknown_dtype, unsupported_type if they don't: several values may share a byte.
inline result<size_t> value_bytes_of(const opened_file& file, const component_record& values,
                                     const element_request& request, size_t bytes, size_t entries) {
    if (const optional<size_t> known = known_value_bytes(values, request)) {
        return *known;
    }
    if (entries == 0 ? bytes == 0 : bytes != 0 && bytes % entries == 0) {
        return entries == 0 ? 1 : bytes / entries;
    }
    const bool is_of_known_dtype = static_cast<bool>(values.dtype);
    const manifest& index = file.index;
    return fail(is_of_known_dtype ? errc::unsupported_type : errc::unknown_dtype,
                "the width of a value can't be told: there are {} bytes for {} values of the type {}, which is unknown",
                {bytes, entries, in_quotes(is_of_known_dtype ? type_name(index, values) : dtype_name(index, values))})
        .in_component(role_name(index, values));
}

// -- sparse conversions
//
// Sparse matrices by rows turned into those by coordinates, and back. SPEC.md section 5.2 and section 5.3.

/// Indices as u64.
inline void widen_to(const integers_view& indices, byte* destination) noexcept {
    integer_block block;
    for (size_t done = 0; done < indices.size(); done += block.count) {
        indices.widen(done, block);
        narrow_integers(block, sizeof(uint64_t), destination + done * sizeof(uint64_t));
    }
}

[[nodiscard]] inline sparse_parts as_coo(const sparse_parts& csr, dtype index) {
    constexpr size_t width = sizeof(uint64_t);
    const integers_view pointers(csr.indptr.bytes, index);
    const integers_view columns(csr.indices.bytes, index);
    const shared_memory coords(2 * columns.size(), width);
    byte* at = coords.bytes().data();
    uint64_t entry = 0;
    integer_block block;
    for (size_t done = 0; done < pointers.size(); done += block.count) {
        pointers.widen(done, block);
        for (size_t i = 0; i < block.count; ++i) {
            const uint64_t row = done + i - 1; // which ends at this pointer; the first one is 0 and ends none
            for (; entry < block.numbers[i]; ++entry, at += width) {
                std::memcpy(at, &row, width);
            }
        }
    }
    widen_to(columns, at);
    return {csr.shape, csr.values, coords.share(), {}, csr.value_bytes};
}

/// How many entries each row has, in the place behind the row's own.
[[nodiscard]] inline vector<uint64_t> count_by_row(const integers_view& rows, uint64_t row_count) {
    vector<uint64_t> counts(static_cast<size_t>(row_count) + 1);
    integer_block block;
    for (size_t done = 0; done < rows.size(); done += block.count) {
        rows.widen(done, block);
        for (const uint64_t row : block) {
            ++counts[static_cast<size_t>(row) + 1];
        }
    }
    return counts;
}

/// Of one length that a compiler knows, where values have it.
inline void copy_value(byte* to, const byte* from, size_t size) noexcept {
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

inline result<sparse_parts> as_csr(const sparse_parts& coo, dtype index, uint64_t max_bytes) {
    constexpr size_t width = sizeof(uint64_t);
    ZTENSOR_TRY(check_csr_shape(coo.shape));
    if (coo.shape[0] >= max_bytes / width || !fits_address_space((coo.shape[0] + 1) * width)) {
        return fail(errc::limit_exceeded, "the pointers of {} rows take more than {} bytes", {coo.shape[0], max_bytes});
    }
    const integers_view coords(coo.indices.bytes, index);
    const size_t entries = coords.size() / 2;
    const integers_view rows = coords.subview(0, entries);
    const integers_view columns = coords.subview(entries, entries);
    vector<uint64_t> next = count_by_row(rows, coo.shape[0]); // where the next entry of each row goes
    for (size_t row = 1; row < next.size(); ++row) {
        next[row] += next[row - 1];
    }
    const shared_memory indptr(next.size(), width);
    std::memcpy(indptr.bytes().data(), next.data(), next.size() * width);
    const shared_memory sorted_columns(entries, width);
    const shared_memory sorted_values(entries, coo.value_bytes);
    integer_block row_block;
    integer_block column_block;
    for (size_t done = 0; done < entries; done += row_block.count) {
        rows.widen(done, row_block);
        columns.widen(done, column_block);
        for (size_t i = 0; i < row_block.count; ++i) {
            const auto place = static_cast<size_t>(next[static_cast<size_t>(row_block.numbers[i])]++);
            std::memcpy(sorted_columns.bytes().data() + place * width, &column_block.numbers[i], width);
            copy_value(sorted_values.bytes().data() + place * coo.value_bytes,
                       coo.values.bytes.data() + (done + i) * coo.value_bytes, coo.value_bytes);
        }
    }
    return sparse_parts{coo.shape, sorted_values.share(), sorted_columns.share(), indptr.share(), coo.value_bytes};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
