// SPDX-License-Identifier: MIT
//
// Printing CBOR, and making any CBOR deterministic. SPEC.md section 3.1, section 13.3.
#ifndef ZTENSOR_DETAIL_CBOR_ENCODER_HPP
#define ZTENSOR_DETAIL_CBOR_ENCODER_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- encoder
//
// Writing CBOR as the reference does: shortest heads, shortest floats, definite lengths. SPEC.md section 10.

/// Appends items to a buffer. A map or array is announced with its count; the caller then appends that many.
class cbor_encoder {
public:
    [[nodiscard]] bytes_view bytes() const noexcept { return {bytes_.data(), bytes_.size()}; }
    [[nodiscard]] size_t size() const noexcept { return bytes_.size(); }
    [[nodiscard]] vector<byte> take() && { return {bytes_.begin(), bytes_.end()}; }
    /// The items, with `zeros_behind` that don't count, in the memory that they were put into. None are left.
    [[nodiscard]] byte_buffer release(size_t zeros_behind) {
        const size_t size = bytes_.size();
        bytes_.reserve(size + zeros_behind);
        std::fill_n(bytes_.extend(zeros_behind), zeros_behind, byte{});
        return byte_buffer::adopt(bytes_.release(), size);
    }
    /// Forgets all items; the memory stays.
    void clear() noexcept { truncate(0); }
    /// Forgets all but the first `size` bytes.
    void truncate(size_t size) noexcept { bytes_.truncate(size); }

    ZTENSOR_NOINLINE void unsigned_integer(uint64_t value) { head(cbor_major::unsigned_integer, value); }
    void integer(int64_t value) {
        if (value < 0) {
            negative_integer(~static_cast<uint64_t>(value)); // -1 - n, without overflow
        } else {
            unsigned_integer(static_cast<uint64_t>(value));
        }
    }
    /// -1 - `argument`, which may lie below every std::int64_t.
    void negative_integer(uint64_t argument) { head(cbor_major::negative_integer, argument); }
    ZTENSOR_NOINLINE void text(string_view value) {
        head(cbor_major::text, value.size());
        append(as_bytes(value));
    }
    /// A key of a map, and its value.
    void pair(string_view key, string_view value) {
        text(key);
        text(value);
    }
    void pair(string_view key, uint64_t value) {
        text(key);
        unsigned_integer(value);
    }
    void byte_string(bytes_view value) {
        head(cbor_major::bytes, value.size());
        encoded(value);
    }
    void boolean(bool value) { head(cbor_major::simple, value ? cbor_true : cbor_false); }
    void null() { head(cbor_major::simple, cbor_null); }
    void begin_array(uint64_t items) { head(cbor_major::array, items); }
    void begin_map(uint64_t pairs) { head(cbor_major::map, pairs); }

    /// A map of unannounced size, up to end_indefinite(): only what 0.1 wrote has these.
    void begin_indefinite_map() { first_byte(cbor_major::map, 31); }
    void end_indefinite() { bytes_.push_back(byte{0xff}); }

    /// In the shortest of 16, 32 and 64 bits that keeps the value; every NaN as f9 7e 00.
    ZTENSOR_COLD void number(double value) {
        if (value != value) { // <cmath> costs every file that includes it a tenth of a second
            float_bits(25, 0x7e00);
            return;
        }
        if (!is_exact_float(value)) {
            float_bits(27, bits_as<uint64_t>(value));
            return;
        }
        const auto single = static_cast<float>(value);
        const float16 half(single);
        if (static_cast<float>(half) == single) {
            float_bits(25, half.bits());
        } else {
            float_bits(26, bits_as<uint32_t>(single));
        }
    }

    /// Items that are encoded already.
    ZTENSOR_NOINLINE void encoded(bytes_view items) { append(items); }

private:
    /// Converting a double beyond the range of float is undefined, so the range is looked at first.
    [[nodiscard]] static bool is_exact_float(double value) noexcept {
        constexpr double largest = (std::numeric_limits<float>::max)();
        const bool is_infinite =
            value == std::numeric_limits<double>::infinity() || value == -std::numeric_limits<double>::infinity();
        return is_infinite ||
               (-largest <= value && value <= largest && static_cast<double>(static_cast<float>(value)) == value);
    }

    void append(bytes_view bytes) {
        if (!bytes.empty()) {
            std::memcpy(bytes_.extend(bytes.size()), bytes.data(), bytes.size());
        }
    }

    void head(cbor_major major, uint64_t argument) {
        if (argument < 24) {
            first_byte(major, static_cast<unsigned>(argument));
        } else {
            long_head(major, argument);
        }
    }

    ZTENSOR_NOINLINE void long_head(cbor_major major, uint64_t argument) {
        const unsigned size_log2 = argument <= 0xff ? 0 : argument <= 0xffff ? 1 : argument <= 0xffffffff ? 2 : 3;
        first_byte(major, 24 + size_log2);
        big_endian(argument, size_t{1} << size_log2);
    }

    ZTENSOR_COLD void float_bits(unsigned info, uint64_t bits) {
        first_byte(cbor_major::simple, info);
        big_endian(bits, size_t{1} << (info - 24));
    }

    void first_byte(cbor_major major, unsigned info) {
        bytes_.push_back(static_cast<byte>(static_cast<unsigned>(major) << 5 | info));
    }

    void big_endian(uint64_t value, size_t size) {
        byte buffer[8];
        store_big(value, buffer, size);
        append({buffer, size});
    }

    record_array<byte> bytes_;
};

// -- to deterministic
//
// CBOR of any form -> the one form that version 2 allows for its value: RFC 8949 section 4.2.1, and no tags. SPEC.md
// section 13.

/// Keys of text in the order of their encoded bytes: the shorter one first.
[[nodiscard]] inline bool is_before_by_length(string_view a, string_view b) noexcept {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
}

class deterministic_encoder {
public:
    /// Appends the item that `item` starts with, which is well-formed; `depth` arrays and maps will enclose it.
    /// Errors: cbor_depth, cbor_utf8, duplicate_key; not_expressible for tags and for simple values but false, true and
    /// null.
    ZTENSOR_COLD static result<void> encode(bytes_view item, size_t depth, cbor_encoder& out) {
        return deterministic_encoder(item, depth, out).run();
    }

private:
    struct container {
        cbor_sequence items; ///< still to come, of a map pairs
        size_t begin;        ///< in the output, of what is in it
        size_t starts;       ///< how many starts there were before those of its items
        bool is_map;
        bool has_key; ///< the next item is the value of a pair
    };

    deterministic_encoder(bytes_view item, size_t depth, cbor_encoder& out) noexcept
        : cursor_(item), depth_(depth), out_(out) {}

    result<void> run() {
        for (bool is_first = true; is_first || !open_.empty(); is_first = false) {
            if (!open_.empty() && !has_next(open_.back())) {
                ZTENSOR_TRY(close());
                continue;
            }
            if (!open_.empty()) {
                starts_.push_back(out_.size());
            }
            ZTENSOR_TRY(add_item());
        }
        return {};
    }

    [[nodiscard]] bool has_next(container& in) noexcept {
        if (in.has_key) {
            in.has_key = false;
            return true;
        }
        const bool another = cursor_.next(in.items);
        in.has_key = another && in.is_map;
        return another;
    }

    result<void> add_item() {
        if (depth_ + open_.size() > max_deterministic_depth) { // an empty array or map encloses nothing
            return fail(errc::cbor_depth, "nested deeper than the {} arrays and maps of version 2",
                        {max_deterministic_depth});
        }
        cbor_cursor ahead = cursor_;
        cbor_head head;
        if (!ahead.read_head(head)) {
            return fault(ahead);
        }
        switch (head.major) {
        case cbor_major::unsigned_integer:
            out_.unsigned_integer(head.argument);
            break;
        case cbor_major::negative_integer:
            out_.negative_integer(head.argument);
            break;
        case cbor_major::bytes:
        case cbor_major::text:
            return add_string(head.major);
        case cbor_major::array:
        case cbor_major::map:
            return open(head.major == cbor_major::map);
        case cbor_major::tag:
            return fail(errc::not_expressible, "version 2 has no CBOR tags in attributes");
        case cbor_major::simple:
            ZTENSOR_TRY(add_simple(head));
        }
        cursor_ = ahead;
        return {};
    }

    result<void> add_simple(const cbor_head& head) {
        if (double value = 0; to_number(head, value)) {
            out_.number(value);
        } else if (head.info == cbor_false || head.info == cbor_true) {
            out_.boolean(head.info == cbor_true);
        } else if (head.info == cbor_null) {
            out_.null();
        } else {
            return fail(errc::not_expressible, "version 2 has no simple value {} in attributes", {head.argument});
        }
        return {};
    }

    result<void> add_string(cbor_major major) {
        string joined;
        if (!cursor_.read_joined(major, joined)) {
            return cursor_.failed() ? fault(cursor_) : fail(errc::cbor_utf8, "text that is not UTF-8");
        }
        if (major == cbor_major::text) {
            out_.text(joined);
        } else {
            out_.byte_string(as_bytes(string_view(joined)));
        }
        return {};
    }

    result<void> open(bool is_map) {
        container made = {{}, out_.size(), starts_.size(), is_map, false};
        if (!(is_map ? cursor_.enter_map(made.items) : cursor_.enter_array(made.items))) {
            return fault(cursor_);
        }
        open_.push_back(made);
        return {};
    }

    /// What is in the innermost container has been appended: gives it its head, and a map its order.
    result<void> close() {
        if (cursor_.failed()) {
            return fault(cursor_);
        }
        const container made = open_.back();
        open_.truncate(open_.size() - 1);
        const bytes_view there = out_.bytes().subspan(made.begin);
        const vector<byte> content(there.begin(), there.end());
        const size_t items = starts_.size() - made.starts;
        out_.truncate(made.begin);
        result<void> closed;
        if (made.is_map) {
            out_.begin_map(items / 2);
            closed = add_pairs(content, made);
        } else {
            out_.begin_array(items);
            out_.encoded(content);
        }
        starts_.truncate(made.starts);
        return closed;
    }

    result<void> add_pairs(bytes_view content, const container& map) {
        const size_t pairs = (starts_.size() - map.starts) / 2;
        const auto start_of = [&](size_t item) {
            return item == 2 * pairs ? content.size() : starts_[map.starts + item] - map.begin;
        };
        const auto key_of = [&](uint32_t pair) {
            const size_t begin = start_of(2 * size_t{pair});
            return as_text(content.subspan(begin, start_of(2 * size_t{pair} + 1) - begin));
        };
        const vector<uint32_t> order =
            positions_in_order(pairs, [&](uint32_t a, uint32_t b) { return key_of(a) < key_of(b); });
        for (size_t i = 0; i < pairs; ++i) {
            if (i != 0 && key_of(order[i - 1]) == key_of(order[i])) {
                return fail(errc::duplicate_key, "a map has a key twice");
            }
            const size_t begin = start_of(2 * size_t{order[i]});
            out_.encoded(content.subspan(begin, start_of(2 * size_t{order[i]} + 2) - begin));
        }
        return {};
    }

    [[nodiscard]] static error fault(const cbor_cursor& cursor) {
        return fail(cursor.fault().code, cursor.fault().sentence);
    }

    cbor_cursor cursor_;
    size_t depth_;
    cbor_encoder& out_;
    record_array<container> open_;
    record_array<size_t> starts_; ///< of the items in open containers, in the output
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
