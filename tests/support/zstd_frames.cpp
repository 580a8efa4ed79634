// SPDX-License-Identifier: MIT
#include "support/zstd_frames.hpp"

namespace support::zstd {

bytes block(unsigned type, std::size_t size, std::string_view content, bool is_last) {
    return little_endian(size << 3 | type << 1 | (is_last ? 1 : 0), 3) + bytes(content);
}

bytes raw_block(std::string_view content, bool is_last) {
    return block(0, content.size(), content, is_last);
}

bytes run_block(std::size_t count, char byte, bool is_last) {
    return block(1, count, std::string_view(&byte, 1), is_last);
}

bytes frame(std::string_view blocks, unsigned window_log) {
    return magic + bytes(1, '\0') + bytes(1, static_cast<char>((window_log - 10) << 3)) + bytes(blocks);
}

bytes frame_of(std::string_view content) {
    return frame(raw_block(content));
}

bytes sized_frame(std::string_view content, unsigned stated_size) {
    return magic + "\x20" + bytes(1, static_cast<char>(stated_size)) + raw_block(content);
}

bytes skippable_frame(std::string_view content) {
    return "\x53\x2a\x4d\x18" + little_endian(content.size(), 4) + bytes(content);
}

} // namespace support::zstd
