// SPDX-License-Identifier: MIT
//
// Windows, with wide paths throughout: what reading asks, threads, and what writing asks besides. With posix.hpp the
// only place of OS headers.
//
// Weaker than POSIX in two ways: replacing a file that another program holds open may be refused, and there is no call
// that waits until a directory is on the disk (NTFS journals names by itself).
#ifndef ZTENSOR_DETAIL_OS_WINDOWS_HPP
#define ZTENSOR_DETAIL_OS_WINDOWS_HPP

// The two words keep it small and std::min usable; a program that includes it keeps its own choice of both.
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
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/calls.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>

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
[[nodiscard]] inline string path_text(const native_path& path) {
    const int length = static_cast<int>(path.size());
    const int needed = ::WideCharToMultiByte(CP_UTF8, 0, path.data(), length, nullptr, 0, nullptr, nullptr);
    string text(static_cast<size_t>(needed > 0 ? needed : 0), '\0');
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
inline constexpr size_t long_path_size = 248;

/// What takes the place of the first `replaced` characters of an absolute path, so that it may have 32767 characters.
struct long_path_prefix {
    std::wstring_view text;
    size_t replaced;
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

/// The number of 64 bits that the system gives in two halves.
[[nodiscard]] inline uint64_t whole(DWORD high, DWORD low) noexcept {
    return (static_cast<uint64_t>(high) << 32) | low;
}

/// A number that hardly any other call gives, here or in another process.
[[nodiscard]] inline uint64_t clock_ticks() noexcept {
    LARGE_INTEGER ticks = {};
    ::QueryPerformanceCounter(&ticks);
    FILETIME now = {};
    ::GetSystemTimeAsFileTime(&now);
    return static_cast<uint64_t>(ticks.QuadPart) ^ (whole(now.dwHighDateTime, now.dwLowDateTime) << 20);
}

/// Seconds of a clock that is never set.
[[nodiscard]] inline double steady_seconds() noexcept {
    LARGE_INTEGER ticks = {}, ticks_each_second = {};
    ::QueryPerformanceCounter(&ticks);
    ::QueryPerformanceFrequency(&ticks_each_second);
    return static_cast<double>(ticks.QuadPart) / static_cast<double>(ticks_each_second.QuadPart);
}

[[nodiscard]] inline uint64_t process_id() noexcept {
    return ::GetCurrentProcessId();
}

/// Since Windows 10 a name can be given to another file while the one that had it is open, but not on every file
/// system.
inline constexpr bool always_replaces_open_files = false;

inline constexpr DWORD share_with_all = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

[[nodiscard]] inline os_answer<os_handle> open_handle(const native_path& path, DWORD access,
                                                      DWORD sharing = share_with_all, DWORD creation = OPEN_EXISTING,
                                                      DWORD flags = FILE_ATTRIBUTE_NORMAL) {
    const os_handle file = ::CreateFileW(system_path(path).c_str(), access, sharing, nullptr, creation, flags, nullptr);
    return {file, failed_if(file == INVALID_HANDLE_VALUE)};
}

/// Of a file or a directory, to ask what it is.
[[nodiscard]] inline os_answer<os_handle> open_to_look(const native_path& path) {
    return open_handle(path, FILE_READ_ATTRIBUTES, share_with_all, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
}

struct closed_at_end {
    os_handle handle;
    ~closed_at_end() { ::CloseHandle(handle); }
};

[[nodiscard]] inline int64_t nanoseconds_since_1970(const FILETIME& time) noexcept {
    constexpr int64_t nanoseconds_per_tick = 100;
    constexpr int64_t ticks_from_1601 = 116'444'736'000'000'000;
    return (static_cast<int64_t>(whole(time.dwHighDateTime, time.dwLowDateTime)) - ticks_from_1601) *
           nanoseconds_per_tick;
}

[[nodiscard]] inline file_status portable_status(DWORD attributes, DWORD size_high, DWORD size_low) noexcept {
    const bool is_regular = (attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE)) == 0;
    file_status status;
    status.kind = is_regular ? file_kind::regular : file_kind::other;
    status.size_bytes = whole(size_high, size_low);
    return status;
}

/// Of an open file, who it is besides.
[[nodiscard]] inline file_status portable_status(const BY_HANDLE_FILE_INFORMATION& found) noexcept {
    file_status status = portable_status(found.dwFileAttributes, found.nFileSizeHigh, found.nFileSizeLow);
    status.device = found.dwVolumeSerialNumber;
    status.file_id = whole(found.nFileIndexHigh, found.nFileIndexLow);
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
    os_answer<os_handle> open_existing(const native_path& path) override { return open_handle(path, GENERIC_READ); }

    os_answer<file_status> status(os_handle file) override {
        if (::GetFileType(file) != FILE_TYPE_DISK) {
            file_status no_file;
            no_file.kind = file_kind::other;
            return {no_file, {}};
        }
        return status_of_handle(file);
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

    os_answer<size_t> read(os_handle file, uint64_t offset, span<byte> destination) override {
        if (offset > static_cast<uint64_t>((std::numeric_limits<int64_t>::max)())) {
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

    os_answer<bytes_view> map(os_handle file, size_t size_bytes) override {
        const os_handle section = ::CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
        if (section == nullptr) {
            return {{}, last_error()};
        }
        const void* const address = ::MapViewOfFile(section, FILE_MAP_READ, 0, 0, size_bytes);
        const std::error_code failure = failed_if(address == nullptr);
        ::CloseHandle(section); // the view keeps the section alive
        return {bytes_view(static_cast<const byte*>(address), size_bytes), failure};
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
        const auto [found, failure] = open_to_look(where);
        if (failure) {
            return {{}, failure};
        }
        const closed_at_end closing{found};
        BY_HANDLE_FILE_INFORMATION what = {};
        os_answer<native_path> place = final_path(found);
        if (!::GetFileInformationByHandle(found, &what) || (what.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0) {
            return {{}, std::make_error_code(std::errc::not_a_directory)};
        }
        if (!place.failure && !follows_links && (from == nullptr || directory_of(place.value) != from->path)) {
            return {{}, std::make_error_code(std::errc::too_many_symbolic_link_levels)};
        }
        return {{no_handle, std::move(place.value)}, place.failure};
    }
    os_answer<file_status> status_of(const os_directory& directory) override {
        const auto [found, failure] = open_to_look(directory.path);
        if (failure) {
            return {{}, failure};
        }
        const closed_at_end closing{found};
        return status_of_handle(found);
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
        const auto [found, failure] = open_to_look(joined_path(directory.path, name));
        if (failure) {
            return {{}, failure};
        }
        const closed_at_end closing{found};
        const os_answer<native_path> place = final_path(found);
        if (!place.failure && directory_of(place.value) == directory.path) {
            return {{}, std::make_error_code(std::errc::invalid_argument)};
        }
        return place;
    }

protected:
    ~system_reading() = default; // as that of os_reading

private:
    [[nodiscard]] static os_answer<file_status> status_of_handle(os_handle file) noexcept {
        BY_HANDLE_FILE_INFORMATION found = {};
        const std::error_code unknown = failed_if(!::GetFileInformationByHandle(file, &found));
        return {unknown ? file_status() : portable_status(found), unknown};
    }
};

// -- windows threads

/// The module that holds this code stays loaded until the process ends: threads may come to the code at any time.
ZTENSOR_COLD inline void pin_module(void (*code)(void* context)) noexcept {
    HMODULE module = nullptr;
    static_cast<void>(::GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                                           static_cast<const wchar_t*>(address_of_code(code)), &module));
}

using system_thread = HANDLE;

/// Starts a thread that join_system_thread() must wait for. `start` is the thread's, if it is started.
[[nodiscard]] inline bool create_system_thread(thread_start* start, system_thread& thread) noexcept {
    struct entry {
        static DWORD WINAPI enter(void* handed_over) {
            thread_start::enter(handed_over);
            return 0;
        }
    };
    thread = ::CreateThread(nullptr, 0, entry::enter, start, 0, nullptr);
    return thread != nullptr;
}

/// Waits until the thread has ended.
inline void join_system_thread(system_thread thread) noexcept {
    ::WaitForSingleObject(thread, INFINITE);
    ::CloseHandle(thread);
}

/// What start_thread() asks. `start` is the thread's, if it is started.
[[nodiscard]] inline bool start_system_thread(thread_start* start) noexcept {
    system_thread thread = nullptr;
    const bool is_started = create_system_thread(start, thread);
    if (is_started) {
        ::CloseHandle(thread); // which does not end it
    }
    return is_started;
}

/// As many threads as the host runs at once; at least 1.
[[nodiscard]] inline unsigned processor_count() noexcept {
    SYSTEM_INFO host = {};
    ::GetSystemInfo(&host);
    return host.dwNumberOfProcessors < 1 ? 1u : static_cast<unsigned>(host.dwNumberOfProcessors);
}

// -- windows writing

/// FILE_RENAME_INFO as Windows 10 1607 and later read it; older SDKs lack the flags.
struct rename_request {
    DWORD flags;
    HANDLE root;
    DWORD name_bytes;
    wchar_t name[1];
};

/// Since 1970, as file_status::modified_nanoseconds.
[[nodiscard]] inline int64_t wall_clock_seconds() noexcept {
    FILETIME now = {};
    ::GetSystemTimeAsFileTime(&now);
    return nanoseconds_since_1970(now) / 1'000'000'000;
}

/// Owners are not told apart: file_status has none either.
[[nodiscard]] inline uint32_t process_user() noexcept {
    return 0;
}

/// Replaces a file even while others have it open, in one step. Needs Windows 10 and NTFS.
[[nodiscard]] inline bool rename_like_posix(const native_path& from, const native_path& target) {
    constexpr DWORD replace_if_exists = 1, posix_semantics = 2;
    constexpr auto file_rename_info_ex = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22);

    const native_path to = system_path(target);
    const size_t name_bytes = to.size() * sizeof(wchar_t);
    const rename_request head = {replace_if_exists | posix_semantics, nullptr, static_cast<DWORD>(name_bytes), {}};
    vector<byte> request(sizeof(rename_request) + name_bytes); // with room for the closing zero
    std::memcpy(request.data(), &head, sizeof head);
    std::memcpy(request.data() + offsetof(rename_request, name), to.c_str(), name_bytes);
    const auto [file, failure] = // behind all that takes memory, since nobody else would close it
        open_handle(from, DELETE | SYNCHRONIZE);
    if (failure) {
        return false;
    }
    const closed_at_end closing{file};
    return ::SetFileInformationByHandle(file, file_rename_info_ex, request.data(),
                                        static_cast<DWORD>(request.size())) != 0;
}

/// The real calls.
class system_calls final : public system_reading<os_calls> {
public:
    // A path that is absolute stands for the directory: Win32 has no names relative to a handle.
    os_answer<os_directory> open_directory(const native_path& path, bool) override {
        std::error_code failure;
        const std::filesystem::path where = std::filesystem::absolute(path.empty() ? L"." : path, failure);
        if (failure) {
            return {{}, failure};
        }
        const DWORD attributes = ::GetFileAttributesW(system_path(where.native()).c_str());
        if (attributes == INVALID_FILE_ATTRIBUTES) {
            return {{}, last_error()};
        }
        const bool is_directory = (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
        return {{no_handle, where.native()},
                is_directory ? std::error_code() : std::make_error_code(std::errc::not_a_directory)};
    }

    os_answer<file_status> status_in(const os_directory& directory, const native_path& name) override {
        const native_path path = joined_path(directory.path, name);
        const auto [file, failure] = open_handle(path, 0);
        if (failure) {
            return this->status(path); // a directory, or nothing
        }
        const closed_at_end closing{file};
        return this->status(file);
    }

    // Not by std::filesystem, whose iterators end the program where memory runs out.
    os_answer<vector<native_path>> list(const os_directory& directory) override {
        os_answer<vector<native_path>> names;
        const native_path pattern = joined_path(directory.path, L"*");
        WIN32_FIND_DATAW entry = {};
        const HANDLE found = ::FindFirstFileW(system_path(pattern).c_str(), &entry);
        if (found == INVALID_HANDLE_VALUE) {
            names.failure = last_error();
            return names;
        }
        const struct closed_search {
            HANDLE search;
            ~closed_search() { ::FindClose(search); }
        } closing{found};
        do {
            const std::wstring_view name = entry.cFileName;
            if (name != L"." && name != L"..") {
                names.value.emplace_back(name);
            }
        } while (::FindNextFileW(found, &entry));
        const DWORD code = ::GetLastError();
        names.failure = code != ERROR_NO_MORE_FILES ? windows_error(code) : std::error_code();
        return names;
    }

    os_answer<os_handle> create_in(const os_directory& directory, const native_path& name, uint32_t) override {
        return open_handle(joined_path(directory.path, name), GENERIC_READ | GENERIC_WRITE,
                           FILE_SHARE_READ | FILE_SHARE_DELETE, CREATE_NEW);
    }
    os_answer<os_handle> create_unnamed_in(const os_directory&, uint32_t) override {
        return {no_handle, not_supported()};
    }
    std::error_code link_in(os_handle, const os_directory&, const native_path&) override { return not_supported(); }

    // Nobody else opens for writing what is open for writing here.
    os_answer<os_handle> open_in(const os_directory& directory, const native_path& name, bool writes) override {
        return open_handle(joined_path(directory.path, name), writes ? GENERIC_READ | GENERIC_WRITE : GENERIC_READ,
                           writes ? FILE_SHARE_READ | FILE_SHARE_DELETE : share_with_all);
    }
    /// Of a byte behind the end of any file, so that readers are not hindered.
    std::error_code lock(os_handle file) override {
        OVERLAPPED place = {};
        place.Offset = 0xfffffffe;
        place.OffsetHigh = 0x7fffffff;
        return failed_if(!::LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place));
    }
    os_answer<os_handle> duplicate(os_handle) override { return {no_handle, not_supported()}; }

    std::error_code seek(os_handle file, uint64_t offset) override {
        LARGE_INTEGER place = {};
        place.QuadPart = static_cast<LONGLONG>(offset);
        return failed_if(!::SetFilePointerEx(file, place, nullptr, FILE_BEGIN));
    }

    os_answer<size_t> write(os_handle file, bytes_view bytes) override {
        DWORD moved = 0;
        if (!::WriteFile(file, bytes.data(), static_cast<DWORD>(bytes.size()), &moved, nullptr)) {
            return {0, last_error()};
        }
        return {moved, {}};
    }

    std::error_code set_permissions(os_handle, uint32_t) override { return {}; }
    std::error_code set_owner(os_handle, uint32_t, uint32_t) override { return {}; }
    os_answer<string> access_list_in(const os_directory&, const native_path&) override { return {}; }
    std::error_code set_access_list(os_handle, const string&) override { return {}; }

    std::error_code truncate(os_handle file, uint64_t size_bytes) override {
        auto end = static_cast<LONGLONG>(size_bytes); // all that a FILE_END_OF_FILE_INFO holds
        return failed_if(!::SetFileInformationByHandle(file, ::FileEndOfFileInfo, &end, sizeof end));
    }

    std::error_code reserve(os_handle, uint64_t, uint64_t) override { return not_supported(); }
    std::error_code begin_sync(os_handle, uint64_t, uint64_t) override { return not_supported(); }
    std::error_code set_direct(os_handle, bool) override { return not_supported(); }
    os_answer<size_t> copy(os_handle, uint64_t, os_handle, size_t) override { return {0, not_supported()}; }

    std::error_code sync(os_handle file) override { return failed_if(!::FlushFileBuffers(file)); }

    std::error_code rename_in(const os_directory& directory, const native_path& old_name,
                              const native_path& new_name) override {
        const native_path from = joined_path(directory.path, old_name);
        const native_path to = joined_path(directory.path, new_name);
        if (rename_like_posix(from, to)) {
            return {};
        }
        // Virus scanners and indexers open new files for a moment, and then the rename is refused.
        const native_path old_path = system_path(from), new_path = system_path(to);
        constexpr int most_tries = 8;
        DWORD pause_milliseconds = 1;
        for (int tries = 1;; ++tries) {
            if (::MoveFileExW(old_path.c_str(), new_path.c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) {
                return {};
            }
            const DWORD code = ::GetLastError();
            if (tries == most_tries || (code != ERROR_ACCESS_DENIED && code != ERROR_SHARING_VIOLATION)) {
                return windows_error(code);
            }
            ::Sleep(pause_milliseconds);
            pause_milliseconds *= 2;
        }
    }

    std::error_code remove_in(const os_directory& directory, const native_path& name) override {
        wchar_t path[32768]; // the longest there is: what was begun is removed where there is no memory, too
        const long_path_prefix prefix = prefix_of(directory.path); // which any absolute path may have
        const auto folder = std::wstring_view(directory.path).substr(prefix.replaced);
        if (prefix.text.size() + folder.size() + 1 + name.size() >= std::size(path)) {
            return windows_error(ERROR_FILENAME_EXCED_RANGE);
        }
        wchar_t* end = std::copy(prefix.text.begin(), prefix.text.end(), path);
        end = std::copy(folder.begin(), folder.end(), end);
        *end++ = L'\\';
        *std::copy(name.begin(), name.end(), end) = L'\0';
        return failed_if(!::DeleteFileW(path));
    }

    std::error_code sync_directory(const os_directory&) override { return {}; }

    os_answer<native_path> resolve_links(const native_path& path) override {
        const DWORD attributes = ::GetFileAttributesW(system_path(path).c_str());
        if (attributes == INVALID_FILE_ATTRIBUTES || (attributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0) {
            return {path, {}};
        }
        const auto [file, failure] = open_handle(path, 0);
        if (failure) {
            return {{}, failure};
        }
        const closed_at_end closing{file};
        return final_path(file);
    }
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
