// SPDX-License-Identifier: MIT
//
// Going on with a file that exists. Defines writer::append, see append.hpp. SPEC.md section 10.
#ifndef ZTENSOR_DETAIL_EDIT_APPEND_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_EDIT_APPEND_DEFINITIONS_HPP

#include <ztensor/append.hpp>
#include <ztensor/detail/core/guard_memory.hpp>
#include <ztensor/detail/edit/appending.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/writer.hpp>

#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

ZTENSOR_COLD ZTENSOR_INLINE result<writer> writer::append(const file_path& path, const write_options& options) {
    return detail::guard_memory([&]() -> result<writer> {
        result<writer> out = detail::append_to(path, options, detail::operating_system());
        if (!out) {
            return std::move(out).error().in_file(detail::path_text(path.native()));
        }
        detail::writer_access::core_of(*out)->set_path(path);
        return out;
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
