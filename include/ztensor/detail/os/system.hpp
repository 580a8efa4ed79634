// SPDX-License-Identifier: MIT
//
// The operating system that this is compiled for: its calls, what threads wait on, and what they keep.
#ifndef ZTENSOR_DETAIL_OS_SYSTEM_HPP
#define ZTENSOR_DETAIL_OS_SYSTEM_HPP

#if defined(_WIN32)
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/windows.hpp>
#else
#include <ztensor/detail/os/posix_writing.hpp>
#endif

#include <new>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The real calls that only read, and all of them. They hold nothing, so that any thread may use them at any time, at
/// exit too.
[[nodiscard]] inline os_reading& operating_system_for_reading() noexcept {
    class reading_calls final : public system_reading<os_reading> {};
    static reading_calls calls;
    return calls;
}
[[nodiscard]] inline os_calls& operating_system() noexcept {
    static system_calls calls;
    return calls;
}

/// A thread that is never joined. False where the system has no more threads.
[[nodiscard]] inline bool start_thread(void (*run)(void* context), void* context) noexcept {
    auto* const start = new (std::nothrow) thread_start{run, context};
    const bool is_started = start != nullptr && start_system_thread(start);
    if (!is_started) {
        delete start;
    }
    return is_started;
}

/// A thread that its owner joins.
class os_thread {
public:
    os_thread() noexcept = default;
    os_thread(const os_thread&) = delete;
    os_thread& operator=(const os_thread&) = delete;
    /// join() was called, if the thread was started; in a process that was forked off meanwhile, where the thread is
    /// not, it must not be.
    ~os_thread() = default;

    /// False where the system has no more threads. To be called once.
    [[nodiscard]] bool start(void (*run)(void* context), void* context) noexcept {
        auto* const handed_over = new (std::nothrow) thread_start{run, context};
        is_started_ = handed_over != nullptr && create_system_thread(handed_over, native_);
        if (!is_started_) {
            delete handed_over;
        }
        return is_started_;
    }
    /// Waits until the thread has ended, if it was started.
    void join() noexcept {
        if (is_started_) {
            is_started_ = false;
            join_system_thread(native_);
        }
    }
    [[nodiscard]] bool is_started() const noexcept { return is_started_; }

private:
    system_thread native_{};
    bool is_started_ = false;
};

// -- sync
//
// What threads wait on. The system's own, because <mutex> and <condition_variable> take longer to compile than all that
// reads a file.

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
    os_condition(const os_condition&) = delete;
    os_condition& operator=(const os_condition&) = delete;

    // wait() releases `held` meanwhile, and may return without a notice; wait_for() also returns after `seconds`, by a
    // clock that nobody sets.
#if defined(_WIN32)
    os_condition() noexcept = default;
    void wait(os_mutex& held) noexcept {
        ::SleepConditionVariableSRW(&native_, &held.native_, INFINITE, 0);
    }
    void wait_for(os_mutex& held, double seconds) noexcept {
        ::SleepConditionVariableSRW(&native_, &held.native_, static_cast<DWORD>(seconds * 1000) + 1, 0);
    }
    void notify_one() noexcept {
        ::WakeConditionVariable(&native_);
    }
    void notify_all() noexcept {
        ::WakeAllConditionVariable(&native_);
    }

private:
    CONDITION_VARIABLE native_ = CONDITION_VARIABLE_INIT;
#else
#if defined(__APPLE__) || defined(__wasi__)
    os_condition() noexcept = default;
#else
    os_condition() noexcept {
        ::pthread_condattr_t how;
        ::pthread_condattr_init(&how);
        ::pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
        ::pthread_cond_init(&native_, &how);
        ::pthread_condattr_destroy(&how);
    }
#endif
#if defined(__GLIBC__) // which frees nothing there, but waits for waiters: a forked child for those of its parent
    ~os_condition() = default;
#else
    ~os_condition() {
        ::pthread_cond_destroy(&native_);
    }
#endif
    void wait(os_mutex& held) noexcept {
        ::pthread_cond_wait(&native_, &held.native_);
    }
#if defined(__wasi__) // which has one thread
    void wait_for(os_mutex& held, double /*seconds*/) noexcept {
        wait(held);
    }
#else
    void wait_for(os_mutex& held, double seconds) noexcept {
        constexpr long second = 1'000'000'000;
        ::timespec until = {};
#if !defined(__APPLE__)
        ::clock_gettime(CLOCK_MONOTONIC, &until);
#endif
        until.tv_sec += static_cast<::time_t>(seconds);
        until.tv_nsec += static_cast<long>((seconds - static_cast<double>(static_cast<::time_t>(seconds))) * second);
        until.tv_sec += until.tv_nsec / second;
        until.tv_nsec %= second;
#if defined(__APPLE__)
        ::pthread_cond_timedwait_relative_np(&native_, &held.native_, &until);
#else
        ::pthread_cond_timedwait(&native_, &held.native_, &until);
#endif
    }
#endif
    void notify_one() noexcept {
        ::pthread_cond_signal(&native_);
    }
    void notify_all() noexcept {
        ::pthread_cond_broadcast(&native_);
    }

private:
    ::pthread_cond_t native_ = PTHREAD_COND_INITIALIZER;
#endif
};

// -- thread storage
//
// What a thread keeps from call to call. The only place of thread_local: what it holds may be asked for at any time,
// also by destructors of statics and of other thread_local objects, and by functions given to atexit().

/// An object on the heap that a thread keeps for its next call, because making it costs much.
struct kept_object {
    void* object = nullptr;
    size_t size = 0; ///< of memory, in bytes
    void (*destroy)(void* object) = nullptr;
};

enum class kept_kind : unsigned char { memory, zstd_decoder, zstd_encoder };
inline constexpr size_t kept_kinds = 3;

class wait_watch;

/// Nothing in it has a destructor, so that it is whole until the thread's memory is gone.
struct thread_state {
    bool is_at_work = false; ///< for a call of the library, and so on all threads that such a call has
    bool is_over = false;    ///< what was kept is gone, and nothing is kept any more
    wait_watch* watch = nullptr; ///< of the call that the thread works for; null: none
    kept_object kept[kept_kinds];
};

[[nodiscard]] inline thread_state& this_thread() noexcept {
    static thread_local thread_state mine;
    return mine;
}

/// Somewhere that is each thread's own.
[[nodiscard]] inline const void* thread_mark() noexcept {
    return &this_thread();
}

[[nodiscard]] inline bool& is_at_work() noexcept {
    return this_thread().is_at_work;
}

/// Destroys what a thread has kept, when it ends.
struct thread_end {
    ~thread_end() {
        thread_state& state = this_thread();
        state.is_over = true;
        for (kept_object& each : state.kept) {
            const kept_object last = each;
            each = {};
            if (last.object != nullptr) {
                last.destroy(last.object);
            }
        }
    }
};

/// What the thread keeps of that kind, which is the caller's from now on; an empty one if it keeps none, as while one
/// is lent out.
[[nodiscard]] inline kept_object take_kept(kept_kind kind) noexcept {
    kept_object& place = this_thread().kept[static_cast<size_t>(kind)];
    const kept_object taken = place;
    place = {};
    return taken;
}

/// Keeps `object` instead of what was kept; destroys it where the thread keeps nothing any more.
inline void keep(kept_kind kind, const kept_object& object) noexcept {
    thread_state& state = this_thread();
    if (state.is_over) {
        object.destroy(object.object);
        return;
    }
#if !defined(__wasi__) // whose one thread ends with the program, and which has no destructors of thread_local objects
    static thread_local thread_end end;
    static_cast<void>(end);
#endif
    kept_object& place = state.kept[static_cast<size_t>(kind)];
    if (place.object != nullptr) {
        place.destroy(place.object);
    }
    place = object;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
