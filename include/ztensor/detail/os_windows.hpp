// SPDX-License-Identifier: MIT
//
// Windows, with wide paths throughout. With os_posix.hpp the only place of OS headers.
//
// Weaker than POSIX in two ways: replacing a file that another program holds open may be refused, and there is no call
// that waits until a directory is on the disk (NTFS journals names by itself).
#ifndef ZTENSOR_DETAIL_OS_WINDOWS_HPP
#define ZTENSOR_DETAIL_OS_WINDOWS_HPP

#include <ztensor/detail/os_calls.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

// The two words keep the header small and std::min usable; whoever includes us keeps their own choice of both.
#pragma push_macro("NOMINMAX")
#pragma push_macro("WIN32_LEAN_AND_MEAN")
#undef NOMINMAX
#undef WIN32_LEAN_AND_MEAN
#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#pragma pop_macro("WIN32_LEAN_AND_MEAN")
#pragma pop_macro("NOMINMAX")

namespace ztensor {
inline namespace v0 {
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
    default:
        return {static_cast<int>(code), std::system_category()};
    }
}

[[nodiscard]] inline std::error_code last_error() noexcept {
    return windows_error(::GetLastError());
}

[[nodiscard]] inline std::error_code failed_if(bool failed) noexcept {
    return failed ? last_error() : std::error_code();
}

/// The path for error messages, in UTF-8. What is not Unicode becomes U+FFFD.
[[nodiscard]] inline std::string path_text(const std::filesystem::path& path) {
    const std::wstring& wide = path.native();
    const int length = static_cast<int>(wide.size());
    const int needed = ::WideCharToMultiByte(CP_UTF8, 0, wide.data(), length, nullptr, 0, nullptr, nullptr);
    std::string text(static_cast<std::size_t>(needed > 0 ? needed : 0), '\0');
    ::WideCharToMultiByte(CP_UTF8, 0, wide.data(), length, text.data(), needed, nullptr, nullptr);
    return text;
}

[[nodiscard]] inline std::uint64_t process_id() noexcept {
    return ::GetCurrentProcessId();
}

class system_calls final : public os_calls {
public:
    // Reading and replacing go on side by side: the file may be renamed over while it is open or mapped here.
    os_answer<os_handle> open_existing(const std::filesystem::path& path) override {
        return open(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, OPEN_EXISTING);
    }

    os_answer<os_handle> create_new(const std::filesystem::path& path, std::filesystem::perms) override {
        return open(path, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE, CREATE_NEW);
    }

    os_answer<os_handle> open_for_overwriting(const std::filesystem::path& path) override {
        return open(path, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE, OPEN_EXISTING);
    }

    os_answer<file_status> status(os_handle file) override {
        if (::GetFileType(file) != FILE_TYPE_DISK) {
            return {{file_kind::other}, {}};
        }
        BY_HANDLE_FILE_INFORMATION found = {};
        if (!::GetFileInformationByHandle(file, &found)) {
            return {{}, last_error()};
        }
        return {portable(found.dwFileAttributes, found.nFileSizeHigh, found.nFileSizeLow), {}};
    }

    os_answer<file_status> status(const std::filesystem::path& path) override {
        WIN32_FILE_ATTRIBUTE_DATA found = {};
        if (::GetFileAttributesExW(path.c_str(), GetFileExInfoStandard, &found)) {
            return {portable(found.dwFileAttributes, found.nFileSizeHigh, found.nFileSizeLow), {}};
        }
        const std::error_code failure = last_error();
        return failure == std::errc::no_such_file_or_directory ? os_answer<file_status>{}
                                                               : os_answer<file_status>{{}, failure};
    }

    os_answer<std::size_t> read(os_handle file, std::uint64_t offset, span<std::byte> destination) override {
        if (offset > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
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

    os_answer<std::size_t> write(os_handle file, bytes_view bytes) override {
        DWORD moved = 0;
        if (!::WriteFile(file, bytes.data(), static_cast<DWORD>(bytes.size()), &moved, nullptr)) {
            return {0, last_error()};
        }
        return {moved, {}};
    }

    std::error_code set_permissions(os_handle, std::filesystem::perms) override { return {}; }

    std::error_code truncate(os_handle file) override {
        return failed_if(!::SetFilePointerEx(file, LARGE_INTEGER{}, nullptr, FILE_BEGIN) || !::SetEndOfFile(file));
    }

    std::error_code sync(os_handle file) override { return failed_if(!::FlushFileBuffers(file)); }

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

    std::error_code rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
        if (rename_like_posix(from, to)) {
            return {};
        }
        // Virus scanners and indexers open new files for a moment, and then the rename is refused.
        constexpr int most_tries = 8;
        DWORD pause_milliseconds = 1;
        for (int tries = 1;; ++tries) {
            if (::MoveFileExW(from.c_str(), to.c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) {
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

    std::error_code remove(const std::filesystem::path& path) override {
        return failed_if(!::DeleteFileW(path.c_str()));
    }

    std::error_code sync_directory(const std::filesystem::path&) override { return {}; }

    os_answer<std::filesystem::path> resolve_links(const std::filesystem::path& path) override {
        const DWORD attributes = ::GetFileAttributesW(path.c_str());
        if (attributes == INVALID_FILE_ATTRIBUTES || (attributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0) {
            return {path, {}};
        }
        const auto [file, failure] =
            open(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, OPEN_EXISTING);
        if (failure) {
            return {{}, failure};
        }
        std::wstring reached(32768, L'\0'); // the longest path there is
        const DWORD length = ::GetFinalPathNameByHandleW(file, reached.data(), static_cast<DWORD>(reached.size()), 0);
        const std::error_code unnamed = failed_if(length == 0);
        ::CloseHandle(file);
        reached.resize(length);
        return {std::filesystem::path(reached), unnamed};
    }

private:
    static os_answer<os_handle> open(const std::filesystem::path& path, DWORD access, DWORD sharing, DWORD creation) {
        const os_handle file =
            ::CreateFileW(path.c_str(), access, sharing, nullptr, creation, FILE_ATTRIBUTE_NORMAL, nullptr);
        return {file, failed_if(file == INVALID_HANDLE_VALUE)};
    }

    static file_status portable(DWORD attributes, DWORD size_high, DWORD size_low) noexcept {
        const bool is_regular = (attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE)) == 0;
        return {is_regular ? file_kind::regular : file_kind::other,
                (static_cast<std::uint64_t>(size_high) << 32) | size_low, std::filesystem::perms::none};
    }

    /// FILE_RENAME_INFO as Windows 10 1607 and later read it; older SDKs lack the flags.
    struct rename_request {
        DWORD flags;
        HANDLE root;
        DWORD name_bytes;
        wchar_t name[1];
    };

    /// Replaces a file even while others have it open, in one step. Needs Windows 10 and NTFS.
    static bool rename_like_posix(const std::filesystem::path& from, const std::filesystem::path& to) {
        constexpr DWORD replace_if_exists = 1;
        constexpr DWORD posix_semantics = 2;
        constexpr auto file_rename_info_ex = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22);

        const auto [file, failure] =
            open(from, DELETE | SYNCHRONIZE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, OPEN_EXISTING);
        if (failure) {
            return false;
        }
        const std::size_t name_bytes = to.native().size() * sizeof(wchar_t);
        const rename_request head = {replace_if_exists | posix_semantics, nullptr, static_cast<DWORD>(name_bytes), {}};
        std::vector<std::byte> request(sizeof(rename_request) + name_bytes); // with room for the closing zero
        std::memcpy(request.data(), &head, sizeof head);
        std::memcpy(request.data() + offsetof(rename_request, name), to.c_str(), name_bytes);
        const bool renamed = ::SetFileInformationByHandle(file, file_rename_info_ex, request.data(),
                                                          static_cast<DWORD>(request.size())) != 0;
        ::CloseHandle(file);
        return renamed;
    }
};

/// The real calls. They hold nothing, so that any thread may use them at any time, at exit too.
inline system_calls real_calls;

[[nodiscard]] inline os_calls& operating_system() noexcept {
    return real_calls;
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
