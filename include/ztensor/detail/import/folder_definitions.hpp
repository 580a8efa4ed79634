// SPDX-License-Identifier: MIT
//
// Models in many files, from a list, a folder or an index: which they are, opening them, and holding them against each
// other. Defines how import.hpp opens these.
#ifndef ZTENSOR_DETAIL_IMPORT_FOLDER_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_IMPORT_FOLDER_DEFINITIONS_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/gguf.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/json.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/read/joined_files.hpp>
#include <ztensor/detail/read/siblings.hpp>
#include <ztensor/error.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/import.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <system_error>
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

/// A folder, at `path`, without files of a model; perhaps they are in folders below it. `names` is what is in it, in
/// order, and `is_of_model` tells names of such files.
template <class Predicate>
[[nodiscard]] ZTENSOR_COLD error no_model_in(const directory& folder, const native_path& path,
                                             const vector<native_path>& names, const Predicate& is_of_model) {
    vector<native_path> below;
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
        const os_answer<vector<native_path>> there = opened->os().list(opened->place());
        if (std::any_of(there.value.begin(), there.value.end(), is_of_model)) {
            below.push_back(each);
        }
    }
    constexpr const char* none = "the directory has no file that is called as one of tensors is";
    return below.empty() ? fail(errc::file_not_found, none)
                         : fail(errc::file_not_found, "{}, but folders in it have some, {}: open one of these",
                                {none, told_names(below)});
}

// -- shard index
//
// The index of a model in shards, as Hugging Face writes it beside them: which object is in which file. File names are
// hostile: each must be that of a file beside the index, or in a folder there.

struct shard_entry {
    string name; ///< of an object
    size_t file; ///< in shard_index::files
};

/// The largest index that is read, whatever max_manifest_bytes allows, because its entries take several times as much
/// memory as their text. An index of a million tensors has about 100 MB.
inline constexpr uint64_t max_shard_index_bytes = uint64_t{128} << 20;

/// What an index says.
struct shard_index {
    vector<string> files; ///< sorted, each once
    vector<shard_entry> entries;
    bool names_groups = false; ///< as Keras writes it: of groups of objects, each in one file or several
};

/// A path of a file beside the index, or in a folder there.
[[nodiscard]] inline bool is_file_below(string_view path) noexcept {
    const string_view last = path.substr(path.find_last_of('/') + 1);
    return is_path_below(path) && !last.empty() && last != ".";
}

class shard_index_listener final : public json_listener {
public:
    explicit shard_index_listener(uint64_t max_objects) noexcept : max_objects_(max_objects) {}

    /// What was read, checked. Errors: schema_missing, duplicate_key.
    result<shard_index> finish() {
        if (!has_map_) {
            return fail(errc::schema_missing, "the index lacks \"weight_map\"");
        }
        shard_index found;
        vector<size_t> places(files_.size()); // by the order in which the files were met
        for (const auto& [file, met] : files_) {
            places[met] = found.files.size();
            found.files.push_back(file);
        }
        for (shard_entry& each : entries_) {
            each.file = places[each.file];
        }
        found.entries = std::move(entries_);
        found.names_groups = names_groups_;
        if (names_groups_) {
            return found;
        }
        if (const optional<string_view> twin = find_same_name(found.entries)) {
            return fail(errc::duplicate_key, "the index names the object {} twice", {in_quotes(*twin)});
        }
        return found;
    }

    [[nodiscard]] bool begin_object() override {
        if (depth_ == 1 && is_map_) {
            is_in_map_ = true;
        }
        return (is_in_map_ && depth_ >= 2) ? refuse_kind("an object") : ++depth_ != 0;
    }
    [[nodiscard]] bool end_object() override {
        is_in_map_ = false; // in which no other object may stand
        --depth_;
        return true;
    }
    [[nodiscard]] bool key(string_view name) override {
        if (depth_ == 1) {
            is_map_ = name == "weight_map";
            if (is_map_ && std::exchange(has_map_, true)) {
                return refuse(fail(errc::duplicate_key, "the index has \"weight_map\" twice"));
            }
        } else if (is_in_map_) {
            name_ = name;
        }
        return true;
    }
    [[nodiscard]] bool begin_array() override {
        const bool is_list_of_files = is_in_map_ && depth_ == 2;
        names_groups_ = names_groups_ || is_list_of_files;
        return depth_ == 0 || (is_within_map() && !is_list_of_files) ? refuse_kind("an array") : ++depth_ != 0;
    }
    [[nodiscard]] bool end_array() override {
        --depth_;
        return true;
    }
    [[nodiscard]] bool text(string_view value) override {
        if (!is_in_map_) {
            return other("text");
        }
        if (!is_file_below(value)) {
            return refuse(fail(errc::name_invalid,
                               "the index says that {} is in {}, which is no plain path of a file beside it",
                               {in_quotes(name_), in_quotes(value)}));
        }
        if (entries_.size() >= max_objects_) {
            return refuse(fail(errc::limit_exceeded, "the index names more than {} objects", {max_objects_}));
        }
        names_groups_ = names_groups_ || (starts_with(name_, "/") && ends_with_ignoring_case(value, ".h5"));
        const size_t met = files_.size();
        entries_.push_back({name_, files_.emplace(value, met).first->second});
        return true;
    }
    [[nodiscard]] bool other(const char* what) override {
        return depth_ != 0 && !is_within_map() ? true : refuse_kind(what);
    }

private:
    /// Where only the map itself, or the name of a file, may stand.
    [[nodiscard]] bool is_within_map() const noexcept { return is_in_map_ || (depth_ == 1 && is_map_); }

    ZTENSOR_COLD bool refuse_kind(const char* found) {
        return refuse(
            fail(errc::schema_type, "the index holds {} where names of objects and their files should stand", {found}));
    }

    uint64_t max_objects_;
    vector<shard_entry> entries_;
    std::map<string, size_t, std::less<>> files_; ///< each with how many were met before it
    string name_;
    size_t depth_ = 0;
    bool is_map_ = false;    ///< the value that comes next is the map
    bool is_in_map_ = false; ///< within it
    bool has_map_ = false;
    bool names_groups_ = false;
};

/// Errors: manifest_too_large, limit_exceeded (max_objects), json_malformed, not_built_in, schema_type, schema_missing,
/// duplicate_key, name_invalid; what the source says.
ZTENSOR_COLD inline result<shard_index> read_shard_index(const byte_source& source, const read_options& options) {
    const uint64_t size = source.size();
    const uint64_t most_bytes = (std::min)(options.max_manifest_bytes(), max_shard_index_bytes);
    if (size > most_bytes) {
        return fail(errc::manifest_too_large, "the index takes {} bytes, more than the {} allowed", {size, most_bytes});
    }
    ZTENSOR_TRY_ASSIGN(const byte_buffer text, read_header(source, 0, size));
    shard_index_listener listener(options.max_objects());
    ZTENSOR_TRY(parse_json(as_text(text.bytes()), listener));
    return listener.finish();
}

// -- opening

using opened_result = result<std::shared_ptr<const joined_files>>;

/// What does not open goes to `problems`.
ZTENSOR_COLD inline void take_file(result<reader> file, joined_files& set, problem_list& problems) {
    if (file) {
        set.files.push_back(*std::move(file));
    } else {
        problems.add(std::move(file).error());
    }
}

ZTENSOR_COLD inline opened_result finish_set(std::shared_ptr<joined_files> set, const problem_list& problems) {
    return problems.empty() ? opened_result(std::move(set)) : set_problems(problems);
}

/// A file of several.
ZTENSOR_COLD inline result<reader> open_member(result<std::shared_ptr<const byte_source>> source,
                                               const native_path& path, const read_options& options) {
    return source ? open_one({*std::move(source), path, options}) : std::move(source).error().in_file(path_text(path));
}

/// What the index says, against what is there. All shards are open.
ZTENSOR_COLD inline void check_index(const shard_index& index, const joined_files& set, problem_list& problems) {
    if (index.names_groups) {
        return;
    }
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

/// The files that an index names.
ZTENSOR_COLD inline opened_result open_indexed(const byte_source& source, const files_beside& beside,
                                               const read_options& options) {
    ZTENSOR_TRY_ASSIGN(const shard_index index, read_shard_index(source, options));
    auto set = std::make_shared<joined_files>();
    problem_list problems;
    vector<result<reader>> opened(index.files.size(), reader());
    for_each_in_parallel(opened.size(), beside.are_far() ? files_opened_at_once : 1, [&](size_t i) {
        const native_path name = file_path(index.files[i]).native();
        opened[i] = open_member(beside.open(name, options), beside.path_of(name), options);
    });
    for (result<reader>& each : opened) {
        take_file(std::move(each), *set, problems);
    }
    if (problems.empty()) { // else what it says can't be held against all of them
        join(*set, problems);
        check_index(index, *set, problems);
    }
    return finish_set(std::move(set), problems);
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
    return open_member(opened ? source_of_sibling(*std::move(opened), options, path) : std::move(opened).error(), path,
                       options);
}

/// Files that the caller named.
ZTENSOR_COLD inline opened_result open_named(const vector<native_path>& paths, const read_options& options) {
    auto set = std::make_shared<joined_files>();
    problem_list problems;
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
    if (files.empty() && importer_access::of(options) != nullptr) {
        files = std::move(hdf5_files);
    }
    if (indices.empty() && files.empty()) {
        return no_model_in(*opened, path, names.value, [](const native_path& each) {
            const string name = path_text(each);
            return ends_with_ignoring_case(name, ".index.json") || has_ending(name, tensor_endings);
        });
    }
    ZTENSOR_TRY_ASSIGN(beneath_folder folder, beneath_folder::of(path, options.follows_links()));
    const files_beside in_it(std::move(folder));
    if (!indices.empty()) {
        const auto index = in_it.open(indices[0], read_options(options).mode(io_mode::positional));
        opened_result set = index ? open_indexed(**index, in_it, options) : index.error();
        return set ? std::move(set) : of_file(std::move(set).error(), joined_path(path, indices[0]));
    }
    ZTENSOR_TRY(check_parts(files));
    auto set = std::make_shared<joined_files>();
    problem_list problems;
    for (const native_path& each : files) {
        const native_path member = in_it.path_of(each);
        if (!is_opened_part(*set, member)) {
            take_file(open_member(in_it.open(each, options), member, options), *set, problems);
        }
    }
    join(*set, problems);
    opened_result joined = finish_set(std::move(set), problems);
    const bool has_twins = !joined && joined.error().code() == errc::duplicate_key;
    return has_twins ? several_models(files, set_problems(problems, 3)) : std::move(joined);
}

[[nodiscard]] ZTENSOR_COLD inline bool is_folder(const native_path& path) noexcept {
    const auto [found, unknown] = operating_system_for_reading().status(path);
    return !unknown && found.kind == file_kind::other;
}

/// What several files became; `path` is what they were opened by.
[[nodiscard]] ZTENSOR_COLD inline result<reader> reader_of_many(opened_result opened, const native_path& path) {
    return opened ? reader_access::make(*std::move(opened), path_text(path))
                  : result<reader>(of_file(std::move(opened).error(), path));
}

ZTENSOR_COLD ZTENSOR_INLINE result<reader> open_index(const foreign_file& index) {
    const result<files_beside> beside = files_beside::of(index.source, index.path, index.options);
    return reader_of_many(beside ? open_indexed(*index.source, *beside, index.options) : beside.error(), index.path);
}

} // namespace detail

ZTENSOR_COLD ZTENSOR_INLINE result<reader> open_any(const file_path& path, const read_options& options) {
    return detail::guard_memory([&]() -> result<reader> {
        const detail::native_path native = path.native();
        if (detail::is_folder(native)) {
            return detail::reader_of_many(detail::open_directory(native, options), native);
        }
        const bool is_index = detail::ends_with_ignoring_case(detail::path_text(native), ".json");
        ZTENSOR_TRY_ASSIGN(std::shared_ptr<const byte_source> source,
                           detail::open_source(path, is_index ? read_options().mode(io_mode::positional) : options));
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
