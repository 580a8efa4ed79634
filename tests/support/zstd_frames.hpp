// SPDX-License-Identifier: MIT
//
// zstd frames (RFC 8878), of which no compressor makes such as are wanted here.
#ifndef ZTENSOR_TESTS_SUPPORT_ZSTD_FRAMES_HPP
#define ZTENSOR_TESTS_SUPPORT_ZSTD_FRAMES_HPP

#include "support/bytes.hpp"

#include <cstddef>
#include <string_view>

namespace support::zstd {

inline const bytes magic = "\x28\xb5\x2f\xfd";

[[nodiscard]] bytes block(unsigned type, std::size_t size, std::string_view content, bool is_last);
[[nodiscard]] bytes raw_block(std::string_view content, bool is_last = true);
/// `count` (at most 128 Ki) times the same byte.
[[nodiscard]] bytes run_block(std::size_t count, char byte, bool is_last = true);

/// A frame that does not state the size of its content, with a window of 2^`window_log` bytes.
[[nodiscard]] bytes frame(std::string_view blocks, unsigned window_log = 17);
/// A frame of one raw block, as `frame(raw_block(content))`.
[[nodiscard]] bytes frame_of(std::string_view content);
/// A frame of one raw block that states a size of its content, true or not (below 256).
[[nodiscard]] bytes sized_frame(std::string_view content, unsigned stated_size);
/// Bytes that decode to nothing.
[[nodiscard]] bytes skippable_frame(std::string_view content);

} // namespace support::zstd

#endif
