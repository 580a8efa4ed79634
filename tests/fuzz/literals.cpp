// SPDX-License-Identifier: MIT
//
// A content that the library codes itself is decoded to the same by libzstd, takes hardly more than it did before, and
// is coded alike by a coder that was used before. The input is the content, or says of what bytes to make one at
// random.
#include "fuzz/fuzzing.hpp"

#include <ztensor/detail/codec/literal_coder.hpp>
#include <ztensor/detail/core/endian.hpp>

#include <zstd.h>

#include <memory>
#include <vector>

using ztensor::detail::literal_coder;
using ztensor::detail::load_little;

const std::size_t fuzzing::working_bytes = std::size_t{2} << 20;

namespace {

/// Three bytes are the size, four a seed; each of the others is as likely as the next one.
std::vector<std::byte> made_content(ztensor::bytes_view input) {
    constexpr std::size_t head_bytes = 7, most_bytes = 280000;
    if (input.size() <= head_bytes) {
        return {};
    }
    const ztensor::bytes_view bytes = input.subspan(head_bytes);
    std::uint64_t state = load_little(input.data() + 3, 4) | 1;
    std::vector<std::byte> content(static_cast<std::size_t>(load_little(input.data(), 3) % most_bytes));
    for (std::byte& each : content) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        each = bytes[static_cast<std::size_t>((state >> 33) % bytes.size())];
    }
    return content;
}

std::vector<std::byte> coded(literal_coder& coder, ztensor::bytes_view content) {
    std::vector<std::byte> frame(content.size() + literal_coder::more_room_bytes);
    frame.resize(coder.encode(content, frame));
    return frame;
}

void check(ztensor::bytes_view content) {
    static const auto used = std::make_unique<literal_coder>();
    const auto fresh = std::make_unique<literal_coder>();
    const std::vector<std::byte> frame = coded(*fresh, content);
    fuzzing::require(coded(*used, content) == frame, "what was coded before changes nothing");
    if (frame.empty()) {
        return;
    }
    constexpr std::size_t heads_bytes = 9 + 3 * 9;
    fuzzing::require(frame.size() <= content.size() + heads_bytes, "a frame is no larger than its content and heads");
    std::vector<std::byte> decoded(content.size());
    const std::size_t bytes = ZSTD_decompress(decoded.data(), decoded.size(), frame.data(), frame.size());
    fuzzing::require(bytes == content.size(), "libzstd decodes as many bytes");
    fuzzing::require(std::equal(decoded.begin(), decoded.end(), content.begin()), "libzstd decodes the content");
}

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    check(input);
    check(made_content(input));
}
