// SPDX-License-Identifier: MIT
//
// Elements whose types do not have every value. SPEC.md section 4 and section 13.
#ifndef ZTENSOR_DETAIL_WRITE_VALUE_CHECK_HPP
#define ZTENSOR_DETAIL_WRITE_VALUE_CHECK_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// From 1.0 on a bool is 0 or 1. Errors: bad_bool.
[[nodiscard]] inline result<void> check_bools(format_version version, bytes_view bools) {
    const auto found = std::find_if(bools.begin(), bools.end(), [](std::byte byte) { return byte > std::byte{1}; });
    if (version == format_version::v0_1 || found == bools.end()) {
        return {};
    }
    return fail(errc::bad_bool, "element {} is a bool stored as {}, neither 0 nor 1",
                {found - bools.begin(), std::to_integer<unsigned>(*found)});
}

/// Elements of these types, `elements` of them, where that is known and `bytes` end with the last one.
/// Errors: bad_bool, bad_padding.
[[nodiscard]] inline result<void> check_values(format_version version, dtype storage,
                                               const std::optional<std::string_view>& type, bytes_view bytes,
                                               std::optional<std::uint64_t> elements) {
    const bool has_types_of_2 = version == format_version::v2 && storage == dtype::u8 && type;
    if (storage == dtype::boolean || (has_types_of_2 && *type == "bool")) {
        return check_bools(version, bytes);
    }
    const bool ends_in_half = has_types_of_2 && *type == "f4_e2m1" && elements.value_or(0) % 2 != 0;
    if (ends_in_half && bytes.size() != 0 && std::to_integer<unsigned>(bytes[bytes.size() - 1]) >> 4 != 0) {
        return fail(errc::bad_padding, "the four bits behind the last element are not zero");
    }
    return {};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
