// SPDX-License-Identifier: MIT
//
// Defines what store.hpp declares.
#ifndef ZTENSOR_DETAIL_WRITE_STORE_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_WRITE_STORE_DEFINITIONS_HPP

#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/options.hpp>
#include <ztensor/store.hpp>

#include <cstdint>
#include <new>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Null where memory runs out.
[[nodiscard]] inline blob_encoder* make_zstd_frames(unsigned threads) {
    return new (std::nothrow) zstd_frames(threads);
}
} // namespace detail

ZTENSOR_INLINE store& store::zstd(int level) noexcept {
    encoding_ = ztensor::encoding::zstd;
    zstd_level_ = level;
    most_of_raw_ = 0;
    make_encoder_ = detail::make_zstd_frames;
    return *this;
}

ZTENSOR_INLINE store& store::zstd_if_smaller(int level, double most_of_raw) noexcept {
    zstd(level);
    most_of_raw_ = most_of_raw;
    return *this;
}

ZTENSOR_INLINE store& store::digest(ztensor::digest algorithm) noexcept {
    digest_ = algorithm;
    return *this;
}

ZTENSOR_INLINE write_options& write_options::shard_bytes(std::uint64_t most_bytes, ztensor::digest of_shards) noexcept {
    shard_bytes_ = most_bytes;
    shard_digest_ = of_shards;
    return *this;
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
