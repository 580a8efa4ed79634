// SPDX-License-Identifier: MIT
//
// The file on disk that a writer makes or extends: complete, or as it was.
#ifndef ZTENSOR_DETAIL_WRITE_ATOMIC_FILE_HPP
#define ZTENSOR_DETAIL_WRITE_ATOMIC_FILE_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/write/undo_record.hpp>
#include <ztensor/error.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- atomic file
//
// A file that is being written, and how it becomes the file of its name: it replaces the old one in one step, or it is
// written in place. The third way, behind the old end, is extended_file. What is not published leaves nothing
// behind. Knows nothing of what the bytes mean.

/// What the three ways have in common. Every derived class abandons what was not published when it is destroyed.
class atomic_file {
public:
    virtual ~atomic_file() = default;
    atomic_file(const atomic_file&) = delete;
    atomic_file& operator=(const atomic_file&) = delete;

    /// Called once, first.
    virtual result<void> open() = 0;

    /// Whether there is something that publish() or abandon() would end.
    [[nodiscard]] bool is_open() const noexcept { return file_.has_value(); }
    /// False in a child of the process that opened it: there nothing may be written or removed.
    [[nodiscard]] bool is_ours() const noexcept { return process_ == process_id(); }
    [[nodiscard]] output_file& file() noexcept { return *file_; }

    /// Called before each write, which ends at `end` of the file. A file that is written in place ends with zeros from
    /// here on until it is complete: a tensor may hold a whole file, and the footer of that one is not to end ours.
    virtual result<void> begin(uint64_t) { return {}; }
    /// Whether commit() is to be called before the last bytes are appended, which make the file complete.
    [[nodiscard]] virtual bool needs_commit() const noexcept { return false; }
    /// With these the file has so many bytes.
    virtual result<void> commit(uint64_t) { return {}; }

    /// Syncs as asked, closes the file, and gives it its name.
    virtual result<void> publish() = 0;

    /// Called after publish(), when nothing can be taken back any more.
    ZTENSOR_COLD result<void> sync_name() {
        file_.reset();
        const bool must_sync = sync_ == sync_level::durable && is_new_name_;
        if (const std::error_code failure = must_sync ? place_.in.sync() : std::error_code()) {
            return fail(errc::not_durable, "the new file is in place, but its directory could not be synced: a power "
                                           "cut may still undo that")
                .because(failure);
        }
        return {};
    }

    /// Leaves nothing behind of what was not finished. Gives the name of what the system would not have removed, or ""
    /// if all is tidy.
    ZTENSOR_COLD native_path abandon() noexcept {
        if (!is_open()) {
            return {};
        }
        const bool is_tidy = !is_ours() || undo();
        file_.reset();
        lock_.reset();
        return is_tidy ? native_path() : std::exchange(written_, {});
    }

    /// Where abandon()'s name lies.
    [[nodiscard]] native_path path_of(const native_path& name) const {
        return joined_path(place_.in.place().path, name);
    }

    /// Whether the open file is the one that is read from: writing in place would destroy it.
    [[nodiscard]] virtual bool would_destroy(const ztensor::detail::file&) const { return false; }

protected:
    static constexpr uint64_t end_zeros = 8; ///< no footer ends with so many

    atomic_file(located_file place, sync_level sync) noexcept
        : place_(std::move(place)), process_(process_id()), sync_(sync) {}

    /// Removes what was written, without allocating memory. False if something is left behind.
    [[nodiscard]] virtual bool undo() noexcept = 0;

    /// Of the file that has the name now. Errors: not_regular_file, io_error.
    ZTENSOR_COLD result<file_status> status_of_old() const {
        result<file_status> old = place_.in.status(place_.name);
        return old && old->kind == file_kind::other ? irregular_file() : std::move(old);
    }

    ZTENSOR_COLD result<void> sync_content() { return sync_ != sync_level::none ? file_->sync() : result<void>(); }

    located_file place_;
    optional<output_file> file_;
    optional<output_file> lock_; ///< of the file that is replaced, where others must not replace it meanwhile
    native_path written_;        ///< the name that the file has so far
    uint64_t process_;
    sync_level sync_;
    bool is_new_name_ = true; ///< false where an existing file is written in place
};

/// Writes a temporary file, under no name where the system has that, unless other processes are to find it, and renames
/// it over the old file.
class replacing_file final : public atomic_file {
public:
    /// `lock`, if there is one, keeps other writers from the file that is replaced. Permissions are those of the file
    /// in the same directory that is called `like`, or if that is "" those of the file that is replaced.
    replacing_file(located_file place, sync_level sync, optional<output_file> lock = std::nullopt,
                   bool must_have_name = false, native_path like = {}) noexcept
        : atomic_file(std::move(place), sync), must_have_name_(must_have_name), like_(std::move(like)) {
        lock_ = std::move(lock);
    }
    ~replacing_file() override { static_cast<void>(abandon()); }

    /// Beside the target; "" while it has none.
    [[nodiscard]] const native_path& name_so_far() const noexcept { return written_; }

    /// Touches nothing of an old file.
    ZTENSOR_COLD result<void> open() override {
        ZTENSOR_TRY_ASSIGN(const file_status old, lock_ ? lock_->status() : status_of_model());
        // With no more permissions than the old file's owner has, so that at no time more people can read the new one.
        const uint32_t permissions = old.kind == file_kind::regular ? old.permissions & 0700u : default_permissions;
        if (!must_have_name_ && open_unnamed(permissions)) {
            return file_->lock();
        }
        const result<void> made = under_new_name([&](const native_path& name) -> result<void> {
            ZTENSOR_TRY_ASSIGN(output_file created, output_file::create(place_.in, name, permissions));
            if (!is_mine(created)) {
                return fail(errc::busy, "swept").because(std::make_error_code(std::errc::file_exists));
            }
            file_.emplace(std::move(created));
            return {};
        });
        return made ? made : os_failure("can't create a temporary file beside it", made.error().os_error());
    }

    ZTENSOR_COLD result<void> publish() override {
        ZTENSOR_TRY(inherit());
        ZTENSOR_TRY(sync_content());
        ZTENSOR_TRY(is_unnamed_ ? link(*file_) : result<void>());
        // Keeps the lock, by which a sweep knows that we live; but nothing is lost where no handle is to be had.
        const result<output_file> holder = file_->duplicate();
        ZTENSOR_TRY(file_->close());
        return rename_over_target();
    }

private:
    static constexpr int most_names_tried = 16;

    [[nodiscard]] bool undo() noexcept override {
        file_.reset(); // closed first, because Windows removes no open file
        return written_.empty() || place_.in.remove(written_);
    }

    /// False where only a name from the start will do. Some systems make files without names and let nobody name them
    /// (Android, profiles of AppArmor, filters of seccomp): all would be written, and lost in the end. A second file
    /// shows it, because one that was named once and has lost its name gets no other.
    [[nodiscard]] ZTENSOR_COLD bool open_unnamed(uint32_t permissions) {
        result<output_file> unnamed = output_file::create_unnamed(place_.in, permissions);
        result<output_file> probe = unnamed ? output_file::create_unnamed(place_.in, permissions) : std::move(unnamed);
        if (!probe || !link(*probe)) {
            return false;
        }
        is_unnamed_ = place_.in.remove(written_);
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

    /// Of the file whose permissions are kept. Errors: as status_of_old().
    ZTENSOR_COLD result<file_status> status_of_model() const {
        return like_.empty() ? status_of_old() : place_.in.status(like_);
    }

    /// Keeps what is kept of the file that is replaced, as it is now: its mode may have changed while we wrote.
    ZTENSOR_COLD result<void> inherit() {
        ZTENSOR_TRY_ASSIGN(const file_status now, status_of_model());
        const native_path& name = like_.empty() ? place_.name : like_;
        return now.kind == file_kind::regular ? file_->copy_metadata_from(now, place_.in, name) : result<void>();
    }

    ZTENSOR_COLD result<void> link(output_file& unnamed) {
        return under_new_name([&](const native_path& name) { return unnamed.link(place_.in, name); });
    }

    /// Calls `make(name) -> result<void>` with temporary names until one was free.
    template <class Make>
    result<void> under_new_name(const Make& make) {
        for (int tried = 1;; ++tried) {
            native_path name = temporary_name();
            result<void> made = make(name);
            if (made) {
                written_ = std::move(name);
                return made;
            }
            if (made.error().os_error() != std::errc::file_exists || tried == most_names_tried) {
                return made;
            }
        }
    }

    ZTENSOR_COLD result<void> rename_over_target() {
        os_calls& os = place_.in.os();
        std::error_code failure = os.rename_in(place_.in.place(), written_, place_.name);
        if (failure && !always_replaces_open_files && lock_) {
            lock_.reset(); // gives up what kept other writers away, for lack of another way
            failure = os.rename_in(place_.in.place(), written_, place_.name);
        }
        return failure ? result<void>(os_failure("can't rename the finished temporary file over it", failure))
                       : result<void>();
    }

    bool is_unnamed_ = false;
    bool must_have_name_;
    native_path like_;
};

/// Writes under the final name. An old file keeps its content until the first byte is written.
class in_place_file final : public atomic_file {
public:
    in_place_file(located_file place, sync_level sync) noexcept : atomic_file(std::move(place), sync) {}
    ~in_place_file() override { static_cast<void>(abandon()); }

    ZTENSOR_COLD result<void> open() override {
        ZTENSOR_TRY(status_of_old());
        result<output_file> created = output_file::create(place_.in, place_.name, default_permissions);
        is_new_name_ = created.has_value();
        if (!created) {
            if (created.error().os_error() != std::errc::file_exists) {
                return std::move(created).error();
            }
            created = open_locked(place_.in, place_.name, true);
        } else if (result<void> locked = created->lock(); !locked) {
            return locked; // another writer was quicker, and has it now
        }
        if (!created) {
            return std::move(created).error();
        }
        const result<file_status> now = created->status();
        if (!now) {
            if (is_new_name_) {
                static_cast<void>(place_.in.remove(place_.name));
            }
            return now.error();
        }
        old_ = *now;
        file_.emplace(*std::move(created));
        written_ = place_.name;
        return {};
    }

    /// An old file loses its content here.
    ZTENSOR_COLD result<void> begin(uint64_t end) override {
        ZTENSOR_TRY(has_begun_ || is_new_name_ ? result<void>() : file_->truncate(0));
        has_begun_ = true;
        end_ = end;
        return file_->truncate(end + end_zeros);
    }

    ZTENSOR_COLD result<void> publish() override {
        ZTENSOR_TRY(check_still_named(*file_, place_.in, place_.name));
        ZTENSOR_TRY(file_->truncate(end_));
        ZTENSOR_TRY(sync_content());
        return file_->close();
    }

    [[nodiscard]] ZTENSOR_COLD bool would_destroy(const ztensor::detail::file& source) const override {
        if (is_new_name_) {
            return false;
        }
        const os_answer<file_status> read = source.os().status(source.handle());
        return !read.failure && read.value.is_same_file(old_);
    }

private:
    [[nodiscard]] bool undo() noexcept override {
        if (!is_new_name_) {
            return !has_begun_ || (file_->is_open() && file_->truncate(0).has_value());
        }
        const bool is_gone = was_replaced();
        file_.reset(); // closed first, because Windows removes no open file
        return written_.empty() || is_gone || place_.in.remove(written_);
    }

    /// Whether somebody has put another file in its place, which is not ours to remove.
    [[nodiscard]] ZTENSOR_COLD bool was_replaced() const noexcept {
        const auto compare = [&] { return is_still_named(*file_, place_.in, place_.name); };
        const result<bool> named = file_->is_open() ? guard_memory(compare) : result<bool>(true);
        return named && !*named;
    }

    file_status old_; ///< of the file that is written
    uint64_t end_ = 0;
    bool has_begun_ = false;
};

/// The file of that path, to be opened, and made as `publish` says. Errors: as file_writer::open().
ZTENSOR_COLD inline result<std::unique_ptr<atomic_file>> find_target(const native_path& path, publish_mode publish,
                                                                     sync_level sync, os_calls& os) {
    ZTENSOR_TRY_ASSIGN(located_file place, locate(path, sync == sync_level::durable, os));
    if (publish == publish_mode::replace) {
        return std::unique_ptr<atomic_file>(new replacing_file(std::move(place), sync));
    }
    return std::unique_ptr<atomic_file>(new in_place_file(std::move(place), sync));
}

// -- extended file
//
// A file that is written behind its old end, in place. No old byte changes, and an undo record leads back until all is
// written.

/// Ends with zeros until its footer is written, which comes when all else is on the disk: so a file that opens is the
/// old one or the new one, whatever its tensors hold.
class extended_file final : public atomic_file {
public:
    /// `old` is the file at `place`, which is locked.
    extended_file(located_file place, output_file old, const undo_facts& facts, sync_level sync)
        : atomic_file(std::move(place), sync), record_(place_.name), old_(std::move(old)), facts_(facts) {
        written_ = record_.name(); // for abandon(), which must not take memory
    }
    ~extended_file() override { static_cast<void>(abandon()); }

    /// Errors: recovery_needed (there is an undo record), io_error.
    ZTENSOR_COLD result<void> open() override {
        ZTENSOR_TRY(record_.create(place_.in, facts_, sync_));
        file_.emplace(std::move(old_));
        return file_->seek(facts_.old_bytes);
    }

    ZTENSOR_COLD result<void> begin(uint64_t end) override {
        return is_committed_ ? result<void>() : file_->truncate(end + end_zeros);
    }

    [[nodiscard]] bool needs_commit() const noexcept override { return true; }
    /// All but the last bytes reach the disk, and zeros for as many as these are.
    ZTENSOR_COLD result<void> commit(uint64_t new_bytes) override {
        ZTENSOR_TRY(check_still_named(*file_, place_.in, place_.name));
        ZTENSOR_TRY(sync_content());
        is_committed_ = true;
        return file_->truncate(new_bytes);
    }

    /// The new end reaches the disk. Once the record is gone, nothing leads back.
    ZTENSOR_COLD result<void> publish() override {
        ZTENSOR_TRY(sync_content());
        ZTENSOR_TRY(file_->close());
        return record_.remove(place_.in) ? result<void>()
                                         : fail(errc::io_error, "all is written, but the undo record can't be removed");
    }

private:
    /// Once the file is closed, the record must stay: the file may hold anything.
    [[nodiscard]] ZTENSOR_COLD bool undo() noexcept override {
        const auto cut = [&]() -> result<void> {
            ZTENSOR_TRY(file_->truncate(facts_.old_bytes));
            return sync_content();
        };
        const bool is_undone = file_->is_open() && guard_memory(cut).has_value(); // to say what failed takes memory
        file_.reset();
        return is_undone && record_.remove(place_.in);
    }

    undo_record record_;
    output_file old_; ///< until there is a record
    const undo_facts facts_;
    bool is_committed_ = false;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
