// SPDX-License-Identifier: MIT
//
// Huffman codes for bytes: never longer than asked for, without gaps, as short in all as a code can be that is not
// limited, and described so that they can be worked out again.
#include "support/catch.hpp"

#include <ztensor/detail/codec/huffman_code.hpp>
#include <ztensor/detail/codec/huffman_description.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <queue>
#include <random>
#include <utility>
#include <vector>

namespace {

using ztensor::bytes_view;
using ztensor::detail::byte_counts;
using ztensor::detail::byte_values;
using ztensor::detail::code_lengths;
using ztensor::detail::code_words;
using ztensor::detail::longest_code;
using ztensor::detail::make_code_lengths;
using ztensor::detail::make_code_words;

/// What the bytes take in a code that is not limited, by the textbook: sums of the two smallest, again and again.
std::uint64_t least_bits(const byte_counts& counts) {
    std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> rarest;
    for (const std::uint32_t count : counts) {
        if (count != 0) {
            rarest.push(count);
        }
    }
    std::uint64_t bits = 0;
    while (rarest.size() > 1) {
        std::uint64_t sum = rarest.top();
        rarest.pop();
        sum += rarest.top();
        rarest.pop();
        rarest.push(sum);
        bits += sum;
    }
    return bits;
}

/// What they take in the best code of at most `longest` bits: coins of two bytes' worth each are packed and merged, the
/// way that Larmore and Hirschberg gave.
std::uint64_t least_limited_bits(const byte_counts& counts, unsigned longest) {
    std::vector<std::uint64_t> bytes;
    std::copy_if(counts.begin(), counts.end(), std::back_inserter(bytes), [](std::uint32_t each) { return each != 0; });
    std::sort(bytes.begin(), bytes.end());
    std::vector<std::uint64_t> packages = bytes;
    for (unsigned length = 1; length < longest; ++length) {
        std::vector<std::uint64_t> next = bytes;
        for (std::size_t i = 0; i + 1 < packages.size(); i += 2) {
            next.push_back(packages[i] + packages[i + 1]);
        }
        std::sort(next.begin(), next.end());
        packages = next;
    }
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < 2 * bytes.size() - 2; ++i) {
        bits += packages[i];
    }
    return bits;
}

std::uint64_t bits_of(const byte_counts& counts, const code_lengths& lengths) {
    std::uint64_t bits = 0;
    for (std::size_t byte = 0; byte < byte_values; ++byte) {
        bits += std::uint64_t{counts[byte]} * lengths[byte];
    }
    return bits;
}

std::uint64_t total_of(const byte_counts& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// Every byte that occurs has a code, no other has, and the codes fill all there is.
void check_is_full(const byte_counts& counts, const code_lengths& lengths, unsigned longest) {
    std::uint64_t filled = 0;
    for (std::size_t byte = 0; byte < byte_values; ++byte) {
        CHECK((lengths[byte] != 0) == (counts[byte] != 0));
        CHECK(lengths[byte] <= longest);
        filled += lengths[byte] != 0 ? std::uint64_t{1} << (longest - lengths[byte]) : 0;
    }
    CHECK(filled == std::uint64_t{1} << longest);
}

/// Counts of `kinds` bytes, of which each occurs `skew` times less often than the one before, roughly.
byte_counts random_counts(std::mt19937& dice, std::size_t kinds, double skew) {
    byte_counts counts{};
    double most = 1000000;
    for (std::size_t i = 0; i < kinds; ++i, most /= skew) {
        std::size_t byte = dice() % byte_values;
        while (counts[byte] != 0) {
            byte = (byte + 1) % byte_values;
        }
        counts[byte] = static_cast<std::uint32_t>(1 + dice() % static_cast<std::uint32_t>(most + 1));
    }
    return counts;
}

/// Numbers read from the end of a row of bits backwards, as decoders of FSE do: each has its highest bit last in the
/// row.
class backward_bits {
public:
    explicit backward_bits(bytes_view row) : row_(row), left_(8 * row.size()) {
        while (left_ != 0 && !bit(left_ - 1)) {
            --left_;
        }
        left_ -= left_ != 0 ? 1 : 0; // the bit that marks the end
    }
    [[nodiscard]] bool are_left(unsigned bits) const { return left_ >= bits; }
    [[nodiscard]] unsigned take(unsigned bits) {
        unsigned number = 0;
        for (; bits != 0; --bits) {
            number = number << 1 | (bit(--left_) ? 1u : 0u);
        }
        return number;
    }
    [[nodiscard]] std::size_t left() const { return left_; }

private:
    [[nodiscard]] bool bit(std::size_t at) const {
        return (std::to_integer<unsigned>(row_[at / 8]) >> at % 8 & 1) != 0;
    }

    bytes_view row_;
    std::size_t left_;
};

/// The lengths that a description tells of, worked out as RFC 8878 says, by nothing of the library.
std::vector<unsigned> lengths_told(bytes_view description) {
    const bytes_view coded = description.subspan(1);
    REQUIRE(std::to_integer<std::size_t>(description[0]) == coded.size());
    std::size_t at = 0;
    const auto take = [&](unsigned bits) {
        unsigned number = 0;
        for (unsigned i = 0; i < bits; ++i, ++at) {
            number |= (std::to_integer<unsigned>(coded[at / 8]) >> at % 8 & 1) << i;
        }
        return number;
    };
    const unsigned accuracy = 5 + take(4), states = 1u << accuracy;
    std::vector<unsigned> shares;
    for (unsigned left = states; left != 0;) { // §4.1.1, without probabilities below 1, which the library does not use
        unsigned width = 0;
        while ((left + 1) >> width != 0) {
            ++width;
        }
        const unsigned short_ones = (1u << width) - 1 - (left + 1);
        unsigned told = take(width - 1);
        if (told >= short_ones) {
            told |= take(1) << (width - 1);
            told -= told >= 1u << (width - 1) ? short_ones : 0;
        }
        REQUIRE(told >= 2); // a share of at least 1
        shares.push_back(told - 1);
        REQUIRE(told - 1 <= left);
        left -= told - 1;
    }
    std::vector<unsigned> owner(states);
    unsigned place = 0;
    for (unsigned symbol = 0; symbol < shares.size(); ++symbol) {
        for (unsigned i = 0; i < shares[symbol]; ++i) {
            owner[place] = symbol;
            place = (place + (states >> 1) + (states >> 3) + 3) & (states - 1);
        }
    }
    std::vector<unsigned> bits(states), base(states), next = shares;
    for (unsigned state = 0; state < states; ++state) {
        const unsigned number = next[owner[state]]++;
        while (number << bits[state] < states) {
            ++bits[state];
        }
        base[state] = (number << bits[state]) - states;
    }
    backward_bits row(coded.subspan((at + 7) / 8));
    std::array<unsigned, 2> chain = {row.take(accuracy), row.take(accuracy)};
    std::vector<unsigned> weights;
    for (std::size_t i = 0;; ++i) {
        unsigned& state = chain[i % 2];
        weights.push_back(owner[state]);
        if (!row.are_left(bits[state])) {
            weights.push_back(owner[chain[(i + 1) % 2]]);
            break;
        }
        state = base[state] + row.take(bits[state]);
        REQUIRE(weights.size() <= byte_values);
    }
    CHECK(row.left() == 0);
    unsigned filled = 0;
    for (const unsigned weight : weights) {
        filled += weight != 0 ? 1u << (weight - 1) : 0;
    }
    unsigned longest = 0;
    while (1u << longest <= filled) {
        ++longest;
    }
    unsigned last = 1;
    while (1u << (last - 1) < (1u << longest) - filled) {
        ++last;
    }
    CHECK(1u << (last - 1) == (1u << longest) - filled);
    weights.push_back(last);
    std::vector<unsigned> lengths(byte_values, 0);
    for (std::size_t byte = 0; byte < weights.size(); ++byte) {
        lengths[byte] = weights[byte] != 0 ? longest + 1 - weights[byte] : 0;
    }
    return lengths;
}

/// Few kinds of bytes or all, evenly or so unevenly that a code without limit would take more than 40 bits.
std::vector<byte_counts> all_sorts_of_counts() {
    std::mt19937 dice(1);
    std::vector<byte_counts> all;
    for (const std::size_t kinds : {2u, 3u, 4u, 5u, 9u, 16u, 100u, 200u, 255u, 256u}) {
        for (const double skew : {1.0, 1.01, 1.1, 1.6, 3.0}) {
            for (int i = 0; i < 8; ++i) {
                all.push_back(random_counts(dice, kinds, skew));
            }
        }
    }
    byte_counts equal, rising;
    equal.fill(7);
    std::uint32_t one = 1, other = 1; // as deep as a tree can be
    rising.fill(0);
    for (std::size_t byte = 0; byte < 44; ++byte) {
        rising[byte] = one;
        one = std::exchange(other, one + other);
    }
    all.push_back(equal);
    all.push_back(rising);
    return all;
}

} // namespace

TEST_CASE("a code is full, within its limit, and as short as any where the limit does not matter") {
    for (const byte_counts& counts : all_sorts_of_counts()) {
        for (const unsigned longest : {9u, longest_code}) {
            const code_lengths lengths = make_code_lengths(counts, longest);
            check_is_full(counts, lengths, longest);
            const std::uint64_t best = least_limited_bits(counts, longest);
            const std::uint64_t taken = bits_of(counts, lengths);
            CHECK(taken >= best);
            if (best == least_bits(counts)) {
                CHECK(taken == best);
            }
            if (best > 5 * total_of(counts)) { // of what takes less than 5.6 bits for a byte no frame is made
                CHECK(static_cast<double>(taken) <= 1.005 * static_cast<double>(best));
            }
        }
    }
}

TEST_CASE("of fewer than two bytes there is no code") {
    byte_counts counts{};
    CHECK(make_code_lengths(counts, longest_code) == code_lengths{});
    counts[77] = 1000;
    CHECK(make_code_lengths(counts, longest_code) == code_lengths{});
    std::array<std::byte, 128> description;
    CHECK(ztensor::detail::describe_code(code_lengths{}, description.data()) == 0);
}

TEST_CASE("codes of one length follow one another in the order of their bytes, after all longer ones") {
    for (const byte_counts& counts : all_sorts_of_counts()) {
        const code_lengths lengths = make_code_lengths(counts, longest_code);
        const code_words words = make_code_words(lengths);
        std::uint64_t next = 0; // in units of the longest code
        for (unsigned length = longest_code; length != 0; --length) {
            for (std::size_t byte = 0; byte < byte_values; ++byte) {
                if (lengths[byte] == length) {
                    CHECK((words[byte] & 63) == length);
                    CHECK(words[byte] >> (64 - length) == next >> (longest_code - length));
                    next += std::uint64_t{1} << (longest_code - length);
                }
            }
        }
    }
}

TEST_CASE("a description tells the length of every code") {
    std::size_t described = 0;
    for (const byte_counts& counts : all_sorts_of_counts()) {
        const code_lengths lengths = make_code_lengths(counts, longest_code);
        std::vector<std::byte> description(128);
        const std::size_t bytes = ztensor::detail::describe_code(lengths, description.data());
        if (bytes == 0) {
            CHECK(lengths[0] + lengths[1] ==
                  2); // two bytes, and no weight stands before the last one's: no words for it
            continue;
        }
        ++described;
        REQUIRE(bytes <= description.size());
        const std::vector<unsigned> told = lengths_told(bytes_view(description).first(bytes));
        CHECK(std::equal(lengths.begin(), lengths.end(), told.begin()));
    }
    CHECK(described > 300);
}
