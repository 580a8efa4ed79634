// SPDX-License-Identifier: MIT
//
// A directory of a test's own, gone with all it holds when the test ends, and plain ways to look into it that share
// no code with the library.
#ifndef ZTENSOR_TESTS_SUPPORT_TEMP_DIR_HPP
#define ZTENSOR_TESTS_SUPPORT_TEMP_DIR_HPP

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace support {

class temp_dir {
public:
    temp_dir() {
        std::random_device random;
        do {
            path_ = std::filesystem::temp_directory_path() / ("ztensor-test-" + std::to_string(random()));
        } while (!std::filesystem::create_directory(path_));
    }
    temp_dir(const temp_dir&) = delete;
    temp_dir& operator=(const temp_dir&) = delete;
    ~temp_dir() {
        std::error_code ignored;
        std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    [[nodiscard]] std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

    /// Names of everything in the directory, sorted; characters outside ASCII as UTF-8.
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> found;
        for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(path_)) {
            const auto name = entry.path().filename().u8string();
            found.emplace_back(name.begin(), name.end());
        }
        std::sort(found.begin(), found.end());
        return found;
    }

private:
    std::filesystem::path path_;
};

inline void write_file(const std::filesystem::path& path, std::string_view content) {
    std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

/// The content; empty for a file that is not there.
[[nodiscard]] inline std::string read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

} // namespace support

#endif
