// SPDX-License-Identifier: MIT
//
// Files beside an open file, as sources of bytes. Which ones may be opened, beneath.hpp says.
#ifndef ZTENSOR_DETAIL_READ_SIBLINGS_HPP
#define ZTENSOR_DETAIL_READ_SIBLINGS_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/os/beneath.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/read/reopened_source.hpp>
#include <ztensor/detail/read/source_access.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <atomic>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The folder of a file that was opened as `source`, by the path that the caller gave.
[[nodiscard]] ZTENSOR_COLD inline result<beneath_folder>
folder_beside(const byte_source& source, const native_path& path, const read_options& options,
              os_reading& os = operating_system_for_reading()) {
    file_status status;
    if (const file* const opened = source_access::file_of(source)) {
        const os_answer<file_status> found = opened->os().status(opened->handle());
        status = found.failure ? file_status() : found.value;
    } else {
        static_cast<void>(source_access::identify(source, status.device, status.file_id));
    }
    return beneath_folder::beside(path, status, options.follow_links_, os);
}

/// A source that is held open as long as it lives. A process has few of them: see is_held.
class held_source {
public:
    held_source() noexcept : is_held(count().fetch_add(1, std::memory_order_relaxed) < most) {}
    held_source(const held_source&) = delete;
    held_source& operator=(const held_source&) = delete;
    ~held_source() { count().fetch_sub(1, std::memory_order_relaxed); }

    const bool is_held; ///< false where there are enough
    std::shared_ptr<const byte_source> source;

private:
    static constexpr unsigned most = 32;

    [[nodiscard]] static std::atomic<unsigned>& count() noexcept {
        static std::atomic<unsigned> held{0};
        return held;
    }
};

/// One of several files that are open, by the path that leads to it: held open if there are few, else opened again when
/// it is read, as errc::file_changed if it is another one by then. Errors: unmappable; what the system says.
[[nodiscard]] ZTENSOR_COLD inline result<std::shared_ptr<const byte_source>>
source_of_sibling(file content, const read_options& options, const native_path& path) {
    if (const auto held = std::make_shared<held_source>(); held->is_held) {
        result<std::shared_ptr<const byte_source>> source = source_of_file(std::move(content), options, path);
        if (!source) {
            return source;
        }
        held->source = *std::move(source);
        return std::shared_ptr<const byte_source>(held, held->source.get());
    }
    os_reading& os = content.os();
    const os_answer<file_status> status = os.status(content.handle());
    if (status.failure) {
        return os_failure("can't find out which file it is", status.failure);
    }
    const auto source =
        std::make_shared<reopened_source>(reopenable{&os, os.absolute(path), status.value}, options, path_text(path));
    source->keep(std::move(content));
    if (options.mode_ == io_mode::mapped) {
        ZTENSOR_TRY(source->map());
    }
    return std::shared_ptr<const byte_source>(source);
}

/// A file in the folder. Errors: those of beneath_folder::open() and source_of_sibling().
[[nodiscard]] ZTENSOR_COLD inline result<std::shared_ptr<const byte_source>>
open_sibling(const beneath_folder& folder, const native_path& name, const read_options& options) {
    result<file> opened = folder.open(name);
    return opened ? source_of_sibling(*std::move(opened), options, joined_path(folder.path(), name))
                  : std::move(opened).error();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
