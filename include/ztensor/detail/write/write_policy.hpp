// SPDX-License-Identifier: MIT
//
// The figures by which file_writer decides in which pieces a file is written, and when another thread writes them.
#ifndef ZTENSOR_DETAIL_WRITE_WRITE_POLICY_HPP
#define ZTENSOR_DETAIL_WRITE_WRITE_POLICY_HPP

#include <ztensor/version.hpp>

#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// In which pieces a file is written, and when another thread writes them.
struct write_policy {
    // Writes are whole MiB that end at a multiple of 1 MiB in the file: the page cache then keeps the file in large
    // pieces, which readers that map it feel. One call with 32 MiB took 1.03 of the time.
    static constexpr std::size_t unit_bytes = std::size_t{1} << 20;
    static constexpr std::size_t direct_buffer_bytes = std::size_t{8} << 20; ///< a third faster than 1 MiB
    static constexpr std::size_t direct_alignment = 4096; ///< in memory and in the file, past the system's cache

    // Little that waits is written by itself before much, which then goes straight from its first byte on: to copy up
    // to 1 MiB of it beside the little took 1.03 of the time for tensors of 4 MiB.
    static constexpr std::size_t little_bytes = 4096;
    // Much goes through the buffers where it lies otherwise in memory than in the file, modulo this, and another thread
    // can write it: on Zen 4 the kernel takes 1.2 to 1.6 times as long to copy it then, and writing 256 MiB through the
    // buffers took 0.85 of the time.
    static constexpr std::uint64_t copied_at_once = 32;
    // In pieces of 64 KiB, what is digested and then copied into a buffer is still in the cache: with 256 KiB digesting
    // cost 6 % of the time on Zen 4, with these 2 %.
    static constexpr std::size_t buffered_piece_bytes = unit_bytes / 16;

    // Another thread writes full buffers of large files. Without it, tensors of 10 KB took 1.3 times as long, and
    // digests 1.2 times. If no thread came in time once in 200 MiB or more, none is asked for a while: where processors
    // are busy with other things, all that waits for another thread takes longer.
    static constexpr std::uint64_t bytes_in_small_files = std::uint64_t{4} << 20;
    static constexpr std::size_t buffer_count = 3; ///< one to fill, one that is written, and one that waits for that
    static constexpr unsigned most_times_alone = 4;
    static constexpr std::uint64_t bytes_alone = std::uint64_t{256} << 20;
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    static constexpr std::size_t most_footer_bytes = 40; ///< written last where a commit comes before
    static constexpr std::uint64_t reserved_step = std::uint64_t{256} << 20;
    static constexpr std::uint64_t least_reserved = std::uint64_t{16} << 20; ///< smaller files gain nothing
    static constexpr std::uint64_t early_sync_bytes = std::uint64_t{8} << 20;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
