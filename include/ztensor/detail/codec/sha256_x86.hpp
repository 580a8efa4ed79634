// SPDX-License-Identifier: MIT
//
// SHA-256 with the instructions of x86.
#ifndef ZTENSOR_DETAIL_CODEC_SHA256_X86_HPP
#define ZTENSOR_DETAIL_CODEC_SHA256_X86_HPP

#include <ztensor/detail/codec/sha256_rounds.hpp>
#include <ztensor/detail/os/cpu.hpp>
#include <ztensor/detail/os/x86_intrinsics.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- SHA-NI: two rounds per instruction. One message waits for its latency; several at once fill the gaps.

/// One message: the state in the instructions' order, and the last 16 words of its schedule.
struct sha256_ni_stream {
    __m128i abef, cdgh;
    __m128i words[4];
};

__attribute__((target("sha,sse4.1"), always_inline)) inline __m128i sha256_ni_words(const void* words) noexcept {
    return _mm_loadu_si128(static_cast<const __m128i*>(words));
}

/// The first or the last two words of each, in reverse: abcd and efgh become abef and cdgh, and back.
__attribute__((target("sha,sse4.1"), always_inline)) inline __m128i sha256_ni_first(__m128i a, __m128i b) noexcept {
    return _mm_shuffle_epi32(_mm_unpacklo_epi64(a, b), 0xb1);
}
__attribute__((target("sha,sse4.1"), always_inline)) inline __m128i sha256_ni_last(__m128i a, __m128i b) noexcept {
    return _mm_shuffle_epi32(_mm_unpackhi_epi64(a, b), 0xb1);
}

__attribute__((target("sha,sse4.1"), always_inline)) inline void sha256_ni_load(sha256_ni_stream& stream,
                                                                                const std::uint32_t* state) noexcept {
    const __m128i abcd = sha256_ni_words(state);
    const __m128i efgh = sha256_ni_words(state + 4);
    stream.abef = sha256_ni_first(efgh, abcd);
    stream.cdgh = sha256_ni_last(efgh, abcd);
}

__attribute__((target("sha,sse4.1"), always_inline)) inline void sha256_ni_store(const sha256_ni_stream& stream,
                                                                                 std::uint32_t* state) noexcept {
    const __m128i abcd = sha256_ni_last(stream.abef, stream.cdgh);
    const __m128i efgh = sha256_ni_first(stream.abef, stream.cdgh);
    std::memcpy(state, &abcd, sizeof abcd);
    std::memcpy(state + 4, &efgh, sizeof efgh);
}

__attribute__((target("sha,sse4.1"), always_inline)) inline void sha256_ni_take(sha256_ni_stream& stream,
                                                                                const std::byte* block) noexcept {
    const __m128i big_endian = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    for (std::size_t i = 0; i < 4; ++i) {
        stream.words[i] = _mm_shuffle_epi8(sha256_ni_words(block + 16 * i), big_endian);
    }
}

/// Four rounds, and the four words of the schedule that are used 16 rounds later.
__attribute__((target("sha,sse4.1"), always_inline)) inline void sha256_ni_rounds(sha256_ni_stream& stream,
                                                                                  __m128i constants) noexcept {
    __m128i* const words = stream.words;
    const __m128i sum = _mm_add_epi32(words[0], constants);
    stream.cdgh = _mm_sha256rnds2_epu32(stream.cdgh, stream.abef, sum);
    stream.abef = _mm_sha256rnds2_epu32(stream.abef, stream.cdgh, _mm_shuffle_epi32(sum, 0x0e));
    const __m128i begun = // the last argument makes one vector of words 1 to 4 of two
        _mm_add_epi32(_mm_sha256msg1_epu32(words[0], words[1]), _mm_alignr_epi8(words[3], words[2], 4));
    const __m128i next = _mm_sha256msg2_epu32(begun, words[3]);
    words[0] = words[1];
    words[1] = words[2];
    words[2] = words[3];
    words[3] = next;
}

template <std::size_t... Stream>
__attribute__((target("sha,sse4.1"))) ZTENSOR_NOINLINE inline void
sha256_ni(sha256_lane* lanes, std::size_t block_count, const cpu_features& cpu,
          std::index_sequence<Stream...>) noexcept {
    zero_upper_halves(cpu);
    sha256_ni_stream streams[sizeof...(Stream)];
    (sha256_ni_load(streams[Stream], lanes[Stream].state), ...);
    for (; block_count != 0; --block_count) {
        const __m128i before[][2] = {{streams[Stream].abef, streams[Stream].cdgh}...};
        (sha256_ni_take(streams[Stream], lanes[Stream].next), ...);
        for (std::size_t round = 0; round < 64; round += 4) {
            const __m128i constants = sha256_ni_words(sha256_round_constants + round);
            (sha256_ni_rounds(streams[Stream], constants), ...);
        }
        ((streams[Stream].abef = _mm_add_epi32(streams[Stream].abef, before[Stream][0]),
          streams[Stream].cdgh = _mm_add_epi32(streams[Stream].cdgh, before[Stream][1])),
         ...);
        ((lanes[Stream].next += sha256_block_bytes), ...);
    }
    (sha256_ni_store(streams[Stream], lanes[Stream].state), ...);
}

// -- AVX2, for what is older: the schedules of eight blocks at once, and the rounds of eight messages, or of one.

inline constexpr std::size_t sha256_least_for_avx2 = 3; ///< blocks of one message: fewer schedules are quicker without

using sha256_eight = unsigned __attribute__((vector_size(32)));

[[nodiscard]] __attribute__((target("avx2,bmi2"), always_inline)) inline sha256_eight
sha256_load_eight(const std::uint32_t* words) noexcept {
    sha256_eight loaded;
    std::memcpy(&loaded, words, sizeof loaded);
    return loaded;
}

/// The schedules of eight blocks: word i of block b becomes words[8 * i + b], its round's constant added.
__attribute__((target("avx2,bmi2"))) ZTENSOR_NOINLINE inline void
sha256_schedule_eight(std::uint32_t* words, const std::byte* const* blocks) noexcept {
    for (std::size_t block = 0; block < 8; ++block) {
        for (std::size_t i = 0; i < 16; ++i) {
            words[8 * i + block] = load_big_word(blocks[block] + 4 * i);
        }
    }
    for (std::size_t i = 16; i < 64; ++i) {
        const sha256_eight a = sha256_load_eight(words + 8 * (i - 15));
        const sha256_eight b = sha256_load_eight(words + 8 * (i - 2));
        const sha256_eight s0 = (a >> 7 | a << 25) ^ (a >> 18 | a << 14) ^ a >> 3;
        const sha256_eight s1 = (b >> 17 | b << 15) ^ (b >> 19 | b << 13) ^ b >> 10;
        const sha256_eight word =
            sha256_load_eight(words + 8 * (i - 16)) + s0 + sha256_load_eight(words + 8 * (i - 7)) + s1;
        std::memcpy(words + 8 * i, &word, sizeof word);
    }
    for (std::size_t i = 0; i < 64; ++i) {
        const sha256_eight word = sha256_load_eight(words + 8 * i) + sha256_round_constants[i];
        std::memcpy(words + 8 * i, &word, sizeof word);
    }
}

__attribute__((target("avx2,bmi2"), always_inline)) inline void
sha256_round_of_eight(const sha256_eight& a, const sha256_eight& b, const sha256_eight& c, sha256_eight& d,
                      const sha256_eight& e, const sha256_eight& f, const sha256_eight& g, sha256_eight& h,
                      const std::uint32_t* words) noexcept {
    h += ((e >> 6 | e << 26) ^ (e >> 11 | e << 21) ^ (e >> 25 | e << 7)) + (g ^ (e & (f ^ g))) +
         sha256_load_eight(words);
    d += h;
    h += ((a >> 2 | a << 30) ^ (a >> 13 | a << 19) ^ (a >> 22 | a << 10)) + (b ^ ((a ^ b) & (b ^ c)));
}

/// One block of each of eight messages. Word i of state j is state[i][j].
__attribute__((target("avx2,bmi2"))) ZTENSOR_NOINLINE inline void
sha256_eight_blocks(sha256_eight* state, const std::byte* const* blocks) noexcept {
    std::uint32_t words[64 * 8];
    sha256_schedule_eight(words, blocks);
    sha256_eight a = state[0], b = state[1], c = state[2], d = state[3];
    sha256_eight e = state[4], f = state[5], g = state[6], h = state[7];
    for (const std::uint32_t* at = words; at != words + 64 * 8; at += 8 * 8) {
        sha256_round_of_eight(a, b, c, d, e, f, g, h, at);
        sha256_round_of_eight(h, a, b, c, d, e, f, g, at + 8);
        sha256_round_of_eight(g, h, a, b, c, d, e, f, at + 16);
        sha256_round_of_eight(f, g, h, a, b, c, d, e, at + 24);
        sha256_round_of_eight(e, f, g, h, a, b, c, d, at + 32);
        sha256_round_of_eight(d, e, f, g, h, a, b, c, at + 40);
        sha256_round_of_eight(c, d, e, f, g, h, a, b, at + 48);
        sha256_round_of_eight(b, c, d, e, f, g, h, a, at + 56);
    }
    const sha256_eight after[8] = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) {
        state[i] += after[i];
    }
}

/// Up to eight messages; a lane without one does the first one's work again.
__attribute__((target("avx2,bmi2"))) inline void sha256_avx2_lanes(span<sha256_lane> lanes,
                                                                   std::size_t block_count) noexcept {
    sha256_eight state[8];
    const std::byte* blocks[8];
    for (std::size_t i = 0; i < 8; ++i) {
        const sha256_lane& lane = lanes[i < lanes.size() ? i : 0];
        blocks[i] = lane.next;
        for (std::size_t word = 0; word < 8; ++word) {
            state[word][i] = lane.state[word];
        }
    }
    for (std::size_t done = 0; done < block_count; ++done) {
        sha256_eight_blocks(state, blocks);
        for (const std::byte*& block : blocks) {
            block += sha256_block_bytes;
        }
    }
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        lanes[i].next = blocks[i];
        for (std::size_t word = 0; word < 8; ++word) {
            lanes[i].state[word] = state[word][i];
        }
    }
}

/// One message, eight blocks at a time.
__attribute__((target("avx2,bmi,bmi2"))) ZTENSOR_NOINLINE inline void sha256_avx2(sha256_lane& lane,
                                                                                  std::size_t block_count) noexcept {
    while (block_count != 0) {
        const std::size_t count = block_count < 8 ? block_count : 8;
        const std::byte* blocks[8];
        for (std::size_t i = 0; i < 8; ++i) {
            blocks[i] = lane.next + (i < count ? i : 0) * sha256_block_bytes;
        }
        std::uint32_t words[64 * 8];
        sha256_schedule_eight(words, blocks);
        for (std::size_t i = 0; i < count; ++i) {
            sha256_rounds(lane.state, words + i, 8);
        }
        lane.next += count * sha256_block_bytes;
        block_count -= count;
    }
}

/// Takes the next blocks into the state if `cpu` has instructions for that.
[[nodiscard]] inline bool sha256_by_instructions(sha256_lane& lane, std::size_t block_count,
                                                 const cpu_features& cpu) noexcept {
    if (cpu.sha) {
        sha256_ni(&lane, block_count, cpu, std::index_sequence<0>());
        return true;
    }
    if (cpu.avx2_bmi2 && block_count >= sha256_least_for_avx2) {
        sha256_avx2(lane, block_count);
        return true;
    }
    return false;
}

/// The same of several messages: of as many as the answer says, of the first ones.
[[nodiscard]] inline std::size_t sha256_several_by_instructions(span<sha256_lane> lanes, std::size_t block_count,
                                                                const cpu_features& cpu) noexcept {
    if (cpu.sha && lanes.size() >= 3) {
        sha256_ni(lanes.data(), block_count, cpu, std::index_sequence<0, 1, 2>());
        return 3;
    }
    if (cpu.sha) {
        sha256_ni(lanes.data(), block_count, cpu, std::index_sequence<0, 1>());
        return 2;
    }
    if (cpu.avx2_bmi2) {
        const std::size_t count = lanes.size() < 8 ? lanes.size() : 8;
        sha256_avx2_lanes(lanes.first(count), block_count);
        return count;
    }
    return 0;
}

[[nodiscard]] inline std::size_t sha256_most_lanes(const cpu_features& cpu) noexcept {
    return cpu.sha ? 3 : cpu.avx2_bmi2 ? 8 : 1;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

#endif
