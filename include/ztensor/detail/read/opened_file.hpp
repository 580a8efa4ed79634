// SPDX-License-Identifier: MIT
//
// What every view of one open file shares: where its bytes come from, its validated manifest, and the caller's
// options. SPEC.md section 9.
#ifndef ZTENSOR_DETAIL_READ_OPENED_FILE_HPP
#define ZTENSOR_DETAIL_READ_OPENED_FILE_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/read.hpp>
#include <ztensor/detail/index/read_2.hpp>
#include <ztensor/detail/index/validate.hpp>
#include <ztensor/detail/index/validate_2.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/skipped_item.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What the digest of a blob covers, where that is not the blob: the whole entry of an archive that it lies in.
struct digest_cover {
    std::uint64_t blob_offset = 0;
    std::uint64_t blob_length = 0;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;

    friend bool operator<(const digest_cover& a, const digest_cover& b) noexcept {
        return a.blob_offset != b.blob_offset ? a.blob_offset < b.blob_offset : a.blob_length < b.blob_length;
    }
};

struct opened_file {
    std::shared_ptr<const byte_source> source; ///< may hold more than the file: see assembled_source
    std::uint64_t file_bytes = 0;              ///< of the file itself
    manifest index;
    read_options options;
    std::vector<digest_cover> digest_covers; ///< by offset and length; empty in .zt files
    std::vector<skipped_item> skipped;       ///< of files of other formats: what became no object
    std::string path;                        ///< for messages; empty for memory and user-defined sources
};

/// Both ends of the file -> where its manifest is.
[[nodiscard]] ZTENSOR_COLD inline result<manifest_location> find_manifest(const byte_source& source,
                                                                          std::uint64_t max_manifest_bytes) {
    constexpr std::uint64_t manifest_bytes_ceiling = std::uint64_t{1} << 30;
    const std::uint64_t size = source.size();
    std::byte head[head_bytes];
    std::byte tail[tail_bytes];
    const span<std::byte> start(head, static_cast<std::size_t>((std::min<std::uint64_t>)(size, head_bytes)));
    ZTENSOR_TRY(source.read_at(0, start));
    ZTENSOR_TRY_ASSIGN(const container kind, identify_container(start, size));
    const span<std::byte> end(tail, static_cast<std::size_t>((std::min<std::uint64_t>)(size, tail_bytes_of(kind))));
    ZTENSOR_TRY(source.read_at(size - end.size(), end));
    return locate_manifest(kind, end, size, (std::min)(max_manifest_bytes, manifest_bytes_ceiling));
}

/// The manifest's bytes in memory of our own: a file changed underneath can't change what was validated.
[[nodiscard]] ZTENSOR_COLD inline result<void> copy_index(const byte_source& source, const manifest_location& at,
                                                          manifest& index) {
    if (!index.index.allocate(static_cast<std::size_t>(at.length), pattern::reach_bytes)) {
        return fail(errc::out_of_memory, "no memory for a manifest of {} bytes", {at.length});
    }
    advise_huge_pages(index.index.data(), index.index.size());
    return source.read_at(at.offset, index.index.writable_bytes());
}

[[nodiscard]] ZTENSOR_COLD inline result<void> read_manifest(const byte_source& source, const manifest_location& at,
                                                             const read_options& options, manifest& index) {
    manifest_reader reader(index, options, at.offset);
    switch (at.kind) {
    case container::zt_0_1:
        return reader.read_0_1();
    case container::zt_1_0_or_cut_off:
        return is_manifest_1_0(index.bytes()) ? reader.read_1_0() : missing_footer(source.size());
    default:
        return reader.read_1();
    }
}

/// The manifest is the one that the footer of version 2 digested. Errors: manifest_damaged, unsupported_digest.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_manifest_hash(const manifest_location& at, bytes_view index) {
    ZTENSOR_TRY(require_xxh3());
    if (xxh3_of(index) == at.hash) {
        return {};
    }
    return fail(errc::manifest_damaged, "the manifest's XXH3 is not the one that the footer gives").at(at.offset);
}

/// Version 2. Ranges of shards are those of the row that read_2.hpp makes of the files.
[[nodiscard]] ZTENSOR_COLD inline result<void> open_container_2(opened_file& opened, const manifest_location& at) {
    ZTENSOR_TRY(check_manifest_hash(at, opened.index.bytes()));
    manifest_reader_2 reader(opened.index, opened.options, at.offset, opened.file_bytes);
    ZTENSOR_TRY(reader.read());
    return manifest_validator_2(opened.index, reader.row_end()).validate();
}

[[nodiscard]] ZTENSOR_COLD inline result<void> open_container_1(opened_file& opened, const manifest_location& at) {
    ZTENSOR_TRY(read_manifest(*opened.source, at, opened.options, opened.index));
    return manifest_validator(opened.index, at.offset).validate();
}

/// Fills `opened` from its source: both ends, the manifest, every rule that needs no data. No byte of a blob is read.
[[nodiscard]] ZTENSOR_COLD inline result<void> open_container(opened_file& opened) {
    const byte_source& source = *opened.source;
    ZTENSOR_TRY_ASSIGN(const manifest_location at, find_manifest(source, opened.options.max_manifest_bytes_));
    if (at.is_data_shard) { // there is nothing in it that it knows of
        opened.index.generation = generation::v2;
        opened.index.is_data_shard = true;
        return {};
    }
    ZTENSOR_TRY(copy_index(source, at, opened.index));
    return at.kind == container::zt_2 ? open_container_2(opened, at) : open_container_1(opened, at);
}

/// The same of a file of another format: `opened` has its source, what kind it is, and the index that was made of its
/// header, as 1.2 would have it. Ranges are those of the source. What strict() refuses, an importer does.
[[nodiscard]] ZTENSOR_COLD inline result<void> open_foreign(opened_file& opened) {
    const std::uint64_t size = opened.source->size();
    opened.index.alignment_bytes = 1;
    ZTENSOR_TRY(manifest_reader(opened.index, opened.options, size).read_1());
    opened.index.version = {}; // which is ours
    return manifest_validator(opened.index, size).validate();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
