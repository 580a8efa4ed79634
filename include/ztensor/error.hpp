// SPDX-License-Identifier: MIT
//
// What can go wrong: one code per broken rule, and an error value that says where, what was found and what was
// expected. Knows nothing of the format beyond the names of its rules.
#ifndef ZTENSOR_ERROR_HPP
#define ZTENSOR_ERROR_HPP

#include <ztensor/version.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// What an error asks of its reader.
enum class error_kind : std::uint8_t {
    io,           ///< the operating system refused; see error::os_error()
    invalid_file, ///< the file breaks a rule of the format: get another copy of it
    unsupported,  ///< the file may be fine, but uses a word or feature that this call can't serve
    limit,        ///< a limit of read_options or of this host was reached; it may be raised
    not_found,    ///< the file, object, component or attribute asked for is not there
    usage,        ///< the call does not fit what the object is, or what was passed does not fit together
};

/// One code per broken rule; error::kind() tells who broke it. The comment says what broke it; SPEC.md has the
/// rules.
enum class errc : std::uint8_t {
    // -- the operating system and where bytes come from
    file_not_found,      ///< no such file
    io_error,            ///< open, read, write, sync or rename failed
    not_regular_file,    ///< a directory, FIFO or device
    unmappable,          ///< mapping was asked for and the system can't
    file_changed,        ///< the file became shorter or another one, or a source returned fewer bytes than it promised
    busy,                ///< another writer has the file: try again later
    recovery_needed,     ///< a change in place of the file was broken off: recover() brings back a complete state
    undo_record_refused, ///< an undo record that is not about the file as it is, is damaged, or is somebody else's
    not_durable,         ///< the new file is published, but syncing its directory failed
    out_of_memory,       ///< a checked size could not be allocated
    too_large_for_host,  ///< more bytes or elements than this host can address
    // -- container, SPEC.md section 2
    file_too_small,         ///< empty, or too short for anything
    bad_magic,              ///< starts with nothing that is known
    foreign_file,           ///< recognised as another format: pickle, safetensors, GGUF, HTML, ...
    unsupported_container,  ///< zTensor of a version that this library does not read
    truncated,              ///< starts as a .zt file and lacks its footer: cut off, or bytes appended
    manifest_empty,         ///< the footer gives a manifest of 0 bytes
    manifest_too_large,     ///< larger than read_options::max_manifest_bytes
    manifest_out_of_bounds, ///< the manifest would start before the first byte that may hold it
    manifest_damaged,       ///< the manifest is not the one that the footer of version 2 digested
    shard_table,            ///< a shard that the table does not have, or a name or digest that no shard may have
    shard_missing, ///< files that the root of version 2, a part of GGUF, or numbered names of a set need were not found
    shard_mismatch, ///< a file found for a shard or part is not the one that is meant, or is no first part
    // -- CBOR, SPEC.md section 3.1
    cbor_truncated,         ///< an item claims more bytes or items than are left
    cbor_malformed,         ///< reserved head, stray break, odd map, mixed string chunks, bad simple value
    cbor_depth,             ///< nested deeper than the limit
    cbor_trailing,          ///< bytes after the root item
    cbor_utf8,              ///< text that is not UTF-8
    cbor_not_deterministic, ///< a manifest of version 2 that is not in the one encoding it may have
    // -- manifest schema, SPEC.md section 3.2 to 3.7
    schema_type,         ///< a field has the wrong CBOR type
    schema_range,        ///< a negative number where only unsigned ones make sense
    schema_key,          ///< a key that is not text
    schema_missing,      ///< a required field, or every component, is absent
    duplicate_key,       ///< a key or name stands twice in one map
    name_invalid,        ///< a name is empty, too long, not UTF-8, or holds U+0000
    unsupported_version, ///< `version` is not 1.x, or the footer's not 2
    limit_exceeded,      ///< a limit of read_options or write_options
    // -- shapes, types and blobs, SPEC.md section 2.3 and section 4
    shape_overflow,    ///< element count or byte count needs more than 64 bits
    type_mismatch,     ///< a logical type over the wrong storage type, or not the type asked for
    misaligned_offset, ///< a blob's offset is not a multiple of 64
    out_of_bounds,     ///< a blob, row or range reaches outside what holds it
    blob_overlap,      ///< two blobs share some bytes but not all
    size_mismatch,     ///< a length that contradicts shape and type
    layout_components, ///< a role that the format requires is missing
    layout_attributes, ///< an attribute that a layout of version 2 requires is missing or can't be
    sparse_shape,      ///< a sparse object of the wrong rank
    sparse_size,       ///< parts of a sparse object whose lengths don't fit each other
    sparse_dtype,      ///< an index component that is not of the required integer type
    sparse_indptr,     ///< row pointers that do not start at 0, fall, or do not end at the number of values
    sparse_index,      ///< a row, column or coordinate outside the shape, or negative
    sparse_order,      ///< columns of a row that do not rise, or a coordinate that stands twice, in version 2
    quant_bits,        ///< `bits` is missing, no integer, or not from 1 to 64
    quant_group,       ///< `group_size` is missing, 0, or does not divide the last dimension
    quant_packing,     ///< `packing` is missing, unknown, or contradicts `bits` and the storage type
    // -- encodings, SPEC.md section 6
    decode_limit,  ///< a claimed decoded size that no zstd frame could hold, or above the limit
    decode_size,   ///< decoded to fewer or more bytes than declared
    decode_failed, ///< zstd refused the bytes
    encode_failed, ///< zstd could not compress
    // -- digests, SPEC.md section 7
    digest_format,      ///< the text of a known algorithm is malformed
    digest_mismatch,    ///< the stored bytes are not those that were digested
    unsupported_digest, ///< XXH3 is needed, and this build is without xxHash
    // -- unknown words, refused only when used
    unknown_dtype,        ///< a storage type that is not one of the 13
    unsupported_type,     ///< a logical type that this call does not know
    unsupported_format,   ///< this call can't serve the object's format
    unsupported_encoding, ///< neither raw nor zstd
    // -- files of other formats, import.hpp
    header_malformed, ///< a header that breaks a rule of the file's own format
    json_malformed,   ///< a header or an index of shards that is not the JSON it should be
    pickle_malformed, ///< a pickle that breaks off or contradicts itself, or that describes no tensors
    pickle_refused, ///< a pickle with an opcode or a call that no checkpoint has, or without a readable tensor; nothing
                    ///< was run
    zip_malformed,  ///< a ZIP archive whose directory and entries contradict each other, or itself
    unclaimed_bytes, ///< bytes of the file that belong to no tensor, where the format allows none
    stale_index,     ///< an index of shards that says else than the shards
    not_built_in,    ///< reading this takes a library that this program was built without
    // -- refused by read_options::strict() alone, lint.hpp
    strict_encoding, ///< an index that is not in the one form that writers give it, SPEC.md section 10.2
    strict_order,    ///< names that are not sorted, or indices of a sparse object that do not rise
    strict_gap,      ///< bytes that belong to no blob and are no padding of zeros
    strict_alias,    ///< two components with the same bytes
    // -- what was asked
    object_not_found,    ///< no object of that name
    component_not_found, ///< no component of that role
    attribute_not_found, ///< no attribute of that key
    attribute_type,      ///< the attribute holds a value of another kind
    shape_mismatch,      ///< the tensor has another shape than the caller expects
    not_viewable,        ///< no zero-copy view: compressed, transposed, or not in memory
    misaligned_memory,   ///< no zero-copy view: the bytes lie at an odd address
    needs_byteswap,      ///< no zero-copy view: foreign byte order
    bad_bool,            ///< a bool byte other than 0 and 1
    bad_padding,         ///< bits behind the last packed element that are not zero
    invalid_argument,    ///< an option or argument outside its range
    not_expressible,     ///< the format version being written has no way to say this
    cancelled,           ///< the caller's own callback asked to stop
    writer_closed,       ///< the writer has finished, failed, or has an unfinished stream
};

namespace detail {

struct errc_facts {
    errc code;
    std::string_view name;
    error_kind kind;
};

/// In the order of the enumeration, so that a code is its own index.
inline constexpr errc_facts errc_table[] = {
    {errc::file_not_found, "file_not_found", error_kind::not_found},
    {errc::io_error, "io_error", error_kind::io},
    {errc::not_regular_file, "not_regular_file", error_kind::io},
    {errc::unmappable, "unmappable", error_kind::io},
    {errc::file_changed, "file_changed", error_kind::io},
    {errc::busy, "busy", error_kind::io},
    {errc::recovery_needed, "recovery_needed", error_kind::io},
    {errc::undo_record_refused, "undo_record_refused", error_kind::io},
    {errc::not_durable, "not_durable", error_kind::io},
    {errc::out_of_memory, "out_of_memory", error_kind::limit},
    {errc::too_large_for_host, "too_large_for_host", error_kind::limit},
    {errc::file_too_small, "file_too_small", error_kind::invalid_file},
    {errc::bad_magic, "bad_magic", error_kind::invalid_file},
    {errc::foreign_file, "foreign_file", error_kind::unsupported},
    {errc::unsupported_container, "unsupported_container", error_kind::unsupported},
    {errc::truncated, "truncated", error_kind::invalid_file},
    {errc::manifest_empty, "manifest_empty", error_kind::invalid_file},
    {errc::manifest_too_large, "manifest_too_large", error_kind::limit},
    {errc::manifest_out_of_bounds, "manifest_out_of_bounds", error_kind::invalid_file},
    {errc::manifest_damaged, "manifest_damaged", error_kind::invalid_file},
    {errc::shard_table, "shard_table", error_kind::invalid_file},
    {errc::shard_missing, "shard_missing", error_kind::not_found},
    {errc::shard_mismatch, "shard_mismatch", error_kind::invalid_file},
    {errc::cbor_truncated, "cbor_truncated", error_kind::invalid_file},
    {errc::cbor_malformed, "cbor_malformed", error_kind::invalid_file},
    {errc::cbor_depth, "cbor_depth", error_kind::invalid_file},
    {errc::cbor_trailing, "cbor_trailing", error_kind::invalid_file},
    {errc::cbor_utf8, "cbor_utf8", error_kind::invalid_file},
    {errc::cbor_not_deterministic, "cbor_not_deterministic", error_kind::invalid_file},
    {errc::schema_type, "schema_type", error_kind::invalid_file},
    {errc::schema_range, "schema_range", error_kind::invalid_file},
    {errc::schema_key, "schema_key", error_kind::invalid_file},
    {errc::schema_missing, "schema_missing", error_kind::invalid_file},
    {errc::duplicate_key, "duplicate_key", error_kind::invalid_file},
    {errc::name_invalid, "name_invalid", error_kind::invalid_file},
    {errc::unsupported_version, "unsupported_version", error_kind::unsupported},
    {errc::limit_exceeded, "limit_exceeded", error_kind::limit},
    {errc::shape_overflow, "shape_overflow", error_kind::invalid_file},
    {errc::type_mismatch, "type_mismatch", error_kind::usage},
    {errc::misaligned_offset, "misaligned_offset", error_kind::invalid_file},
    {errc::out_of_bounds, "out_of_bounds", error_kind::invalid_file},
    {errc::blob_overlap, "blob_overlap", error_kind::invalid_file},
    {errc::size_mismatch, "size_mismatch", error_kind::invalid_file},
    {errc::layout_components, "layout_components", error_kind::invalid_file},
    {errc::layout_attributes, "layout_attributes", error_kind::invalid_file},
    {errc::sparse_shape, "sparse_shape", error_kind::invalid_file},
    {errc::sparse_size, "sparse_size", error_kind::invalid_file},
    {errc::sparse_dtype, "sparse_dtype", error_kind::invalid_file},
    {errc::sparse_indptr, "sparse_indptr", error_kind::invalid_file},
    {errc::sparse_index, "sparse_index", error_kind::invalid_file},
    {errc::sparse_order, "sparse_order", error_kind::invalid_file},
    {errc::quant_bits, "quant_bits", error_kind::invalid_file},
    {errc::quant_group, "quant_group", error_kind::invalid_file},
    {errc::quant_packing, "quant_packing", error_kind::unsupported},
    {errc::decode_limit, "decode_limit", error_kind::limit},
    {errc::decode_size, "decode_size", error_kind::invalid_file},
    {errc::decode_failed, "decode_failed", error_kind::invalid_file},
    {errc::encode_failed, "encode_failed", error_kind::usage},
    {errc::digest_format, "digest_format", error_kind::invalid_file},
    {errc::digest_mismatch, "digest_mismatch", error_kind::invalid_file},
    {errc::unsupported_digest, "unsupported_digest", error_kind::unsupported},
    {errc::unknown_dtype, "unknown_dtype", error_kind::unsupported},
    {errc::unsupported_type, "unsupported_type", error_kind::unsupported},
    {errc::unsupported_format, "unsupported_format", error_kind::unsupported},
    {errc::unsupported_encoding, "unsupported_encoding", error_kind::unsupported},
    {errc::header_malformed, "header_malformed", error_kind::invalid_file},
    {errc::json_malformed, "json_malformed", error_kind::invalid_file},
    {errc::pickle_malformed, "pickle_malformed", error_kind::invalid_file},
    {errc::pickle_refused, "pickle_refused", error_kind::unsupported},
    {errc::zip_malformed, "zip_malformed", error_kind::invalid_file},
    {errc::unclaimed_bytes, "unclaimed_bytes", error_kind::invalid_file},
    {errc::stale_index, "stale_index", error_kind::invalid_file},
    {errc::not_built_in, "not_built_in", error_kind::unsupported},
    {errc::strict_encoding, "strict_encoding", error_kind::unsupported},
    {errc::strict_order, "strict_order", error_kind::unsupported},
    {errc::strict_gap, "strict_gap", error_kind::unsupported},
    {errc::strict_alias, "strict_alias", error_kind::unsupported},
    {errc::object_not_found, "object_not_found", error_kind::not_found},
    {errc::component_not_found, "component_not_found", error_kind::not_found},
    {errc::attribute_not_found, "attribute_not_found", error_kind::not_found},
    {errc::attribute_type, "attribute_type", error_kind::usage},
    {errc::shape_mismatch, "shape_mismatch", error_kind::usage},
    {errc::not_viewable, "not_viewable", error_kind::usage},
    {errc::misaligned_memory, "misaligned_memory", error_kind::usage},
    {errc::needs_byteswap, "needs_byteswap", error_kind::usage},
    {errc::bad_bool, "bad_bool", error_kind::invalid_file},
    {errc::bad_padding, "bad_padding", error_kind::invalid_file},
    {errc::invalid_argument, "invalid_argument", error_kind::usage},
    {errc::not_expressible, "not_expressible", error_kind::usage},
    {errc::cancelled, "cancelled", error_kind::usage},
    {errc::writer_closed, "writer_closed", error_kind::usage},
};

constexpr bool errc_table_is_in_order() noexcept {
    std::size_t index = 0;
    for (const errc_facts& row : errc_table) {
        if (static_cast<std::size_t>(row.code) != index++) {
            return false;
        }
    }
    return index == static_cast<std::size_t>(errc::writer_closed) + 1;
}
static_assert(errc_table_is_in_order(), "one row per code, in the order of the enumeration");

} // namespace detail

/// The code as it is spelled in the source, for logs and tests.
[[nodiscard]] constexpr std::string_view name(errc code) noexcept {
    return detail::errc_table[static_cast<std::size_t>(code)].name;
}

/// What most errors of this code ask of their readers; error::kind() knows of one.
[[nodiscard]] constexpr error_kind kind(errc code) noexcept {
    return detail::errc_table[static_cast<std::size_t>(code)].kind;
}

template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, errc code) {
    return out << name(code);
}

/// The kind as it is spelled in the source.
[[nodiscard]] constexpr std::string_view name(error_kind of) noexcept {
    constexpr std::string_view names[] = {"io", "invalid_file", "unsupported", "limit", "not_found", "usage"};
    return names[static_cast<std::size_t>(of)];
}

template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, error_kind kind) {
    return out << name(kind);
}

namespace detail {
struct error_details;
} // namespace detail

template <class T>
class result;

/// Why a call failed. As large as a pointer; copying shares the text.
class error {
public:
    /// `sentence` says what was found and what was expected; the in_...() calls add where.
    /// Without memory to say it, any error is out_of_memory.
    error(errc code, std::string sentence) noexcept;
    error(const error& other) noexcept;
    error(error&& other) noexcept : details_(std::exchange(other.details_, nullptr)) {}
    error& operator=(error other) noexcept {
        std::swap(details_, other.details_);
        return *this;
    }
    ~error() {
        if (details_ != nullptr) {
            release();
        }
    }

    [[nodiscard]] errc code() const noexcept;
    /// What this error asks of its reader: that of its code, unless who raised it knows better. One rule may be broken
    /// by a file (another copy of it may help) or by what the caller gave (usage).
    [[nodiscard]] error_kind kind() const noexcept;

    /// The file's path as it was given, not escaped; empty for memory and user-defined sources.
    [[nodiscard]] const std::string& path() const& noexcept;
    /// The object's name as it stands in the file: hostile text, not escaped. Empty if no object is concerned.
    [[nodiscard]] const std::string& object() const& noexcept;
    /// The component's role, likewise.
    [[nodiscard]] const std::string& component() const& noexcept;
    /// Absolute position in the file, in bytes, where it is known.
    [[nodiscard]] std::optional<std::uint64_t> offset() const noexcept;
    /// What the operating system said; tests false where it was not asked.
    [[nodiscard]] std::error_code os_error() const noexcept;
    /// What was found and expected, without the place; safe to print, as what() is.
    [[nodiscard]] const std::string& sentence() const& noexcept;
    /// The whole message in one line, safe to print: names from the file are escaped and cut, and of paths and all
    /// else control characters, characters that can't be seen or turn text round, and what is not UTF-8.
    [[nodiscard]] const std::string& what() const& noexcept;

    // An error that is about to die, as in `open(path).error().what()`, returns copies of its texts. They throw
    // std::bad_alloc.
    [[nodiscard]] std::string path() const&& { return path(); }
    [[nodiscard]] std::string object() const&& { return object(); }
    [[nodiscard]] std::string component() const&& { return component(); }
    [[nodiscard]] std::string sentence() const&& { return sentence(); }
    [[nodiscard]] std::string what() const&& { return what(); }

    // Used while an error travels upwards: each layer adds what it knows, and never replaces what is there. Where
    // memory runs out, the error stays as it was.
    [[nodiscard]] error in_file(std::string_view path) && noexcept;
    [[nodiscard]] error in_object(std::string_view name) && noexcept;
    [[nodiscard]] error in_component(std::string_view role) && noexcept;
    [[nodiscard]] error at(std::uint64_t offset) && noexcept;
    [[nodiscard]] error because(std::error_code os_error) && noexcept;
    /// The rule was not broken by a file, though its code says so, but by the caller: the kind is usage.
    [[nodiscard]] error by_caller() && noexcept;
    /// The other way round: a file's fault, where the code speaks of the caller's.
    [[nodiscard]] error by_file() && noexcept;

    /// True if both have the same code and say the same.
    friend bool operator==(const error& a, const error& b) noexcept {
        return a.code() == b.code() && a.what() == b.what();
    }
    friend bool operator!=(const error& a, const error& b) noexcept { return !(a == b); }

private:
    template <class T>
    friend class result;
    explicit error(std::nullptr_t) noexcept : details_(nullptr) {} // no error

    void release() noexcept;

    detail::error_details* details_; ///< null once moved from, and in a result<void> without an error
};

template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const error& e) {
    return out << e.what();
}

/// Says that the error of a result is made in place: `result<int>(unexpect, errc::cancelled, "stopped")`.
struct unexpect_t {
    explicit unexpect_t() = default;
};
/// The one value of unexpect_t.
inline constexpr unexpect_t unexpect{};

/// An error that becomes a result of any type, also of one whose values are made of errors.
class unexpected {
public:
    explicit unexpected(ztensor::error why) noexcept : error_(std::move(why)) {}
    unexpected(errc code, std::string sentence) noexcept : error_(code, std::move(sentence)) {}

    [[nodiscard]] const ztensor::error& error() const& noexcept { return error_; }
    [[nodiscard]] ztensor::error& error() & noexcept { return error_; }
    [[nodiscard]] ztensor::error error() && noexcept { return std::move(error_); }

    void swap(unexpected& other) noexcept { std::swap(error_, other.error_); }
    friend void swap(unexpected& a, unexpected& b) noexcept { a.swap(b); }
    friend bool operator==(const unexpected& a, const unexpected& b) noexcept { return a.error_ == b.error_; }
    friend bool operator!=(const unexpected& a, const unexpected& b) noexcept { return !(a == b); }

private:
    ztensor::error error_;
};

/// "ztensor": the value of a code is its errc, the message its name. Codes of which the standard library has an idea
/// compare equal to that: `make_error_code(why) == std::errc::no_such_file_or_directory`.
class errc_category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "ztensor"; }
    /// The name of the errc that has this value.
    [[nodiscard]] std::string message(int code) const override {
        return is_known(code) ? std::string(ZTENSOR_MODE::name(static_cast<errc>(code))) : "an unknown code";
    }
    /// What the standard library calls it, where it has an idea of it.
    [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override {
        switch (is_known(code) ? static_cast<errc>(code) : errc::io_error) {
        case errc::file_not_found:
            return std::errc::no_such_file_or_directory;
        case errc::out_of_memory:
            return std::errc::not_enough_memory;
        case errc::busy:
            return std::errc::device_or_resource_busy;
        case errc::invalid_argument:
            return std::errc::invalid_argument;
        case errc::cancelled:
            return std::errc::operation_canceled;
        default:
            return {code, *this};
        }
    }

private:
    [[nodiscard]] static bool is_known(int code) noexcept {
        return code >= 0 && static_cast<std::size_t>(code) < std::size(detail::errc_table);
    }
};

/// The category of errc for std::error_code, the only object of its class: codes compare equal if its address is the
/// same. So it is the compiled library's, where the modules of a program share one; header-only, modules that hide
/// their symbols have one each.
[[nodiscard]] const std::error_category& category() noexcept;

/// The code as one of the standard library.
[[nodiscard]] inline std::error_code make_error_code(errc code) noexcept {
    return {static_cast<int>(code), category()};
}
/// The code of an error. What the operating system said is error::os_error().
[[nodiscard]] inline std::error_code make_error_code(const error& why) noexcept {
    return make_error_code(why.code());
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

/// An errc becomes a std::error_code where one is asked for.
template <>
struct std::is_error_code_enum<ztensor::errc> : std::true_type {};

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/base/error_definitions.hpp>
#endif

#endif
