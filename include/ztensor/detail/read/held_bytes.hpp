// SPDX-License-Identifier: MIT
//
// Bytes used where they lie, which nobody changes meanwhile: memory that was lent for reading, or a mapped file under a
// lease.
#ifndef ZTENSOR_DETAIL_READ_HELD_BYTES_HPP
#define ZTENSOR_DETAIL_READ_HELD_BYTES_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/os/past_cache.hpp>
#include <ztensor/detail/read/source_access.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A range of a source, or nothing where it can't be held. For moments, without calling what is not ours: of a file
/// others wait for their turn to write.
class held_bytes {
public:
    held_bytes() noexcept = default;
    held_bytes(const byte_source& source, std::uint64_t offset, std::uint64_t length) noexcept
        : source_(&source), offset_(offset), bytes_(source_access::hold(source, offset, length)) {}
    held_bytes(const held_bytes&) = delete;
    held_bytes& operator=(const held_bytes&) = delete;
    ~held_bytes() {
        if (bytes_) {
            source_access::let_go(*source_, offset_);
        }
    }

    [[nodiscard]] explicit operator bool() const noexcept { return bytes_.has_value(); }
    [[nodiscard]] bytes_view operator*() const noexcept { return *bytes_; }
    [[nodiscard]] const std::optional<bytes_view>& range() const noexcept { return bytes_; }

private:
    const byte_source* source_ = nullptr;
    std::uint64_t offset_ = 0;
    std::optional<bytes_view> bytes_;
};

/// As byte_source::read_at(), for bytes that are not looked at soon. What lies in memory as part of a mapped file is
/// copied from there: with a std::vector as destination in half of the time that the system takes, in 0.7 of it with
/// memory aligned like the file (256 MiB, Zen 4; a Xeon takes 0.75), and in 0.8 with memory that is new. What has to be
/// read takes 0.85 of the time where the pages of new memory come beforehand.
[[nodiscard]] inline result<void> read_bulk(const byte_source& source, std::uint64_t offset,
                                            span<std::byte> destination) {
    constexpr std::size_t few_bytes = std::size_t{1} << 20;
    constexpr std::size_t piece_bytes = std::size_t{8} << 20;
    const bool is_large = destination.size() >= past_cache_bytes;
    while (destination.size() >= few_bytes && source_access::is_file(source)) {
        const span<std::byte> piece = destination.first((std::min)(destination.size(), piece_bytes));
        const held_bytes held(source, offset, piece.size());
        if (!held) {
            break;
        }
        copy_much(*held, piece, is_large);
        offset += piece.size();
        destination = destination.subspan(piece.size());
    }
    while (destination.size() > few_bytes && is_untouched(destination)) {
        const span<std::byte> piece = destination.first((std::min)(destination.size(), huge_page_bytes));
        make_pages(piece);
        if (result<void> read = source.read_at(offset, piece); !read) {
            return read;
        }
        offset += piece.size();
        destination = destination.subspan(piece.size());
    }
    return destination.empty() ? result<void>() : source.read_at(offset, destination);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
