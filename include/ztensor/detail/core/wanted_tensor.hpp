// SPDX-License-Identifier: MIT
//
// One tensor of a load_plan as it was asked for.
#ifndef ZTENSOR_DETAIL_CORE_WANTED_TENSOR_HPP
#define ZTENSOR_DETAIL_CORE_WANTED_TENSOR_HPP

#include <ztensor/detail/core/elements.hpp>
#include <ztensor/slice.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What a plan was asked for.
struct wanted_tensor {
    enum class part_kind : std::uint8_t { whole, rows, slice };

    std::string name;
    element_request request;      ///< of the destination's elements
    std::size_t number_bytes = 0; ///< not 0: converted to numbers of that size
    span<std::byte> destination;
    part_kind part = part_kind::whole;
    std::vector<index_range> ranges;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
