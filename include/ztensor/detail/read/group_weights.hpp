// SPDX-License-Identifier: MIT
//
// Weights of version 2 that share scales in groups: zt.mx/1 and zt.quant_group/1 -> codes and numbers. SPEC.md
// section 13.6.
#ifndef ZTENSOR_DETAIL_READ_GROUP_WEIGHTS_HPP
#define ZTENSOR_DETAIL_READ_GROUP_WEIGHTS_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/index/layouts.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/sparse_rules.hpp>
#include <ztensor/detail/read/convert.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/read/element_access.hpp>
#include <ztensor/detail/read/numbers.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[nodiscard]] inline bool has_group_weights(const manifest& index, const object_record& object) noexcept {
    return index.generation == generation::v2 &&
           (object.format == format::mx || object.format == format::quantized_group);
}

/// Calls `take(code)` for each of `count` codes, in the order of their indices.
template <class Take>
void for_each_code(const integers_view& words, const quant_group_layout& layout, std::uint64_t count, Take&& take) {
    const std::uint64_t mask = (std::uint64_t{1} << layout.bits) - 1;
    const std::uint64_t sign_mask = ~std::uint64_t{0} >> (64 - 8 * width_bytes(layout.word));
    integer_block block;
    for (std::size_t done = 0; done < words.size(); done += block.count) {
        words.widen(done, block);
        for (const std::uint64_t word : block) {
            for (std::uint64_t k = 0; k < layout.per_word && count != 0; ++k, --count) {
                const std::uint64_t place = layout.is_lsb_first ? k : layout.per_word - 1 - k;
                take((word & sign_mask) >> (place * layout.bits) & mask);
            }
        }
    }
}

/// Reads one object, of which opening has checked that its parts fit its attributes.
class group_weights {
public:
    group_weights(const opened_file& file, const object_record& object) noexcept
        : file_(file), object_(object), budget_(file.options), shape_(file.index.shape_of(object)) {}

    /// Floats or doubles, into the memory that `make(count) -> result<span<std::byte>>` gives. Errors: limit_exceeded,
    /// unsupported_type (of a part), and as reading the parts.
    template <class Make>
    [[nodiscard]] result<void> read(std::size_t number_bytes, Make&& make) {
        const std::uint64_t count = file_.index.element_count_of(object_);
        ZTENSOR_TRY(budget_.take(count, sizeof(float) + number_bytes));
        result<void> loaded = object_.format == format::mx ? load_mx() : load_quantized();
        if (!loaded) {
            return loaded;
        }
        ZTENSOR_TRY_ASSIGN(const span<std::byte> memory, make(static_cast<std::size_t>(count)));
        if (number_bytes == sizeof(float)) {
            compute(as_writable_elements<float>(memory));
        } else {
            compute(as_writable_elements<double>(memory));
        }
        return {};
    }

    /// The codes of a quantized object, each given to `take(code)`. Errors: as read().
    template <class Take>
    [[nodiscard]] result<void> read_codes(const quant_group_layout& layout, std::string_view role, std::uint64_t count,
                                          Take&& take) {
        const component_record& part = *find_component(file_.index, object_, role);
        if (part.logical_type != plain_type || facts(*part.dtype).category == dtype_class::floating ||
            width_bytes(*part.dtype) != width_bytes(layout.word)) {
            return fail(errc::unsupported_type, "the codes are {}, not words of {}",
                        {in_quotes(dtype_name(file_.index, part)), name(layout.word)})
                .in_component(role);
        }
        byte_buffer memory;
        const result<span<std::byte>> words = decode_whole(file_, part, memory);
        if (!words) {
            return error(words.error()).in_component(role);
        }
        to_host_order(part, {layout.word, {}, width_bytes(layout.word), 1, false}, *words);
        for_each_code(integers_view(*words, layout.word), layout, count, take);
        return {};
    }

private:
    [[nodiscard]] result<std::vector<float>> numbers_of(std::string_view role) {
        const component_record& part = *find_component(file_.index, object_, role);
        if (part.logical_type == unknown_type) { // of which the layout says nothing, whatever it may mean elsewhere
            return fail(errc::unsupported_type, "numbers of the logical type {} are unknown to this library",
                        {in_quotes(type_name(file_.index, part))})
                .in_component(role);
        }
        std::vector<float> numbers;
        const narrow_type_facts* const narrow = find_narrow_type(file_.index, part);
        result<void> read = narrow == nullptr
                                ? read_numbers(number_reader::make(file_, part, sizeof(float)), memory_of(numbers))
                                : read_packed_numbers(file_, object_, part, *narrow, sizeof(float), memory_of(numbers));
        if (!read) {
            return std::move(read).error().in_component(role);
        }
        return numbers;
    }

    [[nodiscard]] result<void> take_numbers(std::string_view role, std::vector<float>& into) {
        ZTENSOR_TRY_ASSIGN(std::vector<float> numbers, numbers_of(role));
        into = std::move(numbers);
        return {};
    }

    [[nodiscard]] result<void> load_mx() {
        ZTENSOR_TRY_ASSIGN(const mx_layout layout, read_mx(attributes_of(file_.index, object_), shape_));
        axis_ = static_cast<std::size_t>(layout.axis);
        group_size_ = layout.block_size;
        const component_record& data = *find_component(file_.index, object_, "data");
        factor_ = data.dtype == dtype::i8 ? 1.0 / 64 : 1.0; // OCP's INT8 has six bits behind its point
        result<void> done = take_numbers("data", elements_);
        return done ? take_numbers("scales", scales_) : done;
    }

    [[nodiscard]] result<void> load_quantized() {
        ZTENSOR_TRY_ASSIGN(const quant_group_layout layout,
                           read_quant_group(attributes_of(file_.index, object_), shape_));
        axis_ = static_cast<std::size_t>(layout.axis);
        group_size_ = layout.group_size;
        elements_.reserve(static_cast<std::size_t>(layout.codes));
        result<void> done = read_codes(layout, "data", layout.codes,
                                       [this](std::uint64_t code) { elements_.push_back(static_cast<float>(code)); });
        if (done) {
            done = take_numbers("scales", scales_);
        }
        if (!done || layout.zero != zero_form::tensor) {
            zero_ = layout.zero == zero_form::implied ? static_cast<double>(layout.zero_value) : 0.0;
            return done;
        }
        if (!layout.zeros_are_packed) {
            return take_numbers("zeros", zeros_);
        }
        return read_codes(layout, "zeros", layout.groups,
                          [this](std::uint64_t code) { zeros_.push_back(static_cast<float>(code)); });
    }

    /// Groups run along the axis; scales and zeros have the shape of the whole, with groups in place of that axis.
    template <class To>
    void compute(span<To> numbers) const noexcept {
        if (numbers.empty()) {
            return;
        }
        std::size_t inner = 1;
        for (std::size_t i = axis_ + 1; i < shape_.rank(); ++i) {
            inner *= static_cast<std::size_t>(shape_[i]);
        }
        const auto along = static_cast<std::size_t>(shape_[axis_]);
        const auto each = static_cast<std::size_t>(group_size_);
        std::size_t at = 0;
        for (std::size_t outer = 0; at < numbers.size(); ++outer) {
            for (std::size_t a = 0; a < along; ++a) {
                const std::size_t group = (outer * (along / each) + a / each) * inner;
                for (std::size_t n = 0; n < inner; ++n, ++at) {
                    const double zero = zeros_.empty() ? zero_ : static_cast<double>(zeros_[group + n]);
                    numbers[at] = static_cast<To>((static_cast<double>(elements_[at]) - zero) * factor_ *
                                                  static_cast<double>(scales_[group + n]));
                }
            }
        }
    }

    const opened_file& file_;
    const object_record& object_;
    call_budget budget_;
    shape shape_;
    std::size_t axis_ = 0;
    std::uint64_t group_size_ = 1;
    double factor_ = 1.0;
    double zero_ = 0.0;
    std::vector<float> elements_;
    std::vector<float> scales_;
    std::vector<float> zeros_; ///< empty where all are zero_
};

[[nodiscard]] inline result<void> read_group_weights(const opened_file& file, const object_record& object,
                                                     std::size_t number_bytes, element_memory weights) {
    return group_weights(file, object).read(number_bytes, [&](std::size_t count) -> result<span<std::byte>> {
        return weights.resize(weights.owner, count);
    });
}

[[nodiscard]] inline result<void> read_group_weights_into(const opened_file& file, const object_record& object,
                                                          std::size_t number_bytes, span<std::byte> weights) {
    const std::size_t room = weights.size() / number_bytes;
    return group_weights(file, object).read(number_bytes, [&](std::size_t count) {
        return count == room ? result<span<std::byte>>(weights) : wrong_destination(room, count);
    });
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
