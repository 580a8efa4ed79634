// SPDX-License-Identifier: MIT
//
// Records that are made of a header while it is read, in blocks that never move, and what all of them together may
// take: a header can't make more memory than so many times its own size.
#ifndef ZTENSOR_DETAIL_FOREIGN_BLOCK_ARRAY_HPP
#define ZTENSOR_DETAIL_FOREIGN_BLOCK_ARRAY_HPP

#include <ztensor/version.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Bytes that may still be allocated.
class import_budget {
public:
    explicit import_budget(std::uint64_t most_bytes) noexcept : left_(most_bytes) {}

    [[nodiscard]] bool take(std::uint64_t bytes) noexcept {
        if (bytes > left_) {
            return false;
        }
        left_ -= bytes;
        return true;
    }

private:
    std::uint64_t left_;
};

/// Grows and shrinks at its end. Growing copies nothing.
template <class T>
class block_array {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] T& operator[](std::size_t i) noexcept { return blocks_[i / block_items][i % block_items]; }
    [[nodiscard]] const T& operator[](std::size_t i) const noexcept {
        return blocks_[i / block_items][i % block_items];
    }
    [[nodiscard]] const T& back() const noexcept { return (*this)[size_ - 1]; }

    /// False where the budget has no room for another block.
    [[nodiscard]] bool push_back(const T& item, import_budget& budget) {
        if (size_ == blocks_.size() * block_items) {
            if (!budget.take(block_items * sizeof(T))) {
                return false;
            }
            blocks_.push_back(std::make_unique<T[]>(block_items));
        }
        (*this)[size_++] = item;
        return true;
    }
    /// Blocks stay for what comes next.
    void truncate(std::size_t size) noexcept { size_ = size; }

private:
    static constexpr std::size_t block_items = 2048;

    std::vector<std::unique_ptr<T[]>> blocks_;
    std::size_t size_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
