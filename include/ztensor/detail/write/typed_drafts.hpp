// SPDX-License-Identifier: MIT
//
// Drafts of sparse and quantized objects, for each version.
#ifndef ZTENSOR_DETAIL_WRITE_TYPED_DRAFTS_HPP
#define ZTENSOR_DETAIL_WRITE_TYPED_DRAFTS_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/index/layouts.hpp>
#include <ztensor/detail/index/part_rules.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/format.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <cstring>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- groups in words of zt.quant_group/1
//
// Weights quantized in groups, of 1.2 in the words of version 2. SPEC.md section 5.4 and section 13.

/// "u32" for u32 and i32: what zt.quant_group/1 calls a word.
[[nodiscard]] inline string_view unsigned_word(dtype word) noexcept {
    constexpr string_view words[] = {"u8", "u16", "", "u32", "", "", "", "u64"};
    return words[width_bytes(word) - 1];
}

/// The attributes that zt.quant_group/1 needs, for an object of that shape. Groups run along the last dimension, the
/// first integer of a word has its lowest bits, and each group has a zero point of its own, as 1.2 has it.
/// Errors: not_expressible.
ZTENSOR_COLD inline result<void> set_quant_group(const quantization& parameters, const shape& dimensions,
                                                 attributes& into) {
    constexpr string_view allowed_bits = "234568";
    const optional<packing> packed = parse_packing(parameters.packing_name);
    const bool has_bits =
        parameters.bits < 10 && allowed_bits.find(static_cast<char>('0' + parameters.bits)) != std::string_view::npos;
    if (!has_bits) {
        return not_expressible(format_version::v2, sentence("place for weights of {} bits", {parameters.bits}));
    }
    if (!packed || packed->per_word * parameters.bits != 8 * width_bytes(packed->word)) {
        return not_expressible(format_version::v2, sentence("place for the packing {} of {} bits, which fills no word",
                                                            {in_quotes(parameters.packing_name), parameters.bits}));
    }
    if (dimensions.empty()) {
        return not_expressible(format_version::v2, "quantized weights without dimensions");
    }
    cbor_encoder packing_map;
    packing_map.begin_map(3);
    packing_map.text("word");
    packing_map.text(unsigned_word(packed->word));
    packing_map.text("order");
    packing_map.text("lsb_first");
    packing_map.text("per_word");
    packing_map.unsigned_integer(packed->per_word);
    into.set("bits", parameters.bits)
        .set("group_size", parameters.group_size)
        .set("axis", static_cast<uint64_t>(dimensions.rank() - 1))
        .set("scale_form", "f32_factors");
    cbor_encoder zero_point_map;
    zero_point_map.begin_map(2);
    zero_point_map.text("form");
    zero_point_map.text("tensor");
    zero_point_map.text("packing");
    zero_point_map.text("plain");
    result<void> set = into.set_cbor("packing", packing_map.bytes());
    return set ? into.set_cbor("zero_point", zero_point_map.bytes()) : set;
}

// -- sparse in one blob
//
// Sparse tensors as the reference of 0.1 keeps them: in one blob. Indices and row pointers are u64 in host byte order;
// the values' width is the one by which a host of the other order swaps them: 1 for bytes of a file already.
// SPEC.md section 8.3.

/// Elements of `width` bytes as a file holds them.
[[nodiscard]] inline vector<byte> little_endian_bytes(bytes_view host_order, size_t width) {
    vector<byte> bytes(host_order.begin(), host_order.end());
    if (!host_is_little_endian) {
        swap_elements(bytes, width);
    }
    return bytes;
}

/// indptr, then indices, then the values.
[[nodiscard]] inline vector<byte> csr_in_one_blob(bytes_view indptr, bytes_view indices, bytes_view values,
                                                  size_t value_swap_width) {
    vector<byte> blob;
    blob.reserve(indptr.size() + indices.size() + values.size());
    blob.insert(blob.end(), indptr.begin(), indptr.end());
    blob.insert(blob.end(), indices.begin(), indices.end());
    blob.insert(blob.end(), values.begin(), values.end());
    if (!host_is_little_endian) {
        const span<byte> all(blob);
        const size_t values_at = indptr.size() + indices.size();
        swap_elements(all.first(values_at), sizeof(uint64_t));
        swap_elements(all.subspan(values_at), value_swap_width);
    }
    return blob;
}

/// For each entry its coordinates, then its value. `coords` holds all coordinates of dimension 0, then of dimension 1,
/// and so on.
[[nodiscard]] inline vector<byte> coo_in_one_blob(size_t rank, bytes_view coords, bytes_view values,
                                                  size_t value_swap_width) {
    constexpr size_t index_bytes = sizeof(uint64_t);
    const size_t entries = coords.size() / index_bytes / rank;
    const size_t value_bytes = entries != 0 ? values.size() / entries : 0;
    vector<byte> blob(coords.size() + values.size());
    byte* at = blob.data();
    for (size_t entry = 0; entry < entries; ++entry) {
        for (size_t axis = 0; axis < rank; ++axis, at += index_bytes) {
            uint64_t coordinate = 0;
            std::memcpy(&coordinate, coords.data() + (axis * entries + entry) * index_bytes, index_bytes);
            store_little(coordinate, at, index_bytes);
        }
        std::memcpy(at, values.data() + entry * value_bytes, value_bytes);
        if (!host_is_little_endian) {
            swap_elements({at, value_bytes}, value_swap_width);
        }
        at += value_bytes;
    }
    return blob;
}

// -- typed drafts
//
// Elements in memory -> drafts of the formats that the specification defines, checked as views of them would be.
// SPEC.md section 5 and section 8.3.

/// A draft, and the one blob in which 0.1 keeps its parts.
struct typed_draft {
    object_draft draft;
    vector<byte> one_blob;
};

/// `indptr` is null for sparse_coo, whose `indices` are coordinates. Errors: sparse_shape, sparse_size, sparse_indptr,
/// sparse_index, sparse_order, sparse_dtype.
ZTENSOR_COLD inline result<typed_draft> draft_sparse(format_version version, const shape& dimensions,
                                                     const typed_bytes& values, size_t value_bytes,
                                                     const typed_bytes& indices, const typed_bytes* indptr,
                                                     const store& how) {
    const bool is_csr = indptr != nullptr;
    const size_t count = values.bytes.size() / value_bytes;
    ZTENSOR_TRY(is_csr ? check_csr(dimensions, count, indices.bytes, indptr->bytes, indices.storage)
                       : check_coo(dimensions, count, indices.bytes, indices.storage));
    if (version == format_version::v2) {
        if (indices.storage != dtype::u32 && indices.storage != dtype::u64) {
            return fail(errc::sparse_dtype, "version 2 keeps indices as u32 or u64, not as {}",
                        {name(indices.storage)});
        }
        ZTENSOR_TRY(is_csr ? check_rising_columns(indices.bytes, indptr->bytes, indices.storage, errc::sparse_order)
                           : check_distinct_coords(dimensions, indices.bytes, indices.storage));
    }
    object_draft draft(is_csr ? format::sparse_csr : format::sparse_coo, dimensions);
    if (version != format_version::v0_1) {
        const store plain = store(how).type({});
        draft_access::add(draft, "values", values, how);
        draft_access::add(draft, is_csr ? "indices" : "coords", indices, plain);
        if (is_csr) {
            draft_access::add(draft, "indptr", *indptr, plain);
        }
        return typed_draft{std::move(draft), {}};
    }
    if (indices.storage != dtype::u64) {
        return fail(errc::sparse_dtype, "version 0.1 keeps indices as u64 and nothing else");
    }
    const size_t width = width_bytes(values.storage);
    typed_draft out{std::move(draft), is_csr ? csr_in_one_blob(indptr->bytes, indices.bytes, values.bytes, width)
                                             : coo_in_one_blob(dimensions.rank(), indices.bytes, values.bytes, width)};
    out.draft.component_bytes("data", values.storage, out.one_blob,
                              how.has_type() ? how : store(how).type(values.type));
    return out;
}

/// Errors: quant_bits, quant_group, quant_packing, not_expressible.
ZTENSOR_COLD inline result<typed_draft> draft_quantized(format_version version, const shape& dimensions,
                                                        const quantization& parameters,
                                                        const typed_bytes& packed_weight, const typed_bytes& scales,
                                                        const typed_bytes& zeros, const store& how) {
    if (parameters.bits == 0 || parameters.bits > 64) {
        return fail(errc::quant_bits, "weights of {} bits", {parameters.bits});
    }
    if (parameters.group_size == 0) {
        return fail(errc::quant_group, "groups of no weights");
    }
    if (!parse_packing(parameters.packing_name)) {
        return fail(errc::quant_packing, "the packing {} is not of the form \"8_per_i32\"",
                    {in_quotes(parameters.packing_name)});
    }
    const bool is_version_2 = version == format_version::v2;
    attributes words;
    words.set("bits", parameters.bits).set("group_size", parameters.group_size).set("packing", parameters.packing_name);
    if (is_version_2) {
        ZTENSOR_TRY(set_quant_group(parameters, dimensions, words));
    }
    object_draft draft(format::quantized_group, dimensions);
    draft_access::add(draft, is_version_2 ? "data" : "packed_weight", packed_weight, how);
    draft_access::add(draft, "scales", scales, how);
    draft_access::add(draft, "zeros", zeros, how);
    draft.attributes(std::move(words));
    return typed_draft{std::move(draft), {}};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
