// SPDX-License-Identifier: MIT
//
// Prefaulting: a second thread makes the pages of new memory, while the caller fills those at its front.
#ifndef ZTENSOR_DETAIL_OS_PREFAULT_HPP
#define ZTENSOR_DETAIL_OS_PREFAULT_HPP

#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/elements.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/os/task_group.hpp>
#include <ztensor/span.hpp>

#include <atomic>
#include <cstddef>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Room for `count` elements in memory that has a reserve(): in huge pages, if it is much.
inline span<std::byte> reserve_large(element_memory elements, std::size_t count, std::size_t element_bytes) {
    auto* const room = static_cast<std::byte*>(elements.reserve(elements.owner, count));
    advise_large_memory(room, count * element_bytes);
    return {room, count * element_bytes};
}

/// While it lives, a thread of the executor makes the pages of `memory`, from its end down to where it meets the thread
/// that fills it from the front: each page is cleared by one of the two. Clearing takes longer than filling (a tensor
/// of 256 MiB read into a std::vector took 39 ms instead of 53 on Zen 4, and 32 instead of 37 into an array). Does
/// nothing if the memory is small or not new, or if `threads`, as in read_options, is 1. The destructor waits at most
/// for the page that is being made.
class prefault {
public:
    prefault(span<std::byte> memory, unsigned threads) noexcept : memory_(memory) {
        constexpr std::size_t least_bytes = 4 * huge_page_bytes;
        if (memory.size() >= least_bytes && useful_threads(threads, 2) > 1 && is_untouched(memory)) {
            static_cast<void>(group_.spawn());
        }
    }
    prefault(const prefault&) = delete;
    prefault& operator=(const prefault&) = delete;
    ~prefault() { is_filled_.store(true, std::memory_order_relaxed); }

private:
    void make_until_met() noexcept {
        if (thread_mark() == filler_) {
            return; // the executor runs it at once, on the thread that fills
        }
        const std::size_t before = bytes_to_multiple(memory_.data(), huge_page_bytes);
        for (std::size_t end = memory_.size(); end > before && !is_filled_.load(std::memory_order_relaxed);) {
            const std::size_t begin = before + (end - before - 1) / huge_page_bytes * huge_page_bytes;
            const span<std::byte> pages = memory_.subspan(begin, end - begin);
            if (!is_untouched(pages)) {
                return;
            }
            make_pages(pages);
            end = begin;
        }
    }

    span<std::byte> memory_;
    const void* filler_ = thread_mark();
    std::atomic<bool> is_filled_{false};
    task_group group_{[](void* self) { static_cast<prefault*>(self)->make_until_met(); }, this};
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
