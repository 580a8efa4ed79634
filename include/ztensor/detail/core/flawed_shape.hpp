// SPDX-License-Identifier: MIT
//
// Why a shape is taken by no call.
#ifndef ZTENSOR_DETAIL_CORE_FLAWED_SHAPE_HPP
#define ZTENSOR_DETAIL_CORE_FLAWED_SHAPE_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/shape.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct shape_access {
    [[nodiscard]] static shape_flaw flaw_of(const shape& dimensions) noexcept { return dimensions.flaw_; }
};

[[nodiscard]] ZTENSOR_COLD inline const char* words_of(shape_flaw flaw) noexcept {
    return flaw == shape_flaw::negative    ? "a dimension of the shape is negative"
           : flaw == shape_flaw::no_memory ? "there is no memory for a shape of more than 8 dimensions"
                                           : "the shape has more than 64 dimensions";
}

/// Why no call takes it. Errors: limit_exceeded, invalid_argument, out_of_memory.
[[nodiscard]] ZTENSOR_COLD inline error flawed(const shape& dimensions) noexcept {
    const shape_flaw flaw = shape_access::flaw_of(dimensions);
    const errc code = flaw == shape_flaw::negative    ? errc::invalid_argument
                      : flaw == shape_flaw::no_memory ? errc::out_of_memory
                                                      : errc::limit_exceeded;
    return fail(code, words_of(flaw));
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
