// SPDX-License-Identifier: MIT
//
// A lease on a file: nobody opens it for writing or cuts it off while somebody here looks at its bytes.
#ifndef ZTENSOR_DETAIL_OS_SHARED_LEASE_HPP
#define ZTENSOR_DETAIL_OS_SHARED_LEASE_HPP

#include <ztensor/detail/os/calls.hpp>
#include <ztensor/detail/os/sync.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The lease that one handle can have, for any number of threads: the first takes it, the last ends it.
class shared_lease {
public:
    /// False where the system gives none: somebody has the file open for writing, or waits to. Who waits gets the file
    /// when those who look at it are done, so a lease is for moments: after 45 s Linux waits no longer.
    [[nodiscard]] bool take(os_reading& os, os_handle file) noexcept {
        const os_lock lock(mutex_);
        const bool is_taken = holders_ == 0 ? os.take_lease(file) : os.has_lease(file);
        holders_ += is_taken ? 1 : 0;
        return is_taken;
    }

    /// Of one who took it.
    void give_back(os_reading& os, os_handle file) noexcept {
        const os_lock lock(mutex_);
        if (--holders_ == 0) {
            os.end_lease(file);
        }
    }

private:
    os_mutex mutex_;
    unsigned holders_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
