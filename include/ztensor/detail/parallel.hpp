// SPDX-License-Identifier: MIT
//
// Independent pieces of work on several threads.
#ifndef ZTENSOR_DETAIL_PARALLEL_HPP
#define ZTENSOR_DETAIL_PARALLEL_HPP

#include <ztensor/version.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace ztensor {
inline namespace v0 {
namespace detail {

/// Calls `work(i)` once for each i in [0, count), on up to `threads` threads (0: as many as the host runs at once), of
/// which the caller's is one: fewer where the system has no more. Returns when all have returned; `work` must not
/// throw.
template <class Work>
void for_each_in_parallel(std::size_t count, unsigned threads, Work&& work) {
    std::atomic<std::size_t> next{0};
    const auto take_turns = [&] {
        for (std::size_t i = next++; i < count; i = next++) {
            work(i);
        }
    };
    const std::size_t wanted = threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> helpers;
    const auto start_helpers = [&] {
        for (std::size_t helper = 1; helper < std::min(wanted, count); ++helper) {
            helpers.emplace_back(take_turns);
        }
    };
#if ZTENSOR_HAS_EXCEPTIONS
    try {
        start_helpers();
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
#else
    start_helpers();
#endif
    take_turns();
    for (std::thread& helper : helpers) {
        helper.join();
    }
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
