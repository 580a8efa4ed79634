// SPDX-License-Identifier: MIT
//
// The bytes of a file being written, from its start: blobs one after the other, each at its alignment, encoded or
// copied. SPEC.md §2.3 and §10.1.
#ifndef ZTENSOR_DETAIL_BLOB_AREA_HPP
#define ZTENSOR_DETAIL_BLOB_AREA_HPP

#include <ztensor/byte_sink.hpp>
#include <ztensor/component_view.hpp>
#include <ztensor/detail/blob_writer.hpp>
#include <ztensor/detail/checked.hpp>
#include <ztensor/detail/manifest_write.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace v0 {
namespace detail {

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
    [[nodiscard]] result<std::uint64_t> begin_blob() {
        const std::optional<std::uint64_t> offset = checked_align(position_, alignment_bytes_);
        if (!offset) {
            return error(errc::too_large_for_host, "the file would take more than 2^64 bytes");
        }
        static constexpr std::byte zeros[4096] = {};
        while (position_ < *offset) {
            const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(*offset - position_, sizeof zeros));
            if (result<void> written = write({zeros, piece}); !written) {
                return std::move(written).error();
            }
        }
        return *offset;
    }

    /// What is known of a blob once it is written.
    void complete(component_entry& entry, std::uint64_t offset, const store& how, const blob_writer& blob) {
        entry.offset = offset;
        entry.length = blob.stored_bytes();
        entry.encoding = name(how.encoding_);
        if (how.digest_ != digest::none) {
            entry.digest = blob.digest_text();
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
        result<void> written = blob->append_host_order(source.bytes, source.swap_width);
        if (written) {
            written = blob->finish();
        }
        if (written) {
            complete(entry, *offset, source.how, *blob);
        }
        return written;
    }

    /// The blob as it is, in pieces of 1 MiB. Read, not mapped: a source that shrinks is an error here, no fault.
    [[nodiscard]] result<void> copy(const component_view& stored, component_entry& entry) {
        const blob_place place(component_access::file_of(stored), stored.offset(), entry.length);
        if (copied_blobs_ && copied_blobs_->count(place) != 0) {
            entry.offset = copied_blobs_->at(place);
            return {};
        }
        const result<std::uint64_t> offset = begin_blob();
        if (!offset) {
            return offset.error();
        }
        entry.offset = *offset;
        constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;
        std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(entry.length, piece_bytes)));
        for (std::uint64_t at = 0; at < entry.length; at += buffer.size()) {
            const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(entry.length - at, buffer.size()));
            const span<std::byte> piece = span<std::byte>(buffer).first(size);
            result<void> copied = stored.read_stored_into(piece, at);
            if (copied) {
                copied = write(piece);
            }
            if (!copied) {
                return copied;
            }
        }
        if (copied_blobs_ && entry.length != 0) {
            copied_blobs_->emplace(place, *offset);
        }
        return {};
    }

    /// Source, offset and length of a blob → its new offset.
    using blob_place = std::tuple<const opened_file*, std::uint64_t, std::uint64_t>;
    using copied_blobs = std::map<blob_place, std::uint64_t>;

    /// From here on, what is one blob in a file that is copied stays one. Gives what an outer copy had remembered, for
    /// end_copying().
    [[nodiscard]] std::optional<copied_blobs> begin_copying() {
        return std::exchange(copied_blobs_, std::optional<copied_blobs>(std::in_place));
    }
    void end_copying(std::optional<copied_blobs> of_outer_copy) noexcept { copied_blobs_ = std::move(of_outer_copy); }

private:
    std::unique_ptr<byte_sink> sink_; ///< null once closed
    std::uint64_t alignment_bytes_;
    std::uint64_t position_ = 0;
    std::optional<copied_blobs> copied_blobs_; ///< while a file is copied
};

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
