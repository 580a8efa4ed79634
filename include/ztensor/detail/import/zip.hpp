// SPDX-License-Identifier: MIT
//
// ZIP archives: the directory, its records, and the content of entries.
#ifndef ZTENSOR_DETAIL_IMPORT_ZIP_HPP
#define ZTENSOR_DETAIL_IMPORT_ZIP_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/crc32.hpp>
#include <ztensor/detail/codec/deflate.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/error.hpp>
#include <ztensor/format.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- zip record
//
// What the records of a ZIP archive are made of: numbers, those of 64 bits that stand elsewhere, and names.

/// The little-endian numbers of a record, which was found to hold them.
class zip_record {
public:
    explicit zip_record(bytes_view bytes) noexcept : bytes_(bytes) {}
    [[nodiscard]] uint16_t u16(size_t at) const noexcept {
        return static_cast<uint16_t>(load_little(bytes_.data() + at, 2));
    }
    [[nodiscard]] uint32_t u32(size_t at) const noexcept {
        return static_cast<uint32_t>(load_little(bytes_.data() + at, 4));
    }
    [[nodiscard]] uint64_t u64(size_t at) const noexcept { return load_little(bytes_.data() + at, 8); }
    [[nodiscard]] bool starts_with(string_view magic) const noexcept {
        return detail::starts_with(as_text(bytes_), magic);
    }

private:
    bytes_view bytes_;
};

inline constexpr uint16_t zip_unknown_16 = 0xffff;     ///< the number stands in a ZIP64 record
inline constexpr uint32_t zip_unknown_32 = 0xffffffff; ///< likewise

/// The numbers of 64 bits that an entry's extra fields give in place of those of 32. False if they lack one.
[[nodiscard]] inline bool take_zip64(bytes_view extra, std::initializer_list<uint64_t*> wanted) noexcept {
    constexpr uint16_t zip64_field = 1;
    bool lacks_any = false;
    for (uint64_t* const each : wanted) {
        lacks_any = lacks_any || *each == zip_unknown_32;
    }
    while (lacks_any && extra.size() >= 4) {
        const zip_record field(extra);
        const size_t size = field.u16(2);
        if (size > extra.size() - 4) {
            return false;
        }
        bytes_view numbers = extra.subspan(4, size);
        extra = extra.subspan(4 + size);
        if (field.u16(0) != zip64_field) {
            continue;
        }
        for (uint64_t* const each : wanted) {
            if (*each != zip_unknown_32) {
                continue;
            }
            if (numbers.size() < 8) {
                return false;
            }
            *each = load_little(numbers.data(), 8);
            numbers = numbers.subspan(8);
        }
        return true;
    }
    return !lacks_any;
}

// -- zip
//
// ZIP archives: which entries there are, and where their bytes lie. Reads the directory at the end and then each
// entry's own header, which must say the same. Knows nothing of what the entries hold.

struct zip_entry {
    string_view name;           ///< UTF-8; lies in the zip_directory
    uint64_t header_offset = 0; ///< of its own header
    uint64_t offset = 0;        ///< of its bytes, as they are stored
    uint64_t stored_bytes = 0;
    uint64_t size = 0; ///< of its content
    uint32_t crc32 = 0;
    bool is_unchecked = false; ///< its CRC-32 is none
    bool is_deflated = false;  ///< else its content lies in the file as it is
    uint16_t flags = 0;
};

/// All entries of an archive.
class zip_directory {
public:
    /// In the order of the directory.
    [[nodiscard]] const vector<zip_entry>& entries() const noexcept { return entries_; }
    /// The one of that name; null if there is none.
    [[nodiscard]] const zip_entry* find(string_view name) const noexcept {
        const auto found =
            std::find_if(entries_.begin(), entries_.end(), [name](const zip_entry& each) { return each.name == name; });
        return found != entries_.end() ? &*found : nullptr;
    }

    /// Errors: zip_malformed, name_invalid, duplicate_key, unsupported_encoding (encrypted, or of a method that is none
    /// of stored and deflated), unsupported_container (of several disks), decode_limit, limit_exceeded,
    /// manifest_too_large; what the source says.
    ZTENSOR_COLD static result<zip_directory> read(const byte_source& source, const read_options& options) {
        zip_directory found;
        ZTENSOR_TRY_ASSIGN(const span_of_directory place, find_directory(source));
        if (place.count > options.max_objects()) {
            return fail(errc::limit_exceeded, "the archive has {} entries, more than read_options::max_objects allows",
                        {place.count});
        }
        if (place.size > options.max_manifest_bytes()) {
            return fail(errc::manifest_too_large,
                        "the directory of the archive takes {} bytes, more than the {} allowed",
                        {place.size, options.max_manifest_bytes()});
        }
        ZTENSOR_TRY_ASSIGN(found.bytes_, read_header(source, place.begin, place.size));
        found.begin_ = place.begin;
        ZTENSOR_TRY(found.read_entries(place.count));
        if (const optional<string_view> twin = find_same_name(found.entries_)) {
            return fail(errc::duplicate_key, "the archive has two entries of the name {}", {in_quotes(*twin)});
        }
        ZTENSOR_TRY(found.check_local_headers(source));
        return found;
    }

private:
    struct span_of_directory {
        uint64_t begin = 0;
        uint64_t size = 0;
        uint64_t count = 0; ///< of entries
    };
    static constexpr size_t end_bytes = 22, locator_bytes = 20, end_64_bytes = 56, central_bytes = 46, local_bytes = 30;

    [[nodiscard]] static error malformed(const char* sentence) { return fail(errc::zip_malformed, sentence); }
    [[nodiscard]] static error malformed(const zip_entry& entry, const char* sentence) {
        return fail(errc::zip_malformed, "entry {}: {}", {in_quotes(entry.name), sentence}).at(entry.header_offset);
    }

    // -- the end of the archive

    static result<span_of_directory> find_directory(const byte_source& source) {
        constexpr uint64_t most_comment_bytes = 0xffff;
        const uint64_t size = source.size();
        const uint64_t tail_size = (std::min<uint64_t>)(size, end_bytes + most_comment_bytes);
        ZTENSOR_TRY_ASSIGN(const byte_buffer tail, read_header(source, size - tail_size, tail_size));
        for (size_t comment = 0; comment + end_bytes <= tail.size(); ++comment) {
            const size_t at = tail.size() - end_bytes - comment;
            const zip_record end(tail.bytes().subspan(at));
            if (end.starts_with("PK\x05\x06") && end.u16(20) == comment) {
                return read_end(source, end, size - end_bytes - comment);
            }
        }
        return malformed("the archive lacks the record at its end: it is cut off, or bytes were appended");
    }

    /// `end` stands at `end_offset`.
    static result<span_of_directory> read_end(const byte_source& source, const zip_record& end, uint64_t end_offset) {
        span_of_directory found;
        found.count = end.u16(10);
        found.size = end.u32(12);
        found.begin = end.u32(16);
        uint64_t here = end.u16(8);
        bool is_of_one_disk = end.u16(4) == 0 && end.u16(6) == 0;
        uint64_t directory_end = end_offset;
        std::array<byte, locator_bytes> locator_content;
        if (end_offset >= locator_bytes) {
            ZTENSOR_TRY(source.read_at(end_offset - locator_bytes, locator_content));
        }
        const zip_record locator(locator_content);
        const bool needs_64 = found.count == zip_unknown_16 || here == zip_unknown_16 || found.size == zip_unknown_32 ||
                              found.begin == zip_unknown_32;
        if (end_offset >= locator_bytes && locator.starts_with("PK\x06\x07")) {
            directory_end = locator.u64(8);
            if (!fits(directory_end, end_64_bytes, end_offset - locator_bytes)) {
                return malformed("the ZIP64 record at the archive's end lies outside of it");
            }
            std::array<byte, end_64_bytes> content;
            ZTENSOR_TRY(source.read_at(directory_end, content));
            const zip_record end_64(content);
            const bool agrees = (found.count == zip_unknown_16 || found.count == end_64.u64(32)) &&
                                (found.size == zip_unknown_32 || found.size == end_64.u64(40)) &&
                                (found.begin == zip_unknown_32 || found.begin == end_64.u64(48));
            if (!end_64.starts_with("PK\x06\x06") || !agrees) {
                return malformed("the ZIP64 record at the archive's end is damaged, or says else than the other one");
            }
            is_of_one_disk = end_64.u32(16) == 0 && end_64.u32(20) == 0;
            here = end_64.u64(24);
            found = {end_64.u64(48), end_64.u64(40), end_64.u64(32)};
        } else if (needs_64) {
            return malformed("the archive lacks the ZIP64 record that its end speaks of");
        }
        if (!is_of_one_disk || here != found.count) {
            return fail(errc::unsupported_container, "the archive is one of several disks");
        }
        if (!fits(found.begin, found.size, directory_end) || found.begin + found.size != directory_end) {
            return malformed("the archive's directory is not where its end says: bytes were put in front, or cut out");
        }
        return found;
    }

    // -- the directory

    result<void> read_entries(uint64_t count) {
        bytes_view rest = bytes_.bytes();
        if (count > rest.size() / central_bytes) {
            return malformed("the archive's directory is too small for its entries");
        }
        entries_.reserve(static_cast<size_t>(count));
        for (; count != 0; --count) {
            ZTENSOR_TRY(read_entry(rest));
        }
        return rest.empty() ? result<void>() : malformed("bytes follow the last entry of the archive's directory");
    }

    result<void> read_entry(bytes_view& rest) {
        const zip_record record(rest);
        if (rest.size() < central_bytes || !record.starts_with("PK\x01\x02")) {
            return malformed("an entry of the archive's directory is damaged or cut off");
        }
        const size_t name_bytes = record.u16(28), extra_bytes = record.u16(30), comment_bytes = record.u16(32);
        if (name_bytes + extra_bytes + comment_bytes > rest.size() - central_bytes) {
            return malformed("an entry of the archive's directory is cut off");
        }
        zip_entry entry;
        entry.name = as_text(rest.subspan(central_bytes, name_bytes));
        entry.flags = record.u16(8);
        entry.crc32 = record.u32(16);
        entry.stored_bytes = record.u32(20);
        entry.size = record.u32(24);
        entry.header_offset = record.u32(42);
        if (!take_zip64(rest.subspan(central_bytes + name_bytes, extra_bytes),
                        {&entry.size, &entry.stored_bytes, &entry.header_offset})) {
            return malformed(entry, "it lacks the ZIP64 numbers that it speaks of");
        }
        if (!is_plain_path(entry.name)) {
            return fail(errc::name_invalid, "an entry of the archive is called {}, which is no plain relative path",
                        {in_quotes(entry.name)});
        }
        if (record.u16(34) != 0) {
            return fail(errc::unsupported_container, "entry {} lies on another disk", {in_quotes(entry.name)});
        }
        ZTENSOR_TRY(take_method(entry, record.u16(10)));
        rest = rest.subspan(central_bytes + name_bytes + extra_bytes + comment_bytes);
        entries_.push_back(entry);
        return {};
    }

    static result<void> take_method(zip_entry& entry, uint16_t method) {
        constexpr uint16_t encrypted = 0x0001, patched = 0x0020, strongly_encrypted = 0x0040, masked = 0x2000;
        constexpr uint16_t stored = 0, deflated = 8;
        if ((entry.flags & (encrypted | strongly_encrypted | masked)) != 0) {
            return fail(errc::unsupported_encoding, "entry {} is encrypted", {in_quotes(entry.name)});
        }
        if ((method != stored && method != deflated) || (entry.flags & patched) != 0) {
            return fail(errc::unsupported_encoding,
                        "entry {} is compressed by method {}; stored and deflated are known",
                        {in_quotes(entry.name), method});
        }
        entry.is_deflated = method == deflated;
        if (!entry.is_deflated && entry.size != entry.stored_bytes) {
            return malformed(entry, "it is stored as it is, in another size than its own");
        }
        if (entry.is_deflated && entry.size / max_deflate_ratio > entry.stored_bytes) {
            return fail(errc::decode_limit, "entry {} of {} bytes can't inflate to the claimed {}",
                        {in_quotes(entry.name), entry.stored_bytes, entry.size});
        }
        return {};
    }

    // -- the entries' own headers

    result<void> check_local_headers(const byte_source& source) {
        vector<zip_entry*> in_order;
        in_order.reserve(entries_.size());
        for (zip_entry& each : entries_) {
            in_order.push_back(&each);
        }
        std::sort(in_order.begin(), in_order.end(),
                  [](const zip_entry* a, const zip_entry* b) { return a->header_offset < b->header_offset; });
        uint64_t reached = 0;
        vector<byte> memory;
        for (zip_entry* const each : in_order) {
            if (each->header_offset < reached) {
                return malformed(*each, "it shares bytes with another entry");
            }
            ZTENSOR_TRY(check_local_header(source, *each, memory));
            reached = each->offset + each->stored_bytes; // which lie in the file
        }
        return {};
    }

    result<void> check_local_header(const byte_source& source, zip_entry& entry, vector<byte>& memory) const {
        constexpr uint16_t has_descriptor = 0x0008;
        const uint64_t fixed_bytes = local_bytes + entry.name.size();
        if (!fits(entry.header_offset, fixed_bytes, begin_)) {
            return malformed(entry, "its header lies outside of the archive");
        }
        memory.resize(static_cast<size_t>(fixed_bytes));
        ZTENSOR_TRY(source.read_at(entry.header_offset, memory));
        const zip_record record(memory);
        const uint16_t method = entry.is_deflated ? 8 : 0;
        const size_t extra_bytes = record.u16(28);
        if (!record.starts_with("PK\x03\x04") || record.u16(26) != entry.name.size() ||
            as_text(bytes_view(memory)).substr(local_bytes) != entry.name) {
            return malformed(entry, "where its header should be stands another");
        }
        entry.offset = entry.header_offset + fixed_bytes + extra_bytes;
        if (!fits(fixed_bytes + extra_bytes, entry.stored_bytes, begin_ - entry.header_offset)) {
            return malformed(entry, "it reaches into the directory, or beyond the archive");
        }
        uint64_t stored_bytes = record.u32(18), size = record.u32(22);
        if (stored_bytes == zip_unknown_32 || size == zip_unknown_32) {
            memory.resize(static_cast<size_t>(fixed_bytes + extra_bytes));
            const span<byte> extra = span<byte>(memory).subspan(static_cast<size_t>(fixed_bytes));
            ZTENSOR_TRY(source.read_at(entry.header_offset + fixed_bytes, extra));
            if (!take_zip64(extra, {&size, &stored_bytes})) {
                return malformed(entry, "its header lacks the ZIP64 numbers that it speaks of");
            }
        }
        const zip_record own(memory);
        const bool comes_later = (own.u16(6) & has_descriptor) != 0;
        const auto agrees = [&](uint64_t found, uint64_t expected) {
            return found == expected || (comes_later && found == 0);
        };
        if (own.u16(6) != entry.flags || own.u16(8) != method || !agrees(own.u32(14), entry.crc32) ||
            !agrees(stored_bytes, entry.stored_bytes) || !agrees(size, entry.size)) {
            return malformed(entry, "its header says else than the directory");
        }
        return comes_later ? check_descriptor(source, entry) : result<void>();
    }

    /// What stands behind the entry's bytes: its CRC-32 and its two sizes of 4 or 8 bytes each, perhaps after a magic.
    result<void> check_descriptor(const byte_source& source, const zip_entry& entry) const {
        constexpr uint64_t least_bytes = 12, most_bytes = 24;
        const uint64_t at = entry.offset + entry.stored_bytes;
        std::array<byte, most_bytes> content{};
        const uint64_t room = (std::min)(begin_ - at, most_bytes);
        if (room < least_bytes) {
            return malformed(entry, "the record behind its bytes is cut off");
        }
        const span<byte> found = span<byte>(content).first(static_cast<size_t>(room));
        ZTENSOR_TRY(source.read_at(at, found));
        const bool has_magic = zip_record(found).starts_with("PK\x07\x08");
        const bool agrees =
            (has_magic && is_descriptor(bytes_view(found).subspan(4), entry)) || is_descriptor(found, entry);
        return agrees ? result<void>() : malformed(entry, "the record behind its bytes says else than the directory");
    }

    [[nodiscard]] static bool is_descriptor(bytes_view bytes, const zip_entry& entry) noexcept {
        const zip_record record(bytes);
        const bool is_32 = bytes.size() >= 12 && record.u32(4) == entry.stored_bytes && record.u32(8) == entry.size;
        const bool is_64 = bytes.size() >= 20 && record.u64(4) == entry.stored_bytes && record.u64(12) == entry.size;
        return (is_32 || is_64) && record.u32(0) == entry.crc32;
    }

    byte_buffer bytes_;
    uint64_t begin_ = 0;
    vector<zip_entry> entries_;
};

// -- zip content
//
// What the entries of a ZIP archive hold: where it lies, or how it is made, and the checksum that the archive gives.

/// The archive's checksum as the text of a digest.
[[nodiscard]] inline string digest_text_of(const zip_entry& entry) {
    byte sum[4];
    store_big(entry.crc32, sum, sizeof sum);
    return with_hex("crc32:", sum, "0123456789abcdef");
}

/// Errors: digest_mismatch.
ZTENSOR_COLD inline result<void> check_crc32(const zip_entry& entry, bytes_view front, bytes_view content) {
    if (entry.is_unchecked || ~crc32_update(crc32_update(crc32_start, front), content) == entry.crc32) {
        return {};
    }
    return fail(errc::digest_mismatch, "entry {} of the archive does not have the content of its CRC-32",
                {in_quotes(entry.name)})
        .at(entry.offset);
}

/// All of an entry's content, checked: first what fills `front`, then `destination`, which together have its size.
ZTENSOR_COLD inline result<void> read_content(const byte_source& archive, const zip_entry& entry, span<byte> front,
                                              span<byte> destination) {
    if (entry.is_deflated) {
        ZTENSOR_TRY(inflate_range(archive, entry.offset, entry.stored_bytes, front, destination, inflate_extent::all));
    } else {
        ZTENSOR_TRY(archive.read_at(entry.offset, front));
        ZTENSOR_TRY(archive.read_at(entry.offset + front.size(), destination));
    }
    return check_crc32(entry, front, destination);
}

/// The first bytes of an entry's content, which has so many.
ZTENSOR_COLD inline result<void> read_start(const byte_source& archive, const zip_entry& entry,
                                            span<byte> destination) {
    return entry.is_deflated
               ? inflate_range(archive, entry.offset, entry.stored_bytes, {}, destination, inflate_extent::start)
               : archive.read_at(entry.offset, destination);
}

/// All of an entry's content, checked, in memory. Errors: limit_exceeded, out_of_memory, decode_failed, decode_size,
/// digest_mismatch, not_built_in; what the source says.
ZTENSOR_COLD inline result<byte_buffer> read_content(const byte_source& archive, const zip_entry& entry,
                                                     uint64_t max_bytes) {
    if (entry.size > max_bytes) {
        return fail(errc::limit_exceeded, "entry {} of the archive takes {} bytes, more than the {} allowed",
                    {in_quotes(entry.name), entry.size, max_bytes});
    }
    byte_buffer content;
    ZTENSOR_TRY(allocate(content, entry.size, "an entry"));
    ZTENSOR_TRY(read_content(archive, entry, {}, content.writable_bytes()));
    return content;
}

/// The content of an entry from some byte on, which is inflated if need be, and checked, each time that somebody reads
/// it.
class checked_entry final : public made_bytes {
public:
    checked_entry(const byte_source& archive, const zip_entry& entry, size_t front_bytes)
        : archive_(archive), entry_(entry), front_bytes_(front_bytes) {
        entry_.name = {}; // which the directory takes along
    }

    result<void> make(span<byte> destination) const override {
        vector<byte> front(front_bytes_);
        return read_content(archive_, entry_, front, destination);
    }

private:
    const byte_source& archive_;
    zip_entry entry_;
    size_t front_bytes_;
};

/// Where an entry's content from byte `front_bytes` on is made.
ZTENSOR_COLD inline result<uint64_t> make_content(assembled_source& all, const zip_entry& entry, size_t front_bytes) {
    return all.add(std::make_unique<checked_entry>(all.file(), entry, front_bytes), entry.size - front_bytes);
}

/// Where an entry's content lies from byte `front_bytes` on (a small number, within its size) in `all`, which starts
/// with the archive: in the file itself, or where it is made.
ZTENSOR_COLD inline result<uint64_t> place_content(assembled_source& all, const zip_entry& entry,
                                                   size_t front_bytes = 0) {
    return entry.is_deflated ? make_content(all, entry, front_bytes) : result<uint64_t>(entry.offset + front_bytes);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
