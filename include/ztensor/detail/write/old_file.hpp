// SPDX-License-Identifier: MIT
//
// A file that exists and is to be changed: held, opened, and brought back after a crash. SPEC.md section 10.
#ifndef ZTENSOR_DETAIL_WRITE_OLD_FILE_HPP
#define ZTENSOR_DETAIL_WRITE_OLD_FILE_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/detail/write/undo_log.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/format.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Calls `take(key, begin)` with each pair of the map that comes next and where it starts; it passes over the value.
template <class Take>
inline void for_each_pair(cbor_cursor& cursor, const Take& take) {
    cbor_sequence pairs;
    string key;
    for (cursor.enter_map(pairs); cursor.next(pairs);) {
        const size_t begin = cursor.position();
        if (!cursor.read_joined(cbor_major::text, key)) {
            return;
        }
        take(key, begin);
    }
}

struct old_file {
    old_file(located_file where, output_file locked) noexcept : place(std::move(where)), lock(std::move(locked)) {}

    located_file place;
    output_file lock; ///< open for writing, where it may be
    opened_file opened;
    format_version version = format_version::v1_2;

    [[nodiscard]] const byte_source& source() const noexcept { return *opened.source; }
    [[nodiscard]] const manifest& index() const noexcept { return opened.index; }

    /// What stands for an object in the manifest: the value behind its name, in 0.1 its whole map.
    [[nodiscard]] bytes_view value_of(const object_record& object) const noexcept {
        const bool is_0_1 = version == format_version::v0_1;
        cbor_cursor cursor(index().bytes(), 0, index().position_of(is_0_1 ? object.attributes : object.name));
        if (!is_0_1) {
            cursor.skip();
        }
        const size_t begin = cursor.position();
        cursor.skip();
        return cursor.passed_since(begin);
    }
    /// Where that stands in the file.
    [[nodiscard]] uint64_t offset_of(bytes_view value) const noexcept {
        return opened.index_offset + static_cast<uint64_t>(value.data() - index().bytes().data());
    }
    /// What the root has besides attributes and objects.
    [[nodiscard]] ZTENSOR_COLD vector<root_field> fields() const {
        vector<root_field> found;
        if (version == format_version::v0_1) {
            return found;
        }
        cbor_cursor cursor(index().bytes());
        for_each_pair(cursor, [&](const string& key, size_t begin) {
            const size_t key_bytes = cursor.position() - begin;
            cursor.skip();
            if (key != "attributes" && key != "objects") {
                const bytes_view pair = cursor.passed_since(begin);
                found.push_back({{pair.begin(), pair.end()}, key_bytes});
            }
        });
        return found;
    }
};

inline result<format_version> version_to_go_on_with(version found) {
    switch (found) {
    case version::v0_1:
        return format_version::v0_1;
    case version::v1_1:
        return format_version::v1_1;
    case version::v1_2:
        return format_version::v1_2;
    case version::v2:
        return format_version::v2;
    default:
        return fail(errc::not_expressible, "files of version 1.0 are read, but not written: copy() it to another one");
    }
}

/// The file for reading, the one that is locked.
ZTENSOR_COLD inline result<file> open_locked_for_reading(const located_file& place, const output_file& lock) {
    os_calls& os = place.in.os();
    const auto [handle, failure] = os.open_in(place.in.place(), place.name, false);
    if (failure) {
        return os_failure("can't open the file", failure);
    }
    result<file> opened = file::of_handle(handle, os);
    if (!opened) {
        return opened;
    }
    const auto [mine, unknown] = os.status(handle);
    const result<file_status> locked = lock.status();
    if (unknown || !locked || !mine.is_same_file(*locked)) {
        return fail(errc::busy, "another writer replaces the file");
    }
    return opened;
}

/// Held and locked; nothing of its content is looked at. `path` is what it is called in messages.
/// Errors: file_not_found, not_regular_file, invalid_argument, busy, io_error.
ZTENSOR_COLD inline result<std::unique_ptr<old_file>> hold_old_file(located_file place, const native_path& path,
                                                                    bool must_write) {
    ZTENSOR_TRY_ASSIGN(output_file lock, open_locked(place.in, place.name, must_write));
    ZTENSOR_TRY_ASSIGN(file content, open_locked_for_reading(place, lock));
    auto old = std::make_unique<old_file>(std::move(place), std::move(lock));
    const read_options positional = read_options().mode(io_mode::positional);
    old->opened.source = std::make_shared<file_source>(std::move(content), positional, path_text(path));
    old->opened.path = path_text(path);
    old->opened.file_bytes = old->source().size();
    return old;
}

/// Whether a change in place that was broken off has left its mark at the end of a file that starts with a magic.
/// Errors: io_error, file_changed.
ZTENSOR_COLD inline result<bool> has_change_mark(const old_file& old) {
    byte end[change_mark_end.size()] = {};
    ZTENSOR_TRY(old.source().read_at(old.source().size() - sizeof end, {end, sizeof end}));
    return as_text({end, sizeof end}) == change_mark_end;
}

/// Errors: as hold_old_file() and reader::open(); not_expressible for a version that can't be written; recovery_needed
/// where an undo record lies beside it, or should.
ZTENSOR_COLD inline result<std::unique_ptr<old_file>> open_old_file(const native_path& path,
                                                                    const write_options& options, os_calls& os) {
    const bool in_place = options.publish() == publish_mode::in_place;
    // In place even an atomic change puts the undo record's name on the disk first.
    const bool will_sync = options.sync() == sync_level::durable || (in_place && options.sync() == sync_level::atomic);
    ZTENSOR_TRY_ASSIGN(located_file place, locate(path, will_sync, os));
    result<std::unique_ptr<old_file>> held = hold_old_file(std::move(place), path, in_place);
    if (!held) {
        return held;
    }
    old_file& old = **held;
    ZTENSOR_TRY(undo_log::check_none(old.place));
    result<void> opened = open_container(old.opened);
    if (!opened && opened.error().code() == errc::truncated) {
        ZTENSOR_TRY_ASSIGN(const bool is_marked, has_change_mark(old));
        if (is_marked) {
            opened = fail(errc::recovery_needed,
                          "a change in place was broken off, and its undo record, {}, is not beside the file: put it "
                          "there, and recover() it",
                          {path_text(undo_name(old.place.name))});
        }
    }
    ZTENSOR_TRY(std::move(opened));
    ZTENSOR_TRY_ASSIGN(const format_version version, version_to_go_on_with(old.index().version));
    old.version = version;
    if (old.index().is_data_shard) {
        return fail(errc::not_expressible,
                    "this is a data shard, which says nothing of what it holds: append to its root");
    }
    return held;
}

/// What the undo record says of it, if the mark is to stand at `mark_offset`: in place of its last bytes, or behind it.
ZTENSOR_COLD inline result<undo_facts> undo_facts_of(const old_file& old, uint64_t mark_offset) {
    undo_facts facts;
    facts.old_bytes = old.source().size();
    facts.manifest_offset = old.opened.index_offset;
    facts.mark_offset = mark_offset;
    facts.mark = make_change_mark();
    if (!facts.extends()) {
        ZTENSOR_TRY(old.source().read_at(mark_offset, facts.unmarked));
    }
    if (old.version == format_version::v2) { // whose manifest may lie anywhere: the footer knows its XXH3
        byte footer[footer_bytes_2];
        facts.manifest_offset = facts.old_bytes - footer_bytes_2;
        result<void> read = old.source().read_at(facts.manifest_offset, {footer, footer_bytes_2});
        facts.manifest_crc = undo_sum({footer, footer_bytes_2});
        return read ? result<undo_facts>(facts) : std::move(read).error();
    }
    facts.manifest_crc = undo_sum(old.index().bytes());
    byte tail[tail_bytes];
    const uint64_t end = facts.manifest_offset + old.index().bytes().size();
    const span<byte> footer(tail, static_cast<size_t>(facts.old_bytes - end));
    ZTENSOR_TRY(old.source().read_at(end, footer));
    facts.manifest_crc = undo_sum(footer, facts.manifest_crc);
    return facts;
}

// -- recovering
//
// Undoing changes that were broken off, and removing files that writers left.

// -- recovering
//
// After a crash, by any calls: which state a file is to have, and how it gets there.

/// Whether the file is complete. Errors: out_of_memory, io_error.
ZTENSOR_COLD inline result<bool> reads(old_file& old) {
    const result<void> opened = open_container(old.opened);
    const bool is_unknown =
        !opened && (opened.error().code() == errc::out_of_memory || opened.error().code() == errc::io_error);
    return is_unknown ? result<bool>(opened.error()) : result<bool>(opened.has_value());
}

/// Finds out by the file's content alone whether the record is about it, and in which state it is. See undo_log.hpp.
class recovering {
public:
    recovering(old_file& old, const file& record, const undo_reader& undo) noexcept
        : old_(old), record_(record), undo_(undo), facts_(undo.facts()), size_(old.source().size()),
          unmarked_(undo.committed() ? undo.committed()->unmarked : undo.facts().unmarked) {}

    /// Brings the file into the state that it is to have, on the disk. Where that is in doubt, nothing is written.
    ZTENSOR_COLD result<recovery> run() {
        const bool is_possible = facts_.extends() ? size_ >= facts_.old_bytes : size_ == facts_.old_bytes;
        ZTENSOR_TRY_ASSIGN(bool is_so, is_possible ? has_old_manifest() : result<bool>(false));
        if (!is_so) {
            return is_about_another();
        }
        if (facts_.extends() && size_ == facts_.old_bytes) {
            return done(recovery::not_needed);
        }
        if (facts_.extends() && !undo_.committed() && size_ <= mark_end()) {
            return run_hardly_begun();
        }
        if (size_ < mark_end()) {
            return is_about_another();
        }
        change_mark found = {};
        ZTENSOR_TRY(old_.source().read_at(facts_.mark_offset, found));
        if (found == unmarked_) {
            return run_complete();
        }
        if (!is_marked(found)) {
            return is_about_another();
        }
        return undo_.committed() ? go_forward(*undo_.committed()) : go_back();
    }

private:
    [[nodiscard]] uint64_t mark_end() const noexcept { return facts_.mark_offset + change_mark_bytes; }

    [[nodiscard]] static error is_about_another() {
        return fail(errc::undo_record_refused, "the undo record beside it is about another file, or is damaged. If the "
                                               "file is as it should be, remove the record");
    }

    /// Each byte is the mark's or, where a power cut came while it was written, what belongs there. What the mark
    /// counts is in the record, unless the record is damaged.
    [[nodiscard]] bool is_marked(const change_mark& found) const noexcept {
        const bool may_be_torn = undo_.committed() || !facts_.extends();
        for (size_t i = 0; i < found.size(); ++i) {
            const bool is_count =
                i == change_mark_count_at && std::to_integer<size_t>(found[i]) <= undo_.pieces().size();
            if (!is_count && found[i] != facts_.mark[i] && (!may_be_torn || found[i] != unmarked_[i])) {
                return false;
            }
        }
        return true;
    }

    /// Of a file that is to be extended no more was written than the mark, if that: what is behind the old end goes,
    /// unless the file is complete with it.
    result<recovery> run_hardly_begun() {
        ZTENSOR_TRY_ASSIGN(const bool is_complete, reads(old_));
        return is_complete ? result<recovery>(is_about_another()) : go_back();
    }

    result<recovery> done(recovery outcome) {
        ZTENSOR_TRY(old_.lock.sync());
        return outcome;
    }

    /// Without the mark: the old file, the new one, or another one. Nothing of it is changed.
    result<recovery> run_complete() {
        ZTENSOR_TRY_ASSIGN(bool is_so, size_ == facts_.old_bytes ? holds_old_pieces() : result<bool>(false));
        if (is_so) {
            return done(recovery::not_needed);
        }
        if (undo_.committed() && size_ == undo_.committed()->size_bytes) {
            ZTENSOR_TRY_ASSIGN(is_so, holds_new(*undo_.committed(), true));
        }
        return is_so ? done(recovery::kept_new) : is_about_another();
    }

    /// All of the new state but its last bytes and the place of the mark was on the disk.
    result<recovery> go_forward(const undo_reader::new_state& state) {
        if (size_ < state.last_offset() || size_ > state.size_bytes) {
            return is_about_another();
        }
        ZTENSOR_TRY_ASSIGN(const bool is_new, holds_new(state, false));
        if (!is_new) {
            return is_about_another();
        }
        // The mark goes last, so what belongs in its place is left out.
        const uint64_t begin = (std::max)(state.last_offset(), facts_.extends() ? mark_end() : 0);
        const bytes_view last = bytes_view(state.last).subspan(static_cast<size_t>(begin - state.last_offset()));
        if (!last.empty()) {
            ZTENSOR_TRY(old_.lock.seek(begin));
            ZTENSOR_TRY(old_.lock.append(last));
        }
        return unmark(recovery::kept_new);
    }

    result<recovery> go_back() {
        ZTENSOR_TRY(facts_.extends() ? old_.lock.truncate(facts_.old_bytes) : undo_.restore(record_, old_.lock));
        return facts_.extends() ? done(recovery::undone) : unmark(recovery::undone);
    }

    /// When all else is on the disk.
    result<recovery> unmark(recovery outcome) {
        ZTENSOR_TRY(old_.lock.sync());
        ZTENSOR_TRY(old_.lock.seek(facts_.mark_offset));
        ZTENSOR_TRY(old_.lock.append(unmarked_));
        return done(outcome);
    }

    /// Whether the old manifest stands where it stood, but for what is in the record and for the mark.
    result<bool> has_old_manifest() const {
        uint32_t sum = 0;
        const auto add = [&](uint64_t at, vector<byte>& bytes) -> result<bool> {
            ZTENSOR_TRY(undo_.overlay(record_, at, bytes));
            for (size_t i = 0; i < change_mark_bytes; ++i) {
                const uint64_t place = facts_.mark_offset + i;
                if (place >= at && place - at < bytes.size()) {
                    bytes[static_cast<size_t>(place - at)] = facts_.unmarked[i];
                }
            }
            sum = undo_sum(bytes, sum);
            return true;
        };
        ZTENSOR_TRY(
            for_all_pieces(old_.source(), facts_.manifest_offset, facts_.old_bytes - facts_.manifest_offset, add));
        return sum == facts_.manifest_crc;
    }

    result<bool> holds_old_pieces() const {
        for (const undo_reader::piece& each : undo_.pieces()) {
            const auto compare = [&](uint64_t at, const vector<byte>& bytes) -> result<bool> {
                vector<byte> old = bytes;
                ZTENSOR_TRY(undo_.overlay(record_, at, old));
                return old == bytes;
            };
            ZTENSOR_TRY_ASSIGN(const bool is_old, for_all_pieces(old_.source(), each.offset, each.length, compare));
            if (!is_old) {
                return false;
            }
        }
        return true;
    }

    /// Every piece that was overwritten, and with `has_last` the last bytes too.
    result<bool> holds_new(const undo_reader::new_state& state, bool has_last) const {
        for (const undo_new_piece& each : state.pieces) {
            if (each.offset > size_ || each.length > size_ - each.offset) {
                return false;
            }
            uint32_t sum = 0;
            const auto add = [&](uint64_t, bytes_view bytes) -> result<bool> {
                sum = undo_sum(bytes, sum);
                return true;
            };
            ZTENSOR_TRY(for_all_pieces(old_.source(), each.offset, each.length, add));
            if (sum != each.crc) {
                return false;
            }
        }
        const uint64_t last_bytes = has_last ? state.last.size() : 0;
        const auto compare = [&](uint64_t at, bytes_view bytes) -> result<bool> {
            const auto from = state.last.begin() + static_cast<std::ptrdiff_t>(at - state.last_offset());
            return std::equal(bytes.begin(), bytes.end(), from);
        };
        return for_all_pieces(old_.source(), state.last_offset(), last_bytes, compare);
    }

    old_file& old_;
    const file& record_;
    const undo_reader& undo_;
    const undo_facts& facts_;
    const uint64_t size_;
    const change_mark unmarked_; ///< what belongs in place of the mark; of a file that is extended, once it is known
};

ZTENSOR_COLD inline result<void> check_owner(const old_file& old, const file& record) {
    const auto [made, unknown] = record.os().status(record.handle());
    if (unknown) {
        return os_failure("can't find out whose the undo record is", unknown);
    }
    ZTENSOR_TRY_ASSIGN(const file_status mine, old.lock.status());
    return is_trusted_record(made, mine)
               ? result<void>()
               : fail(errc::undo_record_refused, "the undo record beside it may come from somebody who does not own "
                                                 "the file: remove the record if nobody knows of it");
}

/// A record that was not completed: then nothing of the file was changed, and the file reads.
ZTENSOR_COLD inline result<recovery> after_no_record(old_file& old) {
    ZTENSOR_TRY_ASSIGN(const bool is_complete, reads(old));
    return is_complete ? result<recovery>(recovery::not_needed)
                       : fail(errc::undo_record_refused, "the undo record beside it is damaged, and so is the file");
}

/// The record, read through a handle that is closed before it is removed.
ZTENSOR_COLD inline result<recovery> recover_by_record(old_file& old, const native_path& record_name) {
    os_calls& os = old.place.in.os();
    const auto [handle, failure] = os.open_in(old.place.in.place(), record_name, false);
    if (failure == std::errc::no_such_file_or_directory) { // its writer has just finished
        return recovery::not_needed;
    }
    if (failure) {
        return os_failure("can't open the undo record", failure);
    }
    ZTENSOR_TRY_ASSIGN(const file record, file::of_handle(handle, os));
    ZTENSOR_TRY(check_owner(old, record));
    ZTENSOR_TRY_ASSIGN(const optional<undo_reader> undo, undo_reader::read(record));
    return undo ? recovering(old, record, *undo).run() : after_no_record(old);
}

/// has_undo_record() by these calls.
ZTENSOR_COLD inline result<bool> has_undo_record_by(const file_path& path, os_calls& os) {
    ZTENSOR_TRY_ASSIGN(const located_file place, locate(path.native(), false, os));
    ZTENSOR_TRY_ASSIGN(const file_status found, place.in.status(undo_name(place.name)));
    return found.kind != file_kind::absent;
}

/// recover() by these calls.
ZTENSOR_COLD inline result<recovery> recover_by(const file_path& path, os_calls& os) {
    ZTENSOR_TRY_ASSIGN(located_file place, locate(path.native(), false, os));
    const native_path record_name = undo_name(place.name);
    ZTENSOR_TRY_ASSIGN(const file_status record, place.in.status(record_name));
    if (record.kind == file_kind::absent) {
        return recovery::not_needed;
    }
    if (const std::error_code failure = place.in.sync()) { // which could not be done afterwards either
        return os_failure("can't sync the directory", failure);
    }
    ZTENSOR_TRY_ASSIGN(std::unique_ptr<old_file> held, hold_old_file(std::move(place), path.native(), true));
    old_file& old = *held;
    ZTENSOR_TRY_ASSIGN(const recovery outcome, recover_by_record(old, record_name));
    if (!old.place.in.remove(record_name)) {
        return fail(errc::io_error, "the file is complete, but its undo record can't be removed");
    }
    if (const std::error_code failure = old.place.in.sync()) {
        return os_failure("the file is complete, but a power cut may bring its undo record back", failure);
    }
    return outcome;
}

// -- sweeping
//
// Temporary files that were never finished, removed by any calls.

/// Of a file that is being written, or that stands for the lock of a model.
[[nodiscard]] inline bool is_temporary_name(const native_path& name) {
    constexpr string_view file = ".ztensor-????????????????.tmp", lock = ".ztensor-????????????????.lock";
    const string_view pattern = name.size() == lock.size() ? lock : file;
    if (name.size() != pattern.size()) {
        return false;
    }
    for (size_t i = 0; i < pattern.size(); ++i) {
        const bool is_digit = (name[i] >= '0' && name[i] <= '9') || (name[i] >= 'a' && name[i] <= 'f');
        if (pattern[i] == '?' ? !is_digit : name[i] != static_cast<native_path::value_type>(pattern[i])) {
            return false;
        }
    }
    return true;
}

/// Whether it was there, nobody's, and is gone now. That nobody has it locked says so only of the writers of this host,
/// where each has locks of its own: what was written to not long ago may be another's.
ZTENSOR_COLD inline result<bool> remove_if_abandoned(const directory& in, const native_path& name,
                                                     uint64_t least_age_seconds) {
    result<output_file> found = output_file::open(in, name, false);
    if (!found) {
        const bool is_nothing =
            found.error().code() == errc::file_not_found || found.error().code() == errc::not_regular_file;
        return is_nothing ? result<bool>(false) : std::move(found).error();
    }
    if (!found->lock() || !found->has_lock()) {
        return false;
    }
    ZTENSOR_TRY_ASSIGN(const file_status mine, found->status());
    ZTENSOR_TRY_ASSIGN(const bool named, is_still_named(*found, in, name));
    const int64_t age = wall_clock_seconds() - mine.modified_nanoseconds / 1'000'000'000;
    const bool is_old_enough = least_age_seconds == 0 || (age >= 0 && static_cast<uint64_t>(age) >= least_age_seconds);
    if (!is_old_enough || !named) {
        return false;
    }
    if (!in.remove(name)) {
        return fail(errc::io_error, "can't remove an abandoned file").in_file(path_text(name));
    }
    return true;
}

/// remove_abandoned() by these calls.
ZTENSOR_COLD inline result<size_t> remove_abandoned_by(const file_path& path, uint64_t least_age_seconds,
                                                       os_calls& os) {
    ZTENSOR_TRY(check_names_file(path.native()));
    ZTENSOR_TRY_ASSIGN(const directory in, directory::open(path.native(), false, os));
    const auto [names, failure] = os.list(in.place());
    if (failure) {
        return os_failure("can't list the directory", failure);
    }
    size_t count = 0;
    optional<error> first_failure;
    for (const native_path& name : names) {
        result<bool> removed =
            is_temporary_name(name) ? remove_if_abandoned(in, name, least_age_seconds) : result<bool>(false);
        if (!removed && !first_failure) {
            first_failure = std::move(removed).error();
        }
        count += removed && *removed ? 1u : 0u;
    }
    if (first_failure) {
        return *std::move(first_failure);
    }
    return count;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
