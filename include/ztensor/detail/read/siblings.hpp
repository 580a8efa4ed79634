// SPDX-License-Identifier: MIT
//
// Files beside an open file, as sources of bytes. Which ones may be opened, beneath.hpp says.
#ifndef ZTENSOR_DETAIL_READ_SIBLINGS_HPP
#define ZTENSOR_DETAIL_READ_SIBLINGS_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/os/beneath.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/read/source_access.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The folder of a file that was opened as `source`, by the path that the caller gave.
[[nodiscard]] ZTENSOR_COLD inline result<beneath_folder>
folder_beside(const byte_source& source, const native_path& path, const read_options& options,
              os_reading& os = operating_system_for_reading()) {
    const file* const opened = source_access::file_of(source);
    const os_answer<file_status> status =
        opened != nullptr ? opened->os().status(opened->handle()) : os_answer<file_status>();
    return beneath_folder::beside(path, status.failure ? file_status() : status.value, options.follow_links_, os);
}

/// A file in the folder. Errors: those of beneath_folder::open(); unmappable.
[[nodiscard]] ZTENSOR_COLD inline result<std::shared_ptr<const byte_source>>
open_sibling(const beneath_folder& folder, const native_path& name, const read_options& options) {
    result<file> opened = folder.open(name);
    return opened ? source_of_file(*std::move(opened), options.mode_, joined_path(folder.path(), name))
                  : std::move(opened).error();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
