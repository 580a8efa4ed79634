// SPDX-License-Identifier: MIT
//
// Many processes, one model: opened once for all ranks of a communicator, and loaded so that each byte is read once.
// Only programs that include this header need an MPI library, of MPI-3: the CMake target ztensor::mpi links it.
#ifndef ZTENSOR_MPI_HPP
#define ZTENSOR_MPI_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/mpi/communicator.hpp>
#include <ztensor/detail/mpi/exchange.hpp>
#include <ztensor/detail/mpi/load.hpp>
#include <ztensor/detail/mpi/open.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/import.hpp>
#include <ztensor/io.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// What all ranks of an MPI communicator do together.
///
/// Every function that takes a communicator is collective: all ranks of it call it, in the same order. All of them get
/// a value, or all get the same error: that of the lowest rank that has one, which its sentence names. No rank waits
/// for one that failed; but one that was killed takes all others with it, which is what MPI does. All calls of MPI are
/// made on the thread that calls, so that MPI_THREAD_FUNNELED is enough; no call of MPI moves more than 1 GiB. A
/// communicator is only used during a call.
namespace mpi {

/// Opens whatever open_any() opens at `path`, on every rank: rank 0 opens and checks it, and sends what opening reads
/// to the others, which check it again and read nothing but the parts of a model that lie in other files than the one
/// that is named (shards of a root of version 2, data of an ONNX model, parts of a GGUF model). Of a folder or an index
/// of files, each file is opened so. Each rank opens the files by the paths that rank 0 found. Errors: as open_any();
/// file_changed if a rank finds another file of that path.
inline result<reader> open(MPI_Comm comm, const file_path& path, const read_options& options = {}) {
    return detail::guard_memory([&]() -> result<reader> {
        ZTENSOR_TRY_ASSIGN(const detail::communicator ranks, detail::communicator::of(comm));
        return detail::open_together(ranks, path, options);
    });
}

/// The same of a source of the caller's making on each rank, such as of an object store. `name` stands for the path, as
/// for open_any(). Errors: besides, invalid_argument for null.
inline result<reader> open(MPI_Comm comm, std::shared_ptr<const byte_source> source, const file_path& name,
                           const read_options& options = {}) {
    return detail::guard_memory([&]() -> result<reader> {
        ZTENSOR_TRY_ASSIGN(const detail::communicator ranks, detail::communicator::of(comm));
        return detail::open_together(ranks, std::move(source), name, options);
    });
}

/// One of several parts of a tensor: slice_of() makes it.
class part {
public:
    /// A range in each dimension.
    [[nodiscard]] span<const index_range> ranges() const& noexcept { return {ranges_, rank_}; }
    span<const index_range> ranges() const&& = delete;
    /// Dimensions of the part.
    [[nodiscard]] ztensor::shape shape() const noexcept {
        ztensor::shape dimensions;
        for (std::size_t i = 0; i < rank_; ++i) {
            dimensions.push_back(ranges_[i].end - ranges_[i].begin);
        }
        return dimensions;
    }
    /// For object_view::slice() and writer::put(). Borrowed.
    operator slice() const& noexcept { return ranges(); }

private:
    friend part slice_of(const ztensor::shape& dimensions, int rank, int size, std::size_t dimension) noexcept;

    index_range ranges_[max_rank] = {};
    std::size_t rank_ = 0;
};

/// What rank `rank` of `size` has of a tensor that is cut along one dimension: as many indices as the others, the first
/// ranks one more where they don't come out even, and none where there are fewer than ranks. All of it in the other
/// dimensions. Of a rank or dimension that there is not, nothing in any.
[[nodiscard]] inline part slice_of(const ztensor::shape& dimensions, int rank, int size,
                                   std::size_t dimension) noexcept {
    part made;
    made.rank_ = dimensions.rank();
    if (rank < 0 || rank >= size || dimension >= dimensions.rank()) {
        return made;
    }
    for (std::size_t i = 0; i < dimensions.rank(); ++i) {
        made.ranges_[i] = {0, dimensions[i]};
    }
    const auto number = static_cast<std::uint64_t>(rank);
    const std::uint64_t each = dimensions[dimension] / static_cast<std::uint64_t>(size);
    const std::uint64_t more = dimensions[dimension] % static_cast<std::uint64_t>(size);
    const std::uint64_t begin = number * each + (number < more ? number : more);
    made.ranges_[dimension] = {begin, begin + each + (number < more ? 1 : 0)};
    return made;
}

/// Which rank reads what.
enum class how : std::uint8_t {
    /// What the plans, the files and the hosts suggest.
    automatic,
    /// Each rank what it wants. Bytes that several ranks want are read by each.
    independent,
    /// All ranks want the same: each reads about as many bytes of it as the others, in one run, and broadcasts them, so
    /// that each byte is read once. A tensor that is compressed, or whose digest is checked, is read and decoded by one
    /// rank. Errors: also invalid_argument if they do not want the same.
    striped,
    /// Ranks want different parts, such as columns: each reads whole rows of what any of them wants, in one run, and
    /// sends every other its part of them, 16 MiB at a time, so that each byte is read once. Errors: also
    /// invalid_argument for destinations whose rows lie apart, and elements of which several share a byte;
    /// limit_exceeded for rows of more than 1 GiB.
    collective,
};

/// What load() did.
struct load_report {
    std::uint64_t bytes_read = 0;        ///< by this rank
    std::uint64_t bytes_read_in_all = 0; ///< by all ranks
    how used = how::independent;         ///< which was chosen
    double seconds = 0;
};

/// Runs the plan of each rank. A reader that open() gave, or one of the same files, is what the plans are of. What
/// load_plan says of destinations, digests and errors holds here; progress functions are called for what a rank reads
/// itself.
inline result<load_report> load(MPI_Comm comm, const load_plan& plan, how way = how::automatic,
                                const load_options& options = {}) {
    return detail::guard_memory([&]() -> result<load_report> {
        ZTENSOR_TRY_ASSIGN(const detail::communicator ranks, detail::communicator::of(comm));
        const double begin = MPI_Wtime();
        const reader& from = detail::load_plan_access::reader_of(plan);
        const std::vector<detail::load_request>& requests = detail::load_plan_access::requests_of(plan);
        std::vector<std::optional<detail::load_box>> boxes;
        ZTENSOR_TRY(ranks.agree(detail::guard_rank([&]() -> result<void> {
            ZTENSOR_TRY(plan.check());
            ZTENSOR_TRY_ASSIGN(boxes, detail::find_boxes(from, requests));
            return {};
        })));
        load_report report;
        if (way == how::automatic || way == how::striped) {
            ZTENSOR_TRY_ASSIGN(const bool is_same, detail::want_the_same(ranks, requests, boxes));
            if (way == how::striped && !is_same) {
                return detail::fail(errc::invalid_argument, "the ranks want different tensors or parts: a striped load "
                                                            "is of the same on every rank")
                    .by_caller();
            }
            if (way == how::automatic) {
                ZTENSOR_TRY_ASSIGN(const bool is_shared, detail::pays_to_share(ranks, from));
                way = !is_shared ? how::independent : is_same ? how::striped : how::collective;
            }
        }
        report.used = way;
        result<std::uint64_t> read = way == how::striped ? detail::load_striped(ranks, from, requests, boxes, options)
                                     : way == how::collective
                                         ? detail::load_exchange(ranks, from, requests, boxes, options).run()
                                         : detail::load_independently(ranks, plan, options);
        if (!read) {
            detail::clear_bools(requests);
            return std::move(read).error();
        }
        report.bytes_read = *read;
        ZTENSOR_TRY_ASSIGN(report.bytes_read_in_all, ranks.sum(*read));
        report.seconds = MPI_Wtime() - begin;
        return report;
    });
}

} // namespace mpi
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
