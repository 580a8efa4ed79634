// SPDX-License-Identifier: MIT
//
// What the library may know of an object beside what users may.
#ifndef ZTENSOR_DETAIL_READ_OBJECT_ACCESS_HPP
#define ZTENSOR_DETAIL_READ_OBJECT_ACCESS_HPP

#include <ztensor/attribute_value.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/error.hpp>

#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

class object_view;

namespace detail {

/// For code that gives several components a meaning together.
struct object_access {
    [[nodiscard]] static const opened_file& file_of(const object_view& object) noexcept;
    [[nodiscard]] static const object_record& record_of(const object_view& object) noexcept;
    /// Adds to an error where it happened.
    [[nodiscard]] static error located(const object_view& object, error why) noexcept;
};

/// Adds the file to an error of its attributes, and the object to one of an object's.
[[nodiscard]] ZTENSOR_COLD inline error name_place_of_attributes(const attributes_place& place, error why) noexcept {
    const auto& file = *static_cast<const opened_file*>(place.file);
    const auto* const object = static_cast<const object_record*>(place.object);
    return std::move(why).in_file(file.path).in_object(object != nullptr ? file.index.text(object->name) : "");
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

// In header-only mode this ends with definitions, which use what is declared above.
#include <ztensor/object_view.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

inline const opened_file& object_access::file_of(const object_view& object) noexcept {
    return *object.file_;
}
inline const object_record& object_access::record_of(const object_view& object) noexcept {
    return *object.record_;
}
inline error object_access::located(const object_view& object, error why) noexcept {
    return object.located(std::move(why));
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
