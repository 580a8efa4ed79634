// SPDX-License-Identifier: MIT
//
// The names of a file that is being written: what is opened, locked and later published, and what is tidied up when
// nothing comes of it. Knows nothing of what the bytes mean.
#ifndef ZTENSOR_DETAIL_WRITE_TARGET_FILE_HPP
#define ZTENSOR_DETAIL_WRITE_TARGET_FILE_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/guard_memory.hpp>
#include <ztensor/detail/os/directory.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/write/undo_name.hpp>
#include <ztensor/detail/write/way_back.hpp>
#include <ztensor/error.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class target_file {
public:
    explicit target_file(os_calls& os) noexcept : os_(os) {}
    target_file(const target_file&) = delete;
    target_file& operator=(const target_file&) = delete;
    ~target_file() { static_cast<void>(abandon()); }

    /// A new file, or in place of an old one. Touches nothing of an old file. Fails as file_sink::open().
    [[nodiscard]] ZTENSOR_COLD result<void> open(const native_path& path, publish_mode publish, sync_level sync) {
        sync_ = sync;
        result<located_file> found = detail::locate(path, sync == sync_level::durable, os_);
        if (!found) {
            return std::move(found).error();
        }
        place_.emplace(*std::move(found));
        const result<file_status> old = place_->in.status(place_->name);
        if (!old) {
            return old.error();
        }
        if (old->kind == file_kind::other) {
            return irregular_file();
        }
        if (old->kind == file_kind::regular) {
            old_ = *old;
        }
        process_ = process_id();
        return publish == publish_mode::replace ? open_temporary() : open_in_place();
    }

    /// A new file that is to replace the one at `place`, which `lock` keeps other writers from.
    [[nodiscard]] ZTENSOR_COLD result<void> open_successor(located_file place, output_file lock, sync_level sync) {
        sync_ = sync;
        place_.emplace(std::move(place));
        lock_.emplace(std::move(lock));
        const result<file_status> old = lock_->status();
        if (!old) {
            return old.error();
        }
        old_ = *old;
        process_ = process_id();
        return open_temporary();
    }

    /// The file at `place`, which is locked, to be written behind its old end. The way back is on the disk.
    [[nodiscard]] ZTENSOR_COLD result<void> open_extended(located_file place, output_file old,
                                                          std::unique_ptr<way_back> back, sync_level sync) {
        sync_ = sync;
        place_.emplace(std::move(place));
        file_.emplace(std::move(old));
        back_ = std::move(back);
        process_ = process_id();
        way_ = way::extends;
        written_ = back_->name(); // for abandon(), which must not take memory
        result<void> marked = back_->mark(*file_);
        return marked ? file_->seek(back_->first_new_byte()) : marked;
    }

    /// Whether there is something that publish() or abandon() would end.
    [[nodiscard]] bool is_open() const noexcept { return file_.has_value(); }
    /// In a child of the process that opened it, nothing may be written or removed: it is the parent's.
    [[nodiscard]] bool is_ours() const noexcept { return process_ == process_id(); }
    [[nodiscard]] output_file& file() noexcept { return *file_; }
    [[nodiscard]] bool extends() const noexcept { return way_ == way::extends; }
    [[nodiscard]] way_back& back() const noexcept { return *back_; } ///< of a file that is extended

    /// Of a file that is extended, before its last bytes are written: the others reach the disk.
    [[nodiscard]] ZTENSOR_COLD result<void> commit(std::uint64_t new_bytes, bytes_view last) {
        result<void> done = check_still_named(*file_, place_->in, place_->name);
        if (done && sync_ != sync_level::none) {
            done = file_->sync();
        }
        return done ? back_->commit(new_bytes, last) : done;
    }

    /// Called before the first byte is written: from here on an old file in place has lost its content.
    [[nodiscard]] ZTENSOR_COLD result<void> begin() {
        if (way_ != way::overwrites || has_begun_ || is_new_name_) {
            has_begun_ = true;
            return {};
        }
        result<void> emptied = file_->truncate(0);
        has_begun_ = emptied.has_value();
        return emptied;
    }

    /// Syncs as asked, closes, and gives the file its name.
    [[nodiscard]] ZTENSOR_COLD result<void> publish() {
        result<void> done;
        if (way_ == way::replaces) {
            done = inherit();
        } else if (way_ == way::overwrites) {
            done = check_still_named(*file_, place_->in, place_->name);
        }
        if (done && sync_ != sync_level::none) {
            done = file_->sync();
        }
        if (!done) {
            return done;
        }
        if (way_ == way::extends) {
            return publish_extended();
        }
        find_stale_record();
        if (way_ == way::overwrites) {
            return file_->close();
        }
        if (result<void> linked = is_unnamed_ ? link(*file_) : result<void>(); !linked) {
            return linked;
        }
        // Keeps the lock, by which a sweep knows that we live; but nothing is lost where no handle is to be had.
        const result<output_file> holder = file_->duplicate();
        done = file_->close();
        return done ? rename_over_target() : done;
    }

    /// After publish(), when nothing can be taken back any more.
    [[nodiscard]] ZTENSOR_COLD result<void> sync_name() {
        file_.reset();
        const bool must_sync = sync_ == sync_level::durable && is_new_name_;
        if (const std::error_code failure = must_sync ? place_->in.sync() : std::error_code()) {
            return fail(errc::not_durable, "the new file is in place, but its directory could not be synced: a power "
                                           "cut may still undo that")
                .because(failure);
        }
        return stale_record_.empty() ? result<void>() : remove_stale_record();
    }

    /// Leaves nothing behind of what was not finished. Gives the name of what the system would not have removed, or ""
    /// if all is tidy.
    ZTENSOR_COLD native_path abandon() noexcept {
        if (!is_open()) {
            return {};
        }
        bool is_tidy = true;
        if (!is_ours()) {
            file_.reset();
        } else if (way_ == way::extends) {
            is_tidy = undo_extended();
        } else if (is_new_name_) {
            const bool is_gone = way_ == way::overwrites && was_replaced();
            file_.reset(); // closed first, because Windows removes no open file
            is_tidy = written_.empty() || is_gone || place_->in.remove(written_);
        } else {
            is_tidy = !has_begun_ || (file_->is_open() && file_->truncate(0).has_value());
            file_.reset();
        }
        lock_.reset();
        return is_tidy ? native_path() : std::exchange(written_, {});
    }

    /// Where abandon()'s name lies.
    [[nodiscard]] native_path path_of(const native_path& name) const {
        return joined_path(place_->in.place().path, name);
    }

    /// Whether the open file is the one that is read from: writing in place would destroy it.
    [[nodiscard]] ZTENSOR_COLD bool would_destroy(const ztensor::detail::file& source) const {
        if (way_ != way::overwrites || is_new_name_) {
            return false;
        }
        const os_answer<file_status> read = source.os().status(source.handle());
        return !read.failure && read.value.is_same_file(old_);
    }

private:
    static constexpr int most_names_tried = 16;

    enum class way : std::uint8_t { replaces, overwrites, extends };

    [[nodiscard]] ZTENSOR_COLD result<void> open_temporary() {
        // With no more permissions than the old file's owner has, so that at no time more people can read the new one.
        const std::uint32_t permissions =
            old_.kind == file_kind::regular ? old_.permissions & 0700u : default_permissions;
        if (open_unnamed(permissions)) {
            return file_->lock();
        }
        for (int tried = 1;; ++tried) {
            native_path name = temporary_name();
            result<output_file> created = output_file::create(place_->in, name, permissions);
            if (created) {
                if (is_mine(*created)) {
                    file_.emplace(*std::move(created));
                    written_ = std::move(name);
                    return {};
                }
                created = fail(errc::busy, "swept").because(std::make_error_code(std::errc::file_exists));
            }
            if (created.error().os_error() != std::errc::file_exists || tried == most_names_tried) {
                return os_failure("can't create a temporary file beside it", created.error().os_error());
            }
        }
    }

    /// False where only a name from the start will do. Some systems make files without names and let nobody name them
    /// (Android, profiles of AppArmor, filters of seccomp): all would be written, and lost in the end. A second file
    /// shows it, because one that was named once and has lost its name gets no other.
    [[nodiscard]] ZTENSOR_COLD bool open_unnamed(std::uint32_t permissions) {
        result<output_file> unnamed = output_file::create_unnamed(place_->in, permissions);
        result<output_file> probe = unnamed ? output_file::create_unnamed(place_->in, permissions) : std::move(unnamed);
        if (!probe || !link(*probe)) {
            return false;
        }
        is_unnamed_ = place_->in.remove(written_);
        if (is_unnamed_) {
            written_.clear();
        }
        file_.emplace(is_unnamed_ ? *std::move(unnamed) : *std::move(probe)); // whose name serves as well
        return true;
    }

    /// Locked, and not removed before that: a sweep may have come between.
    [[nodiscard]] static bool is_mine(output_file& created) {
        if (!created.lock()) {
            return false;
        }
        const result<file_status> mine = created.status();
        return !mine || mine->links != 0;
    }

    [[nodiscard]] ZTENSOR_COLD result<void> open_in_place() {
        way_ = way::overwrites;
        result<output_file> created = output_file::create(place_->in, place_->name, default_permissions);
        is_new_name_ = created.has_value();
        if (!created) {
            if (created.error().os_error() != std::errc::file_exists) {
                return std::move(created).error();
            }
            created = open_locked(place_->in, place_->name, true);
        } else if (result<void> locked = created->lock(); !locked) {
            return locked; // another writer was quicker, and has it now
        }
        if (!created) {
            return std::move(created).error();
        }
        const result<file_status> now = created->status();
        if (!now) {
            if (is_new_name_) {
                static_cast<void>(place_->in.remove(place_->name));
            }
            return now.error();
        }
        old_ = *now;
        file_.emplace(*std::move(created));
        written_ = place_->name;
        return {};
    }

    /// What is kept of the file that is replaced, as it is now: its mode may have changed while we wrote.
    [[nodiscard]] ZTENSOR_COLD result<void> inherit() {
        const result<file_status> now = place_->in.status(place_->name);
        if (!now) {
            return now.error();
        }
        if (now->kind == file_kind::other) {
            return irregular_file();
        }
        return now->kind == file_kind::regular ? file_->take_after(*now, place_->in, place_->name) : result<void>();
    }

    [[nodiscard]] ZTENSOR_COLD result<void> link(output_file& unnamed) {
        for (int tried = 1;; ++tried) {
            native_path name = temporary_name();
            result<void> linked = unnamed.link(place_->in, name);
            if (linked) {
                written_ = std::move(name);
                return linked;
            }
            if (linked.error().os_error() != std::errc::file_exists || tried == most_names_tried) {
                return linked;
            }
        }
    }

    /// An undo record of the file that is replaced, or that had its name before, leads nowhere once the new file is
    /// there. Not so one whose writer is alive: it has the file locked, and will find out.
    ZTENSOR_COLD void find_stale_record() {
        native_path name = undo_name(place_->name);
        const result<file_status> record = place_->in.status(name);
        if (!record || record->kind == file_kind::absent) {
            return;
        }
        bool is_stale = way_ == way::overwrites && file_->has_lock();
        if (way_ == way::replaces) {
            result<output_file> old = open_locked(place_->in, place_->name, false);
            is_stale = old ? old->has_lock() : old.error().code() == errc::file_not_found;
            if (is_stale && old) {
                lock_.emplace(*std::move(old));
            }
        }
        stale_record_ = is_stale ? std::move(name) : native_path();
        const result<file_status> mine = file_->status();
        obeys_stale_record_ = !mine || is_trusted_record(*record, *mine);
    }

    /// Once the old file can't come back: it would need its record.
    [[nodiscard]] ZTENSOR_COLD result<void> remove_stale_record() {
        std::error_code unsynced = sync_ == sync_level::atomic ? place_->in.sync() : std::error_code();
        if (!unsynced && !place_->in.remove(stale_record_)) {
            if (!obeys_stale_record_) { // A stranger's, in a folder where nobody else may remove it, which nobody
                                        // obeys.
                lock_.reset();
                return {};
            }
            return fail(errc::io_error,
                        "the new file is in place, but the undo record of the old one can't be removed");
        }
        unsynced = sync_ == sync_level::durable ? place_->in.sync() : unsynced;
        lock_.reset();
        return !unsynced ? result<void>()
                         : fail(errc::not_durable, "the new file is in place, but a power cut may bring the undo "
                                                   "record of the old one back")
                               .because(unsynced);
    }

    [[nodiscard]] ZTENSOR_COLD result<void> rename_over_target() {
        std::error_code failure = os_.rename_in(place_->in.place(), written_, place_->name);
        if (failure && !always_replaces_open_files && lock_) {
            lock_.reset(); // gives up what kept other writers away, for lack of another way
            failure = os_.rename_in(place_->in.place(), written_, place_->name);
        }
        return failure ? result<void>(os_failure("can't rename the finished temporary file over it", failure))
                       : result<void>();
    }

    /// The new end is on the disk. Once the record is gone, nothing leads back.
    [[nodiscard]] ZTENSOR_COLD result<void> publish_extended() {
        if (result<void> unmarked = back_->unmark(*file_); !unmarked) {
            return unmarked;
        }
        if (result<void> closed = file_->close(); !closed) {
            return closed;
        }
        if (!back_->remove(place_->in)) {
            return fail(errc::io_error, "all is written, but the undo record can't be removed");
        }
        return {};
    }

    /// Whether somebody has put another file in its place, which is not ours to remove.
    [[nodiscard]] ZTENSOR_COLD bool was_replaced() const noexcept {
        const auto compare = [&] { return is_still_named(*file_, place_->in, place_->name); };
        const result<bool> named = file_->is_open() ? guard_memory(compare) : result<bool>(true);
        return named && !*named;
    }

    /// Once it is closed, the record must stay: the file may hold anything.
    [[nodiscard]] ZTENSOR_COLD bool undo_extended() noexcept {
        const auto undo = [&] {
            result<void> done = back_->rescind(*file_);
            done = done ? file_->truncate(back_->old_bytes()) : std::move(done);
            return done && sync_ != sync_level::none ? file_->sync() : done;
        };
        const bool is_undone = file_->is_open() && guard_memory(undo).has_value(); // to say what failed takes memory
        file_.reset();
        return is_undone && back_->remove(place_->in);
    }

    os_calls& os_;
    std::optional<located_file> place_;
    file_status old_; ///< of the target, where there is one
    std::optional<output_file> file_;
    std::optional<output_file> lock_; ///< of the file that is replaced, where others must not replace it meanwhile
    std::unique_ptr<way_back> back_;  ///< of a file that is extended
    native_path written_;             ///< the name that the file has so far
    native_path stale_record_;        ///< the name of an undo record that is to go with the file it was about
    bool obeys_stale_record_ = true;  ///< recover() would
    std::uint64_t process_ = 0;
    sync_level sync_ = sync_level::durable;
    way way_ = way::replaces;
    bool is_new_name_ = true; ///< false where an existing file is written in place
    bool is_unnamed_ = false;
    bool has_begun_ = false;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
