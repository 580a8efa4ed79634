// SPDX-License-Identifier: MIT
//
// Elements that lie in a storage at strides: whether they are in row-major order without gaps, else gathered when they
// are read.
#ifndef ZTENSOR_DETAIL_FOREIGN_STRIDED_HPP
#define ZTENSOR_DETAIL_FOREIGN_STRIDED_HPP

#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/read/assembled_source.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Sizes and strides in elements, outermost first, as many of one as of the other.
struct strided_shape {
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint64_t> strides;

    [[nodiscard]] bool is_empty() const noexcept {
        for (const std::uint64_t size : sizes) {
            if (size == 0) {
                return true;
            }
        }
        return false;
    }

    /// Nothing if 64 bits can't count them.
    [[nodiscard]] std::optional<std::uint64_t> count() const noexcept {
        std::optional<std::uint64_t> elements = is_empty() ? 0 : 1;
        for (std::size_t i = 0; elements && i < sizes.size(); ++i) {
            elements = checked_multiply(*elements, sizes[i]);
        }
        return elements;
    }

    /// Elements of storage from the first that is used to the last. Nothing if 64 bits can't count them.
    [[nodiscard]] std::optional<std::uint64_t> reach() const noexcept {
        if (is_empty()) {
            return 0;
        }
        std::optional<std::uint64_t> last = 0;
        for (std::size_t i = 0; last && i < sizes.size(); ++i) {
            const std::optional<std::uint64_t> way = checked_multiply(sizes[i] - 1, strides[i]);
            last = way ? checked_add(*last, *way) : std::nullopt;
        }
        return last ? checked_add(*last, 1) : std::nullopt;
    }

    /// In row-major order without gaps. Checked before: they can be counted.
    [[nodiscard]] bool is_contiguous() const noexcept {
        std::uint64_t expected = 1;
        for (std::size_t i = sizes.size(); i-- != 0;) {
            if (sizes[i] > 1 && strides[i] != expected) {
                return is_empty();
            }
            expected *= sizes[i] != 0 ? sizes[i] : 1;
        }
        return true;
    }
};

class gathered_elements final : public made_bytes {
public:
    /// Checked before: from `offset` of `source` on lie shape.reach() elements, of which none is missing; there is at
    /// least one, and their number fits 64 bits. No more than `max_bytes` are held at once, `destination` included.
    gathered_elements(const assembled_source& source, std::uint64_t offset, strided_shape shape,
                      std::size_t element_bytes, std::uint64_t max_bytes)
        : source_(source), offset_(offset), shape_(std::move(shape)), element_bytes_(element_bytes),
          max_bytes_(max_bytes) {}

    [[nodiscard]] result<void> make(span<std::byte> destination) const override {
        const std::uint64_t reach = *shape_.reach() * element_bytes_;
        if (destination.size() > max_bytes_) {
            return too_much(destination.size());
        }
        ZTENSOR_TRY_ASSIGN(const std::optional<assembled_source::lent_bytes> lent,
                           source_.lend(offset_, reach, max_bytes_ - destination.size()));
        if (lent) {
            return gather_from(lent->bytes, destination);
        }
        // Elements that lie close together are read at once, others in windows: the work is that of what is made.
        constexpr std::uint64_t most_gaps = 16;
        if (reach / most_gaps > destination.size()) {
            return gather_by_windows(destination);
        }
        byte_buffer storage;
        if (reach > max_bytes_ - destination.size()) {
            return too_much(reach);
        }
        if (!fits_address_space(reach) || !storage.allocate(static_cast<std::size_t>(reach))) {
            return fail(errc::out_of_memory, "no memory for {} bytes of storage", {reach});
        }
        ZTENSOR_TRY(source_.read_at(offset_, storage.writable_bytes()));
        return gather_from(storage.bytes(), destination);
    }

private:
    [[nodiscard]] error too_much(std::uint64_t bytes) const {
        return fail(errc::limit_exceeded,
                    "the elements lie in {} bytes of storage, more than read_options::max_decoded_bytes, {}, leaves",
                    {bytes, max_bytes_});
    }

    [[nodiscard]] result<void> gather_from(bytes_view storage, span<std::byte> destination) const {
        const std::byte* const begin = storage.data();
        static_cast<void>(
            gather(destination, [begin](std::uint64_t at) { return begin + static_cast<std::size_t>(at); }));
        return {};
    }

    [[nodiscard]] result<void> gather_by_windows(span<std::byte> destination) const {
        const std::uint64_t reach = *shape_.reach() * element_bytes_;
        std::array<std::byte, 4096> window;
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        result<void> read;
        const auto find = [&](std::uint64_t at) -> const std::byte* {
            if (at < begin || at + element_bytes_ > end) {
                begin = at;
                end = at + (std::min<std::uint64_t>)(window.size(), reach - at);
                read = source_.read_at(offset_ + begin, {window.data(), static_cast<std::size_t>(end - begin)});
            }
            return read ? window.data() + static_cast<std::size_t>(at - begin) : nullptr;
        };
        return gather(destination, find) ? result<void>() : std::move(read);
    }

    template <class Find>
    [[nodiscard]] bool gather(span<std::byte> destination, const Find& find) const {
        switch (element_bytes_) {
        case 1:
            return gather<1>(destination, find);
        case 2:
            return gather<2>(destination, find);
        case 4:
            return gather<4>(destination, find);
        case 8:
            return gather<8>(destination, find);
        default:
            return gather<16>(destination, find);
        }
    }

    /// Row after row of the last dimension; `index` counts through the others. `find` gives the element that lies at a
    /// byte of the storage; false if it gives none.
    template <std::size_t Width, class Find>
    [[nodiscard]] bool gather(span<std::byte> destination, const Find& find) const {
        const std::size_t others = shape_.sizes.size() - 1; // a scalar is contiguous, so there is a last one
        const auto row_elements = static_cast<std::size_t>(shape_.sizes[others]);
        const std::uint64_t step = shape_.strides[others] * Width;
        std::vector<std::uint64_t> index(others);
        std::byte* to = destination.data();
        std::byte* const end = to + destination.size();
        std::uint64_t row = 0; // where it starts in the storage
        while (to != end) {
            for (std::size_t i = 0; i < row_elements; ++i, to += Width) {
                const std::byte* const from = find(row + i * step);
                if (from == nullptr) {
                    return false;
                }
                std::memcpy(to, from, Width);
            }
            for (std::size_t i = others; i-- != 0;) {
                const std::uint64_t stride = shape_.strides[i] * Width;
                if (++index[i] != shape_.sizes[i]) {
                    row += stride;
                    break;
                }
                row -= stride * (index[i] - 1);
                index[i] = 0;
            }
        }
        return true;
    }

    const assembled_source& source_;
    std::uint64_t offset_;
    strided_shape shape_;
    std::size_t element_bytes_;
    std::uint64_t max_bytes_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
