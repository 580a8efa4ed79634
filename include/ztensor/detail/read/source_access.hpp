// SPDX-License-Identifier: MIT
//
// Which bytes of a source stay as they are: the one place for the difference between memory that was lent for reading,
// or a file of which the caller promised it, and another mapped file, which others may write to and cut off.
#ifndef ZTENSOR_DETAIL_READ_SOURCE_ACCESS_HPP
#define ZTENSOR_DETAIL_READ_SOURCE_ACCESS_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Between two ranges of a file: a call takes as long as reading so much into memory that the cache keeps.
inline constexpr std::uint64_t most_gap_bytes = std::uint64_t{8} << 10;

struct source_access {
    /// The range where it lies, if what is looked at there twice is the same both times. Else nothing: what is to be
    /// checked, hashed or decoded is then read into memory of our own.
    [[nodiscard]] static std::optional<bytes_view> stable_range(const byte_source& source, std::uint64_t offset,
                                                                std::uint64_t length) noexcept {
        return source.range_in_memory(offset, length, true);
    }
    /// The same, if the source says that all of it is still there. Errors: those of byte_source::check_unchanged().
    [[nodiscard]] static result<std::optional<bytes_view>>
    find_stable_range(const byte_source& source, std::uint64_t offset, std::uint64_t length) {
        const std::optional<bytes_view> range = stable_range(source, offset, length);
        ZTENSOR_TRY(range ? source.check_unchanged() : result<void>());
        return range;
    }
    /// The range where it lies, which may be a mapped file.
    [[nodiscard]] static std::optional<bytes_view> mapped_range(const byte_source& source, std::uint64_t offset,
                                                                std::uint64_t length) noexcept {
        return source.range_in_memory(offset, length, false);
    }
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
