// SPDX-License-Identifier: MIT
//
// Content in memory that notes every read, of whatever thread, and fails when it is told to.
#ifndef ZTENSOR_TESTS_SUPPORT_WATCHED_SOURCE_HPP
#define ZTENSOR_TESTS_SUPPORT_WATCHED_SOURCE_HPP

#include "support/bytes.hpp"

#include <ztensor/error.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <ostream>
#include <vector>

namespace support {

struct read_range {
    std::uint64_t offset;
    std::uint64_t length;

    friend bool operator==(const read_range& a, const read_range& b) {
        return a.offset == b.offset && a.length == b.length;
    }
    friend std::ostream& operator<<(std::ostream& out, const read_range& a);
};
using read_ranges = std::vector<read_range>;

class watched_source : public ztensor::byte_source {
public:
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

    explicit watched_source(const bytes& content, bool is_mapped = false);

    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    [[nodiscard]] ztensor::result<void> read_at(std::uint64_t offset,
                                                ztensor::span<std::byte> destination) const override;
    [[nodiscard]] ztensor::bytes_view mapped() const noexcept override;
    [[nodiscard]] ztensor::result<void> check_unchanged() const override;
    [[nodiscard]] ztensor::read_preferences preferences() const noexcept override { return best; }

    ztensor::read_preferences best; ///< one request at a time, unless a test says otherwise
    mutable read_ranges reads;      ///< those of nothing too; to be looked at when no call is under way
    std::size_t first_failing_read = never;
    ztensor::errc failure = ztensor::errc::io_error;
    bool has_shrunk = false;

private:
    /// Whether this read is to fail.
    [[nodiscard]] bool note(const read_range& read) const;

    mutable std::mutex noting_;
    byte_vector content_;
    bool is_mapped_;
};

struct watched {
    std::shared_ptr<watched_source> source;
    ztensor::reader file;
};

/// Opened, with nothing noted so far.
[[nodiscard]] watched watch(const bytes& content, bool is_mapped = false, const ztensor::read_options& options = {});

/// In their order in the file, without those of nothing.
[[nodiscard]] read_ranges sorted(read_ranges reads);
/// The same with neighbours joined; a byte that is in two of them fails the test.
[[nodiscard]] read_ranges merged(read_ranges reads);

} // namespace support

#endif
