// SPDX-License-Identifier: MIT
//
// Defines what shape.hpp declares.
#ifndef ZTENSOR_DETAIL_CORE_SHAPE_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_CORE_SHAPE_DEFINITIONS_HPP

#include <ztensor/detail/core/text.hpp>
#include <ztensor/shape.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {

ZTENSOR_COLD ZTENSOR_INLINE std::string to_string(const shape& dimensions) {
    std::string out = "[";
    for (const std::uint64_t dimension : dimensions) {
        out += detail::sentence(out.size() > 1 ? ", {}" : "{}", {dimension});
    }
    return out + "]";
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
