// SPDX-License-Identifier: MIT
//
// The real operating system with faults on demand: any call can be made to fail, transfers to be cut short. Keeps a
// list of the calls and counts what is open and mapped.
#ifndef ZTENSOR_TESTS_SUPPORT_FAULTY_OS_HPP
#define ZTENSOR_TESTS_SUPPORT_FAULTY_OS_HPP

#include <ztensor/detail/os_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

namespace support {

class faulty_os final : public ztensor::detail::os_calls {
    template <class T>
    using os_answer = ztensor::detail::os_answer<T>;
    using os_handle = ztensor::detail::os_handle;
    using file_status = ztensor::detail::file_status;
    using bytes_view = ztensor::bytes_view;
    using path = std::filesystem::path;
    using perms = std::filesystem::perms;

public:
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

    // What goes wrong. A call that fails has no effect, except that close() closes all the same.
    std::size_t first_failing_call = never; ///< counted from 0 over all calls
    std::size_t failing_calls = 1;          ///< how many fail from there on
    std::string failing_name;               ///< besides, every call of that name fails …
    std::size_t failing_times = never;      ///< … but no more often than this
    std::error_code failure = std::make_error_code(std::errc::io_error);
    std::size_t most_moved = never; ///< no read or write moves more bytes; 0 makes them stand still
    std::size_t room_bytes = never; ///< the disk is full after that many

    // What was seen.
    std::vector<std::string> calls;
    int open_handles = 0;
    int open_mappings = 0;
    std::size_t largest_transfer_asked = 0;
    std::vector<std::size_t> write_sizes; ///< as moved

    [[nodiscard]] std::size_t count(const std::string& name) const {
        return static_cast<std::size_t>(std::count(calls.begin(), calls.end(), name));
    }

    os_answer<os_handle> open_existing(const path& p) override {
        return fails("open_existing") ? os_answer<os_handle>{{}, failure} : opened(real.open_existing(p));
    }
    os_answer<os_handle> create_new(const path& p, perms permissions) override {
        return fails("create_new") ? os_answer<os_handle>{{}, failure} : opened(real.create_new(p, permissions));
    }
    os_answer<os_handle> open_for_overwriting(const path& p) override {
        return fails("open_for_overwriting") ? os_answer<os_handle>{{}, failure} : opened(real.open_for_overwriting(p));
    }
    os_answer<file_status> status(os_handle file) override {
        return fails("status of handle") ? os_answer<file_status>{{}, failure} : real.status(file);
    }
    os_answer<file_status> status(const path& p) override {
        return fails("status of path") ? os_answer<file_status>{{}, failure} : real.status(p);
    }
    os_answer<std::size_t> read(os_handle file, std::uint64_t offset, ztensor::span<std::byte> to) override {
        largest_transfer_asked = std::max<std::size_t>(largest_transfer_asked, to.size());
        if (fails("read")) {
            return {0, failure};
        }
        const std::size_t moved = std::min<std::size_t>(to.size(), most_moved);
        return moved == 0 ? os_answer<std::size_t>{} : real.read(file, offset, to.first(moved));
    }
    os_answer<std::size_t> write(os_handle file, bytes_view bytes) override {
        largest_transfer_asked = std::max<std::size_t>(largest_transfer_asked, bytes.size());
        if (fails("write")) {
            return {0, failure};
        }
        if (room_bytes == 0) {
            return {0, std::make_error_code(std::errc::no_space_on_device)};
        }
        const std::size_t allowed = std::min<std::size_t>({bytes.size(), most_moved, room_bytes});
        const os_answer<std::size_t> answer =
            allowed == 0 ? os_answer<std::size_t>{} : real.write(file, bytes.first(allowed));
        room_bytes -= room_bytes == never ? 0 : answer.value;
        write_sizes.push_back(answer.value);
        return answer;
    }
    std::error_code set_permissions(os_handle file, perms permissions) override {
        return fails("set_permissions") ? failure : real.set_permissions(file, permissions);
    }
    std::error_code truncate(os_handle file) override { return fails("truncate") ? failure : real.truncate(file); }
    std::error_code sync(os_handle file) override { return fails("sync") ? failure : real.sync(file); }
    std::error_code close(os_handle file) override {
        const std::error_code closed = real.close(file);
        --open_handles;
        return fails("close") ? failure : closed;
    }
    os_answer<bytes_view> map(os_handle file, std::size_t size_bytes) override {
        if (fails("map")) {
            return {{}, failure};
        }
        const os_answer<bytes_view> answer = real.map(file, size_bytes);
        open_mappings += answer.failure ? 0 : 1;
        return answer;
    }
    void unmap(bytes_view mapped) noexcept override {
        real.unmap(mapped);
        --open_mappings;
    }
    std::error_code rename(const path& from, const path& to) override {
        return fails("rename") ? failure : real.rename(from, to);
    }
    std::error_code remove(const path& p) override { return fails("remove") ? failure : real.remove(p); }
    std::error_code sync_directory(const path& directory) override {
        return fails("sync_directory") ? failure : real.sync_directory(directory);
    }
    os_answer<path> resolve_links(const path& p) override {
        return fails("resolve_links") ? os_answer<path>{{}, failure} : real.resolve_links(p);
    }

private:
    bool fails(const char* name) {
        const std::size_t call = calls.size();
        calls.emplace_back(name);
        if (name == failing_name && failed_by_name_ < failing_times) {
            ++failed_by_name_;
            return true;
        }
        return call >= first_failing_call && call - first_failing_call < failing_calls;
    }

    os_answer<os_handle> opened(const os_answer<os_handle>& answer) {
        open_handles += answer.failure ? 0 : 1;
        return answer;
    }

    ztensor::detail::os_calls& real = ztensor::detail::operating_system();
    std::size_t failed_by_name_ = 0;
};

} // namespace support

#endif
