// SPDX-License-Identifier: MIT
//
// Words for error sentences. Text from a file is hostile: it is escaped and cut before it enters a message.
#ifndef ZTENSOR_DETAIL_TEXT_HPP
#define ZTENSOR_DETAIL_TEXT_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace ztensor {
inline namespace v0 {
namespace detail {

inline constexpr std::size_t max_quoted_bytes = 64;

/// `text` in double quotes, with everything outside printable ASCII as \xNN, cut after 64 bytes.
[[nodiscard]] inline std::string quote(std::string_view text) {
    constexpr char digits[] = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text.substr(0, max_quoted_bytes)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte >= 0x7f) {
            out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        } else {
            if (c == '"' || c == '\\') {
                out += '\\';
            }
            out += c;
        }
    }
    out += text.size() > max_quoted_bytes ? "…\"" : "\"";
    return out;
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
