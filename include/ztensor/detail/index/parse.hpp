// SPDX-License-Identifier: MIT
//
// The index of a .zt file to the model, whatever its version. SPEC.md section 3, section 8, section 13.
#ifndef ZTENSOR_DETAIL_INDEX_PARSE_HPP
#define ZTENSOR_DETAIL_INDEX_PARSE_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/parse_1.hpp>
#include <ztensor/detail/index/parse_2.hpp>
#include <ztensor/detail/index/parser.hpp>
#include <ztensor/detail/index/words.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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
