// SPDX-License-Identifier: MIT
//
// Bytes -> zstd frames that state the size of their content. SPEC.md section 6.2.
#ifndef ZTENSOR_DETAIL_CODEC_ZSTD_ENCODER_HPP
#define ZTENSOR_DETAIL_CODEC_ZSTD_ENCODER_HPP

#include <ztensor/detail/codec/zstd.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/os/thread_storage.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <utility>

#include <zstd.h>
#include <zstd_errors.h>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Errors: invalid_argument for a level that zstd does not have.
[[nodiscard]] inline result<void> check_zstd_level(int level) {
    if (level >= ZSTD_minCLevel() && level <= ZSTD_maxCLevel()) {
        return {};
    }
    return fail(errc::invalid_argument, "zstd level {} is outside {} ... {}",
                {level, ZSTD_minCLevel(), ZSTD_maxCLevel()});
}

/// No frame of so many bytes takes more.
[[nodiscard]] inline std::size_t most_zstd_bytes(std::size_t content_bytes) noexcept {
    return ZSTD_compressBound(content_bytes);
}

/// Compresses frame after frame with one context, which making anew would cost 2.5x the encoding of 1 KiB: so a thread
/// keeps one from writer to writer. One thread at a time uses an encoder.
class zstd_encoder {
public:
    zstd_encoder() noexcept = default;
    zstd_encoder(const zstd_encoder&) = delete;
    zstd_encoder& operator=(const zstd_encoder&) = delete;
    ~zstd_encoder() {
        if (context_ == nullptr) {
            return;
        }
        const kept_object mine = {context_, 0, [](void* context) { ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(context)); }};
        if (ZSTD_sizeof_CCtx(context_) <= most_kept_bytes) {
            keep(kept_kind::zstd_encoder, mine);
        } else {
            mine.destroy(mine.object);
        }
    }

    /// Before the first frame; does nothing after that. False where memory runs out.
    [[nodiscard]] bool start() noexcept {
        if (context_ == nullptr) {
            context_ = static_cast<ZSTD_CCtx*>(take_kept(kept_kind::zstd_encoder).object);
        }
        context_ = context_ != nullptr ? context_ : ZSTD_createCCtx();
        return context_ != nullptr;
    }

    /// One frame of all of `content`, at the front of `to`, which has room for most_zstd_bytes(). Gives its size, or
    /// what failure() understands. `level` has been checked.
    [[nodiscard]] std::size_t encode(int level, bytes_view content, span<std::byte> to) noexcept {
        return ZSTD_compressCCtx(context_, to.data(), to.size(), content.data(), content.size(), level);
    }

    /// The same with a checksum of the content behind it.
    [[nodiscard]] std::size_t encode_checked(int level, bytes_view content, span<std::byte> to) noexcept {
        for (const auto& [parameter, value] : {std::pair(ZSTD_c_compressionLevel, level), {ZSTD_c_checksumFlag, 1}}) {
            if (const std::size_t refused = ZSTD_CCtx_setParameter(context_, parameter, value);
                ZSTD_isError(refused) != 0) {
                return refused;
            }
        }
        return ZSTD_compress2(context_, to.data(), to.size(), content.data(), content.size());
    }

    /// What `encoded` has failed with, if it has. Errors: encode_failed, out_of_memory.
    [[nodiscard]] static result<void> failure(std::size_t encoded) {
        if (ZSTD_isError(encoded) == 0) {
            return {};
        }
        const bool no_memory = ZSTD_getErrorCode(encoded) == ZSTD_error_memory_allocation;
        return zstd_error(no_memory ? errc::out_of_memory : errc::encode_failed, "zstd can't compress", encoded);
    }

private:
    static constexpr std::size_t most_kept_bytes = std::size_t{4} << 20; ///< low levels take less, high ones 100 MiB

    ZSTD_CCtx* context_ = nullptr;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
