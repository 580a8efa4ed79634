// SPDX-License-Identifier: MIT
//
// The fields of a 0.1 tensor. Every other key of its map is a custom one: an attribute. SPEC.md §8.3.
#ifndef ZTENSOR_DETAIL_FIELDS_0_1_HPP
#define ZTENSOR_DETAIL_FIELDS_0_1_HPP

#include <ztensor/span.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace ztensor {
inline namespace v0 {
namespace detail {

/// The last four are fields only where the layout is spelled "sparse"; elsewhere they are custom keys.
inline constexpr std::array<std::string_view, 13> fields_0_1 = {
    "name",          "offset", "size",    "dtype",    "shape", "encoding", "layout", "data_endianness", "checksum",
    "sparse_format", "indptr", "indices", "coords",
};
inline constexpr std::size_t fields_of_every_layout_0_1 = 9;
inline constexpr std::string_view spelled_sparse_0_1 = "sparse";

/// The keys that are fields, by the layout as the file spells it.
[[nodiscard]] inline span<const std::string_view> field_keys_0_1(std::string_view layout_word) noexcept {
    return {fields_0_1.data(), layout_word == spelled_sparse_0_1 ? fields_0_1.size() : fields_of_every_layout_0_1};
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
