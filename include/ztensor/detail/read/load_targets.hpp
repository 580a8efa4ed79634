// SPDX-License-Identifier: MIT
//
// What a plan wants, found in the files and checked before a byte of them is read.
#ifndef ZTENSOR_DETAIL_READ_LOAD_TARGETS_HPP
#define ZTENSOR_DETAIL_READ_LOAD_TARGETS_HPP

#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/joined_planes.hpp>
#include <ztensor/detail/read/numbers.hpp>
#include <ztensor/detail/read/parts.hpp>
#include <ztensor/detail/read/weights.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <atomic>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// One tensor of a plan: where it comes from and where it goes.
struct load_target {
    const load_request* wanted = nullptr;
    const opened_file* file = nullptr;
    size_t file_number = 0; ///< among those of the reader
    const object_record* object = nullptr;
    const component_record* component = nullptr;
    span<byte> destination;
    bool is_joint = false;           ///< converted as a whole: weights in groups, elements that share bytes, cut blocks
    optional<number_source> numbers; ///< what converts its elements or blocks
    vector<index_range> ranges;      ///< of a part, in every dimension
    /// Of raw data that is wanted as one run, the run: absolute in the file.
    uint64_t offset = 0;
    uint64_t length = 0;
    bool is_one_raw_run = false;
    bool is_checked = false;         ///< its digest is to be verified
    uint64_t decoded_bytes = 0;      ///< that are wanted of it, as they are stored
    size_t stored_element_bytes = 1; ///< of a block, where it is blocks

    [[nodiscard]] bool is_whole() const noexcept { return wanted->part == load_request::part_kind::whole; }
    [[nodiscard]] const load_destination& to() const noexcept { return wanted->destination; }
    [[nodiscard]] size_t destination_element_bytes() const noexcept {
        return to().number ? width_bytes(*to().number) : to().request.size_bytes;
    }
    /// Null where the weights of an object that is not dense are meant.
    [[nodiscard]] const component_record* elements() const noexcept {
        return is_dense(*file, *object) ? component : nullptr;
    }
};

/// Where the wanted part lies in what the component decodes to, which is known.
inline result<element_part> find_part(const load_target& target) {
    const shape dimensions = target.file->index.shape_of(*target.object);
    if (target.numbers) {
        return target.numbers->find_part(dimensions, target.ranges);
    }
    const uint64_t decoded_bytes = target.component->decoded_length().value_or(0);
    return part_finder(dimensions, target.ranges)(decoded_bytes, target.to().request.size_bytes);
}

/// So many elements fit the destination. Of rows that lie apart the plan makes memory itself.
inline result<void> check_room(uint64_t elements, const load_target& target) {
    if (target.to().rows != nullptr) {
        return check_memory_limit(elements * target.destination_element_bytes(), target.file->options);
    }
    ZTENSOR_TRY(make_room(memory_of(target.to().bytes), elements, target.destination_element_bytes()));
    return {};
}

/// How many elements are wanted, by the shape.
[[nodiscard]] inline uint64_t count_wanted(const load_target& target) noexcept {
    if (target.is_whole()) {
        return target.file->index.element_count_of(*target.object);
    }
    uint64_t count = 1;
    for (const index_range& each : target.ranges) {
        count *= each.end - each.begin; // of a part of what was counted
    }
    return count;
}

/// Bytes of a row of the destination: the last dimension of what is wanted.
[[nodiscard]] inline uint64_t row_bytes_of(const load_target& target) noexcept {
    const shape dimensions = target.file->index.shape_of(*target.object);
    const uint64_t elements = dimensions.empty()  ? 1
                              : target.is_whole() ? dimensions.back()
                                                  : target.ranges.back().end - target.ranges.back().begin;
    return elements * target.destination_element_bytes();
}

/// Of weights in groups: every part is understood, and all of them fit. Fills in the target.
ZTENSOR_COLD inline result<void> check_groups(load_target& target) {
    const opened_file& file = *target.file;
    for (const component_record& part : file.index.components_of(*target.object)) {
        ZTENSOR_TRY(part.logical_type == unknown_type ? unknown_numbers(file, part) : result<void>());
        const element_request stored = {*part.dtype, {}, width_bytes(*part.dtype), 1, false};
        ZTENSOR_TRY(count_loadable_elements(file, part, stored));
        target.decoded_bytes += part.decoded_length().value_or(0);
    }
    return check_room(count_wanted(target), target);
}

/// What is found of the tensor is of the right type and size. Fills in the target.
inline result<void> check_target(load_target& target) {
    const opened_file& file = *target.file;
    const component_record& component = *target.component;
    const load_request& wanted = *target.wanted;
    const shape dimensions = file.index.shape_of(*target.object);
    target.offset = component.offset;
    target.length = component.length;
    if (!target.is_whole()) {
        ZTENSOR_TRY_ASSIGN(target.ranges, ranges_in(dimensions, wanted.begins, wanted.ends,
                                                    wanted.part == load_request::part_kind::rows));
    }
    if (!wanted.expected.is_anything()) {
        ZTENSOR_TRY(check_shape(dimensions, wanted.expected));
    }
    if (target.is_joint) {
        return check_groups(target);
    }
    optional<uint64_t> elements;
    if (const optional<dtype> to = target.to().number) {
        if (facts(*to).category != dtype_class::floating) {
            return fail(errc::invalid_argument, "elements can be converted to f64, f32, f16 or bf16, not to {}",
                        {name(*to)});
        }
        ZTENSOR_TRY_ASSIGN(const number_source numbers,
                           target.elements() != nullptr
                               ? number_source::of_elements(file, *target.object, component, *to)
                               : number_source::of_blocks(file, *target.object, *to));
        target.numbers.emplace(numbers);
        elements = numbers.count();
        target.stored_element_bytes = numbers.element_bytes();
    } else {
        ZTENSOR_TRY_ASSIGN(elements, count_elements(file, component, target.to().request));
        target.stored_element_bytes = target.to().request.size_bytes;
    }
    const bool is_raw = component.encoding == encoding::raw;
    if (!target.is_whole()) {
        if (!elements) {
            return {}; // only decoding tells, and then refuses
        }
        if (target.numbers && (target.numbers->are_packed() || !target.numbers->are_whole_blocks(target.ranges))) {
            target.is_joint = true;
            target.decoded_bytes = component.decoded_length().value_or(0);
            return check_room(count_wanted(target), target);
        }
        ZTENSOR_TRY_ASSIGN(const element_part part, find_part(target));
        target.is_one_raw_run = is_raw && part.runs.count() <= 1;
        if (target.is_one_raw_run) {
            target.offset += part.runs.begin();
            target.length = part.runs.count() * part.runs.run_bytes();
        }
        target.decoded_bytes = part.count * target.stored_element_bytes;
        return check_room(part.count * (target.numbers ? target.numbers->numbers_per_element() : 1), target);
    }
    target.is_one_raw_run = target.numbers ? target.numbers->is_raw() : is_raw;
    target.is_joint = target.numbers && target.numbers->are_packed();
    target.is_checked = blob_check(file, component).is_wanted();
    target.decoded_bytes = component.decoded_length().value_or(target.to().bytes.size());
    ZTENSOR_TRY(elements ? check_room(*elements, target) : result<void>());
    ZTENSOR_TRY(check_memory_limit(target.decoded_bytes, file.options));
    return is_raw ? result<void>() : check_blob_limit(component.length, file.options);
}

/// The component that holds the elements, or the blocks or codes of weights that are to be converted.
inline result<component_view> find_elements(const object_view& object, const load_target& target) {
    if (!target.is_joint && target.to().number && !is_dense(*target.file, *target.object)) {
        const result<weight_blocks> blocks = find_weight_blocks(target.file->index, *target.object);
        return blocks ? object.component("data") : object_access::located(object, blocks.error());
    }
    return target.is_joint ? object.component("data") : object.data();
}

inline result<load_target> find_target(const reader& from, const load_request& wanted) {
    ZTENSOR_TRY_ASSIGN(const object_view object, from.find(wanted.name));
    ZTENSOR_TRY(object_access::located(object, wanted.taken));
    load_target target;
    target.wanted = &wanted;
    target.file = &object_access::file_of(object);
    if (wanted.file != nullptr && wanted.file != target.file) {
        return object_access::located(object, another_reader());
    }
    target.file_number = from.files().size() == 1 ? 0 : from.file_of(wanted.name).value_or(0);
    target.object = &object_access::record_of(object);
    target.destination = wanted.destination.bytes;
    target.is_joint = wanted.destination.number && has_group_weights(target.file->index, *target.object);
    ZTENSOR_TRY_ASSIGN(const component_view data, find_elements(object, target));
    target.component = &component_access::record_of(data);
    ZTENSOR_TRY(component_access::located(data, check_target(target)));
    return target;
}

/// Memory of the caller's that a target is written to: a row, and as many like it behind it.
struct destination_rows {
    uint64_t begin; ///< of the next row, as an address
    uint64_t row_bytes;
    uint64_t step; ///< from the begin of a row to that of the next
    uint64_t rows; ///< that are left
    const load_target* target;

    /// How many of them end before an address that is not before the first: at least one counts. Rows don't overlap.
    [[nodiscard]] uint64_t rows_before(uint64_t address) const noexcept {
        const uint64_t room = address - begin;
        return rows == 1 || room < row_bytes ? 1 : (std::min)(rows, (room - row_bytes) / step + 1);
    }
};

/// Of no rows where nothing is written.
[[nodiscard]] inline destination_rows rows_of_destination(const load_target& target) noexcept {
    const load_destination& to = target.to();
    if (to.rows == nullptr) {
        return {address_of(to.bytes.data()), to.bytes.size(), 0, to.bytes.empty() ? 0u : 1u, &target};
    }
    const uint64_t row = row_bytes_of(target);
    const uint64_t rows = row != 0 ? count_wanted(target) * target.destination_element_bytes() / row : 0;
    return {address_of(to.rows), row, to.row_bytes, rows, &target};
}

/// No byte of the caller's memory is the destination of two tensors, or of two rows. Goes through all rows in the order
/// of their addresses, and at once through those that no other destination has rows between. What is wrong goes to
/// `problems`: invalid_argument.
inline void check_overlaps(const vector<load_target>& targets, problem_list& problems) {
    vector<destination_rows> left; // a heap, of which the first begins first
    left.reserve(targets.size());
    for (const load_target& each : targets) {
        if (const destination_rows rows = rows_of_destination(each); rows.rows != 0) {
            left.push_back(rows);
        }
    }
    const auto is_later = [](const destination_rows& a, const destination_rows& b) { return a.begin > b.begin; };
    const auto refuse = [&](const load_target& which, error why) {
        problems.add(object_access::located(object_access::make(*which.file, *which.object), std::move(why)));
    };
    std::make_heap(left.begin(), left.end(), is_later);
    uint64_t end = 0; // of what is written so far
    const load_target* last = nullptr;
    while (!left.empty()) {
        std::pop_heap(left.begin(), left.end(), is_later);
        const destination_rows next = left.back();
        left.pop_back();
        uint64_t passed = 1;
        if (next.begin < end) {
            refuse(*next.target, fail(errc::invalid_argument, "its destination overlaps that of {}",
                                      {in_quotes(last->file->index.text(last->object->name))}));
        } else if (next.rows > 1 && next.step < next.row_bytes) {
            refuse(*next.target,
                   fail(errc::invalid_argument, "rows of {} bytes overlap where each begins {} behind the one before",
                        {next.row_bytes, next.step}));
        } else {
            passed = next.rows_before(left.empty() ? ~uint64_t{0} : left.front().begin);
            if (passed < next.rows) {
                left.push_back(
                    {next.begin + passed * next.step, next.row_bytes, next.step, next.rows - passed, next.target});
                std::push_heap(left.begin(), left.end(), is_later);
            }
        }
        const uint64_t next_end = next.begin + (passed - 1) * next.step + next.row_bytes;
        last = next_end > end ? next.target : last;
        end = (std::max)(end, next_end);
    }
}

/// Everything that a plan wants, or all that is wrong with it.
inline result<vector<load_target>> find_targets(const reader& from, const vector<load_request>& wanted) {
    vector<load_target> targets;
    problem_list problems;
    targets.reserve(wanted.size());
    for (const load_request& each : wanted) {
        if (each.is_optional && !from.contains(each.name)) {
            continue;
        }
        result<load_target> found = find_target(from, each);
        if (found) {
            targets.push_back(*std::move(found));
        } else {
            problems.add(std::move(found).error());
        }
    }
    check_overlaps(targets, problems);
    if (!problems.empty()) {
        return problems.all(sentence("{} of {} tensors can't be loaded:", {problems.size(), wanted.size()}),
                            from.files().size() == 1);
    }
    return targets;
}

/// A large zstd blob, or the exponents and fractions of a tensor in planes, that several threads decode: one for each
/// of its units.
struct shared_blob {
    shared_blob(const load_target& of, span<byte> decoded, uint64_t most_frame_bytes) : target(of), elements(decoded) {
        const opened_file& file = *of.file;
        const auto stable = [&](const component_record& blob) {
            return source_access::stable_range(*file.source, blob.offset, blob.length);
        };
        if (!of.component->is_in_planes) {
            frames.emplace(file, *of.component, decoded.size(), most_frame_bytes, stable(*of.component));
            return;
        }
        const planes_tensor& both = file.planes.of(*of.component);
        const elements_taker to = of.numbers ? numbers.emplace(*of.numbers, of.destination).taker()
                                             : memory.emplace(of.destination, both).taker();
        planes.emplace(file, both, to, most_frame_bytes, stable(both.exponents()), stable(both.fractions()));
    }

    [[nodiscard]] size_t most_turns() const noexcept { return frames ? frames->most_turns() : planes->most_turns(); }
    [[nodiscard]] bool take_turn(planes_stream::memory& mine, size_t& decoded) {
        return frames ? frames->take_turn(elements, decoded) : planes->take_turn(mine, decoded);
    }
    /// Called once, when no thread takes a turn any more.
    result<void> finish() {
        ZTENSOR_TRY(frames ? frames->finish() : planes->finish());
        if (numbers) { // which were made on the way
            return {};
        }
        return target.numbers ? target.numbers->convert_stored(elements, target.destination)
                              : to_host(*target.component, target.to().request, elements);
    }

    const load_target& target;
    span<byte> elements; ///< as they are stored: the destination, or its end
    optional<number_source::joined_numbers> numbers;
    optional<elements_in_memory> memory;
    optional<frame_stream> frames;
    optional<planes_stream> planes;
    std::atomic<size_t> units_left{0}; ///< the last one finishes it
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
