// SPDX-License-Identifier: MIT
//
// The importers that the compiled library has sources of their own for, each of which needs as much of the compiler's
// memory as the rest together.
#ifndef ZTENSOR_DETAIL_FOREIGN_IMPORTERS_HPP
#define ZTENSOR_DETAIL_FOREIGN_IMPORTERS_HPP

#include <ztensor/detail/foreign/importer.hpp>
#include <ztensor/result.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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
