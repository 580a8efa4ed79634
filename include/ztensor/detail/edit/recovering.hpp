// SPDX-License-Identifier: MIT
//
// After a crash, by any calls: which state a file is to have, and how it gets there.
#ifndef ZTENSOR_DETAIL_EDIT_RECOVERING_HPP
#define ZTENSOR_DETAIL_EDIT_RECOVERING_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/edit/old_file.hpp>
#include <ztensor/detail/edit/undo_reader.hpp>
#include <ztensor/detail/os/directory.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/write/undo_record.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/recovery.hpp>
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

class recovering {
public:
    recovering(old_file& old, const file& record, const undo_reader& undo) noexcept
        : old_(old), record_(record), undo_(undo), facts_(undo.facts()) {}

    /// Brings the file into the state that it is to have, on the disk: back, where its writer has `failed`.
    [[nodiscard]] ZTENSOR_COLD result<recovery> run(bool failed) {
        const std::uint64_t size = old_.source().size();
        const bool reads = !failed && open_container(old_.opened).has_value();
        if (reads && undo_.is_committed(size)) {
            return done(recovery::kept_new);
        }
        const result<bool> is_old = has_old_manifest(size);
        if (!is_old) {
            return is_old.error();
        }
        const result<file_status> status = old_.lock.status();
        if (!status) {
            return status.error();
        }
        const bool is_other = status->file_id != facts_.file_id && !undo_.pieces().empty();
        if (!*is_old || is_other) {
            if (reads) { // another file has come in its place
                return done(recovery::kept_new);
            }
            return fail(errc::file_changed, "the undo record beside it is about another file");
        }
        if (size == facts_.old_bytes && undo_.pieces().empty()) {
            return done(recovery::not_needed);
        }
        result<void> undone = undo_.restore(record_, old_.lock);
        if (undone && size != facts_.old_bytes) {
            undone = old_.lock.truncate(facts_.old_bytes);
        }
        return undone ? done(recovery::undone) : std::move(undone).error();
    }

private:
    [[nodiscard]] result<recovery> done(recovery outcome) {
        result<void> synced = old_.lock.sync();
        return synced ? result<recovery>(outcome) : std::move(synced).error();
    }

    /// Whether the old manifest stands where it stood, but for the bytes whose old ones are in the record.
    [[nodiscard]] result<bool> has_old_manifest(std::uint64_t size) const {
        constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;
        if (facts_.old_bytes > size || facts_.manifest_offset > facts_.old_bytes) {
            return false;
        }
        std::uint32_t sum = 0;
        std::vector<std::byte> piece;
        for (std::uint64_t at = facts_.manifest_offset; at < facts_.old_bytes; at += piece.size()) {
            piece.resize(static_cast<std::size_t>((std::min)(facts_.old_bytes - at, piece_bytes)));
            result<void> read = old_.source().read_at(at, piece);
            read = read ? undo_.overlay(record_, at, piece) : std::move(read);
            if (!read) {
                return std::move(read).error();
            }
            sum = undo_sum(piece, sum);
        }
        return sum == facts_.manifest_crc;
    }

    old_file& old_;
    const file& record_;
    const undo_reader& undo_;
    const undo_facts& facts_;
};

/// A record from a stranger would tell us to write his bytes into a file that he may not write to: where files of
/// several people lie in one folder, such as /tmp, anybody can put one there.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_owner(const old_file& old, const file& record) {
    constexpr std::uint32_t root = 0;
    constexpr std::uint32_t writable_by_others = 0022;
    const auto [made, unknown] = record.os().status(record.handle());
    const result<file_status> mine = old.lock.status();
    if (unknown || !mine) {
        return unknown ? result<void>(os_failure("can't find out whose the undo record is", unknown)) : mine.error();
    }
    const bool may_write =
        made.owner == mine->owner || made.owner == root || (mine->permissions & writable_by_others) != 0;
    return may_write ? result<void>()
                     : fail(errc::file_changed, "the undo record beside it belongs to somebody who may not write the "
                                                "file: remove the record if nobody knows of it");
}

/// A record that was not completed: then nothing of the file was changed, and the file reads.
[[nodiscard]] ZTENSOR_COLD inline result<recovery> after_no_record(old_file& old) {
    const result<void> reads = open_container(old.opened);
    if (reads || reads.error().code() == errc::out_of_memory || reads.error().code() == errc::io_error) {
        return reads ? result<recovery>(recovery::not_needed) : reads.error();
    }
    return fail(errc::file_changed, "the undo record beside it is damaged, and so is the file: {}",
                {reads.error().sentence()});
}

/// The record, read through a handle that is closed before it is removed.
[[nodiscard]] ZTENSOR_COLD inline result<recovery> recover_by_record(old_file& old, const native_path& record_name,
                                                                     bool failed = false) {
    os_calls& os = old.place.in.os();
    const auto [handle, failure] = os.open_in(old.place.in.place(), record_name, false);
    if (failure == std::errc::no_such_file_or_directory) { // its writer has just finished
        return recovery::not_needed;
    }
    if (failure) {
        return os_failure("can't open the undo record", failure);
    }
    const result<file> record = file::of_handle(handle, os);
    if (!record) {
        return record.error();
    }
    if (result<void> known = check_owner(old, *record); !known) {
        return std::move(known).error();
    }
    const result<std::optional<undo_reader>> undo = undo_reader::read(*record);
    if (!undo) {
        return undo.error();
    }
    return *undo ? recovering(old, *record, **undo).run(failed) : after_no_record(old);
}

/// recover() by these calls.
[[nodiscard]] ZTENSOR_COLD inline result<recovery> recover_by(const file_path& path, os_calls& os) {
    const result<located_file> place = locate(path.native(), false, os);
    if (!place) {
        return place.error();
    }
    const native_path record_name = undo_name(place->name);
    const result<file_status> record = place->in.status(record_name);
    if (!record || record->kind == file_kind::absent) {
        return record ? result<recovery>(recovery::not_needed) : record.error();
    }
    result<std::unique_ptr<old_file>> held = hold_old_file(path.native(), true, true, os);
    if (!held) {
        return std::move(held).error();
    }
    old_file& old = **held;
    result<recovery> outcome = recover_by_record(old, record_name);
    if (!outcome) {
        return outcome;
    }
    if (!old.place.in.remove(record_name)) {
        return fail(errc::io_error, "the file is complete, but its undo record can't be removed");
    }
    if (const std::error_code failure = old.place.in.sync()) {
        return os_failure("the file is complete, but a power cut may bring its undo record back", failure);
    }
    return outcome;
}

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

/// Whether it was there, nobody's, and is gone now.
[[nodiscard]] ZTENSOR_COLD inline result<bool> remove_if_abandoned(const directory& in, const native_path& name) {
    result<output_file> found = output_file::open(in, name, false);
    if (!found) {
        const bool is_nothing =
            found.error().code() == errc::file_not_found || found.error().code() == errc::not_regular_file;
        return is_nothing ? result<bool>(false) : std::move(found).error();
    }
    if (!found->lock() || !found->has_lock()) {
        return false;
    }
    if (!in.remove(name)) {
        return fail(errc::io_error, "can't remove an abandoned file").in_file(path_text(name));
    }
    return true;
}

/// remove_abandoned() by these calls.
[[nodiscard]] ZTENSOR_COLD inline result<std::size_t> remove_abandoned_by(const file_path& path, os_calls& os) {
    const native_path native = path.native();
    result<void> valid = check_path(native);
    if (!valid) {
        return std::move(valid).error();
    }
    const result<directory> in = directory::open(native, false, os);
    if (!in) {
        return in.error();
    }
    const auto [names, failure] = os.list(in->place());
    if (failure) {
        return os_failure("can't list the directory", failure);
    }
    std::size_t count = 0;
    std::optional<error> first_failure;
    for (const native_path& name : names) {
        result<bool> removed = is_temporary_name(name) ? remove_if_abandoned(*in, name) : result<bool>(false);
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
