// SPDX-License-Identifier: MIT
//
// Files beside a file, opened when they are needed.
#ifndef ZTENSOR_DETAIL_READ_SIBLINGS_HPP
#define ZTENSOR_DETAIL_READ_SIBLINGS_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- reopened source
//
// Files that are open only while they are read, because there are more of them than a process may have open: models of
// thousands of shards. A few handles stay open for all of a process; a mapping stays when its handle is closed.

/// A file that can be opened again, and is known to be the same one then.
struct reopenable {
    os_reading* os = nullptr;
    native_path path;
    file_status status;

    [[nodiscard]] bool is_same(const file_status& found) const noexcept {
        return found.is_same_file(status) && found.size_bytes == status.size_bytes &&
               found.modified_nanoseconds == status.modified_nanoseconds;
    }
    /// Errors: file_changed if the path no longer leads to the same file as it was; what the system says.
    [[nodiscard]] ZTENSOR_COLD result<std::shared_ptr<const file>> open() const {
        result<file> opened = file::open(path, *os);
        if (!opened) {
            const bool is_gone = opened.error().code() == errc::file_not_found;
            return is_gone ? fail(errc::file_changed, "the file is no longer where it was when it was opened")
                           : std::move(opened).error();
        }
        const os_answer<file_status> found = os->status(opened->handle());
        if (found.failure) {
            return os_failure("can't find out whether the file is the same", found.failure);
        }
        if (!is_same(found.value)) {
            return fail(errc::file_changed, "the file was changed or replaced since it was opened");
        }
        return std::make_shared<const file>(*std::move(opened));
    }
};

/// The handles that were used last. One for all of a process, never destroyed. A child process that was forked off does
/// without, because its copy of the mutex may be locked for ever: it opens files for each call.
class handle_cache {
public:
    [[nodiscard]] static handle_cache& get() {
        static never_destroyed<handle_cache> all;
        return all.get();
    }

    /// The open file, which stays open as long as somebody holds it. Where the process has no handles left, those that
    /// nobody uses are closed first.
    [[nodiscard]] ZTENSOR_COLD result<std::shared_ptr<const file>> find(const reopenable& wanted) {
        if (!is_ours()) {
            return wanted.open();
        }
        if (std::shared_ptr<const file> known = find_open(wanted)) {
            return known;
        }
        result<std::shared_ptr<const file>> opened = wanted.open();
        if (!opened && is_out_of_handles(opened.error().os_error())) {
            close_all();
            opened = wanted.open();
        }
        if (opened) {
            keep(wanted, *opened);
        }
        return opened;
    }
    /// Notes that the file is open.
    void keep(const reopenable& wanted, std::shared_ptr<const file> opened) {
        if (!is_ours()) {
            return;
        }
        std::vector<entry> closed; // when nobody waits for the lock any more
        const os_lock lock(mutex_);
        entries_.insert(entries_.begin(), {&wanted, std::move(opened)});
        while (entries_.size() > most_handles) {
            closed.push_back(std::move(entries_.back()));
            entries_.pop_back();
        }
    }
    /// Has to be called before what `of` points to goes.
    void forget(const reopenable& of) noexcept {
        if (!is_ours()) {
            return;
        }
        const os_lock lock(mutex_);
        entries_.erase(
            std::remove_if(entries_.begin(), entries_.end(), [&](const entry& each) { return each.of == &of; }),
            entries_.end());
    }

private:
    static constexpr std::size_t most_handles = 8;

    struct entry {
        const reopenable* of;
        std::shared_ptr<const file> opened;
    };

    [[nodiscard]] bool is_ours() const noexcept { return process_ == process_id(); }

    [[nodiscard]] static bool is_out_of_handles(std::error_code failure) noexcept {
        return failure == std::errc::too_many_files_open || failure == std::errc::too_many_files_open_in_system;
    }

    [[nodiscard]] std::shared_ptr<const file> find_open(const reopenable& wanted) noexcept {
        const os_lock lock(mutex_);
        const auto found =
            std::find_if(entries_.begin(), entries_.end(), [&](const entry& each) { return each.of == &wanted; });
        if (found == entries_.end()) {
            return nullptr;
        }
        std::rotate(entries_.begin(), found, found + 1);
        return entries_.front().opened;
    }
    void close_all() noexcept {
        std::vector<entry> closed;
        const os_lock lock(mutex_);
        closed.swap(entries_);
    }

    const std::uint64_t process_ = process_id();
    os_mutex mutex_;
    std::vector<entry> entries_; ///< from the one used last on
};

/// As file_source, of a file that is opened when it is needed.
class reopened_source final : public byte_source {
public:
    /// `text` is the path for messages.
    reopened_source(reopenable file, const read_options& options, std::string text)
        : file_(std::move(file)), path_(std::move(text)), is_stable_(options.stable_file_),
          mapped_(*file_.os, file_.status.size_bytes, options.mode_ != io_mode::positional) {}
    ~reopened_source() override { handle_cache::get().forget(file_); }

    /// The file is open already.
    void keep(file opened) { handle_cache::get().keep(file_, std::make_shared<const file>(std::move(opened))); }

    [[nodiscard]] std::uint64_t size() const noexcept override { return file_.status.size_bytes; }

    [[nodiscard]] result<void> read_at(std::uint64_t offset, span<std::byte> destination) const override {
        result<void> read = check_range(offset, destination.size(), size());
        if (read) {
            const result<std::shared_ptr<const file>> opened = handle_cache::get().find(file_);
            read = opened ? (*opened)->read_at(offset, destination) : opened.error();
        }
        return read ? read : std::move(read).error().in_file(path_);
    }

    [[nodiscard]] bytes_view mapped() const noexcept override {
        return mapped_.get([&] { return map_now(); });
    }
    /// As file_source::map().
    [[nodiscard]] ZTENSOR_COLD result<void> map() const noexcept {
        return mapped_.map([&] { return map_now(); });
    }

    /// Of a mapped file; others are looked at whenever they are read. Another file may have the path by now, and the
    /// mapped one may have been cut off: so the open file is asked, or the one that proves to be the same.
    [[nodiscard]] ZTENSOR_COLD result<void> check_unchanged() const override {
        if (mapped_.known().empty()) {
            return {};
        }
        const result<std::shared_ptr<const file>> opened = handle_cache::get().find(file_);
        result<void> same = opened ? (*opened)->check_size() : opened.error();
        return same ? same : std::move(same).error().in_file(path_);
    }

    ZTENSOR_COLD void evict(std::uint64_t offset, std::uint64_t length) const noexcept override {
        if (const bytes_view mapped = mapped_.known(); !mapped.empty()) {
            forget_pages(mapped, offset, length);
        }
    }

private:
    [[nodiscard]] result<mapping> map_now() const {
        const result<std::shared_ptr<const file>> opened = handle_cache::get().find(file_);
        return opened ? (*opened)->map() : opened.error();
    }
    [[nodiscard]] bool identify(std::uint64_t& device, std::uint64_t& file_id) const noexcept override {
        device = file_.status.device;
        file_id = file_.status.file_id;
        return true;
    }
    [[nodiscard]] bool reads_files() const noexcept override { return true; }
    [[nodiscard]] bool is_stable() const noexcept override { return is_stable_; }

    reopenable file_;
    std::string path_;
    bool is_stable_; ///< read_options::stable_file()
    lazy_mapping mapped_;
};

// -- siblings
//
// Files beside an open file, as sources of bytes. os/file.hpp says which ones may be opened.

/// The folder of a file that was opened as `source`, by the path that the caller gave.
[[nodiscard]] ZTENSOR_COLD inline result<beneath_folder>
folder_beside(const byte_source& source, const native_path& path, const read_options& options,
              os_reading& os = operating_system_for_reading()) {
    file_status status;
    if (const file* const opened = source_access::file_of(source)) {
        const os_answer<file_status> found = opened->os().status(opened->handle());
        status = found.failure ? file_status() : found.value;
    } else {
        static_cast<void>(source_access::identify(source, status.device, status.file_id));
    }
    return beneath_folder::beside(path, status, options.follow_links_, os);
}

/// A source that is held open as long as it lives. A process has few of them: see is_held.
class held_source {
public:
    held_source() noexcept : is_held(count().fetch_add(1, std::memory_order_relaxed) < most) {}
    held_source(const held_source&) = delete;
    held_source& operator=(const held_source&) = delete;
    ~held_source() { count().fetch_sub(1, std::memory_order_relaxed); }

    const bool is_held; ///< false where there are enough
    std::shared_ptr<const byte_source> source;

private:
    static constexpr unsigned most = 32;

    [[nodiscard]] static std::atomic<unsigned>& count() noexcept {
        static std::atomic<unsigned> held{0};
        return held;
    }
};

/// One of several files that are open, by the path that leads to it: held open if there are few, else opened again when
/// it is read, as errc::file_changed if it is another one by then. Errors: unmappable; what the system says.
[[nodiscard]] ZTENSOR_COLD inline result<std::shared_ptr<const byte_source>>
source_of_sibling(file content, const read_options& options, const native_path& path) {
    if (const auto held = std::make_shared<held_source>(); held->is_held) {
        result<std::shared_ptr<const byte_source>> source = source_of_file(std::move(content), options, path);
        if (!source) {
            return source;
        }
        held->source = *std::move(source);
        return std::shared_ptr<const byte_source>(held, held->source.get());
    }
    os_reading& os = content.os();
    const os_answer<file_status> status = os.status(content.handle());
    if (status.failure) {
        return os_failure("can't find out which file it is", status.failure);
    }
    const auto source =
        std::make_shared<reopened_source>(reopenable{&os, os.absolute(path), status.value}, options, path_text(path));
    source->keep(std::move(content));
    if (options.mode_ == io_mode::mapped) {
        ZTENSOR_TRY(source->map());
    }
    return std::shared_ptr<const byte_source>(source);
}

/// A file in the folder. Errors: those of beneath_folder::open() and source_of_sibling().
[[nodiscard]] ZTENSOR_COLD inline result<std::shared_ptr<const byte_source>>
open_sibling(const beneath_folder& folder, const native_path& name, const read_options& options) {
    result<file> opened = folder.open(name);
    return opened ? source_of_sibling(*std::move(opened), options, joined_path(folder.path(), name))
                  : std::move(opened).error();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
