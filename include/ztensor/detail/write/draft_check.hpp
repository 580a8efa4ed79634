// SPDX-License-Identifier: MIT
//
// Every rule that an object must obey before it is written.
#ifndef ZTENSOR_DETAIL_WRITE_DRAFT_CHECK_HPP
#define ZTENSOR_DETAIL_WRITE_DRAFT_CHECK_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/normal_form.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/index/layouts.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/index/rules.hpp>
#include <ztensor/detail/index/words.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/format.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- value check
//
// Elements whose types do not have every value. SPEC.md section 4 and section 13.

/// From 1.0 on a bool is 0 or 1. Errors: bad_bool.
[[nodiscard]] inline result<void> check_bools(format_version version, bytes_view bools) {
    const auto found = std::find_if(bools.begin(), bools.end(), [](byte each) { return each > byte{1}; });
    if (version == format_version::v0_1 || found == bools.end()) {
        return {};
    }
    return fail(errc::bad_bool, "element {} is a bool stored as {}, neither 0 nor 1",
                {found - bools.begin(), std::to_integer<unsigned>(*found)});
}

/// Elements of these types, `elements` of them, where that is known and `bytes` end with the last one.
/// Errors: bad_bool, bad_padding.
[[nodiscard]] inline result<void> check_values(format_version version, dtype storage, const optional<string_view>& type,
                                               bytes_view bytes, optional<uint64_t> elements) {
    const bool has_types_of_2 = version == format_version::v2 && storage == dtype::u8 && type;
    if (storage == dtype::boolean || (has_types_of_2 && *type == "bool")) {
        return check_bools(version, bytes);
    }
    const bool ends_in_half = has_types_of_2 && *type == "f4_e2m1" && elements.value_or(0) % 2 != 0;
    if (ends_in_half && bytes.size() != 0 && std::to_integer<unsigned>(bytes[bytes.size() - 1]) >> 4 != 0) {
        return fail(errc::bad_padding, "the four bits behind the last element are not zero");
    }
    return {};
}

// -- dense check
//
// A dense tensor on its way into a file, judged by the few rules that can refuse one. What follows further down judges
// any object, by all the rules of reading, and of a dense tensor says the same: tests compare the two.

/// A dense tensor to be written. Borrows; only for the length of a call.
struct dense_tensor {
    string_view name;
    const ztensor::shape& dimensions;
    dtype storage;
    optional<string_view> type; ///< logical type
    const store& how;
    const object_attributes& about;
};

/// The same in the words of the version that is written.
[[nodiscard]] inline dense_tensor in_words_of(format_version version, dense_tensor tensor) noexcept {
    if (version == format_version::v2) {
        say_in_2(tensor.storage, tensor.type);
    }
    return tensor;
}

/// What the manifest will say of a component of so many bytes, before it is written.
[[nodiscard]] inline component_entry entry_of_decoded(string_view role, dtype storage,
                                                      const optional<string_view>& type, uint64_t decoded_bytes,
                                                      const store& how) {
    component_entry entry;
    entry.role = role;
    entry.dtype = name(storage);
    entry.type = type;
    entry.length = decoded_bytes;
    entry.is_big_endian = how.is_big_endian() && width_bytes(storage) > 1;
    return entry;
}

/// The same of a dense tensor's data.
[[nodiscard]] inline component_entry entry_of(const dense_tensor& tensor, uint64_t decoded_bytes) {
    return entry_of_decoded("data", tensor.storage, tensor.type, decoded_bytes, tensor.how);
}

/// `data` is borrowed.
[[nodiscard]] inline object_entry entry_of(const dense_tensor& tensor, const component_entry& data) {
    object_entry object;
    object.name = tensor.name;
    object.shape = &tensor.dimensions;
    object.format = name(format::dense);
    object.attributes = tensor.about.get();
    object.components = span<const component_entry>(&data, 1);
    return object;
}

[[nodiscard]] inline result<void> check_name(format_version version, string_view name) {
    const char* const problem = name_problem(name);
    if (problem != nullptr) {
        return fail(errc::name_invalid, problem);
    }
    if (version == format_version::v2 && name.size() > max_name_bytes_2) {
        return fail(errc::name_invalid, "a name is longer than the {} bytes of version 2", {max_name_bytes_2});
    }
    return {};
}

[[nodiscard]] inline const logical_type_facts* find_logical_type_of(format_version version, string_view word) noexcept {
    return version == format_version::v2 ? find_any_logical_type(word) : find_logical_type(word);
}

/// The data fills the shape, and its logical type stands over its storage type. Errors: shape_overflow, cbor_utf8,
/// too_large_for_host, type_mismatch, size_mismatch.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_dense_data(format_version version, const dense_tensor& tensor,
                                                                uint64_t found_bytes) {
    const string_view word = tensor.type.value_or(name(tensor.storage));
    if (!is_utf8(word)) {
        return fail(errc::cbor_utf8, "the word {} is not UTF-8", {in_quotes(word)});
    }
    const optional<uint64_t> behind = checked_add(blob_alignment, found_bytes);
    if (!behind || !checked_align(*behind, blob_alignment)) {
        return fail(errc::too_large_for_host, "the object takes more than 2^64 bytes");
    }
    const logical_type_facts* const type = find_logical_type_of(version, word);
    if (type != nullptr && type->storage != tensor.storage) {
        return not_stored_as(*type, name(tensor.storage));
    }
    if (type == nullptr && word != name(tensor.storage)) {
        return {}; // a word that we don't know may mean elements of any size
    }
    return check_dense_size(tensor.dimensions, tensor.storage, type, version == format_version::v2, found_bytes);
}

/// All that can be wrong with a dense tensor beside its name. `data` is its entry, with the length of the decoded
/// bytes. Errors: as check_dense_data(); limit_exceeded, invalid_argument,
/// not_expressible.
[[nodiscard]] inline result<void> check_dense(format_version version, const dense_tensor& tensor,
                                              const component_entry& data) {
    if (!tensor.dimensions.is_valid()) {
        return flawed(tensor.dimensions);
    }
    const bool is_plain = !data.type && !data.is_big_endian;
    if (result<void> valid = is_plain ? result<void>() : check_expressible(version, data); !valid) {
        return std::move(valid).error().in_component(data.role);
    }
    ZTENSOR_TRY(check_countable(version, tensor.dimensions));
    result<void> valid = check_dense_data(version, tensor, data.length);
    return valid ? valid : std::move(valid).error().in_component(data.role);
}

// -- draft check
//
// A draft as the manifest will state it, and everything that can be known to be wrong with it before a byte is
// written. SPEC.md section 10.

[[nodiscard]] inline component_entry entry_of_decoded(format_version version, const component_source& source) {
    dtype storage = source.storage;
    optional<string_view> type = source.type;
    if (version == format_version::v2) {
        say_in_2(storage, type);
    }
    return entry_of_decoded(source.role, storage, type, source.decoded_bytes(), source.how);
}

[[nodiscard]] ZTENSOR_COLD inline component_entry entry_of_stored(format_version version,
                                                                  const component_source& source) {
    const stored_component& stored = *source.stored;
    component_entry entry;
    entry.role = source.role;
    entry.dtype = stored.dtype;
    if (stored.has_type) {
        entry.type = stored.type;
    }
    entry.length = stored.length;
    entry.encoding = stored.encoding;
    // Those of version 2 are of the decoded bytes.
    if (stored.has_digest && !stored.new_digest && (version == format_version::v2) == (stored.version == version::v2)) {
        entry.copied_digest = stored.digest;
    }
    entry.is_big_endian = stored.is_big_endian;
    if (!stored.is_raw) {
        entry.uncompressed_length = stored.decoded_bytes ? stored.decoded_bytes : stored.uncompressed_length;
    }
    const optional<dtype> storage = find_dtype(entry.dtype);
    if (version == format_version::v2 && stored.version != version::v2 && storage) {
        dtype said = *storage;
        say_in_2(said, entry.type);
        entry.dtype = name(said);
    }
    return entry;
}

/// What the manifest will say of each component of a draft.
[[nodiscard]] ZTENSOR_COLD inline vector<component_entry> entries_of(format_version version,
                                                                     const object_draft& draft) {
    vector<component_entry> entries(draft_access::components(draft).size());
    for (size_t i = 0; i < entries.size(); ++i) {
        const component_source& source = draft_access::components(draft)[i];
        entries[i] = source.stored ? entry_of_stored(version, source) : entry_of_decoded(version, source);
    }
    return entries;
}

/// In which the components of a draft are written: in their own, or in that of their roles.
[[nodiscard]] ZTENSOR_COLD inline vector<uint32_t> blob_order(format_version version, const object_draft& draft) {
    const vector<component_source>& components = draft_access::components(draft);
    return positions_in_order(components.size(), [&](uint32_t a, uint32_t b) {
        return version == format_version::v2 ? components[a].role < components[b].role : a < b;
    });
}

[[nodiscard]] ZTENSOR_COLD inline object_entry entry_of(string_view name, const object_draft& draft,
                                                        span<const component_entry> components) {
    object_entry object;
    object.name = name;
    object.shape = &draft.shape();
    object.format = draft.format();
    object.attributes = draft.attributes() ? &*draft.attributes() : nullptr;
    object.components = components;
    object.keeps_word = draft_access::keeps_word(draft);
    for (const component_source& source : draft_access::components(draft)) {
        object.is_copy = object.is_copy || source.stored;
        object.is_copy_of_0_1 = object.is_copy_of_0_1 || (source.stored && source.stored->version == version::v0_1);
        object.is_copy_of_2 = object.is_copy_of_2 || (source.stored && source.stored->version == version::v2);
    }
    return object;
}

/// The words of a component, as far as the version writes them.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_words(const component_entry& entry) {
    for (const string_view word : {entry.dtype, entry.type.value_or(""), entry.encoding, entry.digest()}) {
        if (!is_utf8(word)) {
            return fail(errc::cbor_utf8, "the word {} is not UTF-8", {in_quotes(word)}).in_component(entry.role);
        }
    }
    return {};
}

/// An object that is to be written, as a reader of the file will see it: fills `into` with a model of an index that
/// holds it alone, its blobs one after the other, so that one rulebook judges what is read and what is written.
/// Errors: schema_missing (no components), shape_overflow, cbor_utf8, too_large_for_host, out_of_memory.
ZTENSOR_COLD inline result<void> make_model(format_version version, const object_entry& object, manifest& into) {
    using known = ztensor::version;
    constexpr known versions[] = {known::v0_1, known::v1_1, known::v1_2, known::v2};
    const bool is_0_1 = version == format_version::v0_1, is_2 = version == format_version::v2;
    const bool has_types = version == format_version::v1_2 || is_2;
    if (object.components.empty()) {
        return fail(errc::schema_missing, "an object has no components");
    }
    ZTENSOR_TRY(check_countable(version, *object.shape));
    if (!is_utf8(object.format)) {
        return fail(errc::cbor_utf8, "a format that is not UTF-8");
    }
    into.version = versions[static_cast<size_t>(version)];
    cbor_encoder text; // of all items
    text.null();       // no item of an index stands at its first byte
    const auto here = [&] { return index_item{static_cast<uint32_t>(text.size())}; };
    const auto put = [&](string_view word) {
        const index_item item = here();
        text.text(word);
        return item;
    };
    object_record record;
    record.name = put(object.name);
    record.format_word = put(object.format);
    record.shape = here();
    encode_shape(text, *object.shape);
    record.has_attributes = object.attributes != nullptr;
    record.attributes = here();
    encode_attributes(text, object.attributes != nullptr ? *object.attributes : attributes());
    if (!object.keeps_word) {
        record.format = is_2 ? find_layout(object.format) : find_format(object.format);
    }
    record.component_count = static_cast<uint32_t>(object.components.size());
    record.first_component = static_cast<uint32_t>(into.components.extend(object.components.size()));
    into.objects.push_back(record);
    into.blobs_end = blob_alignment;
    for (size_t i = 0; i < object.components.size(); ++i) {
        const component_entry& entry = object.components[i];
        ZTENSOR_TRY(check_words(entry));
        component_record& part = into.components[record.first_component + i];
        part = {};
        part.role = put(entry.role);
        part.offset = into.blobs_end;
        part.length = entry.length;
        part.dtype_word = put(dtype_word_of(version, entry));
        part.type_word = has_types && entry.type ? put(*entry.type) : index_item();
        part.encoding_word = is_2 && !entry.uncompressed_length ? index_item() : put(entry.encoding);
        part.digest_text = !is_2 && entry.has_digest() ? put(entry.digest()) : index_item();
        if (has_types && entry.uncompressed_length) {
            part.states_uncompressed_length = part.knows_uncompressed_length = true;
            part.uncompressed_length = *entry.uncompressed_length;
        }
        part.is_big_endian = entry.is_big_endian;
        part.any_nonzero_is_true = is_0_1;
        part.holds_indices = is_0_1 && is_sparse(record);
        const optional<uint64_t> behind = checked_add(into.blobs_end, entry.length);
        const optional<uint64_t> aligned = behind ? checked_align(*behind, blob_alignment) : std::nullopt;
        if (!aligned) {
            return error(fail(errc::too_large_for_host, "the object takes more than 2^64 bytes"))
                .in_component(entry.role);
        }
        into.blobs_end = *aligned;
    }
    if (!into.index.allocate(text.size())) {
        return fail(errc::out_of_memory, "memory ran out");
    }
    std::memcpy(into.index.data(), text.bytes().data(), text.size());
    for (component_record& part : into.components_of(record)) {
        is_2 ? resolve_words_2(into, part) : resolve_words(into, part);
    }
    return {};
}

/// The parts of quantized weights fit each other, as far as their parameters are understood.
/// Errors: quant_group, quant_packing, size_mismatch.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_quantized(const manifest& index) { // before version 2
    const object_record& object = index.objects[0];
    const component_record* const packed = find_component(index, object, "packed_weight");
    if (object.format != format::quantized_group || packed == nullptr) {
        return {};
    }
    const result<quantization> parameters = read_quantization(attributes_of(index, object));
    if (!parameters) {
        return {};
    }
    const result<quantized_counts> counts = count_quantized_parts(*parameters, index.shape_of(object), packed->dtype);
    if (!counts || !counts->are_known) {
        return counts ? result<void>() : counts.error();
    }
    for (const string_view role : facts(format::quantized_group).required_roles) {
        const component_record* const part = find_component(index, object, role);
        if (part == nullptr || !part->dtype) {
            continue;
        }
        const uint64_t expected = part == packed ? counts->words : counts->groups;
        ZTENSOR_TRY(check_part_count(part->length / width_bytes(*part->dtype), expected, role));
    }
    return {};
}

/// Judged as a reader will judge it: whatever is written can be read.
/// Errors: as reader::open() for what an object can break; as check_quantized().
[[nodiscard]] ZTENSOR_COLD inline result<void> check_readable(format_version version, const object_entry& object) {
    manifest index;
    ZTENSOR_TRY(make_model(version, object, index));
    if (version != format_version::v2 &&
        !object.is_copy) { // what is copied as it is stored was not written by us, and may have habits of its own
        ZTENSOR_TRY(check_quantized(index));
    }
    result<void> valid = rulebook(index).check();
    if (valid) {
        return valid;
    }
    const error& why = valid.error(); // without positions in a file that does not exist
    return error(why.code(), why.sentence()).in_object(why.object()).in_component(why.component());
}

/// How many arrays and maps enclose the value of an attribute. Those of 0.1 are fields of its tensor.
inline constexpr size_t depth_around_file_attributes = 2;
[[nodiscard]] inline size_t depth_around_object_attributes(format_version version) noexcept {
    return version == format_version::v0_1 ? 2 : 4;
}

/// Values from another file may be nested deeper than they can be here: `depth` arrays and maps will enclose them.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_attributes(format_version version, const attributes& values,
                                                                size_t depth) {
    const string* not_utf8 = nullptr;
    for (const attributes::entry& each : values.values()) {
        if (cbor_cursor value(each.cbor, depth); !value.skip()) {
            return fail(value.fault().code, "the value of attribute {} would be {}",
                        {in_quotes(each.key), value.fault().sentence});
        }
        if (const result<void> valid = check_name(version, each.key); !valid) {
            return fail(errc::name_invalid, "of attribute {}, {}", {in_quotes(each.key), valid.error().sentence()});
        }
        if (!each.is_utf8 && not_utf8 == nullptr) {
            not_utf8 = &each.key;
        }
    }
    if (not_utf8 != nullptr) {
        return fail(errc::cbor_utf8, "the text of attribute {} is not UTF-8", {in_quotes(*not_utf8)});
    }
    return {};
}

/// Of a name that is UTF-8. Errors: name_invalid.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_form_of_name(string_view name) {
    if (is_ascii(name) || is_in_normal_form_c(name)) {
        return {};
    }
    return fail(errc::name_invalid,
                "in canonical form names are in Unicode's Normalization Form C: bring it into that, "
                "or ask for write_options::any_order()");
}

/// The same attributes as version 2 has them, their values in deterministic encoding. They stand in `depth` containers.
/// Errors: those of deterministic_encoder.
ZTENSOR_COLD inline result<attributes> to_deterministic(const attributes& source, size_t depth) {
    attributes made;
    cbor_encoder value;
    for (const attributes::entry& each : source.values()) {
        value.clear();
        result<void> encoded = deterministic_encoder::encode({each.cbor.data(), each.cbor.size()}, depth, value);
        encoded = encoded ? made.set_cbor(each.key, value.bytes()) : std::move(encoded);
        if (!encoded) {
            return fail(encoded.error().code(), "the value of attribute {}: {}",
                        {in_quotes(each.key), encoded.error().sentence()});
        }
    }
    return made;
}

/// Errors: name_invalid, cbor_utf8, cbor_depth, duplicate_key, not_expressible.
[[nodiscard]] ZTENSOR_COLD inline result<attributes> deterministic_attributes(const attributes& values, size_t depth) {
    ZTENSOR_TRY(check_attributes(format_version::v2, values, depth));
    return to_deterministic(values, depth);
}

/// Gives an object of version 2 the attributes it will have there, which `into` holds; none instead of an empty set.
[[nodiscard]] ZTENSOR_COLD inline result<void> use_deterministic_attributes(object_entry& object, attributes& into) {
    if (object.attributes == nullptr || object.attributes->empty()) {
        object.attributes = nullptr;
        return {};
    }
    ZTENSOR_TRY_ASSIGN(attributes said, deterministic_attributes(*object.attributes,
                                                                 depth_around_object_attributes(format_version::v2)));
    into = std::move(said);
    object.attributes = &into;
    return {};
}

[[nodiscard]] ZTENSOR_COLD inline result<void> check_roles(format_version version, const object_entry& object) {
    const auto& all = object.components;
    for (const component_entry& component : all) {
        ZTENSOR_TRY(check_name(version, component.role));
    }
    const vector<uint32_t> order =
        positions_in_order(all.size(), [&](uint32_t a, uint32_t b) { return all[a].role < all[b].role; });
    for (size_t i = 1; i < order.size(); ++i) {
        if (all[order[i - 1]].role == all[order[i]].role) {
            return fail(errc::duplicate_key, "two components have the same role");
        }
    }
    return {};
}

/// One object, as far as it can be judged alone. The lengths of its entries are those of the decoded components, or of
/// the blobs that are copied as they are stored. Errors: those of writer::add_object.
[[nodiscard]] inline result<void> check_entry(format_version version, const object_entry& object) {
    if (!object.shape->is_valid()) {
        return flawed(*object.shape);
    }
    if (object.attributes != nullptr) {
        ZTENSOR_TRY(check_attributes(version, *object.attributes, depth_around_object_attributes(version)));
    }
    ZTENSOR_TRY(check_roles(version, object));
    ZTENSOR_TRY(check_expressible(version, object));
    return check_readable(version, object);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
