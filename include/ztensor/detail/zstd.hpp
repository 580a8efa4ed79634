// SPDX-License-Identifier: MIT
//
// The only room that knows zstd: blobs of frames → bytes of an exact size, and bytes → one frame. SPEC.md §6.2.
#ifndef ZTENSOR_DETAIL_ZSTD_HPP
#define ZTENSOR_DETAIL_ZSTD_HPP

#include <ztensor/detail/checked.hpp>
#include <ztensor/detail/endian.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <zstd.h>
#include <zstd_errors.h>

namespace ztensor {
inline namespace v0 {
namespace detail {

struct zstd_context_deleter {
    void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
    void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
};

/// One per thread, kept: making a context costs 6.8× the decoding of a 1 KiB blob.
[[nodiscard]] inline ZSTD_DCtx* thread_decoder() noexcept {
    thread_local const std::unique_ptr<ZSTD_DCtx, zstd_context_deleter> context(ZSTD_createDCtx());
    return context.get();
}

[[nodiscard]] inline error zstd_error(errc code, const char* doing, std::size_t zstd_code) {
    return error(code, std::string(doing) + ": " + ZSTD_getErrorName(zstd_code));
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
            return error(errc::decode_failed, "at byte " + std::to_string(stored.size() - rest.size()) +
                                                  " of the blob a zstd frame was expected, but its magic is not there");
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
    if (result<void> frames = check_zstd_frames(stored); !frames) {
        return frames;
    }
    ZSTD_DCtx* const context = thread_decoder();
    if (context == nullptr) {
        return error(errc::out_of_memory, "no memory for a zstd decoder");
    }
    const std::size_t decoded_bytes =
        ZSTD_decompressDCtx(context, destination.data(), destination.size(), stored.data(), stored.size());
    if (ZSTD_isError(decoded_bytes) != 0) {
        if (ZSTD_getErrorCode(decoded_bytes) == ZSTD_error_dstSize_tooSmall) {
            return error(errc::decode_size, "the zstd blob decodes to more than the " +
                                                std::to_string(destination.size()) + " bytes declared");
        }
        return zstd_error(errc::decode_failed, "zstd can't decode the blob", decoded_bytes);
    }
    if (decoded_bytes != destination.size()) {
        return error(errc::decode_size, "the zstd blob decodes to " + std::to_string(decoded_bytes) + " bytes, but " +
                                            std::to_string(destination.size()) + " are declared");
    }
    return {};
}

/// Decodes all frames of `stored`, whose decoded size is not known, into at most `max_bytes`. Tries buffers of growing
/// size: decoding in one go needs no window, whose size a hostile frame could choose.
/// Errors: as decode_zstd; limit_exceeded.
[[nodiscard]] inline result<std::vector<std::byte>> decode_zstd_within(bytes_view stored, std::uint64_t max_bytes) {
    if (result<void> frames = check_zstd_frames(stored); !frames) {
        return std::move(frames).error();
    }
    ZSTD_DCtx* const context = thread_decoder();
    if (context == nullptr) {
        return error(errc::out_of_memory, "no memory for a zstd decoder");
    }
    const std::uint64_t most = std::min({max_bytes, checked_multiply(stored.size(), max_zstd_ratio).value_or(max_bytes),
                                         std::uint64_t{std::numeric_limits<std::ptrdiff_t>::max()}});
    constexpr std::uint64_t smallest_try = 4096;
    std::vector<std::byte> decoded;
    for (std::uint64_t size = std::max(smallest_try, std::uint64_t{stored.size()} * 2);; size *= 4) {
        size = std::min(size, most);
        decoded.resize(static_cast<std::size_t>(size));
        const std::size_t decoded_bytes =
            ZSTD_decompressDCtx(context, decoded.data(), decoded.size(), stored.data(), stored.size());
        if (ZSTD_isError(decoded_bytes) == 0) {
            decoded.resize(decoded_bytes);
            return decoded;
        }
        if (ZSTD_getErrorCode(decoded_bytes) != ZSTD_error_dstSize_tooSmall) {
            return zstd_error(errc::decode_failed, "zstd can't decode the blob", decoded_bytes);
        }
        if (size == most) {
            return error(errc::limit_exceeded, "the zstd blob decodes to more than the " + std::to_string(max_bytes) +
                                                   " bytes of read_options::max_decoded_bytes");
        }
    }
}

/// Errors: invalid_argument for a level that zstd does not have.
[[nodiscard]] inline result<void> check_zstd_level(int level) {
    if (level >= ZSTD_minCLevel() && level <= ZSTD_maxCLevel()) {
        return {};
    }
    return error(errc::invalid_argument, "zstd level " + std::to_string(level) + " is outside " +
                                             std::to_string(ZSTD_minCLevel()) + " … " +
                                             std::to_string(ZSTD_maxCLevel()));
}

/// Compresses into one frame, piece by piece, in memory that does not grow with the input.
class zstd_encoder {
public:
    /// `level` has been checked. `total_bytes`, where known, is written into the frame's header. Errors: out_of_memory.
    [[nodiscard]] static result<std::unique_ptr<zstd_encoder>> create(int level,
                                                                      std::optional<std::uint64_t> total_bytes) {
        std::unique_ptr<zstd_encoder> encoder(new zstd_encoder);
        encoder->context_.reset(ZSTD_createCCtx());
        if (!encoder->context_) {
            return error(errc::out_of_memory, "no memory for a zstd encoder");
        }
        encoder->output_.resize(ZSTD_CStreamOutSize());
        ZSTD_CCtx_setParameter(encoder->context_.get(), ZSTD_c_compressionLevel, level);
        ZSTD_CCtx_setPledgedSrcSize(encoder->context_.get(), total_bytes.value_or(ZSTD_CONTENTSIZE_UNKNOWN));
        return encoder;
    }

    /// Takes the next piece, ends the frame after it if it is the `last`, and hands what is ready to
    /// `write(bytes_view) → result<void>`.
    template <class Write>
    [[nodiscard]] result<void> encode(bytes_view piece, bool last, Write&& write) {
        ZSTD_inBuffer input{piece.data(), piece.size(), 0};
        for (bool done = false; !done;) {
            ZSTD_outBuffer output{output_.data(), output_.size(), 0};
            const std::size_t left =
                ZSTD_compressStream2(context_.get(), &output, &input, last ? ZSTD_e_end : ZSTD_e_continue);
            if (ZSTD_isError(left) != 0) {
                return zstd_error(errc::encode_failed, "zstd can't compress", left);
            }
            if (result<void> written = write(bytes_view(output_.data(), output.pos)); !written) {
                return written;
            }
            done = last ? left == 0 : input.pos == input.size;
        }
        return {};
    }

private:
    zstd_encoder() = default;

    std::unique_ptr<ZSTD_CCtx, zstd_context_deleter> context_;
    std::vector<std::byte> output_;
};

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
