// SPDX-License-Identifier: MIT
//
// The dimensions of an object: a small value, without an allocation for as many as tensors have.
#ifndef ZTENSOR_SHAPE_HPP
#define ZTENSOR_SHAPE_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

class expected_shape;

/// No object has more dimensions (SPEC.md section 3.3).
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

struct shape_access;

/// What keeps a shape from being one.
enum class shape_flaw : std::uint8_t { none, too_long, negative, no_memory };

/// True for iterators over integers.
template <class Iterator, class = void>
inline constexpr bool gives_integers_v = false;
template <class Iterator>
inline constexpr bool gives_integers_v<Iterator, std::void_t<decltype(*std::declval<Iterator&>())>> =
    is_integer_element_v<std::remove_cv_t<std::remove_reference_t<decltype(*std::declval<Iterator&>())>>>;

/// True for containers, arrays and other ranges whose elements are integers.
template <class Range, class = void>
inline constexpr bool is_integer_range_v = false;
template <class Range>
inline constexpr bool is_integer_range_v<
    Range, std::void_t<decltype(std::begin(std::declval<Range&>())), decltype(std::end(std::declval<Range&>()))>> =
    gives_integers_v<decltype(std::begin(std::declval<Range&>()))>;

} // namespace detail

/// Up to 64 dimensions, outermost first (row-major order). A scalar has none and one element. Made of integers of any
/// type, signed ones too: `{rows, 64}`, a vector, an array, a pair of iterators. Up to 8 dimensions lie in the shape
/// itself; more take memory. Where there is none, and of more than 64 dimensions or a negative one, is_valid() is false
/// and every call that takes a shape refuses it.
class shape {
public:
    using value_type = std::uint64_t;
    using size_type = std::size_t;
    using const_iterator = const std::uint64_t*;
    using iterator = const_iterator;

    shape() noexcept : near_{} {}
    template <class Integer, std::enable_if_t<detail::is_integer_element_v<Integer>, int> = 0>
    shape(std::initializer_list<Integer> dimensions) noexcept : shape(dimensions.begin(), dimensions.end()) {}
    /// A shape of integers of several types.
    template <class First, class Second, class... Others,
              std::enable_if_t<detail::is_integer_element_v<First> && detail::is_integer_element_v<Second> &&
                                   (detail::is_integer_element_v<Others> && ...),
                               int> = 0>
    shape(First first, Second second, Others... others) noexcept : shape() {
        push_back(first);
        push_back(second);
        (push_back(others), ...);
    }
    /// A shape from any range of integers.
    template <class Range, std::enable_if_t<!std::is_same_v<std::remove_cv_t<std::remove_reference_t<Range>>, shape> &&
                                                detail::is_integer_range_v<Range>,
                                            int> = 0>
    shape(Range&& dimensions) : shape(std::begin(dimensions), std::end(dimensions)) {}
    template <class Iterator, class End,
              std::enable_if_t<!std::is_integral_v<Iterator> && detail::gives_integers_v<Iterator>, int> = 0>
    shape(Iterator first, End last) : shape() {
        for (; first != last; ++first) {
            push_back(*first);
        }
    }

    shape(const shape& other) noexcept : rank_(other.rank_), flaw_(other.flaw_) {
        std::memcpy(near_, other.near_, sizeof near_);
        if (is_far()) {
            own_far();
        }
    }
    shape(shape&& other) noexcept
        : rank_(std::exchange(other.rank_, std::uint8_t{0})),
          flaw_(std::exchange(other.flaw_, detail::shape_flaw::none)) {
        std::memcpy(near_, other.near_, sizeof near_);
    }
    shape& operator=(shape other) noexcept {
        std::uint64_t mine[near_rank]; // not `near`, which windows.h has for a macro
        std::memcpy(mine, near_, sizeof mine);
        std::memcpy(near_, other.near_, sizeof mine);
        std::memcpy(other.near_, mine, sizeof mine);
        std::swap(rank_, other.rank_);
        std::swap(flaw_, other.flaw_);
        return *this;
    }
    ~shape() {
        if (is_far()) {
            delete[] far_;
        }
    }

    template <class Integer, std::enable_if_t<detail::is_integer_element_v<Integer>, int> = 0>
    void push_back(Integer dimension) noexcept {
        if constexpr (std::is_signed_v<Integer>) {
            if (dimension < 0) {
                flaw_ = detail::shape_flaw::negative;
            }
        }
        if (rank_ < near_rank) {
            near_[rank_++] = static_cast<std::uint64_t>(dimension);
        } else {
            push_far(static_cast<std::uint64_t>(dimension));
        }
    }

    /// Number of dimensions.
    [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
    [[nodiscard]] std::size_t size() const noexcept { return rank_; }
    [[nodiscard]] bool empty() const noexcept { return rank_ == 0; }
    /// False for what no call takes.
    [[nodiscard]] bool is_valid() const noexcept { return flaw_ == detail::shape_flaw::none; }
    [[nodiscard]] bool too_long() const noexcept { return flaw_ == detail::shape_flaw::too_long; }
    /// The i-th dimension, i < rank().
    [[nodiscard]] std::uint64_t operator[](std::size_t i) const noexcept { return numbers()[i]; }
    /// Requires that the shape is not empty().
    [[nodiscard]] std::uint64_t front() const noexcept { return numbers()[0]; }
    [[nodiscard]] std::uint64_t back() const noexcept { return numbers()[rank_ - 1]; }
    [[nodiscard]] const std::uint64_t* data() const& noexcept { return numbers(); }
    [[nodiscard]] const std::uint64_t* begin() const& noexcept { return numbers(); }
    [[nodiscard]] const std::uint64_t* end() const& noexcept { return numbers() + rank_; }
    // Borrowing from a shape that is about to die, as object_view::shape() gives one: keep it in a variable. A loop
    // over it keeps it by itself.
    const std::uint64_t* data() const&& = delete;
    const std::uint64_t* begin() const&& = delete;
    const std::uint64_t* end() const&& = delete;

    /// Product of the dimensions, or nothing where the product of those that are not zero needs more than 64 bits:
    /// a zero hides no overflow of the others (SPEC.md section 4.3).
    [[nodiscard]] std::optional<std::uint64_t> element_count() const noexcept {
        detail::element_counter counter;
        for (const std::uint64_t dimension : *this) {
            if (!counter.multiply(dimension)) {
                return std::nullopt;
            }
        }
        return counter.count();
    }

    /// With whatever a shape is made of: `object.shape() == std::vector<int>{2, 3}`.
    friend bool operator==(const shape& a, const shape& b) noexcept {
        bool is_equal = a.rank_ == b.rank_ && a.flaw_ == b.flaw_;
        for (std::size_t i = 0; is_equal && i < a.rank_; ++i) {
            is_equal = a.numbers()[i] == b.numbers()[i];
        }
        return is_equal;
    }
    friend bool operator!=(const shape& a, const shape& b) noexcept { return !(a == b); }

private:
    friend struct detail::shape_access;

    static constexpr std::size_t near_rank = 8;

    [[nodiscard]] bool is_far() const noexcept { return rank_ > near_rank; }
    [[nodiscard]] const std::uint64_t* numbers() const noexcept { return is_far() ? far_ : near_; }
    void push_far(std::uint64_t dimension) noexcept;
    void own_far() noexcept;

    union { // either of them is copied as the bytes of the first
        std::uint64_t near_[near_rank];
        std::uint64_t* far_; ///< owned, with room for max_rank
    };
    std::uint8_t rank_ = 0;
    detail::shape_flaw flaw_ = detail::shape_flaw::none;
};

/// "[1024, 768]"
[[nodiscard]] std::string to_string(const shape& dimensions);

/// For shapes alone, not for all that converts to one.
template <class Traits, class Shape, std::enable_if_t<std::is_same_v<Shape, shape>, int> = 0>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const Shape& dimensions) {
    return out << to_string(dimensions);
}

/// Indices begin, begin + 1, ... up to but not including end.
struct index_range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// One range for each dimension, outermost first, such as {{0, 4}, {8, 16}}. Borrowed, for the length of a call.
class slice {
public:
    slice(std::initializer_list<index_range> ranges) noexcept : ranges_(ranges.begin(), ranges.size()) {}
    slice(span<const index_range> ranges) noexcept : ranges_(ranges) {}

    [[nodiscard]] span<const index_range> ranges() const noexcept { return ranges_; }

private:
    span<const index_range> ranges_;
};

/// Rows [first, last) of the outermost dimension, as rows(first, last) makes them: to say so to a load_plan. Not made
/// of braces, which are always a shape there.
class row_range {
public:
    [[nodiscard]] std::uint64_t first() const noexcept { return first_; }
    [[nodiscard]] std::uint64_t last() const noexcept { return last_; }
    friend row_range rows(std::uint64_t first, std::uint64_t last) noexcept;

private:
    struct key {}; // braces of one or two numbers, or none, make no rows
    row_range(key, std::uint64_t first, std::uint64_t last) noexcept : first_(first), last_(last) {}

    std::uint64_t first_;
    std::uint64_t last_;
};
/// Rows [first, last), for load_plan::add().
[[nodiscard]] inline row_range rows(std::uint64_t first, std::uint64_t last) noexcept {
    return {row_range::key(), first, last};
}

/// Stands for a dimension of any size: see expected_shape.
struct any_dimension {
    explicit any_dimension() = default;
};
/// A dimension of any size: `{ztensor::any, 64}`.
inline constexpr any_dimension any{};

namespace detail {

/// One dimension of an expected_shape.
class expected_dimension {
public:
    template <class Integer, std::enable_if_t<is_integer_element_v<Integer>, int> = 0>
    expected_dimension(Integer size) noexcept : size_(static_cast<std::uint64_t>(size)) {
        if constexpr (std::is_signed_v<Integer>) {
            is_negative_ = size < 0;
        }
    }
    expected_dimension(any_dimension) noexcept : is_any_(true) {}

private:
    friend class ztensor::expected_shape;
    std::uint64_t size_ = 0;
    bool is_negative_ = false;
    bool is_any_ = false;
};

} // namespace detail

/// The shape that a caller expects: `{512, 128}`, or `{ztensor::any, 128}` where the first dimension may be of any
/// size, `{}` for a scalar, or whatever a shape is made of. A call that is given one fails with shape_mismatch where
/// the tensor has another, and with invalid_argument for a negative dimension or more than 64.
class expected_shape {
public:
    expected_shape() noexcept = default;
    expected_shape(std::initializer_list<detail::expected_dimension> dimensions) noexcept {
        for (const detail::expected_dimension& each : dimensions) {
            if (each.is_any_ && sizes_.rank() < max_rank) {
                any_ |= std::uint64_t{1} << sizes_.rank();
            }
            if (each.is_negative_) {
                sizes_.push_back(-1);
            } else {
                sizes_.push_back(each.size_);
            }
        }
    }
    expected_shape(shape sizes) noexcept : sizes_(std::move(sizes)) {}
    template <class Range, std::enable_if_t<detail::is_integer_range_v<Range>, int> = 0>
    expected_shape(Range&& dimensions) : sizes_(std::forward<Range>(dimensions)) {}

    /// What every shape matches: nothing is expected.
    [[nodiscard]] static expected_shape anything() noexcept {
        expected_shape made;
        made.is_anything_ = true;
        return made;
    }

    /// False for what no call takes.
    [[nodiscard]] bool is_valid() const noexcept { return sizes_.is_valid(); }
    /// Whether a tensor may have this shape.
    [[nodiscard]] bool matches(const shape& found) const noexcept {
        bool is_match = found.rank() == sizes_.rank();
        for (std::size_t i = 0; is_match && i < sizes_.rank(); ++i) {
            is_match = (any_ >> i & 1) != 0 || sizes_[i] == found[i];
        }
        return is_match || is_anything_;
    }
    /// True if every shape matches.
    [[nodiscard]] bool is_anything() const noexcept { return is_anything_; }

    /// "[any, 768]"
    friend std::string to_string(const expected_shape& expected) {
        std::string out = "[";
        for (std::size_t i = 0; i < expected.sizes_.rank(); ++i) {
            out += i != 0 ? ", " : "";
            out += (expected.any_ >> i & 1) != 0 ? "any" : std::to_string(expected.sizes_[i]);
        }
        return out + "]";
    }

private:
    shape sizes_;
    std::uint64_t any_ = 0; ///< a bit for each dimension that may be of any size
    bool is_anything_ = false;
};

ZTENSOR_COLD inline void shape::push_far(std::uint64_t dimension) noexcept {
    if (rank_ == max_rank) {
        flaw_ = detail::shape_flaw::too_long;
        return;
    }
    if (rank_ == near_rank) {
        auto* const room = new (std::nothrow) std::uint64_t[max_rank];
        if (room == nullptr) {
            flaw_ = detail::shape_flaw::no_memory;
            return;
        }
        std::memcpy(room, near_, sizeof near_);
        far_ = room;
    }
    far_[rank_++] = dimension;
}

/// Gives a copy, which points to what another shape owns, dimensions of its own.
ZTENSOR_COLD inline void shape::own_far() noexcept {
    auto* const room = new (std::nothrow) std::uint64_t[max_rank];
    if (room == nullptr) {
        rank_ = 0;
        flaw_ = detail::shape_flaw::no_memory;
        return;
    }
    std::memcpy(room, far_, rank_ * sizeof *room);
    far_ = room;
}

ZTENSOR_COLD inline std::string to_string(const shape& dimensions) {
    std::string out = "[";
    for (const std::uint64_t dimension : dimensions) {
        out += (out.size() > 1 ? ", " : "") + std::to_string(dimension);
    }
    return out + "]";
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
