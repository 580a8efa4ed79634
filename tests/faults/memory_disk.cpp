// SPDX-License-Identifier: MIT
#include "faults/memory_disk.hpp"

#include "faults/power_cuts.hpp"

#include <ztensor/detail/write/undo_record.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace faults {

namespace {

using ztensor::detail::file_kind;
using ztensor::detail::os_handle;

std::error_code code(std::errc failure) {
    return std::make_error_code(failure);
}

const std::error_code broken = code(std::errc::io_error);

os_handle handle_from(std::size_t number) {
#if defined(_WIN32)
    return reinterpret_cast<os_handle>(number);
#else
    return static_cast<os_handle>(number);
#endif
}

std::size_t number_from(os_handle handle) {
#if defined(_WIN32)
    return reinterpret_cast<std::size_t>(handle);
#else
    return static_cast<std::size_t>(handle);
#endif
}

const os_handle directory_handle = handle_from(1'000'000);

bool is_temporary(const native_path& name) {
    return name.size() > 4 && name[name.size() - 4] == '.' && name[name.size() - 3] == 't';
}

bool is_record(const std::string& bytes) {
    return bytes.rfind(ztensor::detail::undo_magic, 0) == 0;
}

} // namespace

const std::string* disk_image::find(const native_path& name) const {
    const auto found = names.find(name);
    return found == names.end() ? nullptr : &files[found->second];
}

void disk_image::put(const native_path& name, std::string content) {
    names[name] = files.size();
    files.push_back(std::move(content));
}

bool memory_disk::fails() {
    const std::size_t call = calls_++;
    return call >= first_failing_call && call - first_failing_call < failing_calls;
}

memory_disk::open_file& memory_disk::opened(os_handle handle) {
    return opened_[handles_[number_from(handle) - 1]];
}

memory_disk::os_answer<os_handle> memory_disk::handle_of(std::size_t opened) {
    ++opened_[opened].handles;
    ++open_;
    handles_.push_back(opened);
    return {handle_from(handles_.size()), {}};
}

memory_disk::os_answer<os_handle> memory_disk::open(std::size_t file) {
    open_file fresh;
    fresh.file = file;
    opened_.push_back(fresh);
    return handle_of(opened_.size() - 1);
}

memory_disk::file_status memory_disk::state_of(std::size_t file) const {
    file_status found;
    found.kind = file_kind::regular;
    found.size_bytes = disk_.files[file].size();
    found.permissions = 0600;
    found.device = 1;
    found.file_id = first_file_id + file;
    found.links = static_cast<std::uint64_t>(
        std::count_if(disk_.names.begin(), disk_.names.end(), [&](const auto& each) { return each.second == file; }));
    return found;
}

memory_disk::file_status memory_disk::state_of(const native_path& name) const {
    const auto found = disk_.names.find(name);
    return found == disk_.names.end() ? file_status() : state_of(found->second);
}

void memory_disk::keep(change what, std::size_t file, std::uint64_t offset, std::string bytes, native_path name,
                       native_path old_name) {
    journal_.push_back({what, file, offset, std::move(bytes), std::move(name), std::move(old_name)});
    apply(journal_.back(), disk_);
}

memory_disk::os_answer<os_handle> memory_disk::open_existing(const native_path& path) {
    return open_in({}, path, false);
}

memory_disk::os_answer<memory_disk::file_status> memory_disk::status(os_handle file) {
    return fails() ? os_answer<file_status>{{}, broken} : os_answer<file_status>{state_of(opened(file).file), {}};
}

memory_disk::os_answer<memory_disk::file_status> memory_disk::status(const native_path& path) {
    return fails() ? os_answer<file_status>{{}, broken} : os_answer<file_status>{state_of(path), {}};
}

memory_disk::os_answer<std::size_t> memory_disk::read(os_handle file, std::uint64_t offset,
                                                      ztensor::span<std::byte> to) {
    if (fails()) {
        return {0, broken};
    }
    const std::string& content = disk_.files[opened(file).file];
    if (offset >= content.size()) {
        return {};
    }
    const std::size_t moved = std::min<std::size_t>(to.size(), content.size() - static_cast<std::size_t>(offset));
    std::memcpy(to.data(), content.data() + offset, moved);
    return {moved, {}};
}

std::error_code memory_disk::close(os_handle file) {
    open_file& closed = opened(file);
    --open_;
    if (--closed.handles == 0) {
        closed.has_lock = false;
    }
    return {};
}

memory_disk::os_answer<ztensor::bytes_view> memory_disk::map(os_handle, std::size_t) {
    return {{}, code(std::errc::operation_not_supported)};
}

void memory_disk::unmap(bytes_view) noexcept {
}

memory_disk::os_answer<memory_disk::os_directory> memory_disk::open_directory(const native_path& path, bool) {
    if (fails()) {
        return {{}, broken};
    }
    ++open_;
    return {{directory_handle, path}, {}};
}

void memory_disk::leave_directory(const os_directory&) noexcept {
    --open_;
}

memory_disk::os_answer<memory_disk::file_status> memory_disk::status_in(const os_directory&, const native_path& name) {
    return status(name);
}

memory_disk::os_answer<std::vector<native_path>> memory_disk::list(const os_directory&) {
    os_answer<std::vector<native_path>> names;
    if (fails()) {
        return {{}, broken};
    }
    for (const auto& each : disk_.names) {
        names.value.push_back(each.first);
    }
    return names;
}

memory_disk::os_answer<os_handle> memory_disk::create_in(const os_directory&, const native_path& name, std::uint32_t) {
    if (fails()) {
        return {{}, broken};
    }
    if (disk_.names.count(name) != 0) {
        return {{}, code(std::errc::file_exists)};
    }
    if (sabotage == sabotage::truncate_in_place && is_temporary(name) && !disk_.names.empty()) {
        const std::size_t target = disk_.names.begin()->second;
        keep(change::resized, target, 0);
        return open(target);
    }
    const std::size_t file = disk_.files.size();
    keep(change::named, file, 0, {}, name);
    return open(file);
}

memory_disk::os_answer<os_handle> memory_disk::create_unnamed_in(const os_directory&, std::uint32_t) {
    if (fails()) {
        return {{}, broken};
    }
    if (!has_unnamed_files || sabotage == sabotage::truncate_in_place) {
        return {{}, code(std::errc::operation_not_supported)};
    }
    disk_.files.emplace_back();
    return open(disk_.files.size() - 1);
}

std::error_code memory_disk::link_in(os_handle file, const os_directory&, const native_path& name) {
    if (fails()) {
        return broken;
    }
    if (disk_.names.count(name) != 0) {
        return code(std::errc::file_exists);
    }
    keep(change::named, opened(file).file, 0, {}, name);
    return {};
}

memory_disk::os_answer<os_handle> memory_disk::open_in(const os_directory&, const native_path& name, bool) {
    if (fails()) {
        return {{}, broken};
    }
    const auto found = disk_.names.find(name);
    return found == disk_.names.end() ? os_answer<os_handle>{{}, code(std::errc::no_such_file_or_directory)}
                                      : open(found->second);
}

std::error_code memory_disk::lock(os_handle file) {
    if (fails()) {
        return broken;
    }
    open_file& mine = opened(file);
    for (const open_file& other : opened_) {
        if (&other != &mine && other.has_lock && other.file == mine.file) {
            return code(std::errc::device_or_resource_busy);
        }
    }
    mine.has_lock = true;
    return {};
}

memory_disk::os_answer<os_handle> memory_disk::duplicate(os_handle file) {
    return fails() ? os_answer<os_handle>{{}, broken} : handle_of(handles_[number_from(file) - 1]);
}

std::error_code memory_disk::seek(os_handle file, std::uint64_t offset) {
    if (fails()) {
        return broken;
    }
    opened(file).position = offset;
    return {};
}

memory_disk::os_answer<std::size_t> memory_disk::write(os_handle file, bytes_view content) {
    if (fails()) {
        return {0, broken};
    }
    open_file& to = opened(file);
    const std::size_t moved = std::min<std::size_t>(content.size(), most_moved);
    std::string bytes(moved, '\0');
    std::memcpy(bytes.data(), content.data(), moved);
    if (sabotage == sabotage::no_record && is_record(bytes)) {
        return {moved, {}};
    }
    keep(change::written, to.file, to.position, std::move(bytes));
    to.position += moved;
    return {moved, {}};
}

std::error_code memory_disk::set_permissions(os_handle, std::uint32_t) {
    return fails() ? broken : std::error_code();
}

std::error_code memory_disk::set_owner(os_handle, std::uint32_t, std::uint32_t) {
    return fails() ? broken : std::error_code();
}

memory_disk::os_answer<std::string> memory_disk::access_list_in(const os_directory&, const native_path&) {
    return {{}, fails() ? broken : std::error_code()};
}

std::error_code memory_disk::set_access_list(os_handle, const std::string&) {
    return fails() ? broken : std::error_code();
}

std::error_code memory_disk::truncate(os_handle file, std::uint64_t size_bytes) {
    if (fails()) {
        return broken;
    }
    keep(change::resized, opened(file).file, size_bytes);
    return {};
}

std::error_code memory_disk::reserve(os_handle, std::uint64_t, std::uint64_t) {
    return fails() ? broken : std::error_code();
}

std::error_code memory_disk::begin_sync(os_handle, std::uint64_t, std::uint64_t) {
    return fails() ? broken : std::error_code();
}

std::error_code memory_disk::set_direct(os_handle, bool) {
    return code(std::errc::operation_not_supported);
}

memory_disk::os_answer<std::size_t> memory_disk::copy(os_handle from, std::uint64_t offset, os_handle to,
                                                      std::size_t size_bytes) {
    std::vector<std::byte> bytes(std::min(size_bytes, most_moved));
    const os_answer<std::size_t> got = read(from, offset, bytes);
    return got.failure ? got : write(to, bytes_view(bytes).first(got.value));
}

std::error_code memory_disk::sync(os_handle file) {
    if (sabotage == sabotage::no_file_sync) {
        return {};
    }
    const std::size_t number = opened(file).file;
    if (sabotage == sabotage::rename_first) {
        unsynced_ = number;
        return {};
    }
    const bool failed = fails();
    const bool loses = sabotage == sabotage::retry_failed_sync && !has_failed_sync_;
    if (failed || loses) { // nobody knows what is on the disk, and no later call will say so
        has_failed_sync_ = true;
        keep(change::sync_lost, number);
    }
    if (failed) {
        return broken;
    }
    keep(change::file_synced, number);
    return {};
}

std::error_code memory_disk::rename_in(const os_directory&, const native_path& from, const native_path& to) {
    if (fails()) {
        return broken;
    }
    const auto found = disk_.names.find(from);
    if (found == disk_.names.end()) {
        return sabotage == sabotage::truncate_in_place ? std::error_code() : code(std::errc::no_such_file_or_directory);
    }
    keep(change::renamed, found->second, 0, {}, to, from);
    if (unsynced_ != never) {
        keep(change::file_synced, unsynced_);
    }
    return {};
}

std::error_code memory_disk::remove_in(const os_directory&, const native_path& name) {
    if (fails()) {
        return broken;
    }
    const auto found = disk_.names.find(name);
    if (found == disk_.names.end()) {
        return code(std::errc::no_such_file_or_directory);
    }
    keep(change::unnamed, found->second, 0, {}, name);
    return {};
}

std::error_code memory_disk::sync_directory(const os_directory&) {
    if (fails()) {
        return broken;
    }
    if (sabotage != sabotage::no_directory_sync) {
        keep(change::names_synced, 0);
    }
    return {};
}

memory_disk::os_answer<native_path> memory_disk::resolve_links(const native_path& path) {
    return {path, fails() ? broken : std::error_code()};
}

} // namespace faults
