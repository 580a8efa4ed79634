// SPDX-License-Identifier: MIT
//
// Every rule on what a file holds that needs no data: for readers, importers, writers and editors, whatever made the
// model. SPEC.md section 2.3, section 4.3, section 5 to 7, section 13.2, section 13.6.
//
// | rule | code | SPEC.md |
// | --- | --- | --- |
// | a blob is aligned and lies between magic and manifest | misaligned_offset, out_of_bounds | 2.3 |
// | a logical type stands over its own storage type | type_mismatch | 4.2 |
// | a digest of a known algorithm has its digits | digest_format | 7.1 |
// | dense data is as long as shape and type say | size_mismatch, shape_overflow | 4.3, 13.6 |
// | lengths fit the encoding, and are stated where they must be | size_mismatch, schema_missing, decode_limit | 6.2 |
// | a part that its format gives a meaning holds whole elements | size_mismatch | 4.3 |
// | an object has the parts of its format; in version 2 no others | layout_components | 5, 13.6 |
// | sparse parts fit the shape and each other | sparse_..., shape_overflow | 5.2, 5.3, 8.3, 13.6 |
// | quantized parts fit the attributes | layout_attributes, quant_..., type_mismatch, size_mismatch | 13.6 |
// | two blobs are the same bytes or share none | blob_overlap | 2.3 |
#ifndef ZTENSOR_DETAIL_INDEX_RULES_HPP
#define ZTENSOR_DETAIL_INDEX_RULES_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/layouts.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/part_rules.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/format.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[nodiscard]] inline bool is_sparse(const object_record& object) noexcept {
    return object.format == format::sparse_csr || object.format == format::sparse_coo;
}

// -- all rules

/// Judges objects of a model. Where a size is not stated but follows from shape and type, it is put into the record.
class rulebook {
public:
    explicit rulebook(manifest& index) noexcept : index_(index), is_version_2_(index.version == version::v2) {}

    /// Errors: those of the table above.
    ZTENSOR_COLD result<void> check() {
        for (const object_record& object : index_.objects) {
            if (object.is_valid || is_plain_and_valid(object)) {
                continue;
            }
            if (result<void> valid = check_object(object); !valid) {
                return std::move(valid).error().in_object(index_.text(object.name));
            }
        }
        return check_overlap();
    }

private:
    /// Most are dense, and a look tells that they keep all rules.
    [[nodiscard]] bool is_plain_and_valid(const object_record& object) const noexcept {
        if (object.format != format::dense || object.component_count != 1) {
            return false;
        }
        const component_record& data = index_.components_of(object).data()[0];
        const uint64_t bytes = role_name(index_, data) == "data" ? known_element_bytes(index_, data) : 0;
        return bytes != 0 && is_valid_dense(index_, data, index_.element_count_of(object), bytes);
    }

    ZTENSOR_COLD result<void> check_object(const object_record& object) {
        for (component_record& component : index_.components_of(object)) {
            if (result<void> valid = check_component(object, component); !valid) {
                return std::move(valid).error().in_component(role_name(index_, component));
            }
        }
        return is_version_2_ ? check_layout(object) : check_format(object);
    }

    /// Of 1.0 to 1.2 and 0.1, whose one component has all that its layout needs.
    result<void> check_format(const object_record& object) const {
        if (object.format && index_.version != version::v0_1) {
            ZTENSOR_TRY(check_roles(object));
        }
        return is_sparse(object) ? check_sparse(object) : result<void>();
    }

    /// Of version 2.
    result<void> check_layout(const object_record& object) const {
        if (!object.format) {
            return is_gguf_layout(index_.text(object.format_word)) ? check_gguf(object) : result<void>();
        }
        switch (*object.format) {
        case format::dense:
            return check_dense_2(object);
        case format::sparse_csr:
            return check_csr_2(object);
        case format::sparse_coo:
            return check_coo_2(object);
        case format::quantized_group:
            return check_quantized(object);
        default:
            return check_mx(object);
        }
    }

    // -- one component

    result<void> check_component(const object_record& object, component_record& component) {
        if (is_version_2_) { // whose parser has looked at places and digests
            ZTENSOR_TRY(check_type(component));
            return check_length(component);
        }
        ZTENSOR_TRY(check_place(component));
        ZTENSOR_TRY(check_type(component));
        ZTENSOR_TRY(check_digest_text(component));
        derive_length(object, component);
        if (object.format == format::dense && role_name(index_, component) == "data") {
            ZTENSOR_TRY(check_dense_data(object, component, component.decoded_length()));
        }
        ZTENSOR_TRY(check_length(component));
        return check_whole_elements(object, component);
    }

    result<void> check_place(const component_record& component) const {
        if (component.offset % index_.alignment_bytes != 0) {
            return fail(errc::misaligned_offset, "the blob's offset is {}, not a multiple of {}",
                        {component.offset, index_.alignment_bytes});
        }
        if (component.offset < index_.alignment_bytes) {
            return fail(errc::out_of_bounds, "the blob's offset is 0, where the file's magic stands");
        }
        if (!fits(component.offset, component.length, index_.blobs_end)) {
            return fail(errc::out_of_bounds, "the blob of {} bytes at offset {} reaches past byte {}, where {}",
                        {component.length, component.offset, index_.blobs_end,
                         index_.is_foreign() ? "the file ends" : "the manifest starts"});
        }
        return {};
    }

    result<void> check_type(const component_record& component) const {
        return has_foreign_storage(component)
                   ? not_stored_as(logical_types[component.logical_type], name(*component.dtype)).by_file()
                   : result<void>();
    }

    result<void> check_digest_text(const component_record& component) const {
        const string_view text = index_.text(component.digest_text);
        if (!component.digest_text.is_present() || parse_digest(text).is_well_formed) {
            return {};
        }
        return fail(errc::digest_format, "the digest {} is not \"crc32c:\" and 8 hex digits, or \"sha256:\" and 64",
                    {in_quotes(text)});
    }

    /// Puts in the decoded size of a zstd blob where the file does not state it, but the manifest tells it. SPEC.md
    /// section 6.2.
    void derive_length(const object_record& object, component_record& component) const {
        if (component.encoding != encoding::zstd || component.knows_uncompressed_length || !states_no_decoded_sizes() ||
            !component.dtype || component.logical_type == unknown_type) {
            return;
        }
        const optional<uint64_t> count = derive_count(object, component);
        const optional<uint64_t> bytes = count ? checked_multiply(*count, element_bytes(component)) : std::nullopt;
        component.knows_uncompressed_length = bytes.has_value();
        component.uncompressed_length = bytes.value_or(0);
    }

    [[nodiscard]] ZTENSOR_COLD optional<uint64_t> derive_count(const object_record& object,
                                                               const component_record& component) const {
        const string_view role = role_name(index_, component);
        if (object.format == format::dense && role == "data") {
            return index_.element_count_of(object);
        }
        if (index_.version == version::v0_1) {
            const bool has_index_arrays = is_sparse(object) && !component.holds_indices;
            return has_index_arrays ? optional(count_entries_0_1(object)) : std::nullopt;
        }
        const shape dimensions = index_.shape_of(object);
        const bool is_row_pointers = object.format == format::sparse_csr && role == "indptr" && dimensions.rank() == 2;
        return is_row_pointers ? checked_add(dimensions[0], 1) : std::nullopt;
    }

    /// What the two lengths must be to each other and to the element, and what zstd can do at most. SPEC.md
    /// section 6.2.
    result<void> check_length(const component_record& component) const {
        if (component.encoding == encoding::raw && component.states_uncompressed_length &&
            component.uncompressed_length != component.length) {
            return fail(errc::size_mismatch, "a raw blob has a length of {} and an uncompressed length of {}",
                        {component.length, component.uncompressed_length});
        }
        if (component.encoding == encoding::zstd && !component.knows_uncompressed_length &&
            !states_no_decoded_sizes()) {
            return fail(errc::schema_missing, "a zstd blob without \"uncompressed_length\"");
        }
        const bool is_compressed =
            component.encoding == encoding::zstd || component.encoding == encoding::zstd_seekable;
        if (is_compressed && component.knows_uncompressed_length &&
            !can_decode_to(component.uncompressed_length, component.length)) {
            return fail(errc::decode_limit, "a zstd blob of {} bytes can't decode to the claimed {}",
                        {component.length, component.uncompressed_length});
        }
        return {};
    }

    /// A part that its format gives a meaning holds whole elements. Others may be packed in ways that are not
    /// defined: reading them as elements is what is refused.
    ZTENSOR_NOINLINE result<void> check_whole_elements(const object_record& object,
                                                       const component_record& component) const {
        const optional<uint64_t> bytes = component.decoded_length();
        if (!object.format || !bytes || !component.dtype || component.logical_type == unknown_type ||
            component.holds_indices || !has_meaning(object, role_name(index_, component))) {
            return {};
        }
        if (*bytes % element_bytes(component) != 0) {
            return fail(errc::size_mismatch, "the data takes {} bytes, which is no whole number of elements of {}",
                        {*bytes, describe_type(component)});
        }
        return {};
    }

    [[nodiscard]] bool has_meaning(const object_record& object, string_view role) const noexcept {
        if (!object.format || index_.version == version::v0_1) {
            return static_cast<bool>(object.format);
        }
        const auto& roles = facts(*object.format).required_roles;
        return !role.empty() && place_of(role, roles) != roles.size();
    }

    /// The versions whose manifests do not state the decoded size of a zstd blob.
    [[nodiscard]] bool states_no_decoded_sizes() const noexcept { return index_.version < version::v1_2; }

    /// Elements of an unknown type may be of any size.
    result<void> check_dense_data(const object_record& object, const component_record& data,
                                  optional<uint64_t> decoded_bytes) const {
        if (!data.dtype || data.logical_type == unknown_type) {
            return {};
        }
        const logical_type_facts* const type =
            data.logical_type < logical_types.size() ? &logical_types[data.logical_type] : nullptr;
        return check_dense_size(index_.shape_of(object), *data.dtype, type, is_version_2_, decoded_bytes);
    }

    [[nodiscard]] ZTENSOR_COLD string describe_type(const component_record& component) const {
        const string_view type = type_name(index_, component);
        return string(type.empty() ? dtype_name(index_, component) : type);
    }

    // -- objects of several components

    ZTENSOR_COLD result<void> check_roles(const object_record& object) const {
        for (const string_view role : facts(*object.format).required_roles) {
            if (!role.empty() && find_component(index_, object, role) == nullptr) {
                return fail(errc::layout_components, "an object of format {} needs a component {}",
                            {name(*object.format), in_quotes(role)});
            }
        }
        return {};
    }

    // -- sparse objects before version 2

    /// `object` is sparse and has the components that its format requires.
    /// Errors: sparse_shape, sparse_size, sparse_dtype, shape_overflow.
    ZTENSOR_COLD result<void> check_sparse(const object_record& object) const {
        const shape dimensions = index_.shape_of(object);
        const bool is_csr = object.format == format::sparse_csr;
        ZTENSOR_TRY(is_csr ? check_csr_shape(dimensions) : check_coo_shape(dimensions));
        const optional<uint64_t> pointers = is_csr ? checked_add(dimensions[0], 1) : std::nullopt;
        if (is_csr && (!pointers || !checked_multiply(*pointers, sizeof(uint64_t)))) {
            return fail(errc::shape_overflow, "rows + 1 pointers need more than 2^64 bytes");
        }
        if (index_.version != version::v0_1) {
            return is_csr ? check_csr_parts(object, *pointers) : check_coo_parts(object, dimensions.rank());
        }
        const component_record& blob = index_.components_of(object).data()[0];
        return blob.holds_indices ? check_blob_0_1(*object.format, dimensions, blob)
                                  : check_index_arrays_0_1(object, dimensions, blob);
    }

    /// Entries of a sparse 0.1 tensor that has its index arrays in the manifest.
    [[nodiscard]] ZTENSOR_COLD uint64_t count_entries_0_1(const object_record& object) const {
        if (object.format == format::sparse_csr) {
            return count_numbers(object, "indices");
        }
        return count_numbers(object, "coords") / (std::max<uint64_t>)(index_.shape_of(object).rank(), 1);
    }

    ZTENSOR_COLD result<void> check_csr_parts(const object_record& object, uint64_t pointers) const {
        const component_record& indices = *find_component(index_, object, "indices");
        const component_record& indptr = *find_component(index_, object, "indptr");
        ZTENSOR_TRY(check_index_dtype(indices));
        ZTENSOR_TRY(check_index_dtype(indptr));
        result<void> valid =
            check_count(count_elements(indptr), pointers, "indptr", " row pointers belong to the shape (rows + 1)");
        const optional<uint64_t> values = count_elements(*find_component(index_, object, "values"));
        return valid && values ? check_count(count_elements(indices), *values, "indices", " belong to the values")
                               : valid;
    }

    ZTENSOR_COLD result<void> check_coo_parts(const object_record& object, uint64_t rank) const {
        const component_record& coords = *find_component(index_, object, "coords");
        ZTENSOR_TRY(check_index_dtype(coords));
        const optional<uint64_t> values = count_elements(*find_component(index_, object, "values"));
        if (!values) {
            return {};
        }
        const optional<uint64_t> expected = checked_multiply(*values, rank);
        if (!expected) {
            return fail(errc::shape_overflow, "values times dimensions need more than 64 bits");
        }
        return check_count(count_elements(coords), *expected, "coords",
                           " belong to the values (one for each dimension)");
    }

    /// u64 in 1.0 and from 1.2 on, any integer in 1.1. An unknown word is refused only when it is used.
    ZTENSOR_COLD result<void> check_index_dtype(const component_record& component) const {
        if (!component.dtype || component.dtype == dtype::u64) {
            return {};
        }
        const dtype_class category = facts(*component.dtype).category;
        if (index_.version == version::v1_1 &&
            (component.logical_type == plain_type || component.logical_type == unknown_type) &&
            (category == dtype_class::unsigned_integer || category == dtype_class::signed_integer)) {
            return {};
        }
        const bool has_type = component.logical_type != plain_type;
        return fail(errc::sparse_dtype, "indices are stored as {}{}",
                    {has_type ? in_quotes(type_name(index_, component)) : piece(name(*component.dtype)),
                     index_.version == version::v1_1 ? ", which is no integer type" : ", but must be u64"})
            .in_component(role_name(index_, component));
    }

    /// 0.1, all parts in one blob: its size, where that is known.
    ZTENSOR_COLD static result<void> check_blob_0_1(format layout, const shape& dimensions,
                                                    const component_record& blob) {
        const optional<uint64_t> bytes = blob.decoded_length();
        if (!bytes || !blob.dtype) {
            return {};
        }
        result<uint64_t> entries = detail::count_entries_0_1(layout, dimensions, width_bytes(*blob.dtype), *bytes);
        return entries ? result<void>() : std::move(entries).error();
    }

    /// 0.1, indices in the manifest: their counts, and that of the values in the blob, where it is known.
    ZTENSOR_COLD result<void> check_index_arrays_0_1(const object_record& object, const shape& dimensions,
                                                     const component_record& blob) const {
        if (object.format == format::sparse_coo && count_numbers(object, "coords") % dimensions.rank() != 0) {
            return fail(errc::sparse_size, "there are {} coordinates, which is not the same number for each dimension",
                        {count_numbers(object, "coords")});
        }
        result<void> valid =
            check_count(count_elements(blob), count_entries_0_1(object), "data", " values belong to the indices");
        if (valid && object.format == format::sparse_csr) {
            valid = check_count(count_numbers(object, "indptr"), dimensions[0] + 1, "data",
                                " row pointers belong to the shape (rows + 1)");
        }
        return valid;
    }

    ZTENSOR_COLD static result<void> check_count(optional<uint64_t> found, uint64_t expected, string_view role,
                                                 const char* why) {
        if (!found || *found == expected) {
            return {};
        }
        return fail(errc::sparse_size, "there are {} elements, but {}{}", {*found, expected, why}).in_component(role);
    }

    /// Elements in a component, if its type is known and its decoded size is.
    [[nodiscard]] static optional<uint64_t> count_elements(const component_record& component) noexcept {
        const optional<uint64_t> bytes = component.decoded_length();
        if (!bytes || !component.dtype || component.logical_type == unknown_type) {
            return std::nullopt;
        }
        return *bytes / element_bytes(component);
    }

    /// In an index array of a 0.1 manifest.
    [[nodiscard]] ZTENSOR_COLD uint64_t count_numbers(const object_record& object, string_view field) const {
        return detail::count_numbers(index_array_0_1(index_, object, field)).value_or(0); // validated when it was read
    }

    // -- layouts of version 2

    result<void> check_dense_2(const object_record& object) const {
        ZTENSOR_TRY(check_parts(object, {"data"}));
        const component_record& data = part_of(object, "data");
        result<void> valid = check_dense_data(object, data, decoded_bytes(data));
        return valid ? valid : std::move(valid).error().in_component("data");
    }

    /// The object has these parts and no others.
    ZTENSOR_COLD result<void> check_parts(const object_record& object, std::initializer_list<string_view> roles) const {
        for (const string_view role : roles) {
            if (find_component(index_, object, role) == nullptr) {
                return fail(errc::layout_components, "an object of layout {} needs a part {}",
                            {in_quotes(index_.text(object.format_word)), in_quotes(role)});
            }
        }
        if (object.component_count == roles.size()) {
            return {};
        }
        return fail(errc::layout_components, "an object of layout {} has {} parts, not {}",
                    {in_quotes(index_.text(object.format_word)), object.component_count, roles.size()});
    }

    [[nodiscard]] const component_record& part_of(const object_record& object, string_view role) const noexcept {
        return *find_component(index_, object, role);
    }

    /// Decoded: of an unknown encoding, too, the file states it.
    [[nodiscard]] static uint64_t decoded_bytes(const component_record& part) noexcept {
        return part.states_uncompressed_length ? part.uncompressed_length : part.length;
    }

    [[nodiscard]] static bool is_plain(const component_record& part) noexcept {
        return part.logical_type == plain_type;
    }

    /// The part decodes to so many elements of its type, if that is known.
    ZTENSOR_COLD result<void> check_elements(const component_record& part, uint64_t elements,
                                             errc code = errc::size_mismatch) const {
        if (part.logical_type == unknown_type) {
            return {};
        }
        const uint64_t stored = elements / packed_elements(part) + (elements % packed_elements(part) != 0 ? 1 : 0);
        return check_bytes(part, checked_multiply(stored, element_bytes(part)), code);
    }

    ZTENSOR_COLD result<void> check_bytes(const component_record& part, optional<uint64_t> expected,
                                          errc code = errc::size_mismatch) const {
        if (expected && *expected == decoded_bytes(part)) {
            return {};
        }
        const string_view role = index_.text(part.role);
        if (!expected) {
            return fail(errc::shape_overflow, "shape and type need more than 2^64 bytes").in_component(role);
        }
        return fail(code, "the part takes {} bytes, but what it has to hold takes {}", {decoded_bytes(part), *expected})
            .in_component(role);
    }

    /// How many whole indices a part has, if they are such.
    result<uint64_t> count_indices(const component_record& part, uint64_t of_each) const {
        const string_view role = index_.text(part.role);
        if ((part.dtype != dtype::u32 && part.dtype != dtype::u64) || !is_plain(part)) {
            return fail(errc::sparse_dtype, "indices are plain u32 or u64, not {}", {describe_type(part)})
                .in_component(role);
        }
        const uint64_t entry_bytes = width_bytes(*part.dtype) * of_each;
        if (decoded_bytes(part) % entry_bytes != 0) {
            return fail(errc::sparse_size, "{} bytes are no whole number of entries of {} bytes",
                        {decoded_bytes(part), entry_bytes})
                .in_component(role);
        }
        return decoded_bytes(part) / entry_bytes;
    }

    ZTENSOR_COLD result<void> check_csr_2(const object_record& object) const {
        const shape dimensions = index_.shape_of(object);
        if (dimensions.rank() != 2) {
            return fail(errc::sparse_shape, "a CSR matrix has 2 dimensions, not those of shape {}",
                        {to_string(dimensions)});
        }
        ZTENSOR_TRY(check_parts(object, {"values", "indices", "indptr"}));
        const component_record& indices = part_of(object, "indices");
        const component_record& indptr = part_of(object, "indptr");
        ZTENSOR_TRY_ASSIGN(const uint64_t entries, count_indices(indices, 1));
        if (indptr.dtype != *indices.dtype || !is_plain(indptr)) {
            return fail(errc::sparse_dtype, "row pointers are of the type of the indices, {}, not {}",
                        {name(*indices.dtype), describe_type(indptr)})
                .in_component("indptr");
        }
        const optional<uint64_t> pointers = checked_add(dimensions[0], 1);
        result<void> valid = check_bytes(
            indptr, pointers ? checked_multiply(*pointers, width_bytes(*indices.dtype)) : pointers, errc::sparse_size);
        return valid ? check_elements(part_of(object, "values"), entries, errc::sparse_size) : valid;
    }

    ZTENSOR_COLD result<void> check_coo_2(const object_record& object) const {
        const shape dimensions = index_.shape_of(object);
        if (dimensions.empty()) {
            return fail(errc::sparse_shape, "a COO tensor has at least 1 dimension");
        }
        ZTENSOR_TRY(check_parts(object, {"values", "coords"}));
        const result<uint64_t> entries = count_indices(part_of(object, "coords"), dimensions.rank());
        return entries ? check_elements(part_of(object, "values"), *entries, errc::sparse_size) : entries.error();
    }

    ZTENSOR_COLD result<void> check_mx(const object_record& object) const {
        ZTENSOR_TRY(check_parts(object, {"data", "scales"}));
        const shape dimensions = index_.shape_of(object);
        ZTENSOR_TRY_ASSIGN(const mx_layout layout, read_mx(attributes_of(index_, object), dimensions));
        const component_record& data = part_of(object, "data");
        const component_record& scales = part_of(object, "scales");
        const bool is_element = data.logical_type == unknown_type || has_logical_type(data, "f4_e2m1") ||
                                has_logical_type(data, "f8_e4m3fn") || has_logical_type(data, "f8_e5m2") ||
                                (data.dtype == dtype::i8 && is_plain(data));
        if (!is_element) {
            return fail(errc::type_mismatch, "elements of zt.mx/1 are f4_e2m1, f8_e4m3fn, f8_e5m2 or i8, not {}",
                        {describe_type(data)})
                .in_component("data");
        }
        if (!has_logical_type(scales, "f8_e8m0")) {
            return fail(errc::type_mismatch, "scales of zt.mx/1 are f8_e8m0, not {}", {describe_type(scales)})
                .in_component("scales");
        }
        const uint64_t elements = index_.element_count_of(object);
        result<void> valid = check_elements(data, elements);
        return valid ? check_elements(scales, elements / layout.block_size) : valid;
    }

    ZTENSOR_COLD result<void> check_quantized(const object_record& object) const {
        const shape dimensions = index_.shape_of(object);
        ZTENSOR_TRY_ASSIGN(const quant_group_layout layout,
                           read_quant_group(attributes_of(index_, object), dimensions));
        const bool has_zeros = layout.zero == zero_form::tensor;
        ZTENSOR_TRY(has_zeros ? check_parts(object, {"data", "scales", "zeros"})
                              : check_parts(object, {"data", "scales"}));
        const component_record& data = part_of(object, "data");
        const component_record& scales = part_of(object, "scales");
        if (unsigned_counterpart(*data.dtype) != layout.word) {
            return fail(errc::quant_packing, "the packing has words of {}, but the data is {}",
                        {name(layout.word), name(*data.dtype)})
                .in_component("data");
        }
        const bool fits_form = layout.scale == scale_form::e8m0_exponent
                                   ? has_logical_type(scales, "f8_e8m0")
                                   : facts(*scales.dtype).category == dtype_class::floating;
        if (!fits_form) {
            return fail(errc::type_mismatch, "the scales are {}, which their form can't be", {describe_type(scales)})
                .in_component("scales");
        }
        ZTENSOR_TRY(check_packed_words(data, layout.codes, layout));
        result<void> valid = check_bytes(scales, checked_multiply(layout.groups, width_bytes(*scales.dtype)));
        if (!valid || !has_zeros) {
            return valid;
        }
        const component_record& zeros = part_of(object, "zeros");
        return layout.zeros_are_packed ? check_packed_words(zeros, layout.groups, layout)
                                       : check_bytes(zeros, checked_multiply(layout.groups, width_bytes(*zeros.dtype)));
    }

    /// Words that would be left partly empty are none that a packing of version 2 has.
    ZTENSOR_COLD result<void> check_packed_words(const component_record& part, uint64_t codes,
                                                 const quant_group_layout& layout) const {
        if (codes % layout.per_word != 0) {
            return fail(errc::quant_packing, "{} codes don't fill words of {}", {codes, layout.per_word})
                .in_component(index_.text(part.role));
        }
        return check_bytes(part, checked_multiply(codes / layout.per_word, width_bytes(layout.word)));
    }

    ZTENSOR_COLD result<void> check_gguf(const object_record& object) const {
        ZTENSOR_TRY(check_parts(object, {"data"}));
        const component_record& data = part_of(object, "data");
        if (data.dtype != dtype::u8 || !is_plain(data)) {
            return fail(errc::type_mismatch, "blocks of GGUF are plain u8, not {}", {describe_type(data)})
                .in_component("data");
        }
        const uint64_t elements = index_.element_count_of(object);
        const result<gguf_layout> layout = read_gguf(attributes_of(index_, object), elements);
        return layout ? check_bytes(data, checked_multiply(elements / layout->elements_per_block, layout->block_bytes))
                      : layout.error();
    }

    // -- blobs among each other

    /// In version 2 offsets are those of the row of files, so the error names none.
    ZTENSOR_COLD result<void> check_overlap() const {
        blob_range first = {};
        blob_range second = {};
        if (index_.blobs_are_in_order || index_.blobs_may_overlap || !find_overlap(index_, first, second)) {
            return {};
        }
        error why = describe_overlap(index_, first, second);
        return is_version_2_ ? why : std::move(why).at(second.offset);
    }

    manifest& index_;
    bool is_version_2_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
