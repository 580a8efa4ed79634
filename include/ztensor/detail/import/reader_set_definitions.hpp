// SPDX-License-Identifier: MIT
//
// Opening the files of a set, from a list, a folder or an index, holding them against each other, and loading across
// them. Defines what reader_set.hpp declares.
#ifndef ZTENSOR_DETAIL_IMPORT_READER_SET_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_IMPORT_READER_SET_DEFINITIONS_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/gguf.hpp>
#include <ztensor/detail/import/model_folders.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/read/siblings.hpp>
#include <ztensor/import.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/reader_set.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct opened_set {
    vector<reader> shards;
    vector<object_view> objects; ///< shard by shard
    vector<size_t> begins;       ///< of each shard among the objects
    growing_name_table names;    ///< positions among the objects

    struct name_of {
        const opened_set* set;
        string_view operator()(size_t position) const noexcept { return set->objects[position].name(); }
    };
    /// Position of an object, or name_table::absent.
    [[nodiscard]] uint32_t find(string_view name) const noexcept { return names.find(name, name_of{this}); }
    [[nodiscard]] size_t shard_at(size_t position) const noexcept {
        return static_cast<size_t>(std::upper_bound(begins.begin(), begins.end(), position) - begins.begin()) - 1;
    }
};

using opened_result = result<std::shared_ptr<const opened_set>>;

[[nodiscard]] ZTENSOR_COLD inline error no_object(const opened_set& set, string_view name) {
    return fail(errc::object_not_found, "there is no object {} in any of {} files",
                {in_quotes(name), set.shards.size()})
        .in_object(name);
}

/// All that is wrong with a set, as one error.
class set_problems {
public:
    void add(error why) {
        ++count_;
        if (kept_.size() < most_told) {
            kept_.push_back(std::move(why));
        }
    }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

    [[nodiscard]] ZTENSOR_COLD error all() const {
        if (count_ == 1) {
            return kept_.front();
        }
        string text = sentence("{} things are wrong with the set of files:", {count_});
        const char* separator = " ";
        for (const error& each : kept_) {
            text += separator;
            text +=
                each.path().empty() ? each.sentence() : sentence("{}: {}", {in_quotes(each.path()), each.sentence()});
            separator = "; ";
        }
        text += count_ > kept_.size() ? sentence("; and {} more", {count_ - kept_.size()}) : string();
        return error(kept_.front().code(), std::move(text));
    }

private:
    static constexpr size_t most_told = 100;
    vector<error> kept_;
    size_t count_ = 0;
};

/// Takes the objects of all shards in; names that stand in two go to `problems`.
ZTENSOR_COLD inline void join_shards(opened_set& set, set_problems& problems) {
    for (const reader& shard : set.shards) {
        set.begins.push_back(set.objects.size());
        for (const object_view object : shard) {
            const uint32_t twin = set.find(object.name());
            if (twin != name_table::absent) {
                problems.add(fail(errc::duplicate_key, "the object {} is in {}, too",
                                  {in_quotes(object.name()), in_quotes(set.shards[set.shard_at(twin)].path())})
                                 .in_file(shard.path()));
                continue;
            }
            set.objects.push_back(object);
            set.names.add(opened_set::name_of{&set});
        }
    }
}

/// What does not open goes to `problems`.
ZTENSOR_COLD inline void take_shard(result<reader> shard, opened_set& set, set_problems& problems) {
    if (shard) {
        set.shards.push_back(*std::move(shard));
    } else {
        problems.add(std::move(shard).error());
    }
}

ZTENSOR_COLD inline opened_result finish_set(std::shared_ptr<opened_set> set, const set_problems& problems) {
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
ZTENSOR_COLD inline void check_index(const shard_index& index, const opened_set& set, set_problems& problems) {
    vector<bool> is_named(set.objects.size());
    for (const shard_entry& each : index.entries) {
        const uint32_t found = set.find(each.name);
        if (found == name_table::absent) {
            problems.add(fail(errc::stale_index, "the index says that the object {} is in {}, but it is nowhere",
                              {in_quotes(each.name), in_quotes(index.files[each.file])}));
            continue;
        }
        is_named[found] = true;
        if (const size_t shard = set.shard_at(found); shard != each.file) {
            problems.add(
                fail(errc::stale_index, "the index says that the object {} is in {}, but it is in {}",
                     {in_quotes(each.name), in_quotes(index.files[each.file]), in_quotes(index.files[shard])}));
        }
    }
    for (size_t i = 0; i < is_named.size(); ++i) {
        if (!is_named[i]) {
            problems.add(fail(errc::stale_index, "the object {} is in {}, but the index does not name it",
                              {in_quotes(set.objects[i].name()), in_quotes(index.files[set.shard_at(i)])}));
        }
    }
}

/// The files that an index in the folder names.
ZTENSOR_COLD inline opened_result open_indexed(const byte_source& source, const beneath_folder& folder,
                                               const read_options& options) {
    ZTENSOR_TRY_ASSIGN(const shard_index index, read_shard_index(source, options));
    auto set = std::make_shared<opened_set>();
    set_problems problems;
    for (const string& each : index.files) {
        take_shard(open_member(folder, file_path(each).native(), options), *set, problems);
    }
    if (problems.empty()) { // else what it says can't be held against all of them
        join_shards(*set, problems);
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
[[nodiscard]] ZTENSOR_COLD inline bool is_opened_part(const opened_set& set, const native_path& path) {
    const string own = path_text(native_path(file_name_of(path)));
    const optional<numbered_name> name = parse_gguf_part(own);
    if (!name || parse_decimal(name->number) == uint64_t{1}) {
        return false;
    }
    const string first_name = name->name_of(padded(1, gguf_part_digits));
    const string first = path_text(joined_path(directory_of(path), file_path(first_name).native()));
    return std::any_of(set.shards.begin(), set.shards.end(), [&](const reader& each) {
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
    auto set = std::make_shared<opened_set>();
    set_problems problems;
    for (const native_path& path : paths) {
        if (is_opened_part(*set, path)) {
            continue;
        }
        take_shard(open_one_of_many(path, options), *set, problems);
    }
    join_shards(*set, problems);
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
    if (files.empty() && options.hdf5_ != nullptr) {
        files = std::move(hdf5_files);
    }
    if (indices.empty() && files.empty()) {
        return no_model_in(*opened, path, names.value, [](const native_path& each) {
            const string name = path_text(each);
            return ends_with_ignoring_case(name, ".index.json") || has_ending(name, tensor_endings);
        });
    }
    ZTENSOR_TRY_ASSIGN(const beneath_folder folder, beneath_folder::of(path, options.follow_links_));
    if (!indices.empty()) {
        const auto index = open_sibling(folder, indices[0], read_options(options).mode(io_mode::positional));
        opened_result set = index ? open_indexed(**index, folder, options) : index.error();
        return set ? std::move(set) : of_file(std::move(set).error(), joined_path(path, indices[0]));
    }
    ZTENSOR_TRY(check_parts(files));
    auto set = std::make_shared<opened_set>();
    set_problems problems;
    for (const native_path& each : files) {
        if (!is_opened_part(*set, joined_path(folder.path(), each))) {
            take_shard(open_member(folder, each, options), *set, problems);
        }
    }
    join_shards(*set, problems);
    opened_result joined = finish_set(std::move(set), problems);
    const bool has_twins = !joined && joined.error().code() == errc::duplicate_key;
    return has_twins ? several_models(files, joined.error()) : std::move(joined);
}

ZTENSOR_COLD inline opened_result open_set(const native_path& path, const read_options& options) {
    const auto [found, unknown] = operating_system_for_reading().status(path);
    const bool is_directory = !unknown && found.kind == file_kind::other;
    if (!is_directory && !ends_with_ignoring_case(path_text(path), ".json")) {
        return open_named({path}, options);
    }
    opened_result set = is_directory ? open_directory(path, options) : open_index(path, options);
    return set ? std::move(set) : of_file(std::move(set).error(), path);
}

/// What a set of no files looks at.
[[nodiscard]] inline const opened_set& no_files() {
    static const never_destroyed<opened_set> none;
    return none.get();
}

} // namespace detail

ZTENSOR_COLD ZTENSOR_INLINE reader_set::reader_set() noexcept : set_(std::shared_ptr<void>(), &detail::no_files()) {
}

ZTENSOR_COLD ZTENSOR_INLINE result<reader_set> reader_set::open(const file_path& path, const read_options& options) {
    return detail::guard_memory([&]() -> result<reader_set> {
        detail::opened_result opened = detail::open_set(path.native(), options);
        return opened ? result<reader_set>(reader_set(*std::move(opened))) : std::move(opened).error();
    });
}

ZTENSOR_COLD ZTENSOR_INLINE result<reader_set> reader_set::open_files(span<const file_path> paths,
                                                                      const read_options& options) {
    return detail::guard_memory([&]() -> result<reader_set> {
        std::vector<detail::native_path> native;
        for (const file_path& each : paths) {
            native.push_back(each.native());
        }
        detail::opened_result opened = detail::open_named(native, options);
        return opened ? result<reader_set>(reader_set(*std::move(opened))) : std::move(opened).error();
    });
}

ZTENSOR_COLD ZTENSOR_INLINE result<reader_set> reader_set::of(std::vector<reader> shards) {
    return detail::guard_memory([&]() -> result<reader_set> {
        auto set = std::make_shared<detail::opened_set>();
        set->shards = std::move(shards);
        detail::set_problems problems;
        detail::join_shards(*set, problems);
        return problems.empty() ? result<reader_set>(reader_set(std::move(set))) : problems.all();
    });
}

ZTENSOR_INLINE span<const reader> reader_set::shards() const& noexcept {
    return {set_->shards.data(), set_->shards.size()};
}
ZTENSOR_INLINE std::size_t reader_set::size() const noexcept {
    return set_->objects.size();
}
ZTENSOR_INLINE reader_set::iterator reader_set::begin() const& noexcept {
    return set_->objects.data();
}
ZTENSOR_INLINE reader_set::iterator reader_set::end() const& noexcept {
    return set_->objects.data() + set_->objects.size();
}

ZTENSOR_INLINE result<object_view> reader_set::find(std::string_view name) const& {
    const std::uint32_t found = set_->find(name);
    if (found != detail::name_table::absent) {
        return set_->objects[found];
    }
    return detail::no_object(*set_, name);
}

ZTENSOR_INLINE bool reader_set::contains(std::string_view name) const noexcept {
    return set_->find(name) != detail::name_table::absent;
}

ZTENSOR_INLINE result<std::size_t> reader_set::shard_of(std::string_view name) const {
    const std::uint32_t found = set_->find(name);
    if (found != detail::name_table::absent) {
        return set_->shard_at(found);
    }
    return detail::no_object(*set_, name);
}

ZTENSOR_INLINE set_plan::set_plan(reader_set from) : set_(std::move(from)) {
    plans_.reserve(set_.shards().size());
    for (const reader& each : set_.shards()) {
        plans_.emplace_back(each);
    }
}

ZTENSOR_INLINE load_plan* set_plan::plan_of(std::string_view name) {
    ++size_;
    const result<std::size_t> shard = set_.shard_of(name);
    if (!shard) {
        missing_.emplace_back(name);
        return nullptr;
    }
    return &plans_[*shard];
}

ZTENSOR_INLINE result<load_report> set_plan::run(const load_options& options) const {
    return detail::guard_memory([&]() -> result<load_report> {
        detail::set_problems problems;
        for (const std::string& each : missing_) {
            problems.add(set_.find(each).error());
        }
        std::uint64_t bytes_total = 0;
        for (const load_plan& each : plans_) {
            const result<std::uint64_t> bytes = each.check();
            if (!bytes) {
                problems.add(bytes.error());
            }
            bytes_total += bytes.value_or(0);
        }
        if (!problems.empty()) {
            return problems.all();
        }
        load_report all;
        load_options of_each = options;
        const auto progress = [&](const load_progress& now) {
            const bool is_end_of_file = now.name.empty() && all.bytes_decoded + now.bytes_total != bytes_total;
            return is_end_of_file || options.progress_({all.bytes_decoded + now.bytes_done, bytes_total, now.name});
        };
        if (options.progress_) {
            of_each.progress(progress);
        }
        for (const load_plan& each : plans_) {
            if (each.size() == 0) {
                continue;
            }
            ZTENSOR_TRY_ASSIGN(const load_report done, each.run(of_each));
            all.bytes_read += done.bytes_read;
            all.bytes_decoded += done.bytes_decoded;
            all.seconds += done.seconds;
        }
        return all;
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
