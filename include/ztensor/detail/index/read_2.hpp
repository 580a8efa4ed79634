// SPDX-License-Identifier: MIT
//
// CBOR to the model, of version 2. SPEC.md section 13.3 to 13.5.
#ifndef ZTENSOR_DETAIL_INDEX_READ_2_HPP
#define ZTENSOR_DETAIL_INDEX_READ_2_HPP

#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/index/pattern_book.hpp>
#include <ztensor/detail/index/words.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- read 2
//
// CBOR -> the model, of version 2: deterministic, with parts in place of components and blobs that may lie in other
// files. Rules of whole objects are in validate_2.hpp. SPEC.md section 13.3 to 13.5.

/// Fills a manifest from its index, in one pass over the bytes.
class manifest_reader_2 {
public:
    /// The file has `file_bytes`, and its index lies at `index_offset`. pattern::reach_bytes of anything follow the
    /// index.
    manifest_reader_2(manifest& into, const read_options& limits, std::uint64_t index_offset, std::uint64_t file_bytes,
                      bool uses_patterns = true) noexcept
        : into_(into), limits_(limits), index_offset_(index_offset), file_bytes_(file_bytes), cursor_(into.bytes()),
          patterns_(into, file_bytes), row_end_(file_bytes), uses_patterns_(uses_patterns) {
        into_.generation = generation::v2;
        into_.alignment_bytes = blob_alignment_2;
        into_.manifest_offset = index_offset;
        patterns_.set_row(file_bytes_, row_end_);
    }

    /// Where the row of the file and its shards ends, after read().
    [[nodiscard]] std::uint64_t row_end() const noexcept { return row_end_; }

    /// Errors: the cbor_... and schema_... codes, duplicate_key, name_invalid, shard_table, limit_exceeded,
    /// shape_overflow, unknown_dtype, type_mismatch, digest_format, misaligned_offset, out_of_bounds.
    [[nodiscard]] ZTENSOR_COLD result<void> read() {
        if (read_root() && cursor_.remaining() == 0) {
            // The manifest is a blob like others, and those of shards lie behind it.
            into_.blobs_are_in_order = into_.blobs_are_in_order && patterns_.blobs_reach() <= index_offset_;
            return {};
        }
        cursor_.fail(errc::cbor_trailing, cursor_.position(), "bytes follow the manifest's root item");
        return fault();
    }

private:
    ZTENSOR_COLD bool read_root() {
        cbor_sequence fields;
        bool has_objects = false;
        for (cursor_.enter_map(fields); cursor_.next_key(fields);) {
            const std::string_view field = key_of(fields);
            const bool read = field == "shards"       ? read_shards()
                              : field == "objects"    ? (has_objects = true) && read_objects()
                              : field == "attributes" ? read_attributes(into_.attributes, into_.has_attributes)
                                                      : cursor_.skip();
            if (!read) {
                return false;
            }
        }
        return !cursor_.failed() && (has_objects || fail_missing("objects"));
    }

    /// The text of the map's last key; "" for one that is no text, which no field has.
    [[nodiscard]] static std::string_view key_of(const cbor_sequence& map) noexcept {
        const bytes_view key = map.last_key;
        const bool is_short_text = (std::to_integer<unsigned>(key[0]) & 0xe0) == 0x60 && key.size() < 25;
        return is_short_text ? as_text(key.subspan(1)) : std::string_view();
    }

    [[nodiscard]] index_item here() const noexcept { return {static_cast<std::uint32_t>(cursor_.position())}; }

    bool read_attributes(index_item& at, bool& has_attributes) noexcept {
        at = here();
        has_attributes = true;
        cbor_sequence attributes;
        cbor_text key;
        for (cursor_.enter_map(attributes); cursor_.next_text_key(attributes, key);) {
            if (!check_name(key.text, cursor_.position() - key.text.size()) || !cursor_.skip()) {
                return false;
            }
        }
        return !cursor_.failed();
    }

    bool check_name(std::string_view name, std::size_t position) noexcept {
        const char* const problem = name_problem_2(name);
        return problem == nullptr || cursor_.fail(errc::name_invalid, position, problem);
    }

    bool read_text(index_item& out) noexcept {
        out = here();
        cbor_text text;
        return cursor_.read_text(text);
    }

    // -- the shard table, which stands before the objects

    ZTENSOR_COLD bool read_shards() {
        cbor_sequence shards;
        cbor_text name;
        cursor_.enter_map(shards);
        for (index_item at = here(); cursor_.next_text_key(shards, name); at = here()) {
            if (const char* const problem = shard_name_problem(name.text)) {
                return cursor_.fail(errc::shard_table, at.position, problem);
            }
            shard_record shard;
            shard.name = at;
            if (!read_shard(shard)) {
                return false;
            }
            into_.shards.push_back(shard);
        }
        patterns_.set_row(file_bytes_, row_end_);
        return !cursor_.failed();
    }

    ZTENSOR_COLD bool read_shard(shard_record& shard) {
        const std::size_t start = cursor_.position();
        cbor_sequence fields;
        bool has_size = false;
        for (cursor_.enter_map(fields); cursor_.next_key(fields);) {
            const std::string_view field = key_of(fields);
            const bool read = field == "size"     ? (has_size = true) && cursor_.read_unsigned(shard.size_bytes)
                              : field == "digest" ? read_digest(shard.digest_text)
                                                  : cursor_.skip();
            if (!read) {
                return false;
            }
        }
        if (cursor_.failed() || !has_size || !shard.digest_text.is_present()) {
            return fail_missing(has_size ? "digest" : "size");
        }
        if (shard.size_bytes < least_file_bytes_2) {
            return cursor_.fail(errc::shard_table, start, "a shard is smaller than any file of version 2");
        }
        const std::optional<std::uint64_t> base = checked_align(row_end_, shard_alignment);
        const std::optional<std::uint64_t> end = base ? checked_add(*base, shard.size_bytes) : std::nullopt;
        if (!end) {
            return cursor_.fail(errc::limit_exceeded, start, "the shards are together more than 64 bits can count");
        }
        shard.base = *base;
        row_end_ = *end;
        return true;
    }

    /// The table is sorted as keys are.
    [[nodiscard]] const shard_record* find_shard(std::string_view name) const noexcept {
        const auto is_before = [this](const shard_record& each, std::string_view wanted) {
            const std::string_view own = into_.text(each.name);
            return own.size() != wanted.size() ? own.size() < wanted.size() : own < wanted;
        };
        const shard_record* const found = std::lower_bound(into_.shards.begin(), into_.shards.end(), name, is_before);
        return found != into_.shards.end() && into_.text(found->name) == name ? found : nullptr;
    }

    // -- objects

    bool read_objects() {
        reserve_records();
        cbor_sequence objects;
        for (cursor_.enter_map(objects);;) {
            if (uses_patterns_) {
                read_like_before(objects);
            }
            object_record object;
            object.name = here();
            cbor_text name;
            if (!cursor_.next_text_key(objects, name)) {
                break;
            }
            object_name_ = object.name;
            if (!check_name(name.text, object.name.position) || !read_and_learn(object) ||
                !add_object(object, name.text)) {
                return false;
            }
        }
        return !cursor_.failed();
    }

    /// Room for as many objects as the next map announces, each with as many parts as the first, within what its bytes
    /// can hold.
    ZTENSOR_COLD void reserve_records() {
        constexpr std::uint64_t smallest_object_bytes = 40, smallest_part_bytes = 18;
        cbor_cursor ahead(into_.bytes(), 0, cursor_.position());
        cbor_sequence objects, fields, parts;
        if (!ahead.enter_map(objects)) {
            return; // whoever reads on meets the same fault
        }
        const std::uint64_t bytes = ahead.remaining();
        const std::uint64_t count =
            (std::min)({objects.remaining, std::uint64_t{limits_.max_objects_}, bytes / smallest_object_bytes});
        ahead.skip();
        if (ahead.enter_map(fields) && ahead.next(fields) && ahead.take_word("parts")) {
            ahead.enter_map(parts);
        }
        const std::uint64_t parts_of_each = std::clamp<std::uint64_t>(parts.remaining, 1, 8);
        into_.objects.reserve(static_cast<std::size_t>(count));
        into_.components.reserve(
            static_cast<std::size_t>((std::min)(count * parts_of_each, bytes / smallest_part_bytes)));
        advise_huge_pages(into_.objects.data(), into_.objects.capacity() * sizeof(object_record));
        into_.components.advise_huge_pages();
    }

    /// Reads objects for as long as they are like those before.
    void read_like_before(cbor_sequence& objects) {
        std::size_t last = 0;
        while (objects.remaining != 0 && into_.objects.size() < limits_.max_objects_) {
            const std::size_t position = cursor_.position();
            const std::size_t behind = patterns_.read_object(position);
            if (behind == 0) {
                break;
            }
            last = position;
            cursor_.go_to(behind);
            --objects.remaining;
        }
        if (last != 0) {
            const std::string_view name = patterns_.last_name();
            const auto end = static_cast<std::size_t>(as_bytes(name).end() - into_.bytes().data());
            objects.last_key = into_.bytes().subspan(last, end - last);
        }
    }

    bool read_and_learn(object_record& object) {
        fields_.clear();
        const std::size_t begin = cursor_.position();
        if (!read_object(object)) {
            return false;
        }
        object.format = find_layout(into_.text(object.format_word));
        if (uses_patterns_) {
            patterns_.learn(object, begin, cursor_.position(), fields_);
        }
        return true;
    }

    bool add_object(const object_record& object, std::string_view name) {
        if (into_.objects.size() >= limits_.max_objects_) {
            return fail_limit("more objects than read_options::max_objects allows");
        }
        patterns_.note_name(name);
        into_.objects.push_back(object);
        for (const component_record& part : into_.components_of(object)) {
            patterns_.note_blob(part);
        }
        object_name_ = {};
        return true;
    }

    bool read_object(object_record& object) {
        object.first_component = static_cast<std::uint32_t>(into_.components.size());
        cbor_sequence fields;
        for (cursor_.enter_map(fields); cursor_.next_key(fields);) {
            const std::string_view field = key_of(fields);
            const bool read = field == "parts"        ? read_parts()
                              : field == "shape"      ? read_shape(object)
                              : field == "layout"     ? read_text(object.format_word)
                              : field == "attributes" ? read_attributes(object.attributes, object.has_attributes)
                                                      : cursor_.skip();
            if (!read) {
                return false;
            }
        }
        object.component_count = static_cast<std::uint32_t>(into_.components.size()) - object.first_component;
        const char* const missing = !object.shape.is_present()         ? "shape"
                                    : !object.format_word.is_present() ? "layout"
                                    : object.component_count == 0      ? "parts"
                                                                       : nullptr;
        return !cursor_.failed() && (missing == nullptr || fail_missing(missing));
    }

    /// A zero before what would overflow makes the product zero: dimensions are multiplied in their order.
    bool read_shape(object_record& object) noexcept {
        const std::size_t start = cursor_.position();
        cbor_sequence dimensions;
        if (!cursor_.enter_array(dimensions)) {
            return false;
        }
        if (dimensions.remaining > max_rank) {
            return cursor_.fail(errc::limit_exceeded, start, "a shape has more than 64 dimensions");
        }
        std::uint64_t product = 1;
        for (std::uint64_t dimension = 0; cursor_.next(dimensions);) {
            if (!cursor_.read_unsigned(dimension)) {
                return false;
            }
            const std::optional<std::uint64_t> next = checked_multiply(product, dimension);
            if (!next) {
                return cursor_.fail(errc::shape_overflow, start,
                                    "the product of the dimensions of a shape needs more than 64 bits");
            }
            product = *next;
        }
        object.shape = {static_cast<std::uint32_t>(start)};
        fields_.add(pattern_field::shape, start, cursor_.position());
        return true;
    }

    // -- parts, below

    bool read_parts();
    bool read_part(component_record& part);
    bool read_blob(component_record& part) noexcept;
    bool read_decoded_length(component_record& part) noexcept;
    bool read_number(std::uint64_t& value, pattern_field field) noexcept;
    bool read_digest(index_item& out) noexcept; ///< of a shard, too
    bool read_shard_of_part() noexcept;
    bool interpret(component_record& part, std::size_t position) noexcept;

    // -- faults

    ZTENSOR_COLD bool fail_missing(std::string_view field) noexcept {
        if (!cursor_.failed()) {
            missing_field_ = field;
        }
        return cursor_.fail(errc::schema_missing, cursor_.position(), "a required field is missing");
    }
    ZTENSOR_COLD bool fail_limit(const char* sentence) noexcept {
        return cursor_.fail(errc::limit_exceeded, cursor_.position(), sentence);
    }

    /// The cursor's fault as an error, with the object and part it was met in.
    [[nodiscard]] ZTENSOR_COLD error fault() const {
        const cbor_fault& found = cursor_.fault();
        error why = missing_field_.empty()
                        ? fail(found.code, "in the manifest, {}", {found.sentence})
                        : fail(found.code, "in the manifest, {}: {}", {found.sentence, in_quotes(missing_field_)});
        return std::move(why)
            .at(index_offset_ + found.position)
            .in_object(into_.text(object_name_))
            .in_component(into_.text(component_name_));
    }

    manifest& into_;
    const read_options& limits_;
    std::uint64_t index_offset_;
    std::uint64_t file_bytes_;
    deterministic_cursor cursor_;
    basic_pattern_book<true> patterns_;
    std::uint64_t row_end_;
    bool uses_patterns_;
    met_fields fields_;                   ///< of the object that is being read
    const shard_record* shard_ = nullptr; ///< of the part that is being read; null for the file itself
    index_item object_name_;              ///< being read
    index_item component_name_;           ///< being read
    std::string_view missing_field_;
};

// -- read part 2
//
// What stands in one part of version 2, and every rule that concerns it alone. The second half of read_2.hpp.
// SPEC.md section 13.5.

inline bool manifest_reader_2::read_parts() {
    const std::size_t first = into_.components.size();
    cbor_sequence parts;
    if (!cursor_.enter_map(parts)) {
        return false;
    }
    cbor_text role;
    for (index_item at = here(); cursor_.next_text_key(parts, role); at = here()) {
        component_name_ = at;
        if (into_.components.size() - first >= limits_.max_components_per_object_) {
            return fail_limit("more parts than read_options::max_components_per_object allows");
        }
        component_record part;
        part.role = at;
        shard_ = nullptr;
        const std::size_t begin = cursor_.position();
        if (!check_name(role.text, at.position) || !read_part(part) || !interpret(part, begin)) {
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
    cbor_sequence fields;
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
    cbor_sequence items;
    if (!cursor_.enter_array(items)) {
        return false;
    }
    if (items.remaining != 2) {
        return cursor_.fail(errc::schema_type, start, "a \"blob\" is an offset and a length, and nothing else");
    }
    return cursor_.next(items) && read_number(part.offset, pattern_field::offset) && cursor_.next(items) &&
           read_number(part.length, pattern_field::length) && !cursor_.next(items);
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
    cbor_text text;
    if (!cursor_.read_text(text)) {
        return false;
    }
    const digest_parts parts = parse_digest_2(text.text);
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
    cbor_text name;
    if (!cursor_.read_text(name)) {
        return false;
    }
    shard_ = find_shard(name.text);
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
