// SPDX-License-Identifier: MIT
//
// What a caller's element type may be read from, and the checks between a record and typed memory. SPEC.md section 4.
#ifndef ZTENSOR_DETAIL_READ_ELEMENT_ACCESS_HPP
#define ZTENSOR_DETAIL_READ_ELEMENT_ACCESS_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[nodiscard]] ZTENSOR_COLD inline error unknown_dtype(const opened_file& file, const component_record& component) {
    return fail(errc::unknown_dtype, "the storage type {} is none that this library knows; only std::byte can be read",
                {in_quotes(file.index.text(component.dtype_word))});
}

[[nodiscard]] ZTENSOR_COLD inline error unknown_numbers(const opened_file& file, const component_record& component) {
    return fail(errc::unsupported_type, "numbers of the logical type {} are unknown to this library",
                {in_quotes(type_name(file.index, component))});
}

/// This library knows what numbers the elements are: those of the file's version, and of f8_e8m0 and what shares bytes
/// in every one. Errors: unsupported_type.
[[nodiscard]] inline result<void> check_known_numbers(const opened_file& file, const component_record& component) {
    const std::string_view type = type_name(file.index, component);
    const bool is_known =
        component.logical_type != unknown_type ||
        (component.dtype == dtype::u8 && (type == "f8_e8m0" || ztensor::find_narrow_type(type) != nullptr));
    return is_known ? result<void>() : unknown_numbers(file, component);
}

[[nodiscard]] ZTENSOR_COLD inline error wrong_destination(std::uint64_t found, std::uint64_t expected) {
    return fail(errc::size_mismatch, "the destination has {} elements, but there are {}", {found, expected})
        .by_caller();
}

[[nodiscard]] ZTENSOR_COLD inline error misaligned_for(std::size_t alignment) {
    return fail(errc::misaligned_memory,
                "the bytes do not lie at a multiple of {}, as these elements need: read them into memory of their own",
                {alignment});
}

[[nodiscard]] inline result<void> check_whole_elements(std::uint64_t bytes, std::size_t element_bytes) {
    if (bytes % element_bytes == 0) {
        return {};
    }
    return fail(errc::size_mismatch, "{} bytes are no whole number of elements of {} bytes", {bytes, element_bytes});
}

/// What is stored is of the requested type. Errors: unknown_dtype, type_mismatch.
[[nodiscard]] ZTENSOR_COLD inline result<void>
check_stored_type(const opened_file& file, const component_record& component, const element_request& request) {
    if (!request.storage) {
        return {};
    }
    if (!component.dtype) {
        return unknown_dtype(file, component);
    }
    const std::string_view type = type_name(file.index, component);
    const bool is_bool_as_byte = component.dtype == dtype::boolean && request.storage == dtype::u8;
    if (request.storage == dtype::boolean && component.dtype == dtype::u8 && type == name(dtype::boolean) &&
        component.logical_type != unknown_type) { // of version 2, where it is a logical type
        return {};
    }
    const bool is_same_storage = component.dtype == request.storage || (is_bool_as_byte && request.type.empty());
    if (is_same_storage && (request.type.empty() || request.type == type)) {
        return {};
    }
    const bool has_type = !type.empty();
    const bool asks_type = !request.type.empty();
    // read_as() would do it, but for complex numbers and types that are unknown.
    const bool is_number = !has_type || (component.logical_type < logical_types.size() &&
                                         logical_types[component.logical_type].storage_elements == 1);
    const bool asks_float = (request.storage == dtype::f32 || request.storage == dtype::f64) && !asks_type;
    return fail(errc::type_mismatch, "the elements are {}{}{}, but {}{}{} was asked for{}",
                {name(*component.dtype), has_type ? " of type " : "", has_type ? in_quotes(type) : piece(""),
                 name(*request.storage), asks_type ? " of type " : "", asks_type ? in_quotes(request.type) : piece(""),
                 is_number && asks_float ? ": read_as<float>() or <double> converts them" : ""});
}

/// The component is an array of the requested elements. Errors: unknown_dtype, type_mismatch.
[[nodiscard]] inline result<void> check_element_type(const opened_file& file, const component_record& component,
                                                     const element_request& request) {
    if (request.storage && component.has_no_byte_order) {
        return fail(errc::needs_byteswap, "what big-endian means is only defined for dense data");
    }
    if (request.storage && component.holds_indices) {
        return fail(errc::type_mismatch, "the blob holds indices as well as values, so it is no array of elements: use "
                                         "csr_view or coo_view, or read std::byte");
    }
    return check_stored_type(file, component, request);
}

/// How many requested elements the component holds; nothing if only decoding tells. Errors: as check_element_type;
/// unsupported_encoding, size_mismatch.
[[nodiscard]] inline result<std::optional<std::uint64_t>>
count_elements(const opened_file& file, const component_record& component, const element_request& request) {
    ZTENSOR_TRY(check_element_type(file, component, request));
    ZTENSOR_TRY(check_encoding(file, component));
    const std::optional<std::uint64_t> bytes = component.decoded_length();
    if (!bytes) {
        return bytes;
    }
    ZTENSOR_TRY(check_whole_elements(*bytes, request.size_bytes));
    return std::optional(*bytes / request.size_bytes);
}

/// The same, if all of them may be held in memory. Errors: as count_elements; limit_exceeded, too_large_for_host.
[[nodiscard]] inline result<std::optional<std::uint64_t>>
count_loadable_elements(const opened_file& file, const component_record& component, const element_request& request) {
    result<std::optional<std::uint64_t>> count = count_elements(file, component, request);
    if (!count || !*count) {
        return count;
    }
    ZTENSOR_TRY(check_memory_limit(**count * request.size_bytes, file.options));
    return count;
}

struct element_range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// The elements of parts [first, last) of `parts` equal ones. Errors: out_of_bounds.
[[nodiscard]] inline result<element_range> part_of(std::uint64_t elements, std::uint64_t first, std::uint64_t last,
                                                   std::uint64_t parts) {
    if (first > last || last > parts || (parts != 0 && elements % parts != 0)) {
        return fail(errc::out_of_bounds, "parts {} to {} of {} were asked for, of {} elements",
                    {first, last, parts, elements})
            .by_caller();
    }
    const std::uint64_t each = parts == 0 ? 0 : elements / parts;
    return element_range{first * each, last * each};
}

/// True if the bytes of multi-byte elements are in the other order than the host's.
[[nodiscard]] constexpr bool is_foreign_order(const component_record& component) noexcept {
    return component.is_big_endian == host_is_little_endian;
}

/// The blob where it lies, if it is memory of such elements. Errors: as count_elements; not_viewable, needs_byteswap,
/// misaligned_memory.
[[nodiscard]] ZTENSOR_COLD inline result<bytes_view>
view_elements(const opened_file& file, const component_record& component, const element_request& request) {
    ZTENSOR_TRY(check_element_type(file, component, request));
    if (component.encoding != encoding::raw) {
        result<void> known = check_encoding(file, component);
        return !known ? std::move(known).error()
                      : fail(errc::not_viewable, "the component is compressed, so there is nothing to borrow: read it");
    }
    const std::optional<bytes_view> blob = mapped_blob(file, component);
    if (!blob) {
        return fail(errc::not_viewable, source_access::is_mapped(*file.source)
                                            ? "the elements do not lie in the file one after the other as they are "
                                              "(but compressed, transposed or scattered), so there is nothing to "
                                              "borrow: read them"
                                            : "the file is not mapped, so there is nothing to borrow: read it");
    }
    if (request.storage && width_bytes(*request.storage) > 1 && is_foreign_order(component)) {
        return fail(errc::needs_byteswap,
                    "the elements are stored {}-endian, and this host is not: read them, which swaps",
                    {component.is_big_endian ? "big" : "little"});
    }
    ZTENSOR_TRY(check_whole_elements(component.length, request.size_bytes));
    if (!fits_address_space(component.length)) {
        return fail(errc::too_large_for_host, "the component is larger than this host can address");
    }
    if (!blob->empty() && !is_aligned(*blob, request.alignment_bytes)) {
        return misaligned_for(request.alignment_bytes);
    }
    return *blob;
}

/// Decoded bytes of requested elements, from the file's byte order to the host's.
inline void to_host_order(const component_record& component, const element_request& request,
                          span<std::byte> decoded) noexcept {
    if (request.storage && is_foreign_order(component)) {
        swap_elements(decoded, width_bytes(*request.storage));
    }
}

/// Bool bytes become 0 and 1, where the file's generation lets any other byte stand for true; else those are refused.
/// SPEC.md section 4.4. `first` is the position of the first of them in the tensor. Errors: bad_bool.
[[nodiscard]] inline result<void> normalise_bools(const component_record& component, span<std::byte> bools,
                                                  std::uint64_t first = 0) {
    for (std::size_t position = 0; position < bools.size(); ++position) {
        if (bools[position] > std::byte{1}) {
            if (!component.any_nonzero_is_true) {
                return fail(errc::bad_bool, "element {} is a bool stored as {}, neither 0 nor 1",
                            {first + position, std::to_integer<unsigned>(bools[position])});
            }
            bools[position] = std::byte{1};
        }
    }
    return {};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
