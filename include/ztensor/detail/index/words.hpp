// SPDX-License-Identifier: MIT
//
// What words of a manifest mean in each version. SPEC.md section 3.2, section 4, section 8.
#ifndef ZTENSOR_DETAIL_INDEX_WORDS_HPP
#define ZTENSOR_DETAIL_INDEX_WORDS_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/format.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Of a version 1.MINOR or 1.MINOR.anything: 1.3 and later count as 1.2, since minor versions only add. Nothing for
/// every other text.
[[nodiscard]] ZTENSOR_COLD inline optional<version> find_version(string_view text) noexcept {
    constexpr size_t max_version_bytes = 32;
    const string_view minor = text.substr((std::min<size_t>)(2, text.size()));
    const size_t digits = (std::min)(minor.find_first_not_of("0123456789"), minor.size());
    const bool ends_there = (digits == minor.size() || minor[digits] == '.') && (digits < 2 || minor[0] != '0');
    if (text.size() > max_version_bytes || text.substr(0, 2) != "1." || digits == 0 || !ends_there) {
        return std::nullopt;
    }
    const bool is_before_1_2 = digits == 1 && minor[0] <= '1';
    return is_before_1_2 ? version::v1_1 : version::v1_2;
}

/// The words of storage types, each as the number that its characters make.
struct storage_words {
    explicit constexpr storage_words(string_view dtype_facts::*name) noexcept {
        for (size_t row = 0; row < dtypes.size(); ++row) {
            const string_view word = dtypes[row].*name;
            for (size_t i = 0; i < word.size(); ++i) { // at most 8: else this is no constant
                numbers[row] |= static_cast<uint64_t>(word[i]) << 8 * i;
            }
        }
    }
    uint64_t numbers[dtypes.size()] = {};
};
inline constexpr storage_words storage_names(&dtype_facts::name);
inline constexpr storage_words long_storage_names(&dtype_facts::long_name);

/// The storage type of that word. Not find_dtype(), which unrolls into a kilobyte, and compares text.
[[nodiscard]] ZTENSOR_NOINLINE inline known_word<dtype> find_storage(string_view word,
                                                                     const storage_words& words) noexcept {
    if (word.empty() || word.size() > sizeof(uint64_t) || word.back() == '\0') { // which adds nothing to a number
        return {};
    }
    const uint64_t number = load_little(as_bytes(word).data(), word.size());
    for (size_t row = 0; row < dtypes.size(); ++row) {
        if (words.numbers[row] == number) {
            return dtypes[row].id;
        }
    }
    return {};
}

/// The component's storage type, and the logical type that some words of 1.1 carry. A component without the word keeps
/// what it has.
ZTENSOR_COLD inline void interpret_dtype(const manifest& index, string_view word,
                                         component_record& component) noexcept {
    const version from = index.version;
    if (!component.dtype_word.is_present()) {
        return;
    }
    if (from <= version::v1_0) {
        component.dtype = find_storage(word, long_storage_names);
        return;
    }
    component.dtype = find_storage(word, storage_names);
    if (!component.dtype && from == version::v1_1) {
        for (size_t row = 0; row < logical_types.size(); ++row) {
            if (logical_types[row].name_as_dtype == word && !word.empty()) {
                component.dtype = logical_types[row].storage;
                component.logical_type = static_cast<uint8_t>(row);
            }
        }
    }
}

/// The component's logical type. The storage type's own name is none.
ZTENSOR_COLD inline void interpret_type(string_view word, string_view dtype_word,
                                        component_record& component) noexcept {
    if (!component.type_word.is_present()) {
        return;
    }
    if (const logical_type_facts* const row = find_logical_type(word)) {
        component.logical_type = static_cast<uint8_t>(row - logical_types.data());
    } else if (word != dtype_word) {
        component.logical_type = unknown_type;
    }
}

/// What the words of a component mean.
ZTENSOR_COLD inline void resolve_words(const manifest& index, component_record& component) noexcept {
    interpret_dtype(index, index.text(component.dtype_word), component);
    interpret_type(index.text(component.type_word), index.text(component.dtype_word), component);
    component.encoding = component.encoding_word.is_present() ? find_encoding(index.text(component.encoding_word))
                                                              : ztensor::encoding::raw;
}

/// The same in version 2.
inline void resolve_words_2(const manifest& index, component_record& part) noexcept {
    part.dtype = find_storage(index.text(part.dtype_word), storage_names);
    if (part.type_word.is_present()) {
        const logical_type_facts* const row = find_any_logical_type(index.text(part.type_word));
        part.logical_type = row != nullptr ? static_cast<uint8_t>(row - logical_types.data()) : unknown_type;
    }
    part.encoding = part.encoding_word.is_present() ? find_registered_encoding(index.text(part.encoding_word))
                                                    : optional<encoding>(encoding::raw);
}

/// The same of an object of 1.0 to 1.2.
inline void resolve_words(manifest& index, object_record& object) noexcept {
    for (component_record& component : index.components_of(object)) {
        resolve_words(index, component);
    }
    object.format = find_format(index.text(object.format_word));
}

/// Sorted names are distinct. Others go into the table that look-ups will use: it finds a twin without sorting.
ZTENSOR_COLD inline result<void> check_object_names(const manifest& index, uint64_t index_offset) {
    const uint32_t twin = index.names_are_sorted ? name_table::absent : index.index_names();
    if (twin == name_table::absent) {
        return {};
    }
    error why = fail(errc::duplicate_key, "two objects have this name").in_object(index.name_of(twin));
    return index.is_foreign() ? why : std::move(why).at(index_offset + index.position_of(index.objects[twin].name));
}

/// The end of parsing before version 2, where its words have their meanings and no name stands twice. Where the version
/// came behind the objects, `knows_words` is false.
ZTENSOR_COLD inline result<void> resolve(manifest& index, bool knows_words, uint64_t index_offset) {
    for (size_t i = 0; i < index.objects.size() && !knows_words; ++i) {
        resolve_words(index, index.objects[i]);
    }
    return check_object_names(index, index_offset);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
