// SPDX-License-Identifier: MIT
//
// What becomes of an error that nobody looked at. Defines what result.hpp declares.
#ifndef ZTENSOR_DETAIL_CORE_RESULT_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_CORE_RESULT_DEFINITIONS_HPP

#include <ztensor/result.hpp>

#if !ZTENSOR_HAS_EXCEPTIONS
#include <cstdio>
#include <cstdlib>
#endif

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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
