// SPDX-License-Identifier: MIT
//
// The numbers of components and objects, whatever they are stored as: single elements, elements that share bytes,
// blocks of quantized weights, and groups of them whose scales stand apart.
#ifndef ZTENSOR_DETAIL_READ_NUMBERS_HPP
#define ZTENSOR_DETAIL_READ_NUMBERS_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/ggml_blocks.hpp>
#include <ztensor/detail/codec/ggml_types.hpp>
#include <ztensor/detail/read/convert.hpp>
#include <ztensor/detail/read/decode.hpp>

#include <algorithm>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- weight blocks
//
// Objects of format gguf.<type>/1, whose one component holds blocks of quantized weights as ggml lays them out: of
// which type, and from how many blocks.

struct weight_blocks {
    const ggml_block_type* type;
    const component_record* data;
    uint64_t count;
};

[[nodiscard]] ZTENSOR_COLD inline error not_dense(string_view format) noexcept {
    if (format.find(ggml_big_endian_mark) != std::string_view::npos) {
        return fail(errc::unsupported_format,
                    "its format is {}: whether the numbers in blocks of big-endian files are swapped, too, depends on "
                    "the program that wrote them, so only their bytes can be read",
                    {in_quotes(format)});
    }
    return fail(errc::unsupported_format, "its format is {}, not dense: ask for its components", {in_quotes(format)});
}

/// Why an object of that format gives no weights.
[[nodiscard]] ZTENSOR_COLD inline error no_weights(string_view format) noexcept {
    const bool is_big_endian = format.find(ggml_big_endian_mark) != std::string_view::npos;
    if (is_big_endian || format.substr(0, ggml_format_prefix.size()) != ggml_format_prefix) {
        return not_dense(format);
    }
    return fail(errc::unsupported_format, "how blocks of format {} give weights is not known to this library",
                {in_quotes(format)});
}

/// What the file says of a block is what is known of its type. Errors: attribute_not_found, attribute_type,
/// size_mismatch.
inline result<void> check_block_attribute(const attributes_view& attributes, string_view key, uint64_t expected) {
    ZTENSOR_TRY_ASSIGN(const uint64_t stated, attributes.unsigned_integer(key));
    return stated == expected
               ? result<void>()
               : fail(errc::size_mismatch, "the attribute {} is {}, expected {}", {in_quotes(key), stated, expected});
}

/// One component of plain bytes, whose rows are whole blocks. Errors: unsupported_format for any other format;
/// layout_components, type_mismatch, size_mismatch, attribute_not_found, attribute_type.
inline result<weight_blocks> find_weight_blocks(const manifest& index, const object_record& object) {
    const string_view format = format_name(index, object);
    const ggml_block_type* const type = object.format ? nullptr : find_ggml_format(format);
    if (type == nullptr) {
        return no_weights(format);
    }
    const component_record* const data = find_component(index, object, "data");
    if (data == nullptr || object.component_count != 1) {
        return fail(errc::layout_components, "an object of format {} has {} components, expected one: \"data\"",
                    {in_quotes(format), object.component_count});
    }
    if (data->dtype != dtype::u8 || data->logical_type != plain_type) {
        return fail(errc::type_mismatch, "blocks are stored as u8 of no logical type, but these as {} {}",
                    {in_quotes(dtype_name(index, *data)), in_quotes(type_name(index, *data))});
    }
    const attributes_view attributes = attributes_of(index, object);
    ZTENSOR_TRY(check_block_attribute(attributes, "elems_per_block", type->elements));
    ZTENSOR_TRY(check_block_attribute(attributes, "block_bytes", type->bytes));
    const shape dimensions = index.shape_of(object);
    if (dimensions.empty() || dimensions[dimensions.rank() - 1] % type->elements != 0) {
        return fail(errc::size_mismatch, "rows of shape {} are no whole number of blocks of {} weights",
                    {to_string(dimensions), type->elements});
    }
    return weight_blocks{type, data, index.element_count_of(object) / type->elements};
}

// -- numbers
//
// The elements of one component as floats or doubles, converted piece by piece on their way into memory. SPEC.md
// section 4.5.

/// Numbers of `number_bytes` each, floats or doubles, made from the elements of one component. An element gives one
/// number, a block of quantized weights as many as it holds, and a byte that elements share several or less than one.
/// How they are converted is found once, by what makes this.
class number_source {
public:
    /// Single elements, or those that share bytes. Errors: unknown_dtype, unsupported_type, type_mismatch,
    /// unsupported_encoding, size_mismatch.
    static result<number_source> of_elements(const opened_file& file, const object_record& object,
                                             const component_record& component, size_t number_bytes) {
        if (!component.dtype) {
            return unknown_dtype(file, component);
        }
        number_source made(file, component, number_bytes, width_bytes(*component.dtype));
        ZTENSOR_TRY_ASSIGN(const optional<uint64_t> elements, count_elements(file, component, made.stored_));
        ZTENSOR_TRY(check_known_numbers(file, component));
        made.narrow_ = find_narrow_type(file.index, component);
        if (made.narrow_ != nullptr) {
            made.stated_count_ = stated_elements(file.index, object, component);
        } else {
            const bool is_plain = component.logical_type == plain_type;
            const string_view type = is_plain ? string_view() : type_name(file.index, component);
            ZTENSOR_TRY(check_convertible(*component.dtype, type));
            made.float8_ = find_float8(type);
        }
        ZTENSOR_TRY(elements ? made.check_stored_bytes(*elements * made.element_bytes()) : result<void>());
        return made;
    }

    /// The weights of an object that is blocks of them. Errors: unsupported_format, layout_components, type_mismatch,
    /// attribute_not_found, attribute_type, size_mismatch, unsupported_encoding.
    static result<number_source> of_blocks(const opened_file& file, const object_record& object, size_t number_bytes) {
        ZTENSOR_TRY_ASSIGN(const weight_blocks blocks, find_weight_blocks(file.index, object));
        number_source made(file, *blocks.data, number_bytes, blocks.type->bytes);
        made.blocks_ = blocks.type;
        made.stated_count_ = blocks.count * blocks.type->elements;
        ZTENSOR_TRY_ASSIGN(const optional<uint64_t> count, count_elements(file, *blocks.data, made.stored_));
        ZTENSOR_TRY(count ? made.check_stored_bytes(*count * made.element_bytes()) : result<void>());
        return made;
    }

    /// How many there are; nothing if only decoding tells.
    [[nodiscard]] optional<uint64_t> count() const noexcept {
        const optional<uint64_t> bytes = component_->decoded_length();
        return bytes ? optional(count_in(*bytes)) : std::nullopt;
    }
    /// In all, if the component decodes to so many bytes.
    [[nodiscard]] uint64_t count_in(uint64_t bytes) const noexcept {
        return narrow_ != nullptr ? stated_count_.value_or(most_in(bytes)) : most_in(bytes);
    }
    /// That so many bytes give at most: whole elements or, where elements share bytes, a multiple of three or the rest.
    [[nodiscard]] uint64_t most_in(uint64_t bytes) const noexcept {
        return narrow_ != nullptr ? narrow_in_bytes(*narrow_, bytes) : bytes / element_bytes() * numbers_per_element();
    }

    /// Of what one element, or one block, is stored as.
    [[nodiscard]] size_t element_bytes() const noexcept { return stored_.size_bytes; }
    [[nodiscard]] size_t numbers_per_element() const noexcept { return blocks_ != nullptr ? blocks_->elements : 1; }
    /// Of the numbers that one element gives.
    [[nodiscard]] size_t converted_bytes() const noexcept { return numbers_per_element() * number_bytes_; }
    [[nodiscard]] bool are_blocks() const noexcept { return blocks_ != nullptr; }
    /// Elements share bytes, so that all of them are converted at once.
    [[nodiscard]] bool are_packed() const noexcept { return narrow_ != nullptr; }

    /// Raw data can be converted in parts.
    [[nodiscard]] bool is_raw() const noexcept { return component_->encoding == encoding::raw && !are_packed(); }

    /// So many bytes hold as many elements as there should be, where that is known. Errors: size_mismatch.
    result<void> check_stored_bytes(uint64_t bytes) const {
        if (narrow_ != nullptr) {
            return check_packed_size(*narrow_, bytes, count_in(bytes));
        }
        const uint64_t found = bytes / element_bytes();
        return blocks_ == nullptr || most_in(bytes) == stated_count_
                   ? result<void>()
                   : fail(errc::size_mismatch, "there are {} blocks, but the shape needs {}",
                          {found, *stated_count_ / blocks_->elements});
    }

    /// For memory that was not just written: more than a core's own cache keeps goes past it, which takes 0.8 of the
    /// time; unless the system clears it just now.
    [[nodiscard]] number_store best_store(span<byte> numbers) const noexcept {
        const bool are_many = count().value_or(0) >= past_cache_bytes / number_bytes_;
        return are_many && !is_untouched(numbers) ? number_store::past_cache : number_store::cached;
    }

    /// Numbers of raw data, from what the `first` element gives on, as many as `numbers` holds, which is what whole
    /// elements give; `check` takes in what they are made of.
    result<void> convert_raw(uint64_t first, span<byte> numbers, blob_check& check, number_store store) const {
        ZTENSOR_TRY_ASSIGN(const optional<bytes_view> stable,
                           find_stable_elements(first, numbers.size() / converted_bytes(), check));
        if (!stable) {
            return convert_in_blocks(first, numbers, check, store);
        }
        convert(*stable, numbers, store);
        return {};
    }

    /// All of them from the stored elements, in memory of our own, which are brought into the host's order there. The
    /// elements may be the end of `numbers`, if they are no wider.
    result<void> convert_stored(span<byte> elements, span<byte> numbers) const {
        result<void> valid = to_host(elements, 0);
        if (valid) {
            convert(elements, numbers, number_store::cached);
        }
        return valid;
    }

    /// Elements into the host's order, of which `first` is the position of the first in the tensor. Errors: bad_bool.
    result<void> to_host(span<byte> elements, uint64_t first) const {
        to_host_order(*component_, stored_, elements);
        return holds_bools(*component_) ? normalise_bools(*component_, elements, first) : result<void>();
    }

    /// Elements in the host's order.
    void convert(bytes_view elements, span<byte> numbers, number_store store) const noexcept {
        if (number_bytes_ == sizeof(float)) {
            convert_to(elements, as_writable_elements<float>(numbers), store);
        } else {
            convert_to(elements, as_writable_elements<double>(numbers), store);
        }
    }

    /// All of them. Errors: limit_exceeded, size_mismatch, bad_bool, bad_padding; as decoding does.
    result<void> read(const element_memory& to) const {
        const optional<uint64_t> bytes = component_->decoded_length();
        ZTENSOR_TRY(bytes ? check_memory_limit(*bytes, file_->options) : result<void>());
        if (!bytes || are_packed()) {
            return read_at_once(to);
        }
        const uint64_t total = count_in(*bytes);
        if (is_raw() && to.reserve != nullptr) {
            ZTENSOR_TRY(check_budget(to, total));
            return read_growing(to, static_cast<size_t>(total));
        }
        ZTENSOR_TRY_ASSIGN(const span<byte> numbers, make(to, total));
        if (is_raw()) {
            blob_check check(*file_, *component_);
            ZTENSOR_TRY(convert_raw(0, numbers, check, best_store(numbers)));
            return check.finish();
        }
        // Decoded into the end of the numbers and converted from there, where stored elements are no wider.
        const size_t stored_bytes = numbers.size() / converted_bytes() * element_bytes();
        byte_buffer apart;
        if (element_bytes() > converted_bytes()) {
            ZTENSOR_TRY(allocate(apart, stored_bytes, "a component"));
        }
        const span<byte> elements = apart.is_allocated() ? apart.writable_bytes() : numbers.last(stored_bytes);
        ZTENSOR_TRY(decode(*file_, *component_, elements));
        return convert_stored(elements, numbers);
    }

private:
    number_source(const opened_file& file, const component_record& component, size_t number_bytes,
                  size_t element_bytes) noexcept
        : file_(&file), component_(&component),
          number_bytes_(number_bytes), stored_{*component.dtype, {}, element_bytes, 1, false} {}

    result<void> check_budget(const element_memory& to, uint64_t count) const {
        return to.resize != nullptr ? call_budget(file_->options).take(count, number_bytes_) : result<void>();
    }
    result<span<byte>> make(const element_memory& to, uint64_t count) const {
        ZTENSOR_TRY(check_budget(to, count));
        return make_room(to, count, number_bytes_);
    }

    /// All of them where only decoding tells how many there are, or where elements share bytes.
    result<void> read_at_once(const element_memory& to) const {
        byte_buffer decoded;
        ZTENSOR_TRY_ASSIGN(const span<byte> whole, decode_whole(*file_, *component_, decoded));
        const uint64_t total = count_in(whole.size());
        ZTENSOR_TRY(narrow_ != nullptr ? check_packed(*component_, *narrow_, whole, total)
                                       : check_whole_elements(whole.size(), element_bytes()));
        ZTENSOR_TRY(check_stored_bytes(whole.size()));
        ZTENSOR_TRY_ASSIGN(const span<byte> numbers, make(to, total));
        return convert_stored(whole, numbers);
    }

    /// All of raw data, into memory that grows. Without prefault: where memory is used again and again, as conversions
    /// do, it took from 0.7 to 1.3 of the time, as pages were to be had on the other processor of a virtual machine.
    result<void> read_growing(const element_memory& to, size_t total) const {
        reserve_large(to, total, number_bytes_);
        blob_check check(*file_, *component_);
        const size_t elements = total / numbers_per_element();
        ZTENSOR_TRY_ASSIGN(const optional<bytes_view> stable, find_stable_elements(0, elements, check));
        // The vector writes zeros first: as many as a core's first cache keeps until numbers take their place, which is
        // 0.93 of the time. What has to be read is read in longer pieces.
        constexpr size_t first_cache_bytes = size_t{16} << 10;
        const size_t piece = (stable ? first_cache_bytes : cached_piece_bytes) / converted_bytes();
        for (size_t done = 0; done < elements; done += piece) {
            const size_t more = (std::min)(piece, elements - done);
            const span<byte> memory = to.resize(to.owner, (done + more) * numbers_per_element());
            const span<byte> place = memory.last(more * converted_bytes());
            if (stable) { // numbers go to the cache, where zeros have just been written
                convert(stable->subspan(done * element_bytes(), more * element_bytes()), place, number_store::cached);
            } else {
                ZTENSOR_TRY(convert_in_blocks(done, place, check, number_store::cached));
            }
        }
        return check.finish();
    }

    /// Stored elements where they lie, if they stay as they are and can be converted there: in the host's order, with
    /// nothing to check. Few of a file are read in less time than it takes to look at a mapping. Errors: what the
    /// source says.
    result<optional<bytes_view>> find_stable_elements(uint64_t first, size_t elements, const blob_check& check) const {
        constexpr size_t few_bytes = size_t{256} << 10;
        const size_t bytes = elements * element_bytes();
        const bool is_swapped = is_foreign_order(*component_) && element_bytes() > 1;
        if (is_swapped || check.is_wanted() || holds_bools(*component_) ||
            (bytes < few_bytes && source_access::is_file(*file_->source))) {
            return optional<bytes_view>();
        }
        return source_access::find_stable_range(*file_->source, component_->offset + first * element_bytes(), bytes);
    }

    /// As convert_raw(), read into memory of our own in blocks.
    result<void> convert_in_blocks(uint64_t first, span<byte> numbers, blob_check& check, number_store store) const {
        const size_t block_elements = cached_piece_bytes / element_bytes();
        const size_t total = numbers.size() / converted_bytes();
        thread_memory memory;
        ZTENSOR_TRY_ASSIGN(const span<byte> all,
                           memory.reserve((std::min)(block_elements, total) * element_bytes(), "a block of elements"));
        for (size_t done = 0; done < total; done += block_elements) {
            const size_t elements = (std::min)(block_elements, total - done);
            const span<byte> block = all.first(elements * element_bytes());
            ZTENSOR_TRY(read_checked(*file_, *component_, (first + done) * element_bytes(), block, check));
            ZTENSOR_TRY(to_host(block, first + done));
            convert(block, numbers.subspan(done * converted_bytes(), elements * converted_bytes()), store);
        }
        return {};
    }

    template <class To>
    void convert_to(bytes_view elements, span<To> numbers, number_store store) const noexcept {
        if (blocks_ != nullptr) {
            return dequantize(blocks_->id, elements, numbers);
        }
        if (narrow_ != nullptr) {
            return expand_narrow(*narrow_, elements, numbers);
        }
        convert_all(elements, *component_->dtype, float8_, numbers, store);
    }

    const opened_file* file_;
    const component_record* component_;
    size_t number_bytes_;
    element_request stored_;
    const float8_values* float8_ = nullptr;     ///< of floats of 8 bits
    const narrow_type_facts* narrow_ = nullptr; ///< of elements that share bytes
    const ggml_block_type* blocks_ = nullptr;   ///< of blocks
    optional<uint64_t> stated_count_;           ///< of elements that share bytes and of blocks: what the shape needs
};

/// All elements of a component as floats or doubles. Errors: those of number_source.
inline result<void> read_numbers(const opened_file& file, const object_record& object,
                                 const component_record& component, size_t number_bytes, const element_memory& to) {
    const result<number_source> numbers = number_source::of_elements(file, object, component, number_bytes);
    return numbers ? numbers->read(to) : numbers.error();
}

// -- group weights
//
// Weights whose scales, and zero points, stand in parts of their own, one for each group along an axis. SPEC.md
// section 13.6.

[[nodiscard]] inline bool has_group_weights(const manifest& index, const object_record& object) noexcept {
    return index.generation == generation::v2 &&
           (object.format == format::mx || object.format == format::quantized_group);
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

    /// Floats or doubles. Errors: limit_exceeded, unsupported_type (of a part), and as reading the parts.
    result<void> read(size_t number_bytes, const element_memory& to) {
        const uint64_t count = file_.index.element_count_of(object_);
        call_budget budget(file_.options);
        ZTENSOR_TRY(budget.take(count, sizeof(float) + number_bytes));
        ZTENSOR_TRY(object_.format == format::mx ? load_mx() : load_quantized());
        ZTENSOR_TRY_ASSIGN(const span<byte> memory, make_room(to, count, number_bytes));
        if (number_bytes == sizeof(float)) {
            compute(as_writable_elements<float>(memory));
        } else {
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
                                     : read_numbers(file_, object_, part, sizeof(float), memory_of(numbers)),
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
inline result<void> read_weights(const opened_file& file, const object_record& object, size_t number_bytes,
                                 const element_memory& to) {
    if (has_group_weights(file.index, object)) {
        return group_weights(file, object).read(number_bytes, to);
    }
    const result<number_source> numbers = number_source::of_blocks(file, object, number_bytes);
    return numbers ? numbers->read(to) : numbers.error();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
