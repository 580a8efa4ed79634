// SPDX-License-Identifier: MIT
//
// An object between version 2 and the versions before it: what it is called there, and what its attributes say. What
// one side can't say of the other is refused by name. SPEC.md section 13.
#ifndef ZTENSOR_DETAIL_COPY_ACROSS_HPP
#define ZTENSOR_DETAIL_COPY_ACROSS_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/component_view.hpp>
#include <ztensor/detail/codec/digest_text.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/layout/layout_2.hpp>
#include <ztensor/detail/layout/quantized_rules.hpp>
#include <ztensor/detail/layout/sparse_rules.hpp>
#include <ztensor/detail/manifest/write.hpp>
#include <ztensor/detail/read/component_access.hpp>
#include <ztensor/detail/write/quantized_2.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>
#include <ztensor/quantization.hpp>
#include <ztensor/result.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/store.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[nodiscard]] inline bool goes_into_2(generation from, format_version to) noexcept {
    return to == format_version::v2 && from != generation::v2;
}
[[nodiscard]] inline bool comes_out_of_2(generation from, format_version to) noexcept {
    return to != format_version::v2 && from == generation::v2;
}

/// What has a storage type of its own before version 2.
[[nodiscard]] inline bool is_bool_2(const component_view& component) noexcept {
    return component.generation() == generation::v2 && component.dtype() == dtype::u8 && component.type() == "bool";
}

/// How a component is to be digested in the target: by the algorithm that it has, or by that side's own for it. None is
/// what version 2 always has.
[[nodiscard]] inline digest digest_across(const component_view& component, format_version to) noexcept {
    const bool is_2 = component.generation() == generation::v2;
    const digest found = (is_2 ? parse_digest_2(component.digest()) : parse_digest(component.digest())).algorithm;
    if (found == digest::crc32c && to == format_version::v2) {
        return digest::none;
    }
    if (found == digest::xxh3) {
        return to == format_version::v2 ? digest::none : digest::crc32c;
    }
    return found;
}

/// What zt.quant_group/1 says, where 1.2 could say it. Errors: not_expressible.
[[nodiscard]] ZTENSOR_COLD inline result<quantization> quantization_across(const object_view& object,
                                                                           format_version to) {
    const shape dimensions = object.shape();
    ZTENSOR_TRY_ASSIGN(const quant_group_layout layout, read_quant_group(object.attributes(), dimensions));
    const result<component_view> data = object.component("data");
    const char* const problem = !layout.is_lsb_first ? "the first weight in the highest bits of a word"
                                : layout.axis + 1 != dimensions.rank() ? "groups along another dimension than the last"
                                : layout.zero != zero_form::tensor
                                    ? "quantized weights without a zero point for each group"
                                : layout.zeros_are_packed                   ? "packed zero points"
                                : layout.scale == scale_form::e8m0_exponent ? "scales that are exponents"
                                : !data || !data->dtype()                   ? "words of an unknown type"
                                                                            : nullptr;
    if (problem != nullptr) {
        return not_expressible(to, problem);
    }
    std::string packing_name;
    append_number(packing_name, layout.per_word);
    packing_name += "_per_";
    packing_name += name(*data->dtype());
    return quantization{layout.bits, layout.group_size, packing_name};
}

/// Attributes of quantized weights, in the words of the other side.
[[nodiscard]] ZTENSOR_COLD inline result<attributes> quantized_attributes_across(const object_view& object,
                                                                                 format_version to) {
    attributes words(object.attributes());
    if (to == format_version::v2) {
        ZTENSOR_TRY_ASSIGN(const quantization parameters, read_quantization(object.attributes()));
        for (const std::string_view key : {"axis", "scale_form", "zero_point"}) {
            if (object.attributes().contains(key)) {
                return not_expressible(to, sentence("place for an attribute {} of quantized weights: it has a meaning "
                                                    "there",
                                                    {in_quotes(key)}));
            }
        }
        result<void> set = set_quant_group(parameters, object.shape(), words);
        return set ? result<attributes>(std::move(words)) : std::move(set).error();
    }
    ZTENSOR_TRY_ASSIGN(const quantization parameters, quantization_across(object, to));
    words.remove("axis").remove("scale_form").remove("zero_point");
    words.set("bits", parameters.bits).set("group_size", parameters.group_size).set("packing", parameters.packing_name);
    return words;
}

/// The rules of version 2 that only the indices of a sparse object show. Errors: not_expressible, and those of reading.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_sparse_order_2(const object_view& object) {
    result<void> valid;
    if (object.known_format() == format::sparse_csr) {
        const auto csr = csr_view<std::byte>::read(object);
        valid = csr ? check_rising_columns(as_bytes(csr->indices()), as_bytes(csr->indptr()), dtype::u64) : csr.error();
        if (!valid && csr) {
            return not_expressible(format_version::v2, "rows whose columns do not rise");
        }
    } else if (object.known_format() == format::sparse_coo) {
        const auto coo = coo_view<std::byte>::read(object);
        valid = coo ? check_distinct_coords(object.shape(), as_bytes(coo->coords()), dtype::u64) : coo.error();
        if (!valid && coo) {
            return not_expressible(format_version::v2, "coordinates that stand twice");
        }
    }
    return valid;
}

/// What the target calls the object's layout. Errors: not_expressible.
[[nodiscard]] ZTENSOR_COLD inline result<std::string_view> format_across(const object_view& object, format_version to) {
    const std::string_view word = object.format();
    if (const std::optional<format> known = object.known_format()) {
        const std::string_view there = to == format_version::v2 ? facts(*known).layout : facts(*known).name;
        return there.empty() ? result<std::string_view>(not_expressible(to, sentence("layout {}", {in_quotes(word)})))
                             : result<std::string_view>(there);
    }
    const bool means_more = to == format_version::v2 ? find_layout(word).has_value() : find_format(word).has_value();
    if (means_more) {
        return not_expressible(to, sentence("format {} of a meaning that is not known", {in_quotes(word)}));
    }
    return word;
}

/// The draft of an object that crosses, without its components. Errors: not_expressible, and those of reading.
[[nodiscard]] ZTENSOR_COLD inline result<object_draft> draft_across(const object_view& object, format_version to) {
    ZTENSOR_TRY_ASSIGN(const std::string_view word, format_across(object, to));
    if (to == format_version::v2) {
        ZTENSOR_TRY(check_sparse_order_2(object));
    }
    object_draft draft(word, object.shape());
    if (object.known_format() == format::quantized_group) {
        ZTENSOR_TRY_ASSIGN(attributes words, quantized_attributes_across(object, to));
        draft.attributes(std::move(words));
    } else if (object.has_attributes()) {
        draft.attributes(attributes(object.attributes()));
    }
    return draft;
}

/// What the target calls a component.
[[nodiscard]] inline std::string_view role_across(const object_view& object, const component_view& component,
                                                  format_version to) noexcept {
    const generation from = component.generation();
    const std::string_view role = component.role();
    if (object.known_format() != format::quantized_group) {
        return role;
    }
    if (goes_into_2(from, to)) {
        return quant_group_role(role);
    }
    return comes_out_of_2(from, to) && role == "data" ? std::string_view("packed_weight") : role;
}

/// A component that is copied as it is stored, in the words of the target, and digested as that has it.
[[nodiscard]] ZTENSOR_COLD inline result<void> say_across(const component_view& component, format_version to,
                                                          component_source& source) {
    stored_component& stored = *source.stored;
    const bool comes_out = comes_out_of_2(component.generation(), to);
    if (!comes_out && !goes_into_2(component.generation(), to)) {
        return {};
    }
    if (!component.encoding()) {
        return not_expressible(
            to, sentence("encoding {} of a meaning that is not known", {in_quotes(component.encoding_name())}));
    }
    if (comes_out && is_bool_2(component)) {
        stored.dtype = name(dtype::boolean);
        stored.has_type = false;
    }
    if (comes_out && component.encoding() == encoding::zstd_seekable) {
        stored.encoding = name(encoding::zstd); // frames, and one to be skipped
    }
    if (const digest algorithm = digest_across(component, to); algorithm != digest::none) {
        stored.new_digest = algorithm;
        source.how.digest(algorithm);
    }
    return {};
}

/// A type that is of version 2 alone. 1.2 takes any word for a type, so that such elements keep theirs there, and come
/// back with it; before that there is no place for one, unless it is said otherwise. Errors: not_expressible.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_type_across(const component_view& component, format_version to) {
    const std::string_view type = component.type();
    if (find_logical_type_2(type) == nullptr || find_logical_type(type) != nullptr) {
        return {};
    }
    const bool is_known = component.dtype() == dtype::u8; // what it stands over
    if (goes_into_2(component.generation(), to) && !is_known) {
        return not_expressible(to, sentence("logical type {} of a meaning that is not known", {in_quotes(type)}));
    }
    if (comes_out_of_2(component.generation(), to) && !is_bool_2(component) && to != format_version::v1_2) {
        return not_expressible(to, sentence("logical type {}", {in_quotes(type)}));
    }
    return {};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
