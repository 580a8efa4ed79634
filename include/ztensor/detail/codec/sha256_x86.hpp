// SPDX-License-Identifier: MIT
//
// SHA-256 with the instructions of x86, in the vector types and builtins of GCC and clang: <immintrin.h> would take
// 0.3 s of every file that includes this.
#ifndef ZTENSOR_DETAIL_CODEC_SHA256_X86_HPP
#define ZTENSOR_DETAIL_CODEC_SHA256_X86_HPP

#include <ztensor/detail/codec/sha256_rounds.hpp>
#include <ztensor/detail/os/cpu.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#if (defined(__x86_64__) || defined(__i386__)) && (defined(__GNUC__) || defined(__clang__))

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- SHA-NI: two rounds per instruction. One message waits for its latency; several at once fill the gaps.

using sha256_four = int __attribute__((vector_size(16)));

/// One message: the state in the instructions' order, and the last 16 words of its schedule.
struct sha256_ni_stream {
    sha256_four abef, cdgh;
    sha256_four words[4];
};

/// Modulo 2^32: the instructions' own type has signed lanes, for which that would be undefined.
__attribute__((target("sha,sse4.1"), always_inline)) inline sha256_four sha256_plus(sha256_four a,
                                                                                    sha256_four b) noexcept {
    using unsigned_four = unsigned __attribute__((vector_size(16)));
    return sha256_four(unsigned_four(a) + unsigned_four(b));
}

/// The lanes of both, one vector behind the other. GCC has clang's builtin for that since version 12.
template <int... Lanes, class Vector>
__attribute__((target("sha,sse4.1"), always_inline)) inline Vector sha256_ni_lanes(Vector a, Vector b) noexcept {
#if defined(__clang__) || __GNUC__ >= 12
    return __builtin_shufflevector(a, b, Lanes...);
#else
    return __builtin_shuffle(a, b, Vector{Lanes...});
#endif
}

__attribute__((target("sha,sse4.1"), always_inline)) inline void sha256_ni_load(sha256_ni_stream& stream,
                                                                                const std::uint32_t* state) noexcept {
    sha256_four abcd;
    sha256_four efgh;
    std::memcpy(&abcd, state, sizeof abcd);
    std::memcpy(&efgh, state + 4, sizeof efgh);
    stream.abef = sha256_ni_lanes<1, 0, 5, 4>(efgh, abcd);
    stream.cdgh = sha256_ni_lanes<3, 2, 7, 6>(efgh, abcd);
}

__attribute__((target("sha,sse4.1"), always_inline)) inline void sha256_ni_store(const sha256_ni_stream& stream,
                                                                                 std::uint32_t* state) noexcept {
    const sha256_four abcd = sha256_ni_lanes<3, 2, 7, 6>(stream.abef, stream.cdgh);
    const sha256_four efgh = sha256_ni_lanes<1, 0, 5, 4>(stream.abef, stream.cdgh);
    std::memcpy(state, &abcd, sizeof abcd);
    std::memcpy(state + 4, &efgh, sizeof efgh);
}

__attribute__((target("sha,sse4.1"), always_inline)) inline void sha256_ni_take(sha256_ni_stream& stream,
                                                                                const std::byte* block) noexcept {
    using sixteen = char __attribute__((vector_size(16)));
    for (std::size_t i = 0; i < 4; ++i) {
        sixteen bytes;
        std::memcpy(&bytes, block + 16 * i, sizeof bytes);
        bytes = sha256_ni_lanes<3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12>(bytes, bytes);
        std::memcpy(&stream.words[i], &bytes, sizeof bytes);
    }
}

/// Four rounds, and the four words of the schedule that are used 16 rounds later.
__attribute__((target("sha,sse4.1"), always_inline)) inline void sha256_ni_rounds(sha256_ni_stream& stream,
                                                                                  sha256_four constants) noexcept {
    sha256_four* const words = stream.words;
    const sha256_four sum = sha256_plus(words[0], constants);
    stream.cdgh = __builtin_ia32_sha256rnds2(stream.cdgh, stream.abef, sum);
    stream.abef = __builtin_ia32_sha256rnds2(stream.abef, stream.cdgh, sha256_ni_lanes<2, 3, 2, 3>(sum, sum));
    const sha256_four begun =
        sha256_plus(__builtin_ia32_sha256msg1(words[0], words[1]), sha256_ni_lanes<1, 2, 3, 4>(words[2], words[3]));
    const sha256_four next = __builtin_ia32_sha256msg2(begun, words[3]);
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
        const sha256_four before[][2] = {{streams[Stream].abef, streams[Stream].cdgh}...};
        (sha256_ni_take(streams[Stream], lanes[Stream].next), ...);
        for (std::size_t round = 0; round < 64; round += 4) {
            sha256_four constants;
            std::memcpy(&constants, sha256_round_constants + round, sizeof constants);
            (sha256_ni_rounds(streams[Stream], constants), ...);
        }
        ((streams[Stream].abef = sha256_plus(streams[Stream].abef, before[Stream][0]),
          streams[Stream].cdgh = sha256_plus(streams[Stream].cdgh, before[Stream][1])),
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
