// SPDX-License-Identifier: MIT
//
// Files beside a file: which names and which links lead to one, and that what was looked at is what is opened.
#include "support/catch.hpp"
#include "support/faulty_os.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

namespace {

using support::outcome;
using support::refusal;
using ztensor::errc;
using ztensor::result;
namespace detail = ztensor::detail;
namespace fs = std::filesystem;

/// False where symbolic links can't be made.
bool link(const fs::path& target, const fs::path& name) {
    std::error_code failed;
    fs::remove(name, failed);
    fs::create_symlink(target, name, failed);
    return !failed;
}

std::string content_of(const result<detail::file>& file) {
    if (!file) {
        return std::string(ztensor::name(file.error().code()));
    }
    std::string content(static_cast<std::size_t>(file->size_bytes()), '\0');
    const auto read = file->read_at(0, {reinterpret_cast<std::byte*>(content.data()), content.size()});
    return read ? content : "unreadable";
}

/// What the file of that name in the folder holds, or the code of its refusal.
std::string found(const fs::path& folder, const std::string& name, bool follows_links = false) {
    const auto opened = detail::beneath_folder::of(folder.native(), follows_links);
    return opened ? content_of(opened->open(ztensor::file_path(name).native())) : "no folder";
}

/// The same beside a file that the caller named.
std::string found_beside(const fs::path& file, const std::string& name, bool follows_links = false) {
    const auto named = detail::file::open(file.native());
    const auto status = named->os().status(named->handle()).value;
    const auto folder = detail::beneath_folder::beside(file.native(), status, follows_links);
    return folder ? content_of(folder->open(ztensor::file_path(name).native())) : "no folder";
}

/// Does something before the n-th call of that name, as another process may.
class disturbed_os final : public support::faulty_os {
public:
    std::string at;
    std::function<void()> disturbance;

    detail::os_answer<detail::os_directory> find_directory(const detail::os_directory* from,
                                                           const detail::native_path& path, bool follows) override {
        const auto answer = faulty_os::find_directory(from, path, follows);
        disturb_after("find_directory");
        return answer;
    }
    detail::os_answer<detail::native_path> link_target(const detail::os_directory& in,
                                                       const detail::native_path& name) override {
        const auto answer = faulty_os::link_target(in, name);
        disturb_after("link_target");
        return answer;
    }

private:
    void disturb_after(const std::string& call) {
        if (call == at && disturbance) {
            disturbance();
        }
    }
};

/// folder/, folder/in/ and outside/, each with a file "w" that says where it is.
struct places {
    support::temp_dir root;
    fs::path folder = root / "folder";
    fs::path outside = root / "outside";

    places() {
        fs::create_directories(folder / "in");
        fs::create_directory(outside);
        support::write_file(folder / "w", "here");
        support::write_file(folder / "in" / "w", "in");
        support::write_file(outside / "w", "outside");
    }
};

} // namespace

TEST_CASE("a name leads to a file in the folder or below it, and nowhere else") {
    const places here;
    CHECK(found(here.folder, "w") == "here");
    CHECK(found(here.folder, "./w") == "here");
    CHECK(found(here.folder, "in/w") == "in");
    CHECK(found(here.folder, "in/../w") == "here");
    CHECK(found(here.folder, "in//w") == "in");
    CHECK(found(here.folder, "absent") == "file_not_found");
    CHECK(found(here.folder, "absent/w") == "file_not_found");
    CHECK(found(here.folder, "in") == "not_regular_file");
    CHECK(found(here.folder, "") == "not_regular_file");
    CHECK(found(here.folder, "in/..") == "not_regular_file");
    CHECK(found(here.folder, std::string("w\0", 2)) == "invalid_argument");
    for (const bool follows_links : {false, true}) {
        CHECK(found(here.folder, "../outside/w", follows_links) == "name_invalid");
        CHECK(found(here.folder, "in/../../outside/w", follows_links) == "name_invalid");
        CHECK(found(here.folder, (here.outside / "w").string(), follows_links) == "name_invalid");
    }
    CHECK(refusal(detail::beneath_folder::of((here.root / "absent").native(), false)) == errc::io_error);
}

TEST_CASE("links lead to files of the folder, and of the directory that they lie in") {
    const places here;
    if (!link("w", here.folder / "file")) {
        WARN("symbolic links can't be made here");
        return;
    }
    REQUIRE(link("../w", here.folder / "in" / "up"));
    REQUIRE(link("w", here.folder / "in" / "same"));
    REQUIRE(link("file", here.folder / "link to a link"));
    REQUIRE(link(here.folder / "w", here.folder / "absolute"));
    REQUIRE(link("circle", here.folder / "circle"));
    REQUIRE(link("absent", here.folder / "broken"));
    REQUIRE(link("in", here.folder / "directory"));
    REQUIRE(link("in/w", here.folder / "down"));
    CHECK(found(here.folder, "file") == "here");
    CHECK(found(here.folder, "in/up") == "here");
    CHECK(found(here.folder, "in/same") == "in");
    CHECK(found(here.folder, "link to a link") == "here");
    CHECK(found(here.folder, "absolute") == "here");
    CHECK(found(here.folder, "circle") == "io_error");
    CHECK(found(here.folder, "broken") == "file_not_found");
    CHECK(found(here.folder, "directory") == "not_regular_file");
    CHECK(found(here.folder, "directory/w") == "name_invalid");
    CHECK(found(here.folder, "down") == "name_invalid");
    const fs::path before = fs::current_path();
    fs::current_path(here.folder);
    const std::string by_relative = found("", "in/up");
    fs::current_path(before);
    CHECK(by_relative == "here");
}

TEST_CASE("links that lead out of the folder are refused, and the refusal names the option that follows them") {
    const places here;
    if (!link(here.outside / "w", here.folder / "absolute")) {
        WARN("symbolic links can't be made here");
        return;
    }
    REQUIRE(link("../outside/w", here.folder / "file"));
    REQUIRE(link("../outside", here.folder / "directory"));
    REQUIRE(link("../../outside/w", here.folder / "in" / "file"));
    REQUIRE(link("file", here.folder / "link to a link"));
    for (const char* const each : {"absolute", "file", "directory/w", "in/file", "link to a link"}) {
        CAPTURE(each);
        CHECK(found(here.folder, each) == "name_invalid");
        CHECK(found(here.folder, each, true) == "outside");
    }
    const auto folder = detail::beneath_folder::of(here.folder.native(), false).value();
    CHECK(folder.open(ztensor::file_path("file").native()).error().sentence().find("follow_links()") !=
          std::string::npos);
}

TEST_CASE("a file that the caller named may be a link, and its mates lie where it leads") {
    const places here;
    support::write_file(here.outside / "named", "");
    if (!link("../outside/named", here.folder / "named")) {
        WARN("symbolic links can't be made here");
        return;
    }
    REQUIRE(link("named", here.folder / "again"));
    REQUIRE(link("../outside/w", here.folder / "file"));
    REQUIRE(link("file", here.folder / "file again"));
    fs::create_directory(here.outside / "deeper");
    support::write_file(here.outside / "deeper" / "w", "deeper");
    REQUIRE(link("../outside/deeper/w", here.folder / "deeper"));
    REQUIRE(link("/etc/passwd", here.outside / "passwd"));
    REQUIRE(link("../outside/passwd", here.folder / "passwd"));
    support::write_file(here.folder / "plain", "");
    for (const char* const named : {"named", "again"}) {
        CAPTURE(named);
        CHECK(found_beside(here.folder / named, "w") == "here");
        CHECK(found_beside(here.folder / named, "file") == "outside");
        CHECK(found_beside(here.folder / named, "file again") == "outside");
        CHECK(found_beside(here.folder / named, "deeper") == "name_invalid"); // in that directory, not below it
        CHECK(found_beside(here.folder / named, "passwd") == "name_invalid");
        CHECK(found_beside(here.folder / named, "deeper", true) == "deeper");
    }
    CHECK(found_beside(here.folder / "plain", "file") == "name_invalid");
}

TEST_CASE("in a snapshot of Hugging Face's cache, links lead to its blobs") {
    const support::temp_dir root;
    const fs::path cache = root / "models--a--b", snapshot = cache / "snapshots" / "0a1b";
    fs::create_directories(snapshot / "onnx");
    fs::create_directory(cache / "blobs");
    fs::create_directory(root / "blobs");
    support::write_file(cache / "blobs" / "1", "blob");
    support::write_file(cache / "refs", "other");
    support::write_file(root / "blobs" / "1", "of another");
    if (!link("../../blobs/1", snapshot / "w")) {
        WARN("symbolic links can't be made here");
        return;
    }
    REQUIRE(link("../../../blobs/1", snapshot / "onnx" / "w"));
    REQUIRE(link(fs::absolute(cache / "blobs" / "1"), snapshot / "absolute"));
    REQUIRE(link("../../refs", snapshot / "refs"));
    REQUIRE(link("../../../blobs/1", snapshot / "of another"));
    REQUIRE(link("../refs", cache / "blobs" / "2"));
    REQUIRE(link("../../blobs/2", snapshot / "2"));
    CHECK(found(snapshot, "w") == "blob");
    CHECK(found(snapshot, "onnx/w") == "blob");
    CHECK(found(snapshot / "onnx", "w") == "blob");
    CHECK(found(snapshot, "absolute") == "blob");
    CHECK(found(snapshot, "refs") == "name_invalid");
    CHECK(found(snapshot, "of another") == "name_invalid");
    CHECK(found(snapshot, "2") == "name_invalid"); // a blob is a file
    REQUIRE(link(snapshot, root / "elsewhere"));
    CHECK(found(root / "elsewhere", "w") == "blob"); // the caller named it
    fs::rename(cache / "snapshots", cache / "others");
    CHECK(found(cache / "others" / "0a1b", "w") == "name_invalid"); // a folder like any other
    fs::rename(cache / "others", cache / "snapshots");
    fs::rename(cache / "blobs", root / "moved");
    fs::create_directory_symlink(root / "moved", cache / "blobs");
    CHECK(found(snapshot, "w") == "name_invalid"); // which an archive may bring along
}

#if !defined(_WIN32)

TEST_CASE("what was looked at is what is opened, whatever is put in its place meanwhile") {
    const places here;
    disturbed_os os;
    {
        const auto folder = detail::beneath_folder::of(here.folder.native(), false, os).value();
        os.at = "find_directory";
        os.disturbance = [&] { // a directory on the way becomes a link to another one
            fs::rename(here.folder / "in", here.root / "taken away");
            fs::create_directory_symlink(here.outside, here.folder / "in");
            os.disturbance = nullptr;
        };
        CHECK(content_of(folder.open("in/w")) == "in");
        CHECK(content_of(folder.open("in/w")) == "name_invalid");

        REQUIRE(link("w", here.folder / "through")); // what a link leads to becomes a link out of the folder
        os.at = "link_target";
        os.disturbance = [&] {
            REQUIRE(link(here.outside / "w", here.folder / "w"));
            os.disturbance = nullptr;
        };
        CHECK(content_of(folder.open("through")) == "name_invalid");
    }
    CHECK(os.open_handles == 0);
}

TEST_CASE("a named file that is replaced by a link once it is open gives its mates no other place") {
    const places here;
    support::write_file(here.folder / "named", "");
    support::write_file(here.outside / "named", "");
    const auto named = detail::file::open((here.folder / "named").native()).value();
    const auto status = named.os().status(named.handle()).value;
    REQUIRE(link("../outside/named", here.folder / "named"));
    REQUIRE(link("../outside/w", here.folder / "file"));
    const auto folder = detail::beneath_folder::beside((here.folder / "named").native(), status, false).value();
    CHECK(content_of(folder.open("file")) == "name_invalid");
    CHECK(found_beside(here.folder / "named", "file") == "outside"); // of one that was opened through the link
}

TEST_CASE("each call of the system that finds a file beside another may fail, and leaves nothing open") {
    const support::temp_dir root;
    const fs::path cache = root / "cache", snapshot = cache / "snapshots" / "0a1b";
    fs::create_directories(snapshot / "in");
    fs::create_directory(cache / "blobs");
    support::write_file(cache / "blobs" / "1", "blob");
    support::write_file(snapshot / "named", "");
    REQUIRE(link("../../../blobs/1", snapshot / "in" / "w"));
    const auto status = detail::operating_system().status((snapshot / "named").native()).value;
    const auto open = [&](support::faulty_os& os) {
        const auto folder = detail::beneath_folder::beside((snapshot / "named").native(), status, false, os);
        return folder ? content_of(folder->open("in/w")) : std::string("no folder");
    };
    support::faulty_os sound;
    REQUIRE(open(sound) == "blob");
    CHECK(sound.open_handles == 0);
    for (std::size_t call = 0; call < sound.calls.size(); ++call) {
        CAPTURE(call, sound.calls[call]);
        support::faulty_os os;
        os.first_failing_call = call;
        const std::string content = open(os);
        CHECK((content == "blob" || content == "io_error" || content == "name_invalid" || content == "no folder" ||
               content == "unreadable"));
        CHECK(os.open_handles == 0);
    }
}

#endif
