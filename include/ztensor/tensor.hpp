// SPDX-License-Identifier: MIT
//
// The elements of a tensor, wherever they lie: in the file, which stays open, or in memory of their own. What acquire()
// returns.
#ifndef ZTENSOR_TENSOR_HPP
#define ZTENSOR_TENSOR_HPP

#include <ztensor/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

namespace detail {

/// What acquiring a tensor brings beside elements of its own.
struct acquired {
    ztensor::shape shape;
    bytes_view borrowed; ///< the elements in the file, where is_borrowed
    std::shared_ptr<const void> file;
    bool has_shape = false;
    bool may_be_borrowed = false; ///< the file's bytes stay as they are
    bool is_borrowed = false;
    bool is_verified = false;
};

} // namespace detail

/// Elements of type T with their shape. They are borrowed from the file where that is safe, and owned otherwise, and
/// both look alike. A borrowed tensor keeps its file open, so the reader may go. Move-only.
template <class T>
class tensor {
public:
    using value_type = T;
    using const_iterator = const T*;
    using iterator = const_iterator;

    /// No elements, of shape []; so is one that was moved from.
    tensor() noexcept = default;
    tensor(tensor&& other) noexcept
        : owned_(std::move(other.owned_)), facts_(std::exchange(other.facts_, detail::acquired())) {}
    tensor& operator=(tensor&& other) noexcept {
        tensor taken(std::move(other));
        owned_ = std::move(taken.owned_);
        facts_ = std::move(taken.facts_);
        return *this;
    }
    ~tensor() = default;

    [[nodiscard]] const ztensor::shape& shape() const& noexcept { return facts_.shape; }
    [[nodiscard]] const T* data() const& noexcept { return span().data(); }
    /// All elements.
    [[nodiscard]] ztensor::span<const T> span() const& noexcept {
        return facts_.is_borrowed ? detail::as_elements<T>(facts_.borrowed) : ztensor::span<const T>(owned_);
    }
    [[nodiscard]] std::size_t size() const noexcept {
        return facts_.is_borrowed ? facts_.borrowed.size() / sizeof(T) : owned_.size();
    }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] const T* begin() const& noexcept { return span().data(); }
    [[nodiscard]] const T* end() const& noexcept { return span().data() + size(); }
    /// Unchecked.
    [[nodiscard]] const T& operator[](std::size_t i) const& noexcept { return span()[i]; }
    [[nodiscard]] T operator[](std::size_t i) const&& noexcept { return span()[i]; }

    /// True if the elements lie in the file (or in the memory that was opened), false if this owns them, at a multiple
    /// of 64 bytes.
    [[nodiscard]] bool is_borrowed() const noexcept { return facts_.is_borrowed; }
    /// True if they were found to match their digest when they were read.
    [[nodiscard]] bool is_verified() const noexcept { return facts_.is_verified; }

    // Borrowing from a tensor that is about to die.
    const ztensor::shape& shape() const&& = delete;
    const T* data() const&& = delete;
    ztensor::span<const T> span() const&& = delete;
    const T* begin() const&& = delete;
    const T* end() const&& = delete;

private:
    template <class Derived>
    friend class readable;

    void borrow(bytes_view elements) noexcept {
        facts_.borrowed = elements;
        facts_.is_borrowed = true;
        facts_.is_verified = false;
        complete_shape();
    }
    /// A component that is not the elements of a dense object has one dimension.
    void complete_shape() noexcept {
        if (!facts_.has_shape) {
            facts_.shape = {size()};
        }
    }

    array<T> owned_;
    detail::acquired facts_;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
