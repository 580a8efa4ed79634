// SPDX-License-Identifier: MIT
//
// What of a file another format can hold: dense tensors, each with what it will be there. Knows no format but by name.
#ifndef ZTENSOR_DETAIL_TRANSFER_EXPORTED_TENSOR_HPP
#define ZTENSOR_DETAIL_TRANSFER_EXPORTED_TENSOR_HPP

#include <ztensor/attributes_view.hpp>
#include <ztensor/component_view.hpp>
#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/codec/ggml_types.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/read/convert.hpp>
#include <ztensor/detail/read/numbers.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/export_options.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/pieces.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct exported_tensor {
    object_view object;
    component_view data;
    std::string name; ///< in the new file
    ztensor::shape shape;
    dtype storage;         ///< in the new file
    std::string_view type; ///< logical, if it is more than the storage type
    std::uint64_t bytes;   ///< in the new file
    bool converts = false;
};

[[nodiscard]] ZTENSOR_COLD inline error not_in_format(std::string_view format, const std::string& feature) {
    return fail(errc::not_expressible, "{} has no {}", {format, feature});
}

/// Numbers that floats_as() is about: floats, and what is narrower than a byte, of which no other format has numbers.
[[nodiscard]] inline bool is_floating(dtype storage, std::string_view type) noexcept {
    return type.empty() ? facts(storage).category == dtype_class::floating
                        : find_float8(type) != nullptr || ztensor::find_narrow_type(type) != nullptr;
}

/// Blocks of quantized weights, which become floats where these are asked for.
[[nodiscard]] inline bool becomes_floats(const object_view& object, const export_options& options) noexcept {
    return options.floats_as_ && !object.known_format() &&
           object.format().substr(0, ggml_format_prefix.size()) == ggml_format_prefix;
}

/// Attributes of an object, but for those that say what a block is, where weights are written in its stead.
[[nodiscard]] inline bool has_attributes_to_keep(const object_view& object, const export_options& options) {
    const std::string_view of_blocks[] = {"block_bytes", "elems_per_block"};
    const attributes_view attributes = object.attributes();
    return std::any_of(attributes.begin(), attributes.end(), [&](const attribute& each) {
        return !becomes_floats(object, options) ||
               std::find(std::begin(of_blocks), std::end(of_blocks), each.key) == std::end(of_blocks);
    });
}

/// What the elements are in the new file, but for their number. Errors: not_expressible; those of weights in blocks.
[[nodiscard]] inline result<exported_tensor> describe_elements(const object_view& object, std::string_view format,
                                                               const export_options& options) {
    if (becomes_floats(object, options)) {
        ZTENSOR_TRY(find_weight_blocks(object_access::file_of(object).index, object_access::record_of(object)));
        return exported_tensor{object,
                               object.component("data").value(),
                               std::string(object.name()),
                               object.shape(),
                               *options.floats_as_,
                               {},
                               0,
                               true};
    }
    if (object.known_format() != ztensor::format::dense) {
        return not_in_format(format, sentence("place for an object of the format {}", {in_quotes(object.format())}));
    }
    ZTENSOR_TRY_ASSIGN(const component_view data, object.data());
    if (!data.dtype()) {
        return not_in_format(format, sentence("storage type {}", {in_quotes(data.dtype_name())}));
    }
    if (data.has_unknown_type() && find_logical_type(data.type()) != nullptr) { // over another storage type
        return not_in_format(format, sentence("logical type {}", {in_quotes(data.type())}));
    }
    exported_tensor made{object, data, std::string(object.name()), object.shape(), *data.dtype(), data.type(), 0};
    if (made.type == name(made.storage)) {
        made.type = {};
    }
    if (made.type == name(dtype::boolean) && !data.has_unknown_type()) { // of version 2, where it is a logical type
        made.storage = dtype::boolean;
        made.type = {};
    }
    if (options.floats_as_ && is_floating(made.storage, made.type)) {
        made.converts = made.storage != *options.floats_as_ || !made.type.empty();
        made.storage = *options.floats_as_;
        made.type = {};
    }
    return made;
}

[[nodiscard]] inline result<exported_tensor> describe_export(const object_view& object, std::string_view format,
                                                             const export_options& options) {
    result<exported_tensor> made = describe_elements(object, format, options);
    if (!made) {
        return made;
    }
    if (options.attributes_ && object.has_attributes() && has_attributes_to_keep(object, options)) {
        return not_in_format(format, "place for attributes of a tensor");
    }
    if (options.rename_) {
        made->name = options.rename_(object.name());
    }
    const logical_type_facts* const logical = find_logical_type(made->type);
    const std::uint64_t width = width_bytes(made->storage) * (logical != nullptr ? logical->storage_elements : 1);
    const std::optional<std::uint64_t> bytes = checked_multiply(object.element_count(), width);
    if (!bytes) {
        return fail(errc::shape_overflow, "{} elements of {} bytes need more than 64 bits",
                    {object.element_count(), width});
    }
    made->bytes = *bytes;
    return made;
}

/// Names may come from the caller. Errors: name_invalid, duplicate_key.
[[nodiscard]] inline result<void> check_names(const std::vector<exported_tensor>& tensors) {
    std::vector<std::string_view> names;
    names.reserve(tensors.size());
    for (const exported_tensor& each : tensors) {
        if (const char* const problem = name_problem(each.name)) {
            return fail(errc::name_invalid, problem).in_object(each.name);
        }
        names.push_back(each.name);
    }
    std::sort(names.begin(), names.end());
    const auto twin = std::adjacent_find(names.begin(), names.end());
    if (twin != names.end()) {
        return fail(errc::duplicate_key, "two tensors are to have this name").in_object(*twin);
    }
    return {};
}

/// Those that the options select, in the order of the reader.
[[nodiscard]] inline result<std::vector<exported_tensor>> list_exports(const reader& from, std::string_view format,
                                                                       const export_options& options) {
    if (options.floats_as_ && facts(*options.floats_as_).category != dtype_class::floating) {
        return fail(errc::invalid_argument, "floats can become f64, f32, f16 or bf16, not {}",
                    {name(*options.floats_as_)});
    }
    std::vector<exported_tensor> tensors;
    for (const object_view object : from) {
        if (options.select_ && !options.select_(object)) {
            continue;
        }
        result<exported_tensor> tensor = describe_export(object, format, options);
        if (!tensor) {
            return std::move(tensor).error().in_object(object.name());
        }
        tensors.push_back(*std::move(tensor));
    }
    result<void> distinct = check_names(tensors);
    return distinct ? result<std::vector<exported_tensor>>(std::move(tensors)) : std::move(distinct).error();
}

/// Gives the new file's bytes of a tensor, in their order, to `take(piece) -> result<void>`.
template <class Take>
[[nodiscard]] result<void> for_each_piece(const exported_tensor& tensor, const Take& take) {
    ZTENSOR_TRY_ASSIGN(component_pieces pieces, tensor.converts
                                                    ? component_pieces::open_as(tensor.object, tensor.storage)
                                                    : component_pieces::open(tensor.data));
    std::uint64_t taken = 0;
    for (;;) {
        ZTENSOR_TRY_ASSIGN(const bytes_view piece, pieces.next());
        taken += piece.size();
        if (piece.empty() && taken != tensor.bytes) {
            return fail(errc::size_mismatch, "the tensor has {} bytes, but shape and type make {}",
                        {taken, tensor.bytes});
        }
        if (piece.empty()) {
            return {};
        }
        ZTENSOR_TRY(take(piece));
    }
}

/// How far an export has come.
class export_meter {
public:
    export_meter(const std::vector<exported_tensor>& tensors, const export_options& options) : options_(options) {
        for (const exported_tensor& each : tensors) {
            progress_.total_bytes += each.bytes;
        }
    }

    /// Errors: cancelled.
    [[nodiscard]] result<void> finished(const exported_tensor& tensor) {
        progress_.object = tensor.name;
        progress_.done_bytes += tensor.bytes;
        if (!options_.progress_ || options_.progress_(progress_)) {
            return {};
        }
        return fail(errc::cancelled, "the export was stopped after {} of {} bytes",
                    {progress_.done_bytes, progress_.total_bytes});
    }

private:
    const export_options& options_;
    copy_progress progress_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
