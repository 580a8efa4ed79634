// SPDX-License-Identifier: MIT
//
// A directory that is held while a file in it is made, and where in it a path leads. Adds words and ownership to
// os_calls. Knows nothing of `.zt`.
#ifndef ZTENSOR_DETAIL_OS_DIRECTORY_HPP
#define ZTENSOR_DETAIL_OS_DIRECTORY_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/os/calls.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/result.hpp>

#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
