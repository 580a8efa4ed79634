// SPDX-License-Identifier: MIT
//
// A draft as the manifest will state it, and everything that can be known to be wrong with it before a byte is
// written. SPEC.md §10.
#ifndef ZTENSOR_DETAIL_DRAFT_CHECK_HPP
#define ZTENSOR_DETAIL_DRAFT_CHECK_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/checked.hpp>
#include <ztensor/detail/manifest_read.hpp>
#include <ztensor/detail/manifest_read_0_1.hpp>
#include <ztensor/detail/manifest_write.hpp>
#include <ztensor/detail/names.hpp>
#include <ztensor/detail/quantized_rules.hpp>
#include <ztensor/detail/text.hpp>
#include <ztensor/detail/validate.hpp>
#include <ztensor/manifest.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace v0 {
namespace detail {

[[nodiscard]] inline component_entry entry_of_decoded(const component_source& source) {
    component_entry entry;
    entry.role = source.role;
    entry.dtype = v0::name(source.storage);
    entry.type = source.type;
    entry.length = source.bytes.size();
    entry.is_big_endian = source.how.is_big_endian_ && width_bytes(source.storage) > 1;
    return entry;
}

[[nodiscard]] inline component_entry entry_of_stored(const component_source& source) {
    component_entry entry;
    entry.role = source.role;
    entry.dtype = source.stored->dtype_name();
    entry.type = source.stored->has_type() ? std::optional<std::string>(source.stored->type()) : std::nullopt;
    entry.length = source.stored->stored_bytes();
    entry.encoding = source.stored->encoding_name();
    entry.digest = source.stored->has_digest() ? std::optional<std::string>(source.stored->digest()) : std::nullopt;
    entry.is_big_endian = source.stored->is_big_endian();
    if (source.stored->encoding() != encoding::raw) {
        entry.uncompressed_length = source.decoded_bytes ? source.decoded_bytes : source.stored->uncompressed_length();
    }
    return entry;
}

[[nodiscard]] inline object_entry entry_of(std::string_view name, const object_draft& draft) {
    object_entry object;
    object.name = name;
    object.shape = &draft.shape();
    object.format = draft.format();
    object.attributes = draft.attributes() ? &*draft.attributes() : nullptr;
    for (const component_source& source : draft.components()) {
        object.components.push_back(source.stored ? entry_of_stored(source) : entry_of_decoded(source));
        object.is_copy = object.is_copy || source.stored;
        object.is_copy_of_0_1 =
            object.is_copy_of_0_1 || (source.stored && source.stored->generation() == generation::v0_1);
    }
    return object;
}

/// A manifest of this object alone, read and validated as a reader will: whatever is written can be read. Its blobs
/// get offsets one after the other. Errors: as reader::open() for what an object can break.
[[nodiscard]] inline result<void> check_readable(format_version version, object_entry object) {
    std::uint64_t end = blob_alignment;
    for (component_entry& component : object.components) {
        component.offset = end;
        const std::optional<std::uint64_t> behind = checked_add(end, component.length);
        const std::optional<std::uint64_t> aligned = behind ? checked_align(*behind, blob_alignment) : std::nullopt;
        if (!aligned) {
            return error(errc::too_large_for_host, "the object takes more than 2^64 bytes");
        }
        end = *aligned;
    }
    encoded_objects alone;
    const auto [at, inserted] = alone.by_name.emplace(object.name, encode_object(version, object));
    static_cast<void>(inserted);
    alone.in_order.push_back(at);
    const std::vector<std::byte> encoded = encode_manifest(version, nullptr, alone);
    manifest index;
    index.index = std::make_unique<std::byte[]>(encoded.size());
    index.index_bytes = encoded.size();
    std::copy(encoded.begin(), encoded.end(), index.index.get());
    const read_options limits;
    manifest_reader reader(index, limits, 0);
    result<void> valid = version == format_version::v0_1 ? reader.read_0_1() : reader.read_1();
    if (valid) {
        valid = manifest_validator(index, end).validate();
    }
    return std::move(valid).transform_error([](const error& why) { // without positions in a file that does not exist
        return error(why.code(), why.sentence()).in_object(why.object()).in_component(why.component());
    });
}

[[nodiscard]] inline result<void> check_name(std::string_view name) {
    const char* const problem = name_problem(name);
    return problem == nullptr ? result<void>() : error(errc::name_invalid, problem);
}

[[nodiscard]] inline result<void> check_attributes(const attributes& values) {
    for (const auto& [key, value] : values.values()) {
        if (result<void> valid = check_name(key); !valid) {
            return error(errc::name_invalid, "of attribute " + quote(key) + ", " + valid.error().sentence());
        }
    }
    if (!values.not_utf8().empty()) {
        return error(errc::cbor_utf8, "the text of attribute " + quote(*values.not_utf8().begin()) + " is not UTF-8");
    }
    return {};
}

[[nodiscard]] inline result<void> check_roles(const object_entry& object) {
    std::vector<std::string_view> roles;
    for (const component_entry& component : object.components) {
        if (result<void> valid = check_name(component.role); !valid) {
            return valid;
        }
        roles.push_back(component.role);
    }
    std::sort(roles.begin(), roles.end());
    if (std::adjacent_find(roles.begin(), roles.end()) != roles.end()) {
        return error(errc::duplicate_key, "two components have the same role");
    }
    return {};
}

[[nodiscard]] inline const component_entry* find_role(const object_entry& object, std::string_view role) noexcept {
    for (const component_entry& component : object.components) {
        if (component.role == role) {
            return &component;
        }
    }
    return nullptr;
}

/// The parts of quantized weights fit each other, as far as their parameters are understood. What is copied as it is
/// stored was not written by us and may follow habits of its own. Errors: quant_group, quant_packing, size_mismatch.
[[nodiscard]] inline result<void> check_quantized(const object_entry& object) {
    const component_entry* const packed = find_role(object, "packed_weight");
    if (object.format != name(format::quantized_group) || object.attributes == nullptr || packed == nullptr) {
        return {};
    }
    cbor_encoder encoded;
    encode_attributes(encoded, *object.attributes);
    const result<quantization> parameters = read_quantization(attributes_view(encoded.bytes()));
    if (!parameters) {
        return {};
    }
    const auto counts = count_quantized_parts(*parameters, *object.shape, find_dtype(packed->dtype));
    if (!counts || !*counts) {
        return counts ? result<void>() : counts.error();
    }
    for (const std::string_view role : facts(format::quantized_group).required_roles) {
        const component_entry* const part = find_role(object, role);
        const std::optional<dtype> storage = part != nullptr ? find_dtype(part->dtype) : std::nullopt;
        const std::uint64_t expected = part == packed ? (*counts)->words : (*counts)->groups;
        const result<void> fits =
            storage ? check_part_count(part->length / width_bytes(*storage), expected, role) : result<void>();
        if (!fits) {
            return fits;
        }
    }
    return {};
}

/// One object, as far as it can be judged alone. The lengths of its entries are those of the decoded components, or of
/// the blobs that are copied as they are stored. Errors: those of writer::add_object.
[[nodiscard]] inline result<void> check_entry(format_version version, const object_entry& object) {
    if (object.shape->too_long()) {
        return error(errc::limit_exceeded, "a shape has more than 64 dimensions");
    }
    result<void> valid = object.attributes != nullptr ? check_attributes(*object.attributes) : result<void>();
    if (valid) {
        valid = check_roles(object);
    }
    if (valid) {
        valid = check_expressible(version, object);
    }
    if (valid && !object.is_copy) {
        valid = check_quantized(object);
    }
    return valid ? check_readable(version, object) : valid;
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
