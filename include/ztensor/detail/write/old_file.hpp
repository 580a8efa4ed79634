// SPDX-License-Identifier: MIT
//
// A file that is to be gone on with: held, locked, validated, and its manifest as it stands, object by object.
#ifndef ZTENSOR_DETAIL_WRITE_OLD_FILE_HPP
#define ZTENSOR_DETAIL_WRITE_OLD_FILE_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/detail/write/undo_log.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Calls `take(key, begin)` with each pair of the map that comes next and where it starts; it passes over the value.
template <class Take>
inline void for_each_pair(cbor_cursor& cursor, const Take& take) {
    cbor_sequence pairs;
    std::string key;
    for (cursor.enter_map(pairs); cursor.next(pairs);) {
        const std::size_t begin = cursor.position();
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
        const std::size_t begin = cursor.position();
        cursor.skip();
        return cursor.passed_since(begin);
    }
    /// Where that stands in the file.
    [[nodiscard]] std::uint64_t offset_of(bytes_view value) const noexcept {
        return opened.index_offset + static_cast<std::uint64_t>(value.data() - index().bytes().data());
    }
    /// What the root has besides attributes and objects.
    [[nodiscard]] ZTENSOR_COLD std::vector<root_field> fields() const {
        std::vector<root_field> found;
        if (version == format_version::v0_1) {
            return found;
        }
        cbor_cursor cursor(index().bytes());
        for_each_pair(cursor, [&](const std::string& key, std::size_t begin) {
            const std::size_t key_bytes = cursor.position() - begin;
            cursor.skip();
            if (key != "attributes" && key != "objects") {
                const bytes_view pair = cursor.passed_since(begin);
                found.push_back({{pair.begin(), pair.end()}, key_bytes});
            }
        });
        return found;
    }
};

inline result<format_version> version_to_go_on_with(generation found) {
    switch (found) {
    case generation::v0_1:
        return format_version::v0_1;
    case generation::v1_1:
        return format_version::v1_1;
    case generation::v1_2:
        return format_version::v1_2;
    case generation::v2:
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

/// Errors: as hold_old_file() and reader::open(); not_expressible for a version that can't be written; busy also where
/// an undo record lies beside it.
ZTENSOR_COLD inline result<std::unique_ptr<old_file>> open_old_file(const native_path& path,
                                                                    const write_options& options, os_calls& os) {
    const bool in_place = options.publish_ == publish_mode::in_place;
    // In place even an atomic change puts the undo record's name on the disk first.
    const bool will_sync = options.sync_ == sync_level::durable || (in_place && options.sync_ == sync_level::atomic);
    ZTENSOR_TRY_ASSIGN(located_file place, locate(path, will_sync, os));
    result<std::unique_ptr<old_file>> held = hold_old_file(std::move(place), path, in_place);
    if (!held) {
        return held;
    }
    old_file& old = **held;
    ZTENSOR_TRY(undo_log::check_none(old.place));
    ZTENSOR_TRY(open_container(old.opened));
    ZTENSOR_TRY_ASSIGN(const format_version version, version_to_go_on_with(old.index().generation));
    old.version = version;
    if (old.index().is_data_shard) {
        return fail(errc::not_expressible,
                    "this is a data shard, which says nothing of what it holds: append to its root");
    }
    return held;
}

/// What the undo record says of it, if the mark is to stand at `mark_offset`: in place of its last bytes, or behind it.
ZTENSOR_COLD inline result<undo_facts> undo_facts_of(const old_file& old, std::uint64_t mark_offset) {
    undo_facts facts;
    facts.old_bytes = old.source().size();
    facts.manifest_offset = old.opened.index_offset;
    facts.mark_offset = mark_offset;
    facts.mark = make_change_mark();
    if (!facts.extends()) {
        ZTENSOR_TRY(old.source().read_at(mark_offset, facts.unmarked));
    }
    if (old.version == format_version::v2) { // whose manifest may lie anywhere: the footer knows its XXH3
        std::byte footer[footer_bytes_2];
        facts.manifest_offset = facts.old_bytes - footer_bytes_2;
        result<void> read = old.source().read_at(facts.manifest_offset, {footer, footer_bytes_2});
        facts.manifest_crc = undo_sum({footer, footer_bytes_2});
        return read ? result<undo_facts>(facts) : std::move(read).error();
    }
    facts.manifest_crc = undo_sum(old.index().bytes());
    std::byte tail[tail_bytes];
    const std::uint64_t end = facts.manifest_offset + old.index().bytes().size();
    const span<std::byte> footer(tail, static_cast<std::size_t>(facts.old_bytes - end));
    ZTENSOR_TRY(old.source().read_at(end, footer));
    facts.manifest_crc = undo_sum(footer, facts.manifest_crc);
    return facts;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
