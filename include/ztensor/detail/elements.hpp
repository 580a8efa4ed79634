// SPDX-License-Identifier: MIT
//
// What a caller's element type may be read from, and the checks between a record and typed memory. SPEC.md §4.
#ifndef ZTENSOR_DETAIL_ELEMENTS_HPP
#define ZTENSOR_DETAIL_ELEMENTS_HPP

#include <ztensor/detail/codec.hpp>
#include <ztensor/detail/endian.hpp>
#include <ztensor/detail/text.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/manifest.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace ztensor {
inline namespace v0 {
namespace detail {

/// A C++ element type, as far as the checks need it.
struct element_request {
    std::optional<dtype> storage; ///< nothing: the bytes of any type
    std::string_view type;        ///< logical type; "": the stored elements themselves
    std::size_t size_bytes = 1;
};

template <class T>
[[nodiscard]] constexpr element_request element_request_of() noexcept {
    if constexpr (std::is_same_v<T, std::byte>) {
        return {};
    } else {
        static_assert(is_element_v<T>, "specialise ztensor::element_traits for this type");
        static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % width_bytes(element_traits<T>::storage) == 0,
                      "an element type is a trivially copyable run of its storage elements");
        return {element_traits<T>::storage, element_traits<T>::type, sizeof(T)};
    }
}

[[nodiscard]] inline error unknown_dtype(const opened_file& file, const component_record& component) {
    return error(errc::unknown_dtype, "the storage type " + quote(file.index.text(component.dtype_word)) +
                                          " is none that this library knows; only std::byte can be read");
}

[[nodiscard]] inline error wrong_destination(std::uint64_t found, std::uint64_t expected) {
    return error(errc::size_mismatch, "the destination has " + std::to_string(found) + " elements, but there are " +
                                          std::to_string(expected));
}

[[nodiscard]] inline error misaligned_for(std::size_t alignment) {
    return error(errc::misaligned_memory, "the bytes do not lie at a multiple of " + std::to_string(alignment) +
                                              ", as these elements need: read them into memory of their own");
}

[[nodiscard]] inline result<void> check_whole_elements(std::uint64_t bytes, std::size_t element_bytes) {
    if (bytes % element_bytes == 0) {
        return {};
    }
    return error(errc::size_mismatch, std::to_string(bytes) + " bytes are no whole number of elements of " +
                                          std::to_string(element_bytes) + " bytes");
}

/// What is stored is of the requested type. Errors: unknown_dtype, type_mismatch.
[[nodiscard]] inline result<void> check_stored_type(const opened_file& file, const component_record& component,
                                                    const element_request& request) {
    if (!request.storage) {
        return {};
    }
    if (!component.dtype) {
        return unknown_dtype(file, component);
    }
    const std::string_view type = type_name(file.index, component);
    const bool is_bool_as_byte = component.dtype == dtype::boolean && request.storage == dtype::u8;
    const bool is_same_storage = component.dtype == request.storage || (is_bool_as_byte && request.type.empty());
    if (is_same_storage && (request.type.empty() || request.type == type)) {
        return {};
    }
    const auto describe = [](std::string_view storage, std::string_view logical) {
        return std::string(storage) + (logical.empty() ? "" : " of type " + quote(logical));
    };
    return error(errc::type_mismatch, "the elements are " + describe(name(*component.dtype), type) + ", but " +
                                          describe(name(*request.storage), request.type) + " was asked for");
}

/// The component is an array of the requested elements. Errors: unknown_dtype, type_mismatch.
[[nodiscard]] inline result<void> check_element_type(const opened_file& file, const component_record& component,
                                                     const element_request& request) {
    if (request.storage && component.has_no_byte_order) {
        return error(errc::needs_byteswap, "what big-endian means is only defined for dense data");
    }
    if (request.storage && component.holds_indices) {
        return error(errc::type_mismatch,
                     "the blob holds indices as well as values, so it is no array of elements: use "
                     "csr_view or coo_view, or read std::byte");
    }
    return check_stored_type(file, component, request);
}

/// How many requested elements the component holds; nothing if only decoding tells. Errors: as check_element_type;
/// unsupported_encoding, size_mismatch.
[[nodiscard]] inline result<std::optional<std::uint64_t>> count_elements(const opened_file& file,
                                                                         const component_record& component,
                                                                         const element_request& request) {
    result<void> valid = check_element_type(file, component, request);
    if (valid) {
        valid = check_encoding(file, component);
    }
    const std::optional<std::uint64_t> bytes = component.decoded_length();
    if (valid && bytes) {
        valid = check_whole_elements(*bytes, request.size_bytes);
    }
    if (!valid) {
        return std::move(valid).error();
    }
    return bytes ? std::optional(*bytes / request.size_bytes) : std::nullopt;
}

/// The same, if all of them may be held in memory. Errors: as count_elements; limit_exceeded, too_large_for_host.
[[nodiscard]] inline result<std::optional<std::size_t>> count_loadable_elements(const opened_file& file,
                                                                                const component_record& component,
                                                                                const element_request& request) {
    return count_elements(file, component, request)
        .and_then([&](std::optional<std::uint64_t> count) -> result<std::optional<std::size_t>> {
            if (!count) {
                return std::optional<std::size_t>();
            }
            if (result<void> allowed = check_memory_limit(*count * request.size_bytes, file.options); !allowed) {
                return std::move(allowed).error();
            }
            return std::optional(static_cast<std::size_t>(*count));
        });
}

struct element_range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// The elements of parts [first, last) of `parts` equal ones. Errors: out_of_bounds.
[[nodiscard]] inline result<element_range> part_of(std::uint64_t elements, std::uint64_t first, std::uint64_t last,
                                                   std::uint64_t parts) {
    if (first > last || last > parts || (parts != 0 && elements % parts != 0)) {
        return error(errc::out_of_bounds, "parts " + std::to_string(first) + " to " + std::to_string(last) + " of " +
                                              std::to_string(parts) + " were asked for, of " +
                                              std::to_string(elements) + " elements");
    }
    const std::uint64_t each = parts == 0 ? 0 : elements / parts;
    return element_range{first * each, last * each};
}

/// True if the bytes of multi-byte elements are in the other order than the host's.
[[nodiscard]] constexpr bool is_foreign_order(const component_record& component) noexcept {
    return component.is_big_endian == host_is_little_endian;
}

/// The blob itself is memory of such elements. Errors: as count_elements; not_viewable, needs_byteswap.
[[nodiscard]] inline result<void> check_viewable(const opened_file& file, const component_record& component,
                                                 const element_request& request) {
    result<void> valid = check_element_type(file, component, request);
    if (!valid) {
        return valid;
    }
    if (component.encoding != encoding::raw) {
        valid = check_encoding(file, component);
        return !valid
                   ? valid
                   : error(errc::not_viewable, "the component is compressed, so there is nothing to borrow: read it");
    }
    if (!mapped_blob(file, component)) {
        return error(errc::not_viewable, "the file is not mapped, so there is nothing to borrow: read it");
    }
    if (request.storage && width_bytes(*request.storage) > 1 && is_foreign_order(component)) {
        return error(errc::needs_byteswap, std::string("the elements are stored ") +
                                               (component.is_big_endian ? "big" : "little") +
                                               "-endian, and this host is not: read them, which swaps");
    }
    valid = check_whole_elements(component.length, request.size_bytes);
    if (valid && !fits_address_space(component.length)) {
        return error(errc::too_large_for_host, "the component is larger than this host can address");
    }
    return valid;
}

/// Decoded bytes of requested elements, from the file's byte order to the host's.
inline void to_host_order(const component_record& component, const element_request& request,
                          span<std::byte> decoded) noexcept {
    if (request.storage && is_foreign_order(component)) {
        swap_elements(decoded, width_bytes(*request.storage));
    }
}

/// Bool bytes become 0 and 1, where the file's generation lets any other byte stand for true; else those are refused.
/// SPEC.md §4.4. Errors: bad_bool.
template <class Byte>
[[nodiscard]] result<void> normalise_bools(const component_record& component, span<Byte> bools) {
    std::size_t position = 0;
    for (Byte& each : bools) {
        if (static_cast<unsigned>(each) > 1) {
            if (!component.any_nonzero_is_true) {
                return error(errc::bad_bool, "element " + std::to_string(position) + " is a bool stored as " +
                                                 std::to_string(static_cast<unsigned>(each)) + ", neither 0 nor 1");
            }
            each = Byte{1};
        }
        ++position;
    }
    return {};
}
template <class Byte>
[[nodiscard]] result<void> normalise_bools(const component_record& component, std::vector<Byte>& bools) {
    return normalise_bools(component, span<Byte>(bools));
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
