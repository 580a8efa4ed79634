// SPDX-License-Identifier: MIT
//
// What the manifests of all versions have in common: maps of known fields, maps of names, text joined in place,
// attributes made definite. Works on the private copy of the index, which it may change behind the cursor.
// SPEC.md §3.1, §3.5, §3.6.
#ifndef ZTENSOR_DETAIL_INDEX_SCANNER_HPP
#define ZTENSOR_DETAIL_INDEX_SCANNER_HPP

#include <ztensor/detail/cbor.hpp>
#include <ztensor/detail/cbor_encoder.hpp>
#include <ztensor/detail/names.hpp>
#include <ztensor/error.hpp>
#include <ztensor/manifest.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace ztensor {
inline namespace v0 {
namespace detail {

/// The bits that stand for some of `fields` where read_fields() reports what it has seen.
template <std::size_t Count>
[[nodiscard]] constexpr std::uint32_t field_bits(const std::array<std::string_view, Count>& fields,
                                                 std::initializer_list<std::string_view> some) noexcept {
    std::uint32_t bits = 0;
    for (std::size_t field = 0; field < Count; ++field) {
        for (const std::string_view each : some) {
            bits |= fields[field] == each ? 1u << field : 0u;
        }
    }
    return bits;
}

/// A cursor over the index together with what schema maps need. Like the cursor's, its calls return false after the
/// first fault.
class index_scanner {
public:
    explicit index_scanner(span<std::byte> index) noexcept : index_(index), cursor_(index) {}

    [[nodiscard]] cbor_cursor& cursor() noexcept { return cursor_; }
    [[nodiscard]] const cbor_cursor& cursor() const noexcept { return cursor_; }
    [[nodiscard]] std::string_view text(index_item item) const noexcept { return text_at(index_, item); }

    /// Everything has been read and nothing follows.
    bool finish() noexcept {
        if (cursor_.failed() || cursor_.remaining() == 0) {
            return !cursor_.failed();
        }
        return cursor_.fail(errc::cbor_trailing, cursor_.position(), "bytes follow the manifest's root item");
    }

    bool read_text(index_item& out) noexcept {
        cbor_text found;
        if (!cursor_.read_text(found)) {
            return false;
        }
        out = joined_in_place(found);
        return true;
    }

    /// An optional field: an explicit null stands for its absence.
    bool read_text_or_null(index_item& out) noexcept { return take_null() || read_text(out); }

    /// The item that is read next.
    [[nodiscard]] index_item here() const noexcept { return {static_cast<std::uint32_t>(cursor_.position())}; }
    /// True, and passed over, if the next item is null.
    bool take_null() noexcept {
        constexpr std::byte null{0xf6};
        return cursor_.remaining() != 0 && index_[cursor_.position()] == null && cursor_.skip();
    }

    /// A map of which only some fields are known: `on_field(index into names) → bool` reads the value of each of
    /// those; others are passed over. `seen` gets a bit for each. No key may stand twice, known or not.
    template <std::size_t Count, class OnField>
    bool read_fields(const std::array<std::string_view, Count>& names, std::uint32_t& seen, OnField&& on_field) {
        static_assert(Count <= 32);
        cbor_sequence pairs;
        if (!cursor_.enter_map(pairs)) {
            return false;
        }
        const std::size_t own_keys = keys_.size();
        std::size_t field = 0;
        while (cursor_.next(pairs)) {
            const std::size_t position = cursor_.position();
            if (!read_field_key(names, field)) {
                return false;
            }
            if (field == Count) {
                keys_.push_back(static_cast<std::uint32_t>(position));
                cursor_.skip();
                field = 0;
                continue;
            }
            if ((seen & (1u << field)) != 0) {
                return fail_duplicate(position);
            }
            seen |= 1u << field;
            if (!on_field(field)) {
                return false;
            }
        }
        return check_distinct(own_keys);
    }

    /// A map whose keys are names: `on_entry(name) → bool` reads each value. The caller sees to it that no
    /// name stands twice.
    template <class OnEntry>
    bool read_entries(OnEntry&& on_entry) {
        cbor_sequence pairs;
        if (!cursor_.enter_map(pairs)) {
            return false;
        }
        while (cursor_.next(pairs)) {
            cbor_text key;
            if (!cursor_.read_key(key)) {
                return false;
            }
            const index_item name = joined_in_place(key);
            if (!check_name(name) || !on_entry(name)) {
                return false;
            }
        }
        return !cursor_.failed();
    }

    /// The same, with the check that names are distinct.
    template <class OnEntry>
    bool read_named(OnEntry&& on_entry) {
        const std::size_t own_keys = keys_.size();
        return read_entries([&](index_item name) {
                   keys_.push_back(name.position);
                   return on_entry(name);
               }) &&
               check_distinct(own_keys);
    }

    /// Passes over a map of attributes and gives its place. Its keys are made definite on the way, as are the values
    /// of keys for which `joins_value(key)`; all other values stay as they are. Joined text takes fewer bytes, so what
    /// follows moves forward within the index, never past the cursor.
    template <class JoinsValue>
    bool read_attributes(index_item& out, JoinsValue&& joins_value) {
        const std::size_t start = cursor_.position();
        cbor_sequence pairs;
        if (!cursor_.enter_map(pairs)) {
            return false;
        }
        const std::size_t own_keys = keys_.size();
        std::size_t end = cursor_.position(); // of what has been kept
        while (cursor_.next(pairs)) {
            cbor_text key;
            if (!cursor_.read_key(key)) {
                return false;
            }
            const std::size_t key_end = cursor_.position();
            const index_item name = joined_in_place(key);
            if (!check_name(name)) {
                return false;
            }
            const bool joins = joins_value(text(name));
            keys_.push_back(static_cast<std::uint32_t>(end));
            end = keep(key.position, key.is_chunked ? end_of(name) : key_end, end);
            const std::size_t value = cursor_.position();
            if (!cursor_.skip()) {
                return false;
            }
            if (joins && is_chunked_text(value)) {
                cbor_text word;
                cbor_cursor(index_.subspan(value)).read_text(word);
                word.position += value;
                end = keep(value, end_of(joined_in_place(word)), end);
            } else {
                end = keep(value, cursor_.position(), end);
            }
        }
        if (pairs.is_indefinite) {
            end = keep(cursor_.position() - 1, cursor_.position(), end); // the break
        }
        out = {static_cast<std::uint32_t>(start)};
        return check_distinct(own_keys);
    }
    bool read_attributes(index_item& out) {
        return read_attributes(out, [](std::string_view) { return false; });
    }

    /// Reads `item`, which lies inside `enclosing` others and was passed before, with `read() → bool`, and comes back.
    template <class Read>
    bool read_again(index_item item, std::size_t enclosing, Read&& read) {
        const cbor_cursor rest = cursor_;
        cursor_ = cbor_cursor(index_, enclosing, item.position);
        if (!read()) {
            return false;
        }
        cursor_ = rest;
        return true;
    }

    bool check_name(index_item name) noexcept {
        const char* const problem = name_problem(text(name));
        return problem == nullptr || cursor_.fail(errc::name_invalid, name.position, problem);
    }

    bool fail_duplicate(std::size_t position) noexcept {
        return cursor_.fail(errc::duplicate_key, position, "a key stands twice in one map");
    }

private:
    /// The next key as a position in `names`, or Count if it is none of them. Writers keep to one order: the search
    /// starts where the last one ended.
    template <std::size_t Count>
    bool read_field_key(const std::array<std::string_view, Count>& names, std::size_t& field) noexcept {
        for (; field < Count; ++field) {
            if (cursor_.take_word(names[field])) {
                return true;
            }
        }
        cbor_text key;
        if (!cursor_.read_key(key)) {
            return false;
        }
        const std::string_view word = key.is_chunked ? text(joined_in_place(key)) : key.text;
        field = static_cast<std::size_t>(std::find(names.begin(), names.end(), word) - names.begin());
        return true;
    }

    /// The text's place in the index, where it is definite from now on. Chunks are joined where they stand, behind a
    /// definite head: that never takes more bytes than the chunks did.
    index_item joined_in_place(const cbor_text& found) noexcept {
        const index_item item = {static_cast<std::uint32_t>(found.position)};
        if (!found.is_chunked) {
            return item;
        }
        const bytes_view chunks = as_bytes(found.text);
        std::size_t length = 0;
        for (cbor_cursor each(chunks); each.remaining() != 0;) {
            cbor_text chunk;
            each.read_text(chunk);
            length += chunk.text.size();
        }
        // First to the front, where every chunk moves forward; then behind the head, which may be longer than that.
        std::byte* const front = index_.data() + found.position + 1;
        std::byte* out = front;
        for (cbor_cursor each(chunks); each.remaining() != 0;) {
            cbor_text chunk;
            each.read_text(chunk);
            std::memmove(out, chunk.text.data(), chunk.text.size());
            out += chunk.text.size();
        }
        const std::size_t head = encoded_head_bytes(length);
        std::memmove(index_.data() + found.position + head, front, length);
        write_text_head(found.position, length);
        return item;
    }

    [[nodiscard]] static std::size_t encoded_head_bytes(std::size_t length) noexcept {
        return length < 24 ? 1 : length <= 0xff ? 2 : length <= 0xffff ? 3 : 5;
    }

    void write_text_head(std::size_t position, std::size_t length) noexcept {
        constexpr auto text_major = static_cast<unsigned>(cbor_major::text) << 5;
        const std::size_t size = encoded_head_bytes(length);
        const auto info = size == 1 ? static_cast<unsigned>(length) : size == 2 ? 24u : size == 3 ? 25u : 26u;
        index_[position] = static_cast<std::byte>(text_major | info);
        store_big(length, index_.data() + position + 1, size - 1);
    }

    [[nodiscard]] bool is_chunked_text(std::size_t position) const noexcept {
        constexpr std::byte indefinite_text{0x7f};
        return index_[position] == indefinite_text;
    }

    /// Moves [from, to) to `end`; returns the new end.
    std::size_t keep(std::size_t from, std::size_t to, std::size_t end) noexcept {
        if (from != end) {
            std::memmove(index_.data() + end, index_.data() + from, to - from);
        }
        return end + (to - from);
    }
    /// Where a text ends.
    [[nodiscard]] std::size_t end_of(index_item item) const noexcept {
        const bytes_view content = as_bytes(text(item));
        return static_cast<std::size_t>(content.end() - index_.data());
    }

    /// The keys noted since `own_keys` are distinct. Names mostly come sorted; only others are sorted here.
    bool check_distinct(std::size_t own_keys) {
        if (cursor_.failed()) {
            return false;
        }
        if (keys_.size() - own_keys < 2) {
            keys_.resize(own_keys);
            return true;
        }
        const auto first = keys_.begin() + static_cast<std::ptrdiff_t>(own_keys);
        const auto less = [this](std::uint32_t a, std::uint32_t b) { return text({a}) < text({b}); };
        const auto not_less = [&](std::uint32_t a, std::uint32_t b) { return !less(a, b); };
        if (std::adjacent_find(first, keys_.end(), not_less) != keys_.end()) {
            std::sort(first, keys_.end(), less);
            const auto twin = std::adjacent_find(first, keys_.end(), not_less);
            if (twin != keys_.end()) {
                return fail_duplicate(twin[1]);
            }
        }
        keys_.resize(own_keys);
        return true;
    }

    span<std::byte> index_;
    cbor_cursor cursor_;
    std::vector<std::uint32_t> keys_; ///< positions of the keys of the maps that are open, innermost last
};

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
