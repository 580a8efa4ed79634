// SPDX-License-Identifier: MIT
//
// Bytes in pieces of any size -> writes of whole MiB at the end of a file, some by another thread while the caller goes
// on. Knows nothing of what the bytes mean.
#ifndef ZTENSOR_DETAIL_WRITE_GATHERED_OUTPUT_HPP
#define ZTENSOR_DETAIL_WRITE_GATHERED_OUTPUT_HPP

#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/guard_memory.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/past_cache.hpp>
#include <ztensor/detail/os/threads.hpp>
#include <ztensor/detail/os/work_line.hpp>
#include <ztensor/detail/write/file_output.hpp>
#include <ztensor/detail/write/target_file.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What is small is gathered in buffers of 1 MiB, and of a large file each is written by another thread, where one is
/// free, while the next is filled. One thread at a time calls it.
class gathered_output {
public:
    gathered_output(target_file& target, const write_options& options) noexcept
        : target_(target), output_(target, options), threads_(options.threads_),
          buffer_bytes_(options.direct_ ? direct_buffer_bytes : whole_bytes),
          least_behind_(options.threads_ == 1 || options.direct_ ? never : bytes_in_small_files) {}
    gathered_output(const gathered_output&) = delete;
    gathered_output& operator=(const gathered_output&) = delete;
    /// What another thread has not written yet is dropped.
    ~gathered_output() { has_failed_ = true; }

    /// Makes the first buffer. Errors: out_of_memory.
    [[nodiscard]] ZTENSOR_COLD result<void> prepare() {
        if (!filling().allocate(buffer_bytes_)) {
            return fail(errc::out_of_memory, "no memory for a buffer of {} bytes", {buffer_bytes_});
        }
        return {};
    }
    /// Once the target is open, which has `old_bytes` that stay.
    ZTENSOR_COLD void begin(std::uint64_t old_bytes) {
        position_ = old_bytes;
        output_.begin(old_bytes);
        if (target_.extends()) { // whose footer comes after all else
            least_behind_ = never;
        }
    }

    /// Nearly all writes are whole MiB, and end at a multiple of 1 MiB in the file: the page cache then keeps the file
    /// in large pieces, which readers that map it feel. Of a large piece that goes straight from the caller's memory
    /// only what is left behind the last whole MiB goes through the buffer; the rest is written in pieces of 1 MiB, for
    /// one call with 32 took 1.03 of the time. Errors: io_error; writer_closed in another process than the one that
    /// opened the target. What a thread that wrote meanwhile has to tell, one of the next calls tells.
    [[nodiscard]] ZTENSOR_NOINLINE result<void> append(bytes_view bytes) {
        while (!bytes.empty()) {
            result<void> written;
            if (buffered_ != 0 && (buffered_ == room_bytes() || goes_before(bytes))) {
                written = flush();
            } else if (buffered_ == 0 && bytes.size() >= buffer_bytes_ && goes_straight(bytes)) {
                const std::size_t whole = bytes.size() - bytes.size() % whole_bytes;
                const bytes_view piece = bytes.first(output_.is_direct() ? whole : room_bytes());
                written = write_out(piece);
                bytes = bytes.subspan(piece.size());
            } else {
                const std::size_t taken = (std::min<std::size_t>)(bytes.size(), room_bytes() - buffered_);
                copy_through_cache(bytes.first(taken), span<std::byte>(filling().begin + buffered_, taken));
                buffered_ += taken;
                bytes = bytes.subspan(taken);
                // Of a file that is extended, the footer comes after all else: it is always left for the end.
                if (buffered_ == room_bytes() && !target_.extends()) {
                    const bool goes_on = bytes.size() < whole_bytes || !goes_straight(bytes);
                    written = goes_on && is_written_behind() ? flush_behind() : flush();
                }
            }
            if (!written) {
                return written;
            }
        }
        return {};
    }

    /// Whole MiB of another file, where they would start at a whole MiB of this one, and how many bytes that were.
    [[nodiscard]] ZTENSOR_COLD result<std::uint64_t> append_file(const file& from, std::uint64_t offset,
                                                                 std::uint64_t size_bytes) {
        if (buffered_ != 0 || size_bytes < whole_bytes || position_ % whole_bytes != 0) {
            return std::uint64_t{0};
        }
        if (result<void> settled = settle(); !settled) {
            return std::move(settled).error();
        }
        const result<std::uint64_t> copied = output_.copy_from(from, offset, size_bytes - size_bytes % whole_bytes);
        position_ += copied ? *copied : 0;
        return copied;
    }

    /// See byte_sink.
    [[nodiscard]] bool announce(std::uint64_t size_bytes) noexcept {
        made_until_ = position_ + buffered_ + size_bytes + whole_bytes; // with what is put between
        return position_ >= least_behind_;
    }

    /// Whether those bytes were appended at `offset`; false where that can't be told.
    [[nodiscard]] ZTENSOR_COLD bool holds(std::uint64_t offset, bytes_view bytes) {
        line_.wait_until_left(0); // should that have failed, one of the next calls tells
        const std::uint64_t in_file =
            offset < position_ ? (std::min<std::uint64_t>)(position_ - offset, bytes.size()) : 0;
        const bytes_view flushed = bytes.first(static_cast<std::size_t>(in_file));
        const bytes_view waiting = bytes.subspan(flushed.size());
        const std::byte* const room =
            waiting.empty() ? nullptr : filling().begin + (offset + flushed.size() - position_);
        return std::equal(waiting.begin(), waiting.end(), room) && (flushed.empty() || output_.holds(offset, flushed));
    }

    /// Writes all that waits, and gives back what was asked for in vain. Errors: as append().
    [[nodiscard]] ZTENSOR_COLD result<void> end() {
        result<void> done = target_.extends() ? flush_extension() : flush();
        return done ? output_.end() : std::move(done);
    }

private:
    static constexpr std::size_t whole_bytes = std::size_t{1} << 20;
    static constexpr std::size_t direct_buffer_bytes = std::size_t{8} << 20; // a third faster than 1 MiB
    static constexpr std::size_t few_bytes = 4096;
    static constexpr std::uint64_t never = ~std::uint64_t{0};
    static constexpr std::size_t buffer_count = 3; ///< one to fill, one that is written, and one that waits for that
    static constexpr std::uint64_t bytes_in_small_files = std::uint64_t{4} << 20; ///< which start no thread
    static constexpr unsigned most_times_alone = 4; ///< that nobody had come when it was time: once in 200 MiB or more
    static constexpr std::uint64_t bytes_alone = std::uint64_t{256} << 20; ///< from then on
    static constexpr std::size_t most_footer_bytes = 40;

    /// Whether little that waits is written by itself before much, which then goes straight from its first byte on: to
    /// copy up to 1 MiB of it beside the little took 1.03 of the time for tensors of 4 MiB.
    [[nodiscard]] bool goes_before(bytes_view bytes) const noexcept {
        return buffered_ <= few_bytes && bytes.size() >= 2 * buffer_bytes_ && position_ != 0 && !output_.is_direct() &&
               goes_straight(bytes);
    }

    /// Whether much that comes next is written from where it lies. Not where it lies otherwise in memory than in the
    /// file, modulo 32, and another thread can write it from a buffer, where it does not: on Zen 4 the kernel takes 1.2
    /// to 1.6 times as long to copy it then, and writing 256 MiB through the buffers 0.85 of the time.
    [[nodiscard]] bool goes_straight(bytes_view bytes) const noexcept {
        constexpr std::uint64_t copied_at_once = 32;
        const std::uint64_t place = address_of(bytes.data());
        return output_.is_direct() ? (position_ | place) % file_output::direct_alignment == 0
                                   : (place - position_ - buffered_) % copied_at_once == 0 || !is_written_behind();
    }

    /// Whether another thread may write the buffer that is filled, once it is full. Among other work, processors have
    /// enough to do.
    [[nodiscard]] bool is_written_behind() const noexcept {
        return position_ >= least_behind_ && position_ + buffered_ <= made_until_ && !is_at_work();
    }

    /// Of the buffer, so that the next write after it starts at a whole MiB again.
    [[nodiscard]] std::size_t room_bytes() const noexcept {
        return buffer_bytes_ - static_cast<std::size_t>(position_ % whole_bytes);
    }

    [[nodiscard]] bytes_view take_buffered() noexcept {
        return {filling().begin, std::exchange(buffered_, std::size_t{0})};
    }

    [[nodiscard]] result<void> flush() { return write_out(take_buffered()); }

    [[nodiscard]] ZTENSOR_COLD result<void> write_out(bytes_view bytes) {
        result<void> written = settle();
        written = written ? output_.write(bytes) : std::move(written);
        position_ += bytes.size();
        return written;
    }

    /// Lets another thread write the full buffer while the next ones are filled. Without it, tensors of 10 KB took 1.3
    /// times as long, and digests 1.2 times. Where processors are busy with other things, all that waits for another
    /// thread takes longer: none is asked for a while.
    [[nodiscard]] ZTENSOR_COLD result<void> flush_behind() {
        if (has_failed_) {
            return flush();
        }
        if (!can_have_help() || (!line_.wait_until_left(buffer_count - 2) && ++times_alone_ % most_times_alone == 0)) {
            least_behind_ = position_ + bytes_alone;
            return flush();
        }
        filling().written = take_buffered();
        position_ += filling().written.size();
        line_.add();
        ++filled_;
        return {};
    }

    [[nodiscard]] ZTENSOR_COLD bool can_have_help() {
        buffer& next = buffers_[(filled_ + 1) % buffer_count];
        const auto write = [](void* self, std::size_t number) {
            static_cast<gathered_output*>(self)->write_one(number);
        };
        return target_.is_ours() && useful_threads(threads_, 2) != 1 &&
               (next.begin != nullptr || next.allocate(buffer_bytes_)) &&
               (line_.has_begun() || line_.begin(write, this));
    }

    /// On any thread.
    void write_one(std::size_t number) noexcept {
        if (!has_failed_) {
            outcome_ = guard_memory([&] { return output_.write(buffers_[number % buffer_count].written); });
            has_failed_ = !outcome_;
        }
    }

    /// What came of what others wrote.
    [[nodiscard]] result<void> settle() {
        line_.wait_until_left(0);
        return std::exchange(outcome_, result<void>());
    }

    /// All but the footer is on the disk before the footer is written: where it is whole, so is what it ends.
    [[nodiscard]] ZTENSOR_COLD result<void> flush_extension() {
        const bytes_view rest = take_buffered();
        const std::size_t last = (std::min)(rest.size(), most_footer_bytes);
        const std::size_t first = rest.size() - last;
        result<void> done = first != 0 ? write_out(rest.first(first)) : result<void>();
        if (done) {
            done = target_.commit(position_ + last, rest.subspan(first));
        }
        return done ? write_out(rest.subspan(first)) : done;
    }

    /// Memory for what is gathered.
    struct buffer {
        byte_buffer memory;
        std::byte* begin = nullptr; ///< aligned for direct writes
        bytes_view written;         ///< of it, by another thread

        [[nodiscard]] ZTENSOR_COLD bool allocate(std::size_t bytes) noexcept {
            if (memory.allocate(bytes + file_output::direct_alignment)) {
                const std::uint64_t beyond = address_of(memory.data()) % file_output::direct_alignment;
                begin = memory.data() + (file_output::direct_alignment - beyond);
            }
            return begin != nullptr;
        }
    };

    [[nodiscard]] buffer& filling() noexcept { return buffers_[filled_ % buffer_count]; }

    target_file& target_;
    file_output output_;
    const unsigned threads_;
    const std::size_t buffer_bytes_;
    std::uint64_t position_ = 0;   ///< in the file, of what is buffered
    buffer buffers_[buffer_count]; ///< all but the first made when they are needed
    std::uint64_t made_until_ = 0; ///< up to there, what comes was announced; what is copied is not
    std::uint64_t least_behind_;   ///< from there on, another thread is asked to write
    std::size_t filled_ = 0;       ///< buffers that another thread wrote
    std::size_t buffered_ = 0;     ///< bytes in the one after them
    unsigned times_alone_ = 0;
    std::atomic<bool> has_failed_{false}; ///< what another thread wrote, or nobody wants it any more
    result<void> outcome_;                ///< of what it wrote
    work_line line_; ///< has output_, outcome_ and the buffers that were filled while it has something to do
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
