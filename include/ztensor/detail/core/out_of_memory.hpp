// SPDX-License-Identifier: MIT
//
// What happens where memory runs out and no result can say so.
#ifndef ZTENSOR_DETAIL_CORE_OUT_OF_MEMORY_HPP
#define ZTENSOR_DETAIL_CORE_OUT_OF_MEMORY_HPP

#include <ztensor/version.hpp>

#include <new>
#if !ZTENSOR_HAS_EXCEPTIONS
#include <cstdio>
#include <cstdlib>
#endif

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Throws std::bad_alloc, or says so and ends the program where exceptions are off. Asking operator new for more than
/// there is would not do: a compiler may remove an allocation that nothing uses, and GCC does.
[[noreturn]] ZTENSOR_COLD inline void raise_out_of_memory() {
#if ZTENSOR_HAS_EXCEPTIONS
    throw std::bad_alloc();
#else
    std::fputs("ztensor: memory ran out\n", stderr);
    std::abort();
#endif
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
