// SPDX-License-Identifier: MIT
//
// The content of a ZIP archive's entries.
#ifndef ZTENSOR_DETAIL_IMPORT_ZIP_CONTENT_HPP
#define ZTENSOR_DETAIL_IMPORT_ZIP_CONTENT_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/codec/crc32.hpp>
#include <ztensor/detail/codec/deflate.hpp>
#include <ztensor/detail/import/zip.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- zip content
//
// What the entries of a ZIP archive hold: where it lies, or how it is made, and the checksum that the archive gives.

/// The archive's checksum as the text of a digest.
[[nodiscard]] inline std::string digest_text_of(const zip_entry& entry) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text = "crc32:";
    for (unsigned shift = 32; shift != 0;) {
        shift -= 4;
        text += digits[entry.crc32 >> shift & 15];
    }
    return text;
}

/// Errors: digest_mismatch.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_crc32(const zip_entry& entry, bytes_view front,
                                                           bytes_view content) {
    if (entry.is_unchecked || ~crc32_update(crc32_update(crc32_start, front), content) == entry.crc32) {
        return {};
    }
    return fail(errc::digest_mismatch, "entry {} of the archive does not have the content of its CRC-32",
                {in_quotes(entry.name)})
        .at(entry.offset);
}

/// All of an entry's content, checked: first what fills `front`, then `destination`, which together have its size.
[[nodiscard]] ZTENSOR_COLD inline result<void> read_content(const byte_source& archive, const zip_entry& entry,
                                                            span<std::byte> front, span<std::byte> destination) {
    result<void> read;
    if (entry.is_deflated) {
        read = inflate_range(archive, entry.offset, entry.stored_bytes, front, destination, inflate_extent::all);
    } else {
        read = archive.read_at(entry.offset, front);
        read = read ? archive.read_at(entry.offset + front.size(), destination) : std::move(read);
    }
    return read ? check_crc32(entry, front, destination) : read;
}

/// The first bytes of an entry's content, which has so many.
[[nodiscard]] ZTENSOR_COLD inline result<void> read_start(const byte_source& archive, const zip_entry& entry,
                                                          span<std::byte> destination) {
    return entry.is_deflated
               ? inflate_range(archive, entry.offset, entry.stored_bytes, {}, destination, inflate_extent::start)
               : archive.read_at(entry.offset, destination);
}

/// All of an entry's content, checked, in memory. Errors: limit_exceeded, out_of_memory, decode_failed, decode_size,
/// digest_mismatch, not_built_in; what the source says.
[[nodiscard]] ZTENSOR_COLD inline result<byte_buffer> read_content(const byte_source& archive, const zip_entry& entry,
                                                                   std::uint64_t max_bytes) {
    if (entry.size > max_bytes) {
        return fail(errc::limit_exceeded, "entry {} of the archive takes {} bytes, more than the {} allowed",
                    {in_quotes(entry.name), entry.size, max_bytes});
    }
    byte_buffer content;
    if (!fits_address_space(entry.size) || !content.allocate(static_cast<std::size_t>(entry.size))) {
        return fail(errc::out_of_memory, "no memory for an entry of {} bytes", {entry.size});
    }
    result<void> read = read_content(archive, entry, {}, content.writable_bytes());
    return read ? result<byte_buffer>(std::move(content)) : std::move(read).error();
}

/// The content of an entry from some byte on, which is inflated if need be, and checked, each time that somebody reads
/// it.
class checked_entry final : public made_bytes {
public:
    checked_entry(const byte_source& archive, const zip_entry& entry, std::size_t front_bytes)
        : archive_(archive), entry_(entry), front_bytes_(front_bytes) {
        entry_.name = {}; // which the directory takes along
    }

    [[nodiscard]] result<void> make(span<std::byte> destination) const override {
        std::vector<std::byte> front(front_bytes_);
        return read_content(archive_, entry_, front, destination);
    }

private:
    const byte_source& archive_;
    zip_entry entry_;
    std::size_t front_bytes_;
};

/// Where an entry's content from byte `front_bytes` on is made.
[[nodiscard]] ZTENSOR_COLD inline result<std::uint64_t> make_content(assembled_source& all, const zip_entry& entry,
                                                                     std::size_t front_bytes) {
    return all.add(std::make_unique<checked_entry>(all.file(), entry, front_bytes), entry.size - front_bytes);
}

/// Where an entry's content lies from byte `front_bytes` on (a small number, within its size) in `all`, which starts
/// with the archive: in the file itself, or where it is made.
[[nodiscard]] ZTENSOR_COLD inline result<std::uint64_t> place_content(assembled_source& all, const zip_entry& entry,
                                                                      std::size_t front_bytes = 0) {
    if (!entry.is_deflated) {
        return entry.offset + front_bytes;
    }
    return make_content(all, entry, front_bytes);
}

// -- decoded bytes
//
// Bytes that a pickle spells otherwise than they are, as a source of arrays' elements.

/// Bytes of a pickle that stand in no file: they are here once all is read.
class decoded_bytes final : public byte_source {
public:
    explicit decoded_bytes(std::uint64_t size) noexcept : size_(size) {}
    void keep(std::vector<std::byte> bytes) noexcept { bytes_ = std::move(bytes); }

    [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
    [[nodiscard]] result<void> read_at(std::uint64_t offset, span<std::byte> destination) const override {
        ZTENSOR_TRY(check_range(offset, destination.size(), bytes_.size()));
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), destination.size(), destination.begin());
        return {};
    }

private:
    std::uint64_t size_;
    std::vector<std::byte> bytes_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
