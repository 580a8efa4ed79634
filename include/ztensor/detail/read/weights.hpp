// SPDX-License-Identifier: MIT
//
// The weights of objects that are not dense, in blocks or in groups whose scales stand apart, and parts of them.
// SPEC.md section 13.6.
#ifndef ZTENSOR_DETAIL_READ_WEIGHTS_HPP
#define ZTENSOR_DETAIL_READ_WEIGHTS_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/numbers.hpp>
#include <ztensor/detail/read/parts.hpp>

#include <algorithm>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- group weights
//
// Weights whose scales, and zero points, stand in parts of their own, one for each group along an axis. SPEC.md
// section 13.6.

[[nodiscard]] inline bool has_group_weights(const manifest& index, const object_record& object) noexcept {
    return index.version == version::v2 && (object.format == format::mx || object.format == format::quantized_group);
}

/// Calls `take(code)` for each of `count` codes of `bits`, of which each word holds `per_word`, in the order of their
/// indices.
template <class Take>
void for_each_code(const integers_view& words, unsigned bits, uint64_t per_word, bool is_lsb_first, uint64_t count,
                   Take&& take) {
    const uint64_t mask = ~uint64_t{0} >> (64 - bits);
    integer_block block;
    for (size_t done = 0; done < words.size(); done += block.count) {
        words.widen(done, block);
        for (uint64_t word : block) {
            const uint64_t here = (std::min)(per_word, count);
            count -= here;
            const uint64_t rising = is_lsb_first ? here : 0;
            for (uint64_t k = 0; k < rising; ++k) {
                take(word & mask);
                word = bits == 64 ? 0 : word >> bits;
            }
            for (uint64_t k = rising; k < here; ++k) {
                take(word >> (per_word - 1 - k) * bits & mask);
            }
        }
    }
}

/// The words of a part in the host's order, in memory of `memory`. Errors: size_mismatch; as decoding does.
inline result<integers_view> decode_words(const opened_file& file, const component_record& part, dtype word,
                                          byte_buffer& memory) {
    ZTENSOR_TRY_ASSIGN(const span<byte> words, decode_whole(file, part, memory));
    ZTENSOR_TRY(check_whole_elements(words.size(), width_bytes(word)));
    to_host_order(part, {word, {}, width_bytes(word), 1, false}, words);
    return integers_view(words, word);
}

/// Reads one object of version 2, of which opening has checked that its parts fit its attributes.
class group_weights {
public:
    group_weights(const opened_file& file, const object_record& object) noexcept
        : file_(file), object_(object), shape_(file.index.shape_of(object)) {}

    /// Numbers of type `to`. Errors: limit_exceeded, unsupported_type (of a part), and as reading the parts.
    result<void> read(dtype to, const element_memory& numbers) {
        const uint64_t count = file_.index.element_count_of(object_);
        call_budget budget(file_.options);
        ZTENSOR_TRY(budget.take(count, sizeof(float) + width_bytes(to)));
        ZTENSOR_TRY(object_.format == format::mx ? load_mx() : load_quantized());
        ZTENSOR_TRY_ASSIGN(const span<byte> memory, make_room(numbers, count, width_bytes(to)));
        switch (to) {
        case dtype::f32:
            compute(as_writable_elements<float>(memory));
            break;
        case dtype::f16:
            compute(as_writable_elements<float16>(memory));
            break;
        case dtype::bf16:
            compute(as_writable_elements<bfloat16>(memory));
            break;
        default:
            compute(as_writable_elements<double>(memory));
        }
        return {};
    }

    /// The codes of a quantized object, each given to `take(code)`. Errors: as read().
    template <class Take>
    result<void> read_codes(const quant_group_layout& layout, string_view role, uint64_t count, Take&& take) {
        const component_record& part = *find_component(file_.index, object_, role);
        if (part.logical_type != plain_type || facts(*part.dtype).category == dtype_class::floating ||
            width_bytes(*part.dtype) != width_bytes(layout.word)) {
            return fail(errc::unsupported_type, "the codes are {}, not words of {}",
                        {in_quotes(dtype_name(file_.index, part)), name(layout.word)})
                .in_component(role);
        }
        byte_buffer memory;
        ZTENSOR_TRY_ASSIGN(const integers_view words,
                           in_component(decode_words(file_, part, layout.word, memory), role));
        for_each_code(words, layout.bits, layout.per_word, layout.is_lsb_first, count, take);
        return {};
    }

private:
    result<vector<float>> numbers_of(string_view role) const {
        const component_record& part = *find_component(file_.index, object_, role);
        vector<float> numbers;
        // Of an unknown type the layout says nothing, whatever it may mean elsewhere.
        ZTENSOR_TRY(in_component(part.logical_type == unknown_type
                                     ? unknown_numbers(file_, part)
                                     : read_numbers(file_, object_, part, dtype::f32, memory_of(numbers)),
                                 role));
        return numbers;
    }
    result<vector<float>> codes_of(const quant_group_layout& layout, string_view role, uint64_t count) {
        vector<float> codes;
        codes.reserve(static_cast<size_t>(count));
        ZTENSOR_TRY(read_codes(layout, role, count, [&](uint64_t code) { codes.push_back(static_cast<float>(code)); }));
        return codes;
    }

    result<void> load_mx() {
        ZTENSOR_TRY_ASSIGN(const mx_layout layout, read_mx(attributes_of(file_.index, object_), shape_));
        axis_ = static_cast<size_t>(layout.axis);
        group_size_ = layout.block_size;
        const component_record& data = *find_component(file_.index, object_, "data");
        factor_ = data.dtype == dtype::i8 ? 1.0 / 64 : 1.0; // OCP's INT8 has six bits behind its point
        ZTENSOR_TRY_ASSIGN(elements_, numbers_of("data"));
        ZTENSOR_TRY_ASSIGN(scales_, numbers_of("scales"));
        return {};
    }

    result<void> load_quantized() {
        ZTENSOR_TRY_ASSIGN(const quant_group_layout layout,
                           read_quant_group(attributes_of(file_.index, object_), shape_));
        axis_ = static_cast<size_t>(layout.axis);
        group_size_ = layout.group_size;
        ZTENSOR_TRY_ASSIGN(elements_, codes_of(layout, "data", layout.codes));
        ZTENSOR_TRY_ASSIGN(scales_, numbers_of("scales"));
        if (layout.zero == zero_form::tensor) {
            ZTENSOR_TRY_ASSIGN(zeros_, layout.zeros_are_packed ? codes_of(layout, "zeros", layout.groups)
                                                               : numbers_of("zeros"));
        }
        zero_ = layout.zero == zero_form::implied ? static_cast<double>(layout.zero_value) : 0.0;
        return {};
    }

    /// Groups run along the axis; scales and zeros have the shape of the whole, with groups in place of that axis.
    template <class To>
    void compute(span<To> numbers) const noexcept {
        if (numbers.empty()) {
            return;
        }
        size_t inner = 1;
        for (size_t i = axis_ + 1; i < shape_.rank(); ++i) {
            inner *= static_cast<size_t>(shape_[i]);
        }
        const auto along = static_cast<size_t>(shape_[axis_]);
        const auto each = static_cast<size_t>(group_size_);
        size_t at = 0;
        for (size_t outer = 0; at < numbers.size(); ++outer) {
            for (size_t a = 0; a < along; ++a) {
                const size_t group = (outer * (along / each) + a / each) * inner;
                for (size_t n = 0; n < inner; ++n, ++at) {
                    const double zero = zeros_.empty() ? zero_ : static_cast<double>(zeros_[group + n]);
                    numbers[at] = static_cast<To>((static_cast<double>(elements_[at]) - zero) * factor_ *
                                                  static_cast<double>(scales_[group + n]));
                }
            }
        }
    }

    const opened_file& file_;
    const object_record& object_;
    shape shape_;
    size_t axis_ = 0;
    uint64_t group_size_ = 1;
    double factor_ = 1.0;
    double zero_ = 0.0;
    vector<float> elements_;
    vector<float> scales_;
    vector<float> zeros_; ///< empty where all are zero_
};

/// The weights of an object that is not dense: in groups, or in blocks. Errors: those of group_weights and
/// number_source.
inline result<void> read_weights(const opened_file& file, const object_record& object, dtype to,
                                 const element_memory& memory) {
    if (has_group_weights(file.index, object)) {
        return group_weights(file, object).read(to, memory);
    }
    const result<number_source> numbers = number_source::of_blocks(file, object, to);
    return numbers ? numbers->read(memory) : numbers.error();
}

/// Some numbers of a whole of these dimensions: of the elements of `component`, or, where that is null, of the weights
/// of an object that is not dense. What can't be read in parts (elements that share bytes, groups, what only decoding
/// counts) is made as a whole first. Errors: as read_weights(); out_of_bounds.
inline result<void> read_numbers_of_part(const opened_file& file, const object_record& object,
                                         const component_record* component, const shape& dimensions,
                                         span<const index_range> ranges, dtype to, const element_memory& memory,
                                         uint64_t& read_bytes) {
    const size_t number_bytes = width_bytes(to);
    const bool are_groups = component == nullptr && has_group_weights(file.index, object);
    if (!are_groups) {
        ZTENSOR_TRY_ASSIGN(const number_source numbers, component != nullptr
                                                            ? number_source::of_elements(file, object, *component, to)
                                                            : number_source::of_blocks(file, object, to));
        if (!numbers.are_packed() && numbers.count()) {
            return numbers.read_part(dimensions, ranges, memory, read_bytes);
        }
    }
    untouched_elements whole(number_bytes);
    ZTENSOR_TRY(component != nullptr ? read_numbers(file, object, *component, to, whole.memory())
                                     : read_weights(file, object, to, whole.memory()));
    read_bytes += component != nullptr ? component->length : 0;
    return copy_numbers(file, whole.bytes(), dimensions, ranges, number_bytes, memory);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
