// SPDX-License-Identifier: MIT
//
// SHA-256 with the instructions of 64-bit ARM, in assembler: then no flag of the compiler's is needed for them, and not
// <arm_neon.h>, which takes long.
#ifndef ZTENSOR_DETAIL_CODEC_SHA256_ARM_HPP
#define ZTENSOR_DETAIL_CODEC_SHA256_ARM_HPP

#include <ztensor/detail/codec/sha256_rounds.hpp>
#include <ztensor/detail/os/cpu.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AARCH64EL__) && (defined(__GNUC__) || defined(__clang__))

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

using sha256_four = unsigned __attribute__((vector_size(16)));

/// Takes the next blocks into the state if `cpu` has instructions for that.
[[nodiscard]] inline bool sha256_by_instructions(sha256_lane& lane, std::size_t block_count,
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
        for (std::size_t i = 0; i < 4; ++i) {
            std::memcpy(&words[i], lane.next + 16 * i, sizeof words[i]);
            __asm__("rev32 %0.16b, %0.16b" : "+w"(words[i]));
        }
        for (std::size_t round = 0; round < 64; round += 4) {
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

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

#endif
