// SPDX-License-Identifier: MIT
//
// The stored bytes of a component, where they lie or copied.
#ifndef ZTENSOR_DETAIL_READ_STORED_HPP
#define ZTENSOR_DETAIL_READ_STORED_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/detail/read/thread_memory.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- bulk
//
// Many bytes of a source on their way into memory: from where they lie, if they stay as they are, else by reads.

/// From so many bytes on copying from a mapping pays: each page that is looked at for the first time costs a fault.
inline constexpr std::size_t bulk_bytes = std::size_t{1} << 20;

/// A range of a file where it lies, if it is much and stays as it is; else nothing. Errors: what the source says.
[[nodiscard]] inline result<std::optional<bytes_view>> find_stable_bulk(const byte_source& source, std::uint64_t offset,
                                                                        std::size_t size) {
    if (size < bulk_bytes || !source_access::is_file(source)) {
        return std::optional<bytes_view>();
    }
    return source_access::find_stable_range(source, offset, size);
}

/// As byte_source::read_at(), for bytes that are not looked at soon. What stays as it is in a mapped file is copied
/// from there. What has to be read takes 0.85 of the time where the pages of new memory come beforehand.
[[nodiscard]] inline result<void> read_bulk(const byte_source& source, std::uint64_t offset,
                                            span<std::byte> destination) {
    ZTENSOR_TRY_ASSIGN(const std::optional<bytes_view> stable, find_stable_bulk(source, offset, destination.size()));
    if (stable) {
        copy_much(*stable, destination, destination.size() >= past_cache_bytes);
        return {};
    }
    while (destination.size() > bulk_bytes && is_untouched(destination)) {
        const span<std::byte> piece = destination.first((std::min)(destination.size(), huge_page_bytes));
        make_pages(piece);
        ZTENSOR_TRY(source.read_at(offset, piece));
        offset += piece.size();
        destination = destination.subspan(piece.size());
    }
    return destination.empty() ? result<void>() : source.read_at(offset, destination);
}

// -- stored
//
// The stored bytes of one component: where they lie, whether they may be held in memory, and their digest. SPEC.md
// section 7.

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

/// The blob where it lies, if what is looked at there twice is the same both times: it can be checked, hashed and
/// decoded in place. Else nothing: it has to be read into memory of our own. Errors: what the source says.
[[nodiscard]] inline result<std::optional<bytes_view>> find_stable_blob(const opened_file& file,
                                                                        const component_record& component) {
    return source_access::find_stable_range(*file.source, component.offset, component.length);
}

/// The blob where it lies in memory, or nothing if the source is not mapped. For views alone: others may change the
/// bytes of a mapped file at any time, and take them away.
[[nodiscard]] inline std::optional<bytes_view> mapped_blob(const opened_file& file,
                                                           const component_record& component) noexcept {
    return source_access::mapped_range(*file.source, component.offset, component.length);
}

/// A blob of `bytes` may be held in memory while it is decoded.
[[nodiscard]] inline result<void> check_blob_limit(std::uint64_t bytes, const read_options& options) {
    const std::uint64_t most_growth = options.max_decoded_bytes_ / 128 + 1024; // what zstd can't compress grows
    ZTENSOR_TRY(check_memory_limit(bytes - (std::min)(bytes, most_growth), options));
    if (!fits_address_space(bytes)) {
        return fail(errc::too_large_for_host, "the blob takes {} bytes, more than this host can address", {bytes});
    }
    return {};
}

/// The blob in memory of our own, or where it lies in a file that stays as it is: what is hashed, checked and decoded
/// there is one state of the bytes, whatever happens to the source meanwhile.
[[nodiscard]] ZTENSOR_COLD inline result<bytes_view>
load_blob(const opened_file& file, const component_record& component, thread_memory& memory) {
    ZTENSOR_TRY(check_blob_limit(component.length, file.options));
    if (source_access::is_file(*file.source)) {
        const result<std::optional<bytes_view>> stable = find_stable_blob(file, component);
        if (!stable || *stable) {
            return stable ? result<bytes_view>(**stable) : stable.error();
        }
    }
    const auto size = static_cast<std::size_t>(component.length);
    if (!memory.reserve(size)) {
        return fail(errc::out_of_memory, "no memory for a blob of {} bytes", {size});
    }
    const span<std::byte> blob = memory.first(size);
    result<void> read = file.source->read_at(component.offset, blob);
    return read ? result<bytes_view>(blob) : std::move(read).error();
}

/// What the manifest's digest says of `computed`, the digester that took all stored bytes in.
[[nodiscard]] inline digest_state compare_digest(const digest_parts& expected, const digester& computed) {
    const std::string text = computed.text();
    const digest_parts found = expected.algorithm == digest::xxh3 ? parse_digest_2(text) : parse_any_digest(text);
    return same_digest(found, expected) ? digest_state::match : digest_state::mismatch;
}

/// The digest that the manifest gives; its algorithm is none where this library can't compute it, or there is none.
[[nodiscard]] inline digest_parts known_digest(const opened_file& file, const component_record& component) noexcept {
    const std::string_view text = file.index.text(component.digest_text);
    if (file.index.generation == generation::v2) {
        return parse_digest_2(text);
    }
    return file.index.is_foreign() ? parse_any_digest(text) : parse_digest(text);
}

/// What that digest covers: the blob, or a range of the source that is not the blob.
[[nodiscard]] inline digest_cover cover_of(const opened_file& file, const component_record& component) noexcept {
    const digest_cover own = {component.offset, component.length, component.offset, component.length};
    const auto found = std::lower_bound(file.digest_covers.begin(), file.digest_covers.end(), own);
    return found != file.digest_covers.end() && !(own < *found) ? *found : own;
}

/// Of bytes that can't be inflated, or were found to be others than were written, the digest can't match; every other
/// failure is one.
[[nodiscard]] ZTENSOR_COLD inline result<digest_state> damaged_or(error why) noexcept {
    const errc code = why.code();
    if (code == errc::digest_mismatch || code == errc::decode_failed || code == errc::decode_size) {
        return digest_state::mismatch;
    }
    return why;
}

/// Computes the digest of the blob as stored, piece by piece unless it lies in memory, and compares.
[[nodiscard]] inline result<digest_state> verify_digest(const opened_file& file, const component_record& component) {
    if (!component.digest_text.is_present()) {
        return digest_state::absent;
    }
    const digest_parts expected = known_digest(file, component);
    if (expected.algorithm == digest::none) {
        return digest_state::unsupported;
    }
    digester hash(expected.algorithm);
    const digest_cover cover = cover_of(file, component);
    ZTENSOR_TRY_ASSIGN(const auto stable, source_access::find_stable_range(*file.source, cover.offset, cover.length));
    if (stable) {
        hash.update(*stable);
        return compare_digest(expected, hash);
    }
    constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;
    byte_buffer piece;
    if (!piece.allocate(static_cast<std::size_t>((std::min)(cover.length, piece_bytes)))) {
        return fail(errc::out_of_memory, "no memory for a piece of 1 MiB");
    }
    for (std::uint64_t at = 0; at < cover.length; at += piece.size()) {
        const auto size = static_cast<std::size_t>((std::min<std::uint64_t>)(cover.length - at, piece.size()));
        const span<std::byte> part = piece.writable_bytes().first(size);
        if (result<void> read = file.source->read_at(cover.offset + at, part); !read) {
            return damaged_or(std::move(read).error());
        }
        hash.update(part);
    }
    return compare_digest(expected, hash);
}

/// Where the caller wants digests checked: takes in a blob's stored bytes (in version 2 what they decode to) as they
/// are read, from memory that nobody else changes, and says in the end whether they match its digest, if it has one
/// that is known.
class blob_check {
public:
    blob_check(const opened_file& file, const component_record& component) noexcept
        : file_(file), component_(component),
          expected_(file.options.verify_digests_ ? known_digest(file, component) : digest_parts()),
          hash_(expected_.algorithm) {
        if (!file.digest_covers.empty() && is_wanted()) {
            take_cover();
        }
    }

    [[nodiscard]] bool is_wanted() const noexcept { return expected_.algorithm != digest::none; }
    void take(bytes_view next) noexcept { hash_.update(next); }

    /// Errors: digest_mismatch.
    [[nodiscard]] ZTENSOR_COLD result<void> finish() const {
        if (!before_) {
            return before_;
        }
        if (!is_wanted() || compare_digest(expected_, hash_) == digest_state::match) {
            return {};
        }
        return fail(errc::digest_mismatch, "the {} bytes have the digest {}, but the {} says {}",
                    {file_.index.generation == generation::v2 ? "decoded" : "stored", hash_.text(),
                     file_.index.is_foreign() ? "file" : "manifest",
                     in_quotes(file_.index.text(component_.digest_text))})
            .at(component_.offset);
    }

private:
    /// A digest that covers a little before the blob, such as the header of an .npy entry, is computed from there on.
    /// One that covers anything else is left to verify(); what is made when it is read is checked there.
    ZTENSOR_COLD void take_cover() {
        constexpr std::uint64_t most_bytes_before = 4096;
        const digest_cover cover = cover_of(file_, component_);
        const std::uint64_t before_bytes = component_.offset - cover.offset; // checked below
        if (cover.offset > component_.offset || before_bytes > most_bytes_before ||
            cover.length != before_bytes + component_.length ||
            source_access::is_made(*file_.source, cover.offset, cover.length)) {
            expected_ = {};
            hash_ = digester(digest::none);
            return;
        }
        std::array<std::byte, most_bytes_before> before;
        const span<std::byte> wanted(before.data(), static_cast<std::size_t>(before_bytes));
        before_ = file_.source->read_at(cover.offset, wanted);
        hash_.update(wanted);
    }

    const opened_file& file_;
    const component_record& component_;
    digest_parts expected_;
    digester hash_;
    result<void> before_; ///< of reading what is covered before the blob
};

/// The same of a blob in one piece.
[[nodiscard]] inline result<void> check_digest(const opened_file& file, const component_record& component,
                                               bytes_view stored) {
    blob_check check(file, component);
    if (check.is_wanted()) {
        check.take(stored);
    }
    return check.finish();
}

/// As much as is read at once where it is then looked at again: half of a small second-level cache.
inline constexpr std::size_t cached_piece_bytes = std::size_t{256} << 10;

/// For prefault: what comes slowly from elsewhere should take memory as it comes.
[[nodiscard]] inline unsigned threads_for_pages(const opened_file& file) noexcept {
    return source_access::is_file(*file.source) ? file.options.threads_ : 1;
}

/// Fills `destination` with stored bytes from position `from` of the blob on, and `check` with them.
[[nodiscard]] inline result<void> read_checked(const opened_file& file, const component_record& component,
                                               std::uint64_t from, span<std::byte> destination, blob_check& check) {
    const bool goes_past_cache = destination.size() >= past_cache_bytes && !is_untouched(destination);
    const prefault ahead(destination, threads_for_pages(file));
    const std::uint64_t begin = component.offset + from;
    if (!check.is_wanted()) {
        return read_bulk(*file.source, begin, destination);
    }
    ZTENSOR_TRY_ASSIGN(const std::optional<bytes_view> stable,
                       find_stable_bulk(*file.source, begin, destination.size()));
    for (std::size_t at = 0; at < destination.size(); at += cached_piece_bytes) {
        const span<std::byte> piece = destination.subspan(at, (std::min)(cached_piece_bytes, destination.size() - at));
        if (stable) {
            const bytes_view stored = stable->subspan(at, piece.size());
            check.take(stored);
            copy_much(stored, piece, goes_past_cache);
            continue;
        }
        ZTENSOR_TRY(file.source->read_at(begin + at, piece));
        check.take(piece);
    }
    return {};
}

[[nodiscard]] inline result<void> check_encoding(const opened_file& file, const component_record& component) {
    if (component.encoding) {
        return {};
    }
    return fail(errc::unsupported_encoding,
                "the blob is encoded as {}; this library decodes raw, zstd and zt.zstd-seekable/1",
                {in_quotes(file.index.text(component.encoding_word))});
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
