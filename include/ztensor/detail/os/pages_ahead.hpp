// SPDX-License-Identifier: MIT
//
// New memory whose pages a second thread asks for, while the caller fills those at its front.
#ifndef ZTENSOR_DETAIL_OS_PAGES_AHEAD_HPP
#define ZTENSOR_DETAIL_OS_PAGES_AHEAD_HPP

#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/elements.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/os/threads.hpp>
#include <ztensor/executor.hpp>
#include <ztensor/span.hpp>

#include <atomic>
#include <cstddef>
#include <new>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Room for `count` elements in memory that has a reserve(): in huge pages, if it is much.
inline span<std::byte> reserve_large(element_memory elements, std::size_t count, std::size_t element_bytes) {
    auto* const room = static_cast<std::byte*>(elements.reserve(elements.owner, count));
    advise_large_memory(room, count * element_bytes);
    return {room, count * element_bytes};
}

/// As long as it lives, a thread of the executor asks the system for the pages of `memory`, from its end to where
/// somebody has come who fills it from the front: each page is cleared by one of them. For clearing takes longer than
/// filling (a tensor of 256 MiB read into a std::vector took 39 ms instead of 53 on Zen 4, and 32 instead of 37 into an
/// array). Does nothing where memory is not new or not much, or `threads`, as in read_options, are one. Nobody waits
/// for that thread, but the destructor for the piece that it is at.
class pages_ahead {
public:
    pages_ahead(span<std::byte> memory, unsigned threads) noexcept : memory_(memory) {
        constexpr std::size_t least_bytes = 4 * huge_page_bytes;
        if (memory.size() < least_bytes || useful_threads(threads, 2) < 2 || !is_untouched(memory)) {
            return;
        }
        const auto make_pages_until_met = [](void* self) { static_cast<pages_ahead*>(self)->make_until_met(); };
        helpers_ = new (std::nothrow) crew({make_pages_until_met, this});
        if (helpers_ != nullptr) {
            static_cast<void>(helpers_->ask(current_executor()));
        }
    }
    pages_ahead(const pages_ahead&) = delete;
    pages_ahead& operator=(const pages_ahead&) = delete;
    ~pages_ahead() {
        is_filled_.store(true, std::memory_order_relaxed);
        if (helpers_ != nullptr && helpers_->is_ours()) { // a child needs nothing that the helper did
            helpers_->dismiss();
        }
    }

private:
    void make_until_met() noexcept {
        if (thread_mark() == filler_) {
            return; // an executor that runs it at once, which helps nobody
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
    crew* helpers_ = nullptr;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
