// SPDX-License-Identifier: MIT
//
// Files of other formats as the same objects: whatever is in them is found, viewed, read, verified and copied like what
// is in a .zt file. Opening reads their header alone. With CMake link to ztensor::import, which brings zlib along.
#ifndef ZTENSOR_FOREIGN_HPP
#define ZTENSOR_FOREIGN_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>

#include <memory>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// Opens a file of any format that the library reads: .zt of every generation, and those of container_kind. The first
/// bytes say which; the name only where they can't. reader::container() tells.
///
/// Elements lie where they lie: view() works for those that the file holds as they are and that happen to be aligned,
/// else it says why not; read() always works. Component offsets behind the end of the file are those of elements that
/// are made when they are read (inflated, transposed, gathered) or that lie in another file. read_options::strict()
/// asks nothing of other formats: their importers are strict by themselves.
/// A pickle of PyTorch is read, never run; an ONNX model's data may lie in other files, below its own folder, and a
/// constant of a graph in a node has its own name, with the path of the node in front where that is taken. The first
/// of several files of a GGUF model, NAME-00001-of-00003.gguf, opens all of them; a part that is missing, or is not the
/// one that its name says, is refused by its number. What symbolic links may lead to in place of one of these files,
/// read_options::follow_links() says.
/// Errors: those of reader::open(); header_malformed, json_malformed, zip_malformed, pickle_malformed, pickle_refused,
/// unclaimed_bytes, not_built_in; shard_missing, shard_mismatch (parts of GGUF).
result<reader> open_any(const file_path& path, const read_options& options = {});
/// The same of a source of the caller's making: memory, an archive, a network store. `name` stands for the path: its
/// ending, where the first bytes don't say what the file is, and what the one tensor of a .npy file is called. Errors:
/// besides, invalid_argument for null.
result<reader> open_any(std::shared_ptr<const byte_source> source, const file_path& name,
                        const read_options& options = {});

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/import/archives_definitions.hpp>
#include <ztensor/detail/import/import_definitions.hpp>
#include <ztensor/detail/import/safetensors_definitions.hpp>
#endif

#endif
