// SPDX-License-Identifier: MIT
//
// Paths from text, on Windows. Defines what file_path.hpp declares there.
#ifndef ZTENSOR_DETAIL_OS_FILE_PATH_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_OS_FILE_PATH_DEFINITIONS_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/file_path.hpp>

#if defined(_WIN32)
#include <ztensor/detail/os/windows.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// UTF-8 -> UTF-16; what is not Unicode becomes U+FFFD.
[[nodiscard]] ZTENSOR_INLINE native_path to_native_path(string_view utf8) {
    const int length = static_cast<int>(utf8.size());
    const int needed = ::MultiByteToWideChar(CP_UTF8, 0, utf8.data(), length, nullptr, 0);
    native_path wide(static_cast<size_t>(needed > 0 ? needed : 0), L'\0');
    ::MultiByteToWideChar(CP_UTF8, 0, utf8.data(), length, wide.data(), needed);
    return wide;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor
#endif

#endif
