// SPDX-License-Identifier: MIT
//
// Bytes and the words of their code → streams of bits that zstd's decoders read backwards. RFC 8878 §4.2.2.
#ifndef ZTENSOR_DETAIL_CODEC_CODE_STREAM_HPP
#define ZTENSOR_DETAIL_CODEC_CODE_STREAM_HPP

#include <ztensor/detail/codec/huffman_code.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Codes behind one another, the first one's in the lowest bits.
class code_stream {
public:
    /// `to` has room for what comes and 8 bytes more.
    explicit code_stream(std::byte* to) noexcept : at_(to) {}

    /// Puts the codes of four bytes, the last one's first.
    void put_four(const code_words& words, const std::byte* bytes) noexcept {
        put(words[std::to_integer<std::size_t>(bytes[3])]); // written out: -O2 unrolls no loop
        put(words[std::to_integer<std::size_t>(bytes[2])]);
        put(words[std::to_integer<std::size_t>(bytes[1])]);
        put(words[std::to_integer<std::size_t>(bytes[0])]);
        flush(); // of at most 44 bits, and 7 that were left from before
    }
    /// The same of as many as there are.
    void put_all(const code_words& words, bytes_view bytes) noexcept {
        for (std::size_t i = bytes.size(); i-- != 0;) {
            put(words[std::to_integer<std::size_t>(bytes[i])]);
            flush();
        }
    }
    /// Ends the stream by a bit that decoders look for. Gives the end of its last byte.
    [[nodiscard]] std::byte* end() noexcept {
        constexpr std::uint64_t one_bit = std::uint64_t{1} << 63 | 1;
        put(one_bit);
        flush();
        return at_ + (count_ != 0 ? 1 : 0);
    }

private:
    void put(std::uint64_t word) noexcept {
        bits_ = bits_ >> (word & 63) | word;
        count_ += word; // of the sum, only the lowest six bits have a meaning
    }
    /// Writes all bits, and goes on behind the last whole byte of them.
    void flush() noexcept {
        count_ &= 63;
        store_little_64(bits_ >> ((64 - count_) & 63), at_);
        at_ += count_ / 8;
        count_ %= 8;
    }

    std::uint64_t bits_ = 0;  ///< the last code in the highest; below all codes is rubbish
    std::uint64_t count_ = 0; ///< of bits that are not yet written, or not in a whole byte
    std::byte* at_;
};

/// Where the streams end.
struct two_ends {
    std::byte* first;
    std::byte* second;
};

/// Codes two rows of bytes at once, each into a stream of its own: one alone would wait for itself, and with four the
/// registers don't suffice (64 MiB of weights took 40, 33 and 38 ms on Zen 4).
[[nodiscard]] inline two_ends put_two_streams(const code_words& words, bytes_view first, bytes_view second,
                                              std::byte* to_first, std::byte* to_second) noexcept {
    code_stream one(to_first), other(to_second);
    std::size_t left_of_first = first.size(), left_of_second = second.size();
    for (; std::min(left_of_first, left_of_second) >= 4; left_of_first -= 4, left_of_second -= 4) {
        one.put_four(words, first.data() + left_of_first - 4);
        other.put_four(words, second.data() + left_of_second - 4);
    }
    one.put_all(words, first.first(left_of_first));
    other.put_all(words, second.first(left_of_second));
    return {one.end(), other.end()};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
