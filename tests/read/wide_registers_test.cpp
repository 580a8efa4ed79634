// SPDX-License-Identifier: MIT
//
// Loops of narrow instructions run at their own speed behind whatever a library left in wide registers.
#include "read/conversions.hpp"
#include "support/catch.hpp"

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/codec/crc32.hpp>
#include <ztensor/detail/codec/sha256.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/read/convert.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

namespace {

#if defined(__x86_64__) && defined(__GNUC__)

using ztensor::detail::cpu_features;
using ztensor::detail::crc32c_start;
using ztensor::detail::crc32c_update;
using ztensor::detail::digest_memory;
using ztensor::detail::host_cpu;
using ztensor::detail::sha256_lane;

bool has_wide_registers() {
    return host_cpu().avx;
}

/// Whether a wide register is still filled after `work`, as isa-l's functions leave them. No assertion comes between,
/// which could empty it.
template <class Work>
bool leaves_wide_registers(const Work& work) {
    __asm__ volatile("vcmptrueps %%ymm15, %%ymm15, %%ymm15" ::: "xmm15");
    work();
    std::array<std::uint64_t, 2> upper_half = {};
    __asm__ volatile("vextractf128 $1, %%ymm15, %0" : "=m"(upper_half));
    return upper_half[0] != 0 || upper_half[1] != 0;
}

void check_no_loop_waits() {
    CHECK(leaves_wide_registers([] {}));
    const std::vector<std::byte> block(4096);
    digest_memory memory;
    std::copy_n(ztensor::detail::sha256_start, 8, memory.words);
    digest_memory other = memory;
    if (host_cpu().sha) {
        CHECK_FALSE(leaves_wide_registers([&] { ztensor::detail::sha256_update(memory, block); }));
        std::array<sha256_lane, 2> lanes = {{{memory.words, block.data()}, {other.words, block.data()}}};
        CHECK_FALSE(leaves_wide_registers([&] { ztensor::detail::sha256_blocks(lanes, 64, host_cpu()); }));
    }
    if (host_cpu().pclmul && host_cpu().sse42) {
        cpu_features without_avx512 = host_cpu();
        without_avx512.avx512_vpclmul = false;
        std::uint32_t crc = crc32c_start;
        CHECK_FALSE(leaves_wide_registers([&] { crc = crc32c_update(crc, block, without_avx512); }));
        CHECK(crc == crc32c_update(crc32c_start, block, {}));
    }
    std::vector<double> numbers(block.size() / 2);
    const ztensor::span<double> destination(numbers);
    CHECK_FALSE(
        leaves_wide_registers([&] { support::convert_elements(block, ztensor::dtype::f16, "", destination).value(); }));
}

#else

bool has_wide_registers() {
    return false;
}
void check_no_loop_waits() {
}

#endif

} // namespace

TEST_CASE("no loop of narrow instructions waits for what wide ones left in their registers") {
    if (has_wide_registers()) {
        check_no_loop_waits();
    } else {
        std::cerr << "SKIPPED: there are no wide registers that this test knows of\n";
    }
}
