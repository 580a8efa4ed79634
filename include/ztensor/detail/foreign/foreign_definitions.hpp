// SPDX-License-Identifier: MIT
//
// First bytes → the importer that knows them. Defines what foreign.hpp declares.
#ifndef ZTENSOR_DETAIL_FOREIGN_FOREIGN_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_FOREIGN_FOREIGN_DEFINITIONS_HPP

#include <ztensor/detail/core/guard_memory.hpp>
#include <ztensor/detail/foreign/importer.hpp>
#include <ztensor/detail/foreign/sniff.hpp>
#include <ztensor/detail/read/reader_definitions.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/foreign.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[nodiscard]] ZTENSOR_COLD inline result<reader> open_as(const foreign_file& file, result<imported> made) {
    if (!made) {
        return std::move(made).error().in_file(path_text(file.path));
    }
    return reader_maker::open(file, *std::move(made));
}

[[nodiscard]] ZTENSOR_COLD inline result<reader> open_sniffed(const foreign_file& file, foreign_kind_id kind) {
    switch (kind) {
    default:
        return reader_maker::open(file); // which names what can't be imported
    }
}

[[nodiscard]] ZTENSOR_COLD inline result<foreign_kind_id> sniff(const foreign_file& file) {
    std::byte head[head_bytes];
    const std::uint64_t size = file.source->size();
    const span<std::byte> start(head, static_cast<std::size_t>(std::min<std::uint64_t>(size, head_bytes)));
    if (result<void> read = file.source->read_at(0, start); !read) {
        return std::move(read).error();
    }
    return sniff(start, size, path_text(file.path));
}

} // namespace detail

ZTENSOR_COLD ZTENSOR_INLINE result<reader> open_any(const file_path& path, const read_options& options) {
    return detail::guard_memory([&]() -> result<reader> {
        result<std::shared_ptr<const byte_source>> source = detail::open_source(path, options.mode_);
        if (!source) {
            return std::move(source).error();
        }
        const detail::foreign_file file = {*std::move(source), path.native(), options};
        const result<detail::foreign_kind_id> kind = detail::sniff(file);
        return kind ? detail::open_sniffed(file, *kind) : kind.error();
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
