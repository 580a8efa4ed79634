// SPDX-License-Identifier: MIT
//
// The one way in which the library words an error, kept apart from the code that finds it.
#ifndef ZTENSOR_DETAIL_CORE_FAIL_HPP
#define ZTENSOR_DETAIL_CORE_FAIL_HPP

#include <ztensor/detail/core/text.hpp>
#include <ztensor/error.hpp>

#include <initializer_list>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// An error with the sentence that `pattern` makes with a piece in the place of each {}. Without memory for it, it is
/// out_of_memory.
[[nodiscard]] ZTENSOR_COLD inline error fail(errc code, const char* pattern,
                                             std::initializer_list<piece> pieces) noexcept {
#if ZTENSOR_HAS_EXCEPTIONS
    try {
        return {code, sentence(pattern, pieces)};
    } catch (...) {                                     // for want of memory
        return {errc::out_of_memory, "memory ran out"}; // so short that it needs none
    }
#else
    return {code, sentence(pattern, pieces)};
#endif
}

[[nodiscard]] ZTENSOR_COLD inline error fail(errc code, const char* sentence) noexcept {
    return fail(code, sentence, {});
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
