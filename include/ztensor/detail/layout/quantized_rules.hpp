// SPDX-License-Identifier: MIT
//
// What follows from the parameters of quantized weights for the sizes of their parts. For reading and for writing.
// SPEC.md section 5.4.
#ifndef ZTENSOR_DETAIL_LAYOUT_QUANTIZED_RULES_HPP
#define ZTENSOR_DETAIL_LAYOUT_QUANTIZED_RULES_HPP

#include <ztensor/attributes_view.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/quantization.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// "N_per_D" with a number without leading zeros and an integer dtype; nothing for any other text.
[[nodiscard]] constexpr std::optional<packing> parse_packing(std::string_view text) noexcept {
    constexpr std::string_view between = "_per_";
    constexpr std::size_t max_digits = 2; // a word has at most 64 bits
    const std::size_t digits = text.find(between);
    if (digits == std::string_view::npos || digits == 0 || digits > max_digits || text[0] == '0') {
        return std::nullopt;
    }
    packing found{0, dtype::u8};
    for (const char c : text.substr(0, digits)) {
        if (c < '0' || c > '9') {
            return std::nullopt;
        }
        found.per_word = found.per_word * 10 + static_cast<std::uint64_t>(c - '0');
    }
    const std::optional<dtype> word = find_dtype(text.substr(digits + between.size()));
    const bool is_integer = word && (facts(*word).category == dtype_class::signed_integer ||
                                     facts(*word).category == dtype_class::unsigned_integer);
    found.word = word.value_or(dtype::u8);
    return is_integer ? std::optional(found) : std::nullopt;
}

/// Errors: quant_bits, quant_group, quant_packing (missing or no text; an unknown text is allowed).
[[nodiscard]] ZTENSOR_COLD inline result<quantization> read_quantization(const attributes_view& attributes) {
    const result<std::uint64_t> bits = attributes.unsigned_integer("bits");
    if (!bits) {
        return error(errc::quant_bits, bits.error().sentence());
    }
    if (*bits == 0 || *bits > 64) {
        return fail(errc::quant_bits, "\"bits\" is {}, not from 1 to 64", {*bits});
    }
    const result<std::uint64_t> group_size = attributes.unsigned_integer("group_size");
    if (!group_size) {
        return error(errc::quant_group, group_size.error().sentence());
    }
    if (*group_size == 0) {
        return fail(errc::quant_group, "\"group_size\" is 0");
    }
    result<std::string> packing = attributes.text("packing");
    if (!packing) {
        return error(errc::quant_packing, packing.error().sentence());
    }
    return quantization{static_cast<unsigned>(*bits), *group_size, *std::move(packing)};
}

/// How many elements each part must have.
struct quantized_counts {
    std::uint64_t words = 0;
    std::uint64_t groups = 0;
    bool are_known = false; ///< false if the packing is not
};

/// What the parameters demand of the parts of an object of that shape.
/// Errors: quant_packing (contradicts bits, or the dtype of packed_weight, or does not divide the last dimension),
/// quant_group (does not divide it, or there is none), shape_overflow.
[[nodiscard]] ZTENSOR_COLD inline result<quantized_counts>
count_quantized_parts(const quantization& parameters, const shape& dimensions, std::optional<dtype> stored_word) {
    const std::optional<packing> packing = parse_packing(parameters.packing_name);
    if (!packing) {
        return quantized_counts();
    }
    const std::optional<std::uint64_t> elements = dimensions.element_count();
    if (!elements) {
        return fail(errc::shape_overflow, "the product of the dimensions needs more than 64 bits");
    }
    if (packing->per_word * parameters.bits > 8 * width_bytes(packing->word)) {
        return fail(errc::quant_packing, "{} weights of {} bits don't fit a {}",
                    {packing->per_word, parameters.bits, name(packing->word)});
    }
    if (stored_word != packing->word) {
        return fail(errc::quant_packing, "the packing {} needs {} words, but they are {}",
                    {in_quotes(parameters.packing_name), name(packing->word),
                     stored_word ? name(*stored_word) : "of an unknown type"});
    }
    const std::uint64_t last = dimensions.empty() ? 0 : dimensions[dimensions.rank() - 1];
    if (dimensions.empty() || last % parameters.group_size != 0) {
        return fail(errc::quant_group, "groups of {} don't divide the last dimension of shape {}",
                    {parameters.group_size, to_string(dimensions)});
    }
    if (last % packing->per_word != 0) {
        return fail(errc::quant_packing, "{} weights per word don't divide the last dimension of shape {}",
                    {packing->per_word, to_string(dimensions)});
    }
    return quantized_counts{*elements / packing->per_word, *elements / parameters.group_size, true};
}

/// Errors: size_mismatch.
[[nodiscard]] inline result<void> check_part_count(std::uint64_t found, std::uint64_t expected, std::string_view role) {
    if (found == expected) {
        return {};
    }
    return fail(errc::size_mismatch, "there are {} elements, but shape and parameters need {}", {found, expected})
        .in_component(role);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
