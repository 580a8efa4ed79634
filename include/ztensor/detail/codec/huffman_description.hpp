// SPDX-License-Identifier: MIT
//
// The lengths of a Huffman code → what zstd's decoders are told of it: a weight for each byte, coded by FSE.
// RFC 8878 §4.1 and §4.2.1.
#ifndef ZTENSOR_DETAIL_CODEC_HUFFMAN_DESCRIPTION_HPP
#define ZTENSOR_DETAIL_CODEC_HUFFMAN_DESCRIPTION_HPP

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

/// Numbers of some bits each behind one another, the first one's in the lowest bits.
class bit_row {
public:
    /// `number` is below 2 to the power of `bits`, at most 16.
    void put(std::uint64_t number, unsigned bits) noexcept {
        bits_ |= number << count_;
        count_ += bits;
        store_little_64(bits_, bytes_.data() + size_);
        size_ += count_ / 8;
        bits_ >>= count_ / 8 * 8;
        count_ %= 8;
    }
    /// The next number starts with a byte.
    void fill_byte() noexcept {
        size_ += count_ != 0 ? 1 : 0;
        bits_ = count_ = 0;
    }
    [[nodiscard]] bytes_view bytes() const noexcept { return {bytes_.data(), size_}; }

private:
    std::array<std::byte, 256> bytes_; ///< 11 for shares and 192 for weights, if each takes all of its 6 bits
    std::size_t size_ = 0;             ///< of whole bytes, which `count_` bits follow
    std::uint64_t bits_ = 0;
    unsigned count_ = 0;
};

/// The weights of all bytes but the last that has one, which decoders work out: 0 for a byte without a code, else the
/// more the shorter its code is.
class code_weights {
public:
    explicit code_weights(const code_lengths& lengths) noexcept {
        const unsigned longest = *std::max_element(lengths.begin(), lengths.end());
        for (std::size_t byte = 0; byte < byte_values; ++byte) {
            of_[byte] = static_cast<std::uint8_t>(lengths[byte] != 0 ? longest + 1 - lengths[byte] : 0);
            count_ = of_[byte] != 0 ? byte : count_;
        }
        largest_ = *std::max_element(of_.begin(), of_.begin() + static_cast<std::ptrdiff_t>(count_));
    }

    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] unsigned operator[](std::size_t byte) const noexcept { return of_[byte]; }
    [[nodiscard]] unsigned largest() const noexcept { return largest_; }

private:
    std::array<std::uint8_t, byte_values> of_;
    std::size_t count_ = 0;
    unsigned largest_ = 0;
};

/// An FSE code of 64 states for weights.
class weight_code {
public:
    explicit weight_code(const code_weights& weights) noexcept : kinds_(weights.largest() + 1) {
        share_states(weights);
        spread_states();
    }

    /// How many states each weight has, for decoders.
    void describe(bit_row& row) const noexcept {
        constexpr unsigned least_accuracy = 5;
        row.put(accuracy - least_accuracy, 4);
        // Numbers get narrower as fewer states are left, and the smallest ones of a width are told by one bit less.
        unsigned left = states + 1, threshold = states, width = accuracy + 1;
        for (unsigned weight = 0; weight < kinds_; ++weight) {
            const unsigned short_ones = 2 * threshold - 1 - left;
            const unsigned told = shares_[weight] + 1;
            row.put(told < threshold ? told : told + short_ones, told < short_ones ? width - 1 : width);
            left -= shares_[weight];
            for (; left < threshold; threshold /= 2) {
                --width;
            }
        }
    }

    /// Two chains of states take the weights in turn, and go backwards: what decoders read first is written last.
    void encode(const code_weights& weights, bit_row& row) const noexcept {
        const std::size_t count = weights.size();
        unsigned next = first_state(weights[count - 1]), other = first_state(weights[count - 2]);
        for (std::size_t byte = count - 2; byte-- != 0; std::swap(next, other)) {
            next = step(next, weights[byte], row);
        }
        row.put(next - states, accuracy);
        row.put(other - states, accuracy);
        row.put(1, 1);
    }

private:
    static constexpr unsigned accuracy = 6; ///< in bits: the most that zstd allows for weights
    static constexpr unsigned states = 1u << accuracy;

    /// By how often weights occur; each gets at least one, so that absent ones need no words of their own.
    void share_states(const code_weights& weights) noexcept {
        std::array<unsigned, longest_code + 1> counts{};
        for (std::size_t byte = 0; byte < weights.size(); ++byte) {
            ++counts[weights[byte]];
        }
        unsigned left = states;
        for (unsigned weight = 0; weight < kinds_; ++weight) {
            shares_[weight] = 1 + (states - kinds_) * counts[weight] / static_cast<unsigned>(weights.size());
            left -= shares_[weight];
        }
        *std::max_element(shares_.begin(), shares_.begin() + kinds_) += left;
        for (unsigned weight = 0; weight < kinds_; ++weight) {
            while (shares_[weight] << most_bits_[weight] < states) {
                ++most_bits_[weight];
            }
        }
    }

    /// Which states are whose: zstd's own way to deal them out.
    void spread_states() noexcept {
        constexpr unsigned stride = states / 2 + states / 8 + 3;
        std::array<unsigned, states> owner{};
        unsigned place = 0;
        for (unsigned weight = 0; weight < kinds_; ++weight) {
            for (unsigned i = 0; i < shares_[weight]; ++i, place = (place + stride) % states) {
                owner[place] = weight;
            }
        }
        std::array<unsigned, longest_code + 1> dealt{};
        for (unsigned state = 0; state < states; ++state) {
            places_[owner[state]][dealt[owner[state]]++] = static_cast<std::uint8_t>(state);
        }
    }

    /// A chain's end: of its weight's states the one from which decoders would read most, to find that there is no
    /// more.
    [[nodiscard]] unsigned first_state(unsigned weight) const noexcept { return states + places_[weight][0]; }

    /// From `state`, which is `states` more than its place, to one of `weight`, from which decoders come back to it.
    [[nodiscard]] unsigned step(unsigned state, unsigned weight, bit_row& row) const noexcept {
        const unsigned bits = most_bits_[weight] - (state < shares_[weight] << most_bits_[weight] ? 1 : 0);
        row.put(state & ((1u << bits) - 1), bits);
        return states + places_[weight][(state >> bits) - shares_[weight]];
    }

    unsigned kinds_; ///< weights from 0 to the largest
    std::array<unsigned, longest_code + 1> shares_{};
    std::array<unsigned, longest_code + 1> most_bits_{}; ///< that a step takes, which may be one less
    std::array<std::array<std::uint8_t, states>, longest_code + 1> places_; ///< of each weight's states, rising
};

/// What stands before the first literals that a code with these lengths codes; `to` has room for 128 bytes. Gives its
/// size; 0 where zstd has no words for the code, or its description would be longer.
[[nodiscard]] inline std::size_t describe_code(const code_lengths& lengths, std::byte* to) noexcept {
    constexpr std::size_t longest_description = 127;
    const code_weights weights(lengths);
    if (weights.size() < 2 || weights.largest() == 0) {
        return 0;
    }
    const weight_code code(weights);
    bit_row row;
    code.describe(row);
    row.fill_byte();
    code.encode(weights, row);
    row.fill_byte();
    const bytes_view coded = row.bytes();
    if (coded.size() > longest_description) {
        return 0;
    }
    to[0] = static_cast<std::byte>(coded.size());
    std::copy(coded.begin(), coded.end(), to + 1);
    return 1 + coded.size();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
