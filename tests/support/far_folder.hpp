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
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace support {

class far_file final : public ztensor::byte_source {
public:
    /// What a model's files are asked for, each of which then takes a while.
    struct trips {
        std::atomic<std::size_t> reads{0};
        std::atomic<std::size_t> under_way{0};
        std::atomic<std::size_t> most_at_once{0};

        void begin() {
            const std::size_t now = ++under_way;
            most_at_once = (std::max)(most_at_once.load(), now);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            --under_way;
        }
    };

    explicit far_file(std::filesystem::path path, trips* noted = nullptr)
        : path_(std::move(path)), content_(read_file(path_)), noted_(noted) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    ztensor::result<void> read_at(std::uint64_t offset, ztensor::span<std::byte> destination) const override {
        if (noted_ != nullptr) {
            ++noted_->reads;
            noted_->begin();
        }
        std::transform(content_.begin() + static_cast<std::ptrdiff_t>(offset),
                       content_.begin() + static_cast<std::ptrdiff_t>(offset + destination.size()), destination.begin(),
                       [](char each) { return static_cast<std::byte>(each); });
        return {};
    }
    ztensor::result<std::shared_ptr<const byte_source>> open_beside(std::string_view path) const override {
        const std::filesystem::path there = path_.parent_path() / std::string(path);
        if (noted_ != nullptr) {
            noted_->begin();
        }
        return std::filesystem::exists(there) ? std::make_shared<const far_file>(there, noted_)
                                              : std::shared_ptr<const byte_source>();
    }

private:
    std::filesystem::path path_;
    std::string content_;
    trips* noted_;
};

/// The model that starts with this file, by a name that is no path.
inline ztensor::result<ztensor::reader> open_far(const std::filesystem::path& file,
                                                 const ztensor::read_options& options = {},
                                                 far_file::trips* noted = nullptr) {
    return ztensor::open_any(std::make_shared<const far_file>(file, noted), "far://store/" + file.filename().string(),
                             options);
}

} // namespace support

#endif
