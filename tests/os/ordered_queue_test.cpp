// SPDX-License-Identifier: MIT
//
// Ordered queues: each task is run once and begins in order, whichever thread runs it, and the caller never waits for a
// thread that does not start.
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/executors.hpp"

#include <ztensor/detail/os/tasks.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <numeric>
#include <thread>
#include <vector>

using support::late_executor;
using support::prompt_executor;
using support::used_executor;
using ztensor::detail::ordered_queue;

namespace {

/// Tasks that say when they are done, and by which thread.
struct logged_work {
    std::vector<std::size_t> numbers;
    std::vector<std::thread::id> threads;
    std::atomic<std::size_t> done{0};

    static void run(void* context, std::size_t number, std::size_t) {
        auto& mine = *static_cast<logged_work*>(context);
        mine.numbers.push_back(number);
        mine.threads.push_back(std::this_thread::get_id());
        ++mine.done;
    }
    [[nodiscard]] bool is_in_order() const {
        std::vector<std::size_t> expected(numbers.size());
        std::iota(expected.begin(), expected.end(), std::size_t{0});
        return numbers == expected;
    }
    [[nodiscard]] bool is_callers() const {
        return threads == std::vector<std::thread::id>(threads.size(), std::this_thread::get_id());
    }
};

/// A queue of such tasks.
struct logged_queue : logged_work, ordered_queue {
    logged_queue() { REQUIRE(begin(logged_work::run, static_cast<logged_work*>(this))); }
};

} // namespace

TEST_CASE("tasks of a queue are run once each and in order, whichever thread runs them") {
    late_executor never, refuses;
    refuses.accepts = false;
    prompt_executor prompt;
    for (ztensor::executor* const each : std::vector<ztensor::executor*>{nullptr, &never, &refuses, &prompt}) {
        const used_executor used(each);
        for (const std::size_t most : {1U, 2U, 5U}) {
            logged_queue queue;
            for (std::size_t added = 0; added < 500; ++added) {
                queue.wait_below(most);
                CHECK(added - queue.done < most);
                queue.submit();
            }
            queue.wait_below(1);
            CHECK(queue.numbers.size() == 500);
            CHECK(queue.is_in_order());
            CHECK((each == nullptr || queue.is_callers()));
        }
    }
    never.run_all();
}

TEST_CASE("a queue that has not begun does not wait") {
    ordered_queue queue;
    CHECK(!queue.has_begun());
    CHECK(queue.wait_below(1));
}

TEST_CASE("a caller who had to work by itself is told, and one who had help is, too") {
    late_executor late;
    const used_executor used(&late);
    logged_queue queue;
    queue.submit();
    CHECK(queue.wait_below(2));
    CHECK(!queue.wait_below(1));
    CHECK(queue.done == 1);
    queue.submit();
    CHECK(late.tasks.size() == 1); // which is still on its way, and will do
    late.run_all();
    CHECK(queue.done == 2);
    CHECK(queue.wait_below(1));
    queue.submit();
    CHECK(late.tasks.size() == 1);
    late.run_all();
    CHECK(queue.wait_below(1));
    CHECK(queue.is_in_order());
}

TEST_CASE("a thread runs all tasks that wait, and the caller goes on meanwhile") {
    struct gate {
        std::atomic<bool> is_open{false};
        std::atomic<int> done{0};
    } held;
    ordered_queue queue;
    REQUIRE(queue.begin(
        [](void* context, std::size_t, std::size_t) {
            auto& mine = *static_cast<gate*>(context);
            while (!mine.is_open) {
                std::this_thread::yield();
            }
            ++mine.done;
        },
        &held));
    queue.submit();
    queue.submit();
    queue.submit();
    CHECK(queue.wait_below(4)); // the caller does not have to take any
    CHECK(held.done == 0);
    held.is_open = true;
    queue.wait_below(1);
    CHECK(held.done == 3);
}

TEST_CASE("tasks that wait are run before their queue is destroyed, and a thread that starts later finds none") {
    late_executor late;
    const used_executor used(&late);
    logged_work work;
    {
        ordered_queue queue;
        REQUIRE(queue.begin(logged_work::run, &work));
        queue.submit();
        queue.submit();
    }
    CHECK(work.done == 2);
    late.run_all();
    CHECK(work.done == 2);
    CHECK(work.is_callers());
}

TEST_CASE("a queue is destroyed when the thread that is at work has finished its task") {
    struct slow_task {
        std::atomic<bool> is_begun{false}, is_done{false};
    } task;
    {
        ordered_queue queue;
        REQUIRE(queue.begin(
            [](void* context, std::size_t, std::size_t) {
                auto& mine = *static_cast<slow_task*>(context);
                mine.is_begun = true;
                for (int i = 0; i < 1000; ++i) {
                    std::this_thread::yield();
                }
                mine.is_done = true;
            },
            &task));
        queue.submit();
        while (!task.is_begun) { // by another thread: nobody here takes it
            std::this_thread::yield();
        }
    }
    CHECK(task.is_done);
}

TEST_CASE("another executor may be set while a thread of the one before is still on its way") {
    late_executor late;
    prompt_executor prompt;
    logged_queue queue;
    {
        const used_executor used(&late);
        queue.submit();
    }
    {
        const used_executor used(&prompt);
        queue.submit(); // asks nobody else
        CHECK(queue.done == 0);
        late.run_all();
        CHECK(queue.done == 2);
        queue.submit();
        CHECK(queue.done == 3);
    }
    CHECK(queue.wait_below(1));
    CHECK(queue.is_in_order());
}

namespace {

/// Tasks of which several run at once. The first one waits until the test lets it go.
struct numbered_work {
    std::atomic<bool> may_end{false};
    std::atomic<unsigned> slots{0}; ///< one bit each, of those in use
    std::atomic<bool> is_shared{false};
    std::atomic<unsigned> most_slot{0};
    std::vector<std::atomic<int>> runs = std::vector<std::atomic<int>>(100);

    static void run(void* context, std::size_t number, std::size_t slot) {
        auto& mine = *static_cast<numbered_work*>(context);
        const unsigned bit = 1U << slot;
        mine.is_shared = mine.is_shared || (mine.slots.fetch_or(bit) & bit) != 0;
        while (number == 0 && !mine.may_end) {
            std::this_thread::yield();
        }
        if (slot > mine.most_slot) {
            mine.most_slot = static_cast<unsigned>(slot);
        }
        ++mine.runs[number];
        mine.slots.fetch_and(~bit);
    }
};

} // namespace

TEST_CASE("several tasks at once have slots of their own, and are waited for in order") {
    late_executor never, refuses;
    refuses.accepts = false;
    prompt_executor prompt;
    for (ztensor::executor* const each : std::vector<ztensor::executor*>{nullptr, &never, &refuses, &prompt}) {
        const used_executor used(each);
        numbered_work work;
        work.may_end = true;
        ordered_queue queue;
        REQUIRE(queue.begin(numbered_work::run, &work, 3));
        for (std::size_t first = 0, submitted = 0; first < work.runs.size(); ++first) {
            for (; submitted < std::min(work.runs.size(), first + 8); ++submitted) {
                queue.submit();
            }
            queue.wait_below(submitted - first);
            CHECK(work.runs[first] == 1);
        }
        CHECK_FALSE(work.is_shared);
        CHECK(work.most_slot < (each == nullptr ? 3U : 1U));
        CHECK(never.tasks.size() <= 2); // and the caller
    }
    never.run_all();
}

TEST_CASE("a task that takes long holds up the caller only when all others are done") {
    numbered_work work;
    ordered_queue queue;
    REQUIRE(queue.begin(numbered_work::run, &work, 2));
    queue.submit();
    while (work.slots == 0) { // until a thread has taken it
        std::this_thread::yield();
    }
    queue.submit();
    queue.submit();
    std::thread opener([&] {
        while (work.runs[2] == 0) {
            std::this_thread::yield();
        }
        work.may_end = true;
    });
    CHECK_FALSE(queue.wait_below(3));
    CHECK(work.runs[0] == 1);
    CHECK(work.runs[2] == 1);
    opener.join();
}

#if !defined(_WIN32)
TEST_CASE("a child that was forked off runs no task of its parent's queue, nor waits for it") {
    late_executor late;
    const used_executor used(&late);
    logged_queue queue;
    queue.submit();
    const int outcome = support::exit_code_of([&] {
        queue.submit();
        queue.wait_below(1);
        return queue.done == 0 ? 42 : 1;
    });
    CHECK(outcome == 42);
    queue.wait_below(1);
    CHECK(queue.done == 1);
    late.run_all();
}
#endif
