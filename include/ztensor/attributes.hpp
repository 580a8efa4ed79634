// SPDX-License-Identifier: MIT
//
// Attributes: a map from text to any CBOR value, at the file and at every object. `attributes_view` reads one that
// stands in an open file; `attributes` builds one to write. SPEC.md §3.6.
#ifndef ZTENSOR_ATTRIBUTES_HPP
#define ZTENSOR_ATTRIBUTES_HPP

#include <ztensor/detail/cbor.hpp>
#include <ztensor/detail/cbor_encoder.hpp>
#include <ztensor/detail/text.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace v0 {

namespace detail {

/// The value of a float or integer item; false for every other kind.
[[nodiscard]] inline bool to_number(const cbor_head& head, double& out) noexcept {
    if (head.major == cbor_major::unsigned_integer) {
        out = static_cast<double>(head.argument);
    } else if (head.major == cbor_major::negative_integer) {
        out = -1.0 - static_cast<double>(head.argument);
    } else if (head.major != cbor_major::simple) {
        return false;
    } else if (head.info == 25) {
        out = static_cast<double>(static_cast<float>(float16::from_bits(static_cast<std::uint16_t>(head.argument))));
    } else if (head.info == 26) {
        const auto bits = static_cast<std::uint32_t>(head.argument);
        float single;
        std::memcpy(&single, &bits, sizeof single);
        out = static_cast<double>(single);
    } else if (head.info == 27) {
        std::memcpy(&out, &head.argument, sizeof out);
    } else {
        return false;
    }
    return true;
}

} // namespace detail

/// One attribute of an open file: both views live as long as what the attributes were taken from.
struct attribute {
    std::string_view key;
    bytes_view cbor; ///< the value, encoded as it stands in the file
};

/// A CBOR map that was validated when its file was opened: distinct text keys, well-formed values. Cheap to copy;
/// valid for as long as the reader or the `attributes` it was taken from. Look-ups walk the map: O(size).
class attributes_view {
public:
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = attribute;
        using difference_type = std::ptrdiff_t;
        using pointer = const attribute*;
        using reference = const attribute&;

        reference operator*() const noexcept { return current_; }
        pointer operator->() const noexcept { return &current_; }
        iterator& operator++() noexcept {
            advance();
            return *this;
        }
        void operator++(int) noexcept { advance(); }
        friend bool operator==(const iterator& a, const iterator& b) noexcept {
            return a.at_end_ == b.at_end_ && (a.at_end_ || a.cursor_.position() == b.cursor_.position());
        }
        friend bool operator!=(const iterator& a, const iterator& b) noexcept { return !(a == b); }

    private:
        friend attributes_view;
        iterator() noexcept : cursor_(bytes_view()) {}
        iterator(bytes_view map, span<const std::string_view> hidden) noexcept
            : cursor_(map), hidden_(hidden), at_end_(map.empty() || !cursor_.enter_map(pairs_)) {
            advance();
        }
        void advance() noexcept {
            do {
                detail::cbor_text key;
                if (at_end_ || !cursor_.next(pairs_) || !cursor_.read_key(key)) {
                    at_end_ = true;
                    return;
                }
                const std::size_t value_start = cursor_.position();
                at_end_ = !cursor_.skip();
                current_ = {key.text, cursor_.passed_since(value_start)};
            } while (std::find(hidden_.begin(), hidden_.end(), current_.key) != hidden_.end());
        }

        detail::cbor_cursor cursor_;
        detail::cbor_sequence pairs_;
        span<const std::string_view> hidden_;
        attribute current_;
        bool at_end_ = true;
    };

    /// No attributes.
    attributes_view() noexcept = default;
    /// `validated_map` is an encoded map with definite text keys, as the library's own parts hand it out; of its keys
    /// those in `hidden` are not attributes.
    explicit attributes_view(bytes_view validated_map, span<const std::string_view> hidden = {}) noexcept
        : map_(validated_map), hidden_(hidden) {}

    [[nodiscard]] iterator begin() const noexcept { return {map_, hidden_}; }
    [[nodiscard]] iterator end() const noexcept { return {}; }
    [[nodiscard]] bool empty() const noexcept { return begin() == end(); }
    [[nodiscard]] std::size_t size() const noexcept {
        return static_cast<std::size_t>(std::distance(begin(), end()));
    }
    [[nodiscard]] bool contains(std::string_view key) const noexcept { return find(key) != end(); }
    [[nodiscard]] iterator find(std::string_view key) const noexcept {
        iterator at = begin();
        while (at != end() && at->key != key) {
            ++at;
        }
        return at;
    }

    /// The encoded value; attribute_not_found. json.hpp turns it into an nlohmann::json.
    [[nodiscard]] result<bytes_view> cbor(std::string_view key) const {
        const iterator at = find(key);
        if (at == end()) {
            return error(errc::attribute_not_found, "there is no attribute " + detail::quote(key));
        }
        return at->cbor;
    }

    // Typed values. Errors: attribute_not_found; attribute_type if the value is of another kind or out of range;
    // cbor_utf8 for text that is not UTF-8.

    /// An integer of either sign.
    [[nodiscard]] result<std::int64_t> integer(std::string_view key) const {
        return typed<std::int64_t>(key, "an integer of 64 bits with sign", [](detail::cbor_cursor& value, auto& out) {
            detail::cbor_head head;
            if (!value.read_head(head) || head.major > detail::cbor_major::negative_integer ||
                head.argument > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
                return false;
            }
            const auto magnitude = static_cast<std::int64_t>(head.argument);
            out = head.major == detail::cbor_major::negative_integer ? -1 - magnitude : magnitude;
            return true;
        });
    }
    [[nodiscard]] result<std::uint64_t> unsigned_integer(std::string_view key) const {
        return typed<std::uint64_t>(key, "an unsigned integer", [](detail::cbor_cursor& value, auto& out) {
            return value.read_unsigned(out);
        });
    }
    /// A float of any width, or an integer (rounded if it has more than 53 significant bits).
    [[nodiscard]] result<double> number(std::string_view key) const {
        return typed<double>(key, "a number", [](detail::cbor_cursor& value, auto& out) {
            detail::cbor_head head;
            return value.read_head(head) && detail::to_number(head, out);
        });
    }
    [[nodiscard]] result<bool> boolean(std::string_view key) const {
        return typed<bool>(key, "true or false", [](detail::cbor_cursor& value, auto& out) {
            detail::cbor_head head;
            if (!value.read_head(head) || head.major != detail::cbor_major::simple) {
                return false;
            }
            out = head.info == detail::cbor_true;
            return out || head.info == detail::cbor_false;
        });
    }
    [[nodiscard]] result<std::string> text(std::string_view key) const {
        return typed<std::string>(key, "text", [](detail::cbor_cursor& value, auto& out) {
            return value.read_joined(detail::cbor_major::text, out);
        });
    }
    [[nodiscard]] result<std::vector<std::byte>> byte_string(std::string_view key) const {
        return typed<std::vector<std::byte>>(key, "a byte string", [](detail::cbor_cursor& value, auto& out) {
            std::string joined;
            const bool is_bytes = value.read_joined(detail::cbor_major::bytes, joined);
            const bytes_view content = detail::as_bytes(joined);
            out.assign(content.begin(), content.end());
            return is_bytes;
        });
    }

private:
    template <class T, class Read>
    [[nodiscard]] result<T> typed(std::string_view key, const char* expected, Read&& read) const {
        const result<bytes_view> encoded = cbor(key);
        if (!encoded) {
            return encoded.error();
        }
        detail::cbor_cursor value(*encoded);
        T out{};
        if (!read(value, out)) {
            const bool is_damaged = value.failed() && value.fault().code == errc::cbor_utf8;
            return error(is_damaged ? errc::cbor_utf8 : errc::attribute_type,
                         "attribute " + detail::quote(key) + " is not " + expected);
        }
        return out;
    }

    bytes_view map_;
    span<const std::string_view> hidden_;
};

/// Attributes to be written: each key with its encoded value, in the order in which they will stand in the file.
class attributes {
public:
    attributes() = default;
    /// A copy of the attributes of an open file, values verbatim.
    explicit attributes(attributes_view source) {
        for (const attribute& each : source) {
            values_[std::string(each.key)].assign(each.cbor.begin(), each.cbor.end());
        }
    }

    // Each replaces the value of a key that is there already. Keys, and that text is UTF-8, are checked by the writer.

    template <class Integer, std::enable_if_t<detail::is_integer_element_v<Integer>, int> = 0>
    attributes& set(std::string_view key, Integer value) {
        return put(key, [&](detail::cbor_encoder& out) {
            if constexpr (std::is_signed_v<Integer>) {
                out.integer(value);
            } else {
                out.unsigned_integer(value);
            }
        });
    }
    /// Stored in the shortest of 16, 32 and 64 bits that keeps the value.
    attributes& set(std::string_view key, double value) {
        return put(key, [&](detail::cbor_encoder& out) { out.number(value); });
    }
    attributes& set(std::string_view key, bool value) {
        return put(key, [&](detail::cbor_encoder& out) { out.boolean(value); });
    }
    attributes& set(std::string_view key, std::string_view value) {
        put(key, [&](detail::cbor_encoder& out) { out.text(value); });
        if (!detail::is_utf8(value)) {
            not_utf8_.emplace(key);
        }
        return *this;
    }
    attributes& set(std::string_view key, const char* value) { return set(key, std::string_view(value)); }
    attributes& set(std::string_view key, bytes_view value) {
        return put(key, [&](detail::cbor_encoder& out) { out.byte_string(value); });
    }
    attributes& set_null(std::string_view key) {
        return put(key, [](detail::cbor_encoder& out) { out.null(); });
    }
    /// Any one CBOR item, kept verbatim. Errors: the cbor_… codes if it is not well-formed, cbor_trailing if bytes
    /// follow it.
    [[nodiscard]] result<void> set_cbor(std::string_view key, bytes_view item) {
        detail::cbor_cursor cursor(item, enclosing_depth);
        if (!cursor.skip()) {
            return error(cursor.fault().code, "the value of attribute " + detail::quote(key) + ": " +
                                                  cursor.fault().sentence);
        }
        if (cursor.remaining() != 0) {
            return error(errc::cbor_trailing, "the value of attribute " + detail::quote(key) + " ends " +
                                                  std::to_string(cursor.remaining()) + " bytes before its bytes do");
        }
        values_[std::string(key)].assign(item.begin(), item.end());
        not_utf8_.erase(std::string(key));
        return {};
    }
    attributes& remove(std::string_view key) {
        values_.erase(std::string(key));
        not_utf8_.erase(std::string(key));
        return *this;
    }
    /// All of `others` too; of a key that is there already the value is replaced.
    attributes& merge(attributes others) {
        for (auto& [key, value] : others.values_) {
            not_utf8_.erase(key);
            values_[key] = std::move(value);
        }
        not_utf8_.merge(others.not_utf8_);
        return *this;
    }

    [[nodiscard]] bool empty() const noexcept { return values_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }

    /// Key → encoded value, sorted bytewise.
    using container = std::map<std::string, std::vector<std::byte>>;
    [[nodiscard]] const container& values() const noexcept { return values_; }
    /// Keys of text that was set and is not UTF-8: no writer takes it.
    [[nodiscard]] const std::set<std::string>& not_utf8() const noexcept { return not_utf8_; }

private:
    /// Of the root, objects, object and attributes maps: a value may only nest as deep as every reader allows.
    static constexpr std::size_t enclosing_depth = 4;

    template <class Encode>
    attributes& put(std::string_view key, Encode&& encode) {
        detail::cbor_encoder encoder;
        encode(encoder);
        values_[std::string(key)] = std::move(encoder).take();
        not_utf8_.erase(std::string(key));
        return *this;
    }

    container values_;
    std::set<std::string> not_utf8_;
};

} // namespace v0
} // namespace ztensor

#endif
