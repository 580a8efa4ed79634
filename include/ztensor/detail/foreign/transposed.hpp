// SPDX-License-Identifier: MIT
//
// Elements that lie first dimension fastest, as Fortran has them, put in the order of everything else: made when they
// are read.
#ifndef ZTENSOR_DETAIL_FOREIGN_TRANSPOSED_HPP
#define ZTENSOR_DETAIL_FOREIGN_TRANSPOSED_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/read/assembled_source.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class transposed_elements final : public made_bytes {
public:
    /// They are at `offset` of `source`; their number was found to fit 64 bits, and none of the dimensions, of which
    /// there are at least two, is 0.
    transposed_elements(const byte_source& source, std::uint64_t offset, const shape& dimensions,
                        std::size_t element_bytes, std::uint64_t max_bytes)
        : source_(source), offset_(offset), dimensions_(dimensions), element_bytes_(element_bytes),
          max_bytes_(max_bytes) {}

    [[nodiscard]] result<void> make(span<std::byte> destination) const override {
        byte_buffer stored;
        if (destination.size() > max_bytes_ / 2) { // once as they lie, once as they are wanted
            return fail(
                errc::limit_exceeded,
                "to transpose {} bytes takes twice as many, more than the {} of read_options::max_decoded_bytes",
                {destination.size(), max_bytes_});
        }
        if (!stored.allocate(destination.size())) {
            return fail(errc::out_of_memory, "no memory to transpose {} bytes", {destination.size()});
        }
        ZTENSOR_TRY(source_.read_at(offset_, stored.writable_bytes()));
        switch (element_bytes_) { // the common widths are known when this is compiled
        case 1:
            transpose(width_of<1>(), stored.data(), destination.data());
            break;
        case 2:
            transpose(width_of<2>(), stored.data(), destination.data());
            break;
        case 4:
            transpose(width_of<4>(), stored.data(), destination.data());
            break;
        case 8:
            transpose(width_of<8>(), stored.data(), destination.data());
            break;
        case 16:
            transpose(width_of<16>(), stored.data(), destination.data());
            break;
        default:
            transpose(element_bytes_, stored.data(), destination.data());
        }
        return {};
    }

private:
    template <std::size_t Bytes>
    using width_of = std::integral_constant<std::size_t, Bytes>;

    /// For each index of the dimensions in between, one matrix of the first and the last.
    template <class Width>
    void transpose(Width width, const std::byte* from, std::byte* to) const noexcept {
        const std::size_t rank = dimensions_.rank();
        const auto rows = static_cast<std::size_t>(dimensions_[0]);
        const auto columns = static_cast<std::size_t>(dimensions_[rank - 1]);
        std::size_t between = 1; // elements of all dimensions but the first and the last
        for (std::size_t i = 1; i + 1 < rank; ++i) {
            between *= static_cast<std::size_t>(dimensions_[i]);
        }
        for (std::size_t at = 0; at < between; ++at) { // in the order of what is made
            std::size_t there = 0, stride = 1, left = at, size = between;
            for (std::size_t i = 1; i + 1 < rank; ++i) {
                size /= static_cast<std::size_t>(dimensions_[i]);
                there += left / size * stride;
                left %= size;
                stride *= static_cast<std::size_t>(dimensions_[i]);
            }
            transpose_matrix(width, from + there * rows * width, to + at * columns * width, rows, columns,
                             rows * between, between * columns);
        }
    }

    /// In squares that fit the first-level cache. Strides are in elements.
    template <class Width>
    static void transpose_matrix(Width width, const std::byte* from, std::byte* to, std::size_t rows,
                                 std::size_t columns, std::size_t stride_from, std::size_t stride_to) noexcept {
        constexpr std::size_t side = 32;
        for (std::size_t row = 0; row < rows; row += side) {
            const std::size_t last_row = (std::min)(rows, row + side);
            for (std::size_t column = 0; column < columns; column += side) {
                const std::size_t last_column = (std::min)(columns, column + side);
                for (std::size_t i = row; i < last_row; ++i) {
                    for (std::size_t j = column; j < last_column; ++j) {
                        std::memcpy(to + (i * stride_to + j) * width, from + (i + j * stride_from) * width, width);
                    }
                }
            }
        }
    }

    const byte_source& source_;
    std::uint64_t offset_;
    shape dimensions_;
    std::size_t element_bytes_;
    std::uint64_t max_bytes_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
