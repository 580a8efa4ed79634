// SPDX-License-Identifier: MIT
#include "fuzz/work_file.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace fuzzing {

work_file::work_file() {
    const std::filesystem::path shared_memory = "/dev/shm";
    const bool has_shared_memory = std::filesystem::is_directory(shared_memory);
    std::string pattern =
        ((has_shared_memory ? shared_memory : std::filesystem::temp_directory_path()) / "ztensor-fuzz-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
        std::abort();
    }
    folder_ = pattern;
    path_ = folder_ / "f.zt";
}

work_file::~work_file() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void work_file::write(ztensor::bytes_argument content) const {
    write("f.zt", content);
}

void work_file::write(const char* name, ztensor::bytes_argument content) const {
    std::ofstream(folder_ / name, std::ios::binary | std::ios::trunc)
        .write(static_cast<const char*>(static_cast<const void*>(content.data())),
               static_cast<std::streamsize>(content.size()));
}

std::vector<std::byte> work_file::read() const {
    std::ifstream file(path_, std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const auto* const begin = static_cast<const std::byte*>(static_cast<const void*>(content.data()));
    return {begin, begin + content.size()};
}

bool work_file::is_alone() const {
    return std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()) == 1;
}

} // namespace fuzzing
