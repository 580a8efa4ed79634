// SPDX-License-Identifier: MIT
//
// Which files of a folder are of a model: by their names, by what they hold, and as the parts that their names say they
// are. And what is said of a folder of another kind. Defines nothing that import.hpp declares.
#ifndef ZTENSOR_DETAIL_IMPORT_FOLDER_FILES_HPP
#define ZTENSOR_DETAIL_IMPORT_FOLDER_FILES_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/error.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- numbered files
//
// Files that say by their names that they are parts of one model, such as "model-00002-of-00003.safetensors": which
// parts there are, and which are missing. Opens nothing.

/// The parts of a model among the files of a folder.
struct numbered_model {
    std::set<uint64_t> numbers;
    uint64_t count = 0;
    size_t before_bytes = 0; ///< of the name, up to the number
    size_t digits = 0;       ///< of the longest number
};

/// `pattern` is the name of each part with a "*" in place of the number. Parts are counted from 1 on, and by some from
/// 0 on.
ZTENSOR_COLD inline result<void> check_numbered_model(const string& pattern, const numbered_model& parts) {
    const auto name_of = [&](uint64_t number) {
        return string(pattern).replace(parts.before_bytes, 1, padded(number, parts.digits));
    };
    const uint64_t count = parts.count;
    const uint64_t first = *parts.numbers.begin() == 0 ? 0 : 1, end = first + count;
    if (*parts.numbers.rbegin() >= end) {
        return fail(errc::invalid_argument, "the file {} says that it is one of {}",
                    {in_quotes(name_of(*parts.numbers.rbegin())), count});
    }
    if (parts.numbers.size() == count) {
        return {};
    }
    constexpr size_t most_told = 20;
    const uint64_t absent = count - parts.numbers.size();
    string missing;
    size_t told = 0;
    for (uint64_t number = first; number != end && told != most_told; ++number) {
        if (parts.numbers.count(number) == 0) {
            missing += sentence("{}part {} of {}, {}: it is missing",
                                {told == 0 ? "" : "; ", number, count, in_quotes(name_of(number))});
            ++told;
        }
    }
    const uint64_t untold = absent - told;
    return fail(errc::shard_missing, "{}{}", {missing, untold == 0 ? "" : sentence("; and {} more", {untold})});
}

/// Whether the files of a folder without an index are one model, as far as their names tell. Errors: shard_missing for
/// parts that are missing, each by its number; invalid_argument if there are several models.
ZTENSOR_COLD inline result<void> check_parts(const vector<native_path>& files) {
    std::map<string, numbered_model> models; // by their patterns, such as "model-*-of-00003.safetensors"
    string patterns;                         // in quotes and after commas
    for (const native_path& each : files) {
        const string file = path_text(each);
        if (const optional<numbered_name> name = numbered_name::parse(file)) {
            numbered_model& of = models[name->name_of("*")];
            of.before_bytes = name->before.size();
            of.count = parse_decimal(name->count).value_or(0);
            of.digits = (std::max)(of.digits, name->number.size());
            of.numbers.insert(parse_decimal(name->number).value_or(0));
        }
    }
    for (const auto& each : models) {
        patterns += (patterns.empty() ? "" : ", ") + quote(each.first);
    }
    if (models.size() > 1) {
        return fail(errc::invalid_argument,
                    "the files in the folder are parts of {} models, {}: give the files of one of them",
                    {models.size(), patterns});
    }
    return models.empty() ? result<void>() : check_numbered_model(models.begin()->first, models.begin()->second);
}

// -- folder models
//
// What is said of a folder that is no set of files: of several models, or of none.

/// Names of files, in quotes and after commas; not all of very many.
[[nodiscard]] ZTENSOR_COLD inline string told_names(const vector<native_path>& names) {
    constexpr size_t most_told = 20;
    string all;
    for (size_t i = 0; i < (std::min)(names.size(), most_told); ++i) {
        all += (i == 0 ? "" : ", ") + quote(path_text(names[i]));
    }
    return names.size() > most_told ? all + ", ..." : all;
}

/// A folder of several indices.
[[nodiscard]] ZTENSOR_COLD inline error several_indices(const vector<native_path>& indices) {
    return fail(errc::invalid_argument, "the folder holds several models, by the indices {}: open one of these",
                {told_names(indices)});
}

/// Files of which `why` says that objects of one name are in several.
[[nodiscard]] ZTENSOR_COLD inline error several_models(const vector<native_path>& files, const error& why) {
    return fail(why.code(), "the folder holds several models, or one in several files, {}: open one of them. {}",
                {told_names(files), why.sentence()})
        .in_file(why.path());
}

// -- names of files
//
// What the files of a folder are called as, and what those are that are called otherwise.

template <size_t Count>
[[nodiscard]] bool has_ending(string_view name, const string_view (&endings)[Count]) noexcept {
    return std::any_of(std::begin(endings), std::end(endings),
                       [&](string_view each) { return ends_with_ignoring_case(name, each); });
}
inline constexpr string_view index_endings[] = {".index.json"};
inline constexpr string_view tensor_endings[] = {".zt", ".safetensors", ".sft", ".gguf", ".npy", ".npz", ".onnx"};
/// Programs give these endings to files without tensors, too, such as training_args.bin.
inline constexpr string_view pytorch_endings[] = {".pt", ".pth", ".pth.tar", ".ckpt", ".bin", ".jit", ".pt2"};
/// A folder of another format's files often has the same weights in HDF5, too: these count where there is nothing else.
inline constexpr string_view hdf5_endings[] = {".h5", ".hdf5", ".keras"};
/// A piece of a checkpoint of torch.distributed.checkpoint, whose first bytes are those of a file of torch.save.
inline constexpr string_view distributed_endings[] = {".distcp"};

[[nodiscard]] inline bool is_called_as_tensors(string_view name) noexcept {
    return has_ending(name, tensor_endings) || has_ending(name, pytorch_endings);
}

/// The names of what is in a folder, each list in order.
struct folder_names {
    vector<native_path> indices;
    vector<native_path> tensors; ///< files that are called as files of tensors are
    vector<native_path> hdf5;
    vector<native_path> distributed;
    vector<native_path> others; ///< what they hold tells; folders are among them
};

[[nodiscard]] ZTENSOR_COLD inline folder_names sort_names(const vector<native_path>& all) {
    folder_names sorted;
    for (const native_path& each : all) {
        const string name = path_text(each);
        if (is_of_macos(name)) {
            continue;
        }
        const bool is_hidden = name[0] == '.';
        if (has_ending(name, index_endings)) {
            sorted.indices.push_back(each);
        } else if (is_called_as_tensors(name)) {
            sorted.tensors.push_back(each);
        } else if (has_ending(name, hdf5_endings)) {
            sorted.hdf5.push_back(each);
        } else if (has_ending(name, distributed_endings)) {
            sorted.distributed.push_back(each);
        } else if (!is_hidden) {
            sorted.others.push_back(each);
        }
    }
    return sorted;
}

/// A file of several.
ZTENSOR_COLD inline result<reader> open_member(result<std::shared_ptr<const byte_source>> source,
                                               const native_path& path, const read_options& options) {
    return source ? open_one({*std::move(source), path, options}) : std::move(source).error().in_file(path_text(path));
}

/// What a file of a folder starts with. One that can't be opened stands for another: opening it says why.
[[nodiscard]] ZTENSOR_COLD inline file_content content_in(const files_beside& folder, const native_path& name,
                                                          const read_options& options) {
    const read_options how = read_options(options).mode(io_mode::positional);
    result<std::shared_ptr<const byte_source>> source = folder.open(name, how);
    return source ? content_of({*std::move(source), folder.path_of(name), how}) : file_content::stand_in;
}

/// Those of the files that hold tensors, or are damaged, although they are called otherwise. Where a folder is full of
/// other files, such as pictures, the first of them alone are looked at.
[[nodiscard]] ZTENSOR_COLD inline vector<native_path>
find_tensors_by_content(const files_beside& folder, const vector<native_path>& names, const read_options& options) {
    constexpr size_t most_looked_at = 10'000;
    vector<native_path> found;
    for (size_t i = 0; i < (std::min)(names.size(), most_looked_at); ++i) {
        if (content_in(folder, names[i], options) != file_content::tensors) {
            continue;
        }
        const result<reader> opened = open_member(folder.open(names[i], options), folder.path_of(names[i]), options);
        if (opened ? !opened->empty() : opened.error().code() != errc::foreign_file) { // such as an archive of pictures
            found.push_back(names[i]);
        }
    }
    return found;
}

/// Why a file of a folder, as it opened or did not, is left out of its model: it holds no tensors. "" for any other,
/// and for one whose name says that it is a part of the model.
[[nodiscard]] ZTENSOR_COLD inline string why_without_tensors(const result<reader>& opened, const native_path& name,
                                                             const files_beside& folder, const read_options& options) {
    const string text = path_text(name);
    if (numbered_name::parse(text)) {
        return {};
    }
    if (opened) {
        const bool is_empty = opened->empty() && opened->container() != container_kind::zt;
        return is_empty ? "no tensors were found in it" : string();
    }
    const errc code = opened.error().code();
    const bool is_of_another_kind =
        code == errc::pickle_refused || code == errc::foreign_file || code == errc::bad_magic;
    const bool promises_tensors = has_ending(text, tensor_endings) || has_ending(text, hdf5_endings);
    const bool has_none = is_of_another_kind && !promises_tensors &&
                          content_in(folder, name, options) != file_content::stand_in;
    return has_none ? opened.error().sentence() : string();
}

// -- other folders
//
// Folders that hold a model in another form, and what to do with them.

/// The folders of revisions in a cache of the Hugging Face Hub, whose folder of a model is at `path`.
[[nodiscard]] ZTENSOR_COLD inline error cache_of_hub(const native_path& path) {
    vector<native_path> revisions;
    const native_path snapshots = file_path("snapshots").native();
    if (const result<directory> opened = directory::open(joined_path(path, snapshots), false)) {
        for (const native_path& each : opened->os().list(opened->place()).value) {
            revisions.push_back(joined_path(snapshots, each));
        }
        std::sort(revisions.begin(), revisions.end());
    }
    return fail(errc::foreign_file,
                "the folder is the cache that the Hugging Face Hub has of a model, which holds the files of a "
                "revision in a folder below \"snapshots\": {}",
                {revisions.empty() ? string("there is none") : "open one of these, " + told_names(revisions)});
}

/// What a folder without files of tensors is, where its names tell.
[[nodiscard]] ZTENSOR_COLD inline optional<error> other_kind_of_folder(const folder_names& names,
                                                                       const native_path& path) {
    const auto has = [&](const char* name) {
        return std::binary_search(names.others.begin(), names.others.end(), file_path(name).native());
    };
    if (!names.distributed.empty()) {
        return fail(errc::foreign_file,
                    "the folder is a checkpoint of torch.distributed.checkpoint, whose tensors lie in pieces ({}): "
                    "`python -m torch.distributed.checkpoint.format_utils dcp_to_torch FOLDER model.pt` makes one file "
                    "of it, which can be opened",
                    {told_names(names.distributed)});
    }
    if (has("saved_model.pb") || has("saved_model.pbtxt")) {
        return fail(errc::foreign_file, "the folder is a SavedModel of TensorFlow, which this library does not read: "
                                        "load it there, and save its weights as .h5 or .npz");
    }
    const bool is_of_model = has("snapshots") && (has("blobs") || has("refs"));
    const native_path above = joined_path(directory_of(path), file_path("snapshots").native());
    if (is_of_model) {
        return cache_of_hub(path);
    }
    if (path_text(native_path(file_name_of(path))) == "blobs" && directory::open(above, false)) {
        return cache_of_hub(directory_of(path));
    }
    vector<native_path> models;
    std::copy_if(names.others.begin(), names.others.end(), std::back_inserter(models),
                 [](const native_path& each) { return starts_with(path_text(each), "models--"); });
    if (!models.empty()) {
        return fail(errc::foreign_file,
                    "the folder is a cache of the Hugging Face Hub: open a folder below \"snapshots\" in one of {}",
                    {told_names(models)});
    }
    return std::nullopt;
}

/// A folder, at `path`, without files of a model; perhaps they are in folders below it.
[[nodiscard]] ZTENSOR_COLD inline error no_model_in(const native_path& path, const folder_names& names) {
    constexpr const char* none = "the directory has no file that holds tensors";
    const result<directory> folder = directory::open(path, false);
    vector<native_path> below;
    for (const native_path& each : names.others) {
        const result<file_status> status = folder ? folder->status(each) : folder.error();
        const bool is_link = folder && !folder->os().link_target(folder->place(), each).failure;
        if (!status || status->kind != file_kind::other || is_link) {
            continue;
        }
        const result<directory> opened = directory::open(joined_path(path, each), false);
        if (!opened) {
            continue;
        }
        const folder_names there = sort_names(opened->os().list(opened->place()).value);
        if (!there.indices.empty() || !there.tensors.empty()) {
            below.push_back(each);
        }
    }
    return below.empty() ? fail(errc::file_not_found, none)
                         : fail(errc::file_not_found, "{}, but folders in it have some, {}: open one of these",
                                {none, told_names(below)});
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
