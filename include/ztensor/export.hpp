// SPDX-License-Identifier: MIT
//
// The way out: what an open file holds as a file of another format, for programs that read no .zt.
#ifndef ZTENSOR_EXPORT_HPP
#define ZTENSOR_EXPORT_HPP

#include <ztensor/copy.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// Writes the dense tensors of `from` as a safetensors file at `path`. Tensors stand in the order of that format's own
/// library, widest type first and then by name, and the header, but for spaces at its end that bring the data to a
/// multiple of 64 bytes, is the text that it would write. Attributes of the file that are text become `__metadata__`,
/// sorted by key. What is compressed is decoded; digests are checked and left behind. Needs memory of a few MiB.
///
/// Errors, before anything is written: not_expressible for what that format has no words for (an object that is not
/// dense, unless floats_as() makes it so, complex128, a logical type that is unknown, an attribute of an object or one
/// that is not text, a tensor called `__metadata__`, a header of more than 100,000,000 bytes); duplicate_key if two
/// tensors get one name; name_invalid; invalid_argument (floats_as). Else cancelled, those of reading, and what the
/// sink says; then the old file at `path` is as it was.
result<void> export_safetensors(const reader& from, const file_path& path, const export_options& options = {});

/// Writes the dense tensors of `from` as NumPy's .npz: a ZIP archive of stored `.npy` files in the order of the reader,
/// their data at multiples of 64 bytes, with ZIP64 where a file or the archive needs it. Each `.npy` is byte for byte
/// what numpy.save writes. Every tensor is read twice, since its checksum stands before it.
///
/// Errors, before anything is written: not_expressible for what NumPy has no types for (bf16, 8-bit floats, logical
/// types that are unknown: floats_as() converts the first two) or no place for (an object that is not dense,
/// attributes, names that a ZIP archive or a path can't have); duplicate_key; invalid_argument. Else file_changed if a
/// tensor was another when it was read again, cancelled, those of reading, and what the sink says; then the old file at
/// `path` is as it was.
result<void> export_npz(const reader& from, const file_path& path, const export_options& options = {});

/// Writes one dense object as a `.npy` file: its name and attributes are left behind. Errors: as export_npz().
result<void> export_npy(const object_view& from, const file_path& path, const export_options& options = {});

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/transfer/export_definitions.hpp>
#endif

#endif
