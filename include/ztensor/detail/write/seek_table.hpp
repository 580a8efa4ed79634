// SPDX-License-Identifier: MIT
//
// What stands behind the frames of zt.zstd-seekable/1: a skippable frame that says how large they are. SPEC.md
// section 13.
#ifndef ZTENSOR_DETAIL_WRITE_SEEK_TABLE_HPP
#define ZTENSOR_DETAIL_WRITE_SEEK_TABLE_HPP

#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Of frames of these sizes, each of `frame_bytes` decoded but for the last. Errors: encode_failed; what `out` says.
[[nodiscard]] ZTENSOR_COLD inline result<void> put_seek_table(const record_array<std::uint32_t>& frame_sizes,
                                                              std::uint64_t frame_bytes, std::uint64_t decoded_bytes,
                                                              byte_consumer out) {
    constexpr std::uint64_t skippable_magic = 0x184D2A5E, table_magic = 0x8F92EAB1;
    constexpr std::size_t frame_head_bytes = 8, entry_bytes = 8, table_end_bytes = 9;
    constexpr std::size_t most_frames = (0xffffffff - table_end_bytes) / entry_bytes;
    if (frame_sizes.size() > most_frames) {
        return fail(errc::encode_failed, "{} zstd frames are too many for a seek table", {frame_sizes.size()});
    }
    byte_buffer table;
    if (!table.allocate(frame_head_bytes + frame_sizes.size() * entry_bytes + table_end_bytes)) {
        return fail(errc::out_of_memory, "no memory for the seek table of {} frames", {frame_sizes.size()});
    }
    std::byte* at = table.data();
    const auto put = [&](std::uint64_t value, std::size_t bytes) {
        store_little(value, at, bytes);
        at += bytes;
    };
    put(skippable_magic, 4);
    put(table.size() - frame_head_bytes, 4);
    std::uint64_t left = decoded_bytes;
    for (const std::uint32_t size : frame_sizes) {
        put(size, 4);
        put((std::min)(left, frame_bytes), 4);
        left -= (std::min)(left, frame_bytes);
    }
    put(frame_sizes.size(), 4);
    put(0, 1); // no checksums here: the frames have their own
    put(table_magic, 4);
    return out.take(out.owner, table.bytes());
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
