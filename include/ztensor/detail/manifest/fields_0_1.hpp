// SPDX-License-Identifier: MIT
//
// The fields of a 0.1 tensor. Every other key of its map is a custom one: an attribute. SPEC.md section 8.3.
#ifndef ZTENSOR_DETAIL_MANIFEST_FIELDS_0_1_HPP
#define ZTENSOR_DETAIL_MANIFEST_FIELDS_0_1_HPP

#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// In an order in which the fields of every layout stand side by side: see field_keys_0_1.
inline constexpr std::array<std::string_view, 13> fields_0_1 = {
    "indptr", "indices",  "sparse_format",   "name",     "offset", "size", "dtype", "layout",
    "shape",  "encoding", "data_endianness", "checksum", "coords",
};
/// Where a field stands there.
[[nodiscard]] constexpr std::size_t field_0_1(std::string_view name) noexcept {
    std::size_t place = 0;
    while (fields_0_1[place] != name) {
        ++place;
    }
    return place;
}

inline constexpr std::string_view spelled_sparse_0_1 = "sparse";

/// The keys that are fields. What only some layouts have is a custom key elsewhere: sparse_format beside any other
/// layout than "sparse" or with a word that is unknown, the index arrays wherever the blob holds the indices itself.
[[nodiscard]] inline span<const std::string_view>
field_keys_0_1(std::string_view layout_word, std::optional<format> layout, bool blob_holds_indices) noexcept {
    const bool has_sparse_format = layout_word == spelled_sparse_0_1 && layout;
    const bool has_index_arrays = has_sparse_format && !blob_holds_indices;
    const std::size_t begin = has_index_arrays && layout == format::sparse_csr ? 0 : has_sparse_format ? 2 : 3;
    const std::size_t end = has_index_arrays && layout == format::sparse_coo ? 13 : 12;
    return span<const std::string_view>(fields_0_1).subspan(begin, end - begin);
}

/// How many items an encoded array of non-negative integers has; nothing for any other item.
[[nodiscard]] ZTENSOR_COLD inline std::optional<std::uint64_t> count_numbers(cbor_cursor array) noexcept {
    cbor_sequence items;
    std::uint64_t count = 0;
    std::uint64_t number = 0;
    for (array.enter_array(items); array.next(items) && array.read_unsigned(number);) {
        ++count;
    }
    return array.failed() ? std::nullopt : std::optional(count);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
