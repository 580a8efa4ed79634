// SPDX-License-Identifier: MIT
//
// Protocol buffers, and a window that moves over a long header.
#ifndef ZTENSOR_DETAIL_IMPORT_PROTOBUF_HPP
#define ZTENSOR_DETAIL_IMPORT_PROTOBUF_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- header stream
//
// A header that states nowhere how long it is, read from front to back through a window. Knows no format.

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

// -- protobuf
//
// Protocol buffers as bytes: one field after another, of which the caller takes what it knows and passes over the rest.
// Knows no message.

enum class wire_type : std::uint8_t { varint = 0, fixed_64 = 1, bytes = 2, fixed_32 = 5 };

struct proto_field {
    std::uint64_t number = 0;
    wire_type type = wire_type::varint;
    std::uint64_t value = 0; ///< of bytes, how many there are: they come next
};

/// Reads fields from a stream. Errors, which all calls share: header_malformed; those of the stream.
class proto_reader {
public:
    explicit proto_reader(header_stream& from) noexcept : from_(from) {}

    [[nodiscard]] std::uint64_t position() const noexcept { return from_.position(); }

    /// The next field of a message that ends at `end`; of bytes only their number is taken.
    [[nodiscard]] result<proto_field> next(std::uint64_t end) {
        proto_field field;
        std::uint64_t tag = 0;
        ZTENSOR_TRY(take_varint(tag, end));
        field.number = tag >> 3;
        field.type = static_cast<wire_type>(tag & 7);
        if (field.number == 0 || field.number > most_field_number) {
            return malformed("a field has a number that no field can have");
        }
        result<void> read;
        switch (field.type) {
        case wire_type::varint:
            read = take_varint(field.value, end);
            break;
        case wire_type::fixed_32:
            read = take_fixed(4, field.value, end);
            break;
        case wire_type::fixed_64:
            read = take_fixed(8, field.value, end);
            break;
        case wire_type::bytes:
            read = take_varint(field.value, end);
            if (read && field.value > end - from_.position()) {
                read = malformed("a field reaches beyond what it is in");
            }
            break;
        default:
            return malformed("a field is of a wire type that is none, or a group");
        }
        return read ? result<proto_field>(field) : std::move(read).error();
    }

    /// The field's bytes are passed over.
    [[nodiscard]] result<void> skip(const proto_field& field) {
        return field.type != wire_type::bytes || from_.skip(field.value) ? result<void>() : from_.failure();
    }

    /// Goes on at that byte.
    void seek(std::uint64_t position) noexcept { from_.seek(position); }

    /// The field's bytes as text; it must be of bytes.
    [[nodiscard]] result<std::string> text(const proto_field& field) {
        bytes_view bytes;
        if (field.type != wire_type::bytes) {
            return malformed("a field that is text or a message has another wire type");
        }
        if (!from_.take(field.value, bytes)) {
            return from_.failure();
        }
        return std::string(as_text(bytes));
    }

    /// Where the message ends that the field is.
    [[nodiscard]] result<std::uint64_t> message(const proto_field& field) const {
        if (field.type != wire_type::bytes) {
            return malformed("a field that is text or a message has another wire type");
        }
        return from_.position() + field.value;
    }

    /// Calls `take(field)` for each field of a message that ends at `end`; it takes the field's bytes or skips them.
    template <class Take>
    [[nodiscard]] result<void> for_each_field(std::uint64_t end, Take&& take) {
        while (position() < end) {
            ZTENSOR_TRY_ASSIGN(const proto_field field, next(end));
            ZTENSOR_TRY(take(field));
        }
        return {};
    }
    /// Calls `read(end)` for the message that the field is.
    template <class Read>
    [[nodiscard]] result<void> in_message(const proto_field& field, Read&& read) {
        const result<std::uint64_t> end = message(field);
        return end ? read(*end) : end.error();
    }

    /// Seven bits a byte, the lowest first; at most ten bytes.
    [[nodiscard]] result<void> take_varint(std::uint64_t& value, std::uint64_t end) {
        return from_.position() < end && from_.take_small(value) ? result<void>() : take_long_varint(value, end);
    }
    [[nodiscard]] result<void> take_fixed(std::size_t size, std::uint64_t& value, std::uint64_t end) {
        if (size > end - from_.position()) {
            return malformed("a message breaks off within a field");
        }
        return from_.take_unsigned(size, false, value) ? result<void>() : from_.failure();
    }

private:
    static constexpr std::uint64_t most_field_number = (std::uint64_t{1} << 29) - 1;

    [[nodiscard]] ZTENSOR_NOINLINE result<void> take_long_varint(std::uint64_t& value, std::uint64_t end) {
        value = 0;
        for (unsigned shift = 0;; shift += 7) {
            std::uint64_t byte = 0;
            if (from_.position() == end) {
                return malformed("a message breaks off within a field");
            }
            if (!from_.take_byte(byte)) {
                return from_.failure();
            }
            if (shift == 63 && byte > 1) {
                return malformed("a number has more than 64 bits");
            }
            value |= (byte & 0x7f) << shift;
            if (byte < 0x80) {
                return {};
            }
        }
    }
    [[nodiscard]] ZTENSOR_COLD error malformed(const char* what) const {
        return fail(errc::header_malformed, what).at(from_.position());
    }

    header_stream& from_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
