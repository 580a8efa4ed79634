// SPDX-License-Identifier: MIT
//
// The model against the file it came from: every structural rule that needs no data. After this, views may trust
// offsets, lengths and sizes. SPEC.md section 2.3, section 4.3, section 5, section 6, section 7.1.
#ifndef ZTENSOR_DETAIL_MANIFEST_VALIDATE_HPP
#define ZTENSOR_DETAIL_MANIFEST_VALIDATE_HPP

#include <ztensor/detail/codec/digest_text.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/layout/dense_size.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/manifest/overlap.hpp>
#include <ztensor/detail/manifest/validate_sparse.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/result.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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

    // -- blobs among each other

    [[nodiscard]] ZTENSOR_COLD result<void> check_overlap() const {
        blob_range first = {};
        blob_range second = {};
        if (index_.blobs_are_in_order || index_.blobs_may_overlap || !find_overlap(index_, blobs_end_, first, second)) {
            return {};
        }
        return describe_overlap(first, second);
    }

    [[nodiscard]] ZTENSOR_COLD error describe_overlap(const blob_range& first, const blob_range& second) const {
        error overlap = fail(errc::blob_overlap,
                             "two blobs share bytes without being the same: {} bytes at offset {} and {} bytes at "
                             "offset {}",
                             {first.length, first.offset, second.length, second.offset});
        for (const object_record& object : index_.objects) {
            for (const component_record& component : index_.components_of(object)) {
                if (component.offset == second.offset && component.length == second.length) {
                    return std::move(overlap)
                        .in_object(index_.text(object.name))
                        .in_component(role_name(index_, component))
                        .at(second.offset);
                }
            }
        }
        return overlap;
    }

    manifest& index_;
    std::uint64_t blobs_end_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
