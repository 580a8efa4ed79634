// SPDX-License-Identifier: MIT
//
// Which importer an archive is for. Defines what importers.hpp declares.
#ifndef ZTENSOR_DETAIL_FOREIGN_ARCHIVES_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_FOREIGN_ARCHIVES_DEFINITIONS_HPP

#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/foreign/hdf5_signature.hpp>
#include <ztensor/detail/foreign/importer.hpp>
#include <ztensor/detail/foreign/importers.hpp>
#include <ztensor/detail/foreign/npy.hpp>
#include <ztensor/detail/foreign/pt.hpp>
#include <ztensor/detail/foreign/pt_legacy.hpp>
#include <ztensor/detail/foreign/pt_program.hpp>
#include <ztensor/detail/foreign/pt_tar.hpp>
#include <ztensor/detail/foreign/zip.hpp>
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
