// SPDX-License-Identifier: MIT
//
// Walking an index: maps of known fields, maps of names, text in chunks. SPEC.md section 3.1, section 3.5.
#ifndef ZTENSOR_DETAIL_INDEX_SCANNER_HPP
#define ZTENSOR_DETAIL_INDEX_SCANNER_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/index/fields.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/index/pattern.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- chunked text
//
// Text in chunks, made definite where it stands in the private copy of the index. SPEC.md section 3.1.

/// How many bytes the shortest head of a text of so many takes.
[[nodiscard]] inline std::size_t text_head_bytes(std::size_t length) noexcept {
    return length < 24 ? 1 : length <= 0xff ? 2 : length <= 0xffff ? 3 : 5;
}

inline void write_text_head(std::byte* at, std::size_t length) noexcept {
    constexpr auto text_major = static_cast<unsigned>(cbor_major::text) << 5;
    const std::size_t size = text_head_bytes(length);
    const auto info = size == 1 ? static_cast<unsigned>(length) : size == 2 ? 24u : size == 3 ? 25u : 26u;
    *at = static_cast<std::byte>(text_major | info);
    store_big(length, at + 1, size - 1);
}

/// Joins the chunks of a text that was passed over, behind a definite head: that never takes more bytes than the chunks
/// did.
ZTENSOR_COLD inline void join_chunks(span<std::byte> index, const cbor_text& found) noexcept {
    const bytes_view chunks = as_bytes(found.text);
    std::size_t length = 0;
    for (cbor_cursor each(chunks); each.remaining() != 0;) {
        cbor_text chunk;
        each.read_text(chunk);
        length += chunk.text.size();
    }
    // First to the front, where every chunk moves forward; then behind the head, which may be longer than that.
    std::byte* const text = index.data() + found.position;
    std::byte* const front = text + 1;
    std::byte* out = front;
    for (cbor_cursor each(chunks); each.remaining() != 0;) {
        cbor_text chunk;
        each.read_text(chunk);
        std::memmove(out, chunk.text.data(), chunk.text.size());
        out += chunk.text.size();
    }
    std::memmove(text + text_head_bytes(length), front, length);
    write_text_head(text, length);
}

// -- distinct
//
// That no key stands twice in a map. SPEC.md section 3.5.

/// A first look at keys of a map, which stand at positions of an index: most come sorted, and then none stands twice.
/// pattern::reach_bytes follow the index.
[[nodiscard]] ZTENSOR_NOINLINE inline bool are_keys_sorted(bytes_view index, span<const std::uint32_t> keys) noexcept {
    std::string_view last;
    for (const std::uint32_t position : keys) {
        const std::string_view next = text_at(index, {position});
        if (position != keys[0] && !is_name_before(last, next)) {
            return false;
        }
        last = next;
    }
    return true;
}

/// The first position at which a key stands that stood before, or 0. Takes time linear in the bytes of the keys, in
/// whatever order they are: they are hashed with a seed that the file's author can't know. Throws std::bad_alloc:
/// takes 6 bytes for each of many keys, 12 where they stand for more than 16 of the index.
[[nodiscard]] ZTENSOR_COLD inline std::uint32_t find_twin(bytes_view index, span<const std::uint32_t> keys) {
    constexpr std::uint32_t position_bits = 30;
    constexpr std::uint32_t position_mask = (std::uint32_t{1} << position_bits) - 1;
    std::uint32_t room_for_few[64] = {};
    record_array<std::uint32_t> room_for_many;
    span<std::uint32_t> slots(room_for_few);
    if (keys.size() > slots.size() / 2) {
        const bool are_few = (keys.back() - keys.front()) / 16 > keys.size(); // for the bytes that they stand in
        room_for_many.assign_zeros(are_few ? 3 * keys.size() : keys.size() + keys.size() / 2);
        slots = room_for_many;
    }
    const std::uint64_t seed = process_hash_key();
    for (const std::uint32_t position : keys) {
        const std::string_view key = text_at(index, {position});
        const std::uint64_t hash = hash_name(key, seed);
        // A slot holds a position and two bits of the hash, which tell most different keys apart.
        const std::uint32_t mark = static_cast<std::uint32_t>(hash) << position_bits;
        auto at = static_cast<std::size_t>((hash >> 32) * slots.size() >> 32);
        for (; slots[at] != 0; at = at + 1 < slots.size() ? at + 1 : 0) {
            if ((slots[at] & ~position_mask) == mark && text_at(index, {slots[at] & position_mask}) == key) {
                return position;
            }
        }
        slots[at] = mark | position;
    }
    return 0;
}

// -- scanner
//
// What the manifests of all versions have in common: maps of known fields, maps of names, text joined in place,
// attributes made definite. Works on the private copy of the index, which it may change behind the cursor.
// SPEC.md section 3.1, section 3.5, section 3.6.

/// A map of which only some fields are known, while it is walked: scanner.enter(), next_field() ..., leave().
struct field_walk {
    template <std::size_t Count>
    explicit constexpr field_walk(const field_names<Count>& fields) noexcept : known(fields), field(Count) {}

    known_fields known;
    std::size_t field;      ///< the one whose value is to be read
    std::uint32_t seen = 0; ///< a bit for each field so far
    cbor_sequence pairs;
    std::size_t outer_keys = 0; ///< noted before this map was entered
};

/// A map whose keys are names, while it is walked: scanner.enter(), next_name() ..., leave().
struct name_walk {
    index_item name; ///< the one whose value is to be read
    cbor_sequence pairs;
    std::size_t outer_keys = 0;
};

/// A cursor over the index together with what schema maps need. Like the cursor's, its calls return false after the
/// first fault. pattern::reach_bytes of anything follow the index.
class index_scanner {
public:
    /// Notes in `passed` what it passes over. A name may be empty where the index was made of a foreign header.
    index_scanner(span<std::byte> index, bool is_foreign, met_fields& passed) noexcept
        : index_(index), cursor_(index), passed_(passed), allows_empty_names_(is_foreign) {}

    [[nodiscard]] cbor_cursor& cursor() noexcept { return cursor_; }
    [[nodiscard]] const cbor_cursor& cursor() const noexcept { return cursor_; }
    [[nodiscard]] std::string_view text(index_item item) const noexcept { return text_at(index_, item); }

    /// How often text was joined behind the cursor.
    [[nodiscard]] std::size_t changes() const noexcept { return changes_; }

    /// Everything has been read and nothing follows.
    bool finish() noexcept {
        if (cursor_.failed() || cursor_.remaining() == 0) {
            return !cursor_.failed();
        }
        return cursor_.fail(errc::cbor_trailing, cursor_.position(), "bytes follow the manifest's root item");
    }

    ZTENSOR_NOINLINE bool read_text(index_item& out) noexcept {
        out = here();
        if (take_plain_name()) { // as nearly all words are, too
            return true;
        }
        cbor_text found;
        if (!cursor_.read_text(found)) {
            return false;
        }
        out = joined_in_place(found);
        return true;
    }

    /// An optional field: an explicit null stands for its absence.
    ZTENSOR_NOINLINE bool read_text_or_null(index_item& out) noexcept { return take_null() || read_text(out); }

    ZTENSOR_NOINLINE bool read_unsigned(std::uint64_t& value) noexcept {
        const std::byte* const end = pass_unsigned(index_.data() + cursor_.position(), value);
        if (end == nullptr || end > index_.end()) {
            return cursor_.read_unsigned(value); // which says what is wrong
        }
        cursor_.go_to(static_cast<std::size_t>(end - index_.data()));
        return true;
    }

    /// The item that is read next.
    [[nodiscard]] index_item here() const noexcept { return {static_cast<std::uint32_t>(cursor_.position())}; }
    /// True, and passed over, if the next item is null.
    bool take_null() noexcept {
        constexpr std::byte null{0xf6};
        return cursor_.remaining() != 0 && index_[cursor_.position()] == null && cursor_.skip();
    }

    bool enter(field_walk& walk) noexcept {
        walk.outer_keys = keys_.size();
        return cursor_.enter_map(walk.pairs);
    }

    /// Goes to the value of the next field that is known, passing over others. False at the end of the map, and after
    /// a fault; a key that stands twice is one.
    ZTENSOR_NOINLINE bool next_field(field_walk& walk) {
        while (cursor_.next(walk.pairs)) {
            const std::size_t position = cursor_.position();
            if (!take_field_key(walk) && !read_unusual_key(walk)) {
                return false;
            }
            if (walk.field < walk.known.count) {
                const std::uint32_t bit = 1u << walk.field;
                if ((walk.seen & bit) != 0) {
                    return fail_duplicate(position);
                }
                walk.seen |= bit;
                return true;
            }
            keys_.push_back(static_cast<std::uint32_t>(position));
            const std::size_t value = cursor_.position();
            if (cursor_.skip()) {
                passed_.add_passed(index_, value, cursor_.position());
                pass_short_pairs(walk.pairs, &walk.known); // where one is unknown, others are
            }
        }
        return false;
    }

    /// At the end of the map: no unknown key stands twice, either. Where there is one alone, others of its size may
    /// stand, if they start otherwise than those that are known.
    bool leave(const field_walk& walk) {
        if (keys_.size() - walk.outer_keys == 1 && !cursor_.failed()) {
            const std::size_t position = keys_.back();
            const std::byte* const key = index_.data() + position;
            const std::size_t start = walk.known.has_size_of(key) ? 2 : 1;
            if (start == 1 || !walk.known.has_start_of(key)) {
                passed_.add_passed(pattern_field::text, position + start, end_of({keys_.back()}));
            }
        }
        return check_distinct(walk.outer_keys);
    }

    bool enter(name_walk& walk) noexcept {
        walk.outer_keys = keys_.size();
        return cursor_.enter_map(walk.pairs);
    }

    /// Goes to the value of the next name. False at the end of the map, and after a fault.
    ZTENSOR_NOINLINE bool next_name(name_walk& walk) noexcept {
        std::size_t end = 0;
        return cursor_.next(walk.pairs) && read_name(walk.name, end);
    }

    /// Notes the name for leave(), which sees to it that none stands twice; a caller with a table of its own does not.
    void note_name(index_item name) { keys_.push_back(name.position); }
    bool leave(const name_walk& walk) { return check_distinct(walk.outer_keys); }

    /// Passes over a map of attributes and gives its place. Its keys are made definite on the way, as are the values of
    /// the keys in `joined_values`; all other values stay as they are. Joined text takes fewer bytes, so what follows
    /// moves forward within the index, never past the cursor.
    ZTENSOR_NOINLINE bool read_attributes(index_item& out, span<const std::string_view> joined_values = {}) {
        const std::size_t start = cursor_.position();
        cbor_sequence pairs;
        if (!cursor_.enter_map(pairs)) {
            return false;
        }
        const std::size_t outer_keys = keys_.size();
        pass_short_pairs(pairs, nullptr);
        std::size_t end = cursor_.position(); // of what has been kept
        while (cursor_.next(pairs)) {
            index_item name;
            std::size_t name_end = 0;
            if (!read_name(name, name_end)) {
                return false;
            }
            const std::size_t value = cursor_.position();
            if (!cursor_.skip()) {
                return false;
            }
            passed_.add_passed(index_, value, cursor_.position());
            const bool joins = is_chunked_text(value) && place_of(text(name), joined_values) != joined_values.size();
            keys_.push_back(static_cast<std::uint32_t>(end));
            end = keep(name.position, name_end, end);
            end = keep(value, joins ? end_of(join_text(value)) : cursor_.position(), end);
        }
        if (pairs.is_indefinite) {
            end = keep(cursor_.position() - 1, cursor_.position(), end); // the break
        }
        out = {static_cast<std::uint32_t>(start)};
        return check_distinct(outer_keys);
    }

    /// From here on reads `item`, which lies inside `enclosing` others and was passed before. Returns where it was, for
    /// go_on().
    [[nodiscard]] cbor_cursor go_back(index_item item, std::size_t enclosing) noexcept {
        const cbor_cursor rest = cursor_;
        cursor_ = cbor_cursor(index_, enclosing, item.position);
        return rest;
    }
    void go_on(const cbor_cursor& rest) noexcept { cursor_ = rest; }

    /// Of a text that was read.
    ZTENSOR_COLD bool check_name(index_item name) noexcept {
        const bool is_allowed = allows_empty_names_ && text(name).empty();
        const char* const problem = is_allowed ? nullptr : utf8_name_problem(text(name));
        return problem == nullptr || cursor_.fail(errc::name_invalid, name.position, problem);
    }

    ZTENSOR_COLD bool fail_duplicate(std::size_t position) noexcept {
        return cursor_.fail(errc::duplicate_key, position, "a key stands twice in one map");
    }

private:
    /// Reads a name and makes it definite. It then ends at `end`: before the cursor, if it was in chunks.
    bool read_name(index_item& name, std::size_t& end) noexcept {
        name = here();
        if (!take_plain_name()) {
            return read_unusual_name(name, end);
        }
        end = cursor_.position();
        return true;
    }

    /// Passes over the next item if it is a name of ASCII that is not long, as nearly all are; else stays where it is.
    ZTENSOR_NOINLINE bool take_plain_name() noexcept {
        std::string_view name;
        const std::byte* const end = pass_name(index_.data() + cursor_.position(), name);
        if (end == nullptr || end > index_.end()) {
            return false;
        }
        cursor_.go_to(static_cast<std::size_t>(end - index_.data()));
        return true;
    }

    /// Passes over pairs for as long as a plain name, which is of no size that a known one has, is followed by a short
    /// item, and notes their keys. One loop over them takes 8 to 20 % less than next_field() and read_attributes() do:
    /// where the next begins need not be written to memory and read again.
    ZTENSOR_NOINLINE void pass_short_pairs(cbor_sequence& pairs, const known_fields* known) {
        const std::byte* const begin = index_.data();
        const std::byte* key = begin + cursor_.position();
        while (pairs.is_indefinite || pairs.remaining != 0) {
            std::string_view name;
            const bool may_be_known = known != nullptr && known->has_size_of(key);
            const std::byte* const value = may_be_known ? nullptr : pass_name(key, name);
            const std::size_t value_bytes = value != nullptr ? short_item_bytes(*value) : 0;
            if (value_bytes == 0 || value >= index_.end() ||
                static_cast<std::size_t>(index_.end() - value) < value_bytes) {
                break;
            }
            keys_.push_back(static_cast<std::uint32_t>(key - begin));
            key = value + value_bytes;
            passed_.add_passed(index_, static_cast<std::size_t>(value - begin), static_cast<std::size_t>(key - begin));
            pairs.remaining -= pairs.is_indefinite ? 0 : 1;
        }
        cursor_.go_to(static_cast<std::size_t>(key - begin));
    }

    ZTENSOR_COLD bool read_unusual_name(index_item name, std::size_t& end) noexcept {
        cbor_text key;
        if (!cursor_.read_key(key)) {
            return false;
        }
        end = end_of(joined_in_place(key));
        return check_name(name);
    }

    /// Makes the text at `position`, which has been passed over and is in chunks, definite.
    ZTENSOR_COLD index_item join_text(std::size_t position) noexcept {
        cbor_text word;
        cbor_cursor(index_.subspan(position)).read_text(word);
        word.position += position;
        return joined_in_place(word);
    }

    /// Passes over the next key if it is that of one of the walk's fields in its shortest form, as nearly all are, or
    /// of none of their sizes; else stays where it is.
    bool take_field_key(field_walk& walk) noexcept {
        const std::byte* const key = index_.data() + cursor_.position();
        walk.field = walk.known.count;
        if (!walk.known.has_size_of(key)) {
            return take_plain_name();
        }
        walk.field = field_at(walk.known, key);
        if (walk.field == walk.known.count) {
            return false;
        }
        const std::byte* const end = behind_key(key);
        if (end > index_.end()) {
            return false;
        }
        cursor_.go_to(static_cast<std::size_t>(end - index_.data()));
        return true;
    }

    /// The next key as a position in the walk's names, or behind them if it is none.
    ZTENSOR_COLD bool read_unusual_key(field_walk& walk) noexcept {
        index_item key;
        if (!read_text_of_key(key)) {
            return false;
        }
        walk.field = place_of(text(key), span<const std::string_view>(walk.known.names, walk.known.count));
        return true;
    }

    bool read_text_of_key(index_item& key) noexcept {
        key = here();
        if (take_plain_name()) {
            return true;
        }
        cbor_text found;
        if (!cursor_.read_key(found)) {
            return false;
        }
        key = joined_in_place(found);
        return true;
    }

    /// The text's place in the index, where it is definite from now on.
    ZTENSOR_COLD index_item joined_in_place(const cbor_text& found) noexcept {
        if (found.is_chunked) {
            ++changes_;
            join_chunks(index_, found);
        }
        return {static_cast<std::uint32_t>(found.position)};
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

    /// The keys noted since `outer_keys` are distinct, and are forgotten.
    bool check_distinct(std::size_t outer_keys) {
        if (keys_.size() - outer_keys > 1 || cursor_.failed()) {
            return check_distinct_keys(outer_keys);
        }
        keys_.truncate(outer_keys);
        return true;
    }

    ZTENSOR_NOINLINE bool check_distinct_keys(std::size_t outer_keys) {
        if (cursor_.failed()) {
            return false;
        }
        const span<const std::uint32_t> own = span<const std::uint32_t>(keys_).subspan(outer_keys);
        const std::uint32_t twin = are_keys_sorted(index_, own) ? 0 : find_twin(index_, own);
        keys_.truncate(outer_keys);
        return twin == 0 || fail_duplicate(twin);
    }

    span<std::byte> index_;
    cbor_cursor cursor_;
    met_fields& passed_;
    bool allows_empty_names_;
    std::size_t changes_ = 0;
    record_array<std::uint32_t> keys_; ///< positions of the keys of the maps that are open, innermost last
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
