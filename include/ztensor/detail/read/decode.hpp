// SPDX-License-Identifier: MIT
//
// Stored bytes ↔ decoded bytes of one component: raw or zstd, digests, limits. Decoded bytes are in the file's byte
// order. SPEC.md §6 and §7.
#ifndef ZTENSOR_DETAIL_READ_DECODE_HPP
#define ZTENSOR_DETAIL_READ_DECODE_HPP

#include <ztensor/detail/codec/digest_text.hpp>
#include <ztensor/detail/codec/zstd.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// `bytes` may be held in memory: by this host, and by the caller's limit.
[[nodiscard]] inline result<void> check_memory_limit(std::uint64_t bytes, const read_options& options) {
    if (bytes > options.max_decoded_bytes_) {
        return fail(errc::limit_exceeded,
                    "the component takes {} bytes, more than the {} of read_options::max_decoded_bytes",
                    {bytes, options.max_decoded_bytes_});
    }
    if (!fits_address_space(bytes)) {
        return fail(errc::too_large_for_host, "the component takes {} bytes, more than this host can address", {bytes});
    }
    return {};
}

/// The blob where it lies in memory, or nothing if the source is not mapped.
[[nodiscard]] inline std::optional<bytes_view> mapped_blob(const opened_file& file,
                                                           const component_record& component) noexcept {
    const bytes_view all = file.source->mapped();
    if (!fits(component.offset, component.length, all.size())) {
        return std::nullopt;
    }
    return all.subspan(static_cast<std::size_t>(component.offset), static_cast<std::size_t>(component.length));
}

/// The blob in memory: in the mapping, after a look that it is still there, or read into `buffer`.
[[nodiscard]] inline result<bytes_view> load_blob(const opened_file& file, const component_record& component,
                                                  byte_buffer& buffer) {
    if (const std::optional<bytes_view> blob = mapped_blob(file, component)) {
        if (result<void> unchanged = file.source->check_unchanged(); !unchanged) {
            return std::move(unchanged).error();
        }
        return *blob;
    }
    const std::uint64_t most_growth = file.options.max_decoded_bytes_ / 128 + 1024; // what zstd can't compress grows
    const std::uint64_t shrunk = component.length - std::min(component.length, most_growth);
    if (result<void> allowed = check_memory_limit(shrunk, file.options); !allowed) {
        return std::move(allowed).error();
    }
    if (!fits_address_space(component.length)) {
        return fail(errc::too_large_for_host, "the blob takes {} bytes, more than this host can address",
                    {component.length});
    }
    if (!buffer.allocate(static_cast<std::size_t>(component.length))) {
        return fail(errc::out_of_memory, "no memory for a blob of {} bytes", {component.length});
    }
    if (result<void> read = file.source->read_at(component.offset, buffer.writable_bytes()); !read) {
        return std::move(read).error();
    }
    return buffer.bytes();
}

/// What the manifest's digest says of `computed`, the digester that took all stored bytes in.
[[nodiscard]] inline digest_state compare_digest(const digest_parts& expected, const digester& computed) {
    const std::string text = computed.text();
    return same_digest(parse_digest(text), expected) ? digest_state::match : digest_state::mismatch;
}

/// The digest that the manifest gives; its algorithm is none where this library can't compute it, or there is none.
[[nodiscard]] inline digest_parts known_digest(const opened_file& file, const component_record& component) noexcept {
    return parse_digest(file.index.text(component.digest_text));
}

/// Computes the digest of the blob as stored, piece by piece unless it is mapped, and compares.
[[nodiscard]] inline result<digest_state> verify_digest(const opened_file& file, const component_record& component) {
    if (!component.digest_text.is_present()) {
        return digest_state::absent;
    }
    const digest_parts expected = known_digest(file, component);
    if (expected.algorithm == digest::none) {
        return digest_state::unsupported;
    }
    digester hash(expected.algorithm);
    if (const std::optional<bytes_view> blob = mapped_blob(file, component)) {
        if (result<void> unchanged = file.source->check_unchanged(); !unchanged) {
            return std::move(unchanged).error();
        }
        hash.update(*blob);
        return compare_digest(expected, hash);
    }
    constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;
    byte_buffer piece;
    if (!piece.allocate(static_cast<std::size_t>(std::min(component.length, piece_bytes)))) {
        return fail(errc::out_of_memory, "no memory for a piece of 1 MiB");
    }
    for (std::uint64_t at = 0; at < component.length; at += piece.size()) {
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(component.length - at, piece.size()));
        const span<std::byte> part = piece.writable_bytes().first(size);
        if (result<void> read = file.source->read_at(component.offset + at, part); !read) {
            return std::move(read).error();
        }
        hash.update(part);
    }
    return compare_digest(expected, hash);
}

/// Where the caller wants digests checked: `stored`, the whole blob, matches its own, if it has one that is known.
[[nodiscard]] inline result<void> check_digest(const opened_file& file, const component_record& component,
                                               bytes_view stored) {
    const digest_parts expected = known_digest(file, component);
    if (!file.options.verify_digests_ || expected.algorithm == digest::none) {
        return {};
    }
    digester hash(expected.algorithm);
    hash.update(stored);
    if (compare_digest(expected, hash) == digest_state::match) {
        return {};
    }
    return fail(errc::digest_mismatch, "the stored bytes have the digest {}, but the manifest says {}",
                {hash.text(), in_quotes(file.index.text(component.digest_text))})
        .at(component.offset);
}

[[nodiscard]] inline result<void> check_encoding(const opened_file& file, const component_record& component) {
    if (component.encoding) {
        return {};
    }
    return fail(errc::unsupported_encoding, "the blob is encoded as {}; this library decodes raw and zstd",
                {in_quotes(file.index.text(component.encoding_word))});
}

/// Decodes all of a component into `destination`, which has exactly its decoded_length().
/// Errors: unsupported_encoding, digest_mismatch, decode_failed, decode_size, and what the source reports.
[[nodiscard]] inline result<void> decode(const opened_file& file, const component_record& component,
                                         span<std::byte> destination) {
    if (result<void> known = check_encoding(file, component); !known) {
        return known;
    }
    if (component.encoding == encoding::raw) {
        result<void> read = file.source->read_at(component.offset, destination);
        return read ? check_digest(file, component, destination) : read;
    }
    byte_buffer buffer;
    const result<bytes_view> stored = load_blob(file, component, buffer);
    if (!stored) {
        return stored.error();
    }
    if (result<void> intact = check_digest(file, component, *stored); !intact) {
        return intact;
    }
    result<void> decoded = decode_zstd(*stored, destination);
    return decoded ? decoded : std::move(decoded).error().at(component.offset);
}

/// Decodes a component whose decoded size stands nowhere, to the front of `decoded`, within the caller's limit. Gives
/// the size. SPEC.md §6.2.
[[nodiscard]] inline result<std::size_t> decode_unsized(const opened_file& file, const component_record& component,
                                                        byte_buffer& decoded) {
    byte_buffer buffer;
    const result<bytes_view> stored = load_blob(file, component, buffer);
    if (!stored) {
        return stored.error();
    }
    if (result<void> intact = check_digest(file, component, *stored); !intact) {
        return std::move(intact).error();
    }
    result<std::size_t> size = decode_zstd_within(*stored, file.options.max_decoded_bytes_, decoded);
    return size ? size : std::move(size).error().at(component.offset);
}

/// All decoded bytes of a component, in the file's byte order, in memory of `decoded`.
[[nodiscard]] inline result<span<std::byte>> decode_whole(const opened_file& file, const component_record& component,
                                                          byte_buffer& decoded) {
    if (result<void> known = check_encoding(file, component); !known) {
        return std::move(known).error();
    }
    const std::optional<std::uint64_t> size = component.decoded_length();
    if (!size) {
        const result<std::size_t> found = decode_unsized(file, component, decoded);
        if (!found) {
            return found.error();
        }
        return decoded.writable_bytes().first(*found);
    }
    if (result<void> allowed = check_memory_limit(*size, file.options); !allowed) {
        return std::move(allowed).error();
    }
    if (!decoded.allocate(static_cast<std::size_t>(*size))) {
        return fail(errc::out_of_memory, "no memory for a component of {} bytes", {*size});
    }
    if (result<void> done = decode(file, component, decoded.writable_bytes()); !done) {
        return std::move(done).error();
    }
    return decoded.writable_bytes();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
