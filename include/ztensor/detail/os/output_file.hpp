// SPDX-License-Identifier: MIT
//
// Files that are written, and names for temporary ones. Adds loops, checks and words to os_calls. Knows nothing of
// `.zt`.
#ifndef ZTENSOR_DETAIL_OS_OUTPUT_FILE_HPP
#define ZTENSOR_DETAIL_OS_OUTPUT_FILE_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/os/calls.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Reading and writing for everyone, less what the process withholds from new files (umask).
inline constexpr std::uint32_t default_permissions = 0666;

/// A regular file, open for writing. Move-only; closes when it goes, and then nobody learns whether closing failed.
/// Failures are errc::io_error with the system's error unless a call says otherwise, and name no path.
class output_file {
public:
    /// Under a name that nothing has: else the error's os_error() is std::errc::file_exists.
    [[nodiscard]] ZTENSOR_COLD static result<output_file> create(const native_path& path, std::uint32_t permissions,
                                                                 os_calls& os = operating_system()) {
        const auto [handle, failure] = os.create_new(path, permissions);
        if (failure) {
            return os_failure("can't create the file", failure);
        }
        return output_file(os, handle);
    }

    /// An existing file whose content is given up.
    /// Fails with errc::file_not_found, errc::not_regular_file or errc::io_error.
    [[nodiscard]] ZTENSOR_COLD static result<output_file> overwrite(const native_path& path,
                                                                    os_calls& os = operating_system()) {
        const auto [handle, failure] = os.open_for_overwriting(path);
        if (failure) {
            return why_not_opened(path, failure, os);
        }
        output_file opened(os, handle);
        const auto [found, unknown] = os.status(handle); // of the handle, so that nobody can put something in between
        if (unknown) {
            return os_failure("can't find out what kind of file this is", unknown);
        }
        if (found.kind != file_kind::regular) {
            return irregular_file();
        }
        if (result<void> emptied = opened.truncate(0); !emptied) {
            return std::move(emptied).error();
        }
        return result<output_file>(std::move(opened));
    }

    output_file(output_file&& other) noexcept : os_(other.os_), handle_(std::exchange(other.handle_, no_handle)) {}
    output_file& operator=(output_file&& other) noexcept {
        if (this != &other) {
            release();
            os_ = other.os_;
            handle_ = std::exchange(other.handle_, no_handle);
        }
        return *this;
    }
    ~output_file() { release(); }

    [[nodiscard]] bool is_open() const noexcept { return handle_ != no_handle; }

    /// Writes all of `bytes` after what was written before.
    [[nodiscard]] result<void> append(bytes_view bytes) {
        while (!bytes.empty()) {
            const std::size_t wanted = std::min<std::size_t>(bytes.size(), max_transfer_bytes);
            const auto [moved, failure] = os_->write(handle_, bytes.first(wanted));
            if (failure == std::errc::interrupted) {
                continue;
            }
            if (failure) {
                return os_failure("can't write the file", failure);
            }
            if (moved == 0) {
                return fail(errc::io_error, "can't write the file: the system takes no bytes and doesn't say why");
            }
            bytes = bytes.subspan(moved);
        }
        return {};
    }

    [[nodiscard]] result<void> set_permissions(std::uint32_t permissions) {
        return done(os_->set_permissions(handle_, permissions), "can't give the file the permissions of the old one");
    }

    /// Cuts the file to so many bytes, and gives back what was reserved behind them.
    [[nodiscard]] ZTENSOR_COLD result<void> truncate(std::uint64_t size_bytes) {
        return done(os_->truncate(handle_, size_bytes), "can't cut the file to its size");
    }

    // Requests that a file is just as good without: false where the system does not take them.

    /// Room on the disk for bytes that are to come.
    [[nodiscard]] bool reserve(std::uint64_t offset, std::uint64_t size_bytes) {
        return !os_->reserve(handle_, offset, size_bytes);
    }
    /// Begins what sync() will wait for.
    [[nodiscard]] bool begin_sync(std::uint64_t offset, std::uint64_t size_bytes) {
        return !os_->begin_sync(handle_, offset, size_bytes);
    }
    /// Past the system's cache from now on, or no longer.
    [[nodiscard]] bool set_direct(bool is_direct) { return !os_->set_direct(handle_, is_direct); }
    /// Appends up to so many bytes of another file and gives how many: fewer if the system won't move more.
    [[nodiscard]] ZTENSOR_COLD std::uint64_t append_from(const file& from, std::uint64_t offset,
                                                         std::uint64_t size_bytes) {
        std::uint64_t copied = 0;
        while (copied < size_bytes) {
            const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size_bytes - copied, copy_bytes));
            const auto [moved, failure] = os_->copy(from.handle(), offset + copied, handle_, wanted);
            if (failure == std::errc::interrupted) {
                continue;
            }
            if (failure || moved == 0) {
                break; // reading and writing will tell why
            }
            copied += moved;
        }
        return copied;
    }

    /// Waits until what was written is on the disk. After a failure nobody knows what the disk holds, and a second
    /// call may report success all the same: give the file up.
    [[nodiscard]] result<void> sync() {
        return done(os_->sync(handle_), "can't make sure that the file is on the disk");
    }

    /// Closes the file; does nothing for one that is closed. A failure may mean that written bytes are lost.
    [[nodiscard]] result<void> close() {
        const os_handle handle = std::exchange(handle_, no_handle);
        return handle != no_handle ? done(os_->close(handle), "can't close the file") : result<void>();
    }

private:
    static constexpr std::uint64_t copy_bytes = std::uint64_t{1} << 20; ///< as fast as any, and can be interrupted

    output_file(os_calls& os, os_handle handle) noexcept : os_(&os), handle_(handle) {}

    void release() noexcept {
        if (is_open()) {
            os_->close(handle_);
        }
    }

    [[nodiscard]] ZTENSOR_COLD static result<void> done(std::error_code failure, const char* sentence) {
        return failure ? result<void>(os_failure(sentence, failure)) : result<void>();
    }

    os_calls* os_;
    os_handle handle_;
};

/// 16 hexadecimal digits that hardly any other call gives, here or in another process. Whoever guesses them gains
/// nothing: the file they name is created only if there is none.
[[nodiscard]] inline std::string unique_suffix() {
    static std::atomic<std::uint32_t> calls{0};
    const std::uint64_t call = calls.fetch_add(1, std::memory_order_relaxed);
    // The finaliser of splitmix64: every bit of time, process and call reaches every digit.
    std::uint64_t bits = clock_ticks() ^ (process_id() << 40) ^ (call * 0x9e3779b97f4a7c15u);
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

/// A name for a file that is being written: ".ztensor-<16 hex digits>.tmp".
[[nodiscard]] inline native_path temporary_name() {
    const std::string name = ".ztensor-" + unique_suffix() + ".tmp";
    return native_path(name.begin(), name.end());
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
