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
#include <ztensor/detail/mpi/shared_file.hpp>
#include <ztensor/detail/mpi/striped.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/import.hpp>
#include <ztensor/io.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
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
        return detail::open_together(ranks, source, name, options);
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
    /// that each byte is read once. A large tensor that is zstd, or has a CRC-32C, is cut at stored bytes: each of its
    /// ranks decodes the frames that end in its range, which it holds in memory until then; the sums of the ranges are
    /// combined, and every rank compares the result with the digest. A tensor with another digest (of version 2 all)
    /// or of which a blob is one frame is decoded by one rank; so are all that are compressed or have digests, if a
    /// rank sets load_options::max_staging_bytes(). Errors: also invalid_argument if they do not want the same.
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
                ZTENSOR_TRY_ASSIGN(
                    const bool is_shared,
                    detail::pays_to_share(ranks, from, is_same || detail::can_be_exchanged(requests, boxes)));
                way = !is_shared ? how::independent : is_same ? how::striped : how::collective;
            }
        }
        report.used = way;
        result<std::uint64_t> read =
            way == how::striped      ? detail::striped_load(ranks, requests, boxes).run(from, options)
            : way == how::collective ? detail::load_exchange(ranks, from, requests, boxes, options).run()
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

// -- shared memory

/// Tensors of which each host has one copy, in memory that all its ranks see: shared_load() makes it. Move-only, and
/// empty once moved from. All
/// ranks destroy it, in the same order with what they do together otherwise, and before MPI_Finalize(); the views are
/// gone then.
class shared_tensors {
public:
    /// How many there are.
    [[nodiscard]] std::size_t size() const noexcept { return memory_ != nullptr ? memory_->entries().size() : 0; }
    /// The name of the i-th, in the order in which they were asked for.
    [[nodiscard]] std::string_view name(std::size_t i) const noexcept { return memory_->entries()[i].name; }
    /// The bytes of the i-th, in the host's order, at a multiple of 64. No rank may write to them.
    [[nodiscard]] bytes_view bytes(std::size_t i) const noexcept { return memory_->bytes(memory_->entries()[i]); }
    /// Elements in row-major order. Errors: object_not_found; as component_view::check(); bad_bool.
    template <class T>
    result<span<const T>> view(std::string_view name) const {
        return detail::guard_memory([&]() -> result<span<const T>> {
            const detail::host_memory::entry* const found = memory_ != nullptr ? memory_->find(name) : nullptr;
            if (found == nullptr) {
                return detail::fail(errc::object_not_found, "no tensor {} was loaded", {detail::in_quotes(name)})
                    .in_object(name);
            }
            ZTENSOR_TRY_ASSIGN(const object_view object, from_.find(name));
            ZTENSOR_TRY_ASSIGN(const component_view data, object.data());
            ZTENSOR_TRY(data.template check<T>());
            const bytes_view elements = memory_->bytes(*found);
            if constexpr (std::is_same_v<T, bool>) {
                for (const std::byte each : elements) {
                    if (each > std::byte{1}) {
                        return detail::fail(errc::bad_bool, "a bool is neither 0 nor 1").in_object(name);
                    }
                }
            }
            return detail::as_checked_elements<T>(elements);
        });
    }
    /// Bytes of files that this rank read for it.
    [[nodiscard]] std::uint64_t bytes_read() const noexcept { return memory_ != nullptr ? memory_->bytes_read() : 0; }

private:
    friend result<shared_tensors> shared_load(MPI_Comm comm, const reader& from,
                                              span_argument<const std::string_view> names, const load_options& options);

    shared_tensors(reader from, std::unique_ptr<detail::host_memory> memory) noexcept
        : from_(std::move(from)), memory_(std::move(memory)) {}

    reader from_;
    std::unique_ptr<detail::host_memory> memory_;
};

/// Reads dense tensors into memory that the ranks of a host share (MPI_Win_allocate_shared), once for each host: every
/// rank of it reads about as much. All ranks name the same. Errors: as load_plan::run(); too_large_for_host, also for
/// a tensor of which only decoding tells the size; invalid_argument if ranks name different tensors.
inline result<shared_tensors> shared_load(MPI_Comm comm, const reader& from,
                                          span_argument<const std::string_view> names,
                                          const load_options& options = {}) {
    return detail::guard_memory([&]() -> result<shared_tensors> {
        ZTENSOR_TRY_ASSIGN(const detail::communicator ranks, detail::communicator::of(comm));
        auto memory = std::make_unique<detail::host_memory>();
        ZTENSOR_TRY(memory->load(ranks, from, names, options));
        return shared_tensors(from, std::move(memory));
    });
}
inline result<shared_tensors> shared_load(MPI_Comm comm, const reader& from,
                                          std::initializer_list<std::string_view> names,
                                          const load_options& options = {}) {
    return shared_load(comm, from, span<const std::string_view>(names.begin(), names.size()), options);
}

// -- writer

/// A .zt file that all ranks write together. Every rank writes elements at their places in one temporary file beside
/// the target, `.ztensor-<16 hex digits>.tmp`, and rank 0 gives it its name when all of it is on the disk: at every
/// moment the target is the complete old file or the complete new one, whatever becomes of a rank. A writer that fails
/// or is dropped leaves the old file and nothing else; one whose ranks are killed may leave the temporary file, which
/// remove_abandoned() sweeps away. Move-only. The communicator is used until finish(). Belongs to one thread of each
/// rank.
///
/// create(), plan(), collective_put() and finish() are collective. When one of them but collective_put() has failed,
/// every later call is errc::writer_closed.
class writer {
public:
    /// Starts a file of any version, which finish() will put at `path`. Rank 0's options count. A process that is to
    /// learn of a limit on the size of its files (RLIMIT_FSIZE) ignores SIGXFSZ. Errors: as ztensor::writer::create();
    /// invalid_argument for shards and publish_mode::in_place; io_error if a rank can't open what rank 0 created.
    static result<writer> create(MPI_Comm comm, const file_path& path, const write_options& options = {}) {
        return detail::guard_memory([&]() -> result<writer> {
            ZTENSOR_TRY_ASSIGN(const detail::communicator ranks, detail::communicator::of(comm));
            auto file = std::make_unique<detail::shared_file>(ranks, path, options);
            ZTENSOR_TRY(file->create());
            return writer(std::move(file));
        });
    }

    /// The attributes of the file itself, in place of those given before. Those of rank 0 count. Errors: writer_closed.
    result<void> attributes(ztensor::attributes values) {
        return with_file([&](detail::shared_file& file) { return file.set_attributes(std::move(values)); });
    }

    /// A dense tensor that is to be written, stored as `storage`, raw; `how` may name a logical type and a digest. All
    /// tensors are defined by every rank in the same order, or by rank 0 alone, whose attributes count. In version 2
    /// names must rise, unless write_options::any_order() is asked for. What is wrong with it plan() tells. Errors:
    /// writer_closed.
    result<void> define(std::string_view name, const shape& dimensions, dtype storage, const store& how = {},
                        const object_attributes& about = {}) {
        return with_file([&](detail::shared_file& file) {
            detail::planned_tensor tensor;
            tensor.name = name;
            tensor.dimensions = dimensions;
            tensor.storage = storage;
            tensor.how = how;
            if (about.get() != nullptr) {
                tensor.about = *about.get();
            }
            return file.define(std::move(tensor));
        });
    }
    /// The same of elements of type T.
    template <class T>
    result<void> define(std::string_view name, const shape& dimensions, const store& how = {},
                        const object_attributes& about = {}) {
        const detail::typed_bytes none = detail::typed_bytes_of(span<const T>());
        return detail::guard_memory([&] {
            return define(name, dimensions, none.storage, how.has_type() ? how : store(how).type(none.type), about);
        });
    }

    /// Fixes where every tensor lies. Nothing can be defined any more, and elements can be put. Errors: as
    /// ztensor::writer::add() for all tensors together; not_expressible for a tensor that is to be compressed;
    /// invalid_argument if a rank defined other tensors than rank 0.
    result<void> plan() {
        return with_file([](detail::shared_file& file) { return file.plan(); });
    }

    /// Writes elements of this rank's part of a tensor, in row-major order; a rank may put several parts. Not
    /// collective: other ranks write meanwhile. Each element is put once, by one rank. Digests: CRC-32C is combined
    /// from the parts. SHA-256 can't be, nor XXH3, which all tensors of version 2 have: such a tensor is put as a whole
    /// by one rank, or by collective_put(). Each run of bytes in the file is a call of the system: where runs are
    /// short, as those of columns are, collective_put() makes fewer calls.
    ///
    /// Errors, before anything is written: object_not_found, type_mismatch, size_mismatch, out_of_bounds,
    /// invalid_argument (another number of ranges than dimensions; a part of a tensor that has to be put as a whole),
    /// writer_closed. Else io_error, after which finish() fails on all ranks.
    template <class Elements>
    result<void> put(std::string_view name, const slice& where, const Elements& elements) {
        const detail::typed_bytes given = detail::typed_bytes_of(elements);
        return with_file([&](detail::shared_file& file) {
            return file.put(name, std::optional<slice>(where), given, width_bytes(given.storage));
        });
    }
    /// The same of all of it.
    template <class Elements>
    result<void> put(std::string_view name, const Elements& elements) {
        const detail::typed_bytes given = detail::typed_bytes_of(elements);
        return with_file(
            [&](detail::shared_file& file) { return file.put(name, std::nullopt, given, width_bytes(given.storage)); });
    }

    /// The same of a tensor whose parts on all ranks are all of it: collective. Ranks exchange parts, and each writes
    /// some rows as a whole, so that columns are written in pieces as large as rows are; a rank that has none gives an
    /// empty part. Any digest will do: a tensor with another than CRC-32C is written by one rank, a different one for
    /// each. Holds 16 MiB, or a row where that is more. Errors, the same on all ranks and before anything is written:
    /// as put(); blob_overlap, size_mismatch (elements that two ranks have, or none); invalid_argument if ranks name
    /// different tensors; limit_exceeded for rows of more than 1 GiB. Else io_error, after which finish() fails.
    template <class Elements>
    result<void> collective_put(std::string_view name, const slice& where, const Elements& elements) {
        const detail::typed_bytes given = detail::typed_bytes_of(elements);
        return with_file([&](detail::shared_file& file) {
            return file.collective_put(name, std::optional<slice>(where), given, width_bytes(given.storage));
        });
    }

    /// Every rank's elements reach the disk, as write_options::sync() says; then rank 0 checks that all of every tensor
    /// was put once, writes the index, and puts the file in the place of the old one. Errors: those of writing, of any
    /// rank; blob_overlap, size_mismatch (elements that two ranks put, or none), with a sentence for each tensor;
    /// manifest_too_large; not_durable.
    result<void> finish() {
        return with_file([](detail::shared_file& file) { return file.finish(); });
    }

private:
    explicit writer(std::unique_ptr<detail::shared_file> file) noexcept : file_(std::move(file)) {}

    template <class Work>
    result<void> with_file(const Work& work) {
        return detail::guard_memory([&]() -> result<void> {
            return file_ != nullptr ? work(*file_)
                                    : detail::fail(errc::writer_closed, "the writer was moved from").by_caller();
        });
    }

    std::unique_ptr<detail::shared_file> file_;
};

} // namespace mpi
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
