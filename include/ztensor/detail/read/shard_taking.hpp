// SPDX-License-Identifier: MIT
//
// How reader::open comes by the shards of a root. SPEC.md section 13.9.
#ifndef ZTENSOR_DETAIL_READ_SHARD_TAKING_HPP
#define ZTENSOR_DETAIL_READ_SHARD_TAKING_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/result.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// Defined in shards_definitions.hpp, which reader.hpp includes where object files are not ELF. Elsewhere header-only
// programs have it only if one of their files includes shards.hpp:
// finding shards is 50 KB of code, more than a quarter of all that opening a file takes. The linker knows whether it is
// there, so that readers find shards before main() too, whatever is initialised first. Errors: shard_missing,
// shard_mismatch, what the system says.
#if defined(ZTENSOR_WEAK)
[[nodiscard]] ZTENSOR_WEAK result<void> take_shards(opened_file& opened, const native_path& root);
[[nodiscard]] inline bool can_take_shards() noexcept {
    return &take_shards != nullptr;
}
#else
[[nodiscard]] result<void> take_shards(opened_file& opened, const native_path& root);
[[nodiscard]] constexpr bool can_take_shards() noexcept {
    return true;
}
#endif

/// Puts the shards of a root, if it has any, behind it. Errors: as take_shards(); not_built_in where that is not there.
[[nodiscard]] ZTENSOR_COLD inline result<void> take_shards_of(opened_file& opened, const native_path& root) {
    if (opened.index.shards.empty()) {
        return {};
    }
    if (can_take_shards()) {
        return take_shards(opened, root);
    }
    return fail(errc::not_built_in,
                "the data lies in {} other files, and nothing in this program looks for them: include "
                "<ztensor/shards.hpp> in one of its files",
                {opened.index.shards.size()});
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
