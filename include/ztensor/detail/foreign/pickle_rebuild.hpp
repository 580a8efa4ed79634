// SPDX-License-Identifier: MIT
//
// Storages, tensors and tuples from the arguments that a pickle gives them: what torch._utils would call, as
// descriptions.
#ifndef ZTENSOR_DETAIL_FOREIGN_PICKLE_REBUILD_HPP
#define ZTENSOR_DETAIL_FOREIGN_PICKLE_REBUILD_HPP

#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/foreign/pickled.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

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

[[nodiscard]] inline bool is_size(const pickle_value& value) noexcept {
    return value.kind == pickle_kind::integer && pickled::integer_of(value) >= 0;
}

[[nodiscard]] inline bool is_tuple_of_sizes(const pickled& made, const pickle_value& value) noexcept {
    if (value.kind != pickle_kind::tuple) {
        return false;
    }
    for (const pickle_value& each : made.items_of(value)) {
        if (!is_size(each)) {
            return false;
        }
    }
    return true;
}

/// A tensor as _rebuild_tensor_v2 (storage, offset, size, stride, requires_grad, hooks, metadata) and _v3 (with a dtype
/// before the metadata) are told. What is in `metadata` changes what the numbers mean.
[[nodiscard]] inline result<pickle_value> rebuild_tensor(pickled& made, const pickle_global& global,
                                                         span<const pickle_value> arguments) {
    const bool has_dtype = global.role == pickle_role::tensor_of_dtype;
    const std::size_t expected = has_dtype ? 7 : 6;
    if (arguments.size() != expected && arguments.size() != expected + 1) {
        return wrong_arguments(global);
    }
    const pickle_value& size = arguments[2];
    const pickle_value& stride = arguments[3];
    const bool has_shape = is_tuple_of_sizes(made, size) && is_tuple_of_sizes(made, stride) && size.bits == stride.bits;
    if (arguments[0].kind != pickle_kind::storage || !is_size(arguments[1]) || !has_shape) {
        return wrong_arguments(global);
    }
    pickle_tensor tensor;
    tensor.storage = arguments[0].place;
    tensor.element = made.storages[tensor.storage].element;
    tensor.offset = arguments[1].bits;
    tensor.sizes = size.place;
    tensor.strides = stride.place;
    tensor.rank = static_cast<std::uint32_t>(size.bits);
    if (has_dtype) {
        if (arguments[6].kind != pickle_kind::global || pickle_globals[arguments[6].place].role != pickle_role::dtype) {
            return wrong_arguments(global);
        }
        tensor.element = &pickle_globals[arguments[6].place];
    }
    if (arguments.size() == expected + 1) {
        const pickle_value& metadata = arguments[expected];
        if (metadata.kind != pickle_kind::none &&
            (metadata.kind != pickle_kind::dictionary || !made.items_of(metadata).empty())) {
            return fail(errc::pickle_refused, "a tensor is a conjugated or negated view, or has other metadata: clone "
                                              "and resolve it before saving");
        }
    }
    pickle_value value;
    value.kind = pickle_kind::tensor;
    value.place = static_cast<std::uint32_t>(made.tensors.size());
    made.tensors.push_back(tensor);
    return value;
}

/// What `global` makes of `arguments`. Errors: pickle_malformed, pickle_refused.
[[nodiscard]] inline result<pickle_value> rebuild(pickled& made, const pickle_global& global,
                                                  span<const pickle_value> arguments) {
    switch (global.role) {
    case pickle_role::tensor:
    case pickle_role::tensor_of_dtype:
        return rebuild_tensor(made, global, arguments);
    case pickle_role::parameter: // of a tensor, requires_grad, hooks
        if (arguments.size() == 3 && arguments[0].kind == pickle_kind::tensor) {
            return arguments[0];
        }
        return wrong_arguments(global);
    case pickle_role::tuple:
        if (arguments.size() == 1 && arguments[0].kind == pickle_kind::tuple) {
            return arguments[0];
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
[[nodiscard]] inline result<pickle_value> rebuild_storage(pickled& made, const pickle_value& id) {
    const char* const wrong = "a persistent id is not that of a storage, as PyTorch writes them";
    if (id.kind != pickle_kind::tuple || id.bits != 5) {
        return fail(errc::pickle_malformed, wrong);
    }
    const span<const pickle_value> items = made.items_of(id);
    if (items[0].kind != pickle_kind::text || made.text_of(items[0]) != "storage" ||
        items[1].kind != pickle_kind::global || items[2].kind != pickle_kind::text || !is_size(items[4])) {
        return fail(errc::pickle_malformed, wrong);
    }
    const pickle_global& element = pickle_globals[items[1].place];
    if (element.role != pickle_role::storage && element.role != pickle_role::untyped_storage) {
        return fail(errc::pickle_malformed, wrong);
    }
    const std::optional<std::uint64_t> bytes = checked_multiply(items[4].bits, element.element_bytes);
    if (!bytes) {
        return fail(errc::shape_overflow, "a storage of {} elements is larger than 64 bits can count", {items[4].bits});
    }
    pickle_value value;
    value.kind = pickle_kind::storage;
    value.place = static_cast<std::uint32_t>(made.storages.size());
    made.storages.push_back({&element, made.text_of(items[2]), *bytes});
    return value;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
