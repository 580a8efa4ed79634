// SPDX-License-Identifier: MIT
//
// Pieces of work in a line, which a thread of the executor may do while the caller goes on.
#ifndef ZTENSOR_DETAIL_OS_WORK_LINE_HPP
#define ZTENSOR_DETAIL_OS_WORK_LINE_HPP

#include <ztensor/detail/os/sync.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Pieces of one kind of work, numbered from 0, each done when all before it are: by a thread that was asked, as long
/// as it finds some, or by the caller when it has to wait and none has come. So nobody waits for a thread that has not
/// come. One thread at a time calls it.
class work_line {
public:
    using work = void (*)(void* context, std::size_t number); ///< throws nothing

    work_line() noexcept = default;
    work_line(const work_line&) = delete;
    work_line& operator=(const work_line&) = delete;
    /// Does what is left.
    ~work_line() {
        if (shared_ != nullptr && is_ours()) { // where not, a thread of the parent's may have held the mutex
            shared_->wait_until_left(0);
            shared_->leave();
        }
    }

    /// Before the first piece: each is run(context, its number). False where memory runs out.
    [[nodiscard]] ZTENSOR_COLD bool begin(work run, void* context) noexcept {
        shared_ = new (std::nothrow) shared_line(run, context);
        return shared_ != nullptr;
    }
    [[nodiscard]] bool has_begun() const noexcept { return shared_ != nullptr; }

    /// One piece more. A child that was forked off does none.
    ZTENSOR_COLD void add() noexcept {
        if (is_ours()) {
            shared_->add();
        }
    }

    /// Returns when no more than so many are left: with 0, when all are done. False if the caller had to do some.
    bool wait_until_left(std::size_t pieces) noexcept {
        return shared_ == nullptr || !is_ours() || shared_->wait_until_left(pieces);
    }

private:
    /// On the heap, because a thread may come to it after the caller has gone.
    class shared_line {
    public:
        shared_line(work run, void* context) noexcept : run_(run), context_(context) {}

        ZTENSOR_COLD void add() noexcept {
            mutex_.lock();
            ++left_;
            const bool must_ask = !is_asked_ && !is_busy_; // else somebody is there, or on the way
            is_asked_ = is_asked_ || must_ask;
            mutex_.unlock();
            const auto come = [](void* self) { static_cast<shared_line*>(self)->come(); };
            if (must_ask && !submit_task<shared_line>(current_executor(), come, this)) {
                const os_lock lock(mutex_);
                is_asked_ = false;
            }
        }

        bool wait_until_left(std::size_t pieces) noexcept {
            bool has_help = true;
            mutex_.lock();
            while (left_ > pieces) {
                if (is_busy_) {
                    done_.wait(mutex_);
                } else {
                    has_help = false;
                    do_next();
                }
            }
            mutex_.unlock();
            return has_help;
        }

        /// The caller's part; nothing is left to do.
        void leave() noexcept {
            mutex_.lock();
            has_caller_ = false;
            leave_locked();
        }

    private:
        void come() noexcept {
            mutex_.lock();
            is_asked_ = false;
            while (left_ != 0 && !is_busy_) {
                do_next();
            }
            leave_locked();
        }

        /// With the mutex held, which is let go of meanwhile.
        void do_next() noexcept {
            is_busy_ = true;
            const std::size_t number = next_++;
            mutex_.unlock();
            run_(context_, number);
            mutex_.lock();
            is_busy_ = false;
            --left_;
            done_.notify_one();
        }

        /// With the mutex held, which is let go of.
        void leave_locked() noexcept {
            const bool is_last = !has_caller_ && !is_asked_;
            mutex_.unlock();
            if (is_last) {
                delete this;
            }
        }

        const work run_;
        void* const context_;
        os_mutex mutex_;
        os_condition done_;
        std::size_t next_ = 0;
        std::size_t left_ = 0;  ///< with the one that is being done
        bool is_busy_ = false;  ///< somebody does one
        bool is_asked_ = false; ///< a thread, which has not come yet
        bool has_caller_ = true;
    };

    [[nodiscard]] bool is_ours() const noexcept { return process_ == process_id(); }

    const std::uint64_t process_ = process_id();
    shared_line* shared_ = nullptr; ///< once there is something to do
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
