// SPDX-License-Identifier: MIT
//
// The only header that knows zstd: whole frames, frames that are made or read piece by piece, where the frames of a
// blob lie, and the seek table behind them. SPEC.md section 6.
#ifndef ZTENSOR_DETAIL_CODEC_ZSTD_HPP
#define ZTENSOR_DETAIL_CODEC_ZSTD_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/format.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <limits>
#include <utility>
#include <zstd.h>
#include <zstd_errors.h>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- zstd
//
// Blobs of zstd frames -> bytes. This header alone knows zstd. SPEC.md section 6.2.

/// A context of zstd, which the thread keeps for its next call unless it takes much memory: making one costs 6.8x the
/// decoding of a 1 KiB blob, or 2.5x the encoding. One thread at a time uses it.
template <class Context, kept_kind Kind, Context* (*Make)(), size_t (*Free)(Context*), size_t (*Size)(const Context*)>
class kept_context {
public:
    kept_context() noexcept = default;
    kept_context(const kept_context&) = delete;
    kept_context& operator=(const kept_context&) = delete;
    ~kept_context() {
        constexpr size_t most_kept_bytes = size_t{4} << 20; // low levels take less, high ones 100 MiB
        if (context_ != nullptr && Size(context_) <= most_kept_bytes) {
            keep(Kind, {context_, 0, [](void* context) { Free(static_cast<Context*>(context)); }});
        } else {
            Free(context_); // perhaps none
        }
    }

    /// Made when it is first asked for; null where memory runs out.
    [[nodiscard]] Context* get() noexcept {
        context_ = context_ != nullptr ? context_ : static_cast<Context*>(take_kept(Kind).object);
        return context_ = context_ != nullptr ? context_ : Make();
    }

private:
    Context* context_ = nullptr;
};

using zstd_decoder = kept_context<ZSTD_DCtx, kept_kind::zstd_decoder, ZSTD_createDCtx, ZSTD_freeDCtx, ZSTD_sizeof_DCtx>;

[[nodiscard]] ZTENSOR_COLD inline error no_zstd_decoder() {
    return fail(errc::out_of_memory, "no memory for a zstd decoder");
}

[[nodiscard]] inline error zstd_error(errc code, const char* doing, size_t zstd_code) {
    return fail(code, "{}: {}", {doing, ZSTD_getErrorName(zstd_code)});
}

/// What frames begin with.
inline constexpr size_t zstd_magic_bytes = 4;
inline constexpr uint64_t zstd_magic = 0xFD2FB528;
/// Of frames to be skipped.
[[nodiscard]] constexpr bool is_skippable_magic(uint64_t found) noexcept {
    return (found & ~uint64_t{15}) == 0x184D2A50; // the low four bits are free
}

[[nodiscard]] inline bool starts_frame(bytes_view stored) noexcept {
    const uint64_t found = stored.size() < zstd_magic_bytes ? 0 : load_little(stored.data(), zstd_magic_bytes);
    return found == zstd_magic || is_skippable_magic(found);
}

/// Every frame must start with the magic of current or skippable frames: libzstd may be built with decoders of
/// formats before 0.8, which had memory errors and are not part of .zt.
inline result<void> check_zstd_frames(bytes_view stored) {
    for (bytes_view rest = stored; !rest.empty();) {
        if (!starts_frame(rest)) {
            return fail(errc::decode_failed,
                        "at byte {} of the blob a zstd frame was expected, but its magic is not there",
                        {stored.size() - rest.size()});
        }
        const size_t frame_bytes = ZSTD_findFrameCompressedSize(rest.data(), rest.size());
        if (ZSTD_isError(frame_bytes) != 0) {
            return zstd_error(errc::decode_failed, "a zstd frame is damaged or cut off", frame_bytes);
        }
        rest = rest.subspan(frame_bytes);
    }
    return {};
}

/// Decodes all frames of `stored` into `destination`, which they must fill exactly.
/// Errors: decode_failed (bad magic, damaged or cut-off frame, checksum, dictionary), decode_size (too few or too many
/// bytes), out_of_memory.
inline result<void> decode_zstd(bytes_view stored, span<byte> destination) {
    ZTENSOR_TRY(check_zstd_frames(stored));
    zstd_decoder decoder;
    ZSTD_DCtx* const context = decoder.get();
    if (context == nullptr) {
        return no_zstd_decoder();
    }
    const size_t decoded_bytes =
        ZSTD_decompressDCtx(context, destination.data(), destination.size(), stored.data(), stored.size());
    if (ZSTD_isError(decoded_bytes) != 0) {
        if (ZSTD_getErrorCode(decoded_bytes) == ZSTD_error_dstSize_tooSmall) {
            return fail(errc::decode_size, "the zstd blob decodes to more than the {} bytes declared",
                        {destination.size()});
        }
        return zstd_error(errc::decode_failed, "zstd can't decode the blob", decoded_bytes);
    }
    if (decoded_bytes != destination.size()) {
        return fail(errc::decode_size, "the zstd blob decodes to {} bytes, but {} are declared",
                    {decoded_bytes, destination.size()});
    }
    return {};
}

/// What the frames say that they hold in all, if each does; else nothing. Lies are found when they are decoded.
[[nodiscard]] ZTENSOR_COLD inline optional<uint64_t> stated_content_bytes(bytes_view stored) noexcept {
    uint64_t total = 0;
    while (!stored.empty()) {
        const unsigned long long content = ZSTD_getFrameContentSize(stored.data(), stored.size());
        const size_t frame = ZSTD_findFrameCompressedSize(stored.data(), stored.size());
        if (content == ZSTD_CONTENTSIZE_UNKNOWN || content == ZSTD_CONTENTSIZE_ERROR || ZSTD_isError(frame) != 0 ||
            content > ~uint64_t{0} - total) {
            return std::nullopt;
        }
        total += content;
        stored = stored.subspan(frame);
    }
    return total;
}

/// Decodes all frames of `stored`, whose decoded size the file does not state, to the front of `decoded`, and gives
/// their size, at most `max_bytes`. Takes the frames' word for it, as most give it; else tries buffers of growing size,
/// each instead of the one before: decoding in one go needs no window, whose size a hostile frame could choose. Errors:
/// as decode_zstd; limit_exceeded.
inline result<size_t> decode_zstd_within(bytes_view stored, uint64_t max_bytes, byte_buffer& decoded) {
    ZTENSOR_TRY(check_zstd_frames(stored));
    zstd_decoder decoder;
    ZSTD_DCtx* const context = decoder.get();
    if (context == nullptr) {
        return no_zstd_decoder();
    }
    const uint64_t most =
        (std::min<uint64_t>)((std::min)(max_bytes, checked_multiply(stored.size(), max_zstd_ratio).value_or(max_bytes)),
                             (std::numeric_limits<std::ptrdiff_t>::max)());
    constexpr uint64_t smallest_try = 4096;
    const optional<uint64_t> stated = stated_content_bytes(stored);
    for (uint64_t size = stated.value_or((std::max)(smallest_try, uint64_t{stored.size()} * 2));;
         size = (std::max)(smallest_try, size * 2)) {
        size = (std::min)(size, most);
        if (!decoded.allocate(static_cast<size_t>(size))) {
            return fail(errc::out_of_memory, "no memory for a component of {} bytes", {size});
        }
        const size_t decoded_bytes =
            ZSTD_decompressDCtx(context, decoded.data(), decoded.size(), stored.data(), stored.size());
        if (ZSTD_isError(decoded_bytes) == 0) {
            return decoded_bytes;
        }
        if (ZSTD_getErrorCode(decoded_bytes) != ZSTD_error_dstSize_tooSmall) {
            return zstd_error(errc::decode_failed, "zstd can't decode the blob", decoded_bytes);
        }
        if (size == most) {
            return fail(errc::limit_exceeded,
                        "the zstd blob decodes to more than the {} bytes of read_options::max_decoded_bytes",
                        {max_bytes});
        }
    }
}

// -- zstd encoder
//
// Bytes -> zstd frames that state the size of their content. SPEC.md section 6.2.

/// Errors: invalid_argument for a level that zstd does not have.
inline result<void> check_zstd_level(int level) {
    if (level >= ZSTD_minCLevel() && level <= ZSTD_maxCLevel()) {
        return {};
    }
    return fail(errc::invalid_argument, "zstd level {} is outside {} ... {}",
                {level, ZSTD_minCLevel(), ZSTD_maxCLevel()});
}

/// No frame of so many bytes takes more.
[[nodiscard]] inline size_t most_zstd_bytes(size_t content_bytes) noexcept {
    return ZSTD_compressBound(content_bytes);
}

/// Compresses frame after frame with one context.
class zstd_encoder {
public:
    /// Before the first frame; does nothing after that. False where memory runs out.
    [[nodiscard]] bool start() noexcept { return context_.get() != nullptr; }

    /// One frame of all of `content`, at the front of `to`, which has room for most_zstd_bytes(). Gives its size, or
    /// what failure() understands. `level` has been checked.
    [[nodiscard]] size_t encode(int level, bytes_view content, span<byte> to) noexcept {
        return ZSTD_compressCCtx(context_.get(), to.data(), to.size(), content.data(), content.size(), level);
    }

    /// The same with a checksum of the content behind it, or for content of few matches, such as exponents: a smaller
    /// table and longer matches find less of what is none, in less time (0.326 of the exponents of weights, not 0.359).
    [[nodiscard]] size_t encode_as(int level, bool has_checksum, bool has_few_matches, bytes_view content,
                                   span<byte> to) noexcept {
        constexpr int least_match_bytes = 7, hash_bits = 6; // 0: as the level has it
        for (const auto& [parameter, value] : {std::pair(ZSTD_c_compressionLevel, level),
                                               {ZSTD_c_checksumFlag, has_checksum ? 1 : 0},
                                               {ZSTD_c_minMatch, has_few_matches ? least_match_bytes : 0},
                                               {ZSTD_c_hashLog, has_few_matches ? hash_bits : 0}}) {
            if (const size_t refused = ZSTD_CCtx_setParameter(context_.get(), parameter, value);
                ZSTD_isError(refused) != 0) {
                return refused;
            }
        }
        return ZSTD_compress2(context_.get(), to.data(), to.size(), content.data(), content.size());
    }

    /// What `encoded` has failed with, if it has. Errors: encode_failed, out_of_memory.
    static result<void> failure(size_t encoded) {
        if (ZSTD_isError(encoded) == 0) {
            return {};
        }
        const bool no_memory = ZSTD_getErrorCode(encoded) == ZSTD_error_memory_allocation;
        return zstd_error(no_memory ? errc::out_of_memory : errc::encode_failed, "zstd can't compress", encoded);
    }

private:
    kept_context<ZSTD_CCtx, kept_kind::zstd_encoder, ZSTD_createCCtx, ZSTD_freeCCtx, ZSTD_sizeof_CCtx> context_;
};

// -- zstd stream
//
// Blobs of zstd frames -> bytes, a piece at a time, for what is larger than memory. SPEC.md section 6.2.

/// Decodes frame after frame. Owned by one thread at a time.
class zstd_stream {
public:
    /// Fewer stored bytes than these start no frame.
    static constexpr size_t least_stored_bytes = zstd_magic_bytes;

    zstd_stream() noexcept = default;
    zstd_stream(const zstd_stream&) = delete;
    zstd_stream& operator=(const zstd_stream&) = delete;
    ~zstd_stream() { ZSTD_freeDCtx(context_); }

    /// Before the first frame of a blob that decodes to at most so many bytes: no frame needs a larger window, and one
    /// that asks for it is refused before memory is taken. Errors: out_of_memory.
    result<void> start(uint64_t decoded_bytes) {
        context_ = ZSTD_createDCtx();
        if (context_ == nullptr) {
            return no_zstd_decoder();
        }
        const ZSTD_bounds bounds = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
        int window_log = bounds.lowerBound;
        while (window_log < bounds.upperBound && uint64_t{1} << window_log < decoded_bytes) {
            ++window_log;
        }
        ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, (std::max)(window_log, least_window_log));
        return {};
    }

    /// True before the first frame and after each.
    [[nodiscard]] bool is_between_frames() const noexcept { return is_between_frames_; }

    /// Decodes from the front of `stored`, which loses what was taken, to the front of `to`. Gives how many bytes were
    /// made: fewer than `to` holds only where more stored bytes are needed. Errors: decode_failed, out_of_memory;
    /// limit_exceeded for a window that the blob can't fill.
    result<size_t> decode(bytes_view& stored, span<byte> to) {
        ZSTD_outBuffer made{to.data(), to.size(), 0};
        while (made.pos < made.size) {
            if (is_between_frames_) {
                if (stored.size() < least_stored_bytes) {
                    break;
                }
                ZTENSOR_TRY(check_magic(stored));
            }
            ZSTD_inBuffer taken{stored.data(), stored.size(), 0};
            const size_t before = made.pos;
            const size_t left = ZSTD_decompressStream(context_, &made, &taken);
            if (ZSTD_isError(left) != 0) {
                return refused(left);
            }
            is_between_frames_ = left == 0;
            stored = stored.subspan(taken.pos);
            if (!is_between_frames_ && taken.pos == 0 && made.pos == before) {
                break; // no way on without more
            }
        }
        return made.pos;
    }

private:
    static constexpr int least_window_log = 20; ///< of a piece

    static result<void> check_magic(bytes_view stored) {
        return starts_frame(stored)
                   ? result<void>()
                   : fail(errc::decode_failed, "a zstd frame was expected in the blob, but its magic is not there");
    }

    [[nodiscard]] static error refused(size_t zstd_code) {
        if (ZSTD_getErrorCode(zstd_code) == ZSTD_error_frameParameter_windowTooLarge) {
            return fail(errc::limit_exceeded, "a zstd frame asks for a larger window than the blob decodes to");
        }
        const bool no_memory = ZSTD_getErrorCode(zstd_code) == ZSTD_error_memory_allocation;
        return zstd_error(no_memory ? errc::out_of_memory : errc::decode_failed, "zstd can't decode the blob",
                          zstd_code);
    }

    ZSTD_DCtx* context_ = nullptr;
    bool is_between_frames_ = true;
};

// -- zstd frames
//
// Where the frames of a zstd blob lie and what they hold, told from their heads alone. RFC 8878 section 3.1; SPEC.md
// section 6.2.

/// One frame of a blob; positions count from the blob's start.
struct zstd_frame {
    static constexpr uint64_t unknown = ~uint64_t{0};

    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t content_bytes = 0; ///< as the frame states it, or unknown
};

/// Goes from head to head through the frames of a blob: a frame's own, then one for each of its blocks, of which it is
/// given the bytes and asked where the next one is. So whole frames are passed over by reading a few bytes of each.
/// Nothing is believed that could lead out of the blob; whether blocks hold what they should, decoding tells.
class frame_walker {
public:
    explicit frame_walker(uint64_t blob_bytes) noexcept : blob_bytes_(blob_bytes) {}

    static constexpr size_t most_head_bytes = 18;

    [[nodiscard]] bool is_at_end() const noexcept { return next_ == blob_bytes_; }
    /// Where the next head is, and how many bytes of it are wanted.
    [[nodiscard]] uint64_t next() const noexcept { return next_; }
    [[nodiscard]] size_t head_bytes() const noexcept {
        const uint64_t left = blob_bytes_ - next_;
        return static_cast<size_t>((std::min<uint64_t>)(left, is_in_frame_ ? 3 : most_head_bytes));
    }
    /// The frame whose last head was taken.
    [[nodiscard]] const zstd_frame& frame() const noexcept { return frame_; }

    /// Takes in the head, which is at least head_bytes() long. True if it was the frame's last. Errors: decode_failed.
    result<bool> take(const byte* head) { return is_in_frame_ ? take_block(head) : take_frame(head); }

private:
    [[nodiscard]] ZTENSOR_COLD error broken(const char* what) const {
        return fail(errc::decode_failed, "at byte {} of the blob {}", {next_, what});
    }

    ZTENSOR_COLD result<bool> take_frame(const byte* head) {
        const size_t available = head_bytes();
        const uint64_t found = available < zstd_magic_bytes ? 0 : load_little(head, zstd_magic_bytes);
        frame_ = {next_, 0, 0};
        if (is_skippable_magic(found)) {
            return available < 8 ? broken("a skippable frame is cut off") : end_frame(8 + load_little(head + 4, 4));
        }
        if (found != zstd_magic) {
            return broken("a zstd frame was expected, but its magic is not there");
        }
        const unsigned long long content = ZSTD_getFrameContentSize(head, available);
        if (content == ZSTD_CONTENTSIZE_ERROR) {
            return broken("the head of a zstd frame is damaged or cut off");
        }
        frame_.content_bytes = content == ZSTD_CONTENTSIZE_UNKNOWN ? zstd_frame::unknown : content;
        const auto descriptor = std::to_integer<unsigned>(head[4]);
        const bool is_single_segment = (descriptor & 0x20) != 0;
        constexpr size_t dictionary_bytes[] = {0, 1, 2, 4};
        constexpr size_t content_size_bytes[] = {0, 2, 4, 8};
        const bool has_short_size = is_single_segment && descriptor >> 6 == 0;
        const size_t size = 5 + (is_single_segment ? 0 : 1) + dictionary_bytes[descriptor & 3] +
                            (has_short_size ? 1 : content_size_bytes[descriptor >> 6]);
        checksum_bytes_ = (descriptor & 4) != 0 ? 4 : 0;
        is_in_frame_ = true;
        return advance(size) ? result<bool>(false) : broken("a zstd frame is cut off");
    }

    ZTENSOR_COLD result<bool> take_block(const byte* head) {
        constexpr unsigned run_block = 1;
        if (head_bytes() < 3) {
            return broken("a zstd frame is cut off");
        }
        const uint64_t block = load_little(head, 3);
        const uint64_t stored = (block >> 1 & 3) == run_block ? 1 : block >> 3;
        if ((block & 1) != 0) {
            return end_frame(3 + stored + checksum_bytes_);
        }
        return advance(3 + stored) ? result<bool>(false) : broken("a zstd frame is cut off");
    }

    result<bool> end_frame(uint64_t bytes) {
        is_in_frame_ = false;
        if (!advance(bytes)) {
            return broken("a zstd frame is cut off");
        }
        frame_.end = next_;
        return true;
    }

    [[nodiscard]] bool advance(uint64_t bytes) noexcept {
        if (bytes > blob_bytes_ - next_) {
            return false;
        }
        next_ += bytes;
        return true;
    }

    uint64_t blob_bytes_;
    uint64_t next_ = 0;
    zstd_frame frame_;
    uint64_t checksum_bytes_ = 0;
    bool is_in_frame_ = false;
};

// -- zstd seek table
//
// The table that ends a blob of seekable zstd: where its frames lie and what they hold. Pure functions on bytes.
// SPEC.md section 13.7.

/// The last bytes of the blob.
inline constexpr size_t seek_footer_bytes = 9;
/// The head of the skippable frame that the table is.
inline constexpr size_t seek_head_bytes = 8;
inline constexpr uint64_t seek_head_magic = 0x184D2A5E, seek_footer_magic = 0x8F92EAB1;
/// No frame holds more.
inline constexpr uint64_t most_seekable_content_bytes = uint64_t{16} << 20;

struct seek_footer {
    uint64_t frames = 0;
    uint64_t entry_bytes = 0; ///< 12 where each has a checksum, which the frame has, too; else 8
    [[nodiscard]] uint64_t table_bytes() const noexcept {
        return seek_head_bytes + frames * entry_bytes + seek_footer_bytes;
    }
};

/// Errors: decode_failed.
ZTENSOR_COLD inline result<seek_footer> read_seek_footer(bytes_view footer) {
    const auto descriptor = std::to_integer<unsigned>(footer[4]);
    if (load_little(footer.data() + 5, 4) != seek_footer_magic || (descriptor & 0x7c) != 0) {
        return fail(errc::decode_failed, "the blob does not end with the seek table of seekable zstd");
    }
    return seek_footer{load_little(footer.data(), 4), (descriptor & 0x80) != 0 ? 12u : 8u};
}

/// Where the frames of a blob lie.
class seek_table {
public:
    /// Takes in the whole table, of a blob of `blob_bytes` that decodes to `decoded_bytes`. Errors: decode_failed,
    /// decode_size. Throws std::bad_alloc.
    ZTENSOR_COLD result<void> read(bytes_view table, const seek_footer& footer, uint64_t blob_bytes,
                                   uint64_t decoded_bytes) {
        if (load_little(table.data(), 4) != seek_head_magic ||
            load_little(table.data() + 4, 4) != table.size() - seek_head_bytes) {
            return fail(errc::decode_failed, "the seek table is no skippable frame of its size");
        }
        begins_.reserve(static_cast<size_t>(footer.frames) + 1);
        uint64_t stored = 0, decoded = 0;
        const byte* entry = table.data() + seek_head_bytes;
        for (uint64_t i = 0; i < footer.frames; ++i, entry += footer.entry_bytes) {
            const uint64_t content = load_little(entry + 4, 4);
            const bool is_last = i + 1 == footer.frames;
            content_bytes_ = i == 0 ? content : content_bytes_;
            last_content_bytes_ = content;
            if (content > most_seekable_content_bytes || (!is_last && (content != content_bytes_ || content == 0))) {
                return fail(errc::decode_failed,
                            "frame {} holds {} bytes, but all before the last hold the same and none more than 16 MiB",
                            {i, content});
            }
            begins_.push_back(stored);
            stored += load_little(entry, 4);
            decoded += content;
        }
        begins_.push_back(stored);
        if (stored != blob_bytes - table.size()) {
            return fail(errc::decode_failed, "the seek table counts {} bytes of frames, but there are {}",
                        {stored, blob_bytes - table.size()});
        }
        if (decoded != decoded_bytes) {
            return fail(errc::decode_size, "the zstd blob decodes to {} bytes, but {} are declared",
                        {decoded, decoded_bytes});
        }
        return {};
    }

    [[nodiscard]] size_t frames() const noexcept { return begins_.empty() ? 0 : begins_.size() - 1; }
    /// Of a frame, in the blob.
    [[nodiscard]] uint64_t begin(size_t frame) const noexcept { return begins_[frame]; }
    [[nodiscard]] uint64_t end(size_t frame) const noexcept { return begins_[frame + 1]; }
    /// Of its content, in what the blob decodes to.
    [[nodiscard]] uint64_t content_begin(size_t frame) const noexcept { return frame * content_bytes_; }
    [[nodiscard]] uint64_t content_bytes(size_t frame) const noexcept {
        return frame + 1 == frames() ? last_content_bytes_ : content_bytes_;
    }
    /// The frame that holds the decoded byte at `position`; there is one.
    [[nodiscard]] size_t frame_at(uint64_t position) const noexcept {
        return static_cast<size_t>(
            (std::min<uint64_t>)(content_bytes_ == 0 ? 0 : position / content_bytes_, frames() - 1));
    }

private:
    record_array<uint64_t> begins_; ///< and the end of the last
    uint64_t content_bytes_ = 0;    ///< of all frames but the last
    uint64_t last_content_bytes_ = 0;
};

/// `stored` is one frame, and has a checksum of its content. Errors: decode_failed.
ZTENSOR_COLD inline result<void> check_seekable_frame(bytes_view stored) {
    constexpr unsigned checksum_flag = 4;
    if (stored.size() < 5 || load_little(stored.data(), zstd_magic_bytes) != zstd_magic ||
        ZSTD_findFrameCompressedSize(stored.data(), stored.size()) != stored.size()) {
        return fail(errc::decode_failed, "where the seek table says that a frame is there is none of that size");
    }
    if ((std::to_integer<unsigned>(stored[4]) & checksum_flag) == 0) {
        return fail(errc::decode_failed, "a frame of seekable zstd has no checksum of its content");
    }
    return {};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
