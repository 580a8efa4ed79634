// SPDX-License-Identifier: MIT
//
// Owned elements of a tensor, in memory made for reading much at once. What load() returns.
#ifndef ZTENSOR_ARRAY_HPP
#define ZTENSOR_ARRAY_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

namespace detail {

/// Memory of any content, at a multiple of 64 bytes; large amounts at one of 2 MiB and with the system's word that it
/// would do well as huge pages. Null where there is none. `size_bytes` is not 0.
[[nodiscard]] void* allocate_pages(std::size_t size_bytes) noexcept;
void free_pages(void* memory, std::size_t size_bytes) noexcept;

} // namespace detail

/// Elements in a row, as many as there were when it was made. Move-only. Their first content is unspecified, so that no
/// time goes into zeros that are overwritten: a loaded tensor takes as long as its pages take to appear, and huge pages
/// take a third of that. Aligned to 64 bytes, from 4 MiB on to 2 MiB. Converts to span<T> and span<const T>.
template <class T>
class array {
public:
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64);

    using value_type = T;
    using size_type = std::size_t;
    using iterator = T*;
    using const_iterator = const T*;

    array() noexcept = default;
    /// `size` elements of any content. Throws std::bad_alloc, or ends the program where exceptions are off.
    explicit array(std::size_t size) {
        if (size == 0) {
            return;
        }
        if (size <= static_cast<std::size_t>((std::numeric_limits<std::ptrdiff_t>::max)()) / sizeof(T)) {
            data_ = static_cast<T*>(detail::allocate_pages(size * sizeof(T)));
        }
        if (data_ == nullptr) {
            detail::raise_out_of_memory();
        }
        size_ = size;
    }
    array(array&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, std::size_t{0})) {}
    array& operator=(array&& other) noexcept { // which leaves the other one empty, as a move does
        array taken(std::move(other));
        std::swap(data_, taken.data_);
        std::swap(size_, taken.size_);
        return *this;
    }
    ~array() {
        if (data_ != nullptr) {
            detail::free_pages(data_, size_ * sizeof(T));
        }
    }

    [[nodiscard]] T* data() & noexcept { return data_; }
    [[nodiscard]] const T* data() const& noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] T* begin() & noexcept { return data_; }
    [[nodiscard]] T* end() & noexcept { return data_ + size_; }
    [[nodiscard]] const T* begin() const& noexcept { return data_; }
    [[nodiscard]] const T* end() const& noexcept { return data_ + size_; }
    // Borrowing from an array that is about to die.
    const T* data() const&& = delete;
    const T* begin() const&& = delete;
    const T* end() const&& = delete;
    /// Unchecked.
    [[nodiscard]] T& operator[](std::size_t i) & noexcept { return data_[i]; }
    [[nodiscard]] const T& operator[](std::size_t i) const& noexcept { return data_[i]; }
    [[nodiscard]] T operator[](std::size_t i) const&& noexcept { return data_[i]; }

    /// For load().
    friend detail::element_memory memory_of(array& elements) noexcept {
        return {&elements, [](void* owner, std::size_t count) {
                    auto& mine = *static_cast<array*>(owner);
                    mine = array(count);
                    return detail::as_writable_bytes(span<T>(mine));
                }};
    }

private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/os/resources_definitions.hpp>
#endif

#endif
