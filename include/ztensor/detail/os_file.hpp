// SPDX-License-Identifier: MIT
//
// Files: handles that close themselves, transfers that finish what they start, read-only mappings, names for temporary
// files. Adds loops, checks and words to os_calls. Knows nothing of `.zt`.
#ifndef ZTENSOR_DETAIL_OS_FILE_HPP
#define ZTENSOR_DETAIL_OS_FILE_HPP

#include <ztensor/detail/checked.hpp>
#include <ztensor/detail/os_calls.hpp>
#include <ztensor/error.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#if defined(_WIN32)
#include <ztensor/detail/os_windows.hpp>
#else
#include <ztensor/detail/os_posix.hpp>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace ztensor {
inline namespace v0 {
namespace detail {

/// No transfer is larger: Linux moves less than 2 GiB at once, macOS refuses more, and Windows counts in 32 bits.
inline constexpr std::size_t max_transfer_bytes = (std::size_t{1} << 30) - (std::size_t{1} << 20);

/// Reading and writing for everyone, less what the process withholds from new files (umask).
inline constexpr auto default_permissions = static_cast<std::filesystem::perms>(0666);

[[nodiscard]] inline error os_failure(std::string sentence, std::error_code why) {
    return error(errc::io_error, std::move(sentence)).because(why);
}

[[nodiscard]] inline error irregular_file() {
    return {errc::not_regular_file, "a regular file is needed, and this is a directory, FIFO, socket or device"};
}

/// A file's bytes in memory, for reading. Move-only; unmaps when it goes.
class mapping {
public:
    mapping() noexcept = default;
    mapping(os_calls& os, bytes_view bytes) noexcept : os_(&os), bytes_(bytes) {}
    mapping(mapping&& other) noexcept : os_(other.os_), bytes_(std::exchange(other.bytes_, {})) {}
    mapping& operator=(mapping&& other) noexcept {
        if (this != &other) {
            release();
            os_ = other.os_;
            bytes_ = std::exchange(other.bytes_, {});
        }
        return *this;
    }
    ~mapping() { release(); }

    /// Valid while the mapping lives; empty for an empty file. Reading bytes that the file has lost since it was
    /// mapped ends the process (SIGBUS, or an access violation).
    [[nodiscard]] bytes_view bytes() const noexcept { return bytes_; }

private:
    void release() noexcept {
        if (!bytes_.empty()) {
            os_->unmap(bytes_);
        }
    }

    os_calls* os_ = nullptr;
    bytes_view bytes_;
};

/// An open regular file. Move-only; closes when it goes, and then nobody learns whether closing failed.
/// Failures are errc::io_error with the system's error unless a call says otherwise, and name no path.
class file {
public:
    /// For reading. Doesn't block on a FIFO.
    /// Fails with errc::file_not_found, errc::not_regular_file or errc::io_error.
    [[nodiscard]] static result<file> open(const std::filesystem::path& path, os_calls& os = operating_system()) {
        const auto [handle, failure] = os.open_existing(path);
        if (failure) {
            return why_not_opened(path, failure, os);
        }
        return regular(file(os, handle));
    }

    /// For writing, under a name that nothing has: else the error's os_error() is std::errc::file_exists.
    [[nodiscard]] static result<file> create(const std::filesystem::path& path, std::filesystem::perms permissions,
                                             os_calls& os = operating_system()) {
        const auto [handle, failure] = os.create_new(path, permissions);
        if (failure) {
            return os_failure("can't create the file", failure);
        }
        return file(os, handle);
    }

    /// For writing, an existing file whose content is given up.
    /// Fails with errc::file_not_found, errc::not_regular_file or errc::io_error.
    [[nodiscard]] static result<file> overwrite(const std::filesystem::path& path, os_calls& os = operating_system()) {
        const auto [handle, failure] = os.open_for_overwriting(path);
        if (failure) {
            return why_not_opened(path, failure, os);
        }
        result<file> opened = regular(file(os, handle));
        if (opened) {
            if (result<void> emptied = opened->truncate(); !emptied) {
                return std::move(emptied).error();
            }
        }
        return opened;
    }

    file(file&& other) noexcept
        : os_(other.os_), handle_(std::exchange(other.handle_, std::nullopt)), size_bytes_(other.size_bytes_) {}
    file& operator=(file&& other) noexcept {
        if (this != &other) {
            release();
            os_ = other.os_;
            handle_ = std::exchange(other.handle_, std::nullopt);
            size_bytes_ = other.size_bytes_;
        }
        return *this;
    }
    ~file() { release(); }

    [[nodiscard]] bool is_open() const noexcept { return handle_.has_value(); }

    /// Length when it was opened.
    [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_bytes_; }

    /// Fails with errc::file_changed if the file no longer has the length it was opened with.
    [[nodiscard]] result<void> check_size() const {
        const auto [now, failure] = os_->status(*handle_);
        if (failure) {
            return os_failure("can't find out how long the file is", failure);
        }
        if (now.size_bytes != size_bytes_) {
            return error(errc::file_changed, "the file was " + std::to_string(size_bytes_) +
                                                 " bytes long when it was opened, and is now " +
                                                 std::to_string(now.size_bytes));
        }
        return {};
    }

    /// Fills `destination` with what lies at `offset`. May be called from many threads at once.
    /// Fails with errc::file_changed if the file ends before that, or errc::io_error; what `destination` holds is
    /// then unspecified.
    [[nodiscard]] result<void> read_at(std::uint64_t offset, span<std::byte> destination) const {
        while (!destination.empty()) {
            const std::size_t wanted = std::min<std::size_t>(destination.size(), max_transfer_bytes);
            const auto [moved, failure] = os_->read(*handle_, offset, destination.first(wanted));
            if (failure == std::errc::interrupted) {
                continue;
            }
            if (failure) {
                return os_failure("can't read the file", failure).at(offset);
            }
            if (moved == 0) {
                return error(errc::file_changed, "the file ends here, though it was " + std::to_string(size_bytes_) +
                                                     " bytes long when it was opened")
                    .at(offset);
            }
            offset += moved;
            destination = destination.subspan(moved);
        }
        return {};
    }

    /// The whole file in memory, which the mapping keeps even if this file is closed. An empty file has an empty one.
    /// Fails with errc::unmappable.
    [[nodiscard]] result<mapping> map() const {
        if (size_bytes_ == 0) {
            return mapping();
        }
        if (!fits_address_space(size_bytes_)) {
            return error(errc::unmappable, "a file of " + std::to_string(size_bytes_) +
                                               " bytes doesn't fit the address space of this host");
        }
        const auto [bytes, failure] = os_->map(*handle_, static_cast<std::size_t>(size_bytes_));
        if (failure) {
            return error(errc::unmappable, "the system can't map the file into memory").because(failure);
        }
        return mapping(*os_, bytes);
    }

    /// Writes all of `bytes` after what was written before.
    [[nodiscard]] result<void> append(bytes_view bytes) {
        while (!bytes.empty()) {
            const std::size_t wanted = std::min<std::size_t>(bytes.size(), max_transfer_bytes);
            const auto [moved, failure] = os_->write(*handle_, bytes.first(wanted));
            if (failure == std::errc::interrupted) {
                continue;
            }
            if (failure) {
                return os_failure("can't write the file", failure);
            }
            if (moved == 0) {
                return error(errc::io_error, "can't write the file: the system takes no bytes and doesn't say why");
            }
            bytes = bytes.subspan(moved);
        }
        return {};
    }

    [[nodiscard]] result<void> set_permissions(std::filesystem::perms permissions) {
        return done(os_->set_permissions(*handle_, permissions), "can't give the file the permissions of the old one");
    }

    /// Cuts the file to no bytes.
    [[nodiscard]] result<void> truncate() { return done(os_->truncate(*handle_), "can't empty the file"); }

    /// Waits until what was written is on the disk. After a failure nobody knows what the disk holds, and a second
    /// call may report success all the same: give the file up.
    [[nodiscard]] result<void> sync() {
        return done(os_->sync(*handle_), "can't make sure that the file is on the disk");
    }

    /// Closes the file; does nothing for one that is closed. A failure may mean that written bytes are lost.
    [[nodiscard]] result<void> close() {
        const std::optional<os_handle> handle = std::exchange(handle_, std::nullopt);
        return handle ? done(os_->close(*handle), "can't close the file") : result<void>();
    }

private:
    file(os_calls& os, os_handle handle) noexcept : os_(&os), handle_(handle) {}

    void release() noexcept {
        if (handle_) {
            os_->close(*handle_);
        }
    }

    [[nodiscard]] static result<void> done(std::error_code failure, const char* sentence) {
        return failure ? result<void>(os_failure(sentence, failure)) : result<void>();
    }

    /// `opened`, with its size; an error if it is no regular file. Asked of the handle, so that nobody can put
    /// something else in between.
    [[nodiscard]] static result<file> regular(file opened) {
        const auto [found, failure] = opened.os_->status(*opened.handle_);
        if (failure) {
            return os_failure("can't find out what kind of file this is", failure);
        }
        if (found.kind != file_kind::regular) {
            return irregular_file();
        }
        opened.size_bytes_ = found.size_bytes;
        return result<file>(std::move(opened));
    }

    /// Some things that are no files refuse to be opened at all; they are named for what they are.
    [[nodiscard]] static error why_not_opened(const std::filesystem::path& path, std::error_code failure,
                                              os_calls& os) {
        if (failure == std::errc::no_such_file_or_directory) {
            return error(errc::file_not_found, "can't open the file").because(failure);
        }
        if (const auto [found, unknown] = os.status(path); !unknown && found.kind == file_kind::other) {
            return irregular_file().because(failure);
        }
        return os_failure("can't open the file", failure);
    }

    os_calls* os_;
    std::optional<os_handle> handle_;
    std::uint64_t size_bytes_ = 0;
};

/// 16 hexadecimal digits that hardly any other call gives, here or in another process. Whoever guesses them gains
/// nothing: the file they name is created only if there is none.
[[nodiscard]] inline std::string unique_suffix() {
    static std::atomic<std::uint32_t> calls{0};
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    const std::uint64_t call = calls.fetch_add(1, std::memory_order_relaxed);
    // The finaliser of splitmix64: every bit of time, process and call reaches every digit.
    std::uint64_t bits = static_cast<std::uint64_t>(now) ^ (process_id() << 40) ^ (call * 0x9e3779b97f4a7c15u);
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    bits ^= bits >> 31;

    std::string suffix(16, '0');
    for (char& digit : suffix) {
        digit = "0123456789abcdef"[bits & 15];
        bits >>= 4;
    }
    return suffix;
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
