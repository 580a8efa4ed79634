// SPDX-License-Identifier: MIT
//
// Files that a file says its data lies in. They must lie in its own folder, or below it, whatever the file says: see
// detail/os/file.hpp.
#ifndef ZTENSOR_DETAIL_IMPORT_SIBLING_FILES_HPP
#define ZTENSOR_DETAIL_IMPORT_SIBLING_FILES_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/zip.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/read/siblings.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
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
        result<std::shared_ptr<const byte_source>> source = open(location);
        if (!source) {
            const error& why = source.error();
            return fail(why.code(), "data is said to lie in {}: {}", {in_quotes(location), why.sentence()})
                .because(why.os_error());
        }
        sibling found;
        found.size = (*source)->size();
        ZTENSOR_TRY_ASSIGN(const std::uint64_t begin, all_.add(*std::move(source), 0, found.size));
        found.begin = begin;
        known_.emplace(location, found);
        return found;
    }

private:
    [[nodiscard]] result<std::shared_ptr<const byte_source>> open(std::string_view location) {
        if (file_.path.empty()) {
            return fail(errc::name_invalid, "what was opened lies in no folder");
        }
        if (!is_path_below(location)) {
            return fail(errc::name_invalid, "it is no plain path below the file's folder");
        }
        if (!folder_) {
            ZTENSOR_TRY_ASSIGN(beneath_folder folder, folder_beside(*file_.source, file_.path, file_.options));
            folder_ = std::move(folder);
        }
        return open_sibling(*folder_, file_path(location).native(), file_.options);
    }

    const foreign_file& file_;
    assembled_source& all_;
    std::optional<beneath_folder> folder_; ///< once somebody asked
    std::map<std::string, sibling> known_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
