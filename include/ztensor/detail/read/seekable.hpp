// SPDX-License-Identifier: MIT
//
// Blobs of seekable zstd -> bytes, by their table: each frame by itself, on several threads. SPEC.md section 13.7.
#ifndef ZTENSOR_DETAIL_READ_SEEKABLE_HPP
#define ZTENSOR_DETAIL_READ_SEEKABLE_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/codec/zstd.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/detail/read/thread_memory.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The table at the end of the component's blob, which one without frames has, too. Errors: decode_failed, decode_size,
/// limit_exceeded, out_of_memory, and what the source says.
[[nodiscard]] ZTENSOR_COLD inline result<void> load_seek_table(const opened_file& file,
                                                               const component_record& component, seek_table& table) {
    const std::uint64_t least_bytes = seek_head_bytes + seek_footer_bytes;
    if (component.length < least_bytes) {
        return fail(errc::decode_failed, "a blob of {} bytes is too small for the seek table of seekable zstd",
                    {component.length});
    }
    std::byte last[seek_footer_bytes];
    const std::uint64_t blob_end = component.offset + component.length;
    ZTENSOR_TRY(file.source->read_at(blob_end - seek_footer_bytes, last));
    ZTENSOR_TRY_ASSIGN(const seek_footer footer, read_seek_footer(last));
    const std::uint64_t table_bytes = footer.table_bytes();
    if (table_bytes > component.length) {
        return fail(errc::decode_failed, "the seek table claims {} frames, which take more bytes than the blob has",
                    {footer.frames});
    }
    ZTENSOR_TRY(check_blob_limit(table_bytes, file.options));
    byte_buffer bytes;
    if (!bytes.allocate(static_cast<std::size_t>(table_bytes))) {
        return fail(errc::out_of_memory, "no memory for a seek table of {} bytes", {table_bytes});
    }
    ZTENSOR_TRY(file.source->read_at(blob_end - table_bytes, bytes.writable_bytes()));
    return table.read(bytes.bytes(), footer, component.length, component.uncompressed_length);
}

/// One frame into `destination`, which has the size of its content. Errors: decode_failed, decode_size, limit_exceeded,
/// out_of_memory, and what the source says.
[[nodiscard]] ZTENSOR_COLD inline result<void> decode_seekable_frame(const opened_file& file,
                                                                     const component_record& component,
                                                                     const seek_table& table, std::size_t frame,
                                                                     span<std::byte> destination) {
    component_record part = component;
    part.offset += table.begin(frame);
    part.length = table.end(frame) - table.begin(frame);
    thread_memory memory;
    ZTENSOR_TRY_ASSIGN(const bytes_view stored, load_blob(file, part, memory));
    result<void> valid = check_seekable_frame(stored);
    if (valid) {
        valid = decode_zstd(stored, destination);
    }
    return valid ? valid : std::move(valid).error().at(part.offset);
}

/// All frames into `destination`, which has exactly the component's decoded length, on as many threads as the caller
/// allows. Errors: as decode_seekable_frame() and load_seek_table(); digest_mismatch.
[[nodiscard]] ZTENSOR_COLD inline result<void>
decode_seekable(const opened_file& file, const component_record& component, span<std::byte> destination) {
    constexpr std::uint64_t smallest_bytes_for_threads = std::uint64_t{512} << 10;
    seek_table table;
    ZTENSOR_TRY(load_seek_table(file, component, table));
    std::atomic<std::size_t> next{0};
    os_mutex mutex;
    result<void> failure;
    const unsigned threads = component.length < smallest_bytes_for_threads ? 1 : file.options.threads_;
    run_in_parallel(threads, table.frames(), [&] {
        for (std::size_t frame = next++; frame < table.frames(); frame = next++) {
            const span<std::byte> place = destination.subspan(static_cast<std::size_t>(table.content_begin(frame)),
                                                              static_cast<std::size_t>(table.content_bytes(frame)));
            result<void> done = decode_seekable_frame(file, component, table, frame, place);
            if (!done) {
                next = table.frames();
                const os_lock lock(mutex);
                failure = failure ? std::move(done) : std::move(failure);
            }
        }
    });
    if (!failure) {
        return failure;
    }
    blob_check check(file, component);
    if (check.is_wanted()) {
        check.take(destination);
    }
    return check.finish();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
