// SPDX-License-Identifier: MIT
//
// Sparse tensors as the reference of 0.1 keeps them: in one blob. Indices and row pointers are u64 in host byte order;
// the values' width is the one by which a host of the other order swaps them: 1 for bytes of a file already.
// SPEC.md section 8.3.
#ifndef ZTENSOR_DETAIL_WRITE_SPARSE_0_1_HPP
#define ZTENSOR_DETAIL_WRITE_SPARSE_0_1_HPP

#include <ztensor/detail/core/endian.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Elements of `width` bytes as a file holds them.
[[nodiscard]] inline std::vector<std::byte> little_endian_bytes(bytes_view host_order, std::size_t width) {
    std::vector<std::byte> bytes(host_order.begin(), host_order.end());
    if (!host_is_little_endian) {
        swap_elements(bytes, width);
    }
    return bytes;
}

/// indptr, then indices, then the values.
[[nodiscard]] inline std::vector<std::byte> pack_csr_0_1(bytes_view indptr, bytes_view indices, bytes_view values,
                                                         std::size_t value_swap_width) {
    std::vector<std::byte> blob;
    blob.reserve(indptr.size() + indices.size() + values.size());
    blob.insert(blob.end(), indptr.begin(), indptr.end());
    blob.insert(blob.end(), indices.begin(), indices.end());
    blob.insert(blob.end(), values.begin(), values.end());
    if (!host_is_little_endian) {
        const span<std::byte> all(blob);
        const std::size_t values_at = indptr.size() + indices.size();
        swap_elements(all.first(values_at), sizeof(std::uint64_t));
        swap_elements(all.subspan(values_at), value_swap_width);
    }
    return blob;
}

/// For each entry its coordinates, then its value of `value_bytes`. `coords` holds all coordinates of dimension 0, then
/// of dimension 1, and so on.
[[nodiscard]] inline std::vector<std::byte> pack_coo_0_1(const shape& dimensions, bytes_view coords, bytes_view values,
                                                         std::size_t value_bytes, std::size_t value_swap_width) {
    constexpr std::size_t index_bytes = sizeof(std::uint64_t);
    const std::size_t rank = dimensions.rank();
    const std::size_t entries = coords.size() / index_bytes / rank;
    std::vector<std::byte> blob(coords.size() + values.size());
    std::byte* at = blob.data();
    for (std::size_t entry = 0; entry < entries; ++entry) {
        for (std::size_t axis = 0; axis < rank; ++axis, at += index_bytes) {
            std::uint64_t coordinate = 0;
            std::memcpy(&coordinate, coords.data() + (axis * entries + entry) * index_bytes, index_bytes);
            store_little(coordinate, at, index_bytes);
        }
        std::memcpy(at, values.data() + entry * value_bytes, value_bytes);
        if (!host_is_little_endian) {
            swap_elements({at, value_bytes}, value_swap_width);
        }
        at += value_bytes;
    }
    return blob;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
