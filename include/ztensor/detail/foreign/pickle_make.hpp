// SPDX-License-Identifier: MIT
//
// What is added to the arenas of a pickle's values: runs of items, containers, names, objects that are not made, and
// values that do not stand in the pickle as they are.
#ifndef ZTENSOR_DETAIL_FOREIGN_PICKLE_MAKE_HPP
#define ZTENSOR_DETAIL_FOREIGN_PICKLE_MAKE_HPP

#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/foreign/block_array.hpp>
#include <ztensor/detail/foreign/pickle_stack.hpp>
#include <ztensor/detail/foreign/pickled.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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
