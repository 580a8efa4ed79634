// SPDX-License-Identifier: MIT
//
// POSIX: calls, files that are read, and threads.
#ifndef ZTENSOR_DETAIL_OS_POSIX_HPP
#define ZTENSOR_DETAIL_OS_POSIX_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/calls.hpp>
#include <ztensor/span.hpp>
#include <ztensor/version.hpp>

#include <array>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <limits>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <system_error>
#include <time.h>
#include <unistd.h>
#if !defined(__wasi__)
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#elif defined(__APPLE__)
#include <sys/acl.h>
#endif
#if defined(__APPLE__) || defined(__FreeBSD__)
#include <sys/mount.h>
#endif

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- posix calls
//
// The system's calls that take or give offsets, sizes and inode numbers, with 64 bits for them on every host.

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
inline ::ssize_t posix_read(int file, void* to, size_t size, posix_offset offset) {
    return ::pread64(file, to, size, offset);
}
inline void* posix_map(int file, size_t size) {
    return ::mmap64(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
}
inline void posix_advise(int file, posix_offset offset, posix_offset size, int advice) {
    static_cast<void>(::posix_fadvise64(file, offset, size, advice));
}
inline const char* posix_next_name(::DIR* directory) {
    const struct ::dirent64* const entry = ::readdir64(directory);
    return entry != nullptr ? entry->d_name : nullptr;
}
inline int posix_truncate(int file, posix_offset size) {
    return ::ftruncate64(file, size);
}
inline int posix_open_at(int directory, const char* name, int flags, ::mode_t mode) {
    return ::openat64(directory, name, flags, mode);
}
inline int posix_status_at(int directory, const char* name, posix_status& status) {
    return ::fstatat64(directory, name, &status, AT_SYMLINK_NOFOLLOW);
}
inline posix_offset posix_seek(int file, posix_offset offset) {
    return ::lseek64(file, offset, SEEK_SET);
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
inline ::ssize_t posix_read(int file, void* to, size_t size, posix_offset offset) {
    return ::pread(file, to, size, offset);
}
#if !defined(__wasi__)
inline void* posix_map(int file, size_t size) {
    return ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
}
#endif
#if defined(POSIX_FADV_WILLNEED)
inline void posix_advise(int file, posix_offset offset, posix_offset size, int advice) {
    static_cast<void>(::posix_fadvise(file, offset, size, advice));
}
#endif
inline const char* posix_next_name(::DIR* directory) {
    const struct ::dirent* const entry = ::readdir(directory);
    return entry != nullptr ? entry->d_name : nullptr;
}
inline int posix_truncate(int file, posix_offset size) {
    return ::ftruncate(file, size);
}
inline int posix_open_at(int directory, const char* name, int flags, ::mode_t mode) {
    return ::openat(directory, name, flags, mode);
}
inline int posix_status_at(int directory, const char* name, posix_status& status) {
    return ::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW);
}
inline posix_offset posix_seek(int file, posix_offset offset) {
    return ::lseek(file, offset, SEEK_SET);
}
#endif
#if defined(FALLOC_FL_KEEP_SIZE)
inline int posix_reserve(int file, posix_offset offset, posix_offset size) {
#if defined(__GLIBC__) || defined(__ANDROID__)
    return ::fallocate64(file, FALLOC_FL_KEEP_SIZE, offset, size);
#else
    return ::fallocate(file, FALLOC_FL_KEEP_SIZE, offset, size);
#endif
}
#endif
#if defined(__linux__)
/// Whether the byte at `offset` is not in the cache: a read that must not wait says so.
inline bool posix_is_uncached(int file, uint64_t offset) {
#if defined(SYS_preadv2)
    constexpr int no_wait = 8; // RWF_NOWAIT, of Linux 4.14 and later
    byte found{};
    const struct ::iovec to = {&found, 1};
    const auto low = static_cast<unsigned long>(offset);
    const auto high = static_cast<unsigned long>(sizeof(long) == 8 ? 0 : offset >> 32);
    return ::syscall(SYS_preadv2, file, &to, 1L, low, high, no_wait) < 0 && errno == EAGAIN;
#else
    static_cast<void>(file);
    static_cast<void>(offset);
    return false;
#endif
}

/// The number that Linux gives to this kind of file system. Counts of blocks that 32 bits can't hold are no failure.
inline bool posix_file_system(int file, long& kind) {
#if defined(__GLIBC__) || defined(__ANDROID__)
    struct ::statfs64 found = {};
    const int outcome = ::fstatfs64(file, &found);
#else
    struct ::statfs found = {};
    const int outcome = ::fstatfs(file, &found);
#endif
    kind = static_cast<long>(found.f_type);
    return outcome == 0;
}

/// A file system in which the first look at a page is a request to another machine or process, by its kind.
inline bool posix_is_remote(int file) {
    constexpr uint32_t nfs = 0x6969, smb = 0x517B, cifs = 0xFF534D42, smb2 = 0xFE534D42, fuse = 0x65735546,
                       lustre = 0x0BD00BD0, ceph = 0x00C36400, plan_9 = 0x01021997, afs = 0x5346414F,
                       afs_of_kernel = 0x6B414653, gpfs = 0x47504653, beegfs = 0x19830326, coda = 0x73757245;
    long kind = 0;
    if (!posix_file_system(file, kind)) {
        return false;
    }
    for (const uint32_t each :
         {nfs, smb, cifs, smb2, fuse, lustre, ceph, plan_9, afs, afs_of_kernel, gpfs, beegfs, coda}) {
        if (static_cast<uint32_t>(kind) == each) {
            return true;
        }
    }
    return false;
}
#elif defined(__APPLE__) || defined(__FreeBSD__)
inline bool posix_is_remote(int file) {
    struct ::statfs found = {};
    return ::fstatfs(file, &found) == 0 && (found.f_flags & MNT_LOCAL) == 0;
}
#endif
static_assert(sizeof(posix_offset) == 8, "files may be larger than 2 GiB on every host");

// -- posix
//
// Linux, macOS and the BSDs: what reading asks. With windows.hpp the only place of OS headers.

/// The answer where a system lacks the call.
template <class... Arguments>
[[nodiscard]] inline std::error_code not_supported(const Arguments&...) noexcept {
    return std::make_error_code(std::errc::operation_not_supported);
}

[[nodiscard]] inline std::error_code last_error() noexcept {
    return {errno, std::generic_category()};
}

[[nodiscard]] inline std::error_code failed_if(bool failed) noexcept {
    return failed ? last_error() : std::error_code();
}

/// The path for error messages, in UTF-8 wherever the system's names are.
[[nodiscard]] inline const string& path_text(const native_path& path) noexcept {
    return path;
}

[[nodiscard]] inline bool is_absolute(const native_path& path) noexcept {
    return !path.empty() && path.front() == '/';
}

/// What stands behind the last separator; "" if the path ends with one.
[[nodiscard]] inline string_view file_name_of(string_view path) noexcept {
    return path.substr(path.find_last_of('/') + 1); // npos + 1 is 0
}

/// The directory that `path` lies in; "" for a name alone.
[[nodiscard]] inline native_path directory_of(const native_path& path) {
    const size_t separator = path.find_last_of('/');
    if (separator == native_path::npos) {
        return {};
    }
    return path.substr(0, separator == 0 ? 1 : separator);
}

/// `name` in `directory`; an absolute name stands for itself.
[[nodiscard]] ZTENSOR_COLD inline native_path joined_path(const native_path& directory, const native_path& name) {
    if (is_absolute(name)) {
        return name;
    }
    return directory.empty() || directory.back() == '/' ? directory + name : directory + '/' + name;
}

[[nodiscard]] inline uint64_t nanoseconds_of(const ::timespec& time) noexcept {
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

/// A number that hardly any other call gives, here or in another process: the time, to the nanosecond.
[[nodiscard]] inline uint64_t clock_ticks() noexcept {
    struct ::timespec now = {};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return nanoseconds_of(now);
}

/// Seconds of a clock that is never set.
[[nodiscard]] inline double steady_seconds() noexcept {
    struct ::timespec now = {};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// 0 where there are no processes.
[[nodiscard]] inline uint64_t process_id() noexcept {
#if defined(__wasi__)
    return 0;
#else
    return static_cast<uint64_t>(::getpid());
#endif
}

/// A name can be given to another file while the one that had it is open.
inline constexpr bool always_replaces_open_files = true;

inline constexpr uint32_t permission_bits = 0777;

/// The same open file by a handle that no program takes for a standard stream: where those were closed, the system
/// gives their numbers to the next file that is opened, and printf() would write into it.
[[nodiscard]] inline os_answer<os_handle> beyond_standard_streams(os_handle file) noexcept {
    constexpr os_handle first_other = 3;
    if (file < 0 || file >= first_other) {
        return {file, failed_if(file < 0)};
    }
#if defined(F_DUPFD_CLOEXEC)
    const os_handle moved = ::fcntl(file, F_DUPFD_CLOEXEC, first_other);
    const std::error_code failure = failed_if(moved < 0);
    ::close(file);
    return {moved, failure};
#else
    return {file, {}};
#endif
}

/// Every handle of the library is made here, by `open(flags) -> handle`. With O_NONBLOCK a file that somebody has under
/// a lease (Samba, for its clients) refuses at first, while its holder is told; after at most 45 s the system ends the
/// lease. That is waited for without giving up O_NONBLOCK, because another file may have the name by then, such as a
/// FIFO that nobody writes to.
template <class Open>
[[nodiscard]] os_answer<os_handle> make_handle(int flags, Open&& open) {
    constexpr double most_seconds = 60;
    const double begin = steady_seconds();
    for (unsigned rounds = 0;; ++rounds) {
        const os_answer<os_handle> made = beyond_standard_streams(open(flags | O_CLOEXEC));
        const bool must_wait = made.failure == std::errc::operation_would_block && (flags & O_NONBLOCK) != 0 &&
                               steady_seconds() - begin < most_seconds;
        if (must_wait) {
            const ::timespec nap = {0, rounds < 10 ? 1'000'000 : 20'000'000};
            ::nanosleep(&nap, nullptr);
        } else if (made.failure != std::errc::interrupted) {
            return made;
        }
    }
}

[[nodiscard]] inline os_answer<os_handle> open_handle(const native_path& path, int flags, uint32_t permissions = 0) {
    return make_handle(
        flags, [&](int all_flags) { return posix_open(path.c_str(), all_flags, static_cast<::mode_t>(permissions)); });
}

[[nodiscard]] ZTENSOR_COLD inline os_answer<os_handle>
open_handle_in(const os_directory& directory, const native_path& name, int flags, uint32_t permissions = 0) {
    return make_handle(flags, [&](int all_flags) {
        return posix_open_at(directory.handle, name.c_str(), all_flags, static_cast<::mode_t>(permissions));
    });
}

/// To look at names in a folder that may be searched but not read, where the system has a way.
#if defined(O_PATH)
inline constexpr int folder_flags = O_PATH | O_DIRECTORY;
#elif defined(O_SEARCH)
inline constexpr int folder_flags = O_SEARCH | O_DIRECTORY;
#else
inline constexpr int folder_flags = O_RDONLY | O_DIRECTORY;
#endif

/// What a symbolic link says; invalid_argument for what is none.
[[nodiscard]] ZTENSOR_COLD inline os_answer<string> read_link(int directory, const native_path& path) {
    string target(256, '\0');
    for (;;) {
        const ::ssize_t length = ::readlinkat(directory, path.c_str(), target.data(), target.size());
        if (length < 0) {
            return {{}, last_error()};
        }
        if (static_cast<size_t>(length) < target.size()) {
            target.resize(static_cast<size_t>(length));
            return {target, {}};
        }
        target.resize(2 * target.size()); // it filled the buffer, so it may have been cut
    }
}

[[nodiscard]] inline file_status portable_status(const posix_status& found) noexcept {
#if defined(__APPLE__)
    const ::timespec& written = found.st_mtimespec;
#else
    const ::timespec& written = found.st_mtim;
#endif
    return {S_ISREG(found.st_mode) ? file_kind::regular : file_kind::other,
            static_cast<uint64_t>(found.st_size),
            static_cast<uint32_t>(found.st_mode) & permission_bits,
            static_cast<uint32_t>(found.st_uid),
            static_cast<uint32_t>(found.st_gid),
            static_cast<uint64_t>(found.st_dev),
            static_cast<uint64_t>(found.st_ino),
            static_cast<uint64_t>(found.st_nlink),
            static_cast<int64_t>(nanoseconds_of(written))};
}

[[nodiscard]] inline os_answer<size_t> bytes_moved(::ssize_t count) noexcept {
    return count < 0 ? os_answer<size_t>{0, last_error()} : os_answer<size_t>{static_cast<size_t>(count), {}};
}

/// The real calls that read.
template <class Calls>
class system_reading : public Calls {
public:
    using Calls::status;

    os_answer<os_handle> open_existing(const native_path& path) override {
        return open_handle(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    }

    os_answer<file_status> status(os_handle file) override {
        posix_status found = {};
        if (posix_stat(file, found) != 0) {
            return {{}, last_error()};
        }
        return {portable_status(found), {}};
    }

    os_answer<file_status> status(const native_path& path) override {
        posix_status found = {};
        if (posix_stat(path.c_str(), found) == 0) {
            return {portable_status(found), {}};
        }
        return {{}, failed_if(errno != ENOENT)};
    }

    os_answer<size_t> read(os_handle file, uint64_t offset, span<byte> destination) override {
        if (offset > static_cast<uint64_t>((std::numeric_limits<posix_offset>::max)())) {
            return {}; // after the end of any file
        }
        return bytes_moved(posix_read(file, destination.data(), destination.size(), static_cast<posix_offset>(offset)));
    }

    std::error_code close(os_handle file) override { return failed_if(::close(file) != 0); }

#if defined(__wasi__) // maps nothing
    os_answer<bytes_view> map(os_handle file, size_t size_bytes) override {
        return {{}, not_supported(file, size_bytes)};
    }

    void unmap(bytes_view) noexcept override {
    }
#else
    os_answer<bytes_view> map(os_handle file, size_t size_bytes) override {
        void* const address = posix_map(file, size_bytes);
        if (address == MAP_FAILED) {
            return {{}, last_error()};
        }
        return {bytes_view(static_cast<const byte*>(address), size_bytes), {}};
    }

    void unmap(bytes_view mapped) noexcept override {
        ::munmap(const_cast<byte*>(mapped.data()), mapped.size());
    }
#endif

#if defined(POSIX_FADV_WILLNEED) && defined(POSIX_FADV_DONTNEED)
    ZTENSOR_COLD void advise(os_handle file, uint64_t offset, uint64_t length, bool is_wanted) noexcept override {
        posix_advise(file, static_cast<posix_offset>(offset), static_cast<posix_offset>(length),
                     is_wanted ? POSIX_FADV_WILLNEED : POSIX_FADV_DONTNEED);
    }
#endif

#if defined(O_DIRECT)
    ZTENSOR_COLD bool read_uncached(os_handle file) noexcept override {
        const int flags = ::fcntl(file, F_GETFL);
        return flags >= 0 && ::fcntl(file, F_SETFL, flags | O_DIRECT) == 0;
    }
#elif defined(F_NOCACHE)
    ZTENSOR_COLD bool read_uncached(os_handle file) noexcept override {
        return ::fcntl(file, F_NOCACHE, 1) != -1;
    }
#endif
#if defined(__linux__)
    ZTENSOR_COLD bool is_uncached(os_handle file, uint64_t offset) noexcept override {
        return posix_is_uncached(file, offset);
    }
#endif
#if defined(__linux__) || defined(__APPLE__) || defined(__FreeBSD__)
    ZTENSOR_COLD bool is_remote(os_handle file) noexcept override {
        return posix_is_remote(file);
    }
#endif

    ZTENSOR_COLD os_answer<os_directory> find_directory(const os_directory* from, const native_path& path,
                                                        bool follows_links) override {
        const os_directory start = from != nullptr ? *from : os_directory{AT_FDCWD, {}};
        const os_answer<os_handle> found =
            open_handle_in(start, path.empty() ? native_path(".") : path, folder_flags | no_link_unless(follows_links));
        return {{found.value, joined_path(start.path, path)}, found.failure};
    }
    ZTENSOR_COLD void leave_directory(const os_directory& directory) noexcept override {
        ::close(directory.handle);
    }
    ZTENSOR_COLD os_answer<file_status> status_of(const os_directory& directory) override {
        return status(directory.handle);
    }
    ZTENSOR_COLD os_answer<os_handle> open_from(const os_directory& directory, const native_path& path,
                                                bool follows_links) override {
        return open_handle_in(directory, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | no_link_unless(follows_links));
    }
    ZTENSOR_COLD native_path absolute(const native_path& path) override {
        std::array<char, 4096> current;
        const bool is_known = !is_absolute(path) && ::getcwd(current.data(), current.size()) != nullptr;
        return is_known ? joined_path(current.data(), path) : path;
    }
    ZTENSOR_COLD os_answer<native_path> link_target(const os_directory& directory, const native_path& name) override {
        return read_link(directory.handle, name);
    }

private:
    [[nodiscard]] static int no_link_unless(bool follows_links) noexcept {
        return follows_links ? 0 : O_NOFOLLOW;
    }

protected:
    ~system_reading() = default; // as that of os_reading
};

// -- posix threads
//
// Threads are guests in the program: its signals are not theirs, and the code that they run stays loaded. WASI has
// none.

#if defined(__wasi__)
inline void pin_module(void (*)(void* context)) noexcept {
}
using system_thread = int;
[[nodiscard]] inline bool create_system_thread(thread_start*, system_thread&) noexcept {
    return false;
}
inline void join_system_thread(system_thread) noexcept {
}
[[nodiscard]] inline bool start_system_thread(thread_start*) noexcept {
    return false;
}
#else
/// Signals of the process belong to the program's own threads: those that the library starts take only what they cause
/// themselves, by a fault.
[[nodiscard]] inline ::sigset_t signals_of_others() noexcept {
    ::sigset_t signals;
    sigfillset(&signals); // macros, on some systems
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
        sigdelset(&signals, fault);
    }
    return signals;
}

#if defined(RTLD_NOLOAD) && defined(RTLD_NODELETE)
#if defined(__ELF__)
// Null in static programs that hold no loader. In those of glibc, whose own code brings one in, the linker warns of
// dlopen() in has_loader(): it is only called with RTLD_NOLOAD, which loads nothing, so that the warning has no
// meaning.
[[maybe_unused]] static decltype(::dladdr) module_of __attribute__((weakref("dladdr")));
[[maybe_unused]] static decltype(::dlopen) load_module __attribute__((weakref("dlopen")));
[[nodiscard]] inline bool has_loader() noexcept {
    return module_of != nullptr && load_module != nullptr;
}
#else
inline constexpr auto* module_of = &::dladdr;
inline constexpr auto* load_module = &::dlopen;
[[nodiscard]] inline bool has_loader() noexcept {
    return true;
}
#endif
/// The module that holds this code stays loaded until the process ends: threads may come to the code at any time.
ZTENSOR_COLD inline void pin_module(void (*code)(void* context)) noexcept {
    ::Dl_info found = {};
    if (has_loader() && module_of(address_of_code(code), &found) != 0) {
        static_cast<void>(load_module(found.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE)); // null: the program
    }
}
#else
inline void pin_module(void (*)(void* context)) noexcept {
}
#endif

using system_thread = ::pthread_t;

/// Starts a thread that join_system_thread() must wait for. `start` is the thread's, if it is started.
[[nodiscard]] inline bool create_system_thread(thread_start* start, system_thread& thread) noexcept {
    const auto enter = [](void* handed_over) -> void* {
        thread_start::enter(handed_over);
        return nullptr;
    };
    const ::sigset_t blocked = signals_of_others();
    ::sigset_t callers;
    ::pthread_sigmask(SIG_SETMASK, &blocked, &callers); // which the new thread inherits
    const bool is_started = ::pthread_create(&thread, nullptr, enter, start) == 0;
    ::pthread_sigmask(SIG_SETMASK, &callers, nullptr);
    return is_started;
}

/// Waits until the thread has ended.
inline void join_system_thread(system_thread thread) noexcept {
    ::pthread_join(thread, nullptr);
}

/// What start_thread() asks. `start` is the thread's, if it is started.
[[nodiscard]] inline bool start_system_thread(thread_start* start) noexcept {
    system_thread thread = {};
    const bool is_started = create_system_thread(start, thread);
    if (is_started) {
        ::pthread_detach(thread);
    }
    return is_started;
}
#endif

/// As many threads as the host runs at once; at least 1.
[[nodiscard]] inline unsigned processor_count() noexcept {
    const long count = ::sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1u : static_cast<unsigned>(count);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
