// SPDX-License-Identifier: MIT
//
// Which decoded bytes of a tensor a slice is made of, in as few runs as can be, and reading nothing but those.
#ifndef ZTENSOR_DETAIL_READ_BYTE_RUNS_HPP
#define ZTENSOR_DETAIL_READ_BYTE_RUNS_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/codec/zstd.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/detail/read/thread_memory.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/slice.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The runs of one slice, from the first to the last, all of one length and ascending. Checked before: the bytes of the
/// whole tensor fit 64 bits, and every range lies in its dimension.
class byte_runs {
public:
    /// One run.
    byte_runs(std::uint64_t begin, std::uint64_t bytes) noexcept : at_(begin), run_bytes_(bytes), left_(bytes != 0) {}

    /// `ranges` has as many as `dimensions`; an element of the shape takes `element_bytes`.
    byte_runs(const shape& dimensions, span<const index_range> ranges, std::uint64_t element_bytes) noexcept
        : byte_runs(0, element_bytes) {
        std::uint64_t stride = element_bytes; // of the dimension, in bytes
        bool is_whole = true;                 // all dimensions inside this one
        for (std::size_t i = dimensions.rank(); i-- != 0; stride *= dimensions[i]) {
            const std::uint64_t count = ranges[i].end - ranges[i].begin;
            at_ += ranges[i].begin * stride;
            if (is_whole) {
                run_bytes_ *= count;
            } else if (count != 1) {
                loops_[rank_++] = {count, 0, stride};
                left_ *= count;
            }
            is_whole = is_whole && count == dimensions[i];
        }
        left_ = run_bytes_ == 0 ? 0 : left_;
    }

    [[nodiscard]] bool is_empty() const noexcept { return left_ == 0; }
    /// The first run that is left.
    [[nodiscard]] std::uint64_t begin() const noexcept { return at_; }
    [[nodiscard]] std::uint64_t end() const noexcept { return at_ + run_bytes_; }
    /// Of each run.
    [[nodiscard]] std::uint64_t run_bytes() const noexcept { return run_bytes_; }
    [[nodiscard]] std::uint64_t count() const noexcept { return left_; }

    void next() noexcept {
        --left_;
        for (std::size_t i = 0; i < rank_; ++i) {
            loop& each = loops_[i];
            at_ += each.stride;
            if (++each.done != each.count) {
                return;
            }
            at_ -= each.count * each.stride;
            each.done = 0;
        }
    }

private:
    struct loop {
        std::uint64_t count;
        std::uint64_t done;
        std::uint64_t stride;
    };

    std::uint64_t at_;
    std::uint64_t run_bytes_;
    std::uint64_t left_; ///< runs
    std::size_t rank_ = 0;
    std::array<loop, max_rank> loops_; ///< from the inside out; the first rank_ of them
};

/// Of bytes [begin, end) of the decoded whole, which lie in `decoded`, copies to `destination` what the runs want of
/// them. Runs that end there are done with, and so is their part of `destination`.
inline void copy_runs(byte_runs& runs, bytes_view decoded, std::uint64_t begin, span<std::byte>& destination) noexcept {
    const std::uint64_t end = begin + decoded.size();
    while (!runs.is_empty() && runs.begin() < end) {
        const std::uint64_t from = (std::max)(runs.begin(), begin);
        const std::uint64_t to = (std::min)(runs.end(), end);
        std::memcpy(destination.data() + (from - runs.begin()), decoded.data() + (from - begin),
                    static_cast<std::size_t>(to - from));
        if (runs.end() > end) {
            return;
        }
        destination = destination.subspan(static_cast<std::size_t>(runs.run_bytes()));
        runs.next();
    }
}

/// Runs of raw data in a file, neighbours at once with what lies between them. (Runs of 64 bytes at every 2 KiB of
/// 64 MiB took 16 ms by one call each, and take 2.3.)
[[nodiscard]] ZTENSOR_COLD inline result<void> read_near_runs(const opened_file& file,
                                                              const component_record& component, byte_runs runs,
                                                              span<std::byte> destination, std::uint64_t& read_bytes) {
    thread_memory memory;
    while (!runs.is_empty()) {
        const std::uint64_t begin = runs.begin();
        std::uint64_t end = runs.end();
        byte_runs next = runs;
        for (next.next(); !next.is_empty(); next.next()) {
            if (next.begin() - end > most_gap_bytes || next.end() - begin > cached_piece_bytes) {
                break;
            }
            end = next.end();
        }
        const auto size = static_cast<std::size_t>(end - begin);
        const bool is_alone = size == runs.run_bytes();
        if (!is_alone && !memory.reserve(cached_piece_bytes)) {
            return fail(errc::out_of_memory, "no memory for {} bytes of a slice", {cached_piece_bytes});
        }
        const span<std::byte> all = is_alone ? destination.first(size) : memory.first(size);
        ZTENSOR_TRY(file.source->read_at(component.offset + begin, all));
        read_bytes += size;
        if (is_alone) {
            destination = destination.subspan(size);
            runs.next();
        } else {
            copy_runs(runs, all, begin, destination);
        }
    }
    return {};
}

/// Runs of raw data.
[[nodiscard]] inline result<void> read_raw_runs(const opened_file& file, const component_record& component,
                                                byte_runs runs, span<std::byte> destination,
                                                std::uint64_t& read_bytes) {
    if (runs.count() > 1) {
        ZTENSOR_TRY_ASSIGN(const std::optional<bytes_view> stable, find_stable_blob(file, component));
        if (stable) {
            read_bytes += runs.count() * runs.run_bytes();
            copy_runs(runs, *stable, 0, destination);
            return {};
        }
        if (source_access::is_file(*file.source)) {
            return read_near_runs(file, component, runs, destination, read_bytes);
        }
    }
    const auto run_bytes = static_cast<std::size_t>(runs.run_bytes());
    for (; !runs.is_empty(); runs.next()) {
        const std::uint64_t offset = component.offset + runs.begin();
        ZTENSOR_TRY(read_bulk(*file.source, offset, destination.first(run_bytes)));
        read_bytes += run_bytes;
        destination = destination.subspan(run_bytes);
    }
    return {};
}

/// Some bytes of a blob, to look at: perhaps not those that will be read later.
[[nodiscard]] inline result<void> peek_stored(const opened_file& file, const component_record& component,
                                              std::optional<bytes_view> stable, std::uint64_t from,
                                              span<std::byte> destination) {
    if (!stable) {
        return file.source->read_at(component.offset + from, destination);
    }
    std::memcpy(destination.data(), stable->data() + from, destination.size());
    return {};
}

/// Runs of all that a zstd blob decodes to.
[[nodiscard]] inline result<void> read_runs_of_whole(const opened_file& file, const component_record& component,
                                                     byte_runs runs, span<std::byte> destination,
                                                     std::uint64_t& read_bytes) {
    byte_buffer decoded;
    ZTENSOR_TRY_ASSIGN(const span<std::byte> whole, decode_whole(file, component, decoded));
    read_bytes += component.length;
    copy_runs(runs, whole, 0, destination);
    return {};
}

/// Copies what the runs want of one frame, reading and decoding that alone.
[[nodiscard]] inline result<void> read_runs_of_frame(const opened_file& file, const component_record& component,
                                                     const zstd_frame& frame, std::uint64_t begin, byte_runs& runs,
                                                     span<std::byte>& destination) {
    const std::uint64_t stored_bytes = frame.end - frame.begin;
    if (!can_decode_to(frame.content_bytes, stored_bytes)) {
        return fail(errc::decode_failed, "a zstd frame of {} bytes can't decode to the {} that it states",
                    {stored_bytes, frame.content_bytes});
    }
    component_record part = component;
    part.offset += frame.begin;
    part.length = stored_bytes;
    part.digest_text = {}; // which covers the whole
    thread_memory stored_memory;
    ZTENSOR_TRY_ASSIGN(const bytes_view stored, load_blob(file, part, stored_memory));
    ZTENSOR_TRY(check_memory_limit(frame.content_bytes, file.options));
    if (component.encoding == encoding::zstd_seekable) {
        ZTENSOR_TRY(check_seekable_frame(stored));
    }
    const auto content_bytes = static_cast<std::size_t>(frame.content_bytes);
    const bool is_wanted_whole = runs.begin() <= begin && runs.end() >= begin + content_bytes;
    if (is_wanted_whole) { // straight into its place
        const span<std::byte> place =
            destination.subspan(static_cast<std::size_t>(begin - runs.begin()), content_bytes);
        result<void> decoded = decode_zstd(stored, place);
        if (decoded && runs.end() == begin + content_bytes) {
            destination = destination.subspan(static_cast<std::size_t>(runs.run_bytes()));
            runs.next();
        }
        return decoded;
    }
    thread_memory decoded_memory;
    if (!decoded_memory.reserve(content_bytes)) {
        return fail(errc::out_of_memory, "no memory for a zstd frame of {} bytes", {content_bytes});
    }
    const span<std::byte> content = decoded_memory.first(content_bytes);
    result<void> decoded = decode_zstd(stored, content);
    if (decoded) {
        copy_runs(runs, content, begin, destination);
    }
    return decoded;
}

/// Runs of a zstd blob: of several frames that state the sizes of their content, only those frames are read in which
/// runs lie, and the heads of those before. A single frame is read and verified as a whole.
[[nodiscard]] inline result<void> read_zstd_runs(const opened_file& file, const component_record& component,
                                                 byte_runs runs, span<std::byte> destination,
                                                 std::uint64_t& read_bytes) {
    ZTENSOR_TRY_ASSIGN(const std::optional<bytes_view> stable, find_stable_blob(file, component));
    frame_walker walker(component.length);
    std::uint64_t decoded_bytes = 0;
    while (!runs.is_empty() && !walker.is_at_end()) {
        std::byte head[frame_walker::most_head_bytes];
        const span<std::byte> wanted(head, walker.head_bytes());
        ZTENSOR_TRY(peek_stored(file, component, stable, walker.next(), wanted));
        read_bytes += wanted.size();
        const result<bool> is_frame = walker.take(head);
        const zstd_frame& frame = walker.frame();
        const bool is_all = is_frame && frame.begin == 0 && frame.end == component.length;
        if (!is_frame || frame.content_bytes == zstd_frame::unknown || is_all) {
            return read_runs_of_whole(file, component, runs, destination, read_bytes);
        }
        if (!*is_frame) {
            continue;
        }
        if (frame.content_bytes > ~std::uint64_t{0} - decoded_bytes) {
            break;
        }
        if (runs.begin() < decoded_bytes + frame.content_bytes) {
            result<void> read = read_runs_of_frame(file, component, frame, decoded_bytes, runs, destination);
            if (!read) {
                return std::move(read).error().at(component.offset + frame.begin);
            }
            read_bytes += frame.end - frame.begin;
        }
        decoded_bytes += frame.content_bytes;
    }
    if (!runs.is_empty()) {
        return fail(errc::decode_size, "the zstd blob decodes to {} bytes, fewer than are declared", {decoded_bytes})
            .at(component.offset);
    }
    return {};
}

/// Runs of a blob of seekable zstd: of the frames in which runs lie, nothing else but the table is read.
[[nodiscard]] ZTENSOR_COLD inline result<void> read_seekable_runs(const opened_file& file,
                                                                  const component_record& component, byte_runs runs,
                                                                  span<std::byte> destination,
                                                                  std::uint64_t& read_bytes) {
    seek_table table;
    if (result<void> found = load_seek_table(file, component, table); !found) {
        return std::move(found).error().at(component.offset);
    }
    read_bytes += table.frames() == 0 ? 0 : component.length - table.end(table.frames() - 1);
    for (std::size_t i = 0; !runs.is_empty() && i < table.frames(); ++i) {
        i = (std::max)(i, table.frame_at(runs.begin())); // of a run that goes on, the next one
        const zstd_frame frame{table.begin(i), table.end(i), table.content_bytes(i)};
        result<void> read = read_runs_of_frame(file, component, frame, table.content_begin(i), runs, destination);
        if (!read) {
            return std::move(read).error().at(component.offset + frame.begin);
        }
        read_bytes += frame.end - frame.begin;
    }
    return {};
}

/// Fills `destination` with the runs, which lie in the component's decoded length, and adds to `read_bytes` how many
/// bytes of the blob that took.
[[nodiscard]] inline result<void> read_runs(const opened_file& file, const component_record& component,
                                            const byte_runs& runs, span<std::byte> destination,
                                            std::uint64_t& read_bytes) {
    if (component.encoding == encoding::zstd_seekable) {
        return read_seekable_runs(file, component, runs, destination, read_bytes);
    }
    return component.encoding == encoding::raw ? read_raw_runs(file, component, runs, destination, read_bytes)
                                               : read_zstd_runs(file, component, runs, destination, read_bytes);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
