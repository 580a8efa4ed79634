// SPDX-License-Identifier: MIT
//
// Directories that are held, files that are written in them, and names for temporary ones. Adds loops, checks and words
// to os_calls. Knows nothing of `.zt`.
#ifndef ZTENSOR_DETAIL_OS_OUTPUT_FILE_HPP
#define ZTENSOR_DETAIL_OS_OUTPUT_FILE_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/file.hpp>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <utility>

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
    ZTENSOR_COLD static result<directory> open(const native_path& path, bool will_sync,
                                               os_calls& os = operating_system()) {
        os_answer<os_directory> opened = os.open_directory(path, will_sync);
        if (opened.failure) {
            return os_failure("can't open the directory", opened.failure);
        }
        return directory(os, found_directory(os, std::move(opened.value)));
    }

    [[nodiscard]] os_calls& os() const noexcept { return *os_; }
    /// For calls that this class does not make.
    [[nodiscard]] const os_directory& place() const noexcept { return *place_.place(); }

    /// What has that name; file_kind::absent if nothing has.
    ZTENSOR_COLD result<file_status> status(const native_path& name) const {
        const auto [found, failure] = os_->status_in(place(), name);
        if (failure) {
            return os_failure("can't find out what has this name", failure);
        }
        return found;
    }

    /// False if it is still there. What is gone already is as good as removed.
    [[nodiscard]] bool remove(const native_path& name) const noexcept {
        const std::error_code failure = os_->remove_in(place(), name);
        return !failure || failure == std::errc::no_such_file_or_directory;
    }

    /// Waits until the names in it are on the disk.
    [[nodiscard]] std::error_code sync() const { return os_->sync_directory(place()); }

private:
    directory(os_calls& os, found_directory place) noexcept : os_(&os), place_(std::move(place)) {}

    os_calls* os_;
    found_directory place_;
};

/// Where a path leads: a name in a directory.
struct located_file {
    directory in;
    native_path name;
};

[[nodiscard]] ZTENSOR_COLD inline error why_no_folder(const error& why) {
    const std::error_code failure = why.os_error();
    return failure == std::errc::no_such_file_or_directory
               ? os_failure("the folder that the file is to stand in does not exist", failure)
               : why;
}

/// Follows symbolic links and opens the directory. Nothing need have the name yet.
/// Fails with errc::invalid_argument if the path names no file, errc::not_regular_file for a directory that is spelled
/// as one, or errc::io_error.
ZTENSOR_COLD inline result<located_file> locate(const native_path& path, bool will_sync, os_calls& os) {
    ZTENSOR_TRY(check_names_file(path));
    os_answer<native_path> reached = os.resolve_links(path);
    if (reached.failure) {
        return os_failure("can't follow the symbolic link", reached.failure);
    }
    const native_path name(file_name_of(reached.value));
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

// -- output file

/// Reading and writing for everyone, less what the process withholds from new files (umask).
inline constexpr uint32_t default_permissions = 0666;

/// A regular file, open for writing. Move-only; closes when it goes, and then nobody learns whether closing failed.
/// Failures are errc::io_error with the system's error unless a call says otherwise, and name no path.
class output_file {
public:
    /// Under a name that nothing has: else the error's os_error() is std::errc::file_exists.
    ZTENSOR_COLD static result<output_file> create(const directory& in, const native_path& name, uint32_t permissions) {
        return opened(in, in.os().create_in(in.place(), name, permissions), "can't create the file");
    }

    /// Under no name: it is gone when it is closed, unless link() gives it one. Fails where that can't be had.
    ZTENSOR_COLD static result<output_file> create_unnamed(const directory& in, uint32_t permissions) {
        return opened(in, in.os().create_unnamed_in(in.place(), permissions), "can't create the file");
    }

    /// An existing file, its content as it is; `writes` is false for one that is only to be locked.
    /// Fails with errc::file_not_found, errc::not_regular_file, errc::busy (where a system opens no file that another
    /// writes) or errc::io_error.
    ZTENSOR_COLD static result<output_file> open(const directory& in, const native_path& name, bool writes = true) {
        result<output_file> file = opened(in, in.os().open_in(in.place(), name, writes), "can't open the file");
        const result<file_status> found = file ? file->status() : in.status(name);
        if (found && found->kind == file_kind::other) {
            return irregular_file();
        }
        if (!file && file.error().os_error() == std::errc::no_such_file_or_directory) {
            return fail(errc::file_not_found, "can't open the file").because(file.error().os_error());
        }
        if (!file && file.error().os_error() == std::errc::device_or_resource_busy) {
            return fail(errc::busy, "another writer is at work on the file").because(file.error().os_error());
        }
        if (file && !found) {
            return found.error();
        }
        return file;
    }

    output_file(output_file&& other) noexcept
        : os_(other.os_), handle_(std::exchange(other.handle_, no_handle)),
          locked_by_(std::exchange(other.locked_by_, no_process)) {}
    output_file& operator=(output_file other) noexcept {
        std::swap(os_, other.os_);
        std::swap(handle_, other.handle_);
        std::swap(locked_by_, other.locked_by_);
        return *this;
    }
    ~output_file() {
        if (is_open()) {
            unlock();
            os_->close(handle_);
        }
    }

    [[nodiscard]] bool is_open() const noexcept { return handle_ != no_handle; }

    result<file_status> status() const {
        const auto [found, failure] = os_->status(handle_);
        if (failure) {
            return os_failure("can't find out what kind of file this is", failure);
        }
        return found;
    }

    /// Keeps other writers away until this process closes the file. Fails with errc::busy if one is there; where the
    /// system has no locks, nothing is said.
    ZTENSOR_COLD result<void> lock() {
        const std::error_code failure = os_->lock(handle_);
        if (failure == std::errc::device_or_resource_busy) {
            return fail(errc::busy, "another writer is at work on the file").because(failure);
        }
        locked_by_ = failure ? no_process : process_id();
        return {};
    }
    [[nodiscard]] bool has_lock() const noexcept { return locked_by_ != no_process; }

    /// A second handle, which takes the lock over. Fails where the system can't.
    ZTENSOR_COLD result<output_file> duplicate() {
        const auto [handle, failure] = os_->duplicate(handle_);
        if (failure) {
            return os_failure("can't hold on to the file", failure);
        }
        output_file second(*os_, handle);
        second.locked_by_ = std::exchange(locked_by_, no_process);
        return second;
    }

    /// Gives a file without a name its name.
    ZTENSOR_COLD result<void> link(const directory& in, const native_path& name) {
        return done(os_->link_in(handle_, in.place(), name), "can't give the finished file its name");
    }

    /// Where the next append() writes.
    ZTENSOR_COLD result<void> seek(uint64_t offset) {
        return done(os_->seek(handle_, offset), "can't move within the file");
    }

    /// Writes all of `bytes` after what was written before.
    result<void> append(bytes_view bytes) {
        const auto [moved, failure] = move_all(bytes.size(), [&](uint64_t before, size_t wanted) {
            return os_->write(handle_, bytes.subspan(static_cast<size_t>(before), wanted));
        });
        if (failure) {
            return os_failure("can't write the file", failure);
        }
        if (moved != bytes.size()) {
            return fail(errc::io_error, "can't write the file: the system takes no bytes and doesn't say why");
        }
        return {};
    }

    /// Reads back what was written; false where it can't be had, such as from a file that was there before.
    [[nodiscard]] ZTENSOR_COLD bool read_back(uint64_t offset, span<byte> bytes) {
        const auto read = move_all(bytes.size(), [&](uint64_t before, size_t wanted) {
            return os_->read(handle_, offset + before, bytes.subspan(static_cast<size_t>(before), wanted));
        });
        return read.value == bytes.size();
    }

    /// Gives the file the owner, group, access control list and permission bits of `old`, which it is going to
    /// replace and which is called `name`. What the process may not give, or the file system does not know, is made up
    /// for by fewer permissions: nobody who could not read the old file reads the new one.
    ZTENSOR_COLD result<void> copy_metadata_from(const file_status& old, const directory& in, const native_path& name) {
        ZTENSOR_TRY_ASSIGN(const file_status mine, status());
        uint32_t permissions = old.permissions;
        const bool is_owners = mine.owner == old.owner && mine.group == old.group;
        const bool has_group = is_owners || !os_->set_owner(handle_, old.owner, old.group) || mine.group == old.group ||
                               !os_->set_owner(handle_, mine.owner, old.group);
        if (!has_group) { // the bits would count for another group, and the old group is among all others now
            permissions &= 0700u | (permissions >> 3 & 07u);
        }
        const os_answer<string> list = os_->access_list_in(in.place(), name);
        const bool has_list = !list.failure && !os_->set_access_list(handle_, list.value);
        if (!has_list) { // it may keep people out that the bits let in, and the group bits are its mask
            permissions &= 0700u;
        }
        if (is_owners && has_list && list.value.empty() && mine.permissions == permissions) {
            return {};
        }
        const std::error_code failure = os_->set_permissions(handle_, permissions);
        const bool knows_none = failure == std::errc::operation_not_permitted || failure == std::errc::not_supported ||
                                failure == std::errc::operation_not_supported ||
                                failure == std::errc::function_not_supported;
        // It was created with no more than the old file has. Where the creator does not own what it creates, or there
        // are no permissions, a file is as good as it can be.
        return done(knows_none ? std::error_code() : failure, "can't give the file the permissions of the old one");
    }

    /// Cuts the file to so many bytes, and gives back what was reserved behind them.
    ZTENSOR_COLD result<void> truncate(uint64_t size_bytes) {
        return done(os_->truncate(handle_, size_bytes), "can't cut the file to its size");
    }

    // Requests that a file is just as good without: false where the system does not take them.

    /// Room on the disk for bytes that are to come.
    [[nodiscard]] bool reserve(uint64_t offset, uint64_t size_bytes) {
        return !os_->reserve(handle_, offset, size_bytes);
    }
    /// Begins what sync() will wait for.
    [[nodiscard]] bool begin_sync(uint64_t offset, uint64_t size_bytes) {
        return !os_->begin_sync(handle_, offset, size_bytes);
    }
    /// Past the system's cache from now on, or no longer.
    [[nodiscard]] bool set_direct(bool is_direct) { return !os_->set_direct(handle_, is_direct); }
    /// Appends up to so many bytes of another file and gives how many: fewer if the system won't move more.
    [[nodiscard]] ZTENSOR_COLD uint64_t append_from(const file& from, uint64_t offset, uint64_t size_bytes) {
        return move_all(size_bytes,
                        [&](uint64_t copied, size_t wanted) {
                            return os_->copy(from.handle(), offset + copied, handle_, (std::min)(wanted, copy_bytes));
                        })
            .value; // if it fails, reading and writing will tell why
    }

    /// Waits until what was written is on the disk. After a failure nobody knows what the disk holds, and a second
    /// call may report success all the same: give the file up.
    result<void> sync() { return done(os_->sync(handle_), "can't make sure that the file is on the disk"); }

    /// Closes the file; does nothing for one that is closed. A failure may mean that written bytes are lost.
    result<void> close() {
        unlock();
        const os_handle handle = std::exchange(handle_, no_handle);
        return handle != no_handle ? done(os_->close(handle), "can't close the file") : result<void>();
    }

private:
    static constexpr size_t copy_bytes = size_t{1} << 20; ///< as fast as any, and can be interrupted

    output_file(os_calls& os, os_handle handle) noexcept : os_(&os), handle_(handle) {}

    ZTENSOR_COLD static result<output_file> opened(const directory& in, os_answer<os_handle> answer,
                                                   const char* sentence) {
        if (answer.failure) {
            return os_failure(sentence, answer.failure);
        }
        return output_file(in.os(), answer.value);
    }

    /// A child that was forked off meanwhile may keep its copy of the handle open for as long as it lives, and takes
    /// nothing from its parent by closing it.
    void unlock() noexcept {
        const uint64_t owner = std::exchange(locked_by_, no_process);
        if (owner != no_process && owner == process_id()) {
            os_->unlock(handle_);
        }
    }

    ZTENSOR_COLD static result<void> done(std::error_code failure, const char* sentence) {
        return failure ? result<void>(os_failure(sentence, failure)) : result<void>();
    }

    os_calls* os_;
    os_handle handle_;
    static constexpr uint64_t no_process = 0;
    uint64_t locked_by_ = no_process; ///< the process that has the lock
};

/// Whether the file is the one of that name: another may have been put in its place, or none be left.
ZTENSOR_COLD inline result<bool> is_still_named(const output_file& file, const directory& in, const native_path& name) {
    ZTENSOR_TRY_ASSIGN(const file_status mine, file.status());
    ZTENSOR_TRY_ASSIGN(const file_status named, in.status(name));
    return named.kind == file_kind::regular && mine.is_same_file(named);
}

/// What was written to a file under its own name stands there, as far as that can be known.
ZTENSOR_COLD inline result<void> check_still_named(const output_file& file, const directory& in,
                                                   const native_path& name) {
    ZTENSOR_TRY_ASSIGN(const bool named, is_still_named(file, in, name));
    if (!named) {
        return fail(errc::file_changed, "another file has been put in its place meanwhile, or it was removed");
    }
    return {};
}

/// The existing file of that name, locked, and still of that name: nobody has put another one in its place before the
/// lock was had. `must_write`: not only to be locked.
/// Fails as output_file::open(), or with errc::busy.
ZTENSOR_COLD inline result<output_file> open_locked(const directory& in, const native_path& name, bool must_write) {
    constexpr int most_tries = 16;
    for (int tries = 0; tries < most_tries; ++tries) {
        result<output_file> opened = output_file::open(in, name, true);
        if (!opened && !must_write && opened.error().code() == errc::io_error) {
            opened = output_file::open(in, name, false); // it may be read alone; some file systems lock it so
        }
        if (!opened) {
            return opened;
        }
        ZTENSOR_TRY(opened->lock());
        ZTENSOR_TRY_ASSIGN(const bool named, is_still_named(*opened, in, name));
        if (named) {
            return opened;
        }
    }
    return fail(errc::busy, "other writers replace the file again and again");
}

/// A number that hardly any other call gives, here or in another process.
[[nodiscard]] inline uint64_t unique_number() noexcept {
    static std::atomic<uint32_t> calls{0};
    const uint64_t call = calls.fetch_add(1, std::memory_order_relaxed);
    // The finaliser of splitmix64: every bit of time, process and call reaches every digit.
    uint64_t bits = clock_ticks() ^ (process_id() << 40) ^ (call * 0x9e3779b97f4a7c15u);
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
}

/// Its 16 hexadecimal digits.
[[nodiscard]] inline string sixteen_digits(uint64_t number) {
    string digits(16, '0');
    for (char& digit : digits) {
        digit = "0123456789abcdef"[number & 15];
        number >>= 4;
    }
    return digits;
}

/// A name for a file that is being written: ".ztensor-<16 hex digits>.tmp". Whoever guesses them gains nothing: the
/// file is created only if there is none.
[[nodiscard]] inline native_path temporary_name() {
    const string name = ".ztensor-" + sixteen_digits(unique_number()) + ".tmp";
    return native_path(name.begin(), name.end());
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
