// SPDX-License-Identifier: MIT
//
// Memory written past the cache: it is not read before it is written, and what lies in the cache stays.
#ifndef ZTENSOR_DETAIL_OS_PAST_CACHE_HPP
#define ZTENSOR_DETAIL_OS_PAST_CACHE_HPP

#include <ztensor/detail/core/cast.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// More than a core's own cache keeps.
inline constexpr std::size_t past_cache_bytes = std::size_t{4} << 20;

#if (defined(__x86_64__) || defined(__i386__)) && (defined(__GNUC__) || defined(__clang__))
/// Other threads see what was written past the cache before what is written after it.
__attribute__((target("sse"))) inline void finish_past_cache() noexcept {
    __builtin_ia32_sfence();
}
#else
inline void finish_past_cache() noexcept {
}
#endif

/// Copies all of `from` into the beginning of `to`, which it does not overlap: what a core's own cache could not keep.
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
inline void copy_past_cache(bytes_view from, span<std::byte> to) noexcept {
    using four_floats = float __attribute__((vector_size(16)));
    constexpr std::size_t line_bytes = 64;
    const std::size_t before = static_cast<std::size_t>(-address_of(to.data())) % line_bytes;
    std::size_t done = std::min(before, from.size());
    std::memcpy(to.data(), from.data(), done);
    for (; from.size() - done >= line_bytes; done += line_bytes) {
        four_floats line[line_bytes / sizeof(four_floats)];
        std::memcpy(line, from.data() + done, sizeof(line));
        auto* const place = static_cast<four_floats*>(static_cast<void*>(to.data() + done));
        for (std::size_t i = 0; i < sizeof(line) / sizeof(line[0]); ++i) {
#if defined(__clang__)
            __builtin_nontemporal_store(line[i], place + i);
#else
            __builtin_ia32_movntps(static_cast<float*>(static_cast<void*>(place + i)), line[i]);
#endif
        }
    }
    finish_past_cache();
    std::memcpy(to.data() + done, from.data() + done, from.size() - done);
}
#else
inline void copy_past_cache(bytes_view from, span<std::byte> to) noexcept {
    std::memcpy(to.data(), from.data(), from.size());
}
#endif

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
