// SPDX-License-Identifier: MIT
//
// The model to CBOR, for each version that is written. SPEC.md section 3, section 8, section 13.3.
#ifndef ZTENSOR_DETAIL_INDEX_WRITE_HPP
#define ZTENSOR_DETAIL_INDEX_WRITE_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/layouts.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/format.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- entries
//
// What the manifest of a file that is written will say of its objects.

/// What the manifest will say of one blob, in the words of 1.2, or of version 2 in a file of that; unknown words pass
/// through. Borrows what the caller said of it; only for the length of a call.
struct component_entry {
    string_view role;
    string_view dtype;
    optional<string_view> type;
    uint64_t offset = 0;
    uint64_t length = 0;
    optional<uint64_t> uncompressed_length; ///< of blobs that are not raw
    string_view encoding = "raw";
    optional<string_view> copied_digest; ///< of a blob that is copied as it is
    string own_digest;                   ///< of one that was written; "" for none
    bool is_big_endian = false;
    string_view shard; ///< the name of the shard that it lies in; "", the file itself

    [[nodiscard]] bool has_digest() const noexcept { return copied_digest.has_value() || !own_digest.empty(); }
    [[nodiscard]] string_view digest() const noexcept {
        return copied_digest ? *copied_digest : string_view(own_digest);
    }
};

/// What it will say of one object. Borrows; only for the length of a call.
struct object_entry {
    string_view name;
    const ztensor::shape* shape = nullptr;
    string_view format;
    const ztensor::attributes* attributes = nullptr; ///< null: none, which differs from an empty map
    span<const component_entry> components;          ///< in any order
    bool is_copy = false;                            ///< some of its blobs are copied from another file as they are
    bool is_copy_of_0_1 = false;                     ///< ... and that file is of 0.1
    bool is_copy_of_2 = false;                       ///< ... or of version 2
    bool keeps_word = false; ///< the format is a word of 0.1 that means nothing there, though it does in later versions
};

// -- write 2
//
// The model -> the deterministic CBOR of version 2, byte for byte as its reference writer has it. SPEC.md section 13.

/// Bools are bytes with a meaning there, and a type that says nothing new is left out.
inline void say_in_2(dtype& storage, optional<string_view>& type) noexcept {
    if (type && *type == name(storage)) {
        type.reset();
    }
    if (storage == dtype::boolean) {
        storage = dtype::u8;
        type = type ? type : optional<string_view>("bool");
    }
}

/// The layout for a format in the words of 1.2, or for itself.
[[nodiscard]] inline string_view layout_word(string_view format) noexcept {
    const optional<ztensor::format> known = find_format(format);
    return known ? facts(*known).layout : format;
}

/// "dense", or a name with a namespace before a point and a version behind a stroke: "vendor.layout/1".
[[nodiscard]] ZTENSOR_COLD inline bool is_layout_word(string_view word) noexcept {
    const size_t point = word.find('.'), stroke = word.rfind('/');
    const string_view version = stroke != std::string_view::npos ? word.substr(stroke + 1) : string_view();
    const bool is_number = !version.empty() && version.find_first_not_of("0123456789") == std::string_view::npos;
    return word == name(format::dense) ||
           (point != std::string_view::npos && point != 0 && point + 1 < stroke && is_number);
}

/// The number in the name of a shard, "00001" of the first: five digits or more.
[[nodiscard]] inline string shard_name(uint32_t number) {
    return padded(number, 5);
}

/// Calls `add(item)` for all of `count` items, in the order of their keys in version 2, `key_of(item) ->
/// std::string_view`.
template <class KeyOf, class Add>
void for_each_in_key_order(size_t count, const KeyOf& key_of, const Add& add) {
    const auto is_before = [&](uint32_t a, uint32_t b) { return is_before_by_length(key_of(a), key_of(b)); };
    for (const uint32_t item : positions_in_order(count, is_before)) {
        add(item);
    }
}

ZTENSOR_NOINLINE inline void encode_shape(cbor_encoder& out, span<const uint64_t> dimensions) {
    out.begin_array(dimensions.size());
    for (const uint64_t dimension : dimensions) {
        out.unsigned_integer(dimension);
    }
}

/// Whose values are in deterministic encoding already.
ZTENSOR_COLD inline void encode_attributes_2(cbor_encoder& out, const attributes& source) {
    const auto& values = source.values();
    out.begin_map(values.size());
    for_each_in_key_order(
        values.size(), [&](uint32_t i) { return string_view(values[i].key); },
        [&](uint32_t i) {
            out.text(values[i].key);
            out.encoded({values[i].cbor.data(), values[i].cbor.size()});
        });
}

ZTENSOR_COLD inline void encode_part_2(cbor_encoder& out, const component_entry& part) {
    const bool has_encoding = part.uncompressed_length.has_value(); // some file may have one that is called "raw"
    out.begin_map(uint64_t{2} + part.type.has_value() + !part.shard.empty() + part.has_digest() +
                  (has_encoding ? 2u : 0u));
    out.text("blob");
    out.begin_array(2);
    out.unsigned_integer(part.offset);
    out.unsigned_integer(part.length);
    if (part.type) {
        out.pair("type", *part.type);
    }
    out.pair("dtype", part.dtype);
    if (!part.shard.empty()) {
        out.pair("shard", part.shard);
    }
    if (part.has_digest()) {
        out.pair("digest", part.digest());
    }
    if (has_encoding) {
        out.pair("encoding", part.encoding);
        out.pair("decoded_length", *part.uncompressed_length);
    }
}

/// The value behind the object's name. Its entries are in the words of version 2.
ZTENSOR_COLD inline void encode_object_2(cbor_encoder& out, const object_entry& object) {
    out.begin_map(uint64_t{3} + (object.attributes != nullptr));
    out.text("parts");
    out.begin_map(object.components.size());
    for_each_in_key_order(
        object.components.size(), [&](uint32_t i) { return object.components[i].role; },
        [&](uint32_t i) {
            out.text(object.components[i].role);
            encode_part_2(out, object.components[i]);
        });
    out.text("shape");
    encode_shape(out, *object.shape);
    out.pair("layout", object.format);
    if (object.attributes != nullptr) {
        out.text("attributes");
        encode_attributes_2(out, *object.attributes);
    }
}

// -- write
//
// The model -> CBOR, for the versions that can be written, byte for byte as their reference writers do. Where what a
// version can't express is refused. SPEC.md section 8 and section 10.

[[nodiscard]] constexpr string_view text_of(format_version version) noexcept {
    constexpr string_view texts[] = {"0.1.0", "1.1.0", "1.2.0", "2"};
    return texts[static_cast<size_t>(version)];
}

ZTENSOR_NOINLINE inline void encode_attributes(cbor_encoder& out, const attributes& source) {
    out.begin_map(source.size());
    for (const attributes::entry& each : source.values()) {
        out.text(each.key);
        out.encoded(each.cbor);
    }
}

/// The logical type, if it is one that the specification defines and it stands over its own storage type.
[[nodiscard]] inline const logical_type_facts* known_type(const component_entry& component) noexcept {
    const logical_type_facts* const type = component.type ? find_logical_type(*component.type) : nullptr;
    return type != nullptr && component.dtype == name(type->storage) ? type : nullptr;
}

/// The word for the storage type: in 1.1 some logical types stand in its place, and 0.1 has words of its own.
[[nodiscard]] inline string_view dtype_word_of(format_version version, const component_entry& component) noexcept {
    if (version == format_version::v0_1) {
        const optional<dtype> storage = find_dtype(component.dtype);
        return storage ? facts(*storage).long_name : component.dtype;
    }
    const logical_type_facts* const type = version == format_version::v1_1 ? known_type(component) : nullptr;
    return type != nullptr && !type->name_as_dtype.empty() ? type->name_as_dtype : component.dtype;
}

ZTENSOR_NOINLINE inline void encode_component(cbor_encoder& out, format_version version,
                                              const component_entry& component) {
    const bool is_1_2 = version == format_version::v1_2;
    const bool has_type = is_1_2 && component.type;
    const bool has_size = is_1_2 && component.uncompressed_length.has_value();
    const bool has_encoding = component.encoding != name(encoding::raw);
    const bool has_digest = component.has_digest();
    out.begin_map(uint64_t{3} + has_type + has_size + has_encoding + has_digest);
    out.pair("dtype", dtype_word_of(version, component));
    if (has_type) {
        out.pair("type", *component.type);
    }
    out.pair("offset", component.offset);
    out.pair("length", component.length);
    if (has_size) {
        out.pair("uncompressed_length", *component.uncompressed_length);
    }
    if (has_encoding) {
        out.pair("encoding", component.encoding);
    }
    if (has_digest) {
        out.pair("digest", component.digest());
    }
}

/// In the order of their roles.
ZTENSOR_COLD inline void encode_components_in_order(cbor_encoder& out, format_version version,
                                                    span<const component_entry> components) {
    const auto is_before = [&](uint32_t a, uint32_t b) { return components[a].role < components[b].role; };
    for (const uint32_t at : positions_in_order(components.size(), is_before)) {
        out.text(components[at].role);
        encode_component(out, version, components[at]);
    }
}

/// 1.1 and 1.2: what stands behind the object's name.
ZTENSOR_NOINLINE inline void encode_object_1(cbor_encoder& out, format_version version, const object_entry& object) {
    out.begin_map(object.attributes != nullptr ? 4 : 3);
    out.text("shape");
    encode_shape(out, *object.shape);
    out.pair("format", object.format);
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
    const optional<dtype> storage = find_dtype(component.dtype);
    const bool is_raw = component.encoding == name(encoding::raw);
    out.begin_indefinite_map();
    out.pair("name", object.name);
    out.pair("offset", component.offset);
    out.pair("size", component.length);
    out.pair("dtype", dtype_word_of(format_version::v0_1, component));
    out.pair("layout", object.keeps_word                           ? object.format
                       : object.format == name(format::sparse_csr) ? "sparsecsr"
                       : object.format == name(format::sparse_coo) ? "sparsecoo"
                                                                   : object.format);
    out.text("shape");
    encode_shape(out, *object.shape);
    out.pair("encoding", component.encoding);
    if (component.is_big_endian || (is_raw && storage && width_bytes(*storage) > 1)) {
        out.pair("data_endianness", component.is_big_endian ? "big" : "little");
    }
    if (component.has_digest()) {
        out.pair("checksum", component.digest());
    }
    if (object.attributes != nullptr) {
        for (const attributes::entry& each : object.attributes->values()) {
            out.text(each.key);
            out.encoded(each.cbor);
        }
    }
    out.end_indefinite();
}

/// What stands for one object in the index: the value behind its name, in 0.1 an item of the array.
inline void encode_object(cbor_encoder& out, format_version version, const object_entry& object) {
    switch (version) {
    case format_version::v0_1:
        return encode_tensor_0_1(out, object);
    case format_version::v2:
        return encode_object_2(out, object);
    default:
        return encode_object_1(out, version, object);
    }
}

/// The size field and, where the version has it, the magic at the end: of versions before 2.
ZTENSOR_COLD inline void encode_footer(cbor_encoder& out, format_version version, uint64_t manifest_bytes) {
    byte size[size_field_bytes];
    store_little(manifest_bytes, size, size_field_bytes);
    out.encoded({size, size_field_bytes});
    out.encoded(version == format_version::v0_1 ? bytes_view() : as_bytes(magic_1));
}

/// A field of the root, encoded; of the objects all that stands before the first one.
struct root_field {
    vector<byte> pair;
    size_t key_bytes;
    bool is_objects = false;

    [[nodiscard]] string_view key() const noexcept { return as_text(bytes_view(pair).first(key_bytes)); }
};

/// A shape whose elements can be counted, as readers of this version do: those of version 2 take one of which a zero
/// hides that the dimensions, multiplied, overflow. Errors: shape_overflow.
[[nodiscard]] ZTENSOR_NOINLINE inline result<void> check_countable(format_version version, const shape& dimensions) {
    if (!dimensions.element_count() && !(version == format_version::v2 && ends_in_zero(dimensions))) {
        return fail(errc::shape_overflow, "the product of the dimensions of a shape needs more than 64 bits");
    }
    return {};
}

[[nodiscard]] ZTENSOR_COLD inline error not_expressible(format_version version, const string& feature) {
    return fail(errc::not_expressible, "version {} has no {}", {text_of(version), feature});
}

/// What a file of that version begins with.
[[nodiscard]] inline string_view magic_of(format_version version) noexcept {
    return version == format_version::v0_1 ? magic_0_1 : version == format_version::v2 ? magic_2 : magic_1;
}

/// The digest that a component gets: in version 2 each has one.
[[nodiscard]] inline digest written_digest(bool is_version_2, digest asked) noexcept {
    return asked == digest::none && is_version_2 ? digest::xxh3 : asked;
}

/// Errors: not_expressible.
ZTENSOR_COLD inline result<void> check_digest(format_version version, digest asked) {
    const digest of_other_versions = version == format_version::v2 ? digest::crc32c : digest::xxh3;
    if (asked == digest::crc32 || asked == of_other_versions) {
        return not_expressible(version, sentence("digests of {}", {name(asked)}));
    }
    return {};
}

/// The same for version 2, whose storage types are a closed set.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_expressible_2(const component_entry& component) {
    const optional<dtype> storage = find_dtype(component.dtype);
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
        ZTENSOR_TRY(in_component(check_expressible(version, component), component.role));
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
    const optional<format> known = object.keeps_word ? std::nullopt : find_format(object.format);
    if ((!known || *known == format::quantized_group) && !object.is_copy_of_0_1) {
        return not_expressible(version, sentence("format {}", {in_quotes(object.format)}));
    }
    if (object.components.size() != 1 || object.components[0].role != "data") {
        return not_expressible(
            version, sentence("objects of several components, such as those of format {}", {in_quotes(object.format)}));
    }
    if (object.attributes != nullptr) {
        for (const attributes::entry& each : object.attributes->values()) {
            const span<const string_view> fields = field_keys_0_1(object.format, std::nullopt, true);
            if (std::find(fields.begin(), fields.end(), each.key) != fields.end()) {
                return not_expressible(
                    version, sentence("place for an attribute {}: a field has that name", {in_quotes(each.key)}));
            }
        }
    }
    return {};
}

/// No set of attributes takes more in a manifest.
[[nodiscard]] ZTENSOR_COLD inline uint64_t most_encoded_bytes(const attributes& source) noexcept {
    constexpr uint64_t item_bytes = 9;
    uint64_t sum = item_bytes;
    for (const attributes::entry& each : source.values()) {
        sum += item_bytes + each.key.size() + each.cbor.size();
    }
    return sum;
}

/// No object takes more, wherever its blobs will lie and whatever they will take: what is not known before it is
/// written are numbers and digests.
[[nodiscard]] inline uint64_t most_encoded_bytes(const object_entry& object) noexcept {
    constexpr uint64_t item_bytes = 9, object_keys_bytes = 100, component_keys_bytes = 300;
    uint64_t sum = object_keys_bytes + object.name.size() + object.format.size() + object.shape->rank() * item_bytes +
                   (object.attributes != nullptr ? most_encoded_bytes(*object.attributes) : 0);
    for (const component_entry& each : object.components) {
        sum += component_keys_bytes + each.role.size() + each.dtype.size() + each.type.value_or("").size() +
               each.encoding.size() + each.digest().size();
    }
    return sum;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
