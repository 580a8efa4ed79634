// SPDX-License-Identifier: MIT
#include "fuzz/well_formed.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace fuzzing {
namespace {

constexpr unsigned byte_string = 2, text_string = 3, map = 5, tag = 6, simple = 7;
constexpr unsigned indefinite = 31;

struct head {
    std::size_t bytes = 0; ///< 0: there is none
    unsigned major = 0;
    unsigned info = 0;
    std::uint64_t argument = 0;
};

head head_of(std::string_view encoded) noexcept {
    head read;
    if (encoded.empty()) {
        return read;
    }
    const auto first = static_cast<unsigned char>(encoded[0]);
    read.major = first >> 5U;
    read.info = first & 31U;
    read.argument = read.info;
    std::size_t more = 0;
    if (read.info >= 24 && read.info < 28) {
        more = std::size_t{1} << (read.info - 24);
        if (encoded.size() - 1 < more) {
            return read;
        }
        read.argument = 0;
        for (std::size_t i = 1; i <= more; ++i) {
            read.argument = read.argument << 8U | static_cast<unsigned char>(encoded[i]);
        }
    }
    const bool is_indefinite = read.info == indefinite && read.major >= byte_string && read.major <= map;
    const bool is_long_simple = read.major == simple && read.info == 24 && read.argument < 32;
    read.bytes = (read.info >= 28 && !is_indefinite) || is_long_simple ? 0 : 1 + more;
    return read;
}

bool is_break(std::string_view rest) noexcept {
    return !rest.empty() && rest[0] == '\xff';
}

/// Table 3-7 of the Unicode standard.
bool is_utf8_text(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    for (std::size_t i = 0; i < text.size();) {
        const unsigned first = byte(i), second = byte(i + 1);
        const auto continues = [&](std::size_t place) { return (byte(i + place) & 0xc0U) == 0x80; };
        std::size_t size = 0;
        if (first < 0x80) {
            size = 1;
        } else if (first >= 0xc2 && first <= 0xdf) {
            size = continues(1) ? 2 : 0;
        } else if (first >= 0xe0 && first <= 0xef) {
            const bool is_allowed = (first != 0xe0 || second >= 0xa0) && (first != 0xed || second < 0xa0);
            size = is_allowed && continues(1) && continues(2) ? 3 : 0;
        } else if (first >= 0xf0 && first <= 0xf4) {
            const bool is_allowed = (first != 0xf0 || second >= 0x90) && (first != 0xf4 || second < 0x90);
            size = is_allowed && continues(1) && continues(2) && continues(3) ? 4 : 0;
        }
        if (size == 0) {
            return false;
        }
        i += size;
    }
    return true;
}

/// Calls `take` with each chunk of the string with that head; a definite one is its only chunk. How many bytes it takes
/// with its head; 0 if it is not well-formed or `take` says no.
template <class Take>
std::size_t pass_chunks(std::string_view encoded, const head& of, const Take& take) {
    if (of.info != indefinite) {
        const bool fits = of.argument <= encoded.size() - of.bytes;
        const std::size_t size = fits ? static_cast<std::size_t>(of.argument) : 0;
        return fits && take(encoded.substr(of.bytes, size)) ? of.bytes + size : 0;
    }
    std::size_t at = of.bytes;
    while (!is_break(encoded.substr(at))) {
        const head chunk = head_of(encoded.substr(at));
        if (chunk.bytes == 0 || chunk.major != of.major || chunk.info == indefinite ||
            chunk.argument > encoded.size() - at - chunk.bytes ||
            !take(encoded.substr(at + chunk.bytes, static_cast<std::size_t>(chunk.argument)))) {
            return 0;
        }
        at += chunk.bytes + static_cast<std::size_t>(chunk.argument);
    }
    return at + 1;
}

/// Whether that is also a number of two bytes: one of 11 significant bits, none of which is worth less than 2^-24.
bool fits_half(double number) noexcept {
    constexpr double greatest = 65504;
    if (number == 0 || std::isinf(number)) {
        return true;
    }
    const int least = std::max(std::ilogb(number) - 10, -24);
    const double scaled = std::ldexp(number, -least);
    return std::abs(number) <= greatest && scaled == std::floor(scaled);
}

bool is_shortest(const head& of) noexcept {
    if (of.major == simple && of.info == 25) {
        const bool is_nan = (of.argument & 0x7fffU) > 0x7c00;
        return !is_nan || of.argument == 0x7e00;
    }
    if (of.major == simple && of.info == 26) {
        const auto bits = static_cast<std::uint32_t>(of.argument);
        float number = 0;
        std::memcpy(&number, &bits, sizeof(number));
        return !std::isnan(number) && !fits_half(static_cast<double>(number));
    }
    if (of.major == simple && of.info == 27) {
        double number = 0;
        std::memcpy(&number, &of.argument, sizeof(number));
        constexpr double greatest = 3.4028234663852886e38;
        const bool is_in_range = std::isinf(number) || std::abs(number) <= greatest;
        return !std::isnan(number) && !(is_in_range && static_cast<double>(static_cast<float>(number)) == number);
    }
    if (of.major == simple) {
        return of.info >= 20 && of.info <= 22;
    }
    const std::uint64_t least = of.info == 24   ? 24
                                : of.info == 25 ? 0x100
                                : of.info == 26 ? 0x10000
                                : of.info == 27 ? 0x100000000
                                                : 0;
    return of.argument >= least;
}

} // namespace

std::size_t deterministic_bytes(std::string_view encoded, std::size_t levels) noexcept {
    const head of = head_of(encoded);
    if (of.bytes == 0 || of.info == indefinite || of.major == tag || !is_shortest(of)) {
        return 0;
    }
    if (of.major < byte_string || of.major == simple) {
        return of.bytes;
    }
    if (of.major <= text_string) {
        return pass_chunks(encoded, of,
                           [&](std::string_view text) { return of.major == byte_string || is_utf8_text(text); });
    }
    if (of.argument == 0) {
        return of.bytes; // at any depth that something may have: an empty one encloses nothing
    }
    if (levels == 0 || of.argument > encoded.size()) {
        return 0;
    }
    const std::uint64_t count = of.argument * (of.major == map ? 2 : 1);
    std::string_view last_key;
    std::size_t at = of.bytes;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::size_t size = deterministic_bytes(encoded.substr(at), levels - 1);
        const std::string_view item = encoded.substr(at, size);
        const bool is_key = of.major == map && i % 2 == 0;
        if (size == 0 || (is_key && item <= last_key)) {
            return 0;
        }
        last_key = is_key ? item : last_key;
        at += size;
    }
    return at;
}

std::size_t well_formed_bytes(std::string_view encoded, std::size_t levels) noexcept {
    const head of = head_of(encoded);
    if (of.bytes == 0 || of.major < byte_string || of.major == simple) {
        return of.bytes;
    }
    if (of.major <= text_string) {
        return pass_chunks(encoded, of, [](std::string_view) { return true; });
    }
    if (levels == 0 || (of.major != tag && of.info != indefinite && of.argument > encoded.size())) {
        return 0;
    }
    const std::uint64_t per_entry = of.major == map ? 2 : 1;
    const std::uint64_t stated = of.major == tag ? 1 : of.argument * per_entry;
    std::size_t at = of.bytes;
    std::uint64_t count = 0;
    while (of.info == indefinite ? !is_break(encoded.substr(at)) : count < stated) {
        const std::size_t size = well_formed_bytes(encoded.substr(at), levels - 1);
        if (size == 0) {
            return 0;
        }
        at += size;
        ++count;
    }
    if (of.info != indefinite) {
        return at;
    }
    return count % per_entry == 0 ? at + 1 : 0;
}

bool join_string(std::string_view encoded, unsigned major, std::string& into) {
    into.clear();
    const head of = head_of(encoded);
    return of.bytes != 0 && of.major == major && pass_chunks(encoded, of, [&](std::string_view chunk) {
                                                     into += chunk;
                                                     return major != text_string || is_utf8_text(chunk);
                                                 }) != 0;
}

} // namespace fuzzing
