// SPDX-License-Identifier: MIT
//
// What stands in one part of version 2, and every rule that concerns it alone. The second half of read_2.hpp.
// SPEC.md section 13.5.
#ifndef ZTENSOR_DETAIL_MANIFEST_READ_PART_2_HPP
#define ZTENSOR_DETAIL_MANIFEST_READ_PART_2_HPP

#include <ztensor/detail/codec/digest_text.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/manifest/footer.hpp>
#include <ztensor/detail/manifest/read_2.hpp>
#include <ztensor/detail/manifest/words.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

inline bool manifest_reader_2::read_parts() {
    const std::size_t first = into_.components.size();
    deterministic_map parts;
    if (!cursor_.enter_map(parts)) {
        return false;
    }
    std::string_view role;
    for (index_item at = here(); cursor_.next_text_key(parts, role); at = here()) {
        component_name_ = at;
        if (into_.components.size() - first >= limits_.max_components_per_object_) {
            return fail_limit("more parts than read_options::max_components_per_object allows");
        }
        component_record part;
        part.role = at;
        shard_ = nullptr;
        const std::size_t begin = cursor_.position();
        if (!check_name(role, at.position) || !read_part(part) || !interpret(part, begin)) {
            return false;
        }
        into_.components.push_back(part);
        component_name_ = {};
    }
    return !cursor_.failed();
}

inline bool manifest_reader_2::read_part(component_record& part) {
    const std::size_t start = cursor_.position();
    bool has_blob = false;
    deterministic_map fields;
    for (cursor_.enter_map(fields); cursor_.next_key(fields);) {
        const std::string_view field = key_of(fields);
        const bool read = field == "blob"             ? (has_blob = true) && read_blob(part)
                          : field == "type"           ? read_text(part.type_word)
                          : field == "dtype"          ? read_text(part.dtype_word)
                          : field == "shard"          ? read_shard_of_part()
                          : field == "digest"         ? read_digest(part.digest_text)
                          : field == "encoding"       ? read_text(part.encoding_word)
                          : field == "decoded_length" ? read_decoded_length(part)
                                                      : cursor_.skip();
        if (!read) {
            return false;
        }
    }
    if (cursor_.failed() || !has_blob || !part.dtype_word.is_present()) {
        return fail_missing(has_blob ? "dtype" : "blob");
    }
    if (part.encoding_word.is_present() != part.states_uncompressed_length) {
        return part.states_uncompressed_length
                   ? cursor_.fail(errc::schema_type, start, "a part without an encoding gives a \"decoded_length\"")
                   : fail_missing("decoded_length");
    }
    return true;
}

inline bool manifest_reader_2::read_blob(component_record& part) noexcept {
    const std::size_t start = cursor_.position();
    std::uint64_t items = 0;
    if (!cursor_.enter_array(items)) {
        return false;
    }
    if (items != 2) {
        return cursor_.fail(errc::schema_type, start, "a \"blob\" is an offset and a length, and nothing else");
    }
    const bool read =
        read_number(part.offset, pattern_field::offset) && read_number(part.length, pattern_field::length);
    cursor_.leave_array();
    return read;
}

inline bool manifest_reader_2::read_decoded_length(component_record& part) noexcept {
    part.states_uncompressed_length = part.knows_uncompressed_length = true;
    return read_number(part.uncompressed_length, pattern_field::uncompressed_length);
}

inline bool manifest_reader_2::read_number(std::uint64_t& value, pattern_field field) noexcept {
    const std::size_t begin = cursor_.position();
    const bool read = cursor_.read_unsigned(value);
    fields_.add(field, begin, cursor_.position());
    return read;
}

inline bool manifest_reader_2::read_digest(index_item& out) noexcept {
    const std::size_t start = cursor_.position();
    out = here();
    std::string_view text;
    if (!cursor_.read_text(text)) {
        return false;
    }
    const digest_parts parts = parse_digest_2(text);
    if (!parts.is_well_formed) {
        return cursor_.fail(errc::digest_format, start,
                            "a digest is not an algorithm, a colon and lower-case hex digits");
    }
    if (parts.algorithm != digest::none && parts.digits.size() < 256) {
        const std::size_t end = cursor_.position();
        fields_.add(pattern_field::digits, end - parts.digits.size(), end);
    }
    return true;
}

inline bool manifest_reader_2::read_shard_of_part() noexcept {
    const std::size_t start = cursor_.position();
    std::string_view name;
    if (!cursor_.read_text(name)) {
        return false;
    }
    shard_ = find_shard(name);
    return shard_ != nullptr ||
           cursor_.fail(errc::shard_table, start, "a part lies in a shard that the table does not have");
}

/// What the words mean, and where the blob lies in the row of files. `position` is where the part starts.
inline bool manifest_reader_2::interpret(component_record& part, std::size_t position) noexcept {
    part.dtype = find_storage(into_.text(part.dtype_word), storage_names);
    if (!part.dtype || part.dtype == dtype::boolean) {
        return cursor_.fail(errc::unknown_dtype, part.dtype_word.position, "a storage type that is none of the 12");
    }
    if (part.type_word.is_present()) {
        const logical_type_facts* const row = find_logical_type_2(into_.text(part.type_word));
        part.logical_type = row != nullptr ? static_cast<std::uint8_t>(row - logical_types.data()) : unknown_type;
        if (row != nullptr && row->storage != *part.dtype) {
            return cursor_.fail(errc::type_mismatch, part.type_word.position,
                                "a logical type stands over another storage type than its own");
        }
    }
    part.encoding = part.encoding_word.is_present()
                        ? known_word<encoding>(find_encoding_2(into_.text(part.encoding_word)))
                        : known_word<encoding>(encoding::raw);
    const std::uint64_t data_end = (shard_ != nullptr ? shard_->size_bytes : file_bytes_) - footer_bytes_2;
    if (part.offset % blob_alignment_2 != 0) {
        return cursor_.fail(errc::misaligned_offset, position, "a blob's offset is not a multiple of 4,096");
    }
    if (part.offset == 0) {
        return cursor_.fail(errc::out_of_bounds, position, "a blob's offset is 0, where the file's magic stands");
    }
    if (!fits(part.offset, part.length, data_end)) {
        return cursor_.fail(errc::out_of_bounds, position, "a blob reaches past the footer of its file");
    }
    part.offset += shard_ != nullptr ? shard_->base : 0;
    return true;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
