// SPDX-License-Identifier: MIT
//
// The memory of a digest that is being computed.
#ifndef ZTENSOR_DETAIL_BASE_DIGEST_MEMORY_HPP
#define ZTENSOR_DETAIL_BASE_DIGEST_MEMORY_HPP

#include <ztensor/version.hpp>

#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What an algorithm keeps between two pieces; detail/codec knows what it means.
struct digest_memory {
    alignas(64) std::byte xxh3[600]; ///< of XXH3: its whole state, made when it starts, and what would be padding
    std::uint32_t words[8] = {};     ///< SHA-256's state; of CRC-32C the first
    std::byte pending[64] = {};      ///< of SHA-256: the start of a block that is not full yet
    std::uint64_t length_bytes = 0;  ///< of all pieces so far
};
static_assert(sizeof(digest_memory) == 704, "Microsoft's compiler warns of padding that an alignas makes (C4324)");

} // namespace detail

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
