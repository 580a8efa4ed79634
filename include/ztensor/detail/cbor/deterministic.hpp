// SPDX-License-Identifier: MIT
//
// Reading CBOR that may be encoded in one way alone: shortest heads, definite lengths, sorted keys, shortest floats, no
// tags. A bounded, iterative cursor, stricter than that of cursor.hpp. RFC 8949 section 4.2.1; SPEC.md section 13.3.
#ifndef ZTENSOR_DETAIL_CBOR_DETERMINISTIC_HPP
#define ZTENSOR_DETAIL_CBOR_DETERMINISTIC_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/error.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// So many arrays and maps may enclose anything in version 2, the root included.
inline constexpr std::size_t max_deterministic_depth = 32;

/// True if the float of that head could not be shorter, and is the one NaN that there may be if it is one.
[[nodiscard]] inline bool is_shortest_float(const cbor_head& head) noexcept {
    constexpr std::uint64_t quiet_half = 0x7e00;
    if (head.info == 25) {
        const bool is_nan = (head.argument & 0x7c00) == 0x7c00 && (head.argument & 0x3ff) != 0;
        return !is_nan || head.argument == quiet_half;
    }
    // Of the wider of two formats: bits of the exponent and the fraction; and what the narrower one can say.
    const bool is_double = head.info == 27;
    const int fraction_bits = is_double ? 52 : 23, narrow_fraction_bits = is_double ? 23 : 10;
    const int bias = is_double ? 1023 : 127, most_exponent = is_double ? 127 : 15;
    const std::uint64_t fraction = head.argument & ((std::uint64_t{1} << fraction_bits) - 1);
    const std::uint64_t exponent = head.argument >> fraction_bits & (is_double ? 0x7ffu : 0xffu);
    const std::uint64_t all_ones = is_double ? 0x7ffu : 0xffu;
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
    const std::uint64_t dropped = (std::uint64_t{1} << (std::min)(dropped_bits, fraction_bits)) - 1;
    return (fraction & dropped) != 0;
}

/// What is left of a map that was entered, and the last key that was met in it.
struct deterministic_map {
    std::uint64_t remaining = 0;
    bytes_view last_key; ///< encoded
};

/// Walks CBOR items from the front. Every call returns false after the first fault, which stays. Never allocates, never
/// recurses, never reads past the end, and takes time linear in the bytes it passes over.
class deterministic_cursor {
public:
    explicit deterministic_cursor(bytes_view bytes) noexcept
        : begin_(bytes.begin()), at_(bytes.begin()), end_(bytes.end()) {}

    [[nodiscard]] bool failed() const noexcept { return fault_.sentence != nullptr; }
    [[nodiscard]] const cbor_fault& fault() const noexcept { return fault_; }
    [[nodiscard]] std::size_t position() const noexcept { return static_cast<std::size_t>(at_ - begin_); }
    [[nodiscard]] std::size_t remaining() const noexcept { return static_cast<std::size_t>(end_ - at_); }
    [[nodiscard]] bytes_view passed_since(std::size_t from) const noexcept {
        return {begin_ + from, position() - from};
    }
    /// Goes on at `position`, the start of an item at the same depth: what lies before it has been read elsewhere.
    void go_to(std::size_t position) noexcept { at_ = begin_ + position; }

    /// Records a fault found by the caller, at `position`. Returns false.
    ZTENSOR_COLD bool fail(errc code, std::size_t position, const char* sentence) noexcept {
        if (!failed()) {
            fault_ = {code, position, sentence};
            at_ = end_;
        }
        return false;
    }

    /// The head of the next item; for strings and containers what follows is left to the caller.
    bool read_head(cbor_head& head) noexcept {
        if (at_ == end_) {
            return fail(errc::cbor_truncated, position(), "an item is missing: the bytes end here");
        }
        const std::size_t start = position();
        const auto first = std::to_integer<std::uint8_t>(*at_++);
        head.major = static_cast<cbor_major>(first >> 5);
        head.info = first & 31;
        head.argument = head.info;
        if (head.info >= 24 && !read_argument(head, start)) {
            return false;
        }
        return head.major < cbor_major::tag || check_unusual(head, start);
    }

    ZTENSOR_NOINLINE bool read_unsigned(std::uint64_t& value) noexcept {
        const std::size_t start = position();
        cbor_head head;
        if (!read_head(head)) {
            return false;
        }
        if (head.major == cbor_major::negative_integer) {
            return fail(errc::schema_range, start, "a negative integer where an unsigned one is required");
        }
        value = head.argument;
        return head.major == cbor_major::unsigned_integer ||
               fail(errc::schema_type, start, "an unsigned integer is required here");
    }

    bool read_text(std::string_view& text) noexcept {
        return read_text(text, errc::schema_type, "a text string is required here");
    }

    bool enter_array(std::uint64_t& items) noexcept {
        return enter(items, cbor_major::array, 1, "an array is required here");
    }
    /// After the last item.
    void leave_array() noexcept { --depth_; }
    bool enter_map(deterministic_map& map) noexcept {
        map.last_key = {};
        return enter(map.remaining, cbor_major::map, 2, "a map is required here");
    }

    /// Passes over the next key of the map, whose encoded bytes are then its last_key. False at the end of the map,
    /// which is left then, and after a fault: keys that do not rise are one.
    bool next_key(deterministic_map& map) noexcept {
        if (failed()) {
            return false;
        }
        if (map.remaining == 0) {
            --depth_;
            return false;
        }
        --map.remaining;
        const std::size_t start = position();
        return skip() && note_key(map.last_key, start);
    }
    /// The same where every key is text.
    bool next_text_key(deterministic_map& map, std::string_view& key) noexcept {
        if (failed()) {
            return false;
        }
        if (map.remaining == 0) {
            --depth_;
            return false;
        }
        --map.remaining;
        const std::size_t start = position();
        return read_text(key, errc::schema_key, "a key that is not text") && note_key(map.last_key, start);
    }

    /// Passes over one item of any kind, with all it contains.
    ZTENSOR_NOINLINE bool skip() noexcept {
        struct frame {
            std::uint64_t items; ///< still to come
            bytes_view last_key;
            std::size_t key_start; ///< of a key that is an array or a map, while it is passed
            bool is_map;
        };
        std::array<frame, max_deterministic_depth + 1> open;
        std::size_t count = 0;
        open[0] = {1, {}, 0, false};
        for (;;) {
            frame& inner = open[count];
            if (inner.items == 0) {
                if (count == 0) {
                    return true;
                }
                --count;
                if (!end_item(open[count].is_map, open[count].items, open[count].last_key, open[count].key_start)) {
                    return false;
                }
                continue;
            }
            const std::size_t start = position();
            inner.key_start = start;
            --inner.items;
            cbor_head head;
            if (!read_head(head) || !pass_string(head, start)) {
                return false;
            }
            const bool is_container = head.major == cbor_major::array || head.major == cbor_major::map;
            if (is_container && head.argument != 0) { // an empty one encloses nothing
                const bool is_map = head.major == cbor_major::map;
                if (!count_fits(head, is_map ? 2 : 1, start)) {
                    return false;
                }
                if (depth_ + count >= max_deterministic_depth) {
                    return fail_depth(start);
                }
                open[++count] = {head.argument * (is_map ? 2 : 1), {}, 0, is_map};
                continue;
            }
            if (!end_item(inner.is_map, inner.items, inner.last_key, start)) {
                return false;
            }
        }
    }

private:
    /// Of a map, an odd number of items is left when a key has just been passed.
    bool end_item(bool is_map, std::uint64_t items_left, bytes_view& last_key, std::size_t start) noexcept {
        return !is_map || items_left % 2 == 0 || note_key(last_key, start);
    }

    bool note_key(bytes_view& last_key, std::size_t start) noexcept {
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

    ZTENSOR_NOINLINE bool read_argument(cbor_head& head, std::size_t start) noexcept {
        if (head.info > 27) {
            const bool is_indefinite =
                head.info == 31 && head.major >= cbor_major::bytes && head.major <= cbor_major::map;
            return is_indefinite ? fail(errc::cbor_not_deterministic, start, "an item of indefinite length")
                                 : fail(errc::cbor_malformed, start, "a reserved head, which no CBOR item starts with");
        }
        const std::size_t size = std::size_t{1} << (head.info - 24);
        if (remaining() < size) {
            return fail(errc::cbor_truncated, start, "the bytes end within the head of an item");
        }
        head.argument = load_big(at_, size);
        at_ += size;
        const bool fits_in_less = size == 1 ? head.argument < 24 : head.argument >> (4 * size) == 0;
        return !fits_in_less || head.major == cbor_major::simple ||
               fail(errc::cbor_not_deterministic, start, "a head longer than need be");
    }

    /// Tags, simple values and floats.
    ZTENSOR_NOINLINE bool check_unusual(const cbor_head& head, std::size_t start) noexcept {
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

    ZTENSOR_COLD bool fail_depth(std::size_t start) noexcept {
        return fail(errc::cbor_depth, start, "nested deeper than 32 arrays and maps");
    }

    bool count_fits(const cbor_head& head, std::uint64_t bytes_per_entry, std::size_t start) noexcept {
        return head.argument <= remaining() / bytes_per_entry ||
               fail(errc::cbor_truncated, start, "an array or map claims more items than bytes are left");
    }

    ZTENSOR_NOINLINE bool enter(std::uint64_t& items, cbor_major major, std::uint64_t bytes_per_entry,
                                const char* requirement) noexcept {
        const std::size_t start = position();
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
        if (depth_ >= max_deterministic_depth) {
            return fail_depth(start);
        }
        ++depth_;
        items = head.argument;
        return true;
    }

    ZTENSOR_NOINLINE bool read_text(std::string_view& text, errc wrong_type, const char* requirement) noexcept {
        const std::size_t start = position();
        cbor_head head;
        if (!read_head(head)) {
            return false;
        }
        if (head.major != cbor_major::text) {
            return fail(wrong_type, start, requirement);
        }
        const std::size_t content = position();
        if (!pass_string(head, start)) {
            return false;
        }
        text = as_text(passed_since(content));
        return true;
    }

    /// Passes over what follows the head of a byte or text string; does nothing for other items.
    bool pass_string(const cbor_head& head, std::size_t start) noexcept {
        if (head.major != cbor_major::bytes && head.major != cbor_major::text) {
            return true;
        }
        if (head.argument > remaining()) {
            return fail(errc::cbor_truncated, start, "a string claims more bytes than are left");
        }
        const bytes_view content(at_, static_cast<std::size_t>(head.argument));
        at_ += content.size();
        return head.major == cbor_major::bytes || is_utf8(as_text(content)) ||
               fail(errc::cbor_utf8, start, "text that is not UTF-8");
    }

    const std::byte* begin_;
    const std::byte* at_;
    const std::byte* end_;
    std::size_t depth_ = 0;
    cbor_fault fault_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
