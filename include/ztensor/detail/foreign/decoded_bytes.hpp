// SPDX-License-Identifier: MIT
//
// Bytes that a pickle spells otherwise than they are, as a source of arrays' elements.
#ifndef ZTENSOR_DETAIL_FOREIGN_DECODED_BYTES_HPP
#define ZTENSOR_DETAIL_FOREIGN_DECODED_BYTES_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Bytes of a pickle that stand in no file: they are here once all is read.
class decoded_bytes final : public byte_source {
public:
    explicit decoded_bytes(std::uint64_t size) noexcept : size_(size) {}
    void keep(std::vector<std::byte> bytes) noexcept { bytes_ = std::move(bytes); }

    [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
    [[nodiscard]] result<void> read_at(std::uint64_t offset, span<std::byte> destination) const override {
        ZTENSOR_TRY(check_range(offset, destination.size(), bytes_.size()));
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), destination.size(), destination.begin());
        return {};
    }

private:
    std::uint64_t size_;
    std::vector<std::byte> bytes_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
