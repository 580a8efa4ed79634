// SPDX-License-Identifier: MIT
//
// The ways to a file: one content opened from memory, mapped and by positional reads, and sources of the tests' own.
#ifndef ZTENSOR_TESTS_SUPPORT_OPENINGS_HPP
#define ZTENSOR_TESTS_SUPPORT_OPENINGS_HPP

#include "support/bytes.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/io.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace support {

struct opening {
    const char* way;
    bool is_path;   ///< opened by its path, not from memory
    bool is_mapped; ///< can be viewed
    ztensor::result<ztensor::reader> file;
};

/// The same content from memory, from a mapped file, by positional reads, and from a source that is read ahead.
[[nodiscard]] std::vector<opening> open_every_way(const bytes& content, const temp_dir& directory,
                                                  const ztensor::read_options& options = {});

/// From memory.
[[nodiscard]] ztensor::result<ztensor::reader> open_bytes(std::string_view content,
                                                          const ztensor::read_options& options = {});
/// The same; what does not open fails the test.
[[nodiscard]] ztensor::reader opened(std::string_view content, const ztensor::read_options& options = {});

/// The one component of the object "w".
[[nodiscard]] ztensor::component_view data_of(const ztensor::reader& file);

/// Content that small requests of several threads bring, as of a store far away.
class remote_source : public ztensor::byte_source {
public:
    explicit remote_source(const bytes& content);

    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    [[nodiscard]] ztensor::result<void> read_at(std::uint64_t offset,
                                                ztensor::span<std::byte> destination) const override;
    [[nodiscard]] ztensor::read_preferences preferences() const noexcept override { return best; }

    ztensor::read_preferences best; ///< requests of 100 bytes or more, some hundred in all; gaps of 10, 4 at once

private:
    byte_vector content_;
};

/// Of any size, with content at both ends and zeros between, like a file with holes.
class source_with_holes final : public ztensor::byte_source {
public:
    source_with_holes(std::uint64_t size, bytes head, bytes tail);

    [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
    [[nodiscard]] ztensor::result<void> read_at(std::uint64_t offset,
                                                ztensor::span<std::byte> destination) const override;
    /// Bytes that one call asked for at most.
    [[nodiscard]] std::uint64_t largest_read() const noexcept { return largest_read_; }

private:
    [[nodiscard]] char byte_at(std::uint64_t position) const;

    std::uint64_t size_;
    bytes head_;
    bytes tail_;
    mutable std::atomic<std::uint64_t> largest_read_{0};
};

} // namespace support

#endif
