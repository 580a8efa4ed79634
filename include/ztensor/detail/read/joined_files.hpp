// SPDX-License-Identifier: MIT
//
// Several files as one: their objects file by file, and a table of all names.
#ifndef ZTENSOR_DETAIL_READ_JOINED_FILES_HPP
#define ZTENSOR_DETAIL_READ_JOINED_FILES_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/format.hpp>
#include <ztensor/object_view.hpp>

#include <algorithm>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct joined_files {
    vector<reader> files;
    vector<object_view> objects; ///< file by file
    vector<size_t> begins;       ///< of each file among the objects
    growing_name_table names;    ///< positions among the objects
    vector<skipped_item> skipped; ///< files and objects that are left out of the set

    struct name_of {
        const joined_files* all;
        string_view operator()(size_t position) const noexcept { return all->objects[position].name(); }
    };
    /// Position of an object, or name_table::absent.
    [[nodiscard]] uint32_t find(string_view name) const noexcept { return names.find(name, name_of{this}); }
    [[nodiscard]] size_t file_at(size_t position) const noexcept {
        return static_cast<size_t>(std::upper_bound(begins.begin(), begins.end(), position) - begins.begin()) - 1;
    }
};

[[nodiscard]] ZTENSOR_COLD inline error set_problems(const problem_list& problems,
                                                     size_t most_told = problem_list::most_kept) {
    return problems.all(sentence("{} things are wrong with the set of files:", {problems.size()}), false, most_told);
}

/// Takes the objects of all files in; names that stand in two go to `problems`.
void join(joined_files& all, problem_list& problems);

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
