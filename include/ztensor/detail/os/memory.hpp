// SPDX-License-Identifier: MIT
//
// What the processor can do, and memory: moving bytes, pages, and advice to the system.
#ifndef ZTENSOR_DETAIL_OS_MEMORY_HPP
#define ZTENSOR_DETAIL_OS_MEMORY_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/version.hpp>

#include <algorithm>
#include <cstring>

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- cpu
//
// What the processor can do beyond what this was compiled for, and the instructions for it.
//
// Of x86 that is Intel's intrinsics, which alone compilers document and keep: the builtins that these are made of are a
// compiler's own, and clang has removed some. Whoever uses them gives the function a target attribute, and asks
// cpu_features before calling it. A program that includes all of ztensor header-only compiles 0.5 s longer by g++ 12,
// 0.1 s by clang 14; users of the compiled library do not include this. Microsoft's compiler, which has no target
// attribute, and clang in its mode get what is written for every processor.

/// True only of what the operating system lets programs use. Whoever has kernels for several of them takes this as an
/// argument, so that tests can ask what another processor would do.
struct cpu_features {
    bool f16c = false;
    bool sse42 = false;
    bool pclmul = false;
    bool avx = false;
    bool avx2 = false;
    bool avx2_bmi2 = false;      ///< and BMI1
    bool avx512_vpclmul = false; ///< AVX-512 F, and VPCLMULQDQ of 512 bits
    bool sha = false;
    bool copies_evenly = false; ///< `rep movsb` takes as long wherever its target lies relative to its source
    bool arm_crc32 = false;
    bool arm_sha2 = false;
};

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))

struct cpuid_answer {
    uint32_t a, b, c, d;
};

// Two instructions in assembler: CPUID is in no header that both compilers have, and the other one takes a flag.
[[nodiscard]] inline cpuid_answer ask_cpuid(uint32_t leaf) noexcept {
    cpuid_answer answer = {leaf, 0, 0, 0};
    __asm__("cpuid" : "+a"(answer.a), "=b"(answer.b), "+c"(answer.c), "=d"(answer.d));
    return answer;
}

/// Which registers the operating system saves. Only where CPUID says that it does so.
[[nodiscard]] inline uint32_t saved_registers() noexcept {
    uint32_t low = 0;
    uint32_t high = 0;
    __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(low), "=d"(high) : "c"(0)); // xgetbv
    return low;
}

[[nodiscard]] ZTENSOR_COLD inline cpu_features find_cpu_features() noexcept {
    const auto has = [](uint32_t word, int bit) { return (word >> bit & 1) != 0; };
    constexpr uint32_t of_avx = 0x06;
    constexpr uint32_t of_avx512 = 0xe6;
    const cpuid_answer maker = ask_cpuid(0);
    const cpuid_answer basic = ask_cpuid(1);
    const cpuid_answer extended = maker.a >= 7 ? ask_cpuid(7) : cpuid_answer{0, 0, 0, 0};
    const uint32_t saved = has(basic.c, 27) ? saved_registers() : 0;
    const bool avx = has(basic.c, 28) && (saved & of_avx) == of_avx;
#if defined(_WIN32) && !defined(__clang__)
    constexpr bool has_aligned_stack = false; // GCC for Windows aligns no vector of more than 16 bytes
#else
    constexpr bool has_aligned_stack = true;
#endif
    const bool avx512 = avx && (saved & of_avx512) == of_avx512;

    cpu_features found;
    found.sse42 = has(basic.c, 20);
    found.pclmul = has(basic.c, 1);
    found.avx = avx;
    found.f16c = has_aligned_stack && avx && has(basic.c, 29);
    found.avx2 = has_aligned_stack && avx && has(extended.b, 5);
    found.avx2_bmi2 = found.avx2 && has(extended.b, 3) && has(extended.b, 8);
    found.avx512_vpclmul = has_aligned_stack && avx512 && has(extended.b, 16) && has(extended.c, 10);
    found.sha = has(basic.c, 19) && has(extended.b, 29); // its kernel uses SSE4.1, too

    constexpr uint32_t amd = 0x68747541; // "Auth"
    constexpr uint32_t family_of_zen_5 = 0x1a;
    const uint32_t family = (basic.a >> 8 & 0xf) + (basic.a >> 20 & 0xff);
    found.copies_evenly = maker.b == amd && family >= family_of_zen_5;
    return found;
}

__attribute__((target("avx"))) ZTENSOR_NOINLINE inline void zero_upper_halves() noexcept {
    _mm256_zeroupper();
}
/// For loops of instructions of 128 bits. Those wait for the upper halves of their registers where a function of
/// somebody else's has left something in them: behind one of isa-l's, SHA-256 took 2.4 times as long, and f16 to
/// double 2.8 times.
inline void zero_upper_halves(const cpu_features& cpu) noexcept {
    if (cpu.avx) {
        zero_upper_halves();
    }
}

#elif defined(__aarch64__)

[[nodiscard]] ZTENSOR_COLD inline cpu_features find_cpu_features() noexcept {
    cpu_features found;
#if defined(__ARM_FEATURE_CRC32) // as on every Mac
    found.arm_crc32 = true;
#endif
#if defined(__ARM_FEATURE_SHA2) || defined(__ARM_FEATURE_CRYPTO)
    found.arm_sha2 = true;
#endif
#if defined(__linux__)
    const unsigned long capabilities = ::getauxval(AT_HWCAP);
    found.arm_sha2 = found.arm_sha2 || (capabilities >> 6 & 1) != 0;
    found.arm_crc32 = found.arm_crc32 || (capabilities >> 7 & 1) != 0;
#endif
    return found;
}

#else

[[nodiscard]] inline cpu_features find_cpu_features() noexcept {
    return {};
}

#endif

/// Where there are none.
template <class Features>
void zero_upper_halves(const Features&) noexcept {
}

/// Of the processor that this runs on.
[[nodiscard]] inline const cpu_features& host_cpu() noexcept {
    static const cpu_features found = find_cpu_features();
    return found;
}

// -- memory
//
// Much memory: what the system is told about it, which are hints and change no content, and how it is copied.

inline constexpr size_t huge_page_bytes = size_t{2} << 20;

/// The whole huge pages in this memory, which is about to be filled, may become such: a first touch of each then costs
/// one fault instead of 512.
inline void advise_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] size_t size_bytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const size_t before = bytes_to_multiple(memory, huge_page_bytes);
    if (size_bytes >= before + huge_page_bytes) {
        const size_t whole = (size_bytes - before) & ~(huge_page_bytes - 1);
        static_cast<void>(::madvise(static_cast<byte*>(memory) + before, whole, MADV_HUGEPAGE));
    }
#endif
}

/// The same of memory that somebody else allocated, if it is so much that the rest of its huge pages hardly counts.
inline void advise_large_memory(void* memory, size_t size_bytes) noexcept {
    constexpr size_t large_bytes = 4 * huge_page_bytes;
    if (size_bytes >= large_bytes) {
        advise_huge_pages(memory, size_bytes);
    }
}

#if defined(__linux__) && defined(MADV_POPULATE_WRITE)
/// The whole pages in this memory.
[[nodiscard]] inline span<byte> whole_pages(span<byte> memory, size_t page_bytes) noexcept {
    const size_t before = bytes_to_multiple(memory.data(), page_bytes);
    const size_t rest = memory.size() - (std::min)(before, memory.size());
    return rest < page_bytes ? span<byte>() : memory.subspan(before, rest / page_bytes * page_bytes);
}

/// Whether nothing was written yet to memory that is about to be filled, going by its last whole page. The system
/// clears such a page when it is first written to, and then it lies in the cache.
[[nodiscard]] inline bool is_untouched(span<byte> memory) noexcept {
    const auto page_bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const span<byte> pages = whole_pages(memory, page_bytes);
    unsigned char is_there = 1;
    return !pages.empty() && ::mincore(pages.end() - page_bytes, page_bytes, &is_there) == 0 && (is_there & 1) == 0;
}

/// All of this memory is about to be written to: the whole pages in it come at once, which takes 0.7 of the time that a
/// fault of each does.
inline void make_pages(span<byte> memory) noexcept {
    const span<byte> pages = whole_pages(memory, static_cast<size_t>(::sysconf(_SC_PAGESIZE)));
    static_cast<void>(::madvise(pages.data(), pages.size(), MADV_POPULATE_WRITE));
}
#else
inline bool is_untouched(span<byte>) noexcept {
    return false;
}
inline void make_pages(span<byte>) noexcept {
}
#endif

/// This process will not look at the whole pages of [offset, offset + length) of a mapped file soon: they leave its
/// memory, so that the system can forget them, and come back when they are looked at. Those of other memory are zeros
/// then.
inline void forget_pages([[maybe_unused]] bytes_view mapped, [[maybe_unused]] uint64_t offset,
                         [[maybe_unused]] uint64_t length) noexcept {
#if defined(__linux__) && defined(MADV_DONTNEED)
    if (offset > mapped.size()) {
        return;
    }
    const auto page_bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    auto* const at = const_cast<byte*>(mapped.data()) + offset;
    const size_t before = bytes_to_multiple(at, page_bytes);
    const uint64_t whole = length > before ? (length - before) / page_bytes * page_bytes : 0;
    if (whole != 0 && before + whole <= mapped.size() - offset) {
        static_cast<void>(::madvise(at + before, static_cast<size_t>(whole), MADV_DONTNEED)); // private, unwritten
    }
#endif
}

// -- stream copy
//
// Much memory at once: written past the cache, so that it is not read before and what lies in the cache stays, and read
// ahead of, which the processor does by itself for a page at a time.

/// More than a core's own cache keeps.
inline constexpr size_t past_cache_bytes = size_t{4} << 20;

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
/// Other threads see what was written past the cache before what is written after it.
__attribute__((target("sse"))) inline void finish_past_cache() noexcept {
    _mm_sfence();
}
#else
inline void finish_past_cache() noexcept {
}
#endif

#if defined(__GNUC__) && defined(__x86_64__)
[[nodiscard]] inline __m128i load_sixteen(const byte* from) noexcept {
    return _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(from)));
}
template <bool IsPastCache>
void store_sixteen(__m128i value, byte* aligned) noexcept {
    auto* const place = static_cast<__m128i*>(static_cast<void*>(aligned));
    if constexpr (IsPastCache) {
        _mm_stream_si128(place, value);
    } else {
        _mm_store_si128(place, value);
    }
}

/// Copies all of `from` into the beginning of `to`, which it does not overlap: past the cache, or through it where the
/// lines of `to` lie in it.
template <bool IsPastCache>
void copy_lines(bytes_view from, span<byte> to) noexcept {
    constexpr size_t line_bytes = 64, ahead = 4096;
    const size_t before = bytes_to_multiple(to.data(), line_bytes);
    size_t done = (std::min)(before, from.size());
    std::memcpy(to.data(), from.data(), done);
    for (; from.size() - done >= line_bytes; done += line_bytes) {
        const byte* const line = from.data() + done;
        byte* const place = to.data() + done;
        if constexpr (!IsPastCache) {
            __builtin_prefetch(line + ahead, 0, 2); // without, a compiler makes std::memcpy of it
        }
        const __m128i first = load_sixteen(line), second = load_sixteen(line + 16), third = load_sixteen(line + 32),
                      fourth = load_sixteen(line + 48);
        store_sixteen<IsPastCache>(first, place);
        store_sixteen<IsPastCache>(second, place + 16);
        store_sixteen<IsPastCache>(third, place + 32);
        store_sixteen<IsPastCache>(fourth, place + 48);
    }
    if constexpr (IsPastCache) {
        finish_past_cache();
    }
    std::memcpy(to.data() + done, from.data() + done, from.size() - done);
}
#else
template <bool IsPastCache>
void copy_lines(bytes_view from, span<byte> to) noexcept {
    std::memcpy(to.data(), from.data(), from.size());
}
#endif

/// Copies what may not lie in the cache to where other things do: read ahead of, in 0.75 of the time of std::memcpy.
inline void copy_through_cache(bytes_view from, span<byte> to) noexcept {
    constexpr size_t few_bytes = 4096;
    if (from.size() >= few_bytes) {
        copy_lines<false>(from, to);
    } else if (!from.empty()) {
        std::memcpy(to.data(), from.data(), from.size());
    }
}

/// Copies all of `from`, which is much, into the beginning of `to`: past the cache if `goes_past_cache`, as what is
/// more than that keeps had better, but always through it into pages that the system has just cleared. On a Xeon those
/// took 1.3 to 1.4 times as long past it, and 1.3 times with a fault for each.
inline void copy_much(bytes_view from, span<byte> to, bool goes_past_cache) noexcept {
    while (!from.empty()) {
        const bytes_view next = from.first((std::min)(from.size(), huge_page_bytes));
        const span<byte> place = to.first(next.size());
        if (is_untouched(place)) {
            make_pages(place);
            copy_lines<false>(next, place);
        } else if (goes_past_cache) {
            copy_lines<true>(next, place);
        } else {
            std::memcpy(place.data(), next.data(), next.size());
        }
        from = from.subspan(next.size());
        to = to.subspan(next.size());
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
