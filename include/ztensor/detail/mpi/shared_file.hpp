// SPDX-License-Identifier: MIT
//
// A file that ranks write together: a named temporary, written at places that are known before, and published by rank 0
// when all of it is there.
#ifndef ZTENSOR_DETAIL_MPI_SHARED_FILE_HPP
#define ZTENSOR_DETAIL_MPI_SHARED_FILE_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/crc32.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/detail/mpi/communicator.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/write/atomic_file.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- runs

/// A part of a tensor: a range in every dimension.
struct tensor_part {
    shape begins;
    shape ends;
    int rank = 0; ///< that wrote it

    [[nodiscard]] uint64_t elements() const noexcept {
        uint64_t count = 1;
        for (size_t i = 0; i < begins.rank(); ++i) {
            count *= ends[i] - begins[i];
        }
        return count;
    }
    [[nodiscard]] bool meets(const tensor_part& other) const noexcept {
        for (size_t i = 0; i < begins.rank(); ++i) {
            if (begins[i] >= other.ends[i] || other.begins[i] >= ends[i]) {
                return false;
            }
        }
        return true;
    }
};

/// Calls `take(first, size) -> result<void>` for the runs of bytes that a part takes in its tensor, in ascending order.
template <class Take>
result<void> for_each_run(const shape& dimensions, const tensor_part& part, uint64_t element_bytes, const Take& take) {
    if (part.elements() == 0) {
        return {};
    }
    size_t outer = dimensions.rank(); // the dimensions before it are walked through
    uint64_t run_bytes = element_bytes;
    bool is_full = true;
    while (outer > 0 && is_full) {
        --outer;
        run_bytes *= part.ends[outer] - part.begins[outer];
        is_full = part.begins[outer] == 0 && part.ends[outer] == dimensions[outer];
    }
    vector<uint64_t> index(part.begins.begin(), part.begins.end());
    for (;;) {
        uint64_t place = 0;
        for (size_t i = 0; i < dimensions.rank(); ++i) {
            place = place * dimensions[i] + index[i];
        }
        ZTENSOR_TRY(take(place * element_bytes, run_bytes));
        size_t i = outer;
        for (; i > 0 && ++index[i - 1] == part.ends[i - 1]; --i) {
            index[i - 1] = part.begins[i - 1];
        }
        if (i == 0) {
            return {};
        }
    }
}

/// The CRC-32C of bytes that come in ascending order with gaps of zeros between them, as what they add to the sum of
/// all: sums of several such are combined by xor.
class crc_of_runs {
public:
    void take(uint64_t first, bytes_view run) noexcept {
        move_to(first + run.size());
        sum_ ^= crc32c_update(0, run);
    }
    [[nodiscard]] uint32_t finish(uint64_t all_bytes) noexcept {
        move_to(all_bytes);
        return sum_;
    }

private:
    void move_to(uint64_t end) noexcept {
        if (end - end_ != distance_) { // of columns it is the same each time
            distance_ = end - end_;
            power_ = crc32c_power(8 * distance_);
        }
        sum_ = crc32c_multiply(power_, sum_);
        end_ = end;
    }

    uint32_t sum_ = 0;
    uint64_t end_ = 0;
    uint64_t distance_ = 0;
    uint32_t power_ = crc32c_power(0);
};

/// Two parts that share an element, if any do: a sweep along the dimension in which the most begin at different places.
[[nodiscard]] ZTENSOR_COLD inline optional<std::pair<tensor_part, tensor_part>> find_overlap(vector<tensor_part> parts,
                                                                                             size_t rank) {
    size_t along = 0;
    size_t most = 0;
    for (size_t i = 0; i < rank; ++i) {
        std::set<uint64_t> begins;
        for (const tensor_part& each : parts) {
            begins.insert(each.begins[i]);
        }
        along = begins.size() > most ? i : along;
        most = (std::max)(most, begins.size());
    }
    const auto begin_of = [&](const tensor_part& each) { return rank != 0 ? each.begins[along] : 0; };
    std::sort(parts.begin(), parts.end(),
              [&](const tensor_part& a, const tensor_part& b) { return begin_of(a) < begin_of(b); });
    vector<const tensor_part*> open;
    for (const tensor_part& each : parts) {
        open.erase(
            std::remove_if(open.begin(), open.end(),
                           [&](const tensor_part* one) { return rank != 0 && one->ends[along] <= begin_of(each); }),
            open.end());
        for (const tensor_part* const one : open) {
            if (one->meets(each)) {
                return std::pair(*one, each);
            }
        }
        open.push_back(&each);
    }
    return std::nullopt;
}

// -- shared file

class shared_file {
public:
    shared_file(const communicator& ranks, const file_path& path, const write_options& options)
        : ranks_(ranks), path_(path_text(path.native())), native_(path.native()), options_(options) {}
    shared_file(const shared_file&) = delete;
    shared_file& operator=(const shared_file&) = delete;

    /// Collective.
    result<void> create() {
        result<vector<byte>> name = vector<byte>();
        if (ranks_.is_root()) {
            name = guard_rank([&] { return create_temporary(); });
        }
        ZTENSOR_TRY_ASSIGN(const vector<byte> named, located(ranks_.broadcast(std::move(name))));
        return located(ranks_.agree(guard_rank([&]() -> result<void> {
            if (ranks_.is_root()) {
                return {};
            }
            const string_view text = as_text(named);
            ZTENSOR_TRY_ASSIGN(located_file place, locate(native_, false, operating_system()));
            ZTENSOR_TRY_ASSIGN(output_file opened,
                               output_file::open(place.in, native_path(text.begin(), text.end()), true));
            opened_.emplace(std::move(opened));
            return {};
        })));
    }

    result<void> set_attributes(attributes values) {
        ZTENSOR_TRY(check_state(state::defining));
        attributes_ = std::move(values);
        return {};
    }
    result<void> define(planned_tensor tensor) {
        ZTENSOR_TRY(check_state(state::defining));
        tensors_.push_back(std::move(tensor));
        return {};
    }

    /// Collective.
    result<void> plan() {
        ZTENSOR_TRY(check_state(state::defining));
        result<vector<byte>> said = vector<byte>();
        if (ranks_.is_root()) {
            said = guard_rank([&] { return plan_here(); });
        }
        result<vector<byte>> planned = ranks_.broadcast(std::move(said));
        result<void> done = planned ? ranks_.agree(guard_rank([&] { return take_plan(message(*std::move(planned))); }))
                                    : result<void>(std::move(planned).error());
        return done ? next(state::planned) : closed_by(std::move(done));
    }

    /// Of this rank alone: elements of a part, or with a width of 1 bytes as the file will hold them.
    result<void> put(string_view name, const optional<slice>& where, const typed_bytes& elements, size_t swap_width) {
        ZTENSOR_TRY(check_state(state::planned));
        const auto found = numbers_.find(string(name));
        if (found == numbers_.end()) {
            return located(fail(errc::object_not_found, "no tensor {} is defined", {in_quotes(name)}).in_object(name));
        }
        const planned_tensor& tensor = tensors_[found->second];
        return located(in_object(put_part(tensor, found->second, where, elements, swap_width), name));
    }

    /// Collective.
    result<void> finish() {
        ZTENSOR_TRY(check_state(state::planned));
        result<void> done = ranks_.agree(guard_rank([&] { return end_writing(); }));
        done = done ? publish_together() : std::move(done);
        if (done) {
            return next(state::closed);
        }
        return closed_by(std::move(done));
    }

private:
    enum class state : uint8_t { defining, planned, closed };

    result<void> check_state(state wanted) const {
        if (state_ == wanted) {
            return {};
        }
        return located(fail(errc::writer_closed,
                            state_ == state::closed    ? "nothing more can be written: it has been finished, or failed"
                            : wanted == state::planned ? "it is not planned yet, so that no tensor has a place"
                                                       : "it is planned already, so that no more can be defined")
                           .by_caller());
    }
    result<void> next(state reached) {
        state_ = reached;
        return {};
    }
    /// What was written is gone.
    result<void> closed_by(result<void> why) {
        state_ = state::closed;
        opened_.reset();
        target_.reset();
        return located(std::move(why));
    }
    template <class T>
    [[nodiscard]] result<T> located(result<T> outcome) const {
        return in_file(std::move(outcome), path_);
    }
    [[nodiscard]] result<void> located(error why) const { return std::move(why).in_file(path_); }
    [[nodiscard]] output_file& file() noexcept { return target_ ? target_->file() : *opened_; }
    [[nodiscard]] const attributes* of_file() const noexcept { return attributes_ ? &*attributes_ : nullptr; }

    /// On the root. Gives the name.
    ZTENSOR_COLD result<vector<byte>> create_temporary() {
        vector<planned_tensor> none;
        ZTENSOR_TRY(plan_tensors(options_, nullptr, none)); // which checks the options
        ZTENSOR_TRY_ASSIGN(located_file place,
                           locate(native_, options_.sync() != sync_level::none, operating_system()));
        target_.emplace(std::move(place), options_.sync(), std::nullopt, true);
        ZTENSOR_TRY(target_->open());
        const native_path& name = target_->name_so_far(); // of ASCII
        const string text(name.begin(), name.end());
        return vector<byte>(as_bytes(text).begin(), as_bytes(text).end());
    }

    // -- plan

    /// What ranks that define something agree with: everything but attributes, which rank 0 alone needs.
    [[nodiscard]] static vector<byte> describe_planned(const vector<planned_tensor>& tensors, bool has_places) {
        message said;
        for (const planned_tensor& each : tensors) {
            said.put(each.name);
            said.put(uint64_t{each.dimensions.rank()});
            for (const uint64_t dimension : each.dimensions) {
                said.put(dimension);
            }
            said.put(uint64_t{static_cast<uint64_t>(each.storage)});
            said.put(each.how.type());
            said.put(uint64_t{static_cast<uint64_t>(each.how.digest())});
            said.put(has_places ? each.offset : 0);
            said.put(has_places ? each.bytes : 0);
        }
        return std::move(said.all());
    }

    ZTENSOR_COLD result<vector<byte>> plan_here() {
        ZTENSOR_TRY_ASSIGN(const vector<byte> head, plan_tensors(options_, of_file(), tensors_));
        ZTENSOR_TRY(file().append(head));
        if (!tensors_.empty()) { // so that the system need not look for room while all ranks write
            static_cast<void>(file().reserve(0, tensors_.back().offset + tensors_.back().bytes));
        }
        return describe_planned(tensors_, true);
    }

    ZTENSOR_COLD result<void> take_plan(message said) {
        vector<planned_tensor> planned;
        while (!said.has_ended()) {
            planned_tensor& each = planned.emplace_back();
            each.name = said.text();
            for (uint64_t left = said.number(); left != 0; --left) {
                each.dimensions.push_back(said.number());
            }
            each.storage = static_cast<dtype>(said.number());
            each.how.type(said.text());
            each.how.digest(static_cast<digest>(said.number()));
            each.offset = said.number();
            each.bytes = said.number();
        }
        if (!ranks_.is_root()) {
            if (!tensors_.empty() && describe_planned(tensors_, false) != describe_planned(planned, false)) {
                return fail(errc::invalid_argument,
                            "{} tensors are defined here, and others or in another way on rank 0: "
                            "define all of them on every rank, or on rank 0 alone",
                            {tensors_.size()})
                    .by_caller();
            }
            tensors_ = std::move(planned);
        }
        for (size_t i = 0; i < tensors_.size(); ++i) {
            numbers_.emplace(tensors_[i].name, i);
        }
        return {};
    }

    // -- put

    result<void> put_part(const planned_tensor& tensor, size_t number, const optional<slice>& where,
                          const typed_bytes& elements, size_t swap_width) {
        const uint64_t count = tensor.dimensions.element_count().value_or(0);
        ZTENSOR_TRY_ASSIGN(tensor_part part, find_part(tensor.dimensions, where));
        if (elements.storage != tensor.storage || (!elements.type.empty() && elements.type != tensor.how.type())) {
            return fail(errc::type_mismatch, "the tensor is of {}, not of {}",
                        {tensor.how.type().empty() ? name(tensor.storage) : string_view(tensor.how.type()),
                         elements.type.empty() ? name(elements.storage) : elements.type});
        }
        const bool is_whole = part.elements() == count;
        const uint64_t element_bytes = count != 0 ? tensor.bytes / count : 0;
        const digest algorithm = digest_of(tensor);
        if (!is_whole && algorithm != digest::none && algorithm != digest::crc32c) {
            return fail(errc::invalid_argument,
                        "its digest is {}, which can't be combined from parts: one rank has to put all of it",
                        {name(algorithm)})
                .by_caller();
        }
        if (!is_whole && element_bytes * count != tensor.bytes) {
            return fail(errc::invalid_argument, "its elements share bytes: one rank has to put all of it").by_caller();
        }
        const uint64_t wanted = is_whole ? tensor.bytes : part.elements() * element_bytes;
        if (elements.bytes.size() != wanted) {
            return fail(errc::size_mismatch, "{} bytes were given, but that part takes {}",
                        {elements.bytes.size(), wanted})
                .by_caller();
        }
        ZTENSOR_TRY(failure_);
        crc_of_runs crc;
        digester whole(algorithm == digest::crc32c ? digest::none : algorithm);
        uint64_t done = 0;
        const auto write = [&](uint64_t first, uint64_t size) {
            const bytes_view run = elements.bytes.subspan(static_cast<size_t>(done), static_cast<size_t>(size));
            done += size;
            return write_run(tensor, first, run, swap_width, algorithm == digest::crc32c ? &crc : nullptr, whole);
        };
        failure_ = is_whole ? (tensor.bytes != 0 ? write(0, tensor.bytes) : result<void>())
                            : for_each_run(tensor.dimensions, part, element_bytes, write);
        ZTENSOR_TRY(failure_);
        puts_.put(uint64_t{number});
        for (size_t i = 0; i < part.begins.rank(); ++i) {
            puts_.put(part.begins[i]);
            puts_.put(part.ends[i]);
        }
        puts_.put(uint64_t{crc.finish(tensor.bytes)});
        puts_.put(whole.text());
        return {};
    }

    static result<tensor_part> find_part(const shape& dimensions, const optional<slice>& where) {
        tensor_part part;
        if (where && where->ranges().size() != dimensions.rank()) {
            return fail(errc::invalid_argument, "{} ranges, but the tensor has {} dimensions",
                        {where->ranges().size(), dimensions.rank()})
                .by_caller();
        }
        for (size_t i = 0; i < dimensions.rank(); ++i) {
            const index_range range = where ? where->ranges()[i] : index_range{0, dimensions[i]};
            if (range.begin > range.end || range.end > dimensions[i]) {
                return fail(errc::out_of_bounds, "the range [{}, {}) is not in dimension {}, which has {}",
                            {range.begin, range.end, i, dimensions[i]})
                    .by_caller();
            }
            part.begins.push_back(range.begin);
            part.ends.push_back(range.end);
        }
        return part;
    }

    result<void> write_run(const planned_tensor& tensor, uint64_t first, bytes_view run, size_t swap_width,
                           crc_of_runs* crc, digester& whole) {
        ZTENSOR_TRY(file().seek(tensor.offset + first));
        constexpr size_t piece_bytes = size_t{1} << 20; // still in the cache when it is written
        while (!run.empty()) {
            bytes_view piece = run.first((std::min)(run.size(), piece_bytes));
            run = run.subspan(piece.size());
            if (!host_is_little_endian && swap_width > 1) {
                swapped_.assign(piece.begin(), piece.end());
                swap_elements(swapped_, swap_width);
                piece = swapped_;
            }
            if (crc != nullptr) {
                crc->take(first, piece);
            }
            whole.update(piece);
            first += piece.size();
            ZTENSOR_TRY(file().append(piece));
        }
        return {};
    }

    // -- finish

    /// Of this rank: what it wrote is on the disk, and no other handle than the root's stays open.
    ZTENSOR_COLD result<void> end_writing() {
        ZTENSOR_TRY(failure_);
        if (ranks_.is_root()) {
            return {}; // which publishing does
        }
        ZTENSOR_TRY(options_.sync() != sync_level::none ? opened_->sync() : result<void>());
        return opened_->close();
    }

    ZTENSOR_COLD result<void> publish_together() {
        ZTENSOR_TRY_ASSIGN(vector<message> said, ranks_.gather(puts_.all(), false));
        return ranks_.agree(guard_rank([&]() -> result<void> {
            if (!ranks_.is_root()) {
                return {};
            }
            ZTENSOR_TRY(take_puts(said));
            ZTENSOR_TRY_ASSIGN(const vector<byte> index, encode_planned(options_, of_file(), tensors_));
            const uint64_t end = tensors_.empty() ? 8 : tensors_.back().offset + tensors_.back().bytes;
            ZTENSOR_TRY(file().seek(end));
            ZTENSOR_TRY(file().append(index));
            ZTENSOR_TRY(target_->publish());
            return target_->sync_name();
        }));
    }

    /// On the root: everything was put once, and the digests of all parts together.
    ZTENSOR_COLD result<void> take_puts(vector<message>& said) {
        vector<vector<tensor_part>> parts(tensors_.size());
        vector<uint32_t> sums(tensors_.size());
        for (size_t i = 0; i < said.size(); ++i) {
            while (!said[i].has_ended()) {
                const auto number = static_cast<size_t>(said[i].number());
                planned_tensor& tensor = tensors_[number];
                tensor_part part;
                part.rank = static_cast<int>(i);
                for (size_t k = 0; k < tensor.dimensions.rank(); ++k) {
                    part.begins.push_back(said[i].number());
                    part.ends.push_back(said[i].number());
                }
                sums[number] ^= static_cast<uint32_t>(said[i].number());
                const string_view text = said[i].text();
                tensor.digest = text.empty() ? tensor.digest : string(text);
                if (part.elements() != 0) {
                    parts[number].push_back(std::move(part));
                }
            }
        }
        problem_list problems;
        for (size_t i = 0; i < tensors_.size(); ++i) {
            if (result<void> whole = check_whole(tensors_[i], std::move(parts[i])); !whole) {
                problems.add(std::move(whole).error().in_object(tensors_[i].name).by_caller());
            }
            set_digest(tensors_[i], sums[i]);
        }
        return problems.empty()
                   ? result<void>()
                   : problems.all(sentence("{} of {} tensors are not whole:", {problems.size(), tensors_.size()}),
                                  true);
    }

    ZTENSOR_COLD static result<void> check_whole(const planned_tensor& tensor, vector<tensor_part> parts) {
        const uint64_t count = tensor.dimensions.element_count().value_or(0);
        uint64_t put = 0;
        for (const tensor_part& each : parts) {
            put += each.elements();
        }
        if (const auto overlap = find_overlap(std::move(parts), tensor.dimensions.rank())) {
            return fail(errc::blob_overlap, "ranks {} and {} put some of the same elements",
                        {overlap->first.rank, overlap->second.rank});
        }
        if (put != count) {
            return fail(errc::size_mismatch, "of its {} elements no rank put {}", {count, count - put});
        }
        return {};
    }

    [[nodiscard]] digest digest_of(const planned_tensor& tensor) const noexcept {
        return written_digest(options_.version() == format_version::v2, tensor.how.digest());
    }
    /// A tensor without elements has the digest of no bytes, on every rank.
    void set_digest(planned_tensor& tensor, uint32_t sum) const {
        const digest algorithm = digest_of(tensor);
        if (algorithm == digest::crc32c) {
            digester made(digest::crc32c);
            digest_access::set_crc32c(made, crc32c_combine(crc32c_start, sum, tensor.bytes));
            tensor.digest = made.text();
        } else if (tensor.bytes == 0) {
            tensor.digest = digest_text(algorithm, {});
        }
    }

    const communicator ranks_;
    const string path_; ///< as it was given, for messages
    const native_path native_;
    const write_options options_;
    state state_ = state::defining;
    optional<replacing_file> target_; ///< on the root
    optional<output_file> opened_;    ///< on the others
    optional<attributes> attributes_;
    vector<planned_tensor> tensors_;
    std::map<string, size_t> numbers_;
    message puts_; ///< what this rank put
    vector<byte> swapped_;
    result<void> failure_; ///< of writing, which finish() tells all
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
