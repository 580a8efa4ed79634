// SPDX-License-Identifier: MIT
//
// What the system refuses a writer: handles beyond a limit, names for files without one, links of strangers.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/faulty_os.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "write/gone_on_with.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#if !defined(_WIN32)
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <cerrno>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

namespace {

namespace refused_by_system {

using gone_on_with::write_old;
using support::read_file;
using support::refusal;
using support::temp_dir;
using ztensor::errc;
using ztensor::publish_mode;
using ztensor::sync_level;
using ztensor::write_options;
using ztensor::writer;

const std::vector<float> three_more = {7, 8, 9};

} // namespace refused_by_system

} // namespace

TEST_CASE("where a file without a name can't be given one, it has one from the start") {
    using namespace refused_by_system;
    const temp_dir directory;
    support::faulty_os os;
    os.failing_name = "link_in";
    for (const std::errc refused : {std::errc::permission_denied, std::errc::operation_not_permitted,
                                    std::errc::function_not_supported, std::errc::no_such_file_or_directory}) {
        os.failure = std::make_error_code(refused);
        auto sink = ztensor::detail::create_sink(directory / "f", {}, os).value();
        REQUIRE(sink->write(support::bytes_of("content")));
        REQUIRE(sink->finish());
        CHECK(read_file(directory / "f") == "content");
        CHECK(directory.names() == std::vector<std::string>{"f"});
        sink.reset();
        CHECK(os.open_handles == 0);
    }
}

TEST_CASE("where no second handle of a file is to be had, it is finished all the same") {
    using namespace refused_by_system;
    const temp_dir directory;
    support::faulty_os os;
    os.failing_name = "duplicate";
    os.failure = std::make_error_code(std::errc::too_many_files_open);
    auto sink = ztensor::detail::create_sink(directory / "f", {}, os).value();
    REQUIRE(sink->write(support::bytes_of("content")));
    REQUIRE(sink->finish());
    CHECK(read_file(directory / "f") == "content");
    CHECK(directory.names() == std::vector<std::string>{"f"});
    sink.reset();
    CHECK(os.open_handles == 0);
}

#if !defined(_WIN32)

namespace {

namespace refused_by_system {

bool is_rehearsal = false;

/// From now on this process gets no handle more than it has, but in a rehearsal.
bool allow_no_more_handles() {
    if (is_rehearsal) {
        return true;
    }
    const int next = ::dup(0);
    if (next < 0 || ::close(next) != 0) {
        return false;
    }
    ::rlimit limit = {};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return false;
    }
    limit.rlim_cur = static_cast<::rlim_t>(next);
    return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 && ::dup(0) < 0;
}

using write_work = bool (*)(const std::filesystem::path& folder, const write_options& options);

const write_work works[] = {
    [](const std::filesystem::path& folder, const write_options& options) {
        writer out = writer::create(folder / "f.zt", options).value();
        const bool is_written = out.add("n", {3}, three_more).has_value() && allow_no_more_handles();
        return is_written && out.add("m", {3}, three_more) && out.finish();
    },
    [](const std::filesystem::path& folder, const write_options& options) {
        writer out = writer::append(folder / "f.zt", options).value();
        return allow_no_more_handles() && out.add("n", {3}, three_more) && out.finish();
    },
    [](const std::filesystem::path& folder, const write_options& options) {
        ztensor::editor change = ztensor::edit(folder / "f.zt", options).value();
        const bool is_written = change.replace("b", {5}, std::vector<std::uint8_t>{5, 4, 3, 2, 1}).has_value();
        return is_written && allow_no_more_handles() && change.finish();
    },
    [](const std::filesystem::path& folder, const write_options& options) {
        const ztensor::reader from = ztensor::reader::open(folder / "f.zt").value();
        writer to = writer::create(folder / "copy.zt", options).value();
        return allow_no_more_handles() && ztensor::copy(from, to) && to.finish();
    },
    [](const std::filesystem::path& folder, const write_options& options) {
        writer out = writer::create(folder / "sharded.zt",
                                    write_options(options).version(ztensor::format_version::v2).shard_bytes(1))
                         .value();
        const bool is_written =
            out.add("a", {3}, three_more) && out.add("b", {3}, three_more) && out.add("c", {3}, three_more);
        return is_written && allow_no_more_handles() && out.finish();
    },
};

} // namespace refused_by_system

} // namespace

TEST_CASE("once a file is written, nothing needs a handle more to finish it") {
    using namespace refused_by_system;
    for (const sync_level sync : {sync_level::none, sync_level::atomic, sync_level::durable}) {
        for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
            for (std::size_t i = 0; i < std::size(works); ++i) {
                CAPTURE(static_cast<int>(sync), static_cast<int>(mode), i);
                const temp_dir directory;
                write_old(directory / "f.zt");
                std::filesystem::permissions(directory / "f.zt", std::filesystem::perms(0644));
                const auto options = write_options().sync(sync).publish(mode);
                const auto is_done = [&](const temp_dir& in) { return works[i](in.path(), options); };
                // A sanitizer writes into a pipe when it first meets a type, which takes handles: so it meets all
                // before.
                const temp_dir rehearsed;
                write_old(rehearsed / "f.zt");
                is_rehearsal = true;
                CHECK(is_done(rehearsed));
                is_rehearsal = false;
                CHECK(support::exit_code_of([&] { return is_done(directory) ? 0 : 1; }) == 0);
                CHECK(gone_on_with::leftovers(directory.names()).empty());
                CHECK(std::filesystem::status(directory / "f.zt").permissions() == std::filesystem::perms(0644));
            }
        }
    }
}

TEST_CASE("a link of a stranger in a folder that everybody may write to is not followed, as the system would not") {
    using namespace refused_by_system;
    constexpr ::uid_t stranger = 54321;
    const auto no_group = static_cast<::gid_t>(-1);
    const struct {
        unsigned permissions; ///< of the folder that the link is in
        ::uid_t owner;        ///< of the link
        bool is_followed;
    } cases[] = {{01777, stranger, false}, {01777, ::geteuid(), true}, {0777, stranger, true}, {01755, stranger, true}};
    for (const auto& each : cases) {
        for (const bool exists : {true, false}) {
            const temp_dir shared, folder;
            if (exists) {
                write_old(folder / "f");
            }
            const std::string before = read_file(folder / "f");
            std::filesystem::create_symlink(folder / "f", shared / "link");
            std::filesystem::create_symlink(shared / "link", folder / "ours"); // a link to a link
            std::filesystem::permissions(shared.path(), std::filesystem::perms(each.permissions));
            if (::lchown((shared / "link").c_str(), each.owner, no_group) != 0) {
                WARN("skipped: only root gives links away");
                return;
            }
            CAPTURE(each.permissions, each.owner, exists);
            for (const auto& path : {shared / "link", folder / "ours"}) {
                for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
                    const auto out = writer::create(path, write_options().publish(mode));
                    CHECK(out.has_value() == each.is_followed);
                    CHECK((out || out.error().os_error() == std::errc::permission_denied));
                }
                if (exists) {
                    CHECK(writer::append(path).has_value() == each.is_followed);
                    CHECK(ztensor::edit(path).has_value() == each.is_followed);
                }
                CHECK(ztensor::recover(path).has_value() == each.is_followed);
            }
            CHECK(read_file(folder / "f") == (each.is_followed && exists ? read_file(folder / "f") : before));
            CHECK(shared.names() == std::vector<std::string>{"link"});
        }
    }
}

#endif

#if defined(__linux__) && defined(SECCOMP_RET_ERRNO)

namespace {

namespace refused_by_system {

/// From now on the system refuses this process to name files, as some profiles do.
bool forbid_links(int code) {
    ::sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(::seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_linkat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(code)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const ::sock_fprog program = {static_cast<unsigned short>(std::size(filter)), filter};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

} // namespace refused_by_system

} // namespace

TEST_CASE("under a filter of system calls that lets nobody link files, nothing that was written is lost") {
    using namespace refused_by_system;
    for (const int refused : {EPERM, EACCES, ENOSYS}) {
        const temp_dir directory;
        const int code = support::exit_code_of([&] {
            if (!forbid_links(refused)) {
                return 77;
            }
            writer out = writer::create(directory / "f").value();
            return out.add("n", {3}, three_more) && out.finish() ? 0 : 1;
        });
        if (code == 77) {
            WARN("skipped: this system takes no filter");
            return;
        }
        CHECK(code == 0);
        CHECK(directory.names() == std::vector<std::string>{"f"});
        const auto file = ztensor::reader::open(directory / "f").value();
        CHECK(file.find("n").value().read<float>().value() == three_more);
    }
}

#endif
