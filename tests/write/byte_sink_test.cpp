// SPDX-License-Identifier: MIT
//
// Sinks: what is published when, and what is left behind when any one call to the operating system fails.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/faulty_os.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/detail/read/sources.hpp>
#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#if !defined(_WIN32)
#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace {

using support::bytes_of;
using support::faulty_os;
using support::is_windows;
using support::read_file;
using support::temp_dir;
using support::write_file;
using ztensor::byte_sink;
using ztensor::errc;
using ztensor::publish_mode;
using ztensor::result;
using ztensor::write_options;
using ztensor::detail::create_sink;

using name_list = std::vector<std::string>;
using sink_pointer = std::unique_ptr<byte_sink>;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Text whose every part looks different.
std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    std::uint32_t state = 12345;
    for (char& c : text) {
        state = state * 1664525u + 1013904223u;
        c = static_cast<char>('a' + (state >> 24) % 26);
    }
    return text;
}

result<void> write_and_finish(byte_sink& sink, const std::vector<std::string_view>& pieces) {
    for (const std::string_view piece : pieces) {
        if (result<void> written = sink.write(bytes_of(piece)); !written) {
            return written;
        }
    }
    return sink.finish();
}

/// From creation to finish; the sink is gone afterwards.
result<void> produce(const std::filesystem::path& target, const std::vector<std::string_view>& pieces,
                     const write_options& options = {},
                     ztensor::detail::os_calls& os = ztensor::detail::operating_system()) {
    result<sink_pointer> sink = create_sink(target, options, os);
    if (!sink) {
        return std::move(sink).error();
    }
    return write_and_finish(**sink, pieces);
}

bool is_temporary_name(const std::string& name) {
    return name.size() == 29 && name.substr(0, 9) == ".ztensor-" && name.substr(25) == ".tmp" &&
           name.substr(9, 16).find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Where the system has files without names, there is no temporary one to be seen.
bool has_f_and_perhaps_a_temporary(const temp_dir& directory) {
    const name_list present = directory.names();
    return present.back() == "f" && (present.size() == 1 || (present.size() == 2 && is_temporary_name(present[0])));
}

/// Of calls that publish a file, those that there are here: Windows has no second handle that would keep the lock,
/// which would then be closed last, and no permissions that are numbers.
name_list those_here(name_list calls) {
    if (is_windows) {
        const auto renamed = std::find(calls.begin(), calls.end(), "rename_in");
        calls.erase(std::find(renamed, calls.end(), "close"));
        calls.erase(std::remove(calls.begin(), calls.end(), "set_permissions"), calls.end());
    }
    return calls;
}

/// The calls, without those that only some systems and file systems ask for, and without those that find out, before
/// the lock is had, whether a file can be given its name in the end.
name_list without_attempts(const name_list& calls) {
    name_list kept;
    const auto locked = std::find(calls.begin(), calls.end(), "lock");
    std::copy_if(calls.begin(), locked, std::back_inserter(kept), [](const std::string& call) {
        return call != "create_unnamed_in" && call != "create_in" && call != "link_in" && call != "remove_in" &&
               call != "close" && call != "status of handle";
    });
    std::copy_if(locked, calls.end(), std::back_inserter(kept),
                 [](const std::string& call) { return call != "link_in" && call != "status of handle"; });
    return kept;
}

/// Three writes of which the second is large: 3.5 MiB and a little, in four transfers.
struct scenario {
    std::string content = pattern(7 * mebibyte / 2 + 107);
    std::vector<std::string_view> pieces = {
        std::string_view(content).substr(0, 100),
        std::string_view(content).substr(100, 7 * mebibyte / 2),
        std::string_view(content).substr(100 + 7 * mebibyte / 2),
    };
};

const std::string old_content = "the old content";

} // namespace

TEST_CASE("a finished sink is the file, and nothing else is left") {
    const temp_dir directory;
    for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
        for (const bool exists : {false, true}) {
            CAPTURE(static_cast<int>(mode), exists);
            std::filesystem::remove(directory / "f");
            if (exists) {
                write_file(directory / "f", old_content);
            }
            REQUIRE(produce(directory / "f", {"one ", "", "two"}, write_options().publish(mode)));
            CHECK(read_file(directory / "f") == "one two");
            CHECK(directory.names() == name_list{"f"});
        }
    }
}

TEST_CASE("a sink that nothing was written to makes an empty file") {
    const temp_dir directory;
    REQUIRE(produce(directory / "f", {}));
    CHECK(directory.names() == name_list{"f"});
    CHECK(std::filesystem::file_size(directory / "f") == 0);
}

TEST_CASE("until it is finished a replacing sink leaves the target alone") {
    const temp_dir directory;
    write_file(directory / "f", old_content);
    {
        const sink_pointer sink = create_sink(directory / "f", {}).value();
        REQUIRE(sink->write(bytes_of(pattern(3 * mebibyte))));
        CHECK(read_file(directory / "f") == old_content);
        CHECK(has_f_and_perhaps_a_temporary(directory));
    }
    CHECK(directory.names() == name_list{"f"});
    CHECK(read_file(directory / "f") == old_content);
}

TEST_CASE("where files have names from the start, the temporary one is hidden and locked") {
    const temp_dir directory;
    write_file(directory / "f", old_content);
    faulty_os os;
    os.failing_name = "create_unnamed_in";
    {
        const sink_pointer sink = create_sink(directory / "f", {}, os).value();
        REQUIRE(sink->write(bytes_of(pattern(3 * mebibyte))));
        const name_list present = directory.names();
        REQUIRE(present.size() == 2);
        CHECK(is_temporary_name(present[0]));
        CHECK(present[1] == "f");
        CHECK(ztensor::remove_abandoned(directory.path(), 0).value() == 0);
        CHECK(directory.names() == present);
    }
    CHECK(directory.names() == name_list{"f"});
    const sink_pointer sink = create_sink(directory / "f", {}, os).value();
    REQUIRE(write_and_finish(*sink, {"abc"}));
    CHECK(read_file(directory / "f") == "abc");
    CHECK(directory.names() == name_list{"f"});
}

TEST_CASE("a dropped sink in place removes what it made and empties what was there") {
    const temp_dir directory;
    const write_options in_place = write_options().publish(publish_mode::in_place);
    {
        const sink_pointer sink = create_sink(directory / "f", in_place).value();
        REQUIRE(sink->write(bytes_of(pattern(2 * mebibyte))));
        CHECK(directory.names() == name_list{"f"});
    }
    CHECK(directory.names().empty());

    faulty_os os;
    { // also where nobody can tell whether it is still its own
        const sink_pointer sink = create_sink(directory / "f", in_place, os).value();
        REQUIRE(sink->write(bytes_of(pattern(2 * mebibyte))));
        os.failing_name = "status_in";
    }
    CHECK(directory.names().empty());
    CHECK(os.open_handles == 0);

    write_file(directory / "f", old_content);
    {
        const sink_pointer sink = create_sink(directory / "f", in_place).value();
        REQUIRE(sink->write(bytes_of(pattern(2 * mebibyte))));
    }
    CHECK(directory.names() == name_list{"f"});
    CHECK(read_file(directory / "f").empty());
}

TEST_CASE("a finished or failed sink takes no more") {
    const temp_dir directory;
    for (const char* const failing : {"", "write"}) {
        CAPTURE(failing);
        faulty_os os;
        os.failing_name = failing;
        const sink_pointer sink = create_sink(directory / "f", {}, os).value();
        REQUIRE(write_and_finish(*sink, {"abc"}).has_value() == os.failing_name.empty());
        const std::size_t calls_before = os.calls.size();
        const result<void> written = sink->write(bytes_of("more"));
        REQUIRE(!written);
        CHECK(written.error().code() == errc::writer_closed);
        CHECK(written.error().path() == ztensor::detail::path_text((directory / "f").native()));
        CHECK(sink->finish().error().code() == errc::writer_closed);
        CHECK(os.calls.size() == calls_before);
    }
}

TEST_CASE("pieces of every size arrive in order, and all transfers but the last are whole MiB") {
    const temp_dir directory;
    const std::string content = pattern(24 * mebibyte + 4321);
    constexpr std::size_t m = mebibyte;
    const std::size_t sizes[] = {64,        m - 65, 1,     m,      m, 1,     m - 1,   2 * m, 3,      m / 2, 4 * m + 7,
                                 m / 2 - 9, 0,      m - 1, 100000, m, 5 * m, 1000000, 12,    524288, m + 1};
    std::vector<std::string_view> pieces;
    std::string_view left = content;
    for (const std::size_t size : sizes) {
        pieces.push_back(left.substr(0, size));
        left.remove_prefix(size);
    }
    pieces.push_back(left);

    faulty_os os;
    REQUIRE(produce(directory / "f", pieces, {}, os));
    CHECK((read_file(directory / "f") == content));
    std::vector<std::size_t> whole(24, m);
    whole.push_back(4321);
    CHECK(os.write_sizes == whole);
}

TEST_CASE("the file is on the disk before it gets its name, and the name before success is told") {
    const temp_dir directory;
    const scenario s;
    write_file(directory / "f", old_content);
    std::filesystem::permissions(directory / "f", std::filesystem::perms(0644)); // whatever the umask says
    faulty_os os;
    REQUIRE(produce(directory / "f", s.pieces, {}, os));
    CHECK(without_attempts(os.calls) ==
          those_here({"resolve_links", "open_directory", "status_in", "lock", "write", "write", "write", "write",
                      "status_in", "access_list_in", "set_access_list", "set_permissions", "sync", "duplicate",
                      "close", "rename_in", "close", "sync_directory"}));
}

TEST_CASE("without sync there is only the rename") {
    const temp_dir directory;
    faulty_os os;
    REQUIRE(produce(directory / "f", {"abc"}, write_options().sync(false), os));
    CHECK(without_attempts(os.calls) ==
          those_here({"resolve_links", "open_directory", "status_in", "lock", "write", "status_in", "duplicate",
                      "close", "rename_in", "close"}));
    faulty_os in_place;
    REQUIRE(produce(directory / "f", {"abc"}, write_options().sync(false).publish(publish_mode::in_place), in_place));
    CHECK(in_place.count("sync") + in_place.count("sync_directory") == 0);
}

TEST_CASE("atomic means that the file is on the disk before it gets its name, and no more") {
    const temp_dir directory;
    faulty_os os;
    REQUIRE(produce(directory / "f", {"abc"}, write_options().sync(ztensor::sync_level::atomic), os));
    const auto at = [&](const char* name) { return std::find(os.calls.begin(), os.calls.end(), name); };
    CHECK(at("sync") < at("rename_in"));
    CHECK(os.count("sync_directory") == 0);
}

TEST_CASE("in place, the directory is synced for a new name only") {
    const temp_dir directory;
    const write_options in_place = write_options().publish(publish_mode::in_place);
    faulty_os first;
    REQUIRE(produce(directory / "f", {"abc"}, in_place, first));
    CHECK(first.calls == name_list{"resolve_links", "open_directory", "status_in", "create_in", "lock",
                                   "status of handle", "truncate", "write", "status of handle", "status_in", "truncate",
                                   "sync", "close", "sync_directory"});
    faulty_os second;
    REQUIRE(produce(directory / "f", {"abc"}, in_place, second));
    CHECK(second.calls == name_list{"resolve_links", "open_directory", "status_in", "create_in", "open_in",
                                    "status of handle", "lock", "status of handle", "status_in", "status of handle",
                                    "truncate", "truncate", "write", "status of handle", "status_in", "truncate",
                                    "sync", "close"});
}

namespace {

/// What a file is just as good without: if one of these fails, the file is made all the same.
bool is_optional_call(const std::string& call) {
    for (const char* const each : {"create_unnamed_in", "link_in", "remove_in", "lock", "set_owner", "access_list_in",
                                   "set_access_list", "duplicate", "close holder"}) {
        if (call == each) {
            return true;
        }
    }
    return false;
}

} // namespace

TEST_CASE("whichever call fails, the target is all old or all new and nothing is left behind") {
    const scenario s;
    for (const bool has_unnamed : {false, !is_windows}) {
        for (const bool exists : {false, true}) {
            bool is_last = false;
            for (std::size_t failing = 0; !is_last; ++failing) {
                const temp_dir directory;
                if (exists) {
                    write_file(directory / "f", old_content);
                }
                faulty_os os;
                os.failing_name = has_unnamed ? "" : "create_unnamed_in";
                os.first_failing_call = failing;
                const result<void> done = produce(directory / "f", s.pieces, {}, os);
                REQUIRE(os.calls.size() > failing);
                const std::string failed = os.calls[failing];
                CAPTURE(has_unnamed, exists, failing, failed);
                is_last = failed == "sync_directory";
                const bool is_late = is_last || (failed == "close" && os.count("rename_in") == 1);
                const bool is_optional = is_optional_call(failed) || (failed == "close" && is_late) ||
                                         (!has_unnamed && failed == "status of handle");
                CHECK(os.count("sync") <= 1);
                CHECK(os.open_handles == 0);
                CHECK(directory.names() == (is_last || exists || done ? name_list{"f"} : name_list{}));
                if (done) {
                    CHECK((is_optional || failed == "status of handle"));
                    CHECK((read_file(directory / "f") == s.content));
                    continue;
                }
                CHECK(done.error().code() == (is_last ? errc::not_durable : errc::io_error));
                CHECK(done.error().os_error() == std::errc::io_error);
                CHECK(done.error().path() == ztensor::detail::path_text((directory / "f").native()));
                CHECK((read_file(directory / "f") == (is_last ? s.content : exists ? old_content : "")));
            }
        }
    }
}

TEST_CASE("where even tidying up fails, the target is safe and the message names what is left") {
    const scenario s;
    for (const bool has_unnamed : {false, true}) {
        bool is_last = false;
        for (std::size_t failing = 0; !is_last; ++failing) {
            const temp_dir directory;
            write_file(directory / "f", old_content);
            faulty_os os;
            os.failing_name = has_unnamed ? "" : "create_unnamed_in";
            os.first_failing_call = failing;
            os.failing_calls = faulty_os::never;
            const result<void> done = produce(directory / "f", s.pieces, {}, os);
            const std::string failed = os.calls[failing];
            CAPTURE(has_unnamed, failing, failed);
            REQUIRE(!done);
            CHECK(done.error().os_error() == std::errc::io_error);
            CHECK(os.open_handles == 0);
            const name_list present = directory.names();
            is_last = failed == "sync_directory";
            if (is_last || os.count("rename_in") == 1) {
                const bool is_new = is_last || failed == "close";
                CHECK((read_file(directory / "f") == (is_new ? s.content : old_content)));
            } else {
                CHECK(done.error().code() == errc::io_error);
                CHECK(read_file(directory / "f") == old_content);
            }
            if (present.size() == 2) {
                CHECK(is_temporary_name(present[0]));
                CHECK(done.error().what().find(present[0]) != std::string::npos);
                CHECK(ztensor::remove_abandoned(directory.path(), 0).value() == 1);
            }
            CHECK(directory.names() == name_list{"f"});
        }
    }
}

namespace {

/// Whether the old file had lost its content when that call was made.
bool emptied_before(std::size_t call, const faulty_os& os) {
    const auto end = os.calls.begin() + static_cast<std::ptrdiff_t>(call);
    return std::find(os.calls.begin(), end, "truncate") != end;
}

} // namespace

TEST_CASE("whichever call fails in place, a new file is gone and an old one is old, empty or complete") {
    const scenario s;
    const write_options in_place = write_options().publish(publish_mode::in_place);
    for (const bool exists : {false, true}) {
        const temp_dir dry;
        faulty_os counter;
        if (exists) {
            write_file(dry / "f", old_content);
        }
        REQUIRE(produce(dry / "f", s.pieces, in_place, counter));
        for (std::size_t failing = 0; failing < counter.calls.size(); ++failing) {
            const temp_dir directory;
            if (exists) {
                write_file(directory / "f", old_content);
            }
            faulty_os os;
            os.first_failing_call = failing;
            const result<void> done = produce(directory / "f", s.pieces, in_place, os);
            const std::string failed = os.calls[failing];
            CAPTURE(exists, failing, failed);
            CHECK(os.open_handles == 0);
            CHECK(os.count("sync") <= 1);
            if (done) {
                CHECK(failed == "lock");
                continue;
            }
            CHECK(done.error().code() == (failed == "sync_directory" ? errc::not_durable : errc::io_error));
            CHECK(done.error().os_error() == std::errc::io_error);
            if (failed == "sync_directory") {
                CHECK((read_file(directory / "f") == s.content));
            } else if (!exists) {
                CHECK(directory.names().empty());
            } else if (failed == "close") { // it can no longer be emptied
                CHECK((read_file(directory / "f") == s.content));
                CHECK(done.error().what().find("is left behind") != std::string::npos);
            } else if (emptied_before(failing, os)) {
                CHECK(read_file(directory / "f").empty());
            } else {
                CHECK(read_file(directory / "f") == old_content);
            }
        }
    }
}

TEST_CASE("interrupted and short writes go on") {
    const temp_dir directory;
    const scenario s;
    faulty_os os;
    os.failing_name = "write";
    os.failing_times = 5;
    os.failure = std::make_error_code(std::errc::interrupted);
    os.most_moved = 65537;
    REQUIRE(produce(directory / "f", s.pieces, {}, os));
    CHECK((read_file(directory / "f") == s.content));
}

TEST_CASE("a disk that fills up leaves the old file") {
    const scenario s;
    for (const std::size_t room : {std::size_t{0}, std::size_t{1}, mebibyte, 3 * mebibyte + 5, s.content.size() - 1}) {
        CAPTURE(room);
        const temp_dir directory;
        write_file(directory / "f", old_content);
        faulty_os os;
        os.room_bytes = room;
        const result<void> done = produce(directory / "f", s.pieces, {}, os);
        REQUIRE(!done);
        CHECK(done.error().code() == errc::io_error);
        CHECK(done.error().os_error() == std::errc::no_space_on_device);
        CHECK(read_file(directory / "f") == old_content);
        CHECK(directory.names() == name_list{"f"});
    }
}

TEST_CASE("a temporary name that is taken is tried again under another, but not for ever") {
    const temp_dir directory;
    faulty_os os;
    os.failing_name = "link_in";
    os.failing_times = 3;
    os.failure = std::make_error_code(std::errc::file_exists);
    REQUIRE(produce(directory / "f", {"abc"}, {}, os));
    CHECK((os.count("link_in") == 5 || os.count("create_in") == 1));
    CHECK(read_file(directory / "f") == "abc");

    faulty_os always; // also of files that have names from the start
    always.failing_name = "create_unnamed_in";
    always.first_failing_call = 4;
    always.failing_calls = faulty_os::never;
    always.failure = std::make_error_code(std::errc::file_exists);
    const result<void> done = produce(directory / "f", {"def"}, {}, always);
    REQUIRE(!done);
    CHECK(done.error().code() == errc::io_error);
    CHECK(done.error().os_error() == std::errc::file_exists);
    CHECK(always.count("create_in") < 100);
    CHECK(read_file(directory / "f") == "abc");
}

TEST_CASE("a target that is no file is refused before anything happens") {
    const temp_dir directory;
    std::filesystem::create_directory(directory / "d");
    for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
        const write_options options = write_options().publish(mode);
        CHECK(create_sink(directory / "d", options).error().code() == errc::not_regular_file);
        CHECK(create_sink(directory / "d/", options).error().code() == errc::not_regular_file);
        CHECK(create_sink(directory / "d/.", options).error().code() == errc::not_regular_file);
        CHECK(create_sink(directory / "n/", options).error().code() == errc::invalid_argument);
        CHECK(create_sink("", options).error().code() == errc::invalid_argument);
        CHECK(directory.names() == name_list{"d"});
        CHECK(std::filesystem::is_empty(directory / "d"));
    }
}

TEST_CASE("a directory that is not there can't be written to") {
    const temp_dir directory;
    for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
        const result<sink_pointer> sink = create_sink(directory / "n/f", write_options().publish(mode));
        REQUIRE(!sink);
        CHECK(sink.error().code() == errc::io_error);
        CHECK(sink.error().os_error() == std::errc::no_such_file_or_directory);
        CHECK(sink.error().path() == ztensor::detail::path_text((directory / "n/f").native()));
    }
    CHECK(directory.names().empty());
}

TEST_CASE("a relative target means what it meant when the sink was made") {
    const temp_dir directory;
    std::filesystem::create_directory(directory / "a");
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(directory / "a");
    result<sink_pointer> sink = create_sink("f", {});
    std::filesystem::current_path(before);
    REQUIRE(sink);
    REQUIRE(write_and_finish(**sink, {"abc"}));
    CHECK(read_file(directory / "a/f") == "abc");
}

TEST_CASE("a target outside ASCII is written") {
    const temp_dir directory;
    const std::filesystem::path name(u"mod\u00e9l-\u91cd\u307f.zt");
    REQUIRE(produce(directory / name, {"abc"}));
    CHECK(read_file(directory / name) == "abc");
    CHECK(directory.names() == name_list{"mod\xc3\xa9l-\xe9\x87\x8d\xe3\x81\xbf.zt"});
}

TEST_CASE("two sinks on one target don't mix") {
    const temp_dir directory;
    const sink_pointer first = create_sink(directory / "f", {}).value();
    const sink_pointer second = create_sink(directory / "f", {}).value();
    REQUIRE(first->write(bytes_of("first")));
    REQUIRE(second->write(bytes_of("second")));
    REQUIRE(second->finish());
    CHECK(read_file(directory / "f") == "second");
    REQUIRE(first->finish());
    CHECK(read_file(directory / "f") == "first");
    CHECK(directory.names() == name_list{"f"});
}

TEST_CASE("a file can be replaced while it is mapped, and made from its own old bytes") {
    const temp_dir directory;
    write_file(directory / "f", old_content);
    const auto source =
        ztensor::detail::open_source(directory / "f", ztensor::read_options().mode(ztensor::io_mode::mapped)).value();
    const sink_pointer sink = create_sink(directory / "f", {}).value();
    REQUIRE(sink->write(bytes_of("copied: ")));
    REQUIRE(sink->write(source->mapped()));
    const result<void> finished = sink->finish();
    if (is_windows && !finished) {
        CHECK(finished.error().code() == errc::io_error);
        CHECK(read_file(directory / "f") == old_content);
        CHECK(directory.names() == name_list{"f"});
        WARN("this system lets nobody replace a file that is mapped: before Windows 10, and outside NTFS");
        return;
    }
    REQUIRE(finished);
    CHECK(read_file(directory / "f") == "copied: " + old_content);
    const ztensor::bytes_view mapped = source->mapped();
    CHECK(std::equal(mapped.begin(), mapped.end(), bytes_of(old_content).begin()));
}

#if !defined(_WIN32)

namespace {

unsigned mode_of(const std::filesystem::path& path) {
    struct ::stat found = {};
    REQUIRE(::lstat(path.c_str(), &found) == 0);
    return static_cast<unsigned>(found.st_mode) & 07777u;
}

/// Sets the umask for the length of a test.
class umask_guard {
public:
    explicit umask_guard(::mode_t mask) : before_(::umask(mask)) {}
    umask_guard(const umask_guard&) = delete;
    umask_guard& operator=(const umask_guard&) = delete;
    ~umask_guard() { ::umask(before_); }

private:
    ::mode_t before_;
};

} // namespace

TEST_CASE("a new file has the permissions that the process gives to new files") {
    const temp_dir directory;
    const umask_guard umask(027);
    for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
        std::filesystem::remove(directory / "f");
        REQUIRE(produce(directory / "f", {"abc"}, write_options().publish(mode)));
        CHECK(mode_of(directory / "f") == 0640u);
    }
}

TEST_CASE("a replaced file keeps its permissions, and the temporary never has more") {
    const temp_dir directory;
    const umask_guard umask(022);
    for (const unsigned mode : {0600u, 0666u, 0400u, 0755u}) {
        write_file(directory / "f", old_content);
        REQUIRE(::chmod((directory / "f").c_str(), static_cast<::mode_t>(mode)) == 0);
        faulty_os os;
        os.failing_name = "create_unnamed_in";
        const sink_pointer sink = create_sink(directory / "f", {}, os).value();
        CHECK((mode_of(directory / directory.names()[0]) & ~mode) == 0);
        REQUIRE(write_and_finish(*sink, {"abc"}));
        CHECK(mode_of(directory / "f") == mode);
        CHECK(read_file(directory / "f") == "abc");
        std::filesystem::remove(directory / "f");
    }
}

TEST_CASE("a symbolic link stays, and the file it leads to is replaced") {
    for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
        for (const bool exists : {false, true}) {
            CAPTURE(static_cast<int>(mode), exists);
            const temp_dir directory;
            std::filesystem::create_directory(directory / "d");
            std::filesystem::create_symlink("d/f", directory / "link");
            if (exists) {
                write_file(directory / "d/f", old_content);
            }
            REQUIRE(produce(directory / "link", {"abc"}, write_options().publish(mode)));
            CHECK(std::filesystem::is_symlink(directory / "link"));
            CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(directory / "d/f")));
            CHECK(read_file(directory / "d/f") == "abc");
            CHECK(directory.names() == name_list{"d", "link"});
            CHECK(std::distance(std::filesystem::directory_iterator(directory / "d"), {}) == 1);
        }
    }
}

TEST_CASE("links in a circle are an I/O error") {
    const temp_dir directory;
    std::filesystem::create_symlink("loop", directory / "loop");
    const result<sink_pointer> sink = create_sink(directory / "loop", {});
    REQUIRE(!sink);
    CHECK(sink.error().code() == errc::io_error);
    CHECK(sink.error().os_error() == std::errc::too_many_symbolic_link_levels);
}

TEST_CASE("another hard link keeps the old content") {
    const temp_dir directory;
    write_file(directory / "f", old_content);
    std::filesystem::create_hard_link(directory / "f", directory / "g");
    REQUIRE(produce(directory / "f", {"abc"}));
    CHECK(read_file(directory / "f") == "abc");
    CHECK(read_file(directory / "g") == old_content);
}

TEST_CASE("a FIFO or device as target is refused and does not block") {
    const temp_dir directory;
    REQUIRE(::mkfifo((directory / "fifo").c_str(), 0600) == 0);
    for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
        const write_options options = write_options().publish(mode);
        CHECK(create_sink(directory / "fifo", options).error().code() == errc::not_regular_file);
        CHECK(create_sink("/dev/null", options).error().code() == errc::not_regular_file);
    }
    CHECK(directory.names() == name_list{"fifo"});
}

TEST_CASE("a directory that may not be written to leaves the file as it was") {
    if (::geteuid() == 0) {
        WARN("skipped: root may write everywhere");
        return;
    }
    const temp_dir directory;
    write_file(directory / "f", old_content);
    REQUIRE(::chmod(directory.path().c_str(), 0555) == 0);
    const result<sink_pointer> sink = create_sink(directory / "f", {});
    REQUIRE(!sink);
    CHECK(sink.error().code() == errc::io_error);
    CHECK(sink.error().os_error() == std::errc::permission_denied);
    CHECK(read_file(directory / "f") == old_content);
    CHECK(produce(directory / "f", {"abc"}, write_options().publish(publish_mode::in_place)).has_value());
    CHECK(read_file(directory / "f") == "abc");
}

TEST_CASE("a real limit on file size is reported, and the old file stays") {
    const temp_dir directory;
    write_file(directory / "f", old_content);
    const scenario s;
    const int outcome = support::exit_code_of([&] {
        std::signal(SIGXFSZ, SIG_IGN);
        const ::rlimit limit = {2 * mebibyte + 5, 2 * mebibyte + 5};
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) {
            return 1;
        }
        const result<void> done = produce(directory / "f", s.pieces);
        if (done) {
            return 2;
        }
        if (done.error().code() != errc::io_error) {
            return 3;
        }
        return done.error().os_error() == std::errc::file_too_large ? 42 : 4;
    });
    CHECK(outcome == 42);
    CHECK(read_file(directory / "f") == old_content);
    CHECK(directory.names() == name_list{"f"});
}

TEST_CASE("a process that dies leaves the old file and at most a temporary") {
    const temp_dir directory;
    write_file(directory / "f", old_content);
    const scenario s;
    const int outcome = support::exit_code_of([&] {
        const result<sink_pointer> sink = create_sink(directory / "f", {});
        if (!sink) {
            return 1;
        }
        for (const std::string_view piece : s.pieces) {
            if (!(*sink)->write(bytes_of(piece))) {
                return 2;
            }
        }
        ::_exit(42);
    });
    CHECK(outcome == 42);
    CHECK(read_file(directory / "f") == old_content);
    CHECK(has_f_and_perhaps_a_temporary(directory));
    REQUIRE(produce(directory / "f", {"abc"}));
    CHECK(read_file(directory / "f") == "abc");
}

#else

TEST_CASE("permissions, links, limits and the ends of processes are tried on other systems") {
    WARN(
        "skipped: Windows has no permissions that are numbers, no FIFOs, no limit on file sizes, no fork, and symbolic "
        "links take a right that tests don't have");
}

#endif

TEST_CASE("memory gathers what is written, once") {
    ztensor::detail::memory_sink sink;
    REQUIRE(sink.write(bytes_of("one ")));
    REQUIRE(sink.write({}));
    REQUIRE(sink.write(bytes_of("two")));
    REQUIRE(sink.finish());
    CHECK(sink.write(bytes_of("more")).error().code() == errc::writer_closed);
    CHECK(sink.finish().error().code() == errc::writer_closed);
    const std::vector<std::byte> bytes = sink.take();
    const std::string_view expected = "one two";
    REQUIRE(bytes.size() == expected.size());
    CHECK(std::equal(bytes.begin(), bytes.end(), bytes_of(expected).begin()));
    CHECK(sink.take().empty());
}

// -- what a file is just as good without

namespace {

constexpr std::size_t large_bytes = 17 * mebibyte + 77;

/// 64 bytes, a large piece, and what is left; as large files are written.
result<void> produce_large(const std::filesystem::path& target, const std::string& content,
                           const write_options& options, ztensor::detail::os_calls& os) {
    const std::string_view all = content;
    return produce(target, {all.substr(0, 64), all.substr(64, all.size() - 100), all.substr(all.size() - 36)}, options,
                   os);
}

} // namespace

TEST_CASE("room is reserved for large files alone, in large steps, and given back at the end") {
    const temp_dir directory;
    const std::string content = pattern(large_bytes);
    faulty_os os;
    REQUIRE(produce_large(directory / "f", content, write_options().sync(false), os));
    CHECK((read_file(directory / "f") == content));
    CHECK(os.count("reserve") == 1);
    // Where nothing could be reserved, nothing is given back.
    CHECK(os.count("truncate") <= 1);
#if defined(__linux__)
    struct ::stat found = {};
    REQUIRE(::stat((directory / "f").c_str(), &found) == 0);
    CHECK(found.st_blocks * 512 < static_cast<long>(large_bytes + mebibyte));
#endif
    faulty_os small;
    REQUIRE(produce(directory / "f", {pattern(3 * mebibyte)}, {}, small));
    CHECK(small.count("reserve") + small.count("truncate") + small.count("begin_sync") == 0);
}

TEST_CASE("a durable file goes to the disk while it is written, another one does not") {
    const temp_dir directory;
    const std::string content = pattern(large_bytes);
    faulty_os durable;
    REQUIRE(produce_large(directory / "f", content, {}, durable));
    CHECK((read_file(directory / "f") == content));
    CHECK(durable.count("begin_sync") >= 1); // 1 where the system has no such call
    CHECK(durable.count("begin_sync") <= 4);
    faulty_os quick;
    REQUIRE(produce_large(directory / "f", content, write_options().sync(false), quick));
    CHECK(quick.count("begin_sync") == 0);
}

TEST_CASE("where the system refuses such a request, it is not asked again and the file is the same") {
    const std::string content = pattern(large_bytes);
    for (const char* const refused : {"reserve", "begin_sync", "set_direct"}) {
        CAPTURE(refused);
        const temp_dir directory;
        faulty_os os;
        os.failing_name = refused;
        const write_options options = write_options().direct(std::string_view(refused) == "set_direct");
        REQUIRE(produce_large(directory / "f", content, options, os));
        CHECK((read_file(directory / "f") == content));
        CHECK(os.count(refused) == 1);
    }
    const temp_dir directory;
    faulty_os os;
    os.failing_name = "truncate";
    const result<void> done = produce_large(directory / "f", content, {}, os);
    CHECK(done.has_value() == (os.count("truncate") == 0)); // where something was reserved that can't be given back
    CHECK(directory.names().size() == (done ? 1 : 0));
}

TEST_CASE("past the cache, or where that fails half-way, the file is the same") {
    const std::string content = pattern(large_bytes);
    for (const bool fails_when_writing : {false, !is_windows}) { // which is not asked to go past the cache
        for (const std::size_t most_moved : {faulty_os::never, 3 * mebibyte}) {
            CAPTURE(fails_when_writing, most_moved);
            const temp_dir directory;
            faulty_os os;
            os.most_moved = most_moved;
            os.failing_name = fails_when_writing ? "write" : "";
            os.failing_times = 1;
            os.failure = std::make_error_code(std::errc::invalid_argument);
            REQUIRE(produce_large(directory / "f", content, write_options().direct(true), os));
            CHECK((read_file(directory / "f") == content));
            const auto at = [&](const char* name) { return std::find(os.calls.begin(), os.calls.end(), name); };
            CHECK(at("set_direct") < at("write"));
        }
    }
    const temp_dir directory;
    REQUIRE(produce(directory / "f", {"abc"}, write_options().direct(true)));
    CHECK(read_file(directory / "f") == "abc");
}
