// SPDX-License-Identifier: MIT
//
// Whether text is in Unicode's Normalization Form C: taken apart, its marks put in order and composed again, it is what
// it was. Unicode Standard Annex 15.
#ifndef ZTENSOR_DETAIL_BASE_NORMAL_FORM_HPP
#define ZTENSOR_DETAIL_BASE_NORMAL_FORM_HPP

#include <ztensor/detail/base/normal_form_tables.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Syllables of Hangul: a leading consonant, a vowel and perhaps a trailing consonant.
struct hangul {
    static constexpr std::uint32_t syllables = 0xac00, leads = 0x1100, vowels = 0x1161, trails = 0x11a7;
    static constexpr std::uint32_t lead_count = 19, vowel_count = 21, trail_count = 28; ///< the first trail is none

    [[nodiscard]] static constexpr bool is_syllable(std::uint32_t code) noexcept {
        return code - syllables < lead_count * vowel_count * trail_count;
    }
    /// Of a syllable and what may follow it, or of two letters; 0 if they don't compose.
    [[nodiscard]] static constexpr std::uint32_t compose(std::uint32_t first, std::uint32_t second) noexcept {
        if (first - leads < lead_count && second - vowels < vowel_count) {
            return syllables + ((first - leads) * vowel_count + (second - vowels)) * trail_count;
        }
        const bool has_room = is_syllable(first) && (first - syllables) % trail_count == 0;
        return has_room && second - trails - 1 < trail_count - 1 ? first + (second - trails) : 0;
    }
};

/// The run of a table that a character is in; null if there is none.
template <class Run, std::size_t Size>
[[nodiscard]] const Run* find_run(const Run (&runs)[Size], std::uint32_t code) noexcept {
    const Run* const found = std::lower_bound(std::begin(runs), std::end(runs), code,
                                              [](const Run& run, std::uint32_t wanted) { return run.last < wanted; });
    return found != std::end(runs) && found->first <= code ? found : nullptr;
}

/// 0 for all but marks.
[[nodiscard]] inline std::uint32_t combining_order(std::uint32_t code) noexcept {
    const combining_run* const run = find_run(combining_runs, code);
    return run != nullptr ? run->order : 0;
}

[[nodiscard]] ZTENSOR_COLD inline std::uint32_t compose(std::uint32_t first, std::uint32_t second) noexcept {
    for (const composed_pair& each : composed_pairs) {
        if (each.second == second && each.first == first) {
            return each.whole;
        }
    }
    return hangul::compose(first, second);
}

/// A character with its class in front and its place behind that: marks are in order when these numbers are.
class placed_character {
public:
    placed_character(std::uint32_t code, std::size_t place) noexcept
        : bits_(std::uint64_t{combining_order(code)} << 56 | std::uint64_t{place} << 24 | code) {}

    [[nodiscard]] std::uint32_t code() const noexcept { return static_cast<std::uint32_t>(bits_ & 0xffffff); }
    [[nodiscard]] std::uint32_t order() const noexcept { return static_cast<std::uint32_t>(bits_ >> 56); }
    friend bool operator<(placed_character a, placed_character b) noexcept { return a.bits_ < b.bits_; }

private:
    std::uint64_t bits_;
};

/// Appends what the character is made of, and that of its parts.
ZTENSOR_COLD inline void take_apart(std::uint32_t code, std::vector<placed_character>& into) {
    std::uint32_t seconds[8]; // no character has so many parts, and of the tables none more than four
    std::size_t count = 0;
    for (; count < std::size(seconds); ++count) {
        const composed_pair* const pair =
            std::lower_bound(std::begin(composed_pairs), std::end(composed_pairs), code,
                             [](const composed_pair& each, std::uint32_t wanted) { return each.whole < wanted; });
        if (pair == std::end(composed_pairs) || pair->whole != code) {
            break;
        }
        seconds[count] = pair->second; // which is made of nothing
        code = pair->first;
    }
    into.emplace_back(code, into.size());
    while (count != 0) {
        into.emplace_back(seconds[--count], into.size());
    }
}

/// The marks between two other characters in the order of their classes.
ZTENSOR_COLD inline void order_marks(std::vector<placed_character>& parts) {
    const auto is_mark = [](placed_character each) { return each.order() != 0; };
    for (auto begin = parts.begin(); begin != parts.end();) {
        begin = std::find_if(begin, parts.end(), is_mark);
        const auto end = std::find_if_not(begin, parts.end(), is_mark);
        std::sort(begin, end);
        begin = end;
    }
}

/// Each with the last before it that is no mark, unless something stands between them that keeps them apart.
[[nodiscard]] ZTENSOR_COLD inline std::vector<std::uint32_t> compose_all(const std::vector<placed_character>& parts) {
    std::vector<std::uint32_t> codes;
    std::size_t base = 0;
    bool has_base = false;
    std::uint32_t last_order = 0;
    for (const placed_character each : parts) {
        const bool is_next = has_base && codes.size() == base + 1;
        const bool is_reached = is_next || (has_base && last_order < each.order());
        if (const std::uint32_t whole = is_reached ? compose(codes[base], each.code()) : 0) {
            codes[base] = whole;
            continue;
        }
        if (each.order() == 0) {
            base = codes.size();
            has_base = true;
        }
        last_order = each.order();
        codes.push_back(each.code());
    }
    return codes;
}

/// Of text that is UTF-8. Throws std::bad_alloc.
[[nodiscard]] ZTENSOR_COLD inline bool is_in_normal_form_c(std::string_view text) {
    std::vector<std::uint32_t> codes;
    std::vector<placed_character> parts;
    while (!text.empty()) {
        const auto lead = static_cast<unsigned char>(text.front());
        const std::size_t size = lead < 0x80 ? 1 : utf8_sequence_bytes(text);
        std::uint32_t code = size == 1 ? lead : lead & (0x7fu >> size);
        for (std::size_t i = 1; i < size; ++i) {
            code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
        }
        text.remove_prefix(size);
        if (find_run(excluded_runs, code) != nullptr) {
            return false;
        }
        codes.push_back(code);
        take_apart(code, parts);
    }
    order_marks(parts);
    return compose_all(parts) == codes;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
