// SPDX-License-Identifier: MIT
//
// Temporary files that nobody finished, swept away by any calls.
#ifndef ZTENSOR_DETAIL_EDIT_SWEEPING_HPP
#define ZTENSOR_DETAIL_EDIT_SWEEPING_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/os/directory.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[nodiscard]] inline bool is_temporary_name(const native_path& name) {
    const std::string_view pattern = ".ztensor-????????????????.tmp";
    if (name.size() != pattern.size()) {
        return false;
    }
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const bool is_digit = (name[i] >= '0' && name[i] <= '9') || (name[i] >= 'a' && name[i] <= 'f');
        if (pattern[i] == '?' ? !is_digit : name[i] != static_cast<native_path::value_type>(pattern[i])) {
            return false;
        }
    }
    return true;
}

/// Whether it was there, nobody's, and is gone now. That nobody has it locked says so only of the writers of this host,
/// where each has locks of its own: what was written to not long ago may be another's.
[[nodiscard]] ZTENSOR_COLD inline result<bool> remove_if_abandoned(const directory& in, const native_path& name,
                                                                   std::uint64_t least_age_seconds) {
    result<output_file> found = output_file::open(in, name, false);
    if (!found) {
        const bool is_nothing =
            found.error().code() == errc::file_not_found || found.error().code() == errc::not_regular_file;
        return is_nothing ? result<bool>(false) : std::move(found).error();
    }
    if (!found->lock() || !found->has_lock()) {
        return false;
    }
    const result<file_status> mine = found->status();
    const result<bool> named = is_still_named(*found, in, name);
    if (!mine || !named) {
        return mine ? named.error() : mine.error();
    }
    const std::int64_t age = wall_clock_seconds() - mine->modified_nanoseconds / 1'000'000'000;
    const bool is_old_enough =
        least_age_seconds == 0 || (age >= 0 && static_cast<std::uint64_t>(age) >= least_age_seconds);
    if (!is_old_enough || !*named) {
        return false;
    }
    if (!in.remove(name)) {
        return fail(errc::io_error, "can't remove an abandoned file").in_file(path_text(name));
    }
    return true;
}

/// remove_abandoned() by these calls.
[[nodiscard]] ZTENSOR_COLD inline result<std::size_t>
remove_abandoned_by(const file_path& path, std::uint64_t least_age_seconds, os_calls& os) {
    const native_path native = path.native();
    result<void> valid = check_path(native);
    if (!valid) {
        return std::move(valid).error();
    }
    ZTENSOR_TRY_ASSIGN(const directory in, directory::open(native, false, os));
    const auto [names, failure] = os.list(in.place());
    if (failure) {
        return os_failure("can't list the directory", failure);
    }
    std::size_t count = 0;
    std::optional<error> first_failure;
    for (const native_path& name : names) {
        result<bool> removed =
            is_temporary_name(name) ? remove_if_abandoned(in, name, least_age_seconds) : result<bool>(false);
        if (!removed && !first_failure) {
            first_failure = std::move(removed).error();
        }
        count += removed && *removed ? 1u : 0u;
    }
    if (first_failure) {
        return *std::move(first_failure);
    }
    return count;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
