// SPDX-License-Identifier: MIT
//
// A name table that grows: for names whose number is not known beforehand.
#ifndef ZTENSOR_DETAIL_MANIFEST_GROWING_NAME_TABLE_HPP
#define ZTENSOR_DETAIL_MANIFEST_GROWING_NAME_TABLE_HPP

#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/manifest/name_table.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Knows names that come one by one, at the positions 0, 1, 2, ... A slot holds 32 bits of a name's hash beside the
/// position + 1: a table that grows looks at no name, and one that is asked looks at hardly any that is another.
class growing_name_table {
public:
    template <class NameOf>
    [[nodiscard]] std::uint32_t find(std::string_view name, NameOf&& name_of) const noexcept {
        if (slots_.empty()) {
            return name_table::absent;
        }
        const std::uint64_t tag = tag_of(name);
        for (std::size_t at = first_slot(tag);; at = (at + 1) & (slots_.size() - 1)) {
            const std::uint64_t slot = slots_[at];
            const std::uint32_t position = static_cast<std::uint32_t>(slot) - 1; // of an empty slot: absent
            if (slot == 0 || ((slot & tag_mask) == tag && name_of(position) == name)) {
                return position;
            }
        }
    }

    /// Adds the next name, which is new. Throws std::bad_alloc.
    template <class NameOf>
    void add(NameOf&& name_of) {
        if (size_ >= slots_.size() / 4 * 3) {
            grow();
        }
        insert(tag_of(name_of(size_)) | (std::uint64_t{size_} + 1));
        ++size_;
    }

private:
    static constexpr std::uint64_t tag_mask = ~std::uint64_t{0} << 32;

    [[nodiscard]] std::uint64_t tag_of(std::string_view name) const noexcept {
        return hash_name(name, key_) & tag_mask;
    }
    [[nodiscard]] std::size_t first_slot(std::uint64_t tag) const noexcept {
        return static_cast<std::size_t>(tag >> 32) & (slots_.size() - 1);
    }

    ZTENSOR_COLD void grow() {
        record_array<std::uint64_t> old;
        old.assign_zeros(slots_.empty() ? 32 : 2 * slots_.size());
        slots_.swap(old);
        for (const std::uint64_t slot : old) {
            if (slot != 0) {
                insert(slot);
            }
        }
    }

    void insert(std::uint64_t slot) noexcept {
        std::size_t at = first_slot(slot);
        while (slots_[at] != 0) {
            at = (at + 1) & (slots_.size() - 1);
        }
        slots_[at] = slot;
    }

    std::uint64_t key_ = process_hash_key();
    record_array<std::uint64_t> slots_; ///< a power of two
    std::uint32_t size_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
