// SPDX-License-Identifier: MIT
//
// The index of a .zt file to the model, whatever its version. SPEC.md section 3, section 8, section 13.
#ifndef ZTENSOR_DETAIL_INDEX_PARSE_HPP
#define ZTENSOR_DETAIL_INDEX_PARSE_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/parse_0_1.hpp>
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

    ZTENSOR_COLD result<void> parse(const model_draft& draft) {
        into_.attributes = draft.attributes;
        into_.has_attributes = draft.attributes.is_present();
        if (into_.has_attributes && !(go_to(draft.attributes) && read_attributes(into_.attributes))) {
            return fault();
        }
        into_.objects.expect(draft.objects.size());
        into_.components.expect(draft.components.size());
        const component_record* parts = draft.components.data();
        for (object_record object : draft.objects) {
            if (!take(object, parts)) {
                return fault();
            }
            parts += object.component_count;
        }
        return resolve(into_, true, 0);
    }

private:
    bool go_to(index_item item) noexcept {
        cursor_.go_to(item.position);
        return true;
    }
    bool take_text(index_item& item) { return !item.is_present() || (go_to(item) && read_text(item)); }

    bool take(object_record& object, const component_record* parts) {
        const size_t begin = object.name.position;
        begin_object();
        if (!take_text(object.name) || !check_name(into_.text(object.name), begin)) {
            return false;
        }
        object_name_ = object.name;
        if (!go_to(object.shape) || !read_shape(object) || !take_text(object.format_word) ||
            (object.has_attributes && !(go_to(object.attributes) && read_attributes(object.attributes)))) {
            return false;
        }
        if (object.component_count > limits_.max_components_per_object_) {
            return fail_limit("more components than read_options::max_components_per_object allows");
        }
        object.first_component = static_cast<uint32_t>(into_.components.extend(object.component_count));
        for (uint32_t i = 0; i < object.component_count; ++i) {
            component_record& part = into_.components[object.first_component + i];
            part = parts[i];
            if (!take_text(part.role) || !take_text(part.dtype_word) || !take_text(part.type_word) ||
                !take_text(part.digest_text)) {
                return false;
            }
        }
        resolve_words(into_, object);
        return end_object(object, begin);
    }
};

/// Makes a model of a draft. Errors: cbor_utf8, name_invalid, duplicate_key, limit_exceeded, shape_overflow,
/// cbor_depth.
ZTENSOR_COLD inline result<void> take_draft(manifest& into, model_draft draft, const read_options& limits) {
    into.index = std::move(draft.items);
    return draft_parser(into, limits).parse(draft);
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
