// SPDX-License-Identifier: MIT
//
// Every rule before version 2 that needs no data. SPEC.md section 2.3, section 4.3, section 5 to 7.
#ifndef ZTENSOR_DETAIL_INDEX_VALIDATE_HPP
#define ZTENSOR_DETAIL_INDEX_VALIDATE_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/fields.hpp>
#include <ztensor/detail/index/layouts.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/overlap.hpp>
#include <ztensor/detail/index/sparse_rules.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- validate sparse
//
// Sparse objects as the manifest describes them: every rule about their parts that needs no data.
// SPEC.md section 5.2, section 5.3, section 8.3.

[[nodiscard]] inline bool is_sparse(const object_record& object) noexcept {
    return object.format == format::sparse_csr || object.format == format::sparse_coo;
}

class sparse_validator {
public:
    explicit sparse_validator(const manifest& index) noexcept : index_(index) {}

    /// `object` is sparse and has the components that its format requires.
    /// Errors: sparse_shape, sparse_size, sparse_dtype, shape_overflow.
    [[nodiscard]] ZTENSOR_COLD result<void> validate(const object_record& object) const {
        const shape dimensions = index_.shape_of(object);
        const bool is_csr = object.format == format::sparse_csr;
        ZTENSOR_TRY(is_csr ? check_csr_shape(dimensions) : check_coo_shape(dimensions));
        const std::optional<std::uint64_t> pointers = is_csr ? checked_add(dimensions[0], 1) : std::nullopt;
        if (is_csr && (!pointers || !checked_multiply(*pointers, sizeof(std::uint64_t)))) {
            return fail(errc::shape_overflow, "rows + 1 pointers need more than 2^64 bytes");
        }
        if (index_.generation != generation::v0_1) {
            return is_csr ? check_csr_parts(object, *pointers) : check_coo_parts(object, dimensions.rank());
        }
        const component_record& blob = index_.components_of(object).data()[0];
        return blob.holds_indices ? check_blob_0_1(*object.format, dimensions, blob)
                                  : check_index_arrays_0_1(object, dimensions, blob);
    }

    /// Entries of a sparse 0.1 tensor that has its index arrays in the manifest.
    [[nodiscard]] ZTENSOR_COLD std::uint64_t count_entries_0_1(const object_record& object) const {
        if (object.format == format::sparse_csr) {
            return count_numbers(object, "indices");
        }
        return count_numbers(object, "coords") / (std::max<std::uint64_t>)(index_.shape_of(object).rank(), 1);
    }

private:
    [[nodiscard]] ZTENSOR_COLD result<void> check_csr_parts(const object_record& object, std::uint64_t pointers) const {
        const component_record& indices = *find_component(index_, object, "indices");
        const component_record& indptr = *find_component(index_, object, "indptr");
        ZTENSOR_TRY(check_index_dtype(indices));
        ZTENSOR_TRY(check_index_dtype(indptr));
        result<void> valid =
            check_count(count_elements(indptr), pointers, "indptr", " row pointers belong to the shape (rows + 1)");
        const std::optional<std::uint64_t> values = count_elements(*find_component(index_, object, "values"));
        return valid && values ? check_count(count_elements(indices), *values, "indices", " belong to the values")
                               : valid;
    }

    [[nodiscard]] ZTENSOR_COLD result<void> check_coo_parts(const object_record& object, std::uint64_t rank) const {
        const component_record& coords = *find_component(index_, object, "coords");
        ZTENSOR_TRY(check_index_dtype(coords));
        const std::optional<std::uint64_t> values = count_elements(*find_component(index_, object, "values"));
        if (!values) {
            return {};
        }
        const std::optional<std::uint64_t> expected = checked_multiply(*values, rank);
        if (!expected) {
            return fail(errc::shape_overflow, "values times dimensions need more than 64 bits");
        }
        return check_count(count_elements(coords), *expected, "coords",
                           " belong to the values (one for each dimension)");
    }

    /// u64 in 1.0 and from 1.2 on, any integer in 1.1. An unknown word is refused only when it is used.
    [[nodiscard]] ZTENSOR_COLD result<void> check_index_dtype(const component_record& component) const {
        if (!component.dtype || component.dtype == dtype::u64) {
            return {};
        }
        const dtype_class category = facts(*component.dtype).category;
        if (index_.generation == generation::v1_1 &&
            (component.logical_type == plain_type || component.logical_type == unknown_type) &&
            (category == dtype_class::unsigned_integer || category == dtype_class::signed_integer)) {
            return {};
        }
        const bool has_type = component.logical_type != plain_type;
        return fail(errc::sparse_dtype, "indices are stored as {}{}",
                    {has_type ? in_quotes(type_name(index_, component)) : piece(name(*component.dtype)),
                     index_.generation == generation::v1_1 ? ", which is no integer type" : ", but must be u64"})
            .in_component(role_name(index_, component));
    }

    /// 0.1, all parts in one blob: its size, where that is known.
    [[nodiscard]] ZTENSOR_COLD static result<void> check_blob_0_1(format layout, const shape& dimensions,
                                                                  const component_record& blob) {
        const std::optional<std::uint64_t> bytes = blob.decoded_length();
        if (!bytes || !blob.dtype) {
            return {};
        }
        result<std::uint64_t> entries = detail::count_entries_0_1(layout, dimensions, width_bytes(*blob.dtype), *bytes);
        return entries ? result<void>() : std::move(entries).error();
    }

    /// 0.1, indices in the manifest: their counts, and that of the values in the blob, where it is known.
    [[nodiscard]] ZTENSOR_COLD result<void> check_index_arrays_0_1(const object_record& object, const shape& dimensions,
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

    [[nodiscard]] ZTENSOR_COLD static result<void>
    check_count(std::optional<std::uint64_t> found, std::uint64_t expected, std::string_view role, const char* why) {
        if (!found || *found == expected) {
            return {};
        }
        return fail(errc::sparse_size, "there are {} elements, but {}{}", {*found, expected, why}).in_component(role);
    }

    /// Elements in a component, if its type is known and its decoded size is.
    [[nodiscard]] static std::optional<std::uint64_t> count_elements(const component_record& component) noexcept {
        const std::optional<std::uint64_t> bytes = component.decoded_length();
        if (!bytes || !component.dtype || component.logical_type == unknown_type) {
            return std::nullopt;
        }
        return *bytes / (width_bytes(*component.dtype) * storage_elements(component));
    }

    /// In an index array of a 0.1 manifest.
    [[nodiscard]] ZTENSOR_COLD std::uint64_t count_numbers(const object_record& object, std::string_view field) const {
        return detail::count_numbers(index_array_0_1(index_, object, field)).value_or(0); // validated when it was read
    }

    const manifest& index_;
};

// -- validate
//
// The model against the file it came from: every structural rule that needs no data. After this, views may trust
// offsets, lengths and sizes. SPEC.md section 2.3, section 4.3, section 5, section 6, section 7.1.

/// Checks one manifest. Where a size is not stated but follows from shape and type, it is put into the record.
class manifest_validator {
public:
    /// `blobs_end` is where the manifest starts: no blob may reach beyond.
    manifest_validator(manifest& index, std::uint64_t blobs_end) noexcept : index_(index), blobs_end_(blobs_end) {}

    /// Errors: out_of_bounds, misaligned_offset, blob_overlap, schema_missing, shape_overflow, size_mismatch,
    /// type_mismatch, decode_limit, digest_format, layout_components, sparse_shape, sparse_size, sparse_dtype.
    [[nodiscard]] result<void> validate() {
        for (const object_record& object : index_.objects) {
            if (object.is_checked) { // as most are, by pattern_book
                continue;
            }
            if (result<void> valid = validate_object(object); !valid) {
                return std::move(valid).error().in_object(index_.text(object.name));
            }
        }
        return check_overlap();
    }

private:
    [[nodiscard]] ZTENSOR_COLD result<void> validate_object(const object_record& object) {
        for (std::size_t i = 0; i < object.component_count; ++i) {
            component_record& component = index_.components[object.first_component + i];
            if (result<void> valid = validate_component(object, component); !valid) {
                return std::move(valid).error().in_component(role_name(index_, component));
            }
        }
        if (!object.format) {
            return {};
        }
        if (index_.generation != generation::v0_1) { // which has one component, whatever the layout
            const bool has_all = object.format == format::dense && object.component_count == 1 &&
                                 role_name(index_, index_.components[object.first_component]) == "data";
            ZTENSOR_TRY(has_all ? result<void>() : check_roles(object));
        }
        return is_sparse(object) ? sparse_validator(index_).validate(object) : result<void>();
    }

    [[nodiscard]] result<void> validate_component(const object_record& object, component_record& component) {
        ZTENSOR_TRY(check_place(component));
        ZTENSOR_TRY(check_type(component));
        ZTENSOR_TRY(check_digest_text(component));
        derive_length(object, component);
        if (object.format == format::dense && role_name(index_, component) == "data") {
            ZTENSOR_TRY(check_dense_size(object, component));
        }
        ZTENSOR_TRY(check_length(component));
        return check_whole_elements(object, component);
    }

    [[nodiscard]] result<void> check_place(const component_record& component) const {
        if (component.offset % index_.alignment_bytes != 0) {
            return fail(errc::misaligned_offset, "the blob's offset is {}, not a multiple of {}",
                        {component.offset, index_.alignment_bytes});
        }
        if (component.offset < index_.alignment_bytes) {
            return fail(errc::out_of_bounds, "the blob's offset is 0, where the file's magic stands");
        }
        if (!fits(component.offset, component.length, blobs_end_)) {
            return fail(errc::out_of_bounds, "the blob of {} bytes at offset {} reaches past byte {}, where {}",
                        {component.length, component.offset, blobs_end_,
                         index_.is_foreign() ? "the file ends" : "the manifest starts"});
        }
        return {};
    }

    [[nodiscard]] result<void> check_type(const component_record& component) const {
        if (component.logical_type >= logical_types.size() || !component.dtype) {
            return {};
        }
        const logical_type_facts& type = logical_types[component.logical_type];
        if (type.storage == *component.dtype) {
            return {};
        }
        return not_stored_as(type, name(*component.dtype)).by_file();
    }

    [[nodiscard]] result<void> check_digest_text(const component_record& component) const {
        const std::string_view text = index_.text(component.digest_text);
        if (!component.digest_text.is_present() || parse_digest(text).is_well_formed) {
            return {};
        }
        return fail(errc::digest_format, "the digest {} is not \"crc32c:\" and 8 hex digits, or \"sha256:\" and 64",
                    {in_quotes(text)});
    }

    /// Puts in the decoded size of a zstd blob where the file does not state it, but the manifest tells it. SPEC.md
    /// section 6.2.
    void derive_length(const object_record& object, component_record& component) const {
        if (component.encoding != encoding::zstd || component.knows_uncompressed_length || !is_unsized_generation() ||
            !component.dtype || component.logical_type == unknown_type) {
            return;
        }
        const std::uint64_t element_bytes = width_bytes(*component.dtype) * storage_elements(component);
        const std::optional<std::uint64_t> count = derive_count(object, component);
        const std::optional<std::uint64_t> bytes = count ? checked_multiply(*count, element_bytes) : std::nullopt;
        component.knows_uncompressed_length = bytes.has_value();
        component.uncompressed_length = bytes.value_or(0);
    }

    [[nodiscard]] ZTENSOR_COLD std::optional<std::uint64_t> derive_count(const object_record& object,
                                                                         const component_record& component) const {
        const std::string_view role = role_name(index_, component);
        if (object.format == format::dense && role == "data") {
            return index_.element_count_of(object);
        }
        if (index_.generation == generation::v0_1) {
            const bool has_index_arrays = is_sparse(object) && !component.holds_indices;
            return has_index_arrays ? std::optional(sparse_validator(index_).count_entries_0_1(object)) : std::nullopt;
        }
        const shape dimensions = index_.shape_of(object);
        const bool is_row_pointers = object.format == format::sparse_csr && role == "indptr" && dimensions.rank() == 2;
        return is_row_pointers ? checked_add(dimensions[0], 1) : std::nullopt;
    }

    /// A dense blob decodes to element count x bytes per element, if both are known. SPEC.md section 4.3.
    [[nodiscard]] ZTENSOR_NOINLINE result<void> check_dense_size(const object_record& object,
                                                                 const component_record& component) const {
        if (!component.dtype || component.logical_type == unknown_type) {
            return {};
        }
        const std::uint64_t element_bytes = width_bytes(*component.dtype) * storage_elements(component);
        const std::optional<std::uint64_t> expected = dense_bytes(index_.shape_of(object), element_bytes);
        if (!expected) {
            return fail(errc::shape_overflow, "shape {} of elements of {} bytes needs more than 2^64 bytes",
                        {to_string(index_.shape_of(object)), element_bytes});
        }
        const std::optional<std::uint64_t> found = component.decoded_length();
        if (found && *found != *expected) {
            return fail(errc::size_mismatch, "the data takes {} bytes, but shape {} of {} takes {}",
                        {*found, to_string(index_.shape_of(object)), describe_type(component), *expected});
        }
        return {};
    }

    /// What the two lengths must be to each other and to the element, and what zstd can do at most. SPEC.md
    /// section 6.2.
    [[nodiscard]] result<void> check_length(const component_record& component) const {
        if (component.encoding == encoding::raw && component.states_uncompressed_length &&
            component.uncompressed_length != component.length) {
            return fail(errc::size_mismatch, "a raw blob has a length of {} and an uncompressed length of {}",
                        {component.length, component.uncompressed_length});
        }
        if (component.encoding == encoding::zstd && !component.knows_uncompressed_length && !is_unsized_generation()) {
            return fail(errc::schema_missing, "a zstd blob without \"uncompressed_length\"");
        }
        if (component.encoding == encoding::zstd && component.knows_uncompressed_length &&
            !can_decode_to(component.uncompressed_length, component.length)) {
            return fail(errc::decode_limit, "a zstd blob of {} bytes can't decode to the claimed {}",
                        {component.length, component.uncompressed_length});
        }
        return {};
    }

    /// A part that its format gives a meaning holds whole elements. Others may be packed in ways that nobody told us
    /// of: reading them as elements is what is refused.
    [[nodiscard]] ZTENSOR_NOINLINE result<void> check_whole_elements(const object_record& object,
                                                                     const component_record& component) const {
        const std::optional<std::uint64_t> bytes = component.decoded_length();
        if (!object.format || !bytes || !component.dtype || component.logical_type == unknown_type ||
            component.holds_indices || !has_meaning(object, role_name(index_, component))) {
            return {};
        }
        const std::uint64_t element_bytes = width_bytes(*component.dtype) * storage_elements(component);
        if (*bytes % element_bytes != 0) {
            return fail(errc::size_mismatch, "the data takes {} bytes, which is no whole number of elements of {}",
                        {*bytes, describe_type(component)});
        }
        return {};
    }

    [[nodiscard]] bool has_meaning(const object_record& object, std::string_view role) const noexcept {
        if (!object.format || index_.generation == generation::v0_1) {
            return static_cast<bool>(object.format);
        }
        const auto& roles = facts(*object.format).required_roles;
        return !role.empty() && place_of(role, roles) != roles.size();
    }

    /// The generations whose manifests do not state the decoded size of a zstd blob.
    [[nodiscard]] bool is_unsized_generation() const noexcept { return index_.generation < generation::v1_2; }

    [[nodiscard]] ZTENSOR_COLD std::string describe_type(const component_record& component) const {
        const std::string_view type = type_name(index_, component);
        return std::string(type.empty() ? dtype_name(index_, component) : type);
    }

    // -- objects of several components

    [[nodiscard]] ZTENSOR_COLD result<void> check_roles(const object_record& object) const {
        for (const std::string_view role : facts(*object.format).required_roles) {
            if (!role.empty() && find_component(index_, object, role) == nullptr) {
                return fail(errc::layout_components, "an object of format {} needs a component {}",
                            {name(*object.format), in_quotes(role)});
            }
        }
        return {};
    }

    [[nodiscard]] ZTENSOR_COLD result<void> check_overlap() const {
        blob_range first = {};
        blob_range second = {};
        if (index_.blobs_are_in_order || index_.blobs_may_overlap || !find_overlap(index_, blobs_end_, first, second)) {
            return {};
        }
        return describe_overlap(index_, first, second).at(second.offset);
    }

    manifest& index_;
    std::uint64_t blobs_end_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
