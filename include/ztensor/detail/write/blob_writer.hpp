// SPDX-License-Identifier: MIT
//
// Decoded bytes → one blob in a sink: byte order, compression and digest in one pass, piece by piece. SPEC.md §6, §7.
#ifndef ZTENSOR_DETAIL_WRITE_BLOB_WRITER_HPP
#define ZTENSOR_DETAIL_WRITE_BLOB_WRITER_HPP

#include <ztensor/byte_sink.hpp>
#include <ztensor/detail/codec/zstd_encoder.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// One blob being written. Its memory does not grow with the blob.
class blob_writer {
public:
    /// `decoded_bytes`, where known, goes into the zstd frame's header; the zstd level has been checked.
    /// Errors: out_of_memory.
    [[nodiscard]] ZTENSOR_COLD static result<blob_writer> create(byte_sink& sink, const store& how,
                                                                 std::optional<std::uint64_t> decoded_bytes) {
        blob_writer writer(sink, how);
        if (how.encoding_ == encoding::zstd) {
            if (result<void> started = writer.encoder_.start(how.zstd_level_, decoded_bytes); !started) {
                return std::move(started).error();
            }
        }
        return writer;
    }

    /// The next decoded bytes, as the file will hold them.
    [[nodiscard]] ZTENSOR_NOINLINE result<void> append(bytes_view piece) {
        decoded_bytes_ += piece.size();
        return encoder_.is_started() ? encoder_.encode(piece, false, {this, store_bytes}) : store_bytes(this, piece);
    }

    /// The next elements of `width` bytes as they lie in memory; with a width of 1, bytes as the file will hold them.
    [[nodiscard]] ZTENSOR_NOINLINE result<void> append_host_order(bytes_view elements, std::size_t width) {
        if (width < 2 || is_big_endian_ != host_is_little_endian) {
            return append(elements);
        }
        constexpr std::size_t piece_bytes = std::size_t{1} << 16; // a multiple of every width
        byte_buffer swapped;
        if (!swapped.allocate(std::min(elements.size(), piece_bytes))) {
            return fail(errc::out_of_memory, "no memory for a piece of 64 KiB");
        }
        while (!elements.empty()) {
            const bytes_view next = elements.first(std::min(elements.size(), piece_bytes));
            const span<std::byte> piece = swapped.writable_bytes().first(next.size());
            std::memcpy(piece.data(), next.data(), next.size());
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
        return encoder_.is_started() ? encoder_.encode({}, true, {this, store_bytes}) : result<void>();
    }

    [[nodiscard]] std::uint64_t decoded_bytes() const noexcept { return decoded_bytes_; }
    [[nodiscard]] std::uint64_t stored_bytes() const noexcept { return stored_bytes_; }
    /// Of the stored bytes; "" if none was asked for.
    [[nodiscard]] std::string digest_text() const { return digester_.text(); }

private:
    blob_writer(byte_sink& sink, const store& how) noexcept
        : sink_(&sink), digester_(how.digest_), is_big_endian_(how.is_big_endian_) {}

    [[nodiscard]] static result<void> store_bytes(void* self, bytes_view bytes) {
        blob_writer& mine = *static_cast<blob_writer*>(self);
        mine.digester_.update(bytes);
        mine.stored_bytes_ += bytes.size();
        return mine.sink_->write(bytes);
    }

    byte_sink* sink_;
    digester digester_;
    bool is_big_endian_;
    zstd_encoder encoder_; ///< not started: raw
    std::uint64_t decoded_bytes_ = 0;
    std::uint64_t stored_bytes_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
