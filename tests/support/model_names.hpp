// SPDX-License-Identifier: MIT
//
// Names of the files of a model without the token in them, which is another one each time that a model is written.
#ifndef ZTENSOR_TESTS_SUPPORT_MODEL_NAMES_HPP
#define ZTENSOR_TESTS_SUPPORT_MODEL_NAMES_HPP

#include "support/temp_dir.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace support {

/// "m-00001-of-00002.zt" of "m-0123456789abcdef-00001-of-00002.zt"; any other name as it is.
inline std::string without_token(const std::string& name) {
    constexpr std::size_t digits = 16;
    for (std::size_t at = name.find('-'); at != std::string::npos; at = name.find('-', at + 1)) {
        const std::string token = name.substr(at + 1, digits);
        if (token.size() == digits && token.find_first_not_of("0123456789abcdef") == std::string::npos &&
            name.compare(at + 1 + digits, 1, "-") == 0) {
            return name.substr(0, at) + name.substr(at + 1 + digits);
        }
    }
    return name;
}

/// In order.
inline std::vector<std::string> names_without_tokens(const temp_dir& folder) {
    std::vector<std::string> names = folder.names();
    std::transform(names.begin(), names.end(), names.begin(), without_token);
    std::sort(names.begin(), names.end());
    return names;
}

/// The path of the file in the folder that has that name without its token; the first of several.
inline std::filesystem::path path_without_token(const temp_dir& folder, const std::string& name) {
    const std::vector<std::string> names = folder.names();
    const auto found =
        std::find_if(names.begin(), names.end(), [&](const std::string& each) { return without_token(each) == name; });
    return folder / (found != names.end() ? *found : name);
}

} // namespace support

#endif
