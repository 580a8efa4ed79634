// SPDX-License-Identifier: MIT
//
// Models in many files, from a list, a folder or an index: opening them, and holding them against each other. Defines
// how import.hpp opens these.
#ifndef ZTENSOR_DETAIL_IMPORT_FOLDER_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_IMPORT_FOLDER_DEFINITIONS_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/folder_files.hpp>
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
    vector<string> files;                     ///< sorted, each once
    std::map<string, uint64_t> bytes_of_file; ///< where the index says that
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
        found.bytes_of_file = std::move(bytes_of_file_);
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
            is_metadata_ = name == "metadata";
            is_sizes_ = false;
        } else if (depth_ == 2 && is_metadata_) {
            is_sizes_ = name == "file_sizes";
        } else if (is_in_map_ || are_sizes()) {
            name_ = name;
        }
        return true;
    }
    [[nodiscard]] bool begin_array() override {
        const bool is_list_of_files = is_in_map_ && depth_ == 2;
        is_empty_list_ = is_list_of_files;
        return depth_ == 0 || (is_within_map() && !is_list_of_files) ? refuse_kind("an array") : ++depth_ != 0;
    }
    [[nodiscard]] bool end_array() override {
        --depth_;
        return is_empty_list_ ? refuse_kind("an empty array") : true;
    }
    [[nodiscard]] bool text(string_view value) override {
        if (!is_in_map_) {
            return other("text");
        }
        const bool is_of_keras = ends_with_ignoring_case(value, ".h5");
        if (depth_ > 2 && !is_of_keras) {
            return refuse_kind("an array");
        }
        is_empty_list_ = false;
        if (!is_file_below(value)) {
            return refuse(fail(errc::name_invalid,
                               "the index says that {} is in {}, which is no plain path of a file beside it",
                               {in_quotes(name_), in_quotes(value)}));
        }
        if (entries_.size() >= max_objects_) {
            return refuse(fail(errc::limit_exceeded, "the index names more than {} objects", {max_objects_}));
        }
        names_groups_ = names_groups_ || (is_of_keras && (depth_ > 2 || starts_with(name_, "/")));
        const size_t met = files_.size();
        entries_.push_back({name_, files_.emplace(value, met).first->second});
        return true;
    }
    /// How many bytes a file has, as sharded_writer states it in "metadata", in which others may say anything.
    [[nodiscard]] bool unsigned_integer(uint64_t value) override {
        if (!are_sizes()) {
            return other("a number");
        }
        bytes_of_file_[name_] = value;
        return true;
    }
    [[nodiscard]] bool other(const char* what) override {
        return depth_ != 0 && !is_within_map() ? true : refuse_kind(what);
    }

private:
    [[nodiscard]] bool are_sizes() const noexcept { return depth_ == 3 && is_metadata_ && is_sizes_; }
    /// Where only the map itself, or the name of a file, may stand.
    [[nodiscard]] bool is_within_map() const noexcept { return is_in_map_ || (depth_ == 1 && is_map_); }

    ZTENSOR_COLD bool refuse_kind(const char* found) {
        return refuse(
            fail(errc::schema_type, "the index holds {} where names of objects and their files should stand", {found}));
    }

    uint64_t max_objects_;
    vector<shard_entry> entries_;
    std::map<string, size_t, std::less<>> files_; ///< each with how many were met before it
    std::map<string, uint64_t> bytes_of_file_;
    string name_;
    size_t depth_ = 0;
    bool is_map_ = false;    ///< the value that comes next is the map
    bool is_in_map_ = false; ///< within it
    bool has_map_ = false;
    bool is_metadata_ = false; ///< the value that comes next, or that is read, is "metadata"
    bool is_sizes_ = false;    ///< likewise "file_sizes" in it
    bool names_groups_ = false;
    bool is_empty_list_ = false; ///< a list of files has begun, and none has come
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

/// What is left out of a set: a list of so many bytes.
class left_out_list {
public:
    left_out_list() = default;
    left_out_list(const left_out_list&) = delete;
    left_out_list& operator=(const left_out_list&) = delete;

    void allow(uint64_t more_bytes) noexcept { listed_.allow(more_bytes); }
    /// A file of the folder.
    void add_file(const native_path& file, string why) { listed_.add(path_text(file), "", std::move(why)); }
    /// An object of a file of the set.
    void add_object(string_view name, string_view file, string why) { listed_.add(name, file, std::move(why)); }
    [[nodiscard]] vector<skipped_item> take() {
        listed_.finish(" more files or objects are left out, too many to be listed");
        return index_.take_skipped();
    }

private:
    static constexpr uint64_t most_bytes = uint64_t{1} << 20;

    foreign_index index_;
    bounded_skips listed_ = {index_, most_bytes};
};

/// The index decides which objects are of the model, and in which file each is: what it does not say is left out. All
/// shards are open.
ZTENSOR_COLD inline void apply_index(const shard_index& index, joined_files& set, left_out_list& left_out,
                                     problem_list& problems) {
    constexpr size_t nowhere = ~size_t{0};
    const auto name_of = [&](size_t entry) { return string_view(index.entries[entry].name); };
    growing_name_table names;
    for (size_t i = 0; i < index.entries.size(); ++i) {
        names.add(name_of);
    }
    vector<size_t> places(index.entries.size(), nowhere); // the files that the objects are in
    for (size_t file = 0; file < set.files.size(); ++file) {
        left_out.allow(set.files[file].manifest_bytes());
        vector<bool> is_kept;
        for (const object_view object : set.files[file]) {
            const uint32_t entry = names.find(object.name(), name_of);
            const bool is_named = entry != name_table::absent;
            is_kept.push_back(is_named && index.entries[entry].file == file);
            if (is_kept.back()) {
                places[entry] = file;
                continue;
            }
            if (is_named && places[entry] == nowhere) {
                places[entry] = file;
            }
            left_out.add_object(object.name(), index.files[file],
                                is_named ? sentence("the index says that it is in {}",
                                                    {in_quotes(index.files[index.entries[entry].file])})
                                         : string("the index does not name it"));
        }
        reader_access::keep_objects(set.files[file], is_kept);
    }
    for (size_t i = 0; i < places.size(); ++i) {
        const shard_entry& entry = index.entries[i];
        if (places[i] != entry.file) {
            const string place =
                places[i] == nowhere ? "it is nowhere" : sentence("it is in {}", {in_quotes(index.files[places[i]])});
            problems.add(fail(errc::stale_index, "the index says that the object {} is in {}, but {}",
                              {in_quotes(entry.name), in_quotes(index.files[entry.file]), place}));
        }
    }
}

/// A file that an index names. Errors: stale_index, if it is not as long as the index says; those of open_member().
ZTENSOR_COLD inline result<reader> open_named_by(const shard_index& index, const string& file,
                                                 const files_beside& beside, const read_options& options) {
    const native_path name = file_path(file).native();
    result<std::shared_ptr<const byte_source>> source = beside.open(name, options);
    const auto said = index.bytes_of_file.find(file);
    if (source && said != index.bytes_of_file.end() && (*source)->size() != said->second) {
        source = fail(errc::stale_index, "the index says that the file has {} bytes, but it has {}",
                      {said->second, (*source)->size()});
    }
    return open_member(std::move(source), beside.path_of(name), options);
}

/// The files that an index names. Of `others`, files in its folder, those are left out that it does not name.
ZTENSOR_COLD inline opened_result open_indexed(const byte_source& source, const files_beside& beside,
                                               const read_options& options, const vector<native_path>& others = {}) {
    ZTENSOR_TRY_ASSIGN(const shard_index index, read_shard_index(source, options));
    auto set = std::make_shared<joined_files>();
    left_out_list left_out;
    problem_list problems;
    vector<result<reader>> opened(index.files.size(), reader());
    for_each_in_parallel(opened.size(), beside.are_far() ? files_opened_at_once : 1,
                         [&](size_t i) { opened[i] = open_named_by(index, index.files[i], beside, options); });
    for (result<reader>& each : opened) {
        take_file(std::move(each), *set, problems);
    }
    if (problems.empty()) { // else what it says can't be held against all of them
        if (!index.names_groups) {
            apply_index(index, *set, left_out, problems);
        }
        join(*set, problems);
    }
    for (const native_path& each : others) {
        if (!std::binary_search(index.files.begin(), index.files.end(), path_text(each))) {
            left_out.add_file(each, "the index of the folder does not name this file");
        }
    }
    set->skipped = left_out.take();
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

/// What is in a folder, sorted by names. Errors: irregular_file; what the system says.
ZTENSOR_COLD inline result<folder_names> list_folder(const native_path& path) {
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
    return sort_names(names.value);
}

/// The files of a folder without an index that may be a model, and among the names those that are left out for them:
/// files that are called as files of tensors are, or else those of HDF5, or else those that hold tensors, whatever they
/// are called. Errors: file_not_found; foreign_file for a folder of another kind.
ZTENSOR_COLD inline result<vector<native_path>> choose_files(const folder_names& names, const files_beside& folder,
                                                             const native_path& path, const read_options& options,
                                                             left_out_list& left_out) {
    const bool takes_hdf5 = names.tensors.empty() && importer_access::of(options) != nullptr;
    const vector<native_path>& by_name = takes_hdf5 ? names.hdf5 : names.tensors;
    if (by_name.empty()) {
        if (const optional<error> other = other_kind_of_folder(names, path)) {
            return *other;
        }
    }
    vector<native_path> by_content = find_tensors_by_content(folder, names.others, options);
    if (by_name.empty() && by_content.empty()) {
        return no_model_in(path, names);
    }
    const auto leave_out = [&](const vector<native_path>& files, const char* why) {
        for (const native_path& each : files) {
            left_out.add_file(each, why);
        }
    };
    if (by_name.empty()) {
        return by_content;
    }
    if (!takes_hdf5) {
        leave_out(names.hdf5, "a file of HDF5 is read where a folder has no other files of tensors: open it by itself");
    }
    leave_out(by_content, "it holds tensors, but is not called as those files of the folder that were opened: open it "
                          "by itself");
    leave_out(names.distributed, "it is a piece of a checkpoint of torch.distributed.checkpoint");
    return by_name;
}

/// Files of a folder without an index, in the order of their names.
ZTENSOR_COLD inline opened_result open_files_of_folder(const vector<native_path>& files, const files_beside& folder,
                                                       const read_options& options, left_out_list& left_out) {
    struct file_without_tensors {
        native_path name;
        string why;
        result<reader> opened;
    };
    ZTENSOR_TRY(check_parts(files));
    auto set = std::make_shared<joined_files>();
    problem_list problems;
    vector<file_without_tensors> without;
    for (const native_path& each : files) {
        const native_path member = folder.path_of(each);
        if (is_opened_part(*set, member)) {
            continue;
        }
        result<reader> opened = open_member(folder.open(each, options), member, options);
        string why = why_without_tensors(opened, each, folder, options);
        if (why.empty()) {
            take_file(std::move(opened), *set, problems);
        } else {
            without.push_back({each, std::move(why), std::move(opened)});
        }
    }
    const auto is_filled = [](const reader& each) { return !each.empty(); };
    const bool has_tensors = std::any_of(set->files.begin(), set->files.end(), is_filled);
    for (file_without_tensors& each : without) {
        if (has_tensors || !problems.empty()) {
            left_out.add_file(each.name, std::move(each.why));
        } else { // which is all that there is to say
            take_file(std::move(each.opened), *set, problems);
        }
    }
    join(*set, problems);
    set->skipped = left_out.take();
    opened_result joined = finish_set(std::move(set), problems);
    const bool has_twins = !joined && joined.error().code() == errc::duplicate_key;
    return has_twins ? several_models(files, set_problems(problems, 3)) : std::move(joined);
}

ZTENSOR_COLD inline opened_result open_directory(const native_path& path, const read_options& options) {
    ZTENSOR_TRY_ASSIGN(const folder_names names, list_folder(path));
    if (names.indices.size() > 1) {
        return several_indices(names.indices);
    }
    ZTENSOR_TRY_ASSIGN(beneath_folder beneath, beneath_folder::of(path, options.follows_links()));
    const files_beside folder(std::move(beneath));
    if (names.indices.empty()) {
        left_out_list left_out;
        ZTENSOR_TRY_ASSIGN(const vector<native_path> files, choose_files(names, folder, path, options, left_out));
        return open_files_of_folder(files, folder, options, left_out);
    }
    vector<native_path> others = find_tensors_by_content(folder, names.others, options);
    for (const vector<native_path>* each : {&names.tensors, &names.hdf5, &names.distributed}) {
        others.insert(others.end(), each->begin(), each->end());
    }
    opened_result set =
        read_current([&] { return folder.open(names.indices[0], read_options(options).mode(io_mode::positional)); },
                     [&](const auto& index) { return open_indexed(*index, folder, options, others); });
    return set ? std::move(set) : of_file(std::move(set).error(), joined_path(path, names.indices[0]));
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
        return detail::read_current(
            [&] { return detail::open_source(path, is_index ? read_options().mode(io_mode::positional) : options); },
            [&](const std::shared_ptr<const byte_source>& source) { return open_any(source, path, options); });
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
