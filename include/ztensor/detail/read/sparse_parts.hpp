// SPDX-License-Identifier: MIT
//
// The parts of a sparse object as they are asked for, whatever the file keeps them in: each part borrowed where it lies
// in memory as it is needed, else owned. SPEC.md section 5.2, section 5.3.
#ifndef ZTENSOR_DETAIL_READ_SPARSE_PARTS_HPP
#define ZTENSOR_DETAIL_READ_SPARSE_PARTS_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/sparse_rules.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/read/element_access.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/parts.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Memory for elements that views will share; of any content until it is written. Aligned for every element type.
class shared_memory {
public:
    explicit shared_memory(std::size_t element_bytes) noexcept : element_bytes_(element_bytes) {}
    shared_memory(std::size_t elements, std::size_t element_bytes) : shared_memory(element_bytes) { resize(elements); }

    /// New memory, of which the old content is no part. Throws std::bad_alloc.
    span<std::byte> resize(std::size_t elements) {
        const std::uint64_t wanted = checked_multiply(elements, element_bytes_).value_or(~std::uint64_t{0});
        if (!fits_address_space(wanted)) {
            raise_out_of_memory();
        }
        const auto size = static_cast<std::size_t>(wanted);
        owner_.reset(::operator new(size), [](void* memory) { ::operator delete(memory); });
        bytes_ = {static_cast<std::byte*>(owner_.get()), size};
        return bytes_;
    }
    [[nodiscard]] element_memory as_element_memory() noexcept {
        return {this,
                [](void* self, std::size_t elements) { return static_cast<shared_memory*>(self)->resize(elements); }};
    }
    [[nodiscard]] span<std::byte> bytes() const noexcept { return bytes_; }
    [[nodiscard]] shared_bytes share() const noexcept { return {bytes_, owner_}; }

private:
    std::size_t element_bytes_;
    std::shared_ptr<void> owner_;
    span<std::byte> bytes_;
};

/// The elements that a storage type stands for.
[[nodiscard]] inline element_request request_of(dtype storage, std::size_t alignment_bytes) noexcept {
    return {storage, {}, width_bytes(storage), alignment_bytes, false};
}

/// All elements of a component.
[[nodiscard]] inline result<shared_bytes> load_elements(const opened_file& file, const component_record& component,
                                                        const element_request& request, loading how,
                                                        call_budget& budget) {
    if (how == loading::borrows) {
        if (const result<bytes_view> borrowed = view_elements(file, component, request)) {
            return shared_bytes{*borrowed, nullptr};
        }
    }
    const std::string_view role = role_name(file.index, component);
    const std::optional<std::uint64_t> known = component.decoded_length();
    if (result<void> allowed = budget.take(known.value_or(0), 1); !allowed) {
        return std::move(allowed).error().in_component(role);
    }
    shared_memory memory(request.size_bytes);
    if (result<void> read = read_elements(file, component, request, memory.as_element_memory()); !read) {
        return std::move(read).error().in_component(role);
    }
    if (result<void> allowed = budget.take(known ? 0 : memory.bytes().size(), 1); !allowed) {
        return std::move(allowed).error().in_component(role);
    }
    return memory.share();
}

/// Integers in host byte order as those of another integer type. Errors: sparse_dtype for a `storage` that is none;
/// sparse_index for what is negative or more than the other type can hold; limit_exceeded.
[[nodiscard]] inline result<shared_bytes> convert_indices(bytes_view stored, dtype storage, dtype index,
                                                          call_budget& budget) {
    const dtype_class category = facts(storage).category;
    if (category != dtype_class::unsigned_integer && category != dtype_class::signed_integer) {
        return fail(errc::sparse_dtype, "indices are stored as {}, which is no integer type", {name(storage)});
    }
    const integers_view from(stored, storage);
    const std::uint64_t largest = integers_view({}, index).largest();
    ZTENSOR_TRY(budget.take(from.size(), width_bytes(index)));
    const shared_memory converted(from.size(), width_bytes(index));
    integer_block block;
    for (std::size_t done = 0; done < from.size(); done += block.count) {
        from.widen(done, block);
        for (std::size_t i = 0; i < block.count; ++i) {
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

/// The same error, of row pointers.
[[nodiscard]] ZTENSOR_COLD inline error of_row_pointers(error why) {
    if (why.code() != errc::sparse_index) {
        return why;
    }
    return error(errc::sparse_indptr, why.sentence()).in_component(why.component());
}

/// Indices of a logical type that is unknown are no numbers to us. Errors: unsupported_type.
[[nodiscard]] inline result<void> check_index_type(const opened_file& file, const component_record& component) {
    if (component.logical_type != unknown_type) {
        return {};
    }
    return fail(errc::unsupported_type, "indices of the logical type {} are no integers that this library knows",
                {in_quotes(type_name(file.index, component))})
        .in_component(role_name(file.index, component));
}

/// What is checked is borrowed only where nobody can change it afterwards, or take it away meanwhile: never from a
/// file, whatever views may be had.
[[nodiscard]] inline loading of_checked(const opened_file& file, loading how) noexcept {
    return source_access::is_file(*file.source) ? loading::reads : how;
}

/// All indices of a component as `index`: borrowed if they are stored so. Errors: unknown_dtype, sparse_dtype,
/// sparse_index, limit_exceeded.
[[nodiscard]] inline result<shared_bytes> load_indices(const opened_file& file, const component_record& component,
                                                       dtype index, loading how, call_budget& budget) {
    ZTENSOR_TRY(check_index_type(file, component));
    const bool is_as_asked = !component.dtype || component.dtype == index;
    const element_request stored =
        is_as_asked ? request_of(index, width_bytes(index)) : request_of(*component.dtype, 1);
    const result<shared_bytes> indices = load_elements(file, component, stored, of_checked(file, how), budget);
    if (!indices || is_as_asked) {
        return indices;
    }
    result<shared_bytes> converted = convert_indices(indices->bytes, *component.dtype, index, budget);
    if (!converted) {
        return std::move(converted).error().in_component(role_name(file.index, component));
    }
    return converted;
}

/// Elements of parts [first, last) of `parts` equal ones of a component; of raw data reading only their bytes.
[[nodiscard]] inline result<shared_bytes> load_range(const opened_file& file, const component_record& component,
                                                     const element_request& request, std::uint64_t first,
                                                     std::uint64_t last, std::uint64_t parts, call_budget& budget) {
    shared_memory memory(request.size_bytes);
    const part_finder find(first, last, parts);
    result<void> read = read_part(file, component, request, find, memory.as_element_memory());
    if (read) {
        read = budget.take(memory.bytes().size(), 1); // not more than one limit of all is above it until here
    }
    if (!read) {
        return std::move(read).error().in_component(role_name(file.index, component));
    }
    return memory.share();
}

/// The same for indices, as `index`.
[[nodiscard]] inline result<shared_bytes> load_index_range(const opened_file& file, const component_record& component,
                                                           dtype index, std::uint64_t first, std::uint64_t last,
                                                           std::uint64_t parts, call_budget& budget) {
    ZTENSOR_TRY(check_index_type(file, component));
    const dtype storage = component.dtype ? *component.dtype : index; // what is unknown is refused when it is read
    const result<shared_bytes> stored = load_range(file, component, request_of(storage, 1), first, last, parts, budget);
    if (!stored) {
        return stored;
    }
    result<shared_bytes> converted = convert_indices(stored->bytes, storage, index, budget);
    if (!converted) {
        return std::move(converted).error().in_component(role_name(file.index, component));
    }
    return converted;
}

/// The component of that role, of which the row pointers say that it has `entries` elements: where the file does not
/// state its size (1.0, 1.1), it is decoded to exactly that. Errors: sparse_indptr for more than its blob can decode
/// to.
[[nodiscard]] inline result<component_record> find_entries(const opened_file& file, const object_record& object,
                                                           std::string_view role, std::uint64_t entries) {
    component_record component = *find_component(file.index, object, role); // present: checked at open
    if (component.encoding != encoding::zstd || component.knows_uncompressed_length || !component.dtype ||
        component.logical_type == unknown_type) {
        return component;
    }
    const std::uint64_t element_bytes = width_bytes(*component.dtype) * storage_elements(component);
    const std::optional<std::uint64_t> bytes = checked_multiply(entries, element_bytes);
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

/// Bytes of one value as it is asked for: of a T its size, of std::byte that of the component's own element; nothing if
/// its type is unknown.
[[nodiscard]] inline std::optional<std::size_t> known_value_bytes(const component_record& values,
                                                                  const element_request& request) noexcept {
    if (request.storage) {
        return request.size_bytes;
    }
    if (!values.dtype || values.logical_type == unknown_type) {
        return std::nullopt;
    }
    return width_bytes(*values.dtype) * static_cast<std::size_t>(storage_elements(values));
}

/// The same of `bytes` that belong to `entries`, which tell the width of a value of an unknown type if they divide
/// them. Errors: unknown_dtype, unsupported_type if they don't: several values may share a byte.
[[nodiscard]] inline result<std::size_t> value_bytes_of(const opened_file& file, const component_record& values,
                                                        const element_request& request, std::size_t bytes,
                                                        std::size_t entries) {
    if (const std::optional<std::size_t> known = known_value_bytes(values, request)) {
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

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
