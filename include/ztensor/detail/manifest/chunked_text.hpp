// SPDX-License-Identifier: MIT
//
// Text in chunks, made definite where it stands in the private copy of the index. SPEC.md section 3.1.
#ifndef ZTENSOR_DETAIL_MANIFEST_CHUNKED_TEXT_HPP
#define ZTENSOR_DETAIL_MANIFEST_CHUNKED_TEXT_HPP

#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// How many bytes the shortest head of a text of so many takes.
[[nodiscard]] inline std::size_t text_head_bytes(std::size_t length) noexcept {
    return length < 24 ? 1 : length <= 0xff ? 2 : length <= 0xffff ? 3 : 5;
}

inline void write_text_head(std::byte* at, std::size_t length) noexcept {
    constexpr auto text_major = static_cast<unsigned>(cbor_major::text) << 5;
    const std::size_t size = text_head_bytes(length);
    const auto info = size == 1 ? static_cast<unsigned>(length) : size == 2 ? 24u : size == 3 ? 25u : 26u;
    *at = static_cast<std::byte>(text_major | info);
    store_big(length, at + 1, size - 1);
}

/// Joins the chunks of a text that was passed over, behind a definite head: that never takes more bytes than the chunks
/// did.
ZTENSOR_COLD inline void join_chunks(span<std::byte> index, const cbor_text& found) noexcept {
    const bytes_view chunks = as_bytes(found.text);
    std::size_t length = 0;
    for (cbor_cursor each(chunks); each.remaining() != 0;) {
        cbor_text chunk;
        each.read_text(chunk);
        length += chunk.text.size();
    }
    // First to the front, where every chunk moves forward; then behind the head, which may be longer than that.
    std::byte* const text = index.data() + found.position;
    std::byte* const front = text + 1;
    std::byte* out = front;
    for (cbor_cursor each(chunks); each.remaining() != 0;) {
        cbor_text chunk;
        each.read_text(chunk);
        std::memmove(out, chunk.text.data(), chunk.text.size());
        out += chunk.text.size();
    }
    std::memmove(text + text_head_bytes(length), front, length);
    write_text_head(text, length);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
