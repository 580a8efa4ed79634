// SPDX-License-Identifier: MIT
//
// How long the data of a dense object must be, and a look that tells most of them to be valid. SPEC.md section 4.3.
#ifndef ZTENSOR_DETAIL_INDEX_DENSE_RULES_HPP
#define ZTENSOR_DETAIL_INDEX_DENSE_RULES_HPP

#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/layouts.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstdint>
#include <optional>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Of a component whose type is known.
[[nodiscard]] inline std::uint64_t element_bytes(const component_record& component) noexcept {
    return width_bytes(*component.dtype) * storage_elements(component);
}

/// The same of any component; 0 if its words are not all known, its types do not fit each other, or its elements are
/// parts of bytes.
[[nodiscard]] ZTENSOR_COLD inline std::uint64_t known_element_bytes(const manifest& index,
                                                                    const component_record& component) noexcept {
    const std::uint8_t type = component.logical_type;
    const bool is_known =
        component.dtype && component.encoding &&
        (!component.digest_text.is_present() || parse_digest(index.text(component.digest_text)).is_well_formed) &&
        (type == plain_type || (type < logical_types.size() && component.dtype == logical_types[type].storage));
    return is_known && packed_elements(component) == 1 ? element_bytes(component) : 0;
}

/// Whether a dense object with this data, of elements of so many bytes, keeps every rule: false if more has to be
/// looked at, as for one without elements.
[[nodiscard]] inline bool is_valid_dense(const manifest& index, const component_record& data,
                                         std::uint64_t element_count, std::uint64_t element_bytes) noexcept {
    const std::optional<std::uint64_t> size = checked_multiply(element_count, element_bytes);
    const bool is_raw = data.encoding == encoding::raw;
    const std::uint64_t decoded = is_raw ? data.length : data.uncompressed_length;
    const bool has_size = element_count != 0 && size == decoded && (is_raw || data.states_uncompressed_length) &&
                          (!data.states_uncompressed_length || data.uncompressed_length == decoded);
    return has_size && (data.offset & (index.alignment_bytes - 1)) == 0 && data.offset >= index.alignment_bytes &&
           fits(data.offset, data.length, index.blobs_end) && (is_raw || can_decode_to(decoded, data.length));
}

/// Of all elements of the shape, or nothing where 64 bits don't hold that: before version 2 whatever zero may hide it.
/// `type` is null for the storage type's own.
[[nodiscard]] inline std::optional<std::uint64_t> bytes_of_elements(const shape& dimensions, dtype storage,
                                                                    const logical_type_facts* type,
                                                                    bool zero_hides_overflow) noexcept {
    const std::uint64_t packed = type != nullptr ? type->packed_elements : 1;
    const std::uint64_t each = width_bytes(storage) * (type != nullptr ? type->storage_elements : 1);
    if (zero_hides_overflow && ends_in_zero(dimensions)) {
        return 0;
    }
    if (packed == 1) {
        return dense_bytes(dimensions, each);
    }
    const std::optional<std::uint64_t> count = dimensions.element_count();
    return count ? std::optional(*count / packed + (*count % packed != 0 ? 1u : 0u)) : std::nullopt;
}

/// The data of a dense object, of elements of a type that is known: for what is read and for what is to be written.
/// `found` is their size, if it is known before they are decoded.
/// Errors: shape_overflow, size_mismatch.
ZTENSOR_NOINLINE inline result<void> check_dense_size(const shape& dimensions, dtype storage,
                                                      const logical_type_facts* type, bool zero_hides_overflow,
                                                      std::optional<std::uint64_t> found) {
    const std::optional<std::uint64_t> expected = bytes_of_elements(dimensions, storage, type, zero_hides_overflow);
    if (!expected) {
        const std::uint64_t each = width_bytes(storage) * (type != nullptr ? type->storage_elements : 1);
        return fail(errc::shape_overflow, "shape {} of elements of {} bytes needs more than 2^64 bytes",
                    {to_string(dimensions), each});
    }
    if (found && *found != *expected) {
        return fail(errc::size_mismatch, "the data takes {} bytes, but shape {} of {} takes {}",
                    {*found, to_string(dimensions), type != nullptr ? type->name : name(storage), *expected});
    }
    return {};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
