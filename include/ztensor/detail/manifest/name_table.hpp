// SPDX-License-Identifier: MIT
//
// Names → positions: open addressing over 32-bit slots, hashed with a seed that no file's author can know.
#ifndef ZTENSOR_DETAIL_MANIFEST_NAME_TABLE_HPP
#define ZTENSOR_DETAIL_MANIFEST_NAME_TABLE_HPP

#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/os/system.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Both halves of a × b, folded into one.
[[nodiscard]] constexpr std::uint64_t folded_multiply(std::uint64_t a, std::uint64_t b) noexcept {
#if defined(__SIZEOF_INT128__)
    __extension__ using wide = unsigned __int128;
    const wide product = static_cast<wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#else
    const std::uint64_t a_low = a & 0xffffffff, a_high = a >> 32, b_low = b & 0xffffffff, b_high = b >> 32;
    const std::uint64_t low = a_low * b_low;
    const std::uint64_t middle = a_high * b_low + (low >> 32);
    const std::uint64_t cross = a_low * b_high + (middle & 0xffffffff);
    return ((cross << 32) | (low & 0xffffffff)) ^ (a_high * b_high + (middle >> 32) + (cross >> 32));
#endif
}

/// A hash whose collisions depend on `key`, an odd number that stays secret.
[[nodiscard]] ZTENSOR_NOINLINE inline std::uint64_t hash_name(std::string_view name, std::uint64_t key) noexcept {
    bytes_view bytes = as_bytes(name);
    std::uint64_t hash = key ^ folded_multiply(name.size() ^ key, key);
    for (; bytes.size() > 8; bytes = bytes.subspan(8)) {
        hash = folded_multiply(hash ^ load_little(bytes.data(), 8), key);
    }
    hash = folded_multiply(hash ^ load_little(bytes.data(), bytes.size()), key);
    return folded_multiply(hash, ~key);
}

/// One number for the life of the process: where this was loaded, and when it was first asked.
[[nodiscard]] ZTENSOR_COLD inline std::uint64_t process_hash_key() noexcept {
    static const std::uint64_t key = [] {
        static const char anchor = 0;
        const std::uint64_t time = clock_ticks();
        return folded_multiply(address_of(&anchor) ^ 0x9E3779B97F4A7C15u, time ^ 0xD1B54A32D192ED03u) ^
               folded_multiply(process_id() ^ 0xA0761D6478BD642Fu, clock_ticks() | 1);
    }();
    return key | 1;
}

/// Knows positions, not names: every call takes `name_of(position) → string_view`. A slot holds position + 1 in its
/// low bits and part of the hash above, so that a miss rarely looks at a name. 5 to 11 bytes a name.
class name_table {
public:
    /// Room for `count` names (fewer than 2³¹).
    ZTENSOR_COLD explicit name_table(std::size_t count) : key_(process_hash_key()) {
        while (position_mask_ <= count) {
            position_mask_ = position_mask_ << 1 | 1;
        }
        std::size_t slots = 4;
        while (slots - slots / 4 <= count) {
            slots *= 2;
        }
        slot_mask_ = slots - 1;
        slots_.assign_zeros(slots);
    }

    /// Adds the name at `position`. False if an equal name is in already.
    template <class NameOf>
    [[nodiscard]] ZTENSOR_NOINLINE bool insert(std::uint32_t position, NameOf&& name_of) noexcept {
        const std::string_view name = name_of(position);
        const std::uint64_t hash = hash_name(name, key_);
        std::size_t slot = probe(name, hash, name_of);
        if (slots_[slot] != 0) {
            return false;
        }
        slots_[slot] = tag(hash) | (position + 1);
        return true;
    }

    /// The answer of find() where there is no such name.
    static constexpr std::uint32_t absent = 0xffffffff;

    /// The position of `name`, or absent.
    template <class NameOf>
    [[nodiscard]] std::uint32_t find(std::string_view name, NameOf&& name_of) const noexcept {
        const std::uint32_t found = slots_[probe(name, hash_name(name, key_), name_of)];
        return found == 0 ? absent : (found & position_mask_) - 1;
    }

private:
    [[nodiscard]] std::uint32_t tag(std::uint64_t hash) const noexcept {
        return static_cast<std::uint32_t>(hash >> 32) & ~position_mask_;
    }

    /// The slot that holds `name`, or the empty one where it would go.
    template <class NameOf>
    [[nodiscard]] std::size_t probe(std::string_view name, std::uint64_t hash, NameOf&& name_of) const noexcept {
        std::size_t slot = static_cast<std::size_t>(hash) & slot_mask_;
        while (slots_[slot] != 0 && ((slots_[slot] & ~position_mask_) != tag(hash) ||
                                     name_of((slots_[slot] & position_mask_) - 1) != name)) {
            slot = (slot + 1) & slot_mask_;
        }
        return slot;
    }

    std::uint64_t key_;
    std::uint32_t position_mask_ = 1;
    std::size_t slot_mask_ = 0;
    record_array<std::uint32_t> slots_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
