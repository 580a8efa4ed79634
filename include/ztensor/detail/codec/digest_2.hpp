// SPDX-License-Identifier: MIT
//
// The digests that version 2 knows, XXH3 and SHA-256, without the others: whoever opens files of version 2 carries no
// tables of CRCs. SPEC.md section 13.8.
#ifndef ZTENSOR_DETAIL_CODEC_DIGEST_2_HPP
#define ZTENSOR_DETAIL_CODEC_DIGEST_2_HPP

#include <ztensor/detail/codec/sha256.hpp>
#include <ztensor/detail/codec/xxh3.hpp>
#include <ztensor/detail/core/digest_memory.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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

[[nodiscard]] inline std::string text_of_xxh3(std::uint64_t value) {
    std::array<std::byte, 8> bytes = {};
    store_big(value, bytes.data(), bytes.size());
    return with_hex("xxh3:", bytes, "0123456789abcdef");
}

inline void start_digest_2(digest algorithm, digest_memory& memory) noexcept {
    if (algorithm == digest::xxh3) {
        xxh3_start(memory);
    } else {
        std::copy_n(sha256_start, 8, memory.words);
    }
}

inline void update_digest_2(digest algorithm, digest_memory& memory, bytes_view bytes) noexcept {
    if (algorithm == digest::sha256) {
        sha256_update(memory, bytes);
    } else if (algorithm == digest::xxh3) {
        xxh3_update(memory, bytes);
    }
}

/// "" for an algorithm that is neither, or that this build can't compute.
[[nodiscard]] ZTENSOR_COLD inline std::string text_of_digest_2(digest algorithm, const digest_memory& memory) {
    if (algorithm == digest::sha256) {
        return with_hex("sha256:", sha256_value(memory), "0123456789abcdef");
    }
    if (algorithm == digest::xxh3 && has_xxh3) {
        return text_of_xxh3(xxh3_value(memory));
    }
    return {};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
