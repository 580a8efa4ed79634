// SPDX-License-Identifier: MIT
//
// The library's own sinks of bytes: a file that appears all at once, and memory. Know nothing of what the bytes mean.
#ifndef ZTENSOR_DETAIL_WRITE_SINKS_HPP
#define ZTENSOR_DETAIL_WRITE_SINKS_HPP

#include <ztensor/byte_sink.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/os/directory.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/os/past_cache.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/write/target_file.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[nodiscard]] inline error sink_closed() {
    return fail(errc::writer_closed, "nothing more can be written: the output was finished, or failed before");
}

/// Gathers bytes in memory.
class memory_sink final : public byte_sink {
public:
    /// Fails with errc::too_large_for_host, or errc::writer_closed after finish().
    [[nodiscard]] result<void> write(bytes_view bytes) override {
        if (finished_) {
            return sink_closed();
        }
        if (bytes.size() > bytes_.max_size() - bytes_.size()) {
            return fail(errc::too_large_for_host, "the container doesn't fit the address space of this host");
        }
        make_room(bytes.size());
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        return {};
    }

    /// Fails with errc::writer_closed the second time.
    [[nodiscard]] result<void> finish() override {
        if (finished_) {
            return sink_closed();
        }
        finished_ = true;
        return {};
    }

    /// Grows at once by what a large blob may take.
    void expect(std::uint64_t size_bytes) override {
        if (size_bytes >= least_expected && size_bytes <= bytes_.max_size() - bytes_.size()) {
            make_room(static_cast<std::size_t>(size_bytes));
        }
    }

    [[nodiscard]] bool holds(std::uint64_t offset, bytes_view bytes) override {
        return std::equal(bytes.begin(), bytes.end(), bytes_.data() + offset);
    }

    /// What was written, moved out.
    [[nodiscard]] std::vector<std::byte> take() noexcept { return std::exchange(bytes_, {}); }

private:
    static constexpr std::uint64_t least_expected = std::uint64_t{1} << 20;
    static constexpr std::size_t much_memory = std::size_t{64} << 20;

    /// As any vector does, but seldom and into huge pages, for what is not touched costs little and each small page a
    /// fault: 13,000 tensors of 10 KB take a sixth of the time.
    void make_room(std::size_t size_bytes) {
        if (size_bytes <= bytes_.capacity() - bytes_.size()) {
            return;
        }
        const std::size_t more = (bytes_.size() < much_memory ? 4 : 2) * bytes_.size();
        std::vector<std::byte> larger;
        larger.reserve(std::min(std::max(bytes_.size() + size_bytes, more), bytes_.max_size()));
        advise_large_memory(larger.data(), larger.capacity());
        larger.insert(larger.end(), bytes_.begin(), bytes_.end());
        bytes_ = std::move(larger);
    }

    std::vector<std::byte> bytes_;
    bool finished_ = false;
};

/// A file, made as publish_mode says; options.hpp has what is promised.
class file_sink final : public byte_sink {
public:
    /// Touches no file; open() does.
    file_sink(const file_path& target, const write_options& options, os_calls& os)
        : path_(path_text(target.native())), native_(target.native()), options_(options), target_(os),
          is_direct_(options.direct_), buffer_bytes_(options.direct_ ? direct_buffer_bytes : whole_bytes) {}
    ~file_sink() override = default;

    /// Called once, before anything else. Fails with errc::not_regular_file if the target is a directory, FIFO, socket
    /// or device, errc::invalid_argument if it names no file, errc::busy if another writer writes in place,
    /// errc::out_of_memory, or errc::io_error.
    [[nodiscard]] result<void> open() {
        return ended_if_failed(prepare([&] { return target_.open(native_, options_.publish_, options_.sync_); }));
    }
    /// Likewise, for what comes after an old file: to take its place …
    [[nodiscard]] ZTENSOR_COLD result<void> open_successor(located_file place, output_file lock) {
        return ended_if_failed(
            prepare([&] { return target_.open_successor(std::move(place), std::move(lock), options_.sync_); }));
    }
    /// … or behind its `old_bytes`; `make_way_back() → result<std::unique_ptr<way_back>>` is called last.
    template <class MakeWayBack>
    [[nodiscard]] ZTENSOR_COLD result<void> open_extended(located_file place, output_file old, std::uint64_t old_bytes,
                                                          const MakeWayBack& make_way_back) {
        position_ = begun_sync_ = old_bytes;
        is_direct_ = false; // the old end is no whole block
        return ended_if_failed(prepare([&]() -> result<void> {
            result<std::unique_ptr<way_back>> back = make_way_back(place);
            if (!back) {
                return std::move(back).error();
            }
            return target_.open_extended(std::move(place), std::move(old), *std::move(back), options_.sync_);
        }));
    }

    /// Fails with errc::io_error (the disk is full, over quota, …), or errc::writer_closed after finish() or a failure,
    /// and in another process than the one that opened it.
    [[nodiscard]] result<void> write(bytes_view bytes) override {
        return is_open() ? ended_if_failed(append(bytes)) : sink_closed().in_file(path_);
    }

    /// Fails with errc::io_error, and then the target is what it was before (publish_mode::replace). Fails with
    /// errc::not_durable if all is in place but the directory could not be synced: the new file is what everyone
    /// reads, and a power cut may still bring the old one back. Fails with errc::writer_closed the second time.
    [[nodiscard]] ZTENSOR_COLD result<void> finish() override {
        if (!is_open() || !target_.is_ours()) {
            return sink_closed().in_file(path_);
        }
        if (result<void> published = ended_if_failed(publish()); !published) {
            return published;
        }
        result<void> synced = target_.sync_name();
        return synced ? synced : std::move(synced).error().in_file(path_);
    }

private:
    static constexpr std::size_t whole_bytes = std::size_t{1} << 20;
    static constexpr std::size_t direct_buffer_bytes = std::size_t{8} << 20; // a third faster than 1 MiB
    static constexpr std::size_t direct_alignment = 4096;
    static constexpr std::uint64_t reserved_step = std::uint64_t{256} << 20;
    static constexpr std::uint64_t least_reserved = std::uint64_t{16} << 20; ///< smaller files gain nothing
    static constexpr std::uint64_t early_sync_bytes = std::uint64_t{8} << 20;
    static constexpr std::size_t most_footer_bytes = 40;

    [[nodiscard]] bool is_open() const noexcept { return target_.is_open(); }
    [[nodiscard]] bool syncs() const noexcept { return options_.sync_ != sync_level::none; }

    template <class Open>
    [[nodiscard]] ZTENSOR_COLD result<void> prepare(const Open& open) {
        if (!buffer_.allocate(buffer_bytes_ + (is_direct_ ? direct_alignment : 0))) {
            return fail(errc::out_of_memory, "no memory for a buffer of {} bytes", {buffer_bytes_});
        }
        const std::uint64_t beyond = address_of(buffer_.data()) % direct_alignment;
        room_ = buffer_.data() + (is_direct_ && beyond != 0 ? direct_alignment - beyond : 0);
        result<void> opened = open();
        if (opened && is_direct_) {
            is_direct_ = target_.file().set_direct(true);
        }
        return opened;
    }

    /// Every write starts at a multiple of 1 MiB in the file, and all but the last are whole MiB: the page cache then
    /// keeps the file in large pieces, which readers that map it feel. Of a large piece only the ends, less than 1 MiB
    /// each, go through the buffer; the rest goes straight from the caller's memory.
    [[nodiscard]] ZTENSOR_NOINLINE result<void> append(bytes_view bytes) {
        while (!bytes.empty()) {
            result<void> written;
            if (buffered_ != 0 && buffered_ == room_bytes()) {
                written = flush();
            } else if (buffered_ == 0 && bytes.size() >= buffer_bytes_ && goes_straight(bytes)) {
                const std::size_t most = syncs() ? early_sync_bytes : bytes.size();
                const std::size_t whole = std::min(most, bytes.size() - bytes.size() % whole_bytes);
                written = write_out(bytes.first(whole));
                bytes = bytes.subspan(whole);
            } else {
                const std::size_t taken = std::min<std::size_t>(bytes.size(), room_bytes() - buffered_);
                copy_through_cache(bytes.first(taken), span<std::byte>(room_, buffer_bytes_).subspan(buffered_));
                buffered_ += taken;
                bytes = bytes.subspan(taken);
                // Of a file that is extended, the footer comes after all else: it is always left for the end.
                written = buffered_ == room_bytes() && !target_.extends() ? flush() : result<void>();
            }
            if (!written) {
                return written;
            }
        }
        return {};
    }

    /// Where the system moves bytes between files by itself, it is asked for whole MiB of this one.
    [[nodiscard]] ZTENSOR_COLD result<std::uint64_t> append_file(const file& from, std::uint64_t offset,
                                                                 std::uint64_t size_bytes) override {
        if (!is_open()) {
            return sink_closed().in_file(path_);
        }
        if (buffered_ != 0 || size_bytes < whole_bytes || position_ % whole_bytes != 0 || is_direct_ || !copies_ ||
            has_read_back_) {
            return std::uint64_t{0};
        }
        const std::uint64_t most = syncs() ? early_sync_bytes : reserved_step;
        const std::uint64_t wanted = std::min(most, size_bytes - size_bytes % whole_bytes);
        if (result<void> begun = begin_writing(); !begun) {
            return std::move(ended_if_failed(std::move(begun))).error();
        }
        reserve(wanted);
        const std::uint64_t copied = target_.file().append_from(from, offset, wanted);
        copies_ = copied == wanted;
        advance(copied);
        return copied;
    }

    [[nodiscard]] ZTENSOR_COLD bool holds(std::uint64_t offset, bytes_view bytes) override {
        const std::uint64_t in_file =
            offset < position_ ? std::min<std::uint64_t>(position_ - offset, bytes.size()) : 0;
        const bytes_view flushed = bytes.first(static_cast<std::size_t>(in_file));
        const bytes_view waiting = bytes.subspan(flushed.size());
        const std::byte* const room = waiting.empty() ? nullptr : room_ + (offset + flushed.size() - position_);
        return std::equal(waiting.begin(), waiting.end(), room) && (flushed.empty() || file_holds(offset, flushed));
    }

    [[nodiscard]] ZTENSOR_COLD bool file_holds(std::uint64_t offset, bytes_view bytes) {
        const bool was_direct = is_direct_ && target_.file().set_direct(false);
        byte_buffer piece;
        bool is_same = piece.allocate(std::min(bytes.size(), std::size_t{64} << 10));
        while (is_same && !bytes.empty()) {
            const span<std::byte> read = piece.writable_bytes().first(std::min(bytes.size(), piece.size()));
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

    [[nodiscard]] bool would_destroy(const file& source) const override { return target_.would_destroy(source); }

    [[nodiscard]] ZTENSOR_COLD result<void> begin_writing() {
        return target_.is_ours() ? target_.begin() : result<void>(sink_closed());
    }

    [[nodiscard]] bool goes_straight(bytes_view bytes) const noexcept {
        return position_ % whole_bytes == 0 && (!is_direct_ || address_of(bytes.data()) % direct_alignment == 0);
    }

    /// Of the buffer, so that the next write after it starts at a whole MiB again.
    [[nodiscard]] std::size_t room_bytes() const noexcept {
        return buffer_bytes_ - static_cast<std::size_t>(position_ % whole_bytes);
    }

    [[nodiscard]] result<void> flush() {
        return write_out(bytes_view(room_, std::exchange(buffered_, std::size_t{0})));
    }

    [[nodiscard]] ZTENSOR_COLD result<void> write_out(bytes_view bytes) {
        if (result<void> begun = begin_writing(); !begun) {
            return begun;
        }
        if (std::exchange(has_read_back_, false)) { // which moves the place of the next write on some systems
            if (result<void> moved = target_.file().seek(position_); !moved) {
                return moved;
            }
        }
        reserve(bytes.size());
        if (is_direct_ && bytes.size() % direct_alignment != 0) {
            stop_direct(); // for the end of the file
        }
        result<void> written = target_.file().append(bytes);
        if (!written && is_direct_ && written.error().os_error() == std::errc::invalid_argument) {
            stop_direct(); // some file systems say only now that they can't
            written = target_.file().append(bytes);
        }
        if (written) {
            advance(bytes.size());
        }
        return written;
    }

    void stop_direct() {
        static_cast<void>(target_.file().set_direct(false));
        is_direct_ = false;
    }

    /// Room for the next bytes and many more, unless the file is small: then the system need not look for it each time.
    void reserve(std::uint64_t size_bytes) {
        const std::uint64_t end = position_ + size_bytes;
        if (end <= reserved_ || end < least_reserved || !reserves_) {
            return;
        }
        const std::uint64_t wanted = size_bytes + std::max(reserved_step, end / 8);
        reserves_ = target_.file().reserve(position_, wanted);
        reserved_ = reserves_ ? position_ + wanted : reserved_;
    }

    /// What is to be synced in the end had better be on its way.
    void advance(std::uint64_t size_bytes) {
        position_ += size_bytes;
        if (syncs() && !is_direct_ && syncs_early_ && position_ - begun_sync_ >= early_sync_bytes) {
            syncs_early_ = target_.file().begin_sync(begun_sync_, position_ - begun_sync_);
            begun_sync_ = position_;
        }
    }

    [[nodiscard]] ZTENSOR_COLD result<void> publish() {
        if (result<void> flushed = target_.extends() ? flush_extension() : flush(); !flushed) {
            return flushed;
        }
        if (reserved_ > position_) {
            if (result<void> cut = target_.file().truncate(position_); !cut) {
                return cut;
            }
        }
        return target_.publish();
    }

    /// All but the footer is on the disk before the footer is written: where it is whole, so is what it ends.
    [[nodiscard]] ZTENSOR_COLD result<void> flush_extension() {
        const std::size_t last = std::min(buffered_, most_footer_bytes);
        const std::size_t first = std::exchange(buffered_, std::size_t{0}) - last;
        result<void> done = first != 0 ? write_out(bytes_view(room_, first)) : result<void>();
        if (done) {
            done = target_.commit(position_ + last);
        }
        return done ? write_out(bytes_view(room_ + first, last)) : done;
    }

    /// After a failure the sink is over; a file that could not be removed is told of.
    [[nodiscard]] ZTENSOR_COLD result<void> ended_if_failed(result<void> outcome) {
        if (outcome) {
            return outcome;
        }
        error why = std::move(outcome).error();
        if (const native_path left = target_.abandon(); !left.empty()) {
            why = fail(why.code(), "{} ({} is left behind)", {why.sentence(), path_text(target_.path_of(left))})
                      .because(why.os_error());
        }
        return std::move(why).in_file(path_);
    }

    const std::string path_; ///< as it was given, for messages
    const native_path native_;
    const write_options options_;
    target_file target_;
    bool is_direct_;
    bool reserves_ = true; ///< these are requests that the system has taken so far
    bool syncs_early_ = true;
    bool copies_ = true;
    bool has_read_back_ = false; ///< since the last write
    const std::size_t buffer_bytes_;
    byte_buffer buffer_;
    std::byte* room_ = nullptr; ///< in the buffer, aligned for direct writes
    std::size_t buffered_ = 0;
    std::uint64_t position_ = 0; ///< in the file, of what is buffered
    std::uint64_t reserved_ = 0; ///< the file has room on the disk up to there
    std::uint64_t begun_sync_ = 0;
};

/// A new file at `target`, as `options` say: publish_mode and sync. See file_sink for what is promised, and
/// file_sink::open() for the errors.
[[nodiscard]] inline result<std::unique_ptr<byte_sink>>
create_sink(const file_path& target, const write_options& options, os_calls& os = operating_system()) {
    auto* const file = new file_sink(target, options, os);
    std::unique_ptr<byte_sink> sink(file);
    if (result<void> opened = file->open(); !opened) {
        return std::move(opened).error();
    }
    return sink;
}

} // namespace detail

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
