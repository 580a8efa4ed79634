// SPDX-License-Identifier: MIT
//
// Elements in memory -> drafts of the formats that the specification defines, checked as views of them would be.
// SPEC.md section 5 and section 8.3.
#ifndef ZTENSOR_DETAIL_WRITE_TYPED_DRAFTS_HPP
#define ZTENSOR_DETAIL_WRITE_TYPED_DRAFTS_HPP

#include <ztensor/detail/core/elements.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/layout/quantized_rules.hpp>
#include <ztensor/detail/layout/sparse_rules.hpp>
#include <ztensor/detail/write/quantized_2.hpp>
#include <ztensor/detail/write/sparse_0_1.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/quantization.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A draft, and the one blob in which 0.1 keeps its parts.
struct typed_draft {
    object_draft draft;
    std::vector<std::byte> blob_0_1;
};

/// Gives a draft the blob that its parts make in 0.1.
[[nodiscard]] inline typed_draft with_blob_0_1(object_draft draft, std::vector<std::byte> blob,
                                               const typed_bytes& values, const store& how) {
    typed_draft out{std::move(draft), std::move(blob)};
    const store typed = how.has_type_ ? how : store(how).type(values.type);
    out.draft.component_bytes("data", values.storage, out.blob_0_1, typed);
    return out;
}

[[nodiscard]] ZTENSOR_COLD inline error narrow_indices_0_1() noexcept {
    return fail(errc::sparse_dtype, "version 0.1 keeps indices as u64 and nothing else");
}

[[nodiscard]] ZTENSOR_COLD inline result<void> check_index_type_2(dtype storage) {
    const bool is_known = storage == dtype::u32 || storage == dtype::u64;
    return is_known ? result<void>()
                    : fail(errc::sparse_dtype, "version 2 keeps indices as u32 or u64, not as {}", {name(storage)});
}

/// Errors: sparse_shape, sparse_size, sparse_indptr, sparse_index, sparse_dtype.
[[nodiscard]] ZTENSOR_COLD inline result<typed_draft> draft_csr(format_version version, const shape& dimensions,
                                                                const typed_bytes& values, std::size_t value_bytes,
                                                                const typed_bytes& indices, const typed_bytes& indptr,
                                                                const store& how) {
    result<void> valid =
        check_csr(dimensions, values.bytes.size() / value_bytes, indices.bytes, indptr.bytes, indices.storage);
    if (!valid) {
        return std::move(valid).error();
    }
    if (version == format_version::v2) {
        valid = check_index_type_2(indices.storage);
        valid = valid ? check_rising_columns(indices.bytes, indptr.bytes, indices.storage, errc::sparse_order) : valid;
    }
    if (!valid) {
        return std::move(valid).error();
    }
    object_draft draft(format::sparse_csr, dimensions);
    if (version != format_version::v0_1) {
        const store plain = store(how).type({});
        draft_access::add(draft, "values", values, how);
        draft_access::add(draft, "indices", indices, plain);
        draft_access::add(draft, "indptr", indptr, plain);
        return typed_draft{std::move(draft), {}};
    }
    if (indices.storage != dtype::u64) {
        return narrow_indices_0_1();
    }
    std::vector<std::byte> blob = pack_csr_0_1(indptr.bytes, indices.bytes, values.bytes, width_bytes(values.storage));
    return with_blob_0_1(std::move(draft), std::move(blob), values, how);
}

/// Errors: sparse_shape, sparse_size, sparse_index, sparse_dtype.
[[nodiscard]] ZTENSOR_COLD inline result<typed_draft> draft_coo(format_version version, const shape& dimensions,
                                                                const typed_bytes& values, std::size_t value_bytes,
                                                                const typed_bytes& coords, const store& how) {
    result<void> valid = check_coo(dimensions, values.bytes.size() / value_bytes, coords.bytes, coords.storage);
    if (!valid) {
        return std::move(valid).error();
    }
    if (version == format_version::v2) {
        valid = check_index_type_2(coords.storage);
        valid = valid ? check_distinct_coords(dimensions, coords.bytes, coords.storage) : valid;
    }
    if (!valid) {
        return std::move(valid).error();
    }
    object_draft draft(format::sparse_coo, dimensions);
    if (version != format_version::v0_1) {
        draft_access::add(draft, "values", values, how);
        draft_access::add(draft, "coords", coords, store(how).type({}));
        return typed_draft{std::move(draft), {}};
    }
    if (coords.storage != dtype::u64) {
        return narrow_indices_0_1();
    }
    std::vector<std::byte> blob =
        pack_coo_0_1(dimensions, coords.bytes, values.bytes, value_bytes, width_bytes(values.storage));
    return with_blob_0_1(std::move(draft), std::move(blob), values, how);
}

/// Errors: quant_bits, quant_group, quant_packing, not_expressible.
[[nodiscard]] ZTENSOR_COLD inline result<typed_draft> draft_quantized(format_version version, const shape& dimensions,
                                                                      const quantization& parameters,
                                                                      const typed_bytes& packed_weight,
                                                                      const typed_bytes& scales,
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
