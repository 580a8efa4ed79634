// SPDX-License-Identifier: MIT
//
// Dense tensors of 0.1 whose map is plain: with short values, and with one custom key at most.
// SPEC.md section 8.3.
#ifndef ZTENSOR_DETAIL_MANIFEST_PLAIN_TENSOR_0_1_HPP
#define ZTENSOR_DETAIL_MANIFEST_PLAIN_TENSOR_0_1_HPP

#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/manifest/fields_0_1.hpp>
#include <ztensor/detail/manifest/known_fields.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/manifest/pattern.hpp>
#include <ztensor/detail/manifest/plain_component.hpp>
#include <ztensor/detail/manifest/plain_object.hpp>
#include <ztensor/detail/manifest/words.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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
