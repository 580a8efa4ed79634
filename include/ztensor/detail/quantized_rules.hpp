// SPDX-License-Identifier: MIT
//
// The parameters of quantized weights, and what follows from them for the sizes of the parts. For reading and for
// writing. SPEC.md §5.4.
#ifndef ZTENSOR_DETAIL_QUANTIZED_RULES_HPP
#define ZTENSOR_DETAIL_QUANTIZED_RULES_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/checked.hpp>
#include <ztensor/detail/text.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ztensor {
inline namespace v0 {

/// How integers of a few bits share words: "8_per_i32" is eight to each i32, the first in the lowest bits.
struct packing {
    std::uint64_t per_word = 1;
    dtype word = dtype::u8;
};

/// The attributes of a quantized_group object.
struct quantization {
    unsigned bits = 0;            ///< of one quantized weight, 1 to 64
    std::uint64_t group_size = 0; ///< weights that share a scale and a zero point, at least 1
    std::string packing_name;     ///< as the file spells it
};

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
[[nodiscard]] inline result<quantization> read_quantization(const attributes_view& attributes) {
    const result<std::uint64_t> bits = attributes.unsigned_integer("bits");
    if (!bits || *bits == 0 || *bits > 64) {
        return error(errc::quant_bits, bits ? "\"bits\" is " + std::to_string(*bits) + ", not from 1 to 64"
                                            : bits.error().sentence());
    }
    const result<std::uint64_t> group_size = attributes.unsigned_integer("group_size");
    if (!group_size || *group_size == 0) {
        return error(errc::quant_group, group_size ? "\"group_size\" is 0" : group_size.error().sentence());
    }
    const result<std::string> packing = attributes.text("packing");
    if (!packing) {
        return error(errc::quant_packing, packing.error().sentence());
    }
    return quantization{static_cast<unsigned>(*bits), *group_size, *packing};
}

/// How many elements each part must have.
struct quantized_counts {
    std::uint64_t words = 0;
    std::uint64_t groups = 0;
};

/// What the parameters demand of the parts of an object of that shape; nothing if the packing is unknown.
/// Errors: quant_packing (contradicts bits, or the dtype of packed_weight, or does not divide the last dimension),
/// quant_group (does not divide it, or there is none), shape_overflow.
[[nodiscard]] inline result<std::optional<quantized_counts>>
count_quantized_parts(const quantization& parameters, const shape& dimensions, std::optional<dtype> stored_word) {
    const std::optional<packing> packing = parse_packing(parameters.packing_name);
    if (!packing) {
        return std::optional<quantized_counts>();
    }
    const std::optional<std::uint64_t> elements = dimensions.element_count();
    if (!elements) {
        return error(errc::shape_overflow, "the product of the dimensions needs more than 64 bits");
    }
    if (packing->per_word * parameters.bits > 8 * width_bytes(packing->word)) {
        return error(errc::quant_packing, std::to_string(packing->per_word) + " weights of " +
                                              std::to_string(parameters.bits) + " bits don't fit a " +
                                              std::string(name(packing->word)));
    }
    if (stored_word != packing->word) {
        return error(errc::quant_packing, "the packing " + quote(parameters.packing_name) + " needs " +
                                              std::string(name(packing->word)) + " words, but they are " +
                                              std::string(stored_word ? name(*stored_word) : "of an unknown type"));
    }
    const std::uint64_t last = dimensions.empty() ? 0 : dimensions[dimensions.rank() - 1];
    if (dimensions.empty() || last % parameters.group_size != 0) {
        return error(errc::quant_group, "groups of " + std::to_string(parameters.group_size) +
                                            " don't divide the last dimension of shape " + to_string(dimensions));
    }
    if (last % packing->per_word != 0) {
        return error(errc::quant_packing, std::to_string(packing->per_word) +
                                              " weights per word don't divide the last dimension of shape " +
                                              to_string(dimensions));
    }
    return std::optional(quantized_counts{*elements / packing->per_word, *elements / parameters.group_size});
}

/// Errors: size_mismatch.
[[nodiscard]] inline result<void> check_part_count(std::uint64_t found, std::uint64_t expected, std::string_view role) {
    if (found == expected) {
        return {};
    }
    return error(errc::size_mismatch, "there are " + std::to_string(found) +
                                          " elements, but shape and parameters need " + std::to_string(expected))
        .in_component(role);
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
