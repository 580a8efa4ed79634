// SPDX-License-Identifier: MIT
//
// The library's own sinks of bytes: a file that appears all at once, and memory. Know nothing of what the bytes mean.
#ifndef ZTENSOR_DETAIL_WRITE_SINKS_HPP
#define ZTENSOR_DETAIL_WRITE_SINKS_HPP

#include <ztensor/byte_sink.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/guard_memory.hpp>
#include <ztensor/detail/os/directory.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/os/past_cache.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/os/threads.hpp>
#include <ztensor/detail/os/work_line.hpp>
#include <ztensor/detail/write/file_output.hpp>
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

/// A file, made as publish_mode says; options.hpp has what is promised. What is small is gathered in buffers of 1 MiB,
/// and of a large file each is written by another thread, where one is free, while the next is filled.
class file_sink final : public byte_sink {
public:
    /// Touches no file; open() does.
    file_sink(const file_path& target, const write_options& options, os_calls& os)
        : path_(path_text(target.native())), native_(target.native()), options_(options), target_(os),
          output_(target_, options), buffer_bytes_(options.direct_ ? direct_buffer_bytes : whole_bytes),
          least_behind_(options.threads_ == 1 ? ~std::uint64_t{0} : bytes_in_small_files) {}
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
        position_ = old_bytes;
        return ended_if_failed(prepare([&]() -> result<void> {
            result<std::unique_ptr<way_back>> back = make_way_back(place);
            if (!back) {
                return std::move(back).error();
            }
            return target_.open_extended(std::move(place), std::move(old), *std::move(back), options_.sync_);
        }));
    }

    /// Fails with errc::io_error (the disk is full, over quota, …), or errc::writer_closed after finish() or a failure,
    /// and in another process than the one that opened it. What a thread that wrote meanwhile has to tell, the next
    /// call tells.
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
    static constexpr std::size_t few_bytes = 4096;
    static constexpr std::size_t buffer_count = 3; ///< one is filled, one written, and one makes the writer's next
    static constexpr std::uint64_t bytes_in_small_files = std::uint64_t{4} << 20; ///< which start no thread
    static constexpr unsigned most_times_alone = 4; ///< that nobody had come when it was time: once in 200 MiB or more
    static constexpr std::uint64_t bytes_alone = std::uint64_t{256}
                                                 << 20; ///< after that, until somebody is asked again
    static constexpr std::size_t most_footer_bytes = 40;

    [[nodiscard]] bool is_open() const noexcept { return target_.is_open(); }

    [[nodiscard]] bool write_behind(std::uint64_t size_bytes) override {
        made_until_ = position_ + buffered_ + size_bytes + whole_bytes; // with what is put between
        return position_ >= least_behind_ && !target_.extends();
    }

    template <class Open>
    [[nodiscard]] ZTENSOR_COLD result<void> prepare(const Open& open) {
        if (!filling().allocate(buffer_bytes_)) {
            return fail(errc::out_of_memory, "no memory for a buffer of {} bytes", {buffer_bytes_});
        }
        result<void> opened = open();
        if (opened) {
            output_.begin(position_);
        }
        return opened;
    }

    /// Writes end at multiples of 1 MiB in the file, and nearly all are whole MiB: the page cache then keeps the file
    /// in large pieces, which readers that map it feel. Of a large piece only what is left behind the last whole MiB
    /// goes through the buffer; the rest goes straight from the caller's memory, in pieces of 1 MiB, for one call with
    /// 32 took 1.03 of the time.
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
                const std::size_t taken = std::min<std::size_t>(bytes.size(), room_bytes() - buffered_);
                copy_through_cache(bytes.first(taken), span<std::byte>(filling().begin + buffered_, taken));
                buffered_ += taken;
                bytes = bytes.subspan(taken);
                // Of a file that is extended, the footer comes after all else: it is always left for the end.
                if (buffered_ == room_bytes() && !target_.extends()) {
                    const bool is_made = bytes.size() < whole_bytes && position_ + buffered_ <= made_until_;
                    written = is_made && position_ >= least_behind_ ? flush_behind() : flush();
                }
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
        if (buffered_ != 0 || size_bytes < whole_bytes || position_ % whole_bytes != 0) {
            return std::uint64_t{0};
        }
        result<std::uint64_t> copied = std::uint64_t{0};
        if (result<void> settled = settle(); !settled) {
            copied = std::move(settled).error();
        } else {
            copied = output_.copy_from(from, offset, size_bytes - size_bytes % whole_bytes);
        }
        if (!copied) {
            return std::move(ended_if_failed(std::move(copied).error())).error();
        }
        position_ += *copied;
        return copied;
    }

    [[nodiscard]] ZTENSOR_COLD bool holds(std::uint64_t offset, bytes_view bytes) override {
        line_.wait_until_left(0); // should that have failed, the next write tells
        const std::uint64_t in_file =
            offset < position_ ? std::min<std::uint64_t>(position_ - offset, bytes.size()) : 0;
        const bytes_view flushed = bytes.first(static_cast<std::size_t>(in_file));
        const bytes_view waiting = bytes.subspan(flushed.size());
        const std::byte* const room =
            waiting.empty() ? nullptr : filling().begin + (offset + flushed.size() - position_);
        return std::equal(waiting.begin(), waiting.end(), room) && (flushed.empty() || output_.holds(offset, flushed));
    }

    [[nodiscard]] bool would_destroy(const file& source) const override { return target_.would_destroy(source); }

    /// Whether little that waits is written by itself before much, which then goes straight from its first byte on: to
    /// copy up to 1 MiB of it beside the little took 1.03 of the time for tensors of 4 MiB.
    [[nodiscard]] bool goes_before(bytes_view bytes) const noexcept {
        return buffered_ <= few_bytes && bytes.size() >= 2 * whole_bytes && position_ != 0 && !options_.direct_;
    }

    [[nodiscard]] bool goes_straight(bytes_view bytes) {
        line_.wait_until_left(0); // it may find that direct writes can't be had
        const std::uint64_t place = position_ | address_of(bytes.data());
        return !output_.is_direct() || place % file_output::direct_alignment == 0;
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
        const bool is_alone =
            !can_have_help() || (!line_.wait_until_left(buffer_count - 2) && ++times_alone_ % most_times_alone == 0);
        if (is_alone) {
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
        const auto write = [](void* self, std::size_t number) { static_cast<file_sink*>(self)->write_one(number); };
        return target_.is_ours() && useful_threads(options_.threads_, 2) != 1 &&
               (next.begin != nullptr || next.allocate(buffer_bytes_)) &&
               (line_.has_begun() || line_.begin(write, this));
    }

    /// On any thread.
    void write_one(std::size_t number) noexcept {
        if (outcome_) {
            outcome_ = guard_memory([&] { return output_.write(buffers_[number % buffer_count].written); });
        }
    }

    /// What came of what others wrote.
    [[nodiscard]] result<void> settle() {
        line_.wait_until_left(0);
        return std::exchange(outcome_, result<void>());
    }

    [[nodiscard]] ZTENSOR_COLD result<void> publish() {
        result<void> done = target_.extends() ? flush_extension() : flush();
        done = done ? output_.end() : std::move(done);
        return done ? target_.publish() : std::move(done);
    }

    /// All but the footer is on the disk before the footer is written: where it is whole, so is what it ends.
    [[nodiscard]] ZTENSOR_COLD result<void> flush_extension() {
        const bytes_view rest = take_buffered();
        const std::size_t last = std::min(rest.size(), most_footer_bytes);
        const std::size_t first = rest.size() - last;
        result<void> done = first != 0 ? write_out(rest.first(first)) : result<void>();
        if (done) {
            done = target_.commit(position_ + last);
        }
        return done ? write_out(rest.subspan(first)) : done;
    }

    /// After a failure the sink is over; a file that could not be removed is told of.
    [[nodiscard]] ZTENSOR_COLD result<void> ended_if_failed(result<void> outcome) {
        if (outcome) {
            return outcome;
        }
        line_.wait_until_left(0);
        error why = std::move(outcome).error();
        if (const native_path left = target_.abandon(); !left.empty()) {
            why = fail(why.code(), "{} ({} is left behind)", {why.sentence(), path_text(target_.path_of(left))})
                      .because(why.os_error());
        }
        return std::move(why).in_file(path_);
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

    const std::string path_; ///< as it was given, for messages
    const native_path native_;
    const write_options options_;
    target_file target_;
    file_output output_;
    const std::size_t buffer_bytes_;
    std::uint64_t position_ = 0;   ///< in the file, of what is buffered
    buffer buffers_[buffer_count]; ///< all but the first made when they are needed
    std::uint64_t made_until_ = 0; ///< what comes up to there; what is copied is not worth more buffers
    std::uint64_t least_behind_;   ///< from there on, another thread is asked to write
    std::size_t filled_ = 0;       ///< buffers that another thread wrote
    std::size_t buffered_ = 0;     ///< bytes in the one after them
    unsigned times_alone_ = 0;
    result<void> outcome_; ///< of another thread's writing
    work_line line_;       ///< with all above while it has something to do, but for what is being filled
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
