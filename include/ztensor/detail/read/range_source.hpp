// SPDX-License-Identifier: MIT
//
// A range of another source, as a source of its own: of a file that lies in a file.
#ifndef ZTENSOR_DETAIL_READ_RANGE_SOURCE_HPP
#define ZTENSOR_DETAIL_READ_RANGE_SOURCE_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class range_source final : public byte_source {
public:
    range_source(std::shared_ptr<const byte_source> whole, std::uint64_t begin, std::uint64_t size) noexcept
        : whole_(std::move(whole)), begin_(begin), size_(size) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
    [[nodiscard]] result<void> read_at(std::uint64_t offset, span<std::byte> destination) const override {
        result<void> inside = check_range(offset, destination.size(), size_);
        return inside ? whole_->read_at(begin_ + offset, destination) : inside;
    }

private:
    std::shared_ptr<const byte_source> whole_;
    std::uint64_t begin_;
    std::uint64_t size_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
