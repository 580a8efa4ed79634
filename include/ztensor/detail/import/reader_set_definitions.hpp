// SPDX-License-Identifier: MIT
//
// Opening sets of files and loading across them. Defines what reader_set.hpp declares.
#ifndef ZTENSOR_DETAIL_IMPORT_READER_SET_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_IMPORT_READER_SET_DEFINITIONS_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/opened_set.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader_set.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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
        result<std::shared_ptr<const detail::opened_set>> opened = detail::open_named(native, options);
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
