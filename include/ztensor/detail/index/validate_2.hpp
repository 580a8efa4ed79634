// SPDX-License-Identifier: MIT
//
// The model of version 2 against its rules for whole objects, and blobs among each other: all that needs no data. What
// concerns one part alone was checked while it was read. SPEC.md section 13.2, section 13.6.
#ifndef ZTENSOR_DETAIL_INDEX_VALIDATE_2_HPP
#define ZTENSOR_DETAIL_INDEX_VALIDATE_2_HPP

#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/index/layouts.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/overlap.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/result.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class manifest_validator_2 {
public:
    /// The file and its shards end at `row_end`.
    manifest_validator_2(const manifest& index, std::uint64_t row_end) noexcept : index_(index), row_end_(row_end) {}

    /// Errors: layout_components, layout_attributes, type_mismatch, size_mismatch, shape_overflow, sparse_shape,
    /// sparse_dtype, sparse_size, quant_bits, quant_group, quant_packing, decode_limit, blob_overlap.
    [[nodiscard]] ZTENSOR_COLD result<void> validate() const {
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
    [[nodiscard]] result<void> validate_object(const object_record& object) const {
        for (const component_record& part : index_.components_of(object)) {
            if (part.encoding == encoding::zstd_seekable && !can_decode_to(part.uncompressed_length, part.length)) {
                return fail(errc::decode_limit, "a zstd blob of {} bytes can't decode to the claimed {}",
                            {part.length, part.uncompressed_length})
                    .in_component(index_.text(part.role));
            }
        }
        if (!object.format) {
            return is_gguf_layout(index_.text(object.format_word)) ? check_gguf(object) : result<void>();
        }
        switch (*object.format) {
        case format::dense:
            return check_dense(object);
        case format::sparse_csr:
            return check_csr(object);
        case format::sparse_coo:
            return check_coo(object);
        case format::quantized_group:
            return check_quantized(object);
        default:
            return check_mx(object);
        }
    }

    // -- what layouts have in common

    /// The object has these parts and no others.
    [[nodiscard]] ZTENSOR_COLD result<void> check_parts(const object_record& object,
                                                        std::initializer_list<std::string_view> roles) const {
        for (const std::string_view role : roles) {
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

    [[nodiscard]] const component_record& part_of(const object_record& object, std::string_view role) const noexcept {
        return *find_component(index_, object, role);
    }

    /// Decoded: of an unknown encoding, too, the file states it.
    [[nodiscard]] static std::uint64_t decoded_bytes(const component_record& part) noexcept {
        return part.states_uncompressed_length ? part.uncompressed_length : part.length;
    }

    [[nodiscard]] static bool is_plain(const component_record& part) noexcept {
        return part.logical_type == plain_type;
    }

    /// The part decodes to so many elements of its type, if that is known.
    [[nodiscard]] ZTENSOR_COLD result<void> check_elements(const component_record& part, std::uint64_t elements,
                                                           errc code = errc::size_mismatch) const {
        if (part.logical_type == unknown_type) {
            return {};
        }
        const std::uint64_t stored = elements / packed_elements(part) + (elements % packed_elements(part) != 0 ? 1 : 0);
        return check_bytes(part, checked_multiply(stored, width_bytes(*part.dtype) * storage_elements(part)), code);
    }

    [[nodiscard]] ZTENSOR_COLD result<void> check_bytes(const component_record& part,
                                                        std::optional<std::uint64_t> expected,
                                                        errc code = errc::size_mismatch) const {
        if (expected && *expected == decoded_bytes(part)) {
            return {};
        }
        const std::string_view role = index_.text(part.role);
        if (!expected) {
            return fail(errc::shape_overflow, "shape and type need more than 2^64 bytes").in_component(role);
        }
        return fail(code, "the part takes {} bytes, but what it has to hold takes {}", {decoded_bytes(part), *expected})
            .in_component(role);
    }

    // -- the layouts

    [[nodiscard]] result<void> check_dense(const object_record& object) const {
        result<void> valid = check_parts(object, {"data"});
        return valid ? check_elements(part_of(object, "data"), index_.element_count_of(object)) : valid;
    }

    /// How many whole indices a part has, if they are such.
    [[nodiscard]] result<std::uint64_t> count_indices(const component_record& part, std::uint64_t of_each) const {
        const std::string_view role = index_.text(part.role);
        if ((part.dtype != dtype::u32 && part.dtype != dtype::u64) || !is_plain(part)) {
            return fail(errc::sparse_dtype, "indices are plain u32 or u64, not {}", {describe_type(part)})
                .in_component(role);
        }
        const std::uint64_t entry_bytes = width_bytes(*part.dtype) * of_each;
        if (decoded_bytes(part) % entry_bytes != 0) {
            return fail(errc::sparse_size, "{} bytes are no whole number of entries of {} bytes",
                        {decoded_bytes(part), entry_bytes})
                .in_component(role);
        }
        return decoded_bytes(part) / entry_bytes;
    }

    [[nodiscard]] ZTENSOR_COLD result<void> check_csr(const object_record& object) const {
        const shape dimensions = index_.shape_of(object);
        if (dimensions.rank() != 2) {
            return fail(errc::sparse_shape, "a CSR matrix has 2 dimensions, not those of shape {}",
                        {to_string(dimensions)});
        }
        ZTENSOR_TRY(check_parts(object, {"values", "indices", "indptr"}));
        const component_record& indices = part_of(object, "indices");
        const component_record& indptr = part_of(object, "indptr");
        ZTENSOR_TRY_ASSIGN(const std::uint64_t entries, count_indices(indices, 1));
        if (indptr.dtype != *indices.dtype || !is_plain(indptr)) {
            return fail(errc::sparse_dtype, "row pointers are of the type of the indices, {}, not {}",
                        {name(*indices.dtype), describe_type(indptr)})
                .in_component("indptr");
        }
        const std::optional<std::uint64_t> pointers = checked_add(dimensions[0], 1);
        result<void> valid = check_bytes(
            indptr, pointers ? checked_multiply(*pointers, width_bytes(*indices.dtype)) : pointers, errc::sparse_size);
        return valid ? check_elements(part_of(object, "values"), entries, errc::sparse_size) : valid;
    }

    [[nodiscard]] ZTENSOR_COLD result<void> check_coo(const object_record& object) const {
        const shape dimensions = index_.shape_of(object);
        if (dimensions.empty()) {
            return fail(errc::sparse_shape, "a COO tensor has at least 1 dimension");
        }
        ZTENSOR_TRY(check_parts(object, {"values", "coords"}));
        const result<std::uint64_t> entries = count_indices(part_of(object, "coords"), dimensions.rank());
        return entries ? check_elements(part_of(object, "values"), *entries, errc::sparse_size) : entries.error();
    }

    [[nodiscard]] ZTENSOR_COLD result<void> check_mx(const object_record& object) const {
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
        const std::uint64_t elements = index_.element_count_of(object);
        result<void> valid = check_elements(data, elements);
        return valid ? check_elements(scales, elements / layout.block_size) : valid;
    }

    [[nodiscard]] ZTENSOR_COLD result<void> check_quantized(const object_record& object) const {
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
    [[nodiscard]] ZTENSOR_COLD result<void> check_packed_words(const component_record& part, std::uint64_t codes,
                                                               const quant_group_layout& layout) const {
        if (codes % layout.per_word != 0) {
            return fail(errc::quant_packing, "{} codes don't fill words of {}", {codes, layout.per_word})
                .in_component(index_.text(part.role));
        }
        return check_bytes(part, checked_multiply(codes / layout.per_word, width_bytes(layout.word)));
    }

    [[nodiscard]] ZTENSOR_COLD result<void> check_gguf(const object_record& object) const {
        ZTENSOR_TRY(check_parts(object, {"data"}));
        const component_record& data = part_of(object, "data");
        if (data.dtype != dtype::u8 || !is_plain(data)) {
            return fail(errc::type_mismatch, "blocks of GGUF are plain u8, not {}", {describe_type(data)})
                .in_component("data");
        }
        const std::uint64_t elements = index_.element_count_of(object);
        const result<gguf_layout> layout = read_gguf(attributes_of(index_, object), elements);
        return layout ? check_bytes(data, checked_multiply(elements / layout->elements_per_block, layout->block_bytes))
                      : layout.error();
    }

    [[nodiscard]] std::string describe_type(const component_record& part) const {
        const std::string_view type = type_name(index_, part);
        return std::string(type.empty() ? dtype_name(index_, part) : type);
    }

    /// Offsets are those of the row of files, so the error names none.
    [[nodiscard]] result<void> check_overlap() const {
        blob_range first = {};
        blob_range second = {};
        if (index_.blobs_are_in_order || !find_overlap(index_, row_end_, first, second)) {
            return {};
        }
        return describe_overlap(index_, first, second);
    }

    const manifest& index_;
    std::uint64_t row_end_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
