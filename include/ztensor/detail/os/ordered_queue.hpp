// SPDX-License-Identifier: MIT
//
// Tasks that run in the order of submission, on threads of the executor or on the caller.
#ifndef ZTENSOR_DETAIL_OS_ORDERED_QUEUE_HPP
#define ZTENSOR_DETAIL_OS_ORDERED_QUEUE_HPP

#include <ztensor/detail/os/sync.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/os/task_group.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Tasks of one kind, numbered from 0, which begin in that order and at most `at_once` at a time: on threads of the
/// executor, or on the caller while it waits for a task and no thread runs it. So it never waits for a thread that has
/// not started. One thread at a time calls it.
class ordered_queue {
public:
    /// Must not throw. `slot` is below `at_once` and differs between tasks that run at the same time.
    using task = void (*)(void* context, std::size_t number, std::size_t slot);

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
    [[nodiscard]] ZTENSOR_COLD bool begin(task run, void* context, std::size_t at_once = 1) noexcept {
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
    bool wait_below(std::size_t count) noexcept { return tasks_ == nullptr || !is_ours() || tasks_->wait_below(count); }

    /// False in a child process that was forked off since.
    [[nodiscard]] bool is_ours() const noexcept { return process_ == process_id(); }

private:
    /// On the heap, so that a forked child can leave it as it is.
    class task_list {
    public:
        task_list(task run, void* context, std::size_t at_once) noexcept
            : run_(run), context_(context), at_once_(at_once), most_helpers_((std::max<std::size_t>)(at_once - 1, 1)) {}

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

        bool wait_below(std::size_t count) noexcept {
            bool has_help = true;
            const os_lock lock(mutex_);
            while (submitted_ - first_unfinished() >= count) {
                if (can_run_next()) {
                    has_help = false;
                    run_next();
                } else {
                    done_.wait(mutex_);
                }
            }
            return has_help;
        }

    private:
        /// A task that is being run, on the stack of the thread that runs it.
        struct running_task {
            std::size_t number;
            std::size_t slot;
            running_task* next;
        };

        void help() noexcept {
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
        [[nodiscard]] std::size_t first_unfinished() const noexcept {
            std::size_t first = next_;
            for (const running_task* each = first_running_; each != nullptr; each = each->next) {
                first = (std::min)(first, each->number);
            }
            return first;
        }

        const task run_;
        void* const context_;
        const std::size_t at_once_;
        const std::size_t most_helpers_;
        os_mutex mutex_; ///< of all that follows but the group
        os_condition done_;
        std::size_t submitted_ = 0;
        std::size_t next_ = 0; ///< to be run
        std::size_t running_ = 0;
        std::size_t helpers_ = 0; ///< threads that are at work here, or asked for
        running_task* first_running_ = nullptr;
        task_group group_{[](void* self) { static_cast<task_list*>(self)->help(); },
                          this}; ///< joined before all else goes
    };

    const std::uint64_t process_ = process_id();
    task_list* tasks_ = nullptr;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
