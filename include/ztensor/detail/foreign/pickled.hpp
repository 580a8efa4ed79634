// SPDX-License-Identifier: MIT
//
// What a pickle says once it is read: plain values, containers of them, and tensors as descriptions. Values are small
// and point into arenas; texts stay where they are in the pickle.
#ifndef ZTENSOR_DETAIL_FOREIGN_PICKLED_HPP
#define ZTENSOR_DETAIL_FOREIGN_PICKLED_HPP

#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/foreign/block_array.hpp>
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
    set,
    object,         ///< of a class or function that is not known, never made
    unknown_global, ///< a name outside of pickle_globals
    unnamed,        ///< as the key of an object's part: the part has a number, but no name
    spliced,        ///< likewise: what the part holds belongs to the object itself
    unset,          ///< a place of the memo that nothing was remembered in
};

[[nodiscard]] constexpr std::string_view name(pickle_kind kind) noexcept {
    constexpr std::string_view names[] = {"None",     "a bool",  "an int",    "an int of many bytes",
                                          "a float",  "a text",  "bytes",     "a tuple",
                                          "a list",   "a dict",  "a global",  "a storage",
                                          "a tensor", "a set",   "an object", "an unknown global",
                                          "unnamed",  "spliced", "unset"};
    return names[static_cast<std::size_t>(kind)];
}

/// Eight bytes: numbers and texts stay in the pickle, and what holds others is a place in an arena.
struct pickle_value {
    pickle_kind kind = pickle_kind::none;
    std::uint8_t width = 0;  ///< of an integer, its bytes; of a text and its like, those of its length
    bool is_signed = false;  ///< of an integer
    bool is_decoded = false; ///< it lies in pickled::decoded, not in the pickle
    std::uint32_t place = 0; ///< in the pickle, or in an arena; of a bool itself
};
static_assert(sizeof(pickle_value) == 8);

/// A list or a dictionary: runs of items, as they were added.
struct pickle_container {
    std::uint32_t first = 0; ///< place of the first run; 0 for none
    std::uint32_t last = 0;
};

struct pickle_storage {
    pickle_value key;          ///< of the archive's entry
    std::uint64_t bytes = 0;   ///< of the whole that the key names
    std::uint16_t element = 0; ///< the storage's class, in pickle_globals
    bool is_meta = false;      ///< it has no bytes
    std::uint32_t view = 0;    ///< a tuple's place: a key, the first element that is shown, and how many; 0 for all
};

/// What a pickle calls by its module and its name, outside of pickle_globals.
struct pickle_name {
    std::string_view module;
    std::string_view name;
};

/// An object that was not made: its class or the function that would make it, and a dictionary of what it holds.
struct pickle_object {
    pickle_value type;       ///< a name: what would make it, or what would make that
    std::uint32_t parts = 0; ///< a container
};

enum class pickle_form : std::uint8_t {
    dense,
    conjugated,
    negated,
    conjugated_and_negated,
    quantized, ///< behind the strides is a tuple of its scheme, scale and zero point
    sparse,
    meta, ///< a shape without elements
};

/// Small, since there may be very many: what it is made of stays where it is.
struct pickle_tensor {
    std::uint32_t element = 0; ///< the storage's class, or a dtype, in pickle_globals
    std::uint32_t storage = 0;
    std::uint32_t arguments = 0; ///< place of a tuple: storage, offset, sizes, strides, and more; of a sparse one its
                                 ///< layout, and a tuple of what it is made of
    pickle_form form = pickle_form::dense;
};

/// The arenas.
struct pickled {
    bytes_view source;
    pickle_value root;
    /// Runs of items: how many there are, in a list or dictionary where the next run is, and the items (of a dictionary
    /// key, value, key, value, ...). The first is a tuple of none.
    block_array<pickle_value> values;
    block_array<pickle_container> containers;
    block_array<pickle_storage> storages;
    block_array<pickle_tensor> tensors;
    block_array<pickle_name> names;
    block_array<pickle_object> objects;
    std::vector<std::byte> decoded; ///< values that do not stand in the pickle as they are
    std::size_t item_count = 0;     ///< of all runs

    [[nodiscard]] bytes_view bytes_of(const pickle_value& value) const noexcept {
        const bytes_view from = value.is_decoded ? bytes_view(decoded) : source;
        const auto size = static_cast<std::size_t>(load_little(from.data() + value.place, value.width));
        return from.subspan(value.place + value.width, size);
    }
    [[nodiscard]] std::string_view text_of(const pickle_value& value) const noexcept {
        return as_text(bytes_of(value));
    }
    [[nodiscard]] std::int64_t integer_of(const pickle_value& value) const noexcept {
        const std::byte* const from = value.is_decoded ? decoded.data() : source.data();
        std::uint64_t bits = value.width == 0 ? 0 : load_little(from + value.place, value.width);
        bits = value.is_signed && value.width != 0 ? extend_sign(bits, value.width) : bits;
        std::int64_t integer = 0;
        std::memcpy(&integer, &bits, sizeof integer);
        return integer;
    }
    [[nodiscard]] double number_of(const pickle_value& value) const noexcept {
        const std::byte* const from = value.is_decoded ? decoded.data() : source.data();
        const std::uint64_t bits = load_big_64(from + value.place);
        double number = 0;
        std::memcpy(&number, &bits, sizeof number);
        return number;
    }

    [[nodiscard]] std::size_t count_at(std::size_t run) const noexcept { return values[run].place; }
    /// Of a tuple.
    [[nodiscard]] std::size_t count_of(const pickle_value& tuple) const noexcept { return count_at(tuple.place); }
    [[nodiscard]] const pickle_value& item_of(const pickle_value& tuple, std::size_t i) const noexcept {
        return values[tuple.place + 1 + i];
    }
    /// The i-th of what a tensor is made of.
    [[nodiscard]] const pickle_value& argument_of(const pickle_tensor& tensor, std::size_t i) const noexcept {
        return values[tensor.arguments + 1 + i];
    }
};

/// Goes through the items of a tuple, a list, a set, a dictionary or the parts of an object.
class pickle_items {
public:
    pickle_items(const pickled& from, const pickle_value& of) noexcept
        : is_tuple_(of.kind == pickle_kind::tuple),
          run_(is_tuple_ ? of.place : from.containers[container_of(from, of)].first) {}

    /// Of a value that is no tuple.
    [[nodiscard]] static std::uint32_t container_of(const pickled& from, const pickle_value& of) noexcept {
        return of.kind == pickle_kind::object ? from.objects[of.place].parts : of.place;
    }

    /// Null behind the last one.
    [[nodiscard]] const pickle_value* next(const pickled& from) noexcept {
        while (run_ != 0 && at_ == from.count_at(run_)) {
            run_ = is_tuple_ ? 0 : from.values[run_ + 1].place;
            at_ = 0;
        }
        return run_ != 0 ? &from.values[run_ + (is_tuple_ ? 1 : 2) + at_++] : nullptr;
    }

private:
    bool is_tuple_;
    std::size_t run_; ///< 0: none is left
    std::size_t at_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
