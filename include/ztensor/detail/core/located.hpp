// SPDX-License-Identifier: MIT
//
// Where an error happened, for headers that see no more of a component than its users do.
#ifndef ZTENSOR_DETAIL_CORE_LOCATED_HPP
#define ZTENSOR_DETAIL_CORE_LOCATED_HPP

#include <ztensor/detail/core/stored_component.hpp>
#include <ztensor/error.hpp>

#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Adds to an error in which file, object and component it happened.
[[nodiscard]] inline error located(const component_view& component, error why) noexcept {
    const stored_component at = describe_stored(component);
    return std::move(why).in_component(at.role).in_object(at.object).in_file(at.path);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
