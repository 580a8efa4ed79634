// SPDX-License-Identifier: MIT
//
// The fields of a 0.1 tensor. Every other key of its map is a custom one: an attribute. SPEC.md §8.3.
#ifndef ZTENSOR_DETAIL_FIELDS_0_1_HPP
#define ZTENSOR_DETAIL_FIELDS_0_1_HPP

#include <ztensor/detail/cbor.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ztensor {
inline namespace v0 {
namespace detail {

/// In an order in which the fields of every layout stand side by side: see field_keys_0_1.
inline constexpr std::array<std::string_view, 13> fields_0_1 = {
    "indptr", "indices",  "sparse_format", "name",   "offset",          "size",     "dtype",
    "layout", "shape",    "encoding",      "data_endianness", "checksum", "coords",
};
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

/// Calls `on_number(std::uint64_t)` for every item of an encoded array; false if it is no array of non-negative
/// integers (which may show after some).
template <class OnNumber>
[[nodiscard]] bool for_each_number(cbor_cursor array, OnNumber&& on_number) {
    cbor_sequence items;
    std::uint64_t number = 0;
    for (array.enter_array(items); array.next(items) && array.read_unsigned(number);) {
        on_number(number);
    }
    return !array.failed();
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
