// SPDX-License-Identifier: MIT
//
// Files of a folder as a store far away has them: in memory, with others beside them, and nothing at their paths.
#ifndef ZTENSOR_TESTS_SUPPORT_FAR_FOLDER_HPP
#define ZTENSOR_TESTS_SUPPORT_FAR_FOLDER_HPP

#include "support/bytes.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/import.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace support {

class far_file final : public ztensor::byte_source {
public:
    explicit far_file(std::filesystem::path path) : path_(std::move(path)), content_(read_file(path_)) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    ztensor::result<void> read_at(std::uint64_t offset, ztensor::span<std::byte> destination) const override {
        std::transform(content_.begin() + static_cast<std::ptrdiff_t>(offset),
                       content_.begin() + static_cast<std::ptrdiff_t>(offset + destination.size()), destination.begin(),
                       [](char each) { return static_cast<std::byte>(each); });
        return {};
    }
    ztensor::result<std::shared_ptr<const byte_source>> open_beside(std::string_view path) const override {
        const std::filesystem::path there = path_.parent_path() / std::string(path);
        return std::filesystem::exists(there) ? std::make_shared<const far_file>(there)
                                              : std::shared_ptr<const byte_source>();
    }

private:
    std::filesystem::path path_;
    std::string content_;
};

/// The model that starts with this file, by a name that is no path.
inline ztensor::result<ztensor::reader> open_far(const std::filesystem::path& file,
                                                 const ztensor::read_options& options = {}) {
    return ztensor::open_any(std::make_shared<const far_file>(file), "far://store/" + file.filename().string(),
                             options);
}

} // namespace support

#endif
