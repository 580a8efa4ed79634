// SPDX-License-Identifier: MIT
//
// Components whose elements share bytes: how many there are, and all of them as numbers. SPEC.md section 13.5.
#ifndef ZTENSOR_DETAIL_READ_PACKED_HPP
#define ZTENSOR_DETAIL_READ_PACKED_HPP

#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/elements.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/read/call_budget.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/read/elements.hpp>
#include <ztensor/detail/read/narrow.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What of `narrow_types` the elements of a component are; nullptr for elements of whole bytes.
[[nodiscard]] inline const narrow_type_facts* find_narrow_type(const manifest& index,
                                                               const component_record& component) noexcept {
    const bool has_type = component.dtype == dtype::u8 && component.logical_type != plain_type;
    return has_type ? ztensor::find_narrow_type(type_name(index, component)) : nullptr;
}

/// Whether the bits behind the last element must be zero, as version 2 has it of its own type.
[[nodiscard]] inline bool has_checked_padding(const component_record& component) noexcept {
    return packed_elements(component) != 1;
}

/// How many elements the index part of a sparse object of version 2 counts.
[[nodiscard]] inline std::optional<std::uint64_t> count_entries(const manifest& index, const object_record& object,
                                                                std::string_view role, std::uint64_t of_each) noexcept {
    const component_record* const indices = find_component(index, object, role);
    const bool is_known = indices != nullptr && indices->dtype && of_each != 0;
    const std::optional<std::uint64_t> bytes = is_known ? indices->decoded_length() : std::nullopt;
    return bytes ? std::optional(*bytes / (width_bytes(*indices->dtype) * of_each)) : std::nullopt;
}

/// How many elements a part holds, where its layout says so.
[[nodiscard]] inline std::optional<std::uint64_t> stated_elements(const manifest& index, const object_record& object,
                                                                  const component_record& part) noexcept {
    const std::string_view role = role_name(index, part);
    if (role == "data" && (object.format == format::dense || object.format == format::mx)) {
        return index.element_count_of(object);
    }
    if (role == "values" && object.format == format::sparse_csr) {
        return count_entries(index, object, "indices", 1);
    }
    if (role == "values" && object.format == format::sparse_coo) {
        return count_entries(index, object, "coords", index.shape_of(object).rank());
    }
    return std::nullopt;
}

/// The same of packed elements; all that there is room for, where nobody says how many.
[[nodiscard]] inline std::uint64_t count_packed(const manifest& index, const object_record& object,
                                                const component_record& part, const narrow_type_facts& type,
                                                std::uint64_t bytes) noexcept {
    return stated_elements(index, object, part).value_or(narrow_in_bytes(type, bytes));
}

/// Errors: size_mismatch.
[[nodiscard]] inline result<void> check_packed_size(const narrow_type_facts& type, std::uint64_t bytes,
                                                    std::uint64_t count) {
    return bytes == bytes_of_narrow(type, count)
               ? result<void>()
               : fail(errc::size_mismatch, "{} bytes don't hold {} packed elements", {bytes, count});
}

/// Nothing stands behind the last of `count` elements, where that is not to be. Errors: size_mismatch, bad_padding.
[[nodiscard]] inline result<void> check_packed(const component_record& part, const narrow_type_facts& type,
                                               bytes_view packed, std::uint64_t count) {
    ZTENSOR_TRY(check_packed_size(type, packed.size(), count));
    const bool has_padding = count < narrow_in_bytes(type, packed.size());
    if (has_checked_padding(part) && has_padding && pattern_at(type, packed, count) != 0) {
        return fail(errc::bad_padding, "the bits behind the last of {} packed elements are not zero", {count});
    }
    return {};
}

/// All elements as floats or doubles, into the memory that `make(count) -> result<span<std::byte>>` gives.
template <class Make>
[[nodiscard]] result<void> read_packed_numbers(const opened_file& file, const object_record& object,
                                               const component_record& component, const narrow_type_facts& type,
                                               std::size_t number_bytes, Make&& make) {
    byte_buffer memory;
    ZTENSOR_TRY_ASSIGN(const span<std::byte> packed, decode_whole(file, component, memory));
    const std::uint64_t count = count_packed(file.index, object, component, type, packed.size());
    ZTENSOR_TRY(check_packed(component, type, packed, count));
    ZTENSOR_TRY_ASSIGN(const span<std::byte> numbers, make(static_cast<std::size_t>(count)));
    if (number_bytes == sizeof(float)) {
        expand_narrow(type, packed, as_writable_elements<float>(numbers));
    } else {
        expand_narrow(type, packed, as_writable_elements<double>(numbers));
    }
    return {};
}

[[nodiscard]] inline result<void> read_packed_numbers(const opened_file& file, const object_record& object,
                                                      const component_record& component, const narrow_type_facts& type,
                                                      std::size_t number_bytes, element_memory numbers) {
    return read_packed_numbers(
        file, object, component, type, number_bytes, [&](std::size_t count) -> result<span<std::byte>> {
            call_budget budget(file.options);
            result<void> allowed = budget.take(count, number_bytes);
            return allowed ? result<span<std::byte>>(numbers.resize(numbers.owner, count)) : std::move(allowed).error();
        });
}

[[nodiscard]] inline result<void> read_packed_numbers_into(const opened_file& file, const object_record& object,
                                                           const component_record& component,
                                                           const narrow_type_facts& type, std::size_t number_bytes,
                                                           span<std::byte> numbers) {
    const std::size_t room = numbers.size() / number_bytes;
    return read_packed_numbers(file, object, component, type, number_bytes, [&](std::size_t count) {
        return count == room ? result<span<std::byte>>(numbers) : wrong_destination(room, count);
    });
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
