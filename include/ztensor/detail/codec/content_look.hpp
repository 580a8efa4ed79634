// SPDX-License-Identifier: MIT
//
// What some of a content's bytes tell about all of them: how often each byte occurs, whether words come again, whether
// one part is like the others. Knows nothing of zstd.
#ifndef ZTENSOR_DETAIL_CODEC_CONTENT_LOOK_HPP
#define ZTENSOR_DETAIL_CODEC_CONTENT_LOOK_HPP

#include <ztensor/detail/codec/huffman_code.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Counts bytes in four tables in turn: one table would wait for itself where a byte comes twice in a row.
class byte_counter {
public:
    /// All of them.
    [[nodiscard]] byte_counts count(bytes_view content) noexcept {
        add(content);
        return take();
    }
    /// Those of one line in `lines_of_group`, not always the same one: rows of a tensor might be as far from each
    /// other.
    [[nodiscard]] byte_counts sample(bytes_view content, std::size_t lines_of_group) noexcept {
        constexpr std::size_t line_bytes = 64;
        const std::size_t group_bytes = lines_of_group * line_bytes;
        for (std::size_t group = 0; group < content.size() / group_bytes; ++group) {
            add(content.subspan(group * group_bytes + group % lines_of_group * line_bytes, line_bytes));
        }
        return take();
    }

private:
    void add(bytes_view bytes) noexcept {
        const std::byte* at = bytes.data();
        std::size_t left = bytes.size();
        for (; left >= 8; left -= 8, at += 8) {
            const std::uint64_t word = load_little_64(at); // written out: -O2 unrolls no loop
            ++tables_[0][word & 255];
            ++tables_[1][word >> 8 & 255];
            ++tables_[2][word >> 16 & 255];
            ++tables_[3][word >> 24 & 255];
            ++tables_[0][word >> 32 & 255];
            ++tables_[1][word >> 40 & 255];
            ++tables_[2][word >> 48 & 255];
            ++tables_[3][static_cast<std::size_t>(word >> 56)];
        }
        for (; left != 0; --left, ++at) {
            ++tables_[0][std::to_integer<std::size_t>(*at)];
        }
    }

    /// What was added, and starts anew.
    [[nodiscard]] byte_counts take() noexcept {
        byte_counts counts;
        for (std::size_t byte = 0; byte < byte_values; ++byte) {
            counts[byte] = tables_[0][byte] + tables_[1][byte] + tables_[2][byte] + tables_[3][byte];
        }
        tables_ = {};
        return counts;
    }

    std::array<byte_counts, 4> tables_{};
};

[[nodiscard]] inline byte_counts sum_of(const byte_counts* parts, std::size_t count) noexcept {
    byte_counts sum{};
    for (std::size_t part = 0; part < count; ++part) {
        for (std::size_t byte = 0; byte < byte_values; ++byte) {
            sum[byte] += parts[part][byte];
        }
    }
    return sum;
}

/// How many bits a byte loses where parts are coded alike and not each in its own way: half of what chi-squared is
/// beyond chance, by the logarithm of 2. `all` are the sums of `parts`, or more.
[[nodiscard]] inline double bits_lost_by_sharing(const byte_counts* parts, std::size_t count,
                                                 const byte_counts& all) noexcept {
    constexpr double half_over_log_2 = 0.7213475204444817;
    const auto bytes_of = [](const byte_counts& counts) {
        std::uint64_t bytes = 0;
        for (const std::uint32_t each : counts) {
            bytes += each;
        }
        return static_cast<double>(bytes);
    };
    double counted_parts = 0, squares = 0; // chi-squared, the sum of (found - expected)² / expected, multiplied out
    for (std::size_t part = 0; part < count; ++part) {
        const double part_bytes = bytes_of(parts[part]);
        double shares = 0;
        for (std::size_t byte = 0; byte < byte_values; ++byte) {
            const double found = parts[part][byte];
            shares += found * found / std::max<double>(all[byte], 1);
        }
        if (part_bytes != 0) { // of next to nothing no line is looked at
            squares += shares / part_bytes;
            counted_parts += 1;
        }
    }
    const double by_chance = (counted_parts - 1) * static_cast<double>(byte_values - 1) / bytes_of(all);
    return half_over_log_2 * (squares - 1 - by_chance);
}

/// Remembers words by their place in a table, the last one that came to it.
class word_memory {
public:
    /// True if of the words that are looked at, at regular distances, more than one in 1,024 came before: content
    /// repeats itself, be it in runs, in rows or by having few values.
    [[nodiscard]] bool repeat(bytes_view content) noexcept {
        start(content.size());
        std::size_t looked_at = 0, known = 0;
        for (bytes_view part = content; part.size() >= word_bytes;
             part = part.subspan(std::min(part.size(), part_bytes))) {
            const std::size_t end = std::min(part.size() - word_bytes + 1, part_bytes);
            // All words at its beginning are remembered: wherever the part comes again, some of them are met.
            std::size_t at = 0;
            for (; at < std::min(end, 16 * distance_); at += 2) {
                static_cast<void>(is_known(part.data() + at));
            }
            for (; at < end; at += distance_, ++looked_at) {
                known += is_known(part.data() + at) ? 1 : 0;
            }
        }
        return known > 1 + looked_at / 1024;
    }

private:
    static constexpr std::size_t word_bytes = 8, part_bytes = std::size_t{1} << 17;
    static constexpr std::size_t most_distance = 64, most_small_bytes = std::size_t{1} << 14,
                                 most_medium_bytes = std::size_t{1} << 18;
    static constexpr unsigned table_bits = 13, small_table_bits = 11;

    void start(std::size_t content_bytes) noexcept {
        distance_ = word_bytes;
        while (distance_ < most_distance && content_bytes / distance_ > 1024) {
            distance_ *= 2;
        }
        const bool is_small = content_bytes <= most_small_bytes;
        place_shift_ = 64 - (is_small ? small_table_bits : table_bits);
        const unsigned repeated_bytes = is_small ? 4 : content_bytes <= most_medium_bytes ? 6 : 7;
        left_out_bits_ = 64 - 8 * repeated_bytes;
        std::fill(marks_.begin(), marks_.begin() + (std::ptrdiff_t{1} << (64 - place_shift_)), 0u);
    }

    /// Whether the word at `at` came before; from now on it did.
    [[nodiscard]] bool is_known(const std::byte* at) noexcept {
        constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15; // of 2^64: all its bits mix into the highest
        const std::uint64_t mixed = (load_little_64(at) << left_out_bits_) * golden_ratio;
        const auto mark = static_cast<std::uint32_t>(mixed >> 19) | 1;
        return std::exchange(marks_[static_cast<std::size_t>(mixed >> place_shift_)], mark) == mark;
    }

    std::size_t distance_ = 0;   ///< from one word to the next that is looked at
    unsigned place_shift_ = 0;   ///< leaves the place of a mixed word
    unsigned left_out_bits_ = 0; ///< of a word: libzstd, too, takes shorter ones for less content
    std::array<std::uint32_t, std::size_t{1} << table_bits> marks_; ///< other bits of a mixed word; 0: none
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
