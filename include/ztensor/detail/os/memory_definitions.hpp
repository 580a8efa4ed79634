// SPDX-License-Identifier: MIT
//
// Memory for much data at once. Defines what array.hpp declares.
#ifndef ZTENSOR_DETAIL_OS_MEMORY_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_OS_MEMORY_DEFINITIONS_HPP

#include <ztensor/array.hpp>
#include <ztensor/detail/os/memory.hpp>

#include <new>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Half of the last huge page is wasted on average; from here on that is at most a quarter.
inline constexpr std::size_t huge_allocation_bytes = 2 * huge_page_bytes;

[[nodiscard]] constexpr std::align_val_t page_alignment(std::size_t size_bytes) noexcept {
    return std::align_val_t{size_bytes >= huge_allocation_bytes ? huge_page_bytes : std::size_t{64}};
}

ZTENSOR_INLINE void* allocate_pages(std::size_t size_bytes) noexcept {
    void* const memory = ::operator new(size_bytes, page_alignment(size_bytes), std::nothrow);
    if (memory != nullptr && size_bytes >= huge_allocation_bytes) {
        advise_huge_pages(memory, size_bytes);
    }
    return memory;
}

ZTENSOR_INLINE void free_pages(void* memory, std::size_t size_bytes) noexcept {
    ::operator delete(memory, page_alignment(size_bytes));
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
