// SPDX-License-Identifier: MIT
//
// Runs of items from the stack; storages, tensors and tuples from the arguments that a pickle gives them: what
// torch._utils would call, as descriptions.
#ifndef ZTENSOR_DETAIL_FOREIGN_PICKLE_REBUILD_HPP
#define ZTENSOR_DETAIL_FOREIGN_PICKLE_REBUILD_HPP

#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/foreign/block_array.hpp>
#include <ztensor/detail/foreign/pickle_stack.hpp>
#include <ztensor/detail/foreign/pickled.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[nodiscard]] ZTENSOR_COLD inline error wrong_arguments(const pickle_global& global) {
    return fail(errc::pickle_malformed, "{} of module {} is given other arguments than PyTorch gives it",
                {in_quotes(global.name), in_quotes(global.module)});
}

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

[[nodiscard]] inline error pickle_takes_too_much() {
    return fail(errc::limit_exceeded, "the pickle makes more of its bytes than a checkpoint does: more than four times "
                                      "as much memory as it takes itself");
}

/// Errors: pickle_refused for a name that is not on the list.
[[nodiscard]] inline result<pickle_value> find_global(std::string_view module, std::string_view name) {
    const pickle_global* const known = find_pickle_global(module, name);
    if (known == nullptr) {
        return fail(errc::pickle_refused,
                    "the pickle asks for {} of module {}, which is not among what a checkpoint needs; nothing was run",
                    {in_quotes(name), in_quotes(module)});
    }
    pickle_value value;
    value.kind = pickle_kind::global;
    value.place = static_cast<std::uint32_t>(known - pickle_globals);
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

/// A tensor as _rebuild_tensor_v2 (storage, offset, size, stride, requires_grad, hooks, metadata) and _v3 (with a dtype
/// before the metadata) are told, in a tuple. What is in `metadata` changes what the numbers mean.
[[nodiscard]] inline result<pickle_value> rebuild_tensor(pickled& made, const pickle_global& global,
                                                         const pickle_value& arguments, import_budget& budget) {
    const bool has_dtype = global.role == pickle_role::tensor_of_dtype;
    const std::size_t expected = has_dtype ? 7 : 6;
    const std::size_t count = made.count_of(arguments);
    if (count != expected && count != expected + 1) {
        return wrong_arguments(global);
    }
    const pickle_value storage = made.item_of(arguments, 0);
    const pickle_value offset = made.item_of(arguments, 1);
    const pickle_value size = made.item_of(arguments, 2);
    const pickle_value stride = made.item_of(arguments, 3);
    const bool has_shape = is_tuple_of_sizes(made, size) && is_tuple_of_sizes(made, stride) &&
                           made.count_of(size) == made.count_of(stride);
    if (storage.kind != pickle_kind::storage || !is_size(made, offset) || !has_shape) {
        return wrong_arguments(global);
    }
    pickle_tensor tensor;
    tensor.storage = storage.place;
    tensor.element = made.storages[tensor.storage].element;
    tensor.offset = size_of(made, offset);
    tensor.sizes = size.place;
    tensor.strides = stride.place;
    if (has_dtype) {
        const pickle_value dtype = made.item_of(arguments, 6);
        if (dtype.kind != pickle_kind::global || pickle_globals[dtype.place].role != pickle_role::dtype) {
            return wrong_arguments(global);
        }
        tensor.element = dtype.place;
    }
    if (count == expected + 1) {
        const pickle_value metadata = made.item_of(arguments, expected);
        const bool is_empty =
            metadata.kind == pickle_kind::none ||
            (metadata.kind == pickle_kind::dictionary && pickle_items(made, metadata).next(made) == nullptr);
        if (!is_empty) {
            return fail(errc::pickle_refused, "a tensor is a conjugated or negated view, or has other metadata: clone "
                                              "and resolve it before saving");
        }
    }
    pickle_value value;
    value.kind = pickle_kind::tensor;
    value.place = static_cast<std::uint32_t>(made.tensors.size());
    if (!made.tensors.push_back(tensor, budget)) {
        return pickle_takes_too_much();
    }
    return value;
}

/// What `global` makes of a tuple of arguments. Errors: pickle_malformed, pickle_refused, limit_exceeded.
[[nodiscard]] inline result<pickle_value> rebuild(pickled& made, const pickle_global& global,
                                                  const pickle_value& arguments, import_budget& budget) {
    const std::size_t count = made.count_of(arguments);
    switch (global.role) {
    case pickle_role::tensor:
    case pickle_role::tensor_of_dtype:
        return rebuild_tensor(made, global, arguments, budget);
    case pickle_role::parameter: // of a tensor, requires_grad, hooks
        if (count == 3 && made.item_of(arguments, 0).kind == pickle_kind::tensor) {
            return made.item_of(arguments, 0);
        }
        return wrong_arguments(global);
    case pickle_role::tuple:
        if (count == 1 && made.item_of(arguments, 0).kind == pickle_kind::tuple) {
            return made.item_of(arguments, 0);
        }
        return wrong_arguments(global);
    case pickle_role::dictionary: // with content: no version of torch.save writes that
        return wrong_arguments(global);
    default:
        return fail(errc::pickle_refused, "the pickle calls {} of module {}, which is not for calling",
                    {in_quotes(global.name), in_quotes(global.module)});
    }
}

/// The storage of a persistent id: ("storage", class, key, device, number of elements).
[[nodiscard]] inline result<pickle_value> rebuild_storage(pickled& made, const pickle_value& id,
                                                          import_budget& budget) {
    const char* const wrong = "a persistent id is not that of a storage, as PyTorch writes them";
    if (id.kind != pickle_kind::tuple || made.count_of(id) != 5) {
        return fail(errc::pickle_malformed, wrong);
    }
    const pickle_value kind = made.item_of(id, 0);
    const pickle_value element = made.item_of(id, 1);
    const pickle_value key = made.item_of(id, 2);
    const pickle_value elements = made.item_of(id, 4);
    if (kind.kind != pickle_kind::text || made.text_of(kind) != "storage" || element.kind != pickle_kind::global ||
        key.kind != pickle_kind::text || !is_size(made, elements)) {
        return fail(errc::pickle_malformed, wrong);
    }
    const pickle_global& global = pickle_globals[element.place];
    if (global.role != pickle_role::storage && global.role != pickle_role::untyped_storage) {
        return fail(errc::pickle_malformed, wrong);
    }
    const std::uint64_t count = size_of(made, elements);
    const std::optional<std::uint64_t> bytes = checked_multiply(count, global.element_bytes);
    if (!bytes) {
        return fail(errc::shape_overflow, "a storage of {} elements is larger than 64 bits can count", {count});
    }
    pickle_value value;
    value.kind = pickle_kind::storage;
    value.place = static_cast<std::uint32_t>(made.storages.size());
    if (!made.storages.push_back({key, element.place, *bytes}, budget)) {
        return pickle_takes_too_much();
    }
    return value;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
