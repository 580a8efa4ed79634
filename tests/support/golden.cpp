// SPDX-License-Identifier: MIT
#include "support/golden.hpp"

#include "support/temp_dir.hpp"

#include <algorithm>

namespace support {

std::filesystem::path golden_path(std::string_view name) {
    return std::filesystem::path("tests/corpus/golden") / name;
}

byte_vector golden(std::string_view name) {
    return to_vector(read_file(golden_path(name)));
}

std::vector<std::filesystem::path> golden_paths() {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator("tests/corpus/golden")) {
        if (entry.path().extension() == ".zt") {
            found.push_back(entry.path());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

} // namespace support
