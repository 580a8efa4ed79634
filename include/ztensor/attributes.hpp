// SPDX-License-Identifier: MIT
//
// Attributes to be written: a map from text to any CBOR value, at the file and at every object. SPEC.md section 3.6.
#ifndef ZTENSOR_ATTRIBUTES_HPP
#define ZTENSOR_ATTRIBUTES_HPP

#include <ztensor/attributes_view.hpp>
#include <ztensor/dtype.hpp>
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

namespace detail {

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
    attributes& set(std::string_view key, bytes_view value);
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
    result<void> set_cbor(std::string_view key, bytes_view item);
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

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/cbor/attributes_definitions.hpp>
#endif

#endif
