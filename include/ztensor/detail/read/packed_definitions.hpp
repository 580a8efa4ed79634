// SPDX-License-Identifier: MIT
//
// Packed elements where they lie. Defines packed_view. SPEC.md section 13.5.
#ifndef ZTENSOR_DETAIL_READ_PACKED_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_PACKED_DEFINITIONS_HPP

#include <ztensor/component_view.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/read/convert.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/quantized.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {

ZTENSOR_INLINE result<packed_view> packed_view::from(const component_view& component) {
    const detail::component_record& record = detail::component_access::record_of(component);
    const detail::opened_file& file = detail::component_access::file_of(component);
    const narrow_type_facts* const type = detail::find_narrow_type(file.index, record);
    if (type == nullptr || type->bits != 4 || type->category != dtype_class::floating) {
        return detail::component_access::located(
            component, detail::fail(errc::unsupported_type, "its elements are no floats of four bits"));
    }
    ZTENSOR_TRY_ASSIGN(const span<const std::byte> packed, component.view<std::byte>());
    const std::uint64_t count = detail::count_packed(file.index, detail::component_access::object_record_of(component),
                                                     record, *type, packed.size());
    ZTENSOR_TRY(detail::component_access::located(component, detail::check_packed(record, *type, packed, count)));
    return packed_view(packed, count);
}

ZTENSOR_INLINE float packed_view::value(std::uint64_t position) const noexcept {
    return detail::all_narrow_values[0][(*this)[position]];
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
