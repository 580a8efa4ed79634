// SPDX-License-Identifier: MIT
//
// A manifest as text, to be compared with another one: every record, with places in the index instead of its words.
#ifndef ZTENSOR_TESTS_MANIFEST_DESCRIBED_HPP
#define ZTENSOR_TESTS_MANIFEST_DESCRIBED_HPP

#include <ztensor/detail/manifest/model.hpp>

#include <string>

namespace described {

[[nodiscard]] inline std::string describe(const ztensor::detail::manifest& index) {
    namespace detail = ztensor::detail;
    std::string out = std::to_string(static_cast<int>(index.generation)) + (index.names_are_sorted ? " sorted" : "");
    const auto add = [&](auto number) { out += ' ' + std::to_string(number); };
    for (const detail::object_record& object : index.objects) {
        out += "\n";
        for (const detail::index_item item : {object.name, object.format_word, object.shape, object.attributes}) {
            add(item.position);
        }
        add(object.first_component);
        add(object.component_count);
        add(index.element_count_of(object));
        add(object.format ? static_cast<int>(*object.format) : -1);
        add(int{object.has_attributes});
        for (const detail::component_record& each : index.components_of(object)) {
            out += "\n   ";
            for (const detail::index_item item :
                 {each.role, each.dtype_word, each.type_word, each.encoding_word, each.digest_text}) {
                add(item.position);
            }
            add(each.offset);
            add(each.length);
            add(each.uncompressed_length);
            add(each.dtype ? static_cast<int>(*each.dtype) : -1);
            add(each.encoding ? static_cast<int>(*each.encoding) : -1);
            add(int{each.logical_type});
            add(int{each.states_uncompressed_length} + 2 * int{each.knows_uncompressed_length} +
                4 * int{each.is_big_endian} + 8 * int{each.any_nonzero_is_true} + 16 * int{each.holds_indices} +
                32 * int{each.has_no_byte_order});
        }
    }
    return out;
}

} // namespace described

#endif
