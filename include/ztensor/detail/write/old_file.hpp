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
#include <ztensor/detail/write/undo_record.hpp>
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

/// Errors: as hold_old_file() and reader::open(); not_expressible for a version that can't be written; recovery_needed
/// where an undo record lies beside it.
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
    ZTENSOR_TRY(undo_record::check_none(old.place));
    ZTENSOR_TRY(open_container(old.opened));
    ZTENSOR_TRY_ASSIGN(const format_version version, version_to_go_on_with(old.index().version));
    old.version = version;
    if (old.index().is_data_shard) {
        return fail(errc::not_expressible,
                    "this is a data shard, which says nothing of what it holds: append to its root");
    }
    return held;
}

/// What the undo record says of it.
ZTENSOR_COLD inline result<undo_facts> undo_facts_of(const old_file& old) {
    undo_facts facts;
    facts.old_bytes = old.source().size();
    facts.end_offset = index_is_blob(old.index().version) ? facts.old_bytes - footer_bytes_2 : old.opened.index_offset;
    ZTENSOR_TRY_ASSIGN(facts.crc, sum_of(old.source(), facts.end_offset, facts.old_bytes));
    return facts;
}

// -- dead bytes
//
// What a file holds that its index does not lead to.

/// The largest power of two, up to that of canonical form or 1 GiB, at a multiple of which every blob of the file
/// starts; the least alignment of a file without blobs.
[[nodiscard]] ZTENSOR_COLD inline uint64_t kept_alignment(const opened_file& file) noexcept {
    const bool is_2 = index_is_blob(file.index.version);
    uint64_t bits = is_2 ? file.index_offset : 0;
    for (const object_record& object : file.index.objects) {
        for (const component_record& each : file.index.components_of(object)) {
            bits |= shard_of(file.index, each) == nullptr ? each.offset : 0;
        }
    }
    const uint64_t least = is_2 ? blob_alignment_2 : blob_alignment;
    const uint64_t most = is_2 ? canonical_alignment_2 : uint64_t{1} << 30;
    return bits == 0 ? least : (std::max)(least, (std::min)(most, bits & (~bits + 1)));
}

/// How many bytes longer the file is than its magic, blobs, index and footer, one after the other: what compact()
/// drops, but for the few that the index may take less.
[[nodiscard]] ZTENSOR_COLD inline uint64_t dead_bytes_of(const opened_file& file) {
    if (file.joined != nullptr || file.index.is_foreign() || file.index.is_data_shard) {
        return 0;
    }
    vector<std::pair<uint64_t, uint64_t>> blobs;
    for (const object_record& object : file.index.objects) {
        for (const component_record& each : file.index.components_of(object)) {
            if (shard_of(file.index, each) == nullptr) {
                blobs.emplace_back(each.offset, each.length);
            }
        }
    }
    std::sort(blobs.begin(), blobs.end());
    blobs.erase(std::unique(blobs.begin(), blobs.end()), blobs.end());
    const bool is_2 = index_is_blob(file.index.version);
    if (is_2) {
        blobs.emplace_back(file.index_offset, file.index.bytes().size());
    }
    const uint64_t rest = is_2 ? footer_bytes_2 : file.file_bytes - file.index_offset;
    const uint64_t alignment = kept_alignment(file);
    uint64_t needed = magic_bytes;
    for (const auto& [offset, length] : blobs) {
        const optional<uint64_t> begin = checked_align(needed, alignment);
        if (!begin || *begin > file.file_bytes || length > file.file_bytes - *begin) { // whose blobs overlap
            return 0;
        }
        needed = *begin + length;
    }
    return file.file_bytes - needed > rest ? file.file_bytes - needed - rest : 0;
}

// -- recovering
//
// After a crash, by any calls: whether the file is complete, or what of it goes.

/// Whether the file is complete. Errors: those that say nothing of that.
ZTENSOR_COLD inline result<bool> opens(old_file& old) {
    const result<void> opened = open_container(old.opened);
    if (opened) {
        return true;
    }
    const errc code = opened.error().code();
    const bool is_unknown = opened.error().kind() == error_kind::io || code == errc::out_of_memory ||
                            code == errc::too_large_for_host || code == errc::limit_exceeded ||
                            code == errc::unsupported_digest;
    return is_unknown ? result<bool>(opened.error()) : false;
}

/// Whether a file that opens, and that begins with an old one of so many bytes, is complete. A tensor may hold a whole
/// file, and a power cut may leave ours at its end. The index of that one counts from where it begins: so before the
/// index there are as many bytes without a blob as stand before the tensor. Of version 2, the footer says where the
/// index lies.
[[nodiscard]] ZTENSOR_COLD inline bool is_extended(const old_file& old, uint64_t old_bytes) noexcept {
    const uint64_t index_offset = old.opened.index_offset;
    if (index_is_blob(old.index().version)) {
        return index_offset >= old_bytes;
    }
    uint64_t blobs_end = 0;
    for (const object_record& object : old.index().objects) {
        for (const component_record& each : old.index().components_of(object)) {
            blobs_end = (std::max)(blobs_end, each.offset + each.length);
        }
    }
    return index_offset - blobs_end < old_bytes;
}

/// Makes the file complete. Never searches for an end: a tensor may hold any number of them.
ZTENSOR_COLD inline result<recovery> recover_by_facts(old_file& old, const optional<undo_facts>& facts) {
    const uint64_t size = old.source().size();
    bool is_so = false; // the file that the record is about
    if (facts && size >= facts->old_bytes) {
        ZTENSOR_TRY_ASSIGN(const uint32_t sum, sum_of(old.source(), facts->end_offset, facts->old_bytes));
        is_so = sum == facts->crc;
    }
    if (is_so && size == facts->old_bytes) {
        return recovery::not_needed;
    }
    ZTENSOR_TRY_ASSIGN(const bool is_whole, opens(old));
    if (!is_so) {
        return is_whole ? result<recovery>(recovery::not_needed)
                        : fail(errc::undo_record_refused,
                               "the undo record beside it is about another file, or is damaged, and the file is not "
                               "complete: bring back what the record is about, or remove it");
    }
    if (is_whole && is_extended(old, facts->old_bytes)) {
        return recovery::kept_new;
    }
    ZTENSOR_TRY(old.lock.truncate(facts->old_bytes));
    return recovery::undone;
}

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

/// Nothing of a record that was not completed: then nothing of the file was changed. Errors: undo_record_refused for
/// one of an earlier release; what the system says.
ZTENSOR_COLD inline result<optional<undo_facts>> read_undo_record(const file& record) {
    byte bytes[undo_record_bytes] = {};
    const auto there = static_cast<size_t>((std::min<uint64_t>)(record.size_bytes(), sizeof bytes));
    ZTENSOR_TRY(record.read_at(0, {bytes, there}));
    const string_view magic = as_text({bytes, undo_magic.size()});
    if (magic != undo_magic && magic.substr(0, undo_magic_of_all.size()) == undo_magic_of_all) {
        return fail(errc::undo_record_refused, "the undo record beside it was made by an earlier release of this "
                                               "library: recover() the file by that release");
    }
    return decode_undo_record({bytes, there});
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
    ZTENSOR_TRY_ASSIGN(const optional<undo_facts> facts, read_undo_record(record));
    ZTENSOR_TRY_ASSIGN(const recovery outcome, recover_by_facts(old, facts));
    ZTENSOR_TRY(old.lock.sync()); // before the record goes
    return outcome;
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
