// SPDX-License-Identifier: MIT
//
// A component's words, and the ways to its elements. Defines what component_view.hpp declares. SPEC.md §3.4, §4, §6.
#ifndef ZTENSOR_DETAIL_READ_COMPONENT_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_COMPONENT_DEFINITIONS_HPP

#include <ztensor/component_view.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/guard_memory.hpp>
#include <ztensor/detail/core/stored_component.hpp>
#include <ztensor/detail/read/convert.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/read/elements.hpp>
#include <ztensor/detail/read/opened_file.hpp>

#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// For the rooms that must know whose component it is.
struct component_access {
    [[nodiscard]] static const opened_file& file_of(const component_view& component) noexcept {
        return *component.file_;
    }
    [[nodiscard]] static const component_record& record_of(const component_view& component) noexcept {
        return *component.record_;
    }
    [[nodiscard]] static std::string_view object_of(const component_view& component) noexcept {
        return component.file_->index.text(component.object_->name);
    }
};

ZTENSOR_INLINE stored_component describe_stored(const component_view& component) noexcept {
    const opened_file& file = component_access::file_of(component);
    stored_component stored;
    stored.source = file.source.get();
    stored.offset = component.offset();
    stored.length = component.stored_bytes();
    stored.dtype = component.dtype_name();
    stored.type = component.type();
    stored.has_type = component.has_type();
    stored.encoding = component.encoding_name();
    stored.digest = component.digest();
    stored.has_digest = component.has_digest();
    stored.decoded_bytes = component.decoded_bytes();
    stored.uncompressed_length = component.uncompressed_length();
    stored.generation = component.generation();
    stored.is_raw = component.encoding() == encoding::raw;
    stored.is_big_endian = component.is_big_endian();
    stored.path = file.path;
    stored.object = component_access::object_of(component);
    stored.role = component.role();
    return stored;
}

/// All elements, into memory that is made when their number is known.
[[nodiscard]] inline result<void> read_elements(const opened_file& file, const component_record& component,
                                                const element_request& request, element_memory elements) {
    const result<std::optional<std::uint64_t>> count = count_loadable_elements(file, component, request);
    if (!count) {
        return count.error();
    }
    span<std::byte> memory;
    if (*count) {
        memory = elements.resize(elements.owner, static_cast<std::size_t>(**count));
        if (result<void> decoded = decode(file, component, memory); !decoded) {
            return decoded;
        }
    } else { // only decoding tells
        byte_buffer decoded;
        const result<span<std::byte>> whole = decode_whole(file, component, decoded);
        if (!whole) {
            return whole.error();
        }
        if (result<void> fits = check_whole_elements(whole->size(), request.size_bytes); !fits) {
            return fits;
        }
        memory = elements.resize(elements.owner, whole->size() / request.size_bytes);
        if (!memory.empty()) {
            std::memcpy(memory.data(), whole->data(), memory.size());
        }
    }
    to_host_order(component, request, memory);
    return request.is_bool ? normalise_bools(component, memory) : result<void>();
}

/// All elements, into the caller's memory.
[[nodiscard]] inline result<void> read_elements_into(const opened_file& file, const component_record& component,
                                                     const element_request& request, span<std::byte> destination) {
    const result<std::optional<std::uint64_t>> count = count_loadable_elements(file, component, request);
    if (!count) {
        return count.error();
    }
    const std::size_t room = destination.size() / request.size_bytes;
    if (*count && **count != room) {
        return wrong_destination(room, **count);
    }
    result<void> decoded = decode(file, component, destination);
    if (decoded) {
        to_host_order(component, request, destination);
    }
    if (decoded && request.is_bool) {
        decoded = normalise_bools(component, destination);
    }
    if (!decoded && request.is_bool && !destination.empty()) { // no byte but 0 and 1 must stay behind in bools
        std::memset(destination.data(), 0, destination.size());
    }
    return decoded;
}

/// The elements of parts [first, last) of `parts` equal ones; of raw data reading no others.
[[nodiscard]] inline result<void> read_elements_of_part(const opened_file& file, const component_record& component,
                                                        const element_request& request, std::uint64_t first,
                                                        std::uint64_t last, std::uint64_t parts,
                                                        element_memory elements) {
    const result<std::optional<std::uint64_t>> count = count_elements(file, component, request);
    if (!count) {
        return count.error();
    }
    span<std::byte> memory;
    if (component.encoding == encoding::raw) {
        const result<element_range> part = part_of(**count, first, last, parts);
        if (!part) {
            return part.error();
        }
        const std::uint64_t part_bytes = (part->end - part->begin) * request.size_bytes;
        if (result<void> allowed = check_memory_limit(part_bytes, file.options); !allowed) {
            return allowed;
        }
        memory = elements.resize(elements.owner, static_cast<std::size_t>(part->end - part->begin));
        const std::uint64_t offset = component.offset + part->begin * request.size_bytes;
        if (result<void> read = file.source->read_at(offset, memory); !read) {
            return read;
        }
    } else {
        byte_buffer decoded;
        const result<span<std::byte>> whole = decode_whole(file, component, decoded);
        if (!whole) {
            return whole.error();
        }
        if (result<void> fits = check_whole_elements(whole->size(), request.size_bytes); !fits) {
            return fits;
        }
        const result<element_range> part = part_of(whole->size() / request.size_bytes, first, last, parts);
        if (!part) {
            return part.error();
        }
        memory = elements.resize(elements.owner, static_cast<std::size_t>(part->end - part->begin));
        if (!memory.empty()) {
            std::memcpy(memory.data(), whole->data() + part->begin * request.size_bytes, memory.size());
        }
    }
    to_host_order(component, request, memory);
    return request.is_bool ? normalise_bools(component, memory) : result<void>();
}

/// All elements, converted to floats or doubles. Errors: as component_view::read_as().
[[nodiscard]] inline result<void> read_numbers(const opened_file& file, const component_record& component,
                                               std::size_t number_bytes, element_memory numbers) {
    if (!component.dtype) {
        return unknown_dtype(file, component);
    }
    const element_request stored = {*component.dtype, {}, width_bytes(*component.dtype), 1, false};
    if (result<void> valid = check_element_type(file, component, stored); !valid) {
        return valid;
    }
    const std::string_view type = type_name(file.index, component);
    if (component.logical_type == unknown_type) {
        return fail(errc::unsupported_type, "numbers of the logical type {} are unknown to this library",
                    {in_quotes(type)});
    }
    byte_buffer decoded;
    const result<span<std::byte>> whole = decode_whole(file, component, decoded);
    if (!whole) {
        return whole.error();
    }
    to_host_order(component, stored, *whole);
    if (component.dtype == dtype::boolean) {
        if (result<void> valid = normalise_bools(component, *whole); !valid) {
            return valid;
        }
    }
    const span<std::byte> memory = numbers.resize(numbers.owner, whole->size() / stored.size_bytes);
    return convert_elements(*whole, *component.dtype, component.logical_type == plain_type ? std::string_view() : type,
                            memory, number_bytes);
}

} // namespace detail

ZTENSOR_INLINE std::string_view component_view::role() const noexcept {
    return detail::role_name(file_->index, *record_);
}
ZTENSOR_INLINE std::optional<ztensor::dtype> component_view::dtype() const noexcept {
    return record_->dtype;
}
ZTENSOR_INLINE std::string_view component_view::dtype_name() const noexcept {
    return detail::dtype_name(file_->index, *record_);
}
ZTENSOR_INLINE std::string_view component_view::original_dtype() const noexcept {
    if (!record_->dtype_word.is_present() && record_->dtype) {
        return facts(*record_->dtype).long_name; // indices of 1.0, which state none
    }
    return file_->index.text(record_->dtype_word);
}
ZTENSOR_INLINE std::string_view component_view::type() const noexcept {
    return detail::type_name(file_->index, *record_);
}
ZTENSOR_INLINE bool component_view::has_type() const noexcept {
    return record_->type_word.is_present() || record_->logical_type < logical_types.size();
}
ZTENSOR_INLINE bool component_view::has_unknown_type() const noexcept {
    return record_->logical_type == detail::unknown_type;
}
ZTENSOR_INLINE std::string_view component_view::encoding_name() const noexcept {
    return record_->encoding ? name(*record_->encoding) : file_->index.text(record_->encoding_word);
}
ZTENSOR_INLINE std::optional<ztensor::encoding> component_view::encoding() const noexcept {
    return record_->encoding;
}
ZTENSOR_INLINE std::uint64_t component_view::offset() const noexcept {
    return record_->offset;
}
ZTENSOR_INLINE std::uint64_t component_view::stored_bytes() const noexcept {
    return record_->length;
}
ZTENSOR_INLINE std::optional<std::uint64_t> component_view::decoded_bytes() const noexcept {
    return record_->decoded_length();
}
ZTENSOR_INLINE std::optional<std::uint64_t> component_view::uncompressed_length() const noexcept {
    return record_->states_uncompressed_length ? std::optional(record_->uncompressed_length) : std::nullopt;
}
ZTENSOR_INLINE bool component_view::has_digest() const noexcept {
    return record_->digest_text.is_present();
}
ZTENSOR_INLINE std::string_view component_view::digest() const noexcept {
    return file_->index.text(record_->digest_text);
}
ZTENSOR_INLINE ztensor::generation component_view::generation() const noexcept {
    return file_->index.generation;
}
ZTENSOR_INLINE bool component_view::is_big_endian() const noexcept {
    return record_->is_big_endian;
}

ZTENSOR_COLD ZTENSOR_INLINE error component_view::located(error why) const noexcept {
    return std::move(why).in_file(file_->path).in_object(file_->index.text(object_->name)).in_component(role());
}

ZTENSOR_INLINE result<void> component_view::check_type(const detail::element_request& request) const {
    result<void> valid = detail::check_element_type(*file_, *record_, request);
    return valid ? valid : located(std::move(valid).error());
}

ZTENSOR_INLINE result<bytes_view> component_view::bytes() const {
    if (const std::optional<bytes_view> blob = detail::mapped_blob(*file_, *record_)) {
        return *blob;
    }
    return located(detail::fail(errc::not_viewable, "the file is not mapped, so its bytes can't be borrowed"));
}

ZTENSOR_INLINE result<void> component_view::read_stored_into(span<std::byte> destination, std::uint64_t from) const {
    result<void> read = detail::guard_memory([&]() -> result<void> {
        if (!detail::fits(from, destination.size(), record_->length)) {
            return detail::fail(errc::out_of_bounds, "{} bytes from byte {} of a blob of {} were asked for",
                                {destination.size(), from, record_->length});
        }
        return file_->source->read_at(record_->offset + from, destination);
    });
    return read ? read : located(std::move(read).error());
}

ZTENSOR_INLINE result<bytes_view> component_view::view_elements(const detail::element_request& request) const {
    result<bytes_view> elements = detail::view_elements(*file_, *record_, request);
    return elements ? elements : located(std::move(elements).error());
}

ZTENSOR_INLINE result<void> component_view::read_elements(const detail::element_request& request,
                                                          detail::element_memory elements) const {
    result<void> read =
        detail::guard_memory([&] { return detail::read_elements(*file_, *record_, request, elements); });
    return read ? read : located(std::move(read).error());
}

ZTENSOR_INLINE result<void> component_view::read_elements_into(const detail::element_request& request,
                                                               span<std::byte> destination) const {
    result<void> read =
        detail::guard_memory([&] { return detail::read_elements_into(*file_, *record_, request, destination); });
    return read ? read : located(std::move(read).error());
}

ZTENSOR_INLINE result<void> component_view::read_elements_of_part(const detail::element_request& request,
                                                                  std::uint64_t first, std::uint64_t last,
                                                                  std::uint64_t parts,
                                                                  detail::element_memory elements) const {
    result<void> read = detail::guard_memory(
        [&] { return detail::read_elements_of_part(*file_, *record_, request, first, last, parts, elements); });
    return read ? read : located(std::move(read).error());
}

ZTENSOR_INLINE result<void> component_view::read_numbers(std::size_t number_bytes,
                                                         detail::element_memory numbers) const {
    result<void> read =
        detail::guard_memory([&] { return detail::read_numbers(*file_, *record_, number_bytes, numbers); });
    return read ? read : located(std::move(read).error());
}

ZTENSOR_INLINE bool component_view::holds_floats() const noexcept {
    if (!record_->dtype) {
        return true; // refused, whatever it is read as
    }
    const dtype_class category = facts(*record_->dtype).category;
    const std::size_t width = width_bytes(*record_->dtype);
    return category == dtype_class::floating ? width <= 4 : width <= 2;
}

ZTENSOR_INLINE result<std::vector<std::byte>> component_view::read_little_endian() const {
    if (!record_->is_big_endian) {
        return read<std::byte>();
    }
    if (!record_->dtype) {
        return located(detail::unknown_dtype(*file_, *record_));
    }
    const std::size_t width = width_bytes(*record_->dtype);
    if (result<void> valid = check_type({*record_->dtype, {}, width, 1, false}); !valid) {
        return std::move(valid).error();
    }
    result<std::vector<std::byte>> decoded = read<std::byte>();
    if (decoded) {
        detail::swap_elements(*decoded, width);
    }
    return decoded;
}

ZTENSOR_INLINE result<digest_state> component_view::verify() const {
    result<digest_state> state = detail::guard_memory([&] { return detail::verify_digest(*file_, *record_); });
    return state ? state : located(std::move(state).error());
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
