// SPDX-License-Identifier: MIT
//
// The mapping of a file that is made when it is first asked for: mapping and unmapping a file takes longer than opening
// one of 300 tensors.
#ifndef ZTENSOR_DETAIL_READ_LAZY_MAPPING_HPP
#define ZTENSOR_DETAIL_READ_LAZY_MAPPING_HPP

#include <ztensor/detail/core/guard_memory.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Every member may be called from many threads at once.
class lazy_mapping {
public:
    /// Of a file of `size` bytes. Without `may_map` it stays unmapped.
    lazy_mapping(os_reading& os, std::uint64_t size, bool may_map) noexcept
        : os_(&os), size_(size), first_(may_map ? nullptr : &nothing) {}
    lazy_mapping(const lazy_mapping&) = delete;
    lazy_mapping& operator=(const lazy_mapping&) = delete;
    ~lazy_mapping() {
        if (const bytes_view all = known(); !all.empty()) {
            const mapping unmapped(*os_, all);
        }
    }

    /// What is mapped so far: empty before get(), and where the file can't be mapped.
    [[nodiscard]] bytes_view known() const noexcept {
        const std::byte* const first = first_.load(std::memory_order_acquire);
        return first != nullptr && first != &nothing ? bytes_view(first, static_cast<std::size_t>(size_))
                                                     : bytes_view();
    }

    /// The whole file, mapped by `make() -> result<mapping>` if it is not yet; empty where that is impossible.
    template <class Make>
    [[nodiscard]] bytes_view get(Make&& make) const noexcept {
        if (first_.load(std::memory_order_acquire) == nullptr) {
            static_cast<void>(map(make));
        }
        return known();
    }

    /// Maps the file. Threads that meet here map it each, and all but the first undo that. Errors: those of `make`.
    template <class Make>
    [[nodiscard]] result<void> map(Make&& make) const noexcept {
        result<mapping> made = guard_memory([&]() -> result<mapping> { return make(); });
        const std::byte* before = nullptr;
        const std::byte* const now = made && !made->bytes().empty() ? made->bytes().data() : &nothing;
        if (first_.compare_exchange_strong(before, now, std::memory_order_acq_rel) && now != &nothing) {
            made->release();
        }
        return made ? result<void>() : std::move(made).error();
    }

private:
    static constexpr std::byte nothing{}; ///< its address stands for a file that can't be mapped, or should not be

    os_reading* os_;
    std::uint64_t size_;
    mutable std::atomic<const std::byte*> first_; ///< null before it is asked for
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
