// SPDX-License-Identifier: MIT
//
// Files that are read, and files beneath a folder.
#ifndef ZTENSOR_DETAIL_OS_FILE_HPP
#define ZTENSOR_DETAIL_OS_FILE_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/error.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// No transfer is larger: Linux moves less than 2 GiB at once, macOS refuses more, and Windows counts in 32 bits.
inline constexpr size_t max_transfer_bytes = (size_t{1} << 30) - (size_t{1} << 20);

/// Moves `size_bytes` bytes by `move(done, wanted) -> os_answer<std::size_t>`, one call after the other. Fewer were
/// moved where one failed, or gave none.
template <class Move>
[[nodiscard]] os_answer<uint64_t> move_all(uint64_t size_bytes, Move&& move) {
    uint64_t done = 0;
    while (done != size_bytes) {
        const auto wanted = static_cast<size_t>((std::min<uint64_t>)(size_bytes - done, max_transfer_bytes));
        const auto [moved, failure] = move(done, wanted);
        if (!failure && moved != 0) {
            done += moved;
        } else if (failure != std::errc::interrupted) {
            return {done, failure};
        }
    }
    return {done, {}};
}

[[nodiscard]] ZTENSOR_COLD inline error os_failure(const char* sentence, std::error_code why) {
    return fail(errc::io_error, sentence).because(why);
}

[[nodiscard]] ZTENSOR_COLD inline error irregular_file() {
    return fail(errc::not_regular_file, "a regular file is needed, and this is a directory, FIFO, socket or device");
}

/// Some things that are no files refuse to be opened at all; they are named for what they are.
[[nodiscard]] ZTENSOR_COLD inline error why_not_opened(const native_path& path, std::error_code failure,
                                                       os_reading& os) {
    if (failure == std::errc::no_such_file_or_directory) {
        return fail(errc::file_not_found, "can't open the file").because(failure);
    }
    if (const auto [found, unknown] = os.status(path); !unknown && found.kind == file_kind::other) {
        return irregular_file().because(failure);
    }
    return os_failure("can't open the file", failure);
}

/// The system would take U+0000 for the end of the path.
ZTENSOR_COLD inline result<void> check_names_file(const native_path& path) {
    if (path.find(native_path::value_type()) != native_path::npos) {
        return fail(errc::invalid_argument, "a path that holds the character U+0000 names no file");
    }
    return {};
}

/// A file's bytes in memory, for reading. Move-only; unmaps when it goes.
class mapping {
public:
    mapping() noexcept = default;
    mapping(os_reading& os, bytes_view bytes) noexcept : os_(&os), bytes_(bytes) {}
    mapping(mapping&& other) noexcept : os_(other.os_), bytes_(std::exchange(other.bytes_, {})) {}
    mapping& operator=(mapping other) noexcept {
        std::swap(os_, other.os_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~mapping() {
        if (!bytes_.empty()) {
            os_->unmap(bytes_);
        }
    }

    /// Valid while the mapping lives; empty for an empty file. Reading bytes that the file has lost since it was
    /// mapped ends the process (SIGBUS, or an access violation).
    [[nodiscard]] bytes_view bytes() const noexcept { return bytes_; }
    /// Leaves it to the caller to unmap.
    void release() noexcept { bytes_ = {}; }

private:
    os_reading* os_ = nullptr;
    bytes_view bytes_;
};

/// A regular file, open for reading. Move-only; closes when it goes.
/// Failures are errc::io_error with the system's error unless a call says otherwise, and name no path.
class file {
public:
    /// Doesn't block on a FIFO.
    /// Fails with errc::file_not_found, errc::not_regular_file, errc::io_error, or errc::invalid_argument for a path
    /// that holds U+0000.
    ZTENSOR_COLD static result<file> open(const native_path& path, os_reading& os = operating_system_for_reading()) {
        ZTENSOR_TRY(check_names_file(path));
        const auto [handle, failure] = os.open_existing(path);
        if (failure) {
            return why_not_opened(path, failure, os);
        }
        return regular(file(os, handle));
    }

    /// An open handle, which becomes the file's. Fails likewise.
    ZTENSOR_COLD static result<file> of_handle(os_handle handle, os_reading& os) { return regular(file(os, handle)); }

    file(file&& other) noexcept
        : os_(other.os_), handle_(std::exchange(other.handle_, no_handle)), size_bytes_(other.size_bytes_),
          is_uncached_(other.is_uncached_) {}
    file& operator=(file other) noexcept {
        std::swap(os_, other.os_);
        std::swap(handle_, other.handle_);
        std::swap(size_bytes_, other.size_bytes_);
        std::swap(is_uncached_, other.is_uncached_);
        return *this;
    }
    ~file() {
        if (is_open()) {
            os_->close(handle_);
        }
    }

    [[nodiscard]] bool is_open() const noexcept { return handle_ != no_handle; }
    [[nodiscard]] os_reading& os() const noexcept { return *os_; }
    /// For calls that this class does not make.
    [[nodiscard]] os_handle handle() const noexcept { return handle_; }

    /// Length when it was opened.
    [[nodiscard]] uint64_t size_bytes() const noexcept { return size_bytes_; }

    /// Fails with errc::file_changed if the file is shorter than it was when it was opened. More bytes behind those are
    /// no harm: somebody appends to it.
    ZTENSOR_COLD result<void> check_size() const {
        const auto [now, failure] = os_->status(handle_);
        if (failure) {
            return os_failure("can't find out how long the file is", failure);
        }
        if (now.size_bytes < size_bytes_) {
            return fail(errc::file_changed, "the file was {} bytes long when it was opened, and is now {}",
                        {size_bytes_, now.size_bytes});
        }
        return {};
    }

    /// Fills `destination` with what lies at `offset`. May be called from many threads at once.
    /// Fails with errc::file_changed if the file ends before that, or errc::io_error; what `destination` holds is
    /// then unspecified.
    result<void> read_at(uint64_t offset, span<byte> destination, const cpu_features& cpu = host_cpu()) const {
        if (is_uncached_) {
            return read_pages(offset, destination);
        }
        const size_t shift = cpu.copies_evenly ? 0 : shift_to_read_fast(offset, destination);
        if (shift != 0) {
            ZTENSOR_TRY(read_shifted(offset, destination, shift));
        }
        return read_all(offset, destination);
    }

    /// From now on reads go past the system's cache, if the file system can.
    void read_uncached() noexcept { is_uncached_ = os_->read_uncached(handle_); }
    /// Most of that range would have to be fetched from the disk, as far as some of its bytes tell.
    [[nodiscard]] ZTENSOR_COLD bool is_cold(uint64_t offset, uint64_t length) const noexcept {
        constexpr uint64_t looks = 8;
        unsigned uncached = 0;
        for (uint64_t i = 0; i < looks; ++i) {
            uncached += os_->is_uncached(handle_, offset + length / looks * i) ? 1u : 0u;
        }
        return uncached > looks / 2;
    }
    /// It lies on a file system over a network, or one that another process serves.
    [[nodiscard]] bool is_remote() const noexcept { return os_->is_remote(handle_); }

    /// A hint: those bytes will be read soon, or not soon again. Bytes that lie in memory as part of a mapping stay.
    void advise(uint64_t offset, uint64_t length, bool is_wanted) const noexcept {
        if (length != 0) { // which would mean all that follow
            os_->advise(handle_, offset, length, is_wanted);
        }
    }

    /// The whole file in memory, which the mapping keeps even if this file is closed. An empty file has an empty one.
    /// Fails with errc::unmappable.
    ZTENSOR_COLD result<mapping> map() const {
        if (size_bytes_ == 0) {
            return mapping();
        }
        if (!fits_address_space(size_bytes_)) {
            return fail(errc::unmappable, "a file of {} bytes doesn't fit the address space of this host",
                        {size_bytes_});
        }
        const auto [bytes, failure] = os_->map(handle_, static_cast<size_t>(size_bytes_));
        if (failure) {
            return fail(errc::unmappable, "the system can't map the file into memory").because(failure);
        }
        return mapping(*os_, bytes);
    }

private:
    /// How far behind its place `destination` is read and then moved there; 0 where reading it at once is as fast.
    ///
    /// The system copies by an instruction (rep movsb) that loads what it seems to have just stored if the target lies
    /// up to 31 bytes behind the source, modulo a page: on Zen 4 it then takes 2 (16 bytes behind) to 10 times as long.
    /// That is what a page-aligned tensor meets in a std::vector. Beyond the caches it minds any difference modulo 32:
    /// 256 MiB take 31 to 33 ms instead of 22 to 25, and 26 to 28 if they are moved. (Zen 5 does not mind.)
    [[nodiscard]] static size_t shift_to_read_fast(uint64_t offset, span<byte> destination) noexcept {
        constexpr uint64_t page_bytes = 4096, block_bytes = 32;
        constexpr size_t few_bytes = size_t{8} << 10, cached_bytes = size_t{16} << 20;
        const uint64_t behind = (address_of(destination.data()) - offset) % page_bytes;
        const bool is_worth_it = destination.size() >= (behind < block_bytes ? few_bytes : cached_bytes);
        return is_worth_it ? static_cast<size_t>((0 - behind) % block_bytes) : 0;
    }

    file(os_reading& os, os_handle handle) noexcept : os_(&os), handle_(handle) {}

    result<void> read_all(uint64_t offset, span<byte> destination) const {
        const auto [moved, failure] = move_all(destination.size(), [&](uint64_t done, size_t wanted) {
            return os_->read(handle_, offset + done, destination.subspan(static_cast<size_t>(done), wanted));
        });
        if (failure) {
            return os_failure("can't read the file", failure).at(offset + moved);
        }
        return moved == destination.size() ? result<void>() : ended_at(offset + moved);
    }

    /// Whole pages of the file into whole pages of memory, from where the bytes that are wanted are copied.
    ZTENSOR_COLD result<void> read_pages(uint64_t offset, span<byte> destination) const {
        constexpr uint64_t page_bytes = 4096, piece_bytes = uint64_t{1} << 20;
        byte_buffer memory;
        const uint64_t most = (std::min<uint64_t>)(piece_bytes, destination.size()) + 3 * page_bytes;
        if (!memory.allocate(static_cast<size_t>(most))) {
            return fail(errc::out_of_memory, "no memory for a piece of {} bytes", {most});
        }
        const span<byte> pages = memory.writable_bytes().subspan(bytes_to_multiple(memory.data(), page_bytes));
        while (!destination.empty()) {
            const uint64_t skipped = offset % page_bytes;
            const uint64_t wanted = (std::min<uint64_t>)(piece_bytes, destination.size());
            const uint64_t asked = (skipped + wanted + page_bytes - 1) / page_bytes * page_bytes;
            const auto [moved, failure] = os_->read(handle_, offset - skipped, pages.first(static_cast<size_t>(asked)));
            if (failure) {
                return os_failure("can't read the file past the cache", failure).at(offset);
            }
            if (moved <= skipped) {
                return ended_at(offset - skipped + moved);
            }
            const auto got = static_cast<size_t>((std::min<uint64_t>)(moved - skipped, wanted));
            std::memcpy(destination.data(), pages.data() + skipped, got);
            offset += got;
            destination = destination.subspan(got);
        }
        return {};
    }

    [[nodiscard]] ZTENSOR_COLD error ended_at(uint64_t offset) const {
        return fail(errc::file_changed, "the file ends here, though it was {} bytes long when it was opened",
                    {size_bytes_})
            .at(offset);
    }

    /// Reads pieces `shift` bytes behind where they belong, and moves them there while the cache has them. In the end
    /// the last `shift` bytes are left: `destination` is where they go, `offset` where they are.
    result<void> read_shifted(uint64_t& offset, span<byte>& destination, size_t shift) const {
        constexpr size_t piece_bytes = size_t{512} << 10;
        while (destination.size() > shift) {
            const size_t size = (std::min)(destination.size() - shift, piece_bytes);
            ZTENSOR_TRY(read_all(offset, destination.subspan(shift, size)));
            std::memmove(destination.data(), destination.data() + shift, size);
            offset += size;
            destination = destination.subspan(size);
        }
        return {};
    }

    /// `opened`, with its size; an error if it is no regular file. Asked of the handle, so that nobody can put
    /// something else in between.
    static result<file> regular(file opened) {
        const auto [found, failure] = opened.os_->status(opened.handle_);
        if (failure) {
            return os_failure("can't find out what kind of file this is", failure);
        }
        if (found.kind != file_kind::regular) {
            return irregular_file();
        }
        opened.size_bytes_ = found.size_bytes;
        return result<file>(std::move(opened));
    }

    os_reading* os_;
    os_handle handle_;
    uint64_t size_bytes_ = 0;
    bool is_uncached_ = false;
};

// -- beneath
//
// Files beside a file, opened by names that the file gives: external data, shards, the members of a folder. One policy
// for all formats. Knows nothing of any of them.
//
// A caller who opens a model means its folder to be read, and nothing else. So each step of a name is opened from the
// directory before it, without following links, and what was opened is what is used: nothing is checked by its path and
// opened by its path afterwards. No directory on the way may be a symbolic link. The file itself may be one, since the
// caches of model hubs are folders of nothing but links, if each link on the way leads to a file in one of these
// directories:
//
// - the folder, and the directory below it that the link lies in;
// - the directory that the file which the caller named lies in, if that itself is a link;
// - `blobs` beside `snapshots`, if the folder is `snapshots/<revision>` or below that, as Hugging Face lays out caches.
//
// A link to anywhere else, which an archive may bring along, would show as weights what the caller alone may read.

/// A directory held to look into. Move-only; lets go of it when it goes.
class found_directory {
public:
    found_directory() noexcept = default;
    found_directory(os_reading& os, os_directory place) noexcept : os_(&os), place_(std::move(place)) {}
    found_directory(found_directory&& other) noexcept
        : os_(std::exchange(other.os_, nullptr)), place_(std::move(other.place_)) {}
    found_directory& operator=(found_directory other) noexcept {
        std::swap(os_, other.os_);
        std::swap(place_, other.place_);
        return *this;
    }
    ~found_directory() {
        if (os_ != nullptr) {
            os_->leave_directory(place_);
        }
    }

    [[nodiscard]] const os_directory* place() const noexcept { return os_ != nullptr ? &place_ : nullptr; }

private:
    os_reading* os_ = nullptr; ///< null where there is none
    os_directory place_;
};

/// The steps of a path below a folder, none of which is "", "." or ".."; nothing if it is absolute or leads out.
[[nodiscard]] ZTENSOR_COLD inline optional<vector<native_path>> steps_beneath(const native_path& path) {
    constexpr auto slash = native_path::value_type('/');
    constexpr auto dot = native_path::value_type('.');
    if (is_absolute(path)) {
        return std::nullopt;
    }
    vector<native_path> steps;
    for (size_t begin = 0; begin <= path.size();) {
        const size_t end = (std::min)(path.find(slash, begin), path.size());
        native_path step = path.substr(begin, end - begin);
        begin = end + 1;
        if (step == native_path(2, dot)) {
            if (steps.empty()) {
                return std::nullopt;
            }
            steps.pop_back();
        } else if (!step.empty() && step != native_path(1, dot)) {
            steps.push_back(std::move(step));
        }
    }
    return steps;
}

/// Move-only. open() may be called from many threads at once.
class beneath_folder {
public:
    /// The folder of that path, which the caller named. With `follows_links` links may lead anywhere; names may not.
    /// Errors: io_error.
    ZTENSOR_COLD static result<beneath_folder> of(const native_path& folder, bool follows_links,
                                                  os_reading& os = operating_system_for_reading()) {
        os_answer<os_directory> found = os.find_directory(nullptr, folder, true);
        if (found.failure) {
            return os_failure("can't open the folder", found.failure);
        }
        return beneath_folder(os, found_directory(os, std::move(found.value)), follows_links);
    }
    /// The folder that a file lies in which the caller named, and opened as `opened`.
    ZTENSOR_COLD static result<beneath_folder> beside(const native_path& file, const file_status& opened,
                                                      bool follows_links,
                                                      os_reading& os = operating_system_for_reading()) {
        result<beneath_folder> folder = of(directory_of(file), follows_links, os);
        if (folder) {
            folder->named_file_ = file_name_of(file);
            folder->opened_ = opened;
        }
        return folder;
    }

    /// The path by which the folder was found.
    [[nodiscard]] const native_path& path() const noexcept { return folder_.place()->path; }

    /// Opens the file of that relative path. Errors: name_invalid if it leads out of the folder; those of file::open().
    ZTENSOR_COLD result<file> open(const native_path& name) const {
        ZTENSOR_TRY(check_names_file(name));
        const optional<vector<native_path>> way = steps_beneath(name);
        if (!way) {
            return fail(errc::name_invalid, "the name leads out of the folder");
        }
        if (way->empty()) {
            return irregular_file();
        }
        if (follows_links_) {
            const auto [handle, failure] = os_->open_from(*folder_.place(), name, true);
            return failure ? why_not_opened(joined_path(path(), name), failure, *os_) : file::of_handle(handle, *os_);
        }
        found_directory below;
        for (size_t i = 0; i + 1 != way->size(); ++i) {
            const os_directory& before = i == 0 ? *folder_.place() : *below.place();
            os_answer<os_directory> next = os_->find_directory(&before, (*way)[i], false);
            if (next.failure) {
                return os_->link_target(before, (*way)[i]).failure
                           ? why_not_opened(joined_path(path(), name), next.failure, *os_)
                           : leads_outside();
            }
            below = found_directory(*os_, std::move(next.value));
        }
        return open_step(below.place() != nullptr ? *below.place() : *folder_.place(), way->back());
    }

private:
    beneath_folder(os_reading& os, found_directory folder, bool follows_links) noexcept
        : os_(&os), folder_(std::move(folder)), follows_links_(follows_links) {}

    [[nodiscard]] static error leads_outside() {
        return fail(errc::name_invalid,
                    "it is a symbolic link that leads out of the folder; read_options::follow_links() follows the "
                    "links of a folder that is trusted");
    }

    /// The file of that name in a directory below the folder, or what it leads to.
    result<file> open_step(const os_directory& below, native_path name) const {
        constexpr int most_links = 40; // as many as Linux follows
        found_directory home;          // none: `below`
        for (int links = 0; links != most_links; ++links) {
            const os_directory& in = home.place() != nullptr ? *home.place() : below;
            const auto [handle, failure] = os_->open_from(in, name, false);
            if (!failure) {
                return file::of_handle(handle, *os_);
            }
            const os_answer<native_path> target = os_->link_target(in, name);
            if (target.failure) { // no link
                return why_not_opened(joined_path(in.path, name), failure, *os_);
            }
            os_answer<os_directory> next = os_->find_directory(&in, directory_of(target.value), true);
            if (next.failure) {
                return leads_outside();
            }
            home = found_directory(*os_, std::move(next.value));
            if (!is_home(*home.place(), below)) {
                return leads_outside();
            }
            name = file_name_of(target.value);
        }
        return os_failure("can't open the file", std::make_error_code(std::errc::too_many_symbolic_link_levels));
    }

    [[nodiscard]] bool is_home(const os_directory& place, const os_directory& below) const {
        const os_answer<file_status> which = os_->status_of(place);
        const bool is_numbered = !which.failure && which.value.file_id != 0; // some systems number no directories
        return is_numbered && (is_directory(*folder_.place(), which.value) || is_directory(below, which.value) ||
                               is_home_of_named(which.value) || is_hub_of_folder(which.value));
    }

    /// The directory that the named file was opened in, at the end of its links. What is there now must be what was
    /// opened: a user who may change the folder could put another link in its place.
    [[nodiscard]] bool is_home_of_named(const file_status& directory) const {
        constexpr int most_links = 40; // as many as Linux follows
        if (named_file_.empty()) {
            return false;
        }
        found_directory at;
        native_path name = named_file_;
        for (int links = 0; links != most_links; ++links) {
            const os_directory& place = at.place() != nullptr ? *at.place() : *folder_.place();
            const os_answer<native_path> target = os_->link_target(place, name);
            if (target.failure) {
                return is_named_file(place, name) && is_directory(place, directory);
            }
            os_answer<os_directory> next = os_->find_directory(&place, directory_of(target.value), true);
            if (next.failure) {
                return false;
            }
            at = found_directory(*os_, std::move(next.value));
            name = file_name_of(target.value);
        }
        return false;
    }
    [[nodiscard]] bool is_named_file(const os_directory& place, const native_path& name) const {
        const auto [handle, failure] = os_->open_from(place, name, false);
        if (failure) {
            return false;
        }
        const os_answer<file_status> found = os_->status(handle);
        static_cast<void>(os_->close(handle));
        return !found.failure && found.value.is_same_file(opened_);
    }
    [[nodiscard]] bool is_directory(const os_directory& place, const file_status& directory) const {
        const os_answer<file_status> found = os_->status_of(place);
        return !found.failure && found.value.is_same_file(directory);
    }

    /// `blobs` of the cache that the folder is a snapshot in, as Hugging Face lays it out.
    [[nodiscard]] bool is_hub_of_folder(const file_status& directory) const {
        constexpr int most_levels = 8; // of folders in a snapshot
        native_path above = file_path("..").native();
        for (int level = 0; level != most_levels; ++level) {
            const found_directory snapshots = find(folder_, above, true);
            above = joined_path(above, file_path("..").native());
            const found_directory cache = find(folder_, above, true);
            if (snapshots.place() == nullptr || cache.place() == nullptr) {
                return false;
            }
            const found_directory of_name = find(cache, file_path("snapshots").native(), false);
            const os_answer<file_status> status = os_->status_of(*snapshots.place());
            if (of_name.place() == nullptr || status.failure || !is_directory(*of_name.place(), status.value)) {
                continue;
            }
            const found_directory blobs = find(cache, file_path("blobs").native(), false);
            return blobs.place() != nullptr && is_directory(*blobs.place(), directory);
        }
        return false;
    }
    [[nodiscard]] found_directory find(const found_directory& from, const native_path& path, bool follows) const {
        os_answer<os_directory> found = os_->find_directory(from.place(), path, follows);
        return found.failure ? found_directory() : found_directory(*os_, std::move(found.value));
    }

    os_reading* os_;
    found_directory folder_;
    native_path named_file_; ///< in the folder; "" if the caller named only that
    file_status opened_;     ///< as what it was opened
    bool follows_links_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
