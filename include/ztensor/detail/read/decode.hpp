// SPDX-License-Identifier: MIT
//
// The decoded bytes of a component: all of them, or runs of them. Stored bytes are raw, zstd or seekable zstd, or two
// planes of those; decoded ones are in the file's byte order. SPEC.md section 6, section 14.
#ifndef ZTENSOR_DETAIL_READ_DECODE_HPP
#define ZTENSOR_DETAIL_READ_DECODE_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/frames.hpp>
#include <ztensor/detail/read/joined_planes.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- whole components

/// The whole blob, verified where the caller wants that.
ZTENSOR_COLD inline result<bytes_view> load_blob(const opened_file& file, const component_record& component,
                                                 thread_memory& memory) {
    ZTENSOR_TRY_ASSIGN(const bytes_view stored, load_range(file, component.offset, component.length, memory));
    ZTENSOR_TRY(check_digest(file, component, stored));
    return stored;
}

inline result<void> decode(const opened_file& file, const component_record& component, span<byte> destination);

/// Elements in planes of any encoding: `fill(plane, bytes) -> result<void>` brings each plane, the exponents into the
/// end of the destination, from where they are taken as they are joined.
template <class Fill>
result<void> fill_planes(const planes_tensor& planes, span<byte> destination, const Fill& fill) {
    const size_t count = destination.size() / planes.width();
    const span<byte> exponents = destination.last(count);
    ZTENSOR_TRY(in_component(fill(plane::exponent, exponents), role_of(plane::exponent)));
    byte_buffer memory;
    ZTENSOR_TRY_ASSIGN(const span<byte> fractions, allocate(memory, destination.size() - count, "fractions"));
    ZTENSOR_TRY(in_component(fill(plane::fraction, fractions), role_of(plane::fraction)));
    join_planes(exponents.data(), fractions.data(), planes.width(), destination);
    return {};
}

/// The same of a tensor in planes.
ZTENSOR_COLD inline result<void> decode_any_planes(const opened_file& file, const planes_tensor& planes,
                                                   span<byte> destination) {
    ZTENSOR_TRY(check_encodings(file, planes));
    if (planes_stream::can_read(planes)) {
        elements_in_memory to(destination, planes);
        return decode_planes(file, planes, to.taker());
    }
    return fill_planes(planes, destination,
                       [&](plane which, span<byte> bytes) { return decode(file, planes.part(which), bytes); });
}

/// Decodes all of a component into `destination`, which has exactly its decoded_length().
/// Errors: unsupported_encoding, digest_mismatch, decode_failed, decode_size, and what the source reports.
inline result<void> decode(const opened_file& file, const component_record& component, span<byte> destination) {
    if (component.is_in_planes) {
        return decode_any_planes(file, file.planes.of(component), destination);
    }
    ZTENSOR_TRY(check_encoding(file, component));
    if (component.encoding == encoding::raw) {
        blob_check check(file, component);
        ZTENSOR_TRY(read_checked(file, component, 0, destination, check));
        return check.finish();
    }
    if (component.encoding == encoding::zstd_seekable) {
        return decode_seekable(file, component, destination);
    }
    if (component.length >= frame_stream::smallest_blob_bytes) {
        return decode_frames(file, component, destination);
    }
    thread_memory memory;
    ZTENSOR_TRY_ASSIGN(const bytes_view stored, load_blob(file, component, memory));
    return at_offset(decode_zstd(stored, destination), component.offset);
}

/// All decoded bytes of a component, in the file's byte order, in memory of `decoded`. Where the size stands nowhere it
/// is what the blob decodes to, within the caller's limit. SPEC.md section 6.2.
inline result<span<byte>> decode_whole(const opened_file& file, const component_record& component,
                                       byte_buffer& decoded) {
    ZTENSOR_TRY(check_encoding(file, component));
    const optional<uint64_t> size = component.decoded_length();
    if (!size) {
        thread_memory memory;
        ZTENSOR_TRY_ASSIGN(const bytes_view stored, load_blob(file, component, memory));
        ZTENSOR_TRY_ASSIGN(
            const size_t found,
            at_offset(decode_zstd_within(stored, file.options.max_decoded_bytes(), decoded), component.offset));
        return decoded.writable_bytes().first(found);
    }
    ZTENSOR_TRY(check_memory_limit(*size, file.options));
    ZTENSOR_TRY_ASSIGN(const span<byte> whole, allocate(decoded, *size, "a component"));
    ZTENSOR_TRY(decode(file, component, whole));
    return whole;
}

// -- runs
//
// Some of the decoded bytes of a component, of raw data and of several frames reading no others.

/// The runs of one slice, from the first to the last, all of one length and ascending. Checked before: the bytes of the
/// whole tensor fit 64 bits, and every range lies in its dimension.
class byte_runs {
public:
    /// One run.
    byte_runs(uint64_t begin, uint64_t bytes) noexcept : at_(begin), run_bytes_(bytes), left_(bytes != 0) {}

    /// `ranges` has as many as `dimensions`; an element of the shape takes `element_bytes`.
    byte_runs(const shape& dimensions, span<const index_range> ranges, uint64_t element_bytes) noexcept
        : byte_runs(0, element_bytes) {
        uint64_t stride = element_bytes; // of the dimension, in bytes
        bool is_whole = true;            // all dimensions inside this one
        for (size_t i = dimensions.rank(); i-- != 0; stride *= dimensions[i]) {
            const uint64_t count = ranges[i].end - ranges[i].begin;
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

    /// The same of elements of `width` bytes, of which each is to be `each`; nothing where runs cut elements.
    [[nodiscard]] optional<byte_runs> scaled(uint64_t width, uint64_t each) const noexcept {
        byte_runs made = *this;
        bool is_cut = at_ % width != 0 || run_bytes_ % width != 0;
        made.at_ = at_ / width * each;
        made.run_bytes_ = run_bytes_ / width * each;
        for (size_t i = 0; i < rank_; ++i) {
            is_cut = is_cut || loops_[i].stride % width != 0;
            made.loops_[i].stride = loops_[i].stride / width * each;
        }
        return is_cut ? std::nullopt : optional(made);
    }

    [[nodiscard]] bool is_empty() const noexcept { return left_ == 0; }
    /// The first run that is left.
    [[nodiscard]] uint64_t begin() const noexcept { return at_; }
    [[nodiscard]] uint64_t end() const noexcept { return at_ + run_bytes_; }
    /// Of each run.
    [[nodiscard]] uint64_t run_bytes() const noexcept { return run_bytes_; }
    [[nodiscard]] uint64_t count() const noexcept { return left_; }

    void next() noexcept {
        --left_;
        for (size_t i = 0; i < rank_; ++i) {
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
        uint64_t count;
        uint64_t done;
        uint64_t stride;
    };

    uint64_t at_;
    uint64_t run_bytes_;
    uint64_t left_; ///< runs
    size_t rank_ = 0;
    std::array<loop, max_rank> loops_; ///< from the inside out; the first rank_ of them
};

/// Of bytes [begin, end) of the decoded whole, which lie in `decoded`, copies to `destination` what the runs want of
/// them. Runs that end there are done with, and so is their part of `destination`.
inline void copy_runs(byte_runs& runs, bytes_view decoded, uint64_t begin, span<byte>& destination) noexcept {
    const uint64_t end = begin + decoded.size();
    while (!runs.is_empty() && runs.begin() < end) {
        const uint64_t from = (std::max)(runs.begin(), begin);
        const uint64_t to = (std::min)(runs.end(), end);
        std::memcpy(destination.data() + (from - runs.begin()), decoded.data() + (from - begin),
                    static_cast<size_t>(to - from));
        if (runs.end() > end) {
            return;
        }
        destination = destination.subspan(static_cast<size_t>(runs.run_bytes()));
        runs.next();
    }
}

/// Announces all that is stored of an object.
ZTENSOR_COLD inline void announce_object(read_ahead& ahead, const opened_file& file, const object_record& object) {
    for (const component_record& part : file.index.components_of(object)) {
        ahead.add(*file.source, part.offset, part.length);
    }
}

/// Announces what read_raw_runs() reads.
ZTENSOR_COLD inline void announce_runs(read_ahead& ahead, const byte_source& source, uint64_t blob_offset,
                                       byte_runs runs) {
    const bool is_far = !runs.is_empty() && source_access::is_far(source, blob_offset + runs.begin(), runs.run_bytes());
    for (; is_far && !runs.is_empty(); runs.next()) {
        ahead.add(source, blob_offset + runs.begin(), runs.run_bytes());
    }
}

/// Runs of raw data; of a file neighbours at once with what lies between them. (Runs of 64 bytes at every 2 KiB of
/// 64 MiB took 16 ms by one call each, and take 2.3.)
inline result<void> read_raw_runs(const opened_file& file, const component_record& component, byte_runs runs,
                                  span<byte> destination, uint64_t& read_bytes) {
    if (runs.count() > 1) {
        ZTENSOR_TRY_ASSIGN(const optional<bytes_view> stable,
                           source_access::find_stable_range(*file.source, component.offset, component.length));
        if (stable) {
            read_bytes += runs.count() * runs.run_bytes();
            copy_runs(runs, *stable, 0, destination);
            return {};
        }
    }
    const bool joins_neighbours = source_access::is_file(*file.source);
    read_ahead ahead(file.options.threads());
    announce_runs(ahead, *file.source, component.offset, runs);
    ahead.begin();
    thread_memory memory;
    while (!runs.is_empty()) {
        const uint64_t begin = runs.begin();
        uint64_t end = runs.end();
        byte_runs next = runs;
        for (next.next(); joins_neighbours && !next.is_empty(); next.next()) {
            if (next.begin() - end > most_gap_bytes || next.end() - begin > cached_piece_bytes) {
                break;
            }
            end = next.end();
        }
        const auto size = static_cast<size_t>(end - begin);
        const bool is_alone = size == runs.run_bytes();
        ZTENSOR_TRY_ASSIGN(const span<byte> all, is_alone ? result<span<byte>>(destination.first(size))
                                                          : memory.reserve(size, "a part of a slice"));
        ZTENSOR_TRY(read_bulk(*file.source, component.offset + begin, all));
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

/// Some bytes of a blob, to look at: perhaps not those that will be read later.
inline result<void> peek_stored(const opened_file& file, const component_record& component, optional<bytes_view> stable,
                                uint64_t from, span<byte> destination) {
    if (!stable) {
        return file.source->read_at(component.offset + from, destination);
    }
    std::memcpy(destination.data(), stable->data() + from, destination.size());
    return {};
}

/// Copies what the runs want of one frame, reading and decoding that alone.
inline result<void> read_runs_of_frame(const opened_file& file, const component_record& component,
                                       const zstd_frame& frame, uint64_t begin, byte_runs& runs,
                                       span<byte>& destination) {
    const uint64_t stored_bytes = frame.end - frame.begin;
    if (!can_decode_to(frame.content_bytes, stored_bytes)) {
        return fail(errc::decode_failed, "a zstd frame of {} bytes can't decode to the {} that it states",
                    {stored_bytes, frame.content_bytes});
    }
    ZTENSOR_TRY(check_memory_limit(frame.content_bytes, file.options));
    const auto content_bytes = static_cast<size_t>(frame.content_bytes);
    if (runs.begin() <= begin && runs.end() >= begin + content_bytes) { // straight into its place
        const auto at = static_cast<size_t>(begin - runs.begin());
        ZTENSOR_TRY(decode_frame(file, component, frame, destination.subspan(at, content_bytes)));
        if (runs.end() == begin + content_bytes) {
            destination = destination.subspan(static_cast<size_t>(runs.run_bytes()));
            runs.next();
        }
        return {};
    }
    thread_memory memory;
    ZTENSOR_TRY_ASSIGN(const span<byte> content, memory.reserve(content_bytes, "a zstd frame"));
    ZTENSOR_TRY(decode_frame(file, component, frame, content));
    copy_runs(runs, content, begin, destination);
    return {};
}

/// So much of a zstd blob is fetched before it is known whether a run lies there.
inline constexpr uint64_t most_bytes_ahead = uint64_t{32} << 20;

/// Runs of a zstd blob: of several frames that state the sizes of their content, only those frames are read in which
/// runs lie, and the heads of those before. A single frame is read and verified as a whole.
inline result<void> read_zstd_runs(const opened_file& file, const component_record& component, byte_runs runs,
                                   span<byte> destination, uint64_t& read_bytes) {
    ZTENSOR_TRY_ASSIGN(const optional<bytes_view> stable,
                       source_access::find_stable_range(*file.source, component.offset, component.length));
    frame_walker walker(component.length);
    uint64_t decoded_bytes = 0;
    const read_ahead stored(file.options.threads(), *file.source, component.offset, component.length,
                            most_bytes_ahead); // where frames begin only those before them tell
    while (!runs.is_empty() && !walker.is_at_end()) {
        byte head[frame_walker::most_head_bytes];
        const span<byte> wanted(head, walker.head_bytes());
        ZTENSOR_TRY(peek_stored(file, component, stable, walker.next(), wanted));
        read_bytes += wanted.size();
        const result<bool> is_frame = walker.take(head);
        const zstd_frame& frame = walker.frame();
        const bool is_all = is_frame && frame.begin == 0 && frame.end == component.length;
        if (!is_frame || frame.content_bytes == zstd_frame::unknown || is_all) {
            byte_buffer decoded;
            ZTENSOR_TRY_ASSIGN(const span<byte> whole, decode_whole(file, component, decoded));
            read_bytes += component.length;
            copy_runs(runs, whole, 0, destination);
            return {};
        }
        if (!*is_frame) {
            continue;
        }
        if (frame.content_bytes > ~uint64_t{0} - decoded_bytes) {
            break;
        }
        if (runs.begin() < decoded_bytes + frame.content_bytes) {
            ZTENSOR_TRY(at_offset(read_runs_of_frame(file, component, frame, decoded_bytes, runs, destination),
                                  component.offset + frame.begin));
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

/// Announces the frames in which runs lie, each once.
ZTENSOR_COLD inline void announce_frames(read_ahead& ahead, const opened_file& file, const component_record& component,
                                         const seek_table& table, byte_runs runs) {
    size_t next = 0; // frame that was not announced
    const bool is_far = source_access::is_far(*file.source, component.offset, component.length);
    for (; is_far && !runs.is_empty(); runs.next()) {
        next = (std::max)(next, table.frame_at(runs.begin()));
        for (; next < table.frames() && table.content_begin(next) < runs.end(); ++next) {
            ahead.add(*file.source, component.offset + table.begin(next), table.end(next) - table.begin(next));
        }
    }
}

/// Runs of a blob of seekable zstd: of the frames in which runs lie, nothing else but the table is read.
ZTENSOR_COLD inline result<void> read_seekable_runs(const opened_file& file, const component_record& component,
                                                    byte_runs runs, span<byte> destination, uint64_t& read_bytes) {
    seek_table table;
    ZTENSOR_TRY(at_offset(load_seek_table(file, component, table), component.offset));
    read_bytes += table.frames() == 0 ? 0 : component.length - table.end(table.frames() - 1);
    read_ahead stored(file.options.threads());
    announce_frames(stored, file, component, table, runs);
    stored.begin();
    for (size_t i = 0; !runs.is_empty() && i < table.frames(); ++i) {
        i = (std::max)(i, table.frame_at(runs.begin())); // of a run that goes on, the next one
        const zstd_frame frame = frame_of(table, i);
        ZTENSOR_TRY(at_offset(read_runs_of_frame(file, component, frame, table.content_begin(i), runs, destination),
                              component.offset + frame.begin));
        read_bytes += frame.end - frame.begin;
    }
    return {};
}

inline result<void> read_runs(const opened_file& file, const component_record& component, const byte_runs& runs,
                              span<byte> destination, uint64_t& read_bytes);

/// The same of a tensor in planes.
ZTENSOR_COLD inline result<void> read_planes_runs(const opened_file& file, const component_record& component,
                                                  const byte_runs& runs, span<byte> destination, uint64_t& read_bytes) {
    const planes_tensor& planes = file.planes.of(component);
    ZTENSOR_TRY(check_encodings(file, planes));
    const size_t width = planes.width();
    const optional<byte_runs> of_exponents = runs.scaled(width, 1), of_fractions = runs.scaled(width, width - 1);
    if (!of_exponents || !of_fractions) { // bytes that are no whole elements
        byte_buffer decoded;
        ZTENSOR_TRY_ASSIGN(const span<byte> whole, decode_whole(file, component, decoded));
        read_bytes += component.length;
        byte_runs left = runs;
        copy_runs(left, whole, 0, destination);
        return {};
    }
    return fill_planes(planes, destination, [&](plane which, span<byte> bytes) {
        return read_runs(file, planes.part(which), which == plane::exponent ? *of_exponents : *of_fractions, bytes,
                         read_bytes);
    });
}

/// Fills `destination` with the runs, which lie in the component's decoded length, and adds to `read_bytes` how many
/// bytes of the blob that took.
inline result<void> read_runs(const opened_file& file, const component_record& component, const byte_runs& runs,
                              span<byte> destination, uint64_t& read_bytes) {
    if (component.is_in_planes) {
        return read_planes_runs(file, component, runs, destination, read_bytes);
    }
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
