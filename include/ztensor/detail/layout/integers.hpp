// SPDX-License-Identifier: MIT
//
// Integers of any width as numbers of 64 bits, block by block: what is done with them is compiled once for all of
// their types.
#ifndef ZTENSOR_DETAIL_LAYOUT_INTEGERS_HPP
#define ZTENSOR_DETAIL_LAYOUT_INTEGERS_HPP

#include <ztensor/detail/core/text.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Numbers that fit the innermost cache. Signed ones are in two's complement.
struct integer_block {
    static constexpr std::size_t max_count = 512;
    std::uint64_t numbers[max_count];
    std::size_t count = 0;

    [[nodiscard]] std::uint64_t* begin() noexcept { return numbers; }
    [[nodiscard]] std::uint64_t* end() noexcept { return numbers + count; }
};

/// Fills a block whose count is set. Copied first, so that a compiler knows that nothing else points there; of full
/// blocks it knows the length, too, and vectorises.
template <class Stored>
void widen_each(const std::byte* stored, integer_block& out) noexcept {
    Stored narrow[integer_block::max_count];
    if (out.count == integer_block::max_count) {
        std::memcpy(narrow, stored, sizeof narrow);
        for (std::size_t i = 0; i < integer_block::max_count; ++i) {
            out.numbers[i] = static_cast<std::uint64_t>(narrow[i]);
        }
        return;
    }
    std::memcpy(narrow, stored, out.count * sizeof(Stored));
    for (std::size_t i = 0; i < out.count; ++i) {
        out.numbers[i] = static_cast<std::uint64_t>(narrow[i]);
    }
}

template <class Stored>
void narrow_each(const integer_block& block, std::byte* stored) noexcept {
    Stored narrow[integer_block::max_count];
    for (std::size_t i = 0; i < block.count; ++i) {
        narrow[i] = static_cast<Stored>(block.numbers[i]);
    }
    std::memcpy(stored, narrow, block.count * sizeof(Stored));
}

/// Stores the numbers in `width` bytes each, in host byte order: what these can't hold of them is cut off.
inline void narrow_integers(const integer_block& block, std::size_t width, std::byte* stored) noexcept {
    switch (width) {
    case 1:
        return narrow_each<std::uint8_t>(block, stored);
    case 2:
        return narrow_each<std::uint16_t>(block, stored);
    case 4:
        return narrow_each<std::uint32_t>(block, stored);
    default:
        std::memcpy(stored, block.numbers, block.count * sizeof(std::uint64_t));
    }
}

/// Where the first number stands that is not below `limit`; `count` if all are. On its own because it passes over all
/// indices of an object, and takes half the time that widening them does.
template <class Unsigned>
[[nodiscard]] std::size_t find_not_below(std::uint64_t limit, const std::byte* stored, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        Unsigned number;
        std::memcpy(&number, stored + i * sizeof number, sizeof number);
        if (number >= limit) {
            return i;
        }
    }
    return count;
}

/// Borrowed integers, in host byte order, at any address.
class integers_view {
public:
    /// `type` is one of the eight integer types, and `bytes` are a whole number of them.
    integers_view(bytes_view bytes, dtype type) noexcept : bytes_(bytes), type_(type) {}

    [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() / width_bytes(type_); }
    [[nodiscard]] bool is_signed() const noexcept { return facts(type_).category == dtype_class::signed_integer; }
    /// The largest number that the type can hold.
    [[nodiscard]] std::uint64_t largest() const noexcept { return ~std::uint64_t{0} >> (64 - bits()); }
    [[nodiscard]] integers_view subview(std::size_t from, std::size_t count) const noexcept {
        return {bytes_.subspan(from * width_bytes(type_), count * width_bytes(type_)), type_};
    }

    /// Those from `first` on, as many as a block takes.
    void widen(std::size_t first, integer_block& out) const noexcept {
        const std::byte* const stored = bytes_.data() + first * width_bytes(type_);
        out.count = size() - first < integer_block::max_count ? size() - first : integer_block::max_count;
        switch (type_) {
        case dtype::i32:
            return widen_each<std::int32_t>(stored, out);
        case dtype::i16:
            return widen_each<std::int16_t>(stored, out);
        case dtype::i8:
            return widen_each<std::int8_t>(stored, out);
        case dtype::u32:
            return widen_each<std::uint32_t>(stored, out);
        case dtype::u16:
            return widen_each<std::uint16_t>(stored, out);
        case dtype::u8:
            return widen_each<std::uint8_t>(stored, out);
        default:
            std::memcpy(out.numbers, stored, out.count * sizeof(std::uint64_t));
        }
    }

    /// One of them, i < size().
    [[nodiscard]] std::uint64_t operator[](std::size_t i) const noexcept {
        integer_block one;
        subview(i, 1).widen(0, one);
        return one.numbers[0];
    }

    /// Where the first one stands that is negative or not below `limit`; size() if none is.
    [[nodiscard]] std::size_t find_outside(std::uint64_t limit) const noexcept {
        // Read as unsigned ones, negative numbers are those above the largest.
        const std::uint64_t first_outside = is_signed() && limit > largest() ? largest() + 1 : limit;
        switch (width_bytes(type_)) {
        case 1:
            return find_not_below<std::uint8_t>(first_outside, bytes_.data(), size());
        case 2:
            return find_not_below<std::uint16_t>(first_outside, bytes_.data(), size());
        case 4:
            return find_not_below<std::uint32_t>(first_outside, bytes_.data(), size());
        default:
            return find_not_below<std::uint64_t>(first_outside, bytes_.data(), size());
        }
    }

    [[nodiscard]] bool is_negative(std::uint64_t number) const noexcept { return is_signed() && (number >> 63) != 0; }
    /// A number of this type as a sentence shows it.
    [[nodiscard]] piece text_of(std::uint64_t number) const noexcept {
        return is_signed() ? piece(static_cast<std::int64_t>(number)) : piece(number);
    }

private:
    [[nodiscard]] std::size_t bits() const noexcept { return 8 * width_bytes(type_) - (is_signed() ? 1 : 0); }

    bytes_view bytes_;
    dtype type_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
