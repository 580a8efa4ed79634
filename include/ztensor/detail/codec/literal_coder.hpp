// SPDX-License-Identifier: MIT
//
// Bytes in which nothing repeats, such as weights → a zstd frame of literals alone. RFC 8878 §3.1.1; SPEC.md §6.2.
//
// Of what libzstd does at its level 1 only the Huffman code makes such bytes smaller, and that can be had in half the
// time: here one code, made from a sample, serves a whole frame, where libzstd counts every byte of every block, makes
// a code for each block, and looks for matches. (64 MiB of weights took 40 ms instead of 70 on Zen 4.)
#ifndef ZTENSOR_DETAIL_CODEC_LITERAL_CODER_HPP
#define ZTENSOR_DETAIL_CODEC_LITERAL_CODER_HPP

#include <ztensor/detail/codec/code_stream.hpp>
#include <ztensor/detail/codec/content_look.hpp>
#include <ztensor/detail/codec/huffman_code.hpp>
#include <ztensor/detail/codec/huffman_description.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Kept from frame to frame. One thread at a time uses it.
class literal_coder {
public:
    /// The level of libzstd that this is a faster way of, for what it takes on.
    static constexpr int level = 1;
    /// A frame needs so much more room than its content while it is made.
    static constexpr std::size_t more_room_bytes = 1024;

    /// One frame of all of `content`, at the front of `to`, which has room for as many bytes and more_room_bytes. Gives
    /// its size, hardly ever half a percent more than libzstd's; or 0 where that is libzstd's task: where content
    /// repeats itself, blocks of it are unlike one another, it has few values, or is less than 256 bytes or more than 1
    /// MiB.
    [[nodiscard]] std::size_t encode(bytes_view content, span<std::byte> to) noexcept {
        if (content.size() < least_coded_bytes || content.size() > most_content_bytes || words_.repeat(content) ||
            !learn(content)) {
            return 0;
        }
        std::byte* at = put_frame_head(content.size(), to.data());
        do {
            const bytes_view block = content.first(std::min(content.size(), block_bytes));
            content = content.subspan(block.size());
            at = put_block(block, content.empty(), at);
        } while (!content.empty());
        return static_cast<std::size_t>(at - to.data());
    }

private:
    static constexpr std::size_t least_coded_bytes = 256;
    static constexpr std::size_t most_content_bytes = std::size_t{1} << 20;
    static constexpr std::size_t block_bytes = std::size_t{1} << 17; ///< the most that zstd allows
    static constexpr std::size_t most_blocks = most_content_bytes / block_bytes;
    static constexpr std::size_t least_sampled_bytes = std::size_t{1} << 16; ///< of less, all bytes are counted
    static constexpr std::size_t block_head_bytes = 3;

    /// Makes the code for `content`. False where one does not suit all of it, or where it is no dense weights.
    [[nodiscard]] bool learn(bytes_view content) noexcept {
        // Of less than this libzstd makes less: its matches shorten what has few values more than a code does. Weights
        // of 16 or 32 bits take 0.78 to 0.93.
        constexpr double least_share = 0.7;
        byte_counts counts;
        if (content.size() < least_sampled_bytes) {
            counts = counter_.count(content);
        } else if (!sample(content, counts)) {
            return false;
        }
        const code_lengths lengths = make_code_lengths(counts, longest_code_for(content.size()));
        words_of_code_ = make_code_words(lengths);
        description_bytes_ = describe_code(lengths, description_.data());
        is_described_ = false;
        const auto size = static_cast<double>(content.size());
        const double share = coded_share(counts, lengths);
        saves_ = share * size + static_cast<double>(description_bytes_) < size - size / 64; // as libzstd has it
        return description_bytes_ != 0 && share > least_share;
    }

    /// Of little content the description counts, which is shorter for a code whose lengths differ less.
    [[nodiscard]] static constexpr unsigned longest_code_for(std::size_t content_bytes) noexcept {
        return content_bytes < 4096 ? longest_code - 2 : longest_code;
    }

    /// Counts some lines of each block. False if blocks are unlike one another, or many bytes were not met.
    [[nodiscard]] bool sample(bytes_view content, byte_counts& counts) noexcept {
        constexpr double most_lost_bits_of_byte = 0.04; // half a percent of what dense weights take
        constexpr std::size_t most_absent = 16;         // each of which takes a 2,048th of the code, in case it comes
        constexpr std::size_t most_lines_of_group = 16, wanted_bytes = least_sampled_bytes / 2;
        const std::size_t lines_of_group = std::min(content.size() / wanted_bytes, most_lines_of_group);
        std::array<byte_counts, most_blocks> of_block;
        std::size_t blocks = 0;
        for (bytes_view rest = content; !rest.empty(); ++blocks) {
            const bytes_view block = rest.first(std::min(rest.size(), block_bytes));
            of_block[blocks] = counter_.sample(block, lines_of_group);
            rest = rest.subspan(block.size());
        }
        counts = sum_of(of_block.data(), blocks);
        std::size_t absent = 0;
        for (std::uint32_t& count : counts) {
            absent += count == 0 ? 1 : 0;
            count += count == 0 ? 1 : 0;
        }
        return absent <= most_absent && bits_lost_by_sharing(of_block.data(), blocks, counts) <= most_lost_bits_of_byte;
    }

    [[nodiscard]] static std::byte* put_frame_head(std::size_t content_bytes, std::byte* at) noexcept {
        constexpr std::uint64_t magic = 0xFD2FB528;
        constexpr std::size_t least_told = 256, most_short = 65535 + least_told; // of a size in 2 bytes
        constexpr unsigned one_segment = 0x20;                                   // whose window is not told
        const bool is_short = content_bytes <= most_short;
        store_little(magic, at, 4);
        at[4] = static_cast<std::byte>(one_segment | (is_short ? 1u : 2u) << 6);
        store_little(is_short ? content_bytes - least_told : content_bytes, at + 5, is_short ? 2 : 4);
        return at + (is_short ? 7 : 9);
    }

    [[nodiscard]] std::byte* put_block(bytes_view block, bool is_last, std::byte* at) noexcept {
        constexpr unsigned raw = 0, compressed = 2;
        std::byte* const body = at + block_head_bytes;
        const std::size_t coded_bytes = saves_ && block.size() >= least_coded_bytes ? put_literals(block, body) : 0;
        const bool is_coded = coded_bytes != 0 && coded_bytes < block.size();
        if (is_coded) {
            is_described_ = true;
        } else {
            std::memcpy(body, block.data(), block.size());
        }
        const std::size_t bytes = is_coded ? coded_bytes : block.size();
        store_little((is_last ? 1u : 0u) | (is_coded ? compressed : raw) << 1 | bytes << 3, at, block_head_bytes);
        return body + bytes;
    }

    /// The literals of `block`, and no sequences. Gives their size; 0 where they don't fit.
    [[nodiscard]] std::size_t put_literals(bytes_view block, std::byte* const begin) noexcept {
        constexpr unsigned described = 2, as_before = 3; // the code
        const unsigned format = block.size() < 1024 ? 1 : block.size() < 16384 ? 2 : 3;
        const std::size_t sizes_bytes = 2 + format;
        const unsigned size_bits = 6 + 4 * format;
        std::byte* const literals = begin + sizes_bytes;
        std::byte* at = literals;
        if (!is_described_) {
            std::memcpy(at, description_.data(), description_bytes_);
            at += description_bytes_;
        }
        at = put_streams(block, at);
        if (at == nullptr) {
            return 0;
        }
        store_little((is_described_ ? as_before : described) | format << 2 | std::uint64_t{block.size()} << 4 |
                         static_cast<std::uint64_t>(at - literals) << (4 + size_bits),
                     begin, sizes_bytes);
        *at++ = std::byte{0}; // sequences
        return static_cast<std::size_t>(at - begin);
    }

    /// A quarter of `block` in each of four streams, behind the sizes of the first three. Gives their end; null where
    /// they take more than the block, and already where half of it takes so much that a third stream might not fit.
    [[nodiscard]] std::byte* put_streams(bytes_view block, std::byte* const sizes) noexcept {
        const std::size_t quarter = (block.size() + 3) / 4;
        std::byte* at = sizes + 6;
        for (std::size_t stream = 0; stream < 4; stream += 2) {
            const bytes_view other = block.subspan((stream + 1) * quarter);
            const two_ends ends =
                put_two_streams(words_of_code_, block.subspan(stream * quarter, quarter),
                                other.first(std::min(quarter, other.size())), at, other_stream_.data());
            const auto bytes = static_cast<std::size_t>(ends.first - at);
            const auto other_bytes = static_cast<std::size_t>(ends.second - other_stream_.data());
            const std::size_t most_bytes = stream == 0 ? 5 * quarter / 2 : block.size();
            if (static_cast<std::size_t>(ends.first - sizes) + other_bytes > most_bytes) {
                return nullptr;
            }
            store_little(bytes, sizes + 2 * stream, 2);
            if (stream == 0) {
                store_little(other_bytes, sizes + 2, 2);
            }
            std::memcpy(ends.first, other_stream_.data(), other_bytes);
            at = ends.first + other_bytes;
        }
        return at;
    }

    word_memory words_;
    byte_counter counter_;
    code_words words_of_code_;
    std::array<std::byte, 128> description_; ///< of the code, for decoders
    std::size_t description_bytes_ = 0;
    bool is_described_ = false; ///< in a block of this frame
    bool saves_ = false;        ///< the code, as far as was seen
    /// Every second stream, until it is known where it begins.
    std::array<std::byte, block_bytes / 4 * longest_code / 8 + 16> other_stream_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
