// SPDX-License-Identifier: MIT
//
// Values of a pickle, and the stack and memory that hold them.
#ifndef ZTENSOR_DETAIL_IMPORT_PICKLE_VALUES_HPP
#define ZTENSOR_DETAIL_IMPORT_PICKLE_VALUES_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/pickle_globals.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- block array
//
// Records that are made of a header while it is read, in blocks that never move, and what all of them together may
// take: a header can't make more memory than so many times its own size.

/// Bytes that may still be allocated.
class import_budget {
public:
    explicit import_budget(std::uint64_t most_bytes) noexcept : left_(most_bytes) {}

    [[nodiscard]] bool take(std::uint64_t bytes) noexcept {
        if (bytes > left_) {
            return false;
        }
        left_ -= bytes;
        return true;
    }

private:
    std::uint64_t left_;
};

/// Grows and shrinks at its end. Growing copies nothing.
template <class T>
class block_array {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] T& operator[](std::size_t i) noexcept { return blocks_[i / block_items][i % block_items]; }
    [[nodiscard]] const T& operator[](std::size_t i) const noexcept {
        return blocks_[i / block_items][i % block_items];
    }
    [[nodiscard]] const T& back() const noexcept { return (*this)[size_ - 1]; }

    /// False where the budget has no room for another block.
    [[nodiscard]] bool push_back(const T& item, import_budget& budget) {
        if (size_ == blocks_.size() * block_items) {
            if (!budget.take(block_items * sizeof(T))) {
                return false;
            }
            blocks_.push_back(std::make_unique<T[]>(block_items));
        }
        (*this)[size_++] = item;
        return true;
    }
    /// Blocks stay for what comes next.
    void truncate(std::size_t size) noexcept { size_ = size; }

private:
    static constexpr std::size_t block_items = 2048;

    std::vector<std::unique_ptr<T[]>> blocks_;
    std::size_t size_ = 0;
};

// -- pickled
//
// What a pickle says once it is read: plain values, containers of them, and tensors as descriptions. Values are small
// and point into arenas; texts stay where they are in the pickle.

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

// -- pickle stack
//
// The stack that a pickle works on, with marks in it: no opcode reaches below the last mark.

class pickle_stack {
public:
    explicit pickle_stack(import_budget& budget) noexcept : budget_(budget) {}

    /// How many values stand above the last mark, or in all where there is none.
    [[nodiscard]] std::size_t size() const noexcept {
        return values_.size() - (marks_.size() == 0 ? 0 : marks_.back());
    }
    [[nodiscard]] bool holds_one_value() const noexcept { return marks_.size() == 0 && values_.size() == 1; }

    /// False where there are too many, or no memory is left for more.
    [[nodiscard]] bool push(const pickle_value& value) {
        return values_.size() != most_values && values_.push_back(value, budget_);
    }
    [[nodiscard]] bool pop(pickle_value& value) {
        if (size() == 0) {
            return false;
        }
        value = values_.back();
        values_.truncate(values_.size() - 1);
        return true;
    }
    [[nodiscard]] bool mark() {
        return marks_.size() != most_values && marks_.push_back(static_cast<std::uint32_t>(values_.size()), budget_);
    }
    /// Takes the last mark away, and says how many values stand above it; these stay. False where there is none.
    [[nodiscard]] bool pop_mark(std::size_t& count) {
        if (marks_.size() == 0) {
            return false;
        }
        count = size();
        marks_.truncate(marks_.size() - 1);
        return true;
    }

    // Checked before: there are as many.

    [[nodiscard]] const pickle_value& top() const noexcept { return values_.back(); }
    /// The i-th of the uppermost `count`, from the lowest of these on.
    [[nodiscard]] const pickle_value& at(std::size_t count, std::size_t i) const noexcept {
        return values_[values_.size() - count + i];
    }
    void drop(std::size_t count) { values_.truncate(values_.size() - count); }

private:
    /// Far more than torch.save needs; of marks likewise.
    static constexpr std::size_t most_values = std::size_t{1} << 20;

    import_budget& budget_;
    block_array<pickle_value> values_;
    block_array<std::uint32_t> marks_; ///< how many values there were then
};

// -- pickle make
//
// What is added to the arenas of a pickle's values: runs of items, containers, names, objects that are not made, and
// values that do not stand in the pickle as they are.

[[nodiscard]] inline bool is_size(const pickled& made, const pickle_value& value) noexcept {
    return value.kind == pickle_kind::integer && made.integer_of(value) >= 0;
}
/// Of one that is_size().
[[nodiscard]] inline std::uint64_t size_of(const pickled& made, const pickle_value& value) noexcept {
    return static_cast<std::uint64_t>(made.integer_of(value));
}

[[nodiscard]] inline bool is_tuple_of_sizes(const pickled& made, const pickle_value& value) noexcept {
    if (value.kind != pickle_kind::tuple) {
        return false;
    }
    for (std::size_t i = 0; i < made.count_of(value); ++i) {
        if (!is_size(made, made.item_of(value, i))) {
            return false;
        }
    }
    return true;
}

/// What may be made of a pickle, or of what says as much as one, of so many bytes. A value of one byte takes eight
/// here, and so does what is remembered of it: 32 MiB are for a million of them, and for blocks that are begun.
[[nodiscard]] inline import_budget pickle_budget(std::uint64_t bytes, std::uint64_t more_memory = 0) noexcept {
    constexpr std::uint64_t slack_bytes = std::uint64_t{32} << 20;
    return import_budget(3 * bytes + slack_bytes + more_memory);
}

[[nodiscard]] inline error pickle_takes_too_much() {
    return fail(errc::limit_exceeded, "the pickle makes more of its bytes than a checkpoint does: more than four times "
                                      "as much memory as it takes itself, and 32 MiB");
}

/// A name, whether it is on the list or not. `text` lies in the pickle. Errors: limit_exceeded.
[[nodiscard]] inline result<pickle_value> find_global(pickled& made, std::string_view module, std::string_view name,
                                                      import_budget& budget) {
    pickle_value value;
    if (const pickle_global* const known = find_pickle_global(module, name)) {
        value.kind = pickle_kind::global;
        value.place = static_cast<std::uint32_t>(known - pickle_globals);
        return value;
    }
    value.kind = pickle_kind::unknown_global;
    value.place = static_cast<std::uint32_t>(made.names.size());
    return made.names.push_back({module, name}, budget) ? result<pickle_value>(value) : pickle_takes_too_much();
}

/// An empty list, set or dictionary, or the parts of an object.
[[nodiscard]] inline result<pickle_value> make_container(pickled& made, pickle_kind kind, import_budget& budget) {
    constexpr std::size_t most_containers = std::size_t{1} << 22; // what torch.save needs is far below
    if (made.containers.size() == most_containers) {
        return fail(errc::limit_exceeded, "the pickle holds more than {} lists and dictionaries", {most_containers});
    }
    pickle_value value;
    value.kind = kind;
    value.place = static_cast<std::uint32_t>(made.containers.size());
    return made.containers.push_back({}, budget) ? result<pickle_value>(value) : pickle_takes_too_much();
}

/// Bytes that do not stand in the pickle.
[[nodiscard]] inline result<pickle_value> add_decoded(pickled& made, pickle_kind kind, bytes_view content,
                                                      import_budget& budget) {
    constexpr std::size_t length_bytes = 8;
    constexpr std::size_t most_bytes = std::size_t{1} << 30; // positions have 32 bits
    const std::size_t place = made.decoded.size();
    const std::size_t size = length_bytes + content.size();
    if (size > most_bytes - place || !budget.take(2 * std::uint64_t{size})) { // a vector that grows takes twice as much
        return pickle_takes_too_much();
    }
    made.decoded.resize(place + size);
    store_little(content.size(), made.decoded.data() + place, length_bytes);
    std::copy(content.begin(), content.end(), made.decoded.begin() + static_cast<std::ptrdiff_t>(place + length_bytes));
    pickle_value value;
    value.kind = kind;
    value.width = length_bytes;
    value.is_decoded = true;
    value.place = static_cast<std::uint32_t>(place);
    return value;
}

/// Moves the uppermost values, which are there, into a run of their own.
[[nodiscard]] inline result<void> append_run(pickled& made, pickle_stack& stack, std::size_t count, bool may_go_on,
                                             import_budget& budget) {
    pickle_value head;
    head.place = static_cast<std::uint32_t>(count);
    bool has_room = made.values.push_back(head, budget) && (!may_go_on || made.values.push_back({}, budget));
    for (std::size_t i = 0; has_room && i < count; ++i) {
        has_room = made.values.push_back(stack.at(count, i), budget);
    }
    stack.drop(count);
    made.item_count += count;
    return has_room ? result<void>() : pickle_takes_too_much();
}
/// The run becomes the last one of a list or dictionary.
inline void join_run(pickled& made, pickle_container& items, std::uint32_t run) noexcept {
    if (items.first == 0) {
        items.first = run;
    } else {
        made.values[items.last + 1].place = run;
    }
    items.last = run;
}

/// Appends items of their own to a container.
[[nodiscard]] inline result<void> append_items(pickled& made, const pickle_value& container,
                                               std::initializer_list<pickle_value> items, import_budget& budget) {
    const auto run = static_cast<std::uint32_t>(made.values.size());
    pickle_value head;
    head.place = static_cast<std::uint32_t>(items.size());
    bool has_room = made.values.push_back(head, budget) && made.values.push_back({}, budget);
    for (const pickle_value& each : items) {
        has_room = has_room && made.values.push_back(each, budget);
    }
    if (!has_room) {
        return pickle_takes_too_much();
    }
    made.item_count += items.size();
    join_run(made, made.containers[pickle_items::container_of(made, container)], run);
    return {};
}

/// An object of a class or function that is not known, or that makes nothing we know: what it holds is kept, nothing is
/// made.
[[nodiscard]] inline result<pickle_value> make_object(pickled& made, const pickle_value& type, import_budget& budget) {
    ZTENSOR_TRY_ASSIGN(const pickle_value parts, make_container(made, pickle_kind::dictionary, budget));
    pickle_value value;
    value.kind = pickle_kind::object;
    value.place = static_cast<std::uint32_t>(made.objects.size());
    const bool is_of_object = type.kind == pickle_kind::object; // of one that is not made either
    const pickle_value name = is_of_object ? made.objects[type.place].type : type;
    return made.objects.push_back({name, parts.place}, budget) ? result<pickle_value>(value) : pickle_takes_too_much();
}
/// What `part` holds belongs to the object itself.
[[nodiscard]] inline result<void> splice(pickled& made, const pickle_value& object, const pickle_value& part,
                                         import_budget& budget) {
    pickle_value key;
    key.kind = pickle_kind::spliced;
    return append_items(made, object, {key, part}, budget);
}

[[nodiscard]] constexpr bool holds_values(pickle_kind kind) noexcept {
    return kind == pickle_kind::tuple || kind == pickle_kind::list || kind == pickle_kind::dictionary ||
           kind == pickle_kind::set || kind == pickle_kind::object;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
