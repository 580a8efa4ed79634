// SPDX-License-Identifier: MIT
//
// The text of a digest, before version 2 and in it, and XXH3. SPEC.md section 7, section 13.5.
#ifndef ZTENSOR_DETAIL_CODEC_DIGESTS_HPP
#define ZTENSOR_DETAIL_CODEC_DIGESTS_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/format.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <new>

#if __has_include(<xxhash.h>) && !defined(ZTENSOR_WITHOUT_XXHASH)
#define XXH_INLINE_ALL
// Its inner loops are passed on as functions, which GCC refuses to inline where it optimises for debugging (-Og).
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#pragma GCC push_options
#pragma GCC optimize("O2")
#include <xxhash.h>
#pragma GCC pop_options
#else
#include <xxhash.h>
#endif
#undef XXH_INLINE_ALL
#endif

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- digest text
//
// The text of a digest, "algorithm:hex": taken apart and compared. SPEC.md section 7.

[[nodiscard]] ZTENSOR_NOINLINE inline bool is_hex(string_view text) noexcept {
    for (const char c : text) {
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) {
            return false;
        }
    }
    return true;
}

/// The text of a digest, taken apart.
struct digest_parts {
    digest algorithm = digest::none; ///< none: unknown to this library, like every text without a colon
    string_view digits;              ///< in either case, without 0x
    bool is_well_formed = true;      ///< false where the algorithm is known and the digits are not such
};

[[nodiscard]] ZTENSOR_NOINLINE inline digest_parts parse_digest(string_view text) noexcept {
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos) {
        return {};
    }
    const string_view algorithm = text.substr(0, colon);
    string_view digits = text.substr(colon + 1);
    if (algorithm == name(digest::crc32c)) {
        if (digits.substr(0, 2) == "0x" || digits.substr(0, 2) == "0X") {
            digits.remove_prefix(2);
        }
        return {digest::crc32c, digits, digits.size() == 8 && is_hex(digits)};
    }
    if (algorithm == name(digest::sha256)) {
        return {digest::sha256, digits, digits.size() == 64 && is_hex(digits)};
    }
    return {digest::none, digits, true};
}

[[nodiscard]] inline bool is_lower_hex(string_view text) noexcept {
    return is_hex(text) && text.find_first_of("ABCDEF") == std::string_view::npos;
}

/// Letters in lower case and digits.
[[nodiscard]] inline bool is_algorithm_word(string_view text) noexcept {
    return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == std::string_view::npos;
}

/// The same of version 2, which knows other algorithms, and where every digest is an algorithm and digits in lower
/// case. One of another length than its algorithm's is well-formed there, and matches nothing.
[[nodiscard]] ZTENSOR_NOINLINE inline digest_parts parse_strict_digest(string_view text) noexcept {
    const size_t colon = (std::min)(text.find(':'), text.size());
    const string_view algorithm = text.substr(0, colon);
    const string_view digits = text.substr((std::min)(colon + 1, text.size()));
    const bool is_well_formed = is_algorithm_word(algorithm) && !digits.empty() && is_lower_hex(digits);
    const digest known = algorithm == name(digest::xxh3)     ? digest::xxh3
                         : algorithm == name(digest::sha256) ? digest::sha256
                                                             : digest::none;
    return {known, digits, is_well_formed};
}

/// The same, where a checksum of a ZIP archive may stand: .zt does not know it.
[[nodiscard]] inline digest_parts parse_any_digest(string_view text) noexcept {
    constexpr string_view prefix = "crc32:";
    if (text.substr(0, prefix.size()) != prefix) {
        return parse_digest(text);
    }
    const string_view digits = text.substr(prefix.size());
    return {digest::crc32, digits, digits.size() == 8 && is_hex(digits)};
}

/// True if both are the same digest, whatever the case of their digits and with or without 0x.
[[nodiscard]] inline bool same_digest(const digest_parts& a, const digest_parts& b) noexcept {
    const auto lower = [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; };
    if (a.algorithm != b.algorithm || a.digits.size() != b.digits.size()) {
        return false;
    }
    for (size_t i = 0; i < a.digits.size(); ++i) {
        if (lower(a.digits[i]) != lower(b.digits[i])) {
            return false;
        }
    }
    return true;
}

/// True if the digits, two of each byte, are those of `value`, in either case.
[[nodiscard]] inline bool are_digits_of(string_view digits, bytes_view value) noexcept {
    const auto number = [](char digit) {
        return static_cast<unsigned>(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
    };
    if (digits.size() != 2 * value.size() || !is_hex(digits)) {
        return false;
    }
    for (size_t i = 0; i < value.size(); ++i) {
        if (number(digits[2 * i]) * 16 + number(digits[2 * i + 1]) != std::to_integer<unsigned>(value[i])) {
            return false;
        }
    }
    return true;
}

// -- xxh3
//
// XXH3 of 64 bits, by xxHash's header alone, which only this header knows. A build without it has the same functions,
// and says that it can't compute. SPEC.md section 13.1, section 13.8.

#if defined(XXH_VERSION_NUMBER) && XXH_VERSION_NUMBER >= 800 && !defined(ZTENSOR_WITHOUT_XXHASH)

inline constexpr bool has_xxh3 = true;

static_assert(sizeof(XXH3_state_t) <= sizeof(digest_memory::xxh3) && alignof(XXH3_state_t) <= alignof(digest_memory),
              "xxHash keeps more between two pieces than there is room for");

[[nodiscard]] inline XXH3_state_t* xxh3_state(digest_memory& memory) noexcept {
    return std::launder(static_cast<XXH3_state_t*>(static_cast<void*>(memory.xxh3)));
}
[[nodiscard]] inline const XXH3_state_t* xxh3_state(const digest_memory& memory) noexcept {
    return std::launder(static_cast<const XXH3_state_t*>(static_cast<const void*>(memory.xxh3)));
}

ZTENSOR_NOINLINE inline void xxh3_start(digest_memory& memory) noexcept {
    XXH3_64bits_reset(::new (static_cast<void*>(memory.xxh3)) XXH3_state_t);
}
ZTENSOR_NOINLINE inline void xxh3_update(digest_memory& memory, bytes_view bytes) noexcept {
    XXH3_64bits_update(xxh3_state(memory), bytes.data(), bytes.size());
}
[[nodiscard]] ZTENSOR_NOINLINE inline uint64_t xxh3_value(const digest_memory& memory) noexcept {
    return XXH3_64bits_digest(xxh3_state(memory));
}
/// Of bytes in one piece.
[[nodiscard]] ZTENSOR_NOINLINE inline uint64_t xxh3_of(bytes_view bytes) noexcept {
    return XXH3_64bits(bytes.data(), bytes.size());
}

#else

inline constexpr bool has_xxh3 = false;

inline void xxh3_start(digest_memory&) noexcept {
}
inline void xxh3_update(digest_memory&, bytes_view) noexcept {
}
[[nodiscard]] inline uint64_t xxh3_value(const digest_memory&) noexcept {
    return 0;
}
[[nodiscard]] inline uint64_t xxh3_of(bytes_view) noexcept {
    return 0;
}

#endif

/// Where XXH3 is needed. Errors: unsupported_digest in a build without xxHash.
ZTENSOR_COLD inline result<void> require_xxh3() {
    if constexpr (has_xxh3) {
        return {};
    } else {
        return fail(
            errc::unsupported_digest,
            "version 2 of .zt needs XXH3, and this library was built without xxHash: install it (Debian and Ubuntu: "
            "libxxhash-dev, vcpkg: xxhash, conan: xxhash) and build again");
    }
}

// -- text of a digest

[[nodiscard]] inline string with_hex(string_view prefix, bytes_argument bytes, const char* digits) {
    string out(prefix);
    for (const byte each : bytes) {
        const auto value = std::to_integer<unsigned>(each);
        out += digits[value >> 4];
        out += digits[value & 15];
    }
    return out;
}

[[nodiscard]] inline string text_of_xxh3(uint64_t value) {
    std::array<byte, 8> bytes = {};
    store_big(value, bytes.data(), bytes.size());
    return with_hex("xxh3:", bytes, "0123456789abcdef");
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
