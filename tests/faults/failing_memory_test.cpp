// SPDX-License-Identifier: MIT
//
// Memory that runs out while a file is appended to, edited, recovered or swept around, at every allocation in turn,
// once or for good: the error says so, and the file is the complete old or the complete new one.
#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/temp_dir.hpp"
#include "write/gone_on_with.hpp"

#include <ztensor/edit.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#if !defined(ZTENSOR_TESTS_ARE_SANITIZED) // whose runtime ends the program instead

namespace {

using support::allocations_before_failure;
using support::failures_go_on;
using support::read_file;
using support::temp_dir;
using ztensor::errc;
using ztensor::publish_mode;
using ztensor::result;
using ztensor::write_options;

const std::vector<float> new_floats = {7, 8, 9};


const ztensor::store summed = ztensor::store().digest(ztensor::digest::crc32c);

const write_options written_beside = write_options().sync(false).threads(1);

const write_options written_in_place = write_options(written_beside).publish(publish_mode::in_place);

result<void> append_some(const std::filesystem::path& path, const write_options& options) {
    result<ztensor::writer> out = ztensor::writer::append(path, options);
    if (!out) {
        return std::move(out).error();
    }
    return out->add("n", {3}, new_floats, ztensor::store().zstd(1)).and_then([&] { return out->finish(); });
}

result<void> edit_some(const std::filesystem::path& path, const write_options& options) {
    result<ztensor::editor> edited = ztensor::edit(path, options);
    if (!edited) {
        return std::move(edited).error();
    }
    return edited->replace("a", {3}, new_floats, summed)
        .and_then([&] { return edited->rename("z", "y"); })
        .and_then([&] { return edited->remove("b"); })
        .and_then([&] { return edited->remove_attributes("y"); })
        .and_then([&] { return edited->remove_file_attributes(); })
        .and_then([&] { return edited->finish(); });
}

struct going_on {
    const char* name;
    std::function<result<void>(const std::filesystem::path&)> run;
};

const std::vector<going_on>& every_way() {
    static const std::vector<going_on> all = {
        {"append", [](const auto& path) { return append_some(path, written_beside); }},
        {"append in place", [](const auto& path) { return append_some(path, written_in_place); }},
        {"edit", [](const auto& path) { return edit_some(path, written_beside); }},
        {"edit in place", [](const auto& path) { return edit_some(path, written_in_place); }},
    };
    return all;
}

/// Calls `work() → result<void>` and lets an allocation fail; false where there is none of that number. What could be
/// done without is no failure; else the error says so.
template <class Work>
bool runs_out_at(std::size_t failing, bool for_good, const Work& work, bool& is_done) {
    failures_go_on = for_good;
    allocations_before_failure = failing;
    const result<void> done = work();
    allocations_before_failure = 0;
    const bool was_reached = support::failed_allocations.exchange(0) != 0;
    failures_go_on = false;
    is_done = done.has_value();
    if (!done) {
        REQUIRE(done.error().code() == errc::out_of_memory);
    }
    return was_reached;
}

/// The content of a file that is appended to or edited, and what it is to become.
struct before_and_after {
    explicit before_and_after(const going_on& how) {
        const temp_dir directory;
        gone_on_with::write_old(directory / "f");
        before = read_file(directory / "f");
        how.run(directory / "f").value();
        after = read_file(directory / "f");
        REQUIRE(before != after);
    }

    std::string before;
    std::string after;
};

/// What a process leaves that ends while it writes in place; gives the old content.
std::string break_off(const temp_dir& directory) {
    gone_on_with::write_old(directory / "f");
    const std::string old = read_file(directory / "f");
    std::string record, undo;
    {
        const ztensor::writer out = ztensor::writer::append(directory / "f", written_in_place).value();
        record = gone_on_with::leftovers(directory.names()).at(0);
        undo = read_file(directory / record);
    }
    support::write_file(directory / "f", old + std::string(5000, 'n'));
    support::write_file(directory / record, undo);
    return old;
}

} // namespace

TEST_CASE("a file that is gone on with is all old or all new wherever memory runs out") {
    for (const going_on& each : every_way()) {
        const before_and_after states(each);
        for (const bool for_good : {false, true}) {
            const temp_dir directory;
            const std::filesystem::path target = directory / "f";
            gone_on_with::write_old(target);
            for (std::size_t failing = 1;; ++failing) {
                CAPTURE(each.name, for_good, failing);
                support::write_file(directory / "f", states.before);
                bool is_done = false;
                if (!runs_out_at(
                        failing, for_good, [&] { return each.run(target); }, is_done)) {
                    REQUIRE(is_done);
                    REQUIRE(failing > 50);
                    break;
                }
                if (!for_good) { // it had the memory to tidy up
                    REQUIRE(directory.names() == std::vector<std::string>{"f"});
                    REQUIRE((read_file(directory / "f") == (is_done ? states.after : states.before)));
                }
                REQUIRE(ztensor::recover(directory / "f"));
                REQUIRE(ztensor::remove_abandoned(directory.path(), 0).value() == 0);
                REQUIRE(directory.names() == std::vector<std::string>{"f"});
                const std::string now = read_file(directory / "f");
                REQUIRE((now == states.after || (!is_done && now == states.before)));
            }
        }
    }
}

TEST_CASE("recovery that runs out of memory can be taken up again") {
    for (std::size_t failing = 1;; ++failing) {
        CAPTURE(failing);
        const temp_dir directory;
        const std::string old = break_off(directory);
        bool is_done = false;
        const std::filesystem::path target = directory / "f";
        const auto recover = [&] { return ztensor::recover(target).transform([](ztensor::recovery) {}); };
        const bool was_reached = runs_out_at(failing, false, recover, is_done);
        REQUIRE(is_done == (directory.names().size() == 1));
        REQUIRE(ztensor::recover(directory / "f"));
        REQUIRE(directory.names() == std::vector<std::string>{"f"});
        REQUIRE((read_file(directory / "f") == old));
        if (!was_reached) {
            REQUIRE(failing > 10);
            return;
        }
    }
}

TEST_CASE("a sweep that runs out of memory can be taken up again") {
    const temp_dir directory;
    for (std::size_t failing = 1;; ++failing) {
        CAPTURE(failing);
        support::write_file(directory / ".ztensor-0123456789abcdef.tmp", "left");
        support::write_file(directory / ".ztensor-0123456789abcdef.undo", "needed");
        bool is_done = false;
        const std::filesystem::path& folder = directory.path();
        const auto sweep = [&] { return ztensor::remove_abandoned(folder, 0).transform([](std::size_t) {}); };
        const bool was_reached = runs_out_at(failing, false, sweep, is_done);
        REQUIRE(ztensor::remove_abandoned(directory.path(), 0));
        REQUIRE(directory.names() == std::vector<std::string>{".ztensor-0123456789abcdef.undo"});
        if (!was_reached) {
            REQUIRE(is_done);
            REQUIRE(failing > 3);
            return;
        }
    }
}

#else

TEST_CASE("memory does not run out under a sanitizer while files are gone on with") {
    WARN("skipped: the sanitizer's runtime ends the program where memory runs out");
}

#endif
