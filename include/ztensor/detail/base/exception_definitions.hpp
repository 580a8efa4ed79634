// SPDX-License-Identifier: MIT
//
// What becomes of an error that was not checked. Defines what result.hpp declares of it.
#ifndef ZTENSOR_DETAIL_BASE_EXCEPTION_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_BASE_EXCEPTION_DEFINITIONS_HPP

#include <ztensor/result.hpp>

#include <cstdio>
#include <cstdlib>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[noreturn]] ZTENSOR_COLD ZTENSOR_INLINE void result_misused(const error* held) noexcept {
    if (held != nullptr) {
        std::fprintf(stderr, "ztensor: the value of a result was taken, and it holds an error: %s\n",
                     held->what().c_str());
    } else {
        std::fputs("ztensor: the error of a result was taken, and it holds none\n", stderr);
    }
    std::abort();
}

[[noreturn]] ZTENSOR_COLD ZTENSOR_INLINE void raise(const error& why) {
#if ZTENSOR_HAS_EXCEPTIONS
    throw exception(why);
#else
    std::fprintf(stderr, "ztensor: %s\n", why.what().c_str());
    std::abort();
#endif
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
