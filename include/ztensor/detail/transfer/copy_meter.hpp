// SPDX-License-Identifier: MIT
//
// How far a copy or an export is: what the caller's progress function is told of it, and whether it has ended the work.
#ifndef ZTENSOR_DETAIL_TRANSFER_COPY_METER_HPP
#define ZTENSOR_DETAIL_TRANSFER_COPY_METER_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/progress_meter.hpp>
#include <ztensor/result.hpp>

#include <functional>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// For one thread. Progress is copy_progress, whose header needs this one.
template <class Progress>
class copy_meter {
public:
    explicit copy_meter(const std::function<bool(const Progress&)>& tell)
        : tell_(tell), watch_(telling{this}, static_cast<bool>(tell)) {}

    /// Before the work begins: so many bytes more will be added.
    void expect(uint64_t bytes) noexcept { progress_.total_bytes += bytes; }

    /// An object of that name is done, or has failed. Errors: cancelled; what it failed with. Throws what the function
    /// throws.
    result<void> add(result<void> outcome, string_view name, uint64_t bytes) {
        watch_.rethrow();
        if (watch_.is_stopped()) {
            return cancelled();
        }
        ZTENSOR_TRY(std::move(outcome));
        progress_.object = name;
        progress_.done_bytes += bytes;
        return tell_ && !tell_(progress_) ? cancelled() : result<void>();
    }

private:
    struct telling {
        const copy_meter* meter;
        bool operator()() const { return meter->tell_(meter->progress_); }
    };
    [[nodiscard]] error cancelled() const {
        return fail(errc::cancelled, "the progress function cancelled it after {} of {} bytes",
                    {progress_.done_bytes, progress_.total_bytes});
    }

    const std::function<bool(const Progress&)>& tell_;
    Progress progress_;
    asking_watch<telling> watch_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
