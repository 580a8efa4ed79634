// SPDX-License-Identifier: MIT
//
// Independent pieces of work on several threads.
#ifndef ZTENSOR_DETAIL_OS_THREADS_HPP
#define ZTENSOR_DETAIL_OS_THREADS_HPP

#include <ztensor/detail/os/system.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What several threads do at once: each calls `take_turns(context)`, which returns when there is nothing left.
struct shared_work {
    void (*take_turns)(void* context);
    void* context;
};

/// Runs `work` on the caller's thread and up to `helper_count` others: fewer where the system has no more. Returns when
/// all have.
inline void run_with_helpers(shared_work work, std::size_t helper_count) {
    std::vector<helper_thread> helpers;
    helpers.reserve(helper_count); // so that no thread is started that could not be waited for
    while (helpers.size() < helper_count) {
        helper_thread started;
        if (!start_thread(started, work.take_turns, work.context)) {
            break;
        }
        helpers.push_back(started);
    }
    work.take_turns(work.context);
    for (const helper_thread& helper : helpers) {
        join_thread(helper);
    }
}

/// Calls `work(i)` once for each i in [0, count), on up to `threads` threads (0: as many as the host runs at once), of
/// which the caller's is one. Returns when all have returned; `work` must not throw.
template <class Work>
void for_each_in_parallel(std::size_t count, unsigned threads, Work&& work) {
    struct turns {
        std::remove_reference_t<Work>& work;
        std::size_t count;
        std::atomic<std::size_t> next;
    } all{work, count, {0}};
    const auto take_turns = [](void* context) {
        turns& mine = *static_cast<turns*>(context);
        for (std::size_t i = mine.next++; i < mine.count; i = mine.next++) {
            mine.work(i);
        }
    };
    const std::size_t wanted = std::min<std::size_t>(threads != 0 ? threads : processor_count(), count);
    run_with_helpers({take_turns, &all}, wanted == 0 ? 0 : wanted - 1);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
