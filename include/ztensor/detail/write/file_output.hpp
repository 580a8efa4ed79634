// SPDX-License-Identifier: MIT
//
// The end of a file being written: bytes that are ready -> the system, with room on the disk asked for ahead of them
// and what is to be synced on its way. Knows nothing of what the bytes mean.
#ifndef ZTENSOR_DETAIL_WRITE_FILE_OUTPUT_HPP
#define ZTENSOR_DETAIL_WRITE_FILE_OUTPUT_HPP

#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/write/sink_closed.hpp>
#include <ztensor/detail/write/target_file.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// One thread at a time calls it.
class file_output {
public:
    static constexpr std::size_t direct_alignment = 4096; ///< in memory, of what goes past the system's cache

    file_output(target_file& target, const write_options& options) noexcept
        : target_(target), syncs_early_(options.sync_ != sync_level::none), is_direct_(options.direct_) {}

    /// Once the target is open, which has `old_bytes` that stay.
    ZTENSOR_COLD void begin(std::uint64_t old_bytes) {
        position_ = begun_sync_ = old_bytes;
        is_direct_ = is_direct_ && old_bytes == 0 && target_.file().set_direct(true); // an old end is no whole block
    }

    /// Whether the next bytes go past the system's cache, and must be aligned for that.
    [[nodiscard]] bool is_direct() const noexcept { return is_direct_; }

    /// Errors: io_error; writer_closed in another process than the one that opened the target.
    [[nodiscard]] ZTENSOR_COLD result<void> write(bytes_view bytes) {
        if (result<void> ready = get_ready(bytes.size()); !ready) {
            return ready;
        }
        if (is_direct_ && bytes.size() % direct_alignment != 0) {
            stop_direct(); // for the end of the file
        }
        const std::size_t size_bytes = bytes.size();
        if (target_.extends()) {
            bytes = target_.back().hold(bytes);
        }
        result<void> written = target_.file().append(bytes);
        if (!written && is_direct_ && written.error().os_error() == std::errc::invalid_argument) {
            stop_direct(); // some file systems say only now that they can't, and may have taken some bytes before
            written = target_.file().seek(position_);
            written = written ? target_.file().append(bytes) : std::move(written);
        }
        if (written) {
            advance(size_bytes);
        }
        return written;
    }

    /// Up to so many bytes of another file, and how many; 0 where the system does not move them by itself.
    [[nodiscard]] ZTENSOR_COLD result<std::uint64_t> copy_from(const file& from, std::uint64_t offset,
                                                               std::uint64_t size_bytes) {
        if (is_direct_ || !copies_ || has_read_back_ || position_ != place()) {
            return std::uint64_t{0};
        }
        const std::uint64_t wanted = (std::min)(syncs_early_ ? early_sync_bytes : reserved_step, size_bytes);
        if (result<void> ready = get_ready(wanted); !ready) {
            return std::move(ready).error();
        }
        const std::uint64_t copied = target_.file().append_from(from, offset, wanted);
        copies_ = copied == wanted;
        advance(copied);
        return copied;
    }

    /// Whether those bytes were written at `offset`; false where that can't be told.
    [[nodiscard]] ZTENSOR_COLD bool holds(std::uint64_t offset, bytes_view bytes) {
        if (target_.extends()) { // in whose file the mark stands in place of the first bytes
            const bytes_view held = target_.back().held_from(offset);
            const std::size_t count = (std::min)(held.size(), bytes.size());
            if (!std::equal(held.begin(), held.begin() + count, bytes.begin())) {
                return false;
            }
            offset += count;
            bytes = bytes.subspan(count);
        }
        const bool was_direct = is_direct_ && target_.file().set_direct(false);
        byte_buffer piece;
        bool is_same = piece.allocate((std::min)(bytes.size(), std::size_t{64} << 10));
        while (is_same && !bytes.empty()) {
            const span<std::byte> read = piece.writable_bytes().first((std::min)(bytes.size(), piece.size()));
            is_same = target_.file().read_back(offset, read) && std::equal(read.begin(), read.end(), bytes.begin());
            offset += read.size();
            bytes = bytes.subspan(read.size());
        }
        if (was_direct) {
            is_direct_ = target_.file().set_direct(true);
        }
        has_read_back_ = true;
        return is_same;
    }

    /// Gives back what was asked for in vain. Errors: io_error.
    [[nodiscard]] ZTENSOR_COLD result<void> end() {
        return reserved_ > position_ ? target_.file().truncate(position_) : result<void>();
    }

private:
    static constexpr std::uint64_t reserved_step = std::uint64_t{256} << 20;
    static constexpr std::uint64_t least_reserved = std::uint64_t{16} << 20; ///< smaller files gain nothing
    static constexpr std::uint64_t early_sync_bytes = std::uint64_t{8} << 20;

    [[nodiscard]] result<void> get_ready(std::uint64_t size_bytes) {
        result<void> ready = target_.is_ours() ? target_.begin() : result<void>(sink_closed());
        if (ready && std::exchange(has_read_back_, false)) { // which moves the place of the next write on some systems
            ready = target_.file().seek(place());
        }
        if (ready) {
            reserve(size_bytes);
        }
        return ready;
    }

    /// Where the next bytes go: not those that are held.
    [[nodiscard]] std::uint64_t place() const noexcept {
        return target_.extends() ? (std::max)(position_, target_.back().first_new_byte()) : position_;
    }

    /// Room for the next bytes and many more, unless the file is small: then the system need not look for it each time.
    void reserve(std::uint64_t size_bytes) {
        const std::uint64_t end = position_ + size_bytes;
        if (end <= reserved_ || end < least_reserved || !reserves_) {
            return;
        }
        const std::uint64_t wanted = size_bytes + (std::max)(reserved_step, end / 8);
        reserves_ = target_.file().reserve(position_, wanted);
        reserved_ = reserves_ ? position_ + wanted : reserved_;
    }

    /// What is to be synced in the end had better be on its way.
    void advance(std::uint64_t size_bytes) {
        position_ += size_bytes;
        if (syncs_early_ && !is_direct_ && position_ - begun_sync_ >= early_sync_bytes) {
            syncs_early_ = target_.file().begin_sync(begun_sync_, position_ - begun_sync_);
            begun_sync_ = position_;
        }
    }

    void stop_direct() {
        static_cast<void>(target_.file().set_direct(false));
        is_direct_ = false;
    }

    target_file& target_;
    std::uint64_t position_ = 0; ///< in the file
    std::uint64_t reserved_ = 0; ///< the file has room on the disk up to there
    std::uint64_t begun_sync_ = 0;
    bool syncs_early_; ///< this and what follows are requests that the system has taken so far
    bool is_direct_;
    bool reserves_ = true;
    bool copies_ = true;
    bool has_read_back_ = false; ///< since the last write
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
