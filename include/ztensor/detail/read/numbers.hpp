// SPDX-License-Identifier: MIT
//
// Elements of any type, quantized or not, as numbers.
#ifndef ZTENSOR_DETAIL_READ_NUMBERS_HPP
#define ZTENSOR_DETAIL_READ_NUMBERS_HPP

#include <ztensor/attributes_view.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/codec/ggml_blocks.hpp>
#include <ztensor/detail/codec/ggml_types.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/detail/read/convert.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/read/element_access.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/detail/read/thread_memory.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

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
    std::uint64_t count;
};

[[nodiscard]] ZTENSOR_COLD inline error not_dense(std::string_view format) noexcept {
    if (format.find(ggml_big_endian_mark) != std::string_view::npos) {
        return fail(errc::unsupported_format,
                    "its format is {}: whether the numbers in blocks of big-endian files are swapped, too, depends on "
                    "the program that wrote them, so only their bytes can be read",
                    {in_quotes(format)});
    }
    return fail(errc::unsupported_format, "its format is {}, not dense: ask for its components", {in_quotes(format)});
}

/// Why an object of that format gives no weights.
[[nodiscard]] ZTENSOR_COLD inline error no_weights(std::string_view format) noexcept {
    const bool is_big_endian = format.find(ggml_big_endian_mark) != std::string_view::npos;
    if (is_big_endian || format.substr(0, ggml_format_prefix.size()) != ggml_format_prefix) {
        return not_dense(format);
    }
    return fail(errc::unsupported_format, "how blocks of format {} give weights is not known to this library",
                {in_quotes(format)});
}

/// The one component, of plain bytes. Errors: layout_components, type_mismatch.
[[nodiscard]] inline result<const component_record*> find_block_data(const manifest& index,
                                                                     const object_record& object) {
    const component_record* const data = find_component(index, object, "data");
    if (data == nullptr || object.component_count != 1) {
        return fail(errc::layout_components, "an object of format {} has {} components, expected one: \"data\"",
                    {in_quotes(format_name(index, object)), object.component_count});
    }
    if (data->dtype != dtype::u8 || data->logical_type != plain_type) {
        return fail(errc::type_mismatch, "blocks are stored as u8 of no logical type, but these as {} {}",
                    {in_quotes(dtype_name(index, *data)), in_quotes(type_name(index, *data))});
    }
    return data;
}

/// What the file says of a block is what is known of its type. Errors: attribute_not_found, attribute_type,
/// size_mismatch.
[[nodiscard]] inline result<void> check_block_attribute(const attributes_view& attributes, std::string_view key,
                                                        std::uint64_t expected) {
    ZTENSOR_TRY_ASSIGN(const std::uint64_t stated, attributes.unsigned_integer(key));
    return stated == expected
               ? result<void>()
               : fail(errc::size_mismatch, "the attribute {} is {}, expected {}", {in_quotes(key), stated, expected});
}

/// Rows are whole blocks. Errors: size_mismatch.
[[nodiscard]] inline result<std::uint64_t> count_blocks(const manifest& index, const object_record& object,
                                                        const ggml_block_type& type) {
    const shape dimensions = index.shape_of(object);
    if (dimensions.empty() || dimensions[dimensions.rank() - 1] % type.elements != 0) {
        return fail(errc::size_mismatch, "rows of shape {} are no whole number of blocks of {} weights",
                    {to_string(dimensions), type.elements});
    }
    return index.element_count_of(object) / type.elements;
}

/// Errors: unsupported_format for any other format; those above.
[[nodiscard]] inline result<weight_blocks> find_weight_blocks(const manifest& index, const object_record& object) {
    const std::string_view format = format_name(index, object);
    const ggml_block_type* const type = object.format ? nullptr : find_ggml_format(format);
    if (type == nullptr) {
        return no_weights(format);
    }
    ZTENSOR_TRY_ASSIGN(const component_record* data, find_block_data(index, object));
    const attributes_view attributes = attributes_of(index, object);
    ZTENSOR_TRY(check_block_attribute(attributes, "elems_per_block", type->elements));
    ZTENSOR_TRY(check_block_attribute(attributes, "block_bytes", type->bytes));
    ZTENSOR_TRY_ASSIGN(const std::uint64_t count, count_blocks(index, object, *type));
    return weight_blocks{type, data, count};
}

// -- numbers
//
// Elements of one component as floating-point numbers, converted piece by piece on their way into memory: single ones
// (SPEC.md section 4.5), or quantized weights in blocks of ggml.

/// Numbers of `number_bytes` each, floats or doubles, made from the elements of one component. An element gives one
/// number, and a block of quantized weights as many as it holds.
class number_reader {
public:
    /// Errors: unknown_dtype, unsupported_type, type_mismatch, unsupported_encoding, size_mismatch, limit_exceeded.
    [[nodiscard]] static result<number_reader> make(const opened_file& file, const component_record& component,
                                                    std::size_t number_bytes) {
        if (!component.dtype) {
            return unknown_dtype(file, component);
        }
        const number_reader made(file, component, number_bytes);
        ZTENSOR_TRY(count_loadable_elements(file, component, made.stored_));
        if (!has_known_numbers(file.index, component)) {
            return fail(errc::unsupported_type, "numbers of the logical type {} are unknown to this library",
                        {in_quotes(type_name(file.index, component))});
        }
        ZTENSOR_TRY(check_convertible(*component.dtype, made.type_));
        return made;
    }

    /// The weights of an object that is blocks of them. Errors: unsupported_format, layout_components, type_mismatch,
    /// attribute_not_found, attribute_type, size_mismatch, unsupported_encoding, limit_exceeded.
    [[nodiscard]] static result<number_reader> make_of_blocks(const opened_file& file, const object_record& object,
                                                              std::size_t number_bytes) {
        ZTENSOR_TRY_ASSIGN(const weight_blocks blocks, find_weight_blocks(file.index, object));
        const number_reader made(file, blocks, number_bytes);
        ZTENSOR_TRY_ASSIGN(const std::optional<std::uint64_t> count,
                           count_loadable_elements(file, *blocks.data, made.stored_));
        if (count) {
            ZTENSOR_TRY(made.check_block_count(*count));
        }
        return made;
    }

    /// How many there are; nothing if only decoding tells.
    [[nodiscard]] std::optional<std::uint64_t> count() const noexcept {
        const std::optional<std::uint64_t> bytes = component_.decoded_length();
        return bytes ? std::optional(*bytes / stored_.size_bytes * numbers_per_element_) : std::nullopt;
    }

    /// Of what one element, or one block, is stored as.
    [[nodiscard]] std::size_t element_bytes() const noexcept { return stored_.size_bytes; }
    [[nodiscard]] std::size_t numbers_per_element() const noexcept { return numbers_per_element_; }

    /// Raw data can be converted in parts.
    [[nodiscard]] bool is_raw() const noexcept { return component_.encoding == encoding::raw; }

    /// For memory that was not just written: more than a core's own cache keeps goes past it, which takes 0.8 of the
    /// time; unless the system clears it just now.
    [[nodiscard]] number_store best_store(span<std::byte> numbers) const noexcept {
        const bool are_many = count().value_or(0) >= past_cache_bytes / number_bytes_;
        return are_many && !is_untouched(numbers) ? number_store::past_cache : number_store::cached;
    }

    /// Numbers of raw data, from what the `first` element gives on, as many as `numbers` holds, which is what whole
    /// elements give; `check` takes in what they are made of.
    [[nodiscard]] result<void> convert_raw(std::uint64_t first, span<std::byte> numbers, blob_check& check,
                                           number_store store) const {
        ZTENSOR_TRY_ASSIGN(const std::optional<bytes_view> stable,
                           find_stable_elements(first, numbers.size() / converted_bytes(), check));
        if (!stable) {
            return convert_in_blocks(first, numbers, check, store);
        }
        convert(*stable, numbers, store);
        return {};
    }

    /// All of them from the stored elements, in memory of our own, which are brought into the host's order there. The
    /// elements may be the end of `numbers`, if they are no wider.
    [[nodiscard]] result<void> convert_stored(span<std::byte> elements, span<std::byte> numbers) const {
        result<void> valid = to_host(elements, 0);
        if (valid) {
            convert(elements, numbers, number_store::cached);
        }
        return valid;
    }

    /// All of them into `numbers`, which has room for count(). What is compressed is decoded into its end and converted
    /// from there, where stored elements are no wider than the numbers; else into memory of its own.
    [[nodiscard]] result<void> read_all(span<std::byte> numbers) const {
        if (is_raw()) {
            blob_check check(file_, component_);
            result<void> converted = convert_raw(0, numbers, check, best_store(numbers));
            return converted ? check.finish() : converted;
        }
        const std::size_t stored_bytes = numbers.size() / converted_bytes() * stored_.size_bytes;
        byte_buffer apart;
        if (stored_.size_bytes > converted_bytes() && !apart.allocate(stored_bytes)) {
            return fail(errc::out_of_memory, "no memory for a component of {} bytes", {stored_bytes});
        }
        const span<std::byte> elements = apart.is_allocated() ? apart.writable_bytes() : numbers.last(stored_bytes);
        result<void> done = decode(file_, component_, elements);
        return done ? convert_stored(elements, numbers) : done;
    }

    /// All of them where only decoding tells how many there are, into the memory that `make(count) ->
    /// result<span<std::byte>>` gives.
    template <class Make>
    [[nodiscard]] result<void> read_unsized(Make&& make) const {
        byte_buffer decoded;
        ZTENSOR_TRY_ASSIGN(const span<std::byte> whole, decode_whole(file_, component_, decoded));
        ZTENSOR_TRY(check_whole_elements(whole.size(), stored_.size_bytes));
        ZTENSOR_TRY(to_host(whole, 0));
        const std::size_t elements = whole.size() / stored_.size_bytes;
        ZTENSOR_TRY(blocks_ != nullptr ? check_block_count(elements) : result<void>());
        ZTENSOR_TRY_ASSIGN(const span<std::byte> memory, make(elements * numbers_per_element_));
        convert(whole, memory, number_store::cached);
        return {};
    }

    /// All of them into memory that is made to measure.
    [[nodiscard]] result<void> read_all(element_memory numbers) const {
        const std::optional<std::uint64_t> known = count();
        call_budget budget(file_.options);
        if (!known) {
            return read_unsized([&](std::size_t found) -> result<span<std::byte>> {
                result<void> allowed = budget.take(found, number_bytes_);
                return allowed ? result<span<std::byte>>(numbers.resize(numbers.owner, found))
                               : std::move(allowed).error();
            });
        }
        ZTENSOR_TRY(budget.take(*known, number_bytes_));
        const auto total = static_cast<std::size_t>(*known);
        if (!is_raw() || numbers.reserve == nullptr) {
            return read_all(numbers.resize(numbers.owner, total));
        }
        // Without prefault: where memory is used again and again, as conversions do, it took from 0.7 to 1.3 of the
        // time, as pages were to be had on the other processor of a virtual machine.
        reserve_large(numbers, total, number_bytes_);
        blob_check check(file_, component_);
        const std::size_t elements = total / numbers_per_element_;
        ZTENSOR_TRY_ASSIGN(const std::optional<bytes_view> stable, find_stable_elements(0, elements, check));
        // The vector writes zeros first: as many as a core's first cache keeps until numbers take their place, which is
        // 0.93 of the time. What has to be read is read in longer pieces.
        constexpr std::size_t first_cache_bytes = std::size_t{16} << 10;
        const std::size_t piece = (stable ? first_cache_bytes : cached_piece_bytes) / converted_bytes();
        for (std::size_t done = 0; done < elements; done += piece) {
            const std::size_t more = (std::min)(piece, elements - done);
            const span<std::byte> memory = numbers.resize(numbers.owner, (done + more) * numbers_per_element_);
            const span<std::byte> place = memory.last(more * converted_bytes());
            if (stable) { // numbers go to the cache, where zeros have just been written
                convert(stable->subspan(done * stored_.size_bytes, more * stored_.size_bytes), place,
                        number_store::cached);
            } else if (result<void> read = convert_in_blocks(done, place, check, number_store::cached); !read) {
                return read;
            }
        }
        return check.finish();
    }

private:
    number_reader(const opened_file& file, const component_record& component, std::size_t number_bytes) noexcept
        : file_(file), component_(component),
          number_bytes_(number_bytes), stored_{*component.dtype, {}, width_bytes(*component.dtype), 1, false},
          type_(component.logical_type == plain_type ? std::string_view() : type_name(file.index, component)) {}

    number_reader(const opened_file& file, const weight_blocks& blocks, std::size_t number_bytes) noexcept
        : file_(file), component_(*blocks.data),
          number_bytes_(number_bytes), stored_{dtype::u8, {}, blocks.type->bytes, 1, false}, blocks_(blocks.type),
          block_count_(blocks.count), numbers_per_element_(blocks.type->elements) {}

    /// Of the numbers that one element gives.
    [[nodiscard]] std::size_t converted_bytes() const noexcept { return numbers_per_element_ * number_bytes_; }

    [[nodiscard]] result<void> check_block_count(std::uint64_t found) const {
        return found == block_count_
                   ? result<void>()
                   : fail(errc::size_mismatch, "there are {} blocks, but the shape needs {}", {found, block_count_});
    }

    /// Elements can be converted where they lie: in the host's order, and nothing is to be checked.
    [[nodiscard]] bool converts_in_place(const blob_check& check) const noexcept {
        const bool is_swapped = is_foreign_order(component_) && stored_.size_bytes > 1;
        return !is_swapped && !check.is_wanted() && !holds_bools(component_);
    }

    /// Stored elements where they lie, if they stay as they are and can be converted there; few of a file are read in
    /// less time than it takes to look at a mapping. Errors: what the source says.
    [[nodiscard]] result<std::optional<bytes_view>> find_stable_elements(std::uint64_t first, std::size_t elements,
                                                                         const blob_check& check) const {
        constexpr std::size_t few_bytes = std::size_t{256} << 10;
        const std::size_t bytes = elements * stored_.size_bytes;
        if (!converts_in_place(check) || (bytes < few_bytes && source_access::is_file(*file_.source))) {
            return std::optional<bytes_view>();
        }
        return source_access::find_stable_range(*file_.source, component_.offset + first * stored_.size_bytes, bytes);
    }

    /// As convert_raw(), read into memory of our own in blocks.
    [[nodiscard]] result<void> convert_in_blocks(std::uint64_t first, span<std::byte> numbers, blob_check& check,
                                                 number_store store) const {
        const std::size_t block_elements = cached_piece_bytes / stored_.size_bytes;
        const std::size_t count = numbers.size() / converted_bytes();
        thread_memory memory;
        if (!memory.reserve((std::min)(block_elements, count) * stored_.size_bytes)) {
            return fail(errc::out_of_memory, "no memory for a block of elements");
        }
        for (std::size_t done = 0; done < count; done += block_elements) {
            const std::size_t elements = (std::min)(block_elements, count - done);
            const span<std::byte> block = memory.first(elements * stored_.size_bytes);
            const std::uint64_t from = (first + done) * stored_.size_bytes;
            ZTENSOR_TRY(read_checked(file_, component_, from, block, check));
            ZTENSOR_TRY(to_host(block, first + done));
            convert(block, numbers.subspan(done * converted_bytes(), elements * converted_bytes()), store);
        }
        return {};
    }

    /// `first` is the position of the first of them in the tensor.
    [[nodiscard]] result<void> to_host(span<std::byte> elements, std::uint64_t first) const {
        to_host_order(component_, stored_, elements);
        return holds_bools(component_) ? normalise_bools(component_, elements, first) : result<void>();
    }

    void convert(bytes_view elements, span<std::byte> numbers, number_store store) const noexcept {
        if (blocks_ == nullptr) {
            return convert_single(elements, numbers, store);
        }
        if (number_bytes_ == sizeof(float)) {
            return dequantize(blocks_->id, elements, as_writable_elements<float>(numbers));
        }
        dequantize(blocks_->id, elements, as_writable_elements<double>(numbers));
    }
    void convert_single(bytes_view elements, span<std::byte> numbers, number_store store) const noexcept {
        static_cast<void>(
            convert_elements(elements, *component_.dtype, type_, numbers, number_bytes_, store)); // checked
    }

    const opened_file& file_;
    const component_record& component_;
    std::size_t number_bytes_;
    element_request stored_;
    std::string_view type_;                   ///< logical, if it is more than the storage type
    const ggml_block_type* blocks_ = nullptr; ///< null: the elements are single numbers
    std::uint64_t block_count_ = 0;           ///< that the shape needs
    std::size_t numbers_per_element_ = 1;
};

/// All elements, converted to floats or doubles. Errors: those of the reader; as component_view::read_as().
[[nodiscard]] inline result<void> read_numbers(const result<number_reader>& reader, element_memory numbers) {
    return reader ? reader->read_all(numbers) : reader.error();
}

/// The same into the caller's memory, which has room for `room` of them. Errors: size_mismatch for another number of
/// them; as read_numbers.
[[nodiscard]] inline result<void> read_numbers_into(const result<number_reader>& reader, std::size_t room,
                                                    span<std::byte> numbers) {
    if (!reader) {
        return reader.error();
    }
    if (const std::optional<std::uint64_t> count = reader->count()) {
        return *count == room ? reader->read_all(numbers) : wrong_destination(room, *count);
    }
    return reader->read_unsized([&](std::size_t found) {
        return found == room ? result<span<std::byte>>(numbers) : wrong_destination(room, found);
    });
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
