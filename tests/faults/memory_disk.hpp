// SPDX-License-Identifier: MIT
//
// An operating system with one directory on a disk in memory. It keeps a journal of all that changes the disk, from
// which power_cuts.hpp makes the states that a power cut may leave; any one call can be made to fail, and the library's
// care can be sabotaged.
#ifndef ZTENSOR_TESTS_FAULTS_MEMORY_DISK_HPP
#define ZTENSOR_TESTS_FAULTS_MEMORY_DISK_HPP

#include <ztensor/detail/os/calls.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <system_error>
#include <vector>

namespace faults {

using ztensor::detail::native_path;

/// What lies on the disk: files by number, of which some have a name.
struct disk_image {
    std::vector<std::string> files;
    std::map<native_path, std::size_t> names;

    /// The content of the file of that name; null if there is none.
    [[nodiscard]] const std::string* find(const native_path& name) const;
    void put(const native_path& name, std::string content);
};

enum class change : std::uint8_t { written, resized, file_synced, sync_lost, named, unnamed, renamed, names_synced };

/// One entry of the journal.
struct operation {
    change what = change::written;
    std::size_t file = 0;     ///< its number
    std::uint64_t offset = 0; ///< of bytes written, or the new size
    std::string bytes;
    native_path name;     ///< the new one of a renamed file
    native_path old_name; ///< of a renamed file
};

/// What a careless library would do.
enum class sabotage : std::uint8_t {
    none,
    no_file_sync,
    no_directory_sync,
    rename_first,      ///< and sync then
    truncate_in_place, ///< instead of writing beside
    retry_failed_sync, ///< the first one fails; the second one says nothing of what was lost
    no_record,         ///< of what a file was before it is extended in place
};

class memory_disk final : public ztensor::detail::os_calls {
    template <class T>
    using os_answer = ztensor::detail::os_answer<T>;
    using os_handle = ztensor::detail::os_handle;
    using file_status = ztensor::detail::file_status;
    using os_directory = ztensor::detail::os_directory;
    using bytes_view = ztensor::bytes_view;

public:
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

    explicit memory_disk(disk_image initial) : disk_(std::move(initial)) {}
    ~memory_disk() = default;

    // How it behaves.
    std::size_t first_failing_call = never; ///< counted from 0 over all calls but close and leave_directory
    std::size_t failing_calls = 1;          ///< how many fail from there on
    std::size_t most_moved = never;         ///< no write moves more bytes
    bool has_unnamed_files = true;
    std::uint64_t first_file_id = 1; ///< of a folder that was copied, files have other inodes
    faults::sabotage sabotage = sabotage::none;

    [[nodiscard]] const disk_image& image() const noexcept { return disk_; }
    [[nodiscard]] const std::vector<operation>& journal() const noexcept { return journal_; }
    [[nodiscard]] std::size_t call_count() const noexcept { return calls_; }
    [[nodiscard]] int open_handles() const noexcept { return open_; }

    os_answer<os_handle> open_existing(const native_path& path) override;
    os_answer<file_status> status(os_handle file) override;
    os_answer<file_status> status(const native_path& path) override;
    os_answer<std::size_t> read(os_handle file, std::uint64_t offset, ztensor::span<std::byte> to) override;
    std::error_code close(os_handle file) override;
    os_answer<bytes_view> map(os_handle file, std::size_t size_bytes) override;
    void unmap(bytes_view mapped) noexcept override;
    os_answer<os_directory> open_directory(const native_path& path, bool will_sync) override;
    void leave_directory(const os_directory& directory) noexcept override;
    os_answer<file_status> status_in(const os_directory& directory, const native_path& name) override;
    os_answer<std::vector<native_path>> list(const os_directory& directory) override;
    os_answer<os_handle> create_in(const os_directory& directory, const native_path& name,
                                   std::uint32_t permissions) override;
    os_answer<os_handle> create_unnamed_in(const os_directory& directory, std::uint32_t permissions) override;
    std::error_code link_in(os_handle file, const os_directory& directory, const native_path& name) override;
    os_answer<os_handle> open_in(const os_directory& directory, const native_path& name, bool writes) override;
    std::error_code lock(os_handle file) override;
    os_answer<os_handle> duplicate(os_handle file) override;
    std::error_code seek(os_handle file, std::uint64_t offset) override;
    os_answer<std::size_t> write(os_handle file, bytes_view content) override;
    std::error_code set_permissions(os_handle file, std::uint32_t permissions) override;
    std::error_code set_owner(os_handle file, std::uint32_t owner, std::uint32_t group) override;
    os_answer<std::string> access_list_in(const os_directory& directory, const native_path& name) override;
    std::error_code set_access_list(os_handle file, const std::string& list) override;
    std::error_code truncate(os_handle file, std::uint64_t size_bytes) override;
    std::error_code reserve(os_handle file, std::uint64_t offset, std::uint64_t size_bytes) override;
    std::error_code begin_sync(os_handle file, std::uint64_t offset, std::uint64_t size_bytes) override;
    std::error_code set_direct(os_handle file, bool is_direct) override;
    os_answer<std::size_t> copy(os_handle from, std::uint64_t offset, os_handle to, std::size_t size_bytes) override;
    std::error_code sync(os_handle file) override;
    std::error_code rename_in(const os_directory& directory, const native_path& from, const native_path& to) override;
    std::error_code remove_in(const os_directory& directory, const native_path& name) override;
    std::error_code sync_directory(const os_directory& directory) override;
    os_answer<native_path> resolve_links(const native_path& path) override;

private:
    /// What handles that were duplicated share.
    struct open_file {
        std::size_t file = 0;
        std::uint64_t position = 0;
        int handles = 0;
        bool has_lock = false;
    };

    bool fails();
    [[nodiscard]] open_file& opened(os_handle handle);
    os_answer<os_handle> open(std::size_t file);
    os_answer<os_handle> handle_of(std::size_t opened);
    [[nodiscard]] file_status state_of(std::size_t file) const;
    [[nodiscard]] file_status state_of(const native_path& name) const;
    void keep(change what, std::size_t file, std::uint64_t offset = 0, std::string bytes = {}, native_path name = {},
              native_path old_name = {});

    disk_image disk_;
    std::vector<operation> journal_;
    std::vector<open_file> opened_;
    std::vector<std::size_t> handles_; ///< places in opened_, at one less than the handle
    std::size_t calls_ = 0;
    int open_ = 0;
    std::size_t unsynced_ = never; ///< a file that is synced once it is renamed
    bool has_failed_sync_ = false;
};

} // namespace faults

#endif
