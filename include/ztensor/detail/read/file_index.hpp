// SPDX-License-Identifier: MIT
//
// What opening reads of a file, as a value: noted while a file is opened, and given in place of the file's own bytes
// where it is opened again.
#ifndef ZTENSOR_DETAIL_READ_FILE_INDEX_HPP
#define ZTENSOR_DETAIL_READ_FILE_INDEX_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/crc32.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/read_ahead.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/io.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Bytes of a file that were read.
struct noted_range {
    uint64_t offset = 0;
    vector<byte> bytes;

    [[nodiscard]] uint64_t end() const noexcept { return offset + bytes.size(); }
};

/// When the file's content last changed; 0 where that is not known.
[[nodiscard]] ZTENSOR_COLD inline int64_t modified_nanoseconds_of(const byte_source& source) noexcept {
    const file* const opened = source_access::file_of(source);
    const os_answer<file_status> found =
        opened != nullptr ? opened->os().status(opened->handle()) : os_answer<file_status>();
    return found.failure ? 0 : found.value.modified_nanoseconds;
}

// -- layout
//
// All numbers are little-endian: the magic; the size of the file; when it was modified; the CRC-32C of all that follows
// it; the number of ranges; of each range its offset and length; and the bytes of the ranges, one after the other.

struct file_index_access {
    static constexpr string_view magic = "ZTINDEX1";
    static constexpr size_t size_at = 8;
    static constexpr size_t modified_at = 16;
    static constexpr size_t crc_at = 24;
    static constexpr size_t count_at = 32;
    static constexpr size_t head_bytes = 40;
    static constexpr size_t range_bytes = 16;

    [[nodiscard]] static uint64_t number_at(bytes_view bytes, size_t place) noexcept {
        return load_little(bytes.data() + place, 8);
    }
    [[nodiscard]] static uint32_t crc_of(bytes_view bytes) noexcept {
        return ~crc32c_update(crc32c_start, bytes.subspan(count_at));
    }

    /// Of ranges in ascending order that do not overlap.
    [[nodiscard]] ZTENSOR_COLD static file_index make(const byte_source& source, const vector<noted_range>& ranges) {
        size_t size = head_bytes + ranges.size() * range_bytes;
        for (const noted_range& each : ranges) {
            size += each.bytes.size();
        }
        vector<byte> made(head_bytes);
        made.reserve(size);
        std::memcpy(made.data(), magic.data(), magic.size());
        store_little(source.size(), made.data() + size_at, 8);
        store_little(static_cast<uint64_t>(modified_nanoseconds_of(source)), made.data() + modified_at, 8);
        store_little(ranges.size(), made.data() + count_at, 8);
        for (const noted_range& each : ranges) {
            made.resize(made.size() + range_bytes);
            store_little(each.offset, &made[made.size() - range_bytes], 8);
            store_little(each.bytes.size(), &made[made.size() - range_bytes + 8], 8);
        }
        for (const noted_range& each : ranges) {
            made.insert(made.end(), each.bytes.begin(), each.bytes.end());
        }
        store_little(crc_of(made), made.data() + crc_at, 8);
        return file_index(std::make_shared<const vector<byte>>(std::move(made)));
    }

    /// Calls `see(offset, bytes)` for each range until it answers true. False where the ranges are not those of a
    /// file_index: in order, within the file, and as many bytes as there are.
    template <class See>
    [[nodiscard]] static bool for_each_range(bytes_view all, const See& see) {
        const uint64_t count = number_at(all, count_at);
        if (count > (all.size() - head_bytes) / range_bytes) {
            return false;
        }
        bytes_view left = all.subspan(head_bytes + static_cast<size_t>(count) * range_bytes);
        uint64_t behind = 0;
        for (size_t i = 0; i < count; ++i) {
            const uint64_t offset = number_at(all, head_bytes + i * range_bytes);
            const uint64_t length = number_at(all, head_bytes + i * range_bytes + 8);
            if (offset < behind || length > left.size() || !fits(offset, length, number_at(all, size_at))) {
                return false;
            }
            if (see(offset, left.first(static_cast<size_t>(length)))) {
                return true;
            }
            left = left.subspan(static_cast<size_t>(length));
            behind = offset + length;
        }
        return left.empty();
    }

    /// The bytes of that range, if all of them are known.
    [[nodiscard]] static optional<bytes_view> find(const file_index& index, uint64_t offset, uint64_t length) {
        optional<bytes_view> found;
        static_cast<void>(for_each_range(index.bytes(), [&](uint64_t begin, bytes_view bytes) {
            if (offset >= begin && fits(offset - begin, length, bytes.size())) {
                found = bytes.subspan(static_cast<size_t>(offset - begin), static_cast<size_t>(length));
            }
            return found.has_value();
        }));
        return found;
    }

    /// The source is of the file that the index was made of, as far as size and time tell. Errors: file_changed.
    ZTENSOR_COLD static result<void> check_same(const byte_source& source, const file_index& index) {
        if (source.size() != index.file_bytes()) {
            return fail(errc::file_changed, "the file has {} bytes, but the index is of a file of {} bytes",
                        {source.size(), index.file_bytes()});
        }
        const int64_t now = modified_nanoseconds_of(source);
        const int64_t then = index.modified_nanoseconds();
        if (now != 0 && then != 0 && now != then) {
            return fail(errc::file_changed,
                        "the file was modified {} nanoseconds after 1970, but the index is of a file that was modified "
                        "{} nanoseconds after 1970",
                        {static_cast<uint64_t>(now), static_cast<uint64_t>(then)});
        }
        return {};
    }
};

// -- sources

/// A file that is being opened: notes what is read of it, all of it by read_at().
class noting_source final : public forwarding_source {
public:
    explicit noting_source(std::shared_ptr<const byte_source> from) noexcept : forwarding_source(std::move(from)) {}

    result<void> read_at(uint64_t offset, span<byte> destination) const override {
        ZTENSOR_TRY(from_->read_at(offset, destination));
        note(offset, destination);
        return {};
    }

    /// What is known to be read.
    void note(uint64_t offset, bytes_view bytes) const {
        const os_lock lock(mutex_);
        ranges_.push_back({offset, {bytes.begin(), bytes.end()}});
    }
    /// All that was read, each byte once.
    [[nodiscard]] ZTENSOR_COLD file_index index() const {
        const os_lock lock(mutex_);
        sort_records(ranges_, [](const noted_range& a, const noted_range& b) { return a.offset < b.offset; });
        vector<noted_range> joined;
        for (noted_range& each : ranges_) {
            if (joined.empty() || each.offset > joined.back().end()) {
                joined.push_back(std::move(each));
            } else if (each.end() > joined.back().end()) {
                const auto known = static_cast<std::ptrdiff_t>(joined.back().end() - each.offset);
                joined.back().bytes.insert(joined.back().bytes.end(), each.bytes.begin() + known, each.bytes.end());
            }
        }
        ranges_ = std::move(joined);
        return file_index_access::make(*from_, ranges_);
    }

private:
    mutable os_mutex mutex_;
    mutable vector<noted_range> ranges_;
};

/// A file of which an index is known: what that holds is not read again, and all else is the file's.
class indexed_source final : public forwarding_source {
public:
    indexed_source(std::shared_ptr<const byte_source> from, file_index index) noexcept
        : forwarding_source(std::move(from)), index_(std::move(index)) {}

    result<void> read_at(uint64_t offset, span<byte> destination) const override {
        const optional<bytes_view> known = file_index_access::find(index_, offset, destination.size());
        if (!known) {
            return from_->read_at(offset, destination);
        }
        std::copy(known->begin(), known->end(), destination.begin());
        return {};
    }
    void read_many(read_requests& requests) const override { from_->read_many(requests); }
    [[nodiscard]] bytes_view mapped() const noexcept override { return from_->mapped(); }

private:
    [[nodiscard]] optional<bytes_view> range_in_memory(uint64_t offset, uint64_t length,
                                                       bool must_stay) const noexcept override {
        return must_stay ? source_access::stable_range(*from_, offset, length)
                         : source_access::mapped_range(*from_, offset, length);
    }
    [[nodiscard]] bool reads_files() const noexcept override { return source_access::is_file(*from_); }
    [[nodiscard]] const far_source* far_at(uint64_t& offset, uint64_t length) const noexcept override {
        const bool is_known = length != 0 && file_index_access::find(index_, offset, length);
        return is_known ? nullptr : source_access::far_at(*from_, offset, length);
    }

    file_index index_;
};

// -- of a .zt file

/// As open_container(), with what the index holds in place of the file.
ZTENSOR_COLD inline result<void> open_indexed(opened_file& opened, const file_index& index) {
    ZTENSOR_TRY(file_index_access::check_same(*opened.source, index));
    return open_container(opened, indexed_source(opened.source, index));
}

/// What opening an open .zt file read. Its ends are read again. Errors: what the source says.
ZTENSOR_COLD inline result<file_index> index_of(const opened_file& opened) {
    const byte_source& own =
        opened.index.shards.empty() ? *opened.source : static_cast<const assembled_source&>(*opened.source).file();
    const noting_source noting(std::shared_ptr<const byte_source>(opened.source, &own));
    byte ends[head_bytes];
    const auto head = static_cast<size_t>((std::min<uint64_t>)(own.size(), head_bytes));
    const auto tail = static_cast<size_t>((std::min<uint64_t>)(own.size(), tail_bytes));
    ZTENSOR_TRY(noting.read_at(0, {ends, head}));
    ZTENSOR_TRY(noting.read_at(own.size() - tail, {ends, tail}));
    noting.note(opened.index_offset, opened.index.bytes());
    return noting.index();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
