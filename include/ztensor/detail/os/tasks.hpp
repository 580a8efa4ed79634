// SPDX-License-Identifier: MIT
//
// How tasks come to an executor.
#ifndef ZTENSOR_DETAIL_OS_TASKS_HPP
#define ZTENSOR_DETAIL_OS_TASKS_HPP

#include <ztensor/detail/os/system.hpp>
#include <ztensor/executor.hpp>

#include <atomic>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// executor::submit() of a task that may begin after the call that it is for has ended: so the module that `run` stands
/// in, such as a plugin, stays loaded from now on. `Owner` tells tasks of several kinds apart, whose code may stand in
/// several modules; modules may also share one `pinned`.
template <class Owner>
[[nodiscard]] ZTENSOR_COLD bool submit_task(executor& threads, void (*run)(void* context), void* context) noexcept {
    static std::atomic<void (*)(void*)> pinned{nullptr};
    if (pinned.exchange(run, std::memory_order_relaxed) != run) {
        pin_module(run);
    }
    return threads.submit(run, context);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
