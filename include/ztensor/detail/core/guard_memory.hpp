// SPDX-License-Identifier: MIT
//
// Memory that runs out, as an error like any other. The public face guards each call once; what it calls just throws.
#ifndef ZTENSOR_DETAIL_CORE_GUARD_MEMORY_HPP
#define ZTENSOR_DETAIL_CORE_GUARD_MEMORY_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/result.hpp>

#include <new>
#include <stdexcept>
#include <type_traits>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

#if ZTENSOR_HAS_EXCEPTIONS
/// The error for the exception that is being handled; what is no want of memory is thrown on.
[[nodiscard]] ZTENSOR_COLD inline error memory_error() {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        return {errc::out_of_memory, "memory ran out"};
    } catch (const std::length_error&) {
        return fail(errc::out_of_memory, "a container can't hold that many elements on this host");
    }
}
#endif

/// Runs `call() -> result<T>`; where memory runs out inside, that is an error.
template <class Call>
[[nodiscard]] auto guard_memory(Call&& call) -> std::invoke_result_t<Call> {
#if ZTENSOR_HAS_EXCEPTIONS
    try {
        return call();
    } catch (...) {
        return memory_error();
    }
#else
    return call();
#endif
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
