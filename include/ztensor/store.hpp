// SPDX-License-Identifier: MIT
//
// How tensors and components are to be stored. SPEC.md section 6 and section 7.
#ifndef ZTENSOR_STORE_HPP
#define ZTENSOR_STORE_HPP

#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class blob_encoder;

} // namespace detail

/// How one tensor or component is to be stored.
struct store {
    ztensor::encoding encoding_ = ztensor::encoding::raw;
    int zstd_level_ = 0;
    double most_of_raw_ = 0; ///< 0: compressed in any case
    ztensor::digest digest_ = ztensor::digest::none;
    std::string type_;
    bool has_type_ = false;
    bool is_big_endian_ = false;

    // Set by the call that asks for it, so that programs which never ask hold no code for it.
    detail::blob_encoder* (*make_encoder_)(unsigned threads) = nullptr;

    /// Compressed, at a level of 1 (fast, and as small as any for dense weights) to 22; 0 is zstd's own default, and
    /// negative ones, down to libzstd's own least, are faster and leave dense weights as large as they were. What
    /// takes more than 1 MiB becomes independent frames of 1 MiB each, which several threads can read and write.
    store& zstd(int level = 1) noexcept;
    /// The same where that pays: the first MiB, at most, is compressed on trial, and where that takes more than
    /// `most_of_raw` of its size, all of it is stored raw. Dense weights of 16 or 32 bits take about 0.78 to 0.93,
    /// and to read them compressed is about ten times as slow.
    store& zstd_if_smaller(int level = 1, double most_of_raw = 0.95) noexcept;
    /// With a digest of the stored bytes: crc32c or sha256. In version 2 of the decoded ones: sha256 instead of the
    /// xxh3 that every component has there.
    store& digest(ztensor::digest algorithm) noexcept;
    /// With this logical type instead of the element type's own.
    store& type(std::string_view name) { return type_ = name, has_type_ = !name.empty(), *this; }
    /// Most significant byte first: raw data of version 0.1 only.
    store& big_endian(bool value = true) noexcept { return is_big_endian_ = value, *this; }
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/write/store_definitions.hpp>
#endif

#endif
