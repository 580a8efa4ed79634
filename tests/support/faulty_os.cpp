// SPDX-License-Identifier: MIT
#include "support/faulty_os.hpp"

#include <ztensor/detail/os/system.hpp>

#include <algorithm>
#include <cstdlib>

namespace support {

namespace {

ztensor::detail::os_calls& real() {
    return ztensor::detail::operating_system();
}

} // namespace

std::size_t faulty_os::count(const std::string& name) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<std::size_t>(std::count(calls.begin(), calls.end(), name));
}

faulty_os::os_answer<faulty_os::os_handle> faulty_os::open_existing(const native_path& path) {
    return fails("open_existing") ? os_answer<os_handle>{{}, failure} : opened(real().open_existing(path));
}

faulty_os::os_answer<faulty_os::file_status> faulty_os::status(os_handle file) {
    return fails("status of handle") ? os_answer<file_status>{{}, failure} : real().status(file);
}

faulty_os::os_answer<faulty_os::file_status> faulty_os::status(const native_path& path) {
    return fails("status of path") ? os_answer<file_status>{{}, failure} : real().status(path);
}

faulty_os::os_answer<std::size_t> faulty_os::read(os_handle file, std::uint64_t offset, ztensor::span<std::byte> to) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        largest_transfer_asked = std::max<std::size_t>(largest_transfer_asked, to.size());
    }
    if (fails("read")) {
        return {0, failure};
    }
    const std::size_t moved = std::min<std::size_t>(to.size(), most_moved);
    return moved == 0 ? os_answer<std::size_t>{} : real().read(file, offset, to.first(moved));
}

std::error_code faulty_os::close(os_handle file) {
    const std::error_code closed = real().close(file);
    --open_handles;
    return fails("close") ? failure : closed;
}

faulty_os::os_answer<ztensor::bytes_view> faulty_os::map(os_handle file, std::size_t size_bytes) {
    if (fails("map")) {
        return {{}, failure};
    }
    const os_answer<bytes_view> answer = real().map(file, size_bytes);
    open_mappings += answer.failure ? 0 : 1;
    return answer;
}

void faulty_os::unmap(bytes_view mapped) noexcept {
    real().unmap(mapped);
    --open_mappings;
}

faulty_os::os_answer<faulty_os::os_directory> faulty_os::find_directory(const os_directory* from,
                                                                        const native_path& path, bool follows_links) {
    if (fails("find_directory")) {
        return {{}, failure};
    }
    os_answer<os_directory> found = real().find_directory(from, path, follows_links);
    open_handles += found.failure ? 0 : 1;
    return found;
}

void faulty_os::leave_directory(const os_directory& directory) noexcept {
    real().leave_directory(directory);
    --open_handles;
}

faulty_os::os_answer<faulty_os::file_status> faulty_os::status_of(const os_directory& directory) {
    return fails("status of directory") ? os_answer<file_status>{{}, failure} : real().status_of(directory);
}

faulty_os::os_answer<faulty_os::os_handle> faulty_os::open_from(const os_directory& directory, const native_path& path,
                                                                bool follows_links) {
    return fails("open_from") ? os_answer<os_handle>{{}, failure}
                              : opened(real().open_from(directory, path, follows_links));
}

faulty_os::os_answer<faulty_os::native_path> faulty_os::link_target(const os_directory& directory,
                                                                    const native_path& name) {
    return fails("link_target") ? os_answer<native_path>{{}, failure} : real().link_target(directory, name);
}

faulty_os::os_answer<std::size_t> faulty_os::write(os_handle file, bytes_view content) {
    largest_transfer_asked = std::max<std::size_t>(largest_transfer_asked, content.size());
    if (fails("write")) {
        return {0, failure};
    }
    if (room_bytes == 0) {
        return {0, std::make_error_code(std::errc::no_space_on_device)};
    }
    const std::size_t allowed = std::min<std::size_t>({content.size(), most_moved, room_bytes});
    const os_answer<std::size_t> answer =
        allowed == 0 ? os_answer<std::size_t>{} : real().write(file, content.first(allowed));
    room_bytes -= room_bytes == never ? 0 : answer.value;
    write_sizes.push_back(answer.value);
    return answer;
}

std::error_code faulty_os::set_permissions(os_handle file, std::uint32_t permissions) {
    return fails("set_permissions") ? failure : real().set_permissions(file, permissions);
}

std::error_code faulty_os::truncate(os_handle file, std::uint64_t size_bytes) {
    return fails("truncate") ? failure : real().truncate(file, size_bytes);
}

std::error_code faulty_os::reserve(os_handle file, std::uint64_t offset, std::uint64_t size_bytes) {
    return fails("reserve") ? failure : real().reserve(file, offset, size_bytes);
}

std::error_code faulty_os::begin_sync(os_handle file, std::uint64_t offset, std::uint64_t size_bytes) {
    return fails("begin_sync") ? failure : real().begin_sync(file, offset, size_bytes);
}

std::error_code faulty_os::set_direct(os_handle file, bool is_direct) {
    return fails("set_direct") ? failure : real().set_direct(file, is_direct);
}

faulty_os::os_answer<std::size_t> faulty_os::copy(os_handle from, std::uint64_t offset, os_handle to,
                                                  std::size_t size_bytes) {
    if (fails("copy")) {
        return {0, failure};
    }
    const std::size_t allowed = std::min<std::size_t>({size_bytes, most_moved, room_bytes});
    const os_answer<std::size_t> answer =
        allowed == 0 ? os_answer<std::size_t>{} : real().copy(from, offset, to, allowed);
    room_bytes -= room_bytes == never ? 0 : answer.value;
    bytes_copied += answer.value;
    return answer;
}

std::error_code faulty_os::sync(os_handle file) {
    return fails("sync") ? failure : syncs ? real().sync(file) : std::error_code();
}

faulty_os::os_answer<faulty_os::os_directory> faulty_os::open_directory(const native_path& path, bool will_sync) {
    if (fails("open_directory")) {
        return {{}, failure};
    }
    os_answer<os_directory> answer = real().open_directory(path, will_sync);
    open_handles += answer.failure ? 0 : 1;
    return answer;
}

faulty_os::os_answer<faulty_os::file_status> faulty_os::status_in(const os_directory& directory,
                                                                  const native_path& name) {
    return fails("status_in") ? os_answer<file_status>{{}, failure} : real().status_in(directory, name);
}

faulty_os::os_answer<std::vector<faulty_os::native_path>> faulty_os::list(const os_directory& directory) {
    return fails("list") ? os_answer<std::vector<native_path>>{{}, failure} : real().list(directory);
}

faulty_os::os_answer<faulty_os::os_handle> faulty_os::create_in(const os_directory& directory, const native_path& name,
                                                                std::uint32_t permissions) {
    return fails("create_in") ? os_answer<os_handle>{{}, failure}
                              : opened(real().create_in(directory, name, permissions));
}

faulty_os::os_answer<faulty_os::os_handle> faulty_os::create_unnamed_in(const os_directory& directory,
                                                                        std::uint32_t permissions) {
    return fails("create_unnamed_in") ? os_answer<os_handle>{{}, failure}
                                      : opened(real().create_unnamed_in(directory, permissions));
}

std::error_code faulty_os::link_in(os_handle file, const os_directory& directory, const native_path& name) {
    return fails("link_in") ? failure : real().link_in(file, directory, name);
}

faulty_os::os_answer<faulty_os::os_handle> faulty_os::open_in(const os_directory& directory, const native_path& name,
                                                              bool writes) {
    return fails("open_in") ? os_answer<os_handle>{{}, failure} : opened(real().open_in(directory, name, writes));
}

std::error_code faulty_os::lock(os_handle file) {
    return fails("lock") ? failure : real().lock(file);
}

void faulty_os::unlock(os_handle file) noexcept {
    real().unlock(file); // which can't fail
}

faulty_os::os_answer<faulty_os::os_handle> faulty_os::duplicate(os_handle file) {
    return fails("duplicate") ? os_answer<os_handle>{{}, failure} : opened(real().duplicate(file));
}

std::error_code faulty_os::seek(os_handle file, std::uint64_t offset) {
    return fails("seek") ? failure : real().seek(file, offset);
}

std::error_code faulty_os::set_owner(os_handle file, std::uint32_t owner, std::uint32_t group) {
    return fails("set_owner") ? failure : real().set_owner(file, owner, group);
}

faulty_os::os_answer<std::string> faulty_os::access_list_in(const os_directory& directory, const native_path& name) {
    return fails("access_list_in") ? os_answer<std::string>{{}, failure} : real().access_list_in(directory, name);
}

std::error_code faulty_os::set_access_list(os_handle file, const std::string& list) {
    return fails("set_access_list") ? failure : real().set_access_list(file, list);
}

std::error_code faulty_os::rename_in(const os_directory& directory, const native_path& from, const native_path& to) {
    return fails("rename_in") ? failure : real().rename_in(directory, from, to);
}

std::error_code faulty_os::remove_in(const os_directory& directory, const native_path& name) {
    return fails("remove_in") ? failure : real().remove_in(directory, name);
}

std::error_code faulty_os::sync_directory(const os_directory& directory) {
    return fails("sync_directory") ? failure : syncs ? real().sync_directory(directory) : std::error_code();
}

faulty_os::os_answer<faulty_os::native_path> faulty_os::resolve_links(const native_path& path) {
    return fails("resolve_links") ? os_answer<native_path>{{}, failure} : real().resolve_links(path);
}

bool faulty_os::fails(const char* name) {
    if (before_each) {
        before_each(name);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::size_t call = calls.size();
    calls.emplace_back(name);
    if (name == failing_name && failed_by_name_ < failing_times) {
        ++failed_by_name_;
        return true;
    }
    const bool failing = call >= first_failing_call && call - first_failing_call < failing_calls;
    if (failing && dies) {
        std::_Exit(42);
    }
    return failing;
}

faulty_os::os_answer<faulty_os::os_handle> faulty_os::opened(const os_answer<os_handle>& answer) {
    open_handles += answer.failure ? 0 : 1;
    return answer;
}

} // namespace support
