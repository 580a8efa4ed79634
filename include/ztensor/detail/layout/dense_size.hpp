// SPDX-License-Identifier: MIT
//
// How many bytes a shape takes, and in elements of which type. SPEC.md section 4.3.
#ifndef ZTENSOR_DETAIL_LAYOUT_DENSE_SIZE_HPP
#define ZTENSOR_DETAIL_LAYOUT_DENSE_SIZE_HPP

#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/shape.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Of elements of `element_bytes` each, or nothing where 64 bits don't hold that. A zero among the dimensions hides no
/// overflow of the others, times the width: [2^63, 0] of two bytes is nothing, too.
[[nodiscard]] ZTENSOR_NOINLINE inline std::optional<std::uint64_t> dense_bytes(const shape& dimensions,
                                                                               std::uint64_t element_bytes) noexcept {
    element_counter counter;
    bool is_countable = counter.multiply(element_bytes); // which is not 0
    for (const std::uint64_t dimension : dimensions) {
        is_countable = is_countable && counter.multiply(dimension);
    }
    return is_countable ? std::optional(counter.count()) : std::nullopt;
}

/// In version 2, whose readers multiply from the first dimension on, nothing behind a zero can overflow.
[[nodiscard]] ZTENSOR_COLD inline bool ends_in_zero(const shape& dimensions) noexcept {
    std::optional<std::uint64_t> product = 1;
    for (const std::uint64_t dimension : dimensions) {
        product = product ? checked_multiply(*product, dimension) : product;
    }
    return product == std::uint64_t{0};
}

/// Of a logical type over another storage type than its own.
[[nodiscard]] ZTENSOR_COLD inline error not_stored_as(const logical_type_facts& type, std::string_view found) noexcept {
    return fail(errc::type_mismatch, "the logical type {} is stored as {}, not as {}",
                {in_quotes(type.name), name(type.storage), found});
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
