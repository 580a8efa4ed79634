// SPDX-License-Identifier: MIT
//
// CBOR to the model, before version 2: objects and their components. SPEC.md section 3, section 8.
#ifndef ZTENSOR_DETAIL_INDEX_READ_HPP
#define ZTENSOR_DETAIL_INDEX_READ_HPP

#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/fields.hpp>
#include <ztensor/detail/index/manifest_reader.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/pattern_book.hpp>
#include <ztensor/detail/index/plain_component.hpp>
#include <ztensor/detail/index/scanner.hpp>
#include <ztensor/detail/index/words.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- read
//
// CBOR -> the model, for 1.0, 1.1 and 1.2: objects and their components, where the differences of these versions end.
// SPEC.md section 3 and section 8.

/// What stands behind an object's name.
inline bool manifest_reader::read_object(object_record& object) {
    static constexpr std::string_view fields[] = {"shape", "format", "attributes", "components"};
    static constexpr std::string_view fields_1_0[] = {"shape", "format", "dtype", "components"};
    static constexpr field_names known(fields);
    static constexpr field_names known_1_0(fields_1_0);
    const bool is_1_0 = into_.generation == generation::v1_0;
    field_walk walk(is_1_0 ? known_1_0 : known);
    index_item dtype_of_all;
    if (!scan_.enter(walk)) {
        return false;
    }
    while (scan_.next_field(walk)) {
        const bool read = walk.field == 0   ? read_shape(object)
                          : walk.field == 1 ? scan_.read_text(object.format_word)
                          : walk.field == 3 ? read_components(walk.pairs)
                          : is_1_0          ? scan_.read_text(dtype_of_all)
                                            : read_attributes(object.attributes, object.has_attributes);
        if (!read) {
            return false;
        }
    }
    constexpr std::uint32_t required = field_bits(fields, {"shape", "format", "components"});
    constexpr std::uint32_t required_1_0 = required | field_bits(fields_1_0, {"dtype"});
    if (!scan_.leave(walk) || !require(walk, is_1_0 ? required_1_0 : required)) {
        return false;
    }
    if (is_1_0) {
        spread_dtype(object, dtype_of_all);
    }
    object.component_count = static_cast<std::uint32_t>(into_.components.size()) - object.first_component;
    return object.component_count != 0 || fail_missing("an object has no components");
}

/// 1.0 gives the dtype once: of the values. Indices are uint64 and say so nowhere, and of other roles nothing is
/// known.
ZTENSOR_COLD inline void manifest_reader::spread_dtype(const object_record& object, index_item dtype_of_all) {
    for (std::size_t i = object.first_component; i < into_.components.size(); ++i) {
        component_record& component = into_.components[i];
        const std::string_view role = scan_.text(component.role);
        if (role == "indices" || role == "indptr" || role == "coords") {
            component.dtype = ztensor::dtype::u64;
        } else if (role == "data" || role == "values") {
            component.dtype_word = dtype_of_all;
        }
        if (knows_words_) {
            interpret(into_, component);
            patterns_.note_component(component, known_element_bytes(into_, component));
        }
    }
}

/// An object whose words can be given their meaning at once.
inline bool manifest_reader::read_and_learn(object_record& object) {
    fields_.clear();
    const std::size_t begin = scan_.cursor().position();
    const std::size_t changes = scan_.changes();
    if (!read_object(object)) {
        return false;
    }
    object.format = find_format(scan_.text(object.format_word));
    object.is_checked = patterns_.is_right(object, element_count_);
    if (changes == scan_.changes()) { // else the index no longer holds what was read
        patterns_.learn(object, begin, scan_.cursor().position(), fields_);
    }
    return true;
}

inline bool manifest_reader::read_shape(object_record& object) noexcept {
    cbor_cursor& cursor = scan_.cursor();
    const std::size_t start = cursor.position();
    cbor_sequence items;
    cursor.enter_array(items);
    element_counter counter;
    std::size_t rank = 0;
    for (std::uint64_t dimension = 0; cursor.next(items) && scan_.read_unsigned(dimension);) {
        if (++rank > max_rank) {
            return cursor.fail(errc::limit_exceeded, start, "a shape has more than 64 dimensions");
        }
        if (!counter.multiply(dimension)) {
            return cursor.fail(errc::shape_overflow, start,
                               "the product of the dimensions of a shape needs more than 64 bits");
        }
    }
    object.shape = {static_cast<std::uint32_t>(start)};
    element_count_ = counter.count();
    fields_.add(pattern_field::shape, start, cursor.position());
    return !cursor.failed();
}

inline bool manifest_reader::read_components(const cbor_sequence& fields_left) {
    const std::size_t first = into_.components.size();
    name_walk walk;
    if (!scan_.enter(walk)) {
        return false;
    }
    if (walk.pairs.is_indefinite || walk.pairs.remaining > into_.components.room()) {
        make_room(walk.pairs, fields_left);
    }
    patterns_.start_components();
    const bool has_own_dtypes = knows_words_ && into_.generation != generation::v1_0;
    const bool may_be_few = walk.pairs.is_indefinite || walk.pairs.remaining <= pattern_book::most_components;
    for (;;) {
        are_few_ = may_be_few && patterns_.learns() && into_.components.size() - first < pattern_book::most_components;
        if (has_own_dtypes && !are_few_) {
            read_components_like_before(walk, first);
        }
        if (!scan_.next_name(walk)) {
            break;
        }
        scan_.note_name(walk.name);
        component_name_ = walk.name;
        if (into_.components.size() - first >= limits_.max_components_per_object_) {
            return fail_limit("more components than read_options::max_components_per_object allows");
        }
        component_record component;
        component.role = walk.name;
        if (!(has_own_dtypes ? read_and_learn(component) : read_component(component))) {
            return false;
        }
        into_.components.push_back(component);
        component_name_ = {};
    }
    return scan_.leave(walk);
}

/// Reads components for as long as they are like those before, but for their names.
ZTENSOR_NOINLINE inline void manifest_reader::read_components_like_before(name_walk& walk, std::size_t first) {
    cbor_cursor& cursor = scan_.cursor();
    while ((walk.pairs.is_indefinite || walk.pairs.remaining != 0) &&
           into_.components.size() - first < limits_.max_components_per_object_) {
        const std::size_t behind = patterns_.read_component(cursor.position());
        if (behind == 0) {
            break;
        }
        scan_.note_name(scan_.here());
        cursor.go_to(behind);
        walk.pairs.remaining -= walk.pairs.is_indefinite ? 0 : 1;
    }
}

/// Reads the dense object whose name stands at `position`, if it is plain, and returns the position behind it; else 0.
inline std::size_t manifest_reader::read_plain_object(std::size_t position) {
    std::string_view name;
    const std::byte* const behind_name = has_room() ? patterns_.pass_name_at(position, name) : nullptr;
    if (behind_name == nullptr) {
        return 0;
    }
    plain_object found = next_object();
    const std::byte* const end = pass_plain_object(into_.bytes(), behind_name, found);
    if (end == nullptr) {
        return 0;
    }
    found.name = name;
    found.object.name = {static_cast<std::uint32_t>(position)};
    take_in(found);
    return static_cast<std::size_t>(end - into_.index.data());
}

/// Passes over a component that is plain; else stays where it is.
inline bool manifest_reader::take_plain_component(component_record& component) noexcept {
    const std::byte* const begin = into_.index.data();
    component_record found = component;
    const std::byte* const end = pass_plain_component(begin, begin + scan_.cursor().position(), found);
    if (end == nullptr || end > begin + into_.index.size()) {
        return false;
    }
    component = found;
    scan_.cursor().go_to(static_cast<std::size_t>(end - begin));
    return true;
}

/// A component whose words can be given their meaning at once.
inline bool manifest_reader::read_and_learn(component_record& component) {
    const std::size_t begin = scan_.cursor().position();
    const std::size_t changes = scan_.changes();
    if (!are_few_) {
        fields_.clear();
    }
    if (!patterns_.learns() && take_plain_component(component)) {
        patterns_.note_component(component, plain_element_bytes(component));
        return true;
    }
    if (!read_component(component)) {
        return false;
    }
    interpret(into_, component);
    patterns_.note_component(component, known_element_bytes(into_, component));
    if (!are_few_ && changes == scan_.changes()) { // else the index no longer holds what was read
        patterns_.learn(component, begin, scan_.cursor().position(), fields_);
    }
    return true;
}

ZTENSOR_COLD inline bool manifest_reader::read_component(component_record& component) {
    static constexpr std::string_view fields_1_0[] = {"offset", "length", "encoding", "digest"};
    static constexpr std::size_t place_of_1_0[] = {2, 3, 5, 6}; // among the fields of later versions
    static constexpr field_names known_1_0(fields_1_0);
    const bool is_1_0 = into_.generation == generation::v1_0;
    field_walk walk = is_1_0 ? field_walk(known_1_0) : field_walk(component_field_names);
    if (!scan_.enter(walk)) {
        return false;
    }
    while (scan_.next_field(walk)) {
        if (!read_field(component, is_1_0 ? place_of_1_0[walk.field] : walk.field)) {
            return false;
        }
    }
    constexpr std::uint32_t required = field_bits(component_fields, {"dtype", "offset", "length"});
    constexpr std::uint32_t required_1_0 = field_bits(fields_1_0, {"offset", "length"});
    return scan_.leave(walk) && require(walk, is_1_0 ? required_1_0 : required);
}

ZTENSOR_COLD inline bool manifest_reader::read_field(component_record& component, std::size_t field) {
    switch (field) {
    case 0:
        return scan_.read_text(component.dtype_word);
    case 1:
        return scan_.read_text_or_null(component.type_word);
    case 2:
        return read_number(component.offset, pattern_field::offset);
    case 3:
        return read_number(component.length, pattern_field::length);
    case 4:
        if (scan_.take_null()) {
            return true;
        }
        component.states_uncompressed_length = component.knows_uncompressed_length = true;
        return read_number(component.uncompressed_length, pattern_field::uncompressed_length);
    case 5:
        return scan_.read_text_or_null(component.encoding_word);
    default:
        return read_digest(component.digest_text);
    }
}

inline bool manifest_reader::read_number(std::uint64_t& value, pattern_field field) noexcept {
    const std::size_t begin = scan_.cursor().position();
    const bool read = scan_.read_unsigned(value);
    fields_.add(field, begin, scan_.cursor().position());
    return read;
}

inline bool manifest_reader::read_digest(index_item& out) {
    if (!scan_.read_text_or_null(out)) {
        return false;
    }
    const digest_parts parts = parse_digest(scan_.text(out));
    if (parts.algorithm != digest::none && parts.is_well_formed) {
        const std::size_t end = scan_.cursor().position();
        fields_.add(pattern_field::digits, end - parts.digits.size(), end);
    }
    return true;
}

// -- read 0 1
//
// CBOR -> the model, for 0.1: an array of maps in which the fields of a tensor stand beside its custom keys.
// SPEC.md section 8.3.

ZTENSOR_COLD inline result<void> manifest_reader::read_0_1() {
    into_.generation = generation::v0_1;
    if (into_.index.size() == 0) {
        return {};
    }
    reserve_records();
    cbor_sequence tensors;
    knows_words_ = true;
    for (scan_.cursor().enter_array(tensors); scan_.cursor().next(tensors);) {
        if (!(uses_patterns_ && take_plain_tensor_0_1()) && !read_tensor_0_1()) {
            return fault();
        }
    }
    if (!scan_.finish()) {
        return fault();
    }
    return finish();
}

/// Passes over a tensor that is plain; else stays where it is.
inline bool manifest_reader::take_plain_tensor_0_1() {
    if (!has_room()) {
        return false;
    }
    const std::byte* const begin = into_.index.data();
    plain_object found = next_object();
    const std::byte* const end = pass_plain_tensor_0_1(into_.bytes(), begin + scan_.cursor().position(), found);
    if (end == nullptr) {
        return false;
    }
    take_in(found);
    scan_.cursor().go_to(static_cast<std::size_t>(end - begin));
    return true;
}

/// Twice over the map: as attributes, which checks it and makes the text of its fields definite, then for the fields it
/// holds. The object's attributes are the whole map; a view leaves the fields out. What may be a custom key stays as it
/// is.
ZTENSOR_COLD inline bool manifest_reader::read_tensor_0_1() {
    object_record object;
    object.first_component = static_cast<std::uint32_t>(into_.components.size());
    object.component_count = 1;
    component_record component;
    component.any_nonzero_is_true = true;
    tensor_words_0_1 words;
    if (!scan_.read_attributes(object.attributes, field_keys_0_1({}, std::nullopt, true))) {
        return false;
    }
    constexpr std::size_t enclosing_arrays = 1;
    const cbor_cursor rest = scan_.go_back(object.attributes, enclosing_arrays);
    if (!read_fields_0_1(object, component, words)) {
        return false;
    }
    scan_.go_on(rest);
    if (!interpret_words_0_1(words, object, component)) {
        return false;
    }
    interpret(into_, component);
    into_.components.push_back(component);
    object.has_attributes = !attributes_of(into_, object).empty();
    return add_object(object);
}

ZTENSOR_COLD inline bool manifest_reader::read_fields_0_1(object_record& object, component_record& component,
                                                          tensor_words_0_1& words) {
    field_walk walk(field_items_0_1);
    if (!scan_.enter(walk)) {
        return false;
    }
    while (scan_.next_field(walk)) {
        if (!read_field_0_1(walk.field, object, component, words)) {
            return false;
        }
    }
    constexpr std::uint32_t required = field_bits(fields_0_1, {"name", "offset", "size", "dtype", "shape", "encoding"});
    return scan_.leave(walk) && require(walk, required);
}

ZTENSOR_COLD inline bool manifest_reader::read_field_0_1(std::size_t field, object_record& object,
                                                         component_record& component, tensor_words_0_1& words) {
    cbor_cursor& cursor = scan_.cursor();
    index_item* index_array = &words.coords;
    switch (field) {
    case field_0_1("name"):
        if (!scan_.read_text(object.name) || !scan_.check_name(object.name)) {
            return false; // and no error repeats a name as long as the index
        }
        object_name_ = object.name;
        return true;
    case field_0_1("offset"):
        return scan_.read_unsigned(component.offset);
    case field_0_1("size"):
        return scan_.read_unsigned(component.length);
    case field_0_1("shape"):
        return read_shape(object);
    case field_0_1("dtype"):
        return scan_.read_text(component.dtype_word);
    case field_0_1("encoding"):
        return scan_.read_text(component.encoding_word);
    case field_0_1("checksum"): // null is absent to the reference, in this field and in the byte order's
        return scan_.read_text_or_null(component.digest_text);
    case field_0_1("layout"):
        return scan_.read_text(object.format_word);
    case field_0_1("data_endianness"):
        return scan_.read_text_or_null(words.data_endianness);
    case field_0_1("sparse_format"): // of any kind where the layout has no such field
        words.sparse_format = scan_.here();
        return cursor.skip();
    case field_0_1("indptr"):
        index_array = &words.indptr;
        break;
    case field_0_1("indices"):
        index_array = &words.indices;
        break;
    default:
        break;
    }
    if (count_numbers(cursor)) {
        *index_array = scan_.here();
    }
    return cursor.skip();
}

/// The layout in the words of later versions, and the byte order, which only raw data of several bytes has.
ZTENSOR_COLD inline bool manifest_reader::interpret_words_0_1(const tensor_words_0_1& words, object_record& object,
                                                              component_record& component) {
    const std::string_view layout = object.format_word.is_present() ? scan_.text(object.format_word) : "dense";
    std::string sparse_format;
    if (layout == spelled_sparse_0_1) {
        if (!words.sparse_format.is_present()) {
            missing_field_ = "sparse_format";
            return fail_missing("a required field is missing");
        }
        cbor_cursor word(into_.from(words.sparse_format));
        if (!word.read_joined(cbor_major::text, sparse_format)) {
            const bool is_damaged = word.fault().code == errc::cbor_utf8;
            return scan_.cursor().fail(is_damaged ? errc::cbor_utf8 : errc::schema_type, words.sparse_format.position,
                                       is_damaged ? "text that is not UTF-8"
                                                  : "sparse_format is no text, which the layout \"sparse\" needs");
        }
    }
    if (layout == "dense") {
        object.format = format::dense;
    } else if (layout == "sparsecsr" || sparse_format == "csr") {
        object.format = format::sparse_csr;
        component.holds_indices = sparse_format != "csr" || !words.indptr.is_present() || !words.indices.is_present();
    } else if (layout == "sparsecoo" || sparse_format == "coo") {
        object.format = format::sparse_coo;
        component.holds_indices = sparse_format != "coo" || !words.coords.is_present();
    }
    const known_word<dtype> storage = find_storage(scan_.text(component.dtype_word), long_storage_names);
    const bool has_byte_order = !storage || width_bytes(*storage) > 1 || component.holds_indices;
    if (!words.data_endianness.is_present() || !has_byte_order ||
        scan_.text(component.encoding_word) != name(encoding::raw)) {
        return true;
    }
    const std::string_view order = scan_.text(words.data_endianness);
    component.is_big_endian = order == "big";
    component.has_no_byte_order = component.is_big_endian && object.format != format::dense;
    return order == "big" || order == "little" ||
           scan_.cursor().fail(errc::schema_type, words.data_endianness.position,
                               "data_endianness is neither \"little\" nor \"big\"");
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
