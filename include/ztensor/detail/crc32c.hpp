// SPDX-License-Identifier: MIT
//
// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), eight bytes a step from tables.
#ifndef ZTENSOR_DETAIL_CRC32C_HPP
#define ZTENSOR_DETAIL_CRC32C_HPP

#include <ztensor/detail/endian.hpp>
#include <ztensor/span.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace v0 {
namespace detail {

using crc32c_tables = std::array<std::array<std::uint32_t, 256>, 8>;

/// tables[k][b]: what byte b contributes when k more zero bytes follow it.
[[nodiscard]] constexpr crc32c_tables make_crc32c_tables() noexcept {
    crc32c_tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
        }
        tables[0][byte] = crc;
    }
    for (std::size_t k = 1; k < 8; ++k) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t previous = tables[k - 1][byte];
            tables[k][byte] = previous >> 8 ^ tables[0][previous & 0xff];
        }
    }
    return tables;
}

class crc32c {
public:
    void update(bytes_view bytes) noexcept {
        static constexpr crc32c_tables tables = make_crc32c_tables();
        std::uint32_t crc = state_;
        for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
            const std::uint64_t word = load_little(bytes.data(), 8) ^ crc;
            crc = 0;
            for (std::size_t i = 0; i < 8; ++i) {
                crc ^= tables[7 - i][word >> (8 * i) & 0xff];
            }
        }
        for (const std::byte byte : bytes) {
            crc = crc >> 8 ^ tables[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
        }
        state_ = crc;
    }
    [[nodiscard]] std::uint32_t value() const noexcept { return ~state_; }

private:
    std::uint32_t state_ = 0xffffffff;
};

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
