// SPDX-License-Identifier: MIT
//
// Blobs of zstd frames -> bytes, a piece at a time, for what is larger than memory. SPEC.md section 6.2.
#ifndef ZTENSOR_DETAIL_CODEC_ZSTD_STREAM_HPP
#define ZTENSOR_DETAIL_CODEC_ZSTD_STREAM_HPP

#include <ztensor/detail/codec/zstd.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <zstd.h>
#include <zstd_errors.h>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Decodes frame after frame. Owned by one thread at a time.
class zstd_stream {
public:
    /// Fewer stored bytes than these start no frame.
    static constexpr std::size_t least_stored_bytes = 4;

    zstd_stream() noexcept = default;
    zstd_stream(const zstd_stream&) = delete;
    zstd_stream& operator=(const zstd_stream&) = delete;
    ~zstd_stream() { ZSTD_freeDCtx(context_); }

    /// Before the first frame of a blob that decodes to at most so many bytes: no frame needs a larger window, and one
    /// that asks for it is refused before memory is taken. Errors: out_of_memory.
    [[nodiscard]] result<void> start(std::uint64_t decoded_bytes) {
        context_ = ZSTD_createDCtx();
        if (context_ == nullptr) {
            return fail(errc::out_of_memory, "no memory for a zstd decoder");
        }
        const ZSTD_bounds bounds = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
        int window_log = bounds.lowerBound;
        while (window_log < bounds.upperBound && std::uint64_t{1} << window_log < decoded_bytes) {
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
    [[nodiscard]] result<std::size_t> decode(bytes_view& stored, span<std::byte> to) {
        ZSTD_outBuffer made{to.data(), to.size(), 0};
        while (made.pos < made.size) {
            if (is_between_frames_) {
                if (stored.size() < least_stored_bytes) {
                    break;
                }
                ZTENSOR_TRY(check_magic(stored));
            }
            ZSTD_inBuffer taken{stored.data(), stored.size(), 0};
            const std::size_t before = made.pos;
            const std::size_t left = ZSTD_decompressStream(context_, &made, &taken);
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

    [[nodiscard]] static result<void> check_magic(bytes_view stored) {
        constexpr std::uint64_t magic = 0xFD2FB528;
        constexpr std::uint64_t skippable_magic = 0x184D2A50; // the low four bits are free
        const std::uint64_t found = load_little(stored.data(), least_stored_bytes);
        if (found == magic || (found & ~std::uint64_t{15}) == skippable_magic) {
            return {};
        }
        return fail(errc::decode_failed, "a zstd frame was expected in the blob, but its magic is not there");
    }

    [[nodiscard]] static error refused(std::size_t zstd_code) {
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

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
