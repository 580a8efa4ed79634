// SPDX-License-Identifier: MIT
//
// Work on several threads of the executor at the same time. The caller's thread always works along and never waits for
// a thread that has not started, so nested work can't deadlock.
#ifndef ZTENSOR_DETAIL_OS_TASK_GROUP_HPP
#define ZTENSOR_DETAIL_OS_TASK_GROUP_HPP

#include <ztensor/detail/os/sync.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/os/thread_storage.hpp>
#include <ztensor/executor.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Ends a child process that was forked off inside a call that several threads work for, such as by a byte source of
/// the caller's. The child has none of these threads, so what they have begun is never done.
[[noreturn]] ZTENSOR_COLD inline void end_forked_call() noexcept {
    std::fputs(
        "ztensor: a process was forked off inside a call that several threads work for, and can't go on with it: "
        "ask for one thread, or let the child run another program or end at once\n",
        stderr);
    std::abort();
}

/// Threads of the executor that run one function, `run(context)`, at the same time, until it returns. `run` must not
/// throw. A thread that starts after join() is rejected and does not touch `context`. One thread at a time calls the
/// group; it never waits for a thread that has not started.
class task_group {
public:
    using task = void (*)(void* context);

    task_group(task run, void* context) noexcept : run_(run), context_(context) {}
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;
    /// Joins. In a forked child it only abandons the group, whose threads the child does not have.
    ~task_group() {
        if (is_ours()) {
            join();
        }
    }

    /// Submits `run` to the executor once more. False if the executor rejects it or memory is short.
    [[nodiscard]] ZTENSOR_COLD bool spawn() noexcept {
        if (members_ == nullptr) {
            members_ = new (std::nothrow) members(run_, context_);
        }
        const bool is_spawned = members_ != nullptr && members_->spawn();
        has_helpers_ = has_helpers_ || is_spawned;
        return is_spawned;
    }

    /// Rejects late threads and waits for active ones. Ends a forked child, whose copy of the mutex may be locked.
    void join() noexcept {
        if (!is_ours()) {
            end_forked_call();
        }
        if (members_ != nullptr) {
            std::exchange(members_, nullptr)->join();
        }
    }

    /// False in a child process that was forked off while the group had threads.
    [[nodiscard]] bool is_ours() const noexcept {
        return members_ == nullptr || !has_helpers_ || members_->process == process_id();
    }

private:
    /// On the heap, because a thread may start after the group is gone. The last one to leave frees it.
    class members {
    public:
        members(task run, void* context) noexcept : run_(run), context_(context) {}

        ZTENSOR_COLD bool spawn() noexcept {
            {
                const os_lock lock(mutex_);
                ++references_;
            }
            if (submit([](void* self) { static_cast<members*>(self)->enter(); }, this)) {
                return true;
            }
            const os_lock lock(mutex_);
            --references_; // the group's own is left
            return false;
        }

        void join() noexcept {
            mutex_.lock();
            is_joined_ = true;
            while (active_ != 0) {
                idle_.wait(mutex_);
            }
            leave();
        }

        const std::uint64_t process = process_id();

    private:
        /// executor::submit() of a function that may run after the call has ended: the module that contains it, such as
        /// a plugin, stays loaded from now on. Several modules may share one `pinned`.
        [[nodiscard]] static bool submit(task enter, void* self) noexcept {
            static std::atomic<task> pinned{nullptr};
            if (pinned.exchange(enter, std::memory_order_relaxed) != enter) {
                pin_module(enter);
            }
            return current_executor().submit(enter, self);
        }

        /// What a thread of the executor does.
        ZTENSOR_COLD void enter() noexcept {
            mutex_.lock();
            if (!is_joined_) {
                ++active_;
                mutex_.unlock();
                run_(context_);
                mutex_.lock();
                if (--active_ == 0) {
                    idle_.notify_one();
                }
            }
            leave();
        }

        /// Called with the mutex held, which it releases.
        void leave() noexcept {
            const bool is_last = --references_ == 0;
            mutex_.unlock();
            if (is_last) {
                delete this;
            }
        }

        const task run_;
        void* const context_;
        os_mutex mutex_;
        os_condition idle_;
        std::size_t references_ = 1; ///< the group's, and those of threads that were submitted
        std::size_t active_ = 0;
        bool is_joined_ = false;
    };

    const task run_;
    void* const context_;
    members* members_ = nullptr; ///< since the first spawn()
    bool has_helpers_ = false;   ///< the executor ever accepted one
};

/// Runs `run(context)`, which must not throw, on the caller's thread and on up to `helpers` threads of the executor.
/// Returns when all have returned.
ZTENSOR_COLD inline void run_with_helpers(task_group::task run, void* context, std::size_t helpers) noexcept {
    task_group group(run, context);
    while (helpers != 0 && group.spawn()) {
        --helpers;
    }
    run(context);
    group.join();
}

/// The first exception among several threads, for the caller's.
class first_exception {
public:
    /// Of the exception that is being handled.
    void keep() noexcept {
        if (!is_taken_.exchange(true)) {
            kept_ = std::current_exception();
        }
    }
    /// After all have returned.
    void rethrow() const {
        if (kept_) {
            std::rethrow_exception(kept_);
        }
    }

private:
    std::atomic<bool> is_taken_{false};
    std::exception_ptr kept_;
};

/// The calling thread is at work as long as it lives.
class at_work {
public:
    at_work() noexcept : was_at_work_(is_at_work()) { is_at_work() = true; }
    at_work(const at_work&) = delete;
    at_work& operator=(const at_work&) = delete;
    ~at_work() { is_at_work() = was_at_work_; }

private:
    bool was_at_work_;
};

/// How many threads a call works on that wants `threads` and has `most` things to do at once. Work in the middle of
/// other work gets one: the others are busy, or were not wanted.
[[nodiscard]] inline std::size_t useful_threads(unsigned threads, std::size_t most) noexcept {
    return most > 1 && threads != 1 && !is_at_work() ? (std::min<std::size_t>)(threads_for(threads), most) : 1;
}

/// Calls `work()` on up to `threads` threads at once (0: as many as make sense), of which the caller's is one. Each
/// call should go on until nothing is left to begin: threads that come late find what is left. Returns when all have
/// returned; throws what the first threw that did.
template <class Work>
void run_in_parallel(unsigned threads, std::size_t most, Work&& work) {
    const std::size_t wanted = useful_threads(threads, most);
#if ZTENSOR_HAS_EXCEPTIONS
    struct guarded_work {
        std::remove_reference_t<Work>& work;
        first_exception failure;
    } all{work, {}};
    const auto take_turns = [](void* context) {
        auto& mine = *static_cast<guarded_work*>(context);
        const at_work here;
        try {
            mine.work();
        } catch (...) {
            mine.failure.keep();
        }
    };
    run_with_helpers(take_turns, &all, wanted - 1);
    all.failure.rethrow();
#else
    const auto take_turns = [](void* context) {
        const at_work here;
        (*static_cast<std::remove_reference_t<Work>*>(context))();
    };
    run_with_helpers(take_turns, &work, wanted - 1);
#endif
}

/// Calls `work(i)` once for each i in [0, count), on up to `threads` threads (0: as many as make sense), of which the
/// caller's is one. Returns when all have returned. Where one throws, the others end what they have begun, no more is
/// begun, and the exception is thrown here.
template <class Work>
void for_each_in_parallel(std::size_t count, unsigned threads, Work&& work) {
    std::atomic<std::size_t> next{0};
    run_in_parallel(threads, count, [&] {
        for (std::size_t i = next++; i < count; i = next++) {
#if ZTENSOR_HAS_EXCEPTIONS
            try {
                work(i);
            } catch (...) {
                next = count;
                throw;
            }
#else
            work(i);
#endif
        }
    });
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
