// SPDX-License-Identifier: MIT
//
// The operating system that this is compiled for, and its calls.
#ifndef ZTENSOR_DETAIL_OS_SYSTEM_HPP
#define ZTENSOR_DETAIL_OS_SYSTEM_HPP

#if defined(_WIN32)
#include <ztensor/detail/os/windows_writing.hpp>
#else
#include <ztensor/detail/os/posix_threads.hpp>
#include <ztensor/detail/os/posix_writing.hpp>
#endif

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The real calls that only read, and all of them. They hold nothing, so that any thread may use them at any time, at
/// exit too.
[[nodiscard]] inline os_reading& operating_system_for_reading() noexcept {
    class reading_calls final : public system_reading<os_reading> {};
    static reading_calls calls;
    return calls;
}
[[nodiscard]] inline os_calls& operating_system() noexcept {
    static system_calls calls;
    return calls;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
