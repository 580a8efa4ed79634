// SPDX-License-Identifier: MIT
//
// After a crash. Defines what recover.hpp declares. SPEC.md section 10.
#ifndef ZTENSOR_DETAIL_EDIT_RECOVER_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_EDIT_RECOVER_DEFINITIONS_HPP

#include <ztensor/detail/core/guard_memory.hpp>
#include <ztensor/detail/edit/recovering.hpp>
#include <ztensor/detail/edit/sweeping.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/recover.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

ZTENSOR_COLD ZTENSOR_INLINE result<recovery> recover(const file_path& path) {
    return detail::guard_memory([&]() -> result<recovery> {
        result<recovery> outcome = detail::recover_by(path, detail::operating_system());
        return outcome ? std::move(outcome) : std::move(outcome).error().in_file(detail::path_text(path.native()));
    });
}

ZTENSOR_COLD ZTENSOR_INLINE result<bool> has_undo_record(const file_path& path) {
    return detail::guard_memory([&]() -> result<bool> {
        result<bool> found = detail::has_undo_record_by(path, detail::operating_system());
        return found ? std::move(found) : std::move(found).error().in_file(detail::path_text(path.native()));
    });
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::size_t> remove_abandoned(const file_path& directory,
                                                                 std::uint64_t least_age_seconds) {
    return detail::guard_memory(
        [&] { return detail::remove_abandoned_by(directory, least_age_seconds, detail::operating_system()); });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
