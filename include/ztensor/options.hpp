// SPDX-License-Identifier: MIT
//
// Everything a caller may choose: structs of defaulted fields with fluent setters. Each limit says what it stops.
#ifndef ZTENSOR_OPTIONS_HPP
#define ZTENSOR_OPTIONS_HPP

#include <ztensor/vocabulary.hpp>

#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// How a file's bytes are reached.
enum class io_mode : std::uint8_t {
    automatic,  ///< mapped where the system can, else positional reads; reader::is_mapped() says which
    mapped,     ///< mapped, or errc::unmappable. A file truncated while mapped faults the process when viewed
    positional, ///< positional reads only: no views, but I/O errors and truncation are ordinary errors
};

/// Options of reader::open and its siblings.
struct read_options {
    io_mode mode_ = io_mode::automatic;
    bool verify_digests_ = true;
    unsigned threads_ = 0;
    std::uint64_t max_manifest_bytes_ = std::uint64_t{1} << 30;
    std::uint64_t max_objects_ = std::uint64_t{1} << 24;
    std::uint64_t max_components_per_object_ = 4096;
    std::uint64_t max_decoded_bytes_ = std::uint64_t{1} << 35;

    read_options& mode(io_mode value) noexcept { return mode_ = value, *this; }
    /// Whether read() checks the digest of what it reads, where there is one. verify() always does.
    read_options& verify_digests(bool value) noexcept { return verify_digests_ = value, *this; }
    /// Threads that one call may read and decode a tensor on, the caller's included; 0, as many as the host runs at
    /// once. Only compressed data of half a MiB or more takes more than one. With 1 none is ever started.
    read_options& threads(unsigned value) noexcept { return threads_ = value, *this; }
    /// Bytes of the index, 1 GiB unless lowered: it is copied into memory and parsed. Larger values count as 1 GiB.
    read_options& max_manifest_bytes(std::uint64_t value) noexcept { return max_manifest_bytes_ = value, *this; }
    /// Objects in a file: stops an index of millions of empty things.
    read_options& max_objects(std::uint64_t value) noexcept { return max_objects_ = value, *this; }
    /// Components of one object, likewise.
    read_options& max_components_per_object(std::uint64_t value) noexcept {
        return max_components_per_object_ = value, *this;
    }
    /// Bytes that one component may decode to, 32 GiB unless changed. Stops an honest decompression bomb (4 KiB can
    /// hold 128 MiB of zeros) and a sparse file that claims exabytes. Checked before anything is allocated.
    read_options& max_decoded_bytes(std::uint64_t value) noexcept { return max_decoded_bytes_ = value, *this; }
};

/// The format version to write. What a version can't express is refused by name, before anything of it is written.
enum class format_version : std::uint8_t { v0_1, v1_1, v1_2 };

/// How the target of a writer comes to be.
///
/// On NFS a rename whose answer gets lost may be reported as failed although it happened. Over quota, full disks and
/// lost servers may only show when the file is synced or closed, which is why sync(false) doesn't skip the close.
/// A file larger than the process may write (RLIMIT_FSIZE) is the error EFBIG only where the program ignores SIGXFSZ.
enum class publish_mode : std::uint8_t {
    /// Everything goes to a new file `.ztensor-<16 hex digits>.tmp` in the target's directory. finish() syncs that
    /// file,
    /// closes it, renames it over the target and syncs the directory; with sync(false) it only closes and renames. At
    /// every moment, and after a crash at any moment, the target is the complete old file or the complete new one. The
    /// temporary is removed when anything fails or the writer is dropped; only a crash leaves one behind, and nothing
    /// ever reads it. A target that is a symbolic link stays one: the file it leads to is replaced. Permission bits are
    /// those of the file replaced; owner, ACL, extended attributes and other hard links are not kept.
    replace,

    /// Written under its own name, for places where files can't be renamed, such as some FUSE and SMB mounts. Weaker:
    /// an
    /// existing file loses its content when the writer is made, readers see an unfinished file, and a crash leaves one.
    /// When anything fails or the writer is dropped, a file that it created is removed, and one that was there before
    /// is
    /// emptied (unless it was closing that failed). finish() syncs the file, and the directory if the file is new.
    in_place,
};

/// Options of writer::create and its siblings.
struct write_options {
    format_version version_ = format_version::v1_2;
    std::uint64_t alignment_bytes_ = blob_alignment;
    publish_mode publish_ = publish_mode::replace;
    bool sync_ = true;
    unsigned threads_ = 0;
    bool direct_ = false;

    write_options& version(format_version value) noexcept { return version_ = value, *this; }
    /// Alignment of every blob: a power of two, 64 (the format's own) to 1 GiB. 4096 lets consumers map or advise
    /// single tensors.
    write_options& alignment_bytes(std::uint64_t value) noexcept { return alignment_bytes_ = value, *this; }
    write_options& publish(publish_mode value) noexcept { return publish_ = value, *this; }
    /// Whether finish() waits until file and directory are on the disk. Off: atomic, but not yet durable.
    write_options& sync(bool value) noexcept { return sync_ = value, *this; }
    /// How many threads compress at once, the caller's among them: 0 means as many as the host runs, 1 starts none.
    /// What is written does not depend on it; memory for each is about 6 MiB.
    write_options& threads(unsigned value) noexcept { return threads_ = value, *this; }
    /// Past the system's cache (O_DIRECT), for a file that nobody will read soon: what is cached of other files stays,
    /// and with sync() it may be faster, with sync(false) it is slower. Takes a buffer of 8 MiB, through which all goes
    /// that is not aligned to 4 KiB in memory. Without effect where the system or the file system can't.
    write_options& direct(bool value) noexcept { return direct_ = value, *this; }
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
