// SPDX-License-Identifier: MIT
//
// The coordinates of a sparse initializer as sparse_coo has them.
#ifndef ZTENSOR_DETAIL_FOREIGN_ONNX_SPARSE_HPP
#define ZTENSOR_DETAIL_FOREIGN_ONNX_SPARSE_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/foreign/foreign_index.hpp>
#include <ztensor/detail/read/assembled_source.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Indices are i64: one for each value, which counts through the dense tensor, or one for each value and dimension. A
/// negative one becomes a coordinate beyond any shape, and a linear one beyond the tensor a first coordinate that is.
class onnx_coordinates final : public made_bytes {
public:
    onnx_coordinates(const byte_source& source, const foreign_component& indices, std::vector<std::uint64_t> dimensions,
                     bool is_linear, std::uint64_t max_bytes)
        : source_(source), offset_(indices.offset), length_(indices.length), dimensions_(std::move(dimensions)),
          is_linear_(is_linear), max_bytes_(max_bytes) {}

    [[nodiscard]] result<void> make(span<std::byte> destination) const override {
        byte_buffer indices;
        if (destination.size() > max_bytes_ || length_ > max_bytes_ - destination.size()) {
            return fail(errc::limit_exceeded, "the indices take {} bytes, more than the {} allowed",
                        {length_, max_bytes_});
        }
        if (!fits_address_space(length_) || !indices.allocate(static_cast<std::size_t>(length_))) {
            return fail(errc::out_of_memory, "no memory for indices of {} bytes", {length_});
        }
        ZTENSOR_TRY(source_.read_at(offset_, indices.writable_bytes()));
        const std::size_t rank = dimensions_.size();
        const std::size_t count = rank == 0 ? 0 : destination.size() / 8 / rank;
        for (std::size_t i = 0; i < count; ++i) {
            std::uint64_t rest = is_linear_ ? load_little_64(indices.data() + i * 8) : 0;
            for (std::size_t dimension = rank; dimension-- != 0;) {
                std::uint64_t coordinate = rest;
                if (!is_linear_) {
                    coordinate = load_little_64(indices.data() + (i * rank + dimension) * 8);
                } else if (dimension != 0 && dimensions_[dimension] != 0) {
                    coordinate = rest % dimensions_[dimension];
                    rest /= dimensions_[dimension];
                }
                store_little(coordinate, destination.data() + (dimension * count + i) * 8, 8);
            }
        }
        return {};
    }

private:
    const byte_source& source_;
    std::uint64_t offset_;
    std::uint64_t length_;
    std::vector<std::uint64_t> dimensions_;
    bool is_linear_;
    std::uint64_t max_bytes_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
