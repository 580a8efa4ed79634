// SPDX-License-Identifier: MIT
//
// A pickle's bytes, from front to back.
#ifndef ZTENSOR_DETAIL_FOREIGN_PICKLE_BYTES_HPP
#define ZTENSOR_DETAIL_FOREIGN_PICKLE_BYTES_HPP

#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Each take is false where the pickle has no more; then it takes nothing, or only part.
class pickle_bytes {
public:
    explicit pickle_bytes(bytes_view all) noexcept : all_(all) {}

    [[nodiscard]] std::size_t position() const noexcept { return position_; }
    [[nodiscard]] bool is_at_end() const noexcept { return position_ == all_.size(); }

    [[nodiscard]] bool take(std::uint64_t size, bytes_view& bytes) noexcept {
        if (size > all_.size() - position_) {
            return false;
        }
        bytes = all_.subspan(position_, static_cast<std::size_t>(size));
        position_ += static_cast<std::size_t>(size);
        return true;
    }
    /// Of at most 8 bytes, the lowest first.
    [[nodiscard]] bool take_unsigned(std::size_t size, std::uint64_t& value) noexcept {
        bytes_view bytes;
        if (!take(size, bytes)) {
            return false;
        }
        value = load_little(bytes.data(), size);
        return true;
    }
    /// Up to a line feed, which is taken too.
    [[nodiscard]] bool take_line(std::string_view& line) noexcept {
        const std::string_view rest = as_text(all_.subspan(position_));
        const std::size_t size = rest.find('\n');
        if (size == std::string_view::npos) {
            return false;
        }
        line = rest.substr(0, size);
        position_ += size + 1;
        return true;
    }

private:
    bytes_view all_;
    std::size_t position_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
