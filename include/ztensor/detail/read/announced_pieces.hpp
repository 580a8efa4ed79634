// SPDX-License-Identifier: MIT
//
// Ranges of a source that are about to be read, cut into requests, and the memory that their bytes wait in until they
// are read. Knows neither threads nor sources.
#ifndef ZTENSOR_DETAIL_READ_ANNOUNCED_PIECES_HPP
#define ZTENSOR_DETAIL_READ_ANNOUNCED_PIECES_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/io.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A range that was announced, and its bytes when they are there.
struct announced_piece {
    enum class progress : uint8_t {
        queued,
        under_way, ///< its memory is the source's
        arrived,
        failed,
        spent, ///< read, or given up: its memory is gone
    };

    uint64_t begin = 0;
    uint64_t end = 0;
    span<byte> place;   ///< where its bytes go: in memory of the caller's, or in `memory`
    byte_buffer memory; ///< of what is read in other pieces than it arrives in
    uint64_t unread_bytes = 0;
    size_t readers = 0; ///< that are copying from it
    progress state = progress::queued;
    result<void> outcome;      ///< of what failed
    std::exception_ptr thrown; ///< or what the source threw

    [[nodiscard]] uint64_t size() const noexcept { return end - begin; }
    [[nodiscard]] bool is_queued() const noexcept { return state == progress::queued; }
};

/// The pieces of one announcement, in ascending order.
class announced_pieces {
public:
    /// Holds at most `most_bytes` in memory of its own, and one piece in any case.
    announced_pieces(const read_preferences& best, uint64_t most_bytes) noexcept
        : best_(best),
          most_bytes_((std::min)(most_bytes,
                                 checked_multiply(best.request_bytes, best.requests_in_flight).value_or(most_bytes))) {}

    /// To be read once, in pieces of any size.
    void add(uint64_t offset, uint64_t length);
    /// To be read as a whole into exactly this memory.
    void add(uint64_t offset, span<byte> destination);
    /// Once, after the last add(): makes pieces of the ranges, near ones together and large ones cut. `share` is how
    /// many announcements have the memory and the requests together.
    void cut(size_t share);

    [[nodiscard]] announced_piece* find_placed(uint64_t offset, span<byte> destination) noexcept;
    [[nodiscard]] announced_piece* find_staged(uint64_t offset) noexcept;
    [[nodiscard]] uint64_t next_begin(uint64_t offset) const noexcept;
    [[nodiscard]] announced_piece* next_queued() noexcept;
    [[nodiscard]] size_t count_startable() noexcept;

    [[nodiscard]] const read_preferences& best() const noexcept { return best_; }
    /// So many requests take all that was added, or somewhat more.
    [[nodiscard]] uint64_t count_requests() const noexcept { return added_bytes_ / best_.request_bytes + 1; }
    [[nodiscard]] bool has_room(const announced_piece& piece) const noexcept {
        return held_bytes_ == 0 || held_bytes_ + piece.size() <= most_bytes_;
    }
    void drop_before(const announced_piece& piece) noexcept;
    [[nodiscard]] bool make_room(announced_piece& piece) noexcept;
    void release(announced_piece& piece, uint64_t read_bytes) noexcept;

private:
    using progress = announced_piece::progress;
    struct range {
        uint64_t begin;
        uint64_t end;
        uint64_t wanted_bytes;
    };

    /// A source may claim any length, and each piece takes memory: what is behind so many is read when it is wanted.
    static constexpr size_t most_staged = size_t{1} << 18;

    [[nodiscard]] bool joins(uint64_t begin, uint64_t end, const range& next) const noexcept;
    void drop(announced_piece& piece) noexcept;

    read_preferences best_;
    uint64_t most_bytes_;
    uint64_t added_bytes_ = 0;
    vector<range> ranges_;           ///< as they were added
    vector<announced_piece> placed_; ///< in memory of the caller's
    vector<announced_piece> staged_; ///< in memory of our own; no two share a byte
    size_t next_placed_ = 0;         ///< none before it is queued
    size_t next_staged_ = 0;
    vector<byte_buffer> spare_; ///< memory of pieces that are spent
    uint64_t held_bytes_ = 0;   ///< of staged pieces that are under way or have arrived
};

/// The next range is read at once with what lies between `begin` and `end`, and begins no earlier.
inline bool announced_pieces::joins(uint64_t begin, uint64_t end, const range& next) const noexcept {
    const bool is_near = next.begin <= end || next.begin - end <= best_.gap_bytes;
    return next.begin >= begin && is_near && (std::max)(end, next.end) - begin <= best_.request_bytes;
}

ZTENSOR_COLD inline void announced_pieces::add(uint64_t offset, uint64_t length) {
    const range added = {offset, offset + length, length}; // which lies in a file
    added_bytes_ += length;
    if (length == 0) {
        return;
    }
    if (!ranges_.empty() && joins(ranges_.back().begin, ranges_.back().end, added)) {
        ranges_.back().end = (std::max)(ranges_.back().end, added.end);
        ranges_.back().wanted_bytes += length;
        return;
    }
    ranges_.push_back(added);
}

ZTENSOR_COLD inline void announced_pieces::add(uint64_t offset, span<byte> destination) {
    added_bytes_ += destination.size();
    while (!destination.empty()) {
        announced_piece& piece = placed_.emplace_back();
        piece.place = destination.first((std::min)(destination.size(), best_.request_bytes));
        piece.begin = offset;
        piece.end = offset += piece.place.size();
        destination = destination.subspan(piece.place.size());
    }
}

inline void announced_pieces::cut(size_t share) {
    most_bytes_ /= share;
    best_.requests_in_flight = (std::max)(best_.requests_in_flight / static_cast<unsigned>(share), 1u);
    const auto is_before = [](const auto& a, const auto& b) { return a.begin < b.begin; };
    sort_records(placed_, is_before);
    sort_records(ranges_, is_before);
    for (const range& each : ranges_) {
        uint64_t begin = each.begin;
        for (size_t i = staged_.size(); i-- != 0 && staged_[i].end > each.begin;) { // what others want, too
            staged_[i].unread_bytes += (std::min)(staged_[i].end, each.end) - (std::max)(staged_[i].begin, each.begin);
        }
        if (!staged_.empty()) {
            announced_piece& last = staged_.back();
            begin = (std::max)(begin, (std::min)(last.end, each.end));
            if (begin != each.end && joins(last.begin, last.end, each)) {
                last.end = each.end;
                last.unread_bytes += (std::min)(each.wanted_bytes, each.end - begin);
                continue;
            }
        }
        for (; begin < each.end && staged_.size() < most_staged; begin = staged_.back().end) {
            announced_piece& piece = staged_.emplace_back();
            piece.begin = begin;
            piece.end = begin + (std::min<uint64_t>)(best_.request_bytes, each.end - begin);
            piece.unread_bytes = (std::min)(piece.size(), each.wanted_bytes);
        }
    }
    spare_.reserve((std::min)(staged_.size(), size_t{best_.requests_in_flight}));
}

/// The first of `pieces` that begins behind `offset`.
template <class Pieces>
[[nodiscard]] auto first_behind(Pieces& pieces, uint64_t offset) noexcept {
    return std::upper_bound(pieces.begin(), pieces.end(), offset,
                            [](uint64_t wanted, const announced_piece& piece) { return wanted < piece.begin; });
}

/// What was added for memory that `destination` is a part of, or the begin; null if nothing was.
inline announced_piece* announced_pieces::find_placed(uint64_t offset, span<byte> destination) noexcept {
    auto at = first_behind(placed_, offset);
    while (at != placed_.begin() && offset - (at - 1)->begin < best_.request_bytes) {
        --at;
        const bool is_same = offset < at->end && at->place.data() + (offset - at->begin) == destination.data();
        if (is_same && at->state != progress::spent) {
            return &*at;
        }
    }
    return nullptr;
}

/// The piece in memory of our own that holds the byte at `offset`; null if there is none.
inline announced_piece* announced_pieces::find_staged(uint64_t offset) noexcept {
    const auto behind = first_behind(staged_, offset);
    if (behind == staged_.begin()) {
        return nullptr;
    }
    announced_piece& found = *(behind - 1);
    return offset < found.end && found.state != progress::spent ? &found : nullptr;
}

/// Where the next piece behind `offset` begins that may be read in any pieces.
inline uint64_t announced_pieces::next_begin(uint64_t offset) const noexcept {
    auto next = first_behind(staged_, offset);
    while (next != staged_.end() && next->state == progress::spent) {
        ++next;
    }
    return next != staged_.end() ? next->begin : ~uint64_t{0};
}

/// The next piece to ask for; null if there is none, or no memory for it at present.
inline announced_piece* announced_pieces::next_queued() noexcept {
    while (next_placed_ != placed_.size() && !placed_[next_placed_].is_queued()) {
        ++next_placed_;
    }
    while (next_staged_ != staged_.size() && !staged_[next_staged_].is_queued()) {
        ++next_staged_;
    }
    announced_piece* const placed = next_placed_ != placed_.size() ? &placed_[next_placed_] : nullptr;
    announced_piece* staged = next_staged_ != staged_.size() ? &staged_[next_staged_] : nullptr;
    if (staged != nullptr && !has_room(*staged)) {
        staged = nullptr;
    }
    return staged == nullptr || (placed != nullptr && placed->begin < staged->begin) ? placed : staged;
}

/// How many pieces can be asked for at present.
inline size_t announced_pieces::count_startable() noexcept {
    if (next_queued() == nullptr) {
        return 0;
    }
    const uint64_t room = (most_bytes_ - (std::min)(held_bytes_, most_bytes_)) / best_.request_bytes + 1;
    return placed_.size() - next_placed_ +
           static_cast<size_t>((std::min<uint64_t>)(room, staged_.size() - next_staged_));
}

/// Memory for what is not the caller's. False if there is none.
inline bool announced_pieces::make_room(announced_piece& piece) noexcept {
    if (!piece.place.empty()) {
        return true;
    }
    const auto size = static_cast<size_t>(piece.size());
    if (!spare_.empty() && spare_.back().size() >= size) {
        piece.memory = std::move(spare_.back());
        spare_.pop_back();
    } else if (!piece.memory.allocate(size)) {
        return false;
    }
    piece.place = {piece.memory.data(), size};
    held_bytes_ += size;
    return true;
}

/// So many bytes of the piece were read; with the last its memory is free for others.
inline void announced_pieces::release(announced_piece& piece, uint64_t read_bytes) noexcept {
    piece.unread_bytes -= (std::min)(piece.unread_bytes, read_bytes);
    if (piece.unread_bytes == 0 && piece.readers == 0 && piece.state == progress::arrived) {
        drop(piece);
    }
}

/// Frees what lies before the piece and was read in part, as long as there is no room for it: readers go forward, and
/// one that comes late asks for its bytes itself.
inline void announced_pieces::drop_before(const announced_piece& piece) noexcept {
    for (announced_piece& each : staged_) {
        if (&each == &piece || has_room(piece)) {
            return;
        }
        if (each.state == progress::arrived && each.readers == 0) {
            drop(each);
        }
    }
}

inline void announced_pieces::drop(announced_piece& piece) noexcept {
    piece.state = progress::spent;
    held_bytes_ -= piece.size();
    static_cast<void>(next_queued());
    if (next_staged_ == staged_.size()) { // nothing more takes memory
        spare_.clear();
    } else if (spare_.size() < spare_.capacity()) {
        spare_.push_back(std::move(piece.memory));
    }
    piece.memory = byte_buffer();
    piece.place = {};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
