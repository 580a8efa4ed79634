// SPDX-License-Identifier: MIT
//
// Opening the files of a model, from a list, a folder or an index, and holding them against each other. Defines how
// import.hpp opens these.
#ifndef ZTENSOR_DETAIL_IMPORT_FOLDER_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_IMPORT_FOLDER_DEFINITIONS_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/gguf.hpp>
#include <ztensor/detail/import/model_folders.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/read/joined_files.hpp>
#include <ztensor/detail/read/siblings.hpp>
#include <ztensor/import.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

using opened_result = result<std::shared_ptr<const joined_files>>;

/// What does not open goes to `problems`.
ZTENSOR_COLD inline void take_file(result<reader> file, joined_files& set, joint_problems& problems) {
    if (file) {
        set.files.push_back(*std::move(file));
    } else {
        problems.add(std::move(file).error());
    }
}

ZTENSOR_COLD inline opened_result finish_set(std::shared_ptr<joined_files> set, const joint_problems& problems) {
    return problems.empty() ? opened_result(std::move(set)) : problems.all();
}

/// A file that an index names, or that lies in a folder.
ZTENSOR_COLD inline result<reader> open_member(const beneath_folder& folder, const native_path& name,
                                               const read_options& options) {
    const native_path path = joined_path(folder.path(), name);
    result<std::shared_ptr<const byte_source>> source = open_sibling(folder, name, options);
    return source ? open_any(*std::move(source), path, options) : std::move(source).error().in_file(path_text(path));
}

/// What the index says, against what is there. All shards are open.
ZTENSOR_COLD inline void check_index(const shard_index& index, const joined_files& set, joint_problems& problems) {
    vector<bool> is_named(set.objects.size());
    for (const shard_entry& each : index.entries) {
        const uint32_t found = set.find(each.name);
        if (found == name_table::absent) {
            problems.add(fail(errc::stale_index, "the index says that the object {} is in {}, but it is nowhere",
                              {in_quotes(each.name), in_quotes(index.files[each.file])}));
            continue;
        }
        is_named[found] = true;
        if (const size_t shard = set.file_at(found); shard != each.file) {
            problems.add(
                fail(errc::stale_index, "the index says that the object {} is in {}, but it is in {}",
                     {in_quotes(each.name), in_quotes(index.files[each.file]), in_quotes(index.files[shard])}));
        }
    }
    for (size_t i = 0; i < is_named.size(); ++i) {
        if (!is_named[i]) {
            problems.add(fail(errc::stale_index, "the object {} is in {}, but the index does not name it",
                              {in_quotes(set.objects[i].name()), in_quotes(index.files[set.file_at(i)])}));
        }
    }
}

/// The files that an index in the folder names.
ZTENSOR_COLD inline opened_result open_indexed(const byte_source& source, const beneath_folder& folder,
                                               const read_options& options) {
    ZTENSOR_TRY_ASSIGN(const shard_index index, read_shard_index(source, options));
    auto set = std::make_shared<joined_files>();
    joint_problems problems;
    for (const string& each : index.files) {
        take_file(open_member(folder, file_path(each).native(), options), *set, problems);
    }
    if (problems.empty()) { // else what it says can't be held against all of them
        join(*set, problems);
        check_index(index, *set, problems);
    }
    return finish_set(std::move(set), problems);
}

/// An index that the caller named.
ZTENSOR_COLD inline opened_result open_index(const native_path& path, const read_options& options) {
    ZTENSOR_TRY_ASSIGN(const std::shared_ptr<const byte_source> source,
                       open_source(file_path(path), read_options().mode(io_mode::positional)));
    const result<beneath_folder> folder = folder_beside(*source, path, options);
    return folder ? open_indexed(*source, *folder, options) : folder.error();
}

/// The file is called as a further part of a GGUF model whose first one is open, which has opened all.
[[nodiscard]] ZTENSOR_COLD inline bool is_opened_part(const joined_files& set, const native_path& path) {
    const string own = path_text(native_path(file_name_of(path)));
    const optional<numbered_name> name = parse_gguf_part(own);
    if (!name || parse_decimal(name->number) == uint64_t{1}) {
        return false;
    }
    const string first_name = name->name_of(padded(1, gguf_part_digits));
    const string first = path_text(joined_path(directory_of(path), file_path(first_name).native()));
    return std::any_of(set.files.begin(), set.files.end(), [&](const reader& each) {
        return each.path() == first && each.container() == container_kind::gguf &&
               each.attributes().unsigned_integer("split.count").value_or(0) == parse_decimal(name->count);
    });
}

ZTENSOR_COLD inline result<reader> open_one_of_many(const native_path& path, const read_options& options) {
    result<file> opened = file::open(path);
    auto source = opened ? source_of_sibling(*std::move(opened), options, path) : std::move(opened).error();
    return source ? open_any(*std::move(source), path, options) : std::move(source).error().in_file(path_text(path));
}

/// Files that the caller named.
ZTENSOR_COLD inline opened_result open_named(const vector<native_path>& paths, const read_options& options) {
    auto set = std::make_shared<joined_files>();
    joint_problems problems;
    for (const native_path& path : paths) {
        if (is_opened_part(*set, path)) {
            continue;
        }
        take_file(open_one_of_many(path, options), *set, problems);
    }
    join(*set, problems);
    return finish_set(std::move(set), problems);
}

/// The error, which names a file.
[[nodiscard]] ZTENSOR_COLD inline error of_file(error why, const native_path& path) {
    return why.path().empty() ? std::move(why).in_file(path_text(path)) : std::move(why);
}

template <size_t Count>
[[nodiscard]] bool has_ending(string_view name, const string_view (&endings)[Count]) noexcept {
    return std::any_of(std::begin(endings), std::end(endings),
                       [&](string_view each) { return ends_with_ignoring_case(name, each); });
}
inline constexpr string_view tensor_endings[] = {".zt",  ".safetensors", ".gguf", ".npy", ".npz", ".pt",
                                                 ".pth", ".ckpt",        ".bin",  ".jit", ".pt2", ".onnx"};
/// A folder of another format's files often has the same weights in HDF5, too: these count where there is nothing else.
inline constexpr string_view hdf5_endings[] = {".h5", ".hdf5", ".keras"};

ZTENSOR_COLD inline opened_result open_directory(const native_path& path, const read_options& options) {
    const result<directory> opened = directory::open(path, false);
    if (!opened) {
        const bool is_something_else = opened.error().os_error() == std::errc::not_a_directory; // such as a device
        return is_something_else ? irregular_file() : opened.error();
    }
    os_answer<vector<native_path>> names = opened->os().list(opened->place());
    if (names.failure) {
        return os_failure("can't list the directory", names.failure);
    }
    std::sort(names.value.begin(), names.value.end());
    vector<native_path> indices, files, hdf5_files;
    for (const native_path& each : names.value) {
        const string name = path_text(each);
        if (is_of_macos(name)) {
            continue;
        }
        if (ends_with_ignoring_case(name, ".index.json")) {
            indices.push_back(each);
        } else if (has_ending(name, tensor_endings)) {
            files.push_back(each);
        } else if (has_ending(name, hdf5_endings)) {
            hdf5_files.push_back(each);
        }
    }
    if (indices.size() > 1) {
        return several_indices(indices);
    }
    if (files.empty() && options.importer() != nullptr) {
        files = std::move(hdf5_files);
    }
    if (indices.empty() && files.empty()) {
        return no_model_in(*opened, path, names.value, [](const native_path& each) {
            const string name = path_text(each);
            return ends_with_ignoring_case(name, ".index.json") || has_ending(name, tensor_endings);
        });
    }
    ZTENSOR_TRY_ASSIGN(const beneath_folder folder, beneath_folder::of(path, options.follows_links()));
    if (!indices.empty()) {
        const auto index = open_sibling(folder, indices[0], read_options(options).mode(io_mode::positional));
        opened_result set = index ? open_indexed(**index, folder, options) : index.error();
        return set ? std::move(set) : of_file(std::move(set).error(), joined_path(path, indices[0]));
    }
    ZTENSOR_TRY(check_parts(files));
    auto set = std::make_shared<joined_files>();
    joint_problems problems;
    for (const native_path& each : files) {
        if (!is_opened_part(*set, joined_path(folder.path(), each))) {
            take_file(open_member(folder, each, options), *set, problems);
        }
    }
    join(*set, problems);
    opened_result joined = finish_set(std::move(set), problems);
    const bool has_twins = !joined && joined.error().code() == errc::duplicate_key;
    return has_twins ? several_models(files, joined.error()) : std::move(joined);
}

/// What a folder or an index leads to.
[[nodiscard]] ZTENSOR_COLD inline bool is_folder(const native_path& path) noexcept {
    const auto [found, unknown] = operating_system_for_reading().status(path);
    return !unknown && found.kind == file_kind::other;
}

ZTENSOR_COLD ZTENSOR_INLINE result<reader> open_folder_or_index(const native_path& path, const read_options& options) {
    opened_result opened = is_folder(path) ? open_directory(path, options) : open_index(path, options);
    return opened ? reader_access::make(*std::move(opened), path_text(path))
                  : result<reader>(of_file(std::move(opened).error(), path));
}

} // namespace detail

ZTENSOR_COLD ZTENSOR_INLINE result<reader> open_any(const file_path& path, const read_options& options) {
    return detail::guard_memory([&]() -> result<reader> {
        const detail::native_path native = path.native();
        if (detail::is_folder(native) || detail::ends_with_ignoring_case(detail::path_text(native), ".json")) {
            return detail::open_folder_or_index(native, options);
        }
        ZTENSOR_TRY_ASSIGN(std::shared_ptr<const byte_source> source, detail::open_source(path, options));
        return open_any(std::move(source), path, options);
    });
}

ZTENSOR_COLD ZTENSOR_INLINE result<reader> detail::open_files(span<const file_path> paths,
                                                              const read_options& options) {
    return guard_memory([&]() -> result<reader> {
        vector<native_path> native;
        for (const file_path& each : paths) {
            native.push_back(each.native());
        }
        opened_result opened = open_named(native, options);
        return opened ? reader_access::make(*std::move(opened), {}) : result<reader>(std::move(opened).error());
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
