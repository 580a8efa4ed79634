// SPDX-License-Identifier: MIT
//
// Elements of four bits, two to a byte with the first in the low half: how many there are, and their values.
// SPEC.md section 13.5.
#ifndef ZTENSOR_DETAIL_READ_PACKED_HPP
#define ZTENSOR_DETAIL_READ_PACKED_HPP

#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/elements.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/read/call_budget.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/read/elements.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The values of f4_e2m1, by their four bits.
inline constexpr float float4_values[16] = {0.0F,  0.5F,  1.0F,  1.5F,  2.0F,  3.0F,  4.0F,  6.0F,
                                            -0.0F, -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F};

[[nodiscard]] inline unsigned nibble_at(bytes_view packed, std::uint64_t position) noexcept {
    return std::to_integer<unsigned>(packed[static_cast<std::size_t>(position / 2)]) >> (position % 2 * 4) & 15;
}

/// How many elements the index part of a sparse object of version 2 counts.
[[nodiscard]] inline std::optional<std::uint64_t> count_entries(const manifest& index, const object_record& object,
                                                                std::string_view role, std::uint64_t of_each) noexcept {
    const component_record* const indices = find_component(index, object, role);
    const std::optional<std::uint64_t> bytes = indices != nullptr ? indices->decoded_length() : std::nullopt;
    return bytes ? std::optional(*bytes / (width_bytes(*indices->dtype) * of_each)) : std::nullopt;
}

/// How many elements a part of version 2 holds, where its layout says so.
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
                                                const component_record& part, std::uint64_t bytes) noexcept {
    return stated_elements(index, object, part).value_or(bytes * packed_elements(part));
}

/// Nothing stands behind the last of an odd number of elements. Errors: size_mismatch, bad_padding.
[[nodiscard]] inline result<void> check_packed(bytes_view packed, std::uint64_t count) {
    if (packed.size() != count / 2 + count % 2) {
        return fail(errc::size_mismatch, "{} bytes don't hold {} packed elements", {packed.size(), count});
    }
    if (count % 2 != 0 && nibble_at(packed, count) != 0) {
        return fail(errc::bad_padding, "the bits behind the last of {} packed elements are not zero", {count});
    }
    return {};
}

template <class To>
void expand_packed(bytes_view packed, span<To> numbers) noexcept {
    std::size_t position = 0;
    for (To& each : numbers) {
        each = static_cast<To>(float4_values[nibble_at(packed, position++)]);
    }
}

/// All elements as floats or doubles, into the memory that `make(count) -> result<span<std::byte>>` gives.
template <class Make>
[[nodiscard]] result<void> read_packed_numbers(const opened_file& file, const object_record& object,
                                               const component_record& component, std::size_t number_bytes,
                                               Make&& make) {
    byte_buffer memory;
    const result<span<std::byte>> packed = decode_whole(file, component, memory);
    if (!packed) {
        return packed.error();
    }
    const std::uint64_t count = count_packed(file.index, object, component, packed->size());
    if (result<void> valid = check_packed(*packed, count); !valid) {
        return valid;
    }
    const result<span<std::byte>> numbers = make(static_cast<std::size_t>(count));
    if (!numbers) {
        return numbers.error();
    }
    if (number_bytes == sizeof(float)) {
        expand_packed(*packed, as_writable_elements<float>(*numbers));
    } else {
        expand_packed(*packed, as_writable_elements<double>(*numbers));
    }
    return {};
}

[[nodiscard]] inline result<void> read_packed_numbers(const opened_file& file, const object_record& object,
                                                      const component_record& component, std::size_t number_bytes,
                                                      element_memory numbers) {
    return read_packed_numbers(
        file, object, component, number_bytes, [&](std::size_t count) -> result<span<std::byte>> {
            call_budget budget(file.options);
            result<void> allowed = budget.take(count, number_bytes);
            return allowed ? result<span<std::byte>>(numbers.resize(numbers.owner, count)) : std::move(allowed).error();
        });
}

[[nodiscard]] inline result<void> read_packed_numbers_into(const opened_file& file, const object_record& object,
                                                           const component_record& component, std::size_t number_bytes,
                                                           span<std::byte> numbers) {
    const std::size_t room = numbers.size() / number_bytes;
    return read_packed_numbers(file, object, component, number_bytes, [&](std::size_t count) {
        return count == room ? result<span<std::byte>>(numbers) : wrong_destination(room, count);
    });
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
