// SPDX-License-Identifier: MIT
#include "import/foreign_files.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace support {

std::string safetensors_file(std::string_view header, std::string_view data) {
    std::string file;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        file += static_cast<char>(static_cast<unsigned char>(std::uint64_t{header.size()} >> shift));
    }
    return file.append(header).append(data);
}

std::string safetensors_file(const std::vector<std::pair<std::string, std::vector<float>>>& tensors) {
    std::string header = "{";
    std::string data;
    for (const auto& [name, elements] : tensors) {
        const std::size_t begin = data.size();
        for (const float element : elements) {
            std::uint32_t bits = 0;
            std::memcpy(&bits, &element, sizeof bits);
            for (unsigned shift = 0; shift < 32; shift += 8) {
                data += static_cast<char>(static_cast<unsigned char>(bits >> shift));
            }
        }
        header += (header.size() > 1 ? ",\"" : "\"") + name + R"(":{"dtype":"F32","shape":[)" +
                  std::to_string(elements.size()) + R"(],"data_offsets":[)" + std::to_string(begin) + "," +
                  std::to_string(data.size()) + "]}";
    }
    return safetensors_file(header + "}", data);
}

std::filesystem::path foreign_corpus_path(const std::filesystem::path& name) {
    return std::filesystem::path("tests/corpus/foreign") / name;
}

} // namespace support
