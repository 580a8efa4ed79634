// SPDX-License-Identifier: MIT
//
// The index of a .zt file to the model, whatever its version: here those of 0.1 and of 1.0 to 1.2, and drafts.
// SPEC.md section 3, section 8, section 13.
#ifndef ZTENSOR_DETAIL_INDEX_PARSE_HPP
#define ZTENSOR_DETAIL_INDEX_PARSE_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/parse_2.hpp>
#include <ztensor/detail/index/parser.hpp>
#include <ztensor/detail/index/words.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/format.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <array>
#include <iterator>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- 0.1
//
// An array of maps in which the fields of a tensor stand beside its custom keys. SPEC.md section 8.3.

/// The fields of model.hpp, in their order.
template <size_t... Fields>
[[nodiscard]] constexpr std::array<field_key, sizeof...(Fields)> keys_of(std::index_sequence<Fields...>) noexcept {
    return {field_key(fields_0_1[Fields])...};
}
inline constexpr auto keys_0_1 = keys_of(std::make_index_sequence<fields_0_1.size()>());

class parser_0_1 : index_parser<cbor_strictness::well_formed> {
public:
    parser_0_1(manifest& into, const read_options& limits, uint64_t index_offset, bool uses_templates) noexcept
        : index_parser(into, limits, index_offset, uses_templates) {
        into.version = version::v0_1;
    }

    /// An index of no bytes has no tensors.
    ZTENSOR_COLD result<void> parse() {
        if (into_.index.size() == 0) {
            return {};
        }
        cbor_sequence tensors;
        if (cursor_.enter_array(tensors)) {
            expect_records(tensors);
        }
        for (;;) {
            read_like_before(tensors, [](const record_template&) { return true; });
            if (!cursor_.next(tensors)) {
                return finish() ? resolve(into_, true, index_offset_) : fault();
            }
            if (!read_tensor()) {
                return fault();
            }
        }
    }

private:
    /// The words that say together what stands where.
    struct tensor_words {
        index_item data_endianness;
        index_item sparse_format;
        index_item indptr; ///< if it is an array of non-negative integers; like the next two
        index_item indices;
        index_item coords;
    };

    /// The object's attributes are its whole map; a view leaves the fields out.
    bool read_tensor() {
        const size_t begin = cursor_.position();
        object_record object;
        component_record component;
        component.any_nonzero_is_true = true;
        tensor_words words;
        begin_object();
        field_walk walk({keys_0_1.data(), keys_0_1.size()}, true);
        if (!read_fields(walk, [&](size_t field) { return read_field(field, object, component, words); }) ||
            !require(walk, {field_0_1("name"), field_0_1("offset"), field_0_1("size"), field_0_1("dtype"),
                            field_0_1("shape"), field_0_1("encoding")}) ||
            !resolve_layout(words, object, component)) {
            return false;
        }
        object.attributes = {static_cast<uint32_t>(begin)};
        if (walk.has_chunked_key) {
            copy_with_definite_keys(object.attributes);
        }
        resolve_words(into_, component);
        object.component_count = 1;
        object.first_component = static_cast<uint32_t>(into_.components.extend(1));
        into_.components[object.first_component] = component;
        object.has_attributes = !attributes_of(into_, object).empty();
        return end_object(object, begin);
    }

    ZTENSOR_COLD bool read_field(size_t field, object_record& object, component_record& component,
                                 tensor_words& words) {
        index_item* index_array = &words.coords;
        switch (field) {
        case field_0_1("name"): {
            const size_t begin = cursor_.position();
            if (!read_text(object.name) || !check_name(into_.text(object.name), begin)) {
                return false; // and no error repeats a name as long as the index
            }
            gaps_.add(gap::name, 0, begin, cursor_.position());
            object_name_ = object.name;
            return true;
        }
        case field_0_1("offset"):
            return read_number(component.offset, gap::offset, 0);
        case field_0_1("size"):
            return read_number(component.length, gap::length, 0);
        case field_0_1("shape"):
            return read_shape(object);
        case field_0_1("dtype"):
            return read_text(component.dtype_word);
        case field_0_1("encoding"):
            return read_text(component.encoding_word);
        case field_0_1("checksum"): // null is absent to the reference, in this field and in the byte order's
            return read_digest(component.digest_text, 0);
        case field_0_1("layout"):
            return read_text(object.format_word);
        case field_0_1("data_endianness"):
            return read_text_or_null(words.data_endianness);
        case field_0_1("sparse_format"): // of any kind where the layout has no such field
            words.sparse_format = here();
            return cursor_.skip();
        case field_0_1("indptr"):
            index_array = &words.indptr;
            break;
        case field_0_1("indices"):
            index_array = &words.indices;
            break;
        default:
            break;
        }
        if (count_numbers(cursor_)) {
            *index_array = here();
        }
        return cursor_.skip();
    }

    /// The layout in the words of later versions, and the byte order, which only raw data of several bytes has.
    ZTENSOR_COLD bool resolve_layout(const tensor_words& words, object_record& object, component_record& component) {
        const string_view layout = object.format_word.is_present() ? into_.text(object.format_word) : "dense";
        string sparse_format;
        if (layout == spelled_sparse_0_1) {
            if (!words.sparse_format.is_present()) {
                return fail_missing("sparse_format");
            }
            cbor_cursor word(into_.from(words.sparse_format));
            if (!word.read_joined(cbor_major::text, sparse_format)) {
                const bool is_damaged = word.fault().code == errc::cbor_utf8;
                return cursor_.fail(is_damaged ? errc::cbor_utf8 : errc::schema_type, words.sparse_format.position,
                                    is_damaged ? "text that is not UTF-8"
                                               : "sparse_format is no text, which the layout \"sparse\" needs");
            }
        }
        if (layout == "dense") {
            object.format = format::dense;
        } else if (layout == "sparsecsr" || sparse_format == "csr") {
            object.format = format::sparse_csr;
            component.holds_indices =
                sparse_format != "csr" || !words.indptr.is_present() || !words.indices.is_present();
        } else if (layout == "sparsecoo" || sparse_format == "coo") {
            object.format = format::sparse_coo;
            component.holds_indices = sparse_format != "coo" || !words.coords.is_present();
        }
        const known_word<dtype> storage = find_storage(into_.text(component.dtype_word), long_storage_names);
        const bool has_byte_order = !storage || width_bytes(*storage) > 1 || component.holds_indices;
        if (!words.data_endianness.is_present() || !has_byte_order ||
            into_.text(component.encoding_word) != name(encoding::raw)) {
            return true;
        }
        const string_view order = into_.text(words.data_endianness);
        component.is_big_endian = order == "big";
        component.has_no_byte_order = component.is_big_endian && object.format != format::dense;
        return order == "big" || order == "little" ||
               cursor_.fail(errc::schema_type, into_.position_of(words.data_endianness),
                            "data_endianness is neither \"little\" nor \"big\"");
    }
};

// -- 1.0 to 1.2

class parser_1 : index_parser<cbor_strictness::well_formed> {
public:
    parser_1(manifest& into, const read_options& limits, uint64_t index_offset, bool uses_templates) noexcept
        : index_parser(into, limits, index_offset, uses_templates) {}

    ZTENSOR_COLD result<void> parse() {
        static constexpr field_key fields[] = {"version", "attributes", "objects"};
        field_walk walk(fields);
        if (!read_root(walk) || !require(walk, {0, 2}) || !finish()) {
            return fault();
        }
        if (!find_version(into_.text(into_.version_text))) {
            return fail(errc::unsupported_version,
                        "the manifest is of version {}, where 0.1 and 1.x are known: get a newer version of this "
                        "library, or let the program that wrote the file write version 1.2",
                        {in_quotes(into_.text(into_.version_text))})
                .at(index_offset_ + into_.position_of(into_.version_text));
        }
        return resolve(into_, knows_words_, index_offset_);
    }

    /// 1.0: `tensors` in place of `objects`, and the dtype at the tensor.
    ZTENSOR_COLD result<void> parse_1_0() {
        static constexpr field_key fields[] = {"version", "attributes", "tensors"};
        into_.version = version::v1_0;
        is_1_0_ = knows_words_ = true;
        field_walk walk(fields);
        return read_root(walk) && finish() ? resolve(into_, knows_words_, index_offset_) : fault();
    }

private:
    /// The fields in the order version, attributes, objects.
    bool read_root(field_walk& walk) {
        return read_fields(walk, [&](size_t field) {
            return field == 0   ? read_version()
                   : field == 1 ? read_attributes_or_null(into_.attributes, into_.has_attributes)
                                : read_objects(walk.pairs);
        });
    }

    /// Most files state their version before their objects. Only then words have a meaning at once.
    ZTENSOR_COLD bool read_version() {
        if (!read_text(into_.version_text)) {
            return false;
        }
        const optional<ztensor::version> known = find_version(into_.text(into_.version_text));
        if (known && !is_1_0_) { // which is known beforehand
            into_.version = *known;
            knows_words_ = knows_words_ || into_.objects.empty();
        }
        return true;
    }

    /// Where keys are sorted by their bytes, the version stands behind the objects, which are about to be read; of the
    /// root, `fields` are left.
    ZTENSOR_COLD void look_for_version(cbor_sequence fields) {
        cbor_cursor ahead = cursor_;
        for (ahead.skip(); ahead.next(fields); ahead.skip()) {
            cbor_text version;
            if (!ahead.take_word("version")) {
                ahead.skip();
                continue;
            }
            if (ahead.read_text(version) && !version.is_chunked) {
                if (const optional<ztensor::version> known = find_version(version.text)) {
                    into_.version = *known;
                    knows_words_ = true;
                }
            }
            return;
        }
    }

    /// An explicit null stands for their absence.
    bool read_attributes_or_null(index_item& at, bool& has_attributes) {
        has_attributes = !take_null();
        return !has_attributes || read_attributes(at);
    }

    bool read_objects(const cbor_sequence& fields_left) {
        if (!knows_words_ && !into_.version_text.is_present()) {
            look_for_version(fields_left);
        }
        cbor_sequence objects;
        if (!cursor_.enter_map(objects)) {
            return false;
        }
        expect_records(objects);
        for (;;) {
            if (knows_words_) {
                read_like_before(objects, [](const record_template&) { return true; });
            }
            const size_t begin = cursor_.position();
            object_record object;
            begin_object();
            if (!next_name(objects, object.name)) {
                return !cursor_.failed(); // resolve() sees to it that names are distinct
            }
            object_name_ = object.name;
            gaps_.add(gap::name, 0, begin, cursor_.position());
            if (!read_object(object)) {
                return false;
            }
            if (knows_words_) {
                resolve_words(into_, object);
            }
            if (!end_object(object, begin)) {
                return false;
            }
        }
    }

    /// What stands behind an object's name.
    bool read_object(object_record& object) {
        enum : size_t { shape, format, components, attributes, dtype = attributes };
        static constexpr field_key fields[] = {"shape", "format", "components", "attributes"};
        static constexpr field_key fields_1_0[] = {"shape", "format", "components", "dtype"};
        field_walk walk(is_1_0_ ? fields_1_0 : fields);
        index_item dtype_of_all;
        const auto read = [&](size_t field) {
            return field == shape        ? read_shape(object)
                   : field == format     ? read_text(object.format_word)
                   : field == components ? read_components(object)
                   : is_1_0_             ? read_text(dtype_of_all)
                                         : read_attributes_or_null(object.attributes, object.has_attributes);
        };
        if (!read_fields(walk, read) || !require(walk, {shape, format}) || (is_1_0_ && !require(walk, {dtype})) ||
            !require(walk, {components})) {
            return false;
        }
        if (is_1_0_) {
            spread_dtype(object, dtype_of_all);
        }
        return object.component_count != 0 ||
               cursor_.fail(errc::schema_missing, cursor_.position(), "an object has no components");
    }

    /// 1.0 gives the dtype once: of the values. Indices are uint64 and say so nowhere, and of other roles nothing is
    /// known.
    ZTENSOR_COLD void spread_dtype(const object_record& object, index_item dtype_of_all) {
        for (component_record& component : into_.components_of(object)) {
            const string_view role = into_.text(component.role);
            if (role == "indices" || role == "indptr" || role == "coords") {
                component.dtype = ztensor::dtype::u64;
            } else if (role == "data" || role == "values") {
                component.dtype_word = dtype_of_all;
            }
        }
    }

    bool read_components(object_record& object) {
        const size_t outer_keys = keys_.size();
        cbor_sequence components;
        if (!cursor_.enter_map(components)) {
            return false;
        }
        begin_components(components, object);
        uint32_t count = 0;
        for (index_item role; next_name(components, role); ++count) {
            keys_.push_back(into_.position_of(role));
            component_name_ = role;
            if (count == object.component_count) {
                return fail_component_limit();
            }
            component_record& component = into_.components[object.first_component + count];
            component = {};
            component.role = role;
            if (!read_component(component, count)) {
                return false;
            }
            component_name_ = {};
        }
        object.component_count = count;
        return !cursor_.failed() && check_distinct(outer_keys);
    }

    enum component_field : size_t { offset, length, encoding_word, digest, dtype_word, type, uncompressed_length };

    bool read_component(component_record& component, size_t part) {
        static constexpr field_key fields[] = {"offset", "length", "encoding",           "digest",
                                               "dtype",  "type",   "uncompressed_length"};
        constexpr size_t fields_of_1_0 = 4;
        field_walk walk(span<const field_key>(fields, is_1_0_ ? fields_of_1_0 : std::size(fields)));
        return read_fields(walk, [&](size_t field) { return read_field(component, field, part); }) &&
               (is_1_0_ || require(walk, {dtype_word})) && require(walk, {offset, length});
    }

    bool read_field(component_record& component, size_t field, size_t part) {
        switch (field) {
        case offset:
            return read_number(component.offset, gap::offset, part);
        case length:
            return read_number(component.length, gap::length, part);
        case encoding_word:
            return read_text_or_null(component.encoding_word);
        case digest:
            return read_digest(component.digest_text, part);
        case dtype_word:
            return read_text(component.dtype_word);
        case type:
            return read_text_or_null(component.type_word);
        default:
            if (take_null()) {
                return true;
            }
            component.states_uncompressed_length = component.knows_uncompressed_length = true;
            return read_number(component.uncompressed_length, gap::uncompressed_length, part);
        }
    }

    bool is_1_0_ = false;
    bool knows_words_ = false; ///< the version came before the objects
};

/// Takes over a draft, whose items are judged as those of an index are, and whose words mean what they mean in 1.2.
class draft_parser : index_parser<cbor_strictness::well_formed> {
public:
    draft_parser(manifest& into, const read_options& limits) noexcept : index_parser(into, limits, 0, false) {}

    ZTENSOR_COLD result<void> parse() {
        into_.has_attributes = into_.attributes.is_present();
        if (into_.has_attributes && !take_map(into_.attributes)) {
            return fault();
        }
        for (size_t i = 0; i < into_.objects.size(); ++i) {
            if (!take(into_.objects[i]) || (i >= limits_.max_objects() && !fail_object_limit())) {
                return fault();
            }
            object_name_ = {};
        }
        return resolve(into_, true, 0);
    }

private:
    bool take_text(index_item& item) {
        cursor_.go_to(item.position);
        return !item.is_present() || read_text(item);
    }
    bool take_map(index_item& item) {
        cursor_.go_to(item.position);
        return read_attributes(item);
    }

    bool take(object_record& object) {
        if (!take_text(object.name) || !check_name(into_.text(object.name), object.name.position)) {
            return false;
        }
        object_name_ = object.name;
        cursor_.go_to(object.shape.position);
        if (!read_shape(object) || !take_text(object.format_word) ||
            (object.has_attributes && !take_map(object.attributes))) {
            return false;
        }
        if (object.component_count > limits_.max_components_per_object()) {
            return fail_component_limit();
        }
        for (component_record& part : into_.components_of(object)) {
            if (!take_text(part.role) || !take_text(part.dtype_word) || !take_text(part.type_word) ||
                !take_text(part.digest_text)) {
                return false;
            }
        }
        resolve_words(into_, object);
        builder_.note(object);
        return true;
    }
};

/// Makes a model of a draft. Errors: cbor_utf8, name_invalid, duplicate_key, limit_exceeded, shape_overflow,
/// cbor_depth.
ZTENSOR_COLD inline result<void> take_draft(manifest& into, model_draft draft, const read_options& limits) {
    into.index = std::move(draft.items);
    into.objects = std::move(draft.objects);
    into.components = std::move(draft.components);
    into.attributes = draft.attributes;
    return draft_parser(into, limits).parse();
}

/// Fills `into` from its index, which scan_reach_bytes of anything follow, and which lies where `at` says in a file of
/// `file_bytes`. Without templates, which only take less time, tests see what these are to find.
/// Errors: the cbor_... and schema_... codes, duplicate_key, name_invalid, unsupported_version, limit_exceeded,
/// shape_overflow, truncated (what looked like 1.0 is none); of version 2 also shard_table, unknown_dtype,
/// type_mismatch, digest_format, misaligned_offset, out_of_bounds.
ZTENSOR_COLD inline result<void> parse_index(manifest& into, const manifest_location& at, uint64_t file_bytes,
                                             const read_options& limits, bool uses_templates = true) {
    if (at.kind == container::zt_2) {
        return parser_2(into, limits, at.offset, file_bytes, uses_templates).parse();
    }
    into.blobs_end = at.offset;
    switch (at.kind) {
    case container::zt_0_1:
        return parser_0_1(into, limits, at.offset, uses_templates).parse();
    case container::zt_1_0_or_cut_off:
        return is_manifest_1_0(into.bytes()) ? parser_1(into, limits, at.offset, uses_templates).parse_1_0()
                                             : missing_footer(file_bytes);
    default:
        return parser_1(into, limits, at.offset, uses_templates).parse();
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
