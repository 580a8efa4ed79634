// SPDX-License-Identifier: MIT
//
// The standard's everyday types, which inner code names without their namespace, as it does its own span and result.
#ifndef ZTENSOR_DETAIL_BASE_TYPES_HPP
#define ZTENSOR_DETAIL_BASE_TYPES_HPP

#include <ztensor/version.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

using std::byte, std::size_t, std::optional, std::string, std::string_view, std::vector;
using std::int16_t, std::int32_t, std::int64_t, std::int8_t;
using std::uint16_t, std::uint32_t, std::uint64_t, std::uint8_t;

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
