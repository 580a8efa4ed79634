// SPDX-License-Identifier: MIT
//
// Independent pieces of work on several threads, which an executor lends. The caller's thread always works along, so
// that work in the middle of other work can't deadlock: nobody waits for a thread that has not come.
#ifndef ZTENSOR_DETAIL_OS_THREADS_HPP
#define ZTENSOR_DETAIL_OS_THREADS_HPP

#include <ztensor/detail/os/sync.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/os/tasks.hpp>
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

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What several threads do at once: each calls `take_turns(context)`, which throws nothing, and returns when there is
/// nothing left to begin.
struct shared_work {
    void (*take_turns)(void* context);
    void* context;
};

/// Ends a child process that was forked off inside a call that several threads work for, such as by a byte source of
/// the caller's. The child has none of these threads, so that what they have begun is never done.
[[noreturn]] ZTENSOR_COLD inline void end_forked_call() noexcept {
    std::fputs(
        "ztensor: a process was forked off inside a call that several threads work for, and can't go on with it: "
        "ask for one thread, or let the child run another program or end at once\n",
        stderr);
    std::abort();
}

/// Those who work for one call. On the heap, because threads may come to it after the call has ended.
class crew {
public:
    explicit crew(shared_work work) noexcept : work_(work) {}

    /// Asks for one more thread.
    [[nodiscard]] ZTENSOR_COLD bool ask(executor& threads) noexcept {
        {
            const os_lock lock(mutex_);
            ++references_;
        }
        if (submit_task<crew>(
                threads, [](void* self) { static_cast<crew*>(self)->join(); }, this)) {
            has_helpers_ = true;
            return true;
        }
        const os_lock lock(mutex_);
        --references_; // the caller's is left
        return false;
    }

    /// False in a child process that was forked off since: its copy of the mutex may be locked for ever.
    [[nodiscard]] bool is_ours() const noexcept { return process_ == process_id(); }

    /// Rejects threads that come from now on, and waits for those that work. The crew is gone afterwards.
    void dismiss() noexcept {
        if (has_helpers_ && !is_ours()) {
            end_forked_call();
        }
        mutex_.lock();
        is_dismissed_ = true;
        while (at_work_ != 0) {
            idle_.wait(mutex_);
        }
        leave();
    }

private:
    ZTENSOR_COLD void join() noexcept {
        mutex_.lock();
        if (!is_dismissed_) {
            ++at_work_;
            mutex_.unlock();
            work_.take_turns(work_.context);
            mutex_.lock();
            if (--at_work_ == 0) {
                idle_.notify_one();
            }
        }
        leave();
    }

    /// With the mutex held, which is let go of.
    void leave() noexcept {
        const bool is_last = --references_ == 0;
        mutex_.unlock();
        if (is_last) {
            delete this;
        }
    }

    os_mutex mutex_;
    os_condition idle_;
    shared_work work_;
    const std::uint64_t process_ = process_id();
    bool has_helpers_ = false; ///< was ever promised one; the caller's thread alone looks at this
    std::size_t references_ = 1;
    std::size_t at_work_ = 0;
    bool is_dismissed_ = false;
};

/// Runs `work` on the caller's thread and up to `helper_count` others: fewer where there are no more. Returns when all
/// have returned.
ZTENSOR_COLD inline void run_with_helpers(shared_work work, std::size_t helper_count) noexcept {
    crew* const mates = helper_count != 0 ? new (std::nothrow) crew(work) : nullptr;
    if (mates == nullptr) {
        return work.take_turns(work.context);
    }
    executor& threads = current_executor();
    while (helper_count != 0 && mates->ask(threads)) {
        --helper_count;
    }
    work.take_turns(work.context);
    mates->dismiss();
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
    run_with_helpers({take_turns, &all}, wanted - 1);
    all.failure.rethrow();
#else
    const auto take_turns = [](void* context) {
        const at_work here;
        (*static_cast<std::remove_reference_t<Work>*>(context))();
    };
    run_with_helpers({take_turns, &work}, wanted - 1);
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
