// SPDX-License-Identifier: MIT
//
// One source made of several: a file at 0, and behind it ranges that lie in other files, or that are made when they are
// asked for (inflated, transposed, gathered). Knows nothing of what the bytes mean.
#ifndef ZTENSOR_DETAIL_READ_ASSEMBLED_SOURCE_HPP
#define ZTENSOR_DETAIL_READ_ASSEMBLED_SOURCE_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Bytes that stand nowhere as they are. Called from many threads at once.
class made_bytes {
public:
    made_bytes() = default;
    made_bytes(const made_bytes&) = delete;
    made_bytes& operator=(const made_bytes&) = delete;
    virtual ~made_bytes() = default;

    /// Fills all of `destination`, which has exactly as many bytes as were announced, or fails. What it needs besides
    /// it bounds itself.
    [[nodiscard]] virtual result<void> make(span<std::byte> destination) const = 0;
};

/// Ranges of other sources in one row of offsets. The first file keeps its own, so that what is said of it is said of
/// the whole; the others follow at multiples of 4,096, as shard_record
/// says, with zeros between. Put together by one thread, then never changed.
class assembled_source final : public byte_source {
public:
    /// `max_made_bytes` is read_options::max_decoded_bytes: no range that is made may be larger.
    assembled_source(std::shared_ptr<const byte_source> file, std::uint64_t max_made_bytes)
        : max_made_bytes_(max_made_bytes), size_(file->size()) {
        parts_.push_back({0, size_, 0, file.get(), nullptr});
        sources_.push_back(std::move(file));
    }

    /// The first file.
    [[nodiscard]] const byte_source& file() const noexcept { return *sources_.front(); }

    /// A further range of one of the sources that are here already, or of another; gives its offset. Errors:
    /// out_of_bounds if it does not lie in that, or if 64 bits can't count all.
    [[nodiscard]] result<std::uint64_t> add(std::shared_ptr<const byte_source> source, std::uint64_t offset,
                                            std::uint64_t length) {
        ZTENSOR_TRY(check_range(offset, length, source->size()));
        const result<std::uint64_t> at = add({0, length, offset, source.get(), nullptr});
        if (at && source != sources_.front() && source != sources_.back()) { // else it is held already
            sources_.push_back(std::move(source));
        }
        return at;
    }

    /// A range of `length` bytes that is made; gives its offset. A length that is more than max_made_bytes is no error
    /// before somebody reads it. Errors: out_of_bounds, if 64 bits can't count all.
    [[nodiscard]] result<std::uint64_t> add(std::unique_ptr<const made_bytes> made, std::uint64_t length) {
        const result<std::uint64_t> at = add({0, length, 0, nullptr, made.get()});
        if (at) {
            made_.push_back(std::move(made));
        }
        return at;
    }

    [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }

    [[nodiscard]] std::uint64_t max_made_bytes() const noexcept { return max_made_bytes_; }

    /// Bytes that stay as long as this.
    struct lent_bytes {
        std::shared_ptr<const byte_buffer> of;
        bytes_view bytes;
    };
    /// A range that is made, in memory that whoever asks next for some of the same part gets, too: many views of one
    /// storage make it once. Nothing where the range is not made. Errors: limit_exceeded, if the whole part takes more
    /// than `most_bytes`; out_of_memory; those of making it.
    [[nodiscard]] ZTENSOR_COLD result<std::optional<lent_bytes>> lend(std::uint64_t offset, std::uint64_t length,
                                                                      std::uint64_t most_bytes) const {
        const part* const from = part_of(offset, length);
        if (from == nullptr || from->source != nullptr) {
            return std::optional<lent_bytes>();
        }
        ZTENSOR_TRY_ASSIGN(std::shared_ptr<const byte_buffer> whole, make(*from, most_bytes));
        const bytes_view bytes =
            whole->bytes().subspan(static_cast<std::size_t>(offset - from->begin), static_cast<std::size_t>(length));
        return std::optional<lent_bytes>(lent_bytes{std::move(whole), bytes});
    }

    [[nodiscard]] result<void> read_at(std::uint64_t offset, span<std::byte> destination) const override {
        ZTENSOR_TRY(check_range(offset, destination.size(), size_));
        for (std::size_t i = part_at(offset); !destination.empty(); ++i) {
            const part& from = parts_[i];
            const std::uint64_t skipped = offset - from.begin;
            const std::uint64_t in_part = skipped < from.length ? from.length - skipped : 0;
            const auto count = static_cast<std::size_t>((std::min<std::uint64_t>)(in_part, destination.size()));
            if (count != 0) {
                ZTENSOR_TRY(read_part(from, skipped, destination.first(count)));
            }
            const std::uint64_t end = i + 1 < parts_.size() ? parts_[i + 1].begin : size_;
            const auto zeros =
                static_cast<std::size_t>((std::min<std::uint64_t>)(end - (offset + count), destination.size() - count));
            std::fill_n(destination.data() + count, zeros, std::byte{0});
            destination = destination.subspan(count + zeros);
            offset += count + zeros;
        }
        return {};
    }

    [[nodiscard]] result<void> check_unchanged() const override {
        for (const std::shared_ptr<const byte_source>& each : sources_) {
            ZTENSOR_TRY(each->check_unchanged());
        }
        return {};
    }

    void prefetch(std::uint64_t offset, std::uint64_t length) const noexcept override {
        if (const part* const from = part_of(offset, length); from != nullptr && from->source != nullptr) {
            from->source->prefetch(from->there(offset), length);
        }
    }
    void evict(std::uint64_t offset, std::uint64_t length) const noexcept override {
        if (const part* const from = part_of(offset, length); from != nullptr && from->source != nullptr) {
            from->source->evict(from->there(offset), length);
        }
    }

private:
    struct part {
        std::uint64_t begin; ///< here
        std::uint64_t length;
        std::uint64_t offset;      ///< in the source
        const byte_source* source; ///< null: it is made
        const made_bytes* made;

        /// In the source, of an offset in this.
        [[nodiscard]] std::uint64_t there(std::uint64_t here) const noexcept { return offset + (here - begin); }
    };

    /// What was made, for whoever reads it piece by piece.
    struct kept {
        const made_bytes* of;
        std::shared_ptr<const byte_buffer> bytes;
    };
    static constexpr std::uint64_t most_kept_bytes = std::uint64_t{64} << 20; ///< besides, one range that is larger

    [[nodiscard]] result<std::uint64_t> add(part added) {
        const std::optional<std::uint64_t> begin = checked_align(size_, shard_alignment);
        const std::optional<std::uint64_t> end = begin ? checked_add(*begin, added.length) : std::nullopt;
        if (!end) {
            return fail(errc::out_of_bounds, "the parts of the file are together more than 64 bits can count");
        }
        added.begin = *begin;
        parts_.push_back(added);
        size_ = *end;
        return added.begin;
    }

    /// The last part that begins there or before.
    [[nodiscard]] std::size_t part_at(std::uint64_t offset) const noexcept {
        const auto behind =
            std::upper_bound(parts_.begin(), parts_.end(), offset,
                             [](std::uint64_t wanted, const part& each) { return wanted < each.begin; });
        return static_cast<std::size_t>(behind - parts_.begin()) - 1;
    }
    /// The part that the whole range lies in, or null.
    [[nodiscard]] const part* part_of(std::uint64_t offset, std::uint64_t length) const noexcept {
        const part& found = parts_[part_at(offset)];
        return fits(offset - found.begin, length, found.length) ? &found : nullptr;
    }

    [[nodiscard]] result<void> read_part(const part& from, std::uint64_t at, span<std::byte> destination) const {
        if (from.source != nullptr) {
            return from.source->read_at(from.offset + at, destination);
        }
        if (destination.size() == from.length && find_kept(from.made) == nullptr) { // straight into its place
            return from.made->make(destination);
        }
        ZTENSOR_TRY_ASSIGN(const std::shared_ptr<const byte_buffer> whole, make(from, max_made_bytes_));
        std::memcpy(destination.data(), whole->data() + at, destination.size());
        return {};
    }

    /// All of a part. Threads that meet here make it each.
    [[nodiscard]] result<std::shared_ptr<const byte_buffer>> make(const part& from, std::uint64_t most_bytes) const {
        if (from.length > most_bytes) {
            return fail(errc::limit_exceeded,
                        "the component takes {} bytes, more than the {} of read_options::max_decoded_bytes",
                        {from.length, max_made_bytes_});
        }
        if (std::shared_ptr<const byte_buffer> before = find_kept(from.made)) {
            return before;
        }
        auto bytes = std::make_shared<byte_buffer>();
        if (!fits_address_space(from.length) || !bytes->allocate(static_cast<std::size_t>(from.length))) {
            return fail(errc::out_of_memory, "no memory for a component of {} bytes", {from.length});
        }
        ZTENSOR_TRY(from.made->make(bytes->writable_bytes()));
        keep(from.made, bytes);
        return std::shared_ptr<const byte_buffer>(std::move(bytes));
    }

    [[nodiscard]] std::shared_ptr<const byte_buffer> find_kept(const made_bytes* wanted) const {
        const os_lock lock(mutex_);
        for (const kept& each : kept_) {
            if (each.of == wanted) {
                return each.bytes;
            }
        }
        return nullptr;
    }

    /// The newest stay; and so does the newest of those that are too large for that, since what is gathered of such a
    /// range is kept after it.
    void keep(const made_bytes* of, std::shared_ptr<const byte_buffer> bytes) const {
        const os_lock lock(mutex_);
        kept_.insert(kept_.begin(), {of, std::move(bytes)});
        std::uint64_t left = most_kept_bytes;
        bool has_large = false;
        const auto goes = [&](const kept& each) {
            const std::uint64_t size = each.bytes->size();
            if (size > most_kept_bytes) {
                return std::exchange(has_large, true);
            }
            const bool fits_in = size <= left;
            left = fits_in ? left - size : 0;
            return !fits_in;
        };
        kept_.erase(std::remove_if(kept_.begin(), kept_.end(), goes), kept_.end());
    }

    [[nodiscard]] std::optional<bytes_view> range_in_memory(std::uint64_t offset, std::uint64_t length,
                                                            bool must_stay) const noexcept override {
        const part* const from = part_of(offset, length);
        if (from == nullptr || from->source == nullptr) {
            return std::nullopt;
        }
        return must_stay ? source_access::stable_range(*from->source, from->there(offset), length)
                         : source_access::mapped_range(*from->source, from->there(offset), length);
    }
    [[nodiscard]] bool reads_files() const noexcept override {
        return std::any_of(sources_.begin(), sources_.end(),
                           [](const auto& each) { return source_access::is_file(*each); });
    }
    [[nodiscard]] bool is_made(std::uint64_t offset, std::uint64_t length) const noexcept override {
        const part* const from = part_of(offset, length);
        return from != nullptr && from->source == nullptr;
    }

    std::uint64_t max_made_bytes_;
    std::uint64_t size_;
    std::vector<part> parts_; ///< by their begin
    std::vector<std::shared_ptr<const byte_source>> sources_;
    std::vector<std::unique_ptr<const made_bytes>> made_;
    mutable os_mutex mutex_;
    mutable std::vector<kept> kept_; ///< from the newest on
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
