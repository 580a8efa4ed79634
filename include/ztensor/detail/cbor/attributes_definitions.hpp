// SPDX-License-Identifier: MIT
//
// Writing attributes as CBOR. Defines what attributes.hpp declares. SPEC.md section 3.6.
#ifndef ZTENSOR_DETAIL_CBOR_ATTRIBUTES_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_CBOR_ATTRIBUTES_DEFINITIONS_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/cbor/encoder.hpp>

#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Of the root, objects, object and attributes maps: a value may only nest as deep as every reader allows.
inline constexpr std::size_t depth_around_attributes = 4;

} // namespace detail

ZTENSOR_INLINE attributes::attributes(attributes_view source) {
    std::vector<std::uint32_t> order; // the attributes of a file stand in less than 1 GiB
    bool is_sorted = true;
    for (const attribute& each : source) {
        is_sorted = is_sorted && (values_.empty() || values_.back().key < each.key);
        order.push_back(static_cast<std::uint32_t>(values_.size()));
        values_.push_back({std::string(each.key), std::vector<std::byte>(each.cbor.begin(), each.cbor.end()), true});
    }
    if (is_sorted) {
        return;
    }
    detail::sort_positions(order, [this](std::uint32_t a, std::uint32_t b) { return values_[a].key < values_[b].key; });
    std::vector<entry> sorted;
    sorted.reserve(values_.size());
    for (const std::uint32_t at : order) {
        sorted.push_back(std::move(values_[at]));
    }
    values_ = std::move(sorted);
}

ZTENSOR_INLINE std::size_t attributes::place_of(std::string_view key) const noexcept {
    std::size_t first = 0;
    for (std::size_t last = values_.size(); first < last;) {
        const std::size_t middle = first + (last - first) / 2;
        if (values_[middle].key < key) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    return first;
}

ZTENSOR_INLINE attributes& attributes::put(std::string_view key, std::vector<std::byte> cbor, bool is_utf8) {
    const std::size_t place = place_of(key);
    if (place == values_.size() || values_[place].key != key) {
        values_.push_back({std::string(key), {}, true});
        for (std::size_t i = values_.size() - 1; i > place; --i) {
            std::swap(values_[i], values_[i - 1]);
        }
    }
    values_[place].cbor = std::move(cbor);
    values_[place].is_utf8 = is_utf8;
    return *this;
}

ZTENSOR_INLINE attributes& attributes::set_integer(std::string_view key, std::int64_t value) {
    detail::cbor_encoder out;
    out.integer(value);
    return put(key, std::move(out).take());
}

ZTENSOR_INLINE attributes& attributes::set_unsigned_integer(std::string_view key, std::uint64_t value) {
    detail::cbor_encoder out;
    out.unsigned_integer(value);
    return put(key, std::move(out).take());
}

ZTENSOR_INLINE attributes& attributes::set(std::string_view key, double value) {
    detail::cbor_encoder out;
    out.number(value);
    return put(key, std::move(out).take());
}

ZTENSOR_INLINE attributes& attributes::set(std::string_view key, bool value) {
    detail::cbor_encoder out;
    out.boolean(value);
    return put(key, std::move(out).take());
}

ZTENSOR_INLINE attributes& attributes::set(std::string_view key, std::string_view value) {
    detail::cbor_encoder out;
    out.text(value);
    return put(key, std::move(out).take(), detail::is_utf8(value));
}

ZTENSOR_INLINE attributes& attributes::set(std::string_view key, bytes_view value) {
    detail::cbor_encoder out;
    out.byte_string(value);
    return put(key, std::move(out).take());
}

namespace detail {

/// An array of what `append(encoder, value)` encodes.
template <class Value, class Append>
[[nodiscard]] std::vector<std::byte> encoded_array(span<const Value> values, const Append& append) {
    cbor_encoder out;
    out.begin_array(values.size());
    for (const Value& each : values) {
        append(out, each);
    }
    return std::move(out).take();
}

} // namespace detail

ZTENSOR_COLD ZTENSOR_INLINE attributes& attributes::set_array(std::string_view key, span<const std::int64_t> values) {
    return put(
        key, detail::encoded_array(values, [](detail::cbor_encoder& out, std::int64_t value) { out.integer(value); }));
}

ZTENSOR_COLD ZTENSOR_INLINE attributes& attributes::set_array(std::string_view key, span<const std::uint64_t> values) {
    return put(key, detail::encoded_array(
                        values, [](detail::cbor_encoder& out, std::uint64_t value) { out.unsigned_integer(value); }));
}

ZTENSOR_COLD ZTENSOR_INLINE attributes& attributes::set_array(std::string_view key, span<const double> values) {
    return put(key, detail::encoded_array(values, [](detail::cbor_encoder& out, double value) { out.number(value); }));
}

ZTENSOR_COLD ZTENSOR_INLINE attributes& attributes::set_array(std::string_view key,
                                                              span<const detail::boolean_item> values) {
    return put(key, detail::encoded_array(values, [](detail::cbor_encoder& out, detail::boolean_item value) {
                   out.boolean(static_cast<bool>(value));
               }));
}

ZTENSOR_COLD ZTENSOR_INLINE attributes& attributes::set_array(std::string_view key,
                                                              span<const std::string_view> values) {
    bool are_utf8 = true;
    std::vector<std::byte> items =
        detail::encoded_array(values, [&](detail::cbor_encoder& out, std::string_view value) {
            out.text(value);
            are_utf8 = are_utf8 && detail::is_utf8(value);
        });
    return put(key, std::move(items), are_utf8);
}

ZTENSOR_INLINE attributes& attributes::set_null(std::string_view key) {
    detail::cbor_encoder out;
    out.null();
    return put(key, std::move(out).take());
}

ZTENSOR_INLINE result<void> attributes::set_cbor(std::string_view key, bytes_view item) {
    return detail::guard_memory([&]() -> result<void> {
        detail::cbor_cursor cursor(item, detail::depth_around_attributes);
        if (!cursor.skip()) {
            return detail::fail(cursor.fault().code, "the value of attribute {}: {}",
                                {detail::in_quotes(key), cursor.fault().sentence})
                .by_caller();
        }
        if (cursor.remaining() != 0) {
            return detail::fail(errc::cbor_trailing, "the value of attribute {} ends {} bytes before its bytes do",
                                {detail::in_quotes(key), cursor.remaining()})
                .by_caller();
        }
        put(key, std::vector<std::byte>(item.begin(), item.end()));
        return {};
    });
}

ZTENSOR_INLINE attributes& attributes::remove(std::string_view key) {
    const std::size_t place = place_of(key);
    if (place != values_.size() && values_[place].key == key) {
        for (std::size_t i = place + 1; i < values_.size(); ++i) {
            std::swap(values_[i - 1], values_[i]);
        }
        values_.pop_back();
    }
    return *this;
}

ZTENSOR_INLINE attributes& attributes::merge(attributes others) {
    std::vector<entry> merged;
    merged.reserve(values_.size() + others.values_.size());
    auto mine = values_.begin();
    for (entry& each : others.values_) {
        for (; mine != values_.end() && mine->key < each.key; ++mine) {
            merged.push_back(std::move(*mine));
        }
        if (mine != values_.end() && mine->key == each.key) {
            ++mine;
        }
        merged.push_back(std::move(each));
    }
    for (; mine != values_.end(); ++mine) {
        merged.push_back(std::move(*mine));
    }
    values_ = std::move(merged);
    return *this;
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
