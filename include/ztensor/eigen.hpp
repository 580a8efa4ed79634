// SPDX-License-Identifier: MIT
//
// Vectors and matrices of Eigen 3.3 or later: tensors viewed as, read into and written from them. No other header
// includes it.
#ifndef ZTENSOR_EIGEN_HPP
#define ZTENSOR_EIGEN_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/writer.hpp>

#include <Eigen/Core>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

template <>
struct element_traits<Eigen::half> : stored_as<dtype::f16> {};
#if EIGEN_VERSION_AT_LEAST(3, 4, 0)
template <>
struct element_traits<Eigen::bfloat16> : stored_as<dtype::bf16> {};
#endif

template <class Plain, int Options, class Steps>
inline constexpr bool is_view_v<Eigen::Map<Plain, Options, Steps>> = true;

namespace detail {

/// True for types whose elements lie as a file's do: row after row, or in one row.
template <class Plain>
inline constexpr bool is_in_file_order_v = Plain::IsVectorAtCompileTime != 0 || Plain::IsRowMajor != 0;

/// From one column to the next one step, from one row to the next one as long as a row: the same elements by columns.
using rows_as_columns = Eigen::Stride<1, Eigen::Dynamic>;

} // namespace detail

/// What view_eigen() returns. Of a type by columns, which is Eigen's default, it steps from row to row: the matrix is
/// the same, and each coefficient has the indices that it has in the file.
template <class Plain>
using eigen_view = std::conditional_t<detail::is_in_file_order_v<Plain>, Eigen::Map<const Plain>,
                                      Eigen::Map<const Plain, Eigen::Unaligned, detail::rows_as_columns>>;

namespace detail {

struct eigen_size {
    Eigen::Index rows;
    Eigen::Index columns;
};

/// A number of rows or columns of an Eigen type, or "any".
[[nodiscard]] inline std::string extent_text(int at_compile_time) {
    return at_compile_time == Eigen::Dynamic ? "any" : std::to_string(at_compile_time);
}

[[nodiscard]] inline bool extent_fits(Eigen::Index extent, int at_compile_time, int most) noexcept {
    return (at_compile_time == Eigen::Dynamic || extent == at_compile_time) &&
           (most == Eigen::Dynamic || extent <= most);
}

/// How many rows and columns a Plain has that holds a tensor of that shape. Errors: invalid_argument where it can't;
/// too_large_for_host.
template <class Plain>
result<eigen_size> eigen_size_of(const shape& dimensions) {
    constexpr auto most = static_cast<std::uint64_t>((std::numeric_limits<Eigen::Index>::max)());
    constexpr int rows = Plain::RowsAtCompileTime;
    constexpr int columns = Plain::ColsAtCompileTime;
    if (dimensions.rank() > 2) {
        return fail(errc::invalid_argument, "shape {} has more dimensions than a matrix of Eigen's",
                    {to_string(dimensions)});
    }
    for (std::size_t i = 0; i < dimensions.rank(); ++i) {
        if (dimensions[i] > most) {
            return fail(errc::too_large_for_host, "shape {} is larger than Eigen can count on this host",
                        {to_string(dimensions)});
        }
    }
    constexpr bool is_row = rows == 1 && columns != 1;
    eigen_size size = {1, 1};
    if (dimensions.rank() == 2) {
        size = {static_cast<Eigen::Index>(dimensions[0]), static_cast<Eigen::Index>(dimensions[1])};
    } else if (dimensions.rank() == 1) {
        (is_row ? size.columns : size.rows) = static_cast<Eigen::Index>(dimensions[0]);
    }
    if (!extent_fits(size.rows, rows, Plain::MaxRowsAtCompileTime) ||
        !extent_fits(size.columns, columns, Plain::MaxColsAtCompileTime)) {
        return fail(errc::invalid_argument, "shape {} does not fit into an Eigen type of {} rows and {} columns",
                    {to_string(dimensions), extent_text(rows), extent_text(columns)});
    }
    return size;
}

/// The same for an object, in its words. Errors: unsupported_format, invalid_argument, too_large_for_host.
template <class Plain>
result<eigen_size> eigen_size_of(const object_view& object) {
    ZTENSOR_TRY_ASSIGN(const component_view elements, object.data());
    return eigen_size_of<Plain>(object.shape()).transform_error([&](error why) {
        return located(elements, std::move(why));
    });
}

/// A Plain that `read(span) -> result<void>` fills in the order of a file.
template <class Plain, class Read>
result<Plain> filled_eigen(const object_view& object, const Read& read) {
    using element = typename Plain::Scalar;
    return guard_memory([&]() -> result<Plain> {
        ZTENSOR_TRY_ASSIGN(const eigen_size size, eigen_size_of<Plain>(object));
        using rows_first = Eigen::Matrix<element, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
        std::conditional_t<is_in_file_order_v<Plain>, Plain, rows_first> elements;
        elements.resize(size.rows, size.columns);
        ZTENSOR_TRY(read(span<element>(elements.data(), static_cast<std::size_t>(elements.size()))));
        if constexpr (is_in_file_order_v<Plain>) {
            return elements;
        } else {
            return Plain(elements);
        }
    });
}

/// True if the elements lie in memory as a file wants them.
template <class Derived>
[[nodiscard]] bool lies_in_file_order(const Derived& values) noexcept {
    if constexpr ((static_cast<unsigned>(Derived::Flags) & Eigen::DirectAccessBit) == 0 ||
                  !is_in_file_order_v<Derived>) {
        return false;
    } else {
        return values.innerStride() == 1 &&
               (Derived::IsVectorAtCompileTime || values.outerStride() == values.innerSize());
    }
}

} // namespace detail

/// A dense object of up to two dimensions where it lies, without a copy: of one dimension a vector, or a matrix of one
/// column; of none a matrix of one element. Plain is a type that owns its elements, such as Eigen::MatrixXf; it and its
/// order of rows and columns are the caller's choice, its scalar type is the object's. Lives as long as the reader.
///
///     auto weight = ztensor::view_eigen<Eigen::MatrixXf>(model.find("fc.weight").value()).value();
///     Eigen::VectorXf y = weight * x;
///
/// Errors: invalid_argument for a shape that no such Plain has; unsupported_format; as component_view::view().
template <class Plain>
result<eigen_view<Plain>> view_eigen(const object_view& object) {
    ZTENSOR_TRY_ASSIGN(const detail::eigen_size size, detail::eigen_size_of<Plain>(object));
    ZTENSOR_TRY_ASSIGN(const auto elements, object.view<typename Plain::Scalar>());
    if constexpr (detail::is_in_file_order_v<Plain>) {
        return eigen_view<Plain>(elements.data(), size.rows, size.columns);
    } else {
        return eigen_view<Plain>(elements.data(), size.rows, size.columns, detail::rows_as_columns(1, size.columns));
    }
}

/// The same read into memory of its own: decoded, verified. A type by columns takes a second copy for a moment.
/// Errors: as view_eigen(), but for those of views; as component_view::read().
template <class Plain>
result<Plain> read_eigen(const object_view& object) {
    return detail::filled_eigen<Plain>(object, [&](auto elements) { return object.read_into(elements); });
}

/// The same converted from whatever the elements are stored as: Plain's are float or double. Errors: as read_eigen()
/// and component_view::read_as().
template <class Plain>
result<Plain> read_as_eigen(const object_view& object) {
    return detail::filled_eigen<Plain>(object, [&](auto elements) { return object.read_as_into(elements); });
}

/// Adds a matrix, or any expression that makes one, as a tensor of two dimensions, row after row; what Eigen knows to
/// be a vector, of one. Only what lies in another order, or is still to be calculated, is copied. Errors:
/// out_of_memory; as writer::add().
template <class Derived>
result<void> add_eigen(writer& out, std::string_view name, const Eigen::MatrixBase<Derived>& values,
                       const store& how = {}) {
    using element = typename Derived::Scalar;
    shape dimensions;
    if (!Derived::IsVectorAtCompileTime) {
        dimensions.push_back(static_cast<std::uint64_t>(values.rows()));
    }
    dimensions.push_back(static_cast<std::uint64_t>(Derived::IsVectorAtCompileTime ? values.size() : values.cols()));
    const auto count = static_cast<std::size_t>(values.size());
    if constexpr ((static_cast<unsigned>(Derived::Flags) & Eigen::DirectAccessBit) != 0) {
        if (detail::lies_in_file_order(values.derived())) {
            return out.add(name, dimensions, span<const element>(values.derived().data(), count), how);
        }
    }
    return detail::guard_memory([&]() -> result<void> {
        const Eigen::Matrix<element, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = values;
        return out.add(name, dimensions, span<const element>(rows.data(), count), how);
    });
}
template <class Derived>
result<void> add_eigen(writer& out, std::string_view name, const Eigen::ArrayBase<Derived>& values,
                       const store& how = {}) {
    return add_eigen(out, name, values.matrix(), how);
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
