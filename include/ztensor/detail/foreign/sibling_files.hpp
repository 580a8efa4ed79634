// SPDX-License-Identifier: MIT
//
// Files that a file says its data lies in. They must lie in its own folder, or below it, whatever the file says.
//
// A caller who opens a model means its folder to be read, and nothing else. So no name may lead out of it, and no
// folder on the way may be a symbolic link. The file itself may be one, since the caches of model hubs are folders of
// nothing but links, if it leads into the model's folder or into the one that the model itself lies in once its own
// link is followed. A link to anywhere else, which an archive may bring along, would show as weights what the caller
// alone may read.
#ifndef ZTENSOR_DETAIL_FOREIGN_SIBLING_FILES_HPP
#define ZTENSOR_DETAIL_FOREIGN_SIBLING_FILES_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/foreign/importer.hpp>
#include <ztensor/detail/foreign/zip_record.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/read/assembled_source.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class sibling_files {
public:
    sibling_files(const foreign_file& file, assembled_source& all) : file_(file), all_(all) {}

    struct sibling {
        std::uint64_t begin = 0; ///< in the assembled source
        std::uint64_t size = 0;
    };

    /// The file of that relative path, opened once. Errors: name_invalid for a path that leads elsewhere, be it through
    /// a symbolic link; those of opening, such as not_regular_file.
    [[nodiscard]] result<sibling> find(const std::string& location) {
        if (const auto known = known_.find(location); known != known_.end()) {
            return known->second;
        }
        if (result<void> valid = check(location); !valid) {
            return std::move(valid).error();
        }
        result<std::shared_ptr<const byte_source>> source =
            open_file_source(path_of(location), file_.options.mode_, operating_system_for_reading());
        if (!source) {
            const error& why = source.error();
            return fail(why.code(), "data is said to lie in {}: {}", {in_quotes(location), why.sentence()})
                .because(why.os_error());
        }
        sibling found;
        found.size = (*source)->size();
        const result<std::uint64_t> begin = all_.add(*std::move(source), 0, found.size);
        if (!begin) {
            return begin.error();
        }
        found.begin = *begin;
        known_.emplace(location, found);
        return found;
    }

private:
    [[nodiscard]] native_path path_of(std::string_view location) const {
        return joined_path(directory_of(file_.path), file_path(std::string(location)).native());
    }

    [[nodiscard]] result<void> check(std::string_view location) const {
        if (file_.path.empty()) {
            return fail(errc::name_invalid, "data is said to lie in {}, but what was opened lies in no folder",
                        {in_quotes(location)});
        }
        if (!is_plain_path(location) || location.find(':') != std::string_view::npos) { // of drives and streams
            return fail(errc::name_invalid, "data is said to lie in {}, which is no plain path below the file's folder",
                        {in_quotes(location)});
        }
        for (std::size_t end = 0; end != std::string_view::npos;) {
            end = location.find('/', end + 1);
            const native_path step = path_of(location.substr(0, end));
            const os_answer<native_path> reached = operating_system().resolve_links(step);
            const bool is_link = reached.failure || reached.value != step;
            const bool is_last = end == std::string_view::npos;
            if (is_link && (reached.failure || !is_last || !is_at_home(directory_of(reached.value)))) {
                return fail(errc::name_invalid,
                            "data is said to lie in {}, which leads through a symbolic link to another folder",
                            {in_quotes(location)});
            }
        }
        return {};
    }

    /// The folder that the model was found in, or the one that it lies in.
    [[nodiscard]] bool is_at_home(const native_path& folder) const {
        if (is_same_folder(folder, directory_of(file_.path))) {
            return true;
        }
        const os_answer<native_path> model = operating_system().resolve_links(file_.path);
        return !model.failure && is_same_folder(folder, directory_of(model.value));
    }

    /// Where the system does not number folders, by what they are called.
    [[nodiscard]] static bool is_same_folder(const native_path& a, const native_path& b) {
        const native_path here(1, native_path::value_type('.'));
        const os_answer<file_status> of_a = operating_system().status(a.empty() ? here : a);
        const os_answer<file_status> of_b = operating_system().status(b.empty() ? here : b);
        if (of_a.failure || of_b.failure) {
            return false;
        }
        return of_a.value.file_id != 0 ? of_a.value.is_same_file(of_b.value) : a == b;
    }

    const foreign_file& file_;
    assembled_source& all_;
    std::map<std::string, sibling> known_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
