// SPDX-License-Identifier: MIT
//
// The only header that knows zlib: bytes deflated as ZIP archives have it -> what they were. Without zlib each call
// says so.
#ifndef ZTENSOR_DETAIL_CODEC_DEFLATE_HPP
#define ZTENSOR_DETAIL_CODEC_DEFLATE_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/io.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>

#if __has_include(<zlib.h>) && !defined(ZTENSOR_WITHOUT_ZLIB)
#include <zlib.h>
#endif

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// No deflated bytes become more than this many times as many: the shortest code for 258 bytes takes two bits.
inline constexpr uint64_t max_deflate_ratio = 1032;

/// What `inflate_range` is to fill.
enum class inflate_extent : uint8_t {
    all,   ///< exactly with all that there is
    start, ///< with the first bytes, looking at no more than it takes
};

#if __has_include(<zlib.h>) && !defined(ZTENSOR_WITHOUT_ZLIB)

/// A stream of zlib's that ends itself.
struct inflating {
    z_stream stream{};
    bool is_begun = false;

    inflating() = default;
    inflating(const inflating&) = delete;
    inflating& operator=(const inflating&) = delete;
    ~inflating() {
        if (is_begun) {
            inflateEnd(&stream);
        }
    }

    result<void> begin() {
        is_begun = inflateInit2(&stream, -MAX_WBITS) == Z_OK; // without a header of its own
        return is_begun ? result<void>() : fail(errc::out_of_memory, "no memory for zlib");
    }
};

[[nodiscard]] ZTENSOR_COLD inline error inflate_error(int code, const z_stream& stream) {
    if (code == Z_MEM_ERROR) {
        return fail(errc::out_of_memory, "no memory for zlib");
    }
    return fail(errc::decode_failed, "zlib can't inflate the data: {}",
                {stream.msg != nullptr ? stream.msg : "it is cut off or damaged"});
}

/// Inflates `length` bytes at `offset` of a source into `front` and, behind that, into `destination`. Errors:
/// decode_failed, decode_size, out_of_memory, not_built_in, and what the source says.
ZTENSOR_COLD inline result<void> inflate_range(const byte_source& source, uint64_t offset, uint64_t length,
                                               span<byte> front, span<byte> destination, inflate_extent extent) {
    constexpr size_t piece_bytes = size_t{1} << 16;
    constexpr size_t most_at_once = size_t{1} << 30; // zlib counts in 32 bits
    byte_buffer piece;
    inflating state;
    if (!piece.allocate(static_cast<size_t>((std::min<uint64_t>)(length, piece_bytes)))) {
        return fail(errc::out_of_memory, "no memory for zlib");
    }
    ZTENSOR_TRY(state.begin());
    z_stream& stream = state.stream;
    span<byte> wanted = front;
    size_t filled = 0; ///< of what is wanted
    byte beyond{};     // where more comes out than there should be
    for (int code = Z_OK; code != Z_STREAM_END;) {
        if (stream.avail_in == 0 && length != 0) {
            const auto size = static_cast<size_t>((std::min<uint64_t>)(length, piece.size()));
            ZTENSOR_TRY(source.read_at(offset, piece.writable_bytes().first(size)));
            stream.next_in = static_cast<Bytef*>(static_cast<void*>(piece.data()));
            stream.avail_in = static_cast<uInt>(size);
            offset += size;
            length -= size;
        }
        if (filled == wanted.size() && wanted.data() != destination.data()) {
            wanted = destination;
            filled = 0;
        }
        const bool is_full = filled == wanted.size();
        if (is_full && extent == inflate_extent::start) {
            return {};
        }
        const size_t room = is_full ? 1 : (std::min)(wanted.size() - filled, most_at_once);
        stream.next_out = static_cast<Bytef*>(static_cast<void*>(is_full ? &beyond : wanted.data() + filled));
        stream.avail_out = static_cast<uInt>(room);
        code = inflate(&stream, Z_NO_FLUSH);
        const size_t made = room - stream.avail_out;
        if (code != Z_OK && code != Z_STREAM_END) { // Z_BUF_ERROR: there is no more, and should be
            return inflate_error(code, stream);
        }
        if (is_full && made != 0) {
            return fail(errc::decode_size, "the data inflates to more than the {} bytes declared",
                        {front.size() + destination.size()});
        }
        filled += is_full ? 0 : made;
    }
    const bool is_in_front = wanted.data() != destination.data();
    if (is_in_front ? filled != front.size() || !destination.empty() : filled != destination.size()) {
        return fail(errc::decode_size, "the data inflates to {} bytes, but {} are declared",
                    {filled + (is_in_front ? 0 : front.size()), front.size() + destination.size()});
    }
    if (extent == inflate_extent::all && (stream.avail_in != 0 || length != 0)) {
        return fail(errc::decode_failed, "{} bytes follow the end of the deflated data", {stream.avail_in + length});
    }
    return {};
}

#else

ZTENSOR_COLD inline result<void> inflate_range(const byte_source&, uint64_t, uint64_t, span<byte>, span<byte>,
                                               inflate_extent) {
    return fail(errc::not_built_in, "the data is deflated, and the library was built without zlib, which inflates it");
}

#endif

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
