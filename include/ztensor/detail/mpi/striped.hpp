// SPDX-License-Identifier: MIT
//
// All ranks want the same: what each has read comes to all others by broadcasts, or lies in memory that they share.
#ifndef ZTENSOR_DETAIL_MPI_STRIPED_HPP
#define ZTENSOR_DETAIL_MPI_STRIPED_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/mpi/communicator.hpp>
#include <ztensor/detail/mpi/load.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- striped

/// Broadcasts of all owners, many of them under way at once, so that every rank sends while it receives.
class broadcasts {
public:
    explicit broadcasts(const communicator& ranks) noexcept : ranks_(ranks) {}
    broadcasts(const broadcasts&) = delete;
    broadcasts& operator=(const broadcasts&) = delete;

    /// Room for all that begin() will be asked for, since nothing may fail between two calls that others wait for.
    void reserve(size_t pieces) {
        requests_.reserve(pieces);
        types_.reserve(pieces);
    }

    /// Collective. Memory of an owner, which one call broadcasts however it lies: at most 1 GiB of it.
    result<void> begin(const vector<MPI_Aint>& places, const vector<int>& lengths, int owner) {
        mpi_type& all = *types_.emplace_back(std::make_unique<mpi_type>());
        ZTENSOR_TRY(mpi_done(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(),
                                                      MPI_BYTE, all.make()),
                             "MPI_Type_create_hindexed"));
        ZTENSOR_TRY(mpi_done(MPI_Type_commit(all.make()), "MPI_Type_commit"));
        requests_.push_back(MPI_REQUEST_NULL);
        return mpi_done(MPI_Ibcast(MPI_BOTTOM, 1, all.get(), owner, ranks_.get(), &requests_.back()), "MPI_Ibcast");
    }
    result<void> begin(span<byte> piece, int owner) {
        requests_.push_back(MPI_REQUEST_NULL);
        return mpi_done(
            MPI_Ibcast(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, owner, ranks_.get(), &requests_.back()),
            "MPI_Ibcast");
    }
    /// Collective.
    result<void> wait() {
        const result<void> done = mpi_done(
            MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
        requests_.clear();
        types_.clear();
        return done;
    }

private:
    const communicator& ranks_;
    vector<MPI_Request> requests_;
    vector<std::unique_ptr<mpi_type>> types_;
};

/// What one owner broadcasts: a large piece of memory, or many small ones at once.
struct owned_pieces {
    vector<span<byte>> large;
    vector<MPI_Aint> places;
    vector<int> lengths;
    uint64_t small_bytes = 0;
};

/// All ranks want the same: each reads its share, and broadcasts it.
class striped_load {
public:
    striped_load(const communicator& ranks, const vector<load_request>& requests,
                 const vector<optional<load_box>>& boxes) noexcept
        : ranks_(ranks), requests_(requests), boxes_(boxes), broadcasts_(ranks) {}

    /// Collective. Gives how many bytes this rank read.
    result<uint64_t> run(const reader& from, const load_options& options) {
        share_reader reading(ranks_, from, requests_, boxes_, options);
        result<void> done = reading.run();
        done = done ? guard_rank([&] { return prepare(reading); }) : std::move(done);
        ZTENSOR_TRY(ranks_.agree(done));
        ZTENSOR_TRY(ranks_.size() != 1 ? send() : result<void>());
        return reading.bytes_read();
    }

private:
    static constexpr size_t large_bytes = size_t{256} << 10;
    static constexpr size_t piece_bytes = size_t{64} << 20; ///< of what is large
    static constexpr size_t most_under_way = 64;

    result<void> prepare(const share_reader& reading) {
        owners_.resize(static_cast<size_t>(ranks_.size()));
        for (const load_share& each : reading.shares()) {
            owned_pieces& owned = owners_[static_cast<size_t>(each.owner)];
            const load_destination& to = requests_[each.request].destination;
            ZTENSOR_TRY(to.rows == nullptr ? add(owned, reading.place_of(each))
                                           : add_rows(owned, to, *boxes_[each.request]));
        }
        broadcasts_.reserve(most_under_way + owners_.size());
        return {};
    }
    /// Of the last dimension, which lie apart.
    static result<void> add_rows(owned_pieces& owned, const load_destination& to, const load_box& box) {
        const uint64_t columns = box.begins.empty() ? 1 : box.extent(box.begins.rank() - 1);
        const auto size = static_cast<size_t>(columns * box.element_bytes);
        for (uint64_t done = 0; done < box.bytes(); done += size) {
            ZTENSOR_TRY(add(owned, span<byte>(to.rows + done / size * to.row_bytes, size)));
        }
        return {};
    }
    static result<void> add(owned_pieces& owned, span<byte> piece) {
        if (piece.size() < large_bytes && owned.small_bytes + piece.size() <= most_message_bytes) {
            MPI_Aint place = 0;
            ZTENSOR_TRY(mpi_done(MPI_Get_address(piece.data(), &place), "MPI_Get_address"));
            owned.places.push_back(place);
            owned.lengths.push_back(static_cast<int>(piece.size()));
            owned.small_bytes += piece.size();
            return {};
        }
        for (size_t at = 0; at < piece.size(); at += piece_bytes) {
            owned.large.push_back(piece.subspan(at, (std::min)(piece_bytes, piece.size() - at)));
        }
        return {};
    }

    /// The pieces of all owners in turns.
    result<void> send() {
        size_t under_way = 0;
        size_t turns = 0;
        for (size_t owner = 0; owner < owners_.size(); ++owner) {
            const owned_pieces& owned = owners_[owner];
            turns = (std::max)(turns, owned.large.size());
            if (!owned.places.empty()) {
                ZTENSOR_TRY(broadcasts_.begin(owned.places, owned.lengths, static_cast<int>(owner)));
            }
        }
        for (size_t turn = 0; turn < turns; ++turn) {
            for (size_t owner = 0; owner < owners_.size(); ++owner) {
                if (turn < owners_[owner].large.size()) {
                    ZTENSOR_TRY(broadcasts_.begin(owners_[owner].large[turn], static_cast<int>(owner)));
                    ++under_way;
                }
            }
            if (under_way >= most_under_way) {
                ZTENSOR_TRY(broadcasts_.wait());
                under_way = 0;
            }
        }
        return broadcasts_.wait();
    }

    const communicator& ranks_;
    const vector<load_request>& requests_;
    const vector<optional<load_box>>& boxes_;
    vector<owned_pieces> owners_;
    broadcasts broadcasts_;
};

// -- shared memory

/// Memory that the ranks of one host have together, and what lies where in it. Freed by all of these ranks.
class host_memory {
public:
    /// Of one tensor, as bytes in the host's order.
    struct entry {
        string name;
        size_t offset = 0;
        size_t bytes = 0;
    };

    host_memory() noexcept = default;
    host_memory(const host_memory&) = delete;
    host_memory& operator=(const host_memory&) = delete;
    ~host_memory() {
        int is_finalized = 1;
        if (window_ != MPI_WIN_NULL && MPI_Finalized(&is_finalized) == MPI_SUCCESS && is_finalized == 0) {
            MPI_Win_free(&window_);
        }
    }

    [[nodiscard]] const vector<entry>& entries() const noexcept { return entries_; }
    [[nodiscard]] const entry* find(string_view name) const noexcept {
        const auto found =
            std::find_if(entries_.begin(), entries_.end(), [&](const entry& each) { return each.name == name; });
        return found != entries_.end() ? &*found : nullptr;
    }
    [[nodiscard]] bytes_view bytes(const entry& of) const noexcept { return {base_ + of.offset, of.bytes}; }
    [[nodiscard]] uint64_t bytes_read() const noexcept { return bytes_read_; }

    /// Collective. Each rank reads its share of what its host needs.
    result<void> load(const communicator& ranks, const reader& from, span<const string_view> names,
                      const load_options& options) {
        vector<load_request> requests;
        vector<optional<load_box>> boxes;
        ZTENSOR_TRY(ranks.agree(guard_rank([&]() -> result<void> {
            ZTENSOR_TRY(find_all(from, names, requests));
            boxes.resize(requests.size(), load_box()); // of no shape yet, to compare names and types
            return {};
        })));
        ZTENSOR_TRY_ASSIGN(const bool is_same, want_the_same(ranks, requests, boxes));
        if (!is_same) {
            return fail(errc::invalid_argument, "the ranks name different tensors: a host has one copy of the same")
                .by_caller();
        }
        communicator host;
        ZTENSOR_TRY(ranks.agree(allocate(ranks, host)));
        ZTENSOR_TRY(ranks.agree(guard_rank([&]() -> result<void> {
            for (size_t i = 0; i < requests.size(); ++i) {
                requests[i].destination.bytes = {base_ + entries_[i].offset, entries_[i].bytes};
            }
            ZTENSOR_TRY(load_plan_access::make(from, requests).check());
            ZTENSOR_TRY_ASSIGN(boxes, find_boxes(from, requests));
            return {};
        })));
        share_reader reading(host, from, requests, std::move(boxes), options);
        ZTENSOR_TRY(ranks.agree(reading.run()));
        bytes_read_ = reading.bytes_read();
        return mpi_done(MPI_Win_fence(0, window_), "MPI_Win_fence"); // what one rank wrote all others see
    }

private:
    static constexpr size_t alignment = 64;

    result<void> find_all(const reader& from, span<const string_view> names, vector<load_request>& requests) {
        for (const string_view name : names) {
            ZTENSOR_TRY_ASSIGN(const object_view object, from.find(name));
            ZTENSOR_TRY_ASSIGN(const component_view data, object.data());
            const optional<uint64_t> size = data.decoded_bytes();
            if (!size || !fits_address_space(total_bytes_ + *size + alignment)) {
                return fail(errc::too_large_for_host, "no host can hold it in memory, or only decoding tells its size")
                    .in_object(name)
                    .in_file(from.path());
            }
            entries_.push_back({string(name), static_cast<size_t>(total_bytes_), static_cast<size_t>(*size)});
            total_bytes_ += (*size + alignment - 1) / alignment * alignment;
            load_request& whole = requests.emplace_back();
            whole.name = name;
            if (const optional<dtype> type = data.dtype().known()) {
                whole.destination.request = {*type, {}, width_bytes(*type), 1, false};
            }
        }
        return {};
    }

    /// The first rank of each host has all of it, so that it is one run of memory.
    result<void> allocate(const communicator& ranks, communicator& host) {
        ZTENSOR_TRY_ASSIGN(host, ranks.of_host());
        void* mine = nullptr;
        const auto size = static_cast<MPI_Aint>(host.is_root() ? total_bytes_ + alignment : 0);
        ZTENSOR_TRY(mpi_done(MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, host.get(), &mine, &window_),
                             "MPI_Win_allocate_shared"));
        MPI_Aint of_root = 0;
        int unit = 0;
        void* first = nullptr;
        ZTENSOR_TRY(mpi_done(MPI_Win_shared_query(window_, 0, &of_root, &unit, &first), "MPI_Win_shared_query"));
        base_ = static_cast<byte*>(first);
        return mpi_done(MPI_Win_fence(0, window_), "MPI_Win_fence");
    }

    MPI_Win window_ = MPI_WIN_NULL;
    byte* base_ = nullptr;
    uint64_t total_bytes_ = 0;
    uint64_t bytes_read_ = 0;
    vector<entry> entries_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
