// SPDX-License-Identifier: MIT
//
// The sinks that the library has itself: memory, and a file, buffered and behind the caller.
#ifndef ZTENSOR_DETAIL_WRITE_FILE_WRITER_HPP
#define ZTENSOR_DETAIL_WRITE_FILE_WRITER_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/detail/write/atomic_file.hpp>
#include <ztensor/error.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/version.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <system_error>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- sink closed
//
// The error of those who write to what is over.

[[nodiscard]] inline error sink_closed() {
    return fail(errc::writer_closed, "nothing more can be written: the output was finished, or failed before");
}

// -- memory sink
//
// A sink that is memory. Knows nothing of what the bytes mean.

/// Gathers bytes in memory.
class memory_sink final : public byte_sink {
public:
    /// Fails with errc::too_large_for_host, or errc::writer_closed after finish().
    result<void> write(bytes_view bytes) override {
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
    result<void> finish() override {
        if (finished_) {
            return sink_closed();
        }
        finished_ = true;
        return {};
    }

    /// Grows at once by what a large blob may take.
    size_t expect(uint64_t size_bytes) override {
        if (size_bytes >= large_bytes && size_bytes <= bytes_.max_size() - bytes_.size()) {
            make_room(static_cast<size_t>(size_bytes));
        }
        return large_bytes;
    }

    [[nodiscard]] bool holds(uint64_t offset, bytes_view bytes) override {
        return std::equal(bytes.begin(), bytes.end(), bytes_.data() + offset);
    }

    /// What was written, moved out.
    [[nodiscard]] vector<byte> take() noexcept { return std::exchange(bytes_, {}); }

private:
    static constexpr size_t large_bytes = size_t{1} << 20;
    static constexpr size_t much_memory = size_t{64} << 20;

    /// As any vector does, but seldom and into huge pages, for what is not touched costs little and each small page a
    /// fault: 13,000 tensors of 10 KB take a sixth of the time.
    void make_room(size_t size_bytes) {
        if (size_bytes <= bytes_.capacity() - bytes_.size()) {
            return;
        }
        const size_t more = (bytes_.size() < much_memory ? 4 : 2) * bytes_.size();
        vector<byte> larger;
        larger.reserve((std::min)((std::max)(bytes_.size() + size_bytes, more), bytes_.max_size()));
        advise_large_memory(larger.data(), larger.capacity());
        larger.insert(larger.end(), bytes_.begin(), bytes_.end());
        bytes_ = std::move(larger);
    }

    vector<byte> bytes_;
    bool finished_ = false;
};

// -- file writer
//
// A sink that is a file. Bytes in pieces of any size become writes of whole MiB, some by another thread while the
// caller goes on; room on the disk is reserved ahead, and what is to be synced is begun early. Knows nothing of what
// the bytes mean.

/// A file, made as publish_mode says; options.hpp has what is promised. One thread at a time calls it.
class file_writer final : public byte_sink {
public:
    /// Touches no file; open() does.
    file_writer(const file_path& path, const write_options& options, os_calls& os)
        : path_(path_text(path.native())), native_(path.native()), options_(options), os_(os),
          buffer_bytes_(options.direct() ? direct_buffer_bytes : unit_bytes),
          least_behind_(options.threads() == 1 || options.direct() ? never : bytes_in_small_files),
          syncs_early_(options.sync() != sync_level::none), is_direct_(options.direct()) {}
    /// What another thread has not written yet is dropped.
    ~file_writer() override { has_failed_ = true; }

    /// Called once, before anything else. `target` may have been made otherwise than options say, and then its first
    /// `old_bytes` are not written. Fails with errc::not_regular_file if the target is a directory, FIFO, socket
    /// or device, errc::invalid_argument if it names no file, errc::busy if another writer writes in place,
    /// errc::out_of_memory, or errc::io_error.
    ZTENSOR_COLD result<void> open(std::unique_ptr<atomic_file> target = nullptr, uint64_t old_bytes = 0) {
        return abandoned_if_failed(open_target(std::move(target), old_bytes));
    }

    /// Fails with errc::io_error (the disk is full, over quota, ...), or errc::writer_closed after finish() or a
    /// failure, and in another process than the one that opened it. What a thread that wrote meanwhile has to tell, one
    /// of the next calls tells: within 4 MiB, or finish().
    result<void> write(bytes_view bytes) override {
        return is_open() ? abandoned_if_failed(gather(bytes)) : sink_closed().in_file(path_);
    }

    /// Fails with errc::io_error, and then the target is what it was before (publish_mode::replace). Fails with
    /// errc::not_durable if all is in place but the directory could not be synced: the new file is what everyone
    /// reads, and a power cut may still bring the old one back. Fails with errc::writer_closed the second time.
    ZTENSOR_COLD result<void> finish() override {
        if (!is_open() || !target_->is_ours()) {
            return sink_closed().in_file(path_);
        }
        ZTENSOR_TRY(abandoned_if_failed(publish()));
        return in_file(target_->sync_name(), path_);
    }

private:
    // The figures by which is decided in which pieces a file is written, and when another thread writes them.

    // Writes are whole MiB that end at a multiple of 1 MiB in the file: the page cache then keeps the file in large
    // pieces, which readers that map it feel. One call with 32 MiB took 1.03 of the time.
    static constexpr size_t unit_bytes = size_t{1} << 20;
    static constexpr size_t direct_buffer_bytes = size_t{8} << 20; ///< a third faster than 1 MiB
    static constexpr size_t direct_alignment = 4096; ///< in memory and in the file, past the system's cache

    // Little that waits is written by itself before much, which then goes straight from its first byte on: to copy up
    // to 1 MiB of it beside the little took 1.03 of the time for tensors of 4 MiB.
    static constexpr size_t little_bytes = 4096;
    // Much goes through the buffers where it lies otherwise in memory than in the file, modulo this, and another thread
    // can write it: on Zen 4 the kernel takes 1.2 to 1.6 times as long to copy it then, and writing 256 MiB through the
    // buffers took 0.85 of the time.
    static constexpr uint64_t copied_at_once = 32;
    // In pieces of 64 KiB, what is digested and then copied into a buffer is still in the cache: with 256 KiB digesting
    // cost 6 % of the time on Zen 4, with these 2 %.
    static constexpr size_t buffered_piece_bytes = unit_bytes / 16;

    // Another thread writes full buffers of large files. Without it, tensors of 10 KB took 1.3 times as long, and
    // digests 1.2 times. If no thread came in time once in 200 MiB or more, none is asked for a while: where processors
    // are busy with other things, all that waits for another thread takes longer.
    static constexpr uint64_t bytes_in_small_files = uint64_t{4} << 20;
    static constexpr size_t buffer_count = 3; ///< one to fill, one that is written, and one that waits for that
    static constexpr unsigned most_times_alone = 4;
    static constexpr uint64_t bytes_alone = uint64_t{256} << 20;
    static constexpr uint64_t never = ~uint64_t{0};

    static constexpr size_t last_bytes = 8; ///< written behind a commit: without them no footer is one
    static constexpr uint64_t reserved_step = uint64_t{256} << 20;
    static constexpr uint64_t least_reserved = uint64_t{16} << 20; ///< smaller files gain nothing
    static constexpr uint64_t early_sync_bytes = uint64_t{8} << 20;

    /// Memory for what is gathered.
    struct buffer {
        byte_buffer memory;
        byte* begin = nullptr; ///< aligned for direct writes
        bytes_view written;    ///< of it, by another thread

        [[nodiscard]] ZTENSOR_COLD bool allocate(size_t bytes) noexcept {
            if (memory.allocate(bytes + direct_alignment)) {
                const uint64_t beyond = address_of(memory.data()) % direct_alignment;
                begin = memory.data() + (direct_alignment - beyond);
            }
            return begin != nullptr;
        }
    };

    [[nodiscard]] bool is_open() const noexcept { return target_ != nullptr && target_->is_open(); }

    /// Memory comes first: a file that is open needs it no more.
    ZTENSOR_COLD result<void> open_target(std::unique_ptr<atomic_file> target, uint64_t old_bytes) {
        if (!filling().allocate(buffer_bytes_)) {
            return fail(errc::out_of_memory, "no memory for a buffer of {} bytes", {buffer_bytes_});
        }
        target_ = std::move(target);
        if (target_ == nullptr) {
            ZTENSOR_TRY_ASSIGN(target_, find_target(native_, options_.publish(), options_.sync(), os_));
        }
        ZTENSOR_TRY(target_->open());
        position_ = written_ = begun_sync_ = old_bytes;
        is_direct_ = is_direct_ && old_bytes == 0 && target_->file().set_direct(true); // an old end is no whole block
        if (target_->needs_commit()) { // the footer comes after all else
            least_behind_ = never;
        }
        return {};
    }

    /// See byte_sink.
    [[nodiscard]] size_t expect(uint64_t size_bytes) override {
        made_until_ = position_ + buffered_ + size_bytes + unit_bytes; // with what is put between
        return position_ >= least_behind_ ? buffered_piece_bytes : unit_bytes;
    }
    [[nodiscard]] bool would_destroy(const file& source) const override {
        return target_ != nullptr && target_->would_destroy(source);
    }
    ZTENSOR_COLD result<uint64_t> append_file(const file& from, uint64_t offset, uint64_t size_bytes) override {
        if (!is_open()) {
            return sink_closed().in_file(path_);
        }
        result<uint64_t> copied = move_from(from, offset, size_bytes);
        return copied ? copied : std::move(abandoned_if_failed(std::move(copied).error())).error();
    }
    [[nodiscard]] ZTENSOR_COLD bool holds(uint64_t offset, bytes_view bytes) override {
        queue_.wait_below(1); // should that have failed, one of the next calls tells
        const uint64_t in_file = offset < position_ ? (std::min<uint64_t>)(position_ - offset, bytes.size()) : 0;
        const bytes_view flushed = bytes.first(static_cast<size_t>(in_file));
        const bytes_view waiting = bytes.subspan(flushed.size());
        const byte* const room = waiting.empty() ? nullptr : filling().begin + (offset + flushed.size() - position_);
        return std::equal(waiting.begin(), waiting.end(), room) && (flushed.empty() || is_written(offset, flushed));
    }

    // -- what the caller's thread does

    /// Much goes straight from the caller's memory, and what is left behind the last whole MiB through the buffer.
    ZTENSOR_NOINLINE result<void> gather(bytes_view bytes) {
        while (!bytes.empty()) {
            result<void> written;
            if (buffered_ != 0 && (buffered_ == room_bytes() || goes_before(bytes))) {
                written = flush();
            } else if (buffered_ == 0 && bytes.size() >= buffer_bytes_ && goes_straight(bytes)) {
                const size_t whole = bytes.size() - bytes.size() % unit_bytes;
                const bytes_view piece = bytes.first(is_direct_ ? whole : room_bytes());
                written = settle_and_write(piece);
                bytes = bytes.subspan(piece.size());
            } else {
                const size_t taken = (std::min<size_t>)(bytes.size(), room_bytes() - buffered_);
                copy_through_cache(bytes.first(taken), span<byte>(filling().begin + buffered_, taken));
                buffered_ += taken;
                bytes = bytes.subspan(taken);
                // Where a commit is needed, the footer is always left for the end.
                if (buffered_ == room_bytes() && !target_->needs_commit()) {
                    const bool goes_on = bytes.size() < unit_bytes || !goes_straight(bytes);
                    written = goes_on && is_written_behind() ? flush_behind() : flush();
                }
            }
            if (!written) {
                return written;
            }
        }
        return {};
    }

    [[nodiscard]] bool goes_before(bytes_view bytes) const noexcept {
        return buffered_ <= little_bytes && bytes.size() >= 2 * buffer_bytes_ && position_ != 0 && !is_direct_ &&
               goes_straight(bytes);
    }

    /// Whether much that comes next is written from where it lies.
    [[nodiscard]] bool goes_straight(bytes_view bytes) const noexcept {
        const uint64_t place = address_of(bytes.data());
        return is_direct_ ? (position_ | place) % direct_alignment == 0
                          : (place - position_ - buffered_) % copied_at_once == 0 || !is_written_behind();
    }

    /// Whether another thread may write the buffer that is filled, once it is full. Not among other work: processors
    /// have enough to do there.
    [[nodiscard]] bool is_written_behind() const noexcept {
        return position_ >= least_behind_ && position_ + buffered_ <= made_until_ && !is_at_work();
    }

    /// Of the buffer, so that the next write after it starts at a whole MiB again.
    [[nodiscard]] size_t room_bytes() const noexcept {
        return buffer_bytes_ - static_cast<size_t>(position_ % unit_bytes);
    }

    [[nodiscard]] buffer& filling() noexcept { return buffers_[filled_ % buffer_count]; }
    [[nodiscard]] bytes_view take_buffered() noexcept { return {filling().begin, std::exchange(buffered_, size_t{0})}; }

    result<void> flush() { return settle_and_write(take_buffered()); }

    ZTENSOR_COLD result<void> settle_and_write(bytes_view bytes) {
        position_ += bytes.size();
        ZTENSOR_TRY(settle());
        return write_out(bytes);
    }

    /// Lets another thread write the full buffer while the next ones are filled.
    ZTENSOR_COLD result<void> flush_behind() {
        if (has_failed_) {
            return flush();
        }
        if (!can_have_help() || (!queue_.wait_below(buffer_count - 1) && ++times_alone_ % most_times_alone == 0)) {
            least_behind_ = position_ + bytes_alone;
            return flush();
        }
        filling().written = take_buffered();
        position_ += filling().written.size();
        queue_.submit();
        ++filled_;
        return {};
    }

    [[nodiscard]] ZTENSOR_COLD bool can_have_help() {
        buffer& next = buffers_[(filled_ + 1) % buffer_count];
        const auto write = [](void* self, size_t number, size_t) {
            static_cast<file_writer*>(self)->write_buffer(number);
        };
        return target_->is_ours() && useful_threads(options_.threads(), 2) != 1 &&
               (next.begin != nullptr || next.allocate(buffer_bytes_)) &&
               (queue_.has_begun() || queue_.begin(write, this));
    }

    /// What came of what others wrote.
    result<void> settle() {
        queue_.wait_below(1);
        return std::exchange(outcome_, result<void>());
    }

    /// Whole MiB of another file, where they would start at a whole MiB of this one, and how many bytes that were: 0
    /// where the system does not move them by itself.
    ZTENSOR_COLD result<uint64_t> move_from(const file& from, uint64_t offset, uint64_t size_bytes) {
        if (buffered_ != 0 || size_bytes < unit_bytes || position_ % unit_bytes != 0) {
            return uint64_t{0};
        }
        ZTENSOR_TRY(settle());
        if (is_direct_ || !copies_ || has_read_back_) {
            return uint64_t{0};
        }
        const uint64_t wanted =
            (std::min)(syncs_early_ ? early_sync_bytes : reserved_step, size_bytes - size_bytes % unit_bytes);
        ZTENSOR_TRY(get_ready(wanted));
        const uint64_t copied = target_->file().append_from(from, offset, wanted);
        copies_ = copied == wanted;
        advance(copied);
        position_ += copied;
        return copied;
    }

    /// Writes all that waits, gives back what was reserved in vain, and publishes the file.
    ZTENSOR_COLD result<void> publish() {
        ZTENSOR_TRY(target_->needs_commit() ? flush_and_commit() : flush());
        ZTENSOR_TRY(reserved_ > written_ ? target_->file().truncate(written_) : result<void>());
        return target_->publish();
    }

    /// All but the end of the footer is on the disk before that is written: where it is whole, so is what it ends.
    ZTENSOR_COLD result<void> flush_and_commit() {
        const bytes_view rest = take_buffered();
        const size_t last = (std::min)(rest.size(), last_bytes);
        const size_t first = rest.size() - last;
        ZTENSOR_TRY(first != 0 ? settle_and_write(rest.first(first)) : result<void>());
        ZTENSOR_TRY(target_->commit(position_ + last));
        return settle_and_write(rest.subspan(first));
    }

    /// After a failure the sink is over; a file that could not be removed is told of.
    ZTENSOR_COLD result<void> abandoned_if_failed(result<void> outcome) {
        if (outcome) {
            return outcome;
        }
        error why = std::move(outcome).error();
        if (const native_path left = target_ != nullptr ? target_->abandon() : native_path(); !left.empty()) {
            why = fail(why.code(), "{} ({} is left behind)", {why.sentence(), path_text(target_->path_of(left))})
                      .because(why.os_error());
        }
        return std::move(why).in_file(path_);
    }

    // -- what the caller's thread does, or another one while the queue is not empty

    void write_buffer(size_t number) noexcept {
        if (!has_failed_) {
            outcome_ = guard_memory([&] { return write_out(buffers_[number % buffer_count].written); });
            has_failed_ = !outcome_;
        }
    }

    /// Errors: io_error; writer_closed in another process than the one that opened the target.
    ZTENSOR_COLD result<void> write_out(bytes_view bytes) {
        ZTENSOR_TRY(get_ready(bytes.size()));
        if (is_direct_ && bytes.size() % direct_alignment != 0) {
            stop_direct(); // for the end of the file
        }
        result<void> written = target_->file().append(bytes);
        if (!written && is_direct_ && written.error().os_error() == std::errc::invalid_argument) {
            stop_direct(); // some file systems say only now that they can't, and may have taken some bytes before
            written = target_->file().seek(written_);
            written = written ? target_->file().append(bytes) : std::move(written);
        }
        ZTENSOR_TRY(std::move(written));
        advance(bytes.size());
        return {};
    }

    result<void> get_ready(uint64_t size_bytes) {
        ZTENSOR_TRY(target_->is_ours() ? target_->begin(written_ + size_bytes) : result<void>(sink_closed()));
        if (std::exchange(has_read_back_, false)) { // which moves the place of the next write on some systems
            ZTENSOR_TRY(target_->file().seek(written_));
        }
        reserve(size_bytes);
        return {};
    }

    /// Room for the next bytes and many more, unless the file is small: then the system need not look for it each time.
    void reserve(uint64_t size_bytes) {
        const uint64_t end = written_ + size_bytes;
        if (end <= reserved_ || end < least_reserved || !reserves_) {
            return;
        }
        const uint64_t wanted = size_bytes + (std::max)(reserved_step, end / 8);
        reserves_ = target_->file().reserve(written_, wanted);
        reserved_ = reserves_ ? written_ + wanted : reserved_;
    }

    /// What is to be synced in the end had better be on its way.
    void advance(uint64_t size_bytes) {
        written_ += size_bytes;
        if (syncs_early_ && !is_direct_ && written_ - begun_sync_ >= early_sync_bytes) {
            syncs_early_ = target_->file().begin_sync(begun_sync_, written_ - begun_sync_);
            begun_sync_ = written_;
        }
    }

    void stop_direct() {
        static_cast<void>(target_->file().set_direct(false));
        is_direct_ = false;
    }

    /// Whether those bytes were written at `offset`; false where that can't be told.
    [[nodiscard]] ZTENSOR_COLD bool is_written(uint64_t offset, bytes_view bytes) {
        const bool was_direct = is_direct_ && target_->file().set_direct(false);
        byte_buffer piece;
        bool is_same = piece.allocate((std::min)(bytes.size(), size_t{64} << 10));
        while (is_same && !bytes.empty()) {
            const span<byte> read = piece.writable_bytes().first((std::min)(bytes.size(), piece.size()));
            is_same = target_->file().read_back(offset, read) && std::equal(read.begin(), read.end(), bytes.begin());
            offset += read.size();
            bytes = bytes.subspan(read.size());
        }
        if (was_direct) {
            is_direct_ = target_->file().set_direct(true);
        }
        has_read_back_ = true;
        return is_same;
    }

    const string path_; ///< as it was given, for messages
    const native_path native_;
    const write_options options_;
    os_calls& os_;
    std::unique_ptr<atomic_file> target_;

    const size_t buffer_bytes_;
    buffer buffers_[buffer_count]; ///< all but the first made when they are needed
    uint64_t position_ = 0;        ///< in the file, of what is buffered
    size_t buffered_ = 0;          ///< bytes in the buffer that is filled
    size_t filled_ = 0;            ///< buffers that another thread wrote
    uint64_t made_until_ = 0;      ///< up to there, what comes was expected; what is copied is not
    uint64_t least_behind_;        ///< from there on, another thread is asked to write
    unsigned times_alone_ = 0;

    uint64_t written_ = 0;  ///< bytes that the file has
    uint64_t reserved_ = 0; ///< the file has room on the disk up to there
    uint64_t begun_sync_ = 0;
    bool syncs_early_; ///< this and what follows are requests that the system has taken so far
    bool is_direct_;
    bool reserves_ = true;
    bool copies_ = true;
    bool has_read_back_ = false; ///< since the last write

    std::atomic<bool> has_failed_{false}; ///< another thread could not write, or the sink is being destroyed
    result<void> outcome_;                ///< of what it wrote
    ordered_queue
        queue_; ///< has outcome_, the buffers that were filled and the group above while it has something to do
};

/// A new file at `target`, as `options` say: publish_mode and sync. See file_writer for what is promised, and
/// file_writer::open() for the errors.
inline result<std::unique_ptr<byte_sink>> create_sink(const file_path& target, const write_options& options,
                                                      os_calls& os = operating_system()) {
    auto* const file = new file_writer(target, options, os);
    std::unique_ptr<byte_sink> sink(file);
    ZTENSOR_TRY(file->open());
    return sink;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
