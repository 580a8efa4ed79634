// SPDX-License-Identifier: MIT
//
// The components of all objects in a row, those of one object side by side. Does not move them to grow: that would take
// room for all of them twice, in an index that is nothing but components several times the index itself.
#ifndef ZTENSOR_DETAIL_MANIFEST_COMPONENT_ARRAY_HPP
#define ZTENSOR_DETAIL_MANIFEST_COMPONENT_ARRAY_HPP

#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/span.hpp>

#include <cstddef>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Two arrays that look like one: what was expected, and what came beyond that.
template <class Record>
class component_array {
public:
    [[nodiscard]] std::size_t size() const noexcept { return first_.size() + second_.size(); }
    [[nodiscard]] Record& operator[](std::size_t i) noexcept {
        return i < first_.size() ? first_[i] : second_[i - first_.size()];
    }
    [[nodiscard]] const Record& operator[](std::size_t i) const noexcept {
        return i < first_.size() ? first_[i] : second_[i - first_.size()];
    }
    /// `count` of one object from `first` on.
    [[nodiscard]] span<const Record> of(std::size_t first, std::size_t count) const noexcept {
        return {count == 0 ? nullptr : &(*this)[first], count};
    }
    [[nodiscard]] Record& back() noexcept { return (*this)[size() - 1]; }

    /// Room for as many as are expected. Called once, while there are none.
    void reserve(std::size_t count) { first_.reserve(count); }
    /// Room for `count` more, which are not in what reserve() has made room for. Called between objects, once.
    ZTENSOR_COLD void reserve_beyond(std::size_t count) {
        second_.reserve(count);
        is_divided_ = true;
    }

    /// For what reserve() has made room for.
    void advise_huge_pages() noexcept { detail::advise_huge_pages(first_.data(), first_.capacity() * sizeof(Record)); }

    [[nodiscard]] bool has_room() const noexcept { return is_divided_ ? second_.has_room() : first_.has_room(); }
    [[nodiscard]] std::size_t room() const noexcept {
        return is_divided_ ? second_.capacity() - second_.size() : first_.capacity() - first_.size();
    }
    /// Where `count` more of one object may be written, which take() then takes in; null where there is no room.
    [[nodiscard]] Record* room_for(std::size_t count) noexcept { return count <= room() ? last().end() : nullptr; }
    void take(std::size_t count) noexcept { last().take(count); }
    void push_back(const Record& record) { is_divided_ ? second_.push_back(record) : first_.push_back(record); }
    /// Forgets all but the first `count`.
    void truncate(std::size_t count) noexcept {
        if (count < first_.size()) {
            first_.truncate(count);
            second_.truncate(0);
        } else {
            second_.truncate(count - first_.size());
        }
    }

private:
    [[nodiscard]] record_array<Record>& last() noexcept { return is_divided_ ? second_ : first_; }

    record_array<Record> first_;
    record_array<Record> second_;
    bool is_divided_ = false;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
