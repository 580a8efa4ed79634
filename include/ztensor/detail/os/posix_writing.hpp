// SPDX-License-Identifier: MIT
//
// POSIX: links, and files that are written.
#ifndef ZTENSOR_DETAIL_OS_POSIX_WRITING_HPP
#define ZTENSOR_DETAIL_OS_POSIX_WRITING_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/calls.hpp>
#include <ztensor/detail/os/posix.hpp>
#include <ztensor/span.hpp>

#include <cerrno>
#include <system_error>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- posix links
//
// Linux, macOS and the BSDs: symbolic links, followed as the system would.

/// Who owns what this process creates.
[[nodiscard]] inline uint32_t process_user() noexcept {
#if defined(__wasi__) // where files have no owners
    return 0;
#else
    return static_cast<uint32_t>(::geteuid());
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

[[nodiscard]] ZTENSOR_COLD inline os_answer<string> link_target_in(os_handle folder, const native_path& name) {
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
[[nodiscard]] ZTENSOR_COLD inline os_answer<string> link_target(const native_path& path) {
    const native_path name(file_name_of(path));
    const native_path folder = directory_of(path);
    const auto [handle, failure] = open_handle(folder.empty() ? native_path(".") : folder, folder_flags);
    if (failure) {
        return {{}, failure};
    }
    const closed_at_end closing{handle};
    os_answer<string> target = link_target_in(handle, name);
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
        const os_answer<string> target = link_target(reached);
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

// -- posix writing
//
// Linux, macOS and the BSDs: what writing asks besides.

/// Since 1970, as file_status::modified_nanoseconds.
[[nodiscard]] inline int64_t wall_clock_seconds() noexcept {
    return static_cast<int64_t>(::time(nullptr));
}

/// No link, no terminal, and without waiting on what is no file.
[[nodiscard]] inline os_answer<os_handle> open_with_care(const os_directory& directory, const native_path& name,
                                                         int access) {
    return open_handle_in(directory, name, access | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
}

/// The real calls.
class system_calls final : public system_reading<os_calls> {
public:
    os_answer<os_directory> open_directory(const native_path& path, bool will_sync) override {
        const native_path where = path.empty() ? native_path(".") : path;
        os_answer<os_handle> opened = open_handle(where, O_RDONLY | O_DIRECTORY);
#if defined(O_PATH)
        if (opened.failure == std::errc::permission_denied && !will_sync) {
            opened = open_handle(where, O_PATH | O_DIRECTORY);
        }
#endif
        static_cast<void>(will_sync);
        return {{opened.value, path}, opened.failure};
    }

    os_answer<file_status> status_in(const os_directory& directory, const native_path& name) override {
        posix_status found = {};
        if (posix_status_at(directory.handle, name.c_str(), found) == 0) {
            return {portable_status(found), {}};
        }
        return {{}, failed_if(errno != ENOENT)};
    }

    ZTENSOR_COLD os_answer<vector<native_path>> list(const os_directory& directory) override {
        const auto [handle, failure] = open_handle_in(directory, ".", O_RDONLY | O_DIRECTORY);
        if (failure) {
            return {{}, failure};
        }
        ::DIR* const entries = ::fdopendir(handle);
        if (entries == nullptr) {
            const std::error_code unread = last_error();
            ::close(handle);
            return {{}, unread};
        }
        const directory_entries closing{entries};
        os_answer<vector<native_path>> names;
        for (;;) {
            errno = 0;
            const char* const next = posix_next_name(entries);
            if (next == nullptr) {
                names.failure = failed_if(errno != 0);
                return names;
            }
            const string_view name = next;
            if (name != "." && name != "..") {
                names.value.emplace_back(name);
            }
        }
    }

    os_answer<os_handle> create_in(const os_directory& directory, const native_path& name,
                                   uint32_t permissions) override {
        return open_handle_in(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, permissions);
    }

    ZTENSOR_COLD os_answer<os_handle> create_unnamed_in(const os_directory& directory, uint32_t permissions) override {
#if defined(O_TMPFILE)
        os_answer<os_handle> made = open_handle_in(directory, ".", O_RDWR | O_TMPFILE, permissions);
        posix_status by_handle = {};
        posix_status by_name = {};
        if (made.failure ||
            (posix_stat(made.value, by_handle) == 0 && posix_stat(name_of_handle(made.value).c_str(), by_name) == 0 &&
             by_handle.st_dev == by_name.st_dev && by_handle.st_ino == by_name.st_ino)) {
            return made;
        }
        ::close(made.value); // without /proc it could never get a name
#endif
        return {no_handle, not_supported(directory, permissions)};
    }

    ZTENSOR_COLD std::error_code link_in(os_handle file, const os_directory& directory,
                                         const native_path& name) override {
        return failed_if(
            ::linkat(AT_FDCWD, name_of_handle(file).c_str(), directory.handle, name.c_str(), AT_SYMLINK_FOLLOW) != 0);
    }

    os_answer<os_handle> open_in(const os_directory& directory, const native_path& name, bool writes) override {
        // For reading too, where that may be: blobs of version 2 are compared with those that are in the file.
        os_answer<os_handle> opened = open_with_care(directory, name, writes ? O_RDWR : O_RDONLY);
        const bool is_for_writing_alone = writes && opened.failure == std::errc::permission_denied;
        return is_for_writing_alone ? open_with_care(directory, name, O_WRONLY) : opened;
    }

    // Of the open file, not of the process: two writers within one process meet, too, and a child that is forked off
    // loses nothing by closing its handles.
    std::error_code lock(os_handle file) override {
#if defined(__wasi__) // has no locks
        return not_supported(file);
#else
        int outcome = 0;
        do {
            outcome = ::flock(file, LOCK_EX | LOCK_NB);
        } while (outcome != 0 && errno == EINTR);
        if (outcome != 0 && errno == EWOULDBLOCK) {
            return std::make_error_code(std::errc::device_or_resource_busy);
        }
        return failed_if(outcome != 0);
#endif
    }

#if !defined(__wasi__)
    void unlock(os_handle file) noexcept override {
        ::flock(file, LOCK_UN);
    }
#endif

    os_answer<os_handle> duplicate(os_handle file) override {
#if defined(F_DUPFD_CLOEXEC)
        return make_handle(0, [&](int) { return ::fcntl(file, F_DUPFD_CLOEXEC, 0); });
#else
        return {no_handle, not_supported(file)};
#endif
    }

    std::error_code seek(os_handle file, uint64_t offset) override {
        return failed_if(posix_seek(file, static_cast<posix_offset>(offset)) < 0);
    }

    os_answer<size_t> write(os_handle file, bytes_view bytes) override {
        return bytes_moved(::write(file, bytes.data(), bytes.size()));
    }

    std::error_code set_permissions(os_handle file, uint32_t permissions) override {
        return failed_if(::fchmod(file, static_cast<::mode_t>(permissions)) != 0);
    }

    std::error_code set_owner(os_handle file, uint32_t owner, uint32_t group) override {
#if defined(__wasi__) // where files have no owners
        static_cast<void>(file), static_cast<void>(owner), static_cast<void>(group);
        return {};
#else
        return failed_if(::fchown(file, static_cast<::uid_t>(owner), static_cast<::gid_t>(group)) != 0);
#endif
    }

    ZTENSOR_COLD os_answer<string> access_list_in(const os_directory& directory, const native_path& name) override {
#if defined(__linux__)
        // By a path that takes no handle more, and in which no link is followed but that of the held folder.
        const string path = name_of_handle(directory.handle) + '/' + name;
        string list(1024, '\0');
        ::ssize_t length = 0;
        do {
            length = ::lgetxattr(path.c_str(), access_list_name, list.data(), list.size());
            list.resize(length < 0 ? 2 * list.size() : static_cast<size_t>(length));
        } while (length < 0 && errno == ERANGE && list.size() <= most_list_bytes);
        const std::error_code unknown =
            failed_if(length < 0 && errno != ENODATA && errno != ENOTSUP && errno != ENOENT);
        return {length < 0 ? string() : list, unknown};
#elif defined(__APPLE__)
        const auto [file, failure] = open_handle_in(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
        if (failure) {
            return {{}, failure};
        }
        const ::acl_t list = ::acl_get_fd_np(file, ACL_TYPE_EXTENDED);
        ::close(file);
        char* const text = list != nullptr ? ::acl_to_text(list, nullptr) : nullptr;
        const string copy = text != nullptr ? text : "";
        free_unless_null(text);
        free_unless_null(list);
        return {copy, {}};
#else
        static_cast<void>(directory), static_cast<void>(name);
        return {};
#endif
    }

    ZTENSOR_COLD std::error_code set_access_list(os_handle file, const string& list) override {
#if defined(__linux__)
        if (!list.empty()) {
            return failed_if(::fsetxattr(file, access_list_name, list.data(), list.size(), 0) != 0);
        }
        const bool failed = ::fremovexattr(file, access_list_name) != 0;
        return failed_if(failed && errno != ENODATA && errno != ENOTSUP);
#elif defined(__APPLE__)
        const ::acl_t made = list.empty() ? ::acl_init(1) : ::acl_from_text(list.c_str());
        const std::error_code failure =
            failed_if(made == nullptr || ::acl_set_fd_np(file, made, ACL_TYPE_EXTENDED) != 0);
        free_unless_null(made);
        return list.empty() && failure == std::errc::not_supported ? std::error_code() : failure;
#else
        return list.empty() ? std::error_code() : not_supported(file, list);
#endif
    }

    std::error_code truncate(os_handle file, uint64_t size_bytes) override {
        return failed_if(posix_truncate(file, static_cast<posix_offset>(size_bytes)) != 0);
    }

    ZTENSOR_COLD std::error_code reserve(os_handle file, uint64_t offset, uint64_t size_bytes) override {
#if defined(__linux__) && defined(FALLOC_FL_KEEP_SIZE)
        constexpr long tmpfs_magic = 0x01021994; // where it takes memory page by page, twice
        long kind = 0;
        if (posix_file_system(file, kind) && kind != tmpfs_magic) {
            return failed_if(
                posix_reserve(file, static_cast<posix_offset>(offset), static_cast<posix_offset>(size_bytes)) != 0);
        }
#endif
        return not_supported(file, offset, size_bytes);
    }

    std::error_code begin_sync(os_handle file, uint64_t offset, uint64_t size_bytes) override {
#if defined(SYNC_FILE_RANGE_WRITE) && (!defined(__ANDROID_API__) || __ANDROID_API__ >= 26) // which has it since then
        return failed_if(::sync_file_range(file, static_cast<posix_offset>(offset),
                                           static_cast<posix_offset>(size_bytes), SYNC_FILE_RANGE_WRITE) != 0);
#else
        return not_supported(file, offset, size_bytes);
#endif
    }

    ZTENSOR_COLD std::error_code set_direct(os_handle file, bool is_direct) override {
#if defined(F_NOCACHE)
        return failed_if(::fcntl(file, F_NOCACHE, is_direct ? 1 : 0) == -1);
#elif defined(O_DIRECT)
        const int flags = ::fcntl(file, F_GETFL);
        return failed_if(flags == -1 || ::fcntl(file, F_SETFL, is_direct ? flags | O_DIRECT : flags & ~O_DIRECT) == -1);
#else
        return not_supported(file, is_direct);
#endif
    }

    os_answer<size_t> copy(os_handle from, uint64_t offset, os_handle to, size_t size_bytes) override {
#if defined(__linux__) && defined(SYNC_FILE_RANGE_WRITE) && defined(__GLIBC__)
        auto place = static_cast<posix_offset>(offset);
        return bytes_moved(::copy_file_range(from, &place, to, nullptr, size_bytes, 0));
#else
        return {0, not_supported(from, offset, to, size_bytes)};
#endif
    }

    std::error_code sync(os_handle file) override {
#if defined(F_FULLFSYNC)
        // fsync of macOS stops at the drive's cache. This goes through it, on the file systems that know the request.
        if (::fcntl(file, F_FULLFSYNC) == 0) {
            return {};
        }
        if (errno != ENOTSUP && errno != EOPNOTSUPP && errno != EINVAL && errno != ENOTTY) {
            return last_error();
        }
#endif
        return failed_if(::fsync(file) != 0);
    }

    std::error_code rename_in(const os_directory& directory, const native_path& from, const native_path& to) override {
        return failed_if(::renameat(directory.handle, from.c_str(), directory.handle, to.c_str()) != 0);
    }

    std::error_code remove_in(const os_directory& directory, const native_path& name) override {
        return failed_if(::unlinkat(directory.handle, name.c_str(), 0) != 0);
    }

    std::error_code sync_directory(const os_directory& directory) override {
        return sync(directory.handle);
    }

    ZTENSOR_COLD os_answer<native_path> resolve_links(const native_path& path) override {
        return follow_links(path);
    }

private:
    struct directory_entries {
        ::DIR* entries;
        ~directory_entries() { ::closedir(entries); }
    };

#if defined(__linux__)
    static constexpr const char* access_list_name = "system.posix_acl_access";
    static constexpr size_t most_list_bytes = size_t{1} << 20;
#endif

#if defined(__APPLE__)
    /// Lists, and their texts, of which a null pointer is none.
    static void free_unless_null(void* list) noexcept {
        if (list != nullptr) {
            ::acl_free(list);
        }
    }
#endif

    /// A path that means the open file, where /proc is mounted.
    [[nodiscard]] static string name_of_handle(os_handle file) {
        return "/proc/self/fd/" + std::to_string(file);
    }
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
