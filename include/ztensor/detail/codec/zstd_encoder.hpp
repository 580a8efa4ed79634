// SPDX-License-Identifier: MIT
//
// Bytes → one zstd frame, piece by piece. SPEC.md §6.2.
#ifndef ZTENSOR_DETAIL_CODEC_ZSTD_ENCODER_HPP
#define ZTENSOR_DETAIL_CODEC_ZSTD_ENCODER_HPP

#include <ztensor/detail/codec/zstd.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <zstd.h>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Errors: invalid_argument for a level that zstd does not have.
[[nodiscard]] inline result<void> check_zstd_level(int level) {
    if (level >= ZSTD_minCLevel() && level <= ZSTD_maxCLevel()) {
        return {};
    }
    return fail(errc::invalid_argument, "zstd level {} is outside {} … {}",
                {level, ZSTD_minCLevel(), ZSTD_maxCLevel()});
}

/// Who takes bytes that are ready.
struct byte_consumer {
    void* owner;
    result<void> (*take)(void* owner, bytes_view bytes);
};

/// Compresses into one frame, piece by piece, in memory that does not grow with the input.
class zstd_encoder {
public:
    /// `level` has been checked. `total_bytes`, where known, is written into the frame's header. Errors: out_of_memory.
    [[nodiscard]] ZTENSOR_COLD static result<std::unique_ptr<zstd_encoder>>
    create(int level, std::optional<std::uint64_t> total_bytes) {
        std::unique_ptr<zstd_encoder> encoder(new zstd_encoder);
        encoder->context_.reset(ZSTD_createCCtx());
        if (!encoder->context_ || !encoder->output_.allocate(ZSTD_CStreamOutSize())) {
            return fail(errc::out_of_memory, "no memory for a zstd encoder");
        }
        ZSTD_CCtx_setParameter(encoder->context_.get(), ZSTD_c_compressionLevel, level);
        ZSTD_CCtx_setPledgedSrcSize(encoder->context_.get(), total_bytes.value_or(ZSTD_CONTENTSIZE_UNKNOWN));
        return encoder;
    }

    /// Takes the next piece, ends the frame after it if it is the `last`, and hands on what is ready.
    [[nodiscard]] ZTENSOR_NOINLINE result<void> encode(bytes_view piece, bool last, byte_consumer out) {
        ZSTD_inBuffer input{piece.data(), piece.size(), 0};
        for (bool done = false; !done;) {
            ZSTD_outBuffer output{output_.data(), output_.size(), 0};
            const std::size_t left =
                ZSTD_compressStream2(context_.get(), &output, &input, last ? ZSTD_e_end : ZSTD_e_continue);
            if (ZSTD_isError(left) != 0) {
                return zstd_error(errc::encode_failed, "zstd can't compress", left);
            }
            if (result<void> taken = out.take(out.owner, {output_.data(), output.pos}); !taken) {
                return taken;
            }
            done = last ? left == 0 : input.pos == input.size;
        }
        return {};
    }

private:
    zstd_encoder() = default;

    struct context_deleter {
        void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
    };
    std::unique_ptr<ZSTD_CCtx, context_deleter> context_;
    byte_buffer output_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
