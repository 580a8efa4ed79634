// SPDX-License-Identifier: MIT
//
// Digests: computing them, and reading and writing their text, "algorithm:hex". Whose bytes they are is not known
// here. SPEC.md §7.
#ifndef ZTENSOR_DIGEST_HPP
#define ZTENSOR_DIGEST_HPP

#include <ztensor/detail/crc32c.hpp>
#include <ztensor/detail/sha256.hpp>
#include <ztensor/detail/text.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ztensor {
inline namespace v0 {

/// What can be said of stored bytes and their digest. Only `match` means verified.
enum class digest_state : std::uint8_t {
    match,       ///< the bytes are those that were digested
    mismatch,    ///< they are not
    absent,      ///< the file gives no digest
    unsupported, ///< it gives one of an algorithm that this library can't compute
};

[[nodiscard]] constexpr std::string_view name(digest_state state) noexcept {
    constexpr std::string_view names[] = {"match", "mismatch", "absent", "unsupported"};
    return names[static_cast<std::size_t>(state)];
}

/// Computes a digest piece by piece. With digest::none it does nothing.
class digester {
public:
    explicit digester(digest algorithm) noexcept : algorithm_(algorithm) {}

    void update(bytes_view bytes) noexcept {
        if (algorithm_ == digest::crc32c) {
            crc32c_.update(bytes);
        } else if (algorithm_ == digest::sha256) {
            sha256_.update(bytes);
        }
    }

    /// As the format writes it: "crc32c:0x" and 8 upper-case digits, "sha256:" and 64 lower-case ones; "" for none.
    [[nodiscard]] std::string text() const {
        if (algorithm_ == digest::crc32c) {
            std::array<std::byte, 4> value;
            detail::store_big(crc32c_.value(), value.data(), value.size());
            return "crc32c:0x" + hex(value, "0123456789ABCDEF");
        }
        if (algorithm_ == digest::sha256) {
            return "sha256:" + hex(sha256_.value(), "0123456789abcdef");
        }
        return {};
    }

private:
    [[nodiscard]] static std::string hex(bytes_view bytes, const char* digits) {
        std::string out;
        for (const std::byte byte : bytes) {
            const auto value = std::to_integer<unsigned>(byte);
            out += {digits[value >> 4], digits[value & 15]};
        }
        return out;
    }

    digest algorithm_;
    detail::crc32c crc32c_;
    detail::sha256 sha256_;
};

/// The digest of `bytes`, as the format writes it.
[[nodiscard]] inline std::string digest_text(digest algorithm, bytes_view bytes) {
    digester hash(algorithm);
    hash.update(bytes);
    return hash.text();
}

namespace detail {

[[nodiscard]] constexpr bool is_hex(std::string_view text) noexcept {
    for (const char c : text) {
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) {
            return false;
        }
    }
    return true;
}

/// The text of a digest, taken apart; both views point into it.
struct digest_parts {
    std::optional<digest> algorithm; ///< nothing: unknown to this library
    std::string_view digits;         ///< in either case, without 0x
};

/// Nothing if `text` names an algorithm that is known and then breaks its grammar. Anything else, even without a
/// colon, is of an algorithm that is not known.
[[nodiscard]] constexpr std::optional<digest_parts> parse_digest(std::string_view text) noexcept {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) {
        return digest_parts{std::nullopt, {}};
    }
    const std::string_view algorithm = text.substr(0, colon);
    std::string_view digits = text.substr(colon + 1);
    if (algorithm == name(digest::crc32c)) {
        if (digits.substr(0, 2) == "0x" || digits.substr(0, 2) == "0X") {
            digits.remove_prefix(2);
        }
        return digits.size() == 8 && is_hex(digits) ? std::optional(digest_parts{digest::crc32c, digits})
                                                    : std::nullopt;
    }
    if (algorithm == name(digest::sha256)) {
        return digits.size() == 64 && is_hex(digits) ? std::optional(digest_parts{digest::sha256, digits})
                                                     : std::nullopt;
    }
    return digest_parts{std::nullopt, digits};
}

/// True if both are the same digest, whatever the case of their digits and with or without 0x.
[[nodiscard]] inline bool same_digest(const digest_parts& a, const digest_parts& b) noexcept {
    const auto lower = [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; };
    if (a.algorithm != b.algorithm || a.digits.size() != b.digits.size()) {
        return false;
    }
    for (std::size_t i = 0; i < a.digits.size(); ++i) {
        if (lower(a.digits[i]) != lower(b.digits[i])) {
            return false;
        }
    }
    return true;
}

} // namespace detail

} // namespace v0
} // namespace ztensor

#endif
