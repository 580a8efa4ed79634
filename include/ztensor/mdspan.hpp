// SPDX-License-Identifier: MIT
//
// Tensors as std::mdspan, where the standard library has it (C++23), and as Kokkos' mdspan, which is the same for
// C++17, elsewhere. No other header includes it.
#ifndef ZTENSOR_MDSPAN_HPP
#define ZTENSOR_MDSPAN_HPP

#include <ztensor/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/writer.hpp>

#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_mdspan)
#include <mdspan>
#elif __has_include(<mdspan/mdspan.hpp>)
#include <mdspan/mdspan.hpp>
#elif __has_include(<experimental/mdspan>)
#include <experimental/mdspan>
#else
#error "ztensor/mdspan.hpp needs C++23 with a standard library that has <mdspan>, or Kokkos' mdspan among the includes"
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

namespace detail {

#if defined(__cpp_lib_mdspan)
namespace mdspan_library = std;
#else
namespace mdspan_library = MDSPAN_IMPL_STANDARD_NAMESPACE; // as Kokkos' header was told to call it
#endif

} // namespace detail

/// The dimensions of a tensor of that many.
template <std::size_t Rank>
using tensor_extents = detail::mdspan_library::dextents<std::size_t, Rank>;

/// Elements in row-major order, as a file has them.
template <class T, std::size_t Rank>
using tensor_mdspan = detail::mdspan_library::mdspan<T, tensor_extents<Rank>>;

/// A shape as extents. Errors: invalid_argument for another number of dimensions; too_large_for_host.
template <std::size_t Rank>
result<tensor_extents<Rank>> extents_of(const shape& dimensions) {
    if (dimensions.rank() != Rank) {
        return detail::fail(errc::invalid_argument, "shape {} has {} dimensions, but {} were asked for",
                            {to_string(dimensions), dimensions.rank(), Rank});
    }
    std::array<std::size_t, Rank> extents{};
    for (std::size_t i = 0; i < Rank; ++i) {
        if (dimensions[i] > (std::numeric_limits<std::size_t>::max)()) {
            return detail::fail(errc::too_large_for_host, "shape {} is larger than this host can count",
                                {to_string(dimensions)});
        }
        extents[i] = static_cast<std::size_t>(dimensions[i]);
    }
    return tensor_extents<Rank>(extents);
}

/// A dense object where it lies, without a copy. Lives as long as the reader.
///
///     auto weight = ztensor::view_mdspan<float, 2>(model.find("fc.weight").value()).value();
///     float corner = weight[0, 0];
///
/// Errors: invalid_argument for another number of dimensions; unsupported_format; too_large_for_host; as
/// component_view::view(). For elements that were read, see extents_of().
template <class T, std::size_t Rank>
result<tensor_mdspan<const T, Rank>> view_mdspan(const object_view& object) {
    ZTENSOR_TRY_ASSIGN(const component_view data, object.data());
    result<tensor_extents<Rank>> extents = extents_of<Rank>(object.shape());
    if (!extents) {
        return detail::located(data, std::move(extents).error());
    }
    ZTENSOR_TRY_ASSIGN(const span<const T> elements, data.template view<T>());
    return tensor_mdspan<const T, Rank>(elements.data(), *extents);
}

namespace detail {

/// The next index in row-major order.
template <std::size_t Rank, class Extents>
void step(std::array<typename Extents::index_type, Rank>& index, const Extents& extents) noexcept {
    for (std::size_t i = Rank; i-- > 0;) {
        if (++index[i] < extents.extent(i)) {
            return;
        }
        index[i] = 0;
    }
}

/// The element at that index, whatever the layout.
template <class Elements, class Index, std::size_t... I>
[[nodiscard]] auto element_at(const Elements& elements, const Index& index, std::index_sequence<I...>) {
    return elements.accessor().access(elements.data_handle(),
                                      static_cast<std::size_t>(elements.mapping()(index[I]...)));
}

} // namespace detail

/// Adds the elements of an mdspan of any layout and accessor. Those that are not row-major in plain memory are gathered
/// first. Errors: out_of_memory; as writer::add().
template <class T, class Extents, class Layout, class Accessor>
result<void> add_mdspan(writer& out, std::string_view name,
                        const detail::mdspan_library::mdspan<T, Extents, Layout, Accessor>& elements,
                        const store& how = {}) {
    using element = std::remove_cv_t<T>;
    constexpr std::size_t rank = Extents::rank();
    shape dimensions;
    std::size_t count = 1;
    for (std::size_t i = 0; i < rank; ++i) {
        dimensions.push_back(static_cast<std::uint64_t>(elements.extent(i)));
        count *= static_cast<std::size_t>(elements.extent(i));
    }
    if constexpr (std::is_same_v<Layout, detail::mdspan_library::layout_right> &&
                  std::is_same_v<Accessor, detail::mdspan_library::default_accessor<T>>) {
        return out.add(name, dimensions, span<const element>(elements.data_handle(), count), how);
    } else {
        return detail::guard_memory([&]() -> result<void> {
            array<element> gathered(count);
            std::array<typename Extents::index_type, rank> index{};
            for (element& next : gathered) {
                next = detail::element_at(elements, index, std::make_index_sequence<rank>());
                detail::step(index, elements.extents());
            }
            return out.add(name, dimensions, gathered, how);
        });
    }
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
