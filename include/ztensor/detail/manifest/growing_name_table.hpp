// SPDX-License-Identifier: MIT
//
// A name table that grows: for names whose number is not known beforehand.
#ifndef ZTENSOR_DETAIL_MANIFEST_GROWING_NAME_TABLE_HPP
#define ZTENSOR_DETAIL_MANIFEST_GROWING_NAME_TABLE_HPP

#include <ztensor/detail/manifest/name_table.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Knows names that come one by one, at the positions 0, 1, 2, …
class growing_name_table {
public:
    growing_name_table() noexcept = default;
    growing_name_table(const growing_name_table&) = delete;
    growing_name_table& operator=(const growing_name_table&) = delete;
    ~growing_name_table() { delete table_; }

    template <class NameOf>
    [[nodiscard]] std::uint32_t find(std::string_view name, NameOf&& name_of) const noexcept {
        return table_ != nullptr ? table_->find(name, name_of) : name_table::absent;
    }

    /// Adds the next name, which is new. Throws std::bad_alloc.
    template <class NameOf>
    void add(NameOf&& name_of) {
        if (size_ == room_) {
            const std::uint32_t room = room_ < 16 ? 16 : 2 * room_;
            auto* const larger = new name_table(room);
            for (std::uint32_t position = 0; position < size_; ++position) {
                static_cast<void>(larger->insert(position, position, name_of));
            }
            delete std::exchange(table_, larger);
            room_ = room;
        }
        static_cast<void>(table_->insert(size_, size_, name_of));
        ++size_;
    }

private:
    name_table* table_ = nullptr; ///< owned
    std::uint32_t size_ = 0;
    std::uint32_t room_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
