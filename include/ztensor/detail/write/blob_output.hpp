// SPDX-License-Identifier: MIT
//
// Where the bytes of a file being written go, from its start: into its sink, or its blobs into those of its shards.
// SPEC.md section 2.3 and section 13.
#ifndef ZTENSOR_DETAIL_WRITE_BLOB_OUTPUT_HPP
#define ZTENSOR_DETAIL_WRITE_BLOB_OUTPUT_HPP

#include <ztensor/byte_sink.hpp>
#include <ztensor/byte_source.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/manifest/footer.hpp>
#include <ztensor/detail/write/shard_output.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class blob_output {
public:
    blob_output(std::unique_ptr<byte_sink> sink, const write_options& options) noexcept
        : sink_(std::move(sink)), is_version_2_(options.version_ == format_version::v2),
          alignment_bytes_(options.alignment_bytes_.value_or(is_version_2_ ? canonical_alignment_2 : blob_alignment)) {}

    [[nodiscard]] bool is_open() const noexcept { return sink_ != nullptr; }
    /// Drops the sink: what was not finished is gone.
    ZTENSOR_COLD void close() noexcept {
        sink_.reset();
        shards_.reset();
    }
    [[nodiscard]] ZTENSOR_COLD result<void> finish() {
        result<void> finished = shards_ != nullptr ? shards_->finish() : result<void>();
        return finished ? sink_->finish() : finished;
    }

    /// From here on, blobs go to shards.
    ZTENSOR_COLD void shard_into(std::unique_ptr<shard_output> shards) noexcept { shards_ = std::move(shards); }
    [[nodiscard]] const shard_output* shards() const noexcept { return shards_.get(); }
    /// After the last blob: what is written next stands in the file itself.
    [[nodiscard]] ZTENSOR_COLD result<void> end_shards() {
        if (shard_ == 0) {
            return {};
        }
        const auto footer = encode_footer_2({});
        result<void> ended = write({footer.data(), footer.size()});
        shard_ = 0;
        position_ = std::exchange(position_in_root_, position_);
        return ended;
    }

    /// Whatever stands next: magic, blob, manifest.
    [[nodiscard]] result<void> write(bytes_view bytes) {
        position_ += bytes.size();
        return bytes.empty() ? result<void>() : target().write(bytes);
    }

    /// Pads to where the next blob starts, in the next shard if `bytes` are too many for this one, and returns that.
    [[nodiscard]] ZTENSOR_NOINLINE result<std::uint64_t> begin_blob(std::uint64_t bytes = 0) {
        if (shards_ != nullptr) {
            if (result<void> ready = make_room_in_shards(bytes); !ready) {
                return std::move(ready).error();
            }
        }
        return begin_aligned();
    }

    /// The same in the file that is being written.
    [[nodiscard]] ZTENSOR_NOINLINE result<std::uint64_t> begin_aligned() {
        const std::optional<std::uint64_t> offset = checked_align(position_, alignment_bytes_);
        if (!offset) {
            return fail(errc::too_large_for_host, "the file would take more than 2^64 bytes");
        }
        static std::byte zeros[4096]; // never written; constants would take as much of every object file
        while (position_ < *offset) {
            const auto piece = static_cast<std::size_t>((std::min<std::uint64_t>)(*offset - position_, sizeof zeros));
            if (result<void> written = write({zeros, piece}); !written) {
                return std::move(written).error();
            }
        }
        return *offset;
    }

    /// What is written next is to stand at that place of the file.
    void go_on_at(std::uint64_t position) noexcept { position_ = position; }
    [[nodiscard]] std::uint64_t position() const noexcept { return position_; }

    /// Whether what is copied from that source would be lost by writing on.
    [[nodiscard]] ZTENSOR_COLD bool would_destroy(const byte_source& source) const {
        const file* const in_file = source.as_file();
        return in_file != nullptr && sink_ != nullptr &&
               (sink_->would_destroy(*in_file) || (shards_ != nullptr && shards_->would_destroy(*in_file)));
    }

    [[nodiscard]] bool is_version_2() const noexcept { return is_version_2_; }
    /// The number of the shard that is being written; 0, the file itself.
    [[nodiscard]] std::uint32_t shard() const noexcept { return shard_; }
    /// The sink of what is being written: the file's own, or that of a shard.
    [[nodiscard]] byte_sink& target() noexcept { return sink_of(shard_); }
    [[nodiscard]] byte_sink& sink_of(std::uint32_t shard) noexcept {
        return shard == 0 ? *sink_ : shards_->shard(shard);
    }
    /// So many bytes have gone into target() by other ways than write().
    void has_written(std::uint64_t bytes) noexcept { position_ += bytes; }

private:
    [[nodiscard]] ZTENSOR_COLD result<void> make_room_in_shards(std::uint64_t bytes) {
        const std::uint64_t begin = checked_align(position_, alignment_bytes_).value_or(~std::uint64_t{0});
        const std::uint64_t most = shards_->most_bytes();
        // One that was just begun takes whatever comes.
        const bool has_room = begin <= most && footer_bytes_2 <= most - begin && bytes <= most - begin - footer_bytes_2;
        if (shard_ != 0 && has_room) {
            return {};
        }
        result<void> ready = end_shards();
        ready = ready ? shards_->open_next() : std::move(ready);
        if (!ready) {
            return ready;
        }
        shard_ = shards_->count();
        position_in_root_ = std::exchange(position_, std::uint64_t{0});
        return write(as_bytes(magic_2));
    }

    std::unique_ptr<byte_sink> sink_; ///< null once closed
    bool is_version_2_;
    std::uint64_t alignment_bytes_;
    std::uint64_t position_ = 0;           ///< in what target() writes
    std::unique_ptr<shard_output> shards_; ///< null: there are to be none
    std::uint32_t shard_ = 0;              ///< the number of the one that is being written; 0, the file itself
    std::uint64_t position_in_root_ = 0;   ///< while a shard is being written
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
