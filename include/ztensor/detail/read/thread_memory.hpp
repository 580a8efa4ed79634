// SPDX-License-Identifier: MIT
//
// Memory for one step on one thread, which the next step finds warm.
#ifndef ZTENSOR_DETAIL_READ_THREAD_MEMORY_HPP
#define ZTENSOR_DETAIL_READ_THREAD_MEMORY_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Bytes that the thread keeps for the next who asks, up to 2 MiB of them: untouched pages cost more than decoding what
/// goes there. Who asks while they are lent, as a source that reads another container does, gets others; and so does
/// who asks at the very end of a thread, where nothing is kept.
class thread_memory {
public:
    thread_memory() noexcept : bytes_(kept()) {}
    thread_memory(const thread_memory&) = delete;
    thread_memory& operator=(const thread_memory&) = delete;
    ZTENSOR_COLD ~thread_memory() {
        const std::size_t size = bytes_.size();
        if (size <= most_kept_bytes && size > this_thread().kept[static_cast<std::size_t>(kept_kind::memory)].size) {
            keep(kept_kind::memory, {bytes_.release(), size, [](void* memory) { ::operator delete(memory); }});
        }
    }

    /// At least `size` bytes, of which the first `used` are kept. False where memory runs out.
    [[nodiscard]] ZTENSOR_COLD bool reserve(std::size_t size, std::size_t used = 0) noexcept {
        if (size <= bytes_.size()) {
            return true;
        }
        byte_buffer larger;
        if (!larger.allocate((std::max)({size, smallest_bytes, 2 * used}))) {
            return false;
        }
        advise_large_memory(larger.data(), larger.size());
        if (used != 0) {
            std::memcpy(larger.data(), bytes_.data(), used);
        }
        bytes_ = std::move(larger);
        return true;
    }

    [[nodiscard]] span<std::byte> first(std::size_t size) const noexcept { return {bytes_.data(), size}; }

private:
    static constexpr std::size_t smallest_bytes = std::size_t{64} << 10;
    static constexpr std::size_t most_kept_bytes = std::size_t{2} << 20;

    [[nodiscard]] static byte_buffer kept() noexcept {
        const kept_object memory = take_kept(kept_kind::memory);
        return byte_buffer::adopt(memory.object, memory.size);
    }

    byte_buffer bytes_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
