// SPDX-License-Identifier: MIT
//
// Weights quantized in groups: their parameters, their integers, and their values by the documented convention.
// SPEC.md section 5.4 says what the format leaves open.
#ifndef ZTENSOR_QUANTIZED_HPP
#define ZTENSOR_QUANTIZED_HPP

#include <ztensor/detail/base/elements.hpp>
#include <ztensor/format.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// The elements of a component of logical type f4_e2m1 (or f4, which is the same), where they lie. Borrowed from the
/// reader.
class packed_view {
public:
    /// Errors: unsupported_type (other elements), not_viewable (compressed, or not in memory),
    /// size_mismatch, bad_padding.
    static result<packed_view> from(const component_view& component);

    /// How many elements there are; bytes() has half as many, rounded up.
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    /// Two elements to a byte, the first in the low half.
    [[nodiscard]] bytes_view bytes() const noexcept { return bytes_; }
    /// The four bits of element `position`, which is below size().
    [[nodiscard]] std::uint8_t operator[](std::uint64_t position) const noexcept {
        const auto pair = std::to_integer<unsigned>(bytes_[static_cast<std::size_t>(position / 2)]);
        return static_cast<std::uint8_t>(pair >> position % 2 * 4 & 15);
    }
    /// What they stand for: +/-0, 0.5, 1, 1.5, 2, 3, 4 or 6.
    [[nodiscard]] float value(std::uint64_t position) const noexcept;

private:
    packed_view(bytes_view packed, std::uint64_t size) noexcept : bytes_(packed), size_(size) {}

    bytes_view bytes_;
    std::uint64_t size_;
};

/// An object of format quantized_group (zt.quant_group/1 in version 2) whose parameters are valid and whose parts have
/// the sizes that they demand. In version 2 parameters().packing_name is empty for codes that stand most significant
/// first, which unpack() and dequantize() read all the same; packed_shape() and group_shape() divide axis().
/// Borrowed from the reader, like the object. A packing that is unknown is reported, not interpreted: then the sizes
/// are not checked, and unpack() and dequantize() are refused.
class quantized_view {
public:
    /// Errors: unsupported_format (not quantized_group), quant_bits, quant_group, quant_packing, size_mismatch.
    static result<quantized_view> from(const object_view& object);

    // No moves: a view that was moved from would have lost its packing.
    quantized_view(const quantized_view&) = default;
    quantized_view& operator=(const quantized_view&) = default;
    ~quantized_view() = default;

    /// The shape of the weights before quantization.
    [[nodiscard]] ztensor::shape shape() const noexcept { return object_.shape(); }
    [[nodiscard]] const quantization& parameters() const& noexcept { return parameters_; }
    [[nodiscard]] quantization parameters() const&& { return parameters_; }
    /// Bits of one quantized weight.
    [[nodiscard]] unsigned bits() const noexcept { return parameters_.bits; }
    /// Weights that share a scale and a zero point.
    [[nodiscard]] std::uint64_t group_size() const noexcept { return parameters_.group_size; }
    /// How the integers share words; nothing if parameters().packing_name is unknown.
    [[nodiscard]] std::optional<ztensor::packing> packing() const noexcept;
    /// The shape with the last dimension in words; of rank 0 if the packing is unknown.
    [[nodiscard]] ztensor::shape packed_shape() const noexcept;
    /// The shape with the last dimension in groups: that of scales and zeros. Of rank 0 if the packing is unknown.
    [[nodiscard]] ztensor::shape group_shape() const noexcept;

    [[nodiscard]] component_view packed_weight() const noexcept { return packed_; }
    [[nodiscard]] component_view scales() const noexcept { return scales_; }
    /// Only where has_zeros(): version 2 may say what the zero points are without a component.
    [[nodiscard]] component_view zeros() const noexcept { return zeros_; }
    /// False if the zero points are none, or all the same: version 2 says so without a component.
    [[nodiscard]] bool has_zeros() const noexcept { return has_zeros_; }
    /// The dimension along which weights are grouped: the last, but in version 2.
    [[nodiscard]] std::size_t axis() const noexcept {
        return axis_ == last_axis ? (std::max<std::size_t>)(shape().rank(), 1) - 1 : axis_;
    }

    /// The quantized integers, one for each element of shape(), row-major, as unsigned numbers.
    /// Errors: quant_packing (unknown), quant_bits (more bits than Q has), size_mismatch, limit_exceeded (integers and
    /// words together take more than read_options::max_decoded_bytes); as component_view::read().
    template <class Q = std::uint8_t>
    result<std::vector<Q>> unpack() const {
        static_assert(std::is_unsigned_v<Q> && !std::is_same_v<Q, bool> && sizeof(Q) <= sizeof(std::uint64_t),
                      "quantized weights are unsigned integers");
        std::vector<Q> weights;
        ZTENSOR_TRY(unpack_into(detail::memory_of(weights), sizeof(Q)));
        return weights;
    }

    /// The weights: (q - zero) * scale, with the zero and scale of the weight's group along the last dimension,
    /// computed in float. Errors: as unpack(), the limit being that of weights, words, scales and zeros together; as
    /// component_view::read_as<float>() of scales and zeros.
    result<std::vector<float>> dequantize() const;

private:
    quantized_view(const object_view& object, quantization parameters, const component_view& packed,
                   const component_view& scales, const component_view& zeros)
        : object_(object), parameters_(std::move(parameters)), packed_(packed), scales_(scales), zeros_(zeros) {}

    static constexpr std::size_t last_axis = static_cast<std::size_t>(-1);

    static result<quantized_view> load(const object_view& object);
    static result<quantized_view> load_group(const object_view& object);
    result<void> unpack_group(detail::element_memory weights, std::size_t weight_bytes) const;
    /// Unsigned integers of 1, 2, 4 or 8 bytes.
    result<void> unpack_into(detail::element_memory weights, std::size_t weight_bytes) const;
    result<std::vector<float>> compute_weights() const;
    /// One number for each group.
    result<std::vector<float>> group_numbers(const component_view& part) const;
    [[nodiscard]] ztensor::shape divided(std::uint64_t divisor) const noexcept;

    object_view object_;
    quantization parameters_;
    component_view packed_;
    component_view scales_;
    component_view zeros_;
    std::size_t axis_ = last_axis;
    bool has_zeros_ = true;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/read/quantized_definitions.hpp>
#endif

#endif
