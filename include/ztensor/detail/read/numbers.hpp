// SPDX-License-Identifier: MIT
//
// Elements of one component as floating-point numbers, converted block by block on their way into memory. SPEC.md §4.5.
#ifndef ZTENSOR_DETAIL_READ_NUMBERS_HPP
#define ZTENSOR_DETAIL_READ_NUMBERS_HPP

#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/elements.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/read/call_budget.hpp>
#include <ztensor/detail/read/convert.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/read/elements.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/detail/read/thread_memory.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Numbers of `number_bytes` each, floats or doubles, made from the elements of one component.
class number_reader {
public:
    /// Errors: unknown_dtype, unsupported_type, type_mismatch, unsupported_encoding, size_mismatch, limit_exceeded.
    [[nodiscard]] static result<number_reader> make(const opened_file& file, const component_record& component,
                                                    std::size_t number_bytes) {
        if (!component.dtype) {
            return unknown_dtype(file, component);
        }
        const number_reader made(file, component, number_bytes);
        const result<std::optional<std::uint64_t>> count = count_loadable_elements(file, component, made.stored_);
        if (!count) {
            return count.error();
        }
        if (component.logical_type == unknown_type) {
            return fail(errc::unsupported_type, "numbers of the logical type {} are unknown to this library",
                        {in_quotes(type_name(file.index, component))});
        }
        if (packed_elements(component) != 1) { // which packed.hpp reads
            return fail(errc::unsupported_type, "elements of the logical type {} share bytes: use read_as()",
                        {in_quotes(type_name(file.index, component))});
        }
        if (result<void> convertible = check_convertible(*component.dtype, made.type_); !convertible) {
            return std::move(convertible).error();
        }
        return made;
    }

    /// How many there are; nothing if only decoding tells.
    [[nodiscard]] std::optional<std::uint64_t> count() const noexcept {
        const std::optional<std::uint64_t> bytes = component_.decoded_length();
        return bytes ? std::optional(*bytes / stored_.size_bytes) : std::nullopt;
    }

    /// Raw data can be converted in parts.
    [[nodiscard]] bool is_raw() const noexcept { return component_.encoding == encoding::raw; }

    /// Numbers of raw data, from the `first` on, as many as `numbers` holds; `check` takes in what they are made of.
    [[nodiscard]] result<void> convert_raw(std::uint64_t first, span<std::byte> numbers, blob_check& check) const {
        const std::size_t block_elements = cached_piece_bytes / stored_.size_bytes;
        const std::size_t count = numbers.size() / number_bytes_;
        const std::optional<bytes_view> stable = stable_source(check);
        if (stable) {
            if (result<void> unchanged = file_.source->check_unchanged(); !unchanged) {
                return unchanged;
            }
        }
        thread_memory memory;
        if (!stable && !memory.reserve(std::min(block_elements, count) * stored_.size_bytes)) {
            return fail(errc::out_of_memory, "no memory for a block of elements");
        }
        for (std::size_t done = 0; done < count; done += block_elements) {
            const std::size_t elements = std::min(block_elements, count - done);
            const std::uint64_t from = (first + done) * stored_.size_bytes;
            const std::size_t bytes = elements * stored_.size_bytes;
            bytes_view block;
            if (stable) {
                block = stable->subspan(static_cast<std::size_t>(from), bytes);
            } else {
                if (result<void> read = read_checked(file_, component_, from, memory.first(bytes), check); !read) {
                    return read;
                }
                if (result<void> valid = to_host(memory.first(bytes), first + done); !valid) {
                    return valid;
                }
                block = memory.first(bytes);
            }
            convert(block, numbers.subspan(done * number_bytes_, elements * number_bytes_));
        }
        return {};
    }

    /// All of them from the stored elements, in memory of our own, which are brought into the host's order there. The
    /// elements may be the end of `numbers`, if they are no wider.
    [[nodiscard]] result<void> convert_stored(span<std::byte> elements, span<std::byte> numbers) const {
        result<void> valid = to_host(elements, 0);
        if (valid) {
            convert(elements, numbers);
        }
        return valid;
    }

    /// All of them into `numbers`, which has room for count(). What is compressed is decoded into its end and converted
    /// from there, where stored elements are no wider than the numbers; else into memory of its own.
    [[nodiscard]] result<void> read_all(span<std::byte> numbers) const {
        if (is_raw()) {
            blob_check check(file_, component_);
            result<void> converted = convert_raw(0, numbers, check);
            return converted ? check.finish() : converted;
        }
        const std::size_t stored_bytes = numbers.size() / number_bytes_ * stored_.size_bytes;
        byte_buffer apart;
        if (stored_.size_bytes > number_bytes_ && !apart.allocate(stored_bytes)) {
            return fail(errc::out_of_memory, "no memory for a component of {} bytes", {stored_bytes});
        }
        const span<std::byte> elements = apart.is_allocated() ? apart.writable_bytes() : numbers.last(stored_bytes);
        result<void> done = decode(file_, component_, elements);
        return done ? convert_stored(elements, numbers) : done;
    }

    /// All of them where only decoding tells how many there are, into the memory that `make(count) →
    /// result<span<std::byte>>` gives.
    template <class Make>
    [[nodiscard]] result<void> read_unsized(Make&& make) const {
        byte_buffer decoded;
        const result<span<std::byte>> whole = decode_whole(file_, component_, decoded);
        if (!whole) {
            return whole.error();
        }
        if (result<void> fits = check_whole_elements(whole->size(), stored_.size_bytes); !fits) {
            return fits;
        }
        if (result<void> valid = to_host(*whole, 0); !valid) {
            return valid;
        }
        const result<span<std::byte>> memory = make(whole->size() / stored_.size_bytes);
        if (!memory) {
            return memory.error();
        }
        convert(*whole, *memory);
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
        if (result<void> allowed = budget.take(*known, number_bytes_); !allowed) {
            return allowed;
        }
        const auto total = static_cast<std::size_t>(*known);
        if (!is_raw() || numbers.reserve == nullptr) {
            return read_all(numbers.resize(numbers.owner, total));
        }
        advise_large_memory(numbers.reserve(numbers.owner, total), total * number_bytes_);
        blob_check check(file_, component_);
        const std::size_t piece = cached_piece_bytes / number_bytes_;
        for (std::size_t done = 0; done < total; done += piece) {
            const std::size_t more = std::min(piece, total - done);
            const span<std::byte> memory = numbers.resize(numbers.owner, done + more);
            if (result<void> read = convert_raw(done, memory.last(more * number_bytes_), check); !read) {
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

    /// The blob where it lies, if its bytes can be converted there: each is looked at once and any value will do.
    [[nodiscard]] std::optional<bytes_view> stable_source(const blob_check& check) const noexcept {
        const bool is_swapped = is_foreign_order(component_) && stored_.size_bytes > 1;
        const bool is_checked = check.is_wanted() || holds_bools(component_);
        return is_swapped || is_checked ? std::nullopt : stable_blob(file_, component_);
    }

    /// `first` is the position of the first of them in the tensor.
    [[nodiscard]] result<void> to_host(span<std::byte> elements, std::uint64_t first) const {
        to_host_order(component_, stored_, elements);
        return holds_bools(component_) ? normalise_bools(component_, elements, first) : result<void>();
    }

    void convert(bytes_view elements, span<std::byte> numbers) const noexcept {
        static_cast<void>(convert_elements(elements, *component_.dtype, type_, numbers, number_bytes_)); // checked
    }

    const opened_file& file_;
    const component_record& component_;
    std::size_t number_bytes_;
    element_request stored_;
    std::string_view type_; ///< logical, if it is more than the storage type
};

/// All elements, converted to floats or doubles. Errors: as component_view::read_as().
[[nodiscard]] inline result<void> read_numbers(const opened_file& file, const component_record& component,
                                               std::size_t number_bytes, element_memory numbers) {
    const result<number_reader> reader = number_reader::make(file, component, number_bytes);
    return reader ? reader->read_all(numbers) : reader.error();
}

/// The same into the caller's memory. Errors: size_mismatch for another number of them; as read_numbers.
[[nodiscard]] inline result<void> read_numbers_into(const opened_file& file, const component_record& component,
                                                    std::size_t number_bytes, span<std::byte> numbers) {
    const result<number_reader> reader = number_reader::make(file, component, number_bytes);
    if (!reader) {
        return reader.error();
    }
    const std::size_t room = numbers.size() / number_bytes;
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
