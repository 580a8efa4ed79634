// SPDX-License-Identifier: MIT
//
// What every view of one open file shares: where its bytes come from, its validated manifest, and the caller's
// options. SPEC.md §9.
#ifndef ZTENSOR_DETAIL_OPENED_FILE_HPP
#define ZTENSOR_DETAIL_OPENED_FILE_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/manifest_read.hpp>
#include <ztensor/detail/manifest_read_0_1.hpp>
#include <ztensor/detail/validate.hpp>
#include <ztensor/footer.hpp>
#include <ztensor/manifest.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace ztensor {
inline namespace v0 {
namespace detail {

struct opened_file {
    std::shared_ptr<const byte_source> source;
    manifest index;
    read_options options;
    std::string path; ///< for messages; empty for memory and user-defined sources
};

/// Both ends of the file → where its manifest is.
[[nodiscard]] inline result<manifest_location> find_manifest(const byte_source& source,
                                                             std::uint64_t max_manifest_bytes) {
    constexpr std::uint64_t manifest_bytes_ceiling = std::uint64_t{1} << 30;
    const std::uint64_t size = source.size();
    std::array<std::byte, head_bytes> head;
    std::array<std::byte, tail_bytes> tail;
    const span<std::byte> start(head.data(), static_cast<std::size_t>(std::min<std::uint64_t>(size, head.size())));
    const span<std::byte> end(tail.data(), static_cast<std::size_t>(std::min<std::uint64_t>(size, tail.size())));
    if (result<void> read = source.read_at(0, start); !read) {
        return std::move(read).error();
    }
    const result<container> kind = identify_container(start, size);
    if (!kind) {
        return kind.error();
    }
    if (result<void> read = source.read_at(size - end.size(), end); !read) {
        return std::move(read).error();
    }
    return locate_manifest(*kind, end, size, std::min(max_manifest_bytes, manifest_bytes_ceiling));
}

/// The manifest's bytes in memory of our own: a file changed underneath can't change what was validated.
[[nodiscard]] inline result<void> copy_index(const byte_source& source, const manifest_location& at, manifest& index) {
    const auto length = static_cast<std::size_t>(at.length);
    index.index.reset(new (std::nothrow) std::byte[std::max<std::size_t>(length, 1)]);
    if (!index.index) {
        return error(errc::out_of_memory, "no memory for a manifest of " + std::to_string(length) + " bytes");
    }
    index.index_bytes = length;
    return source.read_at(at.offset, {index.index.get(), length});
}

[[nodiscard]] inline result<void> read_manifest(const byte_source& source, const manifest_location& at,
                                                const read_options& options, manifest& index) {
    if (result<void> copied = copy_index(source, at, index); !copied) {
        return copied;
    }
    manifest_reader reader(index, options, at.offset);
    switch (at.kind) {
    case container::zt_0_1:
        return reader.read_0_1();
    case container::zt_1_0_or_cut_off:
        return is_manifest_1_0({index.index.get(), index.index_bytes}) ? reader.read_1_0()
                                                                       : missing_footer(source.size());
    default:
        return reader.read_1();
    }
}

/// Opens a container: both ends, the manifest, every rule that needs no data. No byte of a blob is read.
[[nodiscard]] inline result<std::shared_ptr<const opened_file>>
open_container(std::shared_ptr<const byte_source> source, const read_options& options, std::string path) {
    const auto open = [&]() -> result<std::shared_ptr<const opened_file>> {
        auto opened = std::make_shared<opened_file>();
        const result<manifest_location> at = find_manifest(*source, options.max_manifest_bytes_);
        if (!at) {
            return at.error();
        }
        result<void> valid = read_manifest(*source, *at, options, opened->index);
        if (valid) {
            valid = manifest_validator(opened->index, at->offset).validate();
        }
        if (!valid) {
            return std::move(valid).error();
        }
        opened->source = std::move(source);
        opened->options = options;
        opened->path = path;
        return std::shared_ptr<const opened_file>(std::move(opened));
    };
    return guard_memory(open).transform_error([&](error why) { return std::move(why).in_file(path); });
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
