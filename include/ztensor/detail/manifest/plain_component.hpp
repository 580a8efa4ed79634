// SPDX-License-Identifier: MIT
//
// Components whose map is plain: of definite length, with known fields alone, each once and in any order, and words
// that are known. Of files in which few components are encoded like one another, where a processor guesses most
// branches wrong: there are few, and what the words mean is found at once. SPEC.md section 3.3.
#ifndef ZTENSOR_DETAIL_MANIFEST_PLAIN_COMPONENT_HPP
#define ZTENSOR_DETAIL_MANIFEST_PLAIN_COMPONENT_HPP

#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/manifest/known_fields.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/manifest/pattern.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/vocabulary.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The fields of a component from 1.1 on.
inline constexpr std::string_view component_fields[] = {
    "dtype", "type", "offset", "length", "uncompressed_length", "encoding", "digest",
};
inline constexpr field_names component_field_names(component_fields);

/// One word of each row of a table, to be found as an item of the index.
template <std::size_t Count, class Row, std::size_t RowCount>
[[nodiscard]] constexpr std::array<std::string_view, Count> words_of(const std::array<Row, RowCount>& rows,
                                                                     std::string_view Row::*word) noexcept {
    std::array<std::string_view, Count> words;
    for (std::size_t row = 0; row < Count; ++row) {
        words[row] = rows[row].*word;
    }
    return words;
}
inline constexpr auto storage_words_1_1 = words_of<dtypes.size()>(dtypes, &dtype_facts::name);
inline constexpr auto logical_words_1_2 = words_of<logical_types_of_1_2>(logical_types, &logical_type_facts::name);
inline constexpr field_names storage_items_1_1(storage_words_1_1);
inline constexpr field_names logical_items_1_2(logical_words_1_2);

/// Behind the value at `at`, if it is a short item or a text with a head of two bytes; else nullptr.
[[nodiscard]] inline const std::byte* pass_plain_value(const std::byte* at) noexcept {
    constexpr std::byte text_of_one_byte_more{0x78};
    if (const std::size_t size = short_item_bytes(*at); size != 0) {
        return at + size;
    }
    return *at == text_of_one_byte_more ? at + 2 + std::to_integer<std::size_t>(at[1]) : nullptr;
}

/// Behind `characters`, if they stand at `at`; else nullptr.
[[nodiscard]] inline const std::byte* pass_characters(const std::byte* at, std::string_view characters) noexcept {
    const bool stand_there = std::memcmp(at, characters.data(), characters.size()) == 0; // == of texts is a call
    return stand_there ? at + characters.size() : nullptr;
}

/// Behind the text `word`, of less than 24 bytes, if it stands at `at` in its shortest form; else nullptr.
[[nodiscard]] inline const std::byte* pass_text(const std::byte* at, std::string_view word) noexcept {
    constexpr std::size_t empty_text = 0x60;
    return std::to_integer<std::size_t>(*at) == (empty_text | word.size()) ? pass_characters(at + 1, word) : nullptr;
}

/// Whether the text of a digest that is known and well-formed stands at `at`, in its shortest form.
[[nodiscard]] inline bool is_plain_digest(const std::byte* at) noexcept {
    constexpr std::byte one_byte_more{0x78}, sha256_bytes{71};
    if (at[0] == one_byte_more && at[1] == sha256_bytes) {
        const std::byte* const digits = pass_characters(at + 2, "sha256:");
        return digits != nullptr && pass_digits(digits, 64, false) != nullptr;
    }
    constexpr std::byte crc32c_bytes{0x6f}, crc32c_bytes_with_0x{0x71}; // with 0x, as the reference writes them
    const std::byte* const digits = at[0] == crc32c_bytes_with_0x ? pass_characters(at + 1, "crc32c:0x")
                                    : at[0] == crc32c_bytes       ? pass_characters(at + 1, "crc32c:")
                                                                  : nullptr;
    return digits != nullptr && pass_digits(digits, 8, false) != nullptr;
}

/// The encoding whose word stands at `at`, if it is known.
[[nodiscard]] inline known_word<encoding> plain_encoding(const std::byte* at) noexcept {
    return pass_text(at, "raw") != nullptr    ? known_word<encoding>(encoding::raw)
           : pass_text(at, "zstd") != nullptr ? known_word<encoding>(encoding::zstd)
                                              : known_word<encoding>();
}

/// Gives a component the types that the items at `dtype` and, unless it is null, at `type` stand for. False if one is
/// not known.
[[nodiscard]] inline bool take_plain_types(const std::byte* dtype, const std::byte* type,
                                           component_record& component) noexcept {
    constexpr known_fields storage_items = storage_items_1_1;
    const std::size_t storage = field_at(storage_items, dtype);
    if (storage == storage_items.count) {
        return false;
    }
    component.dtype = static_cast<ztensor::dtype>(storage);
    if (type == nullptr || field_at(storage_items, type) == storage) { // which says nothing more
        return true;
    }
    const std::size_t logical = field_at(logical_items_1_2, type);
    component.logical_type = static_cast<std::uint8_t>(logical);
    return logical != logical_types_of_1_2;
}

/// Where the component that stands at `at` in the index ends, or nullptr if the general way must look: then
/// `component`, of which nothing but its role was known, holds anything. pattern::reach_bytes of anything follow the
/// index: more than the most that is looked at, whatever stands there.
[[nodiscard]] ZTENSOR_NOINLINE inline const std::byte* pass_plain_component(const std::byte* index, const std::byte* at,
                                                                            component_record& component) noexcept {
    enum fields : std::size_t { dtype, type, offset, length, uncompressed_length, encoding, digest, field_count };
    constexpr known_fields known = component_field_names;
    constexpr std::size_t empty_map = 0xa0;
    index_item values[field_count] = {};
    const std::size_t pairs = std::to_integer<std::size_t>(*at++) - empty_map;
    if (pairs > field_count) {
        return nullptr;
    }
    for (std::size_t left = pairs; left != 0; --left) {
        const std::size_t field = field_at(known, at);
        if (field == field_count || values[field].is_present()) {
            return nullptr;
        }
        at = behind_key(at);
        values[field] = {static_cast<std::uint32_t>(at - index)};
        at = pass_plain_value(at);
        if (at == nullptr) {
            return nullptr;
        }
    }
    const auto item = [&](fields field) { return index + values[field].position; };
    const auto is_present = [&](fields field) { return values[field].is_present(); };
    component.dtype_word = values[dtype];
    component.type_word = values[type];
    component.encoding_word = values[encoding];
    component.digest_text = values[digest];
    component.states_uncompressed_length = component.knows_uncompressed_length = is_present(uncompressed_length);
    component.encoding = is_present(encoding) ? plain_encoding(item(encoding)) : ztensor::encoding::raw;
    const bool is_plain = is_present(dtype) && is_present(offset) && is_present(length) && component.encoding &&
                          take_plain_types(item(dtype), is_present(type) ? item(type) : nullptr, component) &&
                          pass_unsigned(item(offset), component.offset) != nullptr &&
                          pass_unsigned(item(length), component.length) != nullptr &&
                          (!is_present(uncompressed_length) ||
                           pass_unsigned(item(uncompressed_length), component.uncompressed_length) != nullptr) &&
                          (!is_present(digest) || is_plain_digest(item(digest)));
    return is_plain ? at : nullptr;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
