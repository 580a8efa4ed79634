// SPDX-License-Identifier: MIT
//
// The stack that a pickle works on, with marks in it: no opcode reaches below the last mark.
#ifndef ZTENSOR_DETAIL_FOREIGN_PICKLE_STACK_HPP
#define ZTENSOR_DETAIL_FOREIGN_PICKLE_STACK_HPP

#include <ztensor/detail/foreign/block_array.hpp>
#include <ztensor/detail/foreign/pickled.hpp>

#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class pickle_stack {
public:
    explicit pickle_stack(import_budget& budget) noexcept : budget_(budget) {}

    /// How many values stand above the last mark, or in all where there is none.
    [[nodiscard]] std::size_t size() const noexcept {
        return values_.size() - (marks_.size() == 0 ? 0 : marks_.back());
    }
    [[nodiscard]] bool holds_one_value() const noexcept { return marks_.size() == 0 && values_.size() == 1; }

    /// False where there are too many, or no memory is left for more.
    [[nodiscard]] bool push(const pickle_value& value) {
        return values_.size() != most_values && values_.push_back(value, budget_);
    }
    [[nodiscard]] bool pop(pickle_value& value) {
        if (size() == 0) {
            return false;
        }
        value = values_.back();
        values_.truncate(values_.size() - 1);
        return true;
    }
    [[nodiscard]] bool mark() {
        return marks_.size() != most_values && marks_.push_back(static_cast<std::uint32_t>(values_.size()), budget_);
    }
    /// Takes the last mark away, and says how many values stand above it; these stay. False where there is none.
    [[nodiscard]] bool pop_mark(std::size_t& count) {
        if (marks_.size() == 0) {
            return false;
        }
        count = size();
        marks_.truncate(marks_.size() - 1);
        return true;
    }

    // Checked before: there are as many.

    [[nodiscard]] const pickle_value& top() const noexcept { return values_.back(); }
    /// The i-th of the uppermost `count`, from the lowest of these on.
    [[nodiscard]] const pickle_value& at(std::size_t count, std::size_t i) const noexcept {
        return values_[values_.size() - count + i];
    }
    void drop(std::size_t count) { values_.truncate(values_.size() - count); }

private:
    /// Far more than torch.save needs; of marks likewise.
    static constexpr std::size_t most_values = std::size_t{1} << 20;

    import_budget& budget_;
    block_array<pickle_value> values_;
    block_array<std::uint32_t> marks_; ///< how many values there were then
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
