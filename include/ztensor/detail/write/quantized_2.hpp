// SPDX-License-Identifier: MIT
//
// Weights quantized in groups, of 1.2 in the words of version 2. SPEC.md section 5.4 and section 13.
#ifndef ZTENSOR_DETAIL_WRITE_QUANTIZED_2_HPP
#define ZTENSOR_DETAIL_WRITE_QUANTIZED_2_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/detail/layout/quantized_rules.hpp>
#include <ztensor/detail/manifest/write.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/options.hpp>
#include <ztensor/quantization.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// "u32" for u32 and i32: what zt.quant_group/1 calls a word.
[[nodiscard]] inline std::string_view unsigned_word(dtype word) noexcept {
    constexpr std::string_view words[] = {"u8", "u16", "", "u32", "", "", "", "u64"};
    return words[width_bytes(word) - 1];
}

/// Two words in a map.
[[nodiscard]] ZTENSOR_COLD inline result<void> set_pair(attributes& into, std::string_view key, std::string_view first,
                                                        std::string_view first_value, std::string_view second,
                                                        std::string_view second_value) {
    cbor_encoder map;
    map.begin_map(2);
    map.text(first);
    map.text(first_value);
    map.text(second);
    map.text(second_value);
    return into.set_cbor(key, map.bytes());
}

/// The attributes that zt.quant_group/1 needs, for an object of that shape. Groups run along the last dimension, the
/// first integer of a word has its lowest bits, and each group has a zero point of its own, as 1.2 has it.
/// Errors: not_expressible.
[[nodiscard]] ZTENSOR_COLD inline result<void> set_quant_group(const quantization& parameters, const shape& dimensions,
                                                               attributes& into) {
    constexpr std::string_view allowed_bits = "234568";
    const std::optional<packing> packed = parse_packing(parameters.packing_name);
    const bool has_bits =
        parameters.bits < 10 && allowed_bits.find(static_cast<char>('0' + parameters.bits)) != std::string_view::npos;
    if (!has_bits) {
        return not_expressible(format_version::v2, sentence("place for weights of {} bits", {parameters.bits}));
    }
    if (!packed || packed->per_word * parameters.bits != 8 * width_bytes(packed->word)) {
        return not_expressible(format_version::v2, sentence("place for the packing {} of {} bits, which fills no word",
                                                            {in_quotes(parameters.packing_name), parameters.bits}));
    }
    if (dimensions.empty()) {
        return not_expressible(format_version::v2, "quantized weights without dimensions");
    }
    cbor_encoder packing_map;
    packing_map.begin_map(3);
    packing_map.text("word");
    packing_map.text(unsigned_word(packed->word));
    packing_map.text("order");
    packing_map.text("lsb_first");
    packing_map.text("per_word");
    packing_map.unsigned_integer(packed->per_word);
    into.set("bits", parameters.bits)
        .set("group_size", parameters.group_size)
        .set("axis", static_cast<std::uint64_t>(dimensions.rank() - 1))
        .set("scale_form", "f32_factors");
    result<void> set = into.set_cbor("packing", packing_map.bytes());
    return set ? set_pair(into, "zero_point", "form", "tensor", "packing", "plain") : set;
}

/// What a component of 1.2 is called there.
[[nodiscard]] inline std::string_view quant_group_role(std::string_view role) noexcept {
    return role == "packed_weight" ? std::string_view("data") : role;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
