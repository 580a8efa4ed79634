// SPDX-License-Identifier: MIT
//
// A header that states nowhere how long it is, read from front to back through a window. Knows no format.
#ifndef ZTENSOR_DETAIL_FOREIGN_HEADER_STREAM_HPP
#define ZTENSOR_DETAIL_FOREIGN_HEADER_STREAM_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Once a take fails, failure() says why, and the header is given up.
class header_stream {
public:
    /// Bytes [begin, end) of `source`, of which a header may take at most `most_bytes`.
    header_stream(const byte_source& source, std::uint64_t begin, std::uint64_t end, std::uint64_t most_bytes) noexcept
        : source_(source), begin_(begin), position_(begin), window_begin_(begin), window_end_(begin), end_(end),
          most_bytes_(most_bytes) {}

    [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
    [[nodiscard]] std::uint64_t left() const noexcept { return end_ - position_; }
    [[nodiscard]] error failure() const noexcept { return failure_ ? missing(1) : failure_.error(); }

    /// The next `size` bytes, which stay until the next take.
    [[nodiscard]] bool take(std::uint64_t size, bytes_view& bytes) {
        if (size > window_end_ - position_ && !refill(size)) {
            return false;
        }
        bytes = {window_.data() + static_cast<std::size_t>(position_ - window_begin_), static_cast<std::size_t>(size)};
        position_ += size;
        return true;
    }
    /// The next byte, as a number.
    [[nodiscard]] bool take_byte(std::uint64_t& value) {
        if (position_ == window_end_ && !refill(1)) {
            return false;
        }
        value = std::to_integer<std::uint64_t>(window_.data()[static_cast<std::size_t>(position_ - window_begin_)]);
        ++position_;
        return true;
    }

    /// The next byte, if it is in the window already and less than 128; else nothing is taken.
    [[nodiscard]] bool take_small(std::uint64_t& value) noexcept {
        if (position_ == window_end_) {
            return false;
        }
        value = std::to_integer<std::uint64_t>(window_.data()[static_cast<std::size_t>(position_ - window_begin_)]);
        position_ += value < 0x80 ? 1 : 0;
        return value < 0x80;
    }

    /// Passes over `size` bytes, which are none of the header's.
    [[nodiscard]] bool skip(std::uint64_t size) {
        if (size > left()) {
            return give_up(missing(size));
        }
        seek(position_ + size);
        return true;
    }

    /// Goes on at any byte of the range, be it one before. What is read again counts again as the header's.
    void seek(std::uint64_t position) noexcept {
        begin_ += position - position_; // modulo 2^64: what counts is how far it is from the position
        position_ = position;
        if (position < window_begin_ || position > window_end_) {
            window_begin_ = window_end_ = position;
        }
    }

    /// The next `size` bytes, at most 8, as an unsigned number.
    [[nodiscard]] bool take_unsigned(std::size_t size, bool is_big_endian, std::uint64_t& value) {
        bytes_view bytes;
        if (!take(size, bytes)) {
            return false;
        }
        value = is_big_endian ? load_big(bytes.data(), size) : load_little(bytes.data(), size);
        return true;
    }

private:
    static constexpr std::uint64_t window_bytes = std::uint64_t{256} << 10;

    [[nodiscard]] ZTENSOR_COLD bool give_up(error why) {
        failure_ = std::move(why);
        return false;
    }
    [[nodiscard]] ZTENSOR_COLD error missing(std::uint64_t size) const {
        return fail(errc::truncated, "{} more bytes are expected here, but the file ends after {}", {size, left()})
            .at(position_);
    }

    /// The window starts where the next byte is, and holds `size` bytes and more.
    [[nodiscard]] bool refill(std::uint64_t size) {
        if (size > left()) {
            return give_up(missing(size));
        }
        const std::uint64_t allowed = most_bytes_ - (position_ - begin_);
        if (size > allowed) {
            return give_up(fail(errc::manifest_too_large,
                                "the header takes more than the {} bytes of read_options::max_manifest_bytes",
                                {most_bytes_}));
        }
        const auto wanted = static_cast<std::size_t>((std::min)({left(), allowed, (std::max)(size, window_bytes)}));
        if (wanted != window_.size() && !window_.allocate(wanted)) {
            return give_up(fail(errc::out_of_memory, "no memory for {} bytes of the header", {wanted}));
        }
        window_begin_ = window_end_ = position_; // of what was there nothing is left
        if (result<void> read = source_.read_at(position_, window_.writable_bytes()); !read) {
            return give_up(std::move(read).error());
        }
        window_begin_ = position_;
        window_end_ = position_ + wanted;
        return true;
    }

    const byte_source& source_;
    std::uint64_t begin_; ///< less what was passed over
    std::uint64_t position_;
    std::uint64_t window_begin_; ///< in the source
    std::uint64_t window_end_;
    std::uint64_t end_;
    std::uint64_t most_bytes_;
    byte_buffer window_;
    result<void> failure_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
