// SPDX-License-Identifier: MIT
//
// Storages, tensors, dictionaries and bytes from the arguments that a pickle gives them: what torch._utils and Python
// would call, as descriptions. Arrays and scalars of NumPy: which bytes of the pickle they are, and what these mean.
#ifndef ZTENSOR_DETAIL_IMPORT_PICKLE_REBUILD_HPP
#define ZTENSOR_DETAIL_IMPORT_PICKLE_REBUILD_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/npy_header.hpp>
#include <ztensor/detail/import/pickle_values.hpp>
#include <ztensor/error.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[nodiscard]] ZTENSOR_COLD inline error wrong_arguments(const pickle_global& global) {
    return fail(errc::pickle_malformed, "{} of module {} is given other arguments than PyTorch gives it",
                {in_quotes(global.name), in_quotes(global.module)});
}

// -- unlisted calls
//
// What newer versions of PyTorch, and packages beside it, rebuild in ways that are not known. Tuples and dictionaries
// may be shared by very many calls, so that only their first items are looked at.

inline constexpr size_t most_items_looked_at = 16;

/// Whether it is a name or an object that is not known, or a tuple or dictionary with one among its first items.
[[nodiscard]] inline bool holds_unknown(const pickled& made, const pickle_value& value) noexcept {
    const auto is_unknown = [](const pickle_value& each) {
        return each.kind == pickle_kind::object || each.kind == pickle_kind::unknown_global;
    };
    if (value.kind != pickle_kind::tuple && value.kind != pickle_kind::dictionary) {
        return is_unknown(value);
    }
    pickle_items items(made, value);
    const pickle_value* item = items.next();
    for (size_t i = 0; item != nullptr && i < most_items_looked_at; ++i, item = items.next()) {
        if (is_unknown(*item)) {
            return true;
        }
    }
    return false;
}

/// Whether a call that can't be carried out may be one of a newer version: it has arguments, or a tensor has metadata,
/// that are not known. Other wrong arguments are damage.
[[nodiscard]] inline bool is_unlisted_call(const pickled& made, const pickle_global& global,
                                           const pickle_value& arguments, errc why) noexcept {
    const bool is_tensor = global.role == pickle_role::tensor || global.role == pickle_role::tensor_of_dtype;
    const size_t count = made.count_of(arguments);
    const pickle_value metadata = count != 0 ? made.item_of(arguments, count - 1) : pickle_value();
    if (why == errc::pickle_refused && is_tensor && metadata.kind == pickle_kind::dictionary) {
        const pickle_value* const key = pickle_items(made, metadata).next();
        return key != nullptr && key->kind == pickle_kind::text;
    }
    if (why != errc::pickle_malformed) {
        return false;
    }
    bool is_unlisted = false;
    for (size_t i = 0; i < most_items_looked_at; ++i) {
        is_unlisted = is_unlisted || holds_unknown(made, made.item_or_none(arguments, i));
    }
    return is_unlisted;
}

/// What a dictionary, or the state of an object that is not made, has under a key; None if it is not among the first.
[[nodiscard]] inline pickle_value find_part(const pickled& made, const pickle_value& holder, string_view key) noexcept {
    if (holder.kind != pickle_kind::dictionary && holder.kind != pickle_kind::object) {
        return {};
    }
    pickle_items items(made, holder);
    for (size_t i = 0; i < most_items_looked_at; ++i) {
        const pickle_value* const found = items.next();
        const pickle_value* const value = found != nullptr ? items.next() : nullptr;
        if (value == nullptr) {
            break;
        }
        if (found->kind == pickle_kind::spliced && value->kind == pickle_kind::dictionary) {
            return find_part(made, *value, key); // dictionaries have no such keys
        }
        if (made.text_or_none(*found) == key) {
            return *value;
        }
    }
    return {};
}

/// The state of an object that has slots is a pair of None and a dictionary; else this is the state itself.
[[nodiscard]] inline pickle_value state_in_slots(const pickled& made, const pickle_value& state) noexcept {
    const pickle_value slots = made.is_tuple_of(state, 2) ? made.item_of(state, 1) : pickle_value();
    return slots.kind == pickle_kind::dictionary ? slots : state;
}

/// Of _rebuild_from_type_v2, called with four arguments: the tensor that one process has of a distributed tensor, where
/// it is all of it, in the sizes of the whole and a shard or a copy along each dimension of the mesh, but no sum. None
/// for anything else.
[[nodiscard]] inline pickle_value whole_of_dtensor(const pickled& made, const pickle_value& arguments) {
    const pickle_value type = made.item_of(arguments, 1), state = state_in_slots(made, made.item_of(arguments, 3));
    if (type.kind != pickle_kind::unknown_global || made.names[type.place].name != "DTensor") {
        return {};
    }
    const pickle_value local = find_part(made, state, "_local_tensor");
    const pickle_value sizes = made.item_or_none(made.item_of(arguments, 2), 2); // behind a class and a dtype
    const pickle_value placements = find_part(made, find_part(made, state, "_spec"), "placements");
    const bool is_dense = local.kind == pickle_kind::tensor && made.tensors[local.place].form == pickle_form::dense;
    if (!is_dense || placements.kind != pickle_kind::tuple || made.count_of(placements) > most_items_looked_at ||
        sizes.kind != pickle_kind::tuple || made.count_of(sizes) > max_rank || !made.is_tuple_of_sizes(sizes) ||
        made.sizes_of(sizes) != made.sizes_of(made.argument_of(made.tensors[local.place], 2))) {
        return {};
    }
    for (size_t i = 0; i < made.count_of(placements); ++i) {
        const pickle_value each = made.item_of(placements, i);
        const pickle_value kind = each.kind == pickle_kind::object ? made.objects[each.place].type : each;
        const string_view name =
            kind.kind == pickle_kind::unknown_global ? made.names[kind.place].name : string_view();
        if (name != "Shard" && name != "Replicate") {
            return {};
        }
    }
    return local;
}

// -- rebuild

/// What a tensor's metadata say of the form of its numbers; false for such as are not known.
[[nodiscard]] inline bool read_metadata(const pickled& made, const pickle_value& metadata, pickle_form& form) {
    if (metadata.kind != pickle_kind::dictionary) {
        return metadata.kind == pickle_kind::none;
    }
    bool is_conjugated = false, is_negated = false;
    pickle_items items(made, metadata);
    while (const pickle_value* const key = items.next()) {
        const bool is_set = items.next()->place != 0;
        const string_view name = made.text_or_none(*key);
        if (name != "conj" && name != "neg") {
            return false;
        }
        (name == "conj" ? is_conjugated : is_negated) |= is_set;
    }
    form = is_conjugated && is_negated ? pickle_form::conjugated_and_negated
           : is_conjugated             ? pickle_form::conjugated
           : is_negated                ? pickle_form::negated
                                       : form;
    return true;
}

/// Counts sizes without a look at them, because very many tensors may share the tuple. A tensor that has too many is
/// refused later, where its name is known.
[[nodiscard]] inline bool has_too_many_sizes(const pickled& made, const pickle_value& sizes) noexcept {
    return sizes.kind == pickle_kind::tuple && made.count_of(sizes) > max_rank;
}

/// A tensor as _rebuild_tensor (storage, offset, size, stride), _v2 (besides requires_grad, hooks, perhaps metadata),
/// _v3 (with a dtype before the metadata) and _rebuild_qtensor (with a quantizer before requires_grad) are told, in a
/// tuple. What is in `metadata` changes what the numbers mean.
inline result<pickle_value> rebuild_tensor(pickled& made, const pickle_global& global, const pickle_value& arguments) {
    const bool has_dtype = global.role == pickle_role::tensor_of_dtype;
    const bool is_quantized = global.role == pickle_role::quantized_tensor;
    const bool is_oldest = global.name == "_rebuild_tensor";
    const size_t expected = is_oldest ? 4 : has_dtype || is_quantized ? 7 : 6;
    const size_t count = made.count_of(arguments);
    if (count != expected && (is_oldest || is_quantized || count != expected + 1)) {
        return wrong_arguments(global);
    }
    const pickle_value storage = made.item_of(arguments, 0);
    const pickle_value size = made.item_of(arguments, 2);
    const pickle_value stride = made.item_of(arguments, 3);
    const bool has_many_sizes = has_too_many_sizes(made, size);
    const bool has_shape =
        has_many_sizes || (made.is_tuple_of_sizes(size) && made.is_tuple_of(stride, made.count_of(size)) &&
                           made.is_tuple_of_sizes(stride));
    if (storage.kind != pickle_kind::storage || !made.is_size(made.item_of(arguments, 1)) || !has_shape) {
        return wrong_arguments(global);
    }
    pickle_tensor tensor;
    tensor.storage = storage.place;
    tensor.element = made.storages[tensor.storage].element;
    tensor.arguments = arguments.place;
    if (has_dtype) {
        const pickle_value dtype = made.item_of(arguments, 6);
        if (dtype.kind != pickle_kind::global || pickle_globals[dtype.place].role != pickle_role::dtype) {
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
    if (has_many_sizes) {
        tensor.form = pickle_form::too_many_sizes;
    }
    return made.make_tensor(tensor);
}

/// Of _rebuild_sparse_tensor: the layout, and a tuple of indices, values, size and is_coalesced; or of the two kinds of
/// indices, values and size.
inline result<pickle_value> rebuild_sparse(pickled& made, const pickle_global& global, const pickle_value& arguments) {
    const pickle_value layout = made.item_or_none(arguments, 0), parts = made.item_or_none(arguments, 1);
    if (made.count_of(arguments) != 2 || layout.kind != pickle_kind::text) {
        return wrong_arguments(global);
    }
    const size_t tensors = made.text_of(layout) == "torch.sparse_coo" ? 2 : 3;
    const pickle_value size = made.item_or_none(parts, tensors);
    const bool has_many_sizes = has_too_many_sizes(made, size);
    bool is_right = has_many_sizes || made.is_tuple_of_sizes(size);
    const auto is_of_form = [&](const pickle_value& part, pickle_form form) {
        return part.kind == pickle_kind::tensor && made.tensors[part.place].form == form;
    };
    for (size_t i = 0; is_right && i < tensors; ++i) {
        const pickle_value part = made.item_of(parts, i);
        is_right = is_of_form(part, pickle_form::dense) || is_of_form(part, pickle_form::too_many_sizes);
    }
    if (!is_right) {
        return wrong_arguments(global);
    }
    pickle_tensor tensor;
    tensor.form = has_many_sizes ? pickle_form::too_many_sizes : pickle_form::sparse;
    tensor.arguments = arguments.place;
    return made.make_tensor(tensor);
}

/// A dictionary of nothing, of another one, or of a list of pairs, as Python 2 wrote those that keep their order.
inline result<pickle_value> rebuild_dictionary(pickled& made, const pickle_global& global,
                                               const pickle_value& arguments) {
    const size_t count = made.count_of(arguments);
    const size_t factories = global.name == "defaultdict" && count != 0 ? 1 : 0;
    const pickle_value content = made.item_or_none(arguments, factories);
    if (count == factories + 1 && content.kind == pickle_kind::dictionary) {
        return content;
    }
    if (count != factories && (count != factories + 1 || content.kind != pickle_kind::list)) {
        return wrong_arguments(global);
    }
    const pickle_value dictionary = made.make_container(pickle_kind::dictionary);
    if (count == factories) {
        return dictionary;
    }
    pickle_items pairs(made, content);
    while (const pickle_value* const pair = pairs.next()) {
        if (pair->kind != pickle_kind::tuple && pair->kind != pickle_kind::list) {
            return wrong_arguments(global);
        }
        pickle_items items(made, *pair);
        const pickle_value* const key = items.next();
        const pickle_value* const value = key != nullptr ? items.next() : nullptr;
        if (value == nullptr || items.next() != nullptr) {
            return wrong_arguments(global);
        }
        made.append_pair(dictionary, *key, *value);
        ZTENSOR_TRY(made.check_limits());
    }
    return dictionary;
}

/// Bytes of nothing, of bytes, or of a text of which each character is one: what pickles of protocols before 3 write.
inline result<pickle_value> rebuild_bytes(pickled& made, const pickle_global& global, const pickle_value& arguments) {
    if (made.count_of(arguments) == 0) {
        return made.add_decoded(pickle_kind::byte_string, {});
    }
    const pickle_value content = made.item_of(arguments, 0);
    if (content.kind == pickle_kind::byte_string) {
        return content;
    }
    if (content.kind != pickle_kind::text) {
        return wrong_arguments(global);
    }
    vector<byte> decoded;
    const bytes_view text = made.bytes_of(content);
    if (!made.budget.take(text.size())) {
        return pickle_takes_too_much();
    }
    decoded.reserve(text.size());
    for (size_t i = 0; i < text.size(); ++i) {
        const auto first = std::to_integer<unsigned>(text[i]);
        const bool is_two = (first == 0xc2 || first == 0xc3) && i + 1 < text.size();
        if (first >= 0x80 && !is_two) {
            return wrong_arguments(global); // no character of one byte
        }
        decoded.push_back(is_two ? byte((first & 3) << 6 | (std::to_integer<unsigned>(text[++i]) & 0x3f)) : text[i]);
    }
    return made.add_decoded(pickle_kind::byte_string, decoded);
}

/// What `global` makes of a tuple of arguments. Errors: pickle_malformed, pickle_refused, limit_exceeded.
inline result<pickle_value> rebuild(pickled& made, const pickle_global& global, const pickle_value& arguments) {
    const size_t count = made.count_of(arguments);
    const pickle_value first = made.item_or_none(arguments, 0);
    bool is_first = false; // which is what is made
    switch (global.role) {
    case pickle_role::tensor:
    case pickle_role::tensor_of_dtype:
    case pickle_role::quantized_tensor:
        return rebuild_tensor(made, global, arguments);
    case pickle_role::meta_tensor: { // of a dtype, size, stride, requires_grad
        pickle_tensor tensor;
        tensor.form = pickle_form::meta;
        return made.make_tensor(tensor);
    }
    case pickle_role::sparse_tensor:
        return rebuild_sparse(made, global, arguments);
    case pickle_role::bytes:
        return rebuild_bytes(made, global, arguments);
    case pickle_role::dictionary:
        return rebuild_dictionary(made, global, arguments);
    case pickle_role::parameter: // of a tensor, requires_grad, hooks, perhaps a state
        is_first = first.kind == pickle_kind::tensor || first.kind == pickle_kind::object;
        break;
    case pickle_role::first:
        is_first = (global.name == "restore_type_tag" && count == 2) || (count == 1 && holds_values(first.kind));
        break;
    case pickle_role::list:
        if (count == 0 || (count == 2 && made.is_tuple_of(first, 0))) { // as of a deque, with the most that it holds
            return made.make_container(pickle_kind::list);
        }
        is_first = first.kind == pickle_kind::list || first.kind == pickle_kind::tuple;
        break;
    case pickle_role::text:
        is_first = first.kind == pickle_kind::text;
        break;
    default:
        return fail(errc::pickle_refused, "the pickle calls {} of module {}, which is not for calling",
                    {in_quotes(global.name), in_quotes(global.module)});
    }
    return is_first ? result<pickle_value>(first) : wrong_arguments(global);
}

/// The storage of a persistent id: ("storage", class, key, device, number of elements), in files from before archives
/// perhaps with a view of it: its own key, the first element, and their number.
inline result<pickle_value> rebuild_storage(pickled& made, const pickle_value& id) {
    const auto wrong = [] {
        return fail(errc::pickle_malformed, "a persistent id is not that of a storage, as PyTorch writes them");
    };
    if (!made.is_tuple_of(id, 5) && !made.is_tuple_of(id, 6)) {
        return wrong();
    }
    const pickle_value element = made.item_of(id, 1), elements = made.item_of(id, 4), view = made.item_or_none(id, 5);
    pickle_storage storage;
    storage.key = made.item_of(id, 2);
    if (made.text_or_none(made.item_of(id, 0)) != "storage" || element.kind != pickle_kind::global ||
        storage.key.kind != pickle_kind::text || !made.is_size(elements)) {
        return wrong();
    }
    const pickle_global& global = pickle_globals[element.place];
    if (global.role != pickle_role::storage && global.role != pickle_role::untyped_storage) {
        return wrong();
    }
    const uint64_t count = made.size_of(elements);
    const optional<uint64_t> bytes = checked_multiply(count, global.element_bytes);
    if (!bytes) {
        return fail(errc::shape_overflow, "a storage of {} elements is larger than 64 bits can count", {count});
    }
    storage.element = static_cast<uint16_t>(element.place);
    storage.is_meta = made.text_or_none(made.item_of(id, 3)) == "meta";
    storage.bytes = *bytes;
    if (view.kind != pickle_kind::none) {
        if (!made.is_tuple_of(view, 3) || !made.is_size(made.item_of(view, 1)) ||
            !made.is_size(made.item_of(view, 2))) {
            return wrong();
        }
        if (!fits(made.size_of(made.item_of(view, 1)), made.size_of(made.item_of(view, 2)), count)) {
            return fail(errc::out_of_bounds, "a view of a storage reaches beyond it");
        }
        storage.view = view.place;
    }
    return made.make_storage(storage);
}

// -- pickle numpy

/// An object that a function of NumPy would make of what it holds.
[[nodiscard]] inline bool is_of_role(const pickled& content, const pickle_value& value, pickle_role role) noexcept {
    if (value.kind != pickle_kind::object) {
        return false;
    }
    const pickle_value type = content.objects[value.place].type;
    return type.kind == pickle_kind::global && pickle_globals[type.place].role == role;
}

/// An array or a scalar.
struct pickled_array {
    npy_element element;
    string_view type;   ///< of the element, as NumPy spells it; "" if it is other than a text
    pickle_value shape; ///< a tuple; None of a scalar
    pickle_value data;  ///< bytes
    bool is_fortran = false;
    const char* why = nullptr; ///< it can't be read

    [[nodiscard]] bool is_readable() const noexcept { return why == nullptr; }
};

/// The arguments of the object's function, and the state that was set, each a tuple; None if it is not there.
struct numpy_parts {
    pickle_value arguments;
    pickle_value state;
};
[[nodiscard]] inline numpy_parts parts_of_numpy(const pickled& content, const pickle_value& object) noexcept {
    numpy_parts parts;
    pickle_items items(content, object);
    for (pickle_value* const part : {&parts.arguments, &parts.state}) {
        static_cast<void>(items.next()); // the key, which names nothing
        const pickle_value* const value = items.next();
        if (value != nullptr && value->kind == pickle_kind::tuple) {
            *part = *value;
        }
    }
    return parts;
}

/// Of a numpy.dtype: made of a text such as "f8", or of a class of ml_dtypes; its state says the order of bytes, and
/// what records and arrays in an element are made of.
[[nodiscard]] inline npy_element numpy_element_of(const pickled& content, const numpy_parts& dtype) {
    npy_element found;
    found.why = "whose type is not known";
    const pickle_value type = content.item_or_none(dtype.arguments, 0);
    for (size_t i = 2; i < 5; ++i) {
        if (content.item_or_none(dtype.state, i).kind != pickle_kind::none) {
            found.why = "which is a record of several";
            return found;
        }
    }
    const string_view order = content.text_or_none(content.item_or_none(dtype.state, 1));
    if (type.kind == pickle_kind::unknown_global && content.names[type.place].module == "ml_dtypes") {
        found.type = find_npy_type(content.names[type.place].name);
        found.is_big_endian = order == ">" && found.type != nullptr && found.type->element_bytes != 1;
    } else if (type.kind == pickle_kind::text) {
        found = find_npy_element(string(order) += content.text_of(type), "");
        found.why = found.raw_bytes != 0 ? "which is bytes of an unknown meaning" : found.why;
    }
    return found;
}

/// Of an object whose role is numpy_array.
[[nodiscard]] inline pickled_array read_numpy_array(const pickled& content, const pickle_value& object) {
    const auto& [arguments, state] = parts_of_numpy(content, object);
    const string_view function = pickle_globals[content.objects[object.place].type.place].name;
    pickled_array array;
    pickle_value dtype;
    if (function == "scalar") { // a dtype and bytes
        dtype = content.item_or_none(arguments, 0);
        array.data = content.item_or_none(arguments, 1);
    } else if (function == "_frombuffer") { // bytes, a dtype, the shape and "C" or "F"
        array.data = content.item_or_none(arguments, 0);
        dtype = content.item_or_none(arguments, 1);
        array.shape = content.item_or_none(arguments, 2);
        array.is_fortran = content.text_or_none(content.item_or_none(arguments, 3)) == "F";
    } else { // the state: a version, which the oldest lack, the shape, a dtype, whether it is Fortran's order, and
             // bytes
        const size_t first = content.is_tuple_of(state, 4) ? 0 : 1;
        array.shape = content.item_or_none(state, first);
        dtype = content.item_or_none(state, first + 1);
        const pickle_value order = content.item_or_none(state, first + 2);
        array.is_fortran = order.kind == pickle_kind::boolean && order.place != 0;
        array.data = content.item_or_none(state, first + 3);
    }
    array.element.why = "whose type is not known";
    if (is_of_role(content, dtype, pickle_role::numpy_dtype)) {
        const numpy_parts of_dtype = parts_of_numpy(content, dtype);
        array.element = numpy_element_of(content, of_dtype);
        array.type = content.text_or_none(content.item_or_none(of_dtype.arguments, 0));
    }
    const bool has_bytes = array.data.kind == pickle_kind::byte_string || array.data.kind == pickle_kind::text;
    const bool has_shape = function == "scalar" || content.is_tuple_of_sizes(array.shape);
    array.why = array.element.type == nullptr ? array.element.why
                : !has_bytes || !has_shape    ? "which has no bytes or no shape"
                                              : nullptr;
    return array;
}

/// Whether it is one whose numbers can be read.
[[nodiscard]] inline bool is_numpy_array(const pickled& content, const pickle_value& value) {
    return is_of_role(content, value, pickle_role::numpy_array) && read_numpy_array(content, value).is_readable();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
