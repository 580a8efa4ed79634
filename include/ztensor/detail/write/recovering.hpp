// SPDX-License-Identifier: MIT
//
// Undoing changes that were broken off, and removing files that writers left.
#ifndef ZTENSOR_DETAIL_WRITE_RECOVERING_HPP
#define ZTENSOR_DETAIL_WRITE_RECOVERING_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/write/old_file.hpp>
#include <ztensor/detail/write/undo_log.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/findings.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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
    [[nodiscard]] std::uint64_t mark_end() const noexcept { return facts_.mark_offset + change_mark_bytes; }

    [[nodiscard]] static error is_about_another() {
        return fail(errc::undo_record_refused, "the undo record beside it is about another file, or is damaged. If the "
                                               "file is as it should be, remove the record");
    }

    /// Each byte is the mark's or, where a power cut came while it was written, what belongs there. What the mark
    /// counts is in the record, unless the record is damaged.
    [[nodiscard]] bool is_marked(const change_mark& found) const noexcept {
        const bool may_be_torn = undo_.committed() || !facts_.extends();
        for (std::size_t i = 0; i < found.size(); ++i) {
            const bool is_count =
                i == change_mark_count_at && std::to_integer<std::size_t>(found[i]) <= undo_.pieces().size();
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
        const std::uint64_t begin = (std::max)(state.last_offset(), facts_.extends() ? mark_end() : 0);
        const bytes_view last = bytes_view(state.last).subspan(static_cast<std::size_t>(begin - state.last_offset()));
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
        std::uint32_t sum = 0;
        const auto add = [&](std::uint64_t at, std::vector<std::byte>& bytes) -> result<bool> {
            ZTENSOR_TRY(undo_.overlay(record_, at, bytes));
            for (std::size_t i = 0; i < change_mark_bytes; ++i) {
                const std::uint64_t place = facts_.mark_offset + i;
                if (place >= at && place - at < bytes.size()) {
                    bytes[static_cast<std::size_t>(place - at)] = facts_.unmarked[i];
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
            const auto compare = [&](std::uint64_t at, const std::vector<std::byte>& bytes) -> result<bool> {
                std::vector<std::byte> old = bytes;
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
            std::uint32_t sum = 0;
            const auto add = [&](std::uint64_t, bytes_view bytes) -> result<bool> {
                sum = undo_sum(bytes, sum);
                return true;
            };
            ZTENSOR_TRY(for_all_pieces(old_.source(), each.offset, each.length, add));
            if (sum != each.crc) {
                return false;
            }
        }
        const std::uint64_t last_bytes = has_last ? state.last.size() : 0;
        const auto compare = [&](std::uint64_t at, bytes_view bytes) -> result<bool> {
            const auto from = state.last.begin() + static_cast<std::ptrdiff_t>(at - state.last_offset());
            return std::equal(bytes.begin(), bytes.end(), from);
        };
        return for_all_pieces(old_.source(), state.last_offset(), last_bytes, compare);
    }

    old_file& old_;
    const file& record_;
    const undo_reader& undo_;
    const undo_facts& facts_;
    const std::uint64_t size_;
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
    ZTENSOR_TRY_ASSIGN(const std::optional<undo_reader> undo, undo_reader::read(record));
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
// Temporary files that nobody finished, swept away by any calls.

[[nodiscard]] inline bool is_temporary_name(const native_path& name) {
    const std::string_view pattern = ".ztensor-????????????????.tmp";
    if (name.size() != pattern.size()) {
        return false;
    }
    for (std::size_t i = 0; i < pattern.size(); ++i) {
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
                                                     std::uint64_t least_age_seconds) {
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
    const std::int64_t age = wall_clock_seconds() - mine.modified_nanoseconds / 1'000'000'000;
    const bool is_old_enough =
        least_age_seconds == 0 || (age >= 0 && static_cast<std::uint64_t>(age) >= least_age_seconds);
    if (!is_old_enough || !named) {
        return false;
    }
    if (!in.remove(name)) {
        return fail(errc::io_error, "can't remove an abandoned file").in_file(path_text(name));
    }
    return true;
}

/// remove_abandoned() by these calls.
ZTENSOR_COLD inline result<std::size_t> remove_abandoned_by(const file_path& path, std::uint64_t least_age_seconds,
                                                            os_calls& os) {
    ZTENSOR_TRY(check_names_file(path.native()));
    ZTENSOR_TRY_ASSIGN(const directory in, directory::open(path.native(), false, os));
    const auto [names, failure] = os.list(in.place());
    if (failure) {
        return os_failure("can't list the directory", failure);
    }
    std::size_t count = 0;
    std::optional<error> first_failure;
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
