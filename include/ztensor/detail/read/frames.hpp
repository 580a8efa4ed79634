// SPDX-License-Identifier: MIT
//
// Blobs of zstd frames on their way into memory: frame after frame, several threads at once. SPEC.md section 6.2,
// section 13.7.
#ifndef ZTENSOR_DETAIL_READ_FRAMES_HPP
#define ZTENSOR_DETAIL_READ_FRAMES_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/zstd.hpp>
#include <ztensor/detail/read/stored.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- one frame

/// A frame that is known, into `destination`, which has the size of its content. Errors: decode_failed, decode_size,
/// limit_exceeded, out_of_memory, and what the source says.
ZTENSOR_COLD inline result<void> decode_frame(const opened_file& file, const component_record& component,
                                              const zstd_frame& frame, span<byte> destination) {
    const uint64_t offset = component.offset + frame.begin;
    thread_memory memory;
    ZTENSOR_TRY_ASSIGN(const bytes_view stored,
                       at_offset(load_range(file, offset, frame.end - frame.begin, memory), offset));
    if (component.encoding == encoding::zstd_seekable) {
        ZTENSOR_TRY(at_offset(check_seekable_frame(stored), offset));
    }
    return at_offset(decode_zstd(stored, destination), offset);
}

// -- seekable zstd
//
// Frames that a table at the end of the blob tells of.

/// The table at the end of the component's blob, which one without frames has, too. Errors: decode_failed, decode_size,
/// limit_exceeded, out_of_memory, and what the source says.
ZTENSOR_COLD inline result<void> load_seek_table(const opened_file& file, const component_record& component,
                                                 seek_table& table) {
    const uint64_t least_bytes = seek_head_bytes + seek_footer_bytes;
    if (component.length < least_bytes) {
        return fail(errc::decode_failed, "a blob of {} bytes is too small for the seek table of seekable zstd",
                    {component.length});
    }
    byte last[seek_footer_bytes];
    const uint64_t blob_end = component.offset + component.length;
    ZTENSOR_TRY(file.source->read_at(blob_end - seek_footer_bytes, last));
    ZTENSOR_TRY_ASSIGN(const seek_footer footer, read_seek_footer(last));
    const uint64_t table_bytes = footer.table_bytes();
    if (table_bytes > component.length) {
        return fail(errc::decode_failed, "the seek table claims {} frames, which take more bytes than the blob has",
                    {footer.frames});
    }
    ZTENSOR_TRY(check_blob_limit(table_bytes, file.options));
    byte_buffer bytes;
    ZTENSOR_TRY_ASSIGN(const span<byte> stored, allocate(bytes, table_bytes, "a seek table"));
    ZTENSOR_TRY(file.source->read_at(blob_end - table_bytes, stored));
    return table.read(stored, footer, component.length, component.uncompressed_length);
}

[[nodiscard]] inline zstd_frame frame_of(const seek_table& table, size_t frame) noexcept {
    return {table.begin(frame), table.end(frame), table.content_bytes(frame)};
}

/// All frames into `destination`, which has exactly the component's decoded length, on as many threads as the caller
/// allows. Errors: as decode_frame() and load_seek_table(); digest_mismatch.
ZTENSOR_COLD inline result<void> decode_seekable(const opened_file& file, const component_record& component,
                                                 span<byte> destination) {
    constexpr uint64_t smallest_bytes_for_threads = uint64_t{512} << 10;
    seek_table table;
    ZTENSOR_TRY(load_seek_table(file, component, table));
    std::atomic<size_t> next{0};
    os_mutex mutex;
    result<void> failure;
    const unsigned threads = component.length < smallest_bytes_for_threads ? 1 : file.options.threads();
    const read_ahead stored(threads, *file.source, component.offset, component.length);
    run_in_parallel(threads, table.frames(), [&] {
        for (size_t frame = next++; frame < table.frames(); frame = next++) {
            const span<byte> place = destination.subspan(static_cast<size_t>(table.content_begin(frame)),
                                                         static_cast<size_t>(table.content_bytes(frame)));
            result<void> done = decode_frame(file, component, frame_of(table, frame), place);
            if (!done) {
                next = table.frames();
                const os_lock lock(mutex);
                failure = failure ? std::move(done) : std::move(failure);
            }
        }
    });
    if (!failure) {
        return failure;
    }
    blob_check check(file, component);
    if (check.is_wanted()) {
        check.take(destination);
    }
    return check.finish();
}

// -- frame stream
//
// Frames that stand one after the other: a large blob is read and hashed in its order, and decoded by several threads.

/// Threads take turns: in its turn a thread reads on until it has at least one whole frame, in memory of its own, and
/// decodes what it has while the next thread reads. Frames are so many parts of the work as their writer made: one
/// frame, or one that does not state the size of its content, is decoded by one thread. Holds, for each thread, about
/// one frame.
class frame_stream {
public:
    /// Blobs below this are decoded at once.
    static constexpr uint64_t smallest_blob_bytes = uint64_t{512} << 10;

    /// Whole frames, and which of the decoded bytes they hold.
    struct frames {
        bytes_view stored;
        size_t begin = 0;
        size_t size = 0;
    };

    /// `decoded_length` is the component's. `stable` is the blob, if it lies in memory and stays as it is as long as
    /// this; of another one no thread holds more than `most_frame_bytes` at once.
    frame_stream(const opened_file& file, const component_record& component, size_t decoded_length,
                 uint64_t most_frame_bytes, optional<bytes_view> stable)
        : file_(file), component_(component), decoded_length_(decoded_length),
          most_frame_bytes_(stable ? ~uint64_t{0} : most_frame_bytes), stable_(stable), walker_(component.length),
          check_(file, component) {}

    /// How many turns there may be.
    [[nodiscard]] size_t most_turns() const noexcept {
        return static_cast<size_t>(component_.length / least_bytes + 1);
    }

    /// Takes a turn, whose bytes go to their place in `destination`, which has room for all; false if nothing was left.
    /// Gives through `decoded_bytes` how many it made; finish() tells of failures. Throws what the source throws, after
    /// which nothing is left.
    [[nodiscard]] ZTENSOR_COLD bool take_turn(span<byte> destination, size_t& decoded_bytes) {
        thread_memory memory;
        frames taken;
        if (!take_frames(memory, taken)) {
            return false;
        }
        decoded_bytes = taken.size;
        static_cast<void>(decode(taken, destination.subspan(taken.begin, taken.size)));
        return true;
    }

    /// The first half of a turn: reads the next frames into `memory`, where they do not stay where they lie.
    [[nodiscard]] ZTENSOR_COLD bool take_frames(thread_memory& memory, frames& taken) {
        const os_lock lock(mutex_);
        if (is_over_) {
            return false;
        }
        is_over_ = true; // if reading fails
        if (result<frames> next = next_frames(memory)) {
            taken = *next;
            is_over_ = read_bytes_ == component_.length && carried_bytes_ == 0;
        } else {
            failure_ = std::move(next).error();
        }
        return true;
    }

    /// The second half: decodes what was taken into as many bytes. Whether that went well, finish() says, too.
    [[nodiscard]] ZTENSOR_COLD bool decode(const frames& taken, span<byte> to) {
        result<void> decoded = taken.stored.empty() ? result<void>() : decode_zstd(taken.stored, to);
        if (decoded) {
            return true;
        }
        const os_lock lock(mutex_);
        is_over_ = true;
        if (failure_) {
            failure_ = std::move(decoded);
        }
        return false;
    }

    /// When no thread takes a turn any more. Errors: digest_mismatch before all others; decode_failed, decode_size,
    /// limit_exceeded, and what the source says.
    ZTENSOR_COLD result<void> finish() {
        if (!failure_ && check_.is_wanted() && !source_failed_) {
            take_rest_in();
        }
        if (failure_ || read_bytes_ == component_.length) {
            ZTENSOR_TRY(check_.finish());
        }
        if (failure_ && decoded_bytes_ != decoded_length_) {
            failure_ = fail(errc::decode_size, "the zstd blob decodes to {} bytes, but {} are declared",
                            {decoded_bytes_, decoded_length_});
        }
        return failure_ ? std::move(failure_) : std::move(failure_).error().at(component_.offset);
    }

private:
    /// So much is read in a turn, or more, unless less may be held: small frames are decoded by the dozen.
    static constexpr size_t least_bytes = size_t{256} << 10;

    [[nodiscard]] uint64_t left_to_read() const noexcept { return component_.length - read_bytes_; }

    /// Makes `held` bytes from the first frame that is not decoded on `wanted`, or all that there are: in `memory`, or
    /// where they lie.
    ZTENSOR_COLD result<void> read_on(thread_memory& memory, size_t& held, uint64_t wanted) {
        const uint64_t more = (std::min)(wanted - (std::min<uint64_t>)(wanted, held), left_to_read());
        if (held + more > most_frame_bytes_) {
            return fail(errc::limit_exceeded,
                        "a zstd frame of the blob takes more than the {} bytes that may be held at once",
                        {most_frame_bytes_});
        }
        if (more == 0) {
            return {};
        }
        const auto size = static_cast<size_t>(held + more);
        bytes_view added;
        if (stable_) {
            added = stable_->subspan(static_cast<size_t>(read_bytes_), static_cast<size_t>(more));
        } else {
            ZTENSOR_TRY_ASSIGN(const span<byte> all, memory.reserve(size, "zstd frames", held));
            const span<byte> room = all.subspan(held);
            result<void> read = file_.source->read_at(component_.offset + read_bytes_, room);
            source_failed_ = !read;
            ZTENSOR_TRY(std::move(read));
            added = room;
        }
        read_bytes_ += more;
        held = size;
        if (check_.is_wanted()) {
            check_.take(added);
        }
        return {};
    }

    /// What the turn before left over, at the start of `memory`.
    result<void> begin_turn(thread_memory& memory) {
        if (stable_) {
            result<void> unchanged = file_.source->check_unchanged();
            source_failed_ = !unchanged;
            return unchanged;
        }
        ZTENSOR_TRY_ASSIGN(const span<byte> carried, memory.reserve(carried_bytes_, "zstd frames"));
        if (!carried.empty()) {
            std::memcpy(carried.data(), carried_.data(), carried.size());
        }
        return {};
    }

    /// One whole frame or more. Frames of a blob tend to be of a size, so that much is asked for, and a little more.
    ZTENSOR_COLD result<frames> next_frames(thread_memory& memory) {
        ZTENSOR_TRY(begin_turn(memory));
        size_t held = carried_bytes_;
        const uint64_t begin = read_bytes_ - held; // of the first frame that is held
        const auto bytes = [&] {
            return stable_ ? stable_->subspan(static_cast<size_t>(begin), held) : bytes_view(memory.first(held));
        };
        uint64_t end = begin; // of the last frame that is whole
        uint64_t content_bytes = 0;
        uint64_t wanted = (std::min)((std::max<uint64_t>)(last_frame_bytes_ + last_frame_bytes_ / 64, least_bytes),
                                     most_frame_bytes_);
        while (!has_unsized_frame_ && end == begin) {
            ZTENSOR_TRY(read_on(memory, held, wanted));
            ZTENSOR_TRY_ASSIGN(wanted, walk(bytes(), begin, end, content_bytes));
            if (left_to_read() == 0) {
                break;
            }
        }
        if (!has_unsized_frame_ || end != begin) {
            return carry_rest(bytes(), static_cast<size_t>(end - begin), content_bytes);
        }
        ZTENSOR_TRY(read_on(memory, held, component_.length - begin)); // the rest of the blob at once
        carried_bytes_ = 0;
        const size_t first = std::exchange(decoded_bytes_, decoded_length_);
        return frames{bytes(), first, decoded_length_ - first};
    }

    /// Goes on from head to head through what is held of the blob from `begin` on, to the `end` of the last frame that
    /// is whole, or until one does not say what it holds. Gives how many bytes would lead to the next.
    ZTENSOR_COLD result<uint64_t> walk(bytes_view held, uint64_t begin, uint64_t& end, uint64_t& content_bytes) {
        for (;;) {
            if (has_known_frame_) {
                const zstd_frame& known = walker_.frame();
                if (known.end > begin + held.size()) {
                    return known.end - begin;
                }
                content_bytes += (std::min)(known.content_bytes, ~uint64_t{0} - content_bytes);
                last_frame_bytes_ = known.end - known.begin;
                end = known.end;
                has_known_frame_ = false;
            }
            if (walker_.is_at_end()) {
                return held.size();
            }
            const uint64_t with_head = walker_.next() + walker_.head_bytes() - begin;
            if (with_head > held.size()) {
                return (std::max)(with_head, (std::min)(with_head + least_bytes / 2, most_frame_bytes_));
            }
            ZTENSOR_TRY_ASSIGN(has_known_frame_,
                               walker_.take(held.data() + static_cast<size_t>(walker_.next() - begin)));
            if (walker_.frame().content_bytes == zstd_frame::unknown) {
                has_unsized_frame_ = true;
                return held.size();
            }
        }
    }

    /// The first `whole` bytes are frames, and the others go to the next turn.
    ZTENSOR_COLD result<frames> carry_rest(bytes_view held, size_t whole, uint64_t content_bytes) {
        if (whole == 0) { // a frame must have been found, or found broken
            return fail(errc::decode_failed, "the zstd blob is cut off");
        }
        if (content_bytes > decoded_length_ - decoded_bytes_) {
            return fail(errc::decode_size, "the zstd blob decodes to more than the {} bytes declared",
                        {decoded_length_});
        }
        const bytes_view rest = held.subspan(whole);
        carried_bytes_ = rest.size();
        if (!stable_ && !rest.empty()) {
            const uint64_t room = (std::min<uint64_t>)(rest.size() + least_bytes, most_frame_bytes_);
            if (rest.size() > carried_.size()) {
                ZTENSOR_TRY(allocate(carried_, room, "zstd frames"));
            }
            std::memcpy(carried_.data(), rest.data(), rest.size());
        }
        const frames found{held.first(whole), decoded_bytes_, static_cast<size_t>(content_bytes)};
        decoded_bytes_ += found.size;
        return found;
    }

    /// What nobody will decode is hashed all the same: that the blob is damaged says more than what follows from it.
    ZTENSOR_COLD void take_rest_in() {
        thread_memory memory;
        while (left_to_read() != 0) {
            size_t held = 0;
            if (!read_on(memory, held, least_bytes)) {
                return;
            }
        }
    }

    const opened_file& file_;
    const component_record& component_;
    size_t decoded_length_;
    uint64_t most_frame_bytes_;
    optional<bytes_view> stable_;

    os_mutex mutex_; ///< of all that follows
    frame_walker walker_;
    blob_check check_;
    result<void> failure_;
    byte_buffer carried_; ///< read by the last turn, and the start of a frame
    size_t carried_bytes_ = 0;
    uint64_t read_bytes_ = 0; ///< of the blob
    uint64_t last_frame_bytes_ = 0;
    size_t decoded_bytes_ = 0;       ///< or about to be
    bool has_known_frame_ = false;   ///< the walker knows a frame of which not all is read
    bool has_unsized_frame_ = false; ///< the next frame does not say what it holds
    bool source_failed_ = false;     ///< so that what it has not given can not be hashed
    bool is_over_ = false;
};

/// Decodes all of a large zstd blob into `destination`, on as many threads as the caller allows.
ZTENSOR_COLD inline result<void> decode_frames(const opened_file& file, const component_record& component,
                                               span<byte> destination) {
    ZTENSOR_TRY(check_blob_limit(component.length, file.options));
    // The heads of frames are looked at before they are decoded, and both is done where they lie: 2 to 5 % less time.
    ZTENSOR_TRY_ASSIGN(const optional<bytes_view> stable,
                       source_access::find_stable_range(*file.source, component.offset, component.length));
    frame_stream stream(file, component, destination.size(), ~uint64_t{0}, stable);
    const read_ahead stored(file.options.threads(), *file.source, component.offset, component.length);
    run_in_parallel(file.options.threads(), stream.most_turns(), [&] {
        for (size_t decoded = 0; stream.take_turn(destination, decoded);) {
        }
    });
    return stream.finish();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
