// SPDX-License-Identifier: MIT
//
// A large zstd blob on its way into memory: read and hashed in its order, decoded by several threads. SPEC.md
// section 6.2.
#ifndef ZTENSOR_DETAIL_READ_FRAME_STREAM_HPP
#define ZTENSOR_DETAIL_READ_FRAME_STREAM_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/codec/zstd.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/detail/read/thread_memory.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Threads take turns: in its turn a thread reads on until it has at least one whole frame, in memory of its own, and
/// decodes what it has while the next thread reads. Frames are so many parts of the work as their writer made: one
/// frame, or one that does not state the size of its content, is decoded by one thread. Holds, for each thread, about
/// one frame.
class frame_stream {
public:
    /// Blobs below this are decoded at once.
    static constexpr std::uint64_t smallest_blob_bytes = std::uint64_t{512} << 10;

    /// `destination` has exactly the component's decoded length. `stable` is the blob, if it lies in memory and stays
    /// as it is as long as this; of another one no thread holds more than `most_frame_bytes` at once.
    frame_stream(const opened_file& file, const component_record& component, span<std::byte> destination,
                 std::uint64_t most_frame_bytes, std::optional<bytes_view> stable)
        : file_(file), component_(component), destination_(destination), most_frame_bytes_(most_frame_bytes),
          stable_(stable), walker_(component.length), check_(file, component) {}

    /// How many turns there may be.
    [[nodiscard]] std::size_t most_turns() const noexcept {
        return static_cast<std::size_t>(component_.length / least_bytes + 1);
    }

    /// Takes a turn; false if nothing was left. Gives through `decoded_bytes` how many it made; finish() tells of
    /// failures. Throws what the source throws, after which nothing is left.
    [[nodiscard]] ZTENSOR_COLD bool take_turn(std::size_t& decoded_bytes) {
        thread_memory memory;
        frames taken;
        {
            const os_lock lock(mutex_);
            if (is_over_) {
                return false;
            }
            is_over_ = true; // if reading fails
            result<frames> next = stable_ ? find_frames() : read_frames(memory);
            if (!next) {
                failure_ = std::move(next).error();
                return true;
            }
            taken = *next;
            decoded_bytes = taken.decoded.size();
            is_over_ = read_bytes_ == component_.length && carried_bytes_ == 0;
        }
        if (result<void> decoded = decode_zstd(taken.stored, taken.decoded); !decoded) {
            const os_lock lock(mutex_);
            is_over_ = true;
            if (failure_) {
                failure_ = std::move(decoded);
            }
        }
        return true;
    }

    /// When no thread takes a turn any more. Errors: digest_mismatch before all others; decode_failed, decode_size,
    /// limit_exceeded, and what the source says.
    [[nodiscard]] ZTENSOR_COLD result<void> finish() {
        if (!failure_ && check_.is_wanted() && !source_failed_) {
            take_rest_in();
        }
        if (failure_ || read_bytes_ == component_.length) {
            ZTENSOR_TRY(check_.finish());
        }
        if (failure_ && decoded_bytes_ != destination_.size()) {
            failure_ = fail(errc::decode_size, "the zstd blob decodes to {} bytes, but {} are declared",
                            {decoded_bytes_, destination_.size()});
        }
        return failure_ ? std::move(failure_) : std::move(failure_).error().at(component_.offset);
    }

private:
    /// So much is read in a turn, or more, unless less may be held: small frames are decoded by the dozen.
    static constexpr std::size_t least_bytes = std::size_t{256} << 10;

    struct frames {
        bytes_view stored;
        span<std::byte> decoded; ///< where they go
    };

    [[nodiscard]] std::uint64_t left_to_read() const noexcept { return component_.length - read_bytes_; }

    /// Appends to what `memory` holds, until it is `wanted` bytes or the blob ends.
    [[nodiscard]] ZTENSOR_COLD result<void> read_on(thread_memory& memory, std::size_t& held, std::uint64_t wanted) {
        const std::uint64_t more = (std::min)(wanted - (std::min<std::uint64_t>)(wanted, held), left_to_read());
        if (held + more > most_frame_bytes_) {
            return fail(errc::limit_exceeded,
                        "a zstd frame of the blob takes more than the {} bytes that may be held at once",
                        {most_frame_bytes_});
        }
        if (more == 0) {
            return {};
        }
        const auto size = static_cast<std::size_t>(held + more);
        if (!memory.reserve(size, held)) {
            return fail(errc::out_of_memory, "no memory for {} bytes of zstd frames", {size});
        }
        const span<std::byte> added = memory.first(size).subspan(held);
        result<void> read = file_.source->read_at(component_.offset + read_bytes_, added);
        source_failed_ = !read;
        if (read) {
            read_bytes_ += added.size();
            held = size;
            if (check_.is_wanted()) {
                check_.take(added);
            }
        }
        return read;
    }

    /// One whole frame or more of a blob in memory, to be decoded where it lies.
    [[nodiscard]] ZTENSOR_COLD result<frames> find_frames() {
        const std::uint64_t begin = read_bytes_;
        std::uint64_t end = begin;
        std::uint64_t content_bytes = 0;
        if (result<void> unchanged = file_.source->check_unchanged(); !unchanged) {
            source_failed_ = true;
            return std::move(unchanged).error();
        }
        while (has_known_frame_ || (!has_unsized_frame_ && !walker_.is_at_end() && end - begin < least_bytes)) {
            const zstd_frame& found = walker_.frame();
            if (!has_known_frame_) {
                ZTENSOR_TRY_ASSIGN(const bool is_frame, walker_.take(stable_->data() + walker_.next()));
                has_unsized_frame_ = found.content_bytes == zstd_frame::unknown;
                has_known_frame_ = is_frame;
            } else {
                end = found.end;
                content_bytes += (std::min)(found.content_bytes, ~std::uint64_t{0} - content_bytes);
                has_known_frame_ = false;
            }
        }
        const bool is_rest = has_unsized_frame_ && end == begin; // of a frame that does not say what it holds
        const bytes_view stored = take_in_place(begin, is_rest ? component_.length : end);
        if (!is_rest) {
            return carry_rest(stored, stored.size(), content_bytes);
        }
        const frames all{stored, destination_.subspan(decoded_bytes_)};
        decoded_bytes_ = destination_.size();
        return all;
    }

    [[nodiscard]] bytes_view take_in_place(std::uint64_t begin, std::uint64_t end) noexcept {
        const bytes_view stored =
            stable_->subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
        read_bytes_ = end;
        if (check_.is_wanted()) {
            check_.take(stored);
        }
        return stored;
    }

    /// One whole frame or more. Frames of a blob tend to be of a size, so that much is asked for, and a little more.
    [[nodiscard]] ZTENSOR_COLD result<frames> read_frames(thread_memory& memory) {
        std::size_t held = carried_bytes_;
        if (!memory.reserve(held)) {
            return fail(errc::out_of_memory, "no memory for {} bytes of zstd frames", {held});
        }
        if (held != 0) {
            std::memcpy(memory.first(held).data(), carried_.data(), held);
        }
        const std::uint64_t begin = read_bytes_ - held; // of the first frame that is held
        std::uint64_t wanted = (std::min)(
            (std::max<std::uint64_t>)(last_frame_bytes_ + last_frame_bytes_ / 64, least_bytes), most_frame_bytes_);
        std::uint64_t end = begin; // of the last frame that is whole
        std::uint64_t content_bytes = 0;
        if (has_unsized_frame_) {
            return read_rest(memory, held, begin, end, content_bytes);
        }
        for (;;) {
            ZTENSOR_TRY(read_on(memory, held, wanted));
            for (;;) {
                if (has_known_frame_) {
                    const zstd_frame& known = walker_.frame();
                    if (known.end > begin + held) {
                        wanted = known.end - begin;
                        break;
                    }
                    content_bytes += (std::min)(known.content_bytes, ~std::uint64_t{0} - content_bytes);
                    last_frame_bytes_ = known.end - known.begin;
                    end = known.end;
                    has_known_frame_ = false;
                }
                if (walker_.is_at_end()) {
                    break;
                }
                const std::uint64_t with_head = walker_.next() + walker_.head_bytes() - begin;
                if (with_head > held) {
                    wanted = (std::max)(with_head, (std::min)(with_head + least_bytes / 2, most_frame_bytes_));
                    break;
                }
                const auto head = static_cast<std::size_t>(walker_.next() - begin);
                ZTENSOR_TRY_ASSIGN(const bool is_frame, walker_.take(memory.first(held).data() + head));
                has_known_frame_ = is_frame;
                if (walker_.frame().content_bytes == zstd_frame::unknown) {
                    return read_rest(memory, held, begin, end, content_bytes);
                }
            }
            if (end != begin || left_to_read() == 0) {
                return carry_rest(memory.first(held), static_cast<std::size_t>(end - begin), content_bytes);
            }
        }
    }

    /// Of a frame that does not say what it holds: the rest of the blob at once.
    [[nodiscard]] ZTENSOR_COLD result<frames> read_rest(thread_memory& memory, std::size_t held, std::uint64_t begin,
                                                        std::uint64_t end, std::uint64_t content_bytes) {
        if (end != begin) { // after those that do: the next turn comes here again
            has_unsized_frame_ = true;
            return carry_rest(memory.first(held), static_cast<std::size_t>(end - begin), content_bytes);
        }
        ZTENSOR_TRY(read_on(memory, held, component_.length - begin));
        carried_bytes_ = 0;
        const frames all{memory.first(held), destination_.subspan(decoded_bytes_)};
        decoded_bytes_ = destination_.size();
        return all;
    }

    /// The first `whole` bytes are frames, and the others go to the next turn.
    [[nodiscard]] ZTENSOR_COLD result<frames> carry_rest(bytes_view held, std::size_t whole,
                                                         std::uint64_t content_bytes) {
        if (whole == 0) { // a frame must have been found, or found broken
            return fail(errc::decode_failed, "the zstd blob is cut off");
        }
        if (content_bytes > destination_.size() - decoded_bytes_) {
            return fail(errc::decode_size, "the zstd blob decodes to more than the {} bytes declared",
                        {destination_.size()});
        }
        const bytes_view rest = held.subspan(whole);
        const std::uint64_t room = (std::min<std::uint64_t>)(rest.size() + least_bytes, most_frame_bytes_);
        if (rest.size() > carried_.size() && !carried_.allocate(static_cast<std::size_t>(room))) {
            return fail(errc::out_of_memory, "no memory for {} bytes of zstd frames", {rest.size()});
        }
        if (!rest.empty()) {
            std::memcpy(carried_.data(), rest.data(), rest.size());
        }
        carried_bytes_ = rest.size();
        const frames found{held.first(whole),
                           destination_.subspan(decoded_bytes_, static_cast<std::size_t>(content_bytes))};
        decoded_bytes_ += found.decoded.size();
        return found;
    }

    /// What nobody will decode is hashed all the same: that the blob is damaged says more than what follows from it.
    ZTENSOR_COLD void take_rest_in() {
        thread_memory memory;
        while (left_to_read() != 0) {
            std::size_t held = 0;
            if (!read_on(memory, held, least_bytes)) {
                return;
            }
        }
    }

    const opened_file& file_;
    const component_record& component_;
    span<std::byte> destination_;
    std::uint64_t most_frame_bytes_;
    std::optional<bytes_view> stable_;

    os_mutex mutex_; ///< of all that follows
    frame_walker walker_;
    blob_check check_;
    result<void> failure_;
    byte_buffer carried_; ///< read by the last turn, and the start of a frame
    std::size_t carried_bytes_ = 0;
    std::uint64_t read_bytes_ = 0; ///< of the blob
    std::uint64_t last_frame_bytes_ = 0;
    std::size_t decoded_bytes_ = 0;  ///< or about to be
    bool has_known_frame_ = false;   ///< the walker knows a frame of which not all is read
    bool has_unsized_frame_ = false; ///< the next frame does not say what it holds
    bool source_failed_ = false;     ///< so that what it has not given can not be hashed
    bool is_over_ = false;
};

/// Decodes all of a large zstd blob into `destination`, on as many threads as the caller allows.
[[nodiscard]] ZTENSOR_COLD inline result<void> decode_frames(const opened_file& file, const component_record& component,
                                                             span<std::byte> destination) {
    ZTENSOR_TRY(check_blob_limit(component.length, file.options));
    // The heads of frames are looked at before they are decoded, and both is done where they lie: 2 to 5 % less time.
    ZTENSOR_TRY_ASSIGN(const std::optional<bytes_view> stable, find_stable_blob(file, component));
    frame_stream stream(file, component, destination, ~std::uint64_t{0}, stable);
    run_in_parallel(file.options.threads_, stream.most_turns(), [&] {
        for (std::size_t decoded = 0; stream.take_turn(decoded);) {
        }
    });
    return stream.finish();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
