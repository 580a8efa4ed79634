// SPDX-License-Identifier: MIT
//
// The words of the format besides types: versions, object formats and the roles they require, encodings, digests.
// A word that is not here never stops a file from opening; only the call that needs it fails. SPEC.md section 5 to 7.
#ifndef ZTENSOR_FORMAT_HPP
#define ZTENSOR_FORMAT_HPP

#include <ztensor/dtype.hpp>
#include <ztensor/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// The layouts that the specification defines; `mx` is of version 2 alone.
enum class format : std::uint8_t { dense, sparse_csr, sparse_coo, quantized_group, mx };

/// How a blob is stored; `zstd_seekable` is of version 2 alone, and `zstd` of the versions before it.
enum class encoding : std::uint8_t { raw, zstd, zstd_seekable };

/// The digest algorithms that can be computed; `none` asks the writer for no digest. CRC-32C is of 0.1 to 1.2, over
/// stored bytes; XXH3 (64 bits) of version 2, whose digests are all over decoded bytes. crc32 is that of ZIP archives:
/// it is checked where one gives it, and no writer takes it.
enum class digest : std::uint8_t { none, crc32c, sha256, crc32, xxh3 };

/// A word of a file for which the library has an enumeration, or may have none: absent, known or unknown. It compares
/// with the enumeration, and with its like: an unknown word equals an unknown one of the same text, and never a known
/// one. It prints as its text. Borrowed from the reader.
template <class Enum>
class open_word {
public:
    /// Absent.
    constexpr open_word() noexcept = default;
    /// `text` is the library's word where there is one, else the file's own; `original` is what the file has, whose
    /// data() is null where it has none.
    constexpr open_word(std::optional<Enum> known, std::string_view text, std::string_view original) noexcept
        : text_(text), original_(original), known_(known), is_present_(true) {}
    /// Absent, although something stands in the file that says no more.
    [[nodiscard]] static constexpr open_word absent(std::string_view original) noexcept {
        open_word made;
        made.original_ = original;
        return made;
    }

    /// False for an absent word.
    [[nodiscard]] constexpr bool is_present() const noexcept { return is_present_; }
    /// True if the enumeration has it.
    [[nodiscard]] constexpr bool is_known() const noexcept { return known_.has_value(); }
    /// Nothing for an absent or unknown word.
    [[nodiscard]] constexpr std::optional<Enum> known() const noexcept { return known_; }
    /// The library's word, or the file's own for an unknown one; "" for an absent one.
    [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }
    /// As the file spells it; "" where it has no word for it.
    [[nodiscard]] constexpr std::string_view original() const noexcept { return original_; }
    /// True if the file has a word for it.
    [[nodiscard]] constexpr bool has_original() const noexcept { return original_.data() != nullptr; }

    friend constexpr bool operator==(const open_word& a, Enum b) noexcept { return a.known_ == b; }
    friend constexpr bool operator!=(const open_word& a, Enum b) noexcept { return !(a == b); }
    friend constexpr bool operator==(Enum a, const open_word& b) noexcept { return b == a; }
    friend constexpr bool operator!=(Enum a, const open_word& b) noexcept { return !(b == a); }
    friend constexpr bool operator==(const open_word& a, const open_word& b) noexcept {
        return a.is_present_ == b.is_present_ && a.known_ == b.known_ && (a.known_ || a.text_ == b.text_);
    }
    friend constexpr bool operator!=(const open_word& a, const open_word& b) noexcept { return !(a == b); }

    template <class Traits>
    friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const open_word& word) {
        return out << word.text_;
    }

private:
    std::string_view text_;
    std::string_view original_;
    std::optional<Enum> known_;
    bool is_present_ = false;
};

/// What a file says of the digest of a component: "algorithm:hex". Borrowed from the reader.
class stated_digest {
public:
    constexpr stated_digest() noexcept = default;
    constexpr stated_digest(open_word<ztensor::digest> algorithm, std::string_view hex, std::string_view text) noexcept
        : algorithm_(algorithm), hex_(hex), text_(text) {}

    /// False where the file gives none; true even for one of no letters.
    [[nodiscard]] constexpr bool is_present() const noexcept { return algorithm_.is_present(); }
    /// Which algorithm; known if this library has an enumeration for it.
    [[nodiscard]] constexpr open_word<ztensor::digest> algorithm() const noexcept { return algorithm_; }
    /// The digits.
    [[nodiscard]] constexpr std::string_view hex() const noexcept { return hex_; }
    /// All of it, as the file spells it.
    [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }

    /// By the text.
    friend constexpr bool operator==(const stated_digest& a, const stated_digest& b) noexcept {
        return a.is_present() == b.is_present() && a.text_ == b.text_;
    }
    friend constexpr bool operator!=(const stated_digest& a, const stated_digest& b) noexcept { return !(a == b); }

    template <class Traits>
    friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                                        const stated_digest& digest) {
        return out << digest.text_;
    }

private:
    open_word<ztensor::digest> algorithm_;
    std::string_view hex_;
    std::string_view text_;
};

/// What can be said of stored bytes and their digest. Only `match` means verified.
enum class digest_state : std::uint8_t {
    match,       ///< the bytes are those that were digested
    mismatch,    ///< they are not
    absent,      ///< the file gives no digest
    unsupported, ///< it gives one of an algorithm that this library can't compute
};

/// Its name, such as "match".
[[nodiscard]] constexpr std::string_view name(digest_state state) noexcept {
    constexpr std::string_view names[] = {"match", "mismatch", "absent", "unsupported"};
    return names[static_cast<std::size_t>(state)];
}

/// The versions of the format that exist. 1.3 and later count as v1_2: minor versions only add.
enum class version : std::uint8_t { v0_1, v1_0, v1_1, v1_2, v2 };

/// The version as text, such as "1.2".
[[nodiscard]] constexpr std::string_view name(version id) noexcept {
    constexpr std::string_view names[] = {"0.1", "1.0", "1.1", "1.2", "2"};
    return names[static_cast<std::size_t>(id)];
}

/// What kind of file was opened: of .zt every version, and the formats of others that open_any() reads. SPEC.md
/// section 9. A Keras archive counts as what is in it, hdf5.
enum class container_kind : std::uint8_t { zt, safetensors, gguf, npy, npz, pt, onnx, hdf5 };

/// Its name.
[[nodiscard]] constexpr std::string_view name(container_kind kind) noexcept {
    constexpr std::string_view names[] = {"zt", "safetensors", "gguf", "npy", "npz", "pt", "onnx", "hdf5"};
    return names[static_cast<std::size_t>(kind)];
}

/// What recover() found.
enum class recovery : std::uint8_t {
    not_needed, ///< no undo record, or one of a change that had not begun, or beside a complete file that came since
    kept_new,   ///< the change was complete: the file is as it was to become
    undone,     ///< the file is as it was before the change
};

struct format_facts {
    format id;
    std::string_view name;                          ///< in 1.0 to 1.2; empty for what they have no word for
    std::array<std::string_view, 3> required_roles; ///< there; unused places are empty
    std::string_view layout;                        ///< the word of version 2, whose roles are SPEC.md section 13's
};

/// One item of reader::skipped(). All text is UTF-8: of a name that is not, a backslash, an x and two hexadecimal
/// digits stand for each byte beyond ASCII.
struct skipped_item {
    std::string name;  ///< what the file calls it, as an object would be called: of HDF5 the path; or a file's own name
    std::string where; ///< what it lies in or belongs to, such as a graph, an entry or a shard; "" for the file itself
    std::string why;   ///< why it is no object here: a sentence without a full stop
};

/// What lint() finds. Those marked strict are refused by read_options::strict(), each with its code.
enum class lint_kind : std::uint8_t {
    non_canonical_cbor, ///< strict_encoding: a head longer than need be, or an indefinite length
    unsorted_names,     ///< strict_order: objects, components or attribute keys, not sorted by their bytes
    unreferenced_bytes, ///< strict_gap: more bytes than padding takes that no blob covers: an old state, or hidden data
    nonzero_padding,    ///< strict_gap: padding that is not zero
    shared_blob,        ///< strict_alias: two components with the same bytes
    zip_end_record,     ///< a ZIP end record near the end: ZIP tools and PyTorch take the file for an archive
    lookalike_names,    ///< names that differ only in case, spaces, invisible or alike characters, or hold such
    missing_digest,     ///< components that can't be verified
};

struct lint_finding {
    lint_kind kind;
    std::string object;    ///< name of the object concerned, as it stands in the file (hostile text); "" for none
    std::string component; ///< role of the component concerned, likewise
    std::string sentence;  ///< in one line, safe to print: text from the file is escaped and cut
};

/// One row per format, in the order of the enumeration.
inline constexpr std::array<format_facts, 5> formats = {{
    {format::dense, "dense", {"data", "", ""}, "dense"},
    {format::sparse_csr, "sparse_csr", {"values", "indices", "indptr"}, "zt.sparse_csr/1"},
    {format::sparse_coo, "sparse_coo", {"values", "coords", ""}, "zt.sparse_coo/1"},
    {format::quantized_group, "quantized_group", {"packed_weight", "scales", "zeros"}, "zt.quant_group/1"},
    {format::mx, "", {"data", "scales", ""}, "zt.mx/1"},
}};

/// The row of a format.
[[nodiscard]] constexpr const format_facts& facts(format id) noexcept {
    return formats[static_cast<std::size_t>(id)];
}
/// In the words of 1.2, or that of version 2 where those have none.
[[nodiscard]] constexpr std::string_view name(format id) noexcept {
    return facts(id).name.empty() ? facts(id).layout : facts(id).name;
}
/// The format of a name in the words of 1.2; empty if it is unknown.
[[nodiscard]] constexpr std::optional<format> find_format(std::string_view name) noexcept {
    return name.empty() ? std::nullopt : detail::find_id(formats, &format_facts::name, name);
}
/// The same for a layout of version 2, such as "zt.sparse_csr/1".
[[nodiscard]] constexpr std::optional<format> find_layout(std::string_view layout) noexcept {
    return detail::find_id(formats, &format_facts::layout, layout);
}

/// In the words of 1.2, or that of version 2 where those have none.
[[nodiscard]] constexpr std::string_view name(encoding id) noexcept {
    constexpr std::string_view names[] = {"raw", "zstd", "zt.zstd-seekable/1"};
    return names[static_cast<std::size_t>(id)];
}
/// The encoding of a name in the words of 1.2; empty if it is unknown.
[[nodiscard]] constexpr std::optional<encoding> find_encoding(std::string_view name) noexcept {
    if (name == "raw") {
        return encoding::raw;
    }
    if (name == "zstd") {
        return encoding::zstd;
    }
    return std::nullopt;
}
/// The same for a word of version 2, which has none for raw.
[[nodiscard]] constexpr std::optional<encoding> find_registered_encoding(std::string_view name) noexcept {
    return name == "zt.zstd-seekable/1" ? std::optional<encoding>(encoding::zstd_seekable) : std::nullopt;
}

/// The algorithm as files call it, such as "sha256".
[[nodiscard]] constexpr std::string_view name(digest id) noexcept {
    constexpr std::string_view names[] = {"none", "crc32c", "sha256", "crc32", "xxh3"};
    return names[static_cast<std::size_t>(id)];
}

/// Every blob starts at a multiple of this (SPEC.md section 2.2).
inline constexpr std::uint64_t blob_alignment = 64;

/// No zstd blob decodes to more than this many times its size: a block of at most 128 KiB takes at least 4 bytes
/// (SPEC.md section 6.2).
inline constexpr std::uint64_t max_zstd_ratio = 32768;

/// Whether a zstd blob of `stored_bytes` can decode to so many. SPEC.md section 6.2.
[[nodiscard]] constexpr bool can_decode_to(std::uint64_t decoded_bytes, std::uint64_t stored_bytes) noexcept {
    return decoded_bytes / max_zstd_ratio + (decoded_bytes % max_zstd_ratio != 0 ? 1 : 0) <= stored_bytes;
}

/// No object, component or attribute name is longer (SPEC.md section 3.5).
inline constexpr std::size_t max_name_bytes = 4096;

namespace detail {

// The same in version 2: SPEC.md sections 13.2 and 13.4. Every blob of a canonical file starts at a multiple of more.
inline constexpr std::size_t max_name_bytes_2 = 1024;
inline constexpr std::uint64_t blob_alignment_2 = 4096;
inline constexpr std::uint64_t canonical_alignment_2 = 65536;

} // namespace detail

/// How integers of a few bits share words: "8_per_i32" is eight to each i32, the first in the lowest bits.
struct packing {
    std::uint64_t per_word = 1;
    dtype word = dtype::u8;
};

/// The attributes of a quantized_group object.
struct quantization {
    unsigned bits = 0;            ///< of one quantized weight, 1 to 64
    std::uint64_t group_size = 0; ///< weights that share a scale and a zero point, at least 1
    std::string packing_name;     ///< as the file spells it
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
