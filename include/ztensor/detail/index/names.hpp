// SPDX-License-Identifier: MIT
//
// Names: what may be one, and tables that find them. SPEC.md section 3.5, section 13.4.
#ifndef ZTENSOR_DETAIL_INDEX_NAMES_HPP
#define ZTENSOR_DETAIL_INDEX_NAMES_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/format.hpp>

#include <algorithm>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- names

/// Whether at most `most` bytes have to be put in, left out or exchanged to make one name of the other, and how many.
/// Looks at a few bytes of most names, and at no more than `longest` of any.
[[nodiscard]] ZTENSOR_COLD inline optional<size_t> edits_between(string_view a, string_view b, size_t most) noexcept {
    constexpr size_t longest = 256;
    constexpr size_t many = longest;
    if (a.size() > b.size()) {
        std::swap(a, b);
    }
    if (b.size() - a.size() > most || b.size() > longest) {
        return std::nullopt;
    }
    size_t row[longest + 1]; // edits between the first bytes of `a` and each beginning of `b`, near the diagonal
    for (size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a.size(); ++i) {
        const size_t first = i > most ? i - most : 1;
        const size_t last = (std::min)(i + most, b.size());
        size_t diagonal = std::exchange(row[first - 1], first == 1 ? i : many);
        size_t least = row[first - 1];
        for (size_t j = first; j <= last; ++j) {
            const size_t above = j < i + most ? row[j] : many;
            const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0u : 1u);
            diagonal = row[j];
            row[j] = (std::min)({above + 1, row[j - 1] + 1, replaced});
            least = (std::min)(least, row[j]);
        }
        if (least > most) {
            return std::nullopt;
        }
    }
    return row[b.size()] <= most ? optional<size_t>(row[b.size()]) : std::nullopt;
}

/// The error for a name that is none of `count` names: it names the one that was probably meant, if that is among the
/// first few thousand. `name_at(position)` gives them.
template <class NameAt>
[[nodiscard]] ZTENSOR_COLD error no_object_called(string_view name, size_t count, const NameAt& name_at) noexcept {
    constexpr size_t most_looked_at = 4096;
    size_t most = name.size() < 3 ? 0 : name.size() < 6 ? 1 : 2;
    string_view meant;
    for (size_t i = 0; i < (std::min)(count, most_looked_at) && most != 0; ++i) {
        const string_view each = name_at(i);
        if (const optional<size_t> edits = edits_between(name, each, most)) {
            meant = each;
            most = (std::max)(*edits, size_t{1}) - 1;
        }
    }
    error why = meant.empty() ? fail(errc::object_not_found, "there is no object {}", {in_quotes(name)})
                              : fail(errc::object_not_found, "there is no object {}; did you mean {}?",
                                     {in_quotes(name), in_quotes(meant)});
    return std::move(why).in_object(name);
}

/// What is wrong with a name that is known to be UTF-8, as a literal; nullptr if nothing is.
[[nodiscard]] inline const char* utf8_name_problem(string_view name) noexcept {
    if (name.empty()) {
        return "a name is empty";
    }
    if (name.size() > max_name_bytes) {
        return "a name is longer than 4,096 bytes";
    }
    if (name.find('\0') != std::string_view::npos) {
        return "a name holds the character U+0000";
    }
    return nullptr;
}

/// The same of any name.
[[nodiscard]] inline const char* name_problem(string_view name) noexcept {
    const char* const problem = utf8_name_problem(name);
    return problem != nullptr || is_utf8(name) ? problem : "a name is not UTF-8";
}

/// What is wrong with the name of an object, a part or an attribute, as a literal; nullptr if nothing is. It is UTF-8.
[[nodiscard]] inline const char* name_problem_2(string_view name) noexcept {
    return name.size() > max_name_bytes_2 ? "a name is longer than 1,024 bytes" : utf8_name_problem(name);
}

/// The same of a shard, whose name may become part of a file's.
[[nodiscard]] inline const char* shard_name_problem(string_view name) noexcept {
    constexpr string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    if (name.empty() || name.size() > 64) {
        return "the name of a shard is not of 1 to 64 bytes";
    }
    if (name[0] == '.') {
        return "the name of a shard starts with a dot";
    }
    return name.find_first_not_of(allowed) != std::string_view::npos
               ? "the name of a shard holds something else than letters, digits, dots, hyphens and underscores"
               : nullptr;
}

/// A name that two records have, if there is one.
template <class Record>
[[nodiscard]] optional<string_view> find_same_name(const vector<Record>& all) {
    vector<string_view> names;
    names.reserve(all.size());
    for (const Record& each : all) {
        names.push_back(each.name);
    }
    std::sort(names.begin(), names.end());
    const auto twin = std::adjacent_find(names.begin(), names.end());
    return twin != names.end() ? optional<string_view>(*twin) : std::nullopt;
}

// -- name table
//
// Names -> positions: open addressing over 64-bit slots, hashed with a seed that no file's author can know.

/// Both halves of a x b, folded into one.
[[nodiscard]] constexpr uint64_t folded_multiply(uint64_t a, uint64_t b) noexcept {
#if defined(__SIZEOF_INT128__)
    __extension__ using wide = unsigned __int128;
    const wide product = static_cast<wide>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#else
    const uint64_t a_low = a & 0xffffffff, a_high = a >> 32, b_low = b & 0xffffffff, b_high = b >> 32;
    const uint64_t low = a_low * b_low;
    const uint64_t middle = a_high * b_low + (low >> 32);
    const uint64_t cross = a_low * b_high + (middle & 0xffffffff);
    return ((cross << 32) | (low & 0xffffffff)) ^ (a_high * b_high + (middle >> 32) + (cross >> 32));
#endif
}

/// A hash whose collisions depend on `key`, an odd number that stays secret.
[[nodiscard]] inline uint64_t hash_name(string_view name, uint64_t key) noexcept {
    const byte* at = as_bytes(name).data();
    size_t left = name.size();
    uint64_t hash = key ^ folded_multiply(left ^ key, key);
    for (; left > 16; left -= 16, at += 16) {
        hash = folded_multiply(load_little_64(at) ^ key, load_little_64(at + 8) ^ hash);
    }
    if (name.size() < 8) {
        return folded_multiply(folded_multiply(load_little(at, left) ^ key, hash), ~key);
    }
    const uint64_t first = left >= 8 ? load_little_64(at) : 0;
    const uint64_t last = load_little_64(at + left - 8); // may overlap what came before
    return folded_multiply(folded_multiply(first ^ key, last ^ hash), ~key);
}

/// One number for the life of the process: where this was loaded, and when it was first asked.
[[nodiscard]] ZTENSOR_COLD inline uint64_t process_hash_key() noexcept {
    static const uint64_t key = [] {
        static const char anchor = 0;
        const uint64_t time = clock_ticks();
        return folded_multiply(address_of(&anchor) ^ 0x9E3779B97F4A7C15u, time ^ 0xD1B54A32D192ED03u) ^
               folded_multiply(process_id() ^ 0xA0761D6478BD642Fu, clock_ticks() | 1);
    }();
    return key | 1;
}

/// Knows positions, not names. With each it keeps a place, from which `name_of(place) -> string_view` gets at the name:
/// a look-up then waits for two things that are not in the cache, the slot and the name. A slot of 64 bits holds
/// position + 1, the place, and some of the hash, so that a miss seldom looks at a name. 11 to 21 bytes a name.
class name_table {
public:
    /// Room for `count` names. Positions are below 2^28.
    ZTENSOR_COLD explicit name_table(size_t count) : key_(process_hash_key()) {
        size_t slots = 4;
        while (slots - slots / 4 <= count) {
            slots *= 2;
        }
        slot_mask_ = slots - 1;
        slots_.reserve(slots);
        advise_huge_pages(slots_.data(), slots * sizeof(uint64_t));
        slots_.assign_zeros(slots);
    }

    /// The answer of find() where there is no such name.
    static constexpr uint32_t absent = 0xffffffff;

    /// Adds the names at `place_of(position)` of positions 0 to count - 1. Stops at a name that is in already, and
    /// returns its position; absent, if there is none. Slots are fetched while the names before are being added.
    template <class PlaceOf, class NameOf>
    [[nodiscard]] ZTENSOR_NOINLINE uint32_t insert_all(uint32_t count, PlaceOf&& place_of, NameOf&& name_of) noexcept {
        constexpr uint32_t ahead = 16;
        uint64_t hashes[ahead];
        for (uint32_t next = 0; next < count + ahead; ++next) {
            if (next >= ahead) {
                const uint32_t position = next - ahead;
                if (!insert(position, place_of(position), hashes[position % ahead], name_of)) {
                    return position;
                }
            }
            if (next < count) {
                const uint64_t hash = hash_name(name_of(place_of(next)), key_);
                prefetch(&slots_[static_cast<size_t>(hash) & slot_mask_]);
                hashes[next % ahead] = hash;
            }
        }
        return absent;
    }

    /// Adds the name at `place` as the one of `position`. False if an equal name is in already.
    template <class NameOf>
    [[nodiscard]] bool insert(uint32_t position, uint32_t place, NameOf&& name_of) noexcept {
        return insert(position, place, hash_name(name_of(place), key_), name_of);
    }

    /// The position of `name`, or absent.
    template <class NameOf>
    [[nodiscard]] uint32_t find(string_view name, NameOf&& name_of) const noexcept {
        const uint64_t found = slots_[probe(name, hash_name(name, key_), name_of)];
        return static_cast<uint32_t>(found & position_mask) - 1; // of an empty slot: absent
    }

private:
    static constexpr unsigned position_bits = 28, place_bits = 32;
    static constexpr uint64_t position_mask = (uint64_t{1} << position_bits) - 1;
    static constexpr uint64_t place_mask = (uint64_t{1} << place_bits) - 1;
    static constexpr uint64_t tag_mask = ~uint64_t{0} << (position_bits + place_bits);

    [[nodiscard]] static uint64_t tag(uint64_t hash) noexcept { return hash & tag_mask; }

    template <class NameOf>
    [[nodiscard]] bool insert(uint32_t position, uint32_t place, uint64_t hash, NameOf&& name_of) noexcept {
        const size_t slot = probe(name_of(place), hash, name_of);
        if (slots_[slot] != 0) {
            return false;
        }
        slots_[slot] = tag(hash) | uint64_t{place} << position_bits | (uint64_t{position} + 1);
        return true;
    }

    static void prefetch([[maybe_unused]] const void* memory) noexcept {
#if defined(__GNUC__) || defined(__clang__)
        __builtin_prefetch(memory, 1);
#endif
    }

    /// The slot that holds `name`, or the empty one where it would go.
    template <class NameOf>
    [[nodiscard]] size_t probe(string_view name, uint64_t hash, NameOf&& name_of) const noexcept {
        size_t at = static_cast<size_t>(hash) & slot_mask_;
        for (;; at = (at + 1) & slot_mask_) {
            const uint64_t slot = slots_[at];
            if (slot == 0 || ((slot & tag_mask) == tag(hash) &&
                              name_of(static_cast<uint32_t>(slot >> position_bits & place_mask)) == name)) {
                return at;
            }
        }
    }

    uint64_t key_;
    size_t slot_mask_ = 0;
    record_array<uint64_t> slots_;
};

// -- growing name table

/// Knows names that come one by one, at the positions 0, 1, 2, ... A slot holds 32 bits of a name's hash beside the
/// position + 1: a table that grows looks at no name, and one that is asked looks at hardly any that is another.
class growing_name_table {
public:
    template <class NameOf>
    [[nodiscard]] uint32_t find(string_view name, NameOf&& name_of) const noexcept {
        if (slots_.empty()) {
            return name_table::absent;
        }
        const uint64_t tag = tag_of(name);
        for (size_t at = first_slot(tag);; at = (at + 1) & (slots_.size() - 1)) {
            const uint64_t slot = slots_[at];
            const uint32_t position = static_cast<uint32_t>(slot) - 1; // of an empty slot: absent
            if (slot == 0 || ((slot & tag_mask) == tag && name_of(position) == name)) {
                return position;
            }
        }
    }

    /// Adds the next name. Of one that stands several times the first is known: the others take no slots, which would
    /// lie one behind the other. Throws std::bad_alloc.
    template <class NameOf>
    void add(NameOf&& name_of) {
        if (size_ >= slots_.size() / 4 * 3) {
            grow();
        }
        if (find(name_of(size_), name_of) == name_table::absent) {
            insert(tag_of(name_of(size_)) | (uint64_t{size_} + 1));
        }
        ++size_;
    }

private:
    static constexpr uint64_t tag_mask = ~uint64_t{0} << 32;

    [[nodiscard]] uint64_t tag_of(string_view name) const noexcept { return hash_name(name, key_) & tag_mask; }
    [[nodiscard]] size_t first_slot(uint64_t tag) const noexcept {
        return static_cast<size_t>(tag >> 32) & (slots_.size() - 1);
    }

    ZTENSOR_COLD void grow() {
        record_array<uint64_t> old;
        old.assign_zeros(slots_.empty() ? 32 : 2 * slots_.size());
        slots_.swap(old);
        for (const uint64_t slot : old) {
            if (slot != 0) {
                insert(slot);
            }
        }
    }

    void insert(uint64_t slot) noexcept {
        size_t at = first_slot(slot);
        while (slots_[at] != 0) {
            at = (at + 1) & (slots_.size() - 1);
        }
        slots_[at] = slot;
    }

    uint64_t key_ = process_hash_key();
    record_array<uint64_t> slots_; ///< a power of two
    uint32_t size_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
