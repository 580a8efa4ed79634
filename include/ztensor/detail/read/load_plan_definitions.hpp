// SPDX-License-Identifier: MIT
//
// Plans: cut into units in the order of the files, and carried out by threads that take one after the other. Defines
// what load_plan.hpp declares.
#ifndef ZTENSOR_DETAIL_READ_LOAD_PLAN_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_LOAD_PLAN_DEFINITIONS_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/load_targets.hpp>
#include <ztensor/detail/read/numbers.hpp>
#include <ztensor/detail/read/parts.hpp>
#include <ztensor/detail/read/progress_meter.hpp>
#include <ztensor/detail/read/weights.hpp>
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

// -- load run

class load_run {
public:
    load_run(vector<load_target> targets, const load_options& options)
        : targets_(std::move(targets)), options_(options), meter_(options.progress()) {}

    result<load_report> carry_out() {
        for (const load_target& each : targets_) {
            meter_.expect(each.decoded_bytes);
        }
        const uint64_t affordable = (std::max<uint64_t>)(options_.max_staging_bytes() / batch_bytes, 1);
        const size_t useful = useful_threads(wanted_threads(), ~size_t{0});
        threads_ = smaller_size(useful, affordable);
        staging_bytes_ = options_.max_staging_bytes() / threads_;
        ZTENSOR_TRY(make_room_for_rows());
        make_units();
        const zeroed_unless_done bools{*this};
        read_ahead ahead(options_.threads(), options_.max_staging_bytes() / 2);
        for (const unit& each : units_) {
            announce(each, ahead);
        }
        for (const auto& each : shared_) {
            announce_blobs(each->target, *each->target.component, ahead);
        }
        ahead.begin();
        for_each_in_parallel(units_.size(), static_cast<unsigned>(threads_), [&](size_t i) {
            if (!is_stopped_) {
                run(units_[i]);
            }
        });
        ZTENSOR_TRY(meter_.end());
        for (const load_target& each : targets_) {
            if (each.is_whole()) {
                drop_behind(*each.file, *each.component);
            }
        }
        if (!failure_) {
            return std::move(failure_).error();
        }
        copy_rows();
        is_done_ = true;
        meter_.finish();
        return load_report{bytes_read_, meter_.done_bytes(), 0};
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
                const span<byte> bools = each.to().bytes;
                if (!run.is_done_ && each.to().request.is_bool) { // which is never converted
                    std::fill(bools.begin(), bools.end(), byte{0});
                }
            }
        }
    };

    /// What the disks have to give takes more threads than there are processors. Not if their memory is bounded: what
    /// fits each one's share must not depend on what the cache holds.
    [[nodiscard]] unsigned wanted_threads() const noexcept {
        const bool may_be_more = options_.threads() == 0 && options_.max_staging_bytes() == ~uint64_t{0};
        return may_be_more && are_cold() ? (std::max)(reads_at_once, threads_for(0)) : options_.threads();
    }

    /// Most of what is wanted has to come from disks, as far as some large tensors tell.
    [[nodiscard]] bool are_cold() const noexcept {
        constexpr size_t most_looks = 8;
        size_t looks = 0;
        size_t cold = 0;
        for (size_t i = 0; i < targets_.size() && looks < most_looks; ++i) {
            const load_target& each = targets_[i];
            const byte_source& source = *each.file->source;
            const component_record& first = blobs_of(*each.file, *each.component).data()[0];
            if (first.length >= cold_bytes && source_access::is_file(source)) {
                ++looks;
                cold += source_access::is_cold(source, first.offset, first.length) ? 1u : 0u;
            }
        }
        return cold > looks / 2;
    }

    /// What goes to rows that lie apart is read into memory of its own first.
    result<void> make_room_for_rows() {
        for (load_target& each : targets_) {
            if (each.to().rows != nullptr) {
                byte_buffer& memory = apart_.emplace_back();
                ZTENSOR_TRY(allocate(memory, count_wanted(each) * each.destination_element_bytes(), "a tensor"));
                each.destination = memory.writable_bytes();
            }
        }
        return {};
    }
    void copy_rows() const noexcept {
        for (const load_target& each : targets_) {
            if (each.to().rows == nullptr || each.destination.empty()) {
                continue;
            }
            const auto row = static_cast<size_t>(row_bytes_of(each));
            byte* to = each.to().rows;
            for (size_t at = 0; at < each.destination.size(); at += row, to += each.to().row_bytes) {
                std::memcpy(to, each.destination.data() + at, row);
            }
        }
    }

    [[nodiscard]] static bool fits_batch(const load_target& target) noexcept {
        const size_t width = target.component->dtype ? width_bytes(*target.component->dtype) : 1;
        const bool is_swapped = is_foreign_order(*target.component) && width > 1; // each time that it is asked for
        return target.is_one_raw_run && target.length < large_bytes && !is_swapped &&
               !source_access::is_made(*target.file->source, target.offset, target.length);
    }

    void make_units() {
        std::sort(targets_.begin(), targets_.end(), [](const load_target& a, const load_target& b) {
            return a.file_number != b.file_number ? a.file_number < b.file_number
                   : a.offset != b.offset         ? a.offset < b.offset
                                                  : a.wanted < b.wanted;
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
            if (target.file != targets_[first].file || !fits_batch(target) || target.offset > end + gap_bytes ||
                (next != first && behind - begin > most)) {
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
        const bool is_zstd = component.is_in_planes ? planes_stream::can_read(target.file->planes.of(component))
                                                    : component.encoding == encoding::zstd;
        const bool is_made = source_access::is_made(*target.file->source, target.offset, target.length);
        if (target.is_one_raw_run && !target.is_checked && !is_made) {
            const uint64_t step = piece_bytes / target.stored_element_bytes * target.stored_element_bytes;
            for (uint64_t at = 0; at < target.length; at += step) {
                units_.push_back({unit_kind::piece, place, place + 1, at, (std::min)(target.length, at + step)});
            }
            return place + 1;
        }
        const span<byte> destination = target.destination;
        const uint64_t most_frame_bytes = staging_bytes_ / 2; // a small blob is held as a whole, if it may be
        const bool is_large =
            is_zstd && component.length >= (std::min)(frame_stream::smallest_blob_bytes, most_frame_bytes + 1);
        if (is_large && !target.is_joint && target.is_whole() && component.decoded_length() &&
            (component.is_in_planes || target.decoded_bytes <= destination.size())) {
            const span<byte> elements = destination.last(smaller_size(destination.size(), target.decoded_bytes));
            const unit part = {unit_kind::shared, shared_.size(), place + 1};
            shared_.push_back(std::make_unique<shared_blob>(target, elements, most_frame_bytes));
            shared_blob& blob = *shared_.back();
            blob.units_left = (std::min)(threads_, blob.most_turns());
            units_.insert(units_.end(), blob.units_left, part);
            return place + 1;
        }
        units_.push_back({unit_kind::single, place, place + 1});
        return place + 1;
    }

    /// Says what the unit will read: not of a shared blob, which has several; of a slice of compressed elements only it
    /// itself finds out.
    void announce(const unit& each, read_ahead& ahead) const {
        if (each.kind == unit_kind::shared) {
            return;
        }
        const load_target& target = targets_[each.first];
        const byte_source& source = *target.file->source;
        if (each.kind == unit_kind::batch) {
            for (size_t i = each.first; i < each.last; ++i) {
                ahead.add(source, targets_[i].offset, targets_[i].length);
            }
            return;
        }
        if (each.kind == unit_kind::piece) {
            return target.numbers
                       ? ahead.add(source, target.offset + each.begin, each.end - each.begin)
                       : ahead.add(source, target.offset + each.begin, place_of(target, each.begin, each.end));
        }
        if (!target.is_joint && target.is_whole()) {
            return announce_blobs(target, *target.component, ahead);
        }
        if (target.is_joint) {
            announce_object(ahead, *target.file, *target.object);
        } else if (target.component->encoding == encoding::raw && target.component->decoded_length()) {
            if (const result<element_part> part = find_part(target)) {
                announce_runs(ahead, source, target.component->offset, part->runs);
            }
        }
    }

    static void announce_blobs(const load_target& target, const component_record& component, read_ahead& ahead) {
        for (const component_record& blob : blobs_of(*target.file, component)) {
            ahead.add(*target.file->source, blob.offset, blob.length);
        }
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

    /// Where stored bytes [begin, end) of a raw run go.
    [[nodiscard]] static span<byte> place_of(const load_target& target, uint64_t begin, uint64_t end) {
        const size_t width = target.stored_element_bytes;
        const size_t made_bytes = target.numbers ? target.numbers->converted_bytes() : width;
        const auto first = static_cast<size_t>(begin / width) * made_bytes;
        const auto last = static_cast<size_t>(end / width) * made_bytes;
        return target.destination.subspan(first, last - first);
    }

    result<void> read_piece(const load_target& target, uint64_t begin, uint64_t end) {
        const span<byte> place = place_of(target, begin, end);
        if (target.numbers) {
            blob_check no_check(*target.file, *target.component, digest_use::never);
            const uint64_t in_component = target.offset - target.component->offset + begin;
            return target.numbers->convert_raw(in_component / target.stored_element_bytes, place, no_check,
                                               target.numbers->best_store(place));
        }
        ZTENSOR_TRY(read_bulk(*target.file->source, target.offset + begin, place));
        return to_host(*target.component, target.to().request, place);
    }

    result<void> read_single(const load_target& target, uint64_t& read_bytes) {
        const opened_file& file = *target.file;
        const component_record& component = *target.component;
        const element_request& request = target.to().request;
        const element_memory memory = memory_of(target.destination);
        const optional<dtype> number = target.to().number;
        if (!target.is_whole()) {
            const shape dimensions = file.index.shape_of(*target.object);
            if (number) {
                return read_numbers_of_part(file, *target.object, target.elements(), dimensions, target.ranges, *number,
                                            memory, read_bytes);
            }
            if (component.decoded_length()) {
                ZTENSOR_TRY_ASSIGN(const element_part part, find_part(target));
                ZTENSOR_TRY(read_runs(file, component, part.runs, target.destination, read_bytes));
                return to_host(component, request, target.destination);
            }
            read_bytes = component.length;
            return read_part(file, component, request, part_finder(dimensions, target.ranges), memory);
        }
        read_bytes = component.length;
        if (!number) {
            return read_elements(file, component, request, memory);
        }
        if (target.numbers) {
            return target.numbers->read(memory);
        }
        read_bytes = target.decoded_bytes;
        return group_weights(file, *target.object).read(*number, memory);
    }

    void run_batch(const unit& batch) {
        const auto size = static_cast<size_t>(batch.end - batch.begin);
        const load_target& first = targets_[batch.first];
        if (source_access::is_far(*first.file->source, batch.begin, size)) { // which has read them at once already
            return run_one_by_one(batch);
        }
        thread_memory memory;
        const result<span<byte>> all = memory.reserve(size, "a batch of small tensors");
        result<void> read = all && size != 0 ? first.file->source->read_at(batch.begin, *all) : result<void>();
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

    void run_one_by_one(const unit& batch) {
        for (size_t i = batch.first; i < batch.last && !is_stopped_; ++i) {
            uint64_t read_bytes = targets_[i].length;
            result<void> done = targets_[i].is_checked ? read_single(targets_[i], read_bytes)
                                                       : read_piece(targets_[i], 0, targets_[i].length);
            bytes_read_ += read_bytes;
            settle(targets_[i], std::move(done), targets_[i].decoded_bytes);
        }
    }

    /// Stored bytes in the host's order, to where they are wanted.
    result<void> hand_over(const load_target& target, span<byte> stored) {
        if (target.is_checked) {
            ZTENSOR_TRY(check_digest(*target.file, *target.component, stored));
        }
        const span<byte> destination = target.destination;
        if (target.numbers) {
            return target.numbers->convert_stored(stored, destination);
        }
        if (!stored.empty()) {
            std::memcpy(destination.data(), stored.data(), stored.size());
        }
        return to_host(*target.component, target.to().request, destination);
    }

    void run_shared(shared_blob& blob) {
        const load_target& target = blob.target;
        planes_stream::memory memory;
        for (size_t decoded = 0; !is_stopped_ && blob.take_turn(memory, decoded); decoded = 0) {
            settle(target, {}, decoded);
        }
        if (--blob.units_left != 0 || is_stopped_) {
            return;
        }
        bytes_read_ += target.component->length;
        if (result<void> done = blob.finish(); !done) {
            stop(target, std::move(done).error());
        }
    }

    void stop(const load_target& target, error why) {
        const os_lock lock(mutex_);
        if (failure_) {
            failure_ = std::move(why)
                           .in_file(target.file->path)
                           .in_object(target.file->index.text(target.object->name))
                           .in_component(role_name(target.file->index, *target.component));
        }
        is_stopped_ = true;
    }

    /// Says how far it is, or stops all of it.
    void settle(const load_target& target, result<void> done, uint64_t decoded_bytes) {
        if (done) {
            done = meter_.add(decoded_bytes, target.file->index.text(target.object->name));
        }
        if (!done) {
            stop(target, std::move(done).error());
        }
    }

    vector<load_target> targets_; ///< as they lie in the files
    const load_options& options_;
    progress_meter meter_;
    size_t threads_ = 1;
    uint64_t staging_bytes_ = 0; ///< of each
    vector<unit> units_;
    vector<std::unique_ptr<shared_blob>> shared_;
    vector<byte_buffer> apart_; ///< of tensors that go to rows that lie apart
    bool is_done_ = false;

    std::atomic<bool> is_stopped_{false};
    std::atomic<uint64_t> bytes_read_{0};
    os_mutex mutex_; ///< of the failure
    result<void> failure_;
};

inline result<void> check_added(bool is_out_of_memory) {
    return is_out_of_memory ? fail(errc::out_of_memory, "memory ran out while tensors were added to the plan")
                            : result<void>();
}

inline result<load_report> run_plan(const reader& from, const vector<load_request>& wanted,
                                    const load_options& options) {
    const double begin = steady_seconds();
    ZTENSOR_TRY_ASSIGN(vector<load_target> targets, find_targets(from, wanted));
    result<load_report> report = load_run(std::move(targets), options).carry_out();
    if (report) {
        report->seconds = steady_seconds() - begin;
    }
    return report;
}

} // namespace detail

ZTENSOR_INLINE load_source::load_source(const object_view& object) noexcept
    : name_(object.name()), file_(&detail::object_access::file_of(object)) {
}
ZTENSOR_INLINE load_source::load_source(const selection& part) noexcept : load_source(part.object()) {
    part_ = &part;
}

ZTENSOR_INLINE load_plan& load_plan::add(const load_source& what, const detail::load_destination& destination,
                                         const expected_shape& expected, bool is_optional) noexcept {
    const result<void> added = detail::guard_memory([&]() -> result<void> {
        detail::load_request& wanted = wanted_.emplace_back();
        wanted.name = what.name_;
        wanted.file = what.file_;
        wanted.expected = expected;
        wanted.is_optional = is_optional;
        wanted.destination = destination;
        if (what.part_ != nullptr) {
            using kind = detail::load_request::part_kind;
            wanted.part = what.part_->kind_ == selection::kind::rows ? kind::rows : kind::slice;
            if (what.part_->kind_ == selection::kind::part) {
                wanted.taken = detail::fail(errc::invalid_argument,
                                            "a plan takes rows and slices of objects, and no parts of components");
            }
            wanted.begins = what.part_->begins_;
            wanted.ends = what.part_->ends_;
        }
        return {};
    });
    is_out_of_memory_ = is_out_of_memory_ || !added;
    return *this;
}

ZTENSOR_INLINE load_plan& load_plan::add_rows(std::string_view name, row_range rows,
                                              const detail::load_destination& destination) noexcept {
    return add(file_[name].rows(rows.first(), rows.last()), destination, expected_shape::anything(), false);
}

ZTENSOR_INLINE std::vector<std::string_view> load_plan::unused() const& {
    std::vector<std::string_view> asked;
    for (const detail::load_request& each : wanted_) {
        asked.push_back(each.name);
    }
    std::sort(asked.begin(), asked.end());
    std::vector<std::string_view> left;
    for (const object_view object : file_) {
        if (!std::binary_search(asked.begin(), asked.end(), object.name())) {
            left.push_back(object.name());
        }
    }
    return left;
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

ZTENSOR_INLINE result<void> load_plan::prefetch() const {
    return detail::guard_memory([&]() -> result<void> {
        ZTENSOR_TRY(detail::check_added(is_out_of_memory_));
        ZTENSOR_TRY_ASSIGN(const std::vector<detail::load_target> targets, detail::find_targets(file_, wanted_));
        for (const detail::load_target& each : targets) {
            if (each.is_one_raw_run) {
                each.file->source->prefetch(each.offset, each.length);
                continue;
            }
            for (const detail::component_record& blob : detail::blobs_of(*each.file, *each.component)) {
                each.file->source->prefetch(blob.offset, blob.length);
            }
        }
        return {};
    });
}

ZTENSOR_INLINE result<load_report> load_plan::run(const load_options& options) const {
    return detail::guard_memory([&]() -> result<load_report> {
        ZTENSOR_TRY(detail::check_added(is_out_of_memory_));
        return detail::run_plan(file_, wanted_, options);
    });
}

ZTENSOR_INLINE result<loaded_tensors> read_all(const reader& from, const load_options& options) {
    return detail::guard_memory([&]() -> result<loaded_tensors> {
        loaded_tensors loaded;
        std::vector<detail::load_request> wanted;
        for (const object_view object : from) {
            const result<component_view> data = object.data();
            if (!data) {
                loaded.left_out.push_back({std::string(object.name()), {}, data.error().sentence()});
                continue;
            }
            const std::optional<std::uint64_t> bytes = data->decoded_bytes();
            if (bytes) {
                const read_options& limits = detail::object_access::file_of(object).options;
                ZTENSOR_TRY(detail::component_access::located(*data, detail::check_memory_limit(*bytes, limits)));
            }
            if (!bytes) { // only decoding tells
                ZTENSOR_TRY_ASSIGN(array<std::byte> decoded, data->load<std::byte>());
                loaded.push_back({object, std::move(decoded)});
                continue;
            }
            loaded.push_back({object, array<std::byte>(static_cast<std::size_t>(*bytes))});
            detail::load_request& whole = wanted.emplace_back(); // in the host's byte order; of what is unknown, bytes
            whole.name = object.name();
            whole.destination.bytes = span<std::byte>(loaded.back().bytes);
            if (const std::optional<dtype> type = data->dtype().known()) {
                whole.destination.request = {*type, {}, width_bytes(*type), 1, false};
            }
        }
        if (!wanted.empty()) {
            ZTENSOR_TRY(detail::run_plan(from, wanted, options));
        }
        return loaded;
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
