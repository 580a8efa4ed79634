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
#include <ztensor/detail/mpi/exchange.hpp>
#include <ztensor/detail/mpi/load.hpp>
#include <ztensor/detail/mpi/put_parts.hpp>
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
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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
        ZTENSOR_TRY_ASSIGN(const size_t number, located(in_object(find_tensor(name), name)));
        return located(in_object(put_alone(number, where, elements, swap_width), name));
    }

    /// Collective. The same of all ranks, whose parts are all of one tensor: they exchange them, so that each writes
    /// rows as a whole.
    result<void> collective_put(string_view name, const optional<slice>& where, const typed_bytes& elements,
                                size_t swap_width) {
        vector<uint64_t> mine;
        vector<uint64_t> said;
        const result<uint64_t> number = guard_rank([&]() -> result<uint64_t> {
            ZTENSOR_TRY_ASSIGN(const size_t found, in_object(find_tensor(name), name));
            ZTENSOR_TRY_ASSIGN(const tensor_part part, in_object(check_given(tensors_[found], where, elements), name));
            ZTENSOR_TRY(failure_);
            mine.insert(mine.end(), part.begins.begin(), part.begins.end());
            mine.insert(mine.end(), part.ends.begin(), part.ends.end());
            said.resize(mine.size() * static_cast<size_t>(ranks_.size()));
            return uint64_t{found};
        });
        ZTENSOR_TRY_ASSIGN(const optional<uint64_t> agreed, located(ranks_.agree_on(number)));
        if (!agreed) {
            return located(fail(errc::invalid_argument, "the ranks put different tensors").by_caller());
        }
        ZTENSOR_TRY(ranks_.gather(mine, said));
        return located(in_object(exchange_parts(static_cast<size_t>(*agreed), said, elements.bytes, swap_width), name));
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

    result<size_t> find_tensor(string_view name) const {
        ZTENSOR_TRY(check_state(state::planned));
        const auto found = numbers_.find(string(name));
        if (found == numbers_.end()) {
            return fail(errc::object_not_found, "no tensor {} is defined", {in_quotes(name)});
        }
        return found->second;
    }

    result<void> put_alone(size_t number, const optional<slice>& where, const typed_bytes& elements,
                           size_t swap_width) {
        const planned_tensor& tensor = tensors_[number];
        const uint64_t count = tensor.dimensions.element_count().value_or(0);
        ZTENSOR_TRY_ASSIGN(const tensor_part part, check_given(tensor, where, elements));
        const bool is_whole = part.elements() == count;
        const uint64_t element_bytes = count != 0 ? tensor.bytes / count : 0;
        const digest algorithm = digest_of(tensor);
        if (!is_whole && !can_be_combined(algorithm)) {
            return fail(errc::invalid_argument,
                        "its digest is {}, which can't be combined from parts: one rank has to put all of it, "
                        "or all ranks their parts in one collective call",
                        {name(algorithm)})
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
        note_put(number, part, crc.finish(tensor.bytes), whole.text());
        return {};
    }

    /// Collective. `said` has the part of each rank.
    result<void> exchange_parts(size_t number, const vector<uint64_t>& said, bytes_view mine, size_t swap_width) {
        const planned_tensor& tensor = tensors_[number];
        const digest algorithm = digest_of(tensor);
        put_exchange exchange(ranks_, mine);
        vector<load_share> shares;
        const auto prepare = [&]() -> result<void> {
            ZTENSOR_TRY_ASSIGN(vector<load_box> boxes, take_boxes(tensor, said));
            const shape& dimensions = tensor.dimensions;
            load_box whole = box_of(tensor, rows_of(dimensions, 0, dimensions.empty() ? 1 : dimensions[0]));
            whole.may_be_cut = can_be_combined(algorithm);
            shares = share_out({whole}, ranks_.size());
            if (!whole.may_be_cut && !shares.empty()) {
                shares[0].owner = static_cast<int>(number % boxes.size()); // so that each rank has some such tensors
            }
            return exchange.prepare(std::move(whole), std::move(boxes), shares);
        };
        crc_of_runs crc;
        digester hash(algorithm == digest::crc32c ? digest::none : algorithm);
        ZTENSOR_TRY(exchange.run(guard_rank(prepare), [&](uint64_t first, bytes_view rows) {
            failure_ = write_run(tensor, first, rows, swap_width, algorithm == digest::crc32c ? &crc : nullptr, hash);
            return failure_;
        }));
        for (const load_share& each : shares) {
            if (each.owner == ranks_.rank()) {
                note_put(number, rows_of(tensor.dimensions, each.first, each.last), crc.finish(tensor.bytes),
                         hash.text());
            }
        }
        return {};
    }
    /// What each rank has, which together is all of the tensor.
    ZTENSOR_COLD result<vector<load_box>> take_boxes(const planned_tensor& tensor, const vector<uint64_t>& said) const {
        const size_t rank = tensor.dimensions.rank();
        vector<load_box> boxes;
        vector<tensor_part> parts;
        for (size_t i = 0; i < static_cast<size_t>(ranks_.size()); ++i) {
            tensor_part part;
            part.rank = static_cast<int>(i);
            for (size_t k = 0; k < rank; ++k) {
                part.begins.push_back(said[2 * rank * i + k]);
                part.ends.push_back(said[2 * rank * i + rank + k]);
            }
            boxes.push_back(box_of(tensor, part));
            parts.insert(parts.end(), part.elements() != 0 ? 1 : 0, part);
        }
        ZTENSOR_TRY(check_whole(tensor, std::move(parts)));
        return boxes;
    }

    /// What finish() tells the root of.
    void note_put(size_t number, const tensor_part& part, uint32_t sum, const string& digest) {
        puts_.put(uint64_t{number});
        for (size_t i = 0; i < part.begins.rank(); ++i) {
            puts_.put(part.begins[i]);
            puts_.put(part.ends[i]);
        }
        puts_.put(uint64_t{sum});
        puts_.put(digest);
    }
    [[nodiscard]] static tensor_part rows_of(const shape& dimensions, uint64_t first, uint64_t last) {
        tensor_part rows;
        for (size_t i = 0; i < dimensions.rank(); ++i) {
            rows.begins.push_back(i == 0 ? first : 0);
            rows.ends.push_back(i == 0 ? last : dimensions[i]);
        }
        return rows;
    }
    [[nodiscard]] static load_box box_of(const planned_tensor& tensor, const tensor_part& part) {
        load_box box;
        box.begins = part.begins;
        box.ends = part.ends;
        const uint64_t count = tensor.dimensions.element_count().value_or(0);
        box.element_bytes = count != 0 ? tensor.bytes / count : 0;
        return box;
    }

    /// The part that is put, of the right type and size. Elements that share bytes have no parts but all and none.
    result<tensor_part> check_given(const planned_tensor& tensor, const optional<slice>& where,
                                    const typed_bytes& elements) const {
        const uint64_t count = tensor.dimensions.element_count().value_or(0);
        ZTENSOR_TRY_ASSIGN(tensor_part part, find_part(tensor.dimensions, where));
        if (elements.storage != tensor.storage || (!elements.type.empty() && elements.type != tensor.how.type())) {
            return fail(errc::type_mismatch, "the tensor is of {}, not of {}",
                        {tensor.how.type().empty() ? name(tensor.storage) : string_view(tensor.how.type()),
                         elements.type.empty() ? name(elements.storage) : elements.type});
        }
        const uint64_t element_bytes = count != 0 ? tensor.bytes / count : 0;
        const bool is_whole = part.elements() == count;
        if (!is_whole && element_bytes * count != tensor.bytes) {
            return fail(errc::invalid_argument, "its elements share bytes: one rank has to put all of it").by_caller();
        }
        const uint64_t wanted = is_whole ? tensor.bytes : part.elements() * element_bytes;
        if (elements.bytes.size() != wanted) {
            return fail(errc::size_mismatch, "{} bytes were given, but that part takes {}",
                        {elements.bytes.size(), wanted})
                .by_caller();
        }
        return part;
    }
    [[nodiscard]] static bool can_be_combined(digest algorithm) noexcept {
        return algorithm == digest::none || algorithm == digest::crc32c;
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
                problems.add(std::move(whole).error().in_object(tensors_[i].name));
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
                        {overlap->first.rank, overlap->second.rank})
                .by_caller();
        }
        if (put != count) {
            return fail(errc::size_mismatch, "of its {} elements no rank put {}", {count, count - put}).by_caller();
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
