// SPDX-License-Identifier: MIT
//
// What a pickle says once it is read: plain values, containers of them, and tensors as descriptions. Values are small
// and point into arenas; texts stay where they are in the pickle.
#ifndef ZTENSOR_DETAIL_FOREIGN_PICKLED_HPP
#define ZTENSOR_DETAIL_FOREIGN_PICKLED_HPP

#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/foreign/pickle_globals.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

enum class pickle_kind : std::uint8_t {
    none,
    boolean,
    integer,
    long_integer, ///< of more than 64 bits: its bytes
    number,
    text,
    byte_string,
    tuple,
    list,
    dictionary,
    global,
    storage,
    tensor,
};

[[nodiscard]] constexpr std::string_view name(pickle_kind kind) noexcept {
    constexpr std::string_view names[] = {"None",    "a bool", "an int",   "an int of many bytes",
                                          "a float", "a text", "bytes",    "a tuple",
                                          "a list",  "a dict", "a global", "a storage",
                                          "a tensor"};
    return names[static_cast<std::size_t>(kind)];
}

struct pickle_value {
    pickle_kind kind = pickle_kind::none;
    std::uint32_t place = 0; ///< where it lies in the pickle, or in its arena
    std::uint64_t bits = 0;  ///< how much of it there is, or the value itself
};

struct pickle_storage {
    const pickle_global* element = nullptr; ///< the storage's class
    std::string_view key;                   ///< of the archive's entry
    std::uint64_t bytes = 0;
};

struct pickle_tensor {
    const pickle_global* element = nullptr; ///< the storage's class, or a dtype
    std::uint32_t storage = 0;
    std::uint32_t sizes = 0; ///< a tuple's place, like the next
    std::uint32_t strides = 0;
    std::uint32_t rank = 0;
    std::uint64_t offset = 0; ///< in elements
};

/// The arenas.
struct pickled {
    bytes_view source;
    pickle_value root;
    std::vector<pickle_value> tuples;                  ///< items of all tuples, one after another
    std::vector<std::vector<pickle_value>> containers; ///< lists, and dictionaries as key, value, key, value, ...
    std::vector<pickle_storage> storages;
    std::vector<pickle_tensor> tensors;

    [[nodiscard]] bytes_view bytes_of(const pickle_value& value) const noexcept {
        return source.subspan(value.place, static_cast<std::size_t>(value.bits));
    }
    [[nodiscard]] std::string_view text_of(const pickle_value& value) const noexcept {
        return as_text(bytes_of(value));
    }
    /// Of a tuple, a list or a dictionary.
    [[nodiscard]] span<const pickle_value> items_of(const pickle_value& value) const noexcept {
        if (value.kind == pickle_kind::tuple) {
            return {tuples.data() + value.place, static_cast<std::size_t>(value.bits)};
        }
        return containers[value.place];
    }
    [[nodiscard]] static std::int64_t integer_of(const pickle_value& value) noexcept {
        std::int64_t integer = 0;
        std::memcpy(&integer, &value.bits, sizeof integer);
        return integer;
    }
    [[nodiscard]] static double number_of(const pickle_value& value) noexcept {
        double number = 0;
        std::memcpy(&number, &value.bits, sizeof number);
        return number;
    }
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
