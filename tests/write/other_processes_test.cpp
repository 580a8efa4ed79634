// SPDX-License-Identifier: MIT
//
// What other processes do to a file that is being written, or have done to one that is recovered: children that inherit
// handles, files put in its place, undo records that are damaged or a stranger's.
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/temp_dir.hpp"
#include "write/gone_on_with.hpp"

#include <ztensor/edit.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#if !defined(_WIN32)
#include <csignal>
#include <unistd.h>
#endif

namespace {

using gone_on_with::write_old;
using support::read_file;
using support::temp_dir;
using support::write_file;
using ztensor::errc;
using ztensor::publish_mode;
using ztensor::result;
using ztensor::write_options;
using ztensor::writer;

/// Writes something to a file, calls `meanwhile`, and finishes.
using disturbed_work = result<void> (*)(const std::filesystem::path& target, const std::function<void()>& meanwhile);

const write_options written_by_name = write_options().publish(publish_mode::in_place).sync(false);

const std::vector<std::uint8_t> much(std::size_t{3} << 20, 7); ///< of which something is written before the end

result<void> finish_after(result<writer> opened, const std::function<void()>& meanwhile) {
    return std::move(opened).and_then([&](writer out) {
        return out.add("new", {much.size()}, much).and_then([&] {
            meanwhile();
            return out.finish();
        });
    });
}

const disturbed_work works_in_place[] = {
    [](const std::filesystem::path& target, const std::function<void()>& meanwhile) {
        return finish_after(writer::append(target, written_by_name), meanwhile);
    },
    [](const std::filesystem::path& target, const std::function<void()>& meanwhile) {
        return finish_after(writer::create(target, written_by_name), meanwhile);
    },
    [](const std::filesystem::path& target, const std::function<void()>& meanwhile) {
        return ztensor::edit(target, written_by_name).and_then([&](ztensor::editor change) {
            return change.replace("b", {much.size()}, much).and_then([&] {
                meanwhile();
                return change.finish();
            });
        });
    },
};

} // namespace

// Windows lets nobody remove or replace a file that is open.
#if !defined(_WIN32)

TEST_CASE("a change in place of a file that is replaced or removed meanwhile says so, and does nothing to the other") {
    const temp_dir directory;
    const std::filesystem::path target = directory / "f";
    const std::filesystem::path aside = directory / "aside";
    for (const disturbed_work work : works_in_place) {
        for (const bool comes_another : {true, false}) {
            write_old(target);
            const result<void> done = work(target, [&] {
                std::filesystem::rename(target, aside);
                if (comes_another) {
                    write_file(target, "another");
                }
            });
            REQUIRE(!done);
            CHECK(done.error().code() == errc::file_changed);
            CHECK(done.error().path() == target.string());
            CHECK(std::filesystem::remove(aside));
            CHECK(directory.names() == (comes_another ? std::vector<std::string>{"f"} : std::vector<std::string>{}));
            CHECK((!comes_another || read_file(target) == "another"));
        }
    }
}

TEST_CASE("an append or edit in place that was moved elsewhere is undone there") {
    const temp_dir directory;
    for (const disturbed_work work : {works_in_place[0], works_in_place[2]}) {
        write_old(directory / "f");
        const std::string old = read_file(directory / "f");
        CHECK(!work(directory / "f", [&] { std::filesystem::rename(directory / "f", directory / "g"); }));
        CHECK(read_file(directory / "g") == old);
        CHECK(directory.names() == std::vector<std::string>{"g"});
        std::filesystem::remove(directory / "g");
    }
}

TEST_CASE("a new file in place is not removed with its writer if another has been put there") {
    const temp_dir directory;
    {
        writer out = writer::create(directory / "f", written_by_name).value();
        std::filesystem::remove(directory / "f");
        write_file(directory / "f", "another");
    }
    CHECK(read_file(directory / "f") == "another");
}

TEST_CASE("a child that was forked off while a file was written keeps nobody from it once that is done") {
    const temp_dir directory;
    write_old(directory / "f");
    const auto append = [&](publish_mode mode, const char* name) {
        return writer::append(directory / "f", write_options().publish(mode).sync(false)).and_then([&](writer out) {
            return out.add(name, {1}, std::vector<float>{1}).and_then([&] { return out.finish(); });
        });
    };
    std::vector<::pid_t> children;
    const auto fork_off = [&] {
        children.push_back(::fork());
        if (children.back() == 0) {
            ::pause();
            ::_exit(0);
        }
    };
    for (const disturbed_work work : {works_in_place[0], works_in_place[2], works_in_place[1]}) {
        CHECK(work(directory / "f", fork_off));
        CHECK(append(publish_mode::in_place, ("a" + std::to_string(children.size())).c_str()));
        CHECK(append(publish_mode::replace, ("r" + std::to_string(children.size())).c_str()));
        write_old(directory / "f");
    }
    CHECK(finish_after(writer::create(directory / "f", write_options().sync(false)), fork_off));
    CHECK(append(publish_mode::in_place, "a"));
    {
        const writer dropped = writer::append(directory / "f", written_by_name).value();
        fork_off();
    }
    CHECK(append(publish_mode::in_place, "b"));
    for (const ::pid_t child : children) {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    }
}

TEST_CASE("a child that lets go of its parent's writer leaves it the lock") {
    const temp_dir directory;
    write_old(directory / "f");
    for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
        result<writer> out = writer::append(directory / "f", write_options().publish(mode).sync(false));
        CHECK(support::exit_code_of([&] { return out = ztensor::error(errc::cancelled, ""), 0; }) == 0);
        CHECK(writer::append(directory / "f").error().code() == errc::busy);
        CHECK(out.value().finish());
    }
}

namespace {

/// Leaves a file as a process leaves it that is killed while it writes in place; gives its undo record.
std::filesystem::path break_off_by_kill(const temp_dir& directory, disturbed_work work) {
    const auto end_here = [] { ::_exit(7); };
    REQUIRE(support::exit_code_of([&] { return work(directory / "f", end_here) ? 0 : 1; }) == 7);
    return directory / gone_on_with::leftovers(directory.names()).at(0);
}

} // namespace

TEST_CASE("a file that was left half changed asks for recover(), and one that is being written for patience") {
    const auto codes = [](const std::filesystem::path& path) {
        std::vector<ztensor::error> all;
        for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
            const write_options options = write_options().publish(mode).sync(false);
            all.push_back(writer::append(path, options).error());
            all.push_back(ztensor::edit(path, options).error());
        }
        return all;
    };
    for (const disturbed_work work : {works_in_place[0], works_in_place[2]}) {
        const temp_dir directory;
        write_old(directory / "f");
        const auto is_refused = [&] {
            for (const ztensor::error& why : codes(directory / "f")) {
                CHECK(why.code() == errc::busy);
                CHECK(why.kind() == ztensor::error_kind::io);
            }
        };
        CHECK(work(directory / "f", is_refused));
        write_old(directory / "f");
        const std::filesystem::path record = break_off_by_kill(directory, work);
        for (const ztensor::error& why : codes(directory / "f")) {
            CHECK(why.code() == errc::recovery_needed);
            CHECK(why.kind() == ztensor::error_kind::io);
            CHECK(why.path() == (directory / "f").string());
            CHECK(why.sentence().find("recover()") != std::string::npos);
        }
        CHECK(!ztensor::reader::open(directory / "f"));
        CHECK(ztensor::recover(directory / "f").value() == ztensor::recovery::undone);
        CHECK(writer::append(directory / "f", written_by_name).value().finish());
    }
}

TEST_CASE("an undo record that is damaged while its file can't be read is told of, and both are left alone") {
    const temp_dir directory;
    write_old(directory / "f");
    const std::string old = read_file(directory / "f");
    const std::filesystem::path record = break_off_by_kill(directory, works_in_place[0]);
    const std::string undo = read_file(record);
    const std::string broken_off = read_file(directory / "f") + std::string(5000, 'x');
    write_file(directory / "f", broken_off);
    for (std::size_t at = 0; at < undo.size(); ++at) {
        std::string damaged = undo;
        damaged[at] = static_cast<char>(damaged[at] ^ 1);
        for (const std::string& left : {damaged, undo.substr(0, at)}) {
            write_file(record, left);
            REQUIRE(ztensor::recover(directory / "f").error().code() == errc::undo_record_refused);
            REQUIRE(read_file(record) == left);
            REQUIRE((read_file(directory / "f") == broken_off));
        }
    }
    write_file(record, undo);
    CHECK(ztensor::recover(directory / "f").value() == ztensor::recovery::undone);
    CHECK(read_file(directory / "f") == old);
    CHECK(ztensor::recover(directory / "f").value() == ztensor::recovery::not_needed);
}

TEST_CASE("an undo record of somebody who does not own the file is left alone, whoever may write the file") {
    for (const unsigned permissions : {0644u, 0664u, 0666u}) {
        const temp_dir directory;
        write_old(directory / "f");
        const std::filesystem::path record = break_off_by_kill(directory, works_in_place[2]);
        std::filesystem::permissions(directory / "f", std::filesystem::perms(permissions));
        constexpr ::uid_t stranger = 54321;
        if (::chown(record.c_str(), stranger, static_cast<::gid_t>(-1)) != 0) {
            WARN("skipped: only root gives files away");
            return;
        }
        const std::string changed = read_file(directory / "f");
        CHECK(ztensor::recover(directory / "f").error().code() == errc::undo_record_refused);
        CHECK(read_file(directory / "f") == changed);
        CHECK(std::filesystem::exists(record));
        REQUIRE(::chown((directory / "f").c_str(), stranger, static_cast<::gid_t>(-1)) == 0);
        CHECK(ztensor::recover(directory / "f").value() == ztensor::recovery::undone);
        CHECK(directory.names() == std::vector<std::string>{"f"});
    }
}

TEST_CASE("an undo record of root is taken up, unless more people may write it than the file") {
    for (const unsigned permissions : {0600u, 0620u, 0602u}) {
        const temp_dir directory;
        write_old(directory / "f");
        const std::string old = read_file(directory / "f");
        const std::filesystem::path record = break_off_by_kill(directory, works_in_place[2]);
        std::filesystem::permissions(directory / "f", std::filesystem::perms(0644));
        std::filesystem::permissions(record, std::filesystem::perms(permissions));
        constexpr ::uid_t stranger = 54321;
        if (::geteuid() != 0 || ::chown((directory / "f").c_str(), stranger, static_cast<::gid_t>(-1)) != 0) {
            WARN("skipped: only root gives files away");
            return;
        }
        CAPTURE(permissions);
        if (permissions != 0600u) {
            CHECK(ztensor::recover(directory / "f").error().code() == errc::undo_record_refused);
            std::filesystem::permissions(record, std::filesystem::perms(0600));
        }
        CHECK(ztensor::recover(directory / "f").value() == ztensor::recovery::undone);
        CHECK(read_file(directory / "f") == old);
        CHECK(directory.names() == std::vector<std::string>{"f"});
    }
}

TEST_CASE("who broke off a change of somebody else's file takes up his own undo record") {
    const temp_dir directory;
    write_old(directory / "f");
    const std::string old = read_file(directory / "f");
    constexpr ::uid_t owner = 54321, of_the_group = 54322;
    constexpr ::gid_t group = 54321;
    if (::geteuid() != 0 || ::chown((directory / "f").c_str(), owner, group) != 0 ||
        ::chown(directory.path().c_str(), owner, group) != 0) {
        WARN("skipped: only root gives files away");
        return;
    }
    std::filesystem::permissions(directory / "f", std::filesystem::perms(0664));
    std::filesystem::permissions(directory.path(), std::filesystem::perms(0775));
    const auto as_another = [&](const std::function<int()>& work) {
        return support::exit_code_of([&] {
            const bool is_another = ::setgid(group) == 0 && ::setuid(of_the_group) == 0;
            return is_another ? work() : 99;
        });
    };
    const auto end_here = [] { ::_exit(7); };
    REQUIRE(as_another([&] { return works_in_place[2](directory / "f", end_here) ? 0 : 1; }) == 7);
    CHECK(ztensor::recover(directory / "f").error().code() == errc::undo_record_refused); // by root, who trusts neither
    CHECK(as_another([&] {
              const auto done = ztensor::recover(directory / "f");
              return done && *done == ztensor::recovery::undone ? 0 : 1;
          }) == 0);
    CHECK(read_file(directory / "f") == old);
    CHECK(directory.names() == std::vector<std::string>{"f"});
}

#endif
