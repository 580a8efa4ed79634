// SPDX-License-Identifier: MIT
//
// The fields that a map of the index may have, found by their keys whatever their order is: a key is compared as one or
// two numbers. SPEC.md §3.
#ifndef ZTENSOR_DETAIL_MANIFEST_KNOWN_FIELDS_HPP
#define ZTENSOR_DETAIL_MANIFEST_KNOWN_FIELDS_HPP

#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/span.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Borrows what a field_names keeps.
struct known_fields {
    const std::string_view* names;
    const std::uint64_t* starts; ///< of the keys in their shortest form: the head and 7 characters
    std::size_t count;           ///< at most 32
    std::uint32_t sizes;         ///< a bit for each size that a name has

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
            has_start = has_start || (starts[field] & 0xffff) == load_little(key, 2);
        }
        return has_start;
    }
};

/// Names of fields, each of less than 24 bytes.
template <std::size_t Count>
class field_names {
public:
    explicit constexpr field_names(span<const std::string_view> names) noexcept : names_(names.data()) {
        constexpr std::uint64_t empty_text = 0x60;
        for (std::size_t field = 0; field < Count; ++field) {
            const std::string_view name = names[field];
            starts_[field] = empty_text | name.size();
            for (std::size_t i = 0; i < 7 && i < name.size(); ++i) {
                starts_[field] |= static_cast<std::uint64_t>(name[i]) << 8 * (i + 1);
            }
            sizes_ |= std::uint32_t{1} << name.size();
        }
    }

    constexpr operator known_fields() const noexcept { return {names_, starts_, Count, sizes_}; }

private:
    const std::string_view* names_;
    std::uint64_t starts_[Count] = {};
    std::uint32_t sizes_ = 0;
};
template <std::size_t Count>
field_names(const std::string_view (&)[Count]) -> field_names<Count>;
template <std::size_t Count>
field_names(const std::array<std::string_view, Count>&) -> field_names<Count>;

/// The field whose key, in its shortest form, stands at `key`; `count` if none does. 24 bytes of anything can be read
/// there.
[[nodiscard]] inline std::size_t field_at(const known_fields& known, const std::byte* key) noexcept {
    const std::uint64_t bytes = load_little_64(key);
    const auto size = static_cast<std::size_t>(bytes & 0x1f);
    const std::uint64_t start = size < 7 ? bytes & ((std::uint64_t{1} << 8 * (size + 1)) - 1) : bytes;
    std::size_t field = 0;
    while (field < known.count && known.starts[field] != start) {
        ++field;
    }
    for (std::size_t i = 7; field < known.count && i < size; i += 8) { // what is behind, of which the last may overlap
        const std::size_t at = i + 8 <= size ? i : size - 8;
        if (load_little_64(key + 1 + at) != load_little_64(as_bytes(known.names[field]).data() + at)) {
            return known.count;
        }
    }
    return field;
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

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
