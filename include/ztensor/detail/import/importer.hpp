// SPDX-License-Identifier: MIT
//
// What an importer is given and gives, and the importers that a program holds.
#ifndef ZTENSOR_DETAIL_IMPORT_IMPORTER_HPP
#define ZTENSOR_DETAIL_IMPORT_IMPORTER_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/foreign_index.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/findings.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>

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

// -- importer
//
// What an importer is given, what it gives back, and how that becomes a reader.

/// A file that is to be imported. An importer reads its header through the source, and of anything else nothing.
struct foreign_file {
    std::shared_ptr<const byte_source> source;
    native_path path; ///< as it was given
    const read_options& options;
};

/// An importer's answer.
struct imported {
    container_kind kind = container_kind::zt;
    /// The file, or an assembled_source that starts with it: what the index's offsets count in.
    std::shared_ptr<const byte_source> source;
    model_draft index;                       ///< see foreign_index
    std::vector<digest_cover> digest_covers; ///< in any order; of blobs whose digest is of more than their own bytes
    std::vector<skipped_item> skipped;       ///< see foreign_index::skip()
    bool blobs_may_overlap = false;          ///< as views of one storage do; else only equal ranges may
};

/// Reads `size` bytes at `offset` of a header into memory of our own. Errors: truncated, if the file does not hold
/// them; out_of_memory; what the source says.
[[nodiscard]] ZTENSOR_COLD inline result<byte_buffer> read_header(const byte_source& source, std::uint64_t offset,
                                                                  std::uint64_t size) {
    if (!fits(offset, size, source.size())) {
        return fail(errc::truncated, "the file's header takes {} bytes from byte {} on, but the file has only {}",
                    {size, offset, source.size()});
    }
    byte_buffer bytes;
    if (!fits_address_space(size) || !bytes.allocate(static_cast<std::size_t>(size))) {
        return fail(errc::out_of_memory, "no memory for a header of {} bytes", {size});
    }
    ZTENSOR_TRY(source.read_at(offset, bytes.writable_bytes()));
    return bytes;
}

struct reader_maker {
    /// An open .zt file.
    [[nodiscard]] static result<reader> open(const foreign_file& file) {
        return reader::open_from(file.source, file.options, path_text(file.path), file.path);
    }
    /// What was imported of `file`, checked like a .zt file.
    [[nodiscard]] static result<reader> open(const foreign_file& file, imported made) {
        auto opened = std::make_shared<opened_file>();
        opened->file_bytes = file.source->size();
        opened->source = std::move(made.source);
        opened->options = file.options;
        opened->path = path_text(file.path);
        opened->index.container = made.kind;
        std::sort(made.digest_covers.begin(), made.digest_covers.end());
        opened->digest_covers = std::move(made.digest_covers);
        opened->skipped = std::move(made.skipped);
        opened->index.blobs_may_overlap = made.blobs_may_overlap;
        result<void> valid = guard_memory([&] { return open_foreign(*opened, std::move(made.index)); });
        return reader::opened_as(std::move(opened), std::move(valid));
    }
};

// -- importers
//
// The importers that the compiled library has sources of their own for, each of which needs as much of the compiler's
// memory as the rest together.

/// An archive: a checkpoint, if it has a pickle of the name that PyTorch gives it, or the weights of Keras, else one of
/// arrays.
[[nodiscard]] result<imported> import_zip(const foreign_file& file);

/// A checkpoint from before archives: pickles with the storages behind them.
[[nodiscard]] result<imported> import_pt_legacy(const foreign_file& file);

/// The same from before version 0.2: a tar archive of pickles.
[[nodiscard]] result<imported> import_pt_tar(const foreign_file& file);

/// Errors: file_too_small, manifest_out_of_bounds, manifest_too_large, header_malformed, json_malformed, not_built_in,
/// schema_type, schema_missing, duplicate_key, unknown_dtype, out_of_bounds, size_mismatch, blob_overlap,
/// unclaimed_bytes.
[[nodiscard]] result<imported> import_safetensors(const foreign_file& file);

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
