// SPDX-License-Identifier: MIT
//
// The two protocols for threads, a task group and an ordered queue, and pages that are touched ahead.
#ifndef ZTENSOR_DETAIL_OS_TASKS_HPP
#define ZTENSOR_DETAIL_OS_TASKS_HPP

#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/options.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- wait watch
//
// How a call that waits for bytes, such as those of a silent server, hears that its caller wants it to end.

/// A thread that waits looks at its watch after so long, whatever it waits for.
inline constexpr double watch_seconds = 0.1;

/// What the threads of one call look at while they wait.
class wait_watch {
public:
    /// `asks(owner)` says whether the call goes on. It is called on the thread that makes this and on no other. Null:
    /// stop() alone ends the call.
    explicit wait_watch(bool (*asks)(void* owner) noexcept = nullptr, void* owner = nullptr) noexcept
        : asks_(asks), owner_(owner) {}
    wait_watch(const wait_watch&) = delete;
    wait_watch& operator=(const wait_watch&) = delete;

    void stop() noexcept { is_stopped_ = true; }
    [[nodiscard]] bool is_stopped() const noexcept { return is_stopped_; }

    /// Asks again if the last answer is old.
    [[nodiscard]] bool goes_on() noexcept {
        const bool is_due = asks_ != nullptr && thread_mark() == asker_ && !is_stopped_ && steady_seconds() >= next_;
        if (is_due) {
            wait_watch* const mine = std::exchange(this_thread().watch, nullptr); // the function may read, and wait
            is_stopped_ = !asks_(owner_);
            this_thread().watch = mine;
            next_ = steady_seconds() + watch_seconds;
        }
        return !is_stopped_;
    }

private:
    bool (*const asks_)(void* owner) noexcept;
    void* const owner_;
    const void* const asker_ = thread_mark();
    double next_ = steady_seconds() + watch_seconds;
    std::atomic<bool> is_stopped_{false};
};

/// The calling thread looks at this watch as long as it lives.
class watched_thread {
public:
    explicit watched_thread(wait_watch* watch) noexcept : before_(std::exchange(this_thread().watch, watch)) {}
    watched_thread(const watched_thread&) = delete;
    watched_thread& operator=(const watched_thread&) = delete;
    ~watched_thread() { this_thread().watch = before_; }

private:
    wait_watch* before_;
};

/// False if the call that this thread works for is to end.
[[nodiscard]] inline bool goes_on_waiting() noexcept {
    wait_watch* const watch = this_thread().watch;
    return watch == nullptr || watch->goes_on();
}

/// Waits on `changed`, and looks at the watch with the mutex released. Returns without a notice, too. False if the call
/// is to end.
[[nodiscard]] inline bool wait_watched(os_condition& changed, os_mutex& held) noexcept {
    if (this_thread().watch == nullptr) {
        changed.wait(held);
        return true;
    }
    changed.wait_for(held, watch_seconds);
    held.unlock();
    const bool goes_on = goes_on_waiting();
    held.lock();
    return goes_on;
}

// -- task group
//
// Work on several threads of the executor at the same time. The caller's thread always works along and never waits for
// a thread that has not started, so nested work can't deadlock.

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
                static_cast<void>(wait_watched(idle_, mutex_)); // the threads look at the same watch
            }
            leave();
        }

        const uint64_t process = process_id();

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
        size_t references_ = 1; ///< the group's, and those of threads that were submitted
        size_t active_ = 0;
        bool is_joined_ = false;
    };

    const task run_;
    void* const context_;
    members* members_ = nullptr; ///< since the first spawn()
    bool has_helpers_ = false;   ///< the executor ever accepted one
};

/// Runs `run(context)`, which must not throw, on the caller's thread and on up to `helpers` threads of the executor.
/// Returns when all have returned.
ZTENSOR_COLD inline void run_with_helpers(task_group::task run, void* context, size_t helpers) noexcept {
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
    /// Calls `work()`, and keeps what it throws.
    template <class Work>
    void guard(Work& work) noexcept {
#if ZTENSOR_HAS_EXCEPTIONS
        try {
            work();
        } catch (...) {
            if (!is_taken_.exchange(true)) {
                kept_ = std::current_exception();
            }
        }
#else
        work();
#endif
    }
    /// After all have returned.
    void rethrow() const { rethrow(kept_); }
    /// The same, to be thrown later.
    [[nodiscard]] const std::exception_ptr& kept() const noexcept { return kept_; }
    /// Nothing if it is null.
    static void rethrow([[maybe_unused]] const std::exception_ptr& kept) {
#if ZTENSOR_HAS_EXCEPTIONS
        if (kept) {
            std::rethrow_exception(kept);
        }
#endif
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
[[nodiscard]] inline size_t useful_threads(unsigned threads, size_t most) noexcept {
    return most > 1 && threads != 1 && !is_at_work() ? (std::min<size_t>)(threads_for(threads), most) : 1;
}

/// Calls `work()` on up to `threads` threads at once (0: as many as make sense), of which the caller's is one. Each
/// call should go on until nothing is left to begin: threads that come late find what is left. Returns when all have
/// returned; throws what the first threw that did.
template <class Work>
void run_in_parallel(unsigned threads, size_t most, Work&& work) {
    const size_t wanted = useful_threads(threads, most);
    struct guarded_work {
        std::remove_reference_t<Work>& work;
        wait_watch* watch;
        first_exception failure;
    } all{work, this_thread().watch, {}};
    const auto take_turns = [](void* context) {
        auto& mine = *static_cast<guarded_work*>(context);
        const at_work here;
        const watched_thread watched(mine.watch);
        mine.failure.guard(mine.work);
    };
    run_with_helpers(take_turns, &all, wanted - 1);
    all.failure.rethrow();
}

/// Calls `work(i)` once for each i in [0, count), on up to `threads` threads (0: as many as make sense), of which the
/// caller's is one. Returns when all have returned. Where one throws, the others end what they have begun, no more is
/// begun, and the exception is thrown here.
template <class Work>
void for_each_in_parallel(size_t count, unsigned threads, Work&& work) {
    std::atomic<size_t> next{0};
    run_in_parallel(threads, count, [&] {
        struct end_of_all {
            std::atomic<size_t>& next;
            size_t count;
            ~end_of_all() { next = count; } // reached, or nothing more is to be begun
        } const at_end{next, count};
        for (size_t i = next++; i < count; i = next++) {
            work(i);
        }
    });
}

// -- ordered queue
//
// Tasks that run in the order of submission, on threads of the executor or on the caller.

/// Tasks of one kind, numbered from 0, which begin in that order and at most `at_once` at a time: on threads of the
/// executor, or on the caller while it waits for a task and no thread runs it. So it never waits for a thread that has
/// not started. One thread at a time calls it.
class ordered_queue {
public:
    /// Must not throw. `slot` is below `at_once` and differs between tasks that run at the same time.
    using task = void (*)(void* context, size_t number, size_t slot);

    ordered_queue() noexcept = default;
    ordered_queue(const ordered_queue&) = delete;
    ordered_queue& operator=(const ordered_queue&) = delete;
    /// Runs what is left. A forked child only abandons the queue, because one of its parent's threads may have held the
    /// mutex.
    ~ordered_queue() {
        if (tasks_ != nullptr && is_ours()) {
            tasks_->wait_below(1);
            delete tasks_;
        }
    }

    /// Must precede the first task: each is run(context, its number, its slot). With `at_once` of 1, one thread is
    /// asked for; else the caller is one of `at_once`. False if memory is short.
    [[nodiscard]] ZTENSOR_COLD bool begin(task run, void* context, size_t at_once = 1) noexcept {
        tasks_ = new (std::nothrow) task_list(run, context, at_once);
        return tasks_ != nullptr;
    }
    [[nodiscard]] bool has_begun() const noexcept { return tasks_ != nullptr; }

    /// Adds the next task. Does nothing in a forked child.
    ZTENSOR_COLD void submit() noexcept {
        if (is_ours()) {
            tasks_->submit();
        }
    }

    /// Returns when fewer than `count` (at least 1) tasks are left, the oldest of those submitted being done. False if
    /// the caller had to run some. A forked child does not wait, for tasks that are never done.
    bool wait_below(size_t count) noexcept { return tasks_ == nullptr || !is_ours() || tasks_->wait_below(count); }

    /// False in a child process that was forked off since.
    [[nodiscard]] bool is_ours() const noexcept { return process_ == process_id(); }

private:
    /// On the heap, so that a forked child can leave it as it is.
    class task_list {
    public:
        task_list(task run, void* context, size_t at_once) noexcept
            : run_(run), context_(context), at_once_(at_once), most_helpers_((std::max<size_t>)(at_once - 1, 1)) {}

        void submit() noexcept {
            mutex_.lock();
            ++submitted_;
            const bool wants_helper = helpers_ < most_helpers_;
            helpers_ += wants_helper ? 1 : 0;
            mutex_.unlock();
            if (wants_helper && !group_.spawn()) {
                const os_lock lock(mutex_);
                --helpers_;
            }
        }

        bool wait_below(size_t count) noexcept {
            bool has_help = true;
            const os_lock lock(mutex_);
            while (submitted_ - first_unfinished() >= count) {
                if (can_run_next()) {
                    has_help = false;
                    run_next();
                } else if (!wait_watched(done_, mutex_)) {
                    watch_.stop();
                }
            }
            return has_help;
        }

    private:
        /// A task that is being run, on the stack of the thread that runs it.
        struct running_task {
            size_t number;
            size_t slot;
            running_task* next;
        };

        void help() noexcept {
            const watched_thread watched(&watch_);
            const os_lock lock(mutex_);
            while (can_run_next()) {
                run_next();
            }
            --helpers_;
        }

        [[nodiscard]] bool can_run_next() const noexcept { return next_ != submitted_ && running_ < at_once_; }

        /// Called with the mutex held, which is released meanwhile.
        void run_next() noexcept {
            running_task mine = {next_++, 0, nullptr};
            running_task** place = &first_running_; // the list is sorted by slot: the first gap is ours
            for (; *place != nullptr && (*place)->slot == mine.slot; place = &(*place)->next) {
                ++mine.slot;
            }
            mine.next = *place;
            *place = &mine;
            ++running_;
            mutex_.unlock();
            run_(context_, mine.number, mine.slot);
            mutex_.lock();
            for (place = &first_running_; *place != &mine;) {
                place = &(*place)->next;
            }
            *place = mine.next;
            --running_;
            done_.notify_one();
        }

        /// All tasks with smaller numbers are done.
        [[nodiscard]] size_t first_unfinished() const noexcept {
            size_t first = next_;
            for (const running_task* each = first_running_; each != nullptr; each = each->next) {
                first = (std::min)(first, each->number);
            }
            return first;
        }

        const task run_;
        void* const context_;
        const size_t at_once_;
        const size_t most_helpers_;
        os_mutex mutex_; ///< of all that follows but the group
        os_condition done_;
        size_t submitted_ = 0;
        size_t next_ = 0; ///< to be run
        size_t running_ = 0;
        size_t helpers_ = 0; ///< threads that are at work here, or asked for
        running_task* first_running_ = nullptr;
        wait_watch watch_; ///< of the helpers: a caller that waits stops it when its own is
        task_group group_{[](void* self) { static_cast<task_list*>(self)->help(); },
                          this}; ///< joined before all else goes
    };

    const uint64_t process_ = process_id();
    task_list* tasks_ = nullptr;
};

// -- prefault
//
// Prefaulting: a second thread makes the pages of new memory, while the caller fills those at its front.

/// Room for `count` elements in memory that has a reserve(): in huge pages, if it is much.
inline span<byte> reserve_large(element_memory elements, size_t count, size_t element_bytes) {
    auto* const room = static_cast<byte*>(elements.reserve(elements.owner, count));
    advise_large_memory(room, count * element_bytes);
    return {room, count * element_bytes};
}

/// While it lives, a thread of the executor makes the pages of `memory`, from its end down to where it meets the thread
/// that fills it from the front: each page is cleared by one of the two. Clearing takes longer than filling (a tensor
/// of 256 MiB read into a std::vector took 39 ms instead of 53 on Zen 4, and 32 instead of 37 into an array). Does
/// nothing if the memory is small or not new, or if `threads`, as in read_options, is 1. The destructor waits at most
/// for the page that is being made.
class prefault {
public:
    prefault(span<byte> memory, unsigned threads) noexcept : memory_(memory) {
        constexpr size_t least_bytes = 4 * huge_page_bytes;
        if (memory.size() >= least_bytes && useful_threads(threads, 2) > 1 && is_untouched(memory)) {
            static_cast<void>(group_.spawn());
        }
    }
    prefault(const prefault&) = delete;
    prefault& operator=(const prefault&) = delete;
    ~prefault() { is_filled_.store(true, std::memory_order_relaxed); }

private:
    void make_until_met() noexcept {
        if (thread_mark() == filler_) {
            return; // the executor runs it at once, on the thread that fills
        }
        const size_t before = bytes_to_multiple(memory_.data(), huge_page_bytes);
        for (size_t end = memory_.size(); end > before && !is_filled_.load(std::memory_order_relaxed);) {
            const size_t begin = before + (end - before - 1) / huge_page_bytes * huge_page_bytes;
            const span<byte> pages = memory_.subspan(begin, end - begin);
            if (!is_untouched(pages)) {
                return;
            }
            make_pages(pages);
            end = begin;
        }
    }

    span<byte> memory_;
    const void* filler_ = thread_mark();
    std::atomic<bool> is_filled_{false};
    task_group group_{[](void* self) { static_cast<prefault*>(self)->make_until_met(); }, this};
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
