// SPDX-License-Identifier: MIT
//
// The golden files. The tests run in the top folder.
#ifndef ZTENSOR_TESTS_SUPPORT_GOLDEN_HPP
#define ZTENSOR_TESTS_SUPPORT_GOLDEN_HPP

#include "support/bytes.hpp"

#include <filesystem>
#include <string_view>
#include <vector>

namespace support {

[[nodiscard]] std::filesystem::path golden_path(std::string_view name);
/// The file's content.
[[nodiscard]] byte_vector golden(std::string_view name);
/// All of them, by name.
[[nodiscard]] std::vector<std::filesystem::path> golden_paths();

} // namespace support

#endif
