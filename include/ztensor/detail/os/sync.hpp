// SPDX-License-Identifier: MIT
//
// What threads wait on. The system's own, because <mutex> and <condition_variable> take longer to compile than all that
// reads a file.
#ifndef ZTENSOR_DETAIL_OS_SYNC_HPP
#define ZTENSOR_DETAIL_OS_SYNC_HPP

#include <ztensor/detail/os/system.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class os_mutex {
public:
    os_mutex() noexcept = default;
    os_mutex(const os_mutex&) = delete;
    os_mutex& operator=(const os_mutex&) = delete;

#if defined(_WIN32)
    void lock() noexcept {
        ::AcquireSRWLockExclusive(&native_);
    }
    void unlock() noexcept {
        ::ReleaseSRWLockExclusive(&native_);
    }

private:
    friend class os_condition;
    SRWLOCK native_ = SRWLOCK_INIT;
#else
    ~os_mutex() {
        ::pthread_mutex_destroy(&native_);
    }
    void lock() noexcept {
        ::pthread_mutex_lock(&native_);
    }
    void unlock() noexcept {
        ::pthread_mutex_unlock(&native_);
    }

private:
    friend class os_condition;
    ::pthread_mutex_t native_ = PTHREAD_MUTEX_INITIALIZER;
#endif
};

/// Holds a mutex as long as it lives.
class os_lock {
public:
    explicit os_lock(os_mutex& held) noexcept : held_(held) { held_.lock(); }
    os_lock(const os_lock&) = delete;
    os_lock& operator=(const os_lock&) = delete;
    ~os_lock() { held_.unlock(); }

private:
    os_mutex& held_;
};

class os_condition {
public:
    os_condition() noexcept = default;
    os_condition(const os_condition&) = delete;
    os_condition& operator=(const os_condition&) = delete;

    /// `held` is let go of while waiting. May return without a notice.
#if defined(_WIN32)
    void wait(os_mutex& held) noexcept {
        ::SleepConditionVariableSRW(&native_, &held.native_, INFINITE, 0);
    }
    void notify_one() noexcept {
        ::WakeConditionVariable(&native_);
    }

private:
    CONDITION_VARIABLE native_ = CONDITION_VARIABLE_INIT;
#else
    ~os_condition() {
        ::pthread_cond_destroy(&native_);
    }
    void wait(os_mutex& held) noexcept {
        ::pthread_cond_wait(&native_, &held.native_);
    }
    void notify_one() noexcept {
        ::pthread_cond_signal(&native_);
    }

private:
    ::pthread_cond_t native_ = PTHREAD_COND_INITIALIZER;
#endif
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
