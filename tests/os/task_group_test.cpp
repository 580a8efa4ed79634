// SPDX-License-Identifier: MIT
//
// Work on the library's pool and on executors of the caller's: everything is done once, nothing deadlocks, no thread is
// lost.
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/counted_memory.hpp"
#include "support/executors.hpp"

#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/options.hpp>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/resource.h>
#endif

using support::late_executor;
using support::used_executor;
using ztensor::detail::for_each_in_parallel;

namespace {

/// How often each of `count` pieces was done.
std::vector<int> times_done(std::size_t count, unsigned threads) {
    std::vector<std::atomic<int>> done(count);
    for_each_in_parallel(count, threads, [&](std::size_t i) { ++done[i]; });
    return {done.begin(), done.end()};
}

} // namespace

TEST_CASE("each piece of work is done once, on however many threads") {
    for (const unsigned threads : {0U, 1U, 2U, 16U, 1000U}) {
        for (const std::size_t count : {0U, 1U, 2U, 1000U}) {
            CAPTURE(threads, count);
            CHECK(times_done(count, threads) == std::vector<int>(count, 1));
        }
    }
}

TEST_CASE("two threads really work at once") {
    std::atomic<int> here{0};
    for_each_in_parallel(2, 2, [&](std::size_t) {
        ++here;
        while (here < 2) { // ends only if the other piece was begun too
            std::this_thread::yield();
        }
    });
    CHECK(here == 2);
}

TEST_CASE("one thread, or a pool of one, is the caller's") {
    const auto all_are_here = [](unsigned threads) {
        const std::thread::id mine = std::this_thread::get_id();
        std::atomic<bool> elsewhere{false};
        for_each_in_parallel(50, threads,
                             [&](std::size_t) { elsewhere = elsewhere || std::this_thread::get_id() != mine; });
        return !elsewhere;
    };
    CHECK(all_are_here(1));
    ztensor::limit_pool(1);
    CHECK(all_are_here(8));
    ztensor::limit_pool(0);
}

TEST_CASE("work in the middle of work does not deadlock") {
    std::atomic<int> done{0};
    for_each_in_parallel(8, 8, [&](std::size_t) {
        for_each_in_parallel(8, 8, [&](std::size_t) { for_each_in_parallel(4, 3, [&](std::size_t) { ++done; }); });
    });
    CHECK(done == 8 * 8 * 4);
}

TEST_CASE("work from many threads at once is done") {
    std::vector<std::thread> callers;
    std::atomic<int> done{0};
    for (int i = 0; i < 16; ++i) {
        callers.emplace_back([&] { for_each_in_parallel(100, 4, [&](std::size_t) { ++done; }); });
    }
    for (std::thread& each : callers) {
        each.join();
    }
    CHECK(done == 1600);
}

#if ZTENSOR_HAS_EXCEPTIONS
TEST_CASE("an exception ends the work, comes to the caller, and costs no thread") {
    for (const unsigned threads : {1U, 2U, 4U, 16U}) {
        std::atomic<int> begun{0};
        CHECK_THROWS_AS(for_each_in_parallel(1000, threads,
                                             [&](std::size_t i) {
                                                 ++begun;
                                                 if (i == 10) {
                                                     throw std::runtime_error("no more");
                                                 }
                                             }),
                        std::runtime_error);
        CHECK((threads > 1 || begun == 11));
    }
    CHECK(times_done(100, 4) == std::vector<int>(100, 1));
}

TEST_CASE("of exceptions on several threads the caller gets one") {
    std::atomic<int> here{0};
    const auto throw_at_once = [&](std::size_t i) {
        ++here;
        while (here < 2) {
            std::this_thread::yield();
        }
        throw i;
    };
    CHECK_THROWS_AS(for_each_in_parallel(2, 2, throw_at_once), std::size_t);
    CHECK(here == 2);
}
#endif

TEST_CASE("the library's own pool works on as many threads as there are processors") {
    CHECK(ztensor::detail::current_executor().concurrency() >= 1);
    CHECK(ztensor::detail::current_executor().concurrency() == ztensor::detail::threads_for(0));
}

TEST_CASE("an executor that is late, or takes nothing, keeps nobody waiting") {
    late_executor late;
    const used_executor used(&late);
    CHECK(times_done(100, 0) == std::vector<int>(100, 1));
    CHECK(late.tasks.size() == 3); // concurrency, less the caller
    CHECK(times_done(100, 2) == std::vector<int>(100, 1));
    CHECK(late.tasks.size() == 4);
    late.run_all(); // who comes when all is over, leaves
    late.accepts = false;
    CHECK(times_done(100, 8) == std::vector<int>(100, 1));
    CHECK(times_done(100, 1) == std::vector<int>(100, 1));
    CHECK(late.tasks.empty());
}

#if defined(__linux__) && !defined(ZTENSOR_TESTS_ARE_SANITIZED)

TEST_CASE("where the system gives no thread that is told, and the work is done") {
    constexpr int has_threads = 77;
    const int outcome = support::exit_code_of([] {
        const ::rlimit no_room = {1, 1}; // for the stack of a thread
        ::setrlimit(RLIMIT_AS, &no_room);
        const auto stay = [](void*) { ::pause(); };
        int started = 0; // on stacks that are left of earlier threads
        while (ztensor::detail::start_thread(stay, nullptr)) {
            if (++started == 100) {
                return has_threads;
            }
        }
        std::atomic<int> done{0};
        for_each_in_parallel(10, 4, [&](std::size_t) { ++done; });
        return done == 10 ? 0 : 1;
    });
    if (outcome == has_threads) {
        WARN("skipped: threads start here without memory of their own");
        return;
    }
    CHECK(outcome == 0);
}

#endif
