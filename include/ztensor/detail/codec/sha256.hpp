// SPDX-License-Identifier: MIT
//
// SHA-256 (FIPS 180-4): by the processor's instructions where it has some, of one message or of several at once.
#ifndef ZTENSOR_DETAIL_CODEC_SHA256_HPP
#define ZTENSOR_DETAIL_CODEC_SHA256_HPP

#include <ztensor/detail/codec/sha256_arm.hpp>
#include <ztensor/detail/codec/sha256_rounds.hpp>
#include <ztensor/detail/codec/sha256_x86.hpp>
#include <ztensor/detail/core/digest_memory.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/os/cpu.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// On any processor.
ZTENSOR_NOINLINE inline void sha256_portable(sha256_lane& lane, std::size_t block_count) noexcept {
    for (; block_count != 0; --block_count, lane.next += sha256_block_bytes) {
        std::uint32_t w[64];
        for (std::size_t i = 0; i < 16; ++i) {
            w[i] = load_big_word(lane.next + 4 * i);
        }
        for (std::size_t i = 16; i < 64; ++i) {
            const std::uint32_t s0 = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ w[i - 15] >> 3;
            const std::uint32_t s1 = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        for (std::size_t i = 0; i < 64; ++i) {
            w[i] += sha256_round_constants[i];
        }
        sha256_rounds(lane.state, w, 1);
    }
}

// Chosen where no header above has the function for the processor that this is compiled for.
template <class Features>
[[nodiscard]] bool sha256_by_instructions(sha256_lane&, std::size_t, const Features&) noexcept {
    return false;
}
template <class Features>
[[nodiscard]] std::size_t sha256_several_by_instructions(span<sha256_lane>, std::size_t, const Features&) noexcept {
    return 0;
}
template <class Features>
[[nodiscard]] std::size_t sha256_most_lanes(const Features&) noexcept {
    return 1;
}

/// Takes the next `block_count` blocks into the state. As `cpu` does it, which is the host's, or has less than that.
inline void sha256_blocks(sha256_lane& lane, std::size_t block_count, const cpu_features& cpu) noexcept {
    if (!sha256_by_instructions(lane, block_count, cpu)) {
        sha256_portable(lane, block_count);
    }
}

/// The same of several messages, of each as many blocks. Quickest with sha256_most_lanes(cpu) of them.
inline void sha256_blocks(span<sha256_lane> lanes, std::size_t block_count, const cpu_features& cpu) noexcept {
    while (!lanes.empty()) {
        std::size_t done = lanes.size() > 1 ? sha256_several_by_instructions(lanes, block_count, cpu) : 0;
        if (done == 0) {
            sha256_blocks(lanes[0], block_count, cpu);
            done = 1;
        }
        lanes = lanes.subspan(done);
    }
}

ZTENSOR_NOINLINE inline void sha256_update(digest_memory& memory, bytes_view bytes,
                                           const cpu_features& cpu = host_cpu()) noexcept {
    const auto pending = static_cast<std::size_t>(memory.length_bytes % sha256_block_bytes);
    memory.length_bytes += bytes.size();
    if (pending != 0) {
        const std::size_t taken = (std::min<std::size_t>)(sha256_block_bytes - pending, bytes.size());
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
[[nodiscard]] inline std::array<std::byte, 32> sha256_value(const digest_memory& so_far,
                                                            const cpu_features& cpu = host_cpu()) noexcept {
    digest_memory memory = so_far;
    // 0x80, zeros, then the length in bits: as many zeros as end it on a whole block.
    std::array<std::byte, 2 * sha256_block_bytes> padding{};
    padding[0] = std::byte{0x80};
    const auto pending = static_cast<std::size_t>(memory.length_bytes % sha256_block_bytes);
    const std::size_t padding_bytes = (pending < sha256_block_bytes - 8 ? 1 : 2) * sha256_block_bytes - pending;
    store_big(memory.length_bytes * 8, padding.data() + padding_bytes - 8, 8);
    sha256_update(memory, {padding.data(), padding_bytes}, cpu);
    std::array<std::byte, 32> value;
    for (std::size_t i = 0; i < 8; ++i) {
        store_big(memory.words[i], value.data() + 4 * i, 4);
    }
    return value;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
