// SPDX-License-Identifier: MIT
//
// The decoded bytes of a component, within what a call may take.
#ifndef ZTENSOR_DETAIL_READ_DECODE_HPP
#define ZTENSOR_DETAIL_READ_DECODE_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/codec/zstd.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/read/frame_stream.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/seekable.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/detail/read/thread_memory.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- call budget
//
// What one call may hold in memory of all that it makes, however many parts an object has and however they grow on
// their way: decoded, widened, converted, unpacked.

class call_budget {
public:
    explicit call_budget(const read_options& options) noexcept
        : most_(options.max_decoded_bytes_), left_(options.max_decoded_bytes_) {}

    /// Before that much memory is made. Errors: limit_exceeded, too_large_for_host.
    [[nodiscard]] ZTENSOR_COLD result<void> take(std::uint64_t elements, std::uint64_t element_bytes) noexcept {
        const std::optional<std::uint64_t> bytes = checked_multiply(elements, element_bytes);
        if (!bytes || *bytes > left_) {
            return fail(errc::limit_exceeded,
                        "{} elements of {} bytes would take the call beyond the {} of read_options::max_decoded_bytes",
                        {elements, element_bytes, most_});
        }
        if (!fits_address_space(*bytes)) {
            return fail(errc::too_large_for_host, "{} elements of {} bytes are more than this host can address",
                        {elements, element_bytes});
        }
        left_ -= *bytes;
        return {};
    }

private:
    std::uint64_t most_;
    std::uint64_t left_;
};

// -- decode
//
// Stored bytes <-> decoded bytes of one component: raw, zstd or seekable zstd. Decoded bytes are in the file's byte
// order. SPEC.md section 6.

/// Decodes all of a zstd blob at once into `destination`.
[[nodiscard]] ZTENSOR_COLD inline result<void> decode_blob(const opened_file& file, const component_record& component,
                                                           span<std::byte> destination) {
    thread_memory memory;
    ZTENSOR_TRY_ASSIGN(const bytes_view stored, load_blob(file, component, memory));
    ZTENSOR_TRY(check_digest(file, component, stored));
    result<void> decoded = decode_zstd(stored, destination);
    return decoded ? decoded : std::move(decoded).error().at(component.offset);
}

/// Decodes all of a component into `destination`, which has exactly its decoded_length().
/// Errors: unsupported_encoding, digest_mismatch, decode_failed, decode_size, and what the source reports.
[[nodiscard]] inline result<void> decode(const opened_file& file, const component_record& component,
                                         span<std::byte> destination) {
    ZTENSOR_TRY(check_encoding(file, component));
    if (component.encoding == encoding::raw) {
        blob_check check(file, component);
        result<void> read = read_checked(file, component, 0, destination, check);
        return read ? check.finish() : read;
    }
    if (component.encoding == encoding::zstd_seekable) {
        return decode_seekable(file, component, destination);
    }
    return component.length < frame_stream::smallest_blob_bytes ? decode_blob(file, component, destination)
                                                                : decode_frames(file, component, destination);
}

/// Decodes a component whose decoded size stands nowhere, to the front of `decoded`, within the caller's limit. Gives
/// the size. SPEC.md section 6.2.
[[nodiscard]] ZTENSOR_COLD inline result<std::size_t>
decode_unsized(const opened_file& file, const component_record& component, byte_buffer& decoded) {
    thread_memory memory;
    ZTENSOR_TRY_ASSIGN(const bytes_view stored, load_blob(file, component, memory));
    ZTENSOR_TRY(check_digest(file, component, stored));
    result<std::size_t> size = decode_zstd_within(stored, file.options.max_decoded_bytes_, decoded);
    return size ? size : std::move(size).error().at(component.offset);
}

/// All decoded bytes of a component, in the file's byte order, in memory of `decoded`.
[[nodiscard]] inline result<span<std::byte>> decode_whole(const opened_file& file, const component_record& component,
                                                          byte_buffer& decoded) {
    ZTENSOR_TRY(check_encoding(file, component));
    const std::optional<std::uint64_t> size = component.decoded_length();
    if (!size) {
        ZTENSOR_TRY_ASSIGN(const std::size_t found, decode_unsized(file, component, decoded));
        return decoded.writable_bytes().first(found);
    }
    ZTENSOR_TRY(check_memory_limit(*size, file.options));
    if (!decoded.allocate(static_cast<std::size_t>(*size))) {
        return fail(errc::out_of_memory, "no memory for a component of {} bytes", {*size});
    }
    ZTENSOR_TRY(decode(file, component, decoded.writable_bytes()));
    return decoded.writable_bytes();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
