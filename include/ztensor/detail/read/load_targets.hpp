// SPDX-License-Identifier: MIT
//
// What a plan wants, found in the file and checked, before anything is read.
#ifndef ZTENSOR_DETAIL_READ_LOAD_TARGETS_HPP
#define ZTENSOR_DETAIL_READ_LOAD_TARGETS_HPP

#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/read/byte_runs.hpp>
#include <ztensor/detail/read/component_access.hpp>
#include <ztensor/detail/read/convert.hpp>
#include <ztensor/detail/read/element_access.hpp>
#include <ztensor/detail/read/frame_stream.hpp>
#include <ztensor/detail/read/group_weights.hpp>
#include <ztensor/detail/read/numbers.hpp>
#include <ztensor/detail/read/object_access.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/parts.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// One tensor of a plan: where it comes from and where it goes.
struct load_target {
    const wanted_tensor* wanted = nullptr;
    const object_record* object = nullptr;
    const component_record* component = nullptr;
    bool is_blocks = false; ///< of quantized weights, which are converted
    bool is_joint = false;  ///< elements share bytes or scales: all of them are converted at once
    /// Of raw data that is wanted as one run, the run: absolute in the file.
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    bool is_one_raw_run = false;
    bool is_checked = false;         ///< its digest is to be verified
    std::uint64_t decoded_bytes = 0; ///< that are wanted of it, as they are stored

    [[nodiscard]] bool is_whole() const noexcept { return wanted->part == wanted_tensor::part_kind::whole; }
    [[nodiscard]] bool is_converted() const noexcept { return wanted->number_bytes != 0; }
    std::size_t stored_element_bytes = 1; ///< of a block, where it is blocks
    std::size_t numbers_per_element = 1;  ///< that they are converted to

    /// What converts it.
    [[nodiscard]] result<number_reader> numbers(const opened_file& file) const {
        return is_blocks ? number_reader::make_of_blocks(file, *object, wanted->number_bytes)
                         : number_reader::make(file, *component, wanted->number_bytes);
    }
};

/// The ranges of a part in every dimension.
[[nodiscard]] inline result<std::vector<index_range>> ranges_of(const wanted_tensor& wanted, const shape& dimensions) {
    std::vector<index_range> ranges = wanted.ranges;
    if (wanted.part == wanted_tensor::part_kind::rows) {
        if (dimensions.empty()) {
            return fail(errc::out_of_bounds, "rows {} to {} were asked for, of shape {}",
                        {ranges[0].begin, ranges[0].end, to_string(dimensions)})
                .by_caller();
        }
        for (std::size_t i = 1; i < dimensions.rank(); ++i) {
            ranges.push_back({0, dimensions[i]});
        }
    }
    ZTENSOR_TRY(check_slice(dimensions, slice(span<const index_range>(ranges))));
    return ranges;
}

/// Calls `use(part)` with where the wanted part lies in what the component decodes to.
template <class Use>
[[nodiscard]] result<void> with_part(const opened_file& file, const load_target& target, Use&& use) {
    const shape dimensions = file.index.shape_of(*target.object);
    ZTENSOR_TRY_ASSIGN(const std::vector<index_range> ranges, ranges_of(*target.wanted, dimensions));
    const part_finder find(dimensions, ranges);
    const result<element_part> part =
        find(target.component->decoded_length().value_or(0), target.wanted->request.size_bytes);
    return part ? use(*part) : part.error();
}

[[nodiscard]] inline result<void> check_room(std::uint64_t elements, const load_target& target) {
    const std::size_t element_bytes =
        target.is_converted() ? target.wanted->number_bytes : target.wanted->request.size_bytes;
    const std::size_t room = target.wanted->destination.size() / element_bytes;
    return elements == room ? result<void>() : wrong_destination(room, elements);
}

/// Of elements that share bytes or scales: every part is understood, and all of them fit. Fills in the target.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_joint_target(const opened_file& file, load_target& target) {
    for (const component_record& part : file.index.components_of(*target.object)) {
        const bool is_grouped = has_group_weights(file.index, *target.object);
        if (is_grouped ? part.logical_type == unknown_type : !has_known_numbers(file.index, part)) {
            return fail(errc::unsupported_type, "numbers of the logical type {} are unknown to this library",
                        {in_quotes(type_name(file.index, part))});
        }
        const element_request stored = {*part.dtype, {}, width_bytes(*part.dtype), 1, false};
        ZTENSOR_TRY(count_loadable_elements(file, part, stored));
        target.decoded_bytes += part.decoded_length().value_or(0);
    }
    target.offset = target.component->offset;
    target.length = target.component->length;
    return check_room(file.index.element_count_of(*target.object), target);
}

[[nodiscard]] ZTENSOR_COLD inline result<void> read_joint_target(const opened_file& file, const load_target& target) {
    const wanted_tensor& wanted = *target.wanted;
    return has_group_weights(file.index, *target.object)
               ? read_group_weights_into(file, *target.object, wanted.number_bytes, wanted.destination)
               : read_packed_numbers_into(file, *target.object, *target.component,
                                          *find_narrow_type(file.index, *target.component), wanted.number_bytes,
                                          wanted.destination);
}

/// What is found of the tensor is of the right type and size. Fills in the target.
[[nodiscard]] inline result<void> check_target(const opened_file& file, load_target& target) {
    if (target.is_joint) {
        return check_joint_target(file, target);
    }
    const component_record& component = *target.component;
    const element_request& request = target.wanted->request;
    std::optional<std::uint64_t> elements;
    if (target.is_converted()) {
        ZTENSOR_TRY_ASSIGN(const number_reader numbers, target.numbers(file));
        elements = numbers.count();
        target.stored_element_bytes = numbers.element_bytes();
        target.numbers_per_element = numbers.numbers_per_element();
    } else {
        ZTENSOR_TRY_ASSIGN(const std::optional<std::uint64_t> count, count_elements(file, component, request));
        elements = count;
        target.stored_element_bytes = request.size_bytes;
    }
    const bool is_raw = component.encoding == encoding::raw;
    target.offset = component.offset;
    target.length = component.length;
    if (!target.is_whole()) {
        if (!elements) {
            return {}; // only decoding tells, and then refuses
        }
        return with_part(file, target, [&](const element_part& part) {
            target.is_one_raw_run = is_raw && part.runs.count() <= 1;
            if (target.is_one_raw_run) {
                target.offset += part.runs.begin();
                target.length = part.runs.count() * part.runs.run_bytes();
            }
            target.decoded_bytes = part.count * request.size_bytes;
            return check_room(part.count, target);
        });
    }
    target.is_one_raw_run = is_raw;
    target.is_checked = blob_check(file, component).is_wanted();
    target.decoded_bytes = elements ? *elements / target.numbers_per_element * target.stored_element_bytes
                                    : target.wanted->destination.size();
    ZTENSOR_TRY(elements ? check_room(*elements, target) : result<void>());
    ZTENSOR_TRY(check_memory_limit(target.decoded_bytes, file.options));
    return is_raw ? result<void>() : check_blob_limit(component.length, file.options);
}

/// What holds the blocks of an object whose weights can be computed.
[[nodiscard]] inline result<component_view> block_data_of(const object_view& object) {
    const result<weight_blocks> blocks =
        find_weight_blocks(object_access::file_of(object).index, object_access::record_of(object));
    return blocks ? object.component("data") : object_access::located(object, blocks.error());
}

[[nodiscard]] inline result<load_target> find_target(const reader& from, const wanted_tensor& wanted) {
    ZTENSOR_TRY_ASSIGN(const object_view object, from.find(wanted.name));
    load_target target;
    target.wanted = &wanted;
    target.object = &object_access::record_of(object);
    const bool is_grouped =
        target.is_converted() && has_group_weights(object_access::file_of(object).index, *target.object);
    target.is_blocks = target.is_converted() && !is_grouped && target.object->format != format::dense;
    ZTENSOR_TRY_ASSIGN(const component_view data, target.is_blocks ? block_data_of(object)
                                                  : is_grouped     ? object.component("data")
                                                                   : object.data());
    target.component = &component_access::record_of(data);
    target.is_joint = is_grouped || (target.is_converted() && find_narrow_type(object_access::file_of(object).index,
                                                                               *target.component) != nullptr);
    result<void> fits = check_target(object_access::file_of(object), target);
    return fits ? result<load_target>(target) : component_access::located(data, std::move(fits).error());
}

/// Several errors as one, of the code of the first.
[[nodiscard]] ZTENSOR_COLD inline error all_problems(const std::vector<error>& problems, std::size_t wanted) {
    if (problems.size() == 1) {
        return problems.front();
    }
    std::string text = sentence("{} of {} tensors can't be loaded:", {problems.size(), wanted});
    const char* separator = " ";
    for (const error& each : problems) {
        text += separator;
        text +=
            each.object().empty() ? each.sentence() : sentence("{}: {}", {in_quotes(each.object()), each.sentence()});
        separator = "; ";
    }
    error all(problems.front().code(), std::move(text));
    return (problems.front().kind() == error_kind::usage ? std::move(all).by_caller() : std::move(all))
        .in_file(problems.front().path());
}

/// Everything that a plan wants, or all that is wrong with it.
[[nodiscard]] inline result<std::vector<load_target>> find_targets(const reader& from,
                                                                   const std::vector<wanted_tensor>& wanted) {
    std::vector<load_target> targets;
    std::vector<error> problems;
    targets.reserve(wanted.size());
    for (const wanted_tensor& each : wanted) {
        result<load_target> found = find_target(from, each);
        if (found) {
            targets.push_back(*found);
        } else {
            problems.push_back(std::move(found).error());
        }
    }
    if (!problems.empty()) {
        return all_problems(problems, wanted.size());
    }
    return targets;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
