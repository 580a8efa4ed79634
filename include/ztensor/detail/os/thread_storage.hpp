// SPDX-License-Identifier: MIT
//
// What a thread keeps from call to call. The only place of thread_local: what it holds may be asked for at any time,
// also by destructors of statics and of other thread_local objects, and by functions given to atexit().
#ifndef ZTENSOR_DETAIL_OS_THREAD_STORAGE_HPP
#define ZTENSOR_DETAIL_OS_THREAD_STORAGE_HPP

#include <ztensor/version.hpp>

#include <cstddef>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// An object on the heap that a thread keeps for its next call, because making it costs much.
struct kept_object {
    void* object = nullptr;
    std::size_t size = 0; ///< of memory, in bytes
    void (*destroy)(void* object) = nullptr;
};

enum class kept_kind : unsigned char { memory, zstd_decoder, zstd_encoder };
inline constexpr std::size_t kept_kinds = 3;

/// Nothing in it has a destructor, so that it is whole until the thread's memory is gone.
struct thread_state {
    bool is_at_work = false; ///< for a call of the library, and so on all threads that such a call has
    bool is_over = false;    ///< what was kept is gone, and nothing is kept any more
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
    kept_object& place = this_thread().kept[static_cast<std::size_t>(kind)];
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
    kept_object& place = state.kept[static_cast<std::size_t>(kind)];
    if (place.object != nullptr) {
        place.destroy(place.object);
    }
    place = object;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
