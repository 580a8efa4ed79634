// SPDX-License-Identifier: MIT
//
// Sparse tensors as the reference of 0.1 keeps them: in one blob. SPEC.md §8.3.
#ifndef ZTENSOR_DETAIL_SPARSE_0_1_HPP
#define ZTENSOR_DETAIL_SPARSE_0_1_HPP

#include <ztensor/coo_view.hpp>
#include <ztensor/csr_view.hpp>
#include <ztensor/detail/endian.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ztensor {
inline namespace v0 {
namespace detail {

[[nodiscard]] inline std::vector<std::byte> little_endian_bytes(span<const std::uint64_t> numbers) {
    std::vector<std::byte> bytes(numbers.size() * sizeof(std::uint64_t));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        store_little(numbers[i], bytes.data() + i * sizeof(std::uint64_t), sizeof(std::uint64_t));
    }
    return bytes;
}

/// indptr, then indices, then the values.
[[nodiscard]] inline std::vector<std::byte> pack_csr_0_1(const csr_view<std::byte>& csr) {
    std::vector<std::byte> blob = little_endian_bytes(csr.indptr());
    const std::vector<std::byte> indices = little_endian_bytes(csr.indices());
    blob.insert(blob.end(), indices.begin(), indices.end());
    blob.insert(blob.end(), csr.values().begin(), csr.values().end());
    return blob;
}

/// For each entry its coordinates, then its value.
[[nodiscard]] inline std::vector<std::byte> pack_coo_0_1(const coo_view<std::byte>& coo) {
    const std::size_t entries = coo.entry_count();
    const std::size_t value_bytes = entries == 0 ? 0 : coo.values().size() / entries;
    std::vector<std::byte> blob;
    blob.reserve(coo.coords().size_bytes() + coo.values().size());
    for (std::size_t entry = 0; entry < entries; ++entry) {
        for (std::size_t axis = 0; axis < coo.shape().rank(); ++axis) {
            std::byte coordinate[sizeof(std::uint64_t)];
            store_little(coo.coords(axis)[entry], coordinate, sizeof coordinate);
            blob.insert(blob.end(), coordinate, coordinate + sizeof coordinate);
        }
        const bytes_view value = coo.values().subspan(entry * value_bytes, value_bytes);
        blob.insert(blob.end(), value.begin(), value.end());
    }
    return blob;
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
