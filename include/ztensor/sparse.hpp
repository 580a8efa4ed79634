// SPDX-License-Identifier: MIT
//
// Sparse objects: both views, and the way from one to the other. SPEC.md section 5.2 and section 5.3.
#ifndef ZTENSOR_SPARSE_HPP
#define ZTENSOR_SPARSE_HPP

#include <ztensor/coo_view.hpp>
#include <ztensor/csr_view.hpp>
#include <ztensor/result.hpp>

#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {

template <class T, class Index>
result<coo_view<T, std::uint64_t>> csr_view<T, Index>::to_coo() const {
    return coo_view<T, std::uint64_t>::of(detail::csr_to_coo(parts_, index_type));
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
