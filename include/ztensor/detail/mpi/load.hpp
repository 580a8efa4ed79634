// SPDX-License-Identifier: MIT
//
// A plan that ranks carry out together: what each wants, who reads what, and the reading itself.
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
    bool may_be_cut = false;    ///< rows of it can be read by themselves, and no digest of all of it is to be verified
    optional<blob_layout> blob; ///< of zstd frames that several ranks may decode, each from some of the stored bytes
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

    /// What it may be cut into, and where each begins: rows, or pieces of stored bytes. All of it is one, if it may
    /// not.
    [[nodiscard]] uint64_t units() const noexcept {
        return blob ? (std::min)((blob->stored_bytes - 1) / blob_unit_bytes + 1, bytes()) : may_be_cut ? rows() : 1;
    }
    [[nodiscard]] uint64_t unit_begin(uint64_t unit) const noexcept {
        if (blob) {
            return unit == units() ? blob->stored_bytes : unit * blob_unit_bytes;
        }
        return (begins.empty() ? 0 : begins[0]) + (may_be_cut ? unit : unit * rows());
    }

private:
    static constexpr uint64_t blob_unit_bytes = uint64_t{64} << 10;
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
    ZTENSOR_TRY_ASSIGN(const optional<uint64_t> key, ranks.agree_on(guard_rank([&]() -> result<uint64_t> {
        const vector<byte> said = describe(requests, boxes);
        return uint64_t{said.size()} << 32 ^ crc32c_update(crc32c_start, said);
    })));
    return key.has_value();
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
    ZTENSOR_TRY_ASSIGN(const communicator host, ranks.of_host());
    const bool has_many_hosts = ranks.size() > host.size() && ranks.size() >= least_readers;
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

// -- shares

/// What one rank reads: rows of a request, all of it, or a part of a blob of zstd frames.
struct load_share {
    size_t request;
    uint64_t first; ///< row, counted in the tensor; of a blob, byte that is stored
    uint64_t last;
    int owner;
    uint64_t decoded_begin = 0; ///< of a part of a blob, in the tensor, when it has been read
    uint64_t decoded_end = 0;
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
        const uint64_t units = box.units();
        const uint64_t unit_bytes = box.bytes() / units;
        for (uint64_t unit = 0; unit < units;) {
            const uint64_t middle = before + unit * unit_bytes + unit_bytes / 2;
            const uint64_t owner = middle / step;
            // The first unit whose middle lies behind this owner's end.
            const uint64_t left = (owner + 1) * step - middle;
            const uint64_t end = unit + (std::min)((left + unit_bytes - 1) / unit_bytes, units - unit);
            shares.push_back({i, box.unit_begin(unit), box.unit_begin(end), static_cast<int>(owner)});
            unit = end;
        }
        before += box.bytes();
    }
    return shares;
}

/// Reads the shares of all ranks, each its own, into their places. A blob of zstd frames that is cut is decoded by the
/// ranks that have parts of it: each reads its range of the stored bytes and finds the frames in them, beginning with
/// what the rank before it sends of a frame that began there. So each stored byte is read once, whatever frames there
/// are. A blob of one frame is decoded by the last of its ranks.
class share_reader {
public:
    share_reader(const communicator& ranks, const reader& from, const vector<load_request>& requests,
                 vector<optional<load_box>> boxes, const load_options& options) noexcept
        : ranks_(ranks), from_(from), requests_(requests), boxes_(std::move(boxes)), options_(options) {}

    /// Collective. Failures of this rank alone, which are to be agreed on.
    result<void> run() {
        ZTENSOR_TRY(ranks_.agree(guard_rank([&] { return prepare(true); })));
        if (has_parts_) { // on all ranks; parts stay in memory until they are decoded
            ZTENSOR_TRY_ASSIGN(const uint64_t bounded,
                               ranks_.sum(options_.max_staging_bytes() != ~uint64_t{0} ? 1 : 0));
            ZTENSOR_TRY(bounded == 0 ? result<void>() : ranks_.agree(guard_rank([&] { return prepare(false); })));
        }
        if (!has_parts_) {
            return guard_rank([&] { return read_others(); });
        }
        ZTENSOR_TRY_ASSIGN(ranks_alone_, ranks_.duplicate());
        result<void> done = guard_rank([&] { return read_parts(); });
        const bool is_read = done.has_value();
        done = join_parts(std::move(done)); // whatever happened, because the others wait for it
        done = done ? guard_rank([&] { return decode_parts(); }) : std::move(done);
        ZTENSOR_TRY(take_ends(is_read));
        ZTENSOR_TRY(guard_rank([&] { return check_sums(); })); // which says more than what follows from it
        return done ? guard_rank([&] { return read_others(); }) : std::move(done);
    }

    [[nodiscard]] uint64_t bytes_read() const noexcept { return bytes_read_; }
    [[nodiscard]] const vector<load_share>& shares() const noexcept { return shares_; }

    /// Where a share goes in its destination, which is one run of memory.
    [[nodiscard]] span<byte> place_of(const load_share& share) const {
        const load_box& box = *boxes_[share.request];
        const span<byte> all = requests_[share.request].destination.bytes;
        if (!is_part(share)) {
            const uint64_t first = box.may_be_cut ? (share.first - box.begins[0]) * box.row_bytes() : 0;
            const uint64_t size = box.may_be_cut ? (share.last - share.first) * box.row_bytes() : all.size();
            return all.subspan(static_cast<size_t>(first), static_cast<size_t>(size));
        }
        const auto at = [&](uint64_t decoded) {
            return static_cast<size_t>(decoded / box.blob->element_bytes * box.blob->made_bytes);
        };
        return all.subspan(at(share.decoded_begin), at(share.decoded_end) - at(share.decoded_begin));
    }

private:
    /// What one rank tells the next of a blob.
    struct carried_head {
        uint64_t bytes;
        uint64_t decoded_bytes; ///< of the tensor, before them
        uint64_t has_failed;
    };
    struct owned_part {
        size_t share;
        blob_part part;
    };

    [[nodiscard]] bool is_part(const load_share& share) const noexcept {
        const optional<blob_layout>& blob = boxes_[share.request]->blob;
        return blob && (share.first != 0 || share.last != blob->stored_bytes);
    }
    [[nodiscard]] bool is_last_part(const load_share& share) const noexcept {
        return share.last == boxes_[share.request]->blob->stored_bytes;
    }

    result<void> prepare(bool cuts_blobs) {
        for (size_t i = 0; i < boxes_.size(); ++i) {
            if (boxes_[i] && !boxes_[i]->may_be_cut) {
                ZTENSOR_TRY_ASSIGN(boxes_[i]->blob, cuts_blobs ? blob_part::find_layout(from_, requests_[i])
                                                               : result<optional<blob_layout>>(std::nullopt));
            }
        }
        shares_ = share_out(boxes_, ranks_.size());
        has_parts_ = false;
        parts_.clear();
        for (size_t i = 0; i < shares_.size(); ++i) {
            const load_share& share = shares_[i];
            has_parts_ = has_parts_ || is_part(share);
            if (is_part(share) && share.owner == ranks_.rank()) {
                ZTENSOR_TRY_ASSIGN(blob_part part,
                                   blob_part::make(from_, requests_[share.request], share.first, share.last));
                parts_.push_back({i, std::move(part)});
            }
        }
        ends_.resize(3 * shares_.size());
        return {};
    }

    /// What is not a part of a blob.
    result<void> read_others() {
        vector<load_request> mine;
        for (const load_share& each : shares_) {
            if (each.owner != ranks_.rank() || is_part(each)) {
                continue;
            }
            const load_request& request = requests_[each.request];
            const load_box& box = *boxes_[each.request];
            mine.push_back(box.may_be_cut ? rows_of(request, box, each.first, each.last, place_of(each)) : request);
        }
        if (mine.empty()) {
            return {};
        }
        ZTENSOR_TRY_ASSIGN(const load_report report, load_plan_access::make(from_, std::move(mine)).run(options_));
        bytes_read_ += report.bytes_read;
        return {};
    }

    result<void> read_parts() {
        for (owned_part& each : parts_) {
            ZTENSOR_TRY(each.part.read(options_));
            bytes_read_ += shares_[each.share].last - shares_[each.share].first;
            ends_[3 * each.share + 1] = each.part.crc32c();
        }
        return {};
    }

    /// From the last part on, so that the next rank need not wait for what this one waits for.
    result<void> join_parts(result<void> done) {
        for (auto each = parts_.rbegin(); each != parts_.rend(); ++each) {
            const load_share& share = shares_[each->share];
            vector<byte> carried;
            uint64_t decoded_before = 0;
            if (share.first != 0) {
                result<void> received = receive(shares_[each->share - 1].owner, carried, decoded_before);
                done = done ? std::move(received) : std::move(done);
            }
            done = done ? guard_rank([&] { return each->part.join(carried, decoded_before); }) : std::move(done);
            if (!is_last_part(share)) {
                result<void> sent = send(shares_[each->share + 1].owner, each->part, done.has_value());
                done = done ? std::move(sent) : std::move(done);
            }
        }
        return done;
    }
    /// The receiver answers whether it has memory for it.
    result<void> send(int to, const blob_part& part, bool is_well) const {
        const bytes_view left = is_well ? part.left_over() : bytes_view();
        const carried_head head = {left.size(), is_well ? part.decoded_end() : 0, is_well ? 0u : 1u};
        uint64_t is_taken = 0;
        ZTENSOR_TRY(ranks_alone_.send(as_bytes(span<const carried_head>(&head, 1)), to));
        ZTENSOR_TRY(ranks_alone_.receive(as_writable_bytes(span<uint64_t>(&is_taken, 1)), to));
        return is_taken != 0 ? ranks_alone_.send(left, to) : result<void>();
    }
    result<void> receive(int from, vector<byte>& carried, uint64_t& decoded_before) const {
        carried_head head = {};
        ZTENSOR_TRY(ranks_alone_.receive(as_writable_bytes(span<carried_head>(&head, 1)), from));
        const result<void> room = guard_memory([&]() -> result<void> {
            carried.resize(static_cast<size_t>(head.bytes));
            return {};
        });
        const uint64_t is_taken = room ? 1 : 0;
        ZTENSOR_TRY(ranks_alone_.send(as_bytes(span<const uint64_t>(&is_taken, 1)), from));
        ZTENSOR_TRY(room ? ranks_alone_.receive(carried, from) : room);
        decoded_before = head.decoded_bytes;
        return head.has_failed == 0 ? result<void>() : fail(errc::io_error, "the rank that has the part before failed");
    }

    result<void> decode_parts() {
        for (const owned_part& each : parts_) {
            ZTENSOR_TRY(each.part.decode(options_));
            ends_[3 * each.share] = each.part.decoded_end();
        }
        return {};
    }

    /// Collective. Where each part ends, and its sum: of every part one rank says it.
    result<void> take_ends(bool is_read) {
        for (const owned_part& each : parts_) {
            ends_[3 * each.share + 2] = is_read ? 1 : 0;
        }
        ZTENSOR_TRY(ranks_.sum(ends_));
        uint64_t before = 0;
        for (size_t i = 0; i < shares_.size(); ++i) {
            load_share& share = shares_[i];
            if (is_part(share)) {
                share.decoded_begin = share.first != 0 ? before : 0;
                share.decoded_end = before =
                    is_last_part(share) ? boxes_[share.request]->blob->decoded_bytes : ends_[3 * i];
            }
        }
        return {};
    }
    /// Of blobs all of whose parts were read.
    result<void> check_sums() const {
        uint32_t sum = 0;
        bool is_read = true;
        for (size_t i = 0; i < shares_.size(); ++i) {
            if (!is_part(shares_[i])) {
                continue;
            }
            const bool is_first = shares_[i].first == 0;
            sum = (is_first ? 0 : sum) ^ static_cast<uint32_t>(ends_[3 * i + 1]);
            is_read = (is_first || is_read) && ends_[3 * i + 2] != 0;
            ZTENSOR_TRY(is_read && is_last_part(shares_[i])
                            ? blob_part::check_crc32c(from_, requests_[shares_[i].request], sum)
                            : result<void>());
        }
        return {};
    }

    const communicator& ranks_;
    const reader& from_;
    const vector<load_request>& requests_;
    vector<optional<load_box>> boxes_;
    const load_options& options_;
    vector<load_share> shares_;
    bool has_parts_ = false;
    communicator ranks_alone_;
    vector<owned_part> parts_; ///< of this rank
    vector<uint64_t> ends_;    ///< of each share: where it ends in the tensor, its sum, and whether it was read
    uint64_t bytes_read_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
