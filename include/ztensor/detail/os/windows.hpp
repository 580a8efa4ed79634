// SPDX-License-Identifier: MIT
//
// Windows, with wide paths throughout: what reading asks. With posix.hpp the only place of OS headers.
//
// Weaker than POSIX in two ways: replacing a file that another program holds open may be refused, and there is no call
// that waits until a directory is on the disk (NTFS journals names by itself).
#ifndef ZTENSOR_DETAIL_OS_WINDOWS_HPP
#define ZTENSOR_DETAIL_OS_WINDOWS_HPP

// Before all others: file_path.hpp, which they include, ends with a definition that needs it. The two words keep it
// small and std::min usable; whoever includes us keeps their own choice of both.
#pragma push_macro("NOMINMAX")
#pragma push_macro("WIN32_LEAN_AND_MEAN")
#undef NOMINMAX
#undef WIN32_LEAN_AND_MEAN
#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#pragma pop_macro("WIN32_LEAN_AND_MEAN")
#pragma pop_macro("NOMINMAX")

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/os/calls.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The failures that the library tells apart are given in the portable category, all others as Windows numbers them.
[[nodiscard]] inline std::error_code windows_error(DWORD code) noexcept {
    switch (code) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
        return std::make_error_code(std::errc::no_such_file_or_directory);
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
        return std::make_error_code(std::errc::file_exists);
    case ERROR_LOCK_VIOLATION:
    case ERROR_SHARING_VIOLATION:
        return std::make_error_code(std::errc::device_or_resource_busy);
    default:
        return {static_cast<int>(code), std::system_category()};
    }
}

[[nodiscard]] inline std::error_code last_error() noexcept {
    return windows_error(::GetLastError());
}

/// The answer to what is asked of other systems alone.
[[nodiscard]] inline std::error_code not_supported() noexcept {
    return std::make_error_code(std::errc::operation_not_supported);
}

[[nodiscard]] inline std::error_code failed_if(bool failed) noexcept {
    return failed ? last_error() : std::error_code();
}

/// The path for error messages, in UTF-8. What is not Unicode becomes U+FFFD.
[[nodiscard]] inline std::string path_text(const native_path& path) {
    const int length = static_cast<int>(path.size());
    const int needed = ::WideCharToMultiByte(CP_UTF8, 0, path.data(), length, nullptr, 0, nullptr, nullptr);
    std::string text(static_cast<std::size_t>(needed > 0 ? needed : 0), '\0');
    ::WideCharToMultiByte(CP_UTF8, 0, path.data(), length, text.data(), needed, nullptr, nullptr);
    return text;
}

[[nodiscard]] inline bool is_absolute(const native_path& path) {
    return std::filesystem::path(path).is_absolute();
}

/// What stands behind the last separator; "" if the path ends with one.
[[nodiscard]] inline std::wstring_view file_name_of(std::wstring_view path) noexcept {
    return path.substr(path.find_last_of(L"/\\:") + 1); // npos + 1 is 0
}

/// The directory that `path`, which is absolute, lies in.
[[nodiscard]] inline native_path directory_of(const native_path& path) {
    return std::filesystem::path(path).parent_path().native();
}

[[nodiscard]] inline native_path joined_path(const native_path& directory, const native_path& name) {
    return (std::filesystem::path(directory) / name).native();
}

/// Paths this long, and longer ones, need a prefix; a directory's may have 12 characters fewer than a file's 260.
inline constexpr std::size_t long_path_size = 248;

/// What takes the place of the first `replaced` characters of an absolute path, so that it may have 32767 characters.
struct long_path_prefix {
    std::wstring_view text;
    std::size_t replaced;
};
[[nodiscard]] inline long_path_prefix prefix_of(std::wstring_view absolute) noexcept {
    const std::wstring_view start = absolute.substr(0, 4);
    if (start == L"\\\\?\\" || start == L"\\\\.\\") {
        return {L"", 0};
    }
    return start.substr(0, 2) == L"\\\\" ? long_path_prefix{L"\\\\?\\UNC\\", 2} : long_path_prefix{L"\\\\?\\", 0};
}

/// The path as the system is told it: what is too long for a path of its own becomes absolute, without "/", "." and
/// "..", which a prefixed one must not have.
[[nodiscard]] inline native_path system_path(const native_path& path) {
    const DWORD needed = ::GetFullPathNameW(path.c_str(), 0, nullptr, nullptr); // with the closing zero
    if (needed <= long_path_size) {
        return path;
    }
    native_path absolute(needed, L'\0');
    const DWORD size = ::GetFullPathNameW(path.c_str(), needed, absolute.data(), nullptr);
    if (size == 0 || size >= needed) {
        return path; // the current directory changed meanwhile
    }
    absolute.resize(size);
    const long_path_prefix prefix = prefix_of(absolute);
    return absolute.replace(0, prefix.replaced, prefix.text);
}

/// A number that hardly any other call gives, here or in another process.
[[nodiscard]] inline std::uint64_t clock_ticks() noexcept {
    LARGE_INTEGER ticks = {};
    ::QueryPerformanceCounter(&ticks);
    FILETIME now = {};
    ::GetSystemTimeAsFileTime(&now);
    const std::uint64_t time = (static_cast<std::uint64_t>(now.dwHighDateTime) << 32) | now.dwLowDateTime;
    return static_cast<std::uint64_t>(ticks.QuadPart) ^ (time << 20);
}

/// Seconds of a clock that is never set.
[[nodiscard]] inline double steady_seconds() noexcept {
    LARGE_INTEGER ticks = {};
    LARGE_INTEGER ticks_each_second = {};
    ::QueryPerformanceCounter(&ticks);
    ::QueryPerformanceFrequency(&ticks_each_second);
    return static_cast<double>(ticks.QuadPart) / static_cast<double>(ticks_each_second.QuadPart);
}

[[nodiscard]] inline std::uint64_t process_id() noexcept {
    return ::GetCurrentProcessId();
}

/// Since Windows 10 a name can be given to another file while the one that had it is open, but not on every file
/// system.
inline constexpr bool always_replaces_open_files = false;

[[nodiscard]] inline os_answer<os_handle> open_handle(const native_path& path, DWORD access, DWORD sharing,
                                                      DWORD creation) {
    const os_handle file =
        ::CreateFileW(system_path(path).c_str(), access, sharing, nullptr, creation, FILE_ATTRIBUTE_NORMAL, nullptr);
    return {file, failed_if(file == INVALID_HANDLE_VALUE)};
}

[[nodiscard]] inline std::int64_t nanoseconds_since_1970(const FILETIME& time) noexcept {
    constexpr std::int64_t nanoseconds_per_tick = 100;
    constexpr std::int64_t ticks_from_1601 = 116'444'736'000'000'000;
    const std::uint64_t ticks = (static_cast<std::uint64_t>(time.dwHighDateTime) << 32) | time.dwLowDateTime;
    return (static_cast<std::int64_t>(ticks) - ticks_from_1601) * nanoseconds_per_tick;
}

[[nodiscard]] inline file_status portable_status(DWORD attributes, DWORD size_high, DWORD size_low) noexcept {
    const bool is_regular = (attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE)) == 0;
    file_status status;
    status.kind = is_regular ? file_kind::regular : file_kind::other;
    status.size_bytes = (static_cast<std::uint64_t>(size_high) << 32) | size_low;
    return status;
}

/// Of an open file, who it is besides.
[[nodiscard]] inline file_status portable_status(const BY_HANDLE_FILE_INFORMATION& found) noexcept {
    file_status status = portable_status(found.dwFileAttributes, found.nFileSizeHigh, found.nFileSizeLow);
    status.device = found.dwVolumeSerialNumber;
    status.file_id = (static_cast<std::uint64_t>(found.nFileIndexHigh) << 32) | found.nFileIndexLow;
    status.links = found.nNumberOfLinks;
    status.modified_nanoseconds = nanoseconds_since_1970(found.ftLastWriteTime);
    return status;
}

/// Where an open file or directory is, once every link on the way to it is followed.
[[nodiscard]] inline os_answer<native_path> final_path(os_handle file) {
    std::wstring reached(32768, L'\0'); // the longest path there is
    const DWORD length = ::GetFinalPathNameByHandleW(file, reached.data(), static_cast<DWORD>(reached.size()), 0);
    const std::error_code unnamed = failed_if(length == 0 || length >= reached.size());
    reached.resize(unnamed ? 0 : length);
    return {native_path(reached), unnamed};
}

/// The real calls that read.
template <class Calls>
class system_reading : public Calls {
public:
    using Calls::status;

    // Reading and replacing go on side by side: the file may be renamed over while it is open or mapped here.
    os_answer<os_handle> open_existing(const native_path& path) override {
        return open_handle(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, OPEN_EXISTING);
    }

    os_answer<file_status> status(os_handle file) override {
        if (::GetFileType(file) != FILE_TYPE_DISK) {
            file_status no_file;
            no_file.kind = file_kind::other;
            return {no_file, {}};
        }
        BY_HANDLE_FILE_INFORMATION found = {};
        if (!::GetFileInformationByHandle(file, &found)) {
            return {{}, last_error()};
        }
        return {portable_status(found), {}};
    }

    os_answer<file_status> status(const native_path& path) override {
        WIN32_FILE_ATTRIBUTE_DATA found = {};
        if (::GetFileAttributesExW(system_path(path).c_str(), GetFileExInfoStandard, &found)) {
            return {portable_status(found.dwFileAttributes, found.nFileSizeHigh, found.nFileSizeLow), {}};
        }
        const std::error_code failure = last_error();
        return failure == std::errc::no_such_file_or_directory ? os_answer<file_status>{}
                                                               : os_answer<file_status>{{}, failure};
    }

    os_answer<std::size_t> read(os_handle file, std::uint64_t offset, span<std::byte> destination) override {
        if (offset > static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)())) {
            return {}; // after the end of any file
        }
        OVERLAPPED place = {};
        place.Offset = static_cast<DWORD>(offset);
        place.OffsetHigh = static_cast<DWORD>(offset >> 32);
        DWORD moved = 0;
        if (!::ReadFile(file, destination.data(), static_cast<DWORD>(destination.size()), &moved, &place)) {
            const DWORD code = ::GetLastError();
            return {0, code == ERROR_HANDLE_EOF ? std::error_code() : windows_error(code)};
        }
        return {moved, {}};
    }

    std::error_code close(os_handle file) override { return failed_if(!::CloseHandle(file)); }

    os_answer<bytes_view> map(os_handle file, std::size_t size_bytes) override {
        const os_handle section = ::CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
        if (section == nullptr) {
            return {{}, last_error()};
        }
        const void* const address = ::MapViewOfFile(section, FILE_MAP_READ, 0, 0, size_bytes);
        const std::error_code failure = failed_if(address == nullptr);
        ::CloseHandle(section); // the view keeps the section alive
        return {bytes_view(static_cast<const std::byte*>(address), size_bytes), failure};
    }

    void unmap(bytes_view mapped) noexcept override { ::UnmapViewOfFile(mapped.data()); }

    // Win32 has no names relative to a handle. A directory stands for the path that it is found to have, and what is
    // opened is looked at afterwards: it lies in that directory, or something on the way was a link.

    os_answer<os_directory> find_directory(const os_directory* from, const native_path& path,
                                           bool follows_links) override {
        const native_path asked = path.empty() ? native_path(L".") : path;
        // Of a path that is final, ".." can be taken away by its letters, and must be, since it begins with "\\?\".
        const native_path where =
            from != nullptr ? std::filesystem::path(joined_path(from->path, asked)).lexically_normal().native() : asked;
        const os_handle found = ::CreateFileW(system_path(where).c_str(), FILE_READ_ATTRIBUTES, share_with_all, nullptr,
                                              OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
        if (found == INVALID_HANDLE_VALUE) {
            return {{}, last_error()};
        }
        BY_HANDLE_FILE_INFORMATION what = {};
        os_answer<native_path> place = final_path(found);
        const bool is_known = ::GetFileInformationByHandle(found, &what) != 0;
        ::CloseHandle(found);
        if (!is_known || (what.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0) {
            return {{}, std::make_error_code(std::errc::not_a_directory)};
        }
        if (!place.failure && !follows_links && (from == nullptr || directory_of(place.value) != from->path)) {
            return {{}, std::make_error_code(std::errc::too_many_symbolic_link_levels)};
        }
        return {{no_handle, std::move(place.value)}, place.failure};
    }
    os_answer<file_status> status_of(const os_directory& directory) override {
        const os_handle found = ::CreateFileW(directory.path.c_str(), FILE_READ_ATTRIBUTES, share_with_all, nullptr,
                                              OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
        if (found == INVALID_HANDLE_VALUE) {
            return {{}, last_error()};
        }
        BY_HANDLE_FILE_INFORMATION what = {};
        const std::error_code unknown = failed_if(!::GetFileInformationByHandle(found, &what));
        ::CloseHandle(found);
        return {portable_status(what), unknown};
    }
    os_answer<os_handle> open_from(const os_directory& directory, const native_path& path,
                                   bool follows_links) override {
        const os_answer<os_handle> opened = open_existing(joined_path(directory.path, path));
        if (opened.failure || follows_links) {
            return opened;
        }
        const os_answer<native_path> place = final_path(opened.value);
        if (!place.failure && directory_of(place.value) == directory.path) {
            return opened;
        }
        ::CloseHandle(opened.value);
        return {no_handle, std::make_error_code(std::errc::too_many_symbolic_link_levels)};
    }
    native_path absolute(const native_path& path) override {
        std::error_code unknown;
        const std::filesystem::path found = std::filesystem::absolute(path, unknown);
        return unknown ? path : found.native();
    }
    /// All of the way, not only what the first link says.
    os_answer<native_path> link_target(const os_directory& directory, const native_path& name) override {
        const os_handle found =
            ::CreateFileW(system_path(joined_path(directory.path, name)).c_str(), FILE_READ_ATTRIBUTES, share_with_all,
                          nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
        if (found == INVALID_HANDLE_VALUE) {
            return {{}, last_error()};
        }
        os_answer<native_path> place = final_path(found);
        ::CloseHandle(found);
        if (!place.failure && directory_of(place.value) == directory.path) {
            return {{}, std::make_error_code(std::errc::invalid_argument)};
        }
        return place;
    }

private:
    static constexpr DWORD share_with_all = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

protected:
    ~system_reading() = default; // as that of os_reading
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
