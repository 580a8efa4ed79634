// SPDX-License-Identifier: MIT
//
// The stack that a pickle works on, with marks in it: no opcode reaches below the last mark.
#ifndef ZTENSOR_DETAIL_FOREIGN_PICKLE_STACK_HPP
#define ZTENSOR_DETAIL_FOREIGN_PICKLE_STACK_HPP

#include <ztensor/detail/foreign/pickled.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class pickle_stack {
public:
    /// Far more than torch.save needs; of marks likewise.
    static constexpr std::size_t most_values = std::size_t{1} << 20;

    /// How many values stand above the last mark, or in all where there is none.
    [[nodiscard]] std::size_t size() const noexcept { return values_.size() - (marks_.empty() ? 0 : marks_.back()); }
    [[nodiscard]] bool holds_one_value() const noexcept { return marks_.empty() && values_.size() == 1; }

    /// False where there are most_values.
    [[nodiscard]] bool push(const pickle_value& value) {
        if (values_.size() == most_values) {
            return false;
        }
        values_.push_back(value);
        return true;
    }
    [[nodiscard]] bool pop(pickle_value& value) {
        if (size() == 0) {
            return false;
        }
        value = values_.back();
        values_.pop_back();
        return true;
    }
    [[nodiscard]] bool mark() {
        if (marks_.size() == most_values) {
            return false;
        }
        marks_.push_back(values_.size());
        return true;
    }
    /// Takes the last mark away, and says how many values stand above it; these stay. False where there is none.
    [[nodiscard]] bool pop_mark(std::size_t& count) {
        if (marks_.empty()) {
            return false;
        }
        count = size();
        marks_.pop_back();
        return true;
    }

    // Checked before: there are as many.

    [[nodiscard]] const pickle_value& top() const noexcept { return values_.back(); }
    [[nodiscard]] span<const pickle_value> uppermost(std::size_t count) const noexcept {
        return {values_.data() + (values_.size() - count), count};
    }
    void drop(std::size_t count) { values_.resize(values_.size() - count); }

private:
    std::vector<pickle_value> values_;
    std::vector<std::size_t> marks_; ///< how many values there were then
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
