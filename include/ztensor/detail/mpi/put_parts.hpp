// SPDX-License-Identifier: MIT
//
// Parts of a tensor that ranks write: the runs of bytes that they are of, their sums, and whether two of them meet.
#ifndef ZTENSOR_DETAIL_MPI_PUT_PARTS_HPP
#define ZTENSOR_DETAIL_MPI_PUT_PARTS_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/crc32.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- runs

/// A part of a tensor: a range in every dimension.
struct tensor_part {
    shape begins;
    shape ends;
    int rank = 0; ///< that wrote it

    [[nodiscard]] uint64_t elements() const noexcept {
        uint64_t count = 1;
        for (size_t i = 0; i < begins.rank(); ++i) {
            count *= ends[i] - begins[i];
        }
        return count;
    }
    [[nodiscard]] bool meets(const tensor_part& other) const noexcept {
        for (size_t i = 0; i < begins.rank(); ++i) {
            if (begins[i] >= other.ends[i] || other.begins[i] >= ends[i]) {
                return false;
            }
        }
        return true;
    }
};

/// Calls `take(first, size) -> result<void>` for the runs of bytes that a part takes in its tensor, in ascending order.
template <class Take>
result<void> for_each_run(const shape& dimensions, const tensor_part& part, uint64_t element_bytes, const Take& take) {
    if (part.elements() == 0) {
        return {};
    }
    size_t outer = dimensions.rank(); // the dimensions before it are walked through
    uint64_t run_bytes = element_bytes;
    bool is_full = true;
    while (outer > 0 && is_full) {
        --outer;
        run_bytes *= part.ends[outer] - part.begins[outer];
        is_full = part.begins[outer] == 0 && part.ends[outer] == dimensions[outer];
    }
    vector<uint64_t> index(part.begins.begin(), part.begins.end());
    for (;;) {
        uint64_t place = 0;
        for (size_t i = 0; i < dimensions.rank(); ++i) {
            place = place * dimensions[i] + index[i];
        }
        ZTENSOR_TRY(take(place * element_bytes, run_bytes));
        size_t i = outer;
        for (; i > 0 && ++index[i - 1] == part.ends[i - 1]; --i) {
            index[i - 1] = part.begins[i - 1];
        }
        if (i == 0) {
            return {};
        }
    }
}

/// The CRC-32C of bytes that come in ascending order with gaps of zeros between them, as what they add to the sum of
/// all: sums of several such are combined by xor.
class crc_of_runs {
public:
    void take(uint64_t first, bytes_view run) noexcept {
        move_to(first + run.size());
        sum_ ^= crc32c_update(0, run);
    }
    [[nodiscard]] uint32_t finish(uint64_t all_bytes) noexcept {
        move_to(all_bytes);
        return sum_;
    }

private:
    void move_to(uint64_t end) noexcept {
        if (end - end_ != distance_) { // of columns it is the same each time
            distance_ = end - end_;
            power_ = crc32c_power(8 * distance_);
        }
        sum_ = crc32c_multiply(power_, sum_);
        end_ = end;
    }

    uint32_t sum_ = 0;
    uint64_t end_ = 0;
    uint64_t distance_ = 0;
    uint32_t power_ = crc32c_power(0);
};

/// Two parts that share an element, if any do: a sweep along the dimension in which the most begin at different places.
[[nodiscard]] ZTENSOR_COLD inline optional<std::pair<tensor_part, tensor_part>> find_overlap(vector<tensor_part> parts,
                                                                                             size_t rank) {
    size_t along = 0;
    size_t most = 0;
    for (size_t i = 0; i < rank; ++i) {
        std::set<uint64_t> begins;
        for (const tensor_part& each : parts) {
            begins.insert(each.begins[i]);
        }
        along = begins.size() > most ? i : along;
        most = (std::max)(most, begins.size());
    }
    const auto begin_of = [&](const tensor_part& each) { return rank != 0 ? each.begins[along] : 0; };
    std::sort(parts.begin(), parts.end(),
              [&](const tensor_part& a, const tensor_part& b) { return begin_of(a) < begin_of(b); });
    vector<const tensor_part*> open;
    for (const tensor_part& each : parts) {
        open.erase(
            std::remove_if(open.begin(), open.end(),
                           [&](const tensor_part* one) { return rank != 0 && one->ends[along] <= begin_of(each); }),
            open.end());
        for (const tensor_part* const one : open) {
            if (one->meets(each)) {
                return std::pair(*one, each);
            }
        }
        open.push_back(&each);
    }
    return std::nullopt;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
