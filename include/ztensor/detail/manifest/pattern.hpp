// SPDX-License-Identifier: MIT
//
// How an object or a component is encoded, but for a name, a shape and a few numbers: runs of bytes that are the same
// every time, compared at once instead of parsed, and the fields between them. SPEC.md §3.
#ifndef ZTENSOR_DETAIL_MANIFEST_PATTERN_HPP
#define ZTENSOR_DETAIL_MANIFEST_PATTERN_HPP

#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/manifest/names.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What may differ from one object to the next that is encoded alike.
enum class pattern_field : std::uint8_t {
    shape,
    offset,
    length,
    uncompressed_length,
    digits,
    lower_digits,
    components,
    end
};

/// Where the general way met a field's value in the index: [begin, end).
struct met_field {
    pattern_field field;
    std::uint32_t begin;
    std::uint32_t end;
};

/// Runs of constant bytes, each followed by a field.
class pattern {
public:
    static constexpr std::size_t most_runs = 8;

    /// The fields of a pattern, and what is looked at to see that they fit, take fewer bytes than this. So many can be
    /// read behind the index.
    static constexpr std::size_t reach_bytes = 2048;

    /// Where its runs were found, and behind them a 0 for what is absent.
    using run_positions = std::uint32_t[most_runs + 1];

    /// The place of an item that is always at the same distance from the start of a run.
    struct place {
        std::uint8_t run = most_runs;
        std::uint8_t distance = 0;

        [[nodiscard]] index_item in(const run_positions& begins) const noexcept { return {begins[run] + distance}; }
    };

    struct run {
        std::uint64_t keep;  ///< of the last word, the bytes that belong to the run
        pattern_field then;  ///< what stands behind it
        std::uint8_t digits; ///< of those fields, how many
        std::uint8_t first_word;
        std::uint8_t whole_words;
        std::uint8_t rest_bytes;
    };

    [[nodiscard]] span<const run> runs() const noexcept { return {runs_, count_}; }

    /// Behind the run, if it stands at `at`; else nullptr.
    [[nodiscard]] const std::byte* pass(const run& expected, const std::byte* at) const noexcept {
        const std::uint64_t* word = words_ + expected.first_word;
        std::uint64_t difference = 0;
        for (const std::uint64_t* const last = word + expected.whole_words; word != last; ++word, at += 8) {
            difference |= load_little_64(at) ^ *word; // nearly always the same: not worth a branch for each word
        }
        difference |= (load_little_64(at) ^ *word) & expected.keep;
        return difference == 0 ? at + expected.rest_bytes : nullptr;
    }

    /// Takes [begin, end) of the index apart, at `fields`, which are in the order of the index. False if it is too
    /// long or has too many of them.
    ZTENSOR_COLD bool learn(bytes_view index, std::uint32_t begin, std::uint32_t end, span<const met_field> fields) {
        count_ = 0;
        std::size_t words = 0;
        for (std::size_t i = 0; i <= fields.size(); ++i) {
            const met_field next = i < fields.size() ? fields[i] : met_field{pattern_field::end, end, end};
            const std::size_t size = next.begin - begin;
            const std::size_t run_words = size / 8 + 1;
            if (count_ == most_runs || size > longest_run_bytes || words + run_words > most_words) {
                return false;
            }
            runs_[count_] = {(std::uint64_t{1} << 8 * (size % 8)) - 1,
                             next.field,
                             static_cast<std::uint8_t>(next.end - next.begin),
                             static_cast<std::uint8_t>(words),
                             static_cast<std::uint8_t>(size / 8),
                             static_cast<std::uint8_t>(size % 8)};
            begins_[count_] = begin;
            ++count_;
            for (std::size_t at = 0; at < run_words * 8; at += 8) {
                words_[words++] = load_little(index.data() + begin + at, at + 8 <= size ? 8 : size - at);
            }
            begin = next.end;
        }
        return true;
    }

    /// Of an item that was met in what has been learned, the place; absent for an absent one.
    [[nodiscard]] ZTENSOR_COLD place place_of(index_item item) const noexcept {
        place found;
        for (std::size_t i = 0; item.is_present() && i < count_ && begins_[i] <= item.position; ++i) {
            found = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(item.position - begins_[i])};
        }
        return found;
    }

private:
    static constexpr std::size_t longest_run_bytes = 255; // a place has 8 bits
    static constexpr std::size_t most_words = 40;         // so that all runs and fields are below reach_bytes

    std::uint64_t words_[most_words];
    run runs_[most_runs];
    std::uint32_t begins_[most_runs]; ///< where each run stood when it was learned
    std::size_t count_ = 0;
};

// -- fields: each returns where it ends, or nullptr if the general way must look.

[[nodiscard]] inline const std::byte* pass_unsigned(const std::byte* at, std::uint64_t& value) noexcept {
    const auto first = std::to_integer<std::uint8_t>(*at);
    if (first < 24) {
        value = first;
        return at + 1;
    }
    if (first > 0x1b) {
        return nullptr;
    }
    const std::size_t size = std::size_t{1} << (first - 24);
    value = load_big_64(at + 1) >> (64 - 8 * size);
    return at + 1 + size;
}

/// The same of a head that could not be shorter.
[[nodiscard]] inline const std::byte* pass_shortest_unsigned(const std::byte* at, std::uint64_t& value) noexcept {
    const std::byte* const end = pass_unsigned(at, value);
    const std::ptrdiff_t size = end == nullptr ? 0 : end - at - 1;
    const bool fits_in_less = size == 1 ? value < 24 : size > 1 && value >> (4 * size) == 0;
    return fits_in_less ? nullptr : end;
}

template <bool IsDeterministic>
[[nodiscard]] inline const std::byte* pass_shape(const std::byte* at, std::uint64_t& element_count) noexcept {
    std::size_t rank = std::to_integer<std::size_t>(*at++) - 0x80;
    if (rank == 0x18) {
        rank = std::to_integer<std::size_t>(*at++);
        if ((IsDeterministic && rank < 24) || rank > max_rank) {
            return nullptr;
        }
    } else if (rank >= 24) { // a wider head, or that of something else
        return nullptr;
    }
    element_counter counter;
    constexpr std::uint64_t eight_ones = 0x0101010101010101u;
    for (std::uint64_t dimension = 0; rank != 0; --rank) {
        for (; rank > 8 && load_little_64(at) == eight_ones; rank -= 8) { // what most of very many dimensions are
            at += 8;
        }
        at = IsDeterministic ? pass_shortest_unsigned(at, dimension) : pass_unsigned(at, dimension);
        if (at == nullptr || !counter.multiply(dimension)) {
            return nullptr;
        }
    }
    element_count = counter.count();
    return at;
}

/// Hexadecimal, in either case, or in lower case alone.
[[nodiscard]] inline const std::byte* pass_digits(const std::byte* at, std::size_t count, bool is_lower) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101u;
    constexpr std::uint64_t high = 0x80 * ones;
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < count; i += 8) { // eight digits at once, each in its byte
        const std::uint64_t digits = load_little_64(at + i);
        const std::uint64_t lower = digits | 0x20 * ones;
        const std::uint64_t is_digit = (lower + (0x80 - '0') * ones) & ~(lower + (0x80 - '9' - 1) * ones);
        const std::uint64_t is_letter = (lower + (0x80 - 'a') * ones) & ~(lower + (0x80 - 'f' - 1) * ones);
        // The bit 0x20 turns letters into small ones; of the digits it must have been there.
        wrong |= digits | ~((is_digit & digits << 2) | is_letter) | (is_lower ? ~digits << 2 : 0);
    }
    return (wrong & high) == 0 ? at + count : nullptr;
}

/// A name of at most 255 bytes that is ASCII without U+0000.
[[nodiscard]] inline const std::byte* pass_name(const std::byte* at, std::string_view& name) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101u;
    std::size_t size = std::to_integer<std::size_t>(*at++) - 0x60;
    if (size == 0x18) {
        size = std::to_integer<std::size_t>(*at++);
    } else if (size >= 24) {
        return nullptr;
    }
    name = as_text({at, size});
    const std::byte* const end = at + size;
    std::uint64_t wrong = 0; // a byte above 0x7f, or 0, leaves a high bit
    for (; end - at >= 16; at += 16) {
        const std::uint64_t word = load_little_64(at), next = load_little_64(at + 8);
        wrong |= word | (word - ones) | next | (next - ones);
    }
    if (end - at >= 8) {
        const std::uint64_t word = load_little_64(at);
        wrong |= word | (word - ones);
        at += 8;
    }
    const std::uint64_t beyond = ~std::uint64_t{0} << 8 * (end - at);
    const std::uint64_t last = (load_little_64(at) & ~beyond) | (ones & beyond);
    wrong |= last | (last - ones);
    return (wrong & 0x80 * ones) == 0 && size != 0 ? end : nullptr;
}

/// The same with a head that could not be shorter.
[[nodiscard]] inline const std::byte* pass_shortest_name(const std::byte* at, std::string_view& name) noexcept {
    constexpr std::byte one_byte_more{0x78};
    const std::byte* const end = pass_name(at, name);
    return *at == one_byte_more && name.size() < 24 ? nullptr : end;
}

/// a < b; both can be read 8 bytes beyond their ends.
[[nodiscard]] inline bool is_name_before(std::string_view a, std::string_view b) noexcept {
    const std::size_t common = a.size() < b.size() ? a.size() : b.size();
    const std::byte* const left = as_bytes(a).data();
    const std::byte* const right = as_bytes(b).data();
    std::size_t i = 0;
    while (i < common && load_little_64(left + i) == load_little_64(right + i)) {
        i += 8;
    }
    if (i >= common) {
        return a.size() < b.size();
    }
    const std::size_t beyond = common - i < 8 ? 64 - 8 * (common - i) : 0;
    const std::uint64_t x = load_big_64(left + i) >> beyond;
    const std::uint64_t y = load_big_64(right + i) >> beyond;
    return x != y ? x < y : a.size() < b.size();
}

/// The same in the order of deterministic CBOR, whose heads come first.
[[nodiscard]] inline bool is_name_before_2(std::string_view a, std::string_view b) noexcept {
    return a.size() != b.size() ? a.size() < b.size() : is_name_before(a, b);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
