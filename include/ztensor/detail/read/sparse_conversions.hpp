// SPDX-License-Identifier: MIT
//
// Sparse matrices by rows turned into those by coordinates, and back. SPEC.md section 5.2 and section 5.3.
#ifndef ZTENSOR_DETAIL_READ_SPARSE_CONVERSIONS_HPP
#define ZTENSOR_DETAIL_READ_SPARSE_CONVERSIONS_HPP

#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/guard_memory.hpp>
#include <ztensor/detail/core/sparse_parts.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/layout/integers.hpp>
#include <ztensor/detail/layout/sparse_rules.hpp>
#include <ztensor/detail/read/sparse_parts.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Indices as u64.
inline void widen_to(const integers_view& indices, std::byte* destination) noexcept {
    integer_block block;
    for (std::size_t done = 0; done < indices.size(); done += block.count) {
        indices.widen(done, block);
        narrow_integers(block, sizeof(std::uint64_t), destination + done * sizeof(std::uint64_t));
    }
}

[[nodiscard]] inline sparse_parts as_coo(const sparse_parts& csr, dtype index) {
    constexpr std::size_t width = sizeof(std::uint64_t);
    const integers_view pointers(csr.indptr.bytes, index);
    const integers_view columns(csr.indices.bytes, index);
    const shared_memory coords(2 * columns.size(), width);
    std::byte* at = coords.bytes().data();
    std::uint64_t entry = 0;
    integer_block block;
    for (std::size_t done = 0; done < pointers.size(); done += block.count) {
        pointers.widen(done, block);
        for (std::size_t i = 0; i < block.count; ++i) {
            const std::uint64_t row = done + i - 1; // which ends at this pointer; the first one is 0 and ends none
            for (; entry < block.numbers[i]; ++entry, at += width) {
                std::memcpy(at, &row, width);
            }
        }
    }
    widen_to(columns, at);
    return {csr.shape, csr.values, coords.share(), {}, csr.value_bytes};
}

ZTENSOR_INLINE result<sparse_parts> csr_to_coo(const sparse_parts& csr, dtype index) {
    return guard_memory([&]() -> result<sparse_parts> { return as_coo(csr, index); });
}

/// How many entries each row has, in the place behind the row's own.
[[nodiscard]] inline std::vector<std::uint64_t> count_by_row(const integers_view& rows, std::uint64_t row_count) {
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(row_count) + 1);
    integer_block block;
    for (std::size_t done = 0; done < rows.size(); done += block.count) {
        rows.widen(done, block);
        for (const std::uint64_t row : block) {
            ++counts[static_cast<std::size_t>(row) + 1];
        }
    }
    return counts;
}

/// Of one length that a compiler knows, where values have it.
inline void copy_value(std::byte* to, const std::byte* from, std::size_t size) noexcept {
    switch (size) {
    case 1:
        *to = *from;
        return;
    case 2:
        std::memcpy(to, from, 2);
        return;
    case 4:
        std::memcpy(to, from, 4);
        return;
    case 8:
        std::memcpy(to, from, 8);
        return;
    default:
        std::memcpy(to, from, size);
    }
}

[[nodiscard]] inline result<sparse_parts> as_csr(const sparse_parts& coo, dtype index, std::uint64_t max_bytes) {
    constexpr std::size_t width = sizeof(std::uint64_t);
    ZTENSOR_TRY(check_csr_shape(coo.shape));
    if (coo.shape[0] >= max_bytes / width || !fits_address_space((coo.shape[0] + 1) * width)) {
        return fail(errc::limit_exceeded, "the pointers of {} rows take more than {} bytes", {coo.shape[0], max_bytes});
    }
    const integers_view coords(coo.indices.bytes, index);
    const std::size_t entries = coords.size() / 2;
    const integers_view rows = coords.subview(0, entries);
    const integers_view columns = coords.subview(entries, entries);
    std::vector<std::uint64_t> next = count_by_row(rows, coo.shape[0]); // where the next entry of each row goes
    for (std::size_t row = 1; row < next.size(); ++row) {
        next[row] += next[row - 1];
    }
    const shared_memory indptr(next.size(), width);
    std::memcpy(indptr.bytes().data(), next.data(), next.size() * width);
    const shared_memory sorted_columns(entries, width);
    const shared_memory sorted_values(entries, coo.value_bytes);
    integer_block row_block;
    integer_block column_block;
    for (std::size_t done = 0; done < entries; done += row_block.count) {
        rows.widen(done, row_block);
        columns.widen(done, column_block);
        for (std::size_t i = 0; i < row_block.count; ++i) {
            const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(row_block.numbers[i])]++);
            std::memcpy(sorted_columns.bytes().data() + place * width, &column_block.numbers[i], width);
            copy_value(sorted_values.bytes().data() + place * coo.value_bytes,
                       coo.values.bytes.data() + (done + i) * coo.value_bytes, coo.value_bytes);
        }
    }
    return sparse_parts{coo.shape, sorted_values.share(), sorted_columns.share(), indptr.share(), coo.value_bytes};
}

ZTENSOR_INLINE result<sparse_parts> coo_to_csr(const sparse_parts& coo, dtype index, std::uint64_t max_bytes) {
    return guard_memory([&] { return as_csr(coo, index, max_bytes); });
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
