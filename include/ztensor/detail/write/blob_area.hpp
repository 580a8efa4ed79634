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
    blob_area(std::unique_ptr<byte_sink> sink, std::uint64_t alignment_bytes) noexcept
        : sink_(std::move(sink)), alignment_bytes_(alignment_bytes) {}

    [[nodiscard]] bool is_open() const noexcept { return sink_ != nullptr; }
    /// Drops the sink: what was not finished is gone.
    void close() noexcept { sink_.reset(); }
    [[nodiscard]] byte_sink& sink() noexcept { return *sink_; }
    [[nodiscard]] result<void> finish() { return sink_->finish(); }

    /// Whatever stands next: magic, blob, manifest.
    [[nodiscard]] result<void> write(bytes_view bytes) {
        position_ += bytes.size();
        return sink_->write(bytes);
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

    /// What is known of a blob once it is written.
    ZTENSOR_COLD void complete(component_entry& entry, std::uint64_t offset, const store& how,
                               const blob_writer& blob) {
        entry.offset = offset;
        entry.length = blob.stored_bytes();
        entry.encoding = name(how.encoding_);
        if (how.digest_ != digest::none) {
            entry.own_digest = blob.digest_text();
        }
        if (how.encoding_ != encoding::raw) {
            entry.uncompressed_length = blob.decoded_bytes();
        }
        position_ += blob.stored_bytes();
    }

    /// One component; `entry` then says where and how it is stored.
    [[nodiscard]] result<void> encode(const component_source& source, component_entry& entry) {
        result<blob_writer> blob = blob_writer::create(*sink_, source.how, source.bytes.size());
        if (!blob) {
            return std::move(blob).error();
        }
        const result<std::uint64_t> offset = begin_blob();
        if (!offset) {
            return offset.error();
        }
        if (result<void> written = blob->append_host_order(source.bytes, source.swap_width); !written) {
            return written;
        }
        if (result<void> ended = blob->finish(); !ended) {
            return ended;
        }
        complete(entry, *offset, source.how, *blob);
        return {};
    }

    /// The blob as it is, in pieces of 1 MiB. Read, not mapped: a source that shrinks is an error here, no fault.
    [[nodiscard]] ZTENSOR_NOINLINE result<void> copy(const stored_component& stored, component_entry& entry) {
        const blob_place place = {address_of(stored.source), stored.offset, stored.length};
        const std::optional<std::uint64_t> known = copied_blobs_ ? copied_blobs_->find(place) : std::nullopt;
        if (known) {
            entry.offset = *known;
            return {};
        }
        const result<std::uint64_t> offset = begin_blob();
        if (!offset) {
            return offset.error();
        }
        entry.offset = *offset;
        constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;
        byte_buffer buffer;
        if (!buffer.allocate(static_cast<std::size_t>(std::min(stored.length, piece_bytes)))) {
            return fail(errc::out_of_memory, "no memory for a piece of 1 MiB");
        }
        for (std::uint64_t at = 0; at < stored.length; at += buffer.size()) {
            const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(stored.length - at, buffer.size()));
            const span<std::byte> piece = buffer.writable_bytes().first(size);
            if (result<void> read = stored.source->read_at(stored.offset + at, piece); !read) {
                return std::move(read).error().in_file(stored.path).in_object(stored.object).in_component(stored.role);
            }
            if (result<void> written = write(piece); !written) {
                return written;
            }
        }
        if (copied_blobs_ && stored.length != 0) {
            copied_blobs_->add(place, *offset);
        }
        return {};
    }

    /// From here on, what is one blob in a file that is copied stays one. Gives what an outer copy had remembered, for
    /// end_copying().
    [[nodiscard]] std::unique_ptr<copied_blobs> begin_copying() {
        return std::exchange(copied_blobs_, std::make_unique<copied_blobs>());
    }
    void end_copying(std::unique_ptr<copied_blobs> of_outer_copy) noexcept { copied_blobs_ = std::move(of_outer_copy); }

private:
    std::unique_ptr<byte_sink> sink_; ///< null once closed
    std::uint64_t alignment_bytes_;
    std::uint64_t position_ = 0;
    std::unique_ptr<copied_blobs> copied_blobs_; ///< while a file is copied
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
