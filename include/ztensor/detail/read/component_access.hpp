// SPDX-License-Identifier: MIT
//
// What the library may know of a component beside what users may.
#ifndef ZTENSOR_DETAIL_READ_COMPONENT_ACCESS_HPP
#define ZTENSOR_DETAIL_READ_COMPONENT_ACCESS_HPP

#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/error.hpp>

#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

class component_view;

namespace detail {

/// For code that must know which file and object a component is of.
struct component_access {
    [[nodiscard]] static const opened_file& file_of(const component_view& component) noexcept;
    [[nodiscard]] static const component_record& record_of(const component_view& component) noexcept;
    [[nodiscard]] static const object_record& object_record_of(const component_view& component) noexcept;
    /// Adds to an error where it happened.
    [[nodiscard]] static error located(const component_view& component, error why) noexcept;
    [[nodiscard]] static std::string_view object_of(const component_view& component) noexcept;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

// In header-only mode this ends with definitions, which use what is declared above.
#include <ztensor/component_view.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

inline const opened_file& component_access::file_of(const component_view& component) noexcept {
    return *component.file_;
}
inline const component_record& component_access::record_of(const component_view& component) noexcept {
    return *component.record_;
}
inline const object_record& component_access::object_record_of(const component_view& component) noexcept {
    return *component.object_;
}
inline error component_access::located(const component_view& component, error why) noexcept {
    return component.located(std::move(why));
}
inline std::string_view component_access::object_of(const component_view& component) noexcept {
    return component.file_->index.text(component.object_->name);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
