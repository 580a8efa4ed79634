// SPDX-License-Identifier: MIT
//
// Protocol buffers as bytes: one field after another, of which the caller takes what it knows and passes over the rest.
// Knows no message.
#ifndef ZTENSOR_DETAIL_FOREIGN_PROTOBUF_HPP
#define ZTENSOR_DETAIL_FOREIGN_PROTOBUF_HPP

#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/foreign/header_stream.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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
