// SPDX-License-Identifier: MIT
//
// What is kept of a file that is replaced, who else may write it meanwhile, and what is left of writers that are gone.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/faulty_os.hpp"
#include "support/temp_dir.hpp"
#include "write/gone_on_with.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/detail/write/old_file.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#if !defined(_WIN32)
#include <cerrno>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sys/xattr.h>
#endif

namespace {

using support::faulty_os;
using support::read_file;
using support::temp_dir;
using support::write_file;
using ztensor::errc;
using ztensor::publish_mode;
using ztensor::result;
using ztensor::write_options;
using ztensor::writer;
using ztensor::detail::create_sink;
using kept_sink = std::unique_ptr<ztensor::byte_sink>;

const write_options kept_in_place = write_options().publish(publish_mode::in_place);

} // namespace

TEST_CASE("a second writer in place is refused while the first lives") {
    const temp_dir directory;
    write_file(directory / "f", "the old content");
    for (const bool exists : {true, false}) {
        if (!exists) {
            std::filesystem::remove(directory / "f");
        }
        const kept_sink first = create_sink(directory / "f", kept_in_place).value();
        const result<kept_sink> second = create_sink(directory / "f", kept_in_place);
        REQUIRE(!second);
        CHECK(second.error().code() == errc::busy);
        REQUIRE(first->write(support::bytes_of("abc")));
        REQUIRE(first->finish());
        CHECK(read_file(directory / "f") == "abc");
        CHECK(create_sink(directory / "f", kept_in_place).has_value());
    }
}

TEST_CASE("in place an old file keeps its content until something is written") {
    const temp_dir directory;
    write_file(directory / "f", "the old content");
    {
        const kept_sink sink = create_sink(directory / "f", kept_in_place).value();
        REQUIRE(sink->write(support::bytes_of("abc")));
    }
    CHECK(read_file(directory / "f") == "the old content");
}

TEST_CASE("a file is not written in place while it is copied from") {
    const temp_dir directory;
    gone_on_with::write_old(directory / "f");
    const std::string old = read_file(directory / "f");
    for (const ztensor::io_mode mode : {ztensor::io_mode::automatic, ztensor::io_mode::positional}) {
        const ztensor::reader from = ztensor::reader::open(directory / "f", ztensor::read_options().mode(mode)).value();
        {
            writer out = writer::create(directory / "f", kept_in_place).value();
            const result<void> copied = ztensor::copy(from, out);
            REQUIRE(!copied);
            CHECK(copied.error().code() == errc::invalid_argument);
        }
        CHECK(read_file(directory / "f") == old);
        writer out = writer::create(directory / "f").value(); // which is another file until it is finished
        CHECK(ztensor::copy(from, out).has_value());
    }
}

TEST_CASE("only temporary files whose writers are gone are swept away") {
    const temp_dir directory;
    faulty_os os;
    os.failing_name = "create_unnamed_in";
    const kept_sink alive = create_sink(directory / "f", {}, os).value();
    const std::string of_the_living = directory.names().at(0);
    write_file(directory / ".ztensor-0123456789abcdef.tmp", "left");
    write_file(directory / ".ztensor-00000000000000ff.tmp", "left");
    const std::vector<std::string> others = {".ztensor-0123456789abcdeg.tmp", ".ztensor-0123456789abcdef.tmp2",
                                             ".ztensor-0123456789abcdef.undo", "x.ztensor-0123456789abcde.tmp"};
    for (const std::string& name : others) {
        write_file(directory / name, "not ours");
    }
    std::filesystem::create_directory(directory / ".ztensor-aaaaaaaaaaaaaaaa.tmp");
    CHECK(ztensor::remove_abandoned(directory.path(), 0).value() == 2);
    CHECK(directory.names().size() == others.size() + 2);
    CHECK(std::filesystem::exists(directory / of_the_living));
    CHECK(ztensor::remove_abandoned(directory.path(), 0).value() == 0);
    REQUIRE(alive->write(support::bytes_of("abc")));
    REQUIRE(alive->finish());
    CHECK(read_file(directory / "f") == "abc");
    CHECK(ztensor::remove_abandoned(directory / "nothing", 0).error().code() == errc::io_error);
}

TEST_CASE("what was written to within a day is swept away only if that is asked for") {
    using hours = std::chrono::hours;
    const temp_dir directory;
    const std::filesystem::path left = directory / ".ztensor-0123456789abcdef.tmp";
    const struct {
        hours age;
        std::uint64_t least_age_seconds;
        std::size_t removed;
    } cases[] = {
        {hours(0), 86400, 0}, {hours(23), 86400, 0}, {hours(25), 86400, 1}, {hours(25), 2 * 86400, 0},
        {hours(0), 0, 1},     {hours(-48), 0, 1},    {hours(-48), 3600, 0}, {hours(2), 3600, 1},
    };
    for (const auto& each : cases) {
        CAPTURE(each.age.count(), each.least_age_seconds);
        write_file(left, "left");
        std::filesystem::last_write_time(left, std::filesystem::last_write_time(left) - each.age);
        if (each.least_age_seconds == 86400) {
            CHECK(ztensor::remove_abandoned(directory.path()).value() == each.removed);
        } else {
            CHECK(ztensor::remove_abandoned(directory.path(), each.least_age_seconds).value() == each.removed);
        }
        CHECK(std::filesystem::exists(left) == (each.removed == 0));
    }
}

namespace {

/// Of a file system that keeps locks to each host, seen from another one than the writer's.
class other_host final : public faulty_os {
public:
    std::error_code lock(ztensor::detail::os_handle) override { return {}; }
};

} // namespace

TEST_CASE("where each host has locks of its own, a file that is being written stays all the same") {
    const temp_dir directory;
    other_host here;
    here.failing_name = "create_unnamed_in";
    const kept_sink alive = create_sink(directory / "f", {}, here).value();
    REQUIRE(alive->write(support::bytes_of("abc")));
    other_host there;
    CHECK(ztensor::detail::remove_abandoned_by(directory.path(), 86400, there).value() == 0);
    REQUIRE(alive->finish());
    CHECK(read_file(directory / "f") == "abc");
}

TEST_CASE("where there are no locks, nothing is swept away") {
    const temp_dir directory;
    write_file(directory / ".ztensor-0123456789abcdef.tmp", "left");
    faulty_os os;
    os.failing_name = "lock";
    os.failure = std::make_error_code(std::errc::no_lock_available);
    CHECK(ztensor::detail::remove_abandoned_by(directory.path(), 0, os).value() == 0);
    CHECK(directory.names().size() == 1);
    faulty_os refuses;
    refuses.failing_name = "remove_in";
    CHECK(ztensor::detail::remove_abandoned_by(directory.path(), 0, refuses).error().code() == errc::io_error);
    CHECK(refuses.open_handles == 0);
}

TEST_CASE("what is gone already is not said to be left behind") {
    const temp_dir directory;
    faulty_os os;
    os.failing_name = "create_unnamed_in";
    const kept_sink sink = create_sink(directory / "f", {}, os).value();
    std::filesystem::remove(directory / directory.names().at(0));
    const result<void> done = sink->finish(); // there is nothing left to be renamed
    REQUIRE(!done);
    CHECK(done.error().what().find("left behind") == std::string::npos);
}

TEST_CASE("a target with U+0000 in its path is refused") {
    const temp_dir directory;
    std::string cut = (directory / "a.zt").string();
    cut.push_back('\0');
    cut += ".b";
    for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
        CHECK(writer::create(cut, write_options().publish(mode)).error().code() == errc::invalid_argument);
    }
    CHECK(directory.names().empty());
}

#if !defined(_WIN32)

namespace {

struct ::stat status_of(const std::filesystem::path& path) {
    struct ::stat found = {};
    REQUIRE(::stat(path.c_str(), &found) == 0);
    return found;
}

bool replace_with(const std::filesystem::path& target, ztensor::detail::os_calls& os) {
    result<kept_sink> sink = create_sink(target, {}, os);
    return sink && (*sink)->write(support::bytes_of("new")) && (*sink)->finish();
}

} // namespace

TEST_CASE("a child that leaves the writer's scope takes nothing of its parent's") {
    for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
        const temp_dir directory;
        faulty_os os;
        os.failing_name = "create_unnamed_in";
        kept_sink sink = create_sink(directory / "f", write_options().publish(mode), os).value();
        REQUIRE(sink->write(support::bytes_of("abc")));
        const int outcome = support::exit_code_of([&] {
            const bool is_refused = !sink->finish();
            sink.reset();
            return is_refused ? 42 : 1;
        });
        CHECK(outcome == 42);
        REQUIRE(sink->finish());
        CHECK(read_file(directory / "f") == "abc");
        CHECK(directory.names().size() == 1);
    }
}

TEST_CASE("a file that was replaced keeps its owner and group, or loses permissions") {
    if (::geteuid() != 0) {
        WARN("skipped: only root gives files away");
        return;
    }
    constexpr ::uid_t other_owner = 12345;
    constexpr ::gid_t other_group = 23456;
    const temp_dir directory;
    write_file(directory / "f", "old");
    REQUIRE(::chown((directory / "f").c_str(), other_owner, other_group) == 0);
    REQUIRE(::chmod((directory / "f").c_str(), 0664) == 0);
    faulty_os os;
    REQUIRE(replace_with(directory / "f", os));
    CHECK(status_of(directory / "f").st_uid == other_owner);
    CHECK(status_of(directory / "f").st_gid == other_group);
    CHECK((status_of(directory / "f").st_mode & 0777u) == 0664u);

    // One who may write in the directory, and is in no such group.
    REQUIRE(::chmod(directory.path().c_str(), 0777) == 0);
    for (const auto& [before, after] : {std::pair{0664u, 0604u}, std::pair{0640u, 0600u}, std::pair{0604u, 0600u}}) {
        REQUIRE(::chown((directory / "f").c_str(), other_owner, other_group) == 0);
        REQUIRE(::chmod((directory / "f").c_str(), before) == 0);
        const int outcome = support::exit_code_of([&] {
            if (::setgid(34567) != 0 || ::setuid(34567) != 0) {
                return 1;
            }
            faulty_os plain;
            return replace_with(directory / "f", plain) ? 42 : 2;
        });
        CHECK(outcome == 42);
        CHECK(read_file(directory / "f") == "new");
        CHECK(status_of(directory / "f").st_uid == 34567u);
        CHECK((status_of(directory / "f").st_mode & 0777u) == after);
    }
}

TEST_CASE("permissions that changed while a file was written are those of the new one") {
    const temp_dir directory;
    write_file(directory / "f", "old");
    REQUIRE(::chmod((directory / "f").c_str(), 0644) == 0);
    const kept_sink sink = create_sink(directory / "f", {}).value();
    REQUIRE(::chmod((directory / "f").c_str(), 0600) == 0);
    REQUIRE(sink->finish());
    CHECK((status_of(directory / "f").st_mode & 0777u) == 0600u);
}

TEST_CASE("where the creator does not own what it creates, a file is replaced again and again") {
    const temp_dir directory;
    write_file(directory / "f", "old");
    REQUIRE(::chmod((directory / "f").c_str(), 0644) == 0);
    for (const std::errc refusal :
         {std::errc::operation_not_permitted, std::errc::operation_not_supported, std::errc::function_not_supported}) {
        faulty_os os;
        os.failing_name = "set_permissions";
        os.failure = std::make_error_code(refusal);
        CHECK(replace_with(directory / "f", os));
        CHECK(os.count("set_permissions") == 1);
        CHECK(read_file(directory / "f") == "new");
        REQUIRE(::chmod((directory / "f").c_str(), 0644) == 0);
    }
    faulty_os os;
    os.failing_name = "set_permissions";
    CHECK(!replace_with(directory / "f", os));
    CHECK(directory.names() == std::vector<std::string>{"f"});
}

#if defined(__linux__)

TEST_CASE("the access control list goes with the file, or permissions do") {
    // An access list of five entries: owner rw, user 12345 rw, group ---, mask rw, others ---.
    const unsigned char list[] = {2,  0, 0, 0,                        // version
                                  1,  0, 6, 0, 255,  255,  255, 255,  // owner
                                  2,  0, 6, 0, 0x39, 0x30, 0,   0,    // a user
                                  4,  0, 0, 0, 255,  255,  255, 255,  // group
                                  16, 0, 6, 0, 255,  255,  255, 255,  // mask
                                  32, 0, 0, 0, 255,  255,  255, 255}; // others
    const char* const attribute = "system.posix_acl_access";
    const temp_dir directory;
    write_file(directory / "f", "old");
    const auto set = [&] { return ::setxattr((directory / "f").c_str(), attribute, list, sizeof list, 0) == 0; };
    if (!set()) {
        WARN("skipped: the file system has no access control lists");
        return;
    }
    const auto get = [&] {
        std::string found(256, '\0');
        const ::ssize_t size = ::getxattr((directory / "f").c_str(), attribute, found.data(), found.size());
        return size < 0 ? std::string() : found.substr(0, static_cast<std::size_t>(size));
    };
    const std::string before = get();
    REQUIRE(before.size() == sizeof list);
    faulty_os os;
    REQUIRE(replace_with(directory / "f", os));
    CHECK(get() == before);
    CHECK((status_of(directory / "f").st_mode & 0777u) == 0660u);

    for (const char* const refused : {"access_list_in", "set_access_list"}) {
        REQUIRE(set());
        faulty_os refuses;
        refuses.failing_name = refused;
        REQUIRE(replace_with(directory / "f", refuses));
        CHECK(get().empty());
        CHECK((status_of(directory / "f").st_mode & 0777u) == 0600u);
    }

    // A file that has none gets none from its directory, either.
    REQUIRE(::setxattr(directory.path().c_str(), "system.posix_acl_default", list, sizeof list, 0) == 0);
    std::filesystem::remove(directory / "f");
    write_file(directory / "f", "old");
    REQUIRE(::removexattr((directory / "f").c_str(), attribute) == 0);
    REQUIRE(::chmod((directory / "f").c_str(), 0640) == 0);
    REQUIRE(replace_with(directory / "f", os));
    CHECK(get().empty());
    CHECK((status_of(directory / "f").st_mode & 0777u) == 0640u);
}

#endif

TEST_CASE("the directory is held: it may be renamed, and handles may run out, while a file is written") {
    const temp_dir directory;
    std::filesystem::create_directory(directory / "a");
    const kept_sink sink = create_sink(directory / "a/f", {}).value();
    REQUIRE(sink->write(support::bytes_of("abc")));
    std::filesystem::rename(directory / "a", directory / "b");
    const int outcome = support::exit_code_of([&] { // no handle more than are open, but for the one that keeps the lock
        const kept_sink other = create_sink(directory / "b/g", {}).value();
        const int next = ::dup(0);
        ::close(next);
        const ::rlimit limit = {static_cast<::rlim_t>(next) + 1, static_cast<::rlim_t>(next) + 1};
        return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 && other->finish() ? 42 : 1;
    });
    CHECK(outcome == 42);
    CHECK(std::filesystem::exists(directory / "b/g"));
    REQUIRE(sink->finish());
    CHECK(read_file(directory / "b/f") == "abc");
}

TEST_CASE("a directory that can't be synced is refused before anything is written, where the sync is asked for") {
    if (::geteuid() != 0) {
        WARN("skipped: needs root to become somebody else");
        return;
    }
    const temp_dir directory;
    REQUIRE(::chown(directory.path().c_str(), 34567, 34567) == 0);
    REQUIRE(::chmod(directory.path().c_str(), 0300) == 0);
    const int outcome = support::exit_code_of([&] {
        if (::setgid(34567) != 0 || ::setuid(34567) != 0) {
            return 1;
        }
        const result<kept_sink> durable = create_sink(directory / "f", {});
        if (durable || durable.error().os_error() != std::errc::permission_denied) {
            return 2;
        }
        const result<kept_sink> atomic =
            create_sink(directory / "f", write_options().sync(ztensor::sync_level::atomic));
        return atomic && (*atomic)->write(support::bytes_of("abc")) && (*atomic)->finish() ? 42 : 3;
    });
    CHECK(outcome == 42);
    CHECK(read_file(directory / "f") == "abc");
}

TEST_CASE("a path beyond what the system takes at once is written to, if the directory can be reached") {
    const temp_dir directory;
    const int outcome = support::exit_code_of([&] {
        if (::chdir(directory.path().c_str()) != 0) {
            return 1;
        }
        const std::string name(200, 'd');
        for (int depth = 0; depth < 30; ++depth) {
            if (::mkdir(name.c_str(), 0700) != 0 || ::chdir(name.c_str()) != 0) {
                return 2;
            }
        }
        faulty_os os;
        return replace_with("f", os) && read_file("f") == "new" ? 42 : 3;
    });
    CHECK(outcome == 42);
}

#else

TEST_CASE("owners, permissions and held directories are kept where there are any") {
    WARN("skipped: Windows has no fork, no owners and permissions that are numbers, and no handles of directories");
}

#endif
