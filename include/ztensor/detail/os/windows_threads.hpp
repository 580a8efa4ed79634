// SPDX-License-Identifier: MIT
//
// Threads on Windows, as posix_threads.hpp has them elsewhere.
#ifndef ZTENSOR_DETAIL_OS_WINDOWS_THREADS_HPP
#define ZTENSOR_DETAIL_OS_WINDOWS_THREADS_HPP

#include <ztensor/detail/os/windows.hpp> // first, for <windows.h>

#include <ztensor/detail/core/cast.hpp>

#include <new>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

using helper_thread = HANDLE;

/// What a thread is to do, handed over on the heap.
struct thread_start {
    void (*run)(void* context);
    void* context;
};

/// The module that holds this code stays loaded until the process ends: threads may come to the code at any time.
ZTENSOR_COLD inline void pin_module(void (*code)(void* context)) noexcept {
    HMODULE module = nullptr;
    static_cast<void>(::GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                                           static_cast<const wchar_t*>(address_of_code(code)), &module));
}

/// False where the system has no more threads.
[[nodiscard]] inline bool start_thread(helper_thread& thread, void (*run)(void* context), void* context) noexcept {
    auto* const start = new (std::nothrow) thread_start{run, context};
    if (start == nullptr) {
        return false;
    }
    struct entry {
        static DWORD WINAPI enter(void* handed_over) {
            const thread_start mine = *static_cast<thread_start*>(handed_over);
            delete static_cast<thread_start*>(handed_over);
            mine.run(mine.context);
            return 0;
        }
    };
    thread = ::CreateThread(nullptr, 0, entry::enter, start, 0, nullptr);
    if (thread == nullptr) {
        delete start;
        return false;
    }
    return true;
}

inline void join_thread(helper_thread thread) noexcept {
    ::WaitForSingleObject(thread, INFINITE);
    ::CloseHandle(thread);
}

/// For a thread that is never joined.
inline void detach_thread(helper_thread thread) noexcept {
    ::CloseHandle(thread);
}

/// As many threads as the host runs at once; at least 1.
[[nodiscard]] inline unsigned processor_count() noexcept {
    SYSTEM_INFO host = {};
    ::GetSystemInfo(&host);
    return host.dwNumberOfProcessors < 1 ? 1u : static_cast<unsigned>(host.dwNumberOfProcessors);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
