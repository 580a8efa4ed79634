// SPDX-License-Identifier: MIT
//
// Defines what shape.hpp declares.
#ifndef ZTENSOR_DETAIL_BASE_SHAPE_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_BASE_SHAPE_DEFINITIONS_HPP

#include <ztensor/detail/base/text.hpp>
#include <ztensor/shape.hpp>

#include <cstdint>
#include <cstring>
#include <new>

namespace ztensor {
inline namespace ZTENSOR_MODE {

ZTENSOR_COLD ZTENSOR_INLINE void shape::push_far(std::uint64_t dimension) noexcept {
    if (rank_ == max_rank) {
        flaw_ = detail::shape_flaw::too_long;
        return;
    }
    if (rank_ == near_rank) {
        auto* const room = new (std::nothrow) std::uint64_t[max_rank];
        if (room == nullptr) {
            flaw_ = detail::shape_flaw::no_memory;
            return;
        }
        std::memcpy(room, near_, sizeof near_);
        far_ = room;
    }
    far_[rank_++] = dimension;
}

/// Of a copy, which points to what another shape owns.
ZTENSOR_COLD ZTENSOR_INLINE void shape::own_far() noexcept {
    auto* const room = new (std::nothrow) std::uint64_t[max_rank];
    if (room == nullptr) {
        rank_ = 0;
        flaw_ = detail::shape_flaw::no_memory;
        return;
    }
    std::memcpy(room, far_, rank_ * sizeof *room);
    far_ = room;
}

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
