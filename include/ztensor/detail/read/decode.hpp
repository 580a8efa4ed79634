// SPDX-License-Identifier: MIT
//
// The decoded bytes of a component, within what a call may take: all of them, runs of them, or one piece after the
// other. Stored bytes are raw, zstd or seekable zstd; decoded ones are in the file's byte order. SPEC.md section 6.
#ifndef ZTENSOR_DETAIL_READ_DECODE_HPP
#define ZTENSOR_DETAIL_READ_DECODE_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/frames.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- call budget
//
// What one call may hold in memory of all that it makes, however many parts an object has and however they grow on
// their way: decoded, widened, converted, unpacked.

class call_budget {
public:
    explicit call_budget(const read_options& options) noexcept
        : most_(options.max_decoded_bytes()), left_(options.max_decoded_bytes()) {}

    /// Before that much memory is made. Errors: limit_exceeded, too_large_for_host.
    ZTENSOR_COLD result<void> take(uint64_t elements, uint64_t element_bytes) noexcept {
        const optional<uint64_t> bytes = checked_multiply(elements, element_bytes);
        if (!bytes || *bytes > left_) {
            return fail(errc::limit_exceeded,
                        "{} elements of {} bytes would take the call beyond the {} of read_options::max_decoded_bytes",
                        {elements, element_bytes, most_});
        }
        if (!fits_address_space(*bytes)) {
            return fail(errc::too_large_for_host, "{} elements of {} bytes are more than this host can address",
                        {elements, element_bytes});
        }
        left_ -= *bytes;
        return {};
    }

private:
    uint64_t most_;
    uint64_t left_;
};

// -- whole components

/// The whole blob, verified where the caller wants that.
ZTENSOR_COLD inline result<bytes_view> load_blob(const opened_file& file, const component_record& component,
                                                 thread_memory& memory) {
    ZTENSOR_TRY_ASSIGN(const bytes_view stored, load_range(file, component.offset, component.length, memory));
    ZTENSOR_TRY(check_digest(file, component, stored));
    return stored;
}

/// Decodes all of a component into `destination`, which has exactly its decoded_length().
/// Errors: unsupported_encoding, digest_mismatch, decode_failed, decode_size, and what the source reports.
inline result<void> decode(const opened_file& file, const component_record& component, span<byte> destination) {
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

/// Fills `destination` with the runs, which lie in the component's decoded length, and adds to `read_bytes` how many
/// bytes of the blob that took.
inline result<void> read_runs(const opened_file& file, const component_record& component, const byte_runs& runs,
                              span<byte> destination, uint64_t& read_bytes) {
    if (component.encoding == encoding::zstd_seekable) {
        return read_seekable_runs(file, component, runs, destination, read_bytes);
    }
    return component.encoding == encoding::raw ? read_raw_runs(file, component, runs, destination, read_bytes)
                                               : read_zstd_runs(file, component, runs, destination, read_bytes);
}

// -- decoded stream

/// The decoded bytes of a component in their order, for what is larger than memory: the blob is read once, from its
/// first byte to its last, and verified on the way. Holds a little of a raw or zstd blob, and a frame of seekable zstd.
class decoded_stream {
public:
    decoded_stream(const opened_file& file, const component_record& component,
                   digest_use use = digest_use::as_wanted) noexcept
        : file_(file), component_(component), check_(file, component, use) {}

    /// Called once, before fill(). Errors: out_of_memory; those of load_seek_table().
    result<void> start() {
        ZTENSOR_TRY(is_seekable() ? load_seek_table(file_, component_, table_) : result<void>());
        stored_.add(*file_.source, component_.offset, component_.length);
        stored_.begin();
        if (!is_streamed()) { // or read by frames
            return {};
        }
        ZTENSOR_TRY(allocate(input_, cached_piece_bytes, "a piece"));
        const uint64_t claimed = component_.decoded_length().value_or(file_.options.max_decoded_bytes());
        return decoder_.start( // whatever the blob claims
            (std::min)(claimed, checked_multiply(component_.length, max_zstd_ratio).value_or(claimed)));
    }

    /// So much is best asked for at once where it is looked at and forgotten: a frame is decoded there then.
    [[nodiscard]] size_t best_bytes() const noexcept {
        return table_.frames() != 0 ? static_cast<size_t>(table_.content_bytes(0)) : cached_piece_bytes;
    }

    /// Bytes that were given.
    [[nodiscard]] uint64_t position() const noexcept { return position_; }

    /// The next bytes; fewer than `to` holds only at the end. Errors: as decoding does.
    result<size_t> fill(span<byte> to) {
        result<size_t> made = is_seekable() || is_whole_ ? take_held(to) : is_streamed() ? decode(to) : read_raw(to);
        position_ += made.value_or(0);
        return made;
    }

    /// After the end, or after a failure: reads what is left, where there is a digest. Errors: digest_mismatch, and
    /// what the source says.
    result<void> finish(span<byte> scratch) {
        while (!is_seekable() && check_.is_wanted() && left() != 0) {
            ZTENSOR_TRY(read(scratch.first(smaller_size(scratch.size(), left()))));
        }
        return check_.finish();
    }

    /// What to say of a failure: that the blob is damaged says more than what follows from it.
    [[nodiscard]] error explain(error why, span<byte> scratch) {
        const bool says_enough = why.kind() == error_kind::io || is_seekable();
        result<void> intact = says_enough ? result<void>() : finish(scratch);
        return !intact && intact.error().code() == errc::digest_mismatch ? std::move(intact).error() : why;
    }

private:
    [[nodiscard]] bool is_seekable() const noexcept { return component_.encoding == encoding::zstd_seekable; }
    [[nodiscard]] bool is_streamed() const noexcept { return component_.encoding == encoding::zstd; }
    /// Stored bytes that were not read.
    [[nodiscard]] uint64_t left() const noexcept { return component_.length - read_bytes_; }

    /// The next stored bytes, of which there are so many.
    result<void> read(span<byte> to) {
        result<void> done = read_checked(file_, component_, read_bytes_, to, check_);
        read_bytes_ += done ? to.size() : 0;
        return done;
    }

    result<size_t> read_raw(span<byte> to) {
        const auto size = smaller_size(to.size(), left());
        ZTENSOR_TRY(read(to.first(size)));
        return size;
    }

    /// Of zstd frames, as much as there is room for, unless the blob ends before.
    result<size_t> decode(span<byte> to) {
        size_t made = 0;
        while (made < to.size()) {
            ZTENSOR_TRY(read_input());
            const size_t held = rest_.size();
            const result<size_t> more = decoder_.decode(rest_, to.subspan(made));
            if (!more && more.error().code() == errc::limit_exceeded) {
                return decode_at_once(to);
            }
            if (!more) {
                return error(more.error()).at(component_.offset);
            }
            made += *more;
            if (*more == 0 && rest_.size() == held && left() == 0) {
                break;
            }
        }
        ZTENSOR_TRY(at_offset(check_size(position_ + made, made < to.size()), component_.offset));
        return made;
    }

    /// Where a window would take more memory than all that it is for. What was given before is not given again.
    result<size_t> decode_at_once(span<byte> to) {
        ZTENSOR_TRY_ASSIGN(const span<byte> whole, decode_whole(file_, component_, content_));
        is_whole_ = true;
        held_ = whole.subspan(smaller_size(position_, whole.size()));
        return take_held(to);
    }

    /// More stored bytes, where few are left of those before.
    result<void> read_input() {
        if (rest_.size() >= zstd_stream::least_stored_bytes || left() == 0) {
            return {};
        }
        const size_t kept = rest_.size();
        if (kept != 0) {
            std::memmove(input_.data(), rest_.data(), kept);
        }
        const auto size = smaller_size(input_.size() - kept, left());
        ZTENSOR_TRY(read(input_.writable_bytes().subspan(kept, size)));
        rest_ = input_.bytes().first(kept + size);
        return {};
    }

    result<void> check_size(uint64_t decoded_bytes, bool is_at_end) const {
        const optional<uint64_t> declared = component_.decoded_length();
        if (!declared && decoded_bytes > file_.options.max_decoded_bytes()) {
            return fail(errc::limit_exceeded,
                        "the zstd blob decodes to more than the {} bytes of read_options::max_decoded_bytes",
                        {file_.options.max_decoded_bytes()});
        }
        if (is_at_end && (!decoder_.is_between_frames() || !rest_.empty())) {
            return fail(errc::decode_failed, "the zstd blob is cut off");
        }
        if (declared && (decoded_bytes > *declared || (is_at_end && decoded_bytes != *declared))) {
            return fail(errc::decode_size, "the zstd blob decodes to {} bytes, but {} are declared",
                        {decoded_bytes, *declared});
        }
        return {};
    }

    /// Of what is decoded as a whole, or frame after frame: straight to where there is room for all of one.
    result<size_t> take_held(span<byte> to) {
        size_t made = 0;
        while (made < to.size()) {
            if (!held_.empty()) {
                const size_t count = (std::min)(to.size() - made, held_.size());
                std::memcpy(to.data() + made, held_.data(), count);
                held_ = held_.subspan(count);
                made += count;
                continue;
            }
            if (is_whole_ || next_frame_ == table_.frames()) {
                break;
            }
            const uint64_t size = table_.content_bytes(next_frame_);
            const bool fits_there = size <= to.size() - made;
            ZTENSOR_TRY(check_memory_limit(size, file_.options));
            if (!fits_there && content_.size() < size) {
                ZTENSOR_TRY(allocate(content_, size, "a zstd frame"));
            }
            const span<byte> place =
                (fits_there ? to.subspan(made) : content_.writable_bytes()).first(static_cast<size_t>(size));
            ZTENSOR_TRY(decode_frame(file_, component_, frame_of(table_, next_frame_++), place));
            if (check_.is_wanted()) {
                check_.take(place);
            }
            held_ = fits_there ? bytes_view() : bytes_view(place);
            made += fits_there ? place.size() : 0;
        }
        return made;
    }

    const opened_file& file_;
    const component_record& component_;
    blob_check check_;
    read_ahead stored_{file_.options.threads()};
    uint64_t position_ = 0;
    uint64_t read_bytes_ = 0; ///< of the blob
    zstd_stream decoder_;
    byte_buffer input_; ///< of the decoder
    bytes_view rest_;   ///< what of the input is not decoded yet
    seek_table table_;
    size_t next_frame_ = 0;
    byte_buffer content_; ///< of the frame before that, or of all
    bytes_view held_;     ///< what of it was not given yet
    bool is_whole_ = false;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
