// SPDX-License-Identifier: MIT
//
// Many bytes of a source on their way into memory: from where they lie, if they stay as they are, else by reads.
#ifndef ZTENSOR_DETAIL_READ_BULK_HPP
#define ZTENSOR_DETAIL_READ_BULK_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/os/past_cache.hpp>
#include <ztensor/detail/read/source_access.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// From so many bytes on copying from a mapping pays: each page that is looked at for the first time costs a fault.
inline constexpr std::size_t bulk_bytes = std::size_t{1} << 20;

/// A range of a file where it lies, if it is much and stays as it is; else nothing. Errors: what the source says.
[[nodiscard]] inline result<std::optional<bytes_view>> find_stable_bulk(const byte_source& source, std::uint64_t offset,
                                                                        std::size_t size) {
    if (size < bulk_bytes || !source_access::is_file(source)) {
        return std::optional<bytes_view>();
    }
    return source_access::find_stable_range(source, offset, size);
}

/// As byte_source::read_at(), for bytes that are not looked at soon. What stays as it is in a mapped file is copied
/// from there. What has to be read takes 0.85 of the time where the pages of new memory come beforehand.
[[nodiscard]] inline result<void> read_bulk(const byte_source& source, std::uint64_t offset,
                                            span<std::byte> destination) {
    ZTENSOR_TRY_ASSIGN(const std::optional<bytes_view> stable, find_stable_bulk(source, offset, destination.size()));
    if (stable) {
        copy_much(*stable, destination, destination.size() >= past_cache_bytes);
        return {};
    }
    while (destination.size() > bulk_bytes && is_untouched(destination)) {
        const span<std::byte> piece = destination.first((std::min)(destination.size(), huge_page_bytes));
        make_pages(piece);
        ZTENSOR_TRY(source.read_at(offset, piece));
        offset += piece.size();
        destination = destination.subspan(piece.size());
    }
    return destination.empty() ? result<void>() : source.read_at(offset, destination);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
