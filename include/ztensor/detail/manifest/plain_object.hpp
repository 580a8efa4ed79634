// SPDX-License-Identifier: MIT
//
// Dense objects whose map is plain: a shape, a format and one component, in any order. Of files in which few objects
// are encoded like one another. SPEC.md section 3.2.
#ifndef ZTENSOR_DETAIL_MANIFEST_PLAIN_OBJECT_HPP
#define ZTENSOR_DETAIL_MANIFEST_PLAIN_OBJECT_HPP

#include <ztensor/detail/manifest/known_fields.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/manifest/pattern.hpp>
#include <ztensor/detail/manifest/plain_component.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A dense object while it is read: records that were new, and what nobody keeps.
struct plain_object {
    object_record& object;
    component_record& data;
    std::string_view name = {};
    std::uint64_t element_count = 0;
};

/// Where the object ends whose map stands at `at` in the index, or nullptr if the general way must look: then `found`
/// holds anything. pattern::reach_bytes of anything follow the index.
[[nodiscard]] inline const std::byte* pass_plain_object(bytes_view index, const std::byte* at,
                                                        plain_object& found) noexcept {
    static constexpr std::string_view fields[] = {"shape", "format", "components"};
    static constexpr field_names known(fields);
    constexpr std::size_t shape = 0, format = 1, field_count = 3;
    constexpr std::byte map_of_three{0xa3}, map_of_one{0xa1};
    index_item values[field_count] = {};
    at = *at == map_of_three ? at + 1 : nullptr;
    for (std::size_t left = field_count; left != 0; --left) {
        if (at == nullptr || at >= index.end()) {
            return nullptr;
        }
        const std::size_t field = field_at(known, at);
        if (field == field_count || values[field].is_present()) {
            return nullptr;
        }
        at = behind_key(at);
        values[field] = {static_cast<std::uint32_t>(at - index.data())};
        if (field == shape) {
            at = pass_shape<false>(at, found.element_count);
        } else if (field == format) {
            at = pass_text(at, "dense");
        } else {
            found.data.role = {values[field].position + 1};
            at = *at == map_of_one ? pass_text(at + 1, "data") : nullptr;
            at = at != nullptr ? pass_plain_component(index.data(), at, found.data) : nullptr;
        }
    }
    found.object.shape = values[shape];
    found.object.format_word = values[format];
    found.object.format = ztensor::format::dense;
    found.object.component_count = 1;
    return at != nullptr && at <= index.end() ? at : nullptr;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
