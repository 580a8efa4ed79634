// SPDX-License-Identifier: MIT
//
// Bytes → the text of their digest. Defines what digest.hpp declares. SPEC.md §7.
#ifndef ZTENSOR_DETAIL_CODEC_DIGEST_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_CODEC_DIGEST_DEFINITIONS_HPP

#include <ztensor/detail/codec/crc32.hpp>
#include <ztensor/detail/codec/crc32c.hpp>
#include <ztensor/detail/codec/sha256.hpp>
#include <ztensor/detail/codec/xxh3.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/digest.hpp>

#include <algorithm>
#include <array>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[nodiscard]] inline std::string with_hex(std::string_view prefix, bytes_view bytes, const char* digits) {
    std::string out(prefix);
    for (const std::byte byte : bytes) {
        const auto value = std::to_integer<unsigned>(byte);
        out += digits[value >> 4];
        out += digits[value & 15];
    }
    return out;
}

} // namespace detail

ZTENSOR_INLINE digester::digester(digest algorithm) noexcept : algorithm_(algorithm) {
    if (algorithm == digest::crc32c) {
        memory_.words[0] = detail::crc32c_start;
    } else if (algorithm == digest::xxh3) {
        detail::xxh3_start(memory_);
    } else if (algorithm == digest::crc32) {
        memory_.words[0] = detail::crc32_start;
    } else {
        std::copy_n(detail::sha256_start, 8, memory_.words);
    }
}

ZTENSOR_NOINLINE ZTENSOR_INLINE void digester::update(bytes_view bytes) noexcept {
    if (algorithm_ == digest::crc32c) {
        memory_.words[0] = detail::crc32c_update(memory_.words[0], bytes);
    } else if (algorithm_ == digest::sha256) {
        detail::sha256_update(memory_, bytes);
    } else if (algorithm_ == digest::xxh3) {
        detail::xxh3_update(memory_, bytes);
    } else if (algorithm_ == digest::crc32) {
        memory_.words[0] = detail::crc32_update(memory_.words[0], bytes);
    }
}

ZTENSOR_COLD ZTENSOR_INLINE std::string digester::text() const {
    if (algorithm_ == digest::crc32c) {
        std::array<std::byte, 4> value{};
        detail::store_big(~memory_.words[0], value.data(), value.size());
        return detail::with_hex("crc32c:0x", value, "0123456789ABCDEF");
    }
    if (algorithm_ == digest::crc32) {
        std::array<std::byte, 4> value{};
        detail::store_big(~memory_.words[0], value.data(), value.size());
        return detail::with_hex("crc32:", value, "0123456789abcdef");
    }
    if (algorithm_ == digest::sha256) {
        return detail::with_hex("sha256:", detail::sha256_value(memory_), "0123456789abcdef");
    }
    if (algorithm_ == digest::xxh3 && detail::has_xxh3) {
        std::array<std::byte, 8> value;
        detail::store_big(detail::xxh3_value(memory_), value.data(), value.size());
        return detail::with_hex("xxh3:", value, "0123456789abcdef");
    }
    return {};
}

ZTENSOR_INLINE bool can_compute(digest algorithm) noexcept {
    return algorithm != digest::xxh3 || detail::has_xxh3;
}

ZTENSOR_INLINE std::string digest_text(digest algorithm, bytes_view bytes) {
    digester hash(algorithm);
    hash.update(bytes);
    return hash.text();
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
