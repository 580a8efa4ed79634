// SPDX-License-Identifier: MIT
//
// A plan that ranks carry out together: who reads what, and how that comes to all others who want the same.
#ifndef ZTENSOR_DETAIL_MPI_LOAD_HPP
#define ZTENSOR_DETAIL_MPI_LOAD_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/crc32.hpp>
#include <ztensor/detail/mpi/communicator.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- box
//
// What a request wants of its tensor: a range in every dimension, and how large an element of the destination is.

struct load_box {
    shape begins;
    shape ends;
    uint64_t element_bytes = 0;
    bool may_be_cut = false; ///< rows of it can be read by themselves, and no digest of all of it is to be verified
    uint64_t file_number = 0;
    uint64_t offset = 0; ///< of its data in the file, for the order of reading

    [[nodiscard]] uint64_t extent(size_t dimension) const noexcept { return ends[dimension] - begins[dimension]; }
    [[nodiscard]] uint64_t rows() const noexcept { return begins.empty() ? 1 : extent(0); }
    [[nodiscard]] uint64_t row_bytes() const noexcept {
        uint64_t bytes = element_bytes;
        for (size_t i = 1; i < begins.rank(); ++i) {
            bytes *= extent(i);
        }
        return bytes;
    }
    [[nodiscard]] uint64_t bytes() const noexcept { return rows() * row_bytes(); }
};

/// Of a request that load_plan::check() has passed, or one for an object that may be absent and is.
inline result<optional<load_box>> find_box(const reader& from, const load_request& request) {
    if (request.is_optional && !from.contains(request.name)) {
        return optional<load_box>();
    }
    ZTENSOR_TRY_ASSIGN(const object_view object, from.find(request.name));
    load_box box;
    const shape dimensions = object.shape();
    for (size_t i = 0; i < dimensions.rank(); ++i) {
        const bool is_given = i < request.begins.rank() && request.part != load_request::part_kind::whole;
        box.begins.push_back(is_given ? request.begins[i] : 0);
        box.ends.push_back(is_given ? request.ends[i] : dimensions[i]);
    }
    const load_destination& to = request.destination;
    box.element_bytes = to.number ? width_bytes(*to.number) : to.request.size_bytes;
    if (from.files().size() > 1) {
        ZTENSOR_TRY_ASSIGN(box.file_number, from.file_of(request.name));
    }
    const result<component_view> data = object.data();
    if (data) {
        box.offset = data->offset();
        const bool has_whole_elements = to.rows == nullptr && to.bytes.size() == box.bytes();
        box.may_be_cut = has_whole_elements && !dimensions.empty() && data->encoding() == encoding::raw &&
                         data->decoded_bytes() &&
                         (request.part != load_request::part_kind::whole || !data->digest().is_present());
    }
    return optional<load_box>(box);
}

inline result<vector<optional<load_box>>> find_boxes(const reader& from, const vector<load_request>& requests) {
    vector<optional<load_box>> boxes;
    for (const load_request& each : requests) {
        ZTENSOR_TRY_ASSIGN(optional<load_box> box, find_box(from, each));
        boxes.push_back(std::move(box));
    }
    return boxes;
}

/// Rows [first, last) of a box, counted in the tensor, as a request of their own with that destination.
[[nodiscard]] inline load_request rows_of(const load_request& request, const load_box& box, uint64_t first,
                                          uint64_t last, span<byte> destination) {
    load_request part = request;
    part.destination.bytes = destination;
    part.expected = expected_shape::anything();
    if (box.begins.empty()) { // a scalar has no parts
        return part;
    }
    part.part = load_request::part_kind::slice;
    part.begins = shape();
    part.ends = shape();
    for (size_t i = 0; i < box.begins.rank(); ++i) {
        part.begins.push_back(i == 0 ? first : box.begins[i]);
        part.ends.push_back(i == 0 ? last : box.ends[i]);
    }
    return part;
}

// -- shares

/// What one rank reads: rows of a request, or all of it.
struct load_share {
    size_t request;
    uint64_t first; ///< row, counted in the tensor
    uint64_t last;
    int owner;
};

/// Cuts what is wanted at every 1/ranks of its bytes, in the order of the files, so that each rank reads about as much,
/// and in one run. What may not be cut goes to the rank of its middle.
[[nodiscard]] inline vector<load_share> share_out(const vector<optional<load_box>>& boxes, int ranks) {
    vector<size_t> order;
    uint64_t all_bytes = 0;
    for (size_t i = 0; i < boxes.size(); ++i) {
        if (boxes[i] && boxes[i]->bytes() != 0) {
            order.push_back(i);
            all_bytes += boxes[i]->bytes();
        }
    }
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return std::tuple(boxes[a]->file_number, boxes[a]->offset, a) <
               std::tuple(boxes[b]->file_number, boxes[b]->offset, b);
    });
    const uint64_t step = all_bytes / static_cast<uint64_t>(ranks) + 1;
    vector<load_share> shares;
    uint64_t before = 0;
    for (const size_t i : order) {
        const load_box& box = *boxes[i];
        const uint64_t row_bytes = box.row_bytes();
        const uint64_t first = box.begins.empty() ? 0 : box.begins[0];
        const uint64_t last = first + box.rows();
        for (uint64_t row = first; row < last;) {
            const uint64_t begin = before + (row - first) * row_bytes;
            const uint64_t middle = box.may_be_cut ? begin + row_bytes / 2 : before + box.bytes() / 2;
            const uint64_t owner = middle / step;
            // The first row whose middle lies behind this owner's end.
            const uint64_t left = (owner + 1) * step - middle;
            const uint64_t rows = box.may_be_cut ? (left + row_bytes - 1) / row_bytes : last - row;
            const uint64_t end = row + (std::min)(rows, last - row);
            shares.push_back({i, row, end, static_cast<int>(owner)});
            row = end;
        }
        before += box.bytes();
    }
    return shares;
}

/// Reads what is this rank's into its place. Gives how many bytes were read.
inline result<uint64_t> read_shares(const reader& from, const vector<load_request>& requests,
                                    const vector<optional<load_box>>& boxes, const vector<load_share>& shares, int rank,
                                    const load_options& options) {
    vector<load_request> mine;
    for (const load_share& each : shares) {
        const load_box& box = *boxes[each.request];
        if (each.owner != rank) {
            continue;
        }
        if (!box.may_be_cut) {
            mine.push_back(requests[each.request]);
            continue;
        }
        const auto place = static_cast<size_t>((each.first - box.begins[0]) * box.row_bytes());
        const auto size = static_cast<size_t>((each.last - each.first) * box.row_bytes());
        mine.push_back(rows_of(requests[each.request], box, each.first, each.last,
                               requests[each.request].destination.bytes.subspan(place, size)));
    }
    if (mine.empty()) {
        return uint64_t{0};
    }
    ZTENSOR_TRY_ASSIGN(const load_report report, load_plan_access::make(from, std::move(mine)).run(options));
    return report.bytes_read;
}

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

/// Calls `take(piece) -> result<void>` for the memory that rows of a request go to: one run of it, or rows of the last
/// dimension that lie apart.
template <class Take>
result<void> for_each_piece(const load_request& request, const load_box& box, const load_share& share,
                            const Take& take) {
    const load_destination& to = request.destination;
    if (to.rows == nullptr) {
        const uint64_t first = box.may_be_cut ? share.first - box.begins[0] : 0;
        const uint64_t size = box.may_be_cut ? (share.last - share.first) * box.row_bytes() : to.bytes.size();
        return take(to.bytes.subspan(static_cast<size_t>(first * box.row_bytes()), static_cast<size_t>(size)));
    }
    const uint64_t columns = box.begins.empty() ? 1 : box.extent(box.begins.rank() - 1);
    const auto size = static_cast<size_t>(columns * box.element_bytes);
    for (uint64_t done = 0; done < box.bytes(); done += size) {
        ZTENSOR_TRY(take(span<byte>(to.rows + done / size * to.row_bytes, size)));
    }
    return {};
}

/// No byte but 0 and 1 must stay behind in bools that a failure left half read.
inline void clear_bools(const vector<load_request>& requests) noexcept {
    for (const load_request& each : requests) {
        if (each.destination.request.is_bool) {
            std::fill(each.destination.bytes.begin(), each.destination.bytes.end(), byte{0});
        }
    }
}

/// In which form elements are wanted: requests of one form take the same bytes of a tensor.
[[nodiscard]] inline vector<byte> form_of(const load_request& request) {
    const load_destination& to = request.destination;
    message form;
    form.put(request.name);
    form.put(uint64_t{to.request.storage ? static_cast<uint64_t>(*to.request.storage) + 1 : 0});
    form.put(to.request.type);
    form.put(uint64_t{to.request.size_bytes});
    form.put(uint64_t{to.request.is_bool});
    form.put(uint64_t{to.number ? static_cast<uint64_t>(*to.number) + 1 : 0});
    return std::move(form.all());
}
/// The other way round. The request borrows from `form`.
[[nodiscard]] inline load_request request_of(message& form) {
    load_request request;
    request.name = form.text();
    load_destination& to = request.destination;
    const auto type_at = [](uint64_t number) {
        return number != 0 ? optional<dtype>(static_cast<dtype>(number - 1)) : std::nullopt;
    };
    to.request.storage = type_at(form.number());
    to.request.type = form.text();
    to.request.size_bytes = static_cast<size_t>(form.number());
    to.request.is_bool = form.number() != 0;
    to.number = type_at(form.number());
    return request;
}

/// What a rank asks for, in its order.
[[nodiscard]] inline vector<byte> describe(const vector<load_request>& requests,
                                           const vector<optional<load_box>>& boxes) {
    message said;
    for (size_t i = 0; i < requests.size(); ++i) {
        if (!boxes[i]) {
            continue;
        }
        said.put(uint64_t{i});
        said.put(form_of(requests[i]));
        said.put(uint64_t{boxes[i]->begins.rank()});
        for (size_t k = 0; k < boxes[i]->begins.rank(); ++k) {
            said.put(boxes[i]->begins[k]);
            said.put(boxes[i]->ends[k]);
        }
    }
    return std::move(said.all());
}

// -- how

/// Collective. Whether all ranks ask for the same in the same order.
inline result<bool> want_the_same(const communicator& ranks, const vector<load_request>& requests,
                                  const vector<optional<load_box>>& boxes) {
    uint64_t key = 0;
    ZTENSOR_TRY(ranks.agree(guard_rank([&]() -> result<void> {
        const vector<byte> said = describe(requests, boxes);
        key = uint64_t{said.size()} << 32 ^ crc32c_update(crc32c_start, said);
        return {};
    })));
    return ranks.is_same(key);
}

/// Whether parts of what is wanted can be sent on: each destination is one run of memory, of whole elements.
[[nodiscard]] inline bool can_be_exchanged(const vector<load_request>& requests,
                                           const vector<optional<load_box>>& boxes) noexcept {
    for (size_t i = 0; i < requests.size(); ++i) {
        const load_destination& to = requests[i].destination;
        if (to.rows != nullptr || (boxes[i] && to.bytes.size() != boxes[i]->bytes())) {
            return false;
        }
    }
    return true;
}

/// Collective. Whether it takes less time to read each byte once and send it on. On one host it does not, because what
/// one rank has read the others find in the system's cache; but where requests take time, or ranks are on several
/// hosts, it does. Nor if a rank says that it can't be sent on.
inline result<bool> pays_to_share(const communicator& ranks, const reader& from, bool can_be_shared) {
    constexpr int least_readers = 4;
    MPI_Comm host = MPI_COMM_NULL;
    ZTENSOR_TRY(mpi_done(MPI_Comm_split_type(ranks.get(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host),
                         "MPI_Comm_split_type"));
    int on_host = 0;
    ZTENSOR_TRY(mpi_done(MPI_Comm_size(host, &on_host), "MPI_Comm_size"));
    ZTENSOR_TRY(mpi_done(MPI_Comm_free(&host), "MPI_Comm_free"));
    const bool has_many_hosts = ranks.size() > on_host && ranks.size() >= least_readers;
    ZTENSOR_TRY_ASSIGN(const uint64_t reasons, ranks.sum(has_many_hosts || !from.is_mapped() ? 1u : 0u));
    ZTENSOR_TRY_ASSIGN(const uint64_t obstacles, ranks.sum(can_be_shared ? 0u : 1u));
    return ranks.size() > 1 && reasons != 0 && obstacles == 0;
}

/// Collective. Each rank reads what it wants.
inline result<uint64_t> load_independently(const communicator& ranks, const load_plan& plan,
                                           const load_options& options) {
    ZTENSOR_TRY_ASSIGN(const load_report report, ranks.agree(guard_rank([&] { return plan.run(options); })));
    return report.bytes_read;
}

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
        uint64_t bytes_read = 0;
        ZTENSOR_TRY(ranks_.agree(guard_rank([&]() -> result<void> {
            const vector<load_share> shares = share_out(boxes_, ranks_.size());
            ZTENSOR_TRY(prepare(shares));
            ZTENSOR_TRY_ASSIGN(bytes_read, read_shares(from, requests_, boxes_, shares, ranks_.rank(), options));
            return {};
        })));
        ZTENSOR_TRY(ranks_.size() != 1 ? send() : result<void>());
        return bytes_read;
    }

private:
    static constexpr size_t large_bytes = size_t{256} << 10;
    static constexpr size_t piece_bytes = size_t{64} << 20; ///< of what is large
    static constexpr size_t most_under_way = 64;

    result<void> prepare(const vector<load_share>& shares) {
        owners_.resize(static_cast<size_t>(ranks_.size()));
        for (const load_share& each : shares) {
            owned_pieces& owned = owners_[static_cast<size_t>(each.owner)];
            ZTENSOR_TRY(for_each_piece(requests_[each.request], *boxes_[each.request], each,
                                       [&](span<byte> piece) { return add(owned, piece); }));
        }
        broadcasts_.reserve(most_under_way + owners_.size());
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
            const vector<load_share> shares = share_out(boxes, host.size());
            ZTENSOR_TRY_ASSIGN(bytes_read_, read_shares(from, requests, boxes, shares, host.rank(), options));
            return {};
        })));
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
        MPI_Comm of_host = MPI_COMM_NULL;
        ZTENSOR_TRY(mpi_done(MPI_Comm_split_type(ranks.get(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &of_host),
                             "MPI_Comm_split_type"));
        ZTENSOR_TRY_ASSIGN(host, communicator::of(of_host));
        ZTENSOR_TRY(mpi_done(MPI_Comm_set_errhandler(of_host, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"));
        void* mine = nullptr;
        const auto size = static_cast<MPI_Aint>(host.is_root() ? total_bytes_ + alignment : 0);
        ZTENSOR_TRY(mpi_done(MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, of_host, &mine, &window_),
                             "MPI_Win_allocate_shared"));
        MPI_Aint of_root = 0;
        int unit = 0;
        void* first = nullptr;
        ZTENSOR_TRY(mpi_done(MPI_Win_shared_query(window_, 0, &of_root, &unit, &first), "MPI_Win_shared_query"));
        base_ = static_cast<byte*>(first);
        ZTENSOR_TRY(mpi_done(MPI_Win_fence(0, window_), "MPI_Win_fence"));
        return mpi_done(MPI_Comm_free(&of_host), "MPI_Comm_free"); // the window keeps what it needs of it
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
