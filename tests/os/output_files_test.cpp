// SPDX-License-Identifier: MIT
//
// Files that are written to where the system refuses, interrupts, or says what this one does not: owners that can't be
// given, locks of others, names that others replace again and again.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/faulty_os.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/write/atomic_file.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

namespace output_files {

using support::faulty_os;
using support::refusal;
using support::temp_dir;
using ztensor::errc;
using ztensor::publish_mode;
using ztensor::result;
using ztensor::sync_level;
namespace detail = ztensor::detail;

const detail::native_path file_name = std::filesystem::path("f").native();

/// A system of owners: a file has those that it is given, as far as that is allowed.
class owning_os final : public faulty_os {
public:
    bool gives_owners = true;
    bool gives_groups = true;
    std::uint32_t owner = 1000;
    std::uint32_t group = 1000;
    std::uint32_t permissions = 0;

    detail::os_answer<detail::file_status> status(detail::os_handle file) override {
        auto answer = faulty_os::status(file);
        answer.value.owner = owner;
        answer.value.group = group;
        return answer;
    }
    std::error_code set_owner(detail::os_handle, std::uint32_t new_owner, std::uint32_t new_group) override {
        if ((new_owner != owner && !gives_owners) || (new_group != group && !gives_groups)) {
            return std::make_error_code(std::errc::operation_not_permitted);
        }
        owner = new_owner;
        group = new_group;
        return {};
    }
    detail::os_answer<std::string> access_list_in(const detail::os_directory&, const detail::native_path&) override {
        return {{}, {}};
    }
    std::error_code set_access_list(detail::os_handle, const std::string&) override { return {}; }
    std::error_code set_permissions(detail::os_handle, std::uint32_t given) override {
        permissions = given;
        return {};
    }
};

/// Its files have other facts than the real ones.
class odd_os final : public faulty_os {
public:
    bool has_lost_names = false; ///< of files that are open
    std::uint64_t replaced = 0;  ///< so often a name means another file than the one that was opened by it

    detail::os_answer<detail::file_status> status(detail::os_handle file) override {
        auto answer = faulty_os::status(file);
        answer.value.links = has_lost_names ? 0 : answer.value.links;
        return answer;
    }
    detail::os_answer<detail::file_status> status_in(const detail::os_directory& in,
                                                     const detail::native_path& name) override {
        auto answer = faulty_os::status_in(in, name);
        if (replaced != 0) {
            answer.value.file_id += replaced--;
        }
        return answer;
    }
};

/// Others have a lock on all that is made.
class locked_os final : public faulty_os {
public:
    explicit locked_os(bool has_unnamed) : has_unnamed_(has_unnamed) {}

    detail::os_answer<detail::os_handle> create_unnamed_in(const detail::os_directory& in, std::uint32_t) override {
        if (has_unnamed_) { // with a name, which is as good
            return faulty_os::open_in(in, file_name, true);
        }
        return {{}, std::make_error_code(std::errc::not_supported)};
    }
    std::error_code lock(detail::os_handle) override {
        return std::make_error_code(std::errc::device_or_resource_busy);
    }

private:
    bool has_unnamed_;
};

detail::directory folder_of(const temp_dir& directory, detail::os_calls& os) {
    return detail::directory::open(directory.path().native(), false, os).value();
}

std::unique_ptr<detail::atomic_file> target_in(const temp_dir& directory, detail::os_calls& os) {
    const auto path = (directory / "f").native();
    return detail::find_target(path, publish_mode::replace, sync_level::none, os).value();
}

} // namespace output_files

} // namespace

TEST_CASE("a new file is its owner's alone where it can't have the group of the old one") {
    using namespace output_files;
    const struct {
        bool gives_owners;
        bool gives_groups;
        std::uint32_t old_owner;
        std::uint32_t old_group;
        std::uint32_t permissions;
    } cases[] = {
        {true, true, 1000, 1000, 0754}, {true, true, 1, 1, 0754},     {false, true, 1, 1, 0754},
        {false, false, 1, 1000, 0754},  {true, false, 1000, 1, 0704}, {false, false, 1, 1, 0704},
    };
    for (const auto& each : cases) {
        const temp_dir directory;
        owning_os os;
        os.gives_owners = each.gives_owners;
        os.gives_groups = each.gives_groups;
        const detail::directory in = folder_of(directory, os);
        auto made = detail::output_file::create(in, file_name, 0600).value();
        detail::file_status old;
        old.owner = each.old_owner;
        old.group = each.old_group;
        old.permissions = 0754;
        CHECK(made.copy_metadata_from(old, in, file_name));
        CAPTURE(each.gives_owners, each.gives_groups, each.old_owner, each.old_group);
        CHECK(os.permissions == each.permissions);
        CHECK((os.group == each.old_group || !each.gives_groups));
    }
}

TEST_CASE("a file system that knows no permissions keeps none, and other failures are told") {
    using namespace output_files;
    const temp_dir directory;
    faulty_os os;
    os.failing_name = "set_permissions";
    const detail::directory in = folder_of(directory, os);
    auto made = detail::output_file::create(in, file_name, 0600).value();
    detail::file_status old = made.status().value();
    old.permissions = 0400;
    for (const std::errc unknown : {std::errc::operation_not_permitted, std::errc::not_supported,
                                    std::errc::operation_not_supported, std::errc::function_not_supported}) {
        os.failure = std::make_error_code(unknown);
        CHECK(made.copy_metadata_from(old, in, file_name));
    }
    os.failure = std::make_error_code(std::errc::io_error);
    CHECK(refusal(made.copy_metadata_from(old, in, file_name)) == errc::io_error);
}

TEST_CASE("where a system opens no file that another writes, that is another writer at work") {
    using namespace output_files;
    const temp_dir directory;
    support::write_file(directory / "f", "content");
    faulty_os os;
    os.failing_name = "open_in";
    os.failure = std::make_error_code(std::errc::device_or_resource_busy);
    CHECK(refusal(detail::output_file::open(folder_of(directory, os), file_name)) == errc::busy);
}

TEST_CASE("what was written is read back through interruptions, and not at all where the system refuses") {
    using namespace output_files;
    const temp_dir directory;
    faulty_os os;
    auto made = detail::output_file::create(folder_of(directory, os), file_name, 0600).value();
    REQUIRE(made.append(support::bytes_of("content")));
    std::vector<std::byte> back(7);
    os.failing_name = "read";
    os.failing_times = 3;
    os.failure = std::make_error_code(std::errc::interrupted);
    os.most_moved = 2;
    CHECK(made.read_back(0, back));
    CHECK(support::as_string(back) == "content");
    CHECK_FALSE(made.read_back(1, back)); // of which one lies behind the end
    os.failing_times = faulty_os::never;
    os.failure = std::make_error_code(std::errc::io_error);
    CHECK_FALSE(made.read_back(0, back));
}

TEST_CASE("a name that others replace is opened again, but not for ever") {
    using namespace output_files;
    const temp_dir directory;
    support::write_file(directory / "f", "content");
    odd_os os;
    const detail::directory in = folder_of(directory, os);
    os.replaced = 3;
    CHECK(detail::open_locked(in, file_name, true));
    os.replaced = faulty_os::never;
    CHECK(refusal(detail::open_locked(in, file_name, true)) == errc::busy);
    CHECK(os.open_handles == 1); // the folder's
}

TEST_CASE("a temporary file that a sweep takes, or that others lock, is made again under another name") {
    using namespace output_files;
    const temp_dir directory;
    odd_os os;
    os.failing_name = "create_unnamed_in";
    const auto swept = target_in(directory, os);
    os.has_lost_names = true;
    CHECK(refusal(swept->open()) == errc::io_error);
    CHECK(os.count("create_in") == 16);
    os.has_lost_names = false;
    CHECK(target_in(directory, os)->open());
}

TEST_CASE("a lock that another has on every new file keeps them from being used") {
    using namespace output_files;
    for (const bool has_unnamed : {false, true}) {
        const temp_dir directory;
        support::write_file(directory / "f", "content");
        locked_os os(has_unnamed);
        {
            const auto target = target_in(directory, os);
            CHECK(refusal(target->open()) == (has_unnamed ? errc::busy : errc::io_error));
        }
        CHECK(os.open_handles == 0);
        CHECK(os.count("create_in") == (has_unnamed ? 0 : 16));
    }
}

TEST_CASE("files are the same where device and number are") {
    using namespace output_files;
    detail::file_status a, b;
    a.device = b.device = 1;
    a.file_id = b.file_id = 2;
    CHECK(a.is_same_file(b));
    b.device = 2;
    CHECK_FALSE(a.is_same_file(b));
    b.device = 1;
    b.file_id = 3;
    CHECK_FALSE(a.is_same_file(b));
}

TEST_CASE("names of dots are names but for the two that mean folders, and a path that is nothing names no file") {
    using namespace output_files;
    const temp_dir directory;
    faulty_os os;
    CHECK(detail::locate((directory / "...").native(), false, os).value().name ==
          std::filesystem::path("...").native());
    CHECK(refusal(detail::locate((directory / ".").native(), false, os)) == errc::not_regular_file);
    CHECK(refusal(detail::locate({}, false, os)) == errc::invalid_argument);
    os.failing_name = "status of path";
    CHECK(refusal(detail::locate((directory / ".").native(), false, os)) == errc::invalid_argument);
}

TEST_CASE("a directory that takes another's place is closed with it, once") {
    using namespace output_files;
    const temp_dir directory, other;
    faulty_os os;
    {
        detail::directory in = folder_of(directory, os);
        in = folder_of(other, os);
        auto made = detail::output_file::create(in, file_name, 0600);
        CHECK(made);
    }
    CHECK(other.names() == std::vector<std::string>{"f"});
    CHECK(directory.names().empty());
}

TEST_CASE("hints about no bytes are not given, and systems may know no hints") {
    using namespace output_files;
    const temp_dir directory;
    support::write_file(directory / "f", "content");
    faulty_os os;
    const auto source = detail::file::open((directory / "f").native(), os).value();
    source.advise(0, 0, true);
    source.advise(0, 7, true);
    std::vector<std::byte> bytes(1 << 16, std::byte{7});
    detail::forget_pages(bytes, 1, 100);                     // no whole page
    detail::forget_pages(bytes, bytes.size(), bytes.size()); // none of those bytes
    CHECK((bytes == std::vector<std::byte>(1 << 16, std::byte{7})));
}
