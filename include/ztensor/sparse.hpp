// SPDX-License-Identifier: MIT
//
// Sparse objects: both views, and the way from one to the other. SPEC.md §5.2 and §5.3.
#ifndef ZTENSOR_SPARSE_HPP
#define ZTENSOR_SPARSE_HPP

#include <ztensor/coo_view.hpp>
#include <ztensor/csr_view.hpp>
#include <ztensor/result.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace v0 {

template <class T, class Index>
result<coo_view<T, std::uint64_t>> csr_view<T, Index>::to_coo() const {
    return detail::guard_memory([this]() -> result<coo_view<T, std::uint64_t>> {
        std::vector<std::uint64_t> coords;
        coords.reserve(2 * entry_count());
        for (std::uint64_t row = 0; row < rows(); ++row) {
            coords.insert(coords.end(), this->row(row).columns.size(), row);
        }
        for (const Index column : indices()) {
            coords.push_back(static_cast<std::uint64_t>(column));
        }
        return coo_view<T, std::uint64_t>(shape_, values_, detail::own(std::move(coords)), value_elements_);
    });
}


} // namespace v0
} // namespace ztensor

#endif
