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
#include <ztensor/load_plan.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- collective
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
        : ranks_(ranks), from_(from), requests_(requests), boxes_(boxes), options_(options) {}

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
    static constexpr uint64_t round_bytes = uint64_t{16}
                                            << 20; ///< that an owner sends in a round, unless a row is more

    /// A type, and where it begins in memory.
    struct typed_place {
        std::unique_ptr<mpi_type> type;
        MPI_Aint place;
    };

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
        for (direction& each : ways_) {
            each.counts.resize(size);
            each.displacements.resize(size);
            each.types.resize(size);
        }
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

    struct direction {
        vector<int> counts;
        vector<int> displacements;
        vector<MPI_Datatype> types;
        vector<std::unique_ptr<mpi_type>> owned;
        std::map<size_t, vector<typed_place>> of_peer;
    };

    result<void> exchange(size_t round) {
        direction& out = ways_[0];
        direction& in = ways_[1];
        result<void> described = guard_rank([&] { return describe_round(round, out, in); });
        ZTENSOR_TRY(ranks_.agree(described));
        result<void> done = mpi_done(MPI_Alltoallw(MPI_BOTTOM, out.counts.data(), out.displacements.data(),
                                                   out.types.data(), MPI_BOTTOM, in.counts.data(),
                                                   in.displacements.data(), in.types.data(), ranks_.get()),
                                     "MPI_Alltoallw");
        out.owned.clear();
        in.owned.clear();
        return done;
    }

    result<void> describe_round(size_t round, direction& out, direction& in) {
        for (int owner = 0; owner < ranks_.size(); ++owner) {
            const exchanged_rows* const rows = rows_at(owner, round);
            for (size_t i = 0; rows != nullptr && i < rows->of->boxes.size(); ++i) {
                const wanted_box& wanted = rows->of->boxes[i];
                const uint64_t first = wanted.box.begins.empty() ? 0 : (std::max)(rows->first, wanted.box.begins[0]);
                const uint64_t last = wanted.box.begins.empty() ? 1 : (std::min)(rows->last, wanted.box.ends[0]);
                if (first >= last) {
                    continue;
                }
                if (owner == ranks_.rank()) {
                    ZTENSOR_TRY(
                        add_sent(out.of_peer[static_cast<size_t>(wanted.rank)], *rows, wanted.box, first, last));
                }
                if (wanted.rank == ranks_.rank()) {
                    ZTENSOR_TRY(add_received(in.of_peer[static_cast<size_t>(owner)], wanted, first, last));
                }
            }
        }
        ZTENSOR_TRY(commit(out));
        return commit(in);
    }

    /// Rows [first, last) of what a rank wants, in the memory that holds what was read.
    result<void> add_sent(vector<typed_place>& to, const exchanged_rows& rows, const load_box& wanted, uint64_t first,
                          uint64_t last) {
        const load_box& whole = rows.of->whole;
        // From the innermost dimension on, those that are wanted in full become one.
        vector<uint64_t> sizes = {whole.element_bytes};
        vector<uint64_t> counts = {whole.element_bytes};
        vector<uint64_t> begins = {0};
        const auto add_dimension = [&](uint64_t extent, uint64_t count, uint64_t begin) {
            const uint64_t inner = sizes.back() == counts.back() ? sizes.back() : 1;
            if (inner == 1) {
                sizes.push_back(1);
                counts.push_back(1);
                begins.push_back(0);
            }
            sizes.back() = inner * extent;
            counts.back() = inner * count;
            begins.back() = inner * begin;
        };
        for (size_t i = whole.begins.rank(); i-- > 1;) {
            add_dimension(whole.extent(i), wanted.extent(i), wanted.begins[i] - whole.begins[i]);
        }
        add_dimension(last - first, last - first, 0);
        vector<int> as_int[3];
        for (size_t i = sizes.size(); i-- > 0;) {
            if (sizes[i] > most_message_bytes) {
                return fail(errc::limit_exceeded, "a row takes more than the {} bytes that ranks exchange at once",
                            {uint64_t{most_message_bytes}})
                    .in_object(rows.of->request.name);
            }
            as_int[0].push_back(static_cast<int>(sizes[i]));
            as_int[1].push_back(static_cast<int>(counts[i]));
            as_int[2].push_back(static_cast<int>(begins[i]));
        }
        auto type = std::make_unique<mpi_type>();
        ZTENSOR_TRY(
            mpi_done(MPI_Type_create_subarray(static_cast<int>(sizes.size()), as_int[0].data(), as_int[1].data(),
                                              as_int[2].data(), MPI_ORDER_C, MPI_BYTE, type->make()),
                     "MPI_Type_create_subarray"));
        const uint64_t row = whole.begins.empty() ? 0 : first - rows.read_first;
        return add(to, std::move(type), staging_.data() + row * whole.row_bytes());
    }
    /// The same rows in this rank's destination, where they are one run.
    result<void> add_received(vector<typed_place>& to, const wanted_box& wanted, uint64_t first, uint64_t last) {
        const uint64_t row = wanted.box.begins.empty() ? 0 : first - wanted.box.begins[0];
        const uint64_t size = (last - first) * wanted.box.row_bytes();
        auto type = std::make_unique<mpi_type>();
        ZTENSOR_TRY(
            mpi_done(MPI_Type_contiguous(static_cast<int>(size), MPI_BYTE, type->make()), "MPI_Type_contiguous"));
        return add(to, std::move(type),
                   requests_[wanted.request].destination.bytes.data() + row * wanted.box.row_bytes());
    }
    static result<void> add(vector<typed_place>& to, std::unique_ptr<mpi_type> type, const byte* memory) {
        MPI_Aint place = 0;
        ZTENSOR_TRY(mpi_done(MPI_Get_address(memory, &place), "MPI_Get_address"));
        to.push_back({std::move(type), place});
        return {};
    }

    /// One type for each rank that something goes to or comes from.
    static result<void> commit(direction& way) {
        std::fill(way.counts.begin(), way.counts.end(), 0);
        std::fill(way.types.begin(), way.types.end(), MPI_BYTE);
        for (auto& [peer, parts] : way.of_peer) {
            vector<int> ones(parts.size(), 1);
            vector<MPI_Aint> places;
            vector<MPI_Datatype> types;
            for (const typed_place& each : parts) {
                places.push_back(each.place);
                types.push_back(each.type->get());
            }
            auto all = std::make_unique<mpi_type>();
            ZTENSOR_TRY(mpi_done(MPI_Type_create_struct(static_cast<int>(parts.size()), ones.data(), places.data(),
                                                        types.data(), all->make()),
                                 "MPI_Type_create_struct"));
            ZTENSOR_TRY(mpi_done(MPI_Type_commit(all->make()), "MPI_Type_commit"));
            way.counts[peer] = 1;
            way.types[peer] = all->get();
            way.owned.push_back(std::move(all));
        }
        way.of_peer.clear();
        return {};
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
    direction ways_[2]; ///< out and in
    uint64_t bytes_read_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
