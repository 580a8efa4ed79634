// SPDX-License-Identifier: MIT
//
// The rival of opening: a bare walk of the same index.
#ifndef ZTENSOR_TESTS_BENCH_WALK_HPP
#define ZTENSOR_TESTS_BENCH_WALK_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace bench {

/// Skips every item and does nothing else: the least that reading an index can cost.
inline const unsigned char* walk(const unsigned char* at, const unsigned char* end) {
    std::uint64_t outside[64]; // of what has no length
    std::size_t depth = 0;
    for (std::uint64_t pending = 1; pending != 0;) {
        if (at >= end || depth == 64) {
            std::fputs("a walk has left its index\n", stderr);
            std::abort();
        }
        const unsigned major = *at >> 5, info = *at & 31;
        std::uint64_t value = info;
        ++at;
        if (info == 31) {
            if (major == 7) {
                pending = outside[--depth];
            } else {
                outside[depth++] = pending - 1;
                pending = ~std::uint64_t{0};
            }
            continue;
        }
        if (info >= 24) {
            const unsigned size = 1U << (info - 24);
            value = 0;
            for (unsigned i = 0; i < size; ++i) {
                value = value << 8 | at[i];
            }
            at += size;
        }
        --pending;
        if (major == 2 || major == 3) {
            at += value;
        } else if (major >= 4) {
            pending += major == 4 ? value : major == 5 ? 2 * value : major == 6 ? 1 : 0;
        }
    }
    return at;
}

} // namespace bench

#endif
