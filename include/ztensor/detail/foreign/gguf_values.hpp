// SPDX-License-Identifier: MIT
//
// The values of GGUF's key-values, of 13 kinds, as CBOR.
#ifndef ZTENSOR_DETAIL_FOREIGN_GGUF_VALUES_HPP
#define ZTENSOR_DETAIL_FOREIGN_GGUF_VALUES_HPP

#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/core/utf8.hpp>
#include <ztensor/detail/foreign/header_stream.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

enum class gguf_kind : std::uint8_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

class gguf_values {
public:
    gguf_values(header_stream& header, bool is_big_endian, cbor_encoder& out) noexcept
        : header_(header), out_(out), is_big_endian_(is_big_endian) {}

    /// The kind of a value and the value.
    [[nodiscard]] result<void> read() {
        gguf_kind kind = gguf_kind::u8;
        ZTENSOR_TRY(take_kind(kind));
        while (true) {
            ZTENSOR_TRY(kind == gguf_kind::array ? begin_array() : read_single(kind));
            while (depth_ != 0 && arrays_[depth_ - 1].left == 0) {
                --depth_;
            }
            if (depth_ == 0) {
                return {};
            }
            --arrays_[depth_ - 1].left;
            kind = arrays_[depth_ - 1].kind;
        }
    }

    /// A value that must be a u32, which is also given to the caller.
    [[nodiscard]] result<void> read_u32(std::uint64_t& value) {
        gguf_kind kind = gguf_kind::u8;
        ZTENSOR_TRY(take_kind(kind));
        if (kind != gguf_kind::u32) {
            return fail(errc::header_malformed, "general.alignment is of kind {}, expected a u32 ({})",
                        {static_cast<unsigned>(kind), static_cast<unsigned>(gguf_kind::u32)});
        }
        if (!take(4, value)) {
            return header_.failure();
        }
        out_.unsigned_integer(value);
        return {};
    }

    /// A value that must be an integer of 0 or more, of any width, which is also given to the caller.
    [[nodiscard]] result<void> read_count(std::string_view key, std::uint64_t& value) {
        gguf_kind kind = gguf_kind::u8;
        ZTENSOR_TRY(take_kind(kind));
        const bool is_signed =
            kind == gguf_kind::i8 || kind == gguf_kind::i16 || kind == gguf_kind::i32 || kind == gguf_kind::i64;
        const bool is_unsigned =
            kind == gguf_kind::u8 || kind == gguf_kind::u16 || kind == gguf_kind::u32 || kind == gguf_kind::u64;
        if (!is_signed && !is_unsigned) {
            return fail(errc::header_malformed, "{} is of kind {}, no integer",
                        {in_quotes(key), static_cast<unsigned>(kind)});
        }
        const std::size_t width = width_of(kind);
        if (!take(width, value)) {
            return header_.failure();
        }
        if (is_signed && extend_sign(value, width) >> 63 != 0) {
            return fail(errc::header_malformed, "{} is negative", {in_quotes(key)});
        }
        out_.unsigned_integer(value);
        return {};
    }

private:
    static constexpr std::size_t most_depth = 16;

    /// An array that has begun, and how many of its items are to come.
    struct open_array {
        gguf_kind kind = gguf_kind::u8;
        std::uint64_t left;
    };

    /// The least that a value of that kind takes.
    [[nodiscard]] static constexpr std::size_t width_of(gguf_kind kind) noexcept {
        constexpr std::uint8_t widths[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
        return widths[static_cast<std::size_t>(kind)];
    }

    [[nodiscard]] bool take(std::size_t size, std::uint64_t& value) {
        return header_.take_unsigned(size, is_big_endian_, value);
    }

    [[nodiscard]] result<void> take_kind(gguf_kind& kind) {
        std::uint64_t number = 0;
        if (!take(4, number)) {
            return header_.failure();
        }
        if (number > static_cast<std::uint64_t>(gguf_kind::f64)) {
            return fail(errc::header_malformed, "a value is of kind {}, which GGUF does not have", {number})
                .at(header_.position() - 4);
        }
        kind = static_cast<gguf_kind>(number);
        return {};
    }

    [[nodiscard]] result<void> begin_array() {
        gguf_kind kind = gguf_kind::u8;
        std::uint64_t count = 0;
        ZTENSOR_TRY(take_kind(kind));
        if (!take(8, count)) {
            return header_.failure();
        }
        if (count > header_.left() / width_of(kind)) {
            return fail(errc::truncated, "an array states {} values, more than the file has room for", {count})
                .at(header_.position() - 8);
        }
        if (depth_ == most_depth) {
            return fail(errc::header_malformed, "arrays are nested more than {} deep", {most_depth})
                .at(header_.position());
        }
        out_.begin_array(count);
        arrays_[depth_++] = {kind, count};
        return {};
    }

    [[nodiscard]] result<void> read_single(gguf_kind kind) {
        std::uint64_t bits = 0;
        const std::size_t width = width_of(kind);
        if (!take(width, bits)) {
            return header_.failure();
        }
        switch (kind) {
        case gguf_kind::text:
            return read_text(bits);
        case gguf_kind::boolean:
            return read_bool(bits);
        case gguf_kind::f32:
            out_.number(static_cast<double>(from_bits<float>(static_cast<std::uint32_t>(bits))));
            return {};
        case gguf_kind::f64:
            out_.number(from_bits<double>(bits));
            return {};
        case gguf_kind::i8:
        case gguf_kind::i16:
        case gguf_kind::i32:
        case gguf_kind::i64:
            out_.integer(from_bits<std::int64_t>(extend_sign(bits, width)));
            return {};
        default:
            out_.unsigned_integer(bits);
            return {};
        }
    }

    /// What is no UTF-8, as some tokens of vocabularies are, is kept as bytes.
    [[nodiscard]] result<void> read_text(std::uint64_t size) {
        bytes_view text;
        if (!header_.take(size, text)) {
            return header_.failure();
        }
        if (is_utf8(as_text(text))) {
            out_.text(as_text(text));
        } else {
            out_.byte_string(text);
        }
        return {};
    }

    [[nodiscard]] result<void> read_bool(std::uint64_t byte) {
        if (byte > 1) {
            return fail(errc::header_malformed, "a bool is stored as {}, neither 0 nor 1", {byte})
                .at(header_.position() - 1);
        }
        out_.boolean(byte == 1);
        return {};
    }

    template <class Number, class Bits>
    [[nodiscard]] static Number from_bits(Bits bits) noexcept {
        static_assert(sizeof(Number) == sizeof(Bits));
        Number value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }

    header_stream& header_;
    cbor_encoder& out_;
    open_array arrays_[most_depth];
    std::size_t depth_ = 0;
    bool is_big_endian_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
