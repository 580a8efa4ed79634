// SPDX-License-Identifier: MIT
//
// Blobs of zstd frames -> bytes. With zstd_encoder.hpp the only room that knows zstd. SPEC.md section 6.2.
#ifndef ZTENSOR_DETAIL_CODEC_ZSTD_HPP
#define ZTENSOR_DETAIL_CODEC_ZSTD_HPP

#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/os/thread_storage.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include <zstd.h>
#include <zstd_errors.h>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A context to decode with, which the thread keeps for its next call: making one costs 6.8x the decoding of a 1 KiB
/// blob.
class zstd_decoder {
public:
    zstd_decoder() noexcept : context_(static_cast<ZSTD_DCtx*>(take_kept(kept_kind::zstd_decoder).object)) {
        context_ = context_ != nullptr ? context_ : ZSTD_createDCtx();
    }
    zstd_decoder(const zstd_decoder&) = delete;
    zstd_decoder& operator=(const zstd_decoder&) = delete;
    ~zstd_decoder() {
        if (context_ != nullptr) {
            keep(kept_kind::zstd_decoder,
                 {context_, 0, [](void* context) { ZSTD_freeDCtx(static_cast<ZSTD_DCtx*>(context)); }});
        }
    }

    /// Null where memory runs out.
    [[nodiscard]] ZSTD_DCtx* context() const noexcept { return context_; }

private:
    ZSTD_DCtx* context_;
};

[[nodiscard]] inline error zstd_error(errc code, const char* doing, std::size_t zstd_code) {
    return fail(code, "{}: {}", {doing, ZSTD_getErrorName(zstd_code)});
}

/// Every frame must start with the magic of current or skippable frames: libzstd may be built with decoders of
/// formats before 0.8, which had memory errors and are not part of .zt.
[[nodiscard]] inline result<void> check_zstd_frames(bytes_view stored) {
    constexpr std::uint64_t magic = 0xFD2FB528;
    constexpr std::uint64_t skippable_magic = 0x184D2A50; // the low four bits are free
    constexpr std::size_t frame_magic_bytes = 4;
    for (bytes_view rest = stored; !rest.empty();) {
        const std::uint64_t found = rest.size() < frame_magic_bytes ? 0 : load_little(rest.data(), frame_magic_bytes);
        if (found != magic && (found & ~std::uint64_t{15}) != skippable_magic) {
            return fail(errc::decode_failed,
                        "at byte {} of the blob a zstd frame was expected, but its magic is not there",
                        {stored.size() - rest.size()});
        }
        const std::size_t frame_bytes = ZSTD_findFrameCompressedSize(rest.data(), rest.size());
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
[[nodiscard]] inline result<void> decode_zstd(bytes_view stored, span<std::byte> destination) {
    ZTENSOR_TRY(check_zstd_frames(stored));
    const zstd_decoder decoder;
    ZSTD_DCtx* const context = decoder.context();
    if (context == nullptr) {
        return fail(errc::out_of_memory, "no memory for a zstd decoder");
    }
    const std::size_t decoded_bytes =
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
[[nodiscard]] ZTENSOR_COLD inline std::optional<std::uint64_t> stated_content_bytes(bytes_view stored) noexcept {
    std::uint64_t total = 0;
    while (!stored.empty()) {
        const unsigned long long content = ZSTD_getFrameContentSize(stored.data(), stored.size());
        const std::size_t frame = ZSTD_findFrameCompressedSize(stored.data(), stored.size());
        if (content == ZSTD_CONTENTSIZE_UNKNOWN || content == ZSTD_CONTENTSIZE_ERROR || ZSTD_isError(frame) != 0 ||
            content > ~std::uint64_t{0} - total) {
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
[[nodiscard]] inline result<std::size_t> decode_zstd_within(bytes_view stored, std::uint64_t max_bytes,
                                                            byte_buffer& decoded) {
    ZTENSOR_TRY(check_zstd_frames(stored));
    const zstd_decoder decoder;
    ZSTD_DCtx* const context = decoder.context();
    if (context == nullptr) {
        return fail(errc::out_of_memory, "no memory for a zstd decoder");
    }
    const std::uint64_t most =
        (std::min<std::uint64_t>)((std::min)(max_bytes,
                                             checked_multiply(stored.size(), max_zstd_ratio).value_or(max_bytes)),
                                  (std::numeric_limits<std::ptrdiff_t>::max)());
    constexpr std::uint64_t smallest_try = 4096;
    const std::optional<std::uint64_t> stated = stated_content_bytes(stored);
    for (std::uint64_t size = stated.value_or((std::max)(smallest_try, std::uint64_t{stored.size()} * 2));;
         size = (std::max)(smallest_try, size * 2)) {
        size = (std::min)(size, most);
        if (!decoded.allocate(static_cast<std::size_t>(size))) {
            return fail(errc::out_of_memory, "no memory for a component of {} bytes", {size});
        }
        const std::size_t decoded_bytes =
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

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
