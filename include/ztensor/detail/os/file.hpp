// SPDX-License-Identifier: MIT
//
// Files: handles that close themselves, transfers that finish what they start, read-only mappings, names for temporary
// files. Adds loops, checks and words to os_reading. Knows nothing of `.zt`.
#ifndef ZTENSOR_DETAIL_OS_FILE_HPP
#define ZTENSOR_DETAIL_OS_FILE_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/os/calls.hpp>
#include <ztensor/detail/os/cpu.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/error.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// No transfer is larger: Linux moves less than 2 GiB at once, macOS refuses more, and Windows counts in 32 bits.
inline constexpr std::size_t max_transfer_bytes = (std::size_t{1} << 30) - (std::size_t{1} << 20);

[[nodiscard]] ZTENSOR_COLD inline error os_failure(const char* sentence, std::error_code why) {
    return fail(errc::io_error, sentence).because(why);
}

[[nodiscard]] ZTENSOR_COLD inline error irregular_file() {
    return fail(errc::not_regular_file, "a regular file is needed, and this is a directory, FIFO, socket or device");
}

/// Some things that are no files refuse to be opened at all; they are named for what they are.
[[nodiscard]] ZTENSOR_COLD inline error why_not_opened(const native_path& path, std::error_code failure,
                                                       os_reading& os) {
    if (failure == std::errc::no_such_file_or_directory) {
        return fail(errc::file_not_found, "can't open the file").because(failure);
    }
    if (const auto [found, unknown] = os.status(path); !unknown && found.kind == file_kind::other) {
        return irregular_file().because(failure);
    }
    return os_failure("can't open the file", failure);
}

/// A file's bytes in memory, for reading. Move-only; unmaps when it goes.
class mapping {
public:
    mapping() noexcept = default;
    mapping(os_reading& os, bytes_view bytes) noexcept : os_(&os), bytes_(bytes) {}
    mapping(mapping&& other) noexcept : os_(other.os_), bytes_(std::exchange(other.bytes_, {})) {}
    mapping& operator=(mapping&& other) noexcept {
        if (this != &other) {
            unmap();
            os_ = other.os_;
            bytes_ = std::exchange(other.bytes_, {});
        }
        return *this;
    }
    ~mapping() { unmap(); }

    /// Valid while the mapping lives; empty for an empty file. Reading bytes that the file has lost since it was
    /// mapped ends the process (SIGBUS, or an access violation).
    [[nodiscard]] bytes_view bytes() const noexcept { return bytes_; }
    /// Leaves it to the caller to unmap.
    void release() noexcept { bytes_ = {}; }

private:
    void unmap() noexcept {
        if (!bytes_.empty()) {
            os_->unmap(bytes_);
        }
    }

    os_reading* os_ = nullptr;
    bytes_view bytes_;
};

/// A regular file, open for reading. Move-only; closes when it goes.
/// Failures are errc::io_error with the system's error unless a call says otherwise, and name no path.
class file {
public:
    /// Doesn't block on a FIFO.
    /// Fails with errc::file_not_found, errc::not_regular_file, errc::io_error, or errc::invalid_argument for a path
    /// that holds U+0000.
    [[nodiscard]] ZTENSOR_COLD static result<file> open(const native_path& path,
                                                        os_reading& os = operating_system_for_reading()) {
        if (path.find(native_path::value_type()) != native_path::npos) { // where the system would take it for the end
            return fail(errc::invalid_argument, "a path that holds the character U+0000 names no file");
        }
        const auto [handle, failure] = os.open_existing(path);
        if (failure) {
            return why_not_opened(path, failure, os);
        }
        return regular(file(os, handle));
    }

    /// An open handle, which becomes the file's. Fails likewise.
    [[nodiscard]] ZTENSOR_COLD static result<file> of_handle(os_handle handle, os_reading& os) {
        return regular(file(os, handle));
    }

    file(file&& other) noexcept
        : os_(other.os_), handle_(std::exchange(other.handle_, no_handle)), size_bytes_(other.size_bytes_) {}
    file& operator=(file&& other) noexcept {
        if (this != &other) {
            release();
            os_ = other.os_;
            handle_ = std::exchange(other.handle_, no_handle);
            size_bytes_ = other.size_bytes_;
        }
        return *this;
    }
    ~file() { release(); }

    [[nodiscard]] bool is_open() const noexcept { return handle_ != no_handle; }
    [[nodiscard]] os_reading& os() const noexcept { return *os_; }
    /// For calls that this class does not make.
    [[nodiscard]] os_handle handle() const noexcept { return handle_; }

    /// Length when it was opened.
    [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_bytes_; }

    /// Fails with errc::file_changed if the file is shorter than it was when it was opened. More bytes behind those are
    /// no harm: somebody appends to it.
    [[nodiscard]] ZTENSOR_COLD result<void> check_size() const {
        const auto [now, failure] = os_->status(handle_);
        if (failure) {
            return os_failure("can't find out how long the file is", failure);
        }
        if (now.size_bytes < size_bytes_) {
            return fail(errc::file_changed, "the file was {} bytes long when it was opened, and is now {}",
                        {size_bytes_, now.size_bytes});
        }
        return {};
    }

    /// Fills `destination` with what lies at `offset`. May be called from many threads at once.
    /// Fails with errc::file_changed if the file ends before that, or errc::io_error; what `destination` holds is
    /// then unspecified.
    [[nodiscard]] result<void> read_at(std::uint64_t offset, span<std::byte> destination,
                                       const cpu_features& cpu = host_cpu()) const {
        const std::size_t shift = cpu.copies_evenly ? 0 : shift_to_read_fast(offset, destination);
        if (shift != 0) {
            ZTENSOR_TRY(read_shifted(offset, destination, shift));
        }
        return read_all(offset, destination);
    }

    /// A hint: those bytes will be read soon, or not soon again. Bytes that lie in memory as part of a mapping stay.
    void advise(std::uint64_t offset, std::uint64_t length, bool is_wanted) const noexcept {
        if (length != 0) { // which would mean all that follow
            os_->advise(handle_, offset, length, is_wanted);
        }
    }

    /// The whole file in memory, which the mapping keeps even if this file is closed. An empty file has an empty one.
    /// Fails with errc::unmappable.
    [[nodiscard]] ZTENSOR_COLD result<mapping> map() const {
        if (size_bytes_ == 0) {
            return mapping();
        }
        if (!fits_address_space(size_bytes_)) {
            return fail(errc::unmappable, "a file of {} bytes doesn't fit the address space of this host",
                        {size_bytes_});
        }
        const auto [bytes, failure] = os_->map(handle_, static_cast<std::size_t>(size_bytes_));
        if (failure) {
            return fail(errc::unmappable, "the system can't map the file into memory").because(failure);
        }
        return mapping(*os_, bytes);
    }

private:
    /// How far behind its place `destination` is read and then moved there; 0 where reading it at once is as fast.
    ///
    /// The system copies by an instruction (rep movsb) that loads what it seems to have just stored if the target lies
    /// up to 31 bytes behind the source, modulo a page: on Zen 4 it then takes 2 (16 bytes behind) to 10 times as long.
    /// That is what a page-aligned tensor meets in a std::vector. Beyond the caches it minds any difference modulo 32:
    /// 256 MiB take 31 to 33 ms instead of 22 to 25, and 26 to 28 if they are moved. (Zen 5 does not mind.)
    [[nodiscard]] static std::size_t shift_to_read_fast(std::uint64_t offset, span<std::byte> destination) noexcept {
        constexpr std::uint64_t page_bytes = 4096, block_bytes = 32;
        constexpr std::size_t few_bytes = std::size_t{8} << 10, cached_bytes = std::size_t{16} << 20;
        const std::uint64_t behind = (address_of(destination.data()) - offset) % page_bytes;
        const bool is_worth_it = destination.size() >= (behind < block_bytes ? few_bytes : cached_bytes);
        return is_worth_it ? static_cast<std::size_t>((0 - behind) % block_bytes) : 0;
    }

    file(os_reading& os, os_handle handle) noexcept : os_(&os), handle_(handle) {}

    [[nodiscard]] result<void> read_all(std::uint64_t offset, span<std::byte> destination) const {
        while (!destination.empty()) {
            const std::size_t wanted = (std::min<std::size_t>)(destination.size(), max_transfer_bytes);
            const auto [moved, failure] = os_->read(handle_, offset, destination.first(wanted));
            if (failure == std::errc::interrupted) {
                continue;
            }
            if (failure) {
                return os_failure("can't read the file", failure).at(offset);
            }
            if (moved == 0) {
                return fail(errc::file_changed, "the file ends here, though it was {} bytes long when it was opened",
                            {size_bytes_})
                    .at(offset);
            }
            offset += moved;
            destination = destination.subspan(moved);
        }
        return {};
    }

    /// Reads pieces `shift` bytes behind where they belong, and moves them there while the cache has them. In the end
    /// the last `shift` bytes are left: `destination` is where they go, `offset` where they are.
    [[nodiscard]] result<void> read_shifted(std::uint64_t& offset, span<std::byte>& destination,
                                            std::size_t shift) const {
        constexpr std::size_t piece_bytes = std::size_t{512} << 10;
        while (destination.size() > shift) {
            const std::size_t size = (std::min)(destination.size() - shift, piece_bytes);
            ZTENSOR_TRY(read_all(offset, destination.subspan(shift, size)));
            std::memmove(destination.data(), destination.data() + shift, size);
            offset += size;
            destination = destination.subspan(size);
        }
        return {};
    }

    void release() noexcept {
        if (is_open()) {
            os_->close(handle_);
        }
    }

    /// `opened`, with its size; an error if it is no regular file. Asked of the handle, so that nobody can put
    /// something else in between.
    [[nodiscard]] static result<file> regular(file opened) {
        const auto [found, failure] = opened.os_->status(opened.handle_);
        if (failure) {
            return os_failure("can't find out what kind of file this is", failure);
        }
        if (found.kind != file_kind::regular) {
            return irregular_file();
        }
        opened.size_bytes_ = found.size_bytes;
        return result<file>(std::move(opened));
    }

    os_reading* os_;
    os_handle handle_;
    std::uint64_t size_bytes_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
