// SPDX-License-Identifier: MIT
//
// CBOR of any form -> the one form that version 2 allows for its value: RFC 8949 section 4.2.1, and no tags. SPEC.md
// section 13.
#ifndef ZTENSOR_DETAIL_CBOR_TO_DETERMINISTIC_HPP
#define ZTENSOR_DETAIL_CBOR_TO_DETERMINISTIC_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/cbor/deterministic.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/cbor/number.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/sort.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Keys of text in the order of their encoded bytes: the shorter one first.
[[nodiscard]] inline bool comes_before_2(std::string_view a, std::string_view b) noexcept {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
}

class deterministic_encoder {
public:
    /// Appends the item that `item` starts with, which is well-formed; `depth` arrays and maps will enclose it.
    /// Errors: cbor_depth, cbor_utf8, duplicate_key; not_expressible for tags and for simple values but false, true and
    /// null.
    [[nodiscard]] ZTENSOR_COLD static result<void> encode(bytes_view item, std::size_t depth, cbor_encoder& out) {
        return deterministic_encoder(item, depth, out).run();
    }

private:
    struct container {
        cbor_sequence items; ///< still to come, of a map pairs
        std::size_t begin;   ///< in the output, of what is in it
        std::size_t starts;  ///< how many starts there were before those of its items
        bool is_map;
        bool has_key; ///< the next item is the value of a pair
    };

    deterministic_encoder(bytes_view item, std::size_t depth, cbor_encoder& out) noexcept
        : cursor_(item), depth_(depth), out_(out) {}

    [[nodiscard]] result<void> run() {
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

    [[nodiscard]] result<void> add_item() {
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

    [[nodiscard]] result<void> add_simple(const cbor_head& head) {
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

    [[nodiscard]] result<void> add_string(cbor_major major) {
        std::string joined;
        if (!cursor_.read_joined(major, joined)) {
            return cursor_.failed() ? fault(cursor_) : fail(errc::cbor_utf8, "text that is not UTF-8");
        }
        if (major == cbor_major::text) {
            out_.text(joined);
        } else {
            out_.byte_string(as_bytes(std::string_view(joined)));
        }
        return {};
    }

    [[nodiscard]] result<void> open(bool is_map) {
        container made = {{}, out_.size(), starts_.size(), is_map, false};
        if (!(is_map ? cursor_.enter_map(made.items) : cursor_.enter_array(made.items))) {
            return fault(cursor_);
        }
        open_.push_back(made);
        return {};
    }

    /// What is in the innermost container has been appended: gives it its head, and a map its order.
    [[nodiscard]] result<void> close() {
        if (cursor_.failed()) {
            return fault(cursor_);
        }
        const container made = open_.back();
        open_.truncate(open_.size() - 1);
        const bytes_view there = out_.bytes().subspan(made.begin);
        const std::vector<std::byte> content(there.begin(), there.end());
        const std::size_t items = starts_.size() - made.starts;
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

    [[nodiscard]] result<void> add_pairs(bytes_view content, const container& map) {
        const std::size_t pairs = (starts_.size() - map.starts) / 2;
        const auto start_of = [&](std::size_t item) {
            return item == 2 * pairs ? content.size() : starts_[map.starts + item] - map.begin;
        };
        const auto key_of = [&](std::uint32_t pair) {
            const std::size_t begin = start_of(2 * std::size_t{pair});
            return as_text(content.subspan(begin, start_of(2 * std::size_t{pair} + 1) - begin));
        };
        record_array<std::uint32_t> order;
        for (std::uint32_t pair = 0; pair < pairs; ++pair) {
            order.push_back(pair);
        }
        sort_positions({order.data(), order.size()},
                       [&](std::uint32_t a, std::uint32_t b) { return key_of(a) < key_of(b); });
        for (std::size_t i = 0; i < pairs; ++i) {
            if (i != 0 && key_of(order[i - 1]) == key_of(order[i])) {
                return fail(errc::duplicate_key, "a map has a key twice");
            }
            const std::size_t begin = start_of(2 * std::size_t{order[i]});
            out_.encoded(content.subspan(begin, start_of(2 * std::size_t{order[i]} + 2) - begin));
        }
        return {};
    }

    [[nodiscard]] static error fault(const cbor_cursor& cursor) {
        return fail(cursor.fault().code, cursor.fault().sentence);
    }

    cbor_cursor cursor_;
    std::size_t depth_;
    cbor_encoder& out_;
    record_array<container> open_;
    record_array<std::size_t> starts_; ///< of the items in open containers, in the output
};

/// The same attributes as version 2 has them, their values in deterministic encoding. `depth` as above.
/// Errors: those of deterministic_encoder.
[[nodiscard]] ZTENSOR_COLD inline result<attributes> to_deterministic(const attributes& source, std::size_t depth) {
    attributes made;
    cbor_encoder value;
    for (const attributes::entry& each : source.values()) {
        value.clear();
        result<void> encoded = deterministic_encoder::encode({each.cbor.data(), each.cbor.size()}, depth, value);
        encoded = encoded ? made.set_cbor(each.key, value.bytes()) : std::move(encoded);
        if (!encoded) {
            return fail(encoded.error().code(), "the value of attribute {}: {}",
                        {in_quotes(each.key), encoded.error().sentence()});
        }
    }
    return made;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
