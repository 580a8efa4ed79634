// SPDX-License-Identifier: MIT
//
// Elements of four bits, two to a byte: which they are and what they are worth, without making numbers of all of them.
// SPEC.md section 13.5.
#ifndef ZTENSOR_PACKED_HPP
#define ZTENSOR_PACKED_HPP

#include <ztensor/component_view.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// The elements of a component of logical type f4_e2m1 (or f4, which is the same), where they lie. Borrowed from the
/// reader.
class packed_view {
public:
    /// Errors: unsupported_type (other elements), not_viewable (compressed, or not in memory),
    /// size_mismatch, bad_padding.
    static result<packed_view> from(const component_view& component);

    /// How many elements there are; bytes() has half as many, rounded up.
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    /// Two elements to a byte, the first in the low half.
    [[nodiscard]] bytes_view bytes() const noexcept { return bytes_; }
    /// The four bits of element `position`, which is below size().
    [[nodiscard]] std::uint8_t operator[](std::uint64_t position) const noexcept {
        const auto pair = std::to_integer<unsigned>(bytes_[static_cast<std::size_t>(position / 2)]);
        return static_cast<std::uint8_t>(pair >> position % 2 * 4 & 15);
    }
    /// What they stand for: +/-0, 0.5, 1, 1.5, 2, 3, 4 or 6.
    [[nodiscard]] float value(std::uint64_t position) const noexcept;

private:
    packed_view(bytes_view packed, std::uint64_t size) noexcept : bytes_(packed), size_(size) {}

    bytes_view bytes_;
    std::uint64_t size_;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/read/packed_definitions.hpp>
#endif

#endif
