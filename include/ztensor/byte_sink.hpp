// SPDX-License-Identifier: MIT
//
// Where the bytes of a container go: a file that appears all at once, memory, or a class of the user's own.
// Knows nothing of what the bytes mean.
#ifndef ZTENSOR_BYTE_SINK_HPP
#define ZTENSOR_BYTE_SINK_HPP

#include <ztensor/detail/os_file.hpp>
#include <ztensor/error.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace v0 {

/// Takes bytes in order and makes them the result in one step at the end: derive from it to write containers into an
/// archive or a network store. One thread at a time calls it. After a failure the writer calls nothing but the
/// destructor, which without a successful finish() must leave no result behind.
class byte_sink {
public:
    virtual ~byte_sink() = default;
    byte_sink(const byte_sink&) = delete;
    byte_sink& operator=(const byte_sink&) = delete;

    /// Appends all of `bytes`, which are the caller's again when it returns.
    [[nodiscard]] virtual result<void> write(bytes_view bytes) = 0;

    /// Makes all that was written the result.
    [[nodiscard]] virtual result<void> finish() = 0;

protected:
    byte_sink() = default;
};

namespace detail {

[[nodiscard]] inline error sink_closed() {
    return {errc::writer_closed, "nothing more can be written: the output was finished, or failed before"};
}

/// Gathers bytes in memory.
class memory_sink final : public byte_sink {
public:
    /// Fails with errc::too_large_for_host, or errc::writer_closed after finish().
    [[nodiscard]] result<void> write(bytes_view bytes) override {
        if (finished_) {
            return sink_closed();
        }
        if (bytes.size() > bytes_.max_size() - bytes_.size()) {
            return error(errc::too_large_for_host, "the container doesn't fit the address space of this host");
        }
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        return {};
    }

    /// Fails with errc::writer_closed the second time.
    [[nodiscard]] result<void> finish() override {
        if (finished_) {
            return sink_closed();
        }
        finished_ = true;
        return {};
    }

    /// What was written, moved out.
    [[nodiscard]] std::vector<std::byte> take() noexcept { return std::exchange(bytes_, {}); }

private:
    std::vector<std::byte> bytes_;
    bool finished_ = false;
};

/// A file, in one of two ways.
///
/// publish_mode::replace: everything goes to a new file `.ztensor-<16 hex digits>.tmp` in the target's directory.
/// finish() syncs that file, closes it, renames it over the target and syncs the directory; with sync(false) it only
/// closes and renames. At every moment, and after a crash at any moment, the target is the complete old file or the
/// complete new one. The temporary is removed when anything fails or the sink is dropped; only a crash leaves one
/// behind, and nothing ever reads it. A target that is a symbolic link stays one: the file it leads to is replaced.
/// Permission bits are those of the file replaced; owner, ACL, extended attributes and other hard links are not kept.
///
/// publish_mode::in_place: written under its own name, for places where files can't be renamed, such as some FUSE and
/// SMB mounts. Weaker: an existing file loses its content when the sink is made, readers see an unfinished file, and a
/// crash leaves one. When anything fails or the sink is dropped, a file that the sink created is removed, and one that
/// was there before is emptied (unless it was closing that failed). finish() syncs the file, and the directory if the
/// file is new.
///
/// On NFS a rename whose answer gets lost may be reported as failed although it happened. Over quota, full disks and
/// lost servers may only show when the file is synced or closed, which is why sync(false) doesn't skip the close.
/// A file larger than the process may write (RLIMIT_FSIZE) is the error EFBIG only where the program ignores SIGXFSZ.
class file_sink final : public byte_sink {
public:
    /// Touches no file; open() does.
    file_sink(const std::filesystem::path& target, const write_options& options, os_calls& os)
        : os_(os), path_(path_text(target)), target_(target), publish_(options.publish_), sync_(options.sync_) {}
    ~file_sink() override { abandon(); }

    /// Called once, before anything else. Fails with errc::not_regular_file if the target is a directory, FIFO, socket
    /// or device, errc::invalid_argument if it names no file, errc::out_of_memory, or errc::io_error.
    [[nodiscard]] result<void> open() { return ended_if_failed(prepare()); }

    /// Fails with errc::io_error (the disk is full, over quota, …), or errc::writer_closed after finish() or a failure.
    [[nodiscard]] result<void> write(bytes_view bytes) override {
        return is_open() ? ended_if_failed(append(bytes)) : sink_closed().in_file(path_);
    }

    /// Fails with errc::io_error, and then the target is what it was before (publish_mode::replace). Fails with
    /// errc::not_durable if all is in place but the directory could not be synced: the new file is what everyone
    /// reads, and a power cut may still bring the old one back. Fails with errc::writer_closed the second time.
    [[nodiscard]] result<void> finish() override {
        if (!is_open()) {
            return sink_closed().in_file(path_);
        }
        if (result<void> published = ended_if_failed(publish()); !published) {
            return published;
        }
        written_.clear();
        return sync_name();
    }

private:
    static constexpr std::size_t buffer_bytes = std::size_t{1} << 20;
    static constexpr int most_names_tried = 16;

    [[nodiscard]] bool is_open() const noexcept { return !written_.empty(); }

    [[nodiscard]] result<void> prepare() {
        buffer_.reset(new (std::nothrow) std::byte[buffer_bytes]);
        if (!buffer_) {
            return error(errc::out_of_memory, "no memory for a buffer of 1 MiB");
        }
        const auto [old, unknown] = os_.status(target_);
        if (unknown) {
            return os_failure("can't find out what the file would replace", unknown);
        }
        if (old.kind == file_kind::other) {
            return irregular_file();
        }
        if (result<void> found = locate(); !found) {
            return found;
        }
        return publish_ == publish_mode::replace ? open_temporary(old) : open_in_place();
    }

    /// Makes target_ a path that means the same file for as long as the sink lives.
    [[nodiscard]] result<void> locate() {
        if (!target_.has_filename()) {
            return error(errc::invalid_argument, "the path names no file");
        }
        std::error_code failure;
        std::filesystem::path fixed = std::filesystem::absolute(target_, failure);
        if (failure) {
            return os_failure("can't find out the current directory", failure);
        }
        os_answer<std::filesystem::path> reached = os_.resolve_links(fixed);
        if (reached.failure) {
            return os_failure("can't follow the symbolic link", reached.failure);
        }
        target_ = std::move(reached.value);
        directory_ = target_.parent_path();
        return {};
    }

    [[nodiscard]] result<void> open_temporary(const file_status& old) {
        const bool replaces = old.kind == file_kind::regular;
        // Created with no more permissions than the old file has, so that at no time more people can read the new one.
        const std::filesystem::perms permissions = replaces ? old.permissions : default_permissions;
        for (int tried = 1;; ++tried) {
            std::filesystem::path name = directory_ / (".ztensor-" + unique_suffix() + ".tmp");
            result<file> created = file::create(name, permissions, os_);
            if (created) {
                file_.emplace(*std::move(created));
                written_ = std::move(name);
                break;
            }
            if (created.error().os_error() != std::errc::file_exists || tried == most_names_tried) {
                return os_failure("can't create a temporary file beside it", created.error().os_error());
            }
        }
        return replaces ? file_->set_permissions(permissions) : result<void>();
    }

    [[nodiscard]] result<void> open_in_place() {
        std::filesystem::path name = target_;
        result<file> opened = file::create(name, default_permissions, os_);
        is_new_name_ = opened.has_value();
        if (!opened && opened.error().os_error() == std::errc::file_exists) {
            opened = file::overwrite(name, os_);
        }
        if (!opened) {
            return std::move(opened).error();
        }
        file_.emplace(*std::move(opened));
        written_ = std::move(name);
        return {};
    }

    /// Every write starts at a multiple of 1 MiB in the file, and all but the last are whole MiB: the page cache then
    /// keeps the file in large pieces, which readers that map it feel. Of a large piece only the ends, less than 1 MiB
    /// each, go through the buffer; the rest goes straight from the caller's memory.
    [[nodiscard]] result<void> append(bytes_view bytes) {
        while (!bytes.empty()) {
            result<void> written;
            if (buffered_ == 0 && bytes.size() >= buffer_bytes) {
                const std::size_t whole = bytes.size() - bytes.size() % buffer_bytes;
                written = file_->append(bytes.first(whole));
                bytes = bytes.subspan(whole);
            } else {
                const std::size_t taken = std::min<std::size_t>(bytes.size(), buffer_bytes - buffered_);
                std::copy_n(bytes.begin(), taken, buffer_.get() + buffered_);
                buffered_ += taken;
                bytes = bytes.subspan(taken);
                written = buffered_ == buffer_bytes ? flush() : result<void>();
            }
            if (!written) {
                return written;
            }
        }
        return {};
    }

    [[nodiscard]] result<void> flush() {
        return file_->append(bytes_view(buffer_.get(), std::exchange(buffered_, std::size_t{0})));
    }

    [[nodiscard]] result<void> publish() {
        return flush()
            .and_then([&] { return sync_ ? file_->sync() : result<void>(); })
            .and_then([&] { return file_->close(); })
            .and_then([&] { return publish_ == publish_mode::replace ? rename_over_target() : result<void>(); });
    }

    [[nodiscard]] result<void> rename_over_target() {
        if (const std::error_code failure = os_.rename(written_, target_)) {
            return os_failure("can't rename the finished temporary file over it", failure);
        }
        return {};
    }

    [[nodiscard]] result<void> sync_name() {
        if (!sync_ || !is_new_name_) {
            return {};
        }
        if (const std::error_code failure = os_.sync_directory(directory_)) {
            return error(errc::not_durable, "the new file is in place, but its directory could not be synced: a power "
                                            "cut may still undo that")
                .because(failure)
                .in_file(path_);
        }
        return {};
    }

    /// After a failure the sink is over; a file that could not be removed is told of.
    [[nodiscard]] result<void> ended_if_failed(result<void> outcome) {
        if (outcome) {
            return outcome;
        }
        const std::filesystem::path unfinished = written_;
        error why = std::move(outcome).error();
        if (!abandon()) {
            why = error(why.code(), why.sentence() + " (" + path_text(unfinished) + " is left behind)")
                      .because(why.os_error());
        }
        return std::move(why).in_file(path_);
    }

    /// Leaves nothing behind of what was not finished; false if the system would not have it.
    bool abandon() noexcept {
        if (!is_open()) {
            return true;
        }
        bool is_tidy = false;
        if (is_new_name_) {
            file_.reset(); // closed first, because Windows removes no open file
            is_tidy = !os_.remove(written_);
        } else {
            is_tidy = file_->is_open() && file_->truncate().has_value();
            file_.reset();
        }
        written_.clear();
        return is_tidy;
    }

    os_calls& os_;
    const std::string path_; ///< as it was given, for messages
    std::filesystem::path target_;
    std::filesystem::path directory_; ///< of target_: had beforehand, so that nothing fails for memory after the rename
    const publish_mode publish_;
    const bool sync_;
    bool is_new_name_ = true;       ///< false where an existing file is written in place
    std::filesystem::path written_; ///< what finish() still has to publish; empty before, and once all is over
    std::optional<file> file_;
    std::unique_ptr<std::byte[]> buffer_;
    std::size_t buffered_ = 0; ///< always the position in the file, modulo buffer_bytes
};

/// A new file at `target`, as `options` say: publish_mode and sync. See file_sink for what is promised, and
/// file_sink::open() for the errors.
[[nodiscard]] inline result<std::unique_ptr<byte_sink>>
create_sink(const std::filesystem::path& target, const write_options& options, os_calls& os = operating_system()) {
    auto sink = std::make_unique<file_sink>(target, options, os);
    if (result<void> opened = sink->open(); !opened) {
        return std::move(opened).error();
    }
    return std::unique_ptr<byte_sink>(std::move(sink));
}

} // namespace detail

} // namespace v0
} // namespace ztensor

#endif
