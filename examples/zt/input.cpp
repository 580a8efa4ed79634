// SPDX-License-Identifier: MIT
#include "input.hpp"

namespace zt {

ztensor::reader open_input(const std::string& path) {
    return ztensor::open_any(path).value();
}

std::uint64_t stored_bytes_of(const ztensor::object_view& object) {
    std::uint64_t sum = 0;
    for (const ztensor::component_view component : object) {
        sum += component.stored_bytes();
    }
    return sum;
}

ztensor::result<ztensor::component_view> elements_of(const ztensor::object_view& object) {
    return object.known_format() == ztensor::format::dense ? object.data() : object.component("values");
}

std::string type_of(const ztensor::component_view& component) {
    return std::string(component.type().empty() ? component.dtype_name() : component.type());
}

} // namespace zt
