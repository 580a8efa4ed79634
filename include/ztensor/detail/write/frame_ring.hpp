// SPDX-License-Identifier: MIT
//
// Compressing on several threads: a ring of frames, and their seek table.
#ifndef ZTENSOR_DETAIL_WRITE_FRAME_RING_HPP
#define ZTENSOR_DETAIL_WRITE_FRAME_RING_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/codec/zstd.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- seek table
//
// What stands behind the frames of zt.zstd-seekable/1: a skippable frame that says how large they are. SPEC.md
// section 13.

/// Of frames of these sizes, each of `frame_bytes` decoded but for the last. Errors: encode_failed; what `out` says.
[[nodiscard]] ZTENSOR_COLD inline result<void> put_seek_table(const record_array<std::uint32_t>& frame_sizes,
                                                              std::uint64_t frame_bytes, std::uint64_t decoded_bytes,
                                                              byte_consumer out) {
    constexpr std::uint64_t skippable_magic = 0x184D2A5E, table_magic = 0x8F92EAB1;
    constexpr std::size_t frame_head_bytes = 8, entry_bytes = 8, table_end_bytes = 9;
    constexpr std::size_t most_frames = (0xffffffff - table_end_bytes) / entry_bytes;
    if (frame_sizes.size() > most_frames) {
        return fail(errc::encode_failed, "{} zstd frames are too many for a seek table", {frame_sizes.size()});
    }
    byte_buffer table;
    if (!table.allocate(frame_head_bytes + frame_sizes.size() * entry_bytes + table_end_bytes)) {
        return fail(errc::out_of_memory, "no memory for the seek table of {} frames", {frame_sizes.size()});
    }
    std::byte* at = table.data();
    const auto put = [&](std::uint64_t value, std::size_t bytes) {
        store_little(value, at, bytes);
        at += bytes;
    };
    put(skippable_magic, 4);
    put(table.size() - frame_head_bytes, 4);
    std::uint64_t left = decoded_bytes;
    for (const std::uint32_t size : frame_sizes) {
        put(size, 4);
        put((std::min)(left, frame_bytes), 4);
        left -= (std::min)(left, frame_bytes);
    }
    put(frame_sizes.size(), 4);
    put(0, 1); // no checksums here: the frames have their own
    put(table_magic, 4);
    return out.take(out.owner, table.bytes());
}

// -- frame ring
//
// Bytes of any number -> independent zstd frames of 1 MiB each, compressed by several threads and handed on in order.
// What comes out does not depend on the number of threads, nor on how the bytes were cut into pieces. SPEC.md
// section 6.2.

/// A compressed frame, until it is handed on.
struct encoded_frame {
    byte_buffer memory;
    std::size_t encoded = 0; ///< its size, or what the encoder says of a failure
};

/// How every frame of a blob is compressed.
struct frame_settings {
    int level = 0;
    bool is_seekable = false; ///< as zt.zstd-seekable/1 wants it, with a checksum

    [[nodiscard]] std::size_t encode(zstd_encoder& encoder, bytes_view content, span<std::byte> to) const noexcept {
        return is_seekable ? encoder.encode_checked(level, content, to) : encoder.encode(level, content, to);
    }
};

/// Frames that several threads compress into a ring of places, each thread with an encoder of its own.
struct frame_batch {
    bytes_view content;
    frame_settings settings;
    zstd_encoder* encoders;
    span<encoded_frame> ring;
    std::atomic<bool> is_cancelled{false}; ///< no frame is wanted any more

    static constexpr std::size_t frame_bytes = std::size_t{1} << 20;

    /// A task of an ordered_queue.
    static void encode(void* context, std::size_t frame, std::size_t slot) noexcept {
        auto& mine = *static_cast<frame_batch*>(context);
        if (!mine.is_cancelled) {
            const bytes_view rest = mine.content.subspan(frame * frame_bytes);
            encoded_frame& place = mine.ring[frame % mine.ring.size()];
            place.encoded = mine.settings.encode(mine.encoders[slot], rest.first((std::min)(frame_bytes, rest.size())),
                                                 place.memory.writable_bytes());
        }
    }
};

/// See store::zstd(). Contexts and buffers are made when first needed, and kept.
class zstd_frames final : public blob_encoder {
public:
    static constexpr std::size_t frame_bytes = frame_batch::frame_bytes;

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
            ZTENSOR_TRY(encode_frames(piece.first(whole), out));
            piece = piece.subspan(whole);
        }
        while (!piece.empty() || (last && gathered_bytes_ != 0)) {
            ZTENSOR_TRY(gather(piece, batch_bytes));
            const bool is_end = last && piece.empty();
            if (gathered_bytes_ == batch_bytes || is_end) {
                const bytes_view batch = gathered_.bytes().first(std::exchange(gathered_bytes_, std::size_t{0}));
                ZTENSOR_TRY(encode_frames(batch, out));
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
            ZTENSOR_TRY(try_first(first, out));
            content = is_raw_ ? content : content.subspan(first.size());
            if (content.empty()) {
                return {};
            }
        }
        if (is_raw_) {
            return out.take(out.owner, content);
        }
        const std::size_t frames = (content.size() + frame_bytes - 1) / frame_bytes;
        const std::size_t threads = useful_threads(static_cast<unsigned>(lanes_), frames);
        return threads > 1 ? encode_in_parallel(content, frames, threads, out) : encode_one_by_one(content, out);
    }

    /// Hands on the first frame, unless it turns out that raw is better.
    [[nodiscard]] result<void> try_first(bytes_view first, byte_consumer out) {
        ZTENSOR_TRY(make_room(1, 1));
        const std::size_t encoded = settings_.encode(encoders_[0], first, ring_[0].memory.writable_bytes());
        ZTENSOR_TRY(zstd_encoder::failure(encoded));
        is_raw_ = static_cast<double>(encoded) > most_of_raw_ * static_cast<double>(first.size());
        return is_raw_ ? result<void>() : out.take(out.owner, ring_[0].memory.bytes().first(encoded));
    }

    [[nodiscard]] result<void> encode_one_by_one(bytes_view content, byte_consumer out) {
        ZTENSOR_TRY(make_room(1, 1));
        do {
            const bytes_view frame = content.first((std::min<std::size_t>)(content.size(), frame_bytes));
            ring_[0].encoded = settings_.encode(encoders_[0], frame, ring_[0].memory.writable_bytes());
            ZTENSOR_TRY(hand_on(ring_[0], out));
            content = content.subspan(frame.size());
        } while (!content.empty());
        return {};
    }

    /// Frames are handed on by the caller, so that a sink of the user's is never called by another thread.
    [[nodiscard]] result<void> encode_in_parallel(bytes_view content, std::size_t frames, std::size_t threads,
                                                  byte_consumer out) {
        const std::size_t places = 2 * threads + 2; // so many that threads go on while the caller compresses or writes
        ZTENSOR_TRY(make_room(threads, places));
        frame_batch batch{content, settings_, encoders_.get(), {ring_.get(), places}};
        ordered_queue queue; // behind the batch, which it uses until it is gone
        if (!queue.begin(frame_batch::encode, &batch, threads)) {
            return no_memory();
        }
        struct cancels_rest {
            std::atomic<bool>& is_cancelled;
            ~cancels_rest() { is_cancelled = true; }
        } const on_failure{batch.is_cancelled};
        const at_work here;
        std::size_t submitted = 0;
        for (std::size_t frame = 0; frame < frames; ++frame) {
            for (; submitted < (std::min)(frames, frame + places); ++submitted) {
                queue.submit();
            }
            queue.wait_below(submitted - frame);
            if (!queue.is_ours()) {
                end_forked_call();
            }
            ZTENSOR_TRY(hand_on(ring_[frame % places], out));
        }
        return {};
    }

    [[nodiscard]] static result<void> hand_on(const encoded_frame& frame, byte_consumer out) {
        result<void> encoded = zstd_encoder::failure(frame.encoded);
        return encoded ? out.take(out.owner, frame.memory.bytes().first(frame.encoded)) : encoded;
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
