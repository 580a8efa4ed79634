// SPDX-License-Identifier: MIT
//
// Plans: what they ask for, found and checked, cut into units in the order of the file, and carried out by threads that
// take one after the other. Defines what load_plan.hpp declares.
#ifndef ZTENSOR_DETAIL_READ_LOAD_PLAN_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_LOAD_PLAN_DEFINITIONS_HPP

#include <ztensor/component_view.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/numbers.hpp>
#include <ztensor/detail/read/parts.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- load targets
//
// What a plan wants, found in the file and checked before a byte of it is read.

/// One tensor of a plan: where it comes from and where it goes.
struct load_target {
    const wanted_tensor* wanted = nullptr;
    const object_record* object = nullptr;
    const component_record* component = nullptr;
    bool is_grouped = false;         ///< of quantized weights whose scales stand apart
    optional<number_source> numbers; ///< what converts its elements or blocks
    vector<index_range> ranges;      ///< of a part, in every dimension
    /// Of raw data that is wanted as one run, the run: absolute in the file.
    uint64_t offset = 0;
    uint64_t length = 0;
    bool is_one_raw_run = false;
    bool is_checked = false;         ///< its digest is to be verified
    uint64_t decoded_bytes = 0;      ///< that are wanted of it, as they are stored
    size_t stored_element_bytes = 1; ///< of a block, where it is blocks

    [[nodiscard]] bool is_whole() const noexcept { return wanted->part == wanted_tensor::part_kind::whole; }
};

/// The ranges of a part in every dimension, checked.
inline result<vector<index_range>> ranges_of(const wanted_tensor& wanted, const shape& dimensions) {
    vector<index_range> ranges = wanted.ranges;
    if (wanted.part == wanted_tensor::part_kind::rows) {
        if (dimensions.empty()) {
            return fail(errc::out_of_bounds, "rows {} to {} were asked for, of shape {}",
                        {ranges[0].begin, ranges[0].end, to_string(dimensions)})
                .by_caller();
        }
        for (size_t i = 1; i < dimensions.rank(); ++i) {
            ranges.push_back({0, dimensions[i]});
        }
    }
    ZTENSOR_TRY(check_slice(dimensions, slice(span<const index_range>(ranges))));
    return ranges;
}

/// Where the wanted part lies in what the component decodes to, which is known.
inline result<element_part> find_part(const opened_file& file, const load_target& target) {
    const shape dimensions = file.index.shape_of(*target.object);
    const uint64_t decoded_bytes = target.component->decoded_length().value_or(0);
    return part_finder(dimensions, target.ranges)(decoded_bytes, target.wanted->request.size_bytes);
}

inline result<void> check_room(uint64_t elements, const load_target& target) {
    const wanted_tensor& wanted = *target.wanted;
    const size_t element_bytes = wanted.number_bytes != 0 ? wanted.number_bytes : wanted.request.size_bytes;
    ZTENSOR_TRY(make_room(memory_of(wanted.destination), elements, element_bytes));
    return {};
}

/// Of weights in groups: every part is understood, and all of them fit. Fills in the target.
ZTENSOR_COLD inline result<void> check_groups(const opened_file& file, load_target& target) {
    for (const component_record& part : file.index.components_of(*target.object)) {
        ZTENSOR_TRY(part.logical_type == unknown_type ? unknown_numbers(file, part) : result<void>());
        const element_request stored = {*part.dtype, {}, width_bytes(*part.dtype), 1, false};
        ZTENSOR_TRY(count_loadable_elements(file, part, stored));
        target.decoded_bytes += part.decoded_length().value_or(0);
    }
    return check_room(file.index.element_count_of(*target.object), target);
}

/// What is found of the tensor is of the right type and size. Fills in the target.
inline result<void> check_target(const opened_file& file, load_target& target) {
    const component_record& component = *target.component;
    const wanted_tensor& wanted = *target.wanted;
    target.offset = component.offset;
    target.length = component.length;
    if (target.is_grouped) {
        return check_groups(file, target);
    }
    optional<uint64_t> elements;
    if (wanted.number_bytes != 0) {
        ZTENSOR_TRY_ASSIGN(const number_source numbers,
                           target.object->format == format::dense
                               ? number_source::of_elements(file, *target.object, component, wanted.number_bytes)
                               : number_source::of_blocks(file, *target.object, wanted.number_bytes));
        target.numbers.emplace(numbers);
        elements = numbers.count();
        target.stored_element_bytes = numbers.element_bytes();
    } else {
        ZTENSOR_TRY_ASSIGN(elements, count_elements(file, component, wanted.request));
        target.stored_element_bytes = wanted.request.size_bytes;
    }
    const bool is_raw = component.encoding == encoding::raw;
    if (!target.is_whole()) {
        ZTENSOR_TRY_ASSIGN(target.ranges, ranges_of(wanted, file.index.shape_of(*target.object)));
        if (!elements) {
            return {}; // only decoding tells, and then refuses
        }
        ZTENSOR_TRY_ASSIGN(const element_part part, find_part(file, target));
        target.is_one_raw_run = is_raw && part.runs.count() <= 1;
        if (target.is_one_raw_run) {
            target.offset += part.runs.begin();
            target.length = part.runs.count() * part.runs.run_bytes();
        }
        target.decoded_bytes = part.count * wanted.request.size_bytes;
        return check_room(part.count, target);
    }
    target.is_one_raw_run = target.numbers ? target.numbers->is_raw() : is_raw;
    target.is_checked = blob_check(file, component).is_wanted();
    target.decoded_bytes = component.decoded_length().value_or(wanted.destination.size());
    ZTENSOR_TRY(elements ? check_room(*elements, target) : result<void>());
    ZTENSOR_TRY(check_memory_limit(target.decoded_bytes, file.options));
    return is_raw ? result<void>() : check_blob_limit(component.length, file.options);
}

/// The component that holds the elements, or the blocks or codes of weights that are to be converted.
inline result<component_view> find_elements(const object_view& object, const load_target& target) {
    if (!target.is_grouped && target.wanted->number_bytes != 0 && target.object->format != format::dense) {
        const result<weight_blocks> blocks = find_weight_blocks(object_access::file_of(object).index, *target.object);
        return blocks ? object.component("data") : object_access::located(object, blocks.error());
    }
    return target.is_grouped ? object.component("data") : object.data();
}

inline result<load_target> find_target(const reader& from, const wanted_tensor& wanted) {
    ZTENSOR_TRY_ASSIGN(const object_view object, from.find(wanted.name));
    const opened_file& file = object_access::file_of(object);
    load_target target;
    target.wanted = &wanted;
    target.object = &object_access::record_of(object);
    target.is_grouped = wanted.number_bytes != 0 && has_group_weights(file.index, *target.object);
    ZTENSOR_TRY_ASSIGN(const component_view data, find_elements(object, target));
    target.component = &component_access::record_of(data);
    ZTENSOR_TRY(component_access::located(data, check_target(file, target)));
    return target;
}

/// Several errors as one, of the code of the first.
[[nodiscard]] ZTENSOR_COLD inline error all_problems(const vector<error>& problems, size_t wanted) {
    if (problems.size() == 1) {
        return problems.front();
    }
    string text = sentence("{} of {} tensors can't be loaded:", {problems.size(), wanted});
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
inline result<vector<load_target>> find_targets(const reader& from, const vector<wanted_tensor>& wanted) {
    vector<load_target> targets;
    vector<error> problems;
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

// -- load run

/// A large zstd blob that several threads decode: one for each of its units.
struct shared_blob {
    shared_blob(const opened_file& file, const load_target& of, span<byte> decoded, uint64_t most_frame_bytes)
        : target(of), elements(decoded),
          frames(file, *of.component, decoded, most_frame_bytes,
                 source_access::stable_range(*file.source, of.component->offset, of.component->length)) {}

    const load_target& target;
    span<byte> elements; ///< as they are stored: the destination, or its end
    frame_stream frames;
    std::atomic<size_t> units_left{0}; ///< the last one finishes it
};

class load_run {
public:
    load_run(const opened_file& file, vector<load_target> targets, const load_options& options)
        : file_(file), targets_(std::move(targets)), options_(options) {}

    result<load_report> carry_out() {
        for (const load_target& each : targets_) {
            bytes_total_ += each.decoded_bytes;
        }
        const uint64_t affordable = (std::max<uint64_t>)(options_.max_staging_bytes_ / batch_bytes, 1);
        const size_t useful = useful_threads(options_.threads_, ~size_t{0});
        threads_ = smaller_size(useful, affordable);
        staging_bytes_ = options_.max_staging_bytes_ / threads_;
        make_units();
        const zeroed_unless_done bools{*this};
        for_each_in_parallel(units_.size(), static_cast<unsigned>(threads_), [&](size_t i) {
            if (!is_stopped_) {
                run(units_[i]);
            }
        });
        if (!failure_) {
            return std::move(failure_).error();
        }
        is_done_ = true;
        if (options_.progress_) {
            static_cast<void>(options_.progress_({bytes_total_, bytes_total_, {}}));
        }
        return load_report{bytes_read_, bytes_done_, 0};
    }

private:
    static constexpr uint64_t large_bytes = uint64_t{256} << 10; ///< straight into its place
    static constexpr uint64_t piece_bytes = uint64_t{8} << 20;   ///< of what is large
    static constexpr uint64_t batch_bytes = uint64_t{1} << 20;   ///< of small neighbours, at most
    static constexpr uint64_t gap_bytes = uint64_t{16} << 10;    ///< between them; read for nothing

    enum class unit_kind : uint8_t {
        piece,  ///< stored bytes [begin, end) of a raw run that no digest covers
        batch,  ///< small raw tensors, read at once
        single, ///< one tensor, by one thread
        shared, ///< a part of a shared blob, which one thread takes as long as there are frames
    };

    struct unit {
        unit_kind kind;
        size_t first; ///< target, or shared blob
        size_t last;  ///< of a batch: behind its last target
        uint64_t begin = 0;
        uint64_t end = 0;
    };

    /// No byte but 0 and 1 must stay behind in bools that a failure left half read.
    struct zeroed_unless_done {
        load_run& run;
        ~zeroed_unless_done() {
            for (const load_target& each : run.targets_) {
                const span<byte> bools = each.wanted->destination;
                if (!run.is_done_ && each.wanted->request.is_bool) { // which is never converted
                    std::fill(bools.begin(), bools.end(), byte{0});
                }
            }
        }
    };

    [[nodiscard]] bool fits_batch(const load_target& target) const noexcept {
        const size_t width = target.component->dtype ? width_bytes(*target.component->dtype) : 1;
        const bool is_swapped = is_foreign_order(*target.component) && width > 1; // each time that it is asked for
        return target.is_one_raw_run && target.length < large_bytes && !is_swapped &&
               !source_access::is_made(*file_.source, target.offset, target.length);
    }

    void make_units() {
        std::sort(targets_.begin(), targets_.end(), [](const load_target& a, const load_target& b) {
            return a.offset != b.offset ? a.offset < b.offset : a.wanted < b.wanted;
        });
        for (size_t i = 0; i < targets_.size();) {
            i = fits_batch(targets_[i]) ? add_batch(i) : add_large(i);
        }
    }

    /// Gives the first target behind it.
    [[nodiscard]] size_t add_batch(size_t first) {
        const uint64_t most = (std::min)(batch_bytes, (std::max)(staging_bytes_, large_bytes));
        const uint64_t begin = targets_[first].offset;
        uint64_t end = begin;
        size_t next = first;
        for (; next < targets_.size(); ++next) {
            const load_target& target = targets_[next];
            const uint64_t behind = (std::max)(end, target.offset + target.length);
            if (!fits_batch(target) || target.offset > end + gap_bytes || (next != first && behind - begin > most)) {
                break;
            }
            end = behind;
        }
        units_.push_back({unit_kind::batch, first, next, begin, end});
        return next;
    }

    /// The same of a target that is no part of a batch.
    [[nodiscard]] size_t add_large(size_t place) {
        const load_target& target = targets_[place];
        const component_record& component = *target.component;
        const bool is_zstd = component.encoding == encoding::zstd;
        const bool is_made = source_access::is_made(*file_.source, target.offset, target.length);
        if (target.is_one_raw_run && !target.is_checked && !is_made) {
            const uint64_t step = piece_bytes / target.stored_element_bytes * target.stored_element_bytes;
            for (uint64_t at = 0; at < target.length; at += step) {
                units_.push_back({unit_kind::piece, place, place + 1, at, (std::min)(target.length, at + step)});
            }
            return place + 1;
        }
        const span<byte> destination = target.wanted->destination;
        const uint64_t most_frame_bytes = staging_bytes_ / 2; // a small blob is held as a whole, if it may be
        const bool is_large =
            is_zstd && component.length >= (std::min)(frame_stream::smallest_blob_bytes, most_frame_bytes + 1);
        const bool is_joint = target.is_grouped || (target.numbers && target.numbers->are_packed());
        if (is_large && !is_joint && target.is_whole() && component.decoded_length() &&
            target.decoded_bytes <= destination.size()) {
            const span<byte> elements = destination.last(static_cast<size_t>(target.decoded_bytes));
            const unit part = {unit_kind::shared, shared_.size(), place + 1};
            shared_.push_back(std::make_unique<shared_blob>(file_, target, elements, most_frame_bytes));
            shared_blob& blob = *shared_.back();
            blob.units_left = (std::min)(threads_, blob.frames.most_turns());
            units_.insert(units_.end(), blob.units_left, part);
            return place + 1;
        }
        units_.push_back({unit_kind::single, place, place + 1});
        return place + 1;
    }

    void run(const unit& each) {
        if (each.kind == unit_kind::batch) {
            return run_batch(each);
        }
        if (each.kind == unit_kind::shared) {
            return run_shared(*shared_[each.first]);
        }
        const load_target& target = targets_[each.first];
        const bool is_piece = each.kind == unit_kind::piece;
        uint64_t read_bytes = is_piece ? each.end - each.begin : 0;
        result<void> done = is_piece ? read_piece(target, each.begin, each.end) : read_single(target, read_bytes);
        bytes_read_ += read_bytes;
        settle(target, std::move(done), is_piece ? each.end - each.begin : target.decoded_bytes);
    }

    result<void> read_piece(const load_target& target, uint64_t begin, uint64_t end) {
        const size_t width = target.stored_element_bytes;
        const size_t made_bytes = target.numbers ? target.numbers->converted_bytes() : width;
        const auto first = static_cast<size_t>(begin / width) * made_bytes;
        const auto last = static_cast<size_t>(end / width) * made_bytes;
        const span<byte> place = target.wanted->destination.subspan(first, last - first);
        if (target.numbers) {
            blob_check no_check(file_, *target.component);
            return target.numbers->convert_raw(begin / width, place, no_check, target.numbers->best_store(place));
        }
        ZTENSOR_TRY(read_bulk(*file_.source, target.offset + begin, place));
        return to_host(*target.component, target.wanted->request, place);
    }

    result<void> read_single(const load_target& target, uint64_t& read_bytes) {
        const wanted_tensor& wanted = *target.wanted;
        const component_record& component = *target.component;
        if (!target.is_whole() && component.decoded_length()) {
            ZTENSOR_TRY_ASSIGN(const element_part part, find_part(file_, target));
            ZTENSOR_TRY(read_runs(file_, component, part.runs, wanted.destination, read_bytes));
            return to_host(component, wanted.request, wanted.destination);
        }
        read_bytes = target.is_grouped ? target.decoded_bytes : component.length;
        if (!target.is_whole()) {
            const shape dimensions = file_.index.shape_of(*target.object);
            const part_finder find(dimensions, target.ranges);
            return read_part(file_, component, wanted.request, find, memory_of(wanted.destination));
        }
        if (target.is_grouped) {
            return group_weights(file_, *target.object).read(wanted.number_bytes, memory_of(wanted.destination));
        }
        return target.numbers ? target.numbers->read(memory_of(wanted.destination))
                              : read_elements(file_, component, wanted.request, memory_of(wanted.destination));
    }

    void run_batch(const unit& batch) {
        thread_memory memory;
        const auto size = static_cast<size_t>(batch.end - batch.begin);
        const load_target& first = targets_[batch.first];
        const result<span<byte>> all = memory.reserve(size, "a batch of small tensors");
        result<void> read = all && size != 0 ? file_.source->read_at(batch.begin, *all) : result<void>();
        if (!all || !read) {
            return stop(first, all ? std::move(read).error() : all.error());
        }
        bytes_read_ += size;
        for (size_t i = batch.first; i < batch.last && !is_stopped_; ++i) {
            const load_target& target = targets_[i];
            const span<byte> stored =
                all->subspan(static_cast<size_t>(target.offset - batch.begin), static_cast<size_t>(target.length));
            settle(target, hand_over(target, stored), target.decoded_bytes);
        }
    }

    /// Stored bytes in the host's order, to where they are wanted.
    result<void> hand_over(const load_target& target, span<byte> stored) {
        if (target.is_checked) {
            ZTENSOR_TRY(check_digest(file_, *target.component, stored));
        }
        const span<byte> destination = target.wanted->destination;
        if (target.numbers) {
            return target.numbers->convert_stored(stored, destination);
        }
        if (!stored.empty()) {
            std::memcpy(destination.data(), stored.data(), stored.size());
        }
        return to_host(*target.component, target.wanted->request, destination);
    }

    void run_shared(shared_blob& blob) {
        const load_target& target = blob.target;
        for (size_t decoded = 0; !is_stopped_ && blob.frames.take_turn(decoded); decoded = 0) {
            settle(target, {}, decoded);
        }
        if (--blob.units_left != 0 || is_stopped_) {
            return;
        }
        bytes_read_ += target.component->length;
        result<void> done = blob.frames.finish();
        if (done) {
            done = target.numbers ? target.numbers->convert_stored(blob.elements, target.wanted->destination)
                                  : to_host(*target.component, target.wanted->request, blob.elements);
        }
        if (!done) {
            stop(target, std::move(done).error());
        }
    }

    void stop(const load_target& target, error why) {
        const os_lock lock(mutex_);
        if (failure_) {
            failure_ = std::move(why)
                           .in_file(file_.path)
                           .in_object(file_.index.text(target.object->name))
                           .in_component(role_name(file_.index, *target.component));
        }
        is_stopped_ = true;
    }

    /// Says how far it is, or stops all of it.
    void settle(const load_target& target, result<void> done, uint64_t decoded_bytes) {
        if (!done) {
            return stop(target, std::move(done).error());
        }
        const uint64_t now = bytes_done_ += decoded_bytes;
        if (!options_.progress_ || &is_at_work() != caller_) {
            return;
        }
        const string_view name = file_.index.text(target.object->name);
        if (!options_.progress_({(std::min)(now, bytes_total_), bytes_total_, name})) {
            stop(target, fail(errc::cancelled, "the progress function cancelled the plan at {} of {} bytes",
                              {now, bytes_total_}));
        }
    }

    const opened_file& file_;
    vector<load_target> targets_; ///< as they lie in the file
    const load_options& options_;
    const bool* const caller_ = &is_at_work(); ///< stands for the thread
    size_t threads_ = 1;
    uint64_t staging_bytes_ = 0; ///< of each
    vector<unit> units_;
    vector<std::unique_ptr<shared_blob>> shared_;
    uint64_t bytes_total_ = 0;
    bool is_done_ = false;

    std::atomic<bool> is_stopped_{false};
    std::atomic<uint64_t> bytes_read_{0};
    std::atomic<uint64_t> bytes_done_{0};
    os_mutex mutex_; ///< of the failure
    result<void> failure_;
};

inline result<void> check_added(bool is_out_of_memory) {
    return is_out_of_memory ? fail(errc::out_of_memory, "memory ran out while tensors were added to the plan")
                            : result<void>();
}

inline result<load_report> run_plan(const opened_file* file, const reader& from, const vector<wanted_tensor>& wanted,
                                    const load_options& options) {
    const double begin = steady_seconds();
    ZTENSOR_TRY_ASSIGN(vector<load_target> targets, find_targets(from, wanted));
    result<load_report> report = load_run(*file, std::move(targets), options).carry_out();
    if (report) {
        report->seconds = steady_seconds() - begin;
    }
    return report;
}

} // namespace detail

ZTENSOR_INLINE load_plan& load_plan::add(std::string_view name, detail::wanted_tensor wanted,
                                         const slice& ranges) noexcept {
    const result<void> added = detail::guard_memory([&]() -> result<void> {
        wanted.name = name;
        wanted.ranges.assign(ranges.ranges().begin(), ranges.ranges().end());
        wanted_.push_back(std::move(wanted));
        return {};
    });
    is_out_of_memory_ = is_out_of_memory_ || !added;
    return *this;
}

ZTENSOR_INLINE result<std::uint64_t> load_plan::check() const {
    return detail::guard_memory([&]() -> result<std::uint64_t> {
        ZTENSOR_TRY(detail::check_added(is_out_of_memory_));
        ZTENSOR_TRY_ASSIGN(const std::vector<detail::load_target> targets, detail::find_targets(file_, wanted_));
        std::uint64_t bytes = 0;
        for (const detail::load_target& each : targets) {
            bytes += each.decoded_bytes;
        }
        return bytes;
    });
}

ZTENSOR_INLINE result<load_report> load_plan::run(const load_options& options) const {
    return detail::guard_memory([&]() -> result<load_report> {
        ZTENSOR_TRY(detail::check_added(is_out_of_memory_));
        return detail::run_plan(file_.file_.get(), file_, wanted_, options);
    });
}

ZTENSOR_INLINE result<std::vector<loaded_tensor>> read_all(const reader& from, const load_options& options) {
    return detail::guard_memory([&]() -> result<std::vector<loaded_tensor>> {
        std::vector<loaded_tensor> loaded;
        std::vector<detail::wanted_tensor> wanted;
        const detail::opened_file* file = nullptr;
        for (const object_view object : from) {
            const result<component_view> data = object.data();
            if (!data) {
                continue;
            }
            const std::optional<std::uint64_t> bytes = data->decoded_bytes();
            file = &detail::object_access::file_of(object);
            if (bytes) {
                ZTENSOR_TRY(
                    detail::component_access::located(*data, detail::check_memory_limit(*bytes, file->options)));
            }
            if (!bytes) { // only decoding tells
                ZTENSOR_TRY_ASSIGN(array<std::byte> decoded, data->load<std::byte>());
                loaded.push_back({object, std::move(decoded)});
                continue;
            }
            loaded.push_back({object, array<std::byte>(static_cast<std::size_t>(*bytes))});
            detail::wanted_tensor whole; // in the host's byte order; of what is unknown, bytes
            whole.name = object.name();
            whole.destination = span<std::byte>(loaded.back().bytes);
            if (const std::optional<dtype> type = data->dtype()) {
                whole.request = {*type, {}, width_bytes(*type), 1, false};
            }
            wanted.push_back(std::move(whole));
        }
        if (!wanted.empty()) {
            ZTENSOR_TRY(detail::run_plan(file, from, wanted, options));
        }
        return loaded;
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
