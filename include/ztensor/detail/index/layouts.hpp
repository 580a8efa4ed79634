// SPDX-License-Identifier: MIT
//
// What the parameters of a layout demand of its parts. SPEC.md section 4.3, section 5.4, section 13.6.
#ifndef ZTENSOR_DETAIL_INDEX_LAYOUTS_HPP
#define ZTENSOR_DETAIL_INDEX_LAYOUTS_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/format.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>

#include <algorithm>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- flawed shape
//
// Why a shape is taken by no call.

struct shape_access {
    [[nodiscard]] static shape_flaw flaw_of(const shape& dimensions) noexcept { return dimensions.flaw_; }
};

[[nodiscard]] ZTENSOR_COLD inline const char* words_of(shape_flaw flaw) noexcept {
    return flaw == shape_flaw::negative    ? "a dimension of the shape is negative"
           : flaw == shape_flaw::no_memory ? "there is no memory for a shape of more than 8 dimensions"
                                           : "the shape has more than 64 dimensions";
}

/// Why no call takes it. Errors: limit_exceeded, invalid_argument, out_of_memory.
[[nodiscard]] ZTENSOR_COLD inline error flawed(const shape& dimensions) noexcept {
    const shape_flaw flaw = shape_access::flaw_of(dimensions);
    const errc code = flaw == shape_flaw::negative    ? errc::invalid_argument
                      : flaw == shape_flaw::no_memory ? errc::out_of_memory
                                                      : errc::limit_exceeded;
    return fail(code, words_of(flaw));
}

// -- dense size
//
// How many bytes a shape takes, and in elements of which type. SPEC.md section 4.3.

/// Of elements of `element_bytes` each, or nothing where 64 bits don't hold that. A zero among the dimensions hides no
/// overflow of the others, times the width: [2^63, 0] of two bytes is nothing, too.
[[nodiscard]] ZTENSOR_NOINLINE inline optional<uint64_t> dense_bytes(const shape& dimensions,
                                                                     uint64_t element_bytes) noexcept {
    element_counter counter;
    bool is_countable = counter.multiply(element_bytes); // which is not 0
    for (const uint64_t dimension : dimensions) {
        is_countable = is_countable && counter.multiply(dimension);
    }
    return is_countable ? optional(counter.count()) : std::nullopt;
}

/// In version 2, whose readers multiply from the first dimension on, nothing behind a zero can overflow.
[[nodiscard]] ZTENSOR_COLD inline bool ends_in_zero(const shape& dimensions) noexcept {
    optional<uint64_t> product = 1;
    for (const uint64_t dimension : dimensions) {
        product = product ? checked_multiply(*product, dimension) : product;
    }
    return product == uint64_t{0};
}

/// Of a logical type over another storage type than its own.
[[nodiscard]] ZTENSOR_COLD inline error not_stored_as(const logical_type_facts& type, string_view found) noexcept {
    return fail(errc::type_mismatch, "the logical type {} is stored as {}, not as {}",
                {in_quotes(type.name), name(type.storage), found});
}

// -- quantized rules
//
// What follows from the parameters of quantized weights for the sizes of their parts. For reading and for writing.
// SPEC.md section 5.4.

/// An attribute that must be there and be what was asked for. Errors: `code`.
template <class T>
result<T> required(result<T> found, errc code = errc::layout_attributes) {
    return found ? std::move(found) : error(code, found.error().sentence());
}

/// Of a number. Errors: `code`.
ZTENSOR_COLD inline result<uint64_t> required_number(const attributes_view& attributes, string_view key,
                                                     errc code = errc::layout_attributes) {
    return required(attributes.unsigned_integer(key), code);
}

/// The same of a word. Errors: `code`.
ZTENSOR_COLD inline result<string> required_word(const attributes_view& attributes, string_view key,
                                                 errc code = errc::layout_attributes) {
    return required(attributes.text(key), code);
}

/// "N_per_D" with a number without leading zeros and an integer dtype; nothing for any other text.
[[nodiscard]] constexpr optional<packing> parse_packing(string_view text) noexcept {
    constexpr string_view between = "_per_";
    constexpr size_t max_digits = 2; // a word has at most 64 bits
    const size_t digits = text.find(between);
    if (digits == std::string_view::npos || digits == 0 || digits > max_digits || text[0] == '0') {
        return std::nullopt;
    }
    const optional<uint64_t> per_word = parse_decimal(text.substr(0, digits));
    const optional<dtype> word = find_dtype(text.substr(digits + between.size()));
    const bool is_integer = word && (facts(*word).category == dtype_class::signed_integer ||
                                     facts(*word).category == dtype_class::unsigned_integer);
    return per_word && is_integer ? optional(packing{*per_word, *word}) : std::nullopt;
}

/// Errors: quant_bits, quant_group, quant_packing (missing or no text; an unknown text is allowed).
ZTENSOR_COLD inline result<quantization> read_quantization(const attributes_view& attributes) {
    ZTENSOR_TRY_ASSIGN(const uint64_t bits, required_number(attributes, "bits", errc::quant_bits));
    if (bits == 0 || bits > 64) {
        return fail(errc::quant_bits, "\"bits\" is {}, not from 1 to 64", {bits});
    }
    ZTENSOR_TRY_ASSIGN(const uint64_t group_size, required_number(attributes, "group_size", errc::quant_group));
    if (group_size == 0) {
        return fail(errc::quant_group, "\"group_size\" is 0");
    }
    ZTENSOR_TRY_ASSIGN(string packing, required_word(attributes, "packing", errc::quant_packing));
    return quantization{static_cast<unsigned>(bits), group_size, std::move(packing)};
}

/// How many elements each part must have.
struct quantized_counts {
    uint64_t words = 0;
    uint64_t groups = 0;
    bool are_known = false; ///< false if the packing is not
};

/// What the parameters demand of the parts of an object of that shape.
/// Errors: quant_packing (contradicts bits, or the dtype of packed_weight, or does not divide the last dimension),
/// quant_group (does not divide it, or there is none), shape_overflow.
ZTENSOR_COLD inline result<quantized_counts>
count_quantized_parts(const quantization& parameters, const shape& dimensions, optional<dtype> stored_word) {
    const optional<packing> packing = parse_packing(parameters.packing_name);
    if (!packing) {
        return quantized_counts();
    }
    const optional<uint64_t> elements = dimensions.element_count();
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
    const uint64_t last = dimensions.empty() ? 0 : dimensions[dimensions.rank() - 1];
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
inline result<void> check_part_count(uint64_t found, uint64_t expected, string_view role) {
    if (found == expected) {
        return {};
    }
    return fail(errc::size_mismatch, "there are {} elements, but shape and parameters need {}", {found, expected})
        .in_component(role);
}

// -- layout 2
//
// What the attributes of an object say of its parts in the layouts of version 2 that have any: zt.mx/1,
// zt.quant_group/1 and gguf.<type>/1. SPEC.md section 13.6.

/// A required map, all of whose keys are text. Errors: layout_attributes.
ZTENSOR_COLD inline result<attributes_view> required_map(const attributes_view& attributes, string_view key) {
    ZTENSOR_TRY_ASSIGN(const bytes_view found, required(attributes.cbor(key)));
    cbor_cursor cursor(found);
    cbor_sequence pairs;
    cbor_text text;
    for (cursor.enter_map(pairs); cursor.next(pairs);) {
        cursor.read_key(text);
        cursor.skip();
    }
    if (cursor.failed()) {
        return fail(errc::layout_attributes, "the attribute {} is no map of names", {in_quotes(key)});
    }
    return attributes_view(found);
}

ZTENSOR_COLD inline result<void> check_axis(uint64_t axis, const shape& dimensions) {
    if (axis < dimensions.rank()) {
        return {};
    }
    return fail(errc::layout_attributes, "the axis is {}, but shape {} has {} dimensions",
                {axis, to_string(dimensions), dimensions.rank()});
}

// -- zt.mx/1

struct mx_layout {
    uint64_t block_size = 0;
    uint64_t axis = 0;
};

/// Errors: layout_attributes, quant_group (the block size divides no such dimension).
ZTENSOR_COLD inline result<mx_layout> read_mx(const attributes_view& attributes, const shape& dimensions) {
    ZTENSOR_TRY_ASSIGN(const string scale_form, required_word(attributes, "scale_form"));
    if (scale_form != "e8m0_exponent") {
        return fail(errc::layout_attributes, "the scale form of zt.mx/1 is \"e8m0_exponent\", not {}",
                    {in_quotes(scale_form)});
    }
    ZTENSOR_TRY_ASSIGN(const uint64_t block_size, required_number(attributes, "block_size"));
    mx_layout layout{block_size, dimensions.empty() ? 0 : dimensions.rank() - 1};
    if (attributes.contains("axis")) {
        ZTENSOR_TRY_ASSIGN(const uint64_t axis, required_number(attributes, "axis"));
        layout.axis = axis;
    }
    ZTENSOR_TRY(check_axis(layout.axis, dimensions));
    const uint64_t along = dimensions[static_cast<size_t>(layout.axis)];
    if (layout.block_size < 2 || along % layout.block_size != 0) {
        return fail(errc::quant_group, "blocks of {} don't divide dimension {} of shape {}",
                    {layout.block_size, layout.axis, to_string(dimensions)});
    }
    return layout;
}

// -- zt.quant_group/1

enum class scale_form : uint8_t { f32_factors, f16_factors, e8m0_exponent };
enum class zero_form : uint8_t { none, implied, tensor };

struct quant_group_layout {
    unsigned bits = 0;
    uint64_t group_size = 0; ///< never 0: where the file says 0, each code has a scale of its own
    uint64_t axis = 0;
    dtype word = dtype::u8; ///< unsigned
    uint64_t per_word = 0;
    bool is_lsb_first = true;
    scale_form scale = scale_form::f32_factors;
    zero_form zero = zero_form::none;
    int64_t zero_value = 0;
    bool zeros_are_packed = false;
    uint64_t codes = 0;
    uint64_t groups = 0; ///< in all
};

[[nodiscard]] inline optional<dtype> unsigned_counterpart(dtype type) noexcept {
    switch (type) {
    case dtype::u8:
    case dtype::i8:
        return dtype::u8;
    case dtype::u16:
    case dtype::i16:
        return dtype::u16;
    case dtype::u32:
    case dtype::i32:
        return dtype::u32;
    case dtype::u64:
    case dtype::i64:
        return dtype::u64;
    default:
        return std::nullopt;
    }
}

/// The packing of codes of `layout.bits`. Errors: layout_attributes, quant_bits, quant_packing.
ZTENSOR_COLD inline result<void> read_packing(const attributes_view& attributes, quant_group_layout& layout) {
    ZTENSOR_TRY_ASSIGN(const attributes_view packing, required_map(attributes, "packing"));
    ZTENSOR_TRY_ASSIGN(const string word, required_word(packing, "word"));
    ZTENSOR_TRY_ASSIGN(const string order, required_word(packing, "order"));
    ZTENSOR_TRY_ASSIGN(const uint64_t per_word, required_number(packing, "per_word"));
    const optional<dtype> type = find_dtype(word);
    if (!type || facts(*type).category != dtype_class::unsigned_integer) {
        return fail(errc::quant_packing, "words are \"u8\", \"u16\", \"u32\" or \"u64\", not {}", {in_quotes(word)});
    }
    if (order != "lsb_first" && order != "msb_first") {
        return fail(errc::quant_packing, "codes are packed \"lsb_first\" or \"msb_first\", not {}", {in_quotes(order)});
    }
    const uint64_t word_bits = 8 * width_bytes(*type);
    if (word_bits % layout.bits != 0) {
        return fail(errc::quant_bits, "codes of {} bits leave bits of {} words unused", {layout.bits, word});
    }
    if (per_word != word_bits / layout.bits) {
        return fail(errc::quant_packing, "{} codes of {} bits to a {} were announced, but {} fit",
                    {per_word, layout.bits, word, word_bits / layout.bits});
    }
    layout.word = *type;
    layout.per_word = per_word;
    layout.is_lsb_first = order == "lsb_first";
    return {};
}

/// Errors: layout_attributes.
ZTENSOR_COLD inline result<void> read_zero_point(const attributes_view& attributes, quant_group_layout& layout) {
    ZTENSOR_TRY_ASSIGN(const attributes_view zero_point, required_map(attributes, "zero_point"));
    ZTENSOR_TRY_ASSIGN(const string form, required_word(zero_point, "form"));
    if (form == "none") {
        return {};
    }
    if (form == "implied") {
        ZTENSOR_TRY_ASSIGN(layout.zero_value, required(zero_point.integer("value")));
        layout.zero = zero_form::implied;
        return {};
    }
    if (form != "tensor") {
        return fail(errc::layout_attributes, "a zero point is \"none\", \"implied\" or a \"tensor\", not {}",
                    {in_quotes(form)});
    }
    ZTENSOR_TRY_ASSIGN(const string packing, required_word(zero_point, "packing"));
    if (packing != "same_as_data" && packing != "plain") {
        return fail(errc::layout_attributes, "zeros are packed \"same_as_data\" or \"plain\", not {}",
                    {in_quotes(packing)});
    }
    layout.zero = zero_form::tensor;
    layout.zeros_are_packed = packing == "same_as_data";
    return {};
}

/// Errors: layout_attributes, quant_bits, quant_group, quant_packing.
ZTENSOR_COLD inline result<quant_group_layout> read_quant_group(const attributes_view& attributes,
                                                                const shape& dimensions) {
    constexpr uint64_t allowed_bits[] = {2, 3, 4, 5, 6, 8};
    quant_group_layout layout;
    ZTENSOR_TRY_ASSIGN(const uint64_t bits, required_number(attributes, "bits"));
    ZTENSOR_TRY_ASSIGN(const uint64_t group_size, required_number(attributes, "group_size"));
    ZTENSOR_TRY_ASSIGN(const uint64_t axis, required_number(attributes, "axis"));
    ZTENSOR_TRY_ASSIGN(const string scale, required_word(attributes, "scale_form"));
    if (std::find(std::begin(allowed_bits), std::end(allowed_bits), bits) == std::end(allowed_bits)) {
        return fail(errc::quant_bits, "\"bits\" is {}, not 2, 3, 4, 5, 6 or 8", {bits});
    }
    layout.bits = static_cast<unsigned>(bits);
    constexpr string_view forms[] = {"f32_factors", "f16_factors", "e8m0_exponent"};
    const size_t form = place_of(scale, forms);
    if (form == std::size(forms)) {
        return fail(errc::layout_attributes, "the scale form {} is none that zt.quant_group/1 has", {in_quotes(scale)});
    }
    layout.scale = static_cast<scale_form>(form);
    ZTENSOR_TRY(read_packing(attributes, layout));
    ZTENSOR_TRY(read_zero_point(attributes, layout));
    ZTENSOR_TRY(check_axis(axis, dimensions));
    layout.axis = axis;
    const uint64_t along = dimensions[static_cast<size_t>(axis)];
    layout.group_size = group_size == 0 ? 1 : group_size;
    if (along % layout.group_size != 0) {
        return fail(errc::quant_group, "groups of {} don't divide dimension {} of shape {}",
                    {layout.group_size, layout.axis, to_string(dimensions)});
    }
    layout.codes = dimensions.element_count().value_or(0); // nothing where a zero hides what 64 bits can't hold
    layout.groups = layout.codes / layout.group_size;
    return layout;
}

// -- gguf.<type>/1

/// True for the layouts of that family that are registered; others are unknown.
[[nodiscard]] inline bool is_gguf_layout(string_view layout) noexcept {
    constexpr string_view types[] = {"q4_0",  "q4_1",    "q5_0",  "q5_1",   "q8_0",   "q8_1",  "q2_k",    "q3_k",
                                     "q4_k",  "q5_k",    "q6_k",  "q8_k",   "iq1_s",  "iq1_m", "iq2_xxs", "iq2_xs",
                                     "iq2_s", "iq3_xxs", "iq3_s", "iq4_nl", "iq4_xs", "mxfp4"};
    const optional<string_view> type = between(layout, "gguf.", "/1");
    return type && place_of(*type, types) != std::size(types);
}

struct gguf_layout {
    uint64_t elements_per_block = 0;
    uint64_t block_bytes = 0;
};

/// Errors: layout_attributes, quant_group (blocks don't divide the elements).
ZTENSOR_COLD inline result<gguf_layout> read_gguf(const attributes_view& attributes, uint64_t elements) {
    ZTENSOR_TRY_ASSIGN(const uint64_t elements_per_block, required_number(attributes, "elems_per_block"));
    ZTENSOR_TRY_ASSIGN(const uint64_t block_bytes, required_number(attributes, "block_bytes"));
    if (elements_per_block == 0 || block_bytes == 0) {
        return fail(errc::layout_attributes, "a block has {} elements and {} bytes", {elements_per_block, block_bytes});
    }
    if (elements % elements_per_block != 0) {
        return fail(errc::quant_group, "blocks of {} elements don't divide {}", {elements_per_block, elements});
    }
    return gguf_layout{elements_per_block, block_bytes};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
