// SPDX-License-Identifier: MIT
//
// Iterators over what is made when it is asked for, such as the views of objects: a position, and a value at each.
#ifndef ZTENSOR_DETAIL_BASE_POSITION_ITERATOR_HPP
#define ZTENSOR_DETAIL_BASE_POSITION_ITERATOR_HPP

#include <ztensor/version.hpp>

#include <cstddef>
#include <iterator>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// All of an iterator but what it gives: `Iterator` derives from it and has a `Value operator*() const`. C++20's
/// algorithms may jump; those before ask an iterator that may for references, and take it for one that only reads on.
template <class Iterator, class Value>
class position_iterator {
public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    using reference = Value;
    /// Keeps what `->` shows for as long as the expression takes.
    struct pointer {
        Value current;
        [[nodiscard]] const Value* operator->() const noexcept { return &current; }
    };

    [[nodiscard]] pointer operator->() const noexcept { return {*self()}; }
    [[nodiscard]] Value operator[](difference_type n) const noexcept { return *(self() + n); }

    Iterator& operator++() noexcept { return *this += 1; }
    Iterator& operator--() noexcept { return *this -= 1; }
    Iterator operator++(int) noexcept {
        const Iterator before = self();
        ++*this;
        return before;
    }
    Iterator operator--(int) noexcept {
        const Iterator before = self();
        --*this;
        return before;
    }
    Iterator& operator+=(difference_type n) noexcept {
        position_ += static_cast<std::size_t>(n);
        return static_cast<Iterator&>(*this);
    }
    Iterator& operator-=(difference_type n) noexcept {
        position_ -= static_cast<std::size_t>(n);
        return static_cast<Iterator&>(*this);
    }
    friend Iterator operator+(Iterator a, difference_type n) noexcept { return a += n; }
    friend Iterator operator+(difference_type n, Iterator a) noexcept { return a += n; }
    friend Iterator operator-(Iterator a, difference_type n) noexcept { return a -= n; }
    friend difference_type operator-(const Iterator& a, const Iterator& b) noexcept {
        return static_cast<difference_type>(a.position_ - b.position_);
    }
    friend bool operator==(const Iterator& a, const Iterator& b) noexcept { return a.position_ == b.position_; }
    friend bool operator!=(const Iterator& a, const Iterator& b) noexcept { return a.position_ != b.position_; }
    friend bool operator<(const Iterator& a, const Iterator& b) noexcept { return a.position_ < b.position_; }
    friend bool operator>(const Iterator& a, const Iterator& b) noexcept { return a.position_ > b.position_; }
    friend bool operator<=(const Iterator& a, const Iterator& b) noexcept { return a.position_ <= b.position_; }
    friend bool operator>=(const Iterator& a, const Iterator& b) noexcept { return a.position_ >= b.position_; }

protected:
    position_iterator() noexcept = default;
    explicit position_iterator(std::size_t position) noexcept : position_(position) {}

    std::size_t position_ = 0;

private:
    [[nodiscard]] const Iterator& self() const noexcept { return static_cast<const Iterator&>(*this); }
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
