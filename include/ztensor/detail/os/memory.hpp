// SPDX-License-Identifier: MIT
//
// What the system is told about memory: hints, which it may ignore and which change no content.
#ifndef ZTENSOR_DETAIL_OS_MEMORY_HPP
#define ZTENSOR_DETAIL_OS_MEMORY_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

/// The whole huge pages in this memory, which is about to be filled, may become such: a first touch of each then costs
/// one fault instead of 512.
inline void advise_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size_bytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const std::size_t before = bytes_to_multiple(memory, huge_page_bytes);
    if (size_bytes >= before + huge_page_bytes) {
        const std::size_t whole = (size_bytes - before) & ~(huge_page_bytes - 1);
        static_cast<void>(::madvise(static_cast<std::byte*>(memory) + before, whole, MADV_HUGEPAGE));
    }
#endif
}

/// The same of memory that somebody else allocated, if it is so much that the rest of its huge pages hardly counts.
inline void advise_large_memory(void* memory, std::size_t size_bytes) noexcept {
    constexpr std::size_t large_bytes = 4 * huge_page_bytes;
    if (size_bytes >= large_bytes) {
        advise_huge_pages(memory, size_bytes);
    }
}

#if defined(__linux__) && defined(MADV_POPULATE_WRITE)
/// The whole pages in this memory.
[[nodiscard]] inline span<std::byte> whole_pages(span<std::byte> memory, std::size_t page_bytes) noexcept {
    const std::size_t before = bytes_to_multiple(memory.data(), page_bytes);
    const std::size_t rest = memory.size() - (std::min)(before, memory.size());
    return rest < page_bytes ? span<std::byte>() : memory.subspan(before, rest / page_bytes * page_bytes);
}

/// Whether nothing was written yet to memory that is about to be filled, going by its last whole page. The system
/// clears such a page when it is first written to, and then it lies in the cache.
[[nodiscard]] inline bool is_untouched(span<std::byte> memory) noexcept {
    const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const span<std::byte> pages = whole_pages(memory, page_bytes);
    unsigned char is_there = 1;
    return !pages.empty() && ::mincore(pages.end() - page_bytes, page_bytes, &is_there) == 0 && (is_there & 1) == 0;
}

/// All of this memory is about to be written to: the whole pages in it come at once, which takes 0.7 of the time that a
/// fault of each does.
inline void make_pages(span<std::byte> memory) noexcept {
    const span<std::byte> pages = whole_pages(memory, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
    static_cast<void>(::madvise(pages.data(), pages.size(), MADV_POPULATE_WRITE));
}
#else
inline bool is_untouched(span<std::byte>) noexcept {
    return false;
}
inline void make_pages(span<std::byte>) noexcept {
}
#endif

/// This process will not look at the whole pages of [offset, offset + length) of a mapped file soon: they leave its
/// memory, so that the system can forget them, and come back when they are looked at.
inline void forget_pages([[maybe_unused]] bytes_view mapped, [[maybe_unused]] std::uint64_t offset,
                         [[maybe_unused]] std::uint64_t length) noexcept {
#if defined(__linux__) && defined(MADV_DONTNEED)
    const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t begin = (offset + page_bytes - 1) & ~(page_bytes - 1);
    const std::uint64_t end = (offset + length) & ~(page_bytes - 1);
    if (begin < end && end <= mapped.size()) {
        auto* const first = const_cast<std::byte*>(mapped.data()) + begin;
        static_cast<void>(::madvise(first, static_cast<std::size_t>(end - begin), MADV_DONTNEED)); // private, unwritten
    }
#endif
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
