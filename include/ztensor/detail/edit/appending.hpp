// SPDX-License-Identifier: MIT
//
// A writer that goes on with a file that exists, by any calls.
#ifndef ZTENSOR_DETAIL_EDIT_APPENDING_HPP
#define ZTENSOR_DETAIL_EDIT_APPENDING_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/edit/old_file.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/write/atomic_file.hpp>
#include <ztensor/detail/write/extended_file.hpp>
#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/detail/write/options_check.hpp>
#include <ztensor/detail/write/undo_log.hpp>
#include <ztensor/detail/write/writer_core.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// At which version 2 goes on: the largest, up to that of its canonical form, at which the manifest and all blobs are.
[[nodiscard]] ZTENSOR_COLD inline std::uint64_t alignment_kept_2(const old_file& old) noexcept {
    std::uint64_t bits = canonical_alignment_2 | old.index.offset;
    const manifest& index = old.opened.index;
    for (const object_record& object : index.objects) {
        for (const component_record& each : index.components_of(object)) {
            bits |= shard_of(index, each) == nullptr ? each.offset : 0;
        }
    }
    return bits & (~bits + 1);
}

/// A writer that has nothing to write yet but what the old file's manifest says of itself.
[[nodiscard]] ZTENSOR_COLD inline result<writer> go_on_with(const old_file& old, std::unique_ptr<byte_sink> sink,
                                                            write_options options) {
    options.version(old.version);
    if (old.version == format_version::v2) {
        options.any_order();
        options.alignment_bytes((std::max)(blob_alignment_2, options.alignment_bytes_.value_or(alignment_kept_2(old))));
    }
    auto* const core = new writer_core(std::move(sink), nullptr, options);
    writer out = writer_access::make(core);
    const bytes_view fields = old.index.fields.bytes();
    core->manifest().go_on(std::vector<std::byte>(fields.begin(), fields.end()), old.index.field_count);
    const manifest& index = old.opened.index;
    if (index.has_attributes) { // which 0.1 has none of
        ZTENSOR_TRY(core->set_attributes(attributes(attributes_view(index.from(index.attributes)))));
    }
    return out;
}

/// A sink for what comes instead of the old file; it takes the lock over.
[[nodiscard]] ZTENSOR_COLD inline result<std::unique_ptr<byte_sink>>
make_successor(old_file& old, const file_path& path, const write_options& options, os_calls& os) {
    auto target = std::make_unique<replacing_file>(std::move(old.place), options.sync_, std::move(old.lock));
    auto* const file = new file_writer(path, options, os);
    std::unique_ptr<byte_sink> sink(file);
    ZTENSOR_TRY(file->open(std::move(target)));
    return sink;
}

/// A sink for what comes behind the old file.
[[nodiscard]] ZTENSOR_COLD inline result<std::unique_ptr<byte_sink>>
make_extension(old_file& old, const file_path& path, const write_options& options, os_calls& os) {
    ZTENSOR_TRY_ASSIGN(const undo_facts facts, undo_facts_of(old, old.source().size()));
    auto target = std::make_unique<extended_file>(std::move(old.place), std::move(old.lock), facts, options.sync_);
    auto* const file = new file_writer(path, options, os);
    std::unique_ptr<byte_sink> sink(file);
    ZTENSOR_TRY(file->open(std::move(target), facts.old_bytes));
    return sink;
}

/// writer::append by these calls.
[[nodiscard]] ZTENSOR_COLD inline result<writer> append_to(const file_path& path, const write_options& options,
                                                           os_calls& os) {
    ZTENSOR_TRY(check_options(options));
    if (options.shard_bytes_ != 0) {
        return fail(errc::invalid_argument, "what is appended to a file is written into it, not to shards");
    }
    const bool in_place = options.publish_ == publish_mode::in_place;
    ZTENSOR_TRY_ASSIGN(std::unique_ptr<old_file> opened, open_old_file(path.native(), options, os));
    old_file& old = *opened;
    ZTENSOR_TRY_ASSIGN(std::unique_ptr<byte_sink> sink,
                       in_place ? make_extension(old, path, options, os) : make_successor(old, path, options, os));
    result<writer> out = go_on_with(old, std::move(sink), options);
    if (!out) {
        return out;
    }
    writer_core& core = *writer_access::core_of(*out);
    // What version 2 has written once stays in the file: its manifest may lie before blobs, too.
    const std::uint64_t kept_bytes = old.version == format_version::v2 ? old.source().size() : old.index.offset;
    if (in_place) {
        core.file().go_on_at(old.source().size());
    } else if (result<void> copied = core.file().copy_range(old.source(), 0, kept_bytes); !copied) {
        return std::move(copied).error();
    }
    for (const old_object& object : old.index.objects) {
        core.manifest().keep_old(object.name, old.index.value_of(object));
    }
    return out;
}

} // namespace detail

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
