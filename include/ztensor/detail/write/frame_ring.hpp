// SPDX-License-Identifier: MIT
//
// Bytes of any number -> independent zstd frames of 1 MiB each, compressed by several threads and handed on in order.
// What comes out does not depend on the number of threads, nor on how the bytes were cut into pieces. SPEC.md
// section 6.2.
#ifndef ZTENSOR_DETAIL_WRITE_FRAME_RING_HPP
#define ZTENSOR_DETAIL_WRITE_FRAME_RING_HPP

#include <ztensor/detail/codec/zstd_encoder.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/os/threads.hpp>
#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/detail/write/seek_table.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A frame that is compressed, until it is handed on.
struct encoded_frame {
    byte_buffer memory;
    std::size_t encoded = 0;           ///< its size, or what the encoder says of a failure
    std::atomic<std::size_t> ready{0}; ///< 1 + the number of the frame that is in it
};

/// How every frame of a blob is compressed.
struct frame_settings {
    int level = 0;
    bool is_seekable = false; ///< as zt.zstd-seekable/1 wants it, with a checksum

    [[nodiscard]] std::size_t encode(zstd_encoder& encoder, bytes_view content, span<std::byte> to) const noexcept {
        return is_seekable ? encoder.encode_checked(level, content, to) : encoder.encode(level, content, to);
    }
};

/// One run of frames being compressed by several threads. Each works in a lane of its own; that of the caller also
/// hands on what is ready, so that nobody else's code runs on another thread. Frames wait in a ring, and nobody
/// compresses one for which the ring has no room.
class zstd_frame_run {
public:
    zstd_frame_run(bytes_view content, std::size_t frame_bytes, frame_settings settings, byte_consumer out,
                   encoded_frame* ring, std::size_t ring_frames) noexcept
        : content_(content), frame_bytes_(frame_bytes), settings_(settings), out_(out), ring_(ring),
          ring_frames_(ring_frames), frames_((content.size() + frame_bytes - 1) / frame_bytes) {}

    /// Called at once by every lane's thread; returns when there is nothing left for it to do.
    void work(zstd_encoder& encoder) noexcept {
        const bool is_caller = thread_mark() == caller_;
        for (unsigned idle_rounds = 0;; ++idle_rounds) {
            if (is_caller) {
                hand_on_guarded();
            }
            const std::size_t handed_on = handed_on_.load(std::memory_order_acquire);
            std::size_t frame = taken_.load(std::memory_order_relaxed);
            if (is_over_.load(std::memory_order_relaxed) || handed_on == frames_ || (frame == frames_ && !is_caller)) {
                return;
            }
            if (frame < frames_ && frame < handed_on + ring_frames_) {
                if (taken_.compare_exchange_strong(frame, frame + 1, std::memory_order_relaxed)) {
                    encode(frame, encoder);
                }
                idle_rounds = 0;
            } else if (process_ != process_id()) {
                end_forked_call(); // the threads that it waits for are the parent's
            } else {
                pause_thread(idle_rounds);
            }
        }
    }

    /// What came of it. Throws what the consumer has thrown.
    [[nodiscard]] result<void> outcome() {
#if ZTENSOR_HAS_EXCEPTIONS
        if (thrown_) {
            std::rethrow_exception(thrown_);
        }
#endif
        return std::move(outcome_);
    }

private:
    void encode(std::size_t frame, zstd_encoder& encoder) noexcept {
        const std::size_t begin = frame * frame_bytes_;
        const std::size_t size = (std::min)(frame_bytes_, content_.size() - begin);
        encoded_frame& place = ring_[frame % ring_frames_];
        place.encoded = settings_.encode(encoder, content_.subspan(begin, size), place.memory.writable_bytes());
        place.ready.store(frame + 1, std::memory_order_release);
    }

    /// All that is ready and next in order.
    [[nodiscard]] result<void> hand_on() {
        for (std::size_t frame = handed_on_; frame < frames_; ++frame) {
            const encoded_frame& place = ring_[frame % ring_frames_];
            if (place.ready.load(std::memory_order_acquire) != frame + 1) {
                break;
            }
            if (result<void> encoded = zstd_encoder::failure(place.encoded); !encoded) {
                return encoded;
            }
            if (result<void> taken = out_.take(out_.owner, place.memory.bytes().first(place.encoded)); !taken) {
                return taken;
            }
            handed_on_.store(frame + 1, std::memory_order_release);
        }
        return {};
    }

    /// No thread may be left behind, so what the consumer throws waits until all are done.
    void hand_on_guarded() noexcept {
        if (is_over_) {
            return;
        }
#if ZTENSOR_HAS_EXCEPTIONS
        try {
            outcome_ = hand_on();
        } catch (...) {
            thrown_ = std::current_exception();
            is_over_ = true;
        }
#else
        outcome_ = hand_on();
#endif
        if (!outcome_) {
            is_over_ = true;
        }
    }

    bytes_view content_;
    std::size_t frame_bytes_;
    frame_settings settings_;
    byte_consumer out_;
    encoded_frame* ring_;
    std::size_t ring_frames_;
    std::size_t frames_;
    const void* caller_ = thread_mark();
    const std::uint64_t process_ = process_id();
    std::atomic<std::size_t> taken_{0};
    std::atomic<std::size_t> handed_on_{0};
    std::atomic<bool> is_over_{false};
    result<void> outcome_;
#if ZTENSOR_HAS_EXCEPTIONS
    std::exception_ptr thrown_;
#endif
};

/// See store::zstd(). Contexts and buffers are made when first needed, and kept.
class zstd_frames final : public blob_encoder {
public:
    static constexpr std::size_t frame_bytes = std::size_t{1} << 20;

    /// `threads` as in write_options.
    explicit zstd_frames(unsigned threads) noexcept
        : blob_encoder(encode_next), lanes_(threads != 0 ? threads : processor_count()) {}

    [[nodiscard]] result<void> check(int level) const override { return check_zstd_level(level); }

    void begin(int level, double most_of_raw, bool seekable) noexcept override {
        settings_ = {level, seekable};
        frame_sizes_.truncate(0);
        decoded_bytes_ = 0;
        most_of_raw_ = most_of_raw;
        is_on_trial_ = most_of_raw_ > 0;
        is_raw_ = false;
        is_empty_ = true;
        gathered_bytes_ = 0;
    }

    [[nodiscard]] ztensor::encoding used() const noexcept override {
        return is_raw_                 ? ztensor::encoding::raw
               : settings_.is_seekable ? ztensor::encoding::zstd_seekable
                                       : ztensor::encoding::zstd;
    }

private:
    [[nodiscard]] static result<void> encode_next(blob_encoder& self, bytes_view piece, bool last, byte_consumer out) {
        zstd_frames& frames = static_cast<zstd_frames&>(self);
        if (!frames.settings_.is_seekable) {
            return frames.encode_piece(piece, last, out);
        }
        frames.out_ = out;
        frames.decoded_bytes_ += piece.size();
        result<void> done = frames.encode_piece(piece, last, {&self, take_frame});
        return done && last && !frames.is_raw_
                   ? put_seek_table(frames.frame_sizes_, frame_bytes, frames.decoded_bytes_, out)
                   : done;
    }

    [[nodiscard]] static result<void> take_frame(void* self, bytes_view frame) {
        zstd_frames& frames = static_cast<zstd_frames&>(*static_cast<blob_encoder*>(self));
        frames.frame_sizes_.push_back(static_cast<std::uint32_t>(frame.size())); // about 1 MiB, if they will count
        return frames.out_.take(frames.out_.owner, frame);
    }

    [[nodiscard]] result<void> encode_piece(bytes_view piece, bool last, byte_consumer out) {
        const std::size_t batch_bytes = lanes_ * frame_bytes;                // to keep every lane busy
        if (gathered_bytes_ == 0 && (last || piece.size() >= batch_bytes)) { // straight from the caller's memory
            const std::size_t whole = last ? piece.size() : piece.size() - piece.size() % frame_bytes;
            if (result<void> done = encode_frames(piece.first(whole), out); !done) {
                return done;
            }
            piece = piece.subspan(whole);
        }
        while (!piece.empty() || (last && gathered_bytes_ != 0)) {
            if (result<void> done = gather(piece, batch_bytes); !done) {
                return done;
            }
            const bool is_end = last && piece.empty();
            if (gathered_bytes_ == batch_bytes || is_end) {
                const bytes_view batch = gathered_.bytes().first(std::exchange(gathered_bytes_, std::size_t{0}));
                if (result<void> done = encode_frames(batch, out); !done) {
                    return done;
                }
            }
        }
        return {};
    }

    /// Takes as much of `piece` as there is room for.
    [[nodiscard]] result<void> gather(bytes_view& piece, std::size_t batch_bytes) {
        if (!gathered_.is_allocated() && !gathered_.allocate(batch_bytes)) {
            return no_memory();
        }
        const std::size_t taken = (std::min<std::size_t>)(piece.size(), batch_bytes - gathered_bytes_);
        if (taken != 0) {
            std::memcpy(gathered_.data() + gathered_bytes_, piece.data(), taken);
        }
        gathered_bytes_ += taken;
        piece = piece.subspan(taken);
        return {};
    }

    /// Whole frames, or what is left at the end, which alone may be nothing. An empty blob is one empty frame, unless
    /// its seek table says so.
    [[nodiscard]] result<void> encode_frames(bytes_view content, byte_consumer out) {
        if (content.empty() && (!is_empty_ || settings_.is_seekable)) {
            return {};
        }
        is_empty_ = false;
        if (std::exchange(is_on_trial_, false)) {
            const bytes_view first = content.first((std::min<std::size_t>)(content.size(), frame_bytes));
            if (result<void> done = try_first(first, out); !done) {
                return done;
            }
            content = is_raw_ ? content : content.subspan(first.size());
            if (content.empty()) {
                return {};
            }
        }
        if (is_raw_) {
            return out.take(out.owner, content);
        }
        const std::size_t frames = (content.size() + frame_bytes - 1) / frame_bytes;
        return frames > 1 && lanes_ > 1 ? encode_in_parallel(content, (std::min)(lanes_, frames), out)
                                        : encode_one_by_one(content, out);
    }

    /// Hands on the first frame, unless it turns out that raw is better.
    [[nodiscard]] result<void> try_first(bytes_view first, byte_consumer out) {
        if (result<void> ready = make_room(1, 1); !ready) {
            return ready;
        }
        const std::size_t encoded = settings_.encode(encoders_[0], first, ring_[0].memory.writable_bytes());
        if (result<void> done = zstd_encoder::failure(encoded); !done) {
            return done;
        }
        is_raw_ = static_cast<double>(encoded) > most_of_raw_ * static_cast<double>(first.size());
        return is_raw_ ? result<void>() : out.take(out.owner, ring_[0].memory.bytes().first(encoded));
    }

    [[nodiscard]] result<void> encode_one_by_one(bytes_view content, byte_consumer out) {
        if (result<void> ready = make_room(1, 1); !ready) {
            return ready;
        }
        do {
            const bytes_view frame = content.first((std::min<std::size_t>)(content.size(), frame_bytes));
            const std::size_t encoded = settings_.encode(encoders_[0], frame, ring_[0].memory.writable_bytes());
            if (result<void> done = zstd_encoder::failure(encoded); !done) {
                return done;
            }
            if (result<void> taken = out.take(out.owner, ring_[0].memory.bytes().first(encoded)); !taken) {
                return taken;
            }
            content = content.subspan(frame.size());
        } while (!content.empty());
        return {};
    }

    [[nodiscard]] result<void> encode_in_parallel(bytes_view content, std::size_t lanes, byte_consumer out) {
        const std::size_t ring_frames = 2 * lanes + 2; // while the caller compresses, the others go on for a while
        if (result<void> ready = make_room(lanes, ring_frames); !ready) {
            return ready;
        }
        for (std::size_t i = 0; i < ring_frames; ++i) {
            ring_[i].ready = 0;
        }
        zstd_frame_run run(content, frame_bytes, settings_, out, ring_.get(), ring_frames);
        for_each_in_parallel(lanes, static_cast<unsigned>(lanes), [&](std::size_t lane) { run.work(encoders_[lane]); });
        run.work(encoders_[0]); // for the case that helpers took all lanes and left nothing but handing on
        return run.outcome();
    }

    /// So many encoders, and buffers for so many frames.
    [[nodiscard]] result<void> make_room(std::size_t encoders, std::size_t frames) {
        if (encoders_ == nullptr) {
            encoders_.reset(new (std::nothrow) zstd_encoder[lanes_]);
            ring_.reset(new (std::nothrow) encoded_frame[2 * lanes_ + 2]);
        }
        if (encoders_ == nullptr || ring_ == nullptr) {
            return no_memory();
        }
        for (std::size_t i = 0; i < encoders; ++i) {
            if (!encoders_[i].start()) {
                return no_memory();
            }
        }
        for (std::size_t i = 0; i < frames; ++i) {
            if (!ring_[i].memory.is_allocated() && !ring_[i].memory.allocate(most_zstd_bytes(frame_bytes))) {
                return no_memory();
            }
        }
        return {};
    }

    [[nodiscard]] static error no_memory() { return fail(errc::out_of_memory, "no memory for a zstd encoder"); }

    std::size_t lanes_;
    frame_settings settings_;
    byte_consumer out_ = {nullptr, nullptr}; ///< of a seekable blob, while it is encoded, like what follows
    record_array<std::uint32_t> frame_sizes_;
    std::uint64_t decoded_bytes_ = 0;
    double most_of_raw_ = 0;
    bool is_on_trial_ = false;
    bool is_raw_ = false;
    bool is_empty_ = true; ///< nothing of the blob has been encoded
    std::unique_ptr<zstd_encoder[]> encoders_;
    std::unique_ptr<encoded_frame[]> ring_;
    byte_buffer gathered_;
    std::size_t gathered_bytes_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
