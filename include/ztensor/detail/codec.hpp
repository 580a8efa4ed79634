// SPDX-License-Identifier: MIT
//
// Stored bytes ↔ decoded bytes of one component: raw or zstd, digests, limits. Decoded bytes are in the file's byte
// order. SPEC.md §6 and §7.
#ifndef ZTENSOR_DETAIL_CODEC_HPP
#define ZTENSOR_DETAIL_CODEC_HPP

#include <ztensor/detail/cast.hpp>
#include <ztensor/detail/opened_file.hpp>
#include <ztensor/detail/text.hpp>
#include <ztensor/detail/zstd.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/manifest.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace v0 {
namespace detail {

/// `bytes` may be held in memory: by this host, and by the caller's limit.
[[nodiscard]] inline result<void> check_memory_limit(std::uint64_t bytes, const read_options& options) {
    if (bytes > options.max_decoded_bytes_) {
        return error(errc::limit_exceeded, "the component takes " + std::to_string(bytes) + " bytes, more than the " +
                                               std::to_string(options.max_decoded_bytes_) +
                                               " of read_options::max_decoded_bytes");
    }
    if (!fits_address_space(bytes)) {
        return error(errc::too_large_for_host, "the component takes " + std::to_string(bytes) +
                                                   " bytes, more than this host can address");
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
                                                  std::vector<std::byte>& buffer) {
    if (const std::optional<bytes_view> blob = mapped_blob(file, component)) {
        if (result<void> unchanged = file.source->check_unchanged(); !unchanged) {
            return std::move(unchanged).error();
        }
        return *blob;
    }
    const std::uint64_t most_growth = file.options.max_decoded_bytes_ / 128 + 1024; // what zstd can't compress grows
    const std::uint64_t shrunk = component.length - std::min(component.length, most_growth);
    result<void> allowed = check_memory_limit(shrunk, file.options);
    if (allowed && !fits_address_space(component.length)) {
        allowed = error(errc::too_large_for_host, "the blob takes " + std::to_string(component.length) +
                                                      " bytes, more than this host can address");
    }
    if (!allowed) {
        return std::move(allowed).error();
    }
    buffer.resize(static_cast<std::size_t>(component.length));
    if (result<void> read = file.source->read_at(component.offset, buffer); !read) {
        return std::move(read).error();
    }
    return bytes_view(buffer);
}

/// What the manifest's digest says of `computed`, the digester that took all stored bytes in.
[[nodiscard]] inline digest_state compare_digest(const digest_parts& expected, const digester& computed) {
    const std::string text = computed.text();
    return same_digest(*parse_digest(text), expected) ? digest_state::match : digest_state::mismatch;
}

/// The digest that the manifest gives and this library can compute.
[[nodiscard]] inline std::optional<digest_parts> known_digest(const opened_file& file,
                                                              const component_record& component) noexcept {
    if (!component.digest_text.is_present()) {
        return std::nullopt;
    }
    const std::optional<digest_parts> parts = parse_digest(file.index.text(component.digest_text));
    return parts && parts->algorithm ? parts : std::nullopt;
}

/// Computes the digest of the blob as stored, piece by piece unless it is mapped, and compares.
[[nodiscard]] inline result<digest_state> verify_digest(const opened_file& file, const component_record& component) {
    if (!component.digest_text.is_present()) {
        return digest_state::absent;
    }
    const std::optional<digest_parts> expected = known_digest(file, component);
    if (!expected) {
        return digest_state::unsupported;
    }
    digester hash(*expected->algorithm);
    if (const std::optional<bytes_view> blob = mapped_blob(file, component)) {
        if (result<void> unchanged = file.source->check_unchanged(); !unchanged) {
            return std::move(unchanged).error();
        }
        hash.update(*blob);
        return compare_digest(*expected, hash);
    }
    constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;
    std::vector<std::byte> piece(static_cast<std::size_t>(std::min(component.length, piece_bytes)));
    for (std::uint64_t at = 0; at < component.length; at += piece.size()) {
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(component.length - at, piece.size()));
        const span<std::byte> part = span<std::byte>(piece).first(size);
        if (result<void> read = file.source->read_at(component.offset + at, part); !read) {
            return std::move(read).error();
        }
        hash.update(part);
    }
    return compare_digest(*expected, hash);
}

/// Where the caller wants digests checked: `stored`, the whole blob, matches its own, if it has one that is known.
[[nodiscard]] inline result<void> check_digest(const opened_file& file, const component_record& component,
                                               bytes_view stored) {
    const std::optional<digest_parts> expected =
        file.options.verify_digests_ ? known_digest(file, component) : std::nullopt;
    if (!expected) {
        return {};
    }
    digester hash(*expected->algorithm);
    hash.update(stored);
    if (compare_digest(*expected, hash) == digest_state::match) {
        return {};
    }
    return error(errc::digest_mismatch, "the stored bytes have the digest " + hash.text() + ", but the manifest says " +
                                            quote(file.index.text(component.digest_text)))
        .at(component.offset);
}

[[nodiscard]] inline result<void> check_encoding(const opened_file& file, const component_record& component) {
    if (component.encoding) {
        return {};
    }
    return error(errc::unsupported_encoding, "the blob is encoded as " +
                                                 quote(file.index.text(component.encoding_word)) +
                                                 "; this library decodes raw and zstd");
}

/// Decodes all of a component into `destination`, which has exactly its decoded_length().
/// Errors: unsupported_encoding, digest_mismatch, decode_failed, decode_size, and what the source reports.
[[nodiscard]] inline result<void> decode(const opened_file& file, const component_record& component,
                                         span<std::byte> destination) {
    if (result<void> known = check_encoding(file, component); !known) {
        return known;
    }
    if (component.encoding == encoding::raw) {
        return file.source->read_at(component.offset, destination).and_then([&] {
            return check_digest(file, component, destination);
        });
    }
    std::vector<std::byte> buffer;
    const result<bytes_view> stored = load_blob(file, component, buffer);
    if (!stored) {
        return stored.error();
    }
    if (result<void> intact = check_digest(file, component, *stored); !intact) {
        return intact;
    }
    return decode_zstd(*stored, destination).transform_error([&](error why) {
        return std::move(why).at(component.offset);
    });
}

/// Decodes a component whose decoded size stands nowhere, within the caller's limit. SPEC.md §6.2.
[[nodiscard]] inline result<std::vector<std::byte>> decode_unsized(const opened_file& file,
                                                                   const component_record& component) {
    std::vector<std::byte> buffer;
    const result<bytes_view> stored = load_blob(file, component, buffer);
    if (!stored) {
        return stored.error();
    }
    if (result<void> intact = check_digest(file, component, *stored); !intact) {
        return std::move(intact).error();
    }
    return decode_zstd_within(*stored, file.options.max_decoded_bytes_).transform_error([&](error why) {
        return std::move(why).at(component.offset);
    });
}

/// All decoded bytes of a component, in the file's byte order.
[[nodiscard]] inline result<std::vector<std::byte>> decode(const opened_file& file, const component_record& component) {
    if (result<void> known = check_encoding(file, component); !known) {
        return std::move(known).error();
    }
    const std::optional<std::uint64_t> size = component.decoded_length();
    if (!size) {
        return decode_unsized(file, component);
    }
    if (result<void> allowed = check_memory_limit(*size, file.options); !allowed) {
        return std::move(allowed).error();
    }
    std::vector<std::byte> decoded(static_cast<std::size_t>(*size));
    if (result<void> done = decode(file, component, decoded); !done) {
        return std::move(done).error();
    }
    return decoded;
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
