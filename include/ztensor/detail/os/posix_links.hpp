// SPDX-License-Identifier: MIT
//
// Linux, macOS and the BSDs: symbolic links, followed as the system would.
#ifndef ZTENSOR_DETAIL_OS_POSIX_LINKS_HPP
#define ZTENSOR_DETAIL_OS_POSIX_LINKS_HPP

#include <ztensor/detail/os/calls.hpp>
#include <ztensor/detail/os/posix.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Who owns what this process creates.
[[nodiscard]] inline std::uint32_t process_user() noexcept {
#if defined(__wasi__) // where files have no owners
    return 0;
#else
    return static_cast<std::uint32_t>(::geteuid());
#endif
}

/// What Linux asks of links in folders such as /tmp, where everybody may put some (fs.protected_symlinks): only those
/// of the process's own user and of the folder's owner are followed. The system can't ask it of a program that follows
/// links by itself, to write beside the file that they lead to.
[[nodiscard]] inline bool may_follow_link(const posix_status& link, const posix_status& folder) noexcept {
    constexpr ::mode_t of_everybody = S_ISVTX | S_IWOTH;
    return (folder.st_mode & of_everybody) != of_everybody || link.st_uid == process_user() ||
           link.st_uid == folder.st_uid;
}

[[nodiscard]] ZTENSOR_COLD inline os_answer<std::string> link_target_in(os_handle folder, const native_path& name) {
    posix_status link = {};
    posix_status of_folder = {};
    if (posix_status_at(folder, name.c_str(), link) != 0 || posix_stat(folder, of_folder) != 0) {
        return {{}, last_error()};
    }
    if (!S_ISLNK(link.st_mode)) {
        return {{}, std::make_error_code(std::errc::invalid_argument)};
    }
    if (!may_follow_link(link, of_folder)) {
        return {{}, std::make_error_code(std::errc::permission_denied)};
    }
    return read_link(folder, name);
}

/// A handle through which nothing is written.
struct closed_at_end {
    os_handle handle;
    ~closed_at_end() { ::close(handle); }
};

/// What is written in the link, where the system would follow it, too; std::errc::invalid_argument for what is no
/// link.
[[nodiscard]] ZTENSOR_COLD inline os_answer<std::string> link_target(const native_path& path) {
    const native_path name(file_name_of(path));
    const native_path folder = directory_of(path);
    const auto [handle, failure] = open_handle(folder.empty() ? native_path(".") : folder, folder_flags);
    if (failure) {
        return {{}, failure};
    }
    const closed_at_end closing{handle};
    os_answer<std::string> target = link_target_in(handle, name);
#if defined(O_PATH)
    if (!target.failure) { // the system may have more reasons to refuse; that nothing is there is none
        const auto [reached, refused] = open_handle(path, O_PATH);
        if (refused && refused != std::errc::no_such_file_or_directory) {
            return {{}, refused};
        }
        if (!refused) {
            ::close(reached);
        }
    }
#endif
    return target;
}

/// The path of the file that `path` leads to; it need not exist.
[[nodiscard]] ZTENSOR_COLD inline os_answer<native_path> follow_links(const native_path& path) {
    constexpr int most_links = 40; // as many as Linux follows
    native_path reached = path;
    for (int links = 0; links < most_links; ++links) {
        const os_answer<std::string> target = link_target(reached);
        if (target.failure == std::errc::invalid_argument || target.failure == std::errc::no_such_file_or_directory) {
            return {reached, {}}; // not a link, or not there yet
        }
        if (target.failure) {
            return {{}, target.failure};
        }
        reached = joined_path(directory_of(reached), target.value); // an absolute target replaces all of it
    }
    return {{}, std::make_error_code(std::errc::too_many_symbolic_link_levels)};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
