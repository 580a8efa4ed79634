// SPDX-License-Identifier: MIT
//
// Appending, editing and recovering when any one call to the operating system fails, or the process ends there: the
// target is the complete old or the complete new file afterwards, and nothing is left that recover() and the sweep do
// not remove.
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/faulty_os.hpp"
#include "support/temp_dir.hpp"
#include "write/gone_on_with.hpp"

#include <ztensor/detail/write/editor.hpp>
#include <ztensor/detail/write/old_file.hpp>
#include <ztensor/edit.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using gone_on_with::write_old;
using support::faulty_os;
using support::read_file;
using support::temp_dir;
using ztensor::errc;
using ztensor::publish_mode;
using ztensor::result;
using ztensor::write_options;

using target_path = std::filesystem::path;
using file_action = std::function<result<void>(const target_path&, ztensor::detail::os_calls&)>;

result<void> append_through(const target_path& target, const write_options& options, ztensor::detail::os_calls& os) {
    result<ztensor::writer> out = ztensor::detail::append_to(target, options, os);
    if (!out) {
        return std::move(out).error();
    }
    const std::vector<std::uint8_t> large((std::size_t{1} << 20) + 70000, 7); // in several transfers
    result<void> done = out->add("large", {large.size()}, large);
    done = done ? out->add("n", {3}, std::vector<float>{4, 5, 6}) : std::move(done);
    return done ? out->finish() : done;
}

result<void> edit_through(const target_path& target, const write_options& options, ztensor::detail::os_calls& os) {
    auto made = ztensor::detail::edit_by(target, options, os);
    if (!made) {
        return std::move(made).error();
    }
    ztensor::editor edited = ztensor::detail::editor_access::make(made->release());
    result<void> done =
        edited.replace("a", {3}, std::vector<float>{7, 8, 9}, ztensor::store().digest(ztensor::digest::crc32c));
    done = done ? edited.rename("z", "y") : std::move(done);
    done = done ? edited.remove("b") : std::move(done);
    return done ? edited.finish() : done;
}

struct file_change {
    const char* name;
    file_action run;
};

std::vector<file_change> all_changes() {
    std::vector<file_change> all;
    for (const ztensor::sync_level sync : {ztensor::sync_level::durable, ztensor::sync_level::none}) {
        const write_options beside = write_options().sync(sync);
        const write_options in_place = write_options().sync(sync).publish(publish_mode::in_place);
        const auto with = [](auto run, write_options options) {
            return [=](const target_path& target, ztensor::detail::os_calls& os) { return run(target, options, os); };
        };
        all.push_back({"append", with(append_through, beside)});
        all.push_back({"append in place", with(append_through, in_place)});
        all.push_back({"edit", with(edit_through, beside)});
        all.push_back({"edit in place", with(edit_through, in_place)});
    }
    return all;
}

/// What the file holds before and after a change that nothing disturbs.
struct two_states {
    explicit two_states(const file_change& of) {
        const temp_dir directory;
        write_old(directory / "f");
        old_state = read_file(directory / "f");
        faulty_os os;
        os.syncs = false;
        of.run(directory / "f", os).value();
        new_state = read_file(directory / "f");
        call_count = os.calls.size();
        REQUIRE(old_state != new_state);
        REQUIRE(os.open_handles == 0);
    }

    std::string old_state;
    std::string new_state;
    std::size_t call_count = 0;
};

/// As recover() says: afterwards nothing is left, and one of the two states is there.
void check_tidied(const temp_dir& directory, const two_states& states) {
    faulty_os os;
    os.syncs = false;
    CHECK(ztensor::detail::recover_by(directory / "f", os).has_value());
    CHECK(ztensor::remove_abandoned(directory.path(), 0).has_value());
    CHECK(directory.names() == std::vector<std::string>{"f"});
    const std::string now = read_file(directory / "f");
    CHECK((now == states.old_state || now == states.new_state));
    CHECK(ztensor::recover(directory / "f").value() == ztensor::recovery::not_needed);
}

} // namespace

TEST_CASE("whichever call fails while a file is appended to or edited, it is all old or all new") {
    for (const file_change& each : all_changes()) {
        const two_states states(each);
        for (std::size_t failing = 0; failing < states.call_count; ++failing) {
            for (const std::size_t times : {std::size_t{1}, faulty_os::never}) {
                const temp_dir directory;
                write_old(directory / "f");
                faulty_os os;
                os.syncs = false;
                os.first_failing_call = failing;
                os.failing_calls = times;
                const result<void> done = each.run(directory / "f", os);
                CAPTURE(each.name, failing, times == 1, os.calls.at(failing));
                CHECK(os.open_handles == 0);
                if (done) {
                    CHECK((read_file(directory / "f") == states.new_state));
                } else {
                    CHECK((done.error().code() == errc::io_error || done.error().code() == errc::not_durable ||
                           done.error().code() == errc::busy || done.error().code() == errc::file_changed));
                    CHECK(!done.error().what().empty());
                }
                if (times == 1 && !done && directory.names().size() != 1) { // what is left is told of
                    INFO(done.error().what());
                    CHECK(done.error().what().find("undo") != std::string::npos);
                }
                check_tidied(directory, states);
            }
        }
    }
}

TEST_CASE("short and interrupted transfers while a file is appended to or edited go on") {
    for (const file_change& each : all_changes()) {
        const two_states states(each);
        for (const char* const interrupted : {"read", "write", "copy"}) {
            CAPTURE(each.name, interrupted);
            const temp_dir directory;
            write_old(directory / "f");
            faulty_os os;
            os.syncs = false;
            os.most_moved = 4099;
            os.failing_name = interrupted;
            os.failing_times = 3;
            os.failure = std::make_error_code(std::errc::interrupted);
            REQUIRE(each.run(directory / "f", os));
            CHECK((read_file(directory / "f") == states.new_state));
            CHECK(directory.names() == std::vector<std::string>{"f"});
        }
    }
}

TEST_CASE("a disk that fills up while a file is appended to or edited leaves the old file") {
    for (const file_change& each : all_changes()) {
        const two_states states(each);
        for (const std::size_t room : {std::size_t{0}, std::size_t{1}, std::size_t{39}, std::size_t{45},
                                       std::size_t{70}, std::size_t{120}, std::size_t{1} << 20}) {
            CAPTURE(each.name, room);
            const temp_dir directory;
            write_old(directory / "f");
            faulty_os os;
            os.syncs = false;
            os.room_bytes = room;
            const result<void> done = each.run(directory / "f", os);
            if (!done) {
                CHECK(done.error().code() == errc::io_error);
                CHECK(done.error().os_error() == std::errc::no_space_on_device);
            }
            check_tidied(directory, states);
        }
    }
}

#if !defined(_WIN32)

namespace {

/// Runs `run` in a process of its own that ends at that call; false if it came to its end.
bool killed_at(std::size_t call, const target_path& target, const file_action& run) {
    constexpr int killed = 42; // what faulty_os ends with
    const int code = support::exit_code_of([&] {
        faulty_os os;
        os.syncs = false;
        os.first_failing_call = call;
        os.dies = true;
        return run(target, os).has_value() ? 0 : 1;
    });
    REQUIRE((code == 0 || code == killed));
    return code == killed;
}

result<void> recover_through(const target_path& target, ztensor::detail::os_calls& os) {
    return ztensor::detail::recover_by(target, os).transform([](ztensor::recovery) {});
}

} // namespace

TEST_CASE("a process that ends at any call leaves what recover and the sweep tidy up") {
    for (const file_change& each : all_changes()) {
        const two_states states(each);
        for (std::size_t call = 0; call < states.call_count; ++call) {
            CAPTURE(each.name, call);
            const temp_dir directory;
            write_old(directory / "f");
            REQUIRE(killed_at(call, directory / "f", each.run));
            check_tidied(directory, states);
        }
    }
}

TEST_CASE("recovery that fails or ends at any call can be taken up again") {
    const std::vector<file_change> all = all_changes();
    for (const file_change& each : {all[1], all[3]}) { // in place; of the others there is nothing to recover
        const two_states states(each);
        for (std::size_t call = 0; call < states.call_count; ++call) {
            for (std::size_t again = 0; again < 64; ++again) {
                CAPTURE(each.name, call, again);
                const temp_dir directory;
                write_old(directory / "f");
                REQUIRE(killed_at(call, directory / "f", each.run));
                if (directory.names().size() == 1) {
                    break; // nothing to recover
                }
                faulty_os os;
                os.syncs = false;
                os.first_failing_call = again;
                const result<void> failed = recover_through(directory / "f", os);
                CHECK(os.open_handles == 0);
                const bool has_reached = os.calls.size() > again;
                if (!failed) {
                    CHECK((failed.error().code() == errc::io_error || failed.error().code() == errc::busy));
                }
                static_cast<void>(killed_at(again, directory / "f", recover_through));
                check_tidied(directory, states);
                if (!has_reached) {
                    break;
                }
            }
        }
    }
}

#else

TEST_CASE("a process that ends at any call is tried where there is a fork") {
    WARN("skipped: Windows has no fork");
}

#endif
