// SPDX-License-Identifier: MIT
//
// Parts of tensors: a range of indices in each dimension.
#ifndef ZTENSOR_SLICE_HPP
#define ZTENSOR_SLICE_HPP

#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// Indices begin, begin + 1, ... up to but not including end.
struct index_range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// One range for each dimension, outermost first, such as {{0, 4}, {8, 16}}.
class slice {
public:
    slice(std::initializer_list<index_range> ranges) : ranges_(ranges) {}
    slice(span<const index_range> ranges) : ranges_(ranges.begin(), ranges.end()) {}

    [[nodiscard]] span<const index_range> ranges() const& noexcept { return ranges_; }
    span<const index_range> ranges() const&& = delete; // borrowing from a slice that is about to die

private:
    std::vector<index_range> ranges_;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
