// SPDX-License-Identifier: MIT
//
// CBOR items, and reading them one after another. SPEC.md section 3.1.
#ifndef ZTENSOR_DETAIL_CBOR_CURSOR_HPP
#define ZTENSOR_DETAIL_CBOR_CURSOR_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/error.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- item

/// How deep arrays, maps and tags may enclose one another, the root included: before version 2, and in it, where there
/// are no tags.
inline constexpr size_t max_cbor_depth = 64;
inline constexpr size_t max_deterministic_depth = 32;

enum class cbor_major : uint8_t { unsigned_integer, negative_integer, bytes, text, array, map, tag, simple };

/// Simple values, as they stand in the low five bits of a head.
inline constexpr uint8_t cbor_false = 20, cbor_true = 21, cbor_null = 22;

/// The first bytes of an item.
struct cbor_head {
    cbor_major major = cbor_major::simple;
    uint8_t info = 0;      ///< low five bits of the first byte: 0 to 23 the argument itself, 24 to 27 its size
    uint64_t argument = 0; ///< value, length in bytes, count, tag number, or the bits of a float

    [[nodiscard]] constexpr bool is_indefinite() const noexcept { return info == 31; }
};

/// A text item. Where it is chunked (of indefinite length) the chunks lie apart, each behind a head.
struct cbor_text {
    size_t position = 0; ///< of the item's head
    string_view text;    ///< the text, or the encoded chunks without the break
    bool is_chunked = false;
};

/// What is left of an array or map that was entered: items, or pairs of a map.
struct cbor_sequence {
    uint64_t remaining = 0;
    bool is_indefinite = false;
    bytes_view last_key = {}; ///< the last key of a deterministic map, encoded; empty before the first
};

/// The first fault that was met; the sentence is a literal.
struct cbor_fault {
    errc code = errc::cbor_malformed;
    size_t position = 0;
    const char* sentence = nullptr;
};

// -- cursor
//
// Reading CBOR: a bounded, iterative cursor over bytes in memory. It knows heads, text, nesting and limits, and
// nothing of what the items mean. SPEC.md section 3.1.

/// How many bytes the item takes that starts with `first`, if that tells: a number, a simple value or a short string,
/// as nearly all are; else 0.
[[nodiscard]] inline size_t short_item_bytes(byte first) noexcept {
    constexpr unsigned enclosing_majors = 0x70, string_majors = 0x0c, number_majors = 0x03; // a bit for each
    const unsigned major = std::to_integer<unsigned>(first) >> 5, info = std::to_integer<unsigned>(first) & 31;
    if (info < 24 && (enclosing_majors >> major & 1) == 0) {
        return 1 + ((string_majors >> major & 1) != 0 ? info : 0);
    }
    const bool is_number = info >= 24 && info < 28 && (number_majors >> major & 1) != 0;
    return is_number ? 1 + (size_t{1} << (info - 24)) : 0;
}

/// True if the float of that head could not be shorter, and is the one NaN that there may be if it is one.
[[nodiscard]] inline bool is_shortest_float(const cbor_head& head) noexcept {
    constexpr uint64_t quiet_half = 0x7e00;
    if (head.info == 25) {
        const bool is_nan = (head.argument & 0x7c00) == 0x7c00 && (head.argument & 0x3ff) != 0;
        return !is_nan || head.argument == quiet_half;
    }
    // Of the wider of two formats: bits of the exponent and the fraction; and what the narrower one can say.
    const bool is_double = head.info == 27;
    const int fraction_bits = is_double ? 52 : 23, narrow_fraction_bits = is_double ? 23 : 10;
    const int bias = is_double ? 1023 : 127, most_exponent = is_double ? 127 : 15;
    const uint64_t fraction = head.argument & ((uint64_t{1} << fraction_bits) - 1);
    const uint64_t exponent = head.argument >> fraction_bits & (is_double ? 0x7ffu : 0xffu);
    const uint64_t all_ones = is_double ? 0x7ffu : 0xffu;
    if (exponent == all_ones) { // infinities and NaNs, which two bytes hold
        return false;
    }
    if (exponent == 0) {
        return fraction != 0; // zero fits two bytes; what is subnormal here is too small for less
    }
    const int power = static_cast<int>(exponent) - bias;
    const int least_normal = 1 - most_exponent;
    // Below the least normal number the narrower format has fewer bits of fraction.
    const int missing = power < least_normal ? least_normal - power : 0;
    if (power > most_exponent || missing > narrow_fraction_bits) {
        return true;
    }
    const int dropped_bits = fraction_bits - narrow_fraction_bits + missing;
    const uint64_t dropped = (uint64_t{1} << (std::min)(dropped_bits, fraction_bits)) - 1;
    return (fraction & dropped) != 0;
}

/// Which encodings a cursor accepts: any that is well-formed, or one alone for each item, as version 2 has it: shortest
/// heads and floats, definite lengths, sorted keys, no tags. RFC 8949 section 4.2.1; SPEC.md section 13.3.
enum class cbor_strictness : bool { well_formed, deterministic };

/// Walks CBOR items from the front. Every call returns false after the first fault, which stays: a caller may make
/// several calls and look at failed() once. Never allocates, never recurses, never reads past the end, and takes
/// time linear in the bytes it passes over.
template <cbor_strictness Strictness>
class basic_cbor_cursor {
    static constexpr bool is_strict = Strictness == cbor_strictness::deterministic;

public:
    static constexpr size_t max_depth = is_strict ? max_deterministic_depth : max_cbor_depth;

    /// `depth` counts the containers that already enclose what is read; reading starts at `start`.
    explicit basic_cbor_cursor(bytes_view bytes, size_t depth = 0, size_t start = 0) noexcept
        : begin_(bytes.begin()), at_(bytes.begin() + start), end_(bytes.end()), depth_(depth) {}

    [[nodiscard]] bool failed() const noexcept { return fault_.sentence != nullptr; }
    [[nodiscard]] const cbor_fault& fault() const noexcept { return fault_; }
    [[nodiscard]] size_t position() const noexcept { return static_cast<size_t>(at_ - begin_); }
    [[nodiscard]] size_t remaining() const noexcept { return static_cast<size_t>(end_ - at_); }
    /// The encoded bytes from `from` up to here.
    [[nodiscard]] bytes_view passed_since(size_t from) const noexcept { return {begin_ + from, position() - from}; }

    /// Goes on at `position`, the start of an item at the same depth: what lies before it has been read elsewhere.
    void go_to(size_t position) noexcept { at_ = begin_ + position; }

    /// Records a fault found by the caller, at `position`. Returns false.
    ZTENSOR_COLD bool fail(errc code, size_t position, const char* sentence) noexcept {
        if (!failed()) {
            fault_ = {code, position, sentence};
            at_ = end_;
        }
        return false;
    }

    /// Passes over the next item if it is the text `word` (of fewer than 24 bytes) in its shortest form, as it is in
    /// nearly every file; else stays where it is. Spares a known key all other checks.
    [[nodiscard]] bool take_word(string_view word) noexcept {
        constexpr size_t text_major = 0x60;
        if (remaining() <= word.size() || std::to_integer<size_t>(*at_) != (text_major | word.size()) ||
            std::memcmp(at_ + 1, word.data(), word.size()) != 0) {
            return false;
        }
        at_ += 1 + word.size();
        return true;
    }

    /// The head of the next item; for strings and containers what follows is left to the caller.
    bool read_head(cbor_head& head) noexcept {
        if (at_ == end_) {
            return fail(errc::cbor_truncated, position(), "an item is missing: the bytes end here");
        }
        const size_t start = position();
        const auto first = std::to_integer<uint8_t>(*at_++);
        head.major = static_cast<cbor_major>(first >> 5);
        head.info = first & 31;
        head.argument = head.info;
        if (head.info >= 24 && !read_long_head(head, start)) {
            return false;
        }
        return !is_strict || head.major < cbor_major::tag || check_unusual(head, start);
    }

    /// An unsigned integer, and nothing that could be taken for one.
    ZTENSOR_NOINLINE bool read_unsigned(uint64_t& value) noexcept {
        const size_t start = position();
        cbor_head head;
        if (!read_head(head)) {
            return false;
        }
        if (head.major == cbor_major::negative_integer) {
            return fail(errc::schema_range, start, "a negative integer where an unsigned one is required");
        }
        if (head.major != cbor_major::unsigned_integer) {
            return fail(errc::schema_type, start, "an unsigned integer is required here");
        }
        value = head.argument;
        return true;
    }

    /// A text string in UTF-8.
    bool read_text(cbor_text& text) noexcept {
        return read_text(text, errc::schema_type, "a text string is required here");
    }
    /// The key of a schema map: text and nothing else.
    bool read_key(cbor_text& key) noexcept { return read_text(key, errc::schema_key, "a key that is not text"); }

    /// A byte or text string, its chunks joined; text is UTF-8. The only call that allocates.
    ZTENSOR_COLD bool read_joined(cbor_major major, string& out) {
        basic_cbor_cursor again = *this;
        cbor_head head;
        cbor_text text;
        if (!again.read_head(head) || head.major != major || !(major == cbor_major::text ? read_text(text) : skip())) {
            return false;
        }
        out.clear();
        cbor_head chunk = head; // all has been checked: the second walk only leaves the heads of chunks out
        do {
            if (head.is_indefinite() && (again.take_break() || !again.read_head(chunk))) {
                break;
            }
            const size_t content = again.position();
            again.pass_chunk(chunk, content);
            out += as_text(again.passed_since(content));
        } while (head.is_indefinite());
        return true;
    }

    bool enter_array(cbor_sequence& sequence) noexcept {
        return enter(sequence, cbor_major::array, 1, "an array is required here");
    }
    bool enter_map(cbor_sequence& sequence) noexcept {
        return enter(sequence, cbor_major::map, 2, "a map is required here");
    }

    /// True if another item (of a map: another pair) follows. At the end of the container it is left, and false.
    bool next(cbor_sequence& sequence) noexcept {
        if (failed()) {
            return false;
        }
        if (sequence.is_indefinite) {
            if (!take_break()) {
                return true;
            }
        } else if (sequence.remaining != 0) {
            --sequence.remaining;
            return true;
        }
        --depth_;
        return false;
    }

    /// The same of a map, and passes over the key, whose encoded bytes are then the map's last_key where keys must
    /// rise. False, too, after a fault: keys that do not rise are one.
    bool next_key(cbor_sequence& map) noexcept {
        const size_t start = position();
        return next(map) && skip() && note_key(map.last_key, start);
    }
    /// The same where every key is text.
    bool next_text_key(cbor_sequence& map, cbor_text& key) noexcept {
        const size_t start = position();
        return next(map) && read_key(key) && note_key(map.last_key, start);
    }

    /// Passes over one item of any kind, with all it contains: checks that it is well-formed and not nested too deep.
    ZTENSOR_NOINLINE bool skip() noexcept { return pass_short_item() || skip_any(); }

private:
    static constexpr uint8_t break_byte = 0xff;

    /// A container that is being passed over.
    struct frame {
        uint64_t items; ///< still to come, or, of indefinite length, come so far
        size_t item;    ///< where its last item starts
        bytes_view last_key;
        bool is_indefinite;
        bool is_map;
    };

    ZTENSOR_NOINLINE bool skip_any() noexcept {
        std::array<frame, max_depth + 1> frames;
        size_t count = 0;
        frames[0] = {1, position(), {}, false, false}; // what encloses the item itself, as it were
        for (;;) {
            frame& open = frames[count];
            while (!open.is_indefinite && !(is_strict && open.is_map) && open.items != 0 && pass_short_item()) {
                --open.items;
            }
            const size_t start = position();
            const bool is_over = open.is_indefinite ? take_break() : open.items == 0;
            if (is_over) {
                if (open.is_indefinite && open.is_map && open.items % 2 != 0) {
                    return fail(errc::cbor_malformed, start, "a map ends after a key, without its value");
                }
                if (count == 0) {
                    return true;
                }
                if (!end_item(frames[--count])) {
                    return false;
                }
                continue;
            }
            if (open.is_indefinite) {
                ++open.items;
            } else {
                --open.items;
            }
            open.item = start;
            cbor_head head;
            if (!read_head(head) || !pass_string(head, start)) {
                return false;
            }
            if (head.major < cbor_major::array || head.major > cbor_major::tag || (is_strict && head.argument == 0)) {
                if (!end_item(open)) {
                    return false;
                }
                continue;
            }
            if (depth_ + count >= max_depth) {
                return fail_depth(start);
            }
            frame& inner = frames[++count];
            inner = {1, start, {}, false, false}; // of a tag
            if (head.major != cbor_major::tag) {
                inner.is_map = head.major == cbor_major::map;
                if (!count_fits(head, inner.is_map ? 2 : 1, start)) {
                    return false;
                }
                inner.is_indefinite = head.is_indefinite();
                inner.items = inner.is_indefinite ? 0 : head.argument * (inner.is_map ? 2 : 1);
            }
        }
    }

    /// Of a map, an odd number of items is left when a key has just been passed.
    bool end_item(frame& open) noexcept {
        return !is_strict || !open.is_map || open.items % 2 == 0 || note_key(open.last_key, open.item);
    }

    /// A key that was passed, and starts at `start`, stands behind the one before it.
    bool note_key(bytes_view& last_key, size_t start) noexcept {
        if (!is_strict) {
            return true;
        }
        const bytes_view key = passed_since(start);
        if (!last_key.empty()) {
            const int order = std::memcmp(last_key.data(), key.data(), (std::min)(last_key.size(), key.size()));
            if (order == 0) { // no item is the start of another
                return fail(errc::duplicate_key, start, "a key stands twice in one map");
            }
            if (order > 0) {
                return fail(errc::cbor_not_deterministic, start, "a key of a map stands behind a greater one");
            }
        }
        last_key = key;
        return true;
    }

    /// Passes over the next item if it is a short one; else stays where it is. Heads and floats of a deterministic one
    /// could be shorter, and its text must be UTF-8.
    [[nodiscard]] bool pass_short_item() noexcept {
        const size_t size = !is_strict && at_ != end_ ? short_item_bytes(*at_) : 0;
        if (size == 0 || remaining() < size) {
            return false; // what is said of that is said elsewhere
        }
        at_ += size;
        return true;
    }

    /// A head of which the first byte does not hold all.
    ZTENSOR_NOINLINE bool read_long_head(cbor_head& head, size_t start) noexcept {
        if (head.info < 28) {
            return read_argument(head, start);
        }
        const bool may_be_indefinite =
            head.info == 31 && head.major >= cbor_major::bytes && head.major <= cbor_major::map;
        if (may_be_indefinite) {
            return !is_strict || fail(errc::cbor_not_deterministic, start, "an item of indefinite length");
        }
        return fail(errc::cbor_malformed, start,
                    !is_strict && head.major == cbor_major::simple && head.info == 31
                        ? "a break stands outside of any indefinite item"
                        : "a reserved head, which no CBOR item starts with");
    }

    bool read_argument(cbor_head& head, size_t start) noexcept {
        const size_t size = size_t{1} << (head.info - 24);
        if (remaining() < size) {
            return fail(errc::cbor_truncated, start, "the bytes end within the head of an item");
        }
        head.argument = load_big(at_, size);
        at_ += size;
        if (is_strict && head.major != cbor_major::simple) {
            const bool fits_in_less = size == 1 ? head.argument < 24 : head.argument >> (4 * size) == 0;
            return !fits_in_less || fail(errc::cbor_not_deterministic, start, "a head longer than need be");
        }
        if (!is_strict && head.major == cbor_major::simple && head.info == 24 && head.argument < 32) {
            return fail(errc::cbor_malformed, start, "a simple value below 32 in two bytes");
        }
        return true;
    }

    /// Tags, simple values and floats of a deterministic encoding.
    ZTENSOR_NOINLINE bool check_unusual(const cbor_head& head, size_t start) noexcept {
        if (head.major == cbor_major::tag) {
            return fail(errc::cbor_malformed, start, "a tag, which version 2 does not allow");
        }
        if (head.info >= 25) {
            return is_shortest_float(head) || fail(errc::cbor_not_deterministic, start,
                                                   "a float longer than need be, or a NaN other than f9 7e 00");
        }
        return (head.info >= cbor_false && head.info <= cbor_null) ||
               fail(errc::cbor_malformed, start, "a simple value other than false, true and null");
    }

    [[nodiscard]] bool take_break() noexcept {
        if (is_strict || at_ == end_ || std::to_integer<uint8_t>(*at_) != break_byte) {
            return false;
        }
        ++at_;
        return true;
    }

    ZTENSOR_COLD bool fail_depth(size_t start) noexcept {
        return fail(errc::cbor_depth, start,
                    is_strict ? "nested deeper than 32 arrays and maps"
                              : "nested deeper than 64 arrays, maps and tags");
    }

    /// Every item takes at least one byte, so a count beyond the bytes left is a lie.
    bool count_fits(const cbor_head& head, uint64_t bytes_per_entry, size_t start) noexcept {
        if (!head.is_indefinite() && head.argument > remaining() / bytes_per_entry) {
            return fail(errc::cbor_truncated, start, "an array or map claims more items than bytes are left");
        }
        return true;
    }

    bool enter(cbor_sequence& sequence, cbor_major major, uint64_t bytes_per_entry, const char* requirement) noexcept {
        const unsigned count = at_ != end_ ? std::to_integer<unsigned>(*at_) ^ static_cast<unsigned>(major) << 5 : 255;
        if (count < 24 && count * bytes_per_entry < remaining() && depth_ < max_depth) { // as nearly all are
            ++at_;
            ++depth_;
            sequence = {count, false, {}};
            return true;
        }
        return enter_unusual(sequence, major, bytes_per_entry, requirement);
    }

    ZTENSOR_NOINLINE bool enter_unusual(cbor_sequence& sequence, cbor_major major, uint64_t bytes_per_entry,
                                        const char* requirement) noexcept {
        const size_t start = position();
        cbor_head head;
        if (!read_head(head)) {
            return false;
        }
        if (head.major != major) {
            return fail(errc::schema_type, start, requirement);
        }
        if (!count_fits(head, bytes_per_entry, start)) {
            return false;
        }
        if (depth_ >= max_depth) {
            return fail_depth(start);
        }
        ++depth_;
        sequence = {head.argument, head.is_indefinite(), {}};
        return true;
    }

    ZTENSOR_NOINLINE bool read_text(cbor_text& text, errc wrong_type, const char* requirement) noexcept {
        const size_t start = position();
        cbor_head head;
        if (!read_head(head)) {
            return false;
        }
        if (head.major != cbor_major::text) {
            return fail(wrong_type, start, requirement);
        }
        const size_t content = position();
        if (!pass_string(head, start)) {
            return false;
        }
        const size_t break_bytes = head.is_indefinite() ? 1 : 0;
        text = {start, as_text({begin_ + content, position() - content - break_bytes}), head.is_indefinite()};
        return is_strict || are_chunks_utf8(text) || fail_utf8(start);
    }

    ZTENSOR_COLD bool fail_utf8(size_t start) noexcept {
        return fail(errc::cbor_utf8, start, "text that is not UTF-8");
    }

    /// Every chunk is UTF-8 by itself. The chunks have been passed over before.
    [[nodiscard]] ZTENSOR_NOINLINE static bool are_chunks_utf8(const cbor_text& text) noexcept {
        if (!text.is_chunked) {
            return is_utf8(text.text);
        }
        basic_cbor_cursor chunks(as_bytes(text.text));
        cbor_head head;
        while (chunks.remaining() != 0 && chunks.read_head(head)) {
            const size_t content = chunks.position();
            if (!chunks.pass_chunk(head, content) || !is_utf8(as_text(chunks.passed_since(content)))) {
                return false;
            }
        }
        return !chunks.failed();
    }

    /// Passes over what follows the head of a byte or text string; does nothing for other items.
    bool pass_string(const cbor_head& head, size_t start) noexcept {
        if (head.major != cbor_major::bytes && head.major != cbor_major::text) {
            return true;
        }
        if (!(head.is_indefinite() ? pass_chunks(head) : pass_chunk(head, start))) {
            return false;
        }
        return !is_strict || head.major == cbor_major::bytes ||
               is_utf8(as_text({at_ - head.argument, static_cast<size_t>(head.argument)})) || fail_utf8(start);
    }

    ZTENSOR_COLD bool pass_chunks(const cbor_head& head) noexcept {
        while (!take_break()) {
            const size_t chunk_start = position();
            cbor_head chunk;
            if (!read_head(chunk)) {
                return false;
            }
            if (chunk.major != head.major || chunk.is_indefinite()) {
                return fail(errc::cbor_malformed, chunk_start,
                            "a chunk of a string that is not a definite string of its kind");
            }
            if (!pass_chunk(chunk, chunk_start)) {
                return false;
            }
        }
        return true;
    }

    bool pass_chunk(const cbor_head& head, size_t start) noexcept {
        if (head.argument > remaining()) {
            return fail(errc::cbor_truncated, start, "a string claims more bytes than are left");
        }
        at_ += static_cast<size_t>(head.argument);
        return true;
    }

    const byte* begin_;
    const byte* at_;
    const byte* end_;
    size_t depth_;
    cbor_fault fault_;
};

using cbor_cursor = basic_cbor_cursor<cbor_strictness::well_formed>;
using deterministic_cursor = basic_cbor_cursor<cbor_strictness::deterministic>;

// -- number
//
// The numbers that CBOR items stand for.

/// The value of a float or integer item; false for every other kind.
[[nodiscard]] inline bool to_number(const cbor_head& head, double& out) noexcept {
    if (head.major == cbor_major::unsigned_integer) {
        out = static_cast<double>(head.argument);
    } else if (head.major == cbor_major::negative_integer) {
        out = -1.0 - static_cast<double>(head.argument);
    } else if (head.major != cbor_major::simple) {
        return false;
    } else if (head.info == 25) {
        out = static_cast<double>(static_cast<float>(float16::from_bits(static_cast<uint16_t>(head.argument))));
    } else if (head.info == 26) {
        out = static_cast<double>(bits_as<float>(static_cast<uint32_t>(head.argument)));
    } else if (head.info == 27) {
        out = bits_as<double>(head.argument);
    } else {
        return false;
    }
    return true;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
