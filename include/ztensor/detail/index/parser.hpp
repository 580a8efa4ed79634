// SPDX-License-Identifier: MIT
//
// An index to the model: what parsing one of any version takes. What stands in an object of which version is in
// parse.hpp and parse_2.hpp. SPEC.md section 3.
#ifndef ZTENSOR_DETAIL_INDEX_PARSER_HPP
#define ZTENSOR_DETAIL_INDEX_PARSER_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/index/record_template.hpp>
#include <ztensor/detail/index/scan.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The key of a field, of less than 24 bytes, and how it starts in its shortest form: most keys are told by that.
struct field_key {
    constexpr field_key(const char* text) noexcept : field_key(string_view(text)) {}
    explicit constexpr field_key(string_view text) noexcept : name(text), start(uint64_t{0x60} | text.size()) {
        for (size_t i = 0; i < 7; ++i) {
            const bool is_in = i < name.size();
            start |= is_in ? static_cast<uint64_t>(name[i]) << 8 * (i + 1) : 0;
            kept |= is_in ? uint64_t{0xff} << 8 * (i + 1) : 0;
        }
    }

    /// Whether it stands at `at` in its shortest form, where the first eight bytes are `first`.
    [[nodiscard]] bool stands_at(const byte* at, uint64_t first) const noexcept {
        return ((first ^ start) & kept) == 0 &&
               (name.size() <= 7 || std::memcmp(at + 8, name.data() + 7, name.size() - 7) == 0);
    }

    string_view name;
    uint64_t start;
    uint64_t kept = 0xff; ///< the bits of the eight bytes that are its own
};

/// A map of which some fields are known, while read_fields() parses it.
struct field_walk {
    explicit field_walk(span<const field_key> fields, bool has_names = false) noexcept
        : known(fields), keys_are_names(has_names) {}

    span<const field_key> known; ///< at most 32
    bool keys_are_names;         ///< all of them
    size_t field = 0;            ///< the one whose value is to be read
    size_t next = 0;             ///< the one behind it
    uint32_t seen = 0;           ///< a bit for each field so far
    bool has_chunked_key = false;
    cbor_sequence pairs;
};

/// The parser of an index, which scan_reach_bytes of anything follow, and which stays as it is. Like the cursor's, its
/// calls return false after the first fault.
template <cbor_strictness Strictness>
class index_parser {
protected:
    static constexpr bool is_strict = Strictness == cbor_strictness::deterministic;
    using gap = template_gap;

    /// With its role: of version 2 {"blob": [0, 0], "dtype": ""}, which is refused once it has been read.
    static constexpr size_t smallest_component_bytes = 18;

    /// `index_offset` is the absolute position of the index, for errors. Without templates, which only take less time,
    /// tests see what these are to find.
    index_parser(manifest& into, const read_options& limits, uint64_t index_offset, bool uses_templates) noexcept
        : into_(into), limits_(limits), index_offset_(index_offset), cursor_(into.bytes()), builder_(into),
          templates_(into), uses_templates_(uses_templates) {}

    // -- text

    /// The item that is read next.
    [[nodiscard]] index_item here() const noexcept { return {static_cast<uint32_t>(cursor_.position())}; }

    bool read_text(index_item& out) {
        out = here();
        if (take_plain_text()) {
            return true;
        }
        cbor_text found;
        return cursor_.read_text(found) && (!found.is_chunked || join(found, out));
    }
    /// An optional field: an explicit null stands for its absence.
    bool read_text_or_null(index_item& out) { return take_null() || read_text(out); }

    /// True, and passed over, if the next item is null.
    bool take_null() noexcept {
        constexpr byte null{0xf6};
        return cursor_.remaining() != 0 && into_.bytes()[cursor_.position()] == null && cursor_.skip();
    }

    /// Goes to the value of the next pair of a map of names, before version 2: text in chunks is joined. False at its
    /// end, too.
    bool next_name(cbor_sequence& pairs, index_item& name) {
        if (!cursor_.next(pairs)) {
            return false;
        }
        name = here();
        if (take_plain_text()) { // which is no name that is refused
            return true;
        }
        cbor_text key;
        return cursor_.read_key(key) && (!key.is_chunked || join(key, name)) &&
               check_name(into_.text(name), key.position);
    }

    bool check_name(string_view name, size_t position) noexcept {
        const bool is_allowed = into_.is_foreign() && name.empty();
        const char* const problem = is_strict ? name_problem_2(name) : is_allowed ? nullptr : utf8_name_problem(name);
        return problem == nullptr || cursor_.fail(errc::name_invalid, position, problem);
    }

    // -- maps

    /// Goes to the value of the next field that is known, passing over others. False at the end of the map, and after a
    /// fault; a key that stands twice is one.
    bool next_field(field_walk& walk) {
        for (;;) {
            const size_t start = cursor_.position(); // in version 2 no map has an end that is seen
            if (is_strict ? !cursor_.next_key(walk.pairs) : !cursor_.next(walk.pairs)) {
                return false;
            }
            const size_t position = is_strict ? start : cursor_.position();
            size_t field = field_at(walk, into_.index.data() + position);
            if (!is_strict && !go_behind_key(walk, position, field)) {
                return false;
            }
            if (field != walk.known.size()) {
                walk.field = field;
                walk.next = field + 1 < walk.known.size() ? field + 1 : 0;
                const uint32_t bit = uint32_t{1} << field;
                const bool is_new = (walk.seen & bit) == 0;
                walk.seen |= bit;
                return is_new || fail_duplicate(position);
            }
            if (!is_strict) {
                keys_.push_back(static_cast<uint32_t>(position));
            }
            if (!skip_value()) {
                return false;
            }
        }
    }

    /// All of a map: `read(field) -> bool` reads the value of each field that is known. No unknown key stands twice,
    /// either.
    template <class Read>
    bool read_fields(field_walk& walk, const Read& read) {
        const size_t outer_keys = keys_.size();
        if (!cursor_.enter_map(walk.pairs)) {
            return false;
        }
        while (next_field(walk)) {
            if (!read(walk.field)) {
                return false;
            }
        }
        return !cursor_.failed() && check_distinct(outer_keys);
    }

    /// Each of these fields has been met.
    bool require(const field_walk& walk, std::initializer_list<size_t> fields) noexcept {
        for (const size_t field : fields) {
            if ((walk.seen >> field & 1) == 0) {
                return fail_missing(walk.known[field].name);
            }
        }
        return true;
    }

    /// Passes over a map of attributes and gives its place: that of a copy, where keys are in chunks.
    bool read_attributes(index_item& out) {
        out = here();
        const size_t outer_keys = keys_.size();
        cbor_sequence pairs;
        if (!cursor_.enter_map(pairs)) {
            return false;
        }
        bool has_chunked_key = false;
        for (;;) {
            if constexpr (is_strict) {
                cbor_text key;
                if (!cursor_.next_text_key(pairs, key)) {
                    break;
                }
                if (!check_name(key.text, cursor_.position() - key.text.size()) || !cursor_.skip()) {
                    return false;
                }
            } else {
                if (!cursor_.next(pairs)) {
                    break;
                }
                keys_.push_back(here().position);
                string_view name;
                if (!read_plain_or_any_name(name, has_chunked_key) || !skip_value()) {
                    return false;
                }
            }
        }
        if (cursor_.failed() || !check_distinct(outer_keys)) {
            return false;
        }
        if (has_chunked_key) {
            copy_with_definite_keys(out);
        }
        return true;
    }

    /// The map at `map`, which has been passed over, is copied, its keys made definite.
    ZTENSOR_COLD void copy_with_definite_keys(index_item& map) {
        cbor_cursor all(into_.bytes(), 0, map.position);
        cbor_sequence pairs;
        const size_t size = cursor_.position() - map.position; // which joined keys never take more than
        const index_item copy = into_.make(map.position, size);
        all.enter_map(pairs);
        byte* out = into_.made_at(copy);
        out = std::copy(into_.bytes().begin() + map.position, into_.bytes().begin() + all.position(), out);
        while (all.next(pairs)) {
            cbor_text key;
            all.read_key(key);
            out = put_text(key, out);
            const size_t value = all.position();
            all.skip();
            out = std::copy(into_.bytes().begin() + value, into_.bytes().begin() + all.position(), out);
        }
        if (pairs.is_indefinite) {
            *out++ = byte{0xff};
        }
        into_.made.truncate(static_cast<size_t>(out - into_.made.data()));
        map = copy;
    }

    /// Passes over a value that the model does not keep.
    bool skip_value() noexcept {
        const size_t begin = cursor_.position();
        if (!cursor_.skip()) {
            return false;
        }
        if (!is_strict && short_item_bytes(into_.bytes()[begin]) != 0) {
            gaps_.add(gap::item, 0, begin, cursor_.position());
        }
        return true;
    }

    // -- numbers

    bool read_number(uint64_t& value, gap::kind what, size_t part) noexcept {
        const size_t begin = cursor_.position();
        const bool read = read_unsigned(value);
        gaps_.add(what, part, begin, cursor_.position());
        return read;
    }

    /// The text of a digest, or null for none: before version 2.
    bool read_digest(index_item& out, size_t part) {
        if (!read_text_or_null(out)) {
            return false;
        }
        const digest_parts parts = parse_digest(into_.text(out));
        if (parts.algorithm != digest::none && parts.is_well_formed) {
            const size_t end = cursor_.position();
            gaps_.add(gap::digits, part, end - parts.digits.size(), end);
        }
        return true;
    }

    bool read_unsigned(uint64_t& value) noexcept {
        const byte* const at = into_.index.data() + cursor_.position();
        const byte* const end = is_strict ? pass_shortest_unsigned(at, value) : pass_unsigned(at, value);
        return go_behind(end) || cursor_.read_unsigned(value); // which says what is wrong
    }

    bool read_shape(object_record& object) noexcept {
        const size_t start = cursor_.position();
        uint64_t count = 0;
        object.shape = here();
        if (!go_behind(pass_shape<is_strict>(into_.index.data() + start, count)) && !read_unusual_shape()) {
            return false;
        }
        gaps_.add(gap::shape, 0, start, cursor_.position());
        return true;
    }

    // -- objects

    /// Room for the records of the objects that come next: as many as are announced, if their bytes can hold them, each
    /// with one component.
    ZTENSOR_COLD void expect_records(const cbor_sequence& objects) noexcept {
        constexpr size_t smallest_object_bytes = 40, some = 4096;
        const uint64_t most =
            (std::min<uint64_t>)(cursor_.remaining() / smallest_object_bytes + 1, limits_.max_objects());
        const uint64_t announced = objects.is_indefinite ? some : objects.remaining;
        const auto expected = static_cast<size_t>((std::min)(announced, most));
        into_.objects.expect(expected);
        into_.components.expect(expected);
    }

    /// Objects that are encoded like those before. `take(template) -> bool` is asked of each, and refuses one that the
    /// parser then finds a fault with.
    template <class Take>
    void read_like_before(cbor_sequence& objects, const Take& take) {
        while (uses_templates_ && (objects.is_indefinite || objects.remaining != 0) && has_room_for_object()) {
            size_t end = 0;
            const record_template* const like = templates_.read(cursor_.position(), end);
            if (like == nullptr || !take(*like)) {
                return;
            }
            builder_.note_last();
            cursor_.go_to(end);
            objects.remaining -= objects.is_indefinite ? 0 : 1;
        }
    }

    [[nodiscard]] bool has_room_for_object() const noexcept { return into_.objects.size() < limits_.max_objects(); }

    void begin_object() noexcept {
        gaps_.clear();
        made_before_ = into_.made.size();
    }
    /// An object that was parsed, and begins at `begin`.
    bool end_object(const object_record& object, size_t begin) {
        if (!has_room_for_object()) {
            return fail_object_limit();
        }
        builder_.add(object);
        object_name_ = {};
        if (uses_templates_ && made_before_ == into_.made.size()) { // else its records are not all in the index
            templates_.learn(object, begin, cursor_.position(), gaps_.all());
        }
        return true;
    }

    /// Room for the components that come next, at most so many as the limit: their number is object.component_count.
    void begin_components(const cbor_sequence& components, object_record& object) {
        const uint64_t most = (std::min<uint64_t>)(limits_.max_components_per_object(),
                                                   cursor_.remaining() / smallest_component_bytes + 1);
        const uint64_t announced = components.is_indefinite ? count_pairs(components) : components.remaining;
        object.component_count = static_cast<uint32_t>((std::min)(announced, most));
        object.first_component = static_cast<uint32_t>(into_.components.extend(object.component_count));
    }

    // -- faults

    ZTENSOR_COLD bool fail_missing(string_view field) noexcept {
        if (!cursor_.failed()) {
            missing_field_ = field;
        }
        return cursor_.fail(errc::schema_missing, cursor_.position(), "a required field is missing");
    }
    ZTENSOR_COLD bool fail_limit(const char* sentence) noexcept {
        return cursor_.fail(errc::limit_exceeded, cursor_.position(), sentence);
    }
    ZTENSOR_COLD bool fail_object_limit() noexcept {
        return fail_limit("more objects than read_options::max_objects allows");
    }
    ZTENSOR_COLD bool fail_component_limit() noexcept {
        return fail_limit("more components than read_options::max_components_per_object allows");
    }
    ZTENSOR_COLD bool fail_duplicate(size_t position) noexcept {
        return cursor_.fail(errc::duplicate_key, position, "a key stands twice in one map");
    }

    /// Everything has been read and nothing follows.
    bool finish() noexcept {
        return !cursor_.failed() && (cursor_.remaining() == 0 || cursor_.fail(errc::cbor_trailing, cursor_.position(),
                                                                              "bytes follow the manifest's root item"));
    }

    /// The cursor's fault as an error, with the object and component it was met in.
    [[nodiscard]] ZTENSOR_COLD error fault() const {
        const cbor_fault& found = cursor_.fault();
        const char* const where = into_.is_foreign() ? "header" : "manifest";
        error why = missing_field_.empty()
                        ? fail(found.code, "in the {}, {}", {where, found.sentence})
                        : fail(found.code, "in the {}, {}: {}", {where, found.sentence, in_quotes(missing_field_)});
        if (!into_.is_foreign()) { // whose index stands in no file
            why = std::move(why).at(index_offset_ + found.position);
        }
        return std::move(why).in_object(into_.text(object_name_)).in_component(into_.text(component_name_));
    }

    /// The keys noted since `outer_keys` are distinct, and are forgotten.
    bool check_distinct(size_t outer_keys) {
        if (keys_.size() == outer_keys) {
            return true;
        }
        const span<const uint32_t> keys = span<const uint32_t>(keys_).subspan(outer_keys);
        const uint32_t twin =
            keys.size() < 2 || are_keys_sorted(into_.bytes(), keys) ? 0 : find_twin(into_.bytes(), keys);
        keys_.truncate(outer_keys);
        return twin == 0 || fail_duplicate(twin);
    }

    manifest& into_;
    const read_options& limits_;
    uint64_t index_offset_;
    basic_cbor_cursor<Strictness> cursor_;
    model_builder builder_;
    template_cache<is_strict> templates_;
    bool uses_templates_;
    met_gaps gaps_;               ///< of the object that is being parsed
    record_array<uint32_t> keys_; ///< positions of the keys of the maps that are open, innermost last
    size_t made_before_ = 0;
    index_item object_name_;    ///< being parsed
    index_item component_name_; ///< being parsed
    string_view missing_field_;

private:
    /// Goes to `end`, if it is a place in the index.
    bool go_behind(const byte* end) noexcept {
        if (end == nullptr || end > into_.bytes().end()) {
            return false;
        }
        cursor_.go_to(static_cast<size_t>(end - into_.index.data()));
        return true;
    }

    /// Passes over the next item if it is a text of ASCII that is not long, as nearly all are; else stays where it is.
    bool take_plain_text() noexcept {
        string_view text;
        return take_plain_text(text);
    }
    bool take_plain_text(string_view& text) noexcept {
        const byte* const at = into_.index.data() + cursor_.position();
        return go_behind(is_strict ? pass_shortest_name(at, text) : pass_name(at, text));
    }

    /// The field whose key stands there: first the one behind the last, as most come in the same order.
    [[nodiscard]] static size_t field_at(const field_walk& walk, const byte* at) noexcept {
        const uint64_t first = load_little_64(at);
        const field_key* const known = walk.known.data();
        const size_t count = walk.known.size();
        for (size_t i = 0, field = walk.next; i < count; ++i, field = field + 1 < count ? field + 1 : 0) {
            if (known[field].stands_at(at, first)) {
                return field;
            }
        }
        return count;
    }

    /// Behind the key at `position`, before version 2: that of `field`, unless it is behind all fields, or has a head
    /// that is longer than need be, or is in chunks.
    bool go_behind_key(field_walk& walk, size_t position, size_t& field) {
        const size_t count = walk.known.size();
        if (field != count && go_behind(into_.index.data() + position + 1 + walk.known[field].name.size())) {
            return true;
        }
        string_view key;
        bool is_chunked = false;
        if (walk.keys_are_names ? !read_plain_or_any_name(key, is_chunked)
                                : !take_plain_text(key) && !read_unusual_key(key, is_chunked)) {
            return false;
        }
        walk.has_chunked_key = walk.has_chunked_key || is_chunked;
        for (field = 0; field != count && walk.known[field].name != key;) {
            ++field;
        }
        return true;
    }

    bool read_plain_or_any_name(string_view& name, bool& is_chunked) {
        const size_t position = cursor_.position();
        return take_plain_text(name) || (read_unusual_key(name, is_chunked) && check_name(name, position));
    }

    ZTENSOR_COLD bool read_unusual_key(string_view& key, bool& is_chunked) {
        cbor_text found;
        if (!cursor_.read_key(found)) {
            return false;
        }
        key = found.text;
        if (found.is_chunked) {
            is_chunked = true;
            key = key_at(into_.bytes(), found.position, scratch_);
        }
        return true;
    }

    /// Of each dimension: a zero before what would overflow makes the product zero in version 2, whose dimensions are
    /// multiplied in their order.
    ZTENSOR_COLD bool read_unusual_shape() noexcept {
        const size_t start = cursor_.position();
        cbor_sequence items;
        if (!cursor_.enter_array(items)) {
            return false;
        }
        element_counter counter;
        size_t rank = 0;
        bool has_too_many = items.remaining > max_rank; // of an array that does not say its length this is 31
        for (uint64_t dimension = 0; !has_too_many && cursor_.next(items) && cursor_.read_unsigned(dimension);) {
            has_too_many = ++rank > max_rank;
            const bool is_zero = is_strict && counter.count() == 0;
            if (!has_too_many && !is_zero && !counter.multiply(dimension)) {
                return cursor_.fail(errc::shape_overflow, start,
                                    "the product of the dimensions of a shape needs more than 64 bits");
            }
        }
        return !cursor_.failed() &&
               (!has_too_many || cursor_.fail(errc::limit_exceeded, start, "a shape has more than 64 dimensions"));
    }

    /// Of what is left of a map, those that begin before the first fault.
    [[nodiscard]] ZTENSOR_COLD uint64_t count_pairs(cbor_sequence pairs) const noexcept {
        basic_cbor_cursor<Strictness> ahead = cursor_;
        uint64_t count = 0;
        for (; ahead.next(pairs); ++count) {
            ahead.skip();
            ahead.skip();
        }
        return count;
    }

    // -- text in chunks

    /// A text as a definite one at `out`, behind its head: that takes no more bytes than its chunks do. Its end.
    static byte* put_text(const cbor_text& text, byte* out) noexcept {
        cbor_cursor chunks(as_bytes(text.text));
        size_t size = text.is_chunked ? 0 : text.text.size();
        cbor_text chunk;
        while (text.is_chunked && chunks.remaining() != 0) {
            chunks.read_text(chunk);
            size += chunk.text.size();
        }
        constexpr unsigned text_major = 0x60;
        const size_t more = size < 24 ? 0 : size <= 0xff ? 1 : size <= 0xffff ? 2 : 4;
        const unsigned info = more == 0 ? static_cast<unsigned>(size) : more == 1 ? 24 : more == 2 ? 25 : 26;
        *out++ = static_cast<byte>(text_major | info);
        store_big(size, out, more);
        out += more;
        if (!text.is_chunked) {
            return std::copy_n(as_bytes(text.text).data(), size, out);
        }
        for (cbor_cursor again(as_bytes(text.text)); again.remaining() != 0;) {
            again.read_text(chunk);
            out = std::copy_n(as_bytes(chunk.text).data(), chunk.text.size(), out);
        }
        return out;
    }

    /// Puts a text in chunks into the model as a definite one.
    ZTENSOR_COLD bool join(const cbor_text& found, index_item& out) {
        const size_t most_bytes = cursor_.position() - found.position;
        out = into_.make(found.position, most_bytes);
        const byte* const end = put_text(found, into_.made_at(out));
        into_.made.truncate(static_cast<size_t>(end - into_.made.data()));
        return true;
    }

    string scratch_; ///< a key in chunks, joined
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
