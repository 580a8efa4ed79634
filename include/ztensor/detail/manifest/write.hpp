// SPDX-License-Identifier: MIT
//
// The model -> CBOR, for the versions that can be written, byte for byte as their reference writers do. Where what a
// version can't express is refused. SPEC.md section 8 and section 10.
#ifndef ZTENSOR_DETAIL_MANIFEST_WRITE_HPP
#define ZTENSOR_DETAIL_MANIFEST_WRITE_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/sort.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/detail/layout/dense_size.hpp>
#include <ztensor/detail/manifest/entries.hpp>
#include <ztensor/detail/manifest/fields_0_1.hpp>
#include <ztensor/detail/manifest/footer.hpp>
#include <ztensor/detail/manifest/write_2.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[nodiscard]] constexpr std::string_view text_of(format_version version) noexcept {
    constexpr std::string_view texts[] = {"0.1.0", "1.1.0", "1.2.0", "2"};
    return texts[static_cast<std::size_t>(version)];
}

ZTENSOR_NOINLINE inline void encode_attributes(cbor_encoder& out, const attributes& source) {
    out.begin_map(source.size());
    for (const attributes::entry& each : source.values()) {
        out.text(each.key);
        out.encoded(each.cbor);
    }
}

ZTENSOR_NOINLINE inline void encode_shape(cbor_encoder& out, const shape& dimensions) {
    out.begin_array(dimensions.rank());
    for (const std::uint64_t dimension : dimensions) {
        out.unsigned_integer(dimension);
    }
}

/// The logical type, if it is one that the specification defines and it stands over its own storage type.
[[nodiscard]] inline const logical_type_facts* known_type(const component_entry& component) noexcept {
    const logical_type_facts* const type = component.type ? find_logical_type(*component.type) : nullptr;
    return type != nullptr && component.dtype == name(type->storage) ? type : nullptr;
}

/// The word for the storage type in 1.1, where some logical types stand in its place.
[[nodiscard]] inline std::string_view dtype_word_1_1(const component_entry& component) noexcept {
    const logical_type_facts* const type = known_type(component);
    return type != nullptr && !type->name_as_dtype.empty() ? type->name_as_dtype : component.dtype;
}

ZTENSOR_NOINLINE inline void encode_component(cbor_encoder& out, format_version version,
                                              const component_entry& component) {
    const bool is_1_2 = version == format_version::v1_2;
    const bool has_type = is_1_2 && component.type;
    const bool has_size = is_1_2 && component.uncompressed_length.has_value();
    const bool has_encoding = component.encoding != name(encoding::raw);
    const bool has_digest = component.has_digest();
    out.begin_map(std::uint64_t{3} + has_type + has_size + has_encoding + has_digest);
    out.text("dtype");
    out.text(is_1_2 ? component.dtype : dtype_word_1_1(component));
    if (has_type) {
        out.text("type");
        out.text(*component.type);
    }
    out.text("offset");
    out.unsigned_integer(component.offset);
    out.text("length");
    out.unsigned_integer(component.length);
    if (has_size) {
        out.text("uncompressed_length");
        out.unsigned_integer(*component.uncompressed_length);
    }
    if (has_encoding) {
        out.text("encoding");
        out.text(component.encoding);
    }
    if (has_digest) {
        out.text("digest");
        out.text(component.digest());
    }
}

/// In the order of their roles.
ZTENSOR_COLD inline void encode_components_in_order(cbor_encoder& out, format_version version,
                                                    span<const component_entry> components) {
    record_array<std::uint32_t> order;
    for (std::uint32_t i = 0; i < components.size(); ++i) {
        order.push_back(i);
    }
    sort_positions({order.data(), order.size()},
                   [&](std::uint32_t a, std::uint32_t b) { return components[a].role < components[b].role; });
    for (const std::uint32_t at : order) {
        out.text(components[at].role);
        encode_component(out, version, components[at]);
    }
}

/// 1.1 and 1.2: what stands behind the object's name.
ZTENSOR_NOINLINE inline void encode_object_1(cbor_encoder& out, format_version version, const object_entry& object) {
    out.begin_map(object.attributes != nullptr ? 4 : 3);
    out.text("shape");
    encode_shape(out, *object.shape);
    out.text("format");
    out.text(object.format);
    if (object.attributes != nullptr) {
        out.text("attributes");
        encode_attributes(out, *object.attributes);
    }
    out.text("components");
    out.begin_map(object.components.size());
    if (object.components.size() != 1) {
        encode_components_in_order(out, version, object.components);
        return;
    }
    out.text(object.components[0].role);
    encode_component(out, version, object.components[0]);
}

/// 0.1: a whole tensor, of one component, its attributes as custom keys.
ZTENSOR_COLD inline void encode_tensor_0_1(cbor_encoder& out, const object_entry& object) {
    const component_entry& component = object.components[0];
    const std::optional<dtype> storage = find_dtype(component.dtype);
    const bool is_raw = component.encoding == name(encoding::raw);
    out.begin_indefinite_map();
    out.text("name");
    out.text(object.name);
    out.text("offset");
    out.unsigned_integer(component.offset);
    out.text("size");
    out.unsigned_integer(component.length);
    out.text("dtype");
    out.text(storage ? facts(*storage).long_name : component.dtype);
    out.text("layout");
    out.text(object.keeps_word                           ? object.format
             : object.format == name(format::sparse_csr) ? "sparsecsr"
             : object.format == name(format::sparse_coo) ? "sparsecoo"
                                                         : object.format);
    out.text("shape");
    encode_shape(out, *object.shape);
    out.text("encoding");
    out.text(component.encoding);
    if (component.is_big_endian || (is_raw && storage && width_bytes(*storage) > 1)) {
        out.text("data_endianness");
        out.text(component.is_big_endian ? "big" : "little");
    }
    if (component.has_digest()) {
        out.text("checksum");
        out.text(component.digest());
    }
    if (object.attributes != nullptr) {
        for (const attributes::entry& each : object.attributes->values()) {
            out.text(each.key);
            out.encoded(each.cbor);
        }
    }
    out.end_indefinite();
}

/// What stands for one object in the manifest of 0.1 to 1.2: the value behind its name, in 0.1 an item of the array.
inline void encode_object_before_2(cbor_encoder& out, format_version version, const object_entry& object) {
    if (version == format_version::v0_1) {
        encode_tensor_0_1(out, object);
    } else {
        encode_object_1(out, version, object);
    }
}

/// The attributes of the file, if it has any, and the head of the map of objects.
ZTENSOR_COLD inline void encode_attributes_and_objects(cbor_encoder& out, const attributes* of_file,
                                                       std::size_t objects) {
    if (of_file != nullptr) {
        out.text("attributes");
        encode_attributes(out, *of_file);
    }
    out.text("objects");
    out.begin_map(objects);
}

/// What stands in the manifest before the objects.
ZTENSOR_COLD inline void encode_manifest_start(cbor_encoder& out, format_version version, const attributes* of_file,
                                               std::size_t objects) {
    if (version == format_version::v0_1) {
        out.begin_array(objects);
        return;
    }
    out.begin_map(of_file != nullptr ? 3 : 2);
    out.text("version");
    out.text(text_of(version));
    encode_attributes_and_objects(out, of_file, objects);
}

/// The same of a file that is gone on with: the fields that its manifest has besides, version first, as they stand.
ZTENSOR_COLD inline void encode_manifest_start(cbor_encoder& out, bytes_view fields, std::size_t field_count,
                                               const attributes* of_file, std::size_t objects) {
    out.begin_map(field_count + (of_file != nullptr ? 2 : 1));
    out.encoded(fields);
    encode_attributes_and_objects(out, of_file, objects);
}

/// The size field and, where the version has it, the magic at the end.
ZTENSOR_COLD inline void encode_footer(cbor_encoder& out, format_version version, std::uint64_t manifest_bytes) {
    std::byte size[size_field_bytes];
    store_little(manifest_bytes, size, size_field_bytes);
    out.encoded({size, size_field_bytes});
    out.encoded(version == format_version::v0_1 ? bytes_view() : as_bytes(magic_1));
}

/// Whether readers of this version take such a shape although its dimensions, multiplied, overflow: a zero hides it.
[[nodiscard]] ZTENSOR_COLD inline bool hides_overflow(format_version version, const shape& dimensions) noexcept {
    return version == format_version::v2 && ends_in_zero(dimensions);
}

/// A shape whose elements can be counted, as readers of this version do. Errors: shape_overflow.
[[nodiscard]] ZTENSOR_NOINLINE inline result<void> check_countable(format_version version, const shape& dimensions) {
    if (!dimensions.element_count() && !hides_overflow(version, dimensions)) {
        return fail(errc::shape_overflow, "the product of the dimensions of a shape needs more than 64 bits");
    }
    return {};
}

[[nodiscard]] ZTENSOR_COLD inline error not_expressible(format_version version, const std::string& feature) {
    return fail(errc::not_expressible, "version {} has no {}", {text_of(version), feature});
}

/// The same for version 2, whose storage types are a closed set.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_expressible_2(const component_entry& component) {
    const std::optional<dtype> storage = find_dtype(component.dtype);
    if (!storage || *storage == dtype::boolean) {
        return not_expressible(format_version::v2, sentence("storage type {}", {in_quotes(component.dtype)}));
    }
    if (component.encoding == name(encoding::zstd)) {
        return not_expressible(format_version::v2, sentence("encoding {}", {in_quotes(component.encoding)}));
    }
    if (component.is_big_endian) {
        return not_expressible(format_version::v2, "big-endian data");
    }
    return {};
}

/// A component that this version has words for. Errors: not_expressible.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_expressible(format_version version,
                                                                 const component_entry& component) {
    if (version == format_version::v2) {
        return check_expressible_2(component);
    }
    const bool has_meaning = component.type && *component.type != component.dtype;
    const logical_type_facts* const type = known_type(component);
    const bool has_word_in_1_1 = type != nullptr && !type->name_as_dtype.empty();
    if (has_meaning && (version == format_version::v0_1 || (version == format_version::v1_1 && !has_word_in_1_1))) {
        return not_expressible(
            version, sentence("logical type {} over {}", {in_quotes(*component.type), in_quotes(component.dtype)}));
    }
    if (version != format_version::v1_2 && component.uncompressed_length && !find_encoding(component.encoding)) {
        return not_expressible(
            version, sentence("place for the decoded size of data encoded as {}", {in_quotes(component.encoding)}));
    }
    if (component.is_big_endian && (version != format_version::v0_1 || component.encoding != name(encoding::raw))) {
        return not_expressible(version, "big-endian data but the raw data of version 0.1");
    }
    return {};
}

/// An object that this version has words for. Errors: not_expressible.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_expressible(format_version version, const object_entry& object) {
    for (const component_entry& component : object.components) {
        if (result<void> valid = check_expressible(version, component); !valid) {
            return std::move(valid).error().in_component(component.role);
        }
    }
    if (version == format_version::v2 && !object.is_copy_of_2 && !is_layout_word(object.format)) {
        return not_expressible(version,
                               sentence("format {}: a layout of one's own has a name such as \"vendor.layout/1\"",
                                        {in_quotes(object.format)}));
    }
    if (version != format_version::v0_1) {
        return {};
    }
    const bool is_big_endian = std::any_of(object.components.begin(), object.components.end(),
                                           [](const component_entry& each) { return each.is_big_endian; });
    if (is_big_endian && object.format != name(format::dense) && !object.is_copy_of_0_1) {
        return not_expressible(version, "big-endian data but that of dense tensors");
    }
    const std::optional<format> known = object.keeps_word ? std::nullopt : find_format(object.format);
    if ((!known || *known == format::quantized_group) && !object.is_copy_of_0_1) {
        return not_expressible(version, sentence("format {}", {in_quotes(object.format)}));
    }
    if (object.components.size() != 1 || object.components[0].role != "data") {
        return not_expressible(
            version, sentence("objects of several components, such as those of format {}", {in_quotes(object.format)}));
    }
    if (object.attributes != nullptr) {
        for (const attributes::entry& each : object.attributes->values()) {
            const span<const std::string_view> fields = field_keys_0_1(object.format, std::nullopt, true);
            if (std::find(fields.begin(), fields.end(), each.key) != fields.end()) {
                return not_expressible(
                    version, sentence("place for an attribute {}: a field has that name", {in_quotes(each.key)}));
            }
        }
    }
    return {};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
