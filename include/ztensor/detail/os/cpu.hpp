// SPDX-License-Identifier: MIT
//
// What the processor can do beyond what every processor of its kind can, asked once. All false where nobody asks: on
// other processors than x86, and with compilers other than GCC and Clang.
#ifndef ZTENSOR_DETAIL_OS_CPU_HPP
#define ZTENSOR_DETAIL_OS_CPU_HPP

#include <ztensor/version.hpp>

#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Each is true if the processor has the instructions and the system keeps the registers that they need.
struct cpu_features {
    bool sse42 = false;  ///< which brought the instruction for CRC-32C
    bool pclmul = false; ///< carry-less multiplication, with sse42
    bool sha = false;    ///< the SHA extensions, with SSE4.1
    bool f16c = false;   ///< halves to floats, with AVX
    bool avx2 = false;
    bool avx512_vpclmul = false; ///< carry-less multiplication of 512 bits, with AVX-512 F, BW, DQ and VL
};

#if (defined(__x86_64__) || defined(__i386__)) && (defined(__GNUC__) || defined(__clang__))

struct cpuid_leaf {
    std::uint32_t eax = 0;
    std::uint32_t ebx = 0;
    std::uint32_t ecx = 0;
    std::uint32_t edx = 0;
};

// In assembler, so that no header of intrinsics is needed: <cpuid.h> is GCC's, <immintrin.h> costs as much as all of
// us.
[[nodiscard]] inline cpuid_leaf ask_cpuid(std::uint32_t leaf) noexcept {
    cpuid_leaf answer;
    __asm__ volatile("cpuid"
                     : "=a"(answer.eax), "=b"(answer.ebx), "=c"(answer.ecx), "=d"(answer.edx)
                     : "a"(leaf), "c"(0));
    return answer;
}

/// Which registers the system keeps from one thread to the next.
[[nodiscard]] inline std::uint32_t kept_registers() noexcept {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(low), "=d"(high) : "c"(0)); // xgetbv
    return low;
}

[[nodiscard]] inline cpu_features find_cpu_features() noexcept {
    const auto bit = [](std::uint32_t word, unsigned position) { return (word >> position & 1) != 0; };
    const std::uint32_t last_leaf = ask_cpuid(0).eax;
    const cpuid_leaf first = ask_cpuid(1);
    const cpuid_leaf seventh = last_leaf >= 7 ? ask_cpuid(7) : cpuid_leaf();
    const bool tells_registers = bit(first.ecx, 27); // OSXSAVE: only then is there an xgetbv
    const std::uint32_t registers = tells_registers ? kept_registers() : 0;
    const bool has_ymm = (registers & 0x06) == 0x06 && bit(first.ecx, 28);
    const bool has_zmm = has_ymm && (registers & 0xe0) == 0xe0;
    const bool has_avx512 =
        has_zmm && bit(seventh.ebx, 16) && bit(seventh.ebx, 17) && bit(seventh.ebx, 30) && bit(seventh.ebx, 31);
    cpu_features found;
    found.sse42 = bit(first.ecx, 20);
    found.pclmul = found.sse42 && bit(first.ecx, 1);
    found.sha = bit(seventh.ebx, 29) && bit(first.ecx, 19);
    found.f16c = has_ymm && bit(first.ecx, 29);
    found.avx2 = has_ymm && bit(seventh.ebx, 5);
    found.avx512_vpclmul = has_avx512 && bit(seventh.ecx, 10);
    return found;
}

#else

[[nodiscard]] constexpr cpu_features find_cpu_features() noexcept {
    return {};
}

#endif

/// Those of the processor that this runs on.
[[nodiscard]] inline const cpu_features& cpu() noexcept {
    static const cpu_features found = find_cpu_features();
    return found;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
