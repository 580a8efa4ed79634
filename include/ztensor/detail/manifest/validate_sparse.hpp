// SPDX-License-Identifier: MIT
//
// Sparse objects as the manifest describes them: every rule about their parts that needs no data.
// SPEC.md section 5.2, section 5.3, section 8.3.
#ifndef ZTENSOR_DETAIL_MANIFEST_VALIDATE_SPARSE_HPP
#define ZTENSOR_DETAIL_MANIFEST_VALIDATE_SPARSE_HPP

#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/layout/sparse_rules.hpp>
#include <ztensor/detail/manifest/fields_0_1.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
