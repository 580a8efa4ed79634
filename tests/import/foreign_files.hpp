// SPDX-License-Identifier: MIT
//
// Files of other formats, put together by hand.
#ifndef ZTENSOR_TESTS_FOREIGN_FOREIGN_FILES_HPP
#define ZTENSOR_TESTS_FOREIGN_FOREIGN_FILES_HPP

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace support {

/// A safetensors file of that header.
[[nodiscard]] std::string safetensors_file(std::string_view header, std::string_view data);

/// One whose tensors are of type F32, of one dimension: their names and elements.
[[nodiscard]] std::string safetensors_file(const std::vector<std::pair<std::string, std::vector<float>>>& tensors);

/// A file of the corpus, which was written by another package.
[[nodiscard]] std::filesystem::path foreign_corpus_path(const std::filesystem::path& name);

} // namespace support

#endif
