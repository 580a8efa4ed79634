// SPDX-License-Identifier: MIT
//
// HDF5 files (.h5, .hdf5; those of Keras, .keras archives too) as the same objects, read through libhdf5. Only programs
// that include this header need libhdf5, from 1.10 on: the CMake target ztensor::hdf5 links it.
//
// libhdf5 is not hardened against hostile files: it has a record of memory errors in files that were made to break it.
// Read files of strangers in a process that has nothing to lose.
#ifndef ZTENSOR_HDF5_HPP
#define ZTENSOR_HDF5_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/hdf5/import_hdf5.hpp>
#include <ztensor/detail/hdf5/library.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>

#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

namespace detail {

/// What hdf5() leads to.
struct hdf5_importer {
    [[nodiscard]] static importer get() noexcept { return importer(&import); }

    ZTENSOR_COLD static result<imported> import(const foreign_file& file) { return import_hdf5(file); }

    ZTENSOR_COLD static result<reader> open(const foreign_file& file) {
        result<imported> made = import_hdf5(file);
        return made ? reader_maker::open(file, *std::move(made))
                    : result<reader>(std::move(made).error().in_file(path_text(file.path)));
    }
};

} // namespace detail

/// For read_options::importer(): lets open_any() open HDF5 files, too. Link libhdf5.
[[nodiscard]] inline importer hdf5() noexcept {
    return detail::hdf5_importer::get();
}

/// Opens an HDF5 file, or a .keras archive with one in it. Datasets of numbers are objects called by their paths, such
/// as "layers/dense/vars/0"; a dataset that several links lead to is there under each name, with the same bytes.
/// Attributes of datasets are those of objects; attributes of the root group are those of the file, and those of other
/// groups too, under keys such as "model_weights/layer_names". Everything else is in reader::skipped(): text, records,
/// references, lists of varying length, links that lead out of the file or nowhere, and what this libhdf5 can't open,
/// such as types of a newer one, and chunks compressed by a filter that it does not have, by its number and name.
///
/// Integers and floats of either byte order, h5py's bools (bool) and complex numbers; bfloat16 and the 8-bit floats as
/// types of their own, or as Keras writes them: opaque, with an attribute "dtype" that names them, or (bfloat16) in a
/// file with the attribute "keras_version". Opaque elements of which nothing says anything are bytes, with a last
/// dimension more. Enumerations are their integers.
///
/// What is contiguous lies where it lies in the file: view() works as for other formats. The rest (chunked, compressed,
/// compact) is read by libhdf5 in the parts that are asked for, behind the end of the file as open_any() says.
/// Elements in one other file are read where that lies below the folder of this one, and skipped elsewhere.
///
/// libhdf5 reads through our own source of the file; it locks no file, and opens none. All calls of it by this library,
/// from any thread, are made one at a time under one lock, hdf5_lock, and its handler of errors is set aside for each
/// call and put back. Nothing else of its global state is touched.
/// Errors: those of reader::open() for the file; foreign_file (neither of both), header_malformed (what libhdf5
/// refuses, in its own words), zip_malformed, limit_exceeded (max_objects counts links), manifest_too_large,
/// shape_overflow, truncated, not_built_in (a deflated archive without zlib). Reading the elements fails with
/// header_malformed where libhdf5 can't read them, and with limit_exceeded.
inline result<reader> open_hdf5(const file_path& path, const read_options& options = {}) {
    return detail::guard_memory([&]() -> result<reader> {
        ZTENSOR_TRY_ASSIGN(std::shared_ptr<const byte_source> source, detail::open_source(path, options));
        return detail::hdf5_importer::open({std::move(source), path.native(), options});
    });
}
/// The same of a source of the caller's making, which libhdf5 then reads from while hdf5_lock is held. `name` stands
/// for the path in messages. Errors: besides, invalid_argument for null.
inline result<reader> open_hdf5(std::shared_ptr<const byte_source> source, const file_path& name,
                                const read_options& options = {}) {
    if (source == nullptr) {
        return detail::no_source();
    }
    return detail::guard_memory([&] {
        return detail::hdf5_importer::open({std::move(source), name.native(), options});
    });
}

/// Held while this library calls libhdf5. A program that calls libhdf5 itself, from another thread, and whose libhdf5
/// is not thread-safe (H5is_library_threadsafe), holds it meanwhile, and calls nothing of this library that reads HDF5.
class hdf5_lock {
public:
    hdf5_lock() noexcept = default;

private:
    detail::hdf5_hold held_;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
