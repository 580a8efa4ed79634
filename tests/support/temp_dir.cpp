// SPDX-License-Identifier: MIT
#include "support/temp_dir.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>

namespace support {

temp_dir::temp_dir() {
    std::random_device random;
    do {
        path_ = std::filesystem::temp_directory_path() / ("ztensor-test-" + std::to_string(random()));
    } while (!std::filesystem::create_directory(path_));
}

temp_dir::~temp_dir() {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path temp_dir::operator/(const std::filesystem::path& name) const {
    return path_ / name;
}

std::vector<std::string> temp_dir::names() const {
    std::vector<std::string> found;
    for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(path_)) {
        const auto name = entry.path().filename().u8string();
        found.emplace_back(name.begin(), name.end());
    }
    std::sort(found.begin(), found.end());
    return found;
}

void write_file(const std::filesystem::path& path, std::string_view content) {
    std::ofstream out(path, std::ios::binary);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!out.flush()) {
        throw std::runtime_error("can't write " + path.string());
    }
}

std::string read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

} // namespace support
