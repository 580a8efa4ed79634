// SPDX-License-Identifier: MIT
//
// What the words of an index mean, and that no name stands twice: where the differences between versions end. SPEC.md
// section 3 and section 8.
#ifndef ZTENSOR_DETAIL_MANIFEST_MEANING_HPP
#define ZTENSOR_DETAIL_MANIFEST_MEANING_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/manifest/name_table.hpp>
#include <ztensor/detail/manifest/words.hpp>
#include <ztensor/result.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Neither has a logical type, and the other words are the same.
[[nodiscard]] inline bool has_words_of(const manifest& index, const component_record& a,
                                       const component_record& b) noexcept {
    return !b.type_word.is_present() && a.dtype_word.is_present() && b.dtype_word.is_present() &&
           a.encoding_word.is_present() == b.encoding_word.is_present() &&
           index.text(a.dtype_word) == index.text(b.dtype_word) &&
           index.text(a.encoding_word) == index.text(b.encoding_word);
}

ZTENSOR_COLD inline void interpret(const manifest& index, component_record& component) {
    interpret_dtype(index, index.text(component.dtype_word), component);
    interpret_type(index.text(component.type_word), index.text(component.dtype_word), component);
    component.encoding = component.encoding_word.is_present() ? find_encoding(index.text(component.encoding_word))
                                                              : ztensor::encoding::raw;
}

/// Most components of a file have the words of the one before them, and then mean the same.
ZTENSOR_COLD inline void interpret_words(manifest& into) {
    const component_record* before = nullptr;
    for (std::size_t i = 0; i < into.components.size(); ++i) {
        component_record& component = into.components[i];
        if (before != nullptr && has_words_of(into, *before, component)) {
            component.dtype = before->dtype;
            component.encoding = before->encoding;
        } else {
            interpret(into, component);
        }
        before = component.type_word.is_present() || component.logical_type != plain_type ? nullptr : &component;
    }
    if (into.generation == generation::v0_1) { // which has words of its own for the format
        return;
    }
    std::string_view word;
    known_word<format> meaning;
    for (object_record& object : into.objects) {
        if (const std::string_view next = into.text(object.format_word); next != word) {
            word = next;
            meaning = find_format(next);
        }
        object.format = meaning;
    }
}

/// Sorted names are distinct. Others go into the table that look-ups will use: it finds a twin without sorting.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_object_names(const manifest& index, std::uint64_t index_offset) {
    const std::uint32_t twin = index.names_are_sorted ? name_table::absent : index.index_names();
    if (twin == name_table::absent) {
        return {};
    }
    error why = fail(errc::duplicate_key, "two objects have this name").in_object(index.name_of(twin));
    return index.is_foreign() ? why : std::move(why).at(index_offset + index.objects[twin].name.position);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
