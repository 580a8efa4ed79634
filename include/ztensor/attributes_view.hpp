// SPDX-License-Identifier: MIT
//
// The attributes of an open file or object: a map from text to any CBOR value. SPEC.md section 3.6.
#ifndef ZTENSOR_ATTRIBUTES_VIEW_HPP
#define ZTENSOR_ATTRIBUTES_VIEW_HPP

#include <ztensor/attribute_value.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

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

} // namespace detail

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if defined(__cpp_lib_ranges)
template <>
inline constexpr bool std::ranges::enable_view<ztensor::attributes_view> = true;
template <>
inline constexpr bool std::ranges::enable_borrowed_range<ztensor::attributes_view> = true;
#endif

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/cbor/attributes_view_definitions.hpp>
#endif

#endif
