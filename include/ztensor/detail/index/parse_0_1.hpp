// SPDX-License-Identifier: MIT
//
// An index of 0.1 to the model: an array of maps in which the fields of a tensor stand beside its custom keys.
// SPEC.md section 8.3.
#ifndef ZTENSOR_DETAIL_INDEX_PARSE_0_1_HPP
#define ZTENSOR_DETAIL_INDEX_PARSE_0_1_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/parser.hpp>
#include <ztensor/detail/index/words.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/format.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <array>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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
        into.generation = version::v0_1;
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
        if (!enter(walk)) {
            return false;
        }
        while (next_field(walk)) {
            if (!read_field(walk.field, object, component, words)) {
                return false;
            }
        }
        if (!leave(walk) ||
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

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
