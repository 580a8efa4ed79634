// SPDX-License-Identifier: MIT
//
// CBOR -> the model, for 0.1: an array of maps in which the fields of a tensor stand beside its custom keys.
// SPEC.md section 8.3.
#ifndef ZTENSOR_DETAIL_MANIFEST_READ_0_1_HPP
#define ZTENSOR_DETAIL_MANIFEST_READ_0_1_HPP

#include <ztensor/detail/manifest/fields_0_1.hpp>
#include <ztensor/detail/manifest/manifest_reader.hpp>
#include <ztensor/detail/manifest/meaning.hpp>
#include <ztensor/detail/manifest/plain_tensor_0_1.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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
