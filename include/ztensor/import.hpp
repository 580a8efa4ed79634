// SPDX-License-Identifier: MIT
//
// Files of other formats. The way in: whatever is in them is found, viewed, read, verified and copied like what is in a
// .zt file; opening reads their header alone. The way out: what an open file holds as a file of another format, for
// programs that read no .zt. With CMake link to ztensor::import, which brings zlib along.
#ifndef ZTENSOR_IMPORT_HPP
#define ZTENSOR_IMPORT_HPP

#include <ztensor/copy.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/io.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <initializer_list>
#include <memory>
#include <type_traits>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

namespace detail {

/// Errors: as open_any().
result<reader> open_files(span<const file_path> paths, const read_options& options);

} // namespace detail

/// Opens whatever `path` leads to: a file of any format that the library reads (.zt of every version, and those of
/// container_kind; the first bytes say which, the name only where they can't; reader::container() tells), a folder, or
/// an index of shards ("....json", as Hugging Face writes it: {"weight_map": {name: file}}).
///
/// In a folder it opens the one index there, or else all files of the endings .zt, .safetensors, .sft, .gguf, .npy,
/// .npz, .onnx and those of PyTorch (.pt, .pth, .pth.tar, .ckpt, .bin, .jit, .pt2), in letters of any case, in the
/// order of their names; where there is none of these, with read_options::importer(hdf5()), those of .h5, .hdf5 and
/// .keras; where there is none of these either, files whose first bytes are those of such a format, whatever they are
/// called. They are one reader, under one set of names. The parts of a GGUF model are one file, which the first opens.
/// Everything that is wrong with them is one error with a sentence for each, of the code of the first. Where the names
/// of files in a folder without an index say that they are parts of one model, as model-00002-of-00003.safetensors
/// does, one that is missing is shard_missing.
///
/// An index decides which objects are of its model and in which file each is; the files lie in its folder or below
/// that. reader::skipped() lists what is left out of a set: of an index, objects that its files hold besides, each with
/// its file; of a folder, files of tensors that its index does not name, that are called otherwise than the others, or
/// that hold no tensors, as training_args.bin does.
///
/// Elements lie where they lie: view() works for those that the file holds as they are and that happen to be aligned,
/// else it says why not; read() always works. Component offsets behind the end of the file are those of elements that
/// are made when they are read (inflated, transposed, gathered) or that lie in another file. read_options::strict()
/// asks nothing of other formats: their importers are strict by themselves.
/// A pickle of PyTorch is read, never run: what it makes in ways that are not known is in reader::skipped(), and the
/// tensors in that are read. A pickle alone (.pkl, .pdparams) is read for NumPy's arrays in it.
/// An ONNX model's data may lie in other files, below its own folder, and a
/// constant of a graph in a node has its own name, with the path of the node in front where that is taken. The first
/// of several files of a GGUF model, NAME-00001-of-00003.gguf, opens all of them; a part that is missing, or is not the
/// one that its name says, is refused by its number. What symbolic links may lead to in place of one of these files,
/// and of those of a folder, read_options::follow_links() says. Errors: those of reader::open(); header_malformed,
/// json_malformed, zip_malformed, pickle_malformed, pickle_refused, unclaimed_bytes, not_built_in; shard_missing,
/// shard_mismatch (parts of GGUF); of a folder or index also file_not_found (no file, or one that is missing),
/// duplicate_key (a name in two files), stale_index (the index names a file for an object that is elsewhere or
/// nowhere), foreign_file (a folder of another kind, such as a SavedModel), name_invalid (a file that is not below the
/// folder, or a link that leads out of it), schema_type, schema_missing, manifest_too_large, and invalid_argument (a
/// folder of several models, by their indices or the names of their parts).
result<reader> open_any(const file_path& path, const read_options& options = {});
/// The files at these paths as one reader: any container of what file_path is made of. Errors: as for a folder.
template <class Paths, std::enable_if_t<!std::is_convertible_v<const Paths&, file_path>, int> = 0>
result<reader> open_any(const Paths& paths, const read_options& options = {}) {
    return detail::guard_memory([&] {
        std::vector<file_path> borrowed;
        for (const auto& each : paths) {
            borrowed.emplace_back(each);
        }
        return detail::open_files({borrowed.data(), borrowed.size()}, options);
    });
}
inline result<reader> open_any(std::initializer_list<file_path> paths, const read_options& options = {}) {
    return detail::open_files({paths.begin(), paths.size()}, options);
}
/// The same of a source of the caller's making: memory, an archive, a network store. `name` stands for the path: its
/// ending, where the first bytes don't say what the file is, and what the one tensor of a .npy file is called. The
/// shards of a .zt file are looked for beside that path, as of a file; those of a source whose requests take time are
/// the ones that it brings itself. Other files that belong to it (those of an index, whose name ends with ".json";
/// parts of GGUF; data of ONNX) are the ones that it brings by byte_source::open_beside(), or else those beside that
/// path. Errors: besides, invalid_argument for null.
result<reader> open_any(std::shared_ptr<const byte_source> source, const file_path& name,
                        const read_options& options = {});

/// What open_any() reads of one file of any format, with which another process opens it without reading: the header. It
/// is opened for that, and all that is wrong with it is an error. Errors: as open_any() has them for a file.
result<file_index> read_index(const file_path& path, const read_options& options = {});
/// The same of a source of the caller's making, and what stands for its path.
result<file_index> read_index(std::shared_ptr<const byte_source> source, const file_path& name,
                              const read_options& options = {});
/// Opens a file of any format of which the index is known, and checks it as open_any() does without reading it. Other
/// files that hold a part of it, such as shards and an ONNX model's data, are opened and read as by open_any(). Errors:
/// as reader::from_index() and open_any().
result<reader> open_any(std::shared_ptr<const byte_source> source, const file_path& name, const file_index& index,
                        const read_options& options = {});

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
#include <ztensor/detail/import/archives_definitions.hpp>
#include <ztensor/detail/import/folder_definitions.hpp>
#include <ztensor/detail/import/import_definitions.hpp>
#include <ztensor/detail/import/safetensors_definitions.hpp>
#include <ztensor/detail/transfer/export_definitions.hpp>
#endif

#endif
