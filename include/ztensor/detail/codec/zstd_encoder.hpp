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
#include <optional>
#include <utility>

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

/// Compresses into one frame, piece by piece, in memory that does not grow with the input. Move-only.
class zstd_encoder {
public:
    zstd_encoder() noexcept = default;
    zstd_encoder(zstd_encoder&& other) noexcept
        : context_(std::exchange(other.context_, nullptr)), output_(std::move(other.output_)) {}
    zstd_encoder& operator=(zstd_encoder&& other) noexcept {
        std::swap(context_, other.context_);
        output_ = std::move(other.output_);
        return *this;
    }
    ~zstd_encoder() { ZSTD_freeCCtx(context_); }

    /// Called once, before anything else. `level` has been checked. `total_bytes`, where known, is written into the
    /// frame's header. Errors: out_of_memory.
    [[nodiscard]] ZTENSOR_COLD result<void> start(int level, std::optional<std::uint64_t> total_bytes) {
        context_ = ZSTD_createCCtx();
        if (context_ == nullptr || !output_.allocate(ZSTD_CStreamOutSize())) {
            return fail(errc::out_of_memory, "no memory for a zstd encoder");
        }
        ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, level);
        ZSTD_CCtx_setPledgedSrcSize(context_, total_bytes.value_or(ZSTD_CONTENTSIZE_UNKNOWN));
        return {};
    }
    [[nodiscard]] bool is_started() const noexcept { return context_ != nullptr; }

    /// Takes the next piece, ends the frame after it if it is the `last`, and hands on what is ready.
    [[nodiscard]] ZTENSOR_NOINLINE result<void> encode(bytes_view piece, bool last, byte_consumer out) {
        ZSTD_inBuffer input{piece.data(), piece.size(), 0};
        for (bool done = false; !done;) {
            ZSTD_outBuffer output{output_.data(), output_.size(), 0};
            const std::size_t left =
                ZSTD_compressStream2(context_, &output, &input, last ? ZSTD_e_end : ZSTD_e_continue);
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
    ZSTD_CCtx* context_ = nullptr;
    byte_buffer output_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
