// SPDX-License-Identifier: MIT
//
// Linux, macOS and the BSDs. With os_windows.hpp the only place of OS headers.
#ifndef ZTENSOR_DETAIL_OS_POSIX_HPP
#define ZTENSOR_DETAIL_OS_POSIX_HPP

#include <ztensor/detail/os_calls.hpp>
#include <ztensor/span.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace ztensor {
inline namespace v0 {
namespace detail {

// Offsets have 64 bits on every host. Where off_t may have 32, its size hangs on a macro that a header can't set for
// the whole program, so the calls that never depend on it are named outright.
#if defined(__GLIBC__) || defined(__ANDROID__)
using posix_offset = ::off64_t;
using posix_status = struct ::stat64;
inline int posix_open(const char* path, int flags, ::mode_t mode) {
    return ::open64(path, flags, mode);
}
inline int posix_stat(int file, posix_status& status) {
    return ::fstat64(file, &status);
}
inline int posix_stat(const char* path, posix_status& status) {
    return ::stat64(path, &status);
}
inline ::ssize_t posix_read(int file, void* to, std::size_t size, posix_offset offset) {
    return ::pread64(file, to, size, offset);
}
inline void* posix_map(int file, std::size_t size) {
    return ::mmap64(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
}
inline int posix_truncate(int file) {
    return ::ftruncate64(file, 0);
}
#else
using posix_offset = ::off_t;
using posix_status = struct ::stat;
inline int posix_open(const char* path, int flags, ::mode_t mode) {
    return ::open(path, flags, mode);
}
inline int posix_stat(int file, posix_status& status) {
    return ::fstat(file, &status);
}
inline int posix_stat(const char* path, posix_status& status) {
    return ::stat(path, &status);
}
inline ::ssize_t posix_read(int file, void* to, std::size_t size, posix_offset offset) {
    return ::pread(file, to, size, offset);
}
inline void* posix_map(int file, std::size_t size) {
    return ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
}
inline int posix_truncate(int file) {
    return ::ftruncate(file, 0);
}
#endif
static_assert(sizeof(posix_offset) == 8, "files may be larger than 2 GiB on every host");

[[nodiscard]] inline std::error_code last_error() noexcept {
    return {errno, std::generic_category()};
}

[[nodiscard]] inline std::error_code failed_if(bool failed) noexcept {
    return failed ? last_error() : std::error_code();
}

/// The path for error messages, in UTF-8 wherever the system's names are.
[[nodiscard]] inline std::string path_text(const std::filesystem::path& path) {
    return path.native();
}

[[nodiscard]] inline std::uint64_t process_id() noexcept {
    return static_cast<std::uint64_t>(::getpid());
}

class system_calls final : public os_calls {
public:
    os_answer<os_handle> open_existing(const std::filesystem::path& path) override {
        return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    }

    os_answer<os_handle> create_new(const std::filesystem::path& path, std::filesystem::perms permissions) override {
        return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, permissions);
    }

    os_answer<os_handle> open_for_overwriting(const std::filesystem::path& path) override {
        return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
    }

    os_answer<file_status> status(os_handle file) override {
        posix_status found = {};
        if (posix_stat(file, found) != 0) {
            return {{}, last_error()};
        }
        return {portable(found), {}};
    }

    os_answer<file_status> status(const std::filesystem::path& path) override {
        posix_status found = {};
        if (posix_stat(path.c_str(), found) == 0) {
            return {portable(found), {}};
        }
        return {{}, failed_if(errno != ENOENT)};
    }

    os_answer<std::size_t> read(os_handle file, std::uint64_t offset, span<std::byte> destination) override {
        if (offset > static_cast<std::uint64_t>(std::numeric_limits<posix_offset>::max())) {
            return {}; // after the end of any file
        }
        return moved(posix_read(file, destination.data(), destination.size(), static_cast<posix_offset>(offset)));
    }

    os_answer<std::size_t> write(os_handle file, bytes_view bytes) override {
        return moved(::write(file, bytes.data(), bytes.size()));
    }

    std::error_code set_permissions(os_handle file, std::filesystem::perms permissions) override {
        return failed_if(::fchmod(file, mode(permissions)) != 0);
    }

    std::error_code truncate(os_handle file) override { return failed_if(posix_truncate(file) != 0); }

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

    std::error_code close(os_handle file) override {
        return failed_if(::close(file) != 0);
    }

    os_answer<bytes_view> map(os_handle file, std::size_t size_bytes) override {
        void* const address = posix_map(file, size_bytes);
        if (address == MAP_FAILED) {
            return {{}, last_error()};
        }
        return {bytes_view(static_cast<const std::byte*>(address), size_bytes), {}};
    }

    void unmap(bytes_view mapped) noexcept override {
        ::munmap(const_cast<std::byte*>(mapped.data()), mapped.size());
    }

    std::error_code rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
        return failed_if(std::rename(from.c_str(), to.c_str()) != 0);
    }

    std::error_code remove(const std::filesystem::path& path) override {
        return failed_if(::unlink(path.c_str()) != 0);
    }

    std::error_code sync_directory(const std::filesystem::path& directory) override {
        const auto [handle, failure] = open(directory, O_RDONLY | O_DIRECTORY);
        if (failure) {
            return failure;
        }
        const std::error_code synced = sync(handle);
        ::close(handle); // nothing was written through this handle that closing it could lose
        return synced;
    }

    os_answer<std::filesystem::path> resolve_links(const std::filesystem::path& path) override {
        constexpr int most_links = 40; // as many as Linux follows
        std::filesystem::path reached = path;
        for (int links = 0; links < most_links; ++links) {
            const auto [target, failure] = read_link(reached);
            if (failure == std::errc::invalid_argument || failure == std::errc::no_such_file_or_directory) {
                return {reached, {}}; // not a link, or not there yet
            }
            if (failure) {
                return {{}, failure};
            }
            reached = reached.parent_path() / target; // an absolute target replaces all of it
        }
        return {{}, std::make_error_code(std::errc::too_many_symbolic_link_levels)};
    }

private:
    static ::mode_t mode(std::filesystem::perms permissions) noexcept {
        return static_cast<::mode_t>(permissions & std::filesystem::perms::all);
    }

    static os_answer<os_handle> open(const std::filesystem::path& path, int flags,
                                     std::filesystem::perms permissions = std::filesystem::perms::none) {
        os_answer<os_handle> answer;
        do {
            answer.value = posix_open(path.c_str(), flags | O_CLOEXEC, mode(permissions));
            answer.failure = failed_if(answer.value < 0);
        } while (answer.failure == std::errc::interrupted);
        return answer;
    }

    static file_status portable(const posix_status& found) noexcept {
        return {S_ISREG(found.st_mode) ? file_kind::regular : file_kind::other,
                static_cast<std::uint64_t>(found.st_size),
                static_cast<std::filesystem::perms>(found.st_mode) & std::filesystem::perms::all};
    }

    static os_answer<std::size_t> moved(::ssize_t count) noexcept {
        return count < 0 ? os_answer<std::size_t>{0, last_error()}
                         : os_answer<std::size_t>{static_cast<std::size_t>(count), {}};
    }

    static os_answer<std::string> read_link(const std::filesystem::path& path) {
        std::string target(256, '\0');
        for (;;) {
            const ::ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
            if (length < 0) {
                return {{}, last_error()};
            }
            if (static_cast<std::size_t>(length) < target.size()) {
                target.resize(static_cast<std::size_t>(length));
                return {target, {}};
            }
            target.resize(2 * target.size()); // it filled the buffer, so it may have been cut
        }
    }
};

/// The real calls. They hold nothing, so that any thread may use them at any time, at exit too.
inline system_calls real_calls;

[[nodiscard]] inline os_calls& operating_system() noexcept {
    return real_calls;
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
