// SPDX-License-Identifier: MIT
//
// Floats of 2 and 4 bytes -> their exponents and their fractions, and back, in memory alone. SPEC.md section 14.
#ifndef ZTENSOR_DETAIL_CODEC_PLANE_KERNELS_HPP
#define ZTENSOR_DETAIL_CODEC_PLANE_KERNELS_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/dtype.hpp>

#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// An element of `width` bytes, least significant first, is turned left by one bit, so that its sign comes last. Its
// most significant byte then is its exponent (of f16 the exponent and three bits more), and the others are its
// fraction, which are kept side by side in their order.

/// Whether elements of that type are kept in planes.
[[nodiscard]] constexpr bool has_planes(dtype storage) noexcept {
    return storage == dtype::bf16 || storage == dtype::f16 || storage == dtype::f32;
}

/// Which part of each element a plane holds.
enum class plane : uint8_t { exponent, fraction };

/// Of each element of `width` bytes.
[[nodiscard]] constexpr size_t plane_bytes(plane which, size_t width) noexcept {
    return which == plane::exponent ? 1 : width - 1;
}

template <size_t Width>
void join_each(const byte* exponents, const byte* fractions, byte* elements, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i, fractions += Width - 1, elements += Width) {
        uint32_t turned = std::to_integer<uint32_t>(exponents[i]) << 8 * (Width - 1);
        for (size_t k = 0; k + 1 < Width; ++k) {
            turned |= std::to_integer<uint32_t>(fractions[k]) << 8 * k;
        }
        const uint32_t element = turned >> 1 | turned << (8 * Width - 1);
        for (size_t k = 0; k < Width; ++k) {
            elements[k] = static_cast<byte>(element >> 8 * k & 0xff);
        }
    }
}

/// Of two bytes, where blocks of known length that nothing else can point to are what compilers make wide.
inline void join_pairs(const byte* exponents, const byte* fractions, byte* elements, size_t count) noexcept {
    constexpr size_t block = 256;
    for (; count >= block && host_is_little_endian; count -= block) {
        uint8_t high[block];
        uint8_t low[block];
        uint16_t joined[block];
        std::memcpy(high, exponents, block);
        std::memcpy(low, fractions, block);
        for (size_t i = 0; i < block; ++i) {
            const auto turned = static_cast<uint16_t>(low[i] | high[i] << 8);
            joined[i] = static_cast<uint16_t>(turned >> 1 | turned << 15);
        }
        std::memcpy(elements, joined, sizeof joined);
        exponents += block;
        fractions += block;
        elements += sizeof joined;
    }
    join_each<2>(exponents, fractions, elements, count);
}

template <size_t Width>
void split_each(plane which, const byte* elements, byte* to, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i, elements += Width) {
        uint32_t element = 0;
        for (size_t k = 0; k < Width; ++k) {
            element |= std::to_integer<uint32_t>(elements[k]) << 8 * k;
        }
        const uint32_t turned = element << 1 | element >> (8 * Width - 1);
        const size_t first = which == plane::exponent ? Width - 1 : 0;
        const size_t last = which == plane::exponent ? Width : Width - 1;
        for (size_t k = first; k < last; ++k) {
            *to++ = static_cast<byte>(turned >> 8 * k & 0xff);
        }
    }
}

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))

// The same by wider instructions than every x86 has; how many elements are done.

[[nodiscard]] __attribute__((target("avx2"))) inline __m256i load_wide(const byte* from) noexcept {
    return _mm256_loadu_si256(static_cast<const __m256i*>(static_cast<const void*>(from)));
}
[[nodiscard]] __attribute__((target("avx2"))) inline __m128i load_half(const byte* from) noexcept {
    return _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(from)));
}
__attribute__((target("avx2"))) inline void store_wide(byte* to, __m256i bytes) noexcept {
    _mm256_storeu_si256(static_cast<__m256i*>(static_cast<void*>(to)), bytes);
}
__attribute__((target("avx2"))) inline void store_half(byte* to, __m128i bytes) noexcept {
    _mm_storeu_si128(static_cast<__m128i*>(static_cast<void*>(to)), bytes);
}

[[nodiscard]] __attribute__((target("avx2"))) inline size_t
join_pairs_avx2(const byte* exponents, const byte* fractions, byte* elements, size_t count) noexcept {
    size_t done = 0;
    for (; count - done >= 32; done += 32) {
        const __m256i high = load_wide(exponents + done), low = load_wide(fractions + done);
        const __m256i first = _mm256_unpacklo_epi8(low, high); // of each half of 16
        const __m256i second = _mm256_unpackhi_epi8(low, high);
        const __m256i first_turned = _mm256_or_si256(_mm256_srli_epi16(first, 1), _mm256_slli_epi16(first, 15));
        const __m256i second_turned = _mm256_or_si256(_mm256_srli_epi16(second, 1), _mm256_slli_epi16(second, 15));
        store_wide(elements + 2 * done, _mm256_permute2x128_si256(first_turned, second_turned, 0x20));
        store_wide(elements + 2 * done + 32, _mm256_permute2x128_si256(first_turned, second_turned, 0x31));
    }
    return done;
}

/// Each byte in two.
[[nodiscard]] __attribute__((target("avx2"))) inline __m256i split_sixteen_avx2(plane which,
                                                                                const byte* elements) noexcept {
    const __m256i given = load_wide(elements);
    const __m256i all = _mm256_or_si256(_mm256_slli_epi16(given, 1), _mm256_srli_epi16(given, 15));
    return which == plane::exponent ? _mm256_srli_epi16(all, 8) : _mm256_and_si256(all, _mm256_set1_epi16(0x00ff));
}
[[nodiscard]] __attribute__((target("avx2"))) inline size_t split_pairs_avx2(plane which, const byte* elements,
                                                                             byte* to, size_t count) noexcept {
    size_t done = 0;
    for (; count - done >= 32; done += 32) {
        const __m256i packed = _mm256_packus_epi16(split_sixteen_avx2(which, elements + 2 * done),
                                                   split_sixteen_avx2(which, elements + 2 * done + 32));
        store_wide(to + done, _mm256_permute4x64_epi64(packed, 0xd8));
    }
    return done;
}

/// Reads 4 bytes behind the fractions that it joins, which are of others.
[[nodiscard]] __attribute__((target("avx2"))) inline size_t
join_fours_avx2(const byte* exponents, const byte* fractions, byte* elements, size_t count) noexcept {
    const __m128i spread_half = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
    const __m256i spread = _mm256_broadcastsi128_si256(spread_half);
    size_t done = 0;
    for (; count - done >= 10; done += 8) {
        const byte* const from = fractions + 3 * done;
        const __m256i packed =
            _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(from)), load_half(from + 12), 1);
        uint64_t eight = 0;
        std::memcpy(&eight, exponents + done, sizeof eight);
        const __m256i high = _mm256_cvtepu8_epi32(_mm_set_epi64x(0, static_cast<long long>(eight)));
        const __m256i all = _mm256_or_si256(_mm256_shuffle_epi8(packed, spread), _mm256_slli_epi32(high, 24));
        store_wide(elements + 4 * done, _mm256_or_si256(_mm256_srli_epi32(all, 1), _mm256_slli_epi32(all, 31)));
    }
    return done;
}

/// Writes 4 bytes behind the fractions that it splits off, which are of others.
[[nodiscard]] __attribute__((target("avx2"))) inline size_t split_fours_avx2(plane which, const byte* elements,
                                                                             byte* to, size_t count) noexcept {
    const __m128i gather_half = which == plane::exponent
                                    ? _mm_setr_epi8(3, 7, 11, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1)
                                    : _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    const __m256i gather = _mm256_broadcastsi128_si256(gather_half);
    size_t done = 0;
    for (; count - done >= 20; done += 8) {
        const __m256i given = load_wide(elements + 4 * done);
        const __m256i all = _mm256_or_si256(_mm256_slli_epi32(given, 1), _mm256_srli_epi32(given, 31));
        const __m256i gathered = _mm256_shuffle_epi8(all, gather);
        const size_t each = 4 * plane_bytes(which, 4); // bytes of four elements
        store_half(to + 2 * (done / 8) * each, _mm256_castsi256_si128(gathered));
        store_half(to + 2 * (done / 8) * each + each, _mm256_extracti128_si256(gathered, 1));
    }
    return done;
}

[[nodiscard]] inline size_t join_wide(const byte* exponents, const byte* fractions, byte* elements, size_t width,
                                      size_t count) noexcept {
    if (!host_cpu().avx2) {
        return 0;
    }
    return width == 2 ? join_pairs_avx2(exponents, fractions, elements, count)
                      : join_fours_avx2(exponents, fractions, elements, count);
}
[[nodiscard]] inline size_t split_wide(plane which, const byte* elements, size_t width, byte* to,
                                       size_t count) noexcept {
    if (!host_cpu().avx2) {
        return 0;
    }
    return width == 2 ? split_pairs_avx2(which, elements, to, count) : split_fours_avx2(which, elements, to, count);
}
#else
[[nodiscard]] constexpr size_t join_wide(const byte*, const byte*, byte*, size_t, size_t) noexcept {
    return 0;
}
[[nodiscard]] constexpr size_t split_wide(plane, const byte*, size_t, byte*, size_t) noexcept {
    return 0;
}
#endif

/// Makes elements of `width` bytes, 2 or 4, of as many exponents and fractions. The exponents may be the end of
/// `elements`: they are taken before they are overwritten.
inline void join_planes(const byte* exponents, const byte* fractions, size_t width, span<byte> elements) noexcept {
    const size_t count = elements.size() / width;
    const size_t done = join_wide(exponents, fractions, elements.data(), width, count);
    const byte* const rest = fractions + done * (width - 1);
    byte* const to = elements.data() + done * width;
    return width == 2 ? join_pairs(exponents + done, rest, to, count - done)
                      : join_each<4>(exponents + done, rest, to, count - done);
}

/// One plane of elements of `width` bytes, 2 or 4; `to` has room for it.
inline void split_plane(plane which, bytes_view elements, size_t width, byte* to) noexcept {
    const size_t count = elements.size() / width;
    const size_t done = split_wide(which, elements.data(), width, to, count);
    const byte* const rest = elements.data() + done * width;
    to += done * plane_bytes(which, width);
    return width == 2 ? split_each<2>(which, rest, to, count - done) : split_each<4>(which, rest, to, count - done);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
