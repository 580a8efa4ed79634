// SPDX-License-Identifier: MIT
//
// Sorting what seldom needs it. std::sort is compiled anew for every order it is given, at 0.06 s each; this is
// compiled once, and calls the order.
#ifndef ZTENSOR_DETAIL_CORE_SORT_HPP
#define ZTENSOR_DETAIL_CORE_SORT_HPP

#include <ztensor/span.hpp>

#include <algorithm>
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

/// Two neighbouring runs that are in order, [begin, middle) and [middle, end), become one.
inline void merge_runs(span<const std::uint32_t> from, std::size_t begin, std::size_t middle, std::size_t end,
                       position_order order, span<std::uint32_t> to) {
    std::size_t left = begin, right = middle;
    for (std::size_t at = begin; at < end; ++at) {
        const bool takes_right =
            right < end && (left == middle || order.is_less(order.context, from[right], from[left]));
        to[at] = from[takes_right ? right++ : left++];
    }
}

/// Merge sort, for very many: with what stands there being looked at in order, mostly, a million names take a third of
/// the time. `scratch` has as many places.
ZTENSOR_COLD inline void sort_in_order(span<std::uint32_t> positions, span<std::uint32_t> scratch,
                                       position_order order) {
    const std::size_t count = positions.size();
    span<std::uint32_t> from = positions, to = scratch;
    for (std::size_t run = 1; run < count; run *= 2) {
        for (std::size_t begin = 0; begin < count; begin += 2 * run) {
            const std::size_t middle = (std::min)(begin + run, count);
            merge_runs(from, begin, middle, (std::min)(middle + run, count), order, to);
        }
        std::swap(from, to);
    }
    if (from.data() != positions.data()) {
        std::copy(from.begin(), from.end(), positions.begin());
    }
}

/// `less(a, b)` says whether what stands at a comes before what stands at b; it must outlive the order.
template <class Less>
[[nodiscard]] position_order order_by(const Less& less) noexcept {
    const auto is_less = [](const void* context, std::uint32_t a, std::uint32_t b) {
        return static_cast<bool>((*static_cast<const Less*>(context))(a, b));
    };
    return {is_less, &less};
}

/// Sorts positions by what stands there.
template <class Less>
void sort_positions(span<std::uint32_t> positions, const Less& less) {
    sort_in_order(positions, order_by(less));
}
template <class Less>
void sort_positions(span<std::uint32_t> positions, span<std::uint32_t> scratch, const Less& less) {
    sort_in_order(positions, scratch, order_by(less));
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
