// SPDX-License-Identifier: MIT
//
// What the views of sparse objects hold and call, without the types of their elements: loading, checking and turning
// one kind of view into the other are compiled once. SPEC.md section 5.2 and section 5.3.
#ifndef ZTENSOR_DETAIL_BASE_SPARSE_MEMORY_HPP
#define ZTENSOR_DETAIL_BASE_SPARSE_MEMORY_HPP

#include <ztensor/detail/base/elements.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace ztensor {
inline namespace ZTENSOR_MODE {

class object_view;

namespace detail {

/// Bytes in memory and, unless they are borrowed, who owns them. Cheap to copy.
struct shared_bytes {
    bytes_view bytes;
    std::shared_ptr<const void> owner;
};

/// The parts of a sparse object, in host byte order.
struct sparse_parts {
    ztensor::shape shape;
    shared_bytes values;
    shared_bytes indices; ///< a column for each value, or all coordinates of dimension 0, then of dimension 1, ...
    shared_bytes indptr;  ///< of sparse_csr alone
    std::size_t value_bytes = 1;

    [[nodiscard]] bool is_borrowed() const noexcept { return !values.owner && !indices.owner && !indptr.owner; }
};

enum class loading {
    borrows, ///< what lies in memory as it is needed, which verifies nothing; reads the rest
    reads,   ///< everything, decoded and verified
};

// Defined in detail/read/sparse_definitions.hpp. Indices become those of the integer type `index`.

/// Errors: as csr_view::from() and coo_view::from().
[[nodiscard]] result<sparse_parts> load_sparse(const object_view& object, format layout, loading how,
                                               const element_request& value, dtype index);
/// Errors: as csr_view::from_rows().
[[nodiscard]] result<sparse_parts> load_csr_rows(const object_view& object, std::uint64_t first, std::uint64_t last,
                                                 const element_request& value, dtype index);
/// Errors: as csr_view::from_parts() and coo_view::from_parts().
[[nodiscard]] result<void> check_sparse(const sparse_parts& parts, format layout, std::uint64_t value_count,
                                        dtype index);
/// Errors: as csr_view::to_coo() and coo_view::to_csr(); indices become u64.
[[nodiscard]] result<sparse_parts> csr_to_coo(const sparse_parts& csr, dtype index);
[[nodiscard]] result<sparse_parts> coo_to_csr(const sparse_parts& coo, dtype index, std::uint64_t max_bytes);
/// Room for every element of a shape, within `max_bytes`. Errors: limit_exceeded, out_of_memory.
[[nodiscard]] result<void> make_dense(const shape& dimensions, std::size_t element_bytes, std::uint64_t max_bytes,
                                      element_memory dense);

/// Several values at one place are summed, as SciPy and PyTorch do; sums of integers wrap around, and that of bools is
/// true where one of them is.
template <class T>
void accumulate(in_vector_t<T>& place, const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
        place = place != 0 || value ? 1 : 0;
    } else if constexpr (std::is_integral_v<T>) { // as 64-bit unsigned numbers: signed ones must not overflow
        place = static_cast<T>(static_cast<std::uint64_t>(place) + static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_convertible_v<T, float> || is_complex_of_v<T, float> || is_complex_of_v<T, double>) {
        place = place == T{} ? value : static_cast<T>(place + value);
    } else {
        const auto sum = static_cast<float>(place) + static_cast<float>(value);
        place = static_cast<float>(place) == 0.0F ? value : static_cast<T>(sum);
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
