// SPDX-License-Identifier: MIT
//
// An editor of a file, by any calls.
#ifndef ZTENSOR_DETAIL_EDIT_EDITING_HPP
#define ZTENSOR_DETAIL_EDIT_EDITING_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/edit/appending.hpp>
#include <ztensor/detail/edit/editor_core.hpp>
#include <ztensor/detail/edit/old_file.hpp>
#include <ztensor/detail/edit/patching.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/write/options_check.hpp>
#include <ztensor/detail/write/writer_core.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A core for a new file in place of the old one, whose lock it takes over.
[[nodiscard]] ZTENSOR_COLD inline result<std::unique_ptr<writer_core>>
make_edited(old_file& old, const file_path& path, write_options options, os_calls& os) {
    options.version(old.version);
    options.alignment_bytes(
        (std::max)(options.alignment_bytes_.value_or(blob_alignment), alignment_of_blobs(old.opened.index)));
    ZTENSOR_TRY_ASSIGN(std::unique_ptr<byte_sink> sink, make_successor(old, path, options, os));
    auto core = std::make_unique<writer_core>(std::move(sink), nullptr, options);
    const bytes_view fields = old.index.fields.bytes();
    core->manifest().go_on(std::vector<std::byte>(fields.begin(), fields.end()), old.index.field_count);
    return core;
}

/// edit() by these calls.
[[nodiscard]] ZTENSOR_COLD inline result<std::unique_ptr<editor_core>>
edit_by(const file_path& path, const write_options& options, os_calls& os) {
    ZTENSOR_TRY(check_options(options));
    const bool in_place = options.publish_ == publish_mode::in_place;
    ZTENSOR_TRY_ASSIGN(std::unique_ptr<old_file> old, open_old_file(path.native(), options, os));
    if (old->version == format_version::v2) {
        return fail(errc::not_expressible,
                    "files of version 2 only grow: append() to this one, or copy() what is to stay to another");
    }
    std::unique_ptr<patching> patch;
    std::unique_ptr<writer_core> out;
    if (in_place) {
        patch = std::make_unique<patching>(*old, options.sync_, options.threads_);
    } else {
        ZTENSOR_TRY_ASSIGN(std::unique_ptr<writer_core> made, make_edited(*old, path, options, os));
        out = std::move(made);
    }
    auto core = std::make_unique<editor_core>(std::move(old), std::move(out), std::move(patch));
    ZTENSOR_TRY(core->start());
    return core;
}

} // namespace detail

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
