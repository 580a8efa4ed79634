// SPDX-License-Identifier: MIT
//
// The memory of the whole program, counted, and allocations that fail on demand. A program that includes this also
// needs counted_memory.cpp. In sanitizer builds, whose runtime does its own book-keeping, nothing is counted and
// nothing fails.
#ifndef ZTENSOR_TESTS_SUPPORT_COUNTED_MEMORY_HPP
#define ZTENSOR_TESTS_SUPPORT_COUNTED_MEMORY_HPP

#include <atomic>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ZTENSOR_TESTS_ARE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define ZTENSOR_TESTS_ARE_SANITIZED 1
#endif
#endif

namespace support {

#if defined(ZTENSOR_TESTS_ARE_SANITIZED)
constexpr bool counts_memory = false;
#else
constexpr bool counts_memory = true;
#endif

extern std::atomic<std::size_t> allocation_count;
extern std::atomic<std::size_t> bytes_held;
extern std::atomic<std::size_t> most_bytes_held;
extern std::atomic<std::size_t> allocations_before_failure; ///< the one that makes it 0 fails; at 0 none does
extern std::atomic<bool> failures_go_on;                    ///< all that follow fail, too
extern std::atomic<std::size_t> failed_allocations;         ///< on demand

/// Memory that some work takes: in all at its worst moment, and what it still holds through what it returned.
struct memory_use {
    std::size_t most = 0;
    std::size_t held = 0;
};

template <class Work>
[[nodiscard]] memory_use measure_memory(Work&& work) {
    const std::size_t before = bytes_held;
    most_bytes_held = before;
    [[maybe_unused]] const auto kept = work();
    return {most_bytes_held - before, bytes_held - before};
}

} // namespace support

#endif
