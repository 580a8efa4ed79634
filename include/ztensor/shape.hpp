// SPDX-License-Identifier: MIT
//
// The dimensions of an object: a small value, never an allocation.
#ifndef ZTENSOR_SHAPE_HPP
#define ZTENSOR_SHAPE_HPP

#include <ztensor/detail/core/checked.hpp>
#include <ztensor/span.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// No object has more dimensions (SPEC.md §3.3).
inline constexpr std::size_t max_rank = 64;

namespace detail {

/// Multiplies dimensions as they come. A zero makes the product zero, but hides no overflow of the others.
class element_counter {
public:
    /// False if the product of the dimensions so far that are not zero needs more than 64 bits.
    [[nodiscard]] bool multiply(std::uint64_t dimension) noexcept {
        if (dimension == 0) {
            has_zero_ = true;
            return true;
        }
        const std::optional<std::uint64_t> next = checked_multiply(product_, dimension);
        product_ = next.value_or(product_);
        return next.has_value();
    }
    [[nodiscard]] std::uint64_t count() const noexcept { return has_zero_ ? 0 : product_; }

private:
    std::uint64_t product_ = 1;
    bool has_zero_ = false;
};

} // namespace detail

/// Up to 64 dimensions, outermost first (row-major order). A scalar has none and one element.
/// A shape made from more than 64 dimensions is too_long(), and every call that takes one refuses it.
class shape {
public:
    shape() noexcept = default;
    shape(std::initializer_list<std::uint64_t> dimensions) noexcept
        : shape(span<const std::uint64_t>(dimensions.begin(), dimensions.size())) {}
    explicit shape(span<const std::uint64_t> dimensions) noexcept : shape() {
        for (const std::uint64_t dimension : dimensions) {
            push_back(dimension);
        }
    }

    void push_back(std::uint64_t dimension) noexcept {
        if (rank_ == max_rank) {
            too_long_ = true;
            return;
        }
        dimensions_[rank_++] = dimension;
    }

    /// Number of dimensions.
    [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
    [[nodiscard]] std::size_t size() const noexcept { return rank_; }
    [[nodiscard]] bool empty() const noexcept { return rank_ == 0; }
    [[nodiscard]] bool too_long() const noexcept { return too_long_; }
    /// The i-th dimension, i < rank().
    [[nodiscard]] std::uint64_t operator[](std::size_t i) const noexcept { return dimensions_[i]; }
    [[nodiscard]] const std::uint64_t* data() const& noexcept { return dimensions_.data(); }
    [[nodiscard]] const std::uint64_t* begin() const& noexcept { return data(); }
    [[nodiscard]] const std::uint64_t* end() const& noexcept { return data() + rank_; }
    // Borrowing from a shape that is about to die, as object_view::shape() gives one: keep it in a variable. A loop
    // over it keeps it by itself.
    const std::uint64_t* data() const&& = delete;
    const std::uint64_t* begin() const&& = delete;
    const std::uint64_t* end() const&& = delete;

    /// Product of the dimensions, or nothing where the product of those that are not zero needs more than 64 bits:
    /// a zero hides no overflow of the others (SPEC.md §4.3).
    [[nodiscard]] std::optional<std::uint64_t> element_count() const noexcept {
        detail::element_counter counter;
        for (const std::uint64_t dimension : *this) {
            if (!counter.multiply(dimension)) {
                return std::nullopt;
            }
        }
        return counter.count();
    }

    friend bool operator==(const shape& a, const shape& b) noexcept {
        bool is_equal = a.rank_ == b.rank_;
        for (std::size_t i = 0; is_equal && i < a.rank_; ++i) {
            is_equal = a.dimensions_[i] == b.dimensions_[i];
        }
        return is_equal;
    }
    friend bool operator!=(const shape& a, const shape& b) noexcept { return !(a == b); }

private:
    std::array<std::uint64_t, max_rank> dimensions_{};
    std::size_t rank_ = 0;
    bool too_long_ = false;
};

/// "[1024, 768]"
[[nodiscard]] std::string to_string(const shape& dimensions);

template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const shape& dimensions) {
    return out << to_string(dimensions);
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/core/shape_definitions.hpp>
#endif

#endif
