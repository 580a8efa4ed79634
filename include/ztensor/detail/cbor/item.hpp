// SPDX-License-Identifier: MIT
//
// What a CBOR cursor tells of the items it meets. SPEC.md section 3.1.
#ifndef ZTENSOR_DETAIL_CBOR_ITEM_HPP
#define ZTENSOR_DETAIL_CBOR_ITEM_HPP

#include <ztensor/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Arrays, maps and tags may enclose one another this deep, the root included.
inline constexpr std::size_t max_cbor_depth = 64;

enum class cbor_major : std::uint8_t { unsigned_integer, negative_integer, bytes, text, array, map, tag, simple };

/// Simple values, as they stand in the low five bits of a head.
inline constexpr std::uint8_t cbor_false = 20, cbor_true = 21, cbor_null = 22;

/// The first bytes of an item.
struct cbor_head {
    cbor_major major = cbor_major::simple;
    std::uint8_t info = 0;      ///< low five bits of the first byte: 0 to 23 the argument itself, 24 to 27 its size
    std::uint64_t argument = 0; ///< value, length in bytes, count, tag number, or the bits of a float

    [[nodiscard]] constexpr bool is_indefinite() const noexcept { return info == 31; }
};

/// A text item. Where it is chunked (of indefinite length) the chunks lie apart, each behind a head.
struct cbor_text {
    std::size_t position = 0; ///< of the item's head
    std::string_view text;    ///< the text, or the encoded chunks without the break
    bool is_chunked = false;
};

/// What is left of an array or map that was entered: items, or pairs of a map.
struct cbor_sequence {
    std::uint64_t remaining = 0;
    bool is_indefinite = false;
};

/// The first fault that was met; the sentence is a literal.
struct cbor_fault {
    errc code = errc::cbor_malformed;
    std::size_t position = 0;
    const char* sentence = nullptr;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
