// SPDX-License-Identifier: MIT
//
// The value of an attribute of an open file: any CBOR item, by what kind it is of. SPEC.md section 3.6.
#ifndef ZTENSOR_ATTRIBUTE_VALUE_HPP
#define ZTENSOR_ATTRIBUTE_VALUE_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/fwd.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
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
    /// A map whose keys are all text; include <ztensor/attributes_view.hpp>.
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

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/cbor/attribute_value_definitions.hpp>
#endif

#endif
