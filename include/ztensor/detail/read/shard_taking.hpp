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

/// Set before main(), in a program one of whose files includes shards.hpp: finding shards is 50 KB of code, more than a
/// quarter of all that opening a file takes.
inline result<void> (*shard_taking)(opened_file& opened, const native_path& root) = nullptr;

/// Puts the shards of a root, if it has any, behind it. Errors: shard_missing, shard_mismatch, not_built_in
/// where nothing looks for them, what the system says.
[[nodiscard]] ZTENSOR_COLD inline result<void> take_shards_of(opened_file& opened, const native_path& root) {
    if (opened.index.shards.empty()) {
        return {};
    }
    if (shard_taking != nullptr) {
        return shard_taking(opened, root);
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
