// SPDX-License-Identifier: MIT
//
// Whose threads the library works on: a pool of its own, started when it is first needed, or the caller's.
#ifndef ZTENSOR_EXECUTOR_HPP
#define ZTENSOR_EXECUTOR_HPP

#include <ztensor/version.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// Threads of the caller's own: derive from it and hand it to use_executor(). Called from many threads at once.
///
/// The thread that calls the library always works along, and never waits for a task that has not begun. So an executor
/// may be busy, have a single thread, or call the library itself from its tasks, and nothing deadlocks.
///
/// A child process that is forked off has none of the parent's threads: the library works in it on the calling thread
/// alone. Readers that another thread was using at that moment must not be used in the child, which opens its own. If
/// it was forked off inside a call that several threads work for, such as by a byte_source, and returns to that call,
/// the library says so on stderr and ends the child by std::abort().
class executor {
public:
    executor() = default;
    executor(const executor&) = delete;
    executor& operator=(const executor&) = delete;
    virtual ~executor() = default;

    /// Calls run(context) once, on any thread, now or later, and answers true; or answers false and never calls it.
    /// `run` throws nothing. Must not throw itself.
    [[nodiscard]] virtual bool submit(void (*run)(void* context), void* context) noexcept = 0;

    /// Into how many parts work is cut where the caller does not say: threads that may work at once, the caller's
    /// included. At least 1.
    [[nodiscard]] virtual unsigned concurrency() const noexcept = 0;
};

/// Threads for all calls of this process that start after this one, until another is set; null for the library's own
/// pool. `mine` is borrowed, and must outlive every call that found it and every task that it took. Calls on one thread
/// alone ask for none.
void use_executor(executor* mine) noexcept;

/// At most so many threads, the caller's included, work for one call on the library's own pool, whatever is asked for:
/// with 1 it starts none. 0, as at first: as many as the call asks for, and as many as the host runs at once where it
/// does not say. Threads that run already are kept, asleep.
void limit_pool(unsigned threads) noexcept;

namespace detail {

/// The one that is set.
[[nodiscard]] executor& current_executor() noexcept;
/// How many threads work for a call that wants `wanted` (0: it does not say), the caller's included.
[[nodiscard]] unsigned threads_for(unsigned wanted) noexcept;

} // namespace detail

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/os/resources_definitions.hpp>
#endif

#endif
