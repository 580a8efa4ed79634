// SPDX-License-Identifier: MIT
//
// The model → CBOR, for the versions that can be written, byte for byte as their reference writers do. Where what a
// version can't express is refused. SPEC.md §8 and §10.
#ifndef ZTENSOR_DETAIL_MANIFEST_WRITE_HPP
#define ZTENSOR_DETAIL_MANIFEST_WRITE_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/cbor_encoder.hpp>
#include <ztensor/detail/fields_0_1.hpp>
#include <ztensor/detail/text.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/footer.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ztensor {
inline namespace v0 {
namespace detail {

/// What the manifest will say of one blob, in the words of 1.2; unknown words pass through.
struct component_entry {
    std::string role;
    std::string dtype;
    std::optional<std::string> type;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::optional<std::uint64_t> uncompressed_length; ///< of blobs that are not raw
    std::string encoding = "raw";
    std::optional<std::string> digest;
    bool is_big_endian = false;
};

/// What it will say of one object. Borrows; only for the length of a call.
struct object_entry {
    std::string_view name;
    const ztensor::shape* shape = nullptr;
    std::string_view format;
    const ztensor::attributes* attributes = nullptr; ///< null: none, which differs from an empty map
    std::vector<component_entry> components;         ///< in any order
    bool is_copy = false;                            ///< some of its blobs are copied from another file as they are
    bool is_copy_of_0_1 = false;                     ///< … and that file is of 0.1
};

[[nodiscard]] constexpr std::string_view text_of(format_version version) noexcept {
    constexpr std::string_view texts[] = {"0.1.0", "1.1.0", "1.2.0"};
    return texts[static_cast<std::size_t>(version)];
}

inline void encode_attributes(cbor_encoder& out, const attributes& source) {
    out.begin_map(source.size());
    for (const auto& [key, value] : source.values()) {
        out.text(key);
        out.encoded(value);
    }
}

inline void encode_shape(cbor_encoder& out, const shape& dimensions) {
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
    return type != nullptr && !type->name_as_dtype.empty() ? type->name_as_dtype : std::string_view(component.dtype);
}

inline void encode_component(cbor_encoder& out, format_version version, const component_entry& component) {
    const bool is_1_2 = version == format_version::v1_2;
    const bool has_type = is_1_2 && component.type;
    const bool has_size = is_1_2 && component.uncompressed_length.has_value();
    const bool has_encoding = component.encoding != name(encoding::raw);
    const bool has_digest = component.digest.has_value();
    out.begin_map(std::uint64_t{3} + has_type + has_size + has_encoding + has_digest);
    out.text("dtype");
    out.text(is_1_2 ? std::string_view(component.dtype) : dtype_word_1_1(component));
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
        out.text(*component.digest);
    }
}

/// 1.1 and 1.2: what stands behind the object's name.
inline void encode_object_1(cbor_encoder& out, format_version version, object_entry& object) {
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
    std::sort(object.components.begin(), object.components.end(),
              [](const component_entry& a, const component_entry& b) { return a.role < b.role; });
    for (const component_entry& component : object.components) {
        out.text(component.role);
        encode_component(out, version, component);
    }
}

/// 0.1: a whole tensor, of one component, its attributes as custom keys.
inline void encode_tensor_0_1(cbor_encoder& out, const object_entry& object) {
    const component_entry& component = object.components.front();
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
    out.text(storage ? facts(*storage).long_name : std::string_view(component.dtype));
    out.text("layout");
    out.text(object.format == name(format::sparse_csr)   ? "sparsecsr"
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
    if (component.digest) {
        out.text("checksum");
        out.text(*component.digest);
    }
    if (object.attributes != nullptr) {
        for (const auto& [key, value] : object.attributes->values()) {
            out.text(key);
            out.encoded(value);
        }
    }
    out.end_indefinite();
}

/// What stands for one object in the manifest: in 1.x the value behind its name, in 0.1 an item of the array.
[[nodiscard]] inline std::vector<std::byte> encode_object(format_version version, object_entry& object) {
    cbor_encoder out;
    if (version == format_version::v0_1) {
        encode_tensor_0_1(out, object);
    } else {
        encode_object_1(out, version, object);
    }
    return std::move(out).take();
}

/// Name → encoded object, and in which order they came.
struct encoded_objects {
    std::map<std::string, std::vector<std::byte>, std::less<>> by_name;
    std::vector<std::map<std::string, std::vector<std::byte>, std::less<>>::const_iterator> in_order;
};

/// The manifest and what follows it to the end of the file.
[[nodiscard]] inline std::vector<std::byte> encode_manifest(format_version version, const attributes* of_file,
                                                            const encoded_objects& objects) {
    cbor_encoder out;
    if (version == format_version::v0_1) {
        out.begin_array(objects.in_order.size());
        for (const auto& each : objects.in_order) {
            out.encoded(each->second);
        }
    } else {
        out.begin_map(of_file != nullptr ? 3 : 2);
        out.text("version");
        out.text(text_of(version));
        if (of_file != nullptr) {
            out.text("attributes");
            encode_attributes(out, *of_file);
        }
        out.text("objects");
        out.begin_map(objects.by_name.size());
        for (const auto& [name, encoded] : objects.by_name) {
            out.text(name);
            out.encoded(encoded);
        }
    }
    return std::move(out).take();
}

/// The size field and, where the version has it, the magic at the end.
[[nodiscard]] inline std::vector<std::byte> encode_footer(format_version version, std::uint64_t manifest_bytes) {
    std::vector<std::byte> footer(size_field_bytes);
    store_little(manifest_bytes, footer.data(), size_field_bytes);
    if (version != format_version::v0_1) {
        const bytes_view magic = as_bytes(magic_1);
        footer.insert(footer.end(), magic.begin(), magic.end());
    }
    return footer;
}

[[nodiscard]] inline error not_expressible(format_version version, const std::string& feature) {
    return error(errc::not_expressible, "version " + std::string(text_of(version)) + " has no " + feature);
}

/// A component that this version has words for. Errors: not_expressible.
[[nodiscard]] inline result<void> check_expressible(format_version version, const component_entry& component) {
    const bool has_meaning = component.type && *component.type != component.dtype;
    const logical_type_facts* const type = known_type(component);
    const bool has_word_in_1_1 = type != nullptr && !type->name_as_dtype.empty();
    if (has_meaning && (version == format_version::v0_1 || (version == format_version::v1_1 && !has_word_in_1_1))) {
        return not_expressible(version, "logical type " + quote(*component.type) + " over " + quote(component.dtype));
    }
    if (version != format_version::v1_2 && component.uncompressed_length && !find_encoding(component.encoding)) {
        return not_expressible(version, "place for the decoded size of data encoded as " + quote(component.encoding));
    }
    if (component.is_big_endian && (version != format_version::v0_1 || component.encoding != name(encoding::raw))) {
        return not_expressible(version, "big-endian data but the raw data of version 0.1");
    }
    return {};
}

/// An object that this version has words for. Errors: not_expressible.
[[nodiscard]] inline result<void> check_expressible(format_version version, const object_entry& object) {
    for (const component_entry& component : object.components) {
        if (result<void> valid = check_expressible(version, component); !valid) {
            return std::move(valid).error().in_component(component.role);
        }
    }
    if (version != format_version::v0_1) {
        return {};
    }
    const bool is_big_endian = std::any_of(object.components.begin(), object.components.end(),
                                           [](const component_entry& each) { return each.is_big_endian; });
    if (is_big_endian && object.format != name(format::dense) && !object.is_copy_of_0_1) {
        return not_expressible(version, "big-endian data but that of dense tensors");
    }
    const std::optional<format> known = find_format(object.format);
    if ((!known || *known == format::quantized_group) && !object.is_copy_of_0_1) {
        return not_expressible(version, "format " + quote(object.format));
    }
    if (object.components.size() != 1 || object.components.front().role != "data") {
        return not_expressible(version,
                               "objects of several components, such as those of format " + quote(object.format));
    }
    if (object.attributes != nullptr) {
        for (const auto& [key, value] : object.attributes->values()) {
            const span<const std::string_view> fields = field_keys_0_1(object.format, std::nullopt, true);
            if (std::find(fields.begin(), fields.end(), key) != fields.end()) {
                return not_expressible(version, "place for an attribute " + quote(key) + ": a field has that name");
            }
        }
    }
    return {};
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
