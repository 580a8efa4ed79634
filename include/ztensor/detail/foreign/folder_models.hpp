// SPDX-License-Identifier: MIT
//
// What is said of a folder that is no set of files: of several models, or of none.
#ifndef ZTENSOR_DETAIL_FOREIGN_FOLDER_MODELS_HPP
#define ZTENSOR_DETAIL_FOREIGN_FOLDER_MODELS_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/foreign/numbered_files.hpp>
#include <ztensor/detail/os/directory.hpp>
#include <ztensor/error.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Names of files, in quotes and after commas; not all of very many.
[[nodiscard]] ZTENSOR_COLD inline std::string told_names(const std::vector<native_path>& names) {
    constexpr std::size_t most_told = 20;
    std::string all;
    for (std::size_t i = 0; i < (std::min)(names.size(), most_told); ++i) {
        all += (i == 0 ? "" : ", ") + quote(path_text(names[i]));
    }
    return names.size() > most_told ? all + ", ..." : all;
}

/// A folder of several indices.
[[nodiscard]] ZTENSOR_COLD inline error several_indices(const std::vector<native_path>& indices) {
    return fail(errc::invalid_argument, "the folder holds several models, by the indices {}: open one of these",
                {told_names(indices)});
}

/// Files of which `why` says that objects of one name are in several.
[[nodiscard]] ZTENSOR_COLD inline error several_models(const std::vector<native_path>& files, const error& why) {
    return fail(why.code(), "the folder holds several models, or one in several files, {}: open one of them. {}",
                {told_names(files), why.sentence()})
        .in_file(why.path());
}

/// Whether the files of a folder without an index are one model, as far as their names tell. Errors: those of
/// numbered_files::check().
[[nodiscard]] ZTENSOR_COLD inline result<void> check_parts(const std::vector<native_path>& files) {
    numbered_files parts;
    for (const native_path& each : files) {
        parts.add(path_text(each));
    }
    return parts.check();
}

/// A folder, at `path`, without files of a model; perhaps they are in folders below it. `names` is what is in it, in
/// order, and `is_of_model` tells names of such files.
template <class Predicate>
[[nodiscard]] ZTENSOR_COLD error no_model_in(const directory& folder, const native_path& path,
                                             const std::vector<native_path>& names, const Predicate& is_of_model) {
    std::vector<native_path> below;
    for (const native_path& each : names) {
        const result<file_status> status = folder.status(each);
        const bool is_link = !folder.os().link_target(folder.place(), each).failure;
        if (!status || status->kind != file_kind::other || is_link) {
            continue;
        }
        const result<directory> opened = directory::open(joined_path(path, each), false);
        if (!opened) {
            continue;
        }
        const os_answer<std::vector<native_path>> there = opened->os().list(opened->place());
        if (std::any_of(there.value.begin(), there.value.end(), is_of_model)) {
            below.push_back(each);
        }
    }
    constexpr const char* none = "the directory has no file that is called as one of tensors is";
    return below.empty() ? fail(errc::file_not_found, none)
                         : fail(errc::file_not_found, "{}, but folders in it have some, {}: open one of these",
                                {none, told_names(below)});
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
