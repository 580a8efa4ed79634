// SPDX-License-Identifier: MIT
//
// What a writer is asked for, before anything is touched.
#ifndef ZTENSOR_DETAIL_WRITE_OPTIONS_CHECK_HPP
#define ZTENSOR_DETAIL_WRITE_OPTIONS_CHECK_HPP

#include <ztensor/detail/codec/xxh3.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/manifest/write.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Errors: invalid_argument; not_expressible (shards before version 2); unsupported_digest (version 2, in a build
/// without xxHash).
[[nodiscard]] ZTENSOR_COLD inline result<void> check_options(const write_options& options) {
    constexpr std::uint64_t max_alignment_bytes = std::uint64_t{1} << 30;
    if (options.version_ > format_version::v2) { // made of a number
        return fail(errc::invalid_argument, "there is no format version of number {}",
                    {static_cast<unsigned>(options.version_)});
    }
    const bool is_version_2 = options.version_ == format_version::v2;
    if (is_version_2 != (options.ways_of_2_ != nullptr)) {
        return fail(errc::invalid_argument, "options are told of their version by write_options::version() alone");
    }
    const std::uint64_t least = is_version_2 ? blob_alignment_2 : blob_alignment;
    const std::uint64_t alignment = options.alignment_bytes_.value_or(least);
    if (!is_power_of_two(alignment) || alignment < least || alignment > max_alignment_bytes) {
        return fail(errc::invalid_argument, "an alignment of {} bytes is not a power of two from {} to 1 GiB",
                    {alignment, least});
    }
    if (options.shard_bytes_ != 0 && !is_version_2) {
        return not_expressible(options.version_, "shards");
    }
    const bool has_digest = options.shard_digest_ == digest::xxh3 || options.shard_digest_ == digest::sha256;
    if (options.shard_bytes_ != 0 && (!has_digest || options.make_shard_digester_ == nullptr)) {
        return fail(errc::invalid_argument, "shards have digests of xxh3 or sha256, and of nothing else");
    }
    return is_version_2 ? require_xxh3() : result<void>();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
