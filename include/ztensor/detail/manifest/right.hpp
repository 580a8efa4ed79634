// SPDX-License-Identifier: MIT
//
// A quick look that tells most objects to be right, so that manifest_validator need not look at them: it says of the
// others what is wrong, if anything is. SPEC.md section 2.3, section 4.3, section 5.1, section 6.2.
#ifndef ZTENSOR_DETAIL_MANIFEST_RIGHT_HPP
#define ZTENSOR_DETAIL_MANIFEST_RIGHT_HPP

#include <ztensor/detail/codec/digest_text.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/manifest/pattern.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Of a component whose type is known.
[[nodiscard]] inline std::uint64_t element_bytes(const component_record& component) noexcept {
    return width_bytes(*component.dtype) * storage_elements(component);
}

/// The same of one whose words are all known; 0 if its types do not fit each other, or its elements are parts of bytes.
[[nodiscard]] inline std::uint64_t plain_element_bytes(const component_record& component) noexcept {
    const std::uint8_t type = component.logical_type;
    const bool fits_storage =
        type == plain_type || (type < logical_types.size() && component.dtype == logical_types[type].storage);
    return fits_storage && packed_elements(component) == 1 ? element_bytes(component) : 0;
}

/// The same of any component; 0, too, if its words are not all known.
[[nodiscard]] ZTENSOR_NOINLINE inline std::uint64_t known_element_bytes(const manifest& index,
                                                                        const component_record& component) noexcept {
    const bool is_known =
        component.dtype && component.encoding &&
        (!component.digest_text.is_present() || parse_digest(index.text(component.digest_text)).is_well_formed);
    return is_known ? plain_element_bytes(component) : 0;
}

/// Its blob lies where one may.
[[nodiscard]] inline bool has_right_place(const manifest& index, const component_record& component,
                                          std::uint64_t blobs_end) noexcept {
    return (component.offset & (index.alignment_bytes - 1)) == 0 && component.offset >= index.alignment_bytes &&
           fits(component.offset, component.length, blobs_end);
}

/// The data of a dense object, of elements of so many bytes; 0, if that is not known. Of an empty one more has to be
/// said.
[[nodiscard]] inline bool is_right_dense(const manifest& index, const component_record& data,
                                         std::uint64_t element_count, std::uint64_t element_bytes,
                                         std::uint64_t blobs_end) noexcept {
    const std::optional<std::uint64_t> size = checked_multiply(element_count, element_bytes);
    const bool is_raw = data.encoding == encoding::raw;
    const std::uint64_t decoded = is_raw ? data.length : data.uncompressed_length;
    const bool has_size = element_bytes != 0 && element_count != 0 && size == decoded &&
                          (is_raw || data.states_uncompressed_length) &&
                          (!data.states_uncompressed_length || data.uncompressed_length == decoded);
    return has_size && has_right_place(index, data, blobs_end) && (is_raw || can_decode_to(decoded, data.length));
}

/// A part of any object: whole elements of so many bytes, stored as they are; 0, if that is not known.
[[nodiscard]] inline bool is_right_part(const manifest& index, const component_record& part,
                                        std::uint64_t element_bytes, std::uint64_t blobs_end) noexcept {
    return element_bytes != 0 && part.encoding == encoding::raw && !part.states_uncompressed_length &&
           part.length % element_bytes == 0 && has_right_place(index, part, blobs_end);
}

/// A sparse_csr object whose parts, no two of which have one role, are right each by itself.
[[nodiscard]] ZTENSOR_COLD inline bool is_right_csr(const manifest& index, const object_record& object) noexcept {
    static constexpr std::string_view roles[] = {"values", "indices", "indptr"};
    constexpr std::size_t values = 0, indices = 1, indptr = 2;
    std::uint64_t counts[] = {0, 0, 0};
    for (const component_record& part : index.components_of(object)) {
        const std::size_t role = place_of(index.text(part.role), roles);
        const bool has_type = role == values || (part.dtype == dtype::u64 && part.logical_type == plain_type);
        if (role > indptr || !has_type) {
            return false;
        }
        counts[role] = part.length / element_bytes(part);
    }
    constexpr std::byte two_dimensions{0x82};
    const std::byte* const shape = index.from(object.shape).data();
    std::uint64_t rows = 0;
    return object.component_count == indptr + 1 && *shape == two_dimensions &&
           pass_unsigned(shape + 1, rows) != nullptr && counts[values] == counts[indices] && counts[indptr] != 0 &&
           counts[indptr] - 1 == rows;
}

/// It has what its format, which is known, needs.
[[nodiscard]] ZTENSOR_COLD inline bool has_required_roles(const manifest& index, const object_record& object) noexcept {
    for (const std::string_view role : facts(*object.format).required_roles) {
        if (!role.empty() && find_component(index, object, role) == nullptr) {
            return false;
        }
    }
    return true;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
