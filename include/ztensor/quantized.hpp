// SPDX-License-Identifier: MIT
//
// Weights quantized in groups: their parameters, their integers, and their values by the documented convention.
// SPEC.md §5.4 says what the format leaves open.
#ifndef ZTENSOR_QUANTIZED_HPP
#define ZTENSOR_QUANTIZED_HPP

#include <ztensor/component_view.hpp>
#include <ztensor/detail/checked.hpp>
#include <ztensor/detail/endian.hpp>
#include <ztensor/detail/quantized_rules.hpp>
#include <ztensor/detail/sparse_parts.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace v0 {

/// An object of format quantized_group whose parameters are valid and whose parts have the sizes that they demand.
/// Borrowed from the reader, like the object. A packing that is unknown is reported, not interpreted: then the sizes
/// are not checked, and unpack() and dequantize() are refused.
class quantized_view {
public:
    /// Errors: unsupported_format (not quantized_group), quant_bits, quant_group, quant_packing, size_mismatch.
    [[nodiscard]] static result<quantized_view> from(const object_view& object) {
        return detail::object_access::located(object, detail::guard_memory([&] { return load(object); }));
    }

    /// Of the weights before quantization.
    [[nodiscard]] ztensor::shape shape() const noexcept { return object_.shape(); }
    [[nodiscard]] const quantization& parameters() const noexcept { return parameters_; }
    /// Bits of one quantized weight.
    [[nodiscard]] unsigned bits() const noexcept { return parameters_.bits; }
    /// Weights that share a scale and a zero point.
    [[nodiscard]] std::uint64_t group_size() const noexcept { return parameters_.group_size; }
    /// How the integers share words; nothing if parameters().packing_name is unknown.
    [[nodiscard]] std::optional<ztensor::packing> packing() const noexcept {
        return detail::parse_packing(parameters_.packing_name);
    }
    /// The shape with the last dimension in words; of rank 0 if the packing is unknown.
    [[nodiscard]] ztensor::shape packed_shape() const noexcept { return divided(packing() ? packing()->per_word : 0); }
    /// The shape with the last dimension in groups: that of scales and zeros. Of rank 0 if the packing is unknown.
    [[nodiscard]] ztensor::shape group_shape() const noexcept { return divided(packing() ? group_size() : 0); }

    [[nodiscard]] component_view packed_weight() const noexcept { return packed_; }
    [[nodiscard]] component_view scales() const noexcept { return scales_; }
    [[nodiscard]] component_view zeros() const noexcept { return zeros_; }

    /// The quantized integers, one for each element of shape(), row-major, as unsigned numbers.
    /// Errors: quant_packing (unknown), quant_bits (more bits than Q has), size_mismatch; as
    /// component_view::read().
    template <class Q = std::uint8_t>
    [[nodiscard]] result<std::vector<Q>> unpack() const {
        static_assert(std::is_unsigned_v<Q> && !std::is_same_v<Q, bool>, "quantized weights are unsigned integers");
        return detail::object_access::located(object_, detail::guard_memory([this] { return unpack_words<Q>(); }));
    }

    /// The weights: (q − zero) · scale, with the zero and scale of the weight's group along the last dimension,
    /// computed in float. Errors: as unpack(), and as component_view::read_as<float>() of scales and zeros.
    [[nodiscard]] result<std::vector<float>> dequantize() const {
        return detail::object_access::located(object_, detail::guard_memory([this] { return compute_weights(); }));
    }

private:
    quantized_view(const object_view& object, quantization parameters, const component_view& packed,
                   const component_view& scales, const component_view& zeros)
        : object_(object), parameters_(std::move(parameters)), packed_(packed), scales_(scales), zeros_(zeros) {}

    [[nodiscard]] static result<quantized_view> load(const object_view& object) {
        if (result<void> valid = detail::check_format(object, format::quantized_group); !valid) {
            return std::move(valid).error();
        }
        result<quantization> parameters = detail::read_quantization(object.attributes());
        if (!parameters) {
            return std::move(parameters).error();
        }
        // The three roles are there: opening the file checked that.
        const component_view packed = object.component("packed_weight").value();
        const component_view scales = object.component("scales").value();
        const component_view zeros = object.component("zeros").value();
        const auto counts = detail::count_quantized_parts(*parameters, object.shape(), packed.dtype());
        if (!counts) {
            return counts.error();
        }
        if (*counts) {
            result<void> valid = check_known_count(packed, (*counts)->words);
            if (valid) {
                valid = check_known_count(scales, (*counts)->groups);
            }
            if (valid) {
                valid = check_known_count(zeros, (*counts)->groups);
            }
            if (!valid) {
                return std::move(valid).error();
            }
        }
        return quantized_view(object, *std::move(parameters), packed, scales, zeros);
    }

    /// Where the size is known before decoding; else reading checks it.
    [[nodiscard]] static result<void> check_known_count(const component_view& part, std::uint64_t expected) {
        if (!part.decoded_bytes() || !part.dtype()) {
            return {};
        }
        return detail::check_part_count(*part.decoded_bytes() / width_bytes(*part.dtype()), expected, part.role());
    }

    [[nodiscard]] ztensor::shape divided(std::uint64_t divisor) const noexcept {
        ztensor::shape out;
        const ztensor::shape whole = object_.shape();
        for (std::size_t i = 0; divisor != 0 && i < whole.rank(); ++i) {
            out.push_back(i + 1 == whole.rank() ? whole[i] / divisor : whole[i]);
        }
        return out;
    }

    [[nodiscard]] error unknown_packing() const {
        return error(errc::quant_packing, "the packing " + detail::quote(parameters_.packing_name) +
                                              " is none that this library knows");
    }

    template <class Q>
    [[nodiscard]] result<std::vector<Q>> unpack_words() const {
        const std::optional<ztensor::packing> packed = packing();
        if (!packed) {
            return unknown_packing();
        }
        if (bits() > 8 * sizeof(Q)) {
            return error(errc::quant_bits, "weights of " + std::to_string(bits()) + " bits don't fit the " +
                                               std::to_string(8 * sizeof(Q)) + " bits asked for");
        }
        const std::uint64_t count = object_.element_count();
        const std::size_t width = width_bytes(packed->word);
        const result<std::vector<std::byte>> words = packed_.read_little_endian();
        if (!words) {
            return words.error();
        }
        result<void> fits = detail::check_whole_elements(words->size(), width);
        if (fits) {
            fits = detail::check_part_count(words->size() / width, count / packed->per_word, packed_.role());
        }
        if (!fits) {
            return std::move(fits).error();
        }
        const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits());
        std::vector<Q> weights;
        weights.reserve(static_cast<std::size_t>(count));
        for (std::size_t at = 0; at < words->size(); at += width) {
            std::uint64_t word = detail::load_little(words->data() + at, width);
            for (std::uint64_t k = 0; k < packed->per_word; ++k) {
                weights.push_back(static_cast<Q>(word & mask));
                word = bits() == 64 ? 0 : word >> bits();
            }
        }
        return weights;
    }

    /// One number for each group.
    [[nodiscard]] result<std::vector<float>> group_numbers(const component_view& part, std::uint64_t groups) const {
        return part.read_as<float>().and_then([&](std::vector<float> numbers) -> result<std::vector<float>> {
            if (result<void> fits = detail::check_part_count(numbers.size(), groups, part.role()); !fits) {
                return std::move(fits).error();
            }
            return numbers;
        });
    }

    [[nodiscard]] result<std::vector<float>> compute_weights() const {
        const result<std::vector<std::uint64_t>> integers = unpack_words<std::uint64_t>();
        if (!integers) {
            return integers.error();
        }
        // Groups run along the last dimension, which they divide: they follow one another without a gap.
        const std::uint64_t groups = object_.element_count() / group_size();
        const result<std::vector<float>> scales = group_numbers(scales_, groups);
        const result<std::vector<float>> zeros = group_numbers(zeros_, groups);
        if (!scales || !zeros) {
            return !scales ? scales.error() : zeros.error();
        }
        std::vector<float> weights(integers->size());
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const auto group = static_cast<std::size_t>(i / group_size());
            weights[i] = (static_cast<float>((*integers)[i]) - (*zeros)[group]) * (*scales)[group];
        }
        return weights;
    }

    object_view object_;
    quantization parameters_;
    component_view packed_;
    component_view scales_;
    component_view zeros_;
};

} // namespace v0
} // namespace ztensor

#endif
