// SPDX-License-Identifier: MIT
//
// Quantized weights looked at, unpacked and computed, and packed elements where they lie. Defines what quantized.hpp
// declares. SPEC.md section 5.4, section 13.5.
#ifndef ZTENSOR_DETAIL_READ_QUANTIZED_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_QUANTIZED_DEFINITIONS_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/numbers.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/quantized.hpp>

#include <cstring>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The words that hold the integers, in memory of `memory`. Errors: size_mismatch; as reading does.
inline result<integers_view> load_words(const object_view& object, const packing& packed, byte_buffer& memory,
                                        call_budget& budget) {
    constexpr string_view role = "packed_weight";
    const opened_file& file = object_access::file_of(object);
    const component_record& component = *find_component(file.index, object_access::record_of(object), role);
    const optional<uint64_t> known = component.decoded_length();
    ZTENSOR_TRY(in_component(budget.take(known.value_or(0), 1), role));
    ZTENSOR_TRY_ASSIGN(const integers_view words,
                       in_component(decode_words(file, component, packed.word, memory), role));
    const uint64_t bytes = words.size() * width_bytes(packed.word);
    ZTENSOR_TRY(in_component(budget.take(known ? 0 : bytes, 1), role));
    ZTENSOR_TRY(check_part_count(words.size(), object.element_count() / packed.per_word, role));
    return words;
}

/// Checked before: `weights` has room for all, and each fits a Q.
template <class Q>
void unpack_as(const integers_view& words, const packing& packed, unsigned bits, span<byte> weights) {
    byte* at = weights.data();
    for_each_code(words, bits, packed.per_word, true, ~uint64_t{0}, [&](uint64_t integer) {
        const auto weight = static_cast<Q>(integer);
        std::memcpy(at, &weight, sizeof weight);
        at += sizeof weight;
    });
}

[[nodiscard]] ZTENSOR_COLD inline error unknown_packing(string_view packing_name) {
    return fail(errc::quant_packing, "the packing {} is none that this library knows", {in_quotes(packing_name)});
}

} // namespace detail

ZTENSOR_INLINE result<quantized_view> quantized_view::from(const object_view& object) {
    return detail::object_access::guard(object, [&] { return load(object); });
}

ZTENSOR_INLINE result<quantized_view> quantized_view::load(const object_view& object) {
    const detail::opened_file& file = detail::object_access::file_of(object);
    const detail::object_record& record = detail::object_access::record_of(object);
    ZTENSOR_TRY(detail::check_format(file, record, format::quantized_group));
    if (file.index.version == version::v2) {
        return load_group(object);
    }
    ZTENSOR_TRY_ASSIGN(quantization parameters, detail::read_quantization(object.attributes()));
    // The three roles are there: opening the file checked that.
    const component_view packed = *object.component("packed_weight");
    const component_view scales = *object.component("scales");
    const component_view zeros = *object.component("zeros");
    ZTENSOR_TRY_ASSIGN(const detail::quantized_counts counts,
                       detail::count_quantized_parts(parameters, object.shape(), packed.dtype().known()));
    if (counts.are_known) {
        for (const std::string_view role : facts(format::quantized_group).required_roles) {
            const component_view part = *object.component(role);
            const std::uint64_t expected = role == "packed_weight" ? counts.words : counts.groups;
            if (part.decoded_bytes() && part.dtype().is_known()) { // else reading checks it
                const std::uint64_t found = *part.decoded_bytes() / width_bytes(*part.dtype().known());
                ZTENSOR_TRY(detail::check_part_count(found, expected, role));
            }
        }
    }
    return quantized_view(object, std::move(parameters), packed, scales, zeros);
}

ZTENSOR_COLD ZTENSOR_INLINE result<quantized_view> quantized_view::load_group(const object_view& object) {
    ZTENSOR_TRY_ASSIGN(const detail::quant_group_layout layout,
                       detail::read_quant_group(object.attributes(), object.shape()));
    quantization parameters;
    parameters.bits = layout.bits;
    parameters.group_size = layout.group_size;
    if (layout.is_lsb_first) {
        parameters.packing_name = std::to_string(layout.per_word) + "_per_" + std::string(name(layout.word));
    }
    const bool has_zeros = layout.zero == detail::zero_form::tensor;
    const component_view scales = *object.component("scales");
    quantized_view view(object, std::move(parameters), *object.component("data"), scales,
                        has_zeros ? *object.component("zeros") : scales);
    view.axis_ = static_cast<std::size_t>(layout.axis);
    view.has_zeros_ = has_zeros;
    return view;
}

/// Of zt.quant_group/1, whose packings have more to say than a name.
ZTENSOR_COLD ZTENSOR_INLINE result<void> quantized_view::unpack_group(detail::element_memory weights,
                                                                      std::size_t weight_bytes) const {
    ZTENSOR_TRY_ASSIGN(const detail::quant_group_layout layout,
                       detail::read_quant_group(object_.attributes(), object_.shape()));
    const detail::opened_file& file = detail::object_access::file_of(object_);
    detail::call_budget budget(file.options);
    ZTENSOR_TRY(budget.take(layout.codes, weight_bytes));
    std::byte* at = weights.resize(weights.owner, static_cast<std::size_t>(layout.codes)).data();
    detail::group_weights codes(file, detail::object_access::record_of(object_));
    return codes.read_codes(layout, "data", layout.codes, [&](std::uint64_t code) {
        std::memset(at, 0, weight_bytes);
        at[detail::host_is_little_endian ? 0 : weight_bytes - 1] = static_cast<std::byte>(code); // of 8 bits at most
        at += weight_bytes;
    });
}

ZTENSOR_INLINE std::optional<ztensor::packing> quantized_view::packing() const noexcept {
    return detail::parse_packing(parameters_.packing_name);
}

ZTENSOR_INLINE ztensor::shape quantized_view::packed_shape() const noexcept {
    const std::optional<ztensor::packing> packed = packing();
    return divided(packed ? packed->per_word : 0);
}

ZTENSOR_INLINE ztensor::shape quantized_view::group_shape() const noexcept {
    return divided(packing() ? group_size() : 0);
}

ZTENSOR_INLINE ztensor::shape quantized_view::divided(std::uint64_t divisor) const noexcept {
    ztensor::shape out;
    const ztensor::shape whole = object_.shape();
    for (std::size_t i = 0; divisor != 0 && i < whole.rank(); ++i) {
        out.push_back(i == axis_ || (axis_ == last_axis && i + 1 == whole.rank()) ? whole[i] / divisor : whole[i]);
    }
    return out;
}

ZTENSOR_INLINE result<void> quantized_view::unpack_into(detail::element_memory weights,
                                                        std::size_t weight_bytes) const {
    return detail::object_access::guard(object_, [&]() -> result<void> {
        if (detail::object_access::file_of(object_).index.version == version::v2) {
            return unpack_group(weights, weight_bytes);
        }
        const std::optional<ztensor::packing> packed = packing();
        if (!packed) {
            return detail::unknown_packing(parameters_.packing_name);
        }
        if (bits() > 8 * weight_bytes) {
            return detail::fail(errc::quant_bits, "weights of {} bits don't fit the {} bits asked for",
                                {bits(), 8 * weight_bytes})
                .by_caller();
        }
        detail::call_budget budget(detail::object_access::file_of(object_).options);
        detail::byte_buffer memory;
        ZTENSOR_TRY_ASSIGN(const detail::integers_view words, detail::load_words(object_, *packed, memory, budget));
        const std::uint64_t count = object_.element_count();
        ZTENSOR_TRY(budget.take(count, weight_bytes));
        const span<std::byte> out = weights.resize(weights.owner, static_cast<std::size_t>(count));
        switch (weight_bytes) {
        case 1:
            detail::unpack_as<std::uint8_t>(words, *packed, bits(), out);
            break;
        case 2:
            detail::unpack_as<std::uint16_t>(words, *packed, bits(), out);
            break;
        case 4:
            detail::unpack_as<std::uint32_t>(words, *packed, bits(), out);
            break;
        default:
            detail::unpack_as<std::uint64_t>(words, *packed, bits(), out);
        }
        return {};
    });
}

ZTENSOR_INLINE result<std::vector<float>> quantized_view::dequantize() const {
    return detail::object_access::guard(object_, [this] { return compute_weights(); });
}

ZTENSOR_INLINE result<std::vector<float>> quantized_view::compute_weights() const {
    const detail::opened_file& file = detail::object_access::file_of(object_);
    if (file.index.version == version::v2) {
        return object_.read_as<float>();
    }
    const std::optional<ztensor::packing> packed = packing();
    if (!packed) {
        return detail::unknown_packing(parameters_.packing_name);
    }
    detail::call_budget budget(detail::object_access::file_of(object_).options);
    detail::byte_buffer memory;
    ZTENSOR_TRY_ASSIGN(const detail::integers_view words, detail::load_words(object_, *packed, memory, budget));
    const std::uint64_t count = object_.element_count();
    ZTENSOR_TRY(budget.take(count, sizeof(float)));
    ZTENSOR_TRY(budget.take(count / group_size(), 2 * sizeof(float))); // scales and zeros
    ZTENSOR_TRY_ASSIGN(const std::vector<float> scales, group_numbers(scales_));
    ZTENSOR_TRY_ASSIGN(const std::vector<float> zeros, group_numbers(zeros_));
    // Groups run along the last dimension, which they divide: they follow one another without a gap.
    std::vector<float> weights;
    weights.reserve(static_cast<std::size_t>(count));
    std::size_t group = 0;
    std::uint64_t left_of_group = group_size();
    detail::for_each_code(words, bits(), packed->per_word, true, count, [&](std::uint64_t integer) {
        if (left_of_group == 0) {
            ++group;
            left_of_group = group_size();
        }
        --left_of_group;
        weights.push_back((static_cast<float>(integer) - zeros[group]) * scales[group]);
    });
    return weights;
}

ZTENSOR_INLINE result<std::vector<float>> quantized_view::group_numbers(const component_view& part) const {
    result<std::vector<float>> numbers = part.read_as<float>();
    if (!numbers) {
        return numbers;
    }
    const std::uint64_t groups = object_.element_count() / group_size();
    ZTENSOR_TRY(detail::check_part_count(numbers->size(), groups, part.role()));
    return numbers;
}

// -- packed elements

ZTENSOR_INLINE result<packed_view> packed_view::from(const component_view& component) {
    const detail::component_record& record = detail::component_access::record_of(component);
    const detail::opened_file& file = detail::component_access::file_of(component);
    const narrow_type_facts* const type = detail::find_narrow_type(file.index, record);
    if (type == nullptr || type->bits != 4 || type->category != dtype_class::floating) {
        return detail::component_access::located(
            component, detail::fail(errc::unsupported_type, "its elements are no floats of four bits"));
    }
    ZTENSOR_TRY_ASSIGN(const span<const std::byte> packed, component.view<std::byte>());
    const std::uint64_t count = detail::count_packed(file.index, detail::component_access::object_record_of(component),
                                                     record, *type, packed.size());
    ZTENSOR_TRY(detail::component_access::located(component, detail::check_packed(record, *type, packed, count)));
    return packed_view(packed, count);
}

ZTENSOR_INLINE float packed_view::value(std::uint64_t position) const noexcept {
    return detail::all_narrow_values[0][(*this)[position]];
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
