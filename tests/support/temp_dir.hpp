// SPDX-License-Identifier: MIT
//
// A directory of a test's own, gone with all it holds when the test ends, and plain ways to look into it that share
// no code with the library.
#ifndef ZTENSOR_TESTS_SUPPORT_TEMP_DIR_HPP
#define ZTENSOR_TESTS_SUPPORT_TEMP_DIR_HPP

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace support {

#if defined(_WIN32)
inline constexpr bool is_windows = true;
#else
inline constexpr bool is_windows = false;
#endif

/// Windows lets nobody cut off a file that is mapped.
inline constexpr bool cuts_mapped_files = !is_windows;

class temp_dir {
public:
    temp_dir();
    temp_dir(const temp_dir&) = delete;
    temp_dir& operator=(const temp_dir&) = delete;
    ~temp_dir();

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    [[nodiscard]] std::filesystem::path operator/(const std::filesystem::path& name) const;

    /// Names of everything in the directory, sorted; characters outside ASCII as UTF-8.
    [[nodiscard]] std::vector<std::string> names() const;

private:
    std::filesystem::path path_;
};

/// Throws if the system refuses, such as Windows where the file is mapped.
void write_file(const std::filesystem::path& path, std::string_view content);

/// The content; empty for a file that is not there.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

} // namespace support

#endif
