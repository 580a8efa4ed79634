// SPDX-License-Identifier: MIT
//
// An index of version 2 to the model: in deterministic CBOR, with parts in place of components, and blobs that may lie
// in other files. Rules that concern one part alone are looked at here, those of whole objects in rules.hpp.
// SPEC.md section 13.3 to 13.5.
#ifndef ZTENSOR_DETAIL_INDEX_PARSE_2_HPP
#define ZTENSOR_DETAIL_INDEX_PARSE_2_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/index/parser.hpp>
#include <ztensor/detail/index/words.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/format.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <algorithm>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class parser_2 : index_parser<cbor_strictness::deterministic> {
public:
    /// The file has `file_bytes`.
    parser_2(manifest& into, const read_options& limits, uint64_t index_offset, uint64_t file_bytes,
             bool uses_templates) noexcept
        : index_parser(into, limits, index_offset, uses_templates), file_bytes_(file_bytes) {
        into.version = version::v2;
        into.alignment_bytes = blob_alignment_2;
        into.manifest_offset = index_offset;
        into.blobs_end = file_bytes; // and that of the row of this file and its shards, once they are known
    }

    ZTENSOR_COLD result<void> parse() {
        static constexpr field_key fields[] = {"shards", "objects", "attributes"};
        field_walk walk(fields);
        const auto read = [&](size_t field) {
            return field == 0   ? read_shards()
                   : field == 1 ? read_objects()
                                : read_attributes_of(into_.attributes, into_.has_attributes);
        };
        if (!read_fields(walk, read) || !require(walk, {1}) || !finish()) {
            return fault();
        }
        // The manifest is a blob like others, and those of shards lie behind it.
        into_.blobs_are_in_order = into_.blobs_are_in_order && builder_.blobs_reach() <= index_offset_;
        return {};
    }

private:
    bool read_attributes_of(index_item& at, bool& has_attributes) {
        has_attributes = true;
        return read_attributes(at);
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
        return !cursor_.failed();
    }

    ZTENSOR_COLD bool read_shard(shard_record& shard) {
        static constexpr field_key fields[] = {"size", "digest"};
        const size_t start = cursor_.position();
        field_walk walk(fields);
        const auto read = [&](size_t field) {
            return field == 0 ? read_unsigned(shard.size_bytes) : read_digest(shard.digest_text, 0);
        };
        if (!read_fields(walk, read) || !require(walk, {0, 1})) {
            return false;
        }
        if (shard.size_bytes < least_file_bytes_2) {
            return cursor_.fail(errc::shard_table, start, "a shard is smaller than any file of version 2");
        }
        const optional<uint64_t> base = checked_align(into_.blobs_end, shard_alignment);
        const optional<uint64_t> end = base ? checked_add(*base, shard.size_bytes) : std::nullopt;
        if (!end) {
            return cursor_.fail(errc::limit_exceeded, start, "the shards are together more than 64 bits can count");
        }
        shard.base = *base;
        into_.blobs_end = *end;
        return true;
    }

    /// The table is sorted as keys are.
    [[nodiscard]] const shard_record* find_shard(string_view name) const noexcept {
        const auto is_before = [this](const shard_record& each, string_view wanted) {
            return is_name_before_2(into_.text(each.name), wanted);
        };
        const shard_record* const found = std::lower_bound(into_.shards.begin(), into_.shards.end(), name, is_before);
        return found != into_.shards.end() && into_.text(found->name) == name ? found : nullptr;
    }

    // -- objects

    bool read_objects() {
        cbor_sequence objects;
        if (!cursor_.enter_map(objects)) {
            return false;
        }
        expect_records(objects);
        for (;;) {
            read_like_before(objects, [&](const record_template& like) { return take(like); });
            if (last_key_.is_present()) {
                const size_t begin = last_key_.position;
                const bytes_view name = as_bytes(into_.text(last_key_));
                objects.last_key =
                    into_.bytes().subspan(begin, static_cast<size_t>(name.end() - into_.bytes().data()) - begin);
            }
            const size_t begin = cursor_.position();
            object_record object;
            begin_object();
            if (!next_name(objects, object.name, object_name_)) {
                return !cursor_.failed();
            }
            last_key_ = object.name;
            gaps_.add(gap::name, 0, begin, cursor_.position());
            if (!read_object(object) || !end_object(object, begin)) {
                return false;
            }
        }
    }

    /// The last object, which was read by a template, is one if its name stands behind the one before and its blobs lie
    /// where they may.
    bool take(const record_template& like) noexcept {
        const object_record& object = into_.objects[into_.objects.size() - 1];
        const span<component_record> parts = into_.components_of(object);
        bool is_valid = !last_key_.is_present() || is_name_before_2(into_.text(last_key_), into_.text(object.name));
        for (size_t i = 0; i < parts.size(); ++i) {
            const shard_record* const shard = shard_of(into_, like.parts[i]);
            is_valid = is_valid && flaw_of_place(parts[i], shard).sentence == nullptr;
            parts[i].offset += shard != nullptr ? shard->base : 0;
        }
        last_key_ = is_valid ? object.name : last_key_;
        return is_valid;
    }

    bool read_object(object_record& object) {
        static constexpr field_key fields[] = {"parts", "shape", "layout", "attributes"};
        field_walk walk(fields);
        const auto read = [&](size_t field) {
            return field == 0   ? read_parts(object)
                   : field == 1 ? read_shape(object)
                   : field == 2 ? read_text(object.format_word)
                                : read_attributes_of(object.attributes, object.has_attributes);
        };
        if (!read_fields(walk, read)) {
            return false;
        }
        object.format = find_layout(into_.text(object.format_word));
        return require(walk, {1, 2}) && (object.component_count != 0 || fail_missing("parts"));
    }

    bool read_parts(object_record& object) {
        cbor_sequence parts;
        if (!cursor_.enter_map(parts)) {
            return false;
        }
        begin_components(parts, object);
        uint32_t count = 0;
        for (index_item role; next_name(parts, role, component_name_); ++count) {
            if (count == object.component_count) {
                return fail_limit("more parts than read_options::max_components_per_object allows");
            }
            component_record& part = into_.components[object.first_component + count];
            part = {};
            part.role = role;
            if (!read_part(part, count)) {
                return false;
            }
            component_name_ = {};
        }
        return !cursor_.failed();
    }

    /// Goes to the value of the next pair of a map of names, which is being parsed from here on.
    bool next_name(cbor_sequence& pairs, index_item& name, index_item& being_parsed) noexcept {
        name = here();
        cbor_text text;
        if (!cursor_.next_text_key(pairs, text)) {
            return false;
        }
        being_parsed = name;
        return check_name(text.text, name.position);
    }

    bool read_part(component_record& part, size_t number) {
        static constexpr field_key fields[] = {"blob",   "type",     "dtype",         "shard",
                                               "digest", "encoding", "decoded_length"};
        const size_t start = cursor_.position();
        const shard_record* shard = nullptr;
        field_walk walk(fields);
        const auto read = [&](size_t field) { return read_field(part, field, number, shard); };
        if (!read_fields(walk, read) || !require(walk, {0, 2})) {
            return false;
        }
        if (part.encoding_word.is_present() != part.states_uncompressed_length) {
            return part.states_uncompressed_length
                       ? cursor_.fail(errc::schema_type, start, "a part without an encoding gives a \"decoded_length\"")
                       : fail_missing("decoded_length");
        }
        if (!resolve_part(part)) {
            return false;
        }
        const cbor_fault flaw = flaw_of_place(part, shard);
        part.offset += shard != nullptr ? shard->base : 0;
        return flaw.sentence == nullptr || cursor_.fail(flaw.code, start, flaw.sentence);
    }

    bool read_field(component_record& part, size_t field, size_t number, const shard_record*& shard) {
        switch (field) {
        case 0:
            return read_blob(part, number);
        case 1:
            return read_text(part.type_word);
        case 2:
            return read_text(part.dtype_word);
        case 3:
            return read_shard_of_part(shard);
        case 4:
            return read_digest(part.digest_text, number);
        case 5:
            return read_text(part.encoding_word);
        default:
            part.states_uncompressed_length = part.knows_uncompressed_length = true;
            return read_number(part.uncompressed_length, gap::uncompressed_length, number);
        }
    }

    bool read_blob(component_record& part, size_t number) noexcept {
        const size_t start = cursor_.position();
        cbor_sequence items;
        if (!cursor_.enter_array(items)) {
            return false;
        }
        if (items.remaining != 2) {
            return cursor_.fail(errc::schema_type, start, "a \"blob\" is an offset and a length, and nothing else");
        }
        return cursor_.next(items) && read_number(part.offset, gap::offset, number) && cursor_.next(items) &&
               read_number(part.length, gap::length, number) && !cursor_.next(items);
    }

    /// Of a shard, too.
    bool read_digest(index_item& out, size_t number) {
        const size_t start = cursor_.position();
        if (!read_text(out)) {
            return false;
        }
        const digest_parts parts = parse_strict_digest(into_.text(out));
        if (!parts.is_well_formed) {
            return cursor_.fail(errc::digest_format, start,
                                "a digest is not an algorithm, a colon and lower-case hex digits");
        }
        if (parts.algorithm != digest::none && parts.digits.size() < 256) {
            const size_t end = cursor_.position();
            gaps_.add(gap::digits, number, end - parts.digits.size(), end);
        }
        return true;
    }

    bool read_shard_of_part(const shard_record*& shard) noexcept {
        const size_t start = cursor_.position();
        cbor_text name;
        if (!cursor_.read_text(name)) {
            return false;
        }
        shard = find_shard(name.text);
        return shard != nullptr ||
               cursor_.fail(errc::shard_table, start, "a part lies in a shard that the table does not have");
    }

    /// What the words mean.
    bool resolve_part(component_record& part) noexcept {
        resolve_words_2(into_, part);
        if (!part.dtype || part.dtype == dtype::boolean) {
            return cursor_.fail(errc::unknown_dtype, part.dtype_word.position, "a storage type that is none of the 12");
        }
        return !has_foreign_storage(part) ||
               cursor_.fail(errc::type_mismatch, part.type_word.position,
                            "a logical type stands over another storage type than its own");
    }

    /// What is wrong with where a blob lies in its own file; null for the file itself.
    [[nodiscard]] cbor_fault flaw_of_place(const component_record& part, const shard_record* shard) const noexcept {
        const uint64_t data_end = (shard != nullptr ? shard->size_bytes : file_bytes_) - footer_bytes_2;
        if (part.offset % blob_alignment_2 != 0) {
            return {errc::misaligned_offset, 0, "a blob's offset is not a multiple of 4,096"};
        }
        if (part.offset == 0) {
            return {errc::out_of_bounds, 0, "a blob's offset is 0, where the file's magic stands"};
        }
        return {errc::out_of_bounds, 0,
                fits(part.offset, part.length, data_end) ? nullptr : "a blob reaches past the footer of its file"};
    }

    uint64_t file_bytes_;
    index_item last_key_; ///< of the map of objects
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
