// SPDX-License-Identifier: MIT
//
// XXH3 of 64 bits, by xxHash's header alone. The only room that knows xxHash; a build without it has the same
// functions, and says that it can't compute. SPEC.md section 13.1, section 13.8.
#ifndef ZTENSOR_DETAIL_CODEC_XXH3_HPP
#define ZTENSOR_DETAIL_CODEC_XXH3_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/digest_memory.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstdint>
#include <new>

#if __has_include(<xxhash.h>) && !defined(ZTENSOR_WITHOUT_XXHASH)
#define XXH_INLINE_ALL
// Its inner loops are passed on as functions, which GCC refuses to inline where it optimises for debugging (-Og).
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#pragma GCC push_options
#pragma GCC optimize("O2")
#include <xxhash.h>
#pragma GCC pop_options
#else
#include <xxhash.h>
#endif
#undef XXH_INLINE_ALL
#endif

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

#if defined(XXH_VERSION_NUMBER) && XXH_VERSION_NUMBER >= 800 && !defined(ZTENSOR_WITHOUT_XXHASH)

inline constexpr bool has_xxh3 = true;

static_assert(sizeof(XXH3_state_t) <= sizeof(digest_memory::xxh3) && alignof(XXH3_state_t) <= alignof(digest_memory),
              "xxHash keeps more between two pieces than there is room for");

[[nodiscard]] inline XXH3_state_t* xxh3_state(digest_memory& memory) noexcept {
    return std::launder(static_cast<XXH3_state_t*>(static_cast<void*>(memory.xxh3)));
}
[[nodiscard]] inline const XXH3_state_t* xxh3_state(const digest_memory& memory) noexcept {
    return std::launder(static_cast<const XXH3_state_t*>(static_cast<const void*>(memory.xxh3)));
}

ZTENSOR_NOINLINE inline void xxh3_start(digest_memory& memory) noexcept {
    XXH3_64bits_reset(::new (static_cast<void*>(memory.xxh3)) XXH3_state_t);
}
ZTENSOR_NOINLINE inline void xxh3_update(digest_memory& memory, bytes_view bytes) noexcept {
    XXH3_64bits_update(xxh3_state(memory), bytes.data(), bytes.size());
}
[[nodiscard]] ZTENSOR_NOINLINE inline std::uint64_t xxh3_value(const digest_memory& memory) noexcept {
    return XXH3_64bits_digest(xxh3_state(memory));
}
/// Of bytes in one piece.
[[nodiscard]] ZTENSOR_NOINLINE inline std::uint64_t xxh3_of(bytes_view bytes) noexcept {
    return XXH3_64bits(bytes.data(), bytes.size());
}

#else

inline constexpr bool has_xxh3 = false;

inline void xxh3_start(digest_memory&) noexcept {
}
inline void xxh3_update(digest_memory&, bytes_view) noexcept {
}
[[nodiscard]] inline std::uint64_t xxh3_value(const digest_memory&) noexcept {
    return 0;
}
[[nodiscard]] inline std::uint64_t xxh3_of(bytes_view) noexcept {
    return 0;
}

#endif

/// Where XXH3 is needed. Errors: unsupported_digest in a build without xxHash.
[[nodiscard]] ZTENSOR_COLD inline result<void> require_xxh3() {
    if constexpr (has_xxh3) {
        return {};
    } else {
        return fail(
            errc::unsupported_digest,
            "version 2 of .zt needs XXH3, and this library was built without xxHash: install it (Debian and Ubuntu: "
            "libxxhash-dev, vcpkg: xxhash, conan: xxhash) and build again");
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
