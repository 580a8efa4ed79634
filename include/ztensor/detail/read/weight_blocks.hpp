// SPDX-License-Identifier: MIT
//
// Objects of format gguf.<type>/1, whose one component holds blocks of quantized weights as ggml lays them out: of
// which type, and from how many blocks.
#ifndef ZTENSOR_DETAIL_READ_WEIGHT_BLOCKS_HPP
#define ZTENSOR_DETAIL_READ_WEIGHT_BLOCKS_HPP

#include <ztensor/attributes_view.hpp>
#include <ztensor/detail/codec/ggml_types.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct weight_blocks {
    const ggml_block_type* type;
    const component_record* data;
    std::uint64_t count;
};

[[nodiscard]] ZTENSOR_COLD inline error not_dense(std::string_view format) noexcept {
    if (format.find(ggml_big_endian_mark) != std::string_view::npos) {
        return fail(errc::unsupported_format,
                    "its format is {}: whether the numbers in blocks of big-endian files are swapped, too, depends on "
                    "the program that wrote them, so only their bytes can be read",
                    {in_quotes(format)});
    }
    return fail(errc::unsupported_format, "its format is {}, not dense: ask for its components", {in_quotes(format)});
}

/// Why an object of that format gives no weights.
[[nodiscard]] ZTENSOR_COLD inline error no_weights(std::string_view format) noexcept {
    const bool is_big_endian = format.find(ggml_big_endian_mark) != std::string_view::npos;
    if (is_big_endian || format.substr(0, ggml_format_prefix.size()) != ggml_format_prefix) {
        return not_dense(format);
    }
    return fail(errc::unsupported_format, "how blocks of format {} give weights is not known to this library",
                {in_quotes(format)});
}

/// The one component, of plain bytes. Errors: layout_components, type_mismatch.
[[nodiscard]] inline result<const component_record*> find_block_data(const manifest& index,
                                                                     const object_record& object) {
    const component_record* const data = find_component(index, object, "data");
    if (data == nullptr || object.component_count != 1) {
        return fail(errc::layout_components, "an object of format {} has {} components, expected one: \"data\"",
                    {in_quotes(format_name(index, object)), object.component_count});
    }
    if (data->dtype != dtype::u8 || data->logical_type != plain_type) {
        return fail(errc::type_mismatch, "blocks are stored as u8 of no logical type, but these as {} {}",
                    {in_quotes(dtype_name(index, *data)), in_quotes(type_name(index, *data))});
    }
    return data;
}

/// What the file says of a block is what is known of its type. Errors: attribute_not_found, attribute_type,
/// size_mismatch.
[[nodiscard]] inline result<void> check_block_attribute(const attributes_view& attributes, std::string_view key,
                                                        std::uint64_t expected) {
    ZTENSOR_TRY_ASSIGN(const std::uint64_t stated, attributes.unsigned_integer(key));
    return stated == expected
               ? result<void>()
               : fail(errc::size_mismatch, "the attribute {} is {}, expected {}", {in_quotes(key), stated, expected});
}

/// Rows are whole blocks. Errors: size_mismatch.
[[nodiscard]] inline result<std::uint64_t> count_blocks(const manifest& index, const object_record& object,
                                                        const ggml_block_type& type) {
    const shape dimensions = index.shape_of(object);
    if (dimensions.empty() || dimensions[dimensions.rank() - 1] % type.elements != 0) {
        return fail(errc::size_mismatch, "rows of shape {} are no whole number of blocks of {} weights",
                    {to_string(dimensions), type.elements});
    }
    return index.element_count_of(object) / type.elements;
}

/// Errors: unsupported_format for any other format; those above.
[[nodiscard]] inline result<weight_blocks> find_weight_blocks(const manifest& index, const object_record& object) {
    const std::string_view format = format_name(index, object);
    const ggml_block_type* const type = object.format ? nullptr : find_ggml_format(format);
    if (type == nullptr) {
        return no_weights(format);
    }
    ZTENSOR_TRY_ASSIGN(const component_record* data, find_block_data(index, object));
    const attributes_view attributes = attributes_of(index, object);
    ZTENSOR_TRY(check_block_attribute(attributes, "elems_per_block", type->elements));
    ZTENSOR_TRY(check_block_attribute(attributes, "block_bytes", type->bytes));
    ZTENSOR_TRY_ASSIGN(const std::uint64_t count, count_blocks(index, object, *type));
    return weight_blocks{type, data, count};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
