// SPDX-License-Identifier: MIT
//
// What the processor can do beyond what this was compiled for, and the instructions for it.
//
// Of x86 that is Intel's intrinsics, which alone compilers document and keep: the builtins that these are made of are a
// compiler's own, and clang has removed some. Whoever uses them gives the function a target attribute, and asks
// cpu_features before calling it. A program that includes all of ztensor header-only compiles 0.5 s longer by g++ 12,
// 0.1 s by clang 14; users of the compiled library do not include this. Microsoft's compiler, which has no target
// attribute, and clang in its mode get what is written for every processor.
#ifndef ZTENSOR_DETAIL_OS_CPU_HPP
#define ZTENSOR_DETAIL_OS_CPU_HPP

#include <ztensor/version.hpp>

#include <cstdint>

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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
    std::uint32_t a, b, c, d;
};

// Two instructions in assembler: CPUID is in no header that both compilers have, and the other one takes a flag.
[[nodiscard]] inline cpuid_answer ask_cpuid(std::uint32_t leaf) noexcept {
    cpuid_answer answer = {leaf, 0, 0, 0};
    __asm__("cpuid" : "+a"(answer.a), "=b"(answer.b), "+c"(answer.c), "=d"(answer.d));
    return answer;
}

/// Which registers the operating system saves. Only where CPUID says that it does so.
[[nodiscard]] inline std::uint32_t saved_registers() noexcept {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(low), "=d"(high) : "c"(0)); // xgetbv
    return low;
}

[[nodiscard]] ZTENSOR_COLD inline cpu_features find_cpu_features() noexcept {
    const auto has = [](std::uint32_t word, int bit) { return (word >> bit & 1) != 0; };
    constexpr std::uint32_t of_avx = 0x06;
    constexpr std::uint32_t of_avx512 = 0xe6;
    const cpuid_answer maker = ask_cpuid(0);
    const cpuid_answer basic = ask_cpuid(1);
    const cpuid_answer extended = maker.a >= 7 ? ask_cpuid(7) : cpuid_answer{0, 0, 0, 0};
    const std::uint32_t saved = has(basic.c, 27) ? saved_registers() : 0;
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

    constexpr std::uint32_t amd = 0x68747541; // "Auth"
    constexpr std::uint32_t family_of_zen_5 = 0x1a;
    const std::uint32_t family = (basic.a >> 8 & 0xf) + (basic.a >> 20 & 0xff);
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

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
