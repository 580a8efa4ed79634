// SPDX-License-Identifier: MIT
//
// Elements as the bytes of a blob, written piece by piece, each known blob once.
#ifndef ZTENSOR_DETAIL_WRITE_BLOB_ENCODER_HPP
#define ZTENSOR_DETAIL_WRITE_BLOB_ENCODER_HPP

#include <ztensor/byte_sink.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/digest_memory.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/codec/xxh3.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/store.hpp>
#include <ztensor/version.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- blob encoder
//
// Decoded bytes -> one blob in a sink: byte order, compression and digest in one pass, piece by piece. Compression and
// digests are reached through classes of their own, so that programs which never ask for them hold no code of theirs.
// SPEC.md section 6, section 7.

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

// -- known blobs
//
// Which blobs a file being written has already: by what is in them, or by where they were copied from. The tables are
// ordered maps, because a hostile file may choose both and must not be able to make a look-up slow.
// SPEC.md section 8, section 13.

/// Where a blob lies.
struct blob_position {
    std::uint64_t offset;
    std::uint32_t shard; ///< its number; 0, the file itself
};

/// The XXH3 and the length of what a blob holds: the same for the same bytes, and hardly ever for others.
using blob_identity = std::array<std::uint64_t, 2>;
/// The blobs of a file of version 2. Of blobs that collide, the first is known.
using shared_blobs = std::map<blob_identity, blob_position>;

/// A blob of another file: the address of the source, the offset and the length.
using blob_place = std::array<std::uint64_t, 3>;
/// Blobs of other files, and where they have been copied to: what is one blob there stays one.
struct copied_blobs {
    std::map<blob_place, blob_position> positions;
    std::set<std::pair<blob_place, std::string>> checked; ///< with the encoding and the digest that were compared
};

// -- blob writer
//
// One blob, from decoded elements to the sink: put into the file's byte order, compressed and digested on the way.

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

// -- known blobs of version 2
//
// What tells that a file has a blob already: its XXH3, and a comparison.

/// Takes a blob that is only to be looked at.
class no_bytes final : public byte_sink {
public:
    [[nodiscard]] result<void> write(bytes_view) override { return {}; }
    [[nodiscard]] result<void> finish() override { return {}; }
};

/// Takes a blob and compares it with what a sink holds.
class compared_bytes final : public byte_sink {
public:
    compared_bytes(byte_sink& with, std::uint64_t offset) noexcept : with_(with), offset_(offset) {}

    [[nodiscard]] result<void> write(bytes_view bytes) override {
        is_same_ = is_same_ && with_.holds(offset_, bytes);
        offset_ += bytes.size();
        return {};
    }
    [[nodiscard]] result<void> finish() override { return {}; }
    [[nodiscard]] bool is_same() const noexcept { return is_same_; }

private:
    byte_sink& with_;
    std::uint64_t offset_;
    bool is_same_ = true;
};

/// XXH3 of 64 bits and nothing else, which every component of version 2 has.
class xxh3_digester final : public blob_digester {
public:
    xxh3_digester() noexcept : blob_digester(update_digester) { xxh3_start(memory_); }

    void begin(digest) noexcept override { xxh3_start(memory_); }
    [[nodiscard]] std::uint64_t value() const noexcept { return xxh3_value(memory_); }
    [[nodiscard]] std::string text() const override { return text_of_xxh3(value()); }

private:
    static void update_digester(blob_digester& self, bytes_view bytes) noexcept {
        xxh3_update(static_cast<xxh3_digester&>(self).memory_, bytes);
    }

    digest_memory memory_;
};

/// What a file of version 2 says of a raw blob, if it says it.
[[nodiscard]] ZTENSOR_COLD inline std::optional<std::uint64_t> stated_xxh3(const stored_component& stored) noexcept {
    const digest_parts digest = parse_digest_2(stored.digest);
    if (stored.generation != generation::v2 || digest.algorithm != digest::xxh3 || !digest.is_well_formed) {
        return std::nullopt;
    }
    std::uint64_t value = 0;
    for (const char digit : digest.digits) {
        value = value << 4 | static_cast<std::uint64_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return value;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
