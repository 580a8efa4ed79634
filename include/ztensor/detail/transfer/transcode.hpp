// SPDX-License-Identifier: MIT
//
// An object as another version of the format has it. SPEC.md section 8, section 13.
#ifndef ZTENSOR_DETAIL_TRANSFER_TRANSCODE_HPP
#define ZTENSOR_DETAIL_TRANSFER_TRANSCODE_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/layouts.hpp>
#include <ztensor/detail/index/part_rules.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/sparse_parts.hpp>
#include <ztensor/detail/write/typed_drafts.hpp>
#include <ztensor/format.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/sparse.hpp>

#include <algorithm>
#include <deque>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- across
//
// An object between version 2 and the versions before it: what it is called there, and what its attributes say. What
// one side can't say of the other is refused by name. SPEC.md section 13.

[[nodiscard]] inline bool goes_into_2(version from, format_version to) noexcept {
    return to == format_version::v2 && from != version::v2;
}
[[nodiscard]] inline bool comes_out_of_2(version from, format_version to) noexcept {
    return to != format_version::v2 && from == version::v2;
}

/// The refusal of a word that this side does not know and the other one does.
[[nodiscard]] ZTENSOR_COLD inline error of_unknown_meaning(format_version to, string_view what, string_view word) {
    return not_expressible(to, sentence("{} {} of a meaning that is not known", {what, in_quotes(word)}));
}

/// What has a storage type of its own before version 2.
[[nodiscard]] inline bool is_bool_2(const component_view& component) noexcept {
    return component_access::version_of(component) == version::v2 && component.dtype() == dtype::u8 &&
           component.type() == logical_type::boolean;
}

/// How a component is to be digested in the target: by the algorithm that it has, or by that side's own for it. None is
/// what version 2 always has.
[[nodiscard]] inline digest digest_across(const component_view& component, format_version to) noexcept {
    const bool is_2 = component_access::version_of(component) == version::v2;
    const digest found =
        (is_2 ? parse_strict_digest(component.digest().text()) : parse_digest(component.digest().text())).algorithm;
    if (found == digest::crc32c && to == format_version::v2) {
        return digest::none;
    }
    if (found == digest::xxh3) {
        return to == format_version::v2 ? digest::none : digest::crc32c;
    }
    return found;
}

/// What zt.quant_group/1 says, where 1.2 could say it. Errors: not_expressible.
ZTENSOR_COLD inline result<quantization> quantization_across(const object_view& object, format_version to) {
    const shape dimensions = object.shape();
    ZTENSOR_TRY_ASSIGN(const quant_group_layout layout, read_quant_group(object.attributes(), dimensions));
    const result<component_view> data = object.component("data");
    const char* const problem = !layout.is_lsb_first ? "the first weight in the highest bits of a word"
                                : layout.axis + 1 != dimensions.rank() ? "groups along another dimension than the last"
                                : layout.zero != zero_form::tensor
                                    ? "quantized weights without a zero point for each group"
                                : layout.zeros_are_packed                   ? "packed zero points"
                                : layout.scale == scale_form::e8m0_exponent ? "scales that are exponents"
                                : !data || !data->dtype().is_known()        ? "words of an unknown type"
                                                                            : nullptr;
    if (problem != nullptr) {
        return not_expressible(to, problem);
    }
    string packing_name;
    packing_name += std::to_string(layout.per_word);
    packing_name += "_per_";
    packing_name += name(*data->dtype().known());
    return quantization{layout.bits, layout.group_size, packing_name};
}

/// Attributes of quantized weights, in the words of the other side.
ZTENSOR_COLD inline result<attributes> quantized_attributes_across(const object_view& object, format_version to) {
    attributes words(object.attributes());
    if (to == format_version::v2) {
        ZTENSOR_TRY_ASSIGN(const quantization parameters, read_quantization(object.attributes()));
        for (const string_view key : {"axis", "scale_form", "zero_point"}) {
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

[[nodiscard]] inline bool is_sparse(const object_view& object) noexcept {
    return object.format() == format::sparse_csr || object.format() == format::sparse_coo;
}

/// All parts of a sparse object, decoded; values as bytes, and indices as u64.
ZTENSOR_COLD inline result<sparse_parts> read_sparse(const object_view& object) {
    return load_sparse(object, *object.format().known(), loading::reads, element_request(), dtype::u64);
}

/// The rules of version 2 that only the indices of a sparse object show. Errors: not_expressible, and those of reading.
ZTENSOR_COLD inline result<void> check_sparse_order_2(const object_view& object) {
    if (!is_sparse(object)) {
        return {};
    }
    ZTENSOR_TRY_ASSIGN(const sparse_parts parts, read_sparse(object));
    if (object.format() == format::sparse_csr) {
        return check_rising_columns(parts.indices.bytes, parts.indptr.bytes, dtype::u64)
                   ? result<void>()
                   : not_expressible(format_version::v2, "rows whose columns do not rise");
    }
    return check_distinct_coords(object.shape(), parts.indices.bytes, dtype::u64)
               ? result<void>()
               : not_expressible(format_version::v2, "coordinates that stand twice");
}

/// What the target calls the object's layout. Errors: not_expressible.
ZTENSOR_COLD inline result<string_view> format_across(const object_view& object, format_version to) {
    const string_view word = object_access::format_word_of(object);
    if (const optional<format> known = object_access::record_of(object).format) { // of planes none
        const string_view there = to == format_version::v2 ? facts(*known).layout : facts(*known).name;
        return there.empty() ? result<string_view>(not_expressible(to, sentence("layout {}", {in_quotes(word)})))
                             : result<string_view>(there);
    }
    const bool means_more = to == format_version::v2 ? find_layout(word).has_value() : find_format(word).has_value();
    if (means_more) {
        return of_unknown_meaning(to, "format", word);
    }
    return word;
}

/// The draft of an object that crosses, without its components. Errors: not_expressible, and those of reading.
ZTENSOR_COLD inline result<object_draft> draft_across(const object_view& object, format_version to) {
    ZTENSOR_TRY_ASSIGN(const string_view word, format_across(object, to));
    if (to == format_version::v2) {
        ZTENSOR_TRY(check_sparse_order_2(object));
    }
    object_draft draft(word, object.shape());
    if (object.format() == format::quantized_group) {
        ZTENSOR_TRY_ASSIGN(attributes words, quantized_attributes_across(object, to));
        draft.attributes(std::move(words));
    } else if (object_access::has_stored_attributes(object)) {
        draft.attributes(attributes(object_access::stored_attributes_of(object)));
    }
    return draft;
}

/// What the target calls a component.
[[nodiscard]] inline string_view role_across(const object_view& object, const component_view& component,
                                             format_version to) noexcept {
    const version from = component_access::version_of(component);
    const string_view role = component.role();
    if (object.format() != format::quantized_group) {
        return role;
    }
    if (goes_into_2(from, to)) {
        return role == "packed_weight" ? string_view("data") : role;
    }
    return comes_out_of_2(from, to) && role == "data" ? string_view("packed_weight") : role;
}

/// A component that is copied as it is stored, in the words of the target, and digested as that has it.
ZTENSOR_COLD inline result<void> say_across(const component_view& component, format_version to,
                                            component_source& source) {
    stored_component& stored = *source.stored;
    const bool comes_out = comes_out_of_2(component_access::version_of(component), to);
    if (!comes_out && !goes_into_2(component_access::version_of(component), to)) {
        return {};
    }
    if (!component.encoding().is_known()) {
        return of_unknown_meaning(to, "encoding", component.encoding().text());
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
ZTENSOR_COLD inline result<void> check_type_across(const component_view& component, format_version to) {
    const string_view type = component_access::type_word_of(component);
    if (find_any_logical_type(type) == nullptr || find_logical_type(type) != nullptr) {
        return {};
    }
    const bool is_known = component.dtype() == dtype::u8; // what it stands over
    if (goes_into_2(component_access::version_of(component), to) && !is_known) {
        return of_unknown_meaning(to, "logical type", type);
    }
    if (comes_out_of_2(component_access::version_of(component), to) && !is_bool_2(component) &&
        to != format_version::v1_2) {
        return not_expressible(to, sentence("logical type {}", {in_quotes(type)}));
    }
    return {};
}

// -- redraft
//
// An object of an open file as a draft for another file: stored blobs as they are where the target's version takes
// them so, else decoded and turned into what it takes. SPEC.md section 8.

/// A draft and the memory that it borrows.
struct redrafted {
    object_draft draft;
    std::deque<vector<byte>> memory; ///< a deque: what is in it stays where it is
};

/// Whether the component holds the exponents of a tensor in planes, and is compressed.
[[nodiscard]] inline bool are_exponents(const component_view& component) noexcept {
    const opened_file& file = component_access::file_of(component);
    return file.planes.find(component_access::object_record_of(component)) != nullptr &&
           component.role() == role_of(plane::exponent) && component.encoding() != encoding::raw;
}

/// How a component is to be stored again: as it was, as far as the target has it.
[[nodiscard]] inline store store_like(const component_view& component, format_version version) {
    store how;
    if (version == format_version::v2 || !is_bool_2(component)) {
        draft_access::set_type(how, component_access::type_word_of(component), // one of no letters, too
                               component_access::has_type_word(component));
    }
    if (component.encoding() == encoding::zstd || component.encoding() == encoding::zstd_seekable) {
        how.zstd(0);
    }
    if (are_exponents(component)) {
        draft_access::set_exponents(how);
    }
    how.digest(digest_across(component, version));
    return how;
}

class redrafting {
public:
    redrafting(const object_view& object, format_version version, bool reencode)
        : object_(object), version_(version),
          reencode_(reencode), out_{object_draft(object_access::format_word_of(object), object.shape()), {}} {}

    result<redrafted> run() && {
        ZTENSOR_TRY(begin());
        const bool is_in_one_blob = is_sparse(object_) && !object_.component("values"); // that is, of 0.1
        const bool is_0_1 = version_ == format_version::v0_1;
        const planes_tensor* const planes =
            object_access::file_of(object_).planes.find(object_access::record_of(object_));
        if (planes != nullptr && is_0_1) { // which has no place for objects of two components
            ZTENSOR_TRY(add_joined(planes->data));
        } else if (is_in_one_blob && !(is_0_1 && blob_record().holds_indices)) {
            ZTENSOR_TRY(is_0_1 ? add_one_blob() : add_parts());
        } else if (is_sparse(object_) && !is_in_one_blob && is_0_1) {
            ZTENSOR_TRY(add_one_blob());
        } else {
            ZTENSOR_TRY(add_components());
        }
        return std::move(out_);
    }

private:
    /// The draft without its components.
    result<void> begin() {
        const version from = object_access::file_of(object_).index.version;
        if (goes_into_2(from, version_) || comes_out_of_2(from, version_)) {
            ZTENSOR_TRY_ASSIGN(out_.draft, draft_across(object_, version_));
            return {};
        }
        if (object_access::has_stored_attributes(object_)) {
            out_.draft.attributes(attributes(object_access::stored_attributes_of(object_)));
        }
        if (version_ == format_version::v2) {
            draft_access::keep_word(out_.draft);
            return {};
        }
        const optional<format> same_word = find_format(object_access::format_word_of(object_));
        const bool has_word_in_target = version_ != format_version::v0_1 || same_word != format::quantized_group;
        if (!object_.format().is_known() && same_word && is_0_1_to_0_1()) { // which has other words for these
            draft_access::keep_word(out_.draft);
        } else if (!object_.format().is_known() && same_word && has_word_in_target) {
            return of_unknown_meaning(version_, "format", object_access::format_word_of(object_));
        }
        for (const component_view component : object_) {
            if (is_unknown(component.type()) &&
                component.type().text() == component.dtype().text()) { // a dtype word of 1.1 beside it
                return of_unknown_meaning(version_, "logical type", component_access::type_word_of(component))
                    .in_component(component.role());
            }
        }
        return {};
    }

    [[nodiscard]] bool is_0_1_to_0_1() const noexcept {
        return version_ == format_version::v0_1 && object_access::file_of(object_).index.version == version::v0_1;
    }

    /// The one component of a tensor of 0.1.
    [[nodiscard]] const component_record& blob_record() const noexcept {
        return object_access::file_of(object_).index.components_of(object_access::record_of(object_))[0];
    }

    result<void> add_components() {
        vector<component_view> components(object_.begin(), object_.end());
        std::stable_sort(components.begin(), components.end(), [](const component_view& a, const component_view& b) {
            return a.offset() != b.offset() ? a.offset() < b.offset() : a.stored_bytes() < b.stored_bytes();
        });
        for (const component_view& component : components) {
            ZTENSOR_TRY(add_component(component));
        }
        return {};
    }

    result<void> add_component(const component_view& component) {
        ZTENSOR_TRY(in_component(check_type_across(component, version_), component.role()));
        if (needs_wide_indices(component)) {
            return add_wide_indices(component);
        }
        if (!component.dtype().is_known() && has_meaning_in_target(component.dtype().text())) {
            return of_unknown_meaning(version_, "storage type", component.dtype().text());
        }
        const bool must_swap = component.is_big_endian() && version_ != format_version::v0_1;
        if (must_swap && (object_.format() != format::dense || !component.dtype().is_known())) {
            return not_expressible(version_, "big-endian data but the raw data of dense tensors of version 0.1");
        }
        if (has_loose_bools(component) && reencode_) {
            return add_bools(component);
        }
        // The frames of version 2 have checksums and a table, those before it need not.
        const bool needs_other_frames = version_ == format_version::v2 && component.encoding() == encoding::zstd;
        if (reencode_ || must_swap || needs_other_frames) {
            return add_decoded(component);
        }
        if (has_loose_bools(component) && component.encoding().is_known()) { // of 0.1
            return add_bools(component);
        }
        optional<uint64_t> decoded_bytes = component.decoded_bytes();
        if (!decoded_bytes && component.encoding().is_known() &&
            version_ == format_version::v1_2) { // 1.2 states every size
            ZTENSOR_TRY_ASSIGN(const vector<byte> decoded, component.read<byte>());
            decoded_bytes = decoded.size();
        }
        out_.draft.component_stored(role_across(object_, component, version_), component, decoded_bytes);
        return say_across(component, version_, draft_access::last(out_.draft));
    }

    /// The elements of a tensor in planes as a dense one has them, compressed.
    result<void> add_joined(const component_record& data) {
        const component_view elements =
            component_access::make(object_access::file_of(object_), object_access::record_of(object_), data);
        out_.draft = object_draft(format::dense, object_.shape());
        if (object_.has_attributes()) {
            out_.draft.attributes(attributes(object_.attributes()));
        }
        ZTENSOR_TRY_ASSIGN(vector<byte> decoded, elements.read<byte>());
        add_memory("data", *data.dtype, std::move(decoded), store().zstd());
        return {};
    }

    result<void> add_wide_indices(const component_view& component) {
        const opened_file& file = component_access::file_of(component);
        call_budget budget(file.options);
        ZTENSOR_TRY_ASSIGN(const shared_bytes indices, load_indices(file, component_access::record_of(component),
                                                                    dtype::u64, loading::reads, budget));
        add_little_endian(component.role(), indices.bytes, store_like(component, version_).type({}));
        return {};
    }

    /// A word that is unknown in the file must not become a known one in its copy.
    [[nodiscard]] bool has_meaning_in_target(string_view word) const noexcept {
        if (version_ == format_version::v0_1) {
            return find_dtype(word) || find_dtype_by_long_name(word); // those of 1.2 are translated
        }
        const bool is_logical = std::any_of(logical_types.begin(), logical_types.end(),
                                            [&](const logical_type_facts& row) { return row.name_as_dtype == word; });
        return find_dtype(word) || (!word.empty() && version_ == format_version::v1_1 && is_logical);
    }

    /// 1.1 allows index parts of any integer type, 1.2 only u64, version 2 u32, too.
    [[nodiscard]] bool needs_wide_indices(const component_view& component) const {
        const string_view role = component.role();
        const bool is_index_of_csr = object_.format() == format::sparse_csr && (role == "indices" || role == "indptr");
        const bool is_index_of_coo = object_.format() == format::sparse_coo && role == "coords";
        if (!(is_index_of_csr || is_index_of_coo) || !component.dtype().is_known() || component.dtype() == dtype::u64) {
            return false;
        }
        if (version_ == format_version::v2) {
            return component.dtype() != dtype::u32 || (is_index_of_csr && !has_one_index_type());
        }
        return version_ == format_version::v1_2;
    }

    [[nodiscard]] bool has_one_index_type() const {
        const result<component_view> indices = object_.component("indices");
        const result<component_view> indptr = object_.component("indptr");
        return indices && indptr && indices->dtype() == indptr->dtype();
    }

    /// The storage type before version 2 of what may be a bool there.
    [[nodiscard]] dtype storage_of(const component_view& component) const noexcept {
        return version_ != format_version::v2 && is_bool_2(component) ? dtype::boolean : *component.dtype().known();
    }

    result<void> add_decoded(const component_view& component) {
        if (!component.dtype().is_known()) {
            return component.read<uint8_t>().transform([](const auto&) {}); // says why not
        }
        const bool stays_big_endian = component.is_big_endian() && version_ == format_version::v0_1;
        ZTENSOR_TRY_ASSIGN(vector<byte> decoded,
                           stays_big_endian ? component.read<byte>() : component.read_little_endian());
        const store how = store_like(component, version_).big_endian(stays_big_endian);
        add_memory(role_across(object_, component, version_), storage_of(component), std::move(decoded), how);
        return {};
    }

    /// In 0.1 any byte but 0 is true, later only 1 is. What layouts that are unknown keep may be no bools.
    [[nodiscard]] bool has_loose_bools(const component_view& component) const noexcept {
        return component_access::version_of(component) == version::v0_1 && version_ != format_version::v0_1 &&
               component.dtype() == dtype::boolean && object_.format() == format::dense;
    }

    /// Bytes that are 0 or 1 already are copied as they are stored.
    result<void> add_bools(const component_view& component) {
        ZTENSOR_TRY_ASSIGN(vector<byte> stored, component.read<byte>());
        if (!reencode_ && std::all_of(stored.begin(), stored.end(), [](byte each) { return each <= byte{1}; })) {
            out_.draft.component_stored(component.role(), component, stored.size());
            return say_across(component, version_, draft_access::last(out_.draft));
        }
        make_bools(stored);
        add_memory(component.role(), dtype::boolean, std::move(stored), store_like(component, version_));
        return {};
    }

    /// 0.1 -> later: what one blob held becomes a component each, all stored as the blob was.
    result<void> add_parts() {
        ZTENSOR_TRY_ASSIGN(const component_view blob, object_.component("data"));
        if (!blob.dtype().is_known()) {
            return unknown_dtype(object_access::file_of(object_), blob_record());
        }
        const store how = store_like(blob, version_);
        ZTENSOR_TRY_ASSIGN(const sparse_parts parts, read_sparse(object_));
        vector<byte> values(parts.values.bytes.begin(), parts.values.bytes.end());
        if (blob.dtype() == dtype::boolean) {
            make_bools(values);
        }
        add_memory("values", *blob.dtype().known(), std::move(values), how);
        const bool is_csr = object_.format() == format::sparse_csr;
        add_little_endian(is_csr ? "indices" : "coords", parts.indices.bytes, how);
        if (is_csr) {
            add_little_endian("indptr", parts.indptr.bytes, how);
        }
        return {};
    }

    void add_memory(string_view role, dtype storage, vector<byte> bytes, const store& how) {
        out_.memory.push_back(std::move(bytes));
        out_.draft.component_bytes(role, storage, out_.memory.back(), how);
    }

    /// Indices of 64 bits in the host's order.
    void add_little_endian(string_view role, bytes_view indices, const store& how) {
        add_memory(role, dtype::u64, little_endian_bytes(indices, sizeof(uint64_t)), how);
    }

    /// Parts, or manifest fields and a blob -> the one blob that the reference of 0.1 keeps.
    result<void> add_one_blob() {
        const size_t parts = object_.format() == format::sparse_csr ? 3 : 2;
        if (object_.component("values") && object_.size() != parts) {
            return not_expressible(version_, "place for components beside those that the format needs");
        }
        ZTENSOR_TRY_ASSIGN(const component_view values,
                           object_.component(object_.component("values") ? "values" : "data"));
        for (const component_view part : object_) {
            if (part.encoding() != values.encoding() ||
                store_like(part, version_).digest() != store_like(values, version_).digest()) {
                return not_expressible(version_, "place for different encodings or digests within one object")
                    .in_component(part.role());
            }
        }
        if (!values.dtype().is_known()) {
            return values.read<uint8_t>().transform([](const auto&) {}); // says why not
        }
        ZTENSOR_TRY_ASSIGN(const sparse_parts all, read_sparse(object_)); // values are bytes of a file already
        vector<byte> elements(all.values.bytes.begin(), all.values.bytes.end());
        if (values.dtype() == dtype::boolean) {
            make_bools(elements);
        }
        vector<byte> blob = object_.format() == format::sparse_csr
                                ? csr_in_one_blob(all.indptr.bytes, all.indices.bytes, elements, 1)
                                : coo_in_one_blob(object_.shape().rank(), all.indices.bytes, elements, 1);
        add_memory("data", storage_of(values), std::move(blob), store_like(values, version_));
        return {};
    }

    object_view object_;
    format_version version_;
    bool reencode_;
    redrafted out_;
};

/// Errors: as reading the object does.
inline result<redrafted> redraft(const object_view& object, format_version version, bool reencode) {
    result<redrafted> draft = redrafting(object, version, reencode).run();
    return draft ? std::move(draft) : object_access::located(object, std::move(draft).error());
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
