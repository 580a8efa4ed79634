// SPDX-License-Identifier: MIT
//
// Work in a line: each piece is done once and in order, whichever thread comes to it, and nobody waits for one that
// does not come.
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/executors.hpp"

#include <ztensor/detail/os/work_line.hpp>

#include <atomic>
#include <cstddef>
#include <numeric>
#include <thread>
#include <vector>

using support::late_executor;
using support::prompt_executor;
using support::used_executor;
using ztensor::detail::work_line;

namespace {

/// Pieces that say when they are done, and by whom.
struct logged_work {
    std::vector<std::size_t> numbers;
    std::vector<std::thread::id> threads;
    std::atomic<std::size_t> done{0};

    static void run(void* context, std::size_t number) {
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

/// A line of such pieces.
struct logged_line : logged_work, work_line {
    logged_line() { REQUIRE(begin(logged_work::run, static_cast<logged_work*>(this))); }
};

} // namespace

TEST_CASE("pieces in a line are done once each and in order, whoever comes to them") {
    late_executor never, refuses;
    refuses.accepts = false;
    prompt_executor prompt;
    for (ztensor::executor* const each : std::vector<ztensor::executor*>{nullptr, &never, &refuses, &prompt}) {
        const used_executor used(each);
        for (const std::size_t most : {1U, 2U, 5U}) {
            logged_line line;
            for (std::size_t added = 0; added < 500; ++added) {
                line.wait_until_left(most - 1);
                CHECK(added - line.done < most);
                line.add();
            }
            line.wait_until_left(0);
            CHECK(line.numbers.size() == 500);
            CHECK(line.is_in_order());
            CHECK((each == nullptr || line.is_callers()));
        }
    }
    never.run_all();
}

TEST_CASE("a line that has not begun holds nobody up") {
    work_line line;
    CHECK(!line.has_begun());
    CHECK(line.wait_until_left(0));
}

TEST_CASE("a caller who had to work by itself is told, and one who had help is, too") {
    late_executor late;
    const used_executor used(&late);
    logged_line line;
    line.add();
    CHECK(line.wait_until_left(1));
    CHECK(!line.wait_until_left(0));
    CHECK(line.done == 1);
    line.add();
    CHECK(late.tasks.size() == 1); // which is still on its way, and will do
    late.run_all();
    CHECK(line.done == 2);
    CHECK(line.wait_until_left(0));
    line.add();
    CHECK(late.tasks.size() == 1);
    late.run_all();
    CHECK(line.wait_until_left(0));
    CHECK(line.is_in_order());
}

TEST_CASE("a thread takes all that waits, and the caller goes on meanwhile") {
    struct gate {
        std::atomic<bool> is_open{false};
        std::atomic<int> done{0};
    } held;
    work_line line;
    REQUIRE(line.begin(
        [](void* context, std::size_t) {
            auto& mine = *static_cast<gate*>(context);
            while (!mine.is_open) {
                std::this_thread::yield();
            }
            ++mine.done;
        },
        &held));
    line.add();
    line.add();
    line.add();
    CHECK(line.wait_until_left(3)); // the caller does not have to take any
    CHECK(held.done == 0);
    held.is_open = true;
    line.wait_until_left(0);
    CHECK(held.done == 3);
}

TEST_CASE("what waits is done before its line goes, and a thread that comes later finds nothing") {
    late_executor late;
    const used_executor used(&late);
    logged_work work;
    {
        work_line line;
        REQUIRE(line.begin(logged_work::run, &work));
        line.add();
        line.add();
    }
    CHECK(work.done == 2);
    late.run_all();
    CHECK(work.done == 2);
    CHECK(work.is_callers());
}

TEST_CASE("a line goes when the thread that is at work has done its piece") {
    struct slow_piece {
        std::atomic<bool> is_begun{false}, is_done{false};
    } piece;
    {
        work_line line;
        REQUIRE(line.begin(
            [](void* context, std::size_t) {
                auto& mine = *static_cast<slow_piece*>(context);
                mine.is_begun = true;
                for (int i = 0; i < 1000; ++i) {
                    std::this_thread::yield();
                }
                mine.is_done = true;
            },
            &piece));
        line.add();
        while (!piece.is_begun) { // by another thread: nobody here takes it
            std::this_thread::yield();
        }
    }
    CHECK(piece.is_done);
}

TEST_CASE("another executor may be set while a thread of the one before is still on its way") {
    late_executor late;
    prompt_executor prompt;
    logged_line line;
    {
        const used_executor used(&late);
        line.add();
    }
    {
        const used_executor used(&prompt);
        line.add(); // asks nobody else
        CHECK(line.done == 0);
        late.run_all();
        CHECK(line.done == 2);
        line.add();
        CHECK(line.done == 3);
    }
    CHECK(line.wait_until_left(0));
    CHECK(line.is_in_order());
}

#if !defined(_WIN32)
TEST_CASE("a child that was forked off does nothing of its parent's line, nor waits for it") {
    late_executor late;
    const used_executor used(&late);
    logged_line line;
    line.add();
    const int outcome = support::exit_code_of([&] {
        line.add();
        line.wait_until_left(0);
        return line.done == 0 ? 42 : 1;
    });
    CHECK(outcome == 42);
    line.wait_until_left(0);
    CHECK(line.done == 1);
    late.run_all();
}
#endif
