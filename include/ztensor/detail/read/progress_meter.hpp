// SPDX-License-Identifier: MIT
//
// How far the work of several threads is: what the caller's progress function is told of it, and whether it has ended
// the work.
#ifndef ZTENSOR_DETAIL_READ_PROGRESS_METER_HPP
#define ZTENSOR_DETAIL_READ_PROGRESS_METER_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/options.hpp>

#include <algorithm>
#include <atomic>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Calls a progress function of the caller's while its thread waits for bytes; `tell() -> bool` is that call. What the
/// function throws meanwhile is kept, and thrown when the work has ended.
template <class Tell>
class asking_watch {
public:
    /// Without `is_wanted` the thread keeps the watch that it has.
    asking_watch(Tell tell, bool is_wanted) noexcept
        : tell_(std::move(tell)), watch_(is_wanted ? &ask : nullptr, this),
          thread_(is_wanted ? &watch_ : this_thread().watch) {}

    void stop() noexcept { watch_.stop(); }
    [[nodiscard]] bool is_stopped() const noexcept { return watch_.is_stopped(); }
    void rethrow() const { thrown_.rethrow(); }

private:
    static bool ask(void* self) noexcept {
        auto& mine = *static_cast<asking_watch*>(self);
        bool goes_on = false;
        auto work = [&] { goes_on = mine.tell_(); };
        mine.thrown_.guard(work);
        return goes_on;
    }

    Tell tell_;
    first_exception thrown_;
    wait_watch watch_;
    watched_thread thread_;
};

/// Counts for all threads, and calls the function on the one that it was made on alone.
class progress_meter {
public:
    explicit progress_meter(progress_function tell = {}) noexcept
        : tell_(std::move(tell)), watch_(telling{this}, is_watched()) {}
    progress_meter(const progress_meter&) = delete;
    progress_meter& operator=(const progress_meter&) = delete;

    [[nodiscard]] bool is_watched() const noexcept { return static_cast<bool>(tell_); }
    [[nodiscard]] uint64_t done_bytes() const noexcept { return done_bytes_; }

    /// Before the work begins: so many bytes more will be added.
    void expect(uint64_t bytes) noexcept { total_bytes_ = checked_add(total_bytes_, bytes).value_or(~uint64_t{0}); }

    /// So many bytes more are done, of the tensor of that name. Errors: cancelled. Throws what the function throws.
    result<void> add(uint64_t bytes, string_view name) {
        done_bytes_ += bytes;
        if (is_watched() && &is_at_work() == caller_ && !watch_.is_stopped()) {
            name_ = name;
            if (!tell()) {
                watch_.stop();
            }
        }
        return check();
    }

    /// Errors: cancelled, on any thread.
    result<void> check() const {
        return watch_.is_stopped() ? fail(errc::cancelled, "the progress function cancelled it at {} of {} bytes",
                                          {done_bytes_.load(), total_bytes_})
                                   : result<void>();
    }
    /// The same on the thread that it was made on, when no other is at work any more. Throws what the function threw
    /// while this thread waited.
    result<void> end() const {
        watch_.rethrow();
        return check();
    }

    /// All of it is done; the answer of the function makes no difference.
    void finish() const {
        if (is_watched()) {
            static_cast<void>(tell_({total_bytes_, total_bytes_, {}}));
        }
    }

private:
    struct telling {
        const progress_meter* meter;
        bool operator()() const { return meter->tell(); }
    };
    [[nodiscard]] bool tell() const {
        return tell_({(std::min)(done_bytes_.load(), total_bytes_), total_bytes_, name_});
    }

    const progress_function tell_;             ///< empty if the caller did not ask for it
    const bool* const caller_ = &is_at_work(); ///< stands for the thread
    uint64_t total_bytes_ = 0;
    std::atomic<uint64_t> done_bytes_{0};
    string_view name_; ///< of the tensor that this thread worked on last
    asking_watch<telling> watch_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
