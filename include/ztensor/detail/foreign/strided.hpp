// SPDX-License-Identifier: MIT
//
// Elements that lie in a storage at strides: whether they are in row-major order without gaps, else gathered when they
// are read.
#ifndef ZTENSOR_DETAIL_FOREIGN_STRIDED_HPP
#define ZTENSOR_DETAIL_FOREIGN_STRIDED_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/read/assembled_source.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
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
    /// least one, and their number fits 64 bits.
    gathered_elements(const byte_source& source, std::uint64_t offset, strided_shape shape, std::size_t element_bytes,
                      std::uint64_t max_bytes)
        : source_(source), offset_(offset), shape_(std::move(shape)), element_bytes_(element_bytes),
          max_bytes_(max_bytes) {}

    [[nodiscard]] result<void> make(span<std::byte> destination) const override {
        const std::uint64_t reach = *shape_.reach() * element_bytes_;
        byte_buffer storage;
        if (reach > max_bytes_) {
            return fail(errc::limit_exceeded,
                        "the elements lie in {} bytes of storage, more than the {} of read_options::max_decoded_bytes",
                        {reach, max_bytes_});
        }
        if (!fits_address_space(reach) || !storage.allocate(static_cast<std::size_t>(reach))) {
            return fail(errc::out_of_memory, "no memory for {} bytes of storage", {reach});
        }
        if (result<void> read = source_.read_at(offset_, storage.writable_bytes()); !read) {
            return read;
        }
        switch (element_bytes_) {
        case 1:
            gather<1>(storage.data(), destination);
            break;
        case 2:
            gather<2>(storage.data(), destination);
            break;
        case 4:
            gather<4>(storage.data(), destination);
            break;
        case 8:
            gather<8>(storage.data(), destination);
            break;
        default:
            gather<16>(storage.data(), destination);
        }
        return {};
    }

private:
    /// Row after row of the last dimension; `index` counts through the others.
    template <std::size_t Width>
    void gather(const std::byte* storage, span<std::byte> destination) const {
        const std::size_t others = shape_.sizes.size() - 1; // a scalar is contiguous, so there is a last one
        const auto row_elements = static_cast<std::size_t>(shape_.sizes[others]);
        const auto step = static_cast<std::size_t>(shape_.strides[others]) * Width;
        std::vector<std::uint64_t> index(others);
        std::byte* to = destination.data();
        std::byte* const end = to + destination.size();
        std::size_t row = 0; // where it starts in the storage
        while (to != end) {
            const std::byte* from = storage + row;
            for (std::size_t i = 0; i < row_elements; ++i, to += Width) {
                std::memcpy(to, from + i * step, Width);
            }
            for (std::size_t i = others; i-- != 0;) {
                const auto stride = static_cast<std::size_t>(shape_.strides[i]) * Width;
                if (++index[i] != shape_.sizes[i]) {
                    row += stride;
                    break;
                }
                row -= stride * static_cast<std::size_t>(index[i] - 1);
                index[i] = 0;
            }
        }
    }

    const byte_source& source_;
    std::uint64_t offset_;
    strided_shape shape_;
    std::size_t element_bytes_;
    std::uint64_t max_bytes_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
