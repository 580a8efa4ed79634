// SPDX-License-Identifier: MIT
//
// Sorting what seldom needs it. std::sort is compiled anew for every order it is given, at 0.06 s each; this is
// compiled once, and calls the order.
#ifndef ZTENSOR_DETAIL_CORE_SORT_HPP
#define ZTENSOR_DETAIL_CORE_SORT_HPP

#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct position_order {
    bool (*is_less)(const void* context, std::uint32_t a, std::uint32_t b);
    const void* context;
};

/// Heap sort: small, in place, and never worse than n log n.
ZTENSOR_COLD inline void sort_in_order(span<std::uint32_t> positions, position_order order) {
    const auto sift_down = [&](std::size_t parent, std::size_t count) {
        for (std::size_t child = 2 * parent + 1; child < count; child = 2 * parent + 1) {
            if (child + 1 < count && order.is_less(order.context, positions[child], positions[child + 1])) {
                ++child;
            }
            if (!order.is_less(order.context, positions[parent], positions[child])) {
                return;
            }
            std::swap(positions[parent], positions[child]);
            parent = child;
        }
    };
    for (std::size_t i = positions.size() / 2; i-- > 0;) {
        sift_down(i, positions.size());
    }
    for (std::size_t count = positions.size(); count > 1; --count) {
        std::swap(positions[0], positions[count - 1]);
        sift_down(0, count - 1);
    }
}

/// Sorts positions by what stands there: `less(a, b)` says whether what stands at a comes before what stands at b.
template <class Less>
void sort_positions(span<std::uint32_t> positions, const Less& less) {
    const auto is_less = [](const void* context, std::uint32_t a, std::uint32_t b) {
        return static_cast<bool>((*static_cast<const Less*>(context))(a, b));
    };
    sort_in_order(positions, {is_less, &less});
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
