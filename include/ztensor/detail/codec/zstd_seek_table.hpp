// SPDX-License-Identifier: MIT
//
// The table that ends a blob of seekable zstd: where its frames lie and what they hold. Pure functions on bytes.
// SPEC.md section 13.7.
#ifndef ZTENSOR_DETAIL_CODEC_ZSTD_SEEK_TABLE_HPP
#define ZTENSOR_DETAIL_CODEC_ZSTD_SEEK_TABLE_HPP

#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zstd.h>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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
