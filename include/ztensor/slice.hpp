// SPDX-License-Identifier: MIT
//
// Parts of tensors: a range of indices in each dimension.
#ifndef ZTENSOR_SLICE_HPP
#define ZTENSOR_SLICE_HPP

#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// Indices begin, begin + 1, ... up to but not including end.
struct index_range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// One range for each dimension, outermost first, such as {{0, 4}, {8, 16}}. Borrowed, for the length of a call.
class slice {
public:
    slice(std::initializer_list<index_range> ranges) noexcept : ranges_(ranges.begin(), ranges.size()) {}
    slice(span<const index_range> ranges) noexcept : ranges_(ranges) {}

    [[nodiscard]] span<const index_range> ranges() const noexcept { return ranges_; }

private:
    span<const index_range> ranges_;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
