// SPDX-License-Identifier: MIT
//
// Components whose map is plain: of definite length, with known fields alone, each once and in any order, and words of
// ASCII. Of files in which few components are encoded like one another. SPEC.md §3.3.
#ifndef ZTENSOR_DETAIL_MANIFEST_PLAIN_COMPONENT_HPP
#define ZTENSOR_DETAIL_MANIFEST_PLAIN_COMPONENT_HPP

#include <ztensor/detail/manifest/known_fields.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/manifest/pattern.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The fields of a component from 1.1 on.
inline constexpr std::string_view component_fields[] = {
    "dtype", "type", "offset", "length", "uncompressed_length", "encoding", "digest",
};
inline constexpr field_names component_field_names(component_fields);

/// Where the component that stands at `at` in the index ends, or nullptr if the general way must look: then `component`
/// holds anything. pattern::reach_bytes of anything follow the index: more than the most that is looked at, whatever
/// stands there.
[[nodiscard]] ZTENSOR_NOINLINE inline const std::byte* pass_plain_component(const std::byte* index, const std::byte* at,
                                                                            component_record& component) noexcept {
    constexpr known_fields known = component_field_names;
    constexpr std::size_t field_count = sizeof(component_fields) / sizeof(component_fields[0]);
    constexpr std::size_t empty_map = 0xa0, first_number = 2, last_number = 4;
    std::uint64_t numbers[field_count] = {};
    index_item places[field_count] = {}; // of the values
    const std::size_t pairs = std::to_integer<std::size_t>(*at++) - empty_map;
    for (std::size_t left = pairs; left != 0; --left) {
        const std::size_t field = pairs <= field_count ? field_at(known, at) : field_count;
        if (field == field_count || places[field].is_present()) {
            return nullptr;
        }
        at += 1 + known.names[field].size();
        places[field] = {static_cast<std::uint32_t>(at - index)};
        std::string_view word;
        const bool is_number = field >= first_number && field <= last_number;
        at = is_number ? pass_unsigned(at, numbers[field]) : pass_name(at, word);
        if (at == nullptr) {
            return nullptr;
        }
    }
    const auto [dtype, type, offset, length, uncompressed_length, encoding, digest] = places;
    component.dtype_word = dtype;
    component.type_word = type;
    component.offset = numbers[2];
    component.length = numbers[3];
    component.uncompressed_length = numbers[last_number];
    component.states_uncompressed_length = component.knows_uncompressed_length = uncompressed_length.is_present();
    component.encoding_word = encoding;
    component.digest_text = digest;
    return dtype.is_present() && offset.is_present() && length.is_present() ? at : nullptr;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
