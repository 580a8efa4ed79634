// SPDX-License-Identifier: MIT
//
// Sparse tensors as the reference of 0.1 keeps them: in one blob. SPEC.md §8.3.
#ifndef ZTENSOR_DETAIL_SPARSE_0_1_HPP
#define ZTENSOR_DETAIL_SPARSE_0_1_HPP

#include <ztensor/coo_view.hpp>
#include <ztensor/csr_view.hpp>
#include <ztensor/detail/cast.hpp>
#include <ztensor/detail/endian.hpp>
#include <ztensor/detail/sparse_parts.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ztensor {
inline namespace v0 {
namespace detail {

/// Elements as a file holds them; std::byte are bytes of a file already.
template <class T>
[[nodiscard]] std::vector<std::byte> little_endian_bytes(span<const T> elements) {
    const bytes_view in_host_order = as_bytes(elements);
    std::vector<std::byte> bytes(in_host_order.begin(), in_host_order.end());
    if (!host_is_little_endian) {
        swap_elements(bytes, swap_width<T>());
    }
    return bytes;
}

/// indptr, then indices, then the values.
template <class T, class Index>
[[nodiscard]] std::vector<std::byte> pack_csr_0_1(const csr_view<T, Index>& csr) {
    std::vector<std::byte> blob = little_endian_bytes(csr.indptr());
    const std::vector<std::byte> indices = little_endian_bytes(csr.indices());
    const std::vector<std::byte> values = little_endian_bytes(csr.values());
    blob.insert(blob.end(), indices.begin(), indices.end());
    blob.insert(blob.end(), values.begin(), values.end());
    return blob;
}

/// For each entry its coordinates, then its value.
template <class T, class Index>
[[nodiscard]] std::vector<std::byte> pack_coo_0_1(const coo_view<T, Index>& coo) {
    const std::size_t entries = coo.entry_count();
    const std::vector<std::byte> values = little_endian_bytes(coo.values());
    const std::size_t value_bytes = entries == 0 ? 0 : values.size() / entries;
    std::vector<std::byte> blob;
    blob.reserve(coo.coords().size_bytes() + values.size());
    for (std::size_t entry = 0; entry < entries; ++entry) {
        for (std::size_t axis = 0; axis < coo.shape().rank(); ++axis) {
            std::byte coordinate[sizeof(std::uint64_t)];
            store_little(coo.coords(axis)[entry], coordinate, sizeof coordinate);
            blob.insert(blob.end(), coordinate, coordinate + sizeof coordinate);
        }
        const bytes_view value = bytes_view(values).subspan(entry * value_bytes, value_bytes);
        blob.insert(blob.end(), value.begin(), value.end());
    }
    return blob;
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
