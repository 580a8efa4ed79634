// SPDX-License-Identifier: MIT
//
// Which bytes of a source stay as they are: one room for the difference between memory that somebody lent for reading,
// and a mapped file, which others may write to and cut off.
#ifndef ZTENSOR_DETAIL_READ_SOURCE_ACCESS_HPP
#define ZTENSOR_DETAIL_READ_SOURCE_ACCESS_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/span.hpp>

#include <cstdint>
#include <optional>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct source_access {
    /// The range where it lies, if what is looked at there twice is the same both times. Else nothing: what is to be
    /// checked, hashed or decoded is then read into memory of our own.
    [[nodiscard]] static std::optional<bytes_view> stable_range(const byte_source& source, std::uint64_t offset,
                                                                std::uint64_t length) noexcept {
        return source.range_in_memory(offset, length, true);
    }
    /// The range where it lies, which may be a mapped file.
    [[nodiscard]] static std::optional<bytes_view> mapped_range(const byte_source& source, std::uint64_t offset,
                                                                std::uint64_t length) noexcept {
        return source.range_in_memory(offset, length, false);
    }
    /// The range where it lies, if nobody changes it or takes it away before let_go(); else nothing. See held_bytes.
    [[nodiscard]] static std::optional<bytes_view> hold(const byte_source& source, std::uint64_t offset,
                                                        std::uint64_t length) noexcept {
        return source.hold(offset, length);
    }
    static void let_go(const byte_source& source, std::uint64_t offset) noexcept { source.let_go(offset); }
    /// Something of it can be viewed.
    [[nodiscard]] static bool is_mapped(const byte_source& source) noexcept {
        return source.size() != 0 && mapped_range(source, 0, 1);
    }
    /// The file that all bytes lie in, at the same offsets; null if there is none.
    [[nodiscard]] static const file* file_of(const byte_source& source) noexcept { return source.as_file(); }
    /// Which file it is, if it is one that is not always open.
    [[nodiscard]] static bool identify(const byte_source& source, std::uint64_t& device,
                                       std::uint64_t& file_id) noexcept {
        return source.identify(device, file_id);
    }
    /// Read by calls of the system, each of which costs as much as copying a few pages.
    [[nodiscard]] static bool is_file(const byte_source& source) noexcept { return source.reads_files(); }
    /// Better read in one piece than in several.
    [[nodiscard]] static bool is_made(const byte_source& source, std::uint64_t offset, std::uint64_t length) noexcept {
        return source.is_made(offset, length);
    }
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
