// SPDX-License-Identifier: MIT
//
// One blob, from decoded elements to the sink: put into the file's byte order, compressed and digested on the way.
#ifndef ZTENSOR_DETAIL_WRITE_BLOB_WRITER_HPP
#define ZTENSOR_DETAIL_WRITE_BLOB_WRITER_HPP

#include <ztensor/byte_sink.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/store.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// One blob being written. Its memory does not grow with the blob.
class blob_writer {
public:
    /// At `position` of what goes into `sink`. `encoder` and `digester` are null where there is to be neither.
    blob_writer(byte_sink& sink, std::uint64_t position, const store& how, blob_encoder* encoder,
                blob_digester* digester, bool is_version_2) noexcept
        : sink_(&sink), position_(position), encoder_(encoder), digester_(digester),
          digests_decoded_(is_version_2 && encoder != nullptr), is_big_endian_(how.is_big_endian_) {
        if (encoder_ != nullptr) {
            begin_encoding(how, is_version_2);
        }
        if (digester_ != nullptr) {
            digester_->begin(how.digest_);
        }
    }

    /// The next elements, of a blob that ends with them if they are the `last`.
    [[nodiscard]] result<void> append(const blob_content& elements, bool last) {
        const bool must_swap = elements.swap_width >= 2 && is_big_endian_ == host_is_little_endian;
        return must_swap ? append_swapped(elements, last) : append_bytes(elements.bytes, last);
    }

    [[nodiscard]] std::uint64_t decoded_bytes() const noexcept { return decoded_bytes_; }
    [[nodiscard]] std::uint64_t stored_bytes() const noexcept { return stored_bytes_; }
    /// Of the blob that is ended.
    [[nodiscard]] ZTENSOR_COLD ztensor::encoding encoding() const noexcept {
        return encoder_ != nullptr ? encoder_->used() : ztensor::encoding::raw;
    }
    /// Of the stored bytes, in version 2 of the decoded ones; "" if there is to be none.
    [[nodiscard]] ZTENSOR_NOINLINE std::string digest_text() const {
        return digester_ != nullptr ? digester_->text() : std::string();
    }

private:
    // Cold, or g++ guesses the one encoder it sees.
    ZTENSOR_COLD void begin_encoding(const store& how, bool is_version_2) noexcept {
        encoder_->begin(how.zstd_level_, how.most_of_raw_, is_version_2);
    }

    [[nodiscard]] result<void> append_bytes(bytes_view piece, bool last) {
        decoded_bytes_ += piece.size();
        if (digests_decoded_) { // of version 2, where every blob has a digest
            digester_->update(piece);
        }
        return encoder_ != nullptr ? encoder_->encode(piece, last, {this, take_encoded}) : store_bytes(piece);
    }

    [[nodiscard]] ZTENSOR_COLD result<void> append_swapped(const blob_content& elements, bool last) {
        constexpr std::size_t piece_bytes = std::size_t{1} << 16; // a multiple of every width
        byte_buffer swapped;
        if (!swapped.allocate((std::min)(elements.bytes.size(), piece_bytes))) {
            return fail(errc::out_of_memory, "no memory for a piece of 64 KiB");
        }
        bytes_view rest = elements.bytes;
        do {
            const bytes_view next = rest.first((std::min)(rest.size(), piece_bytes));
            rest = rest.subspan(next.size());
            const span<std::byte> piece = swapped.writable_bytes().first(next.size());
            if (!piece.empty()) {
                std::memcpy(piece.data(), next.data(), next.size());
            }
            swap_elements(piece, elements.swap_width);
            ZTENSOR_TRY(append_bytes(piece, last && rest.empty()));
        } while (!rest.empty());
        return {};
    }

    [[nodiscard]] static result<void> take_encoded(void* self, bytes_view bytes) {
        return static_cast<blob_writer*>(self)->store_bytes(bytes);
    }

    [[nodiscard]] result<void> store_bytes(bytes_view bytes) {
        if (digester_ != nullptr && !digests_decoded_) {
            return store_digested(bytes);
        }
        stored_bytes_ += bytes.size();
        sink_->expect(bytes.size());
        return bytes.empty() ? result<void>() : sink_->write(bytes);
    }

    /// In pieces of the size that the sink takes best, which end at multiples of it in the file: each is still in the
    /// cache when it is written.
    [[nodiscard]] ZTENSOR_NOINLINE result<void> store_digested(bytes_view bytes) {
        while (!bytes.empty()) {
            const std::uint64_t piece_bytes = sink_->expect(bytes.size());
            const std::uint64_t left_of_piece = piece_bytes - (position_ + stored_bytes_) % piece_bytes;
            const bytes_view piece =
                bytes.first(static_cast<std::size_t>((std::min<std::uint64_t>)(bytes.size(), left_of_piece)));
            digester_->update(piece);
            stored_bytes_ += piece.size();
            ZTENSOR_TRY(sink_->write(piece));
            bytes = bytes.subspan(piece.size());
        }
        return {};
    }

    byte_sink* sink_;
    std::uint64_t position_;
    blob_encoder* encoder_;   ///< null: raw
    blob_digester* digester_; ///< null: none
    bool digests_decoded_;
    bool is_big_endian_;
    std::uint64_t decoded_bytes_ = 0;
    std::uint64_t stored_bytes_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
