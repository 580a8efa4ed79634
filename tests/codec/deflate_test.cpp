// SPDX-License-Identifier: MIT
//
// Deflated bytes (RFC 1951) put together by hand, into memory in one or two parts: too few, too many, and more behind
// their end, wherever the pieces end in which they are read.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/watched_source.hpp"

#include <ztensor/detail/codec/deflate.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace {

namespace deflated {

using support::bytes;
using ztensor::detail::inflate_extent;

/// Bytes as they are.
bytes block(const bytes& content, bool is_last = true) {
    return bytes(1, is_last ? '\1' : '\0') + support::little_endian(content.size(), 2) +
           support::little_endian(0xffff - content.size(), 2) + content;
}

/// What comes of inflating all of them into so many bytes and so many more behind those: the name of an error, or they.
std::string inflated(const bytes& stored, std::size_t front_bytes, std::size_t behind_bytes) {
    const support::watched_source source(stored);
    std::vector<std::byte> front(front_bytes), behind(behind_bytes);
    const auto done = ztensor::detail::inflate_range(source, 0, stored.size(), front, behind, inflate_extent::all);
    return done ? support::memory_of(front) + support::memory_of(behind) : support::outcome(done);
}

} // namespace deflated

} // namespace

#if __has_include(<zlib.h>) && !defined(ZTENSOR_WITHOUT_ZLIB)

TEST_CASE("deflated bytes fill exactly what was made for them, be it one part or two") {
    using namespace deflated;
    const bytes two_blocks = block("abc", false) + block("def");
    for (std::size_t front = 0; front <= 6; ++front) {
        CAPTURE(front);
        CHECK(inflated(two_blocks, front, 6 - front) == "abcdef");
        CHECK(inflated(block("abcdef", false) + block(""), front, 6 - front) == "abcdef");
    }
    for (std::size_t front = 0; front <= 9; ++front) {
        CAPTURE(front);
        CHECK(inflated(two_blocks, front, 9 - front) == "decode_size");
        CHECK(inflated(two_blocks, std::min<std::size_t>(front, 5), 5 - std::min<std::size_t>(front, 5)) ==
              "decode_size");
    }
    CHECK(inflated(block(""), 0, 0).empty());
    CHECK(inflated(block(""), 1, 0) == "decode_size");
}

TEST_CASE("deflated bytes may end where a piece of the file does, and nothing may follow them") {
    using namespace deflated;
    constexpr std::size_t piece_bytes = std::size_t{1} << 16;
    const bytes content = support::counting(piece_bytes - 5);
    CHECK(inflated(block(content, false) + block(""), 0, content.size()) == content); // the last block gives nothing
    CHECK(inflated(block(content), 0, content.size()) == content);
    CHECK(inflated(block(content) + "x", 0, content.size()) == "decode_failed"); // in a piece that nobody looks at
    CHECK(inflated(block("abc") + "x", 0, 3) == "decode_failed");
    CHECK(inflated(block(content, false), 0, content.size()) == "decode_failed"); // there is no last block
    CHECK(inflated("\x07", 0, 3) == "decode_failed");                             // of a kind that there is not
}

#endif
