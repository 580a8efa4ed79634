// SPDX-License-Identifier: MIT
//
// Components and objects whose maps are plain. SPEC.md section 3.2, section 3.3, section 8.3.
#ifndef ZTENSOR_DETAIL_INDEX_PLAIN_COMPONENT_HPP
#define ZTENSOR_DETAIL_INDEX_PLAIN_COMPONENT_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/index/fields.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/pattern.hpp>
#include <ztensor/detail/index/words.hpp>
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

// -- plain component
//
// Components whose map is plain: of definite length, with known fields alone, each once and in any order, and words
// that are known. Of files in which few components are encoded like one another, where a processor guesses most
// branches wrong: there are few, and what the words mean is found at once. SPEC.md section 3.3.

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

// -- plain object
//
// Dense objects whose map is plain: a shape, a format and one component, in any order. Of files in which few objects
// are encoded like one another. SPEC.md section 3.2.

/// A dense object while it is read: its new records, and what is not kept.
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

// -- plain tensor 0 1
//
// Dense tensors of 0.1 whose map is plain: with short values, and with one custom key at most.
// SPEC.md section 8.3.

inline constexpr field_names field_items_0_1(fields_0_1);

/// The values of such a map: the position of each field's in the index, or 0.
struct plain_map_0_1 {
    static constexpr std::size_t name = field_0_1("name"), offset = field_0_1("offset"), size = field_0_1("size"),
                                 dtype = field_0_1("dtype"), layout = field_0_1("layout"), shape = field_0_1("shape"),
                                 encoding = field_0_1("encoding"), byte_order = field_0_1("data_endianness"),
                                 checksum = field_0_1("checksum"), sparse_format = field_0_1("sparse_format"),
                                 indptr = field_0_1("indptr"), indices = field_0_1("indices"),
                                 coords = field_0_1("coords");

    index_item values[fields_0_1.size()];
    bool has_custom_key = false;

    [[nodiscard]] bool has(std::size_t field) const noexcept { return values[field].is_present(); }
};

/// Where the map ends that stands at `at` in the index, or nullptr if the general way must look; of its shape the
/// number of elements, too.
[[nodiscard]] inline const std::byte* pass_plain_map_0_1(bytes_view index, const std::byte* at, plain_map_0_1& found,
                                                         std::uint64_t& element_count) noexcept {
    constexpr known_fields known = field_items_0_1;
    constexpr std::byte indefinite_map{0xbf}, end_of_map{0xff}, longest_short_text{0x77};
    constexpr std::size_t empty_map = 0xa0, most_pairs = fields_0_1.size() + 1;
    const bool is_indefinite = *at == indefinite_map; // as the reference writes them
    std::size_t left = is_indefinite ? 0 : std::to_integer<std::size_t>(*at) - empty_map;
    if (left > most_pairs) {
        return nullptr;
    }
    ++at;
    for (; is_indefinite ? *at != end_of_map : left != 0; --left) {
        const std::size_t field = at < index.end() ? field_at(known, at) : known.count;
        if (field != known.count) {
            at = behind_key(at);
            const bool is_new = !found.values[field].is_present();
            found.values[field] = {static_cast<std::uint32_t>(at - index.data())};
            at = !is_new ? nullptr : field == found.shape ? pass_shape<false>(at, element_count) : pass_plain_value(at);
        } else { // of no field, for each of them has a key that is as short as can be
            std::string_view key;
            at = found.has_custom_key || *at > longest_short_text ? nullptr : pass_name(at, key);
            found.has_custom_key = true;
            at = at != nullptr ? pass_plain_value(at) : nullptr;
        }
        if (at == nullptr) {
            return nullptr;
        }
    }
    at += is_indefinite ? 1 : 0;
    return at <= index.end() ? at : nullptr;
}

/// The same of a tensor: then `found` holds anything. pattern::reach_bytes of anything follow the index.
[[nodiscard]] ZTENSOR_NOINLINE inline const std::byte* pass_plain_tensor_0_1(bytes_view index, const std::byte* at,
                                                                             plain_object& found) noexcept {
    object_record& object = found.object;
    component_record& data = found.data;
    plain_map_0_1 map;
    const std::byte* const end = pass_plain_map_0_1(index, at, map, found.element_count);
    const bool has_fields = map.has(map.name) && map.has(map.offset) && map.has(map.size) && map.has(map.dtype) &&
                            map.has(map.shape) && map.has(map.encoding);
    const bool may_be_sparse =
        map.has(map.sparse_format) || map.has(map.indptr) || map.has(map.indices) || map.has(map.coords);
    if (end == nullptr || !has_fields || may_be_sparse) {
        return nullptr;
    }
    const auto item = [&](std::size_t field) { return index.data() + map.values[field].position; };
    const auto is_null = [&](std::size_t field) { return *item(field) == std::byte{0xf6}; };
    object.name = map.values[map.name];
    object.shape = map.values[map.shape];
    object.attributes = {static_cast<std::uint32_t>(at - index.data())};
    object.has_attributes = map.has_custom_key;
    object.format_word = map.values[map.layout];
    object.format = format::dense;
    object.component_count = 1;
    data.dtype_word = map.values[map.dtype];
    data.encoding_word = map.values[map.encoding];
    data.encoding = plain_encoding(item(map.encoding));
    data.any_nonzero_is_true = true;
    if (map.has(map.checksum) && !is_null(map.checksum)) {
        data.digest_text = map.values[map.checksum];
    }
    std::string_view dtype_word;
    if (pass_name(item(map.dtype), dtype_word) != nullptr) {
        data.dtype = find_storage(dtype_word, long_storage_names);
    }
    const bool has_plain_words =
        data.dtype && data.encoding && pass_name(item(map.name), found.name) != nullptr &&
        (!map.has(map.layout) || pass_text(item(map.layout), "dense") != nullptr) &&
        (!map.has(map.byte_order) || is_null(map.byte_order) || pass_text(item(map.byte_order), "little") != nullptr) &&
        (!data.digest_text.is_present() || is_plain_digest(index.data() + data.digest_text.position));
    const bool has_numbers = pass_unsigned(item(map.offset), data.offset) != nullptr &&
                             pass_unsigned(item(map.size), data.length) != nullptr;
    return has_plain_words && has_numbers ? end : nullptr;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
