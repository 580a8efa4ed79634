// SPDX-License-Identifier: MIT
//
// An object of an open file as a draft for another file: stored blobs as they are where the target's version takes
// them so, else decoded and turned into what it takes. SPEC.md §8.
#ifndef ZTENSOR_DETAIL_REDRAFT_HPP
#define ZTENSOR_DETAIL_REDRAFT_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/component_view.hpp>
#include <ztensor/detail/cast.hpp>
#include <ztensor/detail/manifest_write.hpp>
#include <ztensor/detail/sparse_0_1.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/sparse.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace v0 {
namespace detail {

/// A draft and the memory that it borrows.
struct redrafted {
    object_draft draft;
    std::deque<std::vector<std::byte>> memory; ///< a deque: what is in it stays where it is
};

/// How a component is to be stored again: as it was.
[[nodiscard]] inline store store_like(const component_view& component) {
    store how;
    how.type_ = component.type();
    how.has_type_ = component.has_type(); // one of no letters, too
    if (component.encoding() == encoding::zstd) {
        how.zstd(0);
    }
    const std::optional<digest_parts> digest = parse_digest(component.digest());
    if (digest && digest->algorithm) {
        how.digest(*digest->algorithm);
    }
    return how;
}

class redrafting {
public:
    redrafting(const object_view& object, format_version version, bool reencode)
        : object_(object), version_(version), reencode_(reencode),
          out_{object_draft(object.format(), object.shape()), {}} {}

    [[nodiscard]] result<redrafted> run() && {
        if (object_.has_attributes()) {
            out_.draft.attributes(attributes(object_.attributes()));
        }
        const std::optional<format> same_word = find_format(object_.format());
        const bool has_word_in_target = version_ != format_version::v0_1 || same_word != format::quantized_group;
        if (!object_.known_format() && same_word && has_word_in_target) { // 0.1 has other words for these
            return not_expressible(version_, "format " + quote(object_.format()) + " of a meaning that is not known");
        }
        for (const component_view component : object_) {
            if (component.has_unknown_type() &&
                component.type() == component.dtype_name()) { // a dtype word of 1.1 beside it
                return not_expressible(version_,
                                       "logical type " + quote(component.type()) + " of a meaning that is not known")
                    .in_component(component.role());
            }
        }
        const bool is_sparse =
            object_.known_format() == format::sparse_csr || object_.known_format() == format::sparse_coo;
        const bool is_in_one_blob = is_sparse && !object_.component("values"); // that is, of 0.1
        result<void> added;
        if (is_in_one_blob && (version_ != format_version::v0_1 || !blob_record_0_1(object_).holds_indices)) {
            added = version_ == format_version::v0_1 ? add_one_blob() : add_parts();
        } else if (is_sparse && !is_in_one_blob && version_ == format_version::v0_1) {
            added = add_one_blob();
        } else {
            added = add_components();
        }
        return added ? result<redrafted>(std::move(out_)) : std::move(added).error();
    }

private:
    [[nodiscard]] result<void> add_components() {
        std::vector<component_view> components(object_.begin(), object_.end());
        std::stable_sort(components.begin(), components.end(), [](const component_view& a, const component_view& b) {
            return a.offset() != b.offset() ? a.offset() < b.offset() : a.stored_bytes() < b.stored_bytes();
        });
        for (const component_view& component : components) {
            if (result<void> added = add_component(component); !added) {
                return added;
            }
        }
        return {};
    }

    [[nodiscard]] result<void> add_component(const component_view& component) {
        if (needs_wide_indices(component)) {
            const auto indices = load_indices<std::uint64_t>(component, loading::reads);
            return !indices ? indices.error()
                            : add_little_endian(component.role(), dtype::u64, indices->elements,
                                                store_like(component).type({}));
        }
        if (!component.dtype() && has_meaning_in_target(component.dtype_name())) {
            return not_expressible(version_,
                                   "storage type " + quote(component.dtype_name()) + " of a meaning that is not known");
        }
        const bool must_swap = component.is_big_endian() && version_ != format_version::v0_1;
        if (must_swap && (object_.known_format() != format::dense || !component.dtype())) {
            return not_expressible(version_, "big-endian data but the raw data of dense tensors of version 0.1");
        }
        if (has_loose_bools(component) && reencode_) {
            return add_bools(component);
        }
        if (reencode_ || must_swap) {
            return add_decoded(component);
        }
        if (has_loose_bools(component) && component.encoding()) {
            return add_bools(component);
        }
        std::optional<std::uint64_t> decoded_bytes = component.decoded_bytes();
        if (!decoded_bytes && component.encoding() && version_ == format_version::v1_2) { // 1.2 states every size
            const result<std::vector<std::byte>> decoded = component.read<std::byte>();
            if (!decoded) {
                return decoded.error();
            }
            decoded_bytes = decoded->size();
        }
        out_.draft.component_stored(component.role(), component, decoded_bytes);
        return {};
    }

    /// A word that is unknown in the file must not become a known one in its copy.
    [[nodiscard]] bool has_meaning_in_target(std::string_view word) const noexcept {
        if (version_ == format_version::v0_1) {
            return find_dtype(word) || find_dtype_by_long_name(word); // those of 1.2 are translated
        }
        const bool is_logical = std::any_of(logical_types.begin(), logical_types.end(),
                                            [&](const logical_type_facts& row) { return row.name_as_dtype == word; });
        return find_dtype(word) || (!word.empty() && version_ == format_version::v1_1 && is_logical);
    }

    /// 1.1 allows index parts of any integer type, 1.2 only u64.
    [[nodiscard]] bool needs_wide_indices(const component_view& component) const {
        const std::string_view role = component.role();
        const bool is_index_of_csr =
            object_.known_format() == format::sparse_csr && (role == "indices" || role == "indptr");
        const bool is_index_of_coo = object_.known_format() == format::sparse_coo && role == "coords";
        return version_ == format_version::v1_2 && (is_index_of_csr || is_index_of_coo) && component.dtype() &&
               component.dtype() != dtype::u64;
    }

    [[nodiscard]] result<void> add_decoded(const component_view& component) {
        if (!component.dtype()) {
            return component.read<std::uint8_t>().and_then([](const auto&) { return result<void>(); }); // says why not
        }
        const bool stays_big_endian = component.is_big_endian() && version_ == format_version::v0_1;
        result<std::vector<std::byte>> decoded =
            stays_big_endian ? component.read<std::byte>() : component.read_little_endian();
        if (!decoded) {
            return std::move(decoded).error();
        }
        const store how = store_like(component).big_endian(stays_big_endian);
        out_.memory.push_back(*std::move(decoded));
        out_.draft.component_bytes(component.role(), *component.dtype(), out_.memory.back(), how);
        return {};
    }

    /// In 0.1 any byte but 0 is true, later only 1 is. What layouts that are unknown keep may be no bools.
    [[nodiscard]] bool has_loose_bools(const component_view& component) const noexcept {
        return component.generation() == generation::v0_1 && version_ != format_version::v0_1 &&
               component.dtype() == dtype::boolean && object_.known_format() == format::dense;
    }

    /// Bytes that are 0 or 1 already are copied as they are stored.
    [[nodiscard]] result<void> add_bools(const component_view& component) {
        result<std::vector<std::uint8_t>> stored = component.read<std::uint8_t>();
        if (!stored) {
            return std::move(stored).error();
        }
        if (!reencode_ && std::all_of(stored->begin(), stored->end(), [](std::uint8_t byte) { return byte <= 1; })) {
            out_.draft.component_stored(component.role(), component, stored->size());
            return {};
        }
        std::vector<std::byte> bools;
        std::transform(stored->begin(), stored->end(), std::back_inserter(bools),
                       [](std::uint8_t byte) { return std::byte{byte != 0}; });
        out_.memory.push_back(std::move(bools));
        out_.draft.component_bytes(component.role(), dtype::boolean, out_.memory.back(), store_like(component));
        return {};
    }

    /// 0.1 → later: what one blob held becomes a component each, all stored as the blob was.
    [[nodiscard]] result<void> add_parts() {
        const result<component_view> blob = object_.component("data");
        if (!blob || !blob->dtype()) {
            return blob ? unknown_dtype(
                              object_access::file_of(object_),
                              object_access::file_of(object_).index.components_of(object_access::record_of(object_))[0])
                        : blob.error();
        }
        const store how = store_like(*blob);
        if (object_.known_format() == format::sparse_csr) {
            return csr_view<std::byte>::read(object_).and_then([&](const csr_view<std::byte>& csr) {
                return add_values(csr.values(), *blob->dtype(), how)
                    .and_then([&] { return add_little_endian("indices", dtype::u64, csr.indices(), how); })
                    .and_then([&] { return add_little_endian("indptr", dtype::u64, csr.indptr(), how); });
            });
        }
        return coo_view<std::byte>::read(object_).and_then([&](const coo_view<std::byte>& coo) {
            return add_values(coo.values(), *blob->dtype(), how)
                .and_then([&] { return add_little_endian("coords", dtype::u64, coo.coords(), how); });
        });
    }

    [[nodiscard]] result<void> add_values(bytes_view values, dtype storage, const store& how) {
        out_.memory.emplace_back(values.begin(), values.end());
        if (storage == dtype::boolean) { // in 0.1, where these come from, any byte but 0 is true
            for (std::byte& each : out_.memory.back()) {
                each = std::byte{each != std::byte{0}};
            }
        }
        out_.draft.component_bytes("values", storage, out_.memory.back(), how);
        return {};
    }

    [[nodiscard]] result<void> add_little_endian(std::string_view role, dtype storage,
                                                 span<const std::uint64_t> indices, const store& how) {
        out_.memory.push_back(little_endian_bytes(indices));
        out_.draft.component_bytes(role, storage, out_.memory.back(), how);
        return {};
    }

    /// Parts, or manifest fields and a blob → the one blob that the reference of 0.1 keeps.
    [[nodiscard]] result<void> add_one_blob() {
        const std::size_t parts = object_.known_format() == format::sparse_csr ? 3 : 2;
        if (object_.component("values") && object_.size() != parts) {
            return not_expressible(version_, "place for components beside those that the format needs");
        }
        const result<component_view> values = object_.component(object_.component("values") ? "values" : "data");
        if (!values) {
            return values.error();
        }
        for (const component_view part : object_) {
            if (part.encoding() != values->encoding() || store_like(part).digest_ != store_like(*values).digest_) {
                return not_expressible(version_, "place for different encodings or digests within one object")
                    .in_component(part.role());
            }
        }
        if (!values->dtype()) {
            return values->read<std::uint8_t>().and_then([](const auto&) { return result<void>(); }); // says why not
        }
        const result<std::vector<std::byte>> blob =
            object_.known_format() == format::sparse_csr
                ? csr_view<std::byte>::read(object_).transform(pack_csr_0_1<std::byte, std::uint64_t>)
                : coo_view<std::byte>::read(object_).transform(pack_coo_0_1<std::byte, std::uint64_t>);
        if (!blob) {
            return blob.error();
        }
        out_.memory.push_back(*blob);
        out_.draft.component_bytes("data", *values->dtype(), out_.memory.back(), store_like(*values));
        return {};
    }

    object_view object_;
    format_version version_;
    bool reencode_;
    redrafted out_;
};

/// Errors: as reading the object does.
[[nodiscard]] inline result<redrafted> redraft(const object_view& object, format_version version, bool reencode) {
    return object_access::located(object, redrafting(object, version, reencode).run());
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
