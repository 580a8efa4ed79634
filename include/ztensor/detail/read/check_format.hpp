// SPDX-License-Identifier: MIT
//
// Whether an object is of the format that a view of it needs. SPEC.md section 5.
#ifndef ZTENSOR_DETAIL_READ_CHECK_FORMAT_HPP
#define ZTENSOR_DETAIL_READ_CHECK_FORMAT_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/result.hpp>
#include <ztensor/vocabulary.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Errors: unsupported_format.
[[nodiscard]] inline result<void> check_format(const opened_file& file, const object_record& object, format expected) {
    if (object.format == expected) {
        return {};
    }
    return fail(errc::unsupported_format, "its format is {}, not {}",
                {in_quotes(format_name(file.index, object)), name(expected)});
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
