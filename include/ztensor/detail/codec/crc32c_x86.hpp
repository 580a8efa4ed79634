// SPDX-License-Identifier: MIT
//
// CRC-32C with the instructions of x86.
#ifndef ZTENSOR_DETAIL_CODEC_CRC32C_X86_HPP
#define ZTENSOR_DETAIL_CODEC_CRC32C_X86_HPP

#include <ztensor/detail/codec/crc32c_polynomial.hpp>
#include <ztensor/detail/os/cpu.hpp>
#include <ztensor/detail/os/x86_intrinsics.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))

// clang 14 and later know `crc32` apart from SSE4.2, and a program may be compiled for the one without the other.
#if defined(__clang__) && __clang_major__ >= 14
#define ZTENSOR_CRC32C_TARGET "sse4.2,crc32"
#else
#define ZTENSOR_CRC32C_TARGET "sse4.2"
#endif

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// One chain of the `crc32` instruction: a word in the three cycles that the instruction takes.
[[nodiscard]] __attribute__((target(ZTENSOR_CRC32C_TARGET))) inline std::uint32_t
crc32c_chain(std::uint32_t crc, const std::byte* bytes, std::size_t size) noexcept {
#if defined(__x86_64__)
    std::uint64_t word = 0;
    for (; size >= sizeof word; bytes += sizeof word, size -= sizeof word) {
        std::memcpy(&word, bytes, sizeof word);
        crc = static_cast<std::uint32_t>(_mm_crc32_u64(crc, word));
    }
#else
    std::uint32_t word = 0;
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

inline constexpr std::size_t crc32c_least_for_pclmul = 168;

// A carry-less product of two polynomials whose bits are reversed, as ours are, comes out multiplied by x once more,
// and `crc32` of a word multiplies by x^32. The exponents below make up for both.

/// Three chains at once, each over `third` bytes, which fill the instruction's three cycles.
/// `by_third` is x^(8 * third - 33), `by_two_thirds` x^(16 * third - 33).
[[nodiscard]] __attribute__((target(ZTENSOR_CRC32C_TARGET ",pclmul"))) ZTENSOR_NOINLINE inline std::uint32_t
crc32c_three_chains(std::uint32_t crc, const std::byte* bytes, std::size_t third, std::uint32_t by_third,
                    std::uint32_t by_two_thirds) noexcept {
    std::uint64_t sums[3] = {crc, 0, 0};
    std::uint64_t words[3];
    for (const std::byte* const end = bytes + third; bytes != end; bytes += sizeof words[0]) {
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
    const auto moved_word = static_cast<std::uint64_t>(_mm_cvtsi128_si64(moved));
    return static_cast<std::uint32_t>(sums[2] ^ _mm_crc32_u64(0, moved_word));
}

/// of[n]: x^(64 * n - 33), what n words after a chain do to its sum. Made when first used.
struct crc32c_word_powers {
    static constexpr std::size_t most_words = 128; ///< of one chain; 95 % of the time goes into the chains then
    std::uint32_t of[2 * most_words + 1];

    ZTENSOR_COLD crc32c_word_powers() noexcept {
        constexpr std::uint32_t one_word = crc32c_power(64);
        of[0] = 0;
        of[1] = crc32c_power(64 - 33);
        for (std::size_t n = 2; n <= 2 * most_words; ++n) {
            of[n] = crc32c_multiply(one_word, of[n - 1]);
        }
    }
};

/// Three chains: of 16 KiB at once, where putting the sums together costs nothing, and of the rest up to 3 KiB at once.
[[nodiscard]] __attribute__((target(ZTENSOR_CRC32C_TARGET ",pclmul"))) ZTENSOR_NOINLINE inline std::uint32_t
crc32c_pclmul(std::uint32_t crc, bytes_view bytes) noexcept {
    constexpr std::size_t large_third = 5464;
    for (; bytes.size() >= 3 * large_third; bytes = bytes.subspan(3 * large_third)) {
        constexpr std::uint32_t by_third = crc32c_power(8 * large_third - 33);
        constexpr std::uint32_t by_two_thirds = crc32c_power(16 * large_third - 33);
        crc = crc32c_three_chains(crc, bytes.data(), large_third, by_third, by_two_thirds);
    }
    static const crc32c_word_powers powers;
    while (bytes.size() >= crc32c_least_for_pclmul) {
        const std::size_t words = bytes.size() / 24 < powers.most_words ? bytes.size() / 24 : powers.most_words;
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

[[nodiscard]] __attribute__((target(ZTENSOR_AVX512_TARGET))) inline __m512i
crc32c_load(const std::byte* bytes) noexcept {
    return _mm512_loadu_si512(bytes);
}

/// What x^distance does to either half of each 128 bits, for crc32c_fold.
[[nodiscard]] constexpr long long crc32c_power_for_first(std::uint64_t distance) noexcept {
    return static_cast<long long>(std::uint64_t{crc32c_power(distance + 63)} << 32);
}
[[nodiscard]] constexpr long long crc32c_power_for_second(std::uint64_t distance) noexcept {
    return static_cast<long long>(std::uint64_t{crc32c_power(distance - 1)} << 32);
}

/// Moves 512 bits of message to where `later` stands, as far behind as `powers` say.
[[nodiscard]] __attribute__((target(ZTENSOR_AVX512_TARGET))) inline __m512i crc32c_fold(__m512i earlier, __m512i powers,
                                                                                        __m512i later) noexcept {
    const __m512i moved = _mm512_xor_si512(_mm512_clmulepi64_epi128(earlier, powers, 0x00),
                                           _mm512_clmulepi64_epi128(earlier, powers, 0x11));
    return _mm512_xor_si512(moved, later);
}

inline constexpr std::size_t crc32c_least_for_avx512 = 512;

/// Of crc32c_least_for_avx512 bytes or more, or at least 256. Reads ahead of itself: 1.07 times as fast from the memory
/// of a Xeon, where 4 KiB ahead would be slower than none, and 1.6 times from that of an EPYC, measured with 4 KiB.
[[nodiscard]] __attribute__((target(ZTENSOR_AVX512_TARGET "," ZTENSOR_CRC32C_TARGET)))
ZTENSOR_NOINLINE inline std::uint32_t
crc32c_avx512(std::uint32_t crc, bytes_view bytes) noexcept {
    constexpr std::size_t step = sizeof(__m512i), ahead = 3072;
    constexpr long long far_first = crc32c_power_for_first(4 * 8 * step);
    constexpr long long far_second = crc32c_power_for_second(4 * 8 * step);
    constexpr long long near_first = crc32c_power_for_first(8 * step);
    constexpr long long near_second = crc32c_power_for_second(8 * step);
    const __m512i by_four = _mm512_set4_epi64(far_second, far_first, far_second, far_first);
    const __m512i by_one = _mm512_set4_epi64(near_second, near_first, near_second, near_first);
    const std::byte* at = bytes.data();
    const std::byte* const end = at + bytes.size();
    __m512i a = _mm512_xor_si512(crc32c_load(at), _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(crc))));
    __m512i b = crc32c_load(at + step);
    __m512i c = crc32c_load(at + 2 * step);
    __m512i d = crc32c_load(at + 3 * step);
    for (at += 4 * step; static_cast<std::size_t>(end - at) >= 4 * step; at += 4 * step) {
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
    for (; static_cast<std::size_t>(end - at) >= step; at += step) {
        a = crc32c_fold(a, by_one, crc32c_load(at));
    }
    std::byte folded[step];
    std::memcpy(folded, &a, step);
    return crc32c_chain(crc32c_chain(0, folded, step), at, static_cast<std::size_t>(end - at));
}

#endif

/// Takes `bytes` into the sum if `cpu` has instructions for that.
[[nodiscard]] inline bool crc32c_by_instructions(std::uint32_t& crc, bytes_view bytes,
                                                 const cpu_features& cpu) noexcept {
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

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#undef ZTENSOR_CRC32C_TARGET
#undef ZTENSOR_AVX512_TARGET

#endif

#endif
