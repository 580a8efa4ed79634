// SPDX-License-Identifier: MIT
//
// Which importer an archive is for. Defines what importer.hpp declares.
#ifndef ZTENSOR_DETAIL_IMPORT_ARCHIVES_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_IMPORT_ARCHIVES_DEFINITIONS_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/npy.hpp>
#include <ztensor/detail/import/pt.hpp>
#include <ztensor/detail/import/pt_program.hpp>
#include <ztensor/detail/import/pt_tar.hpp>
#include <ztensor/detail/import/sniff.hpp>
#include <ztensor/detail/import/zip.hpp>
#include <ztensor/result.hpp>

#include <optional>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

ZTENSOR_COLD ZTENSOR_INLINE result<imported> import_zip(const foreign_file& file) {
    ZTENSOR_TRY_ASSIGN(const zip_directory directory, zip_directory::read(*file.source, file.options));
    if (const std::optional<std::string_view> folder = find_pt_folder(directory)) {
        return import_pt(file, directory, *folder, stem_of(path_text(file.path)));
    }
    if (const std::optional<std::string_view> folder = find_pt_program(directory)) {
        return import_pt_program(file, directory, *folder);
    }
    if (find_keras_weights(directory) != nullptr) {
        return file.options.hdf5_ != nullptr ? file.options.hdf5_(file) : refuse_hdf5(true);
    }
    return import_npz(file, directory);
}

ZTENSOR_COLD ZTENSOR_INLINE result<imported> import_pt_legacy(const foreign_file& file) {
    return pt_legacy_importer(file).import(stem_of(path_text(file.path)));
}

ZTENSOR_COLD ZTENSOR_INLINE result<imported> import_pt_tar(const foreign_file& file) {
    return pt_tar_importer(file).import(stem_of(path_text(file.path)));
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
