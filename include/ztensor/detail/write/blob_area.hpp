// SPDX-License-Identifier: MIT
//
// The bytes of a file being written, from its start: blobs one after the other, each at its alignment, encoded or
// copied. SPEC.md section 2.3 and section 10.1.
#ifndef ZTENSOR_DETAIL_WRITE_BLOB_AREA_HPP
#define ZTENSOR_DETAIL_WRITE_BLOB_AREA_HPP

#include <ztensor/byte_sink.hpp>
#include <ztensor/byte_source.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/manifest/growing_name_table.hpp>
#include <ztensor/detail/manifest/write.hpp>
#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/detail/write/blob_output.hpp>
#include <ztensor/detail/write/blob_writer.hpp>
#include <ztensor/detail/write/copied_blobs.hpp>
#include <ztensor/detail/write/shared_blobs.hpp>
#include <ztensor/detail/write/ways_of_2.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class blob_area : public blob_output {
public:
    blob_area(std::unique_ptr<byte_sink> sink, const write_options& options) noexcept
        : blob_output(std::move(sink), options), threads_(options.threads_), ways_of_2_(options.ways_of_2_) {}

    /// Whether blobs can be stored so; makes what that takes. Errors: invalid_argument (zstd level), out_of_memory.
    [[nodiscard]] result<void> prepare(const store& how) {
        if (is_version_2() && xxh3_ == nullptr) {
            xxh3_.reset(ways_of_2_->make_xxh3());
            if (xxh3_ == nullptr) {
                return fail(errc::out_of_memory, "no memory for a digest");
            }
        }
        const bool is_plain = how.encoding_ == encoding::raw && how.digest_ == digest::none;
        return is_plain ? result<void>() : prepare_tools(how);
    }

    /// At the offset where its blob begins. `how` has been prepared for.
    [[nodiscard]] blob_writer writer_at(std::uint64_t offset, const store& how) noexcept {
        return writer_with(digester_for(how), offset, how);
    }

    /// What is known of a blob once it is written.
    void complete(component_entry& entry, std::uint64_t offset, const blob_writer& blob) {
        entry.offset = offset;
        entry.shard = shard();
        entry.length = blob.stored_bytes();
        entry.encoding = name(blob.encoding());
        entry.own_digest = blob.digest_text();
        if (blob.encoding() != encoding::raw) {
            entry.uncompressed_length = blob.decoded_bytes();
        }
        has_written(blob.stored_bytes());
    }

    /// One component; `entry` then says where and how it is stored.
    [[nodiscard]] ZTENSOR_NOINLINE result<void> encode(const blob_content& content, const store& how,
                                                       component_entry& entry) {
        return is_version_2() && how.encoding_ == encoding::raw
                   ? ways_of_2_->encode_or_share(*this, content, how, entry)
                   : encode_here(content, how, digester_for(how), entry);
    }

    /// The blob as it is. Read, not mapped: a source that shrinks is an error here, no fault. What is one blob in a
    /// file that is copied stays one; in version 2 raw blobs are shared by what is in them.
    [[nodiscard]] ZTENSOR_COLD result<void> copy(const stored_component& stored, component_entry& entry) {
        if (is_version_2() && stored.is_raw) {
            return ways_of_2_->copy_or_share(*this, stored, entry);
        }
        const blob_place place = {address_of(stored.source), stored.offset, stored.length};
        const std::optional<blob_position> known = copied_blobs_ != nullptr ? copied_blobs_->find(place) : std::nullopt;
        if (stored.new_digest) {
            if (result<void> digested = digest_anew(stored, *stored.new_digest, entry); !digested) {
                return digested;
            }
        }
        if (known) {
            entry.offset = known->offset;
            entry.shard = known->shard;
            return {};
        }
        result<void> copied = copy_here(stored, entry);
        if (copied && copied_blobs_ != nullptr && stored.length != 0) {
            copied_blobs_->add(place, {entry.offset, entry.shard});
        }
        return copied;
    }

    /// Whether the blob is what its digest says, of a file that is copied once. Errors: digest_mismatch, and what the
    /// source says.
    [[nodiscard]] ZTENSOR_COLD result<void> check_digest(const stored_component& stored) {
        const bool is_new =
            copied_blobs_ == nullptr || stored.check_digest == nullptr || copied_blobs_->begin_check(stored);
        return is_new && stored.check_digest != nullptr ? stored.check_digest(stored) : result<void>();
    }

    /// A range of bytes as they are, where the last one ended.
    [[nodiscard]] ZTENSOR_COLD result<void> copy_range(const byte_source& source, std::uint64_t offset,
                                                       std::uint64_t length) {
        stored_component range;
        range.source = &source;
        range.offset = offset;
        range.length = length;
        return copy_bytes(range);
    }

    /// From here on, what is one blob in a file that is copied stays one. Gives what an outer copy had remembered, for
    /// end_copying().
    [[nodiscard]] copied_blobs* begin_copying(copied_blobs& of_this_copy) noexcept {
        return std::exchange(copied_blobs_, &of_this_copy);
    }
    void end_copying(copied_blobs* of_outer_copy) noexcept { copied_blobs_ = of_outer_copy; }

private:
    friend struct blob_sharing;

    [[nodiscard]] blob_writer writer_with(blob_digester* digester, std::uint64_t offset, const store& how) noexcept {
        const bool is_encoded = how.encoding_ != encoding::raw;
        return {target(), offset, how, is_encoded ? encoder_.get() : nullptr, digester, is_version_2()};
    }

    [[nodiscard]] blob_digester* digester_for(const store& how) const noexcept {
        if (how.digest_ != digest::none) {
            return digester_.get();
        }
        return is_version_2() ? xxh3_.get() : nullptr;
    }

    [[nodiscard]] result<void> encode_here(const blob_content& content, const store& how, blob_digester* digester,
                                           component_entry& entry) {
        const result<std::uint64_t> offset = begin_blob(content.bytes.size());
        if (!offset) {
            return offset.error();
        }
        target().expect(content.bytes.size());
        blob_writer blob = writer_with(digester, *offset, how);
        if (result<void> written = blob.append(content, true); !written) {
            return written;
        }
        complete(entry, *offset, blob);
        return {};
    }

    [[nodiscard]] result<void> copy_here(const stored_component& stored, component_entry& entry) {
        const result<std::uint64_t> offset = begin_blob(stored.length);
        if (!offset) {
            return offset.error();
        }
        entry.offset = *offset;
        entry.shard = shard();
        return copy_bytes(stored);
    }

    [[nodiscard]] result<void> digest_anew(const stored_component& stored, digest algorithm, component_entry& entry) {
        digester_->begin(algorithm);
        result<void> read = read_pieces(stored, [&](bytes_view piece) {
            digester_->update(piece);
            return true;
        });
        entry.own_digest = digester_->text();
        return read;
    }

    /// Calls `take(bytes) -> bool` for all of a blob of another file, until it has enough.
    template <class Take>
    [[nodiscard]] static result<void> read_pieces(const stored_component& stored, const Take& take) {
        constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;
        byte_buffer buffer;
        if (!buffer.allocate(static_cast<std::size_t>((std::min)(stored.length, most_bytes)))) {
            return fail(errc::out_of_memory, "no memory for a piece of 1 MiB");
        }
        for (std::uint64_t at = 0; at < stored.length;) {
            const auto size = static_cast<std::size_t>((std::min)(stored.length - at, most_bytes));
            const span<std::byte> piece = buffer.writable_bytes().first(size);
            if (result<void> read = stored.source->read_at(stored.offset + at, piece); !read) {
                return std::move(read).error().in_file(stored.path).in_object(stored.object).in_component(stored.role);
            }
            if (!take(piece)) {
                return {};
            }
            at += size;
        }
        return {};
    }

    /// From file to file the system moves whole MiB of the new file by itself; the rest goes through a buffer, in
    /// pieces that end at whole MiB.
    [[nodiscard]] result<void> copy_bytes(const stored_component& stored) {
        const file* const in_file = stored.source->as_file();
        byte_buffer buffer;
        for (std::uint64_t at = 0; at < stored.length;) {
            result<std::uint64_t> moved = in_file != nullptr
                                              ? target().append_file(*in_file, stored.offset + at, stored.length - at)
                                              : std::uint64_t{0};
            if (!moved) {
                return std::move(moved).error();
            }
            has_written(*moved);
            if (*moved == 0) {
                moved = copy_piece(stored, at, buffer);
            }
            if (!moved) {
                return std::move(moved).error();
            }
            at += *moved;
        }
        return {};
    }

    /// Gives how many bytes that were.
    [[nodiscard]] result<std::uint64_t> copy_piece(const stored_component& stored, std::uint64_t at,
                                                   byte_buffer& buffer) {
        constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;
        if (!buffer.is_allocated() &&
            !buffer.allocate(static_cast<std::size_t>((std::min)(stored.length, most_bytes)))) {
            return fail(errc::out_of_memory, "no memory for a piece of 1 MiB");
        }
        const std::uint64_t size = (std::min)(stored.length - at, most_bytes - position() % most_bytes);
        const span<std::byte> piece = buffer.writable_bytes().first(static_cast<std::size_t>(size));
        if (result<void> read = stored.source->read_at(stored.offset + at, piece); !read) {
            return std::move(read).error().in_file(stored.path).in_object(stored.object).in_component(stored.role);
        }
        if (result<void> written = write(piece); !written) {
            return std::move(written).error();
        }
        return size;
    }

    [[nodiscard]] ZTENSOR_COLD result<void> prepare_tools(const store& how) {
        if ((how.digest_ != digest::none && how.make_digester_ == nullptr) ||
            (how.encoding_ != encoding::raw && how.make_encoder_ == nullptr)) {
            return fail(errc::invalid_argument, "a store is told of encodings and digests by its functions alone");
        }
        if (how.digest_ != digest::none && digester_ == nullptr) {
            digester_.reset(how.make_digester_());
            if (digester_ == nullptr) {
                return fail(errc::out_of_memory, "no memory for a digest");
            }
        }
        if (how.encoding_ == encoding::raw) {
            return {};
        }
        if (encoder_ == nullptr) {
            encoder_.reset(how.make_encoder_(threads_));
            if (encoder_ == nullptr) {
                return fail(errc::out_of_memory, "no memory for a zstd encoder");
            }
        }
        return encoder_->check(how.zstd_level_);
    }

    unsigned threads_;
    std::unique_ptr<blob_encoder> encoder_;   ///< once there is something to compress
    std::unique_ptr<blob_digester> digester_; ///< once a digest is asked for
    copied_blobs* copied_blobs_ = nullptr;    ///< the caller's, while a file is copied
    const ways_of_2* ways_of_2_;              ///< null unless that is written
    std::unique_ptr<blob_digester> xxh3_;     ///< of version 2, once there is a blob
    shared_blobs written_;                    ///< of version 2: the raw blobs of the file
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
