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

/// Counts for all threads, and calls the function on the one that it was made on alone.
class progress_meter {
public:
    explicit progress_meter(progress_function tell = {}) noexcept : tell_(std::move(tell)) {}
    progress_meter(const progress_meter&) = delete;
    progress_meter& operator=(const progress_meter&) = delete;

    [[nodiscard]] bool is_watched() const noexcept { return static_cast<bool>(tell_); }
    [[nodiscard]] uint64_t done_bytes() const noexcept { return done_bytes_; }

    /// Before the work begins: so many bytes more will be added.
    void expect(uint64_t bytes) noexcept { total_bytes_ = checked_add(total_bytes_, bytes).value_or(~uint64_t{0}); }

    /// So many bytes more are done, of the tensor of that name. Errors: cancelled. Throws what the function throws.
    result<void> add(uint64_t bytes, string_view name) {
        const uint64_t now = done_bytes_ += bytes;
        const bool tells = is_watched() && &is_at_work() == caller_ && !is_cancelled_;
        if (tells && !tell_({(std::min)(now, total_bytes_), total_bytes_, name})) {
            is_cancelled_ = true;
        }
        return check();
    }

    /// Errors: cancelled, on any thread.
    result<void> check() const {
        return is_cancelled_ ? fail(errc::cancelled, "the progress function cancelled it at {} of {} bytes",
                                    {done_bytes_.load(), total_bytes_})
                             : result<void>();
    }

    /// All of it is done; the answer of the function makes no difference.
    void finish() const {
        if (is_watched()) {
            static_cast<void>(tell_({total_bytes_, total_bytes_, {}}));
        }
    }

private:
    const progress_function tell_;             ///< empty if the caller did not ask for it
    const bool* const caller_ = &is_at_work(); ///< stands for the thread
    uint64_t total_bytes_ = 0;
    std::atomic<uint64_t> done_bytes_{0};
    std::atomic<bool> is_cancelled_{false};
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
