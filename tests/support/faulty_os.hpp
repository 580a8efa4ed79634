// SPDX-License-Identifier: MIT
//
// The real operating system with faults on demand: any call can be made to fail, transfers to be cut short. Keeps a
// list of the calls and counts what is open and mapped.
#ifndef ZTENSOR_TESTS_SUPPORT_FAULTY_OS_HPP
#define ZTENSOR_TESTS_SUPPORT_FAULTY_OS_HPP

#include <ztensor/detail/os/calls.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

namespace support {

class faulty_os : public ztensor::detail::os_calls {
    template <class T>
    using os_answer = ztensor::detail::os_answer<T>;
    using os_handle = ztensor::detail::os_handle;
    using file_status = ztensor::detail::file_status;
    using os_directory = ztensor::detail::os_directory;
    using native_path = ztensor::detail::native_path;
    using bytes_view = ztensor::bytes_view;

public:
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

    // What goes wrong. A call that fails has no effect, except that close() closes all the same.
    std::size_t first_failing_call = never; ///< counted from 0 over all calls
    std::size_t failing_calls = 1;          ///< how many fail from there on
    std::string failing_name;               ///< besides, every call of that name fails …
    std::size_t failing_times = never;      ///< … but no more often than this
    bool dies = false;                      ///< instead of failing, the process ends there, with exit code 42
    std::error_code failure = std::make_error_code(std::errc::io_error);
    std::size_t most_moved = never; ///< no read or write moves more bytes; 0 makes them stand still
    std::size_t room_bytes = never; ///< the disk is full after that many

    std::function<void(const std::string& name)> before_each; ///< called before each call, where it is set

    bool syncs = true; ///< else nothing waits for the disk, which thousands of runs do not need

    // What was seen.
    std::vector<std::string> calls;
    int open_handles = 0;
    int open_mappings = 0;
    std::size_t largest_transfer_asked = 0;
    std::vector<std::size_t> write_sizes; ///< as moved
    std::size_t bytes_copied = 0;         ///< from file to file, by the system

    [[nodiscard]] std::size_t count(const std::string& name) const;

    os_answer<os_handle> open_existing(const native_path& path) override;
    os_answer<file_status> status(os_handle file) override;
    os_answer<file_status> status(const native_path& path) override;
    os_answer<std::size_t> read(os_handle file, std::uint64_t offset, ztensor::span<std::byte> to) override;
    std::error_code close(os_handle file) override;
    os_answer<bytes_view> map(os_handle file, std::size_t size_bytes) override;
    void unmap(bytes_view mapped) noexcept override;
    os_answer<os_directory> find_directory(const os_directory* from, const native_path& path,
                                           bool follows_links) override;
    void leave_directory(const os_directory& directory) noexcept override;
    os_answer<file_status> status_of(const os_directory& directory) override;
    os_answer<os_handle> open_from(const os_directory& directory, const native_path& path, bool follows_links) override;
    os_answer<native_path> link_target(const os_directory& directory, const native_path& name) override;
    os_answer<std::size_t> write(os_handle file, bytes_view content) override;
    std::error_code set_permissions(os_handle file, std::uint32_t permissions) override;
    std::error_code truncate(os_handle file, std::uint64_t size_bytes) override;
    std::error_code reserve(os_handle file, std::uint64_t offset, std::uint64_t size_bytes) override;
    std::error_code begin_sync(os_handle file, std::uint64_t offset, std::uint64_t size_bytes) override;
    std::error_code set_direct(os_handle file, bool is_direct) override;
    os_answer<std::size_t> copy(os_handle from, std::uint64_t offset, os_handle to, std::size_t size_bytes) override;
    std::error_code sync(os_handle file) override;
    os_answer<os_directory> open_directory(const native_path& path, bool will_sync) override;
    os_answer<file_status> status_in(const os_directory& directory, const native_path& name) override;
    os_answer<std::vector<native_path>> list(const os_directory& directory) override;
    os_answer<os_handle> create_in(const os_directory& directory, const native_path& name,
                                   std::uint32_t permissions) override;
    os_answer<os_handle> create_unnamed_in(const os_directory& directory, std::uint32_t permissions) override;
    std::error_code link_in(os_handle file, const os_directory& directory, const native_path& name) override;
    os_answer<os_handle> open_in(const os_directory& directory, const native_path& name, bool writes) override;
    std::error_code lock(os_handle file) override;
    void unlock(os_handle file) noexcept override;
    os_answer<os_handle> duplicate(os_handle file) override;
    std::error_code seek(os_handle file, std::uint64_t offset) override;
    std::error_code set_owner(os_handle file, std::uint32_t owner, std::uint32_t group) override;
    os_answer<std::string> access_list_in(const os_directory& directory, const native_path& name) override;
    std::error_code set_access_list(os_handle file, const std::string& list) override;
    std::error_code rename_in(const os_directory& directory, const native_path& from, const native_path& to) override;
    std::error_code remove_in(const os_directory& directory, const native_path& name) override;
    std::error_code sync_directory(const os_directory& directory) override;
    os_answer<native_path> resolve_links(const native_path& path) override;

private:
    bool fails(const char* name);
    os_answer<os_handle> opened(const os_answer<os_handle>& answer);

    std::size_t failed_by_name_ = 0;
    mutable std::mutex mutex_; ///< of what is seen while several threads read
};

} // namespace support

#endif
