// SPDX-License-Identifier: MIT
//
// The model -> the deterministic CBOR of version 2, byte for byte as its reference writer has it. SPEC.md section 13.
#ifndef ZTENSOR_DETAIL_MANIFEST_WRITE_2_HPP
#define ZTENSOR_DETAIL_MANIFEST_WRITE_2_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/cbor/to_deterministic.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/sort.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/detail/manifest/entries.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Bools are bytes with a meaning there, and a type that says nothing new is left out.
inline void say_in_2(dtype& storage, std::optional<std::string_view>& type) noexcept {
    if (type && *type == name(storage)) {
        type.reset();
    }
    if (storage == dtype::boolean) {
        storage = dtype::u8;
        type = type ? type : std::optional<std::string_view>("bool");
    }
}

/// The layout for a format in the words of 1.2, or for itself.
[[nodiscard]] inline std::string_view layout_word(std::string_view format) noexcept {
    const std::optional<ztensor::format> known = find_format(format);
    return known ? facts(*known).layout : format;
}

/// "dense", or a name with a namespace before a point and a version behind a stroke: "vendor.layout/1".
[[nodiscard]] ZTENSOR_COLD inline bool is_layout_word(std::string_view word) noexcept {
    const std::size_t point = word.find('.'), stroke = word.rfind('/');
    const std::string_view version = stroke != std::string_view::npos ? word.substr(stroke + 1) : std::string_view();
    const bool is_number = !version.empty() && version.find_first_not_of("0123456789") == std::string_view::npos;
    return word == name(format::dense) ||
           (point != std::string_view::npos && point != 0 && point + 1 < stroke && is_number);
}

/// "00001" for the first: five digits or more.
[[nodiscard]] ZTENSOR_COLD inline std::string shard_name(std::uint32_t number) {
    constexpr std::size_t least_digits = 5;
    std::string digits;
    append_number(digits, number);
    return std::string(digits.size() < least_digits ? least_digits - digits.size() : 0, '0') + digits;
}

/// Calls `add(item)` for all of `count` items, in the order of their keys, `key_of(item) -> std::string_view`.
template <class KeyOf, class Add>
void for_each_in_order_2(std::size_t count, const KeyOf& key_of, const Add& add) {
    record_array<std::uint32_t> order;
    for (std::uint32_t i = 0; i < count; ++i) {
        order.push_back(i);
    }
    sort_positions({order.data(), order.size()},
                   [&](std::uint32_t a, std::uint32_t b) { return comes_before_2(key_of(a), key_of(b)); });
    for (const std::uint32_t item : order) {
        add(item);
    }
}

/// Whose values are in deterministic encoding already.
ZTENSOR_COLD inline void encode_attributes_2(cbor_encoder& out, const attributes& source) {
    const auto& values = source.values();
    out.begin_map(values.size());
    for_each_in_order_2(
        values.size(), [&](std::uint32_t i) { return std::string_view(values[i].key); },
        [&](std::uint32_t i) {
            out.text(values[i].key);
            out.encoded({values[i].cbor.data(), values[i].cbor.size()});
        });
}

ZTENSOR_COLD inline void encode_part_2(cbor_encoder& out, const component_entry& part) {
    const bool has_encoding = part.uncompressed_length.has_value(); // some file may have one that is called "raw"
    out.begin_map(std::uint64_t{2} + part.type.has_value() + (part.shard != 0) + part.has_digest() +
                  (has_encoding ? 2u : 0u));
    out.text("blob");
    out.begin_array(2);
    out.unsigned_integer(part.offset);
    out.unsigned_integer(part.length);
    if (part.type) {
        out.text("type");
        out.text(*part.type);
    }
    out.text("dtype");
    out.text(part.dtype);
    if (part.shard != 0) {
        out.text("shard");
        out.text(shard_name(part.shard));
    }
    if (part.has_digest()) {
        out.text("digest");
        out.text(part.digest());
    }
    if (has_encoding) {
        out.text("encoding");
        out.text(part.encoding);
        out.text("decoded_length");
        out.unsigned_integer(*part.uncompressed_length);
    }
}

/// The value behind the object's name. Its entries are in the words of version 2.
ZTENSOR_COLD inline void encode_object_2(cbor_encoder& out, const object_entry& object) {
    out.begin_map(std::uint64_t{3} + (object.attributes != nullptr));
    out.text("parts");
    out.begin_map(object.components.size());
    for_each_in_order_2(
        object.components.size(), [&](std::uint32_t i) { return object.components[i].role; },
        [&](std::uint32_t i) {
            out.text(object.components[i].role);
            encode_part_2(out, object.components[i]);
        });
    out.text("shape");
    out.begin_array(object.shape->rank());
    for (const std::uint64_t dimension : *object.shape) {
        out.unsigned_integer(dimension);
    }
    out.text("layout");
    out.text(object.format);
    if (object.attributes != nullptr) {
        out.text("attributes");
        encode_attributes_2(out, *object.attributes);
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
