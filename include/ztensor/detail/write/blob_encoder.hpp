// SPDX-License-Identifier: MIT
//
// Decoded bytes -> one blob in a sink: byte order, compression and digest.
#ifndef ZTENSOR_DETAIL_WRITE_BLOB_ENCODER_HPP
#define ZTENSOR_DETAIL_WRITE_BLOB_ENCODER_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/codec/plane_kernels.hpp>
#include <ztensor/detail/codec/zstd.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/format.hpp>
#include <ztensor/io.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/version.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- blob encoder
//
// Decoded bytes -> one blob in a sink: byte order, compression and digest in one pass, piece by piece. SPEC.md
// section 6, section 7.

/// Who takes bytes that are ready.
struct byte_consumer {
    void* owner;
    result<void> (*take)(void* owner, bytes_view bytes);
};

/// The elements of a component, decoded; or one plane of them.
struct blob_content {
    bytes_view bytes;
    size_t swap_width = 1;  ///< of elements in the host's byte order; 1: bytes as the file will hold them
    size_t plane_width = 0; ///< of elements of which one plane is stored; 0: the bytes themselves
    bool is_fraction = false;

    /// Of what is stored.
    [[nodiscard]] uint64_t size() const noexcept {
        return plane_width == 0 ? bytes.size() : bytes.size() / plane_width * plane_bytes(which(), plane_width);
    }
    [[nodiscard]] plane which() const noexcept { return is_fraction ? plane::fraction : plane::exponent; }
};

/// Hands one plane of elements on, in pieces. Exponents come in whole frames, fractions as much as stays in the cache.
template <class Take>
result<void> split_in_order(const blob_content& elements, const Take& take) {
    const size_t width = elements.plane_width;
    const size_t total = elements.bytes.size() / width;
    const size_t most = (std::min)(total, elements.is_fraction ? size_t{1} << 16 : size_t{1} << 20);
    byte_buffer split;
    byte_buffer swapped;
    const bool must_swap = elements.swap_width > 1 && !host_is_little_endian;
    if (!split.allocate(most * plane_bytes(elements.which(), width)) ||
        (must_swap && !swapped.allocate(most * width))) {
        return fail(errc::out_of_memory, "no memory for a piece of {} elements", {most});
    }
    size_t done = 0;
    do {
        const size_t count = (std::min)(most, total - done);
        bytes_view piece = elements.bytes.subspan(done * width, count * width);
        if (must_swap) {
            std::copy_n(piece.begin(), piece.size(), swapped.data());
            piece = swapped.bytes().first(piece.size());
            swap_elements(swapped.writable_bytes().first(piece.size()), width);
        }
        split_plane(elements.which(), piece, width, split.data());
        done += count;
        ZTENSOR_TRY(take(split.bytes().first(count * plane_bytes(elements.which(), width)), done == total));
    } while (done != total);
    return {};
}

/// Hands elements on as a file holds them, in pieces whose bytes are swapped where they must be; `take(bytes,
/// is_last)`.
template <class Take>
result<void> in_order_of_file(const blob_content& elements, bool is_big_endian, const Take& take) {
    if (elements.plane_width != 0) {
        return split_in_order(elements, take);
    }
    if (elements.swap_width < 2 || is_big_endian != host_is_little_endian) {
        return take(elements.bytes, true);
    }
    constexpr size_t piece_bytes = size_t{1} << 16; // a multiple of every width
    byte_buffer swapped;
    if (!swapped.allocate((std::min)(elements.bytes.size(), piece_bytes))) {
        return fail(errc::out_of_memory, "no memory for a piece of 64 KiB");
    }
    bytes_view rest = elements.bytes;
    do {
        const span<byte> piece = swapped.writable_bytes().first((std::min)(rest.size(), piece_bytes));
        std::copy_n(rest.begin(), piece.size(), piece.begin());
        rest = rest.subspan(piece.size());
        swap_elements(piece, elements.swap_width);
        ZTENSOR_TRY(take(piece, rest.empty()));
    } while (!rest.empty());
    return {};
}

// -- known blobs
//
// Which blobs a file being written has already: by what is in them, or by where they were copied from. The tables are
// ordered maps, because a hostile file may choose both and must not be able to make a look-up slow.
// SPEC.md section 8, section 13.

/// Where a blob lies.
struct blob_position {
    uint64_t offset;
    uint32_t shard; ///< its number; 0, the file itself
};

/// The XXH3 and the length of what a blob holds: the same for the same bytes, and hardly ever for others.
using blob_identity = std::array<uint64_t, 2>;
/// The blobs of a file of version 2. Of blobs that collide, the first is known.
using shared_blobs = std::map<blob_identity, blob_position>;

/// A blob of another file: the address of the source, the offset, the length, and whether it is copied as bools.
using blob_place = std::array<uint64_t, 4>;
/// Blobs of other files, and where they have been copied to: what is one blob there stays one.
struct copied_blobs {
    std::map<blob_place, blob_position> positions;
    std::set<std::pair<blob_place, string>> checked; ///< with the encoding and the digest that were compared
};

// -- seek table

/// What stands behind the frames of zt.zstd-seekable/1: a skippable frame that says how large they are, each of
/// `frame_bytes` decoded but for the last. SPEC.md section 13. Errors: encode_failed; what `out` says.
ZTENSOR_COLD inline result<void> put_seek_table(const record_array<uint32_t>& frame_sizes, uint64_t frame_bytes,
                                                uint64_t decoded_bytes, byte_consumer out) {
    constexpr size_t entry_bytes = 8;
    constexpr size_t most_frames = (0xffffffff - seek_footer_bytes) / entry_bytes;
    if (frame_sizes.size() > most_frames) {
        return fail(errc::encode_failed, "{} zstd frames are too many for a seek table", {frame_sizes.size()});
    }
    byte_buffer table;
    if (!table.allocate(seek_head_bytes + frame_sizes.size() * entry_bytes + seek_footer_bytes)) {
        return fail(errc::out_of_memory, "no memory for the seek table of {} frames", {frame_sizes.size()});
    }
    byte* at = table.data();
    const auto put = [&](uint64_t value, size_t bytes) {
        store_little(value, at, bytes);
        at += bytes;
    };
    put(seek_head_magic, 4);
    put(table.size() - seek_head_bytes, 4);
    uint64_t left = decoded_bytes;
    for (const uint32_t size : frame_sizes) {
        put(size, 4);
        put((std::min)(left, frame_bytes), 4);
        left -= (std::min)(left, frame_bytes);
    }
    put(frame_sizes.size(), 4);
    put(0, 1); // no checksums here: the frames have their own
    put(seek_footer_magic, 4);
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
    size_t encoded = 0; ///< its size, or what the encoder says of a failure
};

/// How every frame of a blob is compressed.
struct frame_settings {
    int level = 0;
    bool is_seekable = false;     ///< as zt.zstd-seekable/1 wants it, with a checksum
    bool has_few_matches = false; ///< as exponents, where a search for repeated bytes finds noise

    [[nodiscard]] size_t encode(zstd_encoder& encoder, bytes_view content, span<byte> to) const noexcept {
        return is_seekable || has_few_matches ? encoder.encode_as(level, is_seekable, has_few_matches, content, to)
                                              : encoder.encode(level, content, to);
    }
};

/// Frames that several threads compress into a ring of places, each thread with an encoder of its own.
struct frame_batch {
    bytes_view content;
    frame_settings settings;
    zstd_encoder* encoders;
    span<encoded_frame> ring;
    std::atomic<bool> is_cancelled{false}; ///< no frame is wanted any more

    static constexpr size_t frame_bytes = size_t{1} << 20;

    /// A task of an ordered_queue.
    static void encode(void* context, size_t frame, size_t slot) noexcept {
        auto& mine = *static_cast<frame_batch*>(context);
        if (!mine.is_cancelled) {
            const bytes_view rest = mine.content.subspan(frame * frame_bytes);
            encoded_frame& place = mine.ring[frame % mine.ring.size()];
            place.encoded = mine.settings.encode(mine.encoders[slot], rest.first((std::min)(frame_bytes, rest.size())),
                                                 place.memory.writable_bytes());
        }
    }
};

/// Compresses the blobs of a writer one after the other: see store::zstd(). One thread at a time calls it. Contexts and
/// buffers are made when first needed, and kept.
class zstd_frames {
public:
    static constexpr size_t frame_bytes = frame_batch::frame_bytes;

    /// `threads` as in write_options.
    explicit zstd_frames(unsigned threads) noexcept : lanes_(threads != 0 ? threads : processor_count()) {}

    /// Starts a blob, as store::zstd_if_smaller() says; one that was not ended is forgotten.
    void begin(const frame_settings& settings, double most_of_raw) noexcept {
        settings_ = settings;
        frame_sizes_.truncate(0);
        decoded_bytes_ = 0;
        most_of_raw_ = most_of_raw;
        is_on_trial_ = most_of_raw_ > 0;
        is_raw_ = false;
        is_empty_ = true;
        gathered_bytes_ = 0;
    }

    /// Takes the next piece, ends the blob after it if it is the `last`, and hands on what is ready, on this thread.
    result<void> encode(bytes_view piece, bool last, byte_consumer out) {
        out_ = out;
        decoded_bytes_ += piece.size();
        ZTENSOR_TRY(encode_piece(piece, last));
        return last && settings_.is_seekable && !is_raw_
                   ? put_seek_table(frame_sizes_, frame_bytes, decoded_bytes_, out)
                   : result<void>();
    }

    /// How the blob, once it is ended, is stored: raw where compressing it did not pay.
    [[nodiscard]] ztensor::encoding used() const noexcept {
        return is_raw_                 ? ztensor::encoding::raw
               : settings_.is_seekable ? ztensor::encoding::zstd_seekable
                                       : ztensor::encoding::zstd;
    }

private:
    /// A frame that is ready.
    result<void> hand_on(const encoded_frame& frame) {
        ZTENSOR_TRY(zstd_encoder::failure(frame.encoded));
        if (settings_.is_seekable) {
            frame_sizes_.push_back(static_cast<uint32_t>(frame.encoded)); // about 1 MiB
        }
        return out_.take(out_.owner, frame.memory.bytes().first(frame.encoded));
    }

    result<void> encode_piece(bytes_view piece, bool last) {
        const size_t batch_bytes = lanes_ * frame_bytes;                     // to keep every lane busy
        if (gathered_bytes_ == 0 && (last || piece.size() >= batch_bytes)) { // straight from the caller's memory
            const size_t whole = last ? piece.size() : piece.size() - piece.size() % frame_bytes;
            ZTENSOR_TRY(encode_frames(piece.first(whole)));
            piece = piece.subspan(whole);
        }
        while (!piece.empty() || (last && gathered_bytes_ != 0)) {
            ZTENSOR_TRY(gather(piece, batch_bytes));
            const bool is_end = last && piece.empty();
            if (gathered_bytes_ == batch_bytes || is_end) {
                const bytes_view batch = gathered_.bytes().first(std::exchange(gathered_bytes_, size_t{0}));
                ZTENSOR_TRY(encode_frames(batch));
            }
        }
        return {};
    }

    /// Takes as much of `piece` as there is room for.
    result<void> gather(bytes_view& piece, size_t batch_bytes) {
        if (!gathered_.is_allocated() && !gathered_.allocate(batch_bytes)) {
            return no_memory();
        }
        const size_t taken = (std::min<size_t>)(piece.size(), batch_bytes - gathered_bytes_);
        if (taken != 0) {
            std::memcpy(gathered_.data() + gathered_bytes_, piece.data(), taken);
        }
        gathered_bytes_ += taken;
        piece = piece.subspan(taken);
        return {};
    }

    /// Whole frames, or what is left at the end, which alone may be nothing. An empty blob is one empty frame, unless
    /// its seek table says so.
    result<void> encode_frames(bytes_view content) {
        if (content.empty() && (!is_empty_ || settings_.is_seekable)) {
            return {};
        }
        is_empty_ = false;
        if (std::exchange(is_on_trial_, false)) {
            const bytes_view first = content.first((std::min<size_t>)(content.size(), frame_bytes));
            ZTENSOR_TRY(try_first(first));
            content = is_raw_ ? content : content.subspan(first.size());
            if (content.empty()) {
                return {};
            }
        }
        if (is_raw_) {
            return out_.take(out_.owner, content);
        }
        const size_t frames = (content.size() + frame_bytes - 1) / frame_bytes;
        const size_t threads = useful_threads(static_cast<unsigned>(lanes_), frames);
        return threads > 1 ? encode_in_parallel(content, frames, threads) : encode_one_by_one(content);
    }

    /// Hands on the first frame, unless it turns out that raw is better.
    result<void> try_first(bytes_view first) {
        ZTENSOR_TRY(make_room(1, 1));
        ring_[0].encoded = settings_.encode(encoders_[0], first, ring_[0].memory.writable_bytes());
        ZTENSOR_TRY(zstd_encoder::failure(ring_[0].encoded));
        is_raw_ = static_cast<double>(ring_[0].encoded) > most_of_raw_ * static_cast<double>(first.size());
        return is_raw_ ? result<void>() : hand_on(ring_[0]);
    }

    result<void> encode_one_by_one(bytes_view content) {
        ZTENSOR_TRY(make_room(1, 1));
        do {
            const bytes_view frame = content.first((std::min<size_t>)(content.size(), frame_bytes));
            ring_[0].encoded = settings_.encode(encoders_[0], frame, ring_[0].memory.writable_bytes());
            ZTENSOR_TRY(hand_on(ring_[0]));
            content = content.subspan(frame.size());
        } while (!content.empty());
        return {};
    }

    /// Frames are handed on by the caller, so that a sink of the user's is never called by another thread.
    result<void> encode_in_parallel(bytes_view content, size_t frames, size_t threads) {
        const size_t places = 2 * threads + 2; // so many that threads go on while the caller compresses or writes
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
        size_t submitted = 0;
        for (size_t frame = 0; frame < frames; ++frame) {
            for (; submitted < (std::min)(frames, frame + places); ++submitted) {
                queue.submit();
            }
            queue.wait_below(submitted - frame);
            if (!queue.is_ours()) {
                end_forked_call();
            }
            ZTENSOR_TRY(hand_on(ring_[frame % places]));
        }
        return {};
    }

    /// So many encoders, and buffers for so many frames.
    result<void> make_room(size_t encoders, size_t frames) {
        if (encoders_ == nullptr) {
            encoders_.reset(new (std::nothrow) zstd_encoder[lanes_]);
            ring_.reset(new (std::nothrow) encoded_frame[2 * lanes_ + 2]);
        }
        if (encoders_ == nullptr || ring_ == nullptr) {
            return no_memory();
        }
        for (size_t i = 0; i < encoders; ++i) {
            if (!encoders_[i].start()) {
                return no_memory();
            }
        }
        for (size_t i = 0; i < frames; ++i) {
            if (!ring_[i].memory.is_allocated() && !ring_[i].memory.allocate(most_zstd_bytes(frame_bytes))) {
                return no_memory();
            }
        }
        return {};
    }

    [[nodiscard]] static error no_memory() { return fail(errc::out_of_memory, "no memory for a zstd encoder"); }

    size_t lanes_;
    frame_settings settings_;
    byte_consumer out_ = {nullptr, nullptr}; ///< while a piece is encoded
    record_array<uint32_t> frame_sizes_;
    uint64_t decoded_bytes_ = 0;
    double most_of_raw_ = 0;
    bool is_on_trial_ = false;
    bool is_raw_ = false;
    bool is_empty_ = true; ///< nothing of the blob has been encoded
    std::unique_ptr<zstd_encoder[]> encoders_;
    std::unique_ptr<encoded_frame[]> ring_;
    byte_buffer gathered_;
    size_t gathered_bytes_ = 0;
};

// -- blob writer
//
// One blob, from decoded elements to the sink: put into the file's byte order, compressed and digested on the way.

/// One blob being written. Its memory does not grow with the blob.
class blob_writer {
public:
    /// At `position` of what goes into `sink`. `encoder`, which has begun a blob, is null, and `algorithm` none, where
    /// there is to be neither.
    blob_writer(byte_sink& sink, uint64_t position, bool is_big_endian, zstd_frames* encoder, digest algorithm,
                bool is_version_2) noexcept
        : sink_(&sink), position_(position), encoder_(encoder), digests_decoded_(is_version_2 && encoder != nullptr),
          is_big_endian_(is_big_endian) {
        if (algorithm != digest::none) {
            digester_.emplace(algorithm);
        }
    }

    /// The next elements, of a blob that ends with them if they are the `last`.
    result<void> append(const blob_content& elements, bool last) {
        return in_order_of_file(elements, is_big_endian_, [&](bytes_view piece, bool is_last_piece) {
            return append_bytes(piece, last && is_last_piece);
        });
    }

    [[nodiscard]] uint64_t decoded_bytes() const noexcept { return decoded_bytes_; }
    [[nodiscard]] uint64_t stored_bytes() const noexcept { return stored_bytes_; }
    /// Of the blob that is ended.
    [[nodiscard]] ZTENSOR_COLD ztensor::encoding encoding() const noexcept {
        return encoder_ != nullptr ? encoder_->used() : ztensor::encoding::raw;
    }
    /// Of the stored bytes, in version 2 of the decoded ones; "" if there is to be none.
    [[nodiscard]] ZTENSOR_NOINLINE string digest_text() const { return digester_ ? digester_->text() : string(); }

private:
    result<void> append_bytes(bytes_view piece, bool last) {
        decoded_bytes_ += piece.size();
        if (digests_decoded_) { // of version 2, where every blob has a digest
            digester_->update(piece);
        }
        return encoder_ != nullptr ? encoder_->encode(piece, last, {this, take_encoded}) : store_bytes(piece);
    }

    static result<void> take_encoded(void* self, bytes_view bytes) {
        return static_cast<blob_writer*>(self)->store_bytes(bytes);
    }

    result<void> store_bytes(bytes_view bytes) {
        if (digester_ && !digests_decoded_) {
            return store_digested(bytes);
        }
        stored_bytes_ += bytes.size();
        sink_->expect(bytes.size());
        return bytes.empty() ? result<void>() : sink_->write(bytes);
    }

    /// In pieces of the size that the sink takes best, which end at multiples of it in the file: each is still in the
    /// cache when it is written.
    ZTENSOR_NOINLINE result<void> store_digested(bytes_view bytes) {
        while (!bytes.empty()) {
            const uint64_t piece_bytes = sink_->expect(bytes.size());
            const uint64_t left_of_piece = piece_bytes - (position_ + stored_bytes_) % piece_bytes;
            const bytes_view piece =
                bytes.first(static_cast<size_t>((std::min<uint64_t>)(bytes.size(), left_of_piece)));
            digester_->update(piece);
            stored_bytes_ += piece.size();
            ZTENSOR_TRY(sink_->write(piece));
            bytes = bytes.subspan(piece.size());
        }
        return {};
    }

    byte_sink* sink_;
    uint64_t position_;
    zstd_frames* encoder_; ///< null: raw
    optional<digester> digester_;
    bool digests_decoded_;
    bool is_big_endian_;
    uint64_t decoded_bytes_ = 0;
    uint64_t stored_bytes_ = 0;
};

// -- known blobs of version 2
//
// What tells that a file has a blob already: its XXH3, and a comparison.

/// Compares the pieces of a blob with what a sink holds.
class compared_bytes {
public:
    compared_bytes(byte_sink& with, uint64_t offset) noexcept : with_(with), offset_(offset) {}

    /// The next ones. Whether all so far are the same.
    [[nodiscard]] bool add(bytes_view bytes) {
        is_same_ = is_same_ && with_.holds(offset_, bytes);
        offset_ += bytes.size();
        return is_same_;
    }
    [[nodiscard]] bool is_same() const noexcept { return is_same_; }

private:
    byte_sink& with_;
    uint64_t offset_;
    bool is_same_ = true;
};

/// What a file of version 2 says of a raw blob, if it says it.
[[nodiscard]] ZTENSOR_COLD inline optional<uint64_t> stated_xxh3(const stored_component& stored) noexcept {
    const digest_parts digest = parse_strict_digest(stored.digest);
    if (stored.version != version::v2 || digest.algorithm != digest::xxh3 || !digest.is_well_formed) {
        return std::nullopt;
    }
    uint64_t value = 0;
    for (const char digit : digest.digits) {
        value = value << 4 | static_cast<uint64_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return value;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
