// SPDX-License-Identifier: MIT
//
// Fields of maps in an index, by their keys. SPEC.md section 3, section 8.3.
#ifndef ZTENSOR_DETAIL_INDEX_FIELDS_HPP
#define ZTENSOR_DETAIL_INDEX_FIELDS_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- fields 0 1
//
// The fields of a 0.1 tensor. Every other key of its map is a custom one: an attribute. SPEC.md section 8.3.

/// In an order in which the fields of every layout stand side by side: see field_keys_0_1.
inline constexpr std::array<std::string_view, 13> fields_0_1 = {
    "indptr", "indices",  "sparse_format",   "name",     "offset", "size", "dtype", "layout",
    "shape",  "encoding", "data_endianness", "checksum", "coords",
};
/// Where a field stands there.
[[nodiscard]] constexpr std::size_t field_0_1(std::string_view name) noexcept {
    std::size_t place = 0;
    while (fields_0_1[place] != name) {
        ++place;
    }
    return place;
}

inline constexpr std::string_view spelled_sparse_0_1 = "sparse";

/// The keys that are fields. What only some layouts have is a custom key elsewhere: sparse_format beside any other
/// layout than "sparse" or with a word that is unknown, the index arrays wherever the blob holds the indices itself.
[[nodiscard]] inline span<const std::string_view>
field_keys_0_1(std::string_view layout_word, std::optional<format> layout, bool blob_holds_indices) noexcept {
    const bool has_sparse_format = layout_word == spelled_sparse_0_1 && layout;
    const bool has_index_arrays = has_sparse_format && !blob_holds_indices;
    const std::size_t begin = has_index_arrays && layout == format::sparse_csr ? 0 : has_sparse_format ? 2 : 3;
    const std::size_t end = has_index_arrays && layout == format::sparse_coo ? 13 : 12;
    return span<const std::string_view>(fields_0_1).subspan(begin, end - begin);
}

/// How many items an encoded array of non-negative integers has; nothing for any other item.
[[nodiscard]] ZTENSOR_COLD inline std::optional<std::uint64_t> count_numbers(cbor_cursor array) noexcept {
    cbor_sequence items;
    std::uint64_t count = 0;
    std::uint64_t number = 0;
    for (array.enter_array(items); array.next(items) && array.read_unsigned(number);) {
        ++count;
    }
    return array.failed() ? std::nullopt : std::optional(count);
}

// -- known fields
//
// The fields that a map of the index may have, found by their keys whatever their order is: a key is compared as one or
// two numbers. SPEC.md section 3.

/// A key in its shortest form: the head and the characters, in the three words that fewer than 24 of them take.
struct known_key {
    std::uint64_t words[3] = {};
    std::uint64_t kept[3] = {}; ///< the bits of them that are the key's own

    /// Whether it stands at `key`, where the first word is `first`. 24 bytes of anything can be read there.
    [[nodiscard]] bool stands_at(const std::byte* key, std::uint64_t first) const noexcept {
        const std::uint64_t second = load_little_64(key + 8);
        const bool has_two = (((first ^ words[0]) & kept[0]) | ((second ^ words[1]) & kept[1])) == 0;
        return has_two && (kept[2] == 0 || ((load_little_64(key + 16) ^ words[2]) & kept[2]) == 0);
    }
};

/// The one key that may stand where a first word is met, found without asking for each: a processor has nothing to
/// guess.
struct key_places {
    static constexpr unsigned slot_bits = 5;

    std::uint64_t multiplier = 1;
    unsigned unused_bits = 0; ///< of the first word
    std::uint8_t slots[1u << slot_bits] = {};

    [[nodiscard]] constexpr std::size_t slot_of(std::uint64_t first) const noexcept {
        return static_cast<std::size_t>((first << unused_bits) * multiplier >> (64 - slot_bits));
    }
};

/// Borrows what a field_names keeps.
struct known_fields {
    const std::string_view* names;
    const known_key* keys;
    const key_places* places;
    std::size_t count;   ///< at most 32
    std::uint32_t sizes; ///< a bit for each size that a name has

    /// Whether the text at `key` may be one of the names, by its first byte.
    [[nodiscard]] bool has_size_of(const std::byte* key) const noexcept {
        constexpr unsigned empty_text = 0x60, sizes_in_a_head = 24;
        const unsigned size = std::to_integer<unsigned>(*key) - empty_text;
        return size >= sizes_in_a_head || (sizes >> size & 1) != 0;
    }
    /// Whether one of the names of its size has the first character of the text at `key`, or it has a longer head.
    [[nodiscard]] bool has_start_of(const std::byte* key) const noexcept {
        constexpr unsigned longest_short_text = 0x77;
        bool has_start = std::to_integer<unsigned>(*key) > longest_short_text;
        for (std::size_t field = 0; field < count; ++field) {
            has_start = has_start || (keys[field].words[0] & 0xffff) == load_little(key, 2);
        }
        return has_start;
    }
};

/// Names of fields, or other words: each of less than 24 bytes, and their heads and as many characters as the shortest
/// has differ.
template <std::size_t Count>
class field_names {
public:
    explicit constexpr field_names(span<const std::string_view> names) noexcept : names_(names.data()) {
        std::size_t told_apart_by = 8; // bytes
        for (std::size_t field = 0; field < Count; ++field) {
            keys_[field] = key_of(names[field]);
            sizes_ |= std::uint32_t{1} << names[field].size();
            told_apart_by = names[field].size() + 1 < told_apart_by ? names[field].size() + 1 : told_apart_by;
        }
        places_.unused_bits = static_cast<unsigned>(8 * (8 - told_apart_by));
        do {
            places_.multiplier += 0x9e3779b97f4a7c14u; // which stays odd
        } while (!fill_slots());
    }

    constexpr operator known_fields() const noexcept { return {names_, keys_, &places_, Count, sizes_}; }

private:
    [[nodiscard]] static constexpr known_key key_of(std::string_view name) noexcept {
        constexpr std::uint64_t empty_text = 0x60;
        known_key key;
        for (std::size_t i = 0; i <= name.size(); ++i) {
            const std::uint64_t byte = i == 0 ? empty_text | name.size() : static_cast<std::uint64_t>(name[i - 1]);
            key.words[i / 8] |= byte << 8 * (i % 8);
            key.kept[i / 8] |= std::uint64_t{0xff} << 8 * (i % 8);
        }
        return key;
    }
    /// False if two keys would have one place.
    [[nodiscard]] constexpr bool fill_slots() noexcept {
        std::uint64_t taken = 0;
        for (std::size_t field = 0; field < Count; ++field) {
            const std::size_t slot = places_.slot_of(keys_[field].words[0]);
            if ((taken >> slot & 1) != 0) {
                return false;
            }
            taken |= std::uint64_t{1} << slot;
            places_.slots[slot] = static_cast<std::uint8_t>(field);
        }
        return true;
    }

    const std::string_view* names_;
    known_key keys_[Count];
    key_places places_;
    std::uint32_t sizes_ = 0;
};
template <std::size_t Count>
field_names(const std::string_view (&)[Count]) -> field_names<Count>;
template <std::size_t Count>
field_names(const std::array<std::string_view, Count>&) -> field_names<Count>;

/// The field whose key, in its shortest form, stands at `key`; `count` if none does. 24 bytes of anything can be read
/// there.
[[nodiscard]] inline std::size_t field_at(const known_fields& known, const std::byte* key) noexcept {
    const std::uint64_t first = load_little_64(key);
    const std::size_t field = known.places->slots[known.places->slot_of(first)];
    return known.keys[field].stands_at(key, first) ? field : known.count;
}

/// Behind a key that was found: told by its head alone, so that a processor need not wait for which it is.
[[nodiscard]] inline const std::byte* behind_key(const std::byte* key) noexcept {
    return key + 1 + (std::to_integer<std::size_t>(*key) & 0x1f);
}

/// The bits that stand for some of `fields` in field_walk::seen.
[[nodiscard]] constexpr std::uint32_t field_bits(span<const std::string_view> fields,
                                                 std::initializer_list<std::string_view> some) noexcept {
    std::uint32_t bits = 0;
    for (std::size_t field = 0; field < fields.size(); ++field) {
        for (const std::string_view each : some) {
            bits |= fields[field] == each ? 1u << field : 0u;
        }
    }
    return bits;
}

// -- met fields
//
// What the general way meets in an object that may differ in others which are encoded alike. SPEC.md section 3.

/// What may differ from one object to the next that is encoded alike.
enum class pattern_field : std::uint8_t { shape, offset, length, uncompressed_length, digits, text, number };

/// Where the general way met a field's value in the index: [begin, end).
struct met_field {
    pattern_field field;
    std::uint32_t begin;
    std::uint32_t end;
};

/// What was met in an object on the general way, and in its components.
class met_fields {
public:
    static constexpr std::size_t most_passed = 8;

    void clear() noexcept { count_ = passed_ = 0; }
    /// An item that is passed over: where a number or a text stands, others may.
    void add_passed(bytes_view index, std::size_t begin, std::size_t end) noexcept {
        if (passed_ == most_passed) {
            return;
        }
        const auto head = std::to_integer<unsigned>(index[begin]);
        const unsigned major = head >> 5, info = head & 31;
        if (major < 2 || (major == 7 && info > 24 && info < 28)) {
            add_passed(pattern_field::number, begin, end);
        } else if (major == 3 && info <= 24) {
            add_passed(pattern_field::text, begin + (info < 24 ? 1 : 2), end);
        }
    }
    void add_passed(pattern_field field, std::size_t begin, std::size_t end) noexcept {
        if (passed_ < most_passed && begin != end) {
            ++passed_;
            add(field, begin, end);
        }
    }
    void add(pattern_field field, std::size_t begin, std::size_t end) noexcept {
        if (count_ < most) {
            fields_[count_++] = {field, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
        }
    }
    [[nodiscard]] span<const met_field> all() const noexcept { return {fields_, count_}; }

private:
    static constexpr std::size_t most = 33 + most_passed; // of eight components, and a shape
    met_field fields_[most];
    std::size_t count_ = 0;
    std::size_t passed_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
