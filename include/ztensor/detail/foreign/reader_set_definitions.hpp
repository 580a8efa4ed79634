// SPDX-License-Identifier: MIT
//
// Opening sets of files and loading across them. Defines what reader_set.hpp declares.
#ifndef ZTENSOR_DETAIL_FOREIGN_READER_SET_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_FOREIGN_READER_SET_DEFINITIONS_HPP

#include <ztensor/detail/core/guard_memory.hpp>
#include <ztensor/detail/foreign/foreign_definitions.hpp>
#include <ztensor/detail/foreign/shard_index.hpp>
#include <ztensor/detail/manifest/growing_name_table.hpp>
#include <ztensor/detail/os/directory.hpp>
#include <ztensor/detail/read/load_plan_definitions.hpp>
#include <ztensor/reader_set.hpp>

#include <algorithm>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct opened_set {
    std::vector<reader> shards;
    std::vector<object_view> objects; ///< shard by shard
    std::vector<std::size_t> begins;  ///< of each shard among the objects
    growing_name_table names;         ///< positions among the objects

    struct name_of {
        const opened_set* set;
        std::string_view operator()(std::size_t position) const noexcept { return set->objects[position].name(); }
    };
    /// Position of an object, or name_table::absent.
    [[nodiscard]] std::uint32_t find(std::string_view name) const noexcept { return names.find(name, name_of{this}); }
    [[nodiscard]] std::size_t shard_at(std::size_t position) const noexcept {
        return static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), position) - begins.begin()) - 1;
    }
};

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
        std::string text = sentence("{} things are wrong with the set of files:", {count_});
        const char* separator = " ";
        for (const error& each : kept_) {
            text += separator;
            text +=
                each.path().empty() ? each.sentence() : sentence("{}: {}", {in_quotes(each.path()), each.sentence()});
            separator = "; ";
        }
        text += count_ > kept_.size() ? sentence("; and {} more", {count_ - kept_.size()}) : std::string();
        return error(kept_.front().code(), std::move(text));
    }

private:
    static constexpr std::size_t most_told = 100;
    std::vector<error> kept_;
    std::size_t count_ = 0;
};

/// Takes the objects of all shards in; names that stand in two go to `problems`.
ZTENSOR_COLD inline void join_shards(opened_set& set, set_problems& problems) {
    for (const reader& shard : set.shards) {
        set.begins.push_back(set.objects.size());
        for (const object_view object : shard) {
            const std::uint32_t twin = set.find(object.name());
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

/// Opens each; what does not open goes to `problems`.
ZTENSOR_COLD inline void open_shards(const std::vector<native_path>& paths, const read_options& options,
                                     opened_set& set, set_problems& problems) {
    for (const native_path& path : paths) {
        result<reader> shard = ztensor::open_any(file_path(path), options);
        if (shard) {
            set.shards.push_back(*std::move(shard));
        } else {
            problems.add(std::move(shard).error());
        }
    }
}

/// What the index says, against what is there. All shards are open.
ZTENSOR_COLD inline void check_index(const shard_index& index, const opened_set& set, set_problems& problems) {
    std::vector<bool> is_named(set.objects.size());
    for (const shard_entry& each : index.entries) {
        const std::uint32_t found = set.find(each.name);
        if (found == name_table::absent) {
            problems.add(fail(errc::stale_index, "the index says that the object {} is in {}, but it is nowhere",
                              {in_quotes(each.name), in_quotes(index.files[each.file])}));
            continue;
        }
        is_named[found] = true;
        if (const std::size_t shard = set.shard_at(found); shard != each.file) {
            problems.add(
                fail(errc::stale_index, "the index says that the object {} is in {}, but it is in {}",
                     {in_quotes(each.name), in_quotes(index.files[each.file]), in_quotes(index.files[shard])}));
        }
    }
    for (std::size_t i = 0; i < is_named.size(); ++i) {
        if (!is_named[i]) {
            problems.add(fail(errc::stale_index, "the object {} is in {}, but the index does not name it",
                              {in_quotes(set.objects[i].name()), in_quotes(index.files[set.shard_at(i)])}));
        }
    }
}

[[nodiscard]] ZTENSOR_COLD inline result<std::shared_ptr<const opened_set>> open_indexed(const native_path& path,
                                                                                         const read_options& options) {
    const result<shard_index> index = read_shard_index(file_path(path), options);
    if (!index) {
        return error(index.error()).in_file(path_text(path));
    }
    std::vector<native_path> paths;
    for (const std::string& each : index->files) {
        paths.push_back(joined_path(directory_of(path), file_path(each).native()));
    }
    auto set = std::make_shared<opened_set>();
    set_problems problems;
    open_shards(paths, options, *set, problems);
    if (problems.empty()) { // else what it says can't be held against all of them
        join_shards(*set, problems);
        check_index(*index, *set, problems);
    }
    if (!problems.empty()) {
        return problems.all();
    }
    return std::shared_ptr<const opened_set>(std::move(set));
}

[[nodiscard]] ZTENSOR_COLD inline result<std::shared_ptr<const opened_set>>
open_unindexed(const std::vector<native_path>& paths, const read_options& options) {
    auto set = std::make_shared<opened_set>();
    set_problems problems;
    open_shards(paths, options, *set, problems);
    join_shards(*set, problems);
    if (!problems.empty()) {
        return problems.all();
    }
    return std::shared_ptr<const opened_set>(std::move(set));
}

[[nodiscard]] ZTENSOR_COLD inline bool is_tensor_file(std::string_view name) noexcept {
    constexpr std::string_view endings[] = {".zt", ".safetensors", ".gguf", ".npy", ".npz", ".pt", ".pth", ".onnx"};
    return std::any_of(std::begin(endings), std::end(endings),
                       [&](std::string_view each) { return ends_with_ignoring_case(name, each); });
}

[[nodiscard]] ZTENSOR_COLD inline result<std::shared_ptr<const opened_set>>
open_directory(const native_path& path, const read_options& options) {
    const result<directory> opened = directory::open(path, false);
    if (!opened) {
        return opened.error();
    }
    os_answer<std::vector<native_path>> names = opened->os().list(opened->place());
    if (names.failure) {
        return os_failure("can't list the directory", names.failure);
    }
    std::sort(names.value.begin(), names.value.end());
    std::vector<native_path> indices, files;
    for (const native_path& each : names.value) {
        const std::string name = path_text(each);
        if (ends_with_ignoring_case(name, ".index.json")) {
            indices.push_back(joined_path(path, each));
        } else if (is_tensor_file(name)) {
            files.push_back(joined_path(path, each));
        }
    }
    if (indices.size() > 1) {
        return fail(errc::invalid_argument, "the directory has {} indices of shards: open one of them",
                    {indices.size()});
    }
    if (indices.empty() && files.empty()) {
        return fail(errc::file_not_found, "the directory has no file that is called as one of tensors is");
    }
    return indices.empty() ? open_unindexed(files, options) : open_indexed(indices[0], options);
}

[[nodiscard]] ZTENSOR_COLD inline result<std::shared_ptr<const opened_set>> open_set(const native_path& path,
                                                                                     const read_options& options) {
    const auto [found, unknown] = operating_system_for_reading().status(path);
    if (!unknown && found.kind == file_kind::other) {
        result<std::shared_ptr<const opened_set>> set = open_directory(path, options);
        return set || !set.error().path().empty() ? std::move(set) : std::move(set).error().in_file(path_text(path));
    }
    return ends_with_ignoring_case(path_text(path), ".json") ? open_indexed(path, options)
                                                             : open_unindexed({path}, options);
}

/// What a set of no files looks at. Never destroyed, as no_file.
union no_files {
    opened_set opened;

    no_files() : opened() {}
    no_files(const no_files&) = delete;
    no_files& operator=(const no_files&) = delete;
    ~no_files() {}

    [[nodiscard]] static const opened_set& get() {
        static const no_files none;
        return none.opened;
    }
};

} // namespace detail

ZTENSOR_COLD ZTENSOR_INLINE reader_set::reader_set() noexcept
    : set_(std::shared_ptr<void>(), &detail::no_files::get()) {
}

ZTENSOR_COLD ZTENSOR_INLINE result<reader_set> reader_set::open(const file_path& path, const read_options& options) {
    return detail::guard_memory([&]() -> result<reader_set> {
        result<std::shared_ptr<const detail::opened_set>> opened = detail::open_set(path.native(), options);
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
        result<std::shared_ptr<const detail::opened_set>> opened = detail::open_unindexed(native, options);
        return opened ? result<reader_set>(reader_set(*std::move(opened))) : std::move(opened).error();
    });
}

ZTENSOR_COLD ZTENSOR_INLINE result<reader_set> reader_set::of(std::vector<reader> shards) {
    return detail::guard_memory([&]() -> result<reader_set> {
        auto set = std::make_shared<detail::opened_set>();
        set->shards = std::move(shards);
        detail::set_problems problems;
        detail::join_shards(*set, problems);
        if (!problems.empty()) {
            return problems.all();
        }
        return reader_set(std::move(set));
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
    return detail::fail(errc::object_not_found, "there is no object {} in any of {} files",
                        {detail::in_quotes(name), set_->shards.size()});
}

ZTENSOR_INLINE bool reader_set::contains(std::string_view name) const noexcept {
    return set_->find(name) != detail::name_table::absent;
}

ZTENSOR_INLINE result<std::size_t> reader_set::shard_of(std::string_view name) const {
    const std::uint32_t found = set_->find(name);
    if (found != detail::name_table::absent) {
        return set_->shard_at(found);
    }
    return detail::fail(errc::object_not_found, "there is no object {} in any of {} files",
                        {detail::in_quotes(name), set_->shards.size()});
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
            problems.add(detail::fail(errc::object_not_found, "there is no object {} in any of {} files",
                                      {detail::in_quotes(each), set_.shards().size()}));
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
            const result<load_report> done = each.run(of_each);
            if (!done) {
                return done.error();
            }
            all.bytes_read += done->bytes_read;
            all.bytes_decoded += done->bytes_decoded;
            all.seconds += done->seconds;
        }
        return all;
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
