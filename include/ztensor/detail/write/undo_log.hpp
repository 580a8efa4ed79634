// SPDX-License-Identifier: MIT
//
// The undo record beside a file that is changed in place: how it is written, and read after a crash.
#ifndef ZTENSOR_DETAIL_WRITE_UNDO_LOG_HPP
#define ZTENSOR_DETAIL_WRITE_UNDO_LOG_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/crc32.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/os/calls.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- undo name
//
// What the undo record of a file is called.

/// ".ztensor-<16 hex digits>" with that ending, for a file of that name in the same directory.
[[nodiscard]] ZTENSOR_COLD inline native_path hidden_name(const native_path& target, string_view ending) {
    uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (const auto unit : target) {
        hash = (hash ^ static_cast<uint16_t>(static_cast<std::make_unsigned_t<native_path::value_type>>(unit))) *
               0x100000001b3u;
    }
    const string name = (".ztensor-" + sixteen_digits(hash)).append(ending);
    return native_path(name.begin(), name.end());
}
/// The record of the file of that name.
[[nodiscard]] ZTENSOR_COLD inline native_path undo_name(const native_path& target) {
    return hidden_name(target, ".undo");
}

/// Whether recover() obeys an undo record with that status for the file with the other: the record belongs to the owner
/// of the file, to root, or to this process, and no more people can write to it than to the file. A record of anybody
/// else would tell us to write his bytes: in a folder of several people, such as /tmp, anybody can put one there.
[[nodiscard]] inline bool is_trusted_record(const file_status& record, const file_status& file) noexcept {
    constexpr uint32_t root = 0;
    constexpr uint32_t writable_by_others = 0022;
    return (record.owner == file.owner || record.owner == root || record.owner == process_user()) &&
           (record.permissions & writable_by_others & ~file.permissions) == 0;
}

// -- undo log
//
// What leads back while a file is changed in place: a small file beside it that says what the old one was, and holds
// the old bytes of whatever is overwritten. On the disk before the first byte of the file changes.
//
//   "ZTUNDO02"  u64 old length  u64 start of the old manifest  u64 place of the mark
//               8 old bytes that belong in its place, zeros where there were none  8 bytes of the mark
//               u32 CRC-32C from the old manifest to the old end  u32 CRC-32C of all before
//   then any number of old pieces: u64 offset  u64 length  bytes  u32 CRC-32C of these three
//
// A last piece with an offset of 2^64 - 1 says that the new state is complete, but for the mark and its last few bytes.
// Its bytes are: u64 new length  8 bytes that belong in the place of the mark  u64 count of those last bytes  the last
// bytes  then for each piece that was overwritten u64 offset  u64 length  u32 CRC-32C of the new bytes. All
// little-endian. A piece that is cut off says nothing, because its bytes were not yet changed.
//
// Which file a record is about is told by the file's content alone. While it is changed it holds the mark: 4 random
// bytes, how many old pieces were made safe, and "ZT\xff". Where pieces are overwritten, it stands in place of the
// file's last 8 bytes, where every footer ends; where the file is extended, in the first 8 new bytes, which are zeros
// in the end. The mark is on the disk before anything else of the file changes, and goes when all else is on the disk.
// So a file with the mark of a record is the one that the record is about, wherever it was copied to; and one without
// it is complete, whatever it is, and is never written to.

/// What stands in a file while it is changed.
inline constexpr size_t change_mark_bytes = 8;
using change_mark = std::array<byte, change_mark_bytes>;

inline constexpr string_view undo_magic = "ZTUNDO02";
inline constexpr string_view undo_magic_1 = "ZTUNDO01"; ///< of earlier releases, which knew a file by its inode
inline constexpr size_t change_mark_count_at = 4;       ///< in the mark, how many old pieces the record holds
inline constexpr unsigned most_counted_pieces = 255;    ///< where there are more, so many are counted
inline constexpr size_t undo_head_bytes = 8 + 3 * 8 + 2 * change_mark_bytes + 2 * 4;
inline constexpr size_t undo_piece_head_bytes = 2 * 8;
inline constexpr size_t undo_state_head_bytes = 2 * 8 + change_mark_bytes; ///< of what the commit holds
inline constexpr size_t undo_new_piece_bytes = 2 * 8 + 4; ///< of a piece that was overwritten, in the commit
inline constexpr uint64_t undo_commit = ~uint64_t{0};     ///< in place of an offset

/// Of bytes that follow others with the sum `before`.
[[nodiscard]] inline uint32_t undo_sum(bytes_view bytes, uint32_t before = 0) noexcept {
    return ~crc32c_update(~before, bytes);
}

/// Calls `look(offset, bytes) -> result<bool>` with bytes of a source, piece by piece, until one is false. Whether all
/// were true.
template <class Source, class Look>
result<bool> for_all_pieces(const Source& source, uint64_t offset, uint64_t length, const Look& look) {
    constexpr uint64_t piece_bytes = uint64_t{1} << 20;
    vector<byte> piece;
    for (uint64_t at = 0; at < length; at += piece.size()) {
        piece.resize(static_cast<size_t>((std::min)(length - at, piece_bytes)));
        ZTENSOR_TRY(source.read_at(offset + at, piece));
        ZTENSOR_TRY_ASSIGN(const bool is_so, look(offset + at, piece));
        if (!is_so) {
            return false;
        }
    }
    return true;
}

/// A mark that hardly any other change has.
[[nodiscard]] ZTENSOR_COLD inline change_mark make_change_mark() noexcept {
    static_assert(change_mark_count_at + 1 + change_mark_end.size() == change_mark_bytes, "it holds nothing else");
    change_mark mark = {};
    store_little(unique_number(), mark.data(), change_mark_count_at);
    // Of a mark that is written by halves, no first bytes make a small size of a manifest of what stood there.
    std::replace(mark.begin(), mark.begin() + change_mark_count_at, byte{0}, byte{1});
    const bytes_view end = as_bytes(change_mark_end);
    std::copy(end.begin(), end.end(), mark.data() + change_mark_count_at + 1);
    return mark;
}

/// The file as it was.
struct undo_facts {
    uint64_t old_bytes = 0;
    uint64_t manifest_offset = 0;
    uint64_t mark_offset = 0;
    change_mark unmarked = {}; ///< what belongs in place of the mark, as far as it is known
    change_mark mark = {};
    uint32_t manifest_crc = 0; ///< of all from the manifest to the end

    /// Whether the file becomes longer, and keeps its bytes.
    [[nodiscard]] bool extends() const noexcept { return mark_offset == old_bytes; }
    /// Then it goes on there, behind the mark.
    [[nodiscard]] uint64_t first_new_byte() const noexcept { return old_bytes + change_mark_bytes; }
};

/// A piece that was overwritten, as it is now.
struct undo_new_piece {
    uint64_t offset;
    uint64_t length;
    uint32_t crc;
};

/// Never removes the record by itself: whoever could not undo needs it.
class undo_log {
public:
    /// On the disk when it returns, unless `sync` is none. Fails with errc::recovery_needed if there is one already.
    ZTENSOR_COLD static result<std::unique_ptr<undo_log>> create(const located_file& target, const undo_facts& facts,
                                                                 sync_level sync) {
        constexpr uint32_t only_for_the_owner = 0600;
        // Memory first: a file that was made and that nobody holds would stay.
        std::unique_ptr<undo_log> record(new undo_log(undo_name(target.name), facts, sync));
        result<output_file> made = output_file::create(target.in, record->name(), only_for_the_owner);
        if (!made && made.error().os_error() == std::errc::file_exists) {
            return unfinished();
        }
        if (!made) {
            return std::move(made).error();
        }
        record->file_.emplace(*std::move(made));
        result<void> written = record->write_head();
        if (const std::error_code failure =
                written && sync != sync_level::none ? target.in.sync() : std::error_code()) {
            written = os_failure("can't make sure that the undo record is on the disk", failure);
        }
        if (!written) {
            static_cast<void>(record->remove(target.in));
            return std::move(written).error();
        }
        return record;
    }

    [[nodiscard]] static error unfinished() {
        return fail(errc::recovery_needed,
                    "a change in place was broken off, and its undo record lies beside the file: recover() it first");
    }

    /// Whether there is a record of that file.
    static result<void> check_none(const located_file& target) {
        ZTENSOR_TRY_ASSIGN(const file_status found, target.in.status(undo_name(target.name)));
        return found.kind == file_kind::absent ? result<void>() : unfinished();
    }

    /// Adds `length` bytes of the file as they are now, which may be changed when this returns.
    ZTENSOR_COLD result<void> add(const byte_source& old, uint64_t offset, uint64_t length) {
        byte head[undo_piece_head_bytes];
        store_little(offset, head, 8);
        store_little(length, head + 8, 8);
        uint32_t crc = undo_sum({head, sizeof head});
        ZTENSOR_TRY(file_->append({head, sizeof head}));
        ZTENSOR_TRY(for_all_pieces(old, offset, length, [&](uint64_t, bytes_view bytes) -> result<bool> {
            crc = undo_sum(bytes, crc);
            ZTENSOR_TRY(file_->append(bytes));
            return true;
        }));
        byte tail[4];
        store_little(crc, tail, 4);
        size_bytes_ += sizeof head + length + sizeof tail;
        return sync_after(file_->append({tail, sizeof tail}));
    }

    /// Puts the mark into the file, on the disk: what comes next changes it.
    ZTENSOR_COLD result<void> mark(output_file& target) {
        return put_mark(target, facts_.mark, sync_ != sync_level::none);
    }

    /// Counts in the mark a piece that add() has made safe: a record that lost it is found out. Nothing waits for that.
    ZTENSOR_COLD result<void> count_piece(output_file& target) {
        byte& count = facts_.mark[change_mark_count_at];
        count = static_cast<byte>((std::min)(std::to_integer<unsigned>(count) + 1, most_counted_pieces));
        return put_mark(target, facts_.mark, false);
    }

    /// Puts in place of the mark what belongs there, on the disk: from here on the file is complete.
    ZTENSOR_COLD result<void> unmark(output_file& target) {
        return put_mark(target, facts_.unmarked, sync_ != sync_level::none);
    }

    /// Ends it: all of the new state is on the disk, but for the mark and its `last` bytes. recover() completes the new
    /// state by the record from here on. `pieces` are those that were overwritten.
    ZTENSOR_COLD result<void> commit(uint64_t new_bytes, bytes_view last, span<const undo_new_piece> pieces = {}) {
        const size_t length = undo_state_head_bytes + last.size() + pieces.size() * undo_new_piece_bytes;
        vector<byte> piece(undo_piece_head_bytes + length + 4);
        byte* next = piece.data();
        const auto put = [&next](uint64_t value, size_t bytes) {
            store_little(value, next, bytes);
            next += bytes;
        };
        put(undo_commit, 8);
        put(length, 8);
        put(new_bytes, 8);
        next = std::copy(facts_.unmarked.begin(), facts_.unmarked.end(), next);
        put(last.size(), 8);
        next = std::copy(last.begin(), last.end(), next);
        for (const undo_new_piece& each : pieces) {
            put(each.offset, 8);
            put(each.length, 8);
            put(each.crc, 4);
        }
        put(undo_sum(bytes_view(piece).first(piece.size() - 4)), 4);
        has_commit_ = true; // or a part of it, should this fail
        return sync_after(file_->append(piece));
    }

    /// Takes commit() back, which may have failed and be on the disk all the same: only then may old bytes be put back
    /// over new ones, or whoever finds the record after a power cut would take the mixture for the new state. The mark
    /// comes first, should it be gone, because without it the file would pass for complete.
    ZTENSOR_COLD result<void> rescind(output_file& target) {
        if (!has_commit_) {
            return {};
        }
        ZTENSOR_TRY(mark(target));
        return sync_after(file_->truncate(size_bytes_));
    }

    [[nodiscard]] const native_path& name() const noexcept { return name_; }

    void close() noexcept { file_.reset(); } // all that counts was synced, or was not to be
    /// False if it is still there.
    [[nodiscard]] bool remove(const directory& in) noexcept {
        const auto compare = [&] { return is_still_named(*file_, in, name_); };
        const result<bool> named = file_ ? guard_memory(compare) : result<bool>(true);
        close();
        return (named && !*named) || in.remove(name_); // another's may have come after ours was removed
    }

private:
    undo_log(native_path name, const undo_facts& facts, sync_level sync)
        : name_(std::move(name)), facts_(facts), sync_(sync) {}

    /// What was written reaches the disk, at every level that waits for it.
    ZTENSOR_COLD result<void> sync_after(result<void> written) {
        return written && sync_ != sync_level::none ? file_->sync() : written;
    }

    ZTENSOR_COLD result<void> put_mark(output_file& target, const change_mark& bytes, bool syncs) {
        ZTENSOR_TRY(target.seek(facts_.mark_offset));
        ZTENSOR_TRY(target.append(bytes));
        return syncs ? target.sync() : result<void>();
    }

    ZTENSOR_COLD result<void> write_head() {
        byte head[undo_head_bytes];
        std::copy(as_bytes(undo_magic).begin(), as_bytes(undo_magic).end(), head);
        store_little(facts_.old_bytes, head + 8, 8);
        store_little(facts_.manifest_offset, head + 16, 8);
        store_little(facts_.mark_offset, head + 24, 8);
        std::copy(facts_.unmarked.begin(), facts_.unmarked.end(), head + 32);
        std::copy(facts_.mark.begin(), facts_.mark.end(), head + 40);
        store_little(facts_.manifest_crc, head + 48, 4);
        store_little(undo_sum({head, 52}), head + 52, 4);
        return sync_after(file_->append({head, sizeof head}));
    }

    optional<output_file> file_;
    native_path name_;
    undo_facts facts_;
    sync_level sync_;
    uint64_t size_bytes_ = undo_head_bytes; ///< less the commit
    bool has_commit_ = false;
};

// -- undo reader

class undo_reader {
public:
    /// Where old bytes lie in the record, and where in the file they lay.
    struct piece {
        uint64_t offset;
        uint64_t length;
        uint64_t at;
    };

    /// Nothing for a record that was not completed: then nothing of the file was changed. Errors: undo_record_refused
    /// for one of an earlier release, io_error, file_changed, out_of_memory.
    ZTENSOR_COLD static result<optional<undo_reader>> read(const file& record) {
        byte head[undo_head_bytes] = {};
        const size_t there = static_cast<size_t>((std::min<uint64_t>)(record.size_bytes(), sizeof head));
        ZTENSOR_TRY(record.read_at(0, {head, there}));
        if (as_text({head, undo_magic_1.size()}) == undo_magic_1) {
            return fail(errc::undo_record_refused, "the undo record beside it was made by an earlier release of this "
                                                   "library: recover() the file by that release");
        }
        if (there < sizeof head || as_text({head, undo_magic.size()}) != undo_magic ||
            load_little(head + 52, 4) != undo_sum({head, 52})) {
            return optional<undo_reader>();
        }
        undo_reader reader;
        undo_facts& facts = reader.facts_;
        facts.old_bytes = load_little(head + 8, 8);
        facts.manifest_offset = load_little(head + 16, 8);
        facts.mark_offset = load_little(head + 24, 8);
        std::copy_n(head + 32, change_mark_bytes, facts.unmarked.begin());
        std::copy_n(head + 40, change_mark_bytes, facts.mark.begin());
        facts.manifest_crc = static_cast<uint32_t>(load_little(head + 48, 4));
        const bool is_possible = facts.old_bytes >= change_mark_bytes && facts.manifest_offset <= facts.old_bytes &&
                                 (facts.extends() || facts.mark_offset == facts.old_bytes - change_mark_bytes);
        if (!is_possible) {
            return optional<undo_reader>();
        }
        ZTENSOR_TRY(reader.read_pieces(record));
        return optional<undo_reader>(std::move(reader));
    }

    [[nodiscard]] const undo_facts& facts() const noexcept { return facts_; }
    /// Oldest first. Of bytes that stand in several the first knows the oldest.
    [[nodiscard]] const vector<piece>& pieces() const noexcept { return pieces_; }
    /// The new state, where all of it was on the disk, but perhaps for the mark and its last bytes.
    struct new_state {
        uint64_t size_bytes = 0;
        change_mark unmarked = {}; ///< what belongs in place of the mark
        vector<byte> last;         ///< bytes
        vector<undo_new_piece> pieces;

        [[nodiscard]] uint64_t last_offset() const noexcept { return size_bytes - last.size(); }
    };
    [[nodiscard]] const optional<new_state>& committed() const noexcept { return committed_; }

    /// Puts the old bytes that lie within `offset` and what follows it over those in `bytes`.
    ZTENSOR_COLD result<void> overlay(const file& record, uint64_t offset, span<byte> bytes) const {
        for (auto each = pieces_.rbegin(); each != pieces_.rend(); ++each) {
            const uint64_t begin = (std::max)(offset, each->offset);
            const uint64_t end = (std::min<uint64_t>)(offset + bytes.size(), each->offset + each->length);
            if (begin >= end) {
                continue;
            }
            const span<byte> part =
                bytes.subspan(static_cast<size_t>(begin - offset), static_cast<size_t>(end - begin));
            ZTENSOR_TRY(record.read_at(each->at + (begin - each->offset), part));
        }
        return {};
    }

    /// Writes the old bytes back.
    ZTENSOR_COLD result<void> restore(const file& record, output_file& target) const {
        for (auto each = pieces_.rbegin(); each != pieces_.rend(); ++each) {
            ZTENSOR_TRY(target.seek(each->offset));
            const auto put_back = [&](uint64_t, bytes_view bytes) -> result<bool> {
                ZTENSOR_TRY(target.append(bytes));
                return true;
            };
            ZTENSOR_TRY(for_all_pieces(record, each->at, each->length, put_back));
        }
        return {};
    }

private:
    undo_reader() = default;

    result<void> read_pieces(const file& record) {
        constexpr uint64_t sum_bytes = 4;
        const uint64_t size = record.size_bytes();
        for (uint64_t at = undo_head_bytes; size - at >= undo_piece_head_bytes + sum_bytes;) {
            byte head[undo_piece_head_bytes];
            ZTENSOR_TRY(record.read_at(at, {head, sizeof head}));
            at += sizeof head;
            const uint64_t offset = load_little(head, 8);
            const uint64_t length = load_little(head + 8, 8);
            if (length > size - at - sum_bytes) {
                return {};
            }
            ZTENSOR_TRY_ASSIGN(const bool whole, is_whole(record, at, undo_sum({head, sizeof head}), length));
            const bool is_commit = offset == undo_commit;
            if (!whole || (!is_commit && (offset > facts_.old_bytes || length > facts_.old_bytes - offset))) {
                return {};
            }
            if (is_commit) {
                return read_commit(record, at, length);
            }
            pieces_.push_back({offset, length, at});
            at += length + sum_bytes;
        }
        return {};
    }

    /// One that says what can't be, which no writer makes, says nothing.
    result<void> read_commit(const file& record, uint64_t at, uint64_t length) {
        constexpr uint64_t most_bytes = uint64_t{1} << 30;
        if (length < undo_state_head_bytes || length > most_bytes) {
            return {};
        }
        vector<byte> bytes(static_cast<size_t>(length));
        ZTENSOR_TRY(record.read_at(at, bytes));
        new_state state;
        state.size_bytes = load_little(bytes.data(), 8);
        std::copy_n(bytes.data() + 8, change_mark_bytes, state.unmarked.begin());
        const uint64_t last_bytes = load_little(bytes.data() + 8 + change_mark_bytes, 8);
        const size_t rest = bytes.size() - undo_state_head_bytes;
        const bool fits = last_bytes <= rest && (rest - last_bytes) % undo_new_piece_bytes == 0 &&
                          state.size_bytes >= facts_.old_bytes && last_bytes <= state.size_bytes - facts_.old_bytes;
        if (!fits) {
            return {};
        }
        const byte* next = bytes.data() + undo_state_head_bytes;
        state.last.assign(next, next + last_bytes);
        for (next += last_bytes; next != bytes.data() + bytes.size(); next += undo_new_piece_bytes) {
            state.pieces.push_back(
                {load_little(next, 8), load_little(next + 8, 8), static_cast<uint32_t>(load_little(next + 16, 4))});
        }
        committed_ = std::move(state);
        return {};
    }

    static result<bool> is_whole(const file& record, uint64_t at, uint32_t sum, uint64_t length) {
        ZTENSOR_TRY(for_all_pieces(record, at, length, [&](uint64_t, bytes_view bytes) -> result<bool> {
            sum = undo_sum(bytes, sum);
            return true;
        }));
        byte tail[4];
        ZTENSOR_TRY(record.read_at(at + length, {tail, sizeof tail}));
        return load_little(tail, 4) == sum;
    }

    undo_facts facts_;
    vector<piece> pieces_;
    optional<new_state> committed_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
