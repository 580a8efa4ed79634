// SPDX-License-Identifier: MIT
//
// Which names were met before, in 8 bytes each. Two names of one hash are taken for one: of a million names two are
// with a chance of one in forty millions.
#ifndef ZTENSOR_DETAIL_FOREIGN_NAME_HASHES_HPP
#define ZTENSOR_DETAIL_FOREIGN_NAME_HASHES_HPP

#include <ztensor/version.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class name_hashes {
public:
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

    /// False if it was met before.
    [[nodiscard]] bool insert(std::string_view name) {
        if (4 * (count_ + 1) > 3 * slots_.size()) {
            grow();
        }
        return insert_hash(hash_of(name));
    }

private:
    /// FNV-1a, of 64 bits. Never 0, which is an empty slot.
    [[nodiscard]] static std::uint64_t hash_of(std::string_view name) noexcept {
        std::uint64_t hash = 0xcbf29ce484222325;
        for (const char each : name) {
            hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3;
        }
        return hash != 0 ? hash : 1;
    }
    [[nodiscard]] bool insert_hash(std::uint64_t hash) noexcept {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = static_cast<std::size_t>(hash ^ hash >> 32) & mask;
        for (; slots_[at] != 0; at = (at + 1) & mask) {
            if (slots_[at] == hash) {
                return false;
            }
        }
        slots_[at] = hash;
        ++count_;
        return true;
    }
    void grow() {
        constexpr std::size_t least_slots = 64;
        const std::vector<std::uint64_t> before =
            std::exchange(slots_, std::vector<std::uint64_t>(slots_.empty() ? least_slots : 2 * slots_.size()));
        count_ = 0;
        for (const std::uint64_t each : before) {
            if (each != 0) {
                static_cast<void>(insert_hash(each));
            }
        }
    }

    std::vector<std::uint64_t> slots_; ///< a power of two of them
    std::size_t count_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
