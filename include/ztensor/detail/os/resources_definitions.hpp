// SPDX-License-Identifier: MIT
//
// What the library takes of the process: memory for much data at once, and its own pool of threads. Defines what
// array.hpp and options.hpp declare.
#ifndef ZTENSOR_DETAIL_OS_RESOURCES_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_OS_RESOURCES_DEFINITIONS_HPP

#include <ztensor/array.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/options.hpp>

#include <algorithm>
#include <atomic>
#include <new>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- memory

/// Half of the last huge page is wasted on average; from here on that is at most a quarter.
inline constexpr size_t huge_allocation_bytes = 2 * huge_page_bytes;

[[nodiscard]] constexpr std::align_val_t page_alignment(size_t size_bytes) noexcept {
    return std::align_val_t{size_bytes >= huge_allocation_bytes ? huge_page_bytes : size_t{64}};
}

ZTENSOR_INLINE void* allocate_pages(size_t size_bytes) noexcept {
    void* const memory = ::operator new(size_bytes, page_alignment(size_bytes), std::nothrow);
    if (memory != nullptr && size_bytes >= huge_allocation_bytes) {
        advise_huge_pages(memory, size_bytes);
    }
    return memory;
}

ZTENSOR_INLINE void free_pages(void* memory, size_t size_bytes) noexcept {
    ::operator delete(memory, page_alignment(size_bytes));
}

// -- threads

/// Threads that sleep until there is something to do, started one by one as tasks find none asleep.
class thread_pool final : public executor {
public:
    static constexpr unsigned most_threads = 256;

    [[nodiscard]] ZTENSOR_COLD bool submit(void (*run)(void* context), void* context) noexcept override {
        if (process_id() != process_) {
            return false; // a fork took the pool with it, but none of the threads
        }
        auto* const added = new (std::nothrow) task{run, context, nullptr};
        if (added == nullptr) {
            return false;
        }
        const os_lock lock(mutex_);
        if (waiting_ >= asleep_ && !start_one()) {
            delete added;
            return false;
        }
        *end_ = added;
        end_ = &added->next;
        ++waiting_;
        wake_.notify_one();
        return true;
    }

    [[nodiscard]] unsigned concurrency() const noexcept override { return processor_count(); }

private:
    struct task {
        void (*run)(void* context);
        void* context;
        task* next;
    };

    /// True if there is a thread that will come to the next task, if perhaps not at once.
    [[nodiscard]] bool start_one() noexcept {
        if (started_ < most_threads) {
            const auto run = [](void* self) { serve(self); };
            pin_module(run); // which no thread ever leaves
            started_ += start_thread(run, this) ? 1u : 0u;
        }
        return started_ != 0;
    }

    static void serve(void* pool) noexcept {
        auto& mine = *static_cast<thread_pool*>(pool);
        for (;;) {
            task* const taken = mine.next_task();
            taken->run(taken->context);
            delete taken;
        }
    }

    [[nodiscard]] task* next_task() noexcept {
        const os_lock lock(mutex_);
        ++asleep_;
        while (first_ == nullptr) {
            wake_.wait(mutex_);
        }
        --asleep_;
        --waiting_;
        task* const taken = first_;
        first_ = taken->next;
        if (first_ == nullptr) {
            end_ = &first_;
        }
        return taken;
    }

    const uint64_t process_ = process_id();
    os_mutex mutex_;
    os_condition wake_;
    task* first_ = nullptr;
    task** end_ = &first_;
    unsigned waiting_ = 0; ///< tasks
    unsigned asleep_ = 0;  ///< threads, or about to look for a task
    unsigned started_ = 0; ///< threads
};

/// What use_executor() and limit_pool() set.
struct executor_choice {
    std::atomic<executor*> chosen{nullptr};
    std::atomic<unsigned> pool_limit{0};
};

[[nodiscard]] inline executor_choice& executor_settings() noexcept {
    static executor_choice settings;
    return settings;
}

/// Never destroyed: its threads sleep until the process ends, in which nothing may wait for them.
[[nodiscard]] inline executor& library_pool() noexcept {
    alignas(thread_pool) static unsigned char memory[sizeof(thread_pool)];
    static executor* const pool = ::new (static_cast<void*>(memory)) thread_pool;
    return *pool;
}

ZTENSOR_INLINE executor& current_executor() noexcept {
    executor* const chosen = executor_settings().chosen.load(std::memory_order_acquire);
    return chosen != nullptr ? *chosen : library_pool();
}

ZTENSOR_INLINE unsigned threads_for(unsigned wanted) noexcept {
    const executor_choice& settings = executor_settings();
    const executor* const chosen = settings.chosen.load(std::memory_order_acquire);
    const unsigned limit = chosen == nullptr ? settings.pool_limit.load(std::memory_order_relaxed) : 0;
    if (wanted == 0) {
        wanted = (std::max)(chosen != nullptr ? chosen->concurrency() : processor_count(), 1u);
    }
    return limit != 0 ? (std::min)(wanted, limit) : wanted;
}

} // namespace detail

ZTENSOR_INLINE void use_executor(executor* mine) noexcept {
    detail::executor_settings().chosen.store(mine, std::memory_order_release);
}

ZTENSOR_INLINE void limit_pool(unsigned threads) noexcept {
    detail::executor_settings().pool_limit.store(threads, std::memory_order_relaxed);
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
