// SPDX-License-Identifier: MIT
//
// The category of the library's error codes. Defines what error_code.hpp declares.
#ifndef ZTENSOR_DETAIL_BASE_ERROR_CODE_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_BASE_ERROR_CODE_DEFINITIONS_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/error_code.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {

ZTENSOR_INLINE const std::error_category& category() noexcept {
    static const detail::never_destroyed<errc_category> only;
    return only.get();
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
