// SPDX-License-Identifier: MIT
//
// Weights as zstd frames of literals alone: any decoder decodes them, they are no larger than libzstd's own, and what
// libzstd makes smaller is left to it.
#include "support/bytes.hpp"
#include "support/catch.hpp"

#include <ztensor/detail/codec/literal_coder.hpp>
#include <ztensor/detail/codec/zstd_encoder.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <zstd.h>

namespace {

using support::byte_vector;
using support::noise;
using ztensor::bytes_view;
using ztensor::detail::literal_coder;
using ztensor::detail::zstd_encoder;

constexpr std::size_t kibibyte = 1024, mebibyte = kibibyte * kibibyte;

/// The frame, made in memory of just the size that is asked for; empty where the coder leaves it to libzstd.
byte_vector coded(bytes_view content) {
    const auto coder = std::make_unique<literal_coder>();
    byte_vector to(content.size() + literal_coder::more_room_bytes);
    to.resize(coder->encode(content, to));
    return to;
}

byte_vector decoded_at_once(bytes_view frame, std::size_t size) {
    byte_vector content(size);
    const std::size_t decoded = ZSTD_decompress(content.data(), content.size(), frame.data(), frame.size());
    CHECK(std::string(ZSTD_isError(decoded) != 0 ? ZSTD_getErrorName(decoded) : "") == "");
    CHECK(decoded == size);
    return content;
}

/// By a decoder that gets and gives some bytes at a time.
byte_vector decoded_in_pieces(bytes_view frame, std::size_t size) {
    ZSTD_DCtx* const context = ZSTD_createDCtx();
    byte_vector content(size);
    std::size_t made = 0, left = 1;
    for (std::size_t taken = 0; left != 0 && taken < frame.size();) {
        const bytes_view piece = frame.subspan(taken, std::min<std::size_t>(frame.size() - taken, 1009));
        ZSTD_inBuffer in{piece.data(), piece.size(), 0};
        ZSTD_outBuffer out{content.data(), content.size(), made};
        left = ZSTD_decompressStream(context, &out, &in);
        REQUIRE(ZSTD_isError(left) == 0);
        made = out.pos;
        taken += in.pos;
    }
    ZSTD_freeDCtx(context);
    CHECK(made == size);
    return content;
}

std::size_t bytes_by_libzstd(bytes_view content) {
    byte_vector to(ZSTD_compressBound(content.size()));
    return ZSTD_compress(to.data(), to.size(), content.data(), content.size(), literal_coder::level);
}

template <class Element>
byte_vector bytes_of_elements(std::size_t size, const std::function<Element(std::size_t)>& element) {
    std::vector<Element> elements(size / sizeof(Element) + 1);
    for (std::size_t i = 0; i < elements.size(); ++i) {
        elements[i] = element(i);
    }
    const auto* const first = static_cast<const std::byte*>(static_cast<const void*>(elements.data()));
    return {first, first + size};
}

struct kind_of_content {
    const char* name;
    std::function<byte_vector(std::size_t size)> make;
};

float normal(std::mt19937& dice) {
    return std::normal_distribution<float>(0.0F, 0.02F)(dice);
}

/// What nothing repeats in.
std::vector<kind_of_content> all_weights() {
    static std::mt19937 dice(1);
    return {
        {"f32", [](std::size_t size) { return bytes_of_elements<float>(size, [](auto) { return normal(dice); }); }},
        {"bf16",
         [](std::size_t size) {
             return bytes_of_elements<ztensor::bfloat16>(size, [](auto) { return ztensor::bfloat16(normal(dice)); });
         }},
        {"f16",
         [](std::size_t size) {
             return bytes_of_elements<ztensor::float16>(size, [](auto) { return ztensor::float16(normal(dice)); });
         }},
        {"f32 from 0 to 1",
         [](std::size_t size) {
             return bytes_of_elements<float>(size, [](auto) { return std::uniform_real_distribution<float>()(dice); });
         }},
        {"bf16, each row of another size",
         [](std::size_t size) {
             return bytes_of_elements<ztensor::bfloat16>(size, [](std::size_t i) {
                 return ztensor::bfloat16(std::ldexp(normal(dice), static_cast<int>(i / 300 * 7 % 13) - 6));
             });
         }},
        {"two numbers of 4 bits in each byte",
         [](std::size_t size) {
             const auto nibble = [] { return std::clamp(static_cast<int>(normal(dice) * 200 + 8.5F), 0, 15); };
             return bytes_of_elements<std::uint8_t>(
                 size, [&](auto) { return static_cast<std::uint8_t>(nibble() | nibble() << 4); });
         }},
        {"noise", [](std::size_t size) { return noise(size, static_cast<std::uint32_t>(dice())); }},
    };
}

byte_vector rows_of(byte_vector row, std::size_t size) {
    byte_vector all;
    while (all.size() < size) {
        all.insert(all.end(), row.begin(), row.end());
    }
    all.resize(size);
    return all;
}

/// Rows of `row_bytes`, each one of `rows`, in no order.
byte_vector of_dictionary(std::size_t row_bytes, std::size_t rows, std::size_t size) {
    const byte_vector dictionary = noise(row_bytes * rows, 5);
    std::mt19937 dice(6);
    byte_vector all;
    while (all.size() < size) {
        const auto row = dictionary.begin() + static_cast<std::ptrdiff_t>(dice() % rows * row_bytes);
        all.insert(all.end(), row, row + static_cast<std::ptrdiff_t>(row_bytes));
    }
    all.resize(size);
    return all;
}

byte_vector floats(std::size_t size) {
    return all_weights().front().make(size);
}

} // namespace

TEST_CASE("weights become one frame of their size, which any decoder decodes") {
    for (const kind_of_content& kind : all_weights()) {
        for (const std::size_t size : {std::size_t{1000},
                                       1023 * std::size_t{1},
                                       kibibyte,
                                       kibibyte + 1,
                                       4 * kibibyte - 1,
                                       4 * kibibyte,
                                       10001 * std::size_t{1},
                                       16 * kibibyte - 1,
                                       16 * kibibyte,
                                       64 * kibibyte - 1,
                                       64 * kibibyte,
                                       65535 + 256 * std::size_t{1},
                                       65536 + 256 * std::size_t{1},
                                       128 * kibibyte,
                                       128 * kibibyte + 1,
                                       128 * kibibyte + 255,
                                       128 * kibibyte + 256,
                                       300001 * std::size_t{1},
                                       mebibyte - 1,
                                       mebibyte}) {
            CAPTURE(kind.name, size);
            const byte_vector content = kind.make(size);
            const byte_vector frame = coded(content);
            REQUIRE_FALSE(frame.empty());
            CHECK(ZSTD_findFrameCompressedSize(frame.data(), frame.size()) == frame.size());
            CHECK(ZSTD_getFrameContentSize(frame.data(), frame.size()) == size);
            CHECK((decoded_at_once(frame, size) == content));
            CHECK((decoded_in_pieces(frame, size) == content));
        }
    }
}

TEST_CASE("a frame of literals is no larger than libzstd's, or half a percent at most") {
    for (const kind_of_content& kind : all_weights()) {
        for (const std::size_t size : {kibibyte, 5 * kibibyte, 50 * kibibyte, 100 * kibibyte, mebibyte}) {
            CAPTURE(kind.name, size);
            const byte_vector content = kind.make(size);
            const std::size_t most = bytes_by_libzstd(content);
            CHECK(coded(content).size() <= most + most / 200);
        }
    }
}

TEST_CASE("of a block whose code suits one half alone, all is coded where that makes it smaller") {
    for (const std::size_t size : {16000U, 100000U}) {
        for (const bool begins_with_noise : {false, true}) {
            CAPTURE(size, begins_with_noise);
            byte_vector content = all_weights()[1].make(size);
            const byte_vector other = noise(size / 2, 8);
            std::copy(other.begin(), other.end(),
                      content.begin() + static_cast<std::ptrdiff_t>(begins_with_noise ? 0 : size - other.size()));
            const byte_vector frame = coded(content);
            REQUIRE_FALSE(frame.empty());
            const std::size_t most = bytes_by_libzstd(content);
            CHECK(frame.size() <= most + most / 200);
            CHECK((decoded_at_once(frame, size) == content));
        }
    }
}

TEST_CASE("a byte that was not there when the code was made takes no room") {
    // As from memory that others write to: such a frame is of no use, but nothing beside it is written.
    ztensor::detail::byte_counts counts{};
    std::fill(counts.begin(), counts.begin() + 200, 5u);
    const auto words =
        ztensor::detail::make_code_words(ztensor::detail::make_code_lengths(counts, ztensor::detail::longest_code));
    CHECK(std::all_of(words.begin() + 200, words.end(), [](std::uint64_t word) { return word == 0; }));
}

TEST_CASE("bytes of any kind, number and skew are decoded to themselves") {
    std::mt19937 dice(7);
    std::size_t taken = 0;
    for (int i = 0; i < 400; ++i) {
        // Some bytes, each of which is less likely than the one before it.
        byte_vector alphabet = noise(48 + dice() % 209, static_cast<std::uint32_t>(dice()));
        const std::size_t size = dice() % 4 != 0 ? 256 + dice() % 4000 : 256 + dice() % 300000;
        std::geometric_distribution<std::size_t> place(std::uniform_real_distribution<>(0.001, 0.02)(dice));
        byte_vector content(size);
        for (std::byte& each : content) {
            each = alphabet[place(dice) % alphabet.size()];
        }
        const byte_vector frame = coded(content);
        CAPTURE(i, size, alphabet.size());
        if (!frame.empty()) {
            ++taken;
            CHECK((decoded_at_once(frame, size) == content));
        }
    }
    CHECK(taken > 200);
}

TEST_CASE("a block that the code of its frame does not make smaller is stored as it is") {
    constexpr std::size_t block_bytes = 128 * kibibyte, head_bytes = 9;
    for (const std::size_t even : {0U, 3U, 7U}) {
        CAPTURE(even);
        std::mt19937 dice(3);
        byte_vector content(mebibyte);
        for (std::size_t i = 0; i < content.size(); ++i) { // where not even, most numbers are
            const bool is_odd = dice() % 1000 >= (i / block_bytes == even ? 500U : 785U);
            content[i] = static_cast<std::byte>(dice() % 128 * 2 + (is_odd ? 1 : 0));
        }
        const byte_vector frame = coded(content);
        REQUIRE_FALSE(frame.empty());
        CHECK((decoded_at_once(frame, content.size()) == content));
        std::size_t at = head_bytes;
        for (std::size_t block = 0; block < content.size() / block_bytes; ++block) {
            const std::uint64_t head = ztensor::detail::load_little(frame.data() + at, 3);
            CHECK((head >> 1 & 3) == (block == even ? 0 : 2));
            at += 3 + static_cast<std::size_t>(head >> 3);
        }
        CHECK(at == frame.size());
    }
}

TEST_CASE("what libzstd makes smaller is left to it") {
    const auto zeros_in = [](byte_vector content, std::size_t begin, std::size_t size) {
        std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(begin), size, std::byte{0});
        return content;
    };
    const byte_vector small = floats(5 * kibibyte), large = floats(mebibyte);
    const byte_vector of_two_sizes = bytes_of_elements<ztensor::bfloat16>(mebibyte, [](std::size_t i) {
        static std::mt19937 dice(2);
        return ztensor::bfloat16(std::ldexp(normal(dice), i < mebibyte / 4 ? 0 : 12));
    });
    struct left_content {
        const char* name;
        byte_vector content;
    };
    const std::vector<left_content> all = {
        {"nothing", {}},
        {"255 bytes", floats(255)},
        {"more than a frame holds", floats(mebibyte + 1)},
        {"zeros", byte_vector(mebibyte)},
        {"few zeros", byte_vector(300)},
        {"one byte", byte_vector(5000, std::byte{7})},
        {"zeros in a hundredth of it", zeros_in(large, 500000, 10000)},
        {"zeros in an eighth of a little", zeros_in(small, 3000, 640)},
        {"rows of 100 numbers", rows_of(floats(400), mebibyte)},
        {"rows of 1,025 numbers", rows_of(floats(4100), mebibyte)},
        {"few rows of 1,025 numbers", rows_of(floats(4100), 10000)},
        {"rows of 25,001 numbers", rows_of(floats(100004), mebibyte)},
        {"rows of 100,001 numbers", rows_of(floats(400004), mebibyte)},
        {"rows of 20,001 halves", rows_of(all_weights()[2].make(40002), mebibyte)},
        {"numbers in order", bytes_of_elements<std::uint32_t>(100000, [](std::size_t i) { return std::uint32_t(i); })},
        {"numbers below 50,000 in 8 bytes",
         bytes_of_elements<std::uint64_t>(100000, [](std::size_t i) { return i * 7919 % 50000; })},
        {"200 numbers",
         bytes_of_elements<float>(10000, [&](std::size_t i) { return float(i * i * 31 % 200) * 0.37F; })},
        {"7 bytes of 2,000 kinds", of_dictionary(7, 2000, 1000000)},
        {"6 bytes of 2,000 kinds", of_dictionary(6, 2000, 60000)},
        {"text",
         [] {
             std::string text;
             for (int i = 0; text.size() < 20000; ++i) {
                 text += "word" + std::to_string(i * 7919 % 1000) + ' ';
             }
             return support::to_vector(text);
         }()},
        {"two halves of different sizes", of_two_sizes},
    };
    for (const left_content& each : all) {
        CAPTURE(each.name);
        CHECK(coded(each.content).empty());
    }
}

TEST_CASE("a coder makes the same frame whatever it coded before") {
    const auto coder = std::make_unique<literal_coder>();
    for (const kind_of_content& kind : all_weights()) {
        for (const std::size_t size : {mebibyte, 5 * kibibyte, 200 * kibibyte, kibibyte}) {
            CAPTURE(kind.name, size);
            const byte_vector content = kind.make(size);
            byte_vector frame(size + literal_coder::more_room_bytes);
            frame.resize(coder->encode(content, frame));
            CHECK((frame == coded(content)));
        }
    }
}

TEST_CASE("an encoder codes literals at level 1 alone, and asks libzstd for everything else") {
    zstd_encoder encoder;
    REQUIRE(encoder.start());
    const byte_vector weights = floats(100 * kibibyte), text = rows_of(floats(40), 100 * kibibyte);
    const auto encoded = [&](int level, const byte_vector& content) {
        byte_vector to(ztensor::detail::most_zstd_bytes(content.size()));
        to.resize(encoder.encode(level, content, to));
        CHECK((decoded_at_once(to, content.size()) == content));
        return to;
    };
    const auto by_libzstd = [](int level, const byte_vector& content) {
        byte_vector to(ZSTD_compressBound(content.size()));
        to.resize(ZSTD_compress(to.data(), to.size(), content.data(), content.size(), level));
        return to;
    };
    CHECK((encoded(1, weights) == coded(weights)));
    CHECK((encoded(1, text) == by_libzstd(1, text)));
    for (const int level : {-1, 0, 2, 3}) {
        CAPTURE(level);
        CHECK((encoded(level, weights) == by_libzstd(level, weights)));
    }
}
