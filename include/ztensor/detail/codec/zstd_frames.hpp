// SPDX-License-Identifier: MIT
//
// Frames of zstd: where they begin and end, and the seek table behind them. SPEC.md section 6.
#ifndef ZTENSOR_DETAIL_CODEC_ZSTD_FRAMES_HPP
#define ZTENSOR_DETAIL_CODEC_ZSTD_FRAMES_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <zstd.h>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- zstd frames
//
// Where the frames of a zstd blob lie and what they hold, told from their heads alone. RFC 8878 section 3.1; SPEC.md
// section 6.2.

/// One frame of a blob; positions count from the blob's start.
struct zstd_frame {
    static constexpr std::uint64_t unknown = ~std::uint64_t{0};

    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t content_bytes = 0; ///< as the frame states it, or unknown
};

/// Goes from head to head through the frames of a blob: a frame's own, then one for each of its blocks, of which it is
/// given the bytes and asked where the next one is. So whole frames are passed over by reading a few bytes of each.
/// Nothing is believed that could lead out of the blob; whether blocks hold what they should, decoding tells.
class frame_walker {
public:
    explicit frame_walker(std::uint64_t blob_bytes) noexcept : blob_bytes_(blob_bytes) {}

    static constexpr std::size_t most_head_bytes = 18;

    [[nodiscard]] bool is_at_end() const noexcept { return next_ == blob_bytes_; }
    /// Where the next head is, and how many bytes of it are wanted.
    [[nodiscard]] std::uint64_t next() const noexcept { return next_; }
    [[nodiscard]] std::size_t head_bytes() const noexcept {
        const std::uint64_t left = blob_bytes_ - next_;
        return static_cast<std::size_t>((std::min<std::uint64_t>)(left, is_in_frame_ ? 3 : most_head_bytes));
    }
    /// The frame whose last head was taken.
    [[nodiscard]] const zstd_frame& frame() const noexcept { return frame_; }

    /// Takes in the head, which is at least head_bytes() long. True if it was the frame's last. Errors: decode_failed.
    [[nodiscard]] result<bool> take(const std::byte* head) {
        return is_in_frame_ ? take_block(head) : take_frame(head);
    }

private:
    [[nodiscard]] ZTENSOR_COLD error broken(const char* what) const {
        return fail(errc::decode_failed, "at byte {} of the blob {}", {next_, what});
    }

    [[nodiscard]] ZTENSOR_COLD result<bool> take_frame(const std::byte* head) {
        constexpr std::uint64_t magic = 0xFD2FB528;
        constexpr std::uint64_t skippable_magic = 0x184D2A50; // the low four bits are free
        const std::size_t available = head_bytes();
        const std::uint64_t found = available < 4 ? 0 : load_little(head, 4);
        frame_ = {next_, 0, 0};
        if ((found & ~std::uint64_t{15}) == skippable_magic) {
            return available < 8 ? broken("a skippable frame is cut off") : end_frame(8 + load_little(head + 4, 4));
        }
        if (found != magic) {
            return broken("a zstd frame was expected, but its magic is not there");
        }
        const unsigned long long content = ZSTD_getFrameContentSize(head, available);
        if (content == ZSTD_CONTENTSIZE_ERROR) {
            return broken("the head of a zstd frame is damaged or cut off");
        }
        frame_.content_bytes = content == ZSTD_CONTENTSIZE_UNKNOWN ? zstd_frame::unknown : content;
        const auto descriptor = std::to_integer<unsigned>(head[4]);
        const bool is_single_segment = (descriptor & 0x20) != 0;
        constexpr std::size_t dictionary_bytes[] = {0, 1, 2, 4};
        constexpr std::size_t content_size_bytes[] = {0, 2, 4, 8};
        const bool has_short_size = is_single_segment && descriptor >> 6 == 0;
        const std::size_t size = 5 + (is_single_segment ? 0 : 1) + dictionary_bytes[descriptor & 3] +
                                 (has_short_size ? 1 : content_size_bytes[descriptor >> 6]);
        checksum_bytes_ = (descriptor & 4) != 0 ? 4 : 0;
        is_in_frame_ = true;
        return advance(size) ? result<bool>(false) : broken("a zstd frame is cut off");
    }

    [[nodiscard]] ZTENSOR_COLD result<bool> take_block(const std::byte* head) {
        constexpr unsigned run_block = 1;
        if (head_bytes() < 3) {
            return broken("a zstd frame is cut off");
        }
        const std::uint64_t block = load_little(head, 3);
        const std::uint64_t stored = (block >> 1 & 3) == run_block ? 1 : block >> 3;
        if ((block & 1) != 0) {
            return end_frame(3 + stored + checksum_bytes_);
        }
        return advance(3 + stored) ? result<bool>(false) : broken("a zstd frame is cut off");
    }

    [[nodiscard]] result<bool> end_frame(std::uint64_t bytes) {
        is_in_frame_ = false;
        if (!advance(bytes)) {
            return broken("a zstd frame is cut off");
        }
        frame_.end = next_;
        return true;
    }

    [[nodiscard]] bool advance(std::uint64_t bytes) noexcept {
        if (bytes > blob_bytes_ - next_) {
            return false;
        }
        next_ += bytes;
        return true;
    }

    std::uint64_t blob_bytes_;
    std::uint64_t next_ = 0;
    zstd_frame frame_;
    std::uint64_t checksum_bytes_ = 0;
    bool is_in_frame_ = false;
};

// -- zstd seek table
//
// The table that ends a blob of seekable zstd: where its frames lie and what they hold. Pure functions on bytes.
// SPEC.md section 13.7.

/// The last bytes of the blob.
inline constexpr std::size_t seek_footer_bytes = 9;
/// The head of the skippable frame that the table is.
inline constexpr std::size_t seek_head_bytes = 8;
/// No frame holds more.
inline constexpr std::uint64_t most_seekable_content_bytes = std::uint64_t{16} << 20;

struct seek_footer {
    std::uint64_t frames = 0;
    std::uint64_t entry_bytes = 0; ///< 12 where each has a checksum, which the frame has, too; else 8
    [[nodiscard]] std::uint64_t table_bytes() const noexcept {
        return seek_head_bytes + frames * entry_bytes + seek_footer_bytes;
    }
};

/// Errors: decode_failed.
[[nodiscard]] ZTENSOR_COLD inline result<seek_footer> read_seek_footer(bytes_view footer) {
    constexpr std::uint64_t magic = 0x8F92EAB1;
    const auto descriptor = std::to_integer<unsigned>(footer[4]);
    if (load_little(footer.data() + 5, 4) != magic || (descriptor & 0x7c) != 0) {
        return fail(errc::decode_failed, "the blob does not end with the seek table of seekable zstd");
    }
    return seek_footer{load_little(footer.data(), 4), (descriptor & 0x80) != 0 ? 12u : 8u};
}

/// Where the frames of a blob lie.
class seek_table {
public:
    /// Takes in the whole table, of a blob of `blob_bytes` that decodes to `decoded_bytes`. Errors: decode_failed,
    /// decode_size. Throws std::bad_alloc.
    [[nodiscard]] ZTENSOR_COLD result<void> read(bytes_view table, const seek_footer& footer, std::uint64_t blob_bytes,
                                                 std::uint64_t decoded_bytes) {
        constexpr std::uint64_t skippable_magic = 0x184D2A5E;
        if (load_little(table.data(), 4) != skippable_magic ||
            load_little(table.data() + 4, 4) != table.size() - seek_head_bytes) {
            return fail(errc::decode_failed, "the seek table is no skippable frame of its size");
        }
        begins_.reserve(static_cast<std::size_t>(footer.frames) + 1);
        std::uint64_t stored = 0, decoded = 0;
        const std::byte* entry = table.data() + seek_head_bytes;
        for (std::uint64_t i = 0; i < footer.frames; ++i, entry += footer.entry_bytes) {
            const std::uint64_t content = load_little(entry + 4, 4);
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

    [[nodiscard]] std::size_t frames() const noexcept { return begins_.empty() ? 0 : begins_.size() - 1; }
    /// Of a frame, in the blob.
    [[nodiscard]] std::uint64_t begin(std::size_t frame) const noexcept { return begins_[frame]; }
    [[nodiscard]] std::uint64_t end(std::size_t frame) const noexcept { return begins_[frame + 1]; }
    /// Of its content, in what the blob decodes to.
    [[nodiscard]] std::uint64_t content_begin(std::size_t frame) const noexcept { return frame * content_bytes_; }
    [[nodiscard]] std::uint64_t content_bytes(std::size_t frame) const noexcept {
        return frame + 1 == frames() ? last_content_bytes_ : content_bytes_;
    }
    /// The frame that holds the decoded byte at `position`; there is one.
    [[nodiscard]] std::size_t frame_at(std::uint64_t position) const noexcept {
        return static_cast<std::size_t>(
            (std::min<std::uint64_t>)(content_bytes_ == 0 ? 0 : position / content_bytes_, frames() - 1));
    }

private:
    record_array<std::uint64_t> begins_; ///< and the end of the last
    std::uint64_t content_bytes_ = 0;    ///< of all frames but the last
    std::uint64_t last_content_bytes_ = 0;
};

/// `stored` is one frame, and has a checksum of its content. Errors: decode_failed.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_seekable_frame(bytes_view stored) {
    constexpr std::uint64_t magic = 0xFD2FB528;
    constexpr unsigned checksum_flag = 4;
    if (stored.size() < 5 || load_little(stored.data(), 4) != magic ||
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
