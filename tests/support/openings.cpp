// SPDX-License-Identifier: MIT
#include "support/openings.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

namespace support {

std::vector<opening> open_every_way(const bytes& content, const temp_dir& directory,
                                    const ztensor::read_options& options) {
    using ztensor::io_mode;
    using ztensor::reader;
    const std::filesystem::path path = directory / "file.zt";
    write_file(path, content);
    std::vector<opening> all;
    all.push_back({"memory", false, true, open_bytes(content, options)});
    all.push_back({"mapped", true, true, reader::open(path, ztensor::read_options(options).mode(io_mode::mapped))});
    all.push_back(
        {"positional", true, false, reader::open(path, ztensor::read_options(options).mode(io_mode::positional))});
    all.push_back({"far", false, false, reader::from_source(std::make_shared<remote_source>(content), options)});
    return all;
}

remote_source::remote_source(const bytes& content) : content_(to_vector(content)) {
    best.request_bytes = std::max<std::size_t>(100, content_.size() / 200);
    best.gap_bytes = 10;
    best.requests_in_flight = 4;
}

ztensor::result<void> remote_source::read_at(std::uint64_t offset, ztensor::span<std::byte> destination) const {
    if (offset > content_.size() || destination.size() > content_.size() - offset) {
        return ztensor::error(ztensor::errc::out_of_bounds, "behind the end");
    }
    std::copy_n(content_.begin() + static_cast<std::ptrdiff_t>(offset), destination.size(), destination.begin());
    return {};
}

ztensor::result<ztensor::reader> open_bytes(std::string_view content, const ztensor::read_options& options) {
    return ztensor::reader::from_bytes(to_vector(content), options);
}

ztensor::reader opened(std::string_view content, const ztensor::read_options& options) {
    ztensor::result<ztensor::reader> file = open_bytes(content, options);
    INFO((file ? "" : file.error().what()));
    REQUIRE(file.has_value());
    return *std::move(file);
}

ztensor::component_view data_of(const ztensor::reader& file) {
    return *file.find("w").value().begin();
}

source_with_holes::source_with_holes(std::uint64_t size, bytes head, bytes tail)
    : size_(size), head_(std::move(head)), tail_(std::move(tail)) {
}

ztensor::result<void> source_with_holes::read_at(std::uint64_t offset, ztensor::span<std::byte> destination) const {
    std::uint64_t before = largest_read_;
    while (destination.size() > before && !largest_read_.compare_exchange_weak(before, destination.size())) {
    }
    for (std::size_t i = 0; i < destination.size(); ++i) {
        destination[i] = static_cast<std::byte>(byte_at(offset + i));
    }
    return {};
}

char source_with_holes::byte_at(std::uint64_t position) const {
    const std::uint64_t tail_start = size_ - tail_.size();
    return position < head_.size()  ? head_[static_cast<std::size_t>(position)]
           : position >= tail_start ? tail_[static_cast<std::size_t>(position - tail_start)]
                                    : '\0';
}

} // namespace support
