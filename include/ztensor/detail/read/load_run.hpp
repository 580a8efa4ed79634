// SPDX-License-Identifier: MIT
//
// A plan that is carried out: cut into units in the order of the file, which threads take one after the other.
#ifndef ZTENSOR_DETAIL_READ_LOAD_RUN_HPP
#define ZTENSOR_DETAIL_READ_LOAD_RUN_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/read/frame_stream.hpp>
#include <ztensor/detail/read/load_targets.hpp>
#include <ztensor/detail/read/numbers.hpp>
#include <ztensor/detail/read/parts.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/detail/read/thread_memory.hpp>
#include <ztensor/load_options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A large zstd blob that several threads decode: one for each of its units.
struct shared_blob {
    shared_blob(const opened_file& file, const load_target& of, span<std::byte> decoded, std::uint64_t most_frame_bytes)
        : target(of), elements(decoded),
          frames(file, *of.component, decoded, most_frame_bytes,
                 source_access::stable_range(*file.source, of.component->offset, of.component->length)) {}

    const load_target& target;
    span<std::byte> elements; ///< as they are stored: the destination, or its end
    frame_stream frames;
    std::atomic<std::size_t> units_left{0}; ///< the last one finishes it
};

class load_run {
public:
    load_run(const opened_file& file, const std::vector<load_target>& targets, const load_options& options)
        : file_(file), targets_(targets), options_(options) {}

    [[nodiscard]] result<load_report> carry_out() {
        for (const load_target& each : targets_) {
            bytes_total_ += each.decoded_bytes;
        }
        choose_threads();
        make_units();
        const zeroed_unless_done bools{*this};
        for_each_in_parallel(units_.size(), static_cast<unsigned>(threads_), [&](std::size_t i) {
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
    static constexpr std::uint64_t large_bytes = std::uint64_t{256} << 10; ///< straight into its place
    static constexpr std::uint64_t piece_bytes = std::uint64_t{8} << 20;   ///< of what is large
    static constexpr std::uint64_t batch_bytes = std::uint64_t{1} << 20;   ///< of small neighbours, at most
    static constexpr std::uint64_t gap_bytes = std::uint64_t{16} << 10;    ///< between them; read for nothing

    enum class unit_kind : std::uint8_t {
        piece,  ///< stored bytes [begin, end) of a raw run that no digest covers
        batch,  ///< small raw tensors, read at once
        single, ///< one tensor, by one thread
        shared, ///< a part of a shared blob, which one thread takes as long as there are frames
    };

    struct unit {
        unit_kind kind;
        std::size_t first; ///< target, or shared blob
        std::size_t last;  ///< of a batch: behind its last target
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
    };

    /// No byte but 0 and 1 must stay behind in bools that a failure left half read.
    struct zeroed_unless_done {
        load_run& run;
        ~zeroed_unless_done() {
            for (const load_target& each : run.targets_) {
                if (!run.is_done_ && each.wanted->request.is_bool) { // which is never converted
                    static_cast<void>(
                        leave_bools(fail(errc::cancelled, ""), each.wanted->request, each.wanted->destination));
                }
            }
        }
    };

    void choose_threads() noexcept {
        const std::uint64_t affordable = (std::max<std::uint64_t>)(options_.max_staging_bytes_ / batch_bytes, 1);
        const std::size_t wanted = useful_threads(options_.threads_, ~std::size_t{0});
        threads_ = static_cast<std::size_t>((std::min<std::uint64_t>)(wanted, affordable));
        staging_bytes_ = options_.max_staging_bytes_ / threads_;
    }

    // -- units

    [[nodiscard]] bool fits_batch(const load_target& target) const noexcept {
        const std::size_t width = target.component->dtype ? width_bytes(*target.component->dtype) : 1;
        const bool is_swapped = is_foreign_order(*target.component) && width > 1; // each time that it is asked for
        return target.is_one_raw_run && target.length < large_bytes && !is_swapped &&
               !source_access::is_made(*file_.source, target.offset, target.length);
    }

    void make_units() {
        order_.resize(targets_.size());
        for (std::size_t i = 0; i < order_.size(); ++i) {
            order_[i] = i;
        }
        std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
            return targets_[a].offset != targets_[b].offset ? targets_[a].offset < targets_[b].offset : a < b;
        });
        for (std::size_t i = 0; i < order_.size();) {
            const load_target& target = targets_[order_[i]];
            if (fits_batch(target)) {
                i = add_batch(i);
                continue;
            }
            add_large(target, i++);
        }
    }

    /// Gives the first target behind it.
    [[nodiscard]] std::size_t add_batch(std::size_t first) {
        const std::uint64_t most = (std::min)(batch_bytes, (std::max)(staging_bytes_, large_bytes));
        const std::uint64_t begin = targets_[order_[first]].offset;
        std::uint64_t end = begin;
        std::size_t next = first;
        for (; next < order_.size(); ++next) {
            const load_target& target = targets_[order_[next]];
            const std::uint64_t behind = (std::max)(end, target.offset + target.length);
            if (!fits_batch(target) || target.offset > end + gap_bytes || (next != first && behind - begin > most)) {
                break;
            }
            end = behind;
        }
        units_.push_back({unit_kind::batch, first, next, begin, end});
        return next;
    }

    void add_large(const load_target& target, std::size_t place) {
        const component_record& component = *target.component;
        const bool is_zstd = component.encoding == encoding::zstd;
        const bool is_made = source_access::is_made(*file_.source, target.offset, target.length);
        if (target.is_one_raw_run && !target.is_checked && !is_made) {
            const std::uint64_t step = piece_bytes / target.stored_element_bytes * target.stored_element_bytes;
            for (std::uint64_t at = 0; at < target.length; at += step) {
                units_.push_back({unit_kind::piece, place, place + 1, at, (std::min)(target.length, at + step)});
            }
            return;
        }
        const span<std::byte> destination = target.wanted->destination;
        const std::uint64_t most_frame_bytes = staging_bytes_ / 2; // a small blob is held as a whole, if it may be
        const bool is_large =
            is_zstd && component.length >= (std::min)(frame_stream::smallest_blob_bytes, most_frame_bytes + 1);
        if (is_large && target.is_whole() && component.decoded_length() && // and not joint, which only version 2 has
            target.decoded_bytes <= destination.size()) {
            const span<std::byte> elements = destination.last(static_cast<std::size_t>(target.decoded_bytes));
            const unit part = {unit_kind::shared, shared_.size(), place + 1};
            shared_.push_back(std::make_unique<shared_blob>(file_, target, elements, most_frame_bytes));
            shared_blob& blob = *shared_.back();
            blob.units_left = (std::min)(threads_, blob.frames.most_turns());
            units_.insert(units_.end(), blob.units_left, part);
            return;
        }
        units_.push_back({unit_kind::single, place, place + 1});
    }

    // -- work

    /// Stops the others if a unit throws.
    struct stops_others {
        std::atomic<bool>& is_stopped;
        bool is_wanted = true;
        ~stops_others() { is_stopped = is_stopped || is_wanted; }
    };

    void run(const unit& each) {
        stops_others guard{is_stopped_};
        switch (each.kind) {
        case unit_kind::batch:
            run_batch(each);
            break;
        case unit_kind::shared:
            run_shared(*shared_[each.first]);
            break;
        default:
            run_single(each);
        }
        guard.is_wanted = false;
    }

    void run_single(const unit& each) {
        const load_target& target = targets_[order_[each.first]];
        std::uint64_t read_bytes = 0;
        result<void> done = each.kind == unit_kind::piece ? read_piece(target, each.begin, each.end, read_bytes)
                                                          : read_single(target, read_bytes);
        bytes_read_ += read_bytes;
        if (!done) {
            return stop(target, std::move(done).error());
        }
        advance(target, each.kind == unit_kind::piece ? each.end - each.begin : target.decoded_bytes);
    }

    [[nodiscard]] result<void> read_piece(const load_target& target, std::uint64_t begin, std::uint64_t end,
                                          std::uint64_t& read_bytes) {
        const std::size_t width = target.stored_element_bytes;
        const span<std::byte> destination = target.wanted->destination;
        read_bytes = end - begin;
        if (target.is_converted()) {
            const result<number_reader> numbers = target.numbers(file_);
            const std::size_t converted_bytes = target.numbers_per_element * target.wanted->number_bytes;
            const auto first = static_cast<std::size_t>(begin / width) * converted_bytes;
            const auto last = static_cast<std::size_t>(end / width) * converted_bytes;
            blob_check no_check(file_, *target.component);
            const span<std::byte> place = destination.subspan(first, last - first);
            return numbers->convert_raw(begin / width, place, no_check, numbers->best_store(place));
        }
        const span<std::byte> place =
            destination.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
        result<void> read = read_bulk(*file_.source, target.offset + begin, place);
        return read ? to_host(*target.component, target.wanted->request, place) : read;
    }

    [[nodiscard]] result<void> read_single(const load_target& target, std::uint64_t& read_bytes) {
        const wanted_tensor& wanted = *target.wanted;
        const component_record& component = *target.component;
        if (target.is_joint) {
            read_bytes = target.decoded_bytes;
            return read_joint_target(file_, target);
        }
        if (!target.is_whole() && component.decoded_length()) {
            return with_part(file_, target, [&](const element_part& part) {
                result<void> read = read_runs(file_, component, part.runs, wanted.destination, read_bytes);
                return read ? to_host(component, wanted.request, wanted.destination) : read;
            });
        }
        read_bytes = component.length;
        if (!target.is_whole()) {
            const shape dimensions = file_.index.shape_of(*target.object);
            const result<std::vector<index_range>> ranges = ranges_of(wanted, dimensions);
            return !ranges ? result<void>(ranges.error())
                           : read_part_into(file_, component, wanted.request, part_finder(dimensions, *ranges),
                                            wanted.destination);
        }
        return target.is_converted()
                   ? read_numbers_into(target.numbers(file_), wanted.destination.size() / wanted.number_bytes,
                                       wanted.destination)
                   : read_elements_into(file_, component, wanted.request, wanted.destination);
    }

    void run_batch(const unit& batch) {
        thread_memory memory;
        const auto size = static_cast<std::size_t>(batch.end - batch.begin);
        const load_target& first = targets_[order_[batch.first]];
        if (!memory.reserve(size)) {
            return stop(first, fail(errc::out_of_memory, "no memory for {} bytes of small tensors", {size}));
        }
        const span<std::byte> all = memory.first(size);
        if (result<void> read = size != 0 ? file_.source->read_at(batch.begin, all) : result<void>(); !read) {
            return stop(first, std::move(read).error());
        }
        bytes_read_ += size;
        for (std::size_t i = batch.first; i < batch.last && !is_stopped_; ++i) {
            const load_target& target = targets_[order_[i]];
            result<void> done = hand_over(target, all.subspan(static_cast<std::size_t>(target.offset - batch.begin),
                                                              static_cast<std::size_t>(target.length)));
            if (!done) {
                return stop(target, std::move(done).error());
            }
            advance(target, target.decoded_bytes);
        }
    }

    /// Stored bytes in the host's order, to where they are wanted.
    [[nodiscard]] result<void> hand_over(const load_target& target, span<std::byte> stored) {
        if (target.is_checked) {
            ZTENSOR_TRY(check_digest(file_, *target.component, stored));
        }
        const span<std::byte> destination = target.wanted->destination;
        if (target.is_converted()) {
            const result<number_reader> numbers = target.numbers(file_);
            return numbers->convert_stored(stored, destination);
        }
        if (!stored.empty()) {
            std::memcpy(destination.data(), stored.data(), stored.size());
        }
        return to_host(*target.component, target.wanted->request, destination);
    }

    void run_shared(shared_blob& blob) {
        const load_target& target = blob.target;
        for (std::size_t decoded = 0; !is_stopped_ && blob.frames.take_turn(decoded); decoded = 0) {
            advance(target, decoded);
        }
        if (--blob.units_left != 0 || is_stopped_) {
            return;
        }
        bytes_read_ += target.component->length;
        result<void> done = blob.frames.finish();
        if (done && target.is_converted()) {
            const result<number_reader> numbers = target.numbers(file_);
            done = numbers->convert_stored(blob.elements, target.wanted->destination);
        } else if (done) {
            done = to_host(*target.component, target.wanted->request, blob.elements);
        }
        if (!done) {
            stop(target, std::move(done).error());
        }
    }

    // -- how far it is

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

    void advance(const load_target& target, std::uint64_t bytes) {
        const std::uint64_t done = bytes_done_ += bytes;
        if (!options_.progress_ || &is_at_work() != caller_) {
            return;
        }
        const std::string_view name = file_.index.text(target.object->name);
        if (!options_.progress_({(std::min)(done, bytes_total_), bytes_total_, name})) {
            stop(target, fail(errc::cancelled, "the progress function cancelled the plan at {} of {} bytes",
                              {done, bytes_total_}));
        }
    }

    const opened_file& file_;
    const std::vector<load_target>& targets_;
    const load_options& options_;
    const bool* const caller_ = &is_at_work(); ///< stands for the thread
    std::size_t threads_ = 1;
    std::uint64_t staging_bytes_ = 0; ///< of each
    std::vector<std::size_t> order_;  ///< targets, as they lie in the file
    std::vector<unit> units_;
    std::vector<std::unique_ptr<shared_blob>> shared_;
    std::uint64_t bytes_total_ = 0;
    bool is_done_ = false;

    std::atomic<bool> is_stopped_{false};
    std::atomic<std::uint64_t> bytes_read_{0};
    std::atomic<std::uint64_t> bytes_done_{0};
    os_mutex mutex_; ///< of the failure
    result<void> failure_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
