// SPDX-License-Identifier: MIT
//
// UTF-8, as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
#ifndef ZTENSOR_DETAIL_CORE_UTF8_HPP
#define ZTENSOR_DETAIL_CORE_UTF8_HPP

#include <ztensor/version.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Bytes that the multi-byte character at the start of `text` takes, or 0 if it is malformed.
[[nodiscard]] ZTENSOR_NOINLINE inline std::size_t utf8_sequence_bytes(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < size) {
        return 0;
    }
    // Only the second byte's range depends on the lead: it keeps out overlong forms, surrogates and > U+10FFFF.
    const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (byte(1) < low || byte(1) > high) {
        return 0;
    }
    for (std::size_t i = 2; i < size; ++i) {
        if ((byte(i) & 0xc0) != 0x80) {
            return 0;
        }
    }
    return size;
}

/// True if every byte is below 0x80. Names and words are short: whole words, the last one overlapping, beat a loop
/// over bytes by 3x on the names of a model.
[[nodiscard]] inline bool is_ascii(std::string_view text) noexcept {
    constexpr std::uint64_t high_bits = 0x8080808080808080u;
    const auto load = [&](std::size_t position, std::size_t size) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + position, size);
        return word;
    };
    const std::size_t size = text.size();
    std::uint64_t all = 0;
    if (size >= 8) {
        for (std::size_t at = 0; at + 8 < size; at += 8) {
            all |= load(at, 8);
        }
        all |= load(size - 8, 8);
    } else if (size >= 4) {
        all = load(0, 4) | load(size - 4, 4);
    } else if (size != 0) {
        all = load(0, 1) | load(size / 2, 1) | load(size - 1, 1);
    }
    return (all & high_bits) == 0;
}

[[nodiscard]] ZTENSOR_NOINLINE inline bool is_utf8(std::string_view text) noexcept {
    if (is_ascii(text)) {
        return true;
    }
    while (!text.empty()) {
        const std::size_t size = static_cast<unsigned char>(text.front()) < 0x80 ? 1 : utf8_sequence_bytes(text);
        if (size == 0) {
            return false;
        }
        text.remove_prefix(size);
    }
    return true;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
