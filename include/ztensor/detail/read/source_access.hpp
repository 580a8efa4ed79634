// SPDX-License-Identifier: MIT
//
// Which bytes of a source stay as they are: one room for the difference between memory that somebody lent for reading,
// and a mapped file, which others may write to and cut off.
#ifndef ZTENSOR_DETAIL_READ_SOURCE_ACCESS_HPP
#define ZTENSOR_DETAIL_READ_SOURCE_ACCESS_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/span.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct source_access {
    /// The content where it lies, if what is looked at there twice is the same both times. Else empty: what is to be
    /// checked, hashed or decoded is then read into memory of our own.
    [[nodiscard]] static bytes_view stable_bytes(const byte_source& source) noexcept {
        return is_file(source) ? bytes_view() : source.mapped();
    }
    /// Read by calls of the system, each of which costs as much as copying a few pages.
    [[nodiscard]] static bool is_file(const byte_source& source) noexcept { return source.as_file() != nullptr; }
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
