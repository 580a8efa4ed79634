// SPDX-License-Identifier: MIT
//
// Folders: their files, and files beneath one.
#ifndef ZTENSOR_DETAIL_OS_DIRECTORY_HPP
#define ZTENSOR_DETAIL_OS_DIRECTORY_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/os/calls.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- directory
//
// A directory that is held while a file in it is made, and where in it a path leads. Adds words and ownership to
// os_calls. Knows nothing of `.zt`.

/// Move-only; lets go of the directory when it goes. Failures are errc::io_error and name no path.
class directory {
public:
    /// `will_sync`: sync() is going to be called, so that a directory for which that can't work is refused now.
    [[nodiscard]] ZTENSOR_COLD static result<directory> open(const native_path& path, bool will_sync,
                                                             os_calls& os = operating_system()) {
        os_answer<os_directory> opened = os.open_directory(path, will_sync);
        if (opened.failure) {
            return os_failure("can't open the directory", opened.failure);
        }
        return directory(os, std::move(opened.value));
    }

    directory(directory&& other) noexcept : os_(std::exchange(other.os_, nullptr)), place_(std::move(other.place_)) {}
    directory& operator=(directory&& other) noexcept {
        std::swap(os_, other.os_);
        std::swap(place_, other.place_);
        return *this;
    }
    ~directory() {
        if (os_ != nullptr) {
            os_->release_directory(place_);
        }
    }

    [[nodiscard]] os_calls& os() const noexcept { return *os_; }
    /// For calls that this class does not make.
    [[nodiscard]] const os_directory& place() const noexcept { return place_; }

    /// What has that name; file_kind::absent if nothing has.
    [[nodiscard]] ZTENSOR_COLD result<file_status> status(const native_path& name) const {
        const auto [found, failure] = os_->status_in(place_, name);
        if (failure) {
            return os_failure("can't find out what has this name", failure);
        }
        return found;
    }

    /// False if it is still there. What is gone already is as good as removed.
    [[nodiscard]] bool remove(const native_path& name) const noexcept {
        const std::error_code failure = os_->remove_in(place_, name);
        return !failure || failure == std::errc::no_such_file_or_directory;
    }

    /// Waits until the names in it are on the disk.
    [[nodiscard]] std::error_code sync() const { return os_->sync_directory(place_); }

private:
    directory(os_calls& os, os_directory place) noexcept : os_(&os), place_(std::move(place)) {}

    os_calls* os_; ///< null once moved from
    os_directory place_;
};

/// Where a path leads: a name in a directory.
struct located_file {
    directory in;
    native_path name;
};

/// A path with U+0000 in it would mean another file to the system.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_path(const native_path& path) {
    if (path.find(native_path::value_type{}) != native_path::npos) {
        return fail(errc::invalid_argument, "the path holds U+0000, where the system would cut it");
    }
    return {};
}

[[nodiscard]] ZTENSOR_COLD inline error why_no_folder(const error& why) {
    const std::error_code failure = why.os_error();
    return failure == std::errc::no_such_file_or_directory
               ? os_failure("the folder that the file is to stand in does not exist", failure)
               : why;
}

/// Follows symbolic links and opens the directory. Nothing need have the name yet.
/// Fails with errc::invalid_argument if the path names no file, errc::not_regular_file for a directory that is spelled
/// as one, or errc::io_error.
[[nodiscard]] ZTENSOR_COLD inline result<located_file> locate(const native_path& path, bool will_sync, os_calls& os) {
    ZTENSOR_TRY(check_path(path));
    os_answer<native_path> reached = os.resolve_links(path);
    if (reached.failure) {
        return os_failure("can't follow the symbolic link", reached.failure);
    }
    const auto last = file_name_of(reached.value);
    const native_path name(last.begin(), last.end());
    if (name.find_first_not_of(native_path::value_type('.')) == native_path::npos &&
        name.size() <= 2) { // "", ".", ".."
        const auto [found, unknown] = os.status(path);
        if (!unknown && found.kind == file_kind::other) {
            return irregular_file();
        }
        return fail(errc::invalid_argument, "the path names no file");
    }
    result<directory> opened = directory::open(directory_of(reached.value), will_sync, os);
    if (!opened) {
        return why_no_folder(opened.error());
    }
    return located_file{*std::move(opened), name};
}

// -- beneath
//
// Files beside a file, opened by names that the file gives: external data, shards, the members of a folder. One policy
// for all formats. Knows nothing of any of them.
//
// A caller who opens a model means its folder to be read, and nothing else. So each step of a name is opened from the
// directory before it, without following links, and what was opened is what is used: nothing is checked by its path and
// opened by its path afterwards. No directory on the way may be a symbolic link. The file itself may be one, since the
// caches of model hubs are folders of nothing but links, if each link on the way leads to a file in one of these
// directories:
//
// - the folder, and the directory below it that the link lies in;
// - the directory that the file which the caller named lies in, if that itself is a link;
// - `blobs` beside `snapshots`, if the folder is `snapshots/<revision>` or below that, as Hugging Face lays out caches.
//
// A link to anywhere else, which an archive may bring along, would show as weights what the caller alone may read.

/// A directory held to look into. Move-only; lets go of it when it goes.
class found_directory {
public:
    found_directory() noexcept = default;
    found_directory(os_reading& os, os_directory place) noexcept : os_(&os), place_(std::move(place)) {}
    found_directory(found_directory&& other) noexcept
        : os_(std::exchange(other.os_, nullptr)), place_(std::move(other.place_)) {}
    found_directory& operator=(found_directory&& other) noexcept {
        std::swap(os_, other.os_);
        std::swap(place_, other.place_);
        return *this;
    }
    ~found_directory() {
        if (os_ != nullptr) {
            os_->leave_directory(place_);
        }
    }

    [[nodiscard]] const os_directory* place() const noexcept { return os_ != nullptr ? &place_ : nullptr; }

private:
    os_reading* os_ = nullptr; ///< null where there is none
    os_directory place_;
};

/// The steps of a path below a folder, none of which is "", "." or ".."; nothing if it is absolute or leads out.
[[nodiscard]] ZTENSOR_COLD inline std::optional<std::vector<native_path>> steps_beneath(const native_path& path) {
    constexpr auto slash = native_path::value_type('/');
    constexpr auto dot = native_path::value_type('.');
    if (is_absolute(path)) {
        return std::nullopt;
    }
    std::vector<native_path> steps;
    for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = (std::min)(path.find(slash, begin), path.size());
        native_path step = path.substr(begin, end - begin);
        begin = end + 1;
        if (step == native_path(2, dot)) {
            if (steps.empty()) {
                return std::nullopt;
            }
            steps.pop_back();
        } else if (!step.empty() && step != native_path(1, dot)) {
            steps.push_back(std::move(step));
        }
    }
    return steps;
}

/// Move-only. open() may be called from many threads at once.
class beneath_folder {
public:
    /// The folder of that path, which the caller named. With `follows_links` links may lead anywhere; names may not.
    /// Errors: io_error.
    [[nodiscard]] ZTENSOR_COLD static result<beneath_folder> of(const native_path& folder, bool follows_links,
                                                                os_reading& os = operating_system_for_reading()) {
        os_answer<os_directory> found = os.find_directory(nullptr, folder, true);
        if (found.failure) {
            return os_failure("can't open the folder", found.failure);
        }
        return beneath_folder(os, found_directory(os, std::move(found.value)), follows_links);
    }
    /// The folder that a file lies in which the caller named, and opened as `opened`.
    [[nodiscard]] ZTENSOR_COLD static result<beneath_folder> beside(const native_path& file, const file_status& opened,
                                                                    bool follows_links,
                                                                    os_reading& os = operating_system_for_reading()) {
        result<beneath_folder> folder = of(directory_of(file), follows_links, os);
        if (folder) {
            const auto last = file_name_of(file);
            folder->named_file_.assign(last.begin(), last.end());
            folder->opened_ = opened;
        }
        return folder;
    }

    /// The path by which the folder was found.
    [[nodiscard]] const native_path& path() const noexcept { return folder_.place()->path; }
    [[nodiscard]] os_reading& os() const noexcept { return *os_; }

    /// Opens the file of that relative path. Errors: name_invalid if it leads out of the folder; those of file::open().
    [[nodiscard]] ZTENSOR_COLD result<file> open(const native_path& name) const {
        if (name.find(native_path::value_type()) != native_path::npos) {
            return fail(errc::invalid_argument, "a path that holds the character U+0000 names no file");
        }
        const std::optional<std::vector<native_path>> way = steps_beneath(name);
        if (!way) {
            return fail(errc::name_invalid, "the name leads out of the folder");
        }
        if (way->empty()) {
            return irregular_file();
        }
        if (follows_links_) {
            const auto [handle, failure] = os_->open_from(*folder_.place(), name, true);
            return failure ? why_not_opened(joined_path(path(), name), failure, *os_) : file::of_handle(handle, *os_);
        }
        found_directory below;
        for (std::size_t i = 0; i + 1 != way->size(); ++i) {
            const os_directory& before = i == 0 ? *folder_.place() : *below.place();
            os_answer<os_directory> next = os_->find_directory(&before, (*way)[i], false);
            if (next.failure) {
                return os_->link_target(before, (*way)[i]).failure
                           ? why_not_opened(joined_path(path(), name), next.failure, *os_)
                           : leads_outside();
            }
            below = found_directory(*os_, std::move(next.value));
        }
        return open_step(below.place() != nullptr ? *below.place() : *folder_.place(), way->back());
    }

private:
    beneath_folder(os_reading& os, found_directory folder, bool follows_links) noexcept
        : os_(&os), folder_(std::move(folder)), follows_links_(follows_links) {}

    [[nodiscard]] static error leads_outside() {
        return fail(errc::name_invalid,
                    "it is a symbolic link that leads out of the folder; read_options::follow_links() follows the "
                    "links of a folder that is trusted");
    }

    /// The file of that name in a directory below the folder, or what it leads to.
    [[nodiscard]] result<file> open_step(const os_directory& below, native_path name) const {
        constexpr int most_links = 40; // as many as Linux follows
        found_directory home;          // none: `below`
        for (int links = 0; links != most_links; ++links) {
            const os_directory& in = home.place() != nullptr ? *home.place() : below;
            const auto [handle, failure] = os_->open_from(in, name, false);
            if (!failure) {
                return file::of_handle(handle, *os_);
            }
            const os_answer<native_path> target = os_->link_target(in, name);
            if (target.failure) { // no link
                return why_not_opened(joined_path(in.path, name), failure, *os_);
            }
            os_answer<os_directory> next = os_->find_directory(&in, directory_of(target.value), true);
            if (next.failure) {
                return leads_outside();
            }
            home = found_directory(*os_, std::move(next.value));
            if (!is_home(*home.place(), below)) {
                return leads_outside();
            }
            const auto last = file_name_of(target.value);
            name.assign(last.begin(), last.end());
        }
        return os_failure("can't open the file", std::make_error_code(std::errc::too_many_symbolic_link_levels));
    }

    [[nodiscard]] bool is_home(const os_directory& place, const os_directory& below) const {
        const os_answer<file_status> which = os_->status_of(place);
        const bool is_numbered = !which.failure && which.value.file_id != 0; // some systems number no directories
        return is_numbered && (is_directory(*folder_.place(), which.value) || is_directory(below, which.value) ||
                               is_home_of_named(which.value) || is_hub_of_folder(which.value));
    }

    /// The directory that the named file was opened in, at the end of its links. What is there now must be what was
    /// opened: a user who may change the folder could put another link in its place.
    [[nodiscard]] bool is_home_of_named(const file_status& directory) const {
        constexpr int most_links = 40; // as many as Linux follows
        if (named_file_.empty()) {
            return false;
        }
        found_directory at;
        native_path name = named_file_;
        for (int links = 0; links != most_links; ++links) {
            const os_directory& place = at.place() != nullptr ? *at.place() : *folder_.place();
            const os_answer<native_path> target = os_->link_target(place, name);
            if (target.failure) {
                return is_named_file(place, name) && is_directory(place, directory);
            }
            os_answer<os_directory> next = os_->find_directory(&place, directory_of(target.value), true);
            if (next.failure) {
                return false;
            }
            at = found_directory(*os_, std::move(next.value));
            const auto last = file_name_of(target.value);
            name.assign(last.begin(), last.end());
        }
        return false;
    }
    [[nodiscard]] bool is_named_file(const os_directory& place, const native_path& name) const {
        const auto [handle, failure] = os_->open_from(place, name, false);
        if (failure) {
            return false;
        }
        const os_answer<file_status> found = os_->status(handle);
        static_cast<void>(os_->close(handle));
        return !found.failure && found.value.is_same_file(opened_);
    }
    [[nodiscard]] bool is_directory(const os_directory& place, const file_status& directory) const {
        const os_answer<file_status> found = os_->status_of(place);
        return !found.failure && found.value.is_same_file(directory);
    }

    /// `blobs` of the cache that the folder is a snapshot in, as Hugging Face lays it out.
    [[nodiscard]] bool is_hub_of_folder(const file_status& directory) const {
        constexpr int most_levels = 8; // of folders in a snapshot
        native_path above = file_path("..").native();
        for (int level = 0; level != most_levels; ++level) {
            const found_directory snapshots = find(folder_, above, true);
            above = joined_path(above, file_path("..").native());
            const found_directory cache = find(folder_, above, true);
            if (snapshots.place() == nullptr || cache.place() == nullptr) {
                return false;
            }
            const found_directory of_name = find(cache, file_path("snapshots").native(), false);
            const os_answer<file_status> status = os_->status_of(*snapshots.place());
            if (of_name.place() == nullptr || status.failure || !is_directory(*of_name.place(), status.value)) {
                continue;
            }
            const found_directory blobs = find(cache, file_path("blobs").native(), false);
            return blobs.place() != nullptr && is_directory(*blobs.place(), directory);
        }
        return false;
    }
    [[nodiscard]] found_directory find(const found_directory& from, const native_path& path, bool follows) const {
        os_answer<os_directory> found = os_->find_directory(from.place(), path, follows);
        return found.failure ? found_directory() : found_directory(*os_, std::move(found.value));
    }

    os_reading* os_;
    found_directory folder_;
    native_path named_file_; ///< in the folder; "" if the caller named only that
    file_status opened_;     ///< as what it was opened
    bool follows_links_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
