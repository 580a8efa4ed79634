// SPDX-License-Identifier: MIT
//
// SHA-256, by instructions where the processor has them. SPEC.md section 7.
#ifndef ZTENSOR_DETAIL_CODEC_SHA256_HPP
#define ZTENSOR_DETAIL_CODEC_SHA256_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/span.hpp>
#include <ztensor/version.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- sha256 rounds
//
// SHA-256 (FIPS 180-4): its constants, and its rounds on any processor.

inline constexpr size_t sha256_block_bytes = 64;

inline constexpr uint32_t sha256_start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

inline constexpr uint32_t sha256_round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/// One message of several that are hashed at once.
struct sha256_lane {
    uint32_t* state;  ///< eight words
    const byte* next; ///< the block after those that the state has
};

[[nodiscard]] constexpr uint32_t rotate_right(uint32_t x, int bits) noexcept {
    return x >> bits | x << (32 - bits);
}

/// A big-endian word, spelled out so that GCC makes one load of it at -O2, too.
[[nodiscard]] constexpr uint32_t load_big_word(const byte* bytes) noexcept {
    return std::to_integer<uint32_t>(bytes[0]) << 24 | std::to_integer<uint32_t>(bytes[1]) << 16 |
           std::to_integer<uint32_t>(bytes[2]) << 8 | std::to_integer<uint32_t>(bytes[3]);
}

inline void sha256_round(uint32_t a, uint32_t b, uint32_t c, uint32_t& d, uint32_t e, uint32_t f, uint32_t g,
                         uint32_t& h, uint32_t word) noexcept {
    // In this order, as what comes last is what the next round waits for.
    h += word;
    h += g ^ (e & (f ^ g));
    h += rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
    d += h;
    h += b ^ ((a ^ b) & (b ^ c));
    h += rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
}

/// Takes one block into the state. words[i * stride]: word i of its schedule, the round's constant added.
#if defined(__GNUC__) || defined(__clang__)
__attribute__((always_inline)) // into functions for processors that have better instructions for this
#endif
inline void
sha256_rounds(uint32_t* state, const uint32_t* words, size_t stride) noexcept {
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int round = 0; round < 64; round += 8, words += 8 * stride) {
        sha256_round(a, b, c, d, e, f, g, h, words[0]);
        sha256_round(h, a, b, c, d, e, f, g, words[stride]);
        sha256_round(g, h, a, b, c, d, e, f, words[2 * stride]);
        sha256_round(f, g, h, a, b, c, d, e, words[3 * stride]);
        sha256_round(e, f, g, h, a, b, c, d, words[4 * stride]);
        sha256_round(d, e, f, g, h, a, b, c, words[5 * stride]);
        sha256_round(c, d, e, f, g, h, a, b, words[6 * stride]);
        sha256_round(b, c, d, e, f, g, h, a, words[7 * stride]);
    }
    const uint32_t after[8] = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; ++i) {
        state[i] += after[i];
    }
}

// -- sha256 arm
//
// SHA-256 with the instructions of 64-bit ARM, in assembler: then no flag of the compiler's is needed for them, and not
// <arm_neon.h>, which takes long.

#if defined(__AARCH64EL__) && (defined(__GNUC__) || defined(__clang__))

using sha256_four = unsigned __attribute__((vector_size(16)));

/// Takes the next blocks into the state if `cpu` has instructions for that.
[[nodiscard]] inline bool sha256_by_instructions(sha256_lane& lane, size_t block_count,
                                                 const cpu_features& cpu) noexcept {
    if (!cpu.arm_sha2) {
        return false;
    }
    sha256_four abcd;
    sha256_four efgh;
    std::memcpy(&abcd, lane.state, sizeof abcd);
    std::memcpy(&efgh, lane.state + 4, sizeof efgh);
    for (; block_count != 0; --block_count, lane.next += sha256_block_bytes) {
        const sha256_four abcd_before = abcd;
        const sha256_four efgh_before = efgh;
        sha256_four words[4]; // the last 16 of the schedule
        for (size_t i = 0; i < 4; ++i) {
            std::memcpy(&words[i], lane.next + 16 * i, sizeof words[i]);
            __asm__("rev32 %0.16b, %0.16b" : "+w"(words[i]));
        }
        for (size_t round = 0; round < 64; round += 4) {
            sha256_four sum;
            std::memcpy(&sum, sha256_round_constants + round, sizeof sum);
            sum += words[0];
            const sha256_four abcd_now = abcd;
            __asm__(".arch_extension sha2\n\tsha256h %q0, %q1, %2.4s" : "+w"(abcd) : "w"(efgh), "w"(sum));
            __asm__(".arch_extension sha2\n\tsha256h2 %q0, %q1, %2.4s" : "+w"(efgh) : "w"(abcd_now), "w"(sum));
            sha256_four next = words[0];
            __asm__(".arch_extension sha2\n\tsha256su0 %0.4s, %1.4s" : "+w"(next) : "w"(words[1]));
            __asm__(".arch_extension sha2\n\tsha256su1 %0.4s, %1.4s, %2.4s"
                    : "+w"(next)
                    : "w"(words[2]), "w"(words[3]));
            words[0] = words[1];
            words[1] = words[2];
            words[2] = words[3];
            words[3] = next;
        }
        abcd += abcd_before;
        efgh += efgh_before;
    }
    std::memcpy(lane.state, &abcd, sizeof abcd);
    std::memcpy(lane.state + 4, &efgh, sizeof efgh);
    return true;
}

#endif

// -- sha256 x86
//
// SHA-256 with the instructions of x86.

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))

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
                                                                                const uint32_t* state) noexcept {
    const __m128i abcd = sha256_ni_words(state);
    const __m128i efgh = sha256_ni_words(state + 4);
    stream.abef = sha256_ni_first(efgh, abcd);
    stream.cdgh = sha256_ni_last(efgh, abcd);
}

__attribute__((target("sha,sse4.1"), always_inline)) inline void sha256_ni_store(const sha256_ni_stream& stream,
                                                                                 uint32_t* state) noexcept {
    const __m128i abcd = sha256_ni_last(stream.abef, stream.cdgh);
    const __m128i efgh = sha256_ni_first(stream.abef, stream.cdgh);
    std::memcpy(state, &abcd, sizeof abcd);
    std::memcpy(state + 4, &efgh, sizeof efgh);
}

__attribute__((target("sha,sse4.1"), always_inline)) inline void sha256_ni_take(sha256_ni_stream& stream,
                                                                                const byte* block) noexcept {
    const __m128i big_endian = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    for (size_t i = 0; i < 4; ++i) {
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

template <size_t... Stream>
__attribute__((target("sha,sse4.1"))) ZTENSOR_NOINLINE inline void
sha256_ni(sha256_lane* lanes, size_t block_count, const cpu_features& cpu, std::index_sequence<Stream...>) noexcept {
    zero_upper_halves(cpu);
    sha256_ni_stream streams[sizeof...(Stream)];
    (sha256_ni_load(streams[Stream], lanes[Stream].state), ...);
    for (; block_count != 0; --block_count) {
        const __m128i before[][2] = {{streams[Stream].abef, streams[Stream].cdgh}...};
        (sha256_ni_take(streams[Stream], lanes[Stream].next), ...);
        for (size_t round = 0; round < 64; round += 4) {
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

inline constexpr size_t sha256_least_for_avx2 = 3; ///< blocks of one message: fewer schedules are quicker without

using sha256_eight = unsigned __attribute__((vector_size(32)));

[[nodiscard]] __attribute__((target("avx2,bmi2"), always_inline)) inline sha256_eight
sha256_load_eight(const uint32_t* words) noexcept {
    sha256_eight loaded;
    std::memcpy(&loaded, words, sizeof loaded);
    return loaded;
}

/// The schedules of eight blocks: word i of block b becomes words[8 * i + b], its round's constant added.
__attribute__((target("avx2,bmi2"))) ZTENSOR_NOINLINE inline void
sha256_schedule_eight(uint32_t* words, const byte* const* blocks) noexcept {
    for (size_t block = 0; block < 8; ++block) {
        for (size_t i = 0; i < 16; ++i) {
            words[8 * i + block] = load_big_word(blocks[block] + 4 * i);
        }
    }
    for (size_t i = 16; i < 64; ++i) {
        const sha256_eight a = sha256_load_eight(words + 8 * (i - 15));
        const sha256_eight b = sha256_load_eight(words + 8 * (i - 2));
        const sha256_eight s0 = (a >> 7 | a << 25) ^ (a >> 18 | a << 14) ^ a >> 3;
        const sha256_eight s1 = (b >> 17 | b << 15) ^ (b >> 19 | b << 13) ^ b >> 10;
        const sha256_eight word =
            sha256_load_eight(words + 8 * (i - 16)) + s0 + sha256_load_eight(words + 8 * (i - 7)) + s1;
        std::memcpy(words + 8 * i, &word, sizeof word);
    }
    for (size_t i = 0; i < 64; ++i) {
        const sha256_eight word = sha256_load_eight(words + 8 * i) + sha256_round_constants[i];
        std::memcpy(words + 8 * i, &word, sizeof word);
    }
}

__attribute__((target("avx2,bmi2"), always_inline)) inline void
sha256_round_of_eight(const sha256_eight& a, const sha256_eight& b, const sha256_eight& c, sha256_eight& d,
                      const sha256_eight& e, const sha256_eight& f, const sha256_eight& g, sha256_eight& h,
                      const uint32_t* words) noexcept {
    h += ((e >> 6 | e << 26) ^ (e >> 11 | e << 21) ^ (e >> 25 | e << 7)) + (g ^ (e & (f ^ g))) +
         sha256_load_eight(words);
    d += h;
    h += ((a >> 2 | a << 30) ^ (a >> 13 | a << 19) ^ (a >> 22 | a << 10)) + (b ^ ((a ^ b) & (b ^ c)));
}

/// One block of each of eight messages. Word i of state j is state[i][j].
__attribute__((target("avx2,bmi2"))) ZTENSOR_NOINLINE inline void
sha256_eight_blocks(sha256_eight* state, const byte* const* blocks) noexcept {
    uint32_t words[64 * 8];
    sha256_schedule_eight(words, blocks);
    sha256_eight a = state[0], b = state[1], c = state[2], d = state[3];
    sha256_eight e = state[4], f = state[5], g = state[6], h = state[7];
    for (const uint32_t* at = words; at != words + 64 * 8; at += 8 * 8) {
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
    for (size_t i = 0; i < 8; ++i) {
        state[i] += after[i];
    }
}

/// Up to eight messages; a lane without one does the first one's work again.
__attribute__((target("avx2,bmi2"))) inline void sha256_avx2_lanes(span<sha256_lane> lanes,
                                                                   size_t block_count) noexcept {
    sha256_eight state[8];
    const byte* blocks[8];
    for (size_t i = 0; i < 8; ++i) {
        const sha256_lane& lane = lanes[i < lanes.size() ? i : 0];
        blocks[i] = lane.next;
        for (size_t word = 0; word < 8; ++word) {
            state[word][i] = lane.state[word];
        }
    }
    for (size_t done = 0; done < block_count; ++done) {
        sha256_eight_blocks(state, blocks);
        for (const byte*& block : blocks) {
            block += sha256_block_bytes;
        }
    }
    for (size_t i = 0; i < lanes.size(); ++i) {
        lanes[i].next = blocks[i];
        for (size_t word = 0; word < 8; ++word) {
            lanes[i].state[word] = state[word][i];
        }
    }
}

/// One message, eight blocks at a time.
__attribute__((target("avx2,bmi,bmi2"))) ZTENSOR_NOINLINE inline void sha256_avx2(sha256_lane& lane,
                                                                                  size_t block_count) noexcept {
    while (block_count != 0) {
        const size_t count = block_count < 8 ? block_count : 8;
        const byte* blocks[8];
        for (size_t i = 0; i < 8; ++i) {
            blocks[i] = lane.next + (i < count ? i : 0) * sha256_block_bytes;
        }
        uint32_t words[64 * 8];
        sha256_schedule_eight(words, blocks);
        for (size_t i = 0; i < count; ++i) {
            sha256_rounds(lane.state, words + i, 8);
        }
        lane.next += count * sha256_block_bytes;
        block_count -= count;
    }
}

/// Takes the next blocks into the state if `cpu` has instructions for that.
[[nodiscard]] inline bool sha256_by_instructions(sha256_lane& lane, size_t block_count,
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
[[nodiscard]] inline size_t sha256_several_by_instructions(span<sha256_lane> lanes, size_t block_count,
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
        const size_t count = lanes.size() < 8 ? lanes.size() : 8;
        sha256_avx2_lanes(lanes.first(count), block_count);
        return count;
    }
    return 0;
}

[[nodiscard]] inline size_t sha256_most_lanes(const cpu_features& cpu) noexcept {
    return cpu.sha ? 3 : cpu.avx2_bmi2 ? 8 : 1;
}

#endif

// -- sha256
//
// SHA-256 (FIPS 180-4): by the processor's instructions where it has some, of one message or of several at once.

/// On any processor.
ZTENSOR_NOINLINE inline void sha256_portable(sha256_lane& lane, size_t block_count) noexcept {
    for (; block_count != 0; --block_count, lane.next += sha256_block_bytes) {
        uint32_t w[64];
        for (size_t i = 0; i < 16; ++i) {
            w[i] = load_big_word(lane.next + 4 * i);
        }
        for (size_t i = 16; i < 64; ++i) {
            const uint32_t s0 = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ w[i - 15] >> 3;
            const uint32_t s1 = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        for (size_t i = 0; i < 64; ++i) {
            w[i] += sha256_round_constants[i];
        }
        sha256_rounds(lane.state, w, 1);
    }
}

// Chosen where no header above has the function for the processor that this is compiled for.
template <class Features>
[[nodiscard]] bool sha256_by_instructions(sha256_lane&, size_t, const Features&) noexcept {
    return false;
}
template <class Features>
[[nodiscard]] size_t sha256_several_by_instructions(span<sha256_lane>, size_t, const Features&) noexcept {
    return 0;
}
template <class Features>
[[nodiscard]] size_t sha256_most_lanes(const Features&) noexcept {
    return 1;
}

/// Takes the next `block_count` blocks into the state. As `cpu` does it, which is the host's, or has less than that.
inline void sha256_blocks(sha256_lane& lane, size_t block_count, const cpu_features& cpu) noexcept {
    if (!sha256_by_instructions(lane, block_count, cpu)) {
        sha256_portable(lane, block_count);
    }
}

/// The same of several messages, of each as many blocks. Quickest with sha256_most_lanes(cpu) of them.
inline void sha256_blocks(span<sha256_lane> lanes, size_t block_count, const cpu_features& cpu) noexcept {
    while (!lanes.empty()) {
        size_t done = lanes.size() > 1 ? sha256_several_by_instructions(lanes, block_count, cpu) : 0;
        if (done == 0) {
            sha256_blocks(lanes[0], block_count, cpu);
            done = 1;
        }
        lanes = lanes.subspan(done);
    }
}

ZTENSOR_NOINLINE inline void sha256_update(digest_memory& memory, bytes_view bytes,
                                           const cpu_features& cpu = host_cpu()) noexcept {
    const auto pending = static_cast<size_t>(memory.length_bytes % sha256_block_bytes);
    memory.length_bytes += bytes.size();
    if (pending != 0) {
        const size_t taken = (std::min<size_t>)(sha256_block_bytes - pending, bytes.size());
        std::copy_n(bytes.data(), taken, memory.pending + pending);
        bytes = bytes.subspan(taken);
        if (pending + taken < sha256_block_bytes) {
            return;
        }
        sha256_lane lane = {memory.words, memory.pending};
        sha256_blocks(lane, 1, cpu);
    }
    sha256_lane lane = {memory.words, bytes.data()};
    sha256_blocks(lane, bytes.size() / sha256_block_bytes, cpu);
    std::copy(lane.next, bytes.data() + bytes.size(), memory.pending);
}

/// The digest of all bytes so far.
[[nodiscard]] inline std::array<byte, 32> sha256_value(const digest_memory& so_far,
                                                       const cpu_features& cpu = host_cpu()) noexcept {
    digest_memory memory = so_far;
    // 0x80, zeros, then the length in bits: as many zeros as end it on a whole block.
    std::array<byte, 2 * sha256_block_bytes> padding{};
    padding[0] = byte{0x80};
    const auto pending = static_cast<size_t>(memory.length_bytes % sha256_block_bytes);
    const size_t padding_bytes = (pending < sha256_block_bytes - 8 ? 1 : 2) * sha256_block_bytes - pending;
    store_big(memory.length_bytes * 8, padding.data() + padding_bytes - 8, 8);
    sha256_update(memory, {padding.data(), padding_bytes}, cpu);
    std::array<byte, 32> value;
    for (size_t i = 0; i < 8; ++i) {
        store_big(memory.words[i], value.data() + 4 * i, 4);
    }
    return value;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
