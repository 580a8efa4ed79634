// SPDX-License-Identifier: MIT
//
// Statics that outlive all code that may use them.
#ifndef ZTENSOR_DETAIL_CORE_NEVER_DESTROYED_HPP
#define ZTENSOR_DETAIL_CORE_NEVER_DESTROYED_HPP

#include <ztensor/version.hpp>

#include <new>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// For a static in a function, of a type with a destructor: that would run while the program ends, and destructors of
/// other statics, functions given to atexit() and threads may ask for the object after it. What it holds on the heap
/// stays reachable, so that no search for leaks finds it.
template <class T>
class never_destroyed {
public:
    template <class... Arguments>
    explicit never_destroyed(Arguments&&... arguments) {
        ::new (static_cast<void*>(memory_)) T(std::forward<Arguments>(arguments)...);
    }
    never_destroyed(const never_destroyed&) = delete;
    never_destroyed& operator=(const never_destroyed&) = delete;

    [[nodiscard]] const T& get() const noexcept {
        return *std::launder(static_cast<const T*>(static_cast<const void*>(memory_)));
    }
    [[nodiscard]] T& get() noexcept { return *std::launder(static_cast<T*>(static_cast<void*>(memory_))); }

private:
    alignas(T) unsigned char memory_[sizeof(T)];
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
