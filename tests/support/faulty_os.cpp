// SPDX-License-Identifier: MIT
#include "support/faulty_os.hpp"

#include <ztensor/detail/os/system.hpp>

#include <algorithm>

namespace support {

namespace {

ztensor::detail::os_calls& real() {
    return ztensor::detail::operating_system();
}

} // namespace

std::size_t faulty_os::count(const std::string& name) const {
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
    largest_transfer_asked = std::max<std::size_t>(largest_transfer_asked, to.size());
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

faulty_os::os_answer<faulty_os::os_handle> faulty_os::create_new(const native_path& path, std::uint32_t permissions) {
    return fails("create_new") ? os_answer<os_handle>{{}, failure} : opened(real().create_new(path, permissions));
}

faulty_os::os_answer<faulty_os::os_handle> faulty_os::open_for_overwriting(const native_path& path) {
    return fails("open_for_overwriting") ? os_answer<os_handle>{{}, failure}
                                         : opened(real().open_for_overwriting(path));
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
    return fails("sync") ? failure : real().sync(file);
}

std::error_code faulty_os::rename(const native_path& from, const native_path& to) {
    return fails("rename") ? failure : real().rename(from, to);
}

std::error_code faulty_os::remove(const native_path& path) {
    return fails("remove") ? failure : real().remove(path);
}

std::error_code faulty_os::sync_directory(const native_path& directory) {
    return fails("sync_directory") ? failure : real().sync_directory(directory);
}

faulty_os::os_answer<faulty_os::native_path> faulty_os::resolve_links(const native_path& path) {
    return fails("resolve_links") ? os_answer<native_path>{{}, failure} : real().resolve_links(path);
}

faulty_os::os_answer<faulty_os::native_path> faulty_os::absolute(const native_path& path) {
    return fails("absolute") ? os_answer<native_path>{{}, failure} : real().absolute(path);
}

bool faulty_os::fails(const char* name) {
    const std::size_t call = calls.size();
    calls.emplace_back(name);
    if (name == failing_name && failed_by_name_ < failing_times) {
        ++failed_by_name_;
        return true;
    }
    return call >= first_failing_call && call - first_failing_call < failing_calls;
}

faulty_os::os_answer<faulty_os::os_handle> faulty_os::opened(const os_answer<os_handle>& answer) {
    open_handles += answer.failure ? 0 : 1;
    return answer;
}

} // namespace support
