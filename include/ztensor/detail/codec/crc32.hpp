// SPDX-License-Identifier: MIT
//
// CRC-32 and CRC-32C, the latter by instructions where the processor has them. SPEC.md section 7.
#ifndef ZTENSOR_DETAIL_CODEC_CRC32_HPP
#define ZTENSOR_DETAIL_CODEC_CRC32_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/span.hpp>
#include <ztensor/version.hpp>

#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- crc by tables
//
// On any processor, sixteen bytes at a time.

/// of[k][b]: what byte b does to a sum when k more bytes follow it in the same step. Made when first used: as constants
/// they would take 16 KiB of every object file, and the compiler's time.
struct crc_tables {
    uint32_t of[16][256];

    /// Of the polynomial with its bits reversed, without x^32.
    ZTENSOR_COLD explicit crc_tables(uint32_t polynomial) noexcept {
        for (uint32_t byte = 0; byte < 256; ++byte) {
            uint32_t crc = byte;
            for (int bit = 0; bit < 8; ++bit) {
                crc = (crc & 1) != 0 ? crc >> 1 ^ polynomial : crc >> 1;
            }
            of[0][byte] = crc;
        }
        for (size_t k = 1; k < 16; ++k) {
            for (size_t byte = 0; byte < 256; ++byte) {
                const uint32_t previous = of[k - 1][byte];
                of[k][byte] = previous >> 8 ^ of[0][previous & 0xff];
            }
        }
    }
};

[[nodiscard]] ZTENSOR_NOINLINE inline uint32_t crc_by_tables(const crc_tables& tables, uint32_t crc,
                                                             bytes_view bytes) noexcept {
    const auto* const table = tables.of;
    // It has no inner one. What GCC's -O2 does not unroll takes three times as long.
    for (; bytes.size() >= 16; bytes = bytes.subspan(16)) {
        const uint64_t a = load_little_64(bytes.data()) ^ crc;
        const uint64_t b = load_little_64(bytes.data() + 8);
        crc = table[15][a & 0xff] ^ table[14][a >> 8 & 0xff] ^ table[13][a >> 16 & 0xff] ^ table[12][a >> 24 & 0xff] ^
              table[11][a >> 32 & 0xff] ^ table[10][a >> 40 & 0xff] ^ table[9][a >> 48 & 0xff] ^ table[8][a >> 56] ^
              table[7][b & 0xff] ^ table[6][b >> 8 & 0xff] ^ table[5][b >> 16 & 0xff] ^ table[4][b >> 24 & 0xff] ^
              table[3][b >> 32 & 0xff] ^ table[2][b >> 40 & 0xff] ^ table[1][b >> 48 & 0xff] ^ table[0][b >> 56];
    }
    for (const byte each : bytes) {
        crc = crc >> 8 ^ table[0][(crc ^ std::to_integer<uint32_t>(each)) & 0xff];
    }
    return crc;
}

// -- crc32
//
// CRC-32 as ZIP archives have it: the polynomial of Ethernet, where our own digests are of CRC-32C.

inline constexpr uint32_t crc32_start = 0xffffffff;

/// Goes on from `crc` with `bytes`. What ZIP writes is the complement of the last value.
[[nodiscard]] inline uint32_t crc32_update(uint32_t crc, bytes_view bytes) noexcept {
    static const crc_tables tables(0xedb88320);
    return crc_by_tables(tables, crc, bytes);
}

// -- crc32c polynomial
//
// CRC-32C as arithmetic: sums are polynomials over GF(2) modulo that of the checksum. Bit 31 is the coefficient of x^0,
// bit 0 that of x^31.

inline constexpr uint32_t crc32c_start = 0xffffffff;
inline constexpr uint32_t crc32c_modulus = 0x82f63b78; ///< without its x^32

[[nodiscard]] constexpr uint32_t crc32c_times_x(uint32_t a) noexcept {
    return (a & 1) != 0 ? a >> 1 ^ crc32c_modulus : a >> 1;
}

[[nodiscard]] constexpr uint32_t crc32c_multiply(uint32_t a, uint32_t b) noexcept {
    uint32_t product = 0;
    for (; a != 0; a <<= 1) {
        product ^= (a >> 31 != 0) ? b : 0;
        b = crc32c_times_x(b);
    }
    return product;
}

/// x to the power of `exponent`.
[[nodiscard]] constexpr uint32_t crc32c_power(uint64_t exponent) noexcept {
    uint32_t result = uint32_t{1} << 31;
    for (uint32_t square = uint32_t{1} << 30; exponent != 0; exponent >>= 1) {
        if ((exponent & 1) != 0) {
            result = crc32c_multiply(result, square);
        }
        square = crc32c_multiply(square, square);
    }
    return result;
}

/// The sum after A and B: of `first`, the sum after A from any start, and `second`, the sum of B from 0. B has
/// `second_bytes` bytes.
[[nodiscard]] constexpr uint32_t crc32c_combine(uint32_t first, uint32_t second, uint64_t second_bytes) noexcept {
    return crc32c_multiply(crc32c_power(8 * second_bytes), first) ^ second;
}

// -- crc32c arm
//
// CRC-32C with the instructions of 64-bit ARM, in assembler: then no flag of the compiler's is needed for them.

#if defined(__AARCH64EL__) && (defined(__GNUC__) || defined(__clang__))

[[nodiscard]] inline uint32_t crc32c_of_word(uint32_t crc, const byte* bytes) noexcept {
    __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(load_little(bytes, 8)));
    return crc;
}

[[nodiscard]] inline uint32_t crc32c_of_byte(uint32_t crc, byte each) noexcept {
    __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(std::to_integer<uint32_t>(each)));
    return crc;
}

/// Takes `bytes` into the sum if `cpu` has instructions for that: of 48 KiB or more by three chains at once, as one
/// waits for the instruction's latency.
[[nodiscard]] inline bool crc32c_by_instructions(uint32_t& crc, bytes_view bytes, const cpu_features& cpu) noexcept {
    if (!cpu.arm_crc32) {
        return false;
    }
    constexpr size_t third = size_t{16} << 10; // so many that putting the sums together costs nothing
    constexpr uint32_t by_third = crc32c_power(8 * third);
    for (; bytes.size() >= 3 * third; bytes = bytes.subspan(3 * third)) {
        uint32_t sums[3] = {crc, 0, 0};
        for (const byte* at = bytes.data(); at != bytes.data() + third; at += 8) {
            sums[0] = crc32c_of_word(sums[0], at);
            sums[1] = crc32c_of_word(sums[1], at + third);
            sums[2] = crc32c_of_word(sums[2], at + 2 * third);
        }
        crc = crc32c_multiply(by_third, crc32c_multiply(by_third, sums[0]) ^ sums[1]) ^ sums[2];
    }
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
        crc = crc32c_of_word(crc, bytes.data());
    }
    for (const byte each : bytes) {
        crc = crc32c_of_byte(crc, each);
    }
    return true;
}

#endif

// -- crc32c x86
//
// CRC-32C with the instructions of x86.

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))

// clang 14 and later know `crc32` apart from SSE4.2, and a program may be compiled for the one without the other.
#if defined(__clang__) && __clang_major__ >= 14
#define ZTENSOR_CRC32C_TARGET "sse4.2,crc32"
#else
#define ZTENSOR_CRC32C_TARGET "sse4.2"
#endif

/// One chain of the `crc32` instruction: a word in the three cycles that the instruction takes.
[[nodiscard]] __attribute__((target(ZTENSOR_CRC32C_TARGET))) inline uint32_t
crc32c_chain(uint32_t crc, const byte* bytes, size_t size) noexcept {
#if defined(__x86_64__)
    uint64_t word = 0;
    for (; size >= sizeof word; bytes += sizeof word, size -= sizeof word) {
        std::memcpy(&word, bytes, sizeof word);
        crc = static_cast<uint32_t>(_mm_crc32_u64(crc, word));
    }
#else
    uint32_t word = 0;
    for (; size >= sizeof word; bytes += sizeof word, size -= sizeof word) {
        std::memcpy(&word, bytes, sizeof word);
        crc = _mm_crc32_u32(crc, word);
    }
#endif
    for (; size != 0; ++bytes, --size) {
        crc = _mm_crc32_u8(crc, std::to_integer<unsigned char>(*bytes));
    }
    return crc;
}

#if defined(__x86_64__)

inline constexpr size_t crc32c_least_for_pclmul = 168;

// A carry-less product of two polynomials whose bits are reversed, as ours are, comes out multiplied by x once more,
// and `crc32` of a word multiplies by x^32. The exponents below make up for both.

/// Three chains at once, each over `third` bytes, which fill the instruction's three cycles.
/// `by_third` is x^(8 * third - 33), `by_two_thirds` x^(16 * third - 33).
[[nodiscard]] __attribute__((target(ZTENSOR_CRC32C_TARGET ",pclmul"))) ZTENSOR_NOINLINE inline uint32_t
crc32c_three_chains(uint32_t crc, const byte* bytes, size_t third, uint32_t by_third, uint32_t by_two_thirds) noexcept {
    uint64_t sums[3] = {crc, 0, 0};
    uint64_t words[3];
    for (const byte* const end = bytes + third; bytes != end; bytes += sizeof words[0]) {
        std::memcpy(&words[0], bytes, sizeof words[0]);
        std::memcpy(&words[1], bytes + third, sizeof words[1]);
        std::memcpy(&words[2], bytes + 2 * third, sizeof words[2]);
        sums[0] = _mm_crc32_u64(sums[0], words[0]);
        sums[1] = _mm_crc32_u64(sums[1], words[1]);
        sums[2] = _mm_crc32_u64(sums[2], words[2]);
    }
    const __m128i earlier = _mm_set_epi64x(static_cast<long long>(sums[1]), static_cast<long long>(sums[0]));
    const __m128i powers = _mm_set_epi64x(by_third, by_two_thirds);
    const __m128i moved =
        _mm_xor_si128(_mm_clmulepi64_si128(earlier, powers, 0x00), _mm_clmulepi64_si128(earlier, powers, 0x11));
    const auto moved_word = static_cast<uint64_t>(_mm_cvtsi128_si64(moved));
    return static_cast<uint32_t>(sums[2] ^ _mm_crc32_u64(0, moved_word));
}

/// of[n]: x^(64 * n - 33), what n words after a chain do to its sum. Made when first used.
struct crc32c_word_powers {
    static constexpr size_t most_words = 128; ///< of one chain; 95 % of the time goes into the chains then
    uint32_t of[2 * most_words + 1];

    ZTENSOR_COLD crc32c_word_powers() noexcept {
        constexpr uint32_t one_word = crc32c_power(64);
        of[0] = 0;
        of[1] = crc32c_power(64 - 33);
        for (size_t n = 2; n <= 2 * most_words; ++n) {
            of[n] = crc32c_multiply(one_word, of[n - 1]);
        }
    }
};

/// Three chains: of 16 KiB at once, where putting the sums together costs nothing, and of the rest up to 3 KiB at once.
[[nodiscard]] __attribute__((target(ZTENSOR_CRC32C_TARGET ",pclmul"))) ZTENSOR_NOINLINE inline uint32_t
crc32c_pclmul(uint32_t crc, bytes_view bytes) noexcept {
    constexpr size_t large_third = 5464;
    for (; bytes.size() >= 3 * large_third; bytes = bytes.subspan(3 * large_third)) {
        constexpr uint32_t by_third = crc32c_power(8 * large_third - 33);
        constexpr uint32_t by_two_thirds = crc32c_power(16 * large_third - 33);
        crc = crc32c_three_chains(crc, bytes.data(), large_third, by_third, by_two_thirds);
    }
    static const crc32c_word_powers powers;
    while (bytes.size() >= crc32c_least_for_pclmul) {
        const size_t words = bytes.size() / 24 < powers.most_words ? bytes.size() / 24 : powers.most_words;
        crc = crc32c_three_chains(crc, bytes.data(), 8 * words, powers.of[words], powers.of[2 * words]);
        bytes = bytes.subspan(24 * words);
    }
    return crc32c_chain(crc, bytes.data(), bytes.size());
}

// Clang 18 to 21 have the width of 512 bits as a feature of its own, which a build for processors without may turn off.
#if defined(__clang__) && !defined(__apple_build_version__) && __clang_major__ >= 18 && __clang_major__ <= 21
#define ZTENSOR_AVX512_TARGET "avx512f,evex512,vpclmulqdq"
#else
#define ZTENSOR_AVX512_TARGET "avx512f,vpclmulqdq"
#endif

[[nodiscard]] __attribute__((target(ZTENSOR_AVX512_TARGET))) inline __m512i crc32c_load(const byte* bytes) noexcept {
    return _mm512_loadu_si512(bytes);
}

/// What x^distance does to either half of each 128 bits, for crc32c_fold.
[[nodiscard]] constexpr long long crc32c_power_for_first(uint64_t distance) noexcept {
    return static_cast<long long>(uint64_t{crc32c_power(distance + 63)} << 32);
}
[[nodiscard]] constexpr long long crc32c_power_for_second(uint64_t distance) noexcept {
    return static_cast<long long>(uint64_t{crc32c_power(distance - 1)} << 32);
}

/// Moves 512 bits of message to where `later` stands, as far behind as `powers` say.
[[nodiscard]] __attribute__((target(ZTENSOR_AVX512_TARGET))) inline __m512i crc32c_fold(__m512i earlier, __m512i powers,
                                                                                        __m512i later) noexcept {
    const __m512i moved = _mm512_xor_si512(_mm512_clmulepi64_epi128(earlier, powers, 0x00),
                                           _mm512_clmulepi64_epi128(earlier, powers, 0x11));
    return _mm512_xor_si512(moved, later);
}

inline constexpr size_t crc32c_least_for_avx512 = 512;

/// Of crc32c_least_for_avx512 bytes or more, or at least 256. Reads ahead of itself: 1.07 times as fast from the memory
/// of a Xeon, where 4 KiB ahead would be slower than none, and 1.6 times from that of an EPYC, measured with 4 KiB.
[[nodiscard]] __attribute__((target(ZTENSOR_AVX512_TARGET "," ZTENSOR_CRC32C_TARGET))) ZTENSOR_NOINLINE inline uint32_t
crc32c_avx512(uint32_t crc, bytes_view bytes) noexcept {
    constexpr size_t step = sizeof(__m512i), ahead = 3072;
    constexpr long long far_first = crc32c_power_for_first(4 * 8 * step);
    constexpr long long far_second = crc32c_power_for_second(4 * 8 * step);
    constexpr long long near_first = crc32c_power_for_first(8 * step);
    constexpr long long near_second = crc32c_power_for_second(8 * step);
    const __m512i by_four = _mm512_set4_epi64(far_second, far_first, far_second, far_first);
    const __m512i by_one = _mm512_set4_epi64(near_second, near_first, near_second, near_first);
    const byte* at = bytes.data();
    const byte* const end = at + bytes.size();
    __m512i a = _mm512_xor_si512(crc32c_load(at), _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(crc))));
    __m512i b = crc32c_load(at + step);
    __m512i c = crc32c_load(at + 2 * step);
    __m512i d = crc32c_load(at + 3 * step);
    for (at += 4 * step; static_cast<size_t>(end - at) >= 4 * step; at += 4 * step) {
        __builtin_prefetch(at + ahead);
        __builtin_prefetch(at + ahead + step);
        __builtin_prefetch(at + ahead + 2 * step);
        __builtin_prefetch(at + ahead + 3 * step);
        a = crc32c_fold(a, by_four, crc32c_load(at));
        b = crc32c_fold(b, by_four, crc32c_load(at + step));
        c = crc32c_fold(c, by_four, crc32c_load(at + 2 * step));
        d = crc32c_fold(d, by_four, crc32c_load(at + 3 * step));
    }
    a = crc32c_fold(crc32c_fold(crc32c_fold(a, by_one, b), by_one, c), by_one, d);
    for (; static_cast<size_t>(end - at) >= step; at += step) {
        a = crc32c_fold(a, by_one, crc32c_load(at));
    }
    byte folded[step];
    std::memcpy(folded, &a, step);
    return crc32c_chain(crc32c_chain(0, folded, step), at, static_cast<size_t>(end - at));
}

#endif

/// Takes `bytes` into the sum if `cpu` has instructions for that.
[[nodiscard]] inline bool crc32c_by_instructions(uint32_t& crc, bytes_view bytes, const cpu_features& cpu) noexcept {
    if (!cpu.sse42) {
        return false;
    }
#if defined(__x86_64__)
    if (cpu.avx512_vpclmul && bytes.size() >= crc32c_least_for_avx512) {
        crc = crc32c_avx512(crc, bytes);
        return true;
    }
    if (cpu.pclmul && bytes.size() >= crc32c_least_for_pclmul) {
        zero_upper_halves(cpu);
        crc = crc32c_pclmul(crc, bytes);
        return true;
    }
#endif
    crc = crc32c_chain(crc, bytes.data(), bytes.size());
    return true;
}

#undef ZTENSOR_CRC32C_TARGET
#undef ZTENSOR_AVX512_TARGET

#endif

// -- crc32c
//
// CRC-32C (Castagnoli): by the processor's instructions where it has some, else by tables.

/// On any processor.
[[nodiscard]] inline uint32_t crc32c_portable(uint32_t crc, bytes_view bytes) noexcept {
    static const crc_tables tables(crc32c_modulus);
    return crc_by_tables(tables, crc, bytes);
}

/// Chosen where no header above has the function for the processor that this is compiled for.
template <class Features>
[[nodiscard]] bool crc32c_by_instructions(uint32_t&, bytes_view, const Features&) noexcept {
    return false;
}

/// The sum after `bytes`; it starts as crc32c_start, and its complement is the checksum. As `cpu` does it, which is the
/// host's, or has less than that.
[[nodiscard]] inline uint32_t crc32c_update(uint32_t crc, bytes_view bytes,
                                            const cpu_features& cpu = host_cpu()) noexcept {
    return crc32c_by_instructions(crc, bytes, cpu) ? crc : crc32c_portable(crc, bytes);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
