// SPDX-License-Identifier: MIT
//
// A draft as the manifest will state it, and everything that can be known to be wrong with it before a byte is
// written. SPEC.md section 10.
#ifndef ZTENSOR_DETAIL_WRITE_DRAFT_CHECK_HPP
#define ZTENSOR_DETAIL_WRITE_DRAFT_CHECK_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/flawed_shape.hpp>
#include <ztensor/detail/core/sort.hpp>
#include <ztensor/detail/core/stored_component.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/layout/quantized_rules.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/manifest/names.hpp>
#include <ztensor/detail/manifest/validate.hpp>
#include <ztensor/detail/manifest/validate_2.hpp>
#include <ztensor/detail/manifest/write.hpp>
#include <ztensor/detail/write/dense_check.hpp>
#include <ztensor/detail/write/draft_model.hpp>
#include <ztensor/detail/write/ways_of_2.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

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

[[nodiscard]] inline component_entry entry_of_decoded(format_version version, const component_source& source) {
    dtype storage = source.storage;
    component_entry entry;
    entry.role = source.role;
    if (source.type) {
        entry.type = *source.type;
    }
    if (version == format_version::v2) {
        say_in_2(storage, entry.type);
    }
    entry.dtype = name(storage);
    entry.length = source.bytes.size();
    entry.is_big_endian = source.how.is_big_endian_ && width_bytes(source.storage) > 1;
    return entry;
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
    if (stored.has_digest && !stored.new_digest &&
        (version == format_version::v2) == (stored.generation == generation::v2)) {
        entry.copied_digest = stored.digest;
    }
    entry.is_big_endian = stored.is_big_endian;
    if (!stored.is_raw) {
        entry.uncompressed_length = stored.decoded_bytes ? stored.decoded_bytes : stored.uncompressed_length;
    }
    const std::optional<dtype> storage = find_dtype(entry.dtype);
    if (version == format_version::v2 && stored.generation != generation::v2 && storage) {
        dtype said = *storage;
        say_in_2(said, entry.type);
        entry.dtype = name(said);
    }
    return entry;
}

/// What the manifest will say of each component of a draft.
[[nodiscard]] ZTENSOR_COLD inline std::vector<component_entry> entries_of(format_version version,
                                                                          const object_draft& draft) {
    std::vector<component_entry> entries(draft.components().size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const component_source& source = draft.components()[i];
        entries[i] = source.stored ? entry_of_stored(version, source) : entry_of_decoded(version, source);
    }
    return entries;
}

/// In which the components of a draft are written: in their own, or in that of their roles.
[[nodiscard]] ZTENSOR_COLD inline std::vector<std::uint32_t> blob_order(format_version version,
                                                                        const object_draft& draft) {
    const std::vector<component_source>& components = draft.components();
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < components.size(); ++i) {
        order.push_back(i);
    }
    if (version == format_version::v2) {
        sort_positions(order,
                       [&](std::uint32_t a, std::uint32_t b) { return components[a].role < components[b].role; });
    }
    return order;
}

[[nodiscard]] ZTENSOR_COLD inline object_entry entry_of(std::string_view name, const object_draft& draft,
                                                        span<const component_entry> components) {
    object_entry object;
    object.name = name;
    object.shape = &draft.shape();
    object.format = draft.format();
    object.attributes = draft.attributes() ? &*draft.attributes() : nullptr;
    object.components = components;
    object.keeps_word = draft_access::keeps_word(draft);
    for (const component_source& source : draft.components()) {
        object.is_copy = object.is_copy || source.stored;
        object.is_copy_of_0_1 =
            object.is_copy_of_0_1 || (source.stored && source.stored->generation == generation::v0_1);
        object.is_copy_of_2 = object.is_copy_of_2 || (source.stored && source.stored->generation == generation::v2);
    }
    return object;
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
    for (const std::string_view role : facts(format::quantized_group).required_roles) {
        const component_record* const part = find_component(index, object, role);
        if (part == nullptr || !part->dtype) {
            continue;
        }
        const std::uint64_t expected = part == packed ? counts->words : counts->groups;
        ZTENSOR_TRY(check_part_count(part->length / width_bytes(*part->dtype), expected, role));
    }
    return {};
}

/// Judged as a reader will judge it: whatever is written can be read.
/// Errors: as reader::open() for what an object can break; as check_quantized().
[[nodiscard]] ZTENSOR_COLD inline result<void> check_readable(format_version version, const object_entry& object) {
    manifest index;
    ZTENSOR_TRY_ASSIGN(const std::uint64_t end, draft_model::make(version, object, index));
    if (version != format_version::v2 &&
        !object.is_copy) { // what is copied as it is stored was not written by us, and may have habits of its own
        ZTENSOR_TRY(check_quantized(index));
    }
    result<void> valid = version == format_version::v2 ? manifest_validator_2(index, end).validate()
                                                       : manifest_validator(index, end).validate();
    if (valid) {
        return valid;
    }
    const error& why = valid.error(); // without positions in a file that does not exist
    return error(why.code(), why.sentence()).in_object(why.object()).in_component(why.component());
}

/// How many arrays and maps enclose the value of an attribute. Those of 0.1 are fields of its tensor.
inline constexpr std::size_t depth_around_file_attributes = 2;
[[nodiscard]] inline std::size_t depth_around_object_attributes(format_version version) noexcept {
    return version == format_version::v0_1 ? 2 : 4;
}

/// Values from another file may be nested deeper than they can be here: `depth` arrays and maps will enclose them.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_attributes(format_version version, const attributes& values,
                                                                std::size_t depth) {
    const std::string* not_utf8 = nullptr;
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

/// Gives an object of version 2 the attributes it will have there, which `into` holds; none instead of an empty set.
[[nodiscard]] ZTENSOR_COLD inline result<void> say_attributes_in_2(const ways_of_2& ways, object_entry& object,
                                                                   attributes& into) {
    if (object.attributes == nullptr || object.attributes->empty()) {
        object.attributes = nullptr;
        return {};
    }
    ZTENSOR_TRY_ASSIGN(attributes said,
                       ways.in_one_form(*object.attributes, depth_around_object_attributes(format_version::v2)));
    into = std::move(said);
    object.attributes = &into;
    return {};
}

[[nodiscard]] ZTENSOR_COLD inline result<void> check_roles(format_version version, const object_entry& object) {
    std::vector<std::uint32_t> order;
    for (const component_entry& component : object.components) {
        ZTENSOR_TRY(check_name(version, component.role));
        order.push_back(static_cast<std::uint32_t>(order.size()));
    }
    const auto& all = object.components;
    sort_positions(order, [&](std::uint32_t a, std::uint32_t b) { return all[a].role < all[b].role; });
    for (std::size_t i = 1; i < order.size(); ++i) {
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
