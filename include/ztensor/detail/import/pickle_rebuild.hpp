// SPDX-License-Identifier: MIT
//
// Storages, tensors, dictionaries and bytes from the arguments that a pickle gives them: what torch._utils and Python
// would call, as descriptions.
#ifndef ZTENSOR_DETAIL_IMPORT_PICKLE_REBUILD_HPP
#define ZTENSOR_DETAIL_IMPORT_PICKLE_REBUILD_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/pickle_values.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[nodiscard]] ZTENSOR_COLD inline error wrong_arguments(const pickle_global& global) {
    return fail(errc::pickle_malformed, "{} of module {} is given other arguments than PyTorch gives it",
                {in_quotes(global.name), in_quotes(global.module)});
}

[[nodiscard]] inline result<pickle_value> add_tensor(pickled& made, const pickle_tensor& tensor,
                                                     import_budget& budget) {
    pickle_value value;
    value.kind = pickle_kind::tensor;
    value.place = static_cast<std::uint32_t>(made.tensors.size());
    return made.tensors.push_back(tensor, budget) ? result<pickle_value>(value) : pickle_takes_too_much();
}

/// An integer that stands in no pickle.
[[nodiscard]] inline result<pickle_value> make_integer(pickled& made, std::uint64_t number, import_budget& budget) {
    std::byte bytes[8];
    store_little(number, bytes, sizeof bytes);
    result<pickle_value> integer = add_decoded(made, pickle_kind::integer, bytes, budget);
    if (integer) {
        integer->place += integer->width; // behind the length
    }
    return integer;
}

/// A tuple of sizes that stand in no pickle.
[[nodiscard]] inline result<pickle_value> make_sizes(pickled& made, span<const std::uint64_t> sizes,
                                                     import_budget& budget) {
    pickle_value tuple;
    tuple.kind = pickle_kind::tuple;
    tuple.place = static_cast<std::uint32_t>(made.values.size());
    pickle_value head;
    head.place = static_cast<std::uint32_t>(sizes.size());
    bool has_room = made.values.push_back(head, budget);
    for (std::size_t i = 0; has_room && i < sizes.size(); ++i) {
        const result<pickle_value> size = make_integer(made, sizes[i], budget);
        if (!size) {
            return size;
        }
        has_room = made.values.push_back(*size, budget);
    }
    return has_room ? result<pickle_value>(tuple) : pickle_takes_too_much();
}

/// A dense tensor of a storage of its own, that no pickle describes; as many strides as sizes.
[[nodiscard]] inline result<pickle_value> make_tensor(pickled& made, const pickle_storage& storage,
                                                      std::uint64_t offset, span<const std::uint64_t> sizes,
                                                      span<const std::uint64_t> strides, import_budget& budget) {
    const result<pickle_value> made_sizes = make_sizes(made, sizes, budget);
    const result<pickle_value> made_strides = made_sizes ? make_sizes(made, strides, budget) : made_sizes;
    const result<pickle_value> made_offset = made_strides ? make_integer(made, offset, budget) : made_strides;
    if (!made_offset) {
        return made_offset;
    }
    pickle_tensor tensor;
    tensor.element = storage.element;
    tensor.storage = static_cast<std::uint32_t>(made.storages.size());
    tensor.arguments = static_cast<std::uint32_t>(made.values.size());
    tensor.form = storage.is_meta ? pickle_form::meta : pickle_form::dense;
    pickle_value head;
    head.place = 4;
    bool has_room = made.storages.push_back(storage, budget);
    for (const pickle_value& each : {head, pickle_value(), *made_offset, *made_sizes, *made_strides}) {
        has_room = has_room && made.values.push_back(each, budget);
    }
    return has_room ? add_tensor(made, tensor, budget) : pickle_takes_too_much();
}

[[nodiscard]] inline bool is_dtype(const pickle_value& value) noexcept {
    return value.kind == pickle_kind::global && pickle_globals[value.place].role == pickle_role::dtype;
}

/// What a tensor's metadata say of the form of its numbers; false for such as are not known.
[[nodiscard]] inline bool read_metadata(const pickled& made, const pickle_value& metadata, pickle_form& form) {
    if (metadata.kind == pickle_kind::none) {
        return true;
    }
    if (metadata.kind != pickle_kind::dictionary) {
        return false;
    }
    pickle_items items(made, metadata);
    while (const pickle_value* const key = items.next(made)) {
        const bool is_set = items.next(made)->place != 0;
        const std::string_view name = key->kind == pickle_kind::text ? made.text_of(*key) : std::string_view();
        if (name == "conj" && is_set) {
            form = form == pickle_form::negated ? pickle_form::conjugated_and_negated : pickle_form::conjugated;
        } else if (name == "neg" && is_set) {
            form = form == pickle_form::conjugated ? pickle_form::conjugated_and_negated : pickle_form::negated;
        } else if (name != "conj" && name != "neg") {
            return false;
        }
    }
    return true;
}

/// A tensor as _rebuild_tensor (storage, offset, size, stride), _v2 (besides requires_grad, hooks, perhaps metadata),
/// _v3 (with a dtype before the metadata) and _rebuild_qtensor (with a quantizer before requires_grad) are told, in a
/// tuple. What is in `metadata` changes what the numbers mean.
[[nodiscard]] inline result<pickle_value> rebuild_tensor(pickled& made, const pickle_global& global,
                                                         const pickle_value& arguments, import_budget& budget) {
    const bool has_dtype = global.role == pickle_role::tensor_of_dtype;
    const bool is_quantized = global.role == pickle_role::quantized_tensor;
    const bool is_oldest = global.name == "_rebuild_tensor";
    const std::size_t expected = is_oldest ? 4 : has_dtype || is_quantized ? 7 : 6;
    const std::size_t count = made.count_of(arguments);
    if (count != expected && (is_oldest || is_quantized || count != expected + 1)) {
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
    tensor.arguments = arguments.place;
    if (has_dtype) {
        const pickle_value dtype = made.item_of(arguments, 6);
        if (!is_dtype(dtype)) {
            return wrong_arguments(global);
        }
        tensor.element = dtype.place;
    }
    if (is_quantized) {
        tensor.form = pickle_form::quantized;
        const pickle_value quantizer = made.item_of(arguments, 4);
        if (quantizer.kind != pickle_kind::tuple || made.count_of(quantizer) < 3) {
            return wrong_arguments(global);
        }
    }
    if (count == expected + 1 && !read_metadata(made, made.item_of(arguments, expected), tensor.form)) {
        return fail(errc::pickle_refused, "a tensor has metadata that are not known");
    }
    if (made.storages[tensor.storage].is_meta) {
        tensor.form = pickle_form::meta;
    }
    return add_tensor(made, tensor, budget);
}

/// Of _rebuild_meta_tensor_no_storage: dtype, size, stride, requires_grad.
[[nodiscard]] inline result<pickle_value> rebuild_meta(pickled& made, const pickle_value& arguments,
                                                       import_budget& budget) {
    pickle_tensor tensor;
    tensor.form = pickle_form::meta;
    static_cast<void>(arguments);
    return add_tensor(made, tensor, budget);
}

/// Of _rebuild_sparse_tensor: the layout, and a tuple of indices, values, size and is_coalesced; or of the two kinds of
/// indices, values and size.
[[nodiscard]] inline result<pickle_value> rebuild_sparse(pickled& made, const pickle_global& global,
                                                         const pickle_value& arguments, import_budget& budget) {
    if (made.count_of(arguments) != 2 || made.item_of(arguments, 0).kind != pickle_kind::text ||
        made.item_of(arguments, 1).kind != pickle_kind::tuple) {
        return wrong_arguments(global);
    }
    pickle_tensor tensor;
    tensor.form = pickle_form::sparse;
    tensor.arguments = arguments.place;
    const pickle_value parts = made.item_of(arguments, 1);
    const bool is_coo = made.text_of(made.item_of(arguments, 0)) == "torch.sparse_coo";
    const std::size_t tensors = is_coo ? 2 : 3;
    if (made.count_of(parts) < tensors + 1 || !is_tuple_of_sizes(made, made.item_of(parts, tensors))) {
        return wrong_arguments(global);
    }
    for (std::size_t i = 0; i < tensors; ++i) {
        const pickle_value part = made.item_of(parts, i);
        if (part.kind != pickle_kind::tensor || made.tensors[part.place].form != pickle_form::dense) {
            return wrong_arguments(global);
        }
    }
    return add_tensor(made, tensor, budget);
}

/// A dictionary of nothing, of another one, or of a list of pairs, as Python 2 wrote those that keep their order.
[[nodiscard]] inline result<pickle_value> rebuild_dictionary(pickled& made, const pickle_global& global,
                                                             const pickle_value& arguments, import_budget& budget) {
    const std::size_t count = made.count_of(arguments);
    const std::size_t factories = global.name == "defaultdict" && count != 0 ? 1 : 0;
    if (count == factories) {
        return make_container(made, pickle_kind::dictionary, budget);
    }
    const pickle_value content = made.item_of(arguments, factories);
    if (count != factories + 1 || (content.kind != pickle_kind::dictionary && content.kind != pickle_kind::list)) {
        return wrong_arguments(global);
    }
    if (content.kind == pickle_kind::dictionary) {
        return content;
    }
    const result<pickle_value> dictionary = make_container(made, pickle_kind::dictionary, budget);
    pickle_items pairs(made, content);
    while (const pickle_value* const pair = dictionary ? pairs.next(made) : nullptr) {
        if (pair->kind != pickle_kind::tuple && pair->kind != pickle_kind::list) {
            return wrong_arguments(global);
        }
        pickle_items items(made, *pair);
        const pickle_value* const key = items.next(made);
        const pickle_value* const value = key != nullptr ? items.next(made) : nullptr;
        if (value == nullptr || items.next(made) != nullptr) {
            return wrong_arguments(global);
        }
        ZTENSOR_TRY(append_items(made, *dictionary, {*key, *value}, budget));
    }
    return dictionary;
}

/// Bytes of nothing, of bytes, or of a text of which each character is one: what pickles of protocols before 3 write.
[[nodiscard]] inline result<pickle_value> rebuild_bytes(pickled& made, const pickle_global& global,
                                                        const pickle_value& arguments, import_budget& budget) {
    if (made.count_of(arguments) == 0) {
        return add_decoded(made, pickle_kind::byte_string, {}, budget);
    }
    const pickle_value content = made.item_of(arguments, 0);
    if (content.kind == pickle_kind::byte_string) {
        return content;
    }
    if (content.kind != pickle_kind::text) {
        return wrong_arguments(global);
    }
    std::vector<std::byte> decoded;
    const bytes_view text = made.bytes_of(content);
    if (!budget.take(text.size())) {
        return pickle_takes_too_much();
    }
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto first = std::to_integer<unsigned>(text[i]);
        const bool is_two = (first == 0xc2 || first == 0xc3) && i + 1 < text.size();
        if (first >= 0x80 && !is_two) {
            return wrong_arguments(global); // no character of one byte
        }
        decoded.push_back(is_two ? std::byte((first & 3) << 6 | (std::to_integer<unsigned>(text[++i]) & 0x3f))
                                 : text[i]);
    }
    return add_decoded(made, pickle_kind::byte_string, decoded, budget);
}

/// What `global` makes of a tuple of arguments. Errors: pickle_malformed, pickle_refused, limit_exceeded.
[[nodiscard]] inline result<pickle_value> rebuild(pickled& made, const pickle_global& global,
                                                  const pickle_value& arguments, import_budget& budget) {
    const std::size_t count = made.count_of(arguments);
    const pickle_value first = count != 0 ? made.item_of(arguments, 0) : pickle_value();
    switch (global.role) {
    case pickle_role::tensor:
    case pickle_role::tensor_of_dtype:
    case pickle_role::quantized_tensor:
        return rebuild_tensor(made, global, arguments, budget);
    case pickle_role::meta_tensor:
        return rebuild_meta(made, arguments, budget);
    case pickle_role::sparse_tensor:
        return rebuild_sparse(made, global, arguments, budget);
    case pickle_role::parameter: // of a tensor, requires_grad, hooks, perhaps a state
        return first.kind == pickle_kind::tensor ? result<pickle_value>(first) : wrong_arguments(global);
    case pickle_role::first: {
        const bool has_tag = global.name == "restore_type_tag" && count == 2;
        return has_tag || (count == 1 && holds_values(first.kind)) ? result<pickle_value>(first)
                                                                   : wrong_arguments(global);
    }
    case pickle_role::list:
        if (count == 0) {
            return make_container(made, pickle_kind::list, budget);
        }
        return first.kind == pickle_kind::list || first.kind == pickle_kind::tuple ? result<pickle_value>(first)
                                                                                   : wrong_arguments(global);
    case pickle_role::text:
        return first.kind == pickle_kind::text ? result<pickle_value>(first) : wrong_arguments(global);
    case pickle_role::bytes:
        return rebuild_bytes(made, global, arguments, budget);
    case pickle_role::dictionary:
        return rebuild_dictionary(made, global, arguments, budget);
    case pickle_role::of_type: { // the other function, the class, arguments, state
        if (count != 4 || first.kind != pickle_kind::global || made.item_of(arguments, 2).kind != pickle_kind::tuple ||
            pickle_globals[first.place].role == pickle_role::of_type) {
            return wrong_arguments(global);
        }
        return rebuild(made, pickle_globals[first.place], made.item_of(arguments, 2), budget);
    }
    default:
        return fail(errc::pickle_refused, "the pickle calls {} of module {}, which is not for calling",
                    {in_quotes(global.name), in_quotes(global.module)});
    }
}

/// What is shown of a storage, in bytes.
struct shown_bytes {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
};
[[nodiscard]] inline shown_bytes shown_of(const pickled& made, const pickle_storage& storage) noexcept {
    if (storage.view == 0) {
        return {0, storage.bytes};
    }
    const std::uint64_t width = pickle_globals[storage.element].element_bytes; // checked before: none overflows
    const auto number = [&](std::size_t i) { return size_of(made, made.values[storage.view + 1 + i]); };
    return {number(1) * width, number(2) * width};
}

/// The storage of a persistent id: ("storage", class, key, device, number of elements), in files from before archives
/// perhaps with a view of it: its own key, the first element, and their number.
[[nodiscard]] inline result<pickle_value> rebuild_storage(pickled& made, const pickle_value& id,
                                                          import_budget& budget) {
    const char* const wrong = "a persistent id is not that of a storage, as PyTorch writes them";
    const std::size_t parts = id.kind == pickle_kind::tuple ? made.count_of(id) : 0;
    if (parts != 5 && parts != 6) {
        return fail(errc::pickle_malformed, wrong);
    }
    const pickle_value kind = made.item_of(id, 0);
    const pickle_value element = made.item_of(id, 1);
    const pickle_value key = made.item_of(id, 2);
    const pickle_value device = made.item_of(id, 3);
    const pickle_value elements = made.item_of(id, 4);
    const pickle_value view = parts == 6 ? made.item_of(id, 5) : pickle_value();
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
    pickle_storage storage;
    storage.key = key;
    storage.element = static_cast<std::uint16_t>(element.place);
    storage.is_meta = device.kind == pickle_kind::text && made.text_of(device) == "meta";
    storage.bytes = *bytes;
    if (view.kind != pickle_kind::none) {
        if (view.kind != pickle_kind::tuple || made.count_of(view) != 3 || !is_size(made, made.item_of(view, 1)) ||
            !is_size(made, made.item_of(view, 2))) {
            return fail(errc::pickle_malformed, wrong);
        }
        const std::uint64_t first = size_of(made, made.item_of(view, 1));
        const std::uint64_t shown = size_of(made, made.item_of(view, 2));
        if (!fits(first, shown, count)) {
            return fail(errc::out_of_bounds, "a view of a storage reaches beyond it");
        }
        storage.view = view.place;
    }
    pickle_value value;
    value.kind = pickle_kind::storage;
    value.place = static_cast<std::uint32_t>(made.storages.size());
    if (!made.storages.push_back(storage, budget)) {
        return pickle_takes_too_much();
    }
    return value;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
