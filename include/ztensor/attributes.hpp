// SPDX-License-Identifier: MIT
//
// Attributes: a map from text to any CBOR value, at the file and at every object, as it is read and to be written.
// SPEC.md section 3.6.
#ifndef ZTENSOR_ATTRIBUTES_HPP
#define ZTENSOR_ATTRIBUTES_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/fwd.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// What a value is, and by which call of attribute_value it is read.
enum class attribute_kind : std::uint8_t {
    null,
    boolean, ///< boolean()
    integer, ///< of either sign and up to 64 bits: integer(), unsigned_integer(), number()
    number,  ///< a float of any width: number()
    text,    ///< text()
    bytes,   ///< byte_string()
    array,   ///< items(), array<T>()
    map,     ///< map()
    other,   ///< a tag, a simple value: cbor()
};

/// "null", "boolean", "integer", ...
[[nodiscard]] constexpr std::string_view name(attribute_kind kind) noexcept {
    constexpr std::string_view names[] = {"null",  "boolean", "integer", "number", "text",
                                          "bytes", "array",   "map",     "other"};
    return names[static_cast<std::size_t>(kind)];
}

namespace detail {

/// Where attributes stand, for errors: `name_place` adds it, and knows what the others are. Null for nowhere.
struct attributes_place {
    const void* file = nullptr;
    const void* object = nullptr;
    error (*name_place)(const attributes_place& place, error why) noexcept = nullptr;
};

} // namespace detail

/// A value, borrowed like the attributes that it was taken from. Cheap to copy.
/// Errors of all calls that read it: attribute_type if it is of another kind or out of range, cbor_utf8 for text that
/// is not UTF-8, out_of_memory.
class attribute_value {
public:
    /// `validated_item` is one well-formed CBOR item.
    explicit attribute_value(bytes_view validated_item, std::string_view key = {},
                             const detail::attributes_place& place = {}) noexcept
        : cbor_(validated_item), key_(key), place_(place) {}
    template <class Item, std::enable_if_t<detail::is_dying_owner_v<Item&&>, int> = 0>
    explicit attribute_value(Item&& temporary, std::string_view = {}, const detail::attributes_place& = {}) = delete;

    [[nodiscard]] attribute_kind kind() const noexcept;
    /// As it is encoded. json.hpp turns it into an nlohmann::json.
    [[nodiscard]] bytes_view cbor() const noexcept { return cbor_; }

    /// An integer of either sign.
    result<std::int64_t> integer() const;
    result<std::uint64_t> unsigned_integer() const;
    /// A float of any width, or an integer (rounded if it has more than 53 significant bits).
    result<double> number() const;
    result<bool> boolean() const;
    result<std::string> text() const;
    result<std::vector<std::byte>> byte_string() const;
    /// The values of an array.
    result<std::vector<attribute_value>> items() const;
    /// An array whose values are all of one kind: T is bool, std::string, a floating-point type or an integer type.
    template <class T>
    result<std::vector<T>> array() const {
        ZTENSOR_TRY_ASSIGN(const std::vector<attribute_value> all, items());
        return detail::guard_memory([&]() -> result<std::vector<T>> {
            std::vector<T> values;
            values.reserve(all.size());
            for (const attribute_value& each : all) {
                ZTENSOR_TRY_ASSIGN(T value, each.as<T>());
                values.push_back(std::move(value));
            }
            return values;
        });
    }
    /// A map whose keys are all text; include <ztensor/attributes.hpp>.
    result<attributes_view> map() const;

    /// Calls `f` with the value as what it is: std::nullptr_t, bool, std::int64_t (std::uint64_t beyond it), double,
    /// std::string, std::vector<std::byte>, or for all other kinds this attribute_value. Throws std::bad_alloc.
    template <class F>
    decltype(auto) visit(F&& f) const {
        switch (kind()) {
        case attribute_kind::null:
            return std::forward<F>(f)(nullptr);
        case attribute_kind::boolean:
            return std::forward<F>(f)(*boolean());
        case attribute_kind::number:
            return std::forward<F>(f)(*number());
        case attribute_kind::integer:
            if (const result<std::int64_t> value = integer()) {
                return std::forward<F>(f)(*value);
            }
            if (const result<std::uint64_t> value = unsigned_integer()) {
                return std::forward<F>(f)(*value);
            }
            break;
        case attribute_kind::text:
            if (result<std::string> value = text()) {
                return std::forward<F>(f)(*std::move(value));
            }
            break;
        case attribute_kind::bytes:
            if (result<std::vector<std::byte>> value = byte_string()) {
                return std::forward<F>(f)(*std::move(value));
            }
            break;
        default:
            break;
        }
        return std::forward<F>(f)(*this);
    }

private:
    template <class T>
    result<T> as() const {
        if constexpr (std::is_same_v<T, bool>) {
            return boolean();
        } else if constexpr (std::is_same_v<T, std::string>) {
            return text();
        } else if constexpr (std::is_floating_point_v<T>) {
            return number().transform([](double value) { return static_cast<T>(value); });
        } else {
            static_assert(detail::is_integer_element_v<T>,
                          "an array of bools, texts, floating-point numbers or integers");
            return in_range<T>();
        }
    }
    template <class T>
    result<T> in_range() const {
        using widest = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
        const auto value = [this] {
            if constexpr (std::is_signed_v<T>) {
                return integer();
            } else {
                return unsigned_integer();
            }
        }();
        if (!value) {
            return value.error();
        }
        if (static_cast<widest>(static_cast<T>(*value)) != *value) {
            return refused("an integer of the type asked for");
        }
        return static_cast<T>(*value);
    }
    [[nodiscard]] error refused(const char* expected) const;
    /// Adds to an error where it happened.
    [[nodiscard]] error located(error why) const noexcept;

    bytes_view cbor_;
    std::string_view key_; ///< of the attribute, for errors
    detail::attributes_place place_;
};

namespace detail {
template <>
inline constexpr bool is_handle_v<attribute_value> = true;
} // namespace detail

class attributes_view;

namespace detail {

struct attributes_access;

template <>
inline constexpr bool is_handle_v<attributes_view> = true;

} // namespace detail

/// One attribute of an open file: both views live as long as what the attributes were taken from.
struct attribute {
    std::string_view key;
    bytes_view cbor;                ///< the value, encoded as it stands in the file
    detail::attributes_place place; ///< for errors

    [[nodiscard]] attribute_value value() const noexcept { return attribute_value(cbor, key, place); }
    [[nodiscard]] attribute_kind kind() const noexcept { return value().kind(); }
};

/// A CBOR map that was validated when its file was opened: distinct text keys, well-formed values. Cheap to copy;
/// valid for as long as the reader or the attributes it was taken from. Look-ups walk the map: O(size).
class attributes_view {
public:
    class iterator {
    public:
        using iterator_concept = std::forward_iterator_tag; // of C++20
        using iterator_category = std::input_iterator_tag;  // gives values, not references
        using value_type = attribute;
        using difference_type = std::ptrdiff_t;
        /// Keeps what `->` shows for as long as the expression takes.
        struct pointer {
            attribute current;
            [[nodiscard]] const attribute* operator->() const noexcept { return &current; }
        };
        using reference = attribute; ///< its key and value are borrowed from the reader, not from the iterator

        iterator() noexcept = default;
        [[nodiscard]] reference operator*() const noexcept { return current_; }
        [[nodiscard]] pointer operator->() const noexcept { return {current_}; }
        iterator& operator++() noexcept {
            advance();
            return *this;
        }
        iterator operator++(int) noexcept {
            const iterator before = *this;
            advance();
            return before;
        }
        friend bool operator==(const iterator& a, const iterator& b) noexcept {
            return a.rest_.size() == b.rest_.size();
        }
        friend bool operator!=(const iterator& a, const iterator& b) noexcept { return !(a == b); }

    private:
        friend attributes_view;
        iterator(bytes_view map, span<const std::string_view> hidden, const detail::attributes_place& place) noexcept;
        void advance() noexcept;

        bytes_view rest_;              ///< from the current key on; empty at the end
        std::size_t next_ = 0;         ///< where in it the next pair stands
        std::uint64_t pairs_left_ = 0; ///< behind the current one, where the map has a definite length
        bool is_indefinite_ = false;
        span<const std::string_view> hidden_;
        attribute current_;
    };

    /// No attributes.
    attributes_view() noexcept = default;
    /// `validated_map` is an encoded map with definite text keys, as the library's own parts hand it out; of its keys
    /// those in `hidden` are not attributes.
    explicit attributes_view(bytes_view validated_map, span<const std::string_view> hidden = {}) noexcept
        : map_(validated_map), hidden_(hidden) {}
    template <class Map, std::enable_if_t<detail::is_dying_owner_v<Map&&>, int> = 0>
    explicit attributes_view(Map&& temporary, span<const std::string_view> = {}) = delete;

    [[nodiscard]] iterator begin() const noexcept { return {map_, hidden_, place_}; }
    [[nodiscard]] iterator end() const noexcept { return {}; }
    [[nodiscard]] bool empty() const noexcept { return begin() == end(); }
    [[nodiscard]] std::size_t size() const noexcept;
    [[nodiscard]] bool contains(std::string_view key) const noexcept { return find(key) != end(); }
    [[nodiscard]] iterator find(std::string_view key) const noexcept;

    /// The value of any kind, to be asked for its kind or visited. Errors: attribute_not_found.
    result<attribute_value> value(std::string_view key) const;
    /// What the value is. Errors: attribute_not_found.
    result<attribute_kind> kind(std::string_view key) const;
    /// The encoded value; attribute_not_found. json.hpp turns it into an nlohmann::json.
    result<bytes_view> cbor(std::string_view key) const;

    // Typed values. Errors: attribute_not_found; attribute_type if the value is of another kind or out of range;
    // cbor_utf8 for text that is not UTF-8; out_of_memory.

    /// An integer of either sign.
    result<std::int64_t> integer(std::string_view key) const;
    result<std::uint64_t> unsigned_integer(std::string_view key) const;
    /// A float of any width, or an integer (rounded if it has more than 53 significant bits).
    result<double> number(std::string_view key) const;
    result<bool> boolean(std::string_view key) const;
    result<std::string> text(std::string_view key) const;
    result<std::vector<std::byte>> byte_string(std::string_view key) const;
    /// An array of bools, texts (std::string), floating-point numbers or integers.
    template <class T>
    result<std::vector<T>> array(std::string_view key) const {
        const result<attribute_value> found = value(key);
        return found ? found->template array<T>() : found.error();
    }
    /// Another map whose keys are text.
    result<attributes_view> map(std::string_view key) const;

private:
    friend struct detail::attributes_access;

    bytes_view map_;
    span<const std::string_view> hidden_;
    detail::attributes_place place_;
};

namespace detail {

/// For the rooms that know where attributes stand.
struct attributes_access {
    [[nodiscard]] static attributes_view make(bytes_view validated_map, span<const std::string_view> hidden,
                                              const attributes_place& place) noexcept {
        return in_place(attributes_view(validated_map, hidden), place);
    }
    [[nodiscard]] static attributes_view in_place(attributes_view of, const attributes_place& place) noexcept {
        of.place_ = place;
        return of;
    }
};

/// What a range gives; nothing of no range.
template <class Range, class = void>
struct item_of {};
template <class Range>
struct item_of<Range, std::void_t<decltype(*std::begin(std::declval<const Range&>()))>> {
    using type = std::remove_cv_t<std::remove_reference_t<decltype(*std::begin(std::declval<const Range&>()))>>;
};

/// What its items are written as; void of those that are not.
template <class Item>
using written_item_t = std::conditional_t<
    std::is_same_v<Item, bool>, bool,
    std::conditional_t<
        is_integer_element_v<Item>, std::conditional_t<std::is_signed_v<Item>, std::int64_t, std::uint64_t>,
        std::conditional_t<std::is_floating_point_v<Item>, double,
                           std::conditional_t<std::is_convertible_v<Item, std::string_view>, std::string_view, void>>>>;

/// A bool in a std::vector, which would pack it.
enum class boolean_item : bool {};
template <class Written>
using in_array_t = std::conditional_t<std::is_same_v<Written, bool>, boolean_item, Written>;

/// True for ranges of what an array is made of: bools, integers, floating-point numbers, texts. A text is none.
template <class Range, class = void>
inline constexpr bool is_array_of_attribute_v = false;
template <class Range>
inline constexpr bool is_array_of_attribute_v<Range, std::void_t<typename item_of<Range>::type>> =
    !std::is_convertible_v<const Range&, std::string_view> &&
    !std::is_void_v<written_item_t<typename item_of<Range>::type>>;

} // namespace detail

/// Attributes to be written: each key with its encoded value, in the order in which they will stand in the file.
class attributes {
public:
    attributes() = default;
    /// A copy of the attributes of an open file, values verbatim.
    explicit attributes(attributes_view source);

    // Each replaces the value of a key that is there already. Keys, and that text is UTF-8, are checked by the writer.

    template <class Integer, std::enable_if_t<detail::is_integer_element_v<Integer>, int> = 0>
    attributes& set(std::string_view key, Integer value) {
        if constexpr (std::is_signed_v<Integer>) {
            return set_integer(key, value);
        } else {
            return set_unsigned_integer(key, value);
        }
    }
    /// Stored in the shortest of 16, 32 and 64 bits that keeps the value.
    attributes& set(std::string_view key, double value);
    attributes& set(std::string_view key, bool value);
    attributes& set(std::string_view key, std::string_view value);
    attributes& set(std::string_view key, const char* value) { return set(key, std::string_view(value)); }
    attributes& set(std::string_view key, bytes_argument value);
    attributes& set_null(std::string_view key);
    /// An array: any range, or a list, of integers, floating-point numbers, bools or texts.
    template <class Range, std::enable_if_t<detail::is_array_of_attribute_v<Range>, int> = 0>
    attributes& set(std::string_view key, const Range& values) {
        using written = detail::written_item_t<typename detail::item_of<Range>::type>;
        std::vector<detail::in_array_t<written>> items;
        for (const auto& each : values) {
            items.push_back(static_cast<detail::in_array_t<written>>(static_cast<written>(each)));
        }
        return set_array(key, span<const detail::in_array_t<written>>(items));
    }
    template <class Item, std::enable_if_t<detail::is_array_of_attribute_v<std::initializer_list<Item>>, int> = 0>
    attributes& set(std::string_view key, std::initializer_list<Item> values) {
        return set(key, span<const Item>(values.begin(), values.size()));
    }
    /// Any one CBOR item, kept verbatim. Errors: the cbor_... codes if it is not well-formed, cbor_trailing if bytes
    /// follow it; out_of_memory.
    result<void> set_cbor(std::string_view key, bytes_argument item);
    attributes& remove(std::string_view key);
    /// All of `others` too; of a key that is there already the value is replaced.
    attributes& merge(attributes others);

    [[nodiscard]] bool empty() const noexcept { return values_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }

    /// One key and its value, encoded.
    struct entry {
        std::string key;
        std::vector<std::byte> cbor;
        bool is_utf8 = true; ///< false for text that was set and is not UTF-8: no writer takes it
    };
    /// Sorted bytewise by their keys.
    [[nodiscard]] const std::vector<entry>& values() const& noexcept { return values_; }
    const std::vector<entry>& values() const&& = delete; // borrowing from attributes that are about to die

private:
    attributes& set_integer(std::string_view key, std::int64_t value);
    attributes& set_unsigned_integer(std::string_view key, std::uint64_t value);
    attributes& set_array(std::string_view key, span<const std::int64_t> values);
    attributes& set_array(std::string_view key, span<const std::uint64_t> values);
    attributes& set_array(std::string_view key, span<const double> values);
    attributes& set_array(std::string_view key, span<const detail::boolean_item> values);
    attributes& set_array(std::string_view key, span<const std::string_view> values);
    attributes& put(std::string_view key, std::vector<std::byte> cbor, bool is_utf8 = true);
    /// Where the key stands, or where it would.
    [[nodiscard]] std::size_t place_of(std::string_view key) const noexcept;

    std::vector<entry> values_;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if defined(__cpp_lib_ranges)
template <>
inline constexpr bool std::ranges::enable_view<ztensor::attributes_view> = true;
template <>
inline constexpr bool std::ranges::enable_borrowed_range<ztensor::attributes_view> = true;
#endif

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/cbor/attributes_definitions.hpp>
#endif

#endif
