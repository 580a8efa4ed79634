// SPDX-License-Identifier: MIT
//
// Both ends of a file: what kind it is, and where its manifest lies. SPEC.md section 2, section 8, section 13.2.
#ifndef ZTENSOR_DETAIL_INDEX_FRAME_HPP
#define ZTENSOR_DETAIL_INDEX_FRAME_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/format.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- footer
//
// The two ends of a file: which container it is, and where its manifest lies. Pure functions on bytes; what foreign
// files look like is known here and nowhere else. SPEC.md section 2.

/// The magic of 1.x, at the front and (from 1.1 on) at the end.
inline constexpr string_view magic_1 = "ZTEN1000";
inline constexpr string_view magic_0_1 = "ZTEN0001";
inline constexpr string_view magic_2 = "\x89ZT2\r\n\x1a\n";

inline constexpr size_t magic_bytes = 8;
inline constexpr size_t size_field_bytes = 8;
/// As much of a file's start and end as identify_container and locate_manifest want to see; less if it is shorter.
inline constexpr size_t head_bytes = 64;
inline constexpr size_t tail_bytes = 40; ///< at most; see tail_bytes_of()

/// The footer of version 2: the last bytes of a file, which is at least a magic and that.
inline constexpr size_t footer_bytes_2 = 40;
static_assert(footer_bytes_2 <= tail_bytes, "the tail holds every footer");
inline constexpr uint64_t least_file_bytes_2 = magic_bytes + footer_bytes_2;
inline constexpr uint32_t container_version_2 = 2;

/// Whether the index is a blob among others, of which the footer has a hash; else it lies between the last and the end.
[[nodiscard]] constexpr bool index_is_blob(version of) noexcept {
    return of == version::v2;
}

enum class container : uint8_t {
    zt_0_1,            ///< the size of the manifest stands in the last 8 bytes
    zt_1_0_or_cut_off, ///< 1.x without a magic at the end: 1.0 if a manifest of that version stands there
    zt_1,              ///< 1.1 and later
    zt_2,
};

/// Where the manifest lies. The blobs end where it starts.
struct manifest_location {
    container kind = container::zt_1;
    uint64_t offset = 0;
    uint64_t length = 0;
    uint64_t hash = 0;          ///< of version 2: XXH3 of the manifest
    bool is_data_shard = false; ///< of version 2: there is none
};

/// What stands in the last 40 bytes of a file of version 2. SPEC.md section 13.1.
struct footer_2 {
    uint64_t manifest_offset = 0; ///< all three are 0 in a data shard
    uint64_t manifest_length = 0;
    uint64_t manifest_hash = 0;
    uint32_t version = container_version_2;
    uint32_t reserved = 0;
};

[[nodiscard]] inline footer_2 decode_footer_2(bytes_view bytes) noexcept {
    return {load_little(bytes.data(), 8), load_little(bytes.data() + 8, 8), load_little(bytes.data() + 16, 8),
            static_cast<uint32_t>(load_little(bytes.data() + 24, 4)),
            static_cast<uint32_t>(load_little(bytes.data() + 28, 4))};
}

[[nodiscard]] inline std::array<byte, footer_bytes_2> encode_footer_2(const footer_2& footer) noexcept {
    std::array<byte, footer_bytes_2> bytes = {};
    store_little(footer.manifest_offset, bytes.data(), 8);
    store_little(footer.manifest_length, bytes.data() + 8, 8);
    store_little(footer.manifest_hash, bytes.data() + 16, 8);
    store_little(footer.version, bytes.data() + 24, 4);
    store_little(footer.reserved, bytes.data() + 28, 4);
    std::copy_n(as_bytes(magic_2).data(), magic_bytes, bytes.data() + 32);
    return bytes;
}

struct signature {
    string_view start; ///< first bytes of the file, compared without regard to the case of ASCII letters
    const char* what;
};

inline constexpr signature foreign_signatures[] = {
    {"version https://git-lfs", "a Git LFS pointer, not the file it points to: fetch it with `git lfs pull`"},
    {"PK\x03\x04", "a ZIP archive, such as a PyTorch .pt or NumPy .npz file: open_any() reads these"},
    {"PK\x05\x06", "an empty ZIP archive"},
    {"GGUF", "a GGUF file: open_any() reads it"},
    {"\x93NUMPY", "a NumPy .npy file: open_any() reads it"},
    {"\x89HDF\r\n\x1a\n", "an HDF5 file: <ztensor/hdf5.hpp> reads it"},
    {"\x80\x02", "a Python pickle: open_any() reads the arrays of NumPy in it"},
    {"\x80\x03", "a Python pickle: open_any() reads the arrays of NumPy in it"},
    {"\x80\x04", "a Python pickle: open_any() reads the arrays of NumPy in it"},
    {"\x80\x05", "a Python pickle: open_any() reads the arrays of NumPy in it"},
    {"\x1f\x8b", "a gzip archive: unpack it first"},
    {"\x28\xb5\x2f\xfd", "a zstd-compressed file: decompress it first"},
    {"\xfd\x37zXZ", "an xz-compressed file: decompress it first"},
    {"BZh", "a bzip2-compressed file: decompress it first"},
    {"\x04\x22\x4d\x18", "an LZ4-compressed file: decompress it first"},
    {"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"},
    {"Rar!\x1a\x07", "a RAR archive: unpack it first"},
    {"lmgg", "a ggml file from before GGUF, as whisper.cpp has them: convert what it was made of"},
    {"fmgg", "a ggml file from before GGUF: convert what it was made of"},
    {"tjgg", "a ggml file from before GGUF: convert what it was made of"},
    {"PAR1", "a Parquet file: save the arrays in it by numpy.savez"},
    {"MATLAB 5.0 MAT-file", "a MAT-file of MATLAB: save it with -v7.3, which is HDF5, or by numpy.savez"},
    {"SQLite format 3", "an SQLite database, which is no file of tensors"},
    {"%PDF-", "a PDF document, which is no file of tensors"},
    {"<!doctype html", "an HTML page, perhaps an error message saved in place of the file"},
    {"<html", "an HTML page, perhaps an error message saved in place of the file"},
    {"<", "XML or HTML text, perhaps an error message saved in place of the file"},
    {"{", "JSON text, perhaps an error message saved in place of the file"},
    {"[", "JSON text, perhaps an error message saved in place of the file"},
};

/// What a file that is not zTensor is, judged by its first bytes; nullptr if nothing is recognised.
[[nodiscard]] ZTENSOR_COLD inline const char* foreign_kind(string_view head, uint64_t file_bytes) noexcept {
    // safetensors: the length of a JSON header in 8 bytes, then the header. Looked at first, because its first byte
    // is any byte.
    if (head.size() > size_field_bytes && head[size_field_bytes] == '{') {
        const uint64_t header_bytes = load_little(as_bytes(head).data(), size_field_bytes);
        if (header_bytes >= 2 && header_bytes <= file_bytes - size_field_bytes) {
            return "a safetensors file: open_any() reads it";
        }
    }
    constexpr string_view byte_order_mark = "\xef\xbb\xbf";
    if (head.substr(0, byte_order_mark.size()) == byte_order_mark) {
        head.remove_prefix(byte_order_mark.size());
    }
    const string_view text = head.substr((std::min)(head.find_first_not_of(" \t\r\n"), head.size()));
    for (const signature& each : foreign_signatures) {
        if (starts_with_ignoring_case(text, each.start)) {
            return each.what;
        }
    }
    return nullptr;
}

/// As "ZTEN1000" and the magic of version 2 are, with other numbers.
[[nodiscard]] ZTENSOR_COLD inline bool is_of_unknown_version(string_view start) noexcept {
    constexpr string_view family = "ZTEN";
    constexpr size_t number_at = 3; // of the magic of version 2
    const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
    return start.size() == magic_bytes &&
           (start.substr(0, family.size()) == family ||
            (start.substr(0, number_at) == magic_2.substr(0, number_at) && is_digit(start[number_at]) &&
             start.substr(number_at + 1) == magic_2.substr(number_at + 1)));
}

/// Which container starts with `head`, the first head_bytes of a file of `file_bytes` bytes.
/// Errors: file_too_small, truncated (only the start of a magic), unsupported_container, foreign_file, bad_magic.
ZTENSOR_COLD inline result<container> identify_container(bytes_view head, uint64_t file_bytes) {
    const string_view text = as_text(head);
    const string_view start = text.substr(0, magic_bytes);
    if (start.empty()) {
        return fail(errc::file_too_small, "the file is empty");
    }
    if (start == magic_1) {
        return container::zt_1;
    }
    if (start == magic_0_1) {
        return container::zt_0_1;
    }
    if (start == magic_2) {
        return container::zt_2;
    }
    if (is_of_unknown_version(start)) {
        return fail(errc::unsupported_container,
                    "a zTensor file of an unknown version: it starts with {}, where {}, {} and {} are known. Get a "
                    "newer version of this library, or let the program that wrote the file write version 1.2, as "
                    "ztensor==1.2.3 for Python does",
                    {in_quotes(start), in_quotes(magic_0_1), in_quotes(magic_1), in_quotes(magic_2)});
    }
    if (start.size() < magic_bytes &&
        (magic_1.substr(0, start.size()) == start || magic_0_1.substr(0, start.size()) == start ||
         magic_2.substr(0, start.size()) == start)) {
        return fail(errc::truncated, "the file is cut off after {} bytes, within the magic of a .zt file",
                    {file_bytes});
    }
    if (const char* const kind = foreign_kind(text, file_bytes)) {
        return fail(errc::foreign_file, "not a .zt file but {}", {kind});
    }
    if (start.size() < magic_bytes) {
        return fail(errc::file_too_small, "a file of {} bytes is too small for .zt", {file_bytes});
    }
    return fail(errc::bad_magic, "neither a .zt file nor one of another format that is known: it starts with {}",
                {in_quotes(start)});
}

/// The size field and what it leaves: shared by all containers. `fixed_bytes` is what surrounds the manifest.
ZTENSOR_COLD inline result<manifest_location> place_manifest(container kind, uint64_t length, uint64_t file_bytes,
                                                             uint64_t fixed_bytes, uint64_t max_manifest_bytes) {
    if (length > file_bytes - fixed_bytes) {
        return fail(errc::manifest_out_of_bounds,
                    "the footer claims a manifest of {} bytes, but the file has room for {}: it is damaged or cut off",
                    {length, file_bytes - fixed_bytes});
    }
    if (length > max_manifest_bytes) {
        return fail(errc::manifest_too_large, "the manifest takes {} bytes, more than the {} allowed",
                    {length, max_manifest_bytes});
    }
    const uint64_t behind = fixed_bytes - magic_bytes;
    return manifest_location{kind, file_bytes - behind - length, length, 0, false};
}

[[nodiscard]] ZTENSOR_COLD inline error missing_footer(uint64_t file_bytes) {
    return fail(
        errc::truncated,
        "the file starts as .zt but does not end with its footer: it is cut off after {} bytes, or bytes were appended",
        {file_bytes});
}

/// The same for version 2, whose footer gives both ends of the manifest. One of a data shard has no manifest.
ZTENSOR_COLD inline result<manifest_location> locate_manifest_2(bytes_view tail, uint64_t file_bytes,
                                                                uint64_t max_manifest_bytes) {
    if (file_bytes < least_file_bytes_2 || as_text(tail.last(magic_bytes)) != magic_2) {
        return missing_footer(file_bytes);
    }
    const footer_2 footer = decode_footer_2(tail.last(footer_bytes_2));
    if (footer.version != container_version_2) {
        return fail(errc::unsupported_version,
                    "the footer is of version {}, and this library knows version 2: get a newer one, or let the "
                    "program that wrote the file write version 2 or 1.2",
                    {footer.version});
    }
    if (footer.manifest_length == 0) {
        if (footer.manifest_offset == 0 && footer.manifest_hash == 0) {
            return manifest_location{container::zt_2, 0, 0, 0, true};
        }
        return fail(errc::manifest_empty, "the footer gives a manifest of 0 bytes, but says where it lies");
    }
    const uint64_t data_end = file_bytes - footer_bytes_2;
    if (footer.manifest_offset < blob_alignment_2 || footer.manifest_offset > data_end ||
        footer.manifest_length > data_end - footer.manifest_offset) {
        return fail(errc::manifest_out_of_bounds,
                    "the footer claims a manifest of {} bytes at offset {}, but blobs lie between bytes {} and {}",
                    {footer.manifest_length, footer.manifest_offset, blob_alignment_2, data_end});
    }
    if (footer.manifest_offset % blob_alignment_2 != 0) {
        return fail(errc::misaligned_offset, "the manifest's offset is {}, not a multiple of {}",
                    {footer.manifest_offset, blob_alignment_2});
    }
    if (footer.manifest_length > max_manifest_bytes) {
        return fail(errc::manifest_too_large, "the manifest takes {} bytes, more than the {} allowed",
                    {footer.manifest_length, max_manifest_bytes});
    }
    return manifest_location{container::zt_2, footer.manifest_offset, footer.manifest_length, footer.manifest_hash,
                             false};
}

/// As much of the file's end as a container of that kind may have as its footer: no byte of a blob is read with it.
[[nodiscard]] constexpr size_t tail_bytes_of(container kind) noexcept {
    return kind == container::zt_2 ? footer_bytes_2 : size_field_bytes + magic_bytes;
}

/// Where the manifest lies, from `tail`, the last tail_bytes_of(kind) of the file (all of it, if it is shorter).
/// Errors: file_too_small, truncated, manifest_empty, manifest_out_of_bounds, manifest_too_large; of version 2 also
/// unsupported_version, misaligned_offset.
ZTENSOR_COLD inline result<manifest_location> locate_manifest(container kind, bytes_view tail, uint64_t file_bytes,
                                                              uint64_t max_manifest_bytes) {
    constexpr uint64_t fixed_bytes_1 = magic_bytes + size_field_bytes + magic_bytes;
    constexpr uint64_t fixed_bytes_without_magic = magic_bytes + size_field_bytes;
    const auto size_before = [&](size_t from_end) {
        return load_little(tail.data() + (tail.size() - from_end), size_field_bytes);
    };
    if (kind == container::zt_2) {
        return locate_manifest_2(tail, file_bytes, max_manifest_bytes);
    }
    if (kind == container::zt_0_1) {
        if (file_bytes < fixed_bytes_without_magic) {
            return missing_footer(file_bytes);
        }
        const uint64_t length = size_before(size_field_bytes);
        if (length == 0 && file_bytes != fixed_bytes_without_magic) { // zeros at the cut of a cut-off file look so
            return fail(errc::manifest_empty, "the file ends with a manifest size of 0, but holds data: it is cut off");
        }
        return place_manifest(kind, length, file_bytes, fixed_bytes_without_magic, max_manifest_bytes);
    }
    if (as_text(tail.last((std::min)(tail.size(), magic_bytes))) == magic_1 && file_bytes > magic_bytes) {
        if (file_bytes <= fixed_bytes_1) {
            return fail(errc::file_too_small, "a file of {} bytes is too small for magic, manifest and footer",
                        {file_bytes});
        }
        const uint64_t length = size_before(size_field_bytes + magic_bytes);
        if (length == 0) {
            return fail(errc::manifest_empty, "the footer gives a manifest of 0 bytes");
        }
        return place_manifest(kind, length, file_bytes, fixed_bytes_1, max_manifest_bytes);
    }
    if (file_bytes <= fixed_bytes_without_magic) {
        return missing_footer(file_bytes);
    }
    const uint64_t length = size_before(size_field_bytes);
    if (length == 0 || length > file_bytes - fixed_bytes_without_magic) {
        return missing_footer(file_bytes);
    }
    return place_manifest(container::zt_1_0_or_cut_off, length, file_bytes, fixed_bytes_without_magic,
                          max_manifest_bytes);
}

// -- version 1 0
//
// What tells an index of 1.0 from the end of a file that was cut off. SPEC.md section 8.

/// Passes over the next item; its text, if it is one.
[[nodiscard]] ZTENSOR_COLD inline string take_text(cbor_cursor& cursor) {
    string text;
    cbor_cursor ahead = cursor;
    static_cast<void>(cursor.skip() && ahead.read_joined(cbor_major::text, text));
    return text;
}

/// True if the index is a map with `version` "1.0" or "1.0...." and `tensors`, and nothing follows it: what tells a
/// file of 1.0, which has no magic at its end, from a later one that was cut off.
[[nodiscard]] ZTENSOR_COLD inline bool is_manifest_1_0(bytes_view index) {
    cbor_cursor cursor(index);
    cbor_sequence pairs;
    bool has_version = false;
    bool has_tensors = false;
    for (cursor.enter_map(pairs); cursor.next(pairs);) {
        const string key = take_text(cursor);
        has_tensors = has_tensors || key == "tensors";
        const string value = take_text(cursor);
        has_version = has_version || (key == "version" && (value == "1.0" || value.substr(0, 4) == "1.0."));
    }
    return has_version && has_tensors && !cursor.failed() && cursor.remaining() == 0;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
