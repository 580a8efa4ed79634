// SPDX-License-Identifier: MIT
//
// An undo record, read back: what it says of the old file, and the old pieces that it holds. See undo_log.hpp.
#ifndef ZTENSOR_DETAIL_WRITE_UNDO_READER_HPP
#define ZTENSOR_DETAIL_WRITE_UNDO_READER_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/write/undo_log.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class undo_reader {
public:
    /// Where old bytes lie in the record, and where in the file they lay.
    struct piece {
        std::uint64_t offset;
        std::uint64_t length;
        std::uint64_t at;
    };

    /// Nothing for a record that was not completed: then nothing of the file was changed. Errors: undo_record_refused
    /// for one of an earlier release, io_error, file_changed, out_of_memory.
    [[nodiscard]] ZTENSOR_COLD static result<std::optional<undo_reader>> read(const file& record) {
        std::byte head[undo_head_bytes] = {};
        const std::size_t there = static_cast<std::size_t>((std::min<std::uint64_t>)(record.size_bytes(), sizeof head));
        ZTENSOR_TRY(record.read_at(0, {head, there}));
        if (as_text({head, undo_magic_1.size()}) == undo_magic_1) {
            return fail(errc::undo_record_refused, "the undo record beside it was made by an earlier release of this "
                                                   "library: recover() the file by that release");
        }
        if (there < sizeof head) {
            return std::optional<undo_reader>();
        }
        if (as_text({head, undo_magic.size()}) != undo_magic || load_little(head + 52, 4) != undo_sum({head, 52})) {
            return std::optional<undo_reader>();
        }
        undo_reader reader;
        undo_facts& facts = reader.facts_;
        facts.old_bytes = load_little(head + 8, 8);
        facts.manifest_offset = load_little(head + 16, 8);
        facts.mark_offset = load_little(head + 24, 8);
        std::copy_n(head + 32, change_mark_bytes, facts.unmarked.begin());
        std::copy_n(head + 40, change_mark_bytes, facts.mark.begin());
        facts.manifest_crc = static_cast<std::uint32_t>(load_little(head + 48, 4));
        const bool is_possible = facts.old_bytes >= change_mark_bytes && facts.manifest_offset <= facts.old_bytes &&
                                 (facts.extends() || facts.mark_offset == facts.old_bytes - change_mark_bytes);
        if (!is_possible) {
            return std::optional<undo_reader>();
        }
        ZTENSOR_TRY(reader.read_pieces(record));
        return std::optional<undo_reader>(std::move(reader));
    }

    [[nodiscard]] const undo_facts& facts() const noexcept { return facts_; }
    /// Oldest first. Of bytes that stand in several the first knows the oldest.
    [[nodiscard]] const std::vector<piece>& pieces() const noexcept { return pieces_; }
    /// The new state, where all of it was on the disk, but perhaps for the mark and its last bytes.
    struct new_state {
        std::uint64_t size_bytes = 0;
        change_mark unmarked = {};   ///< what belongs in place of the mark
        std::vector<std::byte> last; ///< bytes
        std::vector<undo_new_piece> pieces;

        [[nodiscard]] std::uint64_t last_offset() const noexcept { return size_bytes - last.size(); }
    };
    [[nodiscard]] const std::optional<new_state>& committed() const noexcept { return committed_; }

    /// Puts the old bytes that lie within `offset` and what follows it over those in `bytes`.
    [[nodiscard]] ZTENSOR_COLD result<void> overlay(const file& record, std::uint64_t offset,
                                                    span<std::byte> bytes) const {
        for (auto each = pieces_.rbegin(); each != pieces_.rend(); ++each) {
            const std::uint64_t begin = (std::max)(offset, each->offset);
            const std::uint64_t end = (std::min<std::uint64_t>)(offset + bytes.size(), each->offset + each->length);
            if (begin >= end) {
                continue;
            }
            const span<std::byte> part =
                bytes.subspan(static_cast<std::size_t>(begin - offset), static_cast<std::size_t>(end - begin));
            ZTENSOR_TRY(record.read_at(each->at + (begin - each->offset), part));
        }
        return {};
    }

    /// Writes the old bytes back.
    [[nodiscard]] ZTENSOR_COLD result<void> restore(const file& record, output_file& target) const {
        std::vector<std::byte> buffer;
        for (auto each = pieces_.rbegin(); each != pieces_.rend(); ++each) {
            result<void> done = target.seek(each->offset);
            for (std::uint64_t at = 0; done && at < each->length; at += buffer.size()) {
                buffer.resize(static_cast<std::size_t>((std::min<std::uint64_t>)(each->length - at, piece_bytes)));
                done = record.read_at(each->at + at, buffer);
                done = done ? target.append(buffer) : std::move(done);
            }
            if (!done) {
                return done;
            }
        }
        return {};
    }

private:
    static constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;

    undo_reader() = default;

    [[nodiscard]] result<void> read_pieces(const file& record) {
        constexpr std::uint64_t sum_bytes = 4;
        const std::uint64_t size = record.size_bytes();
        for (std::uint64_t at = undo_head_bytes; size - at >= undo_piece_head_bytes + sum_bytes;) {
            std::byte head[undo_piece_head_bytes];
            ZTENSOR_TRY(record.read_at(at, {head, sizeof head}));
            const std::uint64_t offset = load_little(head, 8);
            const std::uint64_t length = load_little(head + 8, 8);
            if (length > size - at - undo_piece_head_bytes - sum_bytes) {
                return {};
            }
            ZTENSOR_TRY_ASSIGN(const bool whole, is_whole(record, at, undo_sum({head, sizeof head}), length));
            const bool is_commit = offset == undo_commit;
            if (!whole || (!is_commit && (offset > facts_.old_bytes || length > facts_.old_bytes - offset))) {
                return {};
            }
            if (is_commit) {
                return read_commit(record, at + undo_piece_head_bytes, length);
            }
            pieces_.push_back({offset, length, at + undo_piece_head_bytes});
            at += undo_piece_head_bytes + length + sum_bytes;
        }
        return {};
    }

    /// One that says what can't be, which no writer makes, says nothing.
    [[nodiscard]] result<void> read_commit(const file& record, std::uint64_t at, std::uint64_t length) {
        constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;
        if (length < undo_state_head_bytes || length > most_bytes) {
            return {};
        }
        std::vector<std::byte> bytes(static_cast<std::size_t>(length));
        ZTENSOR_TRY(record.read_at(at, bytes));
        new_state state;
        state.size_bytes = load_little(bytes.data(), 8);
        std::copy_n(bytes.data() + 8, change_mark_bytes, state.unmarked.begin());
        const std::uint64_t last_bytes = load_little(bytes.data() + 8 + change_mark_bytes, 8);
        const std::size_t rest = bytes.size() - undo_state_head_bytes;
        const bool fits = last_bytes <= rest && (rest - last_bytes) % undo_new_piece_bytes == 0 &&
                          state.size_bytes >= facts_.old_bytes && last_bytes <= state.size_bytes - facts_.old_bytes;
        if (!fits) {
            return {};
        }
        const std::byte* next = bytes.data() + undo_state_head_bytes;
        state.last.assign(next, next + last_bytes);
        for (next += last_bytes; next != bytes.data() + bytes.size(); next += undo_new_piece_bytes) {
            state.pieces.push_back({load_little(next, 8), load_little(next + 8, 8),
                                    static_cast<std::uint32_t>(load_little(next + 16, 4))});
        }
        committed_ = std::move(state);
        return {};
    }

    [[nodiscard]] static result<bool> is_whole(const file& record, std::uint64_t at, std::uint32_t sum,
                                               std::uint64_t length) {
        std::vector<std::byte> buffer;
        std::uint64_t place = at + undo_piece_head_bytes;
        for (std::uint64_t left = length; left != 0; left -= buffer.size()) {
            buffer.resize(static_cast<std::size_t>((std::min)(left, piece_bytes)));
            ZTENSOR_TRY(record.read_at(place, buffer));
            sum = undo_sum(buffer, sum);
            place += buffer.size();
        }
        std::byte tail[4];
        ZTENSOR_TRY(record.read_at(place, {tail, sizeof tail}));
        return load_little(tail, 4) == sum;
    }

    undo_facts facts_;
    std::vector<piece> pieces_;
    std::optional<new_state> committed_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
