// SPDX-License-Identifier: MIT
//
// Bytes -> the text of their digest. Defines what digest.hpp declares. SPEC.md section 7.
#ifndef ZTENSOR_DETAIL_CODEC_DIGEST_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_CODEC_DIGEST_DEFINITIONS_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/codec/crc32.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/codec/sha256.hpp>
#include <ztensor/digest.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

namespace ztensor {
inline namespace ZTENSOR_MODE {

ZTENSOR_INLINE digester::digester(digest algorithm) noexcept : algorithm_(algorithm) {
    if (algorithm == digest::crc32c || algorithm == digest::crc32) {
        memory_.words[0] = algorithm == digest::crc32c ? detail::crc32c_start : detail::crc32_start;
    } else if (algorithm == digest::xxh3) {
        detail::xxh3_start(memory_);
    } else {
        std::copy_n(detail::sha256_start, 8, memory_.words);
    }
}

ZTENSOR_NOINLINE ZTENSOR_INLINE void digester::update(bytes_argument bytes) noexcept {
    if (algorithm_ == digest::crc32c) {
        memory_.words[0] = detail::crc32c_update(memory_.words[0], bytes);
    } else if (algorithm_ == digest::crc32) {
        memory_.words[0] = detail::crc32_update(memory_.words[0], bytes);
    } else if (algorithm_ == digest::sha256) {
        detail::sha256_update(memory_, bytes);
    } else if (algorithm_ == digest::xxh3) {
        detail::xxh3_update(memory_, bytes);
    }
}

ZTENSOR_COLD ZTENSOR_INLINE std::string digester::text() const {
    constexpr const char* lower = "0123456789abcdef";
    if (algorithm_ == digest::crc32c || algorithm_ == digest::crc32) {
        std::array<std::byte, 4> value{};
        detail::store_big(~memory_.words[0], value.data(), value.size());
        return algorithm_ == digest::crc32c ? detail::with_hex("crc32c:0x", value, "0123456789ABCDEF")
                                            : detail::with_hex("crc32:", value, lower);
    }
    if (algorithm_ == digest::sha256) {
        return detail::with_hex("sha256:", detail::sha256_value(memory_), lower);
    }
    return algorithm_ == digest::xxh3 && detail::has_xxh3 ? detail::text_of_xxh3(detail::xxh3_value(memory_))
                                                          : std::string();
}

ZTENSOR_INLINE bool can_compute(digest algorithm) noexcept {
    return algorithm != digest::xxh3 || detail::has_xxh3;
}

ZTENSOR_INLINE std::string digest_text(digest algorithm, bytes_argument bytes) {
    digester hash(algorithm);
    hash.update(bytes);
    return hash.text();
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
