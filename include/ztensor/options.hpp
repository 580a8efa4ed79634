// SPDX-License-Identifier: MIT
//
// Everything a caller may choose: structs of defaulted fields with fluent setters, of which each limit says what it
// stops; and whose threads the library works on.
#ifndef ZTENSOR_OPTIONS_HPP
#define ZTENSOR_OPTIONS_HPP

#include <ztensor/format.hpp>
#include <ztensor/version.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

template <class T>
class result;

namespace detail {
struct foreign_file;
struct hdf5_importer; // in hdf5.hpp
struct imported;
struct importer_access;
struct opened_file;

using import_function = result<imported> (*)(const foreign_file& file);
} // namespace detail

/// What reads files of a format that the library itself does not read. Made by adaptors, such as <ztensor/hdf5.hpp>.
class importer {
    friend struct detail::hdf5_importer;
    friend struct read_options;

    explicit importer(detail::import_function import) noexcept : import_(import) {}
    detail::import_function import_;
};

/// How a file's bytes are reached. Views look at a mapping of the file. Everything that copies, decodes, verifies,
/// converts or unpacks reads positionally into memory of its own or of the caller, in every mode, unless the caller
/// promises that the file does not change: read_options::stable_file(). So a file that becomes shorter meanwhile is
/// errc::file_changed, one that is rewritten is read as it is then (digest_mismatch, where it has digests and they are
/// checked), one that grows or is replaced by rename is read as before, and a disk that fails is errc::io_error.
enum class io_mode : std::uint8_t {
    /// Mapped where the system can and the file does not lie on a network file system (there positional reads, many at
    /// once), else positional reads; reader::is_mapped() says which.
    automatic,
    /// Mapped, or errc::unmappable. Of a file that others change, views show the change, and touching bytes of a view
    /// that the file has lost, or that the disk fails to give, ends the process (SIGBUS, or an access violation).
    mapped,
    /// Positional reads only: no views, and nothing that others do to the file is more than an error.
    positional,
};

/// Where the data shards of a model of version 2 are looked for. SPEC.md section 13.9.
enum class shard_lookup : std::uint8_t {
    /// Nowhere: what lies in this file can be read, other data is errc::shard_missing when it is read.
    none,
    /// Beside the root by their names, `<stem>-<name>.zt` and `blobs/<algorithm>/<hex>`: a few looks for each shard,
    /// and
    /// no file is read to find one.
    beside,
    /// Then, for those that are not there, among all files of the folder that have their size, by what they hold: each
    /// of these is read and hashed once, however large it is.
    by_digest,
};

/// Options of reader::open and its siblings.
struct read_options {
    read_options& mode(io_mode value) noexcept { return mode_ = value, *this; }
    /// The caller's promise that the file does not change while it is open: large tensors of a mapped file are then
    /// copied, converted, verified and decoded where they lie in the mapping, which takes less time. It holds for all
    /// files that are opened with these options, shards included; io_mode::positional and other byte sources stay as
    /// they are. Where the promise is broken: touching bytes that the file has lost ends the process, unless that is
    /// noticed before (errc::file_changed); of a file that is rewritten old and new bytes may be mixed,
    /// also of bytes whose digest matched; one that grows or is replaced by rename is read as before. Where the disk
    /// fails, the process ends as well (SIGBUS), because there is no read that could report it. The index, and the
    /// indices of sparse objects, are read into memory before they are checked all the same.
    read_options& stable_file(bool value = true) noexcept { return stable_file_ = value, *this; }
    /// Reads past the system's cache, by many requests at once, where the file system can: for files that are read once
    /// and are larger than what the cache should hold. Nothing is viewed then, unless io_mode::mapped is asked for;
    /// what is in the cache already is read from the disk all the same.
    read_options& direct(bool value = true) noexcept { return direct_ = value, *this; }
    /// Asks the system to forget what was read, as soon as it was: the cache keeps what it held before, for others.
    /// What is small is read in whole pages each time.
    read_options& drop_behind(bool value = true) noexcept { return drop_behind_ = value, *this; }
    /// Whether reading, copying and exporting check the digest of the bytes that they hand on, where there is one.
    /// verify() always does; views never do.
    read_options& verify_digests(bool value) noexcept { return verify_digests_ = value, *this; }
    /// Threads that one call may read and decode a tensor on, the caller's included; 0, as many as the host runs at
    /// once. Only compressed data of half a MiB or more takes more than one, and what is read as it is into new memory
    /// of 8 MiB or more, whose pages a second one asks the system for; what is as large and not in the system's cache
    /// is read by 16, however many are asked for. Threads that wait for a byte source whose requests take time are not
    /// counted: see byte_source::preferences(). With 1 none is ever started.
    read_options& threads(unsigned value) noexcept { return threads_ = value, *this; }
    /// Bytes of the index, 1 GiB unless lowered: it is copied into memory and parsed. Larger values count as 1 GiB; of
    /// an index of shards in JSON, values above 128 MiB count as these.
    read_options& max_manifest_bytes(std::uint64_t value) noexcept { return max_manifest_bytes_ = value, *this; }
    /// Objects in a file, or in an index of shards: stops an index of millions of empty things.
    read_options& max_objects(std::uint64_t value) noexcept { return max_objects_ = value, *this; }
    /// Components of one object, likewise.
    read_options& max_components_per_object(std::uint64_t value) noexcept {
        return max_components_per_object_ = value, *this;
    }
    /// Bytes that one component may decode to, and that one call may make of an object in all, 32 GiB unless changed:
    /// numbers converted to wider ones, indices widened, weights unpacked. Stops an honest decompression bomb (4 KiB
    /// can hold 128 MiB of zeros), one of quantized weights (1 bit becomes 8 bytes), and a sparse file that claims
    /// exabytes. Checked before anything is allocated.
    read_options& max_decoded_bytes(std::uint64_t value) noexcept { return max_decoded_bytes_ = value, *this; }
    /// Opens files of other formats in which bytes belong to no tensor, where their format forbids that: holes between
    /// the tensors of a safetensors file, and bytes behind the last one. Such bytes are never read.
    read_options& allow_unclaimed_bytes(bool value) noexcept { return allow_unclaimed_bytes_ = value, *this; }
    /// Where reader::open() looks for shards; by their names beside the file unless told otherwise.
    read_options& shards(shard_lookup value) noexcept { return shards_ = value, *this; }
    /// Follows every symbolic link in the folder of a model whose data lies in several files: shards, the files of a
    /// folder or of an index, external data of ONNX. Unless told otherwise such a file may be a link to another one in
    /// that folder, to one in the directory that the link of the file which was opened leads to, or to one in the
    /// `blobs` of a Hugging Face cache that the folder is a snapshot in; everything else is errc::name_invalid. Names
    /// that files give are never absolute and never lead out by "..".
    read_options& follow_links(bool value = true) noexcept { return follow_links_ = value, *this; }
    /// Refuses what a valid file may be and no careful writer makes, for programs that check untrusted files. When the
    /// file is opened: an index in another form than writers give it (strict_encoding), names that are not sorted
    /// (strict_order), bytes between the blobs that are no padding of zeros (strict_gap), two components with the same
    /// bytes (strict_alias). When sparse objects are read: columns of a row, or coordinates, that do not rise
    /// (strict_order).
    read_options& strict(bool value = true) noexcept { return strict_ = value, *this; }
    /// Lets open_any() open files of a further format, too: with hdf5() of <ztensor/hdf5.hpp> HDF5 files and Keras
    /// archives, as open_hdf5() does.
    read_options& importer(ztensor::importer value) noexcept {
        importer_ = value.import_;
        return *this;
    }

    // What was chosen.

    [[nodiscard]] io_mode mode() const noexcept { return mode_; }
    [[nodiscard]] bool is_direct() const noexcept { return direct_; }
    [[nodiscard]] bool drops_behind() const noexcept { return drop_behind_; }
    [[nodiscard]] bool verify_digests() const noexcept { return verify_digests_; }
    [[nodiscard]] unsigned threads() const noexcept { return threads_; }
    [[nodiscard]] std::uint64_t max_manifest_bytes() const noexcept { return max_manifest_bytes_; }
    [[nodiscard]] std::uint64_t max_objects() const noexcept { return max_objects_; }
    [[nodiscard]] std::uint64_t max_components_per_object() const noexcept { return max_components_per_object_; }
    [[nodiscard]] std::uint64_t max_decoded_bytes() const noexcept { return max_decoded_bytes_; }
    [[nodiscard]] bool allow_unclaimed_bytes() const noexcept { return allow_unclaimed_bytes_; }
    [[nodiscard]] bool follows_links() const noexcept { return follow_links_; }
    [[nodiscard]] shard_lookup shards() const noexcept { return shards_; }
    [[nodiscard]] bool is_stable_file() const noexcept { return stable_file_; }
    [[nodiscard]] bool is_strict() const noexcept { return strict_; }

private:
    friend struct detail::importer_access;

    io_mode mode_ = io_mode::automatic;
    bool direct_ = false;
    bool drop_behind_ = false;
    bool verify_digests_ = true;
    unsigned threads_ = 0;
    std::uint64_t max_manifest_bytes_ = std::uint64_t{1} << 30;
    std::uint64_t max_objects_ = std::uint64_t{1} << 24;
    std::uint64_t max_components_per_object_ = 4096;
    std::uint64_t max_decoded_bytes_ = std::uint64_t{1} << 35;
    bool allow_unclaimed_bytes_ = false;
    bool follow_links_ = false;
    shard_lookup shards_ = shard_lookup::beside;
    bool stable_file_ = false;
    bool strict_ = false;
    detail::import_function importer_ = nullptr;
};

namespace detail {

/// For what opens files of other formats.
struct importer_access {
    [[nodiscard]] static import_function of(const read_options& options) noexcept { return options.importer_; }
};

} // namespace detail

/// The format version to write. What a version can't express is refused by name, before anything of it is written.
enum class format_version : std::uint8_t { v0_1, v1_1, v1_2, v2 };

/// What a power cut may do to a file that is written. A process that ends, however it ends, harms nothing at any level.
enum class sync_level : std::uint8_t {
    /// Nothing waits for the disk. After a power cut soon after finish() the target may be the old file, the new one,
    /// an empty one, or one with holes of zeros: XFS and others may store the rename before the bytes.
    none,
    /// The bytes are on the disk before the file gets its name: after a power cut the target is the complete old file
    /// or the complete new one; which of them is not known.
    atomic,
    /// Besides, finish() waits for the directory: once it has returned, a power cut leaves the new file.
    durable,
};

/// How the target of a writer comes to be.
///
/// On NFS a rename whose answer gets lost may be reported as failed although it happened. Over quota, full disks and
/// lost servers may only show when the file is synced or closed, which is why no sync_level skips the close.
/// A file larger than the process may write (RLIMIT_FSIZE) is the error EFBIG only where the program ignores SIGXFSZ.
///
/// A file that is being written is locked (flock; on Windows LockFileEx and share modes). The lock is the process's and
/// ends with it, or when its work is done, whatever children it has. Where a file system knows no locks, there are
/// none. A process that was forked off writes and removes nothing of its parent's file.
enum class publish_mode : std::uint8_t {
    /// Everything goes to a new file in the target's directory: one without a name where the system has such
    /// (O_TMPFILE), which vanishes if the process dies, else `.ztensor-<16 hex digits>.tmp`. finish() syncs that file,
    /// closes it, renames it over the target and syncs the directory, as far as sync_level says. At every moment, and
    /// after the end of the process at any moment, the target is the complete old file or the complete new one. What
    /// was written is removed when anything fails or the writer is dropped; only a process that is killed may leave a
    /// temporary file behind, which nothing ever reads, and which remove_abandoned() sweeps away.
    ///
    /// Permission bits, owner, group and the access control list (POSIX ACL, macOS ACL) of the replaced file, as they
    /// are when finish() is called, are kept as far as the process may set them; what it may not set costs permissions,
    /// so that only those can read the new file who could read the old one. On Windows the directory's ACL applies. A
    /// target that is a symbolic link stays one: the file it leads to is replaced, unless it is a stranger's link in a
    /// folder such as /tmp (as fs.protected_symlinks has it). Not kept: set-user-ID and its like,
    /// other extended attributes, times, and other hard links, which go on leading to the old file.
    replace,

    /// Written under its own name, for places where files can't be renamed, such as some FUSE and SMB mounts.
    /// Everything about the file but its content stays: owner, permissions, links. To append and to edit, which change
    /// no old byte then, is as safe as by the other way, with recover(). A new file is weaker: an existing one loses
    /// its content when the first MiB is written, readers see an unfinished file, and a process that is killed leaves
    /// one. When anything fails or the writer is dropped, a file that it created is removed, and one that was there
    /// before is emptied (unless it was closing that failed). finish() syncs the file, and the directory if the file
    /// is new. A second writer in place of the same file is refused: errc::busy. If the file was removed or another
    /// one was put in its place meanwhile, finish() says errc::file_changed, and nothing is done to the other.
    in_place,
};

/// Options of writer::create and its siblings.
struct write_options {
    /// Version 2 writes its canonical form, SPEC.md section 13: the same tensors give the same bytes, those of the
    /// reference's writer. What follows asks for something else: alignment_bytes(), any_order() and shard_bytes(), and
    /// of single tensors store::zstd() and store::digest(). Blobs of the same bytes are stored once, unless the sink is
    /// the caller's own or a file that was there before (publish_mode::in_place), which can't be read back; and but for
    /// tensors in pieces, and compressed ones. Names of objects and components must be in Normalization Form C.
    write_options& version(format_version value) noexcept { return version_ = value, *this; }
    /// Alignment of every blob: a power of two to 1 GiB. At least, and unless told otherwise, 64: 4096 lets consumers
    /// map or advise single tensors. In version 2 at least 4,096, and unless told otherwise 65,536.
    write_options& alignment_bytes(std::uint64_t value) noexcept { return alignment_bytes_ = value, *this; }
    /// Version 2: objects come in any order, with names in any form. Unless this is asked for, their names must rise,
    /// byte by byte, and be in Unicode's Normalization Form C, as canonical form has it.
    write_options& any_order(bool value = true) noexcept { return any_order_ = value, *this; }
    /// For sharded_writer, which says what it means before version 2. Version 2, by writer::create alone: all blobs go
    /// to shards of at most so many bytes, unless a single blob takes more, beside the file: for "model.zt", which holds
    /// their table, "model-<token>-00001.zt" and so on, new files with the names, the lock and the end of old ones that
    /// sharded_writer has. The table has digests of whole shards of this algorithm, xxh3 or sha256 (to sign the root is
    /// then to sign all). 0: no shards.
    write_options& shard_bytes(std::uint64_t most_bytes, digest of_shards = digest::xxh3) noexcept {
        return shard_bytes_ = most_bytes, shard_digest_ = of_shards, *this;
    }
    write_options& publish(publish_mode value) noexcept { return publish_ = value, *this; }
    /// What finish() waits for; durable unless told otherwise.
    write_options& sync(sync_level value) noexcept { return sync_ = value, *this; }
    /// The same in short: durable, or none.
    write_options& sync(bool value) noexcept { return sync(value ? sync_level::durable : sync_level::none); }
    /// How many threads compress at once, the caller's among them: 0 means as many as the host runs, 1 starts none.
    /// What is written does not depend on it; memory for each is about 6 MiB. And unless it is 1, small tensors, those
    /// with digests, and large ones that lie otherwise in memory than in the file, modulo 32, are gathered in three
    /// buffers of 1 MiB, which another thread writes into the file from its fifth MiB on (not into shards, nor past the
    /// system's cache). The caller's own memory is not read after a call has returned.
    write_options& threads(unsigned value) noexcept { return threads_ = value, *this; }
    /// Past the system's cache (O_DIRECT), for a file that will not be read soon: what is cached of other files stays,
    /// and with sync() it may be faster, with sync(false) it is slower. Takes a buffer of 8 MiB, through which all goes
    /// that is not aligned to 4 KiB in memory. Without effect where the system or the file system can't.
    write_options& direct(bool value) noexcept { return direct_ = value, *this; }
    /// Bytes of the index, 1 GiB unless lowered: no reader takes more, so that larger values count as 1 GiB. An object
    /// that might not fit any more, by a few hundred bytes, is refused before anything of it is written.
    write_options& max_manifest_bytes(std::uint64_t value) noexcept { return max_manifest_bytes_ = value, *this; }
    /// Components of one object: as many as a reader takes unless it is told otherwise. Where this is raised,
    /// read_options::max_components_per_object has to be.
    write_options& max_components_per_object(std::uint64_t value) noexcept {
        return max_components_per_object_ = value, *this;
    }

    // What was chosen.

    [[nodiscard]] format_version version() const noexcept { return version_; }
    [[nodiscard]] std::optional<std::uint64_t> alignment_bytes() const noexcept { return alignment_bytes_; }
    [[nodiscard]] bool is_any_order() const noexcept { return any_order_; }
    [[nodiscard]] std::uint64_t shard_bytes() const noexcept { return shard_bytes_; }
    [[nodiscard]] digest shard_digest() const noexcept { return shard_digest_; }
    [[nodiscard]] publish_mode publish() const noexcept { return publish_; }
    [[nodiscard]] sync_level sync() const noexcept { return sync_; }
    [[nodiscard]] unsigned threads() const noexcept { return threads_; }
    [[nodiscard]] bool direct() const noexcept { return direct_; }
    [[nodiscard]] std::uint64_t max_manifest_bytes() const noexcept { return max_manifest_bytes_; }
    [[nodiscard]] std::uint64_t max_components_per_object() const noexcept { return max_components_per_object_; }

private:
    format_version version_ = format_version::v1_2;
    std::optional<std::uint64_t> alignment_bytes_;
    bool any_order_ = false;
    std::uint64_t shard_bytes_ = 0; ///< 0: no shards
    digest shard_digest_ = digest::xxh3;
    publish_mode publish_ = publish_mode::replace;
    sync_level sync_ = sync_level::durable;
    unsigned threads_ = 0;
    bool direct_ = false;
    std::uint64_t max_manifest_bytes_ = std::uint64_t{1} << 30;
    std::uint64_t max_components_per_object_ = 4096;
};

/// How far a plan, or reader::verify(), is.
struct load_progress {
    std::uint64_t bytes_done = 0;  ///< decoded, and in their place; or verified
    std::uint64_t bytes_total = 0; ///< of the whole call
    std::string_view name;         ///< of the tensor that was worked on last; "" at the end, and for whole shards
};

/// A function or callable object: bool(const load_progress&), where false cancels. Owned, as by std::function: copies
/// share the object.
class progress_function {
public:
    progress_function() noexcept = default;
    progress_function(bool (*function)(const load_progress&)) {
        if (function != nullptr) {
            own(function);
        }
    }
    template <class Callable,
              std::enable_if_t<std::is_class_v<std::remove_reference_t<Callable>> &&
                                   !std::is_base_of_v<progress_function, std::decay_t<Callable>> &&
                                   std::is_invocable_r_v<bool, std::decay_t<Callable>&, const load_progress&>,
                               int> = 0>
    progress_function(Callable&& callable) {
        own(std::forward<Callable>(callable));
    }

    [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }
    [[nodiscard]] bool operator()(const load_progress& now) const { return call_(object_.get(), now); }

private:
    template <class Callable>
    void own(Callable&& callable) {
        using owned = std::decay_t<Callable>;
        object_ = std::make_shared<owned>(std::forward<Callable>(callable));
        call_ = [](void* object, const load_progress& now) {
            return static_cast<bool>((*static_cast<owned*>(object))(now));
        };
    }

    std::shared_ptr<void> object_;
    bool (*call_)(void* object, const load_progress& now) = nullptr;
};

/// Options of load_plan::run() and read_all().
struct load_options {
    /// Threads that read and decode, the caller's included; 0, as many as the host runs at once, and at least 16 if the
    /// tensors are large and not in the system's cache, unless max_staging_bytes() is set. With 1 none is started.
    /// Threads that only wait for a byte source whose requests take time are not counted: how many there are says
    /// byte_source::preferences().
    load_options& threads(unsigned value) noexcept { return threads_ = value, *this; }
    /// Called on the thread that runs the plan and on no other: each time that it has brought some bytes to their place
    /// (with what all threads have done), ten times a second while it waits for bytes of a source that takes time,
    /// and once at the end of a plan that is carried out. Returns false to cancel; at the end its answer makes no
    /// difference. May throw, which ends the plan.
    load_options& progress(progress_function value) noexcept { return progress_ = std::move(value), *this; }
    /// Bytes that all threads together hold besides the destinations: small tensors that are read at once, blocks that
    /// are converted, and compressed frames, one or two for each thread. Unless set, as many as that takes. A frame
    /// that does not fit a thread's half share is limit_exceeded; below 1 MiB a thread fewer threads work. Not counted
    /// are frames of which only a part is wanted, and compressed elements to be converted to narrower numbers.
    load_options& max_staging_bytes(std::uint64_t value) noexcept { return max_staging_bytes_ = value, *this; }

    // What was chosen.

    [[nodiscard]] unsigned threads() const noexcept { return threads_; }
    [[nodiscard]] const progress_function& progress() const noexcept { return progress_; }
    [[nodiscard]] std::uint64_t max_staging_bytes() const noexcept { return max_staging_bytes_; }

private:
    unsigned threads_ = 0;
    progress_function progress_;
    std::uint64_t max_staging_bytes_ = ~std::uint64_t{0};
};

/// What a plan did.
struct load_report {
    std::uint64_t bytes_read = 0;    ///< of the file, gaps between small neighbours included
    std::uint64_t bytes_decoded = 0; ///< as they are stored, before conversion
    double seconds = 0;
};

// -- executor
//
// Whose threads the library works on: a pool of its own, started when it is first needed, or the caller's.

/// Threads of the caller's own: derive from it and hand it to use_executor(). Called from many threads at once.
///
/// The thread that calls the library always works along, and never waits for a task that has not begun. So an executor
/// may be busy, have a single thread, or call the library itself from its tasks, and nothing deadlocks.
///
/// A child process that is forked off has none of the parent's threads: the library works in it on the calling thread
/// alone. Readers that another thread was using at that moment must not be used in the child, which opens its own. If
/// it was forked off inside a call that several threads work for, such as by a byte_source, and returns to that call,
/// the library says so on stderr and ends the child by std::abort().
class executor {
public:
    executor() = default;
    executor(const executor&) = delete;
    executor& operator=(const executor&) = delete;
    virtual ~executor() = default;

    /// Calls run(context) once, on any thread, now or later, and answers true; or answers false and never calls it.
    /// `run` throws nothing. Must not throw itself, nor wait until another task has ended.
    [[nodiscard]] virtual bool submit(void (*run)(void* context), void* context) noexcept = 0;

    /// Into how many parts work is cut where the caller does not say: threads that may work at once, the caller's
    /// included. At least 1.
    [[nodiscard]] virtual unsigned concurrency() const noexcept = 0;
};

/// Threads for all calls of this process that start after this one, until another is set; null for the library's own
/// pool. `mine` is borrowed, and must outlive every call that found it and every task that it took. Calls on one thread
/// alone ask for none.
void use_executor(executor* mine) noexcept;

/// At most so many threads, the caller's included, work for one call on the library's own pool, whatever is asked for:
/// with 1 it starts none. 0, as at first: as many as the call asks for, and as many as the host runs at once where it
/// does not say. Threads that wait for a source whose requests take time count as well. Threads that run already are
/// kept, asleep.
void limit_pool(unsigned threads) noexcept;

namespace detail {

/// The one that is set.
[[nodiscard]] executor& current_executor() noexcept;
/// How many threads work for a call that wants `wanted` (0: it does not say), the caller's included.
[[nodiscard]] unsigned threads_for(unsigned wanted) noexcept;

} // namespace detail

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/os/resources_definitions.hpp>
#endif

#endif
