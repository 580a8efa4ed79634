// SPDX-License-Identifier: MIT
//
// What the undo record of a file is called.
#ifndef ZTENSOR_DETAIL_WRITE_UNDO_NAME_HPP
#define ZTENSOR_DETAIL_WRITE_UNDO_NAME_HPP

#include <ztensor/file_path.hpp>

#include <ztensor/detail/os/calls.hpp>
#include <ztensor/detail/os/system.hpp>

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

/// Whether recover() obeys an undo record with that status for the file with the other: the record belongs to the owner
/// of the file, to root, or to this process, and no more people can write to it than to the file. A record of anybody
/// else would tell us to write his bytes: in a folder of several people, such as /tmp, anybody can put one there.
[[nodiscard]] inline bool is_trusted_record(const file_status& record, const file_status& file) noexcept {
    constexpr std::uint32_t root = 0;
    constexpr std::uint32_t writable_by_others = 0022;
    return (record.owner == file.owner || record.owner == root || record.owner == process_user()) &&
           (record.permissions & writable_by_others & ~file.permissions) == 0;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
