// SPDX-License-Identifier: MIT
//
// Decoded bytes -> one blob in a sink: byte order, compression and digest in one pass, piece by piece. Compression and
// digests are reached through classes of their own, so that programs which never ask for them hold no code of theirs.
// SPEC.md section 6, section 7.
#ifndef ZTENSOR_DETAIL_WRITE_BLOB_ENCODER_HPP
#define ZTENSOR_DETAIL_WRITE_BLOB_ENCODER_HPP

#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <string>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Who takes bytes that are ready.
struct byte_consumer {
    void* owner;
    result<void> (*take)(void* owner, bytes_view bytes);
};

/// Compresses the blobs of a writer one after the other. One thread at a time calls it.
class blob_encoder {
public:
    virtual ~blob_encoder() = default;
    blob_encoder(const blob_encoder&) = delete;
    blob_encoder& operator=(const blob_encoder&) = delete;

    /// Errors: invalid_argument for a level that there isn't.
    [[nodiscard]] virtual result<void> check(int level) const = 0;
    /// Starts a blob, as store::zstd_if_smaller() says; one that was not ended is forgotten. `seekable`: as version 2
    /// has it, zt.zstd-seekable/1.
    virtual void begin(int level, double most_of_raw, bool seekable) noexcept = 0;
    /// Takes the next piece, ends the blob after it if it is the `last`, and hands on what is ready, on this thread.
    [[nodiscard]] result<void> encode(bytes_view piece, bool last, byte_consumer out) {
        return encode_(*this, piece, last, out);
    }
    /// How the blob, once it is ended, is stored: raw where compressing it did not pay.
    [[nodiscard]] virtual ztensor::encoding used() const noexcept = 0;

protected:
    using encode_function = result<void> (*)(blob_encoder& self, bytes_view piece, bool last, byte_consumer out);

    explicit blob_encoder(encode_function how) noexcept : encode_(how) {}

private:
    encode_function encode_; ///< not virtual: g++ guesses the one class it sees, and then compiles all of zstd anyway
};

/// Computes the digests of the blobs of a writer one after the other.
class blob_digester {
public:
    virtual ~blob_digester() = default;
    blob_digester(const blob_digester&) = delete;
    blob_digester& operator=(const blob_digester&) = delete;

    virtual void begin(digest algorithm) noexcept = 0;
    void update(bytes_view bytes) noexcept { update_(*this, bytes); }
    [[nodiscard]] virtual std::string text() const = 0;

protected:
    using update_function = void (*)(blob_digester& self, bytes_view bytes) noexcept;

    explicit blob_digester(update_function how) noexcept : update_(how) {}

private:
    update_function update_; ///< not virtual: g++ guesses the one class it sees, and then compiles all digests anyway
};

/// The elements of a component, decoded.
struct blob_content {
    bytes_view bytes;
    std::size_t swap_width = 1; ///< of elements in the host's byte order; 1: bytes as the file will hold them
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
