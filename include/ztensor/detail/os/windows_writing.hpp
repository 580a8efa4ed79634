// SPDX-License-Identifier: MIT
//
// Windows: threads, and files that are written.
#ifndef ZTENSOR_DETAIL_OS_WINDOWS_WRITING_HPP
#define ZTENSOR_DETAIL_OS_WINDOWS_WRITING_HPP

#include <ztensor/detail/os/windows.hpp> // first, for <windows.h>

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/os/calls.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- windows threads
//
// Threads on Windows, as posix_threads.hpp has them elsewhere.

using helper_thread = HANDLE;

/// What a thread is to do, handed over on the heap.
struct thread_start {
    void (*run)(void* context);
    void* context;
};

/// The module that holds this code stays loaded until the process ends: threads may come to the code at any time.
ZTENSOR_COLD inline void pin_module(void (*code)(void* context)) noexcept {
    HMODULE module = nullptr;
    static_cast<void>(::GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                                           static_cast<const wchar_t*>(address_of_code(code)), &module));
}

/// False where the system has no more threads.
[[nodiscard]] inline bool start_thread(helper_thread& thread, void (*run)(void* context), void* context) noexcept {
    auto* const start = new (std::nothrow) thread_start{run, context};
    if (start == nullptr) {
        return false;
    }
    struct entry {
        static DWORD WINAPI enter(void* handed_over) {
            const thread_start mine = *static_cast<thread_start*>(handed_over);
            delete static_cast<thread_start*>(handed_over);
            mine.run(mine.context);
            return 0;
        }
    };
    thread = ::CreateThread(nullptr, 0, entry::enter, start, 0, nullptr);
    if (thread == nullptr) {
        delete start;
        return false;
    }
    return true;
}

inline void join_thread(helper_thread thread) noexcept {
    ::WaitForSingleObject(thread, INFINITE);
    ::CloseHandle(thread);
}

/// For a thread that is never joined.
inline void detach_thread(helper_thread thread) noexcept {
    ::CloseHandle(thread);
}

/// As many threads as the host runs at once; at least 1.
[[nodiscard]] inline unsigned processor_count() noexcept {
    SYSTEM_INFO host = {};
    ::GetSystemInfo(&host);
    return host.dwNumberOfProcessors < 1 ? 1u : static_cast<unsigned>(host.dwNumberOfProcessors);
}

// -- windows writing
//
// Windows: what writing asks besides.

/// FILE_RENAME_INFO as Windows 10 1607 and later read it; older SDKs lack the flags.
struct rename_request {
    DWORD flags;
    HANDLE root;
    DWORD name_bytes;
    wchar_t name[1];
};

/// Since 1970, as file_status::modified_nanoseconds.
[[nodiscard]] inline std::int64_t wall_clock_seconds() noexcept {
    FILETIME now = {};
    ::GetSystemTimeAsFileTime(&now);
    return nanoseconds_since_1970(now) / 1'000'000'000;
}

/// Owners are not told apart: file_status has none either.
[[nodiscard]] inline std::uint32_t process_user() noexcept {
    return 0;
}

/// Replaces a file even while others have it open, in one step. Needs Windows 10 and NTFS.
[[nodiscard]] inline bool rename_like_posix(const native_path& from, const native_path& target) {
    constexpr DWORD replace_if_exists = 1;
    constexpr DWORD posix_semantics = 2;
    constexpr auto file_rename_info_ex = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22);

    const native_path to = system_path(target);
    const std::size_t name_bytes = to.size() * sizeof(wchar_t);
    const rename_request head = {replace_if_exists | posix_semantics, nullptr, static_cast<DWORD>(name_bytes), {}};
    std::vector<std::byte> request(sizeof(rename_request) + name_bytes); // with room for the closing zero
    std::memcpy(request.data(), &head, sizeof head);
    std::memcpy(request.data() + offsetof(rename_request, name), to.c_str(), name_bytes);
    const auto [file, failure] = // behind all that takes memory, since nobody else would close it
        open_handle(from, DELETE | SYNCHRONIZE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, OPEN_EXISTING);
    if (failure) {
        return false;
    }
    const bool renamed = ::SetFileInformationByHandle(file, file_rename_info_ex, request.data(),
                                                      static_cast<DWORD>(request.size())) != 0;
    ::CloseHandle(file);
    return renamed;
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
    void release_directory(const os_directory&) noexcept override {}

    os_answer<file_status> status_in(const os_directory& directory, const native_path& name) override {
        const native_path path = joined_path(directory.path, name);
        const auto [file, failure] = open_handle(path, 0, share_all, OPEN_EXISTING);
        if (failure) {
            return this->status(path); // a directory, or nothing
        }
        const os_answer<file_status> found = this->status(file);
        ::CloseHandle(file);
        return found;
    }

    // Not by std::filesystem, whose iterators end the program where memory runs out.
    os_answer<std::vector<native_path>> list(const os_directory& directory) override {
        os_answer<std::vector<native_path>> names;
        const native_path pattern = joined_path(directory.path, L"*");
        WIN32_FIND_DATAW entry = {};
        const HANDLE found = ::FindFirstFileW(system_path(pattern).c_str(), &entry);
        if (found == INVALID_HANDLE_VALUE) {
            names.failure = last_error();
            return names;
        }
        const find_handle closing{found};
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

    os_answer<os_handle> create_in(const os_directory& directory, const native_path& name, std::uint32_t) override {
        return open_handle(joined_path(directory.path, name), GENERIC_READ | GENERIC_WRITE,
                           FILE_SHARE_READ | FILE_SHARE_DELETE, CREATE_NEW);
    }
    os_answer<os_handle> create_unnamed_in(const os_directory&, std::uint32_t) override {
        return {no_handle, not_supported()};
    }
    std::error_code link_in(os_handle, const os_directory&, const native_path&) override { return not_supported(); }

    // Nobody else opens for writing what is open for writing here.
    os_answer<os_handle> open_in(const os_directory& directory, const native_path& name, bool writes) override {
        return open_handle(joined_path(directory.path, name), writes ? GENERIC_READ | GENERIC_WRITE : GENERIC_READ,
                           writes ? FILE_SHARE_READ | FILE_SHARE_DELETE : share_all, OPEN_EXISTING);
    }
    /// Of a byte behind the end of any file, so that readers are not hindered.
    std::error_code lock(os_handle file) override {
        OVERLAPPED place = {};
        place.Offset = 0xfffffffe;
        place.OffsetHigh = 0x7fffffff;
        return failed_if(!::LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place));
    }
    os_answer<os_handle> duplicate(os_handle) override { return {no_handle, not_supported()}; }

    std::error_code seek(os_handle file, std::uint64_t offset) override {
        LARGE_INTEGER place = {};
        place.QuadPart = static_cast<LONGLONG>(offset);
        return failed_if(!::SetFilePointerEx(file, place, nullptr, FILE_BEGIN));
    }

    os_answer<std::size_t> write(os_handle file, bytes_view bytes) override {
        DWORD moved = 0;
        if (!::WriteFile(file, bytes.data(), static_cast<DWORD>(bytes.size()), &moved, nullptr)) {
            return {0, last_error()};
        }
        return {moved, {}};
    }

    std::error_code set_permissions(os_handle, std::uint32_t) override { return {}; }

    std::error_code set_owner(os_handle, std::uint32_t, std::uint32_t) override { return {}; }
    os_answer<std::string> access_list_in(const os_directory&, const native_path&) override { return {}; }
    std::error_code set_access_list(os_handle, const std::string&) override { return {}; }

    std::error_code truncate(os_handle file, std::uint64_t size_bytes) override {
        LARGE_INTEGER size = {};
        size.QuadPart = static_cast<LONGLONG>(size_bytes);
        return failed_if(!::SetFilePointerEx(file, size, nullptr, FILE_BEGIN) || !::SetEndOfFile(file));
    }

    std::error_code reserve(os_handle, std::uint64_t, std::uint64_t) override { return not_supported(); }
    std::error_code begin_sync(os_handle, std::uint64_t, std::uint64_t) override { return not_supported(); }
    std::error_code set_direct(os_handle, bool) override { return not_supported(); }
    os_answer<std::size_t> copy(os_handle, std::uint64_t, os_handle, std::size_t) override {
        return {0, not_supported()};
    }

    std::error_code sync(os_handle file) override { return failed_if(!::FlushFileBuffers(file)); }

    std::error_code rename_in(const os_directory& directory, const native_path& old_name,
                              const native_path& new_name) override {
        const native_path from = joined_path(directory.path, old_name);
        const native_path to = joined_path(directory.path, new_name);
        if (rename_like_posix(from, to)) {
            return {};
        }
        // Virus scanners and indexers open new files for a moment, and then the rename is refused.
        const native_path old_path = system_path(from);
        const native_path new_path = system_path(to);
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
        const auto [file, failure] =
            open_handle(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, OPEN_EXISTING);
        if (failure) {
            return {{}, failure};
        }
        os_answer<native_path> reached = final_path(file);
        ::CloseHandle(file);
        return reached;
    }

private:
    struct find_handle {
        HANDLE handle;
        ~find_handle() { ::FindClose(handle); }
    };

    static constexpr DWORD share_all = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
