// SPDX-License-Identifier: MIT
//
// Threads on Linux, macOS and the BSDs. They are guests in the program: its signals are not theirs, and the code that
// they run stays loaded. WASI has none.
#ifndef ZTENSOR_DETAIL_OS_POSIX_THREADS_HPP
#define ZTENSOR_DETAIL_OS_POSIX_THREADS_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/version.hpp>

#include <new>

#include <pthread.h>
#include <unistd.h>
#if !defined(__wasi__)
#include <dlfcn.h>
#include <signal.h>
#endif

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

using helper_thread = ::pthread_t;

#if defined(__wasi__)
inline void pin_module(void (*)(void* context)) noexcept {
}
[[nodiscard]] inline bool start_thread(helper_thread&, void (*)(void* context), void*) noexcept {
    return false;
}
inline void join_thread(helper_thread) noexcept {
}
inline void detach_thread(helper_thread) noexcept {
}
#else
/// What a thread is to do, handed over on the heap.
struct thread_start {
    void (*run)(void* context);
    void* context;
};

/// Signals of the process belong to the program's own threads: those that the library starts take only what they cause
/// themselves, by a fault.
[[nodiscard]] inline ::sigset_t signals_of_others() noexcept {
    ::sigset_t signals;
    sigfillset(&signals); // macros, on some systems
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
        sigdelset(&signals, fault);
    }
    return signals;
}

#if defined(RTLD_NOLOAD) && defined(RTLD_NODELETE)
#if defined(__ELF__)
// Null in static programs that hold no loader. In those of glibc, whose own code brings one in, the linker warns of
// dlopen() in has_loader(): it is only called with RTLD_NOLOAD, which loads nothing, so that the warning has no
// meaning.
[[maybe_unused]] static decltype(::dladdr) module_of __attribute__((weakref("dladdr")));
[[maybe_unused]] static decltype(::dlopen) load_module __attribute__((weakref("dlopen")));
[[nodiscard]] inline bool has_loader() noexcept {
    return module_of != nullptr && load_module != nullptr;
}
#else
inline constexpr auto* module_of = &::dladdr;
inline constexpr auto* load_module = &::dlopen;
[[nodiscard]] inline bool has_loader() noexcept {
    return true;
}
#endif
/// The module that holds this code stays loaded until the process ends: threads may come to the code at any time.
ZTENSOR_COLD inline void pin_module(void (*code)(void* context)) noexcept {
    ::Dl_info found = {};
    if (has_loader() && module_of(address_of_code(code), &found) != 0) {
        static_cast<void>(load_module(found.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE)); // null: the program
    }
}
#else
inline void pin_module(void (*)(void* context)) noexcept {
}
#endif

/// False where the system has no more threads.
[[nodiscard]] inline bool start_thread(helper_thread& thread, void (*run)(void* context), void* context) noexcept {
    auto* const start = new (std::nothrow) thread_start{run, context};
    if (start == nullptr) {
        return false;
    }
    const auto enter = [](void* handed_over) -> void* {
        const thread_start mine = *static_cast<thread_start*>(handed_over);
        delete static_cast<thread_start*>(handed_over);
        mine.run(mine.context);
        return nullptr;
    };
    const ::sigset_t blocked = signals_of_others();
    ::sigset_t callers;
    ::pthread_sigmask(SIG_SETMASK, &blocked, &callers); // which the new thread inherits
    const bool is_started = ::pthread_create(&thread, nullptr, enter, start) == 0;
    ::pthread_sigmask(SIG_SETMASK, &callers, nullptr);
    if (!is_started) {
        delete start;
    }
    return is_started;
}

inline void join_thread(helper_thread thread) noexcept {
    ::pthread_join(thread, nullptr);
}

/// For a thread that is never joined.
inline void detach_thread(helper_thread thread) noexcept {
    ::pthread_detach(thread);
}
#endif

/// As many threads as the host runs at once; at least 1.
[[nodiscard]] inline unsigned processor_count() noexcept {
    const long count = ::sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1u : static_cast<unsigned>(count);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
