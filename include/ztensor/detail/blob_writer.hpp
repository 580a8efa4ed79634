// SPDX-License-Identifier: MIT
//
// Decoded bytes → one blob in a sink: byte order, compression and digest in one pass, piece by piece. SPEC.md §6, §7.
#ifndef ZTENSOR_DETAIL_BLOB_WRITER_HPP
#define ZTENSOR_DETAIL_BLOB_WRITER_HPP

#include <ztensor/byte_sink.hpp>
#include <ztensor/detail/endian.hpp>
#include <ztensor/detail/zstd.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace v0 {
namespace detail {

/// One blob being written. Its memory does not grow with the blob.
class blob_writer {
public:
    /// `decoded_bytes`, where known, goes into the zstd frame's header; the zstd level has been checked.
    /// Errors: out_of_memory.
    [[nodiscard]] static result<blob_writer> create(byte_sink& sink, const store& how,
                                                    std::optional<std::uint64_t> decoded_bytes) {
        blob_writer writer(sink, how);
        if (how.encoding_ == encoding::zstd) {
            result<std::unique_ptr<zstd_encoder>> encoder = zstd_encoder::create(how.zstd_level_, decoded_bytes);
            if (!encoder) {
                return std::move(encoder).error();
            }
            writer.encoder_ = *std::move(encoder);
        }
        return writer;
    }

    /// The next decoded bytes, as the file will hold them.
    [[nodiscard]] result<void> append(bytes_view piece) {
        decoded_bytes_ += piece.size();
        return encoder_ ? encoder_->encode(piece, false, [this](bytes_view out) { return store_bytes(out); })
                        : store_bytes(piece);
    }

    /// The next elements of `width` bytes as they lie in memory; with a width of 1, bytes as the file will hold them.
    [[nodiscard]] result<void> append_host_order(bytes_view elements, std::size_t width) {
        if (width < 2 || is_big_endian_ != host_is_little_endian) {
            return append(elements);
        }
        constexpr std::size_t piece_bytes = std::size_t{1} << 16; // a multiple of every width
        std::vector<std::byte> piece;
        while (!elements.empty()) {
            const bytes_view next = elements.first(std::min(elements.size(), piece_bytes));
            piece.assign(next.begin(), next.end());
            swap_elements(piece, width);
            if (result<void> appended = append(piece); !appended) {
                return appended;
            }
            elements = elements.subspan(next.size());
        }
        return {};
    }

    /// Ends the blob.
    [[nodiscard]] result<void> finish() {
        return encoder_ ? encoder_->encode({}, true, [this](bytes_view out) { return store_bytes(out); })
                        : result<void>();
    }

    [[nodiscard]] std::uint64_t decoded_bytes() const noexcept { return decoded_bytes_; }
    [[nodiscard]] std::uint64_t stored_bytes() const noexcept { return stored_bytes_; }
    /// Of the stored bytes; "" if none was asked for.
    [[nodiscard]] std::string digest_text() const { return digester_.text(); }

private:
    blob_writer(byte_sink& sink, const store& how) noexcept
        : sink_(&sink), digester_(how.digest_), is_big_endian_(how.is_big_endian_) {}

    [[nodiscard]] result<void> store_bytes(bytes_view bytes) {
        digester_.update(bytes);
        stored_bytes_ += bytes.size();
        return sink_->write(bytes);
    }

    byte_sink* sink_;
    digester digester_;
    bool is_big_endian_;
    std::unique_ptr<zstd_encoder> encoder_; ///< null: raw
    std::uint64_t decoded_bytes_ = 0;
    std::uint64_t stored_bytes_ = 0;
};

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
