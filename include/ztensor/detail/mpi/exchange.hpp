// SPDX-License-Identifier: MIT
//
// Ranks that want different parts of the same tensors: whole rows are read by one, and parts of them sent to the
// others.
#ifndef ZTENSOR_DETAIL_MPI_EXCHANGE_HPP
#define ZTENSOR_DETAIL_MPI_EXCHANGE_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/mpi/communicator.hpp>
#include <ztensor/detail/mpi/load.hpp>
#include <ztensor/detail/mpi/put_parts.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- row exchange

/// What a rank has of rows in one round, unless one row is more.
inline constexpr uint64_t round_bytes = uint64_t{16} << 20;

/// One exchange between all ranks. Each has rows of whole tensors in its memory, of which it gives to every other the
/// part that is that rank's, or takes it from there: on the one side the part lies among others, and on the other it is
/// one run. Parts are packed here, since types of MPI that do it are sent in small pieces, each of which both ranks
/// wait for.
class row_exchange {
public:
    explicit row_exchange(const communicator& ranks) noexcept : ranks_(ranks) {}
    row_exchange(const row_exchange&) = delete;
    row_exchange& operator=(const row_exchange&) = delete;

    void prepare() {
        for (direction* const each : {&rows_, &runs_}) {
            each->counts.resize(static_cast<size_t>(ranks_.size()));
            each->displacements.resize(static_cast<size_t>(ranks_.size()));
            each->types.resize(static_cast<size_t>(ranks_.size()));
        }
    }

    /// What a rank has of so many rows of `whole`, the first of which lies at `memory`.
    void add_rows(int rank, const load_box& whole, const load_box& part, uint64_t rows, byte* memory) {
        row_parts_.push_back(part_of(rank, whole, part, rows, memory));
    }
    /// The other side of it.
    void add_run(int rank, const byte* memory, uint64_t size) {
        run_parts_[rank].push_back({memory, static_cast<size_t>(size)});
    }
    /// Both sides are this rank's: at once, and past MPI.
    static void take_rows(const load_box& whole, const load_box& part, uint64_t rows, byte* memory, byte* run) {
        copy_rows(part_of(0, whole, part, rows, memory), [&](byte* row, size_t size) {
            std::memcpy(run, row, size);
            run += size;
        });
    }
    static void give_run(const load_box& whole, const load_box& part, uint64_t rows, byte* memory, const byte* run) {
        copy_rows(part_of(0, whole, part, rows, memory), [&](byte* row, size_t size) {
            std::memcpy(row, run, size);
            run += size;
        });
    }

    /// Errors: limit_exceeded, out_of_memory.
    result<void> commit() {
        ZTENSOR_TRY(commit_rows());
        return commit_runs();
    }

    /// Collective. What was added is gone then.
    result<void> run(bool gives_rows) {
        if (gives_rows) {
            for_each_packed([](byte* to, byte* row, size_t size) { std::memcpy(to, row, size); });
        }
        byte* const packed = packed_.writable_bytes().data();
        direction& out = gives_rows ? rows_ : runs_;
        direction& in = gives_rows ? runs_ : rows_;
        ZTENSOR_TRY(mpi_done(MPI_Alltoallw(gives_rows ? packed : MPI_BOTTOM, out.counts.data(),
                                           out.displacements.data(), out.types.data(), gives_rows ? MPI_BOTTOM : packed,
                                           in.counts.data(), in.displacements.data(), in.types.data(), ranks_.get()),
                             "MPI_Alltoallw"));
        if (!gives_rows) {
            for_each_packed([](byte* from, byte* row, size_t size) { std::memcpy(row, from, size); });
        }
        row_parts_.clear();
        types_.clear();
        return {};
    }

private:
    struct row_part {
        byte* memory = nullptr;
        uint64_t element_bytes = 0;
        shape dimensions;
        tensor_part part;
    };
    struct direction {
        vector<int> counts;
        vector<int> displacements;
        vector<MPI_Datatype> types;
    };

    static row_part part_of(int rank, const load_box& whole, const load_box& part, uint64_t rows, byte* memory) {
        row_part made;
        made.memory = memory;
        made.element_bytes = whole.element_bytes;
        made.part.rank = rank;
        made.dimensions.push_back(rows);
        made.part.begins.push_back(0);
        made.part.ends.push_back(rows);
        for (size_t i = 1; i < whole.begins.rank(); ++i) {
            made.dimensions.push_back(whole.extent(i));
            made.part.begins.push_back(part.begins[i] - whole.begins[i]);
            made.part.ends.push_back(part.ends[i] - whole.begins[i]);
        }
        return made;
    }
    /// Calls `copy(row, size)` for the runs of the part.
    template <class Copy>
    static void copy_rows(const row_part& of, const Copy& copy) {
        const auto take = [&](uint64_t first, uint64_t size) -> result<void> {
            copy(of.memory + first, static_cast<size_t>(size));
            return {};
        };
        static_cast<void>(for_each_run(of.dimensions, of.part, of.element_bytes, take));
    }
    /// Calls `copy(packed, row, size)` for all of them.
    template <class Copy>
    void for_each_packed(const Copy& copy) {
        byte* packed = packed_.writable_bytes().data();
        for (const row_part& each : row_parts_) {
            copy_rows(each, [&](byte* row, size_t size) {
                copy(packed, row, size);
                packed += size;
            });
        }
    }

    result<void> commit_rows() {
        std::stable_sort(row_parts_.begin(), row_parts_.end(),
                         [](const row_part& a, const row_part& b) { return a.part.rank < b.part.rank; });
        std::fill(rows_.counts.begin(), rows_.counts.end(), 0);
        std::fill(rows_.types.begin(), rows_.types.end(), MPI_BYTE);
        uint64_t all_bytes = 0;
        for (const row_part& each : row_parts_) {
            const uint64_t size = each.part.elements() * each.element_bytes;
            if (size > most_message_bytes - all_bytes) {
                return fail(errc::limit_exceeded, "a row takes more than the {} bytes that ranks exchange at once",
                            {uint64_t{most_message_bytes}});
            }
            const auto rank = static_cast<size_t>(each.part.rank);
            if (rows_.counts[rank] == 0) {
                rows_.displacements[rank] = static_cast<int>(all_bytes);
            }
            rows_.counts[rank] += static_cast<int>(size);
            all_bytes += size;
        }
        return packed_.size() >= all_bytes || packed_.allocate(static_cast<size_t>(all_bytes))
                   ? result<void>()
                   : fail(errc::out_of_memory, "no memory for parts of {} bytes", {all_bytes});
    }
    /// One type for each rank that something goes to or comes from.
    result<void> commit_runs() {
        std::fill(runs_.counts.begin(), runs_.counts.end(), 0);
        std::fill(runs_.types.begin(), runs_.types.end(), MPI_BYTE);
        for (auto& [rank, runs] : run_parts_) {
            vector<int> sizes;
            vector<MPI_Aint> places;
            for (const bytes_view each : runs) {
                sizes.push_back(static_cast<int>(each.size()));
                ZTENSOR_TRY(mpi_done(MPI_Get_address(each.data(), &places.emplace_back()), "MPI_Get_address"));
            }
            mpi_type& all = *types_.emplace_back(std::make_unique<mpi_type>());
            ZTENSOR_TRY(mpi_done(MPI_Type_create_hindexed(static_cast<int>(runs.size()), sizes.data(), places.data(),
                                                          MPI_BYTE, all.make()),
                                 "MPI_Type_create_hindexed"));
            ZTENSOR_TRY(mpi_done(MPI_Type_commit(all.make()), "MPI_Type_commit"));
            runs_.counts[static_cast<size_t>(rank)] = 1;
            runs_.types[static_cast<size_t>(rank)] = all.get();
        }
        run_parts_.clear();
        return {};
    }

    const communicator& ranks_;
    vector<row_part> row_parts_;
    std::map<int, vector<bytes_view>> run_parts_; ///< by their rank
    direction rows_;
    direction runs_;
    byte_buffer packed_; ///< parts of rows, by their rank
    vector<std::unique_ptr<mpi_type>> types_;
};

// -- collective load
//
// Ranks want different parts of the same tensors, such as columns: each reads whole rows, and sends every other what
// that wants of them.

/// What one rank wants of a tensor.
struct wanted_box {
    int rank;
    load_box box;
    size_t request; ///< of that rank
};

/// What ranks want of one tensor in one form.
struct wanted_tensor {
    message form;
    load_request request; ///< of all of `whole`
    load_box whole;       ///< around all that somebody wants
    vector<wanted_box> boxes;
};

/// Rows that one rank sends in one round, of those that it has read then or before.
struct exchanged_rows {
    const wanted_tensor* of;
    uint64_t first;
    uint64_t last;
    uint64_t read_first;
    uint64_t read_last;
};

class load_exchange {
public:
    load_exchange(const communicator& ranks, const reader& from, const vector<load_request>& requests,
                  const vector<optional<load_box>>& boxes, const load_options& options) noexcept
        : ranks_(ranks), from_(from), requests_(requests), boxes_(boxes), options_(options), parts_(ranks) {}

    /// Collective. Gives how many bytes this rank read.
    result<uint64_t> run() {
        vector<byte> mine;
        ZTENSOR_TRY(ranks_.agree(guard_rank([&]() -> result<void> {
            ZTENSOR_TRY(check_requests());
            mine = describe(requests_, boxes_);
            return {};
        })));
        ZTENSOR_TRY_ASSIGN(vector<message> said, ranks_.gather(mine, true));
        ZTENSOR_TRY(ranks_.agree(guard_rank([&] { return prepare(said); })));
        result<void> outcome;
        for (size_t round = 0; round < rounds_; ++round) {
            result<void> done = guard_rank([&] { return read_rows(round); });
            outcome = outcome ? std::move(done) : std::move(outcome);
            done = exchange(round); // whatever happened, because the others wait for it
            outcome = outcome ? std::move(done) : std::move(outcome);
        }
        ZTENSOR_TRY(ranks_.agree(outcome));
        return bytes_read_;
    }

private:
    result<void> check_requests() const {
        return can_be_exchanged(requests_, boxes_)
                   ? result<void>()
                   : fail(errc::invalid_argument, "rows that lie apart in memory, and elements that share bytes, can't "
                                                  "be exchanged between ranks: load them independently")
                         .by_caller();
    }

    result<void> prepare(vector<message>& said) {
        for (size_t i = 0; i < said.size(); ++i) {
            ZTENSOR_TRY(take(said[i], static_cast<int>(i)));
        }
        vector<optional<load_box>> wholes;
        vector<const wanted_tensor*> in_order;
        for (auto& each : tensors_) {
            ZTENSOR_TRY(complete(each.second));
            wholes.emplace_back(each.second.whole);
            in_order.push_back(&each.second);
        }
        const auto size = static_cast<size_t>(ranks_.size());
        rows_.resize(size);
        uint64_t most_bytes = 0;
        for (const load_share& share : share_out(wholes, ranks_.size())) {
            most_bytes = (std::max)(most_bytes, add_rows(*in_order[share.request], share));
        }
        for (const vector<exchanged_rows>& each : rows_) {
            rounds_ = (std::max)(rounds_, each.size());
        }
        if (!fits_address_space(most_bytes) || !staging_.allocate(static_cast<size_t>(most_bytes))) {
            return fail(errc::out_of_memory, "no memory for rows of {} bytes", {most_bytes});
        }
        parts_.prepare();
        return {};
    }

    /// What one rank wants.
    result<void> take(message& said, int rank) {
        while (!said.has_ended()) {
            const auto request = static_cast<size_t>(said.number());
            const bytes_view form = said.bytes();
            load_box box;
            for (uint64_t left = said.number(); left != 0; --left) {
                box.begins.push_back(said.number());
                box.ends.push_back(said.number());
            }
            wanted_tensor& tensor = tensors_[string(as_text(form))];
            if (tensor.boxes.empty()) {
                tensor.form = message({form.begin(), form.end()});
                tensor.request = request_of(tensor.form);
                tensor.whole = box;
            }
            const load_destination& to = tensor.request.destination;
            box.element_bytes = to.number ? width_bytes(*to.number) : to.request.size_bytes;
            tensor.boxes.push_back({rank, box, request});
        }
        return {};
    }

    /// Widens what is read to all that is wanted, and finds where it lies.
    result<void> complete(wanted_tensor& tensor) const {
        shape begins;
        shape ends;
        for (size_t i = 0; i < tensor.whole.begins.rank(); ++i) {
            uint64_t begin = ~uint64_t{0};
            uint64_t end = 0;
            for (const wanted_box& each : tensor.boxes) {
                begin = (std::min)(begin, each.box.begins[i]);
                end = (std::max)(end, each.box.ends[i]);
            }
            begins.push_back(begin);
            ends.push_back(end);
        }
        ZTENSOR_TRY_ASSIGN(const object_view object, from_.find(tensor.request.name));
        const bool is_part = begins != shape(std::vector<uint64_t>(begins.rank())) || ends != object.shape();
        tensor.request.part = is_part ? load_request::part_kind::slice : load_request::part_kind::whole;
        tensor.request.begins = begins;
        tensor.request.ends = ends;
        tensor.whole.begins = begins;
        tensor.whole.ends = ends;
        tensor.whole.element_bytes = tensor.boxes.front().box.element_bytes;
        // Of the right size, for find_box(); where the rows go is known when they are read.
        tensor.request.destination.bytes = span<byte>(nullptr, static_cast<size_t>(tensor.whole.bytes()));
        ZTENSOR_TRY_ASSIGN(const optional<load_box> whole, find_box(from_, tensor.request));
        tensor.whole = *whole;
        return {};
    }

    /// Gives how many bytes are read at once.
    uint64_t add_rows(const wanted_tensor& tensor, const load_share& share) {
        const uint64_t row_bytes = (std::max<uint64_t>)(tensor.whole.row_bytes(), 1);
        const uint64_t step = (std::max<uint64_t>)(round_bytes / row_bytes, 1);
        const bool may_be_cut = tensor.whole.may_be_cut;
        for (uint64_t row = share.first; row < share.last; row += step) {
            const uint64_t end = (std::min)(share.last, row + step);
            rows_[static_cast<size_t>(share.owner)].push_back(
                {&tensor, row, end, may_be_cut ? row : share.first, may_be_cut ? end : share.last});
        }
        return row_bytes * (may_be_cut ? (std::min)(step, share.last - share.first) : share.last - share.first);
    }

    [[nodiscard]] const exchanged_rows* rows_at(int owner, size_t round) const noexcept {
        const vector<exchanged_rows>& all = rows_[static_cast<size_t>(owner)];
        return round < all.size() ? &all[round] : nullptr;
    }

    result<void> read_rows(size_t round) {
        const exchanged_rows* const rows = rows_at(ranks_.rank(), round);
        if (rows == nullptr || rows->first != rows->read_first) {
            return {};
        }
        const load_box& whole = rows->of->whole;
        const auto size = static_cast<size_t>((rows->read_last - rows->read_first) * whole.row_bytes());
        const span<byte> place = staging_.writable_bytes().first(size);
        vector<load_request> wanted;
        if (whole.may_be_cut) {
            wanted.push_back(rows_of(rows->of->request, whole, rows->read_first, rows->read_last, place));
        } else {
            wanted.push_back(rows->of->request);
            wanted.back().destination.bytes = place;
        }
        ZTENSOR_TRY_ASSIGN(const load_report report, load_plan_access::make(from_, std::move(wanted)).run(options_));
        bytes_read_ += report.bytes_read;
        return {};
    }

    // -- one round

    result<void> exchange(size_t round) {
        ZTENSOR_TRY(ranks_.agree(guard_rank([&] { return describe_round(round); })));
        return parts_.run(true);
    }

    result<void> describe_round(size_t round) {
        for (int owner = 0; owner < ranks_.size(); ++owner) {
            const exchanged_rows* const rows = rows_at(owner, round);
            for (size_t i = 0; rows != nullptr && i < rows->of->boxes.size(); ++i) {
                const wanted_box& wanted = rows->of->boxes[i];
                const uint64_t first = wanted.box.begins.empty() ? 0 : (std::max)(rows->first, wanted.box.begins[0]);
                const uint64_t last = wanted.box.begins.empty() ? 1 : (std::min)(rows->last, wanted.box.ends[0]);
                if (first >= last) {
                    continue;
                }
                const bool has_rows = owner == ranks_.rank();
                const bool is_wanted = wanted.rank == ranks_.rank();
                if (!has_rows && !is_wanted) {
                    continue;
                }
                const load_box& whole = rows->of->whole;
                const bool is_scalar = wanted.box.begins.empty();
                const uint64_t row = is_scalar || !has_rows ? 0 : first - rows->read_first;
                const uint64_t own_row = is_scalar || !is_wanted ? 0 : first - wanted.box.begins[0];
                byte* const memory = has_rows ? staging_.writable_bytes().data() + row * whole.row_bytes() : nullptr;
                byte* const run =
                    is_wanted ? requests_[wanted.request].destination.bytes.data() + own_row * wanted.box.row_bytes()
                              : nullptr;
                if (has_rows && is_wanted) {
                    row_exchange::take_rows(whole, wanted.box, last - first, memory, run);
                } else if (has_rows) {
                    parts_.add_rows(wanted.rank, whole, wanted.box, last - first, memory);
                } else {
                    parts_.add_run(owner, run, (last - first) * wanted.box.row_bytes());
                }
            }
        }
        return parts_.commit();
    }

    const communicator& ranks_;
    const reader& from_;
    const vector<load_request>& requests_;
    const vector<optional<load_box>>& boxes_;
    const load_options& options_;
    std::map<string, wanted_tensor> tensors_; ///< by their form
    vector<vector<exchanged_rows>> rows_;     ///< of each rank, one for each round
    size_t rounds_ = 0;
    byte_buffer staging_;
    row_exchange parts_;
    uint64_t bytes_read_ = 0;
};

// -- collective put

/// All ranks have parts of one tensor, which together are all of it: each gets whole rows, its shares of them.
class put_exchange {
public:
    /// `parts` are of all ranks, and `mine` holds the elements of this one's.
    put_exchange(const communicator& ranks, bytes_view mine) noexcept : ranks_(ranks), mine_(mine), exchange_(ranks) {}

    /// Of this rank alone. Allocates what a round takes.
    result<void> prepare(load_box whole, vector<load_box> parts, vector<load_share> shares) {
        whole_ = std::move(whole);
        parts_ = std::move(parts);
        shares_ = std::move(shares);
        uint64_t size = 0;
        for (const load_share& each : shares_) {
            step_ = (std::max<uint64_t>)(round_bytes / whole_.row_bytes(), 1);
            most_rows_ = (std::max)(most_rows_, each.last - each.first);
            size = (std::min)(step_, most_rows_) * whole_.row_bytes();
        }
        exchange_.prepare();
        return fits_address_space(size) && staging_.allocate(static_cast<size_t>(size))
                   ? result<void>()
                   : fail(errc::out_of_memory, "no memory for rows of {} bytes", {size});
    }

    /// Collective. Calls `write(first, rows) -> result<void>` in ascending order, where `first` counts bytes of the
    /// tensor, until it fails. `prepared` is what came of preparing on this rank. Errors: those of `write` on this rank
    /// alone, all others on all ranks.
    template <class Write>
    result<void> run(result<void> prepared, const Write& write) {
        result<void> outcome;
        uint64_t done = 0;
        do {
            prepared = prepared ? guard_rank([&] { return describe(done); }) : std::move(prepared);
            ZTENSOR_TRY(ranks_.agree(prepared));
            ZTENSOR_TRY(exchange_.run(false));
            for (const load_share& each : shares_) {
                const uint64_t first = begin_of(each, done);
                const uint64_t last = (std::min)(first + step_, each.last);
                if (each.owner == ranks_.rank() && first < last && outcome) { // else the others go on all the same
                    const bytes_view rows =
                        staging_.bytes().first(static_cast<size_t>((last - first) * whole_.row_bytes()));
                    outcome = guard_rank([&] { return write(first * whole_.row_bytes(), rows); });
                }
            }
            done += step_;
        } while (done < most_rows_);
        return outcome;
    }

private:
    [[nodiscard]] static uint64_t begin_of(const load_share& share, uint64_t done) noexcept {
        return share.first + (std::min)(done, share.last - share.first);
    }

    result<void> describe(uint64_t done) {
        for (const load_share& share : shares_) {
            const uint64_t begin = begin_of(share, done);
            const uint64_t end = (std::min)(begin + step_, share.last);
            for (size_t i = 0; i < parts_.size(); ++i) {
                const load_box& part = parts_[i];
                const uint64_t begin_here = part.begins.empty() ? 0 : part.begins[0];
                const uint64_t first = (std::max)(begin, begin_here);
                const uint64_t last = (std::min)(end, begin_here + part.rows());
                const auto rank = static_cast<int>(i);
                if (first >= last || part.bytes() == 0) {
                    continue;
                }
                const bool gets_rows = share.owner == ranks_.rank();
                byte* const memory =
                    gets_rows ? staging_.writable_bytes().data() + (first - begin) * whole_.row_bytes() : nullptr;
                if (gets_rows && rank != ranks_.rank()) {
                    exchange_.add_rows(rank, whole_, part, last - first, memory);
                }
                if (rank != ranks_.rank()) {
                    continue;
                }
                const byte* const run = mine_.data() + (first - begin_here) * part.row_bytes();
                if (gets_rows) {
                    row_exchange::give_run(whole_, part, last - first, memory, run);
                } else {
                    exchange_.add_run(share.owner, run, (last - first) * part.row_bytes());
                }
            }
        }
        return exchange_.commit();
    }

    const communicator& ranks_;
    bytes_view mine_;
    row_exchange exchange_;
    load_box whole_;
    vector<load_box> parts_;
    vector<load_share> shares_;
    byte_buffer staging_;
    uint64_t step_ = 1;
    uint64_t most_rows_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
