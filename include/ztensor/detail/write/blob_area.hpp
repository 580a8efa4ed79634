// SPDX-License-Identifier: MIT
//
// The bytes of a file being written, from its start: blobs one after the other, each at its alignment, encoded or
// copied. SPEC.md §2.3 and §10.1.
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
#include <ztensor/detail/write/blob_writer.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A blob of another file.
struct blob_place {
    std::uint64_t source; ///< where the source lies in memory
    std::uint64_t offset;
    std::uint64_t length;
};

/// Blobs of other files, and where they have been copied to.
class copied_blobs {
    struct key_of { // the table's names are the bytes of the places
        const copied_blobs* all;
        std::string_view operator()(std::size_t position) const noexcept { return key(all->places_[position]); }
    };

public:
    [[nodiscard]] ZTENSOR_COLD std::optional<std::uint64_t> find(const blob_place& place) const noexcept {
        const std::uint32_t found = table_.find(key(place), key_of{this});
        return found != name_table::absent ? std::optional(new_offsets_[found]) : std::nullopt;
    }
    ZTENSOR_COLD void add(const blob_place& place, std::uint64_t new_offset) {
        places_.push_back(place);
        new_offsets_.push_back(new_offset);
        table_.add(key_of{this});
    }

private:
    [[nodiscard]] static std::string_view key(const blob_place& place) noexcept {
        return as_text(as_bytes(span<const blob_place>(&place, 1)));
    }

    record_array<blob_place> places_;
    record_array<std::uint64_t> new_offsets_;
    growing_name_table table_;
};

class blob_area {
public:
    blob_area(std::unique_ptr<byte_sink> sink, const write_options& options) noexcept
        : sink_(std::move(sink)), alignment_bytes_(options.alignment_bytes_), threads_(options.threads_) {}

    [[nodiscard]] bool is_open() const noexcept { return sink_ != nullptr; }
    /// Drops the sink: what was not finished is gone.
    void close() noexcept { sink_.reset(); }
    [[nodiscard]] byte_sink& sink() noexcept { return *sink_; }
    [[nodiscard]] result<void> finish() { return sink_->finish(); }

    /// Whatever stands next: magic, blob, manifest.
    [[nodiscard]] result<void> write(bytes_view bytes) {
        position_ += bytes.size();
        return bytes.empty() ? result<void>() : sink_->write(bytes);
    }

    /// Pads to where the next blob starts, and returns that.
    [[nodiscard]] ZTENSOR_NOINLINE result<std::uint64_t> begin_blob() {
        const std::optional<std::uint64_t> offset = checked_align(position_, alignment_bytes_);
        if (!offset) {
            return fail(errc::too_large_for_host, "the file would take more than 2^64 bytes");
        }
        static std::byte zeros[4096]; // never written; constants would take as much of every object file
        while (position_ < *offset) {
            const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(*offset - position_, sizeof zeros));
            if (result<void> written = write({zeros, piece}); !written) {
                return std::move(written).error();
            }
        }
        return *offset;
    }

    /// Whether blobs can be stored so; makes what that takes. Errors: invalid_argument (zstd level), out_of_memory.
    [[nodiscard]] result<void> prepare(const store& how) {
        const bool is_plain = how.encoding_ == encoding::raw && how.digest_ == digest::none;
        return is_plain ? result<void>() : prepare_tools(how);
    }

    /// At the offset where its blob begins. `how` has been prepared for.
    [[nodiscard]] blob_writer writer_at(std::uint64_t offset, const store& how) noexcept {
        return {*sink_, offset, how, how.encoding_ != encoding::raw ? encoder_.get() : nullptr,
                how.digest_ != digest::none ? digester_.get() : nullptr};
    }

    /// What is known of a blob once it is written.
    void complete(component_entry& entry, std::uint64_t offset, const blob_writer& blob) {
        entry.offset = offset;
        entry.length = blob.stored_bytes();
        entry.encoding = name(blob.encoding());
        entry.own_digest = blob.digest_text();
        if (blob.encoding() != encoding::raw) {
            entry.uncompressed_length = blob.decoded_bytes();
        }
        position_ += blob.stored_bytes();
    }

    /// One component; `entry` then says where and how it is stored.
    [[nodiscard]] ZTENSOR_NOINLINE result<void> encode(const blob_content& content, const store& how,
                                                       component_entry& entry) {
        const result<std::uint64_t> offset = begin_blob();
        if (!offset) {
            return offset.error();
        }
        sink_->expect(content.bytes.size());
        blob_writer blob = writer_at(*offset, how);
        if (result<void> written = blob.append(content, true); !written) {
            return written;
        }
        complete(entry, *offset, blob);
        return {};
    }

    /// The blob as it is. Read, not mapped: a source that shrinks is an error here, no fault.
    [[nodiscard]] ZTENSOR_COLD result<void> copy(const stored_component& stored, component_entry& entry) {
        const blob_place place = {address_of(stored.source), stored.offset, stored.length};
        const std::optional<std::uint64_t> known = copied_blobs_ != nullptr ? copied_blobs_->find(place) : std::nullopt;
        if (known) {
            entry.offset = *known;
            return {};
        }
        const result<std::uint64_t> offset = begin_blob();
        if (!offset) {
            return offset.error();
        }
        entry.offset = *offset;
        if (result<void> copied = copy_bytes(stored); !copied) {
            return copied;
        }
        if (copied_blobs_ != nullptr && stored.length != 0) {
            copied_blobs_->add(place, *offset);
        }
        return {};
    }

    /// What is written next is to stand at that place of the file.
    void go_on_at(std::uint64_t position) noexcept { position_ = position; }
    [[nodiscard]] std::uint64_t position() const noexcept { return position_; }

    /// A range of bytes as they are, where the last one ended.
    [[nodiscard]] ZTENSOR_COLD result<void> copy_range(const byte_source& source, std::uint64_t offset,
                                                       std::uint64_t length) {
        stored_component range;
        range.source = &source;
        range.offset = offset;
        range.length = length;
        return copy_bytes(range);
    }

    /// Whether what is copied from that source would be lost by writing on.
    [[nodiscard]] ZTENSOR_COLD bool would_destroy(const byte_source& source) const {
        const file* const in_file = source.as_file();
        return in_file != nullptr && sink_ != nullptr && sink_->would_destroy(*in_file);
    }

    /// From here on, what is one blob in a file that is copied stays one. Gives what an outer copy had remembered, for
    /// end_copying().
    [[nodiscard]] copied_blobs* begin_copying(copied_blobs& of_this_copy) noexcept {
        return std::exchange(copied_blobs_, &of_this_copy);
    }
    void end_copying(copied_blobs* of_outer_copy) noexcept { copied_blobs_ = of_outer_copy; }

private:
    /// From file to file the system moves whole MiB of the new file by itself; the rest goes through a buffer, in
    /// pieces that end at whole MiB.
    [[nodiscard]] result<void> copy_bytes(const stored_component& stored) {
        const file* const in_file = stored.source->as_file();
        byte_buffer buffer;
        for (std::uint64_t at = 0; at < stored.length;) {
            result<std::uint64_t> moved = in_file != nullptr
                                              ? sink_->append_file(*in_file, stored.offset + at, stored.length - at)
                                              : std::uint64_t{0};
            if (!moved) {
                return std::move(moved).error();
            }
            position_ += *moved;
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
        if (!buffer.is_allocated() && !buffer.allocate(static_cast<std::size_t>(std::min(stored.length, most_bytes)))) {
            return fail(errc::out_of_memory, "no memory for a piece of 1 MiB");
        }
        const std::uint64_t size = std::min(stored.length - at, most_bytes - position_ % most_bytes);
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

    std::unique_ptr<byte_sink> sink_; ///< null once closed
    std::uint64_t alignment_bytes_;
    std::uint64_t position_ = 0;
    unsigned threads_;
    std::unique_ptr<blob_encoder> encoder_;   ///< once there is something to compress
    std::unique_ptr<blob_digester> digester_; ///< once a digest is asked for
    copied_blobs* copied_blobs_ = nullptr;    ///< the caller's, while a file is copied
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
