// SPDX-License-Identifier: MIT
//
// The numbers of components, and of parts of them, whatever they are stored as: single elements, elements that share
// bytes, and blocks of quantized weights.
#ifndef ZTENSOR_DETAIL_READ_NUMBERS_HPP
#define ZTENSOR_DETAIL_READ_NUMBERS_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/ggml_blocks.hpp>
#include <ztensor/detail/codec/ggml_types.hpp>
#include <ztensor/detail/read/arriving.hpp>
#include <ztensor/detail/read/convert.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/read/parts.hpp>

#include <algorithm>
#include <array>

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

[[nodiscard]] ZTENSOR_COLD inline error not_dense(string_view word) noexcept {
    if (word.find(ggml_big_endian_mark) != std::string_view::npos) {
        return fail(errc::unsupported_format,
                    "its format is {}: whether the numbers in blocks of big-endian files are swapped, too, depends on "
                    "the program that wrote them, so only their bytes can be read",
                    {in_quotes(word)});
    }
    const char* const cure = word == name(format::quantized_group) ? ": quantized_view gives its weights"
                             : word == name(format::sparse_csr)    ? ": use csr_view"
                             : word == name(format::sparse_coo)    ? ": use coo_view"
                                                                   : ": ask for its components";
    return fail(errc::unsupported_format, "its format is {}, not dense{}", {in_quotes(word), cure});
}

/// Why an object has no elements of its own: of planes, what is wrong with them.
[[nodiscard]] ZTENSOR_COLD inline error not_dense(const manifest& index, const object_record& object) {
    const result<planes_tensor> planes =
        has_planes_format(index, object) ? read_planes(index, object) : result<planes_tensor>(planes_tensor());
    return planes ? not_dense(format_name(index, object)) : planes.error();
}

/// Why an object of an unknown format gives no weights.
[[nodiscard]] ZTENSOR_COLD inline error no_weights(const manifest& index, const object_record& object) {
    const string_view format = format_name(index, object);
    const bool is_big_endian = format.find(ggml_big_endian_mark) != std::string_view::npos;
    if (is_big_endian || format.substr(0, ggml_format_prefix.size()) != ggml_format_prefix) {
        return not_dense(index, object);
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
        return no_weights(index, object);
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
// The elements of one component as numbers of a floating-point type, converted piece by piece on their way into memory.
// SPEC.md section 4.5.

/// What a container would take is bounded; the caller's own memory is there already. Errors: limit_exceeded.
inline result<void> check_budget(const opened_file& file, const element_memory& to, uint64_t count,
                                 size_t number_bytes) {
    return to.resize != nullptr ? call_budget(file.options).take(count, number_bytes) : result<void>();
}

/// Errors: limit_exceeded; size_mismatch.
inline result<span<byte>> room_for_numbers(const opened_file& file, const element_memory& to, uint64_t count,
                                           size_t number_bytes) {
    ZTENSOR_TRY(check_budget(file, to, count, number_bytes));
    return make_room(to, count, number_bytes);
}

/// Some of all numbers of a whole of these dimensions. Errors: out_of_bounds, limit_exceeded, size_mismatch.
inline result<void> copy_numbers(const opened_file& file, bytes_view whole, const shape& dimensions,
                                 span<const index_range> ranges, size_t number_bytes, const element_memory& to) {
    ZTENSOR_TRY_ASSIGN(element_part part, part_finder(dimensions, ranges)(whole.size(), number_bytes));
    ZTENSOR_TRY_ASSIGN(span<byte> numbers, room_for_numbers(file, to, part.count, number_bytes));
    copy_runs(part.runs, whole, 0, numbers);
    return {};
}

/// Numbers of type f64, f32, f16 or bf16, each rounded once, made from the elements of one component. An element gives
/// one number, a block of quantized weights as many as it holds, and a byte that elements share several or less than
/// one. How they are converted is found once, by what makes this.
class number_source {
public:
    /// Single elements, or those that share bytes. Errors: unknown_dtype, unsupported_type, type_mismatch,
    /// unsupported_encoding, size_mismatch.
    static result<number_source> of_elements(const opened_file& file, const object_record& object,
                                             const component_record& component, dtype to) {
        if (!component.dtype) {
            return unknown_dtype(file, component);
        }
        number_source made(file, component, to, width_bytes(*component.dtype));
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
    static result<number_source> of_blocks(const opened_file& file, const object_record& object, dtype to) {
        ZTENSOR_TRY_ASSIGN(const weight_blocks blocks, find_weight_blocks(file.index, object));
        number_source made(file, *blocks.data, to, blocks.type->bytes);
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
    /// Of each number.
    [[nodiscard]] size_t number_bytes() const noexcept { return number_bytes_; }
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
        switch (to_) {
        case dtype::f32:
            return convert_to(elements, as_writable_elements<float>(numbers), store);
        case dtype::f16:
            return convert_and_round(elements, as_writable_elements<float16>(numbers));
        case dtype::bf16:
            return convert_and_round(elements, as_writable_elements<bfloat16>(numbers));
        default:
            return convert_to(elements, as_writable_elements<double>(numbers), store);
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
            ZTENSOR_TRY(check_budget(*file_, to, total, number_bytes_));
            return read_growing(to, static_cast<size_t>(total));
        }
        return read_as_it_comes(*file_, *component_, to, number_bytes_,
                                [&](const element_memory& memory) { return read_counted(memory, total); });
    }

    /// So many, into memory that may be touched at once.
    result<void> read_counted(const element_memory& to, uint64_t total) const {
        ZTENSOR_TRY_ASSIGN(const span<byte> numbers, make(to, total));
        if (is_raw()) {
            blob_check check(*file_, *component_);
            ZTENSOR_TRY(convert_raw(0, numbers, check, best_store(numbers)));
            return check.finish();
        }
        if (gives_pieces()) {
            joined_numbers joined(*this, numbers);
            return decode_planes(*file_, file_->planes.of(*component_), joined.taker());
        }
        byte_buffer apart;
        ZTENSOR_TRY_ASSIGN(const span<byte> elements, room_for_elements(numbers, apart));
        ZTENSOR_TRY(decode(*file_, *component_, elements));
        return convert_stored(elements, numbers);
    }

    /// Whether all of them are had piece by piece: elements in planes, each of which is joined and converted.
    [[nodiscard]] bool gives_pieces() const noexcept {
        return component_->is_in_planes && planes_stream::can_read(file_->planes.of(*component_));
    }

    /// Takes such pieces to memory that has room for all numbers.
    class joined_numbers {
    public:
        joined_numbers(const number_source& source, span<byte> numbers) noexcept
            : source_(&source), numbers_(numbers), store_(source.best_store(numbers)) {}
        [[nodiscard]] elements_taker taker() noexcept { return {this, take}; }

    private:
        static void take(void* owner, span<byte> elements, size_t first) noexcept {
            const auto& mine = *static_cast<const joined_numbers*>(owner);
            const number_source& from = *mine.source_;
            to_host_order(*from.component_, from.stored_, elements);
            const size_t count = elements.size() / from.element_bytes();
            from.convert(elements, mine.numbers_.subspan(first * from.number_bytes_, count * from.number_bytes_),
                         mine.store_);
        }

        const number_source* source_;
        span<byte> numbers_;
        number_store store_;
    };

    /// Where the elements lie that give some numbers of a whole of these dimensions: whole blocks, where it is blocks.
    /// Errors: out_of_bounds, size_mismatch.
    result<element_part> find_part(const shape& dimensions, span<const index_range> ranges) const {
        const uint64_t decoded_bytes = component_->decoded_length().value_or(0);
        if (blocks_ == nullptr) {
            return part_finder(dimensions, ranges)(decoded_bytes, element_bytes());
        }
        const vector<index_range> of_blocks = block_ranges(ranges);
        return part_finder(block_shape(dimensions), of_blocks)(decoded_bytes, element_bytes());
    }
    /// Whether the ranges cut no block.
    [[nodiscard]] bool are_whole_blocks(span<const index_range> ranges) const noexcept {
        return blocks_ == nullptr || (ranges[ranges.size() - 1].begin % blocks_->elements == 0 &&
                                      ranges[ranges.size() - 1].end % blocks_->elements == 0);
    }

    /// Some of the numbers of a whole of these dimensions, reading no more of raw data and of several frames than they
    /// are made of; adds to `read_bytes` how many bytes of the blob that took. No digest covers them. Not for elements
    /// that share bytes, nor where only decoding tells how many there are. Errors: as find_part(); limit_exceeded,
    /// bad_bool; as decoding does.
    result<void> read_part(const shape& dimensions, span<const index_range> ranges, const element_memory& to,
                           uint64_t& read_bytes) const {
        ZTENSOR_TRY_ASSIGN(const element_part part, find_part(dimensions, ranges));
        ZTENSOR_TRY(check_memory_limit(part.count * element_bytes(), file_->options));
        if (are_whole_blocks(ranges)) {
            return read_as_it_comes(*file_, *component_, to, number_bytes_,
                                    [&](const element_memory& memory) -> result<void> {
                                        const uint64_t count = part.count * numbers_per_element();
                                        ZTENSOR_TRY_ASSIGN(const span<byte> numbers, make(memory, count));
                                        return read_elements_of(part, numbers, read_bytes);
                                    });
        }
        byte_buffer whole; // of the blocks that the ranges cut
        ZTENSOR_TRY(allocate(whole, part.count * converted_bytes(), "blocks of weights"));
        ZTENSOR_TRY(read_elements_of(part, whole.writable_bytes(), read_bytes));
        shape around;
        vector<index_range> inner;
        for (size_t i = 0; i < ranges.size(); ++i) {
            const uint64_t each = i + 1 == ranges.size() ? blocks_->elements : 1;
            const uint64_t begin = ranges[i].begin / each * each;
            around.push_back((ranges[i].end + each - 1) / each * each - begin);
            inner.push_back({ranges[i].begin - begin, ranges[i].end - begin});
        }
        return copy_numbers(*file_, whole.bytes(), around, inner, number_bytes_, to);
    }

private:
    number_source(const opened_file& file, const component_record& component, dtype to, size_t element_bytes) noexcept
        : file_(&file), component_(&component), to_(to),
          number_bytes_(width_bytes(to)), stored_{*component.dtype, {}, element_bytes, 1, false} {}

    [[nodiscard]] shape block_shape(const shape& dimensions) const noexcept {
        shape made;
        for (size_t i = 0; i < dimensions.rank(); ++i) {
            made.push_back(i + 1 == dimensions.rank() ? dimensions[i] / blocks_->elements : dimensions[i]);
        }
        return made;
    }
    [[nodiscard]] vector<index_range> block_ranges(span<const index_range> ranges) const {
        vector<index_range> made(ranges.begin(), ranges.end());
        index_range& last = made.back();
        last = {last.begin / blocks_->elements, (last.end + blocks_->elements - 1) / blocks_->elements};
        return made;
    }

    /// The numbers that a part's elements give.
    result<void> read_elements_of(const element_part& part, span<byte> numbers, uint64_t& read_bytes) const {
        if (is_raw() && part.runs.count() <= 1) {
            blob_check no_check(*file_, *component_, digest_use::never);
            read_bytes += part.count * element_bytes();
            return convert_raw(part.runs.begin() / element_bytes(), numbers, no_check, best_store(numbers));
        }
        byte_buffer apart;
        ZTENSOR_TRY_ASSIGN(const span<byte> elements, room_for_elements(numbers, apart));
        ZTENSOR_TRY(read_runs(*file_, *component_, part.runs, elements, read_bytes));
        return convert_stored(elements, numbers);
    }

    /// Where the elements that give `numbers` are decoded: the end of these, unless elements are wider; then `apart`.
    result<span<byte>> room_for_elements(span<byte> numbers, byte_buffer& apart) const {
        const size_t stored_bytes = numbers.size() / converted_bytes() * element_bytes();
        if (element_bytes() <= converted_bytes()) {
            return numbers.last(stored_bytes);
        }
        ZTENSOR_TRY(allocate(apart, stored_bytes, "the stored elements"));
        return apart.writable_bytes();
    }

    result<span<byte>> make(const element_memory& to, uint64_t count) const {
        return room_for_numbers(*file_, to, count, number_bytes_);
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
        const read_ahead stored(file_->options.threads(), *file_->source, component_->offset,
                                uint64_t{elements} * element_bytes());
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
        const read_ahead stored(file_->options.threads(), *file_->source, component_->offset + first * element_bytes(),
                                uint64_t{total} * element_bytes());
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

    /// By way of floats, where these hold every element exactly, else of doubles.
    template <class To>
    void convert_and_round(bytes_view elements, span<To> numbers) const noexcept {
        const dtype_facts& storage = facts(*component_->dtype);
        const bool is_integer = storage.category != dtype_class::floating;
        const bool by_floats =
            blocks_ != nullptr || narrow_ != nullptr || storage.width_bytes <= (is_integer ? 2U : 4U);
        if (by_floats) {
            return convert_by<float>(elements, numbers);
        }
        convert_by<double>(elements, numbers);
    }
    template <class By, class To>
    void convert_by(bytes_view elements, span<To> numbers) const noexcept {
        constexpr size_t most = 1024; // of numbers: whole blocks, and whole bytes of elements that share them
        std::array<By, most> exact;
        std::array<byte, most * sizeof(uint64_t)> shortened;
        const dtype_facts& storage = facts(*component_->dtype);
        const bool is_long = storage.category != dtype_class::floating && storage.width_bytes == sizeof(uint64_t);
        for (size_t done = 0; done < numbers.size(); done += most) {
            const size_t count = (std::min)(most, numbers.size() - done);
            const size_t begin = bytes_of(done), end = bytes_of(done + count);
            bytes_view piece = elements.subspan(begin, end - begin);
            if (is_long) {
                const span<byte> copied(shortened.data(), piece.size());
                std::copy_n(piece.begin(), piece.size(), copied.begin());
                shorten_for_double(copied, storage.category == dtype_class::signed_integer);
                piece = copied;
            }
            convert_to(piece, span<By>(exact.data(), count), number_store::cached);
            for (size_t i = 0; i < count; ++i) {
                numbers[done + i] = static_cast<To>(exact[i]);
            }
        }
    }
    /// That give so many numbers.
    [[nodiscard]] size_t bytes_of(size_t numbers) const noexcept {
        return narrow_ != nullptr ? (numbers * narrow_->bits + 7) / 8
                                  : numbers / numbers_per_element() * element_bytes();
    }

    const opened_file* file_;
    const component_record* component_;
    dtype to_;
    size_t number_bytes_;
    element_request stored_;
    const float8_values* float8_ = nullptr;     ///< of floats of 8 bits
    const narrow_type_facts* narrow_ = nullptr; ///< of elements that share bytes
    const ggml_block_type* blocks_ = nullptr;   ///< of blocks
    optional<uint64_t> stated_count_;           ///< of elements that share bytes and of blocks: what the shape needs
};

/// All elements of a component as numbers of type `to`. Errors: those of number_source.
inline result<void> read_numbers(const opened_file& file, const object_record& object,
                                 const component_record& component, dtype to, const element_memory& memory) {
    const result<number_source> numbers = number_source::of_elements(file, object, component, to);
    return numbers ? numbers->read(memory) : numbers.error();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
