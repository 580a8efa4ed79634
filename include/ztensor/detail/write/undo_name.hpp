// SPDX-License-Identifier: MIT
//
// What the undo record of a file is called.
#ifndef ZTENSOR_DETAIL_WRITE_UNDO_NAME_HPP
#define ZTENSOR_DETAIL_WRITE_UNDO_NAME_HPP

#include <ztensor/file_path.hpp>

#include <cstdint>
#include <string>
#include <type_traits>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The record of the file of that name: ".ztensor-<16 hex digits>.undo", in the same directory.
[[nodiscard]] ZTENSOR_COLD inline native_path undo_name(const native_path& target) {
    std::uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (const auto unit : target) {
        hash = (hash ^ static_cast<std::uint16_t>(static_cast<std::make_unsigned_t<native_path::value_type>>(unit))) *
               0x100000001b3u;
    }
    std::string name = ".ztensor-";
    for (int digit = 0; digit < 16; ++digit, hash >>= 4) {
        name += "0123456789abcdef"[hash & 15];
    }
    name += ".undo";
    return native_path(name.begin(), name.end());
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
