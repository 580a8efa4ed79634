// SPDX-License-Identifier: MIT
//
// Finds the shards of a root and puts them behind it. Defines what shard_taking.hpp declares. SPEC.md section 13.9.
#ifndef ZTENSOR_DETAIL_READ_SHARDS_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_SHARDS_DEFINITIONS_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/shard_finder.hpp>
#include <ztensor/detail/read/shard_taking.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/result.hpp>

#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

ZTENSOR_COLD ZTENSOR_INLINE result<void> take_shards(opened_file& opened, const native_path& root) {
    result<std::shared_ptr<const byte_source>> all = shard_finder(opened, root).assemble();
    if (!all) {
        return std::move(all).error();
    }
    opened.source = *std::move(all);
    return {};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
