// SPDX-License-Identifier: MIT
//
// What the library asks of an operating system, one call at a time and without policy: posix.hpp and windows.hpp
// answer, file.hpp adds loops, checks and words. Tests answer too, to make any one call fail. Needs no OS header.
#ifndef ZTENSOR_DETAIL_OS_CALLS_HPP
#define ZTENSOR_DETAIL_OS_CALLS_HPP

#include <ztensor/file_path.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
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

/// What a call returned, or why it failed: `value` counts only where `failure` tests false.
template <class T>
struct os_answer {
    T value{};
    std::error_code failure{};
};

enum class file_kind : std::uint8_t {
    absent,
    regular,
    other, ///< a directory, FIFO, socket or device
};

struct file_status {
    file_kind kind = file_kind::absent;
    std::uint64_t size_bytes = 0;
    std::uint32_t permissions = 0; ///< the nine bits of chmod; none on Windows
};

/// What reading asks. One member per system call, or per few calls that only make sense together. No call blocks on a
/// FIFO, follows a short transfer with another, or retries what failed, but for an open that a signal interrupted.
/// Apart from os_calls, so that a program that only reads files holds no code that writes them.
///
/// Three failures are recognised by what they compare equal to, on every system: std::errc::interrupted,
/// std::errc::file_exists and std::errc::no_such_file_or_directory.
class os_reading {
public:
    /// Opens for reading. Not inherited by child processes, like every handle opened here.
    virtual os_answer<os_handle> open_existing(const native_path& path) = 0;
    virtual os_answer<file_status> status(os_handle file) = 0;
    /// Follows symbolic links. That nothing has this name is an answer (file_kind::absent), not a failure.
    virtual os_answer<file_status> status(const native_path& path) = 0;
    /// Bytes moved: 0 at or after the end of the file. Leaves no trace in the handle, so that threads may share it.
    virtual os_answer<std::size_t> read(os_handle file, std::uint64_t offset, span<std::byte> destination) = 0;
    /// The handle is gone afterwards, whatever is returned.
    virtual std::error_code close(os_handle file) = 0;
    /// The first `size_bytes` bytes of the file, at least one, in memory: private and for reading only. Outlives the
    /// handle.
    virtual os_answer<bytes_view> map(os_handle file, std::size_t size_bytes) = 0;
    virtual void unmap(bytes_view mapped) noexcept = 0;
    /// A hint: bytes of the file, of which at least one, will be read soon, or not soon again.
    virtual void advise(os_handle /*file*/, std::uint64_t /*offset*/, std::uint64_t /*length*/,
                        bool /*is_wanted*/) noexcept {}

protected:
    // Never deleted through this class. Not virtual, so that the real calls need no destruction at exit: files in
    // static storage may be closed after it.
    ~os_reading() = default;
};

/// All that reading and writing ask.
class os_calls : public os_reading {
public:
    using os_reading::status;

    /// Creates and opens for writing; fails with file_exists on any existing name, a symbolic link included.
    /// The file gets `permissions` less those that the process withholds from new files (umask).
    virtual os_answer<os_handle> create_new(const native_path& path, std::uint32_t permissions) = 0;
    /// Opens an existing file for writing from its first byte, and leaves its content alone.
    virtual os_answer<os_handle> open_for_overwriting(const native_path& path) = 0;
    /// Bytes moved, written after those of the last call.
    virtual os_answer<std::size_t> write(os_handle file, bytes_view bytes) = 0;
    virtual std::error_code set_permissions(os_handle file, std::uint32_t permissions) = 0;
    /// Cuts the file to so many bytes, and gives back what was reserved behind them.
    virtual std::error_code truncate(os_handle file, std::uint64_t size_bytes) = 0;
    /// Reserves room on the disk for `size_bytes` bytes at `offset`, which may lie behind the file's end, and leaves
    /// that end where it is. Fails where the file system can't, or where it gains nothing.
    virtual std::error_code reserve(os_handle file, std::uint64_t offset, std::uint64_t size_bytes) = 0;
    /// Has the system begin to write these bytes to the disk, and waits for nothing.
    virtual std::error_code begin_sync(os_handle file, std::uint64_t offset, std::uint64_t size_bytes) = 0;
    /// Whether later writes pass the system's cache. They must then be whole blocks, from memory aligned like them.
    virtual std::error_code set_direct(os_handle file, bool is_direct) = 0;
    /// Bytes moved from one file to another without passing through this process, written after those of the last
    /// write(): 0 at or after the end of `from`.
    virtual os_answer<std::size_t> copy(os_handle from, std::uint64_t offset, os_handle to, std::size_t size_bytes) = 0;
    /// Waits until the content has reached the disk.
    virtual std::error_code sync(os_handle file) = 0;
    /// Gives `from` the name `to`, replacing what had it in one step. Both lie in one directory.
    virtual std::error_code rename(const native_path& from, const native_path& to) = 0;
    virtual std::error_code remove(const native_path& path) = 0;
    /// Waits until the names in the directory have reached the disk.
    virtual std::error_code sync_directory(const native_path& directory) = 0;
    /// The path of the file that `path` leads to through symbolic links; the file itself need not exist.
    virtual os_answer<native_path> resolve_links(const native_path& path) = 0;
    /// The same path, meaning the same file wherever the process goes.
    virtual os_answer<native_path> absolute(const native_path& path) = 0;

protected:
    ~os_calls() = default;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
