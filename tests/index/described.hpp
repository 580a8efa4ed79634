// SPDX-License-Identifier: MIT
//
// A manifest as text, to be compared with another one: all that a caller can read of it, by value. Where a word stands
// in the index does not count, nor how the records lie in memory.
#ifndef ZTENSOR_TESTS_MANIFEST_DESCRIBED_HPP
#define ZTENSOR_TESTS_MANIFEST_DESCRIBED_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/index/model.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace described {

namespace detail = ztensor::detail;

/// With its size, so that two texts never look like one.
inline void add_text(std::string& out, std::string_view text) {
    out += ' ' + std::to_string(text.size()) + ':';
    out += text;
}

/// What is absent differs from what is empty.
inline void add_word(std::string& out, const detail::manifest& index, detail::index_item item) {
    if (item.is_present()) {
        add_text(out, index.text(item));
    } else {
        out += " -";
    }
}

inline void add_number(std::string& out, std::uint64_t number) {
    out += ' ' + std::to_string(number);
}

inline void add_part(std::string& out, const detail::manifest& index, const detail::component_record& each) {
    out += "\n   ";
    add_text(out, detail::role_name(index, each));
    add_text(out, detail::dtype_name(index, each));
    add_text(out, detail::type_name(index, each));
    for (const detail::index_item item :
         {each.role, each.dtype_word, each.type_word, each.encoding_word, each.digest_text}) {
        add_word(out, index, item);
    }
    for (const std::uint64_t number :
         {std::uint64_t{each.offset}, std::uint64_t{each.length}, std::uint64_t{each.uncompressed_length}}) {
        add_number(out, number);
    }
    out += each.dtype ? " dtype " + std::to_string(static_cast<int>(*each.dtype)) : "";
    out += each.encoding ? " encoding " + std::to_string(static_cast<int>(*each.encoding)) : "";
    out += " type " + std::to_string(static_cast<int>(each.logical_type));
    out += each.states_uncompressed_length ? " stated" : "";
    out += each.knows_uncompressed_length ? " known" : "";
    out += each.is_big_endian ? " big" : "";
    out += each.any_nonzero_is_true ? " truth" : "";
    out += each.holds_indices ? " indices" : "";
    out += each.has_no_byte_order ? " without order" : "";
}

inline void add_object(std::string& out, const detail::manifest& index, const detail::object_record& object) {
    out += "\n";
    add_word(out, index, object.name);
    add_word(out, index, object.format_word);
    add_text(out, detail::format_name(index, object));
    out += object.format ? " format " + std::to_string(static_cast<int>(*object.format)) : "";
    out += " [";
    for (const std::uint64_t each : index.shape_of(object)) {
        add_number(out, each);
    }
    out += " ]";
    add_number(out, index.element_count_of(object));
    out += object.has_attributes ? " attributes" : "";
    for (const ztensor::attribute& each : detail::attributes_of(index, object)) {
        add_text(out, each.key);
        add_text(out, detail::as_text(each.cbor));
    }
    for (const detail::component_record& each : index.components_of(object)) {
        add_part(out, index, each);
    }
}

[[nodiscard]] inline std::string describe(const detail::manifest& index) {
    std::string out = std::to_string(static_cast<int>(index.version)) + (index.names_are_sorted ? " sorted" : "");
    for (const detail::object_record& object : index.objects) {
        add_object(out, index, object);
    }
    return out;
}

} // namespace described

#endif
