// SPDX-License-Identifier: MIT
//
// Sinks in memory, and sinks that are closed.
#ifndef ZTENSOR_DETAIL_WRITE_MEMORY_SINK_HPP
#define ZTENSOR_DETAIL_WRITE_MEMORY_SINK_HPP

#include <ztensor/byte_sink.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/error.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- sink closed
//
// The error of those who write to what is over.

[[nodiscard]] inline error sink_closed() {
    return fail(errc::writer_closed, "nothing more can be written: the output was finished, or failed before");
}

// -- memory sink
//
// A sink that is memory. Knows nothing of what the bytes mean.

/// Gathers bytes in memory.
class memory_sink final : public byte_sink {
public:
    /// Fails with errc::too_large_for_host, or errc::writer_closed after finish().
    [[nodiscard]] result<void> write(bytes_view bytes) override {
        if (finished_) {
            return sink_closed();
        }
        if (bytes.size() > bytes_.max_size() - bytes_.size()) {
            return fail(errc::too_large_for_host, "the container doesn't fit the address space of this host");
        }
        make_room(bytes.size());
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        return {};
    }

    /// Fails with errc::writer_closed the second time.
    [[nodiscard]] result<void> finish() override {
        if (finished_) {
            return sink_closed();
        }
        finished_ = true;
        return {};
    }

    /// Grows at once by what a large blob may take.
    std::size_t expect(std::uint64_t size_bytes) override {
        if (size_bytes >= large_bytes && size_bytes <= bytes_.max_size() - bytes_.size()) {
            make_room(static_cast<std::size_t>(size_bytes));
        }
        return large_bytes;
    }

    [[nodiscard]] bool holds(std::uint64_t offset, bytes_view bytes) override {
        return std::equal(bytes.begin(), bytes.end(), bytes_.data() + offset);
    }

    /// What was written, moved out.
    [[nodiscard]] std::vector<std::byte> take() noexcept { return std::exchange(bytes_, {}); }

private:
    static constexpr std::size_t large_bytes = std::size_t{1} << 20;
    static constexpr std::size_t much_memory = std::size_t{64} << 20;

    /// As any vector does, but seldom and into huge pages, for what is not touched costs little and each small page a
    /// fault: 13,000 tensors of 10 KB take a sixth of the time.
    void make_room(std::size_t size_bytes) {
        if (size_bytes <= bytes_.capacity() - bytes_.size()) {
            return;
        }
        const std::size_t more = (bytes_.size() < much_memory ? 4 : 2) * bytes_.size();
        std::vector<std::byte> larger;
        larger.reserve((std::min)((std::max)(bytes_.size() + size_bytes, more), bytes_.max_size()));
        advise_large_memory(larger.data(), larger.capacity());
        larger.insert(larger.end(), bytes_.begin(), bytes_.end());
        bytes_ = std::move(larger);
    }

    std::vector<std::byte> bytes_;
    bool finished_ = false;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
