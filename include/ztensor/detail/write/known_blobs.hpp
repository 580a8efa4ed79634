// SPDX-License-Identifier: MIT
//
// Which blobs a file being written has already: by what is in them, or by where they were copied from. The tables are
// ordered maps, because a hostile file may choose both and must not be able to make a look-up slow.
// SPEC.md section 8, section 13.
#ifndef ZTENSOR_DETAIL_WRITE_KNOWN_BLOBS_HPP
#define ZTENSOR_DETAIL_WRITE_KNOWN_BLOBS_HPP

#include <ztensor/version.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Where a blob lies.
struct blob_position {
    std::uint64_t offset;
    std::uint32_t shard; ///< its number; 0, the file itself
};

/// The XXH3 and the length of what a blob holds: the same for the same bytes, and hardly ever for others.
using blob_identity = std::array<std::uint64_t, 2>;
/// The blobs of a file of version 2. Of blobs that collide, the first is known.
using shared_blobs = std::map<blob_identity, blob_position>;

/// A blob of another file: the address of the source, the offset and the length.
using blob_place = std::array<std::uint64_t, 3>;
/// Blobs of other files, and where they have been copied to: what is one blob there stays one.
struct copied_blobs {
    std::map<blob_place, blob_position> positions;
    std::set<std::pair<blob_place, std::string>> checked; ///< with the encoding and the digest that were compared
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
