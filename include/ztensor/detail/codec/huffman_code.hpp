// SPDX-License-Identifier: MIT
//
// How often bytes occur → a Huffman code for them, as zstd numbers its codes. RFC 8878 §4.2.1.
#ifndef ZTENSOR_DETAIL_CODEC_HUFFMAN_CODE_HPP
#define ZTENSOR_DETAIL_CODEC_HUFFMAN_CODE_HPP

#include <ztensor/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

inline constexpr std::size_t byte_values = 256;
/// In bits: zstd knows no longer code.
inline constexpr unsigned longest_code = 11;

/// How often each byte occurs; together below 2^32.
using byte_counts = std::array<std::uint32_t, byte_values>;

/// Of the code of each byte, in bits; 0 where the byte does not occur.
using code_lengths = std::array<std::uint8_t, byte_values>;

/// How many codes there are of each length. An unlimited code of 46 bits would take more than 2^32 bytes to be the
/// best.
using codes_of_length = std::array<unsigned, 46>;

/// Bytes that occur and how often, the rarest first. No branch of what follows hangs on counts: of 1 KiB most would be
/// guessed wrong, and making a code would take 12 us where libzstd compresses in 5.
class ranked_bytes {
public:
    explicit ranked_bytes(const byte_counts& counts) noexcept {
        std::uint32_t most = 0;
        std::size_t count = 0;
        for (std::size_t byte = 0; byte < byte_values; ++byte) {
            ranked_[count] = std::uint64_t{counts[byte]} << 8 | byte;
            count += counts[byte] != 0 ? 1 : 0;
            most |= counts[byte];
        }
        count_ = count;
        for (unsigned digit = 8; digit < 40 && most >> (digit - 8) != 0; digit += 8) {
            sort_by_digit(digit);
        }
    }

    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] std::size_t byte(std::size_t rank) const noexcept { return ranked_[rank] & 255; }
    [[nodiscard]] std::uint32_t count(std::size_t rank) const noexcept {
        return static_cast<std::uint32_t>(ranked_[rank] >> 8);
    }

private:
    void sort_by_digit(unsigned digit) noexcept {
        std::array<std::uint16_t, byte_values> places{};
        for (std::size_t rank = 0; rank < count_; ++rank) {
            ++places[ranked_[rank] >> digit & 255];
        }
        std::uint16_t before = 0;
        for (std::uint16_t& place : places) {
            before = static_cast<std::uint16_t>(before + std::exchange(place, before));
        }
        const auto unsorted = ranked_;
        for (std::size_t rank = 0; rank < count_; ++rank) {
            ranked_[places[unsorted[rank] >> digit & 255]++] = unsorted[rank];
        }
    }

    std::array<std::uint64_t, byte_values + 1> ranked_{}; ///< and a place for the last that does not occur
    std::size_t count_ = 0;
};

/// Of the best code for at least two bytes.
[[nodiscard]] inline codes_of_length best_code_lengths(const ranked_bytes& bytes) noexcept {
    // Nodes: bytes, two that are none, and joints of two nodes each, as many as bytes but one, with two that are none.
    // Bytes rise, joints rise as they are made, and so the two rarest nodes are at the front of one row or of both.
    constexpr std::uint32_t none = ~std::uint32_t{0};
    std::array<std::uint32_t, 2 * byte_values + 4> weight;
    std::array<std::uint16_t, 2 * byte_values + 4> parent;
    const std::size_t joints = bytes.size() + 2, root = 2 * bytes.size();
    for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
        weight[byte] = bytes.count(byte);
    }
    std::fill(weight.begin() + static_cast<std::ptrdiff_t>(bytes.size()), weight.end(), none);
    for (std::size_t byte = 0, joint = joints, made = joints; made <= root; ++made) {
        const bool joins_bytes = weight[byte + 1] <= weight[joint];
        const bool joins_joints = weight[joint + 1] < weight[byte];
        weight[made] = joins_bytes    ? weight[byte] + weight[byte + 1]
                       : joins_joints ? weight[joint] + weight[joint + 1]
                                      : weight[byte] + weight[joint];
        for (const std::size_t node : {byte, byte + 1, joint, joint + 1}) { // who is not joined now, is so later
            parent[node] = static_cast<std::uint16_t>(made);
        }
        byte += joins_bytes ? 2 : joins_joints ? 0 : 1;
        joint += joins_bytes ? 0 : joins_joints ? 2 : 1;
    }
    std::array<std::uint8_t, 2 * byte_values + 4> depth;
    codes_of_length lengths{};
    depth[root] = 0;
    for (std::size_t joint = root; joint-- != joints;) {
        depth[joint] = static_cast<std::uint8_t>(depth[parent[joint]] + 1);
    }
    for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
        ++lengths[depth[parent[byte]] + 1u];
    }
    return lengths;
}

/// Makes no code longer than `longest`. Cuts off what is longer, lengthens others until there is room for all of them,
/// those first that cost least for the room they give, and shortens what fits into the room that is left.
inline void limit_code_lengths(codes_of_length& lengths, const ranked_bytes& bytes, unsigned longest) noexcept {
    const auto room_of = [&](std::size_t length) { return std::int64_t{1} << (longest - length); };
    std::int64_t room = room_of(0);
    for (std::size_t length = 1; length < lengths.size(); ++length) {
        room -= lengths[length] * room_of(std::min<std::size_t>(length, longest));
        if (length > longest) {
            lengths[longest] += std::exchange(lengths[length], 0u);
        }
    }
    while (room < 0) {
        std::size_t rank = lengths[longest], best = 0; // of each length the rarest byte, behind those of longer codes
        std::int64_t cost = 1, given = 0;
        for (unsigned length = longest - 1; length != 0; rank += lengths[length--]) {
            const std::int64_t gives = std::min(room_of(length + 1), -room);
            if (lengths[length] != 0 && (best == 0 || bytes.count(rank) * given < cost * gives)) {
                best = length;
                cost = bytes.count(rank);
                given = gives;
            }
        }
        lengths[best] -= 1;
        lengths[best + 1] += 1;
        room += room_of(best + 1);
    }
    while (room > 0) {
        std::size_t rank = 0, best = 0; // of each length the commonest byte
        std::int64_t saved = 0, taken = 1;
        for (unsigned length = longest; length > 1; --length) {
            rank += lengths[length];
            const std::int64_t takes = room_of(length);
            if (lengths[length] != 0 && takes <= room && bytes.count(rank - 1) * taken >= saved * takes) {
                best = length;
                saved = bytes.count(rank - 1);
                taken = takes;
            }
        }
        lengths[best] -= 1;
        lengths[best - 1] += 1;
        room -= room_of(best);
    }
}

/// Of a code for bytes that occur so often. All 0 if fewer than two of them occur at all.
[[nodiscard]] inline code_lengths make_code_lengths(const byte_counts& counts, unsigned longest) noexcept {
    const ranked_bytes bytes(counts);
    code_lengths lengths{};
    if (bytes.size() < 2) {
        return lengths;
    }
    codes_of_length wanted = best_code_lengths(bytes);
    limit_code_lengths(wanted, bytes, longest);
    std::size_t rank = 0;
    for (unsigned length = longest; length != 0; --length) {
        for (unsigned i = 0; i < wanted[length]; ++i, ++rank) {
            lengths[bytes.byte(rank)] = static_cast<std::uint8_t>(length);
        }
    }
    return lengths;
}

/// The code of each byte in the highest bits, its length in the lowest.
using code_words = std::array<std::uint64_t, byte_values>;

/// zstd numbers the codes from the longest to the shortest, and those of one length in the order of their bytes.
[[nodiscard]] inline code_words make_code_words(const code_lengths& lengths) noexcept {
    std::array<std::uint64_t, longest_code + 1> counts{}, next{};
    for (const std::uint8_t length : lengths) {
        ++counts[length];
    }
    for (unsigned length = longest_code; length > 1; --length) {
        next[length - 1] = (next[length] + counts[length]) / 2;
    }
    code_words words;
    for (std::size_t byte = 0; byte < byte_values; ++byte) {
        const unsigned length = lengths[byte];
        const std::uint64_t word = next[length]++ << ((64 - length) & 63) | length;
        words[byte] = length != 0 ? word : 0; // takes no room, should it come all the same
    }
    return words;
}

/// What bytes that occur so often take when coded, of what they take as they are.
[[nodiscard]] inline double coded_share(const byte_counts& counts, const code_lengths& lengths) noexcept {
    std::uint64_t bytes = 0, bits = 0;
    for (std::size_t byte = 0; byte < byte_values; ++byte) {
        bytes += counts[byte];
        bits += std::uint64_t{counts[byte]} * lengths[byte];
    }
    return static_cast<double>(bits) / (8.0 * static_cast<double>(bytes));
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
