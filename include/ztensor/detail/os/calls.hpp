// SPDX-License-Identifier: MIT
//
// What the library asks of an operating system, one call at a time and without policy: posix.hpp and windows.hpp
// answer, file.hpp adds loops, checks and words. Tests answer too, to make any one call fail. Needs no OS header.
#ifndef ZTENSOR_DETAIL_OS_CALLS_HPP
#define ZTENSOR_DETAIL_OS_CALLS_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/span.hpp>

#include <system_error>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// An open file as the system names it: a descriptor, or a Windows HANDLE.
#if defined(_WIN32)
using os_handle = void*;
inline constexpr os_handle no_handle = nullptr;
#else
using os_handle = int;
inline constexpr os_handle no_handle = -1;
#endif

/// What a thread is to do, handed over on the heap.
struct thread_start {
    void (*run)(void* context);
    void* context;

    static void enter(void* handed_over) {
        const thread_start mine = *static_cast<thread_start*>(handed_over);
        delete static_cast<thread_start*>(handed_over);
        mine.run(mine.context);
    }
};

/// What a call returned, or why it failed: `value` counts only where `failure` tests false.
template <class T>
struct os_answer {
    T value{};
    std::error_code failure{};
};

enum class file_kind : uint8_t {
    absent,
    regular,
    other, ///< a directory, FIFO, socket or device
};

struct file_status {
    file_kind kind = file_kind::absent;
    uint64_t size_bytes = 0;
    uint32_t permissions = 0; ///< the nine bits of chmod; none on Windows
    uint32_t owner = 0;       ///< likewise, and the group
    uint32_t group = 0;
    uint64_t device = 0; ///< with file_id what no other file has at the same time
    uint64_t file_id = 0;
    uint64_t links = 1;               ///< names; 0 of a file that has none any more
    int64_t modified_nanoseconds = 0; ///< when its content last changed, since 1970

    [[nodiscard]] bool is_same_file(const file_status& other) const noexcept {
        return device == other.device && file_id == other.file_id;
    }
};

/// A directory held open, so that names in it mean the same whatever becomes of the paths that lead to it.
struct os_directory {
    os_handle handle = no_handle; ///< none on Windows
    native_path path;             ///< by which it was found; on Windows absolute
};

/// What reading asks. One member per system call, or per few calls that only make sense together. No call blocks on a
/// FIFO, follows a short transfer with another, or retries what failed, but for an open that a signal interrupted.
/// Apart from os_calls, so that a program that only reads files holds no code that writes them.
///
/// Some failures are recognised by what they compare equal to, on every system: std::errc::interrupted,
/// std::errc::file_exists, std::errc::no_such_file_or_directory and std::errc::device_or_resource_busy.
class os_reading {
public:
    /// Opens for reading. Not inherited by child processes, like every handle opened here.
    virtual os_answer<os_handle> open_existing(const native_path& path) = 0;
    virtual os_answer<file_status> status(os_handle file) = 0;
    /// Follows symbolic links. That nothing has this name is an answer (file_kind::absent), not a failure.
    virtual os_answer<file_status> status(const native_path& path) = 0;
    /// Bytes moved: 0 at or after the end of the file. Leaves no trace in the handle, so that threads may share it.
    virtual os_answer<size_t> read(os_handle file, uint64_t offset, span<byte> destination) = 0;
    /// The handle is gone afterwards, whatever is returned.
    virtual std::error_code close(os_handle file) = 0;
    /// The first `size_bytes` bytes of the file, at least one, in memory: private and for reading only. Outlives the
    /// handle.
    virtual os_answer<bytes_view> map(os_handle file, size_t size_bytes) = 0;
    virtual void unmap(bytes_view mapped) noexcept = 0;
    /// A hint: bytes of the file, of which at least one, will be read soon, or not soon again.
    virtual void advise(os_handle /*file*/, uint64_t /*offset*/, uint64_t /*length*/, bool /*is_wanted*/) noexcept {}
    /// The byte at `offset` would have to be fetched from the disk. False where the system does not tell.
    virtual bool is_uncached(os_handle /*file*/, uint64_t /*offset*/) noexcept { return false; }
    /// From now on reads go past the system's cache: they, and their memory, must then begin and end at multiples of
    /// pages. False where the file system can't.
    virtual bool read_uncached(os_handle /*file*/) noexcept { return false; }
    /// The file lies on a file system over a network, or one that another process serves.
    virtual bool is_remote(os_handle /*file*/) noexcept { return false; }

    // What beneath_folder asks, which opens files by names that other files give. Unless `follows_links` is set, a path
    // is one name, and a symbolic link of that name is a failure.

    /// A directory to look into: from `from` on, or where that is null from the current one, which is "". It need not
    /// be readable. leave_directory() closes it.
    virtual os_answer<os_directory> find_directory(const os_directory* /*from*/, const native_path& /*path*/,
                                                   bool /*follows_links*/) {
        return {{}, std::make_error_code(std::errc::operation_not_supported)};
    }
    virtual void leave_directory(const os_directory& /*directory*/) noexcept {}
    /// Which one it is: `device` and `file_id`.
    virtual os_answer<file_status> status_of(const os_directory& /*directory*/) {
        return {{}, std::make_error_code(std::errc::operation_not_supported)};
    }
    /// As open_existing(), from the directory on.
    virtual os_answer<os_handle> open_from(const os_directory& /*directory*/, const native_path& /*path*/,
                                           bool /*follows_links*/) {
        return {no_handle, std::make_error_code(std::errc::operation_not_supported)};
    }
    /// The path from the root of the file system on, as long as the current directory is known; else as it is.
    virtual native_path absolute(const native_path& path) { return path; }
    /// What the symbolic link of that name says. Fails for what is none.
    virtual os_answer<native_path> link_target(const os_directory& /*directory*/, const native_path& /*name*/) {
        return {{}, std::make_error_code(std::errc::operation_not_supported)};
    }

protected:
    // Never deleted through this class. Not virtual, so that the real calls need no destruction at exit: files in
    // static storage may be closed after it.
    ~os_reading() = default;
};

/// All that reading and writing ask.
class os_calls : public os_reading {
public:
    using os_reading::status;

    /// Opens a directory to work in. Where it may be searched but not read, it opens all the same unless it is to be
    /// synced. "" is the current directory. leave_directory() closes it.
    virtual os_answer<os_directory> open_directory(const native_path& path, bool will_sync) = 0;
    /// What has this name there, without following a symbolic link (file_kind::other).
    virtual os_answer<file_status> status_in(const os_directory& directory, const native_path& name) = 0;
    /// Every name in it but "." and "..", in any order.
    virtual os_answer<vector<native_path>> list(const os_directory& directory) = 0;
    /// Creates and opens for writing, and for reading back what was written; fails with file_exists on any existing
    /// name, a symbolic link included. The file gets `permissions` less those that the process withholds from new files
    /// (umask).
    virtual os_answer<os_handle> create_in(const os_directory& directory, const native_path& name,
                                           uint32_t permissions) = 0;
    /// Likewise, a file without a name, which is gone when it is closed without one. Fails where the file system can't.
    virtual os_answer<os_handle> create_unnamed_in(const os_directory& directory, uint32_t permissions) = 0;
    /// Gives a file without a name its name, which nothing has.
    virtual std::error_code link_in(os_handle file, const os_directory& directory, const native_path& name) = 0;
    /// Opens an existing file, no symbolic link, from its first byte, and leaves its content alone.
    virtual os_answer<os_handle> open_in(const os_directory& directory, const native_path& name, bool writes) = 0;
    /// Locks the file against every other handle until this one and its duplicates are closed, and waits for nothing:
    /// device_or_resource_busy where another one has the lock. Other failures mean that there are no locks here.
    virtual std::error_code lock(os_handle file) = 0;
    /// Lets go of the lock at once, also where a child that was forked off has the handle, too, and lives on. Where no
    /// process inherits a handle there is nothing to do.
    virtual void unlock(os_handle /*file*/) noexcept {}
    /// Another handle of the same open file.
    virtual os_answer<os_handle> duplicate(os_handle file) = 0;
    /// Where the next write() starts.
    virtual std::error_code seek(os_handle file, uint64_t offset) = 0;
    /// Bytes moved, written after those of the last call.
    virtual os_answer<size_t> write(os_handle file, bytes_view bytes) = 0;
    virtual std::error_code set_permissions(os_handle file, uint32_t permissions) = 0;
    virtual std::error_code set_owner(os_handle file, uint32_t owner, uint32_t group) = 0;
    /// The access control list of a file beyond its permission bits, in the system's own form; "" for none.
    virtual os_answer<string> access_list_in(const os_directory& directory, const native_path& name) = 0;
    /// Gives the file such a list, or with "" takes away what it inherited.
    virtual std::error_code set_access_list(os_handle file, const string& list) = 0;
    /// Makes the file so long, and gives back what was reserved behind a cut. The next write() starts where it would.
    virtual std::error_code truncate(os_handle file, uint64_t size_bytes) = 0;
    /// Reserves room on the disk for `size_bytes` bytes at `offset`, which may lie behind the file's end, and leaves
    /// that end where it is. Fails where the file system can't, or where it gains nothing.
    virtual std::error_code reserve(os_handle file, uint64_t offset, uint64_t size_bytes) = 0;
    /// Has the system begin to write these bytes to the disk, and waits for nothing.
    virtual std::error_code begin_sync(os_handle file, uint64_t offset, uint64_t size_bytes) = 0;
    /// Whether later writes pass the system's cache. They must then be whole blocks, from memory aligned like them.
    virtual std::error_code set_direct(os_handle file, bool is_direct) = 0;
    /// Bytes moved from one file to another without passing through this process, written after those of the last
    /// write(): 0 at or after the end of `from`.
    virtual os_answer<size_t> copy(os_handle from, uint64_t offset, os_handle to, size_t size_bytes) = 0;
    /// Waits until the content has reached the disk.
    virtual std::error_code sync(os_handle file) = 0;
    /// Gives `from` the name `to`, replacing what had it in one step.
    virtual std::error_code rename_in(const os_directory& directory, const native_path& from,
                                      const native_path& to) = 0;
    virtual std::error_code remove_in(const os_directory& directory, const native_path& name) = 0;
    /// Waits until the names in the directory have reached the disk.
    virtual std::error_code sync_directory(const os_directory& directory) = 0;
    /// The path of the file that `path` leads to through symbolic links; the file itself need not exist.
    virtual os_answer<native_path> resolve_links(const native_path& path) = 0;

protected:
    ~os_calls() = default;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
